// Sampling: from coordinates to a filtered value (OpenCL C 3.0 8.2, which Metal's rules follow; MSL specification 2.10 and 6.12).
// The Rust side of hm_sampler is crates/hostmetal/src/executor/texture.rs.
#pragma once
#include "hostmetal_texel.h"

extern "C" {

struct hm_sampler {
  // Bits from the lowest: s, t and r address (3 each), mag and min filter (2 each), mip filter (2), pixel coordinates (1), border color (2), comparison (3), reduction (2).
  unsigned bits;
  float lod_min, lod_max, lod_bias;
};

} // extern "C"

namespace hostmetal {

// A sampler as eight bytes (MTLResourceID): 23 bits of settings, the clamps of the level of detail in 1/1024 of a level, 14 bits each, what is
// added to it in 1/64 of a level, 11 bits with a sign, and a mark that addresses and zero do not have. Packed by the host too:
// crates/hostmetal/src/executor/handle.rs.
METAL_FUNC constexpr ulong pack_lod(float lod) { return !(lod > 0) ? 0 : lod < 15.999f ? (ulong)(lod * 1024.0f + 0.5f) : 0x3ffful; }
METAL_FUNC constexpr ulong pack_bias(float bias) { return bias < 15.98f ? (ulong)(long)(bias * 64.0f + 1024.5f) - 1024 & 0x7fful : 0x3fful; }
METAL_FUNC constexpr ulong pack(hm_sampler s) {
  return 2ul << 62 | pack_bias(s.lod_bias) << 51 | pack_lod(s.lod_max) << 37 | pack_lod(s.lod_min) << 23 | (ulong)(s.bits & 0x7fffffu);
}
METAL_FUNC hm_sampler unpack(ulong handle) {
  hm_sampler s = {(unsigned)handle & 0x7fffffu, (float)(handle >> 23 & 0x3ffful) / 1024.0f, (float)(handle >> 37 & 0x3ffful) / 1024.0f,
                  (float)((long)(handle << 2) >> 53) / 64.0f};
  if (handle >> 62 != 2)
    s.bits = *(const volatile unsigned *)not_a_sampler;
  return s;
}

enum address_mode : uint { mode_zero, mode_edge, mode_repeat, mode_mirror, mode_border };
enum : uint { mag_at = 9, min_at = 11, mip_at = 13, pixel_at = 15, border_at = 16, compare_at = 18, reduction_at = 21 };
enum : uint { nearest = 0, linear = 1 };
// MTLSamplerReductionMode; the host sets another than the average for linear filters alone.
enum : uint { average = 0, minimum = 1, maximum = 2 };

// One coordinate's texels, -1 for the border, and the second one's weight.
struct along {
  int first, second;
  float weight;
};

METAL_FUNC int wrapped(int i, int size) {
  int rest = i % size;
  return rest < 0 ? rest + size : rest;
}
METAL_FUNC int addressed(uint mode, int i, int size, bool folded) {
  switch (mode) {
  case mode_repeat:
    return wrapped(i, size);
  case mode_mirror:
    if (!folded) {
      int place = wrapped(i, 2 * size);
      return place < size ? place : 2 * size - 1 - place;
    }
    return i < 0 ? 0 : i < size ? i : size - 1;
  case mode_edge:
    return i < 0 ? 0 : i < size ? i : size - 1;
  default:
    return i < 0 || i >= size ? -1 : i;
  }
}

METAL_FUNC along along_axis(float s, uint extent, uint mode, bool pixel, bool filtered, int offset) {
  HM_EXACT
  int size = (int)extent;
  bool folded = mode == mode_mirror && offset == 0;
  float u;
  if (mode == mode_repeat)
    u = (s - __builtin_floorf(s)) * size;
  else if (folded)
    u = __builtin_fabsf(s - 2.0f * __builtin_rintf(0.5f * s)) * size;
  else if (mode == mode_mirror)
    u = (s - 2.0f * __builtin_floorf(0.5f * s)) * size;
  else
    u = pixel ? s : s * size;
  if (filtered)
    u -= 0.5f;
  float whole = __builtin_floorf(u);
  float weight = u - whole;
  // Before the conversion to an integer: what is far away, and NaN, which is as good as anything.
  float low = -16.0f, high = 2.0f * size + 16.0f;
  int i = (int)(whole > low ? whole < high ? whole : high : low) + offset;
  along at;
  at.first = addressed(mode, i, size, folded);
  at.second = filtered ? addressed(mode, i + 1, size, folded) : at.first;
  at.weight = filtered && weight > 0 ? weight : 0;
  return at;
}

template <class Vector>
METAL_FUNC Vector border(const hm_texture *t, hm_sampler s, uint mode) {
  uint color = mode == mode_border ? s.bits >> border_at & 3 : 0; // transparent black, opaque black, opaque white
  Vector v(color == 2 ? 1 : 0);
  v.w = color != 0;
  // A format without an alpha channel is opaque, and one without a color channel has none of it at the border.
  v.w = has_alpha(t) ? v.w : (decltype(v.w))1;
  if (t->order == order_alpha)
    return swizzled(t, Vector(0, 0, 0, v.w));
  return swizzled(t, Vector(v.x, t->components > 1 ? v.y : 0, t->components > 2 ? v.z : 0, v.w));
}

template <class Texels>
METAL_FUNC typename Texels::vector texel_or_border(const hm_texture *t, hm_sampler s, int x, int y, int z, uint slice, uint level) {
  // All modes of a sampler that can miss share one border color.
  if (x < 0 || y < 0 || z < 0) {
    uint mode = x < 0 ? s.bits & 7 : y < 0 ? s.bits >> 3 & 7 : s.bits >> 6 & 7;
    return border<typename Texels::vector>(t, s, mode);
  }
  return read_texel<Texels>(t, (uint)x, (uint)y, (uint)z, slice, level);
}

// Places that do not exist give a slice that does not exist.
METAL_FUNC uint slice_of_face(uint face, uint element) { return face < 6 && element < 65536 ? element * 6 + face : ~0u; }
METAL_FUNC uint slice_of_sample(const hm_texture *t, uint element, uint sample) {
  return sample < t->samples && element < 65536 ? element * t->samples + sample : ~0u;
}
METAL_FUNC uint slice_of(const hm_texture *t, uint slice) { return slice < t->slices ? slice : t->slices - 1; }

// What a sample does with a texel: takes it, or compares a reference value with it (1 where the comparison passes).
template <class Texels>
struct plain_use {
  METAL_FUNC typename Texels::vector operator()(hm_sampler, typename Texels::vector texel) const { return texel; }
};
struct comparison {
  float reference;
  METAL_FUNC float_texels::vector operator()(hm_sampler s, float_texels::vector texel) const {
    bool less = reference < texel.x, equal = reference == texel.x, greater = reference > texel.x;
    // never, less, equal, less_equal, greater, not_equal, greater_equal, always
    uint function = s.bits >> compare_at & 7;
    bool passes = function == 7 || ((function & 1) && less) || ((function & 2) && equal) || ((function & 4) && greater);
    return float_texels::vector(passes ? 1.0f : 0.0f);
  }
};

// Of each component the lesser or the greater one.
template <class Vector>
METAL_FUNC Vector extreme(uint reduction, Vector a, Vector b) {
  for (int c = 0; c < 4; c++)
    if (reduction == minimum ? b[c] < a[c] : b[c] > a[c])
      a[c] = b[c];
  return a;
}
// What texels are gathered into, each with its weight: their sum, or an extreme of those that have any weight.
template <class Vector>
struct footprint {
  uint reduction;
  bool empty = true;
  Vector value = Vector(0);
  METAL_FUNC footprint(hm_sampler s) : reduction(s.bits >> reduction_at & 3) {}
  METAL_FUNC void add(float weight, Vector texel) {
    HM_EXACT
    if (reduction == average) {
      value = value + Vector(weight) * texel;
    } else if (weight > 0) {
      if (!empty)
        texel = extreme(reduction, value, texel);
      value = texel;
      empty = false;
    }
  }
};

template <class Texels, int Dimensions, class Use>
METAL_FUNC typename Texels::vector sample_one(const hm_texture *t, hm_sampler s, float x, float y, float z, int dx, int dy, int dz, uint slice,
                                              uint level, bool filtered, Use use) {
  HM_EXACT
  typedef typename Texels::vector vector;
  const hm_level *l = &t->level[level];
  bool pixel = s.bits >> pixel_at & 1;
  along i = along_axis(x, l->width, s.bits & 7, pixel, filtered, dx), j = {0, 0, 0}, k = {0, 0, 0};
  if constexpr (Dimensions > 1)
    j = along_axis(y, l->height, s.bits >> 3 & 7, pixel, filtered, dy);
  if constexpr (Dimensions > 2)
    k = along_axis(z, l->depth, s.bits >> 6 & 7, pixel, filtered, dz);
  if constexpr (__is_same(Texels, float_texels)) {
    if (filtered) {
      float a = i.weight, b = j.weight, c = k.weight;
      footprint<vector> all(s);
      for (int corner = 0; corner < 1 << Dimensions; corner++) {
        int right = corner & 1, down = corner >> 1 & 1, behind = corner >> 2;
        float weight = (right ? a : 1 - a);
        if constexpr (Dimensions > 1)
          weight *= (down ? b : 1 - b);
        if constexpr (Dimensions > 2)
          weight *= (behind ? c : 1 - c);
        all.add(weight, use(s, texel_or_border<Texels>(t, s, right ? i.second : i.first, down ? j.second : j.first,
                                                       behind ? k.second : k.first, slice, level)));
      }
      return all.value;
    }
  }
  return use(s, texel_or_border<Texels>(t, s, i.first, j.first, k.first, slice, level));
}

// The levels that a level of detail names, each sampled by one(level, filtered), and their blend. Integer textures are not filtered: their
// texel is the nearest one.
template <class Texels, class One>
METAL_FUNC typename Texels::vector over_levels(const hm_texture *t, hm_sampler s, float lod, One one) {
  HM_EXACT
  constexpr bool filterable = __is_same(Texels, float_texels);
  lod = lod > s.lod_min ? lod : s.lod_min;
  lod = lod < s.lod_max ? lod : s.lod_max;
  bool filtered = filterable && (s.bits >> (lod > 0 ? min_at : mag_at) & 3) == linear;
  uint mip = s.bits >> mip_at & 3, last = t->levels - 1; // none, nearest, linear
  float most = (float)last;
  lod = lod > 0 ? lod < most ? lod : most : 0;
  uint level = mip == 0 ? 0 : (uint)(mip == 1 ? __builtin_floorf(lod + 0.5f) : __builtin_floorf(lod));
  typename Texels::vector value = one(level, filtered);
  if constexpr (filterable) {
    float weight = lod - __builtin_floorf(lod);
    if (mip == 2 && weight > 0) {
      typename Texels::vector next = one(level + 1, filtered);
      if (uint reduction = s.bits >> reduction_at & 3)
        return extreme(reduction, value, next);
      value = typename Texels::vector(1 - weight) * value + typename Texels::vector(weight) * next;
    }
  }
  return value;
}

template <class Texels, int Dimensions, class Use = plain_use<Texels>>
inline __attribute__((noinline)) typename Texels::vector sample(const hm_texture *t, hm_sampler s, float x, float y, float z, int dx, int dy, int dz,
                                                                uint slice, float lod, Use use = {}) {
  slice = slice_of(t, slice);
  return over_levels<Texels>(t, s, lod, [=](uint level, bool filtered) {
    return sample_one<Texels, Dimensions>(t, s, x, y, z, dx, dy, dz, slice, level, filtered, use);
  });
}

// The four texels that a filtered sample of level 0 would use, counter-clockwise from the lower left: one component of each.
template <class Texels, class Use = plain_use<Texels>>
inline __attribute__((noinline)) typename Texels::vector gather(const hm_texture *t, hm_sampler s, float x, float y, int dx, int dy, uint slice,
                                                                int component, Use use = {}) {
  slice = slice_of(t, slice);
  const hm_level *l = &t->level[0];
  bool pixel = s.bits >> pixel_at & 1;
  along i = along_axis(x, l->width, s.bits & 7, pixel, true, dx), j = along_axis(y, l->height, s.bits >> 3 & 7, pixel, true, dy);
  auto at = [=](int column, int row) { return use(s, texel_or_border<Texels>(t, s, column, row, 0, slice, 0))[component]; };
  return typename Texels::vector(at(i.first, j.second), at(i.second, j.second), at(i.second, j.first), at(i.first, j.first));
}

// ---------------------------------------------------------------- cubes

// The face that a direction meets and where, from -s to s of `distance` (MSL table 6.22 for the numbers; Vulkan 1.3, "Cube Map Face Selection"
// for the axes, which Metal shares: Vulkan's cubes run on it unchanged).
struct on_face {
  uint face;
  float s, t, distance;
};
METAL_FUNC on_face face_of(float x, float y, float z) {
  float ax = __builtin_fabsf(x), ay = __builtin_fabsf(y), az = __builtin_fabsf(z);
  if (az >= ax && az >= ay)
    return z < 0 ? on_face{5, -x, -y, az} : on_face{4, x, -y, az};
  if (ay >= ax)
    return y < 0 ? on_face{3, x, -z, ay} : on_face{2, x, z, ay};
  return x < 0 ? on_face{1, z, -y, ax} : on_face{0, -z, -y, ax};
}

// A texel of a face of n by n, or, one beyond an edge, the texel of the face behind that edge. Beyond a corner there is none: false.
METAL_FUNC bool across_edge(uint &face, int &i, int &j, int n) {
  bool outside_i = i < 0 || i >= n, outside_j = j < 0 || j >= n;
  if (!outside_i && !outside_j)
    return true;
  if (outside_i && outside_j)
    return false;
  // The texel's centre in units of half a texel from the face's centre; the faces are at a distance of n.
  int s = 2 * i + 1 - n, t = 2 * j + 1 - n;
  int x = face == 0 ? n : face == 1 ? -n : face == 5 ? -s : s;
  int y = face == 2 ? n : face == 3 ? -n : -t;
  int z = face == 0 ? -s : face == 1 ? s : face == 2 ? t : face == 3 ? -t : face == 4 ? n : -n;
  on_face other = face_of((float)x, (float)y, (float)z);
  int distance = n + 1;
  face = other.face;
  i = ((int)other.s + distance) * n / (2 * distance);
  j = ((int)other.t + distance) * n / (2 * distance);
  return true;
}

// Where on a face of n by n texels, from 0 to n.
METAL_FUNC float across(float s, float distance, int n) {
  HM_EXACT
  return (s / distance + 1) * 0.5f * n;
}
METAL_FUNC int whole(float at, int low, int high) { return at > low ? at < high ? (int)at : high : low; }

template <class Texels, class Use>
METAL_FUNC typename Texels::vector sample_face(const hm_texture *t, hm_sampler s, on_face at, uint element, uint level, bool filtered, Use use) {
  HM_EXACT
  typedef typename Texels::vector vector;
  int n = (int)t->level[level].width;
  float u = across(at.s, at.distance, n), v = across(at.t, at.distance, n);
  auto texel = [=](uint face, int i, int j) { return use(s, read_texel<Texels>(t, (uint)i, (uint)j, 0, element * 6 + face, level)); };
  if constexpr (__is_same(Texels, float_texels)) {
    if (filtered) {
      float left = __builtin_floorf(u - 0.5f), top = __builtin_floorf(v - 0.5f), a = u - 0.5f - left, b = v - 0.5f - top;
      footprint<vector> all(s);
      vector others(0);
      float missing = 0;
      for (int corner = 0; corner < 4; corner++) {
        int right = corner & 1, down = corner >> 1;
        float weight = (right ? a : 1 - a) * (down ? b : 1 - b);
        uint face = at.face;
        int i = whole(left, -1, n - 1) + right, j = whole(top, -1, n - 1) + down;
        if (!across_edge(face, i, j, n)) {
          missing = weight;
          continue;
        }
        vector value = texel(face, i, j);
        all.add(weight, value);
        others = others + value;
      }
      // At a corner of the cube three texels meet: the fourth is their mean.
      if (missing > 0)
        all.add(missing, vector(1.0f / 3) * others);
      return all.value;
    }
  }
  return texel(at.face, whole(u, 0, n - 1), whole(v, 0, n - 1));
}

METAL_FUNC uint element_of(const hm_texture *t, uint element) { return element < t->slices / 6 ? element : t->slices / 6 - 1; }

template <class Texels, class Use = plain_use<Texels>>
inline __attribute__((noinline)) typename Texels::vector sample_cube(const hm_texture *t, hm_sampler s, float x, float y, float z, uint element, float lod,
                                                                     Use use = {}) {
  on_face at = face_of(x, y, z);
  element = element_of(t, element);
  return over_levels<Texels>(t, s, lod, [=](uint level, bool filtered) { return sample_face<Texels>(t, s, at, element, level, filtered, use); });
}

template <class Texels, class Use = plain_use<Texels>>
inline __attribute__((noinline)) typename Texels::vector gather_cube(const hm_texture *t, hm_sampler s, float x, float y, float z, uint element,
                                                                     int component, Use use = {}) {
  on_face place = face_of(x, y, z);
  element = element_of(t, element);
  int n = (int)t->level[0].width;
  int left = whole(__builtin_floorf(across(place.s, place.distance, n) - 0.5f), -1, n - 1);
  int top = whole(__builtin_floorf(across(place.t, place.distance, n) - 0.5f), -1, n - 1);
  auto at = [=](int i, int j) {
    uint face = place.face;
    if (!across_edge(face, i, j, n)) // a corner has no texel of its own
      i = whole(i, 0, n - 1), j = whole(j, 0, n - 1);
    return use(s, read_texel<Texels>(t, (uint)i, (uint)j, 0, element * 6 + face, 0))[component];
  };
  return typename Texels::vector(at(left, top + 1), at(left + 1, top + 1), at(left + 1, top), at(left, top));
}

} // namespace hostmetal
