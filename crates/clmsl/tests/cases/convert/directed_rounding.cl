// run: from_int grid=2 x=[0,1,-1,16777216,16777217,-16777217,16777219,-16777219,2147483647,-2147483648,2147483583,-2147483647,33554435,-33554433,123456789,-987654321] bits=[0;48] -> bits=[0x00000000,0x3f800000,0xbf800000,0x4b800000,0x4b800000,0xcb800000,0x4b800001,0xcb800001,0x4effffff,0xcf000000,0x4effffff,0xceffffff,0x4c000000,0xcc000000,0x4ceb79a2,0xce6b79a2,0x00000000,0x3f800000,0xbf800000,0x4b800000,0x4b800001,0xcb800000,0x4b800002,0xcb800001,0x4f000000,0xcf000000,0x4f000000,0xceffffff,0x4c000001,0xcc000000,0x4ceb79a3,0xce6b79a2,0x00000000,0x3f800000,0xbf800000,0x4b800000,0x4b800000,0xcb800001,0x4b800001,0xcb800002,0x4effffff,0xcf000000,0x4effffff,0xcf000000,0x4c000000,0xcc000001,0x4ceb79a2,0xce6b79a3]
__kernel void from_int(__global const int8* x, __global uint8* bits)
{
    int i = get_global_id(0);
    bits[i] = as_uint8(convert_float8_rtz(x[i]));
    bits[i + 2].lo = as_uint4(convert_float4_rtp(x[i].lo));
    bits[i + 2].hi = (uint4)(as_uint(convert_float_rtp(x[i].s4)), as_uint3(convert_float3_rtp(x[i].s567)));
    bits[i + 4] = as_uint8(convert_float8_rtn(x[i]));
}

// run: from_uint grid=2 x=[0,1,16777217,4294967295,4294967040,4294967168,4294967041,2147483649,2147483648,2147483777,3000000001,16777219,99,33554431,268435457,305419896] bits=[0;48] -> bits=[0x00000000,0x3f800000,0x4b800000,0x4f7fffff,0x4f7fffff,0x4f7fffff,0x4f7fffff,0x4f000000,0x4f000000,0x4f000000,0x4f32d05e,0x4b800001,0x42c60000,0x4bffffff,0x4d800000,0x4d91a2b3,0x00000000,0x3f800000,0x4b800001,0x4f800000,0x4f7fffff,0x4f800000,0x4f800000,0x4f000001,0x4f000000,0x4f000001,0x4f32d05f,0x4b800002,0x42c60000,0x4c000000,0x4d800001,0x4d91a2b4,0x00000000,0x3f800000,0x4b800000,0x4f7fffff,0x4f7fffff,0x4f7fffff,0x4f7fffff,0x4f000000,0x4f000000,0x4f000000,0x4f32d05e,0x4b800001,0x42c60000,0x4bffffff,0x4d800000,0x4d91a2b3]
__kernel void from_uint(__global const uint8* x, __global uint8* bits)
{
    int i = get_global_id(0);
    bits[i] = as_uint8(convert_float8_rtz(x[i]));
    bits[i + 2].lo = as_uint4(convert_float4_rtp(x[i].lo));
    bits[i + 2].hi = (uint4)(as_uint(convert_float_rtp(x[i].s4)), as_uint3(convert_float3_rtp(x[i].s567)));
    bits[i + 4] = as_uint8(convert_float8_rtn(x[i]));
}

