//! [`BufferPool`]: buffers that are used again instead of allocated again.
//!
//! Memory is kept on shelves by size class: four classes per power of two, so that a class wastes less than a quarter of
//! its size. A buffer takes memory off the shelf and puts it back when it *and every submission that uses it* are
//! gone, because submissions hold the allocation; nothing in flight is ever handed out again. Every buffer keeps its
//! pool. Buffers of one pool share no lock but their class's.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bytemuck::Pod;
use dcmetal_sys as sys;

use crate::memory::{allocation_bytes, no_memory};
use crate::raw::host::{Memory, lock};
use crate::{Accelerator, Buffer, Result, StorageMode};

/// The smallest class.
const MIN_CLASS_LOG2: u32 = 8;
/// Classes for sizes up to 2^48 bytes, beyond every device.
const CLASSES: usize = (48 - MIN_CLASS_LOG2 as usize) * 4 + 1;

/// How much a pool keeps that nobody uses. What goes back beyond a limit is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolLimits {
    /// Bytes kept idle.
    pub idle_bytes: u64,
    /// Buffers kept idle. A process can hold about half a million Metal buffers in all.
    pub idle_buffers: u64,
}

impl Default for PoolLimits {
    /// 1 GiB and 4096 buffers.
    fn default() -> PoolLimits {
        PoolLimits { idle_bytes: 1 << 30, idle_buffers: 4096 }
    }
}

/// What a pool has done and holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// Requests served from a shelf.
    pub hits: u64,
    /// Requests that allocated.
    pub misses: u64,
    /// Buffers that were released because of a limit, by [`BufferPool::trim`], or to make room.
    pub released: u64,
    /// Buffers on the shelves.
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
    shelves: Arc<Shelves>,
}

/// The memory a pool keeps.
pub(crate) struct Shelves {
    classes: Vec<Mutex<Shelf>>,
    limits: PoolLimits,
    idle_buffers: AtomicU64,
    idle_bytes: AtomicU64,
    /// Idle and used; changes only when memory is allocated or released.
    held_bytes: AtomicU64,
    peak_bytes: AtomicU64,
    released: AtomicU64,
}

/// The idle memory of one class, and the class's part of the statistics.
#[derive(Default)]
struct Shelf {
    idle: Vec<Memory>,
    hits: u64,
    misses: u64,
    used_buffers: u64,
    used_bytes: u64,
    asked_bytes: u64,
}

/// The class that holds `bytes`, and its size: the next of 2^k * {4, 5, 6, 7} / 4.
fn class(bytes: usize) -> (usize, usize) {
    let bytes = bytes.max(1 << MIN_CLASS_LOG2);
    let log2 = bytes.ilog2();
    let step = 1usize << (log2 - 2);
    let size = bytes.next_multiple_of(step);
    // A size that rounds up to the next power of two is that power's first class, which the arithmetic gives as well.
    let quarter = (size - (1usize << log2)) / step;
    ((log2 - MIN_CLASS_LOG2) as usize * 4 + quarter, size)
}

impl BufferPool {
    pub(crate) fn new(accelerator: &Accelerator, limits: PoolLimits) -> BufferPool {
        let shelves = Shelves {
            classes: (0..CLASSES).map(|_| Mutex::default()).collect(),
            limits,
            idle_buffers: AtomicU64::new(0),
            idle_bytes: AtomicU64::new(0),
            held_bytes: AtomicU64::new(0),
            peak_bytes: AtomicU64::new(0),
            released: AtomicU64::new(0),
        };
        BufferPool { accelerator: accelerator.clone(), shelves: Arc::new(shelves) }
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
        let memory = match self.shelves.take(class, size, asked) {
            Some(memory) => memory,
            None => {
                let memory = self.allocate(size)?;
                self.shelves.lend_new(class, &memory, asked);
                memory
            }
        };
        Ok(Buffer::new(&self.accelerator, memory, len, Some(Arc::clone(&self.shelves))))
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
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let mut stats = PoolStats {
            released: read(&self.shelves.released),
            idle_buffers: read(&self.shelves.idle_buffers),
            idle_bytes: read(&self.shelves.idle_bytes),
            peak_bytes: read(&self.shelves.peak_bytes),
            ..PoolStats::default()
        };
        for shelf in &self.shelves.classes {
            let shelf = lock(shelf);
            stats.hits += shelf.hits;
            stats.misses += shelf.misses;
            stats.used_buffers += shelf.used_buffers;
            stats.used_bytes += shelf.used_bytes;
            stats.waste_bytes += shelf.used_bytes - shelf.asked_bytes;
        }
        stats
    }
}

impl std::fmt::Debug for BufferPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BufferPool").field("limits", &self.shelves.limits).field("stats", &self.stats()).finish()
    }
}

impl Shelves {
    /// Memory of that class, of at least `size` bytes.
    fn take(&self, class: usize, size: usize, asked: usize) -> Option<Memory> {
        let memory = {
            let mut shelf = lock(&self.classes[class]);
            let at = shelf.idle.iter().rposition(|memory| memory.bytes() >= size)?;
            let memory = shelf.idle.swap_remove(at);
            shelf.hits += 1;
            shelf.lend(memory.bytes(), asked);
            memory
        };
        self.idle_buffers.fetch_sub(1, Ordering::Relaxed);
        self.idle_bytes.fetch_sub(memory.bytes() as u64, Ordering::Relaxed);
        Some(memory)
    }

    /// Counts memory that was allocated for the class.
    fn lend_new(&self, class: usize, memory: &Memory, asked: usize) {
        let bytes = memory.bytes() as u64;
        let held = self.held_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak_bytes.fetch_max(held, Ordering::Relaxed);
        let mut shelf = lock(&self.classes[class]);
        shelf.misses += 1;
        shelf.lend(memory.bytes(), asked);
    }

    /// Takes memory that nobody uses any more.
    pub(crate) fn put_back(&self, memory: Memory, asked: usize) {
        let bytes = memory.bytes() as u64;
        // Counted before it is there, so that two that come back at once cannot both take the last place.
        let buffers = self.idle_buffers.fetch_add(1, Ordering::Relaxed) + 1;
        let idle = self.idle_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let keep = buffers <= self.limits.idle_buffers && idle <= self.limits.idle_bytes;
        let mut shelf = lock(&self.classes[class(memory.bytes()).0]);
        shelf.used_buffers -= 1;
        shelf.used_bytes -= bytes;
        shelf.asked_bytes -= asked as u64;
        if keep {
            shelf.idle.push(memory);
            return;
        }
        drop(shelf);
        self.forget(bytes);
    }

    /// Uncounts idle memory that is released.
    fn forget(&self, bytes: u64) {
        self.idle_buffers.fetch_sub(1, Ordering::Relaxed);
        self.idle_bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.held_bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.released.fetch_add(1, Ordering::Relaxed);
    }

    fn trim(&self, keep: u64) -> u64 {
        let mut released = 0;
        for shelf in self.classes.iter().rev() {
            while self.idle_bytes.load(Ordering::Relaxed) > keep {
                let Some(memory) = lock(shelf).idle.pop() else { break };
                self.forget(memory.bytes() as u64);
                released += memory.bytes() as u64;
            }
        }
        released
    }
}

impl Shelf {
    fn lend(&mut self, bytes: usize, asked: usize) {
        self.used_buffers += 1;
        self.used_bytes += bytes as u64;
        self.asked_bytes += asked as u64;
    }
}

#[cfg(test)]
mod tests {
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
}
