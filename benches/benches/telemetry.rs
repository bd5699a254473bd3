//! What telemetry costs: launches with and without it, by turns in one process, as processor time of the whole process and as time.
//!
//! `cargo bench -p dcmetal-benches --bench telemetry [-- --short]`. The goal is a hundredth of a processor at 100,000 launches a second, that is
//! 100 ns a launch. The second accelerator without telemetry shows what the machine's noise alone makes of it.

use dcmetal_validate::measure::Spread;
use dcmetal_validate::overhead::{Asked, Cost, Load, RATE, compare};
use dcmetal_validate::problems::Random;

fn main() {
    // `cargo test --benches` runs it as a test.
    let short = std::env::args().any(|arg| arg == "--short" || arg == "--test");
    let (rounds, launches) = if short { (10, 500) } else { (400, 2000) };
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().expect("a clock that is set");
    let mut random = Random(since.as_nanos() as u64);
    for (name, batch, rate) in [
        ("a submission for each launch, at 100,000 a second", 1, Some(RATE)),
        ("a submission for each launch, as fast as it goes", 1, None),
        ("64 launches a submission, at 100,000 a second", 64, Some(RATE)),
        ("64 launches a submission, as fast as it goes", 64, None),
    ] {
        let load = Load { launches, batch, rate };
        let asked = [Asked::Off, Asked::Off, Asked::Counted, Asked::Spans];
        let costs = compare(&asked, rounds, load, &mut random).unwrap_or_else(|why| panic!("{why:?}"));
        println!("{name}: beside telemetry off, medians of {rounds} turns (10th to 90th percentile)");
        costs.iter().for_each(print);
    }
}

fn print(cost: &Cost) {
    let Cost { asked, share, median: (low, high), processor, wall, nanoseconds, rate, .. } = cost;
    let of = |spread: &Spread, by: f64| {
        let [p10, median, p90] = [spread.p10, spread.median, spread.p90].map(|value| value * by);
        format!("{median:+.2} ({p10:+.2} to {p90:+.2})")
    };
    let beyond = |spread: &Spread| {
        let [p10, median, p90] = [spread.p10, spread.median, spread.p90].map(|value| (value - 1.0) * 100.0);
        format!("{median:+.2} % ({p10:+.2} to {p90:+.2})")
    };
    println!(
        "  {asked:?}, {:.0} launches/s: {} % of a processor, the median within {:+.2} to {:+.2}; {} ns a launch; processor time {}; time {}",
        rate.median,
        of(share, 100.0),
        low * 100.0,
        high * 100.0,
        of(nanoseconds, 1.0),
        beyond(processor),
        beyond(wall),
    );
}
