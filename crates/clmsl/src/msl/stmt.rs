//! Statements.

use super::Printer;
use super::pieces::declare;
use crate::hir::{Block, Decl, Function, Stmt, StmtKind};
use crate::types::Space;

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
        self.sync(stmt.span);
        match &stmt.kind {
            StmtKind::Empty => self.line(";"),
            StmtKind::Expr(e) => {
                let text = self.expr(e, function);
                self.line(&format!("{text};"));
            }
            StmtKind::Decl(decls) => {
                let text = self.declaration(decls, function);
                self.line(&format!("{text};"));
            }
            StmtKind::Block(block) => {
                self.line("{");
                self.block(block, function, "}");
            }
            StmtKind::If { arms, otherwise } => self.conditional(arms, otherwise.as_ref(), function),
            StmtKind::While(cond, body) => {
                let cond = self.expr(cond, function);
                self.governed(&format!("while ({cond})"), body, function);
            }
            StmtKind::DoWhile(body, cond) => {
                let cond = self.expr(cond, function);
                self.line("do {");
                self.block(body, function, &format!("}} while ({cond});"));
            }
            StmtKind::For { init, cond, step, body } => {
                let init = match init.as_deref().map(|s| &s.kind) {
                    Some(StmtKind::Expr(e)) => self.expr(e, function),
                    Some(StmtKind::Decl(decls)) => self.declaration(decls, function),
                    _ => String::new(),
                };
                let cond = cond.as_ref().map(|c| format!(" {}", self.expr(c, function))).unwrap_or_default();
                let step = step.as_ref().map(|s| format!(" {}", self.expr(s, function))).unwrap_or_default();
                self.governed(&format!("for ({init};{cond};{step})"), body, function);
            }
            StmtKind::Switch(value, body) => {
                let value = self.expr(value, function);
                self.line(&format!("switch ({value}) {{"));
                self.block(body, function, "}");
            }
            StmtKind::Case(value) => {
                let value = self.expr(value, function);
                self.label(&format!("case {value}:"));
            }
            StmtKind::Default => self.label("default:"),
            StmtKind::Break => self.line("break;"),
            StmtKind::Continue => self.line("continue;"),
            StmtKind::Return(None) => self.line("return;"),
            StmtKind::Return(Some(e)) => {
                let text = self.expr(e, function);
                self.line(&format!("return {text};"));
            }
        }
    }

    /// A body that the source has on the line of its head stays there.
    fn short_body(&self, block: &Block, function: &Function) -> Option<String> {
        let [stmt] = block.stmts.as_slice() else { return None };
        let text = match &stmt.kind {
            StmtKind::Expr(e) => format!("{};", self.expr(e, function)),
            StmtKind::Return(Some(e)) => format!("return {};", self.expr(e, function)),
            StmtKind::Return(None) => "return;".to_owned(),
            StmtKind::Break => "break;".to_owned(),
            StmtKind::Continue => "continue;".to_owned(),
            StmtKind::Empty => ";".to_owned(),
            _ => return None,
        };
        let at = self.sources.location(stmt.span);
        (self.presumed.as_ref() == Some(&(at.file, at.line))).then_some(text)
    }

    /// `head { ... }`
    fn governed(&mut self, head: &str, body: &Block, function: &Function) {
        if let Some(text) = self.short_body(body, function) {
            self.line(&format!("{head} {{ {text} }}"));
            return;
        }
        self.line(&format!("{head} {{"));
        self.block(body, function, "}");
    }

    fn label(&mut self, text: &str) {
        self.depth -= 1;
        self.line(text);
        self.depth += 1;
    }

    fn block(&mut self, block: &Block, function: &Function, end: &str) {
        self.depth += 1;
        self.statements(&block.stmts, function);
        let ends_with_label =
            block.stmts.last().is_some_and(|s| matches!(s.kind, StmtKind::Case(_) | StmtKind::Default));
        if ends_with_label {
            self.line(";");
        }
        self.depth -= 1;
        self.line(end);
    }

    fn conditional(&mut self, arms: &[(crate::hir::Expr, Block)], otherwise: Option<&Block>, function: &Function) {
        if let ([(cond, body)], None) = (arms, otherwise) {
            let head = format!("if ({})", self.expr(cond, function));
            self.governed(&head, body, function);
            return;
        }
        for (i, (cond, body)) in arms.iter().enumerate() {
            let cond = self.expr(cond, function);
            if i == 0 {
                self.line(&format!("if ({cond}) {{"));
            } else {
                self.line(&format!("}} else if ({cond}) {{"));
            }
            self.depth += 1;
            self.statements(&body.stmts, function);
            self.depth -= 1;
        }
        if let Some(body) = otherwise {
            self.line("} else {");
            self.depth += 1;
            self.statements(&body.stmts, function);
            self.depth -= 1;
        }
        self.line("}");
    }

    /// `T a = x, b = y`; several variables have one plain type.
    fn declaration(&self, decls: &[Decl], function: &Function) -> String {
        let mut out = String::new();
        for (i, decl) in decls.iter().enumerate() {
            let local = function.local(decl.local);
            if i == 0 {
                let space = (local.space == Space::Local).then_some(Space::Local);
                out = declare(&local.ty, &local.name, space, local.quals, &self.lowered.structs);
            } else {
                out.push_str(", ");
                out.push_str(&local.name);
            }
            if let Some(init) = &decl.init {
                out.push_str(" = ");
                out.push_str(&self.initialiser(init, Some(function)));
            }
        }
        out
    }
}
