// Stores around the caches, for grids that write more than the caches hold.
//
// A store to a cache line that is not in the cache reads the line first, though all of it is written: a vector addition moves four words of memory
// for three. Non-temporal stores of whole lines do not read, and leave in the cache what is read again; but what fits the cache is slower
// to write with them, and has to be fetched by whoever reads it next. Only the host knows how many threads a grid has: `hm_group::stream_bytes` is the least
// number of bytes that a thread must write for all threads to write more than the cache holds.
//
// This comes when the loops over the threads are vectorised and unrolled. An innermost loop whose stores fill whole cache lines, one after the other, and
// that does not read what lies there gets a second copy with non-temporal stores, for when the grid is that large and the lines begin where the stores
// do. The copy computes what the loop does: such stores are weakly ordered among each other only, and a fence orders them before whatever the kernel's
// caller does next (AMD64 Architecture Programmer's Manual 2, 7.4.1; LLVM Language Reference, `!nontemporal`).
//
// For kernels that may run several threadgroups in one call (spans.cpp): they have no atomic accesses, and their loops are long. And for tiles, and other code
// of kernels without atomic and volatile accesses, where every vector that is stored fills a line: the stores are there twice, not the code around them.

#include "streams.h"
#include "spans.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"
#include "llvm/Transforms/Utils/ValueMapper.h"

using namespace llvm;

