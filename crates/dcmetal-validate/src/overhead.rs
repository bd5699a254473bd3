//! What telemetry costs: the same launches on an accelerator that nobody asked for telemetry, and on others that were, in turns of one process.
//!
//! Telemetry works on the thread that submits and on those that complete, so what counts is the processor time of the whole process. What it
//! does depends on the rate (of many submissions few are timed), so the launches come at the rate that the claim is of, with sleep in
//! between: the difference of processor times, by the time that went by, is the share of a processor that telemetry takes. Two
//! sides without telemetry show what the machine's noise alone makes of that.

use std::time::{Duration, Instant};

use dcmetal::telemetry::Telemetry;
use dcmetal::{Accelerator, Buffer, Grid, Kernel, Result, Stream, StreamLimits, args};
use rustix::time::{ClockId, clock_gettime};

use crate::Refusal;
use crate::measure::Spread;
use crate::problems::Random;

/// Launches a second that the claim is of.
pub const RATE: f64 = 100_000.0;

/// Launches between two looks at whether it is too early for more: a sleep is seldom shorter than what these have.
const BURST: u32 = 10;
/// Turns after which the accelerators are made anew: where their memory lies makes some faster than others.
const TURNS: usize = 10;

/// Counts its launches.
const COUNT: &str = "kernel void count(device uint* y [[buffer(0)]]) { y[0] += 1u; }";

/// What an accelerator is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// No telemetry.
    Off,
    /// To count and measure.
    Counted,
    /// To record spans too, the last 1000.
    Spans,
}

/// The launches of a turn.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// So many.
    pub launches: u32,
    /// Of each submission.
    pub batch: u32,
    /// Launches a second at most; as fast as it goes when there is none.
    pub rate: Option<f64>,
}

/// What a side took of a turn, in seconds.
#[derive(Clone, Copy, Debug)]
struct Taken {
    wall: f64,
    processor: f64,
}

/// One side beside the first.
#[derive(Clone, Debug)]
pub struct Cost {
    /// What it was asked for.
    pub asked: Asked,
    /// Processor time beyond that of the first side, as a share of the time that the turn took.
    pub share: Spread,
    /// Between these lies the median of the share, with some 98 in 100 wherever of six looks it is asked for.
    pub median: (f64, f64),
    /// Processor time to that of the first side.
    pub processor: Spread,
    /// Time to that of the first side: for launches as fast as it goes.
    pub wall: Spread,
    /// Nanoseconds of processor time a launch beyond those of the first side.
    pub nanoseconds: Spread,
    /// Launches a second.
    pub rate: Spread,
    /// The least processor time of a turn, in seconds.
    pub least: f64,
}

/// An accelerator and what counts on it.
struct Side {
    asked: Asked,
    telemetry: Option<Telemetry>,
    kernel: Kernel,
    /// Where the launches of a submission are several.
    stream: Option<Stream>,
    y: Buffer<u32>,
    wanted: u32,
    launched: u64,
}

/// Times `rounds` turns of each side after one that does not count, and sets each side but the first beside the first.
///
/// # Errors
/// When the device fails, or a side launched or counted something else than it was given.
pub fn compare(asked: &[Asked], rounds: usize, load: Load, random: &mut Random) -> Result<Vec<Cost>, Refusal> {
    let mut turns = Turns::new(asked, load);
    turns.take(rounds, random)?;
    Ok(turns.costs())
}

/// Turns of several sides, of which more can be taken.
pub struct Turns<'a> {
    asked: &'a [Asked],
    load: Load,
    taken: Vec<Vec<Taken>>,
}

