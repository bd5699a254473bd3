// options: --fp64 emulate
// run: unary grid=3 x=[2.5,-2.5,0.5,nan,4,-0.0,inf,1e-300,-7.75,9,100.25,3.5] r=[0;48] t=[0;12] -> r=[2,-3,0,nan,2,-2,0,nan,2.5,2.5,0.5,nan,1.5811388300841898,nan,0.7071067811865476,nan,4,-0.0,inf,0,4,-0.0,inf,0,4,0,inf,1e-300,2,-0.0,inf,1e-150,-8,9,100,3,-8,9,100,4,7.75,9,100.25,3.5,nan,3,10.012492197250394,1.8708286933869707] t=[0,-4,0,-1,0,-4,-2,0,-4,0,0,0]
// run: several grid=2 a=[0.1,1e+308,1.0000000000000002,5e-324,3,-7.5,nan,2] b=[10,10,1.0000000000000002,0.5,5,2,1,nan] c=[-1,-1e+308,-1,5e-324,7,1,1,3] r=[0;40] -> r=[5.551115123125783e-17,inf,4.440892098500626e-16,1e-323,0.1,10,1.0000000000000002,5e-324,0.5,1e+308,1.0000000000000002,0.5,-0.1,-1e+308,-1.0000000000000002,5e-324,0.1,6,0,5e-324,22,-14,nan,nan,3,-7.5,1,2,3,0.5,0.5,2,3,7.5,nan,2,3,-1.5,nan,nan]
// run: parts grid=2 x=[6.5,-0.75,1024,5e-324,0.1,-3,1e+300,12.25] e=[0;8] k=[0;6] r=[0;56] -> e=[3,0,11,-1073,-3,2,997,4] k=[3,0,11,-3,2,997] r=[0.8125,-0.75,0.5,0.5,0.5,-0.75,0,5e-324,6,-0.0,1024,0,0.5,0.25,0,5e-324,6,-1,1024,0,13,-0.1875,8192,0,52,-6,8192,4e-323,0.8,-0.75,0.7466108948025751,0.765625,0.1,-0.0,0,0.25,0,-3,1e+300,12,0.1,0,0,0.25,0,-3,1e+300,12,0.2,-0.75,8e+300,6e-323,0.8,-24,8e+300,98]
// run: chosen grid=1 x=[1,2,3,4,5,6,7,8] y=[8,7,6,5,4,3,2,1] r=[0;40] -> r=[8,7,6,5,5,6,7,8,8,2,6,4,4,6,2,8,-1,-2,-3,-4,-5,-6,-7,-8,8,1,7,2,6,3,5,4,5,1,6,2,7,3,8,4]
// run: printed grid=1 v=[0.1,-2.5,1e300,3] -> prints="0.1,-2.5\n0.1,-2.5,1e+300,3\n"
// The functions on double work by lane on its vectors, also those with a second result behind a pointer.
__kernel void unary(__global const double4* x, __global double4* r, __global long4* t) {
  size_t i = get_global_id(0);
  double4 v = x[i];
  r[4 * i] = floor(v);
  r[4 * i + 1] = rint(v);
  r[4 * i + 2] = fabs(v);
  r[4 * i + 3] = sqrt(v);
  t[i] = isnan(v) + 2 * isinf(v) + 4 * signbit(v);
}

__kernel void several(__global const double4* a, __global const double4* b, __global const double4* c,
                      __global double4* r) {
  size_t i = get_global_id(0);
  r[5 * i] = fma(a[i], b[i], c[i]);
  r[5 * i + 1] = fmin(a[i], b[i]);
  r[5 * i + 2] = fmax(a[i], 0.5);
  r[5 * i + 3] = copysign(a[i], c[i]);
  r[5 * i + 4] = fmod(a[i], b[i]);
}

__kernel void parts(__global const double4* x, __global int4* e, __global int* k, __global double4* r) {
  size_t i = get_global_id(0);
  double4 whole;
  r[7 * i] = frexp(x[i], e + i);
  r[7 * i + 1] = modf(x[i], r + 7 * i + 2);
  r[7 * i + 3] = fract(x[i], &whole);
  r[7 * i + 4] = whole;
  r[7 * i + 5] = ldexp(x[i], (int4)(1, -2, 3, -1074));
  r[7 * i + 6] = ldexp(x[i], 3);
  int3 exponents;
  frexp(x[i].xyz, &exponents);
  vstore3(exponents, i, k);
}

__kernel void chosen(__global const double8* x, __global const double8* y, __global double8* r) {
  r[0] = select(x[0], y[0], x[0] < y[0]);
  r[1] = select(x[0], y[0], (long8)(-1, 0, LONG_MIN, LONG_MAX, -5, 1, -1, 0));
  r[2] = bitselect(x[0], (double8)(-1.0), as_double8((long8)(LONG_MIN)));
  r[3] = shuffle(x[0], (ulong8)(7, 0, 6, 1, 5, 2, 4, 3));
  r[4] = shuffle2(x[0].lo, y[0].lo, (ulong8)(7, 0, 6, 1, 5, 2, 4, 3));
}

__kernel void printed(__global const double4* v) {
  printf("%v2lg\n", v[0].xy);
  printf("%v4lg\n", v[0]);
}
