//! Timing: samples and their spread, calls by the number, two sides in turns.
//!
//! Medians and percentiles of samples, never their mean, since what disturbs a measurement only ever makes it longer. A call far shorter than
//! the clock's resolution is timed by the number, and a sample is their mean. Sides that are compared take turns in one process, so that a
//! noisy machine disturbs both alike.

use std::fmt;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::Point;

/// Samples of one quantity, in order of size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The best of them: what disturbs a measurement only ever makes it worse.
    pub best: f64,
    /// Half of the samples lie below.
    pub median: f64,
    /// A tenth of the samples lies below.
    pub p10: f64,
    /// A tenth of the samples lies above.
    pub p90: f64,
    /// A hundredth of the samples lies on the bad side; the worst when there are less than a hundred.
    pub p99: f64,
    /// How many there are.
    pub samples: usize,
}

impl Spread {
    /// Of these values.
    ///
    /// # Panics
    /// When there are none.
    pub fn of(mut values: Vec<f64>) -> Spread {
        assert!(!values.is_empty(), "a spread of no samples");
        values.sort_by(f64::total_cmp);
        let at = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
        let p99 = values[(values.len() * 99).div_ceil(100) - 1];
        Spread { best: values[0], median: at(0.5), p10: at(0.1), p90: at(0.9), p99, samples: values.len() }
    }
}

impl Spread {
    /// Of one by the samples: a rate of times. The good side stays the good side, and so `best` is the most.
    pub fn inverse(self) -> Spread {
        let Spread { best, median, p10, p90, p99, samples } = self;
        Spread { best: 1.0 / best, median: 1.0 / median, p10: 1.0 / p90, p90: 1.0 / p10, p99: 1.0 / p99, samples }
    }
}

/// The outcome of [`paired`].
#[derive(Clone, Copy, Debug)]
pub struct Ratio {
    /// Median time of one call of ours.
    pub ours: Duration,
    /// The shortest of ours.
    pub fastest: Duration,
    /// Median time of one call of the peer's.
    pub peer: Duration,
    /// The rounds' ratios, ours to the peer's.
    pub ratio: Spread,
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Spread { median, p10, p90, .. } = self.ratio;
        write!(f, "ours {:.2?}, peer {:.2?}, ratio {median:.3} ({p10:.3} to {p90:.3})", self.ours, self.peer)
    }
}

/// Times `ours` and `peer` in turn: `rounds` times `calls` calls of each, after one round that does not count.
pub fn paired(rounds: usize, calls: u32, mut ours: impl FnMut(), mut peer: impl FnMut()) -> Ratio {
    let time = |side: &mut dyn FnMut()| {
        let start = Instant::now();
        for _ in 0..calls {
            side();
        }
        Ok::<_, std::convert::Infallible>(start.elapsed() / calls)
    };
    let Ok(ratio) = alternated(rounds, || time(&mut ours), || time(&mut peer));
    ratio
}

/// As [`paired`], for sides that tell what of a turn counts.
///
/// # Errors
/// The first of a side's.
pub fn alternated<E>(
    rounds: usize,
    mut ours: impl FnMut() -> Result<Duration, E>,
    mut peer: impl FnMut() -> Result<Duration, E>,
) -> Result<Ratio, E> {
    ours()?;
    peer()?;
    let (mut mine, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        mine.push(ours()?.as_secs_f64());
        theirs.push(peer()?.as_secs_f64());
    }
    let ratio = Spread::of(mine.iter().zip(&theirs).map(|(ours, peer)| ours / peer).collect());
    let (mine, theirs) = (Spread::of(mine), Spread::of(theirs));
    let [ours, fastest, peer] = [mine.median, mine.best, theirs.median].map(Duration::from_secs_f64);
    Ok(Ratio { ours, fastest, peer, ratio })
}

/// How long [`Calls`] measures.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Turns of each number of calls.
    pub rounds: usize,
    /// How long a turn of the largest number takes at least.
    pub turn: Duration,
    /// Calls that are timed one by one, for the 99th percentile of single calls; 0 where a call is too short to be timed.
    pub single: usize,
}

