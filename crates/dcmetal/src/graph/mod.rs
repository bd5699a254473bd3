//! [`Graph`]: work that is recorded once, ordered by what it reads and writes, and run again and again.
//!
//! What the nodes do together is what they would do one after the other, as they were recorded; what does not depend on each other may
//! run at once (`plan`). Launches, copies and fills go to the device in as few submissions as the host's steps allow.

mod draw;
mod host;
mod layout;
mod plan;
mod replay;
mod steps;
#[cfg(test)]
mod steps_tests;

use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;
use std::mem;
use std::ops::RangeBounds;
use std::sync::atomic::{AtomicU64, Ordering};

use bytemuck::Pod;

use crate::error::Place;
use crate::kernel::{Element, Kept, KeptMemory, TransientUse};
use crate::memory::{AllocationRef, BLIT_UNIT, allocation_bytes, bounds};
use crate::raw::host::lock;
use crate::sync::{Mutex, processors};
use crate::{Accelerator, Access, Arg, Batch, Buffer, Error, Grid, Kernel, Result, StorageMode, Submission};
pub use host::HostMemory;
use host::HostStep;
use plan::{Fault, Item, Kind, Plan, Work, plan};
pub(crate) use replay::Executed;
use replay::Replays;
pub use replay::{Replay, ReplayStats};

/// Records the nodes of a [`Graph`].
///
/// A node waits for those recorded before it that write what it reads, and for those that read what it writes. Of two nodes that write the same bytes
/// the second may go on with what the first made: it reads and writes them ([`Transient::update`], `&mut buffer` for a launch or a step of the
/// host's, a texture), and waits. If it writes them whatever was there ([`Transient::write`], [`Arg::overwrite`], `&mut buffer` for a copy or fill), wholly or in part,
/// [`build`](GraphBuilder::build) refuses the two with [`Error::GraphOverwritten`]: which of them is to be seen nothing would say but the order of the calls. Two
/// things do say it: a node between them that reads what the first wrote before the second overwrites it, directly or by way of others, and
/// [`order`](GraphBuilder::order).
///
/// ```
/// # fn main() -> dcmetal::Result<()> {
/// # use dcmetal::*;
/// let gpu = Accelerator::system_default()?;
/// let library = gpu.compile_msl("
///     kernel void scale(device const float* x [[buffer(0)]], device float* y [[buffer(1)]], constant float& by [[buffer(2)]],
///                       uint i [[thread_position_in_grid]]) { y[i] = by * x[i]; }
///     kernel void add(device const float* x [[buffer(0)]], device const float* y [[buffer(1)]], device float* z [[buffer(2)]],
///                     uint i [[thread_position_in_grid]]) { z[i] = x[i] + y[i]; }")?;
/// let (scale, add) = (library.kernel("scale")?, library.kernel("add")?);
/// let mut x = gpu.buffer_from(&[1.0f32, 2.0, 3.0])?;
/// let mut z = gpu.buffer_zeroed::<f32>(3)?;
///
/// let mut graph = gpu.graph();
/// let (a, b) = (graph.transient::<f32>("a", 3)?, graph.transient::<f32>("b", 3)?);
/// let grid = Grid::linear(3);
/// let by_two = graph.launch(&scale, grid, args![&x, a.write(), 2.0f32])?;
/// graph.launch(&scale, grid, args![&x, b.write(), 10.0f32])?;  // may run beside the first
/// graph.launch(&add, grid, args![a.read(), b.read(), &mut z])?;
/// let mut graph = graph.build()?;
///
/// graph.submit()?.wait()?;
/// assert_eq!(z.to_vec()?, [12.0, 24.0, 36.0]);
/// x.write_from(&[1.0, 1.0, 1.0])?;
/// graph.set(by_two, 2, 5.0f32)?;
/// graph.submit()?.wait()?;
/// assert_eq!(z.to_vec()?, [15.0, 15.0, 15.0]);
/// # Ok(()) }
/// ```
pub struct GraphBuilder {
    recorded: Recorded,
}

/// What was recorded.
struct Recorded {
    accelerator: Accelerator,
    /// Tells graphs' handles apart.
    id: u64,
    nodes: Vec<Task>,
    explicit: Vec<(usize, usize)>,
    transients: Vec<TransientMemory>,
}

