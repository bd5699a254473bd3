// run: scan grid=8 group=8 data=[-1,-5,-4,8,6,6,2,-7,5,2,8,0,-6,2,-1,3] temp=local:64 n=16 -> data=[0,-1,-6,-10,-2,4,10,12,5,10,12,20,20,14,16,15]
// Exclusive prefix sum of one work-group (Blelloch); two elements per work-item.
__kernel void scan(__global int* data, __local int* temp, int n)
{
    int thid = get_local_id(0);
    int offset = 1;
    temp[2 * thid] = data[2 * thid];
    temp[2 * thid + 1] = data[2 * thid + 1];
    for (int d = n >> 1; d > 0; d >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (thid < d) {
            int ai = offset * (2 * thid + 1) - 1;
            int bi = offset * (2 * thid + 2) - 1;
            temp[bi] += temp[ai];
        }
        offset *= 2;
    }
    if (thid == 0) { temp[n - 1] = 0; }
    for (int d = 1; d < n; d *= 2) {
        offset >>= 1;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (thid < d) {
            int ai = offset * (2 * thid + 1) - 1;
            int bi = offset * (2 * thid + 2) - 1;
            int t = temp[ai];
            temp[ai] = temp[bi];
            temp[bi] += t;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    data[2 * thid] = temp[2 * thid];
    data[2 * thid + 1] = temp[2 * thid + 1];
}
