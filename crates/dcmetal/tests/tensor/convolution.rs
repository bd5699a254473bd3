//! Convolution, pooling, and the product of a matrix and a vector.

use dcmetal::tensor::{
    Convolution, Implementation, Pool, Pooling, Steps, Tensor, TensorMut, convolution, convolution_by, pool, pool_by,
    vector_product, vector_product_by,
};
use half::{bf16, f16};

use crate::common::Random;
use crate::random::{Number, Placed, below, check_implementation, gamma, gpu, name, of, place, run};

fn steps(random: &mut Random) -> Steps {
    Steps {
        stride: [0; 2].map(|_| of(random, &[1, 1, 2, 3])),
        padding: [0; 2].map(|_| of(random, &[0, 1, 2])),
        dilation: [0; 2].map(|_| of(random, &[1, 1, 2])),
    }
}

/// Where a place of the window is in the image.
fn inside(steps: &Steps, axis: usize, to: usize, at: usize, extent: usize) -> Option<usize> {
    (to * steps.stride[axis] + at * steps.dilation[axis]).checked_sub(steps.padding[axis]).filter(|&at| at < extent)
}

fn convolve<T: Number>(random: &mut Random, by: Implementation, [groups, inputs, outputs]: [usize; 3]) {
    let (steps, window, image) = loop {
        let steps = steps(random);
        let window = [0; 2].map(|_| of(random, &[1, 2, 3, 5]));
        let image = [of(random, &[1, 2]), of(random, &[5, 9, 16]), of(random, &[1, 7, 19, 61, 107])];
        if steps.places(0, image[1], window[0]).is_some() && steps.places(1, image[2], window[1]).is_some() {
            break (steps, window, image);
        }
    };
    let places = [0, 1].map(|axis| steps.places(axis, image[1 + axis], window[axis]).expect("it fits"));
    // Channels last in memory, or first.
    let order: &[usize] = if below(random, 4) == 0 { &[0, 3, 1, 2] } else { &[0, 1, 2, 3] };
    let gap = below(random, 2) * 3;
    let shape = [image[0], image[1], image[2], groups * inputs];
    let x = place::<T>(random, &shape, (order, gap), by);
    let w = place::<T>(random, &[window[0], window[1], inputs, groups * outputs], (&[0, 1, 2, 3], gap), by);
    let mut y = place::<T>(random, &[image[0], places[0], places[1], groups * outputs], (order, gap), by);
    let bias = place::<T>(random, &[groups * outputs], (&[0], 0), by);
    let has_bias = below(random, 2) == 0;
    let what = format!(
        "convolution of {} {:?} {:?} with {:?} in {groups} groups, {steps:?}, bias {has_bias}, {by:?}",
        name::<T>(),
        x.shape,
        x.strides,
        w.shape
    );
    let options = Convolution { steps, groups, bias: has_bias.then(|| bias.tensor()) };
    let operation = convolution_by(x.tensor(), w.tensor(), y.tensor_mut(), &options, by);
    check_implementation(&what, &operation, by);
    run(&what, operation);
    // Of a graph the sum is rounded to the type before the bias is added.
    let rounds_twice = has_bias && by == Implementation::PerformanceShaders;
    y.check(&what, |at| {
        let (mut sum, mut size) = if has_bias { (bias.at(&at[3..]), bias.at(&at[3..]).abs()) } else { (0.0, 0.0) };
        let mut count = 1;
        for i in 0..window[0] {
            for j in 0..window[1] {
                let rows = inside(&steps, 0, at[1], i, image[1]);
                let (Some(row), Some(column)) = (rows, inside(&steps, 1, at[2], j, image[2])) else { continue };
                let first = at[3] / outputs * inputs;
                let numbers = x.line(&[at[0], row, column, first], 3, inputs);
                for (x, w) in numbers.zip(w.line(&[i, j, 0, at[3]], 2, inputs)) {
                    let term = x.to_f64() * w.to_f64();
                    (sum, size, count) = (sum + term, size + term.abs(), count + 1);
                }
            }
        }
        let bound = gamma(count) * size;
        (sum, if rounds_twice { bound + T::ROUNDOFF * (size + bound) + T::SMALLEST } else { bound })
    });
}

