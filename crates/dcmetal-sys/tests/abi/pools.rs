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

extern "C" fn never() -> Id {
    eprintln!("hostmetal's own way was taken for an object of another class");
    std::process::abort()
}

/// Has the object be of a class that behaves as its own, but for what is private to hostmetal's.
fn become_another(object: Id, name: &CStr) {
    unsafe extern "C" {
        fn object_setClass(object: Id, class: Id) -> Id;
        fn objc_allocateClassPair(superclass: Id, name: *const c_char, bytes: usize) -> Id;
        fn objc_registerClassPair(class: Id);
        fn class_addMethod(
            class: Id,
            selector: *const c_void,
            method: extern "C" fn() -> Id,
            types: *const c_char,
        ) -> bool;
    }
    if class(name).is_null() {
        // SAFETY: an object that lives.
        let own: Id = unsafe { send(object, c"class") };
        // SAFETY: a class, and a name that no class has.
        let other = unsafe { objc_allocateClassPair(own, name.as_ptr(), 0) };
        for private in [c"newCommandBufferRetaining:errorOptions:", c"newComputeCommandEncoderWithDispatchType:"] {
            // SAFETY: the class was just made; nobody is to call this.
            unsafe { class_addMethod(other, selector(private), never, c"@@:".as_ptr()) };
        }
        // SAFETY: it was just made.
        unsafe { objc_registerClassPair(other) };
    }
    // SAFETY: the class has the same instance variables and methods.
    unsafe { object_setClass(object, class(name)) };
}

/// What the object behind a command buffer's handle was made with: whether it retains, and MTLCommandBufferErrorOption.
fn told(command_buffer: &Owned<DCMetalCommandBuffer>) -> (bool, u64) {
    // SAFETY: the handle begins with the object of Metal's, which lives.
    let object = unsafe { *command_buffer.0.cast::<Id>() };
    // SAFETY: a property of a command buffer.
    let retains: u8 = unsafe { send(object, c"retainedReferences") };
    // SAFETY: the same.
    (retains != 0, unsafe { send(object, c"errorOptions") })
}

/// As Apple's Metal is asked, which has no private way to make them: queues and command buffers of another class than hostmetal's.
pub(crate) fn whatever_class_makes_them() {
    let (gpu, of_own) = (Gpu::new(), Gpu::new());
    become_another(gpu.queue.0.cast(), c"DCMetalTestQueue");
    let pipeline = gpu.pipeline(
        "kernel void two(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = 2; }",
        "two",
    );
    let out = gpu.buffer(16);
    for (unretained_references, encoder_info) in [(false, false), (false, true), (true, false), (true, true)] {
        let options = DCMetalCommandBufferOptions { unretained_references, encoder_info };
        for other in [false, true] {
            let command_buffer = gpu.command_buffer_with(Some(&options));
            if other {
                // SAFETY: the handle begins with the object of Metal's.
                become_another(unsafe { *command_buffer.0.cast::<Id>() }, c"DCMetalTestCommandBuffer");
            }
            assert_eq!(told(&command_buffer), (!unretained_references, u64::from(encoder_info)));
            assert_eq!(told(&of_own.command_buffer_with(Some(&options))), told(&command_buffer));
            let encoder = compute_encoder(&command_buffer);
            set_pipeline(&encoder, &pipeline);
            set_buffer(&encoder, &out, 0, 0);
            dispatch_threads(&encoder, size(4, 1, 1), size(4, 1, 1)).expect("a dispatch");
            end(&encoder);
            let (mut none, nowhere) = (DCMetalComputeEncoder::NULL, ptr::null_mut());
            let create = |type_, encoder| dc!(DCMetalComputeEncoder_Create(command_buffer.0, type_, encoder, nowhere));
            assert_eq!(create(DCMetalDispatchType(7), &mut none), DC_METAL_INVALID_ARGUMENT);
            assert_eq!(create(DC_METAL_DISPATCH_SERIAL, ptr::null_mut()), DC_METAL_INVALID_ARGUMENT);
            drop(encoder);
            commit(&command_buffer);
            wait(&command_buffer).expect("it completes");
            assert_eq!(contents::<i32>(&out), [2; 4]);
            let start = dc!(DCMetalBuffer_GetContents(out.0));
            // SAFETY: a live buffer of 16 bytes that the CPU shares.
            unsafe { start.write_bytes(0, 16) };
        }
    }
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
        assert_eq!(current(), ptr::null_mut(), "these calls need none that stays");
        let command_buffer = gpu.command_buffer();
        let encoder = compute_encoder(&command_buffer);
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
