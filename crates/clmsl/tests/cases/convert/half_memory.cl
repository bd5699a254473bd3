// run: halves grid=1 in=[1,2,3,4,5,6,7,8] out=[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0] f=[0,0,0,0] -> f=[3,5,24,-1] out=[1.5,0,-2,0.25,0,0,4,5,6,0,0,0,2,4,6,8]
__kernel void halves(__global const half* in, __global half* out, __global float* f)
{
    f[0] = vload_half(0, in) + vload_half(1, in);
    float4 four = vload_half4(0, in);
    f[1] = four.x + four.w;
    float3 three = vload_half3(1, in);
    f[2] = three.x * three.z;
    float3 aligned = vloada_half3(1, in);
    f[3] = aligned.x - aligned.y;
    vstore_half(1.5f, 0, out);
    vstore_half2((float2)(-2.0f, 0.25f), 1, out);
    vstore_half3_rte(three, 2, out);
    vstorea_half4(four * 2.0f, 3, out);
}
