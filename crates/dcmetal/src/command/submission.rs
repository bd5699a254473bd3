//! Submissions: work that was handed to the device.
//!
//! [`Inflight`] is the shared record of one committed command buffer. Metal's completion handler *settles* it, once:
//! it ends the buffers' uses, lets go of everything the work needed, sets the outcome, and wakes who waits; the user's code,
//! which is the logger and wakers, comes last and under no lock. All of
//! that depends on the handler alone, so a [`Submission`] may be dropped, leaked, or waited for in any order.
//!
//! A submission that used what a failed one wrote has failed too, even if its own commands completed. Its settling
//! therefore looks at the submissions it depends on, and if one of them is not settled yet (Metal promises no order
//! among the handlers of different command buffers) it is done by the one that settles last.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::batch::Given;
use super::ending::{Ending, follow_all, settle_all, wake};
use super::history::History;
use super::order::Marked;
use super::room::Room;
use super::slots::{Behind, OpenSlot, Slots};
use super::stream;
use super::verdict::Verdict;
use crate::event::{Event, EventUse};
use crate::kernel::Kernel;
use crate::memory::AllocationRef;
use crate::print::{PrintBuffer, Printed};
use crate::raw::Failure;
use crate::raw::command::{CommandBuffer, Committed, Completion};
use crate::raw::host::{DeviceUse, lock};
use crate::sync::{Arc, AtomicBool, Mutex, Ordering, Weak, yield_now};
use crate::telemetry::{Ended, Figures, SUBMISSION, Timing};
use crate::{EncoderReport, EncoderState, Error, Result, SubmissionError};

/// What a submission needs until the device is done.
#[derive(Default)]
pub(crate) struct Held {
    pub(crate) buffers: Vec<(AllocationRef, DeviceUse)>,
    /// Keeps the pipelines alive; their names go into errors.
    pub(crate) kernels: Vec<Launched>,
    /// How many copies and fills it has.
    pub(crate) copies: u64,
    /// And passes of Metal Performance Shaders.
    pub(crate) passes: u64,
    /// The label of each encoder, in order.
    pub(crate) encoders: Vec<String>,
    /// The submissions in flight whose results it uses.
    pub(crate) after: Vec<Arc<Inflight>>,
    /// The events that it signals and waits for.
    pub(crate) events: Vec<(Event, EventUse)>,
    /// What else its encoders were given: Metal does not keep it.
    #[expect(dead_code, reason = "kept until the device is done")]
    pub(super) given: Vec<Given>,
    /// What keeps its encoders apart.
    #[expect(dead_code, reason = "kept until the device is done")]
    pub(super) marked: Option<Marked>,
    /// By which it fails though the command buffer did not.
    pub(crate) verdicts: Vec<Verdict>,
    /// What was recorded, if that is kept.
    pub(crate) history: History,
    pub(crate) counted: Counted,
}

/// Whether telemetry counts a submission, and where.
#[derive(Default)]
pub(crate) enum Counted {
    #[default]
    Not,
    /// By the accelerator of its kernels and buffers: to hold the figures for each would have the thread that commits and the one that completes wait for
    /// each other's cache lines.
    ByAccelerator,
    /// There are neither.
    Here(Arc<Figures>),
}

impl Counted {
    pub(super) fn new(figures: Option<&Arc<Figures>>, alone: bool) -> Counted {
        match figures {
            None => Counted::Not,
            Some(figures) if alone => Counted::Here(Arc::clone(figures)),
            Some(_) => Counted::ByAccelerator,
        }
    }
}

impl Held {
    fn figures(&self) -> Option<&Arc<Figures>> {
        match &self.counted {
            Counted::Not => None,
            Counted::Here(figures) => Some(figures),
            Counted::ByAccelerator => {
                let of_kernel = self.kernels.first().map(|launched| launched.kernel.accelerator());
                let accelerator =
                    of_kernel.or_else(|| self.buffers.first().map(|(allocation, _)| allocation.accelerator()));
                accelerator.expect("it has a kernel or a buffer").figures()
            }
        }
    }
}

/// A kernel, and how often a submission launches it.
pub(crate) struct Launched {
    pub(crate) kernel: Kernel,
    pub(crate) launches: u64,
}

/// The command buffer's own outcome.
type Own = std::result::Result<(), Failure>;
/// The submission's outcome.
type Outcome = std::result::Result<(), Arc<SubmissionError>>;

