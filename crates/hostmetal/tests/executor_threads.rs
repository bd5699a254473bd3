//! Kernels whose threads have stacks of their own: barriers, SIMD-group operations, early exits, and what they see.
#![allow(clippy::multiple_unsafe_ops_per_block, reason = "kernels and sequences of calls on the same valid handles")]

mod support;

use std::ffi::c_void;

use hostmetal::executor::{Entry, Group, SimdValues, runtime_table};
use support::*;

/// Linear index of a thread in its threadgroup.
fn linear(group: &Group, [x, y, z]: [u32; 3]) -> u32 {
    let [width, height, _] = group.threads_per_threadgroup;
    x + width * (y + height * z)
}

#[inline(always)]
fn barrier() {
    // SAFETY: only kernels call this.
    unsafe { (runtime_table().threadgroup_barrier)(0) };
}

/// Adds up the lanes' u32 values and gives each lane the sum.
unsafe extern "C" fn add(values: *const SimdValues, active: u32) {
    let lanes = || (0..32).filter(move |lane| active >> lane & 1 != 0);
    // SAFETY: the executor passes the active lanes' places.
    let place = |lane: usize| unsafe { (*values).value[lane] }.cast::<u32>();
    // SAFETY: as above.
    let sum = lanes().map(|lane| unsafe { *place(lane) }).fold(0u32, u32::wrapping_add);
    for lane in lanes() {
        // SAFETY: as above.
        unsafe { *place(lane) = sum };
    }
}

/// Each expansion is a call site of its own.
macro_rules! combine {
    ($value:expr, $width:expr) => {{
        let mut value: u32 = $value;
        let place: *mut c_void = (&raw mut value).cast();
        // SAFETY: the value lives until the call returns.
        unsafe { (runtime_table().simd_combine)(add, place, $width) };
        // SAFETY: reads what the operation wrote.
        unsafe { (&raw const value).read_volatile() }
    }};
}

/// The sum over the threadgroup by halving in threadgroup memory; out[group] = sum of in over the group.
unsafe extern "C" fn reduce(called: *const Group, x: u32, y: u32, z: u32) {
    // SAFETY: the executor's group.
    let called = unsafe { group(called) };
    let thread = linear(called, [x, y, z]) as usize;
    let size = called.threads_per_threadgroup.iter().product::<u32>() as usize;
    let scratch = called.threadgroup[0].cast::<u64>();
    let at_group = called.threadgroup_position_in_grid[0] as usize;
    let whole = called.dispatch_threads_per_threadgroup.iter().product::<u32>() as usize;
    // SAFETY: the input has an element per thread of the grid; the scratch one per thread of the group, in all of this.
    unsafe { *scratch.add(thread) = u64::from(*at::<u32>(called, 0, at_group * whole + thread)) };
    let mut left = size;
    while left > 1 {
        barrier();
        let half = left.div_ceil(2);
        if thread < left - half {
            // SAFETY: as above; the barriers order the accesses.
            unsafe { *scratch.add(thread) += *scratch.add(thread + half) };
        }
        left = half;
    }
    barrier();
    if thread == 0 {
        // SAFETY: the output has an element per threadgroup.
        unsafe { *at::<u64>(called, 1, at_group) = *scratch };
    }
}

#[test]
fn a_tree_reduction_of_every_threadgroup_size() {
    let queue = Queue::new();
    let bindings = vec![buffer(0, 4), buffer(1, 8), threadgroup(0)];
    let pipeline = Pipeline::new(kernel("reduce", Entry::Thread(reduce), bindings));
    for size in [1u64, 2, 3, 31, 32, 33, 63, 64, 100, 127, 256, 500, 1000, 1023, 1024] {
        let n = size * 5 + size / 2;
        let input: Vec<u32> = (0..n as u32).map(|i| i.wrapping_mul(2_654_435_761) >> 3).collect();
        let output = Buffer::new(6 * 8);
        let source = Buffer::of(&input);
        queue
            .run(|encoder| {
                encoder.pipeline(&pipeline);
                encoder.buffer(&source, 0);
                encoder.buffer(&output, 1);
                // SAFETY: the handle is valid.
                ok(unsafe {
                    hostmetal::ffi::hm_compute_set_threadgroup_memory(encoder.0, (size * 8).next_multiple_of(16), 0)
                });
                encoder.threads([n, 1, 1], [size, 1, 1]);
            })
            .assert_completed();
        let sums: Vec<u64> =
            input.chunks(size as usize).map(|chunk| chunk.iter().map(|&v| u64::from(v)).sum()).collect();
        assert_eq!(output.read::<u64>()[..sums.len()], sums, "threadgroups of {size}");
    }
}

