int4 id(int4 v) { return v; }
int4 made(bool b) { return b; }
__kernel void k(__global int4* o, __global float4* f, __global int* n)
{
    bool b = n[0] > 3;
    int4 v = b;
    o[0] = b;
    o[1] = id(b);
    f[0] = (float4)b;
    f[1] = b;
}
