// A threadgroup: the regions of a body, each in loops over the threads, in the order that the threads decide together.
//
// A region becomes a function of one thread, inlined into the loops: values that live into it are loaded from their places first, and those
// that live out of it are stored where it ends. It returns how it ended: 0 when the thread is through, i at wait i - 1. Where there is more
// than one way, the threads' answers are compared; they differ only after a data race, and then the runtime ends the kernel.
//
// A uniform value has two places, for its values before and behind a region, because each thread computes it from the former.
//
// The iterations of the loop over x are marked as independent when the region has no atomic access: two threads may not touch the same memory
// between two barriers unless both only read, and what a thread keeps lies in a place of its own.

#include "pass.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/ValueMapper.h"
#include <functional>
#include <map>
#include <set>

using namespace llvm;

namespace hostmetal {

// A function of one thread, and what it is called with behind the body's own parameters.
struct Region {
  Function *function = nullptr;
  // Slots whose value is needed, and slots that may get one; parameters in this order.
  std::vector<unsigned> in, out;
  std::vector<unsigned> objects, variables;
  // Ways that it can end.
  std::set<unsigned> ends;
  MDNode *accesses = nullptr;
};

// Threadgroup variables: the arguments of the calls that ask for them.
struct Variable {
  Constant *id, *size, *alignment;
};

struct Builder {
  Builder(const Kernel &kernel_, Regions &regions_) : kernel(kernel_), regions(regions_) {}

  const Kernel &kernel;
  Regions &regions;
  Function &body = *kernel.body;
  LLVMContext &context = body.getContext();
  Type *i32 = Type::getInt32Ty(context), *i64 = Type::getInt64Ty(context);
  PointerType *pointer = PointerType::get(context, 0);
  const DataLayout &layout = body.getParent()->getDataLayout();
  std::vector<Variable> variables;
  DenseMap<BasicBlock *, BitVector> live;

  BasicBlock *start(unsigned region) { return region == 0 ? &body.getEntryBlock() : regions.waits[region - 1].next; }
  // What a slot has in memory: a vector of i1 has no bytes of its own.
  Type *stored(const Slot &slot) {
    Type *type = slot.place->getAllocatedType();
    return type->isIntegerTy(1) ? Type::getInt8Ty(context) : type;
  }
  uint64_t stride(const AllocaInst *object) {
    return alignTo(object->getAllocationSize(layout)->getFixedValue(), object->getAlign());
  }

  void findVariables();
  unsigned variable(const CallInst &call);
  void findLive();
  SetVector<BasicBlock *> blocks(unsigned region, std::set<unsigned> &ends);
  Region makeRegion(unsigned number);
  void loop(IRBuilder<> &builder, Value *count, const char *name, MDNode *accesses, const std::function<void(Value *)> &iteration);
  void makeGroup();
  Refusal checkSize();
};

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
  for (unsigned i : region.objects) {
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
        auto *store = builder.CreateStore(builder.CreateZExtOrBitCast(value, stored(slot)), outs[i]);
        if (!slot.uniform)
          mark(store, region);
      }
      builder.CreateRet(builder.getInt32(uint32_t(wait - regions.waits.begin()) + 1));
      continue;
    }
    for (Instruction &instruction : make_early_inc_range(*copy)) {
      RemapInstruction(&instruction, map, RF_NoModuleLevelChanges);
      auto *load = dyn_cast<LoadInst>(&instruction);
      auto *store = dyn_cast<StoreInst>(&instruction);
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
  return region;
}

