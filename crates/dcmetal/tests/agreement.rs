//! What analyses say of kernels against what the kernels do: hostmetal counts their accesses, rounds and operations while they run
//! (`HOSTMETAL_COUNTS`), and each verdict is compared with the counts: of MSL those read off the compiled code, of OpenCL C those of the syntax tree.
//! docs/ANALYSIS.md has the table of agreement; `UPDATE_EXPECT=1` writes it anew.
#![cfg(target_os = "linux")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use common::{Random, gpu};
use dcmetal::clmsl::{AccessPattern, AddressSpace, Counts, KernelAnalysis, Lanes, MemoryAccess, Work};
use dcmetal::{Accelerator, Arg, ArgumentKind, Buffer, Grid, Kernel, Library, Size};
use serde_json::Value;

const SIMDGROUP: u32 = 32;
const LINE: u64 = 128;
const BANKS: u32 = 32;
const BANK: u64 = 4;

/// A kernel, and how it is run.
struct Case {
    file: PathBuf,
    run: String,
}

impl Case {
    fn kernel(&self) -> &str {
        self.run.split(' ').next().expect("a name")
    }

    fn is_opencl(&self) -> bool {
        self.file.extension().is_some_and(|extension| extension == "cl")
    }

    /// With the threadgroup, where that has rows.
    fn name(&self) -> String {
        let (group, language) = (self.word("group"), if self.is_opencl() { "OpenCL C" } else { "MSL" });
        let rows = if group.contains('x') { format!(" {group}") } else { String::new() };
        format!("{} {language}{rows}", self.kernel())
    }

    /// What stands behind `NAME=`.
    fn word(&self, name: &str) -> &str {
        let word = self.run.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        word.unwrap_or_else(|| panic!("{}: no {name}", self.run))
    }

    fn size(&self, name: &str) -> Size {
        let mut numbers = self.word(name).split('x').map(|number| number.parse::<u64>().expect("a number"));
        let mut next = || numbers.next().unwrap_or(1);
        Size::from([next(), next(), next()])
    }
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn cases() -> Vec<Case> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut cases = Vec::new();
    for name in ["patterns.metal", "threadgroup.metal", "loops.metal", "patterns.cl", "local.cl"] {
        let file = tests.join("agreement").join(name);
        let runs = text(&file);
        let runs = runs.lines().filter_map(|line| line.strip_prefix("// run: "));
        cases.extend(runs.map(|run| Case { file: file.clone(), run: run.to_owned() }));
    }
    for run in text(&tests.join("agreement/pairs.run")).lines().filter(|line| !line.starts_with('#')) {
        for extension in ["metal", "cl"] {
            let name = run.split(' ').next().expect("a name");
            let file = tests.join("kernels").join(name).with_extension(extension);
            cases.push(Case { file, run: run.to_owned() });
        }
    }
    cases
}

fn library(gpu: &Accelerator, case: &Case) -> Library {
    let (name, source) = (case.file.file_name().expect("a name").to_string_lossy(), text(&case.file));
    let compiled = match case.is_opencl() {
        true => gpu.compile_opencl_with(&name, &source, &dcmetal::clmsl::Options::default()),
        false => gpu.compile_msl(&source),
    };
    compiled.unwrap_or_else(|error| panic!("{name}: {error}"))
}

enum Passed {
    Buffer(Buffer<u8>),
    Value(Vec<u8>),
    Local(usize),
}

fn pass(gpu: &Accelerator, case: &Case, argument: &dcmetal::Argument, random: &mut Random) -> Passed {
    let word = case.word(&argument.name);
    let number = |word: &str| word.parse::<u64>().unwrap_or_else(|_| panic!("{}: {word}", case.run));
    let bytes = match word.split(':').collect::<Vec<_>>()[..] {
        ["local", bytes] => return Passed::Local(number(bytes) as usize),
        ["f32", count] => {
            let numbers = random.whole_floats(number(count) as usize);
            numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
        }
        ["u32", count] => random.words(number(count) as usize).iter().flat_map(|word| word.to_ne_bytes()).collect(),
        ["index", count, below] => {
            let below = number(below) as i64;
            (0..number(count)).flat_map(|_| (random.range(0, below) as u32).to_ne_bytes()).collect::<Vec<u8>>()
        }
        _ => {
            let is_float = argument.type_name == "float";
            let value = if is_float { (number(word) as f32).to_bits() } else { number(word) as u32 };
            return Passed::Value(value.to_ne_bytes().to_vec());
        }
    };
    let mut buffer = gpu.buffer_zeroed::<u8>(bytes.len()).expect("a buffer");
    buffer.write().expect("nobody uses it").copy_from_slice(&bytes);
    Passed::Buffer(buffer)
}

