// run: unions grid=1 out=[0,0,0,0,0,0,0] -> out=[1065353216,0x04030201,1073741824,7,5,0x3f800000,8]
// A union initialised by any of its members; in structures, arrays, literals and __constant memory too.
typedef union { uint u; float f; uchar4 c; } Bits;
typedef struct { int tag; Bits bits; } Tagged;

__constant Bits one = { .f = 1.0f };
__constant Tagged table[2] = { { 7, { .u = 5 } }, { 8, { .f = 1.0f } } };

uint bits_of(Bits b) { return b.u; }

__kernel void unions(__global uint* out)
{
    Bits a = { .f = 1.0f };
    Bits b = { .c = (uchar4)(1, 2, 3, 4) };
    out[0] = a.u;
    out[1] = b.u;
    out[2] = bits_of((Bits){ .f = 2.0f });
    out[3] = table[0].tag;
    out[4] = table[0].bits.u;
    out[5] = table[1].bits.u == one.u ? one.u : 0;
    out[6] = table[1].tag;
}
