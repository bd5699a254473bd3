//! [`Ages`]: the thread that closes the batches of streams that have been open for long enough, and ends the waits for
//! compilations that take too long.
//!
//! An accelerator has one, from the first batch of a stream with an age, or compilation with a limit, on. It sleeps until the
//! next is due and looks at nothing else: a stream is in its list once, however many batches it opens meanwhile, and says itself,
//! when its turn has come, when it wants the next.

use std::collections::BTreeMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use crate::raw::host::lock;
use crate::sync::{Arc, Condvar, Mutex, PoisonError, Weak, spawn};

/// What is given a turn at a time that it asked for.
pub(crate) trait Timed: Send + Sync {
    /// Returns when it wants the next.
    fn turn(&self, now: Instant) -> Option<Instant>;
}

/// Ends its thread when it is dropped.
#[derive(Default)]
pub(crate) struct Ages {
    list: Arc<List>,
}

#[derive(Default)]
struct List {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// By time; the number tells equal ones apart.
    due: BTreeMap<(Instant, u64), Weak<dyn Timed>>,
    added: u64,
    /// How many may be in the list before those that are no more are looked for.
    most: usize,
    running: bool,
    ended: bool,
}

/// As few are never looked through.
const FEW: usize = 64;

impl State {
    fn add(&mut self, at: Instant, timed: Weak<dyn Timed>) {
        if self.due.len() >= self.most.max(FEW) {
            self.due.retain(|_, timed| timed.strong_count() > 0);
            self.most = 2 * self.due.len();
        }
        self.added += 1;
        self.due.insert((at, self.added), timed);
    }
}

impl Ages {
    /// Gives it its turn then. Fails where no thread can be started.
    pub(crate) fn add(&self, at: Instant, timed: Weak<dyn Timed>) -> io::Result<()> {
        let mut state = lock(&self.list.state);
        if !state.running {
            let list = Arc::clone(&self.list);
            spawn("dcmetal ages", move || list.run())?;
            state.running = true;
        }
        let first = state.due.first_key_value().is_none_or(|(first, _)| at < first.0);
        state.add(at, timed);
        drop(state);
        if first {
            self.list.changed.notify_one();
        }
        Ok(())
    }
}

#[cfg(test)]
impl Ages {
    /// Those that are to have a turn.
    pub(crate) fn waiting(&self) -> usize {
        lock(&self.list.state).due.len()
    }
}

impl Drop for Ages {
    fn drop(&mut self) {
        lock(&self.list.state).ended = true;
        self.list.changed.notify_one();
    }
}

impl List {
    fn run(&self) {
        let mut state = lock(&self.state);
        while !state.ended {
            let now = Instant::now();
            let Some(first) = state.due.first_entry() else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let at = first.key().0;
            if now < at {
                state = self.changed.wait_timeout(state, at - now).unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            let timed = first.remove();
            drop(state);
            // Perhaps the last owner of a stream, and with it of the accelerator, which ends this thread. A panic, which the
            // panic hook has reported, must keep nobody else from their turn.
            let turn = || timed.upgrade().and_then(|timed| timed.turn(now));
            let next = catch_unwind(AssertUnwindSafe(turn)).unwrap_or(None);
            state = lock(&self.state);
            if let Some(next) = next {
                state.add(next, timed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};
    use std::time::Duration;

    use super::*;

    /// Panics, or sends.
    struct Turn(Mutex<Option<Sender<()>>>);

    impl Timed for Turn {
        fn turn(&self, _now: Instant) -> Option<Instant> {
            match lock(&self.0).take() {
                Some(sender) => sender.send(()).expect("the test listens"),
                None => std::panic::resume_unwind(Box::new("on purpose")),
            }
            None
        }
    }

    /// What ended long before its time does not stay until then.
    #[test]
    fn what_is_no_more_is_forgotten() {
        let ages = Ages::default();
        let (sender, _receiver) = channel();
        let hour = Instant::now() + Duration::from_secs(3600);
        let live: Vec<_> = (0..100).map(|_| Arc::new(Turn(Mutex::new(Some(sender.clone()))))).collect();
        for timed in &live {
            ages.add(hour, Arc::downgrade(timed) as Weak<dyn Timed>).expect("a thread");
        }
        for _ in 0..10_000 {
            ages.add(hour, Weak::<Turn>::new()).expect("a thread");
            assert!(ages.waiting() <= 2 * live.len() + 1, "{}", ages.waiting());
        }
        let state = lock(&ages.list.state);
        let alive = state.due.values().filter(|timed| timed.strong_count() > 0).count();
        assert_eq!(alive, live.len(), "nobody else is");
    }

    #[test]
    fn a_turn_that_panics_keeps_nobody_from_theirs() {
        let ages = Ages::default();
        let (sender, receiver) = channel();
        let now = Instant::now();
        let turns = [None, Some(sender)].map(|sender| Arc::new(Turn(Mutex::new(sender))));
        for (nanoseconds, turn) in turns.iter().enumerate() {
            let timed: Weak<dyn Timed> = Arc::downgrade(turn) as Weak<dyn Timed>;
            ages.add(now + Duration::from_nanos(nanoseconds as u64), timed).expect("a thread");
        }
        receiver.recv().expect("its turn");
    }
}
