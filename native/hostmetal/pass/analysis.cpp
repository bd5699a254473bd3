// What one thread of a kernel does, told instead of compiled: for crates/hostmetal/src/msl/analysis.rs, which says what the lines mean.
//
// Everything is inlined into the one body but functions of the library that stand for one operation (`exp`, atomics, textures), and simplified so far that
// each load, store and operation of the text is still there once. How much values differ between neighbours, steps.cpp finds.

#include "analysis.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace hostmetal {

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

raw_ostream &operator<<(raw_ostream &out, const Place &place) { return out << place.line << ' ' << place.column; }

bool operator<(const Access &one, const Access &other) {
  return std::tie(one.root, one.reads, one.writes, one.bytes, one.step.kind, one.step.by, one.stepY.kind, one.stepY.by, one.place) <
         std::tie(other.root, other.reads, other.writes, other.bytes, other.step.kind, other.step.by, other.stepY.kind, other.stepY.by, other.place);
}

static raw_ostream &operator<<(raw_ostream &out, const Step &step) {
  switch (step.kind) {
  case Step::known:
    return out << step.by;
  case Step::even:
    return out << "even";
  case Step::data:
    return out << "data";
  default:
    return out << "unknown";
  }
}

void Access::print(raw_ostream &out) const {
  switch (root.kind) {
  case Root::argument:
    out << root.number;
    break;
  case Root::threadgroup:
    out << "threadgroup";
    break;
  default:
    out << "unknown";
  }
  out << ' ' << (reads ? writes ? "both" : "read" : "write") << ' ' << bytes << ' ' << step << ' ' << stepY << ' ' << place;
}

void Work::add(const Work &other, uint64_t count) {
  if (count == 0)
    return;
  flops = SaturatingMultiplyAdd(other.flops, count, flops);
  integer = SaturatingMultiplyAdd(other.integer, count, integer);
  for (auto &[access, number] : other.accesses)
    accesses[access] = SaturatingMultiplyAdd(number, count, accesses[access]);
  for (auto &[call, number] : other.calls)
    calls[call] = SaturatingMultiplyAdd(number, count, calls[call]);
  conditional |= other.conditional;
  for (const Work &loop : other.loops) {
    Work scaled;
    scaled.place = loop.place;
    scaled.add(loop, count);
    loops.push_back(std::move(scaled));
  }
}

static raw_ostream &operator<<(raw_ostream &out, const Call &call) {
  return out << call.name << ' ' << (call.isFloat ? "float" : "integer") << ' ' << call.lanes;
}

void Work::printCalls(raw_ostream &out) const {
  for (auto &[call, count] : calls)
    out << linePrefix << "call " << count << ' ' << call << '\n';
}

void Work::print(raw_ostream &out, unsigned depth) const {
  out << linePrefix << "work " << depth << ' ' << place << ' ' << flops << ' ' << integer << (conditional ? " conditional" : " always") << '\n';
  for (auto &[access, count] : accesses) {
    out << linePrefix << "access " << count << ' ';
    access.print(out);
    out << '\n';
  }
  printCalls(out);
  for (const Work &loop : loops)
    loop.print(out, depth + 1);
}

// Where the user wrote it: in this call of the function that it is in.
static const DILocation *userOf(const DILocation *at) {
  while (at && !isUsers(at->getScope()->getSubprogram()))
    at = at->getInlinedAt();
  return at;
}

Place placeOf(const DILocation *at) {
  at = userOf(at);
  return at ? Place{at->getLine(), at->getColumn()} : Place();
}

Place placeOf(const Loop &loop) {
  Loop::LocRange range = loop.getLocRange();
  return placeOf(range ? range.getStart().get() : loop.getStartLoc().get());
}

namespace {

class Analysis {
public:
  Analysis(Function &body_, LoopInfo &loops_, ScalarEvolution &evolution_, DominatorTree &tree_)
      : body(body_), loops(loops_), evolution(evolution_), tree(tree_), steps(body_, loops_, tree_, Axis::x),
        stepsY(body_, loops_, tree_, Axis::y) {}

  Told tell() {
    told.whole = workOf(nullptr);
    return std::move(told);
  }

private:
  Function &body;
  LoopInfo &loops;
  ScalarEvolution &evolution;
  DominatorTree &tree;
  Steps steps, stepsY;
  Told told;
  // Those of a block, until they are put together.
  struct Part {
    Access access;
    Instruction *instruction;
    Value *pointer, *length;
    const DILocation *at;
  };
  std::vector<Part> together;

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

