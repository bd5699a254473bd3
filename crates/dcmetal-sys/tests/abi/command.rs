//! Command buffers: states, waiting, completion handlers, errors and times.

use std::ffi::c_void;
use std::ptr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use dcmetal_sys::*;

use crate::support::*;

const NOT_ENQUEUED: DCMetalCommandBufferStatus = DC_METAL_COMMAND_BUFFER_NOT_ENQUEUED;
const STATE: DCMetalStatus = DC_METAL_INVALID_STATE;
const INVALID: DCMetalStatus = DC_METAL_INVALID_ARGUMENT;

/// Writes far outside every allocation.
const FAULT: &str = "kernel void fault(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n\
    x[0x0fff0000000000ul + i] = 1; }";

fn status(command_buffer: &Owned<DCMetalCommandBuffer>) -> DCMetalCommandBufferStatus {
    dc!(DCMetalCommandBuffer_GetStatus(command_buffer.0))
}

pub(crate) fn states_follow_each_other() {
    let gpu = Gpu::new();
    let command_buffer = gpu.command_buffer();
    assert_eq!(status(&command_buffer), NOT_ENQUEUED);
    attempt(|error| dc!(DCMetalCommandBuffer_Enqueue(command_buffer.0, error))).expect("it is enqueued");
    assert_eq!(status(&command_buffer), DC_METAL_COMMAND_BUFFER_ENQUEUED);
    commit(&command_buffer);
    assert!(status(&command_buffer).0 >= DC_METAL_COMMAND_BUFFER_COMMITTED.0);
    attempt(|error| dc!(DCMetalCommandBuffer_WaitUntilScheduled(command_buffer.0, error))).expect("it is scheduled");
    assert!(status(&command_buffer).0 >= DC_METAL_COMMAND_BUFFER_SCHEDULED.0);
    wait(&command_buffer).expect("it completes");
    assert_eq!(status(&command_buffer), DC_METAL_COMMAND_BUFFER_COMPLETED);
    assert!(dc!(DCMetalCommandBuffer_CreateError(command_buffer.0)).is_null());
    wait(&command_buffer).expect("waiting again is fine");
}

pub(crate) fn wrong_moments_are_refused() {
    let gpu = Gpu::new();
    let command_buffer = gpu.command_buffer();
    let raw = command_buffer.0;
    refused(STATE, wait(&command_buffer));
    refused(STATE, attempt(|error| dc!(DCMetalCommandBuffer_WaitUntilScheduled(raw, error))));
    let (mut start, mut end) = (9.0, 9.0);
    assert_eq!(dc!(DCMetalCommandBuffer_GetGPUTimes(raw, &mut start, &mut end)), STATE);
    assert_eq!((start, end), (0.0, 0.0));
    attempt(|error| dc!(DCMetalCommandBuffer_Enqueue(raw, error))).expect("it is enqueued");
    refused(STATE, attempt(|error| dc!(DCMetalCommandBuffer_Enqueue(raw, error))));
    let encoder = compute_encoder(&command_buffer);
    let message = refused(STATE, attempt(|error| dc!(DCMetalCommandBuffer_Commit(raw, error))));
    assert!(message.contains("encoder"), "{message}");
    end_encoding(&encoder);
    commit(&command_buffer);
    refused(STATE, attempt(|error| dc!(DCMetalCommandBuffer_Commit(raw, error))));
    refused(STATE, attempt(|error| dc!(DCMetalCommandBuffer_Enqueue(raw, error))));
    let serial = DC_METAL_DISPATCH_SERIAL;
    refused(STATE, create(|out, error| dc!(DCMetalComputeEncoder_Create(raw, serial, out, error))));
    refused(STATE, create(|out, error| dc!(DCMetalBlitEncoder_Create(raw, out, error))));
    let (handler, context) = (Some(never as _), ptr::null_mut());
    refused(STATE, attempt(|error| dc!(DCMetalCommandBuffer_AddCompletedHandler(raw, handler, context, error))));
    wait(&command_buffer).expect("it completes all the same");
    refused(STATE, attempt(|error| dc!(DCMetalCommandBuffer_Commit(raw, error))));
}

