//! [`BufferPool`]: buffers that are used again instead of allocated again.
//!
//! A buffer takes memory off a shelf ([`shelves`]) and puts it back when it *and every submission that uses it* are
//! gone, because submissions hold the allocation; nothing in flight is ever handed out again. Threads that use a pool at
//! once share no lock and no counter as long as each finds what it gave back itself. Idle memory is released when it is old, when the machine is
//! short of memory ([`keeper`], [`pressure`]), and when the device has no room for a new buffer.

mod keeper;
mod pressure;
mod shelves;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytemuck::Pod;
use dcmetal_sys as sys;

use crate::memory::{allocation_bytes, no_memory};
use crate::raw::host::{Memory, lock};
use crate::{Accelerator, Buffer, Result, StorageMode};
use keeper::Keeper;
use shelves::{Part, Shelves, class};

/// How much a pool keeps, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolLimits {
    /// Bytes that the pool holds, in use and idle, above which buffers that come back are released. The device's
    /// recommended working set is a limit too.
    pub bytes: u64,
    /// The same for the number of buffers. A process can hold about half a million Metal buffers in all.
    pub buffers: u64,
    /// How long a buffer is kept that nobody uses, to about a second.
    pub idle_age: Duration,
}

impl Default for PoolLimits {
    /// As many bytes as the device recommends, 100,000 buffers, 10 seconds.
    fn default() -> PoolLimits {
        PoolLimits { bytes: u64::MAX, buffers: 100_000, idle_age: Duration::from_secs(10) }
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
    /// The most bytes held at once, idle and used.
    pub peak_bytes: u64,
}

/// A pool of shared buffers. Cloning shares it; buffers may outlive it.
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
    shelves: Arc<Shelves<Kept>>,
    /// Started by the first allocation.
    keeper: Arc<Mutex<Option<Keeper>>>,
}

/// Memory on a shelf. It brings its accelerator along: to count one more user of that would have threads meet.
pub(crate) struct Kept {
    memory: Memory,
    accelerator: Accelerator,
}

/// The pool's part that memory goes back to.
pub(crate) struct Home(Arc<Part<Kept>>);

impl Home {
    /// Takes memory that nobody uses any more, of which `asked` bytes were used.
    pub(crate) fn put_back(self, memory: Memory, accelerator: Accelerator, asked: usize) {
        let bytes = memory.bytes();
        self.0.put_back(Kept { memory, accelerator }, bytes, asked);
    }
}

impl BufferPool {
    pub(crate) fn new(accelerator: &Accelerator, limits: PoolLimits) -> BufferPool {
        // A device that recommends nothing says 0.
        let recommended = match accelerator.limits().recommended_working_set {
            0 => u64::MAX,
            bytes => bytes,
        };
        let bytes = limits.bytes.min(recommended);
        BufferPool {
            accelerator: accelerator.clone(),
            limits,
            shelves: Arc::new(Shelves::new(bytes, limits.buffers)),
            keeper: Arc::default(),
        }
    }

    /// A buffer whose elements hold whatever its last user left, or zero.
    ///
    /// # Errors
    /// As [`Accelerator::buffer_zeroed`]. Before running out of memory the pool lets go of what it keeps.
    pub fn buffer<T: Pod>(&self, len: usize) -> Result<Buffer<T>> {
        let data = allocation_bytes::<T>(&self.accelerator, len)?;
        let limit = self.accelerator.limits().max_buffer_bytes;
        let (class, size) = class(data);
        // Near the device's limit a class may lie above it; such a buffer is as long as it needs to be, in that class.
        let size = if size as u64 <= limit { size } else { data };
        let asked = len * size_of::<T>();
        let (Kept { memory, accelerator }, home) = match self.shelves.take(class, size, asked) {
            Some(taken) => taken,
            None => {
                let memory = self.allocate(size)?;
                let home = self.shelves.lend_new(memory.bytes(), asked);
                (Kept { memory, accelerator: self.accelerator.clone() }, home)
            }
        };
        Ok(Buffer::new(accelerator, memory, len, Some(Home(home))))
    }

    /// A buffer of zeros.
    ///
    /// # Errors
    /// As [`BufferPool::buffer`].
    pub fn buffer_zeroed<T: Pod>(&self, len: usize) -> Result<Buffer<T>> {
        let mut buffer = self.buffer(len)?;
        buffer.write()?.fill(T::zeroed());
        Ok(buffer)
    }

    /// A buffer with a copy of `values`.
    ///
    /// # Errors
    /// As [`BufferPool::buffer`].
    pub fn buffer_from<T: Pod>(&self, values: &[T]) -> Result<Buffer<T>> {
        let mut buffer = self.buffer(values.len())?;
        buffer.write_from(values)?;
        Ok(buffer)
    }

    fn allocate(&self, bytes: usize) -> Result<Memory> {
        let mut keeper = lock(&self.keeper);
        if keeper.is_none() {
            // A system without room for a thread may have it at the next allocation.
            *keeper = Keeper::start(&self.shelves, self.limits.idle_age).ok();
        }
        drop(keeper);
        self.shelves.make_room(bytes);
        let make = || Memory::new(self.accelerator.device(), bytes, StorageMode::Shared);
        let memory = make().or_else(|failure| {
            if failure.status == sys::DC_METAL_OUT_OF_MEMORY && self.trim(0) > 0 { make() } else { Err(failure) }
        });
        memory.map_err(|failure| no_memory(bytes, failure))
    }

    /// Releases idle buffers, the largest first, until at most `idle_bytes` are kept. Returns the bytes released.
    pub fn trim(&self, idle_bytes: u64) -> u64 {
        self.shelves.trim(idle_bytes)
    }

    /// What it has done and holds. The figures are exact when nobody uses the pool meanwhile.
    pub fn stats(&self) -> PoolStats {
        self.shelves.stats()
    }
}

impl std::fmt::Debug for BufferPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BufferPool").field("limits", &self.limits).field("stats", &self.stats()).finish()
    }
}
