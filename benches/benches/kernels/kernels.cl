// The kernels of this bench in OpenCL C; simd_group_sum is a tree here, since PoCL 3.1 has no sub-groups.

kernel void vector_add(global const float *a, global const float *b, global float *out, uint n) {
  uint i = get_global_id(0);
  out[i] = a[i] + b[i];
}

kernel void saxpy(global const float *a, global const float *b, global float *out, uint n) {
  uint i = get_global_id(0);
  out[i] = 2.5f * a[i] + b[i];
}

kernel void stencil(global const float *a, global float *out, uint n) {
  uint x = get_global_id(0), y = get_global_id(1), i = y * n + x;
  if (x == 0 || y == 0 || x == n - 1 || y == n - 1)
    out[i] = a[i];
  else
    out[i] = 0.5f * a[i] + 0.125f * (a[i - 1] + a[i + 1] + a[i - n] + a[i + n]);
}

float normal_cdf(float x) {
  float k = 1.0f / (1.0f + 0.2316419f * fabs(x));
  float tail = 0.39894228f * exp(-0.5f * x * x) * k *
               (0.31938153f + k * (-0.35656378f + k * (1.7814779f + k * (-1.8212559f + k * 1.3302744f))));
  return x < 0 ? tail : 1.0f - tail;
}
kernel void black_scholes(global const float *price, global const float *years, global float *out, uint n) {
  uint i = get_global_id(0);
  float strike = 100.0f, rate = 0.02f, sigma = 0.3f, s = price[i], t = years[i];
  float d1 = (log(s / strike) + (rate + 0.5f * sigma * sigma) * t) / (sigma * sqrt(t)), d2 = d1 - sigma * sqrt(t);
  out[i] = s * normal_cdf(d1) - strike * exp(-rate * t) * normal_cdf(d2);
}

kernel void mandelbrot(global uint *out, uint n) {
  uint ax = get_global_id(0), ay = get_global_id(1);
  int cx = (int)(ax * 12288 / n) - 8192, cy = (int)(ay * 12288 / n) - 6144, x = 0, y = 0;
  uint count = 0;
  while (count < 256) {
    int xx = (x * x) >> 12, yy = (y * y) >> 12;
    if (xx + yy > 16384) break;
    y = ((x * y) >> 11) + cy;
    x = xx - yy + cx;
    count++;
  }
  out[ay * n + ax] = count;
}

kernel void grey(global const uchar4 *a, global uchar4 *out, uint n) {
  uint i = get_global_id(0);
  uchar4 p = a[i];
  uchar y = (uchar)((77 * p.x + 150 * p.y + 29 * p.z) >> 8);
  out[i] = (uchar4)(y, y, y, p.w);
}

kernel void histogram(global const uint *a, global uint *out, uint n) {
  atomic_inc(&out[a[get_global_id(0)] & 255]);
}

kernel void matrix_product(global const float *a, global const float *b, global float *out, uint n) {
  uint x = get_global_id(0), y = get_global_id(1);
  float sum = 0;
  for (uint k = 0; k < n; k++) sum += a[y * n + k] * b[k * n + x];
  out[y * n + x] = sum;
}

kernel void tiled_product(global const float *a, global const float *b, global float *out, uint n) {
  local float left[16][16], right[16][16];
  uint x = get_global_id(0), y = get_global_id(1), lx = get_local_id(0), ly = get_local_id(1);
  float sum = 0;
  for (uint t = 0; t < n / 16; t++) {
    left[ly][lx] = a[y * n + t * 16 + lx];
    right[ly][lx] = b[(t * 16 + ly) * n + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0; k < 16; k++) sum += left[ly][k] * right[k][lx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[y * n + x] = sum;
}

kernel void transposition(global const float *a, global float *out, uint n) {
  local float tile[16][17];
  uint gx = get_group_id(0), gy = get_group_id(1), lx = get_local_id(0), ly = get_local_id(1);
  tile[ly][lx] = a[(gy * 16 + ly) * n + gx * 16 + lx];
  barrier(CLK_LOCAL_MEM_FENCE);
  out[(gx * 16 + ly) * n + gy * 16 + lx] = tile[lx][ly];
}

kernel void tree_sum(global const float *a, global float *out, uint n) {
  local float s[256];
  uint t = get_local_id(0);
  s[t] = a[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint k = 128; k > 0; k /= 2) {
    if (t < k) s[t] += s[t + k];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (t == 0) out[get_group_id(0)] = s[0];
}

kernel void simd_group_sum(global const float *a, global float *out, uint n) {
  local float s[256];
  uint t = get_local_id(0);
  s[t] = a[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint k = 128; k > 0; k /= 2) {
    if (t < k) s[t] += s[t + k];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (t == 0) out[get_group_id(0)] = s[0];
}

kernel void scan(global const float *a, global float *out, uint n) {
  local float s[256];
  uint i = get_global_id(0), t = get_local_id(0);
  s[t] = a[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint k = 1; k < 256; k *= 2) {
    float v = t >= k ? s[t - k] : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    s[t] += v;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[i] = s[t];
}

kernel void softmax(global const float *a, global float *out, uint n) {
  local float s[256];
  uint t = get_local_id(0), row = get_group_id(0);
  global const float *in = a + row * 1024;
  float most = fmax(fmax(in[t], in[t + 256]), fmax(in[t + 512], in[t + 768]));
  s[t] = most;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint k = 128; k > 0; k /= 2) {
    if (t < k) s[t] = fmax(s[t], s[t + k]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  most = s[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  float e0 = exp(in[t] - most), e1 = exp(in[t + 256] - most), e2 = exp(in[t + 512] - most), e3 = exp(in[t + 768] - most);
  s[t] = e0 + e1 + e2 + e3;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint k = 128; k > 0; k /= 2) {
    if (t < k) s[t] += s[t + k];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  float scale = 1.0f / s[0];
  global float *to = out + row * 1024;
  to[t] = e0 * scale;
  to[t + 256] = e1 * scale;
  to[t + 512] = e2 * scale;
  to[t + 768] = e3 * scale;
}

kernel void bodies(global const float4 *a, global float4 *out, uint n) {
  local float4 tile[256];
  uint i = get_global_id(0), t = get_local_id(0);
  float3 here = a[i].xyz, force = 0;
  for (uint first = 0; first < n; first += 256) {
    tile[t] = a[first + t];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0; k < 256; k++) {
      float3 d = tile[k].xyz - here;
      float inverse = rsqrt(dot(d, d) + 0.01f);
      force += d * (tile[k].w * inverse * inverse * inverse);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[i] = (float4)(force, 0.0f);
}
