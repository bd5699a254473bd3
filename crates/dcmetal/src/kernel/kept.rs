//! [`Kept`]: arguments that outlive the call they were given to, for graphs.

use std::marker::PhantomData;

use super::args::{Arg, Bytes, Element, Passed, PassedBuffer, TransientUse};
use crate::memory::AllocationRef;
use crate::{Sampler, Texture};

/// An argument that keeps what it is about.
pub(crate) enum Kept {
    Buffer { allocation: AllocationRef, part: Part },
    Transient(TransientUse),
    Texture { texture: Texture, writable: bool },
    Value { bytes: Bytes, element: Option<Element>, lanes: usize },
    Threadgroup { bytes: u64 },
    Sampler(Sampler),
}

/// A part of a buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
    pub(crate) writable: bool,
    /// As [`Arg::overwrite`] has it.
    pub(crate) overwritten: bool,
    pub(crate) element: Element,
}

impl TransientUse {
    /// The part of an allocation in which the memory begins at `start`.
    pub(crate) fn part_at(&self, start: usize) -> Part {
        let &TransientUse { offset, bytes, element, reads, writes, .. } = self;
        Part { offset: start + offset, bytes, writable: writes, overwritten: writes && !reads, element }
    }
}

/// The memory that an argument is about.
pub(crate) enum KeptMemory<'a> {
    /// All of a texture, or a part of a buffer.
    Allocation {
        allocation: &'a AllocationRef,
        part: Option<Part>,
        writable: bool,
    },
    Transient(TransientUse),
}

impl Kept {
    pub(crate) fn new(arg: &Arg<'_>) -> Kept {
        match &arg.passed {
            &Passed::Buffer(PassedBuffer { allocation, offset, bytes, writable, overwritten, element, .. }) => {
                let part = Part { offset, bytes, writable, overwritten, element };
                Kept::Buffer { allocation: allocation.clone(), part }
            }
            Passed::Value { bytes, element, lanes } => {
                Kept::Value { bytes: bytes.clone(), element: *element, lanes: *lanes }
            }
            Passed::Threadgroup { bytes } => Kept::Threadgroup { bytes: *bytes },
            Passed::Texture { texture, writable } => Kept::Texture { texture: texture.share(), writable: *writable },
            Passed::Sampler(sampler) => Kept::Sampler(sampler.share()),
            Passed::Transient(piece) => Kept::Transient(*piece),
        }
    }

    pub(crate) fn memory(&self) -> Option<KeptMemory<'_>> {
        match self {
            Kept::Buffer { allocation, part } => {
                Some(KeptMemory::Allocation { allocation, part: Some(*part), writable: part.writable })
            }
            Kept::Texture { texture, writable } => {
                Some(KeptMemory::Allocation { allocation: &texture.allocation, part: None, writable: *writable })
            }
            Kept::Transient(piece) => Some(KeptMemory::Transient(*piece)),
            Kept::Value { .. } | Kept::Threadgroup { .. } | Kept::Sampler(_) => None,
        }
    }

    /// The argument, with the graph's memory at the allocation and offset that `place` tells.
    pub(crate) fn arg<'a>(&'a self, place: impl FnOnce(&TransientUse) -> (&'a AllocationRef, usize)) -> Arg<'a> {
        let buffer = |allocation, Part { offset, bytes, writable, overwritten, element }| {
            let borrow = PhantomData;
            Passed::Buffer(PassedBuffer { allocation, offset, bytes, writable, overwritten, element, borrow })
        };
        let passed = match self {
            Kept::Buffer { allocation, part } => buffer(allocation, *part),
            Kept::Transient(piece) => {
                let (allocation, start) = place(piece);
                buffer(allocation, piece.part_at(start))
            }
            Kept::Texture { texture, writable } => Passed::Texture { texture, writable: *writable },
            Kept::Value { bytes, element, lanes } => {
                Passed::Value { bytes: bytes.clone(), element: *element, lanes: *lanes }
            }
            Kept::Threadgroup { bytes } => Passed::Threadgroup { bytes: *bytes },
            Kept::Sampler(sampler) => Passed::Sampler(sampler),
        };
        Arg { passed }
    }
}
