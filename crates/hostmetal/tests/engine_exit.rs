//! A process may end at any time: while kernels run, while callbacks wait, with work queued.

mod support;

use std::ffi::c_void;
use std::process::Command;

use hostmetal::executor::{Entry, Group};
use hostmetal::ffi::*;
use support::*;

const CHILD: &str = "HOSTMETAL_TEST_CHILD";

unsafe extern "C" fn endless(_: *const Group) {
    let mut number = 0u32;
    loop {
        number = std::hint::black_box(number.wrapping_add(1));
    }
}

unsafe extern "C" fn block(_: *mut c_void) {
    loop {
        std::thread::park();
    }
}

/// What the child process does before it ends with status 7.
fn child() -> ! {
    let pipeline = Pipeline::new(kernel("endless", Entry::Group(endless), vec![]));
    let queues: Vec<Queue> = (0..3).map(|_| Queue::new()).collect();
    let mut work = Vec::new();
    for queue in &queues {
        for _ in 0..4 {
            let command_buffer = queue.command_buffer();
            command_buffer.compute(|encoder| {
                encoder.pipeline(&pipeline);
                encoder.groups([8, 1, 1], [1, 1, 1]);
            });
            command_buffer.commit();
            work.push(command_buffer);
        }
    }
    let blocked = Queue::new();
    let command_buffer = blocked.command_buffer();
    // SAFETY: the handle is valid; the callback takes nothing.
    ok(unsafe { hm_command_buffer_commit(command_buffer.0, None, Some(block), std::ptr::null_mut()) });
    // And one that waits for an event, one that a host thread waits with.
    let waiting = Queue::new();
    let never = Event::new();
    let parked = waiting.command_buffer();
    parked.wait_for(&never, 1);
    parked.commit();
    // SAFETY: the handle is valid.
    ok(unsafe { hm_command_buffer_wait_scheduled(parked.0) });
    std::thread::spawn(move || never.wait(1, u64::MAX));
    for command_buffer in work.iter().step_by(4) {
        // SAFETY: the handle is valid.
        ok(unsafe { hm_command_buffer_wait_scheduled(command_buffer.0) });
    }
    std::process::exit(7);
}

#[test]
fn a_process_ends_while_kernels_run() {
    if std::env::var_os(CHILD).is_some() {
        child();
    }
    let own = std::env::current_exe().expect("a test has a program");
    for _ in 0..5 {
        let output = Command::new(&own)
            .args(["--exact", "a_process_ends_while_kernels_run", "--nocapture"])
            .env(CHILD, "1")
            .output()
            .expect("the test's own program runs");
        assert_eq!(output.status.code(), Some(7), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

unsafe extern "C" fn nothing(_: *const Group) {}

#[test]
fn a_fault_outside_of_kernels_ends_the_process() {
    if std::env::var_os(CHILD).is_some() {
        // The handlers are installed with the first kernel.
        let pipeline = Pipeline::new(kernel("nothing", Entry::Group(nothing), vec![]));
        Queue::new()
            .run(|encoder| {
                encoder.pipeline(&pipeline);
                encoder.groups([1, 1, 1], [1, 1, 1]);
            })
            .assert_completed();
        // SAFETY: none: this is the fault.
        unsafe { std::ptr::null_mut::<u32>().wrapping_add(4).write_volatile(1) };
        std::process::exit(0);
    }
    let own = std::env::current_exe().expect("a test has a program");
    let output = Command::new(&own)
        .args(["--exact", "a_fault_outside_of_kernels_ends_the_process", "--nocapture"])
        .env(CHILD, "1")
        .output()
        .expect("the test's own program runs");
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
