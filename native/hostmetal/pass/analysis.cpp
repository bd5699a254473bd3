// What one thread of a kernel does, told instead of compiled: for crates/hostmetal/src/msl/analysis.rs, which says what the lines mean.
//
// Everything is inlined into the one body but functions of the library that stand for one operation (`exp`, atomics, textures), and simplified so far that
// each load, store and operation of the text is still there once. Neighbours are threads of one SIMD-group whose positions in x differ
// by 1. Of every value it is found by how much it is larger in the next neighbour, from the best case on, until nothing changes; where
// neighbours may come another way, nothing is known.

#include "analysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/GetElementPtrTypeIterator.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
#include <set>

using namespace llvm;

namespace hostmetal {

// What crates/hostmetal/src/msl/analysis.rs looks for.
constexpr const char *linePrefix = "hostmetal-pass: analysis: ";
// The user's text (crates/hostmetal/src/msl/invoke.rs); all else is the library's.
constexpr const char *programName = "program.clcpp";

static bool isUsers(const DIScope *scope) { return scope && scope->getFilename() == programName; }

// What a function of the library stands for, by the header that it is in.
enum class Library { none, math, atomic, texture };

static Library libraryOf(const DISubprogram *program) {
  if (!program || isUsers(program))
    return Library::none;
  StringRef file = program->getFilename();
  file = file.substr(file.rfind('/') + 1);
  for (const char *name : {"metal_math", "hostmetal_math.inc", "metal_common", "metal_geometric", "metal_integer", "metal_relational", "metal_pack"})
    if (file == name)
      return Library::math;
  if (file == "metal_atomic")
    return Library::atomic;
  for (const char *name : {"metal_texture", "hostmetal_texel.h", "hostmetal_sampler.h"})
    if (file == name)
      return Library::texture;
  return Library::none;
}

// Its name without template arguments.
static StringRef baseName(const DISubprogram *program) {
  StringRef name = program->getName();
  return name.substr(0, name.find('<'));
}

void keepLibraryCalls(Module &module) {
  for (Function &function : module) {
    if (function.isDeclaration() || libraryOf(function.getSubprogram()) == Library::none)
      continue;
    function.removeFnAttr(Attribute::AlwaysInline);
    function.addFnAttr(Attribute::NoInline);
  }
}

namespace {

// By how much a value is larger in the next neighbour; in an order in which it only ever rises.
struct Step {
  enum Kind { open, known, even, unknown, data } kind = open;
  int64_t by = 0;

  bool isSame() const { return kind == known && by == 0; }
  bool operator==(const Step &other) const { return kind == other.kind && by == other.by; }
};

constexpr Step same = {Step::known, 0};

// What has no distance: of data, or nobody knows.
Step lost(Step one, Step other) {
  if (one.kind == Step::open || other.kind == Step::open)
    return {};
  return {one.kind == Step::data || other.kind == Step::data ? Step::data : Step::unknown, 0};
}

Step sum(Step one, Step other, int64_t sign) {
  if (one.kind == Step::open || other.kind == Step::open)
    return {};
  if (one.kind == Step::known && other.kind == Step::known) {
    int64_t scaled, result;
    if (MulOverflow(other.by, sign, scaled) || AddOverflow(one.by, scaled, result))
      return {Step::unknown, 0};
    return {Step::known, result};
  }
  if (one.kind <= Step::even && other.kind <= Step::even)
    return {Step::even, 0};
  return lost(one, other);
}

Step times(Step one, int64_t factor) {
  if (one.kind == Step::known) {
    int64_t result;
    return MulOverflow(one.by, factor, result) ? Step{Step::unknown, 0} : Step{Step::known, result};
  }
  return factor == 0 && one.kind != Step::open ? same : one;
}

// Where an address comes from.
struct Root {
  enum Kind { none, own, table, threadgroup, argument, unknown } kind = none;
  unsigned number = 0;
  bool operator<(const Root &other) const { return std::tie(kind, number) < std::tie(other.kind, other.number); }
  bool operator==(const Root &other) const { return kind == other.kind && number == other.number; }
};

// A place of the user's text.
struct Place {
  unsigned line = 0, column = 0;
  bool operator<(const Place &other) const { return std::tie(line, column) < std::tie(other.line, other.column); }
};

raw_ostream &operator<<(raw_ostream &out, const Place &place) { return out << place.line << ' ' << place.column; }

struct Access {
  Root root;
  bool reads, writes;
  uint64_t bytes;
  Step step;
  Place place;
};

bool operator<(const Access &one, const Access &other) {
  return std::tie(one.root, one.reads, one.writes, one.bytes, one.step.kind, one.step.by, one.place) <
         std::tie(other.root, other.reads, other.writes, other.bytes, other.step.kind, other.step.by, other.place);
}

// A call of a function that stands for operations: its name, whether on floating-point numbers, and on how many components.
struct Call {
  std::string name;
  bool isFloat;
  unsigned lanes;
  bool operator<(const Call &other) const { return std::tie(name, isFloat, lanes) < std::tie(other.name, other.isFloat, other.lanes); }
};

// What is done once: by a thread, or in one round of a loop whose rounds nobody knows.
struct Work {
  Place place;
  uint64_t flops = 0, integer = 0;
  std::map<Access, uint64_t> accesses;
  std::map<Call, uint64_t> calls;
  std::vector<Work> loops;

