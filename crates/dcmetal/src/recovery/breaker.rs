//! [`Breaker`]: keeps work away from a device that fails again and again, and tries with one piece of work whether it is
//! back (M. Nygard, "Release It!", ch. 5, "Circuit Breaker").
//!
//! Closed: work goes through, failures in a row are counted. Open: nothing goes through until the pause is over. Half open: one
//! piece of work goes through, a probe; its end decides. The caller brings the time, so that tests need no clock.

use std::sync::atomic::{AtomicU64, Ordering};
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
    /// Another since it opened last.
    turn: u64,
}

/// No two are alike: an accelerator may come back with a new breaker while work of the old one's is on its way.
fn new_turn() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// What work that went through ends with, once; says which turn of the breaker's it went through in.
#[derive(Debug)]
pub(super) struct Pass(u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed { failures: u32 },
    Open { until: Instant },
    HalfOpen,
}

impl Breaker {
    pub(super) fn new(limits: BreakerLimits) -> Breaker {
        Breaker { limits, state: State::Closed { failures: 0 }, turn: new_turn() }
    }

    /// Whether work may go through now. Each piece that does must end with `succeeded`, `failed` or `undecided`.
    pub(super) fn admit(&mut self, now: Instant) -> Option<Pass> {
        match self.state {
            State::Closed { .. } => {}
            State::Open { until } if now >= until => {
                self.state = State::HalfOpen;
            }
            State::Open { .. } | State::HalfOpen => return None,
        }
        Some(Pass(self.turn))
    }

    /// What began before it opened last says nothing of how the device is now.
    fn is_late(&self, pass: &Pass) -> bool {
        pass.0 != self.turn
    }

    pub(super) fn succeeded(&mut self, pass: Pass) {
        if !self.is_late(&pass) {
            self.state = State::Closed { failures: 0 };
        }
    }

    pub(super) fn failed(&mut self, pass: Pass, now: Instant) {
        let failures = match self.state {
            _ if self.is_late(&pass) => return,
            State::Closed { failures } => failures + 1,
            State::HalfOpen => self.limits.failures,
            // A turn begins with each opening, and nothing goes through in it.
            State::Open { .. } => return,
        };
        self.state = if failures >= self.limits.failures {
            self.turn = new_turn();
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

    /// It lets all work through.
    pub(super) fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed { .. })
    }

