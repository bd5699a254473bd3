//! What is known of a kernel: of one that is not OpenCL C as the platform tells it of its compiled code (docs/HOSTMETAL.md, "What a kernel
//! does"), and what of that the choice of a threadgroup rests on.

use std::sync::Arc;

use clmsl::{
    AccessPattern, AddressSpace, Cost, CostKind, Counts, Fact, FactKind, KernelAnalysis, Location, Loop, MemoryAccess,
    Sources, Span, Work,
};

use super::Argument;

/// A kernel's analysis, and the text whose places it names.
pub(crate) struct Analysed {
    pub(super) kernel: KernelAnalysis,
    pub(super) sources: Arc<Sources>,
    pub(super) findings: Findings,
}

/// What of an analysis the choice of a threadgroup rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Findings {
    /// The first place by which results can depend on the size.
    pub(super) dependence: Option<Fact>,
    /// What makes a thread's work much.
    pub(super) work: Option<Much>,
    /// How memory lies to threads of two dimensions.
    pub(super) lies: Option<Lies>,
}

/// How the memory that each thread has for itself lies to threads of two dimensions, and where the text shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lies {
    /// Neighbours in x are side by side, neighbours in y far apart.
    Rows(Span),
    /// The other way round.
    Columns(Span),
    /// Some of it is one, some the other.
    Both { rows: Span, columns: Span },
}

/// How far two neighbours' addresses are from each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Apart {
    Not,
    Near,
    Far,
}

/// Bytes from which on two addresses are in different cache lines for sure: a line of Apple's GPUs (docs/ANALYSIS.md). What arguments
/// decide is taken to be farther apart, such as the length of a row.
const LINE: u64 = 128;

/// What makes a thread's work much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Much {
    /// A loop whose rounds the text does not tell.
    Loop(Span),
    /// So many operations.
    Operations(u64),
}

/// A thread with as many operations has much work: 1024 of them keep one processor longer than it takes hostmetal to wake another (15 us).
const MUCH: u64 = 256;

impl Analysed {
    pub(super) fn new(kernel: KernelAnalysis, sources: Arc<Sources>) -> Analysed {
        let findings = Findings::of(&kernel);
        Analysed { kernel, sources, findings }
    }
}

impl Findings {
    fn of(kernel: &KernelAnalysis) -> Findings {
        let Work { counts: Counts { flops, special, integer, .. }, loops, .. } = &kernel.work;
        let operations = flops.saturating_add(*special).saturating_add(*integer);
        let much = (operations >= MUCH).then_some(Much::Operations(operations));
        Findings {
            dependence: kernel.facts.iter().copied().find(|fact| fact.kind.depends_on_groups()),
            work: loops.first().map(|inner| Much::Loop(inner.span)).or(much),
            lies: Lies::of(kernel),
        }
    }

    /// Whether results cannot depend on the size and threads have much work.
    pub(super) fn spreads(&self) -> bool {
        self.dependence.is_none() && self.work.is_some()
    }

    /// How memory lies, if results cannot depend on the size.
    pub(super) fn follows(&self) -> Option<Lies> {
        self.lies.filter(|_| self.dependence.is_none())
    }
}

impl Lies {
    /// Of device memory that each thread reads and writes once at each place of the text, each parameter in one place of it; addresses that all
    /// threads have alike do not count. What threads share otherwise may be the better for a square, and has no shape here.
    fn of(kernel: &KernelAnalysis) -> Option<Lies> {
        let (mut rows, mut columns, mut once) = (None, None, 0u64);
        let mut read = Vec::new();
        for access in kernel.accesses.iter().filter(|access| access.address_space == AddressSpace::Global) {
            let moves = u64::from(access.reads) + u64::from(access.writes);
            once = once.saturating_add(access.bytes.saturating_mul(moves));
            match (Apart::of(access.pattern)?, Apart::of(access.pattern_y?)?) {
                (Apart::Not, Apart::Not) => continue,
                (Apart::Near, Apart::Far) => _ = rows.get_or_insert(access.span),
                (Apart::Far, Apart::Near) => _ = columns.get_or_insert(access.span),
                _ => return None,
            }
            let argument = access.argument?;
            if access.reads && read.contains(&argument) {
                return None;
            }
            read.extend(access.reads.then_some(argument));
        }
        if !kernel.uncounted.is_empty() || kernel.work.counts.bytes() != once || has_memory(&kernel.work.loops) {
            return None;
        }
        match (rows, columns) {
            (Some(rows), Some(columns)) => Some(Lies::Both { rows, columns }),
            (Some(rows), None) => Some(Lies::Rows(rows)),
            (None, Some(columns)) => Some(Lies::Columns(columns)),
            (None, None) => None,
        }
    }
}

