// How many registers a thread needs: the most values that are live at one point of its optimised code.
//
// Apple's compiler, and how it allocates registers, are not public. What any compiler has to keep is what was computed and is asked for later: the body is
// optimised as clang would for one thread (loops of few rounds unrolled, so that small arrays become values), vectors are taken apart, and each value counts
// from where it is made to its last use. What an address or an operand does by itself counts as nothing: offsets, widening and
// narrowing, components, a number of the text more or less. Values that all threads of a SIMD-group have alike count apart: Apple's GPUs have uniform registers
// (https://dougallj.github.io/applegpu/docs.html). What is left in memory of the thread's own, as arrays with computed indices are, is told in bytes.

#include "analysis.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Scalar/ADCE.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/InstSimplifyPass.h"
#include "llvm/Transforms/Scalar/Scalarizer.h"
#include "llvm/Transforms/Utils/LCSSA.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"

using namespace llvm;

namespace hostmetal {

// Instructions of a body that is looked at; more is nothing a person wrote.
constexpr unsigned mostInstructions = 100000;

namespace {

// A part of an operand or an address, which needs no register of its own; or made again as cheaply as it is kept: what differs from another value by a
// number of the text, as indices next to each other do, which LLVM keeps from the first use to the last.
bool isFree(const Value *value) {
  if (auto *operation = dyn_cast<BinaryOperator>(value); operation && isa<ConstantInt>(operation->getOperand(1)))
    return operation->getOpcode() == Instruction::Add || operation->getOpcode() == Instruction::Sub || operation->getOpcode() == Instruction::Or ||
           operation->getOpcode() == Instruction::And || operation->getOpcode() == Instruction::Shl;
  return isa<GetElementPtrInst, ZExtInst, SExtInst, TruncInst, BitCastInst, PtrToIntInst, IntToPtrInst, AddrSpaceCastInst, FreezeInst, InsertElementInst,
             ExtractElementInst, ShuffleVectorInst, InsertValueInst, ExtractValueInst>(value);
}

class Pressure {
public:
  Pressure(Function &body_, LoopInfo &loops, DominatorTree &tree) : body(body_), steps(body_, loops, tree, Axis::x), data(body_.getDataLayout()) {
    for (Argument &argument : body.args())
      add(argument);
    for (Instruction &instruction : instructions(body)) {
      if (auto *object = dyn_cast<AllocaInst>(&instruction))
        addObject(*object);
      else if (!isFree(&instruction))
        add(instruction);
    }
  }

  Registers most() {
    flow();
    Registers most;
    most.privateBytes = privateBytes;
    uint64_t halves = 0, uniformHalves = 0;
    for (const BasicBlock &block : body) {
      auto live = leaving.find(&block);
      if (live == leaving.end())
        continue;
      BitVector now = live->second;
      auto look = [&](const Instruction &at) {
        uint64_t own = 0, uniform = 0;
        for (unsigned value : now.set_bits())
          (isUniform[value] ? uniform : own) += sizes[value];
        uniformHalves = std::max(uniformHalves, uniform);
        if (own > halves || (own == halves && !most.place.line)) {
          halves = own;
          most.place = placeOf(at.getDebugLoc());
        }
      };
      look(*block.getTerminator());
      for (const Instruction &instruction : reverse(block)) {
        if (isa<PHINode>(instruction))
          break;
        step(now, instruction);
        look(instruction);
      }
    }
    most.thread = (halves + 1) / 2;
    most.uniform = (uniformHalves + 1) / 2;
    return most;
  }

private:
  Function &body;
  Steps steps;
  const DataLayout &data;
  // By value or object: its number, and by that the 16-bit registers that it takes.
  DenseMap<const Value *, unsigned> numbers;
  std::vector<uint64_t> sizes;
  std::vector<bool> isUniform;
  uint64_t privateBytes = 0;
  DenseMap<const BasicBlock *, BitVector> leaving;

  // Registers are 16-bit halves, and pairs of them.
  uint64_t halvesOf(Type *type) const { return type->isSized() ? (data.getTypeSizeInBits(type).getFixedValue() + 15) / 16 : 0; }

  void put(const Value &value, uint64_t halves, bool uniform) {
    if (halves == 0)
      return;
    numbers[&value] = sizes.size();
    sizes.push_back(halves);
    isUniform.push_back(uniform);
  }

  void add(const Value &value) { put(value, halvesOf(value.getType()), steps.of(&value).isSame()); }

