// Differences that a condition keeps from wrapping, as such.
//
// In `t >= k ? s[t - k] : 0`, where t is the thread, the index is a difference of 32 bits, which wraps for the threads whose condition does not hold: of a loop
// over threads the vectoriser knows no distance from one index to the next, and gathers. What the condition lets through does not wrap, so there the index is a
// difference of 64 bits, consecutive from thread to thread.

#include "differences.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace hostmetal {

namespace {

// The last 32 bits of `from - less`, as 64 bits. `less` has 32 bits, or is `amount` where it is null.
struct Difference {
  Value *from = nullptr, *less = nullptr;
  uint64_t amount = 0;
};

bool isDifference(Instruction &one, Difference &found) {
  const APInt *sum, *mask;
  if (!one.getType()->isIntegerTy(64))
    return false;
  if (match(&one, m_ZExt(m_Sub(m_Trunc(m_Value(found.from)), m_Value(found.less)))))
    return one.getOperand(0)->getType()->isIntegerTy(32) && found.from->getType() == one.getType();
  if (!match(&one, m_ZExt(m_Add(m_Trunc(m_Value(found.from)), m_APInt(sum)))) &&
      !(match(&one, m_And(m_Add(m_Value(found.from), m_APInt(sum)), m_APInt(mask))) && *mask == UINT32_MAX))
    return false;
  if (auto *narrow = dyn_cast<ZExtInst>(&one); narrow && !narrow->getSrcTy()->isIntegerTy(32))
    return false;
  found.amount = -sum->getZExtValue() & UINT32_MAX;
  return found.from->getType() == one.getType();
}

// As many conditions joined by `&&` and `||` as are looked into, one in the other.
constexpr unsigned mostJoined = 4;

// Whether `found.from` is no less than what is taken from it, where the condition holds, or does not.
bool keepsFromWrapping(const Value *value, bool holds, const Difference &found, unsigned depth = 0) {
  const Value *one, *other;
  if (holds ? match(value, m_LogicalAnd(m_Value(one), m_Value(other))) : match(value, m_LogicalOr(m_Value(one), m_Value(other))))
    return depth < mostJoined && (keepsFromWrapping(one, holds, found, depth + 1) || keepsFromWrapping(other, holds, found, depth + 1));
  if (!isa<ICmpInst>(value))
    return false;
  const auto &condition = *cast<ICmpInst>(value);
  const bool swapped = condition.getOperand(1) == found.from;
  if (condition.getOperand(swapped ? 1 : 0) != found.from)
    return false;
  ICmpInst::Predicate predicate = swapped ? condition.getSwappedPredicate() : condition.getPredicate();
  if (!holds)
    predicate = ICmpInst::getInversePredicate(predicate);
  const Value *limit = condition.getOperand(swapped ? 0 : 1);
  if (found.less)
    return (predicate == ICmpInst::ICMP_UGE || predicate == ICmpInst::ICMP_UGT) && match(limit, m_ZExt(m_Specific(found.less)));
  const APInt *known;
  return match(limit, m_APInt(known)) && ConstantRange::makeExactICmpRegion(predicate, *known).getUnsignedMin().uge(found.amount);
}

// A branch on the way to `block` that only goes on there where the difference does not wrap.
bool isKept(const BasicBlock *block, const Difference &found, const DominatorTree &tree) {
  for (auto *node = tree.getNode(block)->getIDom(); node; node = node->getIDom()) {
    auto *branch = dyn_cast<BranchInst>(node->getBlock()->getTerminator());
    for (unsigned way = 0; branch && branch->isConditional() && way < 2; ++way)
      if (tree.dominates(BasicBlockEdge(node->getBlock(), branch->getSuccessor(way)), block) && keepsFromWrapping(branch->getCondition(), way == 0, found))
        return true;
  }
  return false;
}

} // namespace

PreservedAnalyses Differences::run(Function &function, FunctionAnalysisManager &analyses) {
  const auto &tree = analyses.getResult<DominatorTreeAnalysis>(function);
  auto &evolution = analyses.getResult<ScalarEvolutionAnalysis>(function);
  bool changed = false;
  for (Instruction &one : make_early_inc_range(instructions(function))) {
    Difference found;
    if (!tree.isReachableFromEntry(one.getParent()) || !isDifference(one, found) || !isKept(one.getParent(), found, tree))
      continue;
    if (evolution.getUnsignedRangeMax(evolution.getSCEV(found.from)).ugt(UINT32_MAX))
      continue;
    IRBuilder<> builder(&one);
    Value *less = found.less ? builder.CreateZExt(found.less, one.getType()) : ConstantInt::get(one.getType(), found.amount);
    one.replaceAllUsesWith(builder.CreateSub(found.from, less));
    evolution.forgetValue(&one);
    RecursivelyDeleteTriviallyDeadInstructions(&one);
    changed = true;
  }
  return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

} // namespace hostmetal
