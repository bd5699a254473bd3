//! What telemetry counts, measures and exports of work on the device, against what the tests know they did.

mod common;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use common::{gpu, limits, msl};
use dcmetal::telemetry::{Compiled, MetricsServer, Reason, Snapshot, State, chrome_trace, prometheus_text};
use dcmetal::{Accelerator, BreakerLimits, Error, ErrorKind, Grid, Kernel, Recovery, Retries, StreamLimits, args};
use log::Level::{self, Debug, Trace, Warn};
use prometheus_parse::{Scrape, Value};
use serde_json::Value as Json;

/// Far longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(60);

const SOURCE: &str = "
kernel void count(device uint* y [[buffer(0)]]) { y[0] += 1u; }
kernel void twice(device uint* y [[buffer(0)]], uint i [[thread_position_in_grid]]) { y[i] *= 2u; }
";

fn kernels(gpu: &Accelerator) -> [Kernel; 2] {
    let library = gpu.compile_msl(SOURCE).unwrap_or_else(|error| panic!("{error}"));
    ["count", "twice"].map(|name| library.kernel(name).unwrap_or_else(|error| panic!("{error}")))
}

/// 10 launches alone, a batch of 3 and 2 with a copy and a fill, 100 launches of a stream in 7 batches, an empty batch.
fn work(gpu: &Accelerator) {
    let [count, twice] = kernels(gpu);
    let (mut x, mut y) = (gpu.buffer_zeroed::<u32>(8).unwrap(), gpu.buffer_zeroed::<u32>(8).unwrap());
    for _ in 0..10 {
        count.launch(Grid::linear(1), args![&mut x]).unwrap().wait().unwrap();
    }
    let mut batch = gpu.batch().unwrap();
    for _ in 0..3 {
        batch.launch(&count, Grid::linear(1), args![&mut x]).unwrap();
    }
    batch.copy(&x, &mut y).unwrap();
    for _ in 0..2 {
        batch.launch(&twice, Grid::linear(8), args![&mut y]).unwrap();
    }
    batch.fill(&mut x, 0).unwrap();
    batch.submit().unwrap().wait().unwrap();
    assert_eq!(y.to_vec().unwrap()[0], 52);
    let stream = gpu.stream(StreamLimits { commands: 15, age: Duration::MAX, ..StreamLimits::default() });
    for _ in 0..100 {
        stream.launch(&count, Grid::linear(1), args![&mut x]).unwrap();
    }
    stream.wait().unwrap();
    assert_eq!(x.to_vec().unwrap()[0], 100);
    gpu.batch().unwrap().submit().unwrap().wait().unwrap();
}

const SUBMISSIONS: u64 = 10 + 1 + 7 + 1;

#[cfg(target_os = "linux")]
fn failed(snapshot: &Snapshot, kind: ErrorKind) -> u64 {
    snapshot.failed.iter().find(|(known, _)| *known == kind).expect("every kind is there").1
}

