//! Jumps into statements that do not hold them, made jumps to statements of a list that does, for `goto`.
//!
//! A jump to a label inside a loop sets a flag and goes to the loop; with the flag set the loop runs without asking its
//! condition, and its body begins with a jump to the label: `goto in; while (c) { a(); in: b(); }` becomes
//! `enter = true; goto entry; entry: while (enter || c) { if (enter) goto in; a(); in: enter = false; b(); }`. Blocks and
//! branches are entered likewise (A. M. Erosa and L. J. Hendren, "Taming Control Flow", 1994).
//!
//! A `switch` whose labels stand in nested statements becomes one that jumps to them; so does one with a label that is
//! jumped to from outside, or past its own labels.

use super::goto::{Jump, declare, each_statement, jumps, list_of, position, set, when};
use crate::ast::BinaryOp;
use crate::hir::{Block, Expr, ExprKind, Function, Local, LocalId, Stmt, StmtKind, UnaryOp};
use crate::source::Span;
use crate::types::Type;

/// Labels times the statements that they are nested in; each costs a walk over a list.
const MAX_NESTED: usize = 4096;

/// Makes jumps of the labels of such switches.
pub(super) fn open_switches(body: &mut Block, round: usize) {
    let mut next = 0;
    each_list(&mut body.stmts, &mut |list| {
        for at in 0..list.len() {
            let outside = |name: &str| list.iter().enumerate().any(|(i, s)| i != at && jumps(s, Jump::Goto(name)));
            if let StmtKind::Switch(_, block) = &list[at].kind
                && (block.stmts.iter().any(has_nested_label)
                    || passes_labels(&block.stmts)
                    || labels(&list[at]).iter().any(|name| outside(name)))
            {
                open(&mut list[at], round, &mut next);
            }
        }
    });
}

/// Sends jumps into statements by way of these statements. `false` if there are too many.
pub(super) fn lower(function: &mut Function, body: &mut Block, round: usize) -> bool {
    let mut pass = Pass { function, flags: Vec::new(), nested: 0, round, next: 0 };
    each_list(&mut body.stmts, &mut |list| pass.list(list));
    let span = body.end.start();
    let flags = pass.flags.iter().map(|&flag| declare(flag, Some(Expr::int(0, Type::BOOL, span)), span));
    body.stmts.splice(0..0, flags);
    pass.nested <= MAX_NESTED
}

/// Lists within lists, the outer first.
fn each_list(list: &mut Vec<Stmt>, f: &mut dyn FnMut(&mut Vec<Stmt>)) {
    f(list);
    for stmt in list {
        for block in stmt.blocks_mut() {
            each_list(&mut block.stmts, f);
        }
    }
}

fn is_switch_label(stmt: &Stmt) -> bool {
    matches!(stmt.kind, StmtKind::Case(_) | StmtKind::Default)
}

/// Whether a label of the switch around the statement is in it.
fn has_nested_label(stmt: &Stmt) -> bool {
    let inside = |block: &&Block| block.stmts.iter().any(|s| is_switch_label(s) || has_nested_label(s));
    !matches!(stmt.kind, StmtKind::Switch(..)) && stmt.blocks().iter().any(inside)
}

/// Whether a jump to a label in the list passes labels of the switch whose list it is.
fn passes_labels(list: &[Stmt]) -> bool {
    list.iter().enumerate().any(|(at, stmt)| {
        labels(stmt).iter().any(|name| {
            list.iter().enumerate().any(|(from, s)| {
                let passed = if from < at { &list[from..at] } else { &list[at..from] };
                passed.iter().any(is_switch_label) && jumps(s, Jump::Goto(name))
            })
        })
    })
}

/// The labels for `goto` in a statement, or the one that it is.
fn labels(stmt: &Stmt) -> Vec<String> {
    let mut labels = Vec::new();
    each_statement(std::slice::from_ref(stmt), &mut |stmt| {
        if let StmtKind::Label(name) = &stmt.kind {
            labels.push(name.clone());
        }
    });
    labels
}

