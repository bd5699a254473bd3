// options: -cl-std=CL2.0
__kernel void k(pipe int p, __global int* a) { a[0] = 1; }
__kernel void b(__global int* a) { void (^block)(void) = ^{ a[0] = 1; }; }
