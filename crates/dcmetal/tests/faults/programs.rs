//! Random programs under faults by chance, against a sequential model: a call that ended well has done what it says, one that ended badly nothing. So whatever
//! failed, and whenever: what can be read is what the model has.

use std::collections::VecDeque;

use dcmetal::{
    Accelerator, Batch, Buffer, BufferPool, Error, Event, Graph, Grid, Kernel, Node, PageVec, PixelFormat, PoolLimits,
    Result, StorageMode, Stream, StreamLimits, Submission, Texture, TextureDescriptor, args,
};
use hostmetal::{faults, ffi};

use crate::common::{Random, limits};
use crate::matrix::{count_in_document, every_place_is_free};
use crate::works::{LIMITS, PATIENCE, SITES};
use crate::{all_is_given_back, injected, is_sanitized, nothing_is_lent, set};

const SOURCE: &str = "
#include <metal_stdlib>
using namespace metal;
kernel void add(device const uint* x [[buffer(0)]], device uint* y [[buffer(1)]],
                uint i [[thread_position_in_grid]]) { y[i] += x[i]; }
kernel void scale(device uint* y [[buffer(0)]], constant uint& a [[buffer(1)]], constant uint& b [[buffer(2)]],
                  uint i [[thread_position_in_grid]]) { y[i] = y[i] * a + b; }
kernel void draw(device const uint* x [[buffer(0)]], texture2d<uint, access::write> t [[texture(0)]],
                 uint i [[thread_position_in_grid]]) { t.write(uint4(x[i]), uint2(i % 16u, i / 16u)); }
kernel void take(texture2d<uint, access::read> t [[texture(0)]], device uint* y [[buffer(0)]],
                 uint i [[thread_position_in_grid]]) { y[i] += t.read(uint2(i % 16u, i / 16u)).x; }
";

const RULES: &str = "allocation:p=0.01; command_buffer:p=0.02; encoder:p=0.03; pipeline:p=0.1; commit:refuse:p=0.02; commit:error=internal:p=0.02; \
                     commit:error=page_fault:after=1:p=0.03; commit:error=out_of_memory:after=end:p=0.02; commit:slow=200us:p=0.05; complete:slow=200us:p=0.05";
/// Of each program.
const STEPS: usize = 120;
const LEN: usize = 257;
const TEXELS: usize = 256;
const BUFFERS: usize = 6;
/// The first of them are the graph's too, and stay.
const OF_GRAPH: usize = 3;

/// What came of a program's reads and other calls.
#[derive(Default)]
struct Outcomes {
    read: u64,
    refused_reads: u64,
    done: u64,
    refused: u64,
}

struct Program<'a> {
    gpu: &'a Accelerator,
    pool: &'a BufferPool,
    add: Kernel,
    scale: Kernel,
    /// A texture, what it holds, and the kernels that write and read it.
    texture: (Texture, Vec<u32>, [Kernel; 2]),
    random: Random,
    buffers: Vec<Buffer<u32>>,
    model: Vec<Vec<u32>>,
    streams: [Stream; 2],
    graph: Graph,
    /// The graph's launch that scales, and by what.
    scaling: (Node, u32),
    /// Another queue, with a buffer and what it holds.
    other: (Accelerator, Kernel, Buffer<u32>, Vec<u32>),
    event: (Event, u64),
    kept: VecDeque<Submission>,
    outcomes: Outcomes,
    trace: Vec<String>,
}

