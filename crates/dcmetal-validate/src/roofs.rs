//! What the machine can do at most: bytes moved and floating-point operations done in a second.
//!
//! The host's are plain loops on as many threads, for the widest vectors that the processor has. They are the rooflines of
//! hostmetal, whose device is that processor; a GPU's are its own copies and a kernel of multiply-adds, verified.

use std::hint::black_box;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use dcmetal::{Accelerator, Grid, Result, args};

use crate::Refusal;

/// Of a turn, of which the best of some counts.
const TURN: Duration = Duration::from_millis(3);
const TURNS: usize = 5;

/// The best of some turns of `calls` calls each, in seconds a call, on so many threads; each has work of its own.
fn best<W: Send>(work: &mut [W], call: impl Fn(&mut W) + Sync) -> f64 {
    let mut calls = 1;
    let mut best = f64::INFINITY;
    let mut turns = 0;
    while turns < TURNS {
        let begin = Barrier::new(work.len());
        let timed = |work: &mut W| {
            begin.wait();
            let start = Instant::now();
            (0..calls).for_each(|_| call(work));
            start.elapsed()
        };
        let timed = &timed;
        let longest = std::thread::scope(|scope| {
            let threads: Vec<_> = work.iter_mut().map(|work| scope.spawn(move || timed(work))).collect();
            threads.into_iter().map(|thread| thread.join().expect("loops do not panic")).max()
        });
        let longest = longest.unwrap_or_default();
        if longest < TURN && calls < 1 << 24 {
            calls *= 2;
        } else {
            turns += 1;
            best = best.min(longest.as_secs_f64() / f64::from(calls));
        }
    }
    best
}

/// Multiply-adds of a chain.
const STEPS: usize = 4096;

/// Makes `multiply_adds` and `sum` of vectors: so many independent chains that latency hides, and no more than registers hold. Arrays of
/// numbers would be vectors only if the compiler saw them so, and it did not.
macro_rules! loops {
    ($name:ident, $feature:literal, $vector:ty, $chains:literal, $splat:ident, $load:ident, $add:ident, $stream:ident, |$x:ident, $by:ident, $plus:ident| $step:expr) => {
        mod $name {
            use super::*;

            const WIDTH: usize = size_of::<$vector>() / 4;
            pub(super) const FLOPS: f64 = ($chains * STEPS * WIDTH * 2) as f64;

            #[target_feature(enable = $feature)]
            pub(super) fn multiply_adds(by: f32, plus: f32) -> f32 {
                let ($by, $plus) = ($splat(by), $splat(plus));
                let mut chains = [$by; $chains];
                for _ in 0..STEPS {
                    for chain in &mut chains {
                        let $x = *chain;
                        *chain = $step;
                    }
                }
                // SAFETY: a vector of floats is floats, and any bits are a float.
                let lanes: [[f32; WIDTH]; $chains] = unsafe { std::mem::transmute(chains) };
                lanes.iter().flatten().sum()
            }

            /// Around the caches, where the processor has stores for that.
            #[target_feature(enable = $feature)]
            pub(super) fn copy(from: &[f32], to: &mut [f32]) {
                let lead = to.as_ptr().align_offset(size_of::<$vector>()).min(to.len());
                let (first, to) = to.split_at_mut(lead);
                let (first_from, from) = from.split_at(lead);
                first.copy_from_slice(first_from);
                let mut parts = to.chunks_exact_mut(WIDTH);
                let mut parts_from = from.chunks_exact(WIDTH);
                for (to, from) in (&mut parts).zip(&mut parts_from) {
                    // SAFETY: the part is as long as a vector.
                    let vector = unsafe { $load(from.as_ptr()) };
                    // SAFETY: so is this one, and it lies where a vector may; the fence below comes before anybody reads it.
                    unsafe { $stream(to.as_mut_ptr(), vector) };
                }
                fence();
                parts.into_remainder().copy_from_slice(parts_from.remainder());
            }

            #[target_feature(enable = $feature)]
            pub(super) fn sum(words: &[f32]) -> f32 {
                let mut sums = [$splat(0.0); 8];
                for block in words.chunks_exact(8 * WIDTH) {
                    for (sum, part) in sums.iter_mut().zip(block.chunks_exact(WIDTH)) {
                        // SAFETY: the part is as long as a vector.
                        let vector = unsafe { $load(part.as_ptr()) };
                        *sum = $add(*sum, vector);
                    }
                }
                // SAFETY: as above.
                let lanes: [[f32; WIDTH]; 8] = unsafe { std::mem::transmute(sums) };
                lanes.iter().flatten().sum()
            }
        }
    };
}

/// For the widest vectors of the processor.
struct Loops {
    /// Floating-point operations of a call of `multiply_adds`.
    flops: f64,
    multiply_adds: fn(f32, f32) -> f32,
    sum: fn(&[f32]) -> f32,
    copy: fn(&[f32], &mut [f32]),
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::*;

    use super::*;

    /// Before what the streams wrote is read.
    fn fence() {
        // SAFETY: every x86-64 has SSE.
        unsafe { _mm_sfence() };
    }

