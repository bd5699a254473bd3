// A transpose through a tile of threadgroup memory; partial tiles at the edges are masked.
#include <metal_stdlib>
using namespace metal;
#define TILE 8

kernel void transpose(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]],
                      constant uint& width [[buffer(2)]], constant uint& height [[buffer(3)]],
                      uint2 local [[thread_position_in_threadgroup]],
                      uint2 group [[threadgroup_position_in_grid]]) {
    threadgroup uint tile[TILE][TILE + 1];
    uint x = group.x * TILE + local.x, y = group.y * TILE + local.y;
    if (x < width && y < height) tile[local.y][local.x] = in[y * width + x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint tx = group.y * TILE + local.x, ty = group.x * TILE + local.y;
    if (tx < height && ty < width) out[ty * height + tx] = tile[local.x][local.y];
}
