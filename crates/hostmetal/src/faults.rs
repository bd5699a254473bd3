//! Faults on purpose, so that programs can be tried against them: what shall fail, where, and which time.
//!
//! ```text
//! HOSTMETAL_FAULTS="seed=7; allocation:p=0.01; commit:error=page_fault:after=2:at=3; compile:slow=200ms:times=1"
//!
//! rules = [rule {";" rule}]
//! rule  = "seed=" number | site {":" key ["=" value]}
//! ```
//!
//! A site is a call of Metal's that can fail, an event one such call. Each rule counts the events of its site by itself and draws from a
//! generator of its own, whose number for an event depends on the seed, the rule's place among those of its site, and the event's number
//! alone. So what becomes of the k-th event of a site is the same whatever other sites and threads do.
//! The rules are the environment's or the program's (native/hostmetal/include/hostmetal.h). Without rules a site costs one load.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::command::ErrorCode;
use crate::device::{self, Device};
use crate::encode::Misuse;
use crate::ffi::archive::{COMPILATION_FAILURE, INTERNAL_ERROR, INVALID_FILE};
use crate::library::{COMPILE_FAILURE, INTERNAL, LibraryError, UNSUPPORTED};
use crate::msl::Toolchain;

/// What can fail or be slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Site {
    Buffer,
    Texture,
    Heap,
    Queue,
    CommandBuffer,
    Encoder,
    Compile,
    Pipeline,
    Archive,
    Commit,
    Complete,
    Event,
    Fence,
    Sampler,
}

const SITES: usize = 14;

/// The names that rules and counts use, with the sites that they mean. A rule's generator depends on its place here, so what is new comes last.
const NAMES: [(&str, &[Site]); 15] = [
    ("allocation", &[Site::Buffer, Site::Texture, Site::Heap]),
    ("buffer", &[Site::Buffer]),
    ("texture", &[Site::Texture]),
    ("heap", &[Site::Heap]),
    ("queue", &[Site::Queue]),
    ("command_buffer", &[Site::CommandBuffer]),
    ("encoder", &[Site::Encoder]),
    ("compile", &[Site::Compile]),
    ("pipeline", &[Site::Pipeline]),
    ("archive", &[Site::Archive]),
    ("commit", &[Site::Commit]),
    ("complete", &[Site::Complete]),
    ("event", &[Site::Event]),
    ("fence", &[Site::Fence]),
    ("sampler", &[Site::Sampler]),
];

/// MTLCommandBufferError, by the names that rules use.
const COMMAND_ERRORS: [(&str, ErrorCode); 10] = [
    ("internal", ErrorCode::Internal),
    ("timeout", ErrorCode::Timeout),
    ("page_fault", ErrorCode::PageFault),
    ("access_revoked", ErrorCode::AccessRevoked),
    ("not_permitted", ErrorCode::NotPermitted),
    ("out_of_memory", ErrorCode::OutOfMemory),
    ("invalid_resource", ErrorCode::InvalidResource),
    ("memoryless", ErrorCode::Memoryless),
    ("device_removed", ErrorCode::DeviceRemoved),
    ("stack_overflow", ErrorCode::StackOverflow),
];

/// MTLLibraryError, by the names that rules use.
const LIBRARY_ERRORS: [(&str, i64); 3] =
    [("internal", INTERNAL), ("compile_failure", COMPILE_FAILURE), ("unsupported", UNSUPPORTED)];

/// MTLBinaryArchiveError, by the names that rules use.
const ARCHIVE_ERRORS: [(&str, i64); 3] =
    [("invalid_file", INVALID_FILE), ("compilation_failure", COMPILATION_FAILURE), ("internal_error", INTERNAL_ERROR)];

/// Longer than anything: what is so slow is ended by its deadline.
const FOREVER: Duration = Duration::MAX;

/// Which events of its site a rule is for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Pick {
    All,
    /// This one, from 1.
    At(u64),
    Every(u64),
    Probability(f64),
}

