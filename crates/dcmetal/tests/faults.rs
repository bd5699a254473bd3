//! Every fault that hostmetal can inject, at every place of a mixed workload: the result is right data or the right error, nothing
//! hangs, nothing is left behind. `cargo test -p dcmetal --test faults -- --nocapture` prints the tables of docs/RECOVERY.md.
#![cfg(target_os = "linux")]

mod common;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use common::Random;
use dcmetal::telemetry::Reason;
use dcmetal::{
    Accelerator, BreakerLimits, BufferPool, Error, ErrorKind, Grid, Origin, PixelFormat, PoolLimits, Recovery, Result,
    Retries, StorageMode, StreamLimits, TextureDescriptor, args,
};
use hostmetal::{faults, ffi};

/// Far longer than anything takes: what is not done then hangs.
const PATIENCE: Duration = Duration::from_secs(120);
const NO_PAUSES: Retries = Retries { count: 4, first_pause: Duration::ZERO, longest_pause: Duration::ZERO };

#[test]
fn every_fault_ends_in_right_data_or_the_right_error() {
    // SAFETY: one test, and nothing has read the environment yet.
    unsafe { std::env::set_var("HOSTMETAL_DEVICES", "2") };
    bounded("the matrix", matrix);
    bounded("retries", transient_faults_are_recovered_from);
    bounded("a lost device", a_device_may_go_at_any_submission);
    bounded("threads and chance", threads_meet_faults_by_chance);
    bounded("threads and a lost device", threads_lose_a_device);
    bounded("heaps", a_heap_that_is_not_made_is_no_failure);
}

/// Places that were begun.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// Runs a part, each place of which must end.
fn bounded(name: &str, part: fn()) {
    let (done, ended) = channel();
    let thread = std::thread::spawn(move || {
        part();
        let _nobody_may_wait = done.send(());
    });
    let mut begun = BEGUN.load(Ordering::SeqCst);
    while ended.recv_timeout(PATIENCE * 5) == Err(RecvTimeoutError::Timeout) {
        let now = BEGUN.load(Ordering::SeqCst);
        assert_ne!(now, begun, "{name} hangs at place {begun}");
        begun = now;
    }
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// At the beginning of each place.
fn set(rules: &str) {
    BEGUN.fetch_add(1, Ordering::SeqCst);
    faults::set(rules).unwrap_or_else(|why| panic!("{why}"));
}

fn injected(site: &str) -> u64 {
    faults::counts(site).expect(site).injected
}

// ---------------------------------------------------------------- the workload

const SIZE: usize = 256;
const SOURCE: &str = "
#include <metal_stdlib>
using namespace metal;
kernel void scale(device const uint* x [[buffer(0)]], device uint* y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    y[i] = x[i] * 3u + 1u;
}
kernel void texels(device uint* y [[buffer(0)]], texture2d<uint, access::read> t [[texture(0)]], uint i [[thread_position_in_grid]]) {
    y[i] ^= t.read(uint2(i % 16u, i / 16u)).x;
}
kernel void add(device const uint* x [[buffer(0)]], device const uint* y [[buffer(1)]], device uint* z [[buffer(2)]],
                uint i [[thread_position_in_grid]]) {
    z[i] = x[i] + y[i];
}
";

/// Where the workload is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Allocate,
    Write,
    Compile,
    Pipeline,
    Encode,
    Commit,
    Execute,
    Wait,
    ReadBack,
    Done,
}

