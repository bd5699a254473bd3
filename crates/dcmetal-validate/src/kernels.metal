// The kernels of this bench for Metal. kernels.cl and kernels.cpp hold the same algorithms, where those languages have the means.
#include <metal_stdlib>
using namespace metal;

kernel void vector_add(const device float *a [[buffer(0)]], const device float *b [[buffer(1)]], device float *out [[buffer(2)]],
                       constant uint &n [[buffer(3)]], uint i [[thread_position_in_grid]]) {
  out[i] = a[i] + b[i];
}

kernel void saxpy(const device float *a [[buffer(0)]], const device float *b [[buffer(1)]], device float *out [[buffer(2)]],
                  constant uint &n [[buffer(3)]], uint i [[thread_position_in_grid]]) {
  out[i] = 2.5f * a[i] + b[i];
}

kernel void stencil(const device float *a [[buffer(0)]], device float *out [[buffer(1)]], constant uint &n [[buffer(2)]],
                    uint2 at [[thread_position_in_grid]]) {
  uint i = at.y * n + at.x;
  if (at.x == 0 || at.y == 0 || at.x == n - 1 || at.y == n - 1)
    out[i] = a[i];
  else
    out[i] = 0.5f * a[i] + 0.125f * (a[i - 1] + a[i + 1] + a[i - n] + a[i + n]);
}

static float normal_cdf(float x) {
  float k = 1.0f / (1.0f + 0.2316419f * fabs(x));
  float tail = 0.39894228f * exp(-0.5f * x * x) * k *
               (0.31938153f + k * (-0.35656378f + k * (1.7814779f + k * (-1.8212559f + k * 1.3302744f))));
  return x < 0 ? tail : 1.0f - tail;
}
kernel void black_scholes(const device float *price [[buffer(0)]], const device float *years [[buffer(1)]], device float *out [[buffer(2)]],
                          constant uint &n [[buffer(3)]], uint i [[thread_position_in_grid]]) {
  float strike = 100.0f, rate = 0.02f, sigma = 0.3f, s = price[i], t = years[i];
  float d1 = (log(s / strike) + (rate + 0.5f * sigma * sigma) * t) / (sigma * sqrt(t)), d2 = d1 - sigma * sqrt(t);
  out[i] = s * normal_cdf(d1) - strike * exp(-rate * t) * normal_cdf(d2);
}

kernel void mandelbrot(device uint *out [[buffer(0)]], constant uint &n [[buffer(1)]], uint2 at [[thread_position_in_grid]]) {
  // Fixed point with 12 bits behind the point, so that every processor counts the same.
  int cx = int(at.x * 12288 / n) - 8192, cy = int(at.y * 12288 / n) - 6144, x = 0, y = 0;
  uint count = 0;
  while (count < 256) {
    int xx = (x * x) >> 12, yy = (y * y) >> 12;
    if (xx + yy > 16384) break;
    y = ((x * y) >> 11) + cy;
    x = xx - yy + cx;
    count++;
  }
  out[at.y * n + at.x] = count;
}

kernel void grey(const device uchar4 *a [[buffer(0)]], device uchar4 *out [[buffer(1)]], constant uint &n [[buffer(2)]],
                 uint i [[thread_position_in_grid]]) {
  uchar4 p = a[i];
  uchar y = uchar((77 * p.x + 150 * p.y + 29 * p.z) >> 8);
  out[i] = uchar4(y, y, y, p.w);
}

kernel void histogram(const device uint *a [[buffer(0)]], device atomic_uint *out [[buffer(1)]], constant uint &n [[buffer(2)]],
                      uint i [[thread_position_in_grid]]) {
  atomic_fetch_add_explicit(&out[a[i] & 255], 1u, memory_order_relaxed);
}

kernel void matrix_product(const device float *a [[buffer(0)]], const device float *b [[buffer(1)]], device float *out [[buffer(2)]],
                           constant uint &n [[buffer(3)]], uint2 at [[thread_position_in_grid]]) {
  float sum = 0;
  for (uint k = 0; k < n; k++) sum += a[at.y * n + k] * b[k * n + at.x];
  out[at.y * n + at.x] = sum;
}

