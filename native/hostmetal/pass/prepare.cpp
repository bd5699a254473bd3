// Before the optimiser: names for the calls of the runtime table, and everything inlined that a thread may wait in.

#include "pass.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Support/ModRef.h"
#include <set>

using namespace llvm;

namespace hostmetal {

bool isCallOf(const Value *value, const char *name) {
  auto *call = dyn_cast<CallInst>(value);
  return call && call->getCalledFunction() && call->getCalledFunction()->getName() == name;
}

Refusal findKernel(Module &module, Kernel &kernel) {
  for (Function &function : module) {
    if (!function.getName().starts_with("_ZN9hostmetal9pass_body") || function.isDeclaration())
      continue;
    if (kernel.body)
      return "there are two bodies";
    kernel.body = &function;
  }
  if (!kernel.body || !kernel.body->hasOneUse())
    return "there is no body that is called once";
  kernel.call = dyn_cast<CallInst>(*kernel.body->user_begin());
  if (!kernel.call || kernel.call->getCalledFunction() != kernel.body || kernel.body->arg_size() < parameterHeld)
    return "the body is not called as expected";
  return std::nullopt;
}

// The functions of hm_runtime_table by their field.
constexpr const char *tableNames[] = {nullptr, barrierName, simdBarrierName, combineName, allocateName, laneName};

static Function *tableFunction(Module &module, unsigned field, FunctionType *type) {
  if (field == 0 || field >= std::size(tableNames))
    return nullptr;
  auto *function = dyn_cast<Function>(module.getOrInsertFunction(tableNames[field], type).getCallee());
  if (!function || function->getFunctionType() != type)
    return nullptr;
  function->setDoesNotThrow();
  if (field == 4 || field == 5) {
    // The same for a thread whenever it asks.
    function->setMemoryEffects(MemoryEffects::none());
    function->setWillReturn();
    function->addFnAttr(Attribute::Speculatable);
  } else {
    function->addFnAttr(Attribute::Convergent);
    function->addFnAttr(Attribute::NoMerge);
  }
  return function;
}

// Every use of the table is: load it, take a field's address, load that, call it.
static Refusal nameRuntimeCalls(Module &module) {
  const char *unknown = "the runtime table is used in another way than by calls";
  GlobalVariable *table = module.getGlobalVariable("hm_runtime");
  if (!table)
    return "there is no hm_runtime";
  std::vector<Instruction *> dead;
  for (User *user : table->users()) {
    if (isa<Constant>(user))
      continue; // llvm.compiler.used
    auto *base = dyn_cast<LoadInst>(user);
    if (!base)
      return unknown;
    dead.push_back(base);
    for (User *offset : base->users()) {
      auto *field = dyn_cast<GetElementPtrInst>(offset);
      if (!field || field->getNumIndices() != 2 || !isa<ConstantInt>(field->getOperand(2)))
        return unknown;
      uint64_t number = cast<ConstantInt>(field->getOperand(2))->getZExtValue();
      dead.push_back(field);
      for (User *address : field->users()) {
        auto *load = dyn_cast<LoadInst>(address);
        if (!load)
          return unknown;
        dead.push_back(load);
        std::vector<CallInst *> calls;
        for (User *use : load->users()) {
          auto *call = dyn_cast<CallInst>(use);
          if (!call || call->getCalledOperand() != load || is_contained(call->args(), load))
            return unknown;
          calls.push_back(call);
        }
        for (CallInst *call : calls) {
          Function *function = tableFunction(module, unsigned(number), call->getFunctionType());
          if (!function)
            return unknown;
          call->setCalledFunction(function);
        }
      }
    }
  }
  for (auto i = dead.rbegin(); i != dead.rend(); i++)
    (*i)->eraseFromParent();
  return std::nullopt;
}

// Every use of hm_log is: load it, call it.
static Refusal nameLogCalls(Module &module) {
  const char *unknown = "hm_log is used in another way than by calls";
  GlobalVariable *variable = module.getGlobalVariable("hm_log");
  if (!variable)
    return "there is no hm_log";
  std::vector<LoadInst *> loads;
  for (User *user : variable->users()) {
    if (isa<Constant>(user))
      continue; // llvm.compiler.used
    auto *load = dyn_cast<LoadInst>(user);
    if (!load)
      return unknown;
    for (User *use : load->users()) {
      auto *call = dyn_cast<CallInst>(use);
      if (!call || call->getCalledOperand() != load || is_contained(call->args(), load))
        return unknown;
    }
    loads.push_back(load);
  }
  for (LoadInst *load : loads) {
    for (User *use : make_early_inc_range(load->users())) {
      auto *call = cast<CallInst>(use);
      call->setCalledFunction(module.getOrInsertFunction(logName, call->getFunctionType()));
    }
    load->eraseFromParent();
  }
  return std::nullopt;
}

void restoreLogCalls(Module &module) {
  Function *function = module.getFunction(logName);
  if (!function)
    return;
  for (User *use : make_early_inc_range(function->users())) {
    auto *call = cast<CallInst>(use);
    call->setCalledOperand(new LoadInst(call->getCalledOperand()->getType(), module.getGlobalVariable("hm_log"), "", call));
  }
  function->eraseFromParent();
}

void restoreRuntimeCalls(Module &module) {
  PointerType *pointer = PointerType::getUnqual(module.getContext());
  for (unsigned field = 1; field < std::size(tableNames); field++) {
    Function *function = module.getFunction(tableNames[field]);
    if (!function)
      continue;
    for (User *use : make_early_inc_range(function->users())) {
      auto *call = cast<CallInst>(use);
      // What the function is, the table does not tell of its field.
      if (function->hasFnAttribute(Attribute::Convergent)) {
        call->addFnAttr(Attribute::Convergent);
        call->addFnAttr(Attribute::NoMerge);
      }
      IRBuilder<> builder(call);
      Value *table = builder.CreateLoad(pointer, module.getGlobalVariable("hm_runtime"));
      Value *place = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), table, 8 * field);
      call->setCalledOperand(builder.CreateLoad(pointer, place));
    }
    function->eraseFromParent();
  }
}

