//= double any
// IEEE 754 binary64 as its bits. Every operation on it below is computed with integers and rounded once, to the nearest
// value, ties to even. Fractions are worked on with the leading digit in bit 62, exponents less one, so that the leading
// digit of a normal number adds the one back.
struct clmsl_double {
  ulong bits;
};
//= double_nan any : double
// The first operand that is not a number, made quiet; of an invalid operation on numbers the default.
inline clmsl_double clmsl_double_nan(ulong a, ulong b) {
  const ulong infinity = 0x7ff0000000000000ul, quiet = 0x0008000000000000ul;
  return clmsl_double{(a << 1) > (infinity << 1) ? a | quiet : (b << 1) > (infinity << 1) ? b | quiet : infinity | quiet};
}
//= double_shift any
// To the right; what is lost stays as the lowest bit.
inline ulong clmsl_double_shift(ulong m, int n) {
  return n == 0 ? m : n > 63 ? ulong(m != 0ul) : (m >> n) | ulong((m << (64 - n)) != 0ul);
}
//= double_round any : double double_shift
inline clmsl_double clmsl_double_round(ulong sign, int exponent, ulong m) {
  if (exponent < 0) {
    m = clmsl_double_shift(m, -exponent);
    exponent = 0;
  }
  if (exponent > 0x7fd) {
    return clmsl_double{sign | 0x7ff0000000000000ul};
  }
  return clmsl_double{sign | ((ulong(exponent) << 52) + ((m + 0x1fful + ((m >> 10) & 1ul)) >> 10))};
}
//= double_negate any : double
inline clmsl_double operator-(clmsl_double x) { return clmsl_double{x.bits ^ 0x8000000000000000ul}; }
//= double_add any : double double_nan double_shift double_round
inline clmsl_double operator+(clmsl_double x, clmsl_double y) {
  const bool swap = (y.bits << 1) > (x.bits << 1);
  const ulong a = swap ? y.bits : x.bits, b = swap ? x.bits : y.bits;
  int exponent = int(a >> 52) & 0x7ff;
  const int other = int(b >> 52) & 0x7ff;
  const ulong sign = a & 0x8000000000000000ul, differ = (a ^ b) & 0x8000000000000000ul;
  if (exponent == 0x7ff) {
    const bool invalid = (a << 12) != 0ul || (other == 0x7ff && differ != 0ul);
    return clmsl_double{invalid ? clmsl_double_nan(x.bits, y.bits).bits : a};
  }
  const ulong m = ((a & 0x000ffffffffffffful) | ulong(exponent != 0) << 52) << 10;
  ulong n = ((b & 0x000ffffffffffffful) | ulong(other != 0) << 52) << 10;
  exponent = exponent == 0 ? 1 : exponent;
  n = clmsl_double_shift(n, exponent - (other == 0 ? 1 : other));
  if (differ == 0ul) {
    const ulong sum = m + n;
    return sum >> 63 != 0ul ? clmsl_double_round(sign, exponent, (sum >> 1) | (sum & 1ul))
                            : clmsl_double_round(sign, exponent - 1, sum);
  }
  if (m == n) {
    return clmsl_double{0ul};
  }
  const int up = int(metal::clz(m - n)) - 1;
  return clmsl_double_round(sign, exponent - 1 - up, (m - n) << up);
}
//= double_subtract any : double double_negate double_add
inline clmsl_double operator-(clmsl_double x, clmsl_double y) { return x + -y; }
//= double_multiply any : double double_nan double_round
inline clmsl_double operator*(clmsl_double x, clmsl_double y) {
  const ulong sign = (x.bits ^ y.bits) & 0x8000000000000000ul;
  const ulong a = x.bits & 0x7ffffffffffffffful, b = y.bits & 0x7ffffffffffffffful;
  if (a >= 0x7ff0000000000000ul || b >= 0x7ff0000000000000ul) {
    const bool invalid = a > 0x7ff0000000000000ul || b > 0x7ff0000000000000ul || a == 0ul || b == 0ul;
    return clmsl_double{invalid ? clmsl_double_nan(x.bits, y.bits).bits : sign | 0x7ff0000000000000ul};
  }
  if (a == 0ul || b == 0ul) {
    return clmsl_double{sign};
  }
  int ea = int(a >> 52), eb = int(b >> 52);
  const int za = ea == 0 ? int(metal::clz(a)) - 11 : 0, zb = eb == 0 ? int(metal::clz(b)) - 11 : 0;
  const ulong ma = ((a << za) & 0x000ffffffffffffful) | 0x0010000000000000ul;
  const ulong mb = ((b << zb) & 0x000ffffffffffffful) | 0x0010000000000000ul;
  ea = ea == 0 ? 1 - za : ea;
  eb = eb == 0 ? 1 - zb : eb;
  const ulong high = metal::mulhi(ma << 10, mb << 11), low = (ma << 10) * (mb << 11);
  const int up = high >> 62 == 0ul ? 1 : 0;
  return clmsl_double_round(sign, ea + eb - 1023 - up, (high << up) | ulong(low != 0ul));
}
//= double_divide any : double double_nan double_round
inline clmsl_double operator/(clmsl_double x, clmsl_double y) {
  const ulong sign = (x.bits ^ y.bits) & 0x8000000000000000ul, infinity = 0x7ff0000000000000ul;
  const ulong a = x.bits & 0x7ffffffffffffffful, b = y.bits & 0x7ffffffffffffffful;
  if (a > infinity || b > infinity || (a == b && (a == 0ul || a == infinity))) {
    return clmsl_double_nan(x.bits, y.bits);
  }
  if (a == 0ul || b == infinity) {
    return clmsl_double{sign};
  }
  if (a == infinity || b == 0ul) {
    return clmsl_double{sign | infinity};
  }
  int ea = int(a >> 52), eb = int(b >> 52);
  const int za = ea == 0 ? int(metal::clz(a)) - 11 : 0, zb = eb == 0 ? int(metal::clz(b)) - 11 : 0;
  const ulong ma = ((a << za) & 0x000ffffffffffffful) | 0x0010000000000000ul;
  const ulong mb = ((b << zb) & 0x000ffffffffffffful) | 0x0010000000000000ul;
  ea = ea == 0 ? 1 - za : ea;
  eb = eb == 0 ? 1 - zb : eb;
  // The dividend is made the smaller one, by less than a factor of two.
  const int up = ma < mb ? 1 : 0;
  const ulong divisor = mb << 8, dividend = ma << (7 + up);
  // 2^63 divided by the upper half of the divisor, from below: an estimate in single precision, good to 2^-20 whatever
  // the rounding, and one step of Newton's method.
  const ulong upper = (divisor >> 29) + 1ul;
  const long first = long(9223372036854775808.0f / float(upper));
  const long error = long(0x8000000000000000ul - upper * ulong(first)) >> 31;
  const ulong inverse = ulong(first + ((first * error) >> 32));
  // Two times 28 digits of the quotient, never too large, and the last correction.
  ulong quotient = ((dividend >> 29) * inverse) >> 35;
  ulong rest = (dividend << 28) - quotient * divisor;
  const ulong second = ((rest >> 31) * inverse) >> 33;
  rest = (rest << 28) - second * divisor;
  quotient = (quotient << 28) + second;
  for (int step = 2; step > 0; step >>= 1) {
    if (rest >= divisor * ulong(step)) {
      rest -= divisor * ulong(step);
      quotient += ulong(step);
    }
  }
  return clmsl_double_round(sign, ea - eb + 1022 - up, (quotient << 7) | ulong(rest != 0ul));
}
//= double_order any : double
// -1, 0 or 1 as the first is less than, equal to or greater than the second; 2 if one is not a number.
inline int clmsl_double_order(clmsl_double x, clmsl_double y) {
  const ulong a = x.bits & 0x7ffffffffffffffful, b = y.bits & 0x7ffffffffffffffful;
  if (a > 0x7ff0000000000000ul || b > 0x7ff0000000000000ul) {
    return 2;
  }
  const long m = long(x.bits) < 0l ? -long(a) : long(a), n = long(y.bits) < 0l ? -long(b) : long(b);
  return m < n ? -1 : m > n ? 1 : 0;
}
//= double_compare any : double double_order
inline bool operator<(clmsl_double x, clmsl_double y) { return clmsl_double_order(x, y) == -1; }
inline bool operator>(clmsl_double x, clmsl_double y) { return clmsl_double_order(x, y) == 1; }
inline bool operator<=(clmsl_double x, clmsl_double y) { return clmsl_double_order(x, y) <= 0; }
inline bool operator>=(clmsl_double x, clmsl_double y) { return (clmsl_double_order(x, y) & 2) == 0; }
inline bool operator==(clmsl_double x, clmsl_double y) { return clmsl_double_order(x, y) == 0; }
inline bool operator!=(clmsl_double x, clmsl_double y) { return clmsl_double_order(x, y) != 0; }
