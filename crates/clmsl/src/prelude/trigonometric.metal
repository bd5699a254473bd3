//= quarter_turns float
// A finite x as (r, low, q): q quarter turns and the angle r + low of at most an eighth of a turn; q counts modulo 4.
inline metal::float3 clmsl_quarter_turns(float x) {
  if (metal::fabs(x) < 32768.0f) {
    // Cody and Waite: pi / 2 in three parts. The first product and difference are exact.
    const float n = metal::rint(x * 0x1.45f306p-1f);
    const float high = metal::fma(n, -0x1.921fb6p+0f, x);
    const float part = n * 0x1.777a5cp-25f;
    const float r = high + part;
    const float back = r - high;
    const float lost = (high - (r - back)) + (part - back);
    const float low = metal::fma(n, 0x1.ee59dap-50f, metal::fma(n, 0x1.777a5cp-25f, -part)) + lost;
    return metal::float3(r, low, float(int(n) & 3));
  }
  // Payne and Hanek: of 2 / pi, behind 32 zeros, the 96 bits that decide about the quarter turn and what is left of it.
  const uint two_over_pi[9] = {0u,          0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u,
                               0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u};
  const uint bits = as_type<uint>(x);
  const uint first = (bits >> 23 & 0xffu) - 127u - 25u + 32u;
  const uint word = first >> 5, shift = first & 31u;
  const ulong mantissa = ulong((bits & 0x007fffffu) | 0x00800000u);
  uint window[3];
  for (uint i = 0u; i < 3u; i++) {
    const ulong pair = (ulong(two_over_pi[word + i]) << 32) | ulong(two_over_pi[word + i + 1u]);
    window[i] = uint((pair << shift) >> 32);
  }
  const ulong third = mantissa * ulong(window[2]);
  const ulong second = mantissa * ulong(window[1]) + (third >> 32);
  const ulong product = ((mantissa * ulong(window[0])) << 32) + second;
  // Two bits of quarter turns, then a fraction of one.
  uint quarters = uint(product >> 62);
  const ulong fraction = (product << 2) | ((third >> 30) & 3ul);
  quarters += uint(fraction >> 63);
  const long rest = long(fraction);
  // Times pi / 2 in two floats; the fraction has the unit 2^-64.
  const float high = float(rest);
  const float r = high * 0x1.921fb6p-64f;
  float low = metal::fma(high, 0x1.921fb6p-64f, -r);
  low = metal::fma(high, -0x1.777a5cp-89f, low);
  low = metal::fma(float(rest - long(high)), 0x1.921fb6p-64f, low);
  if ((bits >> 31) != 0u) {
    return metal::float3(-r, -low, float((4u - quarters) & 3u));
  }
  return metal::float3(r, low, float(quarters & 3u));
}
//= tan float each : quarter_turns
inline float clmsl_tan(float x) {
  if (metal::isnan(x) || metal::isinf(x)) {
    return as_type<float>(0x7fc00000u);
  }
  if (metal::fabs(x) < 0x1p-13f) {
    return x;
  }
  const metal::float3 turned = clmsl_quarter_turns(x);
  const float r = turned.x, low = turned.y;
  // Minimax polynomials for sine and cosine on |r| <= pi / 4.
  const float z = r * r;
  float s = 0x1.7cd428p-19f;
  s = metal::fma(s, z, -0x1.a05bb2p-13f);
  s = metal::fma(s, z, 0x1.111176p-7f);
  s = metal::fma(s, z, -0x1.555556p-3f);
  const float sine = r + metal::fma(z * r, s, low);
  float c = -0x1.37205ep-22f;
  c = metal::fma(c, z, 0x1.a075ep-16f);
  c = metal::fma(c, z, -0x1.6c1762p-10f);
  c = metal::fma(c, z, 0x1.555556p-5f);
  const float cosine = 1.0f + metal::fma(-r, low, metal::fma(z * z, c, -0.5f * z));
  return turned.z == 1.0f || turned.z == 3.0f ? -cosine / sine : sine / cosine;
}
//= half_turns float
// For the magnitude of x: (sin(pi r), cos(pi r), q), where x is r plus q half-units modulo 2; exact up to the polynomials,
// which are minimax on |r| <= 1/4. q is a whole number from -2 to 2.
inline metal::float3 clmsl_half_turns(float x) {
  const float a = metal::fabs(x);
  const float t = a - 2.0f * metal::rint(0.5f * a);
  const float q = metal::rint(2.0f * t);
  const float r = t - 0.5f * q;
  const float z = r * r;
  float s = 0x1.444538p-4f;
  s = metal::fma(s, z, -0x1.32adbep-1f);
  s = metal::fma(s, z, 0x1.466b78p+1f);
  s = metal::fma(s, z, -0x1.4abbcep+2f);
  s = metal::fma(s, z, -0x1.777a5cp-24f);
  float c = 0x1.d46d7cp-3f;
  c = metal::fma(c, z, -0x1.55b132p+0f);
  c = metal::fma(c, z, 0x1.03c1aep+2f);
  c = metal::fma(c, z, -0x1.3bd3ccp+2f);
  return metal::float3(metal::fma(r, 0x1.921fb6p+1f, r * s), metal::fma(c, z, 1.0f), q);
}
//= sinpi float each : half_turns
inline float clmsl_sinpi(float x) {
  if (metal::isnan(x) || metal::isinf(x)) {
    return as_type<float>(0x7fc00000u);
  }
  const metal::float3 turned = clmsl_half_turns(x);
  const int q = int(turned.z) & 3;
  float value = (q & 1) != 0 ? turned.y : turned.x;
  value = (q & 2) != 0 ? -value : value;
  return value == 0.0f ? metal::copysign(0.0f, x) : x < 0.0f ? -value : value;
}
//= cospi float each : half_turns
inline float clmsl_cospi(float x) {
  if (metal::isnan(x) || metal::isinf(x)) {
    return as_type<float>(0x7fc00000u);
  }
  const metal::float3 turned = clmsl_half_turns(x);
  const int q = int(turned.z) & 3;
  const float value = (q & 1) != 0 ? turned.x : turned.y;
  return value == 0.0f ? 0.0f : q == 1 || q == 2 ? -value : value;
}
//= tanpi float each : half_turns
inline float clmsl_tanpi(float x) {
  if (metal::isnan(x) || metal::isinf(x)) {
    return as_type<float>(0x7fc00000u);
  }
  const metal::float3 turned = clmsl_half_turns(x);
  const int q = int(turned.z);
  float value = 0.0f;
  if ((q & 1) == 0) {
    value = turned.x == 0.0f ? (q == 0 ? 0.0f : -0.0f) : turned.x / turned.y;
  } else if (turned.x == 0.0f) {
    value = as_type<float>(q == 1 ? 0x7f800000u : 0xff800000u);
  } else {
    value = -turned.y / turned.x;
  }
  return metal::signbit(x) ? -value : value;
}
