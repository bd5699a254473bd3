// run: anonymous grid=1 out=[0,0,0,0,0,0,0,0,0,0,0,0] v={f32:1,f32:2,f32:3,f32:4,i32:5,i32:6} -> out=[1,4,5,6,6,3,10,1065353216,9,7,32,24] v={f32:1,f32:20,f32:3,f32:4,i32:5,i32:60}
// Members `union { ... };` of structures and unions without name and tag belong to what holds them (C11 §6.7.2.1).
typedef struct {
    union {
        float v[4];
        struct { float x, y, z, w; };
    };
    struct { int a; struct { int b; }; };
} Vector;

typedef struct { int first; union { uint bits; float number; }; int unnamed; } Tagged;

int sum(Tagged t) { return t.first + t.unnamed; }

__kernel void anonymous(__global int* out, __global Vector* v)
{
    out[0] = v->x;
    out[1] = v->v[3];
    out[2] = v->a;
    out[3] = v->b;
    Tagged t = { 4, { 7 }, 2 };
    out[4] = sum(t);
    // Without braces, and by designators into the anonymous members.
    Tagged flat = { 1, 3, 9 };
    out[5] = flat.bits;
    out[6] = sum(flat);
    Tagged named = { .number = 1.0f, .unnamed = 9, .first = 0 };
    out[7] = named.bits;
    out[8] = sum(named);
    Vector w = { .z = 7.0f, .b = 1 };
    out[9] = w.v[2];
    out[10] = sizeof(Vector) + 8 * w.b;
    Vector* p = &w;
    out[11] = (char*)&p->b - (char*)p + 4;
    v->y = 20;
    v->b = 60;
}
// differential: tame: OpenCL C leaves the conversion of a large float to int open
