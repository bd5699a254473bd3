// atomic_cmpxchg: Metal has only the weak form, which may fail without reason and is then repeated.
inline int clmsl_atomic_cmpxchg(volatile device metal::atomic_int* p, int expected, int desired) {
  int old = expected;
  while (!metal::atomic_compare_exchange_weak_explicit(
             p, &old, desired, metal::memory_order_relaxed, metal::memory_order_relaxed) &&
         old == expected) {
  }
  return old;
}
inline uint clmsl_atomic_cmpxchg(volatile device metal::atomic_uint* p, uint expected, uint desired) {
  uint old = expected;
  while (!metal::atomic_compare_exchange_weak_explicit(
             p, &old, desired, metal::memory_order_relaxed, metal::memory_order_relaxed) &&
         old == expected) {
  }
  return old;
}
inline int clmsl_atomic_cmpxchg(volatile threadgroup metal::atomic_int* p, int expected, int desired) {
  int old = expected;
  while (!metal::atomic_compare_exchange_weak_explicit(
             p, &old, desired, metal::memory_order_relaxed, metal::memory_order_relaxed) &&
         old == expected) {
  }
  return old;
}
inline uint clmsl_atomic_cmpxchg(volatile threadgroup metal::atomic_uint* p, uint expected, uint desired) {
  uint old = expected;
  while (!metal::atomic_compare_exchange_weak_explicit(
             p, &old, desired, metal::memory_order_relaxed, metal::memory_order_relaxed) &&
         old == expected) {
  }
  return old;
}
