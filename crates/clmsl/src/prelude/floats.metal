//= remainder_parts float
// The remainder of magnitudes with the nearest quotient, even if there are two, in integers; low bits of the quotient.
// x is finite, y is finite and not zero.
inline float clmsl_remainder_parts(float x, float y, thread uint &quotient) {
  const uint a = as_type<uint>(x) & 0x7fffffffu, b = as_type<uint>(y) & 0x7fffffffu;
  const int exponent_a = int(metal::max(a >> 23, 1u)), exponent_b = int(metal::max(b >> 23, 1u));
  const uint mantissa_a = a < 0x00800000u ? a : (a & 0x007fffffu) | 0x00800000u;
  const uint mantissa_b = b < 0x00800000u ? b : (b & 0x007fffffu) | 0x00800000u;
  int exponent = exponent_b;
  ulong divisor = ulong(mantissa_b), rest = ulong(mantissa_a);
  quotient = 0u;
  if (exponent_a < exponent_b) {
    if (exponent_b - exponent_a > 1) {
      return metal::fabs(x);
    }
    exponent = exponent_a;
    divisor = divisor << 1;
  }
  int left = metal::max(exponent_a - exponent_b, 0);
  quotient = uint(rest / divisor);
  rest = rest % divisor;
  while (left > 0) {
    const int step = metal::min(left, 30);
    rest = rest << ulong(step);
    quotient = (quotient << uint(step)) + uint(rest / divisor);
    rest = rest % divisor;
    left -= step;
  }
  const bool up = 2ul * rest > divisor || (2ul * rest == divisor && (quotient & 1u) != 0u);
  quotient += up ? 1u : 0u;
  const float value = metal::ldexp(float(uint(up ? divisor - rest : rest)), exponent - 150);
  return up ? -value : value;
}
//= remainder float each : remainder_parts
inline float clmsl_remainder(float x, float y) {
  if (metal::isnan(x) || metal::isnan(y) || metal::isinf(x) || y == 0.0f) {
    return as_type<float>(0x7fc00000u);
  }
  if (metal::isinf(y)) {
    return x;
  }
  uint quotient = 0u;
  const float rest = clmsl_remainder_parts(x, y, quotient);
  return metal::signbit(x) ? -rest : rest;
}
//= remquo float/1 : remainder_parts
// Seven bits of the quotient, with its sign, go through a pointer to any address space.
template <typename P> inline float clmsl_remquo(float x, float y, P bits) {
  if (metal::isnan(x) || metal::isnan(y) || metal::isinf(x) || y == 0.0f) {
    *bits = 0;
    return as_type<float>(0x7fc00000u);
  }
  uint quotient = 0u;
  const float rest = metal::isinf(y) ? metal::fabs(x) : clmsl_remainder_parts(x, y, quotient);
  const int low = int(quotient & 127u);
  *bits = metal::signbit(x) == metal::signbit(y) ? low : -low;
  return metal::signbit(x) ? -rest : rest;
}
//= remquo float/2,3,4 : remquo
template <int N, typename P>
inline metal::vec<float, N> clmsl_remquo(metal::vec<float, N> x, metal::vec<float, N> y, P bits) {
  metal::vec<float, N> rest = x;
  metal::vec<int, N> low = metal::vec<int, N>(0);
  for (int i = 0; i < N; i++) {
    int one = 0;
    rest[i] = clmsl_remquo(x[i], y[i], &one);
    low[i] = one;
  }
  *bits = low;
  return rest;
}
//= nextafter float each
// In integers, which order numbers as they are counted from zero, so that flushed subnormal numbers count too.
inline float clmsl_nextafter(float x, float y) {
  if (metal::isnan(x) || metal::isnan(y)) {
    return x + y;
  }
  const int a = as_type<int>(x), b = as_type<int>(y);
  const int from = a < 0 ? -(a & 0x7fffffff) : a, to = b < 0 ? -(b & 0x7fffffff) : b;
  if (from == to) {
    return y;
  }
  const int next = from < to ? from + 1 : from - 1;
  const uint sign = next < 0 || (next == 0 && a < 0) ? 0x80000000u : 0u;
  return as_type<float>(sign | uint(metal::abs(next)));
}
//= nextafter half each
inline half clmsl_nextafter(half x, half y) {
  if (metal::isnan(x) || metal::isnan(y)) {
    return x + y;
  }
  const int a = int(as_type<short>(x)), b = int(as_type<short>(y));
  const int from = a < 0 ? -(a & 0x7fff) : a, to = b < 0 ? -(b & 0x7fff) : b;
  if (from == to) {
    return y;
  }
  const int next = from < to ? from + 1 : from - 1;
  const int sign = next < 0 || (next == 0 && a < 0) ? 0x8000 : 0;
  return as_type<half>(ushort(sign | metal::abs(next)));
}
//= ilogb float each
inline int clmsl_ilogb(float x) {
  const uint bits = as_type<uint>(x) & 0x7fffffffu;
  if (bits >= 0x7f800000u) {
    return 2147483647;
  }
  if (bits == 0u) {
    return -2147483647 - 1;
  }
  return bits >= 0x00800000u ? int(bits >> 23) - 127 : -118 - int(metal::clz(bits));
}
//= logb float each : ilogb
inline float clmsl_logb(float x) {
  const uint bits = as_type<uint>(x) & 0x7fffffffu;
  if (bits >= 0x7f800000u) {
    return x * x;
  }
  return bits == 0u ? as_type<float>(0xff800000u) : float(clmsl_ilogb(x));
}
//= maxmag float each
inline float clmsl_maxmag(float x, float y) {
  const float a = metal::fabs(x), b = metal::fabs(y);
  return a > b ? x : b > a ? y : metal::fmax(x, y);
}
//= minmag float each
inline float clmsl_minmag(float x, float y) {
  const float a = metal::fabs(x), b = metal::fabs(y);
  return a < b ? x : b < a ? y : metal::fmin(x, y);
}
