//! The C interface of the translator: the functions of `include/clmsl.h`, which says what each does.
//!
//! Strings are made NUL-terminated once, when a translation is done, so that reading them allocates nothing. A panic of the
//! translator ends here as `CLMSL_INTERNAL`.

use std::any::Any;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use clmsl::{IncludeRequest, Included, Options, Severity, Translation};

/// `CLMSL_ABI_VERSION`
const ABI_VERSION: u32 = 1;

/// `clmsl_status`
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// `CLMSL_OK`
    Ok = 0,
    /// `CLMSL_INVALID_ARGUMENT`
    InvalidArgument = 1,
    /// `CLMSL_NOT_UTF8`
    NotUtf8 = 2,
    /// `CLMSL_BAD_OPTION`
    BadOption = 3,
    /// `CLMSL_INTERNAL`
    Internal = 4,
}

/// `clmsl_included`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CIncluded {
    /// Null for the path as written.
    pub name: *const c_char,
    /// The text.
    pub text: *const c_char,
    /// Its bytes.
    pub length: usize,
}

/// `clmsl_include`
pub type Include = unsafe extern "C" fn(*mut c_void, *const c_char, c_int, *const c_char, *mut CIncluded) -> c_int;

/// How included files are found.
#[derive(Clone, Copy)]
enum Files {
    None,
    System,
    Callback(Include, *mut c_void),
}

/// `clmsl_options`
pub struct COptions {
    options: Options<'static>,
    include_dirs: Vec<PathBuf>,
    files: Files,
}

/// One diagnostic as C reads it.
struct Message {
    severity: Severity,
    line: u32,
    column: u32,
    file: CString,
    message: CString,
    rendered: CString,
}

/// `clmsl_translation`
pub struct CTranslation {
    msl: Option<CString>,
    reflection: CString,
    diagnostics: Vec<Message>,
}

/// `clmsl_diagnostic`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CDiagnostic {
    /// 0 for an error, 1 for a warning.
    pub severity: u32,
    /// From 1.
    pub line: u32,
    /// From 1, in bytes.
    pub column: u32,
    /// 0
    pub reserved: u32,
    /// The file's name.
    pub file: *const c_char,
    /// One sentence.
    pub message: *const c_char,
    /// As a compiler prints it.
    pub rendered: *const c_char,
}

/// See `clmsl.h`.
#[unsafe(no_mangle)]
pub extern "C" fn clmsl_abi_version() -> u32 {
    ABI_VERSION
}

/// See `clmsl.h`.
///
/// # Safety
/// `build_options` is null or a string; `options` is null or writable; `message` is null or has `capacity` writable bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clmsl_options_create(
    build_options: *const c_char,
    options: *mut *mut COptions,
    message: *mut c_char,
    capacity: usize,
) -> Status {
    if options.is_null() {
        return Status::InvalidArgument;
    }
    // SAFETY: the caller gives a writable place.
    unsafe { options.write(std::ptr::null_mut()) };
    // SAFETY: the caller gives null or a string.
    let text = match unsafe { optional_text(build_options) } {
        Ok(text) => text.unwrap_or(""),
        Err(status) => return status,
    };
    match guarded(|| Options::parse_build_options(text)) {
        Ok(Ok(build)) => {
            let include_dirs = build.include_dirs.iter().map(PathBuf::from).collect();
            let made = Box::new(COptions { options: build.options, include_dirs, files: Files::None });
            // SAFETY: as above.
            unsafe { options.write(Box::into_raw(made)) };
            Status::Ok
        }
        Ok(Err(error)) => {
            // SAFETY: the caller gives null or this many bytes.
            unsafe { copy_cut(&error.to_string(), message, capacity) };
            Status::BadOption
        }
        Err(status) => status,
    }
}

/// See `clmsl.h`.
///
/// # Safety
/// `options` is null or came from `clmsl_options_create` and was not released.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clmsl_options_release(options: *mut COptions) {
    if !options.is_null() {
        // SAFETY: it came from Box::into_raw, and the caller releases it once.
        drop(unsafe { Box::from_raw(options) });
    }
}

/// See `clmsl.h`.
///
/// # Safety
/// `options` is null or alive and used by no other thread; `name` and `value` are null or strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clmsl_options_define(
    options: *mut COptions,
    name: *const c_char,
    value: *const c_char,
) -> Status {
    // SAFETY: the caller gives null or an object that is its own.
    let Some(options) = (unsafe { options.as_mut() }) else { return Status::InvalidArgument };
    // SAFETY: the caller gives null or a string.
    let name = unsafe { optional_text(name) };
    // SAFETY: as above.
    let value = unsafe { optional_text(value) };
    match (name, value) {
        (Ok(Some(name)), Ok(value)) => {
            options.options.defines.push((name.to_owned(), value.unwrap_or("1").to_owned()));
            Status::Ok
        }
        (Ok(None), _) => Status::InvalidArgument,
        (Err(status), _) | (_, Err(status)) => status,
    }
}

