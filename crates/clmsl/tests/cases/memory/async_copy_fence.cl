// The second copy reads what the first wrote, in an order in which other work-items wrote it.
__kernel void through(__global const int* x, __local int* buffer, __global int* y)
{
    event_t first = async_work_group_copy(buffer, x, 40, 0);
    async_work_group_copy_fence(CLK_LOCAL_MEM_FENCE);
    event_t second = async_work_group_copy(y, buffer + 1, 39, 0);
    wait_group_events(1, &first);
    wait_group_events(1, &second);
}
// run: through grid=7 group=7 x=[0,3,6,9,12,15,18,21,24,27,30,33,36,39,42,45,48,51,54,57,60,63,66,69,72,75,78,81,84,87,90,93,96,99,102,105,108,111,114,117] buffer=local:160 y=[0;39] -> y=[3,6,9,12,15,18,21,24,27,30,33,36,39,42,45,48,51,54,57,60,63,66,69,72,75,78,81,84,87,90,93,96,99,102,105,108,111,114,117]
