//! Reductions along an axis and of all elements.

use dcmetal::tensor::{Reduction, Tensor, TensorMut, argmax, argmax_all, reduce, reduce_all};
use half::f16;

use crate::common::Random;
use crate::random::{Number, Placed, below, gamma, gpu, indices, name, of, run};

/// The value of some numbers, and how far `f32`'s may be from it.
fn reference(reduction: Reduction, numbers: &[f64]) -> (f64, f64) {
    let n = numbers.len();
    let (sum, size) = numbers.iter().fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()));
    match reduction {
        Reduction::Sum => (sum, gamma(n) * size),
        Reduction::Mean => (sum / n as f64, gamma(n + 1) * size / n as f64),
        Reduction::Max => (numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max), 0.0),
        Reduction::Min => (numbers.iter().copied().fold(f64::INFINITY, f64::min), 0.0),
    }
}

fn largest(numbers: &[f64]) -> u32 {
    let better = |best: usize, at: usize| if numbers[at] > numbers[best] { at } else { best };
    (0..numbers.len()).fold(0, better) as u32
}

const REDUCTIONS: [Reduction; 4] = [Reduction::Sum, Reduction::Mean, Reduction::Max, Reduction::Min];

fn along<T: Number, U: Number>(random: &mut Random, reduction: Reduction) {
    let gpu = gpu();
    let rank = 1 + below(random, 4);
    let axis = below(random, rank);
    let extents: &[usize] = if rank < 3 { &[1, 2, 31, 64, 67, 131] } else { &[1, 2, 5, 13] };
    let mut shape: Vec<usize> = (0..rank).map(|_| of(random, extents)).collect();
    shape[axis] = of(random, &[1, 3, 63, 64, 65, 128, 257]);
    let mut order: Vec<usize> = (0..rank).collect();
    order.rotate_left(below(random, rank));
    let gap = below(random, 2) * 3;
    let x = Placed::<T>::new(&gpu, random, &shape, &order, gap);
    let rest: Vec<usize> = (0..rank).filter(|&at| at != axis).map(|at| shape[at]).collect();
    let forward: Vec<usize> = (0..rank - 1).collect();
    let mut y = Placed::<U>::new(&gpu, random, &rest, &forward, gap);
    let what = format!("{reduction:?} of {} {shape:?} {:?} along {axis}", name::<T>(), x.strides);
    run(&what, reduce(reduction, x.tensor(), axis, y.tensor_mut()));
    let numbers = |at: &[usize]| -> Vec<f64> {
        (0..shape[axis]).map(|i| x.at(&[&at[..axis], &[i], &at[axis..]].concat())).collect()
    };
    y.check(&what, |at| reference(reduction, &numbers(at)));
    let mut places = gpu.buffer_zeroed::<u32>(rest.iter().product()).expect("a buffer");
    let to = TensorMut::new(&mut places, &rest).expect("it fits");
    run(&what, argmax(x.tensor(), axis, to));
    let got = places.to_vec().expect("it ran");
    for (at, got) in indices(&rest).iter().zip(got) {
        assert_eq!(got, largest(&numbers(at)), "the largest, {what}, at {at:?}");
    }
}

#[test]
fn reductions_along_an_axis_are_within_their_bounds() {
    let mut random = Random(3);
    for reduction in REDUCTIONS {
        for _ in 0..8 {
            along::<f32, f32>(&mut random, reduction);
        }
    }
    for _ in 0..6 {
        along::<f16, f32>(&mut random, Reduction::Sum);
    }
}

#[test]
fn reductions_of_all_elements_are_within_their_bounds() {
    let (gpu, mut random) = (gpu(), Random(4));
    for shape in [&[1][..], &[63], &[7, 11, 13], &[16_385], &[3, 70_001]] {
        let order: Vec<usize> = (0..shape.len()).collect();
        for gap in [0, 3] {
            let x = Placed::<f32>::new(&gpu, &mut random, shape, &order, gap);
            let numbers: Vec<f64> = indices(shape).iter().map(|at| x.at(at)).collect();
            for reduction in REDUCTIONS {
                let what = format!("{reduction:?} of all of {shape:?} {:?}", x.strides);
                let mut y = Placed::<f32>::new(&gpu, &mut random, &[], &[], 2);
                run(&what, reduce_all(reduction, x.tensor(), y.tensor_mut()));
                let (value, bound) = reference(reduction, &numbers);
                y.check(&what, |_| (value, bound));
            }
            let mut place = gpu.buffer_zeroed::<u32>(1).expect("a buffer");
            let to = TensorMut::new(&mut place, &[1]).expect("it fits");
            let operation = argmax_all(x.tensor(), to);
            if gap > 0 && shape.len() > 1 {
                let error = operation.expect_err("there are gaps").to_string();
                assert!(error.ends_with("do not follow each other"), "{error}");
                continue;
            }
            run("argmax of all", operation);
            assert_eq!(place.to_vec().expect("it ran"), [largest(&numbers)], "{shape:?}");
        }
    }
}

#[test]
fn nan_is_the_largest_and_the_smallest_and_the_first_of_equals_is_named() {
    let gpu = gpu();
    for (numbers, most, least, first) in [
        (vec![1.0f32, f32::NAN, 3.0, f32::NAN], f32::NAN, f32::NAN, 1),
        (vec![f32::NEG_INFINITY; 100], f32::NEG_INFINITY, f32::NEG_INFINITY, 0),
        ((0..200).map(|i| if i % 70 == 69 { 5.0 } else { -1.0 }).collect(), 5.0, -1.0, 69),
    ] {
        let x = gpu.buffer_from(&numbers).expect("a buffer");
        let tensor = Tensor::new(&x, &[numbers.len()]).expect("it fits");
        for (reduction, wanted) in [(Reduction::Max, most), (Reduction::Min, least)] {
            let mut y = gpu.buffer_zeroed::<f32>(1).expect("a buffer");
            run("extremes", reduce(reduction, tensor, 0, TensorMut::new(&mut y, &[]).expect("it fits")));
            let got = y.to_vec().expect("it ran")[0];
            assert!(got == wanted || (got.is_nan() && wanted.is_nan()), "{reduction:?}: {got}, not {wanted}");
        }
        let mut place = gpu.buffer_zeroed::<u32>(1).expect("a buffer");
        run("argmax", argmax(tensor, 0, TensorMut::new(&mut place, &[]).expect("it fits")));
        assert_eq!(place.to_vec().expect("it ran"), [first]);
    }
}