/// What becomes of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failing {
    Nil,
    /// A code of MTLLibraryError, or of MTLBinaryArchiveError.
    Library(i64),
    /// After so many commands.
    Command(ErrorCode, u64),
    /// The call is misuse.
    Misuse,
    /// The device goes, and with it the command buffer.
    Removal,
}

/// One of the rules.
#[derive(Debug)]
pub(crate) struct Rule {
    /// As the program wrote it.
    text: String,
    /// Position in NAMES.
    name: usize,
    device: Option<usize>,
    pick: Pick,
    times: u64,
    delay: Duration,
    failing: Option<Failing>,
    /// Of the rule's generator.
    stream: u64,
    state: Mutex<Counts>,
}

/// How often something happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Calls that rules were asked about.
    pub events: u64,
    /// Calls that failed or were slow because of a rule.
    pub injected: u64,
}

/// The rules, and what they have done.
struct Faults {
    rules: Vec<Rule>,
    /// By site.
    counts: [[AtomicU64; 2]; SITES],
}

/// Whether there are rules.
static ACTIVE: AtomicBool = AtomicBool::new(false);
static FAULTS: Mutex<Option<Arc<Faults>>> = Mutex::new(None);

fn faults() -> MutexGuard<'static, Option<Arc<Faults>>> {
    FAULTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Replaces all rules, those of the environment and the removals that it asks for among them; "" for none. Counts begin at 0.
/// What has begun already keeps its fate.
///
/// # Errors
/// The rule that means nothing, and why; the rules that there were stay.
pub fn set(rules: &str) -> Result<(), String> {
    // The environment's come first, so that they cannot replace these.
    let devices = device::count();
    let parsed = parse(rules, devices)?;
    // A text of a seed alone injects nothing, but counts.
    install(parsed, !rules.trim().is_empty());
    Ok(())
}

/// How often the calls of a site were made, and failed or were slow on purpose, since the rules were set. `None` when there is
/// no such site; zeros while there are no rules.
pub fn counts(site: &str) -> Option<Counts> {
    let (_, sites) = NAMES.iter().find(|(name, _)| *name == site)?;
    let Some(faults) = faults().clone() else { return Some(Counts::default()) };
    let sum =
        |which: usize| sites.iter().map(|site| faults.counts[*site as usize][which].load(Ordering::Relaxed)).sum();
    Some(Counts { events: sum(0), injected: sum(1) })
}

/// The rules that hold from now on.
pub(crate) fn install(rules: Vec<Rule>, active: bool) {
    let mut faults = faults();
    *faults = active.then(|| Arc::new(Faults { rules, counts: Default::default() }));
    ACTIVE.store(active, Ordering::Relaxed);
}

/// What rules say of one event.
struct Fate {
    delay: Duration,
    failing: Option<Failing>,
    /// For the error's text: which fault it is.
    words: String,
}

/// Counts an event, and asks the rules.
#[inline]
fn fate(device: &Device, site: Site) -> Option<Fate> {
    if !ACTIVE.load(Ordering::Relaxed) {
        return None;
    }
    ask(device, site)
}

#[cold]
fn ask(device: &Device, site: Site) -> Option<Fate> {
    let faults = faults().clone()?;
    let [events, injected] = &faults.counts[site as usize];
    events.fetch_add(1, Ordering::Relaxed);
    let mut fate = Fate { delay: Duration::ZERO, failing: None, words: String::new() };
    for rule in faults.rules.iter().filter(|rule| rule.is_for(device.number(), site)) {
        // One failure is enough, and what another rule would have done is left for its next event.
        let Some(number) = rule.picks(fate.failing.is_none() || rule.failing.is_none()) else { continue };
        fate.delay = fate.delay.saturating_add(rule.delay);
        fate.failing = fate.failing.or(rule.failing);
        let words = format!("injected fault: {} #{number} of the rule `{}`", NAMES[rule.name].0, rule.text);
        if fate.words.is_empty() || rule.failing.is_some() {
            fate.words = words;
        }
    }
    if fate.words.is_empty() {
        return None;
    }
    injected.fetch_add(1, Ordering::Relaxed);
    Some(fate)
}

