// Each barrier makes another kernel.
#define FOUR(x) x x x x
#define MANY FOUR(FOUR(FOUR(FOUR(dc_grid_barrier();))))
__kernel void many(__global int* y)
{
    MANY
    y[0] = 1;
}