  void add(const Work &other, uint64_t count) {
    if (count == 0)
      return;
    flops = SaturatingMultiplyAdd(other.flops, count, flops);
    integer = SaturatingMultiplyAdd(other.integer, count, integer);
    for (auto &[access, number] : other.accesses)
      accesses[access] = SaturatingMultiplyAdd(number, count, accesses[access]);
    for (auto &[call, number] : other.calls)
      calls[call] = SaturatingMultiplyAdd(number, count, calls[call]);
    for (const Work &loop : other.loops) {
      Work scaled;
      scaled.place = loop.place;
      scaled.add(loop, count);
      loops.push_back(std::move(scaled));
    }
  }

  void print(raw_ostream &out, unsigned depth) const {
    out << linePrefix << "work " << depth << ' ' << place << ' ' << flops << ' ' << integer << '\n';
    for (auto &[access, count] : accesses) {
      out << linePrefix << "access " << count << ' ';
      switch (access.root.kind) {
      case Root::argument:
        out << access.root.number;
        break;
      case Root::threadgroup:
        out << "threadgroup";
        break;
      default:
        out << "unknown";
      }
      out << ' ' << (access.reads ? access.writes ? "both" : "read" : "write") << ' ' << access.bytes << ' ';
      switch (access.step.kind) {
      case Step::known:
        out << access.step.by;
        break;
      case Step::even:
        out << "even";
        break;
      case Step::data:
        out << "data";
        break;
      default:
        out << "unknown";
      }
      out << ' ' << access.place << '\n';
    }
    for (auto &[call, count] : calls)
      out << linePrefix << "call " << count << ' ' << call.name << ' ' << (call.isFloat ? "float" : "integer") << ' ' << call.lanes << '\n';
    for (const Work &loop : loops)
      loop.print(out, depth + 1);
  }
};

class Analysis {
public:
  Analysis(Function &body_, LoopInfo &loops_, ScalarEvolution &evolution_, DominatorTree &tree_)
      : body(body_), loops(loops_), evolution(evolution_), tree(tree_) {}

  void print(raw_ostream &out) {
    find();
    Work whole = workOf(nullptr);
    for (auto &[name, place] : facts)
      out << linePrefix << "fact " << name << ' ' << place << '\n';
    for (Place place : uncounted)
      out << linePrefix << "uncounted " << place << '\n';
    whole.print(out, 0);
  }

private:
  Function &body;
  LoopInfo &loops;
  ScalarEvolution &evolution;
  DominatorTree &tree;
  DenseMap<const Value *, Step> steps;
  std::set<std::pair<std::string, Place>> facts;
  std::set<Place> uncounted;
  // Those of a block, until they are put together.
  struct Part {
    Access access;
    const Value *pointer;
    const DILocation *at;
  };
  std::vector<Part> together;

  Step of(const Value *value) const {
    if (auto *argument = dyn_cast<Argument>(value)) {
      unsigned number = argument->getArgNo();
      return {Step::known, number == parameterX || number == parameterLinear ? 1 : 0};
    }
    if (!isa<Instruction>(value))
      return same;
    auto found = steps.find(value);
    return found == steps.end() ? Step() : found->second;
  }

