//! The claims, one row each, and the kernels, which claim that they compute what they must at a rate that can be true.

mod calls;
mod kernels;
mod memory;
mod processes;
mod recovery;
mod telemetry;

use std::time::{Duration, Instant};

use dcmetal::Accelerator;

use crate::measure::{Calls, Effort};
use crate::problems::{KERNELS, Random};
use crate::{Goal, Measured, Options, Refusal, Row, Unit, Verdict, judge};

pub use processes::child;

/// A row of the source documents' table.
struct Claim {
    name: &'static str,
    title: &'static str,
    theirs: &'static str,
    goal: Goal,
    unit: Unit,
    how: &'static str,
    measure: fn(&mut Bench<'_>) -> Result<Measured, Refusal>,
}

const CLAIMS: &[Claim] = &[
    Claim {
        name: "memory-cache",
        title: "kernel found in the memory cache",
        theirs: "4.58 us",
        goal: Goal::AtMost(0.5e-6),
        unit: Unit::Seconds,
        how: "compile_msl and kernel of a source that was compiled before, both found; mean of a turn of many, after turns that grow",
        measure: calls::memory_cache,
    },
    Claim {
        name: "disk-cache",
        title: "kernel found in the disk cache by a new process, no compiler run",
        theirs: "recompiled",
        goal: Goal::AtMost(2e-3),
        unit: Unit::Seconds,
        how: "Library::kernel in new processes, of a source of this run's own that one process before them compiled",
        measure: processes::disk_cache,
    },
    Claim {
        name: "command-buffer",
        title: "command buffer acquired and released through the C ABI",
        theirs: "0.62 us",
        goal: Goal::AtMost(0.25e-6),
        unit: Unit::Seconds,
        how: "DCMetalCommandBuffer_Create and _Release; mean of a turn of many, after turns that grow",
        measure: calls::command_buffer,
    },
    Claim {
        name: "cold-start",
        title: "accelerator of a new process",
        theirs: "8.36 ms",
        goal: Goal::AtMost(3e-3),
        unit: Unit::Seconds,
        how: "from main's first line to the accelerator, in new processes; files are in the system's cache after the first, which does not count",
        measure: processes::cold_start,
    },
    Claim {
        name: "pool-allocations",
        title: "native allocations that a pool saves in a steady loop",
        theirs: "90 % fewer",
        goal: Goal::AtLeast(0.99),
        unit: Unit::Share,
        how: "requests of four sizes in turn, each written and given back: those that did not allocate, beginning with an empty pool",
        measure: memory::pool_allocations,
    },
    Claim {
        name: "pool-hit",
        title: "buffer from a pool and back",
        theirs: "0.05 ms",
        goal: Goal::AtMost(100e-9),
        unit: Unit::Seconds,
        how: "BufferPool::buffer of 4096 bytes and its drop, one thread; mean of a turn of many, after turns that grow",
        measure: memory::pool_hit,
    },
    Claim {
        name: "pool-threads",
        title: "two threads with one pool against two with a pool each",
        theirs: "",
        goal: Goal::AtMost(memory::CONTENTION),
        unit: Unit::Times,
        how: "BufferPool::buffer of 4096 bytes and its drop by two threads at once, of one pool and of pools and accelerators of their own, in turns: \
              1 without contention, several with it",
        measure: memory::pool_threads,
    },
    Claim {
        name: "unified",
        title: "memory used in place against memory copied",
        theirs: "3.42x",
        goal: Goal::Sound,
        unit: Unit::Times,
        how: "the same kernel on host pages in place (buffer_no_copy, read) and on copies (buffer_from, to_vec), in turns, from filled host memory to the \
              result's last word",
        measure: memory::unified,
    },
    Claim {
        name: "graph-branches",
        title: "two branches of a graph beside each other",
        theirs: "> 1.5x, untested",
        goal: Goal::AtLeast(1.7),
        unit: Unit::Times,
        how: "eight nodes a branch, beside each other and in a row, in turns; graphs are built before, and have run once",
        measure: memory::graph_branches,
    },
    Claim {
        name: "encode",
        title: "a further launch of a batch, encoded",
        theirs: "20 to 100 us",
        goal: Goal::AtMost(1e-6),
        unit: Unit::Seconds,
        how: "Batch::launch of one thread, 1000 a batch, hazards looked for; mean of a turn, after turns that grow",
        measure: calls::encode,
    },
    Claim {
        name: "round-trip",
        title: "an empty batch, committed and waited for",
        theirs: "20 to 100 us",
        goal: Goal::AtMost(15e-6),
        unit: Unit::Seconds,
        how: "Accelerator::batch, submit, wait; each timed by itself, after turns that grow",
        measure: calls::round_trip,
    },
    Claim {
        name: "dispatches",
        title: "launches given to a stream",
        theirs: "2000 to 4000/s",
        goal: Goal::AtLeast(1e6),
        unit: Unit::PerSecond,
        how: "Stream::launch of one thread, 1000 a batch, until the last call returns; turns of many, after turns that grow",
        measure: calls::dispatches,
    },
    Claim {
        name: "submissions",
        title: "launches submitted by themselves",
        theirs: "2000 to 4000/s",
        goal: Goal::AtLeast(1e5),
        unit: Unit::PerSecond,
        how: "Kernel::launch of one thread, many in flight, until all have run; turns of many, after turns that grow",
        measure: calls::submissions,
    },
    Claim {
        name: "telemetry",
        title: "what telemetry costs at 100,000 launches a second",
        theirs: "< 1 %",
        goal: Goal::AtMost(telemetry::MOST),
        unit: Unit::Share,
        how: "Kernel::launch of one thread at that rate, with telemetry and without, in turns, on accelerators made anew every ten: processor time of the \
              process beyond, as a share of a processor; the most that the median of the differences may be (98 %, after up to six looks)",
        measure: telemetry::telemetry,
    },
    Claim {
        name: "recovery",
        title: "runs under injected faults that end as they should",
        theirs: "95 %",
        goal: Goal::AtLeast(1.0),
        unit: Unit::Share,
        how: "one to four faults in a row with four retries: right data from the device; faults that no retry helps: told as errors",
        measure: recovery::recovery,
    },
];

/// What measurements need.
struct Bench<'a> {
    options: &'a Options,
    gpu: &'a Accelerator,
    random: Random,
    /// Compiled when first needed.
    metal: Option<crate::metal::Metal>,
    /// Seconds of a launch by itself, waited for.
    launch: Option<f64>,
}

