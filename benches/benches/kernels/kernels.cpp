// The work of this bench as plain loops, compiled with -O3 -march=native -ffast-math.
// Each function does the items from begin to end; the caller shares the items out over its threads.
#include <cmath>
#include <cstdint>
#include <cstring>

#define WORK(name) extern "C" void name(const void *const *in, void *to, uint32_t n, uint64_t begin, uint64_t end)
typedef const float *__restrict In;
typedef float *__restrict Out;

WORK(vector_add) {
  In a = (In)in[0], b = (In)in[1];
  Out out = (Out)to;
  for (uint64_t i = begin; i < end; i++) out[i] = a[i] + b[i];
}

WORK(saxpy) {
  In a = (In)in[0], b = (In)in[1];
  Out out = (Out)to;
  for (uint64_t i = begin; i < end; i++) out[i] = 2.5f * a[i] + b[i];
}

WORK(stencil) {  // an item is a row
  In a = (In)in[0];
  Out out = (Out)to;
  for (uint64_t y = begin; y < end; y++) {
    In row = a + y * n;
    Out result = out + y * n;
    if (y == 0 || y == n - 1) {
      memcpy(result, row, n * sizeof(float));
      continue;
    }
    result[0] = row[0];
    for (uint32_t x = 1; x < n - 1; x++) result[x] = 0.5f * row[x] + 0.125f * (row[x - 1] + row[x + 1] + row[(int64_t)x - n] + row[x + n]);
    result[n - 1] = row[n - 1];
  }
}

static inline float normal_cdf(float x) {
  float k = 1.0f / (1.0f + 0.2316419f * fabsf(x));
  float tail = 0.39894228f * expf(-0.5f * x * x) * k *
               (0.31938153f + k * (-0.35656378f + k * (1.7814779f + k * (-1.8212559f + k * 1.3302744f))));
  return x < 0 ? tail : 1.0f - tail;
}
WORK(black_scholes) {
  In price = (In)in[0], years = (In)in[1];
  Out out = (Out)to;
  const float strike = 100.0f, rate = 0.02f, sigma = 0.3f;
  for (uint64_t i = begin; i < end; i++) {
    float s = price[i], t = years[i];
    float d1 = (logf(s / strike) + (rate + 0.5f * sigma * sigma) * t) / (sigma * sqrtf(t)), d2 = d1 - sigma * sqrtf(t);
    out[i] = s * normal_cdf(d1) - strike * expf(-rate * t) * normal_cdf(d2);
  }
}

WORK(mandelbrot) {  // an item is a row
  uint32_t *out = (uint32_t *)to;
  for (uint64_t ay = begin; ay < end; ay++)
    for (uint32_t ax = 0; ax < n; ax++) {
      int cx = (int)(ax * 12288 / n) - 8192, cy = (int)((uint32_t)ay * 12288 / n) - 6144, x = 0, y = 0;
      uint32_t count = 0;
      while (count < 256) {
        int xx = (x * x) >> 12, yy = (y * y) >> 12;
        if (xx + yy > 16384) break;
        y = ((x * y) >> 11) + cy;
        x = xx - yy + cx;
        count++;
      }
      out[ay * n + ax] = count;
    }
}

WORK(grey) {
  const uint8_t *__restrict a = (const uint8_t *)in[0];
  uint8_t *__restrict out = (uint8_t *)to;
  for (uint64_t i = begin; i < end; i++) {
    uint8_t y = (uint8_t)((77 * a[4 * i] + 150 * a[4 * i + 1] + 29 * a[4 * i + 2]) >> 8);
    out[4 * i] = out[4 * i + 1] = out[4 * i + 2] = y;
    out[4 * i + 3] = a[4 * i + 3];
  }
}

WORK(histogram) {
  const uint32_t *a = (const uint32_t *)in[0];
  uint32_t *out = (uint32_t *)to;
  for (uint64_t i = begin; i < end; i++) __atomic_fetch_add(&out[a[i] & 255], 1u, __ATOMIC_RELAXED);
}

