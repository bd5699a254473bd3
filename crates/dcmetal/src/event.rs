//! [`Event`]: a number that submissions and the host wait for and make larger.
//!
//! Always Metal's *shared* event: a plain `MTLEvent` cannot be signaled by the host, and Metal does not promise that a command
//! buffer which fails signals what it was to signal, so whoever waits for a plain one could wait forever. Here the failure of a
//! submission *poisons* the events that it was to signal: the host makes the value as large as it can be, so that nothing on a
//! device waits for it any more, and everybody who waited for a value that was not reached before gets the submission's error,
//! as does each submission that the poison let start.
//!
//! An event therefore keeps, beside Metal's object, the largest value that is known to be sound, and the submissions in
//! flight that owe it a signal: hostmetal signals for a command buffer that fails before its completion handler has run.
//! <https://developer.apple.com/documentation/metal/mtlsharedevent>

use std::fmt;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use crate::command::{Doom, Inflight};
use crate::raw::command::CommandBuffer;
use crate::raw::event::SharedEvent;
use crate::raw::host::lock;
use crate::sync::{Arc, Mutex};
use crate::{Accelerator, Error, Result, SubmissionError};

/// The longest wait that Metal is asked for at once; longer ones are several.
const SLICE: Duration = Duration::from_secs(3600);

/// A number that starts as 0 and only grows. Submissions and the host make it larger and wait until it is large enough, across
/// queues and devices. Cloning shares it.
///
/// A submission that fails poisons the events it was to signal ([`Batch::signal`](crate::Batch::signal)): whoever waits for a value
/// that the event had not reached gets the error, and so does every later use. Make another event then.
///
/// ```
/// # fn main() -> dcmetal::Result<()> {
/// # use dcmetal::*;
/// let gpu = Accelerator::system_default()?;
/// let twice = gpu.compile_msl(
///     "kernel void twice(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] *= 2.0f; }",
/// )?.kernel("twice")?;
/// let (event, mut x) = (gpu.event()?, gpu.buffer_from(&[1.0f32, 2.0])?);
/// let mut batch = gpu.batch()?;
/// batch.wait_for(&event, 1)?; // until the host says so
/// batch.launch(&twice, Grid::linear(2), args![&mut x])?;
/// batch.signal(&event, 2)?;
/// let submission = batch.submit()?;
/// event.signal(1)?;
/// event.wait(2)?;
/// submission.wait()?;
/// assert_eq!(x.to_vec()?, [2.0, 4.0]);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Event {
    raw: Arc<SharedEvent>,
    /// Apart from Metal's object: a notification keeps this, and must not keep the event.
    known: Arc<Mutex<Known>>,
}

#[derive(Default)]
struct Known {
    /// The largest value that no failed submission made.
    sound: u64,
    poison: Option<Arc<SubmissionError>>,
    /// Submissions in flight and the values that they signal.
    owed: Vec<(u64, Arc<Inflight>)>,
}

/// What a submission does with an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventUse {
    /// Makes the value at least this.
    Signal(u64),
    /// Does not go on before the value is at least this.
    Wait(u64),
}

impl EventUse {
    pub(crate) fn is_signal(self) -> bool {
        matches!(self, EventUse::Signal(_))
    }
}

impl Accelerator {
    /// An event whose value is 0.
    ///
    /// # Errors
    /// [`Error::Metal`] when Metal makes none; [`Error::NoDevice`] when the device was removed.
    pub fn event(&self) -> Result<Event> {
        let raw = SharedEvent::new(self.device())
            .map_err(|failure| failure.of_nothing(self.device(), "make an event", None))?;
        Ok(Event { raw: Arc::new(raw), known: Arc::default() })
    }
}

impl Event {
    /// The value, as far as it is sound: what a failed submission signaled does not count.
    ///
    /// Waits for a submission that has failed to settle, so it is not to be called from a waker or a logger.
    ///
    /// # Errors
    /// [`Error::EventFaulted`] once the event is poisoned.
    pub fn value(&self) -> Result<u64> {
        self.look();
        let known = lock(&self.known);
        match &known.poison {
            None => Ok(known.sound),
            Some(cause) => Err(Error::EventFaulted { cause: Arc::clone(cause) }),
        }
    }

    /// Makes the value at least `value`. One that is not above the event's changes nothing.
    ///
    /// # Errors
    /// [`Error::EventFaulted`] once the event is poisoned.
    pub fn signal(&self, value: u64) -> Result<()> {
        if let Some(cause) = &lock(&self.known).poison {
            return Err(Error::EventFaulted { cause: Arc::clone(cause) });
        }
        self.raw.signal(value).map_err(|failure| failure.during("signal an event"))?;
        self.make_sound(value, &mut Vec::new());
        Ok(())
    }

