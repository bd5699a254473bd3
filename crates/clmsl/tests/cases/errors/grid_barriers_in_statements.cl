// A barrier of the grid is a statement of its own.
__kernel void in_switch(__global int* y, int n)
{
    switch (n) {
    case 1:
        dc_grid_barrier();
    }
    y[0] = (dc_grid_barrier(), 1);
}

__kernel void in_conditions(__global int* y, int n)
{
    for (int k = 0; k < n; k++, dc_grid_barrier())
        y[0] += 1;
    for (int k = 0; (dc_grid_barrier(), k < n); k++)
        y[0] += 1;
    while ((dc_grid_barrier(), n < 0))
        y[0] = 3;
    do
        dc_grid_barrier();
    while ((dc_grid_barrier(), n < 0));
    if ((dc_grid_barrier(), n))
        y[0] = 4;
    else if ((dc_grid_barrier(), n > 1))
        y[0] = 5;
    int t = (dc_grid_barrier(), n);
    switch ((dc_grid_barrier(), n)) {
    default:
        y[0] = t;
    }
}
