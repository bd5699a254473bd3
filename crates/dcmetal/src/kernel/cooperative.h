// Operations of a threadgroup, of a SIMD-group, and of a tile, a part of a SIMD-group of 2, 4, 8, 16 or 32 threads with whole tiles in it
// (dcmetal::COOPERATIVE; MSL 2.4).
//
// A thread makes a group of what it is told of itself, and all threads of the group call together, in the same place. A tile is
// never wider than a SIMD-group, which has 32 threads on Apple's GPUs ([[threads_per_simdgroup]] tells); of tiles and SIMD-groups all threads must be there, so a threadgroup is
// whole SIMD-groups. T is a number of 32 bits or less, or a vector of such. Floats are put together in an order that is fixed.
#ifndef DCMETAL_COOPERATIVE
#define DCMETAL_COOPERATIVE
#include <metal_stdlib>

namespace dcmetal {

// `of` puts two values together, `of_all` those of a SIMD-group, `up_to` those up to and with the thread's own, and `before` without it; with `none` of some value what that is in comes to the same.
struct add {
  template <class T> static T of(T a, T b) { return a + b; }
  template <class T> static T of_all(T x) { return metal::simd_sum(x); }
  template <class T> static T up_to(T x) { return metal::simd_prefix_inclusive_sum(x); }
  template <class T> static T before(T x) { return metal::simd_prefix_exclusive_sum(x); }
  template <class T> static T none(T) { return T(0); }
};
struct multiply {
  template <class T> static T of(T a, T b) { return a * b; }
  template <class T> static T of_all(T x) { return metal::simd_product(x); }
  template <class T> static T up_to(T x) { return metal::simd_prefix_inclusive_product(x); }
  template <class T> static T before(T x) { return metal::simd_prefix_exclusive_product(x); }
  template <class T> static T none(T) { return T(1); }
};
struct least {
  template <class T> static T of(T a, T b) { return metal::min(a, b); }
  template <class T> static T of_all(T x) { return metal::simd_min(x); }
  template <class T> static T none(T any) { return any; }
};
struct most {
  template <class T> static T of(T a, T b) { return metal::max(a, b); }
  template <class T> static T of_all(T x) { return metal::simd_max(x); }
  template <class T> static T none(T any) { return any; }
};
struct bit_and {
  template <class T> static T of(T a, T b) { return a & b; }
  template <class T> static T of_all(T x) { return metal::simd_and(x); }
  template <class T> static T none(T any) { return any; }
};
struct bit_or {
  template <class T> static T of(T a, T b) { return a | b; }
  template <class T> static T of_all(T x) { return metal::simd_or(x); }
  template <class T> static T none(T any) { return any; }
};
struct bit_xor {
  template <class T> static T of(T a, T b) { return a ^ b; }
  template <class T> static T of_all(T x) { return metal::simd_xor(x); }
  template <class T> static T none(T) { return T(0); }
};

// Whether values come to the same in any order, so that it may be the device's.
template <class T> struct any_order : metal::is_integral<T> {};
template <class T, int n> struct any_order<metal::vec<T, n>> : metal::is_integral<T> {};
template <class Op> struct scans : metal::false_type {};
template <> struct scans<add> : metal::true_type {};
template <> struct scans<multiply> : metal::true_type {};

// N threads of a SIMD-group, next to each other.
template <uint N> struct tile {
  static_assert(N >= 2 && N <= 32 && (N & (N - 1)) == 0, "a tile has 2, 4, 8, 16 or 32 threads");
  uint lane;

  // [[thread_index_in_simdgroup]]
  explicit tile(uint lane_in_simdgroup) : lane(lane_in_simdgroup) {}
  // This thread's number in the tile, and the tile's in the SIMD-group.
  uint thread_rank() const { return lane & (N - 1); }
  uint rank() const { return lane / N; }
  static constexpr uint size() { return N; }

  // The value of the thread of that number (modulo N), which may differ from thread to thread.
  template <class T> T shuffle(T x, uint from) const { return metal::simd_shuffle(x, ushort((lane & ~(N - 1)) | (from & (N - 1)))); }
  template <class T> T shuffle_xor(T x, uint mask) const { return metal::simd_shuffle_xor(x, ushort(mask & (N - 1))); }
  // The same thread's for all.
  template <class T> T broadcast(T x, uint from) const { return shuffle(x, from); }
  // Of the thread so many before; the first threads keep their own.
  template <class T> T shuffle_up(T x, uint by) const {
    return shuffle(x, thread_rank() >= by ? thread_rank() - by : thread_rank());
  }
  // Of the thread so many behind; the last threads keep their own.
  template <class T> T shuffle_down(T x, uint by) const {
    return shuffle(x, thread_rank() + by < N ? thread_rank() + by : thread_rank());
  }

  // All values put together, for each thread.
  template <class Op, class T> T reduce(T x) const {
    return reduce<Op>(x, metal::bool_constant<N == 32 && any_order<T>::value>());
  }
  // The values up to and with the thread's own.
  template <class Op, class T> T inclusive_scan(T x) const {
    return inclusive_scan<Op>(x, metal::bool_constant<N == 32 && any_order<T>::value && scans<Op>::value>());
  }
  // Those before it; the first thread has `none`.
  template <class Op, class T> T exclusive_scan(T x, T none) const {
    T all = before<Op>(x, metal::bool_constant<N == 32 && any_order<T>::value && scans<Op>::value>());
    return thread_rank() == 0 ? none : all;
  }
  template <class T> T sum(T x) const { return reduce<add>(x); }

  // A bit for each thread, 1 where the condition holds; the first thread's is the lowest.
  uint ballot(bool holds) const {
    metal::simd_vote::vote_t all = static_cast<metal::simd_vote::vote_t>(metal::simd_ballot(holds));
    return uint(all >> (lane & ~(N - 1))) & (0xFFFFFFFFu >> (32 - N));
  }
  bool any(bool holds) const { return ballot(holds) != 0; }
  bool all(bool holds) const { return ballot(holds) == 0xFFFFFFFFu >> (32 - N); }

private:
  template <class Op, class T> T reduce(T x, metal::true_type) const { return Op::of_all(x); }
  template <class Op, class T> T reduce(T x, metal::false_type) const {
    for (uint step = N / 2; step > 0; step /= 2)
      x = Op::of(x, metal::simd_shuffle_xor(x, ushort(step)));
    return x;
  }
  template <class Op, class T> T before(T x, metal::true_type) const { return Op::before(x); }
  template <class Op, class T> T before(T x, metal::false_type) const { return shuffle_up(inclusive_scan<Op>(x), 1); }
  template <class Op, class T> T inclusive_scan(T x, metal::true_type) const { return Op::up_to(x); }
  template <class Op, class T> T inclusive_scan(T x, metal::false_type) const {
    for (uint step = 1; step < N; step *= 2) {
      T before = shuffle_up(x, step);
      if (thread_rank() >= step)
        x = Op::of(before, x);
    }
    return x;
  }
};

// A threadgroup of whole SIMD-groups. Its functions have barriers: all threads of the threadgroup call them. `parts` is threadgroup memory for a
// value of each SIMD-group, 32 at most, that nothing else uses meanwhile.
struct group {
  uint lane, simdgroup, simdgroups;

