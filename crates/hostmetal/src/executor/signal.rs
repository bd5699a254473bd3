//! What is told of a signal that ended a kernel.

use super::bad_handle;
use super::guard::Signal;
use super::pool::Worker;
use crate::command::ErrorCode;
use crate::encode::{Argument, BYTES, Recording};
use crate::memory::GUARD;

/// The code and the text.
pub(super) fn describe_signal(
    signal: Signal,
    worker: &Worker,
    arguments: &[Argument],
    recording: &Recording,
    place: &str,
) -> (ErrorCode, String) {
    let Signal { number, code, address } = signal;
    match number {
        libc::SIGFPE => (ErrorCode::Internal, format!("Internal Error: integer division by zero or overflow: {place}")),
        libc::SIGILL => (ErrorCode::Internal, format!("Internal Error: a trap or an invalid instruction: {place}")),
        _ if worker.place.overflowed(address).is_some() || worker.record.near_stack(address) => {
            (ErrorCode::StackOverflow, format!("Stack Overflow: a thread used more than its stack: {place}"))
        }
        _ => {
            if let Some(what) = bad_handle(address) {
                let code = "Invalid Resource (00000009:kIOGPUCommandBufferCallbackErrorInvalidResource)";
                return (ErrorCode::InvalidResource, format!("{code}: {what}: {place}"));
            }
            let where_to = nearest(address, arguments, recording);
            // An access to an address that no memory can have (non-canonical) comes without the address.
            let address = if number == libc::SIGSEGV && code == SI_KERNEL {
                "at an invalid address".to_owned()
            } else {
                format!("at address {address:#x}{where_to}")
            };
            (
                ErrorCode::PageFault,
                format!(
                    "Caused GPU Address Fault Error (0000000b:kIOGPUCommandBufferCallbackErrorPageFault): access {address}: \
                     {place}"
                ),
            )
        }
    }
}

/// si_code of a fault that the kernel cannot attribute to an address.
const SI_KERNEL: i32 = 128;
/// How far from a buffer an address may be to be told as an overrun of it.
const NEAR: u64 = GUARD as u64;

/// Words about the buffer argument that an address belongs to or lies next to; "" when there is none.
fn nearest(address: usize, arguments: &[Argument], recording: &Recording) -> String {
    let address = address as u64;
    let mut best: Option<(u64, String)> = None;
    for argument in arguments {
        let Argument::Buffer { index, buffer, .. } = *argument else { continue };
        if buffer == BYTES {
            continue;
        }
        let held = &recording.buffers[buffer as usize];
        let start = held.contents() as u64;
        let end = start + held.length();
        let (distance, words) = if address >= end {
            (address - end, format!("{} bytes past the end of", address - end))
        } else if address < start {
            (start - address, format!("{} bytes before the start of", start - address))
        } else {
            (0, format!("offset {} of", address - start))
        };
        if distance < NEAR && best.as_ref().is_none_or(|(least, _)| distance < *least) {
            best = Some((distance, format!(", {words} buffer({index}) ({} bytes)", held.length())));
        }
    }
    best.map_or(String::new(), |(_, words)| words)
}
