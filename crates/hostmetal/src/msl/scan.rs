//! The declarations of a program: which functions, classes and variables there are and which tokens each covers.
//!
//! Not a parser: function bodies and expressions stay opaque. What is recognised is what the pre-pass must know, namely
//! where a declaration
//! begins and ends, its name, its parameter list, its body, the template header before it and the namespaces around it.
//! Anything
//! odd is passed over; clang judges the program afterwards.

use super::kernels::declared_name;
use super::token::{Kind, NONE, Stream};
use std::collections::HashSet;

/// Which pipeline stage a function is declared for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Kernel,
    /// Another entry point, by its qualifier or attribute.
    Graphics(&'static str),
}

/// A function or method, with or without a body.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    /// The first token, template headers included.
    pub(crate) start: usize,
    /// The first token behind the template headers.
    pub(crate) head: usize,
    /// The token that names it (the `operator` keyword of an operator).
    pub(crate) name: usize,
    /// The parentheses of the parameter list.
    pub(crate) params: (usize, usize),
    /// The braces of the body.
    pub(crate) body: Option<(usize, usize)>,
    /// The last token: `}` or `;`.
    pub(crate) end: usize,
    pub(crate) stage: Option<Stage>,
    pub(crate) in_class: bool,
    /// Index into `Program::scopes`.
    pub(crate) scope: usize,
}

impl Function {
    pub(crate) fn is_template(&self) -> bool {
        self.head > self.start
    }

    /// Whether another source may call it: no method, template, operator or entry point.
    fn is_free(&self, stream: &Stream) -> bool {
        let qualified = stream.is(self.name.wrapping_sub(1), "::");
        !self.in_class && !self.is_template() && self.stage.is_none() && !qualified
    }
}

/// An explicit instantiation: `template [[host_name("x")]] [[kernel]] decltype(f<T>) f<T>;`.
#[derive(Clone, Debug)]
pub(crate) struct Instantiation {
    /// The `template` keyword.
    pub(crate) start: usize,
    /// The `;`.
    pub(crate) end: usize,
    pub(crate) scope: usize,
}

/// A declaration statement outside of functions and classes that declares objects.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) start: usize,
    /// The token that names the first object.
    pub(crate) name: usize,
    /// The `;`.
    pub(crate) end: usize,
}

/// Tokens that define names: whoever mentions one of the names may use anything in the range.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    pub(crate) names: Vec<usize>,
    pub(crate) range: (usize, usize),
}

/// All declarations, in source order.
#[derive(Default)]
pub(crate) struct Program {
    pub(crate) functions: Vec<Function>,
    pub(crate) instantiations: Vec<Instantiation>,
    pub(crate) variables: Vec<Variable>,
    /// Bodies of classes, structs and unions: `{`, `}`.
    pub(crate) classes: Vec<(usize, usize)>,
    /// Names of classes, structs, unions and enumerations.
    pub(crate) types: Vec<usize>,
    /// Bodies of enumerations: `{`, `}`.
    pub(crate) enums: Vec<(usize, usize)>,
    pub(crate) regions: Vec<Region>,
    /// The namespaces around a declaration, as they must be reopened: `["a", "b"]`; an unnamed one is "". 0 is the
    /// global one.
    pub(crate) scopes: Vec<Vec<String>>,
}

impl Program {
    /// The free functions that it declares, of whose names it defines none.
    pub(crate) fn undefined<'a>(&'a self, stream: &'a Stream) -> impl Iterator<Item = &'a Function> {
        let defined: HashSet<&str> =
            self.functions.iter().filter(|f| f.body.is_some()).map(|f| stream.at(f.name)).collect();
        self.functions.iter().filter(move |f| f.is_free(stream) && !defined.contains(stream.at(f.name)))
    }

    /// The free functions of whose names there are declarations without a body.
    pub(crate) fn declared<'a>(&'a self, stream: &'a Stream) -> impl Iterator<Item = &'a Function> {
        let free = || self.functions.iter().filter(|f| f.is_free(stream));
        let declared: HashSet<&str> = free().filter(|f| f.body.is_none()).map(|f| stream.at(f.name)).collect();
        free().filter(move |f| declared.contains(stream.at(f.name)))
    }
}

/// Reads the declarations of a balanced token stream.
pub(crate) fn scan(stream: &Stream) -> Program {
    let mut scanner = Scanner { stream, program: Program { scopes: vec![Vec::new()], ..Program::default() } };
    scanner.declarations(0, stream.len(), Around::Namespace(0));
    scanner.program
}

#[derive(Clone, Copy)]
enum Around {
    Namespace(usize),
    Class(usize),
}

struct Scanner<'a> {
    stream: &'a Stream,
    program: Program,
}

