// How a compiled kernel is entered, and what it tells its host about itself. Included behind hostmetal.h in the precompiled header.
//
// The host fills one hm_group per threadgroup. The pre-pass writes, for the one kernel that a shared object holds, either
//   hm_kernel_group(group)             a loop over the threads of the threadgroup (nothing that synchronises is reachable), or
//   hm_kernel_thread(group, x, y, z)   one thread at that position in its threadgroup (the host switches stacks at barriers),
// and hm_kernel_info, the table of the kernel's arguments. Sizes and types in it are clang's own, not a guess from the text.
// With the former goes hm_span, which says whether one call may be for several threadgroups.
// The Rust side of these structs is crates/hostmetal/src/msl/loaded.rs; hm_info_version changes whenever one of them does.
#pragma once

#pragma OPENCL EXTENSION __cl_clang_bitfields : enable

#define HM_EXPORT extern "C" __attribute__((used, visibility("default")))

extern "C" {

struct hm_group {
  void *buffer[31];      // address of the argument: the buffer plus its offset, or the bytes
  void *threadgroup_memory[31]; // dynamic threadgroup memory by index
  unsigned threadgroup_position_in_grid[3];
  unsigned threads_per_threadgroup[3];          // of this threadgroup; smaller at the edge of a grid that does not divide
  unsigned dispatch_threads_per_threadgroup[3]; // as dispatched
  unsigned threads_per_grid[3];
  unsigned threadgroups_per_grid[3];
  unsigned simdgroups_per_threadgroup; // of this threadgroup
  unsigned dispatch_simdgroups_per_threadgroup;
  const hm_texture *const *texture; // by index, null where the kernel has none
  const hm_sampler *sampler;        // by index
  unsigned grid_origin[3]; // of the stage-in region
  unsigned grid_size[3];
  unsigned stream_bytes; // what a thread writes to one place behind the other that is better written around the caches: so many bytes or more
  const unsigned long *attribute_stride; // by index of the buffer, null where no stride is set with a buffer
  void *imageblock;
  unsigned imageblock_size[2]; // width and height
};
static_assert(__builtin_offsetof(hm_group, stream_bytes) == 608, "native/hostmetal/pass/streams.cpp reads it there");
static_assert(__builtin_offsetof(hm_group, threadgroup_memory) == 248 && __builtin_offsetof(hm_group, threadgroup_position_in_grid) == 496 &&
                  __builtin_offsetof(hm_group, texture) == 568 && __builtin_offsetof(hm_group, sampler) == 576 &&
                  __builtin_offsetof(hm_group, grid_origin) == 584 && __builtin_offsetof(hm_group, imageblock) == 624 && sizeof(hm_group) == 640 &&
                  sizeof(hm_sampler) == 16,
              "native/hostmetal/pass/uses.cpp reads them there");

// Bits of the arguments that the kernel's code uses, by index: buffers, threadgroup memory, textures (two words), samplers, the imageblock. The plugin
// (native/hostmetal/pass/uses.cpp) takes away those that it does not.
HM_EXPORT const unsigned long hm_used[6] = {~0ul, ~0ul, ~0ul, ~0ul, ~0ul, ~0ul};

struct hm_binding {
  unsigned kind;      // hostmetal::argument_kind
  unsigned index;
  unsigned access;    // MTLBindingAccess: 0 read only, 1 read and write, 2 write only
  unsigned data_type; // MTLDataType of the pointee, or of a texture's component
  unsigned pointer;   // 1: T *, 0: T &
  unsigned present;   // 0: switched off by a function constant
  unsigned texture_type; // MTLTextureType
  unsigned count;        // of textures or samplers: more than 1 for an array
  unsigned long size; // of the pointee
  unsigned long alignment;
};

} // extern "C"

