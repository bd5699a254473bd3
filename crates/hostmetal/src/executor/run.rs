//! Running a command buffer: its encoders in order, its dispatches as ranges of threadgroups.
//!
//! A `Wave` is a set of dispatches that may overlap: one dispatch of a serial encoder, or all between two barriers of a
//! concurrent one. Its threadgroups are numbered through (order.rs), and the driver runs them in that order. When the wave is
//! expected to last, by what the pipeline took before, or turns out to, it is shared: an atomic counter then hands out
//! chunks of the range to the driver and as many helpers as there is work for (cost.rs). A small dispatch thus wakes nobody.
//!
//! A call of a kernel runs as many threadgroups of its chunk as the kernel is fit for (`Span`). One that faulted is then found by
//! running them again one by one.
//!
//! The first fault stops the task: all its workers leave their kernels, and what follows in the command buffer is not run,
//! except for its signals, which are made at its end, so that nobody waits for them in vain (Apple's documentation does not
//! say what becomes of them).

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::cost::{self, Cost, WORTH_SHARING};
use super::counting::{self, Counted, Dispatched};
use super::fiber::{Halt, run_group};
use super::guard::{Signal, watchdog_limit};
use super::order::{BLOCK, position};
use super::pool::{Computing, Worker};
use super::share::{Share, Work};
use super::signal::describe_signal;
use super::streams::stream_bytes;
use super::{Group, SAMPLERS, SLOTS, Sampler, Span, TEXTURES, Texture, event};
use super::{ahead, blocks};
use crate::command::{CommandBuffer, ErrorCode, Failure, Step};
use crate::device::{Device, SIMD_WIDTH, worker_threads};
use crate::encode::indirect::resolve;
use crate::encode::sync::{read_grids, write_sample};
use crate::encode::{Argument, Command, Dispatch, Recording};
use crate::event::{Event, Waiter};
use crate::faults;
use crate::msl::Counting;

/// Numbers of tasks, from 1.
static TASKS: AtomicU64 = AtomicU64::new(0);

/// A command buffer that has begun to run.
pub(crate) struct Execution {
    pub(super) command_buffer: Arc<CommandBuffer>,
    pub(super) steps: Vec<Step>,
    /// The step to run next.
    pub(super) next: usize,
    /// Number of the encoder to run next.
    pub(super) encoder: usize,
    /// When the first command began, 0 before; and for how long commands have run. In nanoseconds.
    pub(super) begun: u64,
    ran: u64,
    /// Of the wait that it was parked in.
    pub(crate) failure: Option<Failure>,
    /// What shall go wrong.
    pub(super) fault: Option<Box<faults::Commit>>,
}

/// What became of an execution.
#[derive(PartialEq, Eq)]
pub(crate) enum Ran {
    Finished,
    /// It is its queue's; the calling worker has nothing to do with either any more.
    Parked,
}

impl Execution {
    /// Of a command buffer that a worker takes up.
    pub(crate) fn of(command_buffer: Arc<CommandBuffer>) -> Execution {
        let (steps, fault) = command_buffer.take_up();
        Execution { command_buffer, steps, next: 0, encoder: 0, begun: 0, ran: 0, failure: None, fault }
    }

    /// Tells the program that the command buffer is scheduled.
    pub(crate) fn begin(self) -> Execution {
        self.command_buffer.begin();
        self
    }

    fn fail(&self, code: ErrorCode, text: &str) -> Failure {
        Failure { code, text: text.to_owned(), place: (self.encoder, 0) }
    }
}

