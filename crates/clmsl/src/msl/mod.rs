//! The printer: lowered program in, MSL text out. It decides nothing but layout.
//!
//! Lines follow the source, so that messages of a later compiler lead to the `.cl` file: what shares a line there shares
//! one here, braces stand where the source leaves room for them, small gaps are kept as empty lines, larger ones and steps
//! back become `#line` directives. `metal_stdlib`'s names are qualified.

mod expr;
mod pieces;
pub(crate) mod reserved;
mod stmt;

use std::fmt::Write as _;

use crate::hir::{Constant, Function};
use crate::lower::Lowered;
use crate::prelude::Excerpt;
use crate::source::{Sources, Span};
use crate::types::{Quals, Space, StructId, Type};
use pieces::declare;

/// Gaps of up to this many lines are kept instead of a `#line` directive.
const MAX_GAP: u32 = 2;

/// Lines are not joined, and heads of functions are broken, beyond this many columns.
const WIDTH: usize = 120;

/// The text under construction.
struct Printer<'a> {
    lowered: &'a Lowered,
    sources: &'a Sources,
    out: String,
    /// File and line that a compiler will believe the next output line to be, while that is known.
    presumed: Option<(&'a str, u32)>,
    depth: usize,
    /// Where the last line of output begins.
    line_start: usize,
    /// The next text goes to the end of the last line.
    join: bool,
    /// The last line of output is a closing brace that the source has not there.
    stray_brace: bool,
}

/// Prints a whole program.
pub(crate) fn print(lowered: &Lowered, sources: &Sources) -> String {
    let mut printer = Printer {
        lowered,
        sources,
        out: String::new(),
        presumed: None,
        depth: 0,
        line_start: 0,
        join: false,
        stray_brace: false,
    };
    printer.out.push_str("#include <metal_stdlib>\n");
    if !lowered.contracts {
        printer.out.push_str("#pragma METAL fp contract(off)\n");
    }
    let freed = lowered.fast_relaxed_math && !lowered.prelude.is_empty();
    if freed {
        printer.out.push_str("#pragma METAL fp math_mode(safe)\n");
    }
    for Excerpt { file, line, text } in &lowered.prelude {
        let _ = writeln!(printer.out, "#line {line} \"<clmsl {file}>\"");
        printer.out.push_str(text);
    }
    if freed {
        printer.out.push_str("#pragma METAL fp math_mode(fast)\n");
        if !lowered.contracts {
            printer.out.push_str("#pragma METAL fp contract(off)\n");
        }
    }
    let mut done = vec![false; lowered.structs.len()];
    for id in 0..lowered.structs.len() {
        printer.structure(StructId(id as u32), &mut done);
    }
    for constant in &lowered.constants {
        printer.constant(constant);
    }
    for function in &lowered.functions {
        printer.function(function);
    }
    printer.out
}

impl<'a> Printer<'a> {
    fn directive(&mut self, file: &str, line: u32) {
        let file = file.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r'], " ");
        let _ = writeln!(self.out, "#line {} \"{file}\"", line.max(1));
    }

    /// Brings the next line of output to the line of the source.
    fn sync(&mut self, span: Span) {
        let at @ (file, line) = self.sources.line(span);
        match self.presumed {
            Some((presumed, next)) if presumed == file && next <= line && line - next <= MAX_GAP => {
                for _ in next..line {
                    self.out.push('\n');
                }
            }
            _ => self.directive(file, line),
        }
        self.presumed = Some(at);
    }

    /// Like `sync`, but what stands on the line just printed may be joined to it.
    fn arrive(&mut self, span: Span) {
        if self.is_on_last_line(span) && self.stray_brace {
            self.raise_brace();
            self.sync(span);
        } else if self.is_on_last_line(span) {
            self.join = true;
        } else {
            self.sync(span);
        }
    }

    /// Moves the brace on the last line to the end of the line before, which frees the line for what belongs there.
    fn raise_brace(&mut self) {
        let brace = self.out.split_off(self.line_start);
        self.out.pop();
        self.out.push(' ');
        self.out.push_str(brace.trim_start());
        self.line_start = self.out[..self.out.len() - 1].rfind('\n').map_or(0, |at| at + 1);
        self.stray_brace = false;
        if let Some((_, line)) = &mut self.presumed {
            *line -= 1;
        }
    }

    /// Whether the source has this on the line that was printed last.
    fn is_on_last_line(&self, span: Span) -> bool {
        let (file, line) = self.sources.line(span);
        self.presumed == Some((file, line + 1))
    }

    /// Whether the next line of output is this one of the source.
    fn is_on_next_line(&self, span: Span) -> bool {
        self.presumed == Some(self.sources.line(span))
    }