  // Memory of the thread's own: as good as a value where each place in it is a known one.
  void addObject(const AllocaInst &object) {
    std::optional<TypeSize> size = object.getAllocationSize(data);
    if (!size)
      return;
    uint64_t bytes = size->getFixedValue();
    bool isKnown = true;
    std::vector<const Value *> open = {&object};
    while (!open.empty()) {
      const Value *pointer = open.back();
      open.pop_back();
      for (const User *user : pointer->users()) {
        if (auto *offset = dyn_cast<GetElementPtrInst>(user)) {
          isKnown &= offset->hasAllConstantIndices();
          open.push_back(offset);
        } else {
          isKnown &= isa<LoadInst, CallBase>(user) || (isa<StoreInst>(user) && cast<StoreInst>(user)->getPointerOperand() == pointer);
        }
      }
    }
    if (isKnown)
      put(object, (bytes + 1) / 2, false);
    else
      privateBytes += bytes;
  }

  // The values that an operand is made of.
  void leaves(const Value *operand, SmallVectorImpl<unsigned> &out) const {
    SmallVector<const Value *, 8> open = {operand};
    SmallPtrSet<const Value *, 16> seen;
    while (!open.empty()) {
      const Value *value = open.pop_back_val();
      if (!seen.insert(value).second)
        continue;
      if (isFree(value))
        for (const Use &use : cast<Instruction>(value)->operands())
          open.push_back(use);
      else if (auto number = numbers.find(value); number != numbers.end())
        out.push_back(number->second);
    }
  }

  // From behind an instruction to in front of it.
  void step(BitVector &live, const Instruction &instruction) const {
    if (auto number = numbers.find(&instruction); number != numbers.end() && !isa<AllocaInst>(instruction))
      live.reset(number->second);
    if (isFree(&instruction) || isa<AllocaInst>(instruction) || isa<DbgInfoIntrinsic>(instruction))
      return;
    if (auto *marker = dyn_cast<IntrinsicInst>(&instruction); marker && marker->isLifetimeStartOrEnd()) {
      if (auto number = numbers.find(marker->getArgOperand(1)); number != numbers.end())
        live.reset(number->second);
      return;
    }
    SmallVector<unsigned, 8> used;
    if (auto *store = dyn_cast<StoreInst>(&instruction)) {
      // An object that is written as a whole was nothing before; one that is written in part is no use of it.
      const Value *object = store->getPointerOperand();
      auto number = numbers.find(object);
      if (number != numbers.end() && isa<AllocaInst>(object)) {
        if (halvesOf(store->getValueOperand()->getType()) >= sizes[number->second])
          live.reset(number->second);
      } else if (!isa<AllocaInst>(object->stripInBoundsConstantOffsets())) {
        leaves(object, used);
      }
      leaves(store->getValueOperand(), used);
    } else {
      for (const Use &use : instruction.operands())
        leaves(use, used);
    }
    for (unsigned value : used)
      live.set(value);
  }

  // What is live at the end of each block.
  void flow() {
    std::vector<BasicBlock *> order;
    for (BasicBlock *block : post_order(&body))
      order.push_back(block);
    DenseMap<const BasicBlock *, BitVector> entering;
    for (BasicBlock *block : order)
      leaving[block] = entering[block] = BitVector(sizes.size());
    for (bool changed = true; changed;) {
      changed = false;
      for (BasicBlock *block : order) {
        BitVector live(sizes.size());
        for (BasicBlock *next : successors(block)) {
          live |= entering[next];
          SmallVector<unsigned, 8> used;
          for (const PHINode &node : next->phis())
            leaves(node.getIncomingValueForBlock(block), used);
          for (unsigned value : used)
            live.set(value);
        }
        leaving[block] = live;
        for (const Instruction &instruction : reverse(*block)) {
          if (isa<PHINode>(instruction)) {
            if (auto number = numbers.find(&instruction); number != numbers.end())
              live.reset(number->second);
          } else {
            step(live, instruction);
          }
        }
        if (entering[block] != live) {
          entering[block] = std::move(live);
          changed = true;
        }
      }
    }
  }
};

} // namespace

std::optional<Registers> registersOf(Function &body, FunctionPassManager optimise, FunctionAnalysisManager &analyses) {
  optimise.addPass(ScalarizerPass({true, true, 0}));
  optimise.addPass(EarlyCSEPass());
  optimise.addPass(InstSimplifyPass());
  optimise.addPass(ADCEPass());
  optimise.addPass(LoopSimplifyPass());
  optimise.addPass(LCSSAPass());
  analyses.invalidate(body, optimise.run(body, analyses));
  if (body.getInstructionCount() > mostInstructions)
    return std::nullopt;
  return Pressure(body, analyses.getResult<LoopAnalysis>(body), analyses.getResult<DominatorTreeAnalysis>(body)).most();
}

} // namespace hostmetal
