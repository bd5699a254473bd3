//= read_fenced any
// The fence lets this thread read what it wrote before.
template <typename Texture, typename At> inline auto clmsl_read_fenced(Texture image, At at) {
  image.fence();
  return image.read(at);
}
//= read_fenced_1d_array any
template <typename Texture> inline auto clmsl_read_fenced_1d_array(Texture image, metal::int2 at) {
  image.fence();
  return image.read(uint(at.x), uint(at.y));
}
//= read_fenced_2d_array any
template <typename Texture> inline auto clmsl_read_fenced_2d_array(Texture image, metal::int3 at) {
  image.fence();
  return image.read(metal::uint2(at.xy), uint(at.z));
}
//= opaque_border any
// Whether the border of an image in this channel order is opaque: R, RG, RGB, luminance, sRGB.
inline bool clmsl_opaque_border(uint order) {
  return order == 0x10b0u || order == 0x10b2u || order == 0x10b4u || order == 0x10b9u || order == 0x10bfu;
}
//= nearest_coordinate float
// The texel nearest to one coordinate; -1 and `size` are outside (OpenCL C 3.0, Addressing and Filter Modes).
inline int clmsl_nearest_coordinate(float s, int size, uint sampler) {
  if ((sampler & 14u) == 6u) {
    const int i = int(metal::floor((s - metal::floor(s)) * float(size)));
    return i > size - 1 ? i - size : i;
  }
  if ((sampler & 14u) == 8u) {
    const float mirrored = metal::fabs(s - 2.0f * metal::rint(0.5f * s));
    return metal::min(int(metal::floor(mirrored * float(size))), size - 1);
  }
  const float u = (sampler & 1u) != 0u ? s * float(size) : s;
  return int(metal::floor(metal::clamp(u, -1.0f, float(size))));
}
//= linear_coordinates float
// The two texels around one coordinate, and the weight of the second.
inline metal::int2 clmsl_linear_coordinates(float s, int size, uint sampler, thread float& weight) {
  if ((sampler & 14u) == 6u) {
    const float u = (s - metal::floor(s)) * float(size) - 0.5f;
    weight = u - metal::floor(u);
    const int i = int(metal::floor(u));
    return metal::int2(i < 0 ? i + size : i, i + 1 > size - 1 ? i + 1 - size : i + 1);
  }
  if ((sampler & 14u) == 8u) {
    const float u = metal::fabs(s - 2.0f * metal::rint(0.5f * s)) * float(size) - 0.5f;
    weight = u - metal::floor(u);
    const int i = int(metal::floor(u));
    return metal::int2(metal::max(i, 0), metal::min(i + 1, size - 1));
  }
  const float u = ((sampler & 1u) != 0u ? s * float(size) : s) - 0.5f;
  weight = u - metal::floor(u);
  const int i = int(metal::floor(metal::clamp(u, -2.0f, float(size))));
  return metal::int2(i, i + 1);
}
//= texel_1d any : opaque_border
// The texel at whole coordinates, as the addressing mode says.
template <typename T, metal::access A>
inline metal::vec<T, 4> clmsl_texel_1d(metal::texture1d<T, A> image, uint sampler, int at, uint order = 0u) {
  const int last = int(image.get_width()) - 1;
  const int inside = metal::clamp(at, 0, last);
  if ((sampler & 14u) == 4u && inside != at) {
    return metal::vec<T, 4>(T(0), T(0), T(0), T(clmsl_opaque_border(order)));
  }
  return image.read(uint(inside));
}
//= nearest_1d any : nearest_coordinate(float) texel_1d
template <typename T, metal::access A>
inline metal::vec<T, 4> clmsl_nearest_1d(
    metal::texture1d<T, A> image, uint sampler, float at, uint order = 0u) {
  const int i = clmsl_nearest_coordinate(at, int(image.get_width()), sampler);
  return clmsl_texel_1d(image, sampler, i, order);
}
//= linear_1d any : linear_coordinates(float) texel_1d
template <metal::access A>
inline metal::float4 clmsl_linear_1d(
    metal::texture1d<float, A> image, uint sampler, float at, uint order = 0u) {
  float a;
  const metal::int2 i = clmsl_linear_coordinates(at, int(image.get_width()), sampler, a);
  return (1.0f - a) * clmsl_texel_1d(image, sampler, i.x, order) +
         a * clmsl_texel_1d(image, sampler, i.y, order);
}
//= sample_1d any : nearest_1d linear_1d
template <metal::access A>
inline metal::float4 clmsl_sample_1d(
    metal::texture1d<float, A> image, uint sampler, float at, uint order = 0u) {
  if ((sampler & 32u) == 0u) {
    return clmsl_nearest_1d(image, sampler, at, order);
  }
  return clmsl_linear_1d(image, sampler, at, order);
}
//= read_1d_array any
template <typename T, metal::access A>
inline metal::vec<T, 4> clmsl_read_1d_array(metal::texture1d_array<T, A> image, metal::int2 at) {
  return image.read(uint(at.x), uint(at.y));
}
//= write_1d_array any
template <typename T, metal::access A>
inline void clmsl_write_1d_array(metal::texture1d_array<T, A> image, metal::int2 at, metal::vec<T, 4> colour) {
  image.write(colour, uint(at.x), uint(at.y));
}
//= texel_1d_array any : opaque_border
// The texel at whole coordinates, as the addressing mode says.
template <typename T, metal::access A>
inline metal::vec<T, 4> clmsl_texel_1d_array(
    metal::texture1d_array<T, A> image, uint sampler, metal::int2 at, uint order = 0u) {
  const int last = int(image.get_width()) - 1;
  const int inside = metal::clamp(at.x, 0, last);
  if ((sampler & 14u) == 4u && inside != at.x) {
    return metal::vec<T, 4>(T(0), T(0), T(0), T(clmsl_opaque_border(order)));
  }
  return image.read(uint(inside), uint(metal::clamp(at.y, 0, int(image.get_array_size()) - 1)));
}
//= nearest_1d_array any : nearest_coordinate(float) texel_1d_array
template <typename T, metal::access A>
inline metal::vec<T, 4> clmsl_nearest_1d_array(
    metal::texture1d_array<T, A> image, uint sampler, metal::float2 at, uint order = 0u) {
  const int i = clmsl_nearest_coordinate(at.x, int(image.get_width()), sampler);
  const int layer = int(metal::clamp(metal::rint(at.y), 0.0f, float(image.get_array_size() - 1u)));
  return clmsl_texel_1d_array(image, sampler, metal::int2(i, layer), order);
}
//= linear_1d_array any : linear_coordinates(float) texel_1d_array
template <metal::access A>
inline metal::float4 clmsl_linear_1d_array(
    metal::texture1d_array<float, A> image, uint sampler, metal::float2 at, uint order = 0u) {
  float a;
  const metal::int2 i = clmsl_linear_coordinates(at.x, int(image.get_width()), sampler, a);
  const int layer = int(metal::clamp(metal::rint(at.y), 0.0f, float(image.get_array_size() - 1u)));
  return (1.0f - a) * clmsl_texel_1d_array(image, sampler, metal::int2(i.x, layer), order) +
         a * clmsl_texel_1d_array(image, sampler, metal::int2(i.y, layer), order);
}
//= sample_1d_array any : nearest_1d_array linear_1d_array
template <metal::access A>
inline metal::float4 clmsl_sample_1d_array(
    metal::texture1d_array<float, A> image, uint sampler, metal::float2 at, uint order = 0u) {
  if ((sampler & 32u) == 0u) {
    return clmsl_nearest_1d_array(image, sampler, at, order);
  }
  return clmsl_linear_1d_array(image, sampler, at, order);
}
//= texel_2d any : opaque_border
// The texel at whole coordinates, as the addressing mode says.
template <typename T, metal::access A>
inline metal::vec<T, 4> clmsl_texel_2d(metal::texture2d<T, A> image, uint sampler, metal::int2 at, uint order = 0u) {
  const metal::int2 last = metal::int2(image.get_width(), image.get_height()) - metal::int2(1);
  const metal::int2 inside = metal::clamp(at, metal::int2(0), last);
  if ((sampler & 14u) == 4u && metal::any(inside != at)) {
    return metal::vec<T, 4>(T(0), T(0), T(0), T(clmsl_opaque_border(order)));
  }
  return image.read(metal::uint2(inside));
}
//= nearest_2d any : nearest_coordinate(float) texel_2d
template <typename T, metal::access A>
inline metal::vec<T, 4> clmsl_nearest_2d(
    metal::texture2d<T, A> image, uint sampler, metal::float2 at, uint order = 0u) {
  const int i = clmsl_nearest_coordinate(at.x, int(image.get_width()), sampler);
  const int j = clmsl_nearest_coordinate(at.y, int(image.get_height()), sampler);
  return clmsl_texel_2d(image, sampler, metal::int2(i, j), order);
}
//= linear_2d any : linear_coordinates(float) texel_2d
template <metal::access A>
inline metal::float4 clmsl_linear_2d(
    metal::texture2d<float, A> image, uint sampler, metal::float2 at, uint order = 0u) {
  float a, b;
  const metal::int2 i = clmsl_linear_coordinates(at.x, int(image.get_width()), sampler, a);
  const metal::int2 j = clmsl_linear_coordinates(at.y, int(image.get_height()), sampler, b);
  return (1.0f - a) * (1.0f - b) * clmsl_texel_2d(image, sampler, metal::int2(i.x, j.x), order) +
         a * (1.0f - b) * clmsl_texel_2d(image, sampler, metal::int2(i.y, j.x), order) +
         (1.0f - a) * b * clmsl_texel_2d(image, sampler, metal::int2(i.x, j.y), order) +
         a * b * clmsl_texel_2d(image, sampler, metal::int2(i.y, j.y), order);
}
//= sample_2d any : nearest_2d linear_2d
template <metal::access A>
inline metal::float4 clmsl_sample_2d(
    metal::texture2d<float, A> image, uint sampler, metal::float2 at, uint order = 0u) {
  if ((sampler & 32u) == 0u) {
    return clmsl_nearest_2d(image, sampler, at, order);
  }
  return clmsl_linear_2d(image, sampler, at, order);
}
//= read_2d_array any
template <typename T, metal::access A>
inline metal::vec<T, 4> clmsl_read_2d_array(metal::texture2d_array<T, A> image, metal::int3 at) {
  return image.read(metal::uint2(at.xy), uint(at.z));
}
//= write_2d_array any
template <typename T, metal::access A>
inline void clmsl_write_2d_array(metal::texture2d_array<T, A> image, metal::int3 at, metal::vec<T, 4> colour) {
  image.write(colour, metal::uint2(at.xy), uint(at.z));
}
//= texel_2d_array any : opaque_border
// The texel at whole coordinates, as the addressing mode says.
template <typename T, metal::access A>
inline metal::vec<T, 4> clmsl_texel_2d_array(
    metal::texture2d_array<T, A> image, uint sampler, metal::int3 at, uint order = 0u) {
  const metal::int2 last = metal::int2(image.get_width(), image.get_height()) - metal::int2(1);
  const metal::int2 inside = metal::clamp(at.xy, metal::int2(0), last);
  if ((sampler & 14u) == 4u && metal::any(inside != at.xy)) {
    return metal::vec<T, 4>(T(0), T(0), T(0), T(clmsl_opaque_border(order)));
  }
  return image.read(metal::uint2(inside), uint(metal::clamp(at.z, 0, int(image.get_array_size()) - 1)));
}
//= nearest_2d_array any : nearest_coordinate(float) texel_2d_array
template <typename T, metal::access A>
inline metal::vec<T, 4> clmsl_nearest_2d_array(
    metal::texture2d_array<T, A> image, uint sampler, metal::float3 at, uint order = 0u) {
  const int i = clmsl_nearest_coordinate(at.x, int(image.get_width()), sampler);
  const int j = clmsl_nearest_coordinate(at.y, int(image.get_height()), sampler);
  const int layer = int(metal::clamp(metal::rint(at.z), 0.0f, float(image.get_array_size() - 1u)));
  return clmsl_texel_2d_array(image, sampler, metal::int3(i, j, layer), order);
}
//= linear_2d_array any : linear_coordinates(float) texel_2d_array
template <metal::access A>
inline metal::float4 clmsl_linear_2d_array(
    metal::texture2d_array<float, A> image, uint sampler, metal::float3 at, uint order = 0u) {
  float a, b;
  const metal::int2 i = clmsl_linear_coordinates(at.x, int(image.get_width()), sampler, a);
  const metal::int2 j = clmsl_linear_coordinates(at.y, int(image.get_height()), sampler, b);
  const int layer = int(metal::clamp(metal::rint(at.z), 0.0f, float(image.get_array_size() - 1u)));
  return (1.0f - a) * (1.0f - b) * clmsl_texel_2d_array(image, sampler, metal::int3(i.x, j.x, layer), order) +
         a * (1.0f - b) * clmsl_texel_2d_array(image, sampler, metal::int3(i.y, j.x, layer), order) +
         (1.0f - a) * b * clmsl_texel_2d_array(image, sampler, metal::int3(i.x, j.y, layer), order) +
         a * b * clmsl_texel_2d_array(image, sampler, metal::int3(i.y, j.y, layer), order);
}
//= sample_2d_array any : nearest_2d_array linear_2d_array
template <metal::access A>
inline metal::float4 clmsl_sample_2d_array(
    metal::texture2d_array<float, A> image, uint sampler, metal::float3 at, uint order = 0u) {
  if ((sampler & 32u) == 0u) {
    return clmsl_nearest_2d_array(image, sampler, at, order);
  }
  return clmsl_linear_2d_array(image, sampler, at, order);
}
//= texel_3d any : opaque_border
// The texel at whole coordinates, as the addressing mode says.
template <typename T, metal::access A>
inline metal::vec<T, 4> clmsl_texel_3d(metal::texture3d<T, A> image, uint sampler, metal::int3 at, uint order = 0u) {
  const metal::int3 last = metal::int3(image.get_width(), image.get_height(), image.get_depth()) - metal::int3(1);
  const metal::int3 inside = metal::clamp(at, metal::int3(0), last);
  if ((sampler & 14u) == 4u && metal::any(inside != at)) {
    return metal::vec<T, 4>(T(0), T(0), T(0), T(clmsl_opaque_border(order)));
  }
  return image.read(metal::uint3(inside));
}
//= nearest_3d any : nearest_coordinate(float) texel_3d
template <typename T, metal::access A>
inline metal::vec<T, 4> clmsl_nearest_3d(
    metal::texture3d<T, A> image, uint sampler, metal::float3 at, uint order = 0u) {
  const int i = clmsl_nearest_coordinate(at.x, int(image.get_width()), sampler);
  const int j = clmsl_nearest_coordinate(at.y, int(image.get_height()), sampler);
  const int k = clmsl_nearest_coordinate(at.z, int(image.get_depth()), sampler);
  return clmsl_texel_3d(image, sampler, metal::int3(i, j, k), order);
}
//= linear_3d any : linear_coordinates(float) texel_3d
template <metal::access A>
inline metal::float4 clmsl_linear_3d(
    metal::texture3d<float, A> image, uint sampler, metal::float3 at, uint order = 0u) {
  float a, b, c;
  const metal::int2 i = clmsl_linear_coordinates(at.x, int(image.get_width()), sampler, a);
  const metal::int2 j = clmsl_linear_coordinates(at.y, int(image.get_height()), sampler, b);
  const metal::int2 k = clmsl_linear_coordinates(at.z, int(image.get_depth()), sampler, c);
  return (1.0f - a) * (1.0f - b) * (1.0f - c) * clmsl_texel_3d(image, sampler, metal::int3(i.x, j.x, k.x), order) +
         a * (1.0f - b) * (1.0f - c) * clmsl_texel_3d(image, sampler, metal::int3(i.y, j.x, k.x), order) +
         (1.0f - a) * b * (1.0f - c) * clmsl_texel_3d(image, sampler, metal::int3(i.x, j.y, k.x), order) +
         a * b * (1.0f - c) * clmsl_texel_3d(image, sampler, metal::int3(i.y, j.y, k.x), order) +
         (1.0f - a) * (1.0f - b) * c * clmsl_texel_3d(image, sampler, metal::int3(i.x, j.x, k.y), order) +
         a * (1.0f - b) * c * clmsl_texel_3d(image, sampler, metal::int3(i.y, j.x, k.y), order) +
         (1.0f - a) * b * c * clmsl_texel_3d(image, sampler, metal::int3(i.x, j.y, k.y), order) +
         a * b * c * clmsl_texel_3d(image, sampler, metal::int3(i.y, j.y, k.y), order);
}
//= sample_3d any : nearest_3d linear_3d
template <metal::access A>
inline metal::float4 clmsl_sample_3d(
    metal::texture3d<float, A> image, uint sampler, metal::float3 at, uint order = 0u) {
  if ((sampler & 32u) == 0u) {
    return clmsl_nearest_3d(image, sampler, at, order);
  }
  return clmsl_linear_3d(image, sampler, at, order);
}
//= linear_clamp_to_edge any
constexpr metal::sampler clmsl_linear_clamp_to_edge(
    metal::coord::normalized, metal::address::clamp_to_edge, metal::filter::linear);
//= linear_repeat any
constexpr metal::sampler clmsl_linear_repeat(
    metal::coord::normalized, metal::address::repeat, metal::filter::linear);
//= linear_mirrored_repeat any
constexpr metal::sampler clmsl_linear_mirrored_repeat(
    metal::coord::normalized, metal::address::mirrored_repeat, metal::filter::linear);
//= linear_pixel any
constexpr metal::sampler clmsl_linear_pixel(
    metal::coord::pixel, metal::address::clamp_to_edge, metal::filter::linear);
