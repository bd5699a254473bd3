// A threadgroup: the regions of a body, each in loops over the threads, in the order that the threads decide together.
//
// Where a region has more than one way to end, the threads' answers are compared; they differ only after a data race, and then the runtime ends
// the kernel. A uniform value has two places, for its values before and behind a region, because each thread computes it from the former.

#include "builder.h"

namespace hostmetal {

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
    // A loop of known length must reach the vectoriser as one.
    Metadata *whole[] = {MDString::get(context, "llvm.loop.unroll.disable")};
    MDNode *loop = MDNode::getDistinct(
        context, {nullptr, MDNode::get(context, independent), MDNode::get(context, vectorize), MDNode::get(context, whole)});
    loop->replaceOperandWith(0, loop);
    latch->setMetadata(LLVMContext::MD_loop, loop);
  }
  builder.SetInsertPoint(behind);
}

void Builder::openGroup(Group &group) {
  group.block->getTerminator()->eraseFromParent();
  group.builder.SetInsertPoint(group.block);
  group.disagree = BasicBlock::Create(context, "disagree", group.function);
  IRBuilder<> &builder = group.builder, &entry = group.entry;
  for (unsigned axis = 0; axis < 3; axis++)
    group.size[axis] = kernel.call->getArgOperand(axis);
  group.count = builder.CreateNUWMul(builder.CreateNUWMul(group.size[0], group.size[1]), group.size[2]);
  Value *count = builder.CreateZExt(group.count, i64);
  auto perThread = [&](Type *type, uint64_t bytes) {
    AllocaInst *place = builder.CreateAlloca(type, bytes == 1 ? count : builder.CreateMul(count, builder.getInt64(bytes)));
    place->setAlignment(Align(64));
    return place;
  };
  Value *simdgroups = regions.simd ? entry.getInt32(32) : nullptr;
  for (const Slot &slot : regions.slots) {
    if (slot.uniform) {
      group.slots.push_back({entry.CreateAlloca(stored(slot), simdgroups), entry.CreateAlloca(stored(slot))});
    } else {
      AllocaInst *place = perThread(stored(slot), 1);
      group.slots.push_back({place, place});
    }
  }
  for (unsigned i = 0; i < regions.objects.size(); i++) {
    AllocaInst *object = regions.objects[i];
    // Columns have room for whole SIMD-groups.
    if (columns[i])
      count = builder.CreateAnd(builder.CreateNUWAdd(count, builder.getInt64(31)), builder.getInt64(~31ull));
    AllocaInst *place = perThread(builder.getInt8Ty(), stride(object));
    place->setAlignment(std::max(Align(64), object->getAlign()));
    group.objects.push_back(place);
  }
  for (const Variable &variable : variables)
    group.addresses.push_back(runtime(builder, 4, pointer, {variable.id, variable.size, variable.alignment}));
  group.allOf = entry.CreateAlloca(i32);
  group.anyOf = entry.CreateAlloca(i32);
  for (unsigned i = 0; i <= regions.waits.size(); i++)
    group.starts.push_back(BasicBlock::Create(context, "region" + Twine(i), group.function));
}

// A call of the runtime table's function in a field.
CallInst *Builder::runtime(IRBuilder<> &builder, unsigned field, Type *result, ArrayRef<Value *> arguments) {
  std::vector<Type *> types;
  for (Value *argument : arguments)
    types.push_back(argument->getType());
  Value *table = builder.CreateLoad(pointer, body.getParent()->getGlobalVariable("hm_runtime"));
  Value *function = builder.CreateLoad(pointer, builder.CreateConstInBoundsGEP1_64(pointer, table, field));
  return builder.CreateCall(FunctionType::get(result, types, false), function, arguments);
}

void Builder::closeGroup(Group &group) {
  group.builder.SetInsertPoint(group.disagree);
  runtime(group.builder, 6, Type::getVoidTy(context), {});
  group.builder.CreateBr(group.behind);
  kernel.call->eraseFromParent();
  body.eraseFromParent();
}

