//= log_parts float
// A positive finite x as (f, e): (1 + f) * 2^e with 1 + f between sqrt(1/2) and sqrt(2). Integers, so that subnormal numbers count.
inline metal::float2 clmsl_log_parts(float x) {
  uint bits = as_type<uint>(x);
  int shift = 0;
  if (bits < 0x00800000u) {
    shift = int(metal::clz(bits)) - 8;
    bits = bits << uint(shift);
  }
  const int e = int(bits - 0x3f3504f3u) >> 23;
  return metal::float2(as_type<float>(bits - (uint(e) << 23)) - 1.0f, float(e - shift));
}
//= log_tail float
// ln(1 + f) - f for f of log_parts; the polynomial is minimax relative to the logarithm.
inline float clmsl_log_tail(float f) {
  float p = 0x1.14763ap-4f;
  p = metal::fma(p, f, -0x1.de02d6p-4f);
  p = metal::fma(p, f, 0x1.e6bf38p-4f);
  p = metal::fma(p, f, -0x1.fc2884p-4f);
  p = metal::fma(p, f, 0x1.233ba8p-3f);
  p = metal::fma(p, f, -0x1.555c46p-3f);
  p = metal::fma(p, f, 0x1.99a476p-3f);
  p = metal::fma(p, f, -0x1.000006p-2f);
  p = metal::fma(p, f, 0x1.555548p-2f);
  const float square = f * f;
  return metal::fma(square * f, p, -0.5f * square);
}
//= log_special float
// The logarithm of what is not positive and finite.
inline float clmsl_log_special(float x) {
  return x == 0.0f ? as_type<float>(0xff800000u) : x < 0.0f ? as_type<float>(0x7fc00000u) : x;
}
//= log float each : log_parts log_tail log_special
inline float clmsl_log(float x) {
  if (!(x > 0.0f) || metal::isinf(x)) {
    return clmsl_log_special(x);
  }
  const metal::float2 parts = clmsl_log_parts(x);
  const float f = parts.x, e = parts.y;
  return metal::fma(e, 0x1.62e43p-1f, f + metal::fma(e, -0x1.05c61p-29f, clmsl_log_tail(f)));
}
//= log2 float each : log_parts log_tail log_special
inline float clmsl_log2(float x) {
  if (!(x > 0.0f) || metal::isinf(x)) {
    return clmsl_log_special(x);
  }
  const metal::float2 parts = clmsl_log_parts(x);
  const float f = parts.x, tail = clmsl_log_tail(f);
  return parts.y + metal::fma(f, 0x1.715476p+0f, metal::fma(tail, 0x1.715476p+0f, f * 0x1.4ae0cp-26f));
}
//= log10 float each : log_parts log_tail log_special
inline float clmsl_log10(float x) {
  if (!(x > 0.0f) || metal::isinf(x)) {
    return clmsl_log_special(x);
  }
  const metal::float2 parts = clmsl_log_parts(x);
  const float f = parts.x, e = parts.y, tail = clmsl_log_tail(f);
  const float low = metal::fma(f, -0x1.5b235ep-27f, e * -0x1.ec10cp-27f);
  return metal::fma(e, 0x1.344136p-2f, metal::fma(f, 0x1.bcb7b2p-2f, metal::fma(tail, 0x1.bcb7b2p-2f, low)));
}
//= log1p float each : log_parts log_tail log_special
inline float clmsl_log1p(float x) {
  if (!(x > -1.0f) || metal::isinf(x)) {
    return clmsl_log_special(1.0f + x);
  }
  if (metal::fabs(x) < 0x1p-25f) {
    return x;
  }
  float f = 0.0f, e = 0.0f;
  if (x >= 0x1p30f) {
    const metal::float2 parts = clmsl_log_parts(x);
    f = parts.x;
    e = parts.y;
  } else {
    // (1 + x) / 2^e - 1 with one rounding.
    const int n = int(as_type<uint>(1.0f + x) - 0x3f3504f3u) >> 23;
    const float scale = as_type<float>(0x3f800000u - (uint(n) << 23));
    f = metal::fma(x, scale, scale - 1.0f);
    e = float(n);
  }
  return metal::fma(e, 0x1.62e43p-1f, f + metal::fma(e, -0x1.05c61p-29f, clmsl_log_tail(f)));
}
