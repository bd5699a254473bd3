//! A reduction: sums of many vectors, each by two launches, in memory that a pool hands out again and again.
//!
//! `reduction [KERNEL.metal]`

use std::error::Error;
use std::process::ExitCode;

use dcmetal::{Accelerator, BufferPool, Grid, Kernel, PoolLimits, args};

const VECTORS: usize = 20;
/// Of each vector; no multiple of anything.
const NUMBERS: usize = 100_003;
const THREADGROUPS: usize = 64;
const THREADS: usize = 256;

fn main() -> ExitCode {
    let Err(error) = run() else { return ExitCode::SUCCESS };
    eprintln!("reduction: {error}");
    ExitCode::FAILURE
}

fn run() -> Result<(), Box<dyn Error>> {
    let source = match std::env::args().nth(1) {
        Some(file) => std::fs::read_to_string(file)?,
        None => include_str!("reduction.metal").to_owned(),
    };
    let gpu = Accelerator::system_default()?;
    let sums = gpu.compile_msl(&source)?.kernel("sums")?;
    let pool = gpu.pool(PoolLimits::default());
    for number in 0..VECTORS {
        let values = values(number);
        check(&values, sum(&gpu, &pool, &sums, &values)?)?;
    }
    let stats = pool.stats();
    println!("{VECTORS} sums of {NUMBERS} numbers: {} dispatches, {VECTORS} submissions", 2 * VECTORS);
    println!("{} buffers used, {} of them allocated", stats.hits + stats.misses, stats.misses);
    println!("whole numbers' sums are exact, the others within their rounding errors");
    Ok(())
}

fn sum(gpu: &Accelerator, pool: &BufferPool, sums: &Kernel, values: &[f32]) -> dcmetal::Result<f32> {
    let input = pool.buffer_from(values)?;
    let mut parts = pool.buffer::<f32>(THREADGROUPS)?;
    let mut total = pool.buffer::<f32>(1)?;
    let mut batch = gpu.batch()?;
    let many = Grid::threadgroups(THREADGROUPS, THREADS);
    batch.launch(sums, many, args![&input, &mut parts, values.len() as u32])?;
    let one = Grid::threadgroups(1usize, THREADS);
    batch.launch(sums, one, args![&parts, &mut total, THREADGROUPS as u32])?;
    batch.submit()?.wait()?;
    Ok(total.read()?[0])
}

/// In every other vector whole numbers, whose sums are exact in any order; elsewhere thirds of them.
fn values(number: usize) -> Vec<f32> {
    let whole = |i: usize| ((i * 7919 + number * 104_729) % 201) as f32 - 100.0;
    (0..NUMBERS).map(|i| if number.is_multiple_of(2) { whole(i) } else { whole(i) / 3.0 }).collect()
}

fn check(values: &[f32], got: f32) -> Result<(), Box<dyn Error>> {
    let sum: f64 = values.iter().map(|&x| f64::from(x)).sum();
    // Additions that one number goes through: its thread's, and twice a SIMD-group's and a threadgroup's, in whatever order.
    let additions = values.len().div_ceil(THREADGROUPS * THREADS) + 4 * 32;
    let magnitude: f64 = values.iter().map(|&x| f64::from(x.abs())).sum();
    let exact = values.iter().all(|x| x.fract() == 0.0);
    let allowed = if exact { 0.0 } else { additions as f64 * f64::from(f32::EPSILON / 2.0) * magnitude };
    // So that a NaN is wrong too.
    let right = (f64::from(got) - sum).abs() <= allowed;
    right.then_some(()).ok_or_else(|| format!("{got}, but the sum is {sum} within {allowed:.1e}").into())
}
