// The macros of numbers of double are not there where double is not; what is missing is double.
__kernel void k(__global float* a) {
    a[0] = M_PI * 2;
    a[1] = DBL_MAX;
    a[2] = M_PI_F + M_PIE;
}
