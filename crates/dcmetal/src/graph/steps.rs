//! How steps of the host's run: those that do not wait for each other beside each other; knows nothing of graphs.
//!
//! The calling thread takes one step after the other. While it is at one and another could run, there is a further thread, up to a limit; steps in
//! a row need none. Whoever finds nothing to do sleeps until a step has ended.
//!
//! What it ends with is what the steps in a row would end with, whatever their times: once one has failed none behind it in the row begins, but those
//! before it do, and the failure is that of the first in the row. `tests/models.rs` runs it under shuttle.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::sync::{Condvar, Mutex, PoisonError, Scope, lock, scope, spawn_scoped};

/// Runs the steps of a row: each once those of `before` have, which are earlier in the row, and at most `threads` at once. Goes on with the panic of one that
/// panicked.
pub(crate) fn run<E: Send>(
    before: &[Vec<usize>],
    threads: usize,
    step: impl Fn(usize) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let progress = before.iter().map(|_| Progress::Waits).collect();
    let state = State { progress, end: before.len(), failure: None, running: 0, threads: 1, asleep: 0 };
    let row = Row { before, threads, step, state: Mutex::new(state), changed: Condvar::new() };
    scope(|scope| row.work(scope));
    match row.state.into_inner().unwrap_or_else(PoisonError::into_inner).failure {
        None => Ok(()),
        Some(Failure::Error(error)) => Err(error),
        Some(Failure::Panic(payload)) => resume_unwind(payload),
    }
}

struct Row<'a, E, S> {
    before: &'a [Vec<usize>],
    threads: usize,
    step: S,
    state: Mutex<State<E>>,
    changed: Condvar,
}

struct State<E> {
    progress: Vec<Progress>,
    /// The first that failed, or behind all; what is from there on does not begin any more.
    end: usize,
    failure: Option<Failure<E>>,
    running: usize,
    threads: usize,
    asleep: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Waits,
    Runs,
    Done,
}

enum Failure<E> {
    Error(E),
    Panic(Box<dyn Any + Send>),
}

impl<E> State<E> {
    /// The first that may run.
    fn ready(&self, before: &[Vec<usize>]) -> Option<usize> {
        let done = |&earlier: &usize| self.progress[earlier] == Progress::Done;
        (0..self.end).find(|&at| self.progress[at] == Progress::Waits && before[at].iter().all(done))
    }
}

impl<E: Send, S: Fn(usize) -> Result<(), E> + Sync> Row<'_, E, S> {
    fn work<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        let mut state = lock(&self.state);
        loop {
            if let Some(at) = state.ready(self.before) {
                state.progress[at] = Progress::Runs;
                state.running += 1;
                // One that sleeps was told of what became ready with the end of a step.
                let more = state.ready(self.before).is_some() && state.asleep == 0 && state.threads < self.threads;
                state.threads += usize::from(more);
                drop(state);
                if more && spawn_scoped(scope, "dcmetal step", || self.work(scope)).is_err() {
                    // A system without room for a thread: this one does them all.
                    lock(&self.state).threads -= 1;
                }
                let ended = catch_unwind(AssertUnwindSafe(|| (self.step)(at)));
                state = lock(&self.state);
                state.running -= 1;
                let failure = match ended {
                    Ok(Ok(())) => {
                        state.progress[at] = Progress::Done;
                        None
                    }
                    Ok(Err(error)) => Some(Failure::Error(error)),
                    Err(payload) => Some(Failure::Panic(payload)),
                };
                let mut dropped = failure;
                if dropped.is_some() && at < state.end {
                    state.end = at;
                    std::mem::swap(&mut state.failure, &mut dropped);
                }
                self.changed.notify_all();
                // The user's value may do anything when it is dropped, a panic too.
                if dropped.is_some() {
                    drop(state);
                    drop(dropped);
                    state = lock(&self.state);
                }
            } else if state.running == 0 {
                return;
            } else {
                state.asleep += 1;
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.asleep -= 1;
            }
        }
    }
}
