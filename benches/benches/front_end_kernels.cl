float edge@(__global const float* in, int x, int y, int w, int h) {
    x = clamp(x, 0, w - 1);
    y = clamp(y, 0, h - 1);
    return in[y * w + x];
}

// The size of the gradient of an image in one channel.
__kernel void sobel@(__global const float* in, __global float* out, const int w, const int h) {
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= w || y >= h) return;
    float gx = 0.0f, gy = 0.0f;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
            float p = edge@(in, x + dx, y + dy, w, h);
            gx += p * dx * (dy == 0 ? 2.0f : 1.0f);
            gy += p * dy * (dx == 0 ? 2.0f : 1.0f);
        }
    out[y * w + x] = native_sqrt(gx * gx + gy * gy);
}

#define TILE@ 16

__kernel __attribute__((reqd_work_group_size(TILE@, TILE@, 1)))
void matmul@(__global const float* a, __global const float* b, __global float* c, int n) {
    __local float as[TILE@][TILE@], bs[TILE@][TILE@];
    int row = get_global_id(1), col = get_global_id(0), ly = get_local_id(1), lx = get_local_id(0);
    float4 sum = (float4)(0.0f);
    for (int t = 0; t < n / TILE@; t++) {
        as[ly][lx] = a[row * n + t * TILE@ + lx];
        bs[ly][lx] = b[(t * TILE@ + ly) * n + col];
        barrier(CLK_LOCAL_MEM_FENCE);
        #pragma unroll
        for (int k = 0; k < TILE@; k += 4)
            sum += vload4(0, &as[ly][k]) * (float4)(bs[k][lx], bs[k + 1][lx], bs[k + 2][lx], bs[k + 3][lx]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * n + col] = sum.x + sum.y + sum.z + sum.w;
}

typedef struct {
    float4 position;
    float4 velocity;
    uint flags;
} Particle@;

/* One step of the particles; dead ones stay where they are. */
__kernel void step@(__global Particle@* particles, const uint count, const float dt) {
    size_t i = get_global_id(0);
    if (i >= count || !(particles[i].flags & 1u)) return;
    Particle@ p = particles[i];
    p.velocity.y -= 9.81f * dt;
    p.position += p.velocity * dt;
    if (p.position.y < 0.0f) {
        p.position.y = -p.position.y;
        p.velocity = p.velocity * (float4)(0.9f, -0.6f, 0.9f, 0.0f);
    }
    particles[i] = p;
}

__kernel void histogram@(__global const uchar* data, __global int* bins, uint n, __local int* own) {
    uint id = get_local_id(0);
    for (uint b = id; b < 256; b += get_local_size(0)) own[b] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = get_global_id(0); i < n; i += get_global_size(0)) atomic_inc(&own[data[i]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint b = id; b < 256; b += get_local_size(0)) atomic_add(&bins[b], own[b]);
}

