//! How a graph runs again: what its nodes encode is recorded once as indirect commands, which later submissions execute.
//!
//! A *run* is a row of launches with nothing else between them that indirect commands can do: of kernels that take buffers and values, and print
//! nothing. The values lie in a buffer, one behind the other. A *recording* is the commands of all runs and such a buffer. It is made when a
//! graph is submitted for the second time, because most graphs that run once run never again, and its kernels need pipelines of their own.
//!
//! Invariants. All recordings are of the script of now but for the values; a change of the script changes the commands that differ in
//! recordings that nothing in flight executes, and lets go of the others, whose command buffers keep them. Values are only written where no
//! submission in flight reads them. Nothing waits, and whatever fails here leaves launches that are encoded as at the first time.

use std::mem;
use std::ops::Range;
use std::sync::Arc;

use log::Level;

use super::{Graph, TaskWork};
use crate::command::{Hazards, Inflight, Launched, Scope, Touch};
use crate::grid::Extent;
use crate::kernel::{self, Slots};
use crate::memory::AllocationRef;
use crate::raw::Failure;
use crate::raw::command::References;
use crate::raw::command::indirect::IndirectCommands;
use crate::raw::host::DeviceUse;
use crate::telemetry::{GRAPH, say};
use crate::{Accelerator, Arg, Batch, Buffer, Kernel, Result, Sampler, Size, Submission, Texture};

/// Recordings of one graph: so many submissions may be in flight, each with values of its own, before one is encoded.
const RECORDINGS: usize = 3;
/// Where a value begins is a multiple of this: more than any GPU asks of an offset in the constant address space, or any type
/// (<https://developer.apple.com/metal/Metal-Feature-Set-Tables.pdf>, "Minimum constant buffer offset alignment").
const ALIGNMENT: usize = 256;

/// How a graph's launches come to the device when it is submitted again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Replay {
    /// As indirect commands where that is possible: kernels with textures, samplers, threadgroup memory of a launch's, or `printf` are encoded,
    /// and so is everything on a device that has none (Metal's family Common2), or while too many submissions with other values are in flight, or once Metal
    /// has refused to record (it has no memory, or not so many commands in a row), until this is set again. Threadgroups that nobody named are those that
    /// were chosen when the commands were recorded.
    #[default]
    Indirect,
    /// Encoded each time.
    Encoded,
}

/// What a graph's launches cost the host so far: see [`Graph::replay_stats`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayStats {
    /// Launches that were encoded, of submissions that were made.
    pub encoded: u64,
    /// Launches that were executed as indirect commands.
    pub indirect: u64,
    /// Indirect commands that were recorded: the first time, beside what is in flight, or because something but a value changed.
    pub recorded: u64,
}

/// What a graph keeps for running again.
#[derive(Default)]
pub(super) struct Replays {
    replay: Replay,
    pub(super) stats: ReplayStats,
    /// How often the graph was submitted or tried to.
    submissions: u64,
    /// Something was refused: there will be no recording.
    refused: bool,
    script: Option<Script>,
    recordings: Vec<Recording>,
}

/// What the graph does, in runs.
struct Script {
    /// By wave, the device's part, in order.
    waves: Vec<Vec<Step>>,
    runs: Vec<Run>,
    /// By node: its run, and its place there.
    places: Vec<Option<(usize, usize)>>,
    /// Of all runs.
    values: Vec<u8>,
    /// Counts changes of the values.
    version: u64,
}

enum Step {
    Node(usize),
    Run(usize),
}

struct Run {
    nodes: Vec<usize>,
    commands: Vec<Command>,
    /// Buffer indices are below this.
    slots: usize,
    /// The user ordered one of them behind another node.
    asked: bool,
    executed: Executed,
}

struct Command {
    kernel: Kernel,
    threads: Size,
    threadgroup: Size,
    barrier: bool,
    /// Index, memory, and where it begins there.
    buffers: Vec<(usize, AllocationRef, usize)>,
    /// Index, and where the value is.
    values: Vec<(usize, Range<usize>)>,
}

