//! [`Histogram`]: how values are distributed, in buckets whose width grows with the value.
//!
//! 32 buckets for each power of two, as HdrHistogram has them (<https://hdrhistogram.github.io/HdrHistogram/>), so that a percentile is wrong by
//! at most [`Histogram::RELATIVE_ERROR`]; values below 64 are exact. The crate `hdrhistogram` wants `&mut` to record, or a recorder for each thread, and
//! completions come from threads of Metal's that nobody can give one to. Hence these buckets, which are recorded in without a lock.
//!
//! Order. Every access is relaxed. Each bucket only counts up, and a reader takes the number of values from the buckets themselves, so that a
//! distribution is always one of values that were recorded. A value is in every distribution that is read after its recording happened before (the
//! submission was waited for: a lock of its ending lies between), because reads that come after a write in that
//! order see it or a later one. The sum and the largest value may be ahead of the buckets, or behind, by those being recorded meanwhile.
//! `tests/models.rs` runs it under shuttle, which is why its other tests are beside it (`percentiles.rs`).

use std::time::Duration;

use crate::sync::{AtomicU64, Ordering};

/// Buckets of a power of two, and its logarithm.
const PARTS: usize = 1 << PART_BITS;
const PART_BITS: u32 = 5;
/// Enough for every `u64`.
pub(super) const BUCKETS: usize = (64 - PART_BITS as usize + 1) * PARTS;

/// A histogram that is being recorded.
pub(crate) struct Recorded {
    buckets: Box<[AtomicU64]>,
    sum: AtomicU64,
    largest: AtomicU64,
}

impl Default for Recorded {
    fn default() -> Recorded {
        let buckets = (0..BUCKETS).map(|_| AtomicU64::new(0)).collect();
        Recorded { buckets, sum: AtomicU64::new(0), largest: AtomicU64::new(0) }
    }
}

impl Recorded {
    pub(crate) fn record(&self, nanoseconds: u64) {
        self.sum.fetch_add(nanoseconds, Ordering::Relaxed);
        // Most values are not the largest, and looking is cheaper than writing.
        if nanoseconds > self.largest.load(Ordering::Relaxed) {
            self.largest.fetch_max(nanoseconds, Ordering::Relaxed);
        }
        self.buckets[bucket(nanoseconds)].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> Histogram {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counts = self.buckets.iter().enumerate().map(|(at, count)| (at, of(count)));
        let counts: Vec<(usize, u64)> = counts.filter(|(_, count)| *count > 0).collect();
        Histogram { counts, sum: of(&self.sum), largest: of(&self.largest) }
    }
}

/// The bucket of a value.
pub(super) fn bucket(value: u64) -> usize {
    if value < PARTS as u64 {
        return value as usize;
    }
    let shift = value.ilog2() - PART_BITS;
    (shift as usize + 1) * PARTS + (value >> shift) as usize % PARTS
}

/// The smallest and the largest value of a bucket.
pub(super) fn bounds(bucket: usize) -> (u64, u64) {
    let (power, part) = (bucket / PARTS, (bucket % PARTS) as u64);
    if power == 0 {
        return (part, part);
    }
    let shift = power - 1;
    let first = (PARTS as u64 + part) << shift;
    (first, first + ((1u64 << shift) - 1))
}

/// How durations are distributed, as it was when it was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// By bucket, those that hold something.
    counts: Vec<(usize, u64)>,
    sum: u64,
    largest: u64,
}

impl Histogram {
    /// By how much, as a part of the true value, a percentile may be wrong.
    pub const RELATIVE_ERROR: f64 = 1.0 / (2 * PARTS) as f64;

    /// How many durations.
    pub fn count(&self) -> u64 {
        self.counts.iter().map(|(_, count)| count).sum()
    }

    /// All of them together.
    pub fn sum(&self) -> Duration {
        Duration::from_nanos(self.sum)
    }

    /// The longest, exactly; zero when there is none.
    pub fn max(&self) -> Duration {
        Duration::from_nanos(self.largest)
    }

    /// The shortest duration that is at least as long as `percent` of a hundred of all (the nearest rank), to
    /// [`Histogram::RELATIVE_ERROR`]; `None` when there is none. 50 is the median; what is not within 0 to 100 is taken as the nearer of these.
    pub fn percentile(&self, percent: f64) -> Option<Duration> {
        let count = self.count();
        let rank = (percent / 100.0 * count as f64).ceil().clamp(1.0, count.max(1) as f64) as u64;
        let mut passed = 0;
        let (bucket, _) = self.counts.iter().find(|(_, count)| {
            passed += count;
            passed >= rank
        })?;
        let (first, last) = bounds(*bucket);
        // Where something is being recorded the largest may lie below its bucket.
        let middle = first + (last - first) / 2;
        Some(Duration::from_nanos(if self.largest < first { middle } else { middle.min(self.largest) }))
    }

    /// How many lie below 2 to the power of `exponent` nanoseconds, exactly.
    #[cfg(any(feature = "otlp", feature = "prometheus"))]
    pub(crate) fn below_power(&self, exponent: u32) -> u64 {
        self.counts.iter().filter(|(at, _)| bounds(*at).1 < 1 << exponent).map(|(_, count)| count).sum()
    }
}
