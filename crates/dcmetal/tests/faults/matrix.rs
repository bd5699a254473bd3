//! One fault at every call of every workload, and two at once by chance. Each run ends in right data or in an error of the fault's kind, and leaves nothing
//! behind: no bytes of a device, nothing lent of a pool, no place for a batch, no object. What ran on serves again.
//!
//! The tables and counts are those of docs/RECOVERY.md; `UPDATE_EXPECT=1` writes them anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::Range;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dcmetal::ErrorKind::{Device, DeviceLost, Resource, Transient, Unsupported, User};
use dcmetal::{Accelerator, Error, ErrorKind};
use hostmetal::{faults, ffi};

use crate::common::{Random, limits};
use crate::live::allocations;
use crate::works::{KEPT, Progress, SITES, Stage, WORKS, Work, is_there};
use crate::{all_is_given_back, injected, input, is_sanitized, nothing_is_lent, set};

// ---------------------------------------------------------------- the faults

/// A fault, and what its error is to be; `None` for one that only takes time.
pub(crate) struct Fault {
    pub(crate) site: &'static str,
    keys: &'static str,
    pub(crate) kind: Option<ErrorKind>,
}

const fn fault(site: &'static str, keys: &'static str, kind: ErrorKind) -> Fault {
    Fault { site, keys, kind: Some(kind) }
}

const fn slow(site: &'static str) -> Fault {
    Fault { site, keys: "slow=1ms", kind: None }
}

pub(crate) const FAULTS: &[Fault] = &[
    fault("buffer", "", Resource),
    fault("texture", "", Resource),
    fault("heap", "", Resource),
    fault("queue", "", Resource),
    fault("command_buffer", "", Resource),
    fault("encoder", "", Resource),
    fault("event", "", Resource),
    fault("fence", "", Resource),
    fault("sampler", "", Resource),
    fault("compile", "error=internal", Transient),
    fault("compile", "error=compile_failure", User),
    fault("compile", "error=unsupported", Unsupported),
    slow("compile"),
    fault("pipeline", "error=internal", Transient),
    fault("pipeline", "error=compile_failure", Device),
    fault("pipeline", "error=unsupported", Unsupported),
    slow("pipeline"),
    fault("commit", "refuse", Device),
    fault("commit", "remove", DeviceLost),
    fault("commit", "slow=1ms:remove", DeviceLost),
    fault("commit", "error=internal", Transient),
    fault("commit", "error=timeout", Device),
    fault("commit", "error=page_fault", Device),
    fault("commit", "error=access_revoked", DeviceLost),
    fault("commit", "error=not_permitted", Transient),
    fault("commit", "error=out_of_memory", Resource),
    fault("commit", "error=invalid_resource", Device),
    fault("commit", "error=memoryless", Resource),
    fault("commit", "error=device_removed", DeviceLost),
    fault("commit", "error=stack_overflow", Device),
    slow("commit"),
    slow("complete"),
];

/// Nobody is told: the kernel is compiled.
const ARCHIVES: &[Fault] = &[
    fault("archive", "error=internal_error", Transient),
    fault("archive", "error=invalid_file", User),
    fault("archive", "error=compilation_failure", User),
];

/// What takes for ever is ended by a limit of hostmetal's, with its error. In processes of their own, whose limits are short.
const ENDLESS: &[Fault] = &[
    fault("compile", "slow=forever", Transient),
    fault("pipeline", "slow=forever", Transient),
    fault("commit", "slow=forever", Device),
];

/// Where a fault strikes: a call of the host's, by the workload's stage, or a command buffer that was committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Struck {
    Call(Stage),
    Before,
    Midway,
    After,
    Told,
}

const COLUMNS: [(&str, &[Struck]); 11] = [
    ("open", &[Struck::Call(Stage::Open)]),
    ("allocate", &[Struck::Call(Stage::Allocate)]),
    ("write", &[Struck::Call(Stage::Write)]),
    ("compile", &[Struck::Call(Stage::Compile)]),
    ("pipelines", &[Struck::Call(Stage::Pipelines)]),
    ("encode", &[Struck::Call(Stage::Encode)]),
    // Who waits for a stream hands over what it has.
    ("submit", &[Struck::Call(Stage::Submit), Struck::Call(Stage::Wait)]),
    ("read back", &[Struck::Call(Stage::ReadBack)]),
    ("before its commands", &[Struck::Before]),
    ("between them", &[Struck::Midway]),
    ("after them", &[Struck::After, Struck::Told]),
];

