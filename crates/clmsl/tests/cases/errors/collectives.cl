// options: -cl-std=CL2.0
__kernel void k(__global int* a) {
    a[0] = work_group_reduce_add(a[0]);
    a[1] = sub_group_broadcast(a[1], 0) + get_sub_group_id();
}
