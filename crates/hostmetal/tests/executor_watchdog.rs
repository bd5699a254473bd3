//! Kernels that do not end: the watchdog ends their command buffer. HOSTMETAL_WATCHDOG is short in this process.
#![allow(clippy::multiple_unsafe_ops_per_block, reason = "kernels and sequences of calls on the same valid handles")]

mod support;

use std::sync::Once;

use hostmetal::executor::{Entry, Group, runtime_table};
use support::*;

fn queue() -> Queue {
    static LIMIT: Once = Once::new();
    LIMIT.call_once(|| {
        // SAFETY: the engine reads its variables when the first queue runs, which is after this; nothing else reads them.
        unsafe { std::env::set_var("HOSTMETAL_WATCHDOG", "0.5") };
        // Two threads at least, so that helpers are stopped too.
        // SAFETY: as above.
        unsafe { std::env::set_var("HOSTMETAL_THREADS", "3") };
    });
    Queue::new()
}

unsafe extern "C" fn endless(_: *const Group) {
    let mut number = 0u32;
    loop {
        number = std::hint::black_box(number.wrapping_add(1));
    }
}

unsafe extern "C" fn endless_thread(_: *const Group, x: u32, _: u32, _: u32) {
    // SAFETY: only kernels call this.
    unsafe { (runtime_table().threadgroup_barrier)(0) };
    let mut number = 0u32;
    while std::hint::black_box(x) == 17 {
        number = std::hint::black_box(number.wrapping_add(1));
    }
    // SAFETY: as above.
    unsafe { (runtime_table().threadgroup_barrier)(0) };
}

unsafe extern "C" fn endless_barriers(_: *const Group, _: u32, _: u32, _: u32) {
    loop {
        // SAFETY: only kernels call this.
        unsafe { (runtime_table().threadgroup_barrier)(0) };
    }
}

unsafe extern "C" fn store(called: *const Group) {
    // SAFETY: the executor's group; the buffer has an element.
    unsafe { *at::<u32>(group(called), 0, 0) = 5 };
}

/// Many short dispatches that take too long together.
unsafe extern "C" fn short(_: *const Group) {
    for number in 0..20_000u32 {
        std::hint::black_box(number);
    }
}

#[test]
fn kernels_that_do_not_end_time_out() {
    let queue = queue();
    let cases = [
        ("endless", Entry::Group(endless), 1),
        ("endless", Entry::Group(endless), 64),
        ("endless_thread", Entry::Thread(endless_thread), 1),
        ("endless_thread", Entry::Thread(endless_thread), 64),
        ("endless_barriers", Entry::Thread(endless_barriers), 8),
    ];
    let good = Pipeline::new(kernel("store", Entry::Group(store), vec![buffer(0, 4)]));
    for round in 0..2 {
        for (name, entry, groups) in cases {
            let pipeline = Pipeline::new(kernel(name, entry, vec![]));
            let value = Buffer::new(4);
            let bad = queue.command_buffer();
            bad.compute(|encoder| {
                encoder.pipeline(&pipeline);
                encoder.groups([groups, 1, 1], [32, 1, 1]);
                encoder.pipeline(&good);
                encoder.buffer(&value, 0);
                encoder.threads([1, 1, 1], [1, 1, 1]);
            });
            let later = queue.command_buffer();
            let other = Buffer::new(4);
            later.compute(|encoder| {
                encoder.pipeline(&good);
                encoder.buffer(&other, 0);
                encoder.threads([1, 1, 1], [1, 1, 1]);
            });
            bad.commit();
            later.commit();
            later.wait();
            later.assert_completed();
            assert_eq!(other.read::<u32>(), [5]);
            assert_eq!(bad.status(), ERROR);
            let (code, text) = bad.error().expect("an error");
            assert_eq!(code, 2, "{text}");
            assert!(text.contains("Timeout") && text.contains(name), "round {round}: {text}");
            assert_eq!(value.read::<u32>(), [0], "what follows in the command buffer must not run");
        }
    }
}

#[test]
fn the_limit_is_for_the_whole_command_buffer() {
    let queue = queue();
    let pipeline = Pipeline::new(kernel("short", Entry::Group(short), vec![]));
    let done = queue.run(|encoder| {
        encoder.pipeline(&pipeline);
        for _ in 0..1_000_000 {
            encoder.threads([1, 1, 1], [1, 1, 1]);
        }
    });
    assert_eq!(done.error().map(|(code, _)| code), Some(2));
}

