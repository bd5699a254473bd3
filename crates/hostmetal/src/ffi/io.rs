//! I/O command queues, their command buffers, and files.

use std::ffi::{OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use super::{
    HMBuffer, HMDevice, HMError, HMEvent, HMIOCommandBuffer, HMIOFile, HMIOQueue, HMPlace, Notify, answer, borrow,
    device_of, give, put, release, share, text,
};
use crate::encode::Misuse;
use crate::faults::{Site, refuses};
use crate::io::{CommandBuffer, Destination, File, Load, Queue, Settings, Step};

/// MTLIOErrorURLInvalid.
const URL_INVALID: i64 = 1;
/// MTLIOErrorInternal.
const INTERNAL: i64 = 2;

/// Opens a regular file for reading; NULL with the error.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_io_file_open(path: *const c_char, error: *mut HMError) -> HMIOFile {
    // SAFETY: as the module says.
    let path = unsafe { text(path) };
    match File::open(Path::new(OsStr::from_bytes(path.to_bytes()))) {
        Ok(file) => {
            // SAFETY: as the module says.
            unsafe { put(error, HMError::NONE) };
            give(Arc::new(file))
        }
        Err(why) => {
            // SAFETY: as the module says.
            unsafe { put(error, HMError::new(URL_INVALID, &why)) };
            HMIOFile::NULL
        }
    }
}

/// Gives up the caller's reference.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_io_file_release(file: HMIOFile) {
    // SAFETY: as the module says.
    unsafe { release(file) };
}

/// HMIOQueueDescriptor.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HMIOQueueDescriptor {
    /// Uncompleted command buffers.
    pub max_command_buffers: u64,
    /// Loads at the same time; 0 for no limit.
    pub max_commands: u64,
    /// One load after the other.
    pub serial: bool,
    /// MTLIOPriority.
    pub priority: u32,
}

/// A queue. NULL where the rules of faults say so.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_io_queue_create(device: HMDevice, descriptor: *const HMIOQueueDescriptor) -> HMIOQueue {
    // SAFETY: as the module says.
    let device = unsafe { device_of(device) };
    // SAFETY: as the module says.
    let descriptor = unsafe { *descriptor };
    if device.removed() || refuses(device, Site::Queue) {
        return HMIOQueue::NULL;
    }
    let settings = Settings {
        command_buffers: descriptor.max_command_buffers as usize,
        loads: descriptor.max_commands as usize,
        serial: descriptor.serial,
        priority: descriptor.priority.min(2) as usize,
    };
    give(Arc::new(Queue::new(device, settings)))
}

/// Gives up the caller's reference; work in flight completes.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_io_queue_release(queue: HMIOQueue) {
    // SAFETY: as the module says.
    unsafe { release(queue) };
}

/// What is enqueued or committed later begins when all before has completed.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_io_queue_barrier(queue: HMIOQueue) {
    // SAFETY: as the module says.
    unsafe { borrow(queue) }.barrier();
}

/// A command buffer; blocks while the queue has its maximum of uncompleted ones. NULL where the rules of faults say so.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_io_create(queue: HMIOQueue) -> HMIOCommandBuffer {
    // SAFETY: as the module says.
    let Some(queue) = (unsafe { share(queue) }) else { return HMIOCommandBuffer::NULL };
    if refuses(queue.device, Site::CommandBuffer) {
        return HMIOCommandBuffer::NULL;
    }
    give(CommandBuffer::new(queue))
}

/// Gives up the caller's reference; a committed command buffer completes.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_io_release(buffer: HMIOCommandBuffer) {
    // SAFETY: as the module says.
    unsafe { release(buffer) };
}

/// # Safety
/// As the module says.
unsafe fn load(
    buffer: HMIOCommandBuffer,
    file: HMIOFile,
    offset: u64,
    destination: Option<Destination>,
) -> *const c_char {
    // SAFETY: as the module says.
    let Some(file) = (unsafe { share(file) }) else { return c"sourceHandle must not be nil.".as_ptr() };
    let Some(destination) = destination else { return c"the destination must not be nil.".as_ptr() };
    // SAFETY: as the module says.
    answer(unsafe { borrow(buffer) }.encode(Step::Load(Load { file, offset, destination })))
}

/// Loads to the host's memory.
///
/// # Safety
/// As the module says; the memory may be written until the command buffer has completed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_io_load_bytes(
    buffer: HMIOCommandBuffer,
    bytes: *mut c_void,
    size: u64,
    file: HMIOFile,
    offset: u64,
) -> *const c_char {
    let destination = (!bytes.is_null()).then(|| Destination::Memory(bytes.cast(), size));
    // SAFETY: as the module says.
    unsafe { load(buffer, file, offset, destination) }
}

