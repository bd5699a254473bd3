//! What runs show of what the analysis says: a counted run on hostmetal, in a process of its own, all sensible shapes of threadgroups, timed by
//! `Kernel::tune` and their outputs compared, and changed texts (trial.rs).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::Command;
use std::time::Duration;

use clap::ValueEnum;
use dcmetal::analysis::{Advice, LINE, Limit, Place, Rule};
use dcmetal::clmsl::AddressSpace;
use dcmetal::{Accelerator, Access, Arg, Grid, Kernel, Size, TuneOptions};
use serde_json::Value;

use super::trial::{Trial, Trials};
use crate::cli::{Analyze, Flags, Source};
use crate::compile::failure;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::run::{Given, prepare};
use crate::source::{self, Language};
use crate::spec::Spec;

/// What the runs of one kernel showed.
pub(crate) struct Measured {
    pub(crate) global: [u64; 3],
    pub(crate) threadgroup: Size,
    /// What was counted with the report's threadgroup, or why it was not.
    pub(crate) counted: Result<Counted, String>,
    /// The shapes, the fastest first, or why there are none.
    pub(crate) shapes: Result<Vec<Shape>, String>,
    /// What was counted with the fastest shape, where that is another.
    pub(crate) fastest: Option<Counted>,
    /// Of each rule whose advice a change of the text follows.
    pub(crate) trials: BTreeMap<Rule, Result<Trial, String>>,
}

/// A shape of threadgroups that was run.
pub(crate) struct Shape {
    pub(crate) size: Size,
    /// The median of its runs' times on the device.
    pub(crate) time: Duration,
    pub(crate) runs: usize,
    /// Its outputs are those of the shape that a launch has, bit by bit.
    pub(crate) equal: bool,
    /// It is what a launch has.
    pub(crate) advised: bool,
}

/// A counted run.
pub(crate) struct Counted {
    sites: Vec<Site>,
    pub(crate) work: Value,
}

/// A place of the code whose executions were counted; numbers of several at one place of the source are added up.
struct Site {
    line: u32,
    /// 0 where only the line is known: of a translation.
    column: u32,
    space: String,
    usage: String,
    times: u64,
    lines: u64,
    moved: u64,
    words: Option<(u64, u64)>,
}

pub(super) fn measure(on: &Trials<'_>) -> Result<Measured, Failure> {
    let &Trials { command, gpu, kernel, global, threadgroup, .. } = on;
    let specs: Vec<Spec> = command.args.iter().map(|arg| arg.spec.clone()).collect();
    // What does not fit the kernel is told before anything runs.
    drop(prepare(&specs, gpu, kernel)?);
    let counted = {
        let _line = Progress::start(format!("counting {}", kernel.name()));
        counted(&command.source, command, (kernel, &command.source.name()), global, threadgroup)
    };
    let shapes = {
        let _line = Progress::start(format!("trying threadgroups of {}", kernel.name()));
        shapes(command, gpu, kernel, &specs, global)?
    };
    let fastest = shapes.as_ref().ok().and_then(|shapes| shapes.iter().find(|shape| shape.equal));
    let other = fastest.filter(|fastest| fastest.size != threadgroup && counted.is_ok());
    let fastest = other.and_then(|fastest| {
        self::counted(&command.source, command, (kernel, &command.source.name()), global, fastest.size).ok()
    });
    Ok(Measured { global, threadgroup, counted, shapes, fastest, trials: on.run() })
}

