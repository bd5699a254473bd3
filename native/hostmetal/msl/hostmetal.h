// The declarations an MSL program is compiled with: precompiled once per set of compiler options and included before the
// pre-processed source. Needs no system header; every name it uses comes from clang or from this folder.
//
//   preprocess: clang -x c++ -std=c++17 -E -nostdinc -nostdinc++ -undef -D__METAL_VERSION__=320 -include metal_macros.h -I <this folder>
//   compile:    clang -x clcpp -cl-std=clc++2021 -cl-no-stdinc -nostdinc -fdeclspec -Xclang -cl-ext=+all [options] -include-pch hostmetal.pch
//
// What the functions here assume of the options:
//   -fno-math-errno -fveclib=libmvec    so that math calls vectorise across threads (link with -lmvec -lm)
//   with -ffast-math:
//     -fhonor-nans -fhonor-infinities   kernels use INFINITY in fast mode too
//     -mrecip=none                      estimates make NaN of 1/sqrt(0)
//     -DHOSTMETAL_FAST_MATH             functions without a namespace are the fast ones
//   -fno-strict-float-cast-overflow     float to integer saturates, as on Apple's GPUs, instead of being undefined
#pragma once
#define HOSTMETAL_DECLARATIONS 1
#pragma clang diagnostic push
// Functions are constexpr where their arguments allow it; clang would want to know which ones never can be.
#pragma clang diagnostic ignored "-Winvalid-constexpr"
// NaN and infinity are named in functions that are also compiled for full -ffast-math.
#pragma clang diagnostic ignored "-Wnan-infinity-disabled"
#include "metal_macros.h"
#include "hostmetal_language.h"
#include "hostmetal_runtime.h"
#include "metal_stdlib"
#pragma clang diagnostic pop
