//! What is sent, decoded.

use super::*;

fn text(value: &KeyValue) -> String {
    match value.value.as_ref().and_then(|value| value.value.as_ref()).expect("a value") {
        Value::StringValue(text) => text.clone(),
        other => panic!("{}: {other:?}", value.key),
    }
}

fn attributes(list: &[KeyValue]) -> BTreeMap<String, &Value> {
    let value = |one: &'_ KeyValue| one.key.clone();
    let all: BTreeMap<_, _> =
        list.iter().map(|one| (value(one), one.value.as_ref().unwrap().value.as_ref().unwrap())).collect();
    assert_eq!(all.len(), list.len(), "each is there once: {list:?}");
    all
}

fn texts(list: &[KeyValue]) -> BTreeMap<String, String> {
    let texts: BTreeMap<_, _> = list.iter().map(|one| (one.key.clone(), text(one))).collect();
    assert_eq!(texts.len(), list.len(), "each is there once: {list:?}");
    texts
}

type Samples = BTreeMap<String, f64>;

fn key(name: &str, labels: &BTreeMap<String, String>) -> String {
    format!("{name}{labels:?}")
}

/// The samples that Prometheus's text has.
fn in_text(text: &str) -> Samples {
    use prometheus_parse::{Scrape, Value};
    let scrape = Scrape::parse(text.lines().map(|line| Ok(line.to_owned()))).expect("it parses");
    let mut samples = Samples::new();
    for sample in scrape.samples {
        let mut labels: BTreeMap<_, _> =
            sample.labels.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        match sample.value {
            Value::Counter(value) | Value::Gauge(value) | Value::Untyped(value) => {
                assert_eq!(samples.insert(key(&sample.metric, &labels), value), None);
            }
            Value::Histogram(buckets) => {
                for bucket in buckets {
                    labels.insert("le".to_owned(), bucket.less_than.to_string());
                    assert_eq!(samples.insert(key(&sample.metric, &labels), bucket.count), None);
                }
            }
            other => panic!("{other:?}"),
        }
    }
    samples
}

/// Without what is told of the process and the machine, which other tests change; and that.
fn of_accelerators(samples: Samples) -> (Samples, Samples) {
    let is_own = |key: &str| !key.starts_with("dcmetal_device_memory") && !key.starts_with("dcmetal_health");
    samples.into_iter().partition(|(key, _)| is_own(key))
}

fn points(metrics: &[Metric]) -> u64 {
    let of = |metric: &Metric| match metric.data.as_ref().unwrap() {
        Data::Sum(sum) => sum.data_points.len(),
        Data::Gauge(gauge) => gauge.data_points.len(),
        Data::Histogram(histogram) => histogram.data_points.len(),
        other => panic!("{other:?}"),
    };
    metrics.iter().map(of).sum::<usize>() as u64
}