    /// Takes a value that was signaled for sound, unless somebody fails who may have let those go who wait for it: who made the event larger, too.
    fn make_sound(&self, value: u64, kept: &mut Vec<(Event, EventUse)>) {
        let sound = Inflight::doom(owing(&self.known, 0..=self.raw.value().max(value)), kept).is_none();
        let mut known = lock(&self.known);
        if sound && known.poison.is_none() {
            known.sound = known.sound.max(value);
        }
    }

    /// Sleeps until the event has at least this value, which may be forever.
    ///
    /// # Errors
    /// [`Error::EventFaulted`] when a submission that was to signal the event failed first.
    pub fn wait(&self, value: u64) -> Result<()> {
        while !self.reached(value, SLICE)? {}
        Ok(())
    }

    /// As [`Event::wait`], for at most `limit`, in milliseconds.
    ///
    /// # Errors
    /// As [`Event::wait`]; [`Error::Timeout`] when the value is not reached by then.
    pub fn wait_timeout(&self, value: u64, limit: Duration) -> Result<()> {
        // A limit beyond what the clock can count is no limit.
        let Some(deadline) = Instant::now().checked_add(limit) else { return self.wait(value) };
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if self.reached(value, left.min(SLICE))? {
                return Ok(());
            }
            if left.is_zero() {
                return Err(Error::Timeout { waited: limit });
            }
        }
    }

    /// Has `told` called once, on a thread of Metal's, when the event has at least this value, which may be so already: with the
    /// value that it has then, or with the error of [`Event::wait`]. When every clone of the event and every submission that
    /// uses it have gone before, it is called with [`Error::EventDropped`] by whoever was the last, which may be the thread of Metal's that tells of
    /// completions: it must wait for no submission. It does not keep the event.
    ///
    /// # Errors
    /// [`Error::Metal`] when Metal refuses; `told` is dropped then and not called.
    pub fn on_reached(&self, value: u64, told: impl FnOnce(Result<u64>) + Send + 'static) -> Result<()> {
        let (known, raw) = (Arc::clone(&self.known), Arc::downgrade(&self.raw));
        let reached = Box::new(move |now: Option<u64>| {
            let Some(now) = now else { return told(Err(Error::EventDropped)) };
            if learn(&known, now)
                && let Some(raw) = raw.upgrade()
            {
                let_go(&raw);
            }
            let outcome = {
                let known = lock(&known);
                known.outcome(value).map(|reached| if reached { known.sound } else { now })
            };
            told(outcome);
        });
        self.raw.notify(value, reached).map_err(|failure| failure.during("wait for an event"))
    }

    /// Whether it has the value, soundly, after at most `limit`.
    fn reached(&self, value: u64, limit: Duration) -> Result<bool> {
        if lock(&self.known).outcome(value)? {
            return Ok(true);
        }
        let milliseconds = u64::try_from(limit.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
        let reached = self.raw.wait(value, milliseconds).map_err(|failure| failure.during("wait for an event"))?;
        if reached {
            self.look();
        }
        lock(&self.known).outcome(value)
    }

    /// Learns the value of now.
    fn look(&self) {
        if learn(&self.known, self.raw.value()) {
            let_go(&self.raw);
        }
    }

    /// Encodes a use between encoders.
    pub(crate) fn encode(&self, command_buffer: &mut CommandBuffer, what: EventUse) -> Result<()> {
        let encoded = match what {
            EventUse::Signal(value) => self.raw.encode_signal(command_buffer, value),
            EventUse::Wait(value) => self.raw.encode_wait(command_buffer, value),
        };
        encoded.map_err(|failure| failure.during("encode an event"))
    }

    /// Begins a use by a submission, before its commit.
    ///
    /// # Errors
    /// [`Error::EventFaulted`] for what a poisoned event cannot be used for.
    pub(crate) fn begin(&self, what: EventUse, flight: &Arc<Inflight>) -> Result<()> {
        let mut known = lock(&self.known);
        match what {
            EventUse::Wait(value) => known.outcome(value).map(drop),
            EventUse::Signal(value) => match &known.poison {
                Some(cause) => Err(Error::EventFaulted { cause: Arc::clone(cause) }),
                None => {
                    known.owed.push((value, Arc::clone(flight)));
                    Ok(())
                }
            },
        }
    }

    /// Takes a submission's signals back: it was not committed.
    pub(crate) fn cancel(&self, flight: &Arc<Inflight>) {
        lock(&self.known).forget(flight);
    }

    /// As a device does.
    #[cfg(test)]
    pub(crate) fn signal_for_tests(&self, value: u64) {
        self.raw.signal(value).expect("it is larger");
    }

    /// The submissions in flight that may have let `flight` start, which waited for the value.
    pub(crate) fn owing(&self, value: u64, flight: &Arc<Inflight>) -> Vec<Arc<Inflight>> {
        if value <= lock(&self.known).sound {
            return Vec::new();
        }
        let mut others = owing(&self.known, value..=self.raw.value());
        others.retain(|owing| !Arc::ptr_eq(owing, flight));
        flight.leave_later(&mut others);
        others
    }

    /// Who was committed and signals at least the value; `None` where nobody has to: it was reached, or the event is poisoned.
    pub(crate) fn committed_to(&self, value: u64) -> Option<Vec<Arc<Inflight>>> {
        let owing: Vec<Arc<Inflight>> = {
            let known = lock(&self.known);
            if known.poison.is_some() || known.sound >= value {
                return None;
            }
            let owed = known.owed.iter().filter(|(owed, flight)| *owed >= value && flight.is_committed());
            owed.map(|(_, flight)| Arc::clone(flight)).collect()
        };
        // In this order: the device signals before anybody forgets that it would.
        if self.raw.value() >= value { None } else { Some(owing) }
    }

    /// Which event it is, as long as there is a clone of it.
    pub(crate) fn number(&self) -> usize {
        Arc::as_ptr(&self.raw).addr()
    }

    /// Why what waited for the value may not have been allowed to start.
    pub(crate) fn fault(&self, value: u64) -> Option<Arc<SubmissionError>> {
        let known = lock(&self.known);
        known.poison.as_ref().filter(|_| value > known.sound).map(Arc::clone)
    }

    /// Ends a submission's signal. `kept`: as [`Inflight::doom`] has it.
    pub(crate) fn end(
        &self,
        value: u64,
        flight: &Arc<Inflight>,
        failure: Option<&Arc<SubmissionError>>,
        kept: &mut Vec<(Event, EventUse)>,
    ) {
        {
            // At once: who finds that nobody owes the value any more takes it for sound.
            let mut known = lock(&self.known);
            known.forget(flight);
            if let Some(failure) = failure {
                known.poison(failure);
            }
        }
        if failure.is_none() {
            self.make_sound(value, kept);
        }
        if lock(&self.known).poison.is_some() {
            let_go(&self.raw);
        }
    }
}

