//! Which names stand for code in which the lanes of a SIMD-group or quad meet: an over-approximation without types.
//!
//! The functions of the language are known; a function, method, lambda or alias of the program counts when its tokens
//! have one that counts. Code that is handed on without a call (a lambda, a function as an argument, an object with
//! `operator()`) may be called through any object: then every call through a name that also stands without a call
//! counts.

use super::constants::DataType;
use super::reach::synchronises;
use super::scan::Program;
use super::token::{NONE, Stream};
use std::collections::HashSet;

/// What happens at a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meets {
    Nobody,
    /// All threads of the threadgroup.
    Threadgroup,
    /// Lanes; `solid` when behind it every lane that came to it has met the others.
    Lanes {
        solid: bool,
    },
}

/// A body with a name.
pub(super) struct Item<'a> {
    pub(super) name: &'a str,
    pub(super) body: (usize, usize),
    /// Before this token (behind it for a lambda) is room for an attribute.
    pub(super) attribute: Option<usize>,
    pub(super) lambda: bool,
}

/// The names of a program.
pub(super) struct Names<'a> {
    s: &'a Stream,
    items: Vec<Item<'a>>,
    meeting: HashSet<&'a str>,
    loose: HashSet<&'a str>,
    /// Names that stand without a call somewhere.
    objects: HashSet<&'a str>,
    /// Meeting code is called through objects.
    indirect: bool,
    /// An overloaded operator meets.
    operators: bool,
    /// The source has a function of the language that meets.
    any: bool,
}

/// Types and functions that are named like meeting ones, but only hold or move values of their own lane.
const LONELY: [&str; 13] = [
    "simdgroup_matrix",
    "simdgroup_float8x8",
    "simdgroup_half8x8",
    "simdgroup_bfloat8x8",
    "simdgroup_load",
    "simdgroup_store",
    "simdgroup_event",
    "make_filled_simdgroup_matrix",
    "simd_vote",
    "quad_vote",
    "simdgroup_async_copy",
    "simdgroup_index_in_threadgroup",
    "quadgroup_index_in_threadgroup",
];

/// What a function of the language does.
fn builtin(s: &Stream, i: usize) -> Meets {
    let word = s.at(i);
    if !s.is_ident(i) || LONELY.contains(&word) || !synchronises(s, i) {
        return Meets::Nobody;
    }
    if word.ends_with("barrier") && !word.contains("simd") && !word.contains("quad") {
        return Meets::Threadgroup;
    }
    Meets::Lanes { solid: true }
}

impl<'a> Names<'a> {
    /// `outside`: functions that the program declares and does not define count as well.
    pub(super) fn new(s: &'a Stream, program: &Program, outside: bool) -> Self {
        let mut names = Self {
            s,
            items: Vec::new(),
            meeting: HashSet::new(),
            loose: HashSet::new(),
            objects: HashSet::new(),
            indirect: false,
            operators: false,
            any: (0..s.len()).any(|i| matches!(builtin(s, i), Meets::Lanes { .. })),
        };
        if outside {
            for function in program.undefined(s) {
                names.any = true;
                names.meeting.insert(s.at(function.name));
                names.loose.insert(s.at(function.name));
            }
        }
        if !names.any {
            return names;
        }
        names.collect(program);
        // Until nothing is added: names in bodies, then aliases of them.
        loop {
            let before = (names.meeting.len(), names.indirect, names.operators);
            for number in 0..names.items.len() {
                let (name, (open, close)) = (names.items[number].name, names.items[number].body);
                let lambda = names.items[number].lambda;
                let known = names.meeting.contains(name) && !lambda;
                if known || !(open..close).any(|i| matches!(names.at(i), Meets::Lanes { .. })) {
                    continue;
                }
                match name {
                    "operator" => names.operators = true,
                    "operator()" => names.indirect = true,
                    _ => drop(names.meeting.insert(name)),
                }
                names.indirect |= lambda;
            }
            for region in &program.regions {
                let (start, end) = region.range;
                if matches!(s.at(start), "using" | "typedef" | "template")
                    && (start..end).any(|i| s.is(i, "using") || s.is(i, "typedef"))
                    && (start..end).any(|i| matches!(names.at(i), Meets::Lanes { .. }))
                {
                    names.meeting.extend(region.names.iter().map(|&n| s.at(n)));
                }
            }
            names.indirect |= (0..s.len()).any(|i| names.meeting.contains(s.at(i)) && !names.is_called(i));
            if before == (names.meeting.len(), names.indirect, names.operators) {
                return names;
            }
        }
    }