impl Apart {
    fn of(pattern: AccessPattern) -> Option<Apart> {
        match pattern {
            AccessPattern::Uniform => Some(Apart::Not),
            AccessPattern::Contiguous => Some(Apart::Near),
            AccessPattern::Strided(step) if step.unsigned_abs() < LINE => Some(Apart::Near),
            AccessPattern::Strided(_) | AccessPattern::Even => Some(Apart::Far),
            _ => None,
        }
    }
}

/// Whether rounds of these loops, or of loops in them, move bytes of device memory.
fn has_memory(loops: &[Loop]) -> bool {
    loops.iter().any(|inner| inner.round.counts.bytes() > 0 || has_memory(&inner.round.loops))
}

/// MSL as it was written.
pub(crate) struct Text {
    /// What messages call it.
    pub(super) name: String,
    pub(super) text: String,
    /// Lines that Metal got in front of it.
    pub(super) before: usize,
}

/// A node of the tree of work, before it is one.
struct Node {
    depth: usize,
    span: Span,
    counts: Counts,
    conditional: bool,
}

impl Text {
    /// Reads what the platform told of a kernel of this text; the line that means nothing, if there is one.
    pub(super) fn read(&self, kernel: &str, arguments: &[Argument], told: &str) -> Result<Analysed, String> {
        let (mut sources, source) = (Sources::new(), &self.text);
        let file = sources.add(&self.name, source, None).unwrap_or_default();
        let starts: Vec<usize> = std::iter::once(0).chain(source.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let (mut facts, mut accesses, mut uncounted): (Vec<Fact>, Vec<MemoryAccess>, Vec<Span>) = Default::default();
        let mut costs: Vec<Cost> = Vec::new();
        let mut nodes: Vec<Node> = Vec::new();
        for line in told.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
            let span = |at: usize| {
                let (line, column) = (number(at)?, number(at + 1)?);
                let start = starts.get(usize::try_from(line).ok()?.checked_sub(self.before + 1)?)?;
                let lo = start + usize::try_from(column).ok()?.checked_sub(1)?;
                // A place at the end of the text is one.
                let lo = u32::try_from(lo.min(source.len())).ok()?;
                Some(Span { file, lo, hi: lo })
            };
            let read = match words[0] {
                "fact" => fact(words.get(1)).zip(span(2)).map(|(kind, span)| facts.push(Fact { kind, span })),
                "uncounted" => span(1).map(|span| uncounted.push(span)),
                "cost" => cost(words.get(1)).zip(span(2)).map(|(kind, span)| costs.push(Cost { kind, span })),
                "registers" => Registers::read(&words).map(|_| ()),
                "access" => (|| {
                    let (address_space, bytes) = (space(words.get(1)?)?, number(4)?);
                    let name = *words.get(2)?;
                    let argument = arguments.iter().position(|argument| argument.name == name);
                    let argument = argument.and_then(|at| u32::try_from(at).ok());
                    let (reads, writes) = match *words.get(3)? {
                        "read" => (true, false),
                        "write" => (false, true),
                        "both" => (true, true),
                        _ => return None,
                    };
                    let (pattern_y, span) = (Some(pattern(words.get(6)?, bytes)?), span(7)?);
                    let pattern = pattern(words.get(5)?, bytes)?;
                    // The platform tells nothing of z.
                    let pattern_z = Some(AccessPattern::Unknown);
                    let access = MemoryAccess {
                        argument,
                        address_space,
                        reads,
                        writes,
                        bytes,
                        pattern,
                        pattern_y,
                        pattern_z,
                        span,
                    };
                    let alike = |other: &&mut MemoryAccess| {
                        let MemoryAccess { reads, writes, .. } = **other;
                        **other == MemoryAccess { reads, writes, ..access }
                    };
                    // What is read and written in one place is one access.
                    match accesses.iter_mut().find(alike) {
                        Some(other) => (other.reads, other.writes) = (other.reads || reads, other.writes || writes),
                        None => accesses.push(access),
                    }
                    Some(())
                })(),
                "work" => (|| {
                    let depth = usize::try_from(number(1)?).ok()?;
                    let span = if depth == 0 { Span::default() } else { span(2)? };
                    let [flops, special, integer, bytes_read, bytes_written] =
                        [number(4)?, number(5)?, number(6)?, number(7)?, number(8)?];
                    let conditional = match *words.get(9)? {
                        "always" => false,
                        "conditional" => true,
                        _ => return None,
                    };
                    let counts = Counts { flops, special, integer, bytes_read, bytes_written };
                    nodes.push(Node { depth, span, counts, conditional });
                    Some(())
                })(),
                _ => None,
            };
            read.ok_or_else(|| line.to_owned())?;
        }
        let mut nodes = nodes.into_iter().peekable();
        let work = match nodes.next() {
            Some(Node { depth: 0, counts, conditional, .. }) => {
                Work { counts, conditional, loops: loops(&mut nodes, 1) }
            }
            _ => return Err(String::new()),
        };
        if let Some(node) = nodes.next() {
            return Err(format!("work {}", node.depth));
        }
        if accesses.iter().all(|access| access.pattern_y == Some(AccessPattern::Uniform)) {
            accesses.iter_mut().for_each(|access| access.pattern_y = None);
        }
        let kernel = KernelAnalysis { name: kernel.to_owned(), facts, accesses, work, uncounted, costs };
        Ok(Analysed::new(kernel, Arc::new(sources)))
    }
}

