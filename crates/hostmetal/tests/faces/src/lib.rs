//! The cases of native/hostmetal/tests: each tries hostmetal's Metal classes from Objective-C++ and notes what does not hold.

// The classes that the cases use, and the engine behind them.
use hostmetal as _;

use std::ffi::{CStr, c_char};

unsafe extern "C" {
    fn faces_begin() -> u64;
    fn faces_case_name(group: usize, number: usize) -> *const c_char;
    fn faces_case_run(group: usize, number: usize) -> *const c_char;
    fn faces_plant(name: *const c_char) -> bool;
}

/// Cases of the device that there is when nothing else is asked for.
pub const ONE_DEVICE: usize = 0;
/// Cases of three devices, whose limits tests/faces.rs gives them.
pub const SEVERAL_DEVICES: usize = 1;
/// Cases of an environment that asks for what cannot be.
pub const NO_DEVICE: usize = 2;
/// Cases of one device without validation.
pub const UNVALIDATED: usize = 3;
/// Cases of an environment that asks for messages.
pub const LOGGED: usize = 4;
/// Cases of two devices that go and come.
pub const REMOVED_DEVICES: usize = 5;
/// Cases of passes in another order, for which the environment has a seed at first.
pub const OVERLAPPED: usize = 6;

/// Looks for a device, and returns how many libraries the process loaded for it, when no case has run yet.
pub fn begin() -> u64 {
    // SAFETY: takes nothing; cases have not begun.
    unsafe { faces_begin() }
}

/// Name of a case; `None` past the last of its group.
///
/// # Panics
/// When there is no such group.
pub fn name(group: usize, number: usize) -> Option<&'static str> {
    assert!(group <= OVERLAPPED, "no group {group}");
    // SAFETY: the group exists; takes any number.
    let name = unsafe { faces_case_name(group, number) };
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
pub fn run(group: usize, number: usize) -> String {
    assert!(name(group, number).is_some(), "no case {number}");
    // SAFETY: the case exists; one thread runs cases.
    let notes = unsafe { faces_case_run(group, number) };
    // SAFETY: a text that is valid until the next case runs.
    unsafe { CStr::from_ptr(notes) }.to_string_lossy().into_owned()
}

/// Makes a mistake on purpose, for sanitizers to report; false when there is none of that name.
pub fn plant(name: &CStr) -> bool {
    // SAFETY: a text that ends with NUL. What it does is wrong, which is its purpose.
    unsafe { faces_plant(name.as_ptr()) }
}
