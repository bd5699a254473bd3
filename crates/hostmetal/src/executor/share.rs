//! Work that several workers do: the threadgroups of a wave (run.rs), or blocks of a result (blocks.rs).
//!
//! Parts are numbered through; whoever is there takes the next few from one counter. The driver recruits helpers, works itself, and waits for them.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::blocks::{self, Blocks};
use super::event;
use super::guard::interrupt;
use super::pool::{self, Worker};
use super::run::Wave;
use crate::command::{ErrorCode, Failure};

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
    chunk: u64,
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
    /// Of these parts of a task's work, a chunk of which is taken at a time.
    pub(super) fn new(task: u64, work: Work, parts: Range<u64>, chunk: u64) -> Arc<Share> {
        Arc::new(Share {
            task,
            work,
            next: AtomicU64::new(parts.start),
            end: parts.end,
            chunk,
            closed: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            running: AtomicU32::new(0),
            failure: Mutex::new(None),
        })
    }

    /// Does the work on the driver and its helpers. `done` is told how many parts the driver ran, and in how many nanoseconds.
    pub(super) fn run(
        self: &Arc<Share>,
        worker: &mut Worker,
        mut part: impl FnMut(&mut Worker, Range<u64>) -> Result<(), Failure>,
        done: impl FnOnce(u64, u64),
    ) -> Result<(), Failure> {
        {
            // However this ends, helpers are waited for: they use what the work points to.
            let _closing = Closing(self);
            self.recruit();
            let start = event::now();
            match self.take(worker, &mut part) {
                Ok(parts) => done(parts, event::now() - start),
                Err(failure) => self.fail(failure),
            }
        }
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        failure.map_or(Ok(()), Err)
    }

    /// Takes chunks until none is left; returns how many parts that were.
    pub(super) fn take(
        self: &Arc<Share>,
        worker: &mut Worker,
        part: &mut impl FnMut(&mut Worker, Range<u64>) -> Result<(), Failure>,
    ) -> Result<u64, Failure> {
        let mut own = 0;
        loop {
            let start = self.next.fetch_add(self.chunk, Ordering::Relaxed);
            // Not `closed`: whoever has taken a chunk runs it, though the driver may have found no other.
            if start >= self.end || self.failed.load(Ordering::Relaxed) {
                return Ok(own);
            }
            let end = (start + self.chunk).min(self.end);
            part(worker, start..end)?;
            own += end - start;
            // A core may have become free since.
            if pool::has_room() && end + self.chunk < self.end {
                pool::recruit(self, 1);
            }
        }
    }

    fn recruit(self: &Arc<Share>) {
        let chunks = (self.end - self.next.load(Ordering::Relaxed).min(self.end)).div_ceil(self.chunk);
        let useful = usize::try_from(chunks.saturating_sub(1)).unwrap_or(usize::MAX);
        // The helpers recruit the others, so that the driver does not wake them all.
        pool::recruit(self, useful.min(2));
    }

    /// Runs chunks on a helper. `rested` makes it idle again, before the driver learns that it is done: the next wave begins at once and wants the
    /// same helper.
    pub(crate) fn help(self: &Arc<Share>, worker: &mut Worker, rested: impl FnOnce()) {
        self.running.fetch_add(1, Ordering::SeqCst);
        if !self.closed.load(Ordering::SeqCst) {
            worker.record.join(self.task);
            self.recruit();
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
