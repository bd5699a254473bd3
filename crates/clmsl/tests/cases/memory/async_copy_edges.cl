// No elements, chained events, and vectors of three, which are copied as vectors of four (OpenCL C 3.0 §6.15.11).
__kernel void edges(__global const float* from, __global float* to, __global const float4* four, __global float4* all) {
    __local float here[16];
    __local float3 vectors[4];
    event_t e = async_work_group_copy(here, from, 0, 0);
    e = async_work_group_copy(here, from, 16, e);
    e = async_work_group_copy(vectors, (__global const float3*)four, 4, e);
    wait_group_events(1, &e);
    event_t pair[2];
    pair[0] = async_work_group_copy(to, here, 16, 0);
    pair[1] = async_work_group_copy((__global float3*)all, vectors, 4, 0);
    wait_group_events(2, pair);
}
// run: edges grid=3 group=3 from=[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16] to=[0;16] four=[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16] all=[0;16] -> to=[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16] all=[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]