/// When a command buffer fails.
const MOMENTS: [(Struck, &str); 3] =
    [(Struck::Before, ""), (Struck::Midway, ":after=1"), (Struck::After, ":after=end")];

impl Fault {
    fn name(&self) -> String {
        let Fault { site, keys, .. } = self;
        if keys.is_empty() { format!("{site}: nil") } else { format!("{site}: {}", keys.replacen("error=", "", 1)) }
    }

    /// Its rules, and where each strikes: `None` where the call is.
    pub(crate) fn rules(&self) -> Vec<(Option<Struck>, String)> {
        let Fault { site, keys, .. } = self;
        let rule = if keys.is_empty() { (*site).to_owned() } else { format!("{site}:{keys}") };
        match *site {
            "commit" if keys.starts_with("error") => {
                MOMENTS.iter().map(|(struck, key)| (Some(*struck), format!("{rule}{key}"))).collect()
            }
            "commit" if *keys != "refuse" => vec![(Some(Struck::Before), rule)],
            "complete" => vec![(Some(Struck::Told), rule)],
            _ => vec![(None, rule)],
        }
    }

    /// What its error is in a workload.
    fn kind_in(&self, work: &Work) -> Option<ErrorKind> {
        // The translator's text, and so nobody's mistake.
        let translations = work.translated && (self.site, self.keys) == ("compile", "error=compile_failure");
        if translations { Some(Device) } else { self.kind }
    }
}

/// Whether a program may go on after that error, having done it again.
pub(crate) fn may_pass(kind: ErrorKind) -> bool {
    matches!(kind, Transient | Resource)
}

// ---------------------------------------------------------------- one run

/// How a run ended: right data, or the error's kind.
type End = Option<ErrorKind>;

/// What a run was.
struct Ran {
    end: End,
    /// Where it was when it ended.
    stage: Stage,
    /// How often a rule struck, by site.
    struck: [u64; SITES.len()],
    /// Devices that went, and came back.
    removed: i64,
}

/// How long to wait for what may be given back late, and how often a run is repeated that seems to have left something: a leak is left every time, a
/// table that grew is not.
const LATE: [Duration; 4] =
    [Duration::from_millis(100), Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(20)];

/// A run from nothing to nothing under rules. `words`: its error.
fn run((work, device): (&Work, usize), rules: &str, seed: u64, words: &mut String) -> Ran {
    let mut left = Vec::new();
    for late in LATE {
        faults::set("").expect("no rules are right");
        words.clear();
        words.reserve(1 << 12);
        let all = Accelerator::all().expect("devices");
        let bytes: u64 = all.iter().map(Accelerator::allocated_bytes).sum();
        let progress = Progress::new();
        let before = allocations();
        set(rules);
        let ran = once((work, device), seed, &progress, words);
        all_is_given_back(&all, bytes);
        // Devices that were removed stay, and others came in their places.
        let before = before + ran.removed * REMOVAL.get().expect("it was measured");
        let start = Instant::now();
        while allocations() > before && start.elapsed() < late {
            std::thread::yield_now();
        }
        let more = allocations() - before;
        if more <= 0 {
            return ran;
        }
        left.push(more);
    }
    panic!("{}, {rules}: every run leaves objects: {left:?}", work.name);
}

/// What hostmetal keeps for good of a device that was removed and came back.
static REMOVAL: OnceLock<i64> = OnceLock::new();

fn measure_removals() {
    let cost = || {
        let before = allocations();
        assert!(ffi::hm_device_remove(0) && ffi::hm_device_add(0));
        drop(Accelerator::all().expect("devices"));
        allocations() - before
    };
    // Some have a table that grew, or what a thread of Metal's gave back late.
    let mut costs = [(); 9].map(|()| cost());
    costs.sort_unstable();
    assert!(REMOVAL.set(costs[4]).is_ok(), "it is measured once");
}

