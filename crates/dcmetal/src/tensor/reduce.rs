//! Reductions: sum, mean, largest, smallest, and the number of the largest, along an axis or of all elements.

use super::graph::{self, Operand};
use super::layout::{Layout, wrong};
use super::measured::{Class, choose};
use super::performance::not_there;
use super::{Between, Element, Given, Implementation, Launch, Operation, Tensor, TensorMut, compiled, one_accelerator};
use crate::kernel::Scalar;
use crate::raw::graph::{Computation, Reduced};
use crate::{Accelerator, Arg, Grid, Kernel, Pod, Result, Size};

/// One number of many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// Of all.
    Sum,
    /// The sum divided by how many they are.
    Mean,
    /// The largest; NaN where there is one.
    Max,
    /// The smallest; NaN where there is one.
    Min,
}

impl Reduction {
    /// In reduce.metal.
    fn name(self) -> &'static str {
        match self {
            Reduction::Sum => "SUM",
            Reduction::Mean => "MEAN",
            Reduction::Max => "MAX",
            Reduction::Min => "MIN",
        }
    }

    /// What the parts of a whole are.
    fn of_parts(self) -> Reduction {
        if self == Reduction::Mean { Reduction::Sum } else { self }
    }
}

/// In errors.
const NAME: &str = "reduction";
const ARGMAX: &str = "ARGMAX";
const SOURCE: &str = concat!(include_str!("rows.metal"), include_str!("reduce.metal"));

/// What is made of which numbers, and what the result is.
#[derive(Clone, Copy)]
struct Sought<'a> {
    gpu: &'a Accelerator,
    operation: &'static str,
    from: Scalar,
    to: Scalar,
}

impl Sought<'_> {
    fn kernel(&self, function: &str) -> Result<Kernel> {
        let Sought { gpu, operation, from, to } = self;
        compiled(gpu, function, SOURCE, &[("T", from.name()), ("U", to.name()), ("OPERATION", operation)])
    }
}

/// WIDTH and ROWS_AT_ONCE of rows.metal.
pub(super) const ROW_THREADS: [u64; 3] = [64, 4, 1];

/// A grid of rows of threads: so many rows, so many times.
pub(super) fn rows_of_threads(rows: u32, times: u64) -> Grid {
    Grid::threadgroups(Size { x: 1, y: u64::from(rows).div_ceil(ROW_THREADS[1]), z: times }, ROW_THREADS)
}

/// y = the sum (or another [`Reduction`]) of x along an axis; y has x's other axes. Sums are made in `f32` and rounded once.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) for an axis that x does not have and another shape of y; [`Error::Foreign`](crate::Error::Foreign); those of the kernel's compilation.
pub fn reduce<'a, T: Element, U: Element>(
    reduction: Reduction,
    x: Tensor<'a, T>,
    axis: usize,
    y: TensorMut<'a, U>,
) -> Result<Operation<'a>> {
    reduce_by(reduction, x, axis, y, Implementation::Measured)
}

/// As [`reduce`], by this module's kernels, or by Metal Performance Shaders Graph: of tensors whose elements follow each other, from any element on, on macOS 15 and later. The operation is
/// [submitted](Operation::submit) alone then. Sums and means are made in `f32` whatever the elements are; of the largest and the smallest, x and y have one type. [`argmax`] has no second
/// implementation: Metal does not say which of equal elements it names. What [`Measured`](Implementation::Measured) is, [`tune_operation`](super::tune_operation) finds.
///
/// # Errors
/// As [`reduce`]; [`Error::Unsupported`](crate::Error::Unsupported) for what Metal Performance Shaders cannot compute.
pub fn reduce_by<'a, T: Element, U: Element>(
    reduction: Reduction,
    x: Tensor<'a, T>,
    axis: usize,
    y: TensorMut<'a, U>,
    by: Implementation,
) -> Result<Operation<'a>> {
    let class = Class::of("reduce", [T::SCALAR, U::SCALAR], [x.layout(), y.layout()], &[reduction as usize, axis]);
    choose((x.accelerator(), class, by), |by| match by {
        Implementation::PerformanceShaders => {
            let gpu = one_along(NAME, &x, axis, &y)?;
            by_graph(gpu, reduction, 1 << axis, x, y.again())
        }
        _ => along((NAME, reduction.name(), U::SCALAR), x, axis, y.again()),
    })
}

