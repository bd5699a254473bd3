// options: -cl-std=CL2.0
// run: spaces grid=1 group=1 data=[10,20,30,40] out=[0,0,0,0] -> out=[310,1,2,120]
// One helper, called with pointers to global, local, private and constant memory.
__constant float table[4] = { 1, 2, 3, 4 };

float sum(const float* p, int n)
{
    float total = 0;
    for (int i = 0; i < n; i++)
        total += p[i];
    return total;
}

void copy(float* to, const float* from, int n)
{
    while (n--)
        *to++ = *from++;
}

float* later(float* p, int n) { return p + n; }

__kernel void spaces(__global float* data, __global float* out)
{
    __local float shared[4];
    float own[4];
    copy(shared, data, 4);
    copy(own, shared, 4);
    out[0] = sum(data, 4) + sum(shared, 4) + sum(own, 4) + sum(table, 4);
    copy(later(out, 1), table, 2);
    *later(own, 2) = 50;
    out[3] = sum(own, 4);
}
