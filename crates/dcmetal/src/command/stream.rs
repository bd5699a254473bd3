//! [`Stream`]: launches, copies and fills in an order, handed to the device in batches that close by themselves.
//!
//! What was given to a stream counts as submitted, for everybody who uses its buffers, though it may still be collected: its
//! buffers are marked when it is recorded, and whoever comes to a buffer that a batch in the making uses, in a way that
//! conflicts, has that batch handed over first ([`Inflight::hand_over`](super::Inflight::hand_over)). So no result depends on when
//! batches close, and nobody waits for work that nobody has handed over.
//!
//! Locks, in this order: a stream's, one of a higher priority, the accelerator's of submitting, those of memory and of submissions. No
//! waiting for the device and no call of the user's code happens under the first three: a submission that Metal refuses is settled behind
//! them ([`HandedOver`]). Nor does a call into another stream, but for what is handed over before its own batch ([`Urgent`](super::Urgent)).
//!
//! A signal of an event ends its batch, which is handed over with it, and a wait has a batch of its own. So no event is owed by a
//! batch in the making. The batches that an event is for, or that follow a wait, are told by [`Inflight`]: they fail together. The signal of a
//! [`StreamGroup`](crate::StreamGroup) is for batches of its other streams as well, which were handed over before.
//!
//! Streams of an accelerator share its queue, whose order is that of handing over. Metal's public API gives queues no
//! priorities (<https://developer.apple.com/documentation/metal/mtlcommandqueue>), so a stream's is one of handing over.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::time::{Duration, Instant};

use bytemuck::Pod;

use super::ages::Timed;
use super::batch::{Passes, Recorded};
use super::room::{Full, Room};
use super::submission::{HandedOver, Place};
use super::{Inflight, Submission};
use crate::event::EventUse;
use crate::raw::host::lock;
use crate::sync::{Arc, Mutex, MutexGuard, yield_now};
use crate::{Accelerator, Arg, Batch, Error, Event, Grid, IndirectGrid, Kernel, Result, View, ViewMut, kernel};

/// When a [`Stream`] closes a batch, and how much of its work may be in flight.
///
/// A command's bytes are those of the buffers, views and textures it is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamLimits {
    /// Commands of a batch; with the last of them it is handed over. At least 1.
    pub commands: usize,
    /// Bytes of a batch's commands: with the command that reaches them it is handed over.
    pub bytes: u64,
    /// How long after its first command a batch is handed over at the latest, by a thread of the accelerator; `Duration::MAX`:
    /// when the other limits, [`Stream::flush`] or somebody who wants its results ask for it.
    pub age: Duration,
    /// Batches in the making and submissions uncompleted, above which a launch waits. At least 1.
    pub in_flight: usize,
    /// Bytes of submissions uncompleted: while there are so many, a launch that would begin a batch waits.
    pub in_flight_bytes: u64,
    /// Before work of a lower priority is handed over, by another stream of the accelerator or by none, which has priority 0, this
    /// stream's batch is handed over too, whatever its other limits. So such work overtakes nothing that this stream was given. What was handed over
    /// before stays before: how much that can be, the other streams' `in_flight` and `in_flight_bytes` say.
    pub priority: u32,
}

impl Default for StreamLimits {
    /// 64 commands, 64 MiB, 1 ms; 16 submissions, 1 GiB; the lowest priority, 0.
    fn default() -> StreamLimits {
        StreamLimits {
            commands: 64,
            bytes: 64 << 20,
            age: Duration::from_millis(1),
            in_flight: 16,
            in_flight_bytes: 1 << 30,
            priority: 0,
        }
    }
}