    /// Work ended in a way that says nothing of the device: when it was the probe, the next may be one.
    pub(super) fn undecided(&mut self, pass: Pass, now: Instant) {
        if self.state == State::HalfOpen && !self.is_late(&pass) {
            self.state = State::Open { until: now };
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: BreakerLimits = BreakerLimits { failures: 2, pause: Duration::from_millis(100) };

    /// What happens, in milliseconds since the start. What ends is what went through last, or, late, first.
    #[derive(Clone, Copy)]
    enum Event {
        /// Work asks, and is let through or not.
        Ask(u64, bool),
        Good,
        Bad(u64),
        Unclear(u64),
        LateGood,
        LateBad(u64),
        LateUnclear(u64),
    }
    use Event::{Ask, Bad, Good, LateBad, LateGood, LateUnclear, Unclear};

    /// Three asks that go through, and two failures: it is open since the first millisecond, and the first is on its way.
    const OPENED: [Event; 5] = [Ask(0, true), Ask(0, true), Ask(0, true), Bad(0), Bad(1)];

    #[test]
    fn it_opens_probes_and_closes() {
        const CASES: &[(&str, &[Event])] = &[
            ("what began before does not close it", &[LateGood, Ask(2, false)]),
            ("nor does it lengthen the pause", &[LateBad(90), Ask(101, true)]),
            ("closed until then it is open", &[Ask(2, false), Ask(100, false)]),
            ("after the pause one probe", &[Ask(101, true), Ask(101, false), Ask(999, false)]),
            ("a good probe closes", &[Ask(101, true), Good, Ask(102, true), Ask(102, true)]),
            ("and forgets", &[Ask(101, true), Good, Ask(102, true), Bad(102), Ask(103, true)]),
            ("a bad probe opens again", &[Ask(101, true), Bad(150), Ask(249, false), Ask(250, true)]),
            ("a probe that says nothing lets the next be one", &[Ask(101, true), Unclear(150), Ask(150, true)]),
            ("what began before does not end the probe well", &[Ask(101, true), LateGood, Ask(102, false)]),
            ("nor badly", &[Ask(101, true), LateBad(102), Good, Ask(103, true), Ask(103, true)]),
            ("nor does it let another probe through", &[Ask(101, true), LateUnclear(102), Ask(103, false)]),
        ];
        for (name, events) in CASES {
            run(name, OPENED.iter().chain(*events));
        }
    }

    #[test]
    fn only_failures_in_a_row_open_it() {
        run(
            "with successes between them",
            &[
                Ask(0, true),
                Bad(0),
                Ask(0, true),
                Good,
                Ask(1, true),
                Bad(1),
                Ask(2, true),
                Good,
                Ask(2, true),
                Bad(2),
                Ask(3, true),
            ],
        );
        run(
            "what is unclear does not count",
            &[Ask(0, true), Bad(0), Ask(1, true), Unclear(1), Ask(2, true), Bad(2), Ask(3, false)],
        );
    }

    fn run<'a>(name: &str, events: impl IntoIterator<Item = &'a Event>) {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let (mut breaker, mut passes) = (Breaker::new(LIMITS), Vec::new());
        for event in events {
            match *event {
                Ask(ms, wanted) => {
                    let pass = breaker.admit(at(ms));
                    assert_eq!(pass.is_some(), wanted, "{name}: at {ms}");
                    passes.extend(pass);
                }
                Good => breaker.succeeded(passes.pop().expect("it went through")),
                Bad(ms) => breaker.failed(passes.pop().expect("it went through"), at(ms)),
                Unclear(ms) => breaker.undecided(passes.pop().expect("it went through"), at(ms)),
                LateGood => breaker.succeeded(passes.remove(0)),
                LateBad(ms) => breaker.failed(passes.remove(0), at(ms)),
                LateUnclear(ms) => breaker.undecided(passes.remove(0), at(ms)),
            }
        }
    }

    #[test]
    fn passes_are_of_one_breaker() {
        let (mut old, mut new, now) = (Breaker::new(LIMITS), Breaker::new(LIMITS), Instant::now());
        let mut late: Vec<Pass> = (0..3).map(|_| old.admit(now).expect("it is closed")).collect();
        for _ in 0..LIMITS.failures {
            let pass = new.admit(now).expect("it is closed");
            new.failed(pass, now);
        }
        let open = new.open_until().expect("it is open");
        new.failed(late.remove(0), now + LIMITS.pause);
        assert_eq!(new.open_until(), Some(open));
        let probe = new.admit(open).expect("a probe");
        new.succeeded(late.remove(0));
        new.undecided(late.remove(0), open);
        assert!(new.admit(open).is_none(), "the probe is on its way");
        new.succeeded(probe);
        assert!(new.admit(open).is_some());
    }

    #[test]
    fn an_endless_pause_is_no_panic() {
        let mut breaker = Breaker::new(BreakerLimits { failures: 0, pause: Duration::MAX });
        let pass = breaker.admit(Instant::now()).expect("it is closed");
        breaker.failed(pass, Instant::now());
        assert!(breaker.admit(Instant::now()).is_none());
    }

    proptest! {
        /// Threads ask and end in any order; each step is under one lock, so that an order of steps is all that there is to a
        /// schedule. From an opening until the probe has ended well there is one piece of work at most that went through since.
        #[test]
        fn one_probe_at_a_time(steps in prop::collection::vec((0u8..4, any::<prop::sample::Index>(), 0u64..80), 1..200)) {
            let (mut breaker, mut now) = (Breaker::new(LIMITS), Instant::now());
            // Those on their way, and whether they went through as the probe.
            let mut running: Vec<(Pass, bool)> = Vec::new();
            for (what, which, later) in steps {
                now += Duration::from_millis(later);
                if what == 0 || running.is_empty() {
                    let probe = !matches!(breaker.state, State::Closed { .. });
                    let may_probe = breaker.open_until().is_some_and(|until| now >= until);
                    let pass = breaker.admit(now);
                    prop_assert_eq!(pass.is_some(), !probe || may_probe);
                    running.extend(pass.map(|pass| (pass, probe)));
                } else {
                    let (pass, probe) = running.swap_remove(which.index(running.len()));
                    let (state, turn) = (breaker.state, breaker.turn);
                    match what {
                        1 => breaker.succeeded(pass),
                        2 => breaker.failed(pass, now),
                        _ => breaker.undecided(pass, now),
                    }
                    if state == State::HalfOpen {
                        prop_assert_eq!(breaker.state == State::HalfOpen, !probe, "the probe ends it, and nothing else");
                    }
                    if matches!(state, State::Open { .. }) {
                        prop_assert_eq!((breaker.state, breaker.turn), (state, turn), "what is late changes nothing");
                    }
                }
                let probes = running.iter().filter(|(_, probe)| *probe).count();
                let wanted = usize::from(breaker.state == State::HalfOpen);
                prop_assert_eq!(probes, wanted, "in {:?}", breaker.state);
            }
        }
    }
}
