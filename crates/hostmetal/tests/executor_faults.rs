//! Kernels that do wrong: their command buffer fails with words, and the process and later work go on.
#![allow(clippy::multiple_unsafe_ops_per_block, reason = "kernels and sequences of calls on the same valid handles")]

mod support;

use std::ffi::CStr;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use hostmetal::executor::{Entry, Group, Span, runtime_table};
use hostmetal::ffi::*;
use hostmetal::pipeline::Kernel;
use support::*;

const FAULTED: u32 = 4;
const PENDING: u32 = 3;
const DONE: u32 = 1;

/// Writes element (bytes in buffer 1) of buffer 0, from the thread at x = 5 of threadgroup 2.
unsafe extern "C" fn write_at(called: *const Group) {
    // SAFETY: the executor's group.
    let called = unsafe { group(called) };
    // SAFETY: bound by the test.
    let offset = unsafe { *at::<i64>(called, 1, 0) };
    if called.threadgroup_position_in_grid[0] == 2 {
        let place = called.buffer[0].cast::<u8>().wrapping_offset(offset as isize);
        // SAFETY: none: this is the fault.
        unsafe { place.write_volatile(1) };
    }
}

unsafe extern "C" fn write_at_thread(called: *const Group, x: u32, y: u32, _: u32) {
    // SAFETY: only kernels call this.
    unsafe { (runtime_table().threadgroup_barrier)(0) };
    if x == 5 && y == 1 {
        // SAFETY: the same kernel, of one thread.
        unsafe { write_at(called) };
    }
    // SAFETY: as above.
    unsafe { (runtime_table().threadgroup_barrier)(0) };
}

/// buffer 0 [i] += 1.
unsafe extern "C" fn increment(called: *const Group) {
    // SAFETY: the executor's group.
    let called = unsafe { group(called) };
    for thread in threads(called) {
        // SAFETY: the buffer is as long as the grid.
        let value = unsafe { at::<u32>(called, 0, in_grid(called, thread)[0] as usize) };
        // SAFETY: as above.
        unsafe { *value += 1 };
    }
}

fn increment_pipeline() -> Pipeline {
    Pipeline::new(kernel("increment", Entry::Group(increment), vec![buffer(0, 4)]))
}

/// Runs a correct kernel, to see that workers still can.
fn assert_usable(queue: &Queue) {
    let values = Buffer::new(40_000);
    let pipeline = increment_pipeline();
    queue
        .run(|encoder| {
            encoder.pipeline(&pipeline);
            encoder.buffer(&values, 0);
            encoder.threads([10_000, 1, 1], [100, 1, 1]);
        })
        .assert_completed();
    assert!(values.read::<u32>().iter().all(|&v| v == 1));
}

fn fault(entry: Entry, offset: i64) -> (i64, String) {
    let queue = Queue::new();
    let pipeline = Pipeline::new(kernel("write_at", entry, vec![buffer(0, 1), buffer(1, 8)]));
    let target = Buffer::new(10_000);
    let done = queue.run(|encoder| {
        encoder.pipeline(&pipeline);
        encoder.buffer(&target, 0);
        encoder.bytes(&offset, 1);
        encoder.groups([4, 1, 1], [8, 2, 1]);
    });
    assert_eq!(done.status(), ERROR);
    assert_usable(&queue);
    done.error().expect("an error")
}

#[test]
fn an_overrun_is_a_page_fault_that_names_the_buffer() {
    // 10,000 bytes are three pages of 4096; the guard begins at 12,288 (pages of 4096 bytes).
    let (code, text) = fault(Entry::Group(write_at), 75_636);
    assert_eq!(code, 3, "{text}");
    for words in
        ["PageFault", "\"write_at\"", "threadgroup (2, 0, 0)", "65636 bytes past the end of buffer(0) (10000 bytes)"]
    {
        assert!(text.contains(words), "{words} is not in: {text}");
    }
    let (code, text) = fault(Entry::Group(write_at), -8);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("8 bytes before the start of buffer(0)"), "{text}");
}

#[test]
fn a_fault_of_a_thread_with_a_stack_names_the_thread() {
    let (code, text) = fault(Entry::Thread(write_at_thread), 65_536);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("threadgroup (2, 0, 0), thread (5, 1, 0) of it"), "{text}");
}

