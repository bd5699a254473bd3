//! [`OtlpExporter`]: a thread that sends metrics and spans from time to time.
//!
//! Only this thread waits for the collector. Of the device's threads it takes no more than [`Telemetry::snapshot`] and [`Telemetry::take_spans`] do.
//!
//! What is in memory is bounded: metrics are encoded anew at each try, since they are cumulative, and spans are taken only when all that were
//! taken before are sent or given up. While a collector is away they stay in the room that `record_spans` gave them, and the earliest make room.

use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SendError, Sender, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use log::Level;
use ureq::Agent;

use super::encode::{Ids, Request, metrics, traces};
use super::post::{NO_TIME, Refusal, Taken, Target, agent, pause};
use super::settings::OtlpSettings;
use crate::raw::host::lock;
use crate::sync::{Arc, Mutex, PoisonError};
use crate::telemetry::{OTLP, Spans, Telemetry, say};

/// Spans that a collector does not take for so long are given up.
const KEPT: Duration = Duration::from_secs(300);
/// From one sending to the next at least.
const NEAREST: Duration = Duration::from_millis(100);
/// What is interrupted ends within that, but for a look-up of a name and a connection being made.
const INTERRUPTED: Duration = Duration::from_secs(1);

/// Sends metrics, and the spans that [`Telemetry::record_spans`] makes room for, to a collector of OpenTelemetry's until it is dropped.
///
/// What the collector does not take is tried again as OTLP has it, and said under `dcmetal::otlp` of the crate `log`. The exporter takes the spans of its
/// accelerators ([`Telemetry::take_spans`]): who else takes them gets others.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use dcmetal::*;
/// # use std::time::Duration;
/// let gpu = Accelerator::system_default()?;
/// let telemetry = gpu.telemetry();
/// telemetry.record_spans(10_000);
/// let settings = telemetry::OtlpSettings::from_environment();
/// let exporter = telemetry::OtlpExporter::start(settings, vec![telemetry])?;
/// // ... work ...
/// exporter.flush(Duration::from_secs(5))?;
/// # Ok(()) }
/// ```
pub struct OtlpExporter {
    asks: Sender<Ask>,
    /// Disconnected once the thread has ended.
    ended: Mutex<Receiver<()>>,
    thread: Option<JoinHandle<()>>,
    agent: Agent,
    closing: Duration,
    stats: Arc<Mutex<OtlpStats>>,
}

/// What an [`OtlpExporter`] sent until it was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OtlpStats {
    /// Points of metrics that the collector took.
    pub points: u64,
    /// Points that it rejected.
    pub points_rejected: u64,
    /// Spans that it took. A submission is one and, where the device tells its times, another.
    pub spans: u64,
    /// Spans that it rejected, and those given up after it had not answered for five minutes or the exporter was dropped.
    pub spans_rejected: u64,
    /// Submissions and compilations whose spans made room for later ones before they could be sent.
    pub overwritten: u64,
    /// Requests that were not taken, those that were tried again too.
    pub failures: u64,
}

enum Ask {
    Flush { until: Instant, answer: SyncSender<io::Result<()>> },
    Close { until: Instant },
}

impl Ask {
    fn flush(limit: Duration) -> (Ask, Receiver<io::Result<()>>) {
        // An answer is handed over or not given: in a buffer it would be lost when who asked has just stopped waiting.
        let (answer, answered) = mpsc::sync_channel(0);
        (Ask::Flush { until: after(limit), answer }, answered)
    }
}

impl OtlpExporter {
    /// Sends what these count, measure and record, by a thread of its own. The attribute `accelerator` is the place in this list, from 0.
    ///
    /// # Errors
    /// Of the kind `InvalidInput`, when no request can be made of a URL or a header; the system's, when it gives no thread.
    pub fn start(settings: OtlpSettings, telemetry: Vec<Telemetry>) -> io::Result<OtlpExporter> {
        OtlpExporter::start_with(settings, telemetry, KEPT)
    }