/// Runs a command buffer on the calling worker until it is completed or has to wait for an event.
pub(crate) fn execute(worker: &mut Worker, mut execution: Execution) -> Ran {
    if let Some(mut failure) = execution.failure.take() {
        failure.place.0 = execution.encoder;
        let begun = execution.encoder;
        finish(execution, Some(failure), begun);
        return Ran::Finished;
    }
    if let Some(failure) = injected_before(worker, &mut execution) {
        finish(execution, Some(failure), 0);
        return Ran::Finished;
    }
    loop {
        let outcome = catch_unwind(AssertUnwindSafe(|| run_steps(worker, &mut execution)));
        let failure = match outcome {
            Ok(Ok(None)) => None,
            Ok(Ok(Some((event, value)))) => {
                let queue = execution.command_buffer.queue.clone();
                queue.park(execution);
                if event.park(value, Waiter::Queue(queue.clone())).is_some() {
                    return Ran::Parked;
                }
                execution = queue.unpark();
                continue;
            }
            Ok(Err(failure)) => Some(failure),
            Err(_) => {
                let text =
                    "Internal Error: hostmetal panicked while it ran the command buffer; this is a bug of hostmetal";
                Some(execution.fail(ErrorCode::Internal, text))
            }
        };
        let begun = execution.encoder + 1;
        finish(execution, failure, begun);
        return Ran::Finished;
    }
}

/// What shall go wrong before the first command: takes its time, removes the device, and tells the failure, if it is to be one now.
fn injected_before(worker: &Worker, execution: &mut Execution) -> Option<Failure> {
    let fault = execution.fault.as_deref_mut()?;
    let device = execution.command_buffer.queue.device;
    let injected = |failure: Failure, words: &str| Failure { text: format!("{}: {words}", failure.text), ..failure };
    let delay = std::mem::take(&mut fault.delay);
    if !delay.is_zero() {
        let start = event::now();
        let end = start.saturating_add(u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX));
        let task = Task::begin(worker, start, device);
        execution.begun = start;
        // As a kernel that takes so long: the watchdog and a removal end it.
        while event::now() < end && !task.record.stopping() && !device.removed() {
            let left = Duration::from_nanos(end.saturating_sub(event::now()));
            std::thread::sleep(left.min(Duration::from_millis(1)));
        }
        execution.ran += event::now() - start;
        let stopped = task.record.stopping();
        drop(task);
        if device.removed() {
            return Some(device.failure());
        }
        if stopped {
            return Some(injected(timeout(None, 0), &fault.words));
        }
    }
    if std::mem::take(&mut fault.removes) {
        device.remove();
        return Some(injected(device.failure(), &fault.words));
    }
    let (code, after) = fault.error?;
    let works = |step: &Step| matches!(step, Step::Encoder(recording) if recording.commands.iter().any(Command::works));
    let now = after == 0 || !execution.steps.iter().any(works);
    now.then(|| Failure { code, text: fault.text(code), place: (0, 0) })
}

/// Where a command buffer ends that shall fail midway: number of the encoder, and of the command after the last one. `None` when it shall not.
fn injected_end(execution: &Execution) -> Option<(usize, usize)> {
    let (_, after) = execution.fault.as_deref()?.error?;
    let (mut end, mut count) = (None, 0);
    let recordings = execution.steps.iter().filter_map(|step| match step {
        Step::Encoder(recording) => Some(recording),
        _ => None,
    });
    for (encoder, recording) in recordings.enumerate() {
        for position in (0..recording.commands.len()).filter(|at| recording.commands[*at].works()) {
            if count == after {
                return end;
            }
            end = Some((encoder, position + 1));
            count += 1;
        }
    }
    end
}

/// Ends a command buffer that no worker can run.
pub(crate) fn give_up(execution: Execution) {
    let text = "Internal Error: no thread could be started to run the command buffer";
    let failure = execution.fail(ErrorCode::OutOfMemory, text);
    let begun = execution.encoder;
    finish(execution, Some(failure), begun);
}

fn finish(execution: Execution, failure: Option<Failure>, begun_encoders: usize) {
    let Execution { command_buffer, steps, next, begun, .. } = execution;
    let end = event::now();
    command_buffer.set_run_times(if begun == 0 { end } else { begun }, end);
    let owed = match failure {
        None => Vec::new(),
        Some(_) => steps[next..].iter().filter_map(owed_signal).collect(),
    };
    // Buffers and pipelines are given back before anybody learns of the completion.
    command_buffer.give_back(steps);
    command_buffer.end_log();
    command_buffer.finish(failure, begun_encoders, owed);
}