/// A fault of a thread: its position, the byte of buffer 0 that it writes, and in which of its runs.
#[repr(C)]
#[derive(Clone, Copy)]
struct Planned {
    thread: [u32; 3],
    /// Bit per run.
    runs: u32,
    offset: i64,
}

/// Its threads do what the plans in buffer 1 say; buffer 2 counts the runs of each plan's thread.
unsafe extern "C" fn faults_as_planned(called: *const Group) {
    // SAFETY: the executor's group.
    let called = unsafe { group(called) };
    for thread in threads(called) {
        for plan in 0..2 {
            // SAFETY: the test binds two plans.
            let planned = unsafe { *at::<Planned>(called, 1, plan) };
            if planned.thread != in_grid(called, thread) {
                continue;
            }
            // SAFETY: the test binds two counts.
            let run = unsafe { &*at::<AtomicU32>(called, 2, plan) }.fetch_add(1, Ordering::Relaxed);
            if planned.runs >> run & 1 != 0 {
                let place = called.buffer[0].cast::<u8>().wrapping_offset(planned.offset as isize);
                // SAFETY: none: this is the fault.
                unsafe { place.write_volatile(1) };
            }
        }
    }
}

#[test]
fn a_fault_in_a_call_for_several_threadgroups_names_the_one() {
    // Two plans for a grid of 40,000 x 6 threads in threadgroups of 4 x 3, and what is told. One worker runs a row of threadgroups in one
    // call, or a part of it: the first 39 at least on 64 processors. The buffer is three pages of 4096 bytes.
    let always = u32::MAX;
    let none = Planned { thread: [0; 3], runs: 0, offset: 0 };
    let at = |x, y, runs, offset| Planned { thread: [x, y, 0], runs, offset };
    let cases = [
        ([at(0, 0, always, 13_000), none], "13000 bytes", "threadgroup (0, 0, 0)"),
        ([at(3, 0, always, 13_000), none], "13000 bytes", "threadgroup (0, 0, 0)"),
        ([at(83, 0, always, 13_000), none], "13000 bytes", "threadgroup (20, 0, 0)"),
        ([at(84, 5, always, 13_000), none], "13000 bytes", "threadgroup (21, 1, 0)"),
        ([at(39_999, 5, always, 13_000), none], "13000 bytes", "threadgroup (9999, 1, 0)"),
        // The first row of threads comes to its fault first when all run together, that of the third when each threadgroup runs alone.
        ([at(90, 0, always, 13_000), at(50, 2, always, 30_000)], "13000 bytes", "threadgroup (22, 0, 0)"),
        // In the same page as that which was met.
        ([at(90, 0, 1, 13_000), at(90, 1, 1, 13_004)], "13004 bytes", "threadgroup (22, 0, 0)"),
        // What does not happen again, or elsewhere, is told as all that is known.
        ([at(90, 0, 1, 13_000), none], "13000 bytes", "one of the threadgroups (0, 0, 0) to ("),
        ([at(90, 0, 1, 13_000), at(91, 0, 1, 30_000)], "13000 bytes", "one of the threadgroups (0, 0, 0) to ("),
        ([at(90, 0, 1, 13_000), at(99, 0, 1, -8)], "13000 bytes", "one of the threadgroups (0, 0, 0) to ("),
    ];
    let queue = Queue::new();
    let bindings = vec![buffer(0, 1), buffer(1, 24), buffer(2, 4)];
    for (plans, offset, place) in cases {
        let code = kernel("planned", Entry::Group(faults_as_planned), bindings.clone());
        // A new one, of which nobody knows how long it takes: work is shared out in as few parts as may be.
        let pipeline = Pipeline::new(Kernel { span: Span::Rows, ..code });
        let (target, plans, runs) = (Buffer::new(3 * 4096), Buffer::of(&plans), Buffer::of(&[0u32; 2]));
        let done = queue.run(|encoder| {
            encoder.pipeline(&pipeline);
            for (index, buffer) in [&target, &plans, &runs].into_iter().enumerate() {
                encoder.buffer(buffer, index);
            }
            encoder.threads([40_000, 6, 1], [4, 3, 1]);
        });
        assert_eq!(done.status(), ERROR);
        let (code, text) = done.error().expect("an error");
        assert_eq!(code, 3, "{text}");
        let past = offset.strip_suffix(" bytes").expect("bytes").parse::<u32>().expect("a number") - 3 * 4096;
        for words in [format!("{past} bytes past the end of buffer(0)"), format!("kernel \"planned\", {place}")] {
            assert!(text.contains(&words), "{words} is not in: {text}");
        }
    }
    assert_usable(&queue);
}