// What a region is called with behind the body's parameters. `simdgroup`: the one that runs, none when the whole threadgroup does.
std::vector<Value *> Builder::values(Group &group, const Region &region, Value *simdgroup) {
  IRBuilder<> &builder = group.builder;
  std::vector<Value *> values(kernel.call->arg_begin() + parameterHeld, kernel.call->arg_end());
  for (unsigned slot : region.in) {
    Value *place = group.slots[slot].first;
    if (regions.slots[slot].uniform) {
      Type *type = stored(regions.slots[slot]);
      place = builder.CreateLoad(type, simdgroup ? builder.CreateInBoundsGEP(type, place, simdgroup) : place);
    }
    values.push_back(place);
  }
  for (unsigned slot : region.out)
    values.push_back(group.slots[slot].second);
  for (unsigned object : region.objects)
    values.push_back(group.objects[object]);
  for (unsigned variable : region.variables)
    values.push_back(group.addresses[variable]);
  return values;
}

// The uniform values behind a region become those before the next.
void Builder::carry(Group &group, const Region &region, Value *simdgroup) {
  IRBuilder<> &builder = group.builder;
  for (unsigned slot : region.out) {
    if (!regions.slots[slot].uniform)
      continue;
    auto [before, after] = group.slots[slot];
    Type *type = stored(regions.slots[slot]);
    builder.CreateStore(builder.CreateLoad(type, after), simdgroup ? builder.CreateInBoundsGEP(type, before, simdgroup) : before);
  }
}

// The answers of threads to one question, compared.
void Builder::ask(IRBuilder<> &builder, Value *allOf, Value *anyOf) {
  builder.CreateStore(builder.getInt32(~0u), allOf);
  builder.CreateStore(builder.getInt32(0), anyOf);
}

void Builder::answer(IRBuilder<> &builder, Value *allOf, Value *anyOf, Value *end) {
  builder.CreateStore(builder.CreateAnd(builder.CreateLoad(i32, allOf), end), allOf);
  builder.CreateStore(builder.CreateOr(builder.CreateLoad(i32, anyOf), end), anyOf);
}

Value *Builder::agreed(Group &group, Value *allOf, Value *anyOf) {
  IRBuilder<> &builder = group.builder;
  Value *end = builder.CreateLoad(i32, anyOf);
  auto *next = BasicBlock::Create(context, "agreed", group.function);
  builder.CreateCondBr(builder.CreateICmpEQ(end, builder.CreateLoad(i32, allOf)), next, group.disagree);
  builder.SetInsertPoint(next);
  return end;
}

// Ends a region whose threads have all answered, or can only answer one thing.
void Builder::branch(Group &group, const Region &region, const std::function<BasicBlock *(unsigned)> &target) {
  IRBuilder<> &builder = group.builder;
  if (region.ends.empty()) {
    builder.CreateUnreachable();
  } else if (region.ends.size() == 1) {
    builder.CreateBr(target(*region.ends.begin()));
  } else {
    Value *end = agreed(group, group.allOf, group.anyOf);
    auto *choice = builder.CreateSwitch(end, group.disagree, unsigned(region.ends.size()));
    for (unsigned to : region.ends)
      choice->addCase(builder.getInt32(to), target(to));
  }
}

// A region for all threads, one by one.
void Builder::rows(Group &group, const Region &region, ArrayRef<Value *> rest) {
  IRBuilder<> &builder = group.builder;
  loop(builder, group.size[2], "z", nullptr, [&](Value *z) {
    loop(builder, group.size[1], "y", nullptr, [&](Value *y) {
      Value *plane = builder.CreateNUWMul(z, group.size[1]);
      Value *row = builder.CreateNUWMul(builder.CreateNUWAdd(plane, y), group.size[0]);
      loop(builder, group.size[0], "x", region.accesses, [&](Value *x) {
        Value *thread = builder.CreateAdd(row, x, "", true, true);
        std::vector<Value *> arguments = {x, y, z, thread, builder.CreateLShr(thread, builder.getInt32(5))};
        arguments.insert(arguments.end(), rest.begin(), rest.end());
        Value *end = builder.CreateCall(region.function, arguments);
        if (region.ends.size() > 1)
          answer(builder, group.allOf, group.anyOf, end);
      });
    });
  });
}