fn owed_signal(step: &Step) -> Option<(Arc<Event>, u64)> {
    match step {
        Step::Signal(event, value) => Some((event.clone(), *value)),
        Step::Encoder(_) | Step::Wait(..) | Step::Keep { .. } => None,
    }
}

/// Runs steps up to the end, or up to a wait for an event that has not reached its value.
fn run_steps(worker: &mut Worker, execution: &mut Execution) -> Result<Option<(Arc<Event>, u64)>, Failure> {
    let mut start = event::now();
    let device = execution.command_buffer.queue.device;
    let gone = |number| Failure { place: (number, 0), ..device.failure() };
    let mut running = None;
    let end = injected_end(execution);
    if device.removed() {
        return Err(gone(execution.encoder));
    }
    loop {
        if ahead::is_due(execution) {
            if running.take().is_some() {
                execution.ran += event::now() - start;
            }
            ahead::run_others(worker, execution);
            start = event::now();
        }
        let Some(step) = execution.steps.get_mut(execution.next) else { return Ok(None) };
        match step {
            Step::Encoder(Recording { pass: Some(pass), .. }) if pass.has_run() => {
                pass.outcome().unwrap_or(Ok(()))?;
                execution.encoder += 1;
            }
            Step::Encoder(recording) if recording.commands.is_empty() => execution.encoder += 1,
            Step::Encoder(recording) => {
                if execution.begun == 0 {
                    execution.begun = start;
                }
                let (_, task) = running.get_or_insert_with(|| {
                    (Computing::new(), Task::begin(worker, start.saturating_sub(execution.ran).max(1), device))
                });
                let number = execution.encoder;
                let last = end.filter(|(encoder, _)| *encoder == number);
                if let Some((_, commands)) = last {
                    recording.commands.truncate(commands);
                }
                // Whoever removes it may have looked before the task began.
                let mut ran = if device.removed() { Err(gone(number)) } else { run_commands(worker, task, recording) };
                if let (Ok(()), Some((_, commands)), Some(fault)) = (&ran, last, execution.fault.as_deref())
                    && let Some((code, _)) = fault.error
                {
                    ran = Err(Failure { code, text: fault.text(code), place: (number, commands) });
                }
                judge(&execution.command_buffer, recording, number, ran)?;
                execution.encoder += 1;
            }
            Step::Signal(event, value) => event.signal(*value),
            Step::Wait(event, value) if event.value() < *value => {
                let wait = (event.clone(), *value);
                execution.ran += event::now() - start;
                return Ok(Some(wait));
            }
            Step::Wait(..) | Step::Keep { .. } => {}
        }
        execution.next += 1;
    }
}

/// What came of an encoder with a number, whose commands have run.
pub(super) fn judge(
    command_buffer: &CommandBuffer,
    recording: &Recording,
    number: usize,
    ran: Result<(), Failure>,
) -> Result<(), Failure> {
    // Before anything is signaled that lets the program know of it.
    let ran = ran.and_then(|()| command_buffer.lost(recording).map_or(Ok(()), Err));
    ran.map_err(|mut failure| {
        let device = command_buffer.queue.device;
        if failure.code == ErrorCode::Timeout && device.removed() {
            failure = Failure { place: failure.place, ..device.failure() };
        }
        let text = format!("{} ({})", failure.text, command_buffer.encoder_name(number));
        Failure { text, place: (number, failure.place.1), ..failure }
    })
}

/// The run of one command buffer's commands, as the watchdog knows it.
pub(super) struct Task {
    number: u64,
    record: &'static super::guard::Record,
}

impl Task {
    pub(super) fn begin(worker: &Worker, begun: u64, device: &'static Device) -> Task {
        let number = TASKS.fetch_add(1, Ordering::Relaxed) + 1;
        worker.record.begin(number, begun, device);
        Task { number, record: worker.record }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.record.leave();
    }
}

