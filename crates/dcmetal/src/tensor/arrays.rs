//! Products of `ndarray`'s arrays, in one call: to the device, multiplied, and back.

use ndarray::{Array2, ArrayView2};

use super::{Element, Tensor, TensorMut, product};
use crate::{Accelerator, Buffer, Result};

/// The elements of an array in a buffer, and their strides there: as they lie in memory where that has no gaps and goes forwards, else row by row.
fn uploaded<T: Element>(gpu: &Accelerator, array: &ArrayView2<'_, T>) -> Result<(Buffer<T>, [usize; 2])> {
    let (rows, columns) = array.dim();
    let strides = [array.strides()[0], array.strides()[1]].map(usize::try_from);
    if let (Some(elements), [Ok(row), Ok(column)]) = (array.as_slice_memory_order(), strides) {
        return Ok((gpu.buffer_from(elements)?, [row, column]));
    }
    let elements: Vec<T> = array.iter().copied().collect();
    debug_assert_eq!(elements.len(), rows * columns);
    Ok((gpu.buffer_from(&elements)?, [columns, 1]))
}

/// The product of two arrays, accumulated in `f32` and rounded once: both are copied to the device, and the result from it.
/// Several operations on the same arrays are better made of buffers ([`product`]).
///
/// ```
/// # fn main() -> dcmetal::Result<()> {
/// use ndarray::array;
/// let gpu = dcmetal::Accelerator::system_default()?;
/// let (a, b) = (array![[1.0f32, 2.0], [3.0, 4.0]], array![[0.0f32, 1.0], [1.0, 1.0]]);
/// assert_eq!(dcmetal::tensor::array_product(&gpu, a.view(), b.t())?, array![[2.0, 3.0], [4.0, 7.0]]);
/// # Ok(()) }
/// ```
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape) where the extents do not fit; [`Error::EmptyBuffer`](crate::Error::EmptyBuffer) for an array without elements; else as
/// [`product`] and its submission.
pub fn array_product<T: Element>(gpu: &Accelerator, a: ArrayView2<'_, T>, b: ArrayView2<'_, T>) -> Result<Array2<T>> {
    let ((a_elements, a_strides), (b_elements, b_strides)) = (uploaded(gpu, &a)?, uploaded(gpu, &b)?);
    let shape = [a.nrows(), b.ncols()];
    let mut c = gpu.buffer_zeroed::<T>(shape[0] * shape[1])?;
    let left = Tensor::strided(&a_elements, &[a.nrows(), a.ncols()], &a_strides)?;
    let right = Tensor::strided(&b_elements, &[b.nrows(), b.ncols()], &b_strides)?;
    product(left, right, TensorMut::new(&mut c, &shape)?)?.submit()?.wait()?;
    Ok(Array2::from_shape_vec(shape, c.to_vec()?).expect("it has as many elements"))
}
