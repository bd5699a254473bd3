//! The C interface: libraries, functions and pipelines.

use std::ffi::{CString, c_char, c_void};
use std::ptr;
use std::sync::Arc;

use super::archive::{path_of, told};
use super::{
    HMArchive, HMDevice, HMDynamic, HMError, HMFunction, HMLibrary, HMPipeline, Handle, borrow, device_of, elements,
    give, hm_string_release, put, release, share, text,
};
use crate::device::SIMD_WIDTH;
use crate::faults::{self, Site};
use crate::library::{
    COMPILE_FAILURE, COMPILE_WARNING, Function, Library, LibraryError, LibraryOptions, PipelineDescriptor, read_dynamic,
};
use crate::msl::{
    Archive, Archives, CompileOptions, ConstantKey, ConstantValue, DataType, Dynamic, Linking, MathMode, Toolchain,
};
use crate::msl::{PLACES, StageAttribute, StageInput, StageLayout};
use crate::pipeline::{Kernel, Pipeline};

/// Compilers that run at a time, at most.
#[unsafe(no_mangle)]
pub extern "C" fn hm_compilers() -> usize {
    crate::msl::compilers()
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
    /// MTLMathFloatingPointFunctions is precise.
    pub precise_functions: bool,
    /// MTLLanguageVersion; 0 for the newest.
    pub language_version: u32,
    /// `macro_count` of them.
    pub macros: *const HMMacro,
    /// Length of `macros`.
    pub macro_count: usize,
    /// Of all kernels of the library; 0 for none.
    pub max_total_threads_per_threadgroup: u64,
    /// Messages of os_log are kept.
    pub enable_logging: bool,
    /// A dynamic library of this name; NULL for any other.
    pub install_name: *const c_char,
    /// MTLCompileSymbolVisibilityHidden.
    pub hidden_symbols: bool,
    /// What nothing defines is not an error.
    pub undefined_symbols: bool,
    /// `library_count` of them, linked with it.
    pub libraries: *const HMDynamic,
    /// Length of `libraries`.
    pub library_count: usize,
    /// Of all kernels of the library; zeros for none.
    pub required_threads_per_threadgroup: [u64; 3],
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
pub(super) unsafe fn give_or<H: Handle>(result: Result<H::Object, HMError>, error: *mut HMError) -> H {
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
pub(super) unsafe fn tell(error: *mut HMError, value: HMError) {
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
    let language_version = language_version(given.language_version)?;
    // SAFETY: `macros` has `macro_count` elements.
    let listed = unsafe { elements(given.macros, given.macro_count) };
    // SAFETY: the texts end with NUL.
    let owned = |part: *const c_char| unsafe { text(part) }.to_string_lossy().into_owned();
    let macros = listed.iter().map(|one| (owned(one.name), owned(one.value))).collect();
    Ok(CompileOptions {
        math_mode,
        precise_functions: given.precise_functions,
        language_version,
        macros,
        logging: given.enable_logging,
    })
}

/// Of an `MTLLanguageVersion`; 0 is the newest.
fn language_version(given: u32) -> Result<(u32, u32), HMError> {
    let refused = |text: &str| Err(HMError::new(COMPILE_FAILURE, text));
    match (given >> 16, given & 0xffff) {
        (0, 0) => Ok(CompileOptions::default().language_version),
        version @ ((1, 1..=2) | (2, 0..=4) | (3, 0..=2) | (4, 0)) => Ok(version),
        (1, 0) => refused("languageVersion: Metal 1.0 is a language of iOS alone; on macOS the first is 1.1"),
        _ => refused(&format!("languageVersion {given} is not a value of MTLLanguageVersion")),
    }
}

/// # Safety
/// As the module says.
pub(super) unsafe fn linked_functions(options: &HMPipelineOptions) -> Vec<Arc<Function>> {
    // SAFETY: as the caller promises.
    let handles = unsafe { elements(options.linked, options.linked_count) };
    // SAFETY: as the caller promises.
    handles.iter().filter_map(|handle| unsafe { share(*handle) }).collect()
}

/// # Safety
/// As the module says.
pub(super) unsafe fn dynamic_libraries(first: *const HMDynamic, count: usize) -> Vec<Arc<Dynamic>> {
    // SAFETY: as the caller promises.
    let handles = unsafe { elements(first, count) };
    // SAFETY: as the caller promises.
    handles.iter().filter_map(|handle| unsafe { share(*handle) }).collect()
}

/// # Safety
/// As the module says; `options` is NULL or valid.
unsafe fn library_options(options: *const HMCompileOptions) -> LibraryOptions {
    // SAFETY: as the caller promises.
    let Some(given) = (unsafe { options.as_ref() }) else { return LibraryOptions::default() };
    // SAFETY: the name ends with NUL.
    let name = (!given.install_name.is_null()).then(|| unsafe { text(given.install_name) });
    LibraryOptions {
        max_threads: given.max_total_threads_per_threadgroup,
        required_threads: given.required_threads_per_threadgroup,
        linking: Linking { hidden: given.hidden_symbols, undefined: given.undefined_symbols },
        // SAFETY: `libraries` has `library_count` elements.
        libraries: unsafe { dynamic_libraries(given.libraries, given.library_count) },
        install_name: name.map(|name| name.to_string_lossy().into_owned()),
    }
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
    let source = unsafe { elements(source.cast::<u8>(), length) };
    // SAFETY: as the module says.
    let of_library = unsafe { library_options(options) };
    let made = match std::str::from_utf8(source) {
        // SAFETY: as the module says.
        Ok(source) => unsafe { compile_options(options) }.and_then(|compile| {
            faults::compile(device, Site::Compile)?;
            Ok(Library::new(device, source, &compile, of_library)?)
        }),
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

/// The dynamic library that a library was compiled as; NULL for any other.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_library_dynamic(library: HMLibrary) -> HMDynamic {
    // SAFETY: as the module says.
    unsafe { borrow(library) }.dynamic().map_or(HMDynamic::NULL, |dynamic| give(dynamic.clone()))
}

/// The dynamic library of a file; NULL with a code of MTLDynamicLibraryError.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_dynamic_read(path: *const c_char, error: *mut HMError) -> HMDynamic {
    // SAFETY: as the module says.
    let path = unsafe { path_of(path) };
    let made = read_dynamic(&path).map_err(|failure| HMError::new(failure.code, &failure.text));
    // SAFETY: as the module says.
    unsafe { give_or(made, error) }
}

/// Writes the file.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_dynamic_write(dynamic: HMDynamic, path: *const c_char, error: *mut HMError) -> bool {
    // SAFETY: as the module says.
    let path = unsafe { path_of(path) };
    // SAFETY: as the module says.
    let written = crate::msl::write_whole(&path, &unsafe { borrow(dynamic) }.encode());
    let result = written.map_err(|why| {
        let text = format!("the dynamic library cannot be written to '{}': {why}", path.display());
        HMError::new(crate::library::INVALID_FILE, &text)
    });
    // SAFETY: as the module says.
    unsafe { told(result, error) }
}

/// The name that others find it by, for hm_string_release.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_dynamic_install_name(dynamic: HMDynamic) -> *mut c_char {
    // SAFETY: as the module says.
    let name = unsafe { borrow(dynamic) }.install_name();
    // It came from C.
    CString::new(name.replace('\0', " ")).unwrap_or_default().into_raw()
}