#[derive(Default)]
struct State {
    held: Held,
    /// It does not end well, though nobody was told yet.
    bad: bool,
    /// What a stream's submission gives back.
    place: Option<Place>,
    /// Earlier submissions of its stream that an event makes it depend on: what it signals is for them, or it follows their waits.
    before: Vec<Arc<Inflight>>,
}

impl State {
    /// Those that it depends on by what it uses and by its stream.
    fn comes_after(&self) -> impl Iterator<Item = Arc<Inflight>> {
        self.held.after.iter().chain(&self.before).cloned()
    }
}

/// A stream's batch that was handed over. One that Metal refused is still to be settled, and whoever waits for it waits for that.
#[must_use = "it may still be to be settled"]
pub(super) struct HandedOver {
    pub(super) flight: Arc<Inflight>,
    refusal: Option<Failure>,
}

impl HandedOver {
    pub(super) fn new(flight: Arc<Inflight>, committed: Own) -> HandedOver {
        let refusal = committed.err();
        if refusal.is_some() {
            // Who asks what it fails by need not wait until it is settled.
            lock(&flight.state).bad = true;
        }
        HandedOver { flight, refusal }
    }

    /// No locks may be held: what is told is told to the user's code.
    pub(super) fn settle(self) -> Submission {
        let HandedOver { flight, refusal } = self;
        if let Some(failure) = refusal {
            Arc::clone(&flight).complete(Err(failure));
        }
        Submission::new(flight, Vec::new())
    }
}

/// What the user's code is to be told, once everything is settled.
#[derive(Default)]
struct Told {
    wakers: Vec<Waker>,
    words: Vec<(log::Level, String)>,
    /// The last to let an event go calls who waits for it.
    events: Vec<(Event, EventUse)>,
}

impl Told {
    fn outcome(&mut self, outcome: &Outcome, held: &Held) {
        let level = if outcome.is_ok() { log::Level::Trace } else { log::Level::Warn };
        // Whether the logger wants it is its own code.
        if level <= log::max_level() {
            let words = match outcome {
                Ok(()) => format!("done: {}", kernel_names(held).join(", ")),
                Err(error) => error.to_string(),
            };
            self.words.push((level, words));
        }
    }

    /// Each by itself: one that panics must keep nobody else from learning, and the panic hook has reported it.
    fn tell(self) {
        for (level, words) in self.words {
            let _ = catch_unwind(AssertUnwindSafe(|| log::log!(target: SUBMISSION, level, "{words}")));
        }
        self.wakers.into_iter().for_each(wake);
        drop(self.events);
    }
}

/// What a submission fails by.
pub(crate) enum Doom {
    /// One that has failed by itself, or settled badly, or is about to: it waits for nobody.
    Submission(Arc<Inflight>),
    /// The poison of an event that it, or one that it depends on, waits for.
    Event(Arc<SubmissionError>),
}

/// A submission's place among those of its stream.
pub(super) struct Place {
    pub(super) room: Arc<Room>,
    pub(super) bytes: u64,
}

/// One submission, shared by its handle, Metal's completion handler and the buffers it writes.
#[derive(Default)]
pub(crate) struct Inflight {
    state: Mutex<State>,
    /// Its followers have completed and cannot settle before this one.
    ending: Ending<Outcome, (Arc<Inflight>, Own)>,
    /// Set right before the commit.
    committing: AtomicBool,
    /// Set right after it.
    command_buffer: OnceLock<Committed>,
    /// Whose batch it is.
    stream: Option<Weak<stream::Shared>>,
    /// Of its queue, right before the commit.
    slots: OnceLock<Weak<Slots>>,
    /// Where telemetry is on, and measures it.
    timing: OnceLock<Box<Timing>>,
}

impl Inflight {
    /// Of a batch that this stream makes.
    pub(super) fn of_stream(stream: Weak<stream::Shared>) -> Inflight {
        Inflight { stream: Some(stream), ..Inflight::default() }
    }

    pub(crate) fn is_of_stream(&self) -> bool {
        self.stream.is_some()
    }

    /// Hands its batch over, if a stream has it still in the making. The locks of streams and of submitting must be free.
    pub(crate) fn hand_over(&self) {
        if let Some(stream) = self.stream.as_ref().and_then(Weak::upgrade) {
            stream.hand_over(self);
        }
    }