/// The same of OTLP, named by the rules of OpenTelemetry's "Prometheus and OpenMetrics Compatibility". Checks what has no place in the text.
fn in_metrics(metrics: &[Metric], started: &mut BTreeMap<String, u64>) -> Samples {
    let mut samples = Samples::new();
    let cumulative = AggregationTemporality::Cumulative as i32;
    let mut names = HashSet::new();
    for metric in metrics {
        assert!(names.insert(&metric.name) && !metric.description.is_empty(), "{metric:?}");
        let unit = match &*metric.unit {
            "" => "",
            "s" => "_seconds",
            "By" => "_bytes",
            other => panic!("{other}"),
        };
        let name = metric.name.replace('.', "_") + unit;
        let mut insert = |name: &str, labels: &BTreeMap<String, String>, value: f64| {
            assert_eq!(samples.insert(key(name, labels), value), None, "{name} {labels:?}");
        };
        let mut starts = |labels: &BTreeMap<String, String>, start: u64, time: u64| {
            assert!(0 < start && start < time && is_before(time, unix_now()), "{name}: {start} to {time}");
            started.insert(key(&name, labels), start);
        };
        match metric.data.as_ref().expect("data") {
            Data::Sum(sum) => {
                assert!(sum.is_monotonic && sum.aggregation_temporality == cumulative && !sum.data_points.is_empty());
                for point in &sum.data_points {
                    let Some(Number::AsInt(value)) = point.value else { panic!("{point:?}") };
                    let labels = texts(&point.attributes);
                    starts(&labels, point.start_time_unix_nano, point.time_unix_nano);
                    insert(&format!("{name}_total"), &labels, value as f64);
                }
            }
            Data::Gauge(gauge) => {
                assert!(!gauge.data_points.is_empty());
                for point in &gauge.data_points {
                    let Some(Number::AsInt(value)) = point.value else { panic!("{point:?}") };
                    assert!(0 < point.time_unix_nano && is_before(point.time_unix_nano, unix_now()));
                    insert(&name, &texts(&point.attributes), value as f64);
                }
            }
            Data::Histogram(histogram) => {
                assert!(histogram.aggregation_temporality == cumulative && !histogram.data_points.is_empty());
                for point in &histogram.data_points {
                    let mut labels = texts(&point.attributes);
                    starts(&labels, point.start_time_unix_nano, point.time_unix_nano);
                    insert(&format!("{name}_count"), &labels, point.count as f64);
                    insert(&format!("{name}_sum"), &labels, point.sum.expect("a sum"));
                    assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
                    assert!(point.explicit_bounds.is_sorted_by(|a, b| a < b));
                    let mut within = 0;
                    for (at, count) in point.bucket_counts.iter().enumerate() {
                        within += count;
                        let bound = point.explicit_bounds.get(at).copied().unwrap_or(f64::INFINITY);
                        labels.insert("le".to_owned(), bound.to_string());
                        insert(&name, &labels, within as f64);
                    }
                    assert_eq!(within, point.count);
                }
            }
            other => panic!("{other:?}"),
        }
    }
    samples
}

/// The metrics of a request that has all in one place, and its resource.
pub(crate) fn opened(received: &Received) -> (Vec<Metric>, BTreeMap<String, String>) {
    let mut request = received.metrics();
    assert_eq!(request.resource_metrics.len(), 1);
    let of = request.resource_metrics.remove(0);
    assert_eq!(of.scope_metrics.len(), 1);
    let scope = of.scope_metrics[0].scope.as_ref().expect("a scope");
    assert_eq!((&*scope.name, &*scope.version), ("dcmetal", env!("CARGO_PKG_VERSION")));
    (of.scope_metrics[0].metrics.clone(), texts(&of.resource.expect("a resource").attributes))
}

