//! Every fault that hostmetal can inject, at every place of a mixed workload: the result is right data or the right error, nothing
//! hangs, nothing is left behind. `cargo test -p dcmetal --test faults -- --nocapture` prints the tables and counts of docs/RECOVERY.md.
#![cfg(target_os = "linux")]

#[path = "../common/mod.rs"]
mod common;
mod folder;
mod live;
mod matrix;
mod programs;
mod works;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use common::Random;
use dcmetal::ErrorKind::{Device, DeviceLost};
use dcmetal::telemetry::Reason;
use dcmetal::tensor::{Activation, Implementation, Product, Tensor, TensorMut, activate_by, product_with};
use dcmetal::{
    Accelerator, BreakerLimits, Buffer, BufferPool, Error, ErrorKind, Grid, Kernel, Origin, PixelFormat, PoolLimits,
    Recovery, Retries, SamplerDescriptor, TextureDescriptor, args,
};
use hostmetal::{faults, ffi};
use matrix::{FAULTS, count_in_document, may_pass};
use works::{PATIENCE, Progress, SIZE, WORKS, Work, batches, expected_of_batches};

const NO_PAUSES: Retries = Retries { count: 4, first_pause: Duration::ZERO, longest_pause: Duration::ZERO };

#[test]
fn every_fault_ends_in_right_data_or_the_right_error() {
    if std::env::var_os(matrix::CHILD).is_some() {
        bounded("what takes for ever", matrix::endless);
        return;
    }
    let cache = tempfile::tempdir().expect("a folder");
    let variables = [
        ("HOSTMETAL_DEVICES", "2".as_ref()),
        // Whose memory is not the machine's: managed storage.
        ("HOSTMETAL_DEVICE_1", "family=mac2,location=slot".as_ref()),
        ("HOSTMETAL_CACHE_DIR", cache.path().as_os_str()),
    ];
    for (name, value) in variables {
        // SAFETY: one test, and nothing has read the environment yet.
        unsafe { std::env::set_var(name, value) };
    }
    bounded("the matrix", matrix::matrix);
    bounded("kernels in a folder", folder::kernels_in_a_folder);
    bounded("kept kernels", matrix::kept_kernels);
    bounded("programs by chance", programs::programs);
    bounded("retries", transient_faults_are_recovered_from);
    bounded("a lost device", a_device_may_go_at_any_submission);
    bounded("threads and chance", threads_meet_faults_by_chance);
    bounded("threads and a lost device", threads_lose_a_device);
    bounded("heaps", a_heap_that_is_not_made_is_no_failure);
    bounded("passes of Metal Performance Shaders", a_pass_without_an_encoder_is_out_of_memory);
}

