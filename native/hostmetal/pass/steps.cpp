// By how much values differ between neighbouring threads: threads of one SIMD-group whose positions in x differ by 1, or of one threadgroup whose
// positions in y do. Of every value it is found by how much it is larger in the next neighbour, from the best case on, until nothing changes; where neighbours may come another way,
// nothing is known.

#include "steps.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/IR/GetElementPtrTypeIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Support/MathExtras.h"
#include <set>

using namespace llvm;

namespace hostmetal {

// The user's text (crates/hostmetal/src/msl/invoke.rs).
constexpr const char *programName = "program.clcpp";

bool isUsers(const DIScope *scope) { return scope && scope->getFilename() == programName; }

Library libraryOf(const DISubprogram *program) {
  if (!program || isUsers(program))
    return Library::none;
  StringRef file = program->getFilename();
  file = file.substr(file.rfind('/') + 1);
  for (const char *name : {"metal_math", "hostmetal_math.inc", "metal_common", "metal_geometric", "metal_integer", "metal_relational", "metal_pack"})
    if (file == name)
      return Library::math;
  if (file == "metal_atomic")
    return Library::atomic;
  for (const char *name : {"metal_texture", "hostmetal_texel.h", "hostmetal_sampler.h"})
    if (file == name)
      return Library::texture;
  return Library::none;
}

// Whether it is a load of a pointer that the kernel was passed: in the engine's own code, from what the threadgroup holds.
static std::optional<unsigned> heldBy(const Value *address) {
  auto *argument = dyn_cast<Argument>(address->stripInBoundsConstantOffsets());
  if (!argument || argument->getArgNo() < parameterHeld)
    return std::nullopt;
  return argument->getArgNo() - parameterHeld;
}

Root rootOf(const Value *pointer) {
  std::set<const Value *> seen;
  std::vector<const Value *> open = {pointer};
  std::optional<Root> all;
  while (!open.empty()) {
    const Value *value = open.back();
    open.pop_back();
    if (!seen.insert(value).second || isa<ConstantPointerNull, UndefValue>(value))
      continue;
    Root root = {Root::unknown};
    if (auto *step = dyn_cast<GEPOperator>(value)) {
      open.push_back(step->getPointerOperand());
      continue;
    } else if (auto *node = dyn_cast<PHINode>(value)) {
      open.insert(open.end(), node->value_op_begin(), node->value_op_end());
      continue;
    } else if (auto *select = dyn_cast<SelectInst>(value)) {
      open.push_back(select->getTrueValue());
      open.push_back(select->getFalseValue());
      continue;
    } else if (isa<AllocaInst>(value)) {
      root = {Root::own};
    } else if (isa<GlobalVariable>(value)) {
      root = {Root::table};
    } else if (std::optional<unsigned> held = heldBy(value)) {
      root = {Root::argument, *held};
    } else if (isCallOf(value, allocateName)) {
      root = {Root::threadgroup};
    } else if (auto *load = dyn_cast<LoadInst>(value)) {
      if (std::optional<unsigned> from = heldBy(load->getPointerOperand()); from && !isKernels(*load))
        root = {Root::argument, *from};
    } else if (auto *cast = dyn_cast<CastInst>(value)) {
      if (cast->getOperand(0)->getType()->isIntOrPtrTy()) {
        open.push_back(cast->getOperand(0));
        continue;
      }
    }
    if (all && !(*all == root))
      return {Root::unknown};
    all = root;
  }
  return all.value_or(Root{Root::unknown});
}

bool isKernels(const Instruction &instruction) {
  const DILocation *at = instruction.getDebugLoc(), *inner = nullptr;
  for (; at && at->getInlinedAt(); at = at->getInlinedAt())
    inner = at;
  return inner && isUsers(inner->getScope()->getSubprogram());
}

namespace {

constexpr Step same = {Step::known, 0};

// What has no distance: of data, or nobody knows.
Step lost(Step one, Step other) {
  if (one.kind == Step::open || other.kind == Step::open)
    return {};
  return {one.kind == Step::data || other.kind == Step::data ? Step::data : Step::unknown, 0};
}

Step sum(Step one, Step other, int64_t sign) {
  if (one.kind == Step::open || other.kind == Step::open)
    return {};
  if (one.kind == Step::known && other.kind == Step::known) {
    int64_t scaled, result;
    if (MulOverflow(other.by, sign, scaled) || AddOverflow(one.by, scaled, result))
      return {Step::unknown, 0};
    return {Step::known, result};
  }
  if (one.kind <= Step::even && other.kind <= Step::even)
    return {Step::even, 0};
  return lost(one, other);
}

Step times(Step one, int64_t factor) {
  if (one.kind == Step::known) {
    int64_t result;
    return MulOverflow(one.by, factor, result) ? Step{Step::unknown, 0} : Step{Step::known, result};
  }
  return factor == 0 && one.kind != Step::open ? same : one;
}

Step stepOf(const DenseMap<const Value *, Step> &steps, Axis axis, const Value *value) {
  if (auto *argument = dyn_cast<Argument>(value)) {
    unsigned number = argument->getArgNo();
    if (axis == Axis::x)
      return {Step::known, number == parameterX || number == parameterLinear ? 1 : 0};
    switch (number) {
    case parameterY:
      return {Step::known, 1};
    case parameterLinear:
      // By the threadgroup's width.
      return {Step::even, 0};
    case parameterSimdgroup:
      return {Step::unknown, 0};
    default:
      return same;
    }
  }
  if (!isa<Instruction>(value))
    return same;
  auto found = steps.find(value);
  return found == steps.end() ? Step() : found->second;
}

class Finder {
public:
  Finder(Function &body_, LoopInfo &loops_, DominatorTree &tree_, Axis axis_) : body(body_), loops(loops_), tree(tree_), axis(axis_) {}

