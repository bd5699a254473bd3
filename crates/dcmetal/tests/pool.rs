//! The pool: what is used again, when, and what it counts; with allocations of buffers' own, and with heaps.

mod common;

use std::time::{Duration, Instant};

use bytemuck::{Pod, Zeroable};
use common::{Gate, Random, gpu, limits, msl};
use dcmetal::{Accelerator, Buffer, BufferPool, Error, Grid, PoolLimits, args};

/// Bytes of a heap.
const HEAP: u64 = 256 << 10;

fn with_heaps() -> PoolLimits {
    PoolLimits { heaps: true, ..limits() }
}

/// A pool without heaps, and one with them.
fn pools() -> [BufferPool; 2] {
    [limits(), with_heaps()].map(|limits| gpu().pool(limits))
}

/// By the pool's own thread: nobody calls.
#[test]
fn what_is_idle_for_longer_than_its_age_is_released() {
    let pool = gpu().pool(PoolLimits { idle_age: Duration::from_millis(20), ..limits() });
    drop(pool.buffer::<u8>(4096).unwrap());
    let start = Instant::now();
    while pool.stats().released == 0 {
        assert!(start.elapsed() < Duration::from_secs(60), "it stays: {:?}", pool.stats());
        std::thread::yield_now();
    }
    assert_eq!((pool.stats().idle_buffers, pool.stats().released), (0, 1));
}

#[test]
fn a_steady_loop_allocates_once() {
    for (pool, peak) in pools().iter().zip([4096, HEAP]) {
        for step in 0..1000u32 {
            // Sizes of one class: 1000 and 1024 words both take 4096 bytes.
            let buffer = pool.buffer_from(&vec![step; if step % 2 == 0 { 1000 } else { 1024 }]).unwrap();
            assert_eq!(buffer.read().unwrap()[999], step);
        }
        let stats = pool.stats();
        assert_eq!((stats.misses, stats.hits), (1, 999), "{stats:?}");
        assert_eq!((stats.idle_buffers, stats.idle_bytes, stats.used_buffers, stats.used_bytes), (1, 4096, 0, 0));
        assert_eq!(stats.peak_bytes, peak);
    }
}

#[test]
fn a_label_goes_with_its_user() {
    for pool in pools() {
        let buffer = pool.buffer_zeroed::<u32>(4).unwrap();
        buffer.set_label("weights").unwrap();
        assert_eq!(buffer.label(), "weights");
        drop(buffer);
        let buffer = pool.buffer::<u32>(4).unwrap();
        assert_eq!((pool.stats().hits, buffer.label()), (1, String::new()));
    }
}

#[test]
fn buffers_in_use_at_once_are_different_ones() {
    for pool in pools() {
        let mut buffers: Vec<_> = (0..10u32).map(|i| pool.buffer_from(&[i; 100]).unwrap()).collect();
        buffers.truncate(5);
        buffers.extend((10..20u32).map(|i| pool.buffer_from(&[i; 100]).unwrap()));
        for (buffer, wanted) in buffers.iter().zip((0..5).chain(10..20)) {
            assert_eq!(buffer.to_vec().unwrap(), [wanted; 100]);
        }
        assert_eq!(pool.stats().misses, 15 - 5 + 5);
    }
}

#[test]
fn what_is_in_flight_is_not_handed_out() {
    for limits in [limits(), with_heaps()] {
        stays_in_use_until_the_device_is_done(&gpu(), limits);
    }
}

fn stays_in_use_until_the_device_is_done(gpu: &Accelerator, limits: PoolLimits) {
    let pool = gpu.pool(limits);
    let mut gate = Gate::new(gpu);
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
    for pool in pools() {
        drop(pool.buffer_from(&[u64::MAX; 300]).unwrap());
        assert_eq!(pool.buffer_zeroed::<u8>(2400).unwrap().to_vec().unwrap(), [0; 2400]);
        assert_eq!(pool.stats().hits, 1);
        // Room in a heap that another buffer had, of a class of its own.
        drop((0..200).map(|_| pool.buffer_from(&[u64::MAX; 300]).unwrap()).collect::<Vec<_>>());
        pool.trim(2560);
        let zeroed: Vec<_> = (0..200).map(|_| pool.buffer_zeroed::<u8>(1280).unwrap()).collect();
        assert!(zeroed.iter().all(|buffer| buffer.to_vec().unwrap() == [0; 1280]));
    }
}

