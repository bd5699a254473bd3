#include <metal_stdlib>
using namespace metal;

constant constexpr uint TILE = 16;

// c = a b, row by row: a is m x k, b is k x n. A threadgroup computes a tile of c; it keeps one tile of a and of b at a time, so that
// each number is read from memory once for 16 products.
kernel void multiply(device const float* a [[buffer(0)]], device const float* b [[buffer(1)]], device float* c [[buffer(2)]],
                     constant uint3& size [[buffer(3)]], uint2 at [[thread_position_in_grid]],
                     uint2 in_tile [[thread_position_in_threadgroup]]) {
    threadgroup float tile_a[TILE][TILE], tile_b[TILE][TILE];
    uint m = size.x, n = size.y, k = size.z;
    float sum = 0;
    for (uint start = 0; start < k; start += TILE) {
        uint column = start + in_tile.x, row = start + in_tile.y;
        tile_a[in_tile.y][in_tile.x] = at.y < m && column < k ? a[at.y * k + column] : 0;
        tile_b[in_tile.y][in_tile.x] = row < k && at.x < n ? b[row * n + at.x] : 0;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = 0; i < TILE; i++)
            sum = fma(tile_a[in_tile.y][i], tile_b[i][in_tile.x], sum);
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (at.y < m && at.x < n)
        c[at.y * n + at.x] = sum;
}
