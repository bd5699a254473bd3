//! What the cases share: recorded calls, owned handles, failures as data, and one kernel's round trip.
//!
//! Out-parameters start as garbage, so that a call which forgets to set one is seen.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use dcmetal_sys::*;

static CALLED: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// Notes that the running case called a function.
pub(crate) fn record(name: &'static str) {
    CALLED.lock().unwrap_or_else(PoisonError::into_inner).insert(name);
}

/// The functions called since the last time this was asked.
pub(crate) fn take_called() -> BTreeSet<&'static str> {
    std::mem::take(&mut *CALLED.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Calls a function of the C ABI and records its name.
macro_rules! dc {
    ($name:ident($($argument:expr),* $(,)?)) => {{
        $crate::support::record(stringify!($name));
        // SAFETY: a case passes handles that it owns, or what the header says is refused; pointers outlive the call.
        unsafe { dcmetal_sys::$name($($argument),*) }
    }};
}
pub(crate) use dc;

/// A handle type of the C ABI.
pub(crate) trait Handle: Copy {
    const NULL: Self;
    const GARBAGE: Self;
    fn is_null(self) -> bool;
    fn release(self);
}

macro_rules! handles {
    ($($handle:ident, $release:ident;)*) => {$(
        impl Handle for $handle {
            const NULL: Self = ptr::null_mut();
            const GARBAGE: Self = ptr::without_provenance_mut(0x55);
            fn is_null(self) -> bool {
                self == Self::NULL
            }
            fn release(self) {
                dc!($release(self));
            }
        }
    )*};
}
handles! {
    DCMetalError, DCMetalError_Release;
    DCMetalDevice, DCMetalDevice_Release;
    DCMetalQueue, DCMetalQueue_Release;
    DCMetalBuffer, DCMetalBuffer_Release;
    DCMetalTexture, DCMetalTexture_Release;
    DCMetalSampler, DCMetalSampler_Release;
    DCMetalCompileOptions, DCMetalCompileOptions_Release;
    DCMetalLibrary, DCMetalLibrary_Release;
    DCMetalConstants, DCMetalConstants_Release;
    DCMetalFunction, DCMetalFunction_Release;
    DCMetalPipeline, DCMetalPipeline_Release;
    DCMetalCommandBuffer, DCMetalCommandBuffer_Release;
    DCMetalComputeEncoder, DCMetalComputeEncoder_Release;
    DCMetalBlitEncoder, DCMetalBlitEncoder_Release;
    DCMetalHeap, DCMetalHeap_Release;
    DCMetalArchive, DCMetalArchive_Release;
    DCMetalEvent, DCMetalEvent_Release;
    DCMetalSharedEvent, DCMetalSharedEvent_Release;
    DCMetalFence, DCMetalFence_Release;
    DCMetalIndirectCommands, DCMetalIndirectCommands_Release;
    DCMetalMultiplication, DCMetalMultiplication_Release;
    DCMetalRowKernel, DCMetalRowKernel_Release;
    DCMetalGraph, DCMetalGraph_Release;
}

/// A handle with its one reference.
pub(crate) struct Owned<H: Handle>(pub(crate) H);

impl<H: Handle> Drop for Owned<H> {
    fn drop(&mut self) {
        self.0.release();
    }
}

// SAFETY: the header allows devices, queues, buffers, textures, samplers, libraries, functions, pipelines and errors on any thread at once; a
// case that moves a command buffer uses it from one thread at a time, or only waits on it.
unsafe impl<H: Handle> Send for Owned<H> {}
// SAFETY: as above.
unsafe impl<H: Handle> Sync for Owned<H> {}

/// What a refused call said.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: DCMetalStatus,
    pub(crate) domain: String,
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) encoders: Vec<(String, DCMetalEncoderState)>,
}

/// The whole string that a getter writes; also checks how it measures and cuts.
pub(crate) fn string(get: impl Fn(*mut c_char, usize) -> usize) -> String {
    let length = get(ptr::null_mut(), 0);
    let mut bytes = vec![0x7fu8; length + 2];
    assert_eq!(get(bytes.as_mut_ptr().cast(), length + 1), length, "the length does not depend on the capacity");
    assert_eq!(bytes[length], 0, "terminated");
    assert_eq!(bytes[length + 1], 0x7f, "nothing beyond the capacity");
    if length > 0 {
        let mut one = [0x7fu8; 2];
        assert_eq!(get(one.as_mut_ptr().cast(), 1), length);
        assert_eq!(one, [0, 0x7f], "a capacity of 1 holds the terminator");
    }
    bytes.truncate(length);
    String::from_utf8(bytes).expect("strings are UTF-8")
}

