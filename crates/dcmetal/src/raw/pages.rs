//! [`PageVec`]: host memory in whole pages, the only memory Metal uses without copying: our own, or somebody else's, such as a mapped file.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use bytemuck::Pod;

use crate::{Error, Result};

/// The machine's page size in bytes.
fn page_size() -> usize {
    // SAFETY: no preconditions.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).expect("the page size is a positive number on every system with Metal")
}

/// Host memory in whole pages, which Metal can use in place
/// ([`Accelerator::buffer_no_copy`](crate::Accelerator::buffer_no_copy)).
///
/// Apple's rule for memory that is not copied is that it begins at a page and consists of whole pages; a `Vec` promises
/// neither. The bytes between the last element and the end of its page belong to it too.
///
/// ```
/// # fn main() -> dcmetal::Result<()> {
/// use dcmetal::{Accelerator, PageVec};
/// let gpu = Accelerator::system_default()?;
/// let mut pages = PageVec::<u32>::zeroed(1000)?;
/// pages[999] = 7;
/// let buffer = gpu.buffer_no_copy(pages)?;
/// assert_eq!(buffer.read()?[999], 7);
/// # Ok(()) }
/// ```
pub struct PageVec<T: Pod> {
    /// Page-aligned, whole pages, owned.
    start: NonNull<T>,
    bytes: usize,
    len: usize,
    owner: Owner,
    elements: PhantomData<T>,
}

/// What frees the memory when it goes.
enum Owner {
    /// Of the system's allocator.
    Allocated(Layout),
    #[expect(dead_code, reason = "it is dropped")]
    Other(Box<dyn Send + Sync>),
}

// SAFETY: it owns its memory like a Vec, and an owner may go to other threads.
unsafe impl<T: Pod + Send> Send for PageVec<T> {}
// SAFETY: as for Send.
unsafe impl<T: Pod + Sync> Sync for PageVec<T> {}

impl<T: Pod> PageVec<T> {
    /// Where the pages begin, and their bytes.
    pub(super) fn pages(&self) -> (NonNull<T>, usize) {
        (self.start, self.bytes)
    }

    /// `len` elements of zero.
    ///
    /// # Errors
    /// [`Error::EmptyBuffer`] for no bytes, [`Error::BufferTooLarge`] for more than an address space, [`Error::OutOfMemory`] for more than
    /// the system gives.
    pub fn zeroed(len: usize) -> Result<PageVec<T>> {
        let too_large = Error::BufferTooLarge { bytes: u64::MAX, limit: isize::MAX as u64 };
        let page = page_size();
        let bytes = len.checked_mul(size_of::<T>()).ok_or_else(|| too_large.clone())?;
        if bytes == 0 {
            return Err(Error::EmptyBuffer);
        }
        let bytes = bytes.checked_next_multiple_of(page).ok_or_else(|| too_large.clone())?;
        let layout = Layout::from_size_align(bytes, page.max(align_of::<T>())).map_err(|_| too_large)?;
        // SAFETY: the layout's size is not 0.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(|| Error::OutOfMemory {
            bytes: bytes as u64,
            text: "the system has no such memory for the process".to_owned(),
        })?;
        let owner = Owner::Allocated(layout);
        Ok(PageVec { start: start.cast(), bytes, len, owner, elements: PhantomData })
    }

    /// Memory of somebody else's in place, as of a mapped file (`memmap2`) or of another library, which `owner` keeps and frees.
    ///
    /// ```
    /// # fn main() -> dcmetal::Result<()> {
    /// # use dcmetal::*;
    /// use std::ptr::NonNull;
    /// # let gpu = Accelerator::system_default()?;
    /// // As if another library had made it.
    /// let mut theirs = PageVec::from_slice(&[1.5f32; 1 << 20])?;
    /// let (start, len) = (NonNull::new(theirs.as_mut_ptr()).expect("memory"), theirs.len());
    /// // SAFETY: whole pages, which live in `theirs`, and whom nobody else reaches from now on.
    /// let ours = unsafe { PageVec::from_raw(start, len, theirs) }?;
    /// assert_eq!(gpu.buffer_no_copy(ours)?.read()?[12345], 1.5);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::EmptyBuffer`] for no bytes, [`Error::BufferTooLarge`] for more than an address space, [`Error::Alignment`] where `start` does not begin a page.
    ///
    /// # Safety
    /// From `start` on, `len` elements and what follows them in their last page are this process's to read and to write, hold values, and are reached by
    /// nobody else until `owner` has been dropped; `start` reaches all of them, also when `owner` has moved. `owner` is dropped when neither a buffer nor the device
    /// needs the memory, on any thread, Metal's that tells completions among them: it must neither wait for the device nor take a lock under which somebody waits
    /// for it, and a panic of its is only logged. (What no kernel and
    /// nobody on the host writes may be pages that cannot be written. A mapped file must not be cut meanwhile.)
    pub unsafe fn from_raw(start: NonNull<T>, len: usize, owner: impl Send + Sync + 'static) -> Result<PageVec<T>> {
        let page = page_size();
        let bytes = len.checked_mul(size_of::<T>()).and_then(|bytes| bytes.checked_next_multiple_of(page));
        let bytes = bytes.filter(|bytes| isize::try_from(*bytes).is_ok());
        let bytes = bytes.ok_or(Error::BufferTooLarge { bytes: u64::MAX, limit: isize::MAX as u64 })?;
        if bytes == 0 {
            return Err(Error::EmptyBuffer);
        }
        let wanted = page.max(align_of::<T>());
        match start.addr().get() % wanted {
            0 => Ok(PageVec { start, bytes, len, owner: Owner::Other(Box::new(owner)), elements: PhantomData }),
            offset => Err(Error::Alignment { what: "memory that is not copied", wanted, offset }),
        }
    }

    /// A copy of `values`.
    ///
    /// # Errors
    /// As [`PageVec::zeroed`].
    pub fn from_slice(values: &[T]) -> Result<PageVec<T>> {
        let mut pages = PageVec::zeroed(values.len())?;
        pages.copy_from_slice(values);
        Ok(pages)
    }
}

