//! The C ABI with types: one newtype per handle, released by `Drop`. The only unsafe code of this crate.
//!
//! `native/include/DCMetal.h` is the truth for ownership, threads and errors; what this module relies on is quoted from
//! there. Everything below returns either a value or a [`Failure`]; the callers add what they were doing.
//! [`library`] compiles, [`archive`] keeps what was compiled; [`command`] holds queues, command buffers and encoders, [`event`] what they wait for; [`host`] the memory that the CPU and the
//! device share, [`heap`] heaps of it, [`texture`] textures and samplers, [`pages`] memory of the CPU's that the device can use;
//! [`performance`] has kernels of Metal Performance Shaders; [`system`] asks the system, not Metal.
//!
//! Threads. Apple, "Metal Best Practices Guide" and the Metal Programming Guide ("Command Organization and Execution
//! Model"): devices, command queues, and the resources, libraries and pipeline states they create may be used from any
//! thread at once; a command buffer and its encoders from one thread at a time. DCMetal.h repeats both rules ("Threads"),
//! so the first group is `Send + Sync` here and the second `Send` only.

use std::ffi::{CString, c_char};
use std::ptr;

use crate::error::{EncoderReport, EncoderState};
use crate::multi::{Location, PeerGroup};
use crate::sys;
use crate::{Error, Size, StorageMode};

pub(crate) mod archive;
pub(crate) mod clock;
pub(crate) mod command;
pub(crate) mod event;
pub(crate) mod graph;
mod heap;
pub(crate) mod host;
pub(crate) mod library;
pub(crate) mod pages;
pub(crate) mod performance;
pub(crate) mod system;
pub(crate) mod texture;

pub(crate) use heap::Heap;
pub(crate) use library::{Binding, CompileOptions, ConstantBytes, Constants, Function, Library, Pipeline};

/// What a call of the C ABI ended with when it was not `DC_METAL_OK`.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) status: sys::DCMetalStatus,
    pub(crate) domain: String,
    pub(crate) code: i64,
    pub(crate) text: String,
    pub(crate) encoders: Vec<EncoderReport>,
}

impl Failure {
    fn new(status: sys::DCMetalStatus, error: Option<MetalError>) -> Failure {
        match error {
            Some(error) => Failure {
                status,
                domain: error.domain(),
                code: error.code(),
                text: error.message(),
                encoders: error.encoders(),
            },
            None => Failure {
                status,
                domain: "DCMetal".to_owned(),
                code: i64::from(status.0),
                text: status_text(status).to_owned(),
                encoders: Vec::new(),
            },
        }
    }

    /// A failure as a command buffer has it, for tests without a device.
    #[cfg(test)]
    pub(crate) fn for_tests(text: &str) -> Failure {
        let (status, domain) = (sys::DC_METAL_FAILED, "MTLCommandBufferErrorDomain".to_owned());
        Failure { status, domain, code: 1, text: text.to_owned(), encoders: Vec::new() }
    }

    /// Whether the compiler found the source wrong (`MTLLibraryErrorCompileFailure`), as opposed to failing itself.
    pub(crate) fn is_source_error(&self) -> bool {
        const COMPILE_FAILURE: i64 = 3;
        self.domain == "MTLLibraryErrorDomain" && self.code == COMPILE_FAILURE
    }

    /// The crate's error for memory, or another object, that Metal did not make; of a device that was removed it makes none.
    pub(crate) fn of_nothing(self, device: &Device, call: &'static str, bytes: Option<usize>) -> Error {
        match (self.status, bytes) {
            (sys::DC_METAL_OUT_OF_MEMORY, _) if device.is_gone() => {
                Error::NoDevice { text: format!("the device was removed: {}", self.text) }
            }
            (sys::DC_METAL_OUT_OF_MEMORY, Some(bytes)) => Error::OutOfMemory { bytes: bytes as u64, text: self.text },
            _ => self.during(call),
        }
    }

    /// The crate's error for a failure that has no variant of its own.
    pub(crate) fn during(self, call: &'static str) -> Error {
        match self.status {
            sys::DC_METAL_UNSUPPORTED => Error::Unsupported { what: call.to_owned(), text: self.text },
            _ => Error::Metal { call, domain: self.domain, code: self.code, text: self.text },
        }
    }
}

