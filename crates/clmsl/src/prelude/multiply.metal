//= mul_hi ulong each
inline ulong clmsl_mul_hi(ulong a, ulong b) {
  const ulong al = a & 0xfffffffful, ah = a >> 32, bl = b & 0xfffffffful, bh = b >> 32;
  const ulong middle = ah * bl + ((al * bl) >> 32);
  const ulong other = al * bh + (middle & 0xfffffffful);
  return ah * bh + (middle >> 32) + (other >> 32);
}
//= mul_hi long each : mul_hi(ulong)
inline long clmsl_mul_hi(long a, long b) {
  return long(clmsl_mul_hi(ulong(a), ulong(b)) - (a < 0l ? ulong(b) : 0ul) - (b < 0l ? ulong(a) : 0ul));
}
//= mul_hi char,uchar,short,ushort,int,uint each
inline $T clmsl_mul_hi($T a, $T b) { return $T(($W(a) * $W(b)) >> (8 * sizeof($T))); }
//= mad_hi integers each : mul_hi
inline $T clmsl_mad_hi($T a, $T b, $T c) { return $T(ulong(clmsl_mul_hi(a, b)) + ulong(c)); }
//= mad_sat ulong each : mul_hi
inline ulong clmsl_mad_sat(ulong a, ulong b, ulong c) {
  const ulong low = a * b, sum = low + c;
  return clmsl_mul_hi(a, b) + (sum < low ? 1ul : 0ul) != 0ul ? ~0ul : sum;
}
//= mad_sat long each : mul_hi
inline long clmsl_mad_sat(long a, long b, long c) {
  const ulong low = ulong(a) * ulong(b), sum = low + ulong(c);
  const long high = long(ulong(clmsl_mul_hi(a, b)) + (c < 0l ? ~0ul : 0ul) + (sum < low ? 1ul : 0ul));
  if (high == (long(sum) >> 63)) {
    return long(sum);
  }
  return high < 0l ? long(1ul << 63) : long(~(1ul << 63));
}
//= mad_sat char,short,int each
inline $T clmsl_mad_sat($T a, $T b, $T c) {
  const long sum = long(a) * long(b) + long(c), sign = 1l << (8 * sizeof($T) - 1);
  return sum < -sign ? $T(-sign) : sum >= sign ? $T(sign - 1l) : $T(sum);
}
//= mad_sat uchar,ushort,uint each
inline $T clmsl_mad_sat($T a, $T b, $T c) {
  const ulong sum = ulong(a) * ulong(b) + ulong(c), highest = (1ul << (8 * sizeof($T))) - 1ul;
  return $T(sum > highest ? highest : sum);
}
//= dot_bytes char,uchar/4
template <typename T, typename A, typename B> inline T clmsl_dot_bytes(A a, B b) {
  return T(a.x) * T(b.x) + T(a.y) * T(b.y) + T(a.z) * T(b.z) + T(a.w) * T(b.w);
}
