//! What a measurement is worth: whether it can be true at all, and then whether it reaches its goal.

use serde::Serialize;

use crate::Measured;

/// What is to be reached.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// No more than this.
    AtMost(f64),
    /// No less than this.
    AtLeast(f64),
    /// A figure that can be true: outputs verified, time that grows with the work, no rate above its roofline.
    Sound,
}

/// What became of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// There is no figure.
    NotMeasured,
    /// The figure reaches the goal.
    Reached,
    /// The figure does not.
    Missed,
    /// The figure cannot be true, or the work failed.
    Broken,
}

impl Verdict {
    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::NotMeasured => "not measured",
            Verdict::Reached => "reached",
            Verdict::Missed => "missed",
            Verdict::Broken => "broken",
        }
    }
}

/// So much work took so long.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// In units of the row's own.
    pub work: f64,
    /// The shortest of its times, so that a busy machine does not hide how it grows.
    pub seconds: f64,
}

/// A rate, and what it cannot be above.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rate {
    /// In `unit`.
    pub value: f64,
    /// In `unit` too.
    pub roof: f64,
    /// How many times its roof it may be at most: [`SLACK`] where the roof was measured.
    pub slack: f64,
    /// For people.
    pub unit: &'static str,
    /// What the roof is.
    pub roof_is: String,
}

impl Rate {
    /// A share of one, in per cent; nothing is more than the whole.
    pub(crate) fn share(value: f64, unit: &'static str, roof_is: &str) -> Rate {
        Rate { value: value * 100.0, roof: 100.0, slack: 1.0, unit, roof_is: roof_is.to_owned() }
    }
}

/// A rate may be this many times a roof that was measured, since that was at another moment and machines change their speed.
pub const SLACK: f64 = 1.5;

/// Time must grow at least as work to this power. What takes 1.83 times as long for eight times the work has 0.29; work that leaves
/// the caches has more than 1, and work that begins to fill a device less than 1.
pub const LEAST_GROWTH: f64 = 0.5;

/// Points whose time is less than this much of what a launch takes by itself say nothing of the work.
const ABOVE_LAUNCH: f64 = 1.25;

/// What the points say of how time grows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Growth {
    /// There is one size only.
    OneSize,
    /// Time goes as work to this power.
    Power(f64),
    /// A launch takes most of the time at all sizes, or all but one.
    Hidden,
}

/// How time grows with work (least squares of logarithms), once `fixed` seconds that any work takes are taken off.
pub fn growth(points: &[Point], fixed: f64) -> Growth {
    let several = |points: &[Point]| points.iter().any(|point| point.work != points[0].work);
    if points.is_empty() || !several(points) {
        return Growth::OneSize;
    }
    let seen =
        |point: &&Point| point.seconds.is_finite() && point.seconds > 0.0 && point.seconds >= ABOVE_LAUNCH * fixed;
    let points: Vec<Point> = points.iter().filter(seen).copied().collect();
    if points.is_empty() || !several(&points) {
        return Growth::Hidden;
    }
    let logs: Vec<(f64, f64)> = points.iter().map(|point| (point.work.ln(), (point.seconds - fixed).ln())).collect();
    let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / logs.len() as f64;
    let (x, y) = (mean(|log| log.0), mean(|log| log.1));
    let sum = |of: &dyn Fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>();
    Growth::Power(sum(&|log| (log.0 - x) * (log.1 - y)) / sum(&|log| (log.0 - x).powi(2)))
}

/// The verdict, and why it is not "reached".
pub fn judge(goal: Goal, measured: &Measured) -> (Verdict, String) {
    if measured.verified.is_empty() {
        return (Verdict::Broken, "no output was verified".to_owned());
    }
    if !measured.value.is_finite() || measured.value <= 0.0 {
        return (Verdict::Broken, format!("{} is no figure", measured.value));
    }
    for rate in &measured.rates {
        // What is no number is not below its roof either.
        let below = rate.value <= rate.roof * rate.slack;
        if !below {
            let why = format!(
                "{:.4} {unit} are above the roofline, {:.4} {unit} ({})",
                rate.value,
                rate.roof,
                rate.roof_is,
                unit = rate.unit
            );
            return (Verdict::Broken, why);
        }
    }
    match growth(&measured.points, measured.fixed) {
        Growth::Power(power) if (LEAST_GROWTH..f64::INFINITY).contains(&power) => {}
        // Also a power that is no number: work of nothing, or endless, grows like nothing.
        Growth::Power(power) => {
            return (
                Verdict::Broken,
                format!("time does not grow as the work does: it goes as work to the power of {power:.2}"),
            );
        }
        Growth::Hidden => {
            return (
                Verdict::NotMeasured,
                "a launch takes most of the time at these sizes, so whether time grows with the work cannot be told"
                    .to_owned(),
            );
        }
        Growth::OneSize => {}
    }
    let reached = match goal {
        Goal::AtMost(most) => measured.value <= most,
        Goal::AtLeast(least) => measured.value >= least,
        Goal::Sound => true,
    };
    if reached { (Verdict::Reached, String::new()) } else { (Verdict::Missed, String::new()) }
}

