//! The workloads that faults are injected into. Each tells where it is, waits with a limit, and reads what it can behind a failure too: that is right data, what was
//! there before, or an error.

use std::cell::{Cell, RefCell};
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;
use std::time::Duration;

use dcmetal::{
    Accelerator, AddressMode, BufferPool, Error, Filter, Grid, PixelFormat, PoolLimits, Result, SamplerDescriptor,
    StorageMode, StreamLimits, TextureDescriptor, TuneOptions, args,
};
use hostmetal::faults;

use crate::common;
use crate::matrix::ALONE;

/// Far longer than anything takes: what is not done then hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
pub(crate) const SIZE: usize = 256;

const SOURCE: &str = "
#include <metal_stdlib>
using namespace metal;
kernel void scale(device const uint* x [[buffer(0)]], device uint* y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    y[i] = x[i] * 3u + 1u;
}
kernel void texels(device uint* y [[buffer(0)]], texture2d<uint> t [[texture(0)]], sampler s [[sampler(0)]], uint i [[thread_position_in_grid]]) {
    y[i] ^= t.sample(s, float2(i % 16u, i / 16u) + 0.5).x;
}
kernel void draw(device const uint* x [[buffer(0)]], texture2d<uint, access::write> t [[texture(0)]], uint i [[thread_position_in_grid]]) {
    t.write(uint4(x[i]), uint2(i % 16u, i / 16u));
}
kernel void add(device const uint* x [[buffer(0)]], device const uint* y [[buffer(1)]], device uint* z [[buffer(2)]],
                uint i [[thread_position_in_grid]]) {
    z[i] = x[i] + y[i];
}
kernel void plus(device const uint* x [[buffer(0)]], device uint* y [[buffer(1)]], constant uint& k [[buffer(2)]],
                 uint i [[thread_position_in_grid]]) {
    y[i] = x[i] + k;
}
";

/// One that prints.
const OPENCL: &str = r#"
__kernel void tells(__global const uint* x, __global uint* y) {
    size_t i = get_global_id(0);
    y[i] = x[i] * 3u + 1u;
    if (i < PRINTED) printf("%u\n", y[i]);
}
"#;
const PRINTED: usize = 4;

/// The sites of hostmetal's faults.
pub(crate) const SITES: [&str; 14] = [
    "buffer",
    "texture",
    "heap",
    "queue",
    "command_buffer",
    "encoder",
    "compile",
    "pipeline",
    "archive",
    "commit",
    "complete",
    "event",
    "fence",
    "sampler",
];

/// Where a workload is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    Open,
    Allocate,
    Write,
    Compile,
    Pipelines,
    Encode,
    Submit,
    Wait,
    ReadBack,
    Done,
}

/// What a workload tells of itself.
pub(crate) struct Progress {
    stage: Cell<Stage>,
    /// Where each stage began: the calls of each site by then.
    begun: RefCell<Vec<(Stage, [u64; SITES.len()])>>,
}

impl Progress {
    pub(crate) fn new() -> Progress {
        Progress { stage: Cell::new(Stage::Open), begun: RefCell::new(Vec::with_capacity(64)) }
    }

    pub(crate) fn stage(&self) -> Stage {
        self.stage.get()
    }

    pub(crate) fn set(&self, stage: Stage) {
        self.stage.set(stage);
        let calls = SITES.map(|site| faults::counts(site).expect(site).events);
        self.begun.borrow_mut().push((stage, calls));
    }

    /// The stage of each call of a site, in order, once the work is done.
    pub(crate) fn stages_of_calls(&self, site: usize) -> Vec<Stage> {
        let calls = faults::counts(SITES[site]).expect("a site").events;
        let begun = self.begun.borrow();
        let stage_of = |call: u64| begun.iter().rev().find(|(_, before)| before[site] <= call).map(|(stage, _)| *stage);
        (0..calls).map(|call| stage_of(call).unwrap_or(Stage::Open)).collect()
    }
}

