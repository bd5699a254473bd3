// Sums of all numbers up to each, in one kernel.
//
// sums: one number for each work-group; part: one for each work-item of a group.
kernel void running_sums(global const uint* x, global uint* y, global uint* sums, uint n, local uint* part) {
    uint at = get_global_id(0), l = get_local_id(0), group = get_group_id(0);
    uint sum = at < n ? x[at] : 0;
    part[l] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint distance = 1; distance < get_local_size(0); distance *= 2) {
        uint before = l >= distance ? part[l - distance] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        sum += before;
        part[l] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == get_local_size(0) - 1)
        sums[group] = sum;
    // All groups have written their sum.
    dc_grid_barrier();
    for (uint other = 0; other < group; other++)
        sum += sums[other];
    if (at < n)
        y[at] = sum;
}
