void clear(int* p) { *p = 0; }
__kernel void k(__global int* a, __constant int* c) {
    clear(a);
    clear(c);
}