/// Buffers in shared and private storage and of a pool, a texture, two kernels, copies and fills, two submissions of which the second
/// needs the first one's results.
fn work(gpu: &Accelerator, pool: &BufferPool, input: &[u32], stage: &Cell<Stage>) -> Result<Vec<u32>> {
    stage.set(Stage::Allocate);
    let x = gpu.buffer_from(input)?;
    let (mut y, mut z) = (pool.buffer_zeroed::<u32>(SIZE)?, pool.buffer::<u32>(SIZE)?);
    let mut hidden = gpu.buffer_with::<u32>(SIZE, StorageMode::Private)?;
    let texels = gpu.texture_from(&TextureDescriptor::d2(PixelFormat::R32Uint, 16, 16), input)?;
    stage.set(Stage::Write);
    hidden.write_from(input)?;
    stage.set(Stage::Compile);
    let library = gpu.compile_msl(SOURCE)?;
    stage.set(Stage::Pipeline);
    let (scale, xor) = (library.kernel("scale")?, library.kernel("texels")?);
    stage.set(Stage::Encode);
    let mut batch = gpu.batch()?;
    batch.launch(&scale, Grid::linear(SIZE), args![&x, &mut y])?;
    batch.copy(y.view(0..64)?, hidden.view_mut(64..128)?)?;
    batch.fill(hidden.view_mut(0..8)?, 0xFF)?;
    batch.launch(&xor, Grid::linear(SIZE), args![&mut y, &texels])?;
    stage.set(Stage::Commit);
    let first = batch.submit()?;
    stage.set(Stage::Execute);
    let second = scale.launch(Grid::linear(SIZE), args![&y, &mut z])?;
    stage.set(Stage::Wait);
    let waited = second.wait_timeout(PATIENCE).and(first.wait_timeout(PATIENCE));
    stage.set(if waited.is_err() { Stage::Wait } else { Stage::ReadBack });
    let mut results = never_wrong(&waited, z.to_vec(), &[&expected(input)[..SIZE]])?;
    results.extend(hidden.to_vec()?);
    stage.set(Stage::Done);
    Ok(results)
}

/// What was read after a failure: the error, or data that is right all the same.
fn never_wrong(waited: &Result<()>, read: Result<Vec<u32>>, right: &[&[u32]]) -> Result<Vec<u32>> {
    if let (Err(error), Ok(data)) = (waited, &read) {
        assert!(right.contains(&&data[..]), "wrong data behind a failure: {error}");
    }
    waited.clone().and(read)
}

/// A graph with memory of its own, and a step of the host's that does not depend on what the device did before.
fn graph_work(gpu: &Accelerator, pool: &BufferPool, input: &[u32], stage: &Cell<Stage>) -> Result<Vec<u32>> {
    stage.set(Stage::Allocate);
    let x = gpu.buffer_from(input)?;
    let (mut counted, mut sum) = (pool.buffer_zeroed::<u32>(SIZE)?, pool.buffer_zeroed::<u32>(SIZE)?);
    let mut copied = gpu.buffer_zeroed::<u32>(SIZE)?;
    stage.set(Stage::Compile);
    let library = gpu.compile_msl(SOURCE)?;
    stage.set(Stage::Pipeline);
    let (scale, add) = (library.kernel("scale")?, library.kernel("add")?);
    stage.set(Stage::Encode);
    let mut graph = gpu.graph();
    let scaled = graph.transient::<u32>("scaled", SIZE)?;
    graph.launch(&scale, Grid::linear(SIZE), args![&x, scaled.write()])?;
    let behind = gpu.clone();
    graph.host("count", args![&mut counted], move |memory| {
        // Behind what the device does meanwhile: that has ended, well or not, when this has.
        behind.batch()?.submit()?.wait_timeout(PATIENCE)?;
        memory.write::<u32>(0)?.iter_mut().zip(0..).for_each(|(count, i)| *count = i);
        Ok(())
    })?;
    graph.launch(&add, Grid::linear(SIZE), args![scaled.read(), &counted, &mut sum])?;
    graph.copy(&sum, &mut copied)?;
    let mut graph = graph.build()?;
    stage.set(Stage::Execute);
    let waited = graph.run().map(drop);
    stage.set(if waited.is_err() { Stage::Execute } else { Stage::ReadBack });
    let wanted = expected_of_graph(input);
    let mut results = never_wrong(&waited, sum.to_vec(), &[&wanted[..SIZE], &[0; SIZE]])?;
    results.extend(never_wrong(&waited, copied.to_vec(), &[&wanted[SIZE..], &[0; SIZE]])?);
    stage.set(Stage::Done);
    Ok(results)
}

fn expected_of_graph(input: &[u32]) -> Vec<u32> {
    let sums = input.iter().zip(0..).map(|(x, i): (&u32, u32)| x.wrapping_mul(3).wrapping_add(1).wrapping_add(i));
    sums.collect::<Vec<_>>().repeat(2)
}

