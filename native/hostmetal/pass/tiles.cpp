// A region for many threads at once, where it has loops that they go through together, or accesses memory by columns.
//
// LLVM vectorises innermost loops only: the loop over threads when there is none inside, else the one inside. A tile is a few pieces of lanes beside
// each other in x. In the code for a tile, a value that differs between lanes is a vector for each piece; one that does not, or by a known step from
// lane to lane, is a number for each piece; and one that is the same in all pieces is there once. Control flow is the tile's: all its threads go the same
// way, one after another in no order that they could see, since each does its own accesses in its own order and none depends on another's
// between two barriers.
//
// Where the threads of a tile go different ways, and where lanes' numbers turn out not to be a step apart (an unsigned index that wraps around), the
// tile gives up, and its threads do the region each for itself, from the beginning (`Region::alone`). So nothing may have been written before. What is
// decided in a loop must be the same for all threads of the tile in any case, and behind a loop differ by position alone.
//
// A column is what a lane accesses in all pieces, where that is consecutive but the accesses of a piece are not: `tile[x][y]`. Then each
// lane's is loaded or stored as one vector, and vectors of columns become vectors of lanes in registers, instead of gathers and scatters.
//
// The rule of cost: a tile is made for a region with a loop, when all that its loops access is consecutive in x, in columns, or the same for all
// lanes, and all that they compute differently by lane has a vector form; and for a region without, when it accesses columns and computes little.
// Then no loop of a thread alone is better. Loops by each thread's own count, or with decisions of its own, become loops that all go through alike
// first, where that can be (rounds.cpp). Anything else is refused: atomics, calls, private arrays, divisions of integers in a loop.

#include "shapes.h"
#include "llvm/Analysis/CFG.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/Scalarizer.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/LCSSA.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"
#include <numeric>

namespace hostmetal {

namespace {

struct Widening {
  explicit Widening(const Shapes &shapes_) : shapes(shapes_) {}
  const Shapes &shapes;
  Function &thread = shapes.thread;
  const TileLayout &tile = shapes.tile;
  LLVMContext &context = thread.getContext();
  Function *function = nullptr;
  IRBuilder<> builder{context};
  BasicBlock *entry = nullptr, *gaveUp = nullptr;
  // For each piece, or once.
  typedef SmallVector<Value *, 4> Pieces;
  DenseMap<const Value *, Pieces> made, spread;
  DenseMap<const BasicBlock *, BasicBlock *> begins, ends;

