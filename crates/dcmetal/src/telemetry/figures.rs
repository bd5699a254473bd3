//! [`Figures`]: what an accelerator counts, and [`Timing`], the times of one submission.
//!
//! Counters are relaxed: each counts by itself, and who reads after a wait sees what was counted before it ended (see
//! [`histogram`](super::histogram)). A scrape that comes in between may see one counter before and another behind the same submission.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::{Instant, SystemTime};

use super::histogram::Recorded;
use super::spans::{CompilationSpan, Ring, SubmissionSpan};
use crate::command::Launched;
use crate::raw::clock::now;
use crate::raw::command::Committed;
use crate::raw::host::lock;
use crate::sync::{Arc, AtomicU64, Mutex, Ordering, Weak};
use crate::{ErrorKind, SubmissionError};

/// Kernels that have figures of their own; those of more names share some.
const KERNELS: usize = 256;
/// The name of what those share.
const OTHERS: &str = "(others)";
/// Of so many submissions, the last, it is known whether they failed.
pub(super) const RECENT: u64 = 64;

const KINDS: [ErrorKind; 7] = [
    ErrorKind::User,
    ErrorKind::Device,
    ErrorKind::Transient,
    ErrorKind::Resource,
    ErrorKind::DeviceLost,
    ErrorKind::Timeout,
    ErrorKind::Unsupported,
];

/// The wall clock's time at which it was made.
pub(crate) struct Since(pub(crate) SystemTime);

impl Default for Since {
    fn default() -> Since {
        Since(SystemTime::now())
    }
}

#[derive(Default)]
pub(crate) struct Figures {
    pub(super) since: Since,
    pub(super) begun: Begun,
    pub(super) ends: Ends,
    pub(super) latency: Recorded,
    pub(super) queued: Recorded,
    pub(super) device: Recorded,
    /// Submissions that succeeded, of which Metal told no times.
    pub(super) untimed: AtomicU64,
    pub(super) sources: Recorded,
    pub(super) pipelines: Recorded,
    pub(super) not_compiled: AtomicU64,
    pub(super) retries: AtomicU64,
    pub(super) pauses: AtomicU64,
    kernels: Mutex<BTreeMap<String, Arc<KernelFigures>>>,
    /// The host times until which each `Recovery` leaves the device alone; they hold the times, and take them with them when they go.
    left_alone: Mutex<Vec<Weak<u64>>>,
    pub(super) spans: Mutex<Ring>,
    /// Whether there is room for spans: asked without the lock.
    pub(super) spanning: AtomicU64,
}

/// What is counted where submissions begin. Apart from [`Ends`] in memory: those are counted by other threads, and each would wait for the
/// cache line that the other has just written.
#[derive(Default)]
#[repr(align(128))]
pub(super) struct Begun {
    pub(super) committed: AtomicU64,
    pace: Pace,
}

/// What is counted where submissions end.
#[derive(Default)]
#[repr(align(128))]
pub(super) struct Ends {
    pub(super) succeeded: AtomicU64,
    failed: [AtomicU64; KINDS.len()],
    /// Whether the last submissions failed, a bit each, the last in the lowest.
    recent: AtomicU64,
    pub(super) copies: AtomicU64,
}

/// What is counted of the kernels of one name.
#[derive(Default)]
pub(crate) struct KernelFigures {
    pub(super) launches: AtomicU64,
    /// Of submissions that launched this kernel and did nothing else.
    pub(super) device: Recorded,
    /// The launches of these.
    pub(super) timed_launches: AtomicU64,
}

/// Which submissions are measured: each while they are few, of many one of 2, 4, 8 and so on.
///
/// To read clocks and ask Metal for times costs each submission something. So that this does not grow with their rate, times are at least
/// [`Pace::NEAREST`] apart, on average. All accesses are relaxed: which submissions these are means nothing.
#[derive(Default)]
struct Pace {
    begun: AtomicU64,
    /// One less than the power of two of which one is measured.
    mask: AtomicU64,
    last: AtomicU64,
}

impl Pace {
    const NEAREST: u64 = 160_000;
    const FARTHEST: u64 = 4 * Pace::NEAREST;
    /// Of so many one is measured at the least.
    const MOST: u64 = 1024;

    /// Not every second, fourth and so on: of kernels that take turns the same would always be chosen. Multiples of the golden ratio lie evenly.
    fn picks(&self) -> bool {
        let number = self.begun.fetch_add(1, Ordering::Relaxed);
        number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32 & self.mask.load(Ordering::Relaxed) == 0
    }

