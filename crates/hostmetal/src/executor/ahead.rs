//! Running passes before their turn, where a seed asks for it (overlap.rs).
//!
//! Before the driver of a queue runs the next pass of its command buffer it looks at those behind, in this command buffer and in those committed after
//! it, and chooses one of all that nothing keeps back: that pass runs, then it chooses again, until the choice is the next one. What came of a pass that ran early
//! is told in its turn, so that a command buffer whose second pass faults has run its first.

use std::collections::VecDeque;
use std::time::Duration;

use super::event;
use super::pool::{Computing, Worker};
use super::run::{Execution, Task, judge, run_commands};
use crate::command::{Failure, Step};
use crate::overlap::{self, Before};
use crate::queue::Queue;

/// So many command buffers are looked at behind the one that runs.
const AHEAD: usize = 8;
/// And so many passes that have not run.
const PASSES: usize = 32;
/// How long a driver waits for another command buffer before it begins one, in every second case: programs commit one after the other, and what
/// is not committed cannot overtake.
const PATIENCE: Duration = Duration::from_micros(50);
const TURNS: usize = 6;

/// Executions of a queue that go back to it.
struct Lent<'a> {
    queue: &'a Queue,
    executions: VecDeque<Execution>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.queue.take_back(std::mem::take(&mut self.executions));
    }
}

/// Whether the next step is a pass that others may overtake.
pub(super) fn is_due(execution: &Execution) -> bool {
    let next = execution.steps.get(execution.next);
    let pass = |step: &Step| matches!(step, Step::Encoder(recording) if recording.pass.as_ref().is_some_and(|pass| !pass.has_run()));
    execution.fault.is_none() && !execution.command_buffer.has_log() && next.is_some_and(pass)
}

/// Runs passes that may come before the next one, which `is_due`.
pub(super) fn run_others(worker: &mut Worker, execution: &mut Execution) {
    let queue = execution.command_buffer.queue.clone();
    if execution.encoder == 0 && queue.draws.choose(2) == 0 {
        for _ in 0..TURNS {
            if queue.has_more() {
                break;
            }
            std::thread::sleep(PATIENCE);
        }
    }
    let mut lent = Lent { queue: &queue, executions: queue.lend(AHEAD) };
    loop {
        let ready = ready(execution, &lent.executions);
        let Some(chosen) = (!ready.is_empty()).then(|| queue.draws.choose(ready.len())) else { return };
        if chosen == 0 {
            return;
        }
        let (number, step) = ready[chosen];
        let chosen = match number.checked_sub(1) {
            None => &mut *execution,
            Some(number) => &mut lent.executions[number],
        };
        run(worker, chosen, step);
        overlap::overtakes();
    }
}

/// The passes that nothing keeps back, by the number of the execution, 0 for the one that runs, and of the step. The first is the next one.
fn ready(execution: &Execution, later: &VecDeque<Execution>) -> Vec<(usize, usize)> {
    let (mut ready, mut before) = (Vec::new(), Before::default());
    for (number, one) in std::iter::once(execution).chain(later).enumerate() {
        // What shall fail, or tell messages in order, runs in its turn, and what is behind it.
        if number > 0 && (one.fault.is_some() || one.command_buffer.has_log()) {
            break;
        }
        for (at, step) in one.steps.iter().enumerate() {
            let is_over = number == 0 && at < one.next;
            match step {
                Step::Wait(..) if !is_over => return ready,
                Step::Wait(..) | Step::Signal(..) | Step::Keep { .. } => {}
                Step::Encoder(recording) => {
                    let Some(pass) = &recording.pass else { return ready };
                    if before.add(pass, is_over || pass.has_run()) {
                        ready.push((number, at));
                    }
                    if before.waiting() == PASSES {
                        return ready;
                    }
                }
            }
        }
    }
    ready
}

/// Runs a pass.
fn run(worker: &mut Worker, execution: &mut Execution, step: usize) {
    let device = execution.command_buffer.queue.device;
    let number = execution.steps[..step].iter().filter(|step| matches!(step, Step::Encoder(_))).count();
    let Step::Encoder(recording) = &mut execution.steps[step] else { unreachable!("only passes are chosen") };
    let start = event::now();
    if execution.begun == 0 {
        execution.begun = start;
    }
    let _computing = Computing::new();
    let task = Task::begin(worker, start, device);
    let ran = match device.removed() {
        true => Err(Failure { place: (number, 0), ..device.failure() }),
        false => run_commands(worker, &task, recording),
    };
    let ran = judge(&execution.command_buffer, recording, number, ran);
    if let Some(pass) = &mut recording.pass {
        pass.ran(ran);
    }
}
