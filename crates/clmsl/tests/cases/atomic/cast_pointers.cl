// Sums of floats by compare-exchange on their bits: the idioms of real programs.
void add_by_union(volatile __global float* target, float value) {
    union { uint bits; float number; } old, sum;
    do {
        old.number = *target;
        sum.number = old.number + value;
    } while (atomic_cmpxchg((volatile __global uint*)target, old.bits, sum.bits) != old.bits);
}

void add_by_cast(volatile __local float* target, float value) {
    int expected, seen = as_int(*target);
    do {
        expected = seen;
        seen = atomic_cmpxchg((volatile __local int*)target, expected, as_int(as_float(expected) + value));
    } while (seen != expected);
}

void add_by_exchange(volatile __global float* target, float value) {
    float left = value;
    while ((left = atomic_xchg(target, atomic_xchg(target, 0.0f) + left)) != 0.0f);
}

__kernel void k(__global float* sums) {
    __local float own;
    if (get_local_id(0) == 0) own = 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    add_by_union(&sums[0], 1.0f);
    add_by_cast(&own, 2.0f);
    add_by_exchange(&sums[1], 0.5f);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) add_by_union(sums + 2, own);
}
// run: k grid=64 group=16 sums=[0;3] -> sums=[64,32,128]
