//! The C interface: queues, command buffers and encoders.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::Arc;

use super::{
    HMBuffer, HMCommandBuffer, HMDevice, HMEncoder, HMError, HMPipeline, HMQueue, Notify, answer, borrow, device_of,
    elements, give, put, release, share, text,
};
use crate::command::{Callbacks, CommandBuffer};
use crate::encode::{Encoder, Misuse};
use crate::faults::{Site, refuses};
use crate::queue::Queue;

/// A command queue; NULL where the rules of faults say so.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_queue_create(device: HMDevice, max_command_buffers: usize) -> HMQueue {
    // SAFETY: as the module says.
    let device = unsafe { device_of(device) };
    if refuses(device, Site::Queue) {
        return HMQueue::NULL;
    }
    give(Arc::new(Queue::new(device, max_command_buffers)))
}

/// Gives up the caller's reference; work in flight completes.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_queue_release(queue: HMQueue) {
    // SAFETY: as the module says.
    unsafe { release(queue) };
}

/// A command buffer; blocks while the queue has its maximum of uncompleted ones. NULL where the rules of faults say so.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_command_buffer_create(queue: HMQueue) -> HMCommandBuffer {
    // SAFETY: as the module says.
    let queue = unsafe { share(queue) };
    let queue = queue.filter(|queue| !refuses(queue.device, Site::CommandBuffer));
    queue.map_or(HMCommandBuffer::NULL, |queue| give(CommandBuffer::new(queue)))
}

/// Gives up the caller's reference; committed work completes.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_command_buffer_release(command_buffer: HMCommandBuffer) {
    // SAFETY: as the module says.
    unsafe { release(command_buffer) };
}

/// Before anything is recorded: the program keeps what is. If it gives up a buffer or a texture before the command buffer has completed, that has failed.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_command_buffer_leave_unretained(command_buffer: HMCommandBuffer) {
    // SAFETY: as the module says.
    unsafe { borrow(command_buffer) }.leave_unretained();
}

/// Takes the next place in the queue's order.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_command_buffer_enqueue(command_buffer: HMCommandBuffer) -> *const c_char {
    // SAFETY: as the module says.
    answer(unsafe { borrow(command_buffer) }.enqueue())
}

/// Hands the command buffer to its queue.
///
/// # Safety
/// As the module says; the callbacks may be called once each with `context`, on any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_command_buffer_commit(
    command_buffer: HMCommandBuffer,
    scheduled: Option<Notify>,
    completed: Option<Notify>,
    context: *mut c_void,
) -> *const c_char {
    // SAFETY: as the module says.
    let Some(command_buffer) = (unsafe { share(command_buffer) }) else {
        return c"commit of no command buffer".as_ptr();
    };
    answer(command_buffer.commit(Callbacks { scheduled, completed, context }))
}

/// Keeps something of the program's until the command buffer has run or is gone; false when it is committed already.
///
/// # Safety
/// As the module says; `release` may be called once with `context`, on any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_command_buffer_keep(
    command_buffer: HMCommandBuffer,
    context: *mut c_void,
    release: Notify,
) -> bool {
    // SAFETY: as the module says.
    unsafe { borrow(command_buffer) }.keep(context, release)
}

/// Returns once the scheduled callback has run.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_command_buffer_wait_scheduled(command_buffer: HMCommandBuffer) -> *const c_char {
    // SAFETY: as the module says.
    answer(unsafe { borrow(command_buffer) }.wait_scheduled())
}

/// Returns once the completed callback has run.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_command_buffer_wait_completed(command_buffer: HMCommandBuffer) -> *const c_char {
    // SAFETY: as the module says.
    answer(unsafe { borrow(command_buffer) }.wait_completed())
}

/// MTLCommandBufferStatus.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_command_buffer_status(command_buffer: HMCommandBuffer) -> u32 {
    // SAFETY: as the module says.
    unsafe { borrow(command_buffer) }.status()
}

/// The failure of a command buffer whose status is Error; false otherwise.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_command_buffer_error(command_buffer: HMCommandBuffer, error: *mut HMError) -> bool {
    // SAFETY: as the module says.
    let failure = unsafe { borrow(command_buffer) }.failure();
    let failed = failure.is_some();
    let value = failure.map_or(HMError::NONE, |failure| HMError::new(failure.code as i64, &failure.text));
    // SAFETY: as the module says.
    unsafe { put(error, value) };
    failed
}

/// HMEncoderInfo.
#[repr(C)]
#[derive(Debug)]
pub struct HMEncoderInfo {
    /// Valid while the command buffer lives.
    pub label: *const c_char,
    /// MTLCommandEncoderErrorState.
    pub state: u32,
    /// Those that execution reached.
    pub signpost_count: usize,
}

/// Encoders of the command buffer so far.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_command_buffer_encoder_count(command_buffer: HMCommandBuffer) -> usize {
    // SAFETY: as the module says.
    unsafe { borrow(command_buffer) }.encoder_count()
}

