// Banks of threadgroup memory, SIMD-groups and barriers.
#include <metal_stdlib>
using namespace metal;

// run: tile_free grid=64x32 group=32x32 x=f32:2048 y=f32:2048
kernel void tile_free(device const float* x, device float* y, uint2 l [[thread_position_in_threadgroup]],
                      uint2 g [[threadgroup_position_in_grid]]) {
    threadgroup float tile[32][33];
    tile[l.y][l.x] = x[l.y * 64 + g.x * 32 + l.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[(g.x * 32 + l.y) * 32 + l.x] = tile[l.x][l.y];
}

// run: tile_conflicts grid=64x32 group=32x32 x=f32:2048 y=f32:2048
kernel void tile_conflicts(device const float* x, device float* y, uint2 l [[thread_position_in_threadgroup]],
                           uint2 g [[threadgroup_position_in_grid]]) {
    threadgroup float tile[32][32];
    tile[l.y][l.x] = x[l.y * 64 + g.x * 32 + l.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[(g.x * 32 + l.y) * 32 + l.x] = tile[l.x][l.y];
}

// run: two_words grid=128 group=64 x=f32:128 y=f32:128
kernel void two_words(device const float* x, device float* y, uint i [[thread_position_in_grid]], uint l [[thread_index_in_threadgroup]]) {
    threadgroup float t[128];
    t[2 * l] = x[i];
    t[2 * l + 1] = -x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[i] = t[127 - l];
}

// run: shared_words grid=128 group=64 x=u32:32 y=u32:32
kernel void shared_words(device const uchar* x, device uchar* y, uint i [[thread_position_in_grid]], uint l [[thread_index_in_threadgroup]]) {
    threadgroup uchar t[64];
    t[l] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[i] = t[63 - l];
}

// run: quads grid=64 group=32 x=f32:256 y=f32:64
kernel void quads(device const float4* x, device float* y, uint i [[thread_position_in_grid]], uint l [[thread_index_in_threadgroup]]) {
    threadgroup float4 t[32];
    t[l] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[i] = t[l].x + t[0].y;
}

// run: by_lane grid=128 group=64 x=f32:256 y=f32:128 t=local:1024
kernel void by_lane(device const float* x, device float* y, threadgroup float* t, uint i [[thread_position_in_grid]],
                    uint lane [[thread_index_in_simdgroup]], uint g [[simdgroup_index_in_threadgroup]]) {
    t[32 * g + lane] = x[i];
    simdgroup_barrier(mem_flags::mem_threadgroup);
    y[i] = simd_shuffle_xor(t[32 * g + lane], 1) * 2;
}

// run: sums grid=256 group=128 x=f32:256 y=f32:2
kernel void sums(device const float* x, device float* y, uint i [[thread_position_in_grid]], uint l [[thread_index_in_threadgroup]],
                 uint g [[threadgroup_position_in_grid]]) {
    threadgroup float t[128];
    t[l] = x[i];
    for (uint half_size = 64; half_size > 0; half_size /= 2) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (l < half_size) t[l] += t[l + half_size];
    }
    if (l == 0) y[g] = t[0];
}

// run: counters grid=256 group=64 x=index:256:16 bins=u32:16
kernel void counters(device const uint* x, device atomic_uint* bins, uint i [[thread_position_in_grid]], uint l [[thread_index_in_threadgroup]]) {
    threadgroup atomic_uint own[16];
    if (l < 16) atomic_store_explicit(&own[l], 0, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    atomic_fetch_add_explicit(&own[x[i]], 1, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (l < 16) atomic_fetch_add_explicit(&bins[l], atomic_load_explicit(&own[l], memory_order_relaxed), memory_order_relaxed);
}

// run: rows grid=64x64 group=16x16 x=f32:4096 y=f32:4096
// run: rows grid=64x64 group=8x8 x=f32:4096 y=f32:4096
// run: rows grid=64x64 group=4x4 x=f32:4096 y=f32:4096
// run: rows grid=64x64 group=32x2 x=f32:4096 y=f32:4096
// run: rows grid=60x64 group=12x8 x=f32:4096 y=f32:4096
// run: rows grid=64x64 group=1x32 x=f32:4096 y=f32:4096
kernel void rows(device const float* x, device float* y, uint2 p [[thread_position_in_grid]], uint2 l [[thread_position_in_threadgroup]]) {
    threadgroup float tile[32][32];
    tile[l.y][l.x] = x[p.y * 64 + p.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[p.y * 64 + p.x] = tile[l.y][l.x];
}

// run: turned grid=64x64 group=16x16 x=f32:4096 y=f32:4096
// run: turned grid=64x64 group=8x8 x=f32:4096 y=f32:4096
// run: turned grid=64x64 group=4x4 x=f32:4096 y=f32:4096
kernel void turned(device const float* x, device float* y, uint2 p [[thread_position_in_grid]], uint2 l [[thread_position_in_threadgroup]]) {
    threadgroup float tile[16][17];
    tile[l.y][l.x] = x[p.y * 64 + p.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[p.x * 64 + p.y] = tile[l.x][l.y];
}

// run: pitch grid=64x64 group=16x16 x=f32:4096 y=f32:4096 n=64
// run: pitch grid=64x64 group=8x8 x=f32:4096 y=f32:4096 n=64
kernel void pitch(device const float* x, device float* y, constant uint& n, uint2 p [[thread_position_in_grid]]) { y[p.y * n + p.x] = x[p.y * n + p.x]; }

// run: rows_by_data grid=32x32 group=16x16 at=index:32:900 x=f32:1024 y=f32:1024
// run: rows_by_data grid=32x32 group=8x8 at=index:32:900 x=f32:1024 y=f32:1024
kernel void rows_by_data(device const uint* at, device const float* x, device float* y, uint2 p [[thread_position_in_grid]]) { y[p.y * 32 + p.x] = x[at[p.y] + p.x]; }

// run: by_index grid=64x64 group=8x8 x=f32:4096 y=f32:4096
kernel void by_index(device const float* x, device float* y, uint2 p [[thread_position_in_grid]], uint l [[thread_index_in_threadgroup]]) {
    threadgroup float t[64];
    t[l] = x[p.y * 64 + p.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[p.y * 64 + p.x] = t[63 - l];
}

// run: solid grid=16x16x8 group=4x4x4 x=f32:2048 y=f32:2048
// run: solid grid=16x16x8 group=2x4x8 x=f32:2048 y=f32:2048
// run: solid grid=16x16x8 group=8x4x2 x=f32:2048 y=f32:2048
kernel void solid(device const float* x, device float* y, uint3 p [[thread_position_in_grid]], uint3 l [[thread_position_in_threadgroup]]) {
    threadgroup float tile[8][4][32];
    tile[l.z][l.y][l.x] = x[(p.z * 16 + p.y) * 16 + p.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[(p.z * 16 + p.y) * 16 + p.x] = tile[l.z][l.y][l.x];
}
