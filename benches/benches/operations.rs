//! What `dcmetal::tensor` has beside products: each operation by this library's kernels and by Metal Performance Shaders, by turns in one process, at three sizes. Rates stand beside the
//! roofline: bytes of the tensors, each once, beside what the device copies; of a convolution, multiply-adds beside what the device reaches. Every output is verified as a whole, before and after it is timed,
//! against `f64` within the bounds of docs/TENSOR.md; times must grow as the work does.
//!
//! `cargo bench -p dcmetal-benches --bench operations [-- [--short] [PART OF A NAME]...]`

use std::time::{Duration, Instant};

use dcmetal::tensor::{
    Activation, Affine, Convolution, Implementation, Operation, Pool, Pooling, Reduction, Steps, Tensor, TensorMut,
    activate, activate_by, convolution_by, layer_norm_by, pool_by, reduce_by, softmax_by, vector_product_by,
};
use dcmetal::{Accelerator, Buffer, Result};
use dcmetal_benches::{is_chosen, is_short};
use dcmetal_validate::measure::{Spread, alternated};
use dcmetal_validate::problems::Random;
use dcmetal_validate::roofs::Roofs;
use dcmetal_validate::{Growth, LEAST_GROWTH, Point, SLACK, growth};

/// A number and how far from it a result may be.
type Wanted = (f64, f64);

type Encode = for<'a> fn(usize, [&'a Buffer<f32>; 2], &'a mut Buffer<f32>, Implementation) -> Result<Operation<'a>>;

struct Case {
    name: &'static str,
    /// Rows; of images, how many rows and columns they have.
    sizes: [usize; 3],
    /// Elements of x, of w (weights, or a vector), and of y.
    lengths: fn(usize) -> [usize; 3],
    /// Floating-point operations where they, and not bytes, are the limit.
    flops: Option<fn(usize) -> f64>,
    encode: Encode,
    reference: fn(usize, &[f32], &[f32]) -> Vec<Wanted>,
}

