//= erfc_tail float : exp_parts
// The complementary error function from 1/2 on: e^(-x^2) P(t) / (1 + 2 x) with t = (x - 4) / (x + 4) and P minimax.
// The square is taken in two floats.
inline float clmsl_erfc_tail(float x) {
  if (x > 11.0f) {
    return 0.0f;
  }
  const float square = x * x;
  const metal::float2 power = clmsl_exp_parts(-square, -metal::fma(x, x, -square));
  const float t = (x - 4.0f) / (x + 4.0f);
  float p = 0x1.73842p-8f;
  p = metal::fma(p, t, -0x1.085602p-6f);
  p = metal::fma(p, t, 0x1.2da8dep-5f);
  p = metal::fma(p, t, -0x1.108828p-4f);
  p = metal::fma(p, t, 0x1.801e58p-4f);
  p = metal::fma(p, t, -0x1.9da8dcp-4f);
  p = metal::fma(p, t, 0x1.16eb94p-4f);
  p = metal::fma(p, t, 0x1.f7dacp-7f);
  p = metal::fma(p, t, -0x1.1df1aep-3f);
  p = metal::fma(p, t, 0x1.3ba592p+0f);
  return metal::ldexp(power.x * (p / metal::fma(2.0f, x, 1.0f)), int(power.y));
}
//= erf float each : erfc_tail
// Up to 1 a minimax polynomial.
inline float clmsl_erf(float x) {
  const float a = metal::fabs(x);
  if (a <= 1.0f) {
    const float z = x * x;
    float p = -0x1.a669a4p-12f;
    p = metal::fma(p, z, 0x1.8ba1b8p-10f);
    p = metal::fma(p, z, -0x1.6f38cp-9f);
    p = metal::fma(p, z, 0x1.af365p-8f);
    p = metal::fma(p, z, -0x1.c02538p-6f);
    p = metal::fma(p, z, 0x1.ce86ccp-4f);
    p = metal::fma(p, z, -0x1.8128b4p-2f);
    p = metal::fma(p, z, 0x1.20dd76p+0f);
    return x * p;
  }
  return metal::isnan(x) ? x : metal::copysign(1.0f - clmsl_erfc_tail(a), x);
}
//= erfc float each : erfc_tail erf
inline float clmsl_erfc(float x) {
  return metal::isnan(x) ? x : x < 0.5f ? 1.0f - clmsl_erf(x) : clmsl_erfc_tail(x);
}