impl<'a> Turns<'a> {
    /// None yet.
    pub fn new(asked: &'a [Asked], load: Load) -> Turns<'a> {
        Turns { asked, load, taken: vec![Vec::new(); asked.len()] }
    }

    /// Times so many more.
    ///
    /// # Errors
    /// As [`compare`].
    pub fn take(&mut self, rounds: usize, random: &mut Random) -> Result<(), Refusal> {
        for first in (0..rounds).step_by(TURNS) {
            let mut sides = Vec::new();
            for asked in self.asked {
                let mut side = Side::new(*asked, self.load, random.word())?;
                side.turn(self.load)?;
                sides.push(side);
            }
            for round in first..(first + TURNS).min(rounds) {
                // Nobody is always behind the same other.
                for at in 0..sides.len() {
                    let at = (at + round) % sides.len();
                    self.taken[at].push(sides[at].turn(self.load)?);
                }
            }
            for side in &sides {
                side.verify()?;
            }
        }
        Ok(())
    }

    /// Each side but the first beside the first.
    pub fn costs(&self) -> Vec<Cost> {
        let off = &self.taken[0];
        let sides = self.asked.iter().zip(&self.taken).skip(1);
        sides.map(|(asked, own)| Cost::of(*asked, own, off, self.load)).collect()
    }
}

impl Cost {
    fn of(asked: Asked, own: &[Taken], off: &[Taken], load: Load) -> Cost {
        let of = |of: &dyn Fn(&Taken, &Taken) -> f64| own.iter().zip(off).map(|(own, off)| of(own, off)).collect();
        let launches = f64::from(load.launches);
        let shares: Vec<f64> = of(&|own, off| (own.processor - off.processor) / own.wall);
        Cost {
            asked,
            median: median(&shares),
            share: Spread::of(shares),
            processor: Spread::of(of(&|own, off| own.processor / off.processor)),
            wall: Spread::of(of(&|own, off| own.wall / off.wall)),
            nanoseconds: Spread::of(of(&|own, off| (own.processor - off.processor) / launches * 1e9)),
            rate: Spread::of(of(&|own, _| own.wall / launches)).inverse(),
            least: own.iter().map(|own| own.processor).fold(f64::INFINITY, f64::min),
        }
    }
}

/// Between which of the samples the median of what they are samples of lies, with 99.7 in 100, so that of six looks hardly one is wrong: as many of them lie below it as
/// heads fall, whatever their distribution.
fn median(samples: &[f64]) -> (f64, f64) {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len() as f64;
    let low = (count / 2.0 - 1.47 * count.sqrt()).max(0.0) as usize;
    (sorted[low], sorted[sorted.len() - 1 - low])
}

impl Side {
    fn new(asked: Asked, load: Load, from: u32) -> Result<Side> {
        let gpu = Accelerator::system_default()?;
        let telemetry = (asked != Asked::Off).then(|| gpu.telemetry());
        if let (Some(telemetry), Asked::Spans) = (&telemetry, asked) {
            telemetry.record_spans(1000);
        }
        let limits = StreamLimits { commands: load.batch as usize, ..StreamLimits::default() };
        Ok(Side {
            asked,
            telemetry,
            kernel: gpu.compile_msl(COUNT)?.kernel("count")?,
            stream: (load.batch > 1).then(|| gpu.stream(limits)),
            y: gpu.buffer_from(&[from])?,
            wanted: from,
            launched: 0,
        })
    }

    fn turn(&mut self, load: Load) -> Result<Taken, Refusal> {
        let (before, start) = (processor(), Instant::now());
        for at in 0..load.launches {
            if let (0, Some(rate)) = (at % BURST, load.rate) {
                let due = Duration::from_secs_f64(f64::from(at) / rate);
                std::thread::sleep(due.saturating_sub(start.elapsed()));
            }
            match &self.stream {
                Some(stream) => stream.launch(&self.kernel, Grid::linear(1), args![&mut self.y])?,
                None => drop(self.kernel.launch(Grid::linear(1), args![&mut self.y])?),
            }
        }
        if let Some(stream) = &self.stream {
            stream.wait()?;
        }
        drop(self.y.read()?);
        let taken = Taken { wall: start.elapsed().as_secs_f64(), processor: processor() - before };
        self.wanted = self.wanted.wrapping_add(load.launches);
        self.launched += u64::from(load.launches);
        Ok(taken)
    }

