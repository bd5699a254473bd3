//! Numbers that are infinite or NaN, variances of 0, and inputs of which one element stands in many places (strides of 0).

use dcmetal::tensor::{
    Activation, Affine, Channels, Convolution, Pool, Pooling, Product, ProductKernel, Reduction, Steps, activate,
    argmax, batch_norm, batch_statistics, convolution, layer_norm, pool, product_with, reduce, reduce_all, softmax,
    vector_product_with,
};
use half::bf16;

use crate::common::Random;
use crate::random::{Number, Placed, gamma, gpu, indices, run};

const U: f64 = f32::ROUNDOFF;

/// Elements that are chosen by their places.
fn chosen<T: Number>(shape: &[usize], order: &[usize], number: impl Fn(&[usize]) -> f64) -> Placed<T> {
    let gpu = gpu();
    let mut placed = Placed::<T>::new(&gpu, &mut Random(11), shape, order, 0);
    for at in indices(shape) {
        let place = placed.place(&at);
        placed.before[place] = T::rounded(number(&at));
    }
    placed.buffer.write_from(&placed.before).expect("nobody uses it");
    placed
}

/// Random elements with these strides.
fn strided<T: Number>(shape: &[usize], strides: &[usize]) -> Placed<T> {
    Placed::strided(&gpu(), &mut Random(12), shape, strides, 3)
}

/// A result in rows, of NaNs before.
fn result<T: Number>(shape: &[usize]) -> Placed<T> {
    let order: Vec<usize> = (0..shape.len()).collect();
    let mut y = Placed::<T>::new(&gpu(), &mut Random(13), shape, &order, 3);
    y.rewrite(|_| T::rounded(f64::NAN));
    y
}

/// A sum of products, and the sum of their absolute values.
fn sum_of(terms: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    terms.fold((0.0, 0.0), |(sum, size), (a, b)| (sum + a * b, size + (a * b).abs()))
}

#[test]
fn pooled_maxima_keep_nan_and_minus_infinity() {
    let numbers = [1.0, 2.0, f64::NAN, -1.0, -3.0, f64::NEG_INFINITY, f64::NEG_INFINITY, 0.5, f64::INFINITY];
    for order in [[0, 1, 2, 3], [0, 3, 1, 2]] {
        let x = chosen::<f32>(&[1, 9, 1, 2], &order, |at| numbers[at[1]] * if at[3] == 0 { 1.0 } else { -1.0 });
        let mut y = result::<f32>(&[1, 8, 1, 2]);
        let options = Pool { pooling: Pooling::Max, window: [2, 1], steps: Steps::default() };
        run("pooled", pool(x.tensor(), y.tensor_mut(), &options));
        y.check("the larger of two", |at| {
            let [a, b] = [0, 1].map(|i| x.at(&[0, at[1] + i, 0, at[3]]));
            (if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }, 0.0)
        });
    }
}

/// C in rows, and with strides that are all above 1.
fn unread<T: Number>(kernel: ProductKernel) {
    let (a, b) = (strided::<T>(&[5, 19], &[19, 1]), strided::<T>(&[19, 33], &[33, 1]));
    for strides in [[33, 1], [70, 2]] {
        let mut c = Placed::<f32>::strided(&gpu(), &mut Random(14), &[5, 33], &strides, 3);
        c.rewrite(|_| f32::NAN);
        let options = Product { alpha: -0.5, beta: 0.0, kernel: Some(kernel), ..Product::default() };
        run("a product over NaNs", product_with(a.tensor(), b.tensor(), c.tensor_mut(), &options));
        c.check(&format!("{kernel:?} over NaNs"), |at| {
            let (sum, size) = sum_of((0..19).map(|k| (a.at(&[at[0], k]), b.at(&[k, at[1]]))));
            (-0.5 * sum, gamma(21) * 0.5 * size)
        });
    }
}

#[test]
fn no_kernel_of_products_reads_c_without_beta() {
    for kernel in ProductKernel::ALL {
        // Of each kernel one that other tests compile as well.
        match kernel {
            ProductKernel::Simdgroups64x64 => unread::<bf16>(kernel),
            _ => unread::<f32>(kernel),
        }
    }
    for strides in [[70, 1], [1, 5]] {
        let (a, x) = (strided::<f32>(&[5, 70], &strides), strided::<f32>(&[70], &[1]));
        let mut y = result::<f32>(&[5]);
        run("over NaNs", vector_product_with(a.tensor(), x.tensor(), y.tensor_mut(), [2.0, 0.0]));
        y.check(&format!("a vector by {strides:?} over NaNs"), |at| {
            let (sum, size) = sum_of((0..70).map(|k| (a.at(&[at[0], k]), x.at(&[k]))));
            (2.0 * sum, gamma(72) * 2.0 * size)
        });
    }
}

