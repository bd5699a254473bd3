// Entrances to kernel code and stack switching for AAPCS64; see context.rs. Included by global_asm!.
    .text
    .p2align 4
    .globl hostmetal_call
    .type hostmetal_call,@function
hostmetal_call:                     // x0 entry, x1 group, x2 recovery
    sub sp, sp, #192
    stp x19, x20, [sp]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mrs x9, fpcr
    str x9, [sp, #160]
    add x29, sp, #80
    mov x19, x2
    mov x9, sp
    str x9, [x19]
    mov w9, #1
    str w9, [x19, #8]
    mov x9, x0
    mov x0, x1
    blr x9
    str wzr, [x19, #8]
    mov w0, #0
    b .Lhostmetal_leave
    .size hostmetal_call, .-hostmetal_call

    .globl hostmetal_fibers
    .type hostmetal_fibers,@function
hostmetal_fibers:                   // x0 stack, x2 recovery
    sub sp, sp, #192
    stp x19, x20, [sp]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mrs x9, fpcr
    str x9, [sp, #160]
    mov x9, sp
    str x9, [x2]
    mov w9, #1
    str w9, [x2, #8]
    mov sp, x0
    b .Lhostmetal_resume
    .size hostmetal_fibers, .-hostmetal_fibers

    .globl hostmetal_abandon
    .type hostmetal_abandon,@function
hostmetal_abandon:                  // x0 recovery, w1 code
    str wzr, [x0, #8]
    ldr x9, [x0]
    mov sp, x9
    mov w0, w1
    .globl hostmetal_recover
    .type hostmetal_recover,@function
hostmetal_recover:                  // sp restored, w0 code
    ldr x9, [sp, #160]
    msr fpcr, x9
.Lhostmetal_leave:
    ldp x19, x20, [sp]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #192
    ret
    .size hostmetal_abandon, .-hostmetal_abandon

    .p2align 4
    .globl hostmetal_switch
    .type hostmetal_switch,@function
hostmetal_switch:                   // x0 save, x1 stack
    sub sp, sp, #160
    stp x19, x20, [sp]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
.Lhostmetal_resume:
    ldp x19, x20, [sp]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
    .size hostmetal_switch, .-hostmetal_switch

    .globl hostmetal_fiber_start
    .type hostmetal_fiber_start,@function
hostmetal_fiber_start:              // x19 entry, x20 group, x21 x and y, x22 z
    .cfi_startproc
    .cfi_undefined x30
    mov x0, x20
    mov w1, w21
    lsr x2, x21, #32
    mov w3, w22
    blr x19
    bl hostmetal_thread_finished
    brk #1
    .cfi_endproc
    .size hostmetal_fiber_start, .-hostmetal_fiber_start

    .globl hostmetal_simdgroup_barrier
    .type hostmetal_simdgroup_barrier,@function
hostmetal_simdgroup_barrier:
    mov x1, x30
    b hostmetal_simdgroup_barrier_at
    .size hostmetal_simdgroup_barrier, .-hostmetal_simdgroup_barrier

    .globl hostmetal_simd_combine
    .type hostmetal_simd_combine,@function
hostmetal_simd_combine:
    mov x3, x30
    b hostmetal_simd_combine_at
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
    mov x8, #139
    svc #0
    .size hostmetal_signal_return, .-hostmetal_signal_return

// A handler that goes on to hostmetal_stopped only when the interrupted worker is in a kernel, and not in code of the
// sanitizer's that the kernel called: that may hold a lock, which nobody would release. (The watchdog sends the signal
// again.) The signal carries the worker's record, which begins with its Recovery. Nothing here is instrumented.
// The sanitizer's code is linked in front of all other; scripts/sanitize/run says where it ends.
    .weak hostmetal_sanitizer_end
    .globl hostmetal_filter_signal
    .type hostmetal_filter_signal,@function
hostmetal_filter_signal:            // w0 number, x1 siginfo, x2 context
    ldr w9, [x1, #8]                // si_code is SI_QUEUE
    cmn w9, #1
    b.ne 1f
    ldr x10, [x1, #24]              // si_value
    cbz x10, 1f
    ldr w9, [x10, #8]               // in_kernel
    cbz w9, 1f
    adrp x9, :got:hostmetal_sanitizer_end
    ldr x9, [x9, :got_lo12:hostmetal_sanitizer_end]
    ldr x10, [x2, #440]             // uc_mcontext.pc
    cmp x10, x9
    b.lo 1f
    b hostmetal_stopped
1:  ret
    .size hostmetal_filter_signal, .-hostmetal_filter_signal
