//! The C interface: matrices and kernels of Metal Performance Shaders.

use std::ffi::c_char;
use std::sync::Arc;

use super::{HMBuffer, HMEncoder, answer, borrow, share};
use crate::encode::Misuse;
use crate::memory::Buffer;
use crate::performance::{Function, Matrix, Multiplication, Neuron, Unary};

/// HMMatrix: matrices in a buffer, row by row.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HMMatrix {
    /// Where they are.
    pub buffer: HMBuffer,
    /// Bytes before the first.
    pub offset: u64,
    /// Of each.
    pub rows: u64,
    /// Of each.
    pub columns: u64,
    /// From a row to the next.
    pub row_bytes: u64,
    /// How many there are.
    pub matrices: u64,
    /// From a matrix to the next.
    pub matrix_bytes: u64,
    /// MPSDataType.
    pub data_type: u32,
}

/// HMMultiplication: what an MPSMatrixMultiplication says.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HMMultiplication {
    /// Of the left and the right matrix.
    pub transposes: [bool; 2],
    /// Of the result.
    pub rows: u64,
    /// Of the result.
    pub columns: u64,
    /// Terms of each sum.
    pub interior: u64,
    /// Factor of the product.
    pub alpha: f64,
    /// Factor of what the result holds.
    pub beta: f64,
    /// Row and column of the left, the right and the result matrix.
    pub origins: [[u64; 2]; 3],
    /// The first matrix.
    pub batch_start: u64,
    /// UINT64_MAX: all that the result has.
    pub batch_size: u64,
}

impl HMMatrix {
    fn matrix(&self) -> Matrix {
        let HMMatrix { offset, rows, columns, row_bytes, matrices, matrix_bytes, data_type, .. } = *self;
        Matrix { data_type, offset, rows, columns, row_bytes, matrices, matrix_bytes }
    }
}

/// Whether they are matrices, within the buffer.
///
/// # Safety
/// As the module above says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_matrix_check(matrix: *const HMMatrix) -> *const c_char {
    // SAFETY: as the module above says.
    let matrix = unsafe { *matrix };
    // SAFETY: as the module above says.
    let buffer = unsafe { borrow(matrix.buffer) };
    answer(matrix.matrix().check(buffer.length()))
}

/// Multiplies matrices.
///
/// # Safety
/// As the module above says; `matrices` are the left, the right and the result matrix.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_compute_multiply(
    encoder: HMEncoder,
    multiplication: *const HMMultiplication,
    matrices: *const [HMMatrix; 3],
) -> *const c_char {
    // SAFETY: as the module above says.
    let given = unsafe { *multiplication };
    // SAFETY: as the module above says.
    let matrices = unsafe { *matrices };
    let HMMultiplication { transposes, rows, columns, interior, alpha, beta, origins, batch_start, batch_size } = given;
    let what = Multiplication {
        transposes,
        rows,
        columns,
        interior,
        alpha,
        beta,
        origins,
        first: batch_start,
        count: batch_size,
    };
    // SAFETY: as the module above says.
    let buffers = matrices.map(|matrix| unsafe { share(matrix.buffer) });
    let encode = |buffers: [&Arc<Buffer>; 3]| -> Result<(), Misuse> {
        let [left, right, result] = [0, 1, 2].map(|at| (buffers[at], matrices[at].matrix()));
        // SAFETY: as the module above says.
        unsafe { borrow(encoder) }.multiply(&what, [left, right, result])
    };
    answer(match &buffers {
        [Some(left), Some(right), Some(result)] => encode([left, right, result]),
        _ => Err(c"the matrices must not be nil"),
    })
}

/// HMUnary: what an MPSMatrixUnaryKernel says.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct HMUnary {
    /// Softmax of rows; else a neuron of each element.
    pub softmax: bool,
    /// MPSCNNNeuronType.
    pub neuron: i32,
    /// The neuron's a and b.
    pub parameters: [f32; 2],
    /// Of what the neuron is given.
    pub alpha: f64,
    /// Row and column of the source and the result matrix.
    pub origins: [[u64; 2]; 2],
    /// At most; UINT64_MAX: all that the source has.
    pub rows: u64,
    /// At most; UINT64_MAX: all that the source has.
    pub columns: u64,
    /// The first matrix.
    pub batch_start: u64,
    /// UINT64_MAX: all that the result has.
    pub batch_size: u64,
}

/// Computes a function of a matrix's rows.
///
/// # Safety
/// As the module above says; `matrices` are the source and the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hm_compute_unary(
    encoder: HMEncoder,
    unary: *const HMUnary,
    matrices: *const [HMMatrix; 2],
) -> *const c_char {
    // SAFETY: as the module above says.
    let given = unsafe { *unary };
    // SAFETY: as the module above says.
    let matrices = unsafe { *matrices };
    let HMUnary { softmax, neuron, parameters, alpha, origins, rows, columns, batch_start, batch_size } = given;
    let function = match softmax {
        true => Ok(Function::SoftMax),
        false => Neuron::of(neuron, parameters).map(|neuron| Function::Neuron(neuron, alpha as f32)),
    };
    // SAFETY: as the module above says.
    let buffers = matrices.map(|matrix| unsafe { share(matrix.buffer) });
    answer(function.and_then(|function| {
        let what = Unary { function, origins, rows, columns, first: batch_start, count: batch_size };
        match &buffers {
            [Some(source), Some(result)] => {
                let matrices = [(source, matrices[0].matrix()), (result, matrices[1].matrix())];
                // SAFETY: as the module above says.
                unsafe { borrow(encoder) }.unary(&what, matrices)
            }
            _ => Err(c"the matrices must not be nil"),
        }
    }))
}
