// One sum per work-group, as a tree in local memory whose size the host gives.
__kernel void reduce(__global const int *x, __global int *sums, uint n, __local int *part) {
    uint l = get_local_id(0);
    part[l] = get_global_id(0) < n ? x[get_global_id(0)] : 0;
    for (uint half_size = get_local_size(0) / 2; half_size > 0; half_size /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < half_size) part[l] += part[l + half_size];
    }
    if (l == 0) sums[get_group_id(0)] = part[0];
}
