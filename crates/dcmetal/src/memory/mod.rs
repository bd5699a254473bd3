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

use std::fmt;
use std::ops::Range;

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

/// Tracked memory with what it lives by. A pool keeps it whole, for the next user: to move it would take longer than to find it.
pub(crate) struct Holding {
    pub(crate) tracked: Tracked,
    /// Of its heap, behind the memory so that it goes after it.
    share: Option<Share<Heap>>,
    /// A pool's memory brings it along: to count one more user of it would have threads meet. What an accelerator lends has it while it is lent.
    accelerator: Option<Accelerator>,
    is_staging: bool,
}

impl Holding {
    pub(crate) fn new(memory: Memory, share: Option<Share<Heap>>, accelerator: &Accelerator) -> Box<Holding> {
        let accelerator = Some(accelerator.clone());
        Box::new(Holding { tracked: Tracked::new(memory), share, accelerator, is_staging: false })
    }

    /// Of an accelerator's own, which is lent.
    pub(crate) fn of_staging(memory: Memory, accelerator: &Accelerator) -> Box<Holding> {
        let accelerator = Some(accelerator.clone());
        Box::new(Holding { tracked: Tracked::new(memory), share: None, accelerator, is_staging: true })
    }

    /// Lent again, by this accelerator.
    pub(crate) fn belong_to(&mut self, accelerator: &Accelerator) {
        self.accelerator = Some(accelerator.clone());
    }

    /// On its way home: the accelerator that it must not keep there.
    pub(crate) fn let_go(&mut self) -> Option<Accelerator> {
        if self.is_staging { self.accelerator.take() } else { None }
    }

    pub(crate) fn is_in_heap(&self) -> bool {
        self.share.is_some()
    }
}

/// What the handles of a buffer or a texture, and the submissions that use it, hold together.
pub(crate) struct Allocation {
    /// `None` only while it is being dropped.
    holding: Option<Box<Holding>>,
    /// Bytes of the elements; the memory may be longer.
    data_bytes: usize,
    /// The pool it returns to.
    home: Option<Home>,
}

impl Allocation {
    pub(crate) fn new(holding: Box<Holding>, data_bytes: usize, home: Option<Home>) -> Allocation {
        Allocation { holding: Some(holding), data_bytes, home }
    }

    fn holding(&self) -> &Holding {
        self.holding.as_ref().expect("only drop takes it")
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
    fn drop(&mut self) {
        if let (Some(holding), Some(home)) = (self.holding.take(), self.home.take()) {
            crate::pool::put_back(&home, holding, self.data_bytes);
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
