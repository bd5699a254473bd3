//! What is sent to a collector of OpenTelemetry's, decoded by the messages of `opentelemetry-proto`, against what the device did; and collectors that fail.

#[path = "../common/mod.rs"]
mod common;
mod sent;

use std::collections::{BTreeMap, HashSet};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use common::collector::{Answer, Collector, LONG, Received, all_said, listen, ok, said, says};
use common::{gpu, limits, msl};
use dcmetal::telemetry::{
    CompilationSpan, Compiled, OtlpExporter, OtlpSettings, OtlpStats, Spans, SubmissionSpan, Telemetry, otlp_metrics,
    otlp_traces, prometheus_text,
};
use dcmetal::{Accelerator, ErrorKind, Grid, args};
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTracePartialSuccess, ExportTraceServiceResponse};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::metrics::v1::{AggregationTemporality, Metric};
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use prost::Message as _;
use sent::{decoded, opened, trees};

/// Settings that send only when they are told.
fn settings(url: &str) -> OtlpSettings {
    OtlpSettings { metrics_interval: Duration::MAX, spans_interval: Duration::MAX, ..OtlpSettings::new(url) }
}

/// A port at which nobody listens; one that was free a moment ago may be another test's.
const NOBODY: &str = "http://127.0.0.1:1";

// ---------------------------------------------------------------- work

const SOURCE: &str = "
kernel void count(device uint* y [[buffer(0)]]) { y[0] += 1u; }
kernel void twice(device uint* y [[buffer(0)]], uint i [[thread_position_in_grid]]) { y[i] *= 2u; }
";

/// 3 launches alone, a batch of 3 and 2 with a copy, an empty batch; and where it can be done, one that faults.
fn work(gpu: &Accelerator) {
    let library = gpu.compile_msl(SOURCE).unwrap();
    let [count, twice] = ["count", "twice"].map(|name| library.kernel(name).unwrap());
    let (mut x, mut y) = (gpu.buffer_zeroed::<u32>(8).unwrap(), gpu.buffer_zeroed::<u32>(8).unwrap());
    for _ in 0..3 {
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
    batch.submit().unwrap().wait().unwrap();
    assert_eq!(y.to_vec().unwrap()[0], 24);
    nothing(gpu);
    gpu.compile_msl("kernel void wrong( {}").unwrap_err();
    if cfg!(target_os = "linux") {
        let source = "kernel void outside(device float* y [[buffer(0)]]) { y[1ul << 45] = 1.0f; }";
        let mut y = gpu.buffer_zeroed::<f32>(1).unwrap();
        msl(gpu, source, "outside").launch(Grid::linear(1), args![&mut y]).unwrap().wait().unwrap_err();
    }
}

/// A submission.
fn nothing(gpu: &Accelerator) {
    gpu.batch().unwrap().submit().unwrap().wait().unwrap();
}

/// Telemetry of a new accelerator, with room for spans.
fn recorded() -> (Accelerator, Telemetry) {
    let gpu = gpu();
    let telemetry = gpu.telemetry();
    telemetry.record_spans(10_000);
    (gpu, telemetry)
}

fn unix_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64
}

/// By a wall clock that may have been set meanwhile, by less than an hour.
fn is_before(earlier: u64, later: u64) -> bool {
    earlier <= later + 3_600_000_000_000
}

// ---------------------------------------------------------------- collectors that fail

/// An exporter of an accelerator that has done two things, and how many spans these are.
fn exporting(settings: OtlpSettings) -> (OtlpExporter, u64) {
    listen();
    let (gpu, telemetry) = recorded();
    let twice = || (0..2).for_each(|_| nothing(&gpu));
    twice();
    let spans = decoded(otlp_traces(&[], 0, gpu.name(), &telemetry.take_spans()));
    let exporter = OtlpExporter::start(settings, vec![telemetry]).unwrap();
    twice();
    (exporter, spans.len() as u64)
}

