f(x) int x; { return x; }
auto int g(void) { register int r = 1; return r; }
__kernel void k(__global int* a) {
    a[0] = 1;
}
