__kernel void scale(__global const float *x, __global float *y, float a, uint n)
{
    const size_t i = get_global_id(0);
    if (i < n)
        y[i] = a * x[i];
}
