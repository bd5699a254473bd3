//! [`Heaps`]: the heaps that a pool's small buffers are parts of; knows nothing of Metal.
//!
//! Small buffers are made in the heap that had room last. Before another heap is made, those that had none are looked at again if something in them
//! was released since: so a buffer that lives long keeps its heap, but not the rest of the heap from being used. A heap is held by its
//! buffers alone and goes with the last of them, wherever that is dropped, so there is nothing to trim. `tests/models.rs` runs
//! it under shuttle.

use super::account::Account;
use crate::sync::{Arc, AtomicBool, Mutex, Ordering, PoisonError, Weak};

/// Heaps of type `H`.
pub(crate) struct Heaps<H> {
    /// Bytes of each, as asked for.
    bytes: u64,
    /// The one that had room last is the last.
    list: Mutex<Vec<Weak<Heap<H>>>>,
    account: Arc<Account>,
}

struct Heap<H> {
    object: H,
    /// Behind the object, so that it is counted as long as it is there.
    counted: Counted,
    /// It had no room, and nothing in it was released since.
    full: AtomicBool,
}

/// A heap in the account.
struct Counted {
    account: Arc<Account>,
    bytes: u64,
}

/// A buffer's share in its heap, to be dropped after the buffer.
pub(crate) struct Share<H> {
    heap: Arc<Heap<H>>,
    bytes: u64,
}

impl<H> Heaps<H> {
    pub(crate) fn new(bytes: u64, account: &Arc<Account>) -> Heaps<H> {
        Heaps { bytes, list: Mutex::new(Vec::new()), account: Arc::clone(account) }
    }

    /// Makes a buffer of `bytes` by `part`, which says `None` when the heap has no room, in one of the heaps or in a new one by `open`, which also tells how
    /// large it became. `None` when a new one would be above the limits, and when `open` has none.
    pub(crate) fn take<M, E>(
        &self,
        bytes: u64,
        open: impl FnOnce(u64) -> Result<Option<(H, u64)>, E>,
        part: impl Fn(&H) -> Result<Option<M>, E>,
    ) -> Result<Option<(M, Share<H>)>, E> {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        let mut at = list.len();
        while at > 0 {
            at -= 1;
            let Some(heap) = list[at].upgrade() else {
                // What comes to this place was looked at.
                list.swap_remove(at);
                continue;
            };
            // Before it is tried: what is released from here on makes it worth another look.
            if heap.full.swap(true, Ordering::AcqRel) {
                continue;
            }
            let made = part(&heap.object);
            // Only where it said so it has no room; a failure says nothing of that.
            if !matches!(made, Ok(None)) {
                heap.full.store(false, Ordering::Release);
            }
            if let Some(memory) = made? {
                let last = list.len() - 1;
                list.swap(at, last);
                return Ok(Some((memory, Share::new(heap, bytes))));
            }
        }
        if self.account.is_over(0, self.bytes) {
            return Ok(None);
        }
        let Some((object, size)) = open(self.bytes)? else { return Ok(None) };
        self.account.add_heap(size);
        let counted = Counted { account: Arc::clone(&self.account), bytes: size };
        let heap = Arc::new(Heap { object, counted, full: AtomicBool::new(false) });
        let Some(memory) = part(&heap.object)? else { return Ok(None) };
        list.push(Arc::downgrade(&heap));
        Ok(Some((memory, Share::new(heap, bytes))))
    }
}

impl<H> Share<H> {
    fn new(heap: Arc<Heap<H>>, bytes: u64) -> Share<H> {
        heap.counted.account.add_part(bytes);
        Share { heap, bytes }
    }
}

impl<H> Drop for Share<H> {
    fn drop(&mut self) {
        self.heap.full.store(false, Ordering::Release);
        self.heap.counted.account.remove_part(self.bytes);
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.account.remove_heap(self.bytes);
    }
}
