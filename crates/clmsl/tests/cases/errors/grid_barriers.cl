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

// Who stays in a loop computes its condition and its step more often.
__kernel void counted(__global int* y)
{
    int i = get_global_id(0), k = 0, steps = 0, rounds = 0;
    while (k++ < i)
        ;
    if (k > 2)
        dc_grid_barrier();
    for (int j = 0; j < i; j++, steps++)
        ;
    if (steps)
        dc_grid_barrier();
    do
        y[i] = 0;
    while (rounds++ < i);
    if (rounds > 1)
        dc_grid_barrier();
}

// Who leaves a switch does not come to the rest of it.
__kernel void switched(__global int* y, int n)
{
    int i = get_global_id(0), k = 0, m = 0;
    switch (n) {
    case 1:
        if (i == 0)
            break;
        k = 5;
    }
    if (k == 5)
        dc_grid_barrier();
    for (int j = 0; j < n; j++) {
        switch (n) {
        case 1:
            switch (j) {
            case 0:
                if (y[i])
                    break;
                continue;
            }
        }
        m++;
    }
    if (m)
        dc_grid_barrier();
}

// The address of memory that a work-group or a work-item has is not the same for all.
__kernel void addresses(__global int* y, __local int* part)
{
    if ((size_t)part & 64)
        dc_grid_barrier();
    if (*part)
        dc_grid_barrier();
    if (vload2(0, part).x)
        dc_grid_barrier();
    y[0] = 1;
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