namespace hostmetal {

namespace {

// Bytes of a cache line of every x86-64 processor.
constexpr uint64_t lineBytes = 64;
// Where `hm_group` has `stream_bytes`: hostmetal_kernel.h holds this against the structure.
constexpr uint64_t streamBytesOffset = 608;
// The loops over z, y and x of a threadgroup.
constexpr unsigned threadLoops = 3;

// Vectors that lie behind each other, over and over: what an iteration stores of them is whole cache lines.
struct Stream {
  const SCEVAddRecExpr *first;
  // With their distances from `first`.
  SmallVector<std::pair<int64_t, StoreInst *>, 8> stores;
  const SCEV *begin = nullptr;
};

// What an iteration reads of memory that lies behind each other, over and over.
struct Source {
  const SCEVAddRecExpr *first;
  // The read that comes first, and how far before it the memory begins that an iteration reads.
  LoadInst *load;
  int64_t begin = 0;
  uint64_t step;
};

struct Candidate {
  Loop *loop;
  // With what it must be true that its addresses grow so: positions in a grid have 32 bits, which may overflow on their way to an address.
  std::unique_ptr<PredicatedScalarEvolution> evolution;
  SmallVector<Stream, 2> streams;
  SmallVector<Source, 4> sources;
  // What a thread writes to the stream that it writes most to.
  uint64_t threadBytes;
};

// As many checks before a loop as are worth it.
constexpr unsigned mostChecks = 8;

const SCEVAddRecExpr *addressOf(Value *pointer, Loop *loop, PredicatedScalarEvolution &evolution) {
  const SCEVAddRecExpr *address = evolution.getAsAddRec(pointer);
  return address && address->getLoop() == loop && address->isAffine() ? address : nullptr;
}

std::optional<int64_t> distance(const SCEV *from, const SCEV *to, ScalarEvolution &evolution) {
  if (from->getType() != to->getType())
    return std::nullopt;
  auto *bytes = dyn_cast<SCEVConstant>(evolution.getMinusSCEV(to, from));
  return bytes ? std::optional(bytes->getAPInt().getSExtValue()) : std::nullopt;
}

// Of what is loaded or stored.
uint64_t sizeOf(Instruction *access) {
  return access->getDataLayout().getTypeStoreSize(getLoadStoreType(access)).getFixedValue();
}

// Bytes that an iteration goes on in memory, 0 where that is not known.
uint64_t stepOf(const SCEVAddRecExpr *address, ScalarEvolution &evolution) {
  auto *step = dyn_cast<SCEVConstant>(address->getStepRecurrence(evolution));
  return step && step->getAPInt().isStrictlyPositive() ? step->getAPInt().getZExtValue() : 0;
}

// Whether the stores are all that lies between two iterations, without gaps.
bool isWhole(Stream &stream, uint64_t step) {
  llvm::sort(stream.stores, [](auto &a, auto &b) { return a.first < b.first; });
  int64_t begin = stream.stores.front().first, next = begin;
  for (auto &[at, store] : stream.stores) {
    uint64_t size = sizeOf(store);
    if (at != next || uint64_t(at - begin) % size != 0)
      return false;
    next += int64_t(size);
  }
  return uint64_t(next - begin) == step;
}

// The streams of a loop of one block.
SmallVector<Stream, 2> streamsOf(Loop *loop, PredicatedScalarEvolution &predicated) {
  ScalarEvolution &evolution = *predicated.getSE();
  SmallVector<Stream, 2> streams;
  BasicBlock *block = loop->getHeader();
  for (Instruction &instruction : *block) {
    auto *store = dyn_cast<StoreInst>(&instruction);
    if (!store || !store->isSimple() || !isa<FixedVectorType>(store->getValueOperand()->getType()))
      continue;
    uint64_t size = sizeOf(store);
    const SCEVAddRecExpr *address = addressOf(store->getPointerOperand(), loop, predicated);
    // x86 has such stores for 16 bytes and more; vectors that are longer than registers are several.
    if (!address || size < 16 || !isPowerOf2_64(size))
      continue;
    Stream *mine = nullptr;
    std::optional<int64_t> at;
    for (Stream &stream : streams)
      if ((at = distance(stream.first, address, evolution))) {
        mine = &stream;
        break;
      }
    if (!mine) {
      mine = &streams.emplace_back(Stream{address, {}});
      at = 0;
    }
    mine->stores.push_back({*at, store});
  }
  llvm::erase_if(streams, [&](Stream &stream) {
    uint64_t step = stepOf(stream.first, evolution);
    if (step == 0 || step % lineBytes != 0 || !isWhole(stream, step))
      return true;
    // What is read there is in the cache already.
    for (Instruction &instruction : *block)
      if (auto *load = dyn_cast<LoadInst>(&instruction))
        if (const SCEVAddRecExpr *address = addressOf(load->getPointerOperand(), loop, predicated))
          if (distance(stream.first, address, evolution))
            return true;
    const SCEV *first = stream.first->getStart();
    stream.begin = evolution.getAddExpr(evolution.getPtrToIntExpr(first, evolution.getEffectiveSCEVType(first->getType())),
                                        evolution.getConstant(evolution.getEffectiveSCEVType(first->getType()), uint64_t(stream.stores.front().first), true));
    return false;
  });
  return streams;
}

// As far ahead as an iteration's reads are asked for: a few iterations, far less than the caches hold.
constexpr int64_t aheadBytes = 2048;
// As many reads ahead in an iteration as are worth their instructions.
constexpr uint64_t mostAhead = 8;

SmallVector<Source, 4> sourcesOf(Loop *loop, PredicatedScalarEvolution &predicated) {
  ScalarEvolution &evolution = *predicated.getSE();
  SmallVector<Source, 4> sources;
  for (Instruction &instruction : *loop->getHeader()) {
    auto *load = dyn_cast<LoadInst>(&instruction);
    const SCEVAddRecExpr *address = load ? addressOf(load->getPointerOperand(), loop, predicated) : nullptr;
    uint64_t step = address ? stepOf(address, evolution) : 0;
    if (step == 0 || step % lineBytes != 0)
      continue;
    auto known = llvm::find_if(sources, [&](Source &source) {
      std::optional<int64_t> apart = distance(source.first, address, evolution);
      return apart && uint64_t(std::abs(*apart)) < step;
    });
    if (known == sources.end())
      sources.push_back({address, load, 0, step});
    else
      known->begin = std::min(known->begin, *distance(known->first, address, evolution));
  }
  return sources;
}

// How many threads an iteration is for: what its counter grows by, 0 where that is not found.
uint64_t threadsOf(Loop *loop, ScalarEvolution &evolution) {
  auto *branch = dyn_cast<BranchInst>(loop->getHeader()->getTerminator());
  auto *end = branch && branch->isConditional() ? dyn_cast<ICmpInst>(branch->getCondition()) : nullptr;
  if (!end)
    return 0;
  for (Value *operand : end->operands())
    if (operand->getType()->isIntegerTy())
      if (auto *counter = dyn_cast<SCEVAddRecExpr>(evolution.getSCEV(operand)); counter && counter->getLoop() == loop && counter->isAffine())
        return stepOf(counter, evolution);
  return 0;
}

bool isUsedOutside(BasicBlock *block) {
  for (Instruction &instruction : *block)
    for (User *user : instruction.users())
      if (cast<Instruction>(user)->getParent() != block)
        return true;
  return false;
}

SmallVector<Candidate, 2> candidates(LoopInfo &loops, ScalarEvolution &evolution) {
  SmallVector<Candidate, 2> found;
  for (Loop *loop : loops.getLoopsInPreorder()) {
    if (!loop->isInnermost() || loop->getLoopDepth() != threadLoops || loop->getNumBlocks() != 1 || !loop->getLoopPredecessor() ||
        !loop->getUniqueExitBlock() || isUsedOutside(loop->getHeader()))
      continue;
    uint64_t threads = threadsOf(loop, evolution);
    auto predicated = std::make_unique<PredicatedScalarEvolution>(evolution, *loop);
    SmallVector<Stream, 2> streams = streamsOf(loop, *predicated);
    // The checks compare with how often the loop runs.
    if (threads == 0 || streams.empty() || isa<SCEVCouldNotCompute>(predicated->getBackedgeTakenCount()) ||
        predicated->getPredicate().getComplexity() > mostChecks)
      continue;
    uint64_t most = 0;
    for (Stream &stream : streams)
      most = std::max(most, stepOf(stream.first, evolution) / threads);
    SmallVector<Source, 4> sources = sourcesOf(loop, *predicated);
    found.push_back({loop, std::move(predicated), std::move(streams), std::move(sources), most});
  }
  return found;
}

// Asks for the lines that later iterations read. A processor that reads whole lines by 512-bit instructions, one stream after the other, comes to the
// end of what it may have under way before its own prefetching does: docs/HOSTMETAL.md, "Around the caches", has figures. By halves of lines it is slower so.
void readAhead(ArrayRef<Source> sources) {
  if (llvm::none_of(sources, [](const Source &source) { return sizeOf(source.load) >= lineBytes; }))
    return;
  uint64_t lines = 0;
  for (const Source &source : sources)
    lines += source.step / lineBytes;
  if (lines > mostAhead)
    return;
  for (const Source &source : sources) {
    IRBuilder<> builder(source.load);
    for (uint64_t line = 0; line < source.step; line += lineBytes) {
      Value *place = builder.CreateConstGEP1_64(builder.getInt8Ty(), source.load->getPointerOperand(), uint64_t(source.begin + aheadBytes + int64_t(line)));
      // To read, into all caches, of data.
      builder.CreateIntrinsic(Intrinsic::prefetch, {place->getType()}, {place, builder.getInt32(0), builder.getInt32(3), builder.getInt32(1)});
    }
  }
}

// The copy of the loop, and the choice before it.
void addCopy(Candidate &candidate, Value *streamBytes, SCEVExpander &expander, LoopInfo &loops, DominatorTree &dominators) {
  BasicBlock *block = candidate.loop->getHeader(), *exit = candidate.loop->getUniqueExitBlock();
  // Another loop's copy may end where this one begins, and both ways of a branch may lead here.
  BasicBlock *predecessor = candidate.loop->getLoopPredecessor();
  if (!predecessor || pred_size(block) != 2 || !llvm::all_of(candidate.streams, [&](Stream &stream) { return expander.isSafeToExpand(stream.begin); }))
    return;
  BasicBlock *before = SplitEdge(predecessor, block, &dominators, &loops);
  Instruction *end = before->getTerminator();
  IRBuilder<> builder(end);
  Value *wanted = builder.CreateICmpUGE(builder.getInt32(uint32_t(std::min<uint64_t>(candidate.threadBytes, UINT32_MAX))), streamBytes);
  Value *bits = nullptr;
  for (Stream &stream : candidate.streams) {
    Value *begin = expander.expandCodeFor(stream.begin, stream.begin->getType(), end->getIterator());
    builder.SetInsertPoint(end);
    bits = bits ? builder.CreateOr(bits, begin) : begin;
  }
  Value *apart = builder.CreateAnd(bits, ConstantInt::get(bits->getType(), lineBytes - 1));
  Value *streams = builder.CreateAnd(wanted, builder.CreateICmpEQ(apart, ConstantInt::get(bits->getType(), 0)));
  const SCEVPredicate &growth = candidate.evolution->getPredicate();
  if (!growth.isAlwaysTrue()) {
    Value *overflows = expander.expandCodeForPredicate(&growth, end);
    builder.SetInsertPoint(end);
    streams = builder.CreateAnd(streams, builder.CreateNot(overflows));
  }

  readAhead(candidate.sources);
  ValueToValueMapTy map;
  BasicBlock *copy = CloneBasicBlock(block, map, ".streams", block->getParent());
  map[block] = copy;
  for (Instruction &instruction : *copy)
    RemapInstruction(&instruction, map, RF_NoModuleLevelChanges | RF_IgnoreMissingLocals);
  copy->getTerminator()->setMetadata(LLVMContext::MD_loop, nullptr);
  for (PHINode &value : exit->phis())
    value.addIncoming(value.getIncomingValueForBlock(block), copy);
  builder.CreateCondBr(streams, copy, block);
  end->eraseFromParent();
  Loop *own = loops.AllocateLoop();
  candidate.loop->getParentLoop()->addChildLoop(own);
  own->addBasicBlockToLoop(copy, loops);
  dominators.addNewBlock(copy, before);
  if (dominators.getNode(exit)->getIDom()->getBlock() == block)
    dominators.changeImmediateDominator(exit, before);

  LLVMContext &context = block->getContext();
  MDNode *yes = MDNode::get(context, ConstantAsMetadata::get(ConstantInt::get(Type::getInt32Ty(context), 1)));
  for (Stream &stream : candidate.streams)
    for (auto &[at, original] : stream.stores) {
      auto *store = cast<StoreInst>(map[original]);
      store->setMetadata(LLVMContext::MD_nontemporal, yes);
      store->setAlignment(Align(std::min(sizeOf(store), lineBytes)));
    }
  // What was expanded is found again by the instruction that it was put before, which is gone.
  expander.clear();
}

// Before the caller goes on, where there were such stores.
void addFences(Function &kernel, Value *streamBytes, uint64_t mostBytes) {
  SmallVector<ReturnInst *, 2> returns;
  for (BasicBlock &block : kernel)
    if (auto *end = dyn_cast<ReturnInst>(block.getTerminator()))
      returns.push_back(end);
  for (ReturnInst *end : returns) {
    IRBuilder<> builder(end);
    Value *wanted = builder.CreateICmpUGE(builder.getInt32(uint32_t(std::min<uint64_t>(mostBytes, UINT32_MAX))), streamBytes);
    builder.SetInsertPoint(SplitBlockAndInsertIfThen(wanted, end->getIterator(), false));
    builder.CreateIntrinsic(Intrinsic::x86_sse_sfence, {}, {});
  }
}

// ------------------------------------------------------------------ tiles

// Where `hm_group` has the addresses of buffers: before those of threadgroup memory.
constexpr uint64_t buffersEnd = 248;
// Lines so far apart share a set of the first cache of every x86-64 processor (64 sets, or as many as divide them), which has place for 8 to 16. A tile's are
// then soon out of it, and grids around the caches are faster from a sixteenth of the size on: docs/HOSTMETAL.md, "Around the caches", has figures.
constexpr uint64_t setBytes = 4096;
constexpr unsigned crowdedShift = 4;
// So many whole lines, at least, for a choice between the two kinds of stores; and at most, which are then all in registers at once.
constexpr size_t leastLines = 4, mostLines = 16;

// Whether others may see an order of what it writes.
bool isOrdered(const Module &module) {
  for (const Function &function : module)
    for (const Instruction &instruction : instructions(function))
      if (instruction.isAtomic() || instruction.isVolatile())
        return true;
  return false;
}

// The call that a use of a function is, if it is one by name.
const CallInst *callOf(const Use &use, const Function &function) {
  auto *call = dyn_cast<CallInst>(use.getUser());
  return call && call->isCallee(&use) && call->getFunctionType() == function.getFunctionType() && !call->hasOperandBundles() ? call : nullptr;
}

struct Buffers {
  const Function &kernel;
  DenseMap<const Argument *, std::optional<uint64_t>> known;