/// What a thread keeps at one point of its code, at most. An estimate: of the code that hostmetal's compiler makes of one thread, and before any
/// compiler decides what to compute again or to keep in memory (docs/ANALYSIS.md, "Registers").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registers {
    /// Registers of 32 bits for values that differ between the threads of a SIMD-group.
    pub thread: u64,
    /// Registers of 32 bits for values that they have alike; Apple's GPUs have others for these.
    pub uniform: u64,
    /// Bytes of the thread's own memory that no register can hold, as arrays with computed indices are.
    pub private_bytes: u64,
    /// Where `thread` is reached; `None` where that is in no place of the source. Of a translation of OpenCL C only the line is known, and its column is 0.
    pub at: Option<Location>,
}

impl Registers {
    /// Of the words of a line `registers THREAD UNIFORM PRIVATE LINE COLUMN`; the line and column are the location's.
    fn read(words: &[&str]) -> Option<Registers> {
        let numbers: Vec<u64> = words.get(1..)?.iter().map(|word| word.parse().ok()).collect::<Option<_>>()?;
        let [thread, uniform, private_bytes, line, column] = numbers[..] else { return None };
        let (line, column) = (u32::try_from(line).ok()?, u32::try_from(column).ok()?);
        let at = (line > 0).then(|| Location { file: String::new(), line, column });
        Some(Registers { thread, uniform, private_bytes, at })
    }
}

