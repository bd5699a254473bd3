//! Rewrites tokens so that clang's C++ for OpenCL mode accepts MSL. What is changed, and why (linux-metal-msl.md
//! section 3):
//!
//! | MSL | written instead |
//! |---|---|
//! | `kernel`, `[[buffer(0)]]` and other Metal attributes | nothing; recorded |
//! | `constant T x [[function_constant(3)]];` | the value of the specialisation |
//! | a structure with `[[color(n)]]` in it | beside that, a type `hm_colors` in it |
//! | `is_function_constant_defined(x)` | an enumerator beside x |
//! | `threadgroup T a[N], b;` in a function | a local struct and references into the object that the host allocates for it |
//! | `template [[host_name("n")]] [[kernel]] decltype(f<T>) f<T>;` | nothing; a wrapper at the end names `f<T>` |
//! | `) const device {` (method qualifiers) | `__mq_device`; what it returns goes through `hostmetal::in_device()` |
//! | `template <void (*fn)(...)>` | `(&fn)` |
//! | `0.5`, `1.0bf` | `0.5f`, `((bfloat)1.0f)` |
//! | `#pragma unroll(MAX(a, b))`, `coherent(device)` | nothing |
//! | `#pragma METAL fp ...` | `#pragma clang fp ...` |
//!
//! No line is added or removed before the wrappers, and every piece of output knows the token it came from.

use super::diagnose::{Finding, Map};
use super::kernels::{attributes, is_stripped};
use super::scan::{Function, Program, Stage};
use super::token::{Kind, NONE, Stream};
use std::collections::{HashMap, HashSet};

/// Changes to a token stream. Later additions before or behind the same token follow earlier ones.
#[derive(Clone)]
pub(crate) struct Edits {
    dropped: Vec<bool>,
    replaced: HashMap<usize, String>,
    before: HashMap<usize, String>,
    behind: HashMap<usize, String>,
}

impl Edits {
    fn new(tokens: usize) -> Self {
        Self { dropped: vec![false; tokens], replaced: HashMap::new(), before: HashMap::new(), behind: HashMap::new() }
    }

    fn drop(&mut self, start: usize, end: usize) {
        self.dropped[start..end].fill(true);
    }

    pub(crate) fn replace(&mut self, token: usize, text: impl Into<String>) {
        self.dropped[token] = false;
        self.replaced.insert(token, text.into());
    }

    /// Replaces a token unless it is left out or replaced already.
    pub(crate) fn rename(&mut self, token: usize, text: &str) {
        if !self.dropped[token] {
            self.replaced.entry(token).or_insert_with(|| text.to_owned());
        }
    }

    /// What is written for a token instead of it.
    pub(crate) fn replacement(&self, token: usize) -> Option<&str> {
        self.replaced.get(&token).map(String::as_str)
    }

    /// Leaves the tokens `start..end` out, together with everything that was to be written for them.
    pub(crate) fn remove(&mut self, start: usize, end: usize) {
        self.drop(start, end);
        for token in start..end {
            self.replaced.remove(&token);
            self.before.remove(&token);
            self.behind.remove(&token);
        }
    }

    pub(crate) fn before(&mut self, token: usize, text: &str) {
        self.before.entry(token).or_default().push_str(text);
    }

    pub(crate) fn behind(&mut self, token: usize, text: &str) {
        self.behind.entry(token).or_default().push_str(text);
    }

    /// What is written for the tokens `start..end`.
    pub(crate) fn text(&self, stream: &Stream, start: usize, end: usize) -> String {
        let of = |texts: &HashMap<usize, String>, i| texts.get(&i).cloned().unwrap_or_default();
        let own = |i| match self.replaced.get(&i) {
            Some(text) => text.clone(),
            None if self.dropped[i] => String::new(),
            None => stream.at(i).to_owned(),
        };
        (start..end).map(|i| format!("{}{}{} ", of(&self.before, i), own(i), of(&self.behind, i))).collect()
    }
}

/// Takes `__restrict` away: it tells what one thread writes, and clang concludes from it that no barrier lets another thread's writes be
/// seen. (`restrict` is a name like any other in C++.)
pub(crate) fn unrestrict(stream: &Stream, edits: &mut Edits) {
    for token in (0..stream.len()).filter(|&token| matches!(stream.at(token), "__restrict" | "__restrict__")) {
        edits.rename(token, "");
    }
}