    loops!(
        sixteen,
        "avx512f",
        __m512,
        12,
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_add_ps,
        _mm512_stream_ps,
        |x, by, plus| _mm512_fmadd_ps(x, by, plus)
    );
    loops!(
        eight,
        "avx2,fma",
        __m256,
        12,
        _mm256_set1_ps,
        _mm256_loadu_ps,
        _mm256_add_ps,
        _mm256_stream_ps,
        |x, by, plus| _mm256_fmadd_ps(x, by, plus)
    );
    loops!(four, "sse2", __m128, 12, _mm_set1_ps, _mm_loadu_ps, _mm_add_ps, _mm_stream_ps, |x, by, plus| {
        _mm_add_ps(_mm_mul_ps(x, by), plus)
    });

    pub(super) fn of_this_processor() -> Loops {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has the feature.
            let multiply_adds = |by, plus| unsafe { sixteen::multiply_adds(by, plus) };
            // SAFETY: the processor has the feature.
            let sum = |words: &[f32]| unsafe { sixteen::sum(words) };
            // SAFETY: the processor has the feature.
            let copy = |from: &[f32], to: &mut [f32]| unsafe { sixteen::copy(from, to) };
            Loops { flops: sixteen::FLOPS, multiply_adds, sum, copy }
        } else if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has both features.
            let multiply_adds = |by, plus| unsafe { eight::multiply_adds(by, plus) };
            // SAFETY: the processor has both features.
            let sum = |words: &[f32]| unsafe { eight::sum(words) };
            // SAFETY: the processor has both features.
            let copy = |from: &[f32], to: &mut [f32]| unsafe { eight::copy(from, to) };
            Loops { flops: eight::FLOPS, multiply_adds, sum, copy }
        } else {
            // SAFETY: every x86-64 has SSE2.
            let multiply_adds = |by, plus| unsafe { four::multiply_adds(by, plus) };
            // SAFETY: every x86-64 has SSE2.
            let sum = |words: &[f32]| unsafe { four::sum(words) };
            // SAFETY: every x86-64 has SSE2.
            let copy = |from: &[f32], to: &mut [f32]| unsafe { four::copy(from, to) };
            Loops { flops: four::FLOPS, multiply_adds, sum, copy }
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod wide {
    use std::arch::aarch64::*;

    use super::*;

    /// Stores are ordinary ones.
    fn fence() {}

    loops!(four, "neon", float32x4_t, 24, vdupq_n_f32, vld1q_f32, vaddq_f32, vst1q_f32, |x, by, plus| vfmaq_f32(
        plus, x, by
    ));

    pub(super) fn of_this_processor() -> Loops {
        // SAFETY: every aarch64 of ours has NEON.
        let multiply_adds = |by, plus| unsafe { four::multiply_adds(by, plus) };
        // SAFETY: every aarch64 of ours has NEON.
        let sum = |words: &[f32]| unsafe { four::sum(words) };
        // SAFETY: every aarch64 of ours has NEON.
        let copy = |from: &[f32], to: &mut [f32]| unsafe { four::copy(from, to) };
        Loops { flops: four::FLOPS, multiply_adds, sum, copy }
    }
}

/// Floating-point operations in a second, on so many threads of the host.
pub fn host_flops(threads: usize) -> f64 {
    let Loops { flops, multiply_adds, .. } = wide::of_this_processor();
    let seconds = best(&mut vec![(); threads], |()| {
        black_box(multiply_adds(black_box(0.5), black_box(0.25)));
    });
    flops * threads as f64 / seconds
}

/// The best of copying, through the caches and around them, and of reading so many bytes in all, in bytes a second, on so many
/// threads of the host.
pub fn host_bytes(threads: usize, footprint: f64) -> f64 {
    let Loops { sum, copy, .. } = wide::of_this_processor();
    let words = ((footprint / 4.0) as usize / threads).max(1024);
    let bytes = (words * threads * 4) as f64;
    let mut halves: Vec<_> = (0..threads).map(|_| (vec![1f32; words / 2], vec![0f32; words / 2])).collect();
    let copied = best(&mut halves, |(from, to)| black_box(to).copy_from_slice(black_box(from)));
    let streamed = best(&mut halves, |(from, to)| copy(black_box(from), black_box(to)));
    drop(halves);
    let read = best(&mut vec![vec![1f32; words]; threads], |words| {
        black_box(sum(black_box(words)));
    });
    bytes / copied.min(streamed).min(read)
}

/// Launches or copies of a batch.
const REPEATS: usize = 8;

/// Bytes in a second of the device's own copies, as many as the footprint in all, verified.
///
/// # Errors
/// When a copy fails or is wrong.
pub fn device_bytes(gpu: &Accelerator, footprint: f64) -> Result<f64, Refusal> {
    let words = ((footprint / 8.0) as usize).max(1024);
    let values: Vec<u32> = (0..words as u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
    let (from, mut to) = (gpu.buffer_from(&values)?, gpu.buffer_zeroed::<u32>(words)?);
    let mut best = f64::INFINITY;
    for turn in 0..=TURNS {
        let mut batch = gpu.batch()?;
        (0..REPEATS).try_for_each(|_| batch.copy(&from, &mut to))?;
        let start = Instant::now();
        batch.submit()?.wait()?;
        // The first is the warm-up.
        best = if turn == 0 { best } else { best.min(start.elapsed().as_secs_f64()) };
    }
    if to.to_vec()? != values {
        return Err(Refusal::Broken("the roofline's copy is not what was copied".to_owned()));
    }
    Ok((REPEATS * words * 8) as f64 / best)
}

const MULTIPLY_ADDS: &str = "
    kernel void multiply_adds(device float* y [[buffer(0)]], constant float& by [[buffer(1)]], constant float& plus [[buffer(2)]],
                              uint i [[thread_position_in_grid]]) {
        float4 chains[8];
        for (uint k = 0; k < 8; k++) chains[k] = float4(float(i & 15u));
        for (uint step = 0; step < 512; step++)
            for (uint k = 0; k < 8; k++) chains[k] = fma(chains[k], float4(by), float4(plus));
        float4 sum = 0;
        for (uint k = 0; k < 8; k++) sum += chains[k];
        y[i] = sum.x + sum.y + sum.z + sum.w;
    }";

/// Floating-point operations in a second of a kernel of multiply-adds on the device, verified.
///
/// # Errors
/// When it fails or its sums are wrong.
pub fn device_flops(gpu: &Accelerator, threads: usize) -> Result<f64, Refusal> {
    let kernel = gpu.compile_msl(MULTIPLY_ADDS)?.kernel("multiply_adds")?;
    let mut y = gpu.buffer_from(&vec![f32::NAN; threads])?;
    let mut best = f64::INFINITY;
    for turn in 0..=TURNS {
        let start = Instant::now();
        kernel.launch(Grid::linear(threads), args![&mut y, 0.5f32, 0.25f32])?.wait()?;
        // The first is the warm-up.
        best = if turn == 0 { best } else { best.min(start.elapsed().as_secs_f64()) };
    }
    // Every chain runs to the number that the step leaves as it is: 0.25 / (1 - 0.5).
    if let Some(wrong) = y.to_vec()?.into_iter().find(|sum| (sum - 16.0).abs() > 1e-3 || sum.is_nan()) {
        return Err(Refusal::Broken(format!("the roofline's multiply-adds come to {wrong}, not 16")));
    }
    Ok((threads * 8 * 4 * 512 * 2) as f64 / best)
}

/// The rooflines of a device, the rates that nothing on it can be above.
pub struct Roofs {
    gpu: Accelerator,
}

impl Roofs {
    /// Of this device.
    pub fn of(gpu: &Accelerator) -> Roofs {
        Roofs { gpu: gpu.clone() }
    }

    /// Floating-point operations in a second.
    ///
    /// # Errors
    /// When the device fails.
    pub fn flops(&self) -> Result<f64, Refusal> {
        let device = device_flops(&self.gpu, if is_host() { 1 << 13 } else { 1 << 20 })?;
        Ok(if is_host() { device.max(host_flops(crate::processors())) } else { device })
    }

    /// Bytes in a second, for work on so many bytes.
    ///
    /// # Errors
    /// When the device fails.
    pub fn bytes(&self, footprint: f64) -> Result<f64, Refusal> {
        let device = device_bytes(&self.gpu, footprint)?;
        Ok(if is_host() { device.max(host_bytes(crate::processors(), footprint)) } else { device })
    }

    /// What they are.
    pub fn bytes_are(&self) -> &'static str {
        if is_host() {
            "the most copied or read, by the device or plain loops"
        } else {
            "the most copied by the device"
        }
    }

    /// What they are.
    pub fn flops_are(&self) -> &'static str {
        if is_host() { "multiply-adds by the device or plain loops" } else { "multiply-adds by the device" }
    }
}

