//! [`Shelves`]: what a [`BufferPool`](super::BufferPool) keeps, by size class; knows nothing of Metal.
//!
//! Memory lies on shelves, one per size class: four classes per power of two, so that a class wastes less than a quarter of
//! its size. The shelves are doubled into parts, each with a lock of its own. A thread takes from its own part and memory goes back to
//! the part it was taken from, whoever drops it: a steady loop of one thread meets no other thread's lock or counter.
//! Only a request that its part cannot serve looks at the other parts, and only when all of them are without is memory allocated.
//!
//! Limits count all memory of the pool, lent and idle ([`Account`]). That total changes only with allocation and release, so that to look at
//! it on the way back costs nothing; memory that comes back while the total is above a limit is released. Age is counted in
//! ticks, which somebody else counts (`keeper`): idle memory is marked with the tick at which it came back, and each shelf is a
//! queue in that order.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::PoolStats;
use super::account::Account;
use crate::raw::host::lock;

/// The smallest class.
const MIN_CLASS_LOG2: u32 = 8;
/// Classes for sizes up to 2^48 bytes, beyond every device.
pub(super) const CLASSES: usize = (48 - MIN_CLASS_LOG2 as usize) * 4 + 1;
/// Parts of the shelves: threads beyond that share them.
const PARTS: usize = 16;

/// The class that holds `bytes`, and its size: the next of 2^k * {4, 5, 6, 7} / 4.
pub(super) fn class(bytes: usize) -> (usize, usize) {
    let bytes = bytes.max(1 << MIN_CLASS_LOG2);
    let log2 = bytes.ilog2();
    let step = 1usize << (log2 - 2);
    let size = bytes.next_multiple_of(step);
    // A size that rounds up to the next power of two is that power's first class, which the arithmetic gives as well.
    let quarter = (size - (1usize << log2)) / step;
    ((log2 - MIN_CLASS_LOG2) as usize * 4 + quarter, size)
}

/// The part that the calling thread takes from.
fn own_part() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static OWN: usize = NEXT.fetch_add(1, Ordering::Relaxed) % PARTS;
    }
    // A thread that is being torn down has lost its number, and takes from the first part.
    OWN.try_with(|own| *own).unwrap_or(0)
}

/// Memory of type `M` by size class.
pub(super) struct Shelves<M> {
    parts: [Arc<Part<M>>; PARTS],
    common: Arc<Common>,
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
    /// The pool is gone: what comes back is released.
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
}

struct Idle<M> {
    memory: M,
    bytes: Bytes,
    since: u64,
}

impl<M> Shelves<M> {
    pub(super) fn new(account: Arc<Account>) -> Shelves<M> {
        let common = Arc::new(Common {
            account,
            released: AtomicU64::new(0),
            tick: AtomicU64::new(0),
            closed: AtomicBool::new(false),
        });
        Shelves { parts: std::array::from_fn(|_| Arc::new(Part::new(&common))), common }
    }

    /// Memory of that class and of at least `size` bytes that somebody gave back, and the part that it goes back to.
    pub(super) fn take(&self, class: usize, size: usize, asked: usize) -> Option<(M, Arc<Part<M>>)> {
        let at = own_part();
        let own = &self.parts[at];
        let taken = lock(&own.state).take(class, size, asked);
        let taken = taken.or_else(|| {
            let others = (1..PARTS).map(|distance| &self.parts[(at + distance) % PARTS]);
            let (memory, bytes) = others.into_iter().find_map(|other| lock(&other.state).pick(class, size))?;
            lock(&own.state).lend_again(bytes.len, asked);
            Some(memory)
        });
        Some((taken?, Arc::clone(own)))
    }

