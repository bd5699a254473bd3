//! The covariance of the columns of an array of `ndarray`'s, which the device multiplies in one call.
//!
//! `arrays [KERNEL.metal]`

use std::error::Error;
use std::process::ExitCode;

use dcmetal::tensor::array_product;
use dcmetal::{Accelerator, Grid, args};
use ndarray::{Array2, Axis};

const SAMPLES: usize = 1000;
const COLUMNS: usize = 37;
const ROUNDOFF: f64 = f32::EPSILON as f64 / 2.0;

fn main() -> ExitCode {
    let Err(error) = run() else { return ExitCode::SUCCESS };
    eprintln!("arrays: {error}");
    ExitCode::FAILURE
}

fn run() -> Result<(), Box<dyn Error>> {
    let source = match std::env::args().nth(1) {
        Some(file) => std::fs::read_to_string(file)?,
        None => include_str!("arrays.metal").to_owned(),
    };
    let gpu = Accelerator::system_default()?;
    let mut random = random_numbers();
    // About another mean in each column.
    let sample = |(_, column): (usize, usize)| column as f32 + random.next().unwrap_or_default();
    let samples = Array2::from_shape_fn((SAMPLES, COLUMNS), sample);
    let centred = centred(&gpu, &source, &samples)?;
    let covariance = covariance(&gpu, &centred)?;
    check_centred(&samples, &centred)?;
    check_covariance(&centred, &covariance)?;
    println!("covariances of {COLUMNS} columns of {SAMPLES} numbers: ndarray's own product is within rounding errors");
    Ok(())
}

fn centred(gpu: &Accelerator, source: &str, samples: &Array2<f32>) -> Result<Array2<f32>, Box<dyn Error>> {
    let centre = gpu.compile_msl(source)?.kernel("centre")?;
    let mut x = gpu.buffer_from(samples.as_slice().ok_or("the array is not row by row")?)?;
    centre.launch(Grid::linear(samples.ncols()), args![&mut x, samples.nrows() as u32])?.wait()?;
    Ok(Array2::from_shape_vec(samples.dim(), x.to_vec()?)?)
}

fn covariance(gpu: &Accelerator, centred: &Array2<f32>) -> dcmetal::Result<Array2<f32>> {
    let products = array_product(gpu, centred.t(), centred.view())?;
    Ok(products / (centred.nrows() - 1) as f32)
}

/// A mean of n numbers is within n + 8 roundings of the mean of their magnitudes: its additions, and a division that may be 5 wide.
fn check_centred(samples: &Array2<f32>, centred: &Array2<f32>) -> Result<(), Box<dyn Error>> {
    let exact = samples.mapv(f64::from);
    let means = exact.mean_axis(Axis(0)).ok_or("no samples")?;
    let sizes = exact.mapv(f64::abs).mean_axis(Axis(0)).ok_or("no samples")?;
    for ((at, &got), &x) in centred.indexed_iter().zip(&exact) {
        let wanted = x - means[at.1];
        let allowed = ROUNDOFF * ((SAMPLES + 8) as f64 * sizes[at.1] + wanted.abs());
        let right = (f64::from(got) - wanted).abs() <= allowed;
        if !right {
            return Err(format!("{at:?}: {got}, but it is {wanted} off its mean, within {allowed:.1e}").into());
        }
    }
    Ok(())
}

/// Against ndarray's product in `f64`: the error of a sum of n products is at most n roundings of the sum of their magnitudes (Higham, "Accuracy and Stability of
/// Numerical Algorithms", section 3.1), and there is a division.
fn check_covariance(centred: &Array2<f32>, covariance: &Array2<f32>) -> Result<(), Box<dyn Error>> {
    let exact = centred.mapv(f64::from);
    let sizes = exact.mapv(f64::abs);
    let wanted = exact.t().dot(&exact) / (SAMPLES - 1) as f64;
    let allowed = sizes.t().dot(&sizes) / (SAMPLES - 1) as f64 * ((SAMPLES + 2) as f64 * ROUNDOFF);
    for ((at, &got), &wanted) in covariance.indexed_iter().zip(&wanted) {
        let right = (f64::from(got) - wanted).abs() <= allowed[at];
        if !right {
            return Err(format!("{at:?}: {got}, but ndarray has {wanted}, within {:.1e}", allowed[at]).into());
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
