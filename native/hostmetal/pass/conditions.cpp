// Conditions on what is also an index, on numbers of their own.
//
// In `if (x == 0 || x == n - 1) ...`, where memory at x is read too, the vectoriser computes x once, thread by thread, because addresses are; and packs what
// it has into a vector, an instruction or two a thread, to compare it. What is only compared it counts in a vector.

#include "conditions.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace hostmetal {

namespace {

// As many operations from a loop's counter to what is compared as are worth to be done twice.
constexpr unsigned mostOperations = 6;

// What is computed of a loop's counter, again and for conditions alone.
class Copies {
public:
  Copies(Loop &loop_, PHINode &counter_) : loop(loop_), counter(counter_) {}

  // The copy of what `value` is, if it is of the counter, is used for something else too, and is short.
  Instruction *of(Value *value) {
    unsigned operations = 0;
    bool others = false;
    auto *instruction = dyn_cast<Instruction>(value);
    return instruction && !isCounter(instruction) && isOfCounter(instruction, operations, others) && others ? copy(instruction) : nullptr;
  }

private:
  Loop &loop;
  PHINode &counter;
  DenseMap<Instruction *, Instruction *> copies;

  // The counter, or a part of it, which the vectoriser counts on its own, as a number and as a vector.
  bool isCounter(Value *value) {
    auto *part = dyn_cast<TruncInst>(value);
    return value == &counter || (part && part->getOperand(0) == &counter);
  }

  bool isOfCounter(Instruction *instruction, unsigned &operations, bool &others) {
    if (++operations > mostOperations || !isa<BinaryOperator, TruncInst, ZExtInst, SExtInst>(instruction) || instruction->isIntDivRem())
      return false;
    others |= !all_of(instruction->users(), [](User *user) { return isa<ICmpInst>(user); }) && !instruction->hasOneUse();
    bool counted = false;
    for (Value *operand : instruction->operands()) {
      if (loop.isLoopInvariant(operand))
        continue;
      if (!isCounter(operand) && !(isa<Instruction>(operand) && isOfCounter(cast<Instruction>(operand), operations, others)))
        return false;
      counted = true;
    }
    return counted;
  }

  // Behind the original, so that all that the original dominates has it.
  Instruction *copy(Instruction *instruction) {
    Instruction *&known = copies[instruction];
    if (known)
      return known;
    Instruction *made = instruction->clone();
    made->insertAfter(instruction);
    for (Use &operand : made->operands())
      if (!isCounter(operand.get()) && !loop.isLoopInvariant(operand.get()))
        operand.set(copy(cast<Instruction>(operand.get())));
    return copies[instruction] = made;
  }
};

} // namespace

PreservedAnalyses Conditions::run(Function &function, FunctionAnalysisManager &analyses) {
  bool changed = false;
  for (Loop *loop : analyses.getResult<LoopAnalysis>(function).getLoopsInPreorder()) {
    auto *counter = dyn_cast<PHINode>(&loop->getHeader()->front());
    if (!loop->isInnermost() || !counter || !counter->getType()->isIntegerTy())
      continue;
    Copies copies(*loop, *counter);
    const ICmpInst *end = loop->getLatchCmpInst();
    for (BasicBlock *block : loop->blocks())
      for (Instruction &instruction : *block)
        if (auto *condition = dyn_cast<ICmpInst>(&instruction); condition && condition != end)
          for (Use &operand : condition->operands())
            if (Instruction *made = copies.of(operand.get())) {
              operand.set(made);
              changed = true;
            }
  }
  return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

} // namespace hostmetal
