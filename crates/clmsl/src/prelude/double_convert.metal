//= double_bits double/1 : double
inline ulong clmsl_double_bits(clmsl_double x) { return x.bits; }
//= nan ulong/1 : double
inline clmsl_double clmsl_nan(ulong code) { return clmsl_double{0x7ff8000000000000ul | (code & 0x0007fffffffffffful)}; }
//= select double/1 : double
inline clmsl_double clmsl_select(clmsl_double a, clmsl_double b, bool c) { return c ? b : a; }
//= double_round_by any : double
// The value m * 2^-62 * 2^(exponent - 1022) in the range of normal numbers: 0 to the nearest, ties to even; 1 towards zero;
// 2 up; 3 down.
inline clmsl_double clmsl_double_round_by(ulong sign, int exponent, ulong m, int mode) {
  const ulong away = mode == (sign != 0ul ? 3 : 2) ? 0x3fful : 0ul;
  const ulong add = mode == 0 ? 0x1fful + ((m >> 10) & 1ul) : away;
  return clmsl_double{sign | ((ulong(exponent) << 52) + ((m + add) >> 10))};
}
//= double_of char,uchar,short,ushort,int,uint,long,ulong,bool/1 : double double_round_by
// An integer as double.
inline clmsl_double clmsl_double_of(ulong size, ulong sign, int mode) {
  if (size == 0ul) {
    return clmsl_double{0ul};
  }
  const int up = int(metal::clz(size)) - 1;
  const ulong m = up < 0 ? (size >> 1) | (size & 1ul) : size << up;
  return clmsl_double_round_by(sign, 1084 - up, m, mode);
}
inline clmsl_double clmsl_double_of(ulong x, int mode) { return clmsl_double_of(x, 0ul, mode); }
inline clmsl_double clmsl_double_of(long x, int mode) {
  return clmsl_double_of(x < 0l ? 0ul - ulong(x) : ulong(x), x < 0l ? 0x8000000000000000ul : 0ul, mode);
}
template <typename T> inline clmsl_double clmsl_double_of(T x) {
  return T(-1) < T(0) ? clmsl_double_of(long(x), 0) : clmsl_double_of(ulong(x), 0);
}
//= double_of_float float/1 : double
// A float as double, which is exact.
inline clmsl_double clmsl_double_of_float(float x) {
  const uint bits = as_type<uint>(x), size = bits & 0x7fffffffu;
  const ulong sign = ulong(bits >> 31) << 63;
  if (size >= 0x7f800000u) {
    const ulong quiet = size > 0x7f800000u ? 0x0008000000000000ul : 0ul;
    return clmsl_double{sign | 0x7ff0000000000000ul | ulong(size & 0x007fffffu) << 29 | quiet};
  }
  if (size >= 0x00800000u) {
    return clmsl_double{sign | ((ulong(size) << 29) + 0x3800000000000000ul)};
  }
  if (size == 0u) {
    return clmsl_double{sign};
  }
  const int up = int(metal::clz(size)) - 8;
  return clmsl_double{sign | ((ulong(size) << (29 + up)) + (ulong(896 - up) << 52))};
}
//= double_truth double/1 : double
inline bool clmsl_double_truth(clmsl_double x) { return (x.bits << 1) != 0ul; }
//= double_to double/1 : double
// The integer towards zero; beyond the range of the type its nearest value, of NaN 0.
template <typename To> inline To clmsl_double_to(clmsl_double x) {
  const bool to_signed = To(-1) < To(0);
  const ulong sign = 1ul << (8ul * sizeof(To) - 1ul);
  const ulong highest = to_signed ? sign - 1ul : sign - 1ul + sign;
  const ulong size = x.bits & 0x7ffffffffffffffful;
  if (size > 0x7ff0000000000000ul) {
    return To(0);
  }
  const int exponent = int(size >> 52);
  const ulong m = (size & 0x000ffffffffffffful) | 0x0010000000000000ul;
  const ulong inside = exponent < 1075 ? m >> (1075 - exponent) : m << (exponent - 1075);
  const ulong whole = exponent < 1023 ? 0ul : exponent < 1087 ? inside : ~0ul;
  if (x.bits >> 63 != 0ul) {
    return !to_signed ? To(0) : whole > highest ? To(sign) : To(0ul - whole);
  }
  return whole > highest ? To(highest) : To(whole);
}
//= double_narrow double/1 : double double_shift
// The bits in a format of fewer digits and exponents; 0 to the nearest, ties to even; 1 towards zero; 2 up; 3 down.
inline uint clmsl_double_narrow(clmsl_double x, int digits, int exponents, int mode) {
  const ulong size = x.bits & 0x7ffffffffffffffful;
  const uint sign = uint(x.bits >> 63), infinity = uint(exponents) << digits;
  if (size > 0x7ff0000000000000ul) {
    return infinity | 1u << (digits - 1) | uint((size & 0x0007fffffffffffful) >> (52 - digits));
  }
  // A double that is not normal is far below the last digit.
  int exponent = int(size >> 52) - 1024 + (exponents >> 1);
  ulong m = size >> 52 == 0ul ? ulong(size != 0ul) : (size & 0x000ffffffffffffful) | 0x0010000000000000ul;
  m <<= 10;
  if (exponent < 0) {
    m = clmsl_double_shift(m, -exponent);
    exponent = 0;
  }
  const bool away = mode == (sign != 0u ? 3 : 2);
  if (exponent > exponents - 2) {
    return size == 0x7ff0000000000000ul || mode == 0 || away ? infinity : infinity - 1u;
  }
  const int shift = 62 - digits;
  const ulong mask = (1ul << shift) - 1ul;
  const ulong add = mode == 0 ? (mask >> 1) + ((m >> shift) & 1ul) : away ? mask : 0ul;
  return (uint(exponent) << digits) + uint((m + add) >> shift);
}
//= double_to_float double/1 : double double_narrow
inline float clmsl_double_to_float(clmsl_double x, int mode) {
  return as_type<float>(uint(x.bits >> 63) << 31 | clmsl_double_narrow(x, 23, 255, mode));
}
//= double_to_half double/1 : double double_narrow
inline half clmsl_double_to_half(clmsl_double x, int mode) {
  return as_type<half>(ushort(uint(x.bits >> 63) << 15 | clmsl_double_narrow(x, 10, 31, mode)));
}
