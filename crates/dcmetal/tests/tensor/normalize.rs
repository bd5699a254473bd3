//! Softmax, layer normalisation and batch normalisation.

use dcmetal::tensor::{
    Affine, Channels, Implementation, Tensor, TensorMut, batch_norm, batch_norm_by, batch_statistics_by, layer_norm,
    layer_norm_by, softmax, softmax_by,
};
use half::{bf16, f16};

use crate::common::Random;
use crate::random::{
    Number, Placed, below, check_implementation, gamma, gpu, indices, name, of, place, run, run_by_shaders,
};

const U: f64 = f32::ROUNDOFF;

/// x and y of a random shape whose last axis is often long, in line or not.
fn two<T: Number>(random: &mut Random, by_graph: bool) -> (Placed<T>, Placed<T>) {
    let rank = 1 + below(random, 4);
    let mut shape: Vec<usize> = (0..rank).map(|_| of(random, &[1, 2, 3, 5])).collect();
    shape[rank - 1] = of(random, &[1, 7, 63, 64, 65, 200, 517]);
    let mut order: Vec<usize> = (0..rank).collect();
    if below(random, 3) == 0 {
        order.rotate_left(1);
    }
    let gap = below(random, 2) * 3;
    let by = if by_graph { Implementation::PerformanceShaders } else { Implementation::Kernels };
    (place(random, &shape, (&order, gap), by), place(random, &shape, (&order, gap), by))
}

fn row<T: Number>(x: &Placed<T>, at: &[usize]) -> Vec<f64> {
    let (rest, n) = (at.len() - 1, x.shape[at.len() - 1]);
    let first = [&at[..rest], &[0]].concat();
    x.line(&first, rest, n).map(T::to_f64).collect()
}

/// Whether it was computed.
fn softmax_of<T: Number>(random: &mut Random, by: Implementation) -> bool {
    let (mut x, mut y) = two::<T>(random, false);
    let scale = of(random, &[1.0, 20.0, 300.0]);
    x.rewrite(|number| T::rounded(number.to_f64() * scale));
    let what = format!("softmax of {} {:?} {:?}", name::<T>(), x.shape, x.strides);
    let operation = softmax_by(x.tensor(), y.tensor_mut(), by);
    if by != Implementation::PerformanceShaders {
        run(&what, operation);
    } else if !run_by_shaders(&what, operation, &x.shape, &x.strides) {
        return false;
    }
    y.check(&what, |at| {
        let numbers = row(&x, at);
        let largest = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = numbers.iter().map(|x| (x - largest).exp()).sum();
        let apart = x.at(at) - largest;
        let value = apart.exp() / sum;
        // docs/TENSOR.md: the difference is rounded, twice the exponential function, the sum, the quotient.
        let most = numbers.iter().map(|x| largest - x).filter(|apart| *apart < 104.0).fold(0.0, f64::max);
        (value, value * (gamma(numbers.len() + 8) + 2.0 * U * most) + f64::from(f32::MIN_POSITIVE))
    });
    true
}

fn layer_norm_of<T: Number>(random: &mut Random, has: [bool; 2], by: Implementation) {
    let gpu = gpu();
    let (x, mut y) = two::<T>(random, by == Implementation::PerformanceShaders);
    let n = *x.shape.last().expect("it has an axis");
    let factors: Vec<[f64; 2]> =
        (0..n).map(|_| [0, 1].map(|_| T::rounded(crate::random::number(random)).to_f64())).collect();
    let buffers = [0, 1].map(|at| {
        let numbers: Vec<T> = factors.iter().map(|pair| T::rounded(pair[at])).collect();
        gpu.buffer_from(&numbers).expect("a buffer")
    });
    let tensor = |at: usize| has[at].then(|| Tensor::new(&buffers[at], &[n]).expect("it fits"));
    let epsilon = 1e-3f32;
    let what = format!("layer_norm of {} {:?} {:?} {has:?}, {by:?}", name::<T>(), x.shape, x.strides);
    let affine = Affine { scale: tensor(0), shift: tensor(1) };
    let operation = layer_norm_by(x.tensor(), &affine, epsilon, y.tensor_mut(), by);
    check_implementation(&what, &operation, by);
    run(&what, operation);
    y.check(&what, |at| {
        let numbers = row(&x, at);
        let count = n as f64;
        let (mean, size) = (numbers.iter().sum::<f64>() / count, numbers.iter().map(|x| x.abs()).sum::<f64>() / count);
        let variance = numbers.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count;
        let deviation = (variance + f64::from(epsilon)).sqrt();
        let [scale, shift] =
            [0, 1].map(|part| if has[part] { factors[at[at.len() - 1]][part] } else { 1.0 - part as f64 });
        let apart = (x.at(at) - mean) / deviation;
        // docs/TENSOR.md: the mean's error moves all numbers; the rest is relative.
        let moved = gamma(n + 2) * size / deviation;
        let bound = scale.abs() * (moved * (1.0 + apart.abs()) + apart.abs() * gamma(n + 8)) + U * 2.0 * shift.abs();
        (apart * scale + shift, bound)
    });
}

