__kernel void k(__global int* a) {
    int i = 0;
again:
    a[i++] = 1;
    if (i < 3) goto again;
}