impl Rule {
    fn is_for(&self, device: usize, site: Site) -> bool {
        NAMES[self.name].1.contains(&site) && self.device.is_none_or(|number| number == device)
    }

    /// Counts an event; its number, if the rule is for it and it may be.
    fn picks(&self, may: bool) -> Option<u64> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.events += 1;
        let number = state.events;
        let picked = match self.pick {
            Pick::All => true,
            Pick::At(at) => number == at,
            Pick::Every(every) => number.is_multiple_of(every),
            Pick::Probability(p) => unit(mix(self.stream.wrapping_add(number.wrapping_mul(GOLDEN)))) < p,
        };
        if !picked || !may || state.injected == self.times {
            return None;
        }
        state.injected += 1;
        Some(number)
    }
}

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The function of splitmix64, <https://prng.di.unimi.it/splitmix64.c>.
fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// In 0..1.
fn unit(random: u64) -> f64 {
    (random >> 11) as f64 / (1u64 << 53) as f64
}

// ---------------------------------------------------------------- what the sites ask

/// Whether a call returns nil.
pub(crate) fn refuses(device: &Device, site: Site) -> bool {
    fate(device, site).is_some()
}

/// Waits and fails as the rules say, where something is compiled.
pub(crate) fn compile(device: &Device, site: Site) -> Result<(), LibraryError> {
    let Some(Fate { delay, failing, words }) = fate(device, site) else { return Ok(()) };
    if !delay.is_zero() {
        let limit = Toolchain::shared()?.deadline();
        std::thread::sleep(delay.min(limit));
        if delay >= limit {
            let text = format!("the compiler was stopped: it took longer than {} s: {words}", limit.as_secs_f32());
            return Err(LibraryError { code: INTERNAL, text });
        }
    }
    match failing {
        Some(Failing::Library(code)) => Err(LibraryError { code, text: words }),
        _ => Ok(()),
    }
}

/// What becomes of a command buffer.
#[derive(Debug)]
pub(crate) struct Commit {
    /// How much longer it takes.
    pub(crate) delay: Duration,
    pub(crate) removes: bool,
    /// Its error, after so many commands.
    pub(crate) error: Option<(ErrorCode, u64)>,
    /// Which fault it is.
    pub(crate) words: String,
}

/// For a command buffer that is committed; a commit that is refused is none.
#[inline]
pub(crate) fn commit(device: &Device) -> Result<Option<Box<Commit>>, Misuse> {
    let Some(Fate { delay, failing, words }) = fate(device, Site::Commit) else { return Ok(None) };
    let error = match failing {
        Some(Failing::Misuse) => return Err(c"injected fault: the commit is refused"),
        Some(Failing::Command(code, after)) => Some((code, after)),
        _ => None,
    };
    Ok(Some(Box::new(Commit { delay, removes: failing == Some(Failing::Removal), error, words })))
}

/// How much later the end of a command buffer is told.
pub(crate) fn completion_delay(device: &Device) -> Option<Duration> {
    fate(device, Site::Complete).map(|fate| fate.delay)
}

impl Commit {
    /// The error's text, beginning as Metal's own.
    pub(crate) fn text(&self, code: ErrorCode) -> String {
        let metal = match code {
            ErrorCode::Internal => "Internal Error",
            ErrorCode::Timeout => "Caused GPU Timeout Error (00000002:kIOGPUCommandBufferCallbackErrorTimeout)",
            ErrorCode::PageFault => {
                "Caused GPU Address Fault Error (0000000b:kIOGPUCommandBufferCallbackErrorPageFault)"
            }
            ErrorCode::AccessRevoked => {
                "Ignored (for causing prior/excessive GPU errors) (00000004:kIOGPUCommandBufferCallbackErrorSubmissionsIgnored)"
            }
            ErrorCode::NotPermitted => {
                "Insufficient Permission (to submit GPU work from background) \
                 (00000006:kIOGPUCommandBufferCallbackErrorBackgroundExecutionNotPermitted)"
            }
            ErrorCode::OutOfMemory => "Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)",
            ErrorCode::InvalidResource => "Invalid Resource (00000009:kIOGPUCommandBufferCallbackErrorInvalidResource)",
            ErrorCode::Memoryless => "Insufficient Memory for memoryless storage",
            ErrorCode::DeviceRemoved => "Device Removed (0000000b:kIOGPUCommandBufferCallbackErrorDeviceRemoved)",
            ErrorCode::StackOverflow => "Stack Overflow",
        };
        format!("{metal}: {}", self.words)
    }
}

