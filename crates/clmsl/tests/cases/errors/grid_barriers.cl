// Where not all work-items come to a barrier of the grid, or a kernel cannot be cut.
void helper(__global int* y)
{
    dc_grid_barrier();
}

__kernel void parted(__global int* y, int n)
{
    int i = get_global_id(0);
    if (i < n)
        dc_grid_barrier();
    for (int k = 0; k < i; k++)
        dc_grid_barrier();
    while (1) {
        if (y[i] == 0)
            break;
        dc_grid_barrier();
    }
    int limit = n;
    if (i == 3)
        limit++;
    if (limit > 4)
        dc_grid_barrier();
}

__kernel void called(__global int* y)
{
    dc_grid_barrier();
    y[0] = 1;
}

__kernel void calls(__global int* y)
{
    called(y);
}