namespace hostmetal {

constexpr unsigned info_version = 6;

template <unsigned Count>
struct info {
  unsigned version;
  unsigned count;
  unsigned max_threads; // [[max_total_threads_per_threadgroup(n)]], 0 when there is none
  unsigned binding_size;
  unsigned required_threads[3]; // [[required_threads_per_threadgroup(x, y, z)]], 0 when there is none
  hm_binding bindings[Count ? Count : 1];
};

enum argument_kind : unsigned { kind_buffer = 0, kind_threadgroup = 1, kind_texture = 2, kind_sampler = 3, kind_imageblock = 17, kind_function_table = 24 }; // MTLBindingType

// ---------------------------------------------------------------- static threadgroup variables

// One per declaration and template instantiation: `Storage` is a local class of the function that declares the variables. A slot stays in
// the object only while code that reaches the variables does; the offset of its place in the section is the number by which the host knows it.
struct threadgroup_slot {
  ulong size, align;
};
template <class Storage>
struct threadgroup_slot_of {
  static __global const threadgroup_slot slot;
};
template <class Storage>
__attribute__((section("hm_threadgroup"))) __global const threadgroup_slot threadgroup_slot_of<Storage>::slot = {sizeof(Storage), alignof(Storage)};

// The ends of that section, written by the linker; there is none when no variable is left.
extern "C" __attribute__((weak, visibility("hidden"))) __global const threadgroup_slot __start_hm_threadgroup, __stop_hm_threadgroup;
HM_EXPORT __global const threadgroup_slot *hm_threadgroup_first = &__start_hm_threadgroup;
HM_EXPORT __global const threadgroup_slot *hm_threadgroup_last = &__stop_hm_threadgroup;

template <class Storage>
inline __attribute__((always_inline)) threadgroup Storage &threadgroup_object() {
  ulong offset = (ulong)&threadgroup_slot_of<Storage>::slot - (ulong)&__start_hm_threadgroup;
  return *(threadgroup Storage *)hm_runtime->threadgroup_allocate((unsigned)offset, sizeof(Storage), alignof(Storage));
}

// The arms of `c ? a : b` as values, where clang finds no common type of two classes in different address spaces.
template <class T>
inline __attribute__((always_inline)) constexpr T value(T object) {
  return object;
}

// What a method for objects in `device` returns: its object is in clang's __global, which contains `device` (hostmetal_language.h).
template <class T>
inline __attribute__((always_inline)) constexpr device T &in_device(__global T &object) {
  return (device T &)object;
}
template <class T>
inline __attribute__((always_inline)) constexpr device T *in_device(__global T *object) {
  return (device T *)object;
}
template <class T>
inline __attribute__((always_inline)) constexpr device T &in_device(device T &object) {
  return object;
}
template <class T>
inline __attribute__((always_inline)) constexpr device T *in_device(device T *object) {
  return object;
}

// What a pointer is moved by: an object of a class becomes the integer that it converts to.
template <class T>
inline __attribute__((always_inline)) constexpr auto offset(const T &by) {
  if constexpr (metal::is_class_v<T> && __is_convertible(T, ptrdiff_t))
    return (ptrdiff_t)T(by);
  else
    return by;
}

// `const_cast<T thread &>(object)`: clang's own would have to say that the object is in `thread`, which is any address space here.
template <class R, class T>
inline __attribute__((always_inline)) constexpr R without_const(T &object) {
  typedef metal::remove_addrspace_t<T> plain;
  static_assert(__is_same(metal::remove_cv_t<metal::remove_addrspace_t<metal::remove_reference_t<R>>>, metal::remove_cv_t<plain>) &&
                    (__is_same(T, plain) || __is_same(T, __private plain)),
                "const_cast can only adjust type qualifiers");
  return (R)object;
}

// T, where template argument deduction must not look.
template <class T>
struct of_grid_as {
  typedef T type;
};
template <class T>
using same = typename of_grid_as<T>::type;

// ---------------------------------------------------------------- reflection

// MTLDataType (Metal/MTLArgument.h): 1 struct, 2 array; 60 pointer is never an argument's own type.
template <class T>
struct data_type {
  static constexpr unsigned value = 1;
};
template <>
struct data_type<void> {
  static constexpr unsigned value = 0;
};
template <class T>
struct data_type<T *> {
  static constexpr unsigned value = 60;
};
template <class T, __SIZE_TYPE__ N>
struct data_type<T[N]> {
  static constexpr unsigned value = 2;
};
#define HM_DATA_TYPE(type, first)                                                                                                                    \
  template <>                                                                                                                                       \
  struct data_type<type> {                                                                                                                          \
    static constexpr unsigned value = first;                                                                                                        \
  };                                                                                                                                                \
  template <int N>                                                                                                                                  \
  struct data_type<metal::vec<type, N>> {                                                                                                           \
    static constexpr unsigned value = first + N - 1;                                                                                                \
  };                                                                                                                                                \
  template <int N>                                                                                                                                  \
  struct data_type<metal::packed_vec<type, N>> {                                                                                                    \
    static constexpr unsigned value = first + N - 1;                                                                                                \
  };
HM_DATA_TYPE(float, 3)
HM_DATA_TYPE(half, 16)
HM_DATA_TYPE(int, 29)
HM_DATA_TYPE(uint, 33)
HM_DATA_TYPE(short, 37)
HM_DATA_TYPE(ushort, 41)
HM_DATA_TYPE(char, 45)
HM_DATA_TYPE(uchar, 49)
HM_DATA_TYPE(bool, 53)
HM_DATA_TYPE(long, 81)
HM_DATA_TYPE(ulong, 85)
HM_DATA_TYPE(metal::bfloat, 121)
#undef HM_DATA_TYPE
template <>
struct data_type<signed char> : data_type<char> {};
// float2x2 is 7 and float4x4 15, row by row of columns; half2x2 is 20.
template <int C, int R>
struct data_type<metal::matrix<float, C, R>> {
  static constexpr unsigned value = 7 + (C - 2) * 3 + R - 2;
};
template <int C, int R>
struct data_type<metal::matrix<half, C, R>> {
  static constexpr unsigned value = 20 + (C - 2) * 3 + R - 2;
};
template <>
struct data_type<metal::compute_pipeline_state> {
  static constexpr unsigned value = 79;
};
template <>
struct data_type<metal::command_buffer> {
  static constexpr unsigned value = 80;
};
template <class T, class... More>
struct data_type<metal::visible_function_table<T, More...>> {
  static constexpr unsigned value = 115;
};
template <class T>
struct data_type<metal::_atomic<T>> : data_type<T> {};

template <class T>
using plain = metal::remove_addrspace_t<__remove_cv(metal::remove_addrspace_t<__remove_cv(__remove_reference_t(T))>)>;

template <class T>
constexpr unsigned data_type_of() {
  if constexpr (__is_enum(T))
    return data_type<__underlying_type(T)>::value;
  else
    return data_type<T>::value;
}

// Of a function that another one is stitched of: what it gives, and what it takes.
template <class F>
struct function_type;
template <class R, class... P>
struct function_type<R(P...)> {
  typedef R result;
  template <unsigned I>
  using parameter = __type_pack_element<I, P...>;
};
template <class F>
using call_result = typename function_type<F>::result;
template <class F, unsigned I>
using call_parameter = typename function_type<F>::template parameter<I>;

template <class T>
struct extent_of {
  static constexpr unsigned long size = sizeof(T), alignment = alignof(T);
};
template <>
struct extent_of<void> {
  static constexpr unsigned long size = 1, alignment = 1;
};

// ---------------------------------------------------------------- arguments

struct place {
  uint x, y, z, linear, simdgroup;
};

// What a reference that a function constant switched off is bound to; valid programs never look at it.
template <class T>
struct absent {
  alignas(T) static inline __global char bytes[sizeof(T)] = {};
};

template <class P>
struct parameter {
  static constexpr bool indirect = false;
};
template <class T>
struct parameter<T *> {
  static constexpr bool indirect = true;
  static constexpr unsigned is_pointer = 1;
  typedef T target;
};
template <class T>
struct parameter<T &> {
  static constexpr bool indirect = true;
  static constexpr unsigned is_pointer = 0;
  typedef T target;
};

template <class P>
constexpr bool is_function_table = false;
template <class T, class... More>
constexpr bool is_function_table<metal::visible_function_table<T, More...>> = true;

// As long as a copy is cheap next to the loop over the threads.
constexpr unsigned long longest_copy = 1024;

// A pointer or reference. `held` is evaluated once per threadgroup, `get` once per thread. `of_grid`: what a thread
// gets depends on its position in the grid alone, not on the threadgroup that it is in.
template <unsigned Kind, int Index, bool Present>
struct argument {
  static_assert(Index >= 0 && Index <= 30, "the index of a buffer or threadgroup argument must be between 0 and 30");
  static constexpr bool bound = true, of_grid = Kind != kind_threadgroup;
  static constexpr unsigned kind = Kind;