  // Of one component of a vector.
  Step ofComponent(const Value *value, unsigned number, unsigned depth) const {
    if (isa<Constant>(value))
      return same;
    if (depth == 0)
      return of(value);
    if (auto *insert = dyn_cast<InsertElementInst>(value)) {
      auto *place = dyn_cast<ConstantInt>(insert->getOperand(2));
      if (!place)
        return of(value);
      return place->getZExtValue() == number ? of(insert->getOperand(1)) : ofComponent(insert->getOperand(0), number, depth - 1);
    }
    if (auto *shuffle = dyn_cast<ShuffleVectorInst>(value)) {
      int from = number < shuffle->getShuffleMask().size() ? shuffle->getMaskValue(number) : -1;
      if (from < 0)
        return same;
      unsigned count = cast<FixedVectorType>(shuffle->getOperand(0)->getType())->getNumElements();
      return unsigned(from) < count ? ofComponent(shuffle->getOperand(0), from, depth - 1)
                                    : ofComponent(shuffle->getOperand(1), from - count, depth - 1);
    }
    if (auto *operation = dyn_cast<BinaryOperator>(value)) {
      auto factor = [&](unsigned operand) -> std::optional<int64_t> {
        auto *constant = dyn_cast<Constant>(operation->getOperand(operand));
        auto *element = constant ? dyn_cast_or_null<ConstantInt>(constant->getAggregateElement(number)) : nullptr;
        return element && element->getValue().getSignificantBits() <= 32 ? std::optional<int64_t>(element->getSExtValue()) : std::nullopt;
      };
      return binary(*operation, ofComponent(operation->getOperand(0), number, depth - 1), ofComponent(operation->getOperand(1), number, depth - 1),
                    factor(0), factor(1));
    }
    // As a function is passed it, and takes it.
    const Value *plain = value;
    while (auto *cast = dyn_cast<BitCastInst>(plain))
      plain = cast->getOperand(0);
    if (plain != value && plain->getType() == value->getType())
      return ofComponent(plain, number, depth - 1);
    if (isa<CastInst>(value) && !isa<BitCastInst>(value) && cast<CastInst>(value)->getOperand(0)->getType()->isVectorTy())
      return ofComponent(cast<CastInst>(value)->getOperand(0), number, depth - 1);
    return of(value);
  }

  // Whether it is the number of a thread in its threadgroup, whose neighbours in a SIMD-group never cross a multiple of 32.
  static bool isLinear(const Value *value) {
    auto *argument = dyn_cast<Argument>(value);
    return argument && argument->getArgNo() == parameterLinear;
  }

  Step binary(const BinaryOperator &operation, Step one, Step other, std::optional<int64_t> factor, std::optional<int64_t> factor2) const {
    if (one.kind == Step::open || other.kind == Step::open)
      return {};
    switch (operation.getOpcode()) {
    case Instruction::Add:
      return sum(one, other, 1);
    case Instruction::Sub:
      return sum(one, other, -1);
    case Instruction::Or:
      if (cast<PossiblyDisjointInst>(operation).isDisjoint())
        return sum(one, other, 1);
      break;
    case Instruction::Mul:
      if (factor2)
        return times(one, *factor2);
      if (factor)
        return times(other, *factor);
      // By a number that is the same for all, which nobody knows here.
      if ((one.isSame() && other.kind <= Step::even) || (other.isSame() && one.kind <= Step::even))
        return one.isSame() && other.isSame() ? same : Step{Step::even, 0};
      break;
    case Instruction::Shl:
      if (factor2 && *factor2 >= 0 && *factor2 < 32)
        return times(one, int64_t(1) << *factor2);
      if (other.isSame() && one.kind <= Step::even)
        return one.isSame() ? same : Step{Step::even, 0};
      break;
    case Instruction::URem:
    case Instruction::And:
      if (isLinear(operation.getOperand(0)) && factor2) {
        int64_t lanes = *factor2 + (operation.getOpcode() == Instruction::And);
        if (lanes >= 32 && isPowerOf2_64(uint64_t(lanes)))
          return {Step::known, 1};
      }
      break;
    case Instruction::UDiv:
      if (isLinear(operation.getOperand(0)) && factor2 && *factor2 >= 32 && *factor2 % 32 == 0)
        return same;
      break;
    case Instruction::LShr:
      if (isLinear(operation.getOperand(0)) && factor2 && *factor2 >= 5 && *factor2 < 32)
        return same;
      break;
    default:
      break;
    }
    return one.isSame() && other.isSame() ? same : lost(one, other);
  }

  static std::optional<int64_t> number(const Value *value) {
    auto *constant = dyn_cast<ConstantInt>(value);
    return constant && constant->getValue().getSignificantBits() <= 32 ? std::optional<int64_t>(constant->getSExtValue()) : std::nullopt;
  }

