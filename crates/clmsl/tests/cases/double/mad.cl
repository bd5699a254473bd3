// options: --fp64 emulate
// run: k grid=5 a=[0.1,1e+308,1.0000000000000002,5e-324,3.0] b=[10.0,10.0,1.0000000000000002,0.5,5.0] c=[-1.0,-1e+308,-1.0,5e-324,7.0] -> a=[5.551115123125783e-17,inf,4.440892098500626e-16,1e-323,22.0]
// differential: skip: mad may round once or twice
// mad rounds once.
__kernel void k(__global double* a, __global const double* b, __global const double* c) {
  size_t i = get_global_id(0);
  a[i] = mad(a[i], b[i], c[i]);
}