/// What became of an encoder; false when out of range.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_command_buffer_encoder(
    command_buffer: HMCommandBuffer,
    index: usize,
    info: *mut HMEncoderInfo,
) -> bool {
    // SAFETY: as the module says.
    let Some((label, state, signpost_count)) = (unsafe { borrow(command_buffer) }).encoder(index) else { return false };
    // SAFETY: as the module says.
    unsafe { put(info, HMEncoderInfo { label: label.cast(), state, signpost_count }) };
    true
}

/// Text of a signpost, valid while the command buffer lives; NULL when out of range.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_command_buffer_encoder_signpost(
    command_buffer: HMCommandBuffer,
    index: usize,
    signpost: usize,
) -> *const c_char {
    // SAFETY: as the module says.
    unsafe { borrow(command_buffer) }.signpost(index, signpost).map_or(ptr::null(), <*const CStr>::cast)
}

/// HMTimes: seconds of CLOCK_MONOTONIC, 0 before they are known.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HMTimes {
    /// A worker took the command buffer up.
    pub kernel_start: f64,
    /// It was ready to run.
    pub kernel_end: f64,
    /// Its first command began.
    pub gpu_start: f64,
    /// Its last command ended.
    pub gpu_end: f64,
}

/// When the command buffer ran.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_command_buffer_times(command_buffer: HMCommandBuffer, times: *mut HMTimes) {
    // SAFETY: as the module says.
    let known = unsafe { borrow(command_buffer) }.times();
    let value = HMTimes {
        kernel_start: known.kernel_start,
        kernel_end: known.kernel_end,
        gpu_start: known.gpu_start,
        gpu_end: known.gpu_end,
    };
    // SAFETY: as the module says.
    unsafe { put(times, value) };
}

/// # Safety
/// As the module says.
unsafe fn open_encoder(
    command_buffer: HMCommandBuffer,
    misuse: *mut *const c_char,
    open: impl FnOnce(Arc<CommandBuffer>) -> Result<Encoder, Misuse>,
) -> HMEncoder {
    // SAFETY: as the module says.
    let command_buffer = unsafe { share(command_buffer) };
    let made = command_buffer.ok_or(c"an encoder of no command buffer").and_then(|command_buffer| {
        let refused = refuses(command_buffer.queue.device, Site::Encoder);
        if refused { Ok(None) } else { open(command_buffer).map(Some) }
    });
    let (handle, text) = match made {
        Ok(encoder) => (encoder.map_or(HMEncoder::NULL, |encoder| give(Arc::new(encoder))), ptr::null()),
        Err(text) => (HMEncoder::NULL, text.as_ptr()),
    };
    // SAFETY: as the module says.
    unsafe { put(misuse, text) };
    handle
}

/// Opens a compute encoder; NULL with *misuse set when the command buffer is committed or has another open encoder.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_compute_encoder_create(
    command_buffer: HMCommandBuffer,
    concurrent: bool,
    misuse: *mut *const c_char,
) -> HMEncoder {
    // SAFETY: as the module says.
    unsafe { open_encoder(command_buffer, misuse, |command_buffer| Encoder::compute(command_buffer, concurrent)) }
}

/// Opens a blit encoder; NULL as for hm_compute_encoder_create.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_blit_encoder_create(
    command_buffer: HMCommandBuffer,
    misuse: *mut *const c_char,
) -> HMEncoder {
    // SAFETY: as the module says.
    unsafe { open_encoder(command_buffer, misuse, Encoder::blit) }
}

/// Gives up the caller's reference. A command buffer whose encoder was never ended cannot be committed.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_encoder_release(encoder: HMEncoder) {
    // SAFETY: as the module says.
    unsafe { release(encoder) };
}

/// Names the encoder for errors.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_encoder_set_label(encoder: HMEncoder, label: *const c_char) {
    // SAFETY: as the module says.
    let label = unsafe { text(label) };
    // SAFETY: as the module says.
    unsafe { borrow(encoder) }.set_label(label);
}

/// Marks a place between commands, for errors.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_encoder_insert_signpost(encoder: HMEncoder, signpost: *const c_char) {
    // SAFETY: as the module says.
    let signpost = unsafe { text(signpost) };
    // SAFETY: as the module says.
    unsafe { borrow(encoder) }.insert_signpost(signpost);
}

/// Opens a debug group.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_encoder_push_group(encoder: HMEncoder, _text: *const c_char) {
    // SAFETY: as the module says.
    unsafe { borrow(encoder) }.push_group();
}

/// Closes the last debug group.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_encoder_pop_group(encoder: HMEncoder) -> *const c_char {
    // SAFETY: as the module says.
    answer(unsafe { borrow(encoder) }.pop_group())
}

/// Ends the encoder.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_encoder_end(encoder: HMEncoder) -> *const c_char {
    // SAFETY: as the module says.
    answer(unsafe { borrow(encoder) }.end())
}