struct Task {
    name: String,
    work: TaskWork,
    args: Vec<Kept>,
}

enum TaskWork {
    Launch { kernel: Kernel, grid: Grid },
    Copy,
    Fill(u8),
    Host(Mutex<HostStep>),
}

struct TransientMemory {
    name: String,
    /// A whole number of blit units.
    bytes: usize,
    /// Of its elements; what is behind them nobody sees.
    used: usize,
}

/// A node of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    graph: u64,
    index: usize,
}

/// Elements in memory of a graph's own, which lives from the first node that uses it to the last; other such memory may
/// lie in the same place before and after.
#[derive(Debug)]
pub struct Transient<T: Pod> {
    graph: u64,
    number: usize,
    /// In bytes.
    offset: usize,
    len: usize,
    elements: PhantomData<T>,
}

impl<T: Pod> Clone for Transient<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: Pod> Copy for Transient<T> {}

#[expect(clippy::len_without_is_empty, reason = "Metal has no empty buffers")]
impl<T: Pod> Transient<T> {
    /// Elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// A range of it.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`].
    pub fn view(&self, range: impl RangeBounds<usize>) -> Result<Transient<T>> {
        let (start, end) = bounds(range, self.len)?;
        Ok(Transient { offset: self.offset + start * size_of::<T>(), len: end - start, ..*self })
    }

    /// As an argument that is read.
    pub fn read(&self) -> Arg<'static> {
        self.used(true, false)
    }

    /// As an argument that is written, whatever was there before: every element that a later node reads. What another node wrote there
    /// must have been read, or the two be ordered ([`GraphBuilder`]).
    pub fn write(&self) -> Arg<'static> {
        self.used(false, true)
    }

    /// As an argument that is read and written, or of which some elements are written and others kept.
    pub fn update(&self) -> Arg<'static> {
        self.used(true, true)
    }

    fn used(&self, reads: bool, writes: bool) -> Arg<'static> {
        let &Transient { graph, number, offset, len, .. } = self;
        let element = Element::of::<T>();
        Arg::transient(TransientUse { graph, number, offset, bytes: len * element.size, element, reads, writes })
    }
}

impl GraphBuilder {
    pub(crate) fn new(accelerator: &Accelerator) -> GraphBuilder {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        GraphBuilder {
            recorded: Recorded {
                accelerator: accelerator.clone(),
                id: NEXT.fetch_add(1, Ordering::Relaxed),
                nodes: Vec::new(),
                explicit: Vec::new(),
                transients: Vec::new(),
            },
        }
    }

    /// Memory of the graph's own for `len` elements. Nodes must write it before they read it.
    ///
    /// # Errors
    /// [`Error::EmptyBuffer`], [`Error::BufferTooLarge`].
    pub fn transient<T: Pod>(&mut self, name: &str, len: usize) -> Result<Transient<T>> {
        let bytes = allocation_bytes::<T>(&self.recorded.accelerator, len)?;
        self.recorded.transients.push(TransientMemory { name: name.to_owned(), bytes, used: len * size_of::<T>() });
        let number = self.recorded.transients.len() - 1;
        Ok(Transient { graph: self.recorded.id, number, offset: 0, len, elements: PhantomData })
    }