/// A program-scope `constant T name [[function_constant(index)]];`.
#[derive(Clone, Debug)]
pub(crate) struct Constant {
    /// The first token of the declaration.
    start: usize,
    pub(crate) name: usize,
    /// The first `[` of the attribute: where the value goes.
    pub(crate) attribute: usize,
    /// The `;` of the declaration.
    pub(crate) end: usize,
    /// The tokens of the index.
    pub(crate) index: (usize, usize),
    /// The type as written, without qualifiers.
    pub(crate) spelling: String,
}

/// What the general rewrite found on its way.
pub(crate) struct Rewrite {
    pub(crate) edits: Edits,
    pub(crate) constants: Vec<Constant>,
    /// Tokens of names inside `is_function_constant_defined(...)`.
    pub(crate) tested: Vec<usize>,
}

/// The words in front of the name in a declaration that are not part of its type.
const SPECIFIERS: [&str; 8] = ["constant", "const", "constexpr", "static", "inline", "extern", "volatile", "device"];

/// Rewrites everything that does not depend on the kernel to be built.
pub(crate) fn rewrite(stream: &Stream, program: &Program, findings: &mut Vec<Finding>) -> Rewrite {
    let mut pass = Pass {
        s: stream,
        inside: bodies(stream, program),
        edits: Edits::new(stream.len()),
        constants: Vec::new(),
        tested: Vec::new(),
        findings,
        variables: 0,
    };
    for function in &program.functions {
        if let Some(Stage::Graphics(stage)) = function.stage {
            let text = format!(
                "{stage} function '{}' is left out: hostmetal runs compute functions only",
                stream.at(function.name)
            );
            pass.findings.push(Finding::warning(function.name, text));
        }
    }
    pass.tokens();
    for function in &program.functions {
        match function.stage {
            Some(Stage::Kernel) => {
                for i in function.head..function.name {
                    if stream.is(i, "kernel") {
                        pass.edits.drop(i, i + 1);
                    }
                }
            }
            Some(Stage::Graphics(_)) => pass.edits.remove(function.start, function.end + 1),
            None => {}
        }
    }
    pass.device_results(program);
    pass.constant_methods(program);
    pass.colors(program);
    for variable in &program.variables {
        pass.constant(variable.start, variable.end);
    }
    Rewrite { edits: pass.edits, constants: pass.constants, tested: pass.tested }
}

/// Whether a token stands inside a function's body.
pub(crate) fn bodies(stream: &Stream, program: &Program) -> Vec<bool> {
    let mut inside = vec![false; stream.len()];
    for (open, close) in program.functions.iter().filter_map(|f| f.body) {
        inside[open + 1..close].fill(true);
    }
    inside
}

struct Pass<'a> {
    s: &'a Stream,
    inside: Vec<bool>,
    edits: Edits,
    constants: Vec<Constant>,
    tested: Vec<usize>,
    findings: &'a mut Vec<Finding>,
    variables: usize,
}