/// What all rows come to: the worst, "not measured" only if no row was measured.
pub fn overall(verdicts: impl IntoIterator<Item = Verdict>) -> Verdict {
    verdicts.into_iter().max().unwrap_or(Verdict::NotMeasured)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{Broken, Missed, NotMeasured, Reached};

    fn points(of: &[(f64, f64)]) -> Vec<Point> {
        of.iter().map(|&(work, seconds)| Point { work, seconds }).collect()
    }

    #[test]
    fn how_time_grows() {
        // Points, what a launch takes, and the power; none: it cannot be told.
        type Case = (&'static str, &'static [(f64, f64)], f64, Option<f64>);
        let cases: &[Case] = &[
            ("in proportion", &[(1.0, 2e-3), (8.0, 16e-3), (64.0, 128e-3)], 0.0, Some(1.0)),
            ("constant", &[(1.0, 2e-3), (8.0, 2e-3), (64.0, 2e-3)], 0.0, Some(0.0)),
            ("falling", &[(1.0, 4e-3), (4.0, 2e-3)], 0.0, Some(-0.5)),
            ("as the square", &[(1.0, 1e-3), (10.0, 1e-1)], 0.0, Some(2.0)),
            // The source documents' matrix product: 8 times the work in 1.83 times the time.
            (
                "0.39 % of a matrix",
                &[(512f64 * 512.0 * 512.0, 1.0), (1024f64 * 1024.0 * 1024.0, 1.83)],
                0.0,
                Some(0.290_6),
            ),
            ("in proportion, with a launch", &[(1.0, 3e-3), (8.0, 17e-3), (64.0, 129e-3)], 1e-3, Some(1.0)),
            ("the smallest is all launch", &[(1.0, 1.1e-3), (8.0, 17e-3), (64.0, 129e-3)], 1e-3, Some(1.0)),
            ("all launch", &[(1.0, 1e-3), (8.0, 1.1e-3), (64.0, 1.2e-3)], 1e-3, None),
            ("all launch but one", &[(1.0, 1e-3), (8.0, 1.1e-3), (64.0, 9e-3)], 1e-3, None),
            ("no time at all", &[(1.0, 0.0), (8.0, 0.0)], 0.0, None),
        ];
        for (name, list, fixed, power) in cases {
            match (growth(&points(list), *fixed), power) {
                (Growth::Power(got), Some(power)) => assert!((got - power).abs() < 1e-3, "{name}: {got}"),
                (Growth::Hidden, None) => {}
                (got, _) => panic!("{name}: {got:?}"),
            }
        }
        for list in [&[][..], &[(1.0, 1.0)], &[(1.0, 1.0), (1.0, 9.0)]] {
            assert_eq!(growth(&points(list), 0.0), Growth::OneSize);
        }
    }

    const GROWS: &[(f64, f64)] = &[(1.0, 1e-3), (4.0, 4e-3)];
    const CONSTANT: &[(f64, f64)] = &[(1.0, 1e-3), (4.0, 1e-3)];

    #[test]
    fn verdicts() {
        struct Case {
            name: &'static str,
            goal: Goal,
            value: f64,
            points: &'static [(f64, f64)],
            /// A rate and its roof.
            rate: Option<(f64, f64)>,
            verified: bool,
            verdict: Verdict,
            why: &'static str,
        }
        let good = || Case {
            name: "good",
            goal: Goal::AtMost(2.0),
            value: 1.0,
            points: GROWS,
            rate: Some((5.0, 10.0)),
            verified: true,
            verdict: Reached,
            why: "",
        };
        let cases = [
            good(),
            Case { name: "at the limit", value: 2.0, ..good() },
            Case { name: "above the limit", value: 2.1, verdict: Missed, ..good() },
            Case { name: "enough", goal: Goal::AtLeast(1.0), ..good() },
            Case { name: "not enough", goal: Goal::AtLeast(1.1), verdict: Missed, ..good() },
            Case { name: "sound", goal: Goal::Sound, value: 1e9, ..good() },
            Case { name: "one size", points: &[], ..good() },
            Case {
                name: "nothing verified",
                verified: false,
                verdict: Broken,
                why: "no output was verified",
                ..good()
            },
            Case {
                name: "nothing verified of what misses",
                value: 3.0,
                verified: false,
                verdict: Broken,
                why: "verified",
                ..good()
            },
            Case { name: "constant time", points: CONSTANT, verdict: Broken, why: "does not grow", ..good() },
            Case {
                name: "constant time that misses",
                value: 3.0,
                points: CONSTANT,
                verdict: Broken,
                why: "does not grow",
                ..good()
            },
            Case {
                name: "constant time, no goal",
                goal: Goal::Sound,
                points: CONSTANT,
                verdict: Broken,
                why: "does not grow",
                ..good()
            },
            Case { name: "noise above the roof", rate: Some((14.9, 10.0)), ..good() },
            Case {
                name: "above the roof",
                rate: Some((15.1, 10.0)),
                verdict: Broken,
                why: "above the roofline",
                ..good()
            },
            Case { name: "no roof", rate: Some((1.0, f64::NAN)), verdict: Broken, why: "above the roofline", ..good() },
            Case { name: "no rate", rate: Some((f64::NAN, 1.0)), verdict: Broken, why: "above the roofline", ..good() },
            Case { name: "no time", value: 0.0, verdict: Broken, why: "no figure", ..good() },
            Case { name: "no number", value: f64::NAN, verdict: Broken, why: "no figure", ..good() },
            Case {
                name: "endless",
                goal: Goal::AtLeast(1.0),
                value: f64::INFINITY,
                verdict: Broken,
                why: "no figure",
                ..good()
            },
            Case {
                name: "work of nothing",
                points: &[(0.0, 1e-3), (4.0, 4e-3)],
                verdict: Broken,
                why: "does not grow",
                ..good()
            },
            Case {
                name: "work that is endless",
                points: &[(1.0, 1e-3), (f64::INFINITY, 4e-3)],
                verdict: Broken,
                why: "does not grow",
                ..good()
            },
            Case {
                name: "hidden",
                points: &[(1.0, 0.0), (4.0, 0.0)],
                verdict: NotMeasured,
                why: "cannot be told",
                ..good()
            },
        ];
        for case in cases {
            let measured = Measured {
                value: case.value,
                points: points(case.points),
                rates: case
                    .rate
                    .map(|(value, roof)| Rate {
                        value,
                        roof,
                        slack: SLACK,
                        unit: "GB/s",
                        roof_is: "copying".to_owned(),
                    })
                    .into_iter()
                    .collect(),
                verified: if case.verified { vec!["all of it".to_owned()] } else { vec![] },
                ..Measured::default()
            };
            let (verdict, why) = judge(case.goal, &measured);
            assert_eq!(verdict, case.verdict, "{}: {why}", case.name);
            assert!(why.contains(case.why) && why.is_empty() == case.why.is_empty(), "{}: {why}", case.name);
        }
    }

    #[test]
    fn a_share_is_at_most_the_whole() {
        for (value, verdict) in [(0.5, Reached), (1.0, Reached), (1.0001, Broken), (1.4, Broken), (f64::NAN, Broken)] {
            let rates = vec![Rate::share(value, "% saved", "all")];
            let measured = Measured { value: 1.0, rates, verified: vec!["all".to_owned()], ..Measured::default() };
            let (got, why) = judge(Goal::Sound, &measured);
            assert_eq!(got, verdict, "{value}: {why}");
        }
    }

    #[test]
    fn the_worst_decides() {
        for (list, worst) in [
            (&[][..], NotMeasured),
            (&[NotMeasured, NotMeasured], NotMeasured),
            (&[NotMeasured, Reached], Reached),
            (&[Reached, Missed, NotMeasured], Missed),
            (&[Missed, Broken, Reached], Broken),
        ] {
            assert_eq!(overall(list.iter().copied()), worst, "{list:?}");
        }
    }
}
