// Four-element vectors: arithmetic, swizzles, a vector argument.
#include <metal_stdlib>
using namespace metal;

kernel void mix4(device const int4* x [[buffer(0)]], device int4* y [[buffer(1)]], constant int4& bias [[buffer(2)]],
                 uint i [[thread_position_in_grid]]) {
    int4 v = x[i];
    int4 r = v * int4(3) + v.wzyx - bias;
    r.xy += v.zw;
    y[i] = int4(r.zw, r.xy);
}
