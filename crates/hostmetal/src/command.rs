//! Command buffers: their states, what was recorded, and who is told of their end.
//!
//! Creating one is a single allocation; everything else is made when it is needed. All states are in one word, on which
//! waiters sleep. A command buffer holds what was recorded until it has run, and the labels and outcome until it is gone.

use std::cell::Cell;
use std::ffi::{CStr, CString, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::encode::{Misuse, Recording};
use crate::event::Event;
use crate::executor::{Log, event};
use crate::faults;
use crate::queue::Queue;

/// MTLCommandBufferStatus.
pub(crate) const NOT_ENQUEUED: u32 = 0;
pub(crate) const ENQUEUED: u32 = 1;
pub(crate) const COMMITTED: u32 = 2;
pub(crate) const SCHEDULED: u32 = 3;
pub(crate) const COMPLETED: u32 = 4;
pub(crate) const ERROR: u32 = 5;

/// The part of the word that is the status.
const STATUS: u32 = 7;
/// The scheduled callback has returned.
const SCHEDULED_TOLD: u32 = 8;
/// The completed callback has returned.
const COMPLETED_TOLD: u32 = 16;
/// A thread sleeps on the word.
const WAITED: u32 = 32;

/// MTLCommandEncoderErrorState.
const STATE_UNKNOWN: u32 = 0;
const STATE_COMPLETED: u32 = 1;
const STATE_PENDING: u32 = 3;
const STATE_FAULTED: u32 = 4;

/// MTLCommandBufferError.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i64)]
pub(crate) enum ErrorCode {
    Internal = 1,
    Timeout = 2,
    PageFault = 3,
    AccessRevoked = 4,
    NotPermitted = 7,
    OutOfMemory = 8,
    InvalidResource = 9,
    Memoryless = 10,
    DeviceRemoved = 11,
    StackOverflow = 12,
}

/// Why a command buffer ended before its last command.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) code: ErrorCode,
    pub(crate) text: String,
    /// Number of the encoder and of its command.
    pub(crate) place: (usize, usize),
}

/// Called with a context.
pub(crate) type Notify = unsafe extern "C" fn(*mut c_void);

/// Callbacks of a commit.
pub(crate) struct Callbacks {
    pub(crate) scheduled: Option<Notify>,
    pub(crate) completed: Option<Notify>,
    pub(crate) context: *mut c_void,
}

// SAFETY: the interface says that both are called on a thread of the engine.
unsafe impl Send for Callbacks {}

/// Something of the program's, given back when this is dropped.
pub(crate) struct Kept {
    context: *mut c_void,
    release: Notify,
}

// SAFETY: the interface says that it is given back on any thread.
unsafe impl Send for Kept {}

impl Drop for Kept {
    fn drop(&mut self) {
        // SAFETY: the program gave the function for one call with this context.
        unsafe { (self.release)(self.context) };
    }
}

/// Seconds of CLOCK_MONOTONIC, 0 before they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Times {
    pub(crate) kernel_start: f64,
    pub(crate) kernel_end: f64,
    pub(crate) gpu_start: f64,
    pub(crate) gpu_end: f64,
}

thread_local! {
    /// The command buffer whose callback this thread is in.
    static TELLING: Cell<*const CommandBuffer> = const { Cell::new(std::ptr::null()) };
}

/// Whether the calling thread is in a scheduled callback.
pub(crate) fn in_scheduled_callback() -> bool {
    let telling = TELLING.get();
    // SAFETY: the command buffer whose callback this thread is in is kept by the worker's call of it.
    !telling.is_null() && unsafe { &*telling }.status() == SCHEDULED
}

/// The calling thread is about to wait: lets another worker go on with the queue whose completed callback it is in.
pub(crate) fn leave_queue() {
    let telling = TELLING.get();
    if !telling.is_null() && !in_scheduled_callback() {
        // SAFETY: as in `in_scheduled_callback`.
        unsafe { &*telling }.queue.hand_over();
    }
}

