//! Activations: a function of each element.

use super::layout::wrong;
use super::measured::{Class, choose};
use super::performance::of_rows;
use super::{Element, Implementation, Operation, Tensor, TensorMut, compiled, one_accelerator};
use crate::raw::performance::{Computed, Neuron};
use crate::{Accelerator, Arg, Error, Grid, Kernel, Result, Size};

/// A function of numbers. NaN stays NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Activation {
    /// x where it is above 0, else 0.
    Relu,
    /// 1 / (1 + exp(-x)).
    Sigmoid,
    /// The hyperbolic tangent.
    Tanh,
    /// x times the share of the normal distribution below x: x (1 + erf(x / sqrt(2))) / 2 (Hendrycks and Gimpel, arXiv 1606.08415).
    Gelu,
    /// The same paper's approximation: x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2.
    GeluTanh,
}

impl Activation {
    /// Every one.
    pub const ALL: [Activation; 5] =
        [Activation::Relu, Activation::Sigmoid, Activation::Tanh, Activation::Gelu, Activation::GeluTanh];

    /// Of Metal Performance Shaders.
    fn neuron(self) -> Result<Neuron> {
        Ok(match self {
            Activation::Relu => Neuron::Relu,
            Activation::Sigmoid => Neuron::Sigmoid,
            Activation::Tanh => Neuron::Tanh,
            Activation::Gelu => Neuron::Gelu,
            Activation::GeluTanh => {
                let what = "this activation by Metal Performance Shaders".to_owned();
                return Err(Error::Unsupported { what, text: "they have no GeluTanh".to_owned() });
            }
        })
    }

    /// In activation.metal.
    fn function(self) -> &'static str {
        match self {
            Activation::Relu => "relu",
            Activation::Sigmoid => "sigmoid",
            Activation::Tanh => "tangent",
            Activation::Gelu => "gelu",
            Activation::GeluTanh => "gelu_tanh",
        }
    }
}

const SOURCE: &str = concat!(include_str!("scalar.metal"), include_str!("activation.metal"));

fn kernel_of<T: Element>(gpu: &Accelerator, activation: Activation, kernel: &str) -> Result<Kernel> {
    compiled(gpu, kernel, SOURCE, &[("T", T::SCALAR.name()), ("FUNCTION", activation.function())])
}

/// A thread for each element: of the last axis beside each other.
fn threads(extents: [u32; 4]) -> Grid {
    let [a, b, c, d] = extents.map(u64::from);
    Grid::threads(Size { x: d, y: c, z: a * b })
}

/// y = f(x), of tensors of one shape.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) for different shapes; [`Error::Foreign`](crate::Error::Foreign); those of the kernel's compilation.
pub fn activate<'a, T: Element>(
    activation: Activation,
    x: Tensor<'a, T>,
    y: TensorMut<'a, T>,
) -> Result<Operation<'a>> {
    activate_by(activation, x, y, Implementation::Measured)
}

/// As [`activate`], by what is asked for. Metal Performance Shaders (`MPSMatrixNeuron`) take `f32` and `f16`, rows that are in one piece each, and all activations but
/// [`Activation::GeluTanh`]; their ReLU multiplies what is below 0 by 0, so that minus infinity is NaN. What
/// [`Measured`](Implementation::Measured) is, [`tune_operation`](super::tune_operation) finds.
///
/// # Errors
/// As [`activate`]; [`Error::Unsupported`](crate::Error::Unsupported) where Metal Performance Shaders are asked for and cannot compute it.
pub fn activate_by<'a, T: Element>(
    activation: Activation,
    x: Tensor<'a, T>,
    y: TensorMut<'a, T>,
    implementation: Implementation,
) -> Result<Operation<'a>> {
    let class = Class::of("activate", [T::SCALAR; 2], [x.layout(), y.layout()], &[activation as usize]);
    choose((x.accelerator(), class, implementation), |by| activate_of(activation, x, y.again(), by))
}

fn activate_of<'a, T: Element>(
    activation: Activation,
    x: Tensor<'a, T>,
    y: TensorMut<'a, T>,
    implementation: Implementation,
) -> Result<Operation<'a>> {
    let gpu = one_accelerator("activation", &[("x", x.accelerator()), ("y", y.accelerator())])?;
    if x.shape() != y.shape() {
        return Err(wrong("activation", format!("x is {}, y is {}", x.layout().shape(), y.layout().shape())));
    }
    let (from, to) = (*x.layout(), *y.layout());
    if implementation == Implementation::PerformanceShaders {
        let matrices = [(&from, x.arg()), (&to, y.into_arg())];
        let what = Computed::Neuron(activation.neuron()?);
        return Ok(Operation::of_passes(gpu, of_rows(gpu, ("activation", what), T::SCALAR, matrices)?));
    }
    if from.is_contiguous() && to.is_contiguous() {
        let kernel = kernel_of::<T>(gpu, activation, "activate")?;
        return Ok(Operation::of(kernel, Grid::linear(to.count()), vec![x.arg(), y.into_arg()]));
    }
    let kernel = kernel_of::<T>(gpu, activation, "activate_strided")?;
    let (extents, strides) = to.padded();
    let places: [u32; 12] = [extents, from.padded().1, strides].concat().try_into().expect("three times four");
    Ok(Operation::of(kernel, threads(extents), vec![x.arg(), y.into_arg(), Arg::value(places)]))
}

/// y = f(y).
///
/// # Errors
/// Those of the kernel's compilation.
pub fn activate_in_place<T: Element>(activation: Activation, y: TensorMut<'_, T>) -> Result<Operation<'_>> {
    let (gpu, to) = (y.accelerator(), *y.layout());
    if to.is_contiguous() {
        let kernel = kernel_of::<T>(gpu, activation, "activate_in_place")?;
        return Ok(Operation::of(kernel, Grid::linear(to.count()), vec![y.into_arg()]));
    }
    let kernel = kernel_of::<T>(gpu, activation, "activate_strided_in_place")?;
    let (extents, strides) = to.padded();
    let places: [u32; 12] = [extents, [0; 4], strides].concat().try_into().expect("three times four");
    Ok(Operation::of(kernel, threads(extents), vec![y.into_arg(), Arg::value(places)]))
}