impl Command {
    /// Whether both are recorded alike. What they use lives: an address is one memory.
    fn is(&self, other: &Command) -> bool {
        let buffers = || self.buffers.iter().zip(&other.buffers);
        self.kernel.is(&other.kernel)
            && (self.threads, self.threadgroup, self.barrier) == (other.threads, other.threadgroup, other.barrier)
            && self.buffers.len() == other.buffers.len()
            && buffers().all(|(a, b)| a.0 == b.0 && a.1.is(&b.1) && a.2 == b.2)
            && self.values == other.values
    }

    /// At a place that has none.
    fn record(&self, commands: &mut IndirectCommands, index: usize, values: &Buffer<u8>) -> Result<(), Failure> {
        commands.set_pipeline(index, self.kernel.for_commands()?)?;
        for (slot, allocation, offset) in &self.buffers {
            commands.set_buffer(index, allocation.memory(), *offset, *slot)?;
        }
        for (slot, range) in &self.values {
            commands.set_buffer(index, values.allocation().memory(), range.start, *slot)?;
        }
        if self.barrier {
            commands.set_barrier(index)?;
        }
        commands.dispatch_threads(index, self.threads, self.threadgroup)
    }
}

/// What a launch binds.
#[derive(Default)]
struct Bound {
    buffers: Vec<(usize, AllocationRef, usize)>,
    values: Vec<(usize, Vec<u8>)>,
    /// Something that commands cannot have.
    other: bool,
}

impl Slots for Bound {
    fn set_buffer(&mut self, allocation: &AllocationRef, offset: usize, index: usize) -> Result<(), Failure> {
        self.buffers.push((index, allocation.clone(), offset));
        Ok(())
    }

    fn set_bytes(&mut self, bytes: &[u8], index: usize) -> Result<(), Failure> {
        self.values.push((index, bytes.to_vec()));
        Ok(())
    }

    fn set_threadgroup_memory(&mut self, _bytes: u64, _index: usize) -> Result<(), Failure> {
        self.other = true;
        Ok(())
    }

    fn set_texture(&mut self, _texture: &Texture, _index: usize) -> Result<(), Failure> {
        self.other = true;
        Ok(())
    }

    fn set_sampler(&mut self, _sampler: &Sampler, _index: usize) -> Result<(), Failure> {
        self.other = true;
        Ok(())
    }
}

/// A launch that commands can do.
struct Launch {
    kernel: Kernel,
    threads: Size,
    threadgroup: Size,
    bound: Bound,
    uses: Vec<(AllocationRef, DeviceUse)>,
    touches: Vec<Touch>,
}

impl Launch {
    fn of(graph: &Graph, node: usize) -> Option<Launch> {
        let task = &graph.recorded.nodes[node];
        let TaskWork::Launch { kernel, grid } = &task.work else { return None };
        if kernel::printing(kernel).is_some() || !kernel.parts().is_empty() {
            return None;
        }
        let args: Vec<Arg<'_>> = task.args.iter().map(|arg| arg.arg(|piece| graph.place(piece))).collect();
        let dispatch = kernel::check(kernel, grid, &args).ok()?;
        let mut bound = Bound::default();
        kernel::bind(&mut bound, kernel, &args, dispatch.dimensions, kernel::Own::default()).ok()?;
        if bound.other {
            return None;
        }
        let threadgroup = dispatch.threadgroup;
        let threads = match dispatch.extent {
            Extent::Threads(threads) => threads,
            // The same threads: whole threadgroups. One kind of commands is enough.
            Extent::Threadgroups(count) => {
                Size { x: count.x * threadgroup.x, y: count.y * threadgroup.y, z: count.z * threadgroup.z }
            }
        };
        let kind = |writes| if writes { DeviceUse::Write } else { DeviceUse::Read };
        let uses = kernel::buffers(&args).map(|(allocation, writes)| (allocation.clone(), kind(writes))).collect();
        let touches = kernel::touches(kernel, &args, kernel::Own::default()).collect();
        Some(Launch { kernel: kernel.clone(), threads, threadgroup, bound, uses, touches })
    }

