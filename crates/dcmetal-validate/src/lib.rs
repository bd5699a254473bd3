//! What is claimed of dcmetal's speed, measured: each claim is a row with a goal, a figure, and a verdict.
//!
//! A figure counts only when what was computed for it was compared with a reference, on inputs never seen before and over poisoned
//! outputs. A rate above what the machine can do, or a time that does not grow with the work, is a broken measurement, not a good one.
//! Compilation, first use, allocation and copies are measured apart, and what was not measured says why.
//!
//! The benchmarks (`benches/`) use the same kernels, references, rooflines and timing, and add peers: nothing is measured by two
//! pieces of code. This crate prints nothing; `dcmetal validate` does.
#![deny(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]

pub mod branches;
#[expect(unsafe_code, reason = "the C ABI itself is what is measured")]
pub mod c_abi;
mod claims;
pub mod measure;
pub mod metal;
pub mod overhead;
pub mod problems;
#[expect(unsafe_code, reason = "loops compiled for what this processor has; each call is argued")]
pub mod roofs;
mod verdict;

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use dcmetal::{Accelerator, Result};
use serde::Serialize;

pub use claims::{child, names};
pub use measure::Spread;
pub use verdict::{Goal, Growth, LEAST_GROWTH, Point, Rate, SLACK, Verdict, growth, judge, overall};

/// What is measured, and how thoroughly.
#[derive(Clone, Debug)]
pub struct Options {
    /// Fewer turns and smaller sizes; everything is verified all the same.
    pub quick: bool,
    /// Names of claims; all when empty. `kernels` stands for all kernels.
    pub only: Vec<String>,
    /// Of the random inputs.
    pub seed: u64,
    /// The program that, started with `child` and the words of a claim, calls [`child`] with these words.
    pub program: PathBuf,
    /// The words before those of a claim.
    pub child: Vec<String>,
}

/// What a row's figure is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// How many times as much.
    Times,
    /// A share of one.
    Share,
    /// So many in a second.
    PerSecond,
}

/// What a claim's measurement found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Measured {
    /// The figure that the goal is for: a median, in the row's unit.
    pub value: f64,
    /// The samples it is the median of.
    pub spread: Option<Spread>,
    /// Times of growing work.
    pub points: Vec<Point>,
    /// Seconds of a point that any work takes: a launch by itself.
    pub fixed: f64,
    /// Rates beside their rooflines.
    pub rates: Vec<Rate>,
    /// What was compared with what.
    pub verified: Vec<String>,
    /// What was measured beside the figure and is not part of it.
    pub apart: Vec<(String, String)>,
}

/// Why there is no measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It cannot be measured here, or was not asked for.
    NotMeasured(String),
    /// The work failed, or computed something wrong.
    Broken(String),
}

impl From<dcmetal::Error> for Refusal {
    fn from(error: dcmetal::Error) -> Refusal {
        Refusal::Broken(error.to_string())
    }
}

/// A claim and what became of it.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// As `--only` takes it.
    pub name: String,
    /// For people.
    pub title: String,
    /// What the source documents say.
    pub theirs: &'static str,
    /// How the figure is measured, and with what warm-up.
    pub how: &'static str,
    /// What is to be reached.
    pub goal: Goal,
    /// What `goal` and the figure are in.
    pub unit: Unit,
    /// Nothing when it was not measured or the work failed.
    pub measured: Option<Measured>,
    /// What it comes to.
    pub verdict: Verdict,
    /// Why it is broken or was not measured.
    pub why: String,
    /// Seconds that the row took.
    pub took: f64,
}

/// Where and how the rows were measured.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// The device.
    pub device: String,
    /// Operating system and architecture.
    pub system: String,
    /// Processors that this process may use.
    pub processors: usize,
    /// Processes that wanted to run in the minute before, where the system tells.
    pub load: Option<f64>,
    /// Built with optimisation.
    pub optimised: bool,
    /// Of dcmetal.
    pub version: &'static str,
    /// Seconds since 1970.
    pub begun: u64,
}

/// All rows.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Where.
    pub machine: Machine,
    /// Few turns and small sizes.
    pub quick: bool,
    /// Of the random inputs.
    pub seed: u64,
    /// In the order of [`names`].
    pub rows: Vec<Row>,
    /// What is not measured at all by any row, and why.
    pub not_covered: Vec<&'static str>,
    /// What the rows come to.
    pub verdict: Verdict,
}

const NOT_COVERED: [&str; 4] = [
    "Comparisons with other implementations (OpenCL's, plain C++, clang): they need these implementations; `cargo bench -p dcmetal-benches` makes them.",
    "Rooflines of round trips, look-ups and processes, which are times and no rates: that time grows with the number of calls, and that every call had its effect, is checked instead.",
    "Time on the device alone: figures are what the host waits for, launches included.",
    "Energy, and speed after hours of load.",
];

/// Measures the claims; `row` is told each as it is done, `begin` its title before.
///
/// # Errors
/// When there is no device; what fails later is in the rows.
pub fn validate(options: &Options, mut begin: impl FnMut(&str), mut row: impl FnMut(&Row)) -> Result<Report> {
    let gpu = Accelerator::system_default()?;
    let machine = Machine {
        device: gpu.name().to_owned(),
        system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        processors: processors(),
        load: std::fs::read_to_string("/proc/loadavg")
            .ok()
            .and_then(|text| text.split_whitespace().next()?.parse().ok()),
        optimised: !cfg!(debug_assertions),
        version: env!("CARGO_PKG_VERSION"),
        begun: SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs()),
    };
    let rows = claims::measure(options, &gpu, &mut begin, &mut row);
    Ok(Report {
        machine,
        quick: options.quick,
        seed: options.seed,
        verdict: overall(rows.iter().map(|row| row.verdict)),
        rows,
        not_covered: NOT_COVERED.to_vec(),
    })
}

/// Processors that this process may use.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// A figure for people.
pub fn figure(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Seconds => time(value),
        Unit::Times => format!("{value:.2}x"),
        Unit::Share => {
            let text = format!("{:.4}", value * 100.0);
            format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
        }
        Unit::PerSecond if value >= 1e6 => format!("{:.2} million/s", value / 1e6),
        Unit::PerSecond if value >= 1e4 => format!("{:.0} thousand/s", value / 1e3),
        Unit::PerSecond => format!("{value:.0}/s"),
    }
}

/// Seconds for people.
pub fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-6 => format!("{:.0} ns", s * 1e9),
        s if s < 1e-3 => format!("{:.2} us", s * 1e6),
        s if s < 1.0 => format!("{:.2} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

/// A duration for people.
fn spent(duration: Duration) -> String {
    time(duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures() {
        for (value, unit, text) in [
            (123e-9, Unit::Seconds, "123 ns"),
            (1.234e-6, Unit::Seconds, "1.23 us"),
            (12.3e-3, Unit::Seconds, "12.30 ms"),
            (2.5, Unit::Seconds, "2.50 s"),
            (1.7, Unit::Times, "1.70x"),
            (0.99, Unit::Share, "99 %"),
            (0.99999, Unit::Share, "99.999 %"),
            (1.0, Unit::Share, "100 %"),
            (1.5e6, Unit::PerSecond, "1.50 million/s"),
            (1e5, Unit::PerSecond, "100 thousand/s"),
            (4000.0, Unit::PerSecond, "4000/s"),
        ] {
            assert_eq!(figure(value, unit), text);
        }
    }
}
