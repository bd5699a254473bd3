//= fract float,half/1
// The second result goes through a pointer to any address space. The part is below 1 even if x is just below a whole number.
template <typename P> inline $T clmsl_fract($T x, P whole) {
  const $T below = metal::floor(x);
  *whole = below;
  const $T largest = $T(1) - metal::numeric_limits<$T>::epsilon() / $T(2);
  const $T part = x == $T(0) || metal::isinf(x) ? metal::copysign($T(0), x) : metal::min($T(x - below), largest);
  return metal::isnan(x) ? x : part;
}
//= fract float,half/2,3,4 : fract
template <int N, typename P> inline metal::vec<$T, N> clmsl_fract(metal::vec<$T, N> x, P whole) {
  metal::vec<$T, N> part = x;
  metal::vec<$T, N> below = x;
  for (int i = 0; i < N; i++) {
    $T one = x[i];
    part[i] = clmsl_fract(x[i], &one);
    below[i] = one;
  }
  *whole = below;
  return part;
}
//= modf float,half
// The second result goes through a pointer to any address space.
template <typename T, typename P> inline T clmsl_modf(T x, P whole) {
  const T towards_zero = metal::trunc(x);
  *whole = towards_zero;
  return metal::copysign(metal::select(x - towards_zero, T(0.0f), metal::isinf(x)), x);
}
//= frexp float,half/1
// The second result goes through a pointer to any address space.
template <typename P> inline $T clmsl_frexp($T x, P exponent) {
  int e = 0;
  const $T mantissa = metal::frexp(x, e);
  *exponent = e;
  return mantissa;
}
//= frexp float,half/2,3,4
// The second result goes through a pointer to any address space.
template <int N, typename P> inline metal::vec<$T, N> clmsl_frexp(metal::vec<$T, N> x, P exponent) {
  metal::vec<int, N> e = metal::vec<int, N>(0);
  const metal::vec<$T, N> mantissa = metal::frexp(x, e);
  *exponent = e;
  return mantissa;
}
//= sincos float
// The second result goes through a pointer to any address space.
template <typename T, typename P> inline T clmsl_sincos(T x, P cosine) {
  *cosine = metal::precise::cos(x);
  return metal::precise::sin(x);
}
//= sincos half/1
template <typename P> inline half clmsl_sincos(half x, P cosine) {
  *cosine = half(metal::precise::cos(float(x)));
  return half(metal::precise::sin(float(x)));
}
//= sincos half/2,3,4
template <int N, typename P> inline metal::vec<half, N> clmsl_sincos(metal::vec<half, N> x, P cosine) {
  *cosine = metal::vec<half, N>(metal::precise::cos(metal::vec<float, N>(x)));
  return metal::vec<half, N>(metal::precise::sin(metal::vec<float, N>(x)));
}
