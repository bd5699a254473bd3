// options: -cl-std=CL1.2
// run: k grid=1 s=[300,300] u=[60000,7] c=[200,3,5] h=[12] out=[0;7] f=[0;2] -> out=[90000,420000,605,0,0,1,1] f=[162754.79,100000]
// Functions without forms for narrow scalars take them promoted; with a form for float alone, half as float.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__kernel void k(__global const short* s, __global const ushort* u, __global const uchar* c, __global const half* h, __global int* out,
                __global float* f)
{
    out[0] = mul24(s[0], s[1]);
    out[1] = mul24(u[0], u[1]);
    out[2] = mad24(c[0], c[1], c[2]);
    out[3] = any(c[0]);
    out[4] = all(u[0]);
    out[5] = any((char)c[0]);
    out[6] = all((short)u[0]);
    f[0] = native_exp(h[0]);
    f[1] = half_recip((half)0.5f) * 50000;
}