// A loop from 0 to below `count`; the code of an iteration is given its number.
void Builder::loop(IRBuilder<> &builder, Value *count, const char *name, MDNode *accesses, const std::function<void(Value *)> &iteration) {
  BasicBlock *before = builder.GetInsertBlock();
  Function *function = before->getParent();
  auto *head = BasicBlock::Create(context, Twine(name) + ".head", function), *inside = BasicBlock::Create(context, name, function),
       *behind = BasicBlock::Create(context, Twine(name) + ".end", function);
  builder.CreateBr(head);
  builder.SetInsertPoint(head);
  PHINode *number = builder.CreatePHI(i32, 2, name);
  number->addIncoming(builder.getInt32(0), before);
  builder.CreateCondBr(builder.CreateICmpULT(number, count), inside, behind);
  builder.SetInsertPoint(inside);
  iteration(number);
  number->addIncoming(builder.CreateAdd(number, builder.getInt32(1), "", true, true), builder.GetInsertBlock());
  BranchInst *latch = builder.CreateBr(head);
  if (accesses) {
    Metadata *independent[] = {MDString::get(context, "llvm.loop.parallel_accesses"), accesses};
    Metadata *vectorize[] = {MDString::get(context, "llvm.loop.vectorize.enable"), ConstantAsMetadata::get(builder.getTrue())};
    MDNode *loop = MDNode::getDistinct(context, {nullptr, MDNode::get(context, independent), MDNode::get(context, vectorize)});
    loop->replaceOperandWith(0, loop);
    latch->setMetadata(LLVMContext::MD_loop, loop);
  }
  builder.SetInsertPoint(behind);
}

void Builder::makeGroup() {
  findVariables();
  findLive();
  std::vector<Region> made;
  for (unsigned i = 0; i <= regions.waits.size(); i++)
    made.push_back(makeRegion(i));

  CallInst *call = kernel.call;
  Function *group = call->getFunction();
  BasicBlock *block = call->getParent(), *behind = SplitBlock(block, call);
  block->getTerminator()->eraseFromParent();
  IRBuilder<> builder(block);
  IRBuilder<> entry(&*group->getEntryBlock().getFirstInsertionPt());
  Value *size[] = {call->getArgOperand(parameterX), call->getArgOperand(parameterY), call->getArgOperand(parameterZ)};
  Value *count = builder.CreateZExt(builder.CreateMul(builder.CreateMul(size[0], size[1]), size[2]), i64);
  auto perThread = [&](Type *type, uint64_t bytes) {
    AllocaInst *place = builder.CreateAlloca(type, bytes == 1 ? count : builder.CreateMul(count, builder.getInt64(bytes)));
    place->setAlignment(Align(64));
    return place;
  };
  // Of each slot: its places before and behind a region, which are one for a divergent value.
  std::vector<std::pair<Value *, Value *>> slots;
  for (const Slot &slot : regions.slots) {
    if (slot.uniform) {
      slots.push_back({entry.CreateAlloca(stored(slot)), entry.CreateAlloca(stored(slot))});
    } else {
      AllocaInst *place = perThread(stored(slot), 1);
      slots.push_back({place, place});
    }
  }
  std::vector<Value *> objects, addresses;
  for (AllocaInst *object : regions.objects) {
    AllocaInst *place = perThread(builder.getInt8Ty(), stride(object));
    place->setAlignment(std::max(Align(64), object->getAlign()));
    objects.push_back(place);
  }
  GlobalVariable *table = body.getParent()->getGlobalVariable("hm_runtime");
  auto runtime = [&](unsigned field, Type *result, ArrayRef<Value *> arguments) {
    std::vector<Type *> types;
    for (Value *argument : arguments)
      types.push_back(argument->getType());
    Value *function = builder.CreateConstInBoundsGEP1_64(pointer, builder.CreateLoad(pointer, table), field);
    return builder.CreateCall(FunctionType::get(result, types, false), builder.CreateLoad(pointer, function), arguments);
  };
  for (const Variable &variable : variables)
    addresses.push_back(runtime(4, pointer, {variable.id, variable.size, variable.alignment}));

  std::vector<BasicBlock *> starts;
  for (unsigned i = 0; i < made.size(); i++)
    starts.push_back(BasicBlock::Create(context, "region" + Twine(i), group));
  auto *disagree = BasicBlock::Create(context, "disagree", group);
  builder.CreateBr(starts[0]);
  auto target = [&](unsigned end) { return end == 0 ? behind : starts[end]; };
  Value *allOf = entry.CreateAlloca(i32), *anyOf = entry.CreateAlloca(i32);
  for (unsigned i = 0; i < made.size(); i++) {
    Region &region = made[i];
    bool decides = region.ends.size() > 1;
    builder.SetInsertPoint(starts[i]);
    std::vector<Value *> values;
    for (unsigned slot : region.in)
      values.push_back(regions.slots[slot].uniform ? builder.CreateLoad(stored(regions.slots[slot]), slots[slot].first) : slots[slot].first);
    for (unsigned slot : region.out)
      values.push_back(slots[slot].second);
    for (unsigned object : region.objects)
      values.push_back(objects[object]);
    for (unsigned variable : region.variables)
      values.push_back(addresses[variable]);
    if (decides) {
      builder.CreateStore(builder.getInt32(~0u), allOf);
      builder.CreateStore(builder.getInt32(0), anyOf);
    }
    loop(builder, size[2], "z", nullptr, [&](Value *z) {
      loop(builder, size[1], "y", nullptr, [&](Value *y) {
        Value *row = builder.CreateNUWMul(builder.CreateNUWAdd(builder.CreateNUWMul(z, size[1]), y), size[0]);
        loop(builder, size[0], "x", region.accesses, [&](Value *x) {
          std::vector<Value *> arguments = {x, y, z, builder.CreateAdd(row, x, "", true, true)};
          for (unsigned j = parameterHeld; j < call->arg_size(); j++)
            arguments.push_back(call->getArgOperand(j));
          arguments.insert(arguments.end(), values.begin(), values.end());
          Value *end = builder.CreateCall(region.function, arguments);
          if (decides) {
            builder.CreateStore(builder.CreateAnd(builder.CreateLoad(i32, allOf), end), allOf);
            builder.CreateStore(builder.CreateOr(builder.CreateLoad(i32, anyOf), end), anyOf);
          }
        });
      });
    });
    for (unsigned slot : region.out)
      if (regions.slots[slot].uniform)
        builder.CreateStore(builder.CreateLoad(stored(regions.slots[slot]), slots[slot].second), slots[slot].first);
    if (!decides) {
      if (region.ends.empty())
        builder.CreateUnreachable();
      else
        builder.CreateBr(target(*region.ends.begin()));
      continue;
    }
    Value *end = builder.CreateLoad(i32, anyOf);
    auto *agreed = BasicBlock::Create(context, "agreed", group);
    builder.CreateCondBr(builder.CreateICmpEQ(end, builder.CreateLoad(i32, allOf)), agreed, disagree);
    builder.SetInsertPoint(agreed);
    auto *choice = builder.CreateSwitch(end, disagree, unsigned(region.ends.size()));
    for (unsigned to : region.ends)
      choice->addCase(builder.getInt32(to), target(to));
  }
  builder.SetInsertPoint(disagree);
  runtime(6, Type::getVoidTy(context), {});
  builder.CreateBr(behind);
  call->eraseFromParent();
  body.eraseFromParent();
}

