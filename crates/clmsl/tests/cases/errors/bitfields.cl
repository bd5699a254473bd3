struct S { int a : 3; };
__kernel void k(__global int* a) {
    a[0] = 1;
}