  void find() {
    ReversePostOrderTraversal<Function *> order(&body);
    for (bool changed = true; changed;) {
      changed = false;
      for (BasicBlock *block : order)
        for (Instruction &instruction : *block) {
          if (instruction.getType()->isVoidTy())
            continue;
          Step &known = steps[&instruction], next = compute(instruction);
          if (next.kind < known.kind)
            continue;
          if (known.kind == Step::known && next.kind == Step::known && next.by != known.by)
            next = {Step::unknown, 0};
          if (!(next == known)) {
            known = next;
            changed = true;
          }
        }
    }
  }

  DenseMap<const Value *, Step> steps;

private:
  Function &body;
  LoopInfo &loops;
  DominatorTree &tree;
  Axis axis;

  Step of(const Value *value) const { return stepOf(steps, axis, value); }

  // Of one component of a vector.
  Step ofComponent(const Value *value, unsigned number, unsigned depth) const {
    if (isa<Constant>(value))
      return same;
    if (depth == 0)
      return of(value);
    if (auto *insert = dyn_cast<InsertElementInst>(value)) {
      auto *place = dyn_cast<ConstantInt>(insert->getOperand(2));
      if (!place)
        return of(value);
      return place->getZExtValue() == number ? of(insert->getOperand(1)) : ofComponent(insert->getOperand(0), number, depth - 1);
    }
    if (auto *shuffle = dyn_cast<ShuffleVectorInst>(value)) {
      int from = number < shuffle->getShuffleMask().size() ? shuffle->getMaskValue(number) : -1;
      if (from < 0)
        return same;
      unsigned count = cast<FixedVectorType>(shuffle->getOperand(0)->getType())->getNumElements();
      return unsigned(from) < count ? ofComponent(shuffle->getOperand(0), from, depth - 1)
                                    : ofComponent(shuffle->getOperand(1), from - count, depth - 1);
    }
    if (auto *operation = dyn_cast<BinaryOperator>(value)) {
      auto factor = [&](unsigned operand) -> std::optional<int64_t> {
        auto *constant = dyn_cast<Constant>(operation->getOperand(operand));
        auto *element = constant ? dyn_cast_or_null<ConstantInt>(constant->getAggregateElement(number)) : nullptr;
        return element && element->getValue().getSignificantBits() <= 32 ? std::optional<int64_t>(element->getSExtValue()) : std::nullopt;
      };
      return binary(*operation, ofComponent(operation->getOperand(0), number, depth - 1), ofComponent(operation->getOperand(1), number, depth - 1),
                    factor(0), factor(1));
    }
    // As a function is passed it, and takes it.
    const Value *plain = value;
    while (auto *cast = dyn_cast<BitCastInst>(plain))
      plain = cast->getOperand(0);
    if (plain != value && plain->getType() == value->getType())
      return ofComponent(plain, number, depth - 1);
    if (isa<CastInst>(value) && !isa<BitCastInst>(value) && cast<CastInst>(value)->getOperand(0)->getType()->isVectorTy())
      return ofComponent(cast<CastInst>(value)->getOperand(0), number, depth - 1);
    return of(value);
  }

