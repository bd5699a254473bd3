typedef struct { int x; } A;
typedef struct { int x; } B;
__kernel void k(__global int* a, float4 v, int4 n, A s) {
    B other = s;
    v = n;
    n = (int4)v;
    v += n;
    n = v % 2;
    n << 1.5f;
    if (v) a[0] = 1;
    a[0] = s;
    a = a * 2;
    float x = ~1.5f;
    *x = 1;
    x[1] = 2;
    a[1.5f] = 1;
    v.q = 1;
    v.xx = (float2)(1, 2);
    3 = x;
    float4 w = (float4)(1, 2, 3);
    switch (x) { case 1: break; }
    return 1;
}
