// What cannot be kept across a barrier of the grid.
__kernel void memory(__global int* y, __local int* given)
{
    __local int group[4];
    __global int* place = y + get_global_id(0);
    group[get_local_id(0)] = given[0];
    dc_grid_barrier();
    *place = group[0] + given[1];
}
