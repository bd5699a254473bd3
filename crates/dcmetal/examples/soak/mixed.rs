//! Threads that do what programs do, at random, for long: kernels of several kinds on buffers of a pool, of all sizes; streams, events,
//! batches, graphs, memory in place and the device's own, textures, compilations, commands that are forgotten, kernels that fault. Every result is compared with
//! the host's; the pool must keep its limits and memory must stay flat.

use std::iter;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dcmetal::{
    Accelerator, Buffer, BufferPool, Constants, Error, Graph, Grid, Kernel, Library, Node, PageVec, PixelFormat,
    PoolLimits, Result, StorageMode, StreamLimits, TextureDescriptor, args,
};

use crate::watch::{Process, mib, sampled};
use crate::{demand, each};

const SOURCE: &str = "
#include <metal_stdlib>
using namespace metal;
constant uint plus [[function_constant(0)]];
constant uint by = is_function_constant_defined(plus) ? plus : 1;
kernel void affine(device const uint *x [[buffer(0)]], device uint *y [[buffer(1)]], constant uint &times [[buffer(2)]],
                   uint i [[thread_position_in_grid]]) { y[i] = times * x[i] + by; }
kernel void step(device uint *y [[buffer(0)]], uint i [[thread_position_in_grid]]) { y[i] = 3 * y[i] + 1; }
kernel void sums(device const uint *x [[buffer(0)]], device uint *y [[buffer(1)]], uint i [[thread_position_in_grid]],
                 uint t [[thread_position_in_threadgroup]], uint g [[threadgroup_position_in_grid]]) {
  threadgroup uint part[256];
  part[t] = x[i];
  for (uint half_ = 128; half_ > 0; half_ /= 2) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < half_) part[t] += part[t + half_];
  }
  if (t == 0) y[g] = part[0];
}
kernel void turn(texture2d<uint, access::read> from [[texture(0)]], texture2d<uint, access::write> to [[texture(1)]],
                 uint2 at [[thread_position_in_grid]]) { to.write(from.read(at) + 1, at.yx); }
kernel void outside(device uint *y [[buffer(0)]]) { y[1ul << 45] = 1; }";

/// Bytes of the pool, fewer than the threads use at their busiest.
const POOL: u64 = 32 << 20;
/// The largest buffer's elements are two to this; a thread has at most three buffers at once.
const LARGEST: u64 = 19;
/// What a thread may have of the pool, in whole size classes.
const IN_USE: u64 = 3 * (4 << LARGEST) * 5 / 4;
/// Bytes of the pool's smallest class; there are four between powers of two.
const SMALLEST: u64 = 256;

/// The kinds of work, and how often each is chosen.
const KINDS: [(&str, u64, Job); 10] = [
    ("launches", 30, launch),
    ("sums", 20, sum),
    ("streams", 15, stream),
    ("events", 5, event),
    ("batches", 15, batch),
    ("graphs", 10, graph),
    ("memory in place", 3, in_place),
    ("private memory", 8, private),
    ("textures", 8, texture),
    ("faults", if cfg!(target_os = "linux") { 2 } else { 0 }, fault),
];

type Job = fn(&mut Thread<'_>) -> Result<()>;

/// What all threads share.
struct Shared {
    gpu: Accelerator,
    pool: BufferPool,
    library: Library,
    /// Bytes of the pool that threads may have, in whole size classes: now, and at most.
    held: [AtomicU64; 2],
}

/// Counts bytes that a thread has of the pool, until dropped.
struct Held<'a>(&'a AtomicU64, u64);

impl Shared {
    /// Before buffers of so many elements are taken; dropped after them.
    fn hold(&self, lens: &[usize]) -> Held<'_> {
        let [held, most] = &self.held;
        let class = |len: &usize| {
            let bytes = (4 * *len as u64).max(SMALLEST);
            bytes.next_multiple_of(1 << (bytes.ilog2() - 2))
        };
        let bytes = lens.iter().map(class).sum();
        most.fetch_max(held.fetch_add(bytes, Ordering::Relaxed) + bytes, Ordering::Relaxed);
        Held(held, bytes)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(self.1, Ordering::Relaxed);
    }
}

/// A thread's own.
struct Thread<'a> {
    shared: &'a Shared,
    affine: Kernel,
    step: Kernel,
    sums: Kernel,
    turn: Kernel,
    random: Random,
    replay: Option<Replay>,
}