impl Pass<'_> {
    fn tokens(&mut self) {
        let s = self.s;
        let mut i = 0;
        while i < s.len() {
            if let Some(behind) = s.attribute(i) {
                self.attribute(i, behind);
                i = behind;
                continue;
            }
            match s.kind(i) {
                Some(Kind::Number) => self.number(i),
                Some(Kind::Pragma) => self.pragma(i),
                Some(Kind::Ident) => self.word(i),
                _ => {}
            }
            i += 1;
        }
    }

    fn attribute(&mut self, open: usize, behind: usize) {
        let found = attributes(self.s, open);
        let kept: Vec<String> = found
            .iter()
            .filter(|a| !is_stripped(self.s, a))
            .map(|a| {
                let mut start = a.name;
                while start >= 2 && self.s.is(start - 1, "::") {
                    start -= 2;
                }
                self.s.words(start, a.arguments.map_or(a.name + 1, |(_, to)| to + 1))
            })
            .collect();
        if kept.len() == found.len() {
            return;
        }
        self.edits.drop(open, behind);
        if !kept.is_empty() {
            self.edits.replace(open, format!("[[{}]]", kept.join(", ")));
        }
    }

    fn number(&mut self, i: usize) {
        let text = self.s.at(i);
        let hexadecimal = text.starts_with("0x") || text.starts_with("0X");
        let real = if hexadecimal { text.contains(['p', 'P']) } else { text.contains(['.', 'e', 'E']) };
        if let Some(digits) =
            text.strip_suffix("bf").or_else(|| text.strip_suffix("BF")).filter(|_| !hexadecimal || real)
        {
            let point = if digits.contains(['.', 'e', 'E']) { "" } else { ".0" };
            self.edits.replace(i, format!("((bfloat){digits}{point}f)"));
        } else if real && text.ends_with(|c: char| c.is_ascii_digit() || c == '.') {
            self.edits.behind(i, "f");
        }
    }

    fn pragma(&mut self, i: usize) {
        let text = self.s.at(i).trim_start_matches('#').trim_start();
        let mut words =
            text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|w| !w.is_empty()).skip(1);
        match words.next() {
            // A count that is an expression: what is left of a macro has no meaning to clang, or crashes it.
            Some("unroll" | "nounroll") if words.any(|w| w.starts_with(|c: char| !c.is_ascii_digit())) => {
                self.edits.replace(i, "");
            }
            Some("METAL") => {
                // MSL 1.6.3 and 7.4; other METAL pragmas are internal to Apple's headers.
                let words: Vec<&str> = words.collect();
                let replacement = match words.as_slice() {
                    ["fp", "contract", "off"] => "#pragma clang fp contract(off)",
                    ["fp", "contract", "on"] => "#pragma clang fp contract(on)",
                    ["fp", "contract", "fast"] => "#pragma clang fp contract(fast)",
                    // Signed zeros and exact functions too, which `clang fp` has no words for.
                    ["fp", "math_mode", "safe"] => "#pragma float_control(precise, on)",
                    ["fp", "math_mode", "fast" | "relaxed"] => {
                        "#pragma clang fp reassociate(on) reciprocal(on) contract(fast)"
                    }
                    _ => "",
                };
                self.edits.replace(i, replacement);
            }
            _ => {}
        }
    }

    fn word(&mut self, i: usize) {
        let s = self.s;
        match s.at(i) {
            "threadgroup" | "threadgroup_imageblock" | "device" | "constant" | "thread"
                if self.is_method_qualifier(i) =>
            {
                self.edits.replace(i, format!("__mq_{}", s.at(i)))
            }
            "threadgroup" if self.inside[i] && s.is(i.wrapping_sub(1), "*") => self.threadgroup_pointer(i),
            "threadgroup" if self.inside[i] => self.threadgroup_variable(i),
            "threadgroup_imageblock" if self.inside[i] && self.starts_statement(i) && self.declared(i).is_some() => {
                let text = "an object in address space 'threadgroup_imageblock' can only be part of an imageblock";
                self.findings.push(Finding::error(i, text));
            }
            // A constant of a function lives as long as the program, so its value is one that clang knows.
            "constant" if self.inside[i] && self.starts_statement(i) && self.declared(i).is_some() => {
                let words = self.statement_words(i);
                let lives = if words.contains(&"static") { "" } else { "static " };
                self.edits.before(i - words.len(), "__attribute__((require_constant_initialization)) ");
                self.edits.before(i, lives);
            }
            "is_function_constant_defined" if s.is(i + 1, "(") && s.mate[i + 1] != NONE => {
                let close = s.mate[i + 1];
                let Some(name) = (i + 2..close).rev().find(|&j| s.is_ident(j)) else { return };
                self.tested.push(name);
                self.edits.replace(i, "(bool)");
                self.edits.replace(name, format!("hm_defined_{}", s.at(name)));
            }
            "coherent" => {
                let end = if s.is(i + 1, "(") && s.mate[i + 1] != NONE { s.mate[i + 1] + 1 } else { i + 1 };
                if end > i + 1 || matches!(s.at(i + 1), "device" | "const" | "volatile") {
                    self.edits.drop(i, end);
                }
            }
            "template" if s.is(i + 1, "<") => self.template_parameters(i + 1),
            "using" if s.is(i + 2, "=") => {
                // An alias for the type of such a parameter.
                let end = (i..s.len()).find(|&j| matches!(s.at(j), ";" | "{" | "}")).unwrap_or(i);
                let pointer =
                    (i..end).find(|&j| s.is(j, "(") && s.is(j + 1, "*") && s.is(j + 2, ")") && s.is(j + 3, "("));
                if let Some(paren) = pointer.filter(|_| self.in_template_parameters(s.at(i + 1))) {
                    self.edits.replace(paren + 1, "&");
                }
            }
            _ => {}
        }
    }

    /// `) const device {`: an address space behind a method's parameter list.
    fn is_method_qualifier(&self, i: usize) -> bool {
        let s = self.s;
        let mut before = i;
        loop {
            before = before.wrapping_sub(1);
            if !matches!(s.at(before), "const" | "volatile" | "noexcept") {
                break;
            }
        }
        let mut behind = i + 1;
        while matches!(s.at(behind), "const" | "volatile") {
            behind += 1;
        }
        s.is(before, ")") && matches!(s.at(behind), "{" | ";" | ":" | "=" | "noexcept" | "->")
    }

    /// `device T &f() device { return x; }`: the object of such a method is in clang's `__global`, which converts to
    /// `device` only when told to. An
    /// object in `constant` comes here as well, by the const version: clang never selects the one for `constant`.
    fn device_results(&mut self, program: &Program) {
        let s = self.s;
        for function in program.functions.iter().filter(|f| f.in_class) {
            let (head, name, behind) = (function.head, function.name, function.params.1 + 1);
            let Some((open, close)) = function.body else {
                // `device S &operator=(const device S &) device = default;` must return clang's `__global S &`.
                let qualified = (behind..function.end).any(|i| s.is(i, "device") && self.is_method_qualifier(i));
                if qualified && s.is(function.end - 1, "default") {
                    (head..name).filter(|&i| s.is(i, "device")).for_each(|i| self.edits.replace(i, "__global"));
                }
                continue;
            };
            let qualified = (behind..open).take(3).any(|i| s.is(i, "device") && self.is_method_qualifier(i));
            if !qualified || !(head..name).any(|i| s.is(i, "device")) {
                continue;
            }
            for i in open..close {
                let end = (i + 1..close).find(|&j| s.is(j, ";")).unwrap_or(close);
                if s.is(i, "return") && end > i + 1 {
                    self.edits.before(i + 1, "hostmetal::in_device(");
                    self.edits.behind(end - 1, ")");
                }
            }
        }
    }

    /// `float f() const constant { ... }`: objects in `constant` are in clang's `__global` like those in `device`, so there is one method for both. Where
    /// a program has two, they must be the same.
    fn constant_methods(&mut self, program: &Program) {
        let s = self.s;
        let qualifier = |f: &Function, space: &str| {
            let end = f.body.map_or(f.end, |(open, _)| open);
            (f.params.1 + 1..end).take(4).find(|&i| s.is(i, space) && self.is_method_qualifier(i))
        };
        let methods: Vec<_> = program.functions.iter().filter(|f| f.in_class).collect();
        let for_device: Vec<_> = methods.iter().filter(|f| qualifier(f, "device").is_some()).collect();
        let class = |f: &Function| program.classes.iter().filter(|c| c.0 < f.head && f.end < c.1).max();
        let plain = |token: usize| if s.is(token, "constant") { "device" } else { s.at(token) };
        let same = |a: (usize, usize), b: (usize, usize)| (a.0..=a.1).map(plain).eq((b.0..=b.1).map(plain));
        let (mut alone, mut other) = (Vec::new(), Vec::new());
        for method in &methods {
            let Some(at) = qualifier(method, "constant") else { continue };
            // A constructor's name is its class's; objects are made in `thread`.
            if class(method).is_some_and(|&(open, _)| s.is(open - 1, s.at(method.name))) {
                continue;
            }
            let like = for_device
                .iter()
                .find(|f| class(f) == class(method) && same((f.name, f.params.1), (method.name, method.params.1)));
            match like.map(|like| (like.body, method.body)) {
                None => alone.push(at),
                Some((Some(body), Some(own))) if !same(body, own) => other.push(at),
                Some(_) => {}
            }
        }
        for at in alone {
            self.edits.replace(at, "__mq_device");
        }
        for at in other {
            let text = "a method for objects in 'constant' that differs from the one for 'device' is not supported";
            self.findings.push(Finding::error(at, text));
        }
    }

    /// Marks structures of color attachments, which an imageblock must not be made of (metal_imageblocks).
    fn colors(&mut self, program: &Program) {
        let s = self.s;
        if !(0..s.len()).any(|i| s.is(i, "imageblock")) {
            return;
        }
        let named = |open: usize| open > 0 && !matches!(s.at(open - 1), "struct" | "class" | "union");
        let is_color = |i: usize| s.is(i, "[") && attributes(s, i).iter().any(|a| s.is(a.name, "color"));
        let mut colored: HashSet<&str> = HashSet::new();
        let mut left: Vec<(usize, usize)> = program.classes.iter().copied().filter(|&(open, _)| named(open)).collect();
        loop {
            let before = left.len();
            left.retain(|&(open, close)| {
                let holds = (open..close).any(|i| is_color(i) || colored.contains(s.at(i)));
                if holds {
                    self.edits.behind(open, " typedef void hm_colors;");
                    let head = (0..open).rev().find(|&i| matches!(s.at(i), "struct" | "class" | "union"));
                    colored.extend(head.map(|head| s.at(head + 1)));
                }
                !holds
            });
            if left.len() == before {
                return;
            }
        }
    }

    /// The specifiers directly before `i` that belong to the same declaration.
    fn statement_words(&self, i: usize) -> Vec<&str> {
        let s = self.s;
        (0..i)
            .rev()
            .map(|j| s.at(j))
            .take_while(|w| matches!(*w, "static" | "const" | "volatile" | "constexpr" | "inline"))
            .collect()
    }

    /// Whether `i` is the first word of a statement, specifiers aside.
    fn starts_statement(&self, i: usize) -> bool {
        let s = self.s;
        let first = i - self.statement_words(i).len();
        match s.before(first) {
            None => true,
            Some(before) => {
                matches!(s.at(before), ";" | "{" | "}") || (s.is(before, ":") && before > 0) || {
                    // `alignas(16) threadgroup float x[4];`
                    s.is(before, ")")
                        && s.mate[before] != NONE
                        && s.mate[before] > 0
                        && s.is(s.mate[before] - 1, "alignas")
                }
            }
        }
    }

    /// The names that the declaration at `i` (an address space) declares as objects, and its `;`; none for pointers and
    /// references.
    fn declared(&self, i: usize) -> Option<(Vec<usize>, usize)> {
        let s = self.s;
        let mut names = Vec::new();
        let mut last = None;
        let mut words = 0;
        let mut j = i + 1;
        loop {
            match s.at(j) {
                "" | ")" | "}" | "*" | "&" | "&&" => return None,
                "<" => j = s.angle_close(j, s.len())? + 1,
                "alignas" | "__attribute__" | "decltype" if s.is(j + 1, "(") => {
                    words += usize::from(s.is(j, "decltype"));
                    j = s.skip(j + 1);
                }
                "(" | "{" if words < 2 => return None,
                "[" if s.attribute(j).is_some() => j = s.skip(j),
                "[" | "(" | "{" | "=" | "," | ";" => {
                    if words < 2 && names.is_empty() {
                        return None;
                    }
                    names.push(last?);
                    // To the next declarator.
                    while !matches!(s.at(j), "," | ";" | "") {
                        j = s.skip(j);
                    }
                    match s.at(j) {
                        ";" => return Some((names, j)),
                        "," => {
                            last = None;
                            j += 1;
                        }
                        _ => return None,
                    }
                }
                "::" => {
                    words = words.saturating_sub(1);
                    j += 1;
                }
                "const" | "volatile" | "struct" | "typename" | "static" | "unsigned" | "signed" | "constexpr" => {
                    words += usize::from(matches!(s.at(j), "unsigned" | "signed"));
                    j += 1;
                }
                _ if s.is_ident(j) => {
                    last = Some(j);
                    words += 1;
                    j += 1;
                }
                _ => return None,
            }
        }
    }

    /// `threadgroup T a[N], b;` -> `struct hm_tg_1 { T a[N], b; }; auto &a = ...; auto &b = ...;`
    fn threadgroup_variable(&mut self, i: usize) {
        let s = self.s;
        if !self.starts_statement(i) {
            return;
        }
        let Some((names, end)) = self.declared(i) else { return };
        if !self.drop_initialisers(i + 1, end, names[0]) {
            return;
        }
        self.variables += 1;
        let class = format!("hm_tg_{}", self.variables);
        for k in i - self.statement_words(i).len()..i {
            self.edits.drop(k, k + 1);
        }
        for k in i..end {
            if matches!(s.at(k), "const" | "static" | "constexpr") {
                self.edits.drop(k, k + 1);
            }
        }
        // An alignas in front of the word applies to the members.
        let mut open = format!("struct {class} {{ ");
        let first = i - self.statement_words(i).len();
        if s.is(first.wrapping_sub(1), ")") {
            let paren = s.mate[first - 1];
            open = format!("struct {class} {{ {} ", s.words(paren - 1, first));
            self.edits.drop(paren - 1, first);
        }
        self.edits.replace(i, open);
        let mut references = String::from(" };");
        for name in names {
            let name = s.at(name);
            references.push_str(&format!(" auto &{name} = hostmetal::threadgroup_object<{class}>().{name};"));
        }
        self.edits.behind(end, &references);
    }

    /// `device T* threadgroup p;`, a pointer that lives in threadgroup memory, becomes a member in the same way.
    fn threadgroup_pointer(&mut self, i: usize) {
        let s = self.s;
        let mut end = i + 2;
        while s.is(end, "[") && s.mate[end] != NONE {
            end = s.mate[end] + 1;
        }
        if !s.is_ident(i + 1) || !s.is(end, ";") {
            return;
        }
        let mut start = i;
        while let Some(before) = s.before(start) {
            match s.at(before) {
                ";" | "{" | "}" => break,
                "(" | ")" | "=" | "," => return,
                _ => start = before,
            }
        }
        self.variables += 1;
        let (class, name) = (format!("hm_tg_{}", self.variables), s.at(i + 1));
        self.edits.before(start, &format!("struct {class} {{ "));
        self.edits.drop(i, i + 1);
        self.edits.behind(end, &format!(" }}; auto &{name} = hostmetal::threadgroup_object<{class}>().{name};"));
    }

    /// Threadgroup memory cannot be initialised; Apple's compiler lets `= {0}` pass without effect, so it is left out
    /// here, with a warning.
    fn drop_initialisers(&mut self, start: usize, end: usize, name: usize) -> bool {
        let s = self.s;
        let mut i = start;
        while i < end {
            if s.attribute(i).is_some() || !matches!(s.at(i), "=" | "{") {
                i = s.skip(i);
                continue;
            }
            let mut stop = i;
            while stop < end && !s.is(stop, ",") {
                stop = s.skip(stop);
            }
            let zero = (i..stop).all(|j| matches!(s.at(j), "=" | "{" | "}" | "0" | "0.0" | "0.0f" | "0.f" | "0u"));
            if !zero {
                self.findings.push(Finding::error(name, "variable in threadgroup address space cannot be initialized"));
                return false;
            }
            self.findings.push(Finding::warning(name, "the initializer of a threadgroup variable has no effect"));
            self.edits.drop(i, stop);
            i = stop;
        }
        true
    }

    /// `template <void (*fn)(device float *)>` -> `(&fn)`: clang cannot match a pointer's address spaces there.
    fn template_parameters(&mut self, open: usize) {
        let s = self.s;
        let Some(close) = s.angle_close(open, s.len()) else { return };
        for (start, end) in s.split(open + 1, close) {
            self.vector_size(start, end, close);
            for i in start..end {
                if s.is(i, "(")
                    && s.is(i + 1, "*")
                    && s.is_ident(i + 2)
                    && s.is(i + 3, ")")
                    && s.is(i + 4, "(")
                    && i > start
                {
                    self.edits.replace(i + 1, "&");
                }
            }
        }
    }

    fn in_template_parameters(&self, word: &str) -> bool {
        let s = self.s;
        let opened = (1..s.len()).filter(|&i| s.is(i, "<") && s.is(i - 1, "template"));
        let lists = opened.filter_map(|open| Some(open..s.angle_close(open, s.len())?));
        lists.into_iter().any(|mut list| list.any(|i| s.is(i, word)))
    }

    /// `template <uint N> T f(vec<bool, N>)`: Metal deduces a vector's size as any integer type, as it does an array's; from our
    /// class only the type deduces that it was declared with.
    fn vector_size(&mut self, start: usize, end: usize, close: usize) {
        let s = self.s;
        let Some(name) = end.checked_sub(1).filter(|&name| name > start && s.is_ident(name)) else { return };
        let typed = ["uint", "unsigned", "unsigned int", "ushort", "ulong", "size_t", "uint32_t", "short", "long"];
        if !typed.contains(&s.words(start, name).as_str()) {
            return;
        }
        let body = (close..s.len()).find(|&i| matches!(s.at(i), "{" | ";" | "")).unwrap_or(close);
        let sized = (close..body).any(|i| {
            matches!(s.at(i), "vec" | "packed_vec")
                && s.is(i + 1, "<")
                && s.angle_close(i + 1, body).is_some_and(|last| {
                    s.split(i + 2, last).get(1).is_some_and(|&(from, to)| to == from + 1 && s.is(from, s.at(name)))
                })
        });
        if sized {
            self.edits.drop(start, name);
            self.edits.replace(start, "int");
        }
    }

    /// A program-scope variable with `[[function_constant(n)]]`.
    fn constant(&mut self, start: usize, end: usize) {
        let s = self.s;
        let mut i = start;
        while i < end {
            let Some(behind) = s.attribute(i) else {
                i += 1;
                continue;
            };
            let found = attributes(s, i).into_iter().find(|a| s.is(a.name, "function_constant"));
            let Some(attribute) = found else {
                i = behind;
                continue;
            };
            let Some(index) = attribute.arguments else {
                self.findings.push(Finding::error(attribute.name, "'function_constant' attribute takes one argument"));
                return;
            };
            let Some(name) = i.checked_sub(1).filter(|&n| n >= start && s.is_ident(n)) else { return };
            if behind != end {
                self.findings.push(Finding::error(
                    name,
                    format!("function constant '{}' must be declared alone and without an initializer", s.at(name)),
                ));
                return;
            }
            let spelling: Vec<&str> = (start..name).map(|j| s.at(j)).filter(|w| !SPECIFIERS.contains(w)).collect();
            self.constants.push(Constant { start, name, attribute: i, end, index, spelling: spelling.join(" ") });
            return;
        }
    }
}

