// The part of the plugin that says which threadgroups may run in one call: see spans.cpp.
#pragma once

#include "llvm/IR/PassManager.h"

namespace hostmetal {

struct Spans : llvm::PassInfoMixin<Spans> {
  llvm::PreservedAnalyses run(llvm::Module &module, llvm::ModuleAnalysisManager &analyses);
  static bool isRequired() { return true; }
};

} // namespace hostmetal