/// Whether a sanitizer looks on, which takes many times as long: one place of sixteen has to do then, and an eighth of the programs.
fn is_sanitized() -> bool {
    std::env::var_os("DCMETAL_SANITIZE").is_some()
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

/// Waits until the devices have no more memory in use than before, without what the accelerators would use again.
fn all_is_given_back(all: &[Accelerator], before: u64) {
    until("all memory is given back", || {
        all.iter().for_each(|gpu| _ = gpu.trim_staging(0));
        all.iter().map(Accelerator::allocated_bytes).sum::<u64>() <= before
    });
}

/// Also while the pool's own thread lets go of what is old: for that moment a buffer is neither idle nor released.
fn nothing_is_lent(pool: &BufferPool) {
    until("the pool's buffers come back", || pool.stats().used_buffers == 0);
    let stats = pool.stats();
    assert_eq!((stats.used_bytes, stats.waste_bytes), (0, 0), "{stats:?}");
    until("each buffer is idle or was released", || {
        let stats = pool.stats();
        stats.idle_buffers + stats.released == stats.misses
    });
    pool.trim(0);
    until("heaps go with their buffers", || {
        let stats = pool.stats();
        (stats.heaps, stats.heap_bytes) == (0, 0)
    });
}

// ---------------------------------------------------------------- recovery

/// As many faults in a row as there are retries, and one more.
fn transient_faults_are_recovered_from() {
    let witness = &Accelerator::all().expect("devices")[0];
    let (mut faults, mut recovered, mut given_up) = (0, 0, 0);
    for fault in FAULTS.iter().filter(|fault| fault.kind.is_some_and(may_pass)) {
        // A queue is an accelerator's, which is there before the work; heaps, events and fences are not used.
        if matches!(fault.site, "queue" | "heap" | "event" | "fence") {
            continue;
        }
        for (_, rule) in fault.rules() {
            for times in 1..=5 {
                let before = witness.allocated_bytes();
                let all = Accelerator::all().expect("devices");
                let gpu = &all[0];
                let pool = gpu.pool(PoolLimits::default());
                let limits = BreakerLimits { failures: 6, pause: Duration::MAX };
                let recovery = Recovery::new([gpu.clone()]).retries(NO_PAUSES).breaker_limits(limits);
                let rule = format!("{rule}:times={times}");
                set(&rule);
                let (input, progress) = (input(times), Progress::new());
                let result =
                    recovery.run_or(|gpu| batches(gpu, &pool, &input, &progress), |_| expected_of_batches(&input));
                let result = result.unwrap_or_else(|error| panic!("{rule}: {error}"));
                assert_eq!(result.value, expected_of_batches(&input), "{rule}");
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
    count_in_document("all # were recovered from on the device", recovered);
}

// ---------------------------------------------------------------- a device that goes

/// What Metal makes, with the site of its fault.
type Maker = fn(&Accelerator, &Kernel, &mut Buffer<u32>) -> dcmetal::Result<()>;
const MAKERS: [(&str, Maker); 5] = [
    ("sampler", |gpu, _, _| gpu.sampler(&SamplerDescriptor::default()).map(drop)),
    ("event", |gpu, _, _| gpu.event().map(drop)),
    ("command_buffer", |gpu, _, _| gpu.batch().map(drop)),
    ("encoder", |gpu, kernel, y| gpu.batch()?.launch(kernel, Grid::linear(1), args![y])),
    ("encoder", |gpu, _, y| gpu.batch()?.fill(y, 1)),
];

fn a_device_may_go_at_any_submission() {
    let places = matrix::commits_of_batches();
    for place in 1..=places {
        let all = Accelerator::all().expect("devices");
        let (gpu, other) = (&all[0], &all[1]);
        let before: u64 = all.iter().map(Accelerator::allocated_bytes).sum();
        let (old_pool, others) = (gpu.pool(PoolLimits::default()), other.pool(PoolLimits::default()));
        let (input, progress) = (input(place), Progress::new());
        // Kept across the loss: the host reads what was done before.
        let kept = gpu.buffer_from(&input).expect("a buffer");
        let library =
            gpu.compile_msl("kernel void run(device uint* y [[buffer(0)]]) { y[0] = 1; }").expect("it compiles");
        let (kernel, mut written) = (library.kernel("run").expect("a kernel"), gpu.buffer_zeroed(4).expect("a buffer"));
        let telemetry = gpu.telemetry();
        let lost = || telemetry.health().reasons.contains(&Reason::Lost);
        assert!(!lost());
        set(&format!("commit:remove:at={place}:device=0"));
        let error = batches(gpu, &old_pool, &input, &progress).expect_err("the device goes");
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
        for (site, make) in MAKERS {
            set(&format!("{site}:at=1"));
            let error = make(gpu, &kernel, &mut written).expect_err("nil");
            assert_eq!((error.kind(), injected(site)), (DeviceLost, 1), "{site}: {error}");
        }
        let recovery = Recovery::new([gpu.clone(), other.clone()]).retries(NO_PAUSES);
        let pool_of = |own: &Accelerator| if own.registry_id() == other.registry_id() { &others } else { &old_pool };
        let result = recovery.run(|gpu| batches(gpu, pool_of(gpu), &input, &progress)).expect("the other device");
        assert_eq!((result.value, recovery.devices().len()), (expected_of_batches(&input), 1));
        assert!(matches!(&result.origin, Origin::Device(own) if own.registry_id() == other.registry_id()));
        assert_eq!(result.failures.iter().map(Error::kind).collect::<Vec<_>>(), [DeviceLost]);
        // And what comes in its place.
        let alone = Recovery::new([gpu.clone()]).retries(NO_PAUSES).find(Accelerator::all);
        assert_eq!(
            alone.run(|gpu| batches(gpu, &old_pool, &input, &progress)).expect_err("it has gone").kind(),
            DeviceLost
        );
        assert!(ffi::hm_device_add(0));
        let again = Accelerator::all().expect("devices");
        assert!(again[0].registry_id() != gpu.registry_id());
        let pool = again[0].pool(PoolLimits::default());
        let found =
            alone.run(|gpu| batches(gpu, &gpu.pool(PoolLimits::default()), &input, &progress)).expect("the new one");
        assert_eq!((found.value, found.failures.len()), (expected_of_batches(&input), 0));
        assert_eq!(batches(&again[0], &pool, &input, &progress).expect("the new one"), expected_of_batches(&input));
        nothing_is_lent(&pool);
        drop((kept, written, pool, old_pool, others));
        all_is_given_back(&all, before);
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
        // Every other device's makes small buffers in heaps. What is idle goes while others ask for it.
        let idle_age = Duration::from_millis(10);
        let limits = PoolLimits { heaps: gpu.registry_id().is_multiple_of(2), idle_age, ..PoolLimits::default() };
        pools.entry(gpu.registry_id()).or_insert_with(|| gpu.pool(limits)).clone()
    }
}

const THREADS: u64 = 4;

/// Each thread runs these workloads in turn, so often in all; errors are of one of these kinds.
fn by_threads(
    recovery: &Recovery,
    pools: &Pools,
    ends: &Ends,
    (works, rounds): (&[&Work], u64),
    allowed: &[ErrorKind],
) {
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                for round in 0..rounds {
                    let (input, progress) = (input(thread << 32 | round), Progress::new());
                    let work = works[(thread + round) as usize % works.len()];
                    let (run, expected) = (work.run, (work.expected)(&input));
                    let result =
                        recovery.run_or(|gpu| run(gpu, &pools.of(gpu), &input, &progress), |_| expected.clone());
                    match result {
                        Ok(result) => {
                            assert!(result.value == expected, "{}: wrong data without an error", work.name);
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
                            assert!(allowed.contains(&error.kind()), "{}: {:?}: {error}", work.name, error.kind());
                            let mut errors = ends.errors.lock().expect("no panic");
                            *errors.entry(format!("{:?}", error.kind())).or_default() += 1;
                        }
                    }
                }
            });
        }
    });
}

