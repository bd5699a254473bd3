// run: implicit grid=1 f=[9,9,9,9,9,9,9] n=[9,9,9,9,9,9] c=[9,9,9] seed=3 x=7.75 -> f=[3,5,7,2,4.2949673e+09,7.75,3.5] n=[24,24,1,1,1,-1] c=[44,44,7]
float half_of(int n) { return n / 2.0f; }
int cut(float x) { return x; }
uchar low(int n) { return n; }

__kernel void implicit(__global float* f, __global int* n, __global uchar* c, int seed, float x)
{
    f[0] = seed;
    f[1] = half_of(seed) + half_of(x);
    n[0] = cut(x) + x;
    n[0] += 2.75f;
    n[1] = n[0] *= 1.5f;
    c[0] = seed * 100;
    c[1] = low(seed * 100);
    c[2] = x;
    int flag = x;
    if (x) f[2] = flag;
    bool truth = x;
    f[3] = truth + !seed + !!seed;
    n[2] = seed > 2 && x < 100;
    n[3] = (seed == 3) + (x != x) * 2;
    uint u = -1;
    f[4] = u;
    f[5] = seed ? x : seed;
    f[6] = 1 / 2 + 1 / 2.0f + 7 % 4;
    long wide = seed - 10u;
    n[4] = wide >> 31;
    int4 filled = (int4)truth;
    n[5] = filled.y;
}
// differential: tame: OpenCL C leaves the conversion of a large float to uchar open
