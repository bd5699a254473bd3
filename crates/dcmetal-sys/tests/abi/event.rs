//! Events, shared events and fences: who waits for whom, and who is told.

use std::ffi::c_void;
use std::ptr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread;
use std::time::Duration;

use dcmetal_sys::*;

use crate::support::*;

const INVALID: DCMetalStatus = DC_METAL_INVALID_ARGUMENT;
const STATE: DCMetalStatus = DC_METAL_INVALID_STATE;
/// Longer than anything here takes; only a failure waits for it.
const LONG: u64 = 60_000;

const SOURCE: &str = "kernel void write(device int *x [[buffer(0)]]) { x[0] = 21; }\n\
    kernel void twice(device int *x [[buffer(0)]]) { x[0] *= 2; }\n\
    kernel void fault(device int *x [[buffer(0)]]) { x[0x0fff0000000000ul] = 1; }";

fn event(gpu: &Gpu) -> Owned<DCMetalEvent> {
    create(|out, error| dc!(DCMetalEvent_Create(gpu.device.0, out, error))).expect("an event")
}

fn shared(gpu: &Gpu) -> Owned<DCMetalSharedEvent> {
    create(|out, error| dc!(DCMetalSharedEvent_Create(gpu.device.0, out, error))).expect("a shared event")
}

fn fence(gpu: &Gpu) -> Owned<DCMetalFence> {
    create(|out, error| dc!(DCMetalFence_Create(gpu.device.0, out, error))).expect("a fence")
}

fn as_event(event: &Owned<DCMetalSharedEvent>) -> DCMetalEvent {
    dc!(DCMetalSharedEvent_AsEvent(event.0))
}

fn value(event: &Owned<DCMetalSharedEvent>) -> u64 {
    dc!(DCMetalSharedEvent_GetSignaledValue(event.0))
}

fn signal_now(event: &Owned<DCMetalSharedEvent>, value: u64) {
    attempt(|error| dc!(DCMetalSharedEvent_SetSignaledValue(event.0, value, error))).expect("it is signaled");
}

/// Whether the event had the value within so many milliseconds.
fn reached(event: &Owned<DCMetalSharedEvent>, value: u64, milliseconds: u64) -> bool {
    let mut reached = milliseconds == 0;
    attempt(|error| dc!(DCMetalSharedEvent_Wait(event.0, value, milliseconds, &mut reached, error))).expect("it waits");
    reached
}

fn signal(command_buffer: &Owned<DCMetalCommandBuffer>, event: DCMetalEvent, value: u64) -> Result<(), Failure> {
    attempt(|error| dc!(DCMetalCommandBuffer_EncodeSignalEvent(command_buffer.0, event, value, error)))
}

fn wait_for(command_buffer: &Owned<DCMetalCommandBuffer>, event: DCMetalEvent, value: u64) -> Result<(), Failure> {
    attempt(|error| dc!(DCMetalCommandBuffer_EncodeWaitForEvent(command_buffer.0, event, value, error)))
}

fn run(command_buffer: &Owned<DCMetalCommandBuffer>, pipeline: &Owned<DCMetalPipeline>, buffer: &Owned<DCMetalBuffer>) {
    let encoder = compute_encoder(command_buffer);
    set_pipeline(&encoder, pipeline);
    set_buffer(&encoder, buffer, 0, 0);
    dispatch_threads(&encoder, size(1, 1, 1), size(1, 1, 1)).expect("a dispatch");
    end(&encoder);
}

/// Another queue of the same device.
fn second_queue(gpu: &Gpu) -> Gpu {
    let device = create(|out, error| dc!(DCMetalDevice_CreateSystemDefault(out, error))).expect("a device");
    let queue = create(|out, error| dc!(DCMetalQueue_Create(gpu.device.0, 0, out, error))).expect("a queue");
    Gpu { device, queue }
}

// ------------------------------------------------------------------ between queues