/// Two queues of one device: the second goes on when the first has signaled an event, and the host when the second has.
fn event_work(gpu: &Accelerator, pool: &BufferPool, input: &[u32], stage: &Cell<Stage>) -> Result<Vec<u32>> {
    stage.set(Stage::Allocate);
    let again = Accelerator::all()?.into_iter().find(|other| other.registry_id() == gpu.registry_id());
    let other = again.ok_or(Error::NoDevice { text: "it was removed".to_owned() })?;
    let (x, mut y) = (gpu.buffer_from(input)?, pool.buffer_zeroed::<u32>(SIZE)?);
    let (a, mut b) = (other.buffer_from(input)?, other.buffer_zeroed::<u32>(SIZE)?);
    let event = gpu.event()?;
    stage.set(Stage::Compile);
    let libraries = (gpu.compile_msl(SOURCE)?, other.compile_msl(SOURCE)?);
    stage.set(Stage::Pipeline);
    let scale = (libraries.0.kernel("scale")?, libraries.1.kernel("scale")?);
    stage.set(Stage::Encode);
    let (mut first, mut second) = (gpu.batch()?, other.batch()?);
    first.launch(&scale.0, Grid::linear(SIZE), args![&x, &mut y])?;
    first.signal(&event, 1)?;
    second.wait_for(&event, 1)?;
    second.launch(&scale.1, Grid::linear(SIZE), args![&a, &mut b])?;
    second.signal(&event, 2)?;
    stage.set(Stage::Commit);
    let (first, second) = (first.submit()?, second.submit()?);
    stage.set(Stage::Wait);
    let waited = event.wait_timeout(2, PATIENCE).and(second.wait_timeout(PATIENCE)).and(first.wait_timeout(PATIENCE));
    stage.set(if waited.is_err() { Stage::Wait } else { Stage::ReadBack });
    let wanted = expected_of_events(input);
    let mut results = never_wrong(&waited, y.to_vec(), &[&wanted[..SIZE]])?;
    results.extend(never_wrong(&waited, b.to_vec(), &[&wanted[SIZE..]])?);
    stage.set(Stage::Done);
    Ok(results)
}

fn expected_of_events(input: &[u32]) -> Vec<u32> {
    input.iter().map(|x| x.wrapping_mul(3).wrapping_add(1)).collect::<Vec<_>>().repeat(2)
}

/// A stream that hands over two commands at a time, and its first failure at the end.
fn stream_work(gpu: &Accelerator, pool: &BufferPool, input: &[u32], stage: &Cell<Stage>) -> Result<Vec<u32>> {
    stage.set(Stage::Allocate);
    let x = gpu.buffer_from(input)?;
    let (mut y, mut z) = (pool.buffer_zeroed::<u32>(SIZE)?, pool.buffer_zeroed::<u32>(SIZE)?);
    let (mut copied, mut sum) = (gpu.buffer_zeroed::<u32>(SIZE)?, gpu.buffer_zeroed::<u32>(SIZE)?);
    stage.set(Stage::Compile);
    let library = gpu.compile_msl(SOURCE)?;
    stage.set(Stage::Pipeline);
    let (scale, add) = (library.kernel("scale")?, library.kernel("add")?);
    let limits = StreamLimits { commands: 2, age: Duration::MAX, in_flight: 2, ..StreamLimits::default() };
    let (stream, grid) = (gpu.stream(limits), Grid::linear(SIZE));
    stage.set(Stage::Encode);
    let mut give = || {
        stream.launch(&scale, grid, args![&x, &mut y])?;
        stream.launch(&scale, grid, args![&y, &mut z])?;
        stream.copy(&z, &mut copied)?;
        stream.launch(&add, grid, args![&copied, &y, &mut sum])?;
        stream.launch(&scale, grid, args![&sum, &mut y])?;
        stage.set(Stage::Wait);
        stream.wait()
    };
    let waited = give();
    stage.set(if waited.is_err() { stage.get() } else { Stage::ReadBack });
    let (wanted, zeros) = (expected_of_stream(input), [0; SIZE]);
    let first: Vec<u32> = input.iter().map(|x| x.wrapping_mul(3).wrapping_add(1)).collect();
    let mut results = never_wrong(&waited, y.to_vec(), &[&wanted[..SIZE], &first, &zeros]);
    for (buffer, right) in [&z, &copied, &sum].into_iter().zip(wanted.chunks(SIZE).skip(1)) {
        let read = never_wrong(&waited, buffer.to_vec(), &[right, &zeros]);
        results = results.and_then(|results| Ok([results, read?].concat()));
    }
    let results = results?;
    stage.set(Stage::Done);
    Ok(results)
}

