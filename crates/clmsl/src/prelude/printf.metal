//= print_size any
// 32-bit words that an argument takes in a record.
inline uint clmsl_print_size(uint) { return 1; }
inline uint clmsl_print_size(ulong) { return 2; }
template <typename T, int N> inline uint clmsl_print_size(metal::vec<T, N>) { return N * clmsl_print_size(T()); }
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
//= text any
// What `%s` prints: bytes up to a zero, to `limit`, or to where they would not fit an empty buffer.
template <typename Pointer> struct clmsl_text {
  Pointer bytes;
  uint length = 0;
  clmsl_text(Pointer from, uint limit, device uint* printed) : bytes(from) {
    while (length < limit && length / 4 < printed[1] && bytes[length] != 0) {
      length++;
    }
  }
};
//= print_text any : print_size print_word text
// In a record: the number of bytes, and these in words.
template <typename Pointer>
inline clmsl_text<Pointer> clmsl_print_text(Pointer bytes, uint limit, device uint* printed) {
  return clmsl_text<Pointer>(bytes, limit, printed);
}
template <typename Pointer> inline uint clmsl_print_size(clmsl_text<Pointer> text) { return 1 + (text.length + 3) / 4; }
template <typename Pointer> inline device uint* clmsl_print_word(device uint* to, clmsl_text<Pointer> text) {
  to = clmsl_print_word(to, text.length);
  for (uint i = 0; i < text.length; i += 4) {
    uint word = 0;
    for (uint k = 0; k < 4 && i + k < text.length; k++) {
      word |= uint(uchar(text.bytes[i + k])) << 8 * k;
    }
    to = clmsl_print_word(to, word);
  }
  return to;
}
//= printf any : print_size print_words
// Writes a record: the number of the format and the arguments. `printed` begins with the number of words that are taken,
// of words that there are, and of records that did not fit; the last stops before it would wrap.
template <typename... Words> inline int clmsl_printf(device uint* printed, uint format, Words... arguments) {
  uint words = 0;
  const uint sizes[] = {clmsl_print_size(format), clmsl_print_size(arguments)...};
  for (uint size : sizes) {
    words += size;
  }
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
