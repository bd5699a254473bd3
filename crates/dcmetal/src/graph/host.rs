//! [`HostMemory`]: what a step of the host's sees of a graph's memory.

use std::fmt;

use bytemuck::Pod;

use crate::error::Place;
use crate::kernel::{Element, Part};
use crate::memory::AllocationRef;
use crate::{Access, ArgumentKind, Error, ReadGuard, Result, View, ViewMut, WriteGuard};

/// A step of the host's.
pub(super) type HostStep =
    Box<dyn FnMut(&HostMemory<'_>) -> std::result::Result<(), Box<dyn std::error::Error + Send + Sync>> + Send>;

/// The memory that a step of the host's was given, by the positions of its arguments.
pub struct HostMemory<'a> {
    step: &'a str,
    /// By position: the buffers among the arguments.
    parts: Vec<Option<(&'a AllocationRef, Part)>>,
}

impl<'a> HostMemory<'a> {
    pub(super) fn new(step: &'a str, parts: Vec<Option<(&'a AllocationRef, Part)>>) -> HostMemory<'a> {
        HostMemory { step, parts }
    }

    /// The elements of an argument.
    ///
    /// # Errors
    /// [`Error::ArgumentKind`] for an argument that is no buffer, or none; [`Error::ArgumentType`] for elements of another type;
    /// [`Error::BufferInUse`] while a guard of the host's for writing lives; else as [`Buffer::read`](crate::Buffer::read).
    pub fn read<T: Pod>(&self, position: usize) -> Result<ReadGuard<'_, T>> {
        let (allocation, part) = self.part::<T>(position)?;
        View::new(allocation, part.offset, part.bytes / size_of::<T>()).read()
    }

    /// The elements of an argument that was passed for writing.
    ///
    /// # Errors
    /// [`Error::ArgumentReadOnly`] for an argument that was passed for reading; [`Error::BufferInUse`] while any guard of the host's lives;
    /// else as [`HostMemory::read`].
    pub fn write<T: Pod>(&self, position: usize) -> Result<WriteGuard<'_, T>> {
        let (allocation, part) = self.part::<T>(position)?;
        if !part.writable {
            let place = Box::new(self.place(position));
            return Err(Error::ArgumentReadOnly { place, access: Access::ReadWrite, got: "a buffer for reading" });
        }
        ViewMut::new(allocation, part.offset, part.bytes / size_of::<T>()).into_write()
    }

    fn part<T: Pod>(&self, position: usize) -> Result<(&'a AllocationRef, Part)> {
        let part = self.parts.get(position).copied().flatten();
        let Some((allocation, part)) = part else {
            let place = Box::new(self.place(position));
            return Err(Error::ArgumentKind { place, wanted: ArgumentKind::Buffer, got: "no buffer" });
        };
        let asked = Element::of::<T>();
        if asked != part.element {
            let (wanted, got) = (part.element.name.to_owned(), asked.name.to_owned());
            return Err(Error::ArgumentType { place: Box::new(self.place(position)), wanted, got });
        }
        Ok((allocation, part))
    }

    fn place(&self, position: usize) -> Place {
        Place { kernel: self.step.to_owned(), argument: "of a step of the host's".to_owned(), position }
    }
}

impl fmt::Debug for HostMemory<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostMemory").field("step", &self.step).field("arguments", &self.parts.len()).finish()
    }
}