    /// Whether every launch ran exactly once, and was counted if that was asked for.
    fn verify(&self) -> Result<(), Refusal> {
        let got = self.y.to_vec()?[0];
        if got != self.wanted {
            return Err(Refusal::Broken(format!("the kernel counted to {got}, not to {}", self.wanted)));
        }
        let Some(telemetry) = &self.telemetry else { return Ok(()) };
        let (snapshot, spans) = (telemetry.snapshot(), telemetry.take_spans());
        let spanned = !spans.submissions.is_empty();
        if (snapshot.launches, spanned) != (self.launched, self.asked == Asked::Spans) || snapshot.latency.count() == 0
        {
            let told =
                format!("telemetry counted {} of {} launches, spans: {spanned}", snapshot.launches, self.launched);
            return Err(Refusal::Broken(told));
        }
        Ok(())
    }
}

/// Seconds of processor time that all threads of this process took.
fn processor() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many samples, and which of them, from 0, the median lies between: the binomial distribution has 99.6 in 100 there or more, or, of 4, all
    /// that there is.
    #[test]
    fn where_the_median_lies() {
        for (count, low, high) in [(1, 0, 0), (4, 0, 3), (10, 0, 9), (20, 3, 16), (25, 5, 19), (400, 170, 229)] {
            let samples: Vec<f64> = (0..count).rev().map(f64::from).collect();
            assert_eq!(median(&samples), (f64::from(low), f64::from(high)), "{count}");
        }
    }

    #[test]
    fn costs_are_differences_by_turns() {
        let taken =
            |list: &[(f64, f64)]| list.iter().map(|&(wall, processor)| Taken { wall, processor }).collect::<Vec<_>>();
        let off = taken(&[(1.0, 0.5), (2.0, 1.0), (1.0, 0.4)]);
        let own = taken(&[(1.0, 0.51), (2.0, 1.04), (1.0, 0.41)]);
        let load = Load { launches: 1000, batch: 1, rate: Some(RATE) };
        let cost = Cost::of(Asked::Counted, &own, &off, load);
        let near = |got: f64, wanted: f64| assert!((got - wanted).abs() < 1e-9 * wanted.abs(), "{got}, not {wanted}");
        near(cost.share.median, 0.01);
        near(cost.share.p90, 0.02);
        near(cost.processor.median, 1.025);
        near(cost.wall.median, 1.0);
        near(cost.nanoseconds.median, 10_000.0);
        near(cost.rate.median, 1000.0);
    }

    #[test]
    fn launches_come_at_their_rate_and_are_verified() {
        let load = Load { launches: 50, batch: 1, rate: Some(10_000.0) };
        let asked = [Asked::Off, Asked::Counted, Asked::Spans];
        for load in [load, Load { batch: 8, rate: None, ..load }] {
            let costs = compare(&asked, 11, load, &mut Random(7)).unwrap_or_else(|why| panic!("{why:?}"));
            assert_eq!(costs.iter().map(|cost| cost.asked).collect::<Vec<_>>(), asked[1..]);
            for cost in costs {
                assert_eq!(cost.share.samples, 11);
                // 40 of the 50 have their tenths of milliseconds: the last burst is not waited for.
                assert!(load.rate.is_none_or(|rate| cost.rate.best <= rate * 1.25), "{cost:?}");
            }
        }
    }

    #[test]
    fn what_was_not_launched_or_counted_is_told() {
        let load = Load { launches: 3, batch: 1, rate: None };
        let broken = |change: fn(&mut Side)| {
            let mut side = Side::new(Asked::Counted, load, 5).expect("a device");
            side.turn(load).unwrap_or_else(|why| panic!("{why:?}"));
            side.verify().unwrap_or_else(|why| panic!("{why:?}"));
            change(&mut side);
            match side.verify() {
                Err(Refusal::Broken(why)) => why,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(broken(|side| side.wanted += 1), "the kernel counted to 8, not to 9");
        assert_eq!(broken(|side| side.launched += 1), "telemetry counted 3 of 4 launches, spans: false");
        assert_eq!(broken(|side| side.asked = Asked::Spans), "telemetry counted 3 of 3 launches, spans: false");
    }
}
