// What a token attends to: nothing behind it. scores is a square, a row for each token.

#include <metal_stdlib>
using namespace metal;

kernel void mask(device float* scores [[buffer(0)]], uint2 at [[thread_position_in_grid]], uint2 grid [[threads_per_grid]]) {
    if (at.x > at.y)
        scores[at.y * grid.x + at.x] = -INFINITY;
}
