//= abs signed each
// The unsigned type holds the absolute value of the least number too.
inline $U clmsl_abs($T a) { return a < $T(0) ? $U(0ul - ulong(a)) : $U(a); }
//= abs unsigned each
inline $T clmsl_abs($T a) { return a; }
//= abs_diff integers each
inline $U clmsl_abs_diff($T a, $T b) { return a > b ? $U(ulong(a) - ulong(b)) : $U(ulong(b) - ulong(a)); }
