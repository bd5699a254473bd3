//! Parts of buffers: ranges checked when they are made, aligned for their element type.

use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use bytemuck::Pod;

use super::{AllocationRef, Buffer};
use crate::raw::host::{Patience, ReadGuard, WriteGuard};
use crate::{Error, Result, StorageMode};

/// A range of a buffer, for reading.
///
/// ```
/// # fn main() -> dcmetal::Result<()> {
/// let gpu = dcmetal::Accelerator::system_default()?;
/// let x = gpu.buffer_from(&[1u32, 2, 3, 4])?;
/// assert_eq!(x.view(1..3)?.read()?[..], [2, 3]);
/// assert!(x.view(3..5).is_err());
/// # Ok(()) }
/// ```
pub struct View<'a, T: Pod> {
    pub(crate) allocation: &'a AllocationRef,
    /// In bytes.
    pub(crate) offset: usize,
    pub(crate) len: usize,
    elements: PhantomData<&'a [T]>,
}

/// A range of a buffer, for reading and writing.
pub struct ViewMut<'a, T: Pod> {
    pub(crate) allocation: &'a AllocationRef,
    /// In bytes.
    pub(crate) offset: usize,
    pub(crate) len: usize,
    elements: PhantomData<&'a mut [T]>,
}

impl<T: Pod> Clone for View<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: Pod> Copy for View<'_, T> {}

/// `range` as start and end, inside `len`.
pub(crate) fn bounds(range: impl RangeBounds<usize>, len: usize) -> Result<(usize, usize)> {
    let start = match range.start_bound() {
        Bound::Included(&start) => Some(start),
        Bound::Excluded(&start) => start.checked_add(1),
        Bound::Unbounded => Some(0),
    };
    let end = match range.end_bound() {
        Bound::Included(&end) => end.checked_add(1),
        Bound::Excluded(&end) => Some(end),
        Bound::Unbounded => Some(len),
    };
    match (start, end) {
        (Some(start), Some(end)) if start <= end && end <= len => Ok((start, end)),
        (start, end) => {
            Err(Error::OutOfBounds { start: start.unwrap_or(usize::MAX), end: end.unwrap_or(usize::MAX), len })
        }
    }
}

/// The length of `len` Ts as Us, when both the offset and the length allow it.
fn reinterpreted<T, U>(offset: usize, len: usize) -> Result<usize> {
    let bytes = len * size_of::<T>();
    let what = "a view of another element type";
    if size_of::<U>() == 0 {
        return Err(Error::EmptyBuffer);
    }
    if !offset.is_multiple_of(align_of::<U>()) {
        return Err(Error::Alignment { what, wanted: align_of::<U>(), offset });
    }
    if !bytes.is_multiple_of(size_of::<U>()) {
        return Err(Error::Alignment { what, wanted: size_of::<U>(), offset: bytes });
    }
    Ok(bytes / size_of::<U>())
}

