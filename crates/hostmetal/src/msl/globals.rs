//! Program-scope built-ins and bindings (MSL specification 5.9): `uint2 gid [[thread_position_in_grid]];` outside of functions.
//!
//! A variable that each thread sees with a value of its own cannot be one of the program's here, where threads share them. So every
//! function that names such a variable, and every one that calls such a function, gets it as a parameter in front of its own; calls
//! pass it on, and a kernel has it as an argument like any other. Names tell who calls whom: all functions of a name get what any of
//! them needs.
//!
//! | MSL | written instead |
//! |---|---|
//! | `uint2 gid [[thread_position_in_grid]];` | nothing |
//! | `float f(float x) { return x + gid.x; }` | `float f(const uint2 hm_at_gid, float x) { const auto gid = hm_at_gid; { ... }}` |
//! | `f(1)`, `o.f<int>(1)` | `f(hm_at_gid, 1)`, `o.f<int>(hm_at_gid, 1)` |
//! | `[] { return f(1); }` | `[hm_at_gid] { ... }` |
//!
//! A function that needs one and is an operator, a constructor or a destructor, or is handed on without a call, is refused by name.

use super::constants::Known;
use super::diagnose::Finding;
use super::kernels::{Index, Parameter, Role, attributes, is_argument, parameter};
use super::rewrite::Edits;
use super::scan::{Function, Program, Stage, Variable};
use super::token::{NONE, Stream};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// A built-in or binding of the program.
struct Global<'a> {
    name: &'a str,
    parameter: Parameter,
    /// Its type as a parameter's.
    kind: String,
}

/// What each kernel gets besides its own parameters.
#[derive(Default)]
pub(crate) struct Globals {
    /// By the token of the kernel's name: parameters, and their types.
    kernels: HashMap<usize, Vec<(Parameter, String)>>,
    /// First tokens of the declarations.
    pub(crate) declarations: HashSet<usize>,
    /// Tokens of the names of functions that get parameters besides their own.
    changed: HashSet<usize>,
}

impl Global<'_> {
    fn is_same(&self, other: &Global<'_>) -> bool {
        let (one, two) = (&self.parameter, &other.parameter);
        let place =
            matches!(one.role, Role::Input(_)) || matches!(one.index, Some(Index::Known(_))) && one.index == two.index;
        place && one.role == two.role && self.kind == other.kind
    }
}

impl Globals {
    pub(crate) fn of(&self, function: &Function) -> &[(Parameter, String)] {
        self.kernels.get(&function.name).map_or(&[], Vec::as_slice)
    }

    /// Whether the function has other parameters than it is written with.
    pub(crate) fn change(&self, function: &Function) -> bool {
        self.changed.contains(&function.name)
    }
}

/// Finds the variables, takes them out, and hands them to the functions that need them.
pub(crate) fn rewrite(
    stream: &Stream,
    program: &Program,
    known: &Known,
    version: (u32, u32),
    edits: &mut Edits,
    findings: &mut Vec<Finding>,
) -> Globals {
    let mut found = Globals::default();
    let mut globals: BTreeMap<usize, Global<'_>> = BTreeMap::new();
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    for variable in &program.variables {
        let Some(global) = read(stream, variable, known, version, findings) else { continue };
        found.declarations.insert(variable.start);
        edits.remove(variable.start, variable.end + 1);
        // Several may be bound to one place (5.9), or one be declared before it is defined.
        let same = globals.iter().find(|(_, other)| other.is_same(&global));
        let number = same.map_or(variable.name, |(number, _)| *number);
        if names.insert(global.name, number).is_some_and(|before| before != number) {
            findings.push(Finding::error(variable.name, format!("redefinition of '{}'", global.name)));
        }
        globals.entry(number).or_insert(global);
    }
    if globals.is_empty() {
        return found;
    }
    let mut pass =
        Pass { s: stream, program, globals: &globals, names, needs: HashMap::new(), members: HashSet::new() };
    pass.spread();
    pass.check(findings);
    for function in &program.functions {
        let Some(needs) = pass.needs.get(stream.at(function.name)) else { continue };
        if matches!(function.stage, Some(Stage::Graphics(_))) {
            continue;
        }
        pass.function(function, needs, edits);
        found.changed.insert(function.name);
        if function.stage == Some(Stage::Kernel) {
            let own = needs.iter().map(|number| &globals[number]);
            found.kernels.insert(function.name, own.map(|g| (g.parameter.clone(), g.kind.clone())).collect());
        }
    }
    found
}

