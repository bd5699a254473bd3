// Entrances to kernel code and stack switching for System V x86-64; see context.rs. Included by global_asm!.
    .text
    .p2align 4
    .globl hostmetal_call
    .type hostmetal_call,@function
hostmetal_call:                     // rdi entry, rsi group, rdx recovery
    .cfi_startproc
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    subq $24, %rsp                  // aligns to 16
    stmxcsr (%rsp)
    fnstcw 4(%rsp)
    movq %rdx, %rbx
    movq %rsp, (%rbx)
    movl $1, 8(%rbx)
    movq %rdi, %rax
    movq %rsi, %rdi
    callq *%rax
    movl $0, 8(%rbx)
    xorl %eax, %eax
    jmp .Lhostmetal_leave
    .cfi_endproc
    .size hostmetal_call, .-hostmetal_call

    .globl hostmetal_fibers
    .type hostmetal_fibers,@function
hostmetal_fibers:                   // rdi stack, rdx recovery
    pushq %rbp
    movq %rsp, %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    subq $24, %rsp
    stmxcsr (%rsp)
    fnstcw 4(%rsp)
    movq %rsp, (%rdx)
    movl $1, 8(%rdx)
    movq %rdi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    retq
    .size hostmetal_fibers, .-hostmetal_fibers

    .globl hostmetal_abandon
    .type hostmetal_abandon,@function
hostmetal_abandon:                  // rdi recovery, esi code
    movl $0, 8(%rdi)
    movq (%rdi), %rsp
    movl %esi, %eax
    .globl hostmetal_recover
    .type hostmetal_recover,@function
hostmetal_recover:                  // rsp restored, eax code
    cld
    fninit
    fldcw 4(%rsp)
    ldmxcsr (%rsp)
.Lhostmetal_leave:
    addq $24, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    retq
    .size hostmetal_abandon, .-hostmetal_abandon

    .p2align 4
    .globl hostmetal_switch
    .type hostmetal_switch,@function
hostmetal_switch:                   // rdi save, rsi stack
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    retq
    .size hostmetal_switch, .-hostmetal_switch

    .globl hostmetal_fiber_start
    .type hostmetal_fiber_start,@function
hostmetal_fiber_start:              // r12 entry, r13 group, r14 x and y, r15 z
    .cfi_startproc
    .cfi_undefined %rip
    movq %r13, %rdi
    movl %r14d, %esi
    movq %r14, %rdx
    shrq $32, %rdx
    movl %r15d, %ecx
    callq *%r12
    callq hostmetal_thread_finished
    ud2
    .cfi_endproc
    .size hostmetal_fiber_start, .-hostmetal_fiber_start

    .globl hostmetal_simdgroup_barrier
    .type hostmetal_simdgroup_barrier,@function
hostmetal_simdgroup_barrier:
    movq (%rsp), %rsi
    jmp hostmetal_simdgroup_barrier_at
    .size hostmetal_simdgroup_barrier, .-hostmetal_simdgroup_barrier

    .globl hostmetal_simd_combine
    .type hostmetal_simd_combine,@function
hostmetal_simd_combine:
    movq (%rsp), %rcx
    jmp hostmetal_simd_combine_at
    .size hostmetal_simd_combine, .-hostmetal_simd_combine

// The address of AddressSanitizer's function, 0 when the program has none.
    .weak __asan_unpoison_memory_region
    .section .data.rel.ro.hostmetal,"aw",@progbits
    .p2align 3
    .globl hostmetal_asan_unpoison
    .type hostmetal_asan_unpoison,@object
hostmetal_asan_unpoison:
    .quad __asan_unpoison_memory_region
    .size hostmetal_asan_unpoison, .-hostmetal_asan_unpoison
    .text

// The addresses of ThreadSanitizer's functions, 0 when the program has none.
    .weak __tsan_get_current_fiber
    .weak __tsan_create_fiber
    .weak __tsan_destroy_fiber
    .weak __tsan_switch_to_fiber
    .section .data.rel.ro.hostmetal,"aw",@progbits
    .p2align 3
    .globl hostmetal_tsan
    .type hostmetal_tsan,@object
hostmetal_tsan:
    .quad __tsan_get_current_fiber
    .quad __tsan_create_fiber
    .quad __tsan_destroy_fiber
    .quad __tsan_switch_to_fiber
    .size hostmetal_tsan, .-hostmetal_tsan
    .text

// What a signal handler installed by the system call itself returns to: rt_sigreturn.
    .globl hostmetal_signal_return
    .type hostmetal_signal_return,@function
hostmetal_signal_return:
    movl $15, %eax
    syscall
    .size hostmetal_signal_return, .-hostmetal_signal_return

// A handler that goes on to hostmetal_stopped only when the interrupted worker is in a kernel, and not in code of the
// sanitizer's that the kernel called: that may hold a lock, which nobody would release. (The watchdog sends the signal
// again.) The signal carries the worker's record, which begins with its Recovery. Nothing here is instrumented.
// The sanitizer's code is linked in front of all other; scripts/sanitize/run says where it ends.
    .weak hostmetal_sanitizer_end
    .globl hostmetal_filter_signal
    .type hostmetal_filter_signal,@function
hostmetal_filter_signal:            // edi number, rsi siginfo, rdx context
    cmpl $-1, 8(%rsi)               // si_code is SI_QUEUE
    jne 1f
    movq 24(%rsi), %rax             // si_value
    testq %rax, %rax
    je 1f
    cmpl $0, 8(%rax)                // in_kernel
    je 1f
    movq hostmetal_sanitizer_end@GOTPCREL(%rip), %rax
    cmpq %rax, 168(%rdx)            // uc_mcontext.gregs[REG_RIP]
    jae hostmetal_stopped
1:  retq
    .size hostmetal_filter_signal, .-hostmetal_filter_signal
