// run: convert grid=1 f=[300,-5,nan,127.6,2.5,-2.5,3.5,-0.5,3e+09,-3e+09,inf,1.5] n=[300,-5,100000,-100000,256,257,-1,7] u8=[9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9] s8=[9,9,9,9,9,9,9,9] i=[9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9] u=[9,9,9,9,9,9,9,9] g=[9,9,9,9,9,9,9,9] -> u8=[255,0,0,127,255,0,255,0,0,1,255,7,2,0,4,0] s8=[127,-5,0,127,127,-5,127,-128] i=[2,-2,4,0,3,-2,4,0,2,-3,3,-1,2,-2,3,0,2147483647,-2147483648,2147483647,1,-2147450882,0,1065353216,127] u=[3000000000,0,4294967295,1,300,0,100000,0] g=[300,-5,100000,-100000,3e+09,0,4.2949673e+09,1]
// run: of_bool grid=1 out=[9] n=3 -> out=[1]
__kernel void convert(__global const float4* f, __global const int4* n, __global uchar4* u8, __global char4* s8,
                      __global int4* i, __global uint4* u, __global float4* g)
{
    u8[0] = convert_uchar4_sat(f[0]);
    u8[1] = convert_uchar4_sat(n[0]);
    u8[2] = convert_uchar4(n[1]);
    u8[3] = convert_uchar4_sat_rte(f[1]);
    s8[0] = convert_char4_sat(f[0]);
    s8[1] = convert_char4_sat(n[0]);
    i[0] = convert_int4_rte(f[1]);
    i[1] = convert_int4_rtp(f[1]);
    i[2] = convert_int4_rtn(f[1]);
    i[3] = convert_int4_rtz(f[1]);
    i[4] = convert_int4_sat(f[2]);
    u[0] = convert_uint4_sat(f[2]);
    u[1] = convert_uint4_sat(n[0]);
    g[0] = convert_float4(n[0]);
    g[1] = convert_float4_rte(u[0]);
    i[5].x = convert_int_sat(3000000000u) + (int)convert_short_sat(-100000L) + convert_ushort_sat(70000);
    i[5].y = convert_int(2.9f) + (int)-2.9f;
    i[5].z = as_int(1.0f);
    i[5].w = convert_char_sat(200) + convert_uchar_sat(-1L);
}

__kernel void of_bool(__global uchar* out, int n)
{
    bool truth = n > 2;
    out[0] = convert_uchar_sat(truth) + convert_char_sat(!truth);
}
// differential: fixed=f: OpenCL C leaves conversions out of range open unless they saturate