  // Whether neighbours may leave a block for different ones.
  bool parts(const BasicBlock *block) const {
    const Instruction *end = block->getTerminator();
    if (auto *branch = dyn_cast<BranchInst>(end))
      return branch->isConditional() && !of(branch->getCondition()).isSame();
    if (auto *choice = dyn_cast<SwitchInst>(end))
      return !of(choice->getCondition()).isSame();
    return end->getNumSuccessors() > 1;
  }

  // Whether neighbours may come to a block by different ways.
  bool partsBefore(const BasicBlock *block) const {
    const DomTreeNode *node = tree.getNode(const_cast<BasicBlock *>(block));
    if (!node || !node->getIDom())
      return true;
    const BasicBlock *first = node->getIDom()->getBlock();
    std::set<const BasicBlock *> seen;
    std::vector<const BasicBlock *> open(pred_begin(block), pred_end(block));
    while (!open.empty()) {
      const BasicBlock *at = open.back();
      open.pop_back();
      if (!seen.insert(at).second)
        continue;
      if (parts(at))
        return true;
      if (at != first)
        open.insert(open.end(), pred_begin(at), pred_end(at));
    }
    return false;
  }

  Step phi(const PHINode &node) const {
    const BasicBlock *block = node.getParent();
    bool isHeader = loops.isLoopHeader(block);
    bool parted = !isHeader && partsBefore(block);
    Step all;
    const Value *only = node.getNumIncomingValues() > 0 ? node.getIncomingValue(0) : nullptr;
    for (unsigned i = 0; i < node.getNumIncomingValues(); i++) {
      const Value *value = node.getIncomingValue(i);
      if (value != only)
        only = nullptr;
      Step one = of(value);
      // What a loop leaves behind, which some neighbours may have left earlier: any of the loops that end here.
      auto *made = dyn_cast<Instruction>(value);
      const Loop *inside = loops.getLoopFor(node.getIncomingBlock(i));
      for (; made && inside && !inside->contains(block); inside = inside->getParentLoop()) {
        SmallVector<BasicBlock *, 4> exits;
        inside->getExitingBlocks(exits);
        if (inside->contains(made) && any_of(exits, [&](const BasicBlock *exit) { return parts(exit); })) {
          one = lost(one, one);
          only = nullptr;
        }
      }
      if (one.kind == Step::open)
        continue;
      if (all.kind == Step::open)
        all = one;
      else if (!(all == one))
        all = all.kind <= Step::even && one.kind <= Step::even && !isHeader ? Step{Step::even, 0} : lost(all, one);
    }
    return parted && !only ? lost(all, all) : all;
  }

  // A number that is a part of a larger one, which was put together of such: as small structures and vectors are passed.
  static const Value *partOf(const TruncInst &cast) {
    uint64_t from = 0, bits = cast.getType()->getScalarSizeInBits();
    const Value *whole = cast.getOperand(0);
    if (auto *shift = dyn_cast<LShrOperator>(whole); shift && isa<ConstantInt>(shift->getOperand(1))) {
      from = cast_or_null<ConstantInt>(shift->getOperand(1))->getZExtValue();
      whole = shift->getOperand(0);
    }
    const Value *found = nullptr;
    std::vector<const Value *> open = {whole};
    while (!open.empty()) {
      const Value *value = open.back();
      open.pop_back();
      auto *operation = dyn_cast<BinaryOperator>(value);
      if (operation && operation->getOpcode() == Instruction::Or) {
        open.push_back(operation->getOperand(0));
        open.push_back(operation->getOperand(1));
        continue;
      }
      uint64_t at = 0;
      if (operation && operation->getOpcode() == Instruction::Shl && isa<ConstantInt>(operation->getOperand(1))) {
        at = cast_or_null<ConstantInt>(operation->getOperand(1))->getZExtValue();
        value = operation->getOperand(0);
      }
      auto *piece = dyn_cast<ZExtInst>(value);
      if (!piece)
        return nullptr;
      uint64_t length = piece->getOperand(0)->getType()->getScalarSizeInBits();
      if (at >= from + bits || at + length <= from)
        continue;
      if (found || at != from || length != bits)
        return nullptr;
      found = piece->getOperand(0);
    }
    return found;
  }