/// Some shapes, with tensors from any element on.
pub(crate) fn convolve_by_graphs(rounds: usize) {
    let (mut random, by) = (Random(17), Implementation::PerformanceShaders);
    for _ in 0..rounds {
        for size in [[1, 3, 17], [1, 65, 64], [2, 5, 9], [7, 1, 1], [4, 3, 16]] {
            convolve::<f32>(&mut random, by, size);
        }
        convolve::<f16>(&mut random, by, [1, 5, 19]);
        convolve::<bf16>(&mut random, by, [18, 1, 1]);
    }
}

#[test]
fn convolutions_by_performance_shaders_are_within_their_bound() {
    convolve_by_graphs(4);
}

#[test]
fn convolutions_are_within_their_bound() {
    let (mut random, by) = (Random(7), Implementation::Measured);
    for size in
        [[1, 3, 17], [1, 65, 64], [1, 2, 3], [2, 5, 9], [1, 1, 1], [7, 1, 1], [3, 2, 1], [1, 70, 80], [4, 3, 16]]
    {
        for _ in 0..3 {
            convolve::<f32>(&mut random, by, size);
        }
    }
    // By tiles and by a thread for each number, the first two in a group, the next in groups, the last of one channel each.
    for size in [[1, 5, 19], [1, 2, 3], [2, 5, 9], [3, 2, 1], [18, 1, 1]] {
        for convolve in [convolve::<f16>, convolve::<bf16>] {
            for _ in 0..3 {
                convolve(&mut random, by, size);
            }
        }
    }
}

fn pooled<T: Number>(random: &mut Random, pooling: Pooling, by: Implementation) {
    let image = [of(random, &[1, 3]), of(random, &[5, 8, 13]), of(random, &[6, 17]), of(random, &[1, 3, 16, 33])];
    let window = [of(random, &[1, 2, 3]), of(random, &[2, 3])];
    let stride = [0; 2].map(|_| of(random, &[1, 2]));
    let steps = Steps { stride, padding: [window[0] / 2, window[1] / 2], dilation: [1, 1] };
    pooled_of::<T>(random, image, Pool { pooling, window, steps }, by);
}

/// Whether a window has places, each with some of the image under it.
fn has_all_places(steps: &Steps, axis: usize, window: usize, extent: usize) -> bool {
    let something = |to: usize| (0..window).any(|at| inside(steps, axis, to, at, extent).is_some());
    steps.places(axis, extent, window).is_some_and(|places| (0..places).all(something))
}

fn pooled_of<T: Number>(random: &mut Random, image: [usize; 4], options: Pool, by: Implementation) {
    let Pool { pooling, window, steps } = options;
    let places = [0, 1].map(|axis| steps.places(axis, image[1 + axis], window[axis]).expect("it fits"));
    let order: &[usize] = if below(random, 3) == 0 { &[0, 3, 1, 2] } else { &[0, 1, 2, 3] };
    let x = place::<T>(random, &image, (order, 3), by);
    let mut y = place::<T>(random, &[image[0], places[0], places[1], image[3]], (order, 3), by);
    let what = format!("{pooling:?} of {} {image:?} {:?} under {window:?}, {steps:?}, {by:?}", name::<T>(), x.strides);
    let operation = pool_by(x.tensor(), y.tensor_mut(), &options, by);
    check_implementation(&what, &operation, by);
    run(&what, operation);
    y.check(&what, |at| {
        let mut numbers = Vec::new();
        for i in 0..window[0] {
            for j in 0..window[1] {
                let rows = inside(&steps, 0, at[1], i, image[1]);
                if let (Some(row), Some(column)) = (rows, inside(&steps, 1, at[2], j, image[2])) {
                    numbers.push(x.at(&[at[0], row, column, at[3]]));
                }
            }
        }
        if pooling == Pooling::Max {
            return (numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max), 0.0);
        }
        let all = window[0] * window[1];
        let count = if pooling == Pooling::Mean { numbers.len() } else { all } as f64;
        let (sum, size) = numbers.iter().fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()));
        (sum / count, gamma(all + 1) * size / count)
    });
}