/// Gives a function constant its value; without one it is zero and not defined.
pub(crate) fn set_constant(stream: &Stream, edits: &mut Edits, constant: &Constant, value: Option<&str>) {
    give_constant(stream, edits, constant, of_constant(constant, value.unwrap_or("0")), value.is_some());
}

/// Gives a function constant a value that the source is checked with: one that clang does not know. Apple's compiler does not know it either
/// when it compiles a library: as the size of an array or a template's argument it is no constant expression, even if declared `constexpr`,
/// which is left out here since such a variable must have a value that clang knows.
pub(crate) fn hide_constant(stream: &Stream, edits: &mut Edits, constant: &Constant) {
    for token in (constant.start..constant.name).filter(|&token| stream.is(token, "constexpr")) {
        edits.drop(token, token + 1);
    }
    let text = format!("= ::hostmetal::unknown<{}>()", constant.spelling);
    give_constant(stream, edits, constant, text, false);
}

/// Gives a function constant a value that clang knows, so it is one that it does not warn of where it divides or shifts.
pub(crate) fn assume_constant(stream: &Stream, edits: &mut Edits, constant: &Constant) {
    give_constant(stream, edits, constant, of_constant(constant, "1"), false);
}

fn of_constant(constant: &Constant, value: &str) -> String {
    format!("= ({})({value})", constant.spelling)
}

