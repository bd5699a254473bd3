//! Memory: mapped pages with guards, and the buffers made of them, of parts of heaps, or of the caller's memory.
//!
//! A buffer's own pages come from mmap, zero filled, with 64 MiB of addresses without access before and behind them, so that a
//! kernel that runs past the last page faults instead of reaching other memory. The data starts page aligned, as Metal's
//! contents do, so an overrun that stays inside the last page is not seen here.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::device::Device;
use crate::encode::Misuse;
use crate::heap::{Heap, Piece};
use crate::pages::{self, Pages, Purgeable};

/// Bytes of a page of this machine.
pub(crate) fn page_size() -> usize {
    static SIZE: OnceLock<usize> = OnceLock::new();
    // SAFETY: sysconf reads a constant of the system.
    *SIZE.get_or_init(|| unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize)
}

/// A guarded mapping is up to three entries of the kernel's map table, whose usual limit is 65,530; while this many are
/// alive, further mappings go without guards, and neighbours merge into one entry.
const MAX_GUARDED: usize = 12_000;
static GUARDED: AtomicUsize = AtomicUsize::new(0);

/// Addresses without access on each side of a guarded mapping; a page where addresses are short (RLIMIT_AS).
pub(crate) const GUARD: usize = 64 << 20;

/// From this size on, data asks for transparent huge pages.
const HUGE_PAGE: usize = 2 << 20;

/// A load waits for an earlier store as if it were of the same address where they are equally far into so many bytes: seen on an Intel Xeon with AMX, on
/// which a stencil between two buffers took two to five times as long (docs/HOSTMETAL.md, "Around the caches"). Data of this size and more starts a page
/// further into them than that of the mapping before.
const ALIAS: usize = 1 << 20;

/// Private zero-filled pages between inaccessible ones, unmapped when dropped.
pub(crate) struct Mapping {
    base: NonNull<u8>,
    mapped: usize,
    data: NonNull<u8>,
    length: usize,
    /// Whether this mapping is counted in GUARDED.
    guarded: bool,
}

// SAFETY: a mapping is plain memory owned by this value; what is in it is shared by the rules of its users.
unsafe impl Send for Mapping {}
// SAFETY: as above; no method changes the mapping through a shared reference.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps at least `length` bytes (rounded up to pages). None when the system refuses.
    pub(crate) fn new(length: usize) -> Option<Mapping> {
        let length = length.checked_next_multiple_of(page_size())?;
        let shift = (length >= ALIAS).then(next_shift);
        let counted = GUARDED.fetch_add(1, Ordering::Relaxed) < MAX_GUARDED;
        let guarded =
            if counted { reserve(length, GUARD, shift).or_else(|| reserve(length, page_size(), None)) } else { None };
        if guarded.is_none() {
            GUARDED.fetch_sub(1, Ordering::Relaxed);
        }
        let (base, mapped, start) = match guarded {
            Some(reserved) => reserved,
            None => reserve(length, 0, shift)?,
        };
        // SAFETY: the start is inside the mapping, with length bytes behind it.
        let data = unsafe { base.add(start) };
        let mapping = Mapping { base, mapped, data, length, guarded: guarded.is_some() };
        if !mapping.open() {
            return None;
        }
        Some(mapping)
    }

    /// Gives the data range read and write access; the guards keep none.
    fn open(&self) -> bool {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the data range is inside this mapping.
        let opened = unsafe { libc::mprotect(self.data.as_ptr().cast(), self.length, access) } == 0;
        if opened && self.length >= HUGE_PAGE {
            // SAFETY: as above. Advice: a refusal changes nothing but speed.
            unsafe { libc::madvise(self.data.as_ptr().cast(), self.length, libc::MADV_HUGEPAGE) };
        }
        opened
    }

    /// Takes access away from `length` bytes at `offset` of the data; both multiples of the page size.
    pub(crate) fn protect(&self, offset: usize, length: usize) -> bool {
        assert!(offset.checked_add(length).is_some_and(|end| end <= self.length), "guard outside of its mapping");
        let start = self.data.as_ptr().wrapping_add(offset);
        // Linux 6.13 and later: takes no entry of the map table, of which the guards of many stacks would need too many.
        const MADV_GUARD_INSTALL: libc::c_int = 102;
        // SAFETY: the range is inside this mapping.
        if unsafe { libc::madvise(start.cast(), length, MADV_GUARD_INSTALL) } == 0 {
            return true;
        }
        // SAFETY: as above.
        unsafe { libc::mprotect(start.cast(), length, libc::PROT_NONE) == 0 }
    }

    /// Gives the pages back to the system; they read as zero until they are written again.
    pub(crate) fn discard(&self) {
        // SAFETY: the data range is inside this mapping, which is private and anonymous: its bytes become zero.
        let status = unsafe { libc::madvise(self.data.as_ptr().cast(), self.length, libc::MADV_DONTNEED) };
        assert!(status == 0, "the pages of a mapping could not be discarded");
    }

    pub(crate) fn data(&self) -> *mut u8 {
        self.data.as_ptr()
    }

    pub(crate) fn length(&self) -> usize {
        self.length
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: base and mapped are what mmap gave; the owner is going away, so nothing uses the pages.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.mapped) };
        if self.guarded {
            GUARDED.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn next_shift() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed).wrapping_mul(page_size()) % ALIAS
}

