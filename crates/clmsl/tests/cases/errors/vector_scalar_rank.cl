__kernel void k(__global int* a) {
    uchar4 c = (uchar4)(1);
    c = c + 300;
    int4 n = (int4)(1) * 1.5f;
    c = c + a[0];
    c = c + (uchar)a[0] + 1;
}
