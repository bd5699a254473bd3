//! Random numbers and shapes by seed, and tensors of them on the device.

use std::sync::OnceLock;

use dcmetal::tensor::{Element, Implementation, Operation, Tensor, TensorMut};
use dcmetal::{Accelerator, Buffer, Scalar};
use half::{bf16, f16};

use crate::common::Random;

/// What a test needs of an element type: its numbers as `f64`, exactly, and rounded from `f64`.
pub(crate) trait Number: Element {
    /// Half the distance from 1 to the next number.
    const ROUNDOFF: f64;
    /// The smallest positive number.
    const SMALLEST: f64;
    fn to_f64(self) -> f64;
    fn rounded(value: f64) -> Self;
}

macro_rules! numbers {
    ($($number:ty, $roundoff:expr, $smallest:expr, |$x:ident| $to:expr, |$y:ident| $from:expr;)*) => {$(
        impl Number for $number {
            const ROUNDOFF: f64 = $roundoff;
            const SMALLEST: f64 = $smallest;
            fn to_f64(self) -> f64 {
                let $x = self;
                $to
            }
            fn rounded($y: f64) -> Self {
                $from
            }
        }
    )*};
}
const fn power(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}
numbers! {
    f32, power(-24), power(-149), |x| f64::from(x), |y| y as f32;
    f16, power(-11), power(-24), |x| x.to_f64(), |y| f16::from_f64(y);
    bf16, power(-8), power(-133), |x| x.to_f64(), |y| bf16::from_f64(y);
}

/// One accelerator for all tests, so that each kernel is compiled once.
pub(crate) fn gpu() -> Accelerator {
    static GPU: OnceLock<Accelerator> = OnceLock::new();
    GPU.get_or_init(crate::common::gpu).clone()
}

/// So many random shapes, or as many times more as `DCMETAL_TENSOR_ROUNDS` says. References are computed by the host, which sanitizers make 5 to 15 times slower.
pub(crate) fn rounds(count: usize) -> usize {
    match std::env::var("DCMETAL_TENSOR_ROUNDS") {
        Ok(times) => count * times.parse::<usize>().expect("DCMETAL_TENSOR_ROUNDS is a number"),
        Err(_) => count,
    }
}

/// One of a list.
pub(crate) fn of<T: Copy>(random: &mut Random, list: &[T]) -> T {
    list[below(random, list.len())]
}

pub(crate) fn below(random: &mut Random, end: usize) -> usize {
    random.range(0, end as i64) as usize
}

/// From -1 to 1, of different exponents.
pub(crate) fn number(random: &mut Random) -> f64 {
    let mantissa = random.range(-(1 << 24), 1 << 24) as f64 * power(-24);
    mantissa * power(-(below(random, 5) as i32))
}

/// A shape with its elements somewhere in a larger buffer of random numbers.
pub(crate) struct Placed<T: Number> {
    pub(crate) buffer: Buffer<T>,
    pub(crate) before: Vec<T>,
    pub(crate) start: usize,
    pub(crate) shape: Vec<usize>,
    pub(crate) strides: Vec<usize>,
}

impl<T: Number> Placed<T> {
    /// Row-major when `order` is the order of the axes, the axes in another order else, with gaps behind the innermost and before the first element.
    pub(crate) fn new(
        gpu: &Accelerator,
        random: &mut Random,
        shape: &[usize],
        order: &[usize],
        gap: usize,
    ) -> Placed<T> {
        let mut strides = vec![0; shape.len()];
        let mut stride = 1;
        for (at, &axis) in order.iter().rev().enumerate() {
            strides[axis] = stride;
            stride = stride * shape[axis] + if at == 0 { gap } else { 0 };
        }
        Placed::strided(gpu, random, shape, &strides, 3 * gap)
    }

    pub(crate) fn strided(
        gpu: &Accelerator,
        random: &mut Random,
        shape: &[usize],
        strides: &[usize],
        start: usize,
    ) -> Placed<T> {
        let reach: usize = shape.iter().zip(strides).map(|(extent, stride)| (extent - 1) * stride).sum();
        let before: Vec<T> = (0..start + reach + 4).map(|_| T::rounded(number(random))).collect();
        let buffer = gpu.buffer_from(&before).expect("a buffer");
        Placed { buffer, before, start, shape: shape.to_vec(), strides: strides.to_vec() }
    }

    /// Other numbers instead, everywhere.
    pub(crate) fn rewrite(&mut self, of: impl Fn(T) -> T) {
        self.before.iter_mut().for_each(|number| *number = of(*number));
        self.buffer.write_from(&self.before).expect("nobody uses it");
    }