    /// Counts memory of `bytes` that was allocated because nothing could be taken, and names the part that it goes back to.
    pub(super) fn lend_new(&self, bytes: Bytes, asked: usize) -> Arc<Part<M>> {
        let part = &self.parts[own_part()];
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

    /// Bytes that nobody uses.
    pub(super) fn idle_bytes(&self) -> u64 {
        self.parts.iter().map(|part| lock(&part.state).idle_bytes).sum()
    }

    /// Releases the largest idle memory while `needed`.
    fn release_while(&self, needed: impl Fn() -> bool) -> u64 {
        let mut released = 0;
        // Asked before any lock: an allocation that stays within the limits looks at no part.
        if !needed() {
            return released;
        }
        for class in (0..CLASSES).rev() {
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
        for part in &self.parts {
            for class in 0..CLASSES {
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
            released: self.common.released.load(Ordering::Relaxed),
            peak_bytes: self.common.account.peak_bytes(),
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
        }
        stats
    }
}

impl<M> Drop for Shelves<M> {
    fn drop(&mut self) {
        self.common.closed.store(true, Ordering::SeqCst);
        self.trim(0);
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
        let at = shelf.iter().rposition(|idle| idle.bytes.len >= size)?;
        let idle = shelf.remove(at)?;
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
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_class_holds_its_sizes_and_wastes_less_than_a_quarter() {
        let mut last = 0;
        for bytes in (1..70_000).chain((1 << 30) - 3..(1 << 30) + 3) {
            let (index, size) = class(bytes);
            assert!(size >= bytes, "{bytes} in a class of {size}");
            assert!(bytes <= 1 << MIN_CLASS_LOG2 || (size - bytes) * 4 < size, "{bytes} in a class of {size}");
            assert_eq!(class(size), (index, size), "a class's own size is in it");
            assert!(index >= last && index < CLASSES, "{bytes} in class {index} after {last}");
            last = index;
        }
        assert_eq!([class(1), class(256), class(257), class(512)], [(0, 256), (0, 256), (1, 320), (4, 512)]);
    }

    /// What a user of the shelves does.
    #[derive(Clone, Debug)]
    enum Step {
        Ask(usize),
        /// Gives back one of those in use.
        Return(usize),
        Tick,
        Age(u64),
        Trim(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            5 => (1usize..5000).prop_map(Step::Ask),
            4 => any::<usize>().prop_map(Step::Return),
            1 => Just(Step::Tick),
            1 => (0u64..4).prop_map(Step::Age),
            1 => (0u64..8000).prop_map(Step::Trim),
        ]
    }

    /// One piece of memory, by number.
    struct Piece {
        number: usize,
        bytes: usize,
    }

    const LIMITS: (u64, u64) = (20_000, 9);

    fn shelves<M>(max_bytes: u64, max_pieces: u64) -> Shelves<M> {
        Shelves::new(Arc::new(Account::new(max_bytes, max_pieces)))
    }

    proptest! {
        /// Against lists of what is used and what is idle since when.
        #[test]
        fn shelves_are_what_lists_would_be(steps in prop::collection::vec(step(), 1..200)) {
            let shelves = shelves::<Piece>(LIMITS.0, LIMITS.1);
            let mut used: Vec<(Piece, usize, Arc<Part<Piece>>)> = Vec::new();
            let mut idle: Vec<(usize, usize, u64)> = Vec::new();
            let (mut now, mut made, mut hits, mut released) = (0u64, 0usize, 0u64, 0u64);
            for step in steps {
                match step {
                    Step::Ask(asked) => {
                        let (class, size) = class(asked);
                        let wanted = idle.iter().rposition(|piece| piece.1 == size);
                        match (shelves.take(class, size, asked), wanted) {
                            (Some((piece, part)), Some(at)) => {
                                prop_assert_eq!(piece.number, idle.remove(at).0, "the last that came back");
                                hits += 1;
                                used.push((piece, asked, part));
                            }
                            (None, None) => {
                                shelves.make_room(size);
                                let over = |idle: &[(usize, usize, u64)]| {
                                    let bytes = used.iter().map(|u| u.0.bytes).chain(idle.iter().map(|i| i.1)).sum::<usize>();
                                    (bytes + size) as u64 > LIMITS.0 || (used.len() + idle.len() + 1) as u64 > LIMITS.1
                                };
                                while over(&idle) && !idle.is_empty() {
                                    let largest = idle.iter().map(|piece| piece.1).max();
                                    let at = idle.iter().position(|piece| Some(piece.1) == largest);
                                    idle.remove(at.expect("the largest is there"));
                                    released += 1;
                                }
                                used.push((Piece { number: made, bytes: size }, asked, shelves.lend_new(Bytes::own(size), asked)));
                                made += 1;
                            }
                            (found, wanted) => prop_assert!(false, "found {}, wanted {wanted:?}", found.is_some()),
                        }
                    }
                    Step::Return(which) if !used.is_empty() => {
                        let bytes = used.iter().map(|u| u.0.bytes).chain(idle.iter().map(|i| i.1)).sum::<usize>() as u64;
                        let keep = bytes <= LIMITS.0 && (used.len() + idle.len()) as u64 <= LIMITS.1;
                        let (piece, asked, part) = used.swap_remove(which % used.len());
                        match keep {
                            true => idle.push((piece.number, piece.bytes, now)),
                            false => released += 1,
                        }
                        let bytes = Bytes::own(piece.bytes);
                        part.put_back(piece, bytes, asked);
                    }
                    Step::Return(_) => {}
                    Step::Tick => {
                        shelves.tick();
                        now += 1;
                    }
                    Step::Age(ticks) => {
                        let old = |piece: &(usize, usize, u64)| now >= ticks && piece.2 <= now - ticks;
                        let bytes: usize = idle.extract_if(.., |piece| old(piece)).map(|piece| (released += 1, piece.1).1).sum();
                        prop_assert_eq!(shelves.release_older(ticks), bytes as u64);
                    }
                    Step::Trim(keep) => {
                        let before = idle.iter().map(|piece| piece.1 as u64).sum::<u64>();
                        let freed = shelves.trim(keep);
                        let mut left = before;
                        while left > keep {
                            let largest = idle.iter().map(|piece| piece.1).max().expect("something is left");
                            let at = idle.iter().position(|piece| piece.1 == largest).expect("the largest is there");
                            left -= idle.remove(at).1 as u64;
                            released += 1;
                        }
                        prop_assert_eq!(freed, before - left);
                    }
                }
                let sum = |bytes: &mut dyn Iterator<Item = usize>| bytes.sum::<usize>() as u64;
                let stats = shelves.stats();
                let (used_bytes, idle_bytes) =
                    (sum(&mut used.iter().map(|u| u.0.bytes)), sum(&mut idle.iter().map(|i| i.1)));
                prop_assert_eq!((stats.hits, stats.misses, stats.released), (hits, made as u64, released));
                prop_assert_eq!((stats.used_buffers, stats.used_bytes), (used.len() as u64, used_bytes));
                prop_assert_eq!((stats.idle_buffers, stats.idle_bytes), (idle.len() as u64, idle_bytes));
                prop_assert_eq!(stats.waste_bytes, used_bytes - sum(&mut used.iter().map(|u| u.1)));
                prop_assert_eq!(shelves.held_bytes(), used_bytes + idle_bytes);
            }
        }
    }

    #[test]
    fn what_one_thread_gave_back_another_gets() {
        let shelves = shelves::<u32>(u64::MAX, u64::MAX);
        let bytes = Bytes::own(1024);
        std::thread::scope(|scope| {
            scope.spawn(|| shelves.lend_new(bytes, 1000).put_back(7, bytes, 1000));
        });
        let (class, size) = class(1000);
        let taken: Vec<u32> = std::thread::scope(|scope| {
            // More threads than parts, so that one of them has another part.
            let threads: Vec<_> = (0..PARTS + 1)
                .map(|_| scope.spawn(|| shelves.take(class, size, 900).map(|(memory, _part)| memory)))
                .collect();
            threads.into_iter().filter_map(|thread| thread.join().expect("it does not panic")).collect()
        });
        assert_eq!(taken, [7], "one of them, and only one");
        assert_eq!((shelves.stats().hits, shelves.stats().used_bytes, shelves.stats().waste_bytes), (1, 1024, 124));
    }

    #[test]
    fn what_comes_back_after_the_pool_is_released() {
        let alive = Arc::new(());
        let (shelves, bytes) = (shelves::<Arc<()>>(u64::MAX, u64::MAX), Bytes::own(256));
        let (first, second) = (shelves.lend_new(bytes, 1), shelves.lend_new(bytes, 1));
        first.put_back(Arc::clone(&alive), bytes, 1);
        drop(shelves);
        assert_eq!(Arc::strong_count(&alive), 1, "idle memory goes with the pool");
        second.put_back(Arc::clone(&alive), bytes, 1);
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}