/// Runs the commands of one encoder. The failure's encoder number is the caller's to set.
pub(super) fn run_commands(worker: &mut Worker, task: &Task, recording: &mut Recording) -> Result<(), Failure> {
    let mut position = 0;
    while position < recording.commands.len() {
        if task.record.stopping() {
            return Err(timeout(None, position));
        }
        match recording.commands[position] {
            Command::Dispatch(_) => {
                let last = if recording.concurrent { wave_end(&recording.commands, position) } else { position + 1 };
                recording.shuffle(position..last);
                read_grids(recording, position..last)?;
                run_wave(worker, task, &Wave::new(recording, position, last))?;
                position = last;
                continue;
            }
            Command::Barrier => {}
            Command::Product(ref product) => blocks::run(&**product, worker, task.number, position)?,
            Command::MatrixRows(ref rows) => blocks::run(&**rows, worker, task.number, position)?,
            Command::GraphNode(ref node) => blocks::run(&**node, worker, task.number, position)?,
            Command::Execute(ref execute) => {
                let mut commands = resolve(execute).map_err(|failure| Failure { place: (0, position), ..failure })?;
                commands.log.clone_from(&recording.log);
                commands.pass = recording.pass.as_ref().map(|pass| pass.of_commands());
                run_commands(worker, task, &mut commands)
                    .map_err(|failure| Failure { place: (0, position), ..failure })?;
            }
            // SAFETY: the recording holds the texture; a program that uses it meanwhile races with its own command.
            Command::Mipmap(mipmap) => unsafe { mipmap.make() },
            // SAFETY: the recording of the encoder that made it holds the buffer.
            Command::Sample { at } => unsafe { write_sample(at) },
            // SAFETY: the encoder checked both ranges against their buffers, which the recording holds. Two no-copy buffers
            // may lie over the same memory, so the ranges may overlap.
            Command::Copy { source, destination, length } => unsafe { ptr::copy(source, destination, length) },
            // SAFETY: the encoder checked the rows against the textures' levels and the buffer, which the recording holds.
            Command::CopyRows(rows) => unsafe { rows.copy() },
            // SAFETY: as for Copy.
            Command::Fill { destination, length, value } => unsafe { ptr::write_bytes(destination, value, length) },
        }
        position += 1;
    }
    Ok(())
}

/// The end of the dispatches that may overlap, beginning at `first`.
fn wave_end(commands: &[Command], first: usize) -> usize {
    let following = commands[first..].iter().take_while(|command| matches!(command, Command::Dispatch(_)));
    first + following.count()
}

/// Dispatches that may overlap, and the number of their threadgroups.
pub(super) struct Wave {
    recording: *const Recording,
    pub(super) first: usize,
    end: usize,
    groups: u64,
}

impl Wave {
    /// Runs a helper's part of it.
    ///
    /// # Safety
    /// The recording is kept meanwhile.
    pub(super) unsafe fn help(&self, worker: &mut Worker, share: &Arc<Share>) -> Result<(), Failure> {
        // SAFETY: as the caller promises.
        let recording = unsafe { &*self.recording };
        let mut cursor = Cursor::new(self.first);
        share.take(worker, &mut |worker, groups| cursor.run(worker, recording, groups)).map(drop)
    }

    fn new(recording: &Recording, first: usize, end: usize) -> Wave {
        let count = |position| dispatch(recording, position).group_count();
        let groups = (first..end).fold(0u64, |sum, position| sum.saturating_add(count(position)));
        Wave { recording, first, end, groups }
    }

    /// What one worker is expected to take, in nanoseconds; None when a pipeline has not run before.
    fn expected(&self, recording: &Recording) -> Option<u64> {
        (self.first..self.end).try_fold(0u64, |sum, position| {
            let dispatch = dispatch(recording, position);
            let cost = recording.pipelines[dispatch.pipeline as usize].cost.of(dispatch.thread_count())?;
            Some(sum.saturating_add(cost))
        })
    }

