//= acospi any
template <typename T> inline T clmsl_acospi(T x) { return metal::precise::acos(x) * 0.31830988618379067154f; }
//= asinpi any
template <typename T> inline T clmsl_asinpi(T x) { return metal::precise::asin(x) * 0.31830988618379067154f; }
//= atanpi any
template <typename T> inline T clmsl_atanpi(T x) { return metal::precise::atan(x) * 0.31830988618379067154f; }
//= atan2pi any
template <typename T> inline T clmsl_atan2pi(T y, T x) { return metal::precise::atan2(y, x) * 0.31830988618379067154f; }
