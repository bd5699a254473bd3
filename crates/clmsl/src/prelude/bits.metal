// rotate (modulo the width) and bitselect for every integer type.
template <typename T> inline T clmsl_rotate_1(T a, T b) {
  const ulong bits = 8ul * sizeof(T);
  const ulong x = ulong(a) & (~0ul >> (64ul - bits));
  const ulong n = ulong(b) & (bits - 1ul);
  return n == 0ul ? a : T((x << n) | (x >> (bits - n)));
}
#define CLMSL_BITS(T, U) \
  inline T clmsl_rotate(T a, T b) { return clmsl_rotate_1<T>(a, b); } \
  inline T clmsl_bitselect(T a, T b, T c) { return T((a & ~c) | (b & c)); } \
  CLMSL_LANES_2(clmsl_rotate, T, T, T) \
  CLMSL_LANES_3(clmsl_bitselect, T)
CLMSL_BITS(char, uchar)
CLMSL_BITS(uchar, uchar)
CLMSL_BITS(short, ushort)
CLMSL_BITS(ushort, ushort)
CLMSL_BITS(int, uint)
CLMSL_BITS(uint, uint)
CLMSL_BITS(long, ulong)
CLMSL_BITS(ulong, ulong)
#undef CLMSL_BITS
