// The contract between a compiled kernel and the host that runs it (the Rust executor): one table of functions which the host
// stores in `hm_runtime` after dlopen and before the first call. Kernels without barriers and SIMD-group functions never use it.
//
// SIMD-group functions are a rendezvous: each lane fills a struct with its inputs, calls `simd_combine`, and finds its result in
// the same struct; the combine function runs once, on the last lane to arrive. Which lanes meet is decided by the call site, so
// every such call is convergent (the default for clang's OpenCL mode, also for indirect calls: no pass may make it depend on a
// further condition) and nomerge (no pass may join two call sites). The functions around it are always_inline, so that each use
// in the user's source is a call site of its own. `noduplicate` is deliberately not used: it would forbid inlining a helper that is
// called twice, which would make two divergent groups meet at one site. Behind the optimiser the call is followed by an empty
// convergent asm statement in the same block, which keeps the code generator from duplicating the block and from turning the call
// into a jump.
#pragma once

extern "C" {

// value[lane] is that lane's struct, or null when the lane does not take part. In a quad the lanes may be numbered from 0 or as in the
// SIMD-group.
struct hm_simd_values {
  void *value[32];
};

// Pointers to functions get a type name of their own: a declarator of a function pointer inside a struct is taken for a pointer to a
// function in the generic address space, which does not exist.
typedef void (*hm_combine)(const hm_simd_values *values, unsigned active_mask);
typedef void (*hm_barrier)(unsigned mem_flags);
typedef void (*hm_simd_combine)(hm_combine combine, void *value, unsigned width);
typedef void *(*hm_threadgroup_allocate)(unsigned id, unsigned long size, unsigned long align);
typedef unsigned (*hm_lane)(void);
typedef void (*hm_threads_disagree)(void);
typedef void (*hm_count)(unsigned site, unsigned thread, unsigned long round, const void *address, unsigned long bytes);
typedef void (*hm_finish)(unsigned thread, const unsigned long *counters, unsigned long number);

struct hm_runtime_table {
  unsigned version; // 3
  hm_barrier threadgroup_barrier;
  hm_barrier simdgroup_barrier;
  // width: 32 for SIMD-group functions, 4 for quad-group functions.
  hm_simd_combine simd_combine;
  // The static threadgroup variable `id` of the running kernel; the same address for every thread of a threadgroup.
  hm_threadgroup_allocate threadgroup_allocate;
  // thread_index_in_simdgroup of the calling thread.
  hm_lane lane;
  // For the LLVM pass: the threads of a threadgroup, which must come to the same barrier, did not. Does not return.
  hm_threads_disagree threads_disagree;
  // For kernels that count (pass/counts.cpp): a thread, by its number, does an access, by its own, in a round of loops; and a thread ends, with what
  // its blocks and loops counted.
  hm_count count;
  hm_finish finish;
};
static_assert(__builtin_offsetof(hm_runtime_table, count) == 56, "native/hostmetal/pass/counts.cpp calls it there");

__attribute__((used, visibility("default"))) const hm_runtime_table *hm_runtime;

// Keeps a message of os_log (metal_logging), which the host stores here as well: the number of its format, its level (log_type), the
// addresses of two texts or 0, and the words of its arguments. A variable of its own, so that a kernel that logs uses nothing of the table:
// no thread waits here.
typedef void (*hm_log_function)(unsigned format, unsigned level, unsigned long subsystem, unsigned long category, unsigned count,
                                const unsigned long *words);
__attribute__((used, visibility("default"))) hm_log_function hm_log;

} // extern "C"

namespace hostmetal {

template <class Value>
METAL_FUNC void rendezvous(hm_combine combine, Value *value, unsigned width) {
  __attribute__((nomerge)) hm_runtime->simd_combine(combine, (void *)value, width);
  asm volatile("" ::: "memory");
}

// The lanes of a SIMD-group that stay in a loop meet at the end of an iteration; the pre-pass writes the call (msl/reconverge.rs).
// The flag, which mem_flags have not, tells it from a barrier of the program.
METAL_FUNC void reconverge() {
  __attribute__((nomerge)) hm_runtime->simdgroup_barrier(0x80000000u);
  asm volatile("" ::: "memory");
}
METAL_FUNC bool reconverged(bool condition) {
  reconverge();
  return condition;
}

// Always true, which the optimiser does not know: what comes before an exit from a loop stays a part of the loop.
METAL_FUNC bool leaves() {
  unsigned yes = 1;
  asm volatile("" : "+r"(yes));
  return yes != 0;
}

} // namespace hostmetal