  // Where `hm_group` has the address of the buffer that an object is wherever the function is called.
  std::optional<uint64_t> of(const Value *object) {
    if (auto *load = dyn_cast<LoadInst>(object)) {
      APInt offset(64, 0);
      const Value *from = load->getPointerOperand()->stripAndAccumulateConstantOffsets(load->getDataLayout(), offset, true);
      return from == kernel.getArg(0) && offset.ult(buffersEnd) ? std::optional(offset.getZExtValue()) : std::nullopt;
    }
    auto *argument = dyn_cast<Argument>(object);
    if (!argument || argument->getParent() == &kernel)
      return std::nullopt;
    // What a function is called with by itself is not known.
    auto [found, isNew] = known.try_emplace(argument, std::nullopt);
    if (!isNew)
      return found->second;
    std::optional<uint64_t> buffer = ofCalls(*argument);
    known[argument] = buffer;
    return buffer;
  }

  std::optional<uint64_t> ofCalls(const Argument &argument) {
    const Function &function = *argument.getParent();
    std::optional<uint64_t> buffer;
    for (const Use &use : function.uses()) {
      const CallInst *call = callOf(use, function);
      std::optional<uint64_t> here = call ? of(getUnderlyingObject(call->getArgOperand(argument.getArgNo()))) : std::nullopt;
      if (!here || (buffer && buffer != here))
        return std::nullopt;
      buffer = here;
    }
    return buffer;
  }
};

// The buffers that are read, of those accesses whose buffer is known.
SmallDenseSet<uint64_t> buffersRead(const Module &module, Buffers &buffers) {
  SmallDenseSet<uint64_t> read;
  for (const Function &function : module)
    for (const Instruction &instruction : instructions(function)) {
      auto *load = dyn_cast<LoadInst>(&instruction);
      auto *call = dyn_cast<IntrinsicInst>(&instruction);
      bool some = call && (call->getIntrinsicID() == Intrinsic::masked_gather || call->getIntrinsicID() == Intrinsic::masked_load);
      if (!load && !some)
        continue;
      SmallVector<const Value *, 4> objects;
      getUnderlyingObjects(load ? load->getPointerOperand() : call->getArgOperand(0), objects);
      for (const Value *object : objects)
        if (std::optional<uint64_t> buffer = buffers.of(object))
          read.insert(*buffer);
    }
  return read;
}

// Stores of whole lines, with no other access to memory in between.
typedef SmallVector<StoreInst *, 16> Lines;

SmallVector<Lines, 2> linesOf(Function &function, Buffers &buffers, const SmallDenseSet<uint64_t> &read) {
  SmallVector<Lines, 2> found;
  DenseMap<const Value *, bool> wanted;
  for (BasicBlock &block : function) {
    Lines lines;
    auto end = [&] {
      if (lines.size() >= leastLines)
        found.push_back(lines);
      lines.clear();
    };
    for (Instruction &instruction : block) {
      if (!instruction.mayReadOrWriteMemory())
        continue;
      auto *store = dyn_cast<StoreInst>(&instruction);
      if (!store || !store->isSimple() || !isa<FixedVectorType>(store->getValueOperand()->getType()) || sizeOf(store) != lineBytes) {
        end();
        continue;
      }
      const Value *object = getUnderlyingObject(store->getPointerOperand());
      auto [known, isNew] = wanted.try_emplace(object, false);
      if (isNew) {
        std::optional<uint64_t> buffer = buffers.of(object);
        // What is read is in the cache already, or will be wanted there.
        known->second = buffer && !read.contains(*buffer);
      }
      if (!known->second || lines.size() == mostLines)
        end();
      if (known->second)
        lines.push_back(store);
    }
    end();
  }
  return found;
}

// What a thread writes of a line: each lane of a vector is a thread.
uint64_t laneBytes(const StoreInst *store) { return lineBytes / cast<FixedVectorType>(store->getValueOperand()->getType())->getNumElements(); }

// The stores again, around the caches, and the choice before them.
void addLines(Lines &lines, Value *streamBytes) {
  for (StoreInst *store : ArrayRef(lines).drop_back())
    store->moveBefore(lines.back());
  IRBuilder<> builder(lines.front());
  Value *bits = nullptr;
  SmallVector<Value *, 16> addresses;
  uint64_t least = lineBytes;
  for (StoreInst *store : lines) {
    Value *address = builder.CreatePtrToInt(store->getPointerOperand(), builder.getInt64Ty());
    bits = bits ? builder.CreateOr(bits, address) : address;
    addresses.push_back(address);
    least = std::min(least, laneBytes(store));
  }
  Value *whole = builder.CreateICmpEQ(builder.CreateAnd(bits, lineBytes - 1), builder.getInt64(0));
  Value *apart = builder.CreateXor(addresses[0], addresses[1]);
  Value *crowded = builder.CreateICmpEQ(builder.CreateAnd(apart, setBytes - 1), builder.getInt64(0));
  Value *enough = builder.CreateSelect(crowded, builder.getInt32(uint32_t(least << crowdedShift)), builder.getInt32(uint32_t(least)));
  Value *wanted = builder.CreateAnd(builder.CreateICmpUGE(enough, streamBytes), whole);
  Instruction *around = nullptr, *through = nullptr;
  SplitBlockAndInsertIfThenElse(wanted, lines.front()->getIterator(), &around, &through);
  MDNode *yes = MDNode::get(builder.getContext(), ConstantAsMetadata::get(builder.getInt32(1)));
  for (StoreInst *store : lines) {
    auto *copy = cast<StoreInst>(store->clone());
    copy->setMetadata(LLVMContext::MD_nontemporal, yes);
    copy->setAlignment(Align(lineBytes));
    copy->insertBefore(around);
    store->moveBefore(through);
  }
}

// The number in each function that has such stores, and in those between it and the kernel: functions get one more argument.
struct Thresholds {
  Function &kernel;
  Value *inKernel;
  DenseMap<Function *, Value *> known;

