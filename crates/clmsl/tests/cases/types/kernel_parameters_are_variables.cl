// run: parameters grid=1 out=[0,0,0] n=3 v=[9,2,9,9] s={f32:1,f32:2,i32:100} fixed=10 small=100 -> out=[40,112,44]
typedef struct { float f[2]; int n; } S;

float first(float* p) { return p[0] + p[1]; }

__kernel void parameters(__global float* out, int n, float4 v, S s, const uint fixed, uchar small)
{
    int* p = &n;
    *p += 1;
    v.x = n;
    s.f[1] = 5;
    small += 200;
    for (uint i = fixed; n-- > 0;)
        out[0] += i;
    out[1] = v.x + v.y + first(s.f) + s.n;
    out[2] = small;
}
