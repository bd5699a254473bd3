// Rounds of loops, branches and operations.
#include <metal_stdlib>
using namespace metal;

// run: fixed_rounds grid=64 group=32 x=f32:128 y=f32:64
kernel void fixed_rounds(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
    float s = 0;
    for (int k = 0; k < 8; k++)
        for (int j = 0; j < 4; j++) s += x[k * 4 + j] * x[i + k];
    y[i] = s;
}

// run: rounds_by_argument grid=64 group=32 x=f32:1024 y=f32:64 n=11
kernel void rounds_by_argument(device const float* x, device float* y, constant int& n, uint i [[thread_position_in_grid]]) {
    float s = 1;
    for (int k = 0; k < n; k++) s = fma(s, x[k * 64 + i], 0.5f);
    y[i] = exp(s) + s;
}

// run: product grid=32x16 group=32x2 a=f32:1024 b=f32:1024 c=f32:512 n=32
kernel void product(device const float* a, device const float* b, device float* c, constant uint& n, uint2 p [[thread_position_in_grid]]) {
    float s = 0;
    for (uint k = 0; k < n; k++) s += a[p.y * n + k] * b[k * n + p.x];
    c[p.y * n + p.x] = s;
}

// run: by_thread grid=64 group=32 x=f32:64 y=f32:64
kernel void by_thread(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
    float s = 0;
    for (uint k = 0; k < i; k++) s += x[k];
    y[i] = s;
}

// run: guarded grid=100 group=32 x=f32:100 y=f32:100 n=70
kernel void guarded(device const float* x, device float* y, constant uint& n, uint i [[thread_position_in_grid]]) {
    if (i >= n) return;
    y[i] = 3 * x[i] + 1;
}

// run: search grid=64 group=32 x=index:256:10 y=u32:64
kernel void search(device const uint* x, device uint* y, uint i [[thread_position_in_grid]]) {
    uint k = 0;
    for (; k < 100; k++)
        if (x[(i + k) % 256] == 3) break;
    y[i] = k;
}

// run: either grid=64 group=32 x=f32:64 y=f32:64
kernel void either(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
    if (x[i] > 0)
        y[i] = sqrt(x[i]) * 2;
    else
        y[i] = x[i] + x[i] * x[i];
}

static float polynomial(float v) { return ((v * 3 + 2) * v + 1) * v; }

// run: called grid=64 group=32 x=f32:128 y=f32:64
kernel void called(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
    y[i] = polynomial(x[i]) + polynomial(x[2 * i]);
}

// run: until grid=64 group=32 x=f32:64 y=f32:64
kernel void until(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
    float v = x[i], s = 0;
    uint k = 0;
    do {
        s += v * x[k];
        k += 3;
    } while (k < 12);
    y[i] = s;
}
