//! Buffers: contents, views, storage modes, pages, and who may look when.

mod common;

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::{Gate, Random, gpu, msl, poisoned, refused};
use dcmetal::{
    Accelerator, Buffer, Error, GpuFamily, Grid, Kernel, PageVec, PixelFormat, StorageMode, Submission,
    TextureDescriptor, args,
};

const ADD: &str = "kernel void add(device const uint* x [[buffer(0)]], device uint* y [[buffer(1)]],
                                   uint i [[thread_position_in_grid]]) { y[i] += x[i]; }";

fn add(gpu: &Accelerator) -> Kernel {
    msl(gpu, ADD, "add")
}

#[test]
fn the_device_tells_what_it_is() {
    let gpu = gpu();
    assert!(!gpu.name().is_empty());
    let limits = gpu.limits();
    assert!(limits.max_buffer_bytes >= 1 << 20, "{limits:?}");
    assert!(limits.max_threadgroup_memory >= 16 << 10, "{limits:?}");
    assert!(limits.max_threads_per_threadgroup.x >= 32, "{limits:?}");
    assert!(GpuFamily::ALL.iter().any(|&family| gpu.supports_family(family)));
    let all = Accelerator::all().unwrap();
    assert!(all.iter().any(|other| other.registry_id() == gpu.registry_id()), "{all:?}");
}

#[test]
fn new_buffers_are_zero_and_copies_are_copies() {
    let gpu = gpu();
    for len in [1, 2, 3, 5, 4095, 4096, 4097, 100_001] {
        assert!(gpu.buffer_zeroed::<u8>(len).unwrap().read().unwrap().iter().all(|&byte| byte == 0), "{len}");
        let bytes = Random(len as u64).bytes(len);
        let buffer = gpu.buffer_from(&bytes).unwrap();
        assert_eq!((buffer.len(), buffer.size_bytes()), (len, len));
        assert_eq!(buffer.to_vec().unwrap(), bytes);
    }
}

#[test]
fn sizes_that_cannot_be_are_refused() {
    let gpu = gpu();
    assert!(matches!(gpu.buffer_zeroed::<f32>(0), Err(Error::EmptyBuffer)));
    assert!(matches!(gpu.buffer_from::<f32>(&[]), Err(Error::EmptyBuffer)));
    assert!(matches!(PageVec::<f32>::zeroed(0), Err(Error::EmptyBuffer)));
    for len in [usize::MAX, usize::MAX / 8, gpu.limits().max_buffer_bytes as usize / 8 + 1] {
        let error = gpu.buffer_zeroed::<u64>(len).unwrap_err();
        assert!(matches!(error, Error::BufferTooLarge { .. }), "{len}: {error:?}");
    }
    assert!(matches!(PageVec::<u64>::zeroed(usize::MAX), Err(Error::BufferTooLarge { .. })));
    // More than any machine's address space, but a number of bytes; sanitizers' allocators end the process there by default.
    if !cfg!(any(target_os = "macos")) && std::env::var_os("DCMETAL_SANITIZE").is_none() {
        assert!(matches!(PageVec::<u8>::zeroed(1 << 60), Err(Error::OutOfMemory { bytes, .. }) if bytes == 1 << 60));
    }
    let endless = TextureDescriptor { height: 0, ..TextureDescriptor::buffer(PixelFormat::RGBA32Float, usize::MAX) };
    assert!(gpu.texture(&endless).is_err());
    let mut buffer = gpu.buffer_zeroed::<u32>(4).unwrap();
    assert!(matches!(buffer.write_from(&[0; 5]), Err(Error::LengthMismatch { wanted: 4, got: 5, .. })));
}

#[test]
fn labels_are_kept() {
    let gpu = gpu();
    let buffer = gpu.buffer_zeroed::<u32>(4).unwrap();
    let long = "größe ".repeat(100);
    buffer.set_label(&long).unwrap();
    assert_eq!(buffer.label(), long);
    assert!(buffer.set_label("a\0b").is_err());
}