  Function *run();
  void begin();
  unsigned pieces(const Shape &shape) const { return shape.isCommon() ? 1 : tile.pieces; }
  FixedVectorType *wide(Type *type) const { return FixedVectorType::get(type, tile.lanes); }
  Value *number(Value *value, unsigned piece);
  Value *lanes(Value *value, unsigned piece);
  void emit(Instruction &instruction);
  void emitBranch(BranchInst &branch);
  void emitCheck(CastInst &cast);
  Value *any(Value *condition, ArrayRef<unsigned> of);
  Value *emitGuardedLoad(CallInst &load, unsigned piece);
  void transpose(Pieces &vectors);
  Value *column(Value *pointer, unsigned lane);
  Pieces loadColumns(LoadInst &load);
  void storeColumns(StoreInst &store);
  void giveUpUnless(Value *fine);
  Value *emitVector(Instruction &instruction, unsigned piece);
  Value *emitCall(IntrinsicInst &call, unsigned piece);
};

// What the first lane of a piece has.
Value *Widening::number(Value *value, unsigned piece) {
  if (isa<Constant>(value))
    return value;
  const Pieces &all = made.find(value)->second;
  return all[all.size() == 1 ? 0 : piece];
}

// What all lanes of a piece have.
Value *Widening::lanes(Value *value, unsigned piece) {
  if (auto *constant = dyn_cast<Constant>(value))
    return ConstantVector::getSplat(ElementCount::getFixed(tile.lanes), constant);
  Shape shape = shapes.of(value);
  if (shape.kind == Shape::vector)
    return number(value, piece);
  unsigned index = shape.isCommon() ? 0 : piece;
  Pieces &all = spread[value];
  all.resize(pieces(shape));
  if (all[index])
    return all[index];
  // Behind its definition, so that it is there for all uses.
  Value *first = number(value, piece);
  IRBuilderBase::InsertPointGuard guard(builder);
  auto *definition = dyn_cast<Instruction>(first);
  BasicBlock *block = definition ? definition->getParent() : entry;
  // At the end of a block that is being made, there is nothing behind.
  if (std::optional<BasicBlock::iterator> behind = definition ? definition->getInsertionPointAfterDef() : entry->getFirstInsertionPt())
    builder.SetInsertPoint(block, *behind);
  else
    builder.SetInsertPoint(block);
  Value *result = builder.CreateVectorSplat(tile.lanes, first);
  if (shape.step != 0) {
    bool pointer = first->getType()->isPointerTy();
    Type *type = pointer ? builder.getInt64Ty() : first->getType();
    SmallVector<Constant *, 16> steps;
    for (unsigned lane = 0; lane < tile.lanes; lane++)
      steps.push_back(ConstantInt::get(type, uint64_t(shape.step * lane), true));
    Value *more = ConstantVector::get(steps);
    result = pointer ? builder.CreateGEP(builder.getInt8Ty(), first, more) : builder.CreateAdd(result, more);
  }
  return all[index] = result;
}

void Widening::begin() {
  std::vector<Type *> types(parameterHeld, builder.getInt32Ty());
  for (unsigned i = parameterHeld; i < thread.arg_size(); i++)
    types.push_back(thread.getArg(i)->getType());
  function = Function::Create(FunctionType::get(builder.getInt32Ty(), types, false), GlobalValue::InternalLinkage, thread.getName() + ".tile",
                              thread.getParent());
  function->setAttributes(thread.getAttributes());
  entry = BasicBlock::Create(context, "entry", function);
  gaveUp = BasicBlock::Create(context, "alone", function);
  ReturnInst::Create(context, builder.getInt32(tileGaveUp), gaveUp);
  builder.SetInsertPoint(entry);
  for (unsigned i = parameterHeld; i < thread.arg_size(); i++)
    made[thread.getArg(i)] = {function->getArg(i)};
  made[thread.getArg(parameterZ)] = {function->getArg(parameterZ)};
  Argument *x = function->getArg(parameterX), *y = function->getArg(parameterY), *linear = function->getArg(parameterLinear);
  Argument *width = function->getArg(parameterSimdgroup);
  for (unsigned piece = 0; piece < tile.pieces; piece++) {
    auto add = [&](Value *begin, Value *more) { return builder.CreateAdd(begin, more, "", true, true); };
    Value *beside = builder.getInt32(piece * tile.lanes);
    Value *number = add(linear, tile.rows ? builder.CreateMul(width, builder.getInt32(piece), "", true, true) : beside);
    if (piece == 0 || !tile.rows)
      made[thread.getArg(parameterX)].push_back(add(x, tile.rows ? builder.getInt32(0) : beside));
    if (piece == 0 || tile.rows)
      made[thread.getArg(parameterY)].push_back(add(y, builder.getInt32(tile.rows ? piece : 0)));
    made[thread.getArg(parameterLinear)].push_back(number);
    made[thread.getArg(parameterSimdgroup)].push_back(builder.CreateLShr(number, builder.getInt32(5)));
  }
}

void Widening::giveUpUnless(Value *fine) {
  auto *next = BasicBlock::Create(context, "", function);
  builder.CreateCondBr(fine, next, gaveUp, MDBuilder(context).createBranchWeights(1 << 20, 1));
  builder.SetInsertPoint(next);
}

// Gives up unless neither the last lane's number nor, where a leap is known, the last piece's has come around.
void Widening::emitCheck(CastInst &cast) {
  Shape shape = shapes.of(&cast);
  bool isSigned = isa<SExtInst>(cast);
  unsigned bits = cast.getSrcTy()->getScalarSizeInBits();
  Value *fine = builder.getTrue();
  auto check = [&](unsigned piece, int64_t step, unsigned count) {
    APInt way(bits, uint64_t(step * (int64_t(count) - 1)), true);
    APInt limit = step > 0 ? (isSigned ? APInt::getSignedMaxValue(bits) : APInt::getMaxValue(bits)) - way
                           : (isSigned ? APInt::getSignedMinValue(bits) : APInt::getMinValue(bits)) - way;
    ICmpInst::Predicate below = isSigned ? ICmpInst::ICMP_SLE : ICmpInst::ICMP_ULE, above = isSigned ? ICmpInst::ICMP_SGE : ICmpInst::ICMP_UGE;
    Value *own = builder.CreateICmp(step > 0 ? below : above, number(cast.getOperand(0), piece), ConstantInt::get(context, limit));
    fine = builder.CreateAnd(fine, own);
  };
  if (shape.step != 0)
    for (unsigned piece = 0; piece < pieces(shape); piece++)
      check(piece, shape.step, tile.lanes);
  if (shape.leap.value_or(0) != 0)
    check(0, *shape.leap, tile.pieces);
  giveUpUnless(fine);
}

// Exchanges rows and columns in each square of as many lanes as there are vectors.
void Widening::transpose(Pieces &vectors) {
  for (unsigned far = unsigned(vectors.size()) / 2; far > 0; far /= 2) {
    SmallVector<int, 16> upper, lower;
    for (unsigned lane = 0; lane < tile.lanes; lane++) {
      bool own = (lane & far) == 0;
      upper.push_back(int(own ? lane : tile.lanes + lane - far));
      lower.push_back(int(own ? lane + far : tile.lanes + lane));
    }
    for (unsigned i = 0; i < vectors.size(); i++)
      if ((i & far) == 0) {
        Value *one = vectors[i], *other = vectors[i + far];
        vectors[i] = builder.CreateShuffleVector(one, other, upper);
        vectors[i + far] = builder.CreateShuffleVector(one, other, lower);
      }
  }
}

// Where a lane's column begins.
Value *Widening::column(Value *pointer, unsigned lane) {
  return builder.CreateGEP(builder.getInt8Ty(), number(pointer, 0), builder.getInt64(uint64_t(shapes.of(pointer).step * lane)));
}

// What all pieces read, column by column.
Widening::Pieces Widening::loadColumns(LoadInst &load) {
  Pieces all;
  for (unsigned piece = 0; piece < tile.pieces; piece++) {
    SmallVector<Value *, 16> parts;
    for (unsigned lane = piece; lane < tile.lanes; lane += tile.pieces)
      parts.push_back(builder.CreateAlignedLoad(FixedVectorType::get(load.getType(), tile.pieces), column(load.getPointerOperand(), lane), load.getAlign()));
    all.push_back(concatenateVectors(builder, parts));
  }
  transpose(all);
  return all;
}

void Widening::storeColumns(StoreInst &store) {
  Pieces all;
  for (unsigned piece = 0; piece < tile.pieces; piece++)
    all.push_back(lanes(store.getValueOperand(), piece));
  transpose(all);
  for (unsigned lane = 0; lane < tile.lanes; lane++) {
    SmallVector<int, 16> some(tile.pieces);
    std::iota(some.begin(), some.end(), int(lane / tile.pieces * tile.pieces));
    Value *own = builder.CreateShuffleVector(all[lane % tile.pieces], some);
    builder.CreateAlignedStore(own, column(store.getPointerOperand(), lane), store.getAlign());
  }
}

// Whether a condition is true of any thread of some pieces.
Value *Widening::any(Value *condition, ArrayRef<unsigned> of) {
  Shape shape = shapes.of(condition);
  Value *result = nullptr;
  for (unsigned piece : shape.isCommon() ? ArrayRef(of.front()) : of) {
    Value *own = shape.isSame() ? number(condition, piece) : lanes(condition, piece);
    result = result ? builder.CreateOr(result, own) : own;
  }
  return shape.isSame() ? result : builder.CreateOrReduce(result);
}

Value *Widening::emitGuardedLoad(CallInst &load, unsigned piece) {
  Value *pointer = load.getArgOperand(0), *guard = load.getArgOperand(1);
  Align alignment = load.getParamAlign(0).valueOrOne();
  if (shapes.of(&load).kind == Shape::vector) {
    Constant *nothing = Constant::getNullValue(wide(load.getType()));
    if (shapes.isConsecutive(pointer, load.getType()))
      return builder.CreateMaskedLoad(wide(load.getType()), number(pointer, piece), alignment, lanes(guard, piece), nothing);
    return builder.CreateMaskedGather(wide(load.getType()), lanes(pointer, piece), alignment, lanes(guard, piece), nothing);
  }
  // One address: where no thread reads it, zeros are read.
  Type *type = load.getType();
  auto *zeros = new GlobalVariable(*thread.getParent(), type, true, GlobalValue::PrivateLinkage, Constant::getNullValue(type));
  zeros->setAlignment(std::max(alignment, thread.getParent()->getDataLayout().getABITypeAlign(type)));
  SmallVector<unsigned, 4> of;
  for (unsigned i = 0; i < tile.pieces; i++)
    if (shapes.of(&load).isCommon() || i == piece)
      of.push_back(i);
  return builder.CreateAlignedLoad(type, builder.CreateSelect(any(guard, of), number(pointer, piece), zeros), alignment);
}

void Widening::emitBranch(BranchInst &branch) {
  if (branch.isUnconditional()) {
    builder.CreateBr(begins[branch.getSuccessor(0)]);
    return;
  }
  Shape shape = shapes.of(branch.getCondition());
  Value *yes = begins[branch.getSuccessor(0)], *no = begins[branch.getSuccessor(1)];
  auto own = [&](unsigned piece) { return shape.isSame() ? number(branch.getCondition(), piece) : lanes(branch.getCondition(), piece); };
  Value *all = own(0), *any = all;
  for (unsigned piece = 1; piece < pieces(shape); piece++) {
    all = builder.CreateAnd(all, own(piece));
    any = builder.CreateOr(any, own(piece));
  }
  if (!shape.isSame()) {
    all = builder.CreateAndReduce(all);
    any = builder.CreateOrReduce(any);
  }
  if (all != any)
    giveUpUnless(builder.CreateICmpEQ(all, any));
  builder.CreateCondBr(all, cast<BasicBlock>(yes), cast<BasicBlock>(no));
}

Value *Widening::emitCall(IntrinsicInst &call, unsigned piece) {
  unsigned count = shapes.libraryLanes(call);
  Value *result = nullptr;
  SmallVector<Value *, 8> parts;
  for (unsigned from = 0; from < tile.lanes; from += count) {
    SmallVector<Value *, 4> arguments;
    SmallVector<Type *, 4> types;
    if (isVectorIntrinsicWithOverloadTypeAtArg(call.getIntrinsicID(), -1))
      types.push_back(FixedVectorType::get(call.getType(), count));
    for (unsigned i = 0; i < call.arg_size(); i++) {
      Value *argument = call.getArgOperand(i);
      if (!isVectorIntrinsicWithScalarOpAtArg(call.getIntrinsicID(), i)) {
        argument = lanes(argument, piece);
        if (count < tile.lanes) {
          SmallVector<int, 16> some(count);
          std::iota(some.begin(), some.end(), int(from));
          argument = builder.CreateShuffleVector(argument, some);
        }
      }
      if (isVectorIntrinsicWithOverloadTypeAtArg(call.getIntrinsicID(), int(i)))
        types.push_back(argument->getType());
      arguments.push_back(argument);
    }
    result = builder.CreateCall(Intrinsic::getDeclaration(thread.getParent(), call.getIntrinsicID(), types), arguments);
    if (isa<FPMathOperator>(result))
      cast<Instruction>(result)->copyFastMathFlags(&call);
    parts.push_back(result);
  }
  return parts.size() == 1 ? result : concatenateVectors(builder, parts);
}

Value *Widening::emitVector(Instruction &instruction, unsigned piece) {
  auto operand = [&](unsigned i) { return lanes(instruction.getOperand(i), piece); };
  auto flagged = [&](Value *value) {
    if (auto *own = dyn_cast<Instruction>(value))
      own->copyIRFlags(&instruction);
    return value;
  };
  if (auto *operation = dyn_cast<BinaryOperator>(&instruction))
    return flagged(builder.CreateBinOp(operation->getOpcode(), operand(0), operand(1)));
  if (auto *operation = dyn_cast<UnaryOperator>(&instruction))
    return flagged(builder.CreateUnOp(operation->getOpcode(), operand(0)));
  if (auto *comparison = dyn_cast<CmpInst>(&instruction))
    return flagged(builder.CreateCmp(comparison->getPredicate(), operand(0), operand(1)));
  if (auto *conversion = dyn_cast<CastInst>(&instruction))
    return flagged(builder.CreateCast(conversion->getOpcode(), operand(0), wide(conversion->getType())));
  if (isa<SelectInst>(instruction))
    return flagged(builder.CreateSelect(operand(0), operand(1), operand(2)));
  if (isa<FreezeInst>(instruction))
    return builder.CreateFreeze(operand(0));
  if (auto *call = dyn_cast<IntrinsicInst>(&instruction))
    return emitCall(*call, piece);
  if (isa<PHINode>(instruction))
    return builder.CreatePHI(wide(instruction.getType()), 2);
  if (auto *address = dyn_cast<GetElementPtrInst>(&instruction)) {
    auto part = [&](Value *value) { return shapes.of(value).isSame() ? number(value, piece) : lanes(value, piece); };
    SmallVector<Value *, 4> indices;
    for (Value *index : address->indices())
      indices.push_back(part(index));
    Value *base = part(address->getPointerOperand());
    bool any = base->getType()->isVectorTy() || any_of(indices, [](Value *index) { return index->getType()->isVectorTy(); });
    return builder.CreateGEP(address->getSourceElementType(), any ? base : lanes(address->getPointerOperand(), piece), indices, "",
                             address->getNoWrapFlags());
  }
  auto &load = cast<LoadInst>(instruction);
  if (shapes.isConsecutive(load.getPointerOperand(), load.getType()))
    return builder.CreateAlignedLoad(wide(load.getType()), number(load.getPointerOperand(), piece), load.getAlign());
  return builder.CreateMaskedGather(wide(load.getType()), lanes(load.getPointerOperand(), piece), load.getAlign());
}

void Widening::emit(Instruction &instruction) {
  if (isNothing(instruction))
    return;
  if (auto *branch = dyn_cast<BranchInst>(&instruction))
    return emitBranch(*branch);
  if (auto *store = dyn_cast<StoreInst>(&instruction)) {
    Shape address = shapes.of(store->getPointerOperand()), value = shapes.of(store->getValueOperand());
    if (shapes.isColumn(store->getPointerOperand(), store->getValueOperand()->getType()))
      return storeColumns(*store);
    for (unsigned piece = 0; piece < (address.isCommon() && value.isCommon() ? 1 : tile.pieces); piece++) {
      if (address.isSame() && value.isSame())
        builder.CreateAlignedStore(number(store->getValueOperand(), piece), number(store->getPointerOperand(), piece), store->getAlign());
      else if (shapes.isConsecutive(store->getPointerOperand(), store->getValueOperand()->getType()))
        builder.CreateAlignedStore(lanes(store->getValueOperand(), piece), number(store->getPointerOperand(), piece), store->getAlign());
      else
        builder.CreateMaskedScatter(lanes(store->getValueOperand(), piece), lanes(store->getPointerOperand(), piece), store->getAlign());
    }
    return;
  }
  Shape shape = shapes.of(&instruction);
  if (auto *extended = dyn_cast<CastInst>(&instruction); extended && shapes.isChecked(*extended))
    emitCheck(*extended);
  if (auto *load = dyn_cast<LoadInst>(&instruction); load && shapes.isColumn(load->getPointerOperand(), load->getType())) {
    made[&instruction] = loadColumns(*load);
    return;
  }
  Pieces all;
  for (unsigned piece = 0; piece < pieces(shape); piece++) {
    if (isGuardedLoad(instruction)) {
      all.push_back(emitGuardedLoad(cast<CallInst>(instruction), piece));
      continue;
    }
    if (isAny(instruction)) {
      SmallVector<unsigned, 4> of(tile.pieces);
      std::iota(of.begin(), of.end(), 0u);
      all.push_back(any(instruction.getOperand(0), of));
      continue;
    }
    if (shape.kind == Shape::vector) {
      all.push_back(emitVector(instruction, piece));
      continue;
    }
    Instruction *copy = instruction.clone();
    copy->dropUnknownNonDebugMetadata();
    for (Use &operand : copy->operands()) {
      if (auto *block = dyn_cast<BasicBlock>(operand))
        operand.set(begins[block]);
      else if (!isa<PHINode>(instruction))
        operand.set(number(operand, piece));
    }
    if (auto *phi = dyn_cast<PHINode>(copy))
      while (phi->getNumIncomingValues())
        phi->removeIncomingValue(phi->getNumIncomingValues() - 1, false);
    builder.Insert(copy);
    all.push_back(copy);
  }
  if (!instruction.getType()->isVoidTy())
    made[&instruction] = all;
}

Function *Widening::run() {
  begin();
  for (BasicBlock *block : shapes.order)
    begins[block] = BasicBlock::Create(context, block->getName(), function, gaveUp);
  builder.CreateBr(begins[&thread.getEntryBlock()]);
  for (BasicBlock *block : shapes.order) {
    builder.SetInsertPoint(begins[block]);
    for (Instruction &instruction : *block)
      emit(instruction);
    ends[block] = builder.GetInsertBlock();
  }
  for (BasicBlock *block : shapes.order)
    for (PHINode &phi : block->phis()) {
      Shape shape = shapes.of(&phi);
      for (unsigned piece = 0; piece < pieces(shape); piece++)
        for (unsigned i = 0; i < phi.getNumIncomingValues(); i++) {
          BasicBlock *from = phi.getIncomingBlock(i);
          if (!ends.count(from))
            continue;
          Value *value = phi.getIncomingValue(i);
          cast<PHINode>(made[&phi][piece])->addIncoming(shape.kind == Shape::vector ? lanes(value, piece) : number(value, piece), ends[from]);
        }
    }
  return function;
}

} // namespace

// ---------------------------------------------------------------- which tiles

// As many of the vector registers as a loop may keep values in.
static unsigned registersKept(const TargetTransformInfo &target, unsigned bits) {
  unsigned size = std::max(128u, unsigned(target.getRegisterBitWidth(TargetTransformInfo::RGK_FixedWidthVector).getFixedValue()));
  return (bits + size - 1) / size;
}

// As many instructions as a region may have that is made into several kinds of tiles.
constexpr unsigned mostInTiles = 4000;
constexpr unsigned tileLanes = 16;

// The tiles of a region, best first; none where the rule refuses.
void Builder::makeTiles(Region &region) {
  if (region.function->getInstructionCount() > mostInTiles)
    return;
  ValueToValueMapTy map;
  Function *thread = CloneFunction(region.function, map);
  for (unsigned i = parameterHeld; i < body.arg_size(); i++)
    for (Attribute::AttrKind kind : {Attribute::NoAlias, Attribute::ReadOnly})
      thread->addParamAttr(i, kind);
  thread->removeFnAttr(Attribute::AlwaysInline);
  thread->addFnAttr(Attribute::NoInline);
  FunctionPassManager simplify;
  simplify.addPass(SROAPass(SROAOptions::ModifyCFG));
  // Vectors that the calling convention has made of a float4, and others.
  ScalarizerPassOptions whole;
  whole.ScalarizeLoadStore = true;
  simplify.addPass(ScalarizerPass(whole));
  simplify.addPass(EarlyCSEPass(true));
  simplify.addPass(SimplifyCFGPass());
  simplify.addPass(InstCombinePass());
  simplify.addPass(LoopSimplifyPass());
  simplify.addPass(LCSSAPass());
  simplify.run(*thread, analyses);
  bool joined = false;
  if (const LoopInfo &loops = analyses.getResult<LoopAnalysis>(*thread); !loops.empty()) {
    TileLayout row{tileLanes, 4, false};
    Shapes shapes(*thread, row, loops, analyses.getResult<TargetLibraryAnalysis>(*thread));
    shapes.find();
    joined = joinRounds(shapes);
  }
  if (joined) {
    analyses.invalidate(*thread, PreservedAnalyses::none());
    FunctionPassManager again;
    again.addPass(SimplifyCFGPass());
    again.addPass(InstCombinePass());
    again.addPass(LoopSimplifyPass());
    again.run(*thread, analyses);
  }
  const LoopInfo &loops = analyses.getResult<LoopAnalysis>(*thread);
  const TargetLibraryInfo &library = analyses.getResult<TargetLibraryAnalysis>(*thread);
  const TargetTransformInfo &target = analyses.getResult<TargetIRAnalysis>(*thread);
  auto make = [&](const TileLayout &layout) {
    Shapes shapes(*thread, layout, loops, library);
    shapes.find();
    if (shapes.fits() && (!loops.empty() || shapes.isTransposed()))
      region.tiles.push_back({layout, Widening(shapes).run()});
  };
  if (!loops.empty()) {
    constexpr unsigned lanes = tileLanes;
    // Threads that go through a loop together wait for the one with most rounds.
    TileLayout most{lanes, joined ? 2u : 4u, false};
    Shapes shapes(*thread, most, loops, library);
    shapes.find();
    unsigned kept = registersKept(target, shapes.bitsKept() * lanes);
    unsigned registers = target.getNumberOfRegisters(target.getRegisterClassForType(true));
    unsigned pieces = most.pieces;
    while (pieces > 1 && pieces * kept > registers / 2)
      pieces /= 2;
    if (pieces > 1) {
      make({lanes, pieces, false});
      make({lanes, pieces, true});
      make({lanes / 2, pieces, true});
    }
    make({lanes, 1, false});
  } else {
    for (TileLayout square : {TileLayout{16, 16, true}, TileLayout{16, 8, true}, TileLayout{8, 8, true}})
      make(square);
  }
  analyses.clear(*thread, thread->getName());
  thread->eraseFromParent();
}

} // namespace hostmetal
