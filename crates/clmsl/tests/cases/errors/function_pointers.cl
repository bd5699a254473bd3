int f(int x) { return x; }
int apply(int (*g)(int), int x) { return g(x); }
__kernel void k(__global int* a) {
    int (*p)(int) = f;
    a[0] = apply(f, 1) + (&f)(2);
}
