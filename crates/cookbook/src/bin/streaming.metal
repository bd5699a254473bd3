#include <metal_stdlib>
using namespace metal;

// How often each byte occurs. A threadgroup counts for itself first: 256 shared counters are much less sought after than the device's.
kernel void count(device const uchar* bytes [[buffer(0)]], device atomic_uint* bins [[buffer(1)]], constant uint& size [[buffer(2)]],
                  uint at [[thread_position_in_grid]], uint threads [[threads_per_grid]],
                  uint local [[thread_position_in_threadgroup]], uint locals [[threads_per_threadgroup]]) {
    threadgroup atomic_uint own[256];
    for (uint i = local; i < 256; i += locals)
        atomic_store_explicit(&own[i], 0, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = at; i < size; i += threads)
        atomic_fetch_add_explicit(&own[bytes[i]], 1, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = local; i < 256; i += locals)
        atomic_fetch_add_explicit(&bins[i], atomic_load_explicit(&own[i], memory_order_relaxed), memory_order_relaxed);
}