/// What it received of each path.
fn of_both(collector: &Collector) -> [Vec<Received>; 2] {
    let (metrics, spans) = collector.received().into_iter().partition(Received::is_metrics);
    [metrics, spans]
}

/// Names of failures, and the first answer of a collector that has recovered at the second request.
#[test]
fn what_fails_for_now_is_tried_again() {
    // One that says so, or no more than a part: else the next try may meet its end.
    let closes = |head: &str| says(&format!("{head}\r\nConnection: close"), &[]);
    let told = |status: &str| closes(&format!("{status}\r\nRetry-After: 0"));
    std::thread::scope(|scope| {
        for (why, first) in [
            ("429 Too Many Requests", told("429 Slow Down")),
            ("502 Bad Gateway", told("502 X")),
            ("503 Service Unavailable", told("503 X")),
            ("504 Gateway Timeout", told("504 X")),
            ("503 Service Unavailable", closes("503 X")),
            ("503 Service Unavailable", closes("503 X\r\nRetry-After: Fri, 31 Dec 2049 23:59:59 GMT")),
            ("", Vec::new()),
            ("", b"SSH-2.0-OpenSSH_9.9\r\n".to_vec()),
            ("", b"\0\xff\0\xff".to_vec()),
            ("", b"HTTP/1.1 200".to_vec()),
        ] {
            scope.spawn(move || {
                let shown = String::from_utf8_lossy(&first).into_owned();
                let collector =
                    Collector::start(move |_, before| if before == 0 { Answer::Ends(first.clone()) } else { ok() });
                let (exporter, count) = exporting(settings(&collector.url()));
                exporter.flush(LONG).unwrap_or_else(|error| panic!("{shown}: {error}"));
                let [metrics, spans] = of_both(&collector);
                assert_eq!((metrics.len(), spans.len()), (2, 2), "{shown}");
                assert_eq!(spans[0].body, spans[1].body, "the same spans: {shown}");
                let stats = exporter.stats();
                assert_eq!((stats.failures, stats.spans, stats.spans_rejected), (2, count, 0), "{shown}");
                assert!(said(&format!("http://{}/v1/traces: ", collector.address)) && said(why), "{shown}");
            });
        }
    });
}

#[test]
fn what_is_refused_is_not_tried_again() {
    // A `google.rpc.Status`: code 3, a message, and details that nobody here knows.
    let status = b"\x08\x03\x12\x08bad\nnews\x1a\x02\x0a\x00";
    for (answer, why) in [
        (says("400 X", status), "400 Bad Request: bad news"),
        (says("401 X", b"\xff\xff"), "401 Unauthorized"),
        (says("408 X\r\nRetry-After: 0", &[]), "408 Request Timeout"),
        (says("413 X", &[]), "413 Payload Too Large"),
        (says("500 X\r\nRetry-After: 0", status), "500 Internal Server Error: bad news"),
        (says("301 X\r\nLocation: /v1/other", &[]), "301 Moved Permanently"),
        (says("307 X\r\nLocation: http://localhost:1/", &[]), "307 Temporary Redirect"),
    ] {
        let collector = Collector::start(move |_, _| Answer::Says(answer.clone()));
        let (exporter, count) = exporting(settings(&collector.url()));
        let error = exporter.flush(LONG).unwrap_err();
        assert!(error.kind() == std::io::ErrorKind::Other && error.to_string().contains(why), "{why}: {error}");
        let stats = exporter.stats();
        assert_eq!((stats.failures, stats.spans, stats.spans_rejected, stats.points), (2, 0, count, 0), "{why}");
        assert!(stats.points_rejected > 0);
        assert!(said(&format!("{count} spans were not taken: http://{}/v1/traces: ", collector.address)), "{why}");
        exporter.flush(LONG).unwrap_err();
        let [metrics, spans] = of_both(&collector);
        assert_eq!((metrics.len(), spans.len()), (2, 1), "{why}");
    }
}

