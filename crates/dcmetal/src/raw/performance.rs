//! Kernels of Metal Performance Shaders.

use std::ptr;

use super::command::CommandBuffer;
use super::host::Memory;
use super::{Device, Failure, check, handle};
use crate::kernel::Scalar;
use crate::sys;

handle!(
    /// `MPSMatrixMultiplication`.
    DCMetalMultiplication,
    DCMetalMultiplication_Release
);
handle!(
    /// `MPSMatrixSoftMax` or `MPSMatrixNeuron`.
    DCMetalRowKernel,
    DCMetalRowKernel_Release
);

// SAFETY: DCMetal.h: a kernel "belongs to one thread at a time": it may move.
unsafe impl Send for DCMetalMultiplication {}
// SAFETY: as above.
unsafe impl Send for DCMetalRowKernel {}

/// A kernel, for matrices of which the last is the result.
pub(crate) enum Shader {
    Multiplication(DCMetalMultiplication),
    Rows(DCMetalRowKernel),
}

/// What a kernel computes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Computed {
    Product(Multiplied),
    SoftMax,
    Neuron(Neuron),
}

/// A function of each element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Neuron {
    Relu,
    Sigmoid,
    Tanh,
    Gelu,
}

/// What a multiplication computes: alpha op(left) op(right) + beta result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Multiplied {
    /// Of left and right.
    pub(crate) transposes: [bool; 2],
    /// Rows and columns of a result, and terms of each sum.
    pub(crate) size: [usize; 3],
    pub(crate) alpha: f32,
    pub(crate) beta: f32,
}

/// Matrices in memory, row by row. In elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rows {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) row: usize,
    pub(crate) matrices: usize,
    pub(crate) matrix: usize,
}

/// Whether the device has Metal Performance Shaders.
pub(crate) fn supports(device: &Device) -> bool {
    // SAFETY: a live handle.
    unsafe { sys::DCMetalDevice_SupportsPerformanceShaders(device.0) }
}

/// A matrix for a kernel: memory, bytes before the first element, the matrices and their elements.
pub(crate) type Place<'a> = (&'a Memory, usize, Rows, Scalar);

fn matrix((memory, offset, rows, scalar): Place<'_>) -> sys::DCMetalMatrix {
    sys::DCMetalMatrix {
        buffer: memory.buffer().0,
        offset: offset as u64,
        rows: rows.rows as u64,
        columns: rows.columns as u64,
        row_bytes: (rows.row * scalar.size()) as u64,
        matrices: rows.matrices as u64,
        matrix_bytes: (rows.matrix * scalar.size()) as u64,
        number: if scalar == Scalar::F16 { sys::DC_METAL_NUMBER_FLOAT16 } else { sys::DC_METAL_NUMBER_FLOAT32 },
    }
}

impl Shader {
    pub(crate) fn new(device: &Device, what: &Computed) -> Result<Shader, Failure> {
        match what {
            Computed::Product(multiplied) => multiplication(device, multiplied).map(Shader::Multiplication),
            Computed::SoftMax => {
                let (mut kernel, mut error) = (ptr::null_mut(), ptr::null_mut());
                // SAFETY: a live handle; the out-parameters are valid for the call.
                let status = unsafe { sys::DCMetalRowKernel_CreateSoftMax(device.0, &mut kernel, &mut error) };
                check(status, error)?;
                Ok(Shader::Rows(DCMetalRowKernel(kernel)))
            }
            Computed::Neuron(neuron) => row_neuron(device, *neuron).map(Shader::Rows),
        }
    }

    /// No encoder is open. The caller keeps this and the memory until completion.
    pub(crate) fn encode(&mut self, command_buffer: &mut CommandBuffer, places: &[Place<'_>]) -> Result<(), Failure> {
        let mut error = ptr::null_mut();
        let status = match (self, places) {
            (Shader::Multiplication(kernel), &[left, right, result]) => {
                let [left, right, result] = [left, right, result].map(matrix);
                // SAFETY: live handles; the matrices and the out-parameter are valid for the call.
                unsafe {
                    sys::DCMetalMultiplication_Encode(kernel.0, command_buffer.0, &left, &right, &result, &mut error)
                }
            }
            (Shader::Rows(kernel), &[source, result]) => {
                let [source, result] = [source, result].map(matrix);
                // SAFETY: as above.
                unsafe { sys::DCMetalRowKernel_Encode(kernel.0, command_buffer.0, &source, &result, &mut error) }
            }
            _ => unreachable!("a product is of three matrices, a function of rows of two"),
        };
        check(status, error)
    }
}

fn multiplication(device: &Device, what: &Multiplied) -> Result<DCMetalMultiplication, Failure> {
    let [rows, columns, interior] = what.size.map(|extent| extent as u64);
    let [transpose_left, transpose_right] = what.transposes;
    let (alpha, beta) = (f64::from(what.alpha), f64::from(what.beta));
    let descriptor =
        sys::DCMetalMultiplicationDescriptor { transpose_left, transpose_right, rows, columns, interior, alpha, beta };
    let (mut kernel, mut error) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: a live handle; the descriptor and the out-parameters are valid for the call.
    let status = unsafe { sys::DCMetalMultiplication_Create(device.0, &descriptor, &mut kernel, &mut error) };
    check(status, error)?;
    Ok(DCMetalMultiplication(kernel))
}

/// With the parameters by which they are what their names say.
fn row_neuron(device: &Device, neuron: Neuron) -> Result<DCMetalRowKernel, Failure> {
    let (neuron, a, b) = match neuron {
        Neuron::Relu => (sys::DC_METAL_NEURON_RELU, 0.0, 0.0),
        Neuron::Sigmoid => (sys::DC_METAL_NEURON_SIGMOID, 0.0, 0.0),
        Neuron::Tanh => (sys::DC_METAL_NEURON_TANH, 1.0, 1.0),
        Neuron::Gelu => (sys::DC_METAL_NEURON_GELU, 0.0, 0.0),
    };
    let (mut kernel, mut error) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: a live handle; the out-parameters are valid for the call.
    let status = unsafe { sys::DCMetalRowKernel_CreateNeuron(device.0, neuron, a, b, &mut kernel, &mut error) };
    check(status, error)?;
    Ok(DCMetalRowKernel(kernel))
}
