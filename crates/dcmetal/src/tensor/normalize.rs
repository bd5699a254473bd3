//! Softmax, layer normalisation, and batch normalisation with its statistics.

use super::graph::{self, Operand};
use super::layout::{Layout, wrong};
use super::measured::{Class, choose};
use super::performance::of_rows;
use super::reduce::rows_of_threads;
use super::{Element, Implementation, Operation, Tensor, TensorMut, compiled, one_accelerator};
use crate::kernel::Scalar;
use crate::raw::graph::{Computation, Scaled};
use crate::raw::performance::Computed;
use crate::{Accelerator, Arg, Grid, Kernel, Result, Size};

const SOURCE: &str = concat!(include_str!("scalar.metal"), include_str!("rows.metal"), include_str!("normalize.metal"));

fn kernel_of(gpu: &Accelerator, kernel: &str, scalar: Scalar, in_line: bool, channels_last: bool) -> Result<Kernel> {
    let flag = |is: bool| if is { "1" } else { "0" };
    let macros = [("T", scalar.name()), ("IN_LINE", flag(in_line)), ("CHANNELS_LAST", flag(channels_last))];
    compiled(gpu, kernel, SOURCE, &macros)
}

/// Layouts of x and y, of one shape.
fn same_shape(operation: &'static str, x: &Layout, y: &Layout) -> Result<()> {
    match x.extents() == y.extents() {
        true if x.rank() > 0 => Ok(()),
        true => Err(wrong(operation, "x has no axis".to_owned())),
        false => Err(wrong(operation, format!("x is {}, y is {}", x.shape(), y.shape()))),
    }
}

/// The grid, whether elements of rows follow each other, and `Rows` of normalize.metal.
fn rows(x: &Layout, y: &Layout, epsilon: f32, has: [bool; 2]) -> (Grid, bool, [u32; 15]) {
    let ((extents, from), (_, to)) = (x.padded(), y.padded());
    let [.., n] = extents;
    let mut words = vec![n, from[3], to[3]];
    for three in [extents, from, to] {
        words.extend(&three[..3]);
    }
    words.push(epsilon.to_bits());
    let has = has.map(u32::from);
    words.extend(has);
    let grid = rows_of_threads(extents[2], u64::from(extents[0]) * u64::from(extents[1]));
    let in_line = from[3] == 1 && to[3] == 1;
    (grid, in_line, words.try_into().expect("fifteen words"))
}

/// y = exp(x) divided by its sum along the last axis: what is subtracted from x first, its largest, changes nothing but that nothing overflows.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) for different shapes; [`Error::Foreign`](crate::Error::Foreign); those of the kernel's compilation.
pub fn softmax<'a, T: Element>(x: Tensor<'a, T>, y: TensorMut<'a, T>) -> Result<Operation<'a>> {
    softmax_by(x, y, Implementation::Measured)
}

/// As [`softmax`], by what is asked for. Metal Performance Shaders (`MPSMatrixSoftMax`) take `f32` and `f16`, and rows that are in one piece each. What
/// [`Measured`](Implementation::Measured) is, [`tune_operation`](super::tune_operation) finds.
///
/// # Errors
/// As [`softmax`]; [`Error::Unsupported`](crate::Error::Unsupported) where Metal Performance Shaders are asked for and cannot compute it.
pub fn softmax_by<'a, T: Element>(
    x: Tensor<'a, T>,
    y: TensorMut<'a, T>,
    implementation: Implementation,
) -> Result<Operation<'a>> {
    let class = Class::of("softmax", [T::SCALAR; 2], [x.layout(), y.layout()], &[]);
    choose((x.accelerator(), class, implementation), |by| softmax_of(x, y.again(), by))
}

fn softmax_of<'a, T: Element>(
    x: Tensor<'a, T>,
    y: TensorMut<'a, T>,
    implementation: Implementation,
) -> Result<Operation<'a>> {
    let gpu = one_accelerator("softmax", &[("x", x.accelerator()), ("y", y.accelerator())])?;
    same_shape("softmax", x.layout(), y.layout())?;
    if implementation == Implementation::PerformanceShaders {
        let (from, to) = (*x.layout(), *y.layout());
        let matrices = [(&from, x.arg()), (&to, y.into_arg())];
        return Ok(Operation::of_passes(gpu, of_rows(gpu, ("softmax", Computed::SoftMax), T::SCALAR, matrices)?));
    }
    let (grid, in_line, rows) = rows(x.layout(), y.layout(), 0.0, [false; 2]);
    let kernel = kernel_of(gpu, "softmax", T::SCALAR, in_line, false)?;
    Ok(Operation::of(kernel, grid, vec![x.arg(), y.into_arg(), Arg::value(rows)]))
}

