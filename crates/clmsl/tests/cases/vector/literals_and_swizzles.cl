// run: swizzle grid=1 in=[1,2,3,4] out=[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0] -> out=[4,7,2,1,2,1,4,3,5,4,3,2,1,2,3,4,1,3,2,4,2,1,3,4,12,1,7,8,5,6,7,0,5,7,5,5,1,2,3,3,-1,-2,-3,-4,4,3,2,1]
__kernel void swizzle(__global const float4* in, __global float4* out)
{
    float4 a = in[0];
    float2 b = a.xy;
    out[0] = (float4)(a.w, b, 1);
    out[1] = (float4)(b.yx, a.s32);
    out[2] = a.wzyx + a.xxxx;
    out[3] = (float4)(a.lo, a.hi);
    out[4] = (float4)(a.even, a.odd);
    a.xy = a.yx;
    out[5] = a;
    a.hi = (float2)(7.0f, 8.0f);
    a.s0 += 10.0f;
    out[6] = a;
    float3 c = (float3)(1.0f, 2.0f, 3.0f);
    out[7] = (float4)(c, 0.0f) * 2.0f;
    c.zx = c.xz;
    out[7].xyz += c;
    out[8] = (float4)(5);
    out[8].y = out[0].y = a.z;
    out[9] = (float4)((float2)(1, 2), (float2)(3));
    float4 d = { 1.0f, 2.0f, 3.0f, 4.0f };
    out[10] = -d;
    out[11] = d.xyzw.wzyx.xyzw;
}
