//! The forward pass of a network of two layers, of tensor operations and a kernel of the program's own in one batch.
//!
//! `network [KERNEL.metal]`.

use std::error::Error;
use std::process::ExitCode;

use dcmetal::tensor::{Activation, Tensor, TensorMut, activate_in_place, product, softmax};
use dcmetal::{Accelerator, Grid, args};

const SAMPLES: usize = 100;
const INPUTS: usize = 784;
const HIDDEN: usize = 150;
const CLASSES: usize = 10;

fn main() -> ExitCode {
    let Err(error) = run() else { return ExitCode::SUCCESS };
    eprintln!("network: {error}");
    ExitCode::FAILURE
}

struct Network {
    /// Inputs x hidden, row by row.
    first: Vec<f32>,
    first_bias: Vec<f32>,
    /// Classes x hidden: it is used transposed.
    second: Vec<f32>,
    second_bias: Vec<f32>,
}

fn run() -> Result<(), Box<dyn Error>> {
    let source = match std::env::args().nth(1) {
        Some(file) => std::fs::read_to_string(file)?,
        None => include_str!("network.metal").to_owned(),
    };
    let gpu = Accelerator::system_default()?;
    let mut random = random_numbers();
    let mut numbers = |count: usize| -> Vec<f32> { random.by_ref().take(count).collect() };
    let network = Network {
        first: numbers(INPUTS * HIDDEN).iter().map(|weight| weight / 16.0).collect(),
        first_bias: numbers(HIDDEN),
        second: numbers(CLASSES * HIDDEN).iter().map(|weight| weight / 4.0).collect(),
        second_bias: numbers(CLASSES),
    };
    let samples = numbers(SAMPLES * INPUTS);
    let shares = classified(&gpu, &source, &network, &samples)?;
    check(&network, &samples, &shares)?;
    println!("{SAMPLES} samples, {CLASSES} classes: every share is within its rounding errors");
    Ok(())
}

fn classified(gpu: &Accelerator, source: &str, network: &Network, samples: &[f32]) -> dcmetal::Result<Vec<f32>> {
    let add_bias = gpu.compile_msl(source)?.kernel("add_bias")?;
    let (x, first, second) =
        (gpu.buffer_from(samples)?, gpu.buffer_from(&network.first)?, gpu.buffer_from(&network.second)?);
    let (first_bias, second_bias) = (gpu.buffer_from(&network.first_bias)?, gpu.buffer_from(&network.second_bias)?);
    let mut hidden = gpu.buffer_from(&vec![f32::NAN; SAMPLES * HIDDEN])?;
    let mut scores = gpu.buffer_from(&vec![f32::NAN; SAMPLES * CLASSES])?;
    let mut shares = gpu.buffer_from(&vec![f32::NAN; SAMPLES * CLASSES])?;

    let mut batch = gpu.batch()?;
    let (samples, weights) = (Tensor::new(&x, &[SAMPLES, INPUTS])?, Tensor::new(&first, &[INPUTS, HIDDEN])?);
    product(samples, weights, TensorMut::new(&mut hidden, &[SAMPLES, HIDDEN])?)?.record(&mut batch)?;
    batch.launch(&add_bias, Grid::threads((HIDDEN, SAMPLES)), args![&mut hidden, &first_bias])?;
    activate_in_place(Activation::Relu, TensorMut::new(&mut hidden, &[SAMPLES, HIDDEN])?)?.record(&mut batch)?;
    let (values, weights) = (Tensor::new(&hidden, &[SAMPLES, HIDDEN])?, Tensor::new(&second, &[CLASSES, HIDDEN])?);
    product(values, weights.transposed()?, TensorMut::new(&mut scores, &[SAMPLES, CLASSES])?)?.record(&mut batch)?;
    batch.launch(&add_bias, Grid::threads((CLASSES, SAMPLES)), args![&mut scores, &second_bias])?;
    let rows = [SAMPLES, CLASSES];
    softmax(Tensor::new(&scores, &rows)?, TensorMut::new(&mut shares, &rows)?)?.record(&mut batch)?;
    batch.submit()?.wait()?;
    shares.to_vec()
}

/// The network in `f64`, and beside each number how far one in `f32` may be from it: k + 2 roundings of the magnitudes of a sum of k products and a bias
/// (Higham, "Accuracy and Stability of Numerical Algorithms", section 3.1), and what that makes of an error before.
fn check(network: &Network, samples: &[f32], shares: &[f32]) -> Result<(), Box<dyn Error>> {
    const ROUNDOFF: f64 = f32::EPSILON as f64 / 2.0;
    let sum = |terms: &mut dyn Iterator<Item = (f64, f64, f64)>, bias: f32, count: usize| {
        let (mut value, mut size, mut error) = (f64::from(bias), f64::from(bias).abs(), 0.0);
        for (x, wrong, weight) in terms {
            value += x * weight;
            size += x.abs() * weight.abs();
            error += wrong * weight.abs();
        }
        (value, error * 1.001 + (count + 2) as f64 * ROUNDOFF * size)
    };
    for (sample, (x, shares)) in samples.chunks(INPUTS).zip(shares.chunks(CLASSES)).enumerate() {
        let hidden: Vec<(f64, f64)> = (0..HIDDEN)
            .map(|at| {
                let weight = |i: usize| f64::from(network.first[i * HIDDEN + at]);
                let mut terms = x.iter().enumerate().map(|(i, &x)| (f64::from(x), 0.0, weight(i)));
                let (value, error) = sum(&mut terms, network.first_bias[at], INPUTS);
                (value.max(0.0), error)
            })
            .collect();
        let scores: Vec<(f64, f64)> = (0..CLASSES)
            .map(|class| {
                let weights = &network.second[class * HIDDEN..][..HIDDEN];
                let mut terms = hidden.iter().zip(weights).map(|(&(x, wrong), &weight)| (x, wrong, f64::from(weight)));
                sum(&mut terms, network.second_bias[class], HIDDEN)
            })
            .collect();
        let largest = scores.iter().map(|score| score.0).fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = scores.iter().map(|score| (score.0 - largest).exp()).sum();
        let worst = scores.iter().map(|score| score.1).fold(0.0, f64::max);
        let reach = scores.iter().map(|score| largest - score.0).fold(0.0, f64::max);
        for (class, (&got, &(score, _))) in shares.iter().zip(&scores).enumerate() {
            let share = (score - largest).exp() / total;
            // Each score may be off by `worst`; what softmax adds is in docs/TENSOR.md.
            let allowed = share * (2.01 * worst + (CLASSES as f64 + 10.0 + 2.0 * reach) * ROUNDOFF);
            let right = (f64::from(got) - share).abs() <= allowed;
            if !right {
                let text =
                    format!("sample {sample}, class {class}: {got}, but the share is {share} within {allowed:.1e}");
                return Err(text.into());
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
