//! The C interface (native/hostmetal/engine.h), function by function: handles become references here and nowhere else.
//!
//! A handle is an `Arc` turned into a raw pointer. `*_create` gives away one reference, `*_release` takes it back, all
//! others borrow. The header's contract, which each `# Safety` section stands for: a handle passed in came from the
//! matching `*_create` and has not been released; pointers to results are valid for writes; texts end with NUL; memory
//! passed with a length is that long. A panic in here would be our own mistake; it ends the process with its message,
//! because it cannot leave an `extern "C"` function.

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use crate::command::{Callbacks, CommandBuffer};
use crate::device::{self, Device, MAX_THREADGROUP_MEMORY, MAX_THREADS_PER_THREADGROUP, SIMD_WIDTH};
use crate::encode::{Encoder, Misuse};
use crate::library::{COMPILE_FAILURE, COMPILE_WARNING, Function, Library, LibraryError};
use crate::memory::Buffer;
use crate::msl::{CompileOptions, ConstantKey, ConstantValue, DataType, MathMode};
use crate::pipeline::{Kernel, Pipeline};
use crate::queue::Queue;

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
    /// An MTLLibrary.
    HMLibrary => Library;
    /// An MTLFunction.
    HMFunction => Function;
    /// An MTLComputePipelineState.
    HMPipeline => Pipeline;
    /// An MTLCommandQueue.
    HMQueue => Queue;
    /// An MTLCommandBuffer.
    HMCommandBuffer => CommandBuffer;
    /// An MTLComputeCommandEncoder or MTLBlitCommandEncoder.
    HMEncoder => Encoder;
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
}

/// Number of devices.
#[unsafe(no_mangle)]
pub extern "C" fn hm_device_count() -> usize {
    device::devices().len()
}

/// A device, NULL when out of range.
#[unsafe(no_mangle)]
pub extern "C" fn hm_device_at(index: usize) -> HMDevice {
    device::devices().get(index).map_or(HMDevice::NULL, |device| HMDevice::from_raw(ptr::from_ref(device).cast()))
}

/// A device's limits.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_device_info(device: HMDevice, info: *mut HMDeviceInfo) {
    // SAFETY: as the module says.
    let device = unsafe { device_of(device) };
    let threads = u64::from(MAX_THREADS_PER_THREADGROUP);
    let value = HMDeviceInfo {
        name: device.name.as_ptr(),
        registry_id: device.registry_id,
        recommended_max_working_set_size: device.memory_limit(),
        max_buffer_length: device.max_buffer_length(),
        max_threadgroup_memory_length: MAX_THREADGROUP_MEMORY,
        max_threads_per_threadgroup: [threads; 3],
        max_total_threads_per_threadgroup: threads,
    };
    // SAFETY: as the module says.
    unsafe { put(info, value) };
}

/// Bytes of live buffers.
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
    // SAFETY: the caller promises what `borrowed` asks for.
    let buffer = unsafe { Buffer::borrowed(device, bytes, length, deallocate, context) };
    buffer.map_or(HMBuffer::NULL, |buffer| give(Arc::new(buffer)))
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
    // SAFETY: as the module says.
    unsafe { release(buffer) };
}

/// HMMacro.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HMMacro {
    /// As in #define.
    pub name: *const c_char,
    /// NULL for none.
    pub value: *const c_char,
}

/// HMCompileOptions.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HMCompileOptions {
    /// MTLMathMode.
    pub math_mode: u32,
    /// MTLLanguageVersion; 0 for the newest.
    pub language_version: u32,
    /// `macro_count` of them.
    pub macros: *const HMMacro,
    /// Length of `macros`.
    pub macro_count: usize,
}

impl From<LibraryError> for HMError {
    fn from(error: LibraryError) -> HMError {
        HMError::new(error.code, &error.text)
    }
}

/// Gives the object, or NULL with the error.
///
/// # Safety
/// `error` is NULL or valid for writes.
unsafe fn give_or<H: Handle>(result: Result<H::Object, HMError>, error: *mut HMError) -> H {
    let (handle, value) = match result {
        Ok(object) => (give(Arc::new(object)), HMError::NONE),
        Err(value) => (H::from_raw(ptr::null()), value),
    };
    // SAFETY: as the caller promises.
    unsafe { tell(error, value) };
    handle
}

