//! Advice followed by another text of the kernel, and what came of it: compiled beside the one that was given, run by turns with it on the same arguments,
//! timed by the device, its outputs compared, and where an access is what the advice is about, counted.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use dcmetal::analysis::{Conditions, Report, Rule};
use dcmetal::clmsl::{AddressSpace, Location};
use dcmetal::{Accelerator, Access, Arg, Argument, ArgumentKind, Error, Grid, Kernel, Scalar, Size};
use dcmetal_validate::measure::{Ratio, Spread, alternated};

use super::edit::{self, Edit, Known};
use super::measured::{Counted, counted};
use crate::array::{Array, Element};
use crate::cli::{Analyze, Flags, Fp64, Source};
use crate::difference::{Tolerance, compare};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::run::{Given, content, prepare};
use crate::source::{self, Language};
use crate::spec::{self, Spec};

/// Turns of the two: as many as take about TIME, but LEAST and MOST.
const LEAST: usize = 3;
const MOST: usize = 15;
const TIME: Duration = Duration::from_secs(2);

/// What became of a changed text.
pub(crate) struct Trial {
    /// The change.
    pub(crate) what: String,
    /// The device's times: `ours` is the changed kernel.
    pub(crate) time: Ratio,
    pub(crate) turns: usize,
    pub(crate) outputs: Outputs,
    /// What it does to memory, of advice about that; or why that is not known.
    pub(super) counted: Option<Result<Counted, String>>,
    /// Places that the rule advised of before, and that are left.
    pub(crate) places: [usize; 2],
}

/// What it computes, against what the kernel as given does.
pub(crate) enum Outputs {
    /// The same numbers.
    Equal,
    Differ {
        numbers: usize,
        of: usize,
        largest: f64,
    },
    /// The kernel as given computes something else each time.
    Unsteady,
    /// It writes no argument.
    Nothing,
}

impl Outputs {
    /// For programs.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Outputs::Equal => "equal",
            Outputs::Differ { .. } => "differ",
            Outputs::Unsteady => "unsteady",
            Outputs::Nothing => "none",
        }
    }
}

impl Trial {
    /// For people.
    pub(crate) fn words(&self) -> String {
        let Trial { what, time: Ratio { ours: after, peer: before, ratio, .. }, turns, .. } = self;
        let Spread { median, p10, p90, .. } = ratio;
        let outputs = match self.outputs {
            Outputs::Equal => "it computes the same".to_owned(),
            Outputs::Differ { numbers, of, largest } => {
                format!("{numbers} of {of} numbers that it computes are others, by {largest:.1e} at most")
            }
            Outputs::Unsteady => "the kernel as given computes something else each time".to_owned(),
            Outputs::Nothing => "it writes no argument that could be compared".to_owned(),
        };
        let left = match self.places {
            [_, 0] => String::new(),
            [all, left] => format!("; {left} of {all} places are as they were"),
        };
        format!(
            "tried: {what} it takes {after:.2?} here, {median:.2} ({p10:.2} to {p90:.2}) of {before:.2?} ({turns} runs by turns); {outputs}{left}"
        )
    }
}

/// What all trials of one kernel share.
pub(super) struct Trials<'a> {
    pub(super) command: &'a Analyze,
    pub(super) gpu: &'a Accelerator,
    pub(super) kernel: &'a Kernel,
    pub(super) on: &'a Conditions,
    pub(super) report: &'a Report,
    /// The file's.
    pub(super) text: &'a str,
    pub(super) global: [u64; 3],
    pub(super) threadgroup: Size,
}

