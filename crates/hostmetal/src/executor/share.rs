//! Work that several workers do: the threadgroups of a wave (run.rs), or blocks of a result (blocks.rs).
//!
//! Parts are numbered through; whoever is there takes the next few from one counter. The driver recruits helpers, works itself, and waits for them.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::blocks::{self, Blocks};
use super::cost::WORTH_COMING;
use super::event;
use super::guard::interrupt;
use super::pool::{self, Worker};
use super::run::Wave;
use crate::command::{ErrorCode, Failure};
use crate::device::worker_threads;

/// Nanoseconds after which all workers come, however few were expected to do: more than it takes to wake the first.
const PATIENCE: u64 = 4 * WORTH_COMING;

/// What is shared out. The driver keeps what it points to until no helper runs.
pub(super) enum Work {
    Wave(Wave),
    /// And the position of its command.
    Blocks(*const (dyn Blocks + 'static), usize),
}

impl Work {
    /// Of its first command.
    fn position(&self) -> usize {
        match self {
            Work::Wave(wave) => wave.first,
            Work::Blocks(_, position) => *position,
        }
    }
}

/// Work that several workers do.
///
/// Helpers may come at any time, even when the driver has gone on: they first count themselves in `running` and then look
/// at `closed`, while the driver first sets `closed` and then waits for `running` to be 0 (all SeqCst). So a helper that
/// finds it open may use what the work points to, because the driver waits for it; one that finds it closed uses nothing.
pub(crate) struct Share {
    task: u64,
    work: Work,
    next: AtomicU64,
    end: u64,
    /// Parts that are taken at a time; and when all workers do it.
    chunk: AtomicU64,
    fine: u64,
    /// Helpers that are still to come; and those that come when it turns out to last longer, after so many nanoseconds, which is at `due`.
    wanted: AtomicUsize,
    others: AtomicUsize,
    patience: u64,
    due: AtomicU64,
    /// No helper may begin any more.
    closed: AtomicBool,
    /// What is left is not to be run.
    failed: AtomicBool,
    running: AtomicU32,
    /// The first.
    failure: Mutex<Option<Failure>>,
}

// SAFETY: recordings and blocks are only read, and only by workers that the driver waits for; what they point to may be used
// from any thread.
unsafe impl Send for Share {}
// SAFETY: as above; the rest is atomics and a mutex.
unsafe impl Sync for Share {}

/// Closes a share when dropped; after a panic what is left is not run.
struct Closing<'a>(&'a Share);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.failed.store(true, Ordering::Relaxed);
        }
        self.0.close();
    }
}

impl Share {
    /// Of these parts of a task's work, a chunk of which is taken at a time. For a time so many workers do it, the driver among them; should it last
    /// longer, all that there are.
    pub(super) fn new(task: u64, work: Work, parts: Range<u64>, chunk: u64, workers: u64) -> Arc<Share> {
        let all = worker_threads() as u64;
        let workers = workers.min(all);
        let helpers = workers.saturating_sub(1);
        let fine = (u128::from(chunk) * u128::from(workers) / u128::from(all)) as u64;
        Arc::new(Share {
            task,
            work,
            next: AtomicU64::new(parts.start),
            end: parts.end,
            chunk: AtomicU64::new(chunk),
            fine: fine.max(1),
            wanted: AtomicUsize::new(helpers as usize),
            others: AtomicUsize::new((all - workers) as usize),
            patience: PATIENCE,
            due: AtomicU64::new(u64::MAX),
            closed: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            running: AtomicU32::new(0),
            failure: Mutex::new(None),
        })
    }

    /// Does the work on the driver and its helpers. `done` is told how many parts the driver ran, and in how many nanoseconds, without those in which it
    /// woke helpers.
    pub(super) fn run(
        self: &Arc<Share>,
        worker: &mut Worker,
        mut part: impl FnMut(&mut Worker, Range<u64>) -> Result<(), Failure>,
        done: impl FnOnce(u64, u64),
    ) -> Result<(), Failure> {
        {
            // However this ends, helpers are waited for: they use what the work points to.
            let _closing = Closing(self);
            self.recruit(2);
            let start = event::now();
            self.due.store(start.saturating_add(self.patience), Ordering::Relaxed);
            match self.take(worker, &mut part) {
                Ok((parts, recruiting)) => done(parts, (event::now() - start).saturating_sub(recruiting)),
                Err(failure) => self.fail(failure),
            }
        }
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        failure.map_or(Ok(()), Err)
    }

