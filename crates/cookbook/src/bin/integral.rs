//! An integral by intervals that are halved where it is necessary: each level's kernel writes the next level's intervals and how large its launch is.
//!
//! `integral [KERNEL.metal]`

use std::error::Error;
use std::process::ExitCode;

use dcmetal::nested::Nesting;
use dcmetal::{Accelerator, Buffer, IndirectGrid, Kernel, args};

const CAPACITY: usize = 4096;
const LEVELS: usize = 20;
const THREADS: usize = 64;
/// For each unit of length.
const TOLERANCE: f32 = 1e-3;

fn main() -> ExitCode {
    let Err(error) = run() else { return ExitCode::SUCCESS };
    eprintln!("integral: {error}");
    ExitCode::FAILURE
}

fn run() -> Result<(), Box<dyn Error>> {
    let source = match std::env::args().nth(1) {
        Some(file) => std::fs::read_to_string(file)?,
        None => include_str!("integral.metal").to_owned(),
    };
    let gpu = Accelerator::system_default()?;
    let refine = gpu.compile_msl(&source)?.kernel("refine")?;
    let (leaves, _) = leaves(&gpu, &refine, Nesting::Device)?;
    let sum = check(&leaves)?;
    println!("{} intervals: {sum:.4}", leaves.len());
    let (others, rounds) = self::leaves(&gpu, &refine, Nesting::Host)?;
    if leaves != others {
        return Err("the host's rounds came to other intervals".into());
    }
    println!("one submission on the device, or {rounds} rounds of the host: the same, bit for bit");
    Ok(())
}

/// A level's intervals, and its size: threadgroups along three axes, and how many intervals they are.
struct Level {
    intervals: Buffer<[f32; 2]>,
    size: Buffer<[u32; 4]>,
}

/// Left and right end of each interval, and the integral over it; from left to right.
fn leaves(gpu: &Accelerator, refine: &Kernel, nesting: Nesting) -> dcmetal::Result<(Vec<[f32; 3]>, u64)> {
    let level = |_| Ok(Level { intervals: gpu.buffer_zeroed(CAPACITY)?, size: gpu.buffer_from(&[[0, 1, 1, 0]])? });
    let mut levels = (0..=LEVELS).map(level).collect::<dcmetal::Result<Vec<_>>>()?;
    levels[0].intervals.write()?[0] = [-1.0, 1.0];
    levels[0].size.write_from(&[[1; 4]])?;
    let mut leaves = gpu.buffer_zeroed::<[f32; 3]>(CAPACITY)?;
    let mut count = gpu.buffer_zeroed::<u32>(1)?;
    let mut work = gpu.nested(nesting)?;
    for number in 0..LEVELS {
        let (before, after) = levels.split_at_mut(number + 1);
        let (now, next) = (&before[number], &mut after[0]);
        let threadgroups = now.size.view(..)?.reinterpret::<u32>()?.view(..3)?.reinterpret()?;
        let grid = IndirectGrid::new(threadgroups, THREADS).at_most(CAPACITY / THREADS);
        let capacity = CAPACITY as u32;
        let args = args![
            &now.intervals,
            &now.size,
            &mut next.intervals,
            &mut next.size,
            &mut leaves,
            &mut count,
            capacity,
            TOLERANCE
        ];
        work.launch_indirect(refine, grid, args)?;
    }
    let rounds = work.rounds();
    work.finish()?;
    let mut leaves = leaves.read()?[..count.read()?[0] as usize].to_vec();
    leaves.sort_by(|a, b| a[0].total_cmp(&b[0]));
    Ok((leaves, rounds))
}

fn check(leaves: &[[f32; 3]]) -> Result<f64, Box<dyn Error>> {
    let joined = leaves.windows(2).all(|pair| pair[0][1] == pair[1][0]);
    if !joined || leaves.first().map(|leaf| leaf[0]) != Some(-1.0) || leaves.last().map(|leaf| leaf[1]) != Some(1.0) {
        return Err("the intervals do not make up the whole".into());
    }
    let sum: f64 = leaves.iter().map(|leaf| f64::from(leaf[2])).sum();
    // Of 1 / (a^2 + x^2) from -1 to 1.
    let a = f64::from(1e-4f32).sqrt();
    let exact = 2.0 / a * (1.0 / a).atan();
    // What each leaf may be off by, and the rounding of what is added.
    let allowed = 2.0 * f64::from(TOLERANCE) + 16.0 * f64::from(f32::EPSILON) * exact;
    let right = (sum - exact).abs() <= allowed;
    right.then_some(sum).ok_or_else(|| format!("{sum}, but the integral is {exact} within {allowed:.1e}").into())
}
