// Texels: how a texture lies in memory, and what a texel's bits mean (MSL specification 8.7, conversion rules for textures; OpenCL C 3.0
// 8.3). The types of <metal_texture> are made of these functions. The Rust side of the two structs is
// crates/hostmetal/src/executor/texture.rs.
//
// Nothing here is inlined into kernels: a format is known when a kernel runs, not when it is compiled.
#pragma once

extern "C" {

struct hm_level {
  unsigned long offset; // in bytes, in the slice
  unsigned long row;    // bytes from one row to the next
  unsigned long image;  // bytes from one image of a 3D texture to the next
  unsigned width, height, depth;
  unsigned unused;
};

// Lies at a multiple of 1024 bytes, in memory that is never unmapped.
struct hm_texture {
  unsigned long handle; // of this texture while it lives: its address and, in the last ten bits, a number that changes when the place is reused
  char *texels;
  unsigned long slice; // bytes from one slice to the next
  unsigned kind;       // hostmetal::texel_kind
  unsigned order;      // hostmetal::texel_order
  unsigned components;
  unsigned component_size; // in bytes
  unsigned texel_size;     // in bytes
  unsigned slices, levels; // slices: elements of an array, times six faces of a cube, times samples of a texel
  unsigned samples;        // of a multisampled texture, 1 for others
  unsigned swizzle;        // an MTLTextureSwizzle in each byte: of red, green, blue, alpha
  unsigned unused;
  hm_level level[15];
};

} // extern "C"

