// abs and abs_diff give the unsigned type, so that nothing overflows.
#define CLMSL_ABSOLUTE(T, U) \
  inline U clmsl_abs(T a) { return a < T(0) ? U(0ul - ulong(a)) : U(a); } \
  inline U clmsl_abs_diff(T a, T b) { return a > b ? U(ulong(a) - ulong(b)) : U(ulong(b) - ulong(a)); } \
  CLMSL_LANES_1(clmsl_abs, U, T) \
  CLMSL_LANES_2(clmsl_abs_diff, U, T, T)
CLMSL_ABSOLUTE(char, uchar)
CLMSL_ABSOLUTE(uchar, uchar)
CLMSL_ABSOLUTE(short, ushort)
CLMSL_ABSOLUTE(ushort, ushort)
CLMSL_ABSOLUTE(int, uint)
CLMSL_ABSOLUTE(uint, uint)
CLMSL_ABSOLUTE(long, ulong)
CLMSL_ABSOLUTE(ulong, ulong)
#undef CLMSL_ABSOLUTE
