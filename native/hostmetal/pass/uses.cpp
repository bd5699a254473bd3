// Which arguments a kernel's code uses (MTLBinding's `used`).
//
// All that a kernel knows of its arguments it reads from the hm_group that it is called with (hostmetal_kernel.h). When LLVM has optimised the
// code, what nobody needs is read no more: the pass follows the pointer through the code and notes the bytes that are still read, and `hm_used`, which
// the header sets to all arguments, becomes those of which some are. Where the pointer goes somewhere else (memory, unknown functions, an index that
// is not constant), all arguments that may be meant count as used.

#include "uses.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

#include <algorithm>
#include <array>

using namespace llvm;

namespace hostmetal {

namespace {

// `hm_used` of hostmetal_kernel.h: bit n of a word stands for the argument with the index n.
enum Word : unsigned { buffers, memories, lowTextures, highTextures, samplers, imageblock, words };
typedef std::array<uint64_t, words> Used;

// Where hm_group has what; hostmetal_kernel.h holds this against the structure.
constexpr uint64_t slots = 31, memoriesOffset = 248, positionsOffset = 496, texturesOffset = 568, samplersOffset = 576, originOffset = 584,
                   imageblockOffset = 624, groupBytes = 640, samplerBytes = 16;
constexpr uint64_t mostTextures = 128, mostSamplers = 16;

// What a pointer points to: the hm_group, or what one of its two tables lies at.
enum class Object { group, textures, samplers };

struct Finder {
  const DataLayout &layout;
  Used used = {};
  // With the offset, so that what is come to twice is gone through once.
  DenseSet<std::pair<const Value *, std::pair<int64_t, unsigned>>> seen;

  explicit Finder(const DataLayout &layout_) : layout(layout_) {}

  void mark(Word first, uint64_t count, uint64_t size, uint64_t begin, uint64_t end) {
    for (uint64_t at = begin / size; at < count && at * size < end; at++)
      used[first + at / 64] |= uint64_t(1) << at % 64;
  }

  // All that the object may tell of.
  void markAll(Object object) {
    if (object == Object::group || object == Object::textures)
      mark(lowTextures, mostTextures, 1, 0, mostTextures);
    if (object == Object::group || object == Object::samplers)
      mark(samplers, mostSamplers, 1, 0, mostSamplers);
    if (object == Object::group) {
      used[buffers] = used[memories] = (uint64_t(1) << slots) - 1;
      used[imageblock] = 1;
    }
  }

  // Bytes of an object are read. `value`, where there is one, is what was read.
  void read(Object object, int64_t offset, uint64_t size, const Value *value) {
    if (offset < 0)
      return markAll(object);
    uint64_t begin = uint64_t(offset), end = begin + size;
    if (object == Object::textures)
      return mark(lowTextures, mostTextures, 8, begin, end);
    if (object == Object::samplers)
      return mark(samplers, mostSamplers, samplerBytes, begin, end);
    mark(buffers, slots, 8, begin, std::min(end, memoriesOffset));
    if (end > memoriesOffset && begin < positionsOffset)
      mark(memories, slots, 8, std::max(begin, memoriesOffset) - memoriesOffset, end - memoriesOffset);
    if (end > imageblockOffset && begin < groupBytes)
      used[imageblock] = 1;
    if (end <= texturesOffset || begin >= originOffset)
      return;
    // One of the tables' addresses alone, or nobody knows what becomes of it.
    bool texture = begin == texturesOffset && size == 8, sampler = begin == samplersOffset && size == 8;
    if (value && value->getType()->isPointerTy() && (texture || sampler))
      return follow(*value, texture ? Object::textures : Object::samplers, 0);
    if (end > texturesOffset && begin < samplersOffset)
      markAll(Object::textures);
    if (end > samplersOffset && begin < originOffset)
      markAll(Object::samplers);
  }

  void follow(const Value &pointer, Object object, int64_t offset) {
    if (!seen.insert({&pointer, {offset, unsigned(object)}}).second)
      return;
    // A pointer that moves from round to round of a loop.
    if (offset > int64_t(1) << 16 || offset < 0)
      return markAll(object);
    for (const Use &use : pointer.uses())
      followUse(use, object, offset);
  }

  void followUse(const Use &use, Object object, int64_t offset) {
    const User *user = use.getUser();
    if (auto *load = dyn_cast<LoadInst>(user))
      return read(object, offset, layout.getTypeStoreSize(load->getType()).getFixedValue(), load);
    if (auto *place = dyn_cast<GetElementPtrInst>(user)) {
      APInt distance(layout.getIndexTypeSizeInBits(place->getType()), 0);
      if (!place->getType()->isPointerTy() || !place->accumulateConstantOffset(layout, distance))
        return markAll(object);
      return follow(*place, object, offset + distance.getSExtValue());
    }
    if (isa<PHINode>(user) || isa<SelectInst>(user) || isa<BitCastInst>(user) || isa<AddrSpaceCastInst>(user) || isa<FreezeInst>(user))
      return follow(*user, object, offset);
    if (isa<CmpInst>(user))
      return;
    if (auto *copy = dyn_cast<MemTransferInst>(user)) {
      auto *length = dyn_cast<ConstantInt>(copy->getLength());
      if (length && use.getOperandNo() == 1)
        return read(object, offset, length->getZExtValue(), nullptr);
      return markAll(object);
    }
    if (auto *call = dyn_cast<CallBase>(user)) {
      if (auto *intrinsic = dyn_cast<IntrinsicInst>(call); intrinsic && intrinsic->isAssumeLikeIntrinsic())
        return;
      const Function *callee = call->getCalledFunction();
      if (callee && !callee->isDeclaration() && call->isArgOperand(&use) && call->getArgOperandNo(&use) < callee->arg_size())
        return follow(*callee->getArg(call->getArgOperandNo(&use)), object, offset);
    }
    markAll(object);
  }
};

} // namespace

PreservedAnalyses Uses::run(Module &module, ModuleAnalysisManager &) {
  Function *kernel = module.getFunction("hm_kernel_group");
  if (!kernel)
    kernel = module.getFunction("hm_kernel_thread");
  GlobalVariable *answer = module.getGlobalVariable("hm_used");
  if (!kernel || kernel->isDeclaration() || kernel->arg_empty() || !answer || !answer->hasInitializer())
    return PreservedAnalyses::all();
  auto *type = dyn_cast<ArrayType>(answer->getValueType());
  if (!type || type->getNumElements() != words || !type->getElementType()->isIntegerTy(64))
    return PreservedAnalyses::all();
  Finder finder(module.getDataLayout());
  finder.follow(*kernel->getArg(0), Object::group, 0);
  answer->setInitializer(ConstantDataArray::get(module.getContext(), ArrayRef<uint64_t>(finder.used)));
  return PreservedAnalyses::all();
}

} // namespace hostmetal