/// An order of launches, copies and fills, handed to the device in batches that close by themselves.
///
/// Each command sees what the earlier ones wrote, and so does everybody else: whoever reads a buffer, or submits work
/// that uses it, comes after what the stream was given before. Whether a batch had been handed over by then cannot be
/// seen. Threads may share a stream; each command is then somewhere in its order.
///
/// A stream that has too much in flight makes its callers wait ([`Stream::try_launch`] refuses instead). Dropping a stream
/// hands over what it has recorded and does not wait; failures then show in the buffers.
///
/// ```
/// # fn main() -> dcmetal::Result<()> {
/// # use dcmetal::*;
/// let gpu = Accelerator::system_default()?;
/// let add = gpu.compile_msl(
///     "kernel void add(device uint* y [[buffer(0)]], uint i [[thread_position_in_grid]]) { y[i] += i; }",
/// )?.kernel("add")?;
/// let mut y = gpu.buffer_zeroed::<u32>(4)?;
/// let stream = gpu.stream(StreamLimits::default());
/// for _ in 0..1000 {
///     stream.launch(&add, Grid::linear(4), args![&mut y])?;
/// }
/// assert_eq!(y.to_vec()?, [0, 1000, 2000, 3000]);
/// stream.wait()?;
/// # Ok(()) }
/// ```
pub struct Stream {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    accelerator: Accelerator,
    limits: StreamLimits,
    room: Arc<Room>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    open: Option<Open>,
    /// What was handed over, in order, without those at the front that are known to have settled.
    flights: VecDeque<Arc<Inflight>>,
    /// The first and the last of those that failed and that no wait of the host's has told of: a wait may be telling of the first.
    failed: Vec<Arc<Inflight>>,
    /// Those that wait for an event and have not settled, and the first and the last of those that settled badly: whatever comes after fails with them.
    waits: Vec<Arc<Inflight>>,
    /// Whether the accelerator's list of ages has the stream.
    timed: bool,
}

/// The batch in the making. It has a place in the room.
struct Open {
    batch: Batch,
    commands: usize,
    bytes: u64,
    /// When its age is over.
    due: Option<Instant>,
    /// What it ends with.
    event: Option<EventUse>,
    /// Of other streams of its group: the submissions that its signal is for too.
    of_group: Vec<Arc<Inflight>>,
}

/// What a command does when there is no room.
#[derive(Clone, Copy)]
enum Patience {
    Wait,
    Refuse,
}

impl Stream {
    pub(crate) fn new(accelerator: &Accelerator, limits: StreamLimits) -> Stream {
        let room = Arc::new(Room::new(limits.in_flight, limits.in_flight_bytes));
        let shared = Arc::new(Shared { accelerator: accelerator.clone(), limits, room, state: Mutex::default() });
        accelerator.urgent().add(limits.priority, Arc::downgrade(&shared));
        Stream { shared }
    }