  static void *address(const hm_group *group) { return Kind == kind_buffer ? group->buffer[Index] : group->threadgroup_memory[Index]; }

  template <class P>
  struct direct {
    static_assert(parameter<P>::indirect, "a buffer or threadgroup argument must be a pointer or a reference");
    direct(const hm_group *) {}
    P get(const place &) const;
  };
  template <class T>
  struct direct<T *> {
    T *target;
    direct(const hm_group *group) : target(Present ? (T *)address(group) : (T *)nullptr) {}
    T *get(const place &) const { return target; }
  };
  template <class T>
  struct direct<T &> {
    T *target;
    direct(const hm_group *group) : target(Present ? (T *)address(group) : (T *)(ulong)absent<plain<T>>::bytes) {}
    T &get(const place &) const { return *target; }
  };

  // Bound like a buffer, to the memory that begins with its handle.
  template <class T, class... More>
  struct direct<metal::visible_function_table<T, More...>> {
    ulong handle;
    direct(const hm_group *group) : handle(Present ? ((const hm_functions *)address(group))->handle : 0) {}
    metal::visible_function_table<T, More...> get(const place &) const { return {handle}; }
  };

  // A constant is copied once, so that the loop's stores cannot be taken for changes of it.
  template <class P>
  struct held : direct<P> {
    held(const hm_group *group) : direct<P>(group) {}
  };
  template <class T, bool Copied>
  struct held_constant : direct<constant T &> {
    held_constant(const hm_group *group) : direct<constant T &>(group) {}
  };
  template <class T>
  struct held_constant<T, true> {
    alignas(T) char bytes[sizeof(T)];
    held_constant(const hm_group *group) { __builtin_memcpy(bytes, Present ? address(group) : (void *)absent<T>::bytes, sizeof(T)); }
    constant T &get(const place &) const { return *(constant T *)(ulong)bytes; }
  };
  template <class T>
  struct held<constant T &> : held_constant<T, sizeof(T) <= longest_copy> {
    held(const hm_group *group) : held_constant<T, sizeof(T) <= longest_copy>(group) {}
  };

