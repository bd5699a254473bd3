// run: k grid=6 group=3 l=local:192 m=local:16 n=local:384 x=[1,2,3,4,5,6] sums=[0;6] -> sums=[6,6,6,15,15,15]
// Local memory of arguments is as aligned as its elements, whatever lies before it.
__kernel void k(__local ulong8* l, __local uint* m, __local ulong16* n, __global const uint* x, __global uint* sums)
{
    __local float2 own[9];
    size_t i = get_global_id(0), at = get_local_id(0);
    l[at] = (ulong8)(x[i]);
    m[at] = x[i];
    n[at] = (ulong16)(x[i], at, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, x[i]);
    own[at] = (float2)(x[i], 0.0f);
    barrier(CLK_LOCAL_MEM_FENCE);
    uint sum = 0;
    for (int k = 0; k < 3; k++) sum += (l[k].s7 == m[k] && n[k].sf == m[k] && own[k].x == m[k]) ? m[k] : 1000;
    sums[i] = sum;
}
