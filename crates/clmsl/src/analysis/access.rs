//! How kernels reach memory: how far apart the addresses of neighbouring work-items are.
//!
//! Neighbours are work-items of one group whose ids in dimension 0 differ by 1, in the same rounds of the loops around the
//! place; further walks have those whose ids in dimensions 1 and 2 do, for kernels that ask for these. Of each integer
//! and pointer the walk (`walk`, `value`) knows by how much it differs between them (`step`), through variables by a fixed
//! point: a variable that is assigned more than once, and once where not all neighbours come (behind a condition that differs,
//! in a loop that some leave earlier), is unknown. Called functions are walked with what they are passed (`call`). What is not
//! seen through is unknown, never guessed.

use std::collections::{HashMap, HashSet};
use std::fmt;

use serde::Serialize;

use super::step::{Root, SAME, Step, Value};
use crate::reflect::AddressSpace;
use crate::source::Span;
use crate::types::Space;

/// A place in the source of a kernel, or of a function that it calls, that reads or writes global, constant or local memory. A place
/// that calls reach with several arguments or patterns is there once for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct MemoryAccess {
    /// Position of the kernel's parameter that the address comes from; `None` for a `__local` variable, and where it is not known.
    pub argument: Option<u32>,
    /// The memory.
    pub address_space: AddressSpace,
    /// It may read.
    pub reads: bool,
    /// It may write.
    pub writes: bool,
    /// Bytes that one work-item reads or writes there; 0 where that is not known.
    pub bytes: u64,
    /// How the addresses of neighbours lie.
    pub pattern: AccessPattern,
    /// How the addresses of neighbours in dimension 1 (y) lie: of work-items of one group whose ids differ by 1 there and not elsewhere. `None` in
    /// a kernel of whose accesses each is [`AccessPattern::Uniform`] so, as in one dimension. Of a place that calls reach with several,
    /// [`AccessPattern::Unknown`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern_y: Option<AccessPattern>,
    /// The same in dimension 2 (z). hostmetal tells nothing of it: all that is read off compiled code is [`AccessPattern::Unknown`] there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern_z: Option<AccessPattern>,
    /// Where. [`Sources::location`](crate::Sources::location) has the line.
    #[serde(skip)]
    pub span: Span,
}

/// How the addresses of neighbouring work-items lie: of those of one group whose ids in dimension 0 differ by 1, or as
/// [`MemoryAccess::pattern_y`] in dimension 1, or as [`MemoryAccess::pattern_z`] in dimension 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AccessPattern {
    /// All at one address.
    Uniform,
    /// One behind the other, without gaps.
    Contiguous,
    /// At this distance in bytes, which is not that of [`AccessPattern::Contiguous`]; negative if they go down.
    Strided(i64),
    /// At one distance for all, which the text does not tell: arguments decide it.
    Even,
    /// The address depends on what was read from memory.
    Gather,
    /// The text does not tell, as far as the analysis sees.
    Unknown,
}

impl fmt::Display for AccessPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AccessPattern::Uniform => f.write_str("uniform"),
            AccessPattern::Contiguous => f.write_str("contiguous"),
            AccessPattern::Strided(1) => f.write_str("1 byte apart"),
            AccessPattern::Strided(bytes) => write!(f, "{bytes} bytes apart"),
            AccessPattern::Even => f.write_str("evenly apart, by arguments"),
            AccessPattern::Gather => f.write_str("by data"),
            AccessPattern::Unknown => f.write_str("unknown"),
        }
    }
}

impl MemoryAccess {
    /// An access of so many bytes; `None` where nobody is interested: private memory, and tables of the program's own.
    pub(super) fn new(
        address: Value,
        space: Space,
        bytes: u64,
        (reads, writes): (bool, bool),
        span: Span,
    ) -> Option<MemoryAccess> {
        let address_space = match space {
            Space::Global => AddressSpace::Global,
            Space::Constant if address.root == Root::Variable => return None,
            Space::Constant => AddressSpace::Constant,
            Space::Local => AddressSpace::Local,
            Space::Private | Space::Unset | Space::Var(_) => return None,
        };
        let pattern = match address.step {
            SAME => AccessPattern::Uniform,
            Step::Known(step) if bytes > 0 && i128::from(step) == i128::from(bytes) => AccessPattern::Contiguous,
            Step::Known(step) => AccessPattern::Strided(step),
            Step::Even => AccessPattern::Even,
            Step::Data => AccessPattern::Gather,
            Step::None | Step::Unknown => AccessPattern::Unknown,
        };
        let argument = match address.root {
            Root::Parameter(index) => Some(index),
            Root::None | Root::Variable | Root::Unknown => None,
        };
        Some(MemoryAccess {
            argument,
            address_space,
            reads,
            writes,
            bytes,
            pattern,
            pattern_y: None,
            pattern_z: None,
            span,
        })
    }
}

/// What the patterns of accesses are in another dimension, where a walk of it found these; `None` where all are uniform.
pub(super) fn patterns(accesses: &[MemoryAccess], walked: &[MemoryAccess]) -> Option<Vec<AccessPattern>> {
    let place = |access: &MemoryAccess| MemoryAccess {
        pattern: AccessPattern::Unknown,
        pattern_y: None,
        pattern_z: None,
        ..*access
    };
    let mut patterns: HashMap<MemoryAccess, AccessPattern> = HashMap::with_capacity(walked.len());
    for access in walked {
        let known = patterns.entry(place(access)).or_insert(access.pattern);
        if *known != access.pattern {
            *known = AccessPattern::Unknown;
        }
    }
    let pattern = |access: &MemoryAccess| patterns.get(&place(access)).copied().unwrap_or(AccessPattern::Unknown);
    let all: Vec<AccessPattern> = accesses.iter().map(pattern).collect();
    all.iter().any(|pattern| *pattern != AccessPattern::Uniform).then_some(all)
}

/// In the order of the source, nothing twice.
pub(super) fn sort(accesses: &mut Vec<MemoryAccess>) {
    let mut seen = HashSet::with_capacity(accesses.len());
    accesses.retain(|access| seen.insert(*access));
    accesses.sort_by_key(|access| (access.span.file, access.span.lo, access.span.hi));
}
