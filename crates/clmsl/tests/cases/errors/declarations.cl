typedef int T;
T T2(T x) { T x = 1; return x; }
int T2(int y) { return 1; }
float twice(float x);
int twice(float x) { return 1; }
__kernel void k(__global int* a) {
    int n = 3, n = 4;
    int v[n];
    int z[-1];
    void nothing;
    struct Unknown s;
    int f[2] = { 1, 2, 3 };
    int g[2] = { [5] = 1 };
    struct { int x; } h = { .y = 1 };
}
