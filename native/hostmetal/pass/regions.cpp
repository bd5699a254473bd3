// The proof that all threads wait together, and the body in regions.
//
// Uniform is what is the same in all threads of a threadgroup that execute an instruction together, or, in kernels with SIMD-group functions, in
// all threads of a SIMD-group (barriers must still be reached by the whole threadgroup alike, which is proved apart); LLVM's uniformity analysis computes it
// from the sources of difference: the position, addresses and contents of private memory, atomics, calls that read memory. A load from shared
// memory at a uniform address is uniform: between two barriers nobody writes there without a data race, which MSL leaves undefined. (What the
// threads of a region decide is compared when the kernel runs, group.cpp: where a race makes them disagree, the command buffer fails.)
//
// A thread's way can only depart from the others' at a branch that is not uniform, and is theirs again at the branch's nearest post-dominator.
// So every thread comes to a barrier, equally often and in the same order, when no barrier can be reached from such a branch without passing
// that point.
//
// The lanes that come to a SIMD-group function in one iteration of a loop are not those of another, though the optimiser may find a place for it
// where all come by. So the pass is given the text with the meetings that stacks need too (msl/reconverge.rs): lanes that part in a loop with
// such a function come to one that is then not all's, and the kernel is refused. The text has them too often; one in a loop without such
// functions proves nothing. Programs also rely on it that what the lanes of a SIMD-group did in an iteration lies before what they do in the next
// or behind the loop; so a meeting remains, as a wait, where a lane may otherwise write what another has still to read or write.
//
// A value that is used behind a barrier is computed again when that is cheap and depends on the position alone, for then accesses remain
// visibly consecutive. Others are kept in memory: one place per thread, or one for the threadgroup when the value is uniform and every thread
// computes it. Private objects that the optimiser has left in memory exist once per thread.

#include "pass.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/CycleAnalysis.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/Analysis/TargetTransformInfoImpl.h"
#include "llvm/Analysis/UniformityAnalysis.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Local.h"
#include <map>
#include <set>

using namespace llvm;
using namespace llvm::PatternMatch;

