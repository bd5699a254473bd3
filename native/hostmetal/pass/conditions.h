// The part of the plugin for conditions on what is also an index: see conditions.cpp.
#pragma once

#include "llvm/IR/PassManager.h"

namespace hostmetal {

struct Conditions : llvm::PassInfoMixin<Conditions> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
  static bool isRequired() { return true; }
};

} // namespace hostmetal