/// Lets everything on devices go that waits for the event, which is poisoned.
fn let_go(event: &SharedEvent) {
    // Metal takes any value that is larger. If it refused this one, whoever waits would wait on.
    let woken = event.signal(u64::MAX);
    assert!(woken.is_ok(), "a live event is always signaled: {woken:?}");
}

impl Known {
    fn forget(&mut self, flight: &Arc<Inflight>) {
        self.owed.retain(|(_, owing)| !Arc::ptr_eq(owing, flight));
    }

    fn poison(&mut self, cause: &Arc<SubmissionError>) {
        self.poison.get_or_insert_with(|| Arc::clone(cause));
    }

    /// Whether the value is known to have been reached, or why it never will be.
    fn outcome(&self, value: u64) -> Result<bool> {
        match &self.poison {
            _ if value <= self.sound => Ok(true),
            Some(cause) => Err(Error::EventFaulted { cause: Arc::clone(cause) }),
            None => Ok(false),
        }
    }
}

/// Takes a value that Metal's event has for sound, unless one of those that may have signaled it fails: then the event is poisoned by what that fails
/// by when this returns. Whether it does: then [`let_go`] is due.
fn learn(known: &Mutex<Known>, now: u64) -> bool {
    let cause = match Inflight::doom(owing(known, 0..=now), &mut Vec::new()) {
        Some(Doom::Submission(root)) => root.failure(),
        Some(Doom::Event(cause)) => Some(cause),
        None => None,
    };
    let mut known = lock(known);
    if known.poison.is_none() {
        match &cause {
            Some(cause) => known.poison(cause),
            None => known.sound = known.sound.max(now),
        }
    }
    cause.is_some()
}

/// The submissions in flight that may have signaled one of these values, the largest of which the event was seen to have: nobody, when that is sound or the
/// event is poisoned already.
fn owing(known: &Mutex<Known>, values: RangeInclusive<u64>) -> Vec<Arc<Inflight>> {
    let mut owing: Vec<Arc<Inflight>> = {
        let known = lock(known);
        if *values.end() <= known.sound || known.poison.is_some() {
            return Vec::new();
        }
        known.owed.iter().filter(|(value, _)| values.contains(value)).map(|(_, flight)| Arc::clone(flight)).collect()
    };
    owing.retain(|flight| flight.was_committed());
    owing
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = lock(&self.known);
        f.debug_struct("Event").field("sound", &known.sound).field("poisoned", &known.poison.is_some()).finish()
    }
}
