//! How much work a work-item has: operations, and bytes that it moves to and from global memory. [`Work`] says what is counted.

use std::cmp::Ordering;
use std::fmt;

use serde::Serialize;

use crate::source::Span;

/// Operations, and bytes of global memory. Where a number is too large for its type, it is that type's largest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Floating-point operations: `+`, `-`, `*` and `/` are one, `fma` and `mad` two, of each component.
    pub flops: u64,
    /// Values of functions such as `exp`, `sin`, `sqrt` and `pow`, of each component.
    pub special: u64,
    /// Operations on integers, without comparisons. Those that compute an index count, the address that `[]` makes of it does not.
    pub integer: u64,
    /// Bytes read from global memory.
    pub bytes_read: u64,
    /// Bytes written to global memory.
    pub bytes_written: u64,
}

impl Counts {
    /// Bytes read and written.
    pub fn bytes(&self) -> u64 {
        self.bytes_read.saturating_add(self.bytes_written)
    }

    pub(super) fn flops(flops: u64) -> Counts {
        Counts { flops, ..Counts::default() }
    }

    pub(super) fn special(special: u64) -> Counts {
        Counts { special, ..Counts::default() }
    }

    pub(super) fn integer(integer: u64) -> Counts {
        Counts { integer, ..Counts::default() }
    }

    /// With so many times those of another; whether it could be told.
    fn add(&mut self, other: &Counts, times: u64) -> bool {
        let Counts { flops, special, integer, bytes_read, bytes_written } = self;
        let pairs = [
            (flops, other.flops),
            (special, other.special),
            (integer, other.integer),
            (bytes_read, other.bytes_read),
            (bytes_written, other.bytes_written),
        ];
        let mut fits = true;
        for (sum, count) in pairs {
            let exact = count.checked_mul(times).and_then(|product| sum.checked_add(product));
            fits &= exact.is_some();
            *sum = exact.unwrap_or(u64::MAX);
        }
        fits
    }

    fn is_nothing(&self) -> bool {
        *self == Counts::default()
    }
}

/// What a work-item does, and the loops in it.
///
/// What is counted is what stands in the text. An addition, subtraction, multiplication or division of floating-point
/// numbers is one operation, `fma` and `mad` are two, of vectors each component's; a `double`'s or a `half`'s counts as a
/// `float`'s. Functions such as `exp` and `sqrt` are counted apart. Comparisons, minima, roundings, conversions, selections and
/// changes of a float's sign count as nothing, and so do numbers that the text computes. Bytes are those of the places that
/// read or write global memory ([`MemoryAccess`](crate::MemoryAccess)), as often as they stand there.
///
/// Branches count as taken, both sides of an `if` and all cases of a `switch`. Rounds of loops are multiplied where the text tells
/// them. Other loops are kept, each with the work of one round: how often it runs is a number of arguments or data. The condition in
/// front of a loop counts once more than its rounds, also where a `break` leaves it. What the text does not tell, as sums over a group
/// (`work_group_reduce_add`), is not in it but among [`KernelAnalysis::uncounted`](crate::KernelAnalysis::uncounted).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Work {
    /// Outside of `loops`; loops whose rounds the text tells are multiplied in.
    pub counts: Counts,
    /// Some of the counts, or of what tells how often `loops` are come to, stands behind a condition, or behind an early end of the function or loop, and
    /// counts as done all the same: they are the most there can be. Otherwise they are exact.
    pub conditional: bool,
    /// Those whose rounds the text does not tell, in the order in which they come; without those that have no work.
    pub loops: Vec<Loop>,
}

/// A loop whose rounds the text does not tell: arguments or data decide it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Loop {
    /// Where. [`Sources::location`](crate::Sources::location) has the line.
    #[serde(skip)]
    pub span: Span,
    /// The work of one round; in loops whose rounds the text tells, of one round in each of theirs.
    pub round: Work,
}

/// The most loops of a kernel's work.
const MOST_LOOPS: usize = 256;

impl Work {
    /// With that of another; whether it could be told.
    pub(super) fn add(&mut self, other: &Work) -> bool {
        let fits = self.counts.add(&other.counts, 1);
        self.conditional |= other.conditional;
        if other.loops.is_empty() {
            return fits;
        }
        if self.size() + other.size() > MOST_LOOPS {
            return false;
        }
        self.loops.extend_from_slice(&other.loops);
        fits
    }

    /// With so many times that of another; whether it could be told.
    pub(super) fn append(&mut self, mut other: Work, times: u64) -> bool {
        let mut fits = other.multiply(times);
        fits &= self.counts.add(&other.counts, 1);
        self.conditional |= other.conditional;
        if other.loops.is_empty() {
            return fits;
        }
        if self.size() + other.size() > MOST_LOOPS {
            return false;
        }
        self.loops.append(&mut other.loops);
        fits
    }

    fn multiply(&mut self, times: u64) -> bool {
        if times == 0 {
            *self = Work::default();
        }
        let once = std::mem::take(&mut self.counts);
        let fits = self.counts.add(&once, times);
        self.loops.iter_mut().fold(fits, |fits, inner| inner.round.multiply(times) && fits)
    }