/// What a normalised value is multiplied by, and what is added then: tensors of one axis without gaps, or none.
pub struct Affine<'a, T: Element> {
    /// The factors.
    pub scale: Option<Tensor<'a, T>>,
    /// The terms.
    pub shift: Option<Tensor<'a, T>>,
}

impl<T: Element> Default for Affine<'_, T> {
    fn default() -> Self {
        Affine { scale: None, shift: None }
    }
}

/// That a tensor has one axis of so many elements without gaps.
fn line(operation: &'static str, name: &str, of: &Layout, n: usize) -> Result<()> {
    match of.extents() == [n] && of.is_contiguous() {
        true => Ok(()),
        false => Err(wrong(operation, format!("{name} is {}, not {n} elements that follow each other", of.shape()))),
    }
}

/// The extents of x, 1 but for one axis.
fn along(x: &Layout, axis: usize) -> Vec<usize> {
    let extents = x.extents().iter().enumerate();
    extents.map(|(at, &extent)| if at == axis { extent } else { 1 }).collect()
}

fn scaled([has_scale, has_shift]: [bool; 2], epsilon: f32) -> Scaled {
    Scaled { has_scale, has_shift, epsilon: epsilon.to_bits() }
}

impl<'a, T: Element> Affine<'a, T> {
    fn has(&self) -> [bool; 2] {
        [self.scale.is_some(), self.shift.is_some()]
    }

    /// What there is of them for a graph, with these extents.
    fn operands<'b>(&'b self, extents: &'b [usize]) -> impl Iterator<Item = Operand<'a>> + 'b {
        let both = [("scale", &self.scale), ("shift", &self.shift)];
        let there = both.into_iter().filter_map(|(name, tensor)| tensor.as_ref().map(|tensor| (name, tensor)));
        there.map(|(name, tensor)| Operand::read(name, tensor).shaped(extents.to_vec()))
    }

    /// The two arguments, and whether they count.
    fn args(&self, operation: &'static str, n: usize, x: &Tensor<'a, T>) -> Result<([Arg<'a>; 2], [bool; 2])> {
        for (name, tensor) in [("scale", &self.scale), ("shift", &self.shift)] {
            if let Some(tensor) = tensor {
                one_accelerator(operation, &[("x", x.accelerator()), (name, tensor.accelerator())])?;
                line(operation, name, tensor.layout(), n)?;
            }
        }
        // What does not count is never read.
        let arg = |tensor: Option<Tensor<'a, T>>| tensor.unwrap_or(*x).arg();
        Ok(([arg(self.scale), arg(self.shift)], self.has()))
    }
}

/// y = (x - mean) / sqrt(variance + epsilon), scaled and shifted, with mean and variance (of all, not of a sample) along the last axis (Ba, Kiros and Hinton, arXiv 1607.06450).
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) for different shapes of x and y, and for a scale or shift that has not an element for each of the last axis;
/// [`Error::Foreign`](crate::Error::Foreign); those of the kernel's compilation.
pub fn layer_norm<'a, T: Element>(
    x: Tensor<'a, T>,
    affine: &Affine<'a, T>,
    epsilon: f32,
    y: TensorMut<'a, T>,
) -> Result<Operation<'a>> {
    layer_norm_by(x, affine, epsilon, y, Implementation::Measured)
}

/// As [`layer_norm`], by this module's kernels, or by Metal Performance Shaders Graph: of tensors whose elements follow each other, from any element on, on macOS 15 and later. The operation is
/// [submitted](Operation::submit) alone then, and computes in `f32` whatever the elements are. What [`Measured`](Implementation::Measured) is, [`tune_operation`](super::tune_operation) finds.
///
/// # Errors
/// As [`layer_norm`]; [`Error::Unsupported`](crate::Error::Unsupported) for what Metal Performance Shaders cannot compute.
pub fn layer_norm_by<'a, T: Element>(
    x: Tensor<'a, T>,
    affine: &Affine<'a, T>,
    epsilon: f32,
    y: TensorMut<'a, T>,
    by: Implementation,
) -> Result<Operation<'a>> {
    let class = Class::of("layer_norm", [T::SCALAR; 2], [x.layout(), y.layout()], &affine.has().map(usize::from));
    choose((x.accelerator(), class, by), |by| layer_norm_of(x, affine, epsilon, y.again(), by))
}