    /// Where it is to be counted as done, and the submissions of its stream that it fails with.
    pub(super) fn take_place(&self, place: Place, before: Vec<Arc<Inflight>>) {
        let mut state = lock(&self.state);
        state.place = Some(place);
        state.before = before;
    }

    /// Whether it has settled with a failure; `None` before it has settled.
    pub(super) fn settled_badly(&self) -> Option<bool> {
        self.ending.outcome().map(|outcome| outcome.is_err())
    }

    /// Waits until the device is done.
    pub(super) fn wait(&self) -> Result<()> {
        self.ending.wait().map_err(Error::Submission)
    }

    /// Measures it from now on, where its batch begins.
    pub(super) fn measure(&self, timing: Box<Timing>) {
        let first = self.timing.set(timing).is_ok();
        assert!(first, "a batch begins once");
    }

    pub(super) fn timing(&self) -> Option<&Timing> {
        self.timing.get().map(|timing| &**timing)
    }

    /// Fills in what it needs, before the commit.
    pub(crate) fn hold(&self, held: Held) {
        lock(&self.state).held = held;
    }

    /// Takes back what `hold` gave, when there is no commit after all.
    pub(crate) fn release(&self) -> Held {
        std::mem::take(&mut lock(&self.state).held)
    }

    /// Counts it among those of its queue, if it may have to wait for an event. The lock of submitting must be held.
    pub(super) fn take_slot(&self, slot: &OpenSlot) -> Option<Behind> {
        let state = lock(&self.state);
        if state.held.events.iter().any(|(_, what)| what.is_signal()) {
            let first = self.slots.set(Arc::downgrade(slot.slots())).is_ok();
            assert!(first, "a submission is committed once");
        }
        slot.slots().commit(self, &state.held.events)
    }

    /// Of the queue of one that signals events, once it is committed.
    pub(super) fn slots(&self) -> Option<Arc<Slots>> {
        self.slots.get().and_then(Weak::upgrade)
    }

    /// Whether it is, or is about to be.
    pub(crate) fn is_committed(&self) -> bool {
        self.committing.load(Ordering::Acquire)
    }

    /// Commits, which whoever looks at what it signals is to know of.
    pub(super) fn commit(
        &self,
        command_buffer: CommandBuffer,
        completion: Completion,
    ) -> std::result::Result<(), Failure> {
        self.committing.store(true, Ordering::Release);
        let committed =
            command_buffer.commit(completion).inspect_err(|_| self.committing.store(false, Ordering::Release))?;
        let first = self.command_buffer.set(committed).is_ok();
        assert!(first, "a submission is committed once");
        if let Some(timing) = self.timing() {
            timing.committed(self.command_buffer.get());
        }
        Ok(())
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.ending.has_ended()
    }

    /// Whether it is settled, and the indirect commands that it executed know that: Metal's handler that tells them may come later than the one that
    /// settles, and whoever asks for the status is told no less.
    pub(crate) fn lets_commands_go(&self) -> bool {
        let told = || self.command_buffer.get().map(Committed::has_failed).is_some();
        self.is_settled() && told()
    }

    /// Whether the device may have begun it, which then can be asked whether it failed. Waits where another thread is about to know.
    pub(crate) fn was_committed(&self) -> bool {
        while self.command_buffer.get().is_none() {
            if !self.committing.load(Ordering::Acquire) {
                return self.command_buffer.get().is_some();
            }
            yield_now();
        }
        true
    }

    /// Takes those away that come after it: they cannot have let it start.
    pub(crate) fn leave_later(self: &Arc<Self>, others: &mut Vec<Arc<Inflight>>) {
        if others.is_empty() {
            return;
        }
        let mut followers: HashMap<*const Inflight, Vec<*const Inflight>> = HashMap::new();
        let searched = Inflight::search(others.clone(), |flight, earlier| {
            let first = earlier.len();
            earlier.extend(lock(&flight.state).comes_after());
            for earlier in &earlier[first..] {
                followers.entry(Arc::as_ptr(earlier)).or_default().push(Arc::as_ptr(flight));
            }
            None::<()>
        });
        assert!(searched.is_none(), "nobody has an answer");
        let (mut later, mut left) = (HashSet::new(), vec![Arc::as_ptr(self)]);
        while let Some(flight) = left.pop() {
            if later.insert(flight) {
                left.extend(followers.get(&flight).into_iter().flatten());
            }
        }
        others.retain(|other| !later.contains(&Arc::as_ptr(other)));
    }