/// With a pool of the device's and an input; tells where it is.
type Run = fn(&Accelerator, &BufferPool, &[u32], &Progress) -> Result<Vec<u32>>;

pub(crate) struct Work {
    pub(crate) name: &'static str,
    pub(crate) run: Run,
    /// The same on the host.
    pub(crate) expected: fn(&[u32]) -> Vec<u32>,
    /// Sites whose faults it may survive by another way to the same end.
    pub(crate) survives: &'static [&'static str],
    /// Its source is the translator's: what a compiler says of it is not the user's fault.
    pub(crate) translated: bool,
    /// It uses another device too.
    pub(crate) needs_two: bool,
}

const fn work(name: &'static str, run: Run, expected: fn(&[u32]) -> Vec<u32>) -> Work {
    Work { name, run, expected, survives: &[], translated: false, needs_two: false }
}

pub(crate) const WORKS: [Work; 9] = [
    work("batches", batches, expected_of_batches),
    work("a graph with a step of the host's", graph, expected_of_graph),
    // What cannot be recorded is encoded.
    Work {
        survives: &["buffer", "pipeline", "encoder"],
        ..work("a graph that runs again", replays, expected_of_replays)
    },
    work("two queues and an event", queues, expected_of_events),
    Work { needs_two: true, ..work("two devices and an event", devices, expected_of_events) },
    work("a stream", stream, expected_of_stream),
    work("a group of streams and an event", group, expected_of_group),
    // What has no heap, or no room in one, has memory of its own.
    Work { survives: &["heap", "buffer"], ..work("buffers of heaps", heaps, expected_of_heaps) },
    Work { translated: true, ..work("OpenCL C in the background, printing", background, expected_of_background) },
];

/// What cannot be kept is compiled again. How often the kernel runs before its threadgroup is chosen is a matter of time.
pub(crate) const KEPT: Work =
    Work { survives: &["archive", "pipeline"], ..work("a tuned kernel in a folder", kept, expected_of_kept) };

fn grid() -> Grid {
    Grid::linear(SIZE)
}

fn scaled(x: &[u32]) -> Vec<u32> {
    x.iter().map(|x| x.wrapping_mul(3).wrapping_add(1)).collect()
}

fn sum(x: &[u32], y: &[u32]) -> Vec<u32> {
    x.iter().zip(y).map(|(x, y)| x.wrapping_add(*y)).collect()
}

/// First not at all, which never fails what still runs; then as long as it may take.
fn wait(wait: impl Fn(Duration) -> Result<()>) -> Result<()> {
    match wait(Duration::ZERO) {
        Err(Error::Timeout { .. }) => wait(PATIENCE),
        ended => ended,
    }
}

/// What is read behind the work.
struct Behind {
    ended: Result<()>,
    results: Vec<u32>,
}

impl Behind {
    fn new(ended: Result<()>, progress: &Progress) -> Behind {
        if ended.is_ok() {
            progress.set(Stage::ReadBack);
        }
        Behind { ended, results: Vec::new() }
    }

    /// What nobody wrote is as it was `before`, behind a failure alone.
    fn read(&mut self, read: Result<Vec<u32>>, right: &[u32], before: &[u32]) {
        match read {
            Ok(data) => {
                let unchanged = self.ended.is_err() && data == before;
                assert!(data == right || unchanged, "wrong data, and the work's end was {:?}", self.ended);
                self.results.extend(data);
            }
            Err(error) if self.ended.is_ok() => self.ended = Err(error),
            Err(_) => {}
        }
    }

    fn end(self, progress: &Progress) -> Result<Vec<u32>> {
        self.ended?;
        progress.set(Stage::Done);
        Ok(self.results)
    }
}

