//! [`Tensor`] and [`TensorMut`]: views of buffers with a shape.

use std::fmt;
use std::ops::RangeBounds;

use super::layout::{Layout, wrong};
use crate::{Accelerator, Arg, Pod, Result, View, ViewMut};

/// Elements of a buffer with a shape of up to [`MAX_RANK`](super::MAX_RANK) axes, for reading. It borrows the buffer and copies nothing; so do
/// [`transposed`](Tensor::transposed), [`slice`](Tensor::slice) and the others.
///
/// ```
/// # fn main() -> dcmetal::Result<()> {
/// use dcmetal::tensor::Tensor;
/// let gpu = dcmetal::Accelerator::system_default()?;
/// let x = gpu.buffer_from(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let rows = Tensor::new(&x, &[2, 3])?;
/// assert_eq!(rows.transposed()?.shape(), [3, 2]);
/// assert_eq!(rows.transposed()?.to_vec()?, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
/// assert_eq!(rows.slice(1, 1..)?.to_vec()?, [2.0, 3.0, 5.0, 6.0]);
/// assert_eq!(Tensor::new(&x, &[4, 2]).unwrap_err().to_string(), "a tensor: 4x2 has 8 elements, the view has 6");
/// # Ok(()) }
/// ```
#[derive(Clone, Copy)]
pub struct Tensor<'a, T: Pod> {
    /// Whose first element is the tensor's.
    view: View<'a, T>,
    layout: Layout,
}

/// Elements of a buffer with a shape, for reading and writing. No two of its places are the same element.
pub struct TensorMut<'a, T: Pod> {
    view: ViewMut<'a, T>,
    layout: Layout,
}

/// Whether as many elements are there as the layout reaches.
fn check_reach(layout: &Layout, len: usize) -> Result<()> {
    match layout.reach() <= len {
        true => Ok(()),
        false => {
            let reach = layout.reach();
            let text = format!("{} reaches over {reach} elements, the view has {len}", layout.shape());
            Err(wrong("a tensor", text))
        }
    }
}

fn rows(shape: &[usize], len: usize) -> Result<Layout> {
    let layout = Layout::rows(shape)?;
    match layout.count() == len {
        true => Ok(layout),
        false => {
            let text = format!("{} has {} elements, the view has {len}", layout.shape(), layout.count());
            Err(wrong("a tensor", text))
        }
    }
}

impl<'a, T: Pod> Tensor<'a, T> {
    /// All elements of a buffer or view in row-major order: the last axis is the one whose elements follow each other.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) where their numbers differ, for more than [`MAX_RANK`](super::MAX_RANK) axes, and for an axis of 0 elements.
    pub fn new(elements: impl Into<View<'a, T>>, shape: &[usize]) -> Result<Tensor<'a, T>> {
        let view = elements.into();
        Ok(Tensor { layout: rows(shape, view.len())?, view })
    }

    /// Elements of a buffer or view at a stride for each axis, in elements, which may be 0: element (i, j) is number `i * strides[0] + j * strides[1]`.
    ///
    /// # Errors
    /// As [`Tensor::new`]; [`Error::Shape`](crate::Error::Shape) also where that is beyond the view.
    pub fn strided(elements: impl Into<View<'a, T>>, shape: &[usize], strides: &[usize]) -> Result<Tensor<'a, T>> {
        let view = elements.into();
        let layout = Layout::strided(shape, strides)?;
        check_reach(&layout, view.len())?;
        Ok(Tensor { view, layout })
    }

    /// Elements of each axis.
    pub fn shape(&self) -> &[usize] {
        self.layout.extents()
    }

    /// The way from an element to the next, for each axis, in elements.
    pub fn strides(&self) -> &[usize] {
        self.layout.strides()
    }

    /// The same elements with the last two axes exchanged.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for fewer than two axes.
    pub fn transposed(&self) -> Result<Tensor<'a, T>> {
        Ok(Tensor { view: self.view, layout: self.layout.transposed()? })
    }

    /// The same elements with axis i being the one that was `axes[i]`.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) where `axes` does not name each axis once.
    pub fn permuted(&self, axes: &[usize]) -> Result<Tensor<'a, T>> {
        Ok(Tensor { view: self.view, layout: self.layout.permuted(axes)? })
    }

