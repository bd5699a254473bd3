// What values are in a tile, and whether a region may have one. (Tiles are explained in tiles.cpp.)
//
// A value is a number, of which lane i has i * step more, or a vector; and it is the same in all pieces of the tile, or not. The position gives the
// first shapes; all others follow by instruction, from the best case on, until nothing changes. No analysis of control flow is needed: the tile has one.

#include "shapes.h"
#include "llvm/Analysis/VectorUtils.h"

namespace hostmetal {

constexpr int64_t longestStep = 1 << 24;

static Shape numberOf(bool common, int64_t step) {
  if (step > longestStep || step < -longestStep)
    return {Shape::vector, common, 0};
  return {Shape::number, common, step};
}

bool isNothing(const Instruction &instruction) {
  auto *intrinsic = dyn_cast<IntrinsicInst>(&instruction);
  return intrinsic && (intrinsic->isAssumeLikeIntrinsic() && intrinsic->getType()->isVoidTy());
}

Shape Shapes::of(const Value *value) const {
  if (auto *argument = dyn_cast<Argument>(value)) {
    bool one = tile.pieces == 1;
    switch (argument->getArgNo()) {
    case parameterX:
      return {Shape::number, one || tile.rows, 1};
    case parameterY:
      return {Shape::number, one || !tile.rows, 0};
    case parameterLinear:
      return {Shape::number, one, 1};
    // Lanes begin at a multiple of their count, which divides 32.
    case parameterSimdgroup:
      return {Shape::number, one, 0};
    default:
      return {Shape::number, true, 0};
    }
  }
  if (!isa<Instruction>(value))
    return {Shape::number, true, 0};
  auto found = known.find(value);
  return found == known.end() ? Shape() : found->second;
}

bool Shapes::mayGiveUp(const Instruction &instruction) const {
  if (late.count(instruction.getParent()))
    return false;
  for (const Instruction *before = instruction.getPrevNode(); before; before = before->getPrevNode())
    if (before->mayWriteToMemory() && !isNothing(*before))
      return false;
  return true;
}

// Whether a tile must look if the lanes' numbers are still a step apart when they are extended. A position is not near the end of its type.
bool Shapes::isChecked(const CastInst &cast) const {
  return isa<ZExtInst, SExtInst>(cast) && of(cast.getOperand(0)).step != 0 && !isa<Argument>(cast.getOperand(0));
}

Shape Shapes::pointer(const GetElementPtrInst &address) const {
  Shape shape = of(address.getPointerOperand());
  MapVector<Value *, APInt> indices;
  APInt constant(64, 0);
  bool known = data.getIndexTypeSizeInBits(address.getType()) == 64 && address.collectOffset(data, 64, indices, constant);
  for (auto &[index, scale] : indices) {
    Shape own = of(index);
    shape.common &= own.common;
    // A narrower index is extended.
    if (own.kind == Shape::vector || (own.step != 0 && !index->getType()->isIntegerTy(64)) || scale.getSignificantBits() > 24)
      known = false;
    else
      shape.step += own.step * scale.getSExtValue();
  }
  for (const Use &index : address.indices())
    shape.common &= of(index).common;
  if (!known || shape.kind == Shape::vector)
    return {Shape::vector, shape.common, 0};
  return numberOf(shape.common, shape.step);
}

bool Shapes::isConsecutive(const Value *pointer, Type *type) const {
  Shape shape = of(pointer);
  return shape.kind == Shape::number && shape.step == int64_t(data.getTypeStoreSize(type).getFixedValue());
}

Shape Shapes::compute(const Instruction &instruction) const {
  auto *phi = dyn_cast<PHINode>(&instruction);
  Shape all{Shape::number, true, 0};
  bool same = true, vector = false, first = true;
  int64_t step = 0;
  for (const Use &operand : instruction.operands()) {
    if (isa<BasicBlock>(operand))
      continue;
    Shape shape = of(operand);
    if (shape.kind == Shape::open) {
      if (phi)
        continue;
      return {};
    }
    all.common &= shape.common;
    vector |= shape.kind == Shape::vector;
    same &= shape.isSame();
    if (phi) {
      vector |= !first && shape.step != step;
      step = shape.step;
      first = false;
    }
  }
  if (phi)
    return first ? Shape() : vector ? Shape{Shape::vector, all.common, 0} : numberOf(all.common, step);
  if (auto *address = dyn_cast<GetElementPtrInst>(&instruction))
    return pointer(*address);
  if (auto *load = dyn_cast<LoadInst>(&instruction))
    return same ? all : Shape{Shape::vector, of(load->getPointerOperand()).common, 0};
  if (same)
    return all;
  if (vector)
    return {Shape::vector, all.common, 0};
  auto stepOf = [&](unsigned operand) { return of(instruction.getOperand(operand)).step; };
  auto constant = [&](unsigned operand) {
    auto *value = dyn_cast<ConstantInt>(instruction.getOperand(operand));
    return value && value->getValue().getSignificantBits() <= 24 ? std::optional<int64_t>(value->getSExtValue()) : std::nullopt;
  };
  switch (instruction.getOpcode()) {
  case Instruction::Add:
    return numberOf(all.common, stepOf(0) + stepOf(1));
  case Instruction::Sub:
    return numberOf(all.common, stepOf(0) - stepOf(1));
  case Instruction::Or:
    if (cast<PossiblyDisjointInst>(instruction).isDisjoint())
      return numberOf(all.common, stepOf(0) + stepOf(1));
    break;
  case Instruction::Mul:
    if (std::optional<int64_t> factor = constant(1); factor && stepOf(1) == 0)
      return numberOf(all.common, stepOf(0) * *factor);
    break;
  case Instruction::Shl:
    if (std::optional<int64_t> bits = constant(1); bits && *bits >= 0 && *bits < 24)
      return numberOf(all.common, stepOf(0) * (int64_t(1) << *bits));
    break;
  case Instruction::Trunc:
    if (instruction.getType()->getScalarSizeInBits() >= 8)
      return numberOf(all.common, stepOf(0));
    break;
  case Instruction::ZExt:
  case Instruction::SExt: {
    auto &extended = cast<CastInst>(instruction);
    // The whole way from the first lane to the last must be a number of the type.
    unsigned bits = extended.getSrcTy()->getScalarSizeInBits();
    int64_t way = (stepOf(0) < 0 ? -stepOf(0) : stepOf(0)) * tile.lanes;
    bool short_ = bits >= 8 && (bits >= 32 || way < (int64_t(1) << (bits - 1)));
    if (short_ && (!isChecked(extended) || mayGiveUp(extended)))
      return numberOf(all.common, stepOf(0));
    break;
  }
  case Instruction::Select:
    if (of(instruction.getOperand(0)).isSame() && stepOf(1) == stepOf(2))
      return numberOf(all.common, stepOf(1));
    break;
  default:
    break;
  }
  return {Shape::vector, all.common, 0};
}

void Shapes::find() {
  auto mark = [](const BasicBlock *from, std::set<const BasicBlock *> &behind) {
    std::vector<const BasicBlock *> open(succ_begin(from), succ_end(from));
    while (!open.empty()) {
      const BasicBlock *block = open.back();
      open.pop_back();
      if (behind.insert(block).second)
        open.insert(open.end(), succ_begin(block), succ_end(block));
    }
  };
  for (BasicBlock *block : order) {
    if (any_of(*block, [](const Instruction &instruction) { return instruction.mayWriteToMemory() && !isNothing(instruction); }))
      mark(block, late);
    if (loops.getLoopFor(block))
      mark(block, behindLoop);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (BasicBlock *block : order)
      for (Instruction &instruction : *block) {
        Shape shape = compute(instruction);
        // A vector stays one, so that this ends.
        if (known[&instruction].kind == Shape::vector && shape.kind != Shape::vector)
          continue;
        shape.common &= known[&instruction].common;
        if (!(shape == known[&instruction])) {
          known[&instruction] = shape;
          changed = true;
        }
      }
  }
}

// The lanes that one call of an intrinsic function can be for: all, or as many as the library of vector functions takes; 0 when it takes none.
unsigned Shapes::libraryLanes(const IntrinsicInst &call) const {
  switch (call.getIntrinsicID()) {
  case Intrinsic::exp:
  case Intrinsic::exp2:
  case Intrinsic::exp10:
  case Intrinsic::log:
  case Intrinsic::log2:
  case Intrinsic::log10:
  case Intrinsic::sin:
  case Intrinsic::cos:
  case Intrinsic::tan:
  case Intrinsic::pow:
    for (unsigned lanes = tile.lanes; lanes >= 2; lanes /= 2)
      if (library.isFunctionVectorizable(call.getCalledFunction()->getName(), ElementCount::getFixed(lanes)))
        return lanes;
    return 0;
  case Intrinsic::powi:
    return 0;
  default:
    return isTriviallyVectorizable(call.getIntrinsicID()) ? tile.lanes : 0;
  }
}

// Whether threads can only differ in a value by their positions, as in the guard of a kernel: then nearly all tiles agree.
bool Shapes::isByPosition(const Value *value, unsigned depth) const {
  auto *instruction = dyn_cast<Instruction>(value);
  if (!instruction || (of(value).isSame() && of(value).common))
    return true;
  return depth > 0 && isa<BinaryOperator, CmpInst, CastInst, SelectInst>(instruction) &&
         all_of(instruction->operands(), [&](const Use &operand) { return isByPosition(operand, depth - 1); });
}

static bool isNumber(const Type *type) {
  return type->isPointerTy() || type->isFloatTy() || type->isDoubleTy() || type->isHalfTy() || type->isIntegerTy(1) || type->isIntegerTy(8) ||
         type->isIntegerTy(16) || type->isIntegerTy(32) || type->isIntegerTy(64);
}

// Whether an instruction whose value is a vector can be made.
bool Shapes::hasVectorForm(const Instruction &instruction) const {
  if (!isNumber(instruction.getType()) || !all_of(instruction.operands(), [](const Use &operand) {
        return isa<BasicBlock, Function>(operand) || isNumber(operand->getType());
      }))
    return false;
  bool inside = loops.getLoopFor(instruction.getParent());
  switch (instruction.getOpcode()) {
  case Instruction::UDiv:
  case Instruction::SDiv:
  case Instruction::URem:
  case Instruction::SRem:
    return !inside;
  case Instruction::Load:
    return !instruction.getType()->isIntegerTy(1) &&
           (!inside || isConsecutive(cast<LoadInst>(instruction).getPointerOperand(), instruction.getType()));
  case Instruction::Call: {
    auto *call = dyn_cast<IntrinsicInst>(&instruction);
    if (!call || call->mayReadOrWriteMemory() || libraryLanes(*call) == 0)
      return false;
    for (unsigned i = 0; i < call->arg_size(); i++)
      if (isVectorIntrinsicWithScalarOpAtArg(call->getIntrinsicID(), i) && !isa<Constant>(call->getArgOperand(i)))
        return false;
    return true;
  }
  default:
    return isa<BinaryOperator, UnaryOperator, CmpInst, CastInst, SelectInst, FreezeInst, GetElementPtrInst, PHINode>(instruction) &&
           !isa<AddrSpaceCastInst>(instruction);
  }
}

bool Shapes::fits(const Instruction &instruction) const {
  const Loop *loop = loops.getLoopFor(instruction.getParent());
  if (isNothing(instruction))
    return true;
  if (auto *branch = dyn_cast<BranchInst>(&instruction)) {
    if (branch->isUnconditional())
      return true;
    Shape shape = of(branch->getCondition());
    if (shape.isSame() && shape.common)
      return true;
    return !loop && mayGiveUp(instruction) && (!behindLoop.count(branch->getParent()) || isByPosition(branch->getCondition(), 8));
  }
  if (auto *choice = dyn_cast<SwitchInst>(&instruction))
    return of(choice->getCondition()).isSame() && of(choice->getCondition()).common;
  if (auto *end = dyn_cast<ReturnInst>(&instruction))
    return of(end->getReturnValue()).isSame() && of(end->getReturnValue()).common;
  if (isa<UnreachableInst>(instruction))
    return true;
  if (instruction.isTerminator() || isa<AllocaInst>(instruction))
    return false;
  if (auto *store = dyn_cast<StoreInst>(&instruction)) {
    Type *type = store->getValueOperand()->getType();
    if (of(store->getPointerOperand()).isSame() && of(store->getValueOperand()).isSame())
      return store->isSimple() && !loop;
    return store->isSimple() && isNumber(type) && !type->isIntegerTy(1) && (!loop || isConsecutive(store->getPointerOperand(), type));
  }
  auto *load = dyn_cast<LoadInst>(&instruction);
  if (load ? !load->isSimple() : instruction.mayReadOrWriteMemory())
    return false;
  if (of(&instruction).kind == Shape::vector)
    return hasVectorForm(instruction);
  auto *call = dyn_cast<CallBase>(&instruction);
  return !call || (isa<IntrinsicInst>(call) && !call->mayReadOrWriteMemory() && !call->isConvergent());
}

bool Shapes::fits() {
  return all_of(order, [&](BasicBlock *block) { return all_of(*block, [&](const Instruction &instruction) { return fits(instruction); }); });
}

// The bits of each lane that live through a loop, at most: what it carries from one iteration to the next, and what it uses from before.
unsigned Shapes::bitsKept() {
  unsigned most = 0;
  for (const Loop *loop : const_cast<LoopInfo &>(loops).getLoopsInPreorder()) {
    std::set<const Value *> kept;
    for (const BasicBlock *block : loop->blocks())
      for (const Instruction &instruction : *block) {
        if (block == loop->getHeader() && isa<PHINode>(instruction))
          kept.insert(&instruction);
        for (const Use &operand : instruction.operands())
          if (auto *value = dyn_cast<Instruction>(operand); value && !loop->contains(value))
            kept.insert(value);
      }
    unsigned bits = 0;
    for (const Value *value : kept)
      if (of(value).kind == Shape::vector)
        bits += unsigned(data.getTypeSizeInBits(value->getType()).getFixedValue());
    most = std::max(most, bits);
  }
  return most;
}

} // namespace hostmetal
