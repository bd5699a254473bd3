// What makes a threadgroup of a body's regions: shared by region.cpp, group.cpp and simdgroups.cpp.
#pragma once

#include "pass.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include <functional>
#include <map>
#include <set>
#include <tuple>

namespace hostmetal {

using namespace llvm;

// How the threads of a tile lie: in pieces of some lanes beside each other in x; the pieces beside each other too, or as rows, one after
// another in y. All counts are powers of two.
struct TileLayout {
  unsigned lanes, pieces;
  bool rows;

  unsigned width() const { return lanes * (rows ? 1 : pieces); }
  unsigned height() const { return rows ? pieces : 1; }
};

// A region for a tile at once: called with the position of the first thread, its number in linear order, the threads in x of the whole
// threadgroup, and the rest of a region's parameters; gives how it ended, or `tileGaveUp`.
struct Tile {
  TileLayout layout;
  Function *function;
};
constexpr uint32_t tileGaveUp = ~0u;

// A function of one thread, and what it is called with behind the body's own parameters.
struct Region {
  Function *function = nullptr;
  // Best first. The last, when it is of one row, is for threadgroups of every width from its own on: what is left of a row goes through `alone`.
  std::vector<Tile> tiles;
  // The function for each thread of a tile: called as a tile, with the tile's threads in x and in y, and with `allOf` and `anyOf` of the group.
  Function *alone = nullptr;
  // Slots whose value is needed, and slots that may get one; parameters in this order.
  std::vector<unsigned> in, out;
  std::vector<unsigned> objects, variables;
  // Ways that it can end.
  std::set<unsigned> ends;
  MDNode *accesses = nullptr;
};

// Threadgroup variables: the arguments of the calls that ask for them.
struct Variable {
  Constant *id, *size, *alignment;
};

// What the code of a threadgroup works on, made before the first region.
struct Group {
  explicit Group(CallInst *call)
      : block(call->getParent()), behind(SplitBlock(block, call)), function(block->getParent()), builder(block),
        entry(&*function->getEntryBlock().getFirstInsertionPt()) {}

  // Before and behind the call that stood for the threads.
  BasicBlock *block, *behind;
  Function *function;
  // Where threads disagree.
  BasicBlock *disagree = nullptr;
  IRBuilder<> builder, entry;
  Value *size[3] = {}, *count = nullptr;
  // Of each slot: its places before and behind a region, which are one for a divergent value.
  std::vector<std::pair<Value *, Value *>> slots;
  std::vector<Value *> objects, addresses;
  std::vector<BasicBlock *> starts;
  // All bits of the threads' answers.
  Value *allOf = nullptr, *anyOf = nullptr;
};

struct Builder {
  Builder(const Kernel &kernel_, Regions &regions_, FunctionAnalysisManager &analyses_)
      : kernel(kernel_), regions(regions_), analyses(analyses_) {}

  const Kernel &kernel;
  Regions &regions;
  FunctionAnalysisManager &analyses;
  Function &body = *kernel.body;
  LLVMContext &context = body.getContext();
  Type *i32 = Type::getInt32Ty(context), *i64 = Type::getInt64Ty(context);
  PointerType *pointer = PointerType::get(context, 0);
  const DataLayout &layout = body.getParent()->getDataLayout();
  std::vector<Variable> variables;
  DenseMap<BasicBlock *, BitVector> live;
  // Of each object: how it lies in memory when that is in columns (simdgroups.cpp), else null.
  std::vector<const StructLayout *> columns;
  // What combines the lanes of a part of a SIMD-group (simdgroups.cpp), by the operation, its width, and the objects' type, stride and layout.
  std::map<std::tuple<Function *, unsigned, Type *, uint64_t, bool>, Function *> parts;

  BasicBlock *start(unsigned region) { return region == 0 ? &body.getEntryBlock() : regions.waits[region - 1].next; }
  // What a slot has in memory: a vector of i1 has no bytes of its own.
  Type *stored(const Slot &slot) {
    Type *type = slot.place->getAllocatedType();
    return type->isIntegerTy(1) ? Type::getInt8Ty(context) : type;
  }
  uint64_t stride(const AllocaInst *object) {
    return alignTo(object->getAllocationSize(layout)->getFixedValue(), object->getAlign());
  }

  void findColumns();
  Value *blockOf(IRBuilder<> &builder, unsigned object, Value *place, Value *simdgroup);
  void findVariables();
  unsigned variable(const CallInst &call);
  void findLive();
  SetVector<BasicBlock *> blocks(unsigned region, std::set<unsigned> &ends);
  Region makeRegion(unsigned number);
  void makeTiles(Region &region);
  void makeAlone(Region &region);
  bool isForAnyWidth(const Region &region, const Tile &tile) { return &tile == &region.tiles.back() && !tile.layout.rows; }
  Value *fits(Group &group, const Region &region, const Tile &tile);
  void runTiles(Group &group, const Region &region, const Tile &tile, ArrayRef<Value *> rest);
  void loop(IRBuilder<> &builder, Value *count, const char *name, MDNode *accesses, const std::function<void(Value *)> &iteration);
  Refusal checkSize();
  void openGroup(Group &group);
  void closeGroup(Group &group);
  CallInst *runtime(IRBuilder<> &builder, unsigned field, Type *result, ArrayRef<Value *> arguments);
  std::vector<Value *> values(Group &group, const Region &region, Value *simdgroup);
  void carry(Group &group, const Region &region, Value *simdgroup);
  void ask(IRBuilder<> &builder, Value *allOf, Value *anyOf);
  void answer(IRBuilder<> &builder, Value *allOf, Value *anyOf, Value *end);
  void rows(Group &group, const Region &region, ArrayRef<Value *> rest);
  Value *agreed(Group &group, Value *allOf, Value *anyOf);
  void branch(Group &group, const Region &region, const std::function<BasicBlock *(unsigned)> &target);
  void makeSeldom(Function &part);
  Function *makePart(const Region &region);
  Function *makePart(const Wait &wait);
  void combine(Group &group, const Wait &wait, Value *simdgroup, Value *first, Value *lanes);
  void makeGroup();
  void makeSimdgroups();
};

} // namespace hostmetal
