// [[stage_in]] of kernels: a structure whose members are read from buffers as the pipeline's MTLStageInputOutputDescriptor says (MSL specification
// 5.2.4; conversions: Apple, MTLVertexAttributeDescriptor.format). The descriptor is known when a kernel is compiled: the pre-pass (msl/stage.rs) writes
// a class per kernel that has an `attribute` for each member. Included by hostmetal_kernel.h.
//
// An element's number is grid_origin + thread_position_in_grid / stepRate along the step function's axis, or grid_origin + what the index buffer has at the
// latter's place: so MoltenVK, which draws with tessellation this way, gives baseVertex and firstInstance as the origin of the region. Threads
// beyond the region along that axis read nothing and get zeros.
#pragma once

extern "C" {

struct hm_attribute {
  unsigned index;     // n of [[attribute(n)]]
  unsigned data_type; // MTLDataType
  unsigned present;   // 0: switched off by a function constant
};

// The attributes in the order of the members.
struct hm_attributes {
  unsigned version, count;
  hm_attribute attribute[31];
};

} // extern "C"

namespace hostmetal {

constexpr unsigned attributes_version = 1;

// What a component is in memory: those of texel_kind, and what is known when the pipeline has no descriptor.
enum attribute_kind : unsigned {
  attribute_none, attribute_uint, attribute_int, attribute_unorm, attribute_snorm, attribute_float, attribute_bgra, attribute_unorm_1010102,
  attribute_snorm_1010102, attribute_rg11b10, attribute_rgb9e5
};

// MTLStepFunction of compute functions.
enum attribute_step : unsigned { step_constant = 0, step_x = 5, step_y = 6, step_x_indexed = 7, step_y_indexed = 8 };

constexpr ulong dynamic_stride = ~0ul; // MTLBufferLayoutStrideDynamic: set with the buffer

template <unsigned Kind, unsigned Size>
struct attribute_bits {
  static_assert(Size == 4);
  typedef uint type;
};
template <unsigned Kind>
struct attribute_bits<Kind, 1> {
  typedef uchar type;
};
template <unsigned Kind>
struct attribute_bits<Kind, 2> {
  typedef ushort type;
};
template <>
struct attribute_bits<attribute_int, 1> {
  typedef signed char type;
};
template <>
struct attribute_bits<attribute_int, 2> {
  typedef short type;
};
template <>
struct attribute_bits<attribute_int, 4> {
  typedef int type;
};
template <>
struct attribute_bits<attribute_float, 2> {
  typedef half type;
};
template <>
struct attribute_bits<attribute_float, 4> {
  typedef float type;
};

METAL_FUNC float signed_fraction(int bits, int most) {
  float value = fraction(bits, most);
  return value < -1 ? -1 : value;
}

// A component as it is in memory, or the number that it stands for.
template <unsigned Kind, unsigned Size>
METAL_FUNC auto attribute_component(const char *at, unsigned i) {
  if constexpr (Kind == attribute_unorm)
    return fraction((int)load<typename attribute_bits<Kind, Size>::type>(at + i * Size), Size == 1 ? 255 : 65535);
  else if constexpr (Kind == attribute_snorm)
    return signed_fraction((int)load<typename attribute_bits<attribute_int, Size>::type>(at + i * Size), Size == 1 ? 127 : 32767);
  else if constexpr (Kind == attribute_bgra)
    return fraction((int)load<uchar>(at + (i < 3 ? 2 - i : i)), 255);
  else if constexpr (Kind == attribute_unorm_1010102)
    return fraction((int)(load<uint>(at) >> 10 * i & (i < 3 ? 1023u : 3u)), i < 3 ? 1023 : 3);
  else if constexpr (Kind == attribute_snorm_1010102)
    return i < 3 ? signed_fraction((int)(load<uint>(at) << (22 - 10 * i)) >> 22, 511) : signed_fraction((int)load<uint>(at) >> 30, 1);
  else if constexpr (Kind == attribute_rg11b10)
    return float_of_small(i < 2 ? load<uint>(at) >> 11 * i & 2047 : load<uint>(at) >> 22, i < 2 ? 6 : 5);
  else if constexpr (Kind == attribute_rgb9e5)
    return (float)(load<uint>(at) >> 9 * i & 511) * __builtin_bit_cast(float, ((load<uint>(at) >> 27) + 127 - 24) << 23);
  else
    return load<typename attribute_bits<Kind, Size>::type>(at + i * Size);
}

template <class M>
struct attribute_type {
  typedef M component;
  static constexpr unsigned count = 1;
  template <class Q>
  static METAL_FUNC void set(Q &member, unsigned, M value) { member = value; }
};
template <class T, int N>
struct attribute_type<metal::vec<T, N>> {
  typedef T component;
  static constexpr unsigned count = N;
  template <class Q>
  static METAL_FUNC void set(Q &member, unsigned i, T value) { member[(int)i] = value; }
};
template <class T, int N>
struct attribute_type<metal::packed_vec<T, N>> {
  typedef T component;
  static constexpr unsigned count = N;
  template <class Q>
  static METAL_FUNC void set(Q &member, unsigned i, T value) { member[(int)i] = value; }
};

template <class T>
constexpr bool is_attribute = false;
template <>
constexpr bool is_attribute<float> = true;
template <>
constexpr bool is_attribute<half> = true;
template <>
constexpr bool is_attribute<int> = true;
template <>
constexpr bool is_attribute<uint> = true;
template <>
constexpr bool is_attribute<short> = true;
template <>
constexpr bool is_attribute<ushort> = true;
template <>
constexpr bool is_attribute<char> = true;
template <>
constexpr bool is_attribute<signed char> = true;
template <>
constexpr bool is_attribute<uchar> = true;

// A thread as attributes see it.
struct stage_thread {
  uint x, y;
};
struct stage {
  uint x, y;
  stage(const hm_group *group)
      : x(group->threadgroup_position_in_grid[0] * group->dispatch_threads_per_threadgroup[0]),
        y(group->threadgroup_position_in_grid[1] * group->dispatch_threads_per_threadgroup[1]) {}
  METAL_FUNC stage_thread at(uint in_x, uint in_y) const { return stage_thread{x + in_x, y + in_y}; }
};

// Index: of the attribute; Buffer: of the argument table. IndexBuffer and IndexSize are about the step functions that are indexed.
template <int Index, bool Present, unsigned Kind, unsigned Size, unsigned Count, unsigned Buffer, ulong Offset, ulong Stride, unsigned Step, unsigned Rate,
          unsigned IndexBuffer, unsigned IndexSize>
struct attribute {
  static_assert(Index >= 0 && Index <= 30, "the index of an attribute must be between 0 and 30");
  static constexpr bool reads = Present && Kind != attribute_none;
  static constexpr bool indexed = Step == step_x_indexed || Step == step_y_indexed, along_y = Step == step_y || Step == step_y_indexed;
  static constexpr bool steps = Step != step_constant, asks = reads && steps && Stride == dynamic_stride;
  const char *bytes, *indices;
  uint origin, size;
  ulong asked;
  attribute(const hm_group *group)
      : bytes(reads ? (const char *)group->buffer[Buffer] + Offset : (const char *)nullptr),
        indices(reads && indexed ? (const char *)group->buffer[IndexBuffer] : (const char *)nullptr), origin(group->grid_origin[along_y ? 1 : 0]),
        size(group->grid_size[along_y ? 1 : 0]), asked(asks ? group->attribute_stride[Buffer] : 0) {}