  Value *of(Function *function) {
    if (function == &kernel)
      return inKernel;
    if (Value *value = known.lookup(function))
      return value;
    SmallVector<Type *, 8> types(function->getFunctionType()->params());
    types.push_back(inKernel->getType());
    auto *type = FunctionType::get(function->getReturnType(), types, false);
    Function *made = Function::Create(type, function->getLinkage(), function->getAddressSpace(), "", function->getParent());
    made->copyAttributesFrom(function);
    made->copyMetadata(function, 0);
    made->takeName(function);
    made->splice(made->begin(), function);
    for (auto [from, to] : zip(function->args(), made->args())) {
      to.takeName(&from);
      from.replaceAllUsesWith(&to);
    }
    Value *value = made->getArg(made->arg_size() - 1);
    known[made] = value;
    for (User *user : make_early_inc_range(function->users())) {
      auto *call = cast<CallInst>(user);
      // Giving the caller an argument moves the call, and replaces the caller's arguments that are this call's.
      Value *callers = of(call->getFunction());
      SmallVector<Value *, 8> arguments(call->args());
      arguments.push_back(callers);
      CallInst *again = CallInst::Create(type, made, arguments, "", call->getIterator());
      again->setCallingConv(call->getCallingConv());
      again->setAttributes(call->getAttributes());
      again->setTailCallKind(call->getTailCallKind());
      again->copyMetadata(*call);
      again->takeName(call);
      call->replaceAllUsesWith(again);
      call->eraseFromParent();
    }
    function->eraseFromParent();
    return value;
  }
};

// Whether a function is called by name only, by the kernel or by such functions; `known` is what was found, and false of those that call each other.
bool isReached(const Function &function, const Function &kernel, DenseMap<const Function *, bool> &known) {
  if (&function == &kernel)
    return true;
  auto [found, isNew] = known.try_emplace(&function, false);
  if (!isNew)
    return found->second;
  bool reached = function.hasLocalLinkage() && !function.isVarArg() && !function.use_empty() && llvm::all_of(function.uses(), [&](const Use &use) {
    const CallInst *call = callOf(use, function);
    return call && isReached(*call->getFunction(), kernel, known);
  });
  return known[&function] = reached;
}

// Whether there were such. No fence follows: the caller runs one threadgroup after the other, and has one when it is through (executor/run.rs).
bool addTiles(Module &module, Function &kernel, Value *streamBytes) {
  SmallVector<Lines, 4> found;
  Thresholds thresholds{kernel, streamBytes, DenseMap<Function *, Value *>()};
  DenseMap<const Function *, bool> reached;
  Buffers buffers{kernel, DenseMap<const Argument *, std::optional<uint64_t>>()};
  const SmallDenseSet<uint64_t> read = buffersRead(module, buffers);
  for (Function &function : module)
    if (!function.isDeclaration() && isReached(function, kernel, reached))
      llvm::append_range(found, linesOf(function, buffers, read));
  for (Lines &lines : found)
    addLines(lines, thresholds.of(lines.front()->getFunction()));
  return !found.empty();
}

} // namespace

PreservedAnalyses Streams::run(Module &module, ModuleAnalysisManager &analyses) {
  Function *kernel = module.getFunction("hm_kernel_group");
  GlobalVariable *span = module.getGlobalVariable("hm_span");
  if (Triple(module.getTargetTriple()).getArch() != Triple::x86_64 || !kernel || kernel->isDeclaration())
    return PreservedAnalyses::all();
  IRBuilder<> entry(&*kernel->getEntryBlock().getFirstInsertionPt());
  Value *place = entry.CreateConstInBoundsGEP1_64(entry.getInt8Ty(), kernel->getArg(0), streamBytesOffset);
  Instruction *streamBytes = entry.CreateLoad(entry.getInt32Ty(), place, "stream_bytes");
  uint64_t most = 0;
  bool changed = false;
  if (span && spansSeveral(*span)) {
    FunctionAnalysisManager &functions = analyses.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
    ScalarEvolution &evolution = functions.getResult<ScalarEvolutionAnalysis>(*kernel);
    LoopInfo &loops = functions.getResult<LoopAnalysis>(*kernel);
    SmallVector<Candidate, 2> found = candidates(loops, evolution);
    SCEVExpander expander(evolution, module.getDataLayout(), "stream");
    for (Candidate &candidate : found) {
      addCopy(candidate, streamBytes, expander, loops, functions.getResult<DominatorTreeAnalysis>(*kernel));
      most = std::max(most, candidate.threadBytes);
    }
  } else if (!isOrdered(module)) {
    changed = addTiles(module, *kernel, streamBytes);
  }
  if (most > 0)
    addFences(*kernel, streamBytes, most);
  else if (!changed)
    RecursivelyDeleteTriviallyDeadInstructions(streamBytes);
  return PreservedAnalyses::none();
}

} // namespace hostmetal
