// Functions of numbers, of additions, multiplications and divisions alone: the same on every device, and vector code wherever these are. The bounds of their errors are in docs/TENSOR.md.

#include <metal_stdlib>
using namespace metal;

// e to the x: 2 to the n times the Taylor polynomial of degree 7 at r, where x = n ln 2 + r, |r| <= 0.3466, so that what follows is below 7.1e-9 of it.
// ln 2 is two numbers, the first with few enough bits that its products with n are exact (Cody and Waite).
static float exponential(float x) {
  const float n = rint(clamp(x, -104.0f, 89.0f) * 1.44269504f);
  const float r = fma(n, -1.42860677e-6f, fma(n, -0.693145752f, clamp(x, -104.0f, 89.0f)));
  float p = 1.98412698e-4f;
  p = fma(p, r, 1.38888889e-3f);
  p = fma(p, r, 8.33333333e-3f);
  p = fma(p, r, 4.16666667e-2f);
  p = fma(p, r, 1.66666667e-1f);
  p = fma(p, r, 0.5f);
  p = fma(p, r, 1.0f);
  p = fma(p, r, 1.0f);
  // In two steps, since n goes beyond what one number's exponent holds.
  const int whole = int(n), half_way = whole >> 1;
  const float value = p * as_type<float>((half_way + 127) << 23) * as_type<float>((whole - half_way + 127) << 23);
  return isnan(x) ? x : value;
}

static float logistic(float x) {
  const float e = exponential(-abs(x));
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

// Near 0 the continued fraction of Lambert, seven terms of it; elsewhere by the exponential function.
static float hyperbolic_tangent(float x) {
  const float s = x * x, e = exponential(-2.0f * abs(x));
  const float near = x * fma(fma(s + 378.0f, s, 17325.0f), s, 135135.0f) / fma(fma(fma(28.0f, s, 3150.0f), s, 62370.0f), s, 135135.0f);
  const float far = copysign((1.0f - e) / (1.0f + e), x);
  return s < 0.36f ? near : far;
}

// The share of the normal distribution below x: Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26, of x / sqrt(2).
static float normal_share(float x) {
  const float z = abs(x) * 0.707106781f, t = 1.0f / fma(0.3275911f, z, 1.0f);
  float p = 1.061405429f;
  p = fma(p, t, -1.453152027f);
  p = fma(p, t, 1.421413741f);
  p = fma(p, t, -0.284496736f);
  p = fma(p, t, 0.254829592f);
  const float beyond = 0.5f * p * t * exponential(-z * z);
  return x < 0.0f ? beyond : 1.0f - beyond;
}
