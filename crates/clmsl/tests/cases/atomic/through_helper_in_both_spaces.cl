// options: -cl-std=CL2.0
// run: counters grid=8 group=4 total=[0] seen=[0,0] -> total=[8] seen=[8,8]
int take(volatile int* counter, int n) { return atomic_add(counter, n); }

__kernel void counters(__global int* total, __global int* seen)
{
    __local int local_total;
    if (get_local_id(0) == 0)
        local_total = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    take(&local_total, 2);
    take(total, 1);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0)
        seen[get_group_id(0)] = local_total;
}
