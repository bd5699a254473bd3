// The part of the plugin that says which threadgroups may run in one call: see spans.cpp.
#pragma once

#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/PassManager.h"

namespace hostmetal {

struct Spans : llvm::PassInfoMixin<Spans> {
  llvm::PreservedAnalyses run(llvm::Module &module, llvm::ModuleAnalysisManager &analyses);
  static bool isRequired() { return true; }
};

// Whether `hm_span`, as the pass above leaves it, lets one call be for several threadgroups.
bool spansSeveral(const llvm::GlobalVariable &answer);

} // namespace hostmetal
