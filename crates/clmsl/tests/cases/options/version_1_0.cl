// options: -cl-std=CL1.0
#pragma OPENCL EXTENSION cl_khr_global_int32_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_byte_addressable_store : enable

#if __OPENCL_C_VERSION__ != 100 || __OPENCL_VERSION__ != 100
#error "another version"
#endif

// A function of OpenCL C 1.2; the program's own counts zeros.
int popcount(uint x)
{
    int n = 0;
    for (int i = 0; i < 32; i++)
        n += !(x >> i & 1);
    return n;
}

__kernel void k(__global const uint* x, __global uchar* zeros, __global int* sum)
{
    int i = get_global_id(0);
    zeros[i] = popcount(x[i]);
    atom_add(sum, zeros[i]);
}
// run: k grid=3 x=[0,1,255] zeros=[0;3] sum=[0] -> zeros=[32,31,24] sum=[87]
