// Expected values are computed from the definitions (OpenCL C 3.0 §6.15.11, extended copies), outside of any kernel.
__kernel void tile(__global const short* x, __local short* t, __global short* y)
{
    int i = get_local_id(0), n = get_local_size(0);
    for (int k = i; k < 25; k += n)
        t[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    event_t e = async_work_group_copy_2D2D(t, 2, x, 7, sizeof(short), 3, 4, 10, 5, 0);
    wait_group_events(1, &e);
    for (int k = i; k < 25; k += n)
        y[k] = t[k];
}

__kernel void block(__local short2* t, __global short2* y)
{
    for (int k = get_local_id(0); k < 12; k += get_local_size(0))
        t[k] = (short2)((2 * k * 7 + 1) % 50, ((2 * k + 1) * 7 + 1) % 50);
    barrier(CLK_LOCAL_MEM_FENCE);
    event_t e = async_work_group_copy_3D3D(y, 1, t, 0, sizeof(short2), 2, 2, 2, 3, 6, 4, 10, 0);
    wait_group_events(1, &e);
}
// run: tile grid=5 group=5 x=[3,32,61,90,22,51,80,12,41,70,2,31,60,89,21,50,79,11,40,69,1,30,59,88,20,49,78,10,39,68,0,29,58,87,19,48,77,9,38,67,96,28,57,86,18,47,76,8,37,66,95,27,56,85,17,46,75,7,36,65] t=local:64 y=[0;25] -> y=[0,0,12,41,70,0,0,11,40,69,0,0,10,39,68,0,0,9,38,67,0,0,0,0,0]
// run: tile grid=1 group=1 x=[3,32,61,90,22,51,80,12,41,70,2,31,60,89,21,50,79,11,40,69,1,30,59,88,20,49,78,10,39,68,0,29,58,87,19,48,77,9,38,67,96,28,57,86,18,47,76,8,37,66,95,27,56,85,17,46,75,7,36,65] t=local:64 y=[0;25] -> y=[0,0,12,41,70,0,0,11,40,69,0,0,10,39,68,0,0,9,38,67,0,0,0,0,0]
// run: block grid=40 group=40 t=local:48 y=[0;44] -> y=[0,0,1,8,15,22,0,0,0,0,43,0,7,14,0,0,0,0,0,0,0,0,35,42,49,6,0,0,0,0,27,34,41,48,0,0,0,0,0,0,0,0,0,0]
