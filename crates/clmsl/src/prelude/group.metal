//= fold int,uint,long,ulong
// The sum ('+'), the product, the lesser ('<'), the greater ('>') or what the bits make.
template <char F> inline $T clmsl_fold($T a, $T b) {
  return F == '+' ? a + b
       : F == '*' ? a * b
       : F == '&' ? a & b
       : F == '|' ? a | b
       : F == '^' ? a ^ b
       : (F == '<' ? b < a : a < b) ? b : a;
}
//= fold half,float
// The sum ('+'), the product, the lesser ('<') or the greater ('>').
template <char F> inline $T clmsl_fold($T a, $T b) {
  return F == '+' ? a + b : F == '*' ? a * b : (F == '<' ? b < a : a < b) ? b : a;
}
//= fold double : double double_add double_multiply double_compare
// The sum ('+'), the product, the lesser ('<') or the greater ('>').
template <char F> inline clmsl_double clmsl_fold(clmsl_double a, clmsl_double b) {
  return F == '+' ? a + b : F == '*' ? a * b : (F == '<' ? b < a : a < b) ? b : a;
}
//= lane long,ulong
// Metal moves no 64-bit values between lanes.
inline $T clmsl_lane($T x, uint lane) {
  return as_type<$T>(metal::simd_shuffle(as_type<metal::uint2>(x), ushort(lane)));
}
//= lane double : double
inline clmsl_double clmsl_lane(clmsl_double x, uint lane) {
  return clmsl_double{as_type<ulong>(metal::simd_shuffle(as_type<metal::uint2>(x.bits), ushort(lane)))};
}
//= lane any
template <typename T> inline T clmsl_lane(T x, uint lane) { return metal::simd_shuffle(x, ushort(lane)); }
//= broadcast long,ulong
inline $T clmsl_broadcast($T x, ushort lane) {
  return as_type<$T>(metal::simd_broadcast(as_type<metal::uint2>(x), lane));
}
inline metal::$T2 clmsl_broadcast(metal::$T2 x, ushort lane) {
  return as_type<metal::$T2>(metal::simd_broadcast(as_type<metal::uint4>(x), lane));
}
inline metal::$T3 clmsl_broadcast(metal::$T3 x, ushort lane) {
  return metal::$T3(clmsl_broadcast(x.xy, lane), clmsl_broadcast(x.z, lane));
}
inline metal::$T4 clmsl_broadcast(metal::$T4 x, ushort lane) {
  return metal::$T4(clmsl_broadcast(x.xy, lane), clmsl_broadcast(x.zw, lane));
}
//= broadcast double : double
inline clmsl_double clmsl_broadcast(clmsl_double x, ushort lane) {
  return clmsl_double{as_type<ulong>(metal::simd_broadcast(as_type<metal::uint2>(x.bits), lane))};
}
//= fold_lanes any : fold lane
// What those of `count` lanes from `first` on make that are there and below `below`; `none` if there is none of them.
template <char F, typename T> inline T clmsl_fold_lanes(T x, T none, uint first, uint count, uint below) {
  const ulong here = ulong(metal::simd_vote::vote_t(metal::simd_ballot(true)));
  T all = none;
  bool some = false;
  for (uint i = 0; i < count; i++) {
    const uint lane = first + i;
    const T other = clmsl_lane(x, lane);
    if (lane < below && (here >> lane & 1ul) != 0ul) {
      all = some ? clmsl_fold<F>(all, other) : other;
      some = true;
    }
  }
  return all;
}
//= sub_group_scan any : fold lane
// What the lanes up to one's own make; `width` is the most lanes that there can be.
template <char F, typename T> inline T clmsl_sub_group_scan(T x, uint lane, uint width) {
  for (uint d = 1; d < width; d *= 2) {
    T before = clmsl_lane(x, lane < d ? lane : lane - d);
    x = lane < d ? x : clmsl_fold<F>(before, x);
  }
  return x;
}
//= sub_group_scan_exclusive any : sub_group_scan lane
template <char F, typename T> inline T clmsl_sub_group_scan_exclusive(T x, T none, uint lane, uint width) {
  T all = clmsl_sub_group_scan<F>(x, lane, width);
  T before = clmsl_lane(all, lane == 0 ? 0 : lane - 1);
  return lane == 0 ? none : before;
}
//= sub_group_reduce any : sub_group_scan lane
// `last` is the last lane that there is.
template <char F, typename T> inline T clmsl_sub_group_reduce(T x, uint lane, uint width, uint last) {
  T all = clmsl_sub_group_scan<F>(x, lane, width);
  return clmsl_lane(all, last);
}
//= work_group_reduce any : fold
// `part` is what a sub-group makes. The first barrier lets an earlier function finish with the memory.
template <char F, typename T>
inline T clmsl_work_group_reduce(T part, threadgroup ulong* memory, uint lane, uint group, uint groups) {
  threadgroup T* parts = (threadgroup T*)memory;
  metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup);
  if (lane == 0) {
    parts[group] = part;
  }
  metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup);
  T all = parts[0];
  for (uint i = 1; i < groups; i++) {
    all = clmsl_fold<F>(all, parts[i]);
  }
  return all;
}
//= work_group_broadcast any
// The first barrier lets an earlier function finish with the memory.
template <typename T> inline T clmsl_work_group_broadcast(T x, threadgroup ulong* memory, bool source) {
  threadgroup T* place = (threadgroup T*)memory;
  metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup);
  if (source) {
    *place = x;
  }
  metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup);
  return *place;
}
//= work_group_scan any : fold
// What the work-items up to one's own make. The first barrier lets an earlier function finish with the memory.
template <char F, typename T>
inline T clmsl_work_group_scan(T x, threadgroup ulong* memory, uint item, uint items) {
  threadgroup T* values = (threadgroup T*)memory;
  metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup);
  values[item] = x;
  for (uint d = 1; d < items; d *= 2) {
    metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup);
    T before = values[item < d ? item : item - d];
    metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup);
    x = item < d ? x : clmsl_fold<F>(before, x);
    values[item] = x;
  }
  return x;
}
//= work_group_scan_exclusive any : work_group_scan
template <char F, typename T>
inline T clmsl_work_group_scan_exclusive(T x, T none, threadgroup ulong* memory, uint item, uint items) {
  clmsl_work_group_scan<F>(x, memory, item, items);
  metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup);
  return item == 0 ? none : ((threadgroup T*)memory)[item - 1];
}
//= all_equal long,ulong
inline bool clmsl_all_equal($T x) {
  const metal::uint2 bits = as_type<metal::uint2>(x);
  return metal::simd_all(metal::all(bits == metal::simd_broadcast_first(bits)));
}
//= all_equal double : double double_compare
inline bool clmsl_all_equal(clmsl_double x) {
  const metal::uint2 first = metal::simd_broadcast_first(as_type<metal::uint2>(x.bits));
  return metal::simd_all(x == clmsl_double{as_type<ulong>(first)});
}
//= all_equal any
template <typename T> inline bool clmsl_all_equal(T x) {
  T first = metal::simd_broadcast_first(x);
  return metal::simd_all(x == first);
}
//= ballot any
inline metal::uint4 clmsl_ballot(bool here) {
  ulong lanes = ulong(metal::simd_vote::vote_t(metal::simd_ballot(here)));
  return metal::uint4(uint(lanes), uint(lanes >> 32), 0, 0);
}
//= lanes_below any
inline ulong clmsl_lanes_below(uint lane) { return lane < 64 ? (1ul << lane) - 1ul : ~0ul; }
//= ballot_bits any : lanes_below
// The bits of a ballot for the lanes below one.
inline ulong clmsl_ballot_bits(metal::uint4 ballot, uint lane) {
  return as_type<ulong>(ballot.xy) & clmsl_lanes_below(lane);
}
//= lanes_as_ballot any
inline metal::uint4 clmsl_lanes_as_ballot(ulong lanes) {
  return metal::uint4(uint(lanes), uint(lanes >> 32), 0, 0);
}
