typedef int T;
__kernel void k(__global int* a) {
    unsigned float u;
    long long long l;
    a[0] = T;
    int T = 3;
    a[0] = T;
}