#[test]
fn softmax_of_infinities_and_nan_is_what_its_formula_says() {
    let rows: [&[f64]; 6] = [
        &[f64::NEG_INFINITY, 0.0, 1.0],
        &[f64::NEG_INFINITY],
        &[0.0, f64::INFINITY, -1.0],
        &[0.0, f64::NAN, f64::INFINITY],
        &[f64::from(f32::MAX), f64::from(f32::MIN), 0.0],
        &[f64::from(f32::MIN)],
    ];
    for n in [3, 70] {
        let x = chosen::<f32>(&[rows.len(), n], &[0, 1], |at| rows[at[0]][at[1] % rows[at[0]].len()]);
        let mut y = result::<f32>(&[rows.len(), n]);
        run("softmax", softmax(x.tensor(), y.tensor_mut()));
        y.check("softmax of special numbers", |at| {
            let row: Vec<f64> = (0..n).map(|i| x.at(&[at[0], i])).collect();
            let nan = row.iter().any(|x| x.is_nan());
            let largest = if nan { f64::NAN } else { row.iter().copied().fold(f64::NEG_INFINITY, f64::max) };
            let sum: f64 = row.iter().map(|x| (x - largest).exp()).sum();
            let value = (x.at(at) - largest).exp() / sum;
            (value, value * (gamma(n + 8) + 2.0 * U) + f64::from(f32::MIN_POSITIVE))
        });
    }
}

#[test]
fn a_variance_of_0_leaves_the_shift_or_nan() {
    let shift = chosen::<f32>(&[70], &[0], |at| at[0] as f64 - 3.5);
    let affine = || Affine { scale: None, shift: Some(shift.tensor()) };
    // Their sums are exact, so that the mean is the number itself.
    let x = chosen::<f32>(&[6, 70], &[0, 1], |at| [0.5, -3.0, 0.0][at[0] % 3]);
    let by_channel = chosen::<f32>(&[6, 70], &[0, 1], |at| [0.5, -3.0, 0.0][at[1] % 3]);
    for epsilon in [1e-3, 0.0] {
        // 0 divided by the square root of epsilon.
        let wanted = |at: &[usize]| (if epsilon > 0.0 { shift.at(&at[1..]) } else { f64::NAN }, 0.0);
        let mut y = result::<f32>(&[6, 70]);
        run("layer_norm", layer_norm(x.tensor(), &affine(), epsilon, y.tensor_mut()));
        y.check("layer_norm of equal numbers", wanted);
        let [mut mean, mut variance] = [0; 2].map(|_| result::<f32>(&[70]));
        run("statistics", batch_statistics(by_channel.tensor(), 1, mean.tensor_mut(), variance.tensor_mut()));
        mean.check("mean of equal numbers", |at| (by_channel.at(&[0, at[0]]), 0.0));
        variance.check("variance of equal numbers", |_| (0.0, 0.0));
        let channels = Channels { axis: 1, mean: mean.tensor(), variance: variance.tensor(), affine: affine() };
        let mut y = result::<f32>(&[6, 70]);
        run("batch_norm", batch_norm(by_channel.tensor(), &channels, epsilon, y.tensor_mut()));
        y.check("batch_norm of equal numbers", wanted);
    }
}

