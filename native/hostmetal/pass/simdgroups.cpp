// A threadgroup of a kernel with SIMD-group functions: SIMD-group by SIMD-group, each with loops over its lanes, until it comes to a barrier of the
// threadgroup or its end. Uniform values exist once per SIMD-group.
//
// A SIMD-group function is called once for a SIMD-group, as with stacks: with the addresses of the objects that its lanes brought, which are
// private objects and so lie in an array. For a whole SIMD-group the addresses and the set of lanes are constants to the optimiser.
//
// An object whose members are numbers, each accessed as one, lies in columns: for each SIMD-group 32 of the first member, 32 of the second, and
// so on, at 32 times its offset. Then lanes' accesses are consecutive, and a whole SIMD-group's function works on vectors: it is called with the address
// of the columns and no lanes (native/hostmetal/msl/hostmetal_columns.h). A part of a SIMD-group is copied to objects and back.

#include "builder.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Analysis/ValueTracking.h"
#include <array>
#include <map>

namespace hostmetal {

// The functions of hostmetal_rendezvous.h and metal_simdgroup_matrix that can be given columns.
static bool takesColumns(const Function &function) {
  StringRef name = function.getName();
  return name.consume_front("_ZN9hostmetal") && any_of(ArrayRef<StringRef>{"17combine_reductionI", "12combine_scanI", "15combine_shuffleI", "13combine_firstI",
                                                                          "12combine_fillI", "12combine_voteI", "15combine_productI"},
                                                       [&](StringRef known) { return name.starts_with(known); });
}

// Whether every use of an object is by one of its members, or by a function that can be given columns.
static bool isInColumns(AllocaInst &object, StructType &type, const DataLayout &layout) {
  const StructLayout &members = *layout.getStructLayout(&type);
  for (Type *member : type.elements())
    if ((!member->isIntegerTy() && !member->isFloatingPointTy()) || layout.getTypeStoreSize(member) != layout.getTypeAllocSize(member))
      return false;
  bool combined = false;
  std::vector<Value *> open = {&object};
  while (!open.empty()) {
    Value *address = open.back();
    open.pop_back();
    for (User *user : address->users()) {
      if (isCallOf(user, combineName)) {
        auto *call = cast<CallInst>(user);
        if (!takesColumns(*cast<Function>(call->getArgOperand(0))) || address != &object || call->getArgOperand(1) != &object)
          return false;
        combined = true;
        continue;
      }
      if (auto *step = dyn_cast<GetElementPtrInst>(user)) {
        if (!step->hasAllConstantIndices())
          return false;
        open.push_back(step);
        continue;
      }
      auto *load = dyn_cast<LoadInst>(user);
      auto *store = dyn_cast<StoreInst>(user);
      if ((!load && !store) || (store && store->getValueOperand() == address) || !(load ? load->isSimple() : store->isSimple()))
        return false;
      int64_t offset = 0;
      GetPointerBaseWithConstantOffset(address, offset, layout);
      if (offset < 0 || uint64_t(offset) >= members.getSizeInBytes())
        return false;
      unsigned member = members.getElementContainingOffset(uint64_t(offset));
      Type *accessed = getLoadStoreType(user);
      bool whole = members.getElementOffset(member) == uint64_t(offset) && layout.getTypeStoreSize(accessed) == layout.getTypeAllocSize(accessed) &&
                   layout.getTypeStoreSize(accessed) == layout.getTypeStoreSize(type.getElementType(member));
      if (!whole)
        return false;
    }
  }
  return combined;
}

void Builder::findColumns() {
  for (AllocaInst *object : regions.objects) {
    auto *type = dyn_cast<StructType>(object->getAllocatedType());
    bool found = regions.simd && type && !object->isArrayAllocation() && type->isSized() && isInColumns(*object, *type, layout);
    columns.push_back(found ? layout.getStructLayout(type) : nullptr);
  }
}

// The columns of a SIMD-group.
Value *Builder::blockOf(IRBuilder<> &builder, unsigned object, Value *place, Value *simdgroup) {
  Value *offset = builder.CreateNUWMul(builder.CreateZExt(simdgroup, i64), builder.getInt64(stride(regions.objects[object]) * 32));
  return builder.CreateInBoundsGEP(builder.getInt8Ty(), place, offset);
}

// Only the last SIMD-group of a threadgroup can lack lanes: what is for such a part is a function of its own, which is not optimised for speed. That is
// most of what a kernel with many SIMD-group functions takes to compile.
void Builder::makeSeldom(Function &part) {
  part.setAttributes(AttributeList::get(context, AttributeList::FunctionIndex, AttrBuilder(context, body.getAttributes().getFnAttrs())));
  part.removeFnAttr(Attribute::AlwaysInline);
  for (auto attribute : {Attribute::NoInline, Attribute::Cold, Attribute::MinSize, Attribute::OptimizeForSize})
    part.addFnAttr(attribute);
}

// A region for the lanes below a count: called with the first thread, the count, the SIMD-group, `allOf` and `anyOf` of the group, and the rest of the
// region's parameters. The threads' positions are not told.
Function *Builder::makePart(const Region &region) {
  FunctionType *one = region.function->getFunctionType();
  std::vector<Type *> types = {i32, i32, i32, pointer, pointer};
  unsigned own = unsigned(types.size());
  types.insert(types.end(), one->param_begin() + parameterHeld, one->param_end());
  auto *part = Function::Create(FunctionType::get(Type::getVoidTy(context), types, false), GlobalValue::InternalLinkage,
                                region.function->getName() + ".part", body.getParent());
  makeSeldom(*part);
  Argument *first = part->getArg(0), *lanes = part->getArg(1), *simdgroup = part->getArg(2);
  IRBuilder<> builder(BasicBlock::Create(context, "begin", part));
  loop(builder, lanes, "lane", nullptr, [&](Value *lane) {
    Value *unknown = PoisonValue::get(i32);
    std::vector<Value *> arguments = {unknown, unknown, unknown, builder.CreateAdd(first, lane, "", true, true), simdgroup};
    for (unsigned i = own; i < part->arg_size(); i++)
      arguments.push_back(part->getArg(i));
    Value *end = builder.CreateCall(region.function, arguments);
    if (region.ends.size() > 1)
      answer(builder, part->getArg(3), part->getArg(4), end);
  });
  builder.CreateRetVoid();
  return part;
}

// The operation of a wait for the lanes below `lanes` of the SIMD-group that begins with the thread `first`, of objects or of columns.
Function *Builder::makePart(const Wait &wait) {
  auto index = size_t(find(regions.objects, wait.object) - regions.objects.begin());
  const StructLayout *members = columns[index];
  Function *&part = parts[{wait.combine, wait.width, wait.object->getAllocatedType(), stride(wait.object), members != nullptr}];
  if (part)
    return part;
  part = Function::Create(FunctionType::get(Type::getVoidTy(context), {pointer, i32, i32}, false), GlobalValue::InternalLinkage,
                          wait.combine->getName() + ".part", body.getParent());
  makeSeldom(*part);
  // Columns of a SIMD-group, or the objects of all threads.
  Argument *object = part->getArg(0), *first = part->getArg(1), *lanes = part->getArg(2);
  IRBuilder<> builder(BasicBlock::Create(context, "begin", part));
  Type *table = ArrayType::get(pointer, 32), *byte = builder.getInt8Ty();
  Value *places = builder.CreateAlloca(table);
  builder.CreateStore(Constant::getNullValue(table), places);
  Value *mask = builder.CreateSub(builder.CreateShl(builder.getInt32(1), lanes), builder.getInt32(1));
  auto place = [&](Value *lane, Value *address) {
    builder.CreateStore(address, builder.CreateInBoundsGEP(pointer, places, builder.CreateZExt(lane, i64)));
  };
  auto operate = [&] {
    if (wait.width == 32) {
      builder.CreateCall(wait.combine, {places, mask});
      return;
    }
    Value *quads = builder.CreateLShr(builder.CreateNUWAdd(lanes, builder.getInt32(3)), builder.getInt32(2));
    loop(builder, quads, "quad", nullptr, [&](Value *quad) {
      Value *own = builder.CreateShl(builder.getInt32(15), builder.CreateShl(quad, builder.getInt32(2)));
      builder.CreateCall(wait.combine, {places, builder.CreateAnd(mask, own)});
    });
  };
  if (members) {
    auto *type = cast<StructType>(wait.object->getAllocatedType());
    AllocaInst *copies = builder.CreateAlloca(type, builder.getInt32(32));
    auto copyEach = [&](Value *lane, bool back) {
      for (unsigned member = 0; member < type->getNumElements(); member++) {
        Type *number = type->getElementType(member);
        Value *begin = builder.CreateConstInBoundsGEP1_64(byte, object, members->getElementOffset(member).getFixedValue() * 32);
        Value *column = builder.CreateInBoundsGEP(number, begin, builder.CreateZExt(lane, i64));
        Value *copy = builder.CreateStructGEP(type, builder.CreateInBoundsGEP(type, copies, builder.CreateZExt(lane, i64)), member);
        builder.CreateStore(builder.CreateLoad(number, back ? copy : column), back ? column : copy);
      }
    };
    loop(builder, lanes, "lane", nullptr, [&](Value *lane) {
      place(lane, builder.CreateInBoundsGEP(type, copies, builder.CreateZExt(lane, i64)));
      copyEach(lane, false);
    });
    operate();
    loop(builder, lanes, "lane", nullptr, [&](Value *lane) { copyEach(lane, true); });
  } else {
    loop(builder, lanes, "lane", nullptr, [&](Value *lane) {
      Value *thread = builder.CreateZExt(builder.CreateNUWAdd(first, lane), i64);
      place(lane, builder.CreateInBoundsGEP(byte, object, builder.CreateNUWMul(thread, builder.getInt64(stride(wait.object)))));
    });
    operate();
  }
  builder.CreateRetVoid();
  return part;
}

// The operation of a wait for the lanes of one SIMD-group.
void Builder::combine(Group &group, const Wait &wait, Value *simdgroup, Value *first, Value *lanes) {
  IRBuilder<> &builder = group.builder;
  auto index = size_t(find(regions.objects, wait.object) - regions.objects.begin());
  Value *object = group.objects[index], *values = object;
  // A whole SIMD-group, where the optimiser knows which lanes there are; and a part.
  auto *whole = BasicBlock::Create(context, "whole", group.function), *part = BasicBlock::Create(context, "part", group.function),
       *done = BasicBlock::Create(context, "combined", group.function);
  if (columns[index])
    values = blockOf(builder, unsigned(index), object, simdgroup);
  builder.CreateCondBr(builder.CreateICmpEQ(lanes, builder.getInt32(32)), whole, part);
  builder.SetInsertPoint(whole);
  if (columns[index]) {
    builder.CreateCall(wait.combine, {values, builder.getInt32(0)});
  } else {
    Value *places = group.entry.CreateAlloca(ArrayType::get(pointer, 32));
    for (uint32_t lane = 0; lane < 32; lane++) {
      Value *thread = builder.CreateZExt(builder.CreateNUWAdd(first, builder.getInt32(lane)), i64);
      Value *own = builder.CreateInBoundsGEP(builder.getInt8Ty(), object, builder.CreateNUWMul(thread, builder.getInt64(stride(wait.object))));
      builder.CreateStore(own, builder.CreateConstInBoundsGEP1_64(pointer, places, lane));
    }
    if (wait.width == 32)
      builder.CreateCall(wait.combine, {places, builder.getInt32(~0u)});
    else
      loop(builder, builder.getInt32(8), "quad", nullptr, [&](Value *quad) {
        Value *mask = builder.CreateShl(builder.getInt32(15), builder.CreateShl(quad, builder.getInt32(2)));
        builder.CreateCall(wait.combine, {places, mask});
      });
  }
  builder.CreateBr(done);
  builder.SetInsertPoint(part);
  builder.CreateCall(makePart(wait), {values, first, lanes});
  builder.CreateBr(done);
  builder.SetInsertPoint(done);
}

// SIMD-group by SIMD-group, each until it comes to a barrier of the threadgroup or its end; all come to the same one.
void Builder::makeSimdgroups() {
  std::vector<Region> made;
  for (unsigned i = 0; i <= regions.waits.size(); i++)
    made.push_back(makeRegion(i));
  Group group(kernel.call);
  openGroup(group);
  IRBuilder<> &builder = group.builder, &entry = group.entry;
  Function *function = group.function;
  auto block = [&](const char *name) { return BasicBlock::Create(context, name, function); };
  Value *begin = entry.CreateAlloca(i32), *arrived = entry.CreateAlloca(i32);
  Value *allArrived = entry.CreateAlloca(i32), *anyArrived = entry.CreateAlloca(i32);
  Value *simdgroups = builder.CreateLShr(builder.CreateNUWAdd(group.count, builder.getInt32(31)), builder.getInt32(5));
  // A whole SIMD-group lies in one row of threads when there is one row, or rows are multiples of it.
  Value *flat = builder.CreateICmpEQ(builder.CreateNUWMul(group.size[1], group.size[2]), builder.getInt32(1));
  Value *even = builder.CreateICmpEQ(builder.CreateAnd(group.size[0], builder.getInt32(31)), builder.getInt32(0));
  Value *inRow = builder.CreateOr(flat, even);
  builder.CreateStore(builder.getInt32(0), begin);
  BasicBlock *phase = block("phase");
  builder.CreateBr(phase);
  builder.SetInsertPoint(phase);
  ask(builder, allArrived, anyArrived);
  loop(builder, simdgroups, "simdgroup", nullptr, [&](Value *simdgroup) {
    Value *first = builder.CreateShl(simdgroup, builder.getInt32(5), "", true, true);
    Value *left = builder.CreateNUWSub(group.count, first);
    Value *lanes = builder.CreateSelect(builder.CreateICmpULT(left, builder.getInt32(32)), left, builder.getInt32(32));
    Value *whole = builder.CreateICmpEQ(lanes, builder.getInt32(32));
    Value *row = builder.CreateUDiv(first, group.size[0]);
    Value *rowX = builder.CreateURem(first, group.size[0]);
    Value *rowY = builder.CreateURem(row, group.size[1]), *rowZ = builder.CreateUDiv(row, group.size[1]);
    auto *impossible = block("impossible"), *waiting = block("waiting");
    auto *choice = builder.CreateSwitch(builder.CreateLoad(i32, begin), impossible);
    choice->addCase(builder.getInt32(0), group.starts[0]);
    for (unsigned i = 0; i < regions.waits.size(); i++)
      if (regions.waits[i].wide)
        choice->addCase(builder.getInt32(i + 1), group.starts[i + 1]);
    builder.SetInsertPoint(impossible);
    builder.CreateUnreachable();
    for (unsigned i = 0; i < made.size(); i++) {
      Region &region = made[i];
      bool decides = region.ends.size() > 1;
      builder.SetInsertPoint(group.starts[i]);
      std::vector<Value *> rest = values(group, region, simdgroup);
      if (decides)
        ask(builder, group.allOf, group.anyOf);
      auto threads = [&](Value *count, const std::function<std::array<Value *, 3>(Value *, Value *)> &position) {
        loop(builder, count, "lane", region.accesses, [&](Value *lane) {
          Value *thread = builder.CreateAdd(first, lane, "", true, true);
          auto [x, y, z] = position(thread, lane);
          std::vector<Value *> arguments = {x, y, z, thread, simdgroup};
          arguments.insert(arguments.end(), rest.begin(), rest.end());
          Value *end = builder.CreateCall(region.function, arguments);
          if (decides)
            answer(builder, group.allOf, group.anyOf, end);
        });
      };
      bool positioned = any_of(seq(unsigned(parameterX), unsigned(parameterLinear)),
                               [&](unsigned parameter) { return !region.function->getArg(parameter)->use_empty(); });
      // As many lanes as the optimiser knows, and in one row, so that accesses are visibly consecutive; and any.
      auto *straight = block("row"), *box = block("box"), *end = block("end");
      builder.CreateCondBr(positioned ? builder.CreateAnd(whole, inRow) : whole, straight, box);
      builder.SetInsertPoint(straight);
      threads(builder.getInt32(32), [&](Value *, Value *lane) {
        return std::array<Value *, 3>{builder.CreateAdd(rowX, lane, "", true, true), rowY, rowZ};
      });
      builder.CreateBr(end);
      builder.SetInsertPoint(box);
      if (positioned) {
        threads(lanes, [&](Value *thread, Value *) {
          Value *number = builder.CreateUDiv(thread, group.size[0]);
          return std::array<Value *, 3>{builder.CreateURem(thread, group.size[0]), builder.CreateURem(number, group.size[1]),
                                        builder.CreateUDiv(number, group.size[1])};
        });
      } else {
        std::vector<Value *> arguments = {first, lanes, simdgroup, group.allOf, group.anyOf};
        arguments.insert(arguments.end(), rest.begin(), rest.end());
        builder.CreateCall(makePart(region), arguments);
      }
      builder.CreateBr(end);
      builder.SetInsertPoint(end);
      carry(group, region, simdgroup);
      // A wait of the threadgroup or the end is the end of the phase; behind a SIMD-group function the SIMD-group goes on.
      std::map<unsigned, BasicBlock *> targets;
      for (unsigned end : region.ends)
        targets[end] = block("ended");
      branch(group, region, [&](unsigned end) { return targets.at(end); });
      for (auto [end, target] : targets) {
        builder.SetInsertPoint(target);
        if (end == 0 || regions.waits[end - 1].wide) {
          builder.CreateStore(builder.getInt32(end), arrived);
          builder.CreateBr(waiting);
          continue;
        }
        if (regions.waits[end - 1].combine)
          combine(group, regions.waits[end - 1], simdgroup, first, lanes);
        builder.CreateBr(group.starts[end]);
      }
    }
    builder.SetInsertPoint(waiting);
    answer(builder, allArrived, anyArrived, builder.CreateLoad(i32, arrived));
  });
  Value *end = agreed(group, allArrived, anyArrived);
  builder.CreateStore(end, begin);
  builder.CreateCondBr(builder.CreateICmpEQ(end, builder.getInt32(0)), group.behind, phase);
  closeGroup(group);
}

} // namespace hostmetal
