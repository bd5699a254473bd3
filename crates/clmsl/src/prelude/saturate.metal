//= add_sat signed each
inline $T clmsl_add_sat($T a, $T b) {
  const $T sum = $T(ulong(a) + ulong(b));
  const ulong sign = 1ul << (8ul * sizeof($T) - 1ul);
  return $T((a ^ sum) & (b ^ sum)) < $T(0) ? (a < $T(0) ? $T(sign) : $T(sign - 1ul)) : sum;
}
//= add_sat unsigned each
inline $T clmsl_add_sat($T a, $T b) {
  const $T sum = $T(a + b);
  return sum < a ? $T(~0ul) : sum;
}
//= sub_sat signed each
inline $T clmsl_sub_sat($T a, $T b) {
  const $T difference = $T(ulong(a) - ulong(b));
  const ulong sign = 1ul << (8ul * sizeof($T) - 1ul);
  return $T((a ^ b) & (a ^ difference)) < $T(0) ? (a < $T(0) ? $T(sign) : $T(sign - 1ul)) : difference;
}
//= sub_sat unsigned each
inline $T clmsl_sub_sat($T a, $T b) { return a < b ? $T(0) : $T(a - b); }
//= hadd integers each
inline $T clmsl_hadd($T a, $T b) { return $T((a >> 1) + (b >> 1) + (a & b & $T(1))); }
//= rhadd integers each
inline $T clmsl_rhadd($T a, $T b) { return $T((a >> 1) + (b >> 1) + ((a | b) & $T(1))); }