static bool waits(const Instruction &instruction) {
  return isCallOf(&instruction, barrierName) || isCallOf(&instruction, simdBarrierName) || isCallOf(&instruction, combineName) ||
         isCallOf(&instruction, laneName);
}

// The functions from which a call that waits can be reached by direct calls.
static std::set<Function *> waitingFunctions(Module &module) {
  std::set<Function *> waiting;
  for (bool grown = true; grown;) {
    grown = false;
    for (Function &function : module) {
      if (waiting.count(&function))
        continue;
      for (Instruction &instruction : instructions(function)) {
        auto *call = dyn_cast<CallBase>(&instruction);
        bool calls = call && call->getCalledFunction() && waiting.count(call->getCalledFunction());
        if (calls || waits(instruction)) {
          grown |= waiting.insert(&function).second;
          break;
        }
      }
    }
  }
  return waiting;
}

// How the names of what dynamic libraries define begin (crates/hostmetal/src/msl/link.rs).
constexpr const char *libraryPrefix = "library.";

Refusal prepare(Module &module, const Kernel &kernel) {
  // It is this kernel's alone.
  for (GlobalObject &object : module.global_objects()) {
    if (object.isDeclaration() || !object.getName().starts_with(libraryPrefix))
      continue;
    object.setComdat(nullptr);
    object.setLinkage(GlobalValue::InternalLinkage);
  }
  if (Refusal refusal = nameRuntimeCalls(module))
    return refusal;
  if (Refusal refusal = nameLogCalls(module))
    return refusal;
  for (unsigned i = parameterHeld; i < kernel.body->arg_size(); i++) {
    // Nobody writes to what the threadgroup holds.
    kernel.body->addParamAttr(i, Attribute::NoAlias);
    kernel.body->addParamAttr(i, Attribute::ReadOnly);
  }
  kernel.body->setLinkage(GlobalValue::InternalLinkage);
  kernel.body->setComdat(nullptr);
  std::set<Function *> waiting = waitingFunctions(module);
  for (Function &function : module) {
    if (function.isDeclaration() || &function == kernel.body)
      continue;
    bool inlined = waiting.count(&function) || !function.hasFnAttribute(Attribute::NoInline);
    bool exported = function.hasExternalLinkage() && function.hasDefaultVisibility();
    if (inlined && !exported && !function.hasFnAttribute(Attribute::OptimizeNone)) {
      function.removeFnAttr(Attribute::NoInline);
      function.addFnAttr(Attribute::AlwaysInline);
    }
  }
  return std::nullopt;
}

} // namespace hostmetal
