// options: --fp64 emulate
// run: gemm grid=2,2 a=[0.1,0.2,0.3,0.7] b=[0.5,0.25,0.3333333333333333,2.0] c=[0;4] n=2 -> c=[0.11666666666666667,0.42500000000000004,0.3833333333333333,1.4749999999999999]
// run: nbody grid=2 p=[0.0,0.1,0.2,1.0,1.0,2.0,-0.5,3.0] v=[0;8] n=2 dt=0.01 -> v=[0.002604749662587119,0.0049490243589155256,-0.0018233247638109829,0.0,-0.0008682498875290397,-0.0016496747863051753,0.0006077749212703278,0.0]
// run: mandelbrot grid=4,2 out=[0;8] w=4 h=2 -> out=[1,3,4,4,1,1000,1000,1000]
// run: lu grid=1 a=[4.0,3.0,2.0,6.0,3.0,0.1,0.3,7.0,5.0] n=3 -> a=[4.0,3.0,2.0,1.5,-1.5,-2.9,0.075,-4.516666666666667,-8.248333333333333]
// Whole programs give the bits that any other device gives.
#pragma OPENCL FP_CONTRACT OFF
__kernel void gemm(__global const double* a, __global const double* b, __global double* c, int n) {
  size_t i = get_global_id(1), j = get_global_id(0);
  double sum = 0;
  for (int k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j];
  c[i * n + j] = sum;
}
__kernel void nbody(__global double* p, __global double* v, int n, double dt) {
  size_t i = get_global_id(0);
  double x = p[4 * i], y = p[4 * i + 1], z = p[4 * i + 2], ax = 0, ay = 0, az = 0;
  for (int j = 0; j < n; j++) {
    double dx = p[4 * j] - x, dy = p[4 * j + 1] - y, dz = p[4 * j + 2] - z;
    double d = dx * dx + dy * dy + dz * dz + 1e-9, w = p[4 * j + 3] / (d * sqrt(d));
    ax += w * dx;
    ay += w * dy;
    az += w * dz;
  }
  v[4 * i] += ax * dt;
  v[4 * i + 1] += ay * dt;
  v[4 * i + 2] = fma(az, dt, v[4 * i + 2]);
}
__kernel void mandelbrot(__global int* out, int w, int h) {
  size_t i = get_global_id(0), j = get_global_id(1);
  double cx = -2.0 + 3.0 * i / w, cy = -1.0 + 2.0 * j / h, x = 0, y = 0;
  int n = 0;
  while (x * x + y * y < 4 && n < 1000) {
    double t = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = t;
    n++;
  }
  out[j * w + i] = n;
}
__kernel void lu(__global double* a, int n) {
  for (int k = 0; k < n; k++)
    for (int i = k + 1; i < n; i++) {
      a[i * n + k] /= a[k * n + k];
      for (int j = k + 1; j < n; j++) a[i * n + j] -= a[i * n + k] * a[k * n + j];
    }
}