unsafe extern "C" fn never(_: *mut c_void, _: DCMetalStatus, _: DCMetalError) {
    std::process::abort();
}

fn end_encoding(encoder: &Owned<DCMetalComputeEncoder>) {
    attempt(|error| dc!(DCMetalComputeEncoder_EndEncoding(encoder.0, error))).expect("it ends");
}

pub(crate) fn uncommitted_is_dropped() {
    let gpu = Gpu::new();
    let out = gpu.buffer(64);
    for enqueue in [false, true] {
        let command_buffer = gpu.command_buffer();
        if enqueue {
            attempt(|error| dc!(DCMetalCommandBuffer_Enqueue(command_buffer.0, error))).expect("it is enqueued");
        }
        let encoder = blit_encoder(&command_buffer);
        attempt(|error| dc!(DCMetalBlitEncoder_FillBuffer(encoder.0, out.0, 0, 64, 1, error))).expect("a fill");
        attempt(|error| dc!(DCMetalBlitEncoder_EndEncoding(encoder.0, error))).expect("the end");
        let (handler, context) = (Some(never as _), ptr::null_mut());
        let add =
            |error: *mut _| dc!(DCMetalCommandBuffer_AddCompletedHandler(command_buffer.0, handler, context, error));
        attempt(add).expect("a handler, which is never called");
    }
    // The queue goes on, with nothing of it done.
    let next = gpu.command_buffer();
    commit(&next);
    wait(&next).expect("it completes");
    assert_eq!(contents::<u8>(&out), [0; 64]);
}

pub(crate) fn label_is_checked() {
    let gpu = Gpu::new();
    let command_buffer = gpu.command_buffer();
    let (good, bad) = (c("frame 7"), [0xffu8, 0]);
    assert_eq!(dc!(DCMetalCommandBuffer_SetLabel(command_buffer.0, good.as_ptr())), DC_METAL_OK);
    assert_eq!(dc!(DCMetalCommandBuffer_SetLabel(command_buffer.0, ptr::null())), DC_METAL_OK);
    assert_eq!(dc!(DCMetalCommandBuffer_SetLabel(command_buffer.0, bad.as_ptr().cast())), INVALID);
}

/// B reads what A wrote; A is enqueued first and committed last.
pub(crate) fn enqueue_fixes_the_order() {
    let gpu = Gpu::new();
    let source = "kernel void write(device int *x [[buffer(0)]]) { x[0] = 21; }\n\
                  kernel void twice(device int *x [[buffer(0)]]) { x[0] *= 2; }";
    let (write, twice) = (gpu.pipeline(source, "write"), gpu.pipeline(source, "twice"));
    let out = gpu.buffer_of(&[100i32]);
    let record = |pipeline| {
        let command_buffer = gpu.command_buffer();
        let encoder = compute_encoder(&command_buffer);
        set_pipeline(&encoder, pipeline);
        set_buffer(&encoder, &out, 0, 0);
        dispatch_threads(&encoder, size(1, 1, 1), size(1, 1, 1)).expect("a dispatch");
        end_encoding(&encoder);
        attempt(|error| dc!(DCMetalCommandBuffer_Enqueue(command_buffer.0, error))).expect("it is enqueued");
        command_buffer
    };
    let (first, second) = (record(&write), record(&twice));
    commit(&second);
    assert!(status(&second).0 < DC_METAL_COMMAND_BUFFER_COMPLETED.0, "it waits for the first");
    commit(&first);
    wait(&second).expect("it completes");
    wait(&first).expect("it completes");
    assert_eq!(contents::<i32>(&out), [42]);
}

pub(crate) fn unretained_references_run() {
    let gpu = Gpu::new();
    for encoder_info in [false, true] {
        let options = DCMetalCommandBufferOptions { unretained_references: true, encoder_info };
        let out = gpu.buffer(4096);
        let command_buffer = gpu.command_buffer_with(Some(&options));
        let encoder = blit_encoder(&command_buffer);
        attempt(|error| dc!(DCMetalBlitEncoder_FillBuffer(encoder.0, out.0, 0, 4096, 3, error))).expect("a fill");
        attempt(|error| dc!(DCMetalBlitEncoder_EndEncoding(encoder.0, error))).expect("the end");
        commit(&command_buffer);
        wait(&command_buffer).expect("it completes");
        assert_eq!(contents::<u8>(&out), [3; 4096]);
    }
}