/// The one that waits is committed first; without its event it would double what was there.
fn ordered(event: DCMetalEvent) {
    let gpu = Gpu::new();
    let other = second_queue(&gpu);
    let (write, twice) = (gpu.pipeline(SOURCE, "write"), gpu.pipeline(SOURCE, "twice"));
    let out = gpu.buffer_of(&[100i32]);
    let (first, second) = (gpu.command_buffer(), other.command_buffer());
    wait_for(&second, event, 7).expect("a wait");
    run(&second, &twice, &out);
    commit(&second);
    run(&first, &write, &out);
    signal(&first, event, 7).expect("a signal");
    commit(&first);
    wait(&first).expect("it completes");
    wait(&second).expect("it completes");
    assert_eq!(contents::<i32>(&out), [42]);
}

pub(crate) fn event_orders_two_queues() {
    ordered(event(&Gpu::new()).0);
    ordered(as_event(&shared(&Gpu::new())));
}

pub(crate) fn event_is_kept_by_its_command_buffers() {
    let gpu = Gpu::new();
    let other = second_queue(&gpu);
    let (first, second) = (gpu.command_buffer(), other.command_buffer());
    let event = event(&gpu);
    wait_for(&second, event.0, 1).expect("a wait");
    signal(&first, event.0, 1).expect("a signal");
    drop(event);
    commit(&second);
    commit(&first);
    wait(&second).expect("it completes");
}

pub(crate) fn event_labels_are_checked() {
    let gpu = Gpu::new();
    let (event, shared, fence) = (event(&gpu), shared(&gpu), fence(&gpu));
    let (good, bad) = (c("step 7"), [0xffu8, 0]);
    for (text, wanted) in [(good.as_ptr(), DC_METAL_OK), (ptr::null(), DC_METAL_OK), (bad.as_ptr().cast(), INVALID)] {
        assert_eq!(dc!(DCMetalEvent_SetLabel(event.0, text)), wanted);
        assert_eq!(dc!(DCMetalSharedEvent_SetLabel(shared.0, text)), wanted);
        assert_eq!(dc!(DCMetalFence_SetLabel(fence.0, text)), wanted);
    }
}

// ------------------------------------------------------------------ the host

pub(crate) fn shared_event_only_grows() {
    let gpu = Gpu::new();
    let event = shared(&gpu);
    assert_eq!(value(&event), 0);
    for (signaled, wanted) in [(3, 3), (2, 3), (3, 3), (u64::MAX, u64::MAX), (0, u64::MAX)] {
        signal_now(&event, signaled);
        assert_eq!(value(&event), wanted);
    }
    let event = shared(&gpu);
    let command_buffer = gpu.command_buffer();
    signal(&command_buffer, as_event(&event), 5).expect("a signal");
    signal(&command_buffer, as_event(&event), 4).expect("a smaller one");
    commit(&command_buffer);
    wait(&command_buffer).expect("it completes");
    assert_eq!(value(&event), 5);
}

pub(crate) fn host_and_device_wait_for_each_other() {
    let gpu = Gpu::new();
    let twice = gpu.pipeline(SOURCE, "twice");
    let (event, out) = (shared(&gpu), gpu.buffer_of(&[0i32]));
    let command_buffer = gpu.command_buffer();
    wait_for(&command_buffer, as_event(&event), 1).expect("a wait");
    run(&command_buffer, &twice, &out);
    signal(&command_buffer, as_event(&event), 2).expect("a signal");
    commit(&command_buffer);
    assert!(!reached(&event, 2, 1), "it waits for the host");
    let start = dc!(DCMetalBuffer_GetContents(out.0)).cast::<i32>();
    // SAFETY: the buffer's memory; the device reads it after the signal below.
    unsafe { start.write(21) };
    signal_now(&event, 1);
    assert!(reached(&event, 2, LONG));
    wait(&command_buffer).expect("it completes");
    assert_eq!(contents::<i32>(&out), [42]);
}

pub(crate) fn wait_ends_in_time() {
    let event = shared(&Gpu::new());
    assert!(!reached(&event, 1, 0) && !reached(&event, 1, 2));
    thread::scope(|scope| {
        let waits = scope.spawn(|| reached(&event, 1, LONG));
        signal_now(&event, 1);
        assert!(waits.join().expect("it waits"));
    });
    assert!(reached(&event, 1, 0) && reached(&event, 0, 0) && reached(&event, 1, u64::MAX));
}