const CASES: &[Case] = &[
    Case {
        name: "convolution 3 x 3 of 32 channels to 32",
        sizes: [28, 56, 112],
        lengths: |edge| [edge * edge * CHANNELS, 9 * CHANNELS * CHANNELS, edge * edge * CHANNELS],
        flops: Some(|edge| 2.0 * (edge * edge * 9 * CHANNELS * CHANNELS) as f64),
        encode: |edge, [x, w], y, by| {
            let shape = [1, edge, edge, CHANNELS];
            let w = Tensor::new(w, &[3, 3, CHANNELS, CHANNELS])?;
            let options = Convolution { steps: STEPS, ..Convolution::default() };
            convolution_by(Tensor::new(x, &shape)?, w, TensorMut::new(y, &shape)?, &options, by)
        },
        reference: convolved,
    },
    Case {
        name: "largest of 3 x 3",
        sizes: [56, 112, 224],
        lengths: |edge| [edge * edge * CHANNELS, 1, edge * edge * CHANNELS],
        flops: None,
        encode: |edge, [x, _], y, by| {
            let shape = [1, edge, edge, CHANNELS];
            let options = Pool { pooling: Pooling::Max, window: [3, 3], steps: STEPS };
            pool_by(Tensor::new(x, &shape)?, TensorMut::new(y, &shape)?, &options, by)
        },
        reference: |edge, x, _| {
            places(edge, |of, at| {
                let values = of.map(|(_, place)| f64::from(x[place * CHANNELS + at % CHANNELS]));
                (values.fold(f64::NEG_INFINITY, f64::max), 0.0)
            })
        },
    },
    Case {
        name: "softmax of 1024",
        sizes: [128, 512, 2048],
        lengths: |rows| [rows * COLUMNS, 1, rows * COLUMNS],
        flops: None,
        encode: |rows, [x, _], y, by| {
            softmax_by(Tensor::new(x, &[rows, COLUMNS])?, TensorMut::new(y, &[rows, COLUMNS])?, by)
        },
        reference: |_, x, _| by_rows(x, softmax_row),
    },
    Case {
        name: "layer normalisation of 1024",
        sizes: [128, 512, 2048],
        lengths: |rows| [rows * COLUMNS, 1, rows * COLUMNS],
        flops: None,
        encode: |rows, [x, _], y, by| {
            let x = Tensor::new(x, &[rows, COLUMNS])?;
            layer_norm_by(x, &Affine::default(), EPSILON, TensorMut::new(y, &[rows, COLUMNS])?, by)
        },
        reference: |_, x, _| by_rows(x, normal_row),
    },
    Case {
        name: "sums of rows of 1024",
        sizes: [128, 512, 2048],
        lengths: |rows| [rows * COLUMNS, 1, rows],
        flops: None,
        encode: |rows, [x, _], y, by| {
            reduce_by(Reduction::Sum, Tensor::new(x, &[rows, COLUMNS])?, 1, TensorMut::new(y, &[rows])?, by)
        },
        reference: |_, x, _| by_rows(x, |row| vec![sum(row.iter().map(|x| f64::from(*x)))]),
    },
    Case {
        name: "sums of 1024 columns",
        sizes: [128, 512, 2048],
        lengths: |rows| [rows * COLUMNS, 1, COLUMNS],
        flops: None,
        encode: |rows, [x, _], y, by| {
            reduce_by(Reduction::Sum, Tensor::new(x, &[rows, COLUMNS])?, 0, TensorMut::new(y, &[COLUMNS])?, by)
        },
        reference: |_, x, _| {
            let column = |at| x.iter().skip(at).step_by(COLUMNS).map(|x| f64::from(*x));
            (0..COLUMNS).map(|at| sum(column(at))).collect()
        },
    },
    Case {
        name: "sigmoid",
        sizes: [128, 512, 2048],
        lengths: |rows| [rows * COLUMNS, 1, rows * COLUMNS],
        flops: None,
        encode: |rows, [x, _], y, by| {
            let shape = [rows, COLUMNS];
            activate_by(Activation::Sigmoid, Tensor::new(x, &shape)?, TensorMut::new(y, &shape)?, by)
        },
        reference: |_, x, _| {
            let of = |x: &f32| 1.0 / (1.0 + (-f64::from(*x)).exp());
            x.iter().map(of).map(|y| (y, 5.0 * U * y + f64::from(f32::MIN_POSITIVE))).collect()
        },
    },
    Case {
        name: "matrix of 1024 columns and a vector",
        sizes: [128, 512, 2048],
        lengths: |rows| [rows * COLUMNS, COLUMNS, rows],
        flops: None,
        encode: |rows, [a, x], y, by| {
            let (a, x) = (Tensor::new(a, &[rows, COLUMNS])?, Tensor::new(x, &[COLUMNS])?);
            vector_product_by(a, x, TensorMut::new(y, &[rows])?, [1.0, 0.0], by)
        },
        reference: |_, a, x| {
            a.chunks(COLUMNS).map(|row| sum(row.iter().zip(x).map(|(a, x)| f64::from(*a) * f64::from(*x)))).collect()
        },
    },
];

const CHANNELS: usize = 32;
const COLUMNS: usize = 1024;
const EPSILON: f32 = 1e-5;
/// Images stay as large as they are.
const STEPS: Steps = Steps { stride: [1; 2], padding: [1; 2], dilation: [1; 2] };
const U: f64 = f32::EPSILON as f64 / 2.0;

/// docs/TENSOR.md, "Accuracy".
fn g(n: usize) -> f64 {
    n as f64 * U / (1.0 - n as f64 * U)
}

/// Of terms that have been rounded once each, or never.
fn sum(terms: impl Iterator<Item = f64>) -> Wanted {
    let (mut sum, mut size, mut count) = (0.0, 0.0, 0);
    for term in terms {
        (sum, size, count) = (sum + term, size + term.abs(), count + 1);
    }
    (sum, g(count + 2) * size)
}

fn by_rows(x: &[f32], of: fn(&[f32]) -> Vec<Wanted>) -> Vec<Wanted> {
    x.chunks(COLUMNS).flat_map(of).collect()
}

fn softmax_row(row: &[f32]) -> Vec<Wanted> {
    let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let distance = |x: f32| f64::from(largest) - f64::from(x);
    let all: f64 = row.iter().map(|x| (-distance(*x)).exp()).sum();
    let farthest = row.iter().map(|x| distance(*x)).fold(0.0, f64::max);
    let of = |x: &f32| (-distance(*x)).exp() / all;
    let bound = |y: f64| (g(row.len() + 8) + 2.0 * U * farthest) * y + f64::from(f32::MIN_POSITIVE);
    row.iter().map(of).map(|y| (y, bound(y))).collect()
}