// The threads of a tile that has given up, one by one.
void Builder::makeAlone(Region &region) {
  FunctionType *one = region.function->getFunctionType();
  std::vector<Type *> types(parameterHeld + 2, i32);
  types.insert(types.end(), 2, pointer);
  types.insert(types.end(), one->param_begin() + parameterHeld, one->param_end());
  region.alone = Function::Create(FunctionType::get(Type::getVoidTy(context), types, false), GlobalValue::InternalLinkage,
                                  region.function->getName() + ".alone", body.getParent());
  region.alone->setAttributes(region.function->getAttributes());
  region.alone->removeFnAttr(Attribute::AlwaysInline);
  region.alone->addFnAttr(Attribute::NoInline);
  Argument *argument = region.alone->arg_begin();
  Argument *x = argument, *y = argument + 1, *z = argument + 2, *linear = argument + 3, *width = argument + 4;
  Argument *columns = argument + 5, *rows = argument + 6, *allOf = argument + 7, *anyOf = argument + 8;
  IRBuilder<> builder(BasicBlock::Create(context, "begin", region.alone));
  loop(builder, rows, "row", nullptr, [&](Value *row) {
    Value *begin = builder.CreateNUWAdd(linear, builder.CreateNUWMul(row, width));
    loop(builder, columns, "column", region.accesses, [&](Value *column) {
      Value *thread = builder.CreateAdd(begin, column, "", true, true);
      std::vector<Value *> arguments = {builder.CreateAdd(x, column, "", true, true), builder.CreateAdd(y, row, "", true, true), z, thread,
                                        builder.CreateLShr(thread, builder.getInt32(5))};
      for (unsigned i = parameterHeld + 4; i < region.alone->arg_size(); i++)
        arguments.push_back(region.alone->getArg(i));
      Value *end = builder.CreateCall(region.function, arguments);
      if (region.ends.size() > 1)
        answer(builder, allOf, anyOf, end);
    });
  });
  builder.CreateRetVoid();
}

// Whether a threadgroup can go in such tiles.
Value *Builder::fits(Group &group, const Region &region, const Tile &tile) {
  IRBuilder<> &builder = group.builder;
  Value *left = builder.CreateOr(builder.CreateAnd(group.size[0], builder.getInt32(tile.layout.width() - 1)),
                                 builder.CreateAnd(group.size[1], builder.getInt32(tile.layout.height() - 1)));
  Value *fit = builder.CreateICmpEQ(left, builder.getInt32(0));
  if (!isForAnyWidth(region, tile))
    return fit;
  Value *wide = builder.CreateICmpUGE(group.size[0], builder.getInt32(tile.layout.width()));
  if (region.function->getArg(parameterSimdgroup)->use_empty())
    return wide;
  // The lanes of a tile are of one SIMD-group when it begins at a multiple of their count (shapes.cpp): with some left, in the first row only.
  Value *row = builder.CreateICmpEQ(builder.CreateNUWMul(group.size[1], group.size[2]), builder.getInt32(1));
  return builder.CreateOr(fit, builder.CreateAnd(wide, row));
}

