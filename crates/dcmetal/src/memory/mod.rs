//! Typed buffers, and textures.
//!
//! A [`Buffer`] owns an [`Allocation`]: tracked memory ([`crate::raw::host`]) of one accelerator, which may have come
//! from a pool and returns there. Submissions hold the allocation, so a buffer may be dropped while the device uses it.
//! A [`Texture`] owns one too. Element types are [`Pod`]: every bit pattern is a value, so whatever a kernel writes can be read (`bool` is not Pod).

mod buffer;
mod choice;
mod format;
mod texture;
mod view;

use std::any::Any;
use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

pub use buffer::Buffer;
pub(crate) use buffer::no_memory;
pub use choice::{HostUse, StorageChoice};
pub use format::PixelFormat;
pub use texture::{AddressMode, BorderColor, Filter, Sampler, SamplerDescriptor, Texture, TextureDescriptor};
pub(crate) use view::bounds;
pub use view::{View, ViewMut};

use crate::pool::{Home, Share};
use crate::raw::Heap;
use crate::raw::host::{Memory, Tracked};
use crate::{Accelerator, Error, Result};

/// Where a buffer lives and who sees it, Metal's `MTLStorageMode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum StorageMode {
    /// One memory that the host and the device both see.
    #[default]
    Shared,
    /// A copy on each side, kept in step by Metal (Macs with a discrete GPU).
    Managed,
    /// Seen by the device only; the host copies.
    Private,
}

impl fmt::Display for StorageMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StorageMode::Shared => "shared",
            StorageMode::Managed => "managed",
            StorageMode::Private => "private",
        })
    }
}

/// Blit commands count in this many bytes (Apple, `copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:`, on
/// macOS); lengths of our buffers are multiples of it, so that whole buffers can always be copied.
pub(crate) const BLIT_UNIT: usize = 4;

/// What the handles of a buffer or a texture, and the submissions that use it, hold together.
pub(crate) struct Allocation {
    /// `None` only while it is being dropped.
    holding: Option<Holding>,
    /// Bytes of the elements; the memory may be longer.
    data_bytes: usize,
    /// The pool it returns to, while it is lent.
    home: Option<Home>,
}

/// Tracked memory with what it lives by.
struct Holding {
    tracked: Tracked,
    /// Of its heap, behind the memory so that it goes after it.
    share: Option<Share<Heap>>,
    /// A pool's memory brings it along: to count one more user of it would have threads meet. What an accelerator lends has it while it is lent.
    accelerator: Option<Accelerator>,
    is_staging: bool,
}

/// What a pool is told about memory that comes back.
pub(crate) struct Return {
    pub(crate) home: Home,
    /// Bytes that were used of it.
    pub(crate) asked: usize,
    /// Held until the memory is at home, which may be this accelerator's own.
    pub(crate) accelerator: Option<Accelerator>,
}

impl Allocation {
    /// All of `memory`, of a size that is not yet said where it will be lent.
    pub(crate) fn new(memory: Memory, share: Option<Share<Heap>>, accelerator: &Accelerator) -> Allocation {
        let (data_bytes, accelerator) = (memory.bytes(), Some(accelerator.clone()));
        let holding = Holding { tracked: Tracked::new(memory), share, accelerator, is_staging: false };
        Allocation { holding: Some(holding), data_bytes, home: None }
    }

    /// Of an accelerator's own, which is lent.
    pub(crate) fn of_staging(memory: Memory, accelerator: &Accelerator) -> Allocation {
        let mut allocation = Allocation::new(memory, None, accelerator);
        allocation.holding_mut().is_staging = true;
        allocation
    }

    /// Lends what nobody has to a user of `data_bytes`, until it returns `home`.
    pub(crate) fn lend(&mut self, data_bytes: usize, home: Option<Home>) {
        self.data_bytes = data_bytes;
        self.home = home;
    }

    /// Lent again, by this accelerator.
    pub(crate) fn belong_to(&mut self, accelerator: &Accelerator) {
        self.holding_mut().accelerator = Some(accelerator.clone());
    }

    /// Makes it ready for the next user, if it has a home, as nobody has it any more.
    fn end_lending(&mut self) -> Option<Return> {
        let home = self.home.take()?;
        let asked = self.data_bytes;
        let holding = self.holding_mut();
        holding.tracked.renew();
        let accelerator = if holding.is_staging { holding.accelerator.take() } else { None };
        Some(Return { home, asked, accelerator })
    }

    fn holding(&self) -> &Holding {
        self.holding.as_ref().expect("only drop takes it")
    }

    fn holding_mut(&mut self) -> &mut Holding {
        self.holding.as_mut().expect("only drop takes it")
    }

    pub(crate) fn is_in_heap(&self) -> bool {
        self.holding().share.is_some()
    }

    pub(crate) fn tracked(&self) -> &Tracked {
        &self.holding().tracked
    }

    pub(crate) fn memory(&self) -> &Memory {
        self.tracked().memory()
    }

