//= rotate integers each
// The amount counts modulo the width.
inline $T clmsl_rotate($T a, $T b) {
  const ulong bits = 8ul * sizeof($T);
  const ulong x = ulong($U(a));
  const ulong n = ulong(b) & (bits - 1ul);
  return n == 0ul ? a : $T((x << n) | (x >> (bits - n)));
}
//= bitfield_insert integers each
inline $T clmsl_bitfield_insert($T base, $T insert, int offset, int count) {
  const ulong field = (count > 63 ? ~0ul : (1ul << count) - 1ul) << (offset & 63);
  return $T((ulong(base) & ~field) | ((ulong(insert) << (offset & 63)) & field));
}
//= bitfield_extract_unsigned integers each
inline $U clmsl_bitfield_extract_unsigned($T base, int offset, int count) {
  return $U((ulong(base) >> (offset & 63)) & (count > 63 ? ~0ul : (1ul << count) - 1ul));
}
//= bitfield_extract_signed integers each
inline $S clmsl_bitfield_extract_signed($T base, int offset, int count) {
  return count == 0 ? $S(0) : $S(long(ulong(base) << ((64 - offset - count) & 63)) >> ((64 - count) & 63));
}
//= bitselect integers each
inline $T clmsl_bitselect($T a, $T b, $T c) { return $T((a & ~c) | (b & c)); }
