//! Events between queues and the host; fences; indirect dispatches; samples of the clock.
#![allow(clippy::multiple_unsafe_ops_per_block, reason = "kernels and sequences of calls on the same valid handles")]

mod support;

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use hostmetal::executor::{Entry, Group};
use hostmetal::ffi::*;
use support::*;

/// Far longer than any wait that is to succeed; a minute of a busy machine is no failure.
const LONG: u64 = 120_000;

/// Multiplies buffer 0's number by 3 and adds that of buffer 1.
unsafe extern "C" fn step(called: *const Group) {
    // SAFETY: the executor's group; the buffers have an element.
    unsafe {
        let group = group(called);
        let number = at::<u32>(group, 0, 0);
        *number = (*number).wrapping_mul(3).wrapping_add(*at::<u32>(group, 1, 0));
    }
}

fn step_pipeline() -> Pipeline {
    Pipeline::new(kernel("step", Entry::Group(step), vec![buffer(0, 4), buffer(1, 4)]))
}

fn record(command_buffer: &CommandBuffer, pipeline: &Pipeline, number: &Buffer, added: u32) {
    command_buffer.compute(|encoder| {
        encoder.pipeline(pipeline);
        encoder.buffer(number, 0);
        encoder.bytes(&added, 1);
        encoder.threads([1, 1, 1], [1, 1, 1]);
    });
}

/// What `step` leaves after adding 1, 2, ... in this order.
fn expected(steps: u32) -> u32 {
    (1..=steps).fold(0u32, |number, added| number.wrapping_mul(3).wrapping_add(added))
}

fn committed(queue: &Queue, record: impl FnOnce(&CommandBuffer)) -> CommandBuffer {
    let command_buffer = queue.command_buffer();
    record(&command_buffer);
    command_buffer.commit();
    command_buffer
}

#[test]
fn queues_take_turns_by_events() {
    let (pipeline, number, event) = (step_pipeline(), Buffer::new(4), Event::new());
    let queues: Vec<Queue> = (0..3).map(|_| Queue::new()).collect();
    // Each waits for the one before and lets the next go; committed in no helpful order.
    let mut work = Vec::new();
    for turn in (0..3u64).rev() {
        for round in 0..20u64 {
            let place = round * 3 + turn;
            work.push(committed(&queues[turn as usize], |command_buffer| {
                command_buffer.wait_for(&event, place);
                record(command_buffer, &pipeline, &number, place as u32 + 1);
                command_buffer.signal(&event, place + 1);
            }));
        }
    }
    assert!(event.wait(60, LONG));
    work.iter().for_each(|command_buffer| {
        command_buffer.wait();
        command_buffer.assert_completed();
    });
    assert_eq!(number.read::<u32>(), [expected(60)]);
    assert_eq!(event.value(), 60);
}

#[test]
fn the_host_signals_between_passes_of_one_command_buffer() {
    let (pipeline, number) = (step_pipeline(), Buffer::new(4));
    let (to, from) = (Event::new(), Event::new());
    let queue = Queue::new();
    let command_buffer = committed(&queue, |command_buffer| {
        for turn in 0..4 {
            command_buffer.wait_for(&to, turn + 1);
            record(command_buffer, &pipeline, &number, turn as u32 + 1);
            command_buffer.signal(&from, turn + 1);
        }
    });
    for turn in 0..4 {
        assert_eq!(from.value(), turn, "a pass ran before it was allowed");
        assert_eq!(number.read::<u32>(), [expected(turn as u32)]);
        to.signal(turn + 1);
        assert!(from.wait(turn + 1, LONG));
    }
    command_buffer.wait();
    command_buffer.assert_completed();
    assert_eq!(number.read::<u32>(), [expected(4)]);
}