// A region for all threads, tile by tile.
void Builder::runTiles(Group &group, const Region &region, const Tile &tile, ArrayRef<Value *> rest) {
  IRBuilder<> &builder = group.builder;
  Value *columns = builder.getInt32(tile.layout.width()), *rows = builder.getInt32(tile.layout.height());
  // The threads one by one, from the first on, whose place a region is called with.
  auto runAlone = [&](ArrayRef<Value *> first, Value *width) {
    std::vector<Value *> arguments(first.begin(), first.end());
    arguments.insert(arguments.end(), {width, rows, group.allOf, group.anyOf});
    arguments.insert(arguments.end(), rest.begin(), rest.end());
    builder.CreateCall(region.alone, arguments);
  };
  auto block = [&](const char *name) { return BasicBlock::Create(context, name, group.function); };
  loop(builder, group.size[2], "z", nullptr, [&](Value *z) {
    loop(builder, builder.CreateUDiv(group.size[1], rows), "y", nullptr, [&](Value *yTile) {
      Value *y = builder.CreateNUWMul(yTile, rows);
      Value *plane = builder.CreateNUWMul(z, group.size[1]);
      Value *row = builder.CreateNUWMul(builder.CreateNUWAdd(plane, y), group.size[0]);
      Value *count = builder.CreateUDiv(group.size[0], columns);
      loop(builder, count, "x", nullptr, [&](Value *xTile) {
        Value *x = builder.CreateNUWMul(xTile, columns);
        std::vector<Value *> first = {x, y, z, builder.CreateNUWAdd(row, x), group.size[0]};
        std::vector<Value *> arguments = first;
        arguments.insert(arguments.end(), rest.begin(), rest.end());
        Value *end = builder.CreateCall(tile.function, arguments);
        BasicBlock *alone = block("alone"), *together = block("together"), *next = block("next");
        builder.CreateCondBr(builder.CreateICmpEQ(end, builder.getInt32(tileGaveUp)), alone, together);
        builder.SetInsertPoint(alone);
        runAlone(first, columns);
        builder.CreateBr(next);
        builder.SetInsertPoint(together);
        if (region.ends.size() > 1)
          answer(builder, group.allOf, group.anyOf, end);
        builder.CreateBr(next);
        builder.SetInsertPoint(next);
      });
      if (!isForAnyWidth(region, tile))
        return;
      Value *x = builder.CreateNUWMul(count, columns), *left = builder.CreateNUWSub(group.size[0], x);
      BasicBlock *some = block("left"), *none = block("none");
      builder.CreateCondBr(builder.CreateICmpEQ(left, builder.getInt32(0)), none, some);
      builder.SetInsertPoint(some);
      runAlone({x, y, z, builder.CreateNUWAdd(row, x), group.size[0]}, left);
      builder.CreateBr(none);
      builder.SetInsertPoint(none);
    });
  });
}

// Region by region, each for all threads; in tiles where there are some that the threadgroup can go in.
void Builder::makeGroup() {
  std::vector<Region> made;
  for (unsigned i = 0; i <= regions.waits.size(); i++) {
    made.push_back(makeRegion(i));
    makeTiles(made.back());
    if (!made.back().tiles.empty())
      makeAlone(made.back());
    regions.tiled |= !made.back().tiles.empty();
  }
  Group group(kernel.call);
  openGroup(group);
  IRBuilder<> &builder = group.builder;
  builder.CreateBr(group.starts[0]);
  for (unsigned i = 0; i < made.size(); i++) {
    Region &region = made[i];
    builder.SetInsertPoint(group.starts[i]);
    std::vector<Value *> rest = values(group, region, nullptr);
    if (region.ends.size() > 1)
      ask(builder, group.allOf, group.anyOf);
    auto *done = BasicBlock::Create(context, "done", group.function);
    for (const Tile &tile : region.tiles) {
      auto *tiled = BasicBlock::Create(context, "tiles", group.function), *other = BasicBlock::Create(context, "other", group.function);
      builder.CreateCondBr(fits(group, region, tile), tiled, other);
      builder.SetInsertPoint(tiled);
      runTiles(group, region, tile, rest);
      builder.CreateBr(done);
      builder.SetInsertPoint(other);
    }
    this->rows(group, region, rest);
    builder.CreateBr(done);
    builder.SetInsertPoint(done);
    carry(group, region, nullptr);
    branch(group, region, [&](unsigned end) { return end == 0 ? group.behind : group.starts[end]; });
  }
  closeGroup(group);
}

// As many bytes as a thread may keep across barriers: 1024 threads of them shall leave a worker's stack (8 MiB) room.
constexpr uint64_t mostBytes = 4096;
// As many instructions as all regions may have together: code behind a barrier in a loop is in several.
constexpr uint64_t mostCode = 60000;

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

Refusal makeLoops(const Kernel &kernel, Regions &regions, FunctionAnalysisManager &analyses) {
  Builder builder(kernel, regions, analyses);
  if (Refusal refusal = builder.checkSize())
    return refusal;
  builder.findVariables();
  builder.findLive();
  builder.findColumns();
  if (regions.simd)
    builder.makeSimdgroups();
  else
    builder.makeGroup();
  return std::nullopt;
}

} // namespace hostmetal