#[test]
fn what_comes_back_above_a_limit_is_released() {
    let gpu = gpu();
    let pool = gpu.pool(PoolLimits { bytes: 10 * 1024, ..limits() });
    drop((0..20).map(|_| pool.buffer_zeroed::<u8>(1024).unwrap()).collect::<Vec<_>>());
    let stats = pool.stats();
    assert_eq!((stats.idle_buffers, stats.idle_bytes, stats.released), (10, 10 * 1024, 10), "{stats:?}");
    let pool = gpu.pool(PoolLimits { buffers: 3, ..limits() });
    drop((0..20).map(|_| pool.buffer_zeroed::<u8>(1024).unwrap()).collect::<Vec<_>>());
    assert_eq!(pool.stats().idle_buffers, 3);
}

#[test]
fn waste_is_what_nobody_asked_for() {
    for (pool, heap_bytes) in pools().iter().zip([0, HEAP]) {
        let asked = [1025, 1280, 1].map(|bytes| pool.buffer::<u8>(bytes).unwrap());
        let stats = pool.stats();
        // Classes of 1280, 1280 and 256 bytes.
        assert_eq!((stats.used_bytes, stats.waste_bytes), (1280 + 1280 + 256, 255 + 255));
        let free = heap_bytes.saturating_sub(stats.used_bytes);
        assert_eq!((stats.heaps, stats.heap_bytes, stats.heap_free_bytes), (heap_bytes / HEAP, heap_bytes, free));
        drop(asked);
        assert_eq!((pool.stats().used_bytes, pool.stats().waste_bytes), (0, 0));
        assert_eq!(pool.stats().heap_free_bytes, free, "what is idle is not free");
    }
}

#[test]
fn wrong_sizes_are_refused_as_by_the_device() {
    for pool in pools() {
        assert!(matches!(pool.buffer::<u32>(0), Err(Error::EmptyBuffer)));
        assert!(matches!(pool.buffer::<u64>(usize::MAX / 8), Err(Error::BufferTooLarge { .. })));
        assert_eq!(pool.stats(), Default::default());
    }
}

#[test]
fn threads_share_a_pool() {
    for pool in pools() {
        std::thread::scope(|scope| {
            for thread in 0..8u64 {
                let pool = &pool;
                scope.spawn(move || {
                    let mut random = Random(thread);
                    let mut held = Vec::new();
                    for step in 0..500u64 {
                        let len = random.range(1, if step % 2 == 0 { 500 } else { 5000 }) as usize;
                        let mark = thread << 32 | step;
                        held.push((pool.buffer_from(&vec![mark; len]).unwrap(), mark));
                        if held.len() > 4 {
                            let (buffer, mark) = held.swap_remove(random.range(0, 5) as usize);
                            assert!(buffer.read().unwrap().iter().all(|&v| v == mark), "two owners of one buffer");
                        }
                        if step % 100 == 99 {
                            pool.trim(0);
                        }
                    }
                });
            }
        });
        let stats = pool.stats();
        assert_eq!((stats.used_buffers, stats.used_bytes, stats.waste_bytes), (0, 0, 0));
        assert_eq!(stats.hits + stats.misses, 8 * 500);
        assert_eq!(stats.idle_buffers + stats.released, stats.misses);
        pool.trim(0);
        assert_eq!((pool.stats().heaps, pool.stats().heap_bytes, pool.stats().heap_free_bytes), (0, 0, 0));
    }
}

// ------------------------------------------------------------------ heaps

/// Whether a buffer of so many bytes is part of a heap, of a pool that has none yet.
fn in_heap<T: Pod>(limits: PoolLimits, len: usize) -> bool {
    let pool = gpu().pool(limits);
    let _buffer = pool.buffer::<T>(len).unwrap();
    pool.stats().heaps == 1
}

#[test]
fn small_buffers_are_parts_of_heaps_where_that_was_asked_for() {
    for (name, limits, len, wanted) in [
        ("not asked for", limits(), 1, false),
        ("small", with_heaps(), 1, true),
        ("the largest", with_heaps(), 4096, true),
        ("too large", with_heaps(), 4097, false),
        ("limits that hold sixteen", PoolLimits { bytes: 16 * HEAP, ..with_heaps() }, 1, true),
        ("limits that do not", PoolLimits { bytes: 16 * HEAP - 1, ..with_heaps() }, 1, false),
    ] {
        assert_eq!(in_heap::<u8>(limits, len), wanted, "{name}");
    }
}