    /// What is known of its pipeline, if it has but one, and about how many threads `groups` threadgroups of it are.
    fn cost<'a>(&self, recording: &'a Recording, groups: u64) -> Option<(&'a Cost, f64)> {
        let dispatch = (self.end - self.first == 1).then(|| dispatch(recording, self.first))?;
        let threads = dispatch.thread_count() as f64 * groups as f64 / dispatch.group_count() as f64;
        Some((&recording.pipelines[dispatch.pipeline as usize].cost, threads))
    }

    /// Remembers what a thread took, given that `groups` threadgroups took `time` nanoseconds.
    fn learn(&self, recording: &Recording, groups: u64, time: u64) {
        if let Some((cost, threads)) = self.cost(recording, groups).filter(|_| groups > 0) {
            cost.learn(threads, time);
        }
    }

    /// Remembers the same of one that began alone, though it is worth sharing. The first few may be shorter than the others.
    fn correct(&self, recording: &Recording, groups: u64, time: u64) {
        if let Some((cost, threads)) = self.cost(recording, groups).filter(|_| groups > self.groups / 16) {
            cost.correct(threads, time);
        }
    }
}

fn dispatch(recording: &Recording, position: usize) -> &Dispatch {
    match &recording.commands[position] {
        Command::Dispatch(dispatch) => dispatch,
        _ => unreachable!("a wave holds dispatches only"),
    }
}

fn run_wave(worker: &mut Worker, task: &Task, wave: &Wave) -> Result<(), Failure> {
    // SAFETY: the wave was made from a reference that is still borrowed by the caller.
    let recording = unsafe { &*wave.recording };
    let mut cursor = Cursor::new(wave.first);
    let (mut next, mut measured) = (0, 0);
    let pipeline = |position| &recording.pipelines[dispatch(recording, position).pipeline as usize];
    let counts = (wave.first..wave.end).any(|position| !matches!(pipeline(position).counting, Counting::No));
    let shareable = wave.groups > 1 && worker_threads() > 1 && !counts;
    let expected = if shareable { wave.expected(recording) } else { Some(0) };
    let trial = expected.is_some_and(|expected| {
        let tries = |(cost, _): (&Cost, f64)| cost.tries(expected, worker_threads() as u64);
        // Not where one threadgroup may be all that there is time for.
        let worth = expected >= WORTH_SHARING && expected / wave.groups < WORTH_SHARING;
        worth && wave.cost(recording, wave.groups).is_some_and(tries)
    });
    if trial || expected.is_some_and(|expected| expected < WORTH_SHARING) {
        let start = event::now();
        let mut check = if shareable { 1 } else { u64::MAX };
        while next < wave.groups {
            let end = check.min(wave.groups);
            cursor.run(worker, recording, next..end)?;
            next = end;
            let elapsed = event::now() - start;
            if elapsed > WORTH_SHARING {
                break;
            }
            // About as many again as have run, while that stays far below the time that is worth sharing; then few.
            check = next + if elapsed < WORTH_SHARING / 4 { next } else { next.div_ceil(8) };
        }
        let time = event::now() - start;
        if trial {
            wave.correct(recording, next, time)
        } else {
            wave.learn(recording, next, time)
        }
        if next == wave.groups {
            return cursor.tell(recording);
        }
        measured = (u128::from(time) * u128::from(wave.groups) / u128::from(next)).min(u64::MAX.into()) as u64;
    }
    // What began alone takes longer than was expected; of several dispatches nothing is learned.
    let expected = wave.expected(recording).map(|expected| expected.max(measured));
    run_shared(worker, task, wave, recording, (next, expected), cursor)
}

