//! [`Buffer`]: elements on the device.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;

use bytemuck::Pod;

use super::{Allocation, AllocationRef, View, ViewMut, allocation_bytes};
use crate::pool::Home;
use crate::raw::Failure;
use crate::raw::host::{Memory, Patience, ReadGuard, WriteGuard};
use crate::raw::pages::PageVec;
use crate::{Accelerator, Error, Result, StorageMode};

/// Elements of one type on the device.
///
/// The device and the host never meet in it: [`read`](Buffer::read) and [`write`](Buffer::write) wait for the
/// submissions in flight, and a submission is refused while a guard is alive. A buffer may be dropped at any time; what
/// is in flight keeps it.
///
/// Any [`Pod`] type can be an element: numbers, arrays of them, and `#[repr(C)]` structs that derive
/// [`bytemuck::Pod`](bytemuck). Mind that MSL's and OpenCL's three-element vectors take the room of four.
///
/// ```
/// # fn main() -> dcmetal::Result<()> {
/// # use dcmetal::*;
/// let gpu = Accelerator::system_default()?;
/// let mut y = gpu.buffer_zeroed::<f32>(4)?;
/// y.write()?.copy_from_slice(&[1.0, 2.0, 3.0, 4.0]);
/// y.write()?[0] = 9.0;
/// assert_eq!(y.to_vec()?, [9.0, 2.0, 3.0, 4.0]);
/// # Ok(()) }
/// ```
///
/// A type with invalid bit patterns is refused by the compiler:
///
/// ```compile_fail
/// let gpu = dcmetal::Accelerator::system_default().unwrap();
/// let flags = gpu.buffer_zeroed::<bool>(4);
/// ```
///
/// So is a guard that outlives a mutable use:
///
/// ```compile_fail
/// # use dcmetal::*;
/// # fn launch(kernel: &Kernel, y: &mut Buffer<f32>) -> Result<()> {
/// let seen = y.read()?;
/// kernel.launch(Grid::linear(4), args![&mut *y])?.wait()?;
/// println!("{}", seen[0]);
/// # Ok(()) }
/// ```
pub struct Buffer<T: Pod> {
    allocation: AllocationRef,
    len: usize,
    elements: PhantomData<T>,
}

impl<T: Pod> Buffer<T> {
    /// # Panics
    /// If somebody else has the allocation.
    pub(crate) fn new(mut allocation: AllocationRef, len: usize, home: Option<Home>) -> Buffer<T> {
        allocation.alone().expect("nobody has it").lend(len * size_of::<T>(), home);
        Buffer { allocation, len, elements: PhantomData }
    }

    pub(crate) fn zeroed(accelerator: &Accelerator, len: usize, storage: StorageMode) -> Result<Buffer<T>> {
        let bytes = allocation_bytes::<T>(accelerator, len)?;
        let memory = accelerator
            .make(|| Memory::new(accelerator.device(), bytes, storage))
            .map_err(|failure| no_memory(accelerator, bytes, failure))?;
        Ok(Buffer::new(AllocationRef::new(Allocation::new(memory, None, accelerator)), len, None))
    }

    pub(crate) fn no_copy(accelerator: &Accelerator, pages: PageVec<T>) -> Result<Buffer<T>> {
        let len = pages.len();
        let bytes = allocation_bytes::<T>(accelerator, len)?;
        let memory = Memory::no_copy(accelerator.device(), pages, |make| accelerator.make(make))
            .map_err(|failure| no_memory(accelerator, bytes, failure))?;
        Ok(Buffer::new(AllocationRef::new(Allocation::new(memory, None, accelerator)), len, None))
    }

    pub(crate) fn allocation(&self) -> &AllocationRef {
        &self.allocation
    }

    /// Elements; never 0.
    #[expect(clippy::len_without_is_empty, reason = "Metal has no empty buffers")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Bytes of the elements. What Metal holds may be more: lengths are multiples of 4, and pools have size classes.
    pub fn size_bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// Where it lives.
    pub fn storage_mode(&self) -> StorageMode {
        self.allocation.memory().storage()
    }

    /// The name that Metal's tools show.
    pub fn label(&self) -> String {
        self.allocation.memory().buffer().label()
    }

    /// Sets the name that Metal's tools show.
    ///
    /// # Errors
    /// [`Error::Metal`] for a label with a NUL character.
    pub fn set_label(&self, label: &str) -> Result<()> {
        self.allocation.memory().set_label(label).map_err(|failure| failure.during("label a buffer"))
    }

