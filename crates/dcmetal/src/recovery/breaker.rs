//! [`Breaker`]: keeps work away from a device that fails again and again, and tries with one piece of work whether it is
//! back (M. Nygard, "Release It!", ch. 5, "Circuit Breaker").
//!
//! Closed: work goes through, failures in a row are counted. Open: nothing goes through until the pause is over. Half open: one
//! piece of work goes through, a probe; its end decides. The caller brings the time, so that tests need no clock.

use std::time::{Duration, Instant};

/// When a breaker opens and how long it stays open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerLimits {
    /// Failures in a row that open it; at least 1.
    pub failures: u32,
    /// How long it stays open before one piece of work is let through.
    pub pause: Duration,
}

impl Default for BreakerLimits {
    /// Five failures, one second.
    fn default() -> BreakerLimits {
        BreakerLimits { failures: 5, pause: Duration::from_secs(1) }
    }
}

#[derive(Debug)]
pub(super) struct Breaker {
    limits: BreakerLimits,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed { failures: u32 },
    Open { until: Instant },
    HalfOpen,
}

impl Breaker {
    pub(super) fn new(limits: BreakerLimits) -> Breaker {
        Breaker { limits, state: State::Closed { failures: 0 } }
    }

    /// Whether work may go through now. Each piece that does must end with `succeeded`, `failed` or `undecided`.
    pub(super) fn admit(&mut self, now: Instant) -> bool {
        match self.state {
            State::Closed { .. } => true,
            State::Open { until } if now >= until => {
                self.state = State::HalfOpen;
                true
            }
            State::Open { .. } | State::HalfOpen => false,
        }
    }

    pub(super) fn succeeded(&mut self) {
        // What began before it opened says nothing of how the device is now.
        if !matches!(self.state, State::Open { .. }) {
            self.state = State::Closed { failures: 0 };
        }
    }

    pub(super) fn failed(&mut self, now: Instant) {
        let failures = match self.state {
            State::Closed { failures } => failures + 1,
            State::HalfOpen => self.limits.failures,
            State::Open { .. } => return,
        };
        self.state = if failures >= self.limits.failures {
            // A pause beyond what the clock can count never ends: a day is as good for a test of whether it is back.
            let until = now.checked_add(self.limits.pause).unwrap_or(now + Duration::from_secs(86_400));
            State::Open { until }
        } else {
            State::Closed { failures }
        };
    }

    /// Until when nothing goes through, when it is open.
    pub(super) fn open_until(&self) -> Option<Instant> {
        match self.state {
            State::Open { until } => Some(until),
            State::Closed { .. } | State::HalfOpen => None,
        }
    }

    /// Work ended in a way that says nothing of the device: the next may be the probe.
    pub(super) fn undecided(&mut self, now: Instant) {
        if self.state == State::HalfOpen {
            self.state = State::Open { until: now };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What happens, in milliseconds since the start.
    #[derive(Clone, Copy)]
    enum Event {
        /// Work asks, and is let through or not.
        Ask(u64, bool),
        Good,
        Bad(u64),
        Unclear(u64),
    }
    use Event::{Ask, Bad, Good, Unclear};

    #[test]
    fn it_opens_probes_and_closes() {
        const CASES: &[(&str, &[Event])] = &[
            ("failures with successes between them do not open", &[Bad(0), Good, Bad(1), Good, Bad(2), Ask(3, true)]),
            ("failures in a row do", &[Bad(0), Bad(1), Ask(2, false), Ask(100, false)]),
            ("after the pause one probe", &[Bad(0), Bad(1), Ask(101, true), Ask(101, false), Ask(999, false)]),
            ("a good probe closes", &[Bad(0), Bad(1), Ask(101, true), Good, Ask(102, true), Ask(102, true)]),
            ("and forgets", &[Bad(0), Bad(1), Ask(101, true), Good, Bad(102), Ask(103, true)]),
            ("a bad probe opens again", &[Bad(0), Bad(1), Ask(101, true), Bad(150), Ask(249, false), Ask(250, true)]),
            (
                "a probe that says nothing lets the next be one",
                &[Bad(0), Bad(1), Ask(101, true), Unclear(150), Ask(150, true)],
            ),
            ("what began before does not close it", &[Bad(0), Bad(1), Good, Ask(2, false)]),
            ("nor does it lengthen the pause", &[Bad(0), Bad(1), Bad(90), Ask(101, true)]),
            ("what is unclear does not count", &[Bad(0), Unclear(1), Bad(2), Ask(3, false)]),
        ];
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        for (name, events) in CASES {
            let mut breaker = Breaker::new(BreakerLimits { failures: 2, pause: Duration::from_millis(100) });
            for event in *events {
                match *event {
                    Ask(ms, wanted) => assert_eq!(breaker.admit(at(ms)), wanted, "{name}: at {ms}"),
                    Good => breaker.succeeded(),
                    Bad(ms) => breaker.failed(at(ms)),
                    Unclear(ms) => breaker.undecided(at(ms)),
                }
            }
        }
    }

    #[test]
    fn an_endless_pause_is_no_panic() {
        let mut breaker = Breaker::new(BreakerLimits { failures: 0, pause: Duration::MAX });
        breaker.failed(Instant::now());
        assert!(!breaker.admit(Instant::now()));
    }
}
