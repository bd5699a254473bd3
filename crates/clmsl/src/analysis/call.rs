//! What called functions do, with the values that they are passed.
//!
//! A function is walked once for each combination of what its arguments are, so that calls cost no more than the text
//! has of different ones. Where a kernel has many of a function, the next are walked as one: first without the numbers
//! that they are passed, then without anything.

use std::collections::HashMap;

use super::access::{self, MemoryAccess};
use super::step::{Root, Step, Value};
use super::walk::summarise;
use super::work::Work;
use crate::hir::Function;
use crate::parser::MAX_HEIGHT;
use crate::source::Span;
use crate::types::Struct;

/// Combinations of arguments of one function in one kernel, until numbers are not looked at.
const MOST_NUMBERS: usize = 16;
/// Combinations of arguments of one function in one kernel, until nothing is looked at.
const MOST_VALUES: usize = 32;

/// The whole program.
pub(super) struct Texts<'a> {
    pub(super) functions: &'a [&'a Function],
    pub(super) structs: &'a [Struct],
    /// The constants at program scope that are integers.
    pub(super) constants: &'a [Option<i128>],
}

/// What a function does that is passed certain arguments.
#[derive(Default)]
pub(super) struct Summary {
    pub(super) returned: Value,
    /// Its own, not those of functions that it calls.
    pub(super) accesses: Vec<MemoryAccess>,
    /// Places of its own that move bytes or do work that is not counted.
    pub(super) uncounted: Vec<Span>,
    /// Its calls, by the number of their summary.
    pub(super) calls: Vec<usize>,
    /// With that of functions that it calls.
    pub(super) work: Work,
}

type Arguments = Vec<(Value, Option<i128>)>;

/// The calls of one kernel.
pub(super) struct Calls<'a> {
    pub(super) texts: &'a Texts<'a>,
    /// How many levels the walks have gone down into expressions, statements and functions.
    pub(super) height: u32,
    numbers: HashMap<(usize, Arguments), usize>,
    /// How many combinations there are, by function.
    combinations: HashMap<usize, usize>,
    summaries: Vec<Summary>,
}

impl<'a> Calls<'a> {
    pub(super) fn new(texts: &'a Texts<'a>) -> Calls<'a> {
        Calls { texts, height: 0, numbers: HashMap::new(), combinations: HashMap::new(), summaries: Vec::new() }
    }

    pub(super) fn summary(&self, number: usize) -> &Summary {
        &self.summaries[number]
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
        if combinations >= MOST_NUMBERS && !self.numbers.contains_key(&(function, args.clone())) {
            args.iter_mut().for_each(|(_, number)| *number = None);
            if combinations >= MOST_VALUES && !self.numbers.contains_key(&(function, args.clone())) {
                args.iter_mut().for_each(|(value, _)| *value = Value::of(Step::Unknown));
            }
        }
        if let Some(&number) = self.numbers.get(&(function, args.clone())) {
            return Some(number);
        }
        if self.height > MAX_HEIGHT {
            return None;
        }
        *self.combinations.entry(function).or_default() += 1;
        let summary = summarise(callee, &args, self);
        self.summaries.push(summary);
        self.numbers.insert((function, args), self.summaries.len() - 1);
        Some(self.summaries.len() - 1)
    }
}

/// What a kernel does together with the functions that it calls: accesses, places that are not counted, work.
pub(super) fn kernel(function: &Function, texts: &Texts<'_>) -> (Vec<MemoryAccess>, Vec<Span>, Work) {
    let parameter = |(index, id): (usize, &_)| {
        let is_pointer = function.local(*id).ty.pointee().is_some();
        (Value::at(if is_pointer { Root::Parameter(index as u32) } else { Root::Unknown }), None)
    };
    let args: Arguments = function.params.iter().enumerate().map(parameter).collect();
    let mut calls = Calls::new(texts);
    let Summary { mut accesses, mut uncounted, calls: mut next, work, .. } = summarise(function, &args, &mut calls);
    let mut seen = vec![false; calls.summaries.len()];
    let mut at = 0;
    while let Some(&number) = next.get(at) {
        at += 1;
        if !std::mem::replace(&mut seen[number], true) {
            let summary = calls.summary(number);
            accesses.extend_from_slice(&summary.accesses);
            uncounted.extend_from_slice(&summary.uncounted);
            next.extend_from_slice(&summary.calls);
        }
    }
    access::sort(&mut accesses);
    uncounted.sort_by_key(|span| (span.file, span.lo, span.hi));
    uncounted.dedup();
    (accesses, uncounted, work)
}
