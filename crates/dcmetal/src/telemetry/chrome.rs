//! Spans as a trace file in Chrome's format, which Perfetto (<https://ui.perfetto.dev>) opens.
//!
//! A submission is a nestable asynchronous event with events inside: `encode`, `queue`, then what ran on the device, under the names of its kernels,
//! and `settle`. What Metal does not tell, as the device's time of each of several kernels, is "unsupported". Submissions overlap, so each is a track of its own. A compilation is an event of the thread that waited for it.
//! "Trace Event Format", <https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU>.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{CompilationSpan, Compiled, Spans, SubmissionSpan};

/// The one process, and the thread that submissions are on, which the format wants to know and nobody looks at.
const PROCESS: u64 = 1;
const SUBMISSIONS: u64 = 0;

/// The text of a trace file with these spans, of the device of that name. Times are microseconds since the first span began.
///
/// ```
/// # fn main() -> dcmetal::Result<()> {
/// # use dcmetal::*;
/// let gpu = Accelerator::system_default()?;
/// let telemetry = gpu.telemetry();
/// telemetry.record_spans(10_000);
/// gpu.batch()?.submit()?.wait()?;
/// let json = telemetry::chrome_trace(gpu.name(), &telemetry.take_spans());
/// assert!(json.contains("submission"));
/// # Ok(()) }
/// ```
pub fn chrome_trace(device: &str, spans: &Spans) -> String {
    let begins =
        spans.submissions.iter().map(|span| span.begun).chain(spans.compilations.iter().map(|span| span.begun));
    let origin = begins.min().unwrap_or(0);
    let mut events = Vec::new();
    for (number, span) in spans.submissions.iter().enumerate() {
        submission(&mut events, origin, number + 1, span);
    }
    let mut threads: Vec<&str> = Vec::new();
    for span in &spans.compilations {
        let at = threads.iter().position(|known| *known == span.thread).unwrap_or_else(|| {
            threads.push(&span.thread);
            threads.len() - 1
        });
        events.push(compilation(origin, at as u64 + 1, span));
    }
    // Stable: events of one submission at the same time stay in their order.
    events.sort_by_key(|(time, _)| *time);
    let process = ("process_name", SUBMISSIONS, format!("dcmetal: {device}"));
    let names = threads.iter().enumerate().map(|(at, name)| ("thread_name", at as u64 + 1, (*name).to_owned()));
    let names = [process, ("thread_name", SUBMISSIONS, "submissions".to_owned())].into_iter().chain(names);
    let names = names.map(|(what, thread, name)| {
        json!({ "ph": "M", "name": what, "pid": PROCESS, "tid": thread, "args": { "name": name } })
    });
    let events: Vec<Value> = names.chain(events.into_iter().map(|(_, event)| event)).collect();
    let document = json!({
        "displayTimeUnit": "ns",
        "otherData": { "device": device, "lost_spans": spans.lost },
        "traceEvents": events,
    });
    format!("{document:#}\n")
}

fn microseconds(origin: u64, time: u64) -> Value {
    json!(time.saturating_sub(origin) as f64 / 1e3)
}

fn submission(events: &mut Vec<(u64, Value)>, origin: u64, number: usize, span: &SubmissionSpan) {
    let SubmissionSpan { begun, committed, ended, kernels, copies, passes, error, .. } = span;
    let names = names(span);
    let mut push = |phase: &str, name: &str, time: u64, args: Value| {
        let mut event = json!({
            "ph": phase, "cat": "submission", "id": number, "name": name, "pid": PROCESS, "tid": SUBMISSIONS,
            "ts": microseconds(origin, time),
        });
        if !args.is_null() {
            event["args"] = args;
        }
        events.push((time, event));
    };
    let launches: Map<String, Value> = kernels.iter().map(|(name, launches)| (name.clone(), json!(launches))).collect();
    let title = format!("submission {number}: {names}");
    let device_us = |time: Option<Duration>| match time {
        Some(time) => json!(time.as_nanos() as f64 / 1e3),
        None => json!("unsupported"),
    };
    let of_kernels =
        kernels.iter().enumerate().map(|(at, (name, _))| (name.clone(), device_us(span.kernel_device_time(at))));
    let of_kernels: Map<String, Value> = of_kernels.collect();
    let device_time = device_us(span.device_time());
    let mut args = json!({ "launches": launches, "copies": copies, "passes": passes, "device_us": device_time, "device_us_of_kernels": of_kernels });
    if let Some((kind, text)) = error {
        args["error"] = json!(text);
        args["error_kind"] = json!(format!("{kind:?}"));
    }
    push("b", &title, *begun, args);
    let mut inner = |name: &str, from: u64, to: u64| {
        push("b", name, from, Value::Null);
        push("e", name, to, Value::Null);
    };
    inner("encode", *begun, *committed);
    match span.placed_on_device() {
        Some((start, end)) => {
            inner("queue", *committed, start);
            inner(&names, start, end);
            inner("settle", end, *ended);
        }
        None => inner("queue and device", *committed, *ended),
    }
    push("e", &title, *ended, Value::Null);
}

/// What it did, in a few words.
fn names(span: &SubmissionSpan) -> String {
    let mut names: Vec<String> = span
        .kernels
        .iter()
        .map(|(name, launches)| if *launches == 1 { name.clone() } else { format!("{name} x{launches}") })
        .collect();
    match span.copies {
        0 => {}
        1 => names.push("copy".to_owned()),
        copies => names.push(format!("copy x{copies}")),
    }
    match span.passes {
        0 => {}
        1 => names.push("performance shaders".to_owned()),
        passes => names.push(format!("performance shaders x{passes}")),
    }
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}

fn compilation(origin: u64, thread: u64, span: &CompilationSpan) -> (u64, Value) {
    let mut name = match span.what {
        Compiled::Library => "library ".to_owned(),
        Compiled::Kernel => "kernel ".to_owned(),
    };
    let _ = write!(name, "{}", span.name);
    let mut event = json!({
        "ph": "X", "cat": "compile", "name": name, "pid": PROCESS, "tid": thread,
        "ts": microseconds(origin, span.begun), "dur": microseconds(span.begun, span.ended),
    });
    if let Some(error) = &span.error {
        event["args"] = json!({ "error": error });
    }
    (span.begun, event)
}
