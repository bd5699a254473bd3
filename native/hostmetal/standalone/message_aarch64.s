// As message_x86_64.s, for aarch64: where that is not the tests' own processor they run it under QEMU. A structure's place is x8, so no
// sibling is needed for those; metal-cpp knows this where __arm64__ is defined, as our pkg-config file does.

// Saves the arguments, calls \lookup, restores them; the method is in x16.
.macro LOOK_UP lookup
        stp x29, x30, [sp, #-224]!
        .cfi_def_cfa_offset 224
        .cfi_offset x29, -224
        .cfi_offset x30, -216
        mov x29, sp
        stp x0, x1, [sp, #16]
        stp x2, x3, [sp, #32]
        stp x4, x5, [sp, #48]
        stp x6, x7, [sp, #64]
        str x8, [sp, #80]
        stp q0, q1, [sp, #96]
        stp q2, q3, [sp, #128]
        stp q4, q5, [sp, #160]
        stp q6, q7, [sp, #192]
        bl \lookup
        mov x16, x0
        ldp x0, x1, [sp, #16]
        ldp x2, x3, [sp, #32]
        ldp x4, x5, [sp, #48]
        ldp x6, x7, [sp, #64]
        ldr x8, [sp, #80]
        ldp q0, q1, [sp, #96]
        ldp q2, q3, [sp, #128]
        ldp q4, q5, [sp, #160]
        ldp q6, q7, [sp, #192]
        ldp x29, x30, [sp], #224
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
.endm
.macro ANSWER_NIL
        mov x0, #0
        mov x1, #0
        movi d0, #0
        movi d1, #0
        movi d2, #0
        movi d3, #0
        ret
.endm
.macro BEGIN name
        .p2align 4
        .globl \name
        .type \name, %function
\name:
        .cfi_startproc
        hint #34 // bti c
.endm
.macro END name
        .cfi_endproc
        .size \name, . - \name
.endm

        .text

        BEGIN objc_msgSend
        cbz x0, 1f
        LOOK_UP objc_msg_lookup
        br x16
1:      ANSWER_NIL
        END objc_msgSend

        .globl objc_msgSend_fpret
        .type objc_msgSend_fpret, %function
        .set objc_msgSend_fpret, objc_msgSend

        BEGIN objc_msgSendSuper
        ldr x16, [x0]
        cbz x16, 1f
        LOOK_UP objc_msg_lookup_super
        ldr x0, [x0]
        br x16
1:      ANSWER_NIL
        END objc_msgSendSuper

        .section .note.GNU-stack, "", %progbits