// ---------------------------------------------------------------- reading rules

/// The removal of a device when so many of its command buffers were committed and the next one begins to run.
pub(crate) fn removal(device: usize, after: u64) -> Rule {
    let commit = NAMES.iter().position(|(name, _)| *name == "commit");
    Rule {
        text: format!("HOSTMETAL_DEVICE_{device}=removed_after={after}"),
        name: commit.unwrap_or_else(|| unreachable!("it is a site")),
        device: Some(device),
        pick: Pick::At(after.saturating_add(1)),
        times: u64::MAX,
        delay: Duration::ZERO,
        failing: Some(Failing::Removal),
        stream: 0,
        state: Mutex::default(),
    }
}

/// Reads rules for that many devices; what is wrong, after the rule that it is wrong with.
pub(crate) fn parse(text: &str, devices: usize) -> Result<Vec<Rule>, String> {
    let (mut seed, mut rules) = (None, Vec::<Rule>::new());
    for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
        let of = |why: String| format!("`{part}`: {why}");
        if let Some(number) = part.strip_prefix("seed=") {
            let number = number.trim().parse::<u64>().map_err(|_| of("expected a number".to_owned()))?;
            if seed.replace(number).is_some() {
                return Err(of("seed is given twice".to_owned()));
            }
            continue;
        }
        rules.push(rule(part, devices).map_err(of)?);
    }
    let seed = seed.unwrap_or(0);
    for at in 0..rules.len() {
        let name = rules[at].name;
        let before = rules[..at].iter().filter(|rule| rule.name == name).count();
        rules[at].stream = mix(seed ^ mix(((name as u64) << 32 | before as u64).wrapping_add(GOLDEN)));
    }
    Ok(rules)
}