/// A graph that is run again and again.
struct Replay {
    graph: Graph,
    nodes: [Node; 2],
    x: Buffer<u32>,
    y: Buffer<u32>,
}

/// splitmix64, <https://prng.di.unimi.it/splitmix64.c>.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// As many small as large ones.
    fn len(&mut self) -> usize {
        let magnitude = self.below(LARGEST);
        ((1 << magnitude) + self.below(1 << magnitude)) as usize
    }

    fn words(&mut self, len: usize) -> Vec<u32> {
        iter::repeat_with(|| self.next() as u32).take(len).collect()
    }
}

/// What was seen at a moment.
#[derive(Clone, Copy)]
struct Sample {
    time: Duration,
    process: Process,
    done: u64,
    pooled: u64,
}

pub(crate) fn soak(time: Duration, threads: u64, seed: u64) -> Result<()> {
    let gpu = Accelerator::system_default()?;
    println!("{}, {threads} threads, {} s, seed {seed}", gpu.name(), time.as_secs());
    let limits = PoolLimits { bytes: POOL, idle_age: Duration::from_secs(5), ..PoolLimits::default() };
    let shared = Shared { pool: gpu.pool(limits), library: gpu.compile_msl(SOURCE)?, gpu, held: Default::default() };
    let counts = KINDS.map(|_| AtomicU64::new(0));
    let done = || counts.iter().map(|count| count.load(Ordering::Relaxed)).sum();
    let start = Instant::now();
    let tenth = Mutex::new(1);
    let sample = || {
        return_free_memory();
        let stats = shared.pool.stats();
        let now = Sample {
            time: start.elapsed(),
            process: Process::now(),
            done: done(),
            pooled: stats.idle_bytes + stats.used_bytes,
        };
        let mut next = tenth.lock().expect("one samples");
        if now.time.as_secs_f64() >= time.as_secs_f64() * f64::from(*next) / 10.0 {
            *next += 1;
            println!(
                "{:5} s: {:9} done, memory {:.1} MiB, in use of heaps {:.1}, pool {:.1} MiB in {} buffers, {:.2} % of {} requests hit",
                now.time.as_secs(),
                now.done,
                mib(now.process.bytes),
                mib(now.process.heap),
                mib(now.pooled),
                stats.idle_buffers + stats.used_buffers,
                100.0 * stats.hits as f64 / (stats.hits + stats.misses).max(1) as f64,
                stats.hits + stats.misses,
            );
        }
        now
    };
    let work = || each(threads, |number| thread(&shared, seed ^ number << 32, start + time, &counts));
    let (result, samples) = sampled(Duration::from_millis(500), sample, work);
    result?;
    let listed =
        KINDS.iter().zip(&counts).map(|((name, ..), count)| format!("{} {name}", count.load(Ordering::Relaxed)));
    println!("{}", listed.collect::<Vec<_>>().join(", "));
    let part = |from: f64, to: f64| middle(&samples, time.mul_f64(from), time.mul_f64(to));
    let (early, late) = (part(0.1, 0.3), part(0.8, 1.0));
    let most = |of: fn(&Sample) -> u64| samples.iter().map(of).max().unwrap_or(0);
    println!(
        "median memory {:.1} MiB in the second and third tenth, {:.1} in the last two, {:.1} at most, in use of heaps {:.1} and {:.1}; mappings {} and {}, files {} and {}; \
         the pool held {:.1} MiB at most",
        mib(early.bytes),
        mib(late.bytes),
        mib(most(|sample| sample.process.bytes)),
        mib(early.heap),
        mib(late.heap),
        early.mappings,
        late.mappings,
        early.files,
        late.files,
        mib(most(|sample| sample.pooled)),
    );
    late.demand_as_flat_as(&early);
    let stats = shared.pool.stats();
    let held = shared.held[1].load(Ordering::Relaxed);
    println!("the threads had {:.1} MiB of the pool at most, and it held {:.1}", mib(held), mib(stats.peak_bytes));
    // Each thread may make room for one of the largest while the others do, of which none knows; and a buffer may go home a moment after its thread
    // knows that the device is done with it.
    let most = (POOL.max(held) + threads * (4 << LARGEST)).min(POOL.max(threads * IN_USE));
    demand(stats.peak_bytes <= most, "the pool held more than its limit and more than was in use");
    demand(stats.used_bytes == 0 && stats.used_buffers == 0, "buffers of the pool are still in use");
    demand(stats.idle_bytes <= POOL, "the pool keeps more than its limit");
    let Shared { gpu, pool, library, .. } = shared;
    drop((pool, library));
    // What copies to and from private memory went through, which is kept for a while.
    gpu.trim_staging(0);
    let staging = gpu.staging_stats();
    demand(staging.used_buffers == 0 && staging.idle_buffers == 0, "memory to copy through is still in use");
    demand(gpu.allocated_bytes() == 0, "the device still has memory allocated");
    Ok(())
}

