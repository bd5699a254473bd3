// Integer builtins.
#include <metal_stdlib>
using namespace metal;

kernel void bits(device const uint* x [[buffer(0)]], device uint* y [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) {
    uint v = x[i];
    uint r = popcount(v) + 100u * clz(v);
    r ^= rotate(v, 7u);
    r += mulhi(v, 0x9E3779B9u);
    r ^= uint(absdiff(int(v), 12345));
    r += addsat(v, 0x80000000u) ^ max(v, ~v);
    y[i] = r;
}