    /// The command, with its values at these places.
    fn command(&self, values: Vec<Range<usize>>, barrier: bool) -> Command {
        let Launch { kernel, threads, threadgroup, bound, .. } = self;
        let slots = bound.values.iter().map(|(slot, _)| *slot);
        Command {
            kernel: kernel.clone(),
            threads: *threads,
            threadgroup: *threadgroup,
            barrier,
            buffers: bound.buffers.clone(),
            values: slots.zip(values).collect(),
        }
    }
}

/// Launches that are executed as indirect commands.
pub(crate) struct Executed {
    /// Commands from the first on, in order; between two ranges all wait for all.
    pub(crate) parts: Vec<Range<usize>>,
    /// Each memory once.
    pub(crate) uses: Vec<(AllocationRef, DeviceUse)>,
    /// Of buffers alone.
    pub(crate) touches: Vec<Touch>,
    /// Each once.
    pub(crate) kernels: Vec<Launched>,
    /// The kernel of each command, by its place among these.
    pub(crate) kernel_of: Vec<usize>,
}

impl Executed {
    /// The kernels that the first `ended` commands launch, and how often.
    pub(crate) fn launches(&self, ended: usize) -> impl Iterator<Item = (&Kernel, u64)> {
        let of = move |number: usize, launched: &Launched| match ended == self.kernel_of.len() {
            true => launched.launches,
            false => self.kernel_of[..ended].iter().filter(|&&kernel| kernel == number).count() as u64,
        };
        let counted = self.kernels.iter().enumerate();
        counted.map(move |(number, launched)| (&launched.kernel, of(number, launched))).filter(|(_, count)| *count > 0)
    }
}

/// A run that is being put together.
#[derive(Default)]
struct Open {
    nodes: Vec<usize>,
    commands: Vec<Command>,
    /// The first command of each level: those of one wait for those of earlier ones, and not for each other.
    levels: Vec<usize>,
    asked: bool,
    /// Within the run, and of all of it.
    hazards: Hazards,
    all: Hazards,
    uses: Vec<(AllocationRef, DeviceUse)>,
    kernels: Vec<Launched>,
    kernel_of: Vec<usize>,
}

impl Open {
    fn add(&mut self, node: usize, launch: &Launch, asked: bool, image: &mut Vec<u8>) {
        let touches = || launch.touches.iter().cloned();
        if asked || self.nodes.is_empty() || self.hazards.barrier_for(touches()) != Scope::NONE {
            self.hazards.barrier(Scope::ALL);
            self.levels.push(self.nodes.len());
        }
        touches().for_each(|touch| self.hazards.note(touch));
        touches().for_each(|touch| self.all.note(touch));
        let place = |(_, bytes): &(usize, Vec<u8>)| {
            let start = image.len().next_multiple_of(ALIGNMENT);
            image.resize(start, 0);
            image.extend_from_slice(bytes);
            start..image.len()
        };
        let values = launch.bound.values.iter().map(place).collect();
        self.commands.push(launch.command(values, false));
        for (allocation, kind) in &launch.uses {
            match self.uses.iter_mut().find(|(known, _)| known.is(allocation)) {
                Some(known) if *kind == DeviceUse::Write => known.1 = *kind,
                Some(_) => {}
                None => self.uses.push((allocation.clone(), *kind)),
            }
        }
        let known = self.kernels.iter().position(|known| known.kernel.is(&launch.kernel));
        let number = known.unwrap_or_else(|| {
            self.kernels.push(Launched { kernel: launch.kernel.clone(), launches: 0 });
            self.kernels.len() - 1
        });
        self.kernels[number].launches += 1;
        self.kernel_of.push(number);
        self.nodes.push(node);
        self.asked |= asked;
    }