pub(crate) fn times_enclose_the_work() {
    let gpu = Gpu::new();
    let command_buffer = gpu.command_buffer();
    let out = gpu.buffer(1 << 20);
    let encoder = blit_encoder(&command_buffer);
    attempt(|error| dc!(DCMetalBlitEncoder_FillBuffer(encoder.0, out.0, 0, 1 << 20, 3, error))).expect("a fill");
    attempt(|error| dc!(DCMetalBlitEncoder_EndEncoding(encoder.0, error))).expect("the end");
    commit(&command_buffer);
    wait(&command_buffer).expect("it completes");
    let (mut start, mut end) = (-1.0, -1.0);
    let status = dc!(DCMetalCommandBuffer_GetGPUTimes(command_buffer.0, &mut start, &mut end));
    if cfg!(target_os = "macos") && status == DC_METAL_UNSUPPORTED {
        return; // some systems tell none
    }
    assert_eq!(status, DC_METAL_OK);
    assert!(start > 0.0 && end > start, "{start} {end}");
    let null = ptr::null_mut();
    assert_eq!(dc!(DCMetalCommandBuffer_GetGPUTimes(command_buffer.0, null, &mut end)), INVALID);
    assert_eq!(dc!(DCMetalCommandBuffer_GetGPUTimes(command_buffer.0, &mut start, null)), INVALID);
}

// ------------------------------------------------------------------ completion handlers

type Report = (u32, DCMetalStatus, Option<Failure>);

struct Listener {
    number: u32,
    reports: Sender<Report>,
}

unsafe extern "C" fn report(context: *mut c_void, status: DCMetalStatus, error: DCMetalError) {
    // SAFETY: the context is a Listener of `listen`, given once and taken back by this one call.
    let listener = unsafe { Box::from_raw(context.cast::<Listener>()) };
    let failure = (!error.is_null()).then(|| failure(status, error));
    listener.reports.send((listener.number, status, failure)).expect("the case listens");
}

fn listen(command_buffer: &Owned<DCMetalCommandBuffer>, number: u32, reports: &Sender<Report>) {
    let listener = Box::new(Listener { number, reports: reports.clone() });
    let context = Box::into_raw(listener).cast();
    attempt(|error| dc!(DCMetalCommandBuffer_AddCompletedHandler(command_buffer.0, Some(report), context, error)))
        .expect("a handler");
}

/// All reports until every handler is gone; a second call of one would have freed its listener twice.
fn all(reports: Receiver<Report>) -> Vec<Report> {
    let mut all: Vec<_> = reports.iter().collect();
    all.sort_by_key(|report| report.0);
    all
}