#[test]
fn pooling_is_within_its_bounds() {
    let mut random = Random(8);
    for by in [Implementation::Measured, Implementation::PerformanceShaders] {
        for pooling in [Pooling::Max, Pooling::Mean, Pooling::MeanWithPadding] {
            for _ in 0..5 {
                pooled::<f32>(&mut random, pooling, by);
            }
        }
        for _ in 0..3 {
            pooled::<f16>(&mut random, Pooling::Max, by);
        }
    }
    for pooling in [Pooling::Mean, Pooling::MeanWithPadding] {
        pooled::<f16>(&mut random, pooling, Implementation::PerformanceShaders);
        pooled::<bf16>(&mut random, pooling, Implementation::PerformanceShaders);
    }
}

#[test]
fn dilated_pooling_is_within_its_bounds() {
    let mut random = Random(23);
    for by in [Implementation::PerformanceShaders, Implementation::Kernels] {
        for pooling in [Pooling::Max, Pooling::Mean, Pooling::MeanWithPadding] {
            for dilation in [[2, 3], [3, 2], [2, 2], [3, 3], [1, 3], [2, 1]] {
                for rows in [1, 2, 7, 13] {
                    let columns = of(&mut random, &[1, 5, 11, 16]);
                    let image = [of(&mut random, &[1, 3]), rows, columns, of(&mut random, &[1, 3, 17])];
                    let options = dilated(&mut random, pooling, dilation, &image);
                    pooled_of::<f32>(&mut random, image, options, by);
                    pooled_of::<f16>(&mut random, image, options, by);
                    pooled_of::<bf16>(&mut random, image, options, by);
                }
            }
        }
    }
}

/// Random windows, strides and paddings, until each place has some of the image.
fn dilated(random: &mut Random, pooling: Pooling, dilation: [usize; 2], image: &[usize; 4]) -> Pool {
    loop {
        let (stride, padding) = ([0; 2].map(|_| of(random, &[1, 2, 3])), [0; 2].map(|_| below(random, 4)));
        let (window, steps) = ([0; 2].map(|_| of(random, &[2, 3])), Steps { stride, padding, dilation });
        if (0..2).all(|axis| has_all_places(&steps, axis, window[axis], image[1 + axis])) {
            return Pool { pooling, window, steps };
        }
    }
}

fn vector<T: Number, U: Number>(random: &mut Random, by: Implementation) {
    let gpu = gpu();
    let [m, k] = [0; 2].map(|_| of(random, &[1, 2, 7, 63, 64, 65, 131, 300]));
    let order: &[usize] = if below(random, 2) == 0 { &[0, 1] } else { &[1, 0] };
    let gap = below(random, 2) * 3;
    let a = Placed::<T>::new(&gpu, random, &[m, k], order, gap);
    let step = 1 + below(random, 2);
    let x = Placed::<T>::strided(&gpu, random, &[k], &[step], gap);
    let mut y = Placed::<U>::strided(&gpu, random, &[m], &[3 - step], gap);
    let [alpha, beta] = of(random, &[[1.0f32, 0.0], [-0.5, 1.0], [2.0, 0.25]]);
    let what =
        format!("{} {m}x{k} {:?} by a vector {:?}, {alpha} and {beta}, {by:?}", name::<T>(), a.strides, x.strides);
    let operation = vector_product_by(a.tensor(), x.tensor(), y.tensor_mut(), [alpha, beta], by);
    check_implementation(&what, &operation, by);
    run(&what, operation);
    y.check(&what, |at| {
        let terms = a.line(&[at[0], 0], 1, k).zip(x.line(&[0], 0, k)).map(|(a, x)| a.to_f64() * x.to_f64());
        let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()));
        let before = f64::from(beta) * y.at(at);
        let alpha = f64::from(alpha);
        (alpha * sum + before, gamma(k + 2) * (alpha.abs() * size + before.abs()))
    });
}

