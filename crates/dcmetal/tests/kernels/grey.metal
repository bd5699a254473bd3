// Colour to grey by integer weights that sum to 256; three-element vectors and a conversion.
#include <metal_stdlib>
using namespace metal;

kernel void grey(device const uchar4* rgba [[buffer(0)]], device uchar* out [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) {
    uint3 c = uint3(rgba[i].xyz);
    uint3 w = c * uint3(77u, 150u, 29u);
    out[i] = uchar((w.x + w.y + w.z) >> 8);
}
