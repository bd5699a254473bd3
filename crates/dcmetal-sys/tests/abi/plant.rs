//! Misuse that only a sanitizer sees, for the self-test of scripts/sanitize: `DCMETAL_ABI_PLANT` names one.
//!
//! Each breaks the header's contract from outside, so that the report comes from inside the native layer.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
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

/// Two threads enqueue the same command buffers, each of which belongs to one of them.
///
/// They meet before each, without ordering each other: locks inside of GNUstep order a thread that falls behind, and hide its race.
fn race() {
    const COMMAND_BUFFERS: usize = 1000;
    let Gpu { device, queue: _ } = Gpu::new();
    let queue = create(|out, error| dc!(DCMetalQueue_Create(device.0, COMMAND_BUFFERS, out, error))).expect("a queue");
    let gpu = Gpu { device, queue };
    let command_buffers: Vec<_> = (0..COMMAND_BUFFERS).map(|_| gpu.command_buffer()).collect();
    let arrived = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for (i, command_buffer) in command_buffers.iter().enumerate() {
                    arrived.fetch_add(1, Relaxed);
                    while arrived.load(Relaxed) < 2 * (i + 1) {
                        thread::yield_now();
                    }
                    // Not through `dc!`, whose lock would order the threads.
                    // SAFETY: none; this is the misuse.
                    unsafe { DCMetalCommandBuffer_Enqueue(command_buffer.0, std::ptr::null_mut()) };
                }
            });
        }
    });
}
