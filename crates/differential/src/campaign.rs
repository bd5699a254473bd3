//! Random programs (`clgen`) on both sides, one seed after the other, and what differs made small.

use dcmetal::{Accelerator, Scalar};

use crate::device::Translated;
use crate::job::{Image, Launch, Program, Value};
use crate::peer::{Peer, PeerError};
use crate::random::Random;
use crate::run::{Run, mismatches};
use crate::vary::{Shape, vary, vary_small};

/// Launches of each program, with other arguments each time.
const ROUNDS: u64 = 2;

/// A device and a peer to compare it with.
pub struct Campaign {
    /// The device.
    pub gpu: Accelerator,
    /// The peer.
    pub peer: Peer,
}

/// A program that did not come out alike.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What happened, as a kind: two findings of one kind may have one cause.
    pub kind: Kind,
    /// What was said.
    pub text: String,
}

/// What happened to a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The translator rejects it.
    Rejected,
    /// The device's compiler rejects what the translator made of it.
    NotCompiled,
    /// The peer does.
    PeerRejected,
    /// The peer crashed, failed or did not end.
    PeerFailed,
    /// The device failed the launch.
    Failed,
    /// Numbers differ.
    Differs,
}

impl Campaign {
    /// Runs the program of a seed.
    pub fn run(&mut self, seed: u64) -> Option<Finding> {
        let program = clgen::generate(&mut clgen::Choices::of_seed(seed));
        self.run_program(&program, seed)
    }

    /// Runs a program on arguments of a seed.
    pub fn run_program(&mut self, generated: &clgen::Program, seed: u64) -> Option<Finding> {
        let finding = |kind, text| Some(Finding { kind, text });
        let program = Program {
            name: format!("random{seed}.cl"),
            source: generated.source.clone(),
            options: if generated.double { "--fp64 emulate".to_owned() } else { String::new() },
            peer_options: "-DPEER".to_owned(),
            include: Vec::new(),
        };
        let fp64 = if generated.double { clmsl::Fp64::Emulate } else { clmsl::Fp64::Reject };
        let options = clmsl::Options { fp64, ..clmsl::Options::default() };
        let translation = clmsl::translate(&program.name, &program.source, &options);
        if translation.msl.is_none() {
            return finding(Kind::Rejected, translation.rendered());
        }
        let mut random = Random::new(seed);
        let runs: Vec<Run> = (0..ROUNDS).map(|_| run(generated, &mut random)).collect();
        let launches: Vec<Launch> = runs.iter().map(|run| run.launch.clone()).collect();
        let Campaign { gpu, peer } = self;
        // Each side has a compiler to wait for.
        let (translated, theirs) = std::thread::scope(|scope| {
            let theirs = scope.spawn(|| peer.run(&program, &launches));
            let translated = Translated::compile(gpu, &program).and_then(|translated| match translated.kernel("k") {
                // Without a kernel there is nothing to compare.
                Err(text) => translated.kernel_names().first().map_or(Ok(None), |_| Err(text)),
                Ok(_) => Ok(Some(translated)),
            });
            (translated, theirs.join().expect("the peer's end is an answer"))
        });
        let translated = match translated {
            Ok(Some(translated)) => translated,
            Ok(None) => return None,
            Err(text) => return finding(Kind::NotCompiled, text),
        };
        match theirs.map(|theirs| mismatches(&translated, &runs, &theirs, 0)) {
            Err(PeerError::NotBuilt(text)) => finding(Kind::PeerRejected, text),
            Err(error) => finding(Kind::PeerFailed, error.to_string()),
            Ok(mismatches) => {
                let first = mismatches.first()?;
                let kind = match first.what {
                    crate::What::Failed(_) => Kind::Failed,
                    crate::What::Buffer(..) | crate::What::Printed(..) => Kind::Differs,
                };
                let lines: Vec<String> = mismatches.iter().map(ToString::to_string).collect();
                finding(kind, lines.join("\n"))
            }
        }
    }

    /// Takes lines away as long as a finding of the same kind is left.
    pub fn minimise(&mut self, generated: &clgen::Program, seed: u64, kind: Kind) -> clgen::Program {
        let mut best: Vec<String> = generated.source.lines().map(str::to_owned).collect();
        let mut same = |lines: &[String]| {
            let source = lines.iter().map(|line| format!("{line}\n")).collect();
            let candidate = clgen::Program { source, ..generated.clone() };
            self.run_program(&candidate, seed).is_some_and(|finding| finding.kind == kind)
        };
        let mut size = best.len() / 2;
        loop {
            let before = best.len();
            let mut at = 0;
            while at < best.len() {
                let smaller = cuts(&best, at, size).into_iter().find(|lines| same(lines));
                match smaller {
                    Some(lines) => best = lines,
                    None => at += size.max(1),
                }
            }
            if size <= 1 && best.len() == before {
                let source = best.iter().map(|line| format!("{line}\n")).collect();
                return clgen::Program { source, ..generated.clone() };
            }
            size /= 2;
        }
    }
}