    fn close(self) -> Run {
        let slots = |command: &Command| {
            let buffers = command.buffers.iter().map(|buffer| buffer.0);
            buffers.chain(command.values.iter().map(|value| value.0)).max().map_or(0, |last| last + 1)
        };
        let slots = self.commands.iter().map(slots).max().unwrap_or(0);
        let Open { nodes, mut commands, levels, asked, all, uses, kernels, kernel_of, .. } = self;
        // A command's barrier is for it alone: a level of several begins with one of the encoder's, which is for all that follow.
        let (mut parts, mut begin) = (Vec::new(), 0);
        for (at, &first) in levels.iter().enumerate().skip(1) {
            let end = levels.get(at + 1).copied().unwrap_or(commands.len());
            if end - first == 1 {
                commands[first].barrier = true;
            } else {
                parts.push(begin..first);
                begin = first;
            }
        }
        parts.push(begin..commands.len());
        let executed = Executed { parts, uses, touches: all.touched(), kernels, kernel_of };
        Run { nodes, commands, slots, asked, executed }
    }
}

impl Script {
    fn of(graph: &Graph, version: u64) -> Script {
        let waves = (0..graph.submissions()).map(|_| Vec::new()).collect();
        let places = vec![None; graph.recorded.nodes.len()];
        let mut script = Script { waves, runs: Vec::new(), places, values: Vec::new(), version };
        let (mut open, mut wave) = (Open::default(), 0);
        for &node in graph.plan.order.iter().filter(|&&node| !graph.is_host(node)) {
            if graph.plan.waves[node] != wave {
                script.close(&mut open, wave);
                wave = graph.plan.waves[node];
            }
            match Launch::of(graph, node) {
                Some(launch) => open.add(node, &launch, graph.plan.asked[node], &mut script.values),
                None => {
                    script.close(&mut open, wave);
                    script.waves[wave].push(Step::Node(node));
                }
            }
        }
        script.close(&mut open, wave);
        script
    }

    /// The commands that are others than another script's, by run and place. `None`: no recording can be of both.
    fn changed(&self, old: &Script) -> Option<Vec<(usize, usize)>> {
        let shape = |script: &Script| -> Vec<(usize, usize)> {
            script.runs.iter().map(|run| (run.commands.len(), run.slots)).collect()
        };
        if shape(self) != shape(old) || self.values.len() != old.values.len() {
            return None;
        }
        let mut changed = Vec::new();
        for (number, (run, old)) in self.runs.iter().zip(&old.runs).enumerate() {
            let pairs = run.commands.iter().zip(&old.commands).enumerate();
            changed.extend(pairs.filter(|(_, (new, old))| !new.is(old)).map(|(index, _)| (number, index)));
        }
        Some(changed)
    }

    fn close(&mut self, open: &mut Open, wave: usize) {
        let open = mem::take(open);
        if open.nodes.is_empty() {
            return;
        }
        for (index, &node) in open.nodes.iter().enumerate() {
            self.places[node] = Some((self.runs.len(), index));
        }
        self.waves[wave].push(Step::Run(self.runs.len()));
        self.runs.push(open.close());
    }
}

/// The commands of a script, as they were recorded, and values for them.
struct Recording {
    /// By run.
    commands: Vec<IndirectCommands>,
    values: Buffer<u8>,
    /// Which values those are.
    version: u64,
    /// The submissions that execute it, until they are seen to have settled.
    flights: Vec<Arc<Inflight>>,
}

impl Recording {
    fn new(accelerator: &Accelerator, script: &Script, recorded: &mut u64) -> Result<Recording> {
        let mut values = accelerator.buffer_zeroed(script.values.len().max(1))?;
        values.write()?[..script.values.len()].copy_from_slice(&script.values);
        let record = |run: &Run| {
            let mut commands = IndirectCommands::new(accelerator.device(), run.commands.len(), run.slots)?;
            for (index, command) in run.commands.iter().enumerate() {
                command.record(&mut commands, index, &values)?;
                *recorded += 1;
            }
            Ok(commands)
        };
        let commands: Result<Vec<IndirectCommands>, Failure> = script.runs.iter().map(record).collect();
        let commands =
            commands.map_err(|failure| failure.of_nothing(accelerator.device(), "record indirect commands", None))?;
        Ok(Recording { commands, values, version: script.version, flights: Vec::new() })
    }