  template <class P>
  static constexpr hm_binding binding() {
    if constexpr (parameter<P>::indirect) {
      typedef typename parameter<P>::target target;
      typedef plain<target> object;
      return hm_binding{Kind, (unsigned)Index, __is_const(target) ? 0u : 1u, data_type_of<object>(), parameter<P>::is_pointer, Present ? 1u : 0u,
                        0u, 1u, extent_of<object>::size, extent_of<object>::alignment};
    } else if constexpr (is_function_table<plain<P>>) {
      return hm_binding{kind_function_table, (unsigned)Index, 0u, data_type_of<plain<P>>(), 0u, Present ? 1u : 0u, 0u, 1u, sizeof(P), alignof(P)};
    } else {
      return hm_binding{}; // refused by `direct`
    }
  }
};

// A reference to a constant whose address the program knows (addresses.rs): nothing is copied.
template <int Index, bool Present>
struct placed_argument : argument<kind_buffer, Index, Present> {
  template <class P>
  using held = typename argument<kind_buffer, Index, Present>::template direct<P>;
};

// A texture or a sampler, and arrays of them: what it is made from, and what reflection says of it.
template <class P>
struct resource {
  static constexpr unsigned kind = ~0u;
};
#define HM_TEXTURE(name, number, is_depth)                                                                                                                   \
  template <class T, metal::access A, metal::memory_coherence C>                                                                                    \
  struct resource<metal::name<T, A, C>> {                                                                                                              \
    static constexpr unsigned kind = kind_texture, type = number, count = 1, data_type = data_type_of<T>(), depth = is_depth,                                         \
                              access = A == metal::access::write ? 2 : A == metal::access::read_write ? 1 : 0;                                      \
    static metal::name<T, A, C> make(const hm_group *group, unsigned index) {                                                                          \
      metal::name<T, A, C> object;                                                                                                                     \
      object.__handle = group->texture[index]->handle;                                                                                                   \
      return object;                                                                                                                                \
    }                                                                                                                                               \
  };
HM_TEXTURE(texture1d, 0, 0)
HM_TEXTURE(texture1d_array, 1, 0)
HM_TEXTURE(texture2d, 2, 0)
HM_TEXTURE(texture2d_array, 3, 0)
HM_TEXTURE(texture2d_ms, 4, 0)
HM_TEXTURE(texturecube, 5, 0)
HM_TEXTURE(texturecube_array, 6, 0)
HM_TEXTURE(texture3d, 7, 0)
HM_TEXTURE(texture2d_ms_array, 8, 0)
HM_TEXTURE(depth2d, 2, 1)
HM_TEXTURE(depth2d_array, 3, 1)
HM_TEXTURE(depth2d_ms, 4, 1)
HM_TEXTURE(depthcube, 5, 1)
HM_TEXTURE(depthcube_array, 6, 1)
HM_TEXTURE(depth2d_ms_array, 8, 1)
HM_TEXTURE(texture_buffer, 9, 0)
#undef HM_TEXTURE
template <>
struct resource<metal::sampler> {
  static constexpr unsigned kind = kind_sampler, type = 0, count = 1, data_type = 0, depth = 0, access = 0;
  static metal::sampler make(const hm_group *group, unsigned index) {
    metal::sampler object;
    object.__handle = hostmetal::pack(group->sampler[index]);
    return object;
  }
};
template <class T, __SIZE_TYPE__ N>
struct resource<metal::array<T, N>> : resource<T> {
  static_assert(resource<T>::count == 1 && N > 0, "an array of textures or samplers has one dimension");
  static constexpr unsigned count = N;
  static metal::array<T, N> make(const hm_group *group, unsigned index) {
    metal::array<T, N> object;
    for (unsigned i = 0; i < N; i++)
      object[i] = resource<T>::make(group, index + i);
    return object;
  }
};

template <unsigned Kind, int Index, bool Present>
struct resource_argument {
  static constexpr bool bound = true, of_grid = true;
  static constexpr unsigned kind = Kind;
  template <class P>
  struct direct {
    typedef plain<P> object;
    static_assert(resource<object>::kind == Kind, "[[texture(n)]] is for textures and [[sampler(n)]] for samplers, or an array of either");
    static_assert(Index >= 0 && Index + (int)resource<object>::count <= (Kind == kind_texture ? 128 : 16),
                  "the index of a texture must be between 0 and 127, that of a sampler between 0 and 15");
    object value = {};
    direct(const hm_group *group) {
      if constexpr (Present)
        value = resource<object>::make(group, Index);
    }
    object get(const place &) const { return value; }
  };
  template <class P>
  using held = direct<P>;
  template <class P>
  static constexpr hm_binding binding() {
    typedef resource<plain<P>> object;
    if constexpr (object::kind == Kind)
      return hm_binding{Kind, (unsigned)Index, object::access, object::data_type, object::depth, Present ? 1u : 0u, object::type, object::count, 1, 1};
    else
      return hm_binding{}; // refused by `direct`
  }
};

template <class P>
constexpr bool is_imageblock = false;
template <class T, class L>
constexpr bool is_imageblock<metal::imageblock<T, L>> = true;

template <bool Present>
struct imageblock_argument {
  static constexpr bool bound = true, of_grid = false;
  static constexpr unsigned kind = kind_imageblock;
  template <class P>
  struct direct {
    typedef plain<P> object;
    static_assert(is_imageblock<object>, "an imageblock argument must be an imageblock");
    object value = {};
    direct(const hm_group *group) {
      if constexpr (Present)
        value = {(decltype(value.__pixels))group->imageblock, (ushort)group->imageblock_size[0], (ushort)group->imageblock_size[1]};
    }
    object get(const place &) const { return value; }
  };
  template <class P>
  using held = direct<P>;
  template <class P>
  static constexpr hm_binding binding() {
    if constexpr (is_imageblock<plain<P>>)
      return hm_binding{kind_imageblock, 0u, 1u, data_type<plain<P>>::value, 0u, Present ? 1u : 0u,
                        0u, 1u, sizeof(typename plain<P>::__pixel), alignof(typename plain<P>::__pixel)};
    else
      return hm_binding{}; // refused by `direct`
  }
};

template <class T>
struct input {
  static_assert(__is_same(T, uint) || __is_same(T, ushort), "a kernel's input must be ushort or uint");
  static T from(uint x, uint, uint) { return (T)x; }
};
template <class T, int N>
struct input<metal::vec<T, N>> {
  static_assert(__is_same(T, uint) || __is_same(T, ushort), "a kernel's input must be ushort or uint, or a vector of these");
  static_assert(N <= 3, "a kernel's input has at most three components");
  static metal::vec<T, N> from(uint x, uint y, uint z) {
    metal::vec<T, N> v;
    v.x = (T)x;
    v.y = (T)y;
    if constexpr (N == 3)
      v.z = (T)z;
    return v;
  }
};

// HM_INPUT_3(name, `of_grid`, values held per threadgroup, x, y and z per thread)
#define HM_INPUT_3(name, of_grid_, a, b, c, x_, y_, z_)                                                                                                        \
  struct input_##name {                                                                                                                             \
    static constexpr bool bound = false, of_grid = of_grid_;                                                                                                          \
    static constexpr unsigned kind = ~0u;                                                                                                           \
    template <class P>                                                                                                                              \
    struct direct {                                                                                                                                 \
      uint x, y, z;                                                                                                                                 \
      direct(const hm_group *group) : x(a), y(b), z(c) {}                                                                                           \
      plain<P> get(const place &at) const { return input<plain<P>>::from(x_, y_, z_); }                                                             \
    };                                                                                                                                              \
    template <class P>                                                                                                                              \
    using held = direct<P>;                                                                                                                         \
  };