    /// Gives it a launch, checked as by [`Kernel::launch`]. Waits while too much is in flight; so it is not to be called from a
    /// waker, and not by the thread that is to end a wait for an event which that work stands behind: there is [`Stream::try_launch`].
    ///
    /// # Errors
    /// As [`Kernel::launch`]; then nothing was recorded. [`Error::Unsupported`] for a kernel that prints;
    /// [`Error::TooManyBatches`] when a batch has to begin and too many of streams and users are open; [`Error::QueueFull`] when the queue is full
    /// and waits for an event that nothing submitted signals.
    pub fn launch<'a>(&self, kernel: &Kernel, grid: Grid, args: impl AsRef<[Arg<'a>]>) -> Result<()> {
        self.launch_with(Patience::Wait, kernel, grid, args.as_ref())
    }

    /// As [`Stream::launch`], without waiting for the stream. Only where the accelerator's whole queue is full (1024 submissions of all its batches and streams)
    /// does a batch that has to begin wait for one of them.
    ///
    /// # Errors
    /// [`Error::StreamFull`] when too much is in flight; else as [`Stream::launch`].
    pub fn try_launch<'a>(&self, kernel: &Kernel, grid: Grid, args: impl AsRef<[Arg<'a>]>) -> Result<()> {
        self.launch_with(Patience::Refuse, kernel, grid, args.as_ref())
    }

    /// As [`Stream::launch`], over as many threadgroups as a buffer says when it runs: see [`IndirectGrid`].
    ///
    /// # Errors
    /// As [`Stream::launch`] and [`Batch::launch_indirect`].
    pub fn launch_indirect<'a>(
        &self,
        kernel: &Kernel,
        grid: IndirectGrid<'_>,
        args: impl AsRef<[Arg<'a>]>,
    ) -> Result<()> {
        prints_nothing(kernel)?;
        let args = args.as_ref();
        self.record(Patience::Wait, kernel::bytes(args), |batch| batch.record_indirect(kernel, &grid, args))
    }

    fn launch_with(&self, patience: Patience, kernel: &Kernel, grid: Grid, args: &[Arg<'_>]) -> Result<()> {
        prints_nothing(kernel)?;
        self.record(patience, kernel::bytes(args), |batch| batch.record_launch(kernel, grid, args))
    }

    /// Gives it passes of Metal Performance Shaders; waits as [`Stream::launch`] does.
    pub(crate) fn shade(&self, passes: &Passes<'_>) -> Result<()> {
        self.record(Patience::Wait, passes.bytes(), |batch| batch.record_shaders(passes))
    }

    /// Gives it a copy of as many elements; waits as [`Stream::launch`] does.
    ///
    /// # Errors
    /// As [`Batch::copy`], and for the state of the buffers as [`Kernel::launch`].
    pub fn copy<'a, 'b, T: Pod>(&self, from: impl Into<View<'a, T>>, to: impl Into<ViewMut<'b, T>>) -> Result<()> {
        let (from, mut to) = (from.into(), to.into());
        let bytes = 2 * (to.len() * size_of::<T>()) as u64;
        self.record(Patience::Wait, bytes, |batch| batch.record_copy(from, to.reborrow()))
    }

    /// Gives it a fill: every byte of these elements becomes `value`. Waits as [`Stream::launch`] does.
    ///
    /// # Errors
    /// As [`Batch::fill`], and for the state of the buffers as [`Kernel::launch`].
    pub fn fill<'b, T: Pod>(&self, to: impl Into<ViewMut<'b, T>>, value: u8) -> Result<()> {
        let mut to = to.into();
        let bytes = (to.len() * size_of::<T>()) as u64;
        self.record(Patience::Wait, bytes, |batch| batch.record_fill(to.reborrow(), value))
    }

    /// Makes the event at least `value` when everything that was given to the stream so far is done, and hands that over. When any
    /// of it fails that no [`Stream::wait`] has told of, the event is poisoned: see [`Event`]. Waits as [`Stream::launch`] does. Any
    /// accelerator's event will do.
    ///
    /// # Errors
    /// [`Error::EventFaulted`] for an event that is poisoned; [`Error::Metal`] when Metal refuses; [`Error::TooManyBatches`]; [`Error::QueueFull`].
    pub fn signal(&self, event: &Event, value: u64) -> Result<()> {
        self.record_event(event, EventUse::Signal(value), Vec::new())
    }

    /// What the stream is given from now on starts when the event has at least `value`; what it was given before is handed over.
    /// When the event is poisoned instead, what the stream was given behind this fails, until [`Stream::wait`] tells. Waits as
    /// [`Stream::launch`] does, and not for the event. Streams of an accelerator share its queue, so nothing that any of them is
    /// given from now on starts earlier: who signals the event is the host, another accelerator, or was given the signal before.
    ///
    /// ```
    /// # fn main() -> dcmetal::Result<()> {
    /// # use dcmetal::*;
    /// let gpu = Accelerator::system_default()?;
    /// let (stream, event, mut y) = (gpu.stream(StreamLimits::default()), gpu.event()?, gpu.buffer_zeroed::<u32>(1)?);
    /// stream.wait_for(&event, 1)?;
    /// stream.fill(&mut y, 0xFF)?;
    /// stream.signal(&event, 2)?;
    /// event.signal(1)?;
    /// event.wait(2)?;
    /// assert_eq!(y.to_vec()?, [u32::MAX]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`Stream::signal`].
    pub fn wait_for(&self, event: &Event, value: u64) -> Result<()> {
        self.record_event(event, EventUse::Wait(value), Vec::new())
    }

    /// A command that ends its batch, so that nobody waits for a signal that nobody has handed over, and whether a wait stops what
    /// others are given does not depend on when batches close. The queue's order does the rest: a signal is for all commands before
    /// it, and a wait for all behind it (Apple, "About synchronization events"). A signal that is for other streams' submissions too fails
    /// with those.
    pub(super) fn record_event(&self, event: &Event, what: EventUse, of_group: Vec<Arc<Inflight>>) -> Result<()> {
        let mut state = loop {
            let state = self.shared.opened(Patience::Wait)?;
            // What was recorded before a wait must not fail with it.
            if what.is_signal() || state.recorded() == 0 {
                break state;
            }
            self.shared.close(state);
        };
        let open = state.open.as_mut().expect("it was just opened");
        if let Err(error) = open.batch.record_event(event, what) {
            self.let_go(state);
            return Err(error);
        }
        open.commands += 1;
        open.event = Some(what);
        open.of_group = of_group;
        self.shared.close(state);
        Ok(())
    }

    /// Hands over what was recorded. Not needed for progress unless the age is `Duration::MAX`: it gives the work to wait for, or to
    /// `.await`. `None` when nothing was recorded since the last batch closed.
    pub fn flush(&self) -> Option<Submission> {
        self.shared.close(lock(&self.shared.state))
    }

    /// Hands over what was recorded, and waits until everything that was given to the stream so far is done. Not to be called
    /// from a waker.
    ///
    /// # Errors
    /// [`Error::Submission`] with the first failure since a wait of this stream told one.
    pub fn wait(&self) -> Result<()> {
        drop(self.flush());
        self.tell(&self.wait_handed_over())
    }

    /// Waits for what was handed over, and tells what that is.
    pub(super) fn wait_handed_over(&self) -> Vec<Arc<Inflight>> {
        let flights = {
            let state = lock(&self.shared.state);
            [state.handed_over(), state.waits.clone()].concat()
        };
        for flight in &flights {
            // It is told by `tell`.
            let _ = flight.wait();
        }
        flights
    }

    /// What was handed over and is not known to have settled well: what a signal is for.
    pub(super) fn handed_over(&self) -> Vec<Arc<Inflight>> {
        lock(&self.shared.state).handed_over()
    }

    /// The first failure of these, which have settled. They are forgotten: no others are, which may have failed meanwhile.
    pub(super) fn tell(&self, flights: &[Arc<Inflight>]) -> Result<()> {
        let told: HashSet<_> = flights.iter().map(Arc::as_ptr).collect();
        let is_untold = |flight: &Arc<Inflight>| !told.contains(&Arc::as_ptr(flight));
        let mut state = lock(&self.shared.state);
        state.forget_settled();
        state.failed.retain(is_untold);
        state.waits.retain(is_untold);
        drop(state);
        flights.iter().find_map(|flight| flight.failure()).map_or(Ok(()), |failure| Err(Error::Submission(failure)))
    }

    /// Forgets the commands that have not been handed over, as if they had never been given, and returns how many those were.
    /// It is too late for the others: Metal takes nothing back.
    pub fn cancel(&self) -> usize {
        let open = {
            let mut state = lock(&self.shared.state);
            if state.recorded() == 0 {
                return 0;
            }
            state.open.take()
        };
        open.map_or(0, |open| {
            drop(open.batch);
            self.shared.room.leave(0);
            open.commands
        })
    }

    /// Commands that were recorded and not handed over yet.
    pub fn recorded(&self) -> usize {
        lock(&self.shared.state).recorded()
    }

    /// The batch in the making, if there is one, and submissions uncompleted.
    pub fn in_flight(&self) -> usize {
        self.shared.room.taken().0
    }

    /// Records a command in the batch in the making, and hands it over when it is full.
    fn record(
        &self,
        patience: Patience,
        bytes: u64,
        mut command: impl FnMut(&mut Batch) -> Result<Recorded>,
    ) -> Result<()> {
        loop {
            let mut state = self.shared.opened(patience)?;
            let open = state.open.as_mut().expect("it was just opened");
            match command(&mut open.batch) {
                Ok(Recorded::Done) => {
                    open.commands += 1;
                    open.bytes = open.bytes.saturating_add(bytes);
                    self.shared.recorded(state);
                    return Ok(());
                }
                Ok(Recorded::After(flight)) => {
                    drop(state);
                    flight.hand_over();
                }
                Err(error) => {
                    self.let_go(state);
                    return Err(error);
                }
            }
        }
    }

    /// After a command that was refused: a batch of no commands keeps no place.
    fn let_go(&self, mut state: MutexGuard<'_, State>) {
        let open = state.open.take_if(|open| open.commands == 0);
        drop(state);
        if open.is_some() {
            drop(open);
            self.shared.room.leave(0);
        }
    }
}

