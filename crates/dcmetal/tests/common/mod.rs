//! What the tests share: the device, seeded random numbers, poisoned buffers.
#![allow(dead_code, reason = "each test uses a part")]

pub(crate) mod collector;
pub(crate) mod run_line;
pub(crate) mod trace;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use dcmetal::{Accelerator, Buffer, Error, Grid, Kernel, PageVec, Pod, PoolLimits, Result, Submission, args};

/// The default device; a machine that runs these tests has one.
pub(crate) fn gpu() -> Accelerator {
    Accelerator::system_default().expect("a Metal device")
}

/// Has the passes that are encoded from now on overtake each other where Metal allows it, by a seed; 0: they do not. Of this process, so it is for tests
/// that run in threads of one process too: whatever they do is to bear it. On a Mac it is up to the GPU.
pub(crate) fn overlap(seed: u64) {
    #[cfg(target_os = "linux")]
    hostmetal::overlap::set(seed);
    #[cfg(not(target_os = "linux"))]
    let _ = seed;
}

/// Of pools that keep what they have, however long a test takes and however short of memory its machine is.
pub(crate) fn limits() -> PoolLimits {
    PoolLimits { idle_age: Duration::MAX, pressure: false, ..PoolLimits::default() }
}

/// A kernel from MSL.
pub(crate) fn msl(gpu: &Accelerator, source: &str, kernel: &str) -> Kernel {
    let library = gpu.compile_msl(source).unwrap_or_else(|error| panic!("{error}"));
    library.kernel(kernel).unwrap_or_else(|error| panic!("{error}"))
}

/// A buffer whose bytes are none that a test expects.
pub(crate) fn poisoned<T: Pod>(gpu: &Accelerator, len: usize) -> Buffer<T> {
    let mut buffer = gpu.buffer_zeroed::<T>(len).expect("a buffer");
    let mut guard = buffer.write().expect("nobody uses it");
    bytemuck::cast_slice_mut::<T, u8>(&mut guard).fill(0xA5);
    drop(guard);
    buffer
}

/// splitmix64, <https://prng.di.unimi.it/splitmix64.c>.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// In `low..high`.
    pub(crate) fn range(&mut self, low: i64, high: i64) -> i64 {
        low + (self.next() % (high - low) as u64) as i64
    }

    /// Whole numbers as floats: their sums and short products are exact.
    pub(crate) fn whole_floats(&mut self, len: usize) -> Vec<f32> {
        (0..len).map(|_| self.range(-8, 9) as f32).collect()
    }

    pub(crate) fn ints(&mut self, len: usize) -> Vec<i32> {
        (0..len).map(|_| self.range(-1000, 1001) as i32).collect()
    }

    pub(crate) fn words(&mut self, len: usize) -> Vec<u32> {
        (0..len).map(|_| self.next() as u32).collect()
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }
}

/// A submission that runs until the host lets it end, without a clock: the kernel polls a word that the host sets behind
/// the back of the API.
pub(crate) struct Gate {
    word: *mut u32,
    buffer: Buffer<u32>,
    kernel: Kernel,
}

// SAFETY: `word` is only used for an atomic store to pages that `buffer` keeps.
unsafe impl Send for Gate {}
// SAFETY: as for Send.
unsafe impl Sync for Gate {}

impl Gate {
    pub(crate) fn new(gpu: &Accelerator) -> Gate {
        let kernel = msl(
            gpu,
            "#include <metal_stdlib>
            using namespace metal;
            kernel void gated(device atomic_uint* gate [[buffer(0)]], device uint* y [[buffer(1)]]) {
                while (atomic_load_explicit(gate, memory_order_relaxed) == 0u) {}
                y[0] += 1u;
            }",
            "gated",
        );
        let mut pages = PageVec::<u32>::zeroed(1).expect("a page");
        let word = pages.as_mut_ptr();
        let buffer = gpu.buffer_no_copy(pages).expect("a buffer");
        Gate { word, buffer, kernel }
    }

    /// Starts the kernel, which adds 1 to `y[0]` once the gate is open.
    pub(crate) fn start(&mut self, y: &mut Buffer<u32>) -> Result<Submission> {
        self.kernel.launch(Grid::linear(1), args![&mut self.buffer, y])
    }

    /// The word's buffer, for a gated kernel of the test's own.
    pub(crate) fn buffer_mut(&mut self) -> &mut Buffer<u32> {
        &mut self.buffer
    }

    pub(crate) fn open(&self) {
        // SAFETY: the page lives as long as `buffer`; the device reads it with atomic loads only.
        unsafe { AtomicU32::from_ptr(self.word) }.store(1, Ordering::SeqCst);
    }
}

impl Drop for Gate {
    /// A test that fails must not leave the device running.
    fn drop(&mut self) {
        self.open();
    }
}

/// Never drops it. Unlike `mem::forget` it stays reachable, so that a leak checker reports only leaks that are mistakes.
pub(crate) fn leak(submission: Submission) {
    static LEAKED: Mutex<Vec<Submission>> = Mutex::new(Vec::new());
    LEAKED.lock().expect("no panic holds it").push(submission);
}

/// The error a call must end with.
pub(crate) fn refused<T: std::fmt::Debug>(result: Result<T>) -> Error {
    result.expect_err("it must be refused")
}