fn expected_of_stream(input: &[u32]) -> Vec<u32> {
    let scaled = |x: &[u32]| x.iter().map(|x| x.wrapping_mul(3).wrapping_add(1)).collect::<Vec<u32>>();
    let (y, z) = (scaled(input), scaled(&scaled(input)));
    let sum: Vec<u32> = y.iter().zip(&z).map(|(y, z)| y.wrapping_add(*z)).collect();
    [scaled(&sum), z.clone(), z, sum].concat()
}

/// With a pool of the device's and an input; tells where it is.
type Run = fn(&Accelerator, &BufferPool, &[u32], &Cell<Stage>) -> Result<Vec<u32>>;

struct Work {
    run: Run,
    expected: fn(&[u32]) -> Vec<u32>,
}

const WORKS: [Work; 4] = [
    Work { run: work, expected },
    Work { run: graph_work, expected: expected_of_graph },
    Work { run: event_work, expected: expected_of_events },
    Work { run: stream_work, expected: expected_of_stream },
];

/// The same on the host.
fn expected(input: &[u32]) -> Vec<u32> {
    let scaled: Vec<u32> = input.iter().map(|x| x.wrapping_mul(3).wrapping_add(1)).collect();
    let mixed = scaled.iter().zip(input).map(|(y, t)| y ^ t);
    let mut results: Vec<u32> = mixed.map(|y| y.wrapping_mul(3).wrapping_add(1)).collect();
    let mut hidden = input.to_vec();
    hidden[64..128].copy_from_slice(&scaled[..64]);
    hidden[..8].fill(u32::MAX);
    results.extend(hidden);
    results
}

fn input(seed: u64) -> Vec<u32> {
    Random(seed).words(SIZE)
}

/// Waits until it holds, which is soon: what a submission held is given back by Metal's threads.
fn until(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        std::thread::yield_now();
    }
}

fn nothing_is_lent(pool: &BufferPool) {
    until("the pool's buffers come back", || pool.stats().used_buffers == 0);
    let stats = pool.stats();
    assert_eq!((stats.used_bytes, stats.waste_bytes), (0, 0), "{stats:?}");
    assert_eq!(stats.idle_buffers + stats.released, stats.misses, "{stats:?}");
    pool.trim(0);
    assert_eq!((pool.stats().heaps, pool.stats().heap_bytes), (0, 0), "a heap without buffers");
}

/// One run on a device of its own making, from nothing to nothing; where it ended, and how.
fn run(work: &Work, witness: &Accelerator, seed: u64) -> (Stage, Result<Vec<u32>>) {
    let before = witness.allocated_bytes();
    let stage = Cell::new(Stage::Allocate);
    let result = Accelerator::all().and_then(|all| {
        let gpu = &all[0];
        let pool = gpu.pool(PoolLimits::default());
        let result = (work.run)(gpu, &pool, &input(seed), &stage);
        nothing_is_lent(&pool);
        result
    });
    until("all memory is given back", || witness.allocated_bytes() <= before);
    (stage.get(), result)
}

// ---------------------------------------------------------------- one fault at every place

/// A fault, and what its error is to be; `None` for one that only takes time.
struct Fault {
    site: &'static str,
    keys: &'static str,
    kind: Option<ErrorKind>,
}

const fn fault(site: &'static str, keys: &'static str, kind: ErrorKind) -> Fault {
    Fault { site, keys, kind: Some(kind) }
}

const fn slow(site: &'static str) -> Fault {
    Fault { site, keys: "slow=1ms", kind: None }
}

use ErrorKind::{Device, DeviceLost, Resource, Transient, Unsupported, User};

const FAULTS: &[Fault] = &[
    fault("buffer", "", Resource),
    fault("texture", "", Resource),
    fault("heap", "", Resource),
    fault("queue", "", Resource),
    fault("command_buffer", "", Resource),
    fault("encoder", "", Resource),
    fault("compile", "error=internal", Transient),
    fault("compile", "error=compile_failure", User),
    fault("compile", "error=unsupported", Unsupported),
    slow("compile"),
    fault("pipeline", "error=internal", Transient),
    fault("pipeline", "error=compile_failure", Device),
    fault("pipeline", "error=unsupported", Unsupported),
    slow("pipeline"),
    fault("commit", "error=internal", Transient),
    fault("commit", "error=timeout", Device),
    fault("commit", "error=page_fault", Device),
    fault("commit", "error=access_revoked", DeviceLost),
    fault("commit", "error=not_permitted", Transient),
    fault("commit", "error=out_of_memory", Resource),
    fault("commit", "error=invalid_resource", Device),
    fault("commit", "error=memoryless", Resource),
    fault("commit", "error=device_removed", DeviceLost),
    fault("commit", "error=stack_overflow", Device),
    slow("commit"),
    slow("complete"),
];

