//! The claim on telemetry: what it costs at the rate that the claim is of.

use super::Bench;
use crate::measure::Spread;
use crate::overhead::{Asked, Cost, Load, RATE, Turns, compare};
use crate::{Measured, Point, Refusal};

/// The share of a processor that telemetry may take.
pub(super) const MOST: f64 = 0.01;
/// Where noise hides it, it is measured so many times as long at the most.
const PATIENCE: usize = 6;

pub(super) fn telemetry(bench: &mut Bench<'_>) -> Result<Measured, Refusal> {
    let (rounds, launches) = (bench.of(20, 200), bench.of(500, 2000));
    let load = Load { launches, batch: 1, rate: Some(RATE) };
    let asked = [Asked::Off, Asked::Off, Asked::Counted, Asked::Spans];
    let mut turns = Turns::new(&asked, load);
    let costs = loop {
        turns.take(rounds, &mut bench.random)?;
        let costs = turns.costs();
        // Noise halves where turns are four times as many.
        if !is_hidden(&costs[1]) || costs[1].share.samples >= PATIENCE * rounds {
            break costs;
        }
    };
    let [noise, counted, spans] = &costs[..] else { unreachable!("a cost for each side but the first") };
    let value = decided(counted)?;
    let mut measured = Measured {
        value,
        spread: Some(counted.share),
        verified: vec![
            "every launch of every side counted by the kernel, and by telemetry where that was on".to_owned(),
        ],
        ..Measured::default()
    };
    let mut apart = |name: &str, text: String| measured.apart.push((name.to_owned(), text));
    apart("share of a processor, median of the turns' differences", percent(&counted.share, 0.0));
    apart("nanoseconds a launch", format!("{:.0}", counted.nanoseconds.median));
    apart("the same with spans recorded", percent(&spans.share, 0.0));
    apart("the same of two sides without telemetry: noise", percent(&noise.share, 0.0));
    apart("processor time beyond that without telemetry", percent(&counted.processor, 1.0));
    for launches in [launches / 4, launches] {
        let load = Load { launches, rate: None, ..load };
        let costs = compare(&[Asked::Off, Asked::Counted], rounds, load, &mut bench.random)?;
        let fast = &costs[0];
        measured.points.push(Point { work: launches.into(), seconds: fast.least });
        let text = format!(
            "{:.0} a second, time beyond that without telemetry {}",
            fast.rate.median,
            percent(&fast.wall, 1.0)
        );
        measured.apart.push((format!("{launches} launches as fast as it goes"), text));
    }
    Ok(measured)
}

/// Whether the noise is larger than what there is to decide.
fn is_hidden(cost: &Cost) -> bool {
    let (low, high) = cost.median;
    low <= MOST && MOST < high
}

/// The figure: the most that the median may be. The goal is a limit, and what noise makes of a small difference is below zero as often as above.
fn decided(cost: &Cost) -> Result<f64, Refusal> {
    let (low, high) = cost.median;
    if cost.rate.median < 0.95 * RATE {
        let told = format!("{:.0} launches a second is what this machine does, not {RATE}", cost.rate.median);
        return Err(Refusal::NotMeasured(told));
    }
    if is_hidden(cost) {
        let (low, high) = (low * 100.0, high * 100.0);
        let told = format!("this machine's noise hides it: it is between {low:.2} and {high:.2} % of a processor");
        return Err(Refusal::NotMeasured(told));
    }
    Ok(high)
}

/// A spread less what it would be without telemetry, in per cent.
fn percent(spread: &Spread, without: f64) -> String {
    let [median, p10, p90] = [spread.median, spread.p10, spread.p90].map(|value| (value - without) * 100.0);
    format!("{median:+.2} % ({p10:+.2} to {p90:+.2})")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Between which the median lies, launches a second, and the figure, or what is said instead.
    #[test]
    fn noise_decides_nothing() {
        for (median, rate, wanted) in [
            ((0.001, 0.002), RATE, Ok(0.002)),
            ((-0.002, 0.01), RATE, Ok(0.01)),
            ((0.011, 0.02), RATE, Ok(0.02)),
            ((-0.003, 0.02), RATE, Err("between -0.30 and 2.00 %")),
            ((0.01, 0.0101), RATE, Err("noise hides it")),
            ((0.001, 0.002), 50_000.0, Err("50000 launches a second")),
        ] {
            let spread = Spread::of(vec![rate]);
            let cost = Cost {
                asked: Asked::Counted,
                share: spread,
                median,
                processor: spread,
                wall: spread,
                nanoseconds: spread,
                rate: spread,
                least: 1.0,
            };
            match (decided(&cost), wanted) {
                (Ok(got), Ok(wanted)) => assert_eq!(got, wanted),
                (Err(Refusal::NotMeasured(why)), Err(wanted)) => assert!(why.contains(wanted), "{why}"),
                (got, _) => panic!("{median:?}: {got:?}"),
            }
        }
    }
}
