// Inclusive prefix sums within each threadgroup (Hillis and Steele).
#include <metal_stdlib>
using namespace metal;

kernel void scan(device uint* x [[buffer(0)]], threadgroup uint* tmp [[threadgroup(0)]],
                 uint g [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]],
                 uint n [[threads_per_threadgroup]]) {
    tmp[l] = x[g];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint step = 1; step < n; step <<= 1) {
        uint add = l >= step ? tmp[l - step] : 0u;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        tmp[l] += add;
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    x[g] = tmp[l];
}