pub(crate) fn handlers_run_once_each() {
    let gpu = Gpu::new();
    let (sender, reports) = channel();
    let command_buffer = gpu.command_buffer();
    for number in 0..5 {
        listen(&command_buffer, number, &sender);
    }
    drop(sender);
    commit(&command_buffer);
    wait(&command_buffer).expect("it completes");
    let reports = all(reports);
    assert_eq!(reports.iter().map(|report| report.0).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert!(reports.iter().all(|report| report.1 == DC_METAL_OK && report.2.is_none()));
}

pub(crate) fn handlers_run_after_the_handles_are_gone() {
    let gpu = Gpu::new();
    let (sender, reports) = channel();
    let out = gpu.buffer(1 << 16);
    for number in 0..20 {
        let command_buffer = gpu.command_buffer();
        let encoder = blit_encoder(&command_buffer);
        attempt(|error| dc!(DCMetalBlitEncoder_FillBuffer(encoder.0, out.0, 0, 1 << 16, 3, error))).expect("a fill");
        attempt(|error| dc!(DCMetalBlitEncoder_EndEncoding(encoder.0, error))).expect("the end");
        listen(&command_buffer, number, &sender);
        commit(&command_buffer);
    }
    drop((sender, out, gpu));
    let reports = all(reports);
    assert_eq!(reports.iter().map(|report| report.0).collect::<Vec<_>>(), (0..20).collect::<Vec<_>>());
    assert!(reports.iter().all(|report| report.1 == DC_METAL_OK));
}

pub(crate) fn handler_null_is_refused() {
    let gpu = Gpu::new();
    let command_buffer = gpu.command_buffer();
    let context = ptr::null_mut();
    refused(INVALID, attempt(|e| dc!(DCMetalCommandBuffer_AddCompletedHandler(command_buffer.0, None, context, e))));
}

/// The handler may use the command buffer's queue, and releasing its last handle there is fine.
pub(crate) fn handler_may_submit_more() {
    struct Chain {
        gpu: Gpu,
        left: u32,
        done: Sender<u32>,
    }
    fn submit(chain: Box<Chain>) {
        let command_buffer = chain.gpu.command_buffer();
        let context = Box::into_raw(chain).cast();
        attempt(|error| dc!(DCMetalCommandBuffer_AddCompletedHandler(command_buffer.0, Some(next), context, error)))
            .expect("a handler");
        commit(&command_buffer);
    }
    unsafe extern "C" fn next(context: *mut c_void, status: DCMetalStatus, _: DCMetalError) {
        // SAFETY: the context is a Chain of `submit`, given once and taken back by this one call.
        let mut chain = unsafe { Box::from_raw(context.cast::<Chain>()) };
        assert_eq!(status, DC_METAL_OK);
        if chain.left == 0 {
            chain.done.send(7).expect("the case listens");
        } else {
            chain.left -= 1;
            submit(chain);
        }
    }
    let (done, result) = channel();
    submit(Box::new(Chain { gpu: Gpu::new(), left: 50, done }));
    assert_eq!(result.recv(), Ok(7));
}

pub(crate) fn wait_from_many_threads() {
    let gpu = Gpu::new();
    let command_buffer = gpu.command_buffer();
    commit(&command_buffer);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                wait(&command_buffer).expect("it completes");
                assert_eq!(status(&command_buffer), DC_METAL_COMMAND_BUFFER_COMPLETED);
            });
        }
    });
}

// ------------------------------------------------------------------ faults

/// Returns the pipelines, which a command buffer with unretained references does not keep.
fn record_fault(
    gpu: &Gpu,
    command_buffer: &Owned<DCMetalCommandBuffer>,
    out: &Owned<DCMetalBuffer>,
) -> Vec<Owned<DCMetalPipeline>> {
    let mut pipelines = Vec::new();
    let fine = "kernel void fine(device int *x [[buffer(0)]]) { x[0] = 1; }";
    for (label, source, name) in [("before", fine, "fine"), ("culprit", FAULT, "fault"), ("after", fine, "fine")] {
        let pipeline = gpu.pipeline(source, name);
        let encoder = compute_encoder(command_buffer);
        let label = c(label);
        assert_eq!(dc!(DCMetalComputeEncoder_SetLabel(encoder.0, label.as_ptr())), DC_METAL_OK);
        let signpost = c("mark");
        assert_eq!(dc!(DCMetalComputeEncoder_InsertDebugSignpost(encoder.0, signpost.as_ptr())), DC_METAL_OK);
        set_pipeline(&encoder, &pipeline);
        set_buffer(&encoder, out, 0, 0);
        dispatch_threads(&encoder, size(1, 1, 1), size(1, 1, 1)).expect("a dispatch");
        end_encoding(&encoder);
        pipelines.push(pipeline);
    }
    pipelines
}