/// When a command buffer fails.
const MOMENTS: [(&str, &str); 3] = [("before", ""), ("midway", ":after=1"), ("after", ":after=end")];

impl Fault {
    /// Its rules, each with what it is called.
    fn rules(&self) -> Vec<(String, String)> {
        let Fault { site, keys, kind } = self;
        let rule = if keys.is_empty() { (*site).to_owned() } else { format!("{site}:{keys}") };
        let name = rule.replacen("error=", "", 1);
        if *site == "commit" && kind.is_some() {
            return MOMENTS.iter().map(|(when, key)| (format!("{name}, {when}"), format!("{rule}{key}"))).collect();
        }
        vec![(name, rule)]
    }
}

/// Whether a program may go on after that error, having done it again.
fn may_pass(kind: ErrorKind) -> bool {
    matches!(kind, Transient | Resource)
}

#[derive(Default)]
struct Row {
    places: u64,
    data: u64,
    errors: u64,
}

fn matrix() {
    let witness = &Accelerator::all().expect("devices")[0];
    let sites: Vec<&str> = FAULTS.iter().map(|fault| fault.site).collect();
    let counts = WORKS.each_ref().map(|work| {
        set("seed=1");
        let (_, plain) = run(work, witness, 0);
        assert_eq!(plain.expect("it runs"), (work.expected)(&input(0)));
        let count = |site: &&'static str| (*site, faults::counts(site).expect(site).events);
        sites.iter().map(count).collect::<BTreeMap<&str, u64>>()
    });
    let mut text = "| fault | places | right data | right error |\n| --- | --- | --- | --- |\n".to_owned();
    let (mut all, mut stages) = (Row::default(), BTreeMap::<Stage, u64>::new());
    for fault in FAULTS {
        for (name, rule) in fault.rules() {
            let mut row = Row::default();
            let places =
                WORKS.iter().zip(&counts).flat_map(|(work, counts)| (1..=counts[fault.site]).map(move |at| (work, at)));
            for (work, place) in places {
                let rule = format!("{rule}:at={place}");
                set(&rule);
                let (stage, result) = run(work, witness, place);
                assert_eq!(injected(fault.site), 1, "{rule}: it was there");
                row.places += 1;
                match (result, fault.kind) {
                    (Ok(data), kind) => {
                        assert_eq!(data, (work.expected)(&input(place)), "{rule}: wrong data without an error");
                        // A pool tries again when it had buffers to let go of.
                        assert!(kind.is_none() || fault.site == "buffer", "{rule}: a fault was not told");
                        row.data += 1;
                    }
                    (Err(error), Some(kind)) => {
                        assert_eq!(error.kind(), kind, "{rule}, {stage:?}: {error}");
                        row.errors += 1;
                        *stages.entry(stage).or_default() += 1;
                    }
                    (Err(error), None) => panic!("{rule}, {stage:?}: {error}"),
                }
            }
            writeln!(text, "| {name} | {} | {} | {} |", row.places, row.data, row.errors).expect("a String grows");
            all.places += row.places;
            all.data += row.data;
            all.errors += row.errors;
        }
    }
    set("");
    writeln!(text, "| all | {} | {} | {} |", all.places, all.data, all.errors).expect("a String grows");
    let by_stage: Vec<String> = stages.iter().map(|(stage, count)| format!("{stage:?} {count}")).collect();
    println!("{text}\nStages that told of a fault: {}.\n", by_stage.join(", "));
    assert!(all.places > 100, "the workload has places");
    for stage in
        [Stage::Allocate, Stage::Write, Stage::Compile, Stage::Pipeline, Stage::Encode, Stage::Wait, Stage::ReadBack]
    {
        assert!(stages.contains_key(&stage), "no fault was told by {stage:?}");
    }
}

// ---------------------------------------------------------------- recovery

