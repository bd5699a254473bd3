// y = y + bias, row by row: what dcmetal::tensor has no operation for, between two of its own.

#include <metal_stdlib>
using namespace metal;

kernel void add_bias(device float* y [[buffer(0)]], device const float* bias [[buffer(1)]], uint2 at [[thread_position_in_grid]],
                     uint2 grid [[threads_per_grid]]) {
    y[at.y * grid.x + at.x] += bias[at.x];
}