impl<T: Pod> Deref for PageVec<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `len` elements fit in the memory, which begins aligned, holds values, and is ours.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Pod> DerefMut for PageVec<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`, borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<T: Pod> Drop for PageVec<T> {
    fn drop(&mut self) {
        if let Owner::Allocated(layout) = self.owner {
            // SAFETY: allocated in `zeroed` with this layout, freed once.
            unsafe { dealloc(self.start.as_ptr().cast(), layout) }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// Elements that do not divide a page: the rest of their last one is theirs too.
    #[test]
    fn elements_have_whole_pages() {
        let mut pages = PageVec::<[u8; 3]>::zeroed(3000).unwrap();
        assert!(pages.iter().all(|element| *element == [0; 3]));
        pages[2999] = [1, 2, 3];
        let (start, bytes) = pages.pages();
        let page = page_size();
        assert!(start.addr().get().is_multiple_of(page));
        assert_eq!(bytes, 9000usize.next_multiple_of(page));
        // SAFETY: the bytes are `pages`' own.
        let all = unsafe { std::slice::from_raw_parts(start.as_ptr().cast::<u8>(), bytes) };
        assert_eq!((&all[8996..9000], all[bytes - 1]), (&[0, 1, 2, 3][..], 0));
        assert!(matches!(PageVec::<u8>::zeroed(0), Err(Error::EmptyBuffer)));
        assert!(matches!(PageVec::<u32>::zeroed(usize::MAX), Err(Error::BufferTooLarge { .. })));
    }

    /// The owner is kept as long as the memory, and goes where the memory is refused.
    #[test]
    fn memory_of_others_has_an_owner() {
        let (alive, page) = (Arc::new(()), page_size());
        let with = |offset: usize| {
            let theirs = PageVec::<u8>::zeroed(2 * page).unwrap();
            let (start, _) = theirs.pages();
            // SAFETY: within the two pages.
            let start = unsafe { start.add(offset) };
            // SAFETY: a page at most from there on, which lives in `theirs`, and which nobody else reaches.
            unsafe { PageVec::from_raw(start, page, (theirs, Arc::clone(&alive))) }
        };
        let mut second = with(page).unwrap();
        second[page - 1] = 5;
        assert_eq!((second.iter().map(|x| u32::from(*x)).sum::<u32>(), Arc::strong_count(&alive)), (5, 2));
        drop(second);
        assert!(matches!(with(7), Err(Error::Alignment { offset: 7, .. })));
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}
