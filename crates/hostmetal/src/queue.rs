//! Command queues: an order of command buffers, run one after the other by whichever worker drives the queue.
//!
//! A queue has no thread. While its first command buffer in order is committed, one worker drives it: runs command buffers
//! until the first one is not committed. Queues are driven by different workers, so they run concurrently; a callback or a
//! kernel that blocks stops its own queue only. A completed callback that waits for a command buffer, for room in a queue or for an
//! event hands its queue over to another worker first, so that it does not wait for itself. A command buffer that waits for an event parks the queue: it
//! stays with its worker in name only, until the event has another one resume it (event.rs). Command buffers keep their queue alive, so one that is released
//! with work in flight completes that work.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::command::{self, CommandBuffer, Failure};
use crate::device::Device;
use crate::encode::Recording;
use crate::executor::event;
use crate::executor::pool::{self, Worker};
use crate::executor::run::{self, Execution, Ran};
use crate::overlap::Draws;

/// An MTLCommandQueue.
pub(crate) struct Queue {
    pub(crate) device: &'static Device,
    limit: u32,
    /// Command buffers that have not completed; creators sleep on it.
    live: AtomicU32,
    /// Creators that sleep or are about to.
    waiting: AtomicU32,
    state: Mutex<State>,
    /// Empty recordings of command buffers that have completed, `SPARES` at most: what the next encoders need was allocated before.
    spares: Mutex<Vec<Recording>>,
    pub(crate) draws: Draws,
}

const SPARES: usize = 8;

#[derive(Default)]
struct State {
    /// Taken up and not begun, before those in order: where passes overtake each other.
    ahead: VecDeque<Execution>,
    order: VecDeque<Place>,
    last_ticket: u64,
    /// Whether a worker drives the queue, or it is parked.
    driven: bool,
    /// What waits for an event.
    parked: Option<Execution>,
}

struct Place {
    ticket: u64,
    committed: Option<Arc<CommandBuffer>>,
}

impl State {
    /// The first in order, if it is committed.
    fn take_committed(&mut self) -> Option<Arc<CommandBuffer>> {
        let committed = self.order.front_mut()?.committed.take()?;
        self.order.pop_front();
        Some(committed)
    }
}

thread_local! {
    /// The queue that this thread drives.
    static DRIVEN: Cell<*const Queue> = const { Cell::new(ptr::null()) };
}