WORK(matrix_product) {  // an item is a row of the result, the order of loops that a compiler can vectorise
  In a = (In)in[0], b = (In)in[1];
  Out out = (Out)to;
  for (uint64_t y = begin; y < end; y++) {
    memset(out + y * n, 0, n * sizeof(float));
    for (uint32_t k = 0; k < n; k++)
      for (uint32_t x = 0; x < n; x++) out[y * n + x] += a[y * n + k] * b[(uint64_t)k * n + x];
  }
}

WORK(tiled_product) {  // an item is sixteen rows
  In a = (In)in[0], b = (In)in[1];
  Out out = (Out)to;
  for (uint64_t rows = begin; rows < end; rows++)
    for (uint32_t columns = 0; columns < n; columns += 16) {
      float sums[16][16] = {};
      for (uint32_t k = 0; k < n; k++)
        for (uint32_t y = 0; y < 16; y++)
          for (uint32_t x = 0; x < 16; x++) sums[y][x] += a[(rows * 16 + y) * n + k] * b[(uint64_t)k * n + columns + x];
      for (uint32_t y = 0; y < 16; y++) memcpy(out + (rows * 16 + y) * n + columns, sums[y], sizeof sums[y]);
    }
}

WORK(transposition) {  // an item is sixteen rows
  In a = (In)in[0];
  Out out = (Out)to;
  for (uint64_t rows = begin; rows < end; rows++)
    for (uint32_t columns = 0; columns < n; columns += 16)
      for (uint32_t x = 0; x < 16; x++)
        for (uint32_t y = 0; y < 16; y++) out[(uint64_t)(columns + x) * n + rows * 16 + y] = a[(rows * 16 + y) * n + columns + x];
}

WORK(tree_sum) {  // an item is 256 numbers
  In a = (In)in[0];
  Out out = (Out)to;
  for (uint64_t g = begin; g < end; g++) {
    float sum = 0;
    for (uint32_t k = 0; k < 256; k++) sum += a[g * 256 + k];
    out[g] = sum;
  }
}
WORK(simd_group_sum) { tree_sum(in, to, n, begin, end); }

WORK(scan) {  // an item is 256 numbers
  In a = (In)in[0];
  Out out = (Out)to;
  for (uint64_t g = begin; g < end; g++) {
    float sum = 0;
    for (uint32_t k = 0; k < 256; k++) out[g * 256 + k] = sum += a[g * 256 + k];
  }
}

WORK(softmax) {  // an item is a row of 1024
  In a = (In)in[0];
  Out out = (Out)to;
  for (uint64_t row = begin; row < end; row++) {
    In from = a + row * 1024;
    Out result = out + row * 1024;
    float most = from[0], sum = 0;
    for (uint32_t k = 1; k < 1024; k++) most = from[k] > most ? from[k] : most;
    for (uint32_t k = 0; k < 1024; k++) result[k] = expf(from[k] - most);
    for (uint32_t k = 0; k < 1024; k++) sum += result[k];
    float scale = 1.0f / sum;
    for (uint32_t k = 0; k < 1024; k++) result[k] *= scale;
  }
}

WORK(bodies) {
  In a = (In)in[0];
  Out out = (Out)to;
  for (uint64_t i = begin; i < end; i++) {
    float x = a[4 * i], y = a[4 * i + 1], z = a[4 * i + 2], fx = 0, fy = 0, fz = 0;
    for (uint32_t k = 0; k < n; k++) {
      float dx = a[4 * k] - x, dy = a[4 * k + 1] - y, dz = a[4 * k + 2] - z;
      float inverse = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + 0.01f), scale = a[4 * k + 3] * inverse * inverse * inverse;
      fx += dx * scale;
      fy += dy * scale;
      fz += dz * scale;
    }
    out[4 * i] = fx;
    out[4 * i + 1] = fy;
    out[4 * i + 2] = fz;
    out[4 * i + 3] = 0;
  }
}