#[test]
fn what_was_done_is_counted_once() {
    let gpu = gpu();
    // What was before nobody counts.
    gpu.batch().unwrap().submit().unwrap().wait().unwrap();
    let telemetry = gpu.telemetry();
    telemetry.record_spans(1000);
    assert_eq!(telemetry.snapshot().committed, 0);
    work(&gpu);
    let snapshot = gpu.telemetry().snapshot();
    assert_eq!((snapshot.committed, snapshot.succeeded), (SUBMISSIONS, SUBMISSIONS));
    assert!(snapshot.failed.iter().all(|(_, count)| *count == 0) && snapshot.failed.len() == 7);
    assert_eq!((snapshot.launches, snapshot.copies), (115, 2));
    assert_eq!(snapshot.latency.count(), SUBMISSIONS);
    assert_eq!(snapshot.device_time.count() + snapshot.untimed, SUBMISSIONS);
    assert!(snapshot.latency.max() <= snapshot.latency.sum());
    let by_name: BTreeMap<&str, _> = snapshot.kernels.iter().map(|kernel| (kernel.name.as_str(), kernel)).collect();
    let launches: Vec<_> = by_name.iter().map(|(name, kernel)| (*name, kernel.launches)).collect();
    assert_eq!(launches, [("count", 113), ("twice", 2)]);
    // A batch of several kernels tells of none how long it took.
    assert_eq!((by_name["twice"].timed_launches, by_name["twice"].device_time.count()), (0, 0));
    if cfg!(target_os = "linux") {
        assert_eq!((snapshot.untimed, snapshot.queued.count()), (0, SUBMISSIONS), "hostmetal tells times");
        assert_eq!((by_name["count"].timed_launches, by_name["count"].device_time.count()), (110, 17));
        assert!(by_name["count"].device_time.sum() <= snapshot.device_time.sum());
        assert!(snapshot.device_time.sum() + snapshot.queued.sum() <= snapshot.latency.sum(), "they are parts of it");
    }
    let spans = telemetry.take_spans();
    assert_eq!((spans.submissions.len() as u64, spans.lost), (SUBMISSIONS, 0));
    for span in &spans.submissions {
        assert!(span.begun <= span.committed && span.committed <= span.ended, "{span:?}");
        assert_eq!(span.placed_on_device(), span.on_device, "host and device have one clock: {span:?}");
        assert_eq!(span.error, None);
    }
    let mixed: Vec<_> = spans.submissions.iter().filter(|span| span.copies > 0).collect();
    assert_eq!(mixed.len(), 1);
    assert_eq!((mixed[0].copies, &*mixed[0].kernels), (2, &[("count".to_owned(), 3), ("twice".to_owned(), 2)][..]));
    assert_eq!(telemetry.take_spans().submissions, [], "they were taken");
}

/// A completion handler may run while the call that commits returns, on another thread: whoever is second tells the times.
#[test]
fn every_submission_tells_its_times_once() {
    const THREADS: u64 = 4;
    const EACH: u64 = if cfg!(debug_assertions) { 2_000 } else { 20_000 };
    let gpu = gpu();
    let telemetry = gpu.telemetry();
    telemetry.record_spans((THREADS * EACH) as usize);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| (0..EACH).for_each(|_| gpu.batch().unwrap().submit().unwrap().wait().unwrap()));
        }
    });
    let (snapshot, spans) = (telemetry.snapshot(), telemetry.take_spans().submissions);
    assert_eq!(
        (snapshot.committed, snapshot.succeeded, snapshot.latency.count()),
        (THREADS * EACH, THREADS * EACH, THREADS * EACH)
    );
    assert_eq!(spans.len() as u64, THREADS * EACH);
    let timed = spans.iter().filter(|span| span.on_device.is_some()).count() as u64;
    assert_eq!(
        (timed, snapshot.device_time.count() + snapshot.untimed),
        (snapshot.device_time.count(), THREADS * EACH)
    );
    if cfg!(target_os = "linux") {
        assert_eq!(snapshot.untimed, 0, "hostmetal tells times");
    }
}

#[test]
fn compilations_and_caches_are_counted() {
    let gpu = gpu();
    let telemetry = gpu.telemetry();
    telemetry.record_spans(100);
    let folder = tempfile::tempdir().unwrap();
    gpu.keep_kernels(folder.path().join("kernels"), 1 << 30).unwrap();
    kernels(&gpu);
    kernels(&gpu);
    gpu.compile_msl("kernel void wrong( {}").unwrap_err();
    gpu.compile_opencl("__kernel void k(__global int* x) { *x = 1; }").unwrap();
    let snapshot = telemetry.snapshot();
    assert_eq!((snapshot.libraries.count(), snapshot.kernels_made.count(), snapshot.not_compiled), (2, 2, 1));
    assert_eq!((snapshot.sources.hits, snapshot.sources.misses), (1, 3));
    let files = snapshot.kernel_files.expect("kernels are kept");
    assert_eq!((files.hits, files.misses), (0, 2));
    let spans = telemetry.take_spans().compilations;
    let wrong = |error: &Option<String>| error.as_ref().map(|error| error.contains("wrong") || !error.is_empty());
    let spans: Vec<_> = spans.iter().map(|span| (span.what, &*span.name, wrong(&span.error))).collect();
    let wanted = [
        (Compiled::Library, "MSL source", None),
        (Compiled::Kernel, "count", None),
        (Compiled::Kernel, "twice", None),
        (Compiled::Library, "MSL source", Some(true)),
        (Compiled::Library, "OpenCL source", None),
    ];
    assert_eq!(spans, wanted);
}