    pub(crate) fn tensor(&self) -> Tensor<'_, T> {
        let view = self.buffer.view(self.start..).expect("within");
        Tensor::strided(view, &self.shape, &self.strides).unwrap_or_else(|error| panic!("{error}"))
    }

    pub(crate) fn tensor_mut(&mut self) -> TensorMut<'_, T> {
        let view = self.buffer.view_mut(self.start..).expect("within");
        TensorMut::strided(view, &self.shape, &self.strides).unwrap_or_else(|error| panic!("{error}"))
    }

    /// The number of an element in the buffer.
    pub(crate) fn place(&self, at: &[usize]) -> usize {
        self.start + at.iter().zip(&self.strides).map(|(at, stride)| at * stride).sum::<usize>()
    }

    /// An element as it was before.
    pub(crate) fn at(&self, at: &[usize]) -> f64 {
        self.before[self.place(at)].to_f64()
    }

    /// Elements as they were before, along an axis.
    pub(crate) fn line(&self, at: &[usize], axis: usize, count: usize) -> impl Iterator<Item = T> + '_ {
        let (start, step) = (self.place(at), self.strides[axis]);
        (0..count).map(move |i| self.before[start + i * step])
    }

    /// Compares what the device left with a reference: for each element its value and the greatest difference before it is rounded to `T`. Everything else
    /// must be as it was.
    pub(crate) fn check(&self, what: &str, reference: impl Fn(&[usize]) -> (f64, f64)) {
        let now = self.buffer.to_vec().expect("it ran");
        let mut untouched = vec![true; now.len()];
        for at in indices(&self.shape) {
            let (wanted, bound) = reference(&at);
            let place = self.place(&at);
            untouched[place] = false;
            let got = now[place].to_f64();
            let bound = bound + T::ROUNDOFF * (wanted.abs() + bound) + T::SMALLEST / 2.0;
            let difference = (got - wanted).abs();
            assert!(
                (wanted.is_finite() && difference <= bound) || got == wanted || (got.is_nan() && wanted.is_nan()),
                "{what}, {} at {at:?}: {got}, not {wanted}: {difference:e} is beyond {bound:e}",
                T::SCALAR
            );
        }
        for (place, _) in untouched.iter().enumerate().filter(|(_, untouched)| **untouched) {
            // By their bits: NaN is what it was, too.
            let [now, before] = [now[place], self.before[place]].map(|number| number.to_f64().to_bits());
            assert_eq!(now, before, "{what}: element {place} beside the result");
        }
    }
}

/// A tensor with strides of a random order and gap, or with elements that follow each other from some element on, as graphs of Metal Performance Shaders want.
pub(crate) fn place<T: Number>(
    random: &mut Random,
    shape: &[usize],
    (order, gap): (&[usize], usize),
    by: Implementation,
) -> Placed<T> {
    if by != Implementation::PerformanceShaders {
        return Placed::new(&gpu(), random, shape, order, gap);
    }
    let strides: Vec<usize> = (1..=shape.len()).map(|axis| shape[axis..].iter().product()).collect();
    let start = below(random, 4);
    Placed::strided(&gpu(), random, shape, &strides, start)
}

/// That an operation tells what computes it.
pub(crate) fn check_implementation(what: &str, operation: &dcmetal::Result<Operation<'_>>, by: Implementation) {
    let shaders = operation.as_ref().is_ok_and(|operation| operation.implementation() != Implementation::Kernels);
    assert_eq!(shaders, by == Implementation::PerformanceShaders, "{what}");
}

/// All places of a shape.
pub(crate) fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for &extent in shape {
        all = all.iter().flat_map(|at| (0..extent).map(move |i| [&at[..], &[i]].concat())).collect();
    }
    all
}

/// (1 + u)^n - 1 for the roundoff of `f32`, as n u / (1 - n u) (Higham, Accuracy and Stability of Numerical Algorithms, 3.1).
pub(crate) fn gamma(n: usize) -> f64 {
    let nu = n as f64 * f32::ROUNDOFF;
    nu / (1.0 - nu)
}

/// `float`, `half` or `bfloat`.
pub(crate) fn name<T: Number>() -> &'static str {
    Scalar::name(T::SCALAR)
}

/// Runs an operation on the rows of tensors alike in their shape to its end, by Metal Performance Shaders: or sees that it is refused, where rows are not in one piece each.
pub(crate) fn run_by_shaders(
    what: &str,
    operation: dcmetal::Result<Operation<'_>>,
    shape: &[usize],
    strides: &[usize],
) -> bool {
    let (mut rows, mut columns) = ((1, 0), (1, 0));
    for (&extent, &stride) in shape.iter().zip(strides) {
        (rows, columns) = (columns, (extent, stride));
    }
    let in_one_piece = (columns.0 == 1 || columns.1 == 1) && (rows.0 == 1 || rows.1 >= columns.0);
    if in_one_piece {
        let used = operation.as_ref().map_or(Implementation::Measured, |operation| operation.implementation());
        assert!(operation.is_err() || used == Implementation::PerformanceShaders, "{what}");
        run(what, operation);
    } else {
        let text = operation.expect_err(what).to_string();
        assert!(text.contains("by Metal Performance Shaders is not supported: "), "{what}: {text}");
    }
    in_one_piece
}

/// Runs an operation to its end.
pub(crate) fn run(what: &str, operation: dcmetal::Result<Operation<'_>>) {
    let submission = operation.and_then(|operation| operation.submit());
    submission.and_then(|submission| submission.wait()).unwrap_or_else(|error| panic!("{what}: {error}"));
}