  // Whether it is the number of a thread in its threadgroup, whose neighbours in a SIMD-group never cross a multiple of 32.
  bool isLinear(const Value *value) const {
    auto *argument = dyn_cast<Argument>(value);
    return axis == Axis::x && argument && argument->getArgNo() == parameterLinear;
  }

  Step binary(const BinaryOperator &operation, Step one, Step other, std::optional<int64_t> factor, std::optional<int64_t> factor2) const {
    if (one.kind == Step::open || other.kind == Step::open)
      return {};
    switch (operation.getOpcode()) {
    case Instruction::Add:
      return sum(one, other, 1);
    case Instruction::Sub:
      return sum(one, other, -1);
    case Instruction::Or:
      if (cast<PossiblyDisjointInst>(operation).isDisjoint())
        return sum(one, other, 1);
      break;
    case Instruction::Mul:
      if (factor2)
        return times(one, *factor2);
      if (factor)
        return times(other, *factor);
      // By a number that is the same for all, which nobody knows here.
      if ((one.isSame() && other.kind <= Step::even) || (other.isSame() && one.kind <= Step::even))
        return one.isSame() && other.isSame() ? same : Step{Step::even, 0};
      break;
    case Instruction::Shl:
      if (factor2 && *factor2 >= 0 && *factor2 < 32)
        return times(one, int64_t(1) << *factor2);
      if (other.isSame() && one.kind <= Step::even)
        return one.isSame() ? same : Step{Step::even, 0};
      break;
    case Instruction::URem:
    case Instruction::And:
      if (isLinear(operation.getOperand(0)) && factor2) {
        int64_t lanes = *factor2 + (operation.getOpcode() == Instruction::And);
        if (lanes >= 32 && isPowerOf2_64(uint64_t(lanes)))
          return {Step::known, 1};
      }
      break;
    case Instruction::UDiv:
      if (isLinear(operation.getOperand(0)) && factor2 && *factor2 >= 32 && *factor2 % 32 == 0)
        return same;
      break;
    case Instruction::LShr:
      if (isLinear(operation.getOperand(0)) && factor2 && *factor2 >= 5 && *factor2 < 32)
        return same;
      break;
    default:
      break;
    }
    return one.isSame() && other.isSame() ? same : lost(one, other);
  }

  static std::optional<int64_t> number(const Value *value) {
    auto *constant = dyn_cast<ConstantInt>(value);
    return constant && constant->getValue().getSignificantBits() <= 32 ? std::optional<int64_t>(constant->getSExtValue()) : std::nullopt;
  }

  // Whether neighbours may leave a block for different ones.
  bool parts(const BasicBlock *block) const {
    const Instruction *end = block->getTerminator();
    if (auto *branch = dyn_cast<BranchInst>(end))
      return branch->isConditional() && !of(branch->getCondition()).isSame();
    if (auto *choice = dyn_cast<SwitchInst>(end))
      return !of(choice->getCondition()).isSame();
    return end->getNumSuccessors() > 1;
  }