/// Every shape that `Kernel::tune` tries, timed, and what each computes.
fn shapes(
    command: &Analyze,
    gpu: &Accelerator,
    kernel: &Kernel,
    specs: &[Spec],
    global: [u64; 3],
) -> Result<Result<Vec<Shape>, String>, Failure> {
    let mut given = prepare(specs, gpu, kernel)?;
    let args: Vec<Arg<'_>> = given.iter_mut().map(Given::arg).collect();
    let tuning = match kernel.tune(Grid::threads(global), args, &TuneOptions::default()) {
        Ok(tuning) => tuning,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let run = |size: Size| -> Result<Vec<Vec<u8>>, Failure> {
        let mut given = prepare(specs, gpu, kernel)?;
        let args: Vec<Arg<'_>> = given.iter_mut().map(Given::arg).collect();
        let submission =
            kernel.launch(Grid::threads(global).threadgroup(size).partial(), args).map_err(|error| failure(&error))?;
        submission.wait_timeout(Duration::from_secs_f64(command.timeout)).map_err(|error| failure(&error))?;
        let written = kernel.arguments().iter().zip(&given).filter_map(|(argument, given)| match given {
            Given::Memory { memory, .. } if argument.access != Access::ReadOnly => Some(memory.bytes()),
            _ => None,
        });
        written.collect::<dcmetal::Result<_>>().map_err(|error| failure(&error))
    };
    let Some(advised) = tuning.candidates.iter().find(|candidate| candidate.advised) else {
        return Ok(Err("no threadgroup was measured".to_owned()));
    };
    let reference = run(advised.size)?;
    let mut shapes = Vec::with_capacity(tuning.candidates.len());
    for candidate in &tuning.candidates {
        let equal = candidate.advised || run(candidate.size)? == reference;
        let (size, runs, advised) = (candidate.size, candidate.times.len(), candidate.advised);
        shapes.push(Shape { size, time: candidate.median(), runs, equal, advised });
    }
    Ok(Ok(shapes))
}

/// Counts what the kernel of a file does, which was compiled under that name: `dcmetal run` in a process of its own, whose kernels hostmetal compiles with
/// counters.
pub(super) fn counted(
    source: &Source,
    command: &Analyze,
    (kernel, file): (&Kernel, &str),
    global: [u64; 3],
    threadgroup: Size,
) -> Result<Counted, String> {
    let counts = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    let program = std::env::current_exe().map_err(|error| format!("this program's name: {error}"))?;
    let extents = |extents: [u64; 3]| extents.map(|extent| extent.to_string()).join(",");
    let mut child = Command::new(program);
    child.arg("run").arg(&source.file).arg(kernel.name()).args(words(&source.flags));
    child.args(["--global", &extents(global), "--local", &extents(threadgroup.to_array()), "--partial"]);
    child.args(["--timeout", &command.timeout.to_string()]);
    command.args.iter().for_each(|arg| _ = child.arg("--arg").arg(&arg.text));
    let output = child.env("HOSTMETAL_COUNTS", counts.path()).output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("the counted run failed: {}", said.trim_end().lines().last().unwrap_or("without a word")));
    }
    let text = std::fs::read_to_string(counts.path()).map_err(|error| error.to_string())?;
    let Some(line) = text.lines().next() else { return Err("only hostmetal counts".to_owned()) };
    let counts: Value = serde_json::from_str(line).map_err(|error| format!("what was counted: {error}"))?;
    if let Some(why) = counts["not_counted"].as_str() {
        return Err(why.to_owned());
    }
    let is_opencl = matches!(source::language(&source.file), Ok(Language::OpenCl));
    Counted::read(&counts, kernel, file, is_opencl).ok_or_else(|| format!("what was counted is not understood: {line}"))
}

/// The command line of these flags.
fn words(flags: &Flags) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    flags.define.iter().for_each(|define| words.extend(["-D".into(), define.into()]));
    flags.include.iter().for_each(|folder| words.extend(["-I".into(), folder.into()]));
    words.extend(flags.options.iter().map(|options| format!("--options={options}").into()));
    let mut named = |flag: &str, value: Option<clap::builder::PossibleValue>| {
        words.extend(value.map(|value| format!("--{flag}={}", value.get_name()).into()));
    };
    named("std", flags.std.and_then(|std| std.to_possible_value()));
    named("fp64", flags.fp64.and_then(|fp64| fp64.to_possible_value()));
    named("math", flags.math.and_then(|math| math.to_possible_value()));
    words
}

