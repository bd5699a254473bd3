// Patterns of device memory. A run line names the kernel, its grid and threadgroup, and what its arguments are: `f32:N` and `u32:N` are N random
// numbers, `index:N:M` N of 0 to M - 1, else a number.
#include <metal_stdlib>
using namespace metal;

// run: copy grid=256 group=64 x=f32:256 y=f32:256
kernel void copy(device const float* x, device float* y, uint i [[thread_position_in_grid]]) { y[i] = x[i]; }

// run: same grid=256 group=64 x=f32:256 y=f32:256
kernel void same(device const float* x, device float* y, uint i [[thread_position_in_grid]]) { y[i] = x[0] + x[3] * 2; }

// run: stride2 grid=128 group=64 x=f32:256 y=f32:128
kernel void stride2(device const float* x, device float* y, uint i [[thread_position_in_grid]]) { y[i] = x[2 * i]; }

// run: stride33 grid=128 group=32 x=f32:4224 y=f32:128
kernel void stride33(device const float* x, device float* y, uint i [[thread_position_in_grid]]) { y[i] = x[33 * i]; }

// run: backwards grid=128 group=64 x=f32:128 y=f32:128
kernel void backwards(device const float* x, device float* y, uint i [[thread_position_in_grid]]) { y[127 - i] = x[i] * x[i]; }

// run: by_argument grid=64 group=32 x=f32:1024 y=f32:1024 n=5
kernel void by_argument(device const float* x, device float* y, constant uint& n, uint i [[thread_position_in_grid]]) {
    y[i * n] = x[i * n + 1];
}

// run: gather grid=256 group=64 at=index:256:512 x=f32:512 y=f32:256
kernel void gather(device const uint* at, device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
    y[i] = x[at[i]];
}

// run: vectors grid=128 group=64 x=f32:512 y=f32:128
kernel void vectors(device const float4* x, device float* y, uint i [[thread_position_in_grid]]) { y[i] = dot(x[i], x[i]); }

// run: packed grid=128 group=32 x=f32:384 y=f32:128
kernel void packed(device const packed_float3* x, device float* y, uint i [[thread_position_in_grid]]) { y[i] = length(float3(x[i])); }

struct Body {
    float mass;
    float position[3];
    uint kind;
};

// run: structures grid=64 group=32 bodies=f32:320 y=f32:64
kernel void structures(device Body* bodies, device float* y, uint i [[thread_position_in_grid]]) {
    Body body = bodies[i];
    y[i] = body.mass * body.position[1];
    bodies[i].kind = 7;
}

// run: columns grid=64x8 group=32x2 x=f32:512 y=f32:512
kernel void columns(device const float* x, device float* y, uint2 p [[thread_position_in_grid]]) { y[p.x * 8 + p.y] = x[p.y * 64 + p.x]; }

// run: narrow grid=64x64 group=16x16 x=f32:4096 y=f32:4096
kernel void narrow(device const float* x, device float* y, uint2 p [[thread_position_in_grid]]) { y[p.y * 64 + p.x] = 2 * x[p.y * 64 + p.x]; }

// run: bytes grid=256 group=128 x=u32:64 y=u32:64
kernel void bytes(device const uchar* x, device uchar* y, uint i [[thread_position_in_grid]]) { y[i] = x[i] / 3; }

// run: halved grid=128 group=64 x=f32:128 y=f32:128
kernel void halved(device const float* x, device float* y, uint i [[thread_position_in_grid]]) { y[i] = x[i / 2]; }

// run: wrapped grid=256 group=64 x=f32:64 y=f32:256
kernel void wrapped(device const float* x, device float* y, uint i [[thread_position_in_grid]]) { y[i] = x[i % 64]; }

// run: chosen grid=128 group=32 x=f32:512 y=f32:512
kernel void chosen(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
    uint k = i;
    if (x[i] > 0) k = 2 * i;
    y[k] = 1;
}

// run: shifted grid=256 group=64 x=f32:257 y=f32:256
kernel void shifted(device const float* x, device float* y, uint i [[thread_position_in_grid]]) { y[i] = x[i + 1] - x[i]; }
