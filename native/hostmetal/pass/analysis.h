// What one thread of a kernel does, told instead of compiled (analysis.cpp).
#pragma once

#include "pass.h"

namespace hostmetal {

// Before inlining: functions of the library that stand for one operation stay calls.
void keepLibraryCalls(llvm::Module &module);
// Refuses a body with calls in which anything may happen.
Refusal checkCalls(const Kernel &kernel);
// Prints it, line by line; everything is inlined into the body.
void tellAnalysis(const Kernel &kernel, llvm::FunctionAnalysisManager &analyses);

} // namespace hostmetal