  Step compute(const Instruction &instruction) const {
    auto at = [&](unsigned operand) { return of(instruction.getOperand(operand)); };
    if (auto *node = dyn_cast<PHINode>(&instruction))
      return phi(*node);
    if (auto *operation = dyn_cast<BinaryOperator>(&instruction))
      return binary(*operation, at(0), at(1), number(operation->getOperand(0)), number(operation->getOperand(1)));
    if (auto *cast = dyn_cast<TruncInst>(&instruction)) {
      if (const Value *part = partOf(*cast))
        return of(part);
      // The whole way through a SIMD-group must be a number of the type.
      unsigned bits = cast->getType()->getScalarSizeInBits();
      Step whole = at(0);
      bool fits = whole.kind != Step::known || (bits >= 8 && (bits > 32 || std::abs(whole.by) < (int64_t(1) << (bits - 1)) / 32));
      if (!fits)
        return lost(whole, whole);
    }
    if (isa<CastInst, FreezeInst>(instruction)) {
      bool isNumber = instruction.getType()->isIntOrPtrTy() && instruction.getOperand(0)->getType()->isIntOrPtrTy();
      return at(0).isSame() || isNumber ? at(0) : lost(at(0), at(0));
    }
    if (auto *step = dyn_cast<GetElementPtrInst>(&instruction)) {
      const DataLayout &data = body.getDataLayout();
      Step all = of(step->getPointerOperand());
      for (auto type = gep_type_begin(step); type != gep_type_end(step); ++type) {
        if (type.isStruct())
          continue;
        all = sum(all, times(of(type.getOperand()), int64_t(type.getSequentialElementStride(data).getFixedValue())), 1);
      }
      return all;
    }
    if (isa<SelectInst>(instruction)) {
      Step one = at(1), other = at(2);
      if (one.kind == Step::open || other.kind == Step::open || at(0).kind == Step::open)
        return {};
      if (!at(0).isSame())
        return lost(lost(one, other), at(0));
      return one == other ? one : one.kind <= Step::even && other.kind <= Step::even ? Step{Step::even, 0} : lost(one, other);
    }
    if (auto *extract = dyn_cast<ExtractElementInst>(&instruction)) {
      auto *place = dyn_cast<ConstantInt>(extract->getIndexOperand());
      return place ? ofComponent(extract->getVectorOperand(), unsigned(place->getZExtValue()), 16) : lost(at(0), at(1));
    }
    if (auto *load = dyn_cast<LoadInst>(&instruction)) {
      if (at(0).kind == Step::open)
        return {};
      Root root = rootOf(load->getPointerOperand());
      if (root.kind == Root::own)
        return {Step::unknown, 0};
      return at(0).isSame() ? same : Step{Step::data, 0};
    }
    if (isCallOf(&instruction, laneName))
      return {Step::known, 1};
    if (isCallOf(&instruction, allocateName))
      return same;
    if (isa<AllocaInst>(instruction))
      return {Step::unknown, 0};
    if (auto *call = dyn_cast<CallBase>(&instruction)) {
      if (call->mayReadOrWriteMemory() && libraryOf(call->getCalledFunction() ? call->getCalledFunction()->getSubprogram() : nullptr) != Library::math)
        return {Step::data, 0};
      if (any_of(call->args(), [&](const Use &argument) { return argument->getType()->isPointerTy(); }))
        return {Step::unknown, 0};
    }
    // All else is the same where what it is made of is.
    Step all = same;
    for (const Use &operand : instruction.operands()) {
      if (isa<BasicBlock, Function>(operand))
        continue;
      Step one = of(operand);
      if (one.kind == Step::open)
        return {};
      if (!one.isSame())
        all = lost(all, one);
    }
    return all;
  }

  void find() {
    ReversePostOrderTraversal<Function *> order(&body);
    for (bool changed = true; changed;) {
      changed = false;
      for (BasicBlock *block : order)
        for (Instruction &instruction : *block) {
          if (instruction.getType()->isVoidTy())
            continue;
          Step &known = steps[&instruction], next = compute(instruction);
          if (next.kind < known.kind)
            continue;
          if (known.kind == Step::known && next.kind == Step::known && next.by != known.by)
            next = {Step::unknown, 0};
          if (!(next == known)) {
            known = next;
            changed = true;
          }
        }
    }
  }

  // Whether it is a load of a pointer that the kernel was passed: in the engine's own code, from what the threadgroup holds.
  static std::optional<unsigned> heldBy(const Value *address) {
    auto *argument = dyn_cast<Argument>(address->stripInBoundsConstantOffsets());
    if (!argument || argument->getArgNo() < parameterHeld)
      return std::nullopt;
    return argument->getArgNo() - parameterHeld;
  }