/// Buffers in shared, private and managed storage and of a pool, textures, a sampler, three kernels, copies and fills, two submissions of which the second
/// needs the first one's results.
pub(crate) fn batches(gpu: &Accelerator, pool: &BufferPool, input: &[u32], progress: &Progress) -> Result<Vec<u32>> {
    progress.set(Stage::Allocate);
    let x = gpu.buffer_from(input)?;
    let (mut y, mut z) = (pool.buffer_zeroed::<u32>(SIZE)?, pool.buffer_zeroed::<u32>(SIZE)?);
    let mut hidden = gpu.buffer_with::<u32>(SIZE, StorageMode::Private)?;
    let mut managed = gpu.buffer_with::<u32>(SIZE, StorageMode::Managed)?;
    let descriptor = TextureDescriptor::d2(PixelFormat::R32Uint, 16, 16);
    let (texels, mut drawn) = (gpu.texture_from(&descriptor, input)?, gpu.texture(&descriptor)?);
    let sampler = gpu.sampler(&SamplerDescriptor::new(AddressMode::ClampToEdge, Filter::Nearest).in_pixels())?;
    progress.set(Stage::Write);
    hidden.write_from(input)?;
    progress.set(Stage::Compile);
    let library = gpu.compile_msl(SOURCE)?;
    progress.set(Stage::Pipelines);
    let (scale, xor, draw) = (library.kernel("scale")?, library.kernel("texels")?, library.kernel("draw")?);
    let ended = (|| {
        progress.set(Stage::Encode);
        let mut batch = gpu.batch()?;
        batch.launch(&scale, grid(), args![&x, &mut y])?;
        batch.copy(y.view(0..64)?, hidden.view_mut(64..128)?)?;
        batch.fill(hidden.view_mut(0..8)?, 0xFF)?;
        batch.copy(&y, &mut managed)?;
        batch.launch(&draw, grid(), args![&y, &mut drawn])?;
        batch.launch(&xor, grid(), args![&mut y, &texels, &sampler])?;
        progress.set(Stage::Submit);
        let first = batch.submit()?;
        let second = scale.launch(grid(), args![&y, &mut z])?;
        progress.set(Stage::Wait);
        wait(|limit| second.wait_timeout(limit)).and(wait(|limit| first.wait_timeout(limit)))
    })();
    let expected = expected_of_batches(input);
    let [scaled, mixed, results, private] = [0, 1, 2, 3].map(|at| &expected[at * SIZE..][..SIZE]);
    let mut behind = Behind::new(ended, progress);
    behind.read(managed.to_vec(), scaled, &[0; SIZE]);
    behind.read(y.to_vec(), mixed, &[0; SIZE]);
    behind.read(z.to_vec(), results, &[0; SIZE]);
    behind.read(hidden.to_vec(), private, input);
    behind.read(drawn.to_vec(), scaled, &[0; SIZE]);
    behind.read(texels.to_vec(), input, input);
    behind.end(progress)
}

pub(crate) fn expected_of_batches(input: &[u32]) -> Vec<u32> {
    let first = scaled(input);
    let mixed: Vec<u32> = first.iter().zip(input).map(|(y, t)| y ^ t).collect();
    let mut hidden = input.to_vec();
    hidden[64..128].copy_from_slice(&first[..64]);
    hidden[..8].fill(u32::MAX);
    [first.clone(), mixed.clone(), scaled(&mixed), hidden, first, input.to_vec()].concat()
}

