// Counters in a kernel that runs one thread after another: at each access that analysis.cpp tells of, at each block that does something, and of
// the rounds of each loop. For crates/hostmetal/src/msl/counts.rs, which says what the lines mean.
//
// Threads of a SIMD-group do an access together when they are in the same rounds of the loops around it. So each loop counts its rounds, and an
// access tells a number made of those around it. What blocks and loops count lies on the thread's stack until the thread ends.

#include "analysis.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"

using namespace llvm;

namespace hostmetal {

// Where hm_runtime_table (native/hostmetal/msl/hostmetal_runtime.h) has its functions.
constexpr uint64_t countPlace = 56, finishPlace = 64;
// More than fit on a thread's stack beside what the kernel keeps there.
constexpr size_t mostCounters = 4096;
// Knuth's multiplier for linear congruential generators of 64 bits.
constexpr uint64_t factor = 6364136223846793005u;

namespace {

class Counters {
public:
  Counters(Module &module_, const Kernel &kernel, LoopInfo &loops_)
      : module(module_), body(*kernel.body), loops(loops_), word(Type::getInt64Ty(module_.getContext())), pointer(PointerType::getUnqual(module_.getContext())) {}

  Refusal insert(Told &told) {
    std::vector<std::pair<BasicBlock *, const Work *>> blocks;
    for (BasicBlock &block : body)
      if (auto known = told.blocks.find(&block); known != told.blocks.end() && !known->second.isNothing())
        blocks.push_back({&block, &known->second});
    SmallVector<Loop *, 8> all = loops.getLoopsInPreorder();
    size_t number = blocks.size() + all.size();
    if (number > mostCounters)
      return "it has more blocks and loops than are counted";
    print(told, blocks, all);
    Type *array = ArrayType::get(word, number);
    IRBuilder<> entry(&*body.getEntryBlock().getFirstInsertionPt());
    counters = entry.CreateAlloca(array);
    entry.CreateMemSet(counters, entry.getInt8(0), number * 8, Align(8));
    // Keys first: they need the loops as they are.
    for (const Loop *loop : all)
      makeKey(*loop);
    for (const Site &site : told.sites)
      countAccess(site);
    uint64_t at = 0;
    for (auto &[block, work] : blocks) {
      IRBuilder<> builder(block->getTerminator());
      add(builder, at++, builder.getInt64(1));
    }
    for (const Loop *loop : all)
      countRounds(*loop, at++);
    for (BasicBlock &block : body)
      if (isa<ReturnInst>(block.getTerminator())) {
        IRBuilder<> builder(block.getTerminator());
        call(builder, finishPlace, {body.getArg(parameterLinear), counters, builder.getInt64(number)});
      }
    return std::nullopt;
  }

private:
  Module &module;
  Function &body;
  LoopInfo &loops;
  Type *word, *pointer;
  Value *counters = nullptr;
  DenseMap<const Loop *, Value *> keys;

  void print(const Told &told, const std::vector<std::pair<BasicBlock *, const Work *>> &blocks, const SmallVectorImpl<Loop *> &all) {
    raw_ostream &out = errs();
    for (const Site &site : told.sites) {
      out << linePrefix << "site ";
      site.access.print(out);
      out << '\n';
    }
    for (auto &[block, work] : blocks) {
      out << linePrefix << "block " << work->flops << ' ' << work->integer << '\n';
      work->printCalls(out);
    }
    for (const Loop *loop : all)
      out << linePrefix << "loop " << placeOf(*loop) << '\n';
    for (Place place : told.uncounted)
      out << linePrefix << "uncounted " << place << '\n';
    out << linePrefix << "counted\n";
  }

  void add(IRBuilder<> &builder, uint64_t at, Value *by) {
    Value *place = builder.CreateConstInBoundsGEP1_64(word, counters, at);
    builder.CreateStore(builder.CreateAdd(builder.CreateLoad(word, place), by), place);
  }

  void call(IRBuilder<> &builder, uint64_t place, ArrayRef<Value *> arguments) {
    Value *table = builder.CreateLoad(pointer, module.getGlobalVariable("hm_runtime"));
    Value *function = builder.CreateLoad(pointer, builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), table, place));
    SmallVector<Type *, 5> types;
    for (Value *argument : arguments)
      types.push_back(argument->getType());
    builder.CreateCall(FunctionType::get(builder.getVoidTy(), types, false), function, arguments);
  }

  // A number for each of a loop's rounds, in each of the rounds around it.
  void makeKey(const Loop &loop) {
    auto outer = keys.find(loop.getParentLoop());
    Value *around = outer == keys.end() ? ConstantInt::get(word, 0) : outer->second;
    BasicBlock *header = loop.getHeader(), *before = loop.getLoopPreheader(), *latch = loop.getLoopLatch();
    if (!before || !latch) {
      keys[&loop] = around;
      return;
    }
    PHINode *round = PHINode::Create(word, 2, "", header->begin());
    round->addIncoming(ConstantInt::get(word, 1), before);
    IRBuilder<> end(latch->getTerminator());
    round->addIncoming(end.CreateAdd(round, end.getInt64(1)), latch);
    IRBuilder<> builder(&*header->getFirstInsertionPt());
    keys[&loop] = builder.CreateAdd(builder.CreateMul(around, builder.getInt64(factor)), round);
  }

  void countAccess(const Site &site) {
    IRBuilder<> builder(site.last->getNextNode());
    auto key = keys.find(loops.getLoopFor(site.last->getParent()));
    Value *bytes = site.length ? builder.CreateZExtOrTrunc(site.length, word) : builder.getInt64(site.access.bytes);
    call(builder, countPlace,
         {builder.getInt32(numbered++), body.getArg(parameterLinear), key == keys.end() ? builder.getInt64(0) : key->second,
          builder.CreatePointerBitCastOrAddrSpaceCast(site.address, pointer), bytes});
  }
  unsigned numbered = 0;

  // A loop that asks in front of its rounds has those for which it goes on; any other as many as it begins.
  void countRounds(const Loop &loop, uint64_t at) {
    BasicBlock *header = loop.getHeader();
    IRBuilder<> builder(header->getTerminator());
    auto *branch = dyn_cast<BranchInst>(header->getTerminator());
    if (!loop.isLoopExiting(header) || header == loop.getLoopLatch() || !branch || !branch->isConditional())
      return add(builder, at, builder.getInt64(1));
    Value *goesOn = branch->getCondition();
    if (!loop.contains(branch->getSuccessor(0)))
      goesOn = builder.CreateNot(goesOn);
    add(builder, at, builder.CreateZExt(goesOn, word));
  }
};

} // namespace

Refusal insertCounters(Module &module, const Kernel &kernel, FunctionAnalysisManager &analyses) {
  if (!module.getGlobalVariable("hm_runtime"))
    return "there is no hm_runtime";
  Told told = analyse(kernel, analyses);
  return Counters(module, kernel, analyses.getResult<LoopAnalysis>(*kernel.body)).insert(told);
}

} // namespace hostmetal
