#include <metal_stdlib>
using namespace metal;

// Reads down the columns of a matrix, writes along its rows.
kernel void columns(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],
                    uint2 at [[thread_position_in_grid]])
{
    y[at.y * 64 + at.x] = x[at.x * 64 + at.y] * 2;
}
