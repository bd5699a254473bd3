// The part of the plugin for all kernels, on stacks too: see alignment.cpp.
#pragma once

#include "llvm/IR/PassManager.h"

namespace hostmetal {

struct Alignment : llvm::PassInfoMixin<Alignment> {
  llvm::PreservedAnalyses run(llvm::Module &module, llvm::ModuleAnalysisManager &analyses);
  static bool isRequired() { return true; }
};

} // namespace hostmetal
