// options: -cl-std=CL2.0
__kernel void k(__global atomic_int* a, __global int* b, __global atomic_long* l, const __global atomic_int* c,
                __global atomic_float* f, int order, __global atomic_double* d) {
    atomic_fetch_add(b, 1);
    atomic_fetch_add(l, 1L);
    atomic_load(c);
    int plain = *a;
    atomic_fetch_min(f, 1.0f);
    atomic_load_explicit(a, memory_order_release);
    atomic_store_explicit(a, 1, memory_order_acquire);
    atomic_store_explicit(a, 1, order);
    atomic_store_explicit(a, 1, memory_order_release, memory_scope_all_svm_devices);
    atomic_work_item_fence(0, memory_order_acquire, memory_scope_device);
    atomic_work_item_fence(CLK_IMAGE_MEM_FENCE | CLK_LOCAL_MEM_FENCE, memory_order_acquire, memory_scope_device);
    atomic_fetch_add(a);
    atomic_int own;
    atomic_fetch_add(&own, 1);
    float expected = 1;
    atomic_compare_exchange_strong(a, &expected, 1);
}
