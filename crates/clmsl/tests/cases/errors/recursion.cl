int even(int n);
int odd(int n) { return n == 0 ? 0 : even(n - 1); }
int even(int n) { return n == 0 ? 1 : odd(n - 1); }
int fact(int n) { return n < 2 ? 1 : n * fact(n - 1); }
__kernel void k(__global int* a) { a[0] = even(a[1]) + fact(5); }
