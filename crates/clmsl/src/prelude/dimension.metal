//= dimension any
// One component of an id or size; `beyond` for dimensions there are not.
inline uint clmsl_dimension(metal::uint3 v, uint dimension, uint beyond) {
  return dimension == 0u ? v.x : dimension == 1u ? v.y : dimension == 2u ? v.z : beyond;
}