pub(crate) fn failed_command_buffer_signals_nothing_early() {
    let gpu = Gpu::new();
    let (fault, out, event) = (gpu.pipeline(SOURCE, "fault"), gpu.buffer_of(&[0i32]), shared(&gpu));
    let command_buffer = gpu.command_buffer();
    run(&command_buffer, &fault, &out);
    signal(&command_buffer, as_event(&event), 9).expect("a signal");
    commit(&command_buffer);
    assert!(wait(&command_buffer).is_err());
    // Whether Metal signals after a failure is its own; that the host can is what matters.
    signal_now(&event, 9);
    assert_eq!(value(&event), 9);
}

// ------------------------------------------------------------------ notifications

type Told = (DCMetalStatus, u64);

unsafe extern "C" fn told(context: *mut c_void, status: DCMetalStatus, value: u64) {
    // SAFETY: the context is the boxed sender of `notify`, taken back by this one call.
    let sender = unsafe { Box::from_raw(context.cast::<Sender<Told>>()) };
    sender.send((status, value)).expect("the case listens");
}

/// What the handler was called with arrives here. Its sender goes with the call, so a second call would be seen by address
/// sanitizer, and none leaves the channel open.
fn notify(event: &Owned<DCMetalSharedEvent>, value: u64) -> Receiver<Told> {
    let (sender, receiver) = channel();
    let context = Box::into_raw(Box::new(sender)).cast();
    attempt(|error| dc!(DCMetalSharedEvent_Notify(event.0, value, Some(told), context, error))).expect("a handler");
    receiver
}

pub(crate) fn notification_comes_once() {
    let gpu = Gpu::new();
    let event = shared(&gpu);
    let (third, second) = (notify(&event, 3), notify(&event, 2));
    let at_once = notify(&event, 0);
    assert_eq!(at_once.recv(), Ok((DC_METAL_OK, 0)));
    assert_eq!(second.try_recv(), Err(TryRecvError::Empty));
    signal_now(&event, 2);
    assert_eq!(second.recv(), Ok((DC_METAL_OK, 2)));
    assert_eq!(second.recv(), Err(std::sync::mpsc::RecvError), "called once");
    assert_eq!(third.try_recv(), Err(TryRecvError::Empty));
    let command_buffer = gpu.command_buffer();
    signal(&command_buffer, as_event(&event), 10).expect("a signal");
    commit(&command_buffer);
    assert_eq!(third.recv(), Ok((DC_METAL_OK, 10)));
    assert_eq!(third.recv(), Err(std::sync::mpsc::RecvError), "called once");
}

pub(crate) fn notification_of_an_event_that_goes() {
    let gpu = Gpu::new();
    let event = shared(&gpu);
    let never = notify(&event, 1);
    let command_buffer = gpu.command_buffer();
    wait_for(&command_buffer, as_event(&event), 0).expect("a wait");
    drop(event);
    assert_eq!(never.recv_timeout(Duration::ZERO), Err(RecvTimeoutError::Timeout), "the command buffer holds it");
    drop(command_buffer);
    assert_eq!(never.recv(), Ok((STATE, 0)));
    assert_eq!(never.recv(), Err(std::sync::mpsc::RecvError), "called once");
}

pub(crate) fn notifications_from_many_threads() {
    const COUNT: u64 = 200;
    let event = shared(&Gpu::new());
    thread::scope(|scope| {
        let waits: Vec<_> = (1..=COUNT)
            .map(|at| {
                scope.spawn({
                    let event = &event;
                    move || (at, notify(event, at).recv())
                })
            })
            .collect();
        for value in 1..=COUNT {
            signal_now(&event, value);
        }
        for wait in waits {
            let (at, told) = wait.join().expect("it was told");
            let (status, value) = told.expect("once");
            assert!(status == DC_METAL_OK && value >= at, "{at}: {status:?} {value}");
        }
    });
}