impl Counted {
    /// Of a line of HOSTMETAL_COUNTS, with the places of this file.
    fn read(counts: &Value, kernel: &Kernel, file: &str, is_opencl: bool) -> Option<Counted> {
        let mut sites: BTreeMap<(u32, u32, String, String), Site> = BTreeMap::new();
        for access in counts["accesses"].as_array()? {
            let number = |name: &str| access[name].as_u64();
            let (line, column) = (u32::try_from(number("line")?).ok()?, u32::try_from(number("column")?).ok()?);
            // Of a translation the columns are its own.
            let (line, column) = match kernel.origin(line) {
                Some(at) if at.file == file => (at.line, if is_opencl { 0 } else { column }),
                _ => continue,
            };
            let (space, usage) = (access["space"].as_str()?.to_owned(), access["use"].as_str()?.to_owned());
            let range = |value: &Value| Some((value.get(0)?.as_u64()?, value.get(1)?.as_u64()?));
            let own = Site {
                line,
                column,
                space: space.clone(),
                usage: usage.clone(),
                times: number("times")?,
                lines: number("lines").unwrap_or(0),
                moved: number("moved")?,
                words: range(&access["words"]),
            };
            let Some(site) = sites.get_mut(&(line, column, space.clone(), usage.clone())) else {
                sites.insert((line, column, space, usage), own);
                continue;
            };
            site.times += own.times;
            site.lines += own.lines;
            site.moved += own.moved;
            site.words = match (site.words, own.words) {
                (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
                (one, other) => one.or(other),
            };
        }
        Some(Counted { sites: sites.into_values().collect(), work: counts["work"].clone() })
    }

    /// What was counted at a place: SIMD-groups, lines, bytes, and words of one bank.
    pub(crate) fn at(&self, place: &Place) -> Option<Sum> {
        let space = match place.access.address_space {
            AddressSpace::Global => "device",
            AddressSpace::Local => "threadgroup",
            _ => "constant",
        };
        let mut sum: Option<Sum> = None;
        for site in &self.sites {
            let uses = (place.access.reads && site.usage != "write") || (place.access.writes && site.usage != "read");
            let is_there = site.line == place.at.line && (site.column == 0 || site.column == place.at.column);
            if site.space != space || !uses || !is_there {
                continue;
            }
            let sum = sum.get_or_insert_with(Sum::default);
            sum.times += site.times;
            sum.lines += site.lines;
            sum.moved += site.moved;
            sum.words = match (sum.words, site.words) {
                (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
                (one, other) => one.or(other),
            };
        }
        sum
    }
}

/// What was counted at a place of the source.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum {
    /// SIMD-groups that came there, once for each round.
    pub(crate) times: u64,
    /// Lines that they touched.
    pub(crate) lines: u64,
    /// Bytes that their threads asked for.
    pub(crate) moved: u64,
    /// Words of the bank with most, least and most.
    pub(crate) words: Option<(u64, u64)>,
}

impl Sum {
    /// For people.
    pub(crate) fn words(&self) -> String {
        match self.words {
            Some((least, most)) => format!("{} SIMD-groups asked for {least} to {most} words of one bank", self.times),
            None => {
                let used = self.moved as f64 / (self.lines * LINE).max(1) as f64;
                let bytes = self.lines * LINE;
                format!(
                    "{} SIMD-groups touched {} lines, {bytes} bytes, for {} bytes ({:.0} %)",
                    self.times,
                    self.lines,
                    self.moved,
                    used * 100.0
                )
            }
        }
    }
}

impl Measured {
    /// What the runs show of an advice; or why they do not.
    pub(crate) fn effect(&self, advice: &Advice, places: &[Place], limits: &[Limit]) -> Result<Vec<String>, String> {
        let mut found = Vec::new();
        match advice.rule {
            Rule::Banks => {
                let at = |place: &&Place| advice.at.contains(&place.at) && is_of(advice.rule, place);
                let sums = |counted: &Counted, what: &str| -> Vec<String> {
                    let sums = places.iter().filter(at).filter_map(|place| counted.at(place));
                    sums.map(|sum| format!("{what}: {}", sum.words())).collect()
                };
                match &self.counted {
                    Ok(counted) => match sums(counted, "counted") {
                        sums if sums.is_empty() => found.push("not counted: the run did not come there".to_owned()),
                        sums => found.extend(sums),
                    },
                    Err(why) => found.push(format!("not counted: {why}")),
                }
                match self.trials.get(&Rule::Banks) {
                    Some(Ok(trial)) => {
                        found.push(trial.words());
                        match &trial.counted {
                            Some(Ok(counted)) => found.extend(sums(counted, "counted then")),
                            Some(Err(why)) => found.push(format!("not counted then: {why}")),
                            None => {}
                        }
                    }
                    Some(Err(why)) => found.push(format!("not tried: {why}")),
                    None => {}
                }
            }
            Rule::Lines | Rule::Gather => {
                let counted = self.counted.as_ref().map_err(Clone::clone)?;
                for place in places.iter().filter(|place| advice.at.contains(&place.at) && is_of(advice.rule, place)) {
                    let Some(sum) = counted.at(place) else { continue };
                    found.push(format!("counted: {}", sum.words()));
                    if let (Some(other), Some(shape)) =
                        (self.fastest.as_ref().and_then(|other| other.at(place)), self.first())
                    {
                        found.push(format!("counted in threadgroups of {}: {}", shape.size, other.words()));
                    }
                }
                found.extend(self.fastest_shape());
                if found.is_empty() {
                    return Err("the run did not come there".to_owned());
                }
            }
            Rule::Occupancy if limits.contains(&Limit::ThreadgroupSize) => {
                found.extend(self.fastest_shape());
                if found.is_empty() {
                    return Err(self.shapes.as_ref().err().cloned().unwrap_or_else(|| "nothing was run".to_owned()));
                }
            }
            Rule::Special => {
                let counted = self.counted.as_ref().map_err(Clone::clone)?;
                let of = |name: &str| counted.work[name].as_u64().unwrap_or(0);
                let (special, flops, integer) = (of("special"), of("flops"), of("integer"));
                found.push(format!(
                    "counted: {special} special functions beside {flops} floating-point and {integer} integer operations of all threads"
                ));
            }
            rule => match self.trials.get(&rule) {
                Some(Ok(trial)) => found.push(trial.words()),
                Some(Err(why)) => return Err(why.clone()),
                None => return Err("it needs another text of the kernel, which is its author's".to_owned()),
            },
        }
        Ok(found)
    }