impl Trials<'_> {
    /// A trial of each rule whose advice a change of the text follows, or why there is none.
    pub(super) fn run(&self) -> BTreeMap<Rule, Result<Trial, String>> {
        let rules = Rule::ALL.into_iter().filter(|rule| self.report.advice.iter().any(|advice| advice.rule == *rule));
        rules.filter_map(|rule| Some((rule, self.edit(rule)?.and_then(|edit| self.attempt(rule, edit))))).collect()
    }

    fn edit(&self, rule: Rule) -> Option<Result<Edit, String>> {
        let language = match source::language(&self.command.source.file) {
            Ok(language) => language,
            Err(failure) => return Some(Err(failure.message().to_owned())),
        };
        let (text, kernel) = (self.text, self.kernel.name());
        let places = self.report.advice.iter().filter(|advice| advice.rule == rule).flat_map(|advice| &advice.at);
        let file = self.command.source.name();
        let lines = |places: &mut dyn Iterator<Item = &Location>| -> Vec<u32> {
            places.filter(|at| at.file == file).map(|at| at.line).collect()
        };
        Some(match rule {
            Rule::Barrier => edit::barriers(text, &lines(&mut { places }), language),
            Rule::Uniform => {
                let at: Vec<_> = places.collect();
                let accesses = self.report.accesses.iter().filter(|place| {
                    let is_read = place.access.address_space == AddressSpace::Global && !place.access.writes;
                    is_read && at.contains(&&place.at) && place.is_uniform()
                });
                let mut names: Vec<&str> = accesses.filter_map(|access| access.argument.as_deref()).collect();
                names.sort_unstable();
                names.dedup();
                match names.is_empty() {
                    true => Err("what is read is no parameter's".to_owned()),
                    false => edit::constants(text, kernel, &names, language),
                }
            }
            Rule::Banks => edit::longer_rows(text, kernel, language),
            Rule::Division => edit::known(text, kernel, &self.integers(), &lines(&mut { places })),
            Rule::Double if language == Language::OpenCl => {
                let is_structure = |of: &Argument| {
                    of.scalar.is_none() && matches!(of.kind, ArgumentKind::Buffer | ArgumentKind::Value)
                };
                if let Some(argument) = self.kernel.arguments().iter().find(|argument| is_structure(argument)) {
                    return Some(Err(format!("`{}` may have another layout with float for double", argument.name)));
                }
                Ok(Edit { what: "with float for double".to_owned(), text: text.to_owned() })
            }
            Rule::Double | Rule::Lines | Rule::Gather | Rule::Occupancy | Rule::Special => return None,
        })
    }

    /// The integers that the command line passes by value.
    fn integers(&self) -> Vec<Known<'_>> {
        let pairs = self.kernel.arguments().iter().zip(&self.command.args);
        pairs
            .filter_map(|(argument, arg)| match &arg.spec {
                Spec::Value { element, lanes: 1, bytes } if argument.lanes == 1 => {
                    // A structure, a truth or a bfloat is given as an integer too.
                    argument.scalar.filter(|scalar| !matches!(scalar, Scalar::Bool | Scalar::BF16))?;
                    let (scalar, value) = integer(*element, bytes)?;
                    Some(Known { parameter: &argument.name, scalar, value })
                }
                _ => None,
            })
            .collect()
    }

    /// Compiles the changed text and runs both.
    fn attempt(&self, rule: Rule, Edit { what, text }: Edit) -> Result<Trial, String> {
        let _line = Progress::start(format!("trying {} {what}", self.kernel.name()));
        let named = |error: String| format!("{what} {error}");
        let is_narrow = rule == Rule::Double;
        let Source { file, flags } = &self.command.source;
        // Under the name of the file, beside which it finds what it includes.
        let fp64 = if is_narrow { Some(Fp64::Float) } else { flags.fp64 };
        let source = Source { file: file.clone(), flags: Flags { fp64, ..flags.clone() } };
        let compile =
            || -> Result<Kernel, Refused> { Ok(source.library(self.gpu, &text)?.0?.kernel(self.kernel.name())?) };
        let changed = compile().map_err(|refused| named(format!("it does not compile: {}", refused.words())))?;
        // A change may be beside what the advice is about: in another function of the name, or what is not compiled.
        let of_rule = |report: &Report| {
            let advice = report.advice.iter().filter(|advice| advice.rule == rule);
            advice.map(|advice| advice.at.len().max(1)).sum::<usize>()
        };
        let report = changed.report(self.on).map_err(|error| named(error.to_string()))?;
        let places = [self.report, &report].map(of_rule);
        if places[1] >= places[0] {
            return Err(named("what the advice is about is as it was".to_owned()));
        }

        let given = self.specs(false).map_err(said)?;
        let narrow = if is_narrow { Some(self.specs(true).map_err(said)?) } else { None };
        let narrow = narrow.as_ref().unwrap_or(&given);
        let before = |outputs| self.once(self.kernel, &given, outputs);
        let after = |outputs| self.once(&changed, narrow, outputs).map_err(|error| named(format!("it fails: {error}")));
        // The first runs are for the outputs.
        let begun = Instant::now();
        let (first, again, other) = (before(true)?.1, before(true)?.1, after(true)?.1);
        let outputs = match again == first {
            _ if first.is_empty() => Outputs::Nothing,
            true => compared(&first, &other)?,
            false => Outputs::Unsteady,
        };
        drop((first, again, other));
        // Three runs have been made, and a turn is two.
        let turn = begun.elapsed().as_secs_f64() * 2.0 / 3.0;
        let turns = ((TIME.as_secs_f64() / turn) as usize).clamp(LEAST, MOST);
        let time = alternated(turns, || Ok::<_, String>(after(false)?.0), || Ok(before(false)?.0))?;
        if time.peer.is_zero() || time.ours.is_zero() {
            return Err("the device says that it took no time".to_owned());
        }
        let counted = (rule == Rule::Banks).then(|| self.count(&source, &text, &changed));
        Ok(Trial { what, time, turns, outputs, counted, places })
    }

    /// Counts the changed text, which another process reads from a file.
    fn count(&self, source: &Source, text: &str, changed: &Kernel) -> Result<Counted, String> {
        let is_directive = |line: &str| line.trim_start().starts_with('#');
        if text.lines().any(|line| is_directive(line) && line.contains("include") && line.contains('"')) {
            return Err("it includes files that lie beside it".to_owned());
        }
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let name = source.file.file_name().ok_or("it has no name")?;
        let source = Source { file: folder.path().join(name), flags: source.flags.clone() };
        std::fs::write(&source.file, text).map_err(|error| error.to_string())?;
        counted(&source, self.command, (changed, &self.command.source.name()), self.global, self.threadgroup)
    }

    /// The arguments, with their content in memory; `narrow`: with floats for what has 64 bits.
    fn specs(&self, narrow: bool) -> Result<Vec<Spec>, Failure> {
        self.command.args.iter().map(|arg| held(&arg.spec, narrow)).collect()
    }

    /// One run: the device's time, and if they are asked for what it wrote.
    fn once(&self, kernel: &Kernel, specs: &[Spec], outputs: bool) -> Result<(Duration, Vec<Array>), String> {
        let told = |error: Error| error.to_string();
        let mut given = prepare(specs, self.gpu, kernel).map_err(said)?;
        let args: Vec<Arg<'_>> = given.iter_mut().map(Given::arg).collect();
        let grid = Grid::threads(self.global).threadgroup(self.threadgroup).partial();
        let submission = kernel.launch(grid, args).map_err(told)?;
        submission.wait_timeout(Duration::from_secs_f64(self.command.timeout)).map_err(told)?;
        let time = submission.gpu_time().map_err(told)?;
        // Of the kernel as given: what one only reads the other may be said to write, by its text.
        let written = self.kernel.arguments().iter().zip(&given).filter_map(|(argument, given)| match given {
            Given::Memory { memory, element, shape, .. } if outputs && argument.access != Access::ReadOnly => {
                let array = |bytes| Array { element: *element, shape: shape.clone(), bytes };
                Some(memory.bytes().map(array))
            }
            _ => None,
        });
        Ok((time, written.collect::<dcmetal::Result<_>>().map_err(told)?))
    }
}

