//= atomic_cmpxchg any
// Metal has only the weak form, which may fail without reason and is then repeated.
template <typename P, typename T> inline T clmsl_atomic_cmpxchg(P p, T expected, T desired) {
  T old = expected;
  while (!metal::atomic_compare_exchange_weak_explicit(
             p, &old, desired, metal::memory_order_relaxed, metal::memory_order_relaxed) &&
         old == expected) {
  }
  return old;
}
