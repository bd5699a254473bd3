// run: histogram grid=8 group=4 data=[2,3,5,7,0,0,1,3,1,4,4,7,5,2,6,6,5,5,2,5,1,5,7,7,2,2,4,3,5,1,1,0] n=32 bins=[0,0,0,0,0,0,0,0] counts=local:32 -> bins=[3,5,5,3,3,7,2,4]
#define BINS 8

__kernel void histogram(__global const uchar* data, uint n, __global volatile uint* bins, __local uint* counts)
{
    const uint l = get_local_id(0);
    for (uint b = l; b < BINS; b += get_local_size(0))
        counts[b] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = get_global_id(0); i < n; i += get_global_size(0))
        atomic_inc(&counts[data[i]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint b = l; b < BINS; b += get_local_size(0))
        atomic_add(bins + b, counts[b]);
}
// differential: tame: the integers are indices