namespace hostmetal {

// What a texture is in memory and in registers (MTLResourceID): handles come from argument buffers, which a program may fill with anything.
// One that is no living texture's gives an address that faults, and by which the host knows the reason (crates/hostmetal/src/executor/handle.rs).
enum : ulong { not_a_texture = 0x8000, not_a_sampler = 0x8800, not_a_command_buffer = 0x9000, not_a_command = 0x9800, not_for_atomics = 0xa000,
             not_a_function_table = 0xa800, not_a_function = 0xb000, not_for_slices = 0xb800 };
METAL_FUNC const hm_texture *described(ulong handle) {
  const hm_texture *t = (const hm_texture *)(handle & ~1023ul);
  if (__builtin_expect(t->handle != handle, 0))
    return (const hm_texture *)not_a_texture;
  return t;
}

enum texel_kind : unsigned {
  kind_unorm, kind_snorm, kind_uint, kind_sint, kind_float, kind_srgb,
  // From here on the components are fields of one number of 16 or 32 bits.
  kind_rgb10a2_unorm, kind_bgr10a2_unorm, kind_b5g6r5_unorm, kind_a1bgr5_unorm, kind_abgr4_unorm, kind_bgr5a1_unorm,
  kind_rgb10a2_uint, kind_rg11b10_float, kind_rgb9e5_float
};
enum texel_order : unsigned { order_rgba, order_bgra, order_alpha };

// Sums and products stay as written, whatever the program is compiled with.
#define HM_EXACT _Pragma("clang fp reassociate(off) reciprocal(off) contract(off)")

// Address of a texel, null when there is none.
METAL_FUNC char *texel(const hm_texture *t, uint x, uint y, uint z, uint slice, uint level) {
  if (level >= t->levels || slice >= t->slices)
    return nullptr;
  const hm_level *l = &t->level[level];
  if (x >= l->width || y >= l->height || z >= l->depth)
    return nullptr;
  return t->texels + slice * t->slice + l->offset + z * l->image + y * l->row + (ulong)x * t->texel_size;
}

// Texels of a buffer's texture are aligned as that buffer's offset is, so components are copied.
template <class T>
METAL_FUNC T load(const char *at) {
  T value;
  __builtin_memcpy(&value, at, sizeof(T));
  return value;
}
template <class T>
METAL_FUNC void store(char *at, T value) {
  __builtin_memcpy(at, &value, sizeof(T));
}
METAL_FUNC uint load_bits(const char *at, uint size) { return size == 1 ? load<uchar>(at) : size == 2 ? load<ushort>(at) : load<uint>(at); }
METAL_FUNC void store_bits(char *at, uint size, uint bits) {
  if (size == 1)
    store<uchar>(at, (uchar)bits);
  else if (size == 2)
    store<ushort>(at, (ushort)bits);
  else
    store<uint>(at, bits);
}

// bits / most, rounded once: the product in double is closer to the quotient than the quotient is to any middle between two floats.
METAL_FUNC float fraction(int bits, int most) {
  HM_EXACT
  return (float)((double)bits * ((double)1 / (double)most));
}

METAL_FUNC float linear_of_srgb(float c) {
  HM_EXACT
  return c <= 0.04045f ? c / 12.92f : __builtin_powf((c + 0.055f) / 1.055f, 2.4f);
}
METAL_FUNC float srgb_of_linear(float c) {
  HM_EXACT
  return c < 0.0031308f ? 12.92f * c : 1.055f * __builtin_powf(c, 1 / 2.4f) - 0.055f;
}

METAL_FUNC float decode(uint kind, uint size, uint bits, bool color) {
  switch (kind) {
  case kind_unorm:
    return fraction((int)bits, size == 1 ? 255 : 65535);
  case kind_snorm: {
    float value = size == 1 ? fraction((signed char)bits, 127) : fraction((short)bits, 32767);
    return value < -1 ? -1 : value;
  }
  case kind_srgb: {
    float value = fraction((int)bits, 255);
    return color ? linear_of_srgb(value) : value;
  }
  default:
    return size == 2 ? (float)__builtin_bit_cast(half, (ushort)bits) : __builtin_bit_cast(float, bits);
  }
}

// NaN gives 0.
METAL_FUNC float within(float value, float low) {
  float clamped = value < low ? low : value > 1 ? 1 : value;
  return clamped == clamped ? clamped : 0;
}
METAL_FUNC uint encode(uint kind, uint size, float value, bool color) {
  HM_EXACT
  switch (kind) {
  case kind_unorm:
    return (uint)__builtin_rintf(within(value, 0) * (size == 1 ? 255.0f : 65535.0f));
  case kind_snorm:
    return (uint)(int)__builtin_rintf(within(value, -1) * (size == 1 ? 127.0f : 32767.0f));
  case kind_srgb: {
    float c = within(value, 0);
    return (uint)__builtin_rintf((color ? srgb_of_linear(c) : c) * 255.0f);
  }
  default:
    return size == 2 ? (uint)__builtin_bit_cast(ushort, (half)value) : __builtin_bit_cast(uint, value);
  }
}

// A component's field of a packed format.
struct field_place {
  uint at, width;
};
METAL_FUNC field_place field_of(uint kind, int component) {
  // Bits of red, green, blue, alpha; a format's name lists them from the lowest.
  constexpr uchar at[6][4] = {{0, 10, 20, 30}, {20, 10, 0, 30}, {11, 5, 0, 0}, {11, 6, 1, 0}, {12, 8, 4, 0}, {10, 5, 0, 15}};
  constexpr uchar width[6][4] = {{10, 10, 10, 2}, {10, 10, 10, 2}, {5, 6, 5, 0}, {5, 5, 5, 1}, {4, 4, 4, 4}, {5, 5, 5, 1}};
  uint row = kind - kind_rgb10a2_unorm;
  return field_place{at[row][component], width[row][component]};
}

// Floats of 5 exponent bits and no sign (MSL 8.7.4): a half's, with fewer mantissa bits.
METAL_FUNC float float_of_small(uint bits, uint mantissa) { return (float)__builtin_bit_cast(half, (ushort)(bits << (10 - mantissa))); }
METAL_FUNC uint small_of_float(float value, uint mantissa) {
  HM_EXACT
  uint infinity = 31u << mantissa;
  if (value != value)
    return infinity | 1u << (mantissa - 1);
  if (!(value > 0))
    return 0;
  if (value >= 65536.0f)
    return infinity;
  if (value < 0x1p-14f)
    return (uint)__builtin_rintf(value * (float)(1u << (14 + mantissa)));
  uint bits = __builtin_bit_cast(uint, value), lost = 23 - mantissa;
  uint nearest = (bits + (1u << (lost - 1)) - 1 + (bits >> lost & 1)) >> lost;
  uint rebased = nearest - (112u << mantissa);
  return rebased < infinity ? rebased : infinity;
}

// Three mantissas of 9 bits and one exponent (MSL 8.7.5).
METAL_FUNC uint shared_exponent(metal::vec<float, 4> v) {
  HM_EXACT
  const double most = 65408.0; // 511 / 512 * 2^16
  double c[3], largest = 0;
  for (int i = 0; i < 3; i++) {
    double given = (double)v[i];
    c[i] = given > 0 ? given < most ? given : most : 0;
    largest = c[i] > largest ? c[i] : largest;
  }
  // floor(log2(largest)) + 1 + 15, and at least 0.
  int exponent = (int)(__builtin_bit_cast(ulong, largest) >> 52) - 1023 + 16;
  exponent = exponent > 0 ? exponent : 0;
  double scale = __builtin_bit_cast(double, (ulong)(1023 + 24 - exponent) << 52);
  if (__builtin_floor(largest * scale + 0.5) == 512.0) {
    exponent++;
    scale *= 0.5;
  }
  uint bits = (uint)exponent << 27;
  for (int i = 0; i < 3; i++)
    bits |= (uint)__builtin_floor(c[i] * scale + 0.5) << 9 * i;
  return bits;
}

METAL_FUNC metal::vec<float, 4> decode_packed(const hm_texture *t, const char *at) {
  metal::vec<float, 4> v(0, 0, 0, 1);
  uint bits = load_bits(at, t->texel_size);
  if (t->kind == kind_rg11b10_float)
    return metal::vec<float, 4>(float_of_small(bits & 2047, 6), float_of_small(bits >> 11 & 2047, 6), float_of_small(bits >> 22, 5), 1.0f);
  if (t->kind == kind_rgb9e5_float) {
    float scale = __builtin_bit_cast(float, ((bits >> 27) + 127 - 24) << 23);
    return metal::vec<float, 4>((float)(bits & 511) * scale, (float)(bits >> 9 & 511) * scale, (float)(bits >> 18 & 511) * scale, 1.0f);
  }
  for (int i = 0; i < (int)t->components; i++) {
    field_place f = field_of(t->kind, i);
    int most = (1 << f.width) - 1;
    v[i] = fraction((int)(bits >> f.at) & most, most);
  }
  return v;
}
METAL_FUNC void encode_packed(const hm_texture *t, char *at, metal::vec<float, 4> v) {
  HM_EXACT
  uint bits = 0;
  if (t->kind == kind_rg11b10_float) {
    bits = small_of_float(v.x, 6) | small_of_float(v.y, 6) << 11 | small_of_float(v.z, 5) << 22;
  } else if (t->kind == kind_rgb9e5_float) {
    bits = shared_exponent(v);
  } else {
    for (int i = 0; i < (int)t->components; i++) {
      field_place f = field_of(t->kind, i);
      bits |= (uint)__builtin_rintf(within(v[i], 0) * (float)((1 << f.width) - 1)) << f.at;
    }
  }
  store_bits(at, t->texel_size, bits);
}

// What a kernel gets for the components of a texel (Apple, MTLTextureSwizzleChannels). A comparison is with what red gives.
constexpr uint as_they_are = 0x05040302;
template <class V>
METAL_FUNC V swizzled(const hm_texture *t, V v) {
  if (__builtin_expect(t->swizzle == as_they_are, 1))
    return v;
  V result;
  for (int i = 0; i < 4; i++) {
    uint from = t->swizzle >> 8 * i & 255; // zero, one, red, green, blue, alpha
    result[i] = from < 2 ? (decltype(v.x))from : v[(int)(from - 2 & 3)];
  }
  return result;
}

METAL_FUNC metal::vec<float, 4> decode_color(const hm_texture *t, const char *at) {
  metal::vec<float, 4> v(0, 0, 0, 1);
  if (t->kind >= kind_rgb10a2_unorm)
    return decode_packed(t, at);
  uint size = t->component_size, kind = t->kind;
  if (t->order == order_alpha)
    return metal::vec<float, 4>(0, 0, 0, decode(kind, size, load_bits(at, size), false));
  for (uint i = 0; i < t->components; i++)
    v[(int)i] = decode(kind, size, load_bits(at + i * size, size), i < 3);
  return t->order == order_bgra ? metal::vec<float, 4>(v.z, v.y, v.x, v.w) : v;
}
inline __attribute__((noinline)) metal::vec<float, 4> decode_float(const hm_texture *t, const char *at) { return swizzled(t, decode_color(t, at)); }

METAL_FUNC metal::vec<uint, 4> decode_numbers(const hm_texture *t, const char *at) {
  metal::vec<uint, 4> v(0, 0, 0, 1);
  uint size = t->component_size;
  if (t->kind == kind_rgb10a2_uint) {
    uint bits = load<uint>(at);
    return metal::vec<uint, 4>(bits & 1023, bits >> 10 & 1023, bits >> 20 & 1023, bits >> 30);
  }
  for (uint i = 0; i < t->components; i++) {
    uint bits = load_bits(at + i * size, size);
    v[(int)i] = t->kind != kind_sint || size == 4 ? bits : size == 1 ? (uint)(int)(signed char)bits : (uint)(int)(short)bits;
  }
  return v;
}
inline __attribute__((noinline)) metal::vec<uint, 4> decode_integer(const hm_texture *t, const char *at) { return swizzled(t, decode_numbers(t, at)); }

inline __attribute__((noinline)) void encode_float(const hm_texture *t, char *at, metal::vec<float, 4> v) {
  if (t->kind >= kind_rgb10a2_unorm)
    return encode_packed(t, at, v);
  uint size = t->component_size, kind = t->kind;
  if (t->order == order_alpha)
    return store_bits(at, size, encode(kind, size, v.w, false));
  if (t->order == order_bgra)
    v = metal::vec<float, 4>(v.z, v.y, v.x, v.w);
  for (uint i = 0; i < t->components; i++)
    store_bits(at + i * size, size, encode(kind, size, v[(int)i], i < 3));
}

// Values that the format cannot hold become the nearest one that it can.
inline __attribute__((noinline)) void encode_integer(const hm_texture *t, char *at, metal::vec<uint, 4> v) {
  if (t->kind == kind_rgb10a2_uint) {
    auto most = [](uint value, uint limit) { return value < limit ? value : limit; };
    return store<uint>(at, most(v.x, 1023) | most(v.y, 1023) << 10 | most(v.z, 1023) << 20 | most(v.w, 3) << 30);
  }
  uint size = t->component_size, bits = 8 * size;
  for (uint i = 0; i < t->components; i++) {
    uint value = v[(int)i];
    if (size < 4 && t->kind == kind_uint) {
      uint most = (1u << bits) - 1;
      value = value > most ? most : value;
    } else if (size < 4) {
      int most = (1 << (bits - 1)) - 1, given = (int)value;
      value = (uint)(given > most ? most : given < -most - 1 ? -most - 1 : given);
    }
    store_bits(at + i * size, size, value);
  }
}

// Texels as float4, uint4 (unsigned) or uint4 that holds int4: what textures of the three classes of component types work with.
struct float_texels {
  typedef metal::vec<float, 4> vector;
  static METAL_FUNC vector decode(const hm_texture *t, const char *at) { return decode_float(t, at); }
  static METAL_FUNC void encode(const hm_texture *t, char *at, vector v) { encode_float(t, at, v); }
};
struct integer_texels {
  typedef metal::vec<uint, 4> vector;
  static METAL_FUNC vector decode(const hm_texture *t, const char *at) { return decode_integer(t, at); }
  static METAL_FUNC void encode(const hm_texture *t, char *at, vector v) { encode_integer(t, at, v); }
};

METAL_FUNC bool has_alpha(const hm_texture *t) { return t->components == 4 || t->order == order_alpha; }

// Outside of the texture a read gives zero, and 1 for alpha where the format has none (MSL 6.12); a write does nothing.
template <class Texels>
inline __attribute__((noinline)) typename Texels::vector outside(const hm_texture *t) {
  return swizzled(t, typename Texels::vector(0, 0, 0, has_alpha(t) ? 0 : 1));
}
template <class Texels>
METAL_FUNC typename Texels::vector read_texel(const hm_texture *t, uint x, uint y, uint z, uint slice, uint level) {
  const char *at = texel(t, x, y, z, slice, level);
  return at ? Texels::decode(t, at) : outside<Texels>(t);
}
template <class Texels>
METAL_FUNC void write_texel(const hm_texture *t, typename Texels::vector v, uint x, uint y, uint z, uint slice, uint level) {
  if (char *at = texel(t, x, y, z, slice, level))
    Texels::encode(t, at, v);
}

} // namespace hostmetal
