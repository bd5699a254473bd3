// The name below does not exist.
__kernel void k(__global int *x) {
    /* éü */ x[wrong] = 1;
}
