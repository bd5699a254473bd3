//! What calls autorelease, which is for pools of their own: nothing of it is left to the caller.

use std::ffi::{CStr, c_char, c_uint, c_void};
use std::ptr;
use std::thread;

use dcmetal_sys::*;

use crate::support::*;

type Id = *mut c_void;
type Method = unsafe extern "C" fn();

unsafe extern "C" {
    fn objc_getClass(name: *const c_char) -> Id;
    fn sel_registerName(name: *const c_char) -> *const c_void;
    fn objc_msg_lookup(receiver: Id, selector: *const c_void) -> Method;
}

/// Sends a message without arguments.
fn send<R>(receiver: Id, name: &CStr) -> R {
    // SAFETY: the names are NUL-terminated, and each use names a method with this result.
    unsafe {
        let selector = sel_registerName(name.as_ptr());
        let method = objc_msg_lookup(receiver, selector);
        std::mem::transmute::<Method, unsafe extern "C" fn(Id, *const c_void) -> R>(method)(receiver, selector)
    }
}

fn class(name: &CStr) -> Id {
    // SAFETY: the name is NUL-terminated.
    unsafe { objc_getClass(name.as_ptr()) }
}

/// The thread's current pool.
pub(crate) struct Pool(Id);

impl Pool {
    pub(crate) fn new() -> Pool {
        Pool(send(class(c"NSAutoreleasePool"), c"new"))
    }

    /// Objects in it.
    pub(crate) fn count(&self) -> u32 {
        send::<c_uint>(self.0, c"autoreleaseCount")
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        send::<()>(self.0, c"drain");
    }
}

fn current() -> Id {
    send(class(c"NSAutoreleasePool"), c"currentPool")
}

/// A call that raises in front of hostmetal's methods.
fn raise(encoder: &Owned<DCMetalComputeEncoder>, wrong: &Owned<DCMetalConstants>) {
    let raised = attempt(|error| dc!(DCMetalComputeEncoder_SetBuffer(encoder.0, wrong.0.cast(), 0, 0, error)));
    assert_eq!(raised.expect_err("no buffer").status, DC_METAL_EXCEPTION);
}

pub(crate) fn what_is_raised_stays_with_nobody() {
    let counted = Pool::new();
    send::<Id>(send(class(c"NSObject"), c"new"), c"autorelease");
    assert_eq!(counted.count(), 1, "what is autoreleased is counted");
    drop(counted);
    let run = || {
        let gpu = Gpu::new();
        let wrong = create(|out, error| dc!(DCMetalConstants_Create(out, error))).expect("constants");
        let (command_buffer, out) = (gpu.command_buffer(), gpu.buffer(16));
        let encoder = compute_encoder(&command_buffer);
        assert_eq!(current(), ptr::null_mut(), "these calls need none that stays");
        set_buffer(&encoder, &out, 0, 0);
        assert_ne!(current(), ptr::null_mut(), "one stays, in case that a call raises");
        assert_eq!(send::<c_uint>(current(), c"autoreleaseCount"), 0);
        raise(&encoder, &wrong);
        assert_eq!(current(), ptr::null_mut(), "and goes with what was autoreleased");
        set_buffer(&encoder, &out, 0, 0);
        let own = Pool::new();
        raise(&encoder, &wrong);
        assert_eq!(current(), own.0, "the program's stays");
        assert!(own.count() > 0, "and has got it");
        end(&encoder);
    };
    thread::spawn(run).join().expect("the thread ends");
}