#[test]
fn rows_are_normalised_within_their_bounds() {
    let mut random = Random(5);
    for _ in 0..10 {
        softmax_of::<f32>(&mut random, Implementation::Measured);
    }
    for has in [[true, true], [false, false], [true, false], [false, true]] {
        for _ in 0..3 {
            layer_norm_of::<f32>(&mut random, has, Implementation::Measured);
        }
    }
    for _ in 0..3 {
        for softmax_of in [softmax_of::<f16>, softmax_of::<bf16>] {
            softmax_of(&mut random, Implementation::Kernels);
        }
        for layer_norm_of in [layer_norm_of::<f16>, layer_norm_of::<bf16>] {
            layer_norm_of(&mut random, [true, true], Implementation::Kernels);
        }
    }
}

#[test]
fn rows_are_normalised_by_performance_shaders_within_their_bounds() {
    let (mut random, by) = (Random(28), Implementation::PerformanceShaders);
    for has in [[true, true], [false, false], [true, false], [false, true]] {
        for _ in 0..3 {
            layer_norm_of::<f32>(&mut random, has, by);
            layer_norm_of::<f16>(&mut random, has, by);
            layer_norm_of::<bf16>(&mut random, has, by);
        }
    }
}

#[test]
fn softmax_by_performance_shaders_is_within_its_bound() {
    let mut random = Random(25);
    let mut computed = 0;
    for _ in 0..20 {
        computed += usize::from(softmax_of::<f32>(&mut random, Implementation::PerformanceShaders));
        computed += usize::from(softmax_of::<f16>(&mut random, Implementation::PerformanceShaders));
    }
    assert!(computed >= 20, "{computed} of 40");
    let x = gpu().buffer_zeroed::<bf16>(4).expect("a buffer");
    let mut y = gpu().buffer_zeroed::<bf16>(4).expect("a buffer");
    let (from, to) = (Tensor::new(&x, &[4]).expect("it fits"), TensorMut::new(&mut y, &[4]).expect("it fits"));
    let error = softmax_by(from, to, Implementation::PerformanceShaders).expect_err("there is none");
    let text = "this softmax by Metal Performance Shaders is not supported: their matrices are of float and half, not of bfloat";
    assert_eq!(error.to_string(), text);
}

