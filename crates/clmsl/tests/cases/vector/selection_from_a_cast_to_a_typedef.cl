// run: casts grid=1 a=[1,2,3,4] out=[0;16] -> out=[2,4,7,3,3,4,7,1,2,2,3,5,9,9,9,9]
// A typedef name of a vector is one wherever it comes from; a name that hides it, and one of another type, is not.
typedef int4 quad;
typedef const quad tetrad;
typedef int number;
typedef struct { quad all; } holder;
typedef __global const quad* quads;

__kernel void casts(__global const int4* a, __global int4* out)
{
    holder h = { a[0] };
    out[0] = (int4)((quad)(h.all).y, (tetrad)(a[0]).w, (quad)(7).z, (number)(h.all).z);
    out[1].xy = (quad)(a[0]).hi;
    out[1].z = (number)(1, 7);
    out[1].w = ((quads)(a))->x;
    {
        typedef quad inner;
        number quad = 2;
        out[2].xy = (inner)(quad).yx;
        typedef number tetrad;
        out[2].zw = (int2)((tetrad)(h.all).z, (quad)+(3));
    }
    out[3] = (quad)(9)
        .wzyx;
}
