//! What Metal makes no object of, which hostmetal does on order.

use std::ptr;

use dcmetal_sys::*;
use hostmetal::faults;

use crate::performance::{descriptor, encode, encode_rows, made, matrix, softmax};
use crate::support::*;
use crate::texture::{plain_sampler, sampler};

/// The rules hold as long as this.
struct Rules;

impl Rules {
    fn set(rules: &str) -> Rules {
        faults::set(rules).expect("right rules");
        Rules
    }
}

impl Drop for Rules {
    fn drop(&mut self) {
        faults::set("").expect("no rules are right");
    }
}

/// The first is not made, the second is. What there was is released by `create`, if there was something.
fn fails_once<T>(site: &str, wanted: &str, make: impl Fn() -> Result<T, Failure>) {
    let _rules = Rules::set(&format!("{site}:at=1"));
    let why = refused(DC_METAL_OUT_OF_MEMORY, make());
    assert!(why.contains(wanted), "{why}");
    assert!(make().is_ok(), "the next {site} is made");
    let counts = faults::counts(site).expect("a site");
    assert_eq!((counts.events, counts.injected), (2, 1), "{site}");
}

pub(crate) fn what_metal_does_not_make_is_no_memory() {
    let gpu = Gpu::new();
    let device = gpu.device.0;
    fails_once("event", "Metal made no event", || {
        create(|out: *mut DCMetalEvent, error| dc!(DCMetalEvent_Create(device, out, error)))
    });
    fails_once("event", "Metal made no shared event", || {
        create(|out: *mut DCMetalSharedEvent, error| dc!(DCMetalSharedEvent_Create(device, out, error)))
    });
    fails_once("fence", "Metal made no fence", || {
        create(|out: *mut DCMetalFence, error| dc!(DCMetalFence_Create(device, out, error)))
    });
    fails_once("command_buffer", "Metal made no command buffer", || {
        create(|out, error| dc!(DCMetalCommandBuffer_Create(gpu.queue.0, ptr::null(), out, error)))
    });
    fails_once("sampler", "Metal made no sampler", || sampler(&gpu, &plain_sampler()));
}

pub(crate) fn a_pass_without_an_encoder_is_no_memory() {
    let gpu = Gpu::new();
    let (left, right) = (gpu.buffer_of(&[1.0f32, 2.0]), gpu.buffer_of(&[3.0f32, 4.0]));
    let (result, spare) = (gpu.buffer_of(&[0.0f32]), gpu.buffer_of(&[0.0f32; 2]));
    let [left, right, to, line] =
        [matrix(&left, 1, 2), matrix(&right, 2, 1), matrix(&result, 1, 1), matrix(&spare, 1, 2)];
    let multiplication = made(&gpu, &descriptor(1, 1, 2)).expect("a kernel");
    let softmax = softmax(&gpu).expect("a kernel");
    let command_buffer = gpu.command_buffer();
    fails_once("encoder", "made no encoder", || encode(&multiplication, &command_buffer, [&left, &right, &to]));
    fails_once("encoder", "made no encoder", || encode_rows(&softmax, &command_buffer, [&left, &line]));
    fails_once("encoder", "made no encoder", || {
        let encoder = create(|out, error| {
            dc!(DCMetalComputeEncoder_Create(command_buffer.0, DC_METAL_DISPATCH_SERIAL, out, error))
        })?;
        attempt(|error| dc!(DCMetalComputeEncoder_EndEncoding(encoder.0, error)))
    });
    fails_once("encoder", "made no encoder", || {
        let encoder = create(|out, error| dc!(DCMetalBlitEncoder_Create(command_buffer.0, out, error)))?;
        attempt(|error| dc!(DCMetalBlitEncoder_EndEncoding(encoder.0, error)))
    });
    commit(&command_buffer);
    wait(&command_buffer).expect("it completes");
    assert_eq!(contents::<f32>(&result), [11.0]);
}