    /// Records a launch. Buffers that are passed as `&buffer` are read, those passed as `&mut buffer` read and written, and those passed by
    /// [`Arg::overwrite`] written whatever was there; the graph keeps them. What the arguments must be is checked by [`GraphBuilder::build`].
    ///
    /// # Errors
    /// [`Error::Foreign`] for what is of another accelerator, [`Error::GraphForeign`] for memory of another graph.
    pub fn launch<'a>(&mut self, kernel: &Kernel, grid: Grid, args: impl AsRef<[Arg<'a>]>) -> Result<Node> {
        if !kernel.accelerator().is(&self.recorded.accelerator) {
            return Err(Error::Foreign { what: format!("kernel `{}`", kernel.name()) });
        }
        let work = TaskWork::Launch { kernel: kernel.clone(), grid };
        self.add(kernel.name(), work, args.as_ref())
    }

    /// Records a copy of as many elements.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`], [`Error::ArgumentKind`] and [`Error::ArgumentReadOnly`] for what is no memory that can be copied so,
    /// [`Error::Foreign`].
    pub fn copy<'a, 'b>(&mut self, from: impl Into<Arg<'a>>, to: impl Into<Arg<'b>>) -> Result<Node> {
        self.add("copy", TaskWork::Copy, &[from.into(), to.into()])
    }

    /// Records that every byte becomes `value`.
    ///
    /// # Errors
    /// As [`GraphBuilder::copy`].
    pub fn fill<'a>(&mut self, to: impl Into<Arg<'a>>, value: u8) -> Result<Node> {
        self.add("fill", TaskWork::Fill(value), &[to.into()])
    }

    /// Records a step of the host's, which sees the memory among its arguments ([`HostMemory`]) once the nodes before it have run; the device goes on with
    /// what does not depend on it, and so do other steps ([`Graph::run`]): what it uses besides, it shares with them.
    ///
    /// ```
    /// # fn main() -> dcmetal::Result<()> {
    /// # use dcmetal::*;
    /// let gpu = Accelerator::system_default()?;
    /// let source = "kernel void next(device uint* x [[buffer(0)]]) { x[0] += 1; }";
    /// let next = gpu.compile_msl(source)?.kernel("next")?;
    /// let mut x = gpu.buffer_from(&[20u32])?;
    /// let mut graph = gpu.graph();
    /// graph.launch(&next, Grid::linear(1), args![&mut x])?;
    /// graph.host("double", args![&mut x], |memory| {
    ///     memory.write::<u32>(0)?[0] *= 2;
    ///     Ok(())
    /// })?;
    /// graph.build()?.run()?;
    /// assert_eq!(x.to_vec()?, [42]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Foreign`], [`Error::GraphForeign`] as for [`GraphBuilder::launch`].
    pub fn host<'a>(
        &mut self,
        name: &str,
        args: impl AsRef<[Arg<'a>]>,
        step: impl FnMut(&HostMemory<'_>) -> std::result::Result<(), Box<dyn std::error::Error + Send + Sync>>
        + Send
        + 'static,
    ) -> Result<Node> {
        self.add(name, TaskWork::Host(Mutex::new(Box::new(step))), args.as_ref())
    }

    /// Has `then` run after `first`, for a reason that is not in what they read and write. In the device's part it keeps everything else
    /// before `then` apart from it too, and costs more where not only launches are before it.
    ///
    /// # Errors
    /// [`Error::GraphForeign`] for a node of another graph.
    pub fn order(&mut self, first: Node, then: Node) -> Result<()> {
        let edge = (self.recorded.own(first)?, self.recorded.own(then)?);
        self.recorded.explicit.push(edge);
        Ok(())
    }

    /// Finds the order of the nodes, makes the graph's own memory, and checks every node.
    ///
    /// # Errors
    /// [`Error::GraphCycle`], [`Error::GraphOverwritten`], [`Error::GraphUnwritten`] and [`Error::GraphAliased`] for nodes that have no order; what
    /// [`Batch::launch`], [`Batch::copy`] and [`Batch::fill`] refuse; [`Error::OutOfMemory`].
    pub fn build(self) -> Result<Graph> {
        Graph::new(self.recorded)
    }

    fn add(&mut self, name: &str, work: TaskWork, args: &[Arg<'_>]) -> Result<Node> {
        let args: Vec<Kept> = args.iter().map(Kept::new).collect();
        args.iter().try_for_each(|arg| self.recorded.own_memory(arg))?;
        work.check(&args)?;
        self.recorded.nodes.push(Task { name: name.to_owned(), work, args });
        Ok(Node { graph: self.recorded.id, index: self.recorded.nodes.len() - 1 })
    }
}

impl TaskWork {
    /// What of the arguments does not depend on where the graph's memory lies.
    fn check(&self, args: &[Kept]) -> Result<()> {
        match self {
            TaskWork::Launch { .. } | TaskWork::Host(_) => {}
            TaskWork::Copy => {
                let (from, _) = blit_bytes("copy", &args[0], 0)?;
                let (to, writable) = blit_bytes("copy", &args[1], 1)?;
                if from != to {
                    return Err(Error::LengthMismatch { what: "a copy, in bytes", wanted: to, got: from });
                }
                writable.then_some(()).ok_or_else(|| read_only("copy", 1))?;
            }
            TaskWork::Fill(_) => {
                let (_, writable) = blit_bytes("fill", &args[0], 0)?;
                writable.then_some(()).ok_or_else(|| read_only("fill", 0))?;
            }
        }
        Ok(())
    }
}

/// The bytes of an argument that blit commands can take, and whether it may be written.
fn blit_bytes(what: &str, arg: &Kept, position: usize) -> Result<(usize, bool)> {
    match arg.memory() {
        Some(KeptMemory::Allocation { part: Some(part), .. }) => Ok((part.bytes, part.writable)),
        Some(KeptMemory::Transient(piece)) => Ok((piece.bytes, piece.writes)),
        Some(KeptMemory::Allocation { part: None, .. }) | None => {
            let place = Box::new(place(what, position));
            let got = arg.arg(|_| unreachable!("it is no memory of the graph's")).noun();
            Err(Error::ArgumentKind { place, wanted: crate::ArgumentKind::Buffer, got })
        }
    }
}

fn place(node: &str, position: usize) -> Place {
    let argument = if (node, position) == ("copy", 0) { "from" } else { "to" };
    Place { kernel: node.to_owned(), argument: argument.to_owned(), position }
}

fn read_only(node: &str, position: usize) -> Error {
    let place = Box::new(place(node, position));
    Error::ArgumentReadOnly { place, access: Access::WriteOnly, got: "memory for reading" }
}

impl Recorded {
    fn own(&self, node: Node) -> Result<usize> {
        if node.graph == self.id {
            return Ok(node.index);
        }
        Err(Error::GraphForeign { what: format!("node {}", node.index) })
    }

    fn own_memory(&self, arg: &Kept) -> Result<()> {
        match arg.memory() {
            Some(KeptMemory::Transient(piece)) if piece.graph != self.id => {
                Err(Error::GraphForeign { what: "transient memory".to_owned() })
            }
            Some(KeptMemory::Allocation { allocation, .. }) if !allocation.accelerator().is(&self.accelerator) => {
                Err(Error::Foreign { what: "memory of a node".to_owned() })
            }
            _ => Ok(()),
        }
    }

    /// A node's name for people; names need not differ.
    fn title(&self, node: usize) -> String {
        format!("{} ({node})", self.nodes[node].name)
    }
}

/// Every memory that a graph uses: first its own, by number, then the user's.
struct Memories {
    kinds: Vec<Kind>,
    names: Vec<String>,
    /// Where the user's allocations are in the lists, by address.
    index: HashMap<usize, usize>,
}

impl Memories {
    fn of(recorded: &Recorded) -> Memories {
        let mut kinds: Vec<Kind> = recorded.transients.iter().map(|memory| Kind::Placed(memory.bytes)).collect();
        for node in recorded.nodes.iter().filter(|node| matches!(node.work, TaskWork::Host(_))) {
            for arg in &node.args {
                if let Some(KeptMemory::Transient(piece)) = arg.memory() {
                    // The host would wait for whatever else lies beside it.
                    kinds[piece.number] = Kind::Own;
                }
            }
        }
        let name = |(number, memory): (usize, &TransientMemory)| match memory.name.as_str() {
            "" => format!("memory {number}"),
            name => name.to_owned(),
        };
        let names = recorded.transients.iter().enumerate().map(name).collect();
        Memories { kinds, names, index: HashMap::new() }
    }

    fn lasting(&mut self, allocation: &AllocationRef) -> usize {
        *self.index.entry(allocation.address()).or_insert_with(|| {
            let memory = allocation.memory();
            let label = if memory.is_texture() { String::new() } else { memory.buffer().label() };
            let what = if memory.is_texture() { "texture" } else { "buffer" };
            let number = self.kinds.len();
            self.names.push(if label.is_empty() { format!("{what} {number}") } else { label });
            self.kinds.push(Kind::Lasting);
            number
        })
    }

    /// What a node reads and writes.
    fn accesses(&mut self, task: &Task) -> Vec<plan::Access> {
        let access = |(position, arg): (usize, &Kept)| {
            let (memory, range, declared) = match arg.memory()? {
                KeptMemory::Allocation { allocation, part, writable } => {
                    let range = part.map_or(0..1, |part| part.offset..part.offset + part.bytes);
                    let overwritten = part.is_some_and(|part| part.overwritten);
                    (self.lasting(allocation), range, (!overwritten, writable))
                }
                KeptMemory::Transient(piece) => {
                    (piece.number, piece.offset..piece.offset + piece.bytes, (piece.reads, piece.writes))
                }
            };
            // Who passes memory of the graph's to a copy or fill as what it updates says that something else writes it first.
            let updates = matches!(arg.memory(), Some(KeptMemory::Transient(_))) && declared == (true, true);
            let (reads, writes) = match &task.work {
                TaskWork::Launch { .. } | TaskWork::Host(_) => declared,
                TaskWork::Copy => (position == 0 || updates, position == 1),
                TaskWork::Fill(_) => (updates, true),
            };
            Some(plan::Access { memory, range, reads, writes })
        };
        task.args.iter().enumerate().filter_map(access).collect()
    }
}

/// Nodes with their order, to be run any number of times.
///
/// A graph keeps its kernels, buffers and textures. The host may use them between the runs, as between submissions.
pub struct Graph {
    recorded: Recorded,
    plan: Plan,
    memories: Memories,
    /// Where the transient memories lie that share one.
    arena: Option<Buffer<u8>>,
    /// By number: those that lie by themselves.
    own: Vec<Option<Buffer<u8>>>,
    replays: Replays,
}

impl Graph {
    fn new(recorded: Recorded) -> Result<Graph> {
        let (plan, memories) = planned(&recorded)?;
        let own = vec![(); recorded.transients.len()].into_iter().map(|()| None).collect();
        let mut graph = Graph { recorded, plan, memories, arena: None, own, replays: Replays::default() };
        graph.allocate()?;
        graph.check()?;
        Ok(graph)
    }

    /// Makes the memory that the plan asks for, where there is not enough.
    fn allocate(&mut self) -> Result<()> {
        let accelerator = &self.recorded.accelerator;
        if self.arena.as_ref().map_or(0, Buffer::len) < self.plan.bytes {
            self.arena = Some(accelerator.buffer_with(self.plan.bytes, StorageMode::Private)?);
        }
        for (number, own) in self.own.iter_mut().enumerate() {
            if self.memories.kinds[number] == Kind::Own && own.is_none() {
                *own = Some(accelerator.buffer_zeroed(self.recorded.transients[number].bytes)?);
            }
        }
        Ok(())
    }

    /// Checks every node of the device's, by recording them all for nothing.
    fn check(&self) -> Result<()> {
        let mut batch = self.recorded.accelerator.batch()?;
        self.plan.order.iter().filter(|&&node| !self.is_host(node)).try_for_each(|&node| self.encode(&mut batch, node))
    }

    fn is_host(&self, node: usize) -> bool {
        matches!(self.recorded.nodes[node].work, TaskWork::Host(_))
    }

    /// Where a piece of transient memory is.
    fn place(&self, piece: &TransientUse) -> (&AllocationRef, usize) {
        match &self.own[piece.number] {
            Some(own) => (own.allocation(), 0),
            None => {
                let arena = self.arena.as_ref().expect("a plan with placed memory has bytes for it");
                (arena.allocation(), self.plan.offsets[piece.number])
            }
        }
    }

    fn encode(&self, batch: &mut Batch, node: usize) -> Result<()> {
        let task = &self.recorded.nodes[node];
        match &task.work {
            TaskWork::Launch { kernel, grid } => {
                let args: Vec<Arg<'_>> = task.args.iter().map(|arg| arg.arg(|piece| self.place(piece))).collect();
                batch.launch(kernel, *grid, args)
            }
            TaskWork::Copy => {
                let [(from, _), (to, bytes)] = [0, 1].map(|at| self.blit_range(&task.args[at]));
                batch.copy_range(from, to, bytes)
            }
            TaskWork::Fill(value) => {
                let (to, bytes) = self.blit_range(&task.args[0]);
                batch.fill_range(to, bytes, *value)
            }
            TaskWork::Host(_) => unreachable!("the host's steps are not the device's"),
        }
    }

    /// The memory of a copy or fill, where it begins, and its bytes.
    fn blit_range<'a>(&'a self, arg: &'a Kept) -> ((&'a AllocationRef, usize), usize) {
        match arg.memory() {
            Some(KeptMemory::Allocation { allocation, part: Some(part), .. }) => {
                ((allocation, part.offset), part.bytes)
            }
            Some(KeptMemory::Transient(piece)) => {
                let (allocation, start) = self.place(&piece);
                // Nobody sees what is behind the last element.
                let at_end = piece.offset + piece.bytes == self.recorded.transients[piece.number].used;
                let bytes = if at_end { piece.bytes.next_multiple_of(BLIT_UNIT) } else { piece.bytes };
                ((allocation, start + piece.offset), bytes)
            }
            Some(KeptMemory::Allocation { part: None, .. }) | None => unreachable!("copies and fills take buffers"),
        }
    }

    /// Hands all of it to the device, as one submission. Runs of one graph follow each other.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a graph with steps of the host's, which [`Graph::run`] runs; else as [`Batch::submit`].
    pub fn submit(&mut self) -> Result<Submission> {
        if let Some(step) = self.recorded.nodes.iter().find(|node| matches!(node.work, TaskWork::Host(_))) {
            return Err(Error::Unsupported {
                what: format!("to submit a graph with a step of the host's (`{}`)", step.name),
                text: "somebody must run it: call `run`".to_owned(),
            });
        }
        self.submit_wave(0)
    }

    fn submit_wave(&mut self, wave: usize) -> Result<Submission> {
        // What a failed run left in the graph's own memory nobody reads. What this run left, though, its later waves would.
        for buffer in self.arena.iter_mut().chain(self.own.iter_mut().flatten()).filter(|_| wave == 0) {
            if buffer.allocation().tracked().has_fault() {
                buffer.discard_fault();
            }
        }
        let mut replays = mem::take(&mut self.replays);
        let outcome = replays.submit(self, wave);
        self.replays = replays;
        outcome
    }

    fn encode_in_order(&self, batch: &mut Batch, node: usize) -> Result<()> {
        // What the user ordered the batch cannot know.
        if self.plan.asked[node] {
            batch.barrier()?;
        }
        self.encode(batch, node)
    }

    /// Chooses how the launches come to the device from now on.
    pub fn set_replay(&mut self, replay: Replay) {
        self.replays.set(replay);
    }

    /// How they came to it so far.
    ///
    /// ```
    /// # fn main() -> dcmetal::Result<()> {
    /// # use dcmetal::*;
    /// let gpu = Accelerator::system_default()?;
    /// let source = "kernel void add(device uint* y [[buffer(0)]], constant uint& k [[buffer(1)]]) { y[0] += k; }";
    /// let add = gpu.compile_msl(source)?.kernel("add")?;
    /// let mut y = gpu.buffer_zeroed::<u32>(1)?;
    /// let mut graph = gpu.graph();
    /// let node = graph.launch(&add, Grid::linear(1), args![&mut y, 1u32])?;
    /// let mut graph = graph.build()?;
    /// for k in [1u32, 10, 100] {
    ///     graph.set(node, 1, k)?;
    ///     graph.submit()?.wait()?;
    /// }
    /// assert_eq!(y.to_vec()?, [111]);
    /// // Recorded at the second time; another value needs no recording.
    /// assert_eq!(graph.replay_stats(), ReplayStats { encoded: 1, indirect: 2, recorded: 1 });
    /// # Ok(()) }
    /// ```
    pub fn replay_stats(&self) -> ReplayStats {
        self.replays.stats
    }

    /// Runs all of it, the host's steps too, and waits for its end. Gives its submissions, for the times of each and what was printed.
    ///
    /// A step runs on this thread, or on one that lives as long as the run where another step is running that neither waits for: as many at
    /// once as the machine has processors, and two at least.
    ///
    /// # Errors
    /// [`Error::HostStep`] with what a step ended with, or that error itself when it is this crate's; else as [`Graph::submit`] and
    /// [`Submission::wait`]. Nothing of the graph is running any more then. Of several steps that fail it is the one that fails first when they run
    /// one after the other; steps behind it that do not depend on it may have run.
    pub fn run(&mut self) -> Result<Vec<Submission>> {
        let mut submissions = Vec::new();
        let outcome = self.run_waves(&mut submissions);
        // All of them, also when one failed.
        let waited = submissions.iter().map(Submission::wait).fold(Ok(()), Result::and);
        outcome.and(waited).map(|()| submissions)
    }

    fn run_waves(&mut self, submissions: &mut Vec<Submission>) -> Result<()> {
        let waves = self.plan.waves.iter().max().map_or(0, |last| last + 1);
        for wave in 0..waves {
            submissions.push(self.submit_wave(wave)?);
            self.run_hosts(wave, submissions)?;
        }
        Ok(())
    }

    /// Runs the host's nodes of a wave.
    fn run_hosts(&self, wave: usize, submissions: &[Submission]) -> Result<()> {
        let of_wave = |node: &usize| self.is_host(*node) && self.plan.waves[*node] == wave;
        let nodes: Vec<usize> = self.plan.order.iter().copied().filter(of_wave).collect();
        let before = |&node: &usize| -> Vec<usize> {
            let edges = self.plan.edges.iter().filter(|edge| edge.to == node);
            edges.filter_map(|edge| nodes.iter().position(|&earlier| earlier == edge.from)).collect()
        };
        let before: Vec<Vec<usize>> = nodes.iter().map(before).collect();
        steps::run(&before, step_threads(), |at| self.run_host(nodes[at], submissions))
    }

    /// Runs a node of the host's, once the device has run those that it waits for.
    fn run_host(&self, node: usize, submissions: &[Submission]) -> Result<()> {
        let task = &self.recorded.nodes[node];
        let TaskWork::Host(step) = &task.work else { unreachable!("only the host's nodes run here") };
        for edge in self.plan.edges.iter().filter(|edge| edge.to == node && !self.is_host(edge.from)) {
            submissions[self.plan.waves[edge.from]].wait()?;
        }
        let memory = task.args.iter().map(|arg| match arg.memory()? {
            KeptMemory::Allocation { allocation, part, .. } => part.map(|part| (allocation, part)),
            KeptMemory::Transient(piece) => {
                let (allocation, start) = self.place(&piece);
                Some((allocation, piece.part_at(start)))
            }
        });
        let memory = HostMemory::new(&task.name, memory.collect());
        lock(step)(&memory).map_err(|error| match error.downcast::<Error>() {
            Ok(error) => *error,
            Err(error) => Error::HostStep { step: task.name.clone(), text: error.to_string() },
        })
    }

    /// Passes another argument to a node from now on. Another value costs next to nothing; with other memory the order of the nodes is found anew.
    ///
    /// # Errors
    /// [`Error::GraphForeign`]; [`Error::OutOfBounds`] for a position that the node does not have; else as the node's recording and
    /// [`GraphBuilder::build`]: a copy keeps its length. The graph is as before then.
    pub fn set<'a>(&mut self, node: Node, position: usize, arg: impl Into<Arg<'a>>) -> Result<()> {
        let index = self.recorded.own(node)?;
        let new = Kept::new(&arg.into());
        self.recorded.own_memory(&new)?;
        let len = self.recorded.nodes[index].args.len();
        if position >= len {
            return Err(Error::OutOfBounds { start: position, end: position.saturating_add(1), len });
        }
        let moves = new.memory().is_some() || self.recorded.nodes[index].args[position].memory().is_some();
        let old = std::mem::replace(&mut self.recorded.nodes[index].args[position], new);
        let task = &self.recorded.nodes[index];
        if let Err(error) = task.work.check(&task.args) {
            self.recorded.nodes[index].args[position] = old;
            return Err(error);
        }
        let outcome = if moves { self.plan_again() } else { self.check_node(index) };
        if outcome.is_err() {
            self.recorded.nodes[index].args[position] = old;
        }
        self.rewrite(index, moves);
        outcome
    }

    /// Has what was recorded for replays follow a change, or one that was refused: that may have moved the graph's own memory.
    fn rewrite(&mut self, node: usize, all: bool) {
        let mut replays = mem::take(&mut self.replays);
        if all {
            replays.rewrite(self)
        } else {
            replays.rewrite_node(self, node)
        }
        self.replays = replays;
    }

    /// Launches a node over another grid from now on.
    ///
    /// # Errors
    /// [`Error::GraphForeign`]; [`Error::Unsupported`] for a node that is no launch; else as [`Batch::launch`]. The graph is as before then.
    pub fn set_grid(&mut self, node: Node, grid: Grid) -> Result<()> {
        let index = self.recorded.own(node)?;
        let title = self.recorded.title(index);
        let TaskWork::Launch { grid: held, .. } = &mut self.recorded.nodes[index].work else {
            let text = "only launches have one".to_owned();
            return Err(Error::Unsupported { what: format!("another grid for `{title}`"), text });
        };
        let old = std::mem::replace(held, grid);
        let outcome = self.check_node(index);
        if outcome.is_err() {
            let TaskWork::Launch { grid, .. } = &mut self.recorded.nodes[index].work else { return outcome };
            *grid = old;
        }
        self.rewrite(index, false);
        outcome
    }

    fn check_node(&self, node: usize) -> Result<()> {
        if self.is_host(node) {
            return Ok(());
        }
        self.encode(&mut self.recorded.accelerator.batch()?, node)
    }

    fn plan_again(&mut self) -> Result<()> {
        let (plan, memories) = planned(&self.recorded)?;
        let before = (std::mem::replace(&mut self.plan, plan), std::mem::replace(&mut self.memories, memories));
        let outcome = self.allocate().and_then(|()| self.check());
        if outcome.is_err() {
            (self.plan, self.memories) = before;
        }
        outcome
    }

    /// Bytes of the graph's own memory.
    pub fn transient_bytes(&self) -> usize {
        self.arena.iter().chain(self.own.iter().flatten()).map(Buffer::len).sum()
    }

    /// How many submissions a run is: one more than there are steps of the host's behind each other, if the device follows the last.
    pub fn submissions(&self) -> usize {
        self.plan.waves.iter().max().map_or(0, |last| last + 1)
    }
}