/// The built-in or binding that a variable is.
fn read<'a>(
    s: &'a Stream,
    variable: &Variable,
    known: &Known,
    version: (u32, u32),
    findings: &mut Vec<Finding>,
) -> Option<Global<'a>> {
    let (from, end) = (variable.start, variable.end);
    let open = (from..end).find(|&i| s.attribute(i).is_some())?;
    let attribute = attributes(s, open).into_iter().find(|attribute| is_argument(s.at(attribute.name)))?;
    let is_binding = Role::of_attribute(s.at(attribute.name)).is_some();
    if version < (3, if is_binding { 2 } else { 1 }) {
        if is_binding {
            let text = format!("program-scope '[[{}]]' needs Metal 3.2", s.at(attribute.name));
            findings.push(Finding::error(attribute.name, text));
        }
        return None;
    }
    let name = open.checked_sub(1).filter(|&name| name > from && s.is_ident(name))?;
    if s.attribute(open) != Some(end) {
        let text = format!("'{}' must be declared alone and without an initializer", s.at(name));
        findings.push(Finding::error(name, text));
        return None;
    }
    // Behind the `*` the address space is the variable's own.
    let pointer = (from..name).rev().find(|&i| matches!(s.at(i), "*" | "&"));
    if let Some(mark) = pointer.filter(|&i| s.is(i, "&")) {
        findings.push(Finding::error(mark, format!("'{}' is a reference, which cannot be declared here", s.at(name))));
        return None;
    }
    let is_own = |i: usize| {
        let space = s.is(i, "constant") && pointer.is_none_or(|mark| i > mark);
        space
            || matches!(s.at(i), "static" | "extern" | "constexpr")
            || (s.is(i, "const") && pointer.is_none_or(|mark| i > mark))
    };
    let first = (from..name).find(|&i| !is_own(i))?;
    let parameter = parameter(s, first, end, known, findings)?;
    let words = (first..name).filter(|&i| !is_own(i)).map(|i| s.at(i));
    // Nobody edits what is written here (`rewrite::unrestrict`).
    let words: Vec<&str> = words.filter(|word| !matches!(*word, "__restrict" | "__restrict__")).collect();
    let constness = if matches!(parameter.role, Role::Input(_)) { "const " } else { "" };
    Some(Global { name: s.at(name), parameter, kind: format!("{constness}{}", words.join(" ")) })
}

struct Pass<'a> {
    s: &'a Stream,
    program: &'a Program,
    globals: &'a BTreeMap<usize, Global<'a>>,
    /// The variable that each name stands for.
    names: BTreeMap<&'a str, usize>,
    /// What functions of a name need, by the token of each variable's name.
    needs: HashMap<&'a str, BTreeSet<usize>>,
    /// Names of methods.
    members: HashSet<&'a str>,
}

impl<'a> Pass<'a> {
    /// The tokens in which a function may use something: behind its parameters.
    fn code(function: &Function) -> std::ops::Range<usize> {
        function.body.map_or(0..0, |(_, close)| function.params.1 + 1..close)
    }

    /// The variable that the token names; a parameter of the same name hides it.
    fn mentioned(&self, function: &Function, i: usize) -> Option<usize> {
        let s = self.s;
        if matches!(s.at(i.wrapping_sub(1)), "." | "->") || !s.is_ident(i) {
            return None;
        }
        let number = *self.names.get(s.at(i))?;
        let qualifier = i.wrapping_sub(2);
        if s.is(i.wrapping_sub(1), "::") && !self.is_space(qualifier) && self.is_scope(qualifier) {
            return None;
        }
        let hidden = s
            .split(function.params.0 + 1, function.params.1)
            .into_iter()
            .filter_map(|(from, to)| super::kernels::declared_name(s, from, to))
            .any(|own| s.is(own, s.at(i)));
        (!hidden).then_some(number)
    }

