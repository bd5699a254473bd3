//! Kernels of Metal Performance Shaders.

use std::ptr;

use dcmetal_sys as sys;

use super::command::CommandBuffer;
use super::host::Memory;
use super::{Device, Failure, check, handle};
use crate::kernel::Scalar;

handle!(
    /// `MPSMatrixMultiplication`.
    DCMetalMultiplication,
    DCMetalMultiplication_Release
);

pub(crate) type Multiplication = DCMetalMultiplication;

// SAFETY: DCMetal.h: a kernel "belongs to one thread at a time": it may move.
unsafe impl Send for DCMetalMultiplication {}

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

impl DCMetalMultiplication {
    pub(crate) fn new(device: &Device, what: &Multiplied) -> Result<Multiplication, Failure> {
        let [rows, columns, interior] = what.size.map(|extent| extent as u64);
        let [transpose_left, transpose_right] = what.transposes;
        let (alpha, beta) = (f64::from(what.alpha), f64::from(what.beta));
        let descriptor = sys::DCMetalMultiplicationDescriptor {
            transpose_left,
            transpose_right,
            rows,
            columns,
            interior,
            alpha,
            beta,
        };
        let (mut kernel, mut error) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: a live handle; the descriptor and the out-parameters are valid for the call.
        let status = unsafe { sys::DCMetalMultiplication_Create(device.0, &descriptor, &mut kernel, &mut error) };
        check(status, error)?;
        Ok(DCMetalMultiplication(kernel))
    }

    /// Left, right and result: memory, bytes before the first element, the matrices and their elements. No encoder is open. The caller keeps this and the memory
    /// until completion.
    pub(crate) fn encode(
        &mut self,
        command_buffer: &mut CommandBuffer,
        matrices: [(&Memory, usize, Rows, Scalar); 3],
    ) -> Result<(), Failure> {
        let [left, right, result] = matrices.map(|(memory, offset, rows, scalar)| sys::DCMetalMatrix {
            buffer: memory.buffer().0,
            offset: offset as u64,
            rows: rows.rows as u64,
            columns: rows.columns as u64,
            row_bytes: (rows.row * scalar.size()) as u64,
            matrices: rows.matrices as u64,
            matrix_bytes: (rows.matrix * scalar.size()) as u64,
            number: if scalar == Scalar::F16 { sys::DC_METAL_NUMBER_FLOAT16 } else { sys::DC_METAL_NUMBER_FLOAT32 },
        });
        let mut error = ptr::null_mut();
        // SAFETY: live handles; the matrices and the out-parameter are valid for the call.
        let status =
            unsafe { sys::DCMetalMultiplication_Encode(self.0, command_buffer.0, &left, &right, &result, &mut error) };
        check(status, error)
    }
}
