//! What is freed and when, by the device's count of this process's bytes; one test, so that nobody else allocates.

mod common;

use common::{Gate, gpu, msl};
use dcmetal::{Accelerator, Grid, Kernel, PageVec, PoolLimits, args};

#[test]
fn memory_is_held_as_long_as_it_is_needed_and_no_longer() {
    allocated_bytes_count();
    nothing_is_freed_while_the_device_uses_it();
    pages_are_freed_with_their_buffer();
    trim_gives_memory_back();
    buffers_outlive_their_pool();
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
    let pool = gpu.pool(PoolLimits::default());
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
    let buffer = gpu.pool(PoolLimits::default()).buffer_from(&[7u32; 1 << 18]).unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [7; 1 << 18]);
    drop(buffer);
    assert!(gpu.allocated_bytes() < before + (1 << 20), "the pool of the last buffer was leaked");
}

fn a_loop_of_everything_leaves_nothing_behind() {
    let gpu = gpu();
    let increment = increment(&gpu);
    let pool = gpu.pool(PoolLimits::default());
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