  // Whether neighbours may come to a block by different ways.
  bool partsBefore(const BasicBlock *block) const {
    const DomTreeNode *node = tree.getNode(const_cast<BasicBlock *>(block));
    if (!node || !node->getIDom())
      return true;
    const BasicBlock *first = node->getIDom()->getBlock();
    std::set<const BasicBlock *> seen;
    std::vector<const BasicBlock *> open(pred_begin(block), pred_end(block));
    while (!open.empty()) {
      const BasicBlock *at = open.back();
      open.pop_back();
      if (!seen.insert(at).second)
        continue;
      if (parts(at))
        return true;
      if (at != first)
        open.insert(open.end(), pred_begin(at), pred_end(at));
    }
    return false;
  }

  Step phi(const PHINode &node) const {
    const BasicBlock *block = node.getParent();
    bool isHeader = loops.isLoopHeader(block);
    bool parted = !isHeader && partsBefore(block);
    Step all;
    const Value *only = node.getNumIncomingValues() > 0 ? node.getIncomingValue(0) : nullptr;
    for (unsigned i = 0; i < node.getNumIncomingValues(); i++) {
      const Value *value = node.getIncomingValue(i);
      if (value != only)
        only = nullptr;
      Step one = of(value);
      // What a loop leaves behind, which some neighbours may have left earlier: any of the loops that end here.
      auto *made = dyn_cast<Instruction>(value);
      const Loop *inside = loops.getLoopFor(node.getIncomingBlock(i));
      for (; made && inside && !inside->contains(block); inside = inside->getParentLoop()) {
        SmallVector<BasicBlock *, 4> exits;
        inside->getExitingBlocks(exits);
        if (inside->contains(made) && any_of(exits, [&](const BasicBlock *exit) { return parts(exit); })) {
          one = lost(one, one);
          only = nullptr;
        }
      }
      if (one.kind == Step::open)
        continue;
      if (all.kind == Step::open)
        all = one;
      else if (!(all == one))
        all = all.kind <= Step::even && one.kind <= Step::even && !isHeader ? Step{Step::even, 0} : lost(all, one);
    }
    return parted && !only ? lost(all, all) : all;
  }

  // A number that is a part of a larger one, which was put together of such: as small structures and vectors are passed.
  static const Value *partOf(const TruncInst &cast) {
    uint64_t from = 0, bits = cast.getType()->getScalarSizeInBits();
    const Value *whole = cast.getOperand(0);
    if (auto *shift = dyn_cast<LShrOperator>(whole); shift && isa<ConstantInt>(shift->getOperand(1))) {
      from = cast_or_null<ConstantInt>(shift->getOperand(1))->getZExtValue();
      whole = shift->getOperand(0);
    }
    const Value *found = nullptr;
    std::vector<const Value *> open = {whole};
    while (!open.empty()) {
      const Value *value = open.back();
      open.pop_back();
      auto *operation = dyn_cast<BinaryOperator>(value);
      if (operation && operation->getOpcode() == Instruction::Or) {
        open.push_back(operation->getOperand(0));
        open.push_back(operation->getOperand(1));
        continue;
      }
      uint64_t at = 0;
      if (operation && operation->getOpcode() == Instruction::Shl && isa<ConstantInt>(operation->getOperand(1))) {
        at = cast_or_null<ConstantInt>(operation->getOperand(1))->getZExtValue();
        value = operation->getOperand(0);
      }
      auto *piece = dyn_cast<ZExtInst>(value);
      if (!piece)
        return nullptr;
      uint64_t length = piece->getOperand(0)->getType()->getScalarSizeInBits();
      if (at >= from + bits || at + length <= from)
        continue;
      if (found || at != from || length != bits)
        return nullptr;
      found = piece->getOperand(0);
    }
    return found;
  }

