// Local memory, loops and branches in OpenCL C. Of functions those that are one of Metal's: what others are made of, the text does not show.

// run: tile_free grid=64x32 group=32x32 x=f32:2048 y=f32:2048
kernel void tile_free(global const float* x, global float* y) {
    local float tile[32][33];
    int lx = get_local_id(0), ly = get_local_id(1), g = get_group_id(0);
    tile[ly][lx] = x[ly * 64 + g * 32 + lx];
    barrier(CLK_LOCAL_MEM_FENCE);
    y[(g * 32 + ly) * 32 + lx] = tile[lx][ly];
}

// run: tile_conflicts grid=64x32 group=32x32 x=f32:2048 y=f32:2048
kernel void tile_conflicts(global const float* x, global float* y) {
    local float tile[32][32];
    int lx = get_local_id(0), ly = get_local_id(1), g = get_group_id(0);
    tile[ly][lx] = x[ly * 64 + g * 32 + lx];
    barrier(CLK_LOCAL_MEM_FENCE);
    y[(g * 32 + ly) * 32 + lx] = tile[lx][ly];
}

// run: two_words grid=128 group=64 x=f32:128 y=f32:128 t=local:512
kernel void two_words(global const float* x, global float* y, local float* t) {
    int i = get_global_id(0), l = get_local_id(0);
    t[2 * l] = x[i];
    t[2 * l + 1] = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    y[i] = t[127 - l];
}

// run: sums grid=256 group=128 x=f32:256 y=f32:2
kernel void sums(global const float* x, global float* y) {
    local float t[128];
    uint l = get_local_id(0);
    t[l] = x[get_global_id(0)];
    for (uint half_size = 64; half_size > 0; half_size /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < half_size) t[l] += t[l + half_size];
    }
    if (l == 0) y[get_group_id(0)] = t[0];
}

// run: fixed_rounds grid=64 group=32 x=f32:128 y=f32:64
kernel void fixed_rounds(global const float* x, global float* y) {
    int i = get_global_id(0);
    float s = 0;
    for (int k = 0; k < 8; k++)
        for (int j = 0; j < 4; j++)
            s += x[k * 4 + j] * x[i + k];
    y[i] = s;
}

// run: rounds_by_argument grid=64 group=32 x=f32:1024 y=f32:64 n=11
kernel void rounds_by_argument(global const float* x, global float* y, int n) {
    int i = get_global_id(0);
    float s = 1;
    for (int k = 0; k < n; k++)
        s = fma(s, x[k * 64 + i], 0.5f);
    y[i] = native_exp(s) + s;
}

// run: by_thread grid=64 group=32 x=f32:64 y=f32:64
kernel void by_thread(global const float* x, global float* y) {
    int i = get_global_id(0);
    float s = 0;
    for (int k = 0; k < i; k++)
        s += x[k];
    y[i] = s;
}

// run: guarded grid=100 group=50 x=f32:100 y=f32:100 n=70
kernel void guarded(global const float* x, global float* y, int n) {
    int i = get_global_id(0);
    if (i >= n) return;
    y[i] = 3 * x[i] + 1;
}

// run: either grid=64 group=32 x=f32:64 y=f32:64
kernel void either(global const float* x, global float* y) {
    int i = get_global_id(0);
    float v = x[i];
    if (v > 0)
        y[i] = sqrt(v) * 2;
    else
        y[i] = v + v * v;
}

// run: search grid=64 group=32 x=index:256:10 y=u32:64
kernel void search(global const uint* x, global uint* y) {
    uint i = get_global_id(0), k = 0;
    for (; k < 100; k++)
        if (x[(i + k) % 256] == 3) break;
    y[i] = k;
}

// run: rows grid=64x64 group=16x16 x=f32:4096 y=f32:4096
// run: rows grid=64x64 group=8x8 x=f32:4096 y=f32:4096
// run: rows grid=64x64 group=4x4 x=f32:4096 y=f32:4096
// run: rows grid=64x64 group=32x2 x=f32:4096 y=f32:4096
kernel void rows(global const float* x, global float* y) {
    local float tile[32][32];
    int lx = get_local_id(0), ly = get_local_id(1), at = get_global_id(1) * 64 + get_global_id(0);
    tile[ly][lx] = x[at];
    barrier(CLK_LOCAL_MEM_FENCE);
    y[at] = tile[ly][lx];
}

// run: pitch grid=64x64 group=16x16 x=f32:4096 y=f32:4096 n=64
kernel void pitch(global const float* x, global float* y, int n) {
    int at = get_global_id(1) * n + get_global_id(0);
    y[at] = x[at];
}

// run: solid grid=16x16x8 group=4x4x4 x=f32:2048 y=f32:2048
// run: solid grid=16x16x8 group=2x4x8 x=f32:2048 y=f32:2048
// run: solid grid=16x16x8 group=8x4x2 x=f32:2048 y=f32:2048
kernel void solid(global const float* x, global float* y) {
    local float tile[8][4][32];
    int lx = get_local_id(0), ly = get_local_id(1), lz = get_local_id(2);
    int at = (get_global_id(2) * 16 + get_global_id(1)) * 16 + get_global_id(0);
    tile[lz][ly][lx] = x[at];
    barrier(CLK_LOCAL_MEM_FENCE);
    y[at] = tile[lz][ly][lx];
}