fn normal_row(row: &[f32]) -> Vec<Wanted> {
    let n = row.len() as f64;
    let mean_of = |of: &dyn Fn(f64) -> f64| row.iter().map(|x| of(f64::from(*x))).sum::<f64>() / n;
    let mean = mean_of(&|x| x);
    let deviation = (mean_of(&|x| (x - mean).powi(2)) + f64::from(EPSILON)).sqrt();
    let of_mean = g(row.len() + 2) * mean_of(&f64::abs) / deviation;
    let bound = |y: f64| of_mean * (1.0 + y.abs()) + g(row.len() + 8) * y.abs();
    row.iter().map(|x| (f64::from(*x) - mean) / deviation).map(|y| (y, bound(y))).collect()
}

/// For each element of an image's result, what is made of the places of a window of 3 x 3 around it: which of the window's it is, and which of the image's.
fn places(edge: usize, of: impl Fn(&mut dyn Iterator<Item = (usize, usize)>, usize) -> Wanted) -> Vec<Wanted> {
    (0..edge * edge * CHANNELS)
        .map(|at| {
            let (row, column) = (at / CHANNELS / edge, at / CHANNELS % edge);
            let mut window = (0..9).filter_map(|in_window| {
                let (row, column) = ((row + in_window / 3).checked_sub(1)?, (column + in_window % 3).checked_sub(1)?);
                (row < edge && column < edge).then_some((in_window, row * edge + column))
            });
            of(&mut window, at)
        })
        .collect()
}

fn convolved(edge: usize, x: &[f32], w: &[f32]) -> Vec<Wanted> {
    places(edge, |window, at| {
        let feature = at % CHANNELS;
        sum(window.flat_map(|(in_window, place)| {
            (0..CHANNELS).map(move |channel| {
                let weight = w[(in_window * CHANNELS + channel) * CHANNELS + feature];
                f64::from(x[place * CHANNELS + channel]) * f64::from(weight)
            })
        }))
    })
}

/// From -1 to 1.
fn numbers(len: usize, seed: u64) -> Vec<f32> {
    Random(seed).words(len).into_iter().map(|word| (word >> 8) as f32 / (1 << 23) as f32 - 1.0).collect()
}

/// One operation at one size, by one implementation.
struct Side<'a> {
    case: &'a Case,
    size: usize,
    inputs: [&'a Buffer<f32>; 2],
    y: Buffer<f32>,
    by: Implementation,
    wanted: &'a [Wanted],
}

impl Side<'_> {
    fn run(&mut self) -> Result<()> {
        (self.case.encode)(self.size, self.inputs, &mut self.y, self.by)?.submit()?.wait()
    }

    fn timed(&mut self) -> Result<Duration> {
        let start = Instant::now();
        self.run()?;
        Ok(start.elapsed())
    }

    /// Nothing of a result is left, so that it must be computed again.
    fn forget(&mut self) -> Result<()> {
        self.y.write_from(&vec![f32::NAN; self.y.len()])
    }

    fn verify(&self) -> Result<()> {
        let (name, by) = (self.case.name, self.by);
        for (at, (got, (wanted, most))) in self.y.to_vec()?.into_iter().zip(self.wanted).enumerate() {
            let right = (f64::from(got) - wanted).abs() <= *most;
            assert!(right, "{name}, {}, {by:?}: element {at} is {got}, not {wanted}", self.size);
        }
        Ok(())
    }
}

/// What was measured of one implementation at one size.
struct Timed {
    best: Duration,
    point: Point,
}

/// What a launch that has next to nothing to compute takes, in seconds.
fn launch(gpu: &Accelerator) -> Result<f64> {
    let (x, mut y) = (gpu.buffer_zeroed::<f32>(1)?, gpu.buffer_zeroed::<f32>(1)?);
    let mut times = Vec::new();
    for _ in 0..101 {
        let start = Instant::now();
        activate(Activation::Relu, Tensor::new(&x, &[1])?, TensorMut::new(&mut y, &[1])?)?.submit()?.wait()?;
        times.push(start.elapsed().as_secs_f64());
    }
    Ok(Spread::of(times).median)
}