/// The work, and then again by what is there, without faults. Nothing is kept of either.
fn once((work, device): (&Work, usize), seed: u64, progress: &Progress, words: &mut String) -> Ran {
    let (input, expected) = (input(seed), (work.expected)(&input(seed)));
    let all = Accelerator::all();
    let work_on = |gpu: &Accelerator, progress: &Progress| {
        let pool = gpu.pool(limits());
        let ended = (work.run)(gpu, &pool, &input, progress);
        if let Ok(data) = &ended {
            assert!(*data == expected, "{}: wrong data without an error", work.name);
        }
        nothing_is_lent(&pool);
        ended.map(drop)
    };
    let ended = all.as_ref().map_err(Error::clone).and_then(|all| work_on(&all[device], progress));
    let struck = SITES.map(injected);
    faults::set("").expect("no rules are right");
    let end = ended.err().map(|error| {
        write!(words, "{error}").expect("a String grows");
        error.kind()
    });
    let removed = [0, 1].map(|number| ffi::hm_device_add(number)).into_iter().filter(|added| *added).count() as i64;
    let there = all.ok().map(|mut all| all.swap_remove(device)).filter(is_there);
    let gpu = there.unwrap_or_else(|| Accelerator::all().expect("devices").swap_remove(device));
    work_on(&gpu, &Progress::new()).unwrap_or_else(|error| panic!("{}, again: {error}", work.name));
    every_place_is_free(&gpu);
    Ran { end, stage: progress.stage(), struck, removed }
}

