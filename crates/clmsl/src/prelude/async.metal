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
