// Where LLVM's loop vectoriser may join a thread's accesses with a stride, such as the four bytes of a `uchar4`, to wide ones.
//
// Joined loads move up to the first of them and joined stores down to the last, for all threads of a vector at once. In loops that are marked
// as parallel over threads (region.cpp; hostmetal_kernel.h) LLVM 19 keeps no record of which access of an iteration depends on another of the same
// iteration, and moves them over everything (InterleavedAccessInfo asks for dependences that LoopAccessInfo has not looked for). So each access
// that could move over another one that it may overlap in the same thread gets an address in which LLVM recognises no stride; it stays where
// it is, as a gather or scatter.
//
// The proof for all others, by kinds of pairs of accesses of one thread, first F before L in the text:
//   both loads                 their order does not matter.
//   F a load, L a store        loads only move up and stores only down: their order stays.
//   F a store, L any access    F passes L only when a store that F may be joined with can come behind L; L passes F only when it is a load and one
//                              that it may be joined with can come before F. Either needs a proof that F and L do not overlap (`apart`).
// Accesses of different threads are independent: that is what the mark says. What may be joined is taken too widely: all loads, or all
// stores, of the same size whose addresses have the same base and a stride that is not known to be none, one element, or too long for
// LLVM to join. A predicate that LLVM checks when the loop runs adds no such pair, for it does not change a base. What comes before what is
// the order in which control flow may reach accesses in an iteration; LLVM lays the blocks out in one such order.
//
// Runs just before the vectoriser; a loop is turned in between, which keeps that order.

#include "joins.h"
#include "pass.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/LoopAccessAnalysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include <set>

using namespace llvm;

namespace hostmetal {

namespace {

// The longest stride, in elements, that LLVM joins (-max-interleave-group-factor).
constexpr uint64_t longestStride = 8;

struct Access {
  Instruction *instruction;
  Value *pointer;
  const SCEV *address, *base;
  uint64_t size;
  bool store, strided;
  // What is known of the address: that it is `rest` modulo `modulus`, a power of two.
  uint64_t modulus, rest;
};

struct Loops {
  Function &function;
  LoopInfo &loops;
  ScalarEvolution &evolution;
  DominatorTree &dominators;
  AAResults &aliases;
  const DataLayout &layout;
  Value *zero = nullptr;
  bool changed = false;

