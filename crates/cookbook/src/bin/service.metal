#include <metal_stdlib>
using namespace metal;

constant constexpr uint LENGTH = 64;

// The softmax of each row; a SIMD-group, which is a threadgroup, has one.
kernel void softmax(device const float* from [[buffer(0)]], device float* to [[buffer(1)]], uint row [[threadgroup_position_in_grid]],
                    uint lane [[thread_position_in_threadgroup]], uint lanes [[threads_per_threadgroup]]) {
    float most = -INFINITY, sum = 0;
    for (uint i = lane; i < LENGTH; i += lanes)
        most = max(most, from[row * LENGTH + i]);
    most = simd_max(most);
    for (uint i = lane; i < LENGTH; i += lanes)
        sum += exp(from[row * LENGTH + i] - most);
    sum = simd_sum(sum);
    for (uint i = lane; i < LENGTH; i += lanes)
        to[row * LENGTH + i] = exp(from[row * LENGTH + i] - most) / sum;
}
