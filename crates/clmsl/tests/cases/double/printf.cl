// options: --fp64 emulate
// run: k grid=1 x=[0.1,-1e300] -> prints="0.100000000000000006\_-1e+300\_0.2\_0.5\n"
// A double is printed with all its digits.
__kernel void k(__global const double* x) {
  printf("%.18f %g %g %g\n", x[0], x[1], 0.2, 0.5f);
}
