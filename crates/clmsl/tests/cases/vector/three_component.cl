// run: three grid=2 in=[1,2,3,0,4,5,6,0] out=[0,0,0,0,0,0,0,0] packed=[1,2,3,4,5,6] spread=[0,0,0,0,0,0] items={f32:0,f32:0,f32:0,f32:0,f32:0,f32:0,f32:0,f32:0,f32:0,f32:0,f32:0,f32:0,f32:0,f32:0,f32:0,f32:0} -> out=[1,2,3,0,8,10,12,0] spread=[3,2,1,6,5,4] items={f32:3,f32:3,f32:3,f32:0,f32:48,f32:0,f32:0,f32:0,f32:6,f32:6,f32:6,f32:0,f32:48,f32:0,f32:0,f32:0}
typedef struct { float3 p; float q; } Item;

__kernel void three(__global const float3* in, __global float3* out, __global const float* packed, __global float* spread,
                    __global Item* items)
{
    size_t i = get_global_id(0);
    out[i] = in[i] * (float)(i + 1);
    vstore3(vload3(i, packed).zyx, i, spread);
    items[i].p = in[i].hi.xxx;
    items[i].q = sizeof(Item) + sizeof(float3);
}
