// add_sat, sub_sat, hadd, rhadd for every integer type.
template <typename T> inline T clmsl_limit(bool low) {
  const ulong sign = 1ul << (8ul * sizeof(T) - 1ul);
  return T(-1) < T(0) ? T(low ? sign : sign - 1ul) : T(low ? 0ul : sign - 1ul + sign);
}
template <typename T> inline T clmsl_add_sat_1(T a, T b) {
  const T sum = T(ulong(a) + ulong(b));
  if (T(-1) < T(0)) {
    return (T((a ^ sum) & (b ^ sum)) < T(0)) ? clmsl_limit<T>(a < T(0)) : sum;
  }
  return sum < a ? clmsl_limit<T>(false) : sum;
}
template <typename T> inline T clmsl_sub_sat_1(T a, T b) {
  const T difference = T(ulong(a) - ulong(b));
  if (T(-1) < T(0)) {
    return (T((a ^ b) & (a ^ difference)) < T(0)) ? clmsl_limit<T>(a < T(0)) : difference;
  }
  return a < b ? T(0) : difference;
}
#define CLMSL_SATURATE(T, U) \
  inline T clmsl_add_sat(T a, T b) { return clmsl_add_sat_1<T>(a, b); } \
  inline T clmsl_sub_sat(T a, T b) { return clmsl_sub_sat_1<T>(a, b); } \
  inline T clmsl_hadd(T a, T b) { return T((a >> 1) + (b >> 1) + (a & b & T(1))); } \
  inline T clmsl_rhadd(T a, T b) { return T((a >> 1) + (b >> 1) + ((a | b) & T(1))); } \
  CLMSL_LANES_2(clmsl_add_sat, T, T, T) \
  CLMSL_LANES_2(clmsl_sub_sat, T, T, T) \
  CLMSL_LANES_2(clmsl_hadd, T, T, T) \
  CLMSL_LANES_2(clmsl_rhadd, T, T, T)
CLMSL_SATURATE(char, uchar)
CLMSL_SATURATE(uchar, uchar)
CLMSL_SATURATE(short, ushort)
CLMSL_SATURATE(ushort, ushort)
CLMSL_SATURATE(int, uint)
CLMSL_SATURATE(uint, uint)
CLMSL_SATURATE(long, ulong)
CLMSL_SATURATE(ulong, ulong)
#undef CLMSL_SATURATE