    /// One is measured now.
    fn measured(&self, now: u64) {
        let apart = now.saturating_sub(self.last.swap(now, Ordering::Relaxed));
        let mask = self.mask.load(Ordering::Relaxed);
        if apart < Pace::NEAREST && mask + 1 < Pace::MOST {
            self.mask.store(2 * mask + 1, Ordering::Relaxed);
        } else if apart > Pace::FARTHEST {
            // By the gap at once: of few submissions the next that is measured may be hundreds away.
            let further = (apart / Pace::FARTHEST).ilog2() + 1;
            self.mask.store(mask >> further.min(63), Ordering::Relaxed);
        }
    }
}

fn add(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}

impl Figures {
    /// Those of a kernel.
    pub(crate) fn kernel(&self, name: &str) -> Arc<KernelFigures> {
        let mut kernels = lock(&self.kernels);
        let full = kernels.len() >= KERNELS;
        let name = if full && !kernels.contains_key(name) { OTHERS } else { name };
        Arc::clone(kernels.entry(name.to_owned()).or_default())
    }

    pub(super) fn kernels(&self) -> Vec<(String, Arc<KernelFigures>)> {
        lock(&self.kernels).iter().map(|(name, kernel)| (name.clone(), Arc::clone(kernel))).collect()
    }

    pub(super) fn failed(&self) -> impl Iterator<Item = (ErrorKind, u64)> {
        KINDS.into_iter().zip(&self.ends.failed).map(|(kind, count)| (kind, count.load(Ordering::Relaxed)))
    }

    /// How many of how many submissions, the last, failed.
    pub(super) fn recent(&self) -> (u64, u64) {
        let failed = self.failed().map(|(_, count)| count).sum::<u64>();
        let ended = self.ends.succeeded.load(Ordering::Relaxed) + failed;
        let lately = u64::from(self.ends.recent.load(Ordering::Relaxed).count_ones());
        // Where one is ending now, it may be among the last already and not yet counted.
        (lately, ended.min(RECENT).max(lately))
    }

    /// A submission was handed to the device, or refused by it.
    pub(crate) fn committed(&self) {
        add(&self.begun.committed, 1);
    }

    /// A submission has ended, and nobody has been told yet.
    pub(crate) fn ended(&self, ended: &Ended<'_>) {
        for Launched { kernel, launches } in ended.kernels {
            add(&kernel.figures(self).launches, *launches);
        }
        if ended.copies > 0 {
            add(&self.ends.copies, ended.copies);
        }
        let counter = match ended.error {
            None => &self.ends.succeeded,
            Some(error) => {
                let kind = error.kind();
                &self.ends.failed[KINDS.iter().position(|known| *known == kind).expect("all kinds are there")]
            }
        };
        let bit = u64::from(ended.error.is_some());
        // Nothing to shift where nothing has failed lately: most of the time.
        if bit == 1 || self.ends.recent.load(Ordering::Relaxed) != 0 {
            let shifted = |recent: u64| Some(recent << 1 | bit);
            self.ends.recent.fetch_update(Ordering::Relaxed, Ordering::Relaxed, shifted).ok();
        }
        add(counter, 1);
    }

    pub(crate) fn compiled(&self, span: impl FnOnce() -> CompilationSpan, of_source: bool, ok: bool, nanoseconds: u64) {
        match (ok, of_source) {
            (false, _) => add(&self.not_compiled, 1),
            (true, true) => self.sources.record(nanoseconds),
            (true, false) => self.pipelines.record(nanoseconds),
        }
        if self.is_spanning() {
            lock(&self.spans).push_compilation(span());
        }
    }

    /// A `Recovery` leaves the device alone until then, as long as it keeps what this returns.
    pub(crate) fn leave_alone(&self, until: Instant) -> Arc<u64> {
        add(&self.pauses, 1);
        let left = until.saturating_duration_since(Instant::now()).as_nanos();
        let until = Arc::new(now().saturating_add(u64::try_from(left).unwrap_or(u64::MAX)));
        let mut left_alone = lock(&self.left_alone);
        left_alone.retain(|until| until.strong_count() > 0);
        left_alone.push(Arc::downgrade(&until));
        until
    }

    /// A `Recovery` tried the device again, and it did its work: whoever left it alone before, its state is known anew.
    pub(crate) fn is_back(&self) {
        lock(&self.left_alone).clear();
    }

    /// A `Recovery` tries work again.
    pub(crate) fn retried(&self) {
        add(&self.retries, 1);
    }

    /// The host time until which some `Recovery` leaves the device alone; 0 when none does.
    pub(super) fn left_alone_until(&self) -> u64 {
        lock(&self.left_alone).iter().filter_map(Weak::upgrade).map(|until| *until).max().unwrap_or(0)
    }