#[test]
fn pools_are_told_while_they_live() {
    let gpu = gpu();
    let telemetry = gpu.telemetry();
    let (first, gone) = (gpu.pool(limits()), gpu.pool(limits()));
    drop(gone.buffer::<u8>(10).unwrap());
    let last = gpu.pool(limits());
    for _ in 0..3 {
        drop(last.buffer::<u8>(10).unwrap());
    }
    let numbers = |snapshot: &Snapshot| snapshot.pools.iter().map(|(number, _)| *number).collect::<Vec<_>>();
    assert_eq!(numbers(&telemetry.snapshot()), [0, 1, 2]);
    drop(gone);
    let snapshot = telemetry.snapshot();
    assert_eq!(numbers(&snapshot), [0, 2]);
    assert_eq!((snapshot.pools[1].1.hits, snapshot.pools[1].1.misses), (2, 1));
    assert_eq!(snapshot.pools[0].1, first.stats());
    let held = gpu.buffer_zeroed::<u8>(1 << 20).unwrap();
    assert!(telemetry.snapshot().allocated_bytes >= 1 << 20);
    drop(held);
}

/// A store far outside of every buffer.
#[cfg(target_os = "linux")]
fn fault(gpu: &Accelerator) -> Error {
    let source = "kernel void outside(device float* y [[buffer(0)]]) { y[1ul << 45] = 1.0f; }";
    let mut y = gpu.buffer_zeroed::<f32>(1).unwrap();
    msl(gpu, source, "outside").launch(Grid::linear(1), args![&mut y]).unwrap().wait().unwrap_err()
}

#[cfg(target_os = "linux")]
#[test]
fn failures_are_counted_by_kind_and_felt_in_health() {
    let gpu = gpu();
    let telemetry = gpu.telemetry();
    telemetry.record_spans(100);
    let failures = || telemetry.health().reasons.into_iter().find(|reason| matches!(reason, Reason::Failures { .. }));
    assert_eq!(failures(), None);
    let error = fault(&gpu);
    let snapshot = telemetry.snapshot();
    assert_eq!((snapshot.committed, snapshot.succeeded, failed(&snapshot, error.kind())), (1, 0, 1));
    assert_eq!(snapshot.failed.iter().map(|(_, count)| count).sum::<u64>(), 1);
    assert_eq!((snapshot.latency.count(), snapshot.device_time.count(), snapshot.untimed), (1, 0, 0));
    assert_eq!(snapshot.kernels[0].device_time.count(), 0, "what failed has no time");
    let span = &telemetry.take_spans().submissions[0];
    let (kind, text) = span.error.as_ref().expect("it failed");
    assert!(*kind == error.kind() && *text == error.to_string(), "{text}");
    assert_eq!(failures(), Some(Reason::Failures { failed: 1, of: 1 }));
    assert_eq!(telemetry.health().state, State::Failing);
    let nothing = |times| (0..times).for_each(|_| gpu.batch().unwrap().submit().unwrap().wait().unwrap());
    nothing(3);
    assert_eq!(failures(), Some(Reason::Failures { failed: 1, of: 4 }));
    nothing(61);
    assert_eq!(failures(), None, "64 have ended since");
}

fn transient() -> Error {
    Error::Metal { call: "try", domain: "MTLLibraryErrorDomain".into(), code: 2, text: String::new() }
}