/// Programs on both devices, some of which lose theirs, by a rule or while they are between two steps: 100, or as many as `DCMETAL_PROGRAMS` says.
pub(crate) fn programs() {
    let usual = if is_sanitized() { 12 } else { 100 };
    let seeds = std::env::var("DCMETAL_PROGRAMS").map_or(usual, |seeds| seeds.parse().expect("a number"));
    let (mut all_outcomes, mut struck) = (Outcomes::default(), 0);
    for seed in 0..seeds {
        faults::set("").expect("no rules are right");
        let all = Accelerator::all().expect("devices");
        let before: u64 = all.iter().map(Accelerator::allocated_bytes).sum();
        let gpu = &all[seed as usize % 2];
        let pool = gpu.pool(PoolLimits { heaps: seed % 4 < 2, ..limits() });
        let program = Program::new(gpu, &pool, Random(seed)).unwrap_or_else(|error| panic!("{error}"));
        let removal = if seed % 4 == 0 { format!("; commit:remove:at={}", 10 + seed % 50) } else { String::new() };
        set(&format!("seed={seed}; {RULES}{removal}"));
        let outcomes = program.run(seed, (seed % 4 == 1).then_some(seed as usize % 50));
        struck += SITES.map(injected).iter().sum::<u64>();
        faults::set("").expect("no rules are right");
        let removed = [0, 1].map(|number| ffi::hm_device_add(number)).contains(&true);
        if !removed {
            every_place_is_free(gpu);
        }
        nothing_is_lent(&pool);
        drop(pool);
        all_is_given_back(&all, before);
        all_outcomes.read += outcomes.read;
        all_outcomes.refused_reads += outcomes.refused_reads;
        all_outcomes.done += outcomes.done;
        all_outcomes.refused += outcomes.refused;
    }
    let Outcomes { read, refused_reads, done, refused } = all_outcomes;
    println!(
        "Programs: {seeds} by chance, {struck} faults: {done} calls ended well and {refused} badly; {read} reads gave right data and {refused_reads} an error.\n"
    );
    if seeds == 100 {
        count_in_document(&format!("# programs of {STEPS} steps"), seeds);
    }
    assert!(struck.min(read).min(done) > 5 * seeds && refused_reads.min(refused) > seeds);
}

fn grid() -> Grid {
    Grid::linear(LEN)
}

