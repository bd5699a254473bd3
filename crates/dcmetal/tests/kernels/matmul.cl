// c = a * b in tiles of local memory. n, the side of the square matrices, is a multiple of the tile.
#define TILE 4

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void matmul(__global const float *a, __global const float *b, __global float *c, uint n) {
    __local float at[TILE][TILE];
    __local float bt[TILE][TILE];
    uint x = get_global_id(0), y = get_global_id(1);
    uint lx = get_local_id(0), ly = get_local_id(1);
    float sum = 0.0f;
    for (uint k = 0; k < n; k += TILE) {
        at[ly][lx] = a[y * n + k + lx];
        bt[ly][lx] = b[(k + ly) * n + x];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = 0; i < TILE; ++i) sum += at[ly][i] * bt[i][lx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[y * n + x] = sum;
}
