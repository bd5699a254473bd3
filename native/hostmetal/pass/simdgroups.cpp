// A threadgroup of a kernel with SIMD-group functions: SIMD-group by SIMD-group, each with loops over its lanes, until it comes to a barrier of the
// threadgroup or its end. Uniform values exist once per SIMD-group.
//
// A SIMD-group function is called once for a SIMD-group, as with stacks: with the addresses of the objects that its lanes brought, which are
// private objects and so lie in an array. For a whole SIMD-group the addresses and the set of lanes are constants to the optimiser.

#include "builder.h"
#include "llvm/ADT/Sequence.h"
#include <array>
#include <map>

namespace hostmetal {

// The operation of a wait for the lanes of one SIMD-group.
void Builder::combine(Group &group, const Wait &wait, Value *first, Value *lanes) {
  IRBuilder<> &builder = group.builder;
  Type *table = ArrayType::get(pointer, 32);
  auto number = find(regions.objects, wait.object);
  Value *object = group.objects[size_t(number - regions.objects.begin())];
  uint64_t bytes = stride(wait.object);
  Value *places = group.entry.CreateAlloca(table);
  auto place = [&](Value *lane) {
    Value *thread = builder.CreateZExt(builder.CreateNUWAdd(first, lane), i64);
    Value *address = builder.CreateInBoundsGEP(builder.getInt8Ty(), object, builder.CreateNUWMul(thread, builder.getInt64(bytes)));
    builder.CreateStore(address, builder.CreateInBoundsGEP(pointer, places, builder.CreateZExt(lane, i64)));
  };
  auto operate = [&](Value *mask) { builder.CreateCall(wait.combine, {places, mask}); };
  // A whole SIMD-group, where the optimiser knows which lanes there are; and a part.
  auto *whole = BasicBlock::Create(context, "whole", group.function), *part = BasicBlock::Create(context, "part", group.function),
       *done = BasicBlock::Create(context, "combined", group.function);
  builder.CreateCondBr(builder.CreateICmpEQ(lanes, builder.getInt32(32)), whole, part);
  builder.SetInsertPoint(whole);
  for (uint32_t lane = 0; lane < 32; lane++)
    place(builder.getInt32(lane));
  if (wait.width == 32)
    operate(builder.getInt32(~0u));
  else
    loop(builder, builder.getInt32(8), "quad", nullptr,
         [&](Value *quad) { operate(builder.CreateShl(builder.getInt32(15), builder.CreateShl(quad, builder.getInt32(2)))); });
  builder.CreateBr(done);
  builder.SetInsertPoint(part);
  builder.CreateStore(Constant::getNullValue(table), places);
  loop(builder, lanes, "lane", nullptr, place);
  Value *mask = builder.CreateSub(builder.CreateShl(builder.getInt32(1), lanes), builder.getInt32(1));
  if (wait.width == 32)
    operate(mask);
  else
    loop(builder, builder.CreateLShr(builder.CreateNUWAdd(lanes, builder.getInt32(3)), builder.getInt32(2)), "quad", nullptr, [&](Value *quad) {
      operate(builder.CreateAnd(mask, builder.CreateShl(builder.getInt32(15), builder.CreateShl(quad, builder.getInt32(2)))));
    });
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
  Value *flat = builder.CreateICmpEQ(builder.CreateNUWMul(group.size[1], group.size[2]), builder.getInt32(1));
  builder.CreateStore(builder.getInt32(0), begin);
  BasicBlock *phase = block("phase");
  builder.CreateBr(phase);
  builder.SetInsertPoint(phase);
  ask(builder, allArrived, anyArrived);
  loop(builder, simdgroups, "simdgroup", nullptr, [&](Value *simdgroup) {
    Value *first = builder.CreateShl(simdgroup, builder.getInt32(5), "", true, true);
    Value *left = builder.CreateNUWSub(group.count, first);
    Value *lanes = builder.CreateSelect(builder.CreateICmpULT(left, builder.getInt32(32)), left, builder.getInt32(32));
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
      auto threads = [&](const std::function<std::array<Value *, 3>(Value *)> &position) {
        loop(builder, lanes, "lane", region.accesses, [&](Value *lane) {
          Value *thread = builder.CreateAdd(first, lane, "", true, true);
          auto [x, y, z] = position(thread);
          std::vector<Value *> arguments = {x, y, z, thread, simdgroup};
          arguments.insert(arguments.end(), rest.begin(), rest.end());
          Value *end = builder.CreateCall(region.function, arguments);
          if (decides)
            answer(builder, group.allOf, group.anyOf, end);
        });
      };
      Value *zero = builder.getInt32(0);
      auto inRow = [&](Value *thread) { return std::array<Value *, 3>{thread, zero, zero}; };
      auto anywhere = [&](Value *thread) {
        Value *row = builder.CreateUDiv(thread, group.size[0]);
        return std::array<Value *, 3>{builder.CreateURem(thread, group.size[0]), builder.CreateURem(row, group.size[1]),
                                      builder.CreateUDiv(row, group.size[1])};
      };
      bool positioned = any_of(seq(unsigned(parameterX), unsigned(parameterLinear)),
                               [&](unsigned parameter) { return !region.function->getArg(parameter)->use_empty(); });
      if (positioned) {
        // In a threadgroup of one row the position is the number, so that accesses are visibly consecutive.
        auto *row = block("row"), *box = block("box"), *end = block("end");
        builder.CreateCondBr(flat, row, box);
        builder.SetInsertPoint(row);
        threads(inRow);
        builder.CreateBr(end);
        builder.SetInsertPoint(box);
        threads(anywhere);
        builder.CreateBr(end);
        builder.SetInsertPoint(end);
      } else {
        threads(inRow);
      }
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
          combine(group, regions.waits[end - 1], first, lanes);
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
