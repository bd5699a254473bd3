// A region as a function of one thread, inlined into the loops later: values that live into it are loaded from their places first, and those
// that live out of it are stored where it ends. It returns how it ended: 0 when the thread is through, i at wait i - 1.
//
// Accesses to memory are marked as independent of other threads' when the region has no atomic access: two threads may not touch the same memory
// between two barriers unless both only read, and what a thread keeps lies in a place of its own.

#include "builder.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/ValueMapper.h"
#include <map>

namespace hostmetal {

using namespace PatternMatch;

void Builder::findVariables() {
  for (BasicBlock &block : body)
    for (Instruction &instruction : block)
      if (isCallOf(&instruction, allocateName))
        variable(cast<CallInst>(instruction));
}

unsigned Builder::variable(const CallInst &call) {
  auto argument = [&](unsigned i) { return cast<Constant>(call.getArgOperand(i)); };
  for (unsigned i = 0; i < variables.size(); i++)
    if (variables[i].id == argument(0))
      return i;
  variables.push_back({argument(0), argument(1), argument(2)});
  return unsigned(variables.size() - 1);
}

// Which slots' values are still needed at the begin of each block.
void Builder::findLive() {
  std::map<Value *, unsigned> number;
  for (unsigned i = 0; i < regions.slots.size(); i++)
    number[regions.slots[i].place] = i;
  for (BasicBlock &block : body)
    live[&block].resize(unsigned(regions.slots.size()));
  for (bool changed = true; changed;) {
    changed = false;
    for (BasicBlock &block : reverse(body)) {
      BitVector now(unsigned(regions.slots.size()));
      for (BasicBlock *next : successors(&block))
        now |= live[next];
      for (Instruction &instruction : reverse(block)) {
        if (auto *store = dyn_cast<StoreInst>(&instruction)) {
          if (auto slot = number.find(store->getPointerOperand()); slot != number.end())
            now.reset(slot->second);
        } else if (auto *load = dyn_cast<LoadInst>(&instruction)) {
          if (auto slot = number.find(load->getPointerOperand()); slot != number.end())
            now.set(slot->second);
        }
      }
      if (now != live[&block]) {
        live[&block] = now;
        changed = true;
      }
    }
  }
}

// The blocks from a region's start to the next waits, these included.
SetVector<BasicBlock *> Builder::blocks(unsigned region, std::set<unsigned> &ends) {
  SetVector<BasicBlock *> own;
  own.insert(start(region));
  for (unsigned i = 0; i < own.size(); i++) {
    auto wait = find_if(regions.waits, [&](const Wait &w) { return w.block == own[i]; });
    if (wait != regions.waits.end()) {
      ends.insert(unsigned(wait - regions.waits.begin()) + 1);
      continue;
    }
    if (isa<ReturnInst>(own[i]->getTerminator()))
      ends.insert(0);
    own.insert(succ_begin(own[i]), succ_end(own[i]));
  }
  return own;
}

// An access to a place that is the thread's own.
static void mark(Instruction *access, const Region &region) {
  if (region.accesses)
    access->setMetadata(LLVMContext::MD_access_group, region.accesses);
}

Region Builder::makeRegion(unsigned number) {
  Region region;
  SetVector<BasicBlock *> own = blocks(number, region.ends);
  std::set<Value *> stores, used;
  bool independent = true;
  SetVector<unsigned> asked;
  for (BasicBlock *block : own)
    for (Instruction &instruction : *block) {
      auto *load = dyn_cast<LoadInst>(&instruction);
      auto *store = dyn_cast<StoreInst>(&instruction);
      if ((load && !load->isSimple()) || (store && !store->isSimple()) || isa<AtomicRMWInst, AtomicCmpXchgInst, FenceInst>(instruction))
        independent = false;
      if (store)
        stores.insert(store->getPointerOperand());
      used.insert(instruction.op_begin(), instruction.op_end());
      if (isCallOf(&instruction, allocateName))
        asked.insert(variable(cast<CallInst>(instruction)));
    }
  region.variables.assign(asked.begin(), asked.end());
  for (unsigned i = 0; i < regions.slots.size(); i++) {
    if (live[start(number)].test(i))
      region.in.push_back(i);
    bool needed = any_of(region.ends, [&](unsigned end) { return end != 0 && live[regions.waits[end - 1].next].test(i); });
    if (needed && stores.count(regions.slots[i].place))
      region.out.push_back(i);
  }
  for (unsigned i = 0; i < regions.objects.size(); i++)
    if (used.count(regions.objects[i]))
      region.objects.push_back(i);
  if (independent)
    region.accesses = MDNode::getDistinct(context, {});

  std::vector<Type *> types;
  for (Argument &argument : body.args())
    types.push_back(argument.getType());
  for (unsigned i : region.in)
    types.push_back(regions.slots[i].uniform ? stored(regions.slots[i]) : pointer);
  types.insert(types.end(), region.out.size() + region.objects.size() + region.variables.size(), pointer);
  region.function = Function::Create(FunctionType::get(i32, types, false), GlobalValue::InternalLinkage,
                                     body.getName() + ".region" + Twine(number), body.getParent());
  Function &function = *region.function;
  function.setAttributes(AttributeList::get(context, AttributeList::FunctionIndex, AttrBuilder(context, body.getAttributes().getFnAttrs())));
  function.removeFnAttr(Attribute::NoInline);
  function.addFnAttr(Attribute::AlwaysInline);

  ValueToValueMapTy map;
  for (unsigned i = 0; i < body.arg_size(); i++)
    map[body.getArg(i)] = function.getArg(i);
  // What stands for the body's allocations.
  MapVector<AllocaInst *, Value *> places;
  IRBuilder<> builder(BasicBlock::Create(context, "begin", &function));
  Value *linear = builder.CreateZExt(function.getArg(parameterLinear), i64);
  Argument *next = function.arg_begin() + body.arg_size();
  for (const Slot &slot : regions.slots)
    places[slot.place] = builder.CreateAlloca(slot.place->getAllocatedType());
  for (unsigned i : region.in) {
    const Slot &slot = regions.slots[i];
    Value *value = &*next++;
    if (!slot.uniform) {
      value = builder.CreateLoad(stored(slot), builder.CreateInBoundsGEP(stored(slot), value, linear));
      mark(cast<Instruction>(value), region);
    }
    builder.CreateStore(builder.CreateTruncOrBitCast(value, slot.place->getAllocatedType()), places[slot.place]);
  }
  std::vector<Value *> outs;
  for (unsigned i : region.out) {
    const Slot &slot = regions.slots[i];
    Value *place = &*next++;
    outs.push_back(slot.uniform ? place : builder.CreateInBoundsGEP(stored(slot), place, linear));
  }
  for (AllocaInst *object : regions.objects)
    places[object] = nullptr;
  // A thread's number in its SIMD-group, so that it is seen to be the counter of the loop over lanes.
  Value *lane = linear;
  if (regions.simd) {
    Value *first = builder.CreateShl(function.getArg(parameterSimdgroup), builder.getInt32(5));
    lane = builder.CreateSub(function.getArg(parameterLinear), first);
  }
  std::map<const Value *, unsigned> inColumns;
  for (unsigned i : region.objects) {
    if (columns[i]) {
      places[regions.objects[i]] = blockOf(builder, i, &*next++, function.getArg(parameterSimdgroup));
      inColumns[regions.objects[i]] = i;
      continue;
    }
    Value *offset = builder.CreateNUWMul(linear, builder.getInt64(stride(regions.objects[i])));
    places[regions.objects[i]] = builder.CreateInBoundsGEP(builder.getInt8Ty(), &*next++, offset);
  }
  std::map<unsigned, Value *> addresses;
  for (unsigned i : region.variables)
    addresses[i] = &*next++;

  for (BasicBlock *block : own)
    map[block] = CloneBasicBlock(block, map, "", &function);
  builder.CreateBr(cast<BasicBlock>(map[start(number)]));
  for (auto [object, place] : places) {
    if (own.contains(object->getParent()))
      cast<Instruction>(map[object])->eraseFromParent();
    map[object] = place;
  }
  for (BasicBlock *block : own) {
    auto *copy = cast<BasicBlock>(map[block]);
    for (PHINode &phi : copy->phis())
      for (unsigned i = phi.getNumIncomingValues(); i-- > 0;)
        if (!own.contains(phi.getIncomingBlock(i)))
          phi.removeIncomingValue(i, false);
    auto wait = find_if(regions.waits, [&](const Wait &w) { return w.block == block; });
    if (wait != regions.waits.end()) {
      while (!copy->empty())
        copy->back().eraseFromParent();
      builder.SetInsertPoint(copy);
      for (unsigned i = 0; i < region.out.size(); i++) {
        const Slot &slot = regions.slots[region.out[i]];
        if (!live[wait->next].test(region.out[i]))
          continue;
        Value *value = builder.CreateLoad(slot.place->getAllocatedType(), places[slot.place]);
        // A uniform value is the same from all threads, and nobody reads this place meanwhile.
        mark(builder.CreateStore(builder.CreateZExtOrBitCast(value, stored(slot)), outs[i]), region);
      }
      builder.CreateRet(builder.getInt32(uint32_t(wait - regions.waits.begin()) + 1));
      continue;
    }
    for (Instruction &instruction : make_early_inc_range(*copy)) {
      auto *load = dyn_cast<LoadInst>(&instruction);
      auto *store = dyn_cast<StoreInst>(&instruction);
      if (load || store) {
        int64_t offset = 0;
        unsigned operand = load ? load->getPointerOperandIndex() : store->getPointerOperandIndex();
        const Value *object = GetPointerBaseWithConstantOffset(instruction.getOperand(operand), offset, layout);
        if (auto column = inColumns.find(object); column != inColumns.end()) {
          builder.SetInsertPoint(&instruction);
          Value *begin = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), places[regions.objects[column->second]], uint64_t(offset) * 32);
          Type *type = load ? load->getType() : store->getValueOperand()->getType();
          instruction.setOperand(operand, builder.CreateInBoundsGEP(type, begin, builder.CreateZExt(lane, i64)));
          Align own(layout.getTypeStoreSize(type).getFixedValue());
          load ? load->setAlignment(own) : store->setAlignment(own);
        }
      }
      RemapInstruction(&instruction, map, RF_NoModuleLevelChanges | RF_IgnoreMissingLocals);
      Value *address = load ? load->getPointerOperand() : store ? store->getPointerOperand() : nullptr;
      if (address && !isa<AllocaInst>(address))
        mark(&instruction, region);
      if (isCallOf(&instruction, allocateName)) {
        map[&instruction] = nullptr;
        instruction.replaceAllUsesWith(addresses.at(variable(cast<CallInst>(instruction))));
        instruction.eraseFromParent();
      } else if (isa<ReturnInst>(instruction)) {
        builder.SetInsertPoint(&instruction);
        builder.CreateRet(builder.getInt32(0));
        instruction.eraseFromParent();
      }
    }
  }
  if (regions.simd)
    for (User *user : make_early_inc_range(function.getArg(parameterLinear)->users()))
      if (match(user, m_And(m_Specific(function.getArg(parameterLinear)), m_SpecificInt(31)))) {
        user->replaceAllUsesWith(lane);
        cast<Instruction>(user)->eraseFromParent();
      }
  return region;
}

} // namespace hostmetal
