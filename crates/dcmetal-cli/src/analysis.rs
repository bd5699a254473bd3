//! What is known of a kernel from its text: for people, at most a screen; as JSON, all of it.

use dcmetal::clmsl::{
    AccessPattern, AddressSpace, Counts, FactKind, Intensity, KernelAnalysis, Lanes, MemoryAccess, Ratio, Span, Work,
};
use dcmetal::{Error, Kernel, ThreadgroupChoice};
use serde_json::{Value, json};

use crate::table::table;

/// Bytes that the device's memory is taken to move at least, and the banks that threadgroup memory is taken to have: those of most GPUs. Apple
/// publishes neither.
const LINE: u64 = 64;
const BANKS: u32 = 32;
const BANK: u64 = 4;
/// Rows of memory accesses, and lines of loops, that are shown.
const MOST_ROWS: usize = 12;
/// Lines of the source that are named for one thing.
const MOST_LINES: usize = 6;

/// The choice of a threadgroup, or why the kernel cannot have the grid.
pub(crate) fn choice(choice: &Result<ThreadgroupChoice, Error>) -> Value {
    match choice {
        Ok(choice) => json!({ "size": choice.size.to_array(), "reason": choice.to_string() }),
        Err(error) => json!({ "size": null, "reason": error.to_string() }),
    }
}

/// The kernel's analysis; null where the platform tells nothing of the kernel.
pub(crate) fn json(kernel: &Kernel, file: &str) -> Value {
    let Ok(analysis) = kernel.analysis() else { return Value::Null };
    let cx = Cx { kernel, file };
    let facts: Vec<_> =
        analysis.facts.iter().map(|fact| json!({ "kind": fact.kind, "at": cx.at(fact.span) })).collect();
    let access = |access: &MemoryAccess| {
        json!({
            "argument": cx.argument(access),
            "address_space": access.address_space,
            "reads": access.reads,
            "writes": access.writes,
            "bytes": Some(access.bytes).filter(|bytes| *bytes > 0),
            "pattern": access.pattern,
            "pattern_y": access.pattern_y,
            "pattern_z": access.pattern_z,
            "used_part": if in_memory(access) { access.used_part(cx.lanes(), LINE) } else { None },
            "bank_conflicts": if in_memory(access) { None } else { access.bank_conflicts(cx.lanes(), BANKS, BANK) },
            "at": cx.at(access.span),
        })
    };
    json!({
        "facts": facts,
        "depends_on_threadgroups": analysis.group_dependences(),
        "accesses": analysis.accesses.iter().map(access).collect::<Vec<_>>(),
        "work": cx.work(&analysis.work),
        "uncounted": analysis.uncounted.iter().map(|span| cx.at(*span)).collect::<Vec<_>>(),
        "intensity": cx.intensity_json(&analysis.intensity()),
    })
}

/// The kernel's analysis for people.
pub(crate) fn describe(kernel: &Kernel, file: &str) -> String {
    let analysis = match kernel.analysis() {
        Ok(analysis) => analysis,
        Err(error) => return format!("  what it does is unknown: {error}\n"),
    };
    let cx = Cx { kernel, file };
    let facts = FactKind::ALL.iter().filter_map(|kind| {
        let of_kind = analysis.facts.iter().filter(|fact| fact.kind == *kind);
        let spans: Vec<Span> = of_kind.map(|fact| fact.span).collect();
        (!spans.is_empty()).then(|| format!("{kind} ({})", cx.lines(&spans)))
    });
    let facts: Vec<String> = facts.collect();
    let mut text = if facts.is_empty() { "  ".to_owned() } else { format!("  has {}: ", facts.join(", ")) };
    text += match analysis.group_dependences().is_empty() {
        true => "results do not depend on the size of threadgroups\n",
        false => "results can depend on the size of threadgroups\n",
    };
    text += &cx.accesses(&analysis.accesses);
    text += "  one thread, branches as taken: ";
    let mut rows = MOST_ROWS;
    text += &cx.rounds(&analysis.work, 2, &mut rows);
    text + &cx.intensity(analysis)
}