/// A graph with memory of its own, a step of the host's that does not depend on what the device did before, and an order that is not the memory's.
fn graph(gpu: &Accelerator, pool: &BufferPool, input: &[u32], progress: &Progress) -> Result<Vec<u32>> {
    progress.set(Stage::Allocate);
    let x = gpu.buffer_from(input)?;
    let (mut counted, mut sum) = (pool.buffer_zeroed::<u32>(SIZE)?, pool.buffer_zeroed::<u32>(SIZE)?);
    let (mut copied, mut filled) = (gpu.buffer_zeroed::<u32>(SIZE)?, gpu.buffer_zeroed::<u32>(SIZE)?);
    progress.set(Stage::Compile);
    let library = gpu.compile_msl(SOURCE)?;
    progress.set(Stage::Pipelines);
    let (scale, add) = (library.kernel("scale")?, library.kernel("add")?);
    progress.set(Stage::Encode);
    let mut graph = gpu.graph();
    let scaled = graph.transient::<u32>("scaled", SIZE)?;
    graph.launch(&scale, grid(), args![&x, scaled.write()])?;
    let behind = gpu.clone();
    graph.host("count", args![&mut counted], move |memory| {
        // Behind what the device does meanwhile: that has ended, well or not, when this has.
        let empty = behind.batch()?.submit()?;
        wait(|limit| empty.wait_timeout(limit))?;
        memory.write::<u32>(0)?.iter_mut().zip(0..).for_each(|(count, i)| *count = i);
        Ok(())
    })?;
    graph.launch(&add, grid(), args![scaled.read(), &counted, &mut sum])?;
    let copies = graph.copy(&sum, &mut copied)?;
    // What uses none of the others' memory: this order is a fence's.
    let fills = graph.fill(&mut filled, 7)?;
    graph.order(copies, fills)?;
    let mut graph = graph.build()?;
    progress.set(Stage::Submit);
    let ended = graph.run().map(drop);
    let expected = expected_of_graph(input);
    let mut behind = Behind::new(ended, progress);
    for (buffer, expected) in [&counted, &sum, &copied, &filled].into_iter().zip(expected.chunks(SIZE)) {
        behind.read(buffer.to_vec(), expected, &[0; SIZE]);
    }
    behind.end(progress)
}

fn expected_of_graph(input: &[u32]) -> Vec<u32> {
    let counted: Vec<u32> = (0..SIZE as u32).collect();
    let sum = sum(&scaled(input), &counted);
    [counted, sum.clone(), sum, vec![0x0707_0707; SIZE]].concat()
}

/// A graph that runs three times, each time with another value: the second and third run execute what was recorded. One that failed leaves a sound graph.
fn replays(gpu: &Accelerator, pool: &BufferPool, input: &[u32], progress: &Progress) -> Result<Vec<u32>> {
    progress.set(Stage::Allocate);
    let x = gpu.buffer_from(input)?;
    let mut y = pool.buffer_zeroed::<u32>(SIZE)?;
    progress.set(Stage::Compile);
    let library = gpu.compile_msl(SOURCE)?;
    progress.set(Stage::Pipelines);
    let (scale, plus) = (library.kernel("scale")?, library.kernel("plus")?);
    progress.set(Stage::Encode);
    let mut graph = gpu.graph();
    let between = graph.transient::<u32>("between", SIZE)?;
    let first = graph.launch(&plus, grid(), args![&x, between.write(), 0u32])?;
    graph.launch(&scale, grid(), args![between.read(), &mut y])?;
    let mut graph = graph.build()?;
    let mut before = vec![0; SIZE];
    for turn in 0..3u32 {
        let right = expected_of_turn(input, turn);
        let mut run = || {
            progress.set(Stage::Encode);
            graph.set(first, 2, turn)?;
            progress.set(Stage::Submit);
            let submission = graph.submit()?;
            progress.set(Stage::Wait);
            wait(|limit| submission.wait_timeout(limit))
        };
        let ended = run();
        let mut behind = Behind::new(ended, progress);
        behind.read(y.to_vec(), &right, &before);
        if behind.ended.is_err() && is_there(gpu) {
            y.discard_fault();
            match run().and_then(|()| y.to_vec()) {
                Ok(data) => assert!(data == right, "wrong data of the run behind a failure"),
                Err(error) => assert!(!ALONE.load(Ordering::SeqCst), "the run behind a failure: {error}"),
            }
        }
        behind.ended?;
        before = right;
    }
    progress.set(Stage::Done);
    Ok(before)
}

