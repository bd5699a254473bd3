__kernel void k(__global int* a) {
    printf("%d\n", a[0]);
}