/// Elements that the host could not read at any multiple of 16.
#[test]
fn elements_of_any_alignment_can_be_read() {
    #[derive(Clone, Copy, PartialEq, Debug, Pod, Zeroable)]
    #[repr(C, align(16))]
    struct Vector([u32; 4]);
    #[derive(Clone, Copy, PartialEq, Debug, Pod, Zeroable)]
    #[repr(C, align(1024))]
    struct Page([u32; 256]);
    assert!(in_heap::<Vector>(with_heaps(), 10));
    assert!(!in_heap::<Page>(with_heaps(), 1));
    let pool = gpu().pool(with_heaps());
    // Idle parts of heaps of the pages' own class would be in the way, if those took them.
    drop((0..7).map(|_| pool.buffer::<u8>(256).unwrap()).collect::<Vec<_>>());
    drop((0..7).map(|_| pool.buffer::<u8>(1024).unwrap()).collect::<Vec<_>>());
    let pages: Vec<_> = (0..7).map(|i| pool.buffer_from(&[Page([i; 256])]).unwrap()).collect();
    for (i, page) in (0..).zip(&pages) {
        assert_eq!(page.to_vec().unwrap(), [Page([i; 256])]);
    }
}

/// Kernels fill buffers of all small sizes that come and go: none lies over another.
#[test]
fn buffers_of_heaps_keep_to_themselves() {
    let gpu = gpu();
    let source = "kernel void fill(device uchar* y [[buffer(0)]], constant uchar& mark [[buffer(1)]], uint i [[thread_position_in_grid]]) {
        y[i] = mark ^ uchar(i);
    }";
    let fill = msl(&gpu, source, "fill");
    let pool = gpu.pool(with_heaps());
    let mut random = Random(7);
    let mut held: Vec<(Buffer<u8>, u8)> = Vec::new();
    for round in 0..12 {
        let mut batch = gpu.batch().unwrap();
        for _ in 0..100 {
            let (len, mark) = (random.range(1, 4097) as usize, random.next() as u8);
            let mut buffer = pool.buffer::<u8>(len).unwrap();
            batch.launch(&fill, Grid::linear(len), args![&mut buffer, mark]).unwrap();
            held.push((buffer, mark));
        }
        batch.submit().unwrap().wait().unwrap();
        for (buffer, mark) in &held {
            let read = buffer.read().unwrap();
            assert!(
                read.iter().enumerate().all(|(i, v)| *v == mark ^ i as u8),
                "{} bytes, round {round}",
                buffer.len()
            );
        }
        for _ in 0..random.range(40, 100) {
            held.swap_remove(random.range(0, held.len() as i64) as usize);
        }
        if round % 3 == 0 {
            pool.trim(0);
        }
    }
    let stats = pool.stats();
    assert!(stats.heaps > 1 && stats.hits > 0 && stats.released > 0, "{stats:?}");
}

/// One buffer that lives long keeps its heap, and the rest of the heap is used before there is another.
#[test]
fn room_that_comes_back_is_used() {
    let pool = gpu().pool(with_heaps());
    // The first buffer of each heap, and the others.
    let (mut kept, mut others) = (Vec::new(), Vec::new());
    while kept.len() < 5 {
        let buffer = pool.buffer::<u8>(4096).unwrap();
        let begins = pool.stats().heaps as usize > kept.len();
        if begins { &mut kept } else { &mut others }.push(buffer);
    }
    drop(kept.pop());
    let count = others.len();
    drop(others);
    pool.trim(0);
    assert_eq!((pool.stats().heaps, pool.stats().used_buffers), (4, 4));
    let more: Vec<_> = (0..count).map(|_| pool.buffer::<u8>(4096).unwrap()).collect();
    assert_eq!(pool.stats().heaps, 4, "there was room");
    let one_more = pool.buffer::<u8>(4096).unwrap();
    assert_eq!(pool.stats().heaps, 5);
    drop((one_more, more));
    pool.trim(0);
    assert_eq!(pool.stats().heaps, 4);
    drop(kept);
    assert_eq!(pool.stats().heaps, 4, "their buffers are idle");
    pool.trim(0);
    assert_eq!((pool.stats().heaps, pool.stats().heap_bytes), (0, 0));
}
