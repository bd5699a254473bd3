//! What called functions do, with the values that they are passed.
//!
//! A function is walked once for each combination of what its arguments are, whichever kernels call it, so that calls cost no more
//! than the text has of different ones. Where a kernel has many of a function, or the walks so far were much longer than the
//! text, the next are walked as one: first without the numbers that they are passed, then without anything. What of functions is
//! listed for every kernel that calls them is limited by the length of the text too (`Calls::kernel`).

use std::collections::HashMap;

use super::Cost;
use super::access::{self, MemoryAccess};
use super::step::{Root, Step, Value};
use super::walk::summarise;
use super::work::Work;
use crate::hir::Function;
use crate::parser::MAX_HEIGHT;
use crate::source::Span;
use crate::types::Struct;

/// Combinations of arguments of one function that are new in one kernel, until numbers are not looked at.
const MOST_NUMBERS: usize = 16;
/// Combinations of arguments of one function that are new in one kernel, until nothing is looked at.
const MOST_VALUES: usize = 32;
/// Expressions and statements walked for each expression of the program, until nothing is looked at and each function walked for that
/// once more: as many as `MOST_NUMBERS` combinations of a function of the program's length need with eight walks each.
const MOST_WALKED: usize = 128;
/// Places listed for each expression of the program, over all kernels; and facts.
const MOST_LISTED: usize = 4;
/// Expressions that a program is taken to have at least.
const LEAST_SIZE: usize = 1 << 14;

/// The whole program.
pub(super) struct Texts<'a> {
    pub(super) functions: &'a [&'a Function],
    pub(super) structs: &'a [Struct],
    /// The constants at program scope that are integers.
    pub(super) constants: &'a [Option<i128>],
    /// How many expressions the functions have.
    pub(super) size: usize,
}

/// What a function does that is passed certain arguments.
#[derive(Default)]
pub(super) struct Summary {
    pub(super) returned: Value,
    /// Its own, not those of functions that it calls.
    pub(super) accesses: Vec<MemoryAccess>,
    /// Places of its own that move bytes or do work that is not counted.
    pub(super) uncounted: Vec<Span>,
    /// What takes long, its own.
    pub(super) costs: Vec<Cost>,
    /// Its calls, by the number of their summary, and where they are.
    pub(super) calls: Vec<(usize, Span)>,
    /// With that of functions that it calls.
    pub(super) work: Work,
}

impl Summary {
    /// How much of it is listed for a kernel.
    fn size(&self) -> usize {
        1 + self.accesses.len() + self.uncounted.len() + self.costs.len() + self.calls.len()
    }
}

/// What a kernel does, with the functions that it calls.
pub(super) struct Listed {
    pub(super) accesses: Vec<MemoryAccess>,
    /// Places that are not counted.
    pub(super) uncounted: Vec<Span>,
    pub(super) work: Work,
    pub(super) costs: Vec<Cost>,
}

type Arguments = Vec<(Value, Option<i128>)>;

/// The calls of a program's kernels.
pub(super) struct Calls<'a> {
    pub(super) texts: &'a Texts<'a>,
    /// The dimension in which the ids of neighbours differ: 0, 1 or 2.
    pub(super) dimension: u32,
    /// How many levels the walks have gone down into expressions, statements and functions.
    pub(super) height: u32,
    /// How many expressions and statements were walked.
    pub(super) walked: usize,
    /// How much is listed for the kernels so far.
    listed: usize,
    /// Of each function, the numbers of its summaries.
    numbers: Vec<HashMap<Arguments, usize>>,
    /// How many of them the present kernel added, by function.
    combinations: HashMap<usize, usize>,
    summaries: Vec<Summary>,
    /// By summary, the last kernel for which it is listed.
    listed_for: Vec<Option<usize>>,
}