/// Reads an owned error.
pub(crate) fn failure(status: DCMetalStatus, error: DCMetalError) -> Failure {
    let error = Owned(error);
    let count = dc!(DCMetalError_GetEncoderCount(error.0));
    Failure {
        status,
        domain: string(|text, capacity| dc!(DCMetalError_GetDomain(error.0, text, capacity))),
        code: dc!(DCMetalError_GetCode(error.0)),
        message: string(|text, capacity| dc!(DCMetalError_GetMessage(error.0, text, capacity))),
        encoders: (0..count)
            .map(|index| {
                let label = string(|text, capacity| dc!(DCMetalError_GetEncoderLabel(error.0, index, text, capacity)));
                (label, dc!(DCMetalError_GetEncoderState(error.0, index)))
            })
            .collect(),
    }
}

/// Makes a call with an error out-parameter and checks what every such call keeps.
pub(crate) fn attempt(call: impl FnOnce(*mut DCMetalError) -> DCMetalStatus) -> Result<(), Failure> {
    let mut error = DCMetalError::GARBAGE;
    let status = call(&mut error);
    if status == DC_METAL_OK {
        assert!(error.is_null(), "no error beside success");
        return Ok(());
    }
    assert!(!error.is_null(), "{status:?} comes with an error");
    let failure = failure(status, error);
    assert!(!failure.domain.is_empty() && !failure.message.is_empty(), "{failure:?}");
    if failure.domain == "DCMetal" {
        assert_eq!(failure.code, i64::from(status.0), "{failure:?}");
    }
    Err(failure)
}

/// Makes a call that hands out a handle.
pub(crate) fn create<H: Handle>(
    call: impl FnOnce(*mut H, *mut DCMetalError) -> DCMetalStatus,
) -> Result<Owned<H>, Failure> {
    let mut handle = H::GARBAGE;
    match attempt(|error| call(&mut handle, error)) {
        Ok(()) => {
            assert!(!handle.is_null(), "success hands out a handle");
            Ok(Owned(handle))
        }
        Err(failure) => {
            assert!(handle.is_null(), "a failure sets the handle to NULL: {failure:?}");
            Err(failure)
        }
    }
}

/// Demands that this interface refuses a call itself, with this status, and returns its sentence.
pub(crate) fn refused<T>(status: DCMetalStatus, result: Result<T, Failure>) -> String {
    let Err(failure) = result else { panic!("the call was accepted; {status:?} was due") };
    assert_eq!(failure.status, status, "{failure:?}");
    assert_eq!(failure.domain, "DCMetal", "{failure:?}");
    failure.message
}

pub(crate) fn selector(name: &CStr) -> *const c_void {
    unsafe extern "C" {
        fn sel_registerName(name: *const c_char) -> *const c_void;
    }
    // SAFETY: a C string.
    unsafe { sel_registerName(name.as_ptr()) }
}

/// Sends a message without arguments.
///
/// # Safety
/// The receiver lives, and has a method of this name with this result.
pub(crate) unsafe fn send<R>(receiver: *mut c_void, name: &CStr) -> R {
    type Method = unsafe extern "C" fn();
    unsafe extern "C" {
        #[cfg(target_os = "macos")]
        fn objc_msgSend();
        #[cfg(not(target_os = "macos"))]
        fn objc_msg_lookup(receiver: *mut c_void, selector: *const c_void) -> Method;
    }
    let selector = selector(name);
    #[cfg(target_os = "macos")]
    let method: Method = objc_msgSend;
    // SAFETY: a live object and a selector.
    #[cfg(not(target_os = "macos"))]
    let method: Method = unsafe { objc_msg_lookup(receiver, selector) };
    // SAFETY: methods are functions of the object and the selector, and the caller says with which result.
    let method =
        unsafe { std::mem::transmute::<Method, unsafe extern "C" fn(*mut c_void, *const c_void) -> R>(method) };
    // SAFETY: as the caller says.
    unsafe { method(receiver, selector) }
}

