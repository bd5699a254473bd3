//= bytes any
// The bytes of a number that need not be aligned, as in a packed structure.
template <typename T> struct clmsl_bytes {
  uchar at[sizeof(T)];
};
//= to_bytes any : bytes
template <typename T> inline clmsl_bytes<T> clmsl_to_bytes(T x) {
  clmsl_bytes<T> bytes;
  for (uint i = 0; i < sizeof(T); i++) {
    bytes.at[i] = ((thread const uchar*)&x)[i];
  }
  return bytes;
}
//= from_bytes any : bytes
template <typename T> inline T clmsl_from_bytes(clmsl_bytes<T> bytes) {
  T x;
  for (uint i = 0; i < sizeof(T); i++) {
    ((thread uchar*)&x)[i] = bytes.at[i];
  }
  return x;
}