#[test]
fn values_only_grow() {
    let event = Event::new();
    assert_eq!(event.value(), 0);
    assert!(event.wait(0, 0));
    assert!(!event.wait(1, 0));
    assert!(!event.wait(1, 5));
    event.signal(7);
    event.signal(3);
    assert_eq!(event.value(), 7);
    assert!(event.wait(7, 0) && event.wait(2, 0) && !event.wait(8, 1));
    event.signal(u64::MAX);
    assert!(event.wait(u64::MAX, u64::MAX));
    // A command buffer that signals less leaves it.
    let queue = Queue::new();
    let command_buffer = committed(&queue, |command_buffer| command_buffer.signal(&event, 9));
    command_buffer.wait();
    assert_eq!(event.value(), u64::MAX);
}

#[test]
fn waiting_command_buffers_hold_no_thread() {
    // Far more queues than the machine has threads to spare, all waiting, and work of another queue goes on.
    let (gate, done) = (Event::new(), Event::new());
    let queues: Vec<Queue> = (0..600).map(|_| Queue::new()).collect();
    let waiting: Vec<CommandBuffer> =
        queues.iter().map(|queue| committed(queue, |command_buffer| command_buffer.wait_for(&gate, 1))).collect();
    for command_buffer in &waiting {
        // SAFETY: the handle is valid.
        ok(unsafe { hm_command_buffer_wait_scheduled(command_buffer.0) });
    }
    let (pipeline, number, other) = (step_pipeline(), Buffer::new(4), Queue::new());
    for turn in 0..50 {
        let command_buffer = committed(&other, |command_buffer| {
            record(command_buffer, &pipeline, &number, turn + 1);
            command_buffer.signal(&done, u64::from(turn) + 1);
        });
        command_buffer.wait();
    }
    assert_eq!(number.read::<u32>(), [expected(50)]);
    let threads = std::fs::read_dir("/proc/self/task").expect("Linux tells of threads").count();
    assert!(threads < 500, "{threads} threads, other tests' among them, for 600 waiting queues");
    assert!(waiting.iter().all(|command_buffer| command_buffer.status() == 3), "scheduled, not completed");
    gate.signal(1);
    waiting.iter().for_each(CommandBuffer::wait);
    waiting.iter().for_each(CommandBuffer::assert_completed);
}

unsafe extern "C" fn fault(_: *const Group) {
    // SAFETY: none: this is the fault.
    unsafe { ptr::null_mut::<u32>().wrapping_add(4).write_volatile(1) };
}

#[test]
fn a_failed_command_buffer_still_signals() {
    let bad = Pipeline::new(kernel("fault", Entry::Group(fault), vec![]));
    let (pipeline, number) = (step_pipeline(), Buffer::new(4));
    let (first, second) = (Event::new(), Event::new());
    let (one, two) = (Queue::new(), Queue::new());
    let waiting = committed(&two, |command_buffer| {
        command_buffer.wait_for(&second, 5);
        record(command_buffer, &pipeline, &number, 1);
    });
    let failed = committed(&one, |command_buffer| {
        record(command_buffer, &pipeline, &number, 0);
        command_buffer.signal(&first, 1);
        command_buffer.compute(|encoder| {
            encoder.pipeline(&bad);
            encoder.threads([1, 1, 1], [1, 1, 1]);
        });
        // Not waited for any more.
        command_buffer.wait_for(&first, 2);
        command_buffer.signal(&first, 3);
        record(command_buffer, &pipeline, &number, 100);
        command_buffer.signal(&second, 5);
    });
    assert!(second.wait(5, LONG));
    assert_eq!(failed.status(), ERROR, "the status is final before the signals are made");
    assert_eq!(first.value(), 3);
    waiting.wait();
    waiting.assert_completed();
    assert_eq!(number.read::<u32>(), [1]);
    assert_eq!(failed.encoder_states(), [1, 4, 3]);
}