fn measure(gpu: &Accelerator, case: &Case, size: usize, rounds: usize) -> Result<([Timed; 2], Spread, f64)> {
    let [x, w, y] = (case.lengths)(size);
    let (x, w) = (numbers(x, 1), numbers(w, 2));
    let wanted = (case.reference)(size, &x, &w);
    assert_eq!(wanted.len(), y, "{}: the reference is of the whole", case.name);
    let inputs = [&gpu.buffer_from(&x)?, &gpu.buffer_from(&w)?];
    let side = |by| -> Result<Side<'_>> {
        let y = gpu.buffer_from(&vec![f32::NAN; y])?;
        let mut side = Side { case, size, inputs, y, by, wanted: &wanted };
        side.run()?;
        side.verify()?;
        side.forget()?;
        Ok(side)
    };
    let (mut kernels, mut shaders) = (side(Implementation::Kernels)?, side(Implementation::PerformanceShaders)?);
    let mut fastest = Duration::MAX;
    let peer = || {
        let time = shaders.timed()?;
        fastest = fastest.min(time);
        Ok::<_, dcmetal::Error>(time)
    };
    let ratio = alternated(rounds, || kernels.timed(), peer)?;
    kernels.verify()?;
    shaders.verify()?;
    let bytes = 4.0 * (x.len() + w.len() + y) as f64;
    let work = case.flops.map_or(bytes, |of| of(size));
    let timed = |best: Duration| Timed { best, point: Point { work, seconds: best.as_secs_f64() } };
    Ok(([timed(ratio.fastest), timed(fastest)], ratio.ratio.inverse(), bytes))
}

fn main() -> Result<()> {
    let short = is_short();
    let gpu = Accelerator::system_default()?;
    let (roofs, launch) = (Roofs::of(&gpu), launch(&gpu)?);
    println!(
        "{}; kernels and Metal Performance Shaders at best, by turns; {} and {}",
        gpu.name(),
        roofs.bytes_are(),
        roofs.flops_are()
    );
    for case in CASES.iter().filter(|case| is_chosen(case.name)) {
        let mut points = [Vec::new(), Vec::new()];
        for size in case.sizes.into_iter().take(if short { 1 } else { 3 }) {
            let (timed, Spread { median, p10, p90, .. }, bytes) =
                measure(&gpu, case, size, if short { 3 } else { 41 })?;
            let unit = if case.flops.is_some() { "GFLOP/s" } else { "GB/s" };
            let rates = timed.each_ref().map(|timed| 1e-9 * timed.point.work / timed.point.seconds);
            let most = rates[0].max(rates[1]);
            let mut roof = 0.0f64;
            // Again if it was a slow moment.
            for _ in 0..3 {
                let now = if case.flops.is_some() { roofs.flops() } else { roofs.bytes(bytes) };
                roof = roof.max(1e-9 * now.unwrap_or_else(|refusal| panic!("{refusal:?}")));
                if short || most <= roof {
                    break;
                }
            }
            // A short run, as CI makes on a busy machine, asks for right outputs only.
            assert!(short || most <= roof * SLACK, "{most:.1} {unit} are beyond the roofline, {roof:.1}");
            println!(
                "{}, {size}: kernels {:.2?} ({:.1} {unit}), Metal Performance Shaders {:.2?} ({:.1}); roofline {roof:.1}; kernels {median:.2} ({p10:.2} to {p90:.2}) of their rate",
                case.name, timed[0].best, rates[0], timed[1].best, rates[1],
            );
            points.iter_mut().zip(timed).for_each(|(points, timed)| points.push(timed.point));
        }
        for (points, who) in points.iter().zip(["kernels", "Metal Performance Shaders"]) {
            if let Growth::Power(power) = growth(points, launch) {
                assert!(
                    short || power >= LEAST_GROWTH,
                    "{}, {who}: time goes as work to the power of {power:.2}",
                    case.name
                );
                println!("{}, {who}: time goes as work to the power of {power:.2}", case.name);
            }
        }
    }
    Ok(())
}