  Root rootOf(const Value *pointer) const {
    std::set<const Value *> seen;
    std::vector<const Value *> open = {pointer};
    std::optional<Root> all;
    while (!open.empty()) {
      const Value *value = open.back();
      open.pop_back();
      if (!seen.insert(value).second || isa<ConstantPointerNull, UndefValue>(value))
        continue;
      Root root = {Root::unknown};
      if (auto *step = dyn_cast<GEPOperator>(value)) {
        open.push_back(step->getPointerOperand());
        continue;
      } else if (auto *node = dyn_cast<PHINode>(value)) {
        open.insert(open.end(), node->value_op_begin(), node->value_op_end());
        continue;
      } else if (auto *select = dyn_cast<SelectInst>(value)) {
        open.push_back(select->getTrueValue());
        open.push_back(select->getFalseValue());
        continue;
      } else if (isa<AllocaInst>(value)) {
        root = {Root::own};
      } else if (isa<GlobalVariable>(value)) {
        root = {Root::table};
      } else if (std::optional<unsigned> held = heldBy(value)) {
        root = {Root::argument, *held};
      } else if (isCallOf(value, allocateName)) {
        root = {Root::threadgroup};
      } else if (auto *load = dyn_cast<LoadInst>(value)) {
        if (std::optional<unsigned> from = heldBy(load->getPointerOperand()); from && !isKernels(*load))
          root = {Root::argument, *from};
      } else if (auto *cast = dyn_cast<CastInst>(value)) {
        if (cast->getOperand(0)->getType()->isIntOrPtrTy()) {
          open.push_back(cast->getOperand(0));
          continue;
        }
      }
      if (all && !(*all == root))
        return {Root::unknown};
      all = root;
    }
    return all.value_or(Root{Root::unknown});
  }

  // Whether it comes from the kernel, and not from the engine's code around it.
  static bool isKernels(const Instruction &instruction) {
    const DILocation *at = instruction.getDebugLoc(), *inner = nullptr;
    for (; at && at->getInlinedAt(); at = at->getInlinedAt())
      inner = at;
    return inner && isUsers(inner->getScope()->getSubprogram());
  }

  // Where the user wrote it: in this call of the function that it is in.
  static const DILocation *userOf(const DILocation *at) {
    while (at && !isUsers(at->getScope()->getSubprogram()))
      at = at->getInlinedAt();
    return at;
  }

  static Place placeOf(const DILocation *at) {
    at = userOf(at);
    return at ? Place{at->getLine(), at->getColumn()} : Place();
  }

  // The function of the library that the user called, if it is inside one.
  static StringRef libraryCall(const DILocation *at) {
    StringRef name;
    for (; at && !isUsers(at->getScope()->getSubprogram()); at = at->getInlinedAt())
      name = baseName(at->getScope()->getSubprogram());
    return at ? name : "";
  }

  // Of the vectors that a function of the library takes, by its mangled name: how they are passed does not show it.
  static unsigned componentsOf(StringRef name) {
    unsigned most = 1;
    for (size_t at = name.find("Li"); at != StringRef::npos; at = name.find("Li", at + 2))
      if (at + 3 < name.size() && name[at + 2] >= '1' && name[at + 2] <= '4' && name[at + 3] == 'E')
        most = std::max(most, unsigned(name[at + 2] - '0'));
    return most;
  }

  static unsigned lanesOf(const Type *type) {
    auto *vector = dyn_cast<FixedVectorType>(type);
    return vector ? vector->getNumElements() : 1;
  }

  void access(const Instruction &instruction, const Value *pointer, std::optional<uint64_t> bytes, bool reads, bool writes) {
    Root root = rootOf(pointer);
    if (root.kind == Root::own || root.kind == Root::table)
      return;
    const DILocation *at = userOf(instruction.getDebugLoc());
    Place place = placeOf(at);
    together.push_back({{root, reads, writes, bytes.value_or(0), of(pointer), place}, pointer, at});
    if (!bytes)
      uncounted.insert(place);
  }

  // What one place of the text reads or writes is one access, also where it is a structure whose members have come apart.
  void putTogether(Work &work) {
    auto isOne = [](const Part &one, const Part &other) {
      Access access = one.access;
      access.bytes = other.access.bytes;
      return one.at == other.at && !(access < other.access) && !(other.access < access);
    };
    while (!together.empty()) {
      Part first = together.front();
      std::map<int64_t, uint64_t> pieces;
      std::vector<Part> rest;
      for (const Part &part : together) {
        auto *way = isOne(first, part) ? dyn_cast<SCEVConstant>(distance(first.pointer, part.pointer)) : nullptr;
        if (way && way->getAPInt().getSignificantBits() <= 48 && pieces.insert({way->getAPInt().getSExtValue(), part.access.bytes}).second)
          continue;
        rest.push_back(part);
      }
      together = std::move(rest);
      std::optional<int64_t> end;
      uint64_t bytes = 0;
      auto add = [&] {
        Access access = first.access;
        access.bytes = bytes;
        work.accesses[access]++;
      };
      for (auto [from, size] : pieces) {
        if (end && *end != from) {
          add();
          bytes = 0;
        }
        bytes += size;
        end = from + int64_t(size);
      }
      add();
    }
  }

