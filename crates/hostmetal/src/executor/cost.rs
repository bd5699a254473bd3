//! What waves take, by what was measured of their pipelines, and what follows from it: whether a wave is shared, with how many workers, in which parts.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A wave that is expected to take longer than this many nanoseconds on one worker is shared.
pub(super) const WORTH_SHARING: u64 = 30_000;
/// A worker comes for so many nanoseconds of a shared wave: what it takes to wake it and to bring its part of the data to its core. Measured on 16
/// and 32 cores (docs/HOSTMETAL.md).
pub(super) const WORTH_COMING: u64 = 15_000;
/// Chunks per worker: so many that nobody waits long for the last one.
const CHUNKS: u64 = 8;
/// A chunk shall take no more than about this many nanoseconds, if it is of more than so many threadgroups: what was measured of a few threads may
/// tell far too much.
const LONG: u64 = 80_000;
const FEW: u64 = 16;
/// Cores that share data wait for each other's caches: what a small wave takes that is shared may be several times of what it takes on one worker. So
/// it begins on one, as if it were not worth sharing, once in so many times; and is small if not all would come if it took an eighth of what is expected.
const TRIAL: u32 = 64;
const DOUBT: u64 = 8;

/// What threads of a pipeline take.
pub(crate) struct Cost {
    /// Picoseconds of one, 0 before the first run.
    thread: AtomicU64,
    /// Waves that might have been trials.
    doubtful: AtomicU32,
}

impl Cost {
    pub(crate) const fn unknown() -> Cost {
        Cost { thread: AtomicU64::new(0), doubtful: AtomicU32::new(0) }
    }

    /// Nanoseconds of so many threads on one worker; None before the first run.
    pub(super) fn of(&self, threads: u64) -> Option<u64> {
        let cost = self.thread.load(Ordering::Relaxed);
        (cost != 0).then(|| threads.saturating_mul(cost) / 1000)
    }

    /// Remembers that so many threads took `time` nanoseconds.
    pub(super) fn learn(&self, threads: f64, time: u64) {
        let cost = picoseconds(threads, time);
        let old = self.thread.load(Ordering::Relaxed);
        self.thread
            .store(if old == 0 { cost } else { old.saturating_mul(3).saturating_add(cost) / 4 }, Ordering::Relaxed);
    }

    /// Remembers that so many threads took `time` nanoseconds on one worker, if that is less than was known.
    pub(super) fn correct(&self, threads: f64, time: u64) {
        self.thread.fetch_min(picoseconds(threads, time), Ordering::Relaxed);
    }

    /// Whether a wave that is expected to take so many nanoseconds is to begin on one of so many workers, though it is worth sharing.
    pub(super) fn tries(&self, expected: u64, workers: u64) -> bool {
        (WORTH_SHARING..DOUBT * WORTH_COMING * workers).contains(&expected)
            && self.doubtful.fetch_add(1, Ordering::Relaxed) % TRIAL == TRIAL - 1
    }
}

fn picoseconds(threads: f64, time: u64) -> u64 {
    ((time as f64 * 1000.0 / threads.max(1.0)) as u64).max(1)
}

/// How many of so many workers, 2 at least, shall run those threadgroups of a wave, which with those before them are expected to take so many
/// nanoseconds on one, and how many threadgroups they take at a time.
pub(super) fn portions(groups: Range<u64>, expected: Option<u64>, workers: u64) -> (u64, u64) {
    let left = groups.end - groups.start;
    let Some(expected) = expected.filter(|expected| *expected > 0) else {
        return (workers, (left / (workers * CHUNKS)).max(1));
    };
    let time = u128::from(expected) * u128::from(left) / u128::from(groups.end);
    let come = ((time / u128::from(WORTH_COMING)) as u64).clamp(2, workers);
    let longest = (u128::from(groups.end) * u128::from(LONG) / u128::from(expected)).min(u64::MAX.into()) as u64;
    (come, (left / (come * CHUNKS)).clamp(1, longest.max(FEW)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn portions_follow_what_is_expected() {
        const MICROSECOND: u64 = 1000;
        // The threadgroups, what all take, the workers there are; how many come, and what they take at a time.
        let cases = [
            // Nobody knows.
            (0..256, None, 16, (16, 2)),
            (0..3, None, 16, (16, 1)),
            // Two at least: what is left was expected to be done by now.
            (0..256, Some(30), 16, (2, 16)),
            (255..256, Some(30), 16, (2, 1)),
            // One for each 15 us.
            (0..256, Some(45), 16, (3, 10)),
            (0..256, Some(165), 16, (11, 2)),
            (128..256, Some(165), 16, (5, 3)),
            // As many as there are.
            (0..256, Some(10_000), 16, (16, 2)),
            (0..256, Some(10_000), 2, (2, 16)),
            (0..65536, Some(10_000), 4, (4, 524)),
            // However many threadgroups: no more than 80 us at a time, or 16 of them.
            (0..1 << 40, Some(1 << 40), 4, (4, 80)),
            (0..1 << 20, Some(1 << 30), 4, (4, 16)),
            (0..16, Some(16_000), 2, (2, 1)),
            (0..u64::MAX, Some(u64::MAX / MICROSECOND), 4, (4, 80_000)),
        ];
        for (groups, expected, workers, portions) in cases {
            let time = expected.map(|time: u64| time * MICROSECOND);
            assert_eq!(
                super::portions(groups.clone(), time, workers),
                portions,
                "{groups:?} of {expected:?} us, {workers} workers"
            );
        }
    }

    #[test]
    fn a_small_wave_is_tried_alone_once_in_64() {
        let cost = Cost::unknown();
        assert_eq!(cost.of(1000), None);
        cost.learn(1000.0, 100_000);
        for (expected, workers, trials) in [
            (WORTH_SHARING - 1, 16, 0),
            (WORTH_SHARING, 2, 10),
            (DOUBT * 2 * WORTH_COMING - 1, 2, 10),
            (DOUBT * 2 * WORTH_COMING, 2, 0),
            (DOUBT * 2 * WORTH_COMING, 3, 10),
        ] {
            let tried = (0..640).filter(|_| cost.tries(expected, workers)).count();
            assert_eq!(tried, trials, "{expected} ns, {workers} workers");
        }
        assert_eq!(cost.of(1000), Some(100_000));
        // What it took alone counts in full if it was less, what it took with others a quarter.
        cost.correct(500.0, 5_000);
        assert_eq!(cost.of(1000), Some(10_000));
        cost.correct(1000.0, 20_000);
        assert_eq!(cost.of(1000), Some(10_000));
        cost.learn(1000.0, 50_000);
        assert_eq!(cost.of(1000), Some(20_000));
    }
}
