//! What the benchmarks share: a device behind the C ABI, the OpenCL peer, and alternated timing of two sides.
//!
//! Criterion measures one side's cost. A comparison with a peer is [`paired`]: A B A B in one process, so that a noisy
//! machine disturbs both sides alike, reported as the ratio of medians with its spread.
#![allow(unsafe_code, reason = "the C ABI itself is what is measured")]

pub mod metal;
pub mod opencl;

use std::time::{Duration, Instant};

/// The outcome of [`paired`].
#[derive(Clone, Copy, Debug)]
pub struct Ratio {
    /// Median time of one call of ours.
    pub ours: Duration,
    /// Median time of one call of the peer's.
    pub peer: Duration,
    /// Median of the rounds' ratios, ours to the peer's.
    pub median: f64,
    /// The ratios' 10th and 90th percentiles.
    pub spread: (f64, f64),
}

impl std::fmt::Display for Ratio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (low, high) = self.spread;
        write!(f, "ours {:.2?}, peer {:.2?}, ratio {:.3} ({low:.3} to {high:.3})", self.ours, self.peer, self.median)
    }
}

/// Times `ours` and `peer` in turn: `rounds` times `calls` calls of each, after one round that does not count.
pub fn paired(rounds: usize, calls: u32, mut ours: impl FnMut(), mut peer: impl FnMut()) -> Ratio {
    let time = |side: &mut dyn FnMut()| {
        let start = Instant::now();
        for _ in 0..calls {
            side();
        }
        start.elapsed() / calls
    };
    time(&mut ours);
    time(&mut peer);
    let mut times: Vec<(Duration, Duration)> = (0..rounds).map(|_| (time(&mut ours), time(&mut peer))).collect();
    let mut ratios: Vec<f64> = times.iter().map(|(ours, peer)| ours.as_secs_f64() / peer.as_secs_f64()).collect();
    ratios.sort_by(f64::total_cmp);
    let at = |share: f64| ratios[((ratios.len() - 1) as f64 * share).round() as usize];
    let spread = (at(0.1), at(0.9));
    let median = at(0.5);
    times.sort_by_key(|pair| pair.0);
    let ours = times[times.len() / 2].0;
    times.sort_by_key(|pair| pair.1);
    Ratio { ours, peer: times[times.len() / 2].1, median, spread }
}