kernel void tiled_product(const device float *a [[buffer(0)]], const device float *b [[buffer(1)]], device float *out [[buffer(2)]],
                          constant uint &n [[buffer(3)]], uint2 at [[thread_position_in_grid]],
                          uint2 l [[thread_position_in_threadgroup]]) {
  threadgroup float left[16][16], right[16][16];
  float sum = 0;
  for (uint t = 0; t < n / 16; t++) {
    left[l.y][l.x] = a[at.y * n + t * 16 + l.x];
    right[l.y][l.x] = b[(t * 16 + l.y) * n + at.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 0; k < 16; k++) sum += left[l.y][k] * right[k][l.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  out[at.y * n + at.x] = sum;
}

kernel void transposition(const device float *a [[buffer(0)]], device float *out [[buffer(1)]], constant uint &n [[buffer(2)]],
                          uint2 g [[threadgroup_position_in_grid]], uint2 l [[thread_position_in_threadgroup]]) {
  threadgroup float tile[16][17];
  tile[l.y][l.x] = a[(g.y * 16 + l.y) * n + g.x * 16 + l.x];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[(g.x * 16 + l.y) * n + g.y * 16 + l.x] = tile[l.x][l.y];
}

kernel void tree_sum(const device float *a [[buffer(0)]], device float *out [[buffer(1)]], constant uint &n [[buffer(2)]],
                     uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]],
                     uint g [[threadgroup_position_in_grid]]) {
  threadgroup float s[256];
  s[t] = a[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint k = 128; k > 0; k /= 2) {
    if (t < k) s[t] += s[t + k];
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (t == 0) out[g] = s[0];
}

kernel void simd_group_sum(const device float *a [[buffer(0)]], device float *out [[buffer(1)]], constant uint &n [[buffer(2)]],
                           uint i [[thread_position_in_grid]], uint g [[threadgroup_position_in_grid]],
                           uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float s[8];
  float sum = simd_sum(a[i]);
  if (lane == 0) s[simdgroup] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (simdgroup == 0) {
    sum = simd_sum(lane < 8 ? s[lane] : 0.0f);
    if (lane == 0) out[g] = sum;
  }
}

kernel void scan(const device float *a [[buffer(0)]], device float *out [[buffer(1)]], constant uint &n [[buffer(2)]],
                 uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]]) {
  threadgroup float s[256];
  s[t] = a[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint k = 1; k < 256; k *= 2) {
    float v = t >= k ? s[t - k] : 0.0f;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    s[t] += v;
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  out[i] = s[t];
}

kernel void softmax(const device float *a [[buffer(0)]], device float *out [[buffer(1)]], constant uint &n [[buffer(2)]],
                    uint t [[thread_position_in_threadgroup]], uint row [[threadgroup_position_in_grid]]) {
  threadgroup float s[256];
  const device float *in = a + row * 1024;
  float most = max(max(in[t], in[t + 256]), max(in[t + 512], in[t + 768]));
  s[t] = most;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint k = 128; k > 0; k /= 2) {
    if (t < k) s[t] = max(s[t], s[t + k]);
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  most = s[0];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float e0 = exp(in[t] - most), e1 = exp(in[t + 256] - most), e2 = exp(in[t + 512] - most), e3 = exp(in[t + 768] - most);
  s[t] = e0 + e1 + e2 + e3;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint k = 128; k > 0; k /= 2) {
    if (t < k) s[t] += s[t + k];
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  float scale = 1.0f / s[0];
  device float *to = out + row * 1024;
  to[t] = e0 * scale;
  to[t + 256] = e1 * scale;
  to[t + 512] = e2 * scale;
  to[t + 768] = e3 * scale;
}

kernel void bodies(const device float4 *a [[buffer(0)]], device float4 *out [[buffer(1)]], constant uint &n [[buffer(2)]],
                   uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]]) {
  threadgroup float4 tile[256];
  float3 here = a[i].xyz, force = 0;
  for (uint first = 0; first < n; first += 256) {
    tile[t] = a[first + t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 0; k < 256; k++) {
      float3 d = tile[k].xyz - here;
      float inverse = rsqrt(dot(d, d) + 0.01f);
      force += d * (tile[k].w * inverse * inverse * inverse);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  out[i] = float4(force, 0.0f);
}
