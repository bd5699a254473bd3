//= div integers each
// Division that never stops the program: by zero it gives 0, and the least number by -1 wraps.
template <typename T> inline T clmsl_div(T a, T b) {
  if (b == T(0)) {
    return T(0);
  }
  if (T(-1) < T(0) && b == T(-1)) {
    return T(0ul - ulong(a));
  }
  return T(a / b);
}
//= rem integers each
// The remainder of a division by zero is the dividend.
template <typename T> inline T clmsl_rem(T a, T b) {
  if (b == T(0)) {
    return a;
  }
  if (T(-1) < T(0) && b == T(-1)) {
    return T(0);
  }
  return T(a % b);
}