impl<'a> Calls<'a> {
    pub(super) fn new(texts: &'a Texts<'a>, dimension: u32) -> Calls<'a> {
        Calls {
            texts,
            dimension,
            height: 0,
            walked: 0,
            listed: 0,
            numbers: vec![HashMap::new(); texts.functions.len()],
            combinations: HashMap::new(),
            summaries: Vec::new(),
            listed_for: Vec::new(),
        }
    }

    pub(super) fn summary(&self, number: usize) -> &Summary {
        &self.summaries[number]
    }

    /// How much is listed for all kernels.
    pub(super) fn most_listed(&self) -> usize {
        self.sizes(MOST_LISTED)
    }

    /// So many times the length of the program, which is not less than `LEAST_SIZE`.
    fn sizes(&self, times: usize) -> usize {
        self.texts.size.max(LEAST_SIZE).saturating_mul(times)
    }

    /// The number of the summary of a call; `None` if the function is not looked at: it has no body, or calls are too deep for the
    /// stack.
    pub(super) fn call(&mut self, function: usize, mut args: Arguments) -> Option<usize> {
        let texts = self.texts;
        let callee = *texts.functions.get(function).filter(|callee| callee.body.is_some())?;
        for (value, _) in &mut args {
            value.literal = false;
            if value.step == Step::None {
                value.step = Step::Unknown;
            }
        }
        let combinations = self.combinations.get(&function).copied().unwrap_or(0);
        let is_long = self.walked > self.sizes(MOST_WALKED);
        let summaries = &self.numbers[function];
        if (is_long || combinations >= MOST_NUMBERS) && !summaries.contains_key(&args) {
            args.iter_mut().for_each(|(_, number)| *number = None);
            if (is_long || combinations >= MOST_VALUES) && !summaries.contains_key(&args) {
                args.iter_mut().for_each(|(value, _)| *value = Value::of(Step::Unknown));
            }
        }
        if let Some(&number) = summaries.get(&args) {
            return Some(number);
        }
        if self.height > MAX_HEIGHT {
            return None;
        }
        *self.combinations.entry(function).or_default() += 1;
        let summary = summarise(callee, &args, self);
        self.summaries.push(summary);
        self.listed_for.push(None);
        self.numbers[function].insert(args, self.summaries.len() - 1);
        Some(self.summaries.len() - 1)
    }

    /// What a kernel, the function at this position, does together with the functions that it calls. Its own accesses are listed always, those of a function only while those listed for all kernels are not much
    /// longer than the program; else the call is among what is not counted.
    pub(super) fn kernel(&mut self, kernel: usize) -> Listed {
        let function = self.texts.functions[kernel];
        let parameter = |(index, id): (usize, &_)| {
            let is_pointer = function.local(*id).ty.pointee().is_some();
            (Value::at(if is_pointer { Root::Parameter(index as u32) } else { Root::Unknown }), None)
        };
        let args: Arguments = function.params.iter().enumerate().map(parameter).collect();
        self.combinations = HashMap::new();
        let summary = summarise(function, &args, self);
        self.listed += summary.size();
        let most = self.most_listed();
        let Summary { mut accesses, mut uncounted, mut costs, calls: mut next, work, .. } = summary;
        let mut at = 0;
        while let Some(&(number, span)) = next.get(at) {
            at += 1;
            if self.listed_for[number].replace(kernel) == Some(kernel) {
                continue;
            }
            let summary = &self.summaries[number];
            if self.listed + summary.size() > most {
                uncounted.push(span);
                continue;
            }
            self.listed += summary.size();
            accesses.extend_from_slice(&summary.accesses);
            uncounted.extend_from_slice(&summary.uncounted);
            costs.extend_from_slice(&summary.costs);
            next.extend_from_slice(&summary.calls);
        }
        access::sort(&mut accesses);
        uncounted.sort_by_key(|span| (span.file, span.lo, span.hi));
        uncounted.dedup();
        costs.sort_by_key(|Cost { kind, span }| (span.file, span.lo, span.hi, *kind));
        costs.dedup();
        Listed { accesses, uncounted, work, costs }
    }
}