#[test]
fn metrics_are_those_of_prometheus() {
    let collector = Collector::start(|_, _| ok());
    let begun = unix_now();
    let (first, second) = (gpu(), gpu());
    // Counted by the cache, before telemetry.
    first.compile_msl(SOURCE).unwrap();
    let telemetry = vec![first.telemetry(), second.telemetry()];
    let folder = tempfile::tempdir().unwrap();
    first.keep_kernels(folder.path().join("kernels"), 1 << 30).unwrap();
    let pool = first.pool(limits());
    drop(pool.buffer::<u8>(10).unwrap());
    work(&first);
    let mut settings = settings(&collector.url());
    settings.resource.push(("service.name".to_owned(), "tests".to_owned()));
    settings.resource.push(("place".to_owned(), "some\0where".to_owned()));
    let exporter = OtlpExporter::start(settings, telemetry.clone()).unwrap();
    // The parser of the text takes a comma within a label for its end.
    let plain = |text: &str| text.replace(first.name(), "the device");
    let told = || of_accelerators(in_text(&plain(&prometheus_text(&telemetry))));
    let mut sent = 0;
    // What is told before and after is told within.
    let mut tries = (0..100).filter_map(|_| {
        let (before, of_all) = told();
        exporter.flush(LONG).unwrap();
        let received = collector.received();
        sent += points(&opened(&received[0]).0);
        (before == told().0).then_some((before, of_all, received))
    });
    let (text, of_all, received) = tries.next().expect("a quiet moment");
    assert_eq!(received.len(), 1, "there are no spans");
    assert!(received[0].is_metrics(), "{:?}", received[0]);
    assert_eq!(received[0].headers["content-type"], "application/x-protobuf");
    assert!(received[0].headers["user-agent"].starts_with("OTel-OTLP-Exporter-Rust-dcmetal/"));
    let (metrics, resource) = opened(&received[0]);
    let mut started = BTreeMap::new();
    let samples = in_metrics(&metrics, &mut started);
    let (samples, of_all_sent) = of_accelerators(samples.iter().map(|(key, value)| (plain(key), *value)).collect());
    assert_eq!(samples, text);
    let has_kernel = text.keys().any(|key| key.contains("\"kernel\": \"count\""));
    assert!(samples.len() > 150 && has_kernel, "there is something to compare: {text:?}");
    // Which reasons hold may change; the rest is there each time.
    let names = |samples: &Samples| -> Vec<String> {
        samples.keys().filter(|key| !key.starts_with("dcmetal_health_reason")).cloned().collect()
    };
    assert_eq!(names(&of_all_sent), names(&of_all));
    let of = |samples: &Samples, name: &str| -> Vec<f64> {
        samples.iter().filter(|(key, _)| key.starts_with(name)).map(|(_, value)| *value).collect()
    };
    let recommended = "dcmetal_device_memory_recommended_bytes{";
    assert_eq!(of(&of_all_sent, recommended), of(&of_all, recommended));
    assert_eq!(of(&of_all_sent, "dcmetal_health{").iter().sum::<f64>(), 2.0, "a state for each: {of_all_sent:?}");
    assert_eq!((&*resource["service.name"], &*resource["telemetry.sdk.language"]), ("tests", "rust"));
    assert_eq!((&*resource["telemetry.sdk.name"], &*resource["place"]), ("dcmetal", "some\u{fffd}where"));
    assert_eq!(resource["service.instance.id"].len(), 36);
    // Caches and pools count from the accelerator's beginning on, everything else from telemetry's.
    let snapshots = telemetry.iter().map(Telemetry::snapshot).collect::<Vec<_>>();
    for (name, start) in &started {
        let of_accelerator = name.starts_with("dcmetal_cache") || name.starts_with("dcmetal_pool");
        let unix = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
        let one = &snapshots[usize::from(name.contains("\"accelerator\": \"1\""))];
        assert_eq!(*start, unix(if of_accelerator { one.made } else { one.since }), "{name}");
        assert!(one.made != one.since && is_before(begun, *start) && is_before(*start, unix_now()), "{name}");
    }
    // A counter that begins anew each time would be one that was reset each time.
    exporter.flush(LONG).unwrap();
    let (metrics, _) = opened(&collector.next());
    let mut again = BTreeMap::new();
    in_metrics(&metrics, &mut again);
    assert_eq!(again, started);
    assert_eq!(exporter.stats().points, sent + points(&metrics));
    assert_eq!((exporter.stats().failures, exporter.stats().points_rejected), (0, 0));
}

#[test]
fn nothing_is_no_request() {
    assert!(otlp_metrics(&[], []).is_empty());
    assert!(otlp_traces(&[], 0, "device", &Spans::default()).is_empty());
    let collector = Collector::start(|_, _| ok());
    let exporter = OtlpExporter::start(settings(&collector.url()), Vec::new()).unwrap();
    exporter.flush(LONG).unwrap();
    assert_eq!(exporter.stats(), OtlpStats::default());
    drop(exporter);
    assert!(collector.received().is_empty());
}

/// The spans of bytes that `otlp_traces` made.
pub(crate) fn decoded(body: Vec<u8>) -> Vec<Span> {
    Received { line: String::new(), headers: BTreeMap::new(), body }.spans()
}

