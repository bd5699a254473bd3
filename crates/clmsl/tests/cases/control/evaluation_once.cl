// run: once grid=1 data=[100,101,3,7,50,9,8,3,0] counter=[0] v=[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,8,0,0,0] -> data=[33,1,12,12,4,4,2,3,9] counter=[10] v=[0,6,0,0,0,0,0,0,0,0,0,0,0,0,0,0,4,0,0,0]
int next(__global int* p) { return (*p)++; }

__kernel void once(__global int* data, __global int* counter, __global float4* v)
{
    data[next(counter)] /= data[7];
    data[next(counter)] %= 4;
    data[next(counter)] <<= 2;
    data[next(counter)] += 5;
    int i = 4;
    data[i++] /= data[2];
    __global int* p = data + 5;
    *p++ /= 2 + data[0] * 0;
    *p %= data[7];
    v[next(counter)].x /= 2.0f;
    v[0].y = next(counter) ? next(counter) : -1;
    if (next(counter) < 0 && next(counter)) data[0] = 99;
    data[8] = select(next(counter), next(counter), 1);
}
// differential: tame: OpenCL C leaves division by zero open