/// As many faults in a row as there are retries, and one more.
fn transient_faults_are_recovered_from() {
    let witness = &Accelerator::all().expect("devices")[0];
    let (mut faults, mut recovered, mut given_up) = (0, 0, 0);
    for fault in FAULTS.iter().filter(|fault| fault.kind.is_some_and(may_pass)) {
        // A queue is an accelerator's, which is there before the work; heaps are not used.
        if matches!(fault.site, "queue" | "heap") {
            continue;
        }
        for (_, rule) in fault.rules() {
            for times in 1..=5 {
                let before = witness.allocated_bytes();
                let all = Accelerator::all().expect("devices");
                let gpu = &all[0];
                let pool = gpu.pool(PoolLimits::default());
                let limits = BreakerLimits { failures: 6, pause: Duration::MAX };
                let recovery = Recovery::new([gpu.clone()]).retries(NO_PAUSES).breaker_limits(limits).pool(&pool);
                let rule = format!("{rule}:times={times}");
                set(&rule);
                let (input, stage) = (input(times), Cell::new(Stage::Allocate));
                let result = recovery.run_or(|gpu| work(gpu, &pool, &input, &stage), |_| expected(&input));
                let result = result.unwrap_or_else(|error| panic!("{rule}: {error}"));
                assert_eq!(result.value, expected(&input), "{rule}");
                assert_eq!(injected(fault.site), times, "{rule}");
                assert!(
                    result.failures.iter().all(|error| Some(error.kind()) == fault.kind),
                    "{rule}: {:?}",
                    result.failures
                );
                faults += times;
                match &result.origin {
                    Origin::Device(_) => {
                        assert!(times <= 4 || fault.site == "buffer", "{rule}");
                        recovered += times;
                    }
                    Origin::Host => {
                        assert_eq!((times, result.failures.len()), (5, 5), "{rule}: within the retries");
                        given_up += times;
                    }
                }
                nothing_is_lent(&pool);
                drop((result, recovery, pool, all));
                until("all memory is given back", || witness.allocated_bytes() <= before);
            }
        }
    }
    set("");
    println!(
        "Retries: {faults} faults that may pass, up to 4 in a row: {recovered} were recovered from on the device, {given_up} came 5 in a row and went to the host.\n"
    );
    assert!(recovered > 100 && given_up > 0);
}

// ---------------------------------------------------------------- a device that goes

fn a_device_may_go_at_any_submission() {
    set("seed=1");
    let (_, counted) = run(&WORKS[0], &Accelerator::all().expect("devices")[0], 0);
    counted.expect("it runs");
    let places = faults::counts("commit").expect("a site").events;
    for place in 1..=places {
        let all = Accelerator::all().expect("devices");
        let (gpu, other) = (&all[0], &all[1]);
        let before: u64 = all.iter().map(Accelerator::allocated_bytes).sum();
        let (old_pool, others) = (gpu.pool(PoolLimits::default()), other.pool(PoolLimits::default()));
        let (input, stage) = (input(place), Cell::new(Stage::Allocate));
        // Kept across the loss: the host reads what was done before.
        let kept = gpu.buffer_from(&input).expect("a buffer");
        let telemetry = gpu.telemetry();
        let lost = || telemetry.health().reasons.contains(&Reason::Lost);
        assert!(!lost());
        set(&format!("commit:remove:at={place}:device=0"));
        let error = work(gpu, &old_pool, &input, &stage).expect_err("the device goes");
        assert_eq!((error.kind(), injected("commit")), (DeviceLost, 1), "{place}: {error}");
        assert_eq!(kept.to_vec().expect("memory stays"), input);
        let failed = telemetry.snapshot().failed;
        assert!(lost() && failed.iter().any(|(kind, count)| *kind == DeviceLost && *count > 0), "{failed:?}");
        // What is asked of it afterwards says so too, and not that memory is out.
        for error in [
            gpu.buffer_zeroed::<u32>(1).expect_err("it has gone"),
            gpu.texture(&TextureDescriptor::d1(PixelFormat::R32Uint, 1)).expect_err("it has gone"),
            gpu.batch().and_then(|batch| batch.submit()?.wait()).expect_err("it has gone"),
        ] {
            assert_eq!(error.kind(), DeviceLost, "{error}");
        }
        let recovery = Recovery::new([gpu.clone(), other.clone()]).retries(NO_PAUSES);
        let pool_of = |own: &Accelerator| if own.registry_id() == other.registry_id() { &others } else { &old_pool };
        let result = recovery.run(|gpu| work(gpu, pool_of(gpu), &input, &stage)).expect("the other device");
        assert_eq!((result.value, recovery.devices().len()), (expected(&input), 1));
        assert!(matches!(&result.origin, Origin::Device(own) if own.registry_id() == other.registry_id()));
        assert_eq!(result.failures.iter().map(Error::kind).collect::<Vec<_>>(), [DeviceLost]);
        // And what comes in its place.
        let alone = Recovery::new([gpu.clone()]).retries(NO_PAUSES).find(Accelerator::all);
        assert_eq!(alone.run(|gpu| work(gpu, &old_pool, &input, &stage)).expect_err("it has gone").kind(), DeviceLost);
        assert!(ffi::hm_device_add(0));
        let again = Accelerator::all().expect("devices");
        assert!(again[0].registry_id() != gpu.registry_id());
        let pool = again[0].pool(PoolLimits::default());
        let found = alone.run(|gpu| work(gpu, &gpu.pool(PoolLimits::default()), &input, &stage)).expect("the new one");
        assert_eq!((found.value, found.failures.len()), (expected(&input), 0));
        assert_eq!(work(&again[0], &pool, &input, &stage).expect("the new one"), expected(&input));
        nothing_is_lent(&pool);
        drop((kept, pool, old_pool, others));
        until("memory is given back", || all.iter().map(Accelerator::allocated_bytes).sum::<u64>() <= before);
    }
    set("");
    println!(
        "Removals: the device went at each of {places} submissions: the right error, the other device's right data, the new one's.\n"
    );
}