/// Every span has numbers of its own, and a parent that is there and lasts at least as long. The roots, each with its child.
pub(crate) fn trees(spans: &[Span]) -> Vec<(&Span, Option<&Span>)> {
    let mut ids = HashSet::new();
    for span in spans {
        assert_eq!((span.trace_id.len(), span.span_id.len()), (16, 8));
        assert!(span.trace_id.iter().any(|byte| *byte != 0) && span.span_id.iter().any(|byte| *byte != 0));
        assert!(ids.insert(&span.span_id), "{span:?}");
        assert!(span.start_time_unix_nano <= span.end_time_unix_nano);
        assert_eq!(span.kind, SpanKind::Internal as i32);
    }
    let roots: Vec<&Span> = spans.iter().filter(|span| span.parent_span_id.is_empty()).collect();
    let traces: HashSet<_> = roots.iter().map(|span| &span.trace_id).collect();
    assert_eq!(traces.len(), roots.len(), "each root is a trace");
    let mut children = 0;
    let trees = roots.into_iter().map(|root| {
        let mut of_root = spans.iter().filter(|span| span.parent_span_id == root.span_id);
        let child = of_root.next();
        assert!(of_root.next().is_none());
        if let Some(child) = child {
            children += 1;
            assert_eq!(child.trace_id, root.trace_id);
            assert!(root.start_time_unix_nano <= child.start_time_unix_nano);
            assert!(child.end_time_unix_nano <= root.end_time_unix_nano);
        }
        (root, child)
    });
    let trees: Vec<_> = trees.collect();
    assert_eq!(trees.len() + children, spans.len(), "every parent is there");
    trees
}

#[test]
fn spans_are_those_that_were_recorded() {
    let begun = unix_now();
    let (gpu, telemetry) = recorded();
    work(&gpu);
    let spans = telemetry.take_spans();
    let sent = decoded(otlp_traces(&[], 7, gpu.name(), &spans));
    let ended = unix_now();
    let trees = trees(&sent);
    let (submissions, compilations) = (spans.submissions.len(), spans.compilations.len());
    assert_eq!(trees.len(), submissions + compilations);
    let lasted = |span: &Span| span.end_time_unix_nano - span.start_time_unix_nano;
    for (span, _) in &trees {
        let (start, end) = (span.start_time_unix_nano, span.end_time_unix_nano);
        assert!(is_before(begun, start) && is_before(end, ended), "by the clock on the wall");
        let all = attributes(&span.attributes);
        assert_eq!((all["accelerator"], all["device"]), (&text_value("7"), &text_value(gpu.name())));
    }
    for (recorded, (root, child)) in spans.submissions.iter().zip(&trees) {
        let SubmissionSpan { begun, committed, ended, on_device, kernels, copies, error, .. } = recorded;
        assert_eq!((&*root.name, lasted(root)), ("submission", ended - begun));
        assert_eq!((root.events.len(), &*root.events[0].name), (1, "committed"));
        assert_eq!(root.events[0].time_unix_nano - root.start_time_unix_nano, committed - begun);
        let all = attributes(&root.attributes);
        let list = |name| match all.get(name) {
            Some(Value::ArrayValue(list)) => list.values.iter().map(|one| one.value.clone().unwrap()).collect(),
            None => Vec::new(),
            other => panic!("{other:?}"),
        };
        assert_eq!(list("kernels"), kernels.iter().map(|(name, _)| text_value(name)).collect::<Vec<_>>());
        assert_eq!(list("launches"), kernels.iter().map(|(_, n)| Value::IntValue(*n as i64)).collect::<Vec<_>>());
        let times = (0..kernels.len()).map(|at| match recorded.kernel_device_time(at) {
            Some(time) => text_value(&time.as_secs_f64().to_string()),
            None => text_value("unsupported"),
        });
        assert_eq!(list("kernels.device_seconds"), times.collect::<Vec<_>>());
        assert_eq!(all["copies"], &Value::IntValue(*copies as i64));
        match (on_device, child) {
            (Some((start, end)), Some(child)) => {
                assert_eq!(
                    (child.start_time_unix_nano - root.start_time_unix_nano, lasted(child)),
                    (start - begun, end - start)
                );
                assert_eq!(all["device_seconds"], &Value::DoubleValue((end - start) as f64 / 1e9));
            }
            (None, None) => assert!(!all.contains_key("device_seconds")),
            other => panic!("{other:?}"),
        }
        match (error, &root.status) {
            (Some((kind, error)), Some(status)) => {
                assert_eq!((status.code, &status.message), (StatusCode::Error as i32, error));
                assert_eq!(all["error.type"], &text_value(&format!("{kind:?}").to_lowercase()));
            }
            (None, None) => assert!(!all.contains_key("error.type")),
            other => panic!("{other:?}"),
        }
    }
    for (recorded, (root, _)) in spans.compilations.iter().zip(&trees[submissions..]) {
        let CompilationSpan { what, name, begun, ended, thread, error } = recorded;
        let what = if *what == Compiled::Library { "library" } else { "kernel" };
        assert_eq!((root.name.clone(), lasted(root)), (format!("{what} {name}"), ended - begun));
        assert_eq!(attributes(&root.attributes)["thread"], &text_value(thread));
        assert_eq!(root.status.as_ref().map(|status| &status.message), error.as_ref());
    }
    let failed = trees.iter().filter(|(root, _)| root.status.is_some()).count();
    assert_eq!(failed, 1 + usize::from(cfg!(target_os = "linux")));
    if cfg!(target_os = "linux") {
        let names: Vec<_> = trees.iter().filter_map(|(_, child)| child.map(|child| &*child.name)).collect();
        assert_eq!(names[..5], ["count", "count", "count", "count, twice, copy", "nothing"]);
    }
}