  template <class M>
  METAL_FUNC void fill(M &member, stage_thread where) const {
    typedef attribute_type<plain<M>> type;
    typedef typename type::component T;
    static_assert(is_attribute<T>, "an attribute must be a scalar or a vector of float, half or integers of at most 32 bits");
    if constexpr (!reads) {
      member = plain<M>{};
    } else {
      uint position = along_y ? where.y : where.x;
      if (steps && position >= size) {
        member = plain<M>{};
        return;
      }
      const char *at = bytes;
      if constexpr (steps) {
        uint element = position / Rate;
        if constexpr (indexed)
          element = IndexSize == 2 ? (uint)load<ushort>(indices + 2 * (ulong)element) : load<uint>(indices + 4 * (ulong)element);
        at += (ulong)(element + origin) * (asks ? asked : Stride);
      }
      for (unsigned i = 0; i < type::count; i++)
        type::set(member, i, i < Count ? (T)attribute_component<Kind, Size>(at, i) : (T)(i == 3 ? 1 : 0));
    }
  }
  template <class M>
  static constexpr hm_attribute described() {
    return hm_attribute{(unsigned)Index, data_type_of<plain<M>>(), Present ? 1u : 0u};
  }
};

// A kernel's [[stage_in]]; Members is the class that the pre-pass writes.
template <class Members>
struct stage_in {
  static constexpr bool bound = false, of_grid = true;
  static constexpr unsigned kind = ~0u;
  template <class P>
  struct direct {
    Members members;
    direct(const hm_group *group) : members(group) {}
    plain<P> get(const place &at) const {
      plain<P> object;
      members.fill(object, at.x, at.y);
      return object;
    }
  };
  template <class P>
  using held = direct<P>;
  template <class P>
  static constexpr void describe(hm_attributes &table) {
    Members::template describe<plain<P>>(table);
  }
};

// Of a kernel's arguments only that one has attributes.
template <class A, class P>
struct attributes_of {
  static constexpr void describe(hm_attributes &) {}
};
template <class Members, class P>
struct attributes_of<stage_in<Members>, P> : stage_in<Members> {
  static constexpr void describe(hm_attributes &table) { stage_in<Members>::template describe<P>(table); }
};

} // namespace hostmetal