impl Queue {
    /// A queue of at most `limit` uncompleted command buffers (at least 1).
    pub(crate) fn new(device: &'static Device, limit: usize) -> Queue {
        Queue {
            device,
            limit: u32::try_from(limit).unwrap_or(u32::MAX).max(1),
            live: AtomicU32::new(0),
            waiting: AtomicU32::new(0),
            state: Mutex::new(State::default()),
            spares: Mutex::default(),
            draws: Draws::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn spares(&self) -> MutexGuard<'_, Vec<Recording>> {
        self.spares.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An empty recording.
    pub(crate) fn recording(&self) -> Recording {
        self.spares().pop().unwrap_or_default()
    }

    /// Lets go of what a recording holds, and keeps its memory for a next one.
    pub(crate) fn give_back(&self, recording: Recording) {
        // Not with the lock held: this may run a deallocator of the program's.
        let Some(spare) = recording.emptied() else { return };
        let mut spares = self.spares();
        if spares.len() < SPARES {
            spares.push(spare);
        }
    }

    /// Counts a new command buffer, once there is room for it.
    pub(crate) fn reserve(self: &Arc<Queue>) {
        let take = |live: u32| (live < self.limit).then_some(live + 1);
        if self.live.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok() {
            return;
        }
        if self.driven_here() && command::in_scheduled_callback() {
            // Nothing of this queue can complete before the callback returns: the limit gives way.
            self.live.fetch_add(1, Ordering::SeqCst);
            return;
        }
        // Where this is a completed callback of whichever queue.
        command::leave_queue();
        self.waiting.fetch_add(1, Ordering::SeqCst);
        while let Err(live) = self.live.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take) {
            event::sleep_while(&self.live, live, None);
        }
        self.waiting.fetch_sub(1, Ordering::SeqCst);
    }

    /// A command buffer has completed or will never be committed.
    pub(crate) fn unreserve(&self) {
        self.live.fetch_sub(1, Ordering::SeqCst);
        // Either this sees the creator, or the creator, which counted itself first, sees the new number.
        if self.waiting.load(Ordering::SeqCst) > 0 {
            event::wake(&self.live, 1);
        }
    }

    /// The next place in the order, for a command buffer that will be committed later.
    pub(crate) fn take_place(&self) -> u64 {
        let mut state = self.state();
        state.last_ticket += 1;
        let ticket = state.last_ticket;
        state.order.push_back(Place { ticket, committed: None });
        ticket
    }

    /// The command buffer of a place will never be committed.
    pub(crate) fn give_up_place(self: &Arc<Queue>, ticket: u64) {
        let mut state = self.state();
        state.order.retain(|place| place.ticket != ticket);
        self.drive_if_due(state);
    }

    /// Takes a committed command buffer to its place.
    pub(crate) fn submit(self: &Arc<Queue>, command_buffer: Arc<CommandBuffer>, ticket: u64) {
        let mut state = self.state();
        // They are in the order of their tickets.
        match state.order.binary_search_by_key(&ticket, |place| place.ticket) {
            Ok(at) => state.order[at].committed = Some(command_buffer),
            Err(_) => unreachable!("only what is committed leaves its place"),
        }
        self.drive_if_due(state);
    }

    fn drive_if_due(self: &Arc<Queue>, mut state: MutexGuard<'_, State>) {
        let is_due = !state.ahead.is_empty() || state.order.front().is_some_and(|place| place.committed.is_some());
        if state.driven || !is_due {
            return;
        }
        state.driven = true;
        drop(state);
        pool::drive(self.clone());
    }

    /// Whether the calling thread drives this queue, which is so in callbacks.
    pub(crate) fn driven_here(&self) -> bool {
        ptr::eq(DRIVEN.get(), self)
    }

    /// Lets another worker drive the queue, because the calling thread is about to wait for it in a completed callback; not
    /// in a scheduled one, whose command buffer has still to run here.
    pub(crate) fn hand_over(self: &Arc<Queue>) {
        if self.driven_here() {
            DRIVEN.set(ptr::null());
            let mut state = self.state();
            state.driven = false;
            self.drive_if_due(state);
        }
    }

    /// Runs command buffers until the first in order is not committed, or the queue was handed over. Without a worker (no
    /// thread could be started) they fail.
    pub(crate) fn run(&self, mut worker: Option<&mut Worker>) {
        let outer = DRIVEN.replace(self);
        while self.driven_here() {
            let Some(execution) = self.next() else { break };
            let Some(worker) = &mut worker else {
                run::give_up(execution);
                continue;
            };
            if run::execute(worker, execution) == Ran::Parked {
                // It may be another worker's already.
                break;
            }
        }
        DRIVEN.set(outer);
    }

    fn next(&self) -> Option<Execution> {
        let mut state = self.state();
        if let Some(parked) = state.parked.take() {
            return Some(parked);
        }
        if let Some(execution) = state.ahead.pop_front() {
            drop(state);
            return Some(execution.begin());
        }
        let committed = state.take_committed();
        state.driven = committed.is_some();
        drop(state);
        Some(Execution::of(committed?).begin())
    }

    /// Whether a command buffer waits for its turn.
    pub(crate) fn has_more(&self) -> bool {
        let state = self.state();
        !state.ahead.is_empty() || state.order.front().is_some_and(|place| place.committed.is_some())
    }

    /// The next of its command buffers, `most` at most, for its driver to look at; `take_back` has to get them.
    pub(crate) fn lend(&self, most: usize) -> VecDeque<Execution> {
        let mut state = self.state();
        let mut lent = std::mem::take(&mut state.ahead);
        let room = most.saturating_sub(lent.len());
        let committed: Vec<_> = std::iter::from_fn(|| state.take_committed()).take(room).collect();
        drop(state);
        lent.extend(committed.into_iter().map(Execution::of));
        lent
    }

    pub(crate) fn take_back(&self, lent: VecDeque<Execution>) {
        self.state().ahead = lent;
    }

    /// Keeps what the calling driver has begun to run and cannot go on with.
    pub(crate) fn park(&self, execution: Execution) {
        self.state().parked = Some(execution);
    }

    /// Takes back what was parked, if it did not have to wait after all.
    pub(crate) fn unpark(&self) -> Execution {
        let parked = self.state().parked.take();
        parked.unwrap_or_else(|| unreachable!("the calling driver has parked it, and nobody was told to resume"))
    }

    /// The wait of the parked command buffer is over, or has failed.
    pub(crate) fn resume(self: &Arc<Queue>, failure: Option<Failure>) {
        if let Some(parked) = &mut self.state().parked {
            parked.failure = failure;
        }
        pool::drive(self.clone());
    }
}