fn give_constant(stream: &Stream, edits: &mut Edits, constant: &Constant, text: String, defined: bool) {
    edits.replace(constant.attribute, text);
    let defined = u8::from(defined);
    edits.behind(constant.end, &format!(" enum {{ hm_defined_{} = {defined} }};", stream.at(constant.name)));
}

/// Wraps both arms of the conditional operator at `question` in `hostmetal::value()`; false when the arms cannot be
/// told.
pub(crate) fn wrap_conditional(stream: &Stream, edits: &mut Edits, question: usize) -> bool {
    let arm = |mut i: usize, stop: &[&str]| {
        let mut nested = 0;
        while i < stream.len() {
            match stream.at(i) {
                "?" => nested += 1,
                ":" if nested > 0 => nested -= 1,
                other if stop.contains(&other) => return Some(i),
                ";" | "}" => return None,
                _ => {}
            }
            i = stream.skip(i);
        }
        None
    };
    let Some(colon) = arm(question + 1, &[":"]) else { return false };
    let Some(end) = arm(colon + 1, &[":", ";", ",", ")", "]", "}"]) else { return false };
    if colon == question + 1 || end == colon + 1 {
        return false;
    }
    edits.before(question + 1, "hostmetal::value(");
    edits.behind(colon - 1, ")");
    edits.before(colon + 1, "hostmetal::value(");
    edits.behind(end - 1, ")");
    true
}

