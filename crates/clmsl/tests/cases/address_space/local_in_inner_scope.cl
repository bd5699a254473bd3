// run: inner grid=4 group=4 data=[1,2,3,4] -> data=[44,42,48,46]
__kernel void inner(__global int* data)
{
    int l = get_local_id(0);
    for (int round = 0; round < 2; round++) {
        __local int buffer[4];
        __local int total;
        buffer[l] = data[l];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l == 0)
            total = buffer[0] + buffer[1] + buffer[2] + buffer[3];
        barrier(CLK_LOCAL_MEM_FENCE);
        data[l] = total - buffer[(l + 1) & 3];
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
    {
        __local int buffer[4];
        buffer[l] = data[l] * 2;
        barrier(CLK_LOCAL_MEM_FENCE);
        data[l] = buffer[3 - l];
    }
}
