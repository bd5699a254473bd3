struct S { int a : 3; int : 0; uint b : 1 + 4, c; float d; };
typedef struct { struct { int x : 3; } inner; } Known;
__kernel void k(__global int* a, __global Known *known) {
    struct S s;
    a[0] = s.c + s.d + s.a;
    a[1] = s.missing;
}
