//! The C interface: visible functions and their tables.

use super::compile::{HMPipelineOptions, dynamic_libraries, give_or, linked_functions};
use super::{
    HMBuffer, HMDevice, HMEncoder, HMError, HMFunction, HMFunctionTable, HMLibrary, HMPipeline, HMVisible, answer,
    borrow, device_of, elements, give, put, release, share, text,
};
use crate::faults::{self, Site, refuses};
use crate::functions::FunctionTable;
use crate::library::{COMPILE_FAILURE, PipelineDescriptor};
use crate::msl::{Archive, Archives};
use std::ffi::c_char;
use std::ptr;
use std::sync::Arc;

/// Whether a library's function is a visible one, and no kernel.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_library_function_visible(library: HMLibrary, function: *const c_char) -> bool {
    // SAFETY: as the module above says.
    let function = unsafe { text(function) };
    // SAFETY: as the module above says.
    unsafe { borrow(library) }.is_visible(&function.to_string_lossy())
}

/// Compiles a visible function; of the options the archives and libraries are looked at. NULL with a code of MTLLibraryError and
/// the compiler's log.
///
/// # Safety
/// As the module above says; `options` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_visible_create(
    device: HMDevice,
    function: HMFunction,
    options: *const HMPipelineOptions,
    error: *mut HMError,
) -> HMVisible {
    // SAFETY: as the module above says.
    let device = unsafe { device_of(device) };
    // SAFETY: as the module above says.
    let options = unsafe { options.as_ref() }.copied().unwrap_or_default();
    // SAFETY: as the module above says.
    let archives = unsafe { elements(options.archives, options.archive_count) };
    // SAFETY: as the module above says.
    let search: Vec<&Archive> = archives.iter().map(|archive| unsafe { borrow(*archive) }).collect();
    // SAFETY: as the module above says.
    let preloaded = unsafe { dynamic_libraries(options.preloaded, options.preloaded_count) };
    // SAFETY: as the module above says.
    let linked = unsafe { linked_functions(&options) };
    let descriptor = PipelineDescriptor {
        archives: Archives { search: &search, only: options.fail_on_archive_miss, into: None },
        preloaded: &preloaded,
        linked: &linked,
        ..PipelineDescriptor::default()
    };
    // SAFETY: as the module above says.
    let made = match unsafe { share(function) } {
        Some(function) => faults::compile(device, Site::Pipeline)
            .and_then(|()| function.visible(device, &descriptor))
            .map_err(HMError::from),
        None => Err(HMError::new(COMPILE_FAILURE, "a pipeline of no function")),
    };
    // SAFETY: as the module above says.
    unsafe { give_or(made, error) }
}

/// Gives up the caller's reference.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_visible_release(function: HMVisible) {
    // SAFETY: as the module above says.
    unsafe { release(function) };
}

/// Another reference.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_pipeline_retain(pipeline: HMPipeline) -> HMPipeline {
    // SAFETY: as the module above says.
    let shared = unsafe { share(pipeline) };
    shared.map_or(HMPipeline::NULL, |pipeline| {
        pipeline.let_go.keep();
        give(pipeline)
    })
}

/// A table without functions; NULL with *misuse set for a wrong count, NULL without when memory is out.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_function_table_create(
    device: HMDevice,
    count: u64,
    misuse: *mut *const c_char,
) -> HMFunctionTable {
    // SAFETY: as the module above says.
    let device = unsafe { device_of(device) };
    let made = if refuses(device, Site::Buffer) { Ok(None) } else { FunctionTable::new(device, count) };
    let (handle, text) = match made {
        Ok(table) => (table.map_or(HMFunctionTable::NULL, |table| give(Arc::new(table))), ptr::null()),
        Err(text) => (HMFunctionTable::NULL, text.as_ptr()),
    };
    // SAFETY: as the module above says.
    unsafe { put(misuse, text) };
    handle
}

/// Puts a function, or none, in a place.
///
/// # Safety
/// As the module above says; `function` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_function_table_set(
    table: HMFunctionTable,
    function: HMVisible,
    index: u64,
) -> *const c_char {
    // SAFETY: as the module above says.
    let function = unsafe { share(function) };
    // SAFETY: as the module above says.
    answer(unsafe { borrow(table) }.set(function, index))
}

/// What stands for it in argument buffers.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_function_table_handle(table: HMFunctionTable) -> u64 {
    // SAFETY: as the module above says.
    unsafe { borrow(table) }.handle()
}

/// Its memory: no reference, valid while the table lives.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_function_table_memory(table: HMFunctionTable) -> HMBuffer {
    // SAFETY: as the module above says.
    let memory = &unsafe { borrow(table) }.memory;
    super::Handle::from_raw(Arc::as_ptr(memory).cast())
}

/// Gives up the caller's reference.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_function_table_release(table: HMFunctionTable) {
    // SAFETY: as the module above says.
    unsafe { release(table) };
}

/// Binds a table at a buffer's index, or nothing.
///
/// # Safety
/// As the module above says; `table` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_compute_set_functions(
    encoder: HMEncoder,
    table: HMFunctionTable,
    index: usize,
) -> *const c_char {
    // SAFETY: as the module above says.
    let table = unsafe { share(table) };
    // SAFETY: as the module above says.
    answer(unsafe { borrow(encoder) }.set_functions(table, index))
}