  void access(Instruction &instruction, Value *pointer, std::optional<uint64_t> bytes, bool reads, bool writes, Value *length = nullptr) {
    Root root = rootOf(pointer);
    if (root.kind == Root::own || root.kind == Root::table)
      return;
    const DILocation *at = userOf(instruction.getDebugLoc());
    Place place = placeOf(at);
    together.push_back({{root, reads, writes, bytes.value_or(0), steps.of(pointer), stepsY.of(pointer), place}, &instruction, pointer, bytes ? nullptr : length, at});
    if (!bytes)
      told.uncounted.insert(place);
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
      // In the order of the code.
      std::vector<Part> alike, rest;
      // By how far behind the first they are.
      std::map<int64_t, size_t> pieces;
      for (const Part &part : together) {
        auto *way = isOne(first, part) ? dyn_cast<SCEVConstant>(distance(first.pointer, part.pointer)) : nullptr;
        if (way && way->getAPInt().getSignificantBits() <= 48 && pieces.insert({way->getAPInt().getSExtValue(), alike.size()}).second)
          alike.push_back(part);
        else
          rest.push_back(part);
      }
      together = std::move(rest);
      for (auto piece = pieces.begin(); piece != pieces.end();) {
        const Part &lowest = alike[piece->second];
        Access access = lowest.access;
        int64_t start = piece->first, end = start;
        size_t last = piece->second;
        for (; piece != pieces.end() && piece->first == end; piece++) {
          end += int64_t(alike[piece->second].access.bytes);
          last = std::max(last, piece->second);
          if (alike[piece->second].access.bytes == 0) {
            piece++;
            break;
          }
        }
        access.bytes = uint64_t(end - start);
        work.accesses[access]++;
        told.sites.push_back({access, alike[last].instruction, lowest.pointer, lowest.length});
      }
    }
  }

  const SCEV *distance(const Value *from, const Value *to) {
    return evolution.getMinusSCEV(evolution.getSCEV(const_cast<Value *>(to)), evolution.getSCEV(const_cast<Value *>(from)));
  }

