//! What telemetry costs: launches with and without it, by turns in one process, as processor time of the whole process and as time.
//!
//! `cargo bench -p dcmetal-benches --bench telemetry [-- --short]`. The goal is a hundredth of a processor at 100,000 launches a second, that is
//! 100 ns a launch. Then what it takes to send a collector of OpenTelemetry's, which answers at once, metrics and spans. The second accelerator without telemetry shows what the machine's noise alone makes of it.

#[allow(dead_code, reason = "the tests use all of it")]
#[path = "../../crates/dcmetal/tests/common/collector.rs"]
mod collector;

use std::time::{Duration, Instant};

use collector::{Collector, LONG};
use dcmetal::telemetry::{OtlpExporter, OtlpSettings};
use dcmetal::{Accelerator, Grid, args};
use dcmetal_benches::is_short;
use dcmetal_validate::measure::Spread;
use dcmetal_validate::overhead::{Asked, Cost, Load, RATE, compare};
use dcmetal_validate::problems::Random;

fn main() {
    let short = is_short();
    let (rounds, launches) = if short { (10, 500) } else { (400, 2000) };
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().expect("a clock that is set");
    let mut random = Random(since.as_nanos() as u64);
    for (name, batch, rate) in [
        ("a submission for each launch, at 100,000 a second", 1, Some(RATE)),
        ("a submission for each launch, as fast as it goes", 1, None),
        ("64 launches a submission, at 100,000 a second", 64, Some(RATE)),
        ("64 launches a submission, as fast as it goes", 64, None),
    ] {
        let load = Load { launches, batch, rate };
        let asked = [Asked::Off, Asked::Off, Asked::Counted, Asked::Spans];
        let costs = compare(&asked, rounds, load, &mut random).unwrap_or_else(|why| panic!("{why:?}"));
        println!("{name}: beside telemetry off, medians of {rounds} turns (10th to 90th percentile)");
        costs.iter().for_each(print);
    }
    export(if short { 3 } else { 101 });
}

/// Submissions whose spans are sent at once.
const SPANS: u32 = 1000;

/// The time in which all that was counted and recorded is made into messages, sent and taken; everything that arrives is counted.
fn export(rounds: usize) {
    let gpu = Accelerator::system_default().expect("a device");
    let telemetry = gpu.telemetry();
    telemetry.record_spans(2 * SPANS as usize);
    let collector = Collector::start(|_, _| collector::ok());
    // Nothing is sent but what is asked for.
    let never = Duration::MAX;
    let settings =
        OtlpSettings { metrics_interval: never, spans_interval: never, ..OtlpSettings::new(&collector.url()) };
    let exporter = OtlpExporter::start(settings, vec![telemetry]).expect("it starts");
    let source = "kernel void count(device uint* y [[buffer(0)]]) { y[0] += 1u; }";
    let count = gpu.compile_msl(source).and_then(|library| library.kernel("count")).expect("it compiles");
    let mut y = gpu.buffer_zeroed::<u32>(1).expect("a buffer");
    let mut times = Vec::new();
    // The first is the warm-up, with the spans of compilations.
    for round in 0..=rounds {
        for _ in 0..SPANS {
            drop(count.launch(Grid::linear(1), args![&mut y]).expect("nothing fails"));
        }
        gpu.batch().and_then(|batch| batch.submit()?.wait()).expect("what was before has ended");
        let start = Instant::now();
        exporter.flush(LONG).expect("it is taken");
        let spent = start.elapsed().as_secs_f64();
        let received = collector.received();
        let spans: Vec<_> =
            received.iter().filter(|received| !received.is_metrics()).flat_map(|one| one.spans()).collect();
        let submissions = spans.iter().filter(|span| span.name == "submission").count();
        assert_eq!(submissions, SPANS as usize + 1, "spans of launches, and of the empty batch");
        let told =
            received.iter().filter(|received| received.is_metrics()).map(|one| launches(&one.metrics())).next_back();
        assert_eq!(told, Some(i64::from(SPANS) * (round as i64 + 1)), "launches that the metrics tell of");
        if round > 0 {
            times.push(spent / f64::from(SPANS) * 1e6);
        }
    }
    assert_eq!(y.to_vec().expect("it ran"), [SPANS * (rounds as u32 + 1)]);
    let stats = exporter.stats();
    assert_eq!((stats.failures, stats.spans_rejected, stats.points_rejected, stats.overwritten), (0, 0, 0, 0));
    let Spread { median, p10, p90, .. } = Spread::of(times);
    println!(
        "OTLP: metrics and the spans of {SPANS} submissions, sent and taken: {median:.2} us a submission ({p10:.2} to {p90:.2})"
    );
}

/// What a request tells of `dcmetal.launches`, of all kernels.
fn launches(metrics: &opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest) -> i64 {
    use opentelemetry_proto::tonic::metrics::v1::{metric::Data, number_data_point::Value};
    let metrics = metrics.resource_metrics.iter().flat_map(|of| &of.scope_metrics).flat_map(|scope| &scope.metrics);
    let points = metrics.filter(|metric| metric.name == "dcmetal.launches").filter_map(|metric| match &metric.data {
        Some(Data::Sum(sum)) => Some(&sum.data_points),
        _ => None,
    });
    let value = |value: &Option<Value>| match value {
        Some(Value::AsInt(count)) => *count,
        other => panic!("launches are counted, not {other:?}"),
    };
    points.flatten().map(|point| value(&point.value)).sum()
}

fn print(cost: &Cost) {
    let Cost { asked, share, median: (low, high), processor, wall, nanoseconds, rate, .. } = cost;
    let of = |spread: &Spread, by: f64| {
        let [p10, median, p90] = [spread.p10, spread.median, spread.p90].map(|value| value * by);
        format!("{median:+.2} ({p10:+.2} to {p90:+.2})")
    };
    let beyond = |spread: &Spread| {
        let [p10, median, p90] = [spread.p10, spread.median, spread.p90].map(|value| (value - 1.0) * 100.0);
        format!("{median:+.2} % ({p10:+.2} to {p90:+.2})")
    };
    println!(
        "  {asked:?}, {:.0} launches/s: {} % of a processor, the median within {:+.2} to {:+.2}; {} ns a launch; processor time {}; time {}",
        rate.median,
        of(share, 100.0),
        low * 100.0,
        high * 100.0,
        of(nanoseconds, 1.0),
        beyond(processor),
        beyond(wall),
    );
}
