// options: --fp64 float
// run: k grid=2 x=[1.5,2.5] y=[0.5,4] scale=3 v=[1,2,3,4,5,6,7,8] n=[0;4] -> x=[2.1,4.5] y=[4.5,7.5] v=[0.5,1,1.5,2,2.5,3,3.5,4] n=[4,16,8,24]
// differential: skip: double has 8 bytes on the other side
// --fp64 float: double is float everywhere, and 4 bytes wide in buffers, structures and sizeof.
#ifndef cl_khr_fp64
#error there is double
#endif
typedef double real;
struct pair { double a, b; };
__constant double tenth = 0.1;

double half_of(double x) { return x / 2; }

__kernel void k(__global double* x, __global real* y, double scale, __global double4* v, __global uint* n) {
  size_t i = get_global_id(0);
  real old = x[i];
  x[i] = i ? half_of(convert_double((int)9)) : half_of(y[i]) + 1.85f;
  y[i] = old * scale;
  v[i] *= convert_double4((int4)(1)) * 0.5;
  n[0] = sizeof(double);
  n[1] = sizeof(double3);
  n[2] = sizeof(struct pair);
  n[3] = DBL_MANT_DIG;
  x[i] = fmin(x[i], (real)(DBL_MAX * tenth));
}
