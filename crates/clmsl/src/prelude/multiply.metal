// mul_hi, mad_hi, mad_sat for every integer type.
inline ulong clmsl_mul_hi(ulong a, ulong b) {
  const ulong al = a & 0xfffffffful, ah = a >> 32, bl = b & 0xfffffffful, bh = b >> 32;
  const ulong middle = ah * bl + ((al * bl) >> 32);
  const ulong other = al * bh + (middle & 0xfffffffful);
  return ah * bh + (middle >> 32) + (other >> 32);
}
inline long clmsl_mul_hi(long a, long b) {
  return long(clmsl_mul_hi(ulong(a), ulong(b)) - (a < 0l ? ulong(b) : 0ul) - (b < 0l ? ulong(a) : 0ul));
}
inline ulong clmsl_mad_sat(ulong a, ulong b, ulong c) {
  const ulong low = a * b, sum = low + c;
  return clmsl_mul_hi(a, b) + (sum < low ? 1ul : 0ul) != 0ul ? ~0ul : sum;
}
inline long clmsl_mad_sat(long a, long b, long c) {
  const ulong low = ulong(a) * ulong(b), sum = low + ulong(c);
  const long high = long(ulong(clmsl_mul_hi(a, b)) + (c < 0l ? ~0ul : 0ul) + (sum < low ? 1ul : 0ul));
  if (high == (long(sum) >> 63)) {
    return long(sum);
  }
  return high < 0l ? long(1ul << 63) : long(~(1ul << 63));
}
#define CLMSL_MULTIPLY_64(T) \
  inline T clmsl_mad_hi(T a, T b, T c) { return T(ulong(clmsl_mul_hi(a, b)) + ulong(c)); } \
  CLMSL_LANES_2(clmsl_mul_hi, T, T, T) \
  CLMSL_LANES_3(clmsl_mad_hi, T) \
  CLMSL_LANES_3(clmsl_mad_sat, T)
#define CLMSL_MULTIPLY(T, W, LOW, HIGH) \
  inline T clmsl_mul_hi(T a, T b) { return T((W(a) * W(b)) >> (8 * sizeof(T))); } \
  inline T clmsl_mad_sat(T a, T b, T c) { \
    const W sum = W(a) * W(b) + W(c); \
    return sum < W(LOW) ? T(LOW) : sum > W(HIGH) ? T(HIGH) : T(sum); \
  } \
  CLMSL_MULTIPLY_64(T)
CLMSL_MULTIPLY(char, long, -128, 127)
CLMSL_MULTIPLY(uchar, ulong, 0, 255)
CLMSL_MULTIPLY(short, long, -32768, 32767)
CLMSL_MULTIPLY(ushort, ulong, 0, 65535)
CLMSL_MULTIPLY(int, long, -2147483647 - 1, 2147483647)
CLMSL_MULTIPLY(uint, ulong, 0, 4294967295u)
CLMSL_MULTIPLY_64(long)
CLMSL_MULTIPLY_64(ulong)
#undef CLMSL_MULTIPLY
#undef CLMSL_MULTIPLY_64
