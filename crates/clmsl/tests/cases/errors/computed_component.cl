__kernel void k(__global float8* a, __global float4* c, int i) {
    a[0].even[i] = 1;
    c[0].xz[i] += 1;
    a[0].lo[i] = c[0].wz[i];
}