/// Whether the encoder was ended.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_encoder_ended(encoder: HMEncoder) -> bool {
    // SAFETY: as the module says.
    unsafe { borrow(encoder) }.ended()
}

/// Sets the pipeline of the dispatches that follow.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_compute_set_pipeline(encoder: HMEncoder, pipeline: HMPipeline) -> *const c_char {
    // SAFETY: as the module says.
    let pipeline = unsafe { share(pipeline) };
    // SAFETY: as the module says.
    answer(unsafe { borrow(encoder) }.set_pipeline(pipeline))
}

/// Binds a buffer, or nothing when NULL.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_compute_set_buffer(
    encoder: HMEncoder,
    buffer: HMBuffer,
    offset: u64,
    index: usize,
) -> *const c_char {
    // SAFETY: as the module says.
    let buffer = unsafe { share(buffer) };
    // SAFETY: as the module says.
    answer(unsafe { borrow(encoder) }.set_buffer(buffer, offset, index))
}

/// Changes the offset of a bound buffer.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_compute_set_buffer_offset(encoder: HMEncoder, offset: u64, index: usize) -> *const c_char {
    // SAFETY: as the module says.
    answer(unsafe { borrow(encoder) }.set_buffer_offset(offset, index))
}

/// Binds a copy of bytes.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_compute_set_bytes(
    encoder: HMEncoder,
    bytes: *const c_void,
    length: usize,
    index: usize,
) -> *const c_char {
    // SAFETY: as the module says.
    let bytes = unsafe { elements(bytes.cast::<u8>(), length) };
    // SAFETY: as the module says.
    answer(unsafe { borrow(encoder) }.set_bytes(bytes, index))
}

/// Sets the length of dynamic threadgroup memory.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_compute_set_threadgroup_memory(
    encoder: HMEncoder,
    length: u64,
    index: usize,
) -> *const c_char {
    // SAFETY: as the module says.
    answer(unsafe { borrow(encoder) }.set_threadgroup_memory(length, index))
}

/// Sets the size of imageblocks.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_compute_set_imageblock(encoder: HMEncoder, width: u64, height: u64) -> *const c_char {
    // SAFETY: as the module says.
    answer(unsafe { borrow(encoder) }.set_imageblock(width, height))
}

/// Dispatches a grid of threads.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_compute_dispatch_threads(
    encoder: HMEncoder,
    threads: *const [u64; 3],
    per_threadgroup: *const [u64; 3],
) -> *const c_char {
    // SAFETY: as the module says.
    let (threads, size) = unsafe { sizes(threads, per_threadgroup) };
    // SAFETY: as the module says.
    answer(unsafe { borrow(encoder) }.dispatch_threads(threads, size))
}

/// Dispatches a grid of whole threadgroups.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_compute_dispatch_threadgroups(
    encoder: HMEncoder,
    threadgroups: *const [u64; 3],
    per_threadgroup: *const [u64; 3],
) -> *const c_char {
    // SAFETY: as the module says.
    let (groups, size) = unsafe { sizes(threadgroups, per_threadgroup) };
    // SAFETY: as the module says.
    answer(unsafe { borrow(encoder) }.dispatch_threadgroups(groups, size))
}

/// Orders the dispatches before and after it.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_compute_barrier(encoder: HMEncoder) -> *const c_char {
    // SAFETY: as the module says.
    answer(unsafe { borrow(encoder) }.barrier())
}

/// Copies between buffers.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_blit_copy(
    encoder: HMEncoder,
    source: HMBuffer,
    source_offset: u64,
    destination: HMBuffer,
    destination_offset: u64,
    length: u64,
) -> *const c_char {
    // SAFETY: as the module says.
    let source = unsafe { share(source) };
    // SAFETY: as the module says.
    let destination = unsafe { share(destination) };
    let (Some(source), Some(destination)) = (source, destination) else {
        return c"sourceBuffer and destinationBuffer must not be nil.".as_ptr();
    };
    // SAFETY: as the module says.
    let encoder = unsafe { borrow(encoder) };
    answer(encoder.copy((&source, source_offset), (&destination, destination_offset), length))
}

/// Fills a range of a buffer.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_blit_fill(
    encoder: HMEncoder,
    buffer: HMBuffer,
    offset: u64,
    length: u64,
    value: u8,
) -> *const c_char {
    // SAFETY: as the module says.
    let Some(buffer) = (unsafe { share(buffer) }) else { return c"buffer must not be nil.".as_ptr() };
    // SAFETY: as the module says.
    answer(unsafe { borrow(encoder) }.fill(&buffer, offset, length, value))
}

/// # Safety
/// Both point to three numbers.
unsafe fn sizes(a: *const [u64; 3], b: *const [u64; 3]) -> ([u64; 3], [u64; 3]) {
    // SAFETY: as the caller promises.
    let a = unsafe { a.read() };
    // SAFETY: as the caller promises.
    let b = unsafe { b.read() };
    (a, b)
}