/// A part of a command buffer, in the order in which it is run.
pub(crate) enum Step {
    Encoder(Recording),
    Signal(Arc<Event>, u64),
    Wait(Arc<Event>, u64),
    /// Runs nothing, and is given back with the others.
    Keep {
        _kept: Kept,
    },
}

/// An MTLCommandBuffer.
pub(crate) struct CommandBuffer {
    pub(crate) queue: Arc<Queue>,
    /// Status and flags.
    word: AtomicU32,
    record: Mutex<Record>,
    /// The program keeps what was recorded.
    unretained: AtomicBool,
    /// Nanoseconds: taken up, begun, ended.
    times: [AtomicU64; 3],
}

#[derive(Default)]
struct Record {
    encoders: Vec<EncoderRecord>,
    /// Signals and waits, each with the number of encoders before it.
    events: Vec<(usize, Step)>,
    kept: Vec<Kept>,
    open: bool,
    /// Its place in the queue's order, when enqueued.
    ticket: Option<u64>,
    log: Option<Arc<Log>>,
    callbacks: Option<Callbacks>,
    /// What shall become of it, once it is committed.
    fault: Option<Box<faults::Commit>>,
    failure: Option<Failure>,
}

#[derive(Default)]
struct EncoderRecord {
    label: Option<CString>,
    /// The labels before this one stay, because a program may still hold their text.
    old_labels: Vec<CString>,
    /// Each with the number of commands before it.
    signposts: Vec<(usize, CString)>,
    recording: Recording,
    state: u32,
}

