// options: --fp64 emulate -cl-single-precision-constant
// run: k grid=1 x=[0] f=[3] -> x=[0.10000000149011612] f=[0.3]
// With -cl-single-precision-constant a constant without suffix is a float although there is double.
__kernel void k(__global double* x, __global float* f) {
  x[0] = 0.1;
  f[0] *= 0.1;
}