/// Maps addresses without access for `length` bytes between guards, so far into `ALIAS` bytes where that is asked for; returns the first address,
/// the number of addresses, and where the data begins.
fn reserve(length: usize, guard: usize, shift: Option<usize>) -> Option<(NonNull<u8>, usize, usize)> {
    let slack = if shift.is_some() { 2 * ALIAS } else { 0 };
    let mapped = length.checked_add(2 * guard + slack)?;
    // Without guards, mappings are accessible from the start, so that neighbours are one entry of the map table.
    let protection = if guard == 0 { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_NONE };
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a fresh private mapping at an address of the system's choice touches no existing memory.
    let base = unsafe { libc::mmap(std::ptr::null_mut(), mapped, protection, flags, -1, 0) };
    if base == libc::MAP_FAILED {
        return None;
    }
    let base = NonNull::new(base.cast::<u8>())?;
    let first = base.as_ptr() as usize + guard;
    let start = shift.map_or(first, |shift| first.next_multiple_of(ALIAS) + shift);
    Some((base, mapped, start - base.as_ptr() as usize))
}

/// Frees memory that a no-copy buffer borrowed: (context, bytes, length).
pub(crate) type Deallocate = unsafe extern "C" fn(*mut c_void, *mut c_void, u64);

/// An MTLBuffer's memory. Its contents are shared between the host and kernels; Metal leaves ordering to the program.
pub(crate) struct Buffer {
    device: &'static Device,
    contents: NonNull<u8>,
    length: u64,
    storage: Storage,
    let_go: LetGo,
    /// Metal does not look at who uses it.
    untracked: AtomicBool,
}

/// Whether the program has given up the object, which recorded work may hold still: its references, of which there is one at first.
#[derive(Debug)]
pub(crate) struct LetGo(AtomicUsize);

impl Default for LetGo {
    fn default() -> LetGo {
        LetGo(AtomicUsize::new(1))
    }
}

impl LetGo {
    /// The program has another reference.
    pub(crate) fn keep(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// The program gives one up.
    pub(crate) fn set(&self) {
        self.0.fetch_sub(1, Ordering::Release);
    }

    pub(crate) fn get(&self) -> bool {
        self.0.load(Ordering::Acquire) == 0
    }
}

enum Storage {
    Own(Arc<Pages>),
    Heap(Piece),
    /// Another device's.
    Remote(Arc<Buffer>),
    Borrowed {
        /// Bytes of the device's account, given back on drop.
        charged: u64,
        deallocate: Option<Deallocate>,
        context: *mut c_void,
    },
}

// SAFETY: MTLBuffer may be used from any thread; the contents are raw memory that only kernels and the host touch, and
// the deallocator is documented to run on any thread.
unsafe impl Send for Buffer {}
// SAFETY: as above; no method of a shared Buffer changes anything but the contents' bytes.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Zero-filled memory. None when `length` is 0 or above the limit, the device's account is full, or memory is out.
    pub(crate) fn new(device: &'static Device, length: u64) -> Option<Buffer> {
        if length == 0 || length > device.max_buffer_length() {
            return None;
        }
        let pages = Pages::new(device, length)?;
        let contents = NonNull::new(pages.data())?;
        Some(Buffer {
            device,
            contents,
            length,
            storage: Storage::Own(pages),
            let_go: LetGo::default(),
            untracked: AtomicBool::new(false),
        })
    }

