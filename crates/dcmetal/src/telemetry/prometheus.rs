//! Metrics as the text that Prometheus reads, in the form of OpenMetrics
//! (<https://prometheus.io/docs/specs/om/open_metrics_spec/>).
//!
//! Each call makes a registry whose one collector has the metrics: the crate keeps no figures of ours, and ours need none of its.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};

use super::Telemetry;
use super::metrics::{Devices, Metric, Sample, Values};

/// The text of the metrics of all these, to be served as `application/openmetrics-text; version=1.0.0; charset=utf-8`. The label
/// `accelerator` is the place in this list, from 0.
///
/// ```
/// # fn main() -> dcmetal::Result<()> {
/// # use dcmetal::*;
/// let gpu = Accelerator::system_default()?;
/// let telemetry = gpu.telemetry();
/// gpu.batch()?.submit()?.wait()?;
/// let text = telemetry::prometheus_text([&telemetry]);
/// assert!(text.contains("dcmetal_submissions_total{"));
/// # Ok(()) }
/// ```
pub fn prometheus_text<'a>(telemetry: impl IntoIterator<Item = &'a Telemetry>) -> String {
    let mut registry = Registry::with_prefix("dcmetal");
    registry.register_collector(Box::new(Metrics(Devices::of(telemetry).metrics())));
    let mut text = String::new();
    encode(&mut text, &registry).expect("strings take everything");
    text
}

struct Metrics(Vec<Metric>);

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        for Metric { name, help, values } in &self.0 {
            let (unit, kind) = match values {
                Values::Counters(_) => (None, MetricType::Counter),
                Values::Gauges(_) => (None, MetricType::Gauge),
                Values::Bytes(_) => (Some(Unit::Bytes), MetricType::Gauge),
                Values::Histograms(_) => (Some(Unit::Seconds), MetricType::Histogram),
            };
            let mut family = encoder.encode_descriptor(name, help, unit.as_ref(), kind)?;
            match values {
                Values::Counters(samples) => samples.iter().try_for_each(|Sample { labels, value, .. }| {
                    family.encode_family(labels)?.encode_counter::<NoLabelSet, _, f64>(value, None)
                })?,
                Values::Gauges(samples) | Values::Bytes(samples) => {
                    samples.iter().try_for_each(|Sample { labels, value, .. }| {
                        family.encode_family(labels)?.encode_gauge(value)
                    })?;
                }
                Values::Histograms(samples) => {
                    samples.iter().try_for_each(|Sample { labels, value: histogram, .. }| {
                        let mut buckets = histogram.counts.clone();
                        let within: u64 = buckets.iter().map(|(_, count)| count).sum();
                        buckets.push((f64::INFINITY, histogram.count - within));
                        let (sum, count) = (histogram.sum, histogram.count);
                        family.encode_family(labels)?.encode_histogram::<NoLabelSet>(sum, count, &buckets, None)
                    })?
                }
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|metric| metric.name)).finish()
    }
}
