//! The C interface: events, fences, samples of the clock, and dispatches whose grid is known when they run.

use std::ffi::{CString, c_char, c_void};
use std::sync::Arc;
use std::time::Duration;

use super::{
    HMBuffer, HMCommandBuffer, HMDevice, HMEncoder, HMEvent, HMFence, HMHeap, answer, borrow, device_of, give, release,
    share, text,
};
use crate::command::Step;
use crate::event::{Event, Fence};
use crate::executor::event::now;
use crate::faults::{Site, refuses};
use crate::memory::LetGo;
use crate::overlap;

/// HMReached: called with a context, the event (a reference of the callee's) and its value; with NULL and 0 when the event
/// went without reaching the value.
pub type Reached = unsafe extern "C" fn(*mut c_void, HMEvent, u64);

/// An event of value 0; a shared one may be used with other devices. NULL where the rules of faults say so.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_event_create(device: HMDevice, shared: bool) -> HMEvent {
    // SAFETY: as the module says.
    let device = unsafe { device_of(device) };
    if refuses(device, Site::Event) { HMEvent::NULL } else { give(Arc::new(Event::new(device, shared))) }
}

/// Another reference to the event of a handle, for a device; NULL where the rules of faults say so.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_event_open(device: HMDevice, event: HMEvent) -> HMEvent {
    // SAFETY: as the module says.
    let device = unsafe { device_of(device) };
    // SAFETY: as the module says.
    let event = unsafe { share(event) };
    event.filter(|_| !refuses(device, Site::Event)).map_or(HMEvent::NULL, give)
}

/// Another reference to the same event.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_event_share(event: HMEvent) -> HMEvent {
    // SAFETY: as the module says.
    unsafe { share(event) }.map_or(HMEvent::NULL, give)
}

/// Gives up the caller's reference.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_event_release(event: HMEvent) {
    // SAFETY: as the module says.
    unsafe { release(event) };
}

/// Names the event.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_event_set_label(event: HMEvent, label: *const c_char) {
    // SAFETY: as the module says.
    let label = unsafe { text(label) };
    // SAFETY: as the module says.
    unsafe { borrow(event) }.set_label(label);
}

/// The event's name, for hm_string_release.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_event_label(event: HMEvent) -> *mut c_char {
    // SAFETY: as the module says.
    CString::into_raw(unsafe { borrow(event) }.label())
}

/// The event's value.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_event_value(event: HMEvent) -> u64 {
    // SAFETY: as the module says.
    unsafe { borrow(event) }.value()
}

/// Makes the value at least `value`.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_event_signal(event: HMEvent, value: u64) {
    // SAFETY: as the module says.
    if let Some(event) = unsafe { share(event) } {
        event.signal(value);
    }
}

/// Waits until the value is reached; false after so many milliseconds.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_event_wait(event: HMEvent, value: u64, milliseconds: u64) -> bool {
    // SAFETY: as the module says.
    unsafe { borrow(event) }.wait(value, Duration::from_millis(milliseconds))
}

/// A function with its context, called exactly once.
struct Call(Reached, *mut c_void);

// SAFETY: the interface says that the function is called on any thread.
unsafe impl Send for Call {}

impl Call {
    fn call(self, event: HMEvent, value: u64) {
        let Call(function, context) = self;
        std::mem::forget(self);
        // SAFETY: the program gave the function for this one call with this context.
        unsafe { function(context, event, value) };
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        // SAFETY: as in `call`, which forgets the object.
        unsafe { (self.0)(self.1, HMEvent::NULL, 0) };
    }
}

/// Calls the function once the value is reached.
///
/// # Safety
/// As the module says; the function may be called once with `context` on any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_event_notify(event: HMEvent, value: u64, function: Reached, context: *mut c_void) {
    let call = Call(function, context);
    // SAFETY: as the module says.
    if let Some(event) = unsafe { share(event) } {
        event.notify(value, Box::new(move |event, value| call.call(give(event), value)));
    }
}

/// Signals an event between encoders.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_command_buffer_signal(
    command_buffer: HMCommandBuffer,
    event: HMEvent,
    value: u64,
) -> *const c_char {
    // SAFETY: as the module says.
    let Some(event) = (unsafe { share(event) }) else { return c"event must not be nil.".as_ptr() };
    // SAFETY: as the module says.
    answer(unsafe { borrow(command_buffer) }.encode_event(event, Step::Signal, value))
}

/// Waits for an event between encoders.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_command_buffer_wait_event(
    command_buffer: HMCommandBuffer,
    event: HMEvent,
    value: u64,
) -> *const c_char {
    // SAFETY: as the module says.
    let Some(event) = (unsafe { share(event) }) else { return c"event must not be nil.".as_ptr() };
    // SAFETY: as the module says.
    answer(unsafe { borrow(command_buffer) }.encode_event(event, Step::Wait, value))
}

/// A fence.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_fence_create(device: HMDevice) -> HMFence {
    // SAFETY: as the module says.
    let device = unsafe { device_of(device) };
    if refuses(device, Site::Fence) {
        return HMFence::NULL;
    }
    give(Arc::new(Fence { device, let_go: LetGo::default() }))
}

