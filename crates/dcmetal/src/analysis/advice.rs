//! What would make a kernel faster: rules, each with a threshold, and how much they would gain at most. docs/ANALYSIS.md has them as a table.

use clmsl::{AccessPattern, AddressSpace, CostKind, Counts, FactKind, KernelAnalysis, Lanes, Location, Span, Work};

use super::{Bound, Conditions, Core, ENOUGH_SIMDGROUPS, LANES, LINE, Limit, Place, Report};
use crate::Kernel;

/// What an advice rests on, in the order in which equally good ones stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// Less than half of what memory moves for an access is used.
    Lines,
    /// The access's address depends on data: how much of what moves is used, only a run tells.
    Gather,
    /// Two or more words of one bank of threadgroup memory are asked for at once.
    Banks,
    /// A core of a family asked for holds fewer than [`ENOUGH_SIMDGROUPS`] SIMD-groups.
    Occupancy,
    /// `double` is computed, which Metal does not have.
    Double,
    /// Special functions take longer than all other arithmetic.
    Special,
    /// A barrier of threads that are one SIMD-group at most.
    Barrier,
    /// Integers are divided by a number that is the same for all threads and not known when the kernel is compiled.
    Division,
    /// What the kernel only reads is read at one address by all threads, from device memory.
    Uniform,
}

impl Rule {
    /// Every rule.
    pub const ALL: [Rule; 9] = [
        Rule::Lines,
        Rule::Gather,
        Rule::Banks,
        Rule::Occupancy,
        Rule::Double,
        Rule::Special,
        Rule::Barrier,
        Rule::Division,
        Rule::Uniform,
    ];

    /// Its name, as documents and JSON have it.
    pub fn name(self) -> &'static str {
        match self {
            Rule::Lines => "lines",
            Rule::Gather => "gather",
            Rule::Banks => "banks",
            Rule::Occupancy => "occupancy",
            Rule::Double => "double",
            Rule::Special => "special",
            Rule::Barrier => "barrier",
            Rule::Division => "division",
            Rule::Uniform => "uniform",
        }
    }

    /// Which limit it moves; `None`: either.
    fn moves(self) -> Option<Bound> {
        match self {
            Rule::Lines | Rule::Gather | Rule::Uniform => Some(Bound::Memory),
            Rule::Double | Rule::Special | Rule::Division => Some(Bound::Arithmetic),
            Rule::Banks | Rule::Occupancy | Rule::Barrier => None,
        }
    }
}

/// Something that would make a kernel faster.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// The rule.
    pub rule: Rule,
    /// Where; at least one place, but for what concerns the whole kernel.
    pub at: Vec<Location>,
    /// What is so, and what to do.
    pub text: String,
    /// The part of what it concerns (bytes moved, time of threadgroup memory, SIMD-groups, arithmetic) that it would save at most; `None` where nobody can tell.
    pub gain: Option<f64>,
    /// It concerns what does not limit the kernel on the device asked for.
    pub beside_the_limit: bool,
}

/// An access that uses a smaller part of what is moved is advised against.
const LEAST_USED: f64 = 0.5;
/// Special functions of a core in a cycle, other operations in a cycle: 32 "F32 Exp2", 128 "F32 Adds" (metal-benchmarks, "Operations per Second").
const SPECIAL_RATE: f64 = 32.0;
const RATE: f64 = 128.0;
/// Operations on emulated and on 32-bit numbers of a core in a cycle, the former at most (there, "F64 OPs (FMA)" and "F32 OPs (FMA)").
const DOUBLE_RATE: f64 = 3.8;
const FLOAT_RATE: f64 = 256.0;

struct Rules<'a> {
    kernel: &'a Kernel,
    analysis: &'a KernelAnalysis,
    on: &'a Conditions,
    report: &'a Report,
    advice: Vec<Advice>,
}

