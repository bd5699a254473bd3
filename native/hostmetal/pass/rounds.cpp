// Loops that each thread goes through as often as it needs, made loops that the threads of a tile go through together (SPMD compilers call this
// predication, or masked control flow).
//
// All threads of a tile do rounds until none needs another. A thread that has left goes on computing, but nothing that it computes counts: what is used
// behind the loop is kept as it was when the thread left, and what it reads is read for threads alone that would come there. Branches inside of a
// round become choices between what both ways compute. So such a loop must be an innermost one, must not write memory, and must compute nothing
// that could fault.
//
// This is done to the function of one thread, with two functions that mean nothing there: `hm.any(i1)`, whether any thread's is true, and
// `hm.load(pointer, i1)`, a load of the threads whose are true. For one thread alone, the new loop does what the old one did.

#include "shapes.h"
#include "llvm/Analysis/LoopIterator.h"
#include "llvm/Analysis/ValueTracking.h"

namespace hostmetal {

bool isAny(const Instruction &instruction) { return isCallOf(&instruction, anyName); }

bool isGuardedLoad(const Instruction &instruction) {
  auto *call = dyn_cast<CallInst>(&instruction);
  return call && call->getCalledFunction() && call->getCalledFunction()->getName().starts_with(guardedLoadName);
}

namespace {

typedef std::pair<const BasicBlock *, const BasicBlock *> Edge;

struct Rounds {
  Loop &loop;
  const LoopInfo &loops;
  LLVMContext &context = loop.getHeader()->getContext();
  Module &module = *loop.getHeader()->getModule();
  BasicBlock *header = loop.getHeader(), *latch = loop.getLoopLatch(), *before = loop.getLoopPreheader();
  // In an order in which each comes behind all that lead to it in a round.
  std::vector<BasicBlock *> order;
  SmallVector<BasicBlock *, 4> exits;
  // Whether a thread takes an edge, in each round.
  std::map<Edge, Value *> taken;
  // The branch before a loop that some threads do not come to, but to where its ends lead.
  BranchInst *guard = nullptr;
  IRBuilder<> builder{context};

