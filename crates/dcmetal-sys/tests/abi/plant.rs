//! Misuse that only a sanitizer sees, for the self-test of scripts/sanitize: `DCMETAL_ABI_PLANT` names one.
//!
//! Each breaks the header's contract from outside, so that the report comes from inside the native layer.

use std::thread;

use dcmetal_sys::*;

use crate::support::*;

pub(crate) fn misuse(name: &str) {
    match name {
        "leak" => leak(),
        "use-after-release" => use_after_release(),
        "misaligned" => misaligned(),
        "race" => race(),
        other => panic!("no plant is called {other:?}"),
    }
}

/// A command buffer, a buffer and an error that nobody releases.
fn leak() {
    let gpu = Gpu::new();
    std::mem::forget(gpu.buffer(64));
    std::mem::forget(gpu.command_buffer());
    let (mut queue, mut error) = (DCMetalQueue::NULL, DCMetalError::NULL);
    dc!(DCMetalQueue_Create(DCMetalDevice::NULL, 0, &mut queue, &mut error));
}

fn use_after_release() {
    let command_buffer = Gpu::new().command_buffer();
    dc!(DCMetalCommandBuffer_Release(command_buffer.0));
    attempt(|error| dc!(DCMetalCommandBuffer_Commit(command_buffer.0, error))).expect("this is not reached");
}

/// The end time goes where no double can be.
fn misaligned() {
    let command_buffer = Gpu::new().command_buffer();
    commit(&command_buffer);
    wait(&command_buffer).expect("it completes");
    let (mut start, mut bytes) = (0.0, [0.0f64; 2]);
    let end = bytes.as_mut_ptr().cast::<u8>().wrapping_add(1).cast::<f64>();
    dc!(DCMetalCommandBuffer_GetGPUTimes(command_buffer.0, &mut start, end));
}

/// Two threads enqueue one command buffer, which belongs to one of them.
fn race() {
    let gpu = Gpu::new();
    for _ in 0..200 {
        let command_buffer = &gpu.command_buffer();
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(move || {
                    let _one_is_refused = attempt(|error| dc!(DCMetalCommandBuffer_Enqueue(command_buffer.0, error)));
                });
            }
        });
    }
}
