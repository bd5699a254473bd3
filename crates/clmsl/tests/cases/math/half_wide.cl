// run: k grid=1 x=[1.5,-0.25,2,3.75,-1,0.5,7,-2.5] out=[0;32] -> out=[0.5,0.75,0,0.75,0,0.5,0,0.5,1,-1,2,3,-1,0,7,-3,0.5,-0.25,0,0.75,-0,0.5,0,-0.5,1,-0,2,3,-1,0,7,-2]
// Second results of vectors of eight halves.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__kernel void k(__global const half* x, __global half* out)
{
    half8 v = vload8(0, x), whole;
    vstore8(fract(v, &whole), 0, out);
    vstore8(whole, 1, out);
    vstore8(modf(v, &whole), 2, out);
    vstore8(whole, 3, out);
}
