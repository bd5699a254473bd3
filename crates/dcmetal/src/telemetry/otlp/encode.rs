//! The requests of OTLP, from snapshots and spans.
//!
//! Counters are monotonic sums, histograms have Prometheus's buckets, both cumulative since telemetry was turned on; the rest are gauges. A metric is named
//! as for Prometheus, with a dot and without unit, so that a collector that writes for Prometheus makes the same names of them.
//!
//! Each submission is a trace of its own: a span from the beginning of its batch to its end, and within it one of what the device did. A
//! compilation is one span. Metal's times are the host's monotonic ones, and are placed by how far the wall clock is from these as they are encoded: spans
//! are as long as they were, whatever is done to the clock.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::time::{SystemTime, UNIX_EPOCH};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric as Message, NumberDataPoint, ResourceMetrics,
    ScopeMetrics, Sum,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::{Event, SpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use prost::Message as _;

use crate::raw::clock::now;
use crate::telemetry::metrics::{Buckets, Devices, Labels, Metric, Sample, Values};
use crate::telemetry::{CompilationSpan, Compiled, Spans, SubmissionSpan, Telemetry};

/// Spans of one request, as many as `OTEL_BSP_MAX_EXPORT_BATCH_SIZE` has by default. With the bounds below it stays under the 20 MiB that a
/// collector takes.
const BATCH: usize = 512;
/// Bytes of a name, and of what a span failed with.
const LONGEST_NAME: usize = 256;
const LONGEST_TEXT: usize = 4 << 10;
/// Kernels that a span names.
const KERNELS: usize = 64;
/// "Sampled", of the flags of W3C's trace context.
const SAMPLED: u32 = 1;

/// The `ExportMetricsServiceRequest` of what all these count and measure, in Protobuf's binary form, for a transport of your own;
/// [`OtlpExporter`](super::OtlpExporter) sends it over HTTP. No telemetry is no bytes. The attribute `accelerator` is the place in this list, from 0.
///
/// ```
/// # fn main() -> dcmetal::Result<()> {
/// # use dcmetal::*;
/// let gpu = Accelerator::system_default()?;
/// let service = [("service.name".to_owned(), "simulation".to_owned())];
/// let request = telemetry::otlp_metrics(&service, [&gpu.telemetry()]);
/// assert!(!request.is_empty());
/// # Ok(()) }
/// ```
pub fn otlp_metrics<'a>(resource: &[(String, String)], telemetry: impl IntoIterator<Item = &'a Telemetry>) -> Vec<u8> {
    metrics(resource, telemetry).body
}

/// The `ExportTraceServiceRequest` of these spans, which are of the accelerator with that number and name; as [`otlp_metrics`].
pub fn otlp_traces(resource: &[(String, String)], accelerator: usize, device: &str, spans: &Spans) -> Vec<u8> {
    let mut messages = Vec::new();
    span_messages((accelerator, device, spans), Clock::read(), &mut Ids::default(), |span| messages.push(span));
    traces_request(resource, messages).body
}

/// A request, and how many points or spans it has.
pub(super) struct Request {
    pub(super) body: Vec<u8>,
    pub(super) count: u64,
}

pub(super) fn metrics<'a>(
    resource: &[(String, String)],
    telemetry: impl IntoIterator<Item = &'a Telemetry>,
) -> Request {
    let metrics = Devices::of(telemetry).metrics();
    let time = unix(SystemTime::now());
    let mut count = 0;
    let messages = metrics.iter().filter_map(|metric| {
        let (points, message) = metric_message(metric, time);
        count += points as u64;
        // Of what there is nothing of, nothing is said.
        (points > 0).then_some(message)
    });
    let messages: Vec<Message> = messages.collect();
    if messages.is_empty() {
        return Request { body: Vec::new(), count: 0 };
    }
    let scope_metrics = vec![ScopeMetrics { scope: Some(scope()), metrics: messages, ..ScopeMetrics::default() }];
    let resource_metrics = vec![ResourceMetrics {
        resource: Some(resource_message(resource)),
        scope_metrics,
        ..ResourceMetrics::default()
    }];
    Request { body: ExportMetricsServiceRequest { resource_metrics }.encode_to_vec(), count }
}

