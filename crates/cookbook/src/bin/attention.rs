//! Attention of the tokens of a text to those before them, by operations of which the faster implementation was measured.
//!
//! `attention FOLDER [KERNEL.metal]`: what was measured is kept in FOLDER.

use std::error::Error;
use std::process::ExitCode;

use dcmetal::tensor::{
    Product, Tensor, TensorMut, product, product_with, softmax, softmax_by, tune_operation, tune_product,
};
use dcmetal::{Accelerator, Grid, TuneOptions, args};

const TOKENS: usize = 150;
const WIDTH: usize = 48;
const ROWS: [usize; 2] = [TOKENS, WIDTH];
const SQUARE: [usize; 2] = [TOKENS, TOKENS];

fn main() -> ExitCode {
    let Err(error) = run() else { return ExitCode::SUCCESS };
    eprintln!("attention: {error}");
    ExitCode::FAILURE
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let folder = words.next().ok_or("usage: attention FOLDER [KERNEL.metal]")?;
    let source = match words.next() {
        Some(file) => std::fs::read_to_string(file)?,
        None => include_str!("attention.metal").to_owned(),
    };
    let gpu = Accelerator::system_default()?;
    gpu.keep_kernels(folder, 64 << 20)?;
    let measured = tune(&gpu)?;
    println!("3 operations: {measured} measured, {} remembered", 3 - measured);

    let mut random = random_numbers();
    // Queries, keys and values.
    let tokens = [(); 3].map(|()| random.by_ref().take(TOKENS * WIDTH).collect::<Vec<f32>>());
    let attended = attended(&gpu, &source, &tokens)?;
    check(&tokens, &attended)?;
    println!("{TOKENS} tokens of {WIDTH} numbers: every one is within its rounding errors");
    Ok(())
}

/// Has the faster implementation of each operation found, with tensors that are as large as those that are meant; gives how many were not known.
fn tune(gpu: &Accelerator) -> dcmetal::Result<usize> {
    let options = TuneOptions::default();
    let (x, mut y) = (gpu.buffer_zeroed::<f32>(TOKENS * TOKENS)?, gpu.buffer_zeroed::<f32>(TOKENS * TOKENS)?);
    let (rows, square) = (Tensor::new(x.view(..TOKENS * WIDTH)?, &ROWS)?, Tensor::new(&x, &SQUARE)?);
    let scores = tune_product(rows, rows.transposed()?, &TensorMut::new(&mut y, &SQUARE)?, &options)?;
    let sums = TensorMut::new(y.view_mut(..TOKENS * WIDTH)?, &ROWS)?;
    let sums = tune_product(square, rows, &sums, &options)?;
    let mut shares = TensorMut::new(&mut y, &SQUARE)?;
    let shares =
        tune_operation(&options, |trial| trial.run(softmax_by(square, shares.reborrow(), trial.implementation())?))?;
    let measured = [!scores.candidates.is_empty(), !sums.candidates.is_empty(), !shares.candidates.is_empty()];
    Ok(measured.into_iter().filter(|measured| *measured).count())
}

fn attended(gpu: &Accelerator, source: &str, [q, k, v]: &[Vec<f32>; 3]) -> dcmetal::Result<Vec<f32>> {
    let mask = gpu.compile_msl(source)?.kernel("mask")?;
    let (q, k, v) = (gpu.buffer_from(q)?, gpu.buffer_from(k)?, gpu.buffer_from(v)?);
    let mut scores = gpu.buffer_from(&vec![f32::NAN; TOKENS * TOKENS])?;
    let mut shares = gpu.buffer_from(&vec![f32::NAN; TOKENS * TOKENS])?;
    let mut sums = gpu.buffer_from(&vec![f32::NAN; TOKENS * WIDTH])?;
    let (q, k, v) = (Tensor::new(&q, &ROWS)?, Tensor::new(&k, &ROWS)?, Tensor::new(&v, &ROWS)?);

    let scaled = Product { alpha: scale(), ..Product::default() };
    let mut batch = gpu.batch()?;
    product_with(q, k.transposed()?, TensorMut::new(&mut scores, &SQUARE)?, &scaled)?.record(&mut batch)?;
    batch.launch(&mask, Grid::threads((TOKENS, TOKENS)), args![&mut scores])?;
    softmax(Tensor::new(&scores, &SQUARE)?, TensorMut::new(&mut shares, &SQUARE)?)?.record(&mut batch)?;
    product(Tensor::new(&shares, &SQUARE)?, v, TensorMut::new(&mut sums, &ROWS)?)?.record(&mut batch)?;
    batch.submit()?.wait()?;
    sums.to_vec()
}

fn scale() -> f32 {
    1.0 / (WIDTH as f32).sqrt()
}

/// The same in `f64`, and beside each number how far one in `f32` may be from it: k + 2 roundings of the magnitudes of a sum of k products (Higham, "Accuracy and
/// Stability of Numerical Algorithms", section 3.1), and what that makes of an error before; what softmax adds is in docs/TENSOR.md.
fn check([q, k, v]: &[Vec<f32>; 3], sums: &[f32]) -> Result<(), Box<dyn Error>> {
    const ROUNDOFF: f64 = f32::EPSILON as f64 / 2.0;
    let row = |of: &[f32], at: usize| -> Vec<f64> { of[at * WIDTH..][..WIDTH].iter().map(|&x| x.into()).collect() };
    for token in 0..TOKENS {
        let (mut scores, mut worst) = (Vec::new(), 0.0f64);
        for other in 0..=token {
            let terms = row(q, token).into_iter().zip(row(k, other)).map(|(q, k)| q * k * f64::from(scale()));
            let (score, size) = terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()));
            scores.push(score);
            worst = worst.max((WIDTH + 3) as f64 * ROUNDOFF * size);
        }
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let reach = scores.iter().map(|score| largest - score).fold(0.0, f64::max);
        let total: f64 = scores.iter().map(|score| (score - largest).exp()).sum();
        let of_share = 2.01 * worst + (TOKENS as f64 + 10.0 + 2.0 * reach) * ROUNDOFF;
        for at in 0..WIDTH {
            let terms = (0..=token).map(|other| (scores[other] - largest).exp() / total * row(v, other)[at]);
            let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()));
            let allowed = 1.001 * size * (of_share + (TOKENS + 2) as f64 * ROUNDOFF);
            let got = f64::from(sums[token * WIDTH + at]);
            let right = (got - sum).abs() <= allowed;
            if !right {
                return Err(format!("token {token}, {at}: {got}, but the sum is {sum} within {allowed:.1e}").into());
            }
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
