// run: attributes grid=4 group=2 x=[1,2,3,4] n=[5] -> x=[4,8,12,16] n=[7]
// run: hint grid=1 x=[0] -> x=[1]
#pragma OPENCL EXTENSION cl_khr_global_int32_base_atomics : enable

static inline __attribute__((always_inline)) float twice(float x) { return x + x; }

__kernel __attribute__((reqd_work_group_size(2, 1, 1))) __attribute__((vec_type_hint(float4)))
void attributes(__global float* restrict x, __global volatile int* n)
{
    __attribute__((unused)) int nothing;
    #pragma unroll
    for (int i = 0; i < 2; i++)
        x[get_global_id(0)] = twice(x[get_global_id(0)]);
    __attribute__((opencl_unroll_hint(2)))
    for (int i = 0; i < 2; i++)
        if (get_global_id(0) == 0) *n += 1;
}

__kernel void __attribute__((work_group_size_hint(4, 4, 1))) hint(__global int* x) { x[0] = 1; }