/// Words for a status that came without an error object.
fn status_text(status: sys::DCMetalStatus) -> &'static str {
    match status {
        sys::DC_METAL_INVALID_ARGUMENT => "invalid argument",
        sys::DC_METAL_INVALID_STATE => "invalid state",
        sys::DC_METAL_NOT_FOUND => "not found",
        sys::DC_METAL_UNSUPPORTED => "unsupported by this device or system",
        sys::DC_METAL_OUT_OF_MEMORY => "Metal returned no object",
        sys::DC_METAL_EXCEPTION => "Metal raised an exception",
        _ => "failed without an error object",
    }
}

/// `Ok` for `DC_METAL_OK`, else what `error` says; `error` is owned by this call.
fn check(status: sys::DCMetalStatus, error: sys::DCMetalError) -> Result<(), Failure> {
    let error = MetalError::owned(error);
    if status == sys::DC_METAL_OK { Ok(()) } else { Err(Failure::new(status, error)) }
}

/// Reads a string of the ABI: `get` writes at most the given bytes and returns the whole length.
fn text(get: impl Fn(*mut c_char, usize) -> usize) -> String {
    let mut bytes = vec![0u8; 128];
    loop {
        let length = get(bytes.as_mut_ptr().cast(), bytes.len());
        if length < bytes.len() {
            bytes.truncate(length);
            return String::from_utf8_lossy(&bytes).into_owned();
        }
        bytes.resize(length + 1, 0);
    }
}

/// A C string; a name with a NUL inside is no name Metal can know.
fn c_string(name: &str) -> Result<CString, Failure> {
    CString::new(name).map_err(|_| Failure {
        status: sys::DC_METAL_INVALID_ARGUMENT,
        domain: "DCMetal".to_owned(),
        code: i64::from(sys::DC_METAL_INVALID_ARGUMENT.0),
        text: format!("{name:?} holds a NUL character"),
        encoders: Vec::new(),
    })
}

/// A newtype that owns one reference of a handle and gives it back when dropped.
macro_rules! handle {
    ($(#[$doc:meta])* $name:ident, $release:ident) => {
        $(#[$doc])*
        pub(crate) struct $name(pub(in crate::raw) sys::$name);

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: `self.0` is a reference that a Create call handed to us and that nobody else releases.
                unsafe { sys::$release(self.0) }
            }
        }
    };
}
use handle;

handle!(
    /// An error object.
    DCMetalError,
    DCMetalError_Release
);
handle!(
    /// `MTLDevice`.
    DCMetalDevice,
    DCMetalDevice_Release
);
handle!(
    /// `MTLBuffer`.
    DCMetalBuffer,
    DCMetalBuffer_Release
);

pub(crate) type MetalError = DCMetalError;
pub(crate) type Device = DCMetalDevice;
pub(crate) type Buffer = DCMetalBuffer;

// SAFETY: DCMetal.h: "Devices, queues, buffers, libraries, functions, pipelines and errors may be used from any thread at
// once"; the same of Apple for `MTLDevice`.
unsafe impl Send for DCMetalDevice {}
// SAFETY: as for Send.
unsafe impl Sync for DCMetalDevice {}
// SAFETY: as for the device. This is about the object; its contents are guarded by `host::Tracked`.
unsafe impl Send for DCMetalBuffer {}
// SAFETY: as for Send.
unsafe impl Sync for DCMetalBuffer {}
impl DCMetalError {
    /// Takes over an error out-parameter; `None` for NULL.
    fn owned(error: sys::DCMetalError) -> Option<MetalError> {
        (!error.is_null()).then(|| DCMetalError(error))
    }

    fn domain(&self) -> String {
        // SAFETY: a live handle; the closure's pointer and capacity describe a writable buffer.
        text(|bytes, capacity| unsafe { sys::DCMetalError_GetDomain(self.0, bytes, capacity) })
    }

    fn code(&self) -> i64 {
        // SAFETY: a live handle.
        unsafe { sys::DCMetalError_GetCode(self.0) }
    }