#[test]
fn views_are_checked_and_move_nothing() {
    let gpu = gpu();
    let mut x = gpu.buffer_from(&(0u32..10).collect::<Vec<_>>()).unwrap();
    assert_eq!(x.view(2..=4).unwrap().to_vec().unwrap(), [2, 3, 4]);
    assert_eq!(x.view(2..8).unwrap().view(1..3).unwrap().to_vec().unwrap(), [3, 4]);
    assert!(x.view(10..).unwrap().is_empty());
    #[expect(clippy::reversed_empty_ranges, reason = "it must be refused")]
    for range in [0..11, 11..11, 5..4] {
        assert!(matches!(x.view(range.clone()), Err(Error::OutOfBounds { len: 10, .. })), "{range:?}");
    }
    assert!(matches!(x.view(..=usize::MAX), Err(Error::OutOfBounds { .. })));
    x.view_mut(3..5).unwrap().write().unwrap().copy_from_slice(&[30, 40]);
    let (mut low, mut high) = x.split_at_mut(5).unwrap();
    // Both halves at once, on two threads.
    std::thread::scope(|scope| {
        scope.spawn(|| low.write().unwrap()[0] = 7);
        scope.spawn(|| high.write().unwrap()[4] = 9);
    });
    assert_eq!(x.to_vec().unwrap(), [7, 1, 2, 30, 40, 5, 6, 7, 8, 9]);
    // Other element types: whole, aligned elements only.
    assert_eq!(x.view(0..1).unwrap().reinterpret::<u8>().unwrap().to_vec().unwrap(), 7u32.to_ne_bytes());
    let bytes = x.view(..).unwrap().reinterpret::<u8>().unwrap();
    assert!(matches!(bytes.view(1..5).unwrap().reinterpret::<u32>(), Err(Error::Alignment { offset: 1, .. })));
    assert!(matches!(bytes.view(0..5).unwrap().reinterpret::<u32>(), Err(Error::Alignment { offset: 5, .. })));
}

#[test]
fn every_storage_mode_gives_what_was_put_in() {
    let gpu = gpu();
    let add = add(&gpu);
    let values = Random(5).words(1003);
    let x = gpu.buffer_from(&values).unwrap();
    for storage in [StorageMode::Shared, StorageMode::Managed, StorageMode::Private] {
        let mut y = match gpu.buffer_with::<u32>(1003, storage) {
            Ok(buffer) => buffer,
            // Apple silicon has no managed storage to offer beyond shared; what is not offered is named.
            Err(Error::Unsupported { .. }) if storage == StorageMode::Managed => continue,
            Err(error) => panic!("{storage}: {error}"),
        };
        assert_eq!(y.storage_mode(), storage);
        y.write_from(&[100; 1003]).unwrap();
        for _ in 0..2 {
            add.launch(Grid::linear(1003), args![&x, &mut y]).unwrap().wait().unwrap();
        }
        let wanted: Vec<u32> = values.iter().map(|v| v.wrapping_mul(2).wrapping_add(100)).collect();
        assert_eq!(y.to_vec().unwrap(), wanted, "{storage}");
        // A part that is no multiple of anything.
        assert_eq!(y.view(7..18).unwrap().to_vec().unwrap(), wanted[7..18], "{storage}");
        if storage == StorageMode::Private {
            assert!(matches!(y.read(), Err(Error::NotHostVisible { storage: StorageMode::Private })));
            assert!(matches!(y.write(), Err(Error::NotHostVisible { .. })));
        } else {
            y.write().unwrap()[3] = 1;
            add.launch(Grid::linear(1003), args![&x, &mut y]).unwrap().wait().unwrap();
            assert_eq!(y.read().unwrap()[3], values[3].wrapping_add(1), "{storage}");
        }
    }
    // Bytes that are no multiple of a blit's unit.
    let bytes = Random(6).bytes(13);
    let mut private = gpu.buffer_with::<u8>(13, StorageMode::Private).unwrap();
    private.write_from(&bytes).unwrap();
    assert_eq!(private.to_vec().unwrap(), bytes);
    assert_eq!(private.view(5..10).unwrap().to_vec().unwrap(), bytes[5..10]);
}