impl State {
    /// What was handed over and is not known to have settled well; the first that failed since a wait of the host's told.
    fn handed_over(&self) -> Vec<Arc<Inflight>> {
        self.failed.iter().chain(&self.flights).cloned().collect()
    }

    /// Commands of the batch in the making.
    fn recorded(&self) -> usize {
        self.open.as_ref().map_or(0, |open| open.commands)
    }

    /// Lets go of what settled well, and of what settled badly all but the first and the last.
    fn forget_settled(&mut self) {
        while let Some(badly) = self.flights.front().and_then(|first| first.settled_badly()) {
            let ended = self.flights.pop_front().filter(|_| badly);
            self.failed.truncate(if ended.is_some() { 1 } else { 2 });
            self.failed.extend(ended);
        }
        // A wait that settled badly has all behind it fail with it, other waits too: of those nothing more need be known, unless it is told and
        // forgotten, and they are not.
        let settled: Vec<Option<bool>> = self.waits.iter().map(|flight| flight.settled_badly()).collect();
        let badly = |settled: &Option<bool>| *settled == Some(true);
        let kept = [settled.iter().position(badly), settled.iter().rposition(badly)];
        let mut number = 0..settled.len();
        self.waits.retain(|_| number.next().is_some_and(|at| settled[at].is_none() || kept.contains(&Some(at))));
    }
}