#[test]
fn misuse_of_events_and_fences_is_told() {
    let queue = Queue::new();
    let event = Event::new();
    let command_buffer = queue.command_buffer();
    let encoder = command_buffer.encoder(false);
    // SAFETY: the handles are valid.
    let text = misuse(unsafe { hm_command_buffer_signal(command_buffer.0, event.0, 1) }).expect("an encoder is open");
    assert!(text.contains("between passes"), "{text}");
    // SAFETY: as above.
    let text = misuse(unsafe { hm_command_buffer_wait_event(command_buffer.0, event.0, 1) }).expect("as above");
    assert!(text.contains("between passes"), "{text}");
    // SAFETY: the device is valid.
    let fences = [0, 1].map(|_| unsafe { hm_fence_create(device()) });
    // SAFETY: the handles are valid.
    unsafe {
        ok(hm_encoder_wait_for_fence(encoder.0, fences[0]));
        ok(hm_encoder_update_fence(encoder.0, fences[0]));
        ok(hm_encoder_wait_for_fence(encoder.0, fences[1]));
        let text = misuse(hm_encoder_wait_for_fence(encoder.0, fences[0])).expect("updated before");
        assert!(text.contains("wait first"), "{text}");
        ok(encoder.end());
        assert!(misuse(hm_encoder_update_fence(encoder.0, fences[0])).is_some_and(|text| text.contains("endEncoding")));
        assert!(
            misuse(hm_encoder_wait_for_fence(encoder.0, fences[0])).is_some_and(|text| text.contains("endEncoding"))
        );
        let blit = command_buffer.blit();
        ok(hm_encoder_wait_for_fence(blit.0, fences[0]));
        ok(hm_encoder_update_fence(blit.0, fences[1]));
        ok(blit.end());
        for fence in fences {
            hm_fence_release(fence);
        }
    }
    command_buffer.commit();
    // SAFETY: the handles are valid.
    let text = misuse(unsafe { hm_command_buffer_signal(command_buffer.0, event.0, 1) }).expect("committed");
    assert!(text.contains("committed"), "{text}");
    command_buffer.wait();
    command_buffer.assert_completed();
    assert_eq!(event.value(), 0);
}

// ------------------------------------------------------------------ notifications

#[derive(Default)]
struct Calls {
    order: Mutex<Vec<(u64, u64)>>,
    lost: AtomicU32,
}

struct Context {
    calls: Arc<Calls>,
    at: u64,
}

unsafe extern "C" fn reached(context: *mut c_void, event: HMEvent, value: u64) {
    // SAFETY: the context is the box that `notify` gave away for this one call.
    let context = unsafe { Box::from_raw(context.cast::<Context>()) };
    if event.is_null() {
        context.calls.lost.fetch_add(1, Ordering::Relaxed);
        return;
    }
    // The reference is ours.
    assert!(Event(event).value() >= value);
    context.calls.order.lock().expect("no test panicked").push((context.at, value));
}

fn notify(event: &Event, calls: &Arc<Calls>, at: u64) {
    let context = Box::new(Context { calls: calls.clone(), at });
    // SAFETY: the handle is valid; the context is for the one call.
    unsafe { hm_event_notify(event.0, at, reached, Box::into_raw(context).cast()) };
}

#[test]
fn notifications_come_in_order_and_once() {
    let calls = Arc::new(Calls::default());
    let event = Event::new();
    for at in [3, 1, 2, 1, 9, 100] {
        notify(&event, &calls, at);
    }
    event.signal(2);
    event.signal(8);
    notify(&event, &calls, 4);
    let queue = Queue::new();
    committed(&queue, |command_buffer| command_buffer.signal(&event, 10)).wait();
    assert_eq!(*calls.order.lock().expect("no panic"), [(1, 2), (1, 2), (2, 2), (3, 8), (4, 8), (9, 10)]);
    assert_eq!(calls.lost.load(Ordering::Relaxed), 0);
    drop(event);
    assert_eq!(calls.lost.load(Ordering::Relaxed), 1, "who waits for more than ever comes is let go");
}

#[test]
fn a_completed_callback_may_wait_for_an_event_of_its_own_queue() {
    unsafe extern "C" fn wait(context: *mut c_void) {
        // SAFETY: the test's event, which it keeps.
        let event = unsafe { &*context.cast::<Event>() };
        assert!(event.wait(1, LONG));
    }
    let (queue, event) = (Queue::new(), Event::new());
    let first = queue.command_buffer();
    // SAFETY: the handle is valid; the event lives until the command buffer has completed.
    ok(unsafe { hm_command_buffer_commit(first.0, None, Some(wait), context(&event)) });
    let second = committed(&queue, |command_buffer| command_buffer.signal(&event, 1));
    first.wait();
    second.wait();
}

