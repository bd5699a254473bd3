//! Lets the lanes of a SIMD-group meet at the end of each iteration, as hardware does.
//!
//! The executor lets lanes meet that wait at one call site (executor/schedule.rs). In
//! `for (...) { if (odd) s += simd_sum(v); }` a lane that skips the operation would go on to the next iteration and
//! meet there the lanes that still wait in this one. So a loop gets one more meeting of all its lanes, behind
//! everything that they may still have to do in the iteration, when some of them may come to the end of its body while
//! others wait at an operation in it:
//!
//! | loop | written instead |
//! |---|---|
//! | `for (a; b; c)` | `for (a; b; ::hostmetal::reconverge(), c)` |
//! | `while (b)`, also with a declaration | `for (; b; ::hostmetal::reconverge())` |
//! | `do ... while (b)` | `do ... while (::hostmetal::reconverge(), b)` |
//! | `for (T x : y) ... continue; ...` | `for (T x : y) { ... goto hm_continue_7; ... hm_continue_7: ::hostmetal::reconverge(); }` |
//!
//! A loop needs none when all lanes meet anyway behind the last place at which they part: the last statement with an
//! operation has it where every lane of the iteration comes by (not in a branch, an operand of `&&`, `||` or `?:`, an
//! inner loop, a lambda), or is a threadgroup barrier, and no `continue` skips it. Names tell what has an operation
//! (meets.rs). Lanes that leave the loop do not wait for the others there; what follows the loop lies behind it.
//!
//! An exit (`break`, `return`) from a loop with an operation becomes `{ if (::hostmetal::leaves()) break; }`, where the
//! optimiser does not know that this is so: an operation from which only the exit can be reached would count as behind
//! the loop, and the lanes that leave in different iterations would meet there. An operation in what is returned comes first:
//! `{ decltype(auto) hm_left = (simd_sum(x)); if (::hostmetal::leaves()) return hm_left; }`.
//!
//! A loop whose operations are not a straight line is marked `unroll(disable)`: copies of its iterations would not lie in
//! their order.
//!
//! Functions with an operation become always_inline, so that each call of them has call sites of its own.
//!
//! This is done for kernels whose threads wait for each other, after clang has accepted the program, and changes no line.

use super::meets::{Meets, Names};
use super::rewrite::Edits;
use super::scan::{Program, Stage};
use super::token::{Kind, NONE, Stream};
use std::collections::HashSet;

/// What is written for a meeting.
const CALL: &str = "::hostmetal::reconverge()";
/// As deep as statements and brackets may nest; clang refuses brackets long before.
const DEEPEST: usize = 1500;

/// What this pass cannot follow, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unsupported {
    pub(crate) token: usize,
    pub(crate) text: &'static str,
}

const DEEP: &str = "statements are nested too deep";
const POINTER: &str = "hostmetal does not support pointers to functions that have a SIMD-group function; \
                       choose between calls, or give the function as an argument";
const RETURNED: &str = "hostmetal does not support a SIMD-group function in the braces that a loop returns; \
                        assign its result to a variable and return that";

/// Adds the meetings that a program needs. `outside`: functions that it declares and does not define may have an operation.
///
/// # Errors
/// [`Unsupported`]; the edits are then not complete.
pub(crate) fn insert(stream: &Stream, program: &Program, edits: &mut Edits, outside: bool) -> Result<(), Unsupported> {
    let mut names = Names::new(stream, program, outside);
    if !names.any() {
        return Ok(());
    }
    if let Some(token) = names.pointer(program) {
        return Err(Unsupported { token, text: POINTER });
    }
    // A function is solid when all its lanes have met behind the last place at which they may have parted. Each is taken for solid
    // until it is found not to be; calls end somewhere, so what is left is solid.
    loop {
        let mut loose = Vec::new();
        for item in names.items() {
            let mut walk = Walk::new(stream, &names, None);
            let mut state = State::default();
            walk.sequence(item.body.0 + 1, item.body.1, &mut state)?;
            if !state.solid() && names.is_solid(item.name) {
                loose.push(item.name);
            }
        }
        if loose.is_empty() {
            break;
        }
        names.loosen(&loose);
    }
    let removed: Vec<(usize, usize)> = program
        .functions
        .iter()
        .filter(|f| matches!(f.stage, Some(Stage::Graphics(_))))
        .map(|f| (f.start, f.end))
        .collect();
    let mut walk = Walk::new(stream, &names, Some(edits));
    for function in &program.functions {
        if let (Some((open, close)), false) = (function.body, removed.contains(&(function.start, function.end))) {
            walk.function(open, close)?;
        }
    }
    // Loops elsewhere: in friend functions and initialisers.
    let mut i = 0;
    while i < stream.len() {
        if let Some(&(_, end)) = removed.iter().find(|r| r.0 == i) {
            i = end;
        } else if matches!(stream.at(i), "for" | "while" | "do") && !walk.seen.contains(&i) {
            walk.statement(i, stream.len(), &mut State::default())?;
        }
        i += 1;
    }
    for i in 0..stream.len() {
        if matches!(stream.at(i), "noinline" | "__noinline__") && matches!(stream.at(i + 1), ")" | "," | "]") {
            edits.rename(i, "always_inline");
        }
    }
    for item in names.items() {
        if let (true, Some(place)) = (names.meets(item.name), item.attribute) {
            match item.lambda {
                true => edits.behind(place, " __attribute__((always_inline))"),
                false => edits.before(place, "__attribute__((always_inline)) "),
            }
        }
    }
    Ok(())
}

