__kernel void k(__global long* l, __global short* s, __constant int* c, __global float* f, __global const int* k) {
    atomic_add(l, 1L);
    atomic_add(s, 1);
    atomic_add(c, 1);
    atomic_add(f, 1.0f);
    atomic_inc(k);
    int own;
    atomic_inc(&own);
}
