// Counts of bytes, first per threadgroup in threadgroup memory.
#include <metal_stdlib>
using namespace metal;

kernel void histogram(device const uchar* x [[buffer(0)]], device atomic_uint* bins [[buffer(1)]],
                      constant uint& n [[buffer(2)]], uint g [[thread_position_in_grid]],
                      uint l [[thread_position_in_threadgroup]], uint size [[threads_per_threadgroup]]) {
    threadgroup atomic_uint mine[256];
    for (uint i = l; i < 256; i += size) atomic_store_explicit(&mine[i], 0u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (g < n) atomic_fetch_add_explicit(&mine[x[g]], 1u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = l; i < 256; i += size) {
        uint count = atomic_load_explicit(&mine[i], memory_order_relaxed);
        if (count != 0) atomic_fetch_add_explicit(&bins[i], count, memory_order_relaxed);
    }
}