/// As many batches can be open as ever.
pub(crate) fn every_place_is_free(gpu: &Accelerator) {
    let mut open = Vec::new();
    let limit = loop {
        match gpu.batch() {
            Ok(batch) => open.push(batch),
            Err(Error::TooManyBatches { limit }) => break limit,
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(open.len(), limit, "a batch's place is taken");
}

/// Where each call is in a run without faults, by site.
type Calls = [Vec<Stage>; SITES.len()];

fn calls((work, device): (&Work, usize)) -> Calls {
    set("seed=1");
    let (progress, gpu) = (Progress::new(), Accelerator::all().expect("devices").swap_remove(device));
    let data = (work.run)(&gpu, &gpu.pool(limits()), &input(0), &progress);
    assert!(
        data.unwrap_or_else(|error| panic!("{}: {error}", work.name)) == (work.expected)(&input(0)),
        "{}",
        work.name
    );
    let mut site = 0..;
    [(); SITES.len()].map(|()| progress.stages_of_calls(site.next().expect("it goes on")))
}

/// As `calls`, when a run before has filled what is kept for good.
fn warm_calls(work: (&Work, usize)) -> Calls {
    calls(work);
    calls(work)
}

pub(crate) fn commits_of_batches() -> u64 {
    let commit = SITES.iter().position(|site| *site == "commit").expect("a site");
    calls((&WORKS[0], 0))[commit].len() as u64
}

// ---------------------------------------------------------------- the tables

/// How often what came of it.
type Ends = BTreeMap<String, u64>;

#[derive(Default)]
struct Tables {
    /// By fault and column.
    by_stage: BTreeMap<(usize, usize), Ends>,
    /// By workload.
    by_work: BTreeMap<usize, Ends>,
}

/// All faults, in the table's order.
fn all_faults() -> impl Iterator<Item = &'static Fault> {
    FAULTS.iter().chain(ENDLESS)
}

impl Tables {
    fn add(&mut self, fault: usize, column: usize, work: usize, end: &str) {
        for ends in [self.by_stage.entry((fault, column)).or_default(), self.by_work.entry(work).or_default()] {
            *ends.entry(end.to_owned()).or_default() += 1;
        }
    }

    fn text(&self) -> [String; 2] {
        let names: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
        let mut by_stage =
            format!("| fault | {} | all |\n|{}\n", names.join(" | "), " --- |".repeat(COLUMNS.len() + 2));
        let mut all = Ends::new();
        for (row, fault) in all_faults().enumerate() {
            let mut sum = Ends::new();
            let cells: Vec<String> = (0..COLUMNS.len())
                .map(|column| {
                    let ends = self.by_stage.get(&(row, column));
                    ends.into_iter().flatten().for_each(|(end, count)| *sum.entry(end.clone()).or_default() += count);
                    ends.map_or(String::new(), cell)
                })
                .collect();
            sum.iter().for_each(|(end, count)| *all.entry(end.clone()).or_default() += count);
            writeln!(by_stage, "| {} | {} | {} |", fault.name(), cells.join(" | "), cell(&sum))
                .expect("a String grows");
        }
        let mut by_work = "| workload | runs | right data | right error |\n| --- | --- | --- | --- |\n".to_owned();
        let rows = self.by_work.iter().map(|(work, ends)| (WORKS[*work].name, ends)).chain([("all", &all)]);
        for (name, ends) in rows {
            let (runs, data) = (ends.values().sum::<u64>(), ends.get(DATA).copied().unwrap_or(0));
            let errors: Ends = ends.clone().into_iter().filter(|(end, _)| end != DATA).collect();
            writeln!(by_work, "| {name} | {runs} | {data} | {} |", cell(&errors)).expect("a String grows");
        }
        [by_stage, by_work]
    }
}

const DATA: &str = "right";

fn name_of(end: End) -> String {
    end.map_or_else(|| DATA.to_owned(), |kind| format!("{kind:?}"))
}

fn cell(ends: &Ends) -> String {
    let ends: Vec<String> = ends.iter().map(|(end, count)| format!("{count} {end}")).collect();
    ends.join(", ")
}

/// The document's table with the same head is this one; with `UPDATE_EXPECT` it becomes it.
pub(crate) fn in_document(table: &str) {
    let document = document();
    let head = table.lines().next().expect("a head");
    let start = document.find(head).unwrap_or_else(|| panic!("docs/RECOVERY.md has no table `{head}`"));
    let lines = document[start..].split_inclusive('\n').take_while(|line| line.starts_with('|'));
    let end = start + lines.map(str::len).sum::<usize>();
    document_says(&document, start..end, table);
}

/// In the place of `#` the document has this count; with `UPDATE_EXPECT` it gets it.
pub(crate) fn count_in_document(words: &str, count: u64) {
    let document = document();
    let (before, after) = words.split_once('#').expect("a place for the count");
    let place = |(at, _): (usize, &str)| {
        let start = at + before.len();
        let digits = document[start..].find(|c: char| !c.is_ascii_digit())?;
        document[start + digits..].starts_with(after).then_some(start..start + digits)
    };
    let place = document.match_indices(before).find_map(place);
    let place = place.unwrap_or_else(|| panic!("docs/RECOVERY.md has no `{words}`"));
    document_says(&document, place, &count.to_string());
}

fn document() -> String {
    std::fs::read_to_string(DOCUMENT).expect("the document")
}

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/RECOVERY.md");

/// The document has this text at this place.
fn document_says(document: &str, place: Range<usize>, text: &str) {
    let is = &document[place.clone()];
    if is == text {
        return;
    }
    assert!(
        std::env::var_os("UPDATE_EXPECT").is_some(),
        "docs/RECOVERY.md says otherwise; UPDATE_EXPECT=1 writes it anew:\n{is}\n{text}"
    );
    let written = [&document[..place.start], text, &document[place.end..]].concat();
    std::fs::write(DOCUMENT, written).expect("the document is written");
}

// ---------------------------------------------------------------- one fault at every place

/// Injects a fault at every call of its site, and tells of each run: where the fault struck, and what came of it.
fn inject(fault: &Fault, (work, device): (&Work, usize), calls: &Calls, mut tell: impl FnMut(usize, &Ran)) {
    let site = SITES.iter().position(|site| *site == fault.site).expect("a site");
    let mut words = String::new();
    ALONE.store(true, Ordering::SeqCst);
    for (moment, rule) in fault.rules() {
        for (place, stage) in (1..).zip(&calls[site]) {
            let rules = format!("{rule}:at={place}");
            let ran = run((work, device), &rules, place, &mut words);
            let Ran { end, stage: at, struck, .. } = &ran;
            let run = || format!("{}, device {device}, {rules}, {at:?}: {words}", work.name);
            assert_eq!((struck[site], struck.iter().sum()), (1, 1), "{}: it was there", run());
            let kind = fault.kind_in(work);
            match end {
                None => {
                    assert!(kind.is_none() || work.survives.contains(&fault.site), "{}: a fault was not told", run())
                }
                Some(_) => assert_eq!(*end, kind, "{}", run()),
            }
            let struck = moment.unwrap_or(Struck::Call(*stage));
            let column = COLUMNS.iter().position(|(_, places)| places.contains(&struck));
            tell(column.unwrap_or_else(|| panic!("no column is for {struck:?}")), &ran);
        }
    }
    ALONE.store(false, Ordering::SeqCst);
}

/// One fault at a time at every call of the site beside a kernel that is tuned and kept, whose calls are not always as many.
pub(crate) fn kept_kernels() {
    let (mut ends, mut words) = (Ends::default(), String::new());
    for (number, fault) in FAULTS.iter().chain(ARCHIVES).enumerate() {
        for device in 0..2 {
            if is_sanitized() && !(number + 4 * device).is_multiple_of(16) {
                continue;
            }
            for (_, rule) in fault.rules() {
                for place in 1.. {
                    let rules = format!("{rule}:at={place}");
                    let Ran { end, stage, struck, .. } = run((&KEPT, device), &rules, place, &mut words);
                    let run = || format!("{}, device {device}, {rules}, {stage:?}: {words}", KEPT.name);
                    if struck.iter().sum::<u64>() == 0 {
                        assert_eq!(end, None, "{}", run());
                        let unused = ["texture", "heap", "event", "fence", "sampler"];
                        assert!(place > 1 || unused.contains(&fault.site), "{}", run());
                        break;
                    }
                    let right = fault.kind.is_none() || KEPT.survives.contains(&fault.site);
                    assert!(end.is_none() && right || end.is_some() && end == fault.kind, "{}: {end:?}", run());
                    *ends.entry(name_of(end)).or_default() += 1;
                }
            }
        }
    }
    println!("{}, {} runs: {}\n", KEPT.name, ends.values().sum::<u64>(), cell(&ends));
}

pub(crate) fn matrix() {
    let calls = WORKS.each_ref().map(|work| [0, 1].map(|device| warm_calls((work, device))));
    measure_removals();
    let endless: Vec<(usize, Child)> = (0..WORKS.len()).map(|work| (work, start_endless(work))).collect();
    let (mut tables, mut told_by) = (Tables::default(), BTreeMap::<Stage, u64>::new());
    for (number, fault) in FAULTS.iter().enumerate() {
        for (at, work) in WORKS.iter().enumerate() {
            for (device, calls) in calls[at].iter().enumerate() {
                if is_sanitized() && !(number + at + 4 * device).is_multiple_of(16) {
                    continue;
                }
                inject(fault, (work, device), calls, |column, ran| {
                    tables.add(number, column, at, &name_of(ran.end));
                    if ran.end.is_some() {
                        *told_by.entry(ran.stage).or_default() += 1;
                    }
                });
            }
        }
    }
    pairs(&calls);
    for (work, child) in endless {
        let output = child.wait_with_output().expect("the child ends");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{}: {text}", WORKS[work].name);
        for line in text.lines().filter_map(|line| line.strip_prefix(ENDED)) {
            let mut parts = line.split_whitespace();
            let mut number = || parts.next().and_then(|part| part.parse::<usize>().ok()).expect("a number");
            let (fault, column) = (number(), number());
            tables.add(FAULTS.len() + fault, column, work, parts.next().expect("an end"));
        }
    }
    let text = tables.text();
    println!("{}", text.join("\n"));
    println!("Stages that told of a fault, as time had it: {told_by:?}.\n");
    if !is_sanitized() {
        let told: BTreeSet<Stage> = told_by.keys().copied().collect();
        for stage in [
            Stage::Open,
            Stage::Allocate,
            Stage::Write,
            Stage::Compile,
            Stage::Pipelines,
            Stage::Encode,
            Stage::Wait,
            Stage::ReadBack,
        ] {
            assert!(told.contains(&stage), "no fault was told by {stage:?}");
        }
        text.iter().for_each(|table| in_document(table));
    }
}

// ---------------------------------------------------------------- what takes for ever

/// Has the work's number, in a process for endless faults.
pub(crate) const CHILD: &str = "DCMETAL_FAULTS_ENDLESS";
/// Begins a line of the child's about a run.
const ENDED: &str = "ended: ";

fn start_endless(work: usize) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("the test's own executable"));
    command.args(["--nocapture"]).env(CHILD, work.to_string());
    // Kernels are compiled already, so that nothing else takes so long.
    command.env("HOSTMETAL_WATCHDOG", "3").env("HOSTMETAL_COMPILE_TIMEOUT", "3");
    command.stdout(Stdio::piped()).spawn().expect("the test starts itself")
}