/// Wraps what the `+=` or `-=` at `operator` moves a pointer by in `hostmetal::offset()`: an object of a class that converts to an
/// integer; false when its end cannot be told.
pub(crate) fn wrap_offset(stream: &Stream, edits: &mut Edits, operator: usize) -> bool {
    let mut end = operator + 1;
    while end < stream.len() && !matches!(stream.at(end), ";" | "," | ")" | "]" | "}") {
        end = stream.skip(end);
    }
    if end == operator + 1 || end >= stream.len() {
        return false;
    }
    edits.before(operator + 1, "hostmetal::offset(");
    edits.behind(end - 1, ")");
    true
}

/// Takes the address space off the type of the automatic variable at `name` (`T w = a;`, where clang deduced T from an
/// object elsewhere); false
/// when the type is not a single name.
pub(crate) fn strip_address_space(stream: &Stream, edits: &mut Edits, name: usize) -> bool {
    let Some(last) = name.checked_sub(1).filter(|&t| stream.is_ident(t) && !stream.is(t, "auto")) else { return false };
    if !matches!(stream.at(last.wrapping_sub(1)), ";" | "{" | "}" | "(" | "const") {
        return false;
    }
    edits.before(last, "metal::remove_addrspace_t<");
    edits.behind(last, ">");
    true
}

