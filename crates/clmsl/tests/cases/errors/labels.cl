__kernel void k(__global int* a) {
    if (a[0]) goto missing;
    end: a[1] = 1;
    end: a[2] = 1;
    goto end;
}
