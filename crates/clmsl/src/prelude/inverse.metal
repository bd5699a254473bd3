//= atan_unit float
// The arc tangent on [0, 1]; minimax.
inline float clmsl_atan_unit(float t) {
  const float z = t * t;
  float p = 0x1.2d402ep-10f;
  p = metal::fma(p, z, -0x1.eb4b18p-8f);
  p = metal::fma(p, z, 0x1.7793b4p-6f);
  p = metal::fma(p, z, -0x1.71d7a8p-5f);
  p = metal::fma(p, z, 0x1.157c5ap-4f);
  p = metal::fma(p, z, -0x1.6981b8p-4f);
  p = metal::fma(p, z, 0x1.c51c3p-4f);
  p = metal::fma(p, z, -0x1.2476c8p-3f);
  p = metal::fma(p, z, 0x1.999824p-3f);
  p = metal::fma(p, z, -0x1.555552p-2f);
  return metal::fma(t * z, p, t);
}
//= atan_ratio float : atan_unit
// The arc tangent of the smaller of two magnitudes by the larger.
inline float clmsl_atan_ratio(float a, float b) {
  const float larger = metal::max(a, b), smaller = metal::min(a, b);
  return larger == 0.0f ? 0.0f : clmsl_atan_unit(metal::isinf(smaller) ? 1.0f : smaller / larger);
}
//= atan2 float each : atan_ratio
inline float clmsl_atan2(float y, float x) {
  if (metal::isnan(x) || metal::isnan(y)) {
    return x + y;
  }
  const float a = metal::fabs(y), b = metal::fabs(x);
  float angle = clmsl_atan_ratio(a, b);
  // pi / 2 and pi in two parts.
  angle = a > b ? 0x1.921fb6p+0f - (angle + 0x1.777a5cp-25f) : angle;
  angle = metal::signbit(x) ? 0x1.921fb6p+1f - (angle + 0x1.777a5cp-24f) : angle;
  return metal::copysign(angle, y);
}
//= atan2pi float each : atan_ratio
inline float clmsl_atan2pi(float y, float x) {
  if (metal::isnan(x) || metal::isnan(y)) {
    return x + y;
  }
  const float a = metal::fabs(y), b = metal::fabs(x);
  const float angle = clmsl_atan_ratio(a, b);
  float turn = a > b ? metal::fma(angle, -0x1.45f306p-2f, 0.5f) : metal::fma(angle, 0x1.45f306p-2f, angle * 0x1.b9391p-27f);
  turn = metal::signbit(x) ? 1.0f - turn : turn;
  return metal::copysign(turn, y);
}
//= atanpi float each : atan_unit
inline float clmsl_atanpi(float x) {
  if (metal::isnan(x)) {
    return x;
  }
  const float a = metal::fabs(x);
  const float angle = clmsl_atan_unit(a > 1.0f ? 1.0f / a : a);
  const float turn = a > 1.0f ? metal::fma(angle, -0x1.45f306p-2f, 0.5f) : metal::fma(angle, 0x1.45f306p-2f, angle * 0x1.b9391p-27f);
  return metal::copysign(turn, x);
}
//= asin_half float
// The arc sine on |x| <= 1/2; minimax.
inline float clmsl_asin_half(float x) {
  const float z = x * x;
  float p = 0x1.343084p-5f;
  p = metal::fma(p, z, 0x1.d692fap-7f);
  p = metal::fma(p, z, 0x1.04bf1ep-5f);
  p = metal::fma(p, z, 0x1.6ca908p-5f);
  p = metal::fma(p, z, 0x1.3338a6p-4f);
  p = metal::fma(p, z, 0x1.55554cp-3f);
  return metal::fma(x * z, p, x);
}
//= asinpi float each : asin_half
// Beyond 1/2 by asin(x) = pi / 2 - 2 asin(sqrt((1 - x) / 2)), which is NaN beyond 1.
inline float clmsl_asinpi(float x) {
  const float a = metal::fabs(x);
  if (a <= 0.5f) {
    const float angle = clmsl_asin_half(x);
    return metal::fma(angle, 0x1.45f306p-2f, angle * 0x1.b9391p-27f);
  }
  const float angle = clmsl_asin_half(metal::precise::sqrt(0.5f - 0.5f * a));
  return metal::copysign(metal::fma(angle, -0x1.45f306p-1f, 0.5f), x);
}
//= acospi float each : asin_half
inline float clmsl_acospi(float x) {
  const float a = metal::fabs(x);
  if (a <= 0.5f) {
    return metal::fma(clmsl_asin_half(x), -0x1.45f306p-2f, 0.5f);
  }
  const float angle = clmsl_asin_half(metal::precise::sqrt(0.5f - 0.5f * a));
  const float turn = metal::fma(angle, 0x1.45f306p-1f, angle * 0x1.b9391p-26f);
  return x < 0.0f ? 1.0f - turn : turn;
}
