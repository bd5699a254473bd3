//= largest float
inline float clmsl_largest(metal::float2 v) { return metal::max(metal::fabs(v.x), metal::fabs(v.y)); }
inline float clmsl_largest(metal::float3 v) { return metal::max(clmsl_largest(v.xy), metal::fabs(v.z)); }
inline float clmsl_largest(metal::float4 v) { return metal::max(clmsl_largest(v.xy), clmsl_largest(v.zw)); }
//= length float/1
inline float clmsl_length(float v) { return metal::fabs(v); }
//= length float/2,3,4 : largest
// Without overflow and underflow on the way.
template <int N> inline float clmsl_length(metal::vec<float, N> v) {
  const float square = metal::dot(v, v);
  if (square > 1e-30f && square < 1e38f) {
    return metal::precise::sqrt(square);
  }
  const float largest = clmsl_largest(v);
  if (metal::isnan(square) || !(largest > 0.0f) || metal::isinf(largest)) {
    return square;
  }
  v = v / largest;
  return largest * metal::precise::sqrt(metal::dot(v, v));
}
//= distance float : length/*
template <typename T> inline float clmsl_distance(T a, T b) { return clmsl_length(a - b); }
//= normalize float/1
inline float clmsl_normalize(float v) {
  return metal::isnan(v) || v == 0.0f ? v : metal::copysign(1.0f, v);
}
//= normalize float/2,3,4 : largest
// Without overflow and underflow on the way.
template <int N> inline metal::vec<float, N> clmsl_normalize(metal::vec<float, N> v) {
  const float square = metal::dot(v, v);
  if (square > 1e-30f && square < 1e38f) {
    return v / metal::precise::sqrt(square);
  }
  if (metal::isnan(square)) {
    return v + square;
  }
  float largest = clmsl_largest(v);
  if (!(largest > 0.0f)) {
    return v;
  }
  if (metal::isinf(largest)) {
    v = metal::select(metal::copysign(metal::vec<float, N>(0.0f), v), metal::copysign(metal::vec<float, N>(1.0f), v),
                      metal::isinf(v));
    largest = 1.0f;
  }
  v = v / largest;
  return v / metal::precise::sqrt(metal::dot(v, v));
}
//= cross float/3
inline metal::float3 clmsl_cross(metal::float3 a, metal::float3 b) { return metal::cross(a, b); }
//= cross float/4
inline metal::float4 clmsl_cross(metal::float4 a, metal::float4 b) {
  return metal::float4(metal::cross(a.xyz, b.xyz), 0.0f);
}
