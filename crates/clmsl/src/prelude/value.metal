//= value any
// The value of an object in any address space.
template <typename T> inline T clmsl_value(T x) { return x; }
