// The plugin that clang loads, and the order of the pass's work.
//
// Everything happens before clang's own optimisation, on a module with one kernel: the runtime's calls get names, what may wait is inlined, the
// body is simplified as clang would a function, and taken apart. Then clang optimises the loops like any others. A kernel whose threads do not wait
// for each other comes the same way when it has loops, and is refused when it gets no tiles (tiles.cpp); else it is a loop already
// (hostmetal_kernel.h) and says so itself: of the pass it takes what all loops over threads need. One that
// runs on stacks says so too, and takes what all kernels need.

#include "alignment.h"
#include "analysis.h"
#include "conditions.h"
#include "differences.h"
#include "joins.h"
#include "pass.h"
#include "ranges.h"
#include "spans.h"
#include "streams.h"
#include "uses.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/PassPlugin.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/Scalar/ADCE.h"
#include "llvm/Transforms/Scalar/InstSimplifyPass.h"
#include "llvm/Transforms/Scalar/SCCP.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/Scalarizer.h"
#include "llvm/Transforms/Utils/LCSSA.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"

#include <climits>
#include <cstdlib>

using namespace llvm;

namespace hostmetal {

// What crates/hostmetal/src/msl/engine.rs looks for.
constexpr const char *refusalPrefix = "hostmetal-pass: refused: ";

namespace {

// Leaves a module that compiles quickly: the object is thrown away.
void empty(Module &module) {
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    GlobalValue::LinkageTypes linkage = function.getLinkage();
    function.deleteBody();
    function.setLinkage(linkage);
    IRBuilder<> builder(BasicBlock::Create(module.getContext(), "", &function));
    if (function.getReturnType()->isVoidTy())
      builder.CreateRetVoid();
    else
      builder.CreateRet(PoisonValue::get(function.getReturnType()));
  }
}

void refuse(Module &module, const std::string &why) {
  errs() << refusalPrefix << why << '\n';
  empty(module);
}

// Where a kernel says which engine it is for.
constexpr const char *engineName = "hm_engine";
// The mark of a kernel whose threads do not wait for each other (msl/kernels.rs).
constexpr const char *tilesName = "hm_only_tiles";
// The mark of one that is not to be compiled, but told of (analysis.cpp).
constexpr const char *analysisName = "hm_analysis";
// The mark of one that counts what it does, on a stack per thread (counts.cpp).
constexpr const char *countsName = "hm_counts";

void signArtefact(Module &module, const char *engine) {
  Constant *text = ConstantDataArray::getString(module.getContext(), engine);
  new GlobalVariable(module, text->getType(), true, GlobalValue::ExternalLinkage, text, engineName);
}

#ifdef HOSTMETAL_PLANTS
// A mistake made on purpose, by which scripts/sanitize/run sees that mistakes of the pass are reported.
void plant() {
  volatile int largest = INT_MAX;
  if (getenv("HOSTMETAL_PASS_PLANT"))
    largest = largest + 1;
}
#else
void plant() {}
#endif

struct Prepare : PassInfoMixin<Prepare> {
  PreservedAnalyses run(Module &module, ModuleAnalysisManager &) {
    plant();
    Kernel kernel;
    Refusal refusal = findKernel(module, kernel);
    if (!refusal)
      refusal = prepare(module, kernel);
    if (refusal)
      refuse(module, *refusal);
    return PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }
};

// Before loops are unrolled: behind it, the end of a loop without SIMD-group functions is a place in the loop around it.
struct Meet : PassInfoMixin<Meet> {
  PreservedAnalyses run(Module &module, ModuleAnalysisManager &) {
    Kernel kernel;
    if (!findKernel(module, kernel))
      dropMeetings(*kernel.body);
    return PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }
};

struct Split : PassInfoMixin<Split> {
  PreservedAnalyses run(Module &module, ModuleAnalysisManager &analyses) {
    Kernel kernel;
    if (findKernel(module, kernel))
      return PreservedAnalyses::none(); // refused already
    bool onlyTiles = module.getGlobalVariable(tilesName, true);
    Refusal refusal = checkBody(*kernel.body);
    FunctionAnalysisManager &functions = analyses.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
    if (!refusal && combines(*kernel.body)) {
      takeApart(*kernel.body, functions);
      unswitchLarger();
    }
    Regions regions;
    if (!refusal)
      refusal = split(*kernel.body, regions);
    if (!refusal && onlyTiles && !regions.objects.empty())
      refusal = "it has private memory";
    if (!refusal)
      refusal = makeLoops(kernel, regions, functions);
    restoreLogCalls(module);
    if (!refusal && onlyTiles && !regions.tiled)
      refusal = "it gets no tiles";
    if (!refusal)
      signArtefact(module, onlyTiles ? "loop in tiles" : regions.tiled ? "pass in tiles" : "pass");
    if (!refusal && verifyModule(module, &errs()))
      refusal = "the pass made code that LLVM does not accept";
    if (refusal)
      refuse(module, *refusal);
    return PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }

private:
  static bool combines(const Function &body) {
    return any_of(instructions(body), [](const Instruction &instruction) { return isCallOf(&instruction, combineName); });
  }
  // Vectors that are only computed with into their elements: a loop over lanes that has a vector is none that LLVM makes vectors of.
  static void takeApart(Function &body, FunctionAnalysisManager &functions) {
    FunctionPassManager passes;
    passes.addPass(ScalarizerPass());
    passes.addPass(InstSimplifyPass());
    passes.addPass(ADCEPass());
    functions.invalidate(body, passes.run(body, functions));
  }
  // A loop over lanes whose region ends as a uniform value says is made one for each way, also where that is many instructions: what is kept from one round of
  // the kernel's loop to the next is copied there, and with a branch inside no vectors are made of it.
  static void unswitchLarger() {
    StringMap<cl::Option *> &options = cl::getRegisteredOptions();
    if (auto option = options.find("unswitch-threshold"); option != options.end())
      static_cast<cl::opt<int> *>(option->second)->setValue(600);
  }
};

// Tells what the kernel does, and leaves nothing of it; or lets it count.
struct Tell : PassInfoMixin<Tell> {
  FunctionPassManager optimise;
  explicit Tell(FunctionPassManager optimise_) : optimise(std::move(optimise_)) {}
  PreservedAnalyses run(Module &module, ModuleAnalysisManager &analyses) {
    bool counts = module.getGlobalVariable(countsName, true);
    if (!counts && !module.getGlobalVariable(analysisName, true))
      return PreservedAnalyses::all();
    Kernel kernel;
    keepLibraryCalls(module);
    Refusal refusal = findKernel(module, kernel);
    if (!refusal)
      refusal = prepare(module, kernel);
    if (refusal) {
      refuse(module, *refusal);
      return PreservedAnalyses::none();
    }
    PreservedAnalyses inlined = AlwaysInlinerPass(false).run(module, analyses);
    analyses.invalidate(module, inlined);
    if (Refusal refusal = checkCalls(kernel)) {
      refuse(module, *refusal);
      return PreservedAnalyses::none();
    }
    FunctionAnalysisManager &functions = analyses.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
    simplify(*kernel.body, functions);
    if (!counts) {
      tellAnalysis(kernel, std::move(optimise), functions);
      empty(module);
      signArtefact(module, "analysis");
      return PreservedAnalyses::none();
    }
    refusal = insertCounters(module, kernel, functions);
    restoreRuntimeCalls(module);
    restoreLogCalls(module);
    if (!refusal && verifyModule(module, &errs()))
      refusal = "the pass made code that LLVM does not accept";
    if (refusal)
      refuse(module, *refusal);
    return PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }

private:
  // So far that each load, store and operation of the text is still there once.
  static void simplify(Function &body, FunctionAnalysisManager &functions) {
    FunctionPassManager passes;
    passes.addPass(SROAPass(SROAOptions::PreserveCFG));
    passes.addPass(SCCPPass());
    passes.addPass(InstSimplifyPass());
    passes.addPass(ADCEPass());
    passes.addPass(LoopSimplifyPass());
    passes.addPass(LCSSAPass());
    PreservedAnalyses simplified = passes.run(body, functions);
    functions.invalidate(body, simplified);
  }
};

// All of it, for a kernel that waits to be taken apart.
struct Expand : PassInfoMixin<Expand> {
  ModulePassManager passes;
  explicit Expand(ModulePassManager passes_) : passes(std::move(passes_)) {}
  PreservedAnalyses run(Module &module, ModuleAnalysisManager &analyses) {
    return module.getGlobalVariable(engineName) ? PreservedAnalyses::all() : passes.run(module, analyses);
  }
  static bool isRequired() { return true; }
};

} // namespace

} // namespace hostmetal

