__kernel void k(__global int4* o, __global float4* f, __global int* n)
{
    int4 v = o[0];
    v <<= 1.5f;
    v >>= f[0].x;
    v <<= f[0];
    n[0] <<= 1.5f;
    f[0] <<= 1;
    o[0] = v << 1.5f;
}