  Rounds(Loop &loop_, const LoopInfo &loops_) : loop(loop_), loops(loops_) {}
  bool isPossible();
  void findGuard();
  void join();

private:
  bool isPossible(const Instruction &instruction) const;
  bool isForAll(const BasicBlock *block) const;
  bool endsAlike() const;
  void follow(BasicBlock *block, Value *active);
  void read(LoadInst &load, Value *active);
  void take(BasicBlock *from, BasicBlock *to, Value *does);
  CallInst *any(Value *condition);
  PHINode *carried(Type *type);
  Value *isTaken(const BasicBlock *exit);
  void leave(Value *first, Value *again);
};

// Whether a thread that does not come to an instruction may do it all the same.
bool Rounds::isPossible(const Instruction &instruction) const {
  if (isa<BranchInst, SwitchInst, PHINode>(instruction) || isNothing(instruction))
    return true;
  if (instruction.isTerminator() || instruction.getType()->isVectorTy())
    return false;
  if (auto *load = dyn_cast<LoadInst>(&instruction))
    return load->isSimple() && load->getPointerAddressSpace() == 0;
  auto *call = dyn_cast<CallBase>(&instruction);
  if (instruction.mayReadOrWriteMemory() || (call && call->isConvergent()))
    return false;
  // Some thread is in each round.
  return instruction.getParent() == header || isSafeToSpeculativelyExecute(&instruction);
}

// Whether any thread may do what a block behind or before the loop does.
bool Rounds::isForAll(const BasicBlock *block) const {
  return isa<BranchInst>(block->getTerminator()) && all_of(*block, [](const Instruction &instruction) {
           return isa<BranchInst, PHINode>(instruction) || (!instruction.mayReadOrWriteMemory() && isSafeToSpeculativelyExecute(&instruction));
         });
}

// Whether all ends lead to one place by code that any thread may do.
bool Rounds::endsAlike() const {
  const BasicBlock *next = exits.front()->getUniqueSuccessor();
  return next && all_of(exits, [&](const BasicBlock *exit) { return exit->getUniqueSuccessor() == next && isForAll(exit); });
}

bool Rounds::isPossible() {
  if (!loop.isInnermost() || !latch || !before || !loop.hasDedicatedExits())
    return false;
  loop.getUniqueExitBlocks(exits);
  if (exits.empty() || (exits.size() > 1 && !endsAlike()))
    return false;
  LoopBlocksRPO blocks(&loop);
  blocks.perform(&loops);
  order.assign(blocks.begin(), blocks.end());
  // A round comes to each block once: there may be cycles that are no loops.
  for (unsigned i = 1; i < order.size(); i++)
    for (BasicBlock *from : predecessors(order[i]))
      if (std::find(order.begin(), order.begin() + i, from) == order.begin() + i)
        return false;
  return all_of(order, [&](BasicBlock *block) {
    return all_of(*block, [&](const Instruction &instruction) { return isPossible(instruction); });
  });
}

// Compilers ask before a loop whether there is a first round, so that the loop itself asks at its end.
void Rounds::findGuard() {
  BasicBlock *block = before->getSinglePredecessor();
  auto *branch = block ? dyn_cast<BranchInst>(block->getTerminator()) : nullptr;
  if (!branch || branch->isUnconditional() || !isForAll(before) || !endsAlike())
    return;
  BasicBlock *next = exits.front()->getUniqueSuccessor();
  if (next != before && (branch->getSuccessor(0) == next || branch->getSuccessor(1) == next))
    guard = branch;
}

CallInst *Rounds::any(Value *condition) {
  CallInst *call = builder.CreateCall(module.getOrInsertFunction(anyName, builder.getInt1Ty(), builder.getInt1Ty()), {condition});
  call->getCalledFunction()->setDoesNotAccessMemory();
  call->getCalledFunction()->setDoesNotThrow();
  call->getCalledFunction()->setWillReturn();
  return call;
}

void Rounds::read(LoadInst &load, Value *active) {
  Type *type = load.getType();
  std::string name = guardedLoadName;
  raw_string_ostream(name) << *type;
  FunctionCallee function = module.getOrInsertFunction(name, type, load.getPointerOperandType(), active->getType());
  auto *declared = cast<Function>(function.getCallee());
  declared->setOnlyReadsMemory();
  declared->setDoesNotThrow();
  declared->setWillReturn();
  builder.SetInsertPoint(&load);
  CallInst *guarded = builder.CreateCall(function, {load.getPointerOperand(), active});
  guarded->addParamAttr(0, Attribute::getWithAlignment(context, load.getAlign()));
  load.replaceAllUsesWith(guarded);
  load.eraseFromParent();
}

void Rounds::take(BasicBlock *from, BasicBlock *to, Value *does) {
  Value *&known = taken[{from, to}];
  known = known ? builder.CreateOr(known, does) : does;
}

// A block of a round, done by all threads: `active` says of each whether it would come there.
void Rounds::follow(BasicBlock *block, Value *active) {
  for (PHINode &value : make_early_inc_range(block->phis())) {
    if (block == header)
      continue;
    builder.SetInsertPoint(block, block->getFirstInsertionPt());
    Value *chosen = value.getIncomingValue(0);
    for (unsigned i = 1; i < value.getNumIncomingValues(); i++)
      if (value.getIncomingValue(i) != value.getIncomingValue(0))
        chosen = builder.CreateSelect(taken.at({value.getIncomingBlock(i), block}), value.getIncomingValue(i), chosen);
    value.replaceAllUsesWith(chosen);
    value.eraseFromParent();
  }
  for (Instruction &instruction : make_early_inc_range(*block)) {
    if (isNothing(instruction)) {
      instruction.eraseFromParent();
      continue;
    }
    // What was promised was promised of the threads that come here.
    instruction.dropPoisonGeneratingAnnotations();
    if (auto *load = dyn_cast<LoadInst>(&instruction))
      read(*load, active);
  }
  Instruction *end = block->getTerminator();
  builder.SetInsertPoint(end);
  if (block->getUniqueSuccessor()) {
    take(block, block->getUniqueSuccessor(), active);
  } else if (auto *choice = dyn_cast<SwitchInst>(end)) {
    Value *none = active;
    for (auto &way : choice->cases()) {
      Value *own = builder.CreateICmpEQ(choice->getCondition(), way.getCaseValue());
      take(block, way.getCaseSuccessor(), builder.CreateSelect(active, own, builder.getFalse()));
      none = builder.CreateSelect(none, builder.CreateNot(own), builder.getFalse());
    }
    take(block, choice->getDefaultDest(), none);
  } else {
    auto *branch = cast<BranchInst>(end);
    take(block, branch->getSuccessor(0), builder.CreateSelect(active, branch->getCondition(), builder.getFalse()));
    take(block, branch->getSuccessor(1), builder.CreateSelect(active, builder.CreateNot(branch->getCondition()), builder.getFalse()));
  }
}

// A value from one round to the next; nothing before the first.
PHINode *Rounds::carried(Type *type) {
  PHINode *value = PHINode::Create(type, 2, "", header->begin());
  value->addIncoming(Constant::getNullValue(type), before);
  return value;
}

// Whether a thread leaves by an end in this round.
Value *Rounds::isTaken(const BasicBlock *exit) {
  Value *any = builder.getFalse();
  for (BasicBlock *block : order)
    if (auto edge = taken.find({block, exit}); edge != taken.end())
      any = builder.CreateOr(any, edge->second);
  return any;
}

// What threads leave with, and the way from one end to the next.
void Rounds::leave(Value *first, Value *again) {
  BasicBlock *common = exits.size() > 1 || guard ? exits.front()->getUniqueSuccessor() : nullptr;
  std::vector<Value *> left;
  builder.SetInsertPoint(latch->getTerminator());
  for (BasicBlock *exit : exits) {
    for (PHINode &value : make_early_inc_range(exit->phis())) {
      PHINode *kept = carried(value.getType());
      Value *next = kept;
      for (unsigned i = 0; i < value.getNumIncomingValues(); i++)
        next = builder.CreateSelect(taken.at({value.getIncomingBlock(i), exit}), value.getIncomingValue(i), next);
      kept->addIncoming(next, latch);
      value.replaceAllUsesWith(next);
      value.eraseFromParent();
    }
    if (exit == exits.front())
      continue;
    PHINode *kept = carried(builder.getInt1Ty());
    left.push_back(builder.CreateOr(kept, isTaken(exit)));
    kept->addIncoming(left.back(), latch);
  }
  CallInst *goesOn = any(again);
  for (unsigned i = 0; i + 1 < order.size(); i++)
    ReplaceInstWithInst(order[i]->getTerminator(), BranchInst::Create(order[i + 1]));
  ReplaceInstWithInst(latch->getTerminator(), BranchInst::Create(header, exits.front(), goesOn));
  if (!common)
    return;
  for (PHINode &value : common->phis()) {
    builder.SetInsertPoint(exits.back()->getTerminator());
    Value *chosen = value.getIncomingValueForBlock(exits.front());
    for (unsigned i = 1; i < exits.size(); i++)
      chosen = builder.CreateSelect(left[i - 1], value.getIncomingValueForBlock(exits[i]), chosen);
    if (guard)
      chosen = builder.CreateSelect(first, chosen, value.getIncomingValueForBlock(guard->getParent()));
    for (BasicBlock *exit : exits)
      value.removeIncomingValue(exit, false);
    value.addIncoming(chosen, exits.back());
  }
  for (unsigned i = 0; i + 1 < exits.size(); i++)
    ReplaceInstWithInst(exits[i]->getTerminator(), BranchInst::Create(exits[i + 1]));
}

void Rounds::join() {
  // What was promised of the threads that come before the loop and behind it: all come there now.
  SmallVector<BasicBlock *, 4> around;
  if (guard)
    around.push_back(before);
  if (guard || exits.size() > 1)
    around.append(exits.begin(), exits.end());
  for (BasicBlock *block : around)
    for (Instruction &instruction : *block)
      instruction.dropPoisonGeneratingAnnotations();
  PHINode *active = PHINode::Create(builder.getInt1Ty(), 2, "", header->begin());
  Value *first = builder.getTrue();
  if (guard) {
    builder.SetInsertPoint(guard);
    bool straight = guard->getSuccessor(0) == before;
    first = straight ? guard->getCondition() : builder.CreateNot(guard->getCondition());
    guard->setCondition(any(first));
    guard->setSuccessor(0, before);
    guard->setSuccessor(1, exits.front()->getUniqueSuccessor());
  }
  active->addIncoming(first, before);
  for (BasicBlock *block : order) {
    Value *here = active;
    if (block != header) {
      builder.SetInsertPoint(block, block->getFirstInsertionPt());
      SmallVector<BasicBlock *, 4> from(predecessors(block));
      here = nullptr;
      for (unsigned i = 0; i < from.size(); i++)
        if (std::find(from.begin(), from.begin() + i, from[i]) == from.begin() + i)
          here = here ? builder.CreateOr(here, taken.at({from[i], block})) : taken.at({from[i], block});
    }
    follow(block, here);
  }
  Value *again = taken.at({latch, header});
  leave(first, again);
  active->addIncoming(again, latch);
}

} // namespace

bool joinRounds(Shapes &shapes) {
  std::vector<std::unique_ptr<Rounds>> own;
  auto isAlike = [&](const Value *value) { return shapes.of(value).isSame() && shapes.of(value).isCommon(); };
  for (Loop *loop : const_cast<LoopInfo &>(shapes.loops).getLoopsInPreorder()) {
    auto rounds = std::make_unique<Rounds>(*loop, shapes.loops);
    if (!rounds->isPossible())
      continue;
    bool differ = any_of(loop->blocks(), [&](const BasicBlock *block) {
      const Instruction *end = block->getTerminator();
      return end->getNumSuccessors() > 1 && !isAlike(end->getOperand(0));
    });
    rounds->findGuard();
    if (rounds->guard) {
      // Positions beyond a line part few tiles, which give up.
      auto *line = dyn_cast<ICmpInst>(rounds->guard->getCondition());
      if (isAlike(rounds->guard->getCondition()) ||
          (!differ && line && all_of(line->operands(), [&](const Use &operand) { return shapes.of(operand).kind == Shape::number; })))
        rounds->guard = nullptr;
      differ |= rounds->guard != nullptr;
    }
    if (differ)
      own.push_back(std::move(rounds));
  }
  for (auto &rounds : own)
    rounds->join();
  return !own.empty();
}

} // namespace hostmetal
