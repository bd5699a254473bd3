//= log2_pair float : log_parts
// The binary logarithm of a positive finite number in two floats, to about 2^-34 of the larger: with s = f / (2 + f) it is
// e + s (2 / ln 2 + s^2 P(s^2)), where s is a quotient in two floats and P minimax.
inline metal::float2 clmsl_log2_pair(float x) {
  const metal::float2 parts = clmsl_log_parts(x);
  const float f = parts.x, e = parts.y;
  const float d = 2.0f + f;
  const float d_low = f - (d - 2.0f);
  const float s = f / d;
  const float s_low = metal::fma(-s, d_low, metal::fma(-s, d, f)) / d;
  const float z = s * s;
  float p = 0x1.5890bcp-2f;
  p = metal::fma(p, z, 0x1.a5d044p-2f);
  p = metal::fma(p, z, 0x1.2776ep-1f);
  p = metal::fma(p, z, 0x1.ec709ep-1f);
  const float main = s * 0x1.715476p+1f;
  float low = metal::fma(s, 0x1.715476p+1f, -main);
  low = metal::fma(s_low, 0x1.715476p+1f, metal::fma(s, 0x1.4ae0cp-25f, low));
  low = metal::fma(s * z, p, low);
  const float sum = e + main;
  low = (main - (sum - e)) + low;
  const float high = sum + low;
  return metal::float2(high, low - (high - sum));
}
//= exp2_pair float
// 2^(x + low) as (y, n): y * 2^n. low is small; the polynomial is that of exp2.
inline metal::float2 clmsl_exp2_pair(float x, float low) {
  const float n = metal::rint(x);
  const float r = (x - n) + low;
  float p = 0x1.ec7fdep-17f;
  p = metal::fma(p, r, 0x1.440efp-13f);
  p = metal::fma(p, r, 0x1.5d9cbep-10f);
  p = metal::fma(p, r, 0x1.3b2a5cp-7f);
  p = metal::fma(p, r, 0x1.c6b074p-5f);
  p = metal::fma(p, r, 0x1.ebfbep-3f);
  p = metal::fma(p, r, 0x1.62e43p-1f);
  return metal::float2(metal::fma(p, r, 1.0f), n);
}
//= power float : log2_pair exp2_pair
// x^(y + y_low) for a positive finite x.
inline float clmsl_power(float x, float y, float y_low) {
  const metal::float2 log = clmsl_log2_pair(x);
  const float z = y * log.x;
  if (metal::fabs(z) > 160.0f) {
    return z > 0.0f ? as_type<float>(0x7f800000u) : 0.0f;
  }
  float low = metal::fma(y, log.y, metal::fma(y, log.x, -z));
  low = metal::fma(y_low, log.x, low);
  const metal::float2 parts = clmsl_exp2_pair(z, low);
  return metal::ldexp(parts.x, int(parts.y));
}
//= pow float each : power
inline float clmsl_pow(float x, float y) {
  if (y == 0.0f || x == 1.0f) {
    return 1.0f;
  }
  if (metal::isnan(x) || metal::isnan(y)) {
    return x + y;
  }
  const float a = metal::fabs(x);
  const bool whole = metal::trunc(y) == y;
  if (x < 0.0f && !whole && !metal::isinf(a)) {
    return as_type<float>(0x7fc00000u);
  }
  float power = 0.0f;
  if (metal::isinf(y)) {
    return a == 1.0f ? 1.0f : (a > 1.0f) == (y > 0.0f) ? as_type<float>(0x7f800000u) : 0.0f;
  } else if (a == 0.0f || metal::isinf(a)) {
    power = (a == 0.0f) == (y < 0.0f) ? as_type<float>(0x7f800000u) : 0.0f;
  } else {
    power = clmsl_power(a, y, 0.0f);
  }
  const bool odd = whole && metal::fabs(y) < 0x1p24f && (int(y) & 1) != 0;
  return odd ? metal::copysign(power, x) : power;
}
//= powr float each : power
inline float clmsl_powr(float x, float y) {
  if (metal::isnan(x) || metal::isnan(y)) {
    return x + y;
  }
  const bool end = x == 0.0f || metal::isinf(x);
  if (x < 0.0f || (y == 0.0f && end) || (x == 1.0f && metal::isinf(y))) {
    return as_type<float>(0x7fc00000u);
  }
  if (metal::isinf(y)) {
    return (x > 1.0f) == (y > 0.0f) ? as_type<float>(0x7f800000u) : 0.0f;
  }
  if (end) {
    return (x == 0.0f) == (y < 0.0f) ? as_type<float>(0x7f800000u) : 0.0f;
  }
  return clmsl_power(x, y, 0.0f);
}
//= pown float each : power
inline float clmsl_pown(float x, int n) {
  if (n == 0) {
    return 1.0f;
  }
  if (metal::isnan(x)) {
    return x;
  }
  const float a = metal::fabs(x);
  float power = 0.0f;
  if (a == 0.0f || metal::isinf(a)) {
    power = (a == 0.0f) == (n < 0) ? as_type<float>(0x7f800000u) : 0.0f;
  } else {
    // Two floats hold every int.
    const float high = float(n);
    power = clmsl_power(a, high, float(long(n) - long(high)));
  }
  return (n & 1) != 0 ? metal::copysign(power, x) : power;
}
//= rootn float each : power
inline float clmsl_rootn(float x, int n) {
  const float a = metal::fabs(x);
  const bool odd = (n & 1) != 0;
  if (n == 0 || metal::isnan(x) || (x < 0.0f && !odd)) {
    return as_type<float>(0x7fc00000u);
  }
  float root = 0.0f;
  if (a == 0.0f || metal::isinf(a)) {
    root = (a == 0.0f) == (n < 0) ? as_type<float>(0x7f800000u) : 0.0f;
  } else {
    // 1 / n in two floats, where two floats hold n.
    const float high = float(n);
    const float low = float(long(n) - long(high));
    const float y = 1.0f / high;
    root = clmsl_power(a, y, metal::fma(-y, low, metal::fma(-y, high, 1.0f)) * y);
  }
  return odd ? metal::copysign(root, x) : root;
}
//= cbrt float each
inline float clmsl_cbrt(float x) {
  float a = metal::fabs(x);
  const uint bits = as_type<uint>(a);
  if (bits == 0u || bits >= 0x7f800000u) {
    return x;
  }
  // A subnormal number is 2^-150 times an even integer; a large one is brought away from overflow.
  const bool subnormal = bits < 0x00800000u, large = a > 0x1p90f;
  a = subnormal ? 2.0f * float(bits) : large ? a * 0x1p-60f : a;
  // A third of the exponent gives about five bits (a classic of C libraries), Halley's steps three times as many each.
  float t = as_type<float>(as_type<uint>(a) / 3u + 709958130u);
  for (int step = 0; step < 2; step++) {
    const float cube = t * t * t;
    t = t * (metal::fma(2.0f, a, cube) / metal::fma(2.0f, cube, a));
  }
  // Newton's step with the exact t^3 - a.
  const float square = t * t;
  const float excess = metal::fma(metal::fma(t, t, -square), t, metal::fma(square, t, -a));
  t = t - excess / (3.0f * square);
  return metal::copysign(subnormal ? t * 0x1p-50f : large ? t * 0x1p20f : t, x);
}
//= hypot float each
inline float clmsl_hypot(float x, float y) {
  const float a = metal::fabs(x), b = metal::fabs(y);
  if (metal::isinf(a) || metal::isinf(b)) {
    return as_type<float>(0x7f800000u);
  }
  if (metal::isnan(a) || metal::isnan(b)) {
    return a + b;
  }
  // Scaled so that squares neither overflow nor lose bits.
  const float larger = metal::max(a, b);
  const float scale = larger > 0x1p60f ? 0x1p-80f : larger < 0x1p-40f ? 0x1p80f : 1.0f;
  const float p = larger * scale, q = metal::min(a, b) * scale;
  return metal::precise::sqrt(metal::fma(p, p, q * q)) / scale;
}
