//! Reductions along an axis and of all elements.

use dcmetal::tensor::{
    Implementation, Reduction, Tensor, TensorMut, argmax, argmax_all, reduce, reduce_all_by, reduce_by,
};
use half::{bf16, f16};

use crate::common::{Random, poisoned};
use crate::random::{Number, Placed, below, check_implementation, gamma, gpu, indices, name, of, place, run};

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

/// What `poisoned` leaves.
const POISON: u32 = 0xA5A5_A5A5;

const REDUCTIONS: [Reduction; 4] = [Reduction::Sum, Reduction::Mean, Reduction::Max, Reduction::Min];

fn along<T: Number, U: Number>(random: &mut Random, reduction: Reduction, by: Implementation) {
    let gpu = gpu();
    let rank = 1 + below(random, 4);
    let axis = below(random, rank);
    let extents: &[usize] = if rank < 3 { &[1, 2, 31, 64, 67, 131] } else { &[1, 2, 5, 13] };
    let mut shape: Vec<usize> = (0..rank).map(|_| of(random, extents)).collect();
    shape[axis] = of(random, &[1, 3, 63, 64, 65, 128, 257]);
    let mut order: Vec<usize> = (0..rank).collect();
    order.rotate_left(below(random, rank));
    let gap = below(random, 2) * 3;
    let x = place::<T>(random, &shape, (&order, gap), by);
    let rest: Vec<usize> = (0..rank).filter(|&at| at != axis).map(|at| shape[at]).collect();
    let mut order: Vec<usize> = (0..rank - 1).collect();
    order.rotate_left(below(random, rank) % rest.len().max(1));
    let mut y = place::<U>(random, &rest, (&order, gap), by);
    let what = format!("{reduction:?} of {} {shape:?} {:?} along {axis}, {by:?}", name::<T>(), x.strides);
    let operation = reduce_by(reduction, x.tensor(), axis, y.tensor_mut(), by);
    check_implementation(&what, &operation, by);
    run(&what, operation);
    let numbers = |at: &[usize]| -> Vec<f64> {
        (0..shape[axis]).map(|i| x.at(&[&at[..axis], &[i], &at[axis..]].concat())).collect()
    };
    y.check(&what, |at| reference(reduction, &numbers(at)));
    if by == Implementation::PerformanceShaders {
        return;
    }
    // Where y is, and with its strides.
    let mut places = poisoned::<u32>(&gpu, y.before.len());
    let mut wanted = vec![POISON; y.before.len()];
    indices(&rest).iter().for_each(|at| wanted[y.place(at)] = largest(&numbers(at)));
    let to = places.view_mut(y.start..).and_then(|view| TensorMut::strided(view, &rest, &y.strides));
    run(&what, argmax(x.tensor(), axis, to.expect("it fits")));
    assert_eq!(places.to_vec().expect("it ran"), wanted, "the largest, {what}, to {:?}", y.strides);
}

#[test]
fn reductions_along_an_axis_are_within_their_bounds() {
    let mut random = Random(3);
    for reduction in REDUCTIONS {
        for _ in 0..8 {
            along::<f32, f32>(&mut random, reduction, Implementation::Measured);
        }
        for along in [along::<f16, f32>, along::<f16, f16>, along::<bf16, bf16>] {
            for _ in 0..3 {
                along(&mut random, reduction, Implementation::Kernels);
            }
        }
    }
}

#[test]
fn reductions_along_an_axis_by_performance_shaders_are_within_their_bounds() {
    let (mut random, by) = (Random(27), Implementation::PerformanceShaders);
    for reduction in REDUCTIONS {
        for _ in 0..8 {
            along::<f32, f32>(&mut random, reduction, by);
        }
        for _ in 0..4 {
            along::<f16, f16>(&mut random, reduction, by);
            along::<bf16, bf16>(&mut random, reduction, by);
        }
    }
    for reduction in [Reduction::Sum, Reduction::Mean] {
        along::<f16, f32>(&mut random, reduction, by);
        along::<f32, bf16>(&mut random, reduction, by);
    }
}

