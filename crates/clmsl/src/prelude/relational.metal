// islessgreater: ordered and different.
inline bool clmsl_islessgreater(float a, float b) { return a < b || a > b; }
inline bool clmsl_islessgreater(half a, half b) { return a < b || a > b; }
CLMSL_LANES_2(clmsl_islessgreater, bool, float, float)
CLMSL_LANES_2(clmsl_islessgreater, bool, half, half)
