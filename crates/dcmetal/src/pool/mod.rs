//! [`BufferPool`]: buffers that are used again instead of allocated again.
//!
//! A buffer takes memory off a shelf ([`shelves`]) and puts it back when it *and every submission that uses it* are
//! gone, because submissions hold the allocation; nothing in flight is ever handed out again. Threads that use a pool at
//! once share no lock and no counter as long as each finds what it gave back itself. Idle memory is released when it is old, when the machine is
//! short of memory ([`keeper`], [`pressure`]), and when the device has no room for a new buffer. Small buffers may be parts of heaps ([`heaps`]).

mod account;
mod heaps;
#[cfg(test)]
mod heaps_tests;
mod keeper;
mod pressure;
#[cfg(all(not(target_os = "macos"), test))]
mod pressure_tests;
mod shelves;
#[cfg(test)]
mod shelves_tests;
mod staging;
#[cfg(test)]
mod waste_tests;

use std::time::Duration;

use bytemuck::Pod;

use crate::memory::{Allocation, AllocationRef, Return, allocation_bytes, no_memory};
use crate::raw::host::{Memory, lock};
use crate::raw::{Failure, Heap};
use crate::sync::{Arc, Mutex, Weak};
use crate::sys;
use crate::{Accelerator, Buffer, Result, StorageMode};
use account::Account;
use heaps::Heaps;
pub(crate) use heaps::Share;
use keeper::Keeper;
pub(crate) use pressure::{Pressure, pressure};
use shelves::{Bytes, Owner, Part, Shelves, class};
pub(crate) use staging::Staging;

/// Bytes of a heap.
const HEAP: u64 = 256 << 10;
/// The largest buffer that is part of one, of which it holds 64.
const SMALL: usize = 4096;
/// Heaps that the limit of bytes must have room for, so that what a heap's buffers leave unused is a small part of it.
const LEAST_HEAPS: u64 = 16;
/// What the beginning of a part is counted on to be a multiple of, as of what `malloc` gives. Devices promise more (hostmetal 256), but not all the same; a
/// Rust type that wants more gets no part, and where a device should promise less, the host's access ends with `Error::Alignment`.
const PART_ALIGNMENT: usize = 16;

/// What a pool keeps, how much of it, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolLimits {
    /// Where its buffers live: all in one storage mode. [`Accelerator::storage_for`] advises.
    pub storage: StorageMode,
    /// Bytes that the pool holds, in use and idle, above which buffers that come back are released. The device's
    /// recommended working set is a limit too.
    pub bytes: u64,
    /// The same for the number of buffers. A process can hold about half a million Metal buffers in all.
    pub buffers: u64,
    /// How long a buffer is kept that nobody uses, to about a second.
    pub idle_age: Duration,
    /// Whether idle buffers also go when the machine, or the control group of the process, is short of memory. Without it what a pool keeps depends on
    /// its own use alone.
    pub pressure: bool,
    /// Whether buffers of up to 4 KiB are parts of heaps of 256 KiB (`MTLHeap`): then a request that finds none idle seldom allocates, and a small buffer
    /// takes its size class instead of whole pages. A heap counts in `bytes` as a whole, and goes when none of its buffers is
    /// left; so it is for pools with many small buffers. Its price is on the device. Metal orders encoders by heaps:
    /// what writes one buffer of a heap is kept apart from all encoders around it that use others (Apple, `MTLHeapDescriptor.hazardTrackingMode`). And a
    /// kernel that runs past the end of its buffer reaches the next one, and what nobody has written yet may hold what another buffer left. Without effect on devices that have no heaps of shared memory
    /// (all but Apple's own GPUs), in pools of another storage mode, and in those with a limit of less than 4 MiB.
    pub heaps: bool,
}

impl Default for PoolLimits {
    /// Shared storage, as many bytes as the device recommends, 100,000 buffers, 10 seconds and less under pressure, no heaps.
    fn default() -> PoolLimits {
        let (storage, idle_age) = (StorageMode::Shared, Duration::from_secs(10));
        PoolLimits { storage, bytes: u64::MAX, buffers: 100_000, idle_age, pressure: true, heaps: false }
    }
}

