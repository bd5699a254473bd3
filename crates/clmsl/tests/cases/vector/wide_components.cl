// run: literals grid=1 in=[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16] out=[0;128] -> out=[9,10,11,14,15,16,1,12,14,15,16,14,15,16,9,10,2.5;8,8,7,6,5,4,3,2,1,1,3,5,7,2,4,6,8,9,10,11,12,12,11,10,9,1,3,5,7,9,11,13,15,2,4,6,8,10,12,14,16,16,15,14,13,12,11,10,9,8,7,6,5,4,3,2,1,10,4,11,5,12,6,13,7,1,9,10,11,12,14,15,16,17,34,51,68,85,102,119,136,7,20,33,48,-8;4,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]
__kernel void literals(__global const float8* in, __global float8* out)
{
    float8 a = in[0];
    float4 b = in[1].lo;
    float3 c = in[1].s567;
    out[0] = (float8)(b.x, b.yz, c, 1, b.w);
    out[1] = (float8)(c, c, b.xy);
    out[2] = (float8)(2.5f);
    out[3] = a.s76543210;
    out[4] = (float8)(a.even, a.odd);
    out[5] = b.xyzwwzyx;
    float16 d = (float16)(a, in[1]);
    out[6] = d.s02468aCe;
    out[7] = d.odd;
    float16 e = d.sfedcba9876543210;
    out[8] = e.lo;
    out[9] = e.hi;
    out[10] = (float8)(d.s3456, d.s9abc).s40516273;
    float8 f = { 1.0f, b, c };
    out[11] = f;
    out[12] = (d + e).s01234567 * (float8)(a.s0, a.s12, a.s345, a.s67);
    out[13] = (float8)(in[0].s0 + in[0].s5, (in[0] * in[1]).s123, (in[0] - in[1]).s4567);
    out[14].s01234567 = a;
    ((__global float16*)out)[7].hi = d.hi;
}

// run: changes grid=1 in=[1,2,3,4,5,6,7,8] out=[0;192] -> out=[5,6,7,8,5,6,7,8,8,1,3,4,5,6,7,2,1,2,4,5,6,10,2,6,7,3,5,5,3,8,1,8,9,10,11,12,13,14,15,16,13,14,15,16,9,14,16,16,-16,-7,-12,-1,-8,-3,-4,-1,16,7,2,5,8,3,4,1,5,-7,6,-1,7,-3,8,-1,7,7,2,5,8,3,4,1,-7,-1,-3,-1,7,5,3,1,-6,0,-2,0,8,6,4,2,5,-6,-12,0,6,-2,-4,0,7,8,2,6,8,4,4,2,5,-6,-12,0,6,-2,-4,0,7,8,2,6,8,4,4,2,5,-6,-12,0,6,-2,-4,0,7,8,2,6,8,4,4,2,7,-4,-10,2,8,0,-2,2,9,10,4,8,10,6,6,4,48,15,99,3,63,-1,3,3,80,99,15,63,99,35,35,15,5,0;14,5]
__kernel void changes(__global const int8* in, __global int16* out)
{
    int8 a = in[0];
    a.lo = a.hi;
    out[0].lo = a;
    a = in[0];
    a.s01 = a.s10;
    a.s07 = a.s70;
    out[0].hi = a;
    a.even = a.odd;
    a.odd += a.lo;
    out[1].lo = a;
    a = in[0];
    a.s6420 = a.s0246;
    a.s5++;
    ++a.s135;
    out[1].hi = a;
    int16 b = (int16)(in[0], in[0] + 8);
    b.lo = b.hi;
    b.hi.lo = b.lo.hi;
    b.hi.hi.even = b.s0f;
    out[2] = b;
    b = (int16)(in[0], -in[0]);
    b.s0123456789abcdef = b.sfedcba9876543210;
    b.s3a -= b.s4b;
    b.even <<= 1;
    out[3] = b;
    int4 was = (b.s048c = in[0].hi);
    out[4] = b;
    out[4].s0246 = was;
    int8 before = b.odd++;
    out[5].lo = before;
    out[5].hi = b.odd;
    int16 all = b++;
    out[6] = all;
    out[7] = --b;
    out[8] = b--;
    out[9] = b += 3;
    out[10] = (b *= out[9]) - 1;
    out[11].s0 = out[11].sf = b.s7 = 5;
}

