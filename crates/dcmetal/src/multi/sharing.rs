//! [`Sharing`]: which rows a device takes next.
//!
//! Guided self-scheduling (C. Polychronopoulos, D. Kuck, "Guided Self-Scheduling", IEEE Trans. Computers C-36(12), 1987) with devices of unequal
//! speed: each time, a device takes half of its share of the rows that are left, its share being in proportion to how fast it was. So the parts
//! become smaller, the last ones end at about the same time however wrong the speeds were, and what a device leaves undone when it goes is a part
//! like any other. A device whose speed is not known yet begins with a small one.

use std::ops::Range;
use std::time::Duration;

/// The part of an even share that a device of unknown speed takes first.
const FIRST: usize = 16;
/// The least time that a part is to take, if there is so much to do: a submission that is waited for costs about a fifth of it on real devices.
const LEAST: Duration = Duration::from_millis(1);
/// Failures that may go away, after which a device takes no more.
const FAILURES: u32 = 3;

/// A device's part in the work.
#[derive(Clone, Debug, Default)]
struct Worker {
    /// Rows a second: before its first part here, as in earlier work.
    rate: Option<f64>,
    /// What it has done here, and for how long.
    rows: usize,
    time: Duration,
    /// Rows that it can take at once, once it could not take more.
    most: Option<usize>,
    failures: u32,
    /// It takes no more.
    out: bool,
}

#[derive(Debug)]
pub(super) struct Sharing {
    /// Rows that nobody has taken; the last range goes first.
    free: Vec<Range<usize>>,
    left: usize,
    /// Parts that are being worked on.
    busy: usize,
    /// Parts begin at multiples of it.
    unit: usize,
    workers: Vec<Worker>,
}

/// What a device is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Rows(Range<usize>),
    /// Nothing is free, but others may leave something.
    Wait,
    End,
}

/// Why rows were not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Undone {
    /// The device has gone.
    Gone,
    /// It had no room for so many.
    TooLarge,
    /// It may do better.
    Transient,
    /// Nobody will do better: all end.
    Wrong,
}

impl Sharing {
    /// `rates`: of each device, rows a second, where they are known.
    pub(super) fn new(rows: usize, unit: usize, rates: &[Option<f64>]) -> Sharing {
        let workers = rates.iter().map(|rate| Worker { rate: *rate, ..Worker::default() }).collect();
        let free = std::iter::once(0..rows).filter(|all| all.end > 0).collect();
        Sharing { free, left: rows, busy: 0, unit, workers }
    }

    pub(super) fn left(&self) -> usize {
        self.left
    }

    pub(super) fn rates(&self) -> Vec<Option<f64>> {
        self.workers.iter().map(|worker| worker.rate).collect()
    }

    /// A device takes no more.
    pub(super) fn leave(&mut self, device: usize) {
        self.workers[device].out = true;
    }

    /// What a device does next. `done` or `undone` must follow on rows.
    pub(super) fn take(&mut self, device: usize) -> Next {
        if self.workers[device].out || (self.free.is_empty() && self.busy == 0) {
            return Next::End;
        }
        let wanted = self.wanted(device);
        let Some(range) = self.free.last_mut() else { return Next::Wait };
        let end = range.end.min(range.start + wanted);
        let rows = range.start..end;
        range.start = end;
        if range.start == range.end {
            self.free.pop();
        }
        self.left -= rows.len();
        self.busy += 1;
        Next::Rows(rows)
    }

    /// Rows, a multiple of the unit.
    fn wanted(&self, device: usize) -> usize {
        let known: Vec<f64> = self.present().filter_map(|worker| worker.rate).collect();
        let present = self.present().count();
        let rows = match self.workers[device].rate {
            None => self.left.div_ceil(FIRST * present),
            Some(rate) => {
                // Devices of unknown speed count as one of the mean.
                let all = known.iter().sum::<f64>() * present as f64 / known.len() as f64;
                let share = self.left as f64 * rate / all;
                (share / 2.0).max(share.min(rate * LEAST.as_secs_f64())).ceil() as usize
            }
        };
        let most = self.workers[device].most.unwrap_or(usize::MAX);
        rows.div_ceil(self.unit).saturating_mul(self.unit).min(most).max(self.unit)
    }