fn layer_norm_of<'a, T: Element>(
    x: Tensor<'a, T>,
    affine: &Affine<'a, T>,
    epsilon: f32,
    y: TensorMut<'a, T>,
    by: Implementation,
) -> Result<Operation<'a>> {
    let gpu = one_accelerator("layer_norm", &[("x", x.accelerator()), ("y", y.accelerator())])?;
    same_shape("layer_norm", x.layout(), y.layout())?;
    let n = *x.shape().last().expect("it has an axis");
    let ([scale, shift], has) = affine.args("layer_norm", n, &x)?;
    if by == Implementation::PerformanceShaders {
        let last = x.layout().rank() - 1;
        let computation = Computation::LayerNormalization { axes: 1 << last, scaled: scaled(has, epsilon) };
        let mut inputs = vec![Operand::read("x", &x)];
        inputs.extend(affine.operands(&along(x.layout(), last)));
        let pass = graph::pass(gpu, "layer_norm", computation, inputs, vec![Operand::written("y", y)])?;
        return Ok(Operation::of_graph(gpu, "layer_norm", pass));
    }
    let (grid, in_line, rows) = rows(x.layout(), y.layout(), epsilon, has);
    let kernel = kernel_of(gpu, "layer_norm", T::SCALAR, in_line, false)?;
    Ok(Operation::of(kernel, grid, vec![x.arg(), y.into_arg(), scale, shift, Arg::value(rows)]))
}

/// What batch normalisation normalises by, for each channel.
pub struct Channels<'a, T: Element> {
    /// Which axis counts the channels.
    pub axis: usize,
    /// In `f32`, as [`batch_statistics`] leaves it.
    pub mean: Tensor<'a, f32>,
    /// The same.
    pub variance: Tensor<'a, f32>,
    /// Behind the normalisation.
    pub affine: Affine<'a, T>,
}

/// y = (x - mean) / sqrt(variance + epsilon), scaled and shifted, each by channel (Ioffe and Szegedy, arXiv 1502.03167).
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) for different shapes of x and y, an axis that x does not have, and what has not an element for each channel;
/// [`Error::Foreign`](crate::Error::Foreign); those of the kernel's compilation.
pub fn batch_norm<'a, T: Element>(
    x: Tensor<'a, T>,
    channels: &Channels<'a, T>,
    epsilon: f32,
    y: TensorMut<'a, T>,
) -> Result<Operation<'a>> {
    batch_norm_by(x, channels, epsilon, y, Implementation::Measured)
}

/// As [`batch_norm`], by this module's kernels, or by Metal Performance Shaders Graph, as [`layer_norm_by`].
///
/// # Errors
/// As [`batch_norm`]; [`Error::Unsupported`](crate::Error::Unsupported) for what Metal Performance Shaders cannot compute.
pub fn batch_norm_by<'a, T: Element>(
    x: Tensor<'a, T>,
    channels: &Channels<'a, T>,
    epsilon: f32,
    y: TensorMut<'a, T>,
    by: Implementation,
) -> Result<Operation<'a>> {
    let [scale, shift] = channels.affine.has();
    let class = Class::of(
        "batch_norm",
        [T::SCALAR; 2],
        [x.layout(), y.layout()],
        &[channels.axis, usize::from(scale), usize::from(shift)],
    );
    choose((x.accelerator(), class, by), |by| batch_norm_of(x, channels, epsilon, y.again(), by))
}

fn batch_norm_of<'a, T: Element>(
    x: Tensor<'a, T>,
    channels: &Channels<'a, T>,
    epsilon: f32,
    y: TensorMut<'a, T>,
    by: Implementation,
) -> Result<Operation<'a>> {
    let Channels { axis, mean, variance, affine } = channels;
    let gpus = [
        ("x", x.accelerator()),
        ("y", y.accelerator()),
        ("mean", mean.accelerator()),
        ("variance", variance.accelerator()),
    ];
    let gpu = one_accelerator("batch_norm", &gpus)?;
    same_shape("batch_norm", x.layout(), y.layout())?;
    let n = channels_of("batch_norm", x.layout(), *axis)?;
    line("batch_norm", "mean", mean.layout(), n)?;
    line("batch_norm", "variance", variance.layout(), n)?;
    let ([scale, shift], has) = affine.args("batch_norm", n, &x)?;
    if by == Implementation::PerformanceShaders {
        let extents = along(x.layout(), *axis);
        let of_channels = |name, tensor| Operand::read(name, tensor).shaped(extents.clone());
        let mut inputs = vec![Operand::read("x", &x), of_channels("mean", mean), of_channels("variance", variance)];
        inputs.extend(affine.operands(&extents));
        let computation = Computation::Normalization(scaled(has, epsilon));
        let pass = graph::pass(gpu, "batch_norm", computation, inputs, vec![Operand::written("y", y)])?;
        return Ok(Operation::of_graph(gpu, "batch_norm", pass));
    }
    let ((extents, from), (_, to)) = (x.layout().padded(), y.layout().padded());
    let mut channel = [0; 4];
    channel[4 - x.layout().rank() + axis] = 1;
    let mut words = [extents, from, to, channel].concat();
    words.push(epsilon.to_bits());
    let has = has.map(u32::from);
    words.extend(has);
    let words: [u32; 19] = words.try_into().expect("nineteen words");
    let kernel = kernel_of(gpu, "batch_norm", T::SCALAR, from[3] == 1 && to[3] == 1, channel[3] == 1)?;
    let [a, b, c, d] = extents.map(u64::from);
    let grid = Grid::threads(Size { x: d, y: c, z: a * b });
    let args = vec![x.arg(), y.into_arg(), mean.arg(), variance.arg(), scale, shift, Arg::value(words)];
    Ok(Operation::of(kernel, grid, args))
}

