//! The cases of native/hostmetal/tests: each tries hostmetal's Metal classes from Objective-C++ and notes what does not hold.

// The classes that the cases use, and the engine behind them.
use hostmetal as _;

use std::ffi::{CStr, c_char};

unsafe extern "C" {
    fn faces_case_name(number: usize) -> *const c_char;
    fn faces_case_run(number: usize) -> *const c_char;
    fn faces_plant(name: *const c_char) -> bool;
}

/// Name of a case; `None` past the last.
pub fn name(number: usize) -> Option<&'static str> {
    // SAFETY: takes any number.
    let name = unsafe { faces_case_name(number) };
    if name.is_null() {
        return None;
    }
    // SAFETY: a literal of the case table.
    Some(unsafe { CStr::from_ptr(name) }.to_str().expect("the names of cases are ASCII"))
}

/// Runs a case and returns what did not hold, empty when everything did.
///
/// # Panics
/// When there is no case of that number.
pub fn run(number: usize) -> String {
    assert!(name(number).is_some(), "no case {number}");
    // SAFETY: the case exists; one thread runs cases.
    let notes = unsafe { faces_case_run(number) };
    // SAFETY: a text that is valid until the next case runs.
    unsafe { CStr::from_ptr(notes) }.to_string_lossy().into_owned()
}

/// Makes a mistake on purpose, for sanitizers to report; false when there is none of that name.
pub fn plant(name: &CStr) -> bool {
    // SAFETY: a text that ends with NUL. What it does is wrong, which is its purpose.
    unsafe { faces_plant(name.as_ptr()) }
}