impl Bench<'_> {
    /// The quick number or the thorough one.
    fn of<T>(&self, quick: T, thorough: T) -> T {
        if self.options.quick { quick } else { thorough }
    }

    /// For calls that are too short to be timed one by one.
    fn many(&self) -> Effort {
        let turn = Duration::from_millis(self.of(1, 10));
        Effort { rounds: self.of(15, 101), turn, single: 0 }
    }

    /// For calls that are timed one by one too.
    fn single(&self) -> Effort {
        Effort { single: self.of(200, 5000), ..self.many() }
    }

    /// What any launch takes, waited for: that of a kernel of one thread.
    fn launch(&mut self) -> Result<f64, Refusal> {
        if let Some(seconds) = self.launch {
            return Ok(seconds);
        }
        let measured = calls::launch(self)?;
        self.launch = Some(measured);
        Ok(measured)
    }
}

impl Measured {
    /// Of calls by the number.
    fn of_calls(calls: Calls, verified: String) -> Measured {
        let apart = vec![("calls of the longest turn".to_owned(), calls.most.to_string())];
        Measured {
            value: calls.seconds.median,
            spread: Some(calls.seconds),
            points: calls.points,
            verified: vec![verified],
            apart,
            ..Measured::default()
        }
    }

    /// The same calls as a rate.
    fn a_second(mut self) -> Measured {
        self.value = 1.0 / self.value;
        self.spread = self.spread.map(|spread| spread.inverse());
        self
    }
}

/// The names of all rows, in their order.
pub fn names() -> Vec<String> {
    let kernels = KERNELS.iter().map(kernels::name);
    CLAIMS.iter().map(|claim| claim.name.to_owned()).chain(kernels).collect()
}

/// All rows; those that were not asked for say so.
pub(crate) fn measure(
    options: &Options,
    gpu: &Accelerator,
    begin: &mut impl FnMut(&str),
    told: &mut impl FnMut(&Row),
) -> Vec<Row> {
    let random = Random(options.seed);
    let mut bench = Bench { options, gpu, random, metal: None, launch: None };
    let mut rows = Vec::new();
    let mut add = |row: Row, outcome: &mut dyn FnMut() -> Result<Measured, Refusal>| {
        let asked = options.only.is_empty()
            || options
                .only
                .iter()
                .any(|only| *only == row.name || (only == "kernels" && row.name.starts_with("kernel-")));
        let start = Instant::now();
        let (verdict, why, measured) = if asked {
            begin(&row.title);
            judged(row.goal, outcome)
        } else {
            (Verdict::NotMeasured, "left out by --only".to_owned(), None)
        };
        let row = Row { measured, verdict, why, took: start.elapsed().as_secs_f64(), ..row };
        if asked {
            told(&row);
        }
        rows.push(row);
    };
    for claim in CLAIMS {
        let row = empty(claim.name.to_owned(), claim.title.to_owned(), claim.theirs, claim.how, claim.goal, claim.unit);
        add(row, &mut || (claim.measure)(&mut bench));
    }
    for kernel in KERNELS {
        let theirs = if kernel.name == "matrix_product" { "11.77 TFLOP/s, unverified" } else { "" };
        let row =
            empty(kernels::name(kernel), kernel.title.to_owned(), theirs, kernels::HOW, Goal::Sound, Unit::Seconds);
        add(row, &mut || kernels::measure(&mut bench, kernel));
    }
    rows
}