/// `switch (v) { case 1: ... }` as `{ switch (v) { case 1: goto case_1; ... } case_1: ... end: ; }`. The names of the
/// labels are none of C.
fn open(stmt: &mut Stmt, round: usize, next: &mut usize) {
    let span = stmt.span;
    let StmtKind::Switch(_, block) = &mut stmt.kind else { return };
    let mut fresh = |what: &str| {
        *next += 1;
        format!("{round}.{next} {what}")
    };
    let end = block.end;
    let after = fresh("end");
    let mut stmts = std::mem::take(&mut block.stmts);
    let jump = |name: &str, span: Span| Stmt { kind: StmtKind::Goto(name.to_owned()), span };
    let mut has_default = false;
    release(&mut stmts, &mut |stmt| match stmt.kind {
        StmtKind::Case(_) | StmtKind::Default => {
            let name = fresh("case");
            has_default |= matches!(stmt.kind, StmtKind::Default);
            let label = std::mem::replace(&mut stmt.kind, StmtKind::Label(name.clone()));
            block.stmts.push(Stmt { kind: label, span: stmt.span });
            block.stmts.push(jump(&name, stmt.span));
        }
        _ => stmt.kind = StmtKind::Goto(after.clone()),
    });
    if !has_default {
        block.stmts.push(Stmt { kind: StmtKind::Default, span });
        block.stmts.push(jump(&after, span));
    }
    stmts.insert(0, Stmt { kind: std::mem::replace(&mut stmt.kind, StmtKind::Empty), span });
    stmts.push(Stmt { kind: StmtKind::Label(after), span: end });
    stmt.kind = StmtKind::Block(Block { stmts, end });
}

/// Calls `f` on the labels and the breaks of the switch whose list this is.
fn release(list: &mut [Stmt], f: &mut dyn FnMut(&mut Stmt)) {
    fn inner(list: &mut [Stmt], breaks: bool, f: &mut dyn FnMut(&mut Stmt)) {
        for stmt in list {
            match &stmt.kind {
                StmtKind::Break if breaks => f(stmt),
                StmtKind::Case(_) | StmtKind::Default => f(stmt),
                StmtKind::Switch(..) => {}
                kind => {
                    let is_loop = matches!(kind, StmtKind::For { .. } | StmtKind::While(..) | StmtKind::DoWhile(..));
                    for block in stmt.blocks_mut() {
                        inner(&mut block.stmts, breaks && !is_loop, f);
                    }
                }
            }
        }
    }
    inner(list, true, f);
}

struct Pass<'f> {
    function: &'f mut Function,
    /// Declared at the top of the function; set only from a jump to where its label is.
    flags: Vec<LocalId>,
    nested: usize,
    round: usize,
    next: usize,
}

