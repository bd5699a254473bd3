#pragma OPENCL EXTENSION all : enable
#pragma OPENCL SELECT_ROUNDING_MODE rtz
#pragma OPENCL EXTENSION cl_khr_mipmap_image : maybe
__kernel void k(__global float* x) { *x = *x / 3.0f; }