/// A command buffer of the second queue waits for an event that the first signals behind the one whose callback waits for the second.
#[test]
fn a_completed_callback_may_wait_for_another_queue_that_waits_for_its_own() {
    struct Other {
        queue: Queue,
        waiting: CommandBuffer,
    }
    unsafe extern "C" fn wait_for_the_end(other: *mut c_void) {
        // SAFETY: the test keeps it.
        unsafe { &*other.cast::<Other>() }.waiting.wait();
    }
    unsafe extern "C" fn wait_for_room(other: *mut c_void) {
        // SAFETY: the test keeps it.
        let other = unsafe { &*other.cast::<Other>() };
        committed(&other.queue, |_| {});
    }
    for wait in [wait_for_the_end, wait_for_room] {
        let (own, queue, event) = (Queue::new(), Queue::limited(1), Event::new());
        let waiting = committed(&queue, |command_buffer| command_buffer.wait_for(&event, 1));
        let other = Other { queue, waiting };
        let first = own.command_buffer();
        // SAFETY: the handle is valid; the other queue lives until the command buffer has completed.
        ok(unsafe { hm_command_buffer_commit(first.0, None, Some(wait), context(&other)) });
        let second = committed(&own, |command_buffer| command_buffer.signal(&event, 1));
        for command_buffer in [&first, &second, &other.waiting] {
            command_buffer.wait();
            command_buffer.assert_completed();
        }
    }
}

// ------------------------------------------------------------------ many threads

#[test]
fn sixty_four_threads_pass_a_turn_around() {
    const THREADS: u64 = 64;
    const ROUNDS: u64 = 20;
    let event = Event::new();
    let number = Buffer::new(8);
    // SAFETY: the buffer is longer than that, aligned, and only used as this while the test runs.
    let count = unsafe { AtomicU64::from_ptr(number.contents().cast()) };
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (event, count) = (&event, &count);
            scope.spawn(move || {
                let queue = Queue::new();
                for round in 0..ROUNDS {
                    let turn = round * THREADS + thread;
                    if turn.is_multiple_of(3) {
                        assert!(event.wait(turn, LONG));
                        assert_eq!(count.fetch_add(1, Ordering::Relaxed), turn);
                        event.signal(turn + 1);
                        continue;
                    }
                    let command_buffer = committed(&queue, |command_buffer| {
                        command_buffer.wait_for(event, turn);
                        command_buffer.signal(event, turn);
                    });
                    command_buffer.wait();
                    assert_eq!(count.fetch_add(1, Ordering::Relaxed), turn);
                    committed(&queue, |command_buffer| command_buffer.signal(event, turn + 1)).wait();
                }
            });
        }
    });
    assert_eq!(event.value(), THREADS * ROUNDS);
}

#[test]
fn signals_and_waits_that_meet_lose_nothing() {
    // The same moment from both sides, over and over: a wait that is registered while the signal is made.
    let (to, from) = (Event::new(), Event::new());
    let queue = Queue::new();
    for turn in 1..=2000 {
        let command_buffer = committed(&queue, |command_buffer| {
            command_buffer.wait_for(&to, turn);
            command_buffer.signal(&from, turn);
        });
        if turn % 2 == 0 {
            // SAFETY: the handle is valid.
            ok(unsafe { hm_command_buffer_wait_scheduled(command_buffer.0) });
        }
        to.signal(turn);
        assert!(from.wait(turn, LONG), "turn {turn}");
    }
}

// ------------------------------------------------------------------ indirect dispatches

/// Each threadgroup counts itself, and notes the grid's size.
unsafe extern "C" fn count(called: *const Group) {
    // SAFETY: the executor's group; the buffers have the elements; threadgroups count atomically.
    unsafe {
        let group = group(called);
        AtomicU32::from_ptr(at::<u32>(group, 0, 0)).fetch_add(1, Ordering::Relaxed);
        for axis in 0..3 {
            AtomicU32::from_ptr(at::<u32>(group, 0, 1 + axis)).store(group.threads_per_grid[axis], Ordering::Relaxed);
        }
    }
}

