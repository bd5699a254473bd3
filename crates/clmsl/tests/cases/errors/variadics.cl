void log_all(int n, ...);
__kernel void k(__global int* a) {
    a[0] = 1;
}
