//= remainder float each
inline float clmsl_remainder(float x, float y) {
  float a = metal::fabs(x);
  const float b = metal::fabs(y);
  if (metal::isnan(x) || metal::isnan(y) || metal::isinf(x) || b == 0.0f) {
    return as_type<float>(0x7fc00000u);
  }
  if (metal::isinf(y)) {
    return x;
  }
  if (b <= 1.7014117e38f) {
    a = metal::precise::fmod(a, b + b);
  }
  if (b < 2.3509887e-38f) {
    if (a + a > b) {
      a = a - b;
      if (a + a >= b) {
        a = a - b;
      }
    }
  } else if (a > 0.5f * b) {
    a = a - b;
    if (a >= 0.5f * b) {
      a = a - b;
    }
  }
  return x < 0.0f || (x == 0.0f && metal::signbit(x)) ? -a : a;
}
//= nextafter float each
inline float clmsl_nextafter(float x, float y) {
  if (metal::isnan(x) || metal::isnan(y)) {
    return x + y;
  }
  if (x == y) {
    return y;
  }
  if (x == 0.0f) {
    return as_type<float>(y < 0.0f ? 0x80000001u : 1u);
  }
  const uint bits = as_type<uint>(x);
  return as_type<float>((x < y) == (x > 0.0f) ? bits + 1u : bits - 1u);
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
