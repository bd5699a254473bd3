//! `goto` without goto, which Metal does not have.
//!
//! Forward, what stands between the jump and its label runs only while a flag is not set:
//! `if (e) goto out; a(); out: b();` becomes `if (e) to_out = true; if (!to_out) { a(); } b();`. Backward, the statements
//! from the label to the last jump are a loop that runs again while the flag is set. Out of loops and switches a jump
//! leaves by `break`, level by level. Declarations on the way move up, because C lets a jump pass them.
//!
//! Jumps into statements that do not hold them go by way of these (`inward`). What was moved for one label may be in the
//! way of another, so there are rounds.

use super::inward;
use super::scope::assign;
use crate::diagnostic::Diagnostic;
use crate::hir::{Block, Decl, Expr, ExprKind, Function, Local, LocalId, Stmt, StmtKind, UnaryOp};
use crate::source::Span;
use crate::types::{Space, Type};

/// Labels of one function; each costs a walk over it.
const MAX_LABELS: usize = 256;
/// Rounds.
const MAX_ROUNDS: usize = 16;
/// Elements of an initialised array that a jump may pass: they are assigned one by one.
const MAX_ARRAY: u64 = 1024;

/// Takes the jumps out of a function.
pub(super) fn lower(function: &mut Function, diagnostics: &mut Vec<Diagnostic>) {
    let Some(mut body) = function.body.take() else { return };
    let reported = diagnostics.len();
    for round in 0..MAX_ROUNDS {
        inward::open_switches(&mut body, round);
        let mut gotos = false;
        each_statement(&body.stmts, &mut |stmt| gotos |= matches!(stmt.kind, StmtKind::Goto(_)));
        if !gotos || diagnostics.len() > reported {
            break;
        }
        let few = inward::lower(function, &mut body, round);
        let mut labels = Vec::new();
        each_statement(&body.stmts, &mut |stmt| {
            if let StmtKind::Label(name) = &stmt.kind {
                labels.push((name.clone(), stmt.span));
            }
        });
        if !few || labels.len() > MAX_LABELS {
            let span = labels[labels.len().min(MAX_LABELS) - 1].1;
            let message = "so many labels in nested statements of a function are not supported: Metal has no goto";
            diagnostics.push(Diagnostic::error(span, message));
            break;
        }
        let mut pass = Pass { function, diagnostics };
        for (name, _) in &labels {
            let all = targets(&body.stmts);
            if let Some(list) = list_of(&mut body.stmts, name) {
                pass.forward(list, name, &all);
            }
        }
        for (name, _) in labels.iter().rev() {
            if let Some(list) = list_of(&mut body.stmts, name) {
                pass.backward(list, name);
            }
        }
    }
    if diagnostics.len() == reported {
        each_statement(&body.stmts, &mut |stmt| {
            if let StmtKind::Goto(name) = &stmt.kind {
                let message = format!("this goto is not supported: Metal has no goto (label '{name}')");
                diagnostics.push(Diagnostic::error(stmt.span, message));
            }
        });
    }
    body.for_each_list_mut(&mut |list| list.retain(|s| !matches!(s.kind, StmtKind::Label(_))));
    function.body = Some(body);
}

/// What leads away from where it stands.
#[derive(Clone, Copy)]
pub(super) enum Jump<'n> {
    Goto(&'n str),
    /// Of the loop or switch around the statements in question.
    Break,
    Continue,
}

struct Pass<'f> {
    function: &'f mut Function,
    diagnostics: &'f mut Vec<Diagnostic>,
}