  // [[thread_index_in_simdgroup]], [[simdgroup_index_in_threadgroup]], [[simdgroups_per_threadgroup]]
  group(uint lane_in_simdgroup, uint simdgroup_in_threadgroup, uint simdgroups_in_threadgroup)
      : lane(lane_in_simdgroup), simdgroup(simdgroup_in_threadgroup), simdgroups(simdgroups_in_threadgroup) {}

  // What was written to threadgroup memory, or to device memory too, is there for all.
  void sync() const { metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup); }
  void sync_device() const {
    metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup | metal::mem_flags::mem_device);
  }

  // All values put together, for each thread.
  template <class Op, class T> T reduce(T x, threadgroup T *parts) const {
    T own = tile<32>(lane).template reduce<Op>(x);
    if (lane == 0)
      parts[simdgroup] = own;
    sync();
    T all = tile<32>(lane).template reduce<Op>(part<Op>(parts));
    sync();
    return all;
  }
  // The values up to and with the thread's own, in the order of their numbers in the threadgroup.
  template <class Op, class T> T inclusive_scan(T x, threadgroup T *parts) const {
    T own = tile<32>(lane).template inclusive_scan<Op>(x);
    if (lane == 31)
      parts[simdgroup] = own;
    sync();
    // The first SIMD-group has none before it: what it is told means nothing.
    T before = tile<32>(lane).shuffle(tile<32>(lane).template inclusive_scan<Op>(part<Op>(parts)), simdgroup - 1);
    sync();
    return simdgroup > 0 ? Op::of(before, own) : own;
  }
  template <class T> T sum(T x, threadgroup T *parts) const { return reduce<add>(x, parts); }

private:
  // The part of the SIMD-group that has the thread's number. They are put together by a SIMD-group, since a loop over numbers in memory may be put into another order by the compiler
  // where math is fast; what shuffles bring may not.
  template <class Op, class T> T part(threadgroup T *parts) const { return lane < simdgroups ? parts[lane] : Op::none(parts[0]); }
};

// All threads of a grid cannot wait for each other: to name this, or OpenCL C's dc_grid_barrier, is an error that says what there is instead.
#define DCMETAL_NO_GRID \
  __attribute__((unavailable("MSL has no barrier of a grid, since Metal promises no progress between threadgroups: launch one kernel up to " \
                             "there and another behind it, write the kernel in OpenCL C, which is cut at dc_grid_barrier(), or launch one " \
                             "threadgroup and use dcmetal::group::sync_device()")))
struct DCMETAL_NO_GRID grid {
  template <class... Told> explicit grid(Told...);
  void sync() const;
};

} // namespace dcmetal

DCMETAL_NO_GRID void dc_grid_barrier();
#undef DCMETAL_NO_GRID
#endif