    /// What one of these, which are committed, fails by, or will, near or far. That has failed by itself, so who waits for it waits for nobody else:
    /// neither for the host nor in a circle. `kept`: the events that were looked at; where they are the last, letting them go calls the user's code.
    pub(crate) fn doom(flights: Vec<Arc<Inflight>>, kept: &mut Vec<(Event, EventUse)>) -> Option<Doom> {
        Inflight::search(flights, |flight, earlier| flight.own_doom(earlier, kept))
    }

    /// Waits until it is settled, and tells what it failed with.
    pub(crate) fn failure(&self) -> Option<Arc<SubmissionError>> {
        self.ending.wait().err()
    }

    /// Asks these, and then those that `ask` adds, each once, until one has an answer.
    fn search<T>(
        mut flights: Vec<Arc<Inflight>>,
        mut ask: impl FnMut(&Arc<Inflight>, &mut Vec<Arc<Inflight>>) -> Option<T>,
    ) -> Option<T> {
        // All are kept to the end: where one has been, there is no other.
        let (mut added, mut next) = (HashSet::new(), 0);
        while let Some(flight) = flights.get(next).cloned() {
            next += 1;
            if added.insert(Arc::as_ptr(&flight))
                && let Some(answer) = ask(&flight, &mut flights)
            {
                return Some(answer);
            }
        }
        None
    }

    /// What it fails by as far as is known of itself. When that is nothing, adds those that it fails with.
    fn own_doom(self: &Arc<Self>, earlier: &mut Vec<Arc<Inflight>>, kept: &mut Vec<(Event, EventUse)>) -> Option<Doom> {
        let own = || Some(Doom::Submission(Arc::clone(self)));
        if let Some(badly) = self.settled_badly() {
            return own().filter(|_| badly);
        }
        if self.command_buffer.get().is_some_and(Committed::has_failed) {
            return own();
        }
        let state = lock(&self.state);
        if state.bad {
            return own();
        }
        // What kernels found is in memory before a signal behind them is made. (Who is told of the submission would wait for what is behind the signal, too.)
        if let Some(failure) = state.held.verdicts.iter().find_map(Verdict::failure) {
            return Some(Doom::Event(Arc::new(submission_error(&state.held, failure))));
        }
        earlier.extend(state.comes_after());
        let first = kept.len();
        kept.extend_from_slice(&state.held.events);
        drop(state);
        for (event, what) in &kept[first..] {
            let EventUse::Wait(value) = what else { continue };
            // In this order: of an event that is poisoned meanwhile nobody owes a signal any more.
            earlier.extend(event.owing(*value, self));
            if let Some(cause) = event.fault(*value) {
                return Some(Doom::Event(cause));
            }
        }
        None
    }

    /// Metal's completion handler: `own` is the command buffer's outcome. Tells the logger and wakers last, so it is not to be called under locks.
    pub(crate) fn complete(self: Arc<Self>, own: Own) {
        let mut told = Told::default();
        settle_all((self, own), |(flight, own)| flight.settle(own, &mut told));
        told.tell();
    }

