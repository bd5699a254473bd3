//! I/O command queues: parts of files are read into buffers, textures and the host's memory, by threads of their own.
//!
//! What a command buffer of a concurrent queue loads is read at the same time, but for what its barriers and waits keep apart; a serial
//! queue reads one part after the other. All that is due becomes jobs of at most `MOST` threads (`pool`), by the queues'
//! priorities; a thread ends when there is no job left. Waiting for an event takes no thread (event.rs).
//!
//! A command buffer that fails, or is cancelled, skips what it has not begun to read. Its signals are made all the same. Those behind
//! the last load are made once the status is final, and has been copied to buffers, so that who waits for them reads it there.
//! <https://developer.apple.com/documentation/metal/resource-loading>

mod file;
mod pool;

use std::cell::Cell;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

pub(crate) use self::file::{Destination, File, Load};
use self::pool::Job;
use crate::command::{self, Notify};
use crate::device::Device;
use crate::encode::Misuse;
use crate::event::{Event, Waiter};
use crate::memory::Buffer;

/// MTLIOStatus.
pub(crate) const PENDING: u32 = 0;
pub(crate) const CANCELLED: u32 = 1;
pub(crate) const ERROR: u32 = 2;
pub(crate) const COMPLETE: u32 = 3;

/// Bytes of an MTLIOStatus in memory.
pub(crate) const STATUS_SIZE: u64 = 8;

/// A part of a command buffer.
pub(crate) enum Step {
    Load(Load),
    /// What follows begins when all before has ended.
    Barrier,
    Signal(Arc<Event>, u64),
    Wait(Arc<Event>, u64),
}

impl Step {
    fn is_signal(&self) -> bool {
        matches!(self, Step::Signal(..))
    }
}

/// How a queue differs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Uncompleted command buffers, at least 1.
    pub(crate) command_buffers: usize,
    /// Loads at the same time; 0 for no limit.
    pub(crate) loads: usize,
    pub(crate) serial: bool,
    /// MTLIOPriority: 0 high, 1 normal, 2 low.
    pub(crate) priority: usize,
}

/// An MTLIOCommandQueue.
pub(crate) struct Queue {
    pub(crate) device: &'static Device,
    settings: Settings,
    state: Mutex<State>,
    /// A command buffer has completed.
    room: Condvar,
}

#[derive(Default)]
struct State {
    order: VecDeque<Place>,
    last_ticket: u64,
    /// Command buffers that have not completed.
    live: usize,
    /// Loads that are jobs.
    loads: usize,
}

impl State {
    fn run(&mut self, ticket: u64) -> Option<&mut Run> {
        self.order.iter_mut().find_map(|place| match place {
            Place::Buffer(of, Some(run)) if *of == ticket => Some(run),
            _ => None,
        })
    }
}

enum Place {
    /// What is behind it begins when all before has completed.
    Barrier,
    /// A ticket, and the command buffer once it is committed.
    Buffer(u64, Option<Run>),
}

/// A committed command buffer, as far as it has come.
struct Run {
    buffer: Arc<CommandBuffer>,
    steps: VecDeque<Step>,
    /// Its loads that are jobs.
    loads: usize,
    /// Steps that are left, but signals.
    work: usize,
    busy: Busy,
    /// The event that it waits for, and the number of the wait.
    parked: Option<(Arc<Event>, u64)>,
    failure: Option<String>,
    /// A load was left out, because it is cancelled.
    skipped: bool,
    ended: bool,
}

/// What keeps a command buffer from its next step.
#[derive(PartialEq)]
enum Busy {
    No,
    /// A thread makes its signal.
    Signal,
    /// It waits for an event, with so much work left.
    Wait(usize),
}

/// What a queue has to do next, for the command buffer of a ticket.
enum Action {
    Job(Job),
    Signal(u64, Arc<Event>, u64),
    Wait(u64, Wait),
}

struct Wait {
    buffer: Arc<CommandBuffer>,
    event: Arc<Event>,
    value: u64,
    work: usize,
}

