// run: casts grid=1 a=[1,2,3,4] out=[0;12] -> out=[4,3,2,1,7;4,2,7,3,1]
__kernel void casts(__global const int4* a, __global int4* out)
{
    out[0] = (int4)(a[0]).wzyx;
    out[1] = (int8)(5).s7654 + (int4)(a[0].y).s0123;
    out[2].xy = (int2)((int4)(a[0]).y, (int16)(7).sf);
    out[2].z = (int)a[0].z;
    out[2].w = (int4)(1)[2];
}