#[test]
fn padding_has_no_product_with_a_weight_that_is_not_finite() {
    // Few channels and many are two kernels; the window is a row or a column.
    for (outputs, shape, padding) in
        [(7, [1, 3], [0, 1]), (8, [1, 3], [0, 1]), (7, [3, 1], [1, 0]), (8, [3, 1], [1, 0]), (70, [3, 3], [1, 1])]
    {
        let x = chosen::<f32>(&[1, 3, 3, 2], &[0, 1, 2, 3], |_| 1.0);
        for (special, odd) in [(0, f64::NAN), (0, f64::INFINITY), (shape[0] * shape[1] - 1, f64::NEG_INFINITY)] {
            let w = chosen::<f32>(&[shape[0], shape[1], 2, outputs], &[0, 1, 2, 3], |at| {
                if at[0] * shape[1] + at[1] == special { odd } else { at[3] as f64 - 2.0 }
            });
            let steps = Steps { padding, ..Steps::default() };
            let mut y = result::<f32>(&[1, 3, 3, outputs]);
            let options = Convolution { steps, ..Convolution::default() };
            run("weights", convolution(x.tensor(), w.tensor(), y.tensor_mut(), &options));
            y.check(&format!("{outputs} channels, {shape:?}, {odd} at {special}"), |at| {
                let mut sum = 0.0;
                for (i, j) in (0..shape[0]).flat_map(|i| (0..shape[1]).map(move |j| (i, j))) {
                    let inside = |at: usize, padding: usize| (padding..padding + 3).contains(&at);
                    if inside(at[1] + i, padding[0]) && inside(at[2] + j, padding[1]) {
                        sum += (0..2).map(|k| w.at(&[i, j, k, at[3]])).sum::<f64>();
                    }
                }
                (sum, 0.0)
            });
        }
    }
}

#[test]
fn factors_may_have_strides_of_0() {
    let kernels = [ProductKernel::Threads96x64, ProductKernel::Threads96x16, ProductKernel::Simdgroups32x32];
    let strides: [[[usize; 2]; 2]; 4] = [[[0, 1], [20, 1]], [[1, 0], [1, 0]], [[0, 0], [0, 1]], [[7, 1], [0, 0]]];
    for [a_strides, b_strides] in strides {
        let (a, b) = (strided::<f32>(&[5, 7], &a_strides), strided::<f32>(&[7, 20], &b_strides));
        for kernel in kernels {
            let mut c = result::<f32>(&[5, 20]);
            let options = Product { kernel: Some(kernel), ..Product::default() };
            run("a product", product_with(a.tensor(), b.tensor(), c.tensor_mut(), &options));
            c.check(&format!("{kernel:?} of {a_strides:?} by {b_strides:?}"), |at| {
                let (sum, size) = sum_of((0..7).map(|k| (a.at(&[at[0], k]), b.at(&[k, at[1]]))));
                (sum, gamma(9) * size)
            });
        }
        let x = strided::<f32>(&[7], &[a_strides[0]]);
        let mut y = result::<f32>(&[5]);
        run("by a vector", vector_product_with(a.tensor(), x.tensor(), y.tensor_mut(), [1.0, 0.0]));
        y.check(&format!("{a_strides:?} by a vector of {:?}", x.strides), |at| {
            let (sum, size) = sum_of((0..7).map(|k| (a.at(&[at[0], k]), x.at(&[k]))));
            (sum, gamma(9) * size)
        });
    }
}

#[test]
fn images_and_windows_may_have_strides_of_0() {
    for (x_strides, w_strides) in
        [([0, 0, 3, 1], [0, 0, 9, 1]), ([75, 15, 3, 0], [27, 9, 0, 1]), ([0; 4], [9, 1, 3, 0])]
    {
        let x = strided::<f32>(&[2, 5, 5, 3], &x_strides);
        for outputs in [9, 2] {
            let w = strided::<f32>(&[2, 2, 3, outputs], &w_strides);
            let mut y = result::<f32>(&[2, 4, 4, outputs]);
            run("convolution", convolution(x.tensor(), w.tensor(), y.tensor_mut(), &Convolution::default()));
            y.check(&format!("{x_strides:?} under {w_strides:?}"), |at| {
                let (sum, size) = sum_of(indices(&[2, 2, 3]).into_iter().map(|of| {
                    (x.at(&[at[0], at[1] + of[0], at[2] + of[1], of[2]]), w.at(&[of[0], of[1], of[2], at[3]]))
                }));
                (sum, gamma(13) * size)
            });
        }
        for pooling in [Pooling::Max, Pooling::Mean] {
            let mut y = result::<f32>(&[2, 4, 4, 3]);
            let options = Pool { pooling, window: [2, 2], steps: Steps::default() };
            run("pool", pool(x.tensor(), y.tensor_mut(), &options));
            y.check(&format!("{pooling:?} of {x_strides:?}"), |at| {
                let four = indices(&[2, 2]);
                let four = four.iter().map(|of| x.at(&[at[0], at[1] + of[0], at[2] + of[1], at[3]]));
                if pooling == Pooling::Max {
                    return (four.fold(f64::NEG_INFINITY, f64::max), 0.0);
                }
                let (sum, size) = sum_of(four.map(|x| (x, 0.25)));
                (sum, gamma(5) * size)
            });
        }
    }
}

