// What values are in a tile, and whether a region may have one: tiles.cpp says what tiles are.
#pragma once

#include "builder.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/IntrinsicInst.h"

namespace hostmetal {

// What a value is in a tile.
struct Shape {
  // Not known yet; a number, of which lane i has i * step more; a vector.
  enum Kind { open, number, vector } kind = open;
  // How much more each piece has than the piece before: none when that is not known, and for vectors when it is not 0.
  std::optional<int64_t> leap = 0;
  int64_t step = 0;

  bool isSame() const { return kind == number && step == 0; }
  bool isCommon() const { return leap == 0; }
  bool operator==(const Shape &other) const { return kind == other.kind && leap == other.leap && step == other.step; }
};

// What is known of a region as a function of one thread, for tiles of one layout.
struct Shapes {
  Function &thread;
  const TileLayout &tile;
  const LoopInfo &loops;
  const TargetLibraryInfo &library;
  Shapes(Function &thread_, const TileLayout &tile_, const LoopInfo &loops_, const TargetLibraryInfo &library_)
      : thread(thread_), tile(tile_), loops(loops_), library(library_) {}
  const DataLayout &data = thread.getParent()->getDataLayout();
  ReversePostOrderTraversal<Function *> order{&thread};
  DenseMap<const Value *, Shape> known;
  // Blocks that may come behind a write; that are in a loop or may come behind one.
  std::set<const BasicBlock *> late, behindLoop;

  void find();
  bool fits();
  unsigned bitsKept();
  Shape of(const Value *value) const;
  bool mayGiveUp(const Instruction &instruction) const;
  bool isChecked(const CastInst &cast) const;
  unsigned libraryLanes(const IntrinsicInst &call) const;
  bool isConsecutive(const Value *pointer, Type *type) const;
  bool isColumn(const Value *pointer, Type *type) const;
  bool isTransposed() const;

private:
  Shape compute(const Instruction &instruction) const;
  Shape pointer(const GetElementPtrInst &step) const;
  bool fits(const Instruction &instruction) const;
  bool hasVectorForm(const Instruction &instruction) const;
  bool isForEachPiece(const Instruction &instruction) const;
  bool inOrder(const Value *pointer, Type *type) const;
  bool isByPosition(const Value *value, unsigned depth) const;
};

// What says nothing that a tile needs: assumptions, lifetimes.
bool isNothing(const Instruction &instruction);

// Makes loops, whose rounds or ways differ between the threads of a tile, what a tile can do (rounds.cpp); tells whether there were any.
bool joinRounds(Shapes &shapes);

// What it does that with: whether any thread's argument is true; what is read by the threads whose argument is true.
constexpr const char *anyName = "hm.any", *guardedLoadName = "hm.load.";
bool isAny(const Instruction &instruction);
bool isGuardedLoad(const Instruction &instruction);

} // namespace hostmetal
