//! The C interface: logs.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::Arc;

use super::{HMCommandBuffer, HMLog, borrow, give, put, release, share};
use crate::executor::{LOG_SIZES, Log};

/// HMMessage: called with a context, subsystem and category or NULL, MTLLogLevel, text.
pub type Message = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char, u32, *const c_char);

/// A log; NULL for a wrong size or level, and when memory is out.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_log_create(level: u32, size: u64, out_of_memory: *mut bool) -> HMLog {
    let fits = LOG_SIZES.contains(&size) && (1..=5).contains(&level);
    let log = if fits { Log::new(level, size) } else { None };
    // SAFETY: as the module says.
    unsafe { put(out_of_memory, fits && log.is_none()) };
    log.map_or(HMLog::NULL, |log| give(Arc::new(log)))
}

/// Gives up the caller's reference.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_log_release(log: HMLog) {
    // SAFETY: as the module says.
    unsafe { release(log) };
}

/// Gives a command buffer its log.
///
/// # Safety
/// As the module says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_command_buffer_set_log(command_buffer: HMCommandBuffer, log: HMLog) {
    // SAFETY: as the module says.
    let Some(log) = (unsafe { share(log) }) else { return };
    // SAFETY: as the module says.
    unsafe { borrow(command_buffer) }.set_log(log);
}

/// Gives each message once.
///
/// # Safety
/// As the module says; `function` may be called with `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_log_take(log: HMLog, function: Message, context: *mut c_void) {
    // SAFETY: as the module says.
    for message in unsafe { borrow(log) }.take() {
        let text = |text: &Option<std::ffi::CString>| text.as_deref().map_or(ptr::null(), CStr::as_ptr);
        let (subsystem, category) = (text(&message.subsystem), text(&message.category));
        // SAFETY: as the module says; the texts live during the call.
        unsafe { function(context, subsystem, category, message.level, message.text.as_ptr()) };
    }
}
