//= islessgreater float,half each
// Ordered and different.
inline bool clmsl_islessgreater($T a, $T b) { return a < b || a > b; }
