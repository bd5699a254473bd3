//= exp_parts float
// e^(x + low) as (y, n): y * 2^n. x is between -1000 and 1000, low is within half a unit of its last place.
// ln 2 is taken away in two parts; the polynomial is minimax for (e^r - 1 - r) / r^2 on |r| <= ln(2) / 2.
inline metal::float2 clmsl_exp_parts(float x, float low) {
  const float n = metal::rint(x * 0x1.715476p+0f);
  float r = metal::fma(n, -0x1.62e43p-1f, x);
  r = metal::fma(n, 0x1.05c61p-29f, r) + low;
  float q = 0x1.a23ec2p-13f;
  q = metal::fma(q, r, 0x1.6d4d08p-10f);
  q = metal::fma(q, r, 0x1.111006p-7f);
  q = metal::fma(q, r, 0x1.5554e8p-5f);
  q = metal::fma(q, r, 0x1.555556p-3f);
  q = metal::fma(q, r, 0.5f);
  return metal::float2(1.0f + metal::fma(q, r * r, r), n);
}
//= exp float each : exp_parts
inline float clmsl_exp(float x) {
  // Beyond these bounds every float has overflowed or underflowed.
  const metal::float2 parts = clmsl_exp_parts(metal::clamp(x, -110.0f, 90.0f), 0.0f);
  return metal::isnan(x) ? x : metal::ldexp(parts.x, int(parts.y));
}
//= exp2 float each
// The polynomial is minimax for (2^r - 1) / r on |r| <= 1/2.
inline float clmsl_exp2(float x) {
  if (metal::isnan(x)) {
    return x;
  }
  const float bounded = metal::clamp(x, -160.0f, 130.0f);
  const float n = metal::rint(bounded);
  const float r = bounded - n;
  float p = 0x1.ec7fdep-17f;
  p = metal::fma(p, r, 0x1.440efp-13f);
  p = metal::fma(p, r, 0x1.5d9cbep-10f);
  p = metal::fma(p, r, 0x1.3b2a5cp-7f);
  p = metal::fma(p, r, 0x1.c6b074p-5f);
  p = metal::fma(p, r, 0x1.ebfbep-3f);
  p = metal::fma(p, r, 0x1.62e43p-1f);
  return metal::ldexp(metal::fma(p, r, 1.0f), int(n));
}
//= exp10 float each
// log10(2) is taken away in two parts; the polynomial is minimax for (10^r - 1) / r on |r| <= log10(2) / 2.
inline float clmsl_exp10(float x) {
  if (metal::isnan(x)) {
    return x;
  }
  const float bounded = metal::clamp(x, -48.0f, 40.0f);
  const float n = metal::rint(bounded * 0x1.a934fp+1f);
  float r = metal::fma(n, -0x1.344136p-2f, bounded);
  r = metal::fma(n, 0x1.ec10cp-27f, r);
  float p = 0x1.7cb9f6p-5f;
  p = metal::fma(p, r, 0x1.a87bf2p-3f);
  p = metal::fma(p, r, 0x1.14a12ap-1f);
  p = metal::fma(p, r, 0x1.2bd7b4p+0f);
  p = metal::fma(p, r, 0x1.046ffep+1f);
  p = metal::fma(p, r, 0x1.53524cp+1f);
  p = metal::fma(p, r, 0x1.26bb1cp+1f);
  return metal::ldexp(metal::fma(p, r, 1.0f), int(n));
}
//= expm1 float each
// As exp_parts; the polynomial is minimax relative to e^r - 1.
inline float clmsl_expm1(float x) {
  if (metal::isnan(x) || metal::fabs(x) < 0x1p-25f) {
    return x;
  }
  const float bounded = metal::clamp(x, -20.0f, 89.0f);
  const float n = metal::rint(bounded * 0x1.715476p+0f);
  float r = metal::fma(n, -0x1.62e43p-1f, bounded);
  r = metal::fma(n, 0x1.05c61p-29f, r);
  float q = 0x1.9e7cf2p-13f;
  q = metal::fma(q, r, 0x1.6d3a84p-10f);
  q = metal::fma(q, r, 0x1.1112d4p-7f);
  q = metal::fma(q, r, 0x1.5554f8p-5f);
  q = metal::fma(q, r, 0x1.555554p-3f);
  q = metal::fma(q, r, 0.5f);
  const float p = metal::fma(q, r * r, r);
  if (n == 0.0f) {
    return p;
  }
  // 2^n (p + 1) - 1, by halves, which do not overflow before the result does.
  const float half_scale = metal::ldexp(1.0f, int(n) - 1);
  return 2.0f * metal::fma(p, half_scale, half_scale - 0.5f);
}
