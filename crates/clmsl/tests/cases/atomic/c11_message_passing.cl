// options: -cl-std=CL2.0
// What is written before a release is read behind the acquire that saw it: across work-groups, the last group to arrive adds
// up what all have written.
__kernel void last_group_adds(__global int* parts, __global atomic_uint* arrived, __global int* sum) {
    __local int is_last;
    if (get_local_id(0) == 0) {
        parts[get_group_id(0)] = (int)get_group_id(0) + 1;
        uint before = atomic_fetch_add_explicit(arrived, 1u, memory_order_acq_rel, memory_scope_device);
        is_last = before == get_num_groups(0) - 1;
    }
    work_group_barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE, memory_scope_device);
    if (is_last && get_local_id(0) == 1) {
        int all = 0;
        for (uint i = 0; i < get_num_groups(0); i++) all += parts[i];
        *sum = all;
    }
}

// A lock: the total order of all default operations.
__kernel void locked(__global atomic_flag* lock, __global int* counter) {
    if (get_local_id(0) == 0) {
        while (atomic_flag_test_and_set(lock)) {}
        counter[0] = counter[0] + 1;
        atomic_flag_clear(lock);
    }
}

int released(__global int* data) { data[0] = 7; return 1; }

// The argument's writes come before the fence of a release.
__kernel void order_of_arguments(__global int* data, __global atomic_int* ready, __global int* seen) {
    atomic_store_explicit(ready, released(data), memory_order_release);
    atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_seq_cst, memory_scope_device);
    if (atomic_load_explicit(ready, memory_order_acquire)) seen[0] = data[0];
}
// run: last_group_adds grid=64 group=4 parts=[0;16] arrived=[0] sum=[0] -> sum=[136] arrived=[16]
// run: locked grid=32 group=4 lock=[0] counter=[0] -> counter=[8] lock=[0]
// run: order_of_arguments grid=1 data=[0] ready=[0] seen=[0] -> seen=[7]
