//! Dispatches through the engine's C interface: positions, partial threadgroups, order, concurrency, blits.
#![allow(clippy::multiple_unsafe_ops_per_block, reason = "kernels and sequences of calls on the same valid handles")]

mod support;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use hostmetal::executor::{Entry, Group, Span};
use hostmetal::ffi::*;
use hostmetal::pipeline::Kernel;
use support::*;

/// y = a * x + y over (x, y, a).
unsafe extern "C" fn saxpy(called: *const Group) {
    // SAFETY: the executor's group.
    let called = unsafe { group(called) };
    // SAFETY: the bindings say so.
    let a = unsafe { *at::<f32>(called, 2, 0) };
    for thread in threads(called) {
        let i = in_grid(called, thread)[0] as usize;
        // SAFETY: the test's buffers are as long as the grid.
        let (x, y) = unsafe { (*at::<f32>(called, 0, i), at::<f32>(called, 1, i)) };
        // SAFETY: as above; each thread has its own element.
        unsafe { *y += a * x };
    }
}

fn saxpy_pipeline() -> Pipeline {
    let bindings = vec![buffer(0, 4), buffer(1, 4), buffer(2, 4)];
    Pipeline::new(kernel("saxpy", Entry::Group(saxpy), bindings))
}

#[test]
fn saxpy_of_sizes_that_do_not_divide() {
    let queue = Queue::new();
    let pipeline = saxpy_pipeline();
    for n in [1usize, 2, 255, 256, 257, 1000, 100_003] {
        let xs: Vec<f32> = (0..n).map(|i| i as f32).collect();
        let ys: Vec<f32> = (0..n).map(|i| (i % 7) as f32).collect();
        let (x, y) = (Buffer::of(&xs), Buffer::of(&ys));
        let done = queue.run(|encoder| {
            encoder.pipeline(&pipeline);
            encoder.buffer(&x, 0);
            encoder.buffer(&y, 1);
            encoder.bytes(&2.0f32, 2);
            encoder.threads([n as u64, 1, 1], [256, 1, 1]);
        });
        done.assert_completed();
        let expected: Vec<f32> = xs.iter().zip(&ys).map(|(x, y)| 2.0 * x + y).collect();
        assert_eq!(y.read::<f32>(), expected);
    }
}

/// Counts each grid position once, and checks what the group says of itself against the grid, which is in buffer 1:
/// threads, threadgroup size, both along 3 axes.
unsafe extern "C" fn count_positions(called: *const Group) {
    // SAFETY: the executor's group.
    let called = unsafe { group(called) };
    // SAFETY: the test binds six numbers there.
    let said = unsafe { *at::<[u32; 6]>(called, 1, 0) };
    let (grid, size) = ([said[0], said[1], said[2]], [said[3], said[4], said[5]]);
    let mut right = called.threads_per_grid == grid && called.dispatch_threads_per_threadgroup == size;
    for axis in 0..3 {
        right &= called.threadgroups_per_grid[axis] == grid[axis].div_ceil(size[axis]);
        let first = called.threadgroup_position_in_grid[axis] * size[axis];
        right &= called.threads_per_threadgroup[axis] == size[axis].min(grid[axis] - first);
    }
    right &= called.simdgroups_per_threadgroup == called.threads_per_threadgroup.iter().product::<u32>().div_ceil(32);
    right &= called.dispatch_simdgroups_per_threadgroup == size.iter().product::<u32>().div_ceil(32);
    for thread in threads(called) {
        let [x, y, z] = in_grid(called, thread);
        let i = (x + grid[0] * (y + grid[1] * z)) as usize;
        // SAFETY: the buffer has an element for each position of the grid.
        let count = unsafe { &*at::<AtomicU32>(called, 0, i) };
        count.fetch_add(if right { 1 } else { 1000 }, Ordering::Relaxed);
    }
}

#[test]
fn every_position_of_a_grid_runs_once() {
    let queue = Queue::new();
    let pipeline = Pipeline::new(kernel("count", Entry::Group(count_positions), vec![buffer(0, 4), buffer(1, 24)]));
    let cases = [
        ([1, 1, 1], [1, 1, 1]),
        ([5, 3, 2], [4, 2, 2]),
        ([17, 9, 5], [8, 4, 2]),
        ([64, 64, 1], [16, 16, 1]),
        ([1, 1, 1025], [1, 1, 1024]),
        ([300, 7, 11], [32, 3, 5]),
        ([3, 1000, 1], [1, 1, 1]),
    ];
    for (grid, size) in cases {
        let counts = Buffer::new(grid.iter().product::<u64>() * 4);
        let said: [u32; 6] = std::array::from_fn(|i| if i < 3 { grid[i] as u32 } else { size[i - 3] as u32 });
        queue
            .run(|encoder| {
                encoder.pipeline(&pipeline);
                encoder.buffer(&counts, 0);
                encoder.bytes(&said, 1);
                encoder.threads(grid, size);
            })
            .assert_completed();
        assert!(counts.read::<u32>().iter().all(|&n| n == 1), "grid {grid:?} of {size:?}");
    }
}

