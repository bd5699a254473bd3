//! Progress of a long submission: linear equations are solved in many sweeps, and an event tells how far the device is.
//!
//! `solver [KERNEL.metal]`; with hostmetal, `HOSTMETAL_FAULTS=commit:error=page_fault` makes the submission fail.

use std::error::Error;
use std::process::ExitCode;

use dcmetal::{Accelerator, Grid, args};

const ROWS: usize = 150;
const SWEEPS: u64 = 40;
/// Sweeps after which the host is told.
const PART: u64 = 10;

fn main() -> ExitCode {
    let Err(error) = run() else { return ExitCode::SUCCESS };
    eprintln!("solver: {error}");
    ExitCode::FAILURE
}

fn run() -> Result<(), Box<dyn Error>> {
    let source = match std::env::args().nth(1) {
        Some(file) => std::fs::read_to_string(file)?,
        None => include_str!("solver.metal").to_owned(),
    };
    let (matrix, right) = equations();
    let gpu = Accelerator::system_default()?;
    let x = solved(&gpu, &source, &matrix, &right)?;
    check(&matrix, &right, &x)?;
    println!("{ROWS} equations hold within their rounding errors");
    Ok(())
}

fn solved(gpu: &Accelerator, source: &str, matrix: &[f32], right: &[f32]) -> dcmetal::Result<Vec<f32>> {
    let sweep = gpu.compile_msl(source)?.kernel("sweep")?;
    let (matrix, right) = (gpu.buffer_from(matrix)?, gpu.buffer_from(right)?);
    let (mut x, mut better) = (gpu.buffer_zeroed::<f32>(ROWS)?, gpu.buffer_zeroed::<f32>(ROWS)?);
    let done = gpu.event()?;
    let mut batch = gpu.batch()?;
    for number in 1..=SWEEPS {
        batch.launch(&sweep, Grid::linear(ROWS), args![&matrix, &right, &x, &mut better])?;
        std::mem::swap(&mut x, &mut better);
        if number.is_multiple_of(PART) {
            batch.signal(&done, number)?;
        }
    }
    let submission = batch.submit()?;
    for number in (PART..=SWEEPS).step_by(PART as usize) {
        done.wait(number)?;
        println!("{number} of {SWEEPS} sweeps");
    }
    submission.wait()?;
    x.to_vec()
}

/// In each row the number on the diagonal is twice as large as the others together at least, so a sweep halves the error.
fn equations() -> (Vec<f32>, Vec<f32>) {
    let number = |i: usize| ((i * 7919 + 13) % 199) as f32 / 100.0 - 1.0;
    let entry = |at: usize| if at / ROWS == at % ROWS { 2.0 * ROWS as f32 } else { number(at) };
    ((0..ROWS * ROWS).map(entry).collect(), (0..ROWS).map(|row| 100.0 * number(row)).collect())
}

/// What is left of an equation is at most what its operations and the last sweep were rounded by (Higham, "Accuracy and Stability of
/// Numerical Algorithms", section 3.1).
fn check(matrix: &[f32], right: &[f32], x: &[f32]) -> Result<(), Box<dyn Error>> {
    for (row, entries) in matrix.chunks(ROWS).enumerate() {
        let products = entries.iter().zip(x).map(|(&a, &x)| f64::from(a) * f64::from(x));
        let wanted = f64::from(right[row]);
        let (sum, magnitude) = products.fold((0.0, wanted.abs()), |(sum, magnitude), x| (sum + x, magnitude + x.abs()));
        let allowed = 2.0 * (ROWS + 3) as f64 * f64::from(f32::EPSILON / 2.0) * magnitude;
        // So that a NaN is wrong too.
        let right = (sum - wanted).abs() <= allowed;
        if !right {
            return Err(format!("equation {row} is {sum}, but should be {wanted} within {allowed:.1e}").into());
        }
    }
    Ok(())
}
