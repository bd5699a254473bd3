// options: --fp64 emulate
// run: from grid=2 x=[1.5,-2.5,300.7,-0.1,10000000000,-10000000000,0.30000000000000004,2.5] n=[0;8] u=[0;8] f=[0;8] z=[0;8] l=[0;8] -> n=[2,-2,301,0,2147483647,-2147483648,0,2] u=[1,0,255,0,255,0,0,2] f=[1.5,-2.5,300.70001220703125,-0.10000000149011612,10000000000,-10000000000,0.30000001192092896,2.5] z=[1.5,-2.5,300.6999816894531,-0.09999999403953552,10000000000,-10000000000,0.29999998211860657,2.5] l=[1,-3,300,-1,10000000000,-10000000000,0,2]
// run: to grid=2 l=[9007199254740993,-9007199254740993,9223372036854775807,5,-9223372036854775808,123456789012345678,-7,0] f=[0.10000000149011612,-2.5,3,9.99994610111476e-41,inf,0,-0.0,7.25] u=[1,2,4294967295,7,0,3,10,99] n=[0;8] z=[0;8] p=[0;8] w=[0;8] v=[0;8] -> n=[9007199254740992,-9007199254740992,9.223372036854776e+18,5,-9.223372036854776e+18,1.2345678901234568e+17,-7,0] z=[9007199254740992,-9007199254740992,9.223372036854775e+18,5,-9.223372036854776e+18,1.2345678901234566e+17,-7,0] p=[9007199254740994,-9007199254740992,9.223372036854776e+18,5,-9.223372036854776e+18,1.2345678901234568e+17,-7,0] w=[0.10000000149011612,-2.5,3,9.99994610111476e-41,inf,0,-0.0,7.25] v=[1,2,4294967295,7,0,3,10,99]
// run: halves grid=1 x=[1,0.1,-2.0009765625000004,2049] h=[0;16] -> h=[1,0.0999755859375,-2.001953125,2048,1,0.0999755859375,-2,2048,1,0.0999755859375,-2.001953125,2048,1,0.0999755859375,-2.001953125,2048]
// Vectors of double are converted by lane, each rounded once, as the name of the conversion says.
__kernel void from(__global const double4* x, __global int4* n, __global uchar4* u, __global float4* f,
                   __global float4* z, __global double4* l) {
  size_t i = get_global_id(0);
  n[i] = convert_int4_sat_rte(x[i]);
  u[i] = convert_uchar4_sat(x[i]);
  f[i] = convert_float4(x[i]);
  z[i] = convert_float4_rtz(x[i]);
  l[i] = convert_double4(convert_long4_sat_rtn(x[i]));
}

__kernel void to(__global const long4* l, __global const float4* f, __global const uint4* u, __global double4* n,
                 __global double4* z, __global double4* p, __global double4* w, __global double4* v) {
  size_t i = get_global_id(0);
  n[i] = convert_double4(l[i]);
  z[i] = convert_double4_rtz(l[i]);
  p[i] = convert_double4_rtp(l[i]);
  w[i] = convert_double4(f[i]);
  v[i] = convert_double4(u[i]);
}

__kernel void halves(__global const double4* x, __global half* h) {
  double4 v = x[0];
  vstore_half4(v, 0, h);
  vstore_half4_rtz(v, 1, h);
  vstore_half8((double8)(v, v), 1, h);
}
