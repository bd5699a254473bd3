// run: kernel_ grid=1 threadgroup=[0,0] vertex={i32:0,f32:0,i32:0} namespace=7 as_type=1.5 -> threadgroup=[11,42] vertex={i32:21,f32:1,i32:1}
typedef struct { int device; float thread; int class; } template;

float metal(float new) { return new * 2; }
float dot(float2 a) { return a.x - a.y; }
float saturate(float x) { return x * 10; }

__kernel void kernel_(__global float* threadgroup, __global template* vertex, int namespace, float as_type)
{
    float delete = metal(as_type), _ = 1, this = 2;
    int and = namespace & 3, half3 = 3;
    float clmsl_div = 6, global_id = 7, uint4_ = 8;
    threadgroup[0] = delete + this + and + half3;
    threadgroup[1] = dot((float2)(3.0f, 1.0f)) + saturate(4);
    vertex->device = clmsl_div + global_id + uint4_;
    vertex->thread = get_global_id(0) + _;
    vertex->class = and / half3;
}