    /// Forgets the submissions that have settled.
    fn let_go(&mut self) {
        self.flights.retain(|flight| !flight.lets_commands_go());
    }

    /// Whether nothing in flight executes it.
    fn is_idle(&mut self) -> bool {
        self.let_go();
        self.flights.is_empty()
    }

    /// Takes over the values of now, unless the device may read those that are there.
    fn take_values(&mut self, script: &Script) -> bool {
        let Ok(mut values) = self.values.try_write() else { return false };
        values[..script.values.len()].copy_from_slice(&script.values);
        self.version = script.version;
        true
    }

    /// Records commands again. False: it is of no more use, because something in flight executes it or Metal refused.
    fn follow(&mut self, script: &Script, changed: &[(usize, usize)], recorded: &mut u64) -> bool {
        changed.is_empty()
            || self.is_idle()
                && changed.iter().all(|&(run, index)| {
                    let (commands, command) = (&mut self.commands[run], &script.runs[run].commands[index]);
                    let again = commands.reset(index).and_then(|()| command.record(commands, index, &self.values));
                    *recorded += u64::from(again.is_ok());
                    again.is_ok()
                })
    }
}

impl Replays {
    pub(super) fn set(&mut self, replay: Replay) {
        self.replay = replay;
        self.refused = false;
        if replay == Replay::Encoded {
            self.forget();
        }
    }

    fn forget(&mut self) {
        self.script = None;
        self.recordings.clear();
    }

    /// The recording that has the values of now, if there is one or can be without waiting.
    fn ready(&mut self, graph: &Graph) -> Option<usize> {
        if self.replay == Replay::Encoded || self.refused || self.submissions < 2 {
            return None;
        }
        let script = self.script.get_or_insert_with(|| Script::of(graph, 0));
        if script.runs.is_empty() {
            return None;
        }
        self.recordings.iter_mut().for_each(Recording::let_go);
        // Any number of submissions may execute it at once.
        if let Some(at) = self.recordings.iter().position(|recording| recording.version == script.version) {
            return Some(at);
        }
        if let Some(at) = self.recordings.iter_mut().position(|recording| recording.take_values(script)) {
            return Some(at);
        }
        if self.recordings.len() == RECORDINGS {
            return None;
        }
        match Recording::new(&graph.recorded.accelerator, script, &mut self.stats.recorded) {
            Ok(recording) => self.recordings.push(recording),
            Err(error) => {
                self.refused = true;
                self.forget();
                say(GRAPH, Level::Debug, format_args!("launches are encoded again each time: {error}"));
                return None;
            }
        }
        Some(self.recordings.len() - 1)
    }