    /// One line of output, indented, or the rest of the last one.
    fn line(&mut self, text: &str) {
        self.stray_brace = false;
        if std::mem::take(&mut self.join)
            && let Some((file, line)) = self.presumed
        {
            if self.out.len() - self.line_start + text.len() <= WIDTH {
                self.out.pop();
                self.out.push(' ');
                self.out.push_str(text);
                self.out.push('\n');
                return;
            }
            self.directive(file, line - 1);
            self.presumed = Some((file, line - 1));
        }
        self.line_start = self.out.len();
        for _ in 0..self.depth {
            self.out.push_str("  ");
        }
        self.out.push_str(text);
        self.out.push('\n');
        if let Some((_, line)) = &mut self.presumed {
            *line += 1;
        }
    }

    /// How many lines of the source lie between the next line of output and this; 0 if it is not a small step forward.
    fn room_before(&self, span: Span) -> u32 {
        let (file, line) = self.sources.line(span);
        match self.presumed {
            Some((presumed, next)) if presumed == file => line.saturating_sub(next),
            _ => 0,
        }
    }

    /// A structure, after those it contains.
    fn structure(&mut self, id: StructId, done: &mut Vec<bool>) {
        let lowered = self.lowered;
        let s = &lowered.structs[id.0 as usize];
        if std::mem::replace(&mut done[id.0 as usize], true) || !s.complete {
            return;
        }
        for field in &s.fields {
            if let Some(inner) = contained(&field.ty) {
                self.structure(inner, done);
            }
        }
        for field in &s.fields {
            if let Some(inner) = pointed_to(&field.ty)
                && !done[inner.0 as usize]
            {
                let other = &lowered.structs[inner.0 as usize];
                let word = if other.is_union { "union" } else { "struct" };
                self.line(&format!("{word} {};", other.name));
            }
        }
        self.sync(s.span);
        let word = if s.is_union { "union" } else { "struct" };
        let align = if s.min_align > 1 { format!("alignas({}) ", s.min_align) } else { String::new() };
        self.line(&format!("{word} {align}{} {{", s.name));
        self.depth += 1;
        for field in &s.fields {
            self.arrive(field.span);
            let text = declare(&field.ty, &field.name, None, field.quals, &lowered.structs);
            self.line(&format!("{text};"));
        }
        self.depth -= 1;
        self.join = self.is_on_last_line(s.span);
        self.line("};");
    }

    fn constant(&mut self, constant: &Constant) {
        let Some(init) = &constant.init else { return };
        self.sync(constant.span);
        let quals = Quals::default();
        let text = declare(&constant.ty, &constant.name, Some(Space::Constant), quals, &self.lowered.structs);
        let mut text = format!("{text} = ");
        self.initialiser(init, None, &mut text);
        text.push(';');
        self.line(&text);
    }

    fn function(&mut self, function: &Function) {
        let Some(body) = &function.body else { return };
        self.sync(function.span);
        let structs = &self.lowered.structs;
        let params: Vec<String> = function
            .params
            .iter()
            .map(|&p| {
                let local = function.local(p);
                let mut text = if local.reference {
                    let space = if local.space == Space::Local { Space::Local } else { Space::Constant };
                    declare(&local.ty, &format!("& {}", local.name), Some(space), Quals::default(), structs)
                } else {
                    // C's `restrict` is no word of C++; Clang and Apple's compiler have this one.
                    let word = if local.quals.is_restrict { "__restrict " } else { "" };
                    declare(&local.ty, &format!("{word}{}", local.name), None, local.quals, structs)
                };
                if let Some(attribute) = &local.attribute {
                    text.push(' ');
                    text.push_str(attribute);
                }
                text
            })
            .collect();
        let word = if function.kernel.is_some() { "kernel " } else { "" };
        let ret = declare(&function.ret, "", None, Quals::default(), structs);
        let head = format!("{word}{} {}(", ret.trim_end(), function.name);
        let lines = broken(&head, &params);
        let (last, others) = lines.split_last().unwrap_or((&head, &[]));
        for line in others {
            self.line(line);
        }
        self.open(last, body);
        self.inside(body, function);
        self.close(body.end, "}");
    }
}

/// The head of a function up to `)`, on as many lines as it fills.
fn broken(head: &str, params: &[String]) -> Vec<String> {
    if params.is_empty() {
        return vec![format!("{head})")];
    }
    let mut lines = vec![head.to_owned()];
    for (i, param) in params.iter().enumerate() {
        let text = if i + 1 < params.len() { format!("{param},") } else { format!("{param})") };
        match lines.last_mut() {
            Some(line) if i == 0 => line.push_str(&text),
            Some(line) if line.len() + 1 + text.len() <= WIDTH => {
                line.push(' ');
                line.push_str(&text);
            }
            _ => lines.push(format!("    {text}")),
        }
    }
    lines
}

/// The structure a member holds by value.
fn contained(ty: &Type) -> Option<StructId> {
    match ty {
        Type::Struct(id) => Some(*id),
        Type::Array(e, _) => contained(e),
        _ => None,
    }
}

/// The structure a member points to.
fn pointed_to(ty: &Type) -> Option<StructId> {
    match ty {
        Type::Pointer(p) => contained(&p.ty).or_else(|| pointed_to(&p.ty)),
        Type::Array(e, _) => pointed_to(e),
        _ => None,
    }
}