pub(crate) fn c(text: &str) -> CString {
    CString::new(text).expect("no NUL inside")
}

pub(crate) fn size(width: u64, height: u64, depth: u64) -> DCMetalSize {
    DCMetalSize { width, height, depth }
}

/// A device with a queue.
pub(crate) struct Gpu {
    pub(crate) device: Owned<DCMetalDevice>,
    pub(crate) queue: Owned<DCMetalQueue>,
}

impl Gpu {
    pub(crate) fn new() -> Self {
        let device = create(|out, error| dc!(DCMetalDevice_CreateSystemDefault(out, error))).expect("a device");
        let queue = create(|out, error| dc!(DCMetalQueue_Create(device.0, 0, out, error))).expect("a queue");
        Self { device, queue }
    }

    pub(crate) fn library(&self, source: &str) -> Result<Owned<DCMetalLibrary>, Failure> {
        self.library_with(source, ptr::null_mut())
    }

    pub(crate) fn library_with(
        &self,
        source: &str,
        options: DCMetalCompileOptions,
    ) -> Result<Owned<DCMetalLibrary>, Failure> {
        let (text, length) = (source.as_ptr().cast(), source.len());
        create(|out, error| dc!(DCMetalLibrary_CreateWithSource(self.device.0, text, length, options, out, error)))
    }

    /// The pipeline of the function of this name.
    pub(crate) fn pipeline(&self, source: &str, name: &str) -> Owned<DCMetalPipeline> {
        let library = self.library(source).expect("the source compiles");
        let function = function(&library, name, DCMetalConstants::NULL).expect("the function is there");
        self.pipeline_of(&function, None).expect("a pipeline")
    }

    pub(crate) fn pipeline_of(
        &self,
        function: &Owned<DCMetalFunction>,
        options: Option<&DCMetalPipelineOptions>,
    ) -> Result<Owned<DCMetalPipeline>, Failure> {
        let options = options.map_or(ptr::null(), ptr::from_ref);
        create(|out, error| dc!(DCMetalPipeline_Create(self.device.0, function.0, options, out, error)))
    }

    pub(crate) fn buffer(&self, length: u64) -> Owned<DCMetalBuffer> {
        let (shared, cache) = (DC_METAL_STORAGE_SHARED, DC_METAL_CACHE_DEFAULT);
        create(|out, error| dc!(DCMetalBuffer_Create(self.device.0, length, shared, cache, out, error)))
            .expect("a buffer")
    }

    pub(crate) fn buffer_of<T: Copy>(&self, values: &[T]) -> Owned<DCMetalBuffer> {
        let (bytes, length) = (values.as_ptr().cast(), size_of_val(values) as u64);
        let shared = DC_METAL_STORAGE_SHARED;
        create(|out, error| dc!(DCMetalBuffer_CreateWithBytes(self.device.0, bytes, length, shared, out, error)))
            .expect("a buffer")
    }

    pub(crate) fn command_buffer(&self) -> Owned<DCMetalCommandBuffer> {
        self.command_buffer_with(None)
    }

    pub(crate) fn command_buffer_with(
        &self,
        options: Option<&DCMetalCommandBufferOptions>,
    ) -> Owned<DCMetalCommandBuffer> {
        let options = options.map_or(ptr::null(), ptr::from_ref);
        create(|out, error| dc!(DCMetalCommandBuffer_Create(self.queue.0, options, out, error)))
            .expect("a command buffer")
    }

    /// Encodes with `encode` into one serial encoder, commits and waits.
    pub(crate) fn compute(&self, encode: impl FnOnce(&Owned<DCMetalComputeEncoder>)) -> Result<(), Failure> {
        let command_buffer = self.command_buffer();
        let encoder = compute_encoder(&command_buffer);
        encode(&encoder);
        end(&encoder);
        commit(&command_buffer);
        wait(&command_buffer)
    }

    /// As `compute`, with a blit encoder.
    pub(crate) fn blit(&self, encode: impl FnOnce(&Owned<DCMetalBlitEncoder>)) -> Result<(), Failure> {
        let command_buffer = self.command_buffer();
        let encoder = blit_encoder(&command_buffer);
        encode(&encoder);
        attempt(|error| dc!(DCMetalBlitEncoder_EndEncoding(encoder.0, error))).expect("it ends");
        commit(&command_buffer);
        wait(&command_buffer)
    }
}

