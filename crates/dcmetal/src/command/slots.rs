//! [`Slots`]: the command buffers that a queue has room for.
//!
//! Metal has whoever wants one more wait until one is done. That is as it should be, unless those that are not done stand behind a wait for an event, and
//! it is for the very thread that asks to end it: then it would never return. So the submissions behind such a wait are counted, and where they and the open
//! batches fill the queue, one more is an error, unless something that was submitted ends the wait.
//!
//! That is so where the event is owed by a submission which comes to its signal: every wait before the signal, in the order of its queue, ends in its
//! turn. What nobody can show to end does not: a wait for what stands behind itself is for somebody else, or for nobody.

use std::collections::BTreeSet;
use std::ptr;

use super::Inflight;
use crate::event::EventUse;
use crate::raw::host::lock;
use crate::sync::{Arc, AtomicUsize, Mutex, Ordering, QUEUE_CAPACITY};
use crate::{Error, Event, Result};

/// Batches being recorded at once. Below the capacity, so that there is always room that completing work gives back.
const MAX_OPEN_BATCHES: usize = QUEUE_CAPACITY / 2;

/// Those of one queue.
#[derive(Default)]
pub(crate) struct Slots {
    open: AtomicUsize,
    /// How many waits there are.
    waiting: AtomicUsize,
    counted: Mutex<Counted>,
}

/// Uncompleted submissions that wait for an event, or were committed while one did.
#[derive(Default)]
struct Counted {
    /// Numbers are in the order of commits.
    numbers: BTreeSet<u64>,
    next: u64,
    waits: Vec<Wait>,
    signals: Vec<Signal>,
}

/// Where a queue comes to a wait or a signal: by the submission's number, and which of its uses of events it is.
type Place = (u64, usize);

struct Wait {
    event: Event,
    value: u64,
    place: Place,
}

struct Signal {
    /// As a number, like the submission.
    event: usize,
    value: u64,
    flight: usize,
    place: Place,
}

/// One of the open batches'.
pub(crate) struct OpenSlot(Arc<Slots>);

/// Keeps a submission counted until it has completed.
pub(super) struct Behind {
    slots: Arc<Slots>,
    number: u64,
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
        // A batch is counted before it is no longer open.
        let is_full = |first| self.open.load(Ordering::SeqCst) + self.from(first) > QUEUE_CAPACITY;
        if self.waiting.load(Ordering::SeqCst) > 0 && is_full(0) && Look::at(self).is_some_and(is_full) {
            return Err(Error::QueueFull { limit: QUEUE_CAPACITY });
        }
        Ok(slot)
    }

    /// How many are counted from this number on.
    fn from(&self, first: u64) -> usize {
        lock(&self.counted).numbers.range(first..).count()
    }

    /// Counts a submission that is about to be committed, if it may have to wait for an event. The lock of submitting must be held.
    pub(super) fn commit(self: &Arc<Self>, flight: &Inflight, events: &[(Event, EventUse)]) -> Option<Behind> {
        let waits = events.iter().filter(|(_, what)| !what.is_signal()).count();
        if waits == 0 && self.waiting.load(Ordering::SeqCst) == 0 {
            return None;
        }
        self.waiting.fetch_add(waits, Ordering::SeqCst);
        let flight = ptr::from_ref(flight).addr();
        let mut counted = lock(&self.counted);
        let number = counted.next;
        counted.next += 1;
        counted.numbers.insert(number);
        for (at, (event, what)) in events.iter().enumerate() {
            let place = (number, at);
            match *what {
                EventUse::Wait(value) => counted.waits.push(Wait { event: event.clone(), value, place }),
                EventUse::Signal(value) => counted.signals.push(Signal { event: event.number(), value, flight, place }),
            }
        }
        Some(Behind { slots: Arc::clone(self), number })
    }

    /// Where it comes to the submission's first signal that is enough; `None` when it waits for nothing before.
    fn signal(&self, flight: &Inflight, event: usize, value: u64) -> Option<Place> {
        let flight = ptr::from_ref(flight).addr();
        let counted = lock(&self.counted);
        let enough = |signal: &&Signal| (signal.flight, signal.event) == (flight, event) && signal.value >= value;
        counted.signals.iter().filter(enough).map(|signal| signal.place).min()
    }
}

/// The waits of the queues that a queue may depend on, looked at one after the other. Meanwhile others commit and complete: what ends a wait after it was
/// looked at is not seen, as if it had come a moment later.
struct Look {
    queues: Vec<Arc<Slots>>,
    waits: Vec<Vec<Seen>>,
}

/// A wait, and where those stand that can end it: the queue's number here, and the place of the signal in it.
struct Seen {
    place: Place,
    owed: Vec<(usize, Place)>,
    ends: bool,
}

impl Look {
    /// The number of the first of the queue's submissions that waits for what nothing submitted ends.
    fn at(slots: &Arc<Slots>) -> Option<u64> {
        let mut look = Look { queues: vec![Arc::clone(slots)], waits: Vec::new() };
        while let Some(slots) = look.queues.get(look.waits.len()).cloned() {
            let waits = look.of(&slots);
            look.waits.push(waits);
        }
        while look.step() {}
        look.waits[0].iter().filter(|wait| !wait.ends).map(|wait| wait.place.0).min()
    }

    /// A queue's waits that are not over.
    fn of(&mut self, slots: &Slots) -> Vec<Seen> {
        let owed = |wait: &Wait| {
            let owing = wait.event.committed_to(wait.value)?;
            Some((wait.place, wait.event.number(), wait.value, owing))
        };
        // While this is locked their submissions have not let go of their events: no clone is the last, which would call the user's code.
        let found: Vec<_> = lock(&slots.counted).waits.iter().filter_map(owed).collect();
        let seen = found.into_iter().map(|(place, event, value, owing)| {
            let mut seen = Seen { place, owed: Vec::new(), ends: false };
            for flight in owing {
                let place = flight.slots().map(|slots| (slots.signal(&flight, event, value), slots));
                match place {
                    Some((Some(place), slots)) => seen.owed.push((self.number(slots), place)),
                    // Nothing keeps it from its signal.
                    _ => seen.ends = true,
                }
            }
            seen
        });
        seen.collect()
    }

    fn number(&mut self, slots: Arc<Slots>) -> usize {
        self.queues.iter().position(|known| Arc::ptr_eq(known, &slots)).unwrap_or_else(|| {
            self.queues.push(slots);
            self.queues.len() - 1
        })
    }

    /// Finds more waits that end; false when there are no more.
    fn step(&mut self) -> bool {
        let first: Vec<Option<Place>> = self
            .waits
            .iter()
            .map(|waits| waits.iter().filter(|wait| !wait.ends).map(|wait| wait.place).min())
            .collect();
        let mut found = false;
        for wait in self.waits.iter_mut().flatten().filter(|wait| !wait.ends) {
            wait.ends = wait.owed.iter().any(|(queue, place)| first[*queue].is_none_or(|first| *place < first));
            found |= wait.ends;
        }
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
            let mut counted = lock(&self.slots.counted);
            counted.numbers.remove(&self.number);
            counted.signals.retain(|signal| signal.place.0 != self.number);
            counted.waits.extract_if(.., |wait| wait.place.0 == self.number).collect()
        };
        self.slots.waiting.fetch_sub(gone.len(), Ordering::SeqCst);
    }
}