/// How many steps of the host's run at once.
fn step_threads() -> usize {
    processors().max(2)
}

/// The order of what was recorded, and what it uses.
fn planned(recorded: &Recorded) -> Result<(Plan, Memories)> {
    let mut memories = Memories::of(recorded);
    let accesses: Vec<Vec<plan::Access>> = recorded.nodes.iter().map(|task| memories.accesses(task)).collect();
    let nodes = recorded.nodes.iter().zip(&accesses);
    let nodes = nodes.map(|(task, accesses)| Item { accesses, host: matches!(task.work, TaskWork::Host(_)) }).collect();
    let work = Work { nodes, explicit: &recorded.explicit, memory: memories.kinds.clone() };
    let plan = plan(&work).map_err(|fault| {
        let (node, memory) = (|node| recorded.title(node), |memory: usize| memories.names[memory].clone());
        match fault {
            Fault::Cycle(nodes) => Error::GraphCycle { nodes: nodes.into_iter().map(node).collect() },
            Fault::Overwritten { first, second, memory: at, bytes } => {
                Error::GraphOverwritten { first: node(first), second: node(second), memory: memory(at), bytes }
            }
            Fault::Unwritten { node: at, memory: of } => Error::GraphUnwritten { node: node(at), memory: memory(of) },
            Fault::Aliased { node: at, memory: of } => Error::GraphAliased { node: node(at), memory: memory(of) },
        }
    })?;
    Ok((plan, memories))
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes: Vec<&str> = self.plan.order.iter().map(|&node| self.recorded.nodes[node].name.as_str()).collect();
        f.debug_struct("Graph").field("nodes", &nodes).field("transient_bytes", &self.transient_bytes()).finish()
    }
}

impl fmt::Debug for GraphBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes: Vec<&str> = self.recorded.nodes.iter().map(|node| node.name.as_str()).collect();
        f.debug_struct("GraphBuilder").field("nodes", &nodes).finish()
    }
}
