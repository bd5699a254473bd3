#include <metal_stdlib>
using namespace metal;

// One sum a threadgroup: each thread adds every so-many-th number, each SIMD-group adds its threads' sums, the first of them those.
kernel void sums(device const float* from [[buffer(0)]], device float* to [[buffer(1)]], constant uint& count [[buffer(2)]],
                 uint at [[thread_position_in_grid]], uint threads [[threads_per_grid]],
                 uint threadgroup_number [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                 uint simdgroup [[simdgroup_index_in_threadgroup]], uint simdgroups [[simdgroups_per_threadgroup]]) {
    threadgroup float parts[32];
    float sum = 0;
    for (uint i = at; i < count; i += threads)
        sum += from[i];
    sum = simd_sum(sum);
    if (lane == 0)
        parts[simdgroup] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (simdgroup > 0)
        return;
    sum = simd_sum(lane < simdgroups ? parts[lane] : 0);
    if (lane == 0)
        to[threadgroup_number] = sum;
}
