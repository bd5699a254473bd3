// What can be changed as `dcmetal analyze` advises, and be run so.

// Columns of a tile, whose 32 numbers lie in one bank.
__kernel __attribute__((reqd_work_group_size(32, 32, 1)))
void banks(__global const float *x, __global float *y)
{
    __local float tile[32][32];
    const size_t at_x = get_local_id(0), at_y = get_local_id(1), own = get_group_id(0) * 1024 + at_y * 32 + at_x;
    tile[at_y][at_x] = x[own];
    barrier(CLK_LOCAL_MEM_FENCE);
    y[own] = tile[at_x][at_y];
}

// One address for all, and a divisor that is not known.
__kernel void shared_values(__global const float *table, __global float *y, uint n)
{
    const uint at = (uint)get_global_id(0);
    y[at] = table[3] + (float)(at / n);
}

// One SIMD-group in each work-group.
__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void one_group(__global float *y)
{
    __local float row[32];
    row[get_local_id(0)] = (float)get_global_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    y[get_global_id(0)] = row[31 - get_local_id(0)];
}

// The first is not compiled.
#ifdef OTHER
__kernel void twice(__global uint *y, uint n) { y[get_global_id(0)] = (uint)get_global_id(0) / n; }
#else
__kernel void twice(__global uint *y, uint n) { y[get_global_id(0)] = (uint)get_global_id(0) / n; }
#endif
