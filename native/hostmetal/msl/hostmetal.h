// The declarations an MSL program is compiled with: precompiled once per set of compiler options and included before the
// pre-processed source. Needs no system header; every name it uses comes from clang or from this folder.
#pragma once
#define HOSTMETAL_DECLARATIONS 1
// Functions are constexpr where their arguments allow it; clang would want to know which ones never can be.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Winvalid-constexpr"
#include "metal_macros.h"
#include "hostmetal_language.h"
#include "hostmetal_runtime.h"
#include "metal_stdlib"
#pragma clang diagnostic pop