/// The lines without some of them from `at` on: so many, or one block as a whole, or only its braces. A function keeps the
/// return that ends it: without, what it returns would be anything.
fn cuts(lines: &[String], at: usize, size: usize) -> Vec<Vec<String>> {
    let inside = lines[at].starts_with("    ");
    if inside && lines[at..(at + size.max(1)).min(lines.len())].iter().any(|line| line.starts_with("    return ")) {
        return Vec::new();
    }
    let without = |from: usize, to: usize| [&lines[..from], &lines[to..]].concat();
    let mut cuts = Vec::new();
    if size > 1 {
        let end = (at + size).min(lines.len());
        if lines[at..end].iter().map(|line| braces(line)).sum::<i32>() == 0 {
            cuts.push(without(at, end));
        }
        return cuts;
    }
    // A function's head is on the line before its brace.
    let opening = if braces(&lines[at]) == 0 { at + 1 } else { at };
    let mut depth = 0;
    for end in opening..lines.len() {
        depth += braces(&lines[end]);
        if depth <= 0 {
            if end > opening {
                cuts.push(without(at, end + 1));
                let inside = &lines[opening + 1..end];
                cuts.push([&lines[..at], inside, &lines[end + 1..]].concat());
            }
            break;
        }
    }
    if braces(&lines[at]) == 0 {
        cuts.push(without(at, at + 1));
    }
    cuts
}

fn braces(line: &str) -> i32 {
    line.chars().map(|c| i32::from(c == '{') - i32::from(c == '}')).sum()
}

/// A launch on random arguments.
fn run(program: &clgen::Program, random: &mut Random) -> Run {
    let (mut args, mut shapes) = (Vec::new(), Vec::new());
    for arg in &program.args {
        let (layout, count) = match arg {
            clgen::Arg::Local(bytes) => {
                args.push(Value::Local(*bytes));
                shapes.push(Shape::list([]));
                continue;
            }
            clgen::Arg::Image { kind, format, scalar, components, size, small } => {
                let shape = Shape::of(of(*scalar), 1);
                let mut bytes = vec![0; size.iter().product::<usize>() * components * scalar.size()];
                if *small {
                    vary_small(&mut bytes, &shape, random);
                } else {
                    vary(&mut bytes, &shape, true, random);
                }
                let size = size.iter().map(|&size| size as u64).collect();
                let (kind, format) = ((*kind).to_owned(), (*format).to_owned());
                args.push(Value::Image(Image { kind, format, size, bytes }));
                shapes.push(shape);
                continue;
            }
            clgen::Arg::Sampler(number) => {
                args.push(Value::Sampler(*number));
                shapes.push(Shape::list([]));
                continue;
            }
            clgen::Arg::Buffer(layout, count) => (layout, *count),
            clgen::Arg::Value(layout) => (layout, 1),
        };
        let shape = Shape::pattern(layout.iter().map(|part| part.map(of)));
        let mut bytes = vec![0; shape.size() * count];
        vary(&mut bytes, &shape, true, random);
        let is_value = matches!(arg, clgen::Arg::Value(_));
        args.push(if is_value { Value::Bytes(bytes) } else { Value::Buffer(bytes) });
        shapes.push(shape);
    }
    let clgen::Program { dimensions, grid, group, .. } = *program;
    Run { launch: Launch { kernel: "k".to_owned(), grid, dimensions, group, args }, shapes }
}

fn of(scalar: clgen::Scalar) -> Scalar {
    match scalar {
        clgen::Scalar::Char => Scalar::I8,
        clgen::Scalar::UChar => Scalar::U8,
        clgen::Scalar::Short => Scalar::I16,
        clgen::Scalar::UShort => Scalar::U16,
        clgen::Scalar::Int => Scalar::I32,
        clgen::Scalar::UInt => Scalar::U32,
        clgen::Scalar::Long => Scalar::I64,
        clgen::Scalar::ULong => Scalar::U64,
        clgen::Scalar::Half => Scalar::F16,
        clgen::Scalar::Float => Scalar::F32,
        clgen::Scalar::Double => Scalar::F64,
    }
}