namespace hostmetal {

// ---------------------------------------------------------------- what the pass can take apart

// hostmetal::reconverge: all lanes of an iteration are there.
static bool isMeeting(const Instruction &instruction) {
  return isCallOf(&instruction, simdBarrierName) && match(cast<CallInst>(instruction).getArgOperand(0), m_SpecificInt(0x80000000u));
}

static bool isNarrow(const Instruction &instruction) {
  return (isCallOf(&instruction, simdBarrierName) && !isMeeting(instruction)) || isCallOf(&instruction, combineName);
}

static bool isWait(const Instruction &instruction) { return isCallOf(&instruction, barrierName) || isNarrow(instruction); }

// The object that a lane brings to a SIMD-group function.
static AllocaInst *objectOf(const CallBase &combine) { return dyn_cast<AllocaInst>(combine.getArgOperand(1)->stripPointerCasts()); }

static bool isName(const Function &function) { return function.getName().starts_with("hm."); }

// Whether a call of the function may wait, or do what cannot be seen.
static bool isHarmless(const Function &function, std::set<const Function *> &seen) {
  if (!seen.insert(&function).second)
    return true;
  if (function.isDeclaration())
    return !isName(function) && !function.hasFnAttribute(Attribute::ReturnsTwice);
  for (const Instruction &instruction : instructions(function)) {
    auto *call = dyn_cast<CallBase>(&instruction);
    if (!call || call->isInlineAsm())
      continue;
    if (!call->getCalledFunction() || !isHarmless(*call->getCalledFunction(), seen))
      return false;
  }
  return true;
}

// The way out of a loop that is always taken, which the optimiser does not know: hostmetal::leaves.
static bool isOpaque(const Value &value) {
  auto *call = dyn_cast<CallInst>(&value);
  return call && call->isInlineAsm() && cast<InlineAsm>(call->getCalledOperand())->getAsmString().empty() && call->arg_size() == 1 &&
         isa<Constant>(call->getArgOperand(0)) && call->getType() == call->getArgOperand(0)->getType();
}

static Refusal checkCall(const CallBase &call) {
  if (isMeeting(call))
    return std::nullopt;
  if (call.isInlineAsm()) {
    auto *text = cast<InlineAsm>(call.getCalledOperand());
    // A barrier for the compiler.
    if ((text->getAsmString().empty() && call.getType()->isVoidTy() && call.arg_empty()) || isOpaque(call))
      return std::nullopt;
    return "it has inline assembly";
  }
  const Function *callee = call.getCalledFunction();
  if (!callee)
    return "it calls a function through a pointer";
  if (isCallOf(&call, combineName)) {
    auto *width = dyn_cast<ConstantInt>(call.getArgOperand(2));
    if (!isa<Function>(call.getArgOperand(0)) || !objectOf(call) || !width || (!width->equalsInt(32) && !width->equalsInt(4)))
      return "it has a SIMD-group function that is not known when it is compiled";
    std::set<const Function *> seen;
    if (!isHarmless(*cast<Function>(call.getArgOperand(0)), seen))
      return "it has a SIMD-group function that may wait";
    return std::nullopt;
  }
  if (callee->isIntrinsic() || isWait(call) || isCallOf(&call, laneName))
    return std::nullopt;
  if (isCallOf(&call, allocateName)) {
    if (isa<Constant>(call.getArgOperand(0)) && isa<Constant>(call.getArgOperand(1)) && isa<Constant>(call.getArgOperand(2)))
      return std::nullopt;
    return "it asks for a threadgroup variable that is not known when it is compiled";
  }
  std::set<const Function *> seen;
  if (!isHarmless(*callee, seen))
    return "it calls a function that is not inlined and may wait: " + callee->getName().str();
  return std::nullopt;
}

Refusal checkBody(Function &body) {
  if (body.hasFnAttribute(Attribute::OptimizeNone))
    return "it is not to be optimised";
  for (Instruction &instruction : instructions(body)) {
    if (isa<InvokeInst, CallBrInst, IndirectBrInst, ResumeInst, LandingPadInst, CatchSwitchInst, VAArgInst>(instruction))
      return std::string("it has an instruction of the kind ") + instruction.getOpcodeName();
    if (auto *alloca = dyn_cast<AllocaInst>(&instruction)) {
      if (!alloca->isStaticAlloca() || alloca->getParent() != &body.getEntryBlock())
        return "it has private memory whose size is not known when it is compiled";
    } else if (auto *call = dyn_cast<CallBase>(&instruction)) {
      if (Refusal refusal = checkCall(*call))
        return refusal;
    }
  }
  return std::nullopt;
}

// ---------------------------------------------------------------- uniformity

// LLVM asks the target what differs between threads; this one tells of ours.
struct Threads : TargetTransformInfoImplCRTPBase<Threads> {
  // Of a SIMD-group, rather than of a threadgroup.
  bool simd;
  Threads(const DataLayout &layout, bool simd_) : TargetTransformInfoImplCRTPBase(layout), simd(simd_) {}
  bool hasBranchDivergence(const Function *) const { return true; }
  // Whatever its operands are: an object's address differs between threads.
  bool isAlwaysUniform(const Value *value) const {
    if (isCallOf(value, allocateName) || isOpaque(*value))
      return true;
    auto *load = dyn_cast<LoadInst>(value);
    return simd && (isSimdgroup(value) || (load && isShared(*load)));
  }
  // What does not depend on the last five bits of a thread's number.
  static bool isSimdgroup(const Value *value) {
    const Value *thread;
    const APInt *number;
    bool found = match(value, m_LShr(m_Value(thread), m_APInt(number))) && number->uge(5);
    found = found || (match(value, m_UDiv(m_Value(thread), m_APInt(number))) && number->countr_zero() >= 5 && !number->isZero());
    found = found || (match(value, m_And(m_Value(thread), m_APInt(number))) && number->countr_zero() >= 5);
    ICmpInst::Predicate predicate;
    if (match(value, m_ICmp(predicate, m_Value(thread), m_APInt(number)))) {
      bool from = predicate == ICmpInst::ICMP_ULT || predicate == ICmpInst::ICMP_UGE;
      bool upTo = predicate == ICmpInst::ICMP_UGT || predicate == ICmpInst::ICMP_ULE;
      found = (from && number->countr_zero() >= 5) || (upTo && number->countr_one() >= 5);
    }
    if (!found)
      return false;
    if (auto *extended = dyn_cast<ZExtInst>(thread))
      thread = extended->getOperand(0);
    auto *argument = dyn_cast<Argument>(thread);
    return argument && argument->getArgNo() == parameterLinear;
  }
  bool isSourceOfDivergence(const Value *value) const {
    if (isAlwaysUniform(value))
      return false;
    if (auto *argument = dyn_cast<Argument>(value))
      return argument->getArgNo() <= parameterLinear || (argument->getArgNo() == parameterSimdgroup && !simd);
    if (isa<AllocaInst, AtomicRMWInst, AtomicCmpXchgInst>(value))
      return true;
    if (auto *load = dyn_cast<LoadInst>(value))
      return !load->isSimple() || mayBePrivate(load->getPointerOperand());
    auto *call = dyn_cast<CallBase>(value);
    return call && !call->getType()->isVoidTy() && !call->doesNotAccessMemory();
  }
  // What a SIMD-group function gives to all lanes alike: the result of a reduction, { value, result } in hostmetal_rendezvous.h, and of a vote,
  // { value, result, mask, position } without the position. Nothing else writes to that part of the lane's object.
  static bool isShared(const LoadInst &load) {
    const DataLayout &layout = load.getModule()->getDataLayout();
    auto part = [&](const Value *pointer, Type *type, const Value *&object) {
      int64_t from = 0;
      object = GetPointerBaseWithConstantOffset(pointer, from, layout);
      return std::pair<int64_t, int64_t>{from, from + int64_t(layout.getTypeStoreSize(type).getFixedValue())};
    };
    const Value *object;
    auto [from, to] = part(load.getPointerOperand(), load.getType(), object);
    auto *place = dyn_cast<AllocaInst>(object);
    const CallInst *combine = nullptr;
    if (place)
      for (const User *user : place->users())
        if (isCallOf(user, combineName))
          combine = combine ? nullptr : cast<CallInst>(user);
    if (!combine || !match(combine->getArgOperand(2), m_SpecificInt(32)))
      return false;
    StringRef name = combine->getArgOperand(0)->getName();
    int64_t size = int64_t(place->getAllocationSize(layout)->getFixedValue());
    bool reduction = name.starts_with("_ZN9hostmetal17combine_reductionI"), vote = name.starts_with("_ZN9hostmetal12combine_voteI");
    if ((!reduction && !vote) || from < (reduction ? size / 2 : 4) || to > (reduction ? size : 12))
      return false;
    std::vector<const Value *> open = {place};
    while (!open.empty()) {
      const Value *address = open.back();
      open.pop_back();
      for (const User *user : address->users()) {
        if (auto *store = dyn_cast<StoreInst>(user)) {
          const Value *written;
          auto [begin, end] = part(store->getPointerOperand(), store->getValueOperand()->getType(), written);
          if (store->getValueOperand() == address || written != place || begin < 0 || end > (reduction ? size / 2 : 4))
            return false;
        } else if (isa<GetElementPtrInst>(user)) {
          open.push_back(user);
        } else if (!isa<LoadInst>(user) && user != combine) {
          return false;
        }
      }
    }
    return true;
  }
  // The address of private memory differs between threads, so that only a pointer that hides where it comes from is left to ask for.
  static bool mayBePrivate(const Value *pointer) {
    SmallVector<const Value *, 4> objects;
    getUnderlyingObjects(pointer, objects);
    return any_of(objects, [](const Value *object) { return isa<AllocaInst>(object); });
  }
};

// The blocks that not every thread executes, or not equally often.
static std::set<BasicBlock *> partedBlocks(Function &body, UniformityInfo &uniformity) {
  PostDominatorTree after(body);
  std::set<BasicBlock *> parted;
  for (BasicBlock &block : body) {
    if (block.getTerminator()->getNumSuccessors() < 2 || !uniformity.hasDivergentTerminator(block))
      continue;
    auto *node = after.getNode(&block);
    BasicBlock *joined = node && node->getIDom() ? node->getIDom()->getBlock() : nullptr;
    std::vector<BasicBlock *> open(succ_begin(&block), succ_end(&block));
    std::set<BasicBlock *> seen;
    while (!open.empty()) {
      BasicBlock *next = open.back();
      open.pop_back();
      if (next == joined || !seen.insert(next).second)
        continue;
      open.insert(open.end(), succ_begin(next), succ_end(next));
    }
    parted.insert(seen.begin(), seen.end());
  }
  return parted;
}

// ---------------------------------------------------------------- values that live from region to region

// What is only true of one thread alone: scopes of `restrict`, lifetimes; and barriers for the compiler, which the loops make needless.
static void forgetPromises(Function &body) {
  std::vector<Instruction *> dead;
  for (Instruction &instruction : instructions(body)) {
    for (unsigned kind : {LLVMContext::MD_noalias, LLVMContext::MD_alias_scope, LLVMContext::MD_tbaa, LLVMContext::MD_tbaa_struct,
                          LLVMContext::MD_access_group, LLVMContext::MD_invariant_load, LLVMContext::MD_invariant_group})
      instruction.setMetadata(kind, nullptr);
    auto *intrinsic = dyn_cast<IntrinsicInst>(&instruction);
    auto *call = dyn_cast<CallInst>(&instruction);
    if (intrinsic && (intrinsic->isLifetimeStartOrEnd() || isa<NoAliasScopeDeclInst>(intrinsic) || isa<DbgInfoIntrinsic>(intrinsic)))
      dead.push_back(intrinsic);
    else if (call && call->isInlineAsm() && !isOpaque(*call))
      dead.push_back(call);
    else if (isCallOf(&instruction, laneName)) {
      auto *lane = BinaryOperator::CreateAnd(body.getArg(parameterLinear), ConstantInt::get(instruction.getType(), 31), "lane",
                                             instruction.getIterator());
      instruction.replaceAllUsesWith(lane);
      dead.push_back(&instruction);
    }
  }
  for (Instruction *instruction : dead)
    instruction->eraseFromParent();
}

// Gives a variable that only some threads have set a value in the others. LLVM takes a phi of one value and of none for that value, the same in all threads, which
// is true of each thread by itself; kept in one place for all of them it would be what the last of the others leaves there.
static void setUnset(Function &body) {
  for (BasicBlock &block : body)
    for (PHINode &phi : block.phis())
      for (Use &incoming : phi.incoming_values())
        if (isa<UndefValue>(incoming)) incoming.set(Constant::getNullValue(phi.getType()));
}

using LiveSets = DenseMap<BasicBlock *, SetVector<Instruction *>>;

// The SSA values that live at the begin of each block; addresses of private memory do not count.
static LiveSets liveness(Function &body) {
  LiveSets live;
  for (BasicBlock &block : body)
    live[&block];
  for (BasicBlock &block : body)
    for (Instruction &value : block) {
      if (isa<AllocaInst>(value))
        continue;
      std::vector<BasicBlock *> open;
      for (Use &use : value.uses()) {
        auto *user = cast<Instruction>(use.getUser());
        auto *phi = dyn_cast<PHINode>(user);
        BasicBlock *at = phi ? phi->getIncomingBlock(use) : user->getParent();
        // In its own block only a phi of the same block uses a value before it is defined, at the block's end.
        if (at != &block)
          open.push_back(at);
      }
      while (!open.empty()) {
        BasicBlock *at = open.back();
        open.pop_back();
        if (at != &block && live[at].insert(&value))
          open.insert(open.end(), pred_begin(at), pred_end(at));
      }
    }
  return live;
}

static SetVector<Instruction *> livingAcross(Function &body, const std::vector<Wait> &waits) {
  LiveSets live = liveness(body);
  SetVector<Instruction *> across;
  for (const Wait &wait : waits)
    across.insert(live[wait.next].begin(), live[wait.next].end());
  return across;
}

// What the body's analyses know, as long as its blocks stay as they are. They know nothing of instructions that were not there before.
struct Knowledge {
  UniformityInfo &uniformity;
  const std::set<BasicBlock *> &parted;
  std::set<const Instruction *> seen;