impl Text {
    /// The registers of what the platform told of a kernel of this text; `None` where it did not tell them. Of a translation the place is that
    /// of the source, by the directives.
    pub(super) fn registers(&self, told: &str, is_opencl: bool) -> Option<Registers> {
        let line = told.lines().find(|line| line.starts_with("registers "))?;
        let mut registers = Registers::read(&line.split(' ').collect::<Vec<_>>())?;
        registers.at = registers.at.and_then(|at| {
            let column = if is_opencl { 0 } else { at.column };
            self.origin(at.line, is_opencl).map(|origin| Location { column, ..origin })
        });
        Some(registers)
    }

    /// The place in the source, without a column, of a line of the text that Metal got, from 1; none of lines that were put there.
    pub(super) fn origin(&self, line: u32, is_opencl: bool) -> Option<Location> {
        let line = (line as usize).checked_sub(self.before).filter(|line| *line > 0)?;
        if !is_opencl {
            return Some(Location { file: self.name.clone(), line: u32::try_from(line).ok()?, column: 0 });
        }
        // A translation says by directives where its lines come from.
        let mut origin: Option<Location> = None;
        for text in self.text.lines().take(line) {
            match text.strip_prefix("#line ").and_then(|rest| rest.split_once(' ')) {
                Some((number, name)) => {
                    let line = number.parse::<u32>().ok()?.checked_sub(1)?;
                    origin = Some(Location { file: name.trim_matches('"').to_owned(), line, column: 0 });
                }
                None => origin.iter_mut().for_each(|origin| origin.line += 1),
            }
        }
        // What helps the translation has names that no file has.
        origin.filter(|origin| !origin.file.starts_with('<'))
    }
}

/// The nodes of this depth, as long as they come, with what is below them.
fn loops(nodes: &mut std::iter::Peekable<impl Iterator<Item = Node>>, depth: usize) -> Vec<Loop> {
    let mut all = Vec::new();
    while let Some(Node { span, counts, conditional, .. }) = nodes.next_if(|node| node.depth == depth) {
        all.push(Loop { span, round: Work { counts, conditional, loops: loops(nodes, depth + 1) } });
    }
    all
}

fn fact(word: Option<&&str>) -> Option<FactKind> {
    Some(match *word? {
        "barrier" => FactKind::Barrier,
        "simdgroup" => FactKind::SubGroup,
        "threadgroup_memory" => FactKind::LocalMemory,
        "threadgroup_position" => FactKind::GroupPosition,
        "fence" => FactKind::Fence,
        "atomic" => FactKind::Atomic,
        "print" => FactKind::Print,
        _ => return None,
    })
}

fn cost(word: Option<&&str>) -> Option<CostKind> {
    Some(match *word? {
        "division" => CostKind::Division,
        "special" => CostKind::Special,
        _ => return None,
    })
}

fn space(word: &str) -> Option<AddressSpace> {
    Some(match word {
        "device" => AddressSpace::Global,
        "constant" => AddressSpace::Constant,
        "threadgroup" => AddressSpace::Local,
        _ => return None,
    })
}

