// Integer division that never stops the program: by zero it gives 0 (the remainder: the dividend), and the least
// number by -1 wraps.
template <typename T> inline T clmsl_div(T a, T b) {
  if (b == T(0)) {
    return T(0);
  }
  if (T(-1) < T(0) && b == T(-1)) {
    return T(0ul - ulong(a));
  }
  return T(a / b);
}
template <typename T> inline metal::vec<T, 2> clmsl_div(metal::vec<T, 2> a, metal::vec<T, 2> b) {
  return metal::vec<T, 2>(clmsl_div<T>(a.x, b.x), clmsl_div<T>(a.y, b.y));
}
template <typename T> inline metal::vec<T, 3> clmsl_div(metal::vec<T, 3> a, metal::vec<T, 3> b) {
  return metal::vec<T, 3>(clmsl_div<T>(a.x, b.x), clmsl_div<T>(a.y, b.y), clmsl_div<T>(a.z, b.z));
}
template <typename T> inline metal::vec<T, 4> clmsl_div(metal::vec<T, 4> a, metal::vec<T, 4> b) {
  return metal::vec<T, 4>(clmsl_div<T>(a.x, b.x), clmsl_div<T>(a.y, b.y), clmsl_div<T>(a.z, b.z), clmsl_div<T>(a.w, b.w));
}
template <typename T> inline T clmsl_rem(T a, T b) {
  if (b == T(0)) {
    return a;
  }
  if (T(-1) < T(0) && b == T(-1)) {
    return T(0);
  }
  return T(a % b);
}
template <typename T> inline metal::vec<T, 2> clmsl_rem(metal::vec<T, 2> a, metal::vec<T, 2> b) {
  return metal::vec<T, 2>(clmsl_rem<T>(a.x, b.x), clmsl_rem<T>(a.y, b.y));
}
template <typename T> inline metal::vec<T, 3> clmsl_rem(metal::vec<T, 3> a, metal::vec<T, 3> b) {
  return metal::vec<T, 3>(clmsl_rem<T>(a.x, b.x), clmsl_rem<T>(a.y, b.y), clmsl_rem<T>(a.z, b.z));
}
template <typename T> inline metal::vec<T, 4> clmsl_rem(metal::vec<T, 4> a, metal::vec<T, 4> b) {
  return metal::vec<T, 4>(clmsl_rem<T>(a.x, b.x), clmsl_rem<T>(a.y, b.y), clmsl_rem<T>(a.z, b.z), clmsl_rem<T>(a.w, b.w));
}