    fn message(&self) -> String {
        // SAFETY: as in `domain`.
        text(|bytes, capacity| unsafe { sys::DCMetalError_GetMessage(self.0, bytes, capacity) })
    }

    fn encoders(&self) -> Vec<EncoderReport> {
        // SAFETY: a live handle.
        let count = unsafe { sys::DCMetalError_GetEncoderCount(self.0) };
        (0..count)
            .map(|index| EncoderReport {
                // SAFETY: as in `domain`; an index out of range gives an empty string.
                label: text(|bytes, capacity| unsafe {
                    sys::DCMetalError_GetEncoderLabel(self.0, index, bytes, capacity)
                }),
                // SAFETY: a live handle; an index out of range is answered.
                state: match unsafe { sys::DCMetalError_GetEncoderState(self.0, index) } {
                    sys::DC_METAL_ENCODER_COMPLETED => EncoderState::Completed,
                    sys::DC_METAL_ENCODER_AFFECTED => EncoderState::Affected,
                    sys::DC_METAL_ENCODER_PENDING => EncoderState::Pending,
                    sys::DC_METAL_ENCODER_FAULTED => EncoderState::Faulted,
                    _ => EncoderState::Unknown,
                },
            })
            .collect()
    }
}

/// Refuses a library of another ABI: possible where it is linked dynamically.
fn check_abi() -> Result<(), Failure> {
    // SAFETY: no preconditions.
    let version = unsafe { sys::DCMetal_AbiVersion() };
    if version == sys::DC_METAL_ABI_VERSION {
        return Ok(());
    }
    let mut failure = Failure::new(sys::DC_METAL_UNSUPPORTED, None);
    failure.text = format!("the DCMetal library has ABI version {version}, this program {}", sys::DC_METAL_ABI_VERSION);
    Err(failure)
}

impl DCMetalDevice {
    pub(crate) fn system_default() -> Result<Device, Failure> {
        check_abi()?;
        let (mut device, mut error) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: both out-parameters are valid for the call.
        let status = unsafe { sys::DCMetalDevice_CreateSystemDefault(&mut device, &mut error) };
        check(status, error)?;
        Ok(DCMetalDevice(device))
    }

    pub(crate) fn all() -> Result<Vec<Device>, Failure> {
        check_abi()?;
        let mut capacity = 0;
        loop {
            let mut handles = vec![ptr::null_mut(); capacity];
            let (mut count, mut error) = (0, ptr::null_mut());
            // SAFETY: `handles` has room for `capacity` handles; the out-parameters are valid for the call.
            let status =
                unsafe { sys::DCMetalDevice_CreateAll(handles.as_mut_ptr(), capacity, &mut count, &mut error) };
            check(status, error)?;
            handles.truncate(count);
            let devices: Vec<Device> = handles.into_iter().map(DCMetalDevice).collect();
            if count <= capacity {
                return Ok(devices);
            }
            capacity = count;
        }
    }

    /// Whether it was removed: the system lists its devices without it.
    pub(crate) fn is_gone(&self) -> bool {
        let own = self.registry_id();
        DCMetalDevice::all().is_ok_and(|devices| devices.iter().all(|device| device.registry_id() != own))
    }

    pub(crate) fn name(&self) -> String {
        // SAFETY: a live handle; the pointer and capacity describe a writable buffer.
        text(|bytes, capacity| unsafe { sys::DCMetalDevice_GetName(self.0, bytes, capacity) })
    }

    /// Names what compiles pipelines, where that is no part of the system.
    pub(crate) fn compiler(&self) -> String {
        // SAFETY: as for the name.
        text(|bytes, capacity| unsafe { sys::DCMetalDevice_GetCompiler(self.0, bytes, capacity) })
    }

    pub(crate) fn registry_id(&self) -> u64 {
        // SAFETY: a live handle.
        unsafe { sys::DCMetalDevice_GetRegistryID(self.0) }
    }

    pub(crate) fn has_unified_memory(&self) -> bool {
        // SAFETY: a live handle.
        unsafe { sys::DCMetalDevice_HasUnifiedMemory(self.0) }
    }

    pub(crate) fn is_low_power(&self) -> bool {
        // SAFETY: a live handle.
        unsafe { sys::DCMetalDevice_IsLowPower(self.0) }
    }