    /// Memory of a heap, at `offset` of a placement heap. None when `length` is 0 or above the limit, or an automatic heap
    /// has no room.
    pub(crate) fn in_heap(heap: &Arc<Heap>, length: u64, offset: Option<u64>) -> Result<Option<Buffer>, Misuse> {
        let device = heap.pages().device();
        if length == 0 || length > device.max_buffer_length() {
            return Ok(None);
        }
        let Some(piece) = heap.take(length, offset)? else { return Ok(None) };
        let Some(contents) = NonNull::new(piece.data()) else { return Ok(None) };
        Ok(Some(Buffer {
            device,
            contents,
            length,
            storage: Storage::Heap(piece),
            let_go: LetGo::default(),
            untracked: AtomicBool::new(false),
        }))
    }

    /// Uses the caller's memory. None when a limit is exceeded; the deallocator is then not called.
    ///
    /// # Safety
    /// `bytes` must be valid for reads and writes of `length` bytes until the deallocator has run or, without one, until
    /// the buffer is dropped; `deallocate` must be callable once, on any thread, with `context`.
    pub(crate) unsafe fn borrowed(
        device: &'static Device,
        bytes: NonNull<u8>,
        length: u64,
        deallocate: Option<Deallocate>,
        context: *mut c_void,
    ) -> Option<Buffer> {
        if length == 0 || length > device.max_buffer_length() {
            return None;
        }
        let charged = pages::charge(device, length)?;
        let storage = Storage::Borrowed { charged, deallocate, context };
        Some(Buffer {
            device,
            contents: bytes,
            length,
            storage,
            let_go: LetGo::default(),
            untracked: AtomicBool::new(false),
        })
    }

    /// The same memory as one of another device sees it.
    pub(crate) fn remote(buffer: Arc<Buffer>, device: &'static Device) -> Result<Buffer, Misuse> {
        if !device.is_peer_of(buffer.device) {
            return Err(c"the device must be another one of the same peer group.");
        }
        let Buffer { contents, length, .. } = *buffer;
        Ok(Buffer {
            device,
            contents,
            length,
            storage: Storage::Remote(buffer),
            let_go: LetGo::default(),
            untracked: AtomicBool::new(false),
        })
    }

    pub(crate) fn device(&self) -> &'static Device {
        self.device
    }

    pub(crate) fn contents(&self) -> *mut u8 {
        self.contents.as_ptr()
    }

    /// In bytes, as asked for.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Of the program's reference.
    pub(crate) fn let_go(&self) -> &LetGo {
        &self.let_go
    }

    pub(crate) fn leave_untracked(&self) {
        self.untracked.store(true, Ordering::Relaxed);
    }

    /// What Metal keeps in order whoever uses it: the address of its heap, or its own.
    pub(crate) fn tracked(&self) -> Option<usize> {
        let address = match &self.storage {
            Storage::Heap(piece) => Arc::as_ptr(piece.heap()).addr(),
            _ => std::ptr::from_ref(self).addr(),
        };
        (!self.untracked.load(Ordering::Relaxed)).then_some(address)
    }

    /// Bytes of memory that it takes: whole pages, or its part of a heap.
    pub(crate) fn allocated(&self) -> u64 {
        match &self.storage {
            Storage::Own(pages) => pages.length(),
            Storage::Heap(piece) => piece.length(),
            Storage::Remote(_) => 0,
            Storage::Borrowed { charged, .. } => *charged,
        }
    }

    /// The part of a heap that it is.
    pub(crate) fn piece(&self) -> Option<&Piece> {
        match &self.storage {
            Storage::Heap(piece) => Some(piece),
            _ => None,
        }
    }

    /// Changes the state, if a new one is given; returns the one before. Resources of a heap have the heap's state, which
    /// only the heap changes; the caller's memory is never discarded.
    pub(crate) fn set_purgeable(&self, new: Option<Purgeable>) -> Purgeable {
        match &self.storage {
            Storage::Own(pages) => pages.set_purgeable(new),
            Storage::Heap(piece) => piece.heap().pages().set_purgeable(None),
            Storage::Remote(buffer) => buffer.set_purgeable(None),
            Storage::Borrowed { .. } => Purgeable::NonVolatile,
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let Storage::Borrowed { charged, deallocate, context } = self.storage else { return };
        self.device.discharge(charged);
        if let Some(deallocate) = deallocate {
            // SAFETY: the last reference is gone, so no kernel uses the bytes, and drop runs once; the rest is the
            // contract of `borrowed`.
            unsafe { deallocate(context, self.contents.as_ptr().cast(), self.length) };
        }
    }
}
