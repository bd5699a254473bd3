//! I/O command buffers whose wait takes too long. HOSTMETAL_WATCHDOG is short in this process; all else is tried by
//! native/hostmetal/tests/io.mm.
#![allow(clippy::multiple_unsafe_ops_per_block, reason = "sequences of calls on the same valid handles")]

use std::ffi::{CStr, CString};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::ptr;

use hostmetal::ffi::*;

/// Far longer than any wait that is to succeed; a minute of a busy machine is no failure.
const LONG: u64 = 120_000;

#[test]
fn a_wait_without_end_fails_and_its_signals_are_made() {
    // SAFETY: the only test of this process; the engine reads its variables when it is used.
    unsafe { std::env::set_var("HOSTMETAL_WATCHDOG", "0.5") };
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(&[7; 100]).expect("a file");
    let path = CString::new(file.path().as_os_str().as_bytes()).expect("a path");
    let mut memory = [0u8; 200];
    // SAFETY: handles are valid until they are released at the end; the memory outlives the command buffer.
    unsafe {
        let device = hm_device_at(0);
        let mut error = HMError::NONE;
        let file = hm_io_file_open(path.as_ptr(), &raw mut error);
        assert!(!file.is_null());
        for serial in [false, true] {
            let (event, done) = (hm_event_create(device, true), hm_event_create(device, true));
            let descriptor = HMIOQueueDescriptor { max_command_buffers: 4, max_commands: 0, serial, priority: 1 };
            let queue = hm_io_queue_create(device, &raw const descriptor);
            let (late, next) = (hm_io_create(queue), hm_io_create(queue));
            assert!(hm_io_load_bytes(late, memory.as_mut_ptr().cast(), 50, file, 0).is_null());
            assert!(hm_io_wait_event(late, event, 1).is_null());
            assert!(hm_io_load_bytes(late, memory.as_mut_ptr().add(50).cast(), 50, file, 0).is_null());
            assert!(hm_io_signal(late, done, 1).is_null());
            assert!(hm_io_load_bytes(next, memory.as_mut_ptr().add(100).cast(), 50, file, 50).is_null());
            for buffer in [late, next] {
                assert!(hm_io_commit(buffer, None, ptr::null_mut()).is_null());
            }
            assert!(hm_event_wait(done, 1, LONG));
            for buffer in [late, next] {
                assert!(hm_io_wait_completed(buffer).is_null());
            }
            assert_eq!([hm_io_status(late), hm_io_status(next)], [2, 3]);
            assert!(!hm_io_error(next, &raw mut error));
            assert!(hm_io_error(late, &raw mut error));
            let text = CStr::from_ptr(error.message).to_string_lossy().into_owned();
            assert!(text.contains("waited longer than 0.5 s") && text.contains("would reach 1"), "{text}");
            hm_string_release(error.message);
            // Whoever signals it now finds nobody.
            hm_event_signal(event, 1);
            assert_eq!(memory.map(|byte| byte == 7), std::array::from_fn(|i| i < 50 || (100..150).contains(&i)));
            memory.fill(0);
            for buffer in [late, next] {
                hm_io_release(buffer);
            }
            for event in [event, done] {
                hm_event_release(event);
            }
            hm_io_queue_release(queue);
        }
        hm_io_file_release(file);
    }
}
