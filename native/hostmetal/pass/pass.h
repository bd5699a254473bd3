// The LLVM pass for kernels whose threads wait for each other: what its parts share.
//
// One thread of a kernel, `pass_body` of hostmetal_kernel.h, becomes loops over the threads of a threadgroup, one for each region
// between two places at which threads wait (CPU implementations of GPU languages call this loop fission or region splitting):
//
//   plugin.cpp    loads into clang, and the order of it all
//   prepare.cpp   calls of the runtime table become calls of the functions below; everything is inlined into the body
//   regions.cpp   what is uniform; the proof that all threads come to each barrier; regions, and what lives from one to another
//   region.cpp    a region as a function of one thread
//   group.cpp     the loops over a threadgroup
//   tiles.cpp     a region for many threads at once, where it has loops that they go through together or goes down columns
//   rounds.cpp    loops whose rounds are each thread's own, made loops that the threads of a tile go through together
//   shapes.cpp    what differs between the threads of a tile, and whether a region may have one
//   simdgroups.cpp the loops over SIMD-groups, where the kernel has their functions
//   joins.cpp, ranges.cpp, spans.cpp, streams.cpp   what kernels without barriers need too
//   analysis.cpp  what a thread does, told instead of compiled
//   registers.cpp how many values of a thread are live at most
//   steps.cpp     by how much values differ between neighbouring threads
//   counts.cpp    counters for what a thread does, in a kernel that keeps its calls of the runtime table
//
// The pass refuses a body for which it cannot prove that every thread of the threadgroup comes to the same barriers in the same order.
// A refusal names its reason on a line of stderr; hostmetal then compiles the kernel for stack switching (crates/hostmetal/src/msl/engine.rs).
#pragma once

#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include <optional>
#include <string>
#include <vector>

namespace hostmetal {

// Calls of the runtime table (hostmetal_runtime.h) while the pass works.
constexpr const char *barrierName = "hm.threadgroup_barrier";
constexpr const char *simdBarrierName = "hm.simdgroup_barrier";
constexpr const char *combineName = "hm.simd_combine";
constexpr const char *allocateName = "hm.threadgroup_allocate";
constexpr const char *laneName = "hm.lane";
// The call of hm_log, at which no thread waits: not one of those above.
constexpr const char *logName = "hostmetal.log";

// Why a kernel is refused; none when it is not.
using Refusal = std::optional<std::string>;

// The one call of the body, which stands for a call for every thread.
struct Kernel {
  llvm::Function *body = nullptr;
  llvm::CallInst *call = nullptr;
};

// Parameters of the body: the position, its number in linear order, the SIMD-group; behind them pointers to what the threadgroup holds.
enum Parameter : unsigned { parameterX, parameterY, parameterZ, parameterLinear, parameterSimdgroup, parameterHeld };

// An SSA value that lives from one region to another, in memory: one for the threadgroup, or one per thread.
struct Slot {
  llvm::AllocaInst *place;
  bool uniform;
};

// A place at which threads wait: a block with the call alone, and the block behind it.
struct Wait {
  llvm::CallInst *call;
  llvm::BasicBlock *block, *next;
  // All threads of the threadgroup, or those of a SIMD-group.
  bool wide;
  // For a SIMD-group function: what computes it, from each lane's object, and the lanes that it is for (32 or 4).
  llvm::Function *combine;
  llvm::AllocaInst *object;
  unsigned width;
};

// A body taken apart. Region 0 begins at the entry, region i at waits[i - 1].next.
struct Regions {
  // Whether SIMD-groups run one after another between barriers, so that uniform means the same in a SIMD-group.
  bool simd = false;
  // Whether some region has tiles (tiles.cpp).
  bool tiled = false;
  std::vector<Wait> waits;
  std::vector<Slot> slots;
  // Private memory: one object per thread.
  std::vector<llvm::AllocaInst *> objects;
};

bool isCallOf(const llvm::Value *value, const char *name);

Refusal findKernel(llvm::Module &module, Kernel &kernel);
Refusal prepare(llvm::Module &module, const Kernel &kernel);
// Makes the calls by name of hm_log what they were.
void restoreLogCalls(llvm::Module &module);
// And those of the runtime table.
void restoreRuntimeCalls(llvm::Module &module);

// Erases the meetings of lanes at the ends of loops that have no SIMD-group function.
void dropMeetings(llvm::Function &body);
Refusal checkBody(llvm::Function &body);
Refusal split(llvm::Function &body, Regions &regions);

Refusal makeLoops(const Kernel &kernel, Regions &regions, llvm::FunctionAnalysisManager &analyses);

} // namespace hostmetal
