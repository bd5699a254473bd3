__constant int* __constant table = (int[]){1, 2};
__kernel void k(__global int* a) {
    (const int[]){1, 2}[0] = 3;
    a[0] = (int[5000]){1}[a[1]];
    int b[2] = (int[2]){1, 2};
}