// As many bytes as a thread may keep across barriers: 1024 threads of them shall leave a worker's stack (8 MiB) room.
constexpr uint64_t mostBytes = 4096;
// As many instructions as all regions may have together: code behind a barrier in a loop is in several.
constexpr uint64_t mostCode = 200000;

Refusal Builder::checkSize() {
  uint64_t bytes = 0, code = 0;
  for (const Slot &slot : regions.slots)
    bytes += slot.uniform ? 0 : layout.getTypeAllocSize(stored(slot)).getFixedValue();
  for (const AllocaInst *object : regions.objects)
    bytes += stride(object);
  if (bytes > mostBytes)
    return "a thread keeps " + std::to_string(bytes) + " bytes, more than " + std::to_string(mostBytes) + ", from barrier to barrier";
  for (unsigned i = 0; i <= regions.waits.size(); i++) {
    std::set<unsigned> ends;
    for (BasicBlock *block : blocks(i, ends))
      code += block->size();
  }
  if (code > mostCode)
    return "its code between barriers is too long";
  return std::nullopt;
}

Refusal makeLoops(const Kernel &kernel, Regions &regions) {
  Builder builder(kernel, regions);
  if (Refusal refusal = builder.checkSize())
    return refusal;
  builder.makeGroup();
  return std::nullopt;
}

} // namespace hostmetal