#[test]
fn devices_left_alone_are_unwell() {
    assert_eq!(transient().kind(), ErrorKind::Transient);
    let gpu = gpu();
    let telemetry = gpu.telemetry();
    let left_alone = || telemetry.health().reasons.iter().any(|reason| matches!(reason, Reason::LeftAlone { .. }));
    let once = Retries { count: 0, ..Retries::default() };
    let recovery =
        |pause| Recovery::new([gpu.clone()]).retries(once).breaker_limits(BreakerLimits { failures: 1, pause });
    let hour = recovery(Duration::from_secs(3600));
    assert!(hour.run(|_| Ok(())).is_ok() && !left_alone());
    hour.run(|_| Err::<(), _>(transient())).unwrap_err();
    assert!(left_alone());
    assert_eq!(telemetry.health().state, State::Failing);
    // Another recovery tries it, finds it as it was, and then well.
    let soon = recovery(Duration::ZERO);
    for _ in 0..2 {
        soon.run(|_| Err::<(), _>(transient()).inspect_err(|_| assert!(left_alone(), "nobody knows yet"))).unwrap_err();
        assert!(left_alone(), "the hour is not over");
    }
    soon.run(|_| Ok(())).unwrap();
    assert!(!left_alone());
    // The hour's, and two of the other.
    assert_eq!((telemetry.snapshot().pauses, telemetry.snapshot().retries), (3, 0));
    let samples = parsed(&prometheus_text([&telemetry]));
    assert_eq!(values(&samples, "dcmetal_recovery_pauses_total", &[("accelerator", "0")]), [3.0]);
}

#[test]
fn further_tries_are_counted() {
    let gpu = gpu();
    let pause = Duration::from_nanos(1);
    for (count, fails, wanted) in [(3, 0, 0), (3, 1, 1), (3, 3, 3), (3, 9, 3), (0, 9, 0)] {
        let before = gpu.telemetry().snapshot().retries;
        let recovery =
            Recovery::new([gpu.clone()]).retries(Retries { count, first_pause: pause, longest_pause: pause });
        let mut tried = 0;
        let outcome = recovery.run(|_| {
            tried += 1;
            if tried > fails { Ok(()) } else { Err(Error::OutOfMemory { bytes: 1, text: String::new() }) }
        });
        assert_eq!(outcome.is_ok(), fails <= count, "{count} {fails}");
        assert_eq!(gpu.telemetry().snapshot().retries - before, wanted, "{count} {fails}");
    }
}

#[test]
fn who_leaves_a_device_alone_and_goes_is_forgotten() {
    let gpu = gpu();
    let telemetry = gpu.telemetry();
    let until = || {
        let left = |reason| if let Reason::LeftAlone { remaining } = reason { Some(remaining) } else { None };
        telemetry.health().reasons.into_iter().find_map(left)
    };
    let (hour, day) = (Duration::from_secs(3600), Duration::from_secs(86_400));
    let leaving = |pause| {
        let limits = BreakerLimits { failures: 1, pause };
        let once = Retries { count: 0, ..Retries::default() };
        let recovery = Recovery::new([gpu.clone()]).retries(once).breaker_limits(limits);
        recovery.run(|_| Err::<(), _>(transient())).unwrap_err();
        recovery
    };
    let [first, second, third] = [hour, day, hour].map(leaving);
    assert!(until().is_some_and(|left| left > hour), "the longest is told");
    drop(third);
    assert!(until().is_some_and(|left| left > hour), "its own went with it, no other's");
    drop(second);
    assert!(until().is_some_and(|left| left <= hour), "the first still leaves it alone");
    drop(first.breaker_limits(BreakerLimits::default()));
    assert_eq!(until(), None);
}

// ---------------------------------------------------------------- exports

type Samples = HashMap<String, Vec<(BTreeMap<String, String>, Value)>>;