/// Gives up the caller's reference.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_dynamic_release(dynamic: HMDynamic) {
    // SAFETY: as the module says.
    unsafe { release(dynamic) };
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
    let bytes = unsafe { elements(given.value.cast::<u8>(), size) }.to_vec();
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
    // SAFETY: as the module says.
    let values = unsafe { elements(values, count) };
    // SAFETY: as the module says.
    let constants = values.iter().map(|value| unsafe { constant_value(*value) }).collect::<Result<_, _>>();
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

/// Names what compiles, as a text for `hm_string_release`: another text's code is not to be used. Empty where there is no compiler.
#[unsafe(no_mangle)]
pub extern "C" fn hm_compiler() -> *mut c_char {
    let text = Toolchain::shared().map(|toolchain| toolchain.fingerprint()).unwrap_or_default();
    // Hexadecimal digits have no NUL.
    CString::new(text).unwrap_or_default().into_raw()
}

/// What the kernel does, as a text for `hm_string_release`; NULL with an error.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_function_analysis(function: HMFunction, error: *mut HMError) -> *mut c_char {
    // SAFETY: as the module says.
    let told = unsafe { borrow(function) }.analysis();
    let (text, value) = match told {
        // Names of C++ have no NUL.
        Ok(text) => (CString::new(text).unwrap_or_default().into_raw(), HMError::NONE),
        Err(error) => (ptr::null_mut(), error.into()),
    };
    // SAFETY: as the module says.
    unsafe { tell(error, value) };
    text
}