/// Why a text gave no kernel.
enum Refused {
    Command(Failure),
    Device(Error),
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Refused {
        Refused::Command(failure)
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused::Device(error)
    }
}

impl Refused {
    /// The first error.
    fn words(&self) -> String {
        let log = match self {
            Refused::Command(failure) => return failure.message().to_owned(),
            Refused::Device(Error::Compile { log, .. }) => log,
            Refused::Device(Error::OpenCl { diagnostics, .. }) => diagnostics,
            Refused::Device(error) => return error.to_string(),
        };
        let first = log.lines().find_map(|line| line.split_once("error: "));
        first.map_or_else(|| log.lines().next().unwrap_or_default().to_owned(), |(_, error)| error.to_owned())
    }
}

fn said(failure: Failure) -> String {
    failure.message().to_owned()
}

/// An argument with its content in memory; `narrow`: with floats for what has 64 bits.
fn held(spec: &Spec, narrow: bool) -> Result<Spec, Failure> {
    let floats = |bytes: &[u8]| -> Vec<u8> {
        bytes.chunks_exact(8).flat_map(|bytes| (Element::F64.decode(bytes) as f32).to_ne_bytes()).collect()
    };
    Ok(match spec {
        Spec::Value { element: Element::F64, lanes, bytes } if narrow => {
            Spec::Value { element: Element::F32, lanes: *lanes, bytes: floats(bytes) }
        }
        // Zeros need no memory of the host.
        Spec::Buffer { source: spec::Source::Zeros { element: Element::F64, shape }, save } if narrow => {
            let source = spec::Source::Zeros { element: Element::F32, shape: shape.clone() };
            Spec::Buffer { source, save: save.clone() }
        }
        Spec::Buffer { source: spec::Source::Zeros { .. }, .. } => spec.clone(),
        Spec::Buffer { source, save } => {
            let mut array = content(source)?;
            if narrow && array.element == Element::F64 {
                array = Array { element: Element::F32, shape: array.shape, bytes: floats(&array.bytes) };
            }
            Spec::Buffer { source: spec::Source::Held(array), save: save.clone() }
        }
        spec => spec.clone(),
    })
}

