#include <metal_stdlib>
using namespace metal;

// The binomial filter 1 4 6 4 1, along a row and then along a column: 10 reads a pixel instead of 25.
constant float weights[5] = {1.0f / 16, 4.0f / 16, 6.0f / 16, 4.0f / 16, 1.0f / 16};

static float4 weighted(texture2d<float, access::read> from, uint2 at, int2 along) {
    int2 last = int2(from.get_width(), from.get_height()) - 1;
    float4 sum = 0;
    for (int i = -2; i <= 2; i++)
        sum += weights[i + 2] * from.read(uint2(clamp(int2(at) + i * along, int2(0), last)));
    return sum;
}

kernel void blur_rows(texture2d<float, access::read> from [[texture(0)]], texture2d<float, access::write> to [[texture(1)]],
                      uint2 at [[thread_position_in_grid]]) {
    to.write(weighted(from, at, int2(1, 0)), at);
}

kernel void blur_columns(texture2d<float, access::read> from [[texture(0)]], texture2d<float, access::write> to [[texture(1)]],
                         uint2 at [[thread_position_in_grid]]) {
    to.write(weighted(from, at, int2(0, 1)), at);
}

// What the blur took away is added once more: the unsharp mask.
kernel void sharpen(texture2d<float, access::read> photo [[texture(0)]], texture2d<float, access::read> blurred [[texture(1)]],
                    texture2d<float, access::write> to [[texture(2)]], constant float& amount [[buffer(0)]],
                    uint2 at [[thread_position_in_grid]]) {
    float4 pixel = photo.read(at);
    float3 sharp = pixel.rgb + amount * (pixel.rgb - blurred.read(at).rgb);
    to.write(float4(saturate(sharp), pixel.a), at);
}
