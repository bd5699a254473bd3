//! [`Shelves`]: what a [`BufferPool`](super::BufferPool) keeps, by size class; knows nothing of Metal.
//!
//! Memory lies on shelves, one per size class: four classes per power of two, so that a class wastes less than a quarter of
//! its size (`waste_tests` measures why four). The shelves are doubled into parts, each with a lock of its own. A thread takes from its own part and memory goes back to
//! the part it was taken from, whoever drops it: a steady loop of one thread meets no other thread's lock or counter.
//! Only a request that its part cannot serve looks at the other parts, and only when all of them are without is memory allocated.
//!
//! Limits count all memory of the pool, lent and idle ([`Account`]). That total changes only with allocation and release, so that to look at
//! it on the way back costs nothing; memory that comes back while the total is above a limit is released. Age is counted in
//! ticks, which somebody else counts (`keeper`): idle memory is marked with the tick at which it came back, and each shelf is a
//! queue in that order. `tests/models.rs` runs it under shuttle.

use std::collections::VecDeque;

use super::PoolStats;
use super::account::Account;
use crate::sync::{Arc, AtomicBool, AtomicU64, Mutex, Ordering, lock, thread_number};

/// The smallest class.
pub(super) const MIN_CLASS_LOG2: u32 = 8;
/// Parts of the shelves: threads beyond that share them.
pub(super) const PARTS: usize = 16;

/// A power of two has so many classes, as a logarithm.
pub(super) const CLASSES_LOG2: u32 = 2;

/// The class that holds `bytes`, and its size: the next of 2^k * {4, 5, 6, 7} / 4.
pub(super) fn class(bytes: usize) -> (usize, usize) {
    class_of(bytes, CLASSES_LOG2)
}

/// The same with another number of classes.
#[inline(always)]
pub(super) fn class_of(bytes: usize, classes_log2: u32) -> (usize, usize) {
    let bytes = bytes.max(1 << MIN_CLASS_LOG2);
    let log2 = bytes.ilog2();
    // Shifts and masks: the compiler does not see that a step is a power of two, and would divide.
    let step_log2 = log2 - classes_log2;
    let below = (1usize << step_log2) - 1;
    let size = (bytes + below) & !below;
    // A size that rounds up to the next power of two is that power's first class, which the arithmetic gives as well.
    let number = (size - (1usize << log2)) >> step_log2;
    ((log2 - MIN_CLASS_LOG2) as usize * (1 << classes_log2) + number, size)
}

/// Memory of type `M` by size class.
pub(super) struct Shelves<M, const N: usize = PARTS> {
    parts: [Arc<Part<M>>; N],
    common: Arc<Common>,
    /// Held by whoever takes idle memory off the shelves to release it, until it is released: who waits for this finds no memory on its way.
    releasing: Mutex<()>,
}

/// Whose shelves they are. With it they close, also while others (the keeper, who reads figures) still look at them.
pub(super) struct Owner<M, const N: usize = PARTS>(Arc<Shelves<M, N>>);

impl<M, const N: usize> Owner<M, N> {
    pub(super) fn new(account: Arc<Account>) -> Owner<M, N> {
        Owner(Arc::new(Shelves::new(account)))
    }

    /// For those who look at them.
    pub(super) fn shelves(&self) -> &Arc<Shelves<M, N>> {
        &self.0
    }
}

impl<M, const N: usize> std::ops::Deref for Owner<M, N> {
    type Target = Shelves<M, N>;

    fn deref(&self) -> &Shelves<M, N> {
        &self.0
    }
}

impl<M, const N: usize> Drop for Owner<M, N> {
    fn drop(&mut self) {
        self.common.closed.store(true, Ordering::SeqCst);
        self.release_all();
    }
}

/// How long memory is, and how much of the device's memory goes with it: none that is part of a heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bytes {
    len: usize,
    own: usize,
}

impl Bytes {
    /// Of an allocation of its own.
    pub(super) fn own(len: usize) -> Bytes {
        Bytes { len, own: len }
    }