/// Has the C library give what is free in its heaps back to the system: each thread has one, in which vectors of random lengths leave ever more that is
/// free, so that memory would grow for hours without a leak.
fn return_free_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it changes nothing that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// The medians of what was held in that time.
fn middle(samples: &[Sample], from: Duration, to: Duration) -> Process {
    let part: Vec<Process> =
        samples.iter().filter(|sample| (from..=to).contains(&sample.time)).map(|sample| sample.process).collect();
    let part = if part.is_empty() { samples.iter().map(|sample| sample.process).collect() } else { part };
    let median = |of: fn(&Process) -> u64| {
        let mut all: Vec<u64> = part.iter().map(of).collect();
        all.sort_unstable();
        all[all.len() / 2]
    };
    Process {
        bytes: median(|process| process.bytes),
        heap: median(|process| process.heap),
        mappings: median(|process| process.mappings as u64) as usize,
        files: median(|process| process.files as u64) as usize,
    }
}

fn thread(shared: &Shared, seed: u64, end: Instant, counts: &[AtomicU64]) -> Result<()> {
    let kernel = |name| shared.library.kernel(name);
    let (affine, step, sums, turn) = (kernel("affine")?, kernel("step")?, kernel("sums")?, kernel("turn")?);
    let mut thread = Thread { shared, affine, step, sums, turn, random: Random(seed), replay: None };
    let all = KINDS.iter().map(|(_, share, _)| share).sum();
    while Instant::now() < end {
        let mut choice = thread.random.below(all);
        let kind = KINDS.iter().position(|(_, share, _)| {
            let chosen = choice < *share;
            choice = choice.wrapping_sub(*share);
            chosen
        });
        let kind = kind.expect("the shares are of all");
        KINDS[kind].2(&mut thread)?;
        counts[kind].fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

fn same(got: &[u32], wanted: impl Iterator<Item = u32>, what: &str) {
    demand(got.iter().copied().eq(wanted), what);
}

fn stepped(value: u32, times: u64) -> u32 {
    (0..times).fold(value, |value, _| value.wrapping_mul(3).wrapping_add(1))
}

/// A launch by itself: waited for, or not, where the reading waits; at times of a kernel that is looked up, made from a source that may be new.
fn launch(thread: &mut Thread<'_>) -> Result<()> {
    let Thread { shared, random, .. } = thread;
    let len = random.len();
    let (values, times, plus) = (random.words(len), random.next() as u32, random.below(8) as u32);
    let (kernel, plus) = match random.below(4) {
        0 => (shared.library.kernel_with("affine", &Constants::new().at(0, plus))?, plus),
        1 => {
            let source = format!("{SOURCE}\n// {}", random.below(16));
            (shared.gpu.compile_msl(&source)?.kernel("affine")?, 1)
        }
        _ => (thread.affine.clone(), 1),
    };
    let _held = shared.hold(&[len, len]);
    let x = shared.pool.buffer_from(&values)?;
    let mut y = shared.pool.buffer::<u32>(len)?;
    let submission = kernel.launch(Grid::linear(len), args![&x, &mut y, times])?;
    if random.below(2) == 0 {
        submission.wait()?;
    } else {
        drop((submission, x));
    }
    same(
        &y.to_vec()?,
        values.iter().map(|x| times.wrapping_mul(*x).wrapping_add(plus)),
        "a launch's numbers are wrong",
    );
    Ok(())
}

/// A kernel with barriers.
fn sum(thread: &mut Thread<'_>) -> Result<()> {
    let Thread { shared, random, sums, .. } = thread;
    let groups = random.len().div_ceil(256);
    let values = random.words(256 * groups);
    let _held = shared.hold(&[values.len(), groups]);
    let (x, mut y) = (shared.pool.buffer_from(&values)?, shared.pool.buffer::<u32>(groups)?);
    sums.launch(Grid::threadgroups(groups, 256usize), args![&x, &mut y])?.wait()?;
    let wanted = values.chunks(256).map(|part| part.iter().fold(0u32, |sum, x| sum.wrapping_add(*x)));
    same(&y.to_vec()?, wanted, "a sum is wrong");
    Ok(())
}

/// A stream of small batches, of which the end is forgotten at times.
fn stream(thread: &mut Thread<'_>) -> Result<()> {
    let Thread { shared, random, step, .. } = thread;
    let (len, times) = (random.len().min(1 << 14), 1 + random.below(100));
    let values = random.words(len);
    let _held = shared.hold(&[len]);
    let mut y = shared.pool.buffer_from(&values)?;
    let commands = 1 + random.below(20) as usize;
    let stream = shared.gpu.stream(StreamLimits { commands, age: Duration::MAX, ..StreamLimits::default() });
    for _ in 0..times {
        stream.launch(step, Grid::linear(len), args![&mut y])?;
    }
    let forgotten = if random.below(3) == 0 { stream.cancel() as u64 } else { 0 };
    if random.below(2) == 0 {
        stream.wait()?;
    }
    drop(stream);
    same(&y.to_vec()?, values.iter().map(|y| stepped(*y, times - forgotten)), "a stream's numbers are wrong");
    Ok(())
}

/// A stream that waits for the host, and the host for it.
fn event(thread: &mut Thread<'_>) -> Result<()> {
    let Thread { shared, random, step, .. } = thread;
    let (len, values, event) = (64, random.words(64), shared.gpu.event()?);
    let _held = shared.hold(&[len]);
    let mut y = shared.pool.buffer_from(&values)?;
    let stream = shared.gpu.stream(StreamLimits::default());
    stream.wait_for(&event, 1)?;
    stream.launch(step, Grid::linear(len), args![&mut y])?;
    stream.signal(&event, 2)?;
    event.signal(1)?;
    event.wait(2)?;
    same(&y.to_vec()?, values.iter().map(|y| stepped(*y, 1)), "what an event ordered is wrong");
    stream.wait()
}

/// Copies, fills and launches in one submission, awaited.
fn batch(thread: &mut Thread<'_>) -> Result<()> {
    let Thread { shared, random, step, affine, .. } = thread;
    let len = random.len();
    let (values, times, byte) = (random.words(len), random.next() as u32, random.next() as u8);
    let pool = &shared.pool;
    let _held = shared.hold(&[len, len, len]);
    let (x, mut y, mut z) = (pool.buffer_from(&values)?, pool.buffer::<u32>(len)?, pool.buffer::<u32>(len)?);
    let mut batch = shared.gpu.batch()?;
    batch.fill(&mut y, byte)?;
    batch.launch(affine, Grid::linear(len), args![&y, &mut z, times])?;
    batch.copy(&x, &mut y)?;
    batch.launch(step, Grid::linear(len), args![&mut y])?;
    let submission = batch.submit()?;
    pollster::block_on(submission)?;
    same(&y.to_vec()?, values.iter().map(|x| stepped(*x, 1)), "a copy's numbers are wrong");
    let filled = u32::from_ne_bytes([byte; 4]);
    same(&z.to_vec()?, iter::repeat_n(times.wrapping_mul(filled).wrapping_add(1), len), "a fill's numbers are wrong");
    Ok(())
}

/// A graph of two branches and a step of the host's, replayed with other arguments; at times a new one.
fn graph(thread: &mut Thread<'_>) -> Result<()> {
    let Thread { shared, random, step, affine, replay, .. } = thread;
    if random.below(20) == 0 {
        *replay = None;
    }
    let Replay { graph, nodes, x, y } = match replay {
        Some(replay) => replay,
        None => {
            let len = random.len().min(1 << 14);
            let (x, mut y) = (shared.gpu.buffer_zeroed::<u32>(len)?, shared.gpu.buffer_zeroed::<u32>(len)?);
            let mut graph = shared.gpu.graph();
            let grid = Grid::linear(len);
            let (a, b) = (graph.transient::<u32>("a", len)?, graph.transient::<u32>("b", len)?);
            let first = graph.launch(affine, grid, args![&x, a.write(), 0u32])?;
            let second = graph.launch(affine, grid, args![&x, b.write(), 0u32])?;
            graph.launch(step, grid, args![a.update()])?;
            graph.launch(step, grid, args![b.update()])?;
            graph.host("add", args![a.read(), b.read(), &mut y], |memory| {
                let (a, b) = (memory.read::<u32>(0)?, memory.read::<u32>(1)?);
                for ((y, a), b) in memory.write::<u32>(2)?.iter_mut().zip(a.iter()).zip(b.iter()) {
                    *y = a.wrapping_add(*b);
                }
                Ok(())
            })?;
            replay.insert(Replay { graph: graph.build()?, nodes: [first, second], x, y })
        }
    };
    let (values, times) = (random.words(x.len()), [random.next() as u32, random.next() as u32]);
    x.write_from(&values)?;
    for (node, times) in nodes.iter().zip(times) {
        graph.set(*node, 2, times)?;
    }
    for submission in graph.run()? {
        submission.wait()?;
    }
    let branch = |x: u32, times: u32| stepped(times.wrapping_mul(x).wrapping_add(1), 1);
    let wanted = values.iter().map(|x| branch(*x, times[0]).wrapping_add(branch(*x, times[1])));
    same(&y.to_vec()?, wanted, "a graph's numbers are wrong");
    Ok(())
}

/// The host's own pages.
fn in_place(thread: &mut Thread<'_>) -> Result<()> {
    let Thread { shared, random, step, .. } = thread;
    let len = random.len();
    let values = random.words(len);
    let mut memory = PageVec::<u32>::zeroed(len)?;
    memory.copy_from_slice(&values);
    let mut y = shared.gpu.buffer_no_copy(memory)?;
    step.launch(Grid::linear(len), args![&mut y])?.wait()?;
    same(&y.to_vec()?, values.iter().map(|y| stepped(*y, 1)), "numbers in the host's pages are wrong");
    Ok(())
}

/// Memory that only the device sees: written and read by copies.
fn private(thread: &mut Thread<'_>) -> Result<()> {
    let Thread { shared, random, step, .. } = thread;
    let len = random.len();
    let values = random.words(len);
    let mut y = shared.gpu.buffer_with::<u32>(len, StorageMode::Private)?;
    y.write_from(&values)?;
    step.launch(Grid::linear(len), args![&mut y])?.wait()?;
    same(&y.to_vec()?, values.iter().map(|y| stepped(*y, 1)), "numbers in private memory are wrong");
    Ok(())
}

/// An image that is turned over its diagonal.
fn texture(thread: &mut Thread<'_>) -> Result<()> {
    let Thread { shared, random, turn, .. } = thread;
    let (width, height) = (1 + random.below(300) as usize, 1 + random.below(300) as usize);
    let values = random.words(width * height);
    let from = shared.gpu.texture_from(&TextureDescriptor::d2(PixelFormat::R32Uint, width, height), &values)?;
    let mut to = shared.gpu.texture(&TextureDescriptor::d2(PixelFormat::R32Uint, height, width))?;
    turn.launch(Grid::threads((width, height)), args![&from, &mut to])?.wait()?;
    let wanted = (0..width * height).map(|at| values[at % height * width + at / height].wrapping_add(1));
    same(&to.to_vec()?, wanted, "a texture's numbers are wrong");
    Ok(())
}

/// A store far outside of every buffer, and work that would use what it leaves: both must be told.
fn fault(thread: &mut Thread<'_>) -> Result<()> {
    let Thread { shared, step, .. } = thread;
    let outside = shared.library.kernel("outside")?;
    let _held = shared.hold(&[1]);
    let mut y = shared.pool.buffer::<u32>(1)?;
    let failed = outside.launch(Grid::linear(1), args![&mut y])?;
    let after = step.launch(Grid::linear(1), args![&mut y]);
    demand(matches!(failed.wait(), Err(Error::Submission(_))), "a fault was not told");
    demand(after.map_or(true, |after| after.wait().is_err()), "what ran on a fault's numbers was not told");
    demand(y.to_vec().is_err(), "what a fault left was read");
    Ok(())
}
