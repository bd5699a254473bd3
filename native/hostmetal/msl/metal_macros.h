// Macros of the Metal Shading Language. Force-included (`-include metal_macros.h`) when the user's source is preprocessed,
// and included by the headers of this folder when they are compiled.
//
// Preprocessing and compiling are two runs: the first expands the user's macros and `#include`s, where our own headers expand to
// nothing (HOSTMETAL_DECLARATIONS is not defined), so that the token pre-pass sees the user's tokens only; the second compiles
// the result after a precompiled `hostmetal.h`, which holds the declarations.
//
// Values: MSL specification 3.2, section 6.4 (limits and math constants) and 1.6 (predefined macros). The host passes
// -D__METAL_VERSION__=NNN for the language version of the compile options.
#ifndef HOSTMETAL_METAL_MACROS_H
#define HOSTMETAL_METAL_MACROS_H

#define __METAL__ 1
#ifndef __METAL_VERSION__
#define __METAL_VERSION__ 320
#endif
#define __METAL_MACOS__ 1
#if __METAL_VERSION__ >= 310
#define __HAVE_BFLOAT__ 1
#endif
#define __METAL_MEMORY_SCOPE_THREAD__ 0
#define __METAL_MEMORY_SCOPE_SIMDGROUP__ 4
#define __METAL_MEMORY_SCOPE_THREADGROUP__ 1
#define __METAL_MEMORY_SCOPE_DEVICE__ 2

// All memory is coherent here (MSL 3.2 section 4.8).
#define coherent(scope)

#define METAL_FUNC inline __attribute__((always_inline))
#define METAL_CONST const
#define METAL_INTERNAL inline
#define METAL_ALIGN(bytes) __attribute__((aligned(bytes)))
#define METAL_DEPRECATED(...)

// Integers.
#define CHAR_BIT 8
#define SCHAR_MAX 127
#define SCHAR_MIN (-128)
#define UCHAR_MAX 255
#define CHAR_MAX 127
#define CHAR_MIN (-128)
#define USHRT_MAX 65535
#define SHRT_MAX 32767
#define SHRT_MIN (-32768)
#define UINT_MAX 4294967295u
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define ULONG_MAX 18446744073709551615ul
#define LONG_MAX 9223372036854775807l
#define LONG_MIN (-9223372036854775807l - 1)

// float.
#define FLT_DIG 6
#define FLT_MANT_DIG 24
#define FLT_MAX_10_EXP 38
#define FLT_MAX_EXP 128
#define FLT_MIN_10_EXP (-37)
#define FLT_MIN_EXP (-125)
#define FLT_RADIX 2
#define FLT_MAX 0x1.fffffep127f
#define FLT_MIN 0x1.0p-126f
#define FLT_TRUE_MIN 0x1.0p-149f
#define FLT_EPSILON 0x1.0p-23f
#define FLT_DECIMAL_DIG 9
#define FP_ILOGB0 (-2147483647 - 1)
#define FP_ILOGBNAN (-2147483647 - 1)
#define MAXFLOAT 0x1.fffffep127f
#define HUGE_VALF __builtin_inff()
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define M_E_F 2.71828182845904523536028747135266250f
#define M_LOG2E_F 1.44269504088896340735992468100189214f
#define M_LOG10E_F 0.434294481903251827651128918916605082f
#define M_LN2_F 0.693147180559945309417232121458176568f
#define M_LN10_F 2.30258509299404568401799145468436421f
#define M_PI_F 3.14159265358979323846264338327950288f
#define M_PI_2_F 1.57079632679489661923132169163975144f
#define M_PI_4_F 0.785398163397448309615660845819875721f
#define M_1_PI_F 0.318309886183790671537767526745028724f
#define M_2_PI_F 0.636619772367581343075535053490057448f
#define M_2_SQRTPI_F 1.12837916709551257389615890312154517f
#define M_SQRT2_F 1.41421356237309504880168872420969808f
#define M_SQRT1_2_F 0.707106781186547524400844362104849039f

// half.
#define HALF_DIG 2
#define HALF_MANT_DIG 11
#define HALF_MAX_10_EXP 4
#define HALF_MAX_EXP 16
#define HALF_MIN_10_EXP (-4)
#define HALF_MIN_EXP (-13)
#define HALF_RADIX 2
#define HALF_MAX 0x1.ffcp15h
#define HALF_MIN 0x1.0p-14h
#define HALF_TRUE_MIN 0x1.0p-24h
#define HALF_EPSILON 0x1.0p-10h
#define HALF_DECIMAL_DIG 5
#define MAXHALF 0x1.ffcp15h
#define HUGE_VALH ((half)__builtin_inff())
#define M_E_H 2.71828182845904523536028747135266250h
#define M_LOG2E_H 1.44269504088896340735992468100189214h
#define M_LOG10E_H 0.434294481903251827651128918916605082h
#define M_LN2_H 0.693147180559945309417232121458176568h
#define M_LN10_H 2.30258509299404568401799145468436421h
#define M_PI_H 3.14159265358979323846264338327950288h
#define M_PI_2_H 1.57079632679489661923132169163975144h
#define M_PI_4_H 0.785398163397448309615660845819875721h
#define M_1_PI_H 0.318309886183790671537767526745028724h
#define M_2_PI_H 0.636619772367581343075535053490057448h
#define M_2_SQRTPI_H 1.12837916709551257389615890312154517h
#define M_SQRT2_H 1.41421356237309504880168872420969808h
#define M_SQRT1_2_H 0.707106781186547524400844362104849039h

// bfloat (MSL 3.1).
#define BFLT_DIG 2
#define BFLT_MANT_DIG 8
#define BFLT_MAX_10_EXP 38
#define BFLT_MAX_EXP 128
#define BFLT_MIN_10_EXP (-37)
#define BFLT_MIN_EXP (-125)
#define BFLT_RADIX 2
#define BFLT_MAX ((bfloat)0x1.fep127f)
#define BFLT_MIN ((bfloat)0x1.0p-126f)
#define BFLT_TRUE_MIN ((bfloat)0x1.0p-133f)
#define BFLT_EPSILON ((bfloat)0x1.0p-7f)
#define BFLT_DECIMAL_DIG 4
#define MAXBFLOAT ((bfloat)0x1.fep127f)
#define HUGE_VALBF ((bfloat)__builtin_inff())
#define M_E_BF ((bfloat)2.71828182845904523536028747135266250f)
#define M_LOG2E_BF ((bfloat)1.44269504088896340735992468100189214f)
#define M_LOG10E_BF ((bfloat)0.434294481903251827651128918916605082f)
#define M_LN2_BF ((bfloat)0.693147180559945309417232121458176568f)
#define M_LN10_BF ((bfloat)2.30258509299404568401799145468436421f)
#define M_PI_BF ((bfloat)3.14159265358979323846264338327950288f)
#define M_PI_2_BF ((bfloat)1.57079632679489661923132169163975144f)
#define M_PI_4_BF ((bfloat)0.785398163397448309615660845819875721f)
#define M_1_PI_BF ((bfloat)0.318309886183790671537767526745028724f)
#define M_2_PI_BF ((bfloat)0.636619772367581343075535053490057448f)
#define M_2_SQRTPI_BF ((bfloat)1.12837916709551257389615890312154517f)
#define M_SQRT2_BF ((bfloat)1.41421356237309504880168872420969808f)
#define M_SQRT1_2_BF ((bfloat)0.707106781186547524400844362104849039f)

#endif
