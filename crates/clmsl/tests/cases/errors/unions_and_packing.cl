struct Packed { char c; int n; } __attribute__((packed));
struct Anonymous { struct { int x; }; int z; float x; };
struct Declares { struct Packed; int z; };
__kernel void k(__global int* a) { struct Declares d = { 1 }; a[0] = d.z; }
struct Words { int a; int b; } __attribute__((packed));
struct Behind { char c; struct Words words; };
union Or { struct Words words; char c[9]; };
__kernel void casts(__global char* bytes, __global void* any, __global int* words)
{
    __global struct Words* a = (__global struct Words*)(bytes + 1);
    __global struct Words* b = any;
    __global struct Words* c = (__global struct Words*)words;
    a->a = b->a + c->a;
}