/// Whether the device is still listed.
pub(crate) fn is_there(gpu: &Accelerator) -> bool {
    Accelerator::all().is_ok_and(|all| all.iter().any(|other| other.registry_id() == gpu.registry_id()))
}

fn expected_of_turn(input: &[u32], turn: u32) -> Vec<u32> {
    scaled(&sum(input, &[turn; SIZE]))
}

fn expected_of_replays(input: &[u32]) -> Vec<u32> {
    expected_of_turn(input, 2)
}

/// Two queues of one device.
fn queues(gpu: &Accelerator, pool: &BufferPool, input: &[u32], progress: &Progress) -> Result<Vec<u32>> {
    progress.set(Stage::Open);
    let again = Accelerator::all()?.into_iter().find(|other| other.registry_id() == gpu.registry_id());
    let again = again.ok_or(Error::NoDevice { text: "it was removed".to_owned() })?;
    events((gpu, &again), pool, input, progress)
}

/// A queue each of two devices.
fn devices(gpu: &Accelerator, pool: &BufferPool, input: &[u32], progress: &Progress) -> Result<Vec<u32>> {
    progress.set(Stage::Open);
    let other = Accelerator::all()?.into_iter().find(|other| other.registry_id() != gpu.registry_id());
    let other = other.ok_or(Error::NoDevice { text: "it was removed".to_owned() })?;
    events((gpu, &other), pool, input, progress)
}

/// The second goes on when the first has signaled an event, the first when the second has, and the host behind that.
fn events(
    (one, other): (&Accelerator, &Accelerator),
    pool: &BufferPool,
    input: &[u32],
    progress: &Progress,
) -> Result<Vec<u32>> {
    progress.set(Stage::Allocate);
    let (x, mut y) = (one.buffer_from(input)?, pool.buffer_zeroed::<u32>(SIZE)?);
    let (a, mut b) = (other.buffer_from(input)?, other.buffer_zeroed::<u32>(SIZE)?);
    let mut z = one.buffer_zeroed::<u32>(SIZE)?;
    let event = one.event()?;
    progress.set(Stage::Compile);
    let libraries = (one.compile_msl(SOURCE)?, other.compile_msl(SOURCE)?);
    progress.set(Stage::Pipelines);
    let scale = (libraries.0.kernel("scale")?, libraries.1.kernel("scale")?);
    let (told, tells) = channel();
    let ended = (|| {
        progress.set(Stage::Encode);
        event.on_reached(3, move |reached| told.send(reached).expect("it is waited for"))?;
        let (mut first, mut second, mut third) = (one.batch()?, other.batch()?, one.batch()?);
        first.launch(&scale.0, grid(), args![&x, &mut y])?;
        first.signal(&event, 1)?;
        second.wait_for(&event, 1)?;
        second.launch(&scale.1, grid(), args![&a, &mut b])?;
        second.signal(&event, 2)?;
        third.wait_for(&event, 2)?;
        third.launch(&scale.0, grid(), args![&y, &mut z])?;
        third.signal(&event, 3)?;
        progress.set(Stage::Submit);
        let (first, second, third) = (first.submit()?, second.submit()?, third.submit()?);
        progress.set(Stage::Wait);
        wait(|limit| event.wait_timeout(3, limit))
            .and(wait(|limit| third.wait_timeout(limit)))
            .and(wait(|limit| second.wait_timeout(limit)))
            .and(wait(|limit| first.wait_timeout(limit)))
    })();
    drop(event);
    let reached = tells.recv_timeout(PATIENCE).expect("who waits for the event is told");
    assert_eq!(reached.is_ok(), ended.is_ok(), "{reached:?}, and {ended:?}");
    let expected = expected_of_events(input);
    let mut behind = Behind::new(ended, progress);
    for (buffer, expected) in [&y, &z, &b].into_iter().zip(expected.chunks(SIZE)) {
        behind.read(buffer.to_vec(), expected, &[0; SIZE]);
    }
    behind.end(progress)
}