/// Whether the device is this machine's processor: hostmetal's.
fn is_host() -> bool {
    cfg!(target_os = "linux")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The loops compute what they are there for: chains that begin at `by` stay at 0.5, or run to 2 (0.5 / (1 - 0.75)).
    #[test]
    fn loops_compute() {
        let Loops { flops, multiply_adds, sum, copy } = wide::of_this_processor();
        let lanes = flops / (STEPS * 2) as f64;
        for (by, plus, end) in [(0.5, 0.25, 0.5), (0.75, 0.5, 2.0)] {
            let sum = f64::from(multiply_adds(by, plus));
            assert!((sum / (lanes * end) - 1.0).abs() < 1e-5, "{sum}");
        }
        let words: Vec<f32> = (0..1024).map(|i| (i % 7) as f32).collect();
        assert_eq!(sum(&words), words.iter().sum::<f32>());
        for (from, to, count) in [(0, 0, 1024), (0, 0, 0), (3, 0, 900), (0, 5, 900), (7, 7, 16), (1, 2, 3)] {
            let mut copied = vec![-1.0; 1024];
            copy(&words[from..from + count], &mut copied[to..to + count]);
            let mut expected = vec![-1.0; 1024];
            expected[to..to + count].copy_from_slice(&words[from..from + count]);
            assert_eq!(copied, expected, "{count} words from {from} to {to}");
        }
    }
}