/// One of the two is enough for the whole to have failed.
#[test]
fn a_refusal_of_one_is_told() {
    for path in ["/v1/metrics", "/v1/traces"] {
        let refuse = move |received: &Received, _| match received.line.contains(path) {
            true => Answer::Says(says("400 X", &[])),
            false => ok(),
        };
        let collector = Collector::start(refuse);
        let (exporter, count) = exporting(settings(&collector.url()));
        let error = exporter.flush(LONG).unwrap_err();
        assert!(error.to_string().contains(&format!("{path}: the collector answered 400")), "{error}");
        let (stats, refused) = (exporter.stats(), path == "/v1/traces");
        assert_eq!((stats.failures, stats.points > 0, stats.points_rejected > 0), (1, refused, !refused));
        assert_eq!((stats.spans, stats.spans_rejected), if refused { (0, count) } else { (count, 0) });
    }
}

/// What was refused of several requests is told, also where the next has to be tried again.
#[test]
fn what_was_refused_before_a_try_is_told() {
    let collector = Collector::start(|received, before| match (received.is_metrics(), before) {
        (false, 0) => Answer::Says(says("400 X", &[])),
        (false, 1) => Answer::Says(says("503 X\r\nRetry-After: 0", &[])),
        _ => ok(),
    });
    let (gpu, telemetry) = recorded();
    let exporter = OtlpExporter::start(settings(&collector.url()), vec![telemetry]).unwrap();
    for _ in 0..600 {
        nothing(&gpu);
    }
    let error = exporter.flush(LONG).unwrap_err();
    assert!(error.kind() == std::io::ErrorKind::Other && error.to_string().contains("400 Bad Request"), "{error}");
    let stats = exporter.stats();
    assert_eq!((stats.spans_rejected, stats.failures), (512, 2));
    assert!(stats.spans > 0);
    exporter.flush(LONG).expect("it is told once");
}

/// Spans that were not yet taken of the accelerator are lost as well.
#[test]
fn what_nobody_got_to_is_given_up_at_the_end() {
    listen();
    let collector = Collector::start(|_, _| Answer::Says(says("503 X\r\nRetry-After: 3600", &[])));
    let (gpu, telemetry) = recorded();
    nothing(&gpu);
    let of_one = decoded(otlp_traces(&[], 0, gpu.name(), &telemetry.take_spans())).len();
    let exporter = OtlpExporter::start(settings(&collector.url()), vec![telemetry]).unwrap();
    nothing(&gpu);
    exporter.flush(LONG).unwrap_err();
    (0..16).for_each(|_| nothing(&gpu));
    drop(exporter);
    let what = format!("{} spans are given up: the exporter was dropped", 17 * of_one);
    assert!(said(&what), "{what}");
}

/// Once the collector is back it gets what it did not take, and what came after that.
#[test]
fn later_spans_follow_those_that_had_to_wait() {
    let collector = Collector::start(|_, before| match before {
        0 => Answer::Says(says("503 X\r\nRetry-After: 6", &[])),
        _ => ok(),
    });
    let (gpu, telemetry) = recorded();
    let exporter = OtlpExporter::start(settings(&collector.url()), vec![telemetry]).unwrap();
    nothing(&gpu);
    exporter.flush(Duration::from_secs(5)).unwrap_err();
    nothing(&gpu);
    exporter.flush(LONG).unwrap();
    let [_, spans] = of_both(&collector);
    let spans: Vec<_> = spans.iter().map(Received::spans).collect();
    let [first, again, later] = &spans[..] else { panic!("{spans:?}") };
    assert_eq!(first, again);
    assert_eq!((trees(again).len(), trees(later).len()), (1, 1));
    assert_ne!(again[0].trace_id, later[0].trace_id);
    assert_eq!(exporter.stats().spans, (again.len() + later.len()) as u64);
}