fn rule(text: &str, devices: usize) -> Result<Rule, String> {
    let mut parts = text.split(':').map(str::trim);
    let site = parts.next().unwrap_or_default();
    let name = NAMES.iter().position(|(name, _)| *name == site);
    let name =
        name.ok_or_else(|| format!("unknown site `{site}`: expected {}", list(NAMES.iter().map(|(name, _)| *name))))?;
    let first = NAMES[name].1[0];
    let (mut at, mut every, mut p, mut times, mut device) = (None, None, None, None, None);
    let (mut error, mut after, mut slow, mut removes, mut refuses) = (None, None, None, false, false);
    let mut seen = Vec::new();
    for part in parts {
        let (key, value) = part.split_once('=').map_or((part, None), |(key, value)| (key.trim(), Some(value.trim())));
        if seen.contains(&key) {
            return Err(format!("{key} is given twice"));
        }
        seen.push(key);
        let expected = |what: &str| format!("{key}: expected {what}");
        let number = |least: u64| {
            let number = value.and_then(|value| value.parse::<u64>().ok()).filter(|number| *number >= least);
            number.ok_or_else(|| expected(&format!("a number from {least} on")))
        };
        match key {
            "at" => at = Some(number(1)?),
            "every" => every = Some(number(1)?),
            "times" => times = Some(number(0)?),
            "p" => {
                let value = value.and_then(|value| value.parse::<f64>().ok()).filter(|p| (0.0..=1.0).contains(p));
                p = Some(value.ok_or_else(|| expected("a probability from 0 to 1"))?);
            }
            "device" => {
                let number = number(0)?;
                let known = usize::try_from(number).ok().filter(|number| *number < devices);
                device = Some(known.ok_or_else(|| match devices {
                    0 => "device: there are no devices".to_owned(),
                    count => format!("device: there is no device {number}: they are 0 to {}", count - 1),
                })?);
            }
            "error" => {
                error = Some(self::error(first, value.unwrap_or_default()).map_err(|why| format!("error: {why}"))?)
            }
            "slow" if matches!(first, Site::Compile | Site::Pipeline | Site::Commit | Site::Complete) => {
                let time = value.and_then(|value| time(value, first != Site::Complete));
                let forever = if first == Site::Complete { "" } else { ", or forever" };
                slow = Some(time.ok_or_else(|| expected(&format!("a time such as 200us, 5ms or 2s{forever}")))?);
            }
            "after" if first == Site::Commit => {
                after = Some(match value {
                    Some("end") => u64::MAX,
                    _ => number(0).map_err(|_| expected("a number of commands, or end"))?,
                });
            }
            "remove" if first == Site::Commit => match value {
                None => removes = true,
                Some(_) => return Err("remove takes no value".to_owned()),
            },
            "refuse" if first == Site::Commit => match value {
                None => refuses = true,
                Some(_) => return Err("refuse takes no value".to_owned()),
            },
            "slow" | "after" | "remove" | "refuse" => return Err(format!("{key} does not go with {site}")),
            _ => return Err(format!("unknown key `{key}`")),
        }
    }
    let pick = match (at, every, p) {
        (None, None, None) => Pick::All,
        (Some(at), None, None) => Pick::At(at),
        (None, Some(every), None) => Pick::Every(every),
        (None, None, Some(p)) => Pick::Probability(p),
        _ => return Err("only one of at, every and p can be given".to_owned()),
    };
    if removes && (error.is_some() || after.is_some()) {
        return Err("a device that is removed takes no error and no after".to_owned());
    }
    if refuses && (removes || slow.is_some() || error.is_some() || after.is_some()) {
        return Err("a commit that is refused takes nothing else".to_owned());
    }
    if first == Site::Complete && slow.is_none() {
        return Err("complete needs slow: a command buffer's end can be told late, not fail".to_owned());
    }
    let failing = match (error, first) {
        _ if removes => Some(Failing::Removal),
        _ if refuses => Some(Failing::Misuse),
        (Some(Failing::Command(code, _)), _) => Some(Failing::Command(code, after.unwrap_or(0))),
        (Some(error), _) => Some(error),
        (None, Site::Commit) if after.is_some() => return Err("after needs error".to_owned()),
        (None, _) if slow.is_some() => None,
        (None, Site::Commit) => Some(Failing::Command(ErrorCode::Internal, 0)),
        (None, Site::Compile) => Some(Failing::Library(COMPILE_FAILURE)),
        (None, Site::Pipeline) => Some(Failing::Library(INTERNAL)),
        (None, Site::Archive) => Some(Failing::Library(INTERNAL_ERROR)),
        (None, _) => Some(Failing::Nil),
    };
    Ok(Rule {
        text: text.to_owned(),
        name,
        device,
        pick,
        times: times.unwrap_or(u64::MAX),
        delay: slow.unwrap_or_default(),
        failing,
        stream: 0,
        state: Mutex::default(),
    })
}

fn error(site: Site, value: &str) -> Result<Failing, String> {
    let library = LIBRARY_ERRORS.iter().find(|(name, _)| *name == value).map(|(_, code)| Failing::Library(*code));
    let command = COMMAND_ERRORS.iter().find(|(name, _)| *name == value).map(|(_, code)| Failing::Command(*code, 0));
    match site {
        Site::Compile | Site::Pipeline => {
            library.ok_or_else(|| format!("expected {}", list(LIBRARY_ERRORS.iter().map(|(name, _)| *name))))
        }
        Site::Archive => {
            let archive = ARCHIVE_ERRORS.iter().find(|(name, _)| *name == value);
            let archive = archive.map(|(_, code)| Failing::Library(*code));
            archive.ok_or_else(|| format!("expected {}", list(ARCHIVE_ERRORS.iter().map(|(name, _)| *name))))
        }
        Site::Commit => {
            command.ok_or_else(|| format!("expected {}", list(COMMAND_ERRORS.iter().map(|(name, _)| *name))))
        }
        Site::Complete => Err("a command buffer's end can be told late, not fail".to_owned()),
        _ => Err("what cannot be made is nil, without an error".to_owned()),
    }
}

