//! Telemetry: what an accelerator did and how long that took, for people and for the systems they watch programs with.
//!
//! It is off until it is asked for ([`Accelerator::telemetry`]); until then a submission pays a look at a pointer. Then it counts submissions, launches,
//! failures by kind and compilations, and keeps [`Histogram`]s of times. [`Telemetry::snapshot`] gives all of that, [`Telemetry::health`] one
//! word with reasons, [`Telemetry::record_spans`] what each submission and compilation did and when.
//!
//! A time of the device's is Metal's (`GPUStartTime`, `GPUEndTime`), which is one per submission. So kernels have times from submissions that did nothing
//! else; where the platform tells none, there is none.
//!
//! Exports, each behind the feature of its name: `prometheus` (text), `http` (an endpoint that serves it), `otlp` (sent to a collector of
//! OpenTelemetry's), `trace` (a file for Chrome's tracing and Perfetto).
//!
//! Apart from all this the crate says what happens by the crate `log`, under targets that stay: `dcmetal::submission` (warnings of failures, each
//! submission at the level `trace`), `dcmetal::compile` (each compilation, `debug`), `dcmetal::graph` (a graph that is encoded anew each time, `debug`),
//! `dcmetal::memory` (an owner of memory that panicked, `error`), `dcmetal::pool` (memory released because memory is short, `debug`),
//! `dcmetal::recovery` (warnings of retries, devices left alone and lost), `dcmetal::otlp` (what was not sent). docs/TELEMETRY.md lists targets and metrics.

#[cfg(feature = "trace")]
mod chrome;
mod figures;
mod health;
mod histogram;
#[cfg(feature = "http")]
mod http;
#[cfg(any(feature = "otlp", feature = "prometheus"))]
mod metrics;
#[cfg(feature = "otlp")]
mod otlp;
#[cfg(test)]
mod percentiles;
#[cfg(feature = "prometheus")]
mod prometheus;
mod spans;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::SystemTime;

use log::Level;

#[cfg(feature = "trace")]
pub use chrome::chrome_trace;
pub(crate) use figures::{Ended, Figures, KernelFigures, Since, Timing};
pub use health::{Health, Reason, State};
pub use histogram::Histogram;
#[cfg(feature = "http")]
pub use http::MetricsServer;
#[cfg(feature = "otlp")]
pub use otlp::{OtlpEndpoint, OtlpExporter, OtlpSettings, OtlpStats, otlp_metrics, otlp_traces};
#[cfg(feature = "prometheus")]
pub use prometheus::prometheus_text;
pub use spans::{CompilationSpan, Compiled, Spans, SubmissionSpan};

use crate::raw::clock::now;
use crate::raw::host::lock;
use crate::sync::{AtomicU64, Ordering};
use crate::{Accelerator, CacheStats, ErrorKind, KernelFileStats, PoolStats, Result};

/// Targets of `log`.
pub(crate) const SUBMISSION: &str = "dcmetal::submission";
pub(crate) const COMPILE: &str = "dcmetal::compile";
pub(crate) const GRAPH: &str = "dcmetal::graph";
pub(crate) const MEMORY: &str = "dcmetal::memory";
pub(crate) const POOL: &str = "dcmetal::pool";
pub(crate) const RECOVERY: &str = "dcmetal::recovery";
#[cfg(feature = "otlp")]
const OTLP: &str = "dcmetal::otlp";

/// Says it by the crate `log`. The logger is the user's code: where it panics, which the panic hook has reported, no thread of the crate's ends, and nothing
/// has another outcome.
pub(crate) fn say(target: &str, level: Level, words: fmt::Arguments<'_>) {
    let _ = catch_unwind(AssertUnwindSafe(|| log::log!(target: target, level, "{words}")));
}

/// What an accelerator counts and measures, from the first call of [`Accelerator::telemetry`] on. Cloning shares it.
///
/// ```
/// # fn main() -> dcmetal::Result<()> {
/// # use dcmetal::*;
/// let gpu = Accelerator::system_default()?;
/// let telemetry = gpu.telemetry();
/// let double = gpu.compile_msl(
///     "kernel void twice(device float* x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] *= 2.0f; }",
/// )?.kernel("twice")?;
/// let mut x = gpu.buffer_from(&[1.0f32, 2.0])?;
/// double.launch(Grid::linear(2), args![&mut x])?.wait()?;
/// let snapshot = telemetry.snapshot();
/// assert_eq!((snapshot.committed, snapshot.succeeded, snapshot.launches), (1, 1, 1));
/// println!("99 of 100 submissions end within {:?}", snapshot.latency.percentile(99.0));
/// println!("{}", telemetry.health());
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Telemetry {
    accelerator: Accelerator,
    figures: Arc<Figures>,
}

