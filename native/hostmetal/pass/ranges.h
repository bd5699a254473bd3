// The part of the plugin for loops of which some rounds do nothing: see ranges.cpp.
#pragma once

#include "llvm/IR/PassManager.h"

namespace hostmetal {

struct Ranges : llvm::PassInfoMixin<Ranges> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
  static bool isRequired() { return true; }
};

} // namespace hostmetal