/// # Safety
/// `error` is NULL or valid for writes.
unsafe fn tell(error: *mut HMError, value: HMError) {
    if error.is_null() {
        // SAFETY: the text was made a moment ago.
        unsafe { hm_string_release(value.message) };
    } else {
        // SAFETY: as the caller promises.
        unsafe { put(error, value) };
    }
}

/// # Safety
/// As the module says; `options` is NULL or valid.
unsafe fn compile_options(options: *const HMCompileOptions) -> Result<CompileOptions, HMError> {
    // SAFETY: as the caller promises.
    let Some(given) = (unsafe { options.as_ref() }) else { return Ok(CompileOptions::default()) };
    let math_mode = match given.math_mode {
        0 => MathMode::Safe,
        1 => MathMode::Relaxed,
        2 => MathMode::Fast,
        other => return Err(HMError::new(COMPILE_FAILURE, &format!("mathMode {other} is not a value of MTLMathMode"))),
    };
    let language_version = match given.language_version {
        0 => CompileOptions::default().language_version,
        version => (version >> 16, version & 0xffff),
    };
    let mut macros = Vec::new();
    for position in 0..given.macro_count {
        // SAFETY: `macros` has `macro_count` elements.
        let one = unsafe { given.macros.add(position).read() };
        // SAFETY: texts end with NUL.
        let (name, value) = unsafe { (text(one.name), text(one.value)) };
        macros.push((name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()));
    }
    Ok(CompileOptions { math_mode, language_version, macros })
}

/// Compiles MSL source; NULL with the error's code and text, or a library with code 4 and the warnings if there are any.
///
/// # Safety
/// As the module says; `options` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_library_create(
    device: HMDevice,
    source: *const c_char,
    length: usize,
    options: *const HMCompileOptions,
    error: *mut HMError,
) -> HMLibrary {
    // SAFETY: as the module says.
    let device = unsafe { device_of(device) };
    // SAFETY: as the module says.
    let source = unsafe { memory(source.cast(), length) };
    let made = match std::str::from_utf8(source) {
        // SAFETY: as the module says.
        Ok(source) => match unsafe { compile_options(options) } {
            Ok(options) => Library::new(device, source, &options).map_err(HMError::from),
            Err(error) => Err(error),
        },
        Err(wrong) => {
            let text = format!("the source is not UTF-8: byte {} is invalid", wrong.valid_up_to());
            Err(HMError::new(COMPILE_FAILURE, &text))
        }
    };
    let warnings =
        made.as_ref().ok().and_then(|library| library.warnings().map(|log| HMError::new(COMPILE_WARNING, log)));
    // SAFETY: as the module says.
    let handle = unsafe { give_or(made, error) };
    if let Some(warnings) = warnings {
        // SAFETY: as the module says; there was no error, so nothing is overwritten that must be freed.
        unsafe { tell(error, warnings) };
    }
    handle
}

/// Number of kernels.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_library_function_count(library: HMLibrary) -> usize {
    // SAFETY: as the module says.
    unsafe { borrow(library) }.function_count()
}

/// Name of a kernel, sorted, valid while the library lives; NULL when out of range.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_library_function_name(library: HMLibrary, index: usize) -> *const c_char {
    // SAFETY: as the module says.
    unsafe { borrow(library) }.function_name(index).map_or(ptr::null(), |name| name.as_ptr())
}

/// Gives up the caller's reference.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_library_release(library: HMLibrary) {
    // SAFETY: as the module says.
    unsafe { release(library) };
}

/// HMConstantInfo.
#[repr(C)]
#[derive(Debug)]
pub struct HMConstantInfo {
    /// Valid while the library lives.
    pub name: *const c_char,
    /// As in the source.
    pub index: u32,
    /// MTLDataType.
    pub data_type: u32,
    /// False when the kernel asks whether it is defined.
    pub required: bool,
}

/// Number of function constants that a kernel may use.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_library_constant_count(library: HMLibrary, function: *const c_char) -> usize {
    // SAFETY: as the module says.
    let function = unsafe { text(function) };
    // SAFETY: as the module says.
    unsafe { borrow(library) }.constant_count(&function.to_string_lossy())
}