// ---------------------------------------------------------------- threads

/// Runs by threads, by how they ended.
#[derive(Default)]
struct Ends {
    device: AtomicU64,
    retried: AtomicU64,
    host: AtomicU64,
    /// Those that found every device left alone.
    paused: AtomicU64,
    errors: Mutex<BTreeMap<String, u64>>,
}

/// The pool of a device, made when it is asked for.
#[derive(Default)]
struct Pools(Mutex<BTreeMap<u64, BufferPool>>);

impl Pools {
    fn of(&self, gpu: &Accelerator) -> BufferPool {
        let mut pools = self.0.lock().expect("no panic");
        // Every other device's makes small buffers in heaps.
        let limits = PoolLimits { heaps: gpu.registry_id().is_multiple_of(2), ..PoolLimits::default() };
        pools.entry(gpu.registry_id()).or_insert_with(|| gpu.pool(limits)).clone()
    }
}

const THREADS: u64 = 4;

/// Each thread runs the workload so often; errors are of one of these kinds.
fn by_threads(recovery: &Recovery, pools: &Pools, ends: &Ends, rounds: u64, allowed: &[ErrorKind]) {
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                for round in 0..rounds {
                    let (input, stage) = (input(thread << 32 | round), Cell::new(Stage::Allocate));
                    let result = recovery.run_or(|gpu| work(gpu, &pools.of(gpu), &input, &stage), |_| expected(&input));
                    match result {
                        Ok(result) => {
                            assert_eq!(result.value, expected(&input), "wrong data without an error");
                            let paused = result.failures.iter().any(|error| matches!(error, Error::DevicesPaused));
                            ends.paused.fetch_add(u64::from(paused), Ordering::Relaxed);
                            let count = match (&result.origin, result.failures.len()) {
                                (Origin::Host, _) => &ends.host,
                                (_, 0) => &ends.device,
                                _ => &ends.retried,
                            };
                            count.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(error) => {
                            assert!(allowed.contains(&error.kind()), "{:?}: {error}", error.kind());
                            *ends.errors.lock().expect("no panic").entry(format!("{:?}", error.kind())).or_default() +=
                                1;
                        }
                    }
                }
            });
        }
    });
}

impl Ends {
    fn print(&self, name: &str) {
        let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
        println!(
            "{name}: right data at once {}, right data after retries or on another device {}, right data by the host {}, errors {:?}.\n",
            count(&self.device),
            count(&self.retried),
            count(&self.host),
            self.errors.lock().expect("no panic")
        );
    }
}