pub(crate) fn function(
    library: &Owned<DCMetalLibrary>,
    name: &str,
    constants: DCMetalConstants,
) -> Result<Owned<DCMetalFunction>, Failure> {
    let name = c(name);
    create(|out, error| dc!(DCMetalFunction_Create(library.0, name.as_ptr(), constants, out, error)))
}

pub(crate) fn compute_encoder(command_buffer: &Owned<DCMetalCommandBuffer>) -> Owned<DCMetalComputeEncoder> {
    let serial = DC_METAL_DISPATCH_SERIAL;
    create(|out, error| dc!(DCMetalComputeEncoder_Create(command_buffer.0, serial, out, error))).expect("an encoder")
}

pub(crate) fn blit_encoder(command_buffer: &Owned<DCMetalCommandBuffer>) -> Owned<DCMetalBlitEncoder> {
    create(|out, error| dc!(DCMetalBlitEncoder_Create(command_buffer.0, out, error))).expect("an encoder")
}

pub(crate) fn set_pipeline(encoder: &Owned<DCMetalComputeEncoder>, pipeline: &Owned<DCMetalPipeline>) {
    attempt(|error| dc!(DCMetalComputeEncoder_SetPipeline(encoder.0, pipeline.0, error))).expect("a pipeline is set");
}

pub(crate) fn set_buffer(
    encoder: &Owned<DCMetalComputeEncoder>,
    buffer: &Owned<DCMetalBuffer>,
    offset: u64,
    index: usize,
) {
    attempt(|error| dc!(DCMetalComputeEncoder_SetBuffer(encoder.0, buffer.0, offset, index, error)))
        .expect("a buffer is set");
}

pub(crate) fn set_bytes<T: Copy>(
    encoder: &Owned<DCMetalComputeEncoder>,
    values: &[T],
    index: usize,
) -> Result<(), Failure> {
    let (bytes, length) = (values.as_ptr().cast::<c_void>(), size_of_val(values));
    attempt(|error| dc!(DCMetalComputeEncoder_SetBytes(encoder.0, bytes, length, index, error)))
}

pub(crate) fn dispatch_threads(
    encoder: &Owned<DCMetalComputeEncoder>,
    threads: DCMetalSize,
    threadgroup: DCMetalSize,
) -> Result<(), Failure> {
    attempt(|error| dc!(DCMetalComputeEncoder_DispatchThreads(encoder.0, threads, threadgroup, error)))
}

pub(crate) fn dispatch_threadgroups(
    encoder: &Owned<DCMetalComputeEncoder>,
    threadgroups: DCMetalSize,
    threadgroup: DCMetalSize,
) -> Result<(), Failure> {
    attempt(|error| dc!(DCMetalComputeEncoder_DispatchThreadgroups(encoder.0, threadgroups, threadgroup, error)))
}

pub(crate) fn end(encoder: &Owned<DCMetalComputeEncoder>) {
    attempt(|error| dc!(DCMetalComputeEncoder_EndEncoding(encoder.0, error))).expect("the encoder ends");
}

pub(crate) fn commit(command_buffer: &Owned<DCMetalCommandBuffer>) {
    attempt(|error| dc!(DCMetalCommandBuffer_Commit(command_buffer.0, error))).expect("it commits");
}

pub(crate) fn wait(command_buffer: &Owned<DCMetalCommandBuffer>) -> Result<(), Failure> {
    attempt(|error| dc!(DCMetalCommandBuffer_WaitUntilCompleted(command_buffer.0, error)))
}

/// A copy of what the CPU sees in a buffer.
pub(crate) fn contents<T: Copy>(buffer: &Owned<DCMetalBuffer>) -> Vec<T> {
    let length = dc!(DCMetalBuffer_GetLength(buffer.0)) as usize;
    let start = dc!(DCMetalBuffer_GetContents(buffer.0)).cast::<T>();
    assert!(!start.is_null() && length.is_multiple_of(size_of::<T>()));
    // SAFETY: Metal gives length bytes, page-aligned; no command that writes them is running.
    unsafe { std::slice::from_raw_parts(start, length / size_of::<T>()) }.to_vec()
}