impl Shared {
    /// The state with an open batch.
    fn opened(self: &Arc<Self>, patience: Patience) -> Result<MutexGuard<'_, State>> {
        let enter = |begun| match patience {
            Patience::Wait => Ok(self.room.enter(begun)),
            Patience::Refuse => {
                let full = |Full { submissions, bytes }| Error::StreamFull { submissions, bytes };
                self.room.try_enter().map(|()| true).map_err(full)
            }
        };
        let make = || {
            let batch = Batch::of_stream(&self.accelerator, Arc::downgrade(self))?;
            Ok(Open { batch, commands: 0, bytes: 0, due: None, event: None, of_group: Vec::new() })
        };
        self.room.opened(&self.state, |state| &mut state.open, enter, make)
    }

    /// A command was recorded.
    fn recorded(self: &Arc<Self>, mut state: MutexGuard<'_, State>) {
        let Some(open) = &mut state.open else { return };
        let limits = &self.limits;
        if open.commands >= limits.commands || open.bytes >= limits.bytes || limits.age.is_zero() {
            self.close(state);
            return;
        }
        if open.commands > 1 {
            return;
        }
        // An age beyond what the clock can count is none.
        open.due = Instant::now().checked_add(limits.age);
        let Some(due) = open.due.filter(|_| limits.age != Duration::MAX && !state.timed) else { return };
        let timed = Arc::downgrade(self);
        match self.accelerator.ages().add(due, timed) {
            Ok(()) => state.timed = true,
            // Without a thread nobody would see to the age.
            Err(_) => drop(self.close(state)),
        }
    }

    /// Hands over the batch in the making, behind those that go first. Takes the lock along: a refusal is told without it.
    fn close(&self, mut state: MutexGuard<'_, State>) -> Option<Submission> {
        if state.recorded() == 0 {
            return None;
        }
        let first = self.accelerator.urgent().hand_over(self.limits.priority);
        let handed_over = self.close_locked(&mut state);
        drop(state);
        first.settle();
        handed_over.map(HandedOver::settle)
    }

    /// Hands over the batch in the making, for one that comes behind it.
    pub(super) fn close_unsettled(&self) -> Option<HandedOver> {
        self.close_locked(&mut lock(&self.state))
    }

    fn close_locked(&self, state: &mut State) -> Option<HandedOver> {
        let Open { batch, bytes, event, of_group, .. } = state.open.take_if(|open| open.commands > 0)?;
        self.room.add(bytes);
        state.forget_settled();
        let before = match event {
            Some(what) if what.is_signal() => [state.handed_over(), of_group].concat(),
            _ => state.waits.clone(),
        };
        let handed_over = batch.hand_over(Place { room: Arc::clone(&self.room), bytes }, before);
        state.flights.push_back(Arc::clone(&handed_over.flight));
        if event.is_some_and(|what| !what.is_signal()) {
            state.waits.push(Arc::clone(&handed_over.flight));
        }
        Some(handed_over)
    }

    /// Hands over the batch of this submission, if it is still in the making. If it is not, another thread is about to hand it over or to let go of it: whoever asks again is to leave it the
    /// time.
    pub(super) fn hand_over(&self, flight: &Inflight) {
        let state = lock(&self.state);
        if state.open.as_ref().is_some_and(|open| open.batch.is_of(flight)) {
            self.close(state);
        } else {
            drop(state);
            yield_now();
        }
    }
}

