int next(int* counter) { return atomic_inc(counter); }
__kernel void k(__global int* a) {
    int own = 0;
    a[0] = next(a) + next(&own);
}
