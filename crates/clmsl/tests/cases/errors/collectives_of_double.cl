// options: -cl-std=CL2.0 --fp64 emulate
__kernel void k(__global double* d) {
    d[0] = work_group_reduce_add(d[0]) + sub_group_broadcast(d[1], 0) + sub_group_scan_inclusive_max(d[2]);
}
