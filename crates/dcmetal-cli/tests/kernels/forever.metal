#include <metal_stdlib>
using namespace metal;

kernel void forever(device atomic_uint *flag [[buffer(0)]])
{
    while (atomic_load_explicit(flag, memory_order_relaxed) == 0) {
    }
}
