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
