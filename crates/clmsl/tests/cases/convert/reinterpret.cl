// run: bits grid=1 f=[1,-2,0.5,1e+10] u=[0,0,0,0,0,0,0,0] back=[0,0,0,0] bytes=[0,0,0,0] halves=[0,0] three=[0,0,0,0,0,0,0,0] -> u=[1065353216,3221225472,1056964608,1343554297,1065353216,3221225472,1065353216,3221225472] back=[-1,2,-0.5,-1e+10] bytes=[0,0,128,63] halves=[0,49152] three=[1065353216,-1073741824,1056964608,1343554297,1065353216,-1073741824,1056964608,1065353216]
__kernel void bits(__global const float4* f, __global uint4* u, __global float4* back, __global uchar4* bytes,
                   __global ushort2* halves, __global int4* three)
{
    u[0] = as_uint4(f[0]);
    back[0] = as_float4(u[0] ^ 0x80000000u);
    bytes[0] = as_uchar4(f[0].x);
    halves[0] = as_ushort2(u[0].y);
    three[0] = (int4)(as_int3(f[0].xyz), as_int(f[0].w));
    three[1].xyz = as_int3(f[0]);
    three[1].w = as_int(bytes[0]);
    ulong wide = as_ulong(u[0].xy);
    u[1] = (uint4)(as_uint2(wide), (uint)wide, (uint)(wide >> 32));
}