  void treat(Loop &loop);
  Access access(Loop &loop, PredicatedScalarEvolution &predicated, Instruction &instruction);
  std::optional<int64_t> distance(const Access &from, const Access &to);
  bool apart(const Access &one, const Access &other);
  void hide(Loop &loop, Access &access);
  Value *opaque(Value *index, Instruction *at);
};

// The blocks of an iteration that control flow may reach behind each one, without that one (an innermost loop has no cycles but its own).
using Behind = DenseMap<BasicBlock *, std::set<BasicBlock *>>;

Behind behind(Loop &loop) {
  Behind result;
  for (BasicBlock *block : loop.blocks()) {
    std::set<BasicBlock *> &seen = result[block];
    std::vector<BasicBlock *> open = {block};
    while (!open.empty()) {
      BasicBlock *from = open.back();
      open.pop_back();
      for (BasicBlock *next : successors(from))
        if (next != loop.getHeader() && loop.contains(next) && seen.insert(next).second)
          open.push_back(next);
    }
  }
  return result;
}

} // namespace

Access Loops::access(Loop &loop, PredicatedScalarEvolution &predicated, Instruction &instruction) {
  Access access{};
  access.instruction = &instruction;
  access.store = isa<StoreInst>(instruction);
  access.pointer = getLoadStorePointerOperand(&instruction);
  Type *type = getLoadStoreType(&instruction);
  access.size = layout.getTypeStoreSize(type).getFixedValue();
  access.address = evolution.getSCEV(access.pointer);
  access.base = evolution.getPointerBase(access.address);
  access.modulus = getLoadStoreAlignment(&instruction).value();
  // Whatever LLVM assumes of the loop, a constant that follows from some assumptions is the same under others.
  std::optional<int64_t> stride = getPtrStride(predicated, type, access.pointer, &loop, DenseMap<Value *, const SCEV *>(), true, false);
  uint64_t length = stride ? (*stride < 0 ? -uint64_t(*stride) : uint64_t(*stride)) : 2;
  access.strided = length >= 2 && length <= longestStride && !loop.isLoopInvariant(access.pointer);
  return access;
}

std::optional<int64_t> Loops::distance(const Access &from, const Access &to) {
  if (from.base != to.base)
    return std::nullopt;
  auto *constant = dyn_cast<SCEVConstant>(evolution.getMinusSCEV(to.address, from.address));
  if (!constant || constant->getAPInt().getSignificantBits() > 63)
    return std::nullopt;
  return constant->getAPInt().getSExtValue();
}

// Whether two accesses of one iteration touch no byte together.
bool Loops::apart(const Access &one, const Access &other) {
  if (std::optional<int64_t> far = distance(one, other))
    return *far >= int64_t(one.size) || -*far >= int64_t(other.size);
  // Both may lie anywhere, but each at a known place of any aligned piece of memory.
  uint64_t modulus = std::min(one.modulus, other.modulus), from = (other.rest - one.rest) % modulus;
  if (from >= one.size && (modulus - from) % modulus >= other.size)
    return true;
  return aliases.isNoAlias(MemoryLocation::get(one.instruction), MemoryLocation::get(other.instruction));
}

// The same value as an index's, of which LLVM knows nothing.
Value *Loops::opaque(Value *index, Instruction *at) {
  if (!zero) {
    IRBuilder<> builder(&*function.getEntryBlock().getFirstInsertionPt());
    Type *type = builder.getInt64Ty();
    zero = builder.CreateCall(InlineAsm::get(FunctionType::get(type, {type}, false), "", "=r,0", false), {builder.getInt64(0)}, "opaque");
  }
  IRBuilder<> builder(at);
  return builder.CreateXor(index, builder.CreateZExtOrTrunc(zero, index->getType()), "unjoined");
}

// Gives an access an address without a stride. Behind constant offsets that is one whose last varying index is opaque, so that the access is still
// seen to begin at a common base.
void Loops::hide(Loop &loop, Access &access) {
  if (!access.strided)
    return;
  access.strided = false;
  changed = true;
  Instruction *at = access.instruction;
  Value *pointer = nullptr;
  std::vector<GetElementPtrInst *> chain;
  for (auto *step = dyn_cast<GetElementPtrInst>(access.pointer); step && !step->getType()->isVectorTy();
       step = dyn_cast<GetElementPtrInst>(step->getPointerOperand())) {
    chain.push_back(step);
    if (!step->hasAllConstantIndices())
      break;
  }
  if (!chain.empty() && loop.isLoopInvariant(chain.back()->getPointerOperand()))
    for (Use &index : chain.back()->indices())
      if (!loop.isLoopInvariant(index)) {
        auto *copy = cast<GetElementPtrInst>(chain.back()->clone());
        copy->insertBefore(at->getIterator());
        copy->setOperand(index.getOperandNo(), opaque(index, copy));
        pointer = copy;
        break;
      }
  if (pointer) {
    for (size_t i = chain.size() - 1; i-- > 0;) {
      auto *copy = cast<GetElementPtrInst>(chain[i]->clone());
      copy->setOperand(0, pointer);
      copy->insertBefore(at->getIterator());
      pointer = copy;
    }
  } else {
    IRBuilder<> builder(at);
    Value *number = builder.CreatePtrToInt(access.pointer, builder.getInt64Ty());
    pointer = builder.CreateIntToPtr(opaque(number, at), access.pointer->getType());
  }
  at->replaceUsesOfWith(access.pointer, pointer);
  access.pointer = pointer;
}

void Loops::treat(Loop &loop) {
  PredicatedScalarEvolution predicated(evolution, loop);
  std::vector<Access> accesses;
  for (BasicBlock *block : loop.blocks())
    for (Instruction &instruction : *block) {
      auto *load = dyn_cast<LoadInst>(&instruction);
      auto *store = dyn_cast<StoreInst>(&instruction);
      // What only tells something is no access, though it says that it writes (`llvm.assume`, scopes of `restrict`).
      if (auto *intrinsic = dyn_cast<IntrinsicInst>(&instruction); intrinsic && intrinsic->isAssumeLikeIntrinsic()) continue;
      // A loop with any other access is not vectorised.
      if ((load && load->isSimple()) || (store && store->isSimple()))
        accesses.push_back(access(loop, predicated, instruction));
      else if (instruction.mayWriteToMemory())
        return;
    }
  Behind after = behind(loop);
  // Whether the second comes behind the first when an iteration executes both.
  auto follows = [&](const Access &first, const Access &second) {
    BasicBlock *from = first.instruction->getParent(), *to = second.instruction->getParent();
    return from == to ? first.instruction->comesBefore(second.instruction) : after[from].count(to) != 0;
  };
  // Whatever its own alignment, an access lies as far from another as the two are apart, if that one is executed too.
  std::vector<Access> known = accesses;
  for (Access &access : accesses)
    for (const Access &other : known)
      if (other.modulus > access.modulus && dominators.dominates(other.instruction->getParent(), access.instruction->getParent()))
        if (std::optional<int64_t> far = distance(other, access)) {
          access.modulus = other.modulus;
          access.rest = uint64_t(*far) % other.modulus;
        }
  auto joinable = [&](const Access &one, const Access &other) {
    if (!one.strided || !other.strided || one.store != other.store || one.size != other.size || one.base != other.base)
      return false;
    std::optional<int64_t> far = distance(one, other);
    return !far || uint64_t(*far < 0 ? -*far : *far) < longestStride * one.size;
  };
  for (Access &first : accesses) {
    if (!first.store)
      continue;
    for (Access &last : accesses) {
      if ((!first.strided && !last.strided) || !follows(first, last))
        continue;
      bool sinks = any_of(accesses, [&](const Access &other) {
        return &other != &first && &other != &last && joinable(first, other) && !follows(other, last);
      });
      sinks |= joinable(first, last);
      bool rises = !last.store && any_of(accesses, [&](const Access &other) {
        return &other != &last && joinable(last, other) && !follows(first, other);
      });
      if ((!sinks && !rises) || apart(first, last))
        continue;
      if (sinks)
        hide(loop, first);
      if (rises)
        hide(loop, last);
    }
  }
}

PreservedAnalyses Joins::run(Function &function, FunctionAnalysisManager &analyses) {
  Loops work{function,
             analyses.getResult<LoopAnalysis>(function),
             analyses.getResult<ScalarEvolutionAnalysis>(function),
             analyses.getResult<DominatorTreeAnalysis>(function),
             analyses.getResult<AAManager>(function),
             function.getDataLayout()};
  for (Loop *loop : work.loops.getLoopsInPreorder())
    if (loop->isInnermost() && loop->isAnnotatedParallel())
      work.treat(*loop);
  if (!work.changed)
    return PreservedAnalyses::all();
  PreservedAnalyses preserved;
  preserved.preserveSet<CFGAnalyses>();
  return preserved;
}

} // namespace hostmetal
