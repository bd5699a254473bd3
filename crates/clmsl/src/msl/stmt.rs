//! Statements.

use super::Printer;
use super::pieces::declare;
use crate::hir::{Block, Decl, Expr, Function, Stmt, StmtKind};
use crate::source::Span;
use crate::types::Space;
use std::fmt::Write;

impl Printer<'_> {
    pub(super) fn statements(&mut self, stmts: &[Stmt], function: &Function) {
        for stmt in stmts {
            self.statement(stmt, function);
        }
    }

    fn statement(&mut self, stmt: &Stmt, function: &Function) {
        if let StmtKind::Decl(decls) = &stmt.kind
            && decls.iter().all(|d| function.local(d.local).space == Space::Constant)
        {
            return;
        }
        self.arrive(stmt.span);
        match &stmt.kind {
            StmtKind::Empty => self.line(";"),
            StmtKind::Expr(e) => {
                let mut text = self.expr(e, function);
                text.push(';');
                self.line(&text);
            }
            StmtKind::Decl(decls) => {
                let mut text = self.declaration(decls, function);
                text.push(';');
                self.line(&text);
            }
            StmtKind::Block(block) => {
                // Behind a label the block is the label's.
                let outdent = usize::from(self.join && self.out.ends_with(":\n"));
                self.depth -= outdent;
                self.line("{");
                self.inside(block, function);
                self.close(block.end, "}");
                self.depth += outdent;
            }
            StmtKind::If { arms, otherwise } => self.conditional(arms, otherwise.as_ref(), function),
            StmtKind::While(cond, body) => {
                let cond = self.condition(cond, function);
                self.governed(&format!("while ({cond})"), body, function);
            }
            StmtKind::DoWhile(body, cond) => {
                let cond = self.condition(cond, function);
                self.open("do", body);
                self.inside(body, function);
                self.close(body.end, &format!("}} while ({cond});"));
            }
            StmtKind::For { init, cond, step, body } => {
                let init = match init.as_deref().map(|s| &s.kind) {
                    Some(StmtKind::Expr(e)) => self.expr(e, function),
                    Some(StmtKind::Decl(decls)) => self.declaration(decls, function),
                    _ => String::new(),
                };
                let cond = cond.as_ref().map(|c| format!(" {}", self.condition(c, function))).unwrap_or_default();
                let step = step.as_ref().map(|s| format!(" {}", self.expr(s, function))).unwrap_or_default();
                self.governed(&format!("for ({init};{cond};{step})"), body, function);
            }
            StmtKind::Switch(value, body) => {
                let value = self.expr(value, function);
                self.open(&format!("switch ({value})"), body);
                self.inside(body, function);
                self.close(body.end, "}");
            }
            StmtKind::Case(value) => {
                let value = self.expr(value, function);
                self.label(&format!("case {value}:"));
            }
            StmtKind::Default => self.label("default:"),
            StmtKind::Break => self.line("break;"),
            StmtKind::Continue => self.line("continue;"),
            StmtKind::Goto(_) | StmtKind::Label(_) => unreachable!("lowering leaves no jumps"),
            StmtKind::Return(None) => self.line("return;"),
            StmtKind::Return(Some(e)) => {
                let text = self.expr(e, function);
                self.line(&format!("return {text};"));
            }
        }
    }

    /// `head { ... }`, or without braces where the source has none and none are needed.
    fn governed(&mut self, head: &str, body: &Block, function: &Function) {
        if bare(body, true) {
            self.line(head);
            self.inside(body, function);
            return;
        }
        self.open(head, body);
        self.inside(body, function);
        self.close(body.end, "}");
    }

    /// `head {`; the brace has a line of its own if the source has one to spare before the first statement.
    pub(super) fn open(&mut self, head: &str, body: &Block) {
        // The head's own line.
        let needed = if self.join { 0 } else { 1 };
        if body.stmts.first().is_some_and(|s| self.room_before(s.span) > needed) {
            self.line(head);
            self.line("{");
        } else {
            self.line(&format!("{head} {{"));
        }
    }

    /// What closes a block, on the last line if the source has its brace there.
    pub(super) fn close(&mut self, end: Span, text: &str) {
        let placed = end.lo < end.hi;
        self.join = placed && self.is_on_last_line(end);
        let stray = text == "}" && !self.join && !(placed && self.is_on_next_line(end));
        self.line(text);
        self.stray_brace = stray;
    }

    fn label(&mut self, text: &str) {
        self.depth -= 1;
        self.line(text);
        self.depth += 1;
    }

    /// The statements of a block.
    pub(super) fn inside(&mut self, block: &Block, function: &Function) {
        self.depth += 1;
        self.statements(&block.stmts, function);
        let ends_with_label =
            block.stmts.last().is_some_and(|s| matches!(s.kind, StmtKind::Case(_) | StmtKind::Default));
        if ends_with_label {
            self.join = true;
            self.line(";");
        }
        self.depth -= 1;
    }

    fn conditional(&mut self, arms: &[(Expr, Block)], otherwise: Option<&Block>, function: &Function) {
        let mut before: Option<&Block> = None;
        for (i, (cond, body)) in arms.iter().enumerate() {
            let last = i + 1 == arms.len() && otherwise.is_none();
            let mut head = format!("if ({})", self.condition(cond, function));
            if let Some(before) = before {
                // A condition may come from a macro, far away.
                self.arrive(cond.span);
                head = if bare(before, false) { format!("else {head}") } else { format!("}} else {head}") };
            }
            if bare(body, last) {
                self.line(&head);
            } else {
                self.open(&head, body);
            }
            self.inside(body, function);
            if last && !bare(body, true) {
                self.close(body.end, "}");
            }
            before = Some(body);
        }
        let (Some(body), Some(before)) = (otherwise, before) else { return };
        let head = if bare(before, false) {
            self.join = body.stmts.first().is_some_and(|s| self.is_on_last_line(s.span));
            "else"
        } else {
            self.join = before.end.lo < before.end.hi && self.is_on_last_line(before.end);
            "} else"
        };
        if bare(body, true) {
            self.line(head);
            self.inside(body, function);
        } else {
            self.open(head, body);
            self.inside(body, function);
            self.close(body.end, "}");
        }
    }

    /// `T a = x, b = y`; several variables have one plain type.
    fn declaration(&self, decls: &[Decl], function: &Function) -> String {
        let mut out = String::new();
        for (i, decl) in decls.iter().enumerate() {
            let local = function.local(decl.local);
            if i == 0 {
                let space = (local.space == Space::Local).then_some(Space::Local);
                if local.min_align > 1 {
                    let _ = write!(out, "alignas({}) ", local.min_align);
                }
                out += &declare(&local.ty, &local.name, space, local.quals, &self.lowered.structs);
            } else {
                out.push_str(", ");
                out.push_str(&local.name);
            }
            if let Some(init) = &decl.init {
                out.push_str(" = ");
                self.initialiser(init, Some(function), &mut out);
            }
        }
        out
    }
}

/// Whether a body is printed without braces: the source has none, and it is one statement that cannot be misread. An `if`
/// could take the `else` of another one, so it must not be there unless `may_end_in_if`.
fn bare(body: &Block, may_end_in_if: bool) -> bool {
    let [stmt] = body.stmts.as_slice() else { return false };
    let unbraced = body.end.lo == body.end.hi;
    unbraced
        && match &stmt.kind {
            StmtKind::Expr(_) | StmtKind::Return(_) | StmtKind::Break | StmtKind::Continue => true,
            StmtKind::For { body, .. } | StmtKind::While(_, body) => bare(body, may_end_in_if),
            StmtKind::If { arms, otherwise: None } => {
                may_end_in_if && matches!(arms.as_slice(), [(_, body)] if bare(body, true))
            }
            _ => false,
        }
}
