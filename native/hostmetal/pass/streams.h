// The part of the plugin that writes around the caches: see streams.cpp.
#pragma once

#include "llvm/IR/PassManager.h"

namespace hostmetal {

struct Streams : llvm::PassInfoMixin<Streams> {
  llvm::PreservedAnalyses run(llvm::Module &module, llvm::ModuleAnalysisManager &analyses);
  static bool isRequired() { return true; }
};

} // namespace hostmetal