fn text_value(text: &str) -> Value {
    Value::StringValue(text.to_owned())
}

/// Numbers and texts at their limits.
#[test]
fn spans_are_bounded() {
    let long = |letter: &str, end: &str| letter.repeat(10_000) + end;
    let kernels: Vec<_> = (0..1000).map(|number| (long("é", &number.to_string()), u64::MAX)).collect();
    let error = Some((ErrorKind::Device, long("e\0", "")));
    let submission = SubmissionSpan {
        begun: 0,
        committed: 1,
        ended: u64::MAX,
        on_device: Some((1, u64::MAX)),
        kernels,
        copies: u64::MAX,
        passes: 0,
        has_events: false,
        error: error.clone(),
    };
    // A clock that went back, of another machine.
    let strange = SubmissionSpan {
        begun: u64::MAX,
        committed: 0,
        ended: 5,
        on_device: Some((9, 3)),
        kernels: vec![("nul\0".to_owned(), 1)],
        copies: 0,
        passes: 0,
        has_events: true,
        error: None,
    };
    let compilation = CompilationSpan {
        what: Compiled::Library,
        name: long("n", ""),
        begun: u64::MAX,
        ended: u64::MAX,
        thread: long("t", ""),
        error: error.map(|(_, text)| text),
    };
    let spans = Spans { submissions: vec![submission, strange], compilations: vec![compilation], lost: 0 };
    let body = otlp_traces(&[(long("k", ""), long("v", ""))], usize::MAX, &long("d", ""), &spans);
    assert!(body.len() < 100_000, "{}", body.len());
    let sent = decoded(body);
    let trees = trees(&sent);
    let all = attributes(&trees[0].0.attributes);
    let Value::ArrayValue(names) = all["kernels"] else { panic!("{all:?}") };
    let names: HashSet<_> = names.values.iter().map(|one| format!("{:?}", one.value)).collect();
    assert_eq!((names.len(), all["kernels.left_out"]), (64, &Value::IntValue(936)), "those that are there differ");
    assert_eq!(all["copies"], &Value::IntValue(i64::MAX));
    let child = trees[0].1.expect("a time on the device");
    assert!(child.name.len() <= 256 && child.name.starts_with("éé"), "{}", child.name);
    let status = trees[0].0.status.as_ref().expect("it failed");
    assert!(status.message.len() <= 4096 && status.message.starts_with("e\u{fffd}e"), "{}", status.message);
    assert!(trees[1].1.is_none(), "these times have no place");
    let Value::ArrayValue(names) = attributes(&trees[1].0.attributes)["kernels"] else { panic!() };
    assert_eq!(names.values[0].value, Some(text_value("nul\u{fffd}")));
    assert!(trees[2].0.name.starts_with("library nnn") && trees[2].0.name.len() <= 256);
}

