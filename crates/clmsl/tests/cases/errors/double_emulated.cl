// options: --fp64 emulate
__kernel void k(__global double* a, __global float* f, __global double4* v) {
  a[0] = sin(a[0]);
  a[1] = pow(a[1], 2.0);
  a[2] = native_sqrt(a[2]);
  a[3] = fast_length(a[3]);
  a[4] = a[4] % 2.0;
  a[5] = 1e400;
  f[0] = as_float(a[0]);
  v[0] = sin(v[0]);
}
