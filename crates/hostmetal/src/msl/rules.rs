//! Rules of MSL that clang does not enforce in C++ for OpenCL mode (MSL specification 1.5.4 and 4; linux-metal-msl.md
//! section 4).
//!
//! Each rule looks for a token pattern that has one reading; where a pattern is ambiguous the rule keeps silent,
//! because rejecting a
//! valid program is worse than accepting an invalid one. Address spaces that are not named: pointers.rs. The wording is Apple's where its compiler's message is known.

use super::diagnose::Finding;
use super::pointers;
use super::scan::{Function, Program, Stage};
use super::token::{Kind, NONE, Stream};
use std::collections::{HashMap, HashSet};

/// Runs every rule.
pub(crate) fn check(
    stream: &Stream,
    program: &Program,
    inside: &[bool],
    globals: &HashSet<usize>,
    version: (u32, u32),
    findings: &mut Vec<Finding>,
) {
    let mut skipped = vec![false; stream.len()];
    for function in program.functions.iter().filter(|f| matches!(f.stage, Some(Stage::Graphics(_)))) {
        skipped[function.start..=function.end].fill(true);
    }
    let rules = Rules { s: stream, program, inside, globals, skipped };
    rules.words(findings);
    rules.newer_words(version, findings);
    pointers::check(stream, program, &rules.skipped, findings);
    rules.variables(findings);
    rules.shared_members(findings);
    rules.functions(findings);
    rules.kernel_calls(findings);
    if version < (2, 1) {
        rules.function_pointers(findings);
    }
    if version < (3, 2) {
        rules.lambdas(findings);
    }
    // Compute functions have it since Metal 2.4 (MSL 1.5.4).
    if version < (2, 4) {
        rules.recursion(findings);
    }
}

struct Rules<'a> {
    s: &'a Stream,
    program: &'a Program,
    inside: &'a [bool],
    /// First tokens of built-ins and bindings of the program (globals.rs).
    globals: &'a HashSet<usize>,
    /// Tokens of functions that are left out.
    skipped: Vec<bool>,
}

/// Words that MSL does not have.
const FORBIDDEN: [(&str, &str); 17] = [
    ("double", "'double' is not supported in Metal"),
    ("goto", "'goto' is not supported in Metal"),
    ("__int128", "'__int128' is not supported in Metal"),
    ("__int128_t", "'__int128_t' is not supported in Metal"),
    ("__uint128_t", "'__uint128_t' is not supported in Metal"),
    ("virtual", "virtual functions are not supported in Metal"),
    ("thread_local", "'thread_local' is not supported in Metal"),
    ("try", "exceptions are not supported in Metal"),
    ("throw", "exceptions are not supported in Metal"),
    ("dynamic_cast", "'dynamic_cast' is not supported in Metal"),
    ("typeid", "'typeid' is not supported in Metal"),
    ("co_await", "coroutines are not supported in Metal"),
    ("__constant", "OpenCL address spaces are not part of Metal"),
    ("__global", "OpenCL address spaces are not part of Metal"),
    ("__local", "OpenCL address spaces are not part of Metal"),
    ("__private", "OpenCL address spaces are not part of Metal"),
    ("__generic", "OpenCL address spaces are not part of Metal"),
];

/// Words of the library with the version that they came with (MSL specification 2.1, 2.2.3, 6.7, 6.9.2, 6.9.3, 6.15.4, 6.19).
const SINCE: [(&str, (u32, u32)); 23] = [
    ("simdgroup_matrix", (2, 3)),
    ("simdgroup_float8x8", (2, 3)),
    ("simdgroup_half8x8", (2, 3)),
    ("simdgroup_load", (2, 3)),
    ("simdgroup_store", (2, 3)),
    ("simdgroup_multiply", (2, 3)),
    ("simdgroup_multiply_accumulate", (2, 3)),
    ("make_filled_simdgroup_matrix", (2, 3)),
    ("simd_shuffle_and_fill_down", (2, 4)),
    ("simd_shuffle_and_fill_up", (2, 4)),
    ("quad_shuffle_and_fill_down", (2, 4)),
    ("quad_shuffle_and_fill_up", (2, 4)),
    ("atomic_float", (3, 0)),
    ("bfloat", (3, 1)),
    ("bfloat2", (3, 1)),
    ("bfloat3", (3, 1)),
    ("bfloat4", (3, 1)),
    ("packed_bfloat2", (3, 1)),
    ("packed_bfloat3", (3, 1)),
    ("packed_bfloat4", (3, 1)),
    ("simdgroup_bfloat8x8", (3, 1)),
    ("os_log", (3, 2)),
    ("os_log_default", (3, 2)),
];