#define HM_INPUT_OF_GROUP(name, of_grid_) HM_INPUT_3(name, of_grid_, group->name[0], group->name[1], group->name[2], x, y, z)
#define HM_INPUT_SCALAR(name, of_grid_, held_, value_) HM_INPUT_3(name, of_grid_, held_, 0, 0, value_, 0, 0)

HM_INPUT_OF_GROUP(threadgroup_position_in_grid, false)
HM_INPUT_OF_GROUP(threads_per_threadgroup, false)
HM_INPUT_OF_GROUP(dispatch_threads_per_threadgroup, true)
HM_INPUT_OF_GROUP(threads_per_grid, true)
HM_INPUT_OF_GROUP(threadgroups_per_grid, true)
HM_INPUT_OF_GROUP(grid_origin, true)
HM_INPUT_OF_GROUP(grid_size, true)
HM_INPUT_3(thread_position_in_threadgroup, false, 0, 0, 0, at.x, at.y, at.z)
HM_INPUT_3(thread_position_in_grid, true, group->threadgroup_position_in_grid[0] * group->dispatch_threads_per_threadgroup[0],
           group->threadgroup_position_in_grid[1] * group->dispatch_threads_per_threadgroup[1],
           group->threadgroup_position_in_grid[2] * group->dispatch_threads_per_threadgroup[2], x + at.x, y + at.y, z + at.z)