    /// The fastest shape that computes what a launch's does.
    fn first(&self) -> Option<&Shape> {
        self.shapes.as_ref().ok()?.iter().find(|shape| shape.equal)
    }

    /// The fastest shape against the one that the report is for, or that a launch has.
    fn fastest_shape(&self) -> Option<String> {
        let shapes = self.shapes.as_ref().ok()?;
        let first = self.first()?;
        let own = shapes.iter().find(|shape| shape.size == self.threadgroup);
        let own = own.or_else(|| shapes.iter().find(|shape| shape.advised))?;
        let equal = shapes.iter().filter(|shape| shape.equal).count();
        let same = match equal == shapes.len() {
            true => "all compute the same".to_owned(),
            false => format!("{} of them compute something else", shapes.len() - equal),
        };
        let (fast, slow) = (first.time.as_secs_f64(), own.time.as_secs_f64());
        Some(match first.size == own.size {
            true => format!("timed: {} is the fastest of {} threadgroups here ({same})", own.size, shapes.len()),
            false => format!(
                "timed: threadgroups of {} take {:.2?} here, {:.2} of the {:.2?} of {}; the fastest of {} ({same})",
                first.size,
                first.time,
                fast / slow,
                own.time,
                own.size,
                shapes.len()
            ),
        })
    }
}

/// Whether a place is what a rule is about: several accesses of one line may have one place.
fn is_of(rule: Rule, place: &Place) -> bool {
    match rule {
        Rule::Banks => place.bank_words.is_some(),
        Rule::Gather => place.is_gathered(),
        _ => place.lines.is_some(),
    }
}