fn batch_of<T: Number>(random: &mut Random, (rank, axis): (usize, usize), has: bool, by: Implementation) {
    let gpu = gpu();
    let shape: Vec<usize> = (0..rank).map(|_| of(random, &[1, 2, 5, 17, 33])).collect();
    let order: Vec<usize> = (0..rank).collect();
    let gap = below(random, 2) * 3;
    let x = place::<T>(random, &shape, (&order, gap), by);
    let mut y = place::<T>(random, &shape, (&order, gap), by);
    let c = shape[axis];
    let mut statistics = [0; 2].map(|_| place::<f32>(random, &[c], (&[0], 0), by));
    let what = format!("batch of {} {shape:?} {:?}, channels on {axis}, {by:?}", name::<T>(), x.strides);
    let [mean, variance] = &mut statistics;
    let operation = batch_statistics_by(x.tensor(), axis, mean.tensor_mut(), variance.tensor_mut(), by);
    check_implementation(&what, &operation, by);
    run(&what, operation);
    let of_channel = |channel: usize| -> Vec<f64> {
        indices(&shape).iter().filter(|at| at[axis] == channel).map(|at| x.at(at)).collect()
    };
    let known: Vec<[f64; 4]> = (0..c)
        .map(|channel| {
            let numbers = of_channel(channel);
            let n = numbers.len();
            let (mean, size) =
                (numbers.iter().sum::<f64>() / n as f64, numbers.iter().map(|x| x.abs()).sum::<f64>() / n as f64);
            let variance = numbers.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n as f64;
            let moved = gamma(n + 2) * size;
            [mean, moved, variance, gamma(n + 4) * variance + 2.0 * moved * variance.sqrt() + moved * moved]
        })
        .collect();
    statistics[0].check(&what, |at| (known[at[0]][0], known[at[0]][1]));
    statistics[1].check(&what, |at| (known[at[0]][2], known[at[0]][3]));
    let found = statistics.each_ref().map(|of| of.buffer.to_vec().expect("it ran"));
    let factors: Vec<[f64; 2]> =
        (0..c).map(|_| [0, 1].map(|_| T::rounded(crate::random::number(random)).to_f64())).collect();
    let buffers = [0, 1].map(|at| {
        let numbers: Vec<T> = factors.iter().map(|pair| T::rounded(pair[at])).collect();
        gpu.buffer_from(&numbers).expect("a buffer")
    });
    let tensor = |at: usize| has.then(|| Tensor::new(&buffers[at], &[c]).expect("it fits"));
    let affine = Affine { scale: tensor(0), shift: tensor(1) };
    let [mean, variance] = [0, 1].map(|at| statistics[at].tensor());
    let epsilon = 1e-3f32;
    let channels = Channels { axis, mean, variance, affine };
    let operation = batch_norm_by(x.tensor(), &channels, epsilon, y.tensor_mut(), by);
    check_implementation(&what, &operation, by);
    run(&what, operation);
    y.check(&what, |at| {
        let channel = at[axis];
        let [mean, variance] = [0, 1].map(|part| f64::from(found[part][statistics[part].place(&[channel])]));
        let [scale, shift] = [0, 1].map(|part| if has { factors[channel][part] } else { 1.0 - part as f64 });
        let value = (x.at(at) - mean) / (variance + f64::from(epsilon)).sqrt() * scale;
        (value + shift, 8.0 * U * value.abs() + U * shift.abs())
    });
}

/// Channels last, or on another axis.
fn axis_of(random: &mut Random, round: usize, least: usize) -> (usize, usize) {
    let rank = least + below(random, 5 - least);
    (rank, if round.is_multiple_of(2) { rank - 1 } else { below(random, rank) })
}

#[test]
fn batches_are_normalised_within_their_bounds() {
    let mut random = Random(6);
    for round in 0..12 {
        let axes = axis_of(&mut random, round, 2);
        batch_of::<f32>(&mut random, axes, round % 3 != 0, Implementation::Measured);
    }
    for round in 0..4 {
        for batch_of in [batch_of::<f16>, batch_of::<bf16>] {
            let axes = axis_of(&mut random, round, 2);
            batch_of(&mut random, axes, round % 3 != 0, Implementation::Kernels);
        }
    }
}

#[test]
fn batches_are_normalised_by_performance_shaders_within_their_bounds() {
    let (mut random, by) = (Random(29), Implementation::PerformanceShaders);
    for round in 0..8 {
        let axes = axis_of(&mut random, round, 1);
        batch_of::<f32>(&mut random, axes, round % 3 != 0, by);
        batch_of::<f16>(&mut random, axes, round % 3 != 1, by);
        batch_of::<bf16>(&mut random, axes, round % 3 != 2, by);
    }
    batch_of::<f32>(&mut random, (1, 0), true, by);
}