    pub(super) fn in_heap(len: usize) -> Bytes {
        Bytes { len, own: 0 }
    }
}

/// What all parts share.
struct Common {
    /// Above its limits, what comes back is released.
    account: Arc<Account>,
    released: AtomicU64,
    /// The time, as far as ages are concerned.
    tick: AtomicU64,
    /// The owner is gone: what comes back is released.
    closed: AtomicBool,
}

/// The shelves that some threads take from. Apart from each other in memory, so that they share no cache line.
#[repr(align(128))]
pub(crate) struct Part<M> {
    state: Mutex<State<M>>,
    common: Arc<Common>,
}

struct State<M> {
    /// By class; the longest idle first.
    shelves: Vec<VecDeque<Idle<M>>>,
    idle_pieces: u64,
    idle_bytes: u64,
    hits: u64,
    misses: u64,
    used_pieces: u64,
    used_bytes: u64,
    asked_bytes: u64,
    /// The most that was lent of this part at once: counted here, under a lock that is held in any case, so that parts share nothing.
    peak_used_pieces: u64,
    peak_used_bytes: u64,
}

struct Idle<M> {
    memory: M,
    bytes: Bytes,
    since: u64,
}

impl<M, const N: usize> Shelves<M, N> {
    fn new(account: Arc<Account>) -> Shelves<M, N> {
        let common = Arc::new(Common {
            account,
            released: AtomicU64::new(0),
            tick: AtomicU64::new(0),
            closed: AtomicBool::new(false),
        });
        let parts = std::array::from_fn(|_| Arc::new(Part::new(&common)));
        Shelves { parts, common, releasing: Mutex::new(()) }
    }

    /// The part that the calling thread takes from.
    fn own_part() -> usize {
        thread_number() % N
    }

    /// Memory of that class and of at least `size` bytes that somebody gave back, and the part that it goes back to.
    pub(super) fn take(&self, class: usize, size: usize, asked: usize) -> Option<(M, Arc<Part<M>>)> {
        let at = Self::own_part();
        let own = &self.parts[at];
        let taken = lock(&own.state).take(class, size, asked);
        let taken = taken.or_else(|| {
            let others = (1..N).map(|distance| &self.parts[(at + distance) % N]);
            let (memory, bytes) = others.into_iter().find_map(|other| lock(&other.state).pick(class, size))?;
            lock(&own.state).lend_again(bytes.len, asked);
            Some(memory)
        });
        Some((taken?, Arc::clone(own)))
    }

    /// Counts memory of `bytes` that was allocated because nothing could be taken, and names the part that it goes back to.
    pub(super) fn lend_new(&self, bytes: Bytes, asked: usize) -> Arc<Part<M>> {
        let part = &self.parts[Self::own_part()];
        self.common.account.add_piece(bytes.own as u64);
        let mut state = lock(&part.state);
        state.misses += 1;
        state.lend(bytes.len, asked);
        drop(state);
        Arc::clone(part)
    }

    /// Releases idle memory so that one more piece, and `bytes` more of the device's, stay within the limits, as far as that is possible.
    pub(super) fn make_room(&self, bytes: usize) {
        self.release_while(|| self.common.account.is_over(1, bytes as u64));
    }

    /// Releases idle memory, the largest first, until at most `keep` bytes are idle. Returns the bytes released, those in heaps among them.
    pub(super) fn trim(&self, keep: u64) -> u64 {
        self.release_while(|| self.idle_bytes() > keep)
    }

    /// What `make` makes. Where there `is_no_room` for it, all idle memory of `all` is released and it is tried once more, also when it was
    /// another thread that released some since.
    pub(super) fn make<T, E>(
        all: &[Arc<Self>],
        make: impl Fn() -> Result<T, E>,
        is_no_room: impl Fn(&E) -> bool,
    ) -> Result<T, E> {
        let released = || all.iter().map(|shelves| shelves.released()).sum::<u64>();
        let before = released();
        make().or_else(|error| {
            if !is_no_room(&error) {
                return Err(error);
            }
            all.iter().for_each(|shelves| shelves.release_all());
            if released() == before { Err(error) } else { make() }
        })
    }

