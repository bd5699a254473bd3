//= async_copy any
// Copies by all work-items of a group; the barrier at wait_group_events makes them complete. `item` counts the work-items,
// `items` is how many there are.
template <typename D, typename S> inline void clmsl_async_copy(D to, S from, ulong n, ulong item, ulong items) {
  for (ulong i = item; i < n; i += items) {
    to[i] = from[i];
  }
}
//= async_gather any
// Copies by all work-items of a group; the barrier at wait_group_events makes them complete. `item` counts the work-items,
// `items` is how many there are.
template <typename D, typename S>
inline void clmsl_async_gather(D to, S from, ulong n, ulong stride, ulong item, ulong items) {
  for (ulong i = item; i < n; i += items) {
    to[i] = from[i * stride];
  }
}
//= async_scatter any
// Copies by all work-items of a group; the barrier at wait_group_events makes them complete. `item` counts the work-items,
// `items` is how many there are.
template <typename D, typename S>
inline void clmsl_async_scatter(D to, S from, ulong n, ulong stride, ulong item, ulong items) {
  for (ulong i = item; i < n; i += items) {
    to[i * stride] = from[i];
  }
}
//= async_lines any
// Copies lines of planes by all work-items of a group, byte for byte; the barrier at wait_group_events makes them complete.
// Offsets, lengths of lines and of planes are in elements of `bytes` each. `item` counts the work-items, `items` is how many
// there are.
template <typename D, typename S>
inline void clmsl_async_lines(
    D to, S from, ulong to_offset, ulong from_offset, ulong bytes, ulong elements, ulong lines, ulong planes,
    ulong from_line, ulong from_plane, ulong to_line, ulong to_plane, ulong item, ulong items) {
  for (ulong plane = 0; plane < planes; plane++) {
    for (ulong line = 0; line < lines; line++) {
      const ulong target = (to_offset + plane * to_plane + line * to_line) * bytes;
      const ulong source = (from_offset + plane * from_plane + line * from_line) * bytes;
      for (ulong i = item; i < elements * bytes; i += items) {
        to[target + i] = from[source + i];
      }
    }
  }
}
