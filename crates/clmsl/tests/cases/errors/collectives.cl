// options: -cl-std=CL2.0
__kernel void k(__global int* a, __global long* l, __global float4* v) {
    a[0] = work_group_reduce_add((char)a[0]);
    v[0] = work_group_reduce_max(v[0]);
    a[0] = work_group_reduce_mul(a[0]);
    a[1] = sub_group_scan_inclusive_mul(a[1]) + sub_group_non_uniform_scan_inclusive_min(a[1]);
    a[2] = sub_group_clustered_reduce_add(a[2], 4);
    l[0] = sub_group_non_uniform_reduce_add(l[0]);
    a[3] = intel_sub_group_block_read(a);
    a[4] = sub_group_broadcast(a[4]);
    sub_group_barrier(a[0]);
    a[5] = sub_group_ballot_bit_count(1);
}
