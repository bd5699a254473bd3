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

use crate::pool::Home;
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

/// Tracked memory and where it belongs.
pub(crate) struct Allocation {
    /// These two are `None` only while it is being dropped.
    tracked: Option<Tracked>,
    accelerator: Option<Accelerator>,
    /// Bytes of the elements; the memory may be longer.
    data_bytes: usize,
    /// The pool it returns to.
    home: Option<Home>,
}

impl Allocation {
    pub(crate) fn new(accelerator: Accelerator, memory: Memory, data_bytes: usize, home: Option<Home>) -> Allocation {
        Allocation { tracked: Some(Tracked::new(memory)), accelerator: Some(accelerator), data_bytes, home }
    }

    pub(crate) fn tracked(&self) -> &Tracked {
        self.tracked.as_ref().expect("only drop takes it")
    }

    pub(crate) fn memory(&self) -> &Memory {
        self.tracked().memory()
    }

    pub(crate) fn accelerator(&self) -> &Accelerator {
        self.accelerator.as_ref().expect("only drop takes it")
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
        let (tracked, accelerator) = (self.tracked.take(), self.accelerator.take());
        if let (Some(tracked), Some(accelerator), Some(home)) = (tracked, accelerator, self.home.take()) {
            home.put_back(tracked.into_memory(), accelerator, self.data_bytes);
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
