// options: --fp64 emulate
// run: unary grid=10 x=[2.5,-2.5,0.5,-0.3,4503599627370498.0,-0.0,nan,inf,2.0,5e-324] r=[0;70] t=[0;10] -> r=[2.0,3.0,2.0,2.0,3.0,2.5,1.5811388300841898,-3.0,-2.0,-2.0,-2.0,-3.0,2.5,nan,0.0,1.0,0.0,0.0,1.0,0.5,0.7071067811865476,-1.0,-0.0,-0.0,-0.0,-0.0,0.3,nan,4503599627370498.0,4503599627370498.0,4503599627370498.0,4503599627370498.0,4503599627370498.0,4503599627370498.0,67108864.00000001,-0.0,-0.0,-0.0,-0.0,-0.0,0.0,-0.0,nan,nan,nan,nan,nan,nan,nan,inf,inf,inf,inf,inf,inf,inf,2.0,2.0,2.0,2.0,2.0,2.0,1.4142135623730951,0.0,1.0,0.0,0.0,0.0,5e-324,2.2227587494850775e-162] t=[12,28,12,28,12,20,1,2,12,4]
// run: fused grid=5 a=[0.1,1e+308,1.0000000000000002,5e-324,3.0] b=[10.0,10.0,1.0000000000000002,0.5,5.0] c=[-1.0,-1e+308,-1.0,5e-324,7.0] -> a=[5.551115123125783e-17,inf,4.440892098500626e-16,1e-323,22.0]
// run: pairs grid=8 a=[7.5,-7.5,1e+300,5.5,nan,1.0,-0.0,1e+308] b=[2.0,2.0,3.0,-inf,1.0,nan,2.0,1e-308] r=[0;48] t=[0;8] -> r=[1.5,2.0,7.5,7.5,5.5,7.499999999999999,-1.5,-7.5,2.0,7.5,0.0,-7.499999999999999,0.0,3.0,1e+300,1e+300,1e+300,9.999999999999999e+299,5.5,-inf,5.5,-5.5,inf,5.499999999999999,nan,1.0,1.0,nan,nan,nan,nan,1.0,1.0,1.0,nan,nan,-0.0,-0.0,2.0,0.0,0.0,5e-324,3.498445546245627e-309,1e-308,1e+308,1e+308,1e+308,9.999999999999998e+307] t=[44,42,44,44,24,24,42,44]
// run: parts grid=8 x=[1.5,5e-324,1.0,1.0,3.0,1e+308,-0.0,inf] n=[3,1074,-1074,-1075,-1075,5,7,-3] r=[0;8] p=[0;24] e=[0;16] -> r=[12.0,1.0,5e-324,0.0,1e-323,inf,-0.0,inf] p=[0.75,0.5,1.0,0.5,5e-324,0.0,0.5,0.0,1.0,0.5,0.0,1.0,0.75,0.0,3.0,0.5562684646268004,0.0,1e+308,-0.0,-0.0,-0.0,inf,0.0,inf] e=[1,0,-1073,-1074,1,0,1,0,2,1,1024,1023,0,-2147483648,0,2147483647]
// run: common grid=10 x=[2.5,-2.5,0.5,-0.3,4503599627370498.0,-0.0,nan,inf,2.0,5e-324] r=[0;50] -> r=[1.0,1.0,1.0,2.625,143.2394487827058,-1.0,0.0,-1.0,-1.125,-143.2394487827058,1.0,1.0,0.5,1.125,28.64788975654116,-1.0,0.0,-0.3,0.5249999999999999,-17.188733853924695,1.0,1.0,1.0,3377699720527874.0,2.5803725126501978e+17,-0.0,0.0,-0.0,0.75,-0.0,0.0,1.0,-1.0,nan,nan,1.0,1.0,1.0,nan,inf,1.0,1.0,1.0,2.25,114.59155902616465,1.0,0.0,5e-324,0.75,2.8e-322]
// run: chosen grid=4 x=[1,2,3,4] y=[5,6,7,8] -> x=[5,2,7,4] y=[2.25,3,0x7ff8000000000003,nan]
// The functions on double that give exact or correctly rounded results, and what is made of them.
__kernel void unary(__global const double* x, __global double* r, __global int* t) {
  size_t i = get_global_id(0);
  double v = x[i];
  __global double* to = r + 7 * i;
  to[0] = floor(v);
  to[1] = ceil(v);
  to[2] = trunc(v);
  to[3] = rint(v);
  to[4] = round(v);
  to[5] = fabs(v);
  to[6] = sqrt(v);
  t[i] = isnan(v) + 2 * isinf(v) + 4 * isfinite(v) + 8 * isnormal(v) + 16 * signbit(v);
}

__kernel void fused(__global double* a, __global const double* b, __global const double* c) {
  size_t i = get_global_id(0);
  a[i] = fma(a[i], b[i], c[i]);
}

__kernel void pairs(__global const double* a, __global const double* b, __global double* r, __global int* t) {
  size_t i = get_global_id(0);
  double x = a[i], y = b[i];
  __global double* to = r + 6 * i;
  to[0] = fmod(x, y);
  to[1] = fmin(x, y);
  to[2] = fmax(x, y);
  to[3] = copysign(x, y);
  to[4] = fdim(x, y);
  to[5] = nextafter(x, y);
  t[i] = isequal(x, y) + 2 * isless(x, y) + 4 * isgreater(x, y) + 8 * isnotequal(x, y) + 16 * isunordered(x, y) +
         32 * islessgreater(x, y);
}

__kernel void parts(__global const double* x, __global const int* n, __global double* r, __global double* p,
                    __global int* e) {
  size_t i = get_global_id(0);
  r[i] = ldexp(x[i], n[i]);
  p[3 * i] = frexp(x[i], e + 2 * i);
  p[3 * i + 1] = modf(x[i], p + 3 * i + 2);
  e[2 * i + 1] = ilogb(x[i]);
}

__kernel void common(__global const double* x, __global double* r) {
  size_t i = get_global_id(0);
  double v = x[i];
  __global double* to = r + 5 * i;
  to[0] = sign(v);
  to[1] = step(0.5, v);
  to[2] = clamp(v, -1.0, 1.0);
  to[3] = mix(v, 3.0, 0.25);
  to[4] = degrees(v);
}

__kernel void chosen(__global double* x, __global double* y) {
  size_t i = get_global_id(0);
  x[i] = select(x[i], y[i], (long)(i % 2 == 0));
  if (i == 0)
    y[i] = bitselect(2.0, 2.5, 0x1.4p+1 - 0.25) + (isequal(x[i], 5.0) ? 0.25 : 0);
  if (i == 1)
    y[i] = max(min(y[i], 3.0), x[i]);
  if (i == 2)
    y[i] = nan((ulong)i + 1);
  if (i == 3)
    y[i] = sqrt(-x[i]);
}