impl Pass<'_> {
    /// Gives each statement of the list that is jumped into a label.
    fn list(&mut self, list: &mut Vec<Stmt>) {
        let mut at = 0;
        while at < list.len() {
            let mut names = labels(&list[at]);
            self.nested += names.len();
            if self.nested > MAX_NESTED {
                return;
            }
            names.retain(|name| list.iter().any(|stmt| jumps_in(stmt, name)));
            if !names.is_empty() && !matches!(list[at].kind, StmtKind::Switch(..) | StmtKind::Label(_)) {
                let span = list[at].span;
                let statement = self.fresh("entry");
                for name in names {
                    let flag = self.function.add_local(Local::generated("enter", Type::BOOL, span));
                    self.flags.push(flag);
                    redirect(list, &name, &statement, flag);
                    at = list.iter().position(|s| holds(std::slice::from_ref(s), &name)).unwrap_or(at);
                    self.enter(&mut list[at], &name, flag);
                }
                list.insert(at, Stmt { kind: StmtKind::Label(statement), span: span.start() });
                at += 1;
            }
            at += 1;
        }
    }

    fn fresh(&mut self, what: &str) -> String {
        self.next += 1;
        format!("{}.{} {what}", self.round, self.next)
    }

    /// Lets the flag lead into the statement, to the label in it, where the flag is unset.
    fn enter(&mut self, stmt: &mut Stmt, name: &str, flag: LocalId) {
        let span = stmt.span.start();
        for block in stmt.blocks_mut() {
            if let Some(holder) = list_of(&mut block.stmts, name)
                && let Some(label) = position(holder, name)
            {
                holder.insert(label + 1, set(flag, false, span));
                block.stmts.insert(0, jump_if(flag, name, span));
            }
        }
        match &mut stmt.kind {
            StmtKind::If { arms, .. } => {
                for (cond, block) in arms {
                    if holds(&block.stmts, name) {
                        *cond = either(flag, cond);
                        break;
                    }
                    *cond = neither(flag, cond);
                }
            }
            StmtKind::While(cond, _) => *cond = either(flag, cond),
            StmtKind::For { init, cond, .. } => {
                if let Some(cond) = cond {
                    **cond = either(flag, cond);
                }
                if let Some(init) = init.take() {
                    let (past, end) = (self.fresh("loop"), stmt.span.end());
                    let jump = jump_if(flag, &past, span);
                    let whole = Stmt { kind: std::mem::replace(&mut stmt.kind, StmtKind::Empty), span: stmt.span };
                    let label = Stmt { kind: StmtKind::Label(past), span };
                    stmt.kind = StmtKind::Block(Block { stmts: vec![jump, *init, label, whole], end });
                }
            }
            _ => {}
        }
    }
}

/// Whether the statement has a jump to the label in a block that does not hold the label.
fn jumps_in(stmt: &Stmt, name: &str) -> bool {
    let strays = |block: &&Block| !holds(&block.stmts, name) && block.stmts.iter().any(|s| jumps(s, Jump::Goto(name)));
    matches!(&stmt.kind, StmtKind::Goto(to) if to == name) || stmt.blocks().iter().any(strays)
}

/// Makes of such jumps jumps to the statement that the label is in.
fn redirect(list: &mut Vec<Stmt>, name: &str, statement: &str, flag: LocalId) {
    let mut at = 0;
    while let Some(stmt) = list.get_mut(at) {
        for block in stmt.blocks_mut() {
            if !holds(&block.stmts, name) {
                redirect(&mut block.stmts, name, statement, flag);
            }
        }
        if matches!(&stmt.kind, StmtKind::Goto(to) if to == name) {
            let span = stmt.span;
            stmt.kind = StmtKind::Goto(statement.to_owned());
            list.insert(at, set(flag, true, span));
            at += 1;
        }
        at += 1;
    }
}

fn holds(list: &[Stmt], name: &str) -> bool {
    list.iter().any(|stmt| {
        matches!(&stmt.kind, StmtKind::Label(label) if label == name)
            || stmt.blocks().iter().any(|block| holds(&block.stmts, name))
    })
}

fn read(flag: LocalId, span: Span) -> Expr {
    Expr::new(ExprKind::Local(flag), Type::BOOL, span)
}

fn jump_if(flag: LocalId, name: &str, span: Span) -> Stmt {
    when(read(flag, span), vec![Stmt { kind: StmtKind::Goto(name.to_owned()), span }], span)
}

fn either(flag: LocalId, cond: &Expr) -> Expr {
    let kind = ExprKind::Binary(BinaryOp::LogicalOr, Box::new(read(flag, cond.span)), Box::new(cond.clone()));
    Expr::new(kind, Type::BOOL, cond.span)
}

fn neither(flag: LocalId, cond: &Expr) -> Expr {
    let unset = Expr::new(ExprKind::Unary(UnaryOp::Not, Box::new(read(flag, cond.span))), Type::BOOL, cond.span);
    let kind = ExprKind::Binary(BinaryOp::LogicalAnd, Box::new(unset), Box::new(cond.clone()));
    Expr::new(kind, Type::BOOL, cond.span)
}