    pub(crate) fn is_headless(&self) -> bool {
        // SAFETY: a live handle.
        unsafe { sys::DCMetalDevice_IsHeadless(self.0) }
    }

    pub(crate) fn is_removable(&self) -> bool {
        // SAFETY: a live handle.
        unsafe { sys::DCMetalDevice_IsRemovable(self.0) }
    }

    pub(crate) fn recommended_working_set(&self) -> u64 {
        // SAFETY: a live handle.
        unsafe { sys::DCMetalDevice_GetRecommendedMaxWorkingSetSize(self.0) }
    }

    pub(crate) fn allocated_bytes(&self) -> u64 {
        // SAFETY: a live handle.
        unsafe { sys::DCMetalDevice_GetCurrentAllocatedSize(self.0) }
    }

    pub(crate) fn max_buffer_bytes(&self) -> u64 {
        // SAFETY: a live handle.
        unsafe { sys::DCMetalDevice_GetMaxBufferLength(self.0) }
    }

    pub(crate) fn max_threadgroup_memory(&self) -> u64 {
        // SAFETY: a live handle.
        unsafe { sys::DCMetalDevice_GetMaxThreadgroupMemoryLength(self.0) }
    }

    pub(crate) fn max_threads_per_threadgroup(&self) -> Size {
        // SAFETY: a live handle.
        let size = unsafe { sys::DCMetalDevice_GetMaxThreadsPerThreadgroup(self.0) };
        Size { x: size.width, y: size.height, z: size.depth }
    }

    pub(crate) fn location(&self) -> Location {
        // SAFETY: a live handle.
        let number = unsafe { sys::DCMetalDevice_GetLocationNumber(self.0) };
        // SAFETY: a live handle.
        match unsafe { sys::DCMetalDevice_GetLocation(self.0) } {
            sys::DC_METAL_LOCATION_BUILT_IN => Location::BuiltIn,
            sys::DC_METAL_LOCATION_SLOT => Location::Slot(number),
            sys::DC_METAL_LOCATION_EXTERNAL => Location::External(number),
            _ => Location::Unspecified,
        }
    }

    /// Bytes a second; 0 is none.
    pub(crate) fn max_transfer_rate(&self) -> u64 {
        // SAFETY: a live handle.
        unsafe { sys::DCMetalDevice_GetMaxTransferRate(self.0) }
    }

    pub(crate) fn peer_group(&self) -> Option<PeerGroup> {
        // SAFETY: a live handle.
        let id = unsafe { sys::DCMetalDevice_GetPeerGroupID(self.0) };
        // SAFETY: a live handle.
        let index = unsafe { sys::DCMetalDevice_GetPeerIndex(self.0) };
        // SAFETY: a live handle.
        let count = unsafe { sys::DCMetalDevice_GetPeerCount(self.0) };
        (id != 0).then_some(PeerGroup { id, index, count })
    }

    pub(crate) fn supports_family(&self, family: i64) -> bool {
        // SAFETY: a live handle.
        unsafe { sys::DCMetalDevice_SupportsFamily(self.0, family) }
    }
}

impl DCMetalBuffer {
    pub(crate) fn label(&self) -> String {
        // SAFETY: a live handle; the pointer and capacity describe a writable buffer.
        text(|bytes, capacity| unsafe { sys::DCMetalBuffer_GetLabel(self.0, bytes, capacity) })
    }

    pub(crate) fn set_label(&self, label: &str) -> Result<(), Failure> {
        let label = c_string(label)?;
        // SAFETY: a live handle and a terminated string.
        check(unsafe { sys::DCMetalBuffer_SetLabel(self.0, label.as_ptr()) }, ptr::null_mut())
    }
}

/// `MTLStorageMode`.
fn storage_mode(storage: StorageMode) -> sys::DCMetalStorageMode {
    match storage {
        StorageMode::Shared => sys::DC_METAL_STORAGE_SHARED,
        StorageMode::Managed => sys::DC_METAL_STORAGE_MANAGED,
        StorageMode::Private => sys::DC_METAL_STORAGE_PRIVATE,
    }
}
