// run: k grid=1 a={i8:1,u8:0,i32:2,u16:0,i8:3,u8:0,u16:0,i32:4,u64:0,u64:0,i16:5,u16:0,u32:0,u64:0,u64:0,u64:0} b={f32:1,f32:2,f32:3,f32:4} out=[0;8] -> a={i8:1,u8:0,i32:12,u16:0,i8:4,u8:0,u16:0,i32:3,u64:0,u64:0,i16:15,u16:0,u32:0,u64:0,u64:0,u64:0} b={f32:1,f32:20,f32:3,f32:4} out=[64,16,25,17,5,6,67305985,3]
// Alignments that members ask for, and packing of one of them; also before the type.
typedef struct { char c; int n __attribute__((packed, aligned(2))); __attribute__((aligned(8))) char d; int m;
                 short s __attribute__((aligned(32))); } A;
// As the host's compilers have it, an alignment below that of the type changes nothing.
typedef struct { float4 v; } __attribute__((aligned(8))) B;
typedef struct { char c; B b __attribute__((packed)); int x[2] __attribute__((packed)); } C;
union U { uchar bytes[5]; int n; short2 s __attribute__((packed)); } __attribute__((packed));

__kernel void k(__global A* a, __global B* b, __global int* out)
{
    size_t i = get_global_id(0);
    a += i; b += i; out += 8 * i;
    a->n += 10; a->d++; a->m -= 1; a->s *= 3;
    C c = { 7, *b, { 8, 9 } };
    c.b.v.y = 20;
    c.x[1] += c.x[0];
    *b = c.b;
    out[0] = sizeof(A); out[1] = sizeof(B); out[2] = sizeof(C); out[3] = c.x[1];
    union U u = { .n = 0x04030201 };
    u.bytes[4] = u.bytes[2] + u.s.y;
    out[4] = sizeof(u); out[5] = u.bytes[4]; out[6] = u.n; out[7] = a->m;
}