/// What the lanes may have done on the way to a place.
#[derive(Clone, Copy, Default)]
struct State {
    /// An operation, at which lanes of a SIMD-group or quad meet.
    any: bool,
    /// Some lanes may have come by while others wait at an operation.
    loose: bool,
    /// An operation is one for some lanes only, or hidden in a function of the program.
    parted: bool,
    /// The last token of an operation or barrier.
    last: Option<usize>,
    /// The first `continue` of the innermost loop.
    skips: Option<usize>,
    /// The first `return`.
    returns: Option<usize>,
}

impl State {
    /// What happens in `part` happens for some lanes.
    fn branch(&mut self, part: &State) {
        self.any |= part.any;
        self.loose |= part.any;
        self.parted |= part.any;
        self.last = self.last.max(part.last);
        self.skips = self.skips.or(part.skips);
        self.returns = self.returns.or(part.returns);
    }

    fn solid(&self) -> bool {
        self.any && !self.loose && !before(self.returns, self.last)
    }
}

fn before(place: Option<usize>, last: Option<usize>) -> bool {
    matches!((place, last), (Some(place), Some(last)) if place < last)
}

/// Whether the tokens are a call of a function that is declared to return nothing.
fn is_void_call(s: &Stream, start: usize, end: usize) -> bool {
    let Some(open) = (start..end).find(|&i| s.is(i, "(") && s.mate[i] + 1 == end) else { return false };
    let mut name = open.wrapping_sub(1);
    if s.is(name, ">") {
        name = s.angle_open(name, start).map_or(name, |angle| angle.wrapping_sub(1));
    }
    s.is_ident(name) && (1..s.len()).any(|i| s.is(i, s.at(name)) && s.is(i - 1, "void") && s.is(i + 1, "("))
}

struct Walk<'a> {
    s: &'a Stream,
    names: &'a Names<'a>,
    edits: Option<&'a mut Edits>,
    /// The keywords of the loops that have been looked at.
    seen: HashSet<usize>,
    /// Each `break` of the innermost loop and each `return`, and the `;` behind it, in order.
    exits: Vec<(usize, usize)>,
    depth: usize,
}

impl<'a> Walk<'a> {
    fn new(s: &'a Stream, names: &'a Names<'a>, edits: Option<&'a mut Edits>) -> Self {
        Self { s, names, edits, seen: HashSet::new(), exits: Vec::new(), depth: 0 }
    }

    fn function(&mut self, open: usize, close: usize) -> Result<State, Unsupported> {
        let mut state = State::default();
        let outer = std::mem::take(&mut self.exits);
        self.sequence(open + 1, close, &mut state)?;
        self.exits = outer;
        Ok(state)
    }

    fn sequence(&mut self, mut i: usize, end: usize, state: &mut State) -> Result<(), Unsupported> {
        while i < end {
            i = self.statement(i, end, state)?;
        }
        Ok(())
    }

    /// The `)` of the `(` at `i`.
    fn close(&self, i: usize) -> Option<usize> {
        (self.s.is(i, "(") && self.s.mate[i] != NONE).then(|| self.s.mate[i])
    }

    fn forget_breaks(&mut self, first: usize) {
        let s = self.s;
        let mut number = 0;
        self.exits.retain(|&(word, _)| {
            number += 1;
            number <= first || s.is(word, "return")
        });
    }

