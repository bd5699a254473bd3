// A 3x3 binomial filter over a clamped image; the weights are program-scope constants.
#include <metal_stdlib>
using namespace metal;

constant float weight[3] = {0.25f, 0.5f, 0.25f};

static float at(device const float* image, int2 size, int x, int y) {
    return image[clamp(y, 0, size.y - 1) * size.x + clamp(x, 0, size.x - 1)];
}

kernel void stencil(device const float* image [[buffer(0)]], device float* out [[buffer(1)]],
                    constant int2& size [[buffer(2)]], uint2 position [[thread_position_in_grid]]) {
    int2 p = int2(position);
    float sum = 0.0f;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
            sum += weight[dx + 1] * weight[dy + 1] * at(image, size, p.x + dx, p.y + dy);
    out[p.y * size.x + p.x] = sum;
}
