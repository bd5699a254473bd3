__kernel void k(__global float* a) {
    __local float tile[64][128];
    __local int one;
    tile[0][0] = a[0]; one = 1;
    a[0] = tile[0][0];
}