/// A graph over some axes, of tensors that fit.
fn by_graph<'a, T: Element, U: Element>(
    gpu: &Accelerator,
    reduction: Reduction,
    axes: u32,
    x: Tensor<'a, T>,
    y: TensorMut<'a, U>,
) -> Result<Operation<'a>> {
    let reduced = match reduction {
        Reduction::Sum => Reduced::Sum,
        Reduction::Mean => Reduced::Mean,
        Reduction::Max => Reduced::Maximum,
        Reduction::Min => Reduced::Minimum,
    };
    let is_one_of_them = matches!(reduced, Reduced::Maximum | Reduced::Minimum);
    if is_one_of_them && T::SCALAR != U::SCALAR {
        let text =
            format!("x is of {}, y of {}: of largest and smallest elements they are of one type", T::SCALAR, U::SCALAR);
        return Err(not_there(NAME, text));
    }
    let extents = x.shape().iter().enumerate().map(|(axis, &extent)| if axes >> axis & 1 == 1 { 1 } else { extent });
    let extents: Vec<usize> = extents.collect();
    let results = vec![Operand::written("y", y).shaped(extents)];
    let computation = Computation::Reduction { reduced, axes };
    let pass = graph::pass(gpu, NAME, computation, vec![Operand::read("x", &x)], results)?;
    Ok(Operation::of_graph(gpu, NAME, pass))
}

/// y = the number of the largest element of x along an axis, from 0; of several the first, and of NaNs the first.
///
/// # Errors
/// As [`reduce`].
pub fn argmax<'a, T: Element>(x: Tensor<'a, T>, axis: usize, y: TensorMut<'a, u32>) -> Result<Operation<'a>> {
    along(("argmax", ARGMAX, Scalar::U32), x, axis, y)
}

/// y = the sum (or another [`Reduction`]) of all elements of x; y has one element. The elements of x lie without gaps in row-major order, or along its last axis.
///
/// # Errors
/// As [`reduce`].
pub fn reduce_all<'a, T: Element, U: Element>(
    reduction: Reduction,
    x: Tensor<'a, T>,
    y: TensorMut<'a, U>,
) -> Result<Operation<'a>> {
    reduce_all_by(reduction, x, y, Implementation::Measured)
}

/// As [`reduce_all`], by this module's kernels, or by Metal Performance Shaders Graph, as [`reduce_by`]: of an x without gaps.
///
/// # Errors
/// As [`reduce_by`].
pub fn reduce_all_by<'a, T: Element, U: Element>(
    reduction: Reduction,
    x: Tensor<'a, T>,
    y: TensorMut<'a, U>,
    by: Implementation,
) -> Result<Operation<'a>> {
    let class = Class::of("reduce_all", [T::SCALAR, U::SCALAR], [x.layout(), y.layout()], &[reduction as usize]);
    choose((x.accelerator(), class, by), |by| match by {
        Implementation::PerformanceShaders => {
            let (gpu, from) = one_of_all(NAME, &x, &y)?;
            by_graph(gpu, reduction, (1 << from.rank()) - 1, x, y.again())
        }
        _ => all_by_kernels(reduction, x, y.again()),
    })
}

