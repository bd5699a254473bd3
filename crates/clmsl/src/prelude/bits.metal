//= rotate integers each
// The amount counts modulo the width.
inline $T clmsl_rotate($T a, $T b) {
  const ulong bits = 8ul * sizeof($T);
  const ulong x = ulong($U(a));
  const ulong n = ulong(b) & (bits - 1ul);
  return n == 0ul ? a : $T((x << n) | (x >> (bits - n)));
}
//= bitselect integers each
inline $T clmsl_bitselect($T a, $T b, $T c) { return $T((a & ~c) | (b & c)); }