    /// The elements, once no submission in flight writes the buffer. Submissions that read it may go on, and begin.
    ///
    /// # Errors
    /// [`Error::Faulted`] when a submission that was to write it failed; [`Error::NotHostVisible`] for private storage;
    /// [`Error::BufferInUse`] while a host step of a graph writes it, or when a guard for writing was leaked.
    pub fn read(&self) -> Result<ReadGuard<'_, T>> {
        View::from(self).read()
    }

    /// As [`Buffer::read`], without waiting.
    ///
    /// # Errors
    /// [`Error::BufferInUse`] when a submission in flight writes it, or when the device wrote managed memory: the first call begins the
    /// copy to the host then, and the next one tells if that failed ([`Error::Submission`]); else as [`Buffer::read`].
    pub fn try_read(&self) -> Result<ReadGuard<'_, T>> {
        View::from(self).read_with(Patience::Refuse)
    }

    /// The elements for writing, once no submission in flight uses the buffer.
    ///
    /// # Errors
    /// As [`Buffer::read`]; [`Error::BufferInUse`] also while a host step of a graph reads it, or when any guard was leaked.
    pub fn write(&mut self) -> Result<WriteGuard<'_, T>> {
        self.write_with(Patience::Wait, false)
    }

    /// As [`Buffer::write`], without waiting.
    ///
    /// # Errors
    /// [`Error::BufferInUse`] when a submission in flight uses it, or when the device wrote managed memory, as for [`Buffer::try_read`];
    /// else as [`Buffer::read`].
    pub fn try_write(&mut self) -> Result<WriteGuard<'_, T>> {
        self.write_with(Patience::Refuse, false)
    }

    fn write_with(&mut self, patience: Patience, overwrite: bool) -> Result<WriteGuard<'_, T>> {
        loop {
            if let Some(guard) = self.allocation.tracked().write(0, self.len, patience, overwrite)? {
                return Ok(guard);
            }
            synchronize(&self.allocation, patience)?;
        }
    }

    /// A copy of the elements, whatever the storage mode; waits as [`Buffer::read`] does.
    ///
    /// # Errors
    /// [`Error::Faulted`]; for private storage also what a copy on the device can end with.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        View::from(self).to_vec()
    }

    /// Replaces every element, whatever the storage mode; waits as [`Buffer::write`] does. A fault is forgotten when that has succeeded.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`]; for private storage also what a copy on the device can end with.
    pub fn write_from(&mut self, values: &[T]) -> Result<()> {
        if values.len() != self.len {
            return Err(Error::LengthMismatch { what: "write_from", wanted: self.len, got: values.len() });
        }
        if self.storage_mode() != StorageMode::Private {
            self.write_with(Patience::Wait, true)?.copy_from_slice(values);
            return Ok(());
        }
        let accelerator = self.allocation.accelerator().clone();
        let mut staging = accelerator.staging().buffer(&accelerator, values.len())?;
        staging.write_from(values)?;
        // A failure that is still to come would be this one's too.
        self.allocation.tracked().wait_for_writers();
        let mut batch = accelerator.batch()?;
        batch.replace(staging.allocation(), &self.allocation)?;
        batch.submit()?.wait()
    }

    /// A range for reading.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`].
    pub fn view(&self, range: impl RangeBounds<usize>) -> Result<View<'_, T>> {
        View::from(self).view(range)
    }

    /// A range for reading and writing.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`].
    pub fn view_mut(&mut self, range: impl RangeBounds<usize>) -> Result<ViewMut<'_, T>> {
        ViewMut::from(self).into_view_mut(range)
    }

    /// The parts before and from element `mid`, both writable: a kernel can take them as two arguments.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`].
    pub fn split_at_mut(&mut self, mid: usize) -> Result<(ViewMut<'_, T>, ViewMut<'_, T>)> {
        ViewMut::from(self).split_at(mid)
    }

    /// Forgets that a submission that was to write this buffer failed, after waiting for those that still write it:
    /// the contents are then whatever is there.
    pub fn discard_fault(&mut self) {
        self.allocation.tracked().clear_fault();
    }
}

impl<T: Pod> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer")
            .field("element", &std::any::type_name::<T>())
            .field("len", &self.len)
            .field("storage", &self.storage_mode())
            .finish()
    }
}

/// What a failed allocation means.
pub(crate) fn no_memory(accelerator: &Accelerator, bytes: usize, failure: Failure) -> Error {
    failure.of_nothing(accelerator.device(), "make a buffer", Some(bytes))
}

/// Makes the host's copy of managed memory current; or only begins to, and refuses.
pub(super) fn synchronize(allocation: &AllocationRef, patience: Patience) -> Result<()> {
    if patience == Patience::Refuse
        && let Some(cause) = allocation.tracked().take_failed_copy()
    {
        return Err(Error::Submission(cause));
    }
    let mut batch = allocation.accelerator().batch()?;
    batch.synchronize(allocation)?;
    match batch.submit() {
        Ok(submission) if patience == Patience::Wait => submission.wait(),
        Ok(_) => Err(Error::BufferInUse { by: "is being copied to the host" }),
        // Somebody else reads it, so it is current by now.
        Err(Error::BufferInUse { .. }) if !allocation.tracked().is_stale() => Ok(()),
        Err(error) => Err(error),
    }
}

/// Copies private memory to the host by way of a shared buffer.
pub(super) fn download<T: Pod>(view: View<'_, T>) -> Result<Vec<T>> {
    if view.is_empty() {
        return Ok(Vec::new());
    }
    // Whole blit units around the view: both ends lie inside the allocation, whose length is a multiple of the unit.
    let unit = super::BLIT_UNIT;
    let start = view.offset / unit * unit;
    let lead = view.offset - start;
    let bytes = (lead + view.len * size_of::<T>()).next_multiple_of(unit);
    let accelerator = view.allocation.accelerator();
    let mut staging = accelerator.staging().buffer::<u8>(accelerator, bytes)?;
    let mut batch = accelerator.batch()?;
    batch.copy_bytes(view.allocation, start, &mut staging, bytes)?;
    batch.submit()?.wait()?;
    let mut values = vec![T::zeroed(); view.len];
    let staged = staging.read()?;
    bytemuck::cast_slice_mut::<T, u8>(&mut values).copy_from_slice(&staged[lead..lead + view.len * size_of::<T>()]);
    Ok(values)
}