#[test]
fn copies_and_fills_keep_to_their_ranges() {
    let gpu = gpu();
    let values = Random(8).bytes(64);
    let x = gpu.buffer_from(&values).unwrap();
    let mut y = poisoned::<u8>(&gpu, 62);
    let mut batch = gpu.batch().unwrap();
    batch.copy(x.view(8..24).unwrap(), y.view_mut(4..20).unwrap()).unwrap();
    batch.fill(y.view_mut(24..32).unwrap(), 0x11).unwrap();
    // To the end of a buffer of 62 bytes: 22 bytes.
    batch.copy(x.view(0..22).unwrap(), y.view_mut(40..).unwrap()).unwrap();
    batch.fill(y.view_mut(60..).unwrap(), 0x22).unwrap();
    batch.copy(x.view(0..0).unwrap(), y.view_mut(1..1).unwrap()).unwrap();
    for (from, to) in [(0..4, 2..6), (2..6, 0..4), (0..6, 0..6)] {
        let error = batch.copy(x.view(from).unwrap(), y.view_mut(to).unwrap()).unwrap_err();
        assert!(matches!(error, Error::Alignment { wanted: 4, .. }), "{error:?}");
    }
    let error = batch.copy(x.view(0..4).unwrap(), y.view_mut(0..8).unwrap()).unwrap_err();
    assert!(matches!(error, Error::LengthMismatch { wanted: 8, got: 4, .. }), "{error:?}");
    assert!(matches!(batch.fill(y.view_mut(0..3).unwrap(), 0), Err(Error::Alignment { .. })));
    let other = common::gpu();
    let mut foreign = other.buffer_zeroed::<u8>(64).unwrap();
    assert!(matches!(batch.copy(&x, &mut foreign), Err(Error::Foreign { .. })));
    batch.submit().unwrap().wait().unwrap();
    let mut wanted = vec![0xA5; 62];
    wanted[4..20].copy_from_slice(&values[8..24]);
    wanted[24..32].fill(0x11);
    wanted[40..62].copy_from_slice(&values[..22]);
    wanted[60..].fill(0x22);
    assert_eq!(y.to_vec().unwrap(), wanted);
    assert_eq!(x.to_vec().unwrap(), values);
    // Within one buffer.
    let mut z = gpu.buffer_from(&values).unwrap();
    let (low, high) = z.split_at_mut(32).unwrap();
    let mut batch = gpu.batch().unwrap();
    batch.copy(low.as_view(), high).unwrap();
    batch.submit().unwrap().wait().unwrap();
    assert_eq!(z.to_vec().unwrap(), [&values[..32], &values[..32]].concat());
}

#[test]
fn pages_are_used_in_place_and_freed_once() {
    let gpu = gpu();
    let add = add(&gpu);
    for len in [1, 1024, 1025, 300_000] {
        let values = Random(len as u64).words(len);
        let pages = PageVec::from_slice(&values).unwrap();
        let start = pages.as_ptr();
        let mut y = gpu.buffer_no_copy(pages).unwrap();
        assert_eq!(y.read().unwrap().as_ptr(), start, "it was copied");
        let x = gpu.buffer_from(&values).unwrap();
        let submission = add.launch(Grid::linear(len), args![&x, &mut y]).unwrap();
        // The pages outlive the buffer while the device uses them.
        let keep = (len != 1025).then_some(y);
        submission.wait().unwrap();
        if let Some(y) = keep {
            let wanted: Vec<u32> = values.iter().map(|v| v.wrapping_mul(2)).collect();
            assert_eq!(y.to_vec().unwrap(), wanted);
        }
    }
}

/// A file in memory, until it is dropped, and then a word of that.
struct Mapped {
    start: NonNull<u8>,
    bytes: usize,
    gone: Arc<AtomicBool>,
}

// SAFETY: it only frees what it has.
unsafe impl Send for Mapped {}
// SAFETY: as for Send; there is nothing to call.
unsafe impl Sync for Mapped {}

