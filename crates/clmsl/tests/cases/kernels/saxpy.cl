// run: saxpy grid=4 a=2 x=[1,2,3,4] y=[0,1,0,-1] -> y=[2,5,6,7]
__kernel void saxpy(float a, __global const float* x, __global float* y)
{
    int i = get_global_id(0);
    y[i] = a * x[i] + y[i];
}