#[test]
fn rows_and_channels_may_have_strides_of_0() {
    let gpu = gpu();
    for strides in [[0, 1], [1, 0], [0, 0]] {
        let x = strided::<f32>(&[4, 70], &strides);
        let row = |at: usize| -> Vec<f64> { (0..70).map(|i| x.at(&[at, i])).collect() };
        let size = |row: &[f64]| row.iter().map(|x| x.abs()).sum::<f64>();
        let mut y = result::<f32>(&[4, 70]);
        run("softmax", softmax(x.tensor(), y.tensor_mut()));
        y.check(&format!("softmax of {strides:?}"), |at| {
            let value = x.at(at).exp() / row(at[0]).iter().map(|x| x.exp()).sum::<f64>();
            (value, value * (gamma(78) + 4.0 * U))
        });
        let affine = Affine::default();
        run("layer_norm", layer_norm(x.tensor(), &affine, 1.0, y.tensor_mut()));
        y.check(&format!("layer_norm of {strides:?}"), |at| {
            let row = row(at[0]);
            let mean = row.iter().sum::<f64>() / 70.0;
            let deviation = (row.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 70.0 + 1.0).sqrt();
            let value = (x.at(at) - mean) / deviation;
            (value, gamma(72) * size(&row) / 70.0 * (1.0 + value.abs()) + gamma(78) * value.abs())
        });
        for (axis, n) in [(0, 4), (1, 70)] {
            let numbers = |other: usize| -> Vec<f64> {
                (0..n).map(|i| x.at(&if axis == 0 { [i, other] } else { [other, i] })).collect()
            };
            let mut sums = result::<f32>(&[74 - n]);
            run("sums", reduce(Reduction::Sum, x.tensor(), axis, sums.tensor_mut()));
            sums.check(&format!("sums of {strides:?} along {axis}"), |at| {
                let numbers = numbers(at[0]);
                (numbers.iter().sum::<f64>(), gamma(n) * size(&numbers))
            });
            let mut places = gpu.buffer_zeroed::<u32>(74 - n).expect("a buffer");
            let to = dcmetal::tensor::TensorMut::new(&mut places, &[74 - n]).expect("it fits");
            run("argmax", argmax(x.tensor(), axis, to));
            for (other, got) in places.to_vec().expect("it ran").into_iter().enumerate() {
                let numbers = numbers(other);
                let better = |best: usize, at: usize| if numbers[at] > numbers[best] { at } else { best };
                assert_eq!(got as usize, (0..n).fold(0, better), "the largest of {strides:?} along {axis}, {other}");
            }
            // Statistics of the channels on the other axis, and the normalisation by them.
            let channels = 74 - n;
            let [mut mean, mut variance] = [0; 2].map(|_| result::<f32>(&[channels]));
            run("statistics", batch_statistics(x.tensor(), 1 - axis, mean.tensor_mut(), variance.tensor_mut()));
            mean.check(&format!("means of {strides:?} along {axis}"), |at| {
                let numbers = numbers(at[0]);
                (numbers.iter().sum::<f64>() / n as f64, gamma(n + 2) * size(&numbers) / n as f64)
            });
            let known = [&mean, &variance].map(|of| of.buffer.to_vec().expect("it ran"));
            let known = |of: usize, at: usize| f64::from(known[of][mean.place(&[at])]);
            let by = Channels {
                axis: 1 - axis,
                mean: mean.tensor(),
                variance: variance.tensor(),
                affine: Affine::default(),
            };
            run("batch_norm", batch_norm(x.tensor(), &by, 1.0, y.tensor_mut()));
            y.check(&format!("batch_norm of {strides:?}, channels on {}", 1 - axis), |at| {
                let channel = at[1 - axis];
                let value = (x.at(at) - known(0, channel)) / (known(1, channel) + 1.0).sqrt();
                (value, 8.0 * U * value.abs())
            });
        }
        let mut all = result::<f32>(&[]);
        run("the sum of all", reduce_all(Reduction::Sum, x.tensor(), all.tensor_mut()));
        let numbers: Vec<f64> = (0..4).flat_map(row).collect();
        all.check(&format!("the sum of {strides:?}"), |_| (numbers.iter().sum(), gamma(280) * size(&numbers)));
        run("relu", activate(Activation::Relu, x.tensor(), y.tensor_mut()));
        y.check(&format!("relu of {strides:?}"), |at| (x.at(at).max(0.0), 0.0));
    }
}