    fn start_with(settings: OtlpSettings, telemetry: Vec<Telemetry>, kept: Duration) -> io::Result<OtlpExporter> {
        let closing = settings.closing;
        let mut sending = Sending::new(settings, telemetry, kept)?;
        let (agent, stats) = (sending.agent.clone(), Arc::clone(&sending.stats));
        let ((asks, asked), (ends, ended)) = (mpsc::channel(), mpsc::channel());
        let run = move || {
            // Dropped after everything else here.
            let _ends: Sender<()> = ends;
            sending.run(&asked);
            drop(sending);
        };
        let thread = thread::Builder::new().name("dcmetal otlp".to_owned()).spawn(run)?;
        Ok(OtlpExporter { asks, ended: Mutex::new(ended), thread: Some(thread), agent, closing, stats })
    }

    /// Sends now what there is, tries again where the collector lets, and waits for about `limit` at most until it has taken it.
    ///
    /// # Errors
    /// Of the kind `TimedOut`, when that was too short; what is left is sent later. `Other`, when the collector did not take some of it and never will, or
    /// when spans were refused or given up since the last `flush`.
    pub fn flush(&self, limit: Duration) -> io::Result<()> {
        let ended = || io::Error::other("the exporter's thread has ended");
        let (ask, answered) = Ask::flush(limit);
        self.asks.send(ask).map_err(|_| ended())?;
        match answered.recv_timeout(limit.saturating_add(INTERRUPTED)) {
            Ok(result) => result,
            Err(RecvTimeoutError::Timeout) => {
                Err(io::Error::new(io::ErrorKind::TimedOut, "another request is under way"))
            }
            Err(RecvTimeoutError::Disconnected) => Err(ended()),
        }
    }

    /// What was sent, and what was not.
    pub fn stats(&self) -> OtlpStats {
        *lock(&self.stats)
    }
}

impl Drop for OtlpExporter {
    /// Sends what there is, once, and takes [`OtlpSettings::closing`] for it and a second more at most.
    fn drop(&mut self) {
        let _ = self.asks.send(Ask::Close { until: after(self.closing) });
        let ended = self.ended.get_mut().unwrap_or_else(PoisonError::into_inner);
        let has_ended = |limit| ended.recv_timeout(limit) != Err(RecvTimeoutError::Timeout);
        if !has_ended(self.closing) {
            self.agent.clone().shutdown();
            if !has_ended(INTERRUPTED) {
                // It ends by itself when the look-up does that it is in.
                return;
            }
        }
        if let Some(thread) = self.thread.take() {
            // A panic in there has been reported by its hook.
            let _ = thread.join();
        }
    }
}

impl std::fmt::Debug for OtlpExporter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OtlpExporter").field("stats", &self.stats()).finish_non_exhaustive()
    }
}

/// A time from now; one that is too far away is far away.
fn after(duration: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(1 << 30);
    let now = Instant::now();
    now.checked_add(duration).unwrap_or_else(|| now + FAR)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Signal {
    Metrics,
    Spans,
}

/// Where and when one of the two is sent.
struct Lane {
    signal: Signal,
    target: Target,
    interval: Duration,
    /// When it is sent next, or tried again.
    due: Instant,
    /// Where tries failed: the next may not be before.
    not_before: Instant,
    /// Tries in a row that failed and may be made again, since when, and why the last did.
    tries: u32,
    failing_since: Option<Instant>,
    why: String,
    /// The collector asked for no more before that.
    is_told: bool,
    /// What it said of the last request that it took.
    said: String,
}

impl Lane {
    fn new(signal: Signal, target: Target, interval: Duration) -> Lane {
        let interval = interval.max(NEAREST);
        let (due, not_before) = (after(interval), Instant::now());
        let (failing_since, why, said) = (None, String::new(), String::new());
        Lane { signal, target, interval, due, not_before, tries: 0, failing_since, why, is_told: false, said }
    }

    fn name(&self) -> &'static str {
        match self.signal {
            Signal::Metrics => "metrics",
            Signal::Spans => "spans",
        }
    }

    /// A request was taken, or what is returned was rejected of it.
    fn succeeded(&mut self, taken: &Taken) -> Result<(), String> {
        if self.tries > 0 {
            say(OTLP, Level::Info, format_args!("{} are taken again", self.name()));
        }
        self.begin_anew();
        let (name, whom) = (self.name(), self.target.shown());
        if taken.rejected > 0 {
            let text = format!("{} {name} were rejected: {whom}: {}", taken.rejected, taken.text);
            say(OTLP, Level::Warn, format_args!("{text}"));
            return Err(text);
        }
        if !taken.text.is_empty() {
            // A collector that says something says it each time.
            let level = if taken.text == self.said { Level::Debug } else { Level::Warn };
            say(OTLP, level, format_args!("{name} were taken: {whom}: {}", taken.text));
        }
        self.said.clone_from(&taken.text);
        Ok(())
    }

    /// The collector has answered.
    fn begin_anew(&mut self) {
        (self.tries, self.failing_since, self.is_told) = (0, None, false);
        self.why.clear();
    }

    /// The next try is due when the collector says, or later from time to time.
    fn failed(&mut self, told: Option<Duration>, text: &str, random: u64) {
        self.tries = self.tries.saturating_add(1);
        let pause = pause(self.tries, told, random);
        // Said once until one is taken: a collector that is away stays away for many tries.
        let level = if self.tries == 1 { Level::Warn } else { Level::Debug };
        say(OTLP, level, format_args!("{} were not sent and are tried again in {pause:.1?}: {text}", self.name()));
        self.failing_since.get_or_insert_with(Instant::now);
        (self.due, self.is_told, self.why) = (after(pause), told.is_some(), text.to_owned());
        self.not_before = self.due;
    }
}

