//! The C interface: what shall fail on purpose.

use std::ffi::c_char;

use super::compile::tell;
use super::{HMDevice, HMError, device_of, put, text};
use crate::faults::{self, Site};

/// Replaces all rules; false with the error's text, and without a change, when they mean nothing.
///
/// # Safety
/// As the module above says; `error` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_faults_set(rules: *const c_char, error: *mut HMError) -> bool {
    // SAFETY: as the module above says.
    let rules = unsafe { text(rules) }.to_string_lossy();
    let set = faults::set(&rules);
    let right = set.is_ok();
    // SAFETY: as the module above says.
    unsafe { tell(error, set.map_or_else(|why| HMError::new(0, &why), |()| HMError::NONE)) };
    right
}

/// Whether a sampler is not made, of which there is nothing else in the engine.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_faults_refuse_sampler(device: HMDevice) -> bool {
    // SAFETY: as the module above says.
    faults::refuses(unsafe { device_of(device) }, Site::Sampler)
}

/// How many calls of a site there were, and how many of them failed or were slow on purpose; false when there is no such site.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_faults_count(site: *const c_char, events: *mut u64, injected: *mut u64) -> bool {
    // SAFETY: as the module above says.
    let Some(counts) = faults::counts(&unsafe { text(site) }.to_string_lossy()) else { return false };
    // SAFETY: as the module above says.
    unsafe { put(events, counts.events) };
    // SAFETY: as the module above says.
    unsafe { put(injected, counts.injected) };
    true
}
