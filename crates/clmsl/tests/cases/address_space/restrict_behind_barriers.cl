// run: seen_by_all grid=4 group=4 data=[1,2] out=[0;4] -> data=[1,7] out=[2007,2007,2007,2007]
// differential: skip: PoCL takes `restrict` by the word, and gives the others what they read before
// Each work-item has its own `data`, through which only the first one writes.
__kernel void seen_by_all(__global int* restrict data, __global int* out)
{
    int before = data[1];
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (get_local_id(0) == 0) data[1] = 7;
    barrier(CLK_GLOBAL_MEM_FENCE);
    out[get_local_id(0)] = 1000 * before + data[1];
}