impl Mapped {
    fn new(file: &File, bytes: usize) -> (Mapped, Arc<AtomicBool>) {
        let (access, gone) = (libc::PROT_READ | libc::PROT_WRITE, Arc::<AtomicBool>::default());
        // SAFETY: new pages of a file that is as long.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        assert_ne!(start, libc::MAP_FAILED);
        let start = NonNull::new(start.cast()).expect("it was mapped");
        (Mapped { start, bytes, gone: Arc::clone(&gone) }, gone)
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, unmapped once.
        assert_eq!(unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) }, 0);
        self.gone.store(true, Ordering::SeqCst);
    }
}

#[test]
fn a_mapped_file_is_used_in_place() {
    let gpu = gpu();
    let add = add(&gpu);
    for len in [1usize, 1024, 100_001] {
        let values = Random(len as u64).words(len);
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytemuck::cast_slice(&values)).unwrap();
        let (mapped, gone) = Mapped::new(&file, len * 4);
        let start = mapped.start.cast::<u32>();
        // SAFETY: pages of the file's own, which nobody else reaches while they are mapped.
        let pages = unsafe { PageVec::from_raw(start, len, mapped) }.unwrap();
        assert_eq!(*pages, values);
        let mut y = gpu.buffer_no_copy(pages).unwrap();
        let x = gpu.buffer_from(&values).unwrap();
        let submission = add.launch(Grid::linear(len), args![&x, &mut y]).unwrap();
        drop(y);
        submission.wait().unwrap();
        // Metal's handler lets it go soon after.
        let waiting = std::time::Instant::now();
        while !gone.load(Ordering::SeqCst) {
            assert!(waiting.elapsed().as_secs() < 60, "{len}: nobody lets it go");
            std::thread::yield_now();
        }
        let mut written = Vec::new();
        file.rewind().unwrap();
        file.read_to_end(&mut written).unwrap();
        let wanted: Vec<u8> = values.iter().flat_map(|v| v.wrapping_mul(2).to_ne_bytes()).collect();
        assert!(written == wanted, "{len}");
    }
    // What cannot be: in every case the owner goes.
    let pages = || PageVec::from_slice(&[0u32; 4096]).unwrap();
    let at = |pages: &mut PageVec<u32>, at: usize| NonNull::from(&mut pages[at]);
    for (from, len, wanted) in [(1, 8, "Alignment"), (0, 0, "EmptyBuffer"), (0, usize::MAX / 2, "BufferTooLarge")] {
        let mut owner = pages();
        let start = at(&mut owner, from);
        // SAFETY: it is refused.
        let refused = unsafe { PageVec::from_raw(start, len, owner) }.map(drop).unwrap_err();
        assert!(format!("{refused:?}").starts_with(wanted), "{refused:?}");
    }
}

/// Metal, which lets it go, cannot be told of a panic.
#[test]
fn an_owner_that_panics_ends_nobody() {
    struct Panics(PageVec<u32>);
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("on purpose, with {} elements", self.0.len());
        }
    }
    let gpu = gpu();
    let mut owner = Panics(PageVec::from_slice(&[7u32; 100]).unwrap());
    let start = NonNull::new(owner.0.as_mut_ptr()).expect("memory");
    // SAFETY: pages that the owner keeps, and nobody else reaches.
    let pages = unsafe { PageVec::from_raw(start, 100, owner) }.unwrap();
    let y = gpu.buffer_no_copy(pages).unwrap();
    assert_eq!(y.to_vec().unwrap(), [7; 100]);
    drop(y);
    assert_eq!(gpu.buffer_from(&[1u32, 2]).unwrap().to_vec().unwrap(), [1, 2]);
}

#[test]
fn the_host_is_kept_out_while_the_device_writes() {
    let gpu = gpu();
    let mut gate = Gate::new(&gpu);
    let mut y = gpu.buffer_from(&[5u32, 6]).unwrap();
    let submission = gate.start(&mut y).unwrap();
    assert!(matches!(y.try_read(), Err(Error::BufferInUse { .. })));
    assert!(matches!(y.try_write(), Err(Error::BufferInUse { .. })));
    assert!(!submission.is_done());
    std::thread::scope(|scope| {
        // Whoever waits sees the result, not what was there before.
        let reader = scope.spawn(|| y.read().unwrap().to_vec());
        gate.open();
        assert_eq!(reader.join().unwrap(), [6, 6]);
    });
    submission.wait().unwrap();
    y.write().unwrap()[1] = 1;
    assert_eq!(y.to_vec().unwrap(), [6, 1]);
}

