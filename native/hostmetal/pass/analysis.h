// What one thread of a kernel does: told instead of compiled (analysis.cpp), or counted while it runs (counts.cpp).
#pragma once

#include "pass.h"
#include "steps.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
#include <set>

namespace hostmetal {

// What crates/hostmetal/src/msl/analysis.rs looks for.
constexpr const char *linePrefix = "hostmetal-pass: analysis: ";

// A place of the user's text.
struct Place {
  unsigned line = 0, column = 0;
  bool operator<(const Place &other) const { return std::tie(line, column) < std::tie(other.line, other.column); }
};

llvm::raw_ostream &operator<<(llvm::raw_ostream &out, const Place &place);

struct Access {
  Root root;
  bool reads, writes;
  uint64_t bytes;
  // Between neighbours in x, and in y.
  Step step, stepY;
  Place place;

  // ROOT USE BYTES STEP STEPY LINE COLUMN
  void print(llvm::raw_ostream &out) const;
};

bool operator<(const Access &one, const Access &other);

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
  // Some of it is not done every time: it stands behind a condition, or behind an early end.
  bool conditional = false;
  std::map<Access, uint64_t> accesses;
  std::map<Call, uint64_t> calls;
  std::vector<Work> loops;

  bool isNothing() const { return !flops && !integer && accesses.empty() && calls.empty(); }
  void add(const Work &other, uint64_t count);
  void print(llvm::raw_ostream &out, unsigned depth) const;
  void printCalls(llvm::raw_ostream &out) const;
};

// An access in the code: behind `last` its address is known, and it is made.
struct Site {
  Access access;
  llvm::Instruction *last;
  llvm::Value *address;
  // Of what has no fixed length.
  llvm::Value *length;
};

// What a thread keeps at one point at most: registers of 32 bits, of its own and alike in a SIMD-group, and bytes that are in no register.
struct Registers {
  uint64_t thread = 0, uniform = 0, privateBytes = 0;
  // Where its own are most.
  Place place;
};

// What is known of a body.
struct Told {
  Work whole;
  std::set<std::pair<std::string, Place>> facts;
  std::set<Place> uncounted;
  // Divisions of integers by what all threads have alike and the text does not tell.
  std::set<Place> divisions;
  // Where the library's functions are called.
  std::set<std::pair<Call, Place>> functions;
  std::vector<Site> sites;
  // Of each block alone.
  std::map<const llvm::BasicBlock *, Work> blocks;
};

Place placeOf(const llvm::DILocation *at);

Told analyse(const Kernel &kernel, llvm::FunctionAnalysisManager &analyses);
// Where the user wrote a loop.
Place placeOf(const llvm::Loop &loop);

// Before inlining: functions of the library that stand for one operation stay calls.
void keepLibraryCalls(llvm::Module &module);
// Refuses a body with calls in which anything may happen.
Refusal checkCalls(const Kernel &kernel);
// Prints what is known, line by line; everything is inlined into the body, which is as `optimise` leaves it afterwards.
void tellAnalysis(const Kernel &kernel, llvm::FunctionPassManager optimise, llvm::FunctionAnalysisManager &analyses);

// What a thread of the body needs (registers.cpp), once it is optimised; nothing of one that is too long to look at.
std::optional<Registers> registersOf(llvm::Function &body, llvm::FunctionPassManager optimise, llvm::FunctionAnalysisManager &analyses);

// Lets the body count what it does (counts.cpp), and prints what is counted.
Refusal insertCounters(llvm::Module &module, const Kernel &kernel, llvm::FunctionAnalysisManager &analyses);

} // namespace hostmetal
