//! A matrix product in tiles, with the compiled kernel kept on disk for the next start.
//!
//! `matrix FOLDER [KERNEL.metal]`: the kernel is kept in FOLDER.

use std::error::Error;
use std::process::ExitCode;

use dcmetal::{Accelerator, Grid, args};

/// No multiples of the tile: the kernel must take any sizes.
const SIZE: (usize, usize, usize) = (150, 170, 190);
const TILE: usize = 16;

fn main() -> ExitCode {
    let Err(error) = run() else { return ExitCode::SUCCESS };
    eprintln!("matrix: {error}");
    ExitCode::FAILURE
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let folder = words.next().ok_or("usage: matrix FOLDER [KERNEL.metal]")?;
    let source = match words.next() {
        Some(file) => std::fs::read_to_string(file)?,
        None => include_str!("matrix.metal").to_owned(),
    };
    let gpu = Accelerator::system_default()?;
    gpu.keep_kernels(folder, 64 << 20)?;

    let (m, n, k) = SIZE;
    let mut random = random_numbers();
    let a: Vec<f32> = random.by_ref().take(m * k).collect();
    let b: Vec<f32> = random.by_ref().take(k * n).collect();
    let c = multiplied(&gpu, &source, &a, &b)?;
    check(&a, &b, &c)?;

    let files = gpu.kernel_file_stats().ok_or("no folder")?;
    println!("kernels: {} found on disk, {} compiled", files.hits, files.compiled);
    println!("{m} x {k} by {k} x {n}: every sum is within its rounding errors");
    Ok(())
}

fn multiplied(gpu: &Accelerator, source: &str, a: &[f32], b: &[f32]) -> dcmetal::Result<Vec<f32>> {
    let multiply = gpu.compile_msl(source)?.kernel("multiply")?;
    let (m, n, k) = SIZE;
    let (a, b) = (gpu.buffer_from(a)?, gpu.buffer_from(b)?);
    // Not zeros: a kernel that leaves an element out shall not look right.
    let mut c = gpu.buffer_from(&vec![f32::NAN; m * n])?;
    // Whole threadgroups, since all threads of one fill its tiles: the kernel leaves out what lies outside.
    let grid = Grid::threadgroups((n.div_ceil(TILE), m.div_ceil(TILE)), (TILE, TILE));
    multiply.launch(grid, args![&a, &b, &mut c, [m as u32, n as u32, k as u32]])?.wait()?;
    c.to_vec()
}

/// The error of a sum of k products is at most k roundings of the sum of their magnitudes (Higham, "Accuracy and Stability of
/// Numerical Algorithms", section 3.1).
fn check(a: &[f32], b: &[f32], c: &[f32]) -> Result<(), Box<dyn Error>> {
    let (m, n, k) = SIZE;
    for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
        let products = (0..k).map(|i| f64::from(a[row * k + i]) * f64::from(b[i * n + column]));
        let (sum, magnitude) = products.fold((0.0, 0.0), |(sum, magnitude), x| (sum + x, magnitude + x.abs()));
        let got = f64::from(c[row * n + column]);
        let allowed = k as f64 * f64::from(f32::EPSILON / 2.0) * magnitude;
        // So that a NaN is wrong too.
        let right = (got - sum).abs() <= allowed;
        if !right {
            return Err(format!("row {row}, column {column}: {got}, but the sum is {sum} within {allowed:.1e}").into());
        }
    }
    Ok(())
}

/// From -1 to 1 (Marsaglia, "Xorshift RNGs", 2003).
fn random_numbers() -> impl Iterator<Item = f32> {
    let step = |x: &u32| {
        let x = x ^ (x << 13);
        let x = x ^ (x >> 17);
        Some(x ^ (x << 5))
    };
    std::iter::successors(Some(2463534242u32), step).map(|x| (x >> 8) as f32 / (1 << 23) as f32 - 1.0)
}