HM_INPUT_SCALAR(thread_index_in_threadgroup, false, 0, at.linear)
HM_INPUT_SCALAR(thread_index_in_simdgroup, false, 0, at.linear % 32)
HM_INPUT_SCALAR(thread_index_in_quadgroup, false, 0, at.linear % 4)
HM_INPUT_SCALAR(simdgroup_index_in_threadgroup, false, 0, at.simdgroup)
HM_INPUT_SCALAR(quadgroup_index_in_threadgroup, false, 0, at.linear / 4)
HM_INPUT_SCALAR(threads_per_simdgroup, true, 32, x)
HM_INPUT_SCALAR(thread_execution_width, true, 32, x)
HM_INPUT_SCALAR(simdgroups_per_threadgroup, false, group->simdgroups_per_threadgroup, x)
HM_INPUT_SCALAR(dispatch_simdgroups_per_threadgroup, true, group->dispatch_simdgroups_per_threadgroup, x)
HM_INPUT_SCALAR(quadgroups_per_threadgroup, false,
                (group->threads_per_threadgroup[0] * group->threads_per_threadgroup[1] * group->threads_per_threadgroup[2] + 3) / 4, x)
HM_INPUT_SCALAR(dispatch_quadgroups_per_threadgroup, true,
                (group->dispatch_threads_per_threadgroup[0] * group->dispatch_threads_per_threadgroup[1] *
                     group->dispatch_threads_per_threadgroup[2] +
                 3) / 4,
                x)