fn expected_of_events(input: &[u32]) -> Vec<u32> {
    let once = scaled(input);
    [once.clone(), scaled(&once), once].concat()
}

/// Batches close as they are full, or as somebody asks for it.
pub(crate) const LIMITS: StreamLimits = StreamLimits {
    commands: 2,
    bytes: 1 << 30,
    age: Duration::MAX,
    in_flight: 2,
    in_flight_bytes: 1 << 30,
    priority: 0,
};

/// A stream that hands over two commands at a time, and its first failure at the end.
fn stream(gpu: &Accelerator, pool: &BufferPool, input: &[u32], progress: &Progress) -> Result<Vec<u32>> {
    progress.set(Stage::Allocate);
    let x = gpu.buffer_from(input)?;
    let (mut y, mut z) = (pool.buffer_zeroed::<u32>(SIZE)?, pool.buffer_zeroed::<u32>(SIZE)?);
    let (mut copied, mut sum) = (gpu.buffer_zeroed::<u32>(SIZE)?, gpu.buffer_zeroed::<u32>(SIZE)?);
    let mut last = gpu.buffer_zeroed::<u32>(SIZE)?;
    progress.set(Stage::Compile);
    let library = gpu.compile_msl(SOURCE)?;
    progress.set(Stage::Pipelines);
    let (scale, add) = (library.kernel("scale")?, library.kernel("add")?);
    let stream = gpu.stream(LIMITS);
    let ended = (|| {
        progress.set(Stage::Encode);
        stream.launch(&scale, grid(), args![&x, &mut y])?;
        stream.launch(&scale, grid(), args![&y, &mut z])?;
        stream.copy(&z, &mut copied)?;
        stream.launch(&add, grid(), args![&copied, &y, &mut sum])?;
        stream.launch(&scale, grid(), args![&sum, &mut last])?;
        progress.set(Stage::Submit);
        stream.wait()
    })();
    let expected = expected_of_stream(input);
    let mut behind = Behind::new(ended, progress);
    for (buffer, expected) in [&y, &z, &copied, &sum, &last].into_iter().zip(expected.chunks(SIZE)) {
        behind.read(buffer.to_vec(), expected, &[0; SIZE]);
    }
    if behind.ended.is_err() {
        // Told, or never given.
        let _ = stream.wait();
        stream.wait().expect("what was told is over");
    }
    assert_eq!((stream.recorded(), stream.in_flight()), (0, 0));
    behind.end(progress)
}

fn expected_of_stream(input: &[u32]) -> Vec<u32> {
    let (y, z) = (scaled(input), scaled(&scaled(input)));
    let sum = sum(&z, &y);
    let last = scaled(&sum);
    [y, z.clone(), z, sum, last].concat()
}