/// What was counted and measured until it was asked for. A submission is in it when it was handed over and waited for before.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The device's name.
    pub device: String,
    /// When the accelerator was made: its caches and pools count from then on, also without telemetry.
    pub made: SystemTime,
    /// When telemetry was turned on, from which on everything else is counted.
    pub since: SystemTime,
    /// Submissions that were handed to Metal, and batches of streams that it refused.
    pub committed: u64,
    /// Submissions that ended well.
    pub succeeded: u64,
    /// Submissions that failed, by kind; every kind is there.
    pub failed: Vec<(ErrorKind, u64)>,
    /// Launches of the submissions that have ended.
    pub launches: u64,
    /// Copies and fills of the submissions that have ended.
    pub copies: u64,
    /// From the commit of a submission until those who waited were told. Times are taken of each submission while they are few, and of one
    /// of 2, 4, 8, ... when there are more than some 6,000 a second; where spans are recorded, of each.
    pub latency: Histogram,
    /// From the commit until the device began, of submissions that ended well, where host and device have one clock.
    pub queued: Histogram,
    /// Time on the device, of submissions that ended well.
    pub device_time: Histogram,
    /// Submissions that ended well and whose times were taken, but of which the platform told no time on the device.
    pub untimed: u64,
    /// Times in which libraries were compiled, also from OpenCL C.
    pub libraries: Histogram,
    /// Times in which kernels were made from libraries, also from kept files.
    pub kernels_made: Histogram,
    /// Libraries and kernels that could not be compiled.
    pub not_compiled: u64,
    /// Further tries of work on this device, after one that failed, by every [`Recovery`](crate::Recovery).
    pub retries: u64,
    /// How often a [`Recovery`](crate::Recovery) found that this device is to be left alone for a while, also after a probe that failed.
    pub pauses: u64,
    /// By name, the first 256 names; later ones are together as `(others)`.
    pub kernels: Vec<KernelSnapshot>,
    /// What became of the sources that were to be compiled: [`Accelerator::source_stats`].
    pub sources: CacheStats,
    /// [`Accelerator::kernel_file_stats`].
    pub kernel_files: Option<KernelFileStats>,
    /// The accelerator's pools that live, each with its number in the order in which they were made.
    pub pools: Vec<(u64, PoolStats)>,
    /// Bytes that this process holds on the device.
    pub allocated_bytes: u64,
    /// Bytes that the device recommends at most; 0 when it recommends nothing.
    pub recommended_bytes: u64,
}

/// The kernels of one name.
#[derive(Clone, Debug)]
pub struct KernelSnapshot {
    /// Their name.
    pub name: String,
    /// Launches of the submissions that have ended.
    pub launches: u64,
    /// Time on the device of submissions that launched this kernel and did nothing else, and ended well.
    pub device_time: Histogram,
    /// The launches of these submissions.
    pub timed_launches: u64,
}

impl Telemetry {
    pub(crate) fn new(accelerator: &Accelerator, figures: &Arc<Figures>) -> Telemetry {
        Telemetry { accelerator: accelerator.clone(), figures: Arc::clone(figures) }
    }

    /// What was counted and measured until now.
    pub fn snapshot(&self) -> Snapshot {
        let (gpu, figures) = (&self.accelerator, &*self.figures);
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let kernel = |(name, kernel): (String, Arc<KernelFigures>)| KernelSnapshot {
            name,
            launches: of(&kernel.launches),
            device_time: kernel.device.read(),
            timed_launches: of(&kernel.timed_launches),
        };
        let kernels: Vec<KernelSnapshot> = figures.kernels().into_iter().map(kernel).collect();
        Snapshot {
            device: gpu.name().to_owned(),
            made: gpu.made(),
            since: figures.since.0,
            committed: of(&figures.begun.committed),
            succeeded: of(&figures.ends.succeeded),
            failed: figures.failed().collect(),
            launches: kernels.iter().map(|kernel| kernel.launches).sum(),
            copies: of(&figures.ends.copies),
            latency: figures.latency.read(),
            queued: figures.queued.read(),
            device_time: figures.device.read(),
            untimed: of(&figures.untimed),
            libraries: figures.sources.read(),
            kernels_made: figures.pipelines.read(),
            not_compiled: of(&figures.not_compiled),
            retries: of(&figures.retries),
            pauses: of(&figures.pauses),
            kernels,
            sources: gpu.source_stats(),
            kernel_files: gpu.kernel_file_stats(),
            pools: gpu.pool_stats(),
            allocated_bytes: gpu.allocated_bytes(),
            recommended_bytes: gpu.limits().recommended_working_set,
        }
    }

    /// How the device does. Asks the system for its devices and how short memory is, so it takes longer than a look at counters.
    pub fn health(&self) -> Health {
        health::health(&self.accelerator, &self.figures)
    }

    /// From now on spans are recorded of what begins, and the last `room` of them kept; 0 for none any more.
    pub fn record_spans(&self, room: usize) {
        let mut spans = lock(&self.figures.spans);
        spans.set_room(room);
        self.figures.spanning.store(room as u64, Ordering::Relaxed);
    }

    /// Takes the spans that were recorded since they were last taken.
    pub fn take_spans(&self) -> Spans {
        lock(&self.figures.spans).take()
    }
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telemetry").field("accelerator", &self.accelerator).finish_non_exhaustive()
    }
}

/// Compiles, and measures that where somebody wants to know.
pub(crate) fn compiling<T>(
    accelerator: &Accelerator,
    what: Compiled,
    name: &str,
    compile: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let figures = accelerator.figures();
    let is_heard = || log::log_enabled!(target: COMPILE, Level::Debug);
    if figures.is_none() && !catch_unwind(is_heard).unwrap_or(false) {
        return compile();
    }
    let begun = now();
    let outcome = compile();
    let ended = now();
    let time = std::time::Duration::from_nanos(ended - begun);
    let kind = match what {
        Compiled::Library => "library",
        Compiled::Kernel => "kernel",
    };
    match &outcome {
        Ok(_) => say(COMPILE, Level::Debug, format_args!("{kind} `{name}` compiled in {time:.2?}")),
        Err(error) => {
            say(COMPILE, Level::Debug, format_args!("{kind} `{name}` not compiled, after {time:.2?}: {error}"));
        }
    }
    if let Some(figures) = figures {
        let span = || {
            let thread = std::thread::current();
            let named = thread.name().map_or_else(String::new, |name| format!("{name}, "));
            let thread = format!("{named}{:?}", thread.id());
            let error = outcome.as_ref().err().map(ToString::to_string);
            CompilationSpan { what, name: name.to_owned(), begun, ended, thread, error }
        };
        figures.compiled(span, what == Compiled::Library, outcome.is_ok(), ended - begun);
    }
    outcome
}