fn threads_meet_faults_by_chance() {
    let ends = Ends::default();
    let mut faults = 0;
    for seed in 1..=8 {
        let all = Accelerator::all().expect("devices");
        let before: u64 = all.iter().map(Accelerator::allocated_bytes).sum();
        let pools = Pools::default();
        let limits = BreakerLimits { failures: 5, pause: Duration::from_millis(1) };
        let recovery = Recovery::new(all.clone()).retries(NO_PAUSES).breaker_limits(limits);
        set(&format!(
            "seed={seed}; allocation:p=0.02; command_buffer:p=0.02; encoder:p=0.02; compile:error=internal:p=0.2; pipeline:p=0.2; \
             commit:p=0.02; commit:error=out_of_memory:after=1:p=0.02; commit:error=not_permitted:after=end:p=0.02; \
             commit:error=page_fault:after=1:p=0.01; commit:slow=300us:p=0.05; complete:slow=300us:p=0.05"
        ));
        by_threads(&recovery, &pools, &ends, 12, &[Device]);
        faults += ["allocation", "command_buffer", "encoder", "compile", "pipeline", "commit", "complete"]
            .map(injected)
            .iter()
            .sum::<u64>();
        set("");
        let pools = pools.0.into_inner().expect("no panic");
        pools.values().for_each(nothing_is_lent);
        drop((pools, recovery));
        until("all memory is given back", || all.iter().map(Accelerator::allocated_bytes).sum::<u64>() <= before);
    }
    ends.print(&format!("Chance: {THREADS} threads, {faults} faults"));
    assert!(faults > 100 && ends.retried.load(Ordering::Relaxed) > 0);
    assert!(ends.errors.lock().expect("no panic").keys().eq(["Device"]), "page faults are told, and nothing else");
}

fn threads_lose_a_device() {
    let ends = Ends::default();
    for place in [1, 3, 8, 20, 33] {
        set(&format!("commit:remove:at={place}:device=0; commit:slow=300us:p=0.2"));
        let pools = Arc::new(Pools::default());
        let first = Accelerator::all().expect("devices").swap_remove(0);
        // The other device serves while the first is away; then the first is back, under another identity.
        let recovery = Recovery::new([first.clone()]).retries(NO_PAUSES).find(Accelerator::all);
        by_threads(&recovery, &pools, &ends, 8, &[]);
        assert!(!recovery.devices().is_empty() && first.buffer_zeroed::<u8>(1).is_err());
        assert!(ffi::hm_device_add(0));
        by_threads(&recovery, &pools, &ends, 2, &[]);
        set("");
        pools.0.lock().expect("no panic").values().for_each(nothing_is_lent);
    }
    ends.print(&format!("Removals under load: {THREADS} threads, 5 removals"));
    assert_eq!(ends.paused.load(Ordering::Relaxed), 0, "a device that has gone is not one that fails repeatedly");
}

/// Where there is no heap, or no room for a buffer in it, the buffer has an allocation of its own.
fn a_heap_that_is_not_made_is_no_failure() {
    let gpu = &Accelerator::all().expect("devices")[0];
    let before = gpu.allocated_bytes();
    // Rules, heaps of four buffers, and whether the first is made.
    for (rules, heaps, made) in [
        ("seed=1", 1, true),
        ("heap", 0, true),
        ("heap:at=1", 1, true),
        ("buffer:at=1", 1, true),
        ("buffer:times=2", 1, false),
        ("allocation", 0, false),
    ] {
        set(rules);
        let pool = gpu.pool(PoolLimits { heaps: true, ..PoolLimits::default() });
        let buffers: Vec<_> = (0..4).map(|i| pool.buffer_from(&[i; 200])).collect();
        let site = rules.split(':').next().expect("a site");
        assert_eq!(
            made && rules == "seed=1",
            faults::counts(site).is_none_or(|counts| counts.injected == 0),
            "{rules}"
        );
        set("");
        assert_eq!(buffers[0].is_ok(), made, "{rules}");
        for (i, buffer) in (0..).zip(&buffers) {
            match buffer {
                Ok(buffer) => assert_eq!(buffer.to_vec().expect("no fault"), [i; 200], "{rules}"),
                Err(error) => assert_eq!(error.kind(), ErrorKind::Resource, "{rules}: {error}"),
            }
        }
        let stats = pool.stats();
        assert_eq!((stats.heaps, stats.used_buffers), (heaps, buffers.iter().flatten().count() as u64), "{rules}");
        drop(buffers);
        nothing_is_lent(&pool);
        assert_eq!(gpu.allocated_bytes(), before, "{rules}");
    }
}