    /// Releases all idle memory; when it returns, none is on its way from a shelf either.
    fn release_all(&self) {
        let _alone = lock(&self.releasing);
        self.release(|| true);
    }

    fn released(&self) -> u64 {
        self.common.released.load(Ordering::Relaxed)
    }

    /// Their owner has gone.
    pub(super) fn is_closed(&self) -> bool {
        self.common.closed.load(Ordering::SeqCst)
    }

    /// Bytes that nobody uses.
    pub(super) fn idle_bytes(&self) -> u64 {
        self.parts.iter().map(|part| lock(&part.state).idle_bytes).sum()
    }

    /// Releases the largest idle memory while `needed`.
    fn release_while(&self, needed: impl Fn() -> bool) -> u64 {
        // Asked before any lock: an allocation that stays within the limits looks at no part.
        if !needed() {
            return 0;
        }
        let _alone = lock(&self.releasing);
        // Whoever had the lock may have released enough.
        if needed() { self.release(needed) } else { 0 }
    }

    /// Releases one piece at least, if there is one, and more while `needed`.
    fn release(&self, needed: impl Fn() -> bool) -> u64 {
        let mut released = 0;
        let classes = self.parts.iter().map(|part| lock(&part.state).shelves.len()).max().unwrap_or(0);
        for class in (0..classes).rev() {
            for part in &self.parts {
                loop {
                    let oldest = lock(&part.state).pick_oldest(class);
                    let Some((memory, bytes)) = oldest else { break };
                    drop(memory);
                    self.common.forget(bytes);
                    released += bytes.len as u64;
                    if !needed() {
                        return released;
                    }
                }
            }
        }
        released
    }

    /// Advances the time by one.
    pub(super) fn tick(&self) {
        self.common.tick.fetch_add(1, Ordering::Relaxed);
    }

    /// Releases what has been idle for at least `ticks`. Returns the bytes released.
    pub(super) fn release_older(&self, ticks: u64) -> u64 {
        let Some(last) = self.common.tick.load(Ordering::Relaxed).checked_sub(ticks) else { return 0 };
        let mut released = 0;
        let _alone = lock(&self.releasing);
        for part in &self.parts {
            let classes = lock(&part.state).shelves.len();
            for class in 0..classes {
                // One at a time: a release takes long, and the part's threads would wait for its lock.
                loop {
                    let old = lock(&part.state).pick_older(class, last);
                    let Some((memory, bytes)) = old else { break };
                    drop(memory);
                    self.common.forget(bytes);
                    released += bytes.len as u64;
                }
            }
        }
        released
    }

    /// Bytes lent and idle.
    #[cfg(test)]
    pub(super) fn held_bytes(&self) -> u64 {
        self.common.account.bytes()
    }

    pub(super) fn stats(&self) -> PoolStats {
        let heaps = self.common.account.heaps();
        let mut stats = PoolStats {
            released: self.released(),
            heaps: heaps.heaps,
            heap_bytes: heaps.bytes,
            heap_free_bytes: heaps.free_bytes,
            ..PoolStats::default()
        };
        for part in &self.parts {
            let state = lock(&part.state);
            stats.hits += state.hits;
            stats.misses += state.misses;
            stats.idle_buffers += state.idle_pieces;
            stats.idle_bytes += state.idle_bytes;
            stats.used_buffers += state.used_pieces;
            stats.used_bytes += state.used_bytes;
            stats.waste_bytes += state.used_bytes - state.asked_bytes;
            stats.peak_used_buffers += state.peak_used_pieces;
            stats.peak_used_bytes += state.peak_used_bytes;
        }
        // Parts need not have lent their most at the same time, but never was more lent than there was.
        stats.peak_buffers = self.common.account.peak_pieces();
        stats.peak_bytes = self.common.account.peak_bytes();
        stats.peak_used_buffers = stats.peak_used_buffers.min(stats.peak_buffers);
        stats.peak_used_bytes = stats.peak_used_bytes.min(stats.peak_bytes);
        stats
    }
}