fn time(text: &str, endless: bool) -> Option<Duration> {
    if text == "forever" {
        return endless.then_some(FOREVER);
    }
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number = text[..digits].parse::<u64>().ok()?;
    match &text[digits..] {
        "us" => Some(Duration::from_micros(number)),
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        _ => None,
    }
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_rules_are_named() {
        for (text, why) in [
            (
                "comit",
                "unknown site `comit`: expected allocation, buffer, texture, heap, queue, command_buffer, encoder, \
                       compile, pipeline, archive, commit, complete, event, fence, sampler",
            ),
            ("seed=x", "expected a number"),
            ("seed=-1", "expected a number"),
            ("seed=1;seed=2", "seed is given twice"),
            ("buffer:p", "p: expected a probability from 0 to 1"),
            ("buffer:p=1.5", "p: expected a probability from 0 to 1"),
            ("buffer:p=NaN", "p: expected a probability from 0 to 1"),
            ("buffer:at=0", "at: expected a number from 1 on"),
            ("buffer:every=0", "every: expected a number from 1 on"),
            ("buffer:every", "every: expected a number from 1 on"),
            ("buffer:times=x", "times: expected a number from 0 on"),
            ("buffer:at=1:p=1", "only one of at, every and p can be given"),
            ("buffer:at=1:at=2", "at is given twice"),
            ("buffer:colour=red", "unknown key `colour`"),
            ("buffer:", "unknown key ``"),
            ("buffer:error=internal", "error: what cannot be made is nil, without an error"),
            ("buffer:slow=1ms", "slow does not go with buffer"),
            ("buffer:after=1", "after does not go with buffer"),
            ("compile:remove", "remove does not go with compile"),
            ("compile:error=page_fault", "error: expected internal, compile_failure, unsupported"),
            (
                "commit:error=compile_failure",
                "error: expected internal, timeout, page_fault, access_revoked, not_permitted, \
                                              out_of_memory, invalid_resource, memoryless, device_removed, stack_overflow",
            ),
            ("commit:after=2", "after needs error"),
            ("commit:after=x:error=internal", "after: expected a number of commands, or end"),
            ("commit:remove=yes", "remove takes no value"),
            ("commit:refuse=yes", "refuse takes no value"),
            ("commit:refuse:slow=1ms", "a commit that is refused takes nothing else"),
            ("buffer:refuse", "refuse does not go with buffer"),
            ("event:slow=1ms", "slow does not go with event"),
            ("sampler:error=internal", "error: what cannot be made is nil, without an error"),
            ("commit:remove:error=internal", "a device that is removed takes no error and no after"),
            ("commit:slow=5", "slow: expected a time such as 200us, 5ms or 2s, or forever"),
            ("commit:slow", "slow: expected a time such as 200us, 5ms or 2s, or forever"),
            ("complete:slow=forever", "slow: expected a time such as 200us, 5ms or 2s"),
            ("complete", "complete needs slow: a command buffer's end can be told late, not fail"),
            ("complete:error=internal", "error: a command buffer's end can be told late, not fail"),
            ("commit:device=2", "device: there is no device 2: they are 0 to 1"),
        ] {
            let wrong = text.rsplit(';').next().unwrap_or_default();
            // What is right beside it changes nothing.
            let error = parse(&format!("heap:p=0.5 ; {text}"), 2).expect_err(text);
            assert_eq!(error, format!("`{wrong}`: {why}"));
        }
        assert_eq!(
            parse("commit:device=0", 0).expect_err("no device"),
            "`commit:device=0`: device: there are no devices"
        );
    }

    #[test]
    fn rules_say_what_fails() {
        let one = |text: &str| parse(text, 2).expect(text).remove(0);
        for (text, pick, times, delay, failing) in [
            ("buffer", Pick::All, u64::MAX, 0, Some(Failing::Nil)),
            ("event:at=2", Pick::At(2), u64::MAX, 0, Some(Failing::Nil)),
            (" allocation : p = 0.25 ", Pick::Probability(0.25), u64::MAX, 0, Some(Failing::Nil)),
            ("compile", Pick::All, u64::MAX, 0, Some(Failing::Library(3))),
            ("compile:slow=200ms:at=3", Pick::At(3), u64::MAX, 200_000, None),
            ("compile:slow=7us:error=internal:times=2", Pick::All, 2, 7, Some(Failing::Library(2))),
            ("pipeline:every=4", Pick::Every(4), u64::MAX, 0, Some(Failing::Library(2))),
            ("pipeline:error=unsupported", Pick::All, u64::MAX, 0, Some(Failing::Library(1))),
            ("commit", Pick::All, u64::MAX, 0, Some(Failing::Command(ErrorCode::Internal, 0))),
            (
                "commit:error=memoryless:after=3",
                Pick::All,
                u64::MAX,
                0,
                Some(Failing::Command(ErrorCode::Memoryless, 3)),
            ),
            (
                "commit:error=timeout:after=end",
                Pick::All,
                u64::MAX,
                0,
                Some(Failing::Command(ErrorCode::Timeout, u64::MAX)),
            ),
            ("commit:slow=2s:remove", Pick::All, u64::MAX, 2_000_000, Some(Failing::Removal)),
            ("complete:slow=1ms", Pick::All, u64::MAX, 1000, None),
        ] {
            let rule = one(text);
            let read = (rule.pick, rule.times, rule.delay.as_micros(), rule.failing);
            assert_eq!(read, (pick, times, delay, failing), "{text}");
        }
        assert_eq!(one("commit:slow=forever").delay, FOREVER);
        assert_eq!(one("heap:device=1").device, Some(1));
        assert!(parse(" ; seed=5 ;; ", 1).expect("right text").is_empty());
    }

    /// The events of one rule that are picked among the first `count`.
    fn picked(rule: &Rule, count: u64) -> Vec<u64> {
        (0..count).filter_map(|_| rule.picks(true)).collect()
    }

    #[test]
    fn events_are_picked_by_count() {
        for (text, wanted) in [
            ("buffer", &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10][..]),
            ("buffer:at=3", &[3]),
            ("buffer:every=4", &[4, 8]),
            ("buffer:every=2:times=3", &[2, 4, 6]),
            ("buffer:times=0", &[]),
            ("buffer:p=1:times=2", &[1, 2]),
            ("buffer:p=0", &[]),
        ] {
            assert_eq!(picked(&parse(text, 1).expect(text)[0], 10), wanted, "{text}");
        }
    }

    /// A rule's events depend on the seed and on the rules of the same site before it, and on nothing else.
    #[test]
    fn events_are_picked_by_chance_alike_every_time() {
        const COUNT: u64 = 20_000;
        let of = |text: &str, at: usize| picked(&parse(text, 1).expect(text)[at], COUNT);
        let wanted = of("seed=7;commit:p=0.02", 0);
        assert_eq!(of("seed=7;commit:p=0.02", 0), wanted);
        assert_eq!(of("buffer:p=0.5; commit:p=0.02; seed=7", 1), wanted, "another site's rule before it");
        assert_ne!(of("seed=8;commit:p=0.02", 0), wanted);
        assert_ne!(of("seed=7;buffer:p=0.02", 0), wanted);
        assert_ne!(of("seed=7;commit:p=0.02;commit:p=0.02", 1), wanted);
        // Five standard deviations around the mean of 400.
        for seed in 0..20 {
            let count = of(&format!("seed={seed};commit:p=0.02"), 0).len() as f64;
            assert!((count - 400.0).abs() < 5.0 * (20_000.0f64 * 0.02 * 0.98).sqrt(), "seed {seed}: {count}");
        }
    }

    #[test]
    fn threads_that_share_a_rule_share_its_events() {
        let rule = &parse("seed=3;commit:p=0.1:times=50", 1).expect("right text")[0];
        let alone = picked(&parse("seed=3;commit:p=0.1:times=50", 1).expect("right text")[0], 4000);
        let mut together: Vec<u64> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| picked(rule, 1000))).collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("it does not panic")).collect()
        });
        together.sort_unstable();
        assert_eq!(together, alone);
        assert_eq!(alone.len(), 50);
    }
}
