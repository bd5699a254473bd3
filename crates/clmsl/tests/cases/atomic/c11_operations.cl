// options: -cl-std=CL2.0
// Every operation once, alone: what it returns and what it leaves follows from OpenCL C 3.0 §6.15.12.
__kernel void integers(volatile __global atomic_int* i, volatile __global atomic_uint* u, __global int* old) {
    atomic_init(&i[0], 10);
    old[0] = atomic_fetch_add(&i[0], 5);
    old[1] = atomic_fetch_sub_explicit(&i[0], 3, memory_order_relaxed);
    old[2] = atomic_fetch_or_explicit(&i[0], 16, memory_order_acq_rel, memory_scope_work_group);
    old[3] = atomic_fetch_and_explicit(&i[0], 24, memory_order_acquire, memory_scope_device);
    old[4] = atomic_fetch_xor_explicit(&i[0], 9, memory_order_release, memory_scope_sub_group);
    old[5] = atomic_fetch_min(&i[1], -7);
    old[6] = atomic_fetch_max_explicit(&i[1], 100, memory_order_seq_cst);
    old[7] = (int)atomic_fetch_min(&u[0], 3u);
    old[8] = (int)atomic_fetch_max(&u[0], 4000000000u);
    old[9] = atomic_exchange(&i[2], -1);
    atomic_store(&i[3], 42);
    atomic_store_explicit(&i[4], 43, memory_order_release);
    old[10] = atomic_load(&i[3]) + atomic_load_explicit(&i[4], memory_order_acquire);
    int expected = 1;
    old[11] = atomic_compare_exchange_strong(&i[5], &expected, 9);
    old[12] = expected;
    old[13] = atomic_compare_exchange_strong_explicit(&i[5], &expected, 9, memory_order_acq_rel, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(&i[5], &expected, expected + 1)) {}
    old[14] = expected;
}

__kernel void floats(__global atomic_float* f, __global float* old, __global atomic_flag* flag, __global int* seen) {
    __local atomic_float sum;
    atomic_init(&sum, 0.25f);
    old[0] = atomic_fetch_add_explicit(&f[0], 1.5f, memory_order_relaxed);
    old[1] = atomic_fetch_sub(&f[0], 0.5f);
    old[2] = atomic_exchange(&f[1], -0.0f);
    old[3] = atomic_load(&f[0]);
    old[4] = atomic_fetch_add_explicit(&sum, 2.0f, memory_order_relaxed, memory_scope_work_group);
    float expected = 2.25f;
    seen[2] = atomic_compare_exchange_strong(&sum, &expected, 8.0f);
    old[5] = atomic_load_explicit(&sum, memory_order_relaxed);
    seen[0] = atomic_flag_test_and_set(flag);
    seen[1] = atomic_flag_test_and_set_explicit(flag, memory_order_acquire);
    atomic_flag_clear(flag);
}
// run: integers grid=1 i=[0,0,5,0,0,3] u=[7] old=[0;15] -> i=[17,100,-1,42,43,10] u=[4000000000] old=[10,15,12,28,24,0,-7,7,3,5,85,0,3,1,9]
// run: floats grid=1 f=[1,2] old=[0;6] flag=[0] seen=[0;3] -> f=[2,-0.0] old=[1,2.5,2,2,0.25,8] flag=[0] seen=[0,1,1]
