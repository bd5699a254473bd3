// run: reduce_sum grid=16 group=8 in=[-1,-5,-4,8,6,6,2,-7,5,2,8,0,-6,2,-1,3] out=[0,0] scratch=local:32 n=15 -> out=[5,10]
__kernel void reduce_sum(__global const int* in, __global int* out, __local int* scratch, uint n)
{
    const uint l = get_local_id(0);
    const uint i = get_global_id(0);
    scratch[l] = i < n ? in[i] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint stride = get_local_size(0) / 2; stride > 0; stride >>= 1) {
        if (l < stride)
            scratch[l] += scratch[l + stride];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0)
        out[get_group_id(0)] = scratch[0];
}
