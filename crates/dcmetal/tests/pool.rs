//! The pool: what is used again, when, and what it counts.

mod common;

use common::{Gate, Random, gpu};
use dcmetal::{BufferPool, Error, PoolLimits};

fn pool() -> BufferPool {
    gpu().pool(PoolLimits::default())
}

#[test]
fn a_steady_loop_allocates_once() {
    let pool = pool();
    for step in 0..1000u32 {
        // Sizes of one class: 1000 and 1024 words both take 4096 bytes.
        let buffer = pool.buffer_from(&vec![step; if step % 2 == 0 { 1000 } else { 1024 }]).unwrap();
        assert_eq!(buffer.read().unwrap()[999], step);
    }
    let stats = pool.stats();
    assert_eq!((stats.misses, stats.hits), (1, 999), "{stats:?}");
    assert_eq!((stats.idle_buffers, stats.idle_bytes, stats.used_buffers, stats.used_bytes), (1, 4096, 0, 0));
    assert_eq!(stats.peak_bytes, 4096);
}

#[test]
fn buffers_in_use_at_once_are_different_ones() {
    let pool = pool();
    let mut buffers: Vec<_> = (0..10u32).map(|i| pool.buffer_from(&[i; 100]).unwrap()).collect();
    buffers.truncate(5);
    buffers.extend((10..20u32).map(|i| pool.buffer_from(&[i; 100]).unwrap()));
    for (buffer, wanted) in buffers.iter().zip((0..5).chain(10..20)) {
        assert_eq!(buffer.to_vec().unwrap(), [wanted; 100]);
    }
    assert_eq!(pool.stats().misses, 15 - 5 + 5);
}

#[test]
fn what_is_in_flight_is_not_handed_out() {
    let gpu = gpu();
    let pool = gpu.pool(PoolLimits::default());
    let mut gate = Gate::new(&gpu);
    let mut y = pool.buffer_zeroed::<u32>(64).unwrap();
    let submission = gate.start(&mut y).unwrap();
    drop(y);
    // The device still writes it: it is in use, and the next one is another.
    assert_eq!((pool.stats().used_buffers, pool.stats().idle_buffers), (1, 0));
    let other = pool.buffer_zeroed::<u32>(64).unwrap();
    assert_eq!(pool.stats().misses, 2);
    gate.open();
    submission.wait().unwrap();
    assert_eq!((pool.stats().used_buffers, pool.stats().idle_buffers), (1, 1));
    assert_eq!(other.to_vec().unwrap(), [0; 64]);
    drop(other);
    let again = pool.buffer::<u32>(64).unwrap();
    assert_eq!((pool.stats().misses, pool.stats().hits), (2, 1));
    drop(again);
}

#[test]
fn zeroed_buffers_are_zero_whoever_had_them() {
    let pool = pool();
    drop(pool.buffer_from(&[u64::MAX; 300]).unwrap());
    assert_eq!(pool.buffer_zeroed::<u8>(2400).unwrap().to_vec().unwrap(), [0; 2400]);
    assert_eq!(pool.stats().hits, 1);
}

#[test]
fn what_comes_back_above_a_limit_is_released() {
    let gpu = gpu();
    let pool = gpu.pool(PoolLimits { bytes: 10 * 1024, ..PoolLimits::default() });
    drop((0..20).map(|_| pool.buffer_zeroed::<u8>(1024).unwrap()).collect::<Vec<_>>());
    let stats = pool.stats();
    assert_eq!((stats.idle_buffers, stats.idle_bytes, stats.released), (10, 10 * 1024, 10), "{stats:?}");
    let pool = gpu.pool(PoolLimits { buffers: 3, ..PoolLimits::default() });
    drop((0..20).map(|_| pool.buffer_zeroed::<u8>(1024).unwrap()).collect::<Vec<_>>());
    assert_eq!(pool.stats().idle_buffers, 3);
}

#[test]
fn waste_is_what_nobody_asked_for() {
    let pool = pool();
    let buffers = [pool.buffer::<u8>(1025).unwrap(), pool.buffer::<u8>(1280).unwrap(), pool.buffer::<u8>(1).unwrap()];
    let stats = pool.stats();
    // Classes of 1280, 1280 and 256 bytes.
    assert_eq!((stats.used_bytes, stats.waste_bytes), (1280 + 1280 + 256, 255 + 255));
    drop(buffers);
    assert_eq!((pool.stats().used_bytes, pool.stats().waste_bytes), (0, 0));
}

#[test]
fn wrong_sizes_are_refused_as_by_the_device() {
    let pool = pool();
    assert!(matches!(pool.buffer::<u32>(0), Err(Error::EmptyBuffer)));
    assert!(matches!(pool.buffer::<u64>(usize::MAX / 8), Err(Error::BufferTooLarge { .. })));
    assert_eq!(pool.stats(), Default::default());
}

#[test]
fn threads_share_a_pool() {
    let pool = pool();
    std::thread::scope(|scope| {
        for thread in 0..8u64 {
            let pool = &pool;
            scope.spawn(move || {
                let mut random = Random(thread);
                let mut held = Vec::new();
                for step in 0..500u64 {
                    let len = random.range(1, 5000) as usize;
                    let mark = thread << 32 | step;
                    held.push((pool.buffer_from(&vec![mark; len]).unwrap(), mark));
                    if held.len() > 4 {
                        let (buffer, mark) = held.swap_remove(random.range(0, 5) as usize);
                        assert!(buffer.read().unwrap().iter().all(|&v| v == mark), "two owners of one buffer");
                    }
                }
            });
        }
    });
    let stats = pool.stats();
    assert_eq!((stats.used_buffers, stats.used_bytes, stats.waste_bytes), (0, 0, 0));
    assert_eq!(stats.hits + stats.misses, 8 * 500);
    assert_eq!(stats.idle_buffers + stats.released, stats.misses);
}
