// All three dimensions, and 64-bit arithmetic.
#include <metal_stdlib>
using namespace metal;

kernel void volume(device long* out [[buffer(0)]], constant long& scale [[buffer(1)]],
                   uint3 p [[thread_position_in_grid]], uint3 size [[threads_per_grid]]) {
    out[(p.z * size.y + p.y) * size.x + p.x] = scale * long(p.x + 1) - long(p.y * 1000) + (long(p.z) << 40);
}