/// How often what cannot be true is measured: a busy machine can make a figure so, but hardly three times.
const TRIES: usize = 3;

/// Measures, and measures again what cannot be true; a wrong output is wrong the first time. What once could not be true must be
/// shown sound: it is not made good by a run that says nothing.
fn judged(goal: Goal, measure: &mut dyn FnMut() -> Result<Measured, Refusal>) -> (Verdict, String, Option<Measured>) {
    // Why it could not be true, each time.
    let mut untrue: Vec<String> = Vec::new();
    for again in 1..=TRIES {
        let (verdict, why, mut measured) = match measure() {
            Ok(measured) => {
                let (verdict, why) = judge(goal, &measured);
                (verdict, why, Some(measured))
            }
            Err(Refusal::NotMeasured(why)) => (Verdict::NotMeasured, why, None),
            Err(Refusal::Broken(why)) => return (Verdict::Broken, why, None),
        };
        if again < TRIES {
            match verdict {
                Verdict::Broken => {
                    untrue.push(why);
                    continue;
                }
                Verdict::NotMeasured if !untrue.is_empty() => continue,
                _ => {}
            }
        }
        if let (Some(measured), false) = (&mut measured, untrue.is_empty()) {
            let times = untrue.len().to_string();
            measured.apart.push(("times that it was measured before and could not be true".to_owned(), times));
        }
        return match untrue.pop() {
            Some(before) if verdict == Verdict::NotMeasured => {
                (Verdict::Broken, format!("{before}; measured again: {why}"), measured)
            }
            _ => (verdict, why, measured),
        };
    }
    unreachable!("the last try returns")
}

fn empty(name: String, title: String, theirs: &'static str, how: &'static str, goal: Goal, unit: Unit) -> Row {
    let (verdict, why) = (Verdict::NotMeasured, String::new());
    Row { name, title, theirs, how, goal, unit, measured: None, verdict, why, took: 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Point;

    /// Fake measurements, one after the other, and what they come to.
    #[test]
    fn what_cannot_be_true_is_measured_again() {
        let of = |seconds: [f64; 2]| {
            let points = [1.0, 16.0].iter().zip(seconds).map(|(&work, seconds)| Point { work, seconds }).collect();
            Ok(Measured { value: 1.0, points, verified: vec!["all".to_owned()], ..Measured::default() })
        };
        let (grows, constant, hidden) = (of([1.0, 16.0]), of([1.0, 1.0]), of([0.0, 0.0]));
        let wrong: Result<Measured, Refusal> = Err(Refusal::Broken("wrong output".to_owned()));
        let refused: Result<Measured, Refusal> = Err(Refusal::NotMeasured("none here".to_owned()));
        let none: &[&str] = &[];
        let (still, noise) =
            (&["time does not grow"][..], &["time does not grow", "; measured again: a launch takes"][..]);
        for (list, verdict, measured, whys) in [
            (vec![&grows, &wrong], Verdict::Reached, 1, none),
            (vec![&hidden, &wrong], Verdict::NotMeasured, 1, &["a launch takes"]),
            (vec![&refused, &wrong], Verdict::NotMeasured, 1, &["none here"]),
            (vec![&constant, &grows, &wrong], Verdict::Reached, 2, none),
            (vec![&constant, &constant, &grows, &wrong], Verdict::Reached, 3, none),
            (vec![&constant, &hidden, &grows, &wrong], Verdict::Reached, 3, none),
            (vec![&constant, &constant, &constant, &grows], Verdict::Broken, 3, still),
            (vec![&constant, &hidden, &constant, &grows], Verdict::Broken, 3, still),
            (vec![&constant, &hidden, &hidden, &grows], Verdict::Broken, 3, noise),
            (vec![&constant, &constant, &hidden, &grows], Verdict::Broken, 3, noise),
            (
                vec![&constant, &refused, &refused, &grows],
                Verdict::Broken,
                3,
                &["time does not", "; measured again: none"],
            ),
            (vec![&wrong, &grows], Verdict::Broken, 1, &["wrong output"]),
            (vec![&constant, &wrong, &grows], Verdict::Broken, 2, &["wrong output"]),
        ] {
            let mut times = 0;
            let (got, why, _) = judged(Goal::AtMost(2.0), &mut || {
                times += 1;
                list[times - 1].clone()
            });
            assert_eq!((got, times), (verdict, measured), "{why}");
            assert!(whys.iter().all(|part| why.contains(part)) && why.is_empty() == whys.is_empty(), "{why}");
        }
    }
}
