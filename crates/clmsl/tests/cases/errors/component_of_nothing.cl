__kernel void k(__global int* a, float3 v, float2 w) {
    v.w = 1;
    v.hi = w;
    v.s3 = 1;
    w.xyz;
    w[2] = 1;
    &v.x;
    w.x.y = 1;
}