    fn collect(&mut self, program: &Program) {
        let s = self.s;
        for function in &program.functions {
            if let Some(body) = function.body {
                let call = s.is(function.name, "operator") && s.is(function.name + 1, "(");
                let name = if call { "operator()" } else { s.at(function.name) };
                let attribute = function.stage.is_none().then_some(function.head);
                self.items.push(Item { name, body, attribute, lambda: false });
            }
        }
        for i in 0..s.len() {
            if s.is(i, "friend")
                && let Some(open) = (i..s.len()).find(|&j| matches!(s.at(j), "{" | ";")).filter(|&j| s.is(j, "{"))
                && let Some(paren) = (i..open).find(|&j| s.is(j, "("))
                && s.mate[open] != NONE
            {
                let operator = (i..paren).any(|j| s.is(j, "operator"));
                let name = if operator { "operator" } else { s.at(paren - 1) };
                self.items.push(Item { name, body: (open, s.mate[open]), attribute: Some(i), lambda: false });
            }
            if s.is(i, "[")
                && let Some(open) = self.lambda_body(i, s.len())
            {
                let named = i >= 2 && s.is(i - 1, "=") && s.is_ident(i - 2);
                let parameters = s.mate[i] + 1;
                let attribute = s.is(parameters, "(").then(|| s.mate[parameters]);
                let name = if named { s.at(i - 2) } else { "" };
                self.items.push(Item { name, body: (open, s.mate[open]), attribute, lambda: true });
            }
            if s.is_ident(i) && matches!(s.at(i + 1), "," | ")" | ";" | "=" | "{" | "[") {
                self.objects.insert(s.at(i));
            }
        }
    }

    /// Whether any code in the source meets.
    pub(super) fn any(&self) -> bool {
        self.any
    }

    pub(super) fn items(&self) -> &[Item<'a>] {
        &self.items
    }

    pub(super) fn meets(&self, name: &str) -> bool {
        match name {
            "operator" => self.operators,
            "operator()" => self.indirect,
            _ => self.meeting.contains(name),
        }
    }

    /// Whether the token names a function of the language that meets, and none of the program.
    pub(super) fn is_builtin(&self, i: usize) -> bool {
        builtin(self.s, i) != Meets::Nobody && !self.meeting.contains(self.s.at(i))
    }

    /// Whether an overloaded operator may meet.
    pub(super) fn operators(&self) -> bool {
        self.operators
    }

    pub(super) fn is_solid(&self, name: &str) -> bool {
        !self.loose.contains(name)
    }