// run: from_long grid=2 x=[0,1,-1,9223372036854775807,-9223372036854775808,9223371487098961920,9223371487098961921,-9223371487098961921,-9223372036854775807,16777217,-16777219,1099511627776,1099511627777,-1099511627777,1234567890123456789,-1234567890123456789] bits=[0;48] -> bits=[0x00000000,0x3f800000,0xbf800000,0x5effffff,0xdf000000,0x5effffff,0x5effffff,0xdeffffff,0xdeffffff,0x4b800000,0xcb800001,0x53800000,0x53800000,0xd3800000,0x5d891087,0xdd891087,0x00000000,0x3f800000,0xbf800000,0x5f000000,0xdf000000,0x5effffff,0x5f000000,0xdeffffff,0xdeffffff,0x4b800001,0xcb800001,0x53800000,0x53800001,0xd3800000,0x5d891088,0xdd891087,0x00000000,0x3f800000,0xbf800000,0x5effffff,0xdf000000,0x5effffff,0x5effffff,0xdf000000,0xdf000000,0x4b800000,0xcb800002,0x53800000,0x53800000,0xd3800001,0x5d891087,0xdd891088]
__kernel void from_long(__global const long8* x, __global uint8* bits)
{
    int i = get_global_id(0);
    bits[i] = as_uint8(convert_float8_rtz(x[i]));
    bits[i + 2].lo = as_uint4(convert_float4_rtp(x[i].lo));
    bits[i + 2].hi = (uint4)(as_uint(convert_float_rtp(x[i].s4)), as_uint3(convert_float3_rtp(x[i].s567)));
    bits[i + 4] = as_uint8(convert_float8_rtn(x[i]));
}

// run: from_ulong grid=2 x=[0,1,18446744073709551615,18446742974197923840,18446742974197923841,9223372036854775808,9223372036854775809,9223372036854775807,16777217,33554433,33554434,1099511627775,12345678901234567890,99,9223372586610589696,9223373136366403584] bits=[0;48] -> bits=[0x00000000,0x3f800000,0x5f7fffff,0x5f7fffff,0x5f7fffff,0x5f000000,0x5f000000,0x5effffff,0x4b800000,0x4c000000,0x4c000000,0x537fffff,0x5f2b54a9,0x42c60000,0x5f000000,0x5f000001,0x00000000,0x3f800000,0x5f800000,0x5f7fffff,0x5f800000,0x5f000000,0x5f000001,0x5f000000,0x4b800001,0x4c000001,0x4c000001,0x53800000,0x5f2b54aa,0x42c60000,0x5f000001,0x5f000001,0x00000000,0x3f800000,0x5f7fffff,0x5f7fffff,0x5f7fffff,0x5f000000,0x5f000000,0x5effffff,0x4b800000,0x4c000000,0x4c000000,0x537fffff,0x5f2b54a9,0x42c60000,0x5f000000,0x5f000001]
__kernel void from_ulong(__global const ulong8* x, __global uint8* bits)
{
    int i = get_global_id(0);
    bits[i] = as_uint8(convert_float8_rtz(x[i]));
    bits[i + 2].lo = as_uint4(convert_float4_rtp(x[i].lo));
    bits[i + 2].hi = (uint4)(as_uint(convert_float_rtp(x[i].s4)), as_uint3(convert_float3_rtp(x[i].s567)));
    bits[i + 4] = as_uint8(convert_float8_rtn(x[i]));
}

