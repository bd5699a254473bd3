//! The C interface (native/hostmetal/engine.h), function by function: handles become references here and nowhere else.
//!
//! A handle is an `Arc` turned into a raw pointer. `*_create` gives away one reference, `*_release` takes it back, all
//! others borrow. The header's contract, which each `# Safety` section stands for: a handle passed in came from the
//! matching `*_create` and has not been released; pointers to results are valid for writes; texts end with NUL; memory
//! passed with a length is that long. A panic in here would be our own mistake; it ends the process with its message,
//! because it cannot leave an `extern "C"` function.

pub(crate) mod archive;
mod arguments;
mod commands;
mod compile;
mod faults;
mod functions;
mod graph;
mod heap;
mod io;
mod log;
mod performance;
mod stitch;
mod submit;
mod sync;
mod texture;

pub use archive::*;
pub use arguments::*;
pub use commands::*;
pub use compile::*;
pub use faults::*;
pub use functions::*;
pub use graph::*;
pub use heap::*;
pub use io::*;
pub use log::*;
pub use performance::*;
pub use stitch::*;
pub use submit::*;
pub use sync::*;
pub use texture::*;

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use crate::arguments::Arguments;
use crate::command::CommandBuffer;
use crate::commands::Commands;
use crate::device::{self, Device};
use crate::encode::{Encoder, Misuse};
use crate::event::{Event, Fence};
use crate::executor::Log;
use crate::faults::{Site, refuses};
use crate::functions::{FunctionTable, VisibleFunction};
use crate::heap::Heap;
use crate::library::{Function, Library};
use crate::memory::Buffer;
use crate::msl::{Archive, Dynamic};
use crate::pipeline::Pipeline;
use crate::queue::Queue;
use crate::simulate::Location;
use crate::texture::Texture;

/// HMNotify: called with a context.
pub type Notify = unsafe extern "C" fn(*mut c_void);
/// HMDeallocate: frees memory that a no-copy buffer borrowed: (context, bytes, length).
pub type Deallocate = unsafe extern "C" fn(*mut c_void, *mut c_void, u64);

/// Declares a handle type.
macro_rules! handles {
    ($($(#[$doc:meta])* $handle:ident => $object:ty;)*) => {$(
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $handle(*const c_void);

        impl $handle {
            /// No object.
            pub const NULL: $handle = $handle(ptr::null());

            /// Whether this is no object.
            pub fn is_null(self) -> bool {
                self.0.is_null()
            }
        }

        impl Handle for $handle {
            type Object = $object;

            fn from_raw(raw: *const c_void) -> $handle {
                $handle(raw)
            }

            fn raw(self) -> *const $object {
                self.0.cast()
            }
        }
    )*};
}

trait Handle: Copy {
    type Object;
    fn from_raw(raw: *const c_void) -> Self;
    fn raw(self) -> *const Self::Object;
}

handles! {
    /// An MTLDevice; never released.
    HMDevice => Device;
    /// An MTLBuffer.
    HMBuffer => Buffer;
    /// An MTLTexture.
    HMTexture => Texture;
    /// An MTLHeap.
    HMHeap => Heap;
    /// An MTLLibrary.
    HMLibrary => Library;
    /// An MTLFunction.
    HMFunction => Function;
    /// An MTLComputePipelineState.
    HMPipeline => Pipeline;
    /// An MTLBinaryArchive.
    HMArchive => Archive;
    /// An MTLDynamicLibrary.
    HMDynamic => Dynamic;
    /// An MTLIndirectCommandBuffer.
    HMCommands => Commands;
    /// An MTLFunctionHandle.
    HMVisible => VisibleFunction;
    /// An MTLVisibleFunctionTable.
    HMFunctionTable => FunctionTable;
    /// What a buffer argument points to.
    HMArguments => Arguments;
    /// An MTLCommandQueue.
    HMQueue => Queue;
    /// An MTLCommandBuffer.
    HMCommandBuffer => CommandBuffer;
    /// An MTLComputeCommandEncoder or MTLBlitCommandEncoder.
    HMEncoder => Encoder;
    /// An MTLEvent or MTLSharedEvent.
    HMEvent => Event;
    /// An MTLFence.
    HMFence => Fence;
    /// An MTLIOFileHandle.
    HMIOFile => crate::io::File;
    /// An MTLIOCommandQueue.
    HMIOQueue => crate::io::Queue;
    /// An MTLIOCommandBuffer.
    HMIOCommandBuffer => crate::io::CommandBuffer;
    /// An MTLLogState.
    HMLog => Log;
}

fn give<H: Handle>(object: Arc<H::Object>) -> H {
    H::from_raw(Arc::into_raw(object).cast())
}

/// # Safety
/// The handle is valid while the result is used.
unsafe fn borrow<'a, H: Handle>(handle: H) -> &'a H::Object {
    assert!(!handle.raw().is_null(), "a NULL handle was passed to hostmetal's engine");
    // SAFETY: a valid handle points to an object that lives at least as long as the caller's reference.
    unsafe { &*handle.raw() }
}

/// # Safety
/// The handle is valid or NULL.
unsafe fn share<H: Handle>(handle: H) -> Option<Arc<H::Object>> {
    if handle.raw().is_null() {
        return None;
    }
    // SAFETY: a valid handle came from Arc::into_raw and still has the caller's reference.
    unsafe { Arc::increment_strong_count(handle.raw()) };
    // SAFETY: takes the reference added above.
    Some(unsafe { Arc::from_raw(handle.raw()) })
}

/// # Safety
/// The handle is valid or NULL, and the caller's reference is given up.
unsafe fn release<H: Handle>(handle: H) {
    if !handle.raw().is_null() {
        // SAFETY: takes the reference that `give` gave away.
        drop(unsafe { Arc::from_raw(handle.raw()) });
    }
}

/// # Safety
/// The handle is valid, and comes from hm_device_at.
unsafe fn device_of(handle: HMDevice) -> &'static Device {
    // SAFETY: devices live as long as the process.
    unsafe { borrow(handle) }
}