/// In a process of its own, whose kernels count: runs every case once, in order.
#[test]
fn every_case_runs() {
    if env::var_os("HOSTMETAL_COUNTS").is_none() {
        return;
    }
    let gpu = gpu();
    for case in cases() {
        let kernel = library(&gpu, &case).kernel(case.kernel()).unwrap_or_else(|error| panic!("{}: {error}", case.run));
        let mut random = Random(7);
        let mut passed: Vec<Passed> =
            kernel.arguments().iter().map(|argument| pass(&gpu, &case, argument, &mut random)).collect();
        let args: Vec<Arg<'_>> = passed
            .iter_mut()
            .zip(kernel.arguments())
            .map(|(passed, argument)| match passed {
                Passed::Buffer(buffer) if argument.kind == ArgumentKind::Buffer => Arg::from(buffer),
                Passed::Value(bytes) => Arg::bytes(bytes),
                Passed::Local(bytes) => Arg::threadgroup_bytes(*bytes),
                Passed::Buffer(_) => panic!("{}: {} is no buffer", case.run, argument.name),
            })
            .collect();
        let grid = Grid::threads(case.size("grid")).threadgroup(case.size("group"));
        let done = kernel.launch(grid, args).and_then(|submission| submission.wait());
        done.unwrap_or_else(|error| panic!("{}: {error}", case.run));
    }
}

/// How many verdicts there are of a kind, and how many of them the counts bear out.
#[derive(Clone, Copy, Default)]
struct Tally {
    told: u32,
    right: u32,
}

impl Tally {
    fn add(&mut self, right: bool) {
        self.told += 1;
        self.right += u32::from(right);
    }

    fn sum(self, other: Tally) -> Tally {
        Tally { told: self.told + other.told, right: self.right + other.right }
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.told {
            0 => f.write_str("-"),
            told => write!(f, "{} of {told}", self.right),
        }
    }
}

/// What became of a case.
#[derive(Default)]
struct Row {
    pattern: Tally,
    /// Patterns in y and z.
    other: Tally,
    /// Accesses of which the analysis says that it does not know.
    not_told: u32,
    lines: Tally,
    banks: Tally,
    work: Tally,
    /// Of those in `work` that are told exactly, not as the most there can be.
    exact: u32,
    /// What is wrong, in words.
    wrong: Vec<String>,
}

/// By the line of the translation, the line of the source that it stands for.
fn origins(msl: &str, file: &str) -> Vec<u64> {
    let mut line = None;
    let mut out = vec![0];
    for text in msl.lines() {
        match text.strip_prefix("#line ").and_then(|rest| rest.split_once(' ')) {
            Some((number, name)) => {
                line = (name.trim_matches('"') == file).then(|| number.parse::<u64>().expect("a number"));
                out.push(0);
            }
            None => {
                out.push(line.unwrap_or(0));
                line = line.map(|line| line + 1);
            }
        }
    }
    out
}

/// The counts of a case, and where in the source their places are.
struct Counted<'c> {
    case: &'c Case,
    counts: Value,
    /// Of a translation.
    origins: Option<Vec<u64>>,
}

impl Counted<'_> {
    /// Line and column; of OpenCL C the line alone.
    fn place(&self, at: &Value) -> (u64, u64) {
        let (line, column) = (number(&at["line"]), number(&at["column"]));
        self.origins.as_ref().map_or((line, column), |lines| (lines[line as usize], 0))
    }

    fn list(&self, name: &str) -> impl Iterator<Item = &Value> {
        self.counts[name].as_array().unwrap_or_else(|| panic!("{}: no {name}: {}", self.case.run, self.counts)).iter()
    }

    fn threads(&self) -> u64 {
        number(&self.counts["ran"])
    }

    fn lanes(&self) -> Lanes {
        Lanes::of(SIMDGROUP, [0, 1, 2].map(|dimension: usize| number(&self.counts["threadgroup"][dimension])))
    }
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no number: {value}"))
}

fn range(value: &Value) -> Option<(i64, i64)> {
    Some((value.get(0)?.as_i64()?, value.get(1)?.as_i64()?))
}

