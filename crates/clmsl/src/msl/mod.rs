//! The printer: lowered program in, MSL text out. It decides nothing but layout.
//!
//! Lines follow the source: small gaps are kept as empty lines, larger ones and steps back become `#line` directives, so
//! that messages of a later compiler lead to the `.cl` file. `metal_stdlib`'s names are qualified.

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

/// The text under construction.
struct Printer<'a> {
    lowered: &'a Lowered,
    sources: &'a Sources,
    out: String,
    /// File and line that a compiler will believe the next output line to be, while that is known.
    presumed: Option<(String, u32)>,
    depth: usize,
}

/// Prints a whole program.
pub(crate) fn print(lowered: &Lowered, sources: &Sources) -> String {
    let mut printer = Printer { lowered, sources, out: String::new(), presumed: None, depth: 0 };
    printer.out.push_str("#include <metal_stdlib>\n");
    for Excerpt { file, line, text } in &lowered.prelude {
        let _ = writeln!(printer.out, "#line {line} \"<clmsl {file}>\"");
        printer.out.push_str(text);
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

impl Printer<'_> {
    /// Brings the next line of output to the line of the source.
    fn sync(&mut self, span: Span) {
        let at = self.sources.location(span);
        if let Some((file, line)) = &self.presumed
            && *file == at.file
            && *line <= at.line
            && at.line - *line <= MAX_GAP
        {
            for _ in *line..at.line {
                self.out.push('\n');
            }
        } else if self.presumed.as_ref() != Some(&(at.file.clone(), at.line)) {
            let file = at.file.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r'], " ");
            let _ = writeln!(self.out, "#line {} \"{file}\"", at.line.max(1));
        }
        self.presumed = Some((at.file, at.line));
    }

    /// One line of output, indented.
    fn line(&mut self, text: &str) {
        for _ in 0..self.depth {
            self.out.push_str("  ");
        }
        self.out.push_str(text);
        self.out.push('\n');
        if let Some((_, line)) = &mut self.presumed {
            *line += 1;
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
            self.sync(field.span);
            let text = declare(&field.ty, &field.name, None, field.quals, &lowered.structs);
            self.line(&format!("{text};"));
        }
        self.depth -= 1;
        self.line("};");
    }

    fn constant(&mut self, constant: &Constant) {
        let Some(init) = &constant.init else { return };
        self.sync(constant.span);
        let quals = Quals::default();
        let text = declare(&constant.ty, &constant.name, Some(Space::Constant), quals, &self.lowered.structs);
        let value = self.initialiser(init, None);
        self.line(&format!("{text} = {value};"));
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
                    declare(&local.ty, &format!("& {}", local.name), Some(Space::Constant), Quals::default(), structs)
                } else {
                    declare(&local.ty, &local.name, None, local.quals, structs)
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
        self.line(&format!("{word}{} {}({}) {{", ret.trim_end(), function.name, params.join(", ")));
        self.depth += 1;
        self.statements(&body.stmts, function);
        self.depth -= 1;
        self.line("}");
    }
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