  // Whether every thread computes the value, as often as the others, and sees the same in all uses of it.
  bool isCommon(Instruction *value) const {
    return seen.count(value) && !parted.count(value->getParent()) && uniformity.isUniform(value) &&
           none_of(value->uses(), [&](Use &use) { return uniformity.isDivergentUse(use); });
  }

  // Whether threads that compute it together compute the same, so that a loop over them need not: of what was not there before, what is read of the
  // executor's.
  bool isSame(Instruction *value) const {
    const Value *pointer = isa<GetElementPtrInst>(value) ? value : getLoadStorePointerOperand(value);
    return seen.count(value) ? uniformity.isUniform(value) : pointer && isa<Argument>(pointer->stripInBoundsConstantOffsets());
  }
};

// As many instructions as are computed again rather than kept, as many of them for each thread, and as many for a value that has one place for all
// threads else.
constexpr unsigned mostInstructions = 64;
constexpr unsigned mostForEach = 16;
constexpr unsigned mostOfCommon = 16;

// Whether an instruction gives the same whenever its thread executes it again with the same operands. Arithmetic that the compiler may change (fast math) does
// not: here it may be fused with what uses it, and there not.
static bool isRepeatable(Instruction *instruction) {
  if (isa<BinaryOperator>(instruction) && isa<FPMathOperator>(instruction)) {
    FastMathFlags flags = instruction->getFastMathFlags();
    if (flags.allowContract() || flags.allowReassoc() || flags.allowReciprocal() || flags.approxFunc())
      return false;
  }
  if (auto *load = dyn_cast<LoadInst>(instruction))
    return load->isSimple() && isa<Argument>(load->getPointerOperand()->stripInBoundsConstantOffsets());
  return isa<BinaryOperator, CastInst, GetElementPtrInst, CmpInst, SelectInst, MinMaxIntrinsic>(instruction) || isCallOf(instruction, allocateName);
}

// Collects in `tree` what is to be computed again for a value, down to what the threadgroup holds, the position, addresses of private objects
// and values that are common to all threads, the `leaves`. False when that is too much or depends on something else. What is a leaf once stays one: to ask
// again for each of its uses would take time that doubles with each level.
static bool plan(Value *value, const Knowledge &known, std::set<Instruction *> &tree, std::set<Instruction *> &leaves) {
  auto *instruction = dyn_cast<Instruction>(value);
  if (!instruction || isa<AllocaInst>(instruction) || tree.count(instruction) || leaves.count(instruction))
    return true;
  auto isForEach = [&](Instruction *other) { return !known.isSame(other); };
  if (isRepeatable(instruction) && tree.size() < mostInstructions && count_if(tree, isForEach) < mostForEach) {
    std::set<Instruction *> before = tree;
    tree.insert(instruction);
    if (all_of(instruction->operands(), [&](Use &operand) { return plan(operand.get(), known, tree, leaves); }))
      return true;
    tree = before;
  }
  if (!known.isCommon(instruction))
    return false;
  leaves.insert(instruction);
  return true;
}

static Value *repeat(Value *value, Instruction *at, const std::set<Instruction *> &tree, std::map<Value *, Value *> &made) {
  auto *instruction = dyn_cast<Instruction>(value);
  if (!instruction || !tree.count(instruction))
    return value;
  Value *&copy = made[value];
  if (!copy) {
    Instruction *clone = instruction->clone();
    for (Use &operand : clone->operands())
      operand.set(repeat(operand.get(), at, tree, made));
    clone->insertBefore(at->getIterator());
    made[value] = clone;
  }
  return made[value];
}

// The block in which a value is to be computed again for its use in another: that, or in front of the loops around it in which nobody waits and that do not
// compute the value, and there in front of the question whether there are rounds at all, which tiles want to find beside the loop (rounds.cpp).
static BasicBlock *placeOf(BasicBlock *use, const Instruction *value, const CycleInfo &cycles, const std::vector<Wait> &waits) {
  BasicBlock *place = use;
  for (const Cycle *cycle = cycles.getCycle(use); cycle; cycle = cycle->getParentCycle()) {
    BasicBlock *before = cycle->getCyclePreheader();
    if (!before || cycle->contains(value->getParent()) || any_of(waits, [&](const Wait &wait) { return cycle->contains(wait.block); }))
      break;
    place = before;
  }
  BasicBlock *asks = place == use || place == value->getParent() ? nullptr : place->getSinglePredecessor();
  if (!asks || cycles.getCycle(asks) != cycles.getCycle(place) || any_of(waits, [&](const Wait &wait) { return wait.block == asks; }))
    return place;
  return asks;
}

// Computes cheap values again where they are used. Whether SSA values that it refers to have changed since need not be asked: a
// definition that dominates a use is the last one before it. Neither need it be asked whether its thread comes to the use: what it has computed it
// can compute again.
static void repeatCheap(Function &body, const std::vector<Wait> &waits, const Knowledge &known) {
  CycleInfo cycles;
  cycles.compute(body);
  for (Instruction *value : livingAcross(body, waits)) {
    std::set<Instruction *> tree, leaves;
    if (!plan(value, known, tree, leaves) || !tree.count(value) || (tree.size() > mostOfCommon && known.isCommon(value)))
      continue;
    std::vector<Use *> uses;
    for (Use &use : value->uses())
      uses.push_back(&use);
    // One for each block, at its begin: what dominates a use in another block dominates all of that.
    std::map<BasicBlock *, Value *> copies;
    for (Use *use : uses) {
      auto *user = cast<Instruction>(use->getUser());
      auto *phi = dyn_cast<PHINode>(user);
      BasicBlock *from = phi ? phi->getIncomingBlock(*use) : user->getParent();
      BasicBlock *at = placeOf(from, value, cycles, waits);
      if (at == value->getParent())
        continue;
      Value *&copy = copies[at];
      std::map<Value *, Value *> made;
      if (!copy)
        copy = repeat(value, &*at->getFirstInsertionPt(), tree, made);
      if (!phi) {
        use->set(copy);
        continue;
      }
      // A phi has the same value for all edges from one block.
      for (unsigned i = 0; i < phi->getNumIncomingValues(); i++)
        if (phi->getIncomingBlock(i) == from && phi->getIncomingValue(i) == value)
          phi->setIncomingValue(i, copy);
    }
  }
}

// ---------------------------------------------------------------- meetings that remain

namespace {
// Where memory that lanes share comes from: an argument of the kernel, as far as that can be seen. Kernels do not reach
// what they write through one argument by another (MSL specification 5.2).
using Origin = std::pair<const Value *, int64_t>;
const Origin anywhere{nullptr, 0};

// What is done with shared memory between two waits.
struct Shared {
  std::set<Origin> read, written;
};
} // namespace

static Origin originOf(const Value *pointer, const DataLayout &layout) {
  auto *load = dyn_cast<LoadInst>(getUnderlyingObject(pointer, 0));
  if (!load)
    return anywhere;
  APInt offset(layout.getIndexTypeSizeInBits(load->getPointerOperandType()), 0);
  const Value *base = load->getPointerOperand()->stripAndAccumulateConstantOffsets(layout, offset, true);
  // The kernel's arguments lie in what the executor hands over. Of a pointer that was itself found in memory nobody knows
  // which others are the same.
  return isa<Argument>(base) ? Origin{base, offset.getSExtValue()} : anywhere;
}

static void note(const Instruction &instruction, const DataLayout &layout, Shared &shared) {
  auto *call = dyn_cast<CallInst>(&instruction);
  if (call && (isMeeting(*call) || isCallOf(call, laneName) || isOpaque(*call)))
    return;
  if (isa<DbgInfoIntrinsic>(instruction) || instruction.isLifetimeStartOrEnd())
    return;
  const Value *pointer = getLoadStorePointerOperand(&instruction);
  if (pointer) {
    const Value *object = getUnderlyingObject(pointer, 0);
    // Private, or what the executor hands over.
    if (isa<AllocaInst>(object) || isa<Argument>(object))
      return;
    if (auto *global = dyn_cast<GlobalVariable>(object); global && global->isConstant())
      return;
  }
  Origin origin = pointer ? originOf(pointer, layout) : anywhere;
  if (instruction.mayReadFromMemory())
    shared.read.insert(origin);
  if (instruction.mayWriteToMemory())
    shared.written.insert(origin);
}

// What lies between an instruction and the waits behind it, or before it.
static Shared sharedFrom(const Instruction &start, bool behind) {
  Shared shared;
  const DataLayout &layout = start.getModule()->getDataLayout();
  std::set<const BasicBlock *> seen;
  std::vector<const Instruction *> open;
  auto next = [behind](const Instruction *one) { return behind ? one->getNextNode() : one->getPrevNode(); };
  auto enter = [&](const BasicBlock *block) {
    if (seen.insert(block).second)
      open.push_back(behind ? &block->front() : block->getTerminator());
  };
  auto follow = [&](const Instruction *instruction, const BasicBlock *block) {
    for (; instruction; instruction = next(instruction)) {
      if (isWait(*instruction))
        return;
      note(*instruction, layout, shared);
    }
    if (behind)
      for_each(successors(block), enter);
    else
      for_each(predecessors(block), enter);
  };
  follow(next(&start), start.getParent());
  while (!open.empty()) {
    const Instruction *instruction = open.back();
    open.pop_back();
    follow(instruction, instruction->getParent());
  }
  return shared;
}

static bool meets(const std::set<Origin> &some, const std::set<Origin> &others) {
  if (some.empty() || others.empty())
    return false;
  return some.count(anywhere) || others.count(anywhere) || any_of(some, [&](const Origin &origin) { return others.count(origin); });
}

// Whether lanes that run one after the other between two waits may find other memory than lanes that meet here.
static bool separates(const Instruction &meeting) {
  Shared before = sharedFrom(meeting, false), behind = sharedFrom(meeting, true);
  return meets(before.written, behind.read) || meets(before.read, behind.written) || meets(before.written, behind.written);
}

static void keepOthers(Function &body, Regions &regions, const Knowledge &known) {
  std::vector<std::pair<Instruction *, bool>> kept;
  for (Instruction *value : livingAcross(body, regions.waits))
    kept.push_back({value, known.isCommon(value)});
  for (auto [value, common] : kept)
    regions.slots.push_back({DemoteRegToStack(*value), common});
}

// ---------------------------------------------------------------- all of it

void dropMeetings(Function &body) {
  std::vector<CallInst *> meetings, narrow;
  for (Instruction &instruction : instructions(body)) {
    if (isMeeting(instruction))
      meetings.push_back(cast<CallInst>(&instruction));
    else if (isNarrow(instruction))
      narrow.push_back(cast<CallInst>(&instruction));
  }
  CycleInfo loops;
  loops.compute(body);
  for (CallInst *meeting : meetings) {
    const Cycle *cycle = loops.getCycle(meeting->getParent());
    if (!cycle || none_of(narrow, [&](CallInst *call) { return cycle->contains(call->getParent()); }))
      meeting->eraseFromParent();
  }
}

Refusal split(Function &body, Regions &regions) {
  EliminateUnreachableBlocks(body);
  forgetPromises(body);
  setUnset(body);
  for (Instruction &instruction : instructions(body))
    if (auto *object = dyn_cast<AllocaInst>(&instruction))
      regions.objects.push_back(object);
  dropMeetings(body);
  std::vector<CallInst *> calls, meetings;
  for (Instruction &instruction : instructions(body)) {
    if (isWait(instruction))
      calls.push_back(cast<CallInst>(&instruction));
    else if (isMeeting(instruction))
      meetings.push_back(cast<CallInst>(&instruction));
  }
  copy_if(meetings, std::back_inserter(calls), [](CallInst *meeting) { return separates(*meeting); });
  for (CallInst *call : calls) {
    BasicBlock *block = SplitBlock(call->getParent(), call);
    Wait wait{call, block, SplitBlock(block, call->getNextNode()), isCallOf(call, barrierName), nullptr, nullptr, 0};
    if (isCallOf(call, combineName)) {
      wait.combine = cast<Function>(call->getArgOperand(0));
      wait.object = objectOf(*call);
      wait.width = unsigned(cast<ConstantInt>(call->getArgOperand(2))->getZExtValue());
    }
    regions.simd |= !wait.wide;
    regions.waits.push_back(wait);
  }

  FunctionAnalysisManager analyses;
  bool simd = false;
  analyses.registerPass([] { return PassInstrumentationAnalysis(); });
  analyses.registerPass([] { return DominatorTreeAnalysis(); });
  analyses.registerPass([] { return CycleAnalysis(); });
  analyses.registerPass([&simd] {
    return TargetIRAnalysis([&simd](const Function &function) { return TargetTransformInfo(Threads(function.getDataLayout(), simd)); });
  });
  CycleInfo &cycles = analyses.getResult<CycleAnalysis>(body);
  for (const Cycle *top : cycles.toplevel_cycles())
    for (const Cycle *cycle : depth_first(top))
      if (!cycle->isReducible())
        return "it has a loop with several entries";
  UniformityInfo uniformity = UniformityInfoAnalysis().run(body, analyses);
  std::set<BasicBlock *> parted = partedBlocks(body, uniformity);
  for (const Wait &wait : regions.waits)
    if (wait.wide && parted.count(wait.block))
      return "it cannot be proved that all threads of a threadgroup come to each barrier";
  if (regions.simd) {
    simd = true;
    analyses.clear();
    uniformity = UniformityInfoAnalysis().run(body, analyses);
    parted = partedBlocks(body, uniformity);
    for (const Wait &wait : regions.waits)
      if (!wait.wide && !isMeeting(*wait.call) && parted.count(wait.block))
        return "it cannot be proved that all lanes of a SIMD-group come to each SIMD-group function";
    for (CallInst *meeting : meetings)
      if (parted.count(meeting->getParent()))
        return "it cannot be proved that the lanes of a SIMD-group stay together in a loop with SIMD-group functions";
  }
  for (CallInst *meeting : meetings)
    if (none_of(regions.waits, [&](const Wait &wait) { return wait.call == meeting; }))
      meeting->eraseFromParent();

  for (Instruction &instruction : make_early_inc_range(instructions(body)))
    if (isOpaque(instruction)) {
      instruction.replaceAllUsesWith(instruction.getOperand(0));
      instruction.eraseFromParent();
    }

  Knowledge known{uniformity, parted, {}};
  for (const Instruction &instruction : instructions(body))
    known.seen.insert(&instruction);
  repeatCheap(body, regions.waits, known);
  keepOthers(body, regions, known);
  return std::nullopt;
}

} // namespace hostmetal
