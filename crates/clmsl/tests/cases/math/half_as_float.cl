// run: k grid=1 h=[12] f=[0;2] -> f=[162754.79,100000]
// Functions of float alone take a half as float.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__kernel void k(__global const half* h, __global float* f)
{
    f[0] = native_exp(h[0]);
    f[1] = half_recip((half)0.5f) * 50000;
}
