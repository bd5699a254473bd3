//! [`Ending`]: how a submission or a compilation ended, for those who wait, who polls, and what comes after it.
//!
//! It ends once. Everybody who looked before is told: threads by the condition, the task that polled last by its waker, and
//! followers by being handed to whoever ends it. `tests/models.rs` runs it under shuttle.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::sync::{AtomicBool, Condvar, Mutex, MutexGuard, Ordering, PoisonError, look};

/// The end of something, `T`, and what cannot end before it, `F`.
pub(crate) struct Ending<T, F> {
    state: Mutex<State<T, F>>,
    ended: Condvar,
    /// Whether there is an outcome, for those who look before they sleep.
    over: AtomicBool,
}

struct State<T, F> {
    outcome: Option<T>,
    followers: Vec<F>,
    waker: Option<Waker>,
    /// Threads in `wait` and `wait_timeout`: telling nobody costs a call of the system as well.
    waiting: usize,
}

impl<T, F> Default for Ending<T, F> {
    fn default() -> Ending<T, F> {
        let state = State { outcome: None, followers: Vec::new(), waker: None, waiting: 0 };
        Ending { state: Mutex::new(state), ended: Condvar::new(), over: AtomicBool::new(false) }
    }
}

impl<T: Clone, F> Ending<T, F> {
    fn state(&self) -> MutexGuard<'_, State<T, F>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// How it ended, if it has.
    pub(crate) fn outcome(&self) -> Option<T> {
        self.state().outcome.clone()
    }

    pub(crate) fn wait(&self) -> T {
        look(|| self.has_ended());
        let mut state = self.state();
        state.waiting += 1;
        loop {
            if let Some(outcome) = state.outcome.clone() {
                state.waiting -= 1;
                return outcome;
            }
            state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// `None` when it has not ended by then.
    pub(crate) fn wait_until(&self, deadline: Instant) -> Option<T> {
        look(|| self.has_ended() || Instant::now() >= deadline);
        let mut state = self.state();
        state.waiting += 1;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if state.outcome.is_some() || left == Duration::ZERO {
                state.waiting -= 1;
                return state.outcome.clone();
            }
            state = self.ended.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Keeps the waker of the last that asked.
    pub(crate) fn poll(&self, cx: &mut Context<'_>) -> Poll<T> {
        // A waker's clone and drop are the executor's code: not under the lock.
        let waker = cx.waker().clone();
        let mut state = self.state();
        if let Some(outcome) = &state.outcome {
            return Poll::Ready(outcome.clone());
        }
        let stale = state.waker.replace(waker);
        drop(state);
        drop(stale);
        Poll::Pending
    }

    /// Leaves a follower with it, which `end` will give back; when it has ended already, the follower comes back with how.
    pub(crate) fn follow(&self, follower: F) -> Option<(F, T)> {
        let mut state = self.state();
        match state.outcome.clone() {
            Some(outcome) => Some((follower, outcome)),
            None => {
                state.followers.push(follower);
                None
            }
        }
    }

    /// Ends it. The waker is to be given to [`wake`] without locks.
    pub(crate) fn end(&self, outcome: T) -> (Option<Waker>, Vec<F>) {
        self.end_first(outcome).expect("a submission ends once")
    }

    /// As `end`, for one of several that may end it: `None`, and nothing changes, when another was first.
    pub(crate) fn end_first(&self, outcome: T) -> Option<(Option<Waker>, Vec<F>)> {
        let mut state = self.state();
        if state.outcome.is_some() {
            return None;
        }
        state.outcome = Some(outcome);
        self.over.store(true, Ordering::Release);
        let told = (state.waker.take(), std::mem::take(&mut state.followers));
        let waiting = state.waiting > 0;
        drop(state);
        if waiting {
            self.ended.notify_all();
        }
        Some(told)
    }
}

/// Leaves a follower with the first of these that has not ended: `None`. When all have, the follower comes back, and `seen` was told how each ended, by
/// its place.
pub(crate) fn follow_all<'a, T: Clone + 'a, F: 'a>(
    earlier: impl IntoIterator<Item = &'a Ending<T, F>>,
    mut follower: F,
    mut seen: impl FnMut(usize, T),
) -> Option<F> {
    for (place, ending) in earlier.into_iter().enumerate() {
        let (back, outcome) = ending.follow(follower)?;
        follower = back;
        seen(place, outcome);
    }
    Some(follower)
}

/// Has one settle, and then all that `settle` says followed what settled.
pub(crate) fn settle_all<F>(first: F, mut settle: impl FnMut(F) -> Vec<F>) {
    let mut ready = vec![first];
    while let Some(next) = ready.pop() {
        ready.extend(settle(next));
    }
}

/// Calls a waker, which is the user's code: its panic belongs to no caller here, and the panic hook has reported it.
pub(crate) fn wake(waker: Waker) {
    let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
}
