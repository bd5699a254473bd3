// run: k grid=1 in=[0,5,-3,7] out=[0;10] -> out=[9,5,-3,1,6,7,5,11,4,2]
// Without its middle operand `?:` has the value of its condition, which is evaluated once.
__constant int known = 0 ?: 4;
int next(__private int* n) { return ++*n; }
__kernel void k(__global const int* in, __global int* out)
{
    size_t i = get_global_id(0);
    in += 4 * i; out += 10 * i;
    int n = 0, j = 0;
    out[0] = in[0] ?: 9;
    out[1] = in[1] ?: 9;
    out[2] = in[j++ + 2] ?: next(&n);
    out[3] = j;
    out[4] = (next(&n) ?: 100) + in[1] ?: 3;
    __global const int* none = 0;
    __global const int* p = none ?: in + 3;
    out[5] = *p;
    out[6] = (in[0] ?: in[1]) ?: 2;
    out[7] = (int)((j - 1 ?: 10) + (n ?: 5L));
    out[8] = known;
    int2 v = (int2)(-1, 0) ?: (int2)(3, 3);
    out[9] = v.x + v.y;
}