pub(crate) fn fault_is_an_error_everywhere() {
    let gpu = Gpu::new();
    let out = gpu.buffer(64);
    let (sender, reports) = channel();
    let command_buffer = gpu.command_buffer();
    drop(record_fault(&gpu, &command_buffer, &out));
    listen(&command_buffer, 1, &sender);
    drop(sender);
    commit(&command_buffer);
    let Err(waited) = wait(&command_buffer) else { panic!("a fault is no success") };
    assert_eq!(waited.status, DC_METAL_FAILED);
    assert_eq!(waited.domain, "MTLCommandBufferErrorDomain", "{waited:?}");
    assert_ne!(waited.code, 0, "{waited:?}");
    assert!(waited.encoders.is_empty(), "nobody asked for them: {waited:?}");
    assert_eq!(status(&command_buffer), DC_METAL_COMMAND_BUFFER_ERROR);
    let kept = dc!(DCMetalCommandBuffer_CreateError(command_buffer.0));
    let kept = failure(DC_METAL_FAILED, kept);
    assert_eq!((&kept.domain, kept.code, &kept.message), (&waited.domain, waited.code, &waited.message));
    let reports = all(reports);
    assert_eq!(reports.len(), 1);
    assert_eq!(reports[0].1, DC_METAL_FAILED);
    let told = reports[0].2.as_ref().expect("the handler gets the error");
    assert_eq!((&told.domain, told.code, &told.message), (&waited.domain, waited.code, &waited.message));
    // The next command buffer of the queue is not its victim.
    let next = gpu.command_buffer();
    commit(&next);
    wait(&next).expect("it completes");
}

pub(crate) fn fault_names_its_encoder() {
    let gpu = Gpu::new();
    let out = gpu.buffer(64);
    for unretained_references in [false, true] {
        let options = DCMetalCommandBufferOptions { unretained_references, encoder_info: true };
        let command_buffer = gpu.command_buffer_with(Some(&options));
        let _pipelines = record_fault(&gpu, &command_buffer, &out);
        commit(&command_buffer);
        let Err(failure) = wait(&command_buffer) else { panic!("a fault is no success") };
        let state = |label| failure.encoders.iter().find(|encoder| encoder.0 == label).map(|encoder| encoder.1);
        assert_eq!(failure.encoders.len(), 3, "{failure:?}");
        assert_eq!(state("culprit"), Some(DC_METAL_ENCODER_FAULTED), "{failure:?}");
        assert_eq!(state("before"), Some(DC_METAL_ENCODER_COMPLETED), "{failure:?}");
        assert_ne!(state("after"), Some(DC_METAL_ENCODER_COMPLETED), "{failure:?}");
        assert!(failure.message.contains("\"culprit\" faulted"), "{failure:?}");
        assert!(failure.message.contains("mark"), "its signposts: {failure:?}");
    }
}

// ------------------------------------------------------------------ arguments

pub(crate) fn wrong_arguments_are_refused() {
    let gpu = Gpu::new();
    let (none, nowhere) = (DCMetalCommandBuffer::NULL, ptr::null_mut());
    let (queue, options) = (DCMetalQueue::NULL, ptr::null());
    refused(INVALID, create(|out, error| dc!(DCMetalCommandBuffer_Create(queue, options, out, error))));
    refused(INVALID, attempt(|error| dc!(DCMetalCommandBuffer_Create(gpu.queue.0, options, nowhere, error))));
    refused(INVALID, attempt(|error| dc!(DCMetalCommandBuffer_Enqueue(none, error))));
    refused(INVALID, attempt(|error| dc!(DCMetalCommandBuffer_Commit(none, error))));
    refused(INVALID, attempt(|error| dc!(DCMetalCommandBuffer_WaitUntilScheduled(none, error))));
    refused(INVALID, attempt(|error| dc!(DCMetalCommandBuffer_WaitUntilCompleted(none, error))));
    let handler = Some(never as _);
    refused(INVALID, attempt(|e| dc!(DCMetalCommandBuffer_AddCompletedHandler(none, handler, ptr::null_mut(), e))));
    assert_eq!(dc!(DCMetalCommandBuffer_SetLabel(none, c("x").as_ptr())), INVALID);
    assert_eq!(dc!(DCMetalCommandBuffer_GetStatus(none)), DC_METAL_COMMAND_BUFFER_ERROR);
    assert!(dc!(DCMetalCommandBuffer_CreateError(none)).is_null());
    let (mut start, mut end) = (9.0, 9.0);
    assert_eq!(dc!(DCMetalCommandBuffer_GetGPUTimes(none, &mut start, &mut end)), INVALID);
    assert_eq!((start, end), (0.0, 0.0));
    dc!(DCMetalCommandBuffer_Release(none));
}
