// run: k grid=1 c=[5,4194304] out=[0,0,0,0] h=[0,0] -> out=[2143289349,2143289344,2143289351,2143289344] h=[32261,32256]
// The code becomes the low bits of a quiet NaN, for half from a ushort.
__kernel void k(__global const uint2* c, __global uint* out, __global ushort* h)
{
    vstore2(as_uint2(nan(c[0])), 0, out);
    out[2] = as_uint(nan(7u));
    out[3] = as_uint(nan(0u));
    ushort code = (ushort)c[0].x;
    h[0] = as_ushort(nan(code));
    ushort2 codes = convert_ushort2(c[0]);
    h[1] = as_ushort2(nan(codes)).y;
}
