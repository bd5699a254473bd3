// Loops of which some rounds do nothing, made shorter.
//
// `if (t < k) s[t] += s[t + k];`, where t is the thread and k the same for all, is a loop over all threads of which the first k do something. The
// vectoriser masks what the others do not do. A masked store takes tens of cycles on processors without AVX-512, and a load of what it stored waits for
// all of it; and all threads take their time on any. Such a loop is taken over the rounds that do something.

#include "ranges.h"
#include "llvm/Analysis/InstSimplifyFolder.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace hostmetal {

namespace {

// A loop whose rounds are numbered from 0 by `count`, and that does nothing in a round where `predicate` does not hold of the count and the limit.
struct Guarded {
  BasicBlock *before, *head, *body, *latch, *behind;
  PHINode *count;
  ICmpInst *last;
  Value *rounds;
  ICmpInst::Predicate predicate;
  Value *limit;
};

// `count + 1 == rounds` ends the loop, in a block that does nothing else.
bool counts(Loop &loop, Guarded &found) {
  found.before = loop.getLoopPreheader();
  found.head = loop.getHeader();
  found.latch = loop.getLoopLatch();
  found.behind = loop.getUniqueExitBlock();
  if (!found.before || !found.latch || !found.behind || found.head == found.latch || loop.getExitingBlock() != found.latch)
    return false;
  found.count = dyn_cast<PHINode>(&found.head->front());
  auto *end = dyn_cast<BranchInst>(found.latch->getTerminator());
  if (!isa<BranchInst>(found.before->getTerminator()) || !found.count || isa<PHINode>(found.count->getNextNode()) || !end || !end->isConditional())
    return false;
  auto *first = dyn_cast<ConstantInt>(found.count->getIncomingValueForBlock(found.before));
  auto *next = dyn_cast<BinaryOperator>(found.count->getIncomingValueForBlock(found.latch));
  found.last = dyn_cast<ICmpInst>(end->getCondition());
  if (!first || !first->isZero() || !next || next->getOpcode() != Instruction::Add || !next->hasNoUnsignedWrap() || !found.last)
    return false;
  auto *step = dyn_cast<ConstantInt>(next->getOperand(1));
  found.rounds = found.last->getOperand(1);
  if (next->getOperand(0) != found.count || !step || !step->isOne() || found.last->getOperand(0) != next || !loop.isLoopInvariant(found.rounds))
    return false;
  // One of known length the vectoriser takes whole.
  if (isa<Constant>(found.rounds))
    return false;
  BasicBlock *leaves = end->getSuccessor(found.last->getPredicate() == ICmpInst::ICMP_EQ ? 0 : 1);
  if (!found.last->isEquality() || leaves != found.behind || !found.last->hasOneUse() || !next->hasNUses(2))
    return false;
  return all_of(*found.latch, [&](Instruction &one) { return &one == next || &one == found.last || &one == end; });
}

// The first block looks whether the rest of the round is to be, and does nothing else.
bool looks(Loop &loop, Guarded &found) {
  auto *branch = dyn_cast<BranchInst>(found.head->getTerminator());
  auto *condition = branch && branch->isConditional() ? dyn_cast<ICmpInst>(branch->getCondition()) : nullptr;
  if (!condition || (branch->getSuccessor(0) == found.latch) == (branch->getSuccessor(1) == found.latch))
    return false;
  const bool skips = branch->getSuccessor(0) == found.latch;
  found.body = branch->getSuccessor(skips ? 1 : 0);
  found.predicate = skips ? condition->getInversePredicate() : condition->getPredicate();
  const bool swapped = condition->getOperand(1) == found.count;
  if (swapped)
    found.predicate = ICmpInst::getSwappedPredicate(found.predicate);
  found.limit = condition->getOperand(swapped ? 0 : 1);
  if (condition->getOperand(swapped ? 1 : 0) != found.count || !loop.isLoopInvariant(found.limit))
    return false;
  return none_of(*found.head, [&](Instruction &one) { return &one != branch && one.mayHaveSideEffects(); });
}

// Its last round ends it, and what it computes is in memory then, if anywhere.
bool leavesNothing(Loop &loop, const Guarded &found) {
  return found.behind->phis().empty() && all_of(loop.blocks(), [&](BasicBlock *block) {
           return all_of(*block, [&](Instruction &one) {
             return isGuaranteedToTransferExecutionToSuccessor(&one) &&
                    all_of(one.users(), [&](User *user) { return loop.contains(cast<Instruction>(user)); });
           });
         });
}

bool isRange(ICmpInst::Predicate predicate) {
  return predicate == ICmpInst::ICMP_EQ || (ICmpInst::isUnsigned(predicate) && !ICmpInst::isEquality(predicate));
}

// The loop has a round at least: each comes to its end, and the count does not wrap. So `rounds - 1` is the last.
void shorten(const Guarded &found) {
  auto *enters = cast<BranchInst>(found.before->getTerminator());
  Function *function = found.head->getParent();
  IRBuilder<InstSimplifyFolder> builder(function->getContext(), InstSimplifyFolder(function->getDataLayout()));
  builder.SetInsertPoint(enters);
  Type *type = found.count->getType();
  Value *one = ConstantInt::get(type, 1), *begin = ConstantInt::get(type, 0), *end = found.rounds;
  auto least = [&](Value *a, Value *b) { return builder.CreateBinaryIntrinsic(Intrinsic::umin, a, b); };
  auto upTo = [&](Value *limit) { return builder.CreateAdd(least(limit, builder.CreateSub(found.rounds, one)), one); };
  switch (found.predicate) {
  case ICmpInst::ICMP_ULT: end = least(found.limit, found.rounds); break;
  case ICmpInst::ICMP_ULE: end = upTo(found.limit); break;
  case ICmpInst::ICMP_UGE: begin = least(found.limit, found.rounds); break;
  case ICmpInst::ICMP_UGT: begin = upTo(found.limit); break;
  default:
    begin = least(found.limit, found.rounds);
    end = upTo(found.limit);
  }
  Value *some = builder.CreateICmpULT(begin, end);
  // With blocks of its own in front and behind, as loops have.
  BasicBlock *front = BasicBlock::Create(function->getContext(), "", function, found.head);
  BasicBlock *back = BasicBlock::Create(function->getContext(), "", function, found.behind);
  BranchInst::Create(found.head, front);
  BranchInst::Create(found.behind, back);
  BranchInst::Create(front, found.behind, some, enters->getIterator());
  enters->eraseFromParent();
  found.count->replaceIncomingBlockWith(found.before, front);
  found.count->setIncomingValueForBlock(front, begin);
  found.last->setOperand(1, end);
  found.latch->getTerminator()->replaceSuccessorWith(found.behind, back);
  Instruction *looks = found.head->getTerminator();
  BranchInst::Create(found.body, looks->getIterator());
  looks->eraseFromParent();
}

} // namespace

PreservedAnalyses Ranges::run(Function &function, FunctionAnalysisManager &analyses) {
  bool changed = false;
  for (Loop *loop : analyses.getResult<LoopAnalysis>(function).getLoopsInPreorder()) {
    Guarded found;
    if (!loop->isInnermost() || !counts(*loop, found) || !looks(*loop, found) || !isRange(found.predicate) || !leavesNothing(*loop, found))
      continue;
    shorten(found);
    changed = true;
  }
  return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

} // namespace hostmetal
