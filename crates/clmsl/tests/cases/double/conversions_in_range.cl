// options: --fp64 emulate
// run: plain grid=1 x=[-3.99,300.75,4e9,1e18,-0.0,0.1] r=[0;8] -> r=[-3,44,4000000000,1000000000000000000,0,1,-1,1]
// differential: given: beyond the range of the type the result is undefined
// Conversions without _sat go towards zero or as their name says.
__kernel void plain(__global const double* x, __global long* r) {
  r[0] = x[0];
  r[1] = (uchar)(short)x[1];
  r[2] = convert_uint(x[2]);
  r[3] = (ulong)x[3];
  r[4] = (bool)x[4];
  r[5] = (bool)x[5];
  r[6] = convert_int_rtn(-x[5]);
  r[7] = convert_uchar_rtp(x[5]);
}