impl CommandBuffer {
    /// Waits while the queue has its maximum of uncompleted command buffers.
    pub(crate) fn new(queue: Arc<Queue>) -> Arc<CommandBuffer> {
        queue.reserve();
        Arc::new(CommandBuffer {
            queue,
            word: AtomicU32::new(NOT_ENQUEUED),
            record: Mutex::new(Record::default()),
            unretained: AtomicBool::new(false),
            times: [const { AtomicU64::new(0) }; 3],
        })
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn status(&self) -> u32 {
        self.word.load(Ordering::Acquire) & STATUS
    }

    /// Changes the status, sets flags, and wakes those who sleep.
    fn publish(&self, status: u32, flags: u32) {
        let change = |word: u32| Some(word & !(STATUS | WAITED) | status | flags);
        if let Ok(old) = self.word.fetch_update(Ordering::AcqRel, Ordering::Acquire, change)
            && old & WAITED != 0
        {
            event::wake(&self.word, i32::MAX);
        }
    }

    /// Waits for a flag. A wait in a callback lets another worker go on with the callback's queue, unless that queue waits for that
    /// very callback.
    fn wait(&self, flag: u32) -> Result<(), Misuse> {
        if self.status() < COMMITTED {
            return Err(c"wait for a command buffer that is not committed");
        }
        let telling = TELLING.get();
        if !telling.is_null() && self.word.load(Ordering::Acquire) & flag == 0 {
            // Of this one, even where the callback has handed the queue over.
            if std::ptr::eq(telling, self) && self.status() > SCHEDULED {
                return Ok(());
            }
            if self.queue.driven_here() {
                if in_scheduled_callback() {
                    return Err(
                        c"a wait for the queue in a scheduled handler or a deallocator of that queue would never end",
                    );
                }
                self.queue.hand_over();
            }
        }
        self.sleep_until(flag);
        Ok(())
    }

    fn sleep_until(&self, flag: u32) {
        if event::spin_until(&self.word, event::PATIENT, |word| word & flag != 0) {
            return;
        }
        // What is waited for may wait for what the callback's own queue runs next.
        leave_queue();
        loop {
            let word = self.word.fetch_or(WAITED, Ordering::AcqRel) | WAITED;
            if word & flag != 0 {
                return;
            }
            event::sleep_while(&self.word, word, None);
        }
    }

    /// Takes the next place in the queue's order.
    pub(crate) fn enqueue(&self) -> Result<(), Misuse> {
        let mut record = self.record();
        match self.status() {
            NOT_ENQUEUED => {
                record.ticket = Some(self.queue.take_place());
                self.publish(ENQUEUED, 0);
                Ok(())
            }
            ENQUEUED => Err(c"enqueue called on a command buffer that is already enqueued"),
            _ => Err(c"enqueue called on a command buffer that is already committed"),
        }
    }

    /// Keeps something until what was recorded is given back; false, without calling `release`, once committed.
    pub(crate) fn keep(&self, context: *mut c_void, release: Notify) -> bool {
        let mut record = self.record();
        if self.status() >= COMMITTED {
            return false;
        }
        record.kept.push(Kept { context, release });
        true
    }

    /// Has the program keep what is recorded.
    pub(crate) fn leave_unretained(&self) {
        self.unretained.store(true, Ordering::Release);
    }

    /// What the program was to keep and did not: here it lives, on a GPU its memory may be another's by now.
    pub(crate) fn lost(&self, recording: &Recording) -> Option<Failure> {
        if !self.unretained.load(Ordering::Acquire) {
            return None;
        }
        let text = format!(
            "Invalid Resource: {} was deallocated before the command buffer, which has unretained references, had completed",
            recording.lost()?
        );
        Some(Failure { code: ErrorCode::InvalidResource, text, place: (0, recording.commands.len()) })
    }

    /// Where messages of kernels go.
    pub(crate) fn set_log(&self, log: Arc<Log>) {
        self.record().log = Some(log);
    }

    pub(crate) fn has_log(&self) -> bool {
        self.record().log.is_some()
    }

    /// Takes the messages out of the log, once the command buffer has run.
    pub(crate) fn end_log(&self) {
        let log = self.record().log.take();
        if let Some(log) = log {
            log.end();
        }
    }

    /// Hands the command buffer to its queue.
    pub(crate) fn commit(self: &Arc<CommandBuffer>, callbacks: Callbacks) -> Result<(), Misuse> {
        let mut record = self.record();
        if self.status() >= COMMITTED {
            return Err(c"commit an already committed command buffer");
        }
        if record.open {
            return Err(c"commit command buffer with uncommitted encoder");
        }
        let fault = faults::commit(self.queue.device)?;
        record.callbacks = Some(callbacks);
        record.fault = fault;
        // Before it is seen to be committed: who sees that and commits another one comes behind it.
        let ticket = record.ticket.unwrap_or_else(|| self.queue.take_place());
        self.publish(COMMITTED, 0);
        drop(record);
        self.queue.submit(self.clone(), ticket);
        Ok(())
    }

    /// Returns once the scheduled callback has run.
    pub(crate) fn wait_scheduled(&self) -> Result<(), Misuse> {
        self.wait(SCHEDULED_TOLD)
    }

    /// Returns once the completed callback has run; inside that callback at once.
    pub(crate) fn wait_completed(&self) -> Result<(), Misuse> {
        self.wait(COMPLETED_TOLD)
    }

    pub(crate) fn failure(&self) -> Option<Failure> {
        if self.status() == ERROR { self.record().failure.clone() } else { None }
    }

    pub(crate) fn times(&self) -> Times {
        let [taken, begun, ended] =
            [0, 1, 2].map(|position: usize| self.times[position].load(Ordering::Acquire) as f64 / 1e9);
        Times { kernel_start: taken, kernel_end: begun, gpu_start: begun, gpu_end: ended }
    }

    /// Opens an encoder and returns its number.
    pub(crate) fn open_encoder(&self) -> Result<usize, Misuse> {
        let mut record = self.record();
        if self.status() >= COMMITTED {
            return Err(c"encoding to a command buffer that is already committed");
        }
        if record.open {
            return Err(c"A command encoder is already encoding to this command buffer");
        }
        record.open = true;
        if record.encoders.is_empty() {
            // Most have one, and four would be beyond malloc's quick sizes.
            record.encoders.reserve_exact(1);
        }
        record.encoders.push(EncoderRecord::default());
        Ok(record.encoders.len() - 1)
    }

    pub(crate) fn close_encoder(&self, number: usize, recording: Recording) {
        let mut record = self.record();
        record.open = false;
        record.encoders[number].recording = recording;
    }

    /// Records a signal or a wait.
    pub(crate) fn encode_event(
        &self,
        event: Arc<Event>,
        step: fn(Arc<Event>, u64) -> Step,
        value: u64,
    ) -> Result<(), Misuse> {
        let mut record = self.record();
        if self.status() >= COMMITTED {
            return Err(c"encoding to a command buffer that is already committed");
        }
        if record.open {
            return Err(c"A command encoder is encoding to this command buffer: events are encoded between passes");
        }
        if !event.shared && !std::ptr::eq(event.device, self.queue.device) {
            return Err(c"event was created with a different device than the command buffer.");
        }
        let encoders = record.encoders.len();
        record.events.push((encoders, step(event, value)));
        Ok(())
    }

    pub(crate) fn set_encoder_label(&self, number: usize, label: CString) {
        let encoder = &mut self.record().encoders[number];
        let old = encoder.label.replace(label);
        encoder.old_labels.extend(old);
    }

    pub(crate) fn add_signpost(&self, number: usize, position: usize, text: CString) {
        self.record().encoders[number].signposts.push((position, text));
    }

    pub(crate) fn encoder_count(&self) -> usize {
        self.record().encoders.len()
    }

    /// Label, state and number of signposts that were reached. The label lives as long as the command buffer.
    pub(crate) fn encoder(&self, number: usize) -> Option<(*const CStr, u32, usize)> {
        let record = self.record();
        let encoder = record.encoders.get(number)?;
        let label = encoder.label.as_deref().unwrap_or(c"");
        let reached = encoder.signposts.iter().filter(|(position, _)| reached(&record, number, *position)).count();
        Some((label, encoder.state, reached))
    }

    /// Text of a signpost; it lives as long as the command buffer.
    pub(crate) fn signpost(&self, number: usize, signpost: usize) -> Option<*const CStr> {
        let record = self.record();
        let (_, text) = record.encoders.get(number)?.signposts.get(signpost)?;
        Some(std::ptr::from_ref(text.as_c_str()))
    }

    /// Label of an encoder, for messages.
    pub(crate) fn encoder_name(&self, number: usize) -> String {
        let record = self.record();
        let label = record.encoders.get(number).and_then(|encoder| encoder.label.as_ref());
        label.map_or_else(|| format!("encoder {number}"), |label| format!("encoder {number} {label:?}"))
    }

    /// A worker takes it up: returns what is to be run, in order, and what shall go wrong.
    pub(crate) fn take_up(&self) -> (Vec<Step>, Option<Box<faults::Commit>>) {
        self.times[0].store(event::now(), Ordering::Release);
        let mut record = self.record();
        let log = record.log.clone();
        let mut events = std::mem::take(&mut record.events).into_iter().peekable();
        let mut work = Vec::with_capacity(record.encoders.len() + events.len());
        for (number, encoder) in record.encoders.iter_mut().enumerate() {
            while let Some((_, step)) = events.next_if(|(before, _)| *before <= number) {
                work.push(step);
            }
            let mut recording = std::mem::take(&mut encoder.recording);
            recording.log.clone_from(&log);
            work.push(Step::Encoder(recording));
        }
        work.extend(events.map(|(_, step)| step));
        work.extend(std::mem::take(&mut record.kept).into_iter().map(|kept| Step::Keep { _kept: kept }));
        (work, record.fault.take())
    }

    /// Its turn has come: tells the program that it is scheduled.
    pub(crate) fn begin(&self) {
        let record = self.record();
        let scheduled =
            record.callbacks.as_ref().and_then(|callbacks| callbacks.scheduled.map(|f| (f, callbacks.context)));
        if let Some(log) = &record.log {
            log.begin();
        }
        drop(record);
        if let Some((function, context)) = scheduled {
            self.publish(SCHEDULED, 0);
            self.tell(function, context);
        }
        self.publish(SCHEDULED, SCHEDULED_TOLD);
    }

    fn tell(&self, function: Notify, context: *mut c_void) {
        let outer = TELLING.replace(self);
        // SAFETY: the program gave the function for this call, once, with this context.
        unsafe { function(context) };
        TELLING.set(outer);
    }

    /// Lets go of what was recorded. A deallocator that this runs is like a scheduled callback: the command buffer has
    /// not completed, so its queue can neither be waited for nor be handed over.
    pub(crate) fn give_back(&self, work: Vec<Step>) {
        let outer = TELLING.replace(self);
        for step in work {
            if let Step::Encoder(recording) = step {
                self.queue.give_back(recording);
            }
        }
        TELLING.set(outer);
    }

    /// When the commands began and ended to run, in nanoseconds of CLOCK_MONOTONIC.
    pub(crate) fn set_run_times(&self, begun: u64, ended: u64) {
        self.times[1].store(begun, Ordering::Release);
        self.times[2].store(ended, Ordering::Release);
    }

    /// The commands have run: makes the status final, makes the signals that a failure kept from being made, tells the
    /// program, releases who waits and the place in the queue. `begun` encoders have begun to run.
    pub(crate) fn finish(&self, failure: Option<Failure>, begun: usize, owed: Vec<(Arc<Event>, u64)>) {
        let status = if failure.is_some() { ERROR } else { COMPLETED };
        let mut record = self.record();
        let faulted = failure.as_ref().map_or(usize::MAX, |failure| failure.place.0);
        for (number, encoder) in record.encoders.iter_mut().enumerate() {
            encoder.state = match number.cmp(&faulted) {
                std::cmp::Ordering::Less => STATE_COMPLETED,
                std::cmp::Ordering::Equal if number < begun => STATE_FAULTED,
                _ => STATE_PENDING,
            };
        }
        record.failure = failure;
        let callbacks = record.callbacks.take();
        drop(record);
        if !owed.is_empty() {
            self.publish(status, SCHEDULED_TOLD);
            owed.into_iter().for_each(|(event, value)| event.signal(value));
        }
        if let Some(delay) = faults::completion_delay(self.queue.device) {
            self.publish(status, SCHEDULED_TOLD);
            std::thread::sleep(delay);
        }
        if let Some(Callbacks { completed: Some(function), context, .. }) = callbacks {
            self.publish(status, SCHEDULED_TOLD);
            // Its room is free already: a callback may create the next command buffer.
            self.queue.unreserve();
            self.tell(function, context);
        } else {
            self.queue.unreserve();
        }
        self.publish(status, SCHEDULED_TOLD | COMPLETED_TOLD);
    }
}

/// Whether execution came to a signpost that had `position` commands before it.
fn reached(record: &Record, number: usize, position: usize) -> bool {
    match record.failure.as_ref().map(|failure| failure.place) {
        Some((encoder, command)) if encoder == number => {
            record.encoders[number].state == STATE_FAULTED && position <= command
        }
        Some((encoder, _)) => number < encoder,
        None => record.encoders[number].state != STATE_UNKNOWN,
    }
}

impl Drop for CommandBuffer {
    fn drop(&mut self) {
        if self.status() < COMMITTED {
            let ticket = self.record.get_mut().unwrap_or_else(PoisonError::into_inner).ticket;
            self.queue.unreserve();
            if let Some(ticket) = ticket {
                self.queue.give_up_place(ticket);
            }
        }
    }
}