/// Shape of the lanes that meet: out[linear index in grid] = what `combine` adds up of 1 per lane, at several places.
unsafe extern "C" fn divergent(called: *const Group, x: u32, y: u32, z: u32) {
    // SAFETY: the executor's group.
    let called = unsafe { group(called) };
    let thread = linear(called, [x, y, z]);
    // SAFETY: only kernels call this.
    let lane = unsafe { (runtime_table().lane)() };
    // SAFETY: the output has 8 numbers for each thread of the group.
    let write = |index: usize, value: u32| unsafe { *at::<u32>(called, 0, thread as usize * 8 + index) = value };
    write(0, lane);
    write(1, combine!(1, 32));
    if lane % 3 == 0 {
        write(2, combine!(lane, 32));
    } else {
        write(2, 100 + combine!(lane, 32));
    }
    write(3, combine!(lane, 4));
    if lane % 4 < 2 {
        write(4, combine!(lane, 4));
    }
    if lane >= 20 {
        return;
    }
    write(5, combine!(1, 32));
    // SAFETY: only kernels call this.
    unsafe { (runtime_table().simdgroup_barrier)(0) };
    barrier();
    write(6, combine!(1, 4));
}

#[test]
fn lanes_meet_by_call_site() {
    let queue = Queue::new();
    let pipeline = Pipeline::new(kernel("divergent", Entry::Thread(divergent), vec![buffer(0, 4)]));
    for size in [[32, 1, 1], [7, 5, 3], [64, 16, 1], [1, 1, 1], [40, 1, 1]] {
        let threads = size.iter().product::<u64>() as u32;
        let output = Buffer::new(u64::from(threads) * 32);
        queue
            .run(|encoder| {
                encoder.pipeline(&pipeline);
                encoder.buffer(&output, 0);
                encoder.groups([1, 1, 1], size);
            })
            .assert_completed();
        let got = output.read::<[u32; 8]>();
        for thread in 0..threads {
            let first = thread / 32 * 32;
            let lanes = (threads - first).min(32);
            let lane = thread % 32;
            let quad = lane / 4 * 4..(lane / 4 * 4 + 4).min(lanes);
            let thirds = (0..lanes).filter(|l| (l % 3 == 0) == (lane % 3 == 0)).sum::<u32>();
            let mut expected = [
                lane,
                lanes,
                thirds + if lane % 3 == 0 { 0 } else { 100 },
                quad.clone().sum(),
                if lane % 4 < 2 { quad.clone().filter(|l| l % 4 < 2).sum() } else { 0 },
                0,
                0,
                0,
            ];
            if lane < 20 {
                expected[5] = lanes.min(20);
                expected[6] = quad.filter(|&l| l < 20).count() as u32;
            }
            assert_eq!(got[thread as usize], expected, "thread {thread} of {size:?}");
        }
    }
}

/// Threads leave one after the other; those that stay count each other at every barrier.
unsafe extern "C" fn leave_early(called: *const Group, x: u32, _: u32, _: u32) {
    // SAFETY: the executor's group.
    let called = unsafe { group(called) };
    let counts = called.threadgroup[0].cast::<u32>();
    // SAFETY: the scratch has one number per round; thread 0 clears it, and never leaves before the last round.
    let count = |round: u32| unsafe { counts.add(round as usize) };
    let size = called.threads_per_threadgroup[0];
    for round in 0..size {
        if x == 0 {
            // SAFETY: as above.
            unsafe { *count(round) = 0 };
        }
        barrier();
        // SAFETY: threads of a group run one at a time.
        unsafe { *count(round) += 1 };
        barrier();
        if x == size - 1 - round {
            // SAFETY: the output has an element per thread.
            unsafe { *at::<u32>(called, 0, x as usize) = *count(round) };
            return;
        }
    }
}

#[test]
fn finished_threads_do_not_count_at_barriers() {
    let queue = Queue::new();
    let bindings = vec![buffer(0, 4), threadgroup(0)];
    let pipeline = Pipeline::new(kernel("leave", Entry::Thread(leave_early), bindings));
    for size in [1u64, 2, 33, 200] {
        let output = Buffer::new(size * 4);
        queue
            .run(|encoder| {
                encoder.pipeline(&pipeline);
                encoder.buffer(&output, 0);
                // SAFETY: the handle is valid.
                ok(unsafe { hostmetal::ffi::hm_compute_set_threadgroup_memory(encoder.0, 1024, 0) });
                encoder.groups([1, 1, 1], [size, 1, 1]);
            })
            .assert_completed();
        // Thread x leaves in round size - 1 - x, when x + 1 threads are left.
        assert_eq!(output.read::<u32>(), (1..=size as u32).collect::<Vec<_>>());
    }
}

