//= tgamma float each : log2_pair exp2_pair sinpi
// From 1 on sqrt(2 pi) x^(x - 1/2) e^-x G(1 / x) with G minimax, the powers as one power of 2 in two floats. Below 1 by
// Gamma(x) = Gamma(x + 1) / x, for negative x by Gamma(x) = -pi / (|x| sin(pi |x|) Gamma(|x|)).
inline float clmsl_tgamma(float x) {
  const float a = metal::fabs(x);
  if (metal::isnan(x) || (x < 0.0f && metal::floor(x) == x)) {
    return as_type<float>(0x7fc00000u);
  }
  if (a < 0x1p-25f) {
    return 1.0f / x;
  }
  if (x > 36.0f) {
    return as_type<float>(0x7f800000u);
  }
  if (x < -43.0f) {
    return metal::copysign(0.0f, clmsl_sinpi(x));
  }
  const float g = a < 1.0f ? 1.0f + a : a;
  const float u = 1.0f / g;
  float series = -0x1.d36f34p-16f;
  series = metal::fma(series, u, 0x1.e13e6ap-13f);
  series = metal::fma(series, u, -0x1.8b731ap-11f);
  series = metal::fma(series, u, 0x1.398bacp-10f);
  series = metal::fma(series, u, -0x1.6c6fbep-12f);
  series = metal::fma(series, u, -0x1.5cf8fcp-9f);
  series = metal::fma(series, u, 0x1.c6eaeep-9f);
  series = metal::fma(series, u, 0x1.55556p-4f);
  series = metal::fma(series, u, 1.0f);
  series = series * 0x1.40d932p+1f;
  // (g - 1/2) log2(g) - g log2(e)
  const metal::float2 log = clmsl_log2_pair(g);
  const float h = g - 0.5f;
  const float p = h * log.x, q = g * 0x1.715476p+0f;
  float low = metal::fma(h, log.y, metal::fma(h, log.x, -p));
  low = low - metal::fma(g, 0x1.4ae0cp-26f, metal::fma(g, 0x1.715476p+0f, -q));
  const float z = p - q;
  const float back = z - p;
  low = low + ((p - (z - back)) - (q + back));
  if (x > 0.0f) {
    const metal::float2 power = clmsl_exp2_pair(z, low);
    const float value = power.x * series;
    return metal::ldexp(a < 1.0f ? value / a : value, int(power.y));
  }
  const metal::float2 power = clmsl_exp2_pair(-z, -low);
  const float sine = clmsl_sinpi(a);
  const float value = power.x * (0x1.921fb6p+1f / ((a < 1.0f ? sine : a * sine) * series));
  return metal::ldexp(-value, int(power.y));
}
//= lgamma_positive float : log
// Minimax polynomials around 1 and 2, where it is zero; Stirling's series from 3 on; log Gamma(x) = log Gamma(x + 1) - log x
// near zero.
inline float clmsl_lgamma_positive(float x) {
  if (x >= 3.0f) {
    const float u = 1.0f / x;
    const float z = u * u;
    float r = -0x1.08fbf2p-11f;
    r = metal::fma(r, z, 0x1.a024ecp-11f);
    r = metal::fma(r, z, -0x1.6c1e26p-9f);
    r = metal::fma(r, z, 0x1.555556p-4f);
    return metal::fma(x - 0.5f, clmsl_log(x) - 1.0f, metal::fma(r, u, 0x1.acfe3ap-2f));
  }
  const float below = x < 0.7f ? clmsl_log(x) : 0.0f;
  if (x < 0.5f || (x >= 0.7f && x < 1.5f)) {
    const float y = x < 0.5f ? x : x - 1.0f;
    float p = -0x1.f165b4p-5f;
    p = metal::fma(p, y, 0x1.e851e8p-4f);
    p = metal::fma(p, y, -0x1.faaa4p-4f);
    p = metal::fma(p, y, 0x1.fc80a2p-4f);
    p = metal::fma(p, y, -0x1.23f576p-3f);
    p = metal::fma(p, y, 0x1.5b577ep-3f);
    p = metal::fma(p, y, -0x1.a8e45p-3f);
    p = metal::fma(p, y, 0x1.1512f4p-2f);
    p = metal::fma(p, y, -0x1.9a4cdep-2f);
    p = metal::fma(p, y, 0x1.a51a66p-1f);
    p = metal::fma(p, y, -0x1.2788dp-1f);
    return metal::fma(p, y, 0.0f - below);
  }
  const float y = x < 0.7f ? x - 1.0f : x - 2.0f;
  float p = 0x1.ccb0bcp-15f;
  p = metal::fma(p, y, -0x1.da887ap-13f);
  p = metal::fma(p, y, 0x1.173e66p-11f);
  p = metal::fma(p, y, -0x1.393346p-10f);
  p = metal::fma(p, y, 0x1.7a5e6ep-9f);
  p = metal::fma(p, y, -0x1.e413b2p-8f);
  p = metal::fma(p, y, 0x1.51336p-6f);
  p = metal::fma(p, y, -0x1.13dfc2p-4f);
  p = metal::fma(p, y, 0x1.4a34ccp-2f);
  p = metal::fma(p, y, 0x1.b0ee6p-2f);
  return metal::fma(p, y, 0.0f - below);
}
//= lgamma float each : lgamma_positive log sinpi
// For negative x by the reflection of Gamma; near zero by the polynomial around 1.
inline float clmsl_lgamma(float x) {
  const float a = metal::fabs(x);
  if (metal::isnan(x) || metal::isinf(x)) {
    return metal::isnan(x) ? x : a;
  }
  if (x == 0.0f || (x < 0.0f && metal::floor(x) == x)) {
    return as_type<float>(0x7f800000u);
  }
  if (x > 0.0f) {
    return clmsl_lgamma_positive(x);
  }
  if (a < 0x1p-20f) {
    return metal::fma(a, 0x1.2788dp-1f, -clmsl_log(a));
  }
  return clmsl_log(0x1.921fb6p+1f / metal::fabs(a * clmsl_sinpi(a))) - clmsl_lgamma_positive(a);
}
//= lgamma_r float/1 : lgamma
// The sign of Gamma goes through a pointer to any address space.
template <typename P> inline float clmsl_lgamma_r(float x, P sign) {
  const float below = metal::floor(x);
  const bool pole = x == 0.0f || (x < 0.0f && below == x);
  const bool negative = x < 0.0f && below != 2.0f * metal::floor(0.5f * below);
  *sign = pole ? 0 : negative ? -1 : 1;
  return clmsl_lgamma(x);
}
//= lgamma_r float/2,3,4 : lgamma_r
template <int N, typename P> inline metal::vec<float, N> clmsl_lgamma_r(metal::vec<float, N> x, P sign) {
  metal::vec<float, N> value = x;
  metal::vec<int, N> signs = metal::vec<int, N>(0);
  for (int i = 0; i < N; i++) {
    int one = 0;
    value[i] = clmsl_lgamma_r(x[i], &one);
    signs[i] = one;
  }
  *sign = signs;
  return value;
}
