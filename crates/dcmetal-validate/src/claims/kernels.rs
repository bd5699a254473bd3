//! Kernels over growing sizes: outputs verified, rates beside rooflines, time that grows.

use std::time::{Duration, Instant};

use super::Bench;
use crate::measure::Spread;
use crate::metal::{Metal, MetalRun};
use crate::problems::{Kernel, Problem};
use crate::roofs::Roofs;
use crate::{Measured, Point, Rate, Refusal, SLACK, time};

pub(super) const HOW: &str = "one launch, waited for, at growing sizes; memory is allocated and filled and the kernel compiled before, and it has run \
     once; before each run the output is poisoned, and behind each compared whole; the figure is that of the largest size";

/// As `--only` takes it.
pub(super) fn name(kernel: &Kernel) -> String {
    format!("kernel-{}", kernel.name.replace('_', "-"))
}

/// After so long, with what is compared, a size has been measured long enough.
const ENOUGH: Duration = Duration::from_secs(2);
/// How often a roofline is measured anew when a rate is above it, before the rate is called wrong.
const TRIES: usize = 3;

pub(super) fn measure(bench: &mut Bench<'_>, kernel: &Kernel) -> Result<Measured, Refusal> {
    let fixed = bench.launch()?;
    if bench.metal.is_none() {
        bench.metal = Some(Metal::open(bench.gpu)?);
    }
    let sizes = if bench.options.quick { &kernel.sizes[..2] } else { kernel.sizes };
    let mut measured = Measured { fixed, ..Measured::default() };
    let mut compared = 0;
    for (at, &size) in sizes.iter().enumerate() {
        let problem = (kernel.problem)(size, &mut bench.random);
        let metal = bench.metal.as_ref().expect("just made");
        let start = Instant::now();
        let mut run = metal.side(kernel.name, &problem)?;
        if at == 0 {
            let spent = time(start.elapsed().as_secs_f64());
            measured.apart.push(("pipeline and memory of the first size".to_owned(), spent));
        }
        let seconds = turns(bench.of(9, 101), || {
            run.fill(problem.before)?;
            let start = Instant::now();
            run.run()?;
            let spent = start.elapsed();
            compared += verified(&run, &problem, kernel, size)?;
            Ok(spent)
        })?;
        measured.points.push(Point { work: problem.work, seconds: seconds.best });
        measured.value = seconds.median;
        measured.spread = Some(seconds);
        measured.apart.push((format!("size {size}"), time(seconds.median)));
        if at + 1 == sizes.len() {
            measured.rates = rates(bench, &problem, seconds.median)?;
        }
    }
    let list: Vec<String> = sizes.iter().map(usize::to_string).collect();
    measured.verified.push(format!("{compared} words of output against references, at sizes {}", list.join(", ")));
    Ok(measured)
}

/// Compares the whole output of what ran last; how many words that is.
fn verified(run: &MetalRun<'_>, problem: &Problem, kernel: &Kernel, size: usize) -> Result<usize, Refusal> {
    let wrong = |why| Refusal::Broken(format!("wrong output of {} at {size}: {why}", kernel.name));
    problem.verify(&run.output()?).map_err(wrong)?;
    Ok(problem.output)
}

/// The first does not count.
fn turns(most: usize, mut run: impl FnMut() -> Result<Duration, Refusal>) -> Result<Spread, Refusal> {
    run()?;
    let (mut times, begun) = (Vec::new(), Instant::now());
    while times.len() < most && (times.len() < 3 || begun.elapsed() < ENOUGH) {
        times.push(run()?.as_secs_f64());
    }
    Ok(Spread::of(times))
}

/// The rates that the problem needs at least.
fn rates(bench: &Bench<'_>, problem: &Problem, seconds: f64) -> Result<Vec<Rate>, Refusal> {
    let roofs = Roofs::of(bench.gpu);
    let (moved, done) = (problem.bytes / seconds, problem.flops / seconds);
    let rate = |value: f64, roof: f64, unit, roof_is: &str| Rate {
        value: value / 1e9,
        roof: roof / 1e9,
        slack: SLACK,
        unit,
        roof_is: roof_is.to_owned(),
    };
    let mut rates = vec![rate(moved, above(moved, || roofs.bytes(problem.bytes))?, "GB/s", roofs.bytes_are())];
    if done > 0.0 {
        rates.push(rate(done, above(done, || roofs.flops())?, "GFLOP/s", roofs.flops_are()));
    }
    Ok(rates)
}

/// A roofline; measured anew when the value is above it, since the machine may have been busy with something else.
fn above(value: f64, mut measure: impl FnMut() -> Result<f64, Refusal>) -> Result<f64, Refusal> {
    let mut roof = measure()?;
    for _ in 0..TRIES {
        if value > roof * SLACK {
            roof = roof.max(measure()?);
        }
    }
    Ok(roof)
}
