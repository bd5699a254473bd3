// run: shared grid=4 group=2 out=[0;8] -> out=[1,2,30,0,3,4,30,0]
// A pointer that itself lies in __local memory: one work-item sets it, all use it.
__kernel void shared(__global int* out)
{
    __global int* __local mine;
    __global int* __local ends[2];
    int numbers[2];
    int* __private last = &numbers[1];
    if (get_local_id(0) == 0) {
        mine = out + 4 * get_group_id(0);
        ends[1] = mine + 2;
        ends[0] = mine;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    *last = (int)get_global_id(0) + 1;
    mine[get_local_id(0)] = *last;
    if (get_local_id(0) == 1) {
        *ends[1] = 30;
        ends[0] = ends[0] + 1;
    }
}
