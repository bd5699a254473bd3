//! [`Room`]: how much of a stream's work is uncompleted, and who waits for it to become less.
//! `tests/models.rs` runs it under shuttle.

use crate::sync::{Condvar, Mutex, MutexGuard, PoisonError, lock};

/// The places of a stream's batches, from the first command to the end on the device.
pub(crate) struct Room {
    /// Submissions and bytes above which nobody gets in.
    limits: (usize, u64),
    state: Mutex<State>,
    left: Condvar,
}

#[derive(Default)]
struct State {
    submissions: usize,
    bytes: u64,
    /// Batches that have begun; who waits may record in the last of them, and needs no place then.
    begun: u64,
    /// Threads in `enter`.
    waiting: usize,
}

/// There is no place: so many submissions and bytes are uncompleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Full {
    pub(crate) submissions: usize,
    pub(crate) bytes: u64,
}

impl Room {
    /// Both limits at least 1.
    pub(crate) fn new(submissions: usize, bytes: u64) -> Room {
        Room { limits: (submissions.max(1), bytes.max(1)), state: Mutex::default(), left: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place, once there is one; `leave` must follow. False, and no place, when a batch has begun since `begun` was
    /// asked.
    pub(crate) fn enter(&self, begun: u64) -> bool {
        let mut state = self.state();
        state.waiting += 1;
        while state.begun == begun && self.is_full(&state) {
            state = self.left.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting -= 1;
        let enters = state.begun == begun;
        state.submissions += usize::from(enters);
        enters
    }

    /// A stream's state with a batch in the making: the one that there is, or what `make` makes once `enter` has a place for it, by [`Room::enter`] or
    /// [`Room::try_enter`].
    pub(crate) fn opened<'a, S, B, E>(
        &self,
        state: &'a Mutex<S>,
        open: fn(&mut S) -> &mut Option<B>,
        enter: impl Fn(u64) -> Result<bool, E>,
        make: impl FnOnce() -> Result<B, E>,
    ) -> Result<MutexGuard<'a, S>, E> {
        loop {
            let mut state = lock(state);
            if open(&mut state).is_some() {
                return Ok(state);
            }
            let begun = self.begun();
            // Neither the wait for room nor that for a place in Metal's queue may keep others from closing batches.
            drop(state);
            // Where there is none, another thread's batch has begun, which may never close unless this thread fills it.
            if enter(begun)? {
                break;
            }
        }
        let batch = make().inspect_err(|_| self.leave(0))?;
        let mut state = lock(state);
        match open(&mut state) {
            // Another thread's; the lock is not needed to give ours back, nor in the way of it.
            Some(_) => {
                drop(batch);
                self.leave(0);
            }
            none => {
                *none = Some(batch);
                self.begin();
            }
        }
        Ok(state)
    }

    /// How many batches have begun, asked under the stream's lock while it has none in the making.
    pub(crate) fn begun(&self) -> u64 {
        self.state().begun
    }

    /// A batch begins, under the stream's lock.
    pub(crate) fn begin(&self) {
        let mut state = self.state();
        state.begun += 1;
        let waiting = state.waiting > 0;
        drop(state);
        if waiting {
            self.left.notify_all();
        }
    }

    /// Takes a place if there is one.
    pub(crate) fn try_enter(&self) -> Result<(), Full> {
        let mut state = self.state();
        if self.is_full(&state) {
            return Err(Full { submissions: state.submissions, bytes: state.bytes });
        }
        state.submissions += 1;
        Ok(())
    }

    /// Bytes never keep out the only submission.
    fn is_full(&self, state: &State) -> bool {
        state.submissions >= self.limits.0 || state.submissions > 0 && state.bytes >= self.limits.1
    }

    /// A submission that has its place is about to be handed over, with so many bytes.
    pub(crate) fn add(&self, bytes: u64) {
        let mut state = self.state();
        state.bytes = state.bytes.saturating_add(bytes);
    }

    /// Gives a place back, with the bytes that were added for it.
    pub(crate) fn leave(&self, bytes: u64) {
        let mut state = self.state();
        state.submissions -= 1;
        state.bytes = state.bytes.saturating_sub(bytes);
        let waiting = state.waiting > 0;
        drop(state);
        // All: bytes may have made room for several.
        if waiting {
            self.left.notify_all();
        }
    }

    /// Submissions that have a place, and the bytes of those that were handed over.
    pub(crate) fn taken(&self) -> (usize, u64) {
        let state = self.state();
        (state.submissions, state.bytes)
    }
}
