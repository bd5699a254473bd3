// run: values grid=1 v=[1,2,3,4,0,0,0,0] w=[1,2,3,4,5,6,7,8] -> v=[5,6,4,5,0,0,9,11] w=[2,3,7,9,6,7,7,7]
__kernel void values(__global float4* v, __global int4* w)
{
    float2 taken = v[0].xy = (float2)(5.0f, 6.0f);
    v[1].zw = taken + (v[0].zw += 1.0f);
    int2 old = w[0].xy++;
    w[0].zw = old + (++w[1].xy);
    w[1].w--;
}