impl Pass<'_> {
    /// Guards what jumps pass on the way to a label behind them in the list. Into what is guarded other jumps may lead,
    /// past the start of the flag, so it is unset where the label is. `all`: where the jumps of the function lead.
    fn forward(&mut self, list: &mut Vec<Stmt>, name: &str, all: &[String]) {
        let jump = Jump::Goto(name);
        let Some(label) = position(list, name) else { return };
        let Some(first) = list[..label].iter().position(|s| jumps(s, jump)) else { return };
        let mut region: Vec<Stmt> = list.drain(first..label).collect();
        let span = region[0].span;
        let flag = self.flag(&flag_name(name), span);
        let mut out = vec![declare(flag, Some(truth(false, span)), span)];
        let inner = targets(&region);
        let count = |list: &[String], label: &str| list.iter().filter(|name| *name == label).count();
        let mut entered = false;
        each_statement(&region, &mut |stmt| {
            entered |= matches!(&stmt.kind, StmtKind::Label(label) if count(&inner, label) < count(all, label));
        });
        self.redirect(&mut region, jump, flag, false, true);
        out.append(&mut region);
        if entered {
            out.push(set(flag, false, span));
        }
        list.splice(first..first, out);
    }

    /// Makes a loop of the statements between a label and the last jump back to it.
    fn backward(&mut self, list: &mut Vec<Stmt>, name: &str) {
        let Some(label) = position(list, name) else { return };
        let Some(last) = list.iter().rposition(|s| jumps(s, Jump::Goto(name))).filter(|&last| last > label) else {
            return;
        };
        let span = list[label].span;
        let end = list[last].span.end();
        let mut body: Vec<Stmt> = list.drain(label + 1..=last).collect();
        self.refuse_entry(&body);
        let mut before = Vec::new();
        let mut after = Vec::new();
        self.hoist(&mut body, &mut before);
        let again = self.flag(&flag_name(name), span);
        before.push(declare(again, None, span));
        self.redirect(&mut body, Jump::Goto(name), again, false, true);
        for (jump, what, kind) in
            [(Jump::Break, "leave", StmtKind::Break), (Jump::Continue, "go_on", StmtKind::Continue)]
        {
            if body.iter().any(|s| jumps(s, jump)) {
                let flag = self.flag(what, span);
                before.push(declare(flag, None, span));
                self.redirect(&mut body, jump, flag, true, true);
                body.insert(0, set(flag, false, span));
                after.push(when(self.read(flag, span), vec![Stmt { kind, span }], span));
            }
        }
        body.insert(0, set(again, false, span));
        let kind = StmtKind::DoWhile(Block { stmts: body, end }, self.read(again, span));
        before.push(Stmt { kind, span });
        before.append(&mut after);
        list.splice(label + 1..label + 1, before);
    }

    /// Refuses a label of a switch among statements that go behind a flag: it would be entered without one.
    fn refuse_entry(&mut self, stmts: &[Stmt]) {
        if let Some(label) = stmts.iter().find(|s| matches!(s.kind, StmtKind::Case(_) | StmtKind::Default)) {
            let message = "a goto that passes labels of its switch is not supported: Metal has no goto";
            self.diagnostics.push(Diagnostic::error(label.span, message));
        }
    }

    /// Replaces the jumps in a list by setting the flag. With `leave` the list is in a loop or switch, which a `break`
    /// leaves; else what follows a jump is guarded. `shared`: what the list declares is used behind it too.
    fn redirect(&mut self, list: &mut Vec<Stmt>, jump: Jump<'_>, flag: LocalId, leave: bool, shared: bool) {
        let mut out = Vec::with_capacity(list.len() + 1);
        let mut runs: Vec<Vec<Stmt>> = Vec::new();
        for stmt in list.drain(..) {
            let span = stmt.span;
            let jumps = jumps(&stmt, jump);
            let to = runs.last_mut().unwrap_or(&mut out);
            if !jumps {
                to.push(stmt);
                continue;
            }
            let inner = matches!(
                stmt.kind,
                StmtKind::For { .. } | StmtKind::While(..) | StmtKind::DoWhile(..) | StmtKind::Switch(..)
            );
            if matches!(stmt.kind, StmtKind::Goto(_) | StmtKind::Break | StmtKind::Continue) {
                to.push(set(flag, true, span));
                if leave {
                    to.push(Stmt { kind: StmtKind::Break, span });
                }
            } else {
                to.push(self.inside(stmt, jump, flag, leave || inner));
            }
            if !leave {
                runs.push(Vec::new());
            } else if inner {
                to.push(when(self.read(flag, span), vec![Stmt { kind: StmtKind::Break, span }], span));
            }
        }
        let mut hoisted = Vec::new();
        let count = runs.len();
        for (i, mut run) in runs.into_iter().enumerate() {
            let Some(first) = run.first() else { continue };
            if run.iter().all(|s| matches!(s.kind, StmtKind::Label(_))) {
                out.append(&mut run);
                continue;
            }
            let span = first.span;
            self.refuse_entry(&run);
            if shared || i + 1 < count {
                self.hoist(&mut run, &mut hoisted);
            }
            let unset = Expr::new(ExprKind::Unary(UnaryOp::Not, Box::new(self.read(flag, span))), Type::BOOL, span);
            out.push(when(unset, run, span));
        }
        out.splice(0..0, hoisted);
        *list = out;
    }

    /// A statement with jumps somewhere inside.
    fn inside(&mut self, mut stmt: Stmt, jump: Jump<'_>, flag: LocalId, leave: bool) -> Stmt {
        for block in stmt.blocks_mut() {
            if block.stmts.iter().any(|s| jumps(s, jump)) {
                self.redirect(&mut block.stmts, jump, flag, leave, false);
            }
        }
        stmt
    }

    /// Moves the variables that statements declare to `before`; where they stood they are assigned.
    fn hoist(&mut self, stmts: &mut Vec<Stmt>, before: &mut Vec<Stmt>) {
        let mut out = Vec::with_capacity(stmts.len());
        for stmt in stmts.drain(..) {
            let StmtKind::Decl(decls) = stmt.kind else {
                out.push(stmt);
                continue;
            };
            for decl in decls {
                let local = self.function.local_mut(decl.local);
                if local.space != Space::Private {
                    out.push(Stmt { kind: StmtKind::Decl(vec![decl]), span: stmt.span });
                    continue;
                }
                local.quals.is_const = false;
                // A jump may pass what unsets a flag.
                let unset = (local.generated && local.ty == Type::BOOL).then(|| truth(false, stmt.span));
                before.push(declare(decl.local, unset, stmt.span));
                let Some(init) = decl.init else { continue };
                if self.function.local(decl.local).ty.elements() > MAX_ARRAY {
                    let message = "a large array that is initialised where a goto passes is not supported";
                    self.diagnostics.push(Diagnostic::error(stmt.span, message));
                    continue;
                }
                assign(decl.local, init, self.function, stmt.span, &mut out);
            }
        }
        *stmts = out;
    }

    fn flag(&mut self, name: &str, span: Span) -> LocalId {
        self.function.add_local(Local::generated(name, Type::BOOL, span))
    }

    fn read(&self, flag: LocalId, span: Span) -> Expr {
        Expr::new(ExprKind::Local(flag), Type::BOOL, span)
    }
}