    /// Whether the token names a namespace of the program.
    fn is_space(&self, i: usize) -> bool {
        self.s.is_ident(i) && self.program.scopes.iter().flatten().any(|space| self.s.is(i, space))
    }

    /// Whether a `::` behind the token would look into what it names, rather than begin a name.
    fn is_scope(&self, i: usize) -> bool {
        let s = self.s;
        s.is(i, ">") || (s.is_ident(i) && !matches!(s.at(i), "return" | "case" | "else" | "do"))
    }

    /// The `(` of a call of a function of the program by the name at `i`.
    fn call(&self, i: usize) -> Option<usize> {
        let s = self.s;
        if !s.is_ident(i) || (matches!(s.at(i.wrapping_sub(1)), "." | "->") && !self.members.contains(s.at(i))) {
            return None;
        }
        if s.is(i.wrapping_sub(1), "::") && s.is(i.wrapping_sub(2), "metal") {
            return None;
        }
        let open = if s.is(i + 1, "<") { s.angle_close(i + 1, s.len())? + 1 } else { i + 1 };
        (s.is(open, "(") && s.mate[open] != NONE).then_some(open)
    }

    fn spread(&mut self) {
        let (s, program) = (self.s, self.program);
        let functions = || program.functions.iter().filter(|f| !matches!(f.stage, Some(Stage::Graphics(_))));
        self.members = functions().filter(|f| f.in_class).map(|f| s.at(f.name)).collect();
        for function in functions() {
            let own: BTreeSet<usize> = Self::code(function).filter_map(|i| self.mentioned(function, i)).collect();
            if !own.is_empty() {
                self.needs.entry(s.at(function.name)).or_default().extend(own);
            }
        }
        loop {
            let mut grown = false;
            for function in functions() {
                let called =
                    Self::code(function).filter(|&i| self.needs.contains_key(s.at(i)) && self.call(i).is_some());
                let more: BTreeSet<usize> = called.flat_map(|i| self.needs[s.at(i)].iter().copied()).collect();
                if !more.is_empty() {
                    let own = self.needs.entry(s.at(function.name)).or_default();
                    let before = own.len();
                    own.extend(more);
                    grown |= own.len() > before;
                }
            }
            if !grown {
                return;
            }
        }
    }

    /// Refuses what parameters cannot be given to.
    fn check(&self, findings: &mut Vec<Finding>) {
        let s = self.s;
        let types: HashSet<&str> = self.program.types.iter().map(|&i| s.at(i)).collect();
        let named: HashSet<usize> = self.program.functions.iter().map(|f| f.name).collect();
        for function in &self.program.functions {
            let of = |needs: &BTreeSet<usize>| needs.first().map_or("", |number| self.globals[number].name);
            let special = s.is(function.name, "operator") || (function.in_class && types.contains(s.at(function.name)));
            if let (true, Some(needs)) = (special, self.needs.get(s.at(function.name))) {
                let text = format!(
                    "hostmetal does not support the program-scope variable '{}' in an operator, a constructor or a destructor",
                    of(needs)
                );
                findings.push(Finding::error(function.name, text));
            }
            if matches!(function.stage, Some(Stage::Graphics(_))) {
                continue;
            }
            for i in Self::code(function) {
                let Some(needs) = self.needs.get(s.at(i)).filter(|_| s.is_ident(i) && !named.contains(&i)) else {
                    continue;
                };
                let plain = !matches!(s.at(i.wrapping_sub(1)), "." | "->");
                if plain && self.call(i).is_none() && !s.is(i.wrapping_sub(1), "::") && !self.is_object(i) {
                    let text = format!(
                        "hostmetal does not support a function that uses the program-scope variable '{}' other than in a call",
                        of(needs)
                    );
                    findings.push(Finding::error(i, text));
                }
            }
        }
    }