/// Names that begin alike are kernels that differ.
#[test]
fn long_names_of_kernels_stay_apart() {
    let gpu = gpu();
    let telemetry = gpu.telemetry();
    let mut y = gpu.buffer_zeroed::<u32>(1).unwrap();
    for end in ["first", "second"] {
        let name = "k".repeat(300) + end;
        let source = format!("kernel void {name}(device uint* y [[buffer(0)]]) {{ y[0] += 1u; }}");
        msl(&gpu, &source, &name).launch(Grid::linear(1), args![&mut y]).unwrap().wait().unwrap();
    }
    let body = otlp_metrics(&[], [&telemetry]);
    let (metrics, _) = opened(&Received { line: String::new(), headers: BTreeMap::new(), body });
    let samples = in_metrics(&metrics, &mut BTreeMap::new());
    let launches: Vec<_> = samples.iter().filter(|(key, _)| key.starts_with("dcmetal_launches_total")).collect();
    assert_eq!(launches.len(), 2, "{launches:?}");
    assert!(launches.iter().all(|(key, value)| key.len() < 400 && **value == 1.0), "{launches:?}");
}

#[test]
fn spans_are_sent_once_in_batches() {
    let collector = Collector::start(|_, _| ok());
    let (gpu, telemetry) = recorded();
    let exporter = OtlpExporter::start(settings(&collector.url()), vec![telemetry.clone()]).unwrap();
    for _ in 0..600 {
        nothing(&gpu);
    }
    exporter.flush(LONG).unwrap();
    let received = collector.received();
    let batches: Vec<_> = received.iter().filter(|one| !one.is_metrics()).collect();
    assert!(batches.iter().all(|batch| batch.line == "POST /v1/traces HTTP/1.1"));
    let spans: Vec<Span> = batches.iter().flat_map(|batch| batch.spans()).collect();
    assert_eq!(trees(&spans).len(), 600);
    assert!(batches.len() > 1 && batches.iter().all(|batch| batch.spans().len() <= 512));
    assert_eq!(exporter.stats().spans, spans.len() as u64);
    assert_eq!(telemetry.take_spans().submissions, [], "they were taken");
    exporter.flush(LONG).unwrap();
    assert!(collector.received().iter().all(Received::is_metrics), "they were sent");
}

#[test]
fn what_is_overwritten_is_counted() {
    listen();
    let collector = Collector::start(|_, _| ok());
    let (gpu, telemetry) = recorded();
    telemetry.record_spans(2);
    let exporter = OtlpExporter::start(settings(&collector.url()), vec![telemetry]).unwrap();
    (0..5).for_each(|_| nothing(&gpu));
    exporter.flush(LONG).unwrap();
    let spans: Vec<Span> =
        collector.received().iter().filter(|one| !one.is_metrics()).flat_map(Received::spans).collect();
    assert_eq!(trees(&spans).len(), 2);
    let stats = exporter.stats();
    assert_eq!((stats.overwritten, stats.spans, stats.spans_rejected), (3, spans.len() as u64, 0));
    assert!(said("3 spans made room"), "{:?}", all_said());
}

#[test]
fn both_are_sent_from_time_to_time() {
    let collector = Collector::start(|_, _| ok());
    let (gpu, telemetry) = recorded();
    let often = Duration::ZERO;
    let settings = OtlpSettings { metrics_interval: often, spans_interval: often, ..settings(&collector.url()) };
    // Before it starts: from then on it sends metrics, however long a submission takes.
    nothing(&gpu);
    let exporter = OtlpExporter::start(settings, vec![telemetry]).unwrap();
    let (mut metrics, mut spans) = (0, 0);
    while metrics < 3 || spans < 1 {
        let received = collector.next();
        *(if received.is_metrics() { &mut metrics } else { &mut spans }) += 1;
        assert!(metrics < 100, "spans are sent as often");
    }
    drop(exporter);
}

#[test]
fn dropping_sends_what_there_is() {
    let collector = Collector::start(|_, _| ok());
    let (gpu, telemetry) = recorded();
    let settings = OtlpSettings { closing: LONG, ..settings(&collector.url()) };
    let exporter = OtlpExporter::start(settings, vec![telemetry]).unwrap();
    nothing(&gpu);
    drop(exporter);
    let received = collector.received();
    let [metrics, spans] = &received[..] else { panic!("{received:?}") };
    let started = &mut BTreeMap::new();
    let samples = in_metrics(&opened(metrics).0, started);
    let committed = samples.iter().find(|(key, _)| key.starts_with("dcmetal_submissions_committed"));
    assert_eq!(committed.map(|(_, value)| *value), Some(1.0));
    assert_eq!(trees(&spans.spans()).len(), 1);
}
