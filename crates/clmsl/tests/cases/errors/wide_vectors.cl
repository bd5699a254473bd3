__kernel void k(__global float8* a, __global int16* b, __global float4* c, int i) {
    c[0] = (float4)(c[1].xyzw, c[1].xyzw).lo;
    a[0] = (float8)(c[0], c[1].xyz);
    a[0].s0123 = a[0].s01234567;
    a[1].s00 = c[0].xy;
    a[2].s8 = 1;
    a[2].s012 += c[0];
    b[0].sabcd = a[0].lo;
    convert_int8(c[0]);
    c[0].x = dot(a[0], a[1]);
    a[0] = a[1] + b[0].lo;
    a[0] = as_float8(b[0]);
    c[0].xy = a[i][1].xy;
    vstore8(c[0], 0, (__global float*)c);
}
