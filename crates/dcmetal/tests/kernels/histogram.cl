// Counts of bytes, first per work-group in local memory.
__kernel void histogram(__global const uchar *x, __global uint *bins, uint n) {
    __local uint mine[256];
    for (uint i = get_local_id(0); i < 256; i += get_local_size(0)) mine[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_global_id(0) < n) atomic_inc(&mine[x[get_global_id(0)]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = get_local_id(0); i < 256; i += get_local_size(0))
        if (mine[i] != 0) atomic_add(&bins[i], mine[i]);
}