/// Loads to a buffer.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_io_load_buffer(
    buffer: HMIOCommandBuffer,
    destination: HMBuffer,
    at: u64,
    size: u64,
    file: HMIOFile,
    offset: u64,
) -> *const c_char {
    // SAFETY: as the module says.
    let destination = unsafe { share(destination) }.map(|destination| Destination::Buffer(destination, at, size));
    // SAFETY: as the module says.
    unsafe { load(buffer, file, offset, destination) }
}

/// Loads texels, whose rows and images are so far apart in the file.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_io_load_texture(
    buffer: HMIOCommandBuffer,
    place: *const HMPlace,
    size: *const [u64; 3],
    distances: *const [u64; 2],
    file: HMIOFile,
    offset: u64,
) -> *const c_char {
    // SAFETY: as the module says.
    let place = unsafe { *place };
    // SAFETY: as the module says.
    let size = unsafe { *size };
    // SAFETY: as the module says.
    let [row, image] = unsafe { *distances };
    // SAFETY: as the module says.
    let texture = unsafe { share(place.texture) };
    let destination = texture
        .map(|texture| Destination::Texels(texture, (place.level, place.slice), (place.origin, size), (row, image)));
    // SAFETY: as the module says.
    unsafe { load(buffer, file, offset, destination) }
}

/// Has the final status written to a buffer, as 8 bytes.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_io_copy_status(buffer: HMIOCommandBuffer, to: HMBuffer, offset: u64) -> *const c_char {
    // SAFETY: as the module says.
    let Some(to) = (unsafe { share(to) }) else { return c"buffer must not be nil.".as_ptr() };
    // SAFETY: as the module says.
    answer(unsafe { borrow(buffer) }.copy_status(to, offset))
}

/// What follows begins when all before has ended.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_io_barrier(buffer: HMIOCommandBuffer) -> *const c_char {
    // SAFETY: as the module says.
    answer(unsafe { borrow(buffer) }.encode(Step::Barrier))
}

/// # Safety
/// As the module says.
unsafe fn of_event(
    buffer: HMIOCommandBuffer,
    event: HMEvent,
    step: impl FnOnce(Arc<crate::event::Event>) -> Step,
) -> Result<(), Misuse> {
    // SAFETY: as the module says.
    let Some(event) = (unsafe { share(event) }) else { return Err(c"event must not be nil.") };
    // SAFETY: as the module says.
    unsafe { borrow(buffer) }.encode(step(event))
}

/// Signals a shared event when all before has ended.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_io_signal(buffer: HMIOCommandBuffer, event: HMEvent, value: u64) -> *const c_char {
    // SAFETY: as the module says.
    answer(unsafe { of_event(buffer, event, |event| Step::Signal(event, value)) })
}

/// What follows begins when a shared event has the value.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_io_wait_event(buffer: HMIOCommandBuffer, event: HMEvent, value: u64) -> *const c_char {
    // SAFETY: as the module says.
    answer(unsafe { of_event(buffer, event, |event| Step::Wait(event, value)) })
}

/// Takes the next place in the queue's order.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_io_enqueue(buffer: HMIOCommandBuffer) -> *const c_char {
    // SAFETY: as the module says.
    answer(unsafe { borrow(buffer) }.enqueue())
}

/// Hands the command buffer to its queue.
///
/// # Safety
/// As the module says; the callback may be called once with `context`, on any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_io_commit(
    buffer: HMIOCommandBuffer,
    completed: Option<Notify>,
    context: *mut c_void,
) -> *const c_char {
    // SAFETY: as the module says.
    let Some(buffer) = (unsafe { share(buffer) }) else { return c"commit of no command buffer".as_ptr() };
    answer(buffer.commit(completed, context))
}

/// Returns once the completed callback has run.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_io_wait_completed(buffer: HMIOCommandBuffer) -> *const c_char {
    // SAFETY: as the module says.
    answer(unsafe { borrow(buffer) }.wait_completed())
}

/// Leaves out what has not begun.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_io_cancel(buffer: HMIOCommandBuffer) {
    // SAFETY: as the module says.
    unsafe { borrow(buffer) }.cancel();
}

/// MTLIOStatus.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_io_status(buffer: HMIOCommandBuffer) -> u32 {
    // SAFETY: as the module says.
    unsafe { borrow(buffer) }.status()
}

/// The error once the status is MTLIOStatusError; false otherwise.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_io_error(buffer: HMIOCommandBuffer, error: *mut HMError) -> bool {
    // SAFETY: as the module says.
    let buffer = unsafe { borrow(buffer) };
    let Some(why) = buffer.failure().filter(|_| buffer.status() == crate::io::ERROR) else { return false };
    // SAFETY: as the module says.
    unsafe { put(error, HMError::new(INTERNAL, &why)) };
    true
}