/// A call that was made by the number, the number growing.
#[derive(Clone, Debug)]
pub struct Calls {
    /// Seconds of a call: of single ones, or the mean of a turn.
    pub seconds: Spread,
    /// Calls of a turn and the seconds of the fastest.
    pub points: Vec<Point>,
    /// Calls of the longest turn.
    pub most: u64,
}

/// The most calls of a turn.
const MOST_CALLS: u64 = 1 << 20;

impl Calls {
    /// Times `run`, which makes so many calls and tells how long they took. Turns until one is long enough are the warm-up.
    ///
    /// # Errors
    /// The first of `run`'s.
    pub fn time<E>(effort: Effort, mut run: impl FnMut(u64) -> Result<Duration, E>) -> Result<Calls, E> {
        let mut most = 16;
        while run(most)? < effort.turn && most < MOST_CALLS {
            most *= 2;
        }
        let sizes = [most / 16, most / 4, most];
        let mut turns = [const { Vec::new() }; 3];
        for _ in 0..effort.rounds {
            for (&size, times) in sizes.iter().zip(&mut turns) {
                times.push(run(size)?.as_secs_f64());
            }
        }
        let fastest = |times: &Vec<f64>| times.iter().copied().fold(f64::INFINITY, f64::min);
        let points =
            sizes.iter().zip(&turns).map(|(&size, times)| Point { work: size as f64, seconds: fastest(times) });
        let points = points.collect();
        let samples = if effort.single == 0 {
            turns[2].iter().map(|seconds| seconds / most as f64).collect()
        } else {
            (0..effort.single).map(|_| run(1).map(|time| time.as_secs_f64())).collect::<Result<_, E>>()?
        };
        Ok(Calls { seconds: Spread::of(samples), points, most })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles() {
        let upto = |n: u32| Spread::of((1..=n).rev().map(f64::from).collect());
        for (n, median, p10, p90, p99) in [
            (1, 1.0, 1.0, 1.0, 1.0),
            (11, 6.0, 2.0, 10.0, 11.0),
            (100, 51.0, 11.0, 90.0, 99.0),
            (1000, 501.0, 101.0, 900.0, 990.0),
        ] {
            assert_eq!(upto(n), Spread { best: 1.0, median, p10, p90, p99, samples: n as usize }, "{n}");
        }
    }

    #[test]
    fn calls_are_made_in_growing_numbers() {
        let effort = Effort { rounds: 3, turn: Duration::from_micros(100), single: 0 };
        let Ok(calls) = Calls::time(effort, |n| Ok::<_, std::convert::Infallible>(Duration::from_micros(n)));
        assert_eq!(calls.most, 128);
        let points: Vec<(f64, f64)> = calls.points.iter().map(|point| (point.work, point.seconds)).collect();
        assert_eq!(points, [(8.0, 8e-6), (32.0, 32e-6), (128.0, 128e-6)]);
        assert_eq!((calls.seconds.median, calls.seconds.samples), (1e-6, 3));
        let Ok(single) = Calls::time(Effort { single: 7, ..effort }, |n| {
            Ok::<_, std::convert::Infallible>(Duration::from_micros(n))
        });
        assert_eq!(single.seconds.samples, 7);
    }

    /// Sides take turns; what does not count comes first.
    #[test]
    fn sides_alternate() {
        let order = std::cell::RefCell::new(String::new());
        let side = |name, time| {
            order.borrow_mut().push(name);
            Ok::<_, std::convert::Infallible>(Duration::from_secs(time))
        };
        let Ok(ratio) = alternated(3, || side('a', 3), || side('b', 2));
        assert_eq!(order.borrow().as_str(), "abababab");
        assert_eq!((ratio.ours.as_secs(), ratio.peer.as_secs(), ratio.ratio.median), (3, 2, 1.5));
    }
}