fn all_by_kernels<'a, T: Element, U: Element>(
    reduction: Reduction,
    x: Tensor<'a, T>,
    y: TensorMut<'a, U>,
) -> Result<Operation<'a>> {
    let (gpu, from) = one_of_all(NAME, &x, &y)?;
    let count = from.count();
    let parts = Sought { gpu, operation: reduction.of_parts().name(), from: T::SCALAR, to: Scalar::F32 };
    let of_parts = Sought { gpu, operation: reduction.name(), from: Scalar::F32, to: U::SCALAR };
    if !from.is_contiguous() {
        // Along the last axis, and of what that leaves.
        let last = from.rank() - 1;
        let outer = from.without(last);
        let rows = Layout::rows(outer.extents())?;
        let between = Between::Numbers(gpu.buffer_zeroed(rows.count())?);
        let first = launch_along(parts, &from, last, &rows)?;
        let (kernel, grid, axes) = first;
        let first = Launch { kernel, grid, args: vec![Given::Arg(x.arg()), Given::Write(0), Given::Arg(axes)] };
        let line = [rows.count(), 1, count];
        let (kernel, grid, axes) = launch_rows(of_parts, line)?;
        let second = Launch { kernel, grid, args: vec![Given::Read(0), Given::Arg(y.into_arg()), Given::Arg(axes)] };
        return Ok(Operation {
            accelerator: gpu.clone(),
            launches: vec![first, second],
            between: vec![between],
            passes: None,
            graph: None,
            class: None,
        });
    }
    let (row, rows) = split(count);
    if rows == 1 {
        let (kernel, grid, axes) = launch_rows(Sought { from: T::SCALAR, ..of_parts }, [count, 1, count])?;
        return Ok(Operation::of(kernel, grid, vec![x.arg(), y.into_arg(), axes]));
    }
    let between = Between::Numbers(gpu.buffer_zeroed(rows)?);
    let (kernel, grid, axes) = launch_rows(parts, [row, rows, count])?;
    let first = Launch { kernel, grid, args: vec![Given::Arg(x.arg()), Given::Write(0), Given::Arg(axes)] };
    let (kernel, grid, axes) = launch_rows(of_parts, [rows, 1, count])?;
    let second = Launch { kernel, grid, args: vec![Given::Read(0), Given::Arg(y.into_arg()), Given::Arg(axes)] };
    Ok(Operation {
        accelerator: gpu.clone(),
        launches: vec![first, second],
        between: vec![between],
        passes: None,
        graph: None,
        class: None,
    })
}

/// y = the number of the largest element of x in row-major order, as [`argmax`]; y has one element. The elements of x lie without gaps.
///
/// # Errors
/// As [`reduce`]; [`Error::Shape`](crate::Error::Shape) for an x with gaps.
pub fn argmax_all<'a, T: Element>(x: Tensor<'a, T>, y: TensorMut<'a, u32>) -> Result<Operation<'a>> {
    let (gpu, from) = one_of_all("argmax", &x, &y)?;
    if !from.is_contiguous() {
        return Err(wrong("argmax", format!("the elements of x, {}, do not follow each other", from.shape())));
    }
    let sought = Sought { gpu, operation: ARGMAX, from: T::SCALAR, to: Scalar::U32 };
    let count = from.count();
    let (row, rows) = split(count);
    if rows == 1 {
        let (kernel, grid, axes) = launch_rows(sought, [count, 1, count])?;
        return Ok(Operation::of(kernel, grid, vec![x.arg(), y.into_arg(), axes]));
    }
    let between = Between::Places(gpu.buffer_zeroed(rows)?);
    let (kernel, grid, axes) = launch_rows(sought, [row, rows, count])?;
    let first = Launch { kernel, grid, args: vec![Given::Arg(x.arg()), Given::Write(0), Given::Arg(axes)] };
    let kernel = sought.kernel("reduce_numbers")?;
    let args = vec![Given::Arg(x.arg()), Given::Read(0), Given::Arg(y.into_arg()), Given::Arg(Arg::from(rows as u32))];
    let second = Launch { kernel, grid: rows_of_threads(1, 1), args };
    Ok(Operation {
        accelerator: gpu.clone(),
        launches: vec![first, second],
        between: vec![between],
        passes: None,
        graph: None,
        class: None,
    })
}

/// Elements of a part, and parts: where there are many elements, so that all cores have some.
fn split(count: usize) -> (usize, usize) {
    const PART: usize = 1 << 14;
    const MOST: usize = 1 << 10;
    let row = count.div_ceil(MOST).max(PART);
    (row, count.div_ceil(row))
}

