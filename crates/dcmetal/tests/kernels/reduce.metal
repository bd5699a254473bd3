// One sum per threadgroup, as a tree in threadgroup memory whose size the host gives.
#include <metal_stdlib>
using namespace metal;

kernel void reduce(device const int* x [[buffer(0)]], device int* sums [[buffer(1)]], constant uint& n [[buffer(2)]],
                   threadgroup int* part [[threadgroup(0)]], uint i [[thread_position_in_grid]],
                   uint l [[thread_position_in_threadgroup]], uint group [[threadgroup_position_in_grid]],
                   uint size [[threads_per_threadgroup]]) {
    part[l] = i < n ? x[i] : 0;
    for (uint half_size = size / 2; half_size > 0; half_size /= 2) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (l < half_size) part[l] += part[l + half_size];
    }
    if (l == 0) sums[group] = part[0];
}