// ------------------------------------------------------------------ fences

pub(crate) fn fences_order_encoders() {
    let gpu = Gpu::new();
    let (write, twice) = (gpu.pipeline(SOURCE, "write"), gpu.pipeline(SOURCE, "twice"));
    let (fence, out, copy) = (fence(&gpu), gpu.buffer_of(&[0i32]), gpu.buffer_of(&[0i32]));
    let command_buffer = gpu.command_buffer();
    for (pipeline, waits) in [(&write, false), (&twice, true)] {
        let encoder = compute_encoder(&command_buffer);
        if waits {
            attempt(|error| dc!(DCMetalComputeEncoder_WaitForFence(encoder.0, fence.0, error))).expect("a wait");
        }
        set_pipeline(&encoder, pipeline);
        set_buffer(&encoder, &out, 0, 0);
        dispatch_threads(&encoder, size(1, 1, 1), size(1, 1, 1)).expect("a dispatch");
        attempt(|error| dc!(DCMetalComputeEncoder_UpdateFence(encoder.0, fence.0, error))).expect("an update");
        let own = attempt(|error| dc!(DCMetalComputeEncoder_WaitForFence(encoder.0, fence.0, error)));
        assert!(refused(STATE, own).contains("updates this fence"));
        end(&encoder);
    }
    let blit = blit_encoder(&command_buffer);
    attempt(|error| dc!(DCMetalBlitEncoder_WaitForFence(blit.0, fence.0, error))).expect("a wait");
    attempt(|error| dc!(DCMetalBlitEncoder_CopyBuffer(blit.0, out.0, 0, copy.0, 0, 4, error))).expect("a copy");
    attempt(|error| dc!(DCMetalBlitEncoder_UpdateFence(blit.0, fence.0, error))).expect("an update");
    refused(STATE, attempt(|error| dc!(DCMetalBlitEncoder_WaitForFence(blit.0, fence.0, error))));
    drop(fence);
    attempt(|error| dc!(DCMetalBlitEncoder_EndEncoding(blit.0, error))).expect("the end");
    commit(&command_buffer);
    wait(&command_buffer).expect("it completes");
    assert_eq!(contents::<i32>(&copy), [42]);
}

// ------------------------------------------------------------------ what is refused

pub(crate) fn event_wrong_moments_are_refused() {
    let gpu = Gpu::new();
    let (event, fence, command_buffer) = (event(&gpu), fence(&gpu), gpu.command_buffer());
    let encoder = compute_encoder(&command_buffer);
    assert!(refused(STATE, signal(&command_buffer, event.0, 1)).contains("encoder"));
    assert!(refused(STATE, wait_for(&command_buffer, event.0, 1)).contains("encoder"));
    end(&encoder);
    refused(STATE, attempt(|error| dc!(DCMetalComputeEncoder_UpdateFence(encoder.0, fence.0, error))));
    refused(STATE, attempt(|error| dc!(DCMetalComputeEncoder_WaitForFence(encoder.0, fence.0, error))));
    let blit = blit_encoder(&command_buffer);
    attempt(|error| dc!(DCMetalBlitEncoder_EndEncoding(blit.0, error))).expect("the end");
    refused(STATE, attempt(|error| dc!(DCMetalBlitEncoder_UpdateFence(blit.0, fence.0, error))));
    refused(STATE, attempt(|error| dc!(DCMetalBlitEncoder_WaitForFence(blit.0, fence.0, error))));
    commit(&command_buffer);
    assert!(refused(STATE, signal(&command_buffer, event.0, 1)).contains("committed"));
    assert!(refused(STATE, wait_for(&command_buffer, event.0, 1)).contains("committed"));
    wait(&command_buffer).expect("nothing of it was encoded");
}