/// What the device wrote has to be copied to the host first, behind whatever is in front of the copy.
#[test]
fn trying_to_read_managed_memory_does_not_wait() {
    let gpu = gpu();
    let mut y = match gpu.buffer_with::<u32>(2, StorageMode::Managed) {
        Ok(buffer) => buffer,
        Err(Error::Unsupported { .. }) => return,
        Err(error) => panic!("{error}"),
    };
    y.write_from(&[5, 6]).unwrap();
    let twice = msl(
        &gpu,
        "kernel void twice(device uint* y [[buffer(0)]], uint i [[thread_position_in_grid]]) { y[i] *= 2; }",
        "twice",
    );
    for round in 0..2 {
        twice.launch(Grid::linear(2), args![&mut y]).unwrap().wait().unwrap();
        let event = gpu.event().unwrap();
        let mut batch = gpu.batch().unwrap();
        batch.wait_for(&event, 1).unwrap();
        let behind = batch.submit().unwrap();
        // Nobody else signals it.
        let refused = if round == 0 { y.try_read().map(drop) } else { y.try_write().map(drop) };
        assert!(matches!(refused, Err(Error::BufferInUse { .. })), "{refused:?}");
        event.signal(1).unwrap();
        behind.wait().unwrap();
        while matches!(y.try_read(), Err(Error::BufferInUse { .. })) {
            std::thread::yield_now();
        }
        assert_eq!(y.try_read().unwrap()[..], [10 << round, 12 << round]);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_write_that_is_refused_forgets_no_fault() {
    let gpu = gpu();
    let source = "kernel void over(device int* y [[buffer(0)]], constant int& by [[buffer(1)]]) { y[0] = 7 / by; }";
    let over = msl(&gpu, source, "over");
    let mut y = gpu.buffer_with::<i32>(1, StorageMode::Private).unwrap();
    y.write_from(&[1]).unwrap();
    assert!(over.launch(Grid::linear(1), args![&mut y, 0]).unwrap().wait().is_err());
    let mut open = Vec::new();
    while let Ok(batch) = gpu.batch() {
        open.push(batch);
    }
    assert!(matches!(y.write_from(&[2]), Err(Error::TooManyBatches { .. })));
    drop(open);
    assert!(matches!(y.to_vec(), Err(Error::Faulted { .. })));
    y.write_from(&[3]).unwrap();
    assert_eq!(y.to_vec().unwrap(), [3]);
}

#[test]
fn the_host_may_read_what_the_device_reads() {
    let gpu = gpu();
    let gated = msl(
        &gpu,
        "#include <metal_stdlib>
        using namespace metal;
        kernel void gated(device atomic_uint* gate [[buffer(0)]], device const uint* x [[buffer(1)]],
                          device uint* y [[buffer(2)]]) {
            while (atomic_load_explicit(gate, memory_order_relaxed) == 0u) {}
            y[0] = x[0];
        }",
        "gated",
    );
    let mut gate = Gate::new(&gpu);
    let mut x = gpu.buffer_from(&[3u32]).unwrap();
    let mut y = gpu.buffer_zeroed::<u32>(1).unwrap();
    let submission = gated.launch(Grid::linear(1), args![gate.buffer_mut(), &x, &mut y]).unwrap();
    assert_eq!(x.try_read().unwrap()[..], [3]);
    assert!(matches!(x.try_write(), Err(Error::BufferInUse { .. })));
    gate.open();
    submission.wait().unwrap();
    x.try_write().unwrap()[0] = 4;
    assert_eq!(y.to_vec().unwrap(), [3]);
}

#[test]
fn the_device_is_kept_out_while_the_host_looks() {
    let gpu = gpu();
    let add = add(&gpu);
    let x = gpu.buffer_from(&[1u32, 2]).unwrap();
    let mut y = gpu.buffer_zeroed::<u32>(2).unwrap();
    // Recorded first, looked at meanwhile: the batch borrows nothing, so its submission is what is refused.
    let record = |y: &mut Buffer<u32>| {
        let mut batch = gpu.batch().unwrap();
        batch.launch(&add, Grid::linear(2), args![&x, y]).unwrap();
        batch
    };
    let batch = record(&mut y);
    let guard = y.read().unwrap();
    let error = refused(batch.submit());
    assert!(matches!(error, Error::BufferInUse { .. }) && error.to_string().contains("ReadGuard"), "{error}");
    assert_eq!(guard[..], [0, 0]);
    drop(guard);
    let batch = record(&mut y);
    let mut guard = y.write().unwrap();
    guard[0] = 10;
    let error = refused(batch.submit());
    assert!(error.to_string().contains("WriteGuard"), "{error}");
    drop(guard);
    // What is only read may be looked at, and a refused submission leaves nothing behind.
    let batch = record(&mut y);
    let guard = x.read().unwrap();
    batch.submit().unwrap().wait().unwrap();
    assert_eq!(guard[..], [1, 2]);
    drop(guard);
    assert_eq!(y.to_vec().unwrap(), [11, 2]);
}

#[test]
fn leaked_guards_keep_writers_out_for_good() {
    let gpu = gpu();
    let add = add(&gpu);
    let x = gpu.buffer_from(&[1u32]).unwrap();
    let mut y = gpu.buffer_zeroed::<u32>(1).unwrap();
    std::mem::forget(y.read().unwrap());
    assert!(matches!(refused(add.launch(Grid::linear(1), args![&x, &mut y])), Error::BufferInUse { .. }));
    // Nor does the host write what may be being read; but it reads.
    assert!(matches!(refused(y.write()), Error::BufferInUse { .. }));
    assert_eq!(y.to_vec().unwrap(), [0]);
    std::mem::forget(x.read().unwrap());
    y = gpu.buffer_zeroed(1).unwrap();
    add.launch(Grid::linear(1), args![&x, &mut y]).unwrap().wait().unwrap();
    assert_eq!(y.to_vec().unwrap(), [1]);
}

#[test]
fn launches_in_flight_that_write_one_buffer_run_in_order() {
    let gpu = gpu();
    // y = 2 y, then y = y + 1: another order gives another result.
    let double = msl(&gpu, "kernel void d(device uint* y [[buffer(0)]]) { y[0] *= 2u; }", "d");
    let increment = msl(&gpu, "kernel void i(device uint* y [[buffer(0)]]) { y[0] += 1u; }", "i");
    let mut y = gpu.buffer_from(&[1u32]).unwrap();
    let mut wanted = 1u32;
    for _ in 0..100 {
        drop(double.launch(Grid::linear(1), args![&mut y]).unwrap());
        drop(increment.launch(Grid::linear(1), args![&mut y]).unwrap());
        wanted = wanted.wrapping_mul(2).wrapping_add(1);
    }
    assert_eq!(y.to_vec().unwrap(), [wanted]);
}

#[test]
fn threads_share_a_device() {
    let gpu = gpu();
    let add = add(&gpu);
    let x = gpu.buffer_from(&(0u32..1000).collect::<Vec<_>>()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8u32 {
            let (gpu, add, x) = (&gpu, &add, &x);
            scope.spawn(move || {
                let mut y = gpu.buffer_from(&vec![thread; 1000]).unwrap();
                for _ in 0..20 {
                    drop(add.launch(Grid::linear(1000), args![x, &mut y]).unwrap());
                }
                let wanted: Vec<u32> = (0..1000).map(|i| thread + 20 * i).collect();
                assert_eq!(y.to_vec().unwrap(), wanted);
            });
        }
    });
}

/// What the documentation says about threads, kept by the compiler.
#[test]
fn types_are_send_and_sync_as_documented() {
    fn both<T: Send + Sync>() {}
    fn send<T: Send>() {}
    both::<Accelerator>();
    both::<Buffer<f32>>();
    both::<Kernel>();
    both::<dcmetal::Library>();
    both::<Submission>();
    both::<dcmetal::BufferPool>();
    both::<PageVec<u8>>();
    both::<Error>();
    send::<dcmetal::Batch>();
}
