// options: --fp64 emulate
// run: unaligned grid=1 p=[0.5,1.5,2.5,3.5,4.5,5.5,6.5,7.5,8.5,9.5,10.5,11.5,12.5,13.5,14.5,15.5,16.5,17.5,18.5,19.5,20.5,21.5,22.5,23.5,24.5,25.5,26.5,27.5,28.5,29.5,30.5,31.5,32.5,33.5,34.5,35.5,36.5,37.5,38.5,39.5] -> p=[0.5,11,13,3.5,4.5,6.5,7.5,8.5,9.5,-17.5,-18.5,-19.5,-20.5,-21.5,-22.5,-23.5,-24.5,17.5,18.5,9.75,10.25,10.75,11.25,11.75,12.25,12.75,13.25,13.75,14.25,14.75,15.25,15.75,16.25,16.75,17.25,35.5,36.5,37.5,38.5,39.5]
// run: layout grid=1 s={u8:7,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,f64:1,f64:2,f64:3,f64:99,f64:0,f64:0,f64:0,f64:0} n=[0;8] -> s={u8:7,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,u8:0,f64:3,f64:2,f64:1,f64:99,f64:1,f64:7,f64:4,f64:6.5} n=[16,32,32,64,128,16,32,96]
// run: spaces grid=4 group=4 x=[1,2,3,4,5,6,7,8,9,10,11,12] by=[0.1,0.2,0.3] tile=local:128 -> x=[2.4,6.641592653589793,2.3833333333333333,2.7,7.241592653589793,3.283333333333333,3,7.841592653589793,4.183333333333334,0.6,3.541592653589793,1.4833333333333332]
// run: bits grid=1 d=[0.1,-2.5] u=[0;2] f=[0;4] c=[0;16] r=[0;8] -> u=[4591870180066957722,13836183955189006336] f=[-1.5881868392106856e-23,1.4499999284744263,0,-2.0625] c=[154,153,153,153,153,153,185,63,0,0,0,0,0,0,4,192] r=[-0.1,2.5,-2.5,0.1,0.10000000000000002,-2.5,1,2]
// run: kept grid=1 v=[1,2,3,4] -> v=[4,2,4.5,4]
// Vectors of double have OpenCL C's sizes, alignments and bits everywhere in memory.
struct s { char c; double3 v; double2 w[2]; };
__constant double3 table = (double3)(0.5, M_PI, 1.0 / 3.0);
__constant double2 pairs[2] = { (double2)(1.5, 2.5), (double2)(0) };

__kernel void unaligned(__global double* p) {
  vstore2(vload2(2, p + 1) * 2.0, 0, p + 1);
  vstore4(vload4(1, p + 1) + 1.0, 1, p + 1);
  vstore8(-vload8(2, p + 1), 1, p + 1);
  vstore16(vload16(1, p + 3) * 0.5, 1, p + 3);
}

__kernel void layout(__global struct s* s, __global uint* n) {
  struct s t = s[0];
  s->v = t.v.zyx;
  s->w[0] = (double2)(t.v.x, t.c);
  t.w[1] = t.v.xy + 3.0;
  t.w[1].y += 1.5;
  s->w[1] = t.w[1];
  n[0] = sizeof(double2);
  n[1] = sizeof(double3);
  n[2] = sizeof(double4);
  n[3] = sizeof(double8);
  n[4] = sizeof(double16);
  n[5] = sizeof(long2);
  n[6] = sizeof(s->v);
  n[7] = sizeof(struct s);
}

void add(double2* to, __constant const double2* from) { *to += *from; }

__kernel void spaces(__global double* x, double3 by, __local double3* tile) {
  size_t i = get_global_id(0);
  tile[i] = vload3(i, x) * by + table;
  barrier(CLK_LOCAL_MEM_FENCE);
  double3 w = tile[(i + 1) % 4];
  double2 sum[2] = { w.xy };
  add(sum, pairs + i / 3);
  sum[1] += sum[0];
  w.xy = sum[1];
  w.z += 0.25;
  vstore3(w, i, x);
}

__kernel void bits(__global const double2* d, __global ulong2* u, __global float4* f, __global uchar16* c,
                   __global double2* r) {
  double2 x = d[0];
  u[0] = as_ulong2(x);
  f[0] = as_float4(x);
  c[0] = as_uchar16(x);
  r[0] = as_double2(as_long2(x) ^ (long2)(LONG_MIN));
  r[1] = as_double2(as_char16(x).s89abcdef01234567);
  r[2] = as_double2(as_uint4(x) ^ (uint4)(1, 0, 0, 0));
  r[3] = as_double4((long4)(as_long2((double2)(1.0, 2.0)), 0, 0)).xy;
}

__kernel void kept(volatile __global double2* v) {
  v[0].x += v[1].x;
  double2 y = v[1];
  y.x += 1.5;
  v[1] = y;
}