/// See `clmsl.h`.
///
/// # Safety
/// `options` is null or alive and used by no other thread; `include` keeps to its description for as long as they are used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clmsl_options_set_include(
    options: *mut COptions,
    include: Option<Include>,
    user: *mut c_void,
) -> Status {
    // SAFETY: the caller gives null or an object that is its own.
    let (Some(options), Some(include)) = (unsafe { options.as_mut() }, include) else {
        return Status::InvalidArgument;
    };
    options.files = Files::Callback(include, user);
    Status::Ok
}

/// See `clmsl.h`.
///
/// # Safety
/// `options` is null or alive and used by no other thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clmsl_options_read_files(options: *mut COptions) -> Status {
    // SAFETY: the caller gives null or an object that is its own.
    let Some(options) = (unsafe { options.as_mut() }) else { return Status::InvalidArgument };
    options.files = Files::System;
    Status::Ok
}

/// See `clmsl.h`.
///
/// # Safety
/// `name` is null or a string; `source` is null or has `length` readable bytes; `options` is null or alive and not changed
/// meanwhile; `translation` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clmsl_translate(
    name: *const c_char,
    source: *const c_char,
    length: usize,
    options: *const COptions,
    translation: *mut *mut CTranslation,
) -> Status {
    if translation.is_null() {
        return Status::InvalidArgument;
    }
    // SAFETY: the caller gives a writable place.
    unsafe { translation.write(std::ptr::null_mut()) };
    // SAFETY: the caller gives null or a string.
    let name = match unsafe { optional_text(name) } {
        Ok(Some(name)) => name,
        Ok(None) => return Status::InvalidArgument,
        Err(status) => return status,
    };
    if source.is_null() {
        return Status::InvalidArgument;
    }
    // SAFETY: the caller gives this many bytes.
    let bytes = unsafe { std::slice::from_raw_parts(source.cast::<u8>(), length) };
    let Ok(source) = std::str::from_utf8(bytes) else { return Status::NotUtf8 };
    // SAFETY: the caller gives null or a living object.
    let options = unsafe { options.as_ref() };
    match guarded(|| c_translation(&translate(name, source, options))) {
        Ok(made) => {
            // SAFETY: as above.
            unsafe { translation.write(Box::into_raw(Box::new(made))) };
            Status::Ok
        }
        Err(status) => status,
    }
}

/// See `clmsl.h`.
///
/// # Safety
/// `translation` is null or came from `clmsl_translate` and was not released.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clmsl_translation_release(translation: *mut CTranslation) {
    if !translation.is_null() {
        // SAFETY: it came from Box::into_raw, and the caller releases it once.
        drop(unsafe { Box::from_raw(translation) });
    }
}

/// See `clmsl.h`.
///
/// # Safety
/// `translation` is null or alive; `length` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clmsl_translation_msl(translation: *const CTranslation, length: *mut usize) -> *const c_char {
    // SAFETY: the caller gives null or a living object.
    let text = unsafe { translation.as_ref() }.and_then(|translation| translation.msl.as_ref());
    // SAFETY: the caller gives null or a writable place.
    unsafe { give(text, length) }
}

/// See `clmsl.h`.
///
/// # Safety
/// `translation` is null or alive; `length` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clmsl_translation_reflection(
    translation: *const CTranslation,
    length: *mut usize,
) -> *const c_char {
    // SAFETY: the caller gives null or a living object.
    let text = unsafe { translation.as_ref() }.map(|translation| &translation.reflection);
    // SAFETY: the caller gives null or a writable place.
    unsafe { give(text, length) }
}

/// See `clmsl.h`.
///
/// # Safety
/// `translation` is null or alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clmsl_translation_diagnostic_count(translation: *const CTranslation) -> usize {
    // SAFETY: the caller gives null or a living object.
    unsafe { translation.as_ref() }.map_or(0, |translation| translation.diagnostics.len())
}

/// See `clmsl.h`.
///
/// # Safety
/// `translation` is null or alive; `diagnostic` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clmsl_translation_diagnostic(
    translation: *const CTranslation,
    index: usize,
    diagnostic: *mut CDiagnostic,
) -> Status {
    // SAFETY: the caller gives null or a living object.
    let found = unsafe { translation.as_ref() }.and_then(|translation| translation.diagnostics.get(index));
    let (Some(found), false) = (found, diagnostic.is_null()) else { return Status::InvalidArgument };
    let value = CDiagnostic {
        severity: u32::from(found.severity != Severity::Error),
        line: found.line,
        column: found.column,
        reserved: 0,
        file: found.file.as_ptr(),
        message: found.message.as_ptr(),
        rendered: found.rendered.as_ptr(),
    };
    // SAFETY: the caller gives a writable place.
    unsafe { diagnostic.write(value) };
    Status::Ok
}