/// Half of the threads never reach the first barrier but another one.
unsafe extern "C" fn different_barriers(called: *const Group, x: u32, _: u32, _: u32) {
    // SAFETY: the executor's group.
    let called = unsafe { group(called) };
    if x.is_multiple_of(2) {
        barrier();
        barrier();
    } else {
        barrier();
    }
    // SAFETY: the output has an element per thread.
    unsafe { *at::<u32>(called, 0, x as usize) = 1 };
}

#[test]
fn barriers_that_differ_between_threads_do_not_hang() {
    let queue = Queue::new();
    let pipeline = Pipeline::new(kernel("differ", Entry::Thread(different_barriers), vec![buffer(0, 4)]));
    let output = Buffer::new(400);
    queue
        .run(|encoder| {
            encoder.pipeline(&pipeline);
            encoder.buffer(&output, 0);
            encoder.groups([1, 1, 1], [100, 1, 1]);
        })
        .assert_completed();
    assert_eq!(output.read::<u32>(), [1; 100]);
}

/// Static threadgroup variables: each thread passes its position to the next through one, and a sum through another.
unsafe extern "C" fn variables(called: *const Group, x: u32, y: u32, z: u32) {
    // SAFETY: the executor's group.
    let called = unsafe { group(called) };
    // SAFETY: only kernels call this; the variables are in the kernel's table.
    let (cells, sum) = unsafe {
        let table = runtime_table();
        ((table.threadgroup_allocate)(7, 4096, 4).cast::<u32>(), (table.threadgroup_allocate)(3, 4, 4).cast::<u32>())
    };
    let threads = called.threads_per_threadgroup.iter().product::<u32>();
    let thread = linear(called, [x, y, z]);
    if thread == 0 {
        // SAFETY: the variable is this threadgroup's; barriers order the accesses, here and below.
        unsafe { *sum = 0 };
    }
    barrier();
    // SAFETY: as above; there are up to 1024 cells.
    unsafe { *cells.add(thread as usize) = thread };
    // SAFETY: as above.
    unsafe { *sum += thread };
    barrier();
    // SAFETY: as above.
    let value = unsafe { *cells.add(((thread + 1) % threads) as usize) + *sum * 10_000 };
    let at_group = called.threadgroup_position_in_grid[0] as usize;
    // SAFETY: the output has an element per thread of the grid.
    unsafe { *at::<u32>(called, 0, at_group * threads as usize + thread as usize) = value };
}

#[test]
fn threadgroup_variables_belong_to_the_threadgroup() {
    let queue = Queue::new();
    let mut code = kernel("variables", Entry::Thread(variables), vec![buffer(0, 4)]);
    code.variables = vec![variable(7, 4096), variable(3, 4)];
    let pipeline = Pipeline::new(code);
    let output = Buffer::new(200 * 60 * 4);
    queue
        .run(|encoder| {
            encoder.pipeline(&pipeline);
            encoder.buffer(&output, 0);
            encoder.groups([200, 1, 1], [5, 4, 3]);
        })
        .assert_completed();
    let sum = (0..60).sum::<u32>() * 10_000;
    for (i, value) in output.read::<u32>().into_iter().enumerate() {
        assert_eq!(value, (i as u32 + 1) % 60 + sum);
    }
}

/// 40 KiB of private memory per thread, alive across barriers.
unsafe extern "C" fn private_memory(called: *const Group, x: u32, _: u32, _: u32) {
    // SAFETY: the executor's group.
    let called = unsafe { group(called) };
    let mut own = [x; 10_000];
    for round in 0..3 {
        own[(x as usize * 37 + round) % 10_000] += 1;
        std::hint::black_box(&mut own);
        barrier();
    }
    // SAFETY: the output has an element per thread.
    unsafe { *at::<u32>(called, 0, x as usize) = own.iter().fold(0, |sum, &v| sum.wrapping_add(v)) };
}

#[test]
fn private_memory_survives_barriers() {
    let queue = Queue::new();
    let pipeline = Pipeline::new(kernel("private", Entry::Thread(private_memory), vec![buffer(0, 4)]));
    let output = Buffer::new(1024 * 4);
    queue
        .run(|encoder| {
            encoder.pipeline(&pipeline);
            encoder.buffer(&output, 0);
            encoder.groups([1, 1, 1], [1024, 1, 1]);
        })
        .assert_completed();
    assert_eq!(output.read::<u32>(), (0..1024).map(|x| x * 10_000 + 3).collect::<Vec<u32>>());
}
