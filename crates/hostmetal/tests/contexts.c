// Enters functions, switches stacks and leaves both ways through context_ARCHITECTURE.s, which is linked with it, and handles signals as guard.rs does.
// Prints what is wrong; succeeds when nothing is.
#define _GNU_SOURCE
#include <fenv.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

// What comes behind it is not the sanitizer's: all of this, and the C library.
__asm__(".text\n.globl hostmetal_sanitizer_end\nhostmetal_sanitizer_end:\n");

static int wrong;
#define CHECK(condition)                             \
  do {                                               \
    if (!(condition)) {                              \
      printf("line %d: %s\n", __LINE__, #condition); \
      wrong = 1;                                     \
    }                                                \
  } while (0)

// context.rs, Recovery.
struct recovery {
  uintptr_t stack;
  uint32_t in_kernel;
};

uint32_t hostmetal_call(uintptr_t entry, void *group, struct recovery *recovery);
uint32_t hostmetal_fibers(uintptr_t stack, uintptr_t unused, struct recovery *recovery);
void hostmetal_switch(uintptr_t *save, uintptr_t stack);
void hostmetal_abandon(struct recovery *recovery, uint32_t code);
void hostmetal_recover(void);
void hostmetal_fiber_start(void);
void hostmetal_simdgroup_barrier(uint32_t flags);
void hostmetal_simd_combine(void *combine, void *value, uint32_t width);
void hostmetal_filter_signal(void);
void hostmetal_signal_return(void);
extern const uintptr_t hostmetal_asan_unpoison, hostmetal_tsan[4];

// Registers that a function gives back as it found them: KEPT_COUNT of them are filled, FUNCTION(A, B, C) is called, and what they hold then is stored.
#ifdef __x86_64__
#define KEPT_COUNT 6
#else
#define KEPT_COUNT 19
#endif
uint64_t kept_before[KEPT_COUNT], kept_after[KEPT_COUNT];
uint64_t with_kept(const void *function, uintptr_t a, uintptr_t b, uintptr_t c);
// Fills them all with NUMBER, and calls FUNCTION, which does not return.
void overwrite_kept(uint64_t number, void (*function)(void));
#ifdef __x86_64__
__asm__(".text\n"
        "with_kept:\n"
        "  pushq %rbp\n pushq %rbx\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n pushq %rdi\n"
        "  leaq kept_before(%rip), %rax\n"
        "  movq (%rax), %rbp\n movq 8(%rax), %rbx\n movq 16(%rax), %r12\n movq 24(%rax), %r13\n movq 32(%rax), %r14\n movq 40(%rax), %r15\n"
        "  movq %rdi, %rax\n movq %rsi, %rdi\n movq %rdx, %rsi\n movq %rcx, %rdx\n"
        "  callq *%rax\n"
        "  leaq kept_after(%rip), %rcx\n"
        "  movq %rbp, (%rcx)\n movq %rbx, 8(%rcx)\n movq %r12, 16(%rcx)\n movq %r13, 24(%rcx)\n movq %r14, 32(%rcx)\n movq %r15, 40(%rcx)\n"
        "  popq %rdi\n popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbx\n popq %rbp\n"
        "  retq\n"
        "overwrite_kept:\n"
        "  subq $8, %rsp\n"
        "  movq %rdi, %rbp\n movq %rdi, %rbx\n movq %rdi, %r12\n movq %rdi, %r13\n movq %rdi, %r14\n movq %rdi, %r15\n"
        "  callq *%rsi\n"
        "  ud2\n");
#else
__asm__(".text\n"
        "with_kept:\n"
        "  sub sp, sp, #160\n"
        "  stp x19, x20, [sp]\n stp x21, x22, [sp, #16]\n stp x23, x24, [sp, #32]\n stp x25, x26, [sp, #48]\n stp x27, x28, [sp, #64]\n"
        "  stp x29, x30, [sp, #80]\n stp d8, d9, [sp, #96]\n stp d10, d11, [sp, #112]\n stp d12, d13, [sp, #128]\n stp d14, d15, [sp, #144]\n"
        "  adrp x9, kept_before\n add x9, x9, :lo12:kept_before\n"
        "  ldp x19, x20, [x9]\n ldp x21, x22, [x9, #16]\n ldp x23, x24, [x9, #32]\n ldp x25, x26, [x9, #48]\n ldp x27, x28, [x9, #64]\n"
        "  ldr x29, [x9, #80]\n ldr d8, [x9, #88]\n ldr d9, [x9, #96]\n ldr d10, [x9, #104]\n ldr d11, [x9, #112]\n"
        "  ldr d12, [x9, #120]\n ldr d13, [x9, #128]\n ldr d14, [x9, #136]\n ldr d15, [x9, #144]\n"
        "  mov x9, x0\n mov x0, x1\n mov x1, x2\n mov x2, x3\n"
        "  blr x9\n"
        "  adrp x9, kept_after\n add x9, x9, :lo12:kept_after\n"
        "  stp x19, x20, [x9]\n stp x21, x22, [x9, #16]\n stp x23, x24, [x9, #32]\n stp x25, x26, [x9, #48]\n stp x27, x28, [x9, #64]\n"
        "  str x29, [x9, #80]\n str d8, [x9, #88]\n str d9, [x9, #96]\n str d10, [x9, #104]\n str d11, [x9, #112]\n"
        "  str d12, [x9, #120]\n str d13, [x9, #128]\n str d14, [x9, #136]\n str d15, [x9, #144]\n"
        "  ldp x19, x20, [sp]\n ldp x21, x22, [sp, #16]\n ldp x23, x24, [sp, #32]\n ldp x25, x26, [sp, #48]\n ldp x27, x28, [sp, #64]\n"
        "  ldp x29, x30, [sp, #80]\n ldp d8, d9, [sp, #96]\n ldp d10, d11, [sp, #112]\n ldp d12, d13, [sp, #128]\n ldp d14, d15, [sp, #144]\n"
        "  add sp, sp, #160\n"
        "  ret\n"
        "overwrite_kept:\n"
        "  mov x19, x0\n mov x20, x0\n mov x21, x0\n mov x22, x0\n mov x23, x0\n mov x24, x0\n mov x25, x0\n mov x26, x0\n mov x27, x0\n mov x28, x0\n"
        "  mov x29, x0\n fmov d8, x0\n fmov d9, x0\n fmov d10, x0\n fmov d11, x0\n fmov d12, x0\n fmov d13, x0\n fmov d14, x0\n fmov d15, x0\n"
        "  blr x1\n"
        "  brk #1\n");
#endif

// Calls with all of them filled, which must come back, as the rounding does.
static uint64_t call(const void *function, uintptr_t a, uintptr_t b, uintptr_t c) {
  uint64_t before[KEPT_COUNT];
  for (int i = 0; i < KEPT_COUNT; i++) before[i] = kept_before[i] = UINT64_C(0x0123456789abcdef) * (uint64_t)(i + 1);
  memset(kept_after, 0, sizeof kept_after);
  fesetround(FE_UPWARD);
  uint64_t result = with_kept(function, a, b, c);
  CHECK(memcmp(before, kept_after, sizeof before) == 0);
  CHECK(fegetround() == FE_UPWARD);
  fesetround(FE_TONEAREST);
  return result;
}

static struct recovery recovery;
static int group, entered;

// ---------------------------------------------------------------- on the caller's stack

static void returns(void *given) {
  entered++;
  CHECK(given == &group && recovery.in_kernel == 1);
}
static void abandon(void) {
  fesetround(FE_TOWARDZERO);
  hostmetal_abandon(&recovery, 0x80000005u);
}
static void leaves(void *given) {
  entered++;
  CHECK(given == &group);
  overwrite_kept(~UINT64_C(0), abandon);
}
static void entrances(void) {
  CHECK((uint32_t)call((const void *)hostmetal_call, (uintptr_t)returns, (uintptr_t)&group, (uintptr_t)&recovery) == 0);
  CHECK(entered == 1 && recovery.in_kernel == 0);
  CHECK((uint32_t)call((const void *)hostmetal_call, (uintptr_t)leaves, (uintptr_t)&group, (uintptr_t)&recovery) == 0x80000005u);
  CHECK(entered == 2 && recovery.in_kernel == 0);
}

// ---------------------------------------------------------------- on stacks of threads

enum { THREADS = 3, ROUNDS = 5 };
static char stacks[THREADS][64 << 10] __attribute__((aligned(16)));
static uintptr_t positions[THREADS];
static int running, finished, rounds[THREADS];

// context.rs, first_frame.
static uintptr_t first_frame(char *top, void (*entry)(void *, uint32_t, uint32_t, uint32_t), uint32_t x, uint32_t y, uint32_t z) {
#ifdef __x86_64__
  uint64_t frame[7] = {z, x | (uint64_t)y << 32, (uintptr_t)&group, (uintptr_t)entry, 0, 0, (uintptr_t)hostmetal_fiber_start};
#else
  uint64_t frame[20] = {(uintptr_t)entry, (uintptr_t)&group, x | (uint64_t)y << 32, z};
  frame[11] = (uintptr_t)hostmetal_fiber_start;
#endif
  return (uintptr_t)memcpy(top - sizeof frame, frame, sizeof frame);
}

static void to_next(void) {
  int from = running;
  running = (from + 1) % THREADS;
  hostmetal_switch(&positions[from], positions[running]);
}
static void thread(void *given, uint32_t x, uint32_t y, uint32_t z) {
  char here;
  CHECK(given == &group && x == (uint32_t)running && y == 0xfffffff0u + x && z == 0x80000000u + x);
  CHECK((char *)&here >= stacks[x] && (char *)&here < stacks[x] + sizeof stacks[x]);
  volatile double sum = x;
  for (int i = 0; i < ROUNDS; i++) {
    rounds[x]++;
    sum += 0.5;
    // Every register of one thread is another's meanwhile.
    uint64_t before[KEPT_COUNT];
    for (int k = 0; k < KEPT_COUNT; k++) before[k] = kept_before[k] = (uint64_t)(x + 1) << 32 | (uint64_t)k;
    with_kept((const void *)to_next, 0, 0, 0);
    CHECK(memcmp(before, kept_after, sizeof before) == 0);
  }
  CHECK(running == (int)x && sum == x + 0.5 * ROUNDS);
}
// What hostmetal_fiber_start calls when a thread has returned.
void hostmetal_thread_finished(void) {
  finished++;
  fesetround(FE_DOWNWARD);
  if (finished == THREADS) hostmetal_abandon(&recovery, 77);
  to_next();
}
static void threads(void) {
  for (uint32_t i = 0; i < THREADS; i++) positions[i] = first_frame(stacks[i] + sizeof stacks[i], thread, i, 0xfffffff0u + i, 0x80000000u + i);
  running = 0;
  CHECK((uint32_t)call((const void *)hostmetal_fibers, positions[0], 0, (uintptr_t)&recovery) == 77);
  CHECK(finished == THREADS && recovery.in_kernel == 0);
  for (int i = 0; i < THREADS; i++) CHECK(rounds[i] == ROUNDS);
}

// ---------------------------------------------------------------- callers told of

static void *told[4];
void hostmetal_simdgroup_barrier_at(uint32_t flags, void *caller) {
  told[0] = (void *)(uintptr_t)flags;
  told[1] = caller;
}
void hostmetal_simd_combine_at(void *combine, void *value, uint32_t width, void *caller) {
  told[0] = combine;
  told[1] = value;
  told[2] = (void *)(uintptr_t)width;
  told[3] = caller;
}
static int within(const void *function, const void *address) {
  return (const char *)address > (const char *)function && (const char *)address < (const char *)function + 64;
}
static __attribute__((noinline)) void asks_barrier(void) {
  hostmetal_simdgroup_barrier(0x90000003u);
  __asm__ volatile("");
}
static __attribute__((noinline)) void asks_combine(void) {
  hostmetal_simd_combine(&group, &entered, 0x80000010u);
  __asm__ volatile("");
}
static void callers(void) {
  asks_barrier();
  CHECK(told[0] == (void *)(uintptr_t)0x90000003u && within((const void *)asks_barrier, told[1]));
  asks_combine();
  CHECK(told[0] == &group && told[1] == &entered && told[2] == (void *)(uintptr_t)0x80000010u && within((const void *)asks_combine, told[3]));
  // No sanitizer is linked.
  CHECK(hostmetal_asan_unpoison == 0 && !hostmetal_tsan[0] && !hostmetal_tsan[1] && !hostmetal_tsan[2] && !hostmetal_tsan[3]);
}

// ---------------------------------------------------------------- signals

// The kernel's structure, not the C library's; guard.rs, install.
struct kernel_action {
  void (*handler)(void);
  unsigned long flags;
  void (*restorer)(void);
  uint64_t mask;
};
static void install(int number, void (*handler)(void)) {
  struct kernel_action action = {handler, SA_SIGINFO | SA_NODEFER | 0x04000000 /* SA_RESTORER */, hostmetal_signal_return, 0};
  CHECK(syscall(SYS_rt_sigaction, number, &action, 0, sizeof action.mask) == 0);
}
static int stopped;
void hostmetal_stopped(int number, siginfo_t *info, void *context) {
  stopped++;
  CHECK(number == SIGURG && info->si_code == SI_QUEUE && info->si_value.sival_ptr == &recovery && context);
}
static void send(void *value) {
  union sigval with = {.sival_ptr = value};
  CHECK(sigqueue(getpid(), SIGURG, with) == 0);
}
// guard.rs, resume.
static void faulted(int number, siginfo_t *info, void *context) {
  ucontext_t *at = context;
  CHECK(number == SIGSEGV && info->si_addr == (void *)64);
  recovery.in_kernel = 0;
#ifdef __x86_64__
  at->uc_mcontext.gregs[REG_RIP] = (greg_t)hostmetal_recover;
  at->uc_mcontext.gregs[REG_RSP] = (greg_t)recovery.stack;
  at->uc_mcontext.gregs[REG_RAX] = 9;
#else
  at->uc_mcontext.pc = (uintptr_t)hostmetal_recover;
  at->uc_mcontext.sp = recovery.stack;
  at->uc_mcontext.regs[0] = 9;
#endif
}
static void fault(void) {
  fesetround(FE_TOWARDZERO);
  *(volatile int *)64 = 1;
}
static void faults(void *given) {
  CHECK(given == &group);
  overwrite_kept(UINT64_C(0x5555555555555555), fault);
}
static void signals(void) {
  install(SIGURG, hostmetal_filter_signal);
  recovery.in_kernel = 0;
  send(&recovery);  // in no kernel
  send(0);          // nobody's
  recovery.in_kernel = 1;
  kill(getpid(), SIGURG);  // not queued
  CHECK(stopped == 0);
  send(&recovery);
  CHECK(stopped == 1);
  recovery.in_kernel = 0;
  install(SIGSEGV, (void (*)(void))faulted);
  for (int i = 0; i < 2; i++) CHECK((uint32_t)call((const void *)hostmetal_call, (uintptr_t)faults, (uintptr_t)&group, (uintptr_t)&recovery) == 9);
}

int main(void) {
  entrances();
  threads();
  callers();
  signals();
  if (!wrong) puts("every context came back");
  return wrong;
}