/// Runs `work`; a panic is a defect of the translator and must not cross into C.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, Status> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_: Box<dyn Any + Send>| Status::Internal)
}

fn translate(name: &str, source: &str, options: Option<&COptions>) -> Translation {
    let Some(options) = options else { return clmsl::translate(name, source, &Options::default()) };
    let include = |request: &IncludeRequest<'_>| find(options, request);
    let include: Option<clmsl::IncludeCallback<'_>> = match options.files {
        Files::None => None,
        Files::System | Files::Callback(..) => Some(&include),
    };
    clmsl::translate(name, source, &Options { include, ..options.options.clone() })
}

fn find(options: &COptions, request: &IncludeRequest<'_>) -> Option<Included> {
    match options.files {
        Files::None => None,
        Files::System => {
            let beside = Path::new(request.from).parent().filter(|_| !request.angled);
            let folders = beside.into_iter().chain(options.include_dirs.iter().map(PathBuf::as_path));
            // A file that is there and cannot be read ends the search: another of its name is not what was meant.
            let path = folders.map(|folder| folder.join(request.path)).find(|path| path.exists())?;
            let text = std::fs::read_to_string(&path).ok()?;
            Some(Included { name: path.display().to_string(), text })
        }
        Files::Callback(include, user) => ask(include, user, request),
    }
}

/// Asks the caller's function for a file.
fn ask(include: Include, user: *mut c_void, request: &IncludeRequest<'_>) -> Option<Included> {
    let path = CString::new(request.path).ok()?;
    let from = CString::new(request.from).ok()?;
    let mut found = CIncluded { name: std::ptr::null(), text: std::ptr::null(), length: 0 };
    // SAFETY: the strings end with a NUL and live on; the caller promised a function that keeps to its description.
    let answer = unsafe { include(user, path.as_ptr(), c_int::from(request.angled), from.as_ptr(), &mut found) };
    if answer == 0 || found.text.is_null() {
        return None;
    }
    // SAFETY: the function filled in a text of this length that is valid until it is called again.
    let text = unsafe { std::slice::from_raw_parts(found.text.cast::<u8>(), found.length) };
    // SAFETY: it filled in null or a string, valid as long.
    let name = unsafe { optional_text(found.name) }.ok()?;
    Some(Included { name: name.unwrap_or(request.path).to_owned(), text: std::str::from_utf8(text).ok()?.to_owned() })
}

fn c_translation(translation: &Translation) -> CTranslation {
    let sources = &translation.sources;
    let diagnostics = translation.diagnostics.iter().map(|diagnostic| {
        let place = sources.location(diagnostic.span);
        Message {
            severity: diagnostic.severity,
            line: place.line,
            column: place.column,
            file: c_string(&place.file),
            message: c_string(&diagnostic.message),
            rendered: c_string(&sources.render(diagnostic)),
        }
    });
    let diagnostics = diagnostics.collect();
    let reflection =
        serde_json::to_string(&translation.reflection).expect("it has string keys and finite numbers only");
    CTranslation { msl: translation.msl.as_deref().map(c_string), reflection: c_string(&reflection), diagnostics }
}

/// The text up to its first NUL, which only a message about a NUL in the source could hold.
fn c_string(text: &str) -> CString {
    let whole = text.split('\0').next().unwrap_or_default();
    CString::new(whole).expect("it ends before the first NUL")
}

/// # Safety
/// `text` is null or a string.
unsafe fn optional_text<'a>(text: *const c_char) -> Result<Option<&'a str>, Status> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller gives a string.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map(Some).map_err(|_| Status::NotUtf8)
}

/// # Safety
/// `length` is null or writable.
unsafe fn give(text: Option<&CString>, length: *mut usize) -> *const c_char {
    if !length.is_null() {
        // SAFETY: the caller gives a writable place.
        unsafe { length.write(text.map_or(0, |text| text.count_bytes())) };
    }
    text.map_or(std::ptr::null(), |text| text.as_ptr())
}

/// Copies as many whole characters as fit before a NUL.
///
/// # Safety
/// `to` is null or has `capacity` writable bytes.
unsafe fn copy_cut(text: &str, to: *mut c_char, capacity: usize) {
    if to.is_null() || capacity == 0 {
        return;
    }
    let mut length = text.len().min(capacity - 1);
    while !text.is_char_boundary(length) {
        length -= 1;
    }
    // SAFETY: length + 1 <= capacity, and a caller's buffer does not overlap the message.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), to.cast::<u8>(), length) };
    // SAFETY: length < capacity.
    let end = unsafe { to.add(length) };
    // SAFETY: as above.
    unsafe { end.write(0) };
}