/// The one that was told when to come again does not come before.
#[test]
fn who_is_told_to_wait_waits() {
    let collector = Collector::start(|_, _| Answer::Says(says("503 X\r\nRetry-After: 3600", &[])));
    let (exporter, count) = exporting(settings(&collector.url()));
    for _ in 0..2 {
        let error = exporter.flush(LONG).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
        assert!(error.to_string().contains("503 Service Unavailable"), "{error}");
    }
    assert_eq!((exporter.stats().failures, exporter.stats().spans_rejected), (2, 0));
    drop(exporter);
    let [metrics, spans] = of_both(&collector);
    assert_eq!((metrics.len(), spans.len()), (1, 1));
    assert!(said(&format!("{count} spans are given up: the exporter was dropped")));
}

/// The message of a partial success.
fn partial(rejected_spans: i64, error_message: &str) -> Vec<u8> {
    let error_message = error_message.to_owned();
    let partial_success = Some(ExportTracePartialSuccess { rejected_spans, error_message });
    ExportTraceServiceResponse { partial_success }.encode_to_vec()
}

/// Metrics are in the next request again, and rejected again.
#[test]
fn a_rejection_of_a_part_is_told() {
    for (path, name) in [("/v1/metrics", "metrics"), ("/v1/traces", "spans")] {
        let reject = move |received: &Received, _| match received.line.contains(path) {
            true => Answer::Says(says("200 OK", &partial(1, "too old"))),
            false => ok(),
        };
        let collector = Collector::start(reject);
        let (exporter, _) = exporting(settings(&collector.url()));
        let error = exporter.flush(LONG).unwrap_err();
        let what = format!("1 {name} were rejected: {}{path}: too old", collector.url());
        assert_eq!((error.kind(), error.to_string()), (std::io::ErrorKind::Other, what));
        assert_eq!(exporter.flush(LONG).is_err(), name == "metrics");
    }
}

#[test]
fn partial_successes_are_counted_and_not_tried_again() {
    for (rejected, wanted, text, what) in [
        (1, 1, "much\ntoo old", "1 spans were rejected: {}: much too old"),
        (0, 0, "use another name", "spans were taken: {}: use another name"),
        (-1, 0, "less than none", "spans were taken: {}: less than none"),
        (i64::MAX, 4, "all of them", "spans were rejected: {}: all of them"),
    ] {
        let answer = says("200 OK", &partial(rejected, text));
        let collector = Collector::start(move |_, _| Answer::Says(answer.clone()));
        let (exporter, count) = exporting(settings(&collector.url()));
        assert_eq!(exporter.flush(LONG).is_err(), wanted > 0, "{text}");
        let stats = exporter.stats();
        let wanted = u64::min(wanted, count);
        assert_eq!((stats.spans, stats.spans_rejected, stats.failures), (count - wanted, wanted, 0), "{text}");
        assert_eq!(stats.points == 0, rejected == i64::MAX);
        assert_eq!(exporter.flush(LONG).is_err(), wanted > 0, "{text}");
        let [metrics, spans] = of_both(&collector);
        assert_eq!((metrics.len(), spans.len()), (2, 1), "{text}");
        let what = what.replace("{}", &format!("http://{}/v1/traces", collector.address));
        assert!(said(&what), "{what}");
    }
}