/// # Safety
/// `place` is valid for writes.
unsafe fn put<T>(place: *mut T, value: T) {
    // SAFETY: as the caller promises.
    unsafe { place.write(value) };
}

fn answer(result: Result<(), Misuse>) -> *const c_char {
    result.map_or_else(CStr::as_ptr, |()| ptr::null())
}

/// HMError: a code in the domain that the called function implies, and an owned text or NULL.
#[repr(C)]
#[derive(Debug)]
pub struct HMError {
    /// In the implied domain; 0 when there was no error.
    pub code: i64,
    /// To be given to hm_string_release.
    pub message: *mut c_char,
}

impl HMError {
    /// No error.
    pub const NONE: HMError = HMError { code: 0, message: ptr::null_mut() };

    fn new(code: i64, text: &str) -> HMError {
        let text = CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default();
        HMError { code, message: text.into_raw() }
    }
}

/// Frees the text of an error.
///
/// # Safety
/// `string` is NULL or came with an HMError and was not released before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_string_release(string: *mut c_char) {
    if !string.is_null() {
        // SAFETY: it came from CString::into_raw.
        drop(unsafe { CString::from_raw(string) });
    }
}

/// HMDeviceInfo.
#[repr(C)]
#[derive(Debug)]
pub struct HMDeviceInfo {
    /// Lives as long as the process.
    pub name: *const c_char,
    /// Differs between devices.
    pub registry_id: u64,
    /// Bytes.
    pub recommended_max_working_set_size: u64,
    /// Bytes.
    pub max_buffer_length: u64,
    /// Bytes.
    pub max_threadgroup_memory_length: u64,
    /// Along each axis.
    pub max_threads_per_threadgroup: [u64; 3],
    /// In all.
    pub max_total_threads_per_threadgroup: u64,
    /// MTLDeviceLocation.
    pub location: u64,
    /// Among the devices at the same location.
    pub location_number: u64,
    /// Of a machine's GPUs, the one to use when power counts.
    pub low_power: bool,
    /// 0 for none, as are the next two.
    pub peer_group: u64,
    /// In its group.
    pub peer_index: u32,
    /// Devices of its group.
    pub peer_count: u32,
}

fn handle_of(device: &'static Device) -> HMDevice {
    HMDevice::from_raw(ptr::from_ref(device).cast())
}

/// The devices that are there; writes at most `most` of them, and returns how many there are.
///
/// # Safety
/// `devices` has room for `most`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_devices(devices: *mut HMDevice, most: usize) -> usize {
    let all = device::devices();
    for (position, device) in all.iter().take(most).enumerate() {
        // SAFETY: as the caller promises.
        let place = unsafe { devices.add(position) };
        // SAFETY: as the caller promises.
        unsafe { put(place, handle_of(device)) };
    }
    all.len()
}

/// One of the devices that are there, NULL when out of range.
#[unsafe(no_mangle)]
pub extern "C" fn hm_device_at(index: usize) -> HMDevice {
    device::devices().get(index).map_or(HMDevice::NULL, |device| handle_of(device))
}

/// Whether a device was removed.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_device_removed(device: HMDevice) -> bool {
    // SAFETY: as the module says.
    unsafe { device_of(device) }.removed()
}

/// HMDeviceChanged: a device and what happened to it, 0 added, 1 its removal was requested, 2 removed.
pub type DeviceChanged = unsafe extern "C" fn(HMDevice, u32);

/// Has a function called for every change of the devices; the first one that is given.
///
/// # Safety
/// The function may be called on any thread, at any time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_devices_watch(changed: DeviceChanged) {
    // SAFETY: as the caller promises.
    device::watch(Box::new(move |device, change| unsafe { changed(handle_of(device), change as u32) }));
}

/// Tells that a device will be removed. Whether there is such a device.
#[unsafe(no_mangle)]
pub extern "C" fn hm_device_request_removal(number: usize) -> bool {
    device::request_removal(number)
}