#[test]
fn a_wild_address_is_a_page_fault() {
    let (code, text) = fault(Entry::Group(write_at), i64::MAX / 2);
    assert_eq!(code, 3, "{text}");
    assert!(!text.contains("buffer("), "{text}");
}

/// Faults, and everything after it is not run; what came before is.
#[test]
fn encoders_after_a_fault_do_not_run() {
    let queue = Queue::new();
    let good = increment_pipeline();
    let bad = Pipeline::new(kernel("write_at", Entry::Group(write_at), vec![buffer(0, 1), buffer(1, 8)]));
    let values = Buffer::new(4);
    let command_buffer = queue.command_buffer();
    for number in 0..4 {
        let encoder = command_buffer.encoder(false);
        let label = if number == 1 { c"the bad one" } else { c"a good one" };
        // SAFETY: the handles are valid.
        unsafe { hm_encoder_set_label(encoder.0, label.as_ptr()) };
        // SAFETY: as above.
        unsafe { hm_encoder_insert_signpost(encoder.0, c"first".as_ptr()) };
        encoder.pipeline(&good);
        encoder.buffer(&values, 0);
        encoder.threads([1, 1, 1], [1, 1, 1]);
        // SAFETY: as above.
        unsafe { hm_encoder_insert_signpost(encoder.0, c"second".as_ptr()) };
        if number == 1 {
            encoder.pipeline(&bad);
            encoder.bytes(&(1i64 << 20), 1);
            encoder.threads([3, 1, 1], [1, 1, 1]);
            // SAFETY: as above.
            unsafe { hm_encoder_insert_signpost(encoder.0, c"third".as_ptr()) };
        }
        ok(encoder.end());
    }
    let next = queue.command_buffer();
    next.compute(|encoder| {
        encoder.pipeline(&good);
        encoder.buffer(&values, 0);
        encoder.threads([1, 1, 1], [1, 1, 1]);
    });
    command_buffer.commit();
    next.commit();
    next.wait();
    assert_eq!(command_buffer.status(), ERROR);
    next.assert_completed();
    assert_eq!(command_buffer.encoder_states(), [DONE, FAULTED, PENDING, PENDING]);
    let signposts = [0, 1, 2, 3].map(|index| command_buffer.encoder_info(index).signpost_count);
    assert_eq!(signposts, [2, 2, 0, 0]);
    // SAFETY: the command buffer lives.
    let label = unsafe { CStr::from_ptr(command_buffer.encoder_info(1).label) };
    assert_eq!(label, c"the bad one");
    // SAFETY: as above.
    let signpost = unsafe { CStr::from_ptr(hm_command_buffer_encoder_signpost(command_buffer.0, 1, 1)) };
    assert_eq!(signpost, c"second");
    let (_, text) = command_buffer.error().expect("an error");
    assert!(text.contains("encoder 1 \"the bad one\""), "{text}");
    // Two increments before the fault, one in the next command buffer.
    assert_eq!(values.read::<u32>(), [3]);
}

/// Calls itself as often as said, with a frame that stays.
fn descend(depth: u64) -> u64 {
    let mut frame = [depth; 100];
    std::hint::black_box(&mut frame);
    let below = if depth == 0 { 0 } else { descend(depth - 1) };
    below.wrapping_add(frame[depth as usize % 100])
}

unsafe extern "C" fn overflow_stack(_: *const Group, x: u32, _: u32, _: u32) {
    if x == 3 {
        std::hint::black_box(descend(1 << 40));
    }
}

unsafe extern "C" fn overflow_worker_stack(_: *const Group) {
    std::hint::black_box(descend(1 << 40));
}

#[test]
fn a_stack_overflow_is_told_as_one() {
    let queue = Queue::new();
    for entry in [Entry::Thread(overflow_stack), Entry::Group(overflow_worker_stack)] {
        let pipeline = Pipeline::new(kernel("overflow", entry, vec![]));
        let done = queue.run(|encoder| {
            encoder.pipeline(&pipeline);
            encoder.groups([2, 1, 1], [64, 1, 1]);
        });
        let (code, text) = done.error().expect("an error");
        assert_eq!(code, 12, "{text}");
        if matches!(entry, Entry::Thread(_)) {
            assert!(text.contains("thread (3, 0, 0)"), "{text}");
        }
        assert_usable(&queue);
    }
}