#[test]
fn vector_products_are_within_their_bound() {
    let mut random = Random(9);
    for _ in 0..24 {
        vector::<f32, f32>(&mut random, Implementation::Measured);
        vector::<f32, f32>(&mut random, Implementation::PerformanceShaders);
    }
    for _ in 0..6 {
        for vector in [vector::<bf16, f32>, vector::<bf16, bf16>, vector::<f16, f16>] {
            vector(&mut random, Implementation::Kernels);
        }
        vector::<f16, f16>(&mut random, Implementation::PerformanceShaders);
        vector::<f16, f32>(&mut random, Implementation::PerformanceShaders);
    }
}

/// The extents of x, w and y, the groups, and what is wrong with them.
type Case = ([usize; 4], [usize; 4], [usize; 4], usize, &'static str);

#[test]
fn what_cannot_be_convolved_is_told() {
    let gpu = gpu();
    let (x, mut y) = (gpu.buffer_zeroed::<f32>(64).expect("a buffer"), gpu.buffer_zeroed::<f32>(64).expect("a buffer"));
    let tensor = |shape: &[usize]| {
        Tensor::new(x.view(..shape.iter().product::<usize>()).expect("within"), shape).expect("it fits")
    };
    let cases: &[Case] = &[
        (
            [1, 4, 4, 2],
            [3, 3, 2, 1],
            [1, 3, 2, 1],
            1,
            "x is 1x4x4x2, y is 1x3x2x1: a window of 3x3 with Steps { stride: [1, 1], padding: [0, 0], dilation: [1, 1] } has 2x2 places in each image",
        ),
        (
            [1, 2, 4, 2],
            [3, 3, 2, 1],
            [1, 1, 2, 1],
            1,
            "a window of 3x3 with Steps { stride: [1, 1], padding: [0, 0], dilation: [1, 1] } has no place in x, 1x2x4x2",
        ),
        (
            [1, 4, 4, 2],
            [1, 1, 2, 2],
            [1, 4, 4, 2],
            2,
            "x is 1x4x4x2, w is 1x1x2x2, y is 1x4x4x2, 2 groups: the groups do not divide the channels of x and y, or w has not those of a group",
        ),
        (
            [1, 4, 4, 2],
            [1, 1, 2, 2],
            [1, 4, 4, 1],
            1,
            "x is 1x4x4x2, w is 1x1x2x2, y is 1x4x4x1, 1 groups: y has not the channels of w",
        ),
    ];
    for &(image, window, result, groups, wanted) in cases {
        let to =
            TensorMut::new(y.view_mut(..result.iter().product::<usize>()).expect("within"), &result).expect("it fits");
        let options = Convolution { groups, ..Convolution::default() };
        let error = convolution(tensor(&image), tensor(&window), to, &options).expect_err(wanted);
        assert_eq!(error.to_string(), format!("convolution: {wanted}"));
    }
    let steps = Steps { padding: [2, 0], ..Steps::default() };
    let to = TensorMut::new(y.view_mut(..8).expect("within"), &[1, 8, 1, 1]).expect("it fits");
    let options = Pool { pooling: Pooling::Max, window: [2, 1], steps };
    let error = pool(tensor(&[1, 5, 1, 1]), to, &options).expect_err("nothing is under it");
    assert!(error.to_string().ends_with("has a place with nothing of x under it"), "{error}");
    let to = TensorMut::new(y.view_mut(..4).expect("within"), &[4]).expect("it fits");
    let error = vector_product(tensor(&[3, 4]), tensor(&[4]), to).expect_err("other extents");
    let text = "vector_product: A is 3x4, x is 4, y is 4: A x has not y's elements, or A not x's";
    assert_eq!(error.to_string(), text);
}

#[test]
fn steps_are_refused_where_places_do_not_fit_into_32_bits() {
    let (gpu, mut random) = (gpu(), Random(15));
    let x = Placed::<f32>::new(&gpu, &mut random, &[1, 10, 1, 1], &[0, 1, 2, 3], 0);
    let refused = |steps: Steps, window: usize| {
        let places = steps.places(0, 10, window).expect("it has places");
        let w = Placed::<f32>::new(&gpu, &mut Random(16), &[window, 1, 1, 1], &[0, 1, 2, 3], 0);
        let mut y = Placed::<f32>::new(&gpu, &mut Random(16), &[1, places, 1, 1], &[0, 1, 2, 3], 0);
        let options = Convolution { steps, ..Convolution::default() };
        let text = format!(
            "x is 1x10x1x1 with {steps:?}: axis 1 with its padding, its stride and its dilation may be 2147483647 each"
        );
        let error = convolution(x.tensor(), w.tensor(), y.tensor_mut(), &options).expect_err("it is too large");
        assert_eq!(error.to_string(), format!("convolution: {text}"));
        let options = Pool { pooling: Pooling::Max, window: [window, 1], steps };
        let error = pool(x.tensor(), y.tensor_mut(), &options).expect_err("it is too large");
        assert_eq!(error.to_string(), format!("pool: {text}"));
    };
    let of = |stride: usize, padding: usize, dilation: usize| Steps {
        stride: [stride, 1],
        padding: [padding, 0],
        dilation: [dilation, 1],
    };
    refused(of(4_294_967_295, 4_294_967_295, 1), 1);
    refused(of(1 << 30, (1 << 30) - 5, 1), 1);
    refused(of(1 << 31, 0, 1), 10);
    refused(of(10, 0, 1 << 31), 1);
    // The largest: of two places the first is in the padding, and the second is x's sixth number.
    let steps = of((1 << 30) - 1, (1 << 30) - 6, i32::MAX as usize);
    for outputs in [1, 8] {
        let w = Placed::<f32>::new(&gpu, &mut random, &[1, 1, 1, outputs], &[0, 1, 2, 3], 0);
        let mut y = Placed::<f32>::new(&gpu, &mut random, &[1, 2, 1, outputs], &[0, 1, 2, 3], 0);
        let options = Convolution { steps, ..Convolution::default() };
        run("large steps", convolution(x.tensor(), w.tensor(), y.tensor_mut(), &options));
        y.check("large steps", |at| {
            (if at[1] == 0 { 0.0 } else { x.at(&[0, 5, 0, 0]) * w.at(&[0, 0, 0, at[3]]) }, 0.0)
        });
    }
}

#[test]
fn a_bias_of_another_accelerator_is_named() {
    let (gpu, other) = (gpu(), dcmetal::Accelerator::system_default().expect("a Metal device"));
    let (x, bias) = (gpu.buffer_zeroed::<f32>(1).expect("a buffer"), other.buffer_zeroed::<f32>(1).expect("a buffer"));
    let mut y = gpu.buffer_zeroed::<f32>(1).expect("a buffer");
    let one = Tensor::new(&x, &[1, 1, 1, 1]).expect("it fits");
    let bias = Some(Tensor::new(&bias, &[1]).expect("it fits"));
    let to = TensorMut::new(&mut y, &[1, 1, 1, 1]).expect("it fits");
    let error = convolution(one, one, to, &Convolution { bias, ..Convolution::default() }).expect_err("it is foreign");
    assert_eq!(error.to_string(), "convolution: bias belongs to another accelerator");
}