/// Counts each grid position once; position 0 of buffer 1 the calls, 1 those for threadgroups that the grid has not.
unsafe extern "C" fn count_span(called: *const Group) {
    // SAFETY: the executor's group.
    let called = unsafe { group(called) };
    let said = |place: usize| {
        // SAFETY: the test binds two numbers there.
        unsafe { &*at::<AtomicU32>(called, 1, place) }
    };
    said(0).fetch_add(1, Ordering::Relaxed);
    let (grid, size) = (called.threads_per_grid, called.dispatch_threads_per_threadgroup);
    let first: [u32; 3] = std::array::from_fn(|axis| called.threadgroup_position_in_grid[axis] * size[axis]);
    let have = called.threads_per_threadgroup;
    let right = |axis: usize| {
        let whole = if axis == 0 { have[0] % size[0] == 0 && have[0] > 0 } else { have[axis] == size[axis] };
        have[axis] == grid[axis] - first[axis] || whole && have[axis] <= grid[axis] - first[axis]
    };
    if !(0..3).all(right) {
        said(1).fetch_add(1, Ordering::Relaxed);
    }
    for thread in threads(called) {
        let [x, y, z] = in_grid(called, thread);
        // SAFETY: the buffer has an element for each position of the grid.
        unsafe { &*at::<AtomicU32>(called, 0, (x + grid[0] * (y + grid[1] * z)) as usize) }
            .fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn every_position_runs_once_in_calls_for_several_threadgroups() {
    // The grid, the threadgroup, how many calls there are at least and at most: one per threadgroup; of `Line`; of `Rows`.
    let cases = [
        ([1, 1, 1], [1, 1, 1], [[1, 1]; 3]),
        ([4096, 1, 1], [4, 1, 1], [[1024, 1024], [1, 512], [1, 512]]),
        ([4099, 1, 1], [4, 1, 1], [[1025, 1025], [1, 512], [1, 512]]),
        ([801, 9, 5], [2, 4, 2], [[401 * 9, 401 * 9], [401 * 9, 401 * 9], [9, 401 * 4]]),
        ([801, 3, 5], [2, 1, 1], [[401 * 15, 401 * 15], [15, 401 * 7], [15, 401 * 7]]),
        ([3, 1000, 1], [1, 1, 1], [[3000, 3000], [1000, 1500], [1000, 1500]]),
    ];
    let queue = Queue::new();
    for (number, span) in [Span::Threadgroup, Span::Line, Span::Rows].into_iter().enumerate() {
        let code = kernel("count", Entry::Group(count_span), vec![buffer(0, 4), buffer(1, 4)]);
        let pipeline = Pipeline::new(Kernel { span, ..code });
        for (grid, size, calls) in cases {
            // The second time it is known how long threads take.
            for _ in 0..2 {
                let counts = Buffer::new(grid.iter().product::<u64>() * 4);
                let said = Buffer::of(&[0u32; 2]);
                queue
                    .run(|encoder| {
                        encoder.pipeline(&pipeline);
                        encoder.buffer(&counts, 0);
                        encoder.buffer(&said, 1);
                        encoder.threads(grid, size);
                    })
                    .assert_completed();
                assert!(counts.read::<u32>().iter().all(|&n| n == 1), "{span:?}: grid {grid:?} of {size:?}");
                let [made, wrong] = said.read::<u32>()[..] else { panic!("two numbers") };
                assert_eq!(wrong, 0, "{span:?}: grid {grid:?} of {size:?}");
                let [least, most] = calls[number];
                assert!((least..=most).contains(&made), "{span:?}: grid {grid:?} of {size:?}: {made} calls");
            }
        }
    }
}

/// v[i] = v[i] * 3 + number, which differs for each order of numbers.
unsafe extern "C" fn append(called: *const Group) {
    // SAFETY: the executor's group.
    let called = unsafe { group(called) };
    // SAFETY: the bindings say so.
    let number = unsafe { *at::<u32>(called, 1, 0) };
    for thread in threads(called) {
        // SAFETY: the buffer is as long as the grid.
        let value = unsafe { at::<u32>(called, 0, in_grid(called, thread)[0] as usize) };
        // SAFETY: as above; each thread has its own element.
        unsafe { *value = (*value).wrapping_mul(3).wrapping_add(number) };
    }
}

fn append_pipeline() -> Pipeline {
    Pipeline::new(kernel("append", Entry::Group(append), vec![buffer(0, 4), buffer(1, 4)]))
}

#[test]
fn dispatches_encoders_and_command_buffers_keep_their_order() {
    const N: u64 = 20_000;
    let queue = Queue::new();
    let pipeline = append_pipeline();
    let values = Buffer::new(N * 4);
    let mut expected = 0u32;
    let mut number = 0u32;
    let mut all = Vec::new();
    for _ in 0..20 {
        let command_buffer = queue.command_buffer();
        for _ in 0..3 {
            command_buffer.compute(|encoder| {
                encoder.pipeline(&pipeline);
                encoder.buffer(&values, 0);
                for _ in 0..4 {
                    encoder.bytes(&number, 1);
                    encoder.threads([N, 1, 1], [64, 1, 1]);
                    expected = expected.wrapping_mul(3).wrapping_add(number);
                    number += 1;
                }
            });
        }
        command_buffer.commit();
        all.push(command_buffer);
    }
    all.last().expect("some").wait();
    for command_buffer in &all {
        command_buffer.assert_completed();
    }
    assert!(values.read::<u32>().iter().all(|&value| value == expected));
}

#[test]
fn barriers_order_the_dispatches_of_a_concurrent_encoder() {
    const N: u64 = 5_000;
    let queue = Queue::new();
    let pipeline = append_pipeline();
    let (a, b) = (Buffer::new(N * 4), Buffer::new(N * 4));
    let command_buffer = queue.command_buffer();
    let encoder = command_buffer.encoder(true);
    encoder.pipeline(&pipeline);
    let mut expected = 0u32;
    for number in 0..50u32 {
        encoder.bytes(&number, 1);
        for values in [&a, &b] {
            encoder.buffer(values, 0);
            encoder.threads([N, 1, 1], [100, 1, 1]);
        }
        // SAFETY: the handle is valid.
        ok(unsafe { hm_compute_barrier(encoder.0) });
        expected = expected.wrapping_mul(3).wrapping_add(number);
    }
    ok(encoder.end());
    command_buffer.commit();
    command_buffer.wait();
    command_buffer.assert_completed();
    for values in [&a, &b] {
        assert!(values.read::<u32>().iter().all(|&value| value == expected));
    }
}

#[test]
fn many_dispatches_in_one_command_buffer() {
    let queue = Queue::new();
    let pipeline = append_pipeline();
    let values = Buffer::new(8);
    let mut expected = 0u32;
    let done = queue.run(|encoder| {
        encoder.pipeline(&pipeline);
        encoder.buffer(&values, 0);
        for number in 0..100_000u32 {
            encoder.bytes(&number, 1);
            encoder.threads([2, 1, 1], [1, 1, 1]);
            expected = expected.wrapping_mul(3).wrapping_add(number);
        }
    });
    done.assert_completed();
    assert_eq!(values.read::<u32>(), [expected, expected]);
}

#[test]
fn offsets_and_bytes_are_those_of_the_time_of_the_dispatch() {
    let queue = Queue::new();
    let pipeline = append_pipeline();
    let values = Buffer::new(64);
    queue
        .run(|encoder| {
            encoder.pipeline(&pipeline);
            encoder.buffer(&values, 0);
            for i in 0..16u32 {
                // SAFETY: the handle is valid.
                ok(unsafe { hm_compute_set_buffer_offset(encoder.0, u64::from(i) * 4, 0) });
                encoder.bytes(&(i + 100), 1);
                encoder.threads([1, 1, 1], [1, 1, 1]);
            }
        })
        .assert_completed();
    assert_eq!(values.read::<u32>(), (100..116).collect::<Vec<u32>>());
}

#[test]
fn copies_and_fills() {
    let queue = Queue::new();
    let source = Buffer::of(&(0..100u8).collect::<Vec<_>>());
    let target = Buffer::new(100);
    let command_buffer = queue.command_buffer();
    let encoder = command_buffer.blit();
    // SAFETY: the handles are valid in all calls below.
    unsafe {
        ok(hm_blit_fill(encoder.0, target.0, 10, 80, 7));
        ok(hm_blit_copy(encoder.0, source.0, 5, target.0, 20, 30));
        ok(hm_blit_copy(encoder.0, target.0, 20, target.0, 95, 5));
        for (from, to, length) in [(0, 0, 0), (90, 0, 11), (0, 90, 11), (u64::MAX, 0, 2)] {
            assert!(misuse(hm_blit_copy(encoder.0, source.0, from, target.0, to, length)).is_some());
        }
        assert!(misuse(hm_blit_copy(encoder.0, target.0, 0, target.0, 5, 10)).is_some());
        assert!(misuse(hm_blit_fill(encoder.0, target.0, 99, 2, 0)).is_some());
    }
    ok(encoder.end());
    command_buffer.commit();
    command_buffer.wait();
    command_buffer.assert_completed();
    let mut expected = vec![0u8; 100];
    expected[10..90].fill(7);
    for i in 0..30 {
        expected[20 + i] = 5 + i as u8;
    }
    let repeated = expected[20..25].to_vec();
    expected[95..].copy_from_slice(&repeated);
    assert_eq!(target.read::<u8>(), expected);
}

/// Counts its threadgroup, and takes long enough that a dispatch is worth sharing.
unsafe extern "C" fn count_slowly(called: *const Group) {
    // SAFETY: the executor's group; the buffer has an element per threadgroup.
    let count = unsafe {
        let called = group(called);
        &*at::<AtomicU32>(called, 0, called.threadgroup_position_in_grid[0] as usize)
    };
    count.fetch_add(1, Ordering::Relaxed);
    for number in 0..500u32 {
        std::hint::black_box(number);
    }
}

#[test]
fn dispatches_that_workers_share_run_every_threadgroup() {
    const GROUPS: u64 = 37;
    const ROUNDS: u32 = 4000;
    let queue = Queue::new();
    let pipeline = Pipeline::new(kernel("slowly", Entry::Group(count_slowly), vec![buffer(0, 4)]));
    let counts = Buffer::new(GROUPS * 4);
    queue
        .run(|encoder| {
            encoder.pipeline(&pipeline);
            encoder.buffer(&counts, 0);
            for _ in 0..ROUNDS {
                encoder.groups([GROUPS, 1, 1], [1, 1, 1]);
            }
        })
        .assert_completed();
    assert_eq!(counts.read::<u32>(), [ROUNDS; GROUPS as usize]);
}

/// What the threadgroups of `contend` know of each other.
struct Contention {
    inside: AtomicU32,
    /// Nanoseconds that each takes in any case, and in addition while another is inside.
    alone: AtomicU32,
    together: AtomicU32,
    /// Threadgroups that met others.
    met: AtomicU32,
}

static CONTENTION: Contention = Contention {
    inside: AtomicU32::new(0),
    alone: AtomicU32::new(0),
    together: AtomicU32::new(0),
    met: AtomicU32::new(0),
};

/// Takes far longer while another threadgroup runs, as where cores wait for each other's caches.
unsafe extern "C" fn contend(_: *const Group) {
    let Contention { inside, alone, together, met } = &CONTENTION;
    let compute = |nanoseconds: &AtomicU32| {
        let start = Instant::now();
        while start.elapsed().as_nanos() < nanoseconds.load(Ordering::Relaxed).into() {
            std::hint::spin_loop();
        }
    };
    let others = inside.fetch_add(1, Ordering::SeqCst);
    compute(alone);
    if others > 0 || inside.load(Ordering::SeqCst) > 1 {
        met.fetch_add(1, Ordering::Relaxed);
        compute(together);
    }
    inside.fetch_sub(1, Ordering::SeqCst);
}

#[test]
fn small_dispatches_that_sharing_makes_slow_are_not_shared_for_ever() {
    const GROUPS: u32 = 8;
    const ROUNDS: u32 = 10_000;
    let queue = Queue::new();
    let pipeline = Pipeline::new(kernel("contend", Entry::Group(contend), Vec::new()));
    let run = |rounds: u32| {
        queue
            .run(|encoder| {
                encoder.pipeline(&pipeline);
                for _ in 0..rounds {
                    encoder.groups([GROUPS.into(), 1, 1], [1, 1, 1]);
                }
            })
            .assert_completed();
    };
    // First they are worth it.
    CONTENTION.alone.store(10_000, Ordering::Relaxed);
    run(20);
    CONTENTION.alone.store(500, Ordering::Relaxed);
    CONTENTION.together.store(10_000, Ordering::Relaxed);
    // Whenever a core is taken away a small one seems large again.
    let met = (0..10).map(|_| {
        CONTENTION.met.store(0, Ordering::Relaxed);
        run(ROUNDS);
        CONTENTION.met.load(Ordering::Relaxed)
    });
    let met: Vec<u32> = met.collect();
    let alone = met.iter().filter(|met| **met < GROUPS * ROUNDS / 10).count();
    // Sanitizers (scripts/sanitize) make threadgroups of half a microsecond so long that these are no small dispatches.
    let least = if std::env::var_os("DCMETAL_SANITIZE").is_some() { 0 } else { 3 };
    assert!(alone >= least, "threadgroups of {} that met others, by series: {met:?}", GROUPS * ROUNDS);
}