// run: computed_index grid=8 in=[1,2,3,4,5,6,7,8] out=[0;64] l=local:256 -> out=[80,1,4,16,-1,6,7,8,2,70,103,16,5,-1,7,10,1,2,60,16,6,6,-1,107,1,2,4,7,105,7,7,100,-1,2,3,16,40,5,8,8,1,-1,3,18,6,30,107,8,2,2,-1,115,5,6,20,8,101,3,3,20,5,6,8,3]
__kernel void computed_index(__global const int8* in, __global int8* out, __local int8* l)
{
    int i = get_global_id(0);
    int8 v = in[0];
    v[i] = v[7 - i] * 10;
    v[(i + 1) & 7] += 100;
    v[(i + 2) & 7]++;
    l[i] = v;
    l[i][i ^ 1] = in[0][i];
    out[i] = l[i];
    out[i][(i + 4) % 8] = -1;
    out[i].s37 = (out[i] + v).s73;
}

struct pair {
    uchar first;
    ushort8 vector;
    char16 rows[2];
    union { uint8 whole; uchar16 bytes[2]; } bits;
};

__constant short16 table[2] = { (short16)(7), (short16)(0, 1, 2, 3, (short4)(4), (short8)(8, 9, 10, 11, 12, 13, 14, 15)) };
__constant uchar8 few = (uchar8)(1, 2, 3, 4, 5, 6, 7, 8);
__constant struct { int n; float8 v; } record = { 3, (float8)(0.5f, -0.5f, 1, 2, 3, 4, 5, 6) };

short8 through(__private short8* p, __global short8* g, __constant const short16* c)
{
    p->s0 = g->s7;
    *g = (*p + c->odd).s10325476;
    return *p - *g;
}

// run: objects grid=1 value=[1,2,3,4,5,6,7,8] out=[0;64] g=[10,20,30,40,50,60,70,80] sizes=[0;12] -> out=[75,-79,-5,-3,-12,-8,-16,-12,80,2,3,4,5,6,7,8,99,2,3,4,5,6,7,8,7,8,9,10,11;4,4,4,6,10,8,8,10,10,5;4,9,9,9,17,3,6,2,3,4,5,7,5,179,4,6,8,10,12,14,16] g=[5,81,8,7,17,14,23,20] sizes=[32,16,128,96,16,16,64,4,8,1,16,8]
__kernel void objects(short8 value, __global short8* out, __global short8* g, __global uint* sizes)
{
    short8 v = value;
    out[0] = through(&v, g, &table[1]);
    out[1] = v;
    value.s0 = 99;
    out[2] = value;
    out[3] = table[0].hi + table[1].lo;
    struct pair p = { 1, (ushort8)(2, 3, 4, 5, 6, 7, 8, 9), { (char16)(1), (char16)(2) }, { (uint8)(0x01020304) } };
    p.vector.odd = p.vector.even;
    p.rows[1].s3 = p.rows[0].sf + 5;
    p.bits.bytes[1].sf = 9;
    struct pair q = p;
    out[4] = convert_short8(q.vector) + convert_short8(q.rows[1].lo);
    out[5] = convert_short8(q.bits.bytes[1].hi) + convert_short8(few);
    out[6] = (short8)((short)record.n, convert_short(record.v.s7), convert_short4(record.v.s3456), few.s67.x, few.s4);
    short8 array[3] = { v, value };
    out[7] = array[0] + array[1] + array[2];
    sizes[0] = sizeof(float8); sizes[1] = sizeof(char16); sizes[2] = sizeof(long16); sizes[3] = sizeof(struct pair);
    sizes[4] = (uint)((__global char*)&g[1] - (__global char*)g);
    sizes[5] = (uint)((__private char*)&p.vector - (__private char*)&p);
    sizes[6] = (uint)((__private char*)&p.bits - (__private char*)&p);
    sizes[7] = vec_step(float3); sizes[8] = vec_step(p.vector); sizes[9] = vec_step(int); sizes[10] = vec_step(char16);
    sizes[11] = sizeof(p.vector.odd);
}

// run: volatile_and_effects grid=1 a=[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24] n=[0] -> a=[44,28,30,32,34,36,38,50,18,20,22,24,44,30,34,38,17,19,19,21,21,23,23,25] n=[3]
__kernel void volatile_and_effects(volatile __global int8* a, __global int* n)
{
    volatile int8 v = a[1];
    a[0] = v + a[2];
    v.odd = a[2].even;
    a[1] = v;
    v += 1;
    a[(*n)++].s70 += v.s01;
    a[(*n)++] *= a[2];
    int4 old = a[(*n)++].odd++;
    a[1].lo = old;
    a[1].hi = (*n > 2 ? a[0] : v).s0246;
}
// differential: tame: the integers are indices
