// run: vector_add grid=8 a=[1,3.125,2.25,-2.25,-1.625,3,-4,2.625] b=[2.375,-0.25,-1.625,-1.75,-2,-0.5,0,0.375] c=[9,9,9,9,9,9,9,9] n=7 -> c=[3.375,2.875,0.625,-4,-3.625,2.5,-4,9]
__kernel void vector_add(__global const float* a, __global const float* b, __global float* c, const uint n)
{
    size_t i = get_global_id(0);
    if (i >= n) return;
    c[i] = a[i] + b[i];
}