    /// The exits from `first` on are those of a loop; `any`: with an operation.
    fn guard_exits(&mut self, first: usize, any: bool) -> Result<(), Unsupported> {
        if !any {
            self.forget_breaks(first);
            return Ok(());
        }
        for (word, stop) in self.exits.split_off(first) {
            let Some(edits) = &mut self.edits else { continue };
            // An operation in what is returned would not be in front of the exit.
            match (word + 1..stop).find(|&i| matches!(self.names.at(i), Meets::Lanes { .. })) {
                None => {
                    edits.before(word, "{ if (::hostmetal::leaves()) ");
                    edits.behind(stop, " }");
                }
                Some(place) if self.s.is(word + 1, "{") => {
                    return Err(Unsupported { token: place, text: RETURNED });
                }
                Some(_) if is_void_call(self.s, word + 1, stop) => {
                    edits.replace(word, "{ ");
                    edits.behind(stop, " if (::hostmetal::leaves()) return; }");
                }
                Some(_) => {
                    edits.replace(word, "{ decltype(auto) hm_left = (");
                    edits.before(stop, ")");
                    edits.behind(stop, " if (::hostmetal::leaves()) return hm_left; }");
                }
            }
        }
        Ok(())
    }

    /// The first of the given tokens at the level of `i..end`, or `end`.
    fn find(&self, mut i: usize, end: usize, wanted: &str) -> usize {
        while i < end && !self.s.is(i, wanted) {
            i = self.s.skip(i);
        }
        i.min(end)
    }

