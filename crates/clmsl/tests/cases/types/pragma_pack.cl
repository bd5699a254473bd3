// run: k grid=1 a={i8:1,i32:2,i16:3} b={i8:4,u8:0,i32:5,i16:6,i64:7} c={i8:8,u8:0,u8:0,u8:0,i64:9,f32:1,f32:2,f32:3,f32:4} out=[0;12] -> a={i8:1,i32:12,i16:3} b={i8:4,u8:0,i32:15,i16:6,i64:17} c={i8:8,u8:0,u8:0,u8:0,i64:19,f32:1,f32:2,f32:3,f32:14} out=[7,16,28,16,24,2,5,9,4,7,24,14]
// How far members are aligned, and what is kept and brought back, also within other things.
#pragma pack(push, 1)
typedef struct { char c; int n; short s; } A;
#pragma pack(push, two, 2)
typedef struct { char c; int n; short s; long l; } B;
#pragma pack(4)
typedef struct { char c; long l;
#pragma pack(1)
                 float4 v; } C;
#pragma pack(pop, two)
typedef struct { char c;
#pragma pack(pop)
                 float f; short s; } D;
#define AT(n) _Pragma("pack(push, 8)") typedef struct { char c; Wide v; } E8; _Pragma("pack(pop)")
typedef long Wide;
AT(8)
typedef struct { char c; float4 f __attribute__((aligned(4))); } Natural;
#pragma pack()
typedef struct { char c; long l; short s; } E;

__kernel void k(__global A* a, __global B* b, __global C* c, __global int* out)
{
    size_t i = get_global_id(0);
    a += i; b += i; c += i; out += 12 * i;
    a->n += 10; b->n += 10; b->l += 10; c->l += 10; c->v.w += 10;
    out[0] = sizeof(A); out[1] = sizeof(B); out[2] = sizeof(C); out[3] = sizeof(E8); out[4] = sizeof(E);
    D d = { 1, 2.0f, 3 };
    out[5] = (int)d.f;
    E8 e = { 4, 5 };
    out[6] = (int)e.v;
    out[7] = sizeof(D) + (int)(d.s - 1);
    out[8] = (int)((__global uchar*)&b[1] - (__global uchar*)&b->l) / 2;
    out[9] = (int)b->l - 10;
    out[10] = sizeof(E); out[11] = c->v.w;
}
