__kernel void third(__global const double* x, __global double* y, double a) {
    size_t i = get_global_id(0);
    y[i] = a * x[i] / 3;
}