/// Runs the threadgroups of a wave from `next` on together with helpers, of which all are expected to take so many nanoseconds on one worker.
fn run_shared(
    worker: &mut Worker,
    task: &Task,
    wave: &Wave,
    recording: &Recording,
    (next, expected): (u64, Option<u64>),
    mut cursor: Cursor,
) -> Result<(), Failure> {
    let (workers, chunk) = cost::portions(next..wave.groups, expected, worker_threads() as u64);
    // Whole rows, which one call may run, or rows of blocks. The grid may be empty, where others of the wave are not.
    let of_first = dispatch(recording, wave.first);
    let [width, height, _] = of_first.groups.map(u64::from);
    let row = if spans(recording, of_first) { width } else { width * height.min(BLOCK) }.max(1);
    let chunk = if chunk < row { chunk } else { chunk / row * row };
    let work = Work::Wave(Wave { ..*wave });
    let share = Share::new(task.number, work, next..wave.groups, chunk, workers);
    share.run(
        worker,
        |worker, groups| cursor.run(worker, recording, groups),
        |groups, time| wave.learn(recording, groups, time),
    )
}

/// Where a worker is in a wave: the dispatch, and the group that kernels are called with.
struct Cursor {
    position: usize,
    /// Number of the dispatch's first threadgroup in the wave.
    first: u64,
    count: u64,
    group: Option<Group>,
    variables: *mut u8,
    resources: Option<Box<Resources>>,
    /// What the present dispatch came to, where its kernel counts.
    counted: Option<Counted>,
}

/// What a group's `texture` and `sampler` point to.
struct Resources {
    textures: [*const Texture; TEXTURES],
    samplers: [Sampler; SAMPLERS],
}

/// Puts what kernels have stored around the caches (native/hostmetal/pass/streams.cpp) before whatever is done when this is dropped.
struct Fence;

impl Drop for Fence {
    fn drop(&mut self) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: every x86-64 processor has it.
        unsafe {
            std::arch::x86_64::_mm_sfence();
        }
    }
}

impl Cursor {
    fn new(position: usize) -> Cursor {
        Cursor { position, first: 0, count: 0, group: None, variables: ptr::null_mut(), resources: None, counted: None }
    }

    /// Runs threadgroups of a wave; ranges of one cursor must ascend.
    fn run(&mut self, worker: &mut Worker, recording: &Recording, range: Range<u64>) -> Result<(), Failure> {
        let _fence = Fence;
        let mut number = range.start;
        while number < range.end {
            while self.group.is_none() || number - self.first >= self.count {
                self.tell(recording)?;
                self.advance(worker, recording);
            }
            let first = number - self.first;
            let (count, result) = self.call(worker, recording, first, range.end - number);
            if let Err(halt) = result {
                return Err(self.failure(halt, worker, recording, [first, first + count - 1]));
            }
            number += count;
        }
        Ok(())
    }

    /// Runs the threadgroup with a number in the dispatch, together with those behind it that its kernel may run in the same
    /// call, `most` at most. Also returns how many they are.
    fn call(&mut self, worker: &mut Worker, recording: &Recording, number: u64, most: u64) -> (u64, Result<(), Halt>) {
        let dispatch = dispatch(recording, self.position);
        let pipeline = &recording.pipelines[dispatch.pipeline as usize];
        let Some(group) = &mut self.group else { unreachable!("advance has made one") };
        let count = place_groups(group, dispatch, number, most, spans(recording, dispatch));
        if worker.record.stopping() {
            return (count, Err(Halt::Stopped));
        }
        if let Err(why) = counting::begin(&mut worker.place.recorder, &pipeline.counting) {
            return (count, Err(Halt::Uncounted(why)));
        }
        // SAFETY: the place is this worker's; the entry came with the pipeline's promise; the recording holds all that
        // the group points to; the variables' base is in the worker's threadgroup memory.
        let result =
            unsafe { run_group(&mut *worker.place, pipeline.entry, group, (self.variables, &*pipeline.variables)) };
        let (recorder, size) = (&mut worker.place.recorder, group.threads_per_threadgroup);
        let mut added =
            || counting::add(recorder, &pipeline.counting, &mut self.counted, size).map_err(Halt::Uncounted);
        (count, result.and_then(|()| added()))
    }

