struct S { int x; struct S next; };
struct T { struct U u; };
__kernel void k(__global int* a) {
    a[0] = 1;
}