/// Two streams, of which one needs the other's results, and one event for both.
fn group(gpu: &Accelerator, pool: &BufferPool, input: &[u32], progress: &Progress) -> Result<Vec<u32>> {
    progress.set(Stage::Allocate);
    let x = gpu.buffer_from(input)?;
    let (mut y, mut z) = (pool.buffer_zeroed::<u32>(SIZE)?, pool.buffer_zeroed::<u32>(SIZE)?);
    let (mut sum, mut copied) = (gpu.buffer_zeroed::<u32>(SIZE)?, gpu.buffer_zeroed::<u32>(SIZE)?);
    let event = gpu.event()?;
    progress.set(Stage::Compile);
    let library = gpu.compile_msl(SOURCE)?;
    progress.set(Stage::Pipelines);
    let (scale, add) = (library.kernel("scale")?, library.kernel("add")?);
    let group = gpu.stream_group(2, LIMITS);
    let [left, right] = group.streams() else { unreachable!("two were asked for") };
    let ended = (|| {
        progress.set(Stage::Encode);
        left.launch(&scale, grid(), args![&x, &mut y])?;
        right.launch(&scale, grid(), args![&x, &mut z])?;
        // The other's batch goes first.
        left.launch(&add, grid(), args![&y, &z, &mut sum])?;
        left.wait_for(&event, 0)?;
        left.copy(&sum, &mut copied)?;
        right.launch(&scale, grid(), args![&x, &mut z])?;
        progress.set(Stage::Submit);
        // Each has a batch in the making, whichever signals.
        group.signal(&event, 1)?;
        progress.set(Stage::Wait);
        wait(|limit| event.wait_timeout(1, limit)).and(group.wait())
    })();
    let expected = expected_of_group(input);
    let mut behind = Behind::new(ended, progress);
    for (buffer, expected) in [&y, &z, &sum, &copied].into_iter().zip(expected.chunks(SIZE)) {
        behind.read(buffer.to_vec(), expected, &[0; SIZE]);
    }
    if behind.ended.is_err() {
        let _ = group.wait();
        group.wait().expect("what was told is over");
    }
    assert!(group.streams().iter().all(|stream| (stream.recorded(), stream.in_flight()) == (0, 0)));
    behind.end(progress)
}

fn expected_of_group(input: &[u32]) -> Vec<u32> {
    let y = scaled(input);
    let sum = sum(&y, &y);
    [y.clone(), y, sum.clone(), sum].concat()
}

/// Small buffers that are parts of heaps, and go back to a pool of their own behind a failure too: who takes them next sees nothing of it.
fn heaps(gpu: &Accelerator, _: &BufferPool, input: &[u32], progress: &Progress) -> Result<Vec<u32>> {
    let pool = gpu.pool(PoolLimits { heaps: true, ..common::limits() });
    let ended = heaps_of(gpu, &pool, input, progress);
    crate::nothing_is_lent(&pool);
    ended
}

fn heaps_of(gpu: &Accelerator, pool: &BufferPool, input: &[u32], progress: &Progress) -> Result<Vec<u32>> {
    progress.set(Stage::Allocate);
    let x = pool.buffer_from(input)?;
    let mut made = Vec::new();
    for _ in 0..3 {
        made.push(pool.buffer_zeroed::<u32>(SIZE)?);
    }
    let [y, z, filled] = &mut made[..] else { unreachable!("three were made") };
    progress.set(Stage::Compile);
    let library = gpu.compile_msl(SOURCE)?;
    progress.set(Stage::Pipelines);
    let (scale, add) = (library.kernel("scale")?, library.kernel("add")?);
    let ended = (|| {
        progress.set(Stage::Encode);
        let mut batch = gpu.batch()?;
        batch.launch(&scale, grid(), args![&x, &mut *y])?;
        batch.fill(&mut *filled, 0x01)?;
        batch.launch(&add, grid(), args![&*y, &*filled, &mut *z])?;
        progress.set(Stage::Submit);
        let submission = batch.submit()?;
        progress.set(Stage::Wait);
        wait(|limit| submission.wait_timeout(limit))
    })();
    let expected = expected_of_heaps(input);
    let mut behind = Behind::new(ended, progress);
    for (buffer, expected) in made.iter().zip(expected.chunks(SIZE)) {
        behind.read(buffer.to_vec(), expected, &[0; SIZE]);
    }
    drop(made);
    for _ in 0..3 {
        // A device that has gone lends what was made before.
        let again = pool.buffer_zeroed::<u32>(SIZE).and_then(|again| again.to_vec());
        assert_eq!(again.expect("it is there, and sound"), [0; SIZE]);
    }
    behind.end(progress)
}

fn expected_of_heaps(input: &[u32]) -> Vec<u32> {
    let (y, filled) = (scaled(input), [0x0101_0101; SIZE]);
    [sum(&y, &filled), filled.to_vec()].into_iter().fold(y, |all, part| [all, part].concat())
}