impl Ends {
    fn runs(&self) -> u64 {
        let right = [&self.device, &self.retried, &self.host].map(|count| count.load(Ordering::Relaxed));
        right.iter().sum::<u64>() + self.errors.lock().expect("no panic").values().sum::<u64>()
    }

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
    let (works, ends) = (WORKS.each_ref(), Ends::default());
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
        by_threads(&recovery, &pools, &ends, (&works, 12), &[Device]);
        faults += ["allocation", "command_buffer", "encoder", "compile", "pipeline", "commit", "complete"]
            .map(injected)
            .iter()
            .sum::<u64>();
        set("");
        let pools = pools.0.into_inner().expect("no panic");
        pools.values().for_each(nothing_is_lent);
        drop((pools, recovery));
        all_is_given_back(&all, before);
    }
    ends.print(&format!("Chance: {THREADS} threads, {faults} faults"));
    count_in_document("with faults by chance, 8 seeds, # runs of all workloads", ends.runs());
    assert!(faults > 100 && ends.retried.load(Ordering::Relaxed) > 0);
    assert!(ends.errors.lock().expect("no panic").keys().eq(["Device"]), "page faults are told, and nothing else");
}

fn threads_lose_a_device() {
    // Without those that need both.
    let works: Vec<&Work> = WORKS.iter().filter(|work| !work.needs_two).collect();
    let ends = Ends::default();
    for place in [1, 3, 8, 20, 33] {
        set(&format!("commit:remove:at={place}:device=0; commit:slow=300us:p=0.2"));
        let pools = Arc::new(Pools::default());
        let first = Accelerator::all().expect("devices").swap_remove(0);
        // The other device serves while the first is away; then the first is back, under another identity.
        let recovery = Recovery::new([first.clone()]).retries(NO_PAUSES).find(Accelerator::all);
        by_threads(&recovery, &pools, &ends, (&works, 8), &[]);
        assert!(!recovery.devices().is_empty() && first.buffer_zeroed::<u8>(1).is_err());
        assert!(ffi::hm_device_add(0));
        by_threads(&recovery, &pools, &ends, (&works, 2), &[]);
        set("");
        pools.0.lock().expect("no panic").values().for_each(nothing_is_lent);
    }
    ends.print(&format!("Removals under load: {THREADS} threads, 5 removals"));
    count_in_document(
        "in mid-run, five times, # runs of all workloads but the one that needs both devices",
        ends.runs(),
    );
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

/// A kernel of Metal Performance Shaders makes its encoder itself. Where Metal gives none, that is told as of any other encoder.
fn a_pass_without_an_encoder_is_out_of_memory() {
    let gpu = &Accelerator::all().expect("devices")[0];
    let before = gpu.allocated_bytes();
    let by = Implementation::PerformanceShaders;
    let what = Product { implementation: by, ..Product::default() };
    let (x, mut y, mut z) = (
        gpu.buffer_from(&[1.0f32, 0.0, 0.0, 1.0]).expect("a buffer"),
        gpu.buffer_zeroed::<f32>(4).expect("a buffer"),
        gpu.buffer_zeroed::<f32>(4).expect("a buffer"),
    );
    // Of the first of two passes, of the second, and of none.
    for (rules, ends) in [("encoder:at=1", [false, true]), ("encoder:at=2", [true, false]), ("seed=1", [true, true])] {
        let mut batch = gpu.batch().expect("a batch");
        let view = || Tensor::new(&x, &[2, 2]).expect("a view");
        let multiplied = product_with(view(), view(), TensorMut::new(&mut y, &[2, 2]).expect("a view"), &what);
        let activated = activate_by(Activation::Relu, view(), TensorMut::new(&mut z, &[2, 2]).expect("a view"), by);
        set(rules);
        for (operation, ends) in [multiplied, activated].into_iter().zip(ends) {
            let operation = operation.unwrap_or_else(|error| panic!("{error}"));
            assert!(operation.implementation() == by);
            let recorded = operation.record(&mut batch);
            assert_eq!(
                recorded.map_err(|error| error.kind()),
                if ends { Ok(()) } else { Err(ErrorKind::Resource) },
                "{rules}"
            );
        }
        assert_eq!(injected("encoder"), u64::from(rules != "seed=1"));
        set("");
        batch.submit().and_then(|submission| submission.wait()).expect("the rest is whole");
        for (buffer, ends) in [&mut y, &mut z].into_iter().zip(ends) {
            let wanted = if ends { [1.0, 0.0, 0.0, 1.0] } else { [0.0; 4] };
            assert_eq!(buffer.to_vec().expect("no fault"), wanted, "{rules}");
            buffer.write().expect("nobody uses it").fill(0.0);
        }
    }
    drop((x, y, z));
    until("all memory is given back", || {
        gpu.trim_staging(0);
        gpu.allocated_bytes() <= before
    });
}