  const SCEV *distance(const Value *from, const Value *to) {
    return evolution.getMinusSCEV(evolution.getSCEV(const_cast<Value *>(to)), evolution.getSCEV(const_cast<Value *>(from)));
  }

  void count(Work &work, const Instruction &instruction) {
    if (isa<DbgInfoIntrinsic>(instruction) || !isKernels(instruction))
      return;
    const DataLayout &data = body.getDataLayout();
    auto size = [&](const Type *type) { return data.getTypeStoreSize(const_cast<Type *>(type)).getFixedValue(); };
    const Type *type = instruction.getType();
    if (auto *load = dyn_cast<LoadInst>(&instruction))
      return access(instruction, load->getPointerOperand(), size(type), true, false);
    if (auto *store = dyn_cast<StoreInst>(&instruction))
      return access(instruction, store->getPointerOperand(), size(store->getValueOperand()->getType()), false, true);
    switch (instruction.getOpcode()) {
    case Instruction::FAdd:
    case Instruction::FSub:
    case Instruction::FMul:
    case Instruction::FDiv:
    case Instruction::FRem:
      work.flops += lanesOf(type);
      return;
    default:
      break;
    }
    if (isa<BinaryOperator>(instruction) && !type->isIntOrIntVectorTy(1)) {
      // Where a pixel of an imageblock lies is the library's affair.
      if (!instruction.getDebugLoc()->getScope()->getSubprogram()->getFilename().ends_with("metal_imageblocks"))
        work.integer += lanesOf(type);
      return;
    }
    auto *call = dyn_cast<CallBase>(&instruction);
    // What the optimiser shall not see is no operation.
    if (!call || call->isInlineAsm())
      return;
    Place place = placeOf(instruction.getDebugLoc());
    auto fact = [&](const char *name) { facts.insert({name, place}); };
    if (auto *copy = dyn_cast<MemTransferInst>(call)) {
      auto *length = dyn_cast<ConstantInt>(copy->getLength());
      std::optional<uint64_t> bytes = length ? std::optional<uint64_t>(length->getZExtValue()) : std::nullopt;
      access(instruction, copy->getSource(), bytes, true, false);
      return access(instruction, copy->getDest(), bytes, false, true);
    }
    if (auto *fill = dyn_cast<MemSetInst>(call)) {
      auto *length = dyn_cast<ConstantInt>(fill->getLength());
      return access(instruction, fill->getDest(), length ? std::optional<uint64_t>(length->getZExtValue()) : std::nullopt, false, true);
    }
    if (auto *intrinsic = dyn_cast<IntrinsicInst>(call)) {
      if (intrinsic->isAssumeLikeIntrinsic())
        return;
      // The name behind `llvm.`.
      StringRef name = Intrinsic::getBaseName(intrinsic->getIntrinsicID()).drop_front(5);
      work.calls[{name.str(), type->isFPOrFPVectorTy(), lanesOf(type)}]++;
      return;
    }
    if (isCallOf(call, barrierName))
      return fact("barrier");
    if (isCallOf(call, allocateName))
      return fact("threadgroup_memory");
    if (isCallOf(call, simdBarrierName) || isCallOf(call, laneName))
      return fact("simdgroup");
    if (isCallOf(call, combineName)) {
      fact("simdgroup");
      StringRef name = libraryCall(instruction.getDebugLoc());
      if (name.ends_with("sum") || name.ends_with("product"))
        uncounted.insert(place);
      if (name.starts_with("simdgroup_multiply"))
        work.calls[{name.str(), true, 1}]++;
      return;
    }
    if (isCallOf(call, logName))
      return fact("print");
    Function *callee = call->getCalledFunction();
    Library library = callee ? libraryOf(callee->getSubprogram()) : Library::none;
    switch (library) {
    case Library::math: {
      bool isFloat = type->isFPOrFPVectorTy() || callee->getName().contains("bfloat");
      for (const Use &argument : call->args()) {
        if (argument->getType()->isPointerTy() && rootOf(argument).kind != Root::own)
          uncounted.insert(place);
        isFloat |= argument->getType()->isFPOrFPVectorTy();
      }
      work.calls[{baseName(callee->getSubprogram()).str(), isFloat, componentsOf(callee->getName())}]++;
      return;
    }
    case Library::atomic:
      return atomic(work, *call, baseName(callee->getSubprogram()), place);
    case Library::texture:
      // It reads the threadgroup's memory, pixel by pixel.
      if (callee->getName().contains("imageblock_slice"))
        uncounted.insert(place);
      return;
    case Library::none:
      // Through a table of functions, or by itself.
      uncounted.insert(place);
    }
  }