/// Closes a batch whose age is over.
impl Timed for Shared {
    fn turn(&self, now: Instant) -> Option<Instant> {
        let mut state = lock(&self.state);
        if state.open.as_ref().is_some_and(|open| open.due.is_some_and(|due| due <= now)) {
            self.close(state);
            state = lock(&self.state);
        }
        let next = state.open.as_ref().and_then(|open| open.due);
        state.timed = next.is_some();
        next
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        drop(self.flush());
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("recorded", &self.recorded()).field("in_flight", &self.in_flight()).finish()
    }
}

/// A stream's launches have no submission to print to.
fn prints_nothing(kernel: &Kernel) -> Result<()> {
    if kernel::printing(kernel).is_none() {
        return Ok(());
    }
    Err(Error::Unsupported {
        what: format!("a launch of `{}`, which prints, by a stream", kernel.name()),
        text: "what is printed belongs to a submission: launch it alone or in a batch".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SubmissionError;

    /// Of a stream that nobody waits for: what it knows of its past is bounded, whatever became of its waits.
    #[test]
    fn waits_are_forgotten_but_for_the_first_and_the_last_that_failed() {
        let gpu = Accelerator::system_default().expect("a Metal device");
        let stream = gpu.stream(StreamLimits::default());
        let most = || {
            let state = lock(&stream.shared.state);
            (state.waits.len(), state.flights.len())
        };
        // What is uncompleted, and what has left its place and is about to be settled.
        let unsettled = 2 * StreamLimits::default().in_flight;
        let sound = gpu.event().expect("an event");
        sound.signal(1).expect("it is sound");
        for _ in 0..10 * unsettled {
            stream.wait_for(&sound, 1).expect("it is sound");
            assert!(most().0 <= unsettled && most().1 <= unsettled, "{:?} of sound waits", most());
        }
        // A wait for what a failed submission was to signal fails, and with it everything behind it.
        let lost = gpu.event().expect("an event");
        stream.wait_for(&lost, 1).expect("nobody knows yet");
        poison(&lost);
        for _ in 0..10 * unsettled {
            stream.wait_for(&sound, 1).expect("it is sound");
            assert!(most().0 <= unsettled + 2 && most().1 <= unsettled, "{:?} behind one that failed", most());
        }
        assert!(stream.wait().is_err(), "the first failure is told");
        assert_eq!(most(), (0, 0));
        let mut y = gpu.buffer_zeroed::<u32>(1).expect("a buffer");
        stream.fill(&mut y, 2).expect("it is recorded");
        stream.wait().expect("what was told is over");
        assert_eq!(y.to_vec().expect("it is sound"), [0x0202_0202]);
    }

    fn poison(event: &Event) {
        let failure = SubmissionError {
            kernels: Vec::new(),
            encoders: Vec::new(),
            domain: String::new(),
            code: 0,
            text: "lost".to_owned(),
            commands: Vec::new(),
            caused_by: None,
        };
        event.end(1, &Arc::default(), Some(&Arc::new(failure)), &mut Vec::new());
    }

    /// What fails while a wait is about to tell of what failed before is not forgotten with that: neither by what comes behind it, nor by the next wait.
    #[test]
    fn a_wait_forgets_what_it_tells_and_no_more() {
        let gpu = Accelerator::system_default().expect("a Metal device");
        let stream = gpu.stream(StreamLimits::default());
        let [one, other] = [(); 2].map(|()| gpu.event().expect("an event"));
        for event in [&one, &other] {
            stream.wait_for(event, 1).expect("nobody knows yet");
            poison(event);
            let ended = stream.wait_handed_over();
            assert_eq!(ended.iter().filter(|flight| flight.failure().is_some()).count(), ended.len());
            if std::ptr::eq(event, &one) {
                continue;
            }
            // As a wait that began before the second.
            let first = ended.first().cloned().expect("the first failed");
            assert!(stream.tell(&[first]).is_err());
        }
        let mut y = gpu.buffer_zeroed::<u32>(1).expect("a buffer");
        stream.fill(&mut y, 2).expect("it is recorded");
        assert!(stream.wait().is_err(), "the second");
        assert!(matches!(y.to_vec(), Err(Error::Faulted { .. })), "it comes behind the second");
        y.discard_fault();
        stream.fill(&mut y, 2).expect("it is recorded");
        stream.wait().expect("what was told is over");
    }
}
