# objc_msgSend and its siblings for GCC's runtime on x86-64: asks objc_msg_lookup for the method and jumps to it, with every
# register that may carry an argument as it was and the stack untouched. Callers push nothing and pop nothing, so exceptions
# unwind through a lookup (+initialize may raise) and never see these frames otherwise.
#
# A message to nil gives zero in rax, rdx, xmm0 and xmm1; of a structure in memory nothing is written, as with Apple's.
# Not kept across a first lookup: the upper halves of vectors wider than 16 bytes, which no Objective-C method takes.

# Saves the arguments, calls \lookup with \receiver in rdi and \selector in rsi, restores them; the method is in r11.
.macro LOOK_UP receiver, selector, lookup
        pushq %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq %rsp, %rbp
        .cfi_def_cfa_register %rbp
        subq $192, %rsp
        movq %rdi, 0(%rsp)
        movq %rsi, 8(%rsp)
        movq %rdx, 16(%rsp)
        movq %rcx, 24(%rsp)
        movq %r8, 32(%rsp)
        movq %r9, 40(%rsp)
        movq %rax, 48(%rsp)
        movq %r10, 56(%rsp)
        movaps %xmm0, 64(%rsp)
        movaps %xmm1, 80(%rsp)
        movaps %xmm2, 96(%rsp)
        movaps %xmm3, 112(%rsp)
        movaps %xmm4, 128(%rsp)
        movaps %xmm5, 144(%rsp)
        movaps %xmm6, 160(%rsp)
        movaps %xmm7, 176(%rsp)
.ifnc \receiver, %rdi
        movq \receiver, %rdi
        movq \selector, %rsi
.endif
        call \lookup@PLT
        movq %rax, %r11
        movq 0(%rsp), %rdi
        movq 8(%rsp), %rsi
        movq 16(%rsp), %rdx
        movq 24(%rsp), %rcx
        movq 32(%rsp), %r8
        movq 40(%rsp), %r9
        movq 48(%rsp), %rax
        movq 56(%rsp), %r10
        movaps 64(%rsp), %xmm0
        movaps 80(%rsp), %xmm1
        movaps 96(%rsp), %xmm2
        movaps 112(%rsp), %xmm3
        movaps 128(%rsp), %xmm4
        movaps 144(%rsp), %xmm5
        movaps 160(%rsp), %xmm6
        movaps 176(%rsp), %xmm7
        leave
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
.endm

.macro BEGIN name
        .p2align 4
        .globl \name
        .type \name, @function
\name:
        .cfi_startproc
.endm
.macro END name
        .cfi_endproc
        .size \name, . - \name
.endm

        .text

# (receiver, selector, ...)
        BEGIN objc_msgSend
        testq %rdi, %rdi
        jz 1f
        LOOK_UP %rdi, %rsi, objc_msg_lookup
        jmpq *%r11
1:      xorl %eax, %eax
        xorl %edx, %edx
        xorps %xmm0, %xmm0
        xorps %xmm1, %xmm1
        retq
        END objc_msgSend

# For results in a floating-point register. metal-cpp sends messages for float and double this way, so nil answers in xmm0,
# and not in st(0), where a long double would be.
        .globl objc_msgSend_fpret
        .type objc_msgSend_fpret, @function
        .set objc_msgSend_fpret, objc_msgSend

# (place of the result, receiver, selector, ...)
        BEGIN objc_msgSend_stret
        testq %rsi, %rsi
        jz 1f
        LOOK_UP %rsi, %rdx, objc_msg_lookup
        jmpq *%r11
1:      movq %rdi, %rax
        retq
        END objc_msgSend_stret

# (struct objc_super *, selector, ...): the receiver replaces the structure.
        BEGIN objc_msgSendSuper
        cmpq $0, (%rdi)
        je 1f
        LOOK_UP %rdi, %rsi, objc_msg_lookup_super
        movq (%rdi), %rdi
        jmpq *%r11
1:      xorl %eax, %eax
        xorl %edx, %edx
        xorps %xmm0, %xmm0
        xorps %xmm1, %xmm1
        retq
        END objc_msgSendSuper

# (place of the result, struct objc_super *, selector, ...)
        BEGIN objc_msgSendSuper_stret
        cmpq $0, (%rsi)
        je 1f
        LOOK_UP %rsi, %rdx, objc_msg_lookup_super
        movq (%rsi), %rsi
        jmpq *%r11
1:      movq %rdi, %rax
        retq
        END objc_msgSendSuper_stret

        .section .note.GNU-stack, "", @progbits