  void count(Work &work, Instruction &instruction) {
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
    if (instruction.isIntDivRem() && !isa<Constant>(instruction.getOperand(1)) && steps.of(instruction.getOperand(1)).isSame())
      told.divisions.insert(placeOf(instruction.getDebugLoc()));
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
    auto fact = [&](const char *name) { told.facts.insert({name, place}); };
    if (auto *copy = dyn_cast<MemTransferInst>(call)) {
      auto *length = dyn_cast<ConstantInt>(copy->getLength());
      std::optional<uint64_t> bytes = length ? std::optional<uint64_t>(length->getZExtValue()) : std::nullopt;
      access(instruction, copy->getSource(), bytes, true, false, copy->getLength());
      return access(instruction, copy->getDest(), bytes, false, true, copy->getLength());
    }
    if (auto *fill = dyn_cast<MemSetInst>(call)) {
      auto *length = dyn_cast<ConstantInt>(fill->getLength());
      return access(instruction, fill->getDest(), length ? std::optional<uint64_t>(length->getZExtValue()) : std::nullopt, false, true,
                    fill->getLength());
    }
    if (auto *intrinsic = dyn_cast<IntrinsicInst>(call)) {
      if (intrinsic->isAssumeLikeIntrinsic())
        return;
      // The name behind `llvm.`.
      StringRef name = Intrinsic::getBaseName(intrinsic->getIntrinsicID()).drop_front(5);
      return function(work, {name.str(), type->isFPOrFPVectorTy(), lanesOf(type)}, place);
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
        told.uncounted.insert(place);
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
          told.uncounted.insert(place);
        isFloat |= argument->getType()->isFPOrFPVectorTy();
      }
      return function(work, {baseName(callee->getSubprogram()).str(), isFloat, componentsOf(callee->getName())}, place);
    }
    case Library::atomic:
      return atomic(work, *call, baseName(callee->getSubprogram()), place);
    case Library::texture:
      // It reads the threadgroup's memory, pixel by pixel.
      if (callee->getName().contains("imageblock_slice"))
        told.uncounted.insert(place);
      return;
    case Library::none:
      // Through a table of functions, or by itself.
      told.uncounted.insert(place);
    }
  }

  void function(Work &work, const Call &call, Place place) {
    work.calls[call]++;
    told.functions.insert({call, place});
  }

  void atomic(Work &work, CallBase &call, StringRef name, Place place) {
    if (name.contains("fence")) {
      told.facts.insert({"fence", place});
      return;
    }
    if (call.arg_empty() || !call.getArgOperand(0)->getType()->isPointerTy()) {
      told.uncounted.insert(place);
      return;
    }
    const Type *value = call.getType();
    if (!name.contains("load"))
      for (unsigned i = 1; i < call.arg_size() && (i == 1 || value->isPointerTy()); i++)
        value = call.getArgOperand(i)->getType();
    Root root = rootOf(call.getArgOperand(0));
    if (root.kind != Root::threadgroup)
      told.facts.insert({root.kind == Root::argument ? "atomic " + std::to_string(root.number) : "atomic unknown", place});
    bool loads = name.contains("load"), stores = name.contains("store");
    uint64_t bytes = body.getDataLayout().getTypeStoreSize(const_cast<Type *>(value)).getFixedValue();
    access(call, call.getArgOperand(0), bytes, !stores, !loads);
    for (const char *operation : {"add", "sub", "and", "or", "xor"})
      if (name.starts_with("atomic_fetch_") && name.contains(std::string("_") + operation + "_"))
        (value->isFloatingPointTy() ? work.flops : work.integer)++;
  }

  // What a block does itself.
  const Work &workOf(BasicBlock &block) {
    auto [known, isNew] = told.blocks.try_emplace(&block);
    if (isNew) {
      for (Instruction &instruction : block)
        count(known->second, instruction);
      putTogether(known->second);
    }
    return known->second;
  }

  // Whether a block is come to whenever the body runs, or in every round of the loop around it.
  bool isAlways(const BasicBlock *block, const Loop *loop) const {
    if (!loop)
      return all_of(body, [&](const BasicBlock &end) { return !isa<ReturnInst>(end.getTerminator()) || tree.dominates(block, &end); });
    SmallVector<BasicBlock *, 4> exits;
    loop->getExitingBlocks(exits);
    return loop->getLoopLatch() && tree.dominates(block, loop->getLoopLatch()) &&
           all_of(exits, [&](const BasicBlock *exit) { return exit == loop->getHeader() || tree.dominates(block, exit); });
  }

  // Of a loop's round, or of the body without what its loops do.
  Work workOf(const Loop *loop) {
    Work work;
    if (loop)
      work.place = placeOf(*loop);
    for (BasicBlock &block : body) {
      if (loops.getLoopFor(&block) != loop || !tree.isReachableFromEntry(&block))
        continue;
      const Work &own = workOf(block);
      work.add(own, 1);
      work.conditional |= !own.isNothing() && !isAlways(&block, loop);
    }
    const std::vector<Loop *> &inner = loop ? loop->getSubLoops() : loops.getTopLevelLoops();
    // LLVM has them the other way round.
    for (const Loop *one : reverse(inner)) {
      Work round = workOf(one);
      const BasicBlock *header = one->getHeader();
      bool tests = one->isLoopExiting(header) && header != one->getLoopLatch();
      // What is in front of the loop's rounds counts once more than they do.
      const Work *head = tests ? &workOf(*one->getHeader()) : nullptr;
      bool isSometimes = !isAlways(header, loop);
      if (head) {
        work.add(*head, 1);
        work.conditional |= !head->isNothing() && isSometimes;
      }
      const BasicBlock *exit = tests ? header : one->getLoopLatch();
      auto *rounds = exit && one->isLoopExiting(exit) ? dyn_cast<SCEVConstant>(evolution.getExitCount(one, exit)) : nullptr;
      if (rounds && rounds->getAPInt().getActiveBits() < 64) {
        work.add(round, rounds->getAPInt().getZExtValue() + (tests ? 0 : 1));
        bool isSomething = !round.isNothing() || !round.loops.empty();
        work.conditional |= isSomething && (isSometimes || !one->getExitingBlock());
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

Told analyse(const Kernel &kernel, FunctionAnalysisManager &analyses) {
  Function &body = *kernel.body;
  return Analysis(body, analyses.getResult<LoopAnalysis>(body), analyses.getResult<ScalarEvolutionAnalysis>(body),
                  analyses.getResult<DominatorTreeAnalysis>(body))
      .tell();
}

void tellAnalysis(const Kernel &kernel, FunctionPassManager optimise, FunctionAnalysisManager &analyses) {
  Told told = analyse(kernel, analyses);
  raw_ostream &out = errs();
  for (auto &[name, place] : told.facts)
    out << linePrefix << "fact " << name << ' ' << place << '\n';
  for (Place place : told.uncounted)
    out << linePrefix << "uncounted " << place << '\n';
  for (Place place : told.divisions)
    out << linePrefix << "division " << place << '\n';
  for (auto &[call, place] : told.functions)
    out << linePrefix << "function " << call << ' ' << place << '\n';
  told.whole.print(out, 0);
  if (std::optional<Registers> registers = registersOf(*kernel.body, std::move(optimise), analyses))
    out << linePrefix << "registers " << registers->thread << ' ' << registers->uniform << ' ' << registers->privateBytes << ' ' << registers->place << '\n';
}

} // namespace hostmetal
