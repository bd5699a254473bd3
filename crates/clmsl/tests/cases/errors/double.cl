double scale = 2.0;
__kernel void k(__global double* a, __global double4* b) {
    a[0] = (double)1.0f;
    int n = convert_double(3);
}
