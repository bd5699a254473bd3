struct S { int x; };
__kernel void k(__global int* a, struct S s) {
    a[0] = missing + unknown(3);
    s.y = 1;
    a[1] = a.x;
    later(1);
}
