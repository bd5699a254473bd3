//! The numbers of a list that pass, in their order, by sums and scans of threadgroups.
//!
//! `filter [KERNEL.metal]`

use std::error::Error;
use std::process::ExitCode;

use dcmetal::{Accelerator, COOPERATIVE, Grid, args};

/// No multiple of anything.
const NUMBERS: usize = 100_003;
const THREADS: usize = 256;

fn main() -> ExitCode {
    let Err(error) = run() else { return ExitCode::SUCCESS };
    eprintln!("filter: {error}");
    ExitCode::FAILURE
}

fn run() -> Result<(), Box<dyn Error>> {
    let source = match std::env::args().nth(1) {
        Some(file) => std::fs::read_to_string(file)?,
        None => include_str!("filter.metal").to_owned(),
    };
    let numbers: Vec<u32> = (0..NUMBERS as u32).map(|i| i.wrapping_mul(2_654_435_761) >> 18).collect();
    let kept = kept(&source, &numbers)?;
    let wanted: Vec<u32> = numbers.iter().copied().filter(|x| x % 3 == 0).collect();
    if let Some(at) = (0..wanted.len().max(kept.len())).find(|&at| kept.get(at) != wanted.get(at)) {
        return Err(format!("number {at} is {:?}, and not {:?}", kept.get(at), wanted.get(at)).into());
    }
    println!("{} of {NUMBERS} numbers, in their order", kept.len());
    Ok(())
}

fn kept(source: &str, numbers: &[u32]) -> dcmetal::Result<Vec<u32>> {
    let gpu = Accelerator::system_default()?;
    let library = gpu.compile_msl(&format!("{COOPERATIVE}{source}"))?;
    let (count, add_up, keep) = (library.kernel("count")?, library.kernel("add_up")?, library.kernel("keep")?);
    let threadgroups = numbers.len().div_ceil(THREADS);
    let x = gpu.buffer_from(numbers)?;
    let mut counts = gpu.buffer_zeroed::<u32>(threadgroups)?;
    let mut y = gpu.buffer_zeroed::<u32>(numbers.len())?;

    let many = Grid::threadgroups(threadgroups, THREADS);
    // One threadgroup, with a thread for each number of the counts; 1024 are the most that it has.
    let one = Grid::threadgroups(1usize, threadgroups.next_multiple_of(32));
    let mut batch = gpu.batch()?;
    batch.launch(&count, many, args![&x, &mut counts, numbers.len() as u32])?;
    batch.launch(&add_up, one, args![&mut counts, threadgroups as u32])?;
    batch.launch(&keep, many, args![&x, &counts, &mut y, numbers.len() as u32])?;
    batch.submit()?.wait()?;
    let kept = counts.read()?[threadgroups - 1] as usize;
    Ok(y.read()?[..kept].to_vec())
}
