// run: k grid=1 w=[5,1,2,3,4,7,6,9] out=[0,0,0,0,0,0,0,0] -> out=[1,1,6,1,5,5,4,4]
__kernel void k(__global uint8* w, __global uint2* out)
{
    out[0] = convert_uint2(w[0].s16).xx;
    out[1] = convert_uint2(w[0].s16).yx;
    out[2] = as_uint2(w[0].s70).yy;
    out[3] = convert_uint2(w[0].s35).xx + 1u;
}