/// Requests with all these spans, [`BATCH`] in each.
pub(super) fn traces<'a>(
    resource: &[(String, String)],
    of_accelerators: impl IntoIterator<Item = (usize, &'a str, &'a Spans)>,
    ids: &mut Ids,
) -> Vec<Request> {
    let clock = Clock::read();
    let (mut requests, mut messages) = (Vec::new(), Vec::new());
    for of_accelerator in of_accelerators {
        span_messages(of_accelerator, clock, ids, |span| {
            // What belongs to a submission is added one by one, and may be in two requests.
            messages.push(span);
            if messages.len() == BATCH {
                requests.push(traces_request(resource, std::mem::take(&mut messages)));
            }
        });
    }
    if !messages.is_empty() {
        requests.push(traces_request(resource, messages));
    }
    requests
}

fn traces_request(resource: &[(String, String)], spans: Vec<Span>) -> Request {
    if spans.is_empty() {
        return Request { body: Vec::new(), count: 0 };
    }
    let count = spans.len() as u64;
    let scope_spans = vec![ScopeSpans { scope: Some(scope()), spans, ..ScopeSpans::default() }];
    let resource_spans =
        vec![ResourceSpans { resource: Some(resource_message(resource)), scope_spans, ..ResourceSpans::default() }];
    Request { body: ExportTraceServiceRequest { resource_spans }.encode_to_vec(), count }
}