    /// Settles, unless a submission it depends on has to settle first. Returns those that waited for this one.
    fn settle(self: Arc<Self>, own: Own, told: &mut Told) -> Vec<(Arc<Inflight>, Own)> {
        let (flight, mut cause) = (self, None);
        // What failed by itself waits for nobody: two that wait for each other's events may both fail, by a timeout.
        let (mut after, before, events) = if own.is_ok() {
            let state = lock(&flight.state);
            (state.held.after.clone(), state.before.clone(), state.held.events.clone())
        } else {
            Default::default()
        };
        told.events.extend_from_slice(&events);
        let waits = events.iter().filter_map(|(event, what)| match what {
            EventUse::Wait(value) => Some((event, *value)),
            EventUse::Signal(_) => None,
        });
        let used = after.len();
        after.extend(before);
        // Those who signaled what this one waited for, and fail.
        let owing = waits.clone().flat_map(|(event, value)| event.owing(value, &flight)).collect();
        let doom = Inflight::doom(owing, &mut told.events);
        let mut earlier: Vec<(&str, Arc<Inflight>)> = after
            .into_iter()
            .enumerate()
            .map(|(number, earlier)| (if number < used { USED_FAULTED } else { STREAM_FAULTED }, earlier))
            .collect();
        match doom {
            Some(Doom::Submission(root)) => earlier.push((WAITED_FAULTED, root)),
            Some(Doom::Event(error)) => cause = Some((WAITED_FAULTED, error)),
            None => (),
        }
        let mut first = None;
        let seen = |place: usize, outcome: Result<(), Arc<SubmissionError>>| {
            if let Err(error) = outcome {
                first.get_or_insert((earlier[place].0, error));
            }
        };
        let endings = earlier.iter().map(|(_, earlier)| &earlier.ending);
        let Some((flight, own)) = follow_all(endings, (flight, own), seen) else { return Vec::new() };
        drop(earlier);
        cause = cause.or(first);
        let early = waits.clone().find_map(|(event, value)| event.fault(value));
        let (mut held, verdict) = {
            let mut state = lock(&flight.state);
            let verdict = state.held.verdicts.iter().find_map(Verdict::failure);
            state.bad = own.is_err() || cause.is_some() || early.is_some() || verdict.is_some();
            (std::mem::take(&mut state.held), verdict)
        };
        let outcome = match own {
            Err(failure) => Err(Arc::new(submission_error(&held, failure))),
            Ok(()) => match cause {
                Some((text, cause)) => Err(Arc::new(dependency_error(&held, text, cause))),
                // Last: what kernels found wrong may be what a failed submission left.
                None => match (early, verdict) {
                    (Some(cause), _) => Err(Arc::new(dependency_error(&held, WAITED_FAULTED, cause))),
                    (None, Some(failure)) => Err(Arc::new(submission_error(&held, failure))),
                    (None, None) => Ok(()),
                },
            },
        };
        told.outcome(&outcome, &held);
        if let Some(figures) = held.figures() {
            let (kernels, copies, passes, has_events) =
                (&held.kernels, held.copies, held.passes, !held.events.is_empty());
            let ended =
                Ended { kernels, copies, passes, has_events, error: outcome.as_ref().err().map(|error| &**error) };
            figures.ended(&ended);
            if let Some(timing) = flight.timing() {
                timing.settled(&ended, &flight.command_buffer);
            }
        }
        for (event, what) in &held.events {
            if let EventUse::Signal(value) = what {
                event.end(*value, &flight, outcome.as_ref().err(), &mut told.events);
            }
        }
        for (allocation, kind) in &held.buffers {
            allocation.tracked().end_device(*kind, &flight, outcome.as_ref().err());
        }
        told.events.append(&mut held.events);
        // Pooled buffers go home before anybody learns that the submission is done.
        drop(held);
        let (place, before) = {
            let mut state = lock(&flight.state);
            (state.place.take(), std::mem::take(&mut state.before))
        };
        // Not before its events have ended: who looks at them asks for these.
        drop(before);
        if let Some(Place { room, bytes }) = place {
            room.leave(bytes);
        }
        let (waker, followers) = flight.ending.end(outcome);
        told.wakers.extend(waker);
        followers
    }
}

/// The error of a submission whose command buffer failed.
fn submission_error(held: &Held, failure: Failure) -> SubmissionError {
    SubmissionError {
        kernels: kernel_names(held),
        encoders: failure.encoders,
        domain: failure.domain,
        code: failure.code,
        text: failure.text,
        commands: held.history.lines(),
        caused_by: None,
    }
}

const USED_FAULTED: &str = "it used a buffer that an earlier submission was to write, and that one failed";
const STREAM_FAULTED: &str = "by its stream's events it depends on an earlier submission, and that one failed";
const WAITED_FAULTED: &str = "it waited for an event that another submission was to signal, and that one failed";

/// The error of a submission that ran on what a failed one left.
fn dependency_error(held: &Held, text: &str, cause: Arc<SubmissionError>) -> SubmissionError {
    SubmissionError {
        kernels: kernel_names(held),
        encoders: held
            .encoders
            .iter()
            .map(|label| EncoderReport { label: label.clone(), state: EncoderState::Affected })
            .collect(),
        domain: cause.domain.clone(),
        code: cause.code,
        text: text.to_owned(),
        commands: held.history.lines(),
        caused_by: Some(cause),
    }
}

fn kernel_names(held: &Held) -> Vec<String> {
    let mut names: Vec<String> = held.kernels.iter().map(|launched| launched.kernel.name().to_owned()).collect();
    // The parts of a kernel have its name.
    names.dedup();
    names
}