fn compared(expected: &[Array], got: &[Array]) -> Result<Outputs, String> {
    if expected == got {
        return Ok(Outputs::Equal);
    }
    if expected.len() != got.len() {
        return Err("it has other arguments".to_owned());
    }
    let (mut numbers, mut of, mut most) = (0, 0, 0.0f64);
    for (expected, got) in expected.iter().zip(got) {
        let difference = compare(got, expected, Tolerance::default())?;
        numbers += difference.outside;
        of += difference.elements;
        most = most.max(difference.largest);
    }
    // Zeros of another sign, NaNs of another kind.
    Ok(if numbers == 0 { Outputs::Equal } else { Outputs::Differ { numbers, of, largest: most } })
}

/// An integer's type, in both languages, and how it is written there.
fn integer(element: Element, bytes: &[u8]) -> Option<(&'static str, String)> {
    macro_rules! read {
        ($name:literal, $type:ty, $suffix:literal) => {
            ($name, format!(concat!("{}", $suffix), <$type>::from_ne_bytes(*bytes.first_chunk()?)))
        };
    }
    Some(match element {
        Element::I8 => read!("char", i8, ""),
        Element::U8 => read!("uchar", u8, ""),
        Element::I16 => read!("short", i16, ""),
        Element::U16 => read!("ushort", u16, ""),
        Element::I32 => read!("int", i32, ""),
        Element::U32 => read!("uint", u32, "u"),
        Element::I64 => read!("long", i64, ""),
        Element::U64 => read!("ulong", u64, "ul"),
        Element::F16 | Element::F32 | Element::F64 => return None,
    })
}
