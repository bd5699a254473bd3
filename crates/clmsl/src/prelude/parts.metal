//= fract any
// The second result goes through a pointer to any address space.
template <typename T, typename P> inline T clmsl_fract(T x, P whole) {
  const T below = metal::floor(x);
  *whole = below;
  const T part = metal::select(metal::min(x - below, T(0x1.fffffep-1f)), metal::copysign(T(0.0f), x), metal::isinf(x));
  return metal::select(part, x, metal::isnan(x));
}
//= modf any
// The second result goes through a pointer to any address space.
template <typename T, typename P> inline T clmsl_modf(T x, P whole) {
  const T towards_zero = metal::trunc(x);
  *whole = towards_zero;
  return metal::copysign(metal::select(x - towards_zero, T(0.0f), metal::isinf(x)), x);
}
//= frexp any/1
// The second result goes through a pointer to any address space.
template <typename P> inline float clmsl_frexp(float x, P exponent) {
  int e = 0;
  const float mantissa = metal::frexp(x, e);
  *exponent = e;
  return mantissa;
}
//= frexp any/2,3,4
// The second result goes through a pointer to any address space.
template <int N, typename P> inline metal::vec<float, N> clmsl_frexp(metal::vec<float, N> x, P exponent) {
  metal::vec<int, N> e = metal::vec<int, N>(0);
  const metal::vec<float, N> mantissa = metal::frexp(x, e);
  *exponent = e;
  return mantissa;
}
//= sincos any
// The second result goes through a pointer to any address space.
template <typename T, typename P> inline T clmsl_sincos(T x, P cosine) {
  *cosine = metal::precise::cos(x);
  return metal::precise::sin(x);
}