fn compare(case: &Case, kernel: &Kernel, counted: &Counted) -> Row {
    let analysis = kernel.analysis().unwrap_or_else(|error| panic!("{}: {error}", case.run));
    let mut row = Row::default();
    let place = |span| {
        let at = kernel.location(span).expect("it has places");
        (u64::from(at.line), if case.is_opencl() { 0 } else { u64::from(at.column) })
    };
    let mut met = vec![false; counted.list("accesses").count()];
    for access in &analysis.accesses {
        let name = access.argument.map(|at| kernel.arguments()[at as usize].name.as_str());
        let space = match access.address_space {
            AddressSpace::Global => "device",
            AddressSpace::Local => "threadgroup",
            _ => "constant",
        };
        let is_it = |site: &Value| {
            let is_named = match name {
                Some(name) => site["argument"] == name,
                // Who knows no argument says nothing of it.
                None => site["argument"] == "-" || case.is_opencl(),
            };
            let uses = site["use"].as_str().expect("a use");
            let is_used = (access.reads && uses != "write") || (access.writes && uses != "read");
            is_named && is_used && site["space"] == space && counted.place(site) == place(access.span)
        };
        // Of one place of the text there may be several accesses of the same argument, which differ in how they lie.
        let alike = |other: &&MemoryAccess| {
            place(other.span) == place(access.span)
                && other.argument == access.argument
                && other.address_space == access.address_space
        };
        let others: Vec<&MemoryAccess> = analysis.accesses.iter().filter(alike).collect();
        let mut sites = 0;
        for (met, site) in met.iter_mut().zip(counted.list("accesses")).filter(|(_, site)| is_it(site)) {
            let fits = |access: &MemoryAccess| agreement(access, site).into_iter().flatten().all(|right| right);
            if number(&site["bytes"]) != access.bytes || (!fits(access) && others.iter().any(|other| fits(other))) {
                continue;
            }
            *met = true;
            sites += 1;
            judge(&mut row, access, site, counted);
        }
        if sites == 0 {
            row.pattern.add(false);
            row.wrong.push(format!("{:?} {access:?}: nothing is counted there", place(access.span)));
        }
    }
    for (_, site) in met.iter().zip(counted.list("accesses")).filter(|(met, _)| !**met) {
        // A value of OpenCL C is in constant memory of Metal's.
        if !(case.is_opencl() && site["space"] == "constant") {
            row.pattern.add(false);
            row.wrong.push(format!("counted and not told: {site}"));
        }
    }
    work(&mut row, case, analysis, counted, &place);
    row
}

/// Whether what an analysis says of neighbours' addresses is so, in x, y and z; `None` where it says nothing, or nothing was counted.
fn agreement(access: &MemoryAccess, site: &Value) -> [Option<bool>; 3] {
    let others = [access.pattern_y, access.pattern_z].map(|other| other.unwrap_or(AccessPattern::Uniform));
    let told = [("distance", access.pattern), ("distance_y", others[0]), ("distance_z", others[1])];
    told.map(|(name, pattern)| {
        let (least, most) = range(&site[name])?;
        let is = |by: i64| Some((least, most) == (by, by));
        match pattern {
            AccessPattern::Uniform => is(0),
            AccessPattern::Contiguous => is(access.bytes as i64),
            AccessPattern::Strided(by) => is(by),
            AccessPattern::Even => Some(least == most),
            _ => None,
        }
    })
}

fn judge(row: &mut Row, access: &MemoryAccess, site: &Value, counted: &Counted) {
    let mut tell = |tally: &mut Tally, right: bool, what: &str| {
        tally.add(right);
        if !right {
            row.wrong.push(format!("{what}: {access:?}: {site}"));
        }
    };
    let [x, y, z] = agreement(access, site);
    for (right, what) in [(y, "pattern in y"), (z, "pattern in z")] {
        right.into_iter().for_each(|right| tell(&mut row.other, right, what));
    }
    x.into_iter().for_each(|right| tell(&mut row.pattern, right, "pattern"));
    let lanes = counted.lanes();
    let within = |(least, most): (u64, u64), found: (i64, i64)| least as i64 <= found.0 && found.1 <= most as i64;
    if let (Some(told), Some(found)) = (access.segments(lanes, LINE), range(&site["full_lines"])) {
        tell(&mut row.lines, within(told, found), "lines");
    }
    if let (Some(told), Some(found)) = (access.bank_words(lanes, BANKS, BANK), range(&site["full_words"])) {
        tell(&mut row.banks, within(told, found), "banks");
    }
    row.not_told += u32::from(matches!(access.pattern, AccessPattern::Gather | AccessPattern::Unknown));
}

/// One number of several.
type Class = fn(&Counts) -> u64;

/// The work of loops by their place.
fn nodes(work: &Work, place: &dyn Fn(dcmetal::clmsl::Span) -> (u64, u64), out: &mut BTreeMap<(u64, u64), Vec<Counts>>) {
    for inner in &work.loops {
        out.entry(place(inner.span)).or_default().push(inner.round.counts);
        nodes(&inner.round, place, out);
    }
}