impl<'a> Program<'a> {
    fn new(gpu: &'a Accelerator, pool: &'a BufferPool, mut random: Random) -> Result<Program<'a>> {
        let library = gpu.compile_msl(SOURCE)?;
        let (add, scale) = (library.kernel("add")?, library.kernel("scale")?);
        let (mut buffers, mut model) = (Vec::new(), Vec::new());
        for _ in 0..BUFFERS {
            let (buffer, values) = made(gpu, pool, &mut random)?;
            buffers.push(buffer);
            model.push(values);
        }
        let values = random.words(TEXELS);
        let texels = gpu.texture_from(&TextureDescriptor::d2(PixelFormat::R32Uint, 16, 16), &values)?;
        let texture = (texels, values, [library.kernel("draw")?, library.kernel("take")?]);
        let mut graph = gpu.graph();
        let [x, y, z] = buffers.get_disjoint_mut([0, 1, 2]).expect("there are more");
        graph.launch(&add, grid(), args![&*x, &mut *y])?;
        let scaling = graph.launch(&scale, grid(), args![&mut *y, 3u32, 1u32])?;
        graph.copy(&*y, &mut *z)?;
        let graph = graph.build()?;
        let again = Accelerator::all()?.into_iter().find(|other| other.registry_id() == gpu.registry_id());
        let again = again.expect("it is there");
        let its = again.compile_msl(SOURCE)?.kernel("scale")?;
        let values = random.words(LEN);
        let its_buffer = again.buffer_from(&values)?;
        let streams = [LIMITS, StreamLimits { commands: 3, priority: 1, ..LIMITS }].map(|limits| gpu.stream(limits));
        let event = (gpu.event()?, 0);
        Ok(Program {
            gpu,
            pool,
            add,
            scale,
            texture,
            random,
            buffers,
            model,
            streams,
            graph,
            scaling: (scaling, 3),
            other: (again, its, its_buffer, values),
            event,
            kept: VecDeque::new(),
            outcomes: Outcomes::default(),
            trace: vec![],
        })
    }

    /// `removal`: the step before which the device goes, whatever runs on it.
    fn run(mut self, seed: u64, removal: Option<usize>) -> Outcomes {
        self.trace.push(format!("seed {seed}"));
        for number in 0..STEPS {
            if removal == Some(number) {
                assert!(ffi::hm_device_remove(seed as usize % 2), "it was there");
            }
            self.step();
        }
        for index in 0..BUFFERS {
            self.check(index);
        }
        self.check_other();
        for submission in &self.kept {
            self.end(submission.wait_timeout(PATIENCE));
        }
        for stream in &self.streams {
            let _told = stream.wait();
            assert_eq!((stream.recorded(), stream.in_flight()), (0, 0));
        }
        std::mem::take(&mut self.outcomes)
    }

    /// Whatever it was, it has ended.
    fn end(&self, ended: Result<()>) {
        assert!(!matches!(ended, Err(Error::Timeout { .. })), "it hangs, after:\n{}", self.trace.join("\n"));
    }

    /// Notes a call; whether it was done.
    fn done<T>(&mut self, what: String, result: Result<T>) -> Option<T> {
        match result {
            Ok(done) => {
                self.outcomes.done += 1;
                self.trace.push(what);
                Some(done)
            }
            Err(error) => {
                self.outcomes.refused += 1;
                self.trace.push(format!("{what}: {error}"));
                None
            }
        }
    }

    fn index(&mut self) -> usize {
        self.random.range(0, BUFFERS as i64) as usize
    }

    fn step(&mut self) {
        let index = self.index();
        match self.random.range(0, 16) {
            0 | 1 => self.check(index),
            2 | 3 => {
                let values = self.random.words(LEN);
                let written = self.buffers[index].write_from(&values);
                if self.done(format!("write {index}"), written).is_some() {
                    self.model[index] = values;
                }
            }
            4 => {
                let (at, value) = (self.random.range(0, LEN as i64) as usize, self.random.next() as u32);
                let written = self.buffers[index]
                    .view_mut(at..)
                    .and_then(|mut view| view.write().map(|mut guard| guard[0] = value));
                if self.done(format!("poke {index}[{at}]"), written).is_some() {
                    self.model[index][at] = value;
                }
            }
            5 if index >= OF_GRAPH => {
                // What is in flight keeps the old one.
                let buffer = made(self.gpu, self.pool, &mut self.random);
                if let Some((buffer, values)) = self.done(format!("replace {index}"), buffer) {
                    self.buffers[index] = buffer;
                    self.model[index] = values;
                }
            }
            6 => {
                if let Some(submission) = self.kept.pop_front() {
                    self.end(submission.wait_timeout(PATIENCE));
                }
            }
            7 | 8 => self.submit_graph(),
            9 => self.follow_by_event(),
            10 | 11 => self.give_to_stream(),
            12 => self.draw(index),
            13 => self.check_texture(),
            _ => {
                if let Some(submission) = self.submit_batch(|_, _| Ok(())) {
                    self.kept.push_back(submission);
                }
            }
        }
    }

    fn submit_batch(&mut self, last: impl FnOnce(&mut Program<'a>, &mut Batch) -> Result<()>) -> Option<Submission> {
        let batch = self.gpu.batch();
        let mut batch = self.done("batch".to_owned(), batch)?;
        let mut model = self.model.clone();
        for _ in 0..self.random.range(1, 5) {
            let command = self.command();
            let recorded = command.record_in(self, &mut batch);
            if self.done(format!("  {command:?}"), recorded).is_some() {
                command.apply(&mut model);
            }
        }
        let recorded = last(self, &mut batch);
        self.done("  last".to_owned(), recorded)?;
        let submission = self.done("submit".to_owned(), batch.submit())?;
        self.model = model;
        Some(submission)
    }

    fn give_to_stream(&mut self) {
        let number = self.random.range(0, 2) as usize;
        for _ in 0..self.random.range(1, 4) {
            let command = self.command();
            let given = command.give_to(self, number);
            if self.done(format!("stream {number}: {command:?}"), given).is_some() {
                command.apply(&mut self.model);
            }
        }
        match self.random.range(0, 6) {
            0 => {
                let waited = self.streams[number].wait();
                self.done(format!("stream {number}: wait"), waited);
            }
            1 => drop(self.streams[number].flush()),
            _ => {}
        }
    }

    fn submit_graph(&mut self) {
        if self.random.range(0, 2) == 0 {
            let by = self.random.next() as u32;
            let set = self.graph.set(self.scaling.0, 1, by);
            if self.done(format!("set {by}"), set).is_some() {
                self.scaling.1 = by;
            }
        }
        let submitted = self.graph.submit();
        if let Some(submission) = self.done("graph".to_owned(), submitted) {
            Command::Add { from: 0, to: 1 }.apply(&mut self.model);
            Command::Scale { to: 1, by: self.scaling.1, plus: 1 }.apply(&mut self.model);
            self.model[2] = self.model[1].clone();
            self.kept.push_back(submission);
        }
    }

    /// What another queue does when a batch has signaled an event, which it may do badly or not at all.
    fn follow_by_event(&mut self) {
        self.event.1 += 1;
        let (event, value) = self.event.clone();
        let first = self.submit_batch(|_, batch| batch.signal(&event, value));
        let Some(first) = first else { return self.renew_event() };
        self.kept.push_back(first);
        let (other, scale, buffer, _) = &mut self.other;
        let submitted = other.batch().and_then(|mut batch| {
            batch.wait_for(&event, value)?;
            batch.launch(scale, grid(), args![&mut *buffer, 5u32, 7u32])?;
            batch.submit()
        });
        if let Some(second) = self.done("other".to_owned(), submitted) {
            self.other.3.iter_mut().for_each(|v| *v = v.wrapping_mul(5).wrapping_add(7));
            self.kept.push_back(second);
        }
        let reached = event.wait_timeout(value, PATIENCE);
        self.end(reached.clone());
        self.check_other();
        if reached.is_err() {
            self.renew_event();
            let values = self.random.words(LEN);
            let written = self.other.2.write_from(&values);
            if self.done("write other".to_owned(), written).is_some() {
                self.other.3 = values;
            }
        }
    }

    /// Draws a buffer's first elements, and adds them to another's.
    fn draw(&mut self, from: usize) {
        let to = (from + 1) % BUFFERS;
        let [x, y] = self.buffers.get_disjoint_mut([from, to]).expect("two different buffers");
        let (texture, _, [draw, take]) = &mut self.texture;
        let submitted = self.gpu.batch().and_then(|mut batch| {
            batch.launch(draw, Grid::linear(TEXELS), args![&*x, &mut *texture])?;
            batch.launch(take, Grid::linear(TEXELS), args![&*texture, y])?;
            batch.submit()
        });
        if let Some(submission) = self.done(format!("draw {from}, take {to}"), submitted) {
            self.texture.1 = self.model[from][..TEXELS].to_vec();
            self.model[to].iter_mut().zip(&self.texture.1).for_each(|(y, t)| *y = y.wrapping_add(*t));
            self.kept.push_back(submission);
        }
    }

    fn check_texture(&mut self) {
        let texels = self.texture.0.to_vec::<u32>();
        if let Some(texels) = self.done("check texture".to_owned(), texels) {
            assert!(texels == self.texture.1, "the texture is wrong after:\n{}", self.trace.join("\n"));
        }
        if self.random.range(0, 2) == 0 {
            let values = self.random.words(TEXELS);
            let written = self.texture.0.write_from(&values);
            if self.done("write texture".to_owned(), written).is_some() {
                self.texture.1 = values;
            }
        }
    }

    fn renew_event(&mut self) {
        let event = self.gpu.event();
        if let Some(event) = self.done("event".to_owned(), event) {
            self.event = (event, 0);
        }
    }

    fn command(&mut self) -> Command {
        let (to, from) = (self.index(), self.index());
        let (start, length) = (self.random.range(0, 100) as usize, self.random.range(1, 100) as usize);
        match self.random.range(0, 4) {
            1 if to != from => Command::Add { from, to },
            2 if to != from => Command::Copy { from, to, start, length, target: self.random.range(0, 100) as usize },
            3 => Command::Fill { to, start, length },
            _ => Command::Scale { to, by: self.random.next() as u32, plus: self.random.next() as u32 },
        }
    }

    fn check(&mut self, index: usize) {
        match self.buffers[index].to_vec() {
            Ok(data) => {
                self.outcomes.read += 1;
                let storage = self.buffers[index].storage_mode();
                assert!(
                    data == self.model[index],
                    "{storage} buffer {index} is wrong after:\n{}",
                    self.trace.join("\n")
                );
            }
            Err(error) => {
                self.outcomes.refused_reads += 1;
                self.trace.push(format!("check {index}: {error}"));
            }
        }
    }

    fn check_other(&mut self) {
        match self.other.2.to_vec() {
            Ok(data) => assert!(data == self.other.3, "the other queue's is wrong after:\n{}", self.trace.join("\n")),
            Err(error) => self.trace.push(format!("check other: {error}")),
        }
    }
}