  Step compute(const Instruction &instruction) const {
    auto at = [&](unsigned operand) { return of(instruction.getOperand(operand)); };
    if (auto *node = dyn_cast<PHINode>(&instruction))
      return phi(*node);
    if (auto *operation = dyn_cast<BinaryOperator>(&instruction))
      return binary(*operation, at(0), at(1), number(operation->getOperand(0)), number(operation->getOperand(1)));
    if (auto *cast = dyn_cast<TruncInst>(&instruction)) {
      if (const Value *part = partOf(*cast))
        return of(part);
      // The whole way through a SIMD-group must be a number of the type.
      unsigned bits = cast->getType()->getScalarSizeInBits();
      Step whole = at(0);
      bool fits = whole.kind != Step::known || (bits >= 8 && (bits > 32 || std::abs(whole.by) < (int64_t(1) << (bits - 1)) / 32));
      if (!fits)
        return lost(whole, whole);
    }
    if (isa<CastInst, FreezeInst>(instruction)) {
      bool isNumber = instruction.getType()->isIntOrPtrTy() && instruction.getOperand(0)->getType()->isIntOrPtrTy();
      return at(0).isSame() || isNumber ? at(0) : lost(at(0), at(0));
    }
    if (auto *step = dyn_cast<GetElementPtrInst>(&instruction)) {
      const DataLayout &data = body.getDataLayout();
      Step all = of(step->getPointerOperand());
      for (auto type = gep_type_begin(step); type != gep_type_end(step); ++type) {
        if (type.isStruct())
          continue;
        all = sum(all, times(of(type.getOperand()), int64_t(type.getSequentialElementStride(data).getFixedValue())), 1);
      }
      return all;
    }
    if (isa<SelectInst>(instruction)) {
      Step one = at(1), other = at(2);
      if (one.kind == Step::open || other.kind == Step::open || at(0).kind == Step::open)
        return {};
      if (!at(0).isSame())
        return lost(lost(one, other), at(0));
      return one == other ? one : one.kind <= Step::even && other.kind <= Step::even ? Step{Step::even, 0} : lost(one, other);
    }
    if (auto *extract = dyn_cast<ExtractElementInst>(&instruction)) {
      auto *place = dyn_cast<ConstantInt>(extract->getIndexOperand());
      return place ? ofComponent(extract->getVectorOperand(), unsigned(place->getZExtValue()), 16) : lost(at(0), at(1));
    }
    if (auto *load = dyn_cast<LoadInst>(&instruction)) {
      if (at(0).kind == Step::open)
        return {};
      Root root = rootOf(load->getPointerOperand());
      if (root.kind == Root::own)
        return {Step::unknown, 0};
      return at(0).isSame() ? same : Step{Step::data, 0};
    }
    if (isCallOf(&instruction, laneName))
      return axis == Axis::x ? Step{Step::known, 1} : Step{Step::unknown, 0};
    if (isCallOf(&instruction, allocateName))
      return same;
    if (isa<AllocaInst>(instruction))
      return {Step::unknown, 0};
    if (auto *call = dyn_cast<CallBase>(&instruction)) {
      if (call->mayReadOrWriteMemory() && libraryOf(call->getCalledFunction() ? call->getCalledFunction()->getSubprogram() : nullptr) != Library::math)
        return {Step::data, 0};
      if (any_of(call->args(), [&](const Use &argument) { return argument->getType()->isPointerTy(); }))
        return {Step::unknown, 0};
    }
    // All else is the same where what it is made of is.
    Step all = same;
    for (const Use &operand : instruction.operands()) {
      if (isa<BasicBlock, Function>(operand))
        continue;
      Step one = of(operand);
      if (one.kind == Step::open)
        return {};
      if (!one.isSame())
        all = lost(all, one);
    }
    return all;
  }
};

} // namespace

Steps::Steps(Function &body, LoopInfo &loops, DominatorTree &tree, Axis axis_) : axis(axis_) {
  Finder finder(body, loops, tree, axis);
  finder.find();
  steps = std::move(finder.steps);
}

Step Steps::of(const Value *value) const { return stepOf(steps, axis, value); }

} // namespace hostmetal