fn scope() -> InstrumentationScope {
    let (name, version) = ("dcmetal".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    InstrumentationScope { name, version, ..InstrumentationScope::default() }
}

/// Each attribute once, as the last of its name has it.
fn resource_message(attributes: &[(String, String)]) -> Resource {
    let attributes: BTreeMap<&str, &str> = attributes.iter().map(|(key, value)| (&**key, &**value)).collect();
    let attributes = attributes.into_iter().map(|(key, value)| attribute(&name(key), text(value)));
    Resource { attributes: attributes.collect(), ..Resource::default() }
}

// ---------------------------------------------------------------- metrics

/// A metric as of that time, and how many points it has.
fn metric_message(metric: &Metric, time: u64) -> (usize, Message) {
    let Metric { name, help, values } = metric;
    let temporality = AggregationTemporality::Cumulative.into();
    let (points, unit, data) = match values {
        Values::Counters(samples) => {
            let data_points = samples.iter().map(|sample| number(sample, Some(sample.since), time)).collect();
            let sum = Sum { data_points, aggregation_temporality: temporality, is_monotonic: true };
            (samples.len(), "", Data::Sum(sum))
        }
        Values::Gauges(samples) | Values::Bytes(samples) => {
            let unit = if matches!(values, Values::Bytes(_)) { "By" } else { "" };
            let data_points = samples.iter().map(|sample| number(sample, None, time)).collect();
            (samples.len(), unit, Data::Gauge(Gauge { data_points }))
        }
        Values::Histograms(samples) => {
            let data_points = samples.iter().map(|sample| distribution(sample, time)).collect();
            let histogram = Histogram { data_points, aggregation_temporality: temporality };
            (samples.len(), "s", Data::Histogram(histogram))
        }
    };
    let (name, description, unit) = (format!("dcmetal.{name}"), (*help).to_owned(), unit.to_owned());
    (points, Message { name, description, unit, data: Some(data), ..Message::default() })
}

fn number(sample: &Sample<u64>, since: Option<SystemTime>, time: u64) -> NumberDataPoint {
    let (start_time_unix_nano, time_unix_nano) = since.map_or((0, time), |since| span_of_count(since, time));
    let value = Some(Number::AsInt(i64::try_from(sample.value).unwrap_or(i64::MAX)));
    let attributes = labels(&sample.labels);
    NumberDataPoint { attributes, start_time_unix_nano, time_unix_nano, value, ..NumberDataPoint::default() }
}

fn distribution(sample: &Sample<Buckets>, time: u64) -> HistogramDataPoint {
    let (start_time_unix_nano, time_unix_nano) = span_of_count(sample.since, time);
    let Buckets { counts, count, sum } = &sample.value;
    let mut bucket_counts: Vec<u64> = counts.iter().map(|(_, count)| *count).collect();
    let within: u64 = bucket_counts.iter().sum();
    bucket_counts.push(count - within);
    HistogramDataPoint {
        attributes: labels(&sample.labels),
        start_time_unix_nano,
        time_unix_nano,
        count: *count,
        sum: Some(*sum),
        bucket_counts,
        explicit_bounds: counts.iter().map(|(bound, _)| *bound).collect(),
        ..HistogramDataPoint::default()
    }
}

/// From when to when something was counted. An end that is not after the beginning would say that it is not known when the counting began
/// ("Resets and gaps" of OpenTelemetry's data model), so a wall clock that was set back has no say in it.
fn span_of_count(since: SystemTime, time: u64) -> (u64, u64) {
    let start = unix(since);
    (start, time.max(start.saturating_add(1)))
}

fn labels(labels: &Labels) -> Vec<KeyValue> {
    labels.iter().map(|(key, value)| attribute(key, Value::StringValue(name(value)))).collect()
}

// ---------------------------------------------------------------- spans

/// The messages of the spans of an accelerator, in the order in which they ended.
fn span_messages(
    (accelerator, device, spans): (usize, &str, &Spans),
    clock: Clock,
    ids: &mut Ids,
    mut add: impl FnMut(Span),
) {
    let own = [
        attribute("accelerator", Value::StringValue(accelerator.to_string())),
        attribute("device", Value::StringValue(name(device))),
    ];
    for span in &spans.submissions {
        let trace = ids.trace();
        let root = submission(span, clock, trace, ids.span(), &own);
        let on_device = on_device(span, clock, trace, ids, &root);
        add(root);
        if let Some(on_device) = on_device {
            add(on_device);
        }
    }
    for span in &spans.compilations {
        add(compilation(span, clock, ids.trace(), ids.span(), &own));
    }
}

fn submission(span: &SubmissionSpan, clock: Clock, trace: [u8; 16], id: [u8; 8], own: &[KeyValue]) -> Span {
    let mut attributes = own.to_vec();
    if !span.kernels.is_empty() {
        let of_each = |value: fn(&(String, u64)) -> Value| {
            let values = span.kernels.iter().take(KERNELS).map(|kernel| AnyValue { value: Some(value(kernel)) });
            Value::ArrayValue(ArrayValue { values: values.collect() })
        };
        attributes.push(attribute("kernels", of_each(|(kernel, _)| Value::StringValue(name(kernel)))));
        attributes.push(attribute("launches", of_each(|(_, launches)| integer(*launches))));
        // Of several kernels Metal tells no time of each.
        let of_kernel = span.kernel_device_time(0);
        let text = of_kernel.map_or("unsupported".to_owned(), |time| time.as_secs_f64().to_string());
        let times =
            span.kernels.iter().take(KERNELS).map(|_| AnyValue { value: Some(Value::StringValue(text.clone())) });
        let times = Value::ArrayValue(ArrayValue { values: times.collect() });
        attributes.push(attribute("kernels.device_seconds", times));
    }
    if let Some(more) = span.kernels.len().checked_sub(KERNELS).filter(|more| *more > 0) {
        attributes.push(attribute("kernels.left_out", integer(more as u64)));
    }
    attributes.push(attribute("copies", integer(span.copies)));
    if let Some(time) = span.device_time() {
        attributes.push(attribute("device_seconds", Value::DoubleValue(time.as_secs_f64())));
    }
    let error = span.error.as_ref().map(|(kind, text)| {
        attributes.push(attribute("error.type", Value::StringValue(format!("{kind:?}").to_lowercase())));
        text
    });
    let committed =
        Event { time_unix_nano: clock.unix(span.committed), name: "committed".to_owned(), ..Event::default() };
    Span {
        events: vec![committed],
        attributes,
        status: failed(error),
        ..message("submission".to_owned(), (trace, id), clock.unix(span.begun), clock.unix(span.ended))
    }
}

/// What the device did of a submission, where its times are the host's. Metal tells one time per submission: no kernel has a span of its own beside others.
fn on_device(span: &SubmissionSpan, clock: Clock, trace: [u8; 16], ids: &mut Ids, root: &Span) -> Option<Span> {
    let (start, end) = span.placed_on_device()?;
    let kernels = span.kernels.iter().map(|(name, _)| &**name).take(KERNELS);
    let parts: Vec<&str> = kernels.chain((span.copies > 0).then_some("copy")).collect();
    let title = if parts.is_empty() { "nothing".to_owned() } else { name(&parts.join(", ")) };
    let message = message(title, (trace, ids.span()), clock.unix(start), clock.unix(end));
    let attributes = root.attributes[..2].to_vec();
    Some(Span { parent_span_id: root.span_id.clone(), attributes, ..message })
}

fn compilation(span: &CompilationSpan, clock: Clock, trace: [u8; 16], id: [u8; 8], own: &[KeyValue]) -> Span {
    let what = match span.what {
        Compiled::Library => "library",
        Compiled::Kernel => "kernel",
    };
    let mut attributes = own.to_vec();
    attributes.push(attribute("thread", Value::StringValue(name(&span.thread))));
    Span {
        attributes,
        status: failed(span.error.as_ref()),
        ..message(name(&format!("{what} {}", span.name)), (trace, id), clock.unix(span.begun), clock.unix(span.ended))
    }
}

fn message(name: String, (trace, id): ([u8; 16], [u8; 8]), begun: u64, ended: u64) -> Span {
    Span {
        trace_id: trace.to_vec(),
        span_id: id.to_vec(),
        flags: SAMPLED,
        name,
        kind: SpanKind::Internal.into(),
        start_time_unix_nano: begun,
        end_time_unix_nano: ended.max(begun),
        ..Span::default()
    }
}

fn failed(error: Option<&String>) -> Option<Status> {
    error.map(|error| Status { message: bounded(error), code: StatusCode::Error.into() })
}

/// Where the host's time lies in that of the wall clock.
#[derive(Clone, Copy)]
struct Clock {
    host: u64,
    unix: u64,
}

impl Clock {
    fn read() -> Clock {
        Clock { host: now(), unix: unix(SystemTime::now()) }
    }

    fn unix(self, host: u64) -> u64 {
        if host < self.host {
            self.unix.saturating_sub(self.host - host)
        } else {
            self.unix.saturating_add(host - self.host)
        }
    }
}

/// Nanoseconds since 1970, which end in 2554.
fn unix(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Numbers for traces and spans: SplitMix64 from two beginnings, which the system's randomness gives by way of std's hash maps. It is a bijection of a
/// counter, so that none comes twice; that two processes come to the same 128 bits would be chance.
pub(super) struct Ids {
    keys: [u64; 2],
    drawn: u64,
}

impl Default for Ids {
    fn default() -> Ids {
        Ids { keys: [0u64, 1].map(|number| RandomState::new().hash_one(number)), drawn: 0 }
    }
}

impl Ids {
    pub(super) fn draw(&mut self) -> [u64; 2] {
        self.drawn = self.drawn.wrapping_add(1);
        self.keys.map(|key| mixed(key.wrapping_add(self.drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15))))
    }

    /// Neither may be 0, which means that there is none.
    fn span(&mut self) -> [u8; 8] {
        loop {
            let [id, _] = self.draw();
            if id != 0 {
                return id.to_be_bytes();
            }
        }
    }

    fn trace(&mut self) -> [u8; 16] {
        let [high, low] = self.draw();
        (u128::from(high) << 64 | u128::from(low)).max(1).to_be_bytes()
    }
}

/// The finalizer of SplitMix64 (<https://prng.di.unimi.it/splitmix64.c>).
fn mixed(mut number: u64) -> u64 {
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

// ---------------------------------------------------------------- attributes

fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

fn integer(number: u64) -> Value {
    Value::IntValue(i64::try_from(number).unwrap_or(i64::MAX))
}

fn text(text: &str) -> Value {
    Value::StringValue(bounded(text))
}

/// A name; a longer one ends with its hash, so that two that begin alike do not become one.
fn name(name: &str) -> String {
    let name = printable(name);
    if name.len() <= LONGEST_NAME {
        return name;
    }
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    let end = format!("...#{:016x}", hasher.finish());
    format!("{}{end}", cut(&name, LONGEST_NAME - end.len()))
}

pub(super) fn bounded(text: &str) -> String {
    let text = printable(text);
    if text.len() <= LONGEST_TEXT {
        return text;
    }
    format!("{}...", cut(&text, LONGEST_TEXT - 3))
}

/// Without NUL, which UTF-8 has and many a database behind a collector has not.
fn printable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

fn cut(text: &str, most: usize) -> &str {
    let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    &text[..end]
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_stay_within_what_can_be_said() {
        let clock = Clock { host: 1000, unix: 1_000_000 };
        for (host, wanted) in [(1000, 1_000_000), (900, 999_900), (0, 999_000), (1001, 1_000_001)] {
            assert_eq!(clock.unix(host), wanted);
        }
        assert_eq!(clock.unix(u64::MAX), u64::MAX);
        assert_eq!(Clock { host: u64::MAX, unix: 5 }.unix(7), 0);
        let day = Duration::from_secs(86_400);
        assert_eq!(unix(UNIX_EPOCH + day), 86_400_000_000_000);
        assert_eq!(unix(UNIX_EPOCH - day), 0);
        assert_eq!(unix(UNIX_EPOCH + 365_000 * day), u64::MAX);
    }

    /// A clock that was set back makes no counter one that began later.
    #[test]
    fn counts_end_after_they_began() {
        let since = UNIX_EPOCH + Duration::from_nanos(100);
        for (time, wanted) in [(500, (100, 500)), (101, (100, 101)), (100, (100, 101)), (7, (100, 101))] {
            assert_eq!(span_of_count(since, time), wanted);
        }
    }

    /// Seventeen seconds and more, which no other test waits for.
    #[test]
    fn the_last_bucket_has_what_is_beyond_the_others() {
        let value = Buckets { counts: vec![(1.0, 2), (2.0, 0), (4.0, 3)], count: 9, sum: 40.5 };
        let point = distribution(&Sample { labels: Vec::new(), value, since: UNIX_EPOCH }, 5);
        assert_eq!((point.explicit_bounds, point.bucket_counts), (vec![1.0, 2.0, 4.0], vec![2, 0, 3, 4]));
        assert_eq!((point.count, point.sum), (9, Some(40.5)));
        let most = number(&Sample { labels: Vec::new(), value: u64::MAX, since: UNIX_EPOCH }, None, 5);
        assert_eq!(most.value, Some(Number::AsInt(i64::MAX)));
    }

    #[test]
    fn numbers_do_not_come_twice() {
        let (mut one, mut other) = (Ids::default(), Ids::default());
        let spans: HashSet<_> = (0..10_000).flat_map(|_| [one.span(), other.span()]).collect();
        let traces: HashSet<_> = (0..10_000).flat_map(|_| [one.trace(), other.trace()]).collect();
        assert_eq!((spans.len(), traces.len()), (20_000, 20_000));
    }

    #[test]
    fn what_is_cut_is_text() {
        for (text, most, wanted) in [("abc", 2, "ab"), ("aé", 2, "a"), ("éé", 3, "é"), ("é", 1, ""), ("", 0, "")] {
            assert_eq!(cut(text, most), wanted);
        }
    }
}
