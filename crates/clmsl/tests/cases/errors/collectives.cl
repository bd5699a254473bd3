// options: -cl-std=CL2.0
__kernel void k(__global int* a, __global long2* l, __global float4* v, __global float* f,
        read_only image2d_t image) {
    v[0] = work_group_reduce_max(v[0]);
    v[1] = work_group_broadcast(v[1], 0);
    a[1] = sub_group_scan_inclusive_mul(a[1]);
    l[0] = sub_group_shuffle(l[0], 1);
    a[2] = sub_group_clustered_reduce_add(a[2], 3) + sub_group_clustered_reduce_add(a[2], a[3]);
    a[3] = sub_group_clustered_rotate(a[3], 1, 64);
    f[0] = sub_group_non_uniform_reduce_and(f[0]) + work_group_scan_inclusive_xor(f[1]);
    a[4] = sub_group_broadcast(a[4]);
    sub_group_barrier(a[0]);
    a[5] = sub_group_ballot_bit_count(1);
    a[6] = intel_sub_group_block_read(a) + intel_sub_group_block_read16(a) + intel_sub_group_block_read_us(0) + sub_group_clustered_scan_inclusive_add(a[6], 4);
    a[6] = intel_sub_group_block_read(image, (int2)(0)) + intel_sub_group_block_write(image, (int2)(0), 1u);
    a[7] = work_group_reduce_average(a[7]);
}
