//= float_of int,uint,long,ulong
// The float beside n that is below it, or above it.
inline float clmsl_float_of(ulong n, bool above) {
  const ulong zeros = metal::clz(n);
  if (zeros >= 40ul) {
    return float(n);
  }
  const ulong shift = 40ul - zeros, kept = n >> shift;
  return float(kept + (above && kept << shift != n ? 1ul : 0ul)) * float(1ul << shift);
}
//= to_float_rtz int,uint,long,ulong each : float_of
inline float clmsl_to_float_rtz($T x) {
  return x < $T(0) ? -clmsl_float_of(0ul - ulong(x), false) : clmsl_float_of(ulong(x), false);
}
//= to_float_rtp int,uint,long,ulong each : float_of
inline float clmsl_to_float_rtp($T x) {
  return x < $T(0) ? -clmsl_float_of(0ul - ulong(x), false) : clmsl_float_of(ulong(x), true);
}
//= to_float_rtn int,uint,long,ulong each : float_of
inline float clmsl_to_float_rtn($T x) {
  return x < $T(0) ? -clmsl_float_of(0ul - ulong(x), true) : clmsl_float_of(ulong(x), false);
}
//= half_of float
// The half beside x that is nearer to zero, or farther from it.
inline half clmsl_half_of(float x, bool farther) {
  const half nearest = half(x);
  const ushort bits = as_type<ushort>(nearest);
  const uint wanted = as_type<uint>(x) & 0x7fffffffu, found = as_type<uint>(float(nearest)) & 0x7fffffffu;
  if (wanted > 0x7f800000u) {
    return nearest;
  }
  if (farther) {
    return found < wanted ? as_type<half>(ushort(bits + 1u)) : nearest;
  }
  return found > wanted ? as_type<half>(ushort(bits - 1u)) : nearest;
}
//= to_half_rtz float each : half_of
inline half clmsl_to_half_rtz(float x) { return clmsl_half_of(x, false); }
//= to_half_rtp float each : half_of
inline half clmsl_to_half_rtp(float x) { return clmsl_half_of(x, as_type<uint>(x) >> 31 == 0u); }
//= to_half_rtn float each : half_of
inline half clmsl_to_half_rtn(float x) { return clmsl_half_of(x, as_type<uint>(x) >> 31 != 0u); }
