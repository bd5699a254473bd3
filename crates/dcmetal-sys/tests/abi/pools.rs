//! What calls autorelease, which is for pools of their own: nothing of it is left to the caller.

use std::ffi::{CStr, c_char, c_uint, c_void};
use std::ptr;
use std::thread;

use dcmetal_sys::*;

use crate::support::*;

type Id = *mut c_void;

fn class(name: &CStr) -> Id {
    unsafe extern "C" {
        fn objc_getClass(name: *const c_char) -> Id;
    }
    // SAFETY: a C string.
    unsafe { objc_getClass(name.as_ptr()) }
}

fn count(pool: Id) -> c_uint {
    // SAFETY: a pool that lives, whose method this is.
    unsafe { send(pool, c"autoreleaseCount") }
}

/// The thread's current pool.
pub(crate) struct Pool(Id);

impl Pool {
    pub(crate) fn new() -> Pool {
        // SAFETY: a class that there is.
        Pool(unsafe { send(class(c"NSAutoreleasePool"), c"new") })
    }

    /// Objects in it.
    pub(crate) fn count(&self) -> u32 {
        count(self.0)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // SAFETY: it lives until now.
        unsafe { send::<()>(self.0, c"drain") };
    }
}

fn current() -> Id {
    // SAFETY: a method of GNUstep's class.
    unsafe { send(class(c"NSAutoreleasePool"), c"currentPool") }
}

/// A call that raises in front of hostmetal's methods.
fn raise(encoder: &Owned<DCMetalComputeEncoder>, wrong: &Owned<DCMetalConstants>) {
    let raised = attempt(|error| dc!(DCMetalComputeEncoder_SetBuffer(encoder.0, wrong.0.cast(), 0, 0, error)));
    assert_eq!(raised.expect_err("no buffer").status, DC_METAL_EXCEPTION);
}

pub(crate) fn what_is_raised_is_in_a_pool() {
    let counted = Pool::new();
    // SAFETY: a class that there is.
    let object = unsafe { send(class(c"NSObject"), c"new") };
    // SAFETY: an object that was just made.
    let _: Id = unsafe { send(object, c"autorelease") };
    assert_eq!(counted.count(), 1, "what is autoreleased is counted");
    drop(counted);
    let run = || {
        let gpu = Gpu::new();
        let wrong = create(|out, error| dc!(DCMetalConstants_Create(out, error))).expect("constants");
        let (command_buffer, out) = (gpu.command_buffer(), gpu.buffer(16));
        let encoder = compute_encoder(&command_buffer);
        assert_eq!(current(), ptr::null_mut(), "these calls need none that stays");
        set_buffer(&encoder, &out, 0, 0);
        let standing = current();
        assert_ne!(standing, ptr::null_mut(), "one stays, in case that a call raises");
        assert_eq!(count(standing), 0, "it is empty until then");
        raise(&encoder, &wrong);
        let raised = count(standing);
        assert!(raised > 0, "it has got what was raised");
        let own = Pool::new();
        raise(&encoder, &wrong);
        assert!(own.count() > 0, "the program's pool comes first");
        assert_eq!(count(standing), raised);
        end(&encoder);
    };
    thread::spawn(run).join().expect("the thread ends");
}
