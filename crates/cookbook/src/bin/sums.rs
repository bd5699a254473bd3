//! Running sums of a whole array by one kernel, whose work-groups wait for each other.
//!
//! `sums [KERNEL.cl]`

use std::error::Error;
use std::process::ExitCode;

use dcmetal::{Accelerator, Arg, Grid, args};

/// No multiple of anything.
const NUMBERS: usize = 100_003;
const GROUP: usize = 256;

fn main() -> ExitCode {
    let Err(error) = run() else { return ExitCode::SUCCESS };
    eprintln!("sums: {error}");
    ExitCode::FAILURE
}

fn run() -> Result<(), Box<dyn Error>> {
    let source = match std::env::args().nth(1) {
        Some(file) => std::fs::read_to_string(file)?,
        None => include_str!("sums.cl").to_owned(),
    };
    let numbers: Vec<u32> = (0..NUMBERS as u32).map(|i| i.wrapping_mul(2_654_435_761) >> 18).collect();
    let sums = running_sums(&source, &numbers)?;
    let mut sum = 0;
    for (at, number) in numbers.iter().enumerate() {
        sum += number;
        if sums[at] != sum {
            return Err(format!("the first {} numbers make {sum}, and not {}", at + 1, sums[at]).into());
        }
    }
    println!("{} numbers of {} work-groups, {sum} in all", numbers.len(), numbers.len().div_ceil(GROUP));
    Ok(())
}

fn running_sums(source: &str, numbers: &[u32]) -> dcmetal::Result<Vec<u32>> {
    let gpu = Accelerator::system_default()?;
    let kernel = gpu.compile_opencl(source)?.kernel("running_sums")?;
    let groups = numbers.len().div_ceil(GROUP);
    let x = gpu.buffer_from(numbers)?;
    let mut y = gpu.buffer_zeroed::<u32>(numbers.len())?;
    let mut sums = gpu.buffer_zeroed::<u32>(groups)?;
    let part = Arg::threadgroup::<u32>(GROUP);
    let grid = Grid::threadgroups(groups, GROUP);
    kernel.launch(grid, args![&x, &mut y, &mut sums, numbers.len() as u32, part])?.wait()?;
    y.to_vec()
}
