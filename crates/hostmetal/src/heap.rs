//! Heaps: one mapping of which buffers and textures are parts (MTLHeap).
//!
//! An automatic heap finds each resource the smallest gap that holds it; a placement heap puts it where the program says,
//! over others if it likes. Between two parts of a heap there are no guard pages: a kernel that runs past its buffer's end
//! reaches the next one's bytes, as on a GPU. Memory that is used again holds what was written there before.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::device::Device;
use crate::encode::Misuse;
use crate::memory::page_size;
use crate::pages::Pages;

/// Offsets and sizes of a heap's resources are multiples of this; no type of MSL asks for more.
pub(crate) const PIECE_ALIGNMENT: u64 = 256;

/// An MTLHeap.
pub(crate) struct Heap {
    pages: Arc<Pages>,
    placement: bool,
    ranges: Mutex<Ranges>,
}

/// Offset and end of ranges, sorted: in an automatic heap of what is free, none of which touch each other, in a placement heap of all resources.
type Ranges = Vec<(u64, u64)>;

/// The memory of a resource in a heap.
pub(crate) struct Piece {
    heap: Arc<Heap>,
    offset: u64,
    length: u64,
    /// Whether later resources may use the memory: it is no longer in the heap's list.
    aliasable: AtomicBool,
}

/// The bytes that a resource of `length` bytes takes in a heap.
pub(crate) fn piece_size(length: u64) -> Option<u64> {
    length.checked_next_multiple_of(PIECE_ALIGNMENT)
}

impl Heap {
    /// `size` is rounded up to pages. None when it is 0, the device's account is full, or memory is out.
    pub(crate) fn new(device: &'static Device, size: u64, placement: bool) -> Option<Heap> {
        let size = size.checked_next_multiple_of(page_size() as u64).filter(|&size| size > 0)?;
        let pages = Pages::new(device, size)?;
        let ranges = if placement { Vec::new() } else { vec![(0, pages.length())] };
        Some(Heap { pages, placement, ranges: Mutex::new(ranges) })
    }

    fn ranges(&self) -> MutexGuard<'_, Ranges> {
        self.ranges.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn pages(&self) -> &Arc<Pages> {
        &self.pages
    }

    pub(crate) fn size(&self) -> u64 {
        self.pages.length()
    }

    /// Bytes that resources use; where several lie over each other, once.
    pub(crate) fn used(&self) -> u64 {
        let ranges = self.ranges();
        if !self.placement {
            return self.size() - ranges.iter().map(|(start, end)| end - start).sum::<u64>();
        }
        let mut covered = 0;
        let new = ranges.iter().map(|&(start, end)| {
            let new = end.saturating_sub(start.max(covered));
            covered = covered.max(end);
            new
        });
        new.sum()
    }

    /// The size of the largest resource that the heap has room for.
    pub(crate) fn max_available(&self, alignment: u64) -> u64 {
        if self.placement {
            return self.size();
        }
        let room = |&(start, end): &(u64, u64)| {
            let start = start.checked_next_multiple_of(alignment.max(PIECE_ALIGNMENT));
            start.map_or(0, |start| end.saturating_sub(start))
        };
        let largest = self.ranges().iter().map(room).max().unwrap_or(0);
        largest / PIECE_ALIGNMENT * PIECE_ALIGNMENT
    }

    /// Room for a resource of `length` bytes, at `offset` in a placement heap. None when an automatic heap has no such gap.
    pub(crate) fn take(self: &Arc<Heap>, length: u64, offset: Option<u64>) -> Result<Option<Piece>, Misuse> {
        let mut ranges = self.ranges();
        let (offset, length) = match (offset, self.placement) {
            (None, true) => return Err(c"heap type must be MTLHeapTypeAutomatic."),
            (Some(_), false) => return Err(c"heap type must be MTLHeapTypePlacement."),
            (None, false) => {
                let Some(length) = piece_size(length) else { return Ok(None) };
                let fitting = ranges.iter().enumerate().filter(|(_, (start, end))| end - start >= length);
                let Some((at, &(start, end))) = fitting.min_by_key(|(_, (start, end))| end - start) else {
                    return Ok(None);
                };
                if end - start == length {
                    ranges.remove(at);
                } else {
                    ranges[at].0 += length;
                }
                (start, length)
            }
            (Some(offset), true) => {
                if !offset.is_multiple_of(PIECE_ALIGNMENT) {
                    return Err(
                        c"offset must be a multiple of the alignment that the device gives for heap resources (256).",
                    );
                }
                if offset.checked_add(length).is_none_or(|end| end > self.size()) {
                    return Err(c"(offset + length) must be <= [heap size].");
                }
                // The last resource of a heap may end where the heap does, whose size is a multiple of the alignment.
                let length = length.next_multiple_of(PIECE_ALIGNMENT);
                let range = (offset, offset + length);
                let at = ranges.partition_point(|&other| other < range);
                ranges.insert(at, range);
                (offset, length)
            }
        };
        Ok(Some(Piece { heap: self.clone(), offset, length, aliasable: AtomicBool::new(false) }))
    }

    fn give_back(&self, range: (u64, u64)) {
        let mut ranges = self.ranges();
        let at = ranges.partition_point(|&other| other < range);
        if self.placement {
            let found = ranges.get(at) == Some(&range);
            assert!(found, "a piece of a heap was given back twice");
            ranges.remove(at);
            return;
        }
        let behind = ranges.get(at).copied();
        let before = at.checked_sub(1).map(|at| ranges[at]);
        let apart = before.is_none_or(|before| before.1 <= range.0) && behind.is_none_or(|behind| range.1 <= behind.0);
        assert!(apart, "a piece of a heap was given back twice");
        match (before.filter(|before| before.1 == range.0), behind.filter(|behind| behind.0 == range.1)) {
            (Some(_), Some(behind)) => {
                ranges[at - 1].1 = behind.1;
                ranges.remove(at);
            }
            (Some(_), None) => ranges[at - 1].1 = range.1,
            (None, Some(_)) => ranges[at].0 = range.0,
            (None, None) => ranges.insert(at, range),
        }
    }
}

impl Piece {
    pub(crate) fn heap(&self) -> &Arc<Heap> {
        &self.heap
    }

    pub(crate) fn data(&self) -> *mut u8 {
        self.heap.pages.data().wrapping_add(self.offset as usize)
    }

    /// A multiple of PIECE_ALIGNMENT.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// As MTLResource.heapOffset tells it: 0 in an automatic heap.
    pub(crate) fn offset(&self) -> u64 {
        if self.heap.placement { self.offset } else { 0 }
    }

    /// Lets later resources of the heap use the memory.
    pub(crate) fn make_aliasable(&self) -> Result<(), Misuse> {
        if self.heap.placement {
            return Err(c"the resource's heap must be of type MTLHeapTypeAutomatic.");
        }
        if !self.aliasable.swap(true, Ordering::Relaxed) {
            self.heap.give_back((self.offset, self.offset + self.length));
        }
        Ok(())
    }

    pub(crate) fn aliasable(&self) -> bool {
        self.aliasable.load(Ordering::Relaxed)
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        if !self.aliasable() {
            self.heap.give_back((self.offset, self.offset + self.length));
        }
    }
}