fn pattern(word: &str, bytes: u64) -> Option<AccessPattern> {
    Some(match word {
        "even" => AccessPattern::Even,
        "data" => AccessPattern::Gather,
        "unknown" => AccessPattern::Unknown,
        number => match number.parse::<i64>().ok()? {
            0 => AccessPattern::Uniform,
            step if bytes > 0 && i128::from(step) == i128::from(bytes) => AccessPattern::Contiguous,
            step => AccessPattern::Strided(step),
        },
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::kernel) const ANYWHERE: Span = Span { file: 0, lo: 0, hi: 0 };

    #[test]
    fn findings_are_the_first_that_depends_on_threadgroups_and_what_makes_work_much() {
        let whole = |facts: &str, work: &str| {
            let text = Text { name: "k.metal".to_owned(), text: "a\nbcd\ne".to_owned(), before: 0 };
            text.read("k", &[], &format!("{facts}{work}")).unwrap_or_else(|line| panic!("{line:?}")).findings
        };
        let at = |lo| Span { file: 0, lo, hi: lo };
        let cases = [
            ("", "work 0 0 0 255 0 0 9 9 always\n", None, None),
            ("", "work 0 0 0 100 56 100 0 0 always\n", None, Some(Much::Operations(256))),
            ("fact atomic 1 1\nfact print 2 1\n", "work 0 0 0 0 0 0 0 0 always\n", None, None),
            (
                "fact atomic 1 1\nfact fence 2 2\nfact barrier 3 1\n",
                "work 0 0 0 0 0 0 0 0 always\n",
                Some((FactKind::Fence, 3)),
                None,
            ),
            (
                "",
                "work 0 0 0 999 0 0 0 0 always\nwork 1 2 1 0 0 0 4 0 always\nwork 1 3 1 9 0 0 0 0 always\n",
                None,
                Some(Much::Loop(at(2))),
            ),
        ];
        for (facts, work, dependence, much) in cases {
            let dependence = dependence.map(|(kind, lo)| Fact { kind, span: at(lo) });
            let findings = whole(facts, work);
            assert_eq!(findings, Findings { dependence, work: much, lies: None }, "{facts}{work}");
            assert_eq!(findings.spreads(), dependence.is_none() && much.is_some(), "{facts}{work}");
        }
    }

    #[test]
    fn what_means_nothing_is_no_analysis() {
        let whole = "fact barrier 1 2\naccess device - both 4 -8 0 2 1\naccess device - read 4 0 4 2 2\nuncounted 1 1\nwork 0 0 0 1 2 3 4 5 always\nwork 1 2 3 0 0 0 0 0 conditional\n";
        let text = |before| Text { name: "k.metal".to_owned(), text: "a\nbcd".to_owned(), before };
        let Ok(read_whole) = text(0).read("k", &[], whole) else { panic!("it is read") };
        let patterns = |read: &Analysed| -> Vec<_> {
            read.kernel.accesses.iter().map(|access| (access.pattern, access.pattern_y)).collect()
        };
        use AccessPattern::{Contiguous, Strided, Uniform};
        assert_eq!(patterns(&read_whole), [(Strided(-8), Some(Uniform)), (Uniform, Some(Contiguous))]);
        let Ok(row) = text(0).read("k", &[], "access device - both 4 -8 0 2 1\nwork 0 0 0 0 0 0 0 0 always") else {
            panic!("it is read")
        };
        assert_eq!(patterns(&row), [(Strided(-8), None)]);
        assert_eq!(read_whole.kernel.work.loops[0].span, Span { file: 0, lo: 4, hi: 4 });
        let wrong = [
            "",
            "fact what 1 1\nwork 0 0 0 0 0 0 0 0 always",
            "fact barrier 3 1\nwork 0 0 0 0 0 0 0 0 always",
            "fact barrier 0 1\nwork 0 0 0 0 0 0 0 0 always",
            "access device - both 4 far 0 2 1\nwork 0 0 0 0 0 0 0 0 always",
            "access device - both 4 0 far 2 1\nwork 0 0 0 0 0 0 0 0 always",
            "access thread - both 4 0 0 2 1\nwork 0 0 0 0 0 0 0 0 always",
            "work 0 0 0 0 0 0 0 always",
            "work 0 0 0 0 0 0 0 0",
            "work 0 0 0 0 0 0 0 0 often",
            "work 1 1 1 0 0 0 0 0 always",
            "work 0 0 0 0 0 0 0 0 always\nwork 2 1 1 0 0 0 0 0 always",
            "other",
        ];
        for told in wrong {
            assert!(text(0).read("k", &[], told).is_err(), "{told}");
        }
        let Ok(behind) = text(1).read("k", &[], "uncounted 2 1\nwork 0 0 0 0 0 0 0 0 always") else {
            panic!("it is read")
        };
        let at = behind.sources.location(behind.kernel.uncounted[0]);
        assert_eq!((at.file.as_str(), at.line, at.column), ("k.metal", 1, 1));
        assert!(text(1).read("k", &[], "uncounted 1 1\nwork 0 0 0 0 0 0 0 0 always").is_err());
    }
}
