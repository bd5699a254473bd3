//! [`Slots`]: the command buffers that a queue has room for.
//!
//! Metal has whoever wants one more wait until one is done. That is as it should be, unless those that are not done stand behind a wait for an event, and
//! it is for the very thread that asks to end it: then it would never return. So the submissions behind such a wait are counted, and where they and the open
//! batches fill the queue, one more is an error, unless something that was submitted signals what is waited for.

use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::Inflight;
use crate::event::EventUse;
use crate::raw::host::lock;
use crate::{Error, Event, Result};

/// Uncompleted command buffers that the queue has room for. Metal's default is 64; more lets many threads record at once.
pub(crate) const QUEUE_CAPACITY: usize = 1024;
/// Batches being recorded at once. Below the capacity, so that there is always room that completing work gives back.
const MAX_OPEN_BATCHES: usize = QUEUE_CAPACITY / 2;

/// Held by who looks through the waits of several queues, and holds their locks meanwhile.
static LOOKING: Mutex<()> = Mutex::new(());

/// Those of one queue.
#[derive(Default)]
pub(crate) struct Slots {
    open: AtomicUsize,
    /// Uncompleted ones that wait for an event, or were committed behind one that does.
    behind: AtomicUsize,
    /// How many `waits` are.
    waiting: AtomicUsize,
    waits: Mutex<Vec<Wait>>,
}

/// A wait for an event's value by an uncompleted submission.
struct Wait {
    event: Event,
    value: u64,
    /// Whose it is, as a number.
    flight: usize,
}

/// One of the open batches'.
pub(crate) struct OpenSlot(Arc<Slots>);

/// Keeps a submission counted that may not begin before an event has a value.
pub(super) struct Behind {
    slots: Arc<Slots>,
    flight: usize,
}

impl Slots {
    /// For a batch.
    ///
    /// # Errors
    /// [`Error::TooManyBatches`], [`Error::QueueFull`].
    pub(super) fn open(self: &Arc<Self>) -> Result<OpenSlot> {
        let room = |open: usize| (open < MAX_OPEN_BATCHES).then_some(open + 1);
        if self.open.fetch_update(Ordering::SeqCst, Ordering::SeqCst, room).is_err() {
            return Err(Error::TooManyBatches { limit: MAX_OPEN_BATCHES });
        }
        let slot = OpenSlot(Arc::clone(self));
        // A batch is counted as behind before it is no longer open.
        let full = || self.open.load(Ordering::SeqCst) + self.behind.load(Ordering::SeqCst) > QUEUE_CAPACITY;
        if self.waiting.load(Ordering::SeqCst) > 0 && full() && self.waits_for_host() {
            return Err(Error::QueueFull { limit: QUEUE_CAPACITY });
        }
        Ok(slot)
    }

    /// Counts a submission that is about to be committed, if it may have to wait for an event. The lock of submitting must be held.
    pub(super) fn commit(self: &Arc<Self>, flight: &Inflight, events: &[(Event, EventUse)]) -> Option<Behind> {
        let number = ptr::from_ref(flight).addr();
        let waits: Vec<Wait> = events
            .iter()
            .filter_map(|(event, what)| match what {
                EventUse::Wait(value) => Some(Wait { event: event.clone(), value: *value, flight: number }),
                EventUse::Signal(_) => None,
            })
            .collect();
        if waits.is_empty() && self.waiting.load(Ordering::SeqCst) == 0 {
            return None;
        }
        self.behind.fetch_add(1, Ordering::SeqCst);
        self.waiting.fetch_add(waits.len(), Ordering::SeqCst);
        lock(&self.waits).extend(waits);
        Some(Behind { slots: Arc::clone(self), flight: number })
    }

    /// Whether somebody in the queue waits for what nothing submitted signals.
    fn waits_for_host(&self) -> bool {
        let _looking = lock(&LOOKING);
        self.stuck(&mut Vec::new())
    }

    /// `known`: the queues that were looked at, and what was found. Queues that wait for each other alone are not found: Metal ends those.
    fn stuck(&self, known: &mut Vec<(*const Slots, bool)>) -> bool {
        if let Some((_, found)) = known.iter().find(|(slots, _)| ptr::eq(*slots, self)) {
            return *found;
        }
        let place = known.len();
        known.push((self, false));
        // While this is locked all these submissions are unsettled, and have their events: no clone is the last, which would call the user's code.
        let waits = lock(&self.waits);
        let found = waits.iter().any(|wait| {
            let Some(owing) = wait.event.committed_to(wait.value) else { return false };
            owing.iter().all(|flight| flight.slots().is_some_and(|slots| slots.stuck(known)))
        });
        drop(waits);
        known[place].1 = found;
        found
    }
}

impl OpenSlot {
    pub(super) fn slots(&self) -> &Arc<Slots> {
        &self.0
    }
}

impl Drop for OpenSlot {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Drop for Behind {
    fn drop(&mut self) {
        let gone: Vec<Wait> = {
            let mut waits = lock(&self.slots.waits);
            waits.extract_if(.., |wait| wait.flight == self.flight).collect()
        };
        self.slots.waiting.fetch_sub(gone.len(), Ordering::SeqCst);
        self.slots.behind.fetch_sub(1, Ordering::SeqCst);
    }
}