/// Work that was handed to the device: wait for it, wait for a while, or `.await` it on any executor.
///
/// The work runs whether or not this object exists. It and every buffer stay alive until the device is done; dropping
/// a submission neither waits nor cancels. Whoever drops it without waiting learns of a failure from the buffers:
/// reading one that a failed submission was to write is [`Error::Faulted`].
///
/// ```
/// # fn main() -> dcmetal::Result<()> {
/// # use dcmetal::*;
/// let gpu = Accelerator::system_default()?;
/// let twice = gpu.compile_msl(
///     "kernel void twice(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] *= 2.0f; }",
/// )?.kernel("twice")?;
/// let mut x = gpu.buffer_from(&[1.0f32, 2.0])?;
/// let submission = twice.launch(Grid::linear(2), args![&mut x])?;
/// pollster::block_on(submission)?;
/// assert_eq!(x.to_vec()?, [2.0, 4.0]);
/// # Ok(()) }
/// ```
#[must_use = "wait for it, await it, or drop it on purpose"]
pub struct Submission {
    flight: Arc<Inflight>,
    prints: Vec<PrintBuffer>,
}

impl Submission {
    pub(super) fn new(flight: Arc<Inflight>, prints: Vec<PrintBuffer>) -> Submission {
        Submission { flight, prints }
    }

    pub(crate) fn flight(&self) -> &Arc<Inflight> {
        &self.flight
    }

    /// Waits until the device is done.
    ///
    /// Not to be called from a waker of another submission: it would block the thread that Metal reports from.
    ///
    /// # Errors
    /// [`Error::Submission`] when it failed on the device; every call gives the same, first error.
    pub fn wait(&self) -> Result<()> {
        self.flight.wait()
    }

    /// As [`Submission::wait`], for at most `limit`.
    ///
    /// # Errors
    /// [`Error::Timeout`] when it is still running then; it keeps running, and a later wait tells how it ended.
    pub fn wait_timeout(&self, limit: Duration) -> Result<()> {
        // A limit beyond what the clock can count is no limit.
        let Some(deadline) = Instant::now().checked_add(limit) else { return self.wait() };
        match self.flight.ending.wait_until(deadline) {
            Some(outcome) => outcome.map_err(Error::Submission),
            None => Err(Error::Timeout { waited: limit }),
        }
    }

    /// Whether the device is done, well or not.
    pub fn is_done(&self) -> bool {
        self.flight.is_settled()
    }

    /// Waits, and gives what the kernels printed with OpenCL C's `printf`. Every call gives the same.
    ///
    /// ```
    /// # fn main() -> dcmetal::Result<()> {
    /// # use dcmetal::*;
    /// let gpu = Accelerator::system_default()?;
    /// let source = r#"__kernel void greet(int n) { printf("hello %d\n", n); }"#;
    /// let greet = gpu.compile_opencl(source)?.kernel("greet")?;
    /// let printed = greet.launch(Grid::linear(1), args![3])?.printed()?;
    /// assert_eq!((printed.to_string().as_str(), printed.lost), ("hello 3\n", 0));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Submission::wait`]; [`Error::PrintBuffer`] when a kernel wrote over what had been printed.
    pub fn printed(&self) -> Result<Printed> {
        self.wait()?;
        let mut printed = Printed::default();
        for prints in &self.prints {
            prints.read(&mut printed)?;
        }
        Ok(printed)
    }

    /// How long the device worked on it, from Metal's `GPUStartTime` and `GPUEndTime`.
    ///
    /// # Errors
    /// [`Error::NotFinished`] before it is done, [`Error::Unsupported`] where the platform tells no times; [`Error::Submission`] for
    /// a stream's that Metal refused to take.
    pub fn gpu_time(&self) -> Result<Duration> {
        if !self.is_done() {
            return Err(Error::NotFinished);
        }
        let Some(committed) = self.flight.command_buffer.get() else {
            // Only a stream's submission can exist without: its commit failed, and that is what it ended with.
            return self.wait().map(|()| unreachable!("what was not committed did not succeed"));
        };
        committed.gpu_time().map_err(|failure| failure.during("the time of a submission"))
    }
}

/// Completes when the device is done. Each poll replaces the waker; it is called at most once.
impl Future for Submission {
    type Output = Result<()>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        self.flight.ending.poll(cx).map_err(Error::Submission)
    }
}

impl std::fmt::Debug for Submission {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kernels = kernel_names(&lock(&self.flight.state).held);
        f.debug_struct("Submission").field("done", &self.is_done()).field("kernels", &kernels).finish()
    }
}

#[cfg(test)]
#[path = "submission_tests.rs"]
mod tests;
