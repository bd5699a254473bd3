// options: --fp64 float
__kernel void k(__global double* a, __global ulong* b) {
  a[0] = as_double(b[0]);
  a[1] = 1e300;
}