    /// Takes chunks until none is left; returns how many parts that were, and the nanoseconds that recruiting took.
    pub(super) fn take(
        self: &Arc<Share>,
        worker: &mut Worker,
        part: &mut impl FnMut(&mut Worker, Range<u64>) -> Result<(), Failure>,
    ) -> Result<(u64, u64), Failure> {
        let (mut own, mut recruiting) = (0, 0);
        loop {
            let chunk = self.chunk.load(Ordering::Relaxed);
            let start = self.next.fetch_add(chunk, Ordering::Relaxed);
            // Not `closed`: whoever has taken a chunk runs it, though the driver may have found no other.
            if start >= self.end || self.failed.load(Ordering::Relaxed) {
                return Ok((own, recruiting));
            }
            let end = (start + chunk).min(self.end);
            part(worker, start..end)?;
            own += end - start;
            if self.others.load(Ordering::Relaxed) > 0 && event::now() > self.due.load(Ordering::Relaxed) {
                self.chunk.store(self.fine, Ordering::Relaxed);
                self.wanted.fetch_add(self.others.swap(0, Ordering::Relaxed), Ordering::Relaxed);
            }
            // A core may have become free since.
            if self.wanted.load(Ordering::Relaxed) > 0 && pool::has_room() {
                let start = event::now();
                self.recruit(1);
                recruiting += event::now() - start;
            }
        }
    }

