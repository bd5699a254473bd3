//! Statements (C99 §6.8).

use rustc_hash::FxHashSet as HashSet;

use super::{Sema, const_int, convert};
use crate::ast;
use crate::diagnostic::Diagnostic;
use crate::hir::{Block, Decl, Expr, Stmt, StmtKind};
use crate::source::Span;
use crate::types::{Type, layout};

/// Bytes of an array that may be initialised directly in a switch.
const MAX_SWITCH_ARRAY: u64 = 4096;
/// Labels that all ranges of a program may stand for.
const MAX_RANGE_LABELS: i128 = 1 << 16;

impl Sema<'_> {
    fn block(&mut self, block: &ast::Block) -> Block {
        self.enter_scope();
        let out = self.block_in_scope(block);
        self.leave_scope();
        out
    }

    pub(super) fn block_in_scope(&mut self, block: &ast::Block) -> Block {
        let mut stmts = Vec::new();
        for stmt in &block.stmts {
            self.statement(stmt, &mut stmts, false);
        }
        Block { stmts, end: block.end }
    }

    /// What a loop or `if` governs, as a block.
    fn body(&mut self, stmt: &ast::Stmt) -> Block {
        if let ast::StmtKind::Block(block) = &stmt.kind {
            return self.block(block);
        }
        self.enter_scope();
        let mut stmts = Vec::new();
        self.statement(stmt, &mut stmts, false);
        self.leave_scope();
        Block { stmts, end: Span { lo: stmt.span.hi, ..stmt.span } }
    }

    /// Checks a statement. `in_switch`: it stands directly in the block of a switch, where labels may be.
    fn statement(&mut self, stmt: &ast::Stmt, out: &mut Vec<Stmt>, in_switch: bool) {
        let span = stmt.span;
        let kind = match &stmt.kind {
            ast::StmtKind::Empty => StmtKind::Empty,
            ast::StmtKind::Error => return,
            ast::StmtKind::Expr(e) => {
                // The value is not used, so an array need not become a pointer.
                StmtKind::Expr(self.expr(e))
            }
            ast::StmtKind::Decl(declaration) => {
                let decls = self.local_declaration(declaration);
                if decls.is_empty() {
                    return;
                }
                if in_switch {
                    self.check_switch_arrays(&decls);
                }
                StmtKind::Decl(decls)
            }
            ast::StmtKind::Block(b) => StmtKind::Block(self.block(b)),
            ast::StmtKind::If { arms, otherwise } => {
                let arms = arms
                    .iter()
                    .map(|(cond, body)| {
                        let cond = self.truth(cond, "'if'");
                        (cond, self.body(body))
                    })
                    .collect();
                let otherwise = otherwise.as_ref().map(|s| self.body(s));
                StmtKind::If { arms, otherwise }
            }
            ast::StmtKind::While(cond, body) => {
                let cond = self.truth(cond, "'while'");
                StmtKind::While(cond, self.loop_body(body))
            }
            ast::StmtKind::DoWhile(body, cond) => {
                let body = self.loop_body(body);
                StmtKind::DoWhile(body, self.truth(cond, "'while'"))
            }
            ast::StmtKind::For { init, cond, step, body } => {
                self.enter_scope();
                let kind = self.for_statement(init.as_deref(), cond.as_ref(), step.as_ref(), body);
                self.leave_scope();
                kind
            }
            ast::StmtKind::Switch(value, body) => match self.switch(value, body) {
                Some(kind) => kind,
                None => return,
            },
            ast::StmtKind::Case(value, last, inner) => {
                self.case(value, last.as_ref(), span, out);
                self.statement(inner, out, in_switch);
                return;
            }
            ast::StmtKind::Default(inner) => {
                self.check_label(span);
                out.push(Stmt { kind: StmtKind::Default, span: span.start() });
                self.statement(inner, out, in_switch);
                return;
            }
            ast::StmtKind::Break => {
                if !self.current.as_ref().is_some_and(|c| c.loops > 0 || !c.switches.is_empty()) {
                    self.error(span, "'break' outside a loop or switch");
                }
                StmtKind::Break
            }
            ast::StmtKind::Continue => {
                if self.current.as_ref().is_none_or(|c| c.loops == 0) {
                    self.error(span, "'continue' outside a loop");
                }
                StmtKind::Continue
            }
            ast::StmtKind::Goto(label) => {
                if let Some(current) = &mut self.current {
                    current.gotos.push(*label);
                }
                StmtKind::Goto(self.name(label.name).to_owned())
            }
            ast::StmtKind::Label(label, inner) => {
                self.label(*label);
                let span = label.span;
                out.push(Stmt { kind: StmtKind::Label(self.name(label.name).to_owned()), span });
                self.statement(inner, out, in_switch);
                return;
            }
            ast::StmtKind::Return(value) => self.return_statement(value.as_ref(), span),
        };
        out.push(Stmt { kind, span });
    }

    fn label(&mut self, label: ast::Ident) {
        let Some(current) = &mut self.current else { return };
        if let Some(&first) = current.labels.get(&label.name) {
            let text = self.name(label.name);
            let error = Diagnostic::error(label.span, format!("label '{text}' is defined twice"));
            self.report(error.with_note(first, "first defined here"));
        } else {
            current.labels.insert(label.name, label.span);
        }
    }

    /// Reports jumps to labels that the function does not have.
    pub(super) fn check_gotos(&mut self) {
        let Some(current) = &mut self.current else { return };
        let mut gotos = std::mem::take(&mut current.gotos);
        gotos.retain(|g| !current.labels.contains_key(&g.name));
        for goto in gotos {
            let text = self.name(goto.name);
            self.error(goto.span, format!("use of undeclared label '{text}'"));
        }
    }

    fn truth(&mut self, cond: &ast::Expr, what: &str) -> Expr {
        let value = self.value(cond);
        self.condition(value, what)
    }

    fn loop_body(&mut self, body: &ast::Stmt) -> Block {
        if let Some(c) = &mut self.current {
            c.loops += 1;
        }
        let block = self.body(body);
        if let Some(c) = &mut self.current {
            c.loops -= 1;
        }
        block
    }

    fn for_statement(
        &mut self,
        init: Option<&ast::Stmt>,
        cond: Option<&ast::Expr>,
        step: Option<&ast::Expr>,
        body: &ast::Stmt,
    ) -> StmtKind {
        let mut first = Vec::new();
        if let Some(init) = init {
            self.statement(init, &mut first, false);
        }
        let cond = cond.map(|c| Box::new(self.truth(c, "'for'")));
        let step = step.map(|s| Box::new(self.expr(s)));
        let body = self.loop_body(body);
        StmtKind::For { init: first.pop().map(Box::new), cond, step, body }
    }

    fn switch(&mut self, value: &ast::Expr, body: &ast::Stmt) -> Option<StmtKind> {
        let value = self.value(value);
        if value.ty.is_error() {
            return None;
        }
        let Some(scalar) = value.ty.scalar().filter(|s| s.is_integer()) else {
            let ty = self.show(&value.ty);
            self.error(value.span, format!("'switch' needs an integer, not '{ty}'"));
            return None;
        };
        let ty = Type::Scalar(scalar.promoted());
        let value = convert(value, &ty);
        let (body, end) = match &body.kind {
            ast::StmtKind::Block(block) => (block.stmts.as_slice(), block.end),
            _ => (std::slice::from_ref(body), body.span.end()),
        };
        if let Some(c) = &mut self.current {
            c.switches.push(ty);
        }
        self.enter_scope();
        let errors = self.errors;
        let mut stmts = Vec::new();
        for stmt in body {
            self.statement(stmt, &mut stmts, true);
        }
        self.leave_scope();
        if let Some(c) = &mut self.current {
            c.switches.pop();
        }
        self.check_labels(&stmts, self.errors == errors);
        Some(StmtKind::Switch(value, Block { stmts, end }))
    }

    /// What is initialised directly in a switch is assigned element by element later.
    fn check_switch_arrays(&mut self, decls: &[Decl]) {
        for decl in decls.iter().filter(|d| d.init.is_some()) {
            let local = self.local(decl.local);
            let large = matches!(local.ty, Type::Array(..))
                && layout(&local.ty, &self.program.structs).is_none_or(|(size, _)| size > MAX_SWITCH_ARRAY);
            if large {
                let span = local.span;
                self.error(span, "a large array initialised directly in a switch is not supported (put it in a block)");
            }
        }
    }

    fn check_labels(&mut self, stmts: &[Stmt], complete: bool) {
        let mut seen = HashSet::default();
        let mut repeated = Vec::new();
        labels_of_switch(stmts, &mut |label| {
            let value = match &label.kind {
                StmtKind::Case(value) => Some(value.int_value()),
                _ => None,
            };
            if value != Some(None) && !seen.insert(value) {
                repeated.push(label.span);
            }
        });
        for span in repeated {
            self.error(span, "this label occurs twice in the switch");
        }
        if let Some(first) = stmts.first()
            && complete
            && !matches!(first.kind, StmtKind::Case(_) | StmtKind::Default | StmtKind::Decl(_))
            && !has_label(first)
        {
            self.warning(first.span, "this statement before the first label of the switch is never reached");
        }
    }

    fn check_label(&mut self, span: Span) {
        if self.current.as_ref().is_none_or(|c| c.switches.is_empty()) {
            self.error(span, "a label outside a switch");
        }
    }

    /// A label, or one for each number of a range.
    fn case(&mut self, first: &ast::Expr, last: Option<&ast::Expr>, span: Span, out: &mut Vec<Stmt>) {
        self.check_label(span);
        let Some(first) = self.case_value(first) else { return };
        let Some(last) = last else {
            out.push(Stmt { kind: StmtKind::Case(first), span: span.start() });
            return;
        };
        let Some(last) = self.case_value(last) else { return };
        let (Some(low), Some(high)) = (first.int_value(), last.int_value()) else { return };
        if low > high {
            self.warning(first.span.to(last.span), "this range of labels is empty");
            return;
        }
        let count = high - low + 1;
        if count > MAX_RANGE_LABELS - self.range_labels {
            let message = format!("ranges of labels with more than {MAX_RANGE_LABELS} numbers are not supported");
            self.error(first.span.to(last.span), message);
            return;
        }
        self.range_labels += count;
        for value in low..=high {
            let label = Expr::int(value, first.ty.clone(), first.span);
            out.push(Stmt { kind: StmtKind::Case(label), span: span.start() });
        }
    }

    /// The value of a label, converted to the type of its switch.
    fn case_value(&mut self, value: &ast::Expr) -> Option<Expr> {
        let value = self.value(value);
        if value.ty.is_error() {
            return None;
        }
        let Some(constant) = const_int(&value) else {
            self.error(value.span, "the value of a case label must be an integer constant");
            return None;
        };
        let ty = self.current.as_ref().and_then(|c| c.switches.last().cloned())?;
        let literal = Expr { ty: value.ty.clone(), ..Expr::int(constant, value.ty.clone(), value.span) };
        Some(convert(literal, &ty))
    }

    fn return_statement(&mut self, value: Option<&ast::Expr>, span: Span) -> StmtKind {
        let ret = self.current.as_ref().map_or(Type::Error, |c| c.ret.clone());
        match value {
            None => {
                if !matches!(ret, Type::Void | Type::Error) {
                    self.error(span, "this function returns a value");
                }
                StmtKind::Return(None)
            }
            Some(e) => {
                let value = self.value(e);
                if matches!(ret, Type::Void) {
                    if !matches!(value.ty, Type::Void | Type::Error) {
                        self.error(e.span, "this function returns no value");
                    }
                    return StmtKind::Return(Some(value));
                }
                StmtKind::Return(Some(self.assign_convert(value, &ret, "return value")))
            }
        }
    }
}

/// Calls `f` on the labels of the switch whose list this is, in nested statements too.
fn labels_of_switch<'s>(stmts: &'s [Stmt], f: &mut dyn FnMut(&'s Stmt)) {
    for stmt in stmts {
        match &stmt.kind {
            StmtKind::Case(_) | StmtKind::Default => f(stmt),
            StmtKind::Switch(..) => {}
            _ => stmt.blocks().into_iter().for_each(|block| labels_of_switch(&block.stmts, f)),
        }
    }
}

/// Whether something may jump to the statement or into it.
fn has_label(stmt: &Stmt) -> bool {
    matches!(stmt.kind, StmtKind::Label(_) | StmtKind::Case(_) | StmtKind::Default)
        || stmt.blocks().iter().any(|block| block.stmts.iter().any(has_label))
}