/// Keeps the template parameter `parameter` of the function named at `name` from being deduced through `thread T *` and
/// `thread T &`, where clang
/// would deduce an address space as well; false when there is no such function parameter.
pub(crate) fn undeduce(stream: &Stream, program: &Program, edits: &mut Edits, name: usize, parameter: &str) -> bool {
    let Some(function) = program.functions.iter().find(|f| f.name == name) else { return false };
    let (open, close) = function.params;
    let mut changed = false;
    for i in open..close {
        let mut word = i + 1;
        while stream.is(word, "const") {
            word += 1;
        }
        let indirect =
            matches!(stream.at(word + 1), "*" | "&") || (stream.is(word + 1, "(") && stream.is(word + 2, "&"));
        if stream.is(i, "thread") && stream.is(word, parameter) && indirect {
            edits.replace(word, format!("hostmetal::same<{parameter}>"));
            changed = true;
        }
    }
    changed
}

/// Writes the edited text. `tail` follows it, one line each, as if written at the given tokens.
pub(crate) fn emit(stream: &Stream, edits: &Edits, head: &str, tail: &[(usize, String)]) -> (String, Map) {
    let mut out = Writer {
        text: head.to_owned(),
        line: 1 + head.matches('\n').count() as u32,
        line_start: head.rfind('\n').map_or(0, |n| n + 1),
        map: Map::default(),
    };
    let mut from = 0;
    for (i, token) in stream.tokens.iter().enumerate() {
        out.gap(&stream.text[from..token.start as usize]);
        from = token.end as usize;
        if let Some(text) = edits.before.get(&i) {
            out.put(text, i, false);
        }
        if let Some(text) = edits.replaced.get(&i) {
            if token.kind == Kind::Pragma {
                // Nothing else may be on its line.
                out.map.segments.push((out.line, 1, i, false));
                out.text.push_str(text);
            } else {
                out.put(text, i, false);
            }
        } else if !edits.dropped[i] {
            out.put(stream.at(i), i, true);
        }
        if let Some(text) = edits.behind.get(&i) {
            out.put(text, i, false);
        }
    }
    out.gap("\n");
    for (token, text) in tail {
        out.put(text, *token, false);
        out.gap("\n");
    }
    (out.text, out.map)
}

struct Writer {
    text: String,
    line: u32,
    line_start: usize,
    map: Map,
}

impl Writer {
    fn put(&mut self, text: &str, token: usize, exact: bool) {
        if text.is_empty() {
            return;
        }
        let column = (self.text.len() - self.line_start + 1) as u32;
        self.map.segments.push((self.line, column, token, exact));
        self.text.push_str(text);
        if let Some(last) = text.rfind('\n') {
            self.line += text.matches('\n').count() as u32;
            self.line_start = self.text.len() - (text.len() - last - 1);
        }
    }

    /// White space and line markers between tokens; the markers vanish, their newlines stay.
    fn gap(&mut self, gap: &str) {
        let mut marker = false;
        for c in gap.chars() {
            match c {
                '\n' => {
                    self.text.push('\n');
                    self.line += 1;
                    self.line_start = self.text.len();
                    marker = false;
                }
                '#' => marker = true,
                _ if !marker => self.text.push(c),
                _ => {}
            }
        }
    }
}