/// A buffer from any source, and what it holds.
fn made(gpu: &Accelerator, pool: &BufferPool, random: &mut Random) -> Result<(Buffer<u32>, Vec<u32>)> {
    let values = random.words(LEN);
    let mut buffer = match random.range(0, 5) {
        0 => gpu.buffer_zeroed(LEN)?,
        1 => gpu.buffer_with(LEN, StorageMode::Private)?,
        2 => gpu.buffer_no_copy(PageVec::zeroed(LEN)?)?,
        3 => gpu.buffer_with(LEN, StorageMode::Managed)?,
        _ => pool.buffer(LEN)?,
    };
    buffer.write_from(&values)?;
    Ok((buffer, values))
}

/// One command, of a batch or of a stream.
#[derive(Clone, Copy, Debug)]
enum Command {
    Add { from: usize, to: usize },
    Scale { to: usize, by: u32, plus: u32 },
    Copy { from: usize, to: usize, start: usize, length: usize, target: usize },
    Fill { to: usize, start: usize, length: usize },
}

impl Command {
    fn record_in(self, program: &mut Program<'_>, batch: &mut Batch) -> Result<()> {
        let Program { buffers, add, scale, .. } = program;
        match self {
            Command::Add { from, to } => {
                let [x, y] = buffers.get_disjoint_mut([from, to]).expect("two different buffers");
                batch.launch(add, grid(), args![&*x, y])
            }
            Command::Scale { to, by, plus } => batch.launch(scale, grid(), args![&mut buffers[to], by, plus]),
            Command::Copy { from, to, start, length, target } => {
                let [x, y] = buffers.get_disjoint_mut([from, to]).expect("two different buffers");
                batch.copy(x.view(start..start + length)?, y.view_mut(target..target + length)?)
            }
            Command::Fill { to, start, length } => batch.fill(buffers[to].view_mut(start..start + length)?, 0x5A),
        }
    }