impl Run {
    /// The next thing to do; `loads` and `most` are the queue's.
    fn next(&mut self, ticket: u64, loads: &mut usize, most: usize) -> Option<Action> {
        if self.busy != Busy::No || self.ended {
            return None;
        }
        while self.work > 0 && self.failure.is_none() && !self.buffer.cancelled() {
            match self.steps.front() {
                Some(Step::Load(_)) if *loads >= most => return None,
                Some(Step::Barrier | Step::Signal(..)) if self.loads > 0 => return None,
                _ => {}
            }
            let step = self.steps.pop_front();
            self.work -= usize::from(step.as_ref().is_some_and(|step| !step.is_signal()));
            match step {
                Some(Step::Load(load)) => {
                    *loads += 1;
                    self.loads += 1;
                    return Some(Action::Job(Job::Load(self.buffer.clone(), ticket, load)));
                }
                Some(Step::Signal(event, value)) => {
                    self.busy = Busy::Signal;
                    return Some(Action::Signal(ticket, event, value));
                }
                Some(Step::Wait(event, value)) if event.value() < value => {
                    let (buffer, work) = (self.buffer.clone(), self.work);
                    self.busy = Busy::Wait(work);
                    return Some(Action::Wait(ticket, Wait { buffer, event, value, work }));
                }
                Some(Step::Barrier | Step::Wait(..)) => {}
                None => unreachable!("there is work left"),
            }
        }
        if self.loads > 0 {
            return None;
        }
        self.ended = true;
        let skipped = self.skipped || self.work > 0;
        let failure = self.failure.take();
        let rest = std::mem::take(&mut self.steps);
        Some(Action::Job(Job::End(self.buffer.clone(), ticket, End { rest, failure, skipped })))
    }
}

/// How a command buffer has ended.
pub(crate) struct End {
    rest: VecDeque<Step>,
    failure: Option<String>,
    skipped: bool,
}