/// In the child.
pub(crate) fn endless() {
    let work = std::env::var(CHILD).expect("the parent says so");
    let work = &WORKS[work.parse::<usize>().expect("a number")];
    let calls = warm_calls((work, 0));
    measure_removals();
    for (number, fault) in ENDLESS.iter().enumerate() {
        inject(fault, (work, 0), &calls, |column, ran| println!("\n{ENDED}{number} {column} {}", name_of(ran.end)));
    }
}

// ---------------------------------------------------------------- two at once

/// Whether no other fault strikes behind the first.
pub(crate) static ALONE: AtomicBool = AtomicBool::new(false);

/// Two faults of any kinds at any places, by chance.
fn pairs(calls: &[[Calls; 2]; WORKS.len()]) {
    let runs: u64 = if is_sanitized() { 100 } else { 600 };
    let of_commits = FAULTS.iter().position(|fault| fault.site == "commit").expect("they come last");
    let (mut words, mut ends, mut both) = (String::new(), Ends::new(), 0);
    for seed in 0..runs {
        let mut random = Random(seed);
        let mut below = |count: usize| random.range(0, count as i64) as usize;
        let (at, device) = (below(WORKS.len()), below(2));
        let (work, calls) = (&WORKS[at], &calls[at][device]);
        // In every other run both are of what is in flight at once.
        let first = if seed % 2 == 0 { 0 } else { of_commits };
        let faults = [(); 2].map(|()| &FAULTS[first + below(FAULTS.len() - first)]);
        let rules = faults.map(|fault| {
            let rules = fault.rules();
            let site = SITES.iter().position(|site| *site == fault.site).expect("a site");
            format!("{}:at={}", rules[below(rules.len())].1, 1 + below(calls[site].len() + 1))
        });
        let ran = run((work, device), &rules.join("; "), seed, &mut words);
        let run = || format!("seed {seed}: {}, {}, {:?}: {words}", work.name, rules.join("; "), ran.stage);
        let kinds = faults.map(|fault| fault.kind_in(work));
        let struck: u64 = ran.struck.iter().sum();
        both += u64::from(struck == 2);
        match ran.end {
            Some(_) => assert!(kinds.contains(&ran.end) && struck > 0, "{}", run()),
            // Of two at one site the other may have struck.
            None if faults[0].site == faults[1].site => {}
            None => {
                for fault in faults.iter().filter(|fault| fault.kind.is_some() && !work.survives.contains(&fault.site))
                {
                    let site = SITES.iter().position(|site| *site == fault.site).expect("a site");
                    assert_eq!(ran.struck[site], 0, "{}: a fault was not told", run());
                }
            }
        }
        *ends.entry(name_of(ran.end)).or_default() += 1;
    }
    set("");
    println!("Two at once: {runs} runs, in {both} of which both struck: {}.\n", cell(&ends));
    if !is_sanitized() {
        count_in_document("Two faults at once by chance, # runs", runs);
    }
    assert!(both > runs / 30);
}
