// Names with which Apple's own headers call the compiler. They are not part of MSL, but MLX's kernels use them to give bfloat overloads
// of the library functions. `math` is one of the three constants below.
#pragma once
#include "metal_math"
#include "metal_simdgroup"
#include "metal_quadgroup"

#define __METAL_MAYBE_FAST_MATH__ 0
#define __METAL_FAST_MATH__ 1
#define __METAL_PRECISE_MATH__ 2

#define HOSTMETAL_INTRINSIC(name, parameters, arguments)                                                                           \
  METAL_FUNC float __metal_##name(parameters, int math = __METAL_MAYBE_FAST_MATH__) {                                              \
    return math == __METAL_PRECISE_MATH__ ? metal::precise::name(arguments)                                                        \
           : math == __METAL_FAST_MATH__  ? metal::fast::name(arguments)                                                           \
                                          : metal::name(arguments);                                                                \
  }
#define HOSTMETAL_COMMA ,
#define HOSTMETAL_INTRINSIC1(name) HOSTMETAL_INTRINSIC(name, float x, x)
#define HOSTMETAL_INTRINSIC2(name) HOSTMETAL_INTRINSIC(name, float x HOSTMETAL_COMMA float y, x HOSTMETAL_COMMA y)
#define HOSTMETAL_INTRINSIC3(name)                                                                                                 \
  HOSTMETAL_INTRINSIC(name, float x HOSTMETAL_COMMA float y HOSTMETAL_COMMA float z, x HOSTMETAL_COMMA y HOSTMETAL_COMMA z)
HOSTMETAL_INTRINSIC1(acos)
HOSTMETAL_INTRINSIC1(acosh)
HOSTMETAL_INTRINSIC1(asin)
HOSTMETAL_INTRINSIC1(asinh)
HOSTMETAL_INTRINSIC1(atan)
HOSTMETAL_INTRINSIC1(atanh)
HOSTMETAL_INTRINSIC1(ceil)
HOSTMETAL_INTRINSIC1(cos)
HOSTMETAL_INTRINSIC1(cosh)
HOSTMETAL_INTRINSIC1(cospi)
HOSTMETAL_INTRINSIC1(exp)
HOSTMETAL_INTRINSIC1(exp10)
HOSTMETAL_INTRINSIC1(exp2)
HOSTMETAL_INTRINSIC1(fabs)
HOSTMETAL_INTRINSIC1(floor)
HOSTMETAL_INTRINSIC1(fract)
HOSTMETAL_INTRINSIC1(log)
HOSTMETAL_INTRINSIC1(log10)
HOSTMETAL_INTRINSIC1(log2)
HOSTMETAL_INTRINSIC1(rint)
HOSTMETAL_INTRINSIC1(round)
HOSTMETAL_INTRINSIC1(rsqrt)
HOSTMETAL_INTRINSIC1(sin)
HOSTMETAL_INTRINSIC1(sinh)
HOSTMETAL_INTRINSIC1(sinpi)
HOSTMETAL_INTRINSIC1(sqrt)
HOSTMETAL_INTRINSIC1(tan)
HOSTMETAL_INTRINSIC1(tanh)
HOSTMETAL_INTRINSIC1(tanpi)
HOSTMETAL_INTRINSIC1(trunc)
HOSTMETAL_INTRINSIC2(atan2)
HOSTMETAL_INTRINSIC2(copysign)
HOSTMETAL_INTRINSIC2(divide)
HOSTMETAL_INTRINSIC2(fdim)
HOSTMETAL_INTRINSIC2(fmax)
HOSTMETAL_INTRINSIC2(fmin)
HOSTMETAL_INTRINSIC2(fmod)
HOSTMETAL_INTRINSIC2(nextafter)
HOSTMETAL_INTRINSIC2(pow)
HOSTMETAL_INTRINSIC2(powr)
HOSTMETAL_INTRINSIC3(fmax3)
HOSTMETAL_INTRINSIC3(fmedian3)
HOSTMETAL_INTRINSIC3(fmin3)
HOSTMETAL_INTRINSIC3(fma)
#undef HOSTMETAL_INTRINSIC3
#undef HOSTMETAL_INTRINSIC2
#undef HOSTMETAL_INTRINSIC1
#undef HOSTMETAL_COMMA
#undef HOSTMETAL_INTRINSIC
METAL_FUNC float __metal_ldexp(float x, int exponent, int = __METAL_MAYBE_FAST_MATH__) { return metal::ldexp(x, exponent); }
METAL_FUNC float __metal_frexp(float x, thread int *exponent) {
  int e = 0;
  float fraction = metal::frexp(x, e);
  *exponent = e;
  return fraction;
}

METAL_FUNC ushort __metal_get_simdgroup_size(ushort) { return 32; }
METAL_FUNC ushort __metal_get_thread_index_in_simdgroup(ushort) { return (ushort)hm_runtime->lane(); }
#define HOSTMETAL_INTRINSIC(name)                                                                                                  \
  template <class T, class... A> METAL_FUNC T __metal_simd_##name(T data, A... arguments) { return metal::simd_##name(data, arguments...); }
HOSTMETAL_INTRINSIC(broadcast)
HOSTMETAL_INTRINSIC(max)
HOSTMETAL_INTRINSIC(min)
HOSTMETAL_INTRINSIC(prefix_exclusive_product)
HOSTMETAL_INTRINSIC(prefix_exclusive_sum)
HOSTMETAL_INTRINSIC(prefix_inclusive_product)
HOSTMETAL_INTRINSIC(prefix_inclusive_sum)
HOSTMETAL_INTRINSIC(product)
HOSTMETAL_INTRINSIC(shuffle)
HOSTMETAL_INTRINSIC(shuffle_and_fill_down)
HOSTMETAL_INTRINSIC(shuffle_and_fill_up)
HOSTMETAL_INTRINSIC(shuffle_down)
HOSTMETAL_INTRINSIC(shuffle_rotate_down)
HOSTMETAL_INTRINSIC(shuffle_rotate_up)
HOSTMETAL_INTRINSIC(shuffle_up)
HOSTMETAL_INTRINSIC(shuffle_xor)
HOSTMETAL_INTRINSIC(sum)
#undef HOSTMETAL_INTRINSIC
// Of the bits, whatever the type.
#define HOSTMETAL_INTRINSIC(name)                                                                                                  \
  METAL_FUNC float __metal_simd_##name(float data) { return as_type<float>(metal::simd_##name(as_type<uint>(data))); }             \
  template <class T> METAL_FUNC T __metal_simd_##name(T data) { return metal::simd_##name(data); }
HOSTMETAL_INTRINSIC(and)
HOSTMETAL_INTRINSIC(or)
HOSTMETAL_INTRINSIC(xor)
#undef HOSTMETAL_INTRINSIC