    /// Tells what the dispatch came to that has run, if it was to be counted.
    fn tell(&mut self, recording: &Recording) -> Result<(), Failure> {
        if self.group.is_none() || counting::file().is_none() {
            return Ok(());
        }
        let &Dispatch { pipeline, threads, group_size: threadgroup, .. } = dispatch(recording, self.position);
        let pipeline = &recording.pipelines[pipeline as usize];
        let dispatched = Dispatched { kernel: &pipeline.name, threads, threadgroup };
        counting::tell(&dispatched, &pipeline.counting, self.counted.take().as_ref()).map_err(|why| {
            let text = format!("Internal Error: HOSTMETAL_COUNTS: {why}");
            Failure { code: ErrorCode::Internal, text, place: (0, self.position) }
        })
    }

    /// The failure that a halt means of a call for the threadgroups from one number to another. Of several, the one that
    /// faulted is found by running each alone until one meets the same fault.
    fn failure(&mut self, halt: Halt, worker: &mut Worker, recording: &Recording, [first, last]: [u64; 2]) -> Failure {
        let fault = worker.record.signal();
        if halt == Halt::Faulted && first < last {
            for number in first..=last {
                match self.call(worker, recording, number, 1).1 {
                    Err(Halt::Faulted) if worker.record.signal().is_like(&fault) => {
                        return self.describe(halt, worker.record.signal(), worker, recording, [number, number]);
                    }
                    Err(Halt::Stopped) => break,
                    _ => {}
                }
            }
        }
        self.describe(halt, fault, worker, recording, [first, last])
    }

    fn describe(
        &self,
        halt: Halt,
        signal: Signal,
        worker: &Worker,
        recording: &Recording,
        [first, last]: [u64; 2],
    ) -> Failure {
        let dispatch = dispatch(recording, self.position);
        let name = &recording.pipelines[dispatch.pipeline as usize].name;
        let [x, y, z] = position(first, dispatch, spans(recording, dispatch));
        let thread = worker.place.thread().map_or(String::new(), |[x, y, z]| format!(", thread ({x}, {y}, {z}) of it"));
        let place = if first == last {
            format!("kernel {name:?}, threadgroup ({x}, {y}, {z}){thread}")
        } else {
            let end = u64::from(x) + last - first;
            format!("kernel {name:?}, one of the threadgroups ({x}, {y}, {z}) to ({end}, {y}, {z})")
        };
        let (code, text) = match halt {
            Halt::Stopped => return timeout(Some(name), self.position),
            Halt::Uncounted(why) => (ErrorCode::Internal, format!("Internal Error: HOSTMETAL_COUNTS: {why}: {place}")),
            Halt::Misused(complaint) => (ErrorCode::Internal, format!("Internal Error: {complaint}: {place}")),
            Halt::NoStacks => (
                ErrorCode::OutOfMemory,
                format!(
                    "Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory): no stacks for the threads \
                     of a threadgroup: {place}"
                ),
            ),
            Halt::Faulted => describe_signal(signal, worker, arguments(recording, dispatch), recording, &place),
        };
        Failure { code, text, place: (0, self.position) }
    }

