// Inclusive prefix sums within each work-group (Hillis and Steele).
__kernel void scan(__global uint *x, __local uint *tmp) {
    uint l = get_local_id(0), g = get_global_id(0), n = get_local_size(0);
    tmp[l] = x[g];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint step = 1; step < n; step <<= 1) {
        uint add = l >= step ? tmp[l - step] : 0u;
        barrier(CLK_LOCAL_MEM_FENCE);
        tmp[l] += add;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    x[g] = tmp[l];
}