/// What stands between the start of a declaration and its body or end.
#[derive(Default)]
struct Head {
    name: Option<usize>,
    params: Option<(usize, usize)>,
    class: Option<usize>,
    initialised: bool,
}

impl Scanner<'_> {
    fn declarations(&mut self, start: usize, end: usize, around: Around) {
        let s = self.stream;
        let mut i = start;
        while i < end {
            i = match s.at(i) {
                _ if s.kind(i) == Some(Kind::Pragma) => i + 1,
                ";" | "}" => i + 1,
                "inline" if s.is(i + 1, "namespace") => i + 1,
                "namespace" => self.namespace(i, end, around),
                "extern" if s.kind(i + 1) == Some(Kind::Text) && s.is(i + 2, "{") => {
                    let close = s.mate[i + 2];
                    self.declarations(i + 3, close, around);
                    close + 1
                }
                "public" | "private" | "protected" if s.is(i + 1, ":") => i + 2,
                "using" | "static_assert" | "friend" => self.simple(i, i, end),
                _ => self.declaration(i, end, around),
            };
        }
    }

    fn namespace(&mut self, at: usize, end: usize, around: Around) -> usize {
        let s = self.stream;
        let mut i = at + 1;
        let mut names = Vec::new();
        while i < end && !matches!(s.at(i), "{" | ";" | "=") {
            if let Some(behind) = s.attribute(i) {
                i = behind;
                continue;
            }
            if s.is_ident(i) && !s.is(i, "inline") {
                names.push(s.at(i).to_owned());
            }
            i += 1;
        }
        if !s.is(i, "{") || s.mate[i] == NONE {
            return self.statement_end(i, end) + 1;
        }
        let outer = match around {
            Around::Namespace(scope) | Around::Class(scope) => scope,
        };
        let mut path = self.program.scopes[outer].clone();
        if names.is_empty() {
            names.push(String::new());
        }
        path.extend(names);
        let scope = self.program.scopes.iter().position(|known| *known == path).unwrap_or_else(|| {
            self.program.scopes.push(path);
            self.program.scopes.len() - 1
        });
        let close = s.mate[i];
        self.declarations(i + 1, close, Around::Namespace(scope));
        close + 1
    }

    /// The `;` that ends the statement at `i`, or `end`.
    fn statement_end(&self, mut i: usize, end: usize) -> usize {
        while i < end && !self.stream.is(i, ";") {
            i = self.stream.skip(i);
        }
        i.min(end)
    }

    /// `start`: of its template headers.
    fn simple(&mut self, start: usize, at: usize, end: usize) -> usize {
        let s = self.stream;
        let stop = self.statement_end(at, end);
        if s.is(at, "using") && s.is(at + 2, "=") {
            self.program.regions.push(Region { names: vec![at + 1], range: (start, stop) });
        } else if s.is(at, "friend") {
            // A friend function defined in place ends with its body.
            let body = (at..stop).find(|&j| s.is(j, "{") && s.before(j).is_some_and(|b| s.is(b, ")")));
            if let Some(open) = body.filter(|&open| s.mate[open] != NONE) {
                return s.mate[open] + 1;
            }
        }
        stop + 1
    }

    fn declaration(&mut self, start: usize, end: usize, around: Around) -> usize {
        let s = self.stream;
        let mut head = start;
        while s.is(head, "template") {
            if !s.is(head + 1, "<") {
                let stop = self.statement_end(head, end);
                let (Around::Namespace(scope) | Around::Class(scope)) = around;
                // Without its `;` it is clang's to complain about.
                if stop < end {
                    self.program.instantiations.push(Instantiation { start, end: stop, scope });
                }
                return stop + 1;
            }
            let Some(close) = s.angle_close(head + 1, end) else { return self.statement_end(head, end) + 1 };
            head = close + 1;
            if s.is(head, "requires") {
                head += 1;
                if s.is(head, "(") {
                    head = s.skip(head);
                }
            }
        }
        if head > start && matches!(s.at(head), "using" | "friend") {
            return self.simple(start, head, end);
        }
        let mut seen = Head::default();
        let mut i = head;
        while i < end {
            let previous = if i > head { s.at(i - 1) } else { "" };
            match s.at(i) {
                ";" => {
                    self.finish(start, head, i, &seen, None, around);
                    return i + 1;
                }
                "(" => {
                    let skipped = [
                        "__attribute__",
                        "alignas",
                        "decltype",
                        "__declspec",
                        "noexcept",
                        "explicit",
                        "__typeof__",
                        "requires",
                    ];
                    if seen.params.is_none()
                        && !skipped.contains(&previous)
                        && !seen.initialised
                        && i > head
                        && s.mate[i] != NONE
                        && let Some(name) = self.function_name(i, head)
                    {
                        seen.name = Some(name);
                        seen.params = Some((i, s.mate[i]));
                    }
                    i = s.skip(i);
                }
                "[" => i = s.skip(i),
                "<" if s.is_ident(i.wrapping_sub(1)) && previous != "operator" && !seen.initialised => {
                    i = s.angle_close(i, end).map_or(i, |close| close) + 1;
                }
                "=" if previous != "operator" => {
                    if seen.params.is_none() && seen.name.is_none() {
                        seen.name = self.object_name(i, head);
                    }
                    seen.initialised = true;
                    i += 1;
                }
                ":" if seen.params.is_some() && seen.class.is_none() && !seen.initialised => {
                    i = self.constructor_initialisers(i + 1, end)
                }
                "{" if s.mate[i] == NONE => return end,
                "{" if seen.params.is_some() && !seen.initialised => {
                    let close = s.mate[i];
                    self.finish(start, head, close, &seen, Some((i, close)), around);
                    return close + 1;
                }
                "{" if seen.class.is_some() && !seen.initialised && seen.name.is_none() => {
                    let keyword = seen.class.unwrap_or(i);
                    self.class(start, keyword, i, around);
                    // Declarators may follow: `struct S { ... } s;`.
                    let stop = self.statement_end(i, end);
                    let mut names: Vec<usize> = self.class_name(keyword, i).into_iter().collect();
                    names.extend((s.mate[i] + 1..stop).filter(|&j| s.is_ident(j)));
                    let is_enum = s.is(keyword, "enum");
                    if is_enum {
                        // An enumerator may stand for anything that its value mentions.
                        names.extend((i..s.mate[i]).filter(|&j| s.is_ident(j) && matches!(s.at(j - 1), "{" | ",")));
                    }
                    self.program.types.extend(&names);
                    let declares = !s.is(head, "typedef") && matches!(around, Around::Namespace(_));
                    let first = s.split(s.mate[i] + 1, stop).first().copied().filter(|_| declares);
                    if let Some(name) = first.and_then(|(from, to)| declared_name(s, from, to)) {
                        self.program.variables.push(Variable { start, name, end: stop });
                    }
                    if matches!(around, Around::Namespace(_)) {
                        self.program.regions.push(Region { names, range: (start, stop) });
                    }
                    return stop + 1;
                }
                "{" => {
                    if seen.name.is_none() {
                        seen.name = self.object_name(i, head);
                    }
                    seen.initialised = true;
                    i = s.skip(i);
                }
                "struct" | "class" | "union" | "enum"
                    if seen.params.is_none() && seen.class.is_none() && !seen.initialised =>
                {
                    seen.class = Some(i);
                    i += 1;
                }
                _ => i += 1,
            }
        }
        end
    }

    /// The name of the function whose parameter list may open at `open`: `f(`, `f<int>(`, `operator+(`, `~S(`.
    fn function_name(&self, open: usize, head: usize) -> Option<usize> {
        let s = self.stream;
        if let Some(operator) = (head..open).rev().take(4).find(|&j| s.is(j, "operator")) {
            // `operator()(...)`: the first pair of parentheses is the name.
            return (operator + 1 != open).then_some(operator);
        }
        let mut last = open.checked_sub(1)?;
        // `f [[host_name("x")]] (`
        while s.is(last, "]") && s.mate[last] != NONE && s.attribute(s.mate[last]) == Some(last + 1) {
            last = s.mate[last].checked_sub(1).filter(|&last| last > head)?;
        }
        if s.is(last, ">") {
            let before = s.angle_open(last, head)?.checked_sub(1)?;
            return (before >= head && s.is_ident(before)).then_some(before);
        }
        s.is_ident(last).then_some(last)
    }

    /// The last identifier before `stop` that is outside of brackets: `float x[3]` -> `x`.
    fn object_name(&self, stop: usize, head: usize) -> Option<usize> {
        let s = self.stream;
        let mut i = stop;
        while i > head {
            i -= 1;
            match s.at(i) {
                "]" | ")" if s.mate[i] != NONE => i = s.mate[i],
                _ if s.is_ident(i) => return Some(i),
                _ => {}
            }
        }
        None
    }

    /// The name behind `struct`, `class`, `union` or `enum`; none for an unnamed one.
    fn class_name(&self, keyword: usize, open: usize) -> Option<usize> {
        let s = self.stream;
        let mut name = None;
        let mut i = keyword + 1;
        while i < open && !matches!(s.at(i), ":" | "<") {
            if let Some(behind) = s.attribute(i) {
                i = behind;
                continue;
            }
            if s.is_ident(i) && !matches!(s.at(i), "final" | "alignas" | "__attribute__" | "class" | "struct") {
                name = Some(i);
            }
            i = s.skip(i);
        }
        name
    }

    fn class(&mut self, start: usize, keyword: usize, open: usize, around: Around) {
        let close = self.stream.mate[open];
        if self.stream.is(keyword, "enum") {
            self.program.enums.push((open, close));
            return;
        }
        let (Around::Namespace(scope) | Around::Class(scope)) = around;
        debug_assert!(start <= keyword);
        self.program.classes.push((open, close));
        self.declarations(open + 1, close, Around::Class(scope));
    }

    /// Passes `a(1), b{2}, C<T>(3)` behind a constructor's `:` and returns the index of the body's `{`.
    fn constructor_initialisers(&self, mut i: usize, end: usize) -> usize {
        let s = self.stream;
        while i < end {
            while i < end && !matches!(s.at(i), "(" | "{" | ";") {
                i = match s.at(i) {
                    "<" => s.angle_close(i, end).map_or(i, |close| close) + 1,
                    _ => i + 1,
                };
            }
            if i >= end || s.is(i, ";") {
                return i;
            }
            i = s.skip(i);
            if s.is(i, "...") {
                i += 1;
            }
            if !s.is(i, ",") {
                return i;
            }
            i += 1;
        }
        end
    }

    fn finish(
        &mut self,
        start: usize,
        head: usize,
        end: usize,
        seen: &Head,
        body: Option<(usize, usize)>,
        around: Around,
    ) {
        let s = self.stream;
        let (in_class, Around::Namespace(scope) | Around::Class(scope)) = (matches!(around, Around::Class(_)), around);
        if let (Some(params), Some(name)) = (seen.params, seen.name) {
            if seen.initialised && body.is_none() && !matches!(s.at(end.wrapping_sub(1)), "default" | "delete" | "0") {
                // `T x(1) = ...` does not exist; what looks so is an object whose type has parentheses: `T (*x)[3] = ...`.
                let object = (params.0 + 1..params.1).rev().find(|&i| s.is_ident(i)).filter(|_| !in_class);
                if let Some(name) = object.filter(|_| s.is(params.1 + 1, "[")) {
                    self.program.variables.push(Variable { start: head, name, end });
                }
                return;
            }
            let stage = self.stage(head, name);
            self.program.functions.push(Function { start, head, name, params, body, end, stage, in_class, scope });
            if !in_class {
                let mut names = vec![name];
                // `void S::f() {}` also belongs to S.
                if name >= 2 && s.is(name - 1, "::") && s.is_ident(name - 2) {
                    names.push(name - 2);
                }
                self.program.regions.push(Region { names, range: (start, end) });
            }
            return;
        }
        if in_class || end <= head {
            return;
        }
        let Some(name) = seen.name.or_else(|| self.object_name(end, head)) else { return };
        // `int a = 1, b;`
        let others = s.split(name, end).into_iter().skip(1).filter_map(|(from, to)| declared_name(s, from, to));
        let names = std::iter::once(name).chain(others).collect();
        self.program.regions.push(Region { names, range: (start, end) });
        // `struct S;`, `struct S<int>;` and `enum E : uint;`, and not `constant enum E e`.
        let elaborated = seen.class.is_some_and(|keyword| {
            let close = if s.is(keyword + 2, "<") { s.angle_close(keyword + 2, end) } else { None };
            close.unwrap_or(keyword + 1) + 1 >= end
                || s.is(keyword, "enum") && !(head..keyword).any(|i| s.is(i, "constant"))
        });
        if !elaborated && !s.is(head, "typedef") && name > head {
            self.program.variables.push(Variable { start: head, name, end });
        } else if seen.class.is_some() {
            self.program.types.push(name);
        }
    }

    /// The stage that the declaration specifiers name.
    fn stage(&self, head: usize, name: usize) -> Option<Stage> {
        let s = self.stream;
        let mut i = head;
        while i < name {
            let stop = s.attribute(i);
            let range = match stop {
                Some(stop) => i + 2..stop - 2,
                None => i..i + 1,
            };
            for j in range {
                let before = s.at(j.wrapping_sub(1));
                if stop.is_some() && !matches!(before, "[" | ",") {
                    continue;
                }
                match s.at(j) {
                    "kernel" => return Some(Stage::Kernel),
                    "vertex" => return Some(Stage::Graphics("vertex")),
                    "fragment" => return Some(Stage::Graphics("fragment")),
                    "mesh" if stop.is_some() => return Some(Stage::Graphics("mesh")),
                    "object" if stop.is_some() => return Some(Stage::Graphics("object")),
                    "intersection" if stop.is_some() => return Some(Stage::Graphics("intersection")),
                    _ => {}
                }
            }
            i = stop.unwrap_or_else(|| s.skip(i));
        }
        None
    }
}
