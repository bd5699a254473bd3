//= convert_sat float/1
// convert_T_sat: the nearest value of the result type; NaN gives 0.
template <typename To> inline To clmsl_convert_sat(float x) {
  const bool to_signed = To(-1) < To(0);
  const ulong sign = 1ul << (8ul * sizeof(To) - 1ul);
  const ulong highest = to_signed ? sign - 1ul : sign - 1ul + sign;
  if (metal::isnan(x)) {
    return To(0);
  }
  if (x >= float(highest)) {
    return To(highest);
  }
  if (x <= (to_signed ? -float(sign) : 0.0f)) {
    return to_signed ? To(sign) : To(0);
  }
  return To(x);
}
//= convert_sat any/1
// convert_T_sat: the nearest value of the result type; NaN gives 0.
template <typename To, typename From> inline To clmsl_convert_sat(From x) {
  const bool to_signed = To(-1) < To(0);
  const ulong sign = 1ul << (8ul * sizeof(To) - 1ul);
  const ulong highest = to_signed ? sign - 1ul : sign - 1ul + sign;
  if (x < From(0)) {
    if (!to_signed) {
      return To(0);
    }
    return long(x) < -long(highest) - 1l ? To(sign) : To(x);
  }
  return ulong(x) > highest ? To(highest) : To(x);
}
//= convert_sat any/2 : convert_sat
template <typename To, typename From> inline metal::vec<To, 2> clmsl_convert_sat(metal::vec<From, 2> v) {
  return metal::vec<To, 2>(clmsl_convert_sat<To>(v.x), clmsl_convert_sat<To>(v.y));
}
//= convert_sat any/3 : convert_sat
template <typename To, typename From> inline metal::vec<To, 3> clmsl_convert_sat(metal::vec<From, 3> v) {
  return metal::vec<To, 3>(clmsl_convert_sat<To>(v.x), clmsl_convert_sat<To>(v.y), clmsl_convert_sat<To>(v.z));
}
//= convert_sat any/4 : convert_sat
template <typename To, typename From> inline metal::vec<To, 4> clmsl_convert_sat(metal::vec<From, 4> v) {
  return metal::vec<To, 4>(
      clmsl_convert_sat<To>(v.x), clmsl_convert_sat<To>(v.y), clmsl_convert_sat<To>(v.z), clmsl_convert_sat<To>(v.w));
}