fn channels_of(operation: &'static str, x: &Layout, axis: usize) -> Result<usize> {
    let n = x.extents().get(axis).copied();
    n.ok_or_else(|| wrong(operation, format!("x is {} and has no axis {axis}", x.shape())))
}

/// The mean and the variance (of all, not of a sample) of each channel, over all other axes.
///
/// # Errors
/// As [`batch_norm`].
pub fn batch_statistics<'a, T: Element>(
    x: Tensor<'a, T>,
    axis: usize,
    mean: TensorMut<'a, f32>,
    variance: TensorMut<'a, f32>,
) -> Result<Operation<'a>> {
    batch_statistics_by(x, axis, mean, variance, Implementation::Measured)
}

/// As [`batch_statistics`], by this module's kernels, or by Metal Performance Shaders Graph, as [`layer_norm_by`].
///
/// # Errors
/// As [`batch_statistics`]; [`Error::Unsupported`](crate::Error::Unsupported) for what Metal Performance Shaders cannot compute.
pub fn batch_statistics_by<'a, T: Element>(
    x: Tensor<'a, T>,
    axis: usize,
    mean: TensorMut<'a, f32>,
    variance: TensorMut<'a, f32>,
    by: Implementation,
) -> Result<Operation<'a>> {
    let class = Class::of("batch_statistics", [T::SCALAR, Scalar::F32], [x.layout(), mean.layout()], &[axis]);
    choose((x.accelerator(), class, by), |by| batch_statistics_of(x, axis, mean.again(), variance.again(), by))
}

fn batch_statistics_of<'a, T: Element>(
    x: Tensor<'a, T>,
    axis: usize,
    mean: TensorMut<'a, f32>,
    variance: TensorMut<'a, f32>,
    by: Implementation,
) -> Result<Operation<'a>> {
    let gpus = [("x", x.accelerator()), ("mean", mean.accelerator()), ("variance", variance.accelerator())];
    let gpu = one_accelerator("batch_statistics", &gpus)?;
    let n = channels_of("batch_statistics", x.layout(), axis)?;
    line("batch_statistics", "mean", mean.layout(), n)?;
    line("batch_statistics", "variance", variance.layout(), n)?;
    if by == Implementation::PerformanceShaders {
        // Of one axis there is none to go through: an axis of 1 stands in front of all.
        let whole = [&[1], x.shape()].concat();
        let (whole, axis) = if x.layout().rank() == 1 { (whole, 1) } else { (whole[1..].to_vec(), axis) };
        let axes = ((1 << whole.len()) - 1) & !(1 << axis);
        let mut extents = vec![1; whole.len()];
        extents[axis] = n;
        let results = [("mean", mean), ("variance", variance)];
        let results = results.map(|(name, tensor)| Operand::written(name, tensor).shaped(extents.clone()));
        let inputs = vec![Operand::read("x", &x).shaped(whole)];
        let pass = graph::pass(gpu, "batch_statistics", Computation::Statistics { axes }, inputs, results.into())?;
        return Ok(Operation::of_graph(gpu, "batch_statistics", pass));
    }
    let step = x.strides()[axis] as u32;
    let ([_, extents @ ..], [_, strides @ ..]) = x.layout().without(axis).padded();
    let words: [u32; 8] = [&[n as u32, step][..], &extents, &strides].concat().try_into().expect("eight words");
    let kernel = kernel_of(gpu, "batch_statistics", T::SCALAR, step == 1, false)?;
    let args = vec![x.arg(), mean.into_arg(), variance.into_arg(), Arg::value(words)];
    Ok(Operation::of(kernel, Grid::linear(n), args))
}