pub(crate) fn event_wrong_arguments_are_refused() {
    let gpu = Gpu::new();
    let device = gpu.device.0;
    let (none, no_event, no_out) = (ptr::null_mut(), DCMetalEvent::NULL, ptr::null_mut());
    let message = refused(INVALID, create(|out, error| dc!(DCMetalEvent_Create(none, out, error))));
    assert_eq!(message, "device is NULL");
    refused(INVALID, attempt(|error| dc!(DCMetalEvent_Create(device, no_out, error))));
    refused(INVALID, create(|out, error| dc!(DCMetalSharedEvent_Create(none, out, error))));
    refused(INVALID, attempt(|error| dc!(DCMetalSharedEvent_Create(device, ptr::null_mut(), error))));
    refused(INVALID, create(|out, error| dc!(DCMetalFence_Create(none, out, error))));
    refused(INVALID, attempt(|error| dc!(DCMetalFence_Create(device, ptr::null_mut(), error))));
    let (shared, mut reached) = (shared(&gpu), true);
    let null = DCMetalSharedEvent::NULL;
    assert_eq!(dc!(DCMetalSharedEvent_GetSignaledValue(null)), 0);
    assert!(dc!(DCMetalSharedEvent_AsEvent(null)).is_null());
    refused(INVALID, attempt(|error| dc!(DCMetalSharedEvent_SetSignaledValue(null, 1, error))));
    refused(INVALID, attempt(|error| dc!(DCMetalSharedEvent_Wait(null, 1, 0, &mut reached, error))));
    assert!(!reached);
    refused(INVALID, attempt(|error| dc!(DCMetalSharedEvent_Wait(shared.0, 1, 0, ptr::null_mut(), error))));
    let context = ptr::null_mut();
    refused(INVALID, attempt(|error| dc!(DCMetalSharedEvent_Notify(null, 1, Some(never), context, error))));
    refused(INVALID, attempt(|error| dc!(DCMetalSharedEvent_Notify(shared.0, 1, None, context, error))));
    let command_buffer = gpu.command_buffer();
    refused(INVALID, signal(&command_buffer, no_event, 1));
    refused(INVALID, wait_for(&command_buffer, no_event, 1));
    let (no_commands, event) = (DCMetalCommandBuffer::NULL, as_event(&shared));
    refused(INVALID, attempt(|error| dc!(DCMetalCommandBuffer_EncodeSignalEvent(no_commands, event, 1, error))));
    refused(INVALID, attempt(|error| dc!(DCMetalCommandBuffer_EncodeWaitForEvent(no_commands, event, 1, error))));
    let (no_fence, fence) = (DCMetalFence::NULL, fence(&gpu));
    let (no_compute, no_blit) = (DCMetalComputeEncoder::NULL, DCMetalBlitEncoder::NULL);
    let encoder = compute_encoder(&command_buffer);
    for (encoder, fence) in [(encoder.0, no_fence), (no_compute, fence.0)] {
        refused(INVALID, attempt(|error| dc!(DCMetalComputeEncoder_UpdateFence(encoder, fence, error))));
        refused(INVALID, attempt(|error| dc!(DCMetalComputeEncoder_WaitForFence(encoder, fence, error))));
    }
    end(&encoder);
    let encoder = blit_encoder(&command_buffer);
    for (encoder, fence) in [(encoder.0, no_fence), (no_blit, fence.0)] {
        refused(INVALID, attempt(|error| dc!(DCMetalBlitEncoder_UpdateFence(encoder, fence, error))));
        refused(INVALID, attempt(|error| dc!(DCMetalBlitEncoder_WaitForFence(encoder, fence, error))));
    }
    for label in [c("x").as_ptr(), ptr::null()] {
        assert_eq!(dc!(DCMetalEvent_SetLabel(no_event, label)), INVALID);
        assert_eq!(dc!(DCMetalSharedEvent_SetLabel(null, label)), INVALID);
        assert_eq!(dc!(DCMetalFence_SetLabel(no_fence, label)), INVALID);
    }
    dc!(DCMetalEvent_Release(no_event));
    dc!(DCMetalSharedEvent_Release(null));
    dc!(DCMetalFence_Release(no_fence));
}

unsafe extern "C" fn never(_: *mut c_void, _: DCMetalStatus, _: u64) {
    std::process::abort();
}
