//! What is freed and when, by the device's count of this process's bytes; one test, so that nobody else allocates.

mod common;

use common::{Gate, Random, gpu, limits, msl};
use dcmetal::{Accelerator, Grid, Kernel, PageVec, PoolLimits, args};

#[test]
fn memory_is_held_as_long_as_it_is_needed_and_no_longer() {
    allocated_bytes_count();
    nothing_is_freed_while_the_device_uses_it();
    pages_are_freed_with_their_buffer();
    trim_gives_memory_back();
    buffers_outlive_their_pool();
    heaps_count_as_a_whole_and_go_with_their_buffers();
    limits_hold_for_what_the_device_gave();
    a_loop_of_everything_leaves_nothing_behind();
}

fn increment(gpu: &Accelerator) -> Kernel {
    let source =
        "kernel void increment(device uint* y [[buffer(0)]], uint i [[thread_position_in_grid]]) { y[i] += 1u; }";
    msl(gpu, source, "increment")
}

/// Waits for one more submission: what came before it has ended, its completion handlers included.
fn everything_is_done(gpu: &Accelerator) {
    gpu.batch().unwrap().submit().unwrap().wait().unwrap();
}

fn allocated_bytes_count() {
    let gpu = gpu();
    let before = gpu.allocated_bytes();
    let buffer = gpu.buffer_zeroed::<u8>(1 << 20).unwrap();
    assert!(gpu.allocated_bytes() >= before + (1 << 20));
    drop(buffer);
    assert!(gpu.allocated_bytes() < before + (1 << 20));
}

fn nothing_is_freed_while_the_device_uses_it() {
    let gpu = gpu();
    let mut gate = Gate::new(&gpu);
    let mut first = gpu.buffer_zeroed::<u32>(1).unwrap();
    let before = gate.start(&mut first).unwrap();
    // Behind the gate: a submission whose buffer, kernel and handle are all gone before it runs.
    let held = gpu.allocated_bytes();
    let increment = increment(&gpu);
    let mut lost = gpu.buffer_zeroed::<u32>(1 << 20).unwrap();
    let copy = {
        let mut kept = gpu.buffer_zeroed::<u32>(1 << 20).unwrap();
        let mut batch = gpu.batch().unwrap();
        batch.launch(&increment, Grid::linear(1 << 20), args![&mut lost]).unwrap();
        batch.copy(&lost, &mut kept).unwrap();
        drop(batch.submit().unwrap());
        kept
    };
    drop((lost, increment));
    assert!(gpu.allocated_bytes() >= held + (8 << 20), "memory in flight was freed");
    drop(before);
    gate.open();
    assert!(copy.read().unwrap().iter().all(|&v| v == 1));
    drop(copy);
    everything_is_done(&gpu);
    assert!(gpu.allocated_bytes() < held + (8 << 20), "memory was leaked");
}

fn pages_are_freed_with_their_buffer() {
    let gpu = gpu();
    let before = gpu.allocated_bytes();
    drop(gpu.buffer_no_copy(PageVec::<u8>::zeroed(1 << 20).unwrap()).unwrap());
    assert!(gpu.allocated_bytes() < before + (1 << 20));
}

fn trim_gives_memory_back() {
    let gpu = gpu();
    let pool = gpu.pool(limits());
    let before = gpu.allocated_bytes();
    let sizes = [1 << 20, 3 << 20, 1 << 18];
    drop(sizes.map(|size| pool.buffer_zeroed::<u8>(size).unwrap()));
    let held: u64 = sizes.iter().map(|&size| size as u64).sum();
    assert_eq!(pool.stats().idle_bytes, held);
    assert!(gpu.allocated_bytes() >= before + held);
    // The largest first, as much as needed.
    assert_eq!(pool.trim(2 << 20), 3 << 20);
    assert_eq!(pool.stats().idle_buffers, 2);
    assert_eq!(pool.trim(0), held - (3 << 20));
    assert_eq!((pool.stats().idle_bytes, pool.trim(0)), (0, 0));
    assert!(gpu.allocated_bytes() < before + (1 << 18));
}

fn buffers_outlive_their_pool() {
    let gpu = gpu();
    let before = gpu.allocated_bytes();
    let buffer = gpu.pool(limits()).buffer_from(&[7u32; 1 << 18]).unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [7; 1 << 18]);
    drop(buffer);
    assert!(gpu.allocated_bytes() < before + (1 << 20), "the pool of the last buffer was leaked");
}

