// run: tables grid=1 bits=[0,0,0,0,0,0,0,0] out=[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0] floats=[0,0,0,0,0,0,0,0,0,0] -> bits=[2139095040,2143289344,4286578688,2139095039,2147483648,2139095040,4286578688,2143289349] out=[1065353216,513,3,255,2,3,-128,0,16,7,1,6,-1,0,1,127] floats=[1,2,inf,0,-2,-4,3,0.25,0.75,inf]
// run: labels grid=7 values=[2,4,1065353216,10,1,300,9] -> values=[102,104,11,110,101,255,-1]
// Infinities and NaN are bit patterns in the preprocessor; everything here is worked out before the program runs.
__constant float special[] = { INFINITY, NAN, -INFINITY, FLT_MAX };
__constant float more[4] = { [0] = -0.0f, HUGE_VALF, [2] = -1.0f / 0.0f, nan(5u) };
__constant int ints[] = {
    as_int(1.0f), as_short((uchar2)(1, 2)), (int)3.99f, convert_uchar_sat(300), convert_int_rte(2.5f), convert_int_rtp(2.1f),
    convert_char_sat(-1e9f), convert_int_sat(NAN), sizeof(float3), 1.5f < 2 ? 7 : 8, (int)(0.1f * 10), 7 / 2 * 2.0f,
    NAN == NAN ? 1 : -1, 0 && 1 / 0, 1 || 1 / 0, as_uchar((char)127),
};
__constant float4 vector = as_float4((uint4)(0x3f800000, 0x40000000, 0x7f800000, 0x80000000));
__constant float2 computed = -(float2)(1.0f, 2.0f) * 3.0f + convert_float2((int2)(1, 2));
__constant float component = ((float4)(1, 2, 3, 4)).z;
__constant float2 chosen[] = { 1 > 2 ? (float2)(1.0f) : (float2)(0.25f, 0.75f) };
__constant int2 compared = (int2)(1, 5) < (int2)(3);
enum { TRUNCATED = (int)1.9f, SATURATED = convert_uchar_sat(300) };

__kernel void tables(__global uint* bits, __global int* out, __global float* floats)
{
    for (int i = 0; i < 4; i++) {
        bits[i] = as_uint(special[i]);
        bits[i + 4] = as_uint(more[i]);
    }
    for (int i = 0; i < 16; i++)
        out[i] = ints[i];
    floats[0] = vector.x; floats[1] = vector.y; floats[2] = vector.z; floats[3] = compared.y + vector.w;
    floats[4] = computed.x; floats[5] = computed.y; floats[6] = component; floats[7] = chosen[0].x; floats[8] = chosen[0].y;
    floats[9] = compared.x == -1 ? special[0] : 0.0f;
}

__kernel void labels(__global int* values)
{
    int i = get_global_id(0);
    switch (values[i]) {
    case TRUNCATED: values[i] = 101; break;
    case (int)2.5f: values[i] = 102; break;
    case sizeof(int): values[i] = 104; break;
    case as_int(1.0f): values[i] = 11; break;
    case 2 > 1 ? 10 : 20: values[i] = 110; break;
    case SATURATED + 45: values[i] = SATURATED; break;
    default: values[i] = -1;
    }
}