    fn present(&self) -> impl Iterator<Item = &Worker> {
        self.workers.iter().filter(|worker| !worker.out)
    }

    /// The rows are done, in so much time.
    pub(super) fn done(&mut self, device: usize, rows: &Range<usize>, time: Duration) {
        self.busy -= 1;
        let worker = &mut self.workers[device];
        (worker.rows, worker.time) = (worker.rows + rows.len(), worker.time + time);
        // A clock that stood still says no more than that it was fast.
        worker.rate = Some(worker.rows as f64 / worker.time.as_secs_f64().max(1e-9));
    }

    /// The rows are not done: somebody else gets them, or the same device later.
    pub(super) fn undone(&mut self, device: usize, rows: Range<usize>, why: Undone) {
        self.busy -= 1;
        let worker = &mut self.workers[device];
        match why {
            Undone::Gone => worker.out = true,
            Undone::TooLarge if rows.len() <= self.unit => worker.out = true,
            Undone::TooLarge => worker.most = Some((rows.len() / 2 / self.unit).max(1) * self.unit),
            Undone::Transient => {
                worker.failures += 1;
                worker.out = worker.failures == FAILURES;
            }
            Undone::Wrong => self.workers.iter_mut().for_each(|worker| worker.out = true),
        }
        self.left += rows.len();
        self.free.push(rows);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A device of a simulation: rows a second, rows that it has room for, and after which part it is gone.
    #[derive(Clone, Debug)]
    struct Device {
        speed: f64,
        room: usize,
        gone_after: Option<usize>,
        /// Of its first parts, those that fail in a way that may go away.
        failures: u32,
    }

    /// What became of the rows: how often each was done, when the last was, and the rates.
    fn simulated(rows: usize, unit: usize, devices: &[Device], rates: &[Option<f64>]) -> (Vec<u32>, f64, Sharing) {
        let mut sharing = Sharing::new(rows, unit, rates);
        let mut times = vec![0; rows];
        // When each device is free, what it is at, and the parts that it has begun.
        let mut clocks = vec![(0.0f64, None::<Range<usize>>, 0usize); devices.len()];
        let mut ended = vec![false; devices.len()];
        loop {
            for (number, (clock, at, parts)) in clocks.iter_mut().enumerate() {
                if at.is_none() && !ended[number] {
                    match sharing.take(number) {
                        Next::Rows(rows) => {
                            assert!(rows.start.is_multiple_of(unit) && !rows.is_empty());
                            *clock += rows.len() as f64 / devices[number].speed;
                            (*at, *parts) = (Some(rows), *parts + 1);
                        }
                        Next::Wait => {}
                        Next::End => ended[number] = true,
                    }
                }
            }
            let busy = clocks.iter().enumerate().filter(|(_, (_, at, _))| at.is_some());
            let Some((number, _)) = busy.min_by(|a, b| a.1.0.total_cmp(&b.1.0)) else { break };
            let now = clocks[number].0;
            let (device, parts) = (&devices[number], clocks[number].2);
            let rows = clocks[number].1.take().expect("it is busy");
            if device.gone_after.is_some_and(|last| parts > last) {
                sharing.undone(number, rows, Undone::Gone);
            } else if rows.len() > device.room {
                sharing.undone(number, rows, Undone::TooLarge);
            } else if parts <= device.failures as usize {
                sharing.undone(number, rows, Undone::Transient);
            } else {
                rows.clone().for_each(|row| times[row] += 1);
                sharing.done(number, &rows, Duration::from_secs_f64(rows.len() as f64 / device.speed));
            }
            // Whoever waited goes on now.
            clocks.iter_mut().filter(|(_, at, _)| at.is_none()).for_each(|(clock, _, _)| *clock = clock.max(now));
        }
        let end = clocks.iter().map(|(clock, ..)| *clock).fold(0.0, f64::max);
        (times, end, sharing)
    }

    fn device() -> impl Strategy<Value = Device> {
        (1.0f64..1000.0, prop_oneof![Just(usize::MAX), 1usize..200], prop::option::weighted(0.3, 0usize..4), 0u32..4)
            .prop_map(|(speed, room, gone_after, failures)| Device { speed, room, gone_after, failures })
    }

    proptest! {
        /// Whatever fails, each row is done once, or not, and then all devices are out.
        #[test]
        fn every_row_is_done_once(rows in 0usize..5000, unit in 1usize..70, devices in prop::collection::vec(device(), 1..6)) {
            let (times, _, sharing) = simulated(rows, unit, &devices, &vec![None; devices.len()]);
            let done = times.iter().filter(|times| **times == 1).count();
            prop_assert!(times.iter().all(|times| *times <= 1));
            prop_assert_eq!(done + sharing.left(), rows);
            prop_assert!(sharing.left() == 0 || sharing.present().count() == 0);
            if devices.iter().any(|device| device.gone_after.is_none() && device.failures < FAILURES && device.room >= unit) {
                prop_assert_eq!(sharing.left(), 0);
            }
        }

        /// With known speeds all devices end at about the same time: a last part, which is of one unit, keeps the others waiting at most.
        #[test]
        fn known_speeds_share_the_time(rows in 1usize..100_000, unit in 1usize..70, speeds in prop::collection::vec(1.0f64..100.0, 1..6)) {
            let devices: Vec<Device> =
                speeds.iter().map(|speed| Device { speed: *speed, room: usize::MAX, gone_after: None, failures: 0 }).collect();
            let rates: Vec<Option<f64>> = speeds.iter().copied().map(Some).collect();
            let (_, end, _) = simulated(rows, unit, &devices, &rates);
            let best = rows as f64 / speeds.iter().sum::<f64>();
            let last = unit as f64 / speeds.iter().copied().fold(f64::MAX, f64::min);
            prop_assert!(end <= best + 2.0 * last, "{end} s, at best {best}, and {last} for a last part");
        }
    }

    /// What takes less than it costs to hand over is taken at once, but no more than the share: earlier work may have been much less a row.
    #[test]
    fn a_part_is_worth_its_launch() {
        let mut sharing = Sharing::new(3_000_000, 1, &[Some(1e9), Some(2e9)]);
        assert_eq!(
            sharing.take(0),
            Next::Rows(0..1_000_000),
            "a millisecond's, which is the share; half of it is less"
        );
        assert_eq!(sharing.take(1), Next::Rows(1_000_000..2_333_334), "two thirds of the rest");
        let mut sharing = Sharing::new(3_000_000, 1, &[Some(1e8), Some(2e8)]);
        assert_eq!(sharing.take(0), Next::Rows(0..500_000), "half of the share is more than a millisecond's");
        sharing.leave(1);
        assert_eq!(
            (sharing.take(1), sharing.take(0)),
            (Next::End, Next::Rows(500_000..1_750_000)),
            "alone: half of the rest"
        );
    }

    /// The first part of a device of unknown speed is small; then each takes half of its share.
    #[test]
    fn parts_follow_the_speeds() {
        let mut sharing = Sharing::new(3200, 10, &[None, None]);
        assert_eq!(sharing.take(0), Next::Rows(0..100), "a sixteenth of an even share");
        assert_eq!(sharing.take(1), Next::Rows(100..200), "3100 / 32, in tens");
        sharing.done(0, &(0..100), Duration::from_secs(1));
        assert_eq!(sharing.take(0), Next::Rows(200..950), "half of a half: the other counts as just as fast");
        sharing.done(1, &(100..200), Duration::from_secs(4));
        assert_eq!(sharing.take(1), Next::Rows(950..1180), "a tenth of 2250, in tens");
        sharing.undone(0, 200..950, Undone::TooLarge);
        assert_eq!(sharing.take(0), Next::Rows(200..570), "no more than half of what was too much");
        sharing.undone(1, 950..1180, Undone::Gone);
        assert_eq!(sharing.take(1), Next::End);
        assert_eq!(sharing.left(), 3200 - 100 - 100 - 370);
    }
}
