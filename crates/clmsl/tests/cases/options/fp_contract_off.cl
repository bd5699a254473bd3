// run: contract grid=1 x=[1.0000001,-1.0000002,2] y=[9,9] -> y=[0,0]
#pragma OPENCL FP_CONTRACT OFF
__kernel void contract(__global const float* x, __global float* y)
{
    y[0] = x[0] * x[0] + x[1];
    float product = x[0] * x[0];
    y[1] = product + x[1];
}