/// A function constant of a kernel; false when out of range.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_library_constant(
    library: HMLibrary,
    function: *const c_char,
    position: usize,
    info: *mut HMConstantInfo,
) -> bool {
    // SAFETY: as the module says.
    let function = unsafe { text(function) };
    // SAFETY: as the module says.
    let Some((constant, name)) = (unsafe { borrow(library) }).constant(&function.to_string_lossy(), position) else {
        return false;
    };
    let value = HMConstantInfo {
        name: name.as_ptr(),
        index: constant.index,
        data_type: constant.data_type.0,
        required: constant.required,
    };
    // SAFETY: as the module says.
    unsafe { put(info, value) };
    true
}

/// HMConstantValue: by name when name is not NULL, else by index.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HMConstantValue {
    /// NULL to use `index`.
    pub name: *const c_char,
    /// As in the source.
    pub index: u32,
    /// MTLDataType.
    pub data_type: u32,
    /// One value of that type.
    pub value: *const c_void,
}

/// # Safety
/// As the module says.
unsafe fn constant_value(given: HMConstantValue) -> Result<ConstantValue, HMError> {
    let data_type = DataType(given.data_type);
    let Some(size) = data_type.value_size() else {
        let text = format!("values of MTLDataType {} cannot be function constants", given.data_type);
        return Err(HMError::new(COMPILE_FAILURE, &text));
    };
    let key = if given.name.is_null() {
        ConstantKey::Index(given.index)
    } else {
        // SAFETY: texts end with NUL.
        ConstantKey::Name(unsafe { text(given.name) }.to_string_lossy().into_owned())
    };
    // SAFETY: the value points to one value of its type.
    let bytes = unsafe { memory(given.value, size) }.to_vec();
    Ok(ConstantValue { key, data_type, bytes })
}

/// A kernel with values for its constants; NULL with code 5 for an unknown name, 3 when constants are missing or of
/// another type.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_function_create(
    library: HMLibrary,
    name: *const c_char,
    values: *const HMConstantValue,
    count: usize,
    error: *mut HMError,
) -> HMFunction {
    // SAFETY: as the module says.
    let name = unsafe { text(name) }.to_string_lossy();
    // SAFETY: as the module says; each value is read once.
    let constants =
        (0..count).map(|position| unsafe { constant_value(*values.add(position)) }).collect::<Result<_, _>>();
    // SAFETY: as the module says.
    let library = unsafe { share(library) };
    let made = match (library, constants) {
        (Some(library), Ok(constants)) => Function::new(library, &name, constants).map_err(HMError::from),
        (None, _) => Err(HMError::new(COMPILE_FAILURE, "a function of no library")),
        (_, Err(error)) => Err(error),
    };
    // SAFETY: as the module says.
    unsafe { give_or(made, error) }
}

/// Gives up the caller's reference.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_function_release(function: HMFunction) {
    // SAFETY: as the module says.
    unsafe { release(function) };
}

/// Compiles a function's code; NULL with a code of MTLLibraryError and the compiler's log.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_pipeline_create(
    device: HMDevice,
    function: HMFunction,
    max_total_threads_per_threadgroup: u64,
    size_is_multiple_of_execution_width: bool,
    error: *mut HMError,
) -> HMPipeline {
    // SAFETY: as the module says.
    let device = unsafe { device_of(device) };
    // SAFETY: as the module says.
    let made = match unsafe { share(function) } {
        Some(function) => function
            .pipeline(device, max_total_threads_per_threadgroup, size_is_multiple_of_execution_width)
            .map_err(HMError::from),
        None => Err(HMError::new(COMPILE_FAILURE, "a pipeline of no function")),
    };
    // SAFETY: as the module says.
    unsafe { give_or(made, error) }
}

/// HMPipelineInfo.
#[repr(C)]
#[derive(Debug)]
pub struct HMPipelineInfo {
    /// Limit of a dispatch with this pipeline.
    pub max_total_threads_per_threadgroup: u64,
    /// Threads of a SIMD-group.
    pub thread_execution_width: u64,
    /// Bytes.
    pub static_threadgroup_memory_length: u64,
    /// For hm_pipeline_binding.
    pub binding_count: usize,
}

