// Vectors at addresses that only their components' size divides.
//
// MSL aligns a vector to its size (2.2) and clang's code may rely on it: a `float4` is read by an instruction that faults elsewhere. GPUs do not
// ask, and programs read vectors from wherever their rows begin. So no access may assume more than the size of a scalar, unless it is
// to a variable that the compiler places itself. Instructions for any address cost nothing where the address is aligned.
//
// This comes last: what is proved of vectors that do lie where MSL says (joins.cpp) stays proved. Two vectors that overlap in part, read and
// written by one thread, may see each other's components in any order. Atomic accesses keep their alignment, as all scalars do.

#include "alignment.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;

namespace hostmetal {

namespace {

// What an address may be assumed to be a multiple of, for accesses to elements of this size.
Align assumed(Value *address, uint64_t element, const DataLayout &layout) {
  const Value *object = getUnderlyingObject(address, 0);
  Align known = isa<AllocaInst>(object) || isa<GlobalVariable>(object) ? getKnownAlignment(address, layout) : Align(1);
  // No scalar is longer; a longer integer is an object that is copied.
  return std::max(known, Align(std::clamp<uint64_t>(PowerOf2Ceil(element), 1, 8)));
}

uint64_t elementOf(Type *type, const DataLayout &layout) {
  return layout.getTypeStoreSize(type->getScalarType()).getFixedValue();
}

// The operand that is the alignment of an access through operand `address`, and the type of the access; none of other calls.
struct Masked {
  unsigned address, alignment;
  Type *type;
};

std::optional<Masked> masked(const IntrinsicInst &call) {
  switch (call.getIntrinsicID()) {
  case Intrinsic::masked_load:
    return Masked{0, 1, call.getType()};
  case Intrinsic::masked_store:
    return Masked{1, 2, call.getArgOperand(0)->getType()};
  default:
    return std::nullopt;
  }
}

// An object that is passed by value is copied onto the stack by the calling convention, as if it lay where its type says; where it may not, from a
// variable that does.
void passFromVariables(CallBase &call, const DataLayout &layout) {
  for (unsigned i = 0; i < call.arg_size(); i++) {
    Type *type = call.getParamByValType(i);
    Align needed = type ? call.getParamAlign(i).value_or(layout.getABITypeAlign(type)) : Align(1);
    Value *object = call.getArgOperand(i);
    if (!type || assumed(object, 1, layout) >= needed)
      continue;
    IRBuilder<> entry(&*call.getFunction()->getEntryBlock().getFirstInsertionPt()), before(&call);
    AllocaInst *variable = entry.CreateAlloca(type);
    variable->setAlignment(needed);
    before.CreateMemCpy(variable, needed, object, Align(1), layout.getTypeAllocSize(type).getFixedValue());
    call.setArgOperand(i, variable);
  }
}

// What is said of the pointers that functions are given and return. Copies on the stack lie as the calling convention says.
template <class Callee>
void forgetAlignment(Callee &callee, unsigned arguments) {
  callee.removeRetAttr(Attribute::Alignment);
  for (unsigned i = 0; i < arguments; i++)
    if (!callee.getAttributes().hasParamAttr(i, Attribute::ByVal))
      callee.removeParamAttr(i, Attribute::Alignment);
}

} // namespace

PreservedAnalyses Alignment::run(Module &module, ModuleAnalysisManager &) {
  const DataLayout &layout = module.getDataLayout();
  for (Function &function : module) {
    forgetAlignment(function, function.arg_size());
    for (Instruction &instruction : instructions(function)) {
      if (auto *call = dyn_cast<CallBase>(&instruction); call && !isa<IntrinsicInst>(call)) {
        forgetAlignment(*call, call->arg_size());
        passFromVariables(*call, layout);
      }
      if (auto *load = dyn_cast<LoadInst>(&instruction); load && !load->isAtomic()) {
        load->setAlignment(std::min(load->getAlign(), assumed(load->getPointerOperand(), elementOf(load->getType(), layout), layout)));
      } else if (auto *store = dyn_cast<StoreInst>(&instruction); store && !store->isAtomic()) {
        uint64_t element = elementOf(store->getValueOperand()->getType(), layout);
        store->setAlignment(std::min(store->getAlign(), assumed(store->getPointerOperand(), element, layout)));
      } else if (auto *memory = dyn_cast<MemIntrinsic>(&instruction)) {
        memory->setDestAlignment(std::min(memory->getDestAlign().valueOrOne(), assumed(memory->getRawDest(), 1, layout)));
        if (auto *copy = dyn_cast<MemTransferInst>(memory))
          copy->setSourceAlignment(std::min(copy->getSourceAlign().valueOrOne(), assumed(copy->getRawSource(), 1, layout)));
      } else if (auto *call = dyn_cast<IntrinsicInst>(&instruction)) {
        if (std::optional<Masked> access = masked(*call)) {
          auto *given = cast<ConstantInt>(call->getArgOperand(access->alignment));
          Align most = assumed(call->getArgOperand(access->address), elementOf(access->type, layout), layout);
          call->setArgOperand(access->alignment, ConstantInt::get(given->getType(), std::min(given->getZExtValue(), most.value())));
        }
      }
    }
  }
  PreservedAnalyses preserved;
  preserved.preserveSet<CFGAnalyses>();
  return preserved;
}

} // namespace hostmetal