/// HMPipelineOptions.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HMPipelineOptions {
    /// 0 for no limit besides the kernel's.
    pub max_total_threads_per_threadgroup: u64,
    /// A promise about dispatches.
    pub size_is_multiple_of_execution_width: bool,
    /// What is in no archive is not compiled.
    pub fail_on_archive_miss: bool,
    /// `archive_count` of them, looked into first.
    pub archives: *const HMArchive,
    /// Length of `archives`.
    pub archive_count: usize,
    /// `preloaded_count` of them, looked into before those of the library.
    pub preloaded: *const HMDynamic,
    /// Length of `preloaded`.
    pub preloaded_count: usize,
    /// `linked_count` of them, which define what the sources only declare.
    pub linked: *const HMFunction,
    /// Length of `linked`.
    pub linked_count: usize,
    /// NULL for none.
    pub stage_input: *const HMStageInput,
    /// Zeros for any size.
    pub required_threads_per_threadgroup: [u64; 3],
}

/// HMStageInput: an MTLStageInputOutputDescriptor.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HMStageInput {
    /// By index.
    pub attributes: [HMStageAttribute; PLACES],
    /// By index in the argument table.
    pub layouts: [HMStageLayout; PLACES],
    /// MTLIndexType.
    pub index_type: u32,
    /// In the argument table.
    pub index_buffer: u32,
}

/// HMStageAttribute: an MTLAttributeDescriptor.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HMStageAttribute {
    /// MTLAttributeFormat, 0 for none.
    pub format: u32,
    /// In the argument table.
    pub buffer: u32,
    /// In bytes.
    pub offset: u64,
}

/// HMStageLayout: an MTLBufferLayoutDescriptor.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HMStageLayout {
    /// In bytes.
    pub stride: u64,
    /// Threads per element.
    pub step_rate: u64,
    /// MTLStepFunction.
    pub step_function: u32,
}

/// # Safety
/// `input` is NULL or valid.
pub(super) unsafe fn stage_input(input: *const HMStageInput) -> Option<StageInput> {
    // SAFETY: as the caller promises.
    let HMStageInput { attributes, layouts, index_type, index_buffer } = unsafe { input.as_ref() }?;
    Some(StageInput {
        attributes: attributes.map(|HMStageAttribute { format, buffer, offset }| StageAttribute {
            format,
            buffer,
            offset,
        }),
        layouts: layouts.map(|HMStageLayout { stride, step_rate, step_function }| StageLayout {
            stride,
            step: step_function,
            rate: step_rate,
        }),
        wide_indices: *index_type == 1,
        index_buffer: *index_buffer,
    })
}

/// HMAttribute: an attribute of a kernel's `[[stage_in]]`.
#[repr(C)]
#[derive(Debug)]
pub struct HMAttribute {
    /// Valid while the function lives.
    pub name: *const c_char,
    /// As in the source.
    pub index: u32,
    /// MTLDataType.
    pub data_type: u32,
    /// Not switched off by a function constant.
    pub active: bool,
}

