__kernel void k(__global float8* a, __global int16* b, __global float4* c) {
    c[0] = (float4)(c[1].xyzw, c[1].xyzw).lo;
    c[1].xyzwxyzw;
    vload16(0, (__global float*)c);
    convert_int8(c[0]);
}
