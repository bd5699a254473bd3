// run: k grid=1 s=[300,300] u=[60000,7] c=[200,3,5] out=[0;7] -> out=[90000,420000,605,0,0,1,1]
// Functions without forms for narrow scalars take them promoted.
__kernel void k(__global const short* s, __global const ushort* u, __global const uchar* c, __global int* out)
{
    out[0] = mul24(s[0], s[1]);
    out[1] = mul24(u[0], u[1]);
    out[2] = mad24(c[0], c[1], c[2]);
    out[3] = any(c[0]);
    out[4] = all(u[0]);
    out[5] = any((char)c[0]);
    out[6] = all((short)u[0]);
}