fn heaps_count_as_a_whole_and_go_with_their_buffers() {
    let gpu = gpu();
    let before = gpu.allocated_bytes();
    let pool = gpu.pool(PoolLimits { heaps: true, ..limits() });
    let held = || {
        let stats = pool.stats();
        assert_eq!(gpu.allocated_bytes() - before, stats.heap_bytes);
        assert_eq!(stats.heap_bytes - stats.heap_free_bytes, stats.used_bytes + stats.idle_bytes);
        (stats.heaps, stats.heap_bytes)
    };
    let first = pool.buffer_from(&[7u32; 64]).unwrap();
    let (one, heap) = held();
    assert_eq!((one, pool.stats().peak_bytes), (1, heap));
    let mut buffers = Vec::new();
    while held() == (1, heap) {
        buffers.push(pool.buffer_from(&[9u32; 64]).unwrap());
    }
    assert_eq!((held(), pool.stats().peak_bytes), ((2, 2 * heap), 2 * heap));
    // A buffer in each of them keeps both.
    let last = buffers.pop().expect("it was the one too many");
    drop(buffers);
    pool.trim(0);
    assert_eq!(held(), (2, 2 * heap));
    assert_eq!((first.to_vec().unwrap(), last.to_vec().unwrap()), (vec![7; 64], vec![9; 64]));
    drop(last);
    pool.trim(0);
    assert_eq!(held(), (1, heap));
    // Behind the gate the device keeps one, whoever lets go of it.
    let mut gate = Gate::new(&gpu);
    let (mut first, with_gate) = (first, gpu.allocated_bytes());
    let submission = gate.start(&mut first).unwrap();
    drop((first, pool));
    assert_eq!(gpu.allocated_bytes(), with_gate);
    gate.open();
    submission.wait().unwrap();
    drop((submission, gate));
    everything_is_done(&gpu);
    assert!(gpu.allocated_bytes() <= before, "the heap was leaked");
}

/// What is kept is within the limit by the device's own count, with and without heaps.
fn limits_hold_for_what_the_device_gave() {
    const LIMIT: u64 = 4 << 20;
    let gpu = gpu();
    for heaps in [false, true] {
        let before = gpu.allocated_bytes();
        let pool = gpu.pool(PoolLimits { bytes: LIMIT, heaps, ..limits() });
        let (mut random, mut lent, mut most) = (Random(5), Vec::new(), 0);
        for step in 0..4800 {
            // Classes of whole pages, which Metal does not round up; the small ones in heaps and, near the limit, by themselves.
            let small = heaps && random.range(0, 3) > 0;
            let bytes = if small { random.range(3585, 4097) } else { 16384 * random.range(1, 5) };
            lent.push(pool.buffer::<u8>(bytes as usize).unwrap());
            while lent.len() > [20, 300, 60, 0][step / 400 % 4] {
                drop(lent.swap_remove(random.range(0, lent.len() as i64) as usize));
            }
            let (given, stats) = (gpu.allocated_bytes() - before, pool.stats());
            assert!(given <= stats.peak_bytes, "{given} of {stats:?}");
            if lent.is_empty() {
                assert!(given <= LIMIT, "{given} kept: {stats:?}");
            }
            most = most.max(stats.heaps);
        }
        let stats = pool.stats();
        assert!(stats.peak_bytes > LIMIT && stats.released > 0 && stats.hits > 0, "{stats:?}");
        assert_eq!(most > 1, heaps);
        drop(pool);
        assert_eq!(gpu.allocated_bytes(), before);
    }
}

fn a_loop_of_everything_leaves_nothing_behind() {
    let gpu = gpu();
    let increment = increment(&gpu);
    let pool = gpu.pool(limits());
    let before = gpu.allocated_bytes();
    for round in 0..200 {
        let mut x = gpu.buffer_zeroed::<u32>(1 << 14).unwrap();
        let mut y = pool.buffer_zeroed::<u32>(1 << 14).unwrap();
        let mut batch = gpu.batch().unwrap();
        batch.launch(&increment, Grid::linear(1 << 14), args![&mut x]).unwrap();
        batch.copy(&x, &mut y).unwrap();
        if round % 3 == 0 {
            let guard = y.read().unwrap();
            assert!(batch.submit().is_err(), "a guard is alive");
            drop(guard);
        } else {
            drop(batch.submit().unwrap());
        }
    }
    everything_is_done(&gpu);
    pool.trim(0);
    assert!(gpu.allocated_bytes() <= before, "{} bytes more", gpu.allocated_bytes() - before);
}