/// Writes the grid of a later dispatch.
unsafe extern "C" fn choose(called: *const Group) {
    // SAFETY: the executor's group; the buffers have the elements.
    unsafe {
        let group = group(called);
        for axis in 0..3 {
            *at::<u32>(group, 0, 1 + axis) = *at::<u32>(group, 1, axis);
        }
    }
}

fn try_indirect(encoder: &Encoder, grid: &Buffer, offset: u64, size: [u64; 3]) -> Option<String> {
    // SAFETY: the handles are valid.
    misuse(unsafe { hm_compute_dispatch_indirect(encoder.0, grid.0, offset, &size) })
}

#[test]
fn an_indirect_dispatch_reads_its_grid_when_it_runs() {
    let count = Pipeline::new(kernel("count", Entry::Group(count), vec![buffer(0, 4)]));
    let choose = Pipeline::new(kernel("choose", Entry::Group(choose), vec![buffer(0, 4), buffer(1, 4)]));
    let queue = Queue::new();
    for concurrent in [false, true] {
        for (groups, size) in
            [([5, 1, 1], [4, 1, 1]), ([3, 4, 7], [2, 3, 5]), ([0, 9, 9], [1, 1, 1]), ([1000, 1, 1], [1, 1, 1])]
        {
            // Before the kernel has run the buffer holds a grid that cannot be.
            let (grid, counts) = (Buffer::of(&[u32::MAX; 4]), Buffer::new(16));
            let command_buffer = queue.command_buffer();
            let encoder = command_buffer.encoder(concurrent);
            encoder.pipeline(&choose);
            encoder.buffer(&grid, 0);
            encoder.bytes(&groups, 1);
            encoder.threads([1, 1, 1], [1, 1, 1]);
            if concurrent {
                // SAFETY: the handle is valid.
                ok(unsafe { hm_compute_barrier(encoder.0) });
            }
            encoder.pipeline(&count);
            encoder.buffer(&counts, 0);
            assert_eq!(try_indirect(&encoder, &grid, 4, size.map(u64::from)), None);
            ok(encoder.end());
            command_buffer.commit();
            command_buffer.wait();
            command_buffer.assert_completed();
            let total: u32 = groups.iter().product();
            let threads: [u32; 3] = std::array::from_fn(|axis| groups[axis] * size[axis]);
            let expected = if total == 0 { [0; 4] } else { [total, threads[0], threads[1], threads[2]] };
            assert_eq!(counts.read::<u32>(), expected, "{groups:?} of {size:?}, concurrent: {concurrent}");
        }
    }
}

#[test]
fn an_empty_grid_does_not_keep_others_from_running() {
    let count = Pipeline::new(kernel("count", Entry::Group(count), vec![buffer(0, 4)]));
    let queue = Queue::new();
    for grids in [[[0, 1, 1], [500, 3, 1]], [[500, 3, 1], [0, 1, 1]], [[0, 0, 0], [1, 0, 1]]] {
        let given = grids.map(|grid: [u32; 3]| (Buffer::of(&grid), Buffer::new(16)));
        let command_buffer = queue.command_buffer();
        let encoder = command_buffer.encoder(true);
        encoder.pipeline(&count);
        for (grid, counts) in &given {
            encoder.buffer(counts, 0);
            assert_eq!(try_indirect(&encoder, grid, 0, [1, 1, 1]), None);
        }
        ok(encoder.end());
        command_buffer.commit();
        command_buffer.wait();
        command_buffer.assert_completed();
        for ((_, counts), grid) in given.iter().zip(grids) {
            assert_eq!(counts.read::<u32>()[0], grid.iter().product::<u32>(), "{grids:?}");
        }
    }
}

