// The part of the plugin for all loops over threads, those of kernels without barriers too: see joins.cpp.
#pragma once

#include "llvm/IR/PassManager.h"

namespace hostmetal {

struct Joins : llvm::PassInfoMixin<Joins> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
  static bool isRequired() { return true; }
};

} // namespace hostmetal