fn one_of_all<'a, T: Pod, U: Pod>(
    operation: &'static str,
    x: &Tensor<'a, T>,
    y: &TensorMut<'a, U>,
) -> Result<(&'a Accelerator, Layout)> {
    let gpu = one_accelerator(operation, &[("x", x.accelerator()), ("y", y.accelerator())])?;
    let (from, to) = (x.layout(), y.layout());
    if to.count() != 1 {
        return Err(wrong(operation, format!("y is {}, not one element for all of x", to.shape())));
    }
    if from.rank() == 0 || u32::try_from(from.count()).is_err() {
        return Err(wrong(operation, format!("x is {}: 1 to {} elements on an axis or more", from.shape(), u32::MAX)));
    }
    Ok((gpu, *from))
}

fn along<'a, T: Element, U: Pod>(
    (name, operation, to): (&'static str, &'static str, Scalar),
    x: Tensor<'a, T>,
    axis: usize,
    y: TensorMut<'a, U>,
) -> Result<Operation<'a>> {
    let gpu = one_along(name, &x, axis, &y)?;
    let (from, result) = (x.layout(), y.layout());
    let sought = Sought { gpu, operation, from: T::SCALAR, to };
    let (kernel, grid, axes) = launch_along(sought, from, axis, result)?;
    Ok(Operation::of(kernel, grid, vec![x.arg(), y.into_arg(), axes]))
}

/// That y has the axes of x but one.
fn one_along<'a, T: Pod, U: Pod>(
    name: &'static str,
    x: &Tensor<'a, T>,
    axis: usize,
    y: &TensorMut<'a, U>,
) -> Result<&'a Accelerator> {
    let gpu = one_accelerator(name, &[("x", x.accelerator()), ("y", y.accelerator())])?;
    let (from, result) = (x.layout(), y.layout());
    if axis >= from.rank() {
        return Err(wrong(name, format!("x is {} and has no axis {axis}", from.shape())));
    }
    if from.without(axis).extents() != result.extents() {
        let wanted = from.without(axis);
        let text = format!("x is {}, y is {}, not {}", from.shape(), result.shape(), wanted.shape());
        return Err(wrong(name, text));
    }
    Ok(gpu)
}

/// Elements along an axis from which on a row of threads is for them rather than one thread.
const LONG: u32 = 64;

fn launch_along<'a>(sought: Sought<'_>, x: &Layout, axis: usize, y: &Layout) -> Result<(Kernel, Grid, Arg<'a>)> {
    let ([_, extents @ ..], [_, strides @ ..]) = x.without(axis).padded();
    let (_, [_, results @ ..]) = y.padded();
    let (n, step) = (x.extents()[axis] as u32, x.strides()[axis] as u32);
    let mut others = [0, 1, 2].map(|at| [extents[at], strides[at], results[at]]);
    // Beside each other in memory, beside each other among threads.
    if let Some(at) = others.iter().position(|&[extent, stride, _]| extent > 1 && stride == 1) {
        others[at..].rotate_left(1);
    }
    let [[a, ..], [b, ..], [c, stride, _]] = others;
    let (function, grid) = match () {
        () if step == 1 && n >= LONG => ("reduce_rows", rows_of_threads(c, u64::from(a) * u64::from(b))),
        () => {
            let threads = Grid::threads(Size { x: c.into(), y: b.into(), z: a.into() });
            (if stride == 1 { "reduce_columns" } else { "reduce_each" }, threads)
        }
    };
    let of = |at: usize| others.map(|axis| axis[at]);
    let axes: [u32; 12] = [&[n, step, 0][..], &of(0), &of(1), &of(2)].concat().try_into().expect("twelve words");
    Ok((sought.kernel(function)?, grid, Arg::value(axes)))
}

/// Of elements without gaps: of a row, rows, and all of them.
fn launch_rows<'a>(sought: Sought<'_>, [row, rows, count]: [usize; 3]) -> Result<(Kernel, Grid, Arg<'a>)> {
    // All are within 32 bits (`one_of_all`).
    let [row, rows, count] = [row, rows, count].map(|number| number as u32);
    let axes = [row, 1, count, 1, 1, rows, 0, 0, row, 0, 0, 1];
    Ok((sought.kernel("reduce_rows")?, rows_of_threads(rows, 1), Arg::value(axes)))
}