pub(super) fn advise(kernel: &Kernel, analysis: &KernelAnalysis, on: &Conditions, report: &Report) -> Vec<Advice> {
    let mut rules = Rules { kernel, analysis, on, report, advice: Vec::new() };
    rules.lines();
    rules.banks();
    rules.occupancy();
    rules.costs();
    rules.barriers();
    rules.uniform();
    let mut advice = rules.advice;
    sort(&mut advice);
    advice
}

/// What is about the limit first; among those, what gains more.
pub(super) fn sort(advice: &mut [Advice]) {
    let place = |advice: &Advice| advice.at.first().map(|at| (at.line, at.column));
    advice.sort_by(|a, b| {
        let gain = |advice: &Advice| advice.gain.unwrap_or(-1.0);
        let same = a.beside_the_limit.cmp(&b.beside_the_limit).then(gain(b).total_cmp(&gain(a)));
        same.then(a.rule.cmp(&b.rule)).then_with(|| place(a).cmp(&place(b)))
    });
}

impl Rules<'_> {
    fn add(&mut self, rule: Rule, at: Vec<Location>, gain: Option<f64>, text: String) {
        let limit = self.report.stand.map(|stand| stand.bound).filter(|bound| *bound != Bound::ByRounds);
        let beside_the_limit = rule.moves().zip(limit).is_some_and(|(moves, limit)| moves != limit);
        self.advice.push(Advice { rule, at, text, gain, beside_the_limit });
    }

    fn places(&self, spans: impl Iterator<Item = Span>) -> Vec<Location> {
        spans.filter_map(|span| self.kernel.location(span)).collect()
    }

    fn lines(&mut self) {
        // A place moves once for reading and once for writing; each place counts once, whatever loop it is in.
        let moved = |place: &Place| {
            let lines = place.lines.map_or(0, |(least, _)| least * LINE) as f64;
            lines * f64::from(u8::from(place.access.reads) + u8::from(place.access.writes))
        };
        let all: f64 = self.report.accesses.iter().map(moved).sum();
        for place in &self.report.accesses {
            let what = named(place);
            if in_device(place) && place.is_gathered() {
                let text = format!(
                    "{what} is reached at addresses that data decide: how many lines a SIMD-group touches, only a run tells. Sort or group the indices, or go through \
                     threadgroup memory"
                );
                self.add(Rule::Gather, vec![place.at.clone()], None, text);
                continue;
            }
            let Some((used, (lines, _))) = place.used_part.zip(place.lines) else { continue };
            // Rows that each have one address may have the same, or share a line, which is the least there can be.
            let is_one = place.access.pattern == AccessPattern::Uniform && (place.is_uniform() || lines == 1);
            if used >= LEAST_USED || is_one {
                continue;
            }
            let in_a_row = place.access.used_part(LANES, LINE).unwrap_or(0.0);
            let what_to_do = match place.access.pattern_y {
                _ if in_a_row >= LEAST_USED => {
                    "Neighbours in x are side by side, but few of them are in a row: let threadgroups be wider"
                }
                Some(AccessPattern::Contiguous) => {
                    "Neighbours in y are side by side: let x and y change their roles, or go through threadgroup memory"
                }
                _ => {
                    "Let neighbours reach neighbouring addresses: arrays of members instead of structures, rows along x, or threadgroup memory in between"
                }
            };
            let (least, most) = if place.is_told { ("", "") } else { ("at least ", "at most ") };
            let text = format!(
                "{what} is reached {}: a SIMD-group touches {least}{lines} lines of {LINE} bytes and uses {most}{} of them. {what_to_do}",
                place.pattern(),
                percent(used)
            );
            self.add(Rule::Lines, vec![place.at.clone()], Some(moved(place) * (1.0 - used) / all), text);
        }
    }

    fn banks(&mut self) {
        let most = |place: &Place| place.bank_words.map_or(0, |(least, _)| least) as f64;
        let all: f64 = self.report.accesses.iter().map(most).sum();
        let lanes = Lanes::of(LANES, self.on.threadgroup.to_array()).count();
        let needed = |place: &Place, lanes: u64| {
            lanes.saturating_mul(place.access.bytes).div_ceil(u64::from(super::BANKS) * super::BANK).max(1)
        };
        for place in &self.report.accesses {
            // As many words as there must be with so many bytes are no conflict.
            let must = needed(place, lanes);
            let Some((words, _)) = place.bank_words.filter(|(least, _)| *least >= 2 && *least > must) else { continue };
            let in_a_row = place.access.bank_words(LANES, super::BANKS, super::BANK);
            let what_to_do = match in_a_row.filter(|(least, _)| *least <= needed(place, LANES.into())) {
                Some(_) => {
                    "Its rows meet in the same banks: let each begin where the one before ends, or let threadgroups be 32 threads wide"
                }
                None => "Make rows one element longer, or change the order of indices",
            };
            let text = format!(
                "{} is reached {}: {}{words} words of one bank at once, where {must} would do, if it has {} banks of {} bytes. {what_to_do}",
                named(place),
                place.pattern(),
                if place.is_told { "" } else { "at least " },
                super::BANKS,
                super::BANK
            );
            self.add(Rule::Banks, vec![place.at.clone()], Some((words - must) as f64 / all), text);
        }
    }

    fn occupancy(&mut self) {
        let enough = ENOUGH_SIMDGROUPS * u64::from(LANES);
        let told = self.report.occupancy.iter().filter_map(|occupancy| match occupancy.core {
            Core::Threads { threads, limit, .. } if threads < enough => Some((occupancy.family, threads, limit)),
            _ => None,
        });
        let told: Vec<_> = told.collect();
        let Some((_, threads, limit)) = told.iter().copied().min_by_key(|(_, threads, _)| *threads) else { return };
        let families: Vec<String> = told.iter().map(|(family, ..)| family.to_string()).collect();
        let (at, what) = match limit {
            Limit::ThreadgroupMemory => {
                let memory = self.analysis.facts.iter().filter(|fact| fact.kind == FactKind::LocalMemory);
                (
                    self.places(memory.map(|fact| fact.span)),
                    "Use less threadgroup memory, or more threads with the same",
                )
            }
            Limit::ThreadgroupSize | Limit::Nothing => (Vec::new(), "Choose threadgroups of which more fit"),
            Limit::Registers | Limit::Spills => {
                let at = self.report.registers.as_ref().ok().and_then(|registers| registers.at.clone());
                (
                    at.into_iter().collect(),
                    "Keep fewer values at the same time: shorter arrays and accumulators, half, or smaller threadgroups",
                )
            }
        };
        let text = format!(
            "a core of {} holds {} SIMD-groups of the {ENOUGH_SIMDGROUPS} that keep its arithmetic busy, because of {}. {what}",
            families.join(" and "),
            threads / u64::from(LANES),
            limit.words()
        );
        self.add(Rule::Occupancy, at, Some(1.0 - threads as f64 / enough as f64), text);
    }

    fn costs(&mut self) {
        let at = |kind| {
            let spans = self.analysis.costs.iter().filter(|cost| cost.kind == kind).map(|cost| cost.span);
            self.places(spans)
        };
        let (divisions, special, doubles) = (at(CostKind::Division), at(CostKind::Special), at(CostKind::Double));
        if !divisions.is_empty() {
            let text = "integers are divided by a number that all threads have alike and the compiler does not know: many instructions each, as the GPU has none for it. Pass it as \
                 a function constant or a macro, a power of two as a shift, or pass the quotient's factor"
                .to_owned();
            self.add(Rule::Division, divisions, None, text);
        }
        let Counts { flops, special: functions, integer, .. } = dominant(self.analysis);
        // Two operations are one instruction at best.
        let (slow, others) = (functions as f64 / SPECIAL_RATE, (flops as f64 / 2.0 + integer as f64) / RATE);
        if slow > others && !special.is_empty() {
            let text = format!(
                "{functions} special functions beside {flops} floating-point and {integer} integer operations: the unit for them does {SPECIAL_RATE} in a cycle where others do {RATE}, and \
                 decides how long the arithmetic takes. Compute them once and not in each round, tabulate, or use fast:: variants"
            );
            self.add(Rule::Special, special, Some(1.0 - others / slow), text);
        }
        if !doubles.is_empty() {
            let text = format!(
                "double is computed with integers: {DOUBLE_RATE} operations of a core in a cycle at most, where float has {FLOAT_RATE}. Use float where its precision suffices, or pairs of them"
            );
            self.add(Rule::Double, doubles, Some(1.0 - DOUBLE_RATE / FLOAT_RATE), text);
        }
    }

    fn barriers(&mut self) {
        let threads = self.on.threadgroup.volume().unwrap_or(u64::MAX);
        let barriers = self.analysis.facts.iter().filter(|fact| fact.kind == FactKind::Barrier).map(|fact| fact.span);
        let at = self.places(barriers);
        if threads > u64::from(LANES) || at.is_empty() {
            return;
        }
        let text = format!(
            "threadgroups of {threads} threads are one SIMD-group, which needs no barrier of the threadgroup: simdgroup_barrier orders memory for it, and SIMD-group functions need none"
        );
        self.add(Rule::Barrier, at, None, text);
    }

    fn uniform(&mut self) {
        let is_written = |argument: Option<u32>| {
            let writes = |place: &&Place| place.access.writes && place.access.argument == argument;
            self.report.accesses.iter().any(|place| writes(&place)) || argument.is_none()
        };
        let loads = self
            .report
            .accesses
            .iter()
            .filter(|place| in_device(place) && place.is_uniform() && !is_written(place.access.argument));
        let loads: Vec<&Place> = loads.collect();
        if loads.is_empty() {
            return;
        }
        let mut names: Vec<String> = loads.iter().map(|place| named(place)).collect();
        names.dedup();
        let text = format!(
            "all threads of a SIMD-group read {} at one address, and the kernel never writes there: in constant memory (constant, __constant) the compiler may load it ahead and keep it in uniform registers",
            names.join(", ")
        );
        let at = loads.iter().map(|place| place.at.clone()).collect();
        self.add(Rule::Uniform, at, None, text);
    }
}