extern "C" __attribute__((visibility("default"))) PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "hostmetal", "1", [](PassBuilder &builder) {
            builder.registerPipelineStartEPCallback([&builder](ModulePassManager &manager, OptimizationLevel level) {
              ModulePassManager passes;
              passes.addPass(hostmetal::Prepare());
              passes.addPass(AlwaysInlinerPass(false));
              passes.addPass(hostmetal::Meet());
              FunctionPassManager simplify = builder.buildFunctionSimplificationPipeline(level, ThinOrFullLTOPhase::None);
              passes.addPass(createModuleToFunctionPassAdaptor(std::move(simplify)));
              passes.addPass(hostmetal::Split());
              manager.addPass(hostmetal::Tell(builder.buildFunctionSimplificationPipeline(level, ThinOrFullLTOPhase::None)));
              manager.addPass(hostmetal::Expand(std::move(passes)));
            });
            builder.registerOptimizerEarlyEPCallback([](ModulePassManager &manager, OptimizationLevel) { manager.addPass(hostmetal::Spans()); });
            builder.registerVectorizerStartEPCallback(
                [](FunctionPassManager &manager, OptimizationLevel) {
                  manager.addPass(hostmetal::Differences());
                  manager.addPass(LoopSimplifyPass());
                  manager.addPass(hostmetal::Ranges());
                  manager.addPass(hostmetal::Joins());
                  manager.addPass(hostmetal::Conditions());
                });
            builder.registerOptimizerLastEPCallback([](ModulePassManager &manager, OptimizationLevel) {
              manager.addPass(hostmetal::Alignment());
              manager.addPass(hostmetal::Streams());
              manager.addPass(hostmetal::Uses());
            });
          }};
}