/// Enumerations of what a sampler is made from (MSL specification 2.10).
const SAMPLING: [&str; 11] = [
    "coord",
    "address",
    "s_address",
    "t_address",
    "r_address",
    "border_color",
    "filter",
    "mag_filter",
    "min_filter",
    "mip_filter",
    "compare_func",
];

/// Whether a number is a floating-point literal with the suffix of `long double`.
fn is_long_double(literal: &str) -> bool {
    let hexadecimal = literal.starts_with("0x") || literal.starts_with("0X");
    let exponent: &[char] = if hexadecimal { &['p', 'P'] } else { &['e', 'E'] };
    literal.ends_with(['l', 'L']) && (literal.contains('.') || literal.contains(exponent))
}

impl Rules<'_> {
    fn words(&self, findings: &mut Vec<Finding>) {
        let s = self.s;
        for i in 0..s.len() {
            if !self.skipped[i] && s.kind(i) == Some(Kind::Number) && is_long_double(s.at(i)) {
                findings.push(Finding::error(i, "'long double' is not supported in Metal"));
            }
            if !self.skipped[i] && s.is(i, "^") && self.begins_value(i) {
                findings.push(Finding::error(i, "blocks are not supported in Metal"));
            }
            if self.skipped[i] || s.kind(i) != Some(Kind::Ident) {
                continue;
            }
            let word = s.at(i);
            let member = matches!(s.at(i.wrapping_sub(1)), "." | "->");
            if let Some((_, text)) = FORBIDDEN.iter().find(|(w, _)| *w == word).filter(|_| !member) {
                findings.push(Finding::error(i, *text));
            }
            match word {
                "long" if s.is(i + 1, "long") => {
                    findings.push(Finding::error(i, "'long long' is not supported in Metal"))
                }
                "asm" | "__asm__" | "__asm" if !member => {
                    findings.push(Finding::error(i, "inline assembly is not supported by hostmetal"))
                }
                "address_space" | "__address_space__" if self.is_attribute(i) => {
                    findings.push(Finding::error(i, format!("attribute '{word}' is not supported by hostmetal")))
                }
                "delete" if !s.is(i.wrapping_sub(1), "=") && !s.is(i.wrapping_sub(1), "operator") => {
                    findings.push(Finding::error(i, "'delete' is not supported in Metal"))
                }
                "new" if !member && !s.is(i.wrapping_sub(1), "operator") && (s.is_ident(i + 1) || s.is(i + 1, "(")) => {
                    findings.push(Finding::error(i, "'new' is not supported in Metal"));
                }
                // Behind a parameter list it belongs to the function.
                "noexcept"
                    if s.is(i + 1, "(")
                        && matches!(s.at(i.wrapping_sub(1)), "=" | "(" | "," | "return" | "!" | "&&" | "||") =>
                {
                    findings.push(Finding::error(i, "the 'noexcept' operator is not supported in Metal"));
                }
                "raytracing" if matches!(s.at(i.wrapping_sub(1)), "::" | "namespace") || s.is(i + 1, "::") => {
                    findings.push(Finding::error(i, "ray tracing is not supported by hostmetal"));
                }
                _ => {}
            }
        }
    }

    /// Words of later versions that are not the program's own.
    fn newer_words(&self, version: (u32, u32), findings: &mut Vec<Finding>) {
        let newer: HashMap<&str, (u32, u32)> = SINCE.into_iter().filter(|(_, since)| version < *since).collect();
        if newer.is_empty() {
            return;
        }
        let (s, program) = (self.s, self.program);
        let functions = program.functions.iter().map(|function| function.name);
        let variables = (1..s.len()).filter(|&i| pointers::is_builtin(s.at(i - 1)));
        let own: HashSet<&str> =
            program.types.iter().copied().chain(functions).chain(variables).map(|i| s.at(i)).collect();
        for i in (0..s.len()).filter(|&i| !self.skipped[i] && s.kind(i) == Some(Kind::Ident)) {
            let word = s.at(i);
            let known =
                newer.get(word).filter(|_| !own.contains(word) && !matches!(s.at(i.wrapping_sub(1)), "." | "->"));
            if let Some((major, minor)) = known {
                findings.push(Finding::error(i, format!("'{word}' is not available before Metal {major}.{minor}")));
            }
        }
    }

    /// Whether a value begins at `i`, since none ends before it: an operator there has no left side.
    fn begins_value(&self, i: usize) -> bool {
        i.checked_sub(1)
            .is_some_and(|before| matches!(self.s.at(before), "=" | "(" | "," | "return" | "{" | ";" | "?" | ":"))
    }

    /// Whether `__attribute__((...))` is around, or `clang::` before.
    fn is_attribute(&self, i: usize) -> bool {
        let s = self.s;
        if !s.is(i + 1, "(") {
            return false;
        }
        if s.is(i.wrapping_sub(1), "::") {
            return matches!(s.at(i.wrapping_sub(2)), "clang" | "_Clang");
        }
        (2..i).rev().take_while(|&j| !matches!(s.at(j), ";" | "{" | "}")).any(|j| {
            let opened = s.is(j, "(") && s.is(j - 1, "(") && matches!(s.at(j - 2), "__attribute__" | "__attribute");
            opened && s.mate[j] > i
        })
    }

    /// `[...](...) {` and `[...] {` where a value begins.
    fn lambdas(&self, findings: &mut Vec<Finding>) {
        let s = self.s;
        for i in 0..s.len() {
            let before = i.wrapping_sub(1);
            let object = matches!(s.at(before), ")" | "]" | "[") || (s.is_ident(before) && !s.is(before, "return"));
            if self.skipped[i] || !s.is(i, "[") || s.mate[i] == NONE || s.is(i + 1, "[") || object {
                continue;
            }
            let mut behind = s.mate[i] + 1;
            if s.is(behind, "(") {
                behind = s.skip(behind);
                while behind < s.len() && !matches!(s.at(behind), "{" | ";" | "," | ")") {
                    behind = s.skip(behind);
                }
            }
            if s.is(behind, "{") {
                findings.push(Finding::error(i, "lambda expressions are not supported before Metal 3.2"));
            }
        }
    }

    fn variables(&self, findings: &mut Vec<Finding>) {
        let s = self.s;
        for variable in &self.program.variables {
            if self.skipped[variable.start] || self.globals.contains(&variable.start) {
                continue;
            }
            let words: Vec<&str> = (variable.start..variable.name).map(|i| s.at(i)).collect();
            let excused = ["using", "typedef", "template", "friend", "namespace", "concept"];
            // A sampler that is `constexpr` is in `constant` by itself.
            let sampler = words.contains(&"constexpr") && words.contains(&"sampler");
            if words.iter().any(|w| excused.contains(w))
                || sampler
                || !words.iter().any(|w| w.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
            {
                continue;
            }
            let constant = |from, to| self.object_words(from, to).any(|i| s.is(i, "constant"));
            // What the words in front of the first `*` say is said of all that are no pointers.
            let specified = (self.outer(variable.start, variable.name).into_iter())
                .take_while(|&i| !s.is(i, "*"))
                .any(|i| s.is(i, "constant"));
            let mut names = vec![(variable.name, constant(variable.start, variable.name))];
            for (from, to) in s.split(variable.name, variable.end).into_iter().skip(1) {
                // In front of its name stand a pointer's `*` and qualifiers only; behind it may be anything: `a(2 * b)`.
                let qualifies =
                    |i: usize| pointers::SPACES.contains(&s.at(i)) || matches!(s.at(i), "const" | "volatile");
                let Some(name) = (from..to).find(|&i| s.is_ident(i) && !qualifies(i)) else { continue };
                let pointer = (from..name).any(|i| s.is(i, "*"));
                names.push((name, if pointer { constant(from, name) } else { specified }));
            }
            for (name, _) in names.into_iter().filter(|(_, constant)| !constant) {
                findings.push(Finding::error(name, "program scope variable must reside in constant address space"));
            }
        }
        // `const sampler s(filter::linear);` and `constant int *p(table);` look like functions.
        let mut known: HashSet<&str> = self.program.variables.iter().map(|v| s.at(v.name)).collect();
        for function in self.program.functions.iter().filter(|f| f.body.is_none() && !f.in_class) {
            let (first, name) = (function.params.0 + 1, function.name);
            let value = if s.is(first, "metal") { first + 2 } else { first };
            let sampler = s.is(name - 1, "sampler") && SAMPLING.contains(&s.at(value)) && s.is(value + 1, "::");
            let declared = (function.head..name).any(|i| matches!(s.at(i), "constexpr" | "constant"));
            let copy = first + 1 == function.params.1 && known.contains(s.at(first));
            let constant = self.object_words(function.head, name).any(|i| s.is(i, "constant"));
            if copy {
                known.insert(s.at(name));
            }
            if sampler && !declared || copy && !constant {
                findings.push(Finding::error(name, "program scope variable must reside in constant address space"));
            }
        }
        // `static` in a function: only constants live longer than the call.
        for i in (0..s.len()).filter(|&i| self.inside[i] && !self.skipped[i] && s.is(i, "static")) {
            // Other words of the declaration may stand before it.
            let begin = (0..i).rev().take_while(|&j| s.is_ident(j)).last().unwrap_or(i);
            if !s.before(begin).is_some_and(|b| matches!(s.at(b), ";" | "{" | "}" | ":")) {
                continue;
            }
            if self.program.classes.iter().any(|&(open, close)| open < i && i < close) && !self.in_method(i) {
                continue;
            }
            let stop = (i..s.len()).find(|&j| matches!(s.at(j), ";" | "=" | "{" | "(")).unwrap_or(i);
            let constant = (begin..stop).any(|j| s.is(j, "constexpr"))
                || self.object_words(begin, stop).any(|j| matches!(s.at(j), "constant" | "threadgroup"));
            if !constant && !self.in_local_class(i) {
                findings.push(Finding::error(i, "static local variables must be in the constant address space"));
            }
        }
    }

    /// What all objects of a class share is a variable of the program.
    fn shared_members(&self, findings: &mut Vec<Finding>) {
        let s = self.s;
        let member =
            |i: usize| self.program.classes.iter().any(|&(open, close)| open < i && i < close) && !self.inside[i];
        for i in (0..s.len()).filter(|&i| s.is(i, "static") && !self.skipped[i] && member(i)) {
            let stop = (i..s.len()).find(|&j| matches!(s.at(j), ";" | "=" | "{" | "(")).unwrap_or(i);
            let begin =
                (0..i).rev().take_while(|&j| !matches!(s.at(j), ";" | "{" | "}" | ":" | ">")).last().unwrap_or(i);
            let constant = (begin..stop).any(|j| s.is(j, "constexpr"))
                || self.object_words(begin, stop).any(|j| matches!(s.at(j), "const" | "constant"));
            if !constant && !s.is(stop, "(") {
                findings.push(Finding::error(i, "static data members must be in the constant address space"));
            }
        }
    }

    /// Of the words of a declaration those that are said of its object: behind the last `*`, before which they are of what it points to.
    fn object_words(&self, start: usize, end: usize) -> impl Iterator<Item = usize> {
        let words = self.outer(start, end);
        let begin = words.iter().rposition(|&i| self.s.is(i, "*")).map_or(0, |star| star + 1);
        words.into_iter().skip(begin)
    }

    /// The tokens that are in no brackets; the name that a declaration ends in may itself be in some: `int (*x)[3]`.
    fn outer(&self, start: usize, end: usize) -> Vec<usize> {
        let s = self.s;
        let (mut i, mut outer) = (start, Vec::new());
        while i < end {
            match s.at(i) {
                // The name of a variable that is an instance may be within.
                "<" => i = s.angle_close(i, s.len()).unwrap_or(i),
                "(" | "[" | "{" if s.mate[i] != NONE && s.mate[i] < end => i = s.mate[i],
                _ => outer.push(i),
            }
            i += 1;
        }
        outer
    }

    fn in_method(&self, i: usize) -> bool {
        self.program.functions.iter().any(|f| f.in_class && f.body.is_some_and(|(open, close)| open < i && i < close))
    }

    /// Whether the innermost braces around `i` are those of a class in a function.
    fn in_local_class(&self, i: usize) -> bool {
        let s = self.s;
        let mut j = i;
        while j > 0 {
            j -= 1;
            match s.at(j) {
                ")" | "]" | "}" if s.mate[j] != NONE => j = s.mate[j],
                "{" => {
                    let mut k = j;
                    while k > 0 && !matches!(s.at(k - 1), ";" | "{" | "}" | ")") {
                        k -= 1;
                    }
                    return matches!(s.at(k), "struct" | "class" | "union");
                }
                _ => {}
            }
        }
        false
    }

    fn functions(&self, findings: &mut Vec<Finding>) {
        let s = self.s;
        for function in &self.program.functions {
            if self.skipped[function.start] {
                continue;
            }
            let (_, close) = function.params;
            // C's variable arguments: `...` that belongs to no parameter pack.
            if s.is(close - 1, "...") && (matches!(s.at(close - 2), "," | "(")) {
                findings.push(Finding::error(close - 1, "variadic functions are not supported in Metal"));
            }
            if function.stage == Some(Stage::Kernel) && !(function.head..function.name).any(|i| s.is(i, "void")) {
                findings.push(Finding::error(
                    function.name,
                    format!("kernel '{}' must have void return type", s.at(function.name)),
                ));
            }
        }
    }

    /// Calls by the names of kernels, where a name is nothing else.
    fn kernel_calls(&self, findings: &mut Vec<Finding>) {
        let s = self.s;
        let (kernels, others): (Vec<&Function>, Vec<&Function>) =
            self.program.functions.iter().partition(|function| function.stage == Some(Stage::Kernel));
        let mut names: HashSet<&str> = kernels.iter().map(|kernel| s.at(kernel.name)).collect();
        for other in others {
            names.remove(s.at(other.name));
        }
        for function in self.program.functions.iter().filter(|function| !self.skipped[function.start]) {
            let Some((open, close)) = function.body else { continue };
            // Behind the call's arguments of templates.
            let call =
                |i: usize| if s.is(i + 1, "<") { s.angle_close(i + 1, close).map_or(i, |end| end + 1) } else { i + 1 };
            let names: HashSet<&str> =
                (open..close).filter(|&i| names.contains(s.at(i)) && s.is(call(i), "(")).map(|i| s.at(i)).collect();
            for name in names {
                let is = |i: &usize| s.is(*i, name) && !matches!(s.at(i - 1), "." | "->");
                let own =
                    (function.params.0..open).any(|i| is(&i)) || (open..close).any(|i| is(&i) && !s.is(call(i), "("));
                let declared = |i: usize| s.is_ident(i - 1) && !matches!(s.at(i - 1), "return" | "else" | "do");
                if own || (open..close).any(|i| is(&i) && declared(i)) {
                    continue;
                }
                for i in (open..close).filter(is) {
                    findings.push(Finding::error(i, format!("call to kernel function '{name}'")));
                }
            }
        }
    }

    /// Before Metal 2.1 there are none.
    fn function_pointers(&self, findings: &mut Vec<Finding>) {
        let s = self.s;
        for function in self.program.functions.iter().filter(|function| !self.skipped[function.start]) {
            let (open, close) = function.params;
            for (start, end) in s.split(open + 1, close) {
                self.function_pointer(start, end, findings);
            }
            if let Some((open, close)) = function.body {
                for i in open..close {
                    if matches!(s.at(i), ";" | "{" | "}") {
                        let end = (i + 1..close).find(|&j| matches!(s.at(j), ";" | "{" | "}" | "=")).unwrap_or(close);
                        self.function_pointer(i + 1, end, findings);
                    }
                }
            }
        }
    }

    /// `void (*f)(int)` as a declaration: words of a type, then the declarator.
    fn function_pointer(&self, start: usize, end: usize, findings: &mut Vec<Finding>) {
        let s = self.s;
        let mut i = start;
        while i < end && (s.is_ident(i) || matches!(s.at(i), "::" | "*" | "&")) {
            if matches!(s.at(i), "return" | "sizeof" | "case" | "else" | "do") {
                return;
            }
            i += 1;
            if s.is(i, "<") {
                let Some(close) = s.angle_close(i, end) else { return };
                i = close + 1;
            }
        }
        // One word could be a call, `f(*p)(x)`; a scalar type cannot.
        let typed = i > start + 1 || pointers::is_builtin(s.at(start));
        if i > start
            && typed
            && s.is(i, "(")
            && s.is(i + 1, "*")
            && s.is_ident(i + 2)
            && s.is(i + 3, ")")
            && s.is(i + 4, "(")
        {
            findings.push(Finding::error(i + 2, "pointers to functions are not allowed before Metal 2.1"));
        }
    }

    /// Call cycles among functions that are named once in the whole program and are no templates: there a name is a
    /// call of that function.
    fn recursion(&self, findings: &mut Vec<Finding>) {
        let s = self.s;
        let mut named: HashMap<&str, Vec<&Function>> = HashMap::new();
        for function in &self.program.functions {
            named.entry(s.at(function.name)).or_default().push(function);
        }
        let mut unique: HashMap<&str, &Function> = HashMap::new();
        for (name, functions) in named {
            let mut defined = functions.iter().filter(|f| f.body.is_some());
            let (Some(function), None) = (defined.next(), defined.next()) else { continue };
            let same = functions.iter().all(|f| {
                s.words(f.params.0, f.params.1) == s.words(function.params.0, function.params.1) || f.body.is_some()
            });
            if same
                && name != "operator"
                && !function.in_class
                && !function.is_template()
                && !self.skipped[function.start]
            {
                unique.insert(name, function);
            }
        }
        let called = |function: &Function| -> Vec<usize> {
            let Some((open, close)) = function.body else { return Vec::new() };
            (open..close)
                .filter(|&i| {
                    s.is_ident(i)
                        && s.is(i + 1, "(")
                        && !matches!(s.at(i - 1), "." | "->" | "::")
                        && (!s.is_ident(i - 1) || matches!(s.at(i - 1), "return" | "else" | "do" | "case"))
                        && unique.contains_key(s.at(i))
                })
                .collect()
        };
        // Depth first with colours; each back edge is one finding.
        let mut colour: HashMap<&str, u8> = HashMap::new();
        let mut order: Vec<&&str> = unique.keys().collect();
        order.sort_by_key(|name| unique[**name].name);
        for root in order {
            if colour.contains_key(*root) {
                continue;
            }
            let mut stack = vec![(*root, called(unique[*root]), 0usize)];
            colour.insert(root, 1);
            while let Some((name, calls, next)) = stack.last_mut() {
                let Some(&call) = calls.get(*next) else {
                    colour.insert(name, 2);
                    stack.pop();
                    continue;
                };
                *next += 1;
                let callee = s.at(call);
                match colour.get(callee) {
                    Some(1) => findings.push(Finding::error(
                        call,
                        format!("recursive call of '{callee}': recursion is not supported before Metal 2.4"),
                    )),
                    Some(_) => {}
                    None => {
                        colour.insert(callee, 1);
                        stack.push((callee, called(unique[callee]), 0));
                    }
                }
            }
        }
    }
}