/// What most of the work is: of a round of the innermost loop, where arguments or data decide the rounds, of several beside each other that with the most
/// special functions; or else of the thread.
fn dominant(analysis: &KernelAnalysis) -> Counts {
    let mut work: &Work = &analysis.work;
    while let Some(inner) = work.loops.iter().map(|inner| &inner.round).max_by_key(|round| round.counts.special) {
        work = inner;
    }
    work.counts
}

fn in_device(place: &Place) -> bool {
    place.access.address_space == AddressSpace::Global
}

fn named(place: &Place) -> String {
    match (&place.argument, place.access.address_space) {
        (Some(name), _) => format!("`{name}`"),
        (None, AddressSpace::Local) => "threadgroup memory".to_owned(),
        (None, AddressSpace::Constant) => "constant memory".to_owned(),
        (None, _) => "device memory".to_owned(),
    }
}

/// A part of one, with as many digits as tell it from none.
fn percent(part: f64) -> String {
    if part < 0.1 { format!("{:.1} %", part * 100.0) } else { format!("{:.0} %", part * 100.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_comes_first_and_then_the_gain() {
        let advice =
            |rule, gain, beside_the_limit| Advice { rule, at: Vec::new(), text: String::new(), gain, beside_the_limit };
        let mut list = [
            advice(Rule::Special, Some(0.9), true),
            advice(Rule::Uniform, None, false),
            advice(Rule::Lines, Some(0.2), false),
            advice(Rule::Gather, None, false),
            advice(Rule::Banks, Some(0.5), false),
        ];
        sort(&mut list);
        assert_eq!(
            list.map(|advice| advice.rule),
            [Rule::Banks, Rule::Lines, Rule::Gather, Rule::Uniform, Rule::Special]
        );
    }
}
