__kernel void k(__global const int* a, const int n, __global int* b) {
    a[0] = 1;
    n = 2;
    const float4 v = (float4)(1.0f);
    v.x = 2;
    const int t[2] = { 1, 2 };
    t[0]++;
    b = a;
}