impl Common {
    /// Uncounts memory that was released.
    fn forget(&self, bytes: Bytes) {
        self.account.remove_piece(bytes.own as u64);
        self.released.fetch_add(1, Ordering::Relaxed);
    }
}

impl<M> Part<M> {
    fn new(common: &Arc<Common>) -> Part<M> {
        let state = State {
            shelves: Vec::new(),
            idle_pieces: 0,
            idle_bytes: 0,
            hits: 0,
            misses: 0,
            used_pieces: 0,
            used_bytes: 0,
            asked_bytes: 0,
            peak_used_pieces: 0,
            peak_used_bytes: 0,
        };
        Part { state: Mutex::new(state), common: Arc::clone(common) }
    }

    /// Takes memory of `bytes` that nobody uses any more.
    pub(crate) fn put_back(&self, memory: M, bytes: Bytes, asked: usize) {
        let keep = !self.common.account.is_over(0, 0);
        let mut state = lock(&self.state);
        // Under the lock: either this sees that the pool is gone, or the pool's drop sees what is put here.
        let keep = keep && !self.common.closed.load(Ordering::SeqCst);
        state.used_pieces -= 1;
        state.used_bytes -= bytes.len as u64;
        state.asked_bytes -= asked as u64;
        if keep {
            state.put(Idle { memory, bytes, since: self.common.tick.load(Ordering::Relaxed) });
            return;
        }
        drop(state);
        drop(memory);
        self.common.forget(bytes);
    }
}

impl<M> State<M> {
    fn put(&mut self, idle: Idle<M>) {
        let class = class(idle.bytes.len).0;
        if self.shelves.len() <= class {
            self.shelves.resize_with(class + 1, VecDeque::new);
        }
        self.idle_pieces += 1;
        self.idle_bytes += idle.bytes.len as u64;
        self.shelves[class].push_back(idle);
    }

    /// Off the shelf, and lent.
    fn take(&mut self, class: usize, size: usize, asked: usize) -> Option<M> {
        let (memory, bytes) = self.pick(class, size)?;
        self.lend_again(bytes.len, asked);
        Some(memory)
    }

    /// The memory that came back last, whose bytes are most likely in a cache. Almost always the first looked at: only at the
    /// device's limit are there sizes within a class.
    fn pick(&mut self, class: usize, size: usize) -> Option<(M, Bytes)> {
        let shelf = self.shelves.get_mut(class)?;
        let idle = if shelf.back()?.bytes.len >= size {
            shelf.pop_back()?
        } else {
            let at = shelf.iter().rposition(|idle| idle.bytes.len >= size)?;
            shelf.remove(at)?
        };
        Some(self.picked(idle))
    }

    fn pick_oldest(&mut self, class: usize) -> Option<(M, Bytes)> {
        let idle = self.shelves.get_mut(class)?.pop_front()?;
        Some(self.picked(idle))
    }

    /// What came back at `last` or before.
    fn pick_older(&mut self, class: usize, last: u64) -> Option<(M, Bytes)> {
        if self.shelves.get(class)?.front()?.since > last {
            return None;
        }
        self.pick_oldest(class)
    }

    fn picked(&mut self, idle: Idle<M>) -> (M, Bytes) {
        self.idle_pieces -= 1;
        self.idle_bytes -= idle.bytes.len as u64;
        (idle.memory, idle.bytes)
    }

    fn lend_again(&mut self, bytes: usize, asked: usize) {
        self.hits += 1;
        self.lend(bytes, asked);
    }

    fn lend(&mut self, bytes: usize, asked: usize) {
        self.used_pieces += 1;
        self.used_bytes += bytes as u64;
        self.asked_bytes += asked as u64;
        self.peak_used_pieces = self.peak_used_pieces.max(self.used_pieces);
        self.peak_used_bytes = self.peak_used_bytes.max(self.used_bytes);
    }
}