impl<'a, T: Pod> View<'a, T> {
    pub(crate) fn new(allocation: &'a AllocationRef, offset: usize, len: usize) -> Self {
        View { allocation, offset, len, elements: PhantomData }
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A range of this range.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`].
    pub fn view(&self, range: impl RangeBounds<usize>) -> Result<View<'a, T>> {
        let (start, end) = bounds(range, self.len)?;
        Ok(View::new(self.allocation, self.offset + start * size_of::<T>(), end - start))
    }

    /// The same bytes as elements of another type.
    ///
    /// # Errors
    /// [`Error::Alignment`] when the bytes are no whole number of aligned `U`s.
    pub fn reinterpret<U: Pod>(&self) -> Result<View<'a, U>> {
        Ok(View::new(self.allocation, self.offset, reinterpreted::<T, U>(self.offset, self.len)?))
    }

    /// The elements, once no submission in flight writes the buffer. See [`Buffer::read`].
    ///
    /// # Errors
    /// As [`Buffer::read`].
    pub fn read(&self) -> Result<ReadGuard<'a, T>> {
        self.read_with(Patience::Wait)
    }

    pub(super) fn read_with(&self, patience: Patience) -> Result<ReadGuard<'a, T>> {
        loop {
            if let Some(guard) = self.allocation.tracked().read(self.offset, self.len, patience)? {
                return Ok(guard);
            }
            super::buffer::synchronize(self.allocation, patience)?;
        }
    }

    /// A copy of the elements, whatever the storage mode.
    ///
    /// # Errors
    /// As [`Buffer::to_vec`].
    pub fn to_vec(&self) -> Result<Vec<T>> {
        if self.allocation.memory().storage() == StorageMode::Private {
            return super::buffer::download(*self);
        }
        Ok(self.read()?.to_vec())
    }
}

impl<'a, T: Pod> ViewMut<'a, T> {
    pub(crate) fn new(allocation: &'a AllocationRef, offset: usize, len: usize) -> Self {
        ViewMut { allocation, offset, len, elements: PhantomData }
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The same range for reading.
    pub fn as_view(&self) -> View<'_, T> {
        View::new(self.allocation, self.offset, self.len)
    }

    /// The same range, borrowed from this one.
    pub fn reborrow(&mut self) -> ViewMut<'_, T> {
        ViewMut::new(self.allocation, self.offset, self.len)
    }

    /// A range of this range.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`].
    pub fn into_view_mut(self, range: impl RangeBounds<usize>) -> Result<ViewMut<'a, T>> {
        let (start, end) = bounds(range, self.len)?;
        Ok(ViewMut::new(self.allocation, self.offset + start * size_of::<T>(), end - start))
    }

    /// The parts before and from element `mid`.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`].
    pub fn split_at(self, mid: usize) -> Result<(ViewMut<'a, T>, ViewMut<'a, T>)> {
        let (mid, end) = bounds(mid.., self.len)?;
        let middle = self.offset + mid * size_of::<T>();
        Ok((ViewMut::new(self.allocation, self.offset, mid), ViewMut::new(self.allocation, middle, end - mid)))
    }

    /// The same bytes as elements of another type.
    ///
    /// # Errors
    /// [`Error::Alignment`] when the bytes are no whole number of aligned `U`s.
    pub fn reinterpret<U: Pod>(self) -> Result<ViewMut<'a, U>> {
        Ok(ViewMut::new(self.allocation, self.offset, reinterpreted::<T, U>(self.offset, self.len)?))
    }

    /// The elements, once no submission in flight writes the buffer. See [`Buffer::read`].
    ///
    /// # Errors
    /// As [`Buffer::read`].
    pub fn read(&self) -> Result<ReadGuard<'_, T>> {
        self.as_view().read()
    }

    /// The elements for writing, once no submission in flight uses the buffer. See [`Buffer::write`].
    ///
    /// # Errors
    /// As [`Buffer::write`].
    pub fn write(&mut self) -> Result<WriteGuard<'_, T>> {
        self.reborrow().into_write()
    }

    /// As [`ViewMut::write`], for as long as the buffer is borrowed.
    pub(crate) fn into_write(self) -> Result<WriteGuard<'a, T>> {
        loop {
            if let Some(guard) = self.allocation.tracked().write(self.offset, self.len, Patience::Wait, false)? {
                return Ok(guard);
            }
            super::buffer::synchronize(self.allocation, Patience::Wait)?;
        }
    }
}

impl<'a, T: Pod> From<&'a Buffer<T>> for View<'a, T> {
    fn from(buffer: &'a Buffer<T>) -> Self {
        View::new(buffer.allocation(), 0, buffer.len())
    }
}

impl<'a, T: Pod> From<&'a mut Buffer<T>> for ViewMut<'a, T> {
    fn from(buffer: &'a mut Buffer<T>) -> Self {
        ViewMut::new(buffer.allocation(), 0, buffer.len())
    }
}
