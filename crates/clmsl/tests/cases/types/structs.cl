// run: structs grid=1 out=[0,0,0,0,0,0,0,0] items={i32:0,f32:0,f32:0} -> out=[1019,8,910,5,82,67.141594,1,12] items={i32:4,f32:6,f32:9}
typedef struct Inner { int a; float b[2]; } Inner;
struct Outer {
    Inner inner;
    struct Inner list[2];
    uchar tag;
    long wide;
};


typedef union { float f; uint u; uchar bytes[4]; } Bits;

struct Outer make(int seed)
{
    struct Outer o = { { seed, { 1.0f, 2.0f } }, .tag = 7, .list[1].b = { 5.0f } };
    o.list[0] = o.inner;
    o.list[0].a *= 2;
    o.wide = seed;
    return o;
}

int total(struct Outer o) { o.inner.a += 1000; return o.inner.a + o.list[0].a + o.list[1].a + o.tag + (int)o.wide; }

void set(Inner* where, Inner what) { *where = what; where->b[1] = 9; }

__kernel void structs(__global float* out, __global Inner* items)
{
    struct Outer o = make(3), other = o;
    out[0] = total(o);
    out[1] = o.inner.a + o.list[1].b[0] + o.list[1].b[1];
    set(&o.list[1], (Inner){ 4, { 6.0f } });
    out[2] = o.list[1].a + o.list[1].b[0] + o.list[1].b[1] * 100;
    out[3] = other.list[1].b[0];
    items[0] = o.list[1];
    Inner *p = o.list;
    out[4] = p[1].a + (p + 1)->b[0] + sizeof(struct Outer) + sizeof o.list;
    Bits bits;
    bits.u = 0x40490fdb;
    out[5] = bits.f + bits.bytes[3];
    Bits first = { 1.0f };
    out[6] = first.u == 0x3f800000u;
    struct { int x, y; } local_type = { .y = 2, .x = 1 };
    out[7] = local_type.x * 10 + local_type.y;
}
