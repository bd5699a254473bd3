//= cbrt float each
inline float clmsl_cbrt(float x) {
  const float a = metal::fabs(x);
  if (!(a > 0.0f) || metal::isinf(a)) {
    return x;
  }
  float t = metal::precise::pow(a, 0.33333333333f);
  t = t - (t - a / (t * t)) / 3.0f;
  return metal::copysign(t, x);
}
//= hypot float each
inline float clmsl_hypot(float x, float y) {
  const float a = metal::fabs(x), b = metal::fabs(y);
  if (metal::isinf(a) || metal::isinf(b)) {
    return metal::fabs(metal::isinf(a) ? a : b);
  }
  if (metal::isnan(a) || metal::isnan(b)) {
    return a + b;
  }
  const float larger = metal::max(a, b), smaller = metal::min(a, b);
  if (larger == 0.0f) {
    return larger;
  }
  const float ratio = smaller / larger;
  return larger * metal::precise::sqrt(metal::fma(ratio, ratio, 1.0f));
}
//= pown float each
inline float clmsl_pown(float x, int n) {
  if (n == 0) {
    return 1.0f;
  }
  // In two parts, because a float does not hold every int.
  const float a = metal::fabs(x);
  const int rest = n % 4096;
  float power = metal::precise::pow(a, float(n - rest));
  if (rest != 0) {
    power = n == rest ? metal::precise::pow(a, float(n)) : power * metal::precise::pow(a, float(rest));
  }
  return (n & 1) != 0 ? metal::copysign(power, x) : power;
}
//= rootn float each
inline float clmsl_rootn(float x, int n) {
  const float a = metal::fabs(x);
  const bool odd = (n & 1) != 0;
  if (n == 0 || metal::isnan(x) || (x < 0.0f && !odd)) {
    return as_type<float>(0x7fc00000u);
  }
  float t = metal::precise::pow(a, 1.0f / float(n));
  if (a > 0.0f && !metal::isinf(a)) {
    const float excess = metal::precise::pow(t, float(n)) / a - 1.0f;
    if (metal::fabs(excess) < 0.01f) {
      t = t - t * excess / float(n);
    }
  }
  return odd ? metal::copysign(t, x) : t;
}
//= expm1 float each
inline float clmsl_expm1(float x) {
  if (metal::fabs(x) >= 0.5f || metal::isnan(x)) {
    return metal::precise::exp(x) - 1.0f;
  }
  float sum = 1.0f / 362880.0f;
  sum = metal::fma(sum, x, 1.0f / 40320.0f);
  sum = metal::fma(sum, x, 1.0f / 5040.0f);
  sum = metal::fma(sum, x, 1.0f / 720.0f);
  sum = metal::fma(sum, x, 1.0f / 120.0f);
  sum = metal::fma(sum, x, 1.0f / 24.0f);
  sum = metal::fma(sum, x, 1.0f / 6.0f);
  sum = metal::fma(sum, x, 0.5f);
  return x == 0.0f ? x : metal::fma(sum, x * x, x);
}
//= log1p float each
inline float clmsl_log1p(float x) {
  const float u = 1.0f + x;
  if (u == 1.0f || metal::isinf(x)) {
    return x;
  }
  return u > 0.0f ? metal::precise::log(u) - ((u - 1.0f) - x) / u : metal::precise::log(u);
}