/// The status says that they were taken, whatever else is said.
#[test]
fn what_was_taken_is_not_sent_again() {
    let json = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}".to_vec();
    let huge = "HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 1000000000000000\r\n\r\n";
    let short = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 9\r\n\r\n\x0a".to_vec();
    let cased = b"HTTP/1.1 200 OK\r\nContent-Type: Application/X-Protobuf; v=1\r\nContent-Length: 0\r\n\r\n".to_vec();
    let page = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<html>".to_vec();
    let empty = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 0\r\n\r\n".to_vec();
    let unclear = Some("'s answer is not understood");
    type Answering = Box<dyn Fn() -> Answer + Send + Sync>;
    let answers: [(&str, Option<&str>, Answering); 9] = [
        ("no message", unclear, Box::new(|| Answer::Says(says("200 OK", b"\xff\xff\xff")))),
        ("JSON", Some(" answered 200 OK as `application/json`"), Box::new(move || Answer::Says(json.clone()))),
        ("a page", Some(" answered 200 OK as `text/html`"), Box::new(move || Answer::Ends(page.clone()))),
        ("an empty text", None, Box::new(move || Answer::Says(empty.clone()))),
        ("another case", None, Box::new(move || Answer::Says(cased.clone()))),
        ("no content", None, Box::new(|| Answer::Says(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec()))),
        ("accepted", None, Box::new(|| Answer::Says(says("202 Accepted", &[])))),
        ("a body that is too long", unclear, Box::new(move || Answer::Streams(huge.as_bytes().to_vec()))),
        ("half a body", unclear, Box::new(move || Answer::Ends(short.clone()))),
    ];
    // What is said names a port, which none of the others may get.
    let mut collectors = Vec::new();
    for (name, text, answer) in answers {
        let collector = Collector::start(move |_, _| answer());
        let (exporter, count) = exporting(settings(&collector.url()));
        exporter.flush(LONG).unwrap_or_else(|error| panic!("{name}: {error}"));
        let [metrics, spans] = of_both(&collector);
        assert_eq!((metrics.len(), spans.len()), (1, 1), "{name}");
        assert_eq!((exporter.stats().spans, exporter.stats().failures), (count, 0), "{name}");
        let what = format!("spans were taken: http://{}/v1/traces: the collector", collector.address);
        assert_eq!(said(&what), text.is_some(), "{name}");
        assert!(said(&(what + text.unwrap_or_default())) == text.is_some(), "{name}");
        collectors.push(collector);
    }
}

#[test]
fn who_does_not_answer_holds_up_nobody_and_is_left() {
    for begun in [
        "",
        "HTTP/1.1 200 OK\r\nContent-",
        "HTTP/1.1 503 X\r\nContent-Type: application/x-protobuf\r\nContent-Length: 5\r\n\r\n",
    ] {
        let collector = Collector::start(move |_, _| Answer::Hangs(begun.as_bytes().to_vec()));
        let mut settings = OtlpSettings { closing: Duration::from_millis(100), ..settings(&collector.url()) };
        for endpoint in [&mut settings.metrics, &mut settings.traces] {
            // As long as it takes.
            endpoint.timeout = Duration::ZERO;
        }
        settings.metrics_interval = Duration::ZERO;
        let (gpu, telemetry) = recorded();
        let exporter = OtlpExporter::start(settings, vec![telemetry]).unwrap();
        assert!(collector.next().is_metrics());
        work(&gpu);
        let error = exporter.flush(Duration::ZERO).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
        drop(exporter);
        collector.left.lock().unwrap().recv_timeout(LONG).expect("the exporter has ended the connection");
    }
}

#[test]
fn a_timeout_ends_a_request() {
    let collector = Collector::start(|_, before| if before == 0 { Answer::Hangs(Vec::new()) } else { ok() });
    let mut settings = settings(&collector.url());
    for endpoint in [&mut settings.metrics, &mut settings.traces] {
        endpoint.timeout = Duration::from_millis(500);
    }
    let (exporter, count) = exporting(settings);
    exporter.flush(LONG).unwrap();
    assert_eq!(exporter.stats().spans, count);
    assert!(exporter.stats().failures >= 2 && said("timeout"));
}