    /// A range of an axis.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`](crate::Error::OutOfBounds); [`Error::Shape`](crate::Error::Shape) for an axis that it does not have, and for an empty range.
    pub fn slice(&self, axis: usize, range: impl RangeBounds<usize>) -> Result<Tensor<'a, T>> {
        let (start, layout) = self.layout.sliced(axis, range)?;
        Ok(Tensor { view: self.view.view(start..)?, layout })
    }

    /// The same elements, in the same order, with another shape.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) for another number of elements, and where they do not follow each other in memory.
    pub fn reshaped(&self, shape: &[usize]) -> Result<Tensor<'a, T>> {
        Ok(Tensor { view: self.view, layout: self.layout.reshaped(shape)? })
    }

    /// The same elements with axes of 1, and further axes in front, repeated: strides of 0.
    ///
    /// # Errors
    /// [`Error::Shape`](crate::Error::Shape) where another axis differs.
    pub fn broadcast(&self, shape: &[usize]) -> Result<Tensor<'a, T>> {
        Ok(Tensor { view: self.view, layout: self.layout.broadcast(shape)? })
    }

    /// A copy of the elements in row-major order; waits as [`Buffer::read`](crate::Buffer::read) does.
    ///
    /// # Errors
    /// As [`Buffer::to_vec`](crate::Buffer::to_vec).
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let elements = self.view.view(..self.layout.reach())?.to_vec()?;
        Ok(self.layout.places().map(|at| elements[at]).collect())
    }

    /// The accelerator that the buffer belongs to.
    pub fn accelerator(&self) -> &'a Accelerator {
        self.view.allocation.accelerator()
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(super) fn arg(&self) -> Arg<'a> {
        self.view.into()
    }
}

impl<'a, T: Pod> TensorMut<'a, T> {
    /// All elements of a buffer or view in row-major order. See [`Tensor::new`].
    ///
    /// # Errors
    /// As [`Tensor::new`].
    pub fn new(elements: impl Into<ViewMut<'a, T>>, shape: &[usize]) -> Result<TensorMut<'a, T>> {
        let view = elements.into();
        Ok(TensorMut { layout: rows(shape, view.len())?, view })
    }

    /// Elements of a buffer or view at a stride for each axis. See [`Tensor::strided`].
    ///
    /// # Errors
    /// As [`Tensor::strided`]; [`Error::Shape`](crate::Error::Shape) also unless each stride of an axis is greater than what the axes of smaller strides reach over:
    /// two places could be one element.
    pub fn strided(
        elements: impl Into<ViewMut<'a, T>>,
        shape: &[usize],
        strides: &[usize],
    ) -> Result<TensorMut<'a, T>> {
        let view = elements.into();
        let layout = Layout::strided(shape, strides)?;
        check_reach(&layout, view.len())?;
        if !layout.is_injective() {
            let text =
                format!("{} at strides {strides:?}: places of a tensor for writing may be the same", layout.shape());
            return Err(wrong("a tensor", text));
        }
        Ok(TensorMut { view, layout })
    }

    /// Elements of each axis.
    pub fn shape(&self) -> &[usize] {
        self.layout.extents()
    }

    /// The way from an element to the next, for each axis, in elements.
    pub fn strides(&self) -> &[usize] {
        self.layout.strides()
    }

    /// The same for reading.
    pub fn as_tensor(&self) -> Tensor<'_, T> {
        Tensor { view: self.view.as_view(), layout: self.layout }
    }

    /// The same, borrowed from this one.
    pub fn reborrow(&mut self) -> TensorMut<'_, T> {
        TensorMut { view: self.view.reborrow(), layout: self.layout }
    }

    /// The same elements with the last two axes exchanged.
    ///
    /// # Errors
    /// As [`Tensor::transposed`].
    pub fn into_transposed(self) -> Result<TensorMut<'a, T>> {
        Ok(TensorMut { layout: self.layout.transposed()?, view: self.view })
    }

    /// The same elements with axis i being the one that was `axes[i]`.
    ///
    /// # Errors
    /// As [`Tensor::permuted`].
    pub fn into_permuted(self, axes: &[usize]) -> Result<TensorMut<'a, T>> {
        Ok(TensorMut { layout: self.layout.permuted(axes)?, view: self.view })
    }

    /// A range of an axis.
    ///
    /// # Errors
    /// As [`Tensor::slice`].
    pub fn into_slice(self, axis: usize, range: impl RangeBounds<usize>) -> Result<TensorMut<'a, T>> {
        let (start, layout) = self.layout.sliced(axis, range)?;
        Ok(TensorMut { view: self.view.into_view_mut(start..)?, layout })
    }

    /// The same elements, in the same order, with another shape.
    ///
    /// # Errors
    /// As [`Tensor::reshaped`].
    pub fn into_reshaped(self, shape: &[usize]) -> Result<TensorMut<'a, T>> {
        Ok(TensorMut { layout: self.layout.reshaped(shape)?, view: self.view })
    }

    /// The accelerator that the buffer belongs to.
    pub fn accelerator(&self) -> &'a Accelerator {
        self.view.allocation.accelerator()
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The same once more, for another way to compute what is written: one of the two is used.
    pub(super) fn again(&self) -> TensorMut<'a, T> {
        let ViewMut { allocation, offset, len, .. } = self.view;
        TensorMut { view: ViewMut::new(allocation, offset, len), layout: self.layout }
    }

    pub(super) fn into_arg(self) -> Arg<'a> {
        self.view.into()
    }
}

impl<T: Pod> fmt::Debug for Tensor<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(&self.layout, std::any::type_name::<T>(), f)
    }
}

impl<T: Pod> fmt::Debug for TensorMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        describe(&self.layout, std::any::type_name::<T>(), f)
    }
}

fn describe(layout: &Layout, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{name} {}", layout.shape())?;
    if layout.is_contiguous() { Ok(()) } else { write!(f, " at strides {:?}", layout.strides()) }
}