/// What a pool has done and holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// Requests served with memory that was there.
    pub hits: u64,
    /// Requests that allocated.
    pub misses: u64,
    /// Buffers that were released: because of a limit, of their age, of the machine's memory, by [`BufferPool::trim`], or
    /// to make room.
    pub released: u64,
    /// Buffers that nobody uses.
    pub idle_buffers: u64,
    /// Their bytes.
    pub idle_bytes: u64,
    /// Buffers handed out and not yet back.
    pub used_buffers: u64,
    /// Their bytes, in whole size classes.
    pub used_bytes: u64,
    /// The part of `used_bytes` that nobody asked for.
    pub waste_bytes: u64,
    /// The most bytes held at once, idle and used, heaps as a whole.
    pub peak_bytes: u64,
    /// The most buffers held at once, idle and used.
    pub peak_buffers: u64,
    /// The most buffers handed out at once. Of one thread it is exact; of several it is no less than that, and no more than the sum of what each had at
    /// most, nor than `peak_buffers`: threads meet at no counter when they take what is there.
    pub peak_used_buffers: u64,
    /// The most bytes handed out at once, in whole size classes: as exact as `peak_used_buffers`, and no more than `peak_bytes`.
    pub peak_used_bytes: u64,
    /// Heaps that small buffers are parts of: see [`PoolLimits::heaps`].
    pub heaps: u64,
    /// Their bytes. Those of their buffers are in `idle_bytes` and `used_bytes` too.
    pub heap_bytes: u64,
    /// The part of `heap_bytes` that is no buffer's.
    pub heap_free_bytes: u64,
}

/// A pool of buffers. Cloning shares it; buffers may outlive it.
///
/// ```
/// # fn main() -> dcmetal::Result<()> {
/// # use dcmetal::*;
/// let gpu = Accelerator::system_default()?;
/// let pool = gpu.pool(PoolLimits::default());
/// for step in 0..100 {
///     let x = pool.buffer_from(&[step; 1000])?;
///     assert_eq!(x.read()?[999], step);
/// }
/// let stats = pool.stats();
/// assert_eq!((stats.misses, stats.hits), (1, 99));
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct BufferPool {
    accelerator: Accelerator,
    limits: PoolLimits,
    shelves: Arc<Owner<AllocationRef>>,
    heaps: Option<Arc<Heaps<Heap>>>,
    /// Started by the first allocation.
    keeper: Arc<Mutex<Option<Keeper>>>,
}

/// Where memory goes back to: the pool's part that it was taken from.
pub(crate) type Home = Arc<Part<AllocationRef>>;

fn bytes_of(allocation: &Allocation) -> Bytes {
    let len = allocation.memory().bytes();
    if allocation.is_in_heap() { Bytes::in_heap(len) } else { Bytes::own(len) }
}

/// Gives back an allocation that nobody uses any more.
pub(crate) fn put_back(allocation: AllocationRef, returned: Return) {
    let Return { home, asked, accelerator } = returned;
    let bytes = bytes_of(&allocation);
    home.put_back(allocation, bytes, asked);
    drop(accelerator);
}

impl BufferPool {
    pub(crate) fn new(accelerator: &Accelerator, limits: PoolLimits) -> BufferPool {
        // A device that recommends nothing says 0.
        let recommended = match accelerator.limits().recommended_working_set {
            0 => u64::MAX,
            bytes => bytes,
        };
        let bytes = limits.bytes.min(recommended);
        let account = Arc::new(Account::new(bytes, limits.buffers));
        let takes_heaps = accelerator.shares_all() && limits.storage == StorageMode::Shared;
        let heaps = limits.heaps && takes_heaps && bytes / HEAP >= LEAST_HEAPS;
        BufferPool {
            accelerator: accelerator.clone(),
            limits,
            heaps: heaps.then(|| Arc::new(Heaps::new(HEAP, &account))),
            shelves: Arc::new(Owner::new(account)),
            keeper: Arc::default(),
        }
    }

    /// A buffer whose elements hold anything: what its last user left, zero, or, with [`PoolLimits::heaps`], what another buffer left.
    ///
    /// # Errors
    /// As [`Accelerator::buffer_zeroed`].
    pub fn buffer<T: Pod>(&self, len: usize) -> Result<Buffer<T>> {
        let data = allocation_bytes::<T>(&self.accelerator, len)?;
        let limit = self.accelerator.limits().max_buffer_bytes;
        let aligned = self.heaps.is_none() || align_of::<T>() <= PART_ALIGNMENT;
        let (class, size) = class(if aligned { data } else { data.max(SMALL + 1) });
        // Near the device's limit a class may lie above it; such a buffer is as long as it needs to be, in that class.
        let size = if size as u64 <= limit { size } else { data };
        let asked = len * size_of::<T>();
        let (allocation, home) = match self.shelves.take(class, size, asked) {
            Some(taken) => taken,
            None => {
                let (memory, share) = self.allocate(size)?;
                let allocation = Allocation::new(memory, share, &self.accelerator);
                let home = self.shelves.lend_new(bytes_of(&allocation), asked);
                (AllocationRef::new(allocation), home)
            }
        };
        Ok(Buffer::new(allocation, len, Some(home)))
    }