    fn give_to(self, program: &mut Program<'_>, stream: usize) -> Result<()> {
        let Program { buffers, add, scale, streams, .. } = program;
        let stream = &streams[stream];
        match self {
            Command::Add { from, to } => {
                let [x, y] = buffers.get_disjoint_mut([from, to]).expect("two different buffers");
                stream.launch(add, grid(), args![&*x, y])
            }
            Command::Scale { to, by, plus } => stream.launch(scale, grid(), args![&mut buffers[to], by, plus]),
            Command::Copy { from, to, start, length, target } => {
                let [x, y] = buffers.get_disjoint_mut([from, to]).expect("two different buffers");
                stream.copy(x.view(start..start + length)?, y.view_mut(target..target + length)?)
            }
            Command::Fill { to, start, length } => stream.fill(buffers[to].view_mut(start..start + length)?, 0x5A),
        }
    }

    /// The same to the model.
    fn apply(self, model: &mut [Vec<u32>]) {
        match self {
            Command::Add { from, to } => {
                let [x, y] = model.get_disjoint_mut([from, to]).expect("two different buffers");
                y.iter_mut().zip(x).for_each(|(y, x)| *y = y.wrapping_add(*x));
            }
            Command::Scale { to, by, plus } => {
                model[to].iter_mut().for_each(|v| *v = v.wrapping_mul(by).wrapping_add(plus));
            }
            Command::Copy { from, to, start, length, target } => {
                let copied = model[from][start..start + length].to_vec();
                model[to][target..target + length].copy_from_slice(&copied);
            }
            Command::Fill { to, start, length } => model[to][start..start + length].fill(0x5A5A_5A5A),
        }
    }
}