/// HMBinding.
#[repr(C)]
#[derive(Debug)]
pub struct HMBinding {
    /// Valid while the pipeline lives.
    pub name: *const c_char,
    /// MTLBindingType.
    pub kind: u32,
    /// 0 to 30.
    pub index: u32,
    /// MTLBindingAccess.
    pub access: u32,
    /// MTLDataType of the element.
    pub data_type: u32,
    /// Bytes of one element.
    pub data_size: u64,
    /// Bytes.
    pub alignment: u64,
    /// Many elements rather than one.
    pub pointer: bool,
    /// Whether dispatches need it.
    pub used: bool,
}

/// A pipeline of a native function instead of a compiled kernel, for tests of the executor; NULL with the error's text
/// when it does not fit.
///
/// # Safety
/// As the module says; the kernel's entry keeps the contract of `executor::Entry` and touches only what its bindings
/// and variables say.
pub unsafe fn pipeline_from_native(
    device: HMDevice,
    kernel: Kernel,
    max_total_threads_per_threadgroup: u64,
    size_is_multiple_of_execution_width: bool,
) -> Result<HMPipeline, String> {
    // SAFETY: as the module says.
    let device = unsafe { device_of(device) };
    Pipeline::new(device, kernel, max_total_threads_per_threadgroup, size_is_multiple_of_execution_width)
        .map(|pipeline| give(Arc::new(pipeline)))
        .map_err(|unfit| unfit.0)
}

/// A pipeline's limits.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_pipeline_info(pipeline: HMPipeline, info: *mut HMPipelineInfo) {
    // SAFETY: as the module says.
    let pipeline = unsafe { borrow(pipeline) };
    let value = HMPipelineInfo {
        max_total_threads_per_threadgroup: u64::from(pipeline.max_threads),
        thread_execution_width: u64::from(SIMD_WIDTH),
        static_threadgroup_memory_length: pipeline.static_memory,
        binding_count: pipeline.bindings.len(),
    };
    // SAFETY: as the module says.
    unsafe { put(info, value) };
}

/// An argument of the kernel, sorted by kind and index; false when out of range.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_pipeline_binding(pipeline: HMPipeline, position: usize, binding: *mut HMBinding) -> bool {
    // SAFETY: as the module says.
    let pipeline = unsafe { borrow(pipeline) };
    let Some(found) = pipeline.bindings.get(position) else { return false };
    let value = HMBinding {
        name: found.name.as_ptr(),
        kind: found.kind,
        index: found.index,
        access: found.access,
        data_type: found.data_type,
        data_size: found.data_size,
        alignment: found.alignment,
        pointer: found.pointer,
        used: found.used,
    };
    // SAFETY: as the module says.
    unsafe { put(binding, value) };
    true
}

/// Gives up the caller's reference.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_pipeline_release(pipeline: HMPipeline) {
    // SAFETY: as the module says.
    unsafe { release(pipeline) };
}

/// A command queue.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_queue_create(device: HMDevice, max_command_buffers: usize) -> HMQueue {
    // SAFETY: as the module says.
    let device = unsafe { device_of(device) };
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

/// A command buffer; blocks while the queue has its maximum of uncompleted ones.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_command_buffer_create(queue: HMQueue) -> HMCommandBuffer {
    // SAFETY: as the module says.
    let queue = unsafe { share(queue) };
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
    let result = command_buffer.ok_or(c"an encoder of no command buffer").and_then(open);
    let (handle, text) = match result {
        Ok(encoder) => (give(Arc::new(encoder)), ptr::null()),
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
    let bytes = unsafe { memory(bytes, length) };
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
    let (source, destination) = unsafe { (share(source), share(destination)) };
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
/// `text` is NULL or ends with NUL, and lives as long as the result is used.
unsafe fn text<'a>(text: *const c_char) -> &'a CStr {
    if text.is_null() {
        return c"";
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(text) }
}

/// # Safety
/// `bytes` is NULL or points to `length` bytes, and lives as long as the result is used.
unsafe fn memory<'a>(bytes: *const c_void, length: usize) -> &'a [u8] {
    if bytes.is_null() || length == 0 {
        return &[];
    }
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts(bytes.cast(), length) }
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
