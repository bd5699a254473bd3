//! How steps of the host's run: those that do not wait for each other beside each other; knows nothing of graphs.
//!
//! The calling thread takes one step after the other. While it is at one and another could run, there is a further thread, up to a limit; steps in
//! a row need none. Whoever finds nothing to do sleeps until a step has ended.
//!
//! What it ends with is what the steps in a row would end with, whatever their times: once one has failed none behind it in the row begins, but those
//! before it do, and the failure is that of the first in the row.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread::{Builder, Scope, ScopedJoinHandle, scope};

use crate::sync::{Condvar, Mutex, PoisonError, lock};

/// Runs the steps of a row: each once those of `before` have, which are earlier in the row, and at most `threads` at once. Goes on with the panic of one that
/// panicked.
pub(super) fn run<E: Send>(
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
                if more && self.start(scope).is_err() {
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

    fn start<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) -> io::Result<ScopedJoinHandle<'scope, ()>> {
        Builder::new().name("dcmetal step".to_owned()).spawn_scoped(scope, || self.work(scope))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    /// Lets steps wait for each other, but not for ever.
    struct Meeting {
        come: Mutex<usize>,
        changed: Condvar,
    }

    impl Meeting {
        fn new() -> Meeting {
            Meeting { come: Mutex::new(0), changed: Condvar::new() }
        }

        /// Whether so many have come.
        fn wait_for(&self, count: usize) -> bool {
            let mut come = lock(&self.come);
            *come += 1;
            self.changed.notify_all();
            let patience = Duration::from_secs(60);
            let waited = self.changed.wait_timeout_while(come, patience, |come| *come < count);
            *waited.unwrap_or_else(PoisonError::into_inner).0 >= count
        }
    }

    #[test]
    fn steps_that_do_not_wait_for_each_other_run_at_once() {
        for count in 2..5 {
            let meeting = Meeting::new();
            let met = |_| if meeting.wait_for(count) { Ok(()) } else { Err("they never met") };
            assert_eq!(run(&vec![Vec::new(); count], count, met), Ok(()));
        }
        // The first and the last of a row, beside one between them.
        let meeting = Meeting::new();
        let met = |at| if at == 1 || meeting.wait_for(2) { Ok(()) } else { Err("they never met") };
        assert_eq!(run(&[vec![], vec![], vec![1]], 2, met), Ok(()));
    }

    #[test]
    fn there_are_no_more_threads_than_allowed_and_none_for_a_row() {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let meeting = Meeting::new();
        let counted = |at| {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let met = at > 1 || meeting.wait_for(2);
            now.fetch_sub(1, Ordering::SeqCst);
            if met { Ok(()) } else { Err("they never met") }
        };
        assert_eq!(run(&vec![Vec::new(); 50], 2, counted), Ok(()));
        assert_eq!(most.into_inner(), 2);
        let caller = thread::current().id();
        let here = |_| if thread::current().id() == caller { Ok(()) } else { Err("on another thread") };
        assert_eq!(run(&[vec![], vec![0], vec![1], vec![0, 2]], 8, here), Ok(()));
        assert_eq!(run(&vec![Vec::new(); 9], 1, here), Ok(()));
        assert_eq!(run(&[], 8, here), Ok(()));
    }

    #[test]
    fn a_panic_comes_out_where_the_steps_were_run() {
        let meeting = Meeting::new();
        let step = |at| -> Result<(), &str> {
            // The second fails while the first is at work, which counts, being the first.
            let met = meeting.wait_for(2);
            if at == 0 { panic!("on purpose, {met}") } else { Err("the second") }
        };
        let payload = catch_unwind(AssertUnwindSafe(|| run(&[vec![], vec![]], 2, step))).expect_err("it panics");
        assert_eq!(payload.downcast_ref::<String>().map(String::as_str), Some("on purpose, true"));
    }

    proptest! {
        /// Whatever the threads do, a row ends as its steps one after the other do, and nothing runs before what it waits for.
        #[test]
        fn it_ends_as_one_after_the_other(
            waits in prop::collection::vec(prop::collection::vec(any::<prop::sample::Index>(), 0..3), 1..24),
            fails in prop::collection::btree_set(0usize..24, 0..4), threads in 1usize..5,
        ) {
            let before = |(at, waits): (usize, &Vec<prop::sample::Index>)| -> Vec<usize> {
                waits.iter().filter(|_| at > 0).map(|index| index.index(at)).collect()
            };
            let before: Vec<Vec<usize>> = waits.iter().enumerate().map(before).collect();
            let first = fails.iter().copied().find(|&at| at < before.len());
            let ran = Mutex::new(BTreeSet::new());
            let outcome = run(&before, threads, |at| {
                if !before[at].iter().all(|earlier| lock(&ran).contains(earlier)) {
                    return Err(usize::MAX);
                }
                if fails.contains(&at) {
                    return Err(at);
                }
                lock(&ran).insert(at);
                Ok(())
            });
            prop_assert_eq!(outcome, first.map_or(Ok(()), Err));
            let ran = ran.into_inner().expect("nobody panicked");
            prop_assert!((0..first.unwrap_or(before.len())).all(|at| ran.contains(&at)), "all before it ran");
        }
    }
}