unsafe extern "C" fn nothing(_: *const Group) {}

/// 2^64 threadgroups of one thread, and a few more: numbers that do not fit must not be taken for none.
#[test]
fn a_grid_that_cannot_end_is_not_taken_for_an_empty_one() {
    let queue = queue();
    let pipeline = Pipeline::new(kernel("nothing", Entry::Group(nothing), vec![]));
    for depth in [1 << 21, (1 << 21) + 1] {
        let done = queue.run(|encoder| {
            encoder.pipeline(&pipeline);
            encoder.threads([1 << 22, 1 << 21, depth], [1, 1, 1]);
        });
        assert_eq!(done.error().map(|(code, _)| code), Some(2));
    }
}

#[test]
fn queues_that_wait_for_each_other_time_out() {
    let (first, second) = (Event::new(), Event::new());
    let (one, two) = (queue(), queue());
    let crossed = [(&one, &first, &second), (&two, &second, &first)].map(|(queue, wait, signal)| {
        let command_buffer = queue.command_buffer();
        command_buffer.wait_for(wait, 1);
        command_buffer.blit().end();
        command_buffer.signal(signal, 1);
        command_buffer.commit();
        command_buffer
    });
    crossed.iter().for_each(CommandBuffer::wait);
    let errors: Vec<_> = crossed.iter().filter_map(CommandBuffer::error).collect();
    // The first to be given up makes its signal, which may come in time for the other.
    assert!(!errors.is_empty());
    for (code, text) in errors {
        assert_eq!(code, 2, "{text}");
        assert!(text.contains("waited longer than 0.5 s") && text.contains("would reach 1"), "{text}");
    }
    assert!(first.value() == 1 && second.value() == 1);
}

#[test]
fn a_wait_for_a_value_that_never_comes_times_out() {
    let (queue, event, done) = (queue(), Event::new(), Event::new());
    // SAFETY: the handle is valid.
    unsafe { hostmetal::ffi::hm_event_set_label(event.0, c"of the test".as_ptr()) };
    let good = Pipeline::new(kernel("store", Entry::Group(store), vec![buffer(0, 4)]));
    let (value, other) = (Buffer::new(4), Buffer::new(4));
    event.signal(2);
    let work = [&value, &other].map(|target| {
        let command_buffer = queue.command_buffer();
        command_buffer.compute(|_| {});
        if std::ptr::eq(target, &value) {
            command_buffer.wait_for(&event, 3);
        }
        command_buffer.compute(|encoder| {
            encoder.pipeline(&good);
            encoder.buffer(target, 0);
            encoder.threads([1, 1, 1], [1, 1, 1]);
        });
        command_buffer.signal(&done, 1);
        command_buffer.commit();
        command_buffer
    });
    work.iter().for_each(CommandBuffer::wait);
    let (code, text) = work[0].error().expect("an error");
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("\"of the test\", whose value is 2, would reach 3"), "{text}");
    assert_eq!(work[0].encoder_states(), [1, 3], "the first pass has run, the second did not begin");
    assert_eq!((value.read::<u32>()[0], other.read::<u32>()[0]), (0, 5), "only what the queue has after it runs");
    work[1].assert_completed();
    assert_eq!(done.value(), 1);
    // The event outlives its wait and can be used.
    event.signal(3);
    assert!(event.wait(3, 0));
}

#[test]
fn waiting_counts_apart_from_running() {
    // Waits that are longer than the limit together.
    let (queue, event) = (queue(), Event::new());
    let good = Pipeline::new(kernel("store", Entry::Group(store), vec![buffer(0, 4)]));
    let value = Buffer::new(4);
    let command_buffer = queue.command_buffer();
    for turn in 1..=4 {
        command_buffer.compute(|encoder| {
            encoder.pipeline(&good);
            encoder.buffer(&value, 0);
            encoder.threads([1, 1, 1], [1, 1, 1]);
        });
        command_buffer.wait_for(&event, turn);
    }
    command_buffer.commit();
    let never = Event::new();
    for turn in 1..=4 {
        never.wait(1, 200);
        event.signal(turn);
    }
    command_buffer.wait();
    // On a machine that is too busy for these times a wait may fail, but its running may not be what took too long.
    if let Some((_, text)) = command_buffer.error() {
        assert!(text.contains("waited longer"), "{text}");
    }
}