/// Reads the text by a parser that is not ours, which skips what it does not understand; so lines are counted.
fn parsed(text: &str) -> Samples {
    assert!(text.ends_with("# EOF\n"), "{text}");
    let mut families = HashSet::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let name = line.split(' ').next().unwrap();
        assert!(families.insert(name), "{name} is there twice");
    }
    let scrape = Scrape::parse(text.lines().map(|line| Ok(line.to_owned()))).expect("it parses");
    let mut samples = Samples::new();
    let mut lines = 0;
    for sample in scrape.samples {
        lines += if let Value::Histogram(buckets) = &sample.value { buckets.len() } else { 1 };
        let labels = sample.labels.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        samples.entry(sample.metric).or_default().push((labels, sample.value));
    }
    let wanted = text.lines().filter(|line| !line.starts_with('#')).count();
    assert_eq!(lines, wanted, "every line was understood\n{text}");
    samples
}

/// The values of a metric with these labels.
fn values(samples: &Samples, name: &str, labels: &[(&str, &str)]) -> Vec<f64> {
    let has =
        |own: &BTreeMap<String, String>| labels.iter().all(|(name, value)| own.get(*name).is_some_and(|v| v == value));
    let with = samples.get(name).into_iter().flatten().filter(|(own, _)| has(own));
    with.map(|(_, value)| match value {
        Value::Counter(value) | Value::Gauge(value) | Value::Untyped(value) => *value,
        other => panic!("{name}: {other:?}"),
    })
    .collect()
}

#[test]
fn prometheus_reads_the_metrics() {
    let (first, second) = (gpu(), gpu());
    let telemetry = [first.telemetry(), second.telemetry()];
    telemetry[0].record_spans(1000);
    let pool = first.pool(limits());
    // Two, of classes of 256 and 1280 bytes, of which one goes back.
    let kept = pool.buffer::<u8>(1025).unwrap();
    drop(pool.buffer::<u8>(10).unwrap());
    work(&first);
    let text = prometheus_text(&telemetry);
    drop(kept);
    let samples = parsed(&text);
    let one = |name: &str, labels: &[(&str, &str)]| {
        let found = values(&samples, name, labels);
        assert_eq!(found.len(), 1, "{name} {labels:?} in\n{text}");
        found[0]
    };
    for (name, labels, wanted) in [
        ("dcmetal_submissions_committed_total", &[("accelerator", "0")][..], SUBMISSIONS as f64),
        ("dcmetal_submissions_total", &[("accelerator", "0"), ("outcome", "ok")], SUBMISSIONS as f64),
        ("dcmetal_submissions_total", &[("accelerator", "1"), ("outcome", "ok")], 0.0),
        ("dcmetal_submissions_total", &[("accelerator", "0"), ("outcome", "devicelost")], 0.0),
        ("dcmetal_launches_total", &[("kernel", "count")], 113.0),
        ("dcmetal_launches_total", &[("kernel", "twice")], 2.0),
        ("dcmetal_copies_total", &[("accelerator", "0")], 2.0),
        ("dcmetal_submission_seconds_count", &[("accelerator", "0")], SUBMISSIONS as f64),
        ("dcmetal_submission_seconds_count", &[("accelerator", "1")], 0.0),
        ("dcmetal_compilation_seconds_count", &[("accelerator", "0"), ("what", "kernel")], 2.0),
        ("dcmetal_cache_requests_total", &[("accelerator", "0"), ("cache", "memory"), ("outcome", "miss")], 1.0),
        ("dcmetal_pool_requests_total", &[("pool", "0"), ("outcome", "miss")], 2.0),
        ("dcmetal_pool_memory_bytes", &[("pool", "0"), ("state", "used")], 1280.0),
        ("dcmetal_pool_memory_bytes", &[("pool", "0"), ("state", "idle")], 256.0),
        ("dcmetal_pool_waste_bytes", &[("pool", "0")], 255.0),
        ("dcmetal_pool_memory_peak_bytes", &[("pool", "0")], 1536.0),
        ("dcmetal_pool_used_memory_peak_bytes", &[("pool", "0")], 1536.0),
        ("dcmetal_pool_buffers", &[("pool", "0"), ("state", "used")], 1.0),
        ("dcmetal_pool_buffers", &[("pool", "0"), ("state", "idle")], 1.0),
        ("dcmetal_pool_buffers_peak", &[("pool", "0")], 2.0),
        ("dcmetal_pool_used_buffers_peak", &[("pool", "0")], 2.0),
    ] {
        assert_eq!(one(name, labels), wanted, "{name} {labels:?}");
    }
    let states: f64 = values(&samples, "dcmetal_health", &[("accelerator", "0")]).iter().sum();
    assert_eq!(states, 1.0, "it is in one state");
    let snapshot = telemetry[0].snapshot();
    let sum = one("dcmetal_submission_seconds_sum", &[("accelerator", "0")]);
    assert!((sum - snapshot.latency.sum().as_secs_f64()).abs() < 1e-9);
    let histogram = samples["dcmetal_submission_seconds"].iter().find(|(labels, _)| labels["accelerator"] == "0");
    let Some((_, Value::Histogram(buckets))) = histogram else { panic!("no histogram in\n{text}") };
    assert!(buckets.is_sorted_by(|a, b| a.less_than < b.less_than && a.count <= b.count));
    let last = buckets.last().expect("buckets");
    assert_eq!((last.less_than, last.count), (f64::INFINITY, SUBMISSIONS as f64));
    // The bucket in which the median is.
    let median = snapshot.latency.percentile(50.0).expect("there are some").as_secs_f64();
    let half = buckets.iter().find(|bucket| bucket.count >= SUBMISSIONS as f64 / 2.0).expect("the last");
    assert!(median <= half.less_than * (1.0 + dcmetal::telemetry::Histogram::RELATIVE_ERROR), "{median} {half:?}");
}

