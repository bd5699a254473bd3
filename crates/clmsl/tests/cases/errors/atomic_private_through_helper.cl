// options: -cl-std=CL3.0
int next(int* counter) { return atomic_inc(counter); }
int add(volatile atomic_int* counter) { return atomic_fetch_add_explicit(counter, 1, memory_order_relaxed); }
__kernel void k(__global int* a, __global atomic_int* counter) {
    int own = 0;
    atomic_int ours;
    a[0] = next(a) + next(&own) + add(counter) + add(&ours);
}