/// Removes a device; nothing runs on it when this returns. Whether there was such a device.
#[unsafe(no_mangle)]
pub extern "C" fn hm_device_remove(number: usize) -> bool {
    device::remove(number)
}

/// Adds a device where one was removed. Whether one was.
#[unsafe(no_mangle)]
pub extern "C" fn hm_device_add(number: usize) -> bool {
    device::add(number)
}

/// A device's limits.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_device_info(device: HMDevice, info: *mut HMDeviceInfo) {
    // SAFETY: as the module says.
    let device = unsafe { device_of(device) };
    let threads = u64::from(device.max_threads());
    let value = HMDeviceInfo {
        name: device.name.as_ptr(),
        registry_id: device.registry_id,
        recommended_max_working_set_size: device.settings.working_set,
        max_buffer_length: device.max_buffer_length(),
        max_threadgroup_memory_length: device.threadgroup_memory(),
        max_threads_per_threadgroup: [threads; 3],
        max_total_threads_per_threadgroup: threads,
        location: match device.settings.location {
            Location::BuiltIn => 0,
            Location::Slot => 1,
            Location::External => 2,
        },
        location_number: device.location_number,
        low_power: device.settings.low_power,
        peer_group: device.peers.group,
        peer_index: device.peers.index,
        peer_count: device.peers.count,
    };
    // SAFETY: as the module says.
    unsafe { put(info, value) };
}

/// Whether a device has what an MTLGPUFamily asks of compute.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_device_supports_family(device: HMDevice, family: i64) -> bool {
    // SAFETY: as the module says.
    unsafe { device_of(device) }.supports_family(family)
}

/// Bytes of live buffers, textures and heaps.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_device_current_allocated_size(device: HMDevice) -> u64 {
    // SAFETY: as the module says.
    unsafe { device_of(device) }.allocated()
}

/// A zero-filled buffer; NULL when length is 0, above the device's limit, or memory is out.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_buffer_create(device: HMDevice, length: u64) -> HMBuffer {
    // SAFETY: as the module says.
    let device = unsafe { device_of(device) };
    if refuses(device, Site::Buffer) {
        return HMBuffer::NULL;
    }
    Buffer::new(device, length).map_or(HMBuffer::NULL, |buffer| give(Arc::new(buffer)))
}

/// A buffer of the caller's memory; NULL, without calling deallocate, as for hm_buffer_create.
///
/// # Safety
/// As the module says; `bytes` stay valid until deallocate has run or the last reference is gone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_buffer_create_no_copy(
    device: HMDevice,
    bytes: *mut c_void,
    length: u64,
    deallocate: Option<Deallocate>,
    context: *mut c_void,
) -> HMBuffer {
    // SAFETY: as the module says.
    let device = unsafe { device_of(device) };
    let Some(bytes) = NonNull::new(bytes.cast()) else { return HMBuffer::NULL };
    if refuses(device, Site::Buffer) {
        return HMBuffer::NULL;
    }
    // SAFETY: the caller promises what `borrowed` asks for.
    let buffer = unsafe { Buffer::borrowed(device, bytes, length, deallocate, context) };
    buffer.map_or(HMBuffer::NULL, |buffer| give(Arc::new(buffer)))
}

/// The same memory as another device of the peer group sees it; NULL with *misuse set for any other device.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_buffer_create_remote(
    buffer: HMBuffer,
    device: HMDevice,
    misuse: *mut *const c_char,
) -> HMBuffer {
    // SAFETY: as the module says.
    let device = unsafe { device_of(device) };
    // SAFETY: as the module says.
    let buffer = unsafe { share(buffer) };
    let (handle, text) = match buffer.map(|buffer| Buffer::remote(buffer, device)) {
        Some(Ok(view)) => (give(Arc::new(view)), ptr::null()),
        Some(Err(text)) => (HMBuffer::NULL, text.as_ptr()),
        None => (HMBuffer::NULL, ptr::null()),
    };
    // SAFETY: as the module says.
    unsafe { put(misuse, text) };
    handle
}

/// Address of the first byte.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_buffer_contents(buffer: HMBuffer) -> *mut c_void {
    // SAFETY: as the module says.
    unsafe { borrow(buffer) }.contents().cast()
}

/// In bytes.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_buffer_length(buffer: HMBuffer) -> u64 {
    // SAFETY: as the module says.
    unsafe { borrow(buffer) }.length()
}

/// Gives up the caller's reference.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_buffer_release(buffer: HMBuffer) {
    if !buffer.is_null() {
        // SAFETY: as the module says.
        unsafe { borrow(buffer) }.let_go().set();
    }
    // SAFETY: as the module says.
    unsafe { release(buffer) };
}

/// # Safety
/// `text` is NULL or ends with NUL, and lives as long as the result is used.
unsafe fn text<'a>(text: *const c_char) -> &'a CStr {
    if text.is_null() {
        return c"";
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(text) }
}

/// # Safety
/// `first` is NULL or points to `count` elements, which live as long as the result is used.
unsafe fn elements<'a, T>(first: *const T, count: usize) -> &'a [T] {
    if first.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts(first, count) }
}
