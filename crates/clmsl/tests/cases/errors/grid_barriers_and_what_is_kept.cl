// What cannot be kept across a barrier of the grid.
__kernel void memory(__global int* y, __local int* given)
{
    __local int group[4];
    __global int* place = y + get_global_id(0);
    group[get_local_id(0)] = given[0];
    dc_grid_barrier();
    *place = group[0] + given[1];
}

// A pointer to local memory is a pointer, however it is used.
__kernel void pointers(__global int* y, __local int* part)
{
    __local int group[2];
    __local int* p = group + get_local_id(0);
    part += get_local_id(0);
    dc_grid_barrier();
    part[0] = 1;
    p[0] = 3;
    y[get_global_id(0)] = part[0] + p[0];
}

// Elements of elements, members, and what changes what is there.
struct pair { int x, y; };
__kernel void contents(__global int* y)
{
    __local int table[2][2], count, sums[2];
    __local struct pair pair;
    int l = get_local_id(0);
    dc_grid_barrier();
    y[0] = table[l][1];
    y[1] = pair.y;
    count++;
    sums[l] = sums[1 - l];
    table[l][0] = pair.x = 0;
}