impl Queue {
    pub(crate) fn new(device: &'static Device, settings: Settings) -> Queue {
        Queue { device, settings, state: Mutex::default(), room: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is enqueued or committed later begins when all that was before has completed.
    pub(crate) fn barrier(&self) {
        let mut state = self.state();
        if matches!(state.order.back(), Some(Place::Buffer(..))) {
            state.order.push_back(Place::Barrier);
        }
    }

    fn take_place(&self) -> u64 {
        let mut state = self.state();
        state.last_ticket += 1;
        let ticket = state.last_ticket;
        state.order.push_back(Place::Buffer(ticket, None));
        ticket
    }

    /// A command buffer has completed, or will never be committed.
    fn leave(self: &Arc<Queue>, ticket: Option<u64>) {
        let mut state = self.state();
        state.live -= 1;
        let position = ticket.and_then(|ticket| {
            state.order.iter().position(|place| matches!(place, Place::Buffer(of, _) if *of == ticket))
        });
        let left = position.and_then(|position| state.order.remove(position));
        let more = !state.order.is_empty();
        drop(state);
        drop(left);
        self.room.notify_all();
        if more {
            self.look();
        }
    }

    /// Has a thread look at what is due.
    fn look(self: &Arc<Queue>) {
        pool::add(self.settings.priority, vec![Job::Look(self.clone())]);
    }

    fn due(&self) -> Vec<Action> {
        let most = match self.settings {
            Settings { serial: true, .. } => 1,
            Settings { loads: 0, .. } => usize::MAX,
            Settings { loads, .. } => loads,
        };
        let mut state = self.state();
        while matches!(state.order.front(), Some(Place::Barrier)) {
            state.order.pop_front();
        }
        let State { order, loads, .. } = &mut *state;
        let mut actions = Vec::new();
        for place in order.iter_mut() {
            match place {
                Place::Barrier => break,
                Place::Buffer(_, None) => {}
                Place::Buffer(ticket, Some(run)) => {
                    while let Some(action) = run.next(*ticket, loads, most) {
                        actions.push(action);
                    }
                }
            }
            if self.settings.serial {
                break;
            }
        }
        actions
    }

    /// Does what is due; on a thread of the pool.
    fn advance(self: &Arc<Queue>) {
        loop {
            let due = self.due();
            if due.is_empty() {
                return;
            }
            let mut jobs = Vec::new();
            for action in due {
                match action {
                    Action::Job(job) => jobs.push(job),
                    Action::Signal(ticket, event, value) => {
                        event.signal(value);
                        self.go_on(ticket, None);
                    }
                    Action::Wait(ticket, wait) => self.park(ticket, wait),
                }
            }
            pool::add(self.settings.priority, jobs);
        }
    }

    fn go_on(&self, ticket: u64, failure: Option<String>) {
        let mut state = self.state();
        let Some(run) = state.run(ticket) else { return };
        run.busy = Busy::No;
        let parked = run.parked.take();
        run.failure = run.failure.take().or(failure);
        drop(state);
        drop(parked);
    }

    fn park(self: &Arc<Queue>, ticket: u64, Wait { buffer, event, value, work }: Wait) {
        let Some(number) = event.park(value, Waiter::Io(buffer.clone(), ticket)) else {
            return self.go_on(ticket, None);
        };
        let mut state = self.state();
        let waiting = state.run(ticket).filter(|run| run.busy == Busy::Wait(work));
        match waiting {
            // Whoever cancels it from now on ends the wait.
            Some(run) if !buffer.cancelled() => run.parked = Some((event, number)),
            Some(run) => {
                run.busy = Busy::No;
                drop(state);
                event.forget(number);
            }
            // It has been resumed already.
            None => {}
        }
    }

    /// A load has ended; whether it was made, or what failed.
    fn loaded(self: &Arc<Queue>, ticket: u64, outcome: Result<bool, String>) {
        let mut state = self.state();
        state.loads -= 1;
        if let Some(run) = state.run(ticket) {
            run.loads -= 1;
            match outcome {
                Ok(made) => run.skipped |= !made,
                Err(text) => run.failure = run.failure.take().or(Some(text)),
            }
        }
        drop(state);
        self.advance();
    }
}

/// A call of the program's.
struct Call(Notify, *mut c_void);

// SAFETY: the interface says that it is called on a thread of the engine.
unsafe impl Send for Call {}

thread_local! {
    /// The command buffer whose completed callback this thread is in.
    static TELLING: Cell<*const CommandBuffer> = const { Cell::new(ptr::null()) };
}

/// An MTLIOCommandBuffer.
pub(crate) struct CommandBuffer {
    pub(crate) queue: Arc<Queue>,
    status: AtomicU32,
    cancelled: AtomicBool,
    record: Mutex<Record>,
    /// `Record::told` is true.
    told: Condvar,
}

#[derive(Default)]
struct Record {
    steps: VecDeque<Step>,
    /// Where the status is copied to.
    statuses: Vec<(Arc<Buffer>, u64)>,
    ticket: Option<u64>,
    committed: bool,
    completed: Option<Call>,
    failure: Option<String>,
    /// The completed callback has returned.
    told: bool,
}

impl CommandBuffer {
    /// Waits while the queue has its maximum of uncompleted command buffers.
    pub(crate) fn new(queue: Arc<Queue>) -> Arc<CommandBuffer> {
        let full = |state: &mut State| state.live >= queue.settings.command_buffers.max(1);
        let mut state = queue.state();
        if full(&mut state) {
            drop(state);
            command::leave_queue();
            state = queue.room.wait_while(queue.state(), full).unwrap_or_else(PoisonError::into_inner);
        }
        state.live += 1;
        drop(state);
        Arc::new(CommandBuffer {
            queue,
            status: AtomicU32::new(PENDING),
            cancelled: AtomicBool::new(false),
            record: Mutex::default(),
            told: Condvar::new(),
        })
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    fn recording(&self) -> Result<MutexGuard<'_, Record>, Misuse> {
        let record = self.record();
        if record.committed {
            return Err(c"encoding to an I/O command buffer that is already committed");
        }
        Ok(record)
    }

    pub(crate) fn encode(&self, step: Step) -> Result<(), Misuse> {
        let device = match &step {
            Step::Load(load) => load.destination.device(),
            Step::Signal(event, _) | Step::Wait(event, _) if !event.shared => {
                return Err(c"an I/O command buffer takes shared events only");
            }
            _ => None,
        };
        if device.is_some_and(|device| !ptr::eq(device, self.queue.device)) {
            return Err(c"the destination was created with a different device than the I/O command buffer");
        }
        self.recording()?.steps.push_back(step);
        Ok(())
    }

    /// Has the final status written to a buffer.
    pub(crate) fn copy_status(&self, buffer: Arc<Buffer>, offset: u64) -> Result<(), Misuse> {
        if !ptr::eq(buffer.device(), self.queue.device) {
            return Err(c"the buffer was created with a different device than the I/O command buffer");
        }
        if offset.checked_add(STATUS_SIZE).is_none_or(|end| end > buffer.length()) {
            return Err(c"the 8 bytes of the status must be within the buffer");
        }
        self.recording()?.statuses.push((buffer, offset));
        Ok(())
    }

    /// Takes the next place in the queue's order.
    pub(crate) fn enqueue(&self) -> Result<(), Misuse> {
        let mut record = self.record();
        if record.committed {
            return Err(c"enqueue called on an I/O command buffer that is already committed");
        }
        if record.ticket.is_some() {
            return Err(c"enqueue called on an I/O command buffer that is already enqueued");
        }
        record.ticket = Some(self.queue.take_place());
        Ok(())
    }

    /// Hands the command buffer to its queue. `completed` is called once with the context, when the status is final.
    pub(crate) fn commit(
        self: &Arc<CommandBuffer>,
        completed: Option<Notify>,
        context: *mut c_void,
    ) -> Result<(), Misuse> {
        let mut record = self.record();
        if record.committed {
            return Err(c"commit an already committed I/O command buffer");
        }
        record.committed = true;
        record.completed = completed.map(|function| Call(function, context));
        let ticket = *record.ticket.get_or_insert_with(|| self.queue.take_place());
        let steps = std::mem::take(&mut record.steps);
        let work = steps.iter().filter(|step| !step.is_signal()).count();
        drop(record);
        let run = Run {
            buffer: self.clone(),
            steps,
            loads: 0,
            work,
            busy: Busy::No,
            parked: None,
            failure: None,
            skipped: false,
            ended: false,
        };
        let mut state = self.queue.state();
        for place in &mut state.order {
            if let Place::Buffer(of, empty) = place
                && *of == ticket
            {
                *empty = Some(run);
                break;
            }
        }
        drop(state);
        self.queue.look();
        Ok(())
    }

    /// Leaves out what it has not begun to load.
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
        let ticket = self.record().ticket;
        let Some(ticket) = ticket else { return };
        let mut state = self.queue.state();
        let Some(run) = state.run(ticket) else { return };
        let parked = run.parked.take();
        if parked.is_some() {
            run.busy = Busy::No;
        }
        drop(state);
        if let Some((event, number)) = parked {
            event.forget(number);
        }
        self.queue.look();
    }

    /// The event that it waits for has been signaled, or will not be in time.
    pub(crate) fn resume(&self, ticket: u64, failure: Option<String>) {
        self.queue.go_on(ticket, failure);
        self.queue.look();
    }

    /// Returns once the completed callback has run; inside that callback at once.
    pub(crate) fn wait_completed(&self) -> Result<(), Misuse> {
        if ptr::eq(TELLING.get(), self) {
            return Ok(());
        }
        let record = self.record();
        if !record.committed {
            return Err(c"wait for an I/O command buffer that is not committed");
        }
        if !record.told {
            drop(record);
            // What is waited for may wait for what the callback's own queue runs next.
            command::leave_queue();
            let untold = |record: &mut Record| !record.told;
            drop(self.told.wait_while(self.record(), untold).unwrap_or_else(PoisonError::into_inner));
        }
        Ok(())
    }

    /// MTLIOStatus.
    pub(crate) fn status(&self) -> u32 {
        self.status.load(Ordering::Acquire)
    }

    /// Why it failed.
    pub(crate) fn failure(&self) -> Option<String> {
        self.record().failure.clone()
    }

    fn load(&self, load: &Load) -> Result<bool, String> {
        if self.cancelled() {
            return Ok(false);
        }
        if self.queue.device.removed() {
            return Err(self.queue.device.failure().text);
        }
        let panicked = |_| Err("hostmetal panicked while it loaded; this is a bug of hostmetal".to_owned());
        catch_unwind(AssertUnwindSafe(|| load.run())).unwrap_or_else(panicked).map(|()| true)
    }

    fn end(&self, ticket: u64, End { rest, failure, skipped }: End) {
        let status = match failure {
            Some(_) => ERROR,
            None if skipped => CANCELLED,
            None => COMPLETE,
        };
        let mut record = self.record();
        record.failure = failure;
        let statuses = std::mem::take(&mut record.statuses);
        let completed = record.completed.take();
        drop(record);
        for (buffer, offset) in statuses {
            let place = buffer.contents().wrapping_add(offset as usize).cast::<u64>();
            // SAFETY: `copy_status` has seen that the bytes lie within the buffer, which is held.
            unsafe { place.write_unaligned(u64::from(status)) };
        }
        self.status.store(status, Ordering::Release);
        for step in rest {
            if let Step::Signal(event, value) = step {
                event.signal(value);
            }
        }
        self.queue.leave(Some(ticket));
        if let Some(Call(function, context)) = completed {
            let outer = TELLING.replace(self);
            // SAFETY: the program gave the function for one call with this context.
            pool::outside(|| unsafe { function(context) });
            TELLING.set(outer);
        }
        self.record().told = true;
        self.told.notify_all();
    }
}

impl Drop for CommandBuffer {
    fn drop(&mut self) {
        let record = self.record.get_mut().unwrap_or_else(PoisonError::into_inner);
        if !record.committed {
            self.queue.leave(record.ticket);
        }
    }
}