    /// Whether the token is the name of a local object rather than of a function: `float f = 1;`, and what follows from it.
    fn is_object(&self, i: usize) -> bool {
        let s = self.s;
        let declared = |j: usize| {
            let typed = s.is_ident(j.wrapping_sub(1)) && !matches!(s.at(j - 1), "return" | "case" | "else" | "sizeof");
            typed && matches!(s.at(j + 1), "=" | ";" | "," | "[" | ")" | "{")
        };
        let Some(open) = (0..i).rev().find(|&j| s.is(j, "{") && s.mate[j] != NONE && s.mate[j] > i) else {
            return false;
        };
        declared(i) || (open..i).any(|j| s.is(j, s.at(i)) && declared(j))
    }

    fn function(&self, function: &Function, needs: &BTreeSet<usize>, edits: &mut Edits) {
        let s = self.s;
        let (open, close) = function.params;
        let list: Vec<String> = needs
            .iter()
            .map(|number| format!("{} hm_at_{}", self.globals[number].kind, self.globals[number].name))
            .collect();
        let empty = open + 1 == close || (open + 2 == close && s.is(open + 1, "void"));
        if empty && open + 2 == close {
            edits.remove(open + 1, close);
        }
        edits.behind(open, &format!("{}{}", list.join(", "), if empty { "" } else { ", " }));
        let Some((brace, end)) = function.body else { return };
        let mut named = BTreeSet::new();
        for i in Self::code(function) {
            if let Some(number) = self.mentioned(function, i) {
                named.insert((s.at(i), number));
                // `::gid`, `space::gid`: it is not there any more.
                let mut first = i;
                while s.is(first.wrapping_sub(1), "::") {
                    first -= if self.is_space(first.wrapping_sub(2)) { 2 } else { 1 };
                }
                edits.remove(first, i);
            } else if let Some(needs) = self.needs.get(s.at(i))
                && let Some(paren) = self.call(i)
            {
                let passed: Vec<String> =
                    needs.iter().map(|number| format!("hm_at_{}", self.globals[number].name)).collect();
                let more = if paren + 1 == s.mate[paren] { "" } else { ", " };
                edits.behind(paren, &format!("{}{more}", passed.join(", ")));
            }
        }
        let mut before = String::new();
        for (name, number) in &named {
            let own = self.globals[number].name;
            before.push_str(&format!(" const auto {name} __attribute__((unused)) = hm_at_{own};"));
        }
        if !named.is_empty() {
            edits.behind(brace, &format!("{before} {{"));
            edits.before(end, "} ");
        }
        self.captures(function, edits);
    }

    /// Lambdas without a default capture name what they use.
    fn captures(&self, function: &Function, edits: &mut Edits) {
        let s = self.s;
        for i in Self::code(function) {
            let value = matches!(s.at(i.wrapping_sub(1)), ")" | "]" | ">")
                || (s.is_ident(i.wrapping_sub(1)) && !s.is(i.wrapping_sub(1), "return"));
            if !s.is(i, "[") || s.mate[i] == NONE || value || s.is(i + 1, "[") || s.is(i.wrapping_sub(1), "[") {
                continue;
            }
            let close = s.mate[i];
            let default = matches!((s.at(i + 1), s.at(i + 2)), ("=" | "&", "," | "]"));
            let Some(body) = (close..function.end).find(|&j| matches!(s.at(j), "{" | ";")).filter(|&j| s.is(j, "{"))
            else {
                continue;
            };
            let mut wanted = BTreeSet::new();
            for j in body..s.mate[body].min(function.end) {
                if self.mentioned(function, j).is_some() {
                    wanted.insert(s.at(j).to_owned());
                } else if let (Some(needs), true) = (self.needs.get(s.at(j)), self.call(j).is_some()) {
                    wanted.extend(needs.iter().map(|number| format!("hm_at_{}", self.globals[number].name)));
                }
            }
            if !default && !wanted.is_empty() {
                let list: Vec<String> = wanted.into_iter().collect();
                let comma = if i + 1 == close { "" } else { ", " };
                edits.before(close, &format!("{comma}{}", list.join(", ")));
            }
        }
    }
}
