int read(__global int* p) { return *p; }
__kernel void k(__global int* a, __local int* l, __constant int* c) {
    __global int* g = l;
    a[0] = read(l) + read(c);
    g = (__global int*)l;
    int* p = a;
    p = l;
    c[0] = 1;
    int* q = a[0] ? a : l;
    __global int in_global;
}
