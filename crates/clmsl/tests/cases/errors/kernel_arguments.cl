struct P { __global int* p; };
typedef struct { bool b; int n; } B;
__kernel void k(bool flag, size_t n, int* p, __global int** q, struct P s, B b, float f, ptrdiff_t d) { }
__kernel int returns(__global int* a) { return 1; }
__kernel void fine(__global int* a, uint n) { a[n] = 1; }
