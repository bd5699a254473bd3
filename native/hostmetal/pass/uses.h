// The part of the plugin that says which arguments a kernel's code uses: see uses.cpp.
#pragma once

#include "llvm/IR/PassManager.h"

namespace hostmetal {

struct Uses : llvm::PassInfoMixin<Uses> {
  llvm::PreservedAnalyses run(llvm::Module &module, llvm::ModuleAnalysisManager &analyses);
  static bool isRequired() { return true; }
};

} // namespace hostmetal