    /// Hands a wave to the device.
    pub(super) fn submit(&mut self, graph: &Graph, wave: usize) -> Result<Submission> {
        self.submissions = self.submissions.saturating_add(u64::from(wave == 0));
        let behind = graph.plan.behind.contains(&wave);
        let ready = self.ready(graph);
        let references = if ready.is_some() { References::Retained } else { References::Held };
        let ordered = behind || graph.plan.asked.contains(&true);
        let mut batch = Batch::of_graph(&graph.recorded.accelerator, ordered, references)?;
        if behind {
            batch.barrier()?;
        }
        let (mut encoded, mut indirect) = (0, 0);
        let mut encode = |batch: &mut Batch, node: usize| {
            encoded += u64::from(matches!(graph.recorded.nodes[node].work, TaskWork::Launch { .. }));
            graph.encode_in_order(batch, node)
        };
        let mut recording = ready.map(|at| &mut self.recordings[at]);
        match (&mut recording, &self.script) {
            (Some(recording), Some(script)) => {
                for (at, step) in script.waves[wave].iter().enumerate() {
                    let number = match *step {
                        Step::Run(number) => number,
                        Step::Node(node) => {
                            encode(&mut batch, node)?;
                            continue;
                        }
                    };
                    let run = &script.runs[number];
                    // Nothing of the wave is before its first.
                    if run.asked && at > 0 {
                        batch.barrier()?;
                    }
                    let commands = &mut recording.commands[number];
                    match batch.execute(commands, &run.executed, recording.values.allocation()) {
                        Ok(ended) => {
                            indirect += ended as u64;
                            run.nodes[ended..].iter().try_for_each(|&node| encode(&mut batch, node))?;
                        }
                        // Nothing of it is in the batch.
                        Err(_) => run.nodes.iter().try_for_each(|&node| encode(&mut batch, node))?,
                    }
                }
            }
            _ => {
                let device = |node: &&usize| graph.plan.waves[**node] == wave && !graph.is_host(**node);
                graph.plan.order.iter().filter(device).try_for_each(|&node| encode(&mut batch, node))?;
            }
        }
        let submission = batch.submit()?;
        if let Some(recording) = recording {
            recording.flights.push(Arc::clone(submission.flight()));
        }
        self.stats.encoded += encoded;
        self.stats.indirect += indirect;
        Ok(submission)
    }

    /// The order, the memory, or anything else of the graph may have changed.
    pub(super) fn rewrite(&mut self, graph: &Graph) {
        let Some(old) = self.script.take() else { return };
        let new = Script::of(graph, old.version + 1);
        let (changed, recorded) = (new.changed(&old), &mut self.stats.recorded);
        self.recordings
            .retain_mut(|recording| changed.as_ref().is_some_and(|changed| recording.follow(&new, changed, recorded)));
        self.script = Some(new);
    }

    /// A value or the grid of a node may have changed, and nothing else.
    pub(super) fn rewrite_node(&mut self, graph: &Graph, node: usize) {
        let Some(script) = &mut self.script else { return };
        let (place, launch) = match (script.places[node], Launch::of(graph, node)) {
            (None, None) => return,
            (Some(place), Some(launch)) => (place, launch),
            _ => return self.rewrite(graph),
        };
        let (run, index) = place;
        let old = &script.runs[run].commands[index];
        let values = &launch.bound.values;
        let new = values.iter().map(|(slot, bytes)| (*slot, bytes.len()));
        if !new.eq(old.values.iter().map(|(slot, range)| (*slot, range.len()))) {
            return self.rewrite(graph);
        }
        let ranges: Vec<Range<usize>> = old.values.iter().map(|(_, range)| range.clone()).collect();
        let new = launch.command(ranges.clone(), old.barrier);
        if !new.is(old) {
            return self.rewrite(graph);
        }
        for ((_, bytes), range) in values.iter().zip(ranges) {
            if script.values[range.clone()] != bytes[..] {
                script.values[range].copy_from_slice(bytes);
                script.version += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Commands that have ended, and how often each kernel was launched by these.
    #[test]
    fn an_execution_that_ends_early_counts_what_it_did() {
        let gpu = crate::Accelerator::system_default().expect("a Metal device");
        let library =
            gpu.compile_msl("kernel void a(device uint* y) {} kernel void b(device uint* y) {}").expect("MSL");
        let launched = |name: &str, launches| Launched { kernel: library.kernel(name).expect("a kernel"), launches };
        let kernels = vec![launched("a", 3), launched("b", 1)];
        let (parts, uses, touches) = (Vec::new(), Vec::new(), Vec::new());
        let executed = Executed { parts, uses, touches, kernels, kernel_of: vec![0, 1, 0, 0] };
        for (ended, wanted) in
            [(0, vec![]), (1, vec![("a", 1)]), (2, vec![("a", 1), ("b", 1)]), (4, vec![("a", 3), ("b", 1)])]
        {
            let launches: Vec<(&str, u64)> = executed.launches(ended).map(|(kernel, n)| (kernel.name(), n)).collect();
            assert_eq!(launches, wanted, "{ended}");
        }
    }
}
