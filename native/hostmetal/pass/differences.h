// The part of the plugin for differences that a condition keeps from wrapping: see differences.cpp.
#pragma once

#include "llvm/IR/PassManager.h"

namespace hostmetal {

struct Differences : llvm::PassInfoMixin<Differences> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
  static bool isRequired() { return true; }
};

} // namespace hostmetal