/// Gives up the caller's reference.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_fence_release(fence: HMFence) {
    if !fence.is_null() {
        // SAFETY: as the module says.
        unsafe { borrow(fence) }.let_go.set();
    }
    // SAFETY: as the module says.
    unsafe { release(fence) };
}

/// Updates a fence at the encoder's end.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_encoder_update_fence(encoder: HMEncoder, fence: HMFence) -> *const c_char {
    // SAFETY: as the module says.
    let Some(fence) = (unsafe { share(fence) }) else { return c"fence must not be nil.".as_ptr() };
    // SAFETY: as the module says.
    answer(unsafe { borrow(encoder) }.update_fence(fence))
}

/// Waits for a fence at the encoder's begin.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_encoder_wait_for_fence(encoder: HMEncoder, fence: HMFence) -> *const c_char {
    // SAFETY: as the module says.
    let Some(fence) = (unsafe { share(fence) }) else { return c"fence must not be nil.".as_ptr() };
    // SAFETY: as the module says.
    answer(unsafe { borrow(encoder) }.wait_for_fence(&fence))
}

/// The commands that follow, and later encoders, wait for all encoders of the queue before.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_encoder_queue_barrier(encoder: HMEncoder) {
    // SAFETY: as the module says.
    unsafe { borrow(encoder) }.queue_barrier();
}

/// Nobody but the program orders what uses the buffer's memory.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_buffer_leave_untracked(buffer: HMBuffer) {
    // SAFETY: as the module says.
    unsafe { borrow(buffer) }.leave_untracked();
}

/// The encoder's commands use a buffer that is not bound to it.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_encoder_use_buffer(encoder: HMEncoder, buffer: HMBuffer, writes: bool) {
    // SAFETY: as the module says.
    let tracked = unsafe { borrow(buffer) }.tracked();
    // SAFETY: as the module says.
    unsafe { borrow(encoder) }.declare(tracked, writes);
}

/// The encoder's commands read resources of a tracked heap.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_encoder_use_heap(encoder: HMEncoder, heap: HMHeap) {
    // SAFETY: as the module says.
    let heap = std::ptr::from_ref(unsafe { borrow(heap) }).addr();
    // SAFETY: as the module says.
    unsafe { borrow(encoder) }.declare(Some(heap), false);
}

/// Passes overtake each other, by a seed; 0 for one after the other.
#[unsafe(no_mangle)]
pub extern "C" fn hm_overlap_set(seed: u64) {
    overlap::set(seed);
}

/// How many passes ran before an earlier one of their queue.
#[unsafe(no_mangle)]
pub extern "C" fn hm_overlap_count() -> u64 {
    overlap::overtaken()
}

/// Nanoseconds of the clock that samples are of.
#[unsafe(no_mangle)]
pub extern "C" fn hm_clock_now() -> u64 {
    now()
}

/// Writes the clock's time to an 8-byte element of the buffer, here or at the encoder's end.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_encoder_sample(
    encoder: HMEncoder,
    samples: HMBuffer,
    index: u64,
    at_end: bool,
) -> *const c_char {
    // SAFETY: as the module says.
    let Some(samples) = (unsafe { share(samples) }) else { return c"sampleBuffer must not be nil.".as_ptr() };
    // SAFETY: as the module says.
    answer(unsafe { borrow(encoder) }.sample(&samples, index, at_end))
}

/// Sets the stage-in region.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_compute_set_stage_in_region(
    encoder: HMEncoder,
    origin: *const [u64; 3],
    size: *const [u64; 3],
) -> *const c_char {
    // SAFETY: as the module says.
    let origin = unsafe { origin.read() };
    // SAFETY: as the module says.
    let size = unsafe { size.read() };
    // SAFETY: as the module says.
    answer(unsafe { borrow(encoder) }.set_stage_in_region(origin, size))
}

/// Sets a stage-in region that is read when dispatches run.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_compute_set_stage_in_region_indirect(
    encoder: HMEncoder,
    buffer: HMBuffer,
    offset: u64,
) -> *const c_char {
    // SAFETY: as the module says.
    let Some(buffer) = (unsafe { share(buffer) }) else { return c"indirectBuffer must not be nil.".as_ptr() };
    // SAFETY: as the module says.
    answer(unsafe { borrow(encoder) }.set_stage_in_region_indirect(&buffer, offset))
}

/// Sets the stride of the buffer that was set last at an index; UINT64_MAX (MTLAttributeStrideStatic) for none.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_compute_set_attribute_stride(
    encoder: HMEncoder,
    stride: u64,
    index: usize,
) -> *const c_char {
    // SAFETY: as the module says.
    answer(unsafe { borrow(encoder) }.set_attribute_stride(stride, index))
}

/// Dispatches as many threadgroups as three 32-bit numbers of the buffer say when the dispatch runs.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_compute_dispatch_indirect(
    encoder: HMEncoder,
    buffer: HMBuffer,
    offset: u64,
    per_threadgroup: *const [u64; 3],
) -> *const c_char {
    // SAFETY: as the module says.
    let Some(buffer) = (unsafe { share(buffer) }) else { return c"indirectBuffer must not be nil.".as_ptr() };
    // SAFETY: as the module says.
    let size = unsafe { per_threadgroup.read() };
    // SAFETY: as the module says.
    answer(unsafe { borrow(encoder) }.dispatch_indirect(&buffer, offset, size))
}