    /// A buffer of zeros.
    ///
    /// # Errors
    /// As [`BufferPool::buffer`]; for private storage also what [`Batch::submit`](crate::Batch::submit) can end with. The device fills it then, which nobody waits
    /// for: if that fails, uses of the buffer do.
    pub fn buffer_zeroed<T: Pod>(&self, len: usize) -> Result<Buffer<T>> {
        let mut buffer = self.buffer(len)?;
        if self.limits.storage == StorageMode::Private {
            let mut batch = self.accelerator.batch()?;
            batch.fill(&mut buffer, 0)?;
            // Whatever uses it comes behind.
            drop(batch.submit()?);
        } else {
            buffer.write()?.fill(T::zeroed());
        }
        Ok(buffer)
    }

    /// A buffer with a copy of `values`.
    ///
    /// # Errors
    /// As [`BufferPool::buffer`]; for private storage also what a copy on the device can end with.
    pub fn buffer_from<T: Pod>(&self, values: &[T]) -> Result<Buffer<T>> {
        let mut buffer = self.buffer(values.len())?;
        buffer.write_from(values)?;
        Ok(buffer)
    }

    fn allocate(&self, bytes: usize) -> Result<(Memory, Option<Share<Heap>>)> {
        let mut keeper = lock(&self.keeper);
        if keeper.is_none() {
            // A system without room for a thread may have it at the next allocation.
            let pressure = if self.limits.pressure { pressure } else { || Pressure::None };
            *keeper = Keeper::start(self.shelves.shelves(), self.limits.idle_age, pressure).ok();
        }
        drop(keeper);
        let taken = self.take_from_heap(bytes).map_err(|failure| no_memory(&self.accelerator, bytes, failure))?;
        if let Some((memory, share)) = taken {
            return Ok((memory, Some(share)));
        }
        self.shelves.make_room(bytes);
        let make = || Memory::new(self.accelerator.device(), bytes, self.limits.storage);
        self.accelerator
            .make(make)
            .map(|memory| (memory, None))
            .map_err(|failure| no_memory(&self.accelerator, bytes, failure))
    }

    /// `None` for what is not small, and where there is no room: then the buffer gets an allocation of its own.
    fn take_from_heap(&self, bytes: usize) -> Result<Option<(Memory, Share<Heap>)>, Failure> {
        let Some(heaps) = self.heaps.as_ref().filter(|_| bytes <= SMALL) else { return Ok(None) };
        // A buffer more, of no further bytes.
        self.shelves.make_room(0);
        let open = |size| {
            let heap = unless_full(Heap::new(self.accelerator.device(), size))?;
            Ok(heap.map(|heap| {
                let size = heap.bytes();
                (heap, size)
            }))
        };
        heaps.take(bytes as u64, open, |heap| unless_full(Memory::in_heap(heap, bytes)))
    }

    /// Releases idle buffers, the largest first, until at most `idle_bytes` are kept. Returns the buffers' bytes; a heap's memory goes back with
    /// the last of its buffers.
    pub fn trim(&self, idle_bytes: u64) -> u64 {
        self.shelves.trim(idle_bytes)
    }

    /// What it has done and holds. The figures are exact when nobody uses the pool meanwhile.
    pub fn stats(&self) -> PoolStats {
        self.shelves.stats()
    }

    pub(crate) fn downgrade(&self) -> WeakPool {
        WeakPool(Arc::downgrade(self.shelves.shelves()))
    }
}

/// What `make` makes; where there is no memory for it, after these pools have let go of what they keep idle.
pub(crate) fn make_room_for<T>(
    pools: impl Iterator<Item = WeakPool>,
    make: impl Fn() -> Result<T, Failure>,
) -> Result<T, Failure> {
    // Also those that are closing: what they are just releasing is waited for.
    let pools: Vec<_> = pools.filter_map(|pool| pool.0.upgrade()).collect();
    Shelves::make(&pools, make, |failure| failure.status == sys::DC_METAL_OUT_OF_MEMORY)
}

/// No memory is none, not a failure.
fn unless_full<T>(made: Result<T, Failure>) -> Result<Option<T>, Failure> {
    match made {
        Ok(made) => Ok(Some(made)),
        Err(failure) if failure.status == sys::DC_METAL_OUT_OF_MEMORY => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// A pool for those who do not make it live longer: who tells its figures, who wants room.
#[derive(Clone)]
pub(crate) struct WeakPool(Weak<Shelves<AllocationRef>>);

impl WeakPool {
    pub(crate) fn lives(&self) -> bool {
        self.shelves().is_some()
    }

    pub(crate) fn release_idle(&self) {
        if let Some(shelves) = self.shelves() {
            shelves.trim(0);
        }
    }

    pub(crate) fn stats(&self) -> Option<PoolStats> {
        self.shelves().map(|shelves| shelves.stats())
    }

    fn shelves(&self) -> Option<Arc<Shelves<AllocationRef>>> {
        self.0.upgrade().filter(|shelves| !shelves.is_closed())
    }
}

impl std::fmt::Debug for BufferPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BufferPool").field("limits", &self.limits).field("stats", &self.stats()).finish()
    }
}
