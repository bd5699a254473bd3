// c = a * b in tiles of threadgroup memory. n, the side of the square matrices, is a multiple of the tile.
#include <metal_stdlib>
using namespace metal;
#define TILE 4

kernel void matmul(device const float* a [[buffer(0)]], device const float* b [[buffer(1)]],
                   device float* c [[buffer(2)]], constant uint& n [[buffer(3)]],
                   uint2 p [[thread_position_in_grid]], uint2 l [[thread_position_in_threadgroup]]) {
    threadgroup float at[TILE][TILE];
    threadgroup float bt[TILE][TILE];
    float sum = 0.0f;
    for (uint k = 0; k < n; k += TILE) {
        at[l.y][l.x] = a[p.y * n + k + l.x];
        bt[l.y][l.x] = b[(k + l.y) * n + p.x];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = 0; i < TILE; ++i) sum += at[l.y][i] * bt[i][l.x];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    c[p.y * n + p.x] = sum;
}
