// run: k grid=1 v=[1,2,10,20] out=[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0] -> out=[1,1,2,1,11,11,22,21,2,1,1,2,1,2,2,1]
__kernel void k(__global uint2* v, __global uint2* out)
{
    out[0] = as_uint8(v[0].s01110010).S44;
    out[1] = as_uint8(v[0].s01110010).s10;
    out[2] = as_uint8(v[0].s01110010).hi.yx + v[1].xx;
    out[3] = as_uint8(v[0].s01110010).lo.s10 + v[1].yy;
    vstore8(as_uint8(v[0].s10011001), 1, (__global uint*)out);
    vstore8(as_uint8(v[0].s10011001).s01234567, 1, (__global uint*)out);
    out[6] = as_uint8(v[0].s10010110).odd.lo;
    out[7] = as_uint8(v[0].s10010110).odd.hi;
}

// One of three components of a vector that MSL does not have.
__kernel void of_wide(__global ulong16* v, __global ulong* out)
{
    out[0] = as_ulong3(v[0].s3b3).y;
    ulong16 own = v[0];
    own.s01 = as_ulong3(own.sfed).zx;
    out[1] = own.s0 * 100 + own.s1;
}
// run: of_wide grid=1 v=[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15] out=[0,0] -> out=[11,1315]