// run: to_half grid=2 x=[0,-0,1,0.1,-0.1,65504,65519.996,65520,-65520,10000000000,-10000000000,6e-08,-6e-08,1e-30,-1e-30,inf,-inf,nan,5.96e-08,3e-08,2049,-2049,0.33325195,0.33333334,1e-45,-1e-45,3.4028235e+38,-3.4028235e+38,2.9802322e-08,6.1e-05,-1023.9999,4097.5] out=[0;96] -> out=[0,-0,1,0.0999755859375,-0.0999755859375,65504,65504,65504,-65504,65504,-65504,5.960464477539063e-08,-5.960464477539063e-08,0,-0,inf,-inf,nan,0,0,2048,-2048,0.333251953125,0.333251953125,0,-0,65504,-65504,0,6.097555160522461e-05,-1023.5,4096,0,-0,1,0.10003662109375,-0.0999755859375,65504,inf,inf,-65504,inf,-65504,1.1920928955078125e-07,-5.960464477539063e-08,5.960464477539063e-08,-0,inf,-inf,nan,5.960464477539063e-08,5.960464477539063e-08,2050,-2048,0.333251953125,0.33349609375,5.960464477539063e-08,-0,inf,-65504,5.960464477539063e-08,6.103515625e-05,-1023.5,4100,0,-0,1,0.0999755859375,-0.10003662109375,65504,65504,65504,-inf,65504,-inf,5.960464477539063e-08,-1.1920928955078125e-07,0,-5.960464477539063e-08,inf,-inf,nan,0,0,2048,-2050,0.333251953125,0.333251953125,0,-5.960464477539063e-08,65504,-inf,0,6.097555160522461e-05,-1024,4096]
__kernel void to_half(__global const float16* x, __global half16* out)
{
    int i = get_global_id(0);
    out[i] = convert_half16_rtz(x[i]);
    out[i + 2].lo = convert_half8_rtp(x[i].lo);
    out[i + 2].hi = (half8)(convert_half4_rtp(x[i].s89ab), convert_half_rtp(x[i].sc), convert_half3_rtp(x[i].sdef));
    out[i + 4] = convert_half16_rtn(x[i]);
}

// run: integers_to_half grid=3 x=[0,1,-1,2047,2049,-2049,2051,4097,-4099,65503,65504,65505,65519,65520,-65505,-65520,16777216,-16777216,2147483647,-2147483648,99999,-99999,32769,-32771] out=[0;96] -> out=[0,1,-1,2047,2048,-2048,2050,4096,-4096,65472,65504,65504,65504,65504,-65504,-65504,65504,-65504,65504,-65504,65504,-65504,32768,-32768,0,1,-1,2047,2050,-2048,2052,4100,-4096,65504,65504,inf,inf,inf,-65504,-65504,inf,-65504,inf,-65504,inf,-65504,32800,-32768,0,1,-1,2047,2048,-2050,2050,4096,-4100,65472,65504,65504,65504,65504,-inf,-inf,65504,-inf,65504,-inf,65504,-inf,32768,-32800,0,1,-1,2047,2048,-2048,2052,4096,-4100,65504,65504,65504,65504,inf,-65504,-inf,inf,-inf,inf,-inf,inf,-inf,32768,-32768]
__kernel void integers_to_half(__global const int8* x, __global half8* out)
{
    int i = get_global_id(0);
    out[i] = convert_half8_rtz(convert_long8(x[i]));
    out[i + 3] = convert_half8_rtp(x[i]);
    out[i + 6] = convert_half8_rtn(x[i]);
    out[i + 9] = convert_half8(x[i]);
}

// run: exact_or_short grid=1 s=[-32768,32767,2049,-2049,-1,0,4097,-4099] u=[65535,32769,2049,0,65519,65520,65505,4099] h=[0.5,-0.25,65504,1024] out=[0;32] f=[0;20] -> out=[-32768,32768,2050,-2048,-1,0,4100,-4096,65504,32768,2048,0,65504,65504,65504,4096,-32768,32752,2048,-2050,-1,0,4096,-4100,inf,32800,2050,0,inf,inf,inf,4100] f=[0.5,-0.25,65504,1024,-32768,32767,2049,-2049,-1,0,4097,-4099,255,254,3,4,1,0,-32768,32767]
__kernel void exact_or_short(__global short8* s, __global ushort8* u, __global half4* h, __global half8* out, __global float4* f)
{
    out[0] = convert_half8_rtp(s[0]);
    out[1] = convert_half8_rtz(u[0]);
    out[2] = convert_half8_rtn(s[0]);
    out[3] = convert_half8_rtp(u[0]);
    f[0] = convert_float4_rtz(h[0]);
    f[1] = convert_float4_rtp(s[0].lo);
    f[2] = convert_float4_rtn(s[0].hi);
    f[3] = convert_float4_rtz((uchar4)(255, 254, 3, 4));
    f[4] = convert_float4_rte((short4)(1, 0, -32768, 32767));
}