    /// One statement; the token behind it.
    fn statement(&mut self, i: usize, end: usize, state: &mut State) -> Result<usize, Unsupported> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Unsupported { token: i, text: DEEP });
        }
        let behind = self.any_statement(i, end, state);
        self.depth -= 1;
        behind
    }

    fn any_statement(&mut self, mut i: usize, end: usize, state: &mut State) -> Result<usize, Unsupported> {
        let s = self.s;
        while i < end && s.kind(i) == Some(Kind::Pragma) {
            i += 1;
        }
        while let Some(behind) = s.attribute(i).filter(|&behind| behind <= end) {
            i = behind;
        }
        match s.at(i) {
            _ if i >= end => Ok(end),
            "{" if s.mate[i] != NONE => {
                self.sequence(i + 1, s.mate[i], state)?;
                Ok(s.mate[i] + 1)
            }
            "if" => self.branches(i, end, state),
            "switch" => {
                let Some(close) = self.close(i + 1) else { return self.simple(i + 1, end, state) };
                self.expression(i + 2, close, false, state)?;
                let mut part = State::default();
                let first = self.exits.len();
                let behind = self.statement(close + 1, end, &mut part)?;
                // A `break` in it leaves the switch.
                self.forget_breaks(first);
                state.branch(&part);
                Ok(behind)
            }
            "case" | "default" => Ok(self.find(i, end, ":") + 1),
            "for" | "while" if self.close(i + 1).is_some() => self.head_loop(i, end, state),
            "do" => self.do_loop(i, end, state),
            "continue" => {
                state.skips = state.skips.or(Some(i));
                Ok(self.find(i, end, ";") + 1)
            }
            "break" => {
                let stop = self.find(i, end, ";");
                self.exits.push((i, stop));
                Ok(stop + 1)
            }
            "return" => {
                let behind = self.simple(i + 1, end, state)?;
                state.returns = state.returns.or(Some(behind));
                self.exits.push((i, behind - 1));
                Ok(behind)
            }
            _ => self.simple(i, end, state),
        }
    }

    /// An expression or declaration up to its `;`.
    fn simple(&mut self, i: usize, end: usize, state: &mut State) -> Result<usize, Unsupported> {
        let stop = self.find(i, end, ";");
        self.expression(i, stop, false, state)?;
        Ok(stop + 1)
    }

    fn branches(&mut self, mut i: usize, end: usize, state: &mut State) -> Result<usize, Unsupported> {
        let s = self.s;
        // Conditions behind the first are for some lanes only.
        let mut parts = State::default();
        let mut first = true;
        loop {
            i += 1;
            if s.is(i, "constexpr") {
                i += 1;
            }
            let Some(close) = self.close(i) else { return Ok(i) };
            self.expression(i + 1, close, false, if first { &mut *state } else { &mut parts })?;
            first = false;
            i = self.statement(close + 1, end, &mut parts)?;
            if i >= end || !s.is(i, "else") {
                break;
            }
            i += 1;
            if !s.is(i, "if") {
                i = self.statement(i, end, &mut parts)?;
                break;
            }
        }
        state.branch(&parts);
        Ok(i)
    }

    /// `for` and `while`.
    fn head_loop(&mut self, at: usize, end: usize, state: &mut State) -> Result<usize, Unsupported> {
        let s = self.s;
        self.seen.insert(at);
        let (open, close) = (at + 1, s.mate[at + 1]);
        let mut round = State::default();
        let mut condition = (open + 1, close);
        let mut step = None;
        if s.is(at, "for") {
            let first = self.find(open + 1, close, ";");
            if first == close {
                return self.range_loop(at, end, state);
            }
            let second = self.find(first + 1, close, ";");
            self.expression(open + 1, first, false, state)?;
            condition = (first + 1, second);
            step = Some(second);
        }
        self.expression(condition.0, condition.1, false, &mut round)?;
        let first = self.exits.len();
        let behind = self.statement(close + 1, end, &mut round)?;
        let exits = self.exits.len() - first;
        self.guard_exits(first, round.any)?;
        let needed = round.any && (round.loose || before(round.skips, round.last));
        if needed {
            round.loose = false;
        }
        if let Some(second) = step {
            self.expression(second + 1, close, false, &mut round)?;
        }
        let again = round.any && round.loose;
        self.keep(at, &round, exits);
        if exits == 0 && round.skips.is_none() && !round.parted && step.is_some() && self.uniform(at, behind) {
            state.any |= round.any;
            state.last = state.last.max(round.last);
            // An iteration ends with all lanes together; there may be none.
            return Ok(behind);
        }
        if let Some(edits) = &mut self.edits {
            match step {
                Some(second) => {
                    let more = second + 1 < close;
                    if needed {
                        edits.behind(second, &format!(" {CALL}{}", if more { "," } else { "" }));
                    }
                    if again {
                        edits.before(close, &format!(", {CALL}"));
                    }
                }
                None if needed => {
                    edits.replace(at, "for");
                    edits.behind(open, ";");
                    edits.before(close, &format!("; {CALL}"));
                }
                None => {}
            }
        }
        round.skips = None;
        state.branch(&round);
        Ok(behind)
    }

    /// Keeps clang from copying the iterations of a loop, unless they are a straight line: the copies would not be in order.
    fn keep(&mut self, at: usize, round: &State, exits: usize) {
        if !round.any || !(round.parted || round.skips.is_some() || exits > 0) {
            return;
        }
        if let Some(edits) = &mut self.edits {
            for pragma in (0..at).rev().take_while(|&i| self.s.kind(i) == Some(Kind::Pragma)) {
                if self.s.at(pragma).contains("unroll") {
                    edits.replace(pragma, "");
                }
            }
            edits.before(at, "_Pragma(\"clang loop unroll(disable)\") ");
        }
    }

    /// Whether all lanes run the same number of iterations: `for (int i = 0; i < 4; i++)`, and the body does not touch `i`.
    fn uniform(&self, at: usize, behind: usize) -> bool {
        let s = self.s;
        let (open, close) = (at + 1, s.mate[at + 1]);
        let first = self.find(open + 1, close, ";");
        let Some(equals) = (open + 2..first).find(|&i| s.is(i, "=")) else { return false };
        let variable = equals - 1;
        let literal = |(from, to): (usize, usize)| {
            (from..to).all(|i| {
                s.kind(i) == Some(Kind::Number)
                    || s.is(i, s.at(variable))
                    || s.kind(i) == Some(Kind::Punct) && !matches!(s.at(i), "," | "[" | "{")
            })
        };
        let touched = (close..behind).any(|i| {
            s.is(i, s.at(variable))
                && (matches!(s.at(i - 1), "++" | "--" | "&" | "=" | "," | "(")
                    || matches!(s.at(i + 1), "++" | "--" | "=" | "+=" | "-=" | "*=" | "/=" | "<<=" | ">>=" | "%="))
        });
        variable > open + 1
            && s.is_ident(variable)
            && literal((equals + 1, first))
            && literal((first, close))
            && !touched
    }

    fn range_loop(&mut self, at: usize, end: usize, state: &mut State) -> Result<usize, Unsupported> {
        let s = self.s;
        let close = s.mate[at + 1];
        self.expression(at + 2, close, false, state)?;
        let mut round = State::default();
        let first = self.exits.len();
        let behind = self.statement(close + 1, end, &mut round)?;
        let exits = self.exits.len() - first;
        self.guard_exits(first, round.any)?;
        self.keep(at, &round, exits);
        if round.any && (round.loose || before(round.skips, round.last)) {
            let continues = self.continues(close + 1, behind);
            if let Some(edits) = &mut self.edits {
                edits.before(close + 1, "{ ");
                for &word in &continues {
                    edits.replace(word, format!("goto hm_continue_{at}"));
                }
                let label = if continues.is_empty() { String::new() } else { format!("hm_continue_{at}: ") };
                edits.behind(behind - 1, &format!(" {label}{CALL}; }}"));
            }
        }
        round.skips = None;
        state.branch(&round);
        Ok(behind)
    }

    fn do_loop(&mut self, at: usize, end: usize, state: &mut State) -> Result<usize, Unsupported> {
        let s = self.s;
        self.seen.insert(at);
        let mut round = State::default();
        let first = self.exits.len();
        let word = self.statement(at + 1, end, &mut round)?;
        let exits = self.exits.len() - first;
        self.guard_exits(first, round.any)?;
        let Some(close) = self.close(word + 1).filter(|_| s.is(word, "while")) else { return Ok(word) };
        self.seen.insert(word);
        let needed = round.any && (round.loose || before(round.skips, round.last));
        if needed {
            round.loose = false;
        }
        self.expression(word + 2, close, false, &mut round)?;
        let again = round.any && round.loose;
        self.keep(at, &round, exits);
        if let Some(edits) = &mut self.edits {
            if needed {
                edits.behind(word + 1, &format!("{CALL}, "));
            }
            if again {
                edits.before(word + 2, "::hostmetal::reconverged(bool(");
                edits.before(close, "))");
            }
        }
        round.skips = None;
        state.branch(&round);
        Ok(self.find(close + 1, end, ";") + 1)
    }

    /// The `continue`s of the loop whose body is `start..end`, those of inner loops left out.
    fn continues(&self, start: usize, end: usize) -> Vec<usize> {
        let s = self.s;
        let mut found = Vec::new();
        let mut i = start;
        while i < end {
            match s.at(i) {
                "continue" => found.push(i),
                "for" | "while" | "do" => {
                    let mut walk = Walk::new(s, self.names, None);
                    i = walk.statement(i, end, &mut State::default()).unwrap_or(end);
                    continue;
                }
                _ => {}
            }
            i += 1;
        }
        found
    }

    /// `conditional`: some lanes may skip it.
    fn expression(
        &mut self,
        start: usize,
        end: usize,
        mut conditional: bool,
        state: &mut State,
    ) -> Result<(), Unsupported> {
        let s = self.s;
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Unsupported { token: start, text: DEEP });
        }
        if start < end && self.names.operators() {
            // Any operator may be one that meets.
            self.meet(start, Meets::Lanes { solid: false }, true, state);
        }
        let mut i = start;
        while i < end {
            if let Some(behind) = s.attribute(i) {
                i = behind;
                continue;
            }
            if s.is(i, "[")
                && let Some(open) = self.names.lambda_body(i, end)
            {
                // It may be called here, or wherever its name stands.
                let part = self.function(open, s.mate[open])?;
                state.branch(&State { skips: None, returns: None, ..part });
                i = s.mate[open] + 1;
                continue;
            }
            let meets = self.names.at(i);
            match s.at(i) {
                "?" | "&&" | "||" | "and" | "or" => conditional = true,
                "{" if s.mate[i] != NONE && self.names.opens_statements(i) => {
                    let part = self.function(i, s.mate[i])?;
                    state.branch(&State { skips: None, returns: None, ..part });
                    i = s.mate[i] + 1;
                    continue;
                }
                "(" | "[" | "{" if s.mate[i] != NONE => {
                    self.expression(i + 1, s.mate[i], conditional, state)?;
                    if meets != Meets::Nobody {
                        self.meet(i, meets, true, state);
                    }
                    i = s.mate[i] + 1;
                    continue;
                }
                _ => {}
            }
            if meets != Meets::Nobody {
                // The arguments come first.
                let called = if s.is(i + 1, "<") { s.angle_close(i + 1, end).map_or(i + 1, |c| c + 1) } else { i + 1 };
                if let Some(close) = self.close(called).filter(|&close| close < end) {
                    self.expression(called + 1, close, conditional, state)?;
                    self.meet(i, meets, conditional, state);
                    i = close + 1;
                    continue;
                }
                self.meet(i, meets, true, state);
            }
            i += 1;
        }
        self.depth -= 1;
        Ok(())
    }

    fn meet(&self, i: usize, meets: Meets, conditional: bool, state: &mut State) {
        state.last = state.last.max(Some(i));
        match meets {
            Meets::Nobody => {}
            Meets::Threadgroup => state.loose &= conditional,
            Meets::Lanes { solid } => {
                state.any = true;
                state.loose = conditional || !solid;
                state.parted |= state.loose || !self.names.is_builtin(i);
            }
        }
    }
}

#[cfg(test)]
#[path = "reconverge_tests.rs"]
mod tests;
