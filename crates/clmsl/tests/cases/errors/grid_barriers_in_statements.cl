// A barrier of the grid is a statement of its own.
__kernel void in_switch(__global int* y, int n)
{
    switch (n) {
    case 1:
        dc_grid_barrier();
    }
    y[0] = (dc_grid_barrier(), 1);
}