#undef HM_INPUT_3
#undef HM_INPUT_OF_GROUP
#undef HM_INPUT_SCALAR

// ---------------------------------------------------------------- the call

// The threads of a threadgroup in linear order. Independent: no iteration's stack memory is visible to another one (the host has looked at
// the optimised code), so the vectoriser may take the iterations as free of dependences; a data race would be the kernel's own error.
// The objects evaluated per threadgroup are called hm_held, which is how the host tells their memory from a thread's (in programs without such names).
template <bool Independent, class F, class... Held>
inline __attribute__((always_inline)) void each_thread(const hm_group *group, F &f, Held... hm_held) {
  uint nx = group->threads_per_threadgroup[0], ny = group->threads_per_threadgroup[1], nz = group->threads_per_threadgroup[2];
  for (uint z = 0; z < nz; z++)
    for (uint y = 0; y < ny; y++) {
      uint row = (z * ny + y) * nx;
      if constexpr (Independent) {
#pragma clang loop vectorize(assume_safety)
        for (uint x = 0; x < nx; x++)
          f(hm_held.get(place{x, y, z, row + x, (row + x) / 32})...);
      } else {
#pragma clang loop vectorize(enable)
        for (uint x = 0; x < nx; x++)
          f(hm_held.get(place{x, y, z, row + x, (row + x) / 32})...);
      }
    }
}

// What the LLVM pass (native/hostmetal/pass) expands: `pass_body` is one thread, and the call of it stands for a call for every position below
// the first three arguments, in linear order, with the threads waiting for each other. The objects evaluated per threadgroup are not written to
// while it runs.
template <auto &f, class... Held>
__attribute__((noinline)) void pass_body(uint x, uint y, uint z, uint linear, uint simdgroup, Held &...held) {
  f(held.get(place{x, y, z, linear, simdgroup})...);
}
template <auto &f, class... Held>
inline __attribute__((always_inline)) void pass_group(const hm_group *group, Held... hm_held) {
  pass_body<f>(group->threads_per_threadgroup[0], group->threads_per_threadgroup[1], group->threads_per_threadgroup[2], 0, 0, hm_held...);
}
// One thread, of a kernel that counts (pass/counts.cpp).
template <auto &f, class... Held>
inline __attribute__((always_inline)) void pass_thread(const hm_group *group, uint x, uint y, uint z, Held... held) {
  uint linear = (z * group->threads_per_threadgroup[1] + y) * group->threads_per_threadgroup[0] + x;
  pass_body<f>(x, y, z, linear, linear / 32, held...);
}

} // namespace hostmetal