    pub(super) fn is_nothing(&self) -> bool {
        self.counts.is_nothing() && self.loops.is_empty()
    }

    /// Whether it or the round of any loop in it has counts that are only the most there can be.
    pub fn is_conditional(&self) -> bool {
        self.conditional || self.loops.iter().any(|inner| inner.round.is_conditional())
    }

    /// The loops in it and in those.
    fn size(&self) -> usize {
        self.loops.iter().map(|inner| 1 + inner.round.size()).sum()
    }

    /// Visits it and the rounds of all loops, each with the loops around it.
    fn each<'w>(&'w self, around: &mut Vec<&'w Loop>, f: &mut dyn FnMut(&'w Work, &[&'w Loop])) {
        f(self, around);
        for inner in &self.loops {
            around.push(inner);
            inner.round.each(around, f);
            around.pop();
        }
    }

    /// Its floating-point operations per byte of global memory.
    ///
    /// Whatever the rounds of its loops are, it is between the least and the most that one of its parts has, because
    /// (a + c) / (b + d) is between a / b and c / d.
    pub fn intensity(&self) -> Intensity {
        let mut parts: Vec<(Ratio, Vec<&Loop>)> = Vec::new();
        self.each(&mut Vec::new(), &mut |work, around| {
            let ratio = Ratio { flops: work.counts.flops, bytes: work.counts.bytes() }.reduced();
            if ratio.flops > 0 || ratio.bytes > 0 {
                parts.push((ratio, around.to_vec()));
            }
        });
        let bytes = parts.iter().any(|(ratio, _)| ratio.bytes > 0);
        let (Some(least), Some(most)) = (parts.iter().map(|p| p.0).min(), parts.iter().map(|p| p.0).max()) else {
            return Intensity::NoMemory;
        };
        if !bytes {
            return Intensity::NoMemory;
        }
        if least == most {
            return Intensity::Exactly(least);
        }
        // Where all else is around one loop, that loop outweighs it in the end.
        let deepest = parts.iter().max_by_key(|(_, around)| around.len());
        let limit = deepest.filter(|(_, deepest)| {
            parts.iter().all(|(_, around)| around.iter().zip(deepest).all(|(a, b)| std::ptr::eq(*a, *b)))
        });
        let mut loops: Vec<Span> = Vec::new();
        for around in parts.iter().flat_map(|(_, around)| around) {
            if !loops.contains(&around.span) {
                loops.push(around.span);
            }
        }
        Intensity::Between { least, most, limit: limit.map(|(ratio, _)| *ratio), loops }
    }
}

/// Floating-point operations per byte of global memory.
///
/// That is the arithmetic intensity of the roofline model (Williams, Waterman and Patterson, "Roofline: An Insightful Visual
/// Performance Model for Multicore Architectures", CACM 52(4), 2009, <https://doi.org/10.1145/1498765.1498785>), whose own measure,
/// operational intensity, has the bytes that caches let through to memory. Caches are not modelled here, nor what a compiler
/// saves: memory moves less where neighbours or rounds meet the same bytes, and more where addresses lie apart. What operations and
/// bytes are, [`Work`] says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Intensity {
    /// Whatever the rounds of loops are.
    Exactly(Ratio),
    /// It depends on the rounds of loops.
    Between {
        /// It is never less.
        least: Ratio,
        /// It is never more.
        most: Ratio,
        /// What it comes near to as the innermost loop runs often; `None` where several loops stand beside each other.
        limit: Option<Ratio>,
        /// The loops. [`Sources::location`](crate::Sources::location) has the lines.
        #[serde(skip)]
        loops: Vec<Span>,
    },
    /// There is none: no byte of global memory is moved.
    NoMemory,
    /// Some places are not counted ([`KernelAnalysis::uncounted`](crate::KernelAnalysis::uncounted)): images,
    /// `async_work_group_copy` and `work_group_reduce_add`, whose bytes or operations the text does not tell, and calls of more than the analysis
    /// looks at.
    Unknown,
}

/// A number of operations per number of bytes, in lowest terms; infinite without bytes. It displays as a number of three decimals, and of more
/// where those do not have three significant digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Ratio {
    /// Operations.
    pub flops: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Ratio {
    /// As a number.
    pub fn value(self) -> f64 {
        self.flops as f64 / self.bytes as f64
    }

    fn reduced(self) -> Ratio {
        let (mut a, mut b) = (self.flops, self.bytes);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        match a {
            0 => self,
            a => Ratio { flops: self.flops / a, bytes: self.bytes / a },
        }
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Ratio) -> Ordering {
        let cross = |a: &Ratio, b: &Ratio| u128::from(a.flops) * u128::from(b.bytes);
        cross(self, other).cmp(&cross(other, self))
    }
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Ratio) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bytes {
            0 => f.write_str("without bound"),
            _ => {
                let value = self.value();
                let decimals = if self.flops > 0 { 2 - value.log10().floor() as i32 } else { 0 };
                let digits = format!("{value:.*}", decimals.max(3) as usize);
                f.write_str(digits.trim_end_matches('0').trim_end_matches('.'))
            }
        }
    }
}