/// The kernel's intensity for people, as one line; none where the platform tells nothing of the kernel.
pub(crate) fn brief(kernel: &Kernel, file: &str) -> String {
    kernel.analysis().map_or_else(|_| String::new(), |analysis| Cx { kernel, file }.intensity(analysis))
}

/// The kernel's intensity as JSON.
pub(crate) fn intensity_json(kernel: &Kernel, file: &str, analysis: &KernelAnalysis) -> Value {
    Cx { kernel, file }.intensity_json(&analysis.intensity())
}

/// Whether it is memory that is moved in lines, not that of threadgroups.
fn in_memory(access: &MemoryAccess) -> bool {
    access.address_space != AddressSpace::Local
}

/// A kernel of a file.
struct Cx<'a> {
    kernel: &'a Kernel,
    file: &'a str,
}

impl Cx<'_> {
    /// The file and line of a place; the file only if it is another.
    fn place(&self, span: Span) -> (Option<String>, u32) {
        match self.kernel.location(span) {
            Some(location) if location.file == self.file => (None, location.line),
            Some(location) => (Some(location.file), location.line),
            None => (None, 0),
        }
    }

    fn at(&self, span: Span) -> Value {
        let (file, line) = self.place(span);
        json!({ "file": file.as_deref().unwrap_or(self.file), "line": line })
    }

    /// `line 3`, `lines 3, 5`.
    fn lines(&self, spans: &[Span]) -> String {
        let mut places: Vec<String> = Vec::new();
        for span in spans {
            let place = match self.place(*span) {
                (None, line) => line.to_string(),
                (Some(file), line) => format!("{file}:{line}"),
            };
            if !places.contains(&place) {
                places.push(place);
            }
        }
        let more = places.len().saturating_sub(MOST_LINES);
        let s = if places.len() == 1 { "" } else { "s" };
        places.truncate(MOST_LINES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("line{s} {}{more}", places.join(", "))
    }

    /// Threads that run in step: of the threadgroup that the kernel requires, or a row.
    fn lanes(&self) -> Lanes {
        let width = self.kernel.execution_width().try_into().unwrap_or(u32::MAX);
        self.kernel.required_threadgroup().map_or(width.into(), |size| Lanes::of(width, size.to_array()))
    }

    /// What an access wastes, where that is known and something.
    fn cost(&self, access: &MemoryAccess) -> String {
        if in_memory(access) {
            let used = access
                .used_part(self.lanes(), LINE)
                .filter(|used| *used < 1.0 && access.pattern != AccessPattern::Uniform);
            let most = if access.is_told(self.lanes()) { "" } else { "at most " };
            let percent = |used: f64| format!("uses {most}{:.0} % of lines", (used * 100.0).max(1.0));
            return used.map_or_else(String::new, percent);
        }
        let times = access.bank_conflicts(self.lanes(), BANKS, BANK).filter(|times| *times > 1.0);
        times.map_or_else(String::new, |times| format!("bank conflicts, {times:.0} times as long"))
    }

    /// The name of the argument that an access goes to.
    fn argument(&self, access: &MemoryAccess) -> Option<&str> {
        let position = usize::try_from(access.argument?).ok()?;
        self.kernel.arguments().get(position).map(|argument| argument.name.as_str())
    }

    /// A row for those that differ in their place only. What they are in y is told as JSON, and by the choice of a threadgroup.
    fn accesses(&self, accesses: &[MemoryAccess]) -> String {
        let mut alike: Vec<(MemoryAccess, Vec<Span>)> = Vec::new();
        for access in accesses {
            let (pattern_y, pattern_z) = (
                access.pattern_y.filter(|_| self.lanes().differ_in(1)),
                access.pattern_z.filter(|_| self.lanes().differ_in(2)),
            );
            let access = &MemoryAccess { pattern_y, pattern_z, ..*access };
            let same = |other: &MemoryAccess| MemoryAccess { span: access.span, ..*other } == *access;
            match alike.iter_mut().find(|(other, _)| same(other)) {
                Some((_, spans)) => spans.push(access.span),
                None => alike.push((*access, vec![access.span])),
            }
        }
        let rows = alike.iter().take(MOST_ROWS).map(|(access, spans)| {
            let how = match (access.reads, access.writes) {
                (true, true) => "reads and writes",
                (true, false) => "reads",
                _ => "writes",
            };
            let bytes = match access.bytes {
                0 => "bytes unknown".to_owned(),
                1 => "1 byte".to_owned(),
                bytes => format!("{bytes} bytes"),
            };
            let space = access.address_space.name();
            let what = self.argument(access).map_or_else(|| space.to_owned(), |name| format!("{space} {name}"));
            vec![format!("  {how}"), what, bytes, access.pattern.to_string(), self.cost(access), self.lines(spans)]
        });
        let mut text = table(&rows.collect::<Vec<_>>());
        if alike.len() > MOST_ROWS {
            text += &format!("  and {} kinds of access more\n", alike.len() - MOST_ROWS);
        }
        text
    }

    fn work(&self, work: &Work) -> Value {
        let loops: Vec<_> = work
            .loops
            .iter()
            .map(|inner| json!({ "at": self.at(inner.span), "round": self.work(&inner.round) }))
            .collect();
        json!({ "counts": work.counts, "loops": loops })
    }

    /// A line for the work, and one for each loop in it.
    fn rounds(&self, work: &Work, depth: usize, rows: &mut usize) -> String {
        let mut text = format!("{}\n", counts(&work.counts));
        for inner in &work.loops {
            if *rows == 0 {
                return text;
            }
            *rows -= 1;
            text += &if *rows == 0 {
                format!("{:1$}and further loops\n", "", depth * 2)
            } else {
                let head = format!("{:1$}each round of the loop in {2}: ", "", depth * 2, self.lines(&[inner.span]));
                head + &self.rounds(&inner.round, depth + 1, rows)
            };
        }
        text
    }

    fn intensity(&self, analysis: &KernelAnalysis) -> String {
        let value = match analysis.intensity() {
            Intensity::Exactly(ratio) => format!("{ratio} flops per byte of global memory, caches not counted"),
            Intensity::Between { least, most, limit, loops } => {
                let range = match most.bytes {
                    0 => format!("at least {least}"),
                    _ => format!("{least} to {most}"),
                };
                let limit = limit.map_or(String::new(), |limit| match limit.bytes {
                    0 => ", the more rounds the more".to_owned(),
                    _ => format!(", near {limit} with many rounds"),
                });
                let loops = self.lines(&loops);
                format!(
                    "{range} flops per byte of global memory, by the rounds of the loops in {loops}{limit}; caches not counted"
                )
            }
            Intensity::NoMemory => "none, as no global memory is read or written".to_owned(),
            _ => {
                let places = self.lines(&analysis.uncounted);
                format!("unknown, as the analysis does not tell all that is done in {places}")
            }
        };
        format!("  arithmetic intensity: {value}\n")
    }

    fn intensity_json(&self, intensity: &Intensity) -> Value {
        // Without bound there is no number.
        let value = |ratio: Ratio| Some(ratio.value()).filter(|value| value.is_finite());
        match intensity {
            Intensity::Exactly(ratio) => json!({ "kind": "exactly", "flops_per_byte": value(*ratio) }),
            Intensity::Between { least, most, limit, loops } => json!({
                "kind": "between",
                "least": value(*least),
                "most": value(*most),
                "limit": limit.and_then(value),
                "loops": loops.iter().map(|span| self.at(*span)).collect::<Vec<_>>(),
            }),
            Intensity::NoMemory => json!({ "kind": "no_memory" }),
            _ => json!({ "kind": "unknown" }),
        }
    }
}

/// What there is, in words.
fn counts(counts: &Counts) -> String {
    let &Counts { flops, special, integer, bytes_read, bytes_written } = counts;
    let s = |count: u64, what: &str| match count {
        0 => None,
        1 => Some(format!("1 {what}")),
        _ => Some(format!("{count} {what}s")),
    };
    let parts = [
        s(flops, "flop"),
        s(special, "special function"),
        s(integer, "integer operation"),
        s(bytes_read, "byte").map(|bytes| format!("{bytes} read")),
        s(bytes_written, "byte").map(|bytes| format!("{bytes} written")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "nothing that counts".to_owned() } else { parts.join(", ") }
}
