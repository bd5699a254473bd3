// By how much values differ between neighbouring threads, and where addresses come from (steps.cpp).
#pragma once

#include "pass.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Dominators.h"
#include <tuple>

namespace hostmetal {

// What a function of the library stands for, by the header that it is in.
enum class Library { none, math, atomic, texture };

Library libraryOf(const llvm::DISubprogram *program);
// Whether it is in the user's text; all else is the library's.
bool isUsers(const llvm::DIScope *scope);

// The direction in which neighbours' positions differ.
enum class Axis { x, y };

// By how much a value is larger in the next neighbour; in an order in which it only ever rises.
struct Step {
  enum Kind { open, known, even, unknown, data } kind = open;
  int64_t by = 0;

  bool isSame() const { return kind == known && by == 0; }
  bool operator==(const Step &other) const { return kind == other.kind && by == other.by; }
};

// Where an address comes from.
struct Root {
  enum Kind { none, own, table, threadgroup, argument, unknown } kind = none;
  unsigned number = 0;
  bool operator<(const Root &other) const { return std::tie(kind, number) < std::tie(other.kind, other.number); }
  bool operator==(const Root &other) const { return kind == other.kind && number == other.number; }
};

Root rootOf(const llvm::Value *pointer);
// Whether it comes from the kernel, and not from the engine's code around it.
bool isKernels(const llvm::Instruction &instruction);

// Of every value of a body.
class Steps {
public:
  Steps(llvm::Function &body, llvm::LoopInfo &loops, llvm::DominatorTree &tree, Axis axis);
  Step of(const llvm::Value *value) const;

private:
  Axis axis;
  llvm::DenseMap<const llvm::Value *, Step> steps;
};

} // namespace hostmetal