    pub(super) fn loosen(&mut self, names: &[&'a str]) {
        self.loose.extend(names);
    }

    /// Where a function in which lanes meet becomes a value other than an argument, which is called by name once all is inlined: it may be
    /// called through a pointer.
    pub(super) fn pointer(&self, program: &Program) -> Option<usize> {
        let s = self.s;
        let free = program.functions.iter().filter(|f| !f.in_class && f.body.is_some() && f.stage.is_none());
        // `operator` is the name of many.
        let named = |name: &&str| *name != "operator" && self.meeting.contains(name);
        let names: HashSet<&str> = free.map(|function| s.at(function.name)).filter(named).collect();
        let function = |i: usize| {
            let mut first = i;
            while s.is(first.wrapping_sub(1), "::") {
                first -= if s.is_ident(first.wrapping_sub(2)) { 2 } else { 1 };
            }
            if s.is(first.wrapping_sub(1), "&") {
                first -= 1;
            }
            names.contains(s.at(i)) && !self.is_called(i) && self.is_stored(first) && !self.is_variable(i, program)
        };
        let lambda = |item: &&Item| item.lambda && (item.body.0..item.body.1).any(|i| self.meets_at(i));
        let captures = |item: &Item| {
            (0..item.body.0).rev().find(|&i| s.is(i, "[") && self.lambda_body(i, s.len()) == Some(item.body.0))
        };
        // Without captures, and no object of its own type, it is a pointer.
        let stored = |&i: &usize| {
            let own = s.is(i.wrapping_sub(1), "=") && !(i >= 3 && s.is_ident(i - 3) && !s.is(i - 3, "auto"));
            s.is(i + 1, "]") && (s.is(i - 1, "+") || self.is_stored(i) && !own && !s.is(i - 1, "return"))
        };
        let lambdas = self.items.iter().filter(lambda).filter_map(captures).filter(stored);
        (0..s.len()).filter(|&i| function(i)).chain(lambdas).min()
    }

    /// Whether the function that has the name at `i` declares a variable of that name before; for a method also whether any class has such a member.
    fn is_variable(&self, i: usize, program: &Program) -> bool {
        let s = self.s;
        let words = ["return", "else", "case", "do", "goto", "typename", "template", "using", "operator"];
        let declares = |&j: &usize| {
            let (before, behind) = (j.wrapping_sub(1), s.at(j + 1));
            let named = s.is_ident(before) && !words.contains(&s.at(before)) || matches!(s.at(before), ">" | "]");
            s.is(j, s.at(i)) && (named || matches!(s.at(before), "*" | "&") && behind == "=")
        };
        let within = program.functions.iter().filter(|function| function.start <= i && i < function.end);
        within.into_iter().any(|function| {
            let member = |j: usize| function.in_class && matches!(s.at(j + 1), ";" | "=" | "[" | "{" | ",");
            (0..s.len()).filter(declares).any(|j| (function.name + 1..i).contains(&j) || member(j))
        })
    }

    fn meets_at(&self, i: usize) -> bool {
        matches!(self.at(i), Meets::Lanes { .. })
    }

    /// Whether the value that begins at `i` goes elsewhere than to a parameter, of a call or a template.
    fn is_stored(&self, i: usize) -> bool {
        let s = self.s;
        let initialiser = |open: usize| {
            let before = open.wrapping_sub(1);
            let word = matches!(s.at(before), "else" | "do" | "const" | "mutable" | "noexcept" | "try" | "constant");
            matches!(s.at(before), "=" | "," | "{" | "(" | "]") || s.is_ident(before) && !word
        };
        match s.at(i.wrapping_sub(1)) {
            "=" | "?" | ":" | "return" => true,
            "{" => initialiser(i - 1),
            "," => {
                let mut j = i - 1;
                while j > 0 && !matches!(s.at(j), "(" | "{" | ";" | "[") {
                    j = if matches!(s.at(j), ")" | "}" | "]") && s.mate[j] != NONE { s.mate[j] } else { j };
                    j -= usize::from(j > 0);
                }
                s.is(j, "{") && initialiser(j)
            }
            _ => false,
        }
    }

    /// Whether a name is followed by arguments (or is the declaration of the function).
    fn is_called(&self, i: usize) -> bool {
        let s = self.s;
        match s.at(i + 1) {
            "(" => true,
            "<" => s.angle_close(i + 1, s.len()).is_none_or(|close| s.is(close + 1, "(")),
            // The declaration of a lambda or an alias.
            "=" => true,
            _ => false,
        }
    }

    /// What happens at a token; operations behind an object's name or brackets count as the call.
    pub(super) fn at(&self, i: usize) -> Meets {
        let s = self.s;
        let word = s.at(i);
        match builtin(s, i) {
            Meets::Nobody => {}
            Meets::Lanes { .. } => return Meets::Lanes { solid: self.is_solid(word) },
            Meets::Threadgroup => return Meets::Threadgroup,
        }
        if s.is_ident(i) && self.meeting.contains(word) {
            return Meets::Lanes { solid: self.is_solid(word) };
        }
        // `i < n` is a comparison.
        let called = s.is(i + 1, "(")
            || s.is(i + 1, "<") && s.angle_close(i + 1, s.len()).is_some_and(|close| s.is(close + 1, "("));
        let object = called && s.is_ident(i) && self.objects.contains(word);
        let result = s.is(i, "(") && i > 0 && matches!(s.at(i - 1), ")" | "]" | "}") && !self.is_cast(i - 1);
        let statement = matches!(s.at(i.wrapping_sub(1)), ";" | "{" | "}");
        if self.indirect && (object || result) || self.operators && statement {
            return Meets::Lanes { solid: false };
        }
        Meets::Nobody
    }

    /// Whether the `)` at `close` certainly ends the type of a cast: `(device const T *)`, `(float)`.
    fn is_cast(&self, close: usize) -> bool {
        let s = self.s;
        if !s.is(close, ")") || s.mate[close] == NONE {
            return false;
        }
        let first = s.mate[close] + 1;
        s.is(close - 1, "*")
            || matches!(
                s.at(first),
                "const" | "device" | "constant" | "threadgroup" | "threadgroup_imageblock" | "thread"
            )
            || DataType::of_spelling(&s.words(first, close)).is_some()
    }

    /// The `{` of the lambda whose captures are in the `[` at `i`.
    pub(super) fn lambda_body(&self, i: usize, end: usize) -> Option<usize> {
        let s = self.s;
        if s.mate[i] == NONE || s.is(i + 1, "[") || s.is(i.wrapping_sub(1), "[") {
            return None;
        }
        let previous = i.wrapping_sub(1);
        let value = (s.is_ident(previous) && !s.is(previous, "return")) || matches!(s.at(previous), ")" | "]" | ">");
        if i > 0 && value {
            return None;
        }
        let mut j = s.mate[i] + 1;
        if s.is(j, "<") {
            j = s.angle_close(j, end)? + 1;
        }
        while j < end && !matches!(s.at(j), "{" | ";" | "," | "=" | "}") {
            j = s.skip(j);
        }
        (j < end && s.is(j, "{") && s.mate[j] != NONE).then_some(j)
    }

    /// Whether the `{` at `i` inside an expression or declaration is the body of a method of a local class, or of a
    /// statement expression.
    pub(super) fn opens_statements(&self, i: usize) -> bool {
        let s = self.s;
        let mut previous = i.wrapping_sub(1);
        let qualifiers = ["const", "device", "thread", "threadgroup", "threadgroup_imageblock", "constant", "noexcept"];
        while qualifiers.contains(&s.at(previous)) {
            previous = previous.wrapping_sub(1);
        }
        matches!(s.at(previous), ")" | "(")
    }
}