#[test]
fn what_cannot_be_normalised_by_performance_shaders_is_told() {
    let (gpu, by) = (gpu(), Implementation::PerformanceShaders);
    let x = gpu.buffer_zeroed::<f32>(12).expect("a buffer");
    let [mut y, mut other] = [0; 2].map(|_| gpu.buffer_zeroed::<f32>(12).expect("a buffer"));
    let tensor = |shape: &[usize]| {
        Tensor::new(x.view(..shape.iter().product::<usize>()).expect("within"), shape).expect("it fits")
    };
    let turned = tensor(&[3, 4]).transposed().expect("two axes");
    let refusal = |operation: &str, why: &str| {
        format!(
            "this {operation} by Metal Performance Shaders is not supported: {why}: elements are to follow each other"
        )
    };
    let to = TensorMut::new(&mut y, &[4, 3]).expect("it fits");
    let error = layer_norm_by(turned, &Affine::default(), 0.0, to, by).expect_err("it is turned");
    assert_eq!(error.to_string(), refusal("layer_norm", "x is 4x3 at strides [1, 4]"));
    let channels = || Channels { axis: 1, mean: tensor(&[3]), variance: tensor(&[3]), affine: Affine::default() };
    let to = TensorMut::new(&mut y, &[3, 4]).expect("it fits").into_transposed().expect("two axes");
    let error = batch_norm_by(tensor(&[4, 3]), &channels(), 0.0, to, by).expect_err("it is turned");
    assert_eq!(error.to_string(), refusal("batch_norm", "y is 4x3 at strides [1, 4]"));
    let line = |buffer| TensorMut::new(buffer, &[3]).expect("it fits");
    let (mean, variance) = (y.view_mut(..3).expect("within"), other.view_mut(..3).expect("within"));
    let error = batch_statistics_by(turned, 1, line(mean), line(variance), by).expect_err("it is turned");
    assert_eq!(error.to_string(), refusal("batch_statistics", "x is 4x3 at strides [1, 4]"));
    // What no implementation takes is no matter of this one.
    let to = TensorMut::new(&mut y, &[4, 3]).expect("it fits");
    let error = batch_norm_by(tensor(&[3, 4]), &channels(), 0.0, to, by).expect_err("another shape");
    assert_eq!(error.to_string(), "batch_norm: x is 3x4, y is 4x3");
    let to = TensorMut::new(&mut y, &[4, 3]).expect("it fits");
    let operation = layer_norm_by(tensor(&[4, 3]), &Affine::default(), 0.0, to, by).expect("it fits");
    assert_eq!(format!("{operation:?}"), "[MPSGraph layer normalization 4x3 over 1]");
}

#[test]
fn what_cannot_be_normalised_is_told() {
    let gpu = gpu();
    let x = gpu.buffer_zeroed::<f32>(12).expect("a buffer");
    let mut y = gpu.buffer_zeroed::<f32>(12).expect("a buffer");
    let tensor = |shape: &[usize]| {
        Tensor::new(x.view(..shape.iter().product::<usize>()).expect("within"), shape).expect("it fits")
    };
    let error = softmax(tensor(&[3, 4]), TensorMut::new(&mut y, &[4, 3]).expect("it fits")).expect_err("other shapes");
    assert_eq!(error.to_string(), "softmax: x is 3x4, y is 4x3");
    let affine = Affine { scale: Some(tensor(&[3])), shift: None };
    let error = layer_norm(tensor(&[3, 4]), &affine, 0.0, TensorMut::new(&mut y, &[3, 4]).expect("it fits"));
    let text = "layer_norm: scale is 3, not 4 elements that follow each other";
    assert_eq!(error.expect_err("another length").to_string(), text);
    let statistics = Channels { axis: 2, mean: tensor(&[3]), variance: tensor(&[3]), affine: Affine::default() };
    let error = batch_norm(tensor(&[3, 4]), &statistics, 0.0, TensorMut::new(&mut y, &[3, 4]).expect("it fits"));
    assert_eq!(error.expect_err("no axis").to_string(), "batch_norm: x is 3x4 and has no axis 2");
    let other = dcmetal::Accelerator::system_default().expect("a Metal device");
    let foreign = other.buffer_zeroed::<f32>(4).expect("a buffer");
    let affine = Affine { scale: None, shift: Some(Tensor::new(&foreign, &[4]).expect("it fits")) };
    let error = layer_norm(tensor(&[3, 4]), &affine, 0.0, TensorMut::new(&mut y, &[3, 4]).expect("it fits"));
    let text = "layer_norm: shift belongs to another accelerator";
    assert_eq!(error.expect_err("it is foreign").to_string(), text);
}