  void atomic(Work &work, const CallBase &call, StringRef name, Place place) {
    if (name.contains("fence")) {
      facts.insert({"fence", place});
      return;
    }
    if (call.arg_empty() || !call.getArgOperand(0)->getType()->isPointerTy()) {
      uncounted.insert(place);
      return;
    }
    const Type *value = call.getType();
    if (!name.contains("load"))
      for (unsigned i = 1; i < call.arg_size() && (i == 1 || value->isPointerTy()); i++)
        value = call.getArgOperand(i)->getType();
    Root root = rootOf(call.getArgOperand(0));
    if (root.kind != Root::threadgroup)
      facts.insert({root.kind == Root::argument ? "atomic " + std::to_string(root.number) : "atomic unknown", place});
    bool loads = name.contains("load"), stores = name.contains("store");
    uint64_t bytes = body.getDataLayout().getTypeStoreSize(const_cast<Type *>(value)).getFixedValue();
    access(call, call.getArgOperand(0), bytes, !stores, !loads);
    for (const char *operation : {"add", "sub", "and", "or", "xor"})
      if (name.starts_with("atomic_fetch_") && name.contains(std::string("_") + operation + "_"))
        (value->isFloatingPointTy() ? work.flops : work.integer)++;
  }

  void countBlock(Work &work, const BasicBlock &block) {
    for (const Instruction &instruction : block)
      count(work, instruction);
    putTogether(work);
  }

  // Of a loop's round, or of the body without what its loops do.
  Work workOf(const Loop *loop) {
    Work work;
    if (loop) {
      Loop::LocRange range = loop->getLocRange();
      work.place = placeOf(range ? range.getStart().get() : loop->getStartLoc().get());
    }
    for (const BasicBlock &block : body)
      if (loops.getLoopFor(&block) == loop && tree.isReachableFromEntry(&block))
        countBlock(work, block);
    const std::vector<Loop *> &inner = loop ? loop->getSubLoops() : loops.getTopLevelLoops();
    // LLVM has them the other way round.
    for (const Loop *one : reverse(inner)) {
      Work round = workOf(one), head;
      const BasicBlock *header = one->getHeader();
      bool tests = one->isLoopExiting(header) && header != one->getLoopLatch();
      if (tests) {
        std::set<Place> before = uncounted;
        countBlock(head, *header);
        uncounted = before;
      }
      // What is in front of the loop's rounds counts once more than they do.
      work.add(head, 1);
      const BasicBlock *exit = tests ? header : one->getLoopLatch();
      auto *rounds = exit && one->isLoopExiting(exit) ? dyn_cast<SCEVConstant>(evolution.getExitCount(one, exit)) : nullptr;
      if (rounds && rounds->getAPInt().getActiveBits() < 64) {
        work.add(round, rounds->getAPInt().getZExtValue() + (tests ? 0 : 1));
      } else {
        work.loops.push_back(std::move(round));
      }
    }
    return work;
  }
};

} // namespace

Refusal checkCalls(const Kernel &kernel) {
  for (const Instruction &instruction : instructions(*kernel.body)) {
    auto *call = dyn_cast<CallBase>(&instruction);
    const Function *callee = call ? call->getCalledFunction() : nullptr;
    if (callee && !callee->isDeclaration() && libraryOf(callee->getSubprogram()) == Library::none)
      return "it calls a function that cannot be a part of it, by recursion or without optimisation";
  }
  return std::nullopt;
}

void tellAnalysis(const Kernel &kernel, FunctionAnalysisManager &analyses) {
  Function &body = *kernel.body;
  Analysis(body, analyses.getResult<LoopAnalysis>(body), analyses.getResult<ScalarEvolutionAnalysis>(body),
           analyses.getResult<DominatorTreeAnalysis>(body))
      .print(errs());
}

} // namespace hostmetal