#[test]
fn metrics_and_health_are_served() {
    let gpu = gpu();
    let telemetry = gpu.telemetry();
    let server = MetricsServer::start("127.0.0.1:0".parse().unwrap(), vec![telemetry.clone()]).unwrap();
    gpu.batch().unwrap().submit().unwrap().wait().unwrap();
    let address = server.address();
    let ask = |request: &str| {
        let mut connection = TcpStream::connect(address).unwrap();
        write!(connection, "{request} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        (head.lines().next().unwrap_or_default().to_owned(), head.to_lowercase(), body.to_owned())
    };
    let (status, head, body) = ask("GET /metrics");
    assert!(
        status.starts_with("HTTP/1.1 200") && head.contains("content-type: application/openmetrics-text"),
        "{head}"
    );
    let committed = values(&parsed(&body), "dcmetal_submissions_committed_total", &[]);
    assert_eq!(committed, [1.0]);
    let (status, _, body) = ask("GET /health");
    let wanted = if telemetry.health().state == State::Failing { "503" } else { "200" };
    assert!(status.contains(wanted) && body.starts_with(gpu.name()), "{status}: {body}");
    #[cfg(target_os = "linux")]
    {
        fault(&gpu);
        let (status, _, body) = ask("GET /health");
        assert!(status.contains("503") && body.contains("failing; "), "{status}: {body}");
    }
    assert!(ask("GET /other").0.contains("404") && ask("POST /metrics").0.contains("405"));
    // Waits for its thread, which must end.
    drop(server);
}

#[test]
fn traces_nest_and_name_what_ran() {
    let gpu = gpu();
    let telemetry = gpu.telemetry();
    telemetry.record_spans(1000);
    work(&gpu);
    #[cfg(target_os = "linux")]
    fault(&gpu);
    let text = chrome_trace(gpu.name(), &telemetry.take_spans());
    let document: Json = serde_json::from_str(&text).expect("JSON");
    let trace = common::trace::check(&document);
    let failing = u64::from(cfg!(target_os = "linux"));
    assert_eq!(trace.submissions.len() as u64, SUBMISSIONS + failing);
    let inner = |name: &str| trace.submissions.iter().filter(|inner| inner.iter().any(|own| own == name)).count();
    assert_eq!(
        (inner("encode"), inner("count")),
        (trace.submissions.len(), if failing == 1 { 10 } else { inner("count") })
    );
    if failing == 1 {
        assert_eq!(
            (inner("count x3, twice x2, copy x2"), inner("count x15"), inner("count x10"), inner("nothing")),
            (1, 6, 1, 1)
        );
    }
    for name in ["library MSL source", "kernel count", "kernel twice"] {
        assert!(trace.compilations.iter().any(|own| own == name), "{name} in {:?}", trace.compilations);
    }
    assert_eq!(trace.errors, failing as usize);
}

// ---------------------------------------------------------------- what the crate says

/// Targets, levels, and what is within the texts.
const WANTED: [(&str, Level, &str); 7] = [
    ("dcmetal::compile", Debug, "library `MSL source` compiled in "),
    ("dcmetal::compile", Debug, "kernel `said` compiled in "),
    ("dcmetal::compile", Debug, "library `MSL source` not compiled, after "),
    ("dcmetal::submission", Trace, "done: said"),
    ("dcmetal::recovery", Warn, "said: so"),
    ("dcmetal::recovery", Warn, "is left alone for a while"),
    ("dcmetal::submission", Warn, "kernel `outside` failed"),
];
/// Whether each of them was said; of the rest, which the other tests say, nothing is kept.
static SAID: Mutex<[bool; WANTED.len()]> = Mutex::new([false; WANTED.len()]);
static MORE_SAID: Condvar = Condvar::new();

fn said() -> MutexGuard<'static, [bool; WANTED.len()]> {
    SAID.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Listener;

impl log::Log for Listener {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let text = record.args().to_string();
        assert!(!(text.contains("too_loud") && record.target() == "dcmetal::submission"), "a logger of the user's");
        for (number, (target, level, part)) in WANTED.iter().enumerate() {
            if record.target() == *target && record.level() == *level && text.contains(part) {
                said()[number] = true;
                MORE_SAID.notify_all();
            }
        }
    }

    fn flush(&self) {}
}