    pub(crate) fn accelerator(&self) -> &Accelerator {
        self.holding().accelerator.as_ref().expect("what is lent has one")
    }

    pub(crate) fn data_bytes(&self) -> usize {
        self.data_bytes
    }

    /// Some of its bytes, for people; all of a texture.
    pub(crate) fn described(&self, bytes: Range<usize>) -> String {
        if self.memory().is_texture() {
            return "a texture".to_owned();
        }
        let Range { start, end } = bytes;
        match self.memory().buffer().label() {
            label if label.is_empty() => format!("bytes {start} to {end} of a buffer of {}", self.data_bytes),
            label => format!("bytes {start} to {end} of `{label}`"),
        }
    }
}

impl Drop for Allocation {
    /// Where two that were the last let go at once, and neither saw it: what it holds goes home in another allocation.
    fn drop(&mut self) {
        if let Some(returned) = self.end_lending() {
            let (holding, data_bytes) = (self.holding.take(), self.data_bytes);
            crate::pool::put_back(AllocationRef::new(Allocation { holding, data_bytes, home: None }), returned);
        }
    }
}

/// What handles and submissions have of an allocation. The last one gives it back to its pool as it is. Of std's `Arc` only the one that frees it knows that it was the last: weak
/// ones could become others meanwhile, and to keep them from it takes as long as a lock.
pub(crate) struct AllocationRef(Option<triomphe::Arc<Allocation>>);

impl AllocationRef {
    pub(crate) fn new(allocation: Allocation) -> AllocationRef {
        AllocationRef(Some(triomphe::Arc::new(allocation)))
    }

    fn counted(&self) -> &triomphe::Arc<Allocation> {
        self.0.as_ref().expect("only drop takes it")
    }

    /// Whether they are of the same allocation.
    pub(crate) fn is(&self, other: &AllocationRef) -> bool {
        triomphe::Arc::ptr_eq(self.counted(), other.counted())
    }

    /// Tells the allocation from all others while this lives.
    pub(crate) fn address(&self) -> usize {
        triomphe::Arc::as_ptr(self.counted()).addr()
    }

    /// As what something else may still need.
    pub(crate) fn kept(&self) -> Arc<dyn Any + Send + Sync> {
        Arc::new(self.clone())
    }

    /// The allocation, if nobody else has it.
    pub(crate) fn alone(&mut self) -> Option<&mut Allocation> {
        self.0.as_mut().and_then(triomphe::Arc::get_mut)
    }
}

impl Clone for AllocationRef {
    fn clone(&self) -> AllocationRef {
        AllocationRef(self.0.clone())
    }
}

impl Deref for AllocationRef {
    type Target = Allocation;

    fn deref(&self) -> &Allocation {
        self.counted()
    }
}

impl Drop for AllocationRef {
    fn drop(&mut self) {
        if let Some(returned) = self.alone().and_then(Allocation::end_lending) {
            crate::pool::put_back(AllocationRef(self.0.take()), returned);
        }
    }
}

/// The bytes of `len` elements, rounded up to what blit commands can count.
pub(crate) fn allocation_bytes<T>(accelerator: &Accelerator, len: usize) -> Result<usize> {
    let limit = accelerator.limits().max_buffer_bytes;
    let bytes = len.checked_mul(size_of::<T>()).and_then(|bytes| bytes.checked_next_multiple_of(BLIT_UNIT));
    match bytes {
        Some(0) => Err(Error::EmptyBuffer),
        Some(bytes) if bytes as u64 <= limit => Ok(bytes),
        Some(bytes) => Err(Error::BufferTooLarge { bytes: bytes as u64, limit }),
        None => Err(Error::BufferTooLarge { bytes: u64::MAX, limit }),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;
    use crate::PoolLimits;

    #[test]
    fn whoever_lets_go_last_gives_it_back() {
        let gpu = Accelerator::system_default().expect("a device");
        let pool = gpu.pool(PoolLimits::default());
        let mut requests = 0;
        let mut lend = || {
            requests += 1;
            let buffer = pool.buffer::<u32>(100).expect("there is room");
            let other = buffer.allocation().clone();
            (buffer, other, requests)
        };
        let back = |hits: u64| {
            let stats = pool.stats();
            assert_eq!((stats.misses, stats.hits, stats.used_buffers, stats.idle_buffers), (1, hits - 1, 0, 1));
        };
        let (buffer, other, requests) = lend();
        drop((buffer, other));
        back(requests);
        let (buffer, other, requests) = lend();
        drop((other, buffer));
        back(requests);
        // As where both looked before either had let go.
        let (buffer, mut other, requests) = lend();
        let counted = other.0.take();
        drop((buffer, other));
        drop(counted);
        back(requests);
        let (first, second) = (Barrier::new(2), Barrier::new(2));
        for _ in 0..1000 {
            let (buffer, other, requests) = lend();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    first.wait();
                    drop(other);
                    second.wait();
                });
                first.wait();
                drop(buffer);
                second.wait();
            });
            back(requests);
        }
    }
}
