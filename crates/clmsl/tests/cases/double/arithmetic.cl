// options: --fp64 emulate
// run: operators grid=8 x=[0.1,-3.5,1e+308,5e-324,-0.0,inf,1.0,4503599627370498.0] y=[0.2,1.25,10.0,0.5,0.0,-inf,3.0,-0.5] r=[0;40] t=[0;8] -> r=[0.30000000000000004,-0.1,0.020000000000000004,0.5,-0.1,-2.25,-4.75,-4.375,-2.8,3.5,1e+308,1e+308,inf,1e+307,-1e+308,0.5,-0.5,0.0,1e-323,-5e-324,0.0,-0.0,-0.0,nan,0.0,nan,inf,-inf,nan,-inf,4.0,-2.0,3.0,0.3333333333333333,-1.0,4503599627370498.0,4503599627370498.0,-2251799813685249.0,-9007199254740996.0,-4503599627370498.0] t=[165,165,170,165,92,170,165,170]
// run: changes grid=1 x=[0.1,2.5,-7.25,0] f=[1.5] n=[10] -> x=[0.30000000000000004,6.428571428571429,-7.25,-8.25] f=[1.875] n=[-2]
// run: constants grid=1 r=[0;6] f=[0;2] n=[0] -> r=[0.3333333333333333,0.30000000000000004,6.283185307179586,1.0,-0.0,nan] f=[0.33333334,0.1] n=[2]
// Operators on double keep their meaning: rounded once, subnormal numbers, infinities and NaN included.
__kernel void operators(__global const double* x, __global const double* y, __global double* r, __global int* t) {
  size_t i = get_global_id(0);
  double a = x[i], b = y[i];
  r[5 * i] = a + b;
  r[5 * i + 1] = a - b;
  r[5 * i + 2] = a * b;
  r[5 * i + 3] = a / b;
  r[5 * i + 4] = -a;
  t[i] = (a < b) + 2 * (a > b) + 4 * (a <= b) + 8 * (a >= b) + 16 * (a == b) + 32 * (a != b) + 64 * !a + 128 * (a && b);
}

__kernel void changes(__global double* x, __global float* f, __global int* n) {
  int i = 0;
  x[i++] += 0.2;
  x[1]--;
  x[1] *= 3;
  x[i++] /= 0.7;
  double old = x[2]--;
  x[3] = x[2];
  x[2] = ++x[2] == old ? old : 0;
  f[0] *= 1.25;
  n[0] -= 12.75;
}

// Constants have the type double and are folded exactly; NaN and the sign of zero survive.
__kernel void constants(__global double* r, __global float* f, __global int* n) {
  r[0] = 1.0 / 3.0;
  r[1] = 0.1 + 0.2;
  r[2] = M_PI * 2;
  r[3] = 1e300 * 1e-300;
  r[4] = -0.0;
  r[5] = 0.0 / 0.0;
  f[0] = 1.0 / 3.0;
  f[1] = 0.1;
  n[0] = 0.5 + 2;
}
