//= print_word any
inline device uint* clmsl_print_word(device uint* to, uint word) {
  *to = word;
  return to + 1;
}
inline device uint* clmsl_print_word(device uint* to, ulong words) {
  return clmsl_print_word(clmsl_print_word(to, uint(words)), uint(words >> 32));
}
template <typename T, int N> inline device uint* clmsl_print_word(device uint* to, metal::vec<T, N> words) {
  for (int i = 0; i < N; i++) {
    to = clmsl_print_word(to, words[i]);
  }
  return to;
}
//= print_words any : print_word
inline void clmsl_print_words(device uint*) {}
template <typename First, typename... Rest>
inline void clmsl_print_words(device uint* to, First first, Rest... rest) {
  clmsl_print_words(clmsl_print_word(to, first), rest...);
}
//= printf any : print_words
// Writes a record of `words` words: the number of the format and the arguments. `printed` begins with the number of words
// that are taken, of words that there are, and of records that did not fit; the last stops before it would wrap.
template <typename... Words>
inline int clmsl_printf(device uint* printed, uint words, uint format, Words... arguments) {
  device metal::atomic_uint* taken = (device metal::atomic_uint*)printed;
  device metal::atomic_uint* lost = (device metal::atomic_uint*)(printed + 2);
  uint at = metal::atomic_load_explicit(taken, metal::memory_order_relaxed);
  do {
    if (words > printed[1] - at) {
      if (metal::atomic_load_explicit(lost, metal::memory_order_relaxed) < 0x80000000u) {
        metal::atomic_fetch_add_explicit(lost, 1u, metal::memory_order_relaxed);
      }
      return -1;
    }
  } while (!metal::atomic_compare_exchange_weak_explicit(
      taken, &at, at + words, metal::memory_order_relaxed, metal::memory_order_relaxed));
  clmsl_print_words(printed + 3 + at, format, arguments...);
  return 0;
}
