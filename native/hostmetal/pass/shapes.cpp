// What values are in a tile, and whether a region may have one. (Tiles are explained in tiles.cpp.)
//
// A value is a number, of which lane i has i * step more, or a vector; and it is the same in all pieces of the tile, a known leap apart, or neither. The
// position gives the first shapes; all others follow by instruction, from the best case on, until nothing changes. No analysis of control flow is
// needed: the tile has one.

#include "shapes.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/Analysis/VectorUtils.h"

namespace hostmetal {

constexpr int64_t longestStep = 1 << 24;

typedef std::optional<int64_t> Leap;

static bool isShort(int64_t step) { return step <= longestStep && step >= -longestStep; }

static Shape vectorOf(bool common) { return {Shape::vector, common ? Leap(0) : std::nullopt, 0}; }

static Shape numberOf(Leap leap, int64_t step) {
  if (!isShort(step))
    return vectorOf(leap == 0);
  return {Shape::number, leap && isShort(*leap) ? leap : std::nullopt, step};
}

bool isNothing(const Instruction &instruction) {
  auto *intrinsic = dyn_cast<IntrinsicInst>(&instruction);
  return intrinsic && (intrinsic->isAssumeLikeIntrinsic() && intrinsic->getType()->isVoidTy());
}

Shape Shapes::of(const Value *value) const {
  if (auto *argument = dyn_cast<Argument>(value)) {
    Leap varies = tile.pieces == 1 ? Leap(0) : std::nullopt;
    switch (argument->getArgNo()) {
    case parameterX:
      return {Shape::number, tile.rows ? Leap(0) : varies, 1};
    case parameterY:
      return {Shape::number, tile.rows && !varies ? 1 : 0, 0};
    case parameterLinear:
      return {Shape::number, varies, 1};
    // Lanes begin at a multiple of their count, which divides 32.
    case parameterSimdgroup:
      return {Shape::number, varies, 0};
    default:
      return {Shape::number, 0, 0};
    }
  }
  if (!isa<Instruction>(value))
    return {Shape::number, 0, 0};
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

// Whether a tile must look if numbers are still a step or leap apart when they are extended. A position is not near the end of its type.
bool Shapes::isChecked(const CastInst &cast) const {
  Shape shape = of(&cast);
  return isa<ZExtInst, SExtInst>(cast) && shape.kind == Shape::number && (shape.step != 0 || shape.leap.value_or(0) != 0) &&
         !isa<Argument>(cast.getOperand(0));
}

Shape Shapes::pointer(const GetElementPtrInst &address) const {
  Shape shape = of(address.getPointerOperand());
  MapVector<Value *, APInt> indices;
  APInt constant(64, 0);
  bool known = data.getIndexTypeSizeInBits(address.getType()) == 64 && address.collectOffset(data, 64, indices, constant);
  bool common = shape.isCommon() && all_of(address.indices(), [&](const Use &index) { return of(index).isCommon(); });
  for (auto &[index, scale] : indices) {
    Shape own = of(index);
    // A narrower index is extended.
    bool scaled = index->getType()->isIntegerTy(64) && scale.getSignificantBits() <= 24;
    if (own.kind == Shape::vector || (own.step != 0 && !scaled) || scale.getSignificantBits() > 24)
      known = false;
    else
      shape.step += own.step * scale.getSExtValue();
    if (!own.leap || (*own.leap != 0 && !scaled))
      shape.leap = std::nullopt;
    else if (shape.leap && *own.leap != 0)
      *shape.leap += *own.leap * scale.getSExtValue();
  }
  if (!known || shape.kind == Shape::vector)
    return vectorOf(common);
  return numberOf(common ? Leap(0) : shape.leap, shape.step);
}

bool Shapes::isConsecutive(const Value *pointer, Type *type) const {
  Shape shape = of(pointer);
  return shape.kind == Shape::number && shape.step == int64_t(data.getTypeStoreSize(type).getFixedValue());
}

// Whether each lane's accesses follow each other from piece to piece, but not those of a piece from lane to lane.
bool Shapes::isColumn(const Value *pointer, Type *type) const {
  Shape shape = of(pointer);
  return shape.kind == Shape::number && shape.step != 0 && shape.leap == int64_t(data.getTypeStoreSize(type).getFixedValue()) &&
         !isConsecutive(pointer, type);
}

// As many values as a region without loops may compute for each lane, whose vectors of all pieces live at the same time.
constexpr unsigned mostComputed = 16;

// Whether a region without loops, which LLVM could make vectors of as well, is better off in a tile: because of its columns.
bool Shapes::isTransposed() const {
  unsigned computed = 0, columns = 0;
  for (const BasicBlock *block : order)
    for (const Instruction &instruction : *block) {
      const Value *address = getLoadStorePointerOperand(&instruction);
      columns += address && isColumn(address, getLoadStoreType(const_cast<Instruction *>(&instruction)));
      computed += !address && of(&instruction).kind == Shape::vector;
    }
  return columns > 0 && computed <= mostComputed;
}

Shape Shapes::compute(const Instruction &instruction) const {
  if (isAny(instruction))
    return {Shape::number, 0, 0};
  if (isGuardedLoad(instruction))
    if (Shape address = of(instruction.getOperand(0)); address.isSame())
      return numberOf(address.isCommon() ? Leap(0) : std::nullopt, 0);
  auto *phi = dyn_cast<PHINode>(&instruction);
  bool common = true, same = true, vector = false, first = true;
  int64_t step = 0;
  Leap leap = 0;
  for (const Use &operand : instruction.operands()) {
    if (isa<BasicBlock>(operand))
      continue;
    Shape shape = of(operand);
    if (shape.kind == Shape::open) {
      if (phi)
        continue;
      return {};
    }
    common &= shape.isCommon();
    vector |= shape.kind == Shape::vector;
    same &= shape.isSame();
    if (phi) {
      vector |= !first && shape.step != step;
      leap = first || shape.leap == leap ? shape.leap : std::nullopt;
      step = shape.step;
      first = false;
    }
  }
  if (phi)
    return first ? Shape() : vector ? vectorOf(common) : numberOf(leap, step);
  if (auto *address = dyn_cast<GetElementPtrInst>(&instruction))
    return pointer(*address);
  if (vector)
    return vectorOf(common);
  auto stepOf = [&](unsigned operand) { return of(instruction.getOperand(operand)).step; };
  auto leapOf = [&](unsigned operand) { return of(instruction.getOperand(operand)).leap; };
  auto plus = [&](int64_t factor) {
    Leap one = leapOf(0), other = leapOf(1);
    return numberOf(one && other ? Leap(*one + factor * *other) : std::nullopt, stepOf(0) + factor * stepOf(1));
  };
  auto times = [&](int64_t factor) { return numberOf(leapOf(0) ? Leap(*leapOf(0) * factor) : std::nullopt, stepOf(0) * factor); };
  auto constant = [&](unsigned operand) {
    auto *value = dyn_cast<ConstantInt>(instruction.getOperand(operand));
    return value && value->getValue().getSignificantBits() <= 24 ? std::optional<int64_t>(value->getSExtValue()) : std::nullopt;
  };
  switch (instruction.getOpcode()) {
  case Instruction::Add:
    return plus(1);
  case Instruction::Sub:
    return plus(-1);
  case Instruction::Or:
    if (cast<PossiblyDisjointInst>(instruction).isDisjoint())
      return plus(1);
    break;
  case Instruction::Mul:
    if (std::optional<int64_t> factor = constant(1))
      return times(*factor);
    break;
  case Instruction::Shl:
    if (std::optional<int64_t> bits = constant(1); bits && *bits >= 0 && *bits < 24)
      return times(int64_t(1) << *bits);
    break;
  case Instruction::Trunc:
    if (instruction.getType()->getScalarSizeInBits() >= 8)
      return times(1);
    break;
  case Instruction::ZExt:
  case Instruction::SExt: {
    unsigned bits = instruction.getOperand(0)->getType()->getScalarSizeInBits();
    bool isKnown = isa<Argument>(instruction.getOperand(0)) || mayGiveUp(instruction);
    // The whole way from the first lane to the last, or from the first piece, must be a number of the type.
    auto lasts = [&](int64_t step, unsigned count) {
      int64_t way = (step < 0 ? -step : step) * count;
      return step == 0 || (isKnown && bits >= 8 && (bits >= 32 || way < (int64_t(1) << (bits - 1))));
    };
    if (lasts(stepOf(0), tile.lanes))
      return numberOf(leapOf(0) && lasts(*leapOf(0), tile.pieces) ? leapOf(0) : std::nullopt, stepOf(0));
    break;
  }
  case Instruction::Select:
    if (of(instruction.getOperand(0)).isSame() && stepOf(1) == stepOf(2))
      return numberOf(leapOf(0) == 0 && leapOf(1) == leapOf(2) ? leapOf(1) : std::nullopt, stepOf(1));
    break;
  default:
    break;
  }
  return same ? numberOf(common ? Leap(0) : std::nullopt, 0) : vectorOf(common);
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
        // Neither does a leap come back.
        if (known[&instruction].kind != Shape::open && shape.leap != known[&instruction].leap)
          shape.leap = std::nullopt;
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
  if (!instruction || (of(value).isSame() && of(value).isCommon()))
    return true;
  return depth > 0 && isa<BinaryOperator, CmpInst, CastInst, SelectInst>(instruction) &&
         all_of(instruction->operands(), [&](const Use &operand) { return isByPosition(operand, depth - 1); });
}

bool Shapes::inOrder(const Value *pointer, Type *type) const { return isConsecutive(pointer, type) || isColumn(pointer, type); }

static bool isNumber(const Type *type) {
  return type->isPointerTy() || type->isFloatTy() || type->isDoubleTy() || type->isHalfTy() || type->isIntegerTy(1) || type->isIntegerTy(8) ||
         type->isIntegerTy(16) || type->isIntegerTy(32) || type->isIntegerTy(64);
}

// Whether all pieces of a tile can do what one of them comes to. In rounds that some threads are through with already (rounds.cpp), a piece may be of such
// threads alone, and a quotient of what it has then can fault.
bool Shapes::isForEachPiece(const Instruction &instruction) const {
  const Loop *loop = loops.getLoopFor(instruction.getParent());
  bool joined = loop && any_of(loop->blocks(), [](const BasicBlock *block) { return any_of(*block, isAny); });
  return !joined || of(&instruction).isCommon() || !instruction.isIntDivRem() || isSafeToSpeculativelyExecute(&instruction);
}

// Whether an instruction whose value is a vector can be made.
bool Shapes::hasVectorForm(const Instruction &instruction) const {
  if (!isNumber(instruction.getType()) || !all_of(instruction.operands(), [](const Use &operand) {
        return isa<BasicBlock, Function>(operand) || isNumber(operand->getType());
      }))
    return false;
  bool inside = loops.getLoopFor(instruction.getParent());
  if (isGuardedLoad(instruction))
    return !instruction.getType()->isIntegerTy(1);
  switch (instruction.getOpcode()) {
  case Instruction::UDiv:
  case Instruction::SDiv:
  case Instruction::URem:
  case Instruction::SRem:
    // By a number that is known it is a product, of up to 32 bits for vectors.
    return !inside || (isa<ConstantInt>(instruction.getOperand(1)) && instruction.getType()->getIntegerBitWidth() <= 32 &&
                       isSafeToSpeculativelyExecute(&instruction));
  case Instruction::Load:
    return !instruction.getType()->isIntegerTy(1) && (!inside || inOrder(cast<LoadInst>(instruction).getPointerOperand(), instruction.getType()));
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
    if (shape.isSame() && shape.isCommon())
      return true;
    return !loop && mayGiveUp(instruction) && (!behindLoop.count(branch->getParent()) || isByPosition(branch->getCondition(), 8));
  }
  if (auto *choice = dyn_cast<SwitchInst>(&instruction))
    return of(choice->getCondition()).isSame() && of(choice->getCondition()).isCommon();
  if (auto *end = dyn_cast<ReturnInst>(&instruction))
    return of(end->getReturnValue()).isSame() && of(end->getReturnValue()).isCommon();
  if (isa<UnreachableInst>(instruction))
    return true;
  if (instruction.isTerminator() || isa<AllocaInst>(instruction))
    return false;
  if (auto *store = dyn_cast<StoreInst>(&instruction)) {
    Type *type = store->getValueOperand()->getType();
    if (of(store->getPointerOperand()).isSame() && of(store->getValueOperand()).isSame())
      return store->isSimple() && !loop;
    return store->isSimple() && isNumber(type) && !type->isIntegerTy(1) && (!loop || inOrder(store->getPointerOperand(), type));
  }
  auto *load = dyn_cast<LoadInst>(&instruction);
  bool guarded = isGuardedLoad(instruction);
  if (load ? !load->isSimple() : instruction.mayReadOrWriteMemory() && !guarded)
    return false;
  if (!isForEachPiece(instruction))
    return false;
  if (of(&instruction).kind == Shape::vector)
    return hasVectorForm(instruction);
  if (guarded || isAny(instruction))
    return true;
  auto *call = dyn_cast<CallBase>(&instruction);
  return !call || (isa<IntrinsicInst>(call) && !call->mayReadOrWriteMemory() && !call->isConvergent());
}

// As many reads from anywhere as a loop with rounds of each thread's own is made for: one by one, several are faster.
constexpr unsigned mostGathers = 1;

bool Shapes::fits() {
  DenseMap<const Loop *, unsigned> gathers;
  return all_of(order, [&](BasicBlock *block) {
    return all_of(*block, [&](const Instruction &instruction) {
      if (isGuardedLoad(instruction) && of(&instruction).kind == Shape::vector && !isConsecutive(instruction.getOperand(0), instruction.getType()) &&
          ++gathers[loops.getLoopFor(block)] > mostGathers)
        return false;
      return fits(instruction);
    });
  });
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
