__kernel void inner(__global int* a) { __local int x; x = a[0]; a[0] = x; }
__kernel void outer(__global int* a) { inner(a); }