fn all<T: Number, U: Number>(random: &mut Random, shapes: &[&[usize]], reductions: &[Reduction]) {
    let gpu = gpu();
    for shape in shapes {
        let order: Vec<usize> = (0..shape.len()).collect();
        for gap in [0, 3] {
            let x = Placed::<T>::new(&gpu, random, shape, &order, gap);
            let numbers: Vec<f64> = indices(shape).iter().map(|at| x.at(at)).collect();
            let has_gaps = gap > 0 && shape.len() > 1;
            for &reduction in reductions {
                for by in [Implementation::Measured, Implementation::PerformanceShaders] {
                    let what = format!("{reduction:?} of all {} of {shape:?} {:?}, {by:?}", name::<T>(), x.strides);
                    let mut y = Placed::<U>::new(&gpu, random, &[], &[], 2);
                    let operation = reduce_all_by(reduction, x.tensor(), y.tensor_mut(), by);
                    let extreme = matches!(reduction, Reduction::Max | Reduction::Min);
                    let why = match (has_gaps, extreme && T::SCALAR != U::SCALAR) {
                        (_, true) => Some("they are of one type"),
                        (true, _) => Some("elements are to follow each other"),
                        _ => None,
                    };
                    if let (Implementation::PerformanceShaders, Some(why)) = (by, why) {
                        let text = operation.expect_err("they have none").to_string();
                        assert!(text.ends_with(why), "{what}: {text}");
                        continue;
                    }
                    check_implementation(&what, &operation, by);
                    run(&what, operation);
                    let (value, bound) = reference(reduction, &numbers);
                    y.check(&what, |_| (value, bound));
                }
            }
            let mut place = poisoned::<u32>(&gpu, 3);
            let to = TensorMut::new(place.view_mut(1..2).expect("within"), &[1]).expect("it fits");
            let operation = argmax_all(x.tensor(), to);
            if has_gaps {
                let error = operation.expect_err("there are gaps").to_string();
                assert!(error.ends_with("do not follow each other"), "{error}");
                continue;
            }
            run("argmax of all", operation);
            let wanted = [POISON, largest(&numbers), POISON];
            assert_eq!(place.to_vec().expect("it ran"), wanted, "{} of {shape:?}", name::<T>());
        }
    }
}

#[test]
fn reductions_of_all_elements_are_within_their_bounds() {
    let mut random = Random(4);
    all::<f32, f32>(&mut random, &[&[1], &[63], &[7, 11, 13], &[16_385], &[3, 70_001]], &REDUCTIONS);
    // In one launch, and in two, of which the second has parts in `f32`.
    let shapes: &[&[usize]] = &[&[7, 11, 13], &[16_385]];
    all::<f16, f16>(&mut random, shapes, &REDUCTIONS);
    all::<bf16, bf16>(&mut random, shapes, &REDUCTIONS);
    all::<bf16, f32>(&mut random, &[&[7, 11, 13]], &[Reduction::Sum, Reduction::Max]);
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
            for by in [Implementation::Kernels, Implementation::PerformanceShaders] {
                let mut y = gpu.buffer_zeroed::<f32>(1).expect("a buffer");
                let to = TensorMut::new(&mut y, &[]).expect("it fits");
                run("extremes", reduce_by(reduction, tensor, 0, to, by));
                let got = y.to_vec().expect("it ran")[0];
                assert!(
                    got == wanted || (got.is_nan() && wanted.is_nan()),
                    "{reduction:?} {by:?}: {got}, not {wanted}"
                );
            }
        }
        let mut place = gpu.buffer_zeroed::<u32>(1).expect("a buffer");
        run("argmax", argmax(tensor, 0, TensorMut::new(&mut place, &[]).expect("it fits")));
        assert_eq!(place.to_vec().expect("it ran"), [first]);
    }
}

#[test]
fn what_cannot_be_reduced_by_performance_shaders_is_told() {
    let (gpu, by) = (gpu(), Implementation::PerformanceShaders);
    let x = gpu.buffer_zeroed::<f32>(12).expect("a buffer");
    let (mut y, mut half) =
        (gpu.buffer_zeroed::<f32>(4).expect("a buffer"), gpu.buffer_zeroed::<f16>(4).expect("a buffer"));
    let tensor = Tensor::new(&x, &[3, 4]).expect("it fits");
    let refusal = "this reduction by Metal Performance Shaders is not supported: ";
    let turned = tensor.transposed().expect("two axes");
    let to = TensorMut::new(&mut y, &[4]).expect("it fits");
    let error = reduce_by(Reduction::Sum, turned, 1, to, by).expect_err("it is turned").to_string();
    assert_eq!(error, format!("{refusal}x is 4x3 at strides [1, 4]: elements are to follow each other"));
    for reduction in [Reduction::Max, Reduction::Min] {
        let to = TensorMut::new(&mut half, &[4]).expect("it fits");
        let error = reduce_by(reduction, tensor, 0, to, by).expect_err("two types").to_string();
        let why = "x is of float, y of half: of largest and smallest elements they are of one type";
        assert_eq!(error, format!("{refusal}{why}"));
    }
    // What no implementation takes is no matter of this one.
    let to = TensorMut::new(&mut y, &[4]).expect("it fits");
    let error = reduce_by(Reduction::Max, tensor, 2, to, by).expect_err("no axis").to_string();
    assert_eq!(error, "reduction: x is 3x4 and has no axis 2");
    let to = TensorMut::new(&mut y, &[4]).expect("it fits");
    let error = reduce(Reduction::Sum, tensor, 1, to).expect_err("other extents").to_string();
    assert_eq!(error, "reduction: x is 3x4, y is 4, not 3");
    let to = TensorMut::new(&mut y, &[4]).expect("it fits");
    let operation = reduce_by(Reduction::Sum, tensor, 0, to, by).expect("it fits");
    assert_eq!(format!("{operation:?}"), "[MPSGraph sum 3x4 over 0]");
}