unsafe extern "C" fn trap(_: *const Group) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: none: this is the fault.
    unsafe {
        std::arch::asm!("ud2")
    };
    #[cfg(target_arch = "aarch64")]
    // SAFETY: none: this is the fault.
    unsafe {
        std::arch::asm!("udf #0")
    };
}

#[test]
fn a_trap_is_an_internal_error() {
    let queue = Queue::new();
    let pipeline = Pipeline::new(kernel("trap", Entry::Group(trap), vec![]));
    let done = queue.run(|encoder| {
        encoder.pipeline(&pipeline);
        encoder.groups([1000, 1, 1], [1, 1, 1]);
    });
    let (code, text) = done.error().expect("an error");
    assert_eq!(code, 1);
    assert!(text.contains("trap"), "{text}");
    assert_usable(&queue);
}

unsafe extern "C" fn barrier_in_a_loop(_: *const Group) {
    // SAFETY: none: a kernel like this must not call it.
    unsafe { (runtime_table().threadgroup_barrier)(0) };
}

unsafe extern "C" fn unknown_variable(_: *const Group) {
    // SAFETY: none: the kernel has no such variable.
    unsafe { (runtime_table().threadgroup_allocate)(1, 16, 16) };
}

#[test]
fn runtime_functions_where_they_must_not_be_called_are_named() {
    let queue = Queue::new();
    for (function, words) in [
        (barrier_in_a_loop as unsafe extern "C" fn(*const Group), "threadgroup_barrier was reached"),
        (unknown_variable, "threadgroup variable"),
    ] {
        let pipeline = Pipeline::new(kernel("misuse", Entry::Group(function), vec![]));
        let done = queue.run(|encoder| {
            encoder.pipeline(&pipeline);
            encoder.groups([10, 1, 1], [1, 1, 1]);
        });
        let (code, text) = done.error().expect("an error");
        assert_eq!(code, 1);
        assert!(text.contains(words), "{text}");
        assert_usable(&queue);
    }
}

/// Threadgroup 0 faults once another one spins; the others spin until they are stopped.
unsafe extern "C" fn fault_while_others_run(called: *const Group) {
    // SAFETY: the executor's group.
    let called = unsafe { group(called) };
    if called.threadgroup_position_in_grid[0] == 0 {
        // SAFETY: none: this is the fault.
        unsafe { ptr::null_mut::<u32>().wrapping_add(2).write_volatile(1) };
    }
    // No call: under ThreadSanitizer the signal is to meet the kernel, not the sanitizer.
    loop {
        // SAFETY: nothing.
        unsafe { std::arch::asm!("", options(nomem, nostack)) };
    }
}

/// How often to try. The kernels of this file are instrumented by ThreadSanitizer, which no compiled kernel is: a signal that meets one of them
/// within the sanitizer's own code, while that holds a lock, waits there for ever, as it once did.
fn often(times: usize) -> usize {
    if std::env::var("DCMETAL_SANITIZE").is_ok_and(|sanitizer| sanitizer == "thread") { times / 20 } else { times }
}

#[test]
fn a_fault_stops_the_other_workers_of_the_dispatch() {
    let queue = Queue::new();
    let pipeline = Pipeline::new(kernel("others", Entry::Group(fault_while_others_run), vec![]));
    // Often, because the signals that stop workers meet their faults at every point.
    for _ in 0..often(300) {
        let done = queue.run(|encoder| {
            encoder.pipeline(&pipeline);
            encoder.groups([64, 1, 1], [1, 1, 1]);
        });
        let (code, text) = done.error().expect("an error");
        assert_eq!(code, 3, "{text}");
    }
    assert_usable(&queue);
}

#[test]
fn a_thousand_faults_leave_workers_usable() {
    let queue = Queue::new();
    let pipeline = Pipeline::new(kernel("write_at", Entry::Thread(write_at_thread), vec![buffer(0, 1), buffer(1, 8)]));
    let target = Buffer::new(16);
    for _ in 0..often(1000) {
        let done = queue.run(|encoder| {
            encoder.pipeline(&pipeline);
            encoder.buffer(&target, 0);
            encoder.bytes(&(1i64 << 14), 1);
            encoder.groups([3, 1, 1], [32, 4, 1]);
        });
        assert_eq!(done.error().map(|(code, _)| code), Some(3));
    }
    assert_usable(&queue);
}