/// What the flag of jumps to a label is called; labels of `inward` have a name behind a number.
fn flag_name(label: &str) -> String {
    format!("to_{}", label.rsplit(' ').next().unwrap_or(label))
}

fn truth(value: bool, span: Span) -> Expr {
    Expr::int(i128::from(value), Type::BOOL, span)
}

pub(super) fn declare(local: LocalId, init: Option<Expr>, span: Span) -> Stmt {
    Stmt { kind: StmtKind::Decl(vec![Decl { local, init }]), span }
}

pub(super) fn set(flag: LocalId, value: bool, span: Span) -> Stmt {
    let place = Expr::new(ExprKind::Local(flag), Type::BOOL, span);
    let kind = ExprKind::Assign(Box::new(place), Box::new(truth(value, span)));
    Stmt { kind: StmtKind::Expr(Expr::new(kind, Type::BOOL, span)), span }
}

pub(super) fn when(condition: Expr, stmts: Vec<Stmt>, span: Span) -> Stmt {
    let end = stmts.last().map_or(span, |s| s.span).end();
    Stmt { kind: StmtKind::If { arms: vec![(condition, Block { stmts, end })], otherwise: None }, span }
}

/// Where the jumps lead.
fn targets(list: &[Stmt]) -> Vec<String> {
    let mut names = Vec::new();
    each_statement(list, &mut |stmt| {
        if let StmtKind::Goto(name) = &stmt.kind {
            names.push(name.clone());
        }
    });
    names
}

pub(super) fn position(list: &[Stmt], name: &str) -> Option<usize> {
    list.iter().position(|s| matches!(&s.kind, StmtKind::Label(label) if label == name))
}

/// The list that holds the label.
pub(super) fn list_of<'s>(list: &'s mut Vec<Stmt>, name: &str) -> Option<&'s mut Vec<Stmt>> {
    if position(list, name).is_some() {
        return Some(list);
    }
    list.iter_mut().flat_map(Stmt::blocks_mut).find_map(|block| list_of(&mut block.stmts, name))
}

/// Whether there is such a jump in the statement.
pub(super) fn jumps(stmt: &Stmt, jump: Jump<'_>) -> bool {
    let closed = match (&stmt.kind, jump) {
        (StmtKind::Goto(name), Jump::Goto(wanted)) => return name == wanted,
        (StmtKind::Break, Jump::Break) | (StmtKind::Continue, Jump::Continue) => return true,
        (StmtKind::Switch(..), Jump::Break) => true,
        (StmtKind::For { .. } | StmtKind::While(..) | StmtKind::DoWhile(..), Jump::Break | Jump::Continue) => true,
        _ => false,
    };
    !closed && stmt.blocks().iter().any(|block| block.stmts.iter().any(|s| jumps(s, jump)))
}

pub(super) fn each_statement(list: &[Stmt], f: &mut dyn FnMut(&Stmt)) {
    for stmt in list {
        f(stmt);
        for block in stmt.blocks() {
            each_statement(&block.stmts, f);
        }
    }
}
