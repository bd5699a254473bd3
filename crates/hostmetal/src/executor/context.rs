//! Stack switching and the entrances to kernel code, in assembly (System V x86-64, AAPCS64).
//!
//! A worker enters kernels by `hostmetal_call` (on its own stack) or `hostmetal_fibers` (switching to a thread's stack).
//! Both save the callee-saved registers and the floating-point control words on the worker's stack, note that stack
//! position in a `Recovery`, and set `in_kernel`. There are two ways back: the kernel returns, or `hostmetal_abandon` (or a
//! signal handler that sets the same registers, see guard.rs) restores the noted position and the entrance returns its
//! code; the stacks of the kernel's threads are then simply forgotten. Whatever runs between entrance and way back is
//! therefore kernel code or runtime functions without destructors, locks or allocations.

use std::arch::global_asm;
use std::sync::atomic::{AtomicU32, AtomicUsize};

use super::{Combine, Group};

/// Where the innermost entrance left the worker's stack; written by the assembly below, which relies on the layout.
#[repr(C)]
#[derive(Default)]
pub(crate) struct Recovery {
    /// Stack pointer to restore.
    pub(crate) stack: AtomicUsize,
    /// 1 between entrance and way back.
    pub(crate) in_kernel: AtomicU32,
}

/// The kernel has returned.
pub(crate) const FINISHED: u32 = 0;

// SAFETY: see each declaration; the bodies are below.
unsafe extern "C" {
    /// Calls `entry(group)` on this stack; returns FINISHED or the code of the abandonment.
    pub(crate) fn hostmetal_call(entry: usize, group: *const Group, recovery: *const Recovery) -> u32;
    /// Switches to `stack`, a stack made by `first_frame`; returns when somebody abandons.
    pub(crate) fn hostmetal_fibers(stack: usize, unused: usize, recovery: *const Recovery) -> u32;
    /// Saves this stack's position in `save` and continues on `stack`.
    pub(crate) fn hostmetal_switch(save: *mut usize, stack: usize);
    /// Lets the entrance noted in `recovery` return `code`. Does not return, but is not declared so: AddressSanitizer calls
    /// its runtime before a call that does not return, which takes offence at the stack.
    pub(crate) fn hostmetal_abandon(recovery: *const Recovery, code: u32);
    /// Continuation of `hostmetal_abandon` with the stack restored and the code in the result register.
    pub(crate) fn hostmetal_recover();
    pub(super) static hostmetal_asan_unpoison: usize;
    pub(super) static hostmetal_tsan: [usize; 4];
    /// A signal handler that ends in guard.rs's `hostmetal_stopped`; only its address is used.
    pub(crate) fn hostmetal_filter_signal();
    /// Returns from a signal handler; the address is given to the kernel.
    pub(crate) fn hostmetal_signal_return();
    fn hostmetal_fiber_start();
    /// Runtime table entries that add their caller's return address as a last argument.
    pub(crate) fn hostmetal_simdgroup_barrier(flags: u32);
    pub(crate) fn hostmetal_simd_combine(combine: Combine, value: *mut std::ffi::c_void, width: u32);
}

/// What a thread of a threadgroup starts with.
pub(crate) struct FirstFrame {
    pub(crate) entry: usize,
    pub(crate) group: usize,
    pub(crate) position: [u32; 3],
}

#[cfg(target_arch = "x86_64")]
const FRAME_WORDS: usize = 7;
#[cfg(target_arch = "aarch64")]
const FRAME_WORDS: usize = 20;

/// Writes the frame from which `hostmetal_switch` starts a thread; returns the stack position to switch to.
///
/// # Safety
/// `top` is 16-byte aligned, and the 160 bytes below it are writable and unused.
pub(crate) unsafe fn first_frame(top: *mut u8, start: &FirstFrame) -> usize {
    let mut frame = [0usize; FRAME_WORDS];
    let xy = start.position[0] as usize | (start.position[1] as usize) << 32;
    #[cfg(target_arch = "x86_64")]
    {
        // Popped as r15, r14, r13, r12, rbx, rbp, and the address of ret.
        frame[0] = start.position[2] as usize;
        frame[1] = xy;
        frame[2] = start.group;
        frame[3] = start.entry;
        frame[6] = hostmetal_fiber_start as *const () as usize;
    }
    #[cfg(target_arch = "aarch64")]
    {
        // x19 to x30, then d8 to d15.
        frame[0] = start.entry;
        frame[1] = start.group;
        frame[2] = xy;
        frame[3] = start.position[2] as usize;
        frame[11] = hostmetal_fiber_start as *const () as usize;
    }
    // Once the frame is popped the stack pointer is `top`.
    let place = top as usize - FRAME_WORDS * 8;
    // SAFETY: the frame lies in the bytes that the caller grants.
    unsafe { std::ptr::copy_nonoverlapping(frame.as_ptr(), place as *mut usize, FRAME_WORDS) };
    place
}

#[cfg(target_arch = "x86_64")]
global_asm!(include_str!("context_x86_64.s"), options(att_syntax));
#[cfg(target_arch = "aarch64")]
global_asm!(include_str!("context_aarch64.s"));
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("hostmetal's executor is written for x86_64 and aarch64");
