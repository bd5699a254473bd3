//= sqrt double/1 : double double_nan double_round
inline clmsl_double clmsl_sqrt(clmsl_double x) {
  if ((x.bits << 1) == 0ul || x.bits == 0x7ff0000000000000ul) {
    return x;
  }
  if (x.bits > 0x7ff0000000000000ul) {
    return clmsl_double_nan(x.bits, x.bits);
  }
  int exponent = int(x.bits >> 52);
  const int up = exponent == 0 ? int(metal::clz(x.bits)) - 11 : 0;
  exponent = exponent == 0 ? 1 - up : exponent;
  // With an even exponent the fraction is in [1/4, 1) of 2^64.
  const ulong digits = ((x.bits << up) & 0x000ffffffffffffful) | 0x0010000000000000ul;
  const ulong m = digits << (10 + (1 - (exponent & 1)));
  // 2^31 divided by its root: an estimate in single precision, good to 2^-20, and one step of Newton's method.
  const ulong upper = m >> 32;
  const ulong first = metal::min(ulong(140737488355328.0f * metal::rsqrt(float(upper))), 0xfffffffful);
  const long error = long(0x4000000000000000ul - upper * ((first * first) >> 32)) >> 31;
  const long inverse = long(first) + ((long(first) * error) >> 32);
  // 31 digits of the root, then 24 more from what they leave, then the last correction.
  const ulong high = (upper * ulong(inverse)) >> 32;
  const long left = long((m >> 2) - high * high);
  ulong root = (high << 24) + ulong(((left >> 4) * inverse) >> 35);
  long rest = long((m << 46) - root * root);
  while (rest < 0l) {
    root -= 1ul;
    rest += 2l * long(root) + 1l;
  }
  while (rest > 2l * long(root)) {
    rest -= 2l * long(root) + 1l;
    root += 1ul;
  }
  return clmsl_double_round(0ul, ((exponent + 1023) >> 1) - 1, (root << 8) | ulong(rest != 0l));
}
//= rsqrt double/1 : double double_divide sqrt
inline clmsl_double clmsl_rsqrt(clmsl_double x) { return clmsl_double{0x3ff0000000000000ul} / clmsl_sqrt(x); }
//= fma double/1 : double double_nan double_shift double_round double_add
// The product in 128 bits, and the third operand shifted to it.
inline clmsl_double clmsl_fma(clmsl_double x, clmsl_double y, clmsl_double z) {
  const ulong infinity = 0x7ff0000000000000ul;
  const ulong a = x.bits & 0x7ffffffffffffffful, b = y.bits & 0x7ffffffffffffffful;
  const ulong c = z.bits & 0x7ffffffffffffffful;
  ulong sign = (x.bits ^ y.bits) & 0x8000000000000000ul;
  if (a >= infinity || b >= infinity) {
    if (a > infinity || b > infinity || a == 0ul || b == 0ul) {
      return clmsl_double_nan(x.bits, a > infinity ? x.bits : b > infinity ? y.bits : z.bits);
    }
    return clmsl_double{sign | infinity} + z;
  }
  if (c >= infinity || a == 0ul || b == 0ul) {
    return clmsl_double{sign} + z;
  }
  int ea = int(a >> 52), eb = int(b >> 52), other = int(c >> 52);
  const int za = ea == 0 ? int(metal::clz(a)) - 11 : 0, zb = eb == 0 ? int(metal::clz(b)) - 11 : 0;
  const ulong ma = ((a << za) & 0x000ffffffffffffful) | 0x0010000000000000ul;
  const ulong mb = ((b << zb) & 0x000ffffffffffffful) | 0x0010000000000000ul;
  ea = ea == 0 ? 1 - za : ea;
  eb = eb == 0 ? 1 - zb : eb;
  int exponent = ea + eb - 1023;
  ulong high = metal::mulhi(ma << 10, mb << 11), low = (ma << 10) * (mb << 11);
  if (high >> 62 == 0ul) {
    high = (high << 1) | (low >> 63);
    low <<= 1;
    exponent -= 1;
  }
  if (c == 0ul) {
    return clmsl_double_round(sign, exponent, high | ulong(low != 0ul));
  }
  const int zc = other == 0 ? int(metal::clz(c)) - 11 : 0;
  ulong add = (((c << zc) & 0x000ffffffffffffful) | 0x0010000000000000ul) << 10, rest = 0ul;
  other = (other == 0 ? 1 - zc : other) - 1;
  const int distance = exponent - other, by = distance < 0 ? -distance : distance;
  // The smaller one goes to the right; what falls off stays as the lowest bit.
  ulong h = distance < 0 ? high : add, l = distance < 0 ? low : 0ul;
  if (by >= 64) {
    l = clmsl_double_shift(h, by - 64) | ulong(l != 0ul);
    h = 0ul;
  } else if (by > 0) {
    l = (h << (64 - by)) | clmsl_double_shift(l, by);
    h >>= by;
  }
  if (distance < 0) {
    high = h;
    low = l;
    exponent = other;
  } else {
    add = h;
    rest = l;
  }
  if (sign == (z.bits & 0x8000000000000000ul)) {
    low += rest;
    high += add + ulong(low < rest);
    const int carry = high >> 63 != 0ul ? 1 : 0;
    return clmsl_double_round(sign, exponent + carry, clmsl_double_shift(high, carry) | ulong(low != 0ul));
  }
  if (high < add || (high == add && low < rest)) {
    sign ^= 0x8000000000000000ul;
    h = add - high - ulong(rest < low);
    l = rest - low;
  } else {
    h = high - add - ulong(low < rest);
    l = low - rest;
  }
  if ((h | l) == 0ul) {
    return clmsl_double{0ul};
  }
  if (h == 0ul) {
    h = l;
    l = 0ul;
    exponent -= 64;
  }
  // The lowest bit may have to move down, not only up.
  if (h >> 63 != 0ul) {
    return clmsl_double_round(sign, exponent + 1, clmsl_double_shift(h, 1) | ulong(l != 0ul));
  }
  const int up = int(metal::clz(h)) - 1;
  if (up > 0) {
    h = (h << up) | (l >> (64 - up));
    l <<= up;
  }
  return clmsl_double_round(sign, exponent - up, h | ulong(l != 0ul));
}
//= fmod double/1 : double double_nan
// Exact: eleven digits of the quotient at a time.
inline clmsl_double clmsl_fmod(clmsl_double x, clmsl_double y) {
  const ulong infinity = 0x7ff0000000000000ul, sign = x.bits & 0x8000000000000000ul;
  const ulong a = x.bits & 0x7ffffffffffffffful, b = y.bits & 0x7ffffffffffffffful;
  if (a >= infinity || b > infinity || b == 0ul) {
    return clmsl_double_nan(x.bits, y.bits);
  }
  if (a < b) {
    return x;
  }
  const int ea = metal::max(int(a >> 52), 1), eb = metal::max(int(b >> 52), 1);
  const ulong divisor = (b & 0x000ffffffffffffful) | ulong(b >> 52 != 0ul) << 52;
  ulong rest = ((a & 0x000ffffffffffffful) | ulong(a >> 52 != 0ul) << 52) % divisor;
  for (int left = ea - eb; left > 0; left -= 11) {
    rest = (rest << metal::min(left, 11)) % divisor;
  }
  if (rest == 0ul) {
    return clmsl_double{sign};
  }
  const int up = metal::min(int(metal::clz(rest)) - 11, eb - 1);
  return clmsl_double{sign | ((rest << up) + (ulong(eb - 1 - up) << 52))};
}
//= double_integral any : double
// The integer near x: 0 nearest, ties to even; 1 towards zero; 2 up; 3 down; 4 nearest, ties away from zero.
inline clmsl_double clmsl_double_integral(clmsl_double x, int mode) {
  const ulong sign = x.bits & 0x8000000000000000ul, size = x.bits & 0x7ffffffffffffffful;
  if (size >= 0x4330000000000000ul) {
    return clmsl_double{size > 0x7ff0000000000000ul ? x.bits | 0x0008000000000000ul : x.bits};
  }
  const bool away = mode == (sign != 0ul ? 3 : 2);
  if (size < 0x3ff0000000000000ul) {
    const bool one = away ? size != 0ul : mode == 0 ? size > 0x3fe0000000000000ul : mode == 4 && size >= 0x3fe0000000000000ul;
    return clmsl_double{sign | (one ? 0x3ff0000000000000ul : 0ul)};
  }
  const int shift = 1075 - int(size >> 52);
  const ulong mask = (1ul << shift) - 1ul, middle = 1ul << (shift - 1);
  const ulong add = away ? mask : mode == 0 ? middle - 1ul + ((size >> shift) & 1ul) : mode == 4 ? middle : 0ul;
  return clmsl_double{sign | ((size + add) & ~mask)};
}
//= rint double/1 : double double_integral
inline clmsl_double clmsl_rint(clmsl_double x) { return clmsl_double_integral(x, 0); }
//= trunc double/1 : double double_integral
inline clmsl_double clmsl_trunc(clmsl_double x) { return clmsl_double_integral(x, 1); }
//= ceil double/1 : double double_integral
inline clmsl_double clmsl_ceil(clmsl_double x) { return clmsl_double_integral(x, 2); }
//= floor double/1 : double double_integral
inline clmsl_double clmsl_floor(clmsl_double x) { return clmsl_double_integral(x, 3); }
//= round double/1 : double double_integral
inline clmsl_double clmsl_round(clmsl_double x) { return clmsl_double_integral(x, 4); }
//= fabs double/1 : double
inline clmsl_double clmsl_fabs(clmsl_double x) { return clmsl_double{x.bits & 0x7ffffffffffffffful}; }
//= copysign double/1 : double
inline clmsl_double clmsl_copysign(clmsl_double x, clmsl_double y) {
  return clmsl_double{(x.bits & 0x7ffffffffffffffful) | (y.bits & 0x8000000000000000ul)};
}
//= isnan double/1 : double
inline bool clmsl_isnan(clmsl_double x) { return (x.bits << 1) > 0xffe0000000000000ul; }
//= isinf double/1 : double
inline bool clmsl_isinf(clmsl_double x) { return (x.bits << 1) == 0xffe0000000000000ul; }
//= isfinite double/1 : double
inline bool clmsl_isfinite(clmsl_double x) { return (x.bits << 1) < 0xffe0000000000000ul; }
//= isnormal double/1 : double
inline bool clmsl_isnormal(clmsl_double x) {
  return (x.bits << 1) - 0x0020000000000000ul < 0xffc0000000000000ul;
}
//= signbit double/1 : double
inline bool clmsl_signbit(clmsl_double x) { return x.bits >> 63 != 0ul; }
//= isordered double/1 : double double_order
inline bool clmsl_isordered(clmsl_double x, clmsl_double y) { return clmsl_double_order(x, y) != 2; }
//= isunordered double/1 : double double_order
inline bool clmsl_isunordered(clmsl_double x, clmsl_double y) { return clmsl_double_order(x, y) == 2; }
//= islessgreater double/1 : double double_order
inline bool clmsl_islessgreater(clmsl_double x, clmsl_double y) { return (clmsl_double_order(x, y) & 1) != 0; }
//= fmin double/1 : double isnan double_compare
inline clmsl_double clmsl_fmin(clmsl_double x, clmsl_double y) { return clmsl_isnan(x) || y < x ? y : x; }
//= fmax double/1 : double isnan double_compare
inline clmsl_double clmsl_fmax(clmsl_double x, clmsl_double y) { return clmsl_isnan(x) || x < y ? y : x; }
//= min double/1 : double double_compare
inline clmsl_double clmsl_min(clmsl_double x, clmsl_double y) { return y < x ? y : x; }
//= max double/1 : double double_compare
inline clmsl_double clmsl_max(clmsl_double x, clmsl_double y) { return x < y ? y : x; }
//= clamp double/1 : double fmin fmax
inline clmsl_double clmsl_clamp(clmsl_double x, clmsl_double low, clmsl_double high) {
  return clmsl_fmin(clmsl_fmax(x, low), high);
}
//= maxmag double/1 : double fabs fmax double_compare
inline clmsl_double clmsl_maxmag(clmsl_double x, clmsl_double y) {
  const clmsl_double a = clmsl_fabs(x), b = clmsl_fabs(y);
  return a > b ? x : b > a ? y : clmsl_fmax(x, y);
}
//= minmag double/1 : double fabs fmin double_compare
inline clmsl_double clmsl_minmag(clmsl_double x, clmsl_double y) {
  const clmsl_double a = clmsl_fabs(x), b = clmsl_fabs(y);
  return a < b ? x : b < a ? y : clmsl_fmin(x, y);
}
//= fdim double/1 : double double_subtract double_compare
inline clmsl_double clmsl_fdim(clmsl_double x, clmsl_double y) { return clmsl_double{x <= y ? 0ul : (x - y).bits}; }
//= mix double/1 : double double_add double_subtract double_multiply
inline clmsl_double clmsl_mix(clmsl_double x, clmsl_double y, clmsl_double a) { return x + (y - x) * a; }
//= step double/1 : double double_compare
inline clmsl_double clmsl_step(clmsl_double edge, clmsl_double x) {
  return clmsl_double{x < edge ? 0ul : 0x3ff0000000000000ul};
}
//= smoothstep double/1 : double clamp double_subtract double_multiply double_divide
inline clmsl_double clmsl_smoothstep(clmsl_double low, clmsl_double high, clmsl_double x) {
  const clmsl_double zero = clmsl_double{0ul}, one = clmsl_double{0x3ff0000000000000ul};
  const clmsl_double two = clmsl_double{0x4000000000000000ul}, three = clmsl_double{0x4008000000000000ul};
  const clmsl_double t = clmsl_clamp((x - low) / (high - low), zero, one);
  return t * t * (three - two * t);
}
//= sign double/1 : double isnan
inline clmsl_double clmsl_sign(clmsl_double x) {
  const ulong one = (x.bits & 0x8000000000000000ul) | 0x3ff0000000000000ul;
  return clmsl_double{(x.bits << 1) == 0ul ? x.bits : clmsl_isnan(x) ? 0ul : one};
}
//= degrees double/1 : double double_multiply
inline clmsl_double clmsl_degrees(clmsl_double x) { return x * clmsl_double{0x404ca5dc1a63c1f8ul}; }
//= radians double/1 : double double_multiply
inline clmsl_double clmsl_radians(clmsl_double x) { return x * clmsl_double{0x3f91df46a2529d39ul}; }
//= ldexp double/1 : double double_round
inline clmsl_double clmsl_ldexp(clmsl_double x, int n) {
  const ulong sign = x.bits & 0x8000000000000000ul, size = x.bits & 0x7ffffffffffffffful;
  if (size >= 0x7ff0000000000000ul || size == 0ul) {
    return clmsl_double{size > 0x7ff0000000000000ul ? x.bits | 0x0008000000000000ul : x.bits};
  }
  const int exponent = int(size >> 52), up = exponent == 0 ? int(metal::clz(size)) - 11 : 0;
  const ulong m = ((size << up) & 0x000ffffffffffffful) | 0x0010000000000000ul;
  const int by = n > 5000 ? 5000 : n < -5000 ? -5000 : n;
  return clmsl_double_round(sign, (exponent == 0 ? 1 - up : exponent) - 1 + by, m << 10);
}
//= ilogb double/1 : double
inline int clmsl_ilogb(clmsl_double x) {
  const ulong size = x.bits & 0x7ffffffffffffffful;
  if (size >= 0x7ff0000000000000ul) {
    return 2147483647;
  }
  if (size == 0ul) {
    return -2147483647 - 1;
  }
  return size >= 0x0010000000000000ul ? int(size >> 52) - 1023 : -1011 - int(metal::clz(size));
}
//= logb double/1 : double double_multiply double_of(int) ilogb
inline clmsl_double clmsl_logb(clmsl_double x) {
  const ulong size = x.bits & 0x7ffffffffffffffful;
  if (size >= 0x7ff0000000000000ul) {
    return x * x;
  }
  return clmsl_double{size == 0ul ? 0xfff0000000000000ul : clmsl_double_of(clmsl_ilogb(x)).bits};
}
//= frexp double/1 : double ilogb ldexp
// The second result goes through a pointer to any address space.
template <typename P> inline clmsl_double clmsl_frexp(clmsl_double x, P exponent) {
  const ulong size = x.bits & 0x7ffffffffffffffful;
  const int e = size == 0ul || size >= 0x7ff0000000000000ul ? 0 : clmsl_ilogb(x) + 1;
  *exponent = e;
  return clmsl_ldexp(x, -e);
}
//= modf double/1 : double trunc double_subtract copysign isinf
// The second result goes through a pointer to any address space.
template <typename P> inline clmsl_double clmsl_modf(clmsl_double x, P whole) {
  const clmsl_double w = clmsl_trunc(x);
  *whole = w;
  return clmsl_copysign(clmsl_double{clmsl_isinf(x) ? 0ul : (x - w).bits}, x);
}
//= fract double/1 : double floor fmin double_subtract isnan isinf
// The second result goes through a pointer to any address space.
template <typename P> inline clmsl_double clmsl_fract(clmsl_double x, P whole) {
  const clmsl_double w = clmsl_floor(x);
  *whole = w;
  if (clmsl_isnan(x)) {
    return x;
  }
  const clmsl_double below = clmsl_double{0x3feffffffffffffful};
  return clmsl_double{clmsl_isinf(x) ? x.bits & 0x8000000000000000ul : clmsl_fmin(x - w, below).bits};
}
//= nextafter double/1 : double double_nan double_order
inline clmsl_double clmsl_nextafter(clmsl_double x, clmsl_double y) {
  const int order = clmsl_double_order(x, y);
  if (order == 2) {
    return clmsl_double_nan(x.bits, y.bits);
  }
  if (order == 0) {
    return y;
  }
  if ((x.bits << 1) == 0ul) {
    return clmsl_double{order < 0 ? 1ul : 0x8000000000000001ul};
  }
  return clmsl_double{(order < 0) == (long(x.bits) >= 0l) ? x.bits + 1ul : x.bits - 1ul};
}
//= sum double/1 : double double_add
// Where the halves of vectors end whose components are added.
inline clmsl_double clmsl_sum(clmsl_double x) { return x; }
//= largest double/1 : double fabs fmax
// Likewise, of their largest size.
inline clmsl_double clmsl_largest(clmsl_double x) { return clmsl_fabs(x); }
//= scaled double/1 : double copysign ilogb ldexp isinf isfinite isnan
// By the power of two that brings the largest size next to 1; where that is infinite only infinities count, as 1.
inline clmsl_double clmsl_scaled(clmsl_double x, clmsl_double largest) {
  if (clmsl_isinf(largest) && !clmsl_isnan(x)) {
    return clmsl_copysign(clmsl_double{clmsl_isinf(x) ? 0x3ff0000000000000ul : 0ul}, x);
  }
  return clmsl_isfinite(largest) && largest.bits != 0ul ? clmsl_ldexp(x, -clmsl_ilogb(largest)) : x;
}
//= scaled_back double/1 : double ilogb ldexp isinf isfinite isnan
inline clmsl_double clmsl_scaled_back(clmsl_double x, clmsl_double largest) {
  if (clmsl_isinf(largest)) {
    return clmsl_isnan(x) ? x : largest;
  }
  return clmsl_isfinite(largest) && largest.bits != 0ul ? clmsl_ldexp(x, clmsl_ilogb(largest)) : x;
}
//= unit double/1 : double double_divide
inline clmsl_double clmsl_unit(clmsl_double x, clmsl_double length) {
  return clmsl_double{length.bits == 0ul ? x.bits : (x / length).bits};
}
//= length double/1 : double fabs
inline clmsl_double clmsl_length(clmsl_double x) { return clmsl_fabs(x); }
//= distance double/1 : double double_subtract fabs
inline clmsl_double clmsl_distance(clmsl_double x, clmsl_double y) { return clmsl_fabs(x - y); }
//= normalize double/1 : double copysign isnan
inline clmsl_double clmsl_normalize(clmsl_double x) {
  const bool kept = clmsl_isnan(x) || (x.bits << 1) == 0ul;
  return clmsl_double{kept ? x.bits : clmsl_copysign(clmsl_double{0x3ff0000000000000ul}, x).bits};
}