fn work(
    row: &mut Row,
    case: &Case,
    analysis: &KernelAnalysis,
    counted: &Counted,
    place: &dyn Fn(dcmetal::clmsl::Span) -> (u64, u64),
) {
    let mut rounds: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for one in counted.list("loops") {
        *rounds.entry(counted.place(one)).or_default() += number(&one["rounds"]);
    }
    let mut loops = BTreeMap::new();
    nodes(&analysis.work, place, &mut loops);
    let mut parts = vec![(counted.threads(), analysis.work.counts)];
    for (at, counts) in loops {
        let Some(rounds) = rounds.get(&at) else {
            row.work.add(false);
            row.wrong.push(format!("the rounds of the loop in {at:?} are not counted: {rounds:?}"));
            return;
        };
        if counts.iter().any(|other| *other != counts[0]) {
            // Of which of them the rounds are nobody knows.
            return;
        }
        parts.push((*rounds, counts[0]));
    }
    let classes: [(&str, Class); 5] = [
        ("flops", |counts| counts.flops),
        ("special", |counts| counts.special),
        ("integer", |counts| counts.integer),
        ("bytes_read", |counts| counts.bytes_read),
        ("bytes_written", |counts| counts.bytes_written),
    ];
    let is_exact = !analysis.work.is_conditional();
    for (name, of) in classes {
        // The operations on integers of a translation are not those of its source.
        if case.is_opencl() && name == "integer" {
            continue;
        }
        let told: u64 = parts.iter().map(|(times, counts)| times * of(counts)).sum();
        let found = number(&counted.counts["work"][name]);
        if told == 0 && found == 0 {
            continue;
        }
        let right = if is_exact { told == found } else { told >= found };
        row.work.add(right);
        row.exact += u32::from(is_exact);
        if !right {
            let how = if is_exact { "exactly" } else { "at most" };
            row.wrong.push(format!("{name}: {how} {told}, counted {found}"));
        }
    }
}

const FIRST: &str = "<!-- the table of agreement: crates/dcmetal/tests/agreement.rs -->\n";
const LAST: &str = "<!-- its end -->\n";

#[test]
fn analyses_say_what_kernels_do() {
    if env::var_os("HOSTMETAL_COUNTS").is_some() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("counts.json");
    let mut child = Command::new(env::current_exe().expect("this test"));
    child.args(["--exact", "every_case_runs"]).env("HOSTMETAL_COUNTS", &file);
    let output = child.output().expect("a process");
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    let lines: Vec<Value> = text(&file)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect();
    let (gpu, cases) = (gpu(), cases());
    assert_eq!(lines.len(), cases.len(), "one line for each dispatch");
    let mut wrong = Vec::new();
    let mut table = String::from(
        "| kernel | patterns | in y and z | not told | lines | banks | work | of it exact |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    let mut whole = Row::default();
    for (case, counts) in cases.iter().zip(lines) {
        let library = library(&gpu, case);
        let kernel = library.kernel(case.kernel()).unwrap_or_else(|error| panic!("{}: {error}", case.run));
        let file = case.file.file_name().expect("a name").to_string_lossy();
        let origins = case.is_opencl().then(|| origins(library.msl(), &file));
        let counted = Counted { case, counts, origins };
        let row = compare(case, &kernel, &counted);
        wrong.extend(row.wrong.iter().map(|text| format!("{}: {text}", case.name())));
        let Row { pattern, other, not_told, lines, banks, work, exact, .. } = row;
        let _ = writeln!(
            table,
            "| {} | {pattern} | {other} | {not_told} | {lines} | {banks} | {work} | {exact} |",
            case.name()
        );
        whole = Row {
            pattern: whole.pattern.sum(pattern),
            other: whole.other.sum(other),
            not_told: whole.not_told + not_told,
            lines: whole.lines.sum(lines),
            banks: whole.banks.sum(banks),
            work: whole.work.sum(work),
            exact: whole.exact + exact,
            wrong: Vec::new(),
        };
    }
    let Row { pattern, other, not_told, lines, banks, work, exact, .. } = whole;
    let _ = writeln!(
        table,
        "| **all {} runs** | {pattern} | {other} | {not_told} | {lines} | {banks} | {work} | {exact} |",
        cases.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let kernels: BTreeSet<_> = cases.iter().map(|case| (&case.file, case.kernel())).collect();
    assert!(kernels.len() >= 30, "{} kernels", kernels.len());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ANALYSIS.md");
    let document = text(&path);
    let start = document.find(FIRST).expect("the table's place") + FIRST.len();
    let end = document.find(LAST).expect("the table's end");
    if env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, format!("{}{table}{}", &document[..start], &document[end..])).expect("the document");
    } else {
        assert_eq!(document[start..end], table, "UPDATE_EXPECT=1 writes the table anew");
    }
}