    /// Goes on to the next dispatch of the wave, or begins with the first.
    fn advance(&mut self, worker: &mut Worker, recording: &Recording) {
        if self.group.is_some() {
            self.position += 1;
            self.first = self.first.saturating_add(self.count);
        }
        let dispatch = dispatch(recording, self.position);
        self.count = dispatch.group_count();
        let pipeline = &recording.pipelines[dispatch.pipeline as usize];
        let entry = pipeline.entry;
        let log = recording.log.as_ref().zip(pipeline.formats.0.as_ref());
        worker.place.set_log(log.map(|(log, _)| &**log), log.map_or(0, |(log, formats)| log.number(formats)));
        let memory = worker.place.threadgroup_memory(dispatch.memory as usize, entry);
        self.variables = memory;
        let mut buffer = [ptr::null_mut(); SLOTS];
        let mut threadgroup = [ptr::null_mut(); SLOTS];
        let (mut imageblock, mut imageblock_size) = (ptr::null_mut(), [0; 2]);
        for argument in arguments(recording, dispatch) {
            match *argument {
                Argument::Buffer { index, address, .. } => buffer[index as usize] = address.cast(),
                Argument::Memory { index, offset } => {
                    threadgroup[index as usize] = memory.wrapping_add(offset as usize).cast();
                }
                Argument::Imageblock { size, offset } => {
                    (imageblock, imageblock_size) = (memory.wrapping_add(offset as usize).cast(), size);
                }
                Argument::Texture { index, texels } => self.resources().textures[index as usize] = texels,
                Argument::Sampler { index, sampler } => self.resources().samplers[index as usize] = sampler,
            }
        }
        let (grid_origin, grid_size) = recording.region(dispatch);
        self.group = Some(Group {
            buffer,
            threadgroup,
            threadgroup_position_in_grid: [0; 3],
            threads_per_threadgroup: dispatch.group_size,
            dispatch_threads_per_threadgroup: dispatch.group_size,
            threads_per_grid: dispatch.threads,
            threadgroups_per_grid: dispatch.groups,
            simdgroups_per_threadgroup: 0,
            dispatch_simdgroups_per_threadgroup: simdgroups(dispatch.group_size),
            texture: self.resources.as_deref().map_or(ptr::null(), |resources| resources.textures.as_ptr()),
            sampler: self.resources.as_deref().map_or(ptr::null(), |resources| resources.samplers.as_ptr()),
            grid_origin,
            grid_size,
            stream_bytes: stream_bytes(dispatch.threads),
            attribute_stride: recording.strides(dispatch),
            imageblock,
            imageblock_size,
        });
    }

    fn resources(&mut self) -> &mut Resources {
        self.resources.get_or_insert_with(|| {
            Box::new(Resources { textures: [ptr::null(); TEXTURES], samplers: [Sampler::default(); SAMPLERS] })
        })
    }
}

fn arguments<'a>(recording: &'a Recording, dispatch: &Dispatch) -> &'a [Argument] {
    &recording.arguments[dispatch.first_argument as usize..][..dispatch.arguments as usize]
}

fn simdgroups(size: [u32; 3]) -> u32 {
    size.iter().product::<u32>().div_ceil(SIMD_WIDTH)
}

/// Whether a dispatch's kernel may run several threadgroups in one call.
fn spans(recording: &Recording, dispatch: &Dispatch) -> bool {
    let [_, height, depth] = dispatch.group_size;
    match recording.pipelines[dispatch.pipeline as usize].span {
        Span::Threadgroup => false,
        Span::Line => height * depth == 1,
        Span::Rows => true,
    }
}

/// Fills in what is particular to a threadgroup of a dispatch and, where it spans, those that follow it in its row, `most` at
/// most. Returns how many they are.
fn place_groups(group: &mut Group, dispatch: &Dispatch, number: u64, most: u64, spans: bool) -> u64 {
    let position = position(number, dispatch, spans);
    let mut left = [0; 3];
    for (axis, at) in position.into_iter().enumerate() {
        left[axis] = dispatch.threads[axis] - at * dispatch.group_size[axis];
        group.threadgroup_position_in_grid[axis] = at;
        group.threads_per_threadgroup[axis] = left[axis].min(dispatch.group_size[axis]);
    }
    group.simdgroups_per_threadgroup = simdgroups(group.threads_per_threadgroup);
    let count = if spans { most.min(u64::from(dispatch.groups[0] - position[0])) } else { 1 };
    let length = count.saturating_mul(u64::from(dispatch.group_size[0]));
    group.threads_per_threadgroup[0] = u64::from(left[0]).min(length) as u32;
    count
}

pub(super) fn timeout(kernel: Option<&str>, command: usize) -> Failure {
    let limit = watchdog_limit().map_or(0.0, |limit| limit.as_secs_f64());
    let at = kernel.map_or(String::new(), |name| format!(" in kernel {name:?}"));
    let text = format!(
        "Caused GPU Timeout Error (00000002:kIOGPUCommandBufferCallbackErrorTimeout): the command buffer ran longer than \
         {limit} s (HOSTMETAL_WATCHDOG){at}"
    );
    Failure { code: ErrorCode::Timeout, text, place: (0, command) }
}