#[test]
fn what_happens_is_said_under_stable_targets() {
    log::set_logger(&Listener).expect("the only logger");
    log::set_max_level(log::LevelFilter::Trace);
    let gpu = gpu();
    let named = |name: &str| format!("kernel void {name}(device uint* y [[buffer(0)]]) {{ y[0] = 5u; }}");
    let mut y = gpu.buffer_zeroed::<u32>(1).unwrap();
    msl(&gpu, &named("said"), "said").launch(Grid::linear(1), args![&mut y]).unwrap().wait().unwrap();
    gpu.compile_msl("kernel void unsaid( {}").unwrap_err();
    let once = Retries { count: 0, ..Retries::default() };
    let one = BreakerLimits { failures: 1, pause: Duration::ZERO };
    let recovery = Recovery::new([gpu.clone()]).retries(once).breaker_limits(one);
    let transient = Error::Metal { call: "said", domain: "MTLLibraryErrorDomain".into(), code: 2, text: "so".into() };
    recovery.run(|_| Err::<(), _>(transient.clone())).unwrap_err();
    #[cfg(target_os = "linux")]
    fault(&gpu);
    // The last is of hostmetal's faults.
    let wanted = if cfg!(target_os = "linux") { WANTED.len() } else { WANTED.len() - 1 };
    // A submission's end is said behind it.
    let unsaid = |said: &mut [bool; WANTED.len()]| said[..wanted].contains(&false);
    let waited = MORE_SAID.wait_timeout_while(said(), PATIENCE, unsaid);
    let (heard, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
    assert!(!timeout.timed_out(), "{:#?}", WANTED.iter().zip(&*heard).collect::<Vec<_>>());
    drop(heard);
    // A logger that panics keeps nobody waiting.
    msl(&gpu, &named("too_loud"), "too_loud").launch(Grid::linear(1), args![&mut y]).unwrap().wait().unwrap();
    assert_eq!(y.to_vec().unwrap(), [5]);
}