/// A library and a kernel that threads of their own make, and what the kernel prints.
fn background(gpu: &Accelerator, pool: &BufferPool, input: &[u32], progress: &Progress) -> Result<Vec<u32>> {
    progress.set(Stage::Allocate);
    let (x, mut y) = (gpu.buffer_from(input)?, pool.buffer_zeroed::<u32>(SIZE)?);
    progress.set(Stage::Compile);
    let options =
        clmsl::Options { defines: vec![("PRINTED".to_owned(), PRINTED.to_string())], ..clmsl::Options::default() };
    let library = gpu.start_opencl("tells.cl", OPENCL, &options, PATIENCE).wait()?;
    progress.set(Stage::Pipelines);
    let tells = library.start_kernel("tells", &dcmetal::Constants::new(), PATIENCE).wait()?;
    let mut lines = Vec::new();
    let ended = (|| {
        progress.set(Stage::Submit);
        let submission = tells.launch(grid(), args![&x, &mut y])?;
        progress.set(Stage::Wait);
        wait(|limit| submission.wait_timeout(limit))?;
        let printed = submission.printed()?;
        assert_eq!(printed.lost, 0);
        lines.extend(printed.to_string().lines().map(|line| line.parse::<u32>().expect("a number")));
        // Work-items print in any order.
        lines.sort_unstable();
        Ok(())
    })();
    let mut expected = expected_of_background(input);
    let told = expected.split_off(SIZE);
    let mut behind = Behind::new(ended, progress);
    behind.read(y.to_vec(), &expected, &[0; SIZE]);
    behind.read(Ok(lines), &told, &[]);
    behind.end(progress)
}

fn expected_of_background(input: &[u32]) -> Vec<u32> {
    let y = scaled(input);
    let mut told = y[..PRINTED].to_vec();
    told.sort_unstable();
    [y, told].concat()
}

/// Threads that the kernel is tuned for: two candidates, each with the fewest runs.
const TUNED: usize = 64;

/// A kernel that one accelerator compiles, tunes and keeps in a folder, and another takes from there.
fn kept(gpu: &Accelerator, _: &BufferPool, input: &[u32], progress: &Progress) -> Result<Vec<u32>> {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("kernels");
    let mut results = Vec::new();
    for number in 0..2 {
        progress.set(Stage::Open);
        let again = Accelerator::all()?.into_iter().find(|other| other.registry_id() == gpu.registry_id());
        let again = again.ok_or(Error::NoDevice { text: "it was removed".to_owned() })?;
        again.keep_kernels(&folder, u64::MAX)?;
        progress.set(Stage::Compile);
        let library = again.compile_msl(SOURCE)?;
        progress.set(Stage::Pipelines);
        let scale = library.kernel("scale")?;
        progress.set(Stage::Allocate);
        let (x, mut y) = (again.buffer_from(&input[..TUNED])?, again.buffer_zeroed::<u32>(TUNED)?);
        let options = TuneOptions { time: PATIENCE, runs: 3, any_size: false };
        progress.set(Stage::Wait);
        let tuned = scale.tune(Grid::linear(TUNED), args![&x, &mut y], &options);
        // What was measured is the caller's memory no more than before.
        assert_eq!(y.to_vec().unwrap_or(vec![0; TUNED]), [0; TUNED]);
        let remembered = tuned?.candidates.is_empty();
        assert!(number == 1 || !remembered, "nothing was measured before");
        progress.set(Stage::Submit);
        let submission = scale.launch(Grid::linear(TUNED), args![&x, &mut y])?;
        progress.set(Stage::Wait);
        wait(|limit| submission.wait_timeout(limit))?;
        progress.set(Stage::ReadBack);
        results.extend(y.to_vec()?);
    }
    progress.set(Stage::Done);
    Ok(results)
}

fn expected_of_kept(input: &[u32]) -> Vec<u32> {
    let y = scaled(input)[..TUNED].to_vec();
    [y.clone(), y].concat()
}
