// Extensions that are there, and some that are not: their pragmas say so, what they offer would be refused where it is used.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION all : disable
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL EXTENSION cl_qcom_subgroup_uniform_load : enable
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : disable

#ifndef cl_khr_fp16
#error "half is supported"
#endif

__kernel void constants(__global half* h, __global int* n)
{
    h[0] = M_PI_H;
    h[1] = HALF_MAX;
    h[2] = HALF_MIN;
    h[3] = HALF_EPSILON;
    h[4] = M_SQRT2_H + M_1_PI_H;
    n[0] = HALF_DIG + 100 * HALF_MANT_DIG + 10000 * HALF_MAX_EXP;
    n[1] = HALF_MIN_EXP + 100 * HALF_RADIX;
}
// run: constants grid=1 h=[0;5] n=[0;2] -> h=[3.140625,65504.0,0.00006103515625,0.0009765625,1.732421875] n=[161103,187]
