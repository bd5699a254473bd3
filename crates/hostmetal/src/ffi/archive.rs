//! The C interface: binary archives.

use std::ffi::{OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

use super::compile::{HMPipelineOptions, give_or};
use super::{HMArchive, HMDevice, HMError, HMFunction, borrow, device_of, give, put, release, share, text};
use crate::faults::{self, Site};
use crate::library::PipelineDescriptor;
use crate::msl::{Archive, Archives};

/// MTLBinaryArchiveError.
pub(crate) const INVALID_FILE: i64 = 1;
pub(crate) const COMPILATION_FAILURE: i64 = 3;
pub(crate) const INTERNAL_ERROR: i64 = 4;

/// # Safety
/// `path` is NULL or ends with NUL.
pub(super) unsafe fn path_of(path: *const c_char) -> PathBuf {
    // SAFETY: as the caller promises.
    PathBuf::from(OsStr::from_bytes(unsafe { text(path) }.to_bytes()))
}

/// # Safety
/// `error` is NULL or valid for writes.
pub(super) unsafe fn told(result: Result<(), HMError>, error: *mut HMError) -> bool {
    let done = result.is_ok();
    let value = result.err().unwrap_or(HMError::NONE);
    if error.is_null() {
        // SAFETY: the text was made a moment ago.
        unsafe { super::hm_string_release(value.message) };
    } else {
        // SAFETY: as the caller promises.
        unsafe { put(error, value) };
    }
    done
}

/// Whether a call of an archive's fails on purpose, with a code of MTLBinaryArchiveError.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_archive_fails(device: HMDevice, error: *mut HMError) -> bool {
    // SAFETY: as the module says.
    let fate = faults::compile(unsafe { device_of(device) }, Site::Archive);
    // SAFETY: as the module says.
    !unsafe { told(fate.map_err(HMError::from), error) }
}

/// An empty archive.
#[unsafe(no_mangle)]
pub extern "C" fn hm_archive_create() -> HMArchive {
    give(Arc::new(Archive::default()))
}

/// The archive of a file; NULL with a code of MTLBinaryArchiveError.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_archive_read(path: *const c_char, error: *mut HMError) -> HMArchive {
    // SAFETY: as the module says.
    let path = unsafe { path_of(path) };
    let invalid = |why: &str| {
        HMError::new(INVALID_FILE, &format!("'{}' cannot be used as a binary archive: {why}", path.display()))
    };
    let made = match std::fs::read(&path) {
        Ok(bytes) => Archive::decode(&bytes)
            .ok_or_else(|| invalid("it is damaged, or was not written by this version of hostmetal")),
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => Err(invalid(&why.to_string())),
        // It says nothing of the file.
        Err(why) => Err(HMError::new(INTERNAL_ERROR, &format!("'{}' cannot be read: {why}", path.display()))),
    };
    // SAFETY: as the module says.
    unsafe { give_or(made, error) }
}

/// Compiles a function's code, unless it is there, and keeps it.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_archive_add(
    archive: HMArchive,
    device: HMDevice,
    function: HMFunction,
    options: *const HMPipelineOptions,
    error: *mut HMError,
) -> bool {
    // SAFETY: as the module says.
    let device = unsafe { device_of(device) };
    // SAFETY: as the module says.
    let into = unsafe { borrow(archive) };
    // SAFETY: as the module says.
    let options = unsafe { options.as_ref() }.copied().unwrap_or_default();
    // SAFETY: as the module says.
    let preloaded = unsafe { super::compile::dynamic_libraries(options.preloaded, options.preloaded_count) };
    // SAFETY: as the module says.
    let linked = unsafe { super::compile::linked_functions(&options) };
    // SAFETY: as the module says.
    let stage_input = unsafe { super::compile::stage_input(options.stage_input) };
    // What is there already is taken from there.
    let archives = Archives { search: &[into], only: false, into: Some(into) };
    // SAFETY: as the module says.
    let added = unsafe { share(function) }.map(|function| {
        let descriptor = PipelineDescriptor {
            max_threads: options.max_total_threads_per_threadgroup,
            required_threads: options.required_threads_per_threadgroup,
            whole_simdgroups: options.size_is_multiple_of_execution_width,
            archives,
            preloaded: &preloaded,
            linked: &linked,
            stage_input: stage_input.as_ref(),
        };
        match function.is_visible() {
            true => function.visible(device, &descriptor).map(drop),
            false => function.pipeline(device, &descriptor).map(drop),
        }
    });
    let result = match added {
        Some(Ok(())) => Ok(()),
        Some(Err(failure)) => Err(HMError::new(COMPILATION_FAILURE, &failure.text)),
        None => Err(HMError::new(COMPILATION_FAILURE, "a pipeline of no function")),
    };
    // SAFETY: as the module says.
    unsafe { told(result, error) }
}

/// Writes the file.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_archive_write(archive: HMArchive, path: *const c_char, error: *mut HMError) -> bool {
    // SAFETY: as the module says.
    let path = unsafe { path_of(path) };
    // SAFETY: as the module says.
    let written = unsafe { borrow(archive) }.write(&path);
    let result = written.map_err(|why| {
        HMError::new(INTERNAL_ERROR, &format!("the binary archive cannot be written to '{}': {why}", path.display()))
    });
    // SAFETY: as the module says.
    unsafe { told(result, error) }
}

/// Gives up the caller's reference.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_archive_release(archive: HMArchive) {
    // SAFETY: as the module says.
    unsafe { release(archive) };
}
