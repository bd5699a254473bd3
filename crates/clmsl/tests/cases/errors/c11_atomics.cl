// options: -cl-std=CL2.0
__kernel void k(__global atomic_int* a, __global int* b) {
    atomic_fetch_add((volatile __global atomic_int*)b, 1);
    atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acquire, memory_scope_device);
}
