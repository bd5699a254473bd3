//= fence any
template <metal::thread_scope S> inline void clmsl_fence() {
  metal::atomic_thread_fence(
      metal::mem_flags::mem_device | metal::mem_flags::mem_threadgroup, metal::memory_order_seq_cst, S);
}
//= fenced any : fence
// The value of an atomic operation, with a fence behind the operation.
template <metal::thread_scope S, typename T> inline T clmsl_fenced(T value) {
  clmsl_fence<S>();
  return value;
}
//= atomic_compare_exchange any
// Metal has only the weak form, which may fail without reason and is then repeated.
template <typename P, typename E, typename T>
inline bool clmsl_atomic_compare_exchange(P object, E expected, T desired) {
  auto wanted = *expected;
  T old = as_type<T>(wanted);
  while (!metal::atomic_compare_exchange_weak_explicit(
      object, &old, desired, metal::memory_order_relaxed, metal::memory_order_relaxed)) {
    if (old != as_type<T>(wanted)) {
      *expected = as_type<decltype(wanted)>(old);
      return false;
    }
  }
  return true;
}
//= atomic_compare_exchange_total any
// As a part of a total order: what does not exchange writes the value that it found, as every operation of that order
// writes.
template <typename P, typename E, typename T>
inline bool clmsl_atomic_compare_exchange_total(P object, E expected, T desired) {
  auto wanted = *expected;
  T old = as_type<T>(wanted);
  for (;;) {
    T found = old;
    bool same = old == as_type<T>(wanted);
    if (metal::atomic_compare_exchange_weak_explicit(
            object, &found, same ? desired : old, metal::memory_order_relaxed, metal::memory_order_relaxed)) {
      if (!same) {
        *expected = as_type<decltype(wanted)>(old);
      }
      return same;
    }
    old = found;
  }
}
//= atomic_local_add any
// Metal adds floats atomically in device memory only. `object` is an unsigned integer with the bits of one.
template <typename P> inline float clmsl_atomic_local_add(P object, float value) {
  uint old = metal::atomic_load_explicit(object, metal::memory_order_relaxed);
  while (!metal::atomic_compare_exchange_weak_explicit(
      object, &old, as_type<uint>(as_type<float>(old) + value), metal::memory_order_relaxed,
      metal::memory_order_relaxed)) {
  }
  return as_type<float>(old);
}