/// What the thread has.
struct Sending {
    telemetry: Vec<Telemetry>,
    resource: Vec<(String, String)>,
    agent: Agent,
    ids: Ids,
    lanes: [Lane; 2],
    /// Spans that were taken and not yet sent.
    taken: VecDeque<Request>,
    /// Why spans were lost, for the next `flush`: metrics are all there again in the next request, spans are not.
    refused: Option<String>,
    kept: Duration,
    is_closing: bool,
    stats: Arc<Mutex<OtlpStats>>,
}

impl Sending {
    fn new(settings: OtlpSettings, telemetry: Vec<Telemetry>, kept: Duration) -> io::Result<Sending> {
        let OtlpSettings { metrics, traces, resource, metrics_interval, spans_interval, closing: _ } = settings;
        let lanes = [
            Lane::new(Signal::Metrics, Target::new(&metrics)?, metrics_interval),
            Lane::new(Signal::Spans, Target::new(&traces)?, spans_interval),
        ];
        Ok(Sending {
            telemetry,
            resource,
            agent: agent(),
            ids: Ids::default(),
            lanes,
            taken: VecDeque::new(),
            refused: None,
            kept,
            is_closing: false,
            stats: Arc::default(),
        })
    }

    fn run(&mut self, asked: &Receiver<Ask>) {
        loop {
            let next = self.lanes[0].due.min(self.lanes[1].due);
            match asked.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(Ask::Flush { until, answer }) => {
                    // Who asked may have stopped waiting: the next is told what was lost.
                    if let Err(SendError(Err(error))) = answer.send(self.flush(until))
                        && error.kind() == io::ErrorKind::Other
                    {
                        self.refused = Some(error.to_string());
                    }
                }
                Ok(Ask::Close { until }) => return self.close(until),
                Err(RecvTimeoutError::Timeout) => {
                    for at in 0..self.lanes.len() {
                        if self.lanes[at].due <= Instant::now() {
                            let _ = self.send(at, after(Duration::MAX));
                        }
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Sends both until then; what was refused goes before what was not sent.
    fn flush(&mut self, until: Instant) -> io::Result<()> {
        let mut metrics_refused = None;
        let result = self.send_both(until, &mut metrics_refused);
        let spans_refused = self.refused.take();
        match metrics_refused.or(spans_refused) {
            Some(text) => Err(io::Error::other(text)),
            None => result,
        }
    }

    /// The time is shared, so that one that hangs does not take the other's.
    fn send_both(&mut self, until: Instant, refused: &mut Option<String>) -> io::Result<()> {
        let mut open = vec![0, 1];
        let ready = |lane: &Lane| if lane.tries > 0 { lane.not_before } else { Instant::now() };
        while let Some(at) = open.iter().copied().min_by_key(|at| ready(&self.lanes[*at])) {
            let (lane, now) = (&self.lanes[at], Instant::now());
            let pause = ready(lane).saturating_duration_since(now);
            let left = until.saturating_duration_since(now);
            // Another try that would have no time tells less of what is wrong than the last one.
            let least = if lane.tries > 0 { NEAREST } else { Duration::ZERO };
            if pause + least >= left {
                let why = if lane.why.is_empty() { NO_TIME } else { &lane.why };
                let text = format!("{} are not sent yet: {why}", lane.name());
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
            thread::sleep(pause);
            let share = (left - pause) / open.len() as u32;
            match self.send(at, after(share)) {
                Err(Refusal::Again { .. } | Refusal::NoTime) => {}
                Ok(()) => open.retain(|own| *own != at),
                Err(Refusal::Never { text }) => {
                    open.retain(|own| *own != at);
                    *refused = Some(text);
                }
            }
        }
        Ok(())
    }

    /// Sends both once more until then, where the collector has not asked for none.
    fn close(&mut self, until: Instant) {
        self.is_closing = true;
        for at in 0..self.lanes.len() {
            let lane = &self.lanes[at];
            if !lane.is_told || lane.not_before <= Instant::now() {
                let left = until.saturating_duration_since(Instant::now());
                let _ = self.send(at, after(left / (self.lanes.len() - at) as u32));
            }
        }
        // Those that nobody got to are lost as well.
        self.take_spans();
        self.give_up("the exporter was dropped");
    }

    /// One try of what there is.
    fn send(&mut self, at: usize, until: Instant) -> Result<(), Refusal> {
        let result = match self.lanes[at].signal {
            Signal::Metrics => self.send_metrics(at, until),
            Signal::Spans => self.send_spans(at, until),
        };
        let lane = &mut self.lanes[at];
        match &result {
            Err(Refusal::Again { after: told, text }) => {
                if self.is_closing {
                    say(OTLP, Level::Warn, format_args!("{} were not sent: {text}", lane.name()));
                } else {
                    lane.failed(*told, text, self.ids.draw()[0]);
                }
                lock(&self.stats).failures += 1;
                if lane.signal == Signal::Spans && lane.failing_since.is_some_and(|since| since.elapsed() >= self.kept)
                {
                    lane.failing_since = None;
                    self.give_up("the collector has not taken any for long");
                }
            }
            // The collector has no part in it.
            Err(Refusal::NoTime) if self.is_closing => {
                say(OTLP, Level::Warn, format_args!("{} were not sent: {NO_TIME}", lane.name()));
            }
            Err(Refusal::NoTime) => {}
            Ok(()) | Err(Refusal::Never { .. }) => lane.due = after(lane.interval),
        }
        result
    }

    fn send_metrics(&mut self, at: usize, until: Instant) -> Result<(), Refusal> {
        let Request { body, count } = metrics(&self.resource, &self.telemetry);
        if count == 0 {
            return Ok(());
        }
        let lane = &mut self.lanes[at];
        match lane.target.post(&self.agent, &body, until) {
            Ok(taken) => {
                let rejected = taken.rejected.min(count);
                let mut stats = lock(&self.stats);
                stats.points += count - rejected;
                stats.points_rejected += rejected;
                drop(stats);
                lane.succeeded(&taken).map_err(|text| Refusal::Never { text })
            }
            Err(Refusal::Never { text }) => {
                say(OTLP, Level::Warn, format_args!("metrics were not taken: {text}"));
                lane.begin_anew();
                let mut stats = lock(&self.stats);
                stats.points_rejected += count;
                stats.failures += 1;
                Err(Refusal::Never { text })
            }
            again => again.map(|_| ()),
        }
    }

    /// Those that were taken before, then those that are there now. What the collector refuses is lost, and no error here.
    fn send_spans(&mut self, at: usize, until: Instant) -> Result<(), Refusal> {
        let mut are_all_taken = false;
        loop {
            let Some(Request { body, count }) = self.taken.front() else {
                if are_all_taken {
                    return Ok(());
                }
                are_all_taken = true;
                self.take_spans();
                continue;
            };
            let lane = &mut self.lanes[at];
            match lane.target.post(&self.agent, body, until) {
                Ok(taken) => {
                    let rejected = taken.rejected.min(*count);
                    let mut stats = lock(&self.stats);
                    stats.spans += count - rejected;
                    stats.spans_rejected += rejected;
                    drop(stats);
                    if let Err(text) = lane.succeeded(&taken) {
                        self.refused = Some(text);
                    }
                }
                Err(Refusal::Never { text }) => {
                    say(OTLP, Level::Warn, format_args!("{count} spans were not taken: {text}"));
                    lane.begin_anew();
                    let mut stats = lock(&self.stats);
                    stats.spans_rejected += count;
                    stats.failures += 1;
                    drop(stats);
                    self.refused = Some(text);
                }
                // What was taken stays, as it is.
                again => return again.map(|_| ()),
            }
            self.taken.pop_front();
        }
    }

    fn take_spans(&mut self) {
        let spans: Vec<Spans> = self.telemetry.iter().map(Telemetry::take_spans).collect();
        let overwritten: u64 = spans.iter().map(|spans| spans.lost).sum();
        if overwritten > 0 {
            say(OTLP, Level::Warn, format_args!("{overwritten} spans made room for later ones before they were sent"));
            lock(&self.stats).overwritten += overwritten;
        }
        let of_accelerators = self.telemetry.iter().zip(&spans).enumerate();
        let of_accelerators = of_accelerators.map(|(number, (one, spans))| (number, one.accelerator.name(), spans));
        self.taken.extend(traces(&self.resource, of_accelerators, &mut self.ids));
    }

    /// Spans that were taken are not sent any more.
    fn give_up(&mut self, why: &str) {
        let count: u64 = self.taken.drain(..).map(|request| request.count).sum();
        if count > 0 {
            lock(&self.stats).spans_rejected += count;
            let text = format!("{count} spans are given up: {why}");
            say(OTLP, Level::Warn, format_args!("{text}"));
            self.refused = Some(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Accelerator;
    use std::sync::mpsc::TrySendError;

    /// Who asked stops waiting before the answer, or just when it comes: nobody has it then.
    #[test]
    fn what_nobody_heard_is_told_to_the_next() {
        let settings = OtlpSettings::new("http://127.0.0.1:1");
        let mut sending = Sending::new(settings, Vec::new(), KEPT).expect("a URL");
        sending.refused = Some("3 spans".to_owned());
        let (asks, asked) = mpsc::channel();
        let (ask, unheard) = Ask::flush(Duration::from_secs(60));
        let Ask::Flush { answer, .. } = &ask else { panic!("it is one") };
        let given = answer.try_send(Ok(()));
        assert!(matches!(given, Err(TrySendError::Full(_))), "an answer that nobody takes is given to nobody");
        drop(unheard);
        for ask in [ask, Ask::Close { until: Instant::now() }] {
            asks.send(ask).expect("a receiver");
        }
        sending.run(&asked);
        assert_eq!(sending.refused.as_deref(), Some("3 spans"));
    }

    /// A collector that is away, for longer than spans are kept and not.
    #[test]
    fn spans_are_given_up_in_time() {
        for (kept, given_up) in [(Duration::ZERO, true), (KEPT, false)] {
            let gpu = Accelerator::system_default().expect("a Metal device");
            let telemetry = gpu.telemetry();
            telemetry.record_spans(10);
            let (never, closing) = (Duration::MAX, Duration::ZERO);
            // A port that nobody listens at.
            let settings = OtlpSettings::new("http://127.0.0.1:1");
            let settings = OtlpSettings { metrics_interval: never, spans_interval: never, closing, ..settings };
            let exporter = OtlpExporter::start_with(settings, vec![telemetry.clone()], kept).expect("a thread");
            let submit = || gpu.batch().and_then(|batch| batch.submit()).and_then(|done| done.wait());
            submit().expect("nothing fails");
            if given_up {
                let error = exporter.flush(Duration::from_secs(5)).expect_err("nobody listens");
                assert!(error.to_string().contains("spans are given up"), "{error}");
            }
            // Until both were tried.
            for _ in 0..100 {
                if exporter.stats().failures < 2 {
                    exporter.flush(Duration::from_secs(1)).expect_err("nobody listens");
                }
            }
            assert_eq!(exporter.stats().spans_rejected > 0, given_up);
            if !given_up {
                submit().expect("nothing fails");
                exporter.flush(Duration::from_secs(2)).expect_err("nobody listens");
                assert_eq!(telemetry.take_spans().submissions.len(), 1, "those that were taken come first");
            }
        }
    }
}