/// An attribute of a function, which is compiled when this is first asked; false when out of range, or when the function does not compile.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_function_attribute(
    function: HMFunction,
    position: usize,
    attribute: *mut HMAttribute,
) -> bool {
    // SAFETY: as the module says.
    let Some((name, info)) = unsafe { borrow(function) }.attributes().get(position) else { return false };
    let value =
        HMAttribute { name: name.as_ptr(), index: info.index, data_type: info.data_type.0, active: info.active };
    // SAFETY: as the module says.
    unsafe { put(attribute, value) };
    true
}

impl Default for HMPipelineOptions {
    fn default() -> Self {
        Self {
            max_total_threads_per_threadgroup: 0,
            size_is_multiple_of_execution_width: false,
            fail_on_archive_miss: false,
            archives: ptr::null(),
            archive_count: 0,
            preloaded: ptr::null(),
            preloaded_count: 0,
            linked: ptr::null(),
            linked_count: 0,
            stage_input: ptr::null(),
            required_threads_per_threadgroup: [0; 3],
        }
    }
}

/// Compiles a function's code; NULL with a code of MTLLibraryError and the compiler's log.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_pipeline_create(
    device: HMDevice,
    function: HMFunction,
    options: *const HMPipelineOptions,
    error: *mut HMError,
) -> HMPipeline {
    // SAFETY: as the module says.
    let device = unsafe { device_of(device) };
    // SAFETY: as the module says.
    let options = unsafe { options.as_ref() }.copied().unwrap_or_default();
    // SAFETY: as the module says.
    let archives = unsafe { elements(options.archives, options.archive_count) };
    // SAFETY: as the module says.
    let search: Vec<&Archive> = archives.iter().map(|archive| unsafe { borrow(*archive) }).collect();
    let archives = Archives { search: &search, only: options.fail_on_archive_miss, into: None };
    // SAFETY: as the module says.
    let preloaded = unsafe { dynamic_libraries(options.preloaded, options.preloaded_count) };
    // SAFETY: as the module says.
    let linked = unsafe { linked_functions(&options) };
    // SAFETY: as the module says.
    let stage_input = unsafe { stage_input(options.stage_input) };
    let descriptor = PipelineDescriptor {
        max_threads: options.max_total_threads_per_threadgroup,
        required_threads: options.required_threads_per_threadgroup,
        whole_simdgroups: options.size_is_multiple_of_execution_width,
        archives,
        preloaded: &preloaded,
        linked: &linked,
        stage_input: stage_input.as_ref(),
    };
    // SAFETY: as the module says.
    let made = match unsafe { share(function) } {
        Some(function) => faults::compile(device, Site::Pipeline)
            .and_then(|()| function.pipeline(device, &descriptor))
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
    /// Bytes; 0 where there is no imageblock.
    pub imageblock_pixel_length: u64,
    /// For hm_pipeline_binding.
    pub binding_count: usize,
    /// Zeros where any size will do.
    pub required_threads_per_threadgroup: [u64; 3],
}

/// HMBinding.
#[repr(C)]
#[derive(Debug)]
pub struct HMBinding {
    /// Valid while the pipeline lives.
    pub name: *const c_char,
    /// MTLBindingType.
    pub kind: u32,
    /// In the argument table of its kind.
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
    /// MTLTextureType of a texture.
    pub texture_type: u32,
    /// Places of the argument table, more than 1 for an array.
    pub count: u32,
    /// The kernel names it; else its `[[stage_in]]` is read from it.
    pub argument: bool,
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
        imageblock_pixel_length: pipeline.imageblock().map_or(0, |binding| binding.data_size),
        binding_count: pipeline.bindings.len(),
        required_threads_per_threadgroup: pipeline.required_threads.map_or([0; 3], |size| size.map(u64::from)),
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
        texture_type: found.texture_type,
        count: found.count,
        argument: found.argument,
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
    if !pipeline.is_null() {
        // SAFETY: as the module says.
        unsafe { borrow(pipeline) }.let_go.set();
    }
    // SAFETY: as the module says.
    unsafe { release(pipeline) };
}
