// What the language itself gives an MSL program, expressed in clang's C++ for OpenCL 2021 mode: address-space qualifiers,
// keyword renames, the scalar types and `as_type`. Included first by hostmetal.h.
//
// The mapping of the address spaces is the one found to work (linux-metal-msl.md section 1): `constant` is a const global, because
// objects in clang's `__constant` cannot be copied; in method-qualifier position attributes do not parse, so the pre-pass
// writes `__mq_device` and so on there. `threadgroup_imageblock` is `threadgroup` (docs/HOSTMETAL.md). `thread` is `__private` when MSL_STRICT_THREAD is defined (diagnostics) and nothing otherwise.
#pragma once

#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable
#pragma OPENCL EXTENSION __cl_clang_variadic_functions : enable
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#define device __attribute__((opencl_global_host))
#define constant __global const
#define threadgroup __local
#define threadgroup_imageblock __local
#define __mq_device __global
#define __mq_constant __constant
#define __mq_threadgroup __local
#define __mq_threadgroup_imageblock __local
#ifdef MSL_STRICT_THREAD
#define thread __private
#define __mq_thread __private
#else
#define thread
#define __mq_thread
#endif

// Words that are keywords or predefined types for clang here but plain identifiers (or our own types) in MSL.
#define kernel
#define local __id_local
#define global __id_global
#define generic __id_generic
#define pipe __id_pipe
#define read_only __id_read_only
#define write_only __id_write_only
#define read_write __id_read_write
#define event_t __id_event_t
#define clk_event_t __id_clk_event_t
#define queue_t __id_queue_t
#define reserve_id_t __id_reserve_id_t
#define sampler_t __id_sampler_t
#define atomic_int __metal_atomic_int
#define atomic_uint __metal_atomic_uint
#define atomic_bool __metal_atomic_bool
#define atomic_float __metal_atomic_float
#define atomic_long __id_atomic_long
#define atomic_ulong __metal_atomic_ulong
#define atomic_double __id_atomic_double
#define atomic_flag __id_atomic_flag

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef __INTPTR_TYPE__ intptr_t;
typedef __UINTPTR_TYPE__ uintptr_t;

namespace metal {
using ::int16_t;
using ::int32_t;
using ::int64_t;
using ::int8_t;
using ::intptr_t;
using ::ptrdiff_t;
using ::size_t;
using ::uchar;
using ::uint;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;
using ::uint8_t;
using ::uintptr_t;
using ::ulong;
using ::ushort;
} // namespace metal

// MSL 2.20: reinterpret the bits of a scalar or vector as another type of the same size. The vectors say themselves that they are some.
namespace hostmetal {
template <class T> constexpr bool is_reinterpretable = !__is_class(T) && !__is_union(T);
template <class T> constexpr bool is_reinterpretable<const T> = is_reinterpretable<T>;
} // namespace hostmetal
template <class To, class From>
METAL_FUNC constexpr To as_type(From value) {
  static_assert(hostmetal::is_reinterpretable<To> && hostmetal::is_reinterpretable<From>, "as_type: the types must be scalars or vectors");
  static_assert(sizeof(To) == sizeof(From), "as_type: the two types differ in size");
  return __builtin_bit_cast(To, value);
}

// What a function constant is while nobody knows its value (msl/rewrite.rs).
namespace hostmetal {
template <class T> T unknown();
}

// `operator[]` of a class whose elements have addresses: a reference has the address space of the object. Objects in `device` and in
// `constant` come as __global; what is read through `constant` may be called `const device`, which converts to it (but not for who looks for
// such conversions: msl/spaces.rs has a specialisation). A value that is no object (`f(x)[0]`) would fit all of them: it has one of its
// own. `limit` is an attribute, or nothing.
namespace hostmetal {
template <class T, int = 0> struct constant_element {
  typedef const device T type;
};
} // namespace hostmetal
#define HOSTMETAL_ELEMENTS(T, Index, elements, limit)                                                                              \
  METAL_FUNC constexpr T &operator[](Index i) & limit { return elements[i]; }                                                      \
  METAL_FUNC constexpr const T &operator[](Index i) const & limit { return elements[i]; }                                          \
  METAL_FUNC constexpr T operator[](Index i) && limit { return elements[i]; }                                                      \
  METAL_FUNC constexpr volatile T &operator[](Index i) volatile & limit { return elements[i]; }                                    \
  METAL_FUNC constexpr const volatile T &operator[](Index i) const volatile & limit { return elements[i]; }                        \
  METAL_FUNC constexpr device T &operator[](Index i) __global & limit { return (device T &)elements[i]; }                          \
  template <class Element = T>                                                                                                    \
  METAL_FUNC constexpr typename hostmetal::constant_element<Element>::type &operator[](Index i) const __global & limit {           \
    return (typename hostmetal::constant_element<Element>::type &)elements[i];                                                     \
  }                                                                                                                                \
  METAL_FUNC constexpr threadgroup T &operator[](Index i) __local & limit { return elements[i]; }                                  \
  METAL_FUNC constexpr const threadgroup T &operator[](Index i) const __local & limit { return elements[i]; }

// What a braced list becomes for a constructor: clang knows the name and the two members. It wants the pointer without an address
// space, which no declarator gives here, only the decay of an array.
namespace std {
template <class T>
class initializer_list {
  __decay(const T[1]) first;
  size_t count;

public:
  METAL_FUNC constexpr initializer_list() : first(nullptr), count(0) {}
  METAL_FUNC constexpr size_t size() const { return count; }
  // Zero behind the end. Not by begin(): no constant expression gives a pointer another address space.
  METAL_FUNC constexpr T __at(size_t i) const { return i < count ? first[i] : T(0); }
  METAL_FUNC constexpr const T *begin() const { return first; }
  METAL_FUNC constexpr const T *end() const { return first + count; }
};
} // namespace std
namespace metal {
using std::initializer_list;
}
