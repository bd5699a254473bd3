// run: copies grid=2,2 group=2,2 in=[100,101,102,103,104,105,106,107,108,109,110,111,112,113,114,115] out=[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0] buffer=local:64 -> out=[219,1159,2170,1157,1000,1010,1020,1030,1040,1050,1060,1070,1080,1090,1100,1010,1050,1090,1000,0,1010,0,1020,0]
// More elements than work-items, fewer elements than work-items, both directions, strided, several events.
__kernel void copies(__global const int* in, __global int* out, __local int* buffer)
{
    event_t events[2];
    events[0] = async_work_group_copy(buffer, in, 11, 0);
    events[1] = async_work_group_strided_copy(buffer + 11, in + 1, (size_t)3, 4, 0);
    wait_group_events(2, events);
    int l = get_local_id(0) + get_local_size(0) * get_local_id(1);
    out[l] = buffer[10 - l] + buffer[13 - (l & 1)];
    for (int i = l; i < 14; i += 4)
        buffer[i] *= 10;
    barrier(CLK_LOCAL_MEM_FENCE);
    event_t e = async_work_group_copy(out + 4, (const __local int*)buffer, 14, (event_t)0);
    wait_group_events(1, &e);
    async_work_group_strided_copy(out + 18, (const __local int*)buffer, 3, 2, e);
    wait_group_events(1, &e);
}
