// c = a * b for row-major matrices: a is m x k, b is k x n, c is m x n; any sizes.
// Work-group TILE x TILE; each group keeps one tile of a and of b in local memory at a time.

#ifndef TILE
#define TILE 16
#endif

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void matmul(__global const float *a, __global const float *b, __global float *c, uint m, uint n, uint k)
{
    __local float tile_a[TILE][TILE];
    __local float tile_b[TILE][TILE];
    const uint column = get_global_id(0), row = get_global_id(1);
    const uint i = get_local_id(0), j = get_local_id(1);

    float sum = 0.0f;
    for (uint start = 0; start < k; start += TILE) {
        tile_a[j][i] = row < m && start + i < k ? a[row * k + start + i] : 0.0f;
        tile_b[j][i] = start + j < k && column < n ? b[(start + j) * n + column] : 0.0f;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint t = 0; t < TILE; t++)
            sum = mad(tile_a[j][t], tile_b[t][i], sum);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < m && column < n)
        c[row * n + column] = sum;
}