    pub(super) fn is_spanning(&self) -> bool {
        self.spanning.load(Ordering::Relaxed) != 0
    }
}

/// How a submission ended.
pub(crate) struct Ended<'a> {
    pub(crate) kernels: &'a [Launched],
    pub(crate) copies: u64,
    /// Passes of Metal Performance Shaders.
    pub(crate) passes: u64,
    /// It waited for events, or signaled some: its time on the device is not only its kernels'.
    pub(crate) has_events: bool,
    pub(crate) error: Option<&'a SubmissionError>,
}

/// The times of a submission that is measured, from its batch's beginning on. Host times, in nanoseconds.
pub(crate) struct Timing {
    figures: Arc<Figures>,
    /// Set where spans are recorded.
    begun: Option<u64>,
    committing: AtomicU64,
    stage: Mutex<Stage>,
}

/// Metal may run the completion handler before the call that commits has returned, and with it the command buffer that is to be asked for times. So
/// whoever comes second of the two finishes.
enum Stage {
    Running,
    Committed,
    /// In a box, so that submissions do not grow by what few of them need.
    Settled(Box<Settled>),
    Finished,
}

struct Settled {
    at: u64,
    succeeded: bool,
    /// The only kernel of a submission that did nothing else, and its launches.
    alone: Option<(Arc<KernelFigures>, u64)>,
    span: Option<SubmissionSpan>,
}

impl Timing {
    /// Of a submission whose times are to be taken: always where it is to leave a span.
    pub(crate) fn new(figures: &Arc<Figures>) -> Option<Box<Timing>> {
        let begun = figures.is_spanning().then(now);
        let measured = figures.begun.pace.picks() || begun.is_some();
        let timing = || {
            let (figures, committing) = (Arc::clone(figures), AtomicU64::new(0));
            Box::new(Timing { figures, begun, committing, stage: Mutex::new(Stage::Running) })
        };
        measured.then(timing)
    }

    /// It is about to be committed.
    pub(crate) fn committing(&self) {
        let now = now();
        self.figures.begun.pace.measured(now);
        // Who settles it comes after the commit, which Metal's own locks order.
        self.committing.store(now, Ordering::Relaxed);
    }

    /// It was committed, or refused: then there is no command buffer to ask.
    pub(crate) fn committed(&self, command_buffer: Option<&Committed>) {
        if self.committing.load(Ordering::Relaxed) == 0 {
            // What was refused before the call that commits.
            self.committing.store(now(), Ordering::Relaxed);
        }
        let mut stage = lock(&self.stage);
        if let Stage::Settled(settled) = std::mem::replace(&mut *stage, Stage::Committed) {
            *stage = Stage::Finished;
            drop(stage);
            self.finish(*settled, command_buffer);
        }
    }

    /// It has ended, and nobody has been told yet. Whoever commits sets the command buffer before it says [`committed`](Timing::committed), so it is
    /// looked at after that is known.
    pub(crate) fn settled(&self, ended: &Ended<'_>, command_buffer: &OnceLock<Committed>) {
        let alone = match ended.kernels {
            [Launched { kernel, launches }] if ended.copies == 0 && ended.passes == 0 && !ended.has_events => {
                Some((Arc::clone(kernel.figures(&self.figures)), *launches))
            }
            _ => None,
        };
        let settled = Settled { at: now(), succeeded: ended.error.is_none(), alone, span: self.span(ended) };
        let mut stage = lock(&self.stage);
        if matches!(*stage, Stage::Committed) {
            *stage = Stage::Finished;
            drop(stage);
            self.finish(settled, command_buffer.get());
        } else {
            *stage = Stage::Settled(Box::new(settled));
        }
    }

    fn span(&self, ended: &Ended<'_>) -> Option<SubmissionSpan> {
        let begun = self.begun?;
        let kernels = ended.kernels.iter().map(|Launched { kernel, launches }| (kernel.name().to_owned(), *launches));
        Some(SubmissionSpan {
            begun,
            committed: self.committing.load(Ordering::Relaxed),
            ended: 0,
            on_device: None,
            kernels: kernels.collect(),
            copies: ended.copies,
            passes: ended.passes,
            has_events: ended.has_events,
            error: ended.error.map(|error| (error.kind(), error.to_string())),
        })
    }

