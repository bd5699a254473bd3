// run: k grid=1 m=[0,0,0,0,1,2,3,4] a={f32:2,i32:7,i32:0,i32:0,f32:0,i32:100,i32:0,i32:0} h=[1,2,3,4] v={f32:0,f32:0,f32:0,u32:0} out={f32:0,i32:0,i32:0,i32:0,f32:0,i32:0} f=[0,0] -> f=[115,115] h=[0.5,1.5,2.5,3.5] v={f32:115,f32:115,f32:115,u32:5} out={f32:-2,i32:32,i32:0,i32:0,f32:2,i32:32}
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef struct __attribute__((aligned(16))) { float x; int n; } A;
typedef union { float4 v; float f[4]; uint u[4]; } V;

float total(__global float (*m)[4], int r) { float t = 0; for (int i = 0; i < 4; ++i) t += m[r][i]; return t; }
float weigh(const float w[3], __constant A* a) { return w[0] * a->x + w[2] + a[1].n; }
half4 mix_half(half4 a, half b) { return a * b + (half4)(1.0h) - (half)2 * a.x; }
void store(__global V* v, float4 x) { v->v = x; v->u[3] = 5; }

__kernel void k(__global float (*m)[4], __constant A* a, __global half* h, __global V* v, __global A* out, __global float* f)
{
    const float w[3] = { 1, 2, 3 };
    f[0] = total(m, 1) + weigh(w, a);
    half4 x = vload4(0, h);
    vstore4(mix_half(x, x.y) / (half4)2, 0, h);
    store(v, (float4)(f[0]));
    out[1] = a[0];
    out[1].n = sizeof(A) + sizeof(V);
    A tmp[2];
    tmp[0] = out[1];
    tmp[1] = tmp[0];
    tmp[1].x = -tmp[0].x;
    __global A* o = &out[0];
    *o = tmp[1];
    f[1] = v->f[1];
}
