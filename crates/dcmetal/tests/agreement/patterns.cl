// Patterns in OpenCL C: the analysis is made from the syntax tree. Run lines as in patterns.metal. Statements have one line, since translations tell
// of each the line where it begins.

// run: copy grid=256 group=64 x=f32:256 y=f32:256
kernel void copy(global const float* x, global float* y) { y[get_global_id(0)] = x[get_global_id(0)]; }

// run: same grid=256 group=64 x=f32:256 y=f32:256
kernel void same(global const float* x, global float* y) {
    size_t i = get_global_id(0);
    y[i] = x[0] + x[3] * 2;
}

// run: stride2 grid=128 group=64 x=f32:256 y=f32:128
kernel void stride2(global const float* x, global float* y) {
    int i = get_global_id(0);
    y[i] = x[2 * i];
}

// run: backwards grid=128 group=64 x=f32:128 y=f32:128
kernel void backwards(global const float* x, global float* y) {
    int i = get_global_id(0);
    float v = x[i];
    y[127 - i] = v * v;
}

// run: by_argument grid=64 group=32 x=f32:1024 y=f32:1024 n=5
kernel void by_argument(global const float* x, global float* y, int n) {
    int i = get_global_id(0);
    y[i * n] = x[i * n + 1];
}

// run: gather grid=256 group=64 at=index:256:512 x=f32:512 y=f32:256
kernel void gather(global const uint* at, global const float* x, global float* y) {
    size_t i = get_global_id(0);
    y[i] = x[at[i]];
}

// run: vectors grid=128 group=64 x=f32:512 y=f32:128
kernel void vectors(global const float4* x, global float* y) {
    size_t i = get_global_id(0);
    y[i] = dot(x[i], (float4)(1, 2, 3, 4));
}

// run: columns grid=64x8 group=32x2 x=f32:512 y=f32:512
kernel void columns(global const float* x, global float* y) {
    size_t i = get_global_id(0), j = get_global_id(1);
    y[i * 8 + j] = x[j * 64 + i];
}

// run: narrow grid=64x64 group=8x8 x=f32:4096 y=f32:4096
kernel void narrow(global const float* x, global float* y) {
    size_t at = get_global_id(1) * 64 + get_global_id(0);
    y[at] = 2 * x[at];
}

// run: wrapped grid=256 group=64 x=f32:64 y=f32:256
kernel void wrapped(global const float* x, global float* y) {
    uint i = get_global_id(0);
    y[i] = x[i % 64];
}
