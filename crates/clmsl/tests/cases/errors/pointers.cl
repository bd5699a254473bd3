__kernel void k(__global int* a, __global float* f, __global void* v) {
    a = f;
    a = 5;
    int n = a;
    v[0];
    *v;
    v + 1;
    float4 x;
    __private float* p = &x.y;
    &5;
    a = (__global int*)n;
    a + f;
    a == f;
    f = a + 1;
    -a;
}
