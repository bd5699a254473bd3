//! What sanitizers must be told of stacks that are switched and forgotten; nothing happens in programs without them.
//!
//! AddressSanitizer keeps notes of the frames on a stack, which are left behind when a stack is forgotten.
//! ThreadSanitizer keeps a call stack per thread, which only grows when functions do not return: kernels get one of their
//! own, and a fresh one when it may have grown.

use std::ffi::{c_uint, c_void};
use std::ptr;

use super::context::{hostmetal_asan_unpoison, hostmetal_tsan};

/// Whether the program runs under AddressSanitizer.
pub(crate) fn has_address_sanitizer() -> bool {
    // SAFETY: a constant of the assembly.
    unsafe { hostmetal_asan_unpoison != 0 }
}

/// Tells AddressSanitizer, if there is one, that frames in a range of a stack were forgotten without returning.
///
/// # Safety
/// No frame that is still used lies in the range.
pub(crate) unsafe fn forget_frames(start: *const u8, length: usize) {
    if has_address_sanitizer() {
        // SAFETY: a constant of the assembly.
        let address = unsafe { hostmetal_asan_unpoison };
        // SAFETY: it is the address of a function of this type.
        let unpoison = unsafe { std::mem::transmute::<usize, unsafe extern "C" fn(*const u8, usize)>(address) };
        // SAFETY: changes only AddressSanitizer's own notes of the range.
        unsafe { unpoison(start, length) };
    }
}

/// Whether the program runs under ThreadSanitizer.
pub(crate) fn has_thread_sanitizer() -> bool {
    // SAFETY: a constant of the assembly.
    unsafe { hostmetal_tsan[0] != 0 }
}

/// ThreadSanitizer's call stack for the kernels of one worker.
pub(crate) struct KernelSide {
    fiber: *mut c_void,
    /// Threads whose last function of ours did not return.
    grown: u32,
}

/// ThreadSanitizer's stacks have 65,536 entries; each kernel thread leaves a few.
const MOST: u32 = 8192;

impl KernelSide {
    /// None without ThreadSanitizer.
    pub(crate) fn new() -> Option<KernelSide> {
        has_thread_sanitizer().then_some(KernelSide { fiber: ptr::null_mut(), grown: 0 })
    }

    /// Runs `enter` on the kernels' call stack; a run that does not give `finished`, or many that together left more than
    /// MOST threads, end that stack.
    pub(crate) fn run(&mut self, threads: u32, finished: u32, enter: &dyn Fn() -> u32) -> u32 {
        let tsan = Functions::get();
        if self.fiber.is_null() {
            // SAFETY: may be called at any time; there are no flags.
            self.fiber = unsafe { (tsan.create)(0) };
            self.grown = 0;
        }
        // SAFETY: may be called at any time.
        let own = unsafe { (tsan.current)() };
        // SAFETY: the fiber is this worker's and not in use.
        unsafe { (tsan.switch)(self.fiber, 0) };
        let code = enter();
        // SAFETY: back to the worker's own.
        unsafe { (tsan.switch)(own, 0) };
        self.grown = self.grown.saturating_add(threads);
        if code != finished || self.grown > MOST {
            self.forget();
        }
        code
    }

    fn forget(&mut self) {
        if !self.fiber.is_null() {
            // SAFETY: the fiber is this worker's and not in use.
            unsafe { (Functions::get().destroy)(self.fiber) };
            self.fiber = ptr::null_mut();
        }
    }
}

/// ThreadSanitizer's functions for stacks that are switched (sanitizer/tsan_interface.h).
#[repr(C)]
#[derive(Clone, Copy)]
struct Functions {
    current: unsafe extern "C" fn() -> *mut c_void,
    create: unsafe extern "C" fn(c_uint) -> *mut c_void,
    destroy: unsafe extern "C" fn(*mut c_void),
    switch: unsafe extern "C" fn(*mut c_void, c_uint),
}

impl Functions {
    fn get() -> Functions {
        assert!(has_thread_sanitizer(), "there is no ThreadSanitizer");
        // SAFETY: a constant of the assembly.
        let addresses = unsafe { hostmetal_tsan };
        // SAFETY: the four addresses of these functions, in this order; a function pointer is an address.
        unsafe { std::mem::transmute::<[usize; 4], Functions>(addresses) }
    }
}

impl Drop for KernelSide {
    fn drop(&mut self) {
        self.forget();
    }
}