#[test]
fn an_indirect_grid_that_is_too_large_fails_the_command_buffer() {
    let pipeline = Pipeline::new(kernel("count", Entry::Group(count), vec![buffer(0, 4)]));
    let queue = Queue::new();
    for (groups, size, fails) in [
        ([1u32 << 31, 1, 0], [2, 1, 1], true),
        ([0, u32::MAX, 1], [1, 2, 1], true),
        ([u32::MAX, u32::MAX, 0], [1, 1, 2], false),
        ([0, 0, 0], [1, 0x3ff, 1], false),
    ] {
        let (grid, counts) = (Buffer::of(&groups), Buffer::new(16));
        let done = queue.run(|encoder| {
            encoder.pipeline(&pipeline);
            encoder.buffer(&counts, 0);
            assert_eq!(try_indirect(encoder, &grid, 0, size), None);
        });
        if fails {
            let (code, text) = done.error().expect("2^32 threads do not fit");
            assert_eq!(code, 1);
            let [x, y, z] = groups;
            assert!(text.contains(&format!("{x} x {y} x {z} threadgroups")) && text.contains("count"), "{text}");
        } else {
            done.assert_completed();
        }
    }
}

#[test]
fn misuse_of_an_indirect_dispatch_is_told() {
    let pipeline = Pipeline::new(kernel("count", Entry::Group(count), vec![buffer(0, 4)]));
    let (queue, grid) = (Queue::new(), Buffer::new(16));
    let command_buffer = queue.command_buffer();
    let encoder = command_buffer.encoder(false);
    assert!(try_indirect(&encoder, &grid, 0, [1, 1, 1]).is_some_and(|text| text.contains("pipeline state")));
    encoder.pipeline(&pipeline);
    assert!(try_indirect(&encoder, &grid, 0, [1, 1, 1]).is_some_and(|text| text.contains("missing Buffer")));
    encoder.buffer(&grid, 0);
    for (offset, size, part) in [
        (2, [1, 1, 1], "multiple of 4"),
        (8, [1, 1, 1], "indirectBuffer length"),
        (u64::MAX - 3, [1, 1, 1], "indirectBuffer length"),
        (0, [1025, 1, 1], "1024"),
        (0, [0, 1, 1], "must not be 0"),
    ] {
        let text = try_indirect(&encoder, &grid, offset, size).expect("misuse");
        assert!(text.contains(part), "{text}");
    }
    ok(encoder.end());
    command_buffer.commit();
    command_buffer.wait();
    command_buffer.assert_completed();
}

// ------------------------------------------------------------------ samples

#[test]
fn samples_are_in_the_order_of_execution() {
    let (pipeline, number) = (step_pipeline(), Buffer::new(4));
    let samples = Buffer::of(&[u64::MAX; 8]);
    let queue = Queue::new();
    let before = hm_clock_now();
    let command_buffer = queue.command_buffer();
    let sample = |encoder: &Encoder, index, at_end| {
        // SAFETY: the handles are valid.
        misuse(unsafe { hm_encoder_sample(encoder.0, samples.0, index, at_end) })
    };
    let encoder = command_buffer.encoder(true);
    // The end's is recorded first.
    assert_eq!(sample(&encoder, 3, true), None);
    assert_eq!(sample(&encoder, 0, false), None);
    encoder.pipeline(&pipeline);
    encoder.buffer(&number, 0);
    encoder.bytes(&1u32, 1);
    encoder.threads([1, 1, 1], [1, 1, 1]);
    assert_eq!(sample(&encoder, 1, false), None);
    encoder.threads([1, 1, 1], [1, 1, 1]);
    assert_eq!(sample(&encoder, 2, false), None);
    assert!(sample(&encoder, 8, false).is_some_and(|text| text.contains("sampleIndex")));
    assert!(sample(&encoder, u64::MAX / 4, true).is_some_and(|text| text.contains("sampleIndex")));
    ok(encoder.end());
    assert!(sample(&encoder, 0, false).is_some_and(|text| text.contains("endEncoding")));
    let blit = command_buffer.blit();
    assert_eq!(sample(&blit, 4, false), None);
    ok(blit.end());
    command_buffer.commit();
    command_buffer.wait();
    command_buffer.assert_completed();
    let taken = samples.read::<u64>();
    assert!(before <= taken[0] && taken[4] <= hm_clock_now(), "{taken:?}");
    assert!(taken[..5].is_sorted(), "{taken:?}");
    assert_eq!(taken[5..], [u64::MAX; 3]);
}
