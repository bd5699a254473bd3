//! [`Account`]: what a pool has of its device, lent and idle; knows nothing of Metal.
//!
//! A buffer with an allocation of its own counts with its bytes; a heap counts with all of its own, from the beginning, and its buffers as
//! buffers of no further bytes. So the bytes are those that the device has given, however few of a heap's are used.
//!
//! Every access is relaxed: each number is exact by itself, and no memory is reached by them.

use crate::sync::{AtomicU64, Ordering};

/// What all of a pool's threads count together.
pub(crate) struct Account {
    /// Bytes and buffers, lent and idle, above which what comes back is released.
    max_bytes: u64,
    max_pieces: u64,
    bytes: AtomicU64,
    pieces: AtomicU64,
    peak_bytes: AtomicU64,
    peak_pieces: AtomicU64,
    heaps: AtomicU64,
    heap_bytes: AtomicU64,
    /// Bytes of the buffers that are parts of heaps.
    part_bytes: AtomicU64,
}

/// What there is of heaps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeapFigures {
    pub(crate) heaps: u64,
    pub(crate) bytes: u64,
    pub(crate) free_bytes: u64,
}

impl Account {
    pub(crate) fn new(max_bytes: u64, max_pieces: u64) -> Account {
        Account {
            max_bytes,
            max_pieces,
            bytes: AtomicU64::new(0),
            pieces: AtomicU64::new(0),
            peak_bytes: AtomicU64::new(0),
            peak_pieces: AtomicU64::new(0),
            heaps: AtomicU64::new(0),
            heap_bytes: AtomicU64::new(0),
            part_bytes: AtomicU64::new(0),
        }
    }

    /// Bytes of the device's.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn peak_bytes(&self) -> u64 {
        self.peak_bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn peak_pieces(&self) -> u64 {
        self.peak_pieces.load(Ordering::Relaxed)
    }

    pub(crate) fn heaps(&self) -> HeapFigures {
        let bytes = self.heap_bytes.load(Ordering::Relaxed);
        // A part that goes with its heap may have been counted off the heaps and not yet off the parts.
        let free_bytes = bytes.saturating_sub(self.part_bytes.load(Ordering::Relaxed));
        HeapFigures { heaps: self.heaps.load(Ordering::Relaxed), bytes, free_bytes }
    }

    /// Whether so many more would be above a limit.
    pub(crate) fn is_over(&self, more_pieces: u64, more_bytes: u64) -> bool {
        let pieces = self.pieces.load(Ordering::Relaxed).saturating_add(more_pieces);
        pieces > self.max_pieces || self.bytes().saturating_add(more_bytes) > self.max_bytes
    }

    fn add_bytes(&self, bytes: u64) {
        let now = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak_bytes.fetch_max(now, Ordering::Relaxed);
    }

    /// There is a buffer more, with so many bytes of its own.
    pub(super) fn add_piece(&self, own: u64) {
        let now = self.pieces.fetch_add(1, Ordering::Relaxed) + 1;
        self.peak_pieces.fetch_max(now, Ordering::Relaxed);
        self.add_bytes(own);
    }

    /// A buffer was released.
    pub(super) fn remove_piece(&self, own: u64) {
        self.pieces.fetch_sub(1, Ordering::Relaxed);
        self.bytes.fetch_sub(own, Ordering::Relaxed);
    }

    /// There is a heap more.
    pub(super) fn add_heap(&self, bytes: u64) {
        self.heaps.fetch_add(1, Ordering::Relaxed);
        self.heap_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.add_bytes(bytes);
    }

    /// A heap was released.
    pub(super) fn remove_heap(&self, bytes: u64) {
        self.heaps.fetch_sub(1, Ordering::Relaxed);
        self.heap_bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// A heap has a buffer more.
    pub(super) fn add_part(&self, bytes: u64) {
        self.part_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn remove_part(&self, bytes: u64) {
        self.part_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}
