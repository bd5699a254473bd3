// Which threadgroups of a kernel without barriers may run in one call, as if they were one long threadgroup.
//
// hostmetal_kernel.h sets `hm_span` to `hostmetal::span_possible` where the kernel's arguments allow it: they do not tell one threadgroup from
// another. Here the code is looked at, when it is simplified but not vectorised yet, and `hm_span` becomes, for crates/hostmetal/src/executor:
//
//   span_threadgroup  threadgroups run one by one. The code has atomic or volatile accesses or calls functions that access memory, so that what
//                     it does may depend on when threads run, and running a threadgroup again, as is done to find one that faulted, may not
//                     show the same.
//   span_line         those that follow each other along x, if a threadgroup has one row of threads: they run in the same order as one by one.
//   span_rows         also if it has several: the first row of all, then the second of all. Only for code that goes through memory as x grows:
//                     each access of a thread lies close to that of its neighbour. Other code, say one that writes along columns or has a
//                     loop of its own, finds more of its memory in caches when threadgroups are small.

#include "spans.h"
#include "llvm/Analysis/LoopAccessAnalysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

namespace hostmetal {

namespace {

// `hostmetal::span` of hostmetal_kernel.h.
enum Span : unsigned { spanThreadgroup, spanPossible, spanLine, spanRows };

// The loops over z, y and x of a threadgroup.
constexpr unsigned threadLoops = 3;

// Bytes between a thread's access and its neighbour's, at most: a cache line.
constexpr int64_t longestStep = 64;

bool dependsOnTime(const Instruction &instruction) {
  if (instruction.isAtomic() || instruction.isVolatile())
    return true;
  auto *call = dyn_cast<CallBase>(&instruction);
  if (!call || call->doesNotAccessMemory())
    return false;
  auto *intrinsic = dyn_cast<IntrinsicInst>(call);
  return !intrinsic || !(intrinsic->isAssumeLikeIntrinsic() || isa<MemIntrinsic>(intrinsic));
}

// Whether all accesses in the loop are close to those of the iterations before and behind.
bool goesThroughMemory(Loop &loop, ScalarEvolution &evolution) {
  PredicatedScalarEvolution predicated(evolution, loop);
  const DataLayout &layout = loop.getHeader()->getDataLayout();
  for (BasicBlock *block : loop.blocks())
    for (Instruction &instruction : *block) {
      if (isa<MemIntrinsic>(instruction))
        return false;
      Value *pointer = getLoadStorePointerOperand(&instruction);
      if (!pointer)
        continue;
      Type *type = getLoadStoreType(&instruction);
      // What the vectoriser may assume too, checking it when the loop runs.
      std::optional<int64_t> step = getPtrStride(predicated, type, pointer, &loop, DenseMap<Value *, const SCEV *>(), true, false);
      int64_t size = layout.getTypeAllocSize(type).getFixedValue();
      if (!step || std::abs(*step) * size > longestStep)
        return false;
    }
  return true;
}

Span span(Function &function, LoopInfo &loops, ScalarEvolution &evolution) {
  for (BasicBlock &block : function)
    for (Instruction &instruction : block)
      if (dependsOnTime(instruction))
        return spanThreadgroup;
  SmallVector<Loop *, 8> all = loops.getLoopsInPreorder();
  bool rows = !all.empty();
  for (Loop *loop : all)
    rows &= !loop->isInnermost() ? loop->getLoopDepth() < threadLoops
                                 : loop->getLoopDepth() == threadLoops && goesThroughMemory(*loop, evolution);
  return rows ? spanRows : spanLine;
}

} // namespace

bool spansSeveral(const GlobalVariable &answer) {
  if (!answer.hasInitializer())
    return false;
  auto *found = dyn_cast<ConstantInt>(answer.getInitializer());
  return found && (found->equalsInt(spanLine) || found->equalsInt(spanRows));
}

PreservedAnalyses Spans::run(Module &module, ModuleAnalysisManager &analyses) {
  Function *kernel = module.getFunction("hm_kernel_group");
  GlobalVariable *answer = module.getGlobalVariable("hm_span");
  if (!kernel || kernel->isDeclaration() || !answer || !answer->hasInitializer() || !match(answer->getInitializer(), m_SpecificInt(spanPossible)))
    return PreservedAnalyses::all();
  FunctionAnalysisManager &functions = analyses.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
  Span found = span(*kernel, functions.getResult<LoopAnalysis>(*kernel), functions.getResult<ScalarEvolutionAnalysis>(*kernel));
  answer->setInitializer(ConstantInt::get(answer->getValueType(), found));
  return PreservedAnalyses::all();
}

} // namespace hostmetal