#[test]
fn heads_without_an_end_are_left() {
    let collector = Collector::start(|_, _| Answer::Streams(b"HTTP/1.1 200 OK\r\nX: ".to_vec()));
    let (exporter, _) = exporting(OtlpSettings { closing: Duration::ZERO, ..settings(&collector.url()) });
    // Refused for its length; the next try would be later than this.
    let error = exporter.flush(Duration::from_millis(300)).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::TimedOut, "{error}");
    assert_eq!(exporter.stats().spans, 0);
}

#[test]
fn where_nobody_listens_it_says_so_and_ends() {
    let (exporter, count) = exporting(settings(NOBODY));
    let error = exporter.flush(Duration::from_secs(10)).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::TimedOut, "{error}");
    let because = |path: &str| said(&format!("{NOBODY}/v1/{path}: io: Connection refused"));
    assert!(because("metrics") && because("traces"), "{:?}", all_said());
    assert_eq!((exporter.stats().spans, exporter.stats().spans_rejected), (0, 0), "they may be sent yet");
    drop(exporter);
    assert!(said(&format!("{count} spans are given up: the exporter was dropped")));
}

#[test]
fn exporters_are_for_all_threads() {
    fn check<T: Send + Sync>() {}
    check::<OtlpExporter>();
}

// ---------------------------------------------------------------- the environment

const CHILD: &str = "DCMETAL_OTLP_CHILD";

/// In a process of its own, with its environment; elsewhere it does nothing.
#[test]
fn of_the_environment() {
    if std::env::var_os(CHILD).is_some() {
        listen();
        let settings = OtlpSettings::from_environment();
        println!("{settings:?} {:?}", all_said());
        let (gpu, telemetry) = recorded();
        let exporter = OtlpExporter::start(settings, vec![telemetry]).unwrap();
        nothing(&gpu);
        exporter.flush(LONG).unwrap();
    }
}

#[test]
fn the_environment_is_followed() {
    let collector = Collector::start(|_, _| ok());
    let mut command = Command::new(std::env::current_exe().unwrap());
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("OTEL_")) {
        command.env_remove(name);
    }
    command.args(["--exact", "of_the_environment", "--nocapture"]).env(CHILD, "1");
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{}/all/", collector.address));
    command.env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", format!("http://{}/spans?of=all", collector.address));
    command.env("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20not-for-eyes,x-both=1");
    command.env("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "x-only=spans");
    command.env("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    command.env("OTEL_SERVICE_NAME", "named");
    // None by itself.
    command.env("OTEL_BSP_SCHEDULE_DELAY", "3600000").env("OTEL_METRIC_EXPORT_INTERVAL", "3600000");
    command.env("OTEL_RESOURCE_ATTRIBUTES", "service.name=other,deployment.environment.name=a%2Cb");
    // One that is used would get what is for the collector.
    command.env("HTTP_PROXY", NOBODY).env("http_proxy", NOBODY);
    let output = command.output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    assert!(printed.contains("authorization") || printed.contains("Authorization"), "{printed}");
    assert!(!printed.contains("not-for-eyes") && !printed.contains("of=all"), "{printed}");
    assert!(printed.contains("OTEL_EXPORTER_OTLP_PROTOCOL is not followed"), "{printed}");
    let received = collector.received();
    let lines: Vec<_> = received.iter().map(|one| &*one.line).collect();
    // By the flush; and the metrics once more at the end.
    assert_eq!(
        lines,
        ["POST /all/v1/metrics HTTP/1.1", "POST /spans?of=all HTTP/1.1", "POST /all/v1/metrics HTTP/1.1"]
    );
    let header = |at: usize, name: &str| received[at].headers.get(name).map(|value| &**value);
    assert_eq!((header(0, "authorization"), header(0, "x-both")), (Some("Bearer not-for-eyes"), Some("1")));
    assert_eq!((header(1, "authorization"), header(1, "x-only")), (None, Some("spans")));
    let (_, resource) = opened(&received[0]);
    assert_eq!((&*resource["service.name"], &*resource["deployment.environment.name"]), ("named", "a,b"));
}
