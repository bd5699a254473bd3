// run: change grid=1 p={i8:1,i32:-70000,f32:1.5,f32:-2,u16:7,u16:65535,i8:2,i32:5,f32:3,f32:4,u16:8,u16:9} s=local:17 v={i8:3,i32:123456789,f32:0.5,f32:0.25,u16:1,u16:2} out=[0;14] -> p={i8:2,i32:-69995,f32:2.5,f32:8,u16:17,u16:65534,i8:2,i32:4,f32:8,f32:1.5,u16:9,u16:8} out=[5,8,-69995,5,12,123456789,-69986,1735,7,1,3,1735,3,-1]
// run: table grid=3 out=[0;3] -> out=[9,-4,40]
// run: lanes grid=4 p={u8:1,i32:0,i32:0,i32:0,i32:0,u8:2} -> p={u8:1,i32:10,i32:11,i32:12,i32:13,u8:2}
// Members at odd addresses, in every address space: a char, an int behind it, and so on, without gaps.
typedef struct { char c; int n; float2 v; ushort h[2]; } __attribute__((packed)) Item;
typedef struct { Item items[2]; uchar end; } Two;
struct __attribute__((packed)) Entry { uchar kind; short2 range; Item item; uchar3 rgb; };
__constant struct Entry entries[3] = { { 1, (short2)(2, 3), { 4, -1 } }, { 2, -5, { 0, 0x01020304, (float2)(1, 2) } },
                                       { .kind = 40, .rgb = (uchar3)(1) } };

int n_of(const Item* item) { return item->n; }
Item doubled(Item item) { item.n *= 2; return item; }
float shared(__local Item* s) { return s->v.x; }

__kernel void change(__global Item* p, __local Item* s, Item v, __global int* out)
{
    p[0].n += 5;
    p[0].v.y = 8;
    p[1].v = p[0].v.yx;
    p[1].h[0]++;
    p[0].h[1] <<= 1;
    out[0] = p[1].n--;
    out[1] = --p[1].h[1];
    s[0] = p[0];
    p[0].c = s[0].c + 1;
    out[2] = s->n;
    out[3] = (p[0].v.x = 2.5f) * 2;
    Item a = p[1];
    a.n = a.n * 3;
    out[4] = a.n;
    out[5] = v.n;
    Two q = { { a, p[0] }, 9 };
    out[6] = q.items[1].n + q.end;
    out[7] = sizeof(Item) * 100 + sizeof(Two);
    out[8] = p[0].n < 0 ? p[0].h[0] : 1;
    int i = 0;
    p[i++].h[0] += 10;
    out[9] = i;
    for (out[10] = 0; out[10] < *q.items[0].h; ++*q.items[0].h) out[10] += 1, *(q.items[0].h) = 2;
    __global uchar* bytes = (__global uchar*)&p[1].n;
    volatile __global Item* again = p;
    out[11] = 100 * (bytes - (__global uchar*)p - 1) + (int)sizeof(q) + (again->n == p->n ? 0 : 1);
    again->h[1] &= 0xfffe;
    out[12] = n_of(&a) / doubled(a).n + n_of(&q.items[0]) / 4;
    out[13] = shared(s) == 1.5f ? -1 : 0;
}

__kernel void table(__global int* out)
{
    size_t i = get_global_id(0) % 3;
    struct Entry e = entries[i];
    out[get_global_id(0)] = i == 0 ? 4 + e.range.y + e.item.n + e.range.x + e.kind : e.range.x + (int)entries[i].item.v.x
        + (entries[i].item.n == 0x01020304 ? 0 : e.kind);
}

struct __attribute__((packed)) Lanes { uchar before; int4 v; uchar behind; };

// Work-items write to different components of one vector.
__kernel void lanes(__global struct Lanes* p)
{
    uint i = get_global_id(0);
    p[i / 4].v[i % 4] = 10 + i;
}
