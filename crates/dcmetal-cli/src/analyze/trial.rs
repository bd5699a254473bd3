//! Advice followed by another text of the kernel, and what came of it: compiled beside the one that was given, run by turns with it on the same arguments,
//! timed by the device, its outputs compared, and where an access is what the advice is about, counted.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use dcmetal::analysis::{Report, Rule};
use dcmetal::{Accelerator, Access, Arg, Argument, ArgumentKind, Error, Grid, Kernel, Size};

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

/// Turns of the two: no further one begins after TIME, and fewer than LEAST are none.
const LEAST: usize = 3;
const MOST: usize = 15;
const TIME: Duration = Duration::from_secs(2);

/// What became of a changed text.
pub(crate) struct Trial {
    /// The change.
    pub(crate) what: String,
    /// Medians of the device's times.
    pub(crate) before: Duration,
    pub(crate) after: Duration,
    pub(crate) turns: usize,
    pub(crate) outputs: Outputs,
    /// What it does to memory, of advice about that.
    pub(super) counted: Option<Counted>,
}

/// What it computes, against what the kernel as given does.
pub(crate) enum Outputs {
    /// The same, bit by bit.
    Equal,
    Differ {
        numbers: usize,
        of: usize,
        largest: f64,
    },
    /// The kernel as given computes something else each time.
    Unsteady,
}

impl Outputs {
    /// For programs.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Outputs::Equal => "equal",
            Outputs::Differ { .. } => "differ",
            Outputs::Unsteady => "unsteady",
        }
    }
}

impl Trial {
    /// For people.
    pub(crate) fn words(&self) -> String {
        let Trial { what, before, after, turns, .. } = self;
        let part = after.as_secs_f64() / before.as_secs_f64();
        let outputs = match self.outputs {
            Outputs::Equal => "it computes the same".to_owned(),
            Outputs::Differ { numbers, of, largest } => {
                format!("{numbers} of {of} numbers that it computes are others, by {largest:.1e} at most")
            }
            Outputs::Unsteady => "what it computes is another thing each time, changed or not".to_owned(),
        };
        format!("tried: {what} it takes {after:.2?} here, {part:.2} of {before:.2?} ({turns} runs by turns); {outputs}")
    }
}

/// What all trials of one kernel share.
pub(super) struct Trials<'a> {
    pub(super) command: &'a Analyze,
    pub(super) gpu: &'a Accelerator,
    pub(super) kernel: &'a Kernel,
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
        Some(match rule {
            Rule::Barrier => {
                let lines: Vec<u32> = places.filter(|at| at.file == file).map(|at| at.line).collect();
                edit::barriers(text, &lines, language)
            }
            Rule::Uniform => {
                let at: Vec<_> = places.collect();
                let accesses =
                    self.report.accesses.iter().filter(|access| at.contains(&&access.at) && access.is_uniform());
                let mut names: Vec<&str> = accesses.filter_map(|access| access.argument.as_deref()).collect();
                names.sort_unstable();
                names.dedup();
                match names.is_empty() {
                    true => Err("what is read is no parameter's".to_owned()),
                    false => edit::constants(text, kernel, &names, language),
                }
            }
            Rule::Banks => edit::longer_rows(text, language),
            Rule::Division => edit::known(text, kernel, &self.integers()),
            Rule::Double if language == Language::OpenCl => {
                let is_structure = |of: &Argument| {
                    of.scalar.is_none() && matches!(of.kind, ArgumentKind::Buffer | ArgumentKind::Value)
                };
                if let Some(argument) = self.kernel.arguments().iter().find(|argument| is_structure(argument)) {
                    return Some(Err(format!("`{}` has another layout with float for double", argument.name)));
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
                Spec::Value { element, lanes: 1, bytes } => {
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
        let Source { file, flags } = &self.command.source;
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let name = file.file_name().ok_or_else(|| named("it has no name".to_owned()))?;
        let mut flags: Flags = flags.clone();
        // What it includes lies beside the file that was given.
        flags.include.insert(0, file.parent().unwrap_or_else(|| "".as_ref()).to_owned());
        let is_narrow = rule == Rule::Double;
        if is_narrow {
            flags.fp64 = Some(Fp64::Float);
        }
        let source = Source { file: folder.path().join(name), flags };
        std::fs::write(&source.file, &text).map_err(|error| named(format!("it is not written: {error}")))?;
        let compile =
            || -> Result<Kernel, Refused> { Ok(source.library(self.gpu, &text)?.0?.kernel(self.kernel.name())?) };
        let changed = compile().map_err(|refused| named(format!("it does not compile: {}", refused.words())))?;

        let given = self.command.args.iter().map(|arg| held(&arg.spec, false)).collect::<Result<Vec<_>, _>>();
        let narrow = self.command.args.iter().map(|arg| held(&arg.spec, is_narrow)).collect::<Result<Vec<_>, _>>();
        let (given, narrow) = (given.map_err(said)?, narrow.map_err(said)?);
        let before = |outputs| self.once(self.kernel, &given, outputs);
        let after =
            |outputs| self.once(&changed, &narrow, outputs).map_err(|error| named(format!("it fails: {error}")));
        // The first runs are for the outputs, and warm both up.
        let (first, other, again) = (before(true)?.1, after(true)?.1, before(true)?.1);
        let outputs = if first == again { compared(&first, &other)? } else { Outputs::Unsteady };
        let (mut times, begun) = ([Vec::new(), Vec::new()], Instant::now());
        while times[0].len() < MOST && (times[0].len() < LEAST || begun.elapsed() < TIME) {
            times[0].push(before(false)?.0);
            times[1].push(after(false)?.0);
        }
        let turns = times[0].len();
        let [before, after] = times.map(|mut times| {
            times.sort_unstable();
            times[times.len() / 2]
        });
        if before.is_zero() {
            return Err("the device says that it took no time".to_owned());
        }
        let counted = (rule == Rule::Banks)
            .then(|| counted(&source, self.command, &changed, self.global, self.threadgroup).ok())
            .flatten();
        Ok(Trial { what, before, after, turns, outputs, counted })
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
        let written = kernel.arguments().iter().zip(&given).filter_map(|(argument, given)| match given {
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