#include "hostmetal_stage.h"
#include "hostmetal_types.h"

namespace hostmetal {

// What one call of hm_kernel_group may be for, with threads_per_threadgroup those of all of them together. The plugin (native/hostmetal/pass/spans.cpp)
// makes one of the others out of `span_possible`, or leaves it when it is not there.
enum span : unsigned { span_threadgroup = 0, span_possible = 1, span_line = 2, span_rows = 3 };

template <class Void, class... A>
struct call {
  static constexpr unsigned count = (0u + ... + (A::bound ? 1u : 0u));
  static constexpr unsigned span = (true && ... && A::of_grid) ? span_possible : span_threadgroup;

  template <bool Independent, class... P>
  static inline __attribute__((always_inline)) void group(const hm_group *group, void (&f)(P...)) {
    each_thread<Independent>(group, f, typename A::template held<P>(group)...);
  }

  template <auto &f, class... P>
  static inline __attribute__((always_inline)) void pass(const hm_group *group, void (&)(P...)) {
    pass_group<f>(group, typename A::template held<P>(group)...);
  }

  template <auto &f, class... P>
  static inline __attribute__((always_inline)) void counted_at(const hm_group *group, uint x, uint y, uint z, void (&)(P...)) {
    // Not `held`, which copies constants: a thread's own copy is at an address of its own.
    pass_thread<f>(group, x, y, z, typename A::template direct<P>(group)...);
  }

  template <class... P>
  static inline __attribute__((always_inline)) void thread_at(const hm_group *group, uint x, uint y, uint z, void (&f)(P...)) {
    uint linear = (z * group->threads_per_threadgroup[1] + y) * group->threads_per_threadgroup[0] + x;
    place at{x, y, z, linear, linear / 32};
    f(typename A::template direct<P>(group).get(at)...);
  }

  template <class One, class P>
  static constexpr void add(info<count> &table, unsigned &filled) {
    if constexpr (One::bound)
      table.bindings[filled++] = One::template binding<P>();
  }
  template <class One, class P, class Table>
  static constexpr void add_type(Table &table, unsigned &filled) {
    if constexpr (One::kind == kind_buffer && parameter<P>::indirect)
      put_type<plain<typename parameter<P>::target>>(table, filled, 0, -1, 0, chain<>());
  }
  // The types of the buffers, in the order of the parameters.
  template <class... P>
  static constexpr auto types_of(void (&)(P...)) {
    constexpr unsigned nodes = [] {
      no_types none;
      unsigned filled = 0;
      (add_type<A, P>(none, filled), ...);
      return filled;
    }();
    types<nodes> table = {types_version, nodes, sizeof(hm_type), 0, {}};
    unsigned filled = 0;
    (add_type<A, P>(table, filled), ...);
    return table;
  }

  template <class... P>
  static constexpr hm_attributes stage_of(void (&)(P...)) {
    hm_attributes table = {attributes_version, 0, {}};
    (hostmetal::attributes_of<A, P>::describe(table), ...);
    return table;
  }

  template <class... P>
  static constexpr info<count> describe(void (&)(P...), unsigned max_threads, unsigned x, unsigned y, unsigned z) {
    info<count> table = {info_version, count, max_threads, sizeof(hm_binding), {x, y, z}, {}};
    unsigned filled = 0;
    (add<A, P>(table, filled), ...);
    return table;
  }
};

} // namespace hostmetal