    fn finish(&self, settled: Settled, command_buffer: Option<&Committed>) {
        let Settled { at, succeeded, alone, span } = settled;
        let (figures, committed) = (&self.figures, self.committing.load(Ordering::Relaxed));
        figures.latency.record(at.saturating_sub(committed));
        let times = command_buffer.and_then(|command_buffer| command_buffer.gpu_times().ok());
        match times {
            Some((start, end)) if succeeded => {
                figures.device.record(end - start);
                // Where the device's clock were another, the difference would mean nothing.
                if committed <= start && end <= at {
                    figures.queued.record(start - committed);
                }
                if let Some((kernel, launches)) = alone {
                    kernel.device.record(end - start);
                    add(&kernel.timed_launches, launches);
                }
            }
            None if succeeded => add(&figures.untimed, 1),
            _ => {}
        }
        if let Some(span) = span {
            lock(&figures.spans).push_submission(SubmissionSpan { ended: at, on_device: times, ..span });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Submissions so many nanoseconds apart, and how many of a thousand are measured once it has settled.
    #[test]
    fn of_many_submissions_few_are_measured() {
        for (apart, wanted) in [
            (1_000_000, 1000..=1000),
            (200_000, 1000..=1000),
            (50_000, 80..=500),
            (10_000, 16..=125),
            (1_000, 1..=12),
            (10, 0..=2),
        ] {
            let pace = Pace::default();
            let mut time = 1 << 40;
            let mut thousand = || {
                let mut measured = 0;
                for _ in 0..1000 {
                    time += apart;
                    if pace.picks() {
                        pace.measured(time);
                        measured += 1;
                    }
                }
                measured
            };
            for _ in 0..10 {
                thousand();
            }
            let measured: u64 = (0..10).map(|_| thousand()).sum();
            assert!(wanted.contains(&(measured / 10)), "{apart} ns apart: {measured} of 10000");
            // What becomes slow is measured again, each of it: soon after the first that is, which comes before long.
            for _ in 0..Pace::MOST + 50 {
                time += 10_000_000;
                if pace.picks() {
                    pace.measured(time);
                }
            }
            assert!(pace.picks() && pace.picks(), "{apart} ns apart");
        }
    }

    /// Kernels that take turns, how many, each with its part of what is measured; also where a batch of each two is dropped.
    #[test]
    fn who_takes_turns_is_measured_as_often_as_others() {
        for (kinds, apart) in [(2, 50_000), (2, 10_000), (4, 20_000), (8, 10_000), (3, 5_000)] {
            let (pace, mut time, mut measured) = (Pace::default(), 1 << 40, vec![0u64; kinds]);
            for number in 0..1_000_000 {
                time += apart;
                if pace.picks() {
                    pace.measured(time);
                    measured[number % kinds] += 1;
                }
            }
            let all: u64 = measured.iter().sum();
            let fair = all / kinds as u64;
            assert!(fair > 1000 && measured.iter().all(|own| *own > fair / 2), "{kinds}, {apart}: {measured:?}");
        }
    }

    #[test]
    fn names_beyond_the_limit_share_figures() {
        let figures = Figures::default();
        let first: Vec<_> = (0..KERNELS).map(|number| figures.kernel(&format!("k{number}"))).collect();
        let (one, other) = (figures.kernel("one more"), figures.kernel("another"));
        assert!(Arc::ptr_eq(&one, &other) && !first.iter().any(|known| Arc::ptr_eq(known, &one)));
        assert!(Arc::ptr_eq(&figures.kernel("k7"), &first[7]), "who was there keeps its own");
        assert_eq!(figures.kernels().len(), KERNELS + 1);
    }

    /// How submissions ended, the last of them last, and what is known of them.
    #[test]
    fn the_last_submissions_are_remembered() {
        let error = SubmissionError {
            kernels: Vec::new(),
            encoders: Vec::new(),
            domain: "MTLCommandBufferErrorDomain".to_owned(),
            code: 3,
            text: String::new(),
            commands: Vec::new(),
            caused_by: None,
        };
        for (ends, recent) in [
            (vec![], (0, 0)),
            (vec![true; 3], (0, 3)),
            (vec![false, true, true], (1, 3)),
            ([vec![false], vec![true; 63]].concat(), (1, 64)),
            ([vec![false], vec![true; 64]].concat(), (0, 64)),
            (vec![false; 100], (64, 64)),
            ([vec![false; 100], vec![true; 24]].concat(), (40, 64)),
        ] {
            let figures = Figures::default();
            for good in &ends {
                let error = (!good).then_some(&error);
                figures.ended(&Ended { kernels: &[], copies: 0, passes: 0, has_events: false, error });
            }
            assert_eq!(figures.recent(), recent, "{ends:?}");
        }
    }
}
