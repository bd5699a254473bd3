//! Health: one word about a device, and the reasons for it.

use std::fmt;
use std::time::Duration;

use super::figures::Figures;
use crate::Accelerator;
use crate::pool::{Pressure, pressure};
use crate::raw::clock::now;

/// How a device does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Nothing is known to be wrong.
    Good,
    /// Work gets done, not all of it, or there is little room for more.
    Strained,
    /// Work does not get done.
    Failing,
}

impl State {
    /// `good`, `strained` or `failing`.
    pub fn name(self) -> &'static str {
        match self {
            State::Good => "good",
            State::Strained => "strained",
            State::Failing => "failing",
        }
    }
}

/// Why a device is not well.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The system no longer has the device. Failing.
    Lost,
    /// A [`Recovery`](crate::Recovery) leaves the device alone, because work failed on it again and again. Failing.
    LeftAlone {
        /// How much longer.
        remaining: Duration,
    },
    /// Of the last 64 submissions, or of all when there were fewer, at least a sixteenth failed. Failing when it is half or more.
    Failures {
        /// Those that failed.
        failed: u64,
        /// Of so many.
        of: u64,
    },
    /// The process holds more memory on the device than the device recommends. Strained.
    WorkingSet {
        /// Bytes held.
        allocated: u64,
        /// Bytes recommended.
        recommended: u64,
    },
    /// The machine, or the control group of the process, is short of memory. Strained.
    MemoryPressure {
        /// Whatever can go should go.
        critical: bool,
    },
}

impl Reason {
    /// How bad it is.
    pub fn state(&self) -> State {
        match self {
            Reason::Lost | Reason::LeftAlone { .. } => State::Failing,
            Reason::Failures { failed, of } if 2 * failed >= *of => State::Failing,
            Reason::Failures { .. } | Reason::WorkingSet { .. } | Reason::MemoryPressure { .. } => State::Strained,
        }
    }

    /// One word, for labels.
    pub fn name(&self) -> &'static str {
        match self {
            Reason::Lost => "lost",
            Reason::LeftAlone { .. } => "left_alone",
            Reason::Failures { .. } => "failures",
            Reason::WorkingSet { .. } => "working_set",
            Reason::MemoryPressure { .. } => "memory_pressure",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Lost => write!(f, "the device was removed"),
            Reason::LeftAlone { remaining } => write!(f, "the device is left alone for {remaining:.1?} after failures"),
            Reason::Failures { failed, of } => write!(f, "{failed} of the last {of} submissions failed"),
            Reason::WorkingSet { allocated, recommended } => {
                write!(f, "{allocated} bytes are held on the device, which recommends {recommended}")
            }
            Reason::MemoryPressure { critical: false } => write!(f, "the machine is short of memory"),
            Reason::MemoryPressure { critical: true } => write!(f, "the machine is critically short of memory"),
        }
    }
}

/// How a device does, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// The worst of the reasons' states.
    pub state: State,
    /// Why it is not [`State::Good`]; empty when it is.
    pub reasons: Vec<Reason>,
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.state.name())?;
        self.reasons.iter().try_for_each(|reason| write!(f, "; {reason}"))
    }
}

/// What health is told from.
#[derive(Clone, Copy, Debug)]
struct Signs {
    lost: bool,
    left_alone_until: u64,
    now: u64,
    failures: (u64, u64),
    allocated: u64,
    recommended: u64,
    pressure: Pressure,
}

pub(super) fn health(accelerator: &Accelerator, figures: &Figures) -> Health {
    told(Signs {
        lost: accelerator.device().is_gone(),
        left_alone_until: figures.left_alone_until(),
        now: now(),
        failures: figures.recent(),
        allocated: accelerator.allocated_bytes(),
        recommended: accelerator.limits().recommended_working_set,
        pressure: pressure(),
    })
}

fn told(signs: Signs) -> Health {
    let Signs { lost, left_alone_until, now, failures: (failed, of), allocated, recommended, pressure } = signs;
    let remaining = Duration::from_nanos(left_alone_until.saturating_sub(now));
    let reasons = [
        lost.then_some(Reason::Lost),
        (!remaining.is_zero()).then_some(Reason::LeftAlone { remaining }),
        (failed > 0 && 16 * failed >= of).then_some(Reason::Failures { failed, of }),
        // A device that recommends nothing says 0.
        (recommended > 0 && allocated > recommended).then_some(Reason::WorkingSet { allocated, recommended }),
        (pressure != Pressure::None).then_some(Reason::MemoryPressure { critical: pressure == Pressure::Critical }),
    ];
    let reasons: Vec<Reason> = reasons.into_iter().flatten().collect();
    let state = reasons.iter().map(Reason::state).max().unwrap_or(State::Good);
    Health { state, reasons }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: Signs = Signs {
        lost: false,
        left_alone_until: 0,
        now: 1000,
        failures: (0, 64),
        allocated: 100,
        recommended: 100,
        pressure: Pressure::None,
    };

    #[test]
    fn signs_mean_this_health() {
        let cases: &[(&str, Signs, State, &[&str])] = &[
            ("nothing", GOOD, State::Good, &[]),
            ("no submissions", Signs { failures: (0, 0), ..GOOD }, State::Good, &[]),
            ("lost", Signs { lost: true, ..GOOD }, State::Failing, &["lost"]),
            ("a pause", Signs { left_alone_until: 1001, ..GOOD }, State::Failing, &["left_alone"]),
            ("a pause that is over", Signs { left_alone_until: 1000, ..GOOD }, State::Good, &[]),
            ("few failures", Signs { failures: (3, 64), ..GOOD }, State::Good, &[]),
            ("a sixteenth", Signs { failures: (4, 64), ..GOOD }, State::Strained, &["failures"]),
            ("nearly half", Signs { failures: (31, 64), ..GOOD }, State::Strained, &["failures"]),
            ("half", Signs { failures: (32, 64), ..GOOD }, State::Failing, &["failures"]),
            ("one of few", Signs { failures: (1, 3), ..GOOD }, State::Strained, &["failures"]),
            ("the only one", Signs { failures: (1, 1), ..GOOD }, State::Failing, &["failures"]),
            ("more than recommended", Signs { allocated: 101, ..GOOD }, State::Strained, &["working_set"]),
            ("nothing recommended", Signs { recommended: 0, ..GOOD }, State::Good, &[]),
            ("pressure", Signs { pressure: Pressure::Some, ..GOOD }, State::Strained, &["memory_pressure"]),
            (
                "several",
                Signs { failures: (5, 64), lost: true, pressure: Pressure::Critical, ..GOOD },
                State::Failing,
                &["lost", "failures", "memory_pressure"],
            ),
        ];
        for (name, signs, state, reasons) in cases {
            let health = told(*signs);
            assert_eq!(health.state, *state, "{name}");
            assert_eq!(health.reasons.iter().map(Reason::name).collect::<Vec<_>>(), *reasons, "{name}");
        }
        let text = told(Signs { failures: (40, 64), pressure: Pressure::Critical, ..GOOD }).to_string();
        assert_eq!(text, "failing; 40 of the last 64 submissions failed; the machine is critically short of memory");
    }
}