    /// Has up to `most` of the helpers come that are still to. Each recruits two, so that the driver does not wake them all.
    fn recruit(self: &Arc<Share>, most: usize) {
        let left =
            self.end.saturating_sub(self.next.load(Ordering::Relaxed)).div_ceil(self.chunk.load(Ordering::Relaxed));
        let useful = usize::try_from(left.saturating_sub(1)).unwrap_or(usize::MAX).min(most);
        let take = |wanted: usize| (wanted.min(useful) > 0).then(|| wanted - wanted.min(useful));
        let Ok(wanted) = self.wanted.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) else { return };
        let asked = wanted.min(useful);
        let came = pool::recruit(self, asked);
        self.wanted.fetch_add(asked - came, Ordering::Relaxed);
    }

    /// Runs chunks on a helper. `rested` makes it idle again, before the driver learns that it is done: the next wave begins at once and wants the
    /// same helper.
    pub(crate) fn help(self: &Arc<Share>, worker: &mut Worker, rested: impl FnOnce()) {
        self.running.fetch_add(1, Ordering::SeqCst);
        if !self.closed.load(Ordering::SeqCst) {
            worker.record.join(self.task);
            self.recruit(2);
            let outcome = catch_unwind(AssertUnwindSafe(|| match &self.work {
                // SAFETY: the driver keeps the recording until this worker is not running any more.
                Work::Wave(wave) => unsafe { wave.help(worker, self) },
                // SAFETY: as above, the blocks.
                Work::Blocks(work, position) => blocks::help(unsafe { &**work }, worker, self, *position),
            }));
            let failed = !matches!(outcome, Ok(Ok(())));
            match outcome {
                Ok(Ok(())) => {}
                Ok(Err(failure)) => self.fail(failure),
                Err(_) => {
                    let text =
                        "Internal Error: hostmetal panicked while it helped; this is a bug of hostmetal".to_owned();
                    self.fail(Failure { code: ErrorCode::Internal, text, place: (0, self.work.position()) });
                }
            }
            worker.record.leave();
            // A signal that met the driver between two kernels is sent again, until it has left what it runs.
            while failed && !self.closed.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
                interrupt(self.task);
            }
        }
        rested();
        if self.running.fetch_sub(1, Ordering::SeqCst) == 1 {
            event::wake(&self.running, 1);
        }
    }

    /// Keeps the first failure and stops the others.
    fn fail(&self, failure: Failure) {
        let first = {
            let mut known = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
            let first = known.is_none();
            known.get_or_insert(failure);
            first
        };
        if first {
            self.failed.store(true, Ordering::Relaxed);
            interrupt(self.task);
        }
    }

    /// Waits until no helper runs.
    fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        // The loads below are Acquire only: without the fence they could come before the store (STLR, LDAPR).
        fence(Ordering::SeqCst);
        while !event::spin_until(&self.running, event::PATIENT, |running| running == 0) {
            let running = self.running.load(Ordering::SeqCst);
            if running == 0 {
                return;
            }
            event::sleep_while(&self.running, running, Some(Duration::from_millis(10)));
            // A signal that met a helper between two kernels is sent again.
            if self.failure.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
                interrupt(self.task);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::thread::{self, ThreadId};
    use std::time::Instant;

    use super::super::fiber::Place;
    use super::super::guard::Registration;
    use super::super::pool::Computing;
    use super::*;

    /// Blocks, each of which waits for a millisecond, or until so many workers have come.
    struct Meeting {
        blocks: usize,
        expected: usize,
        came: Mutex<HashSet<ThreadId>>,
        /// Keeps helpers away until a block has run.
        first: Mutex<Vec<Computing>>,
    }

    /// Each wants as many helpers as there are.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

    /// What makes the calling thread a driver.
    fn driver() -> (Registration, Worker) {
        let registration = Registration::new().expect("memory");
        let record = registration.record;
        (registration, Worker { place: Place::new(record).expect("memory"), record })
    }

    impl Blocks for Meeting {
        fn blocks(&self) -> usize {
            self.blocks
        }

        fn work(&self) -> usize {
            usize::MAX
        }

        fn run_block(&self, _: usize) {
            self.came.lock().expect("no panic").insert(thread::current().id());
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(1)
                && self.came.lock().expect("no panic").len() < self.expected
            {
                thread::yield_now();
            }
            self.first.lock().expect("no panic").clear();
        }
    }

    /// How many workers do the blocks when some are wanted at first and the others after a time.
    fn workers_of(
        blocks: usize,
        expected: usize,
        [wanted, others]: [usize; 2],
        patience: u64,
        first: Vec<Computing>,
    ) -> usize {
        let (_registration, mut worker) = driver();
        let meeting = Meeting { blocks, expected, came: Mutex::default(), first: Mutex::new(first) };
        let work: *const (dyn Blocks + 'static) = &raw const meeting;
        // No task has this number.
        let mut share = Share::new(u64::MAX, Work::Blocks(work, 0), 0..blocks as u64, 1, 1);
        let changed = Arc::get_mut(&mut share).expect("nobody else has it");
        (changed.wanted, changed.others, changed.patience) = (wanted.into(), others.into(), patience);
        let part = |_: &mut Worker, numbers: Range<u64>| {
            numbers.for_each(|number| meeting.run_block(number as usize));
            Ok(())
        };
        let mut parts = 0;
        share.run(&mut worker, part, |ran, _| parts = ran).expect("no block fails");
        assert!(parts > 0, "the driver works, too");
        meeting.came.into_inner().expect("no panic").len()
    }

    /// Helpers that the pool may start for a driver that it does not know.
    fn helpers() -> usize {
        worker_threads().min(3)
    }

    #[test]
    fn no_more_come_than_are_wanted() {
        let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        for wanted in 0..helpers() {
            let came = workers_of(20, wanted + 2, [wanted, 7], u64::MAX, Vec::new());
            assert!(came <= wanted + 1, "{came} workers, where {wanted} helpers were wanted");
        }
    }

    #[test]
    fn the_others_come_when_it_takes_longer() {
        let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        assert_eq!(workers_of(10_000, helpers() + 1, [0, helpers()], 0, Vec::new()), helpers() + 1);
    }

    #[test]
    fn chunks_are_finer_when_all_come() {
        let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let (_registration, mut worker) = driver();
        let meeting = Meeting { blocks: 10_000, expected: 0, came: Mutex::default(), first: Mutex::default() };
        let work: *const (dyn Blocks + 'static) = &raw const meeting;
        let mut share = Share::new(u64::MAX, Work::Blocks(work, 0), 0..10_000, 64, 1);
        Arc::get_mut(&mut share).expect("nobody else has it").patience = 0;
        let mut taken = Vec::new();
        let part = |_: &mut Worker, numbers: Range<u64>| {
            taken.push(numbers.end - numbers.start);
            Ok(())
        };
        share.run(&mut worker, part, |_, _| {}).expect("no block fails");
        assert_eq!(taken[..2], [64, (64 / worker_threads() as u64).max(1)]);
    }

    #[test]
    fn helpers_come_when_cores_become_free() {
        let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let first = (0..worker_threads()).map(|_| Computing::new()).collect();
        assert_eq!(workers_of(10_000, helpers() + 1, [helpers(), 0], u64::MAX, first), helpers() + 1);
    }
}
