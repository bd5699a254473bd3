//! Which variables have values at the beginning of a part that are used there, before they get others; which contents of local memory are read there, before they are
//! written; and which variables are declared before and mentioned.
//!
//! For a value a declaration and an assignment to the whole variable end the use of what was there before. Local memory is lost at a grid barrier, and the work-items of
//! a group write it anew together: which of them write what nobody knows, so an element that is written, on whatever condition, and an address that is given to anybody count
//! as new contents, and only what is read by name before that, in order of the text, is known to be lost.

use std::collections::{BTreeMap, BTreeSet};

use super::graph::{End, Graph};
use super::saved::each;
use crate::hir::{Block, Expr, ExprKind, LocalId, Stmt, StmtKind};
use crate::source::Span;

/// Variables, each with the place where it is used first, in order of the text.
pub(super) type Live = BTreeMap<LocalId, Span>;

/// What is live where a part begins, but for the first. `is_memory`: what is local memory by name.
pub(super) fn across(graph: &Graph, entries: &[usize], is_memory: &dyn Fn(LocalId) -> bool) -> Live {
    let mut before = |step: Step<'_>, live: &mut Live| {
        let mut values = Values { is_memory, targets: Vec::new() };
        match step {
            Step::Statement(stmt) => values.statement(stmt, live),
            Step::Condition(cond) => values.used(cond, live),
        }
        let mut contents = Contents { is_memory, first: BTreeMap::new() };
        match step {
            Step::Statement(stmt) => stmt.for_each_expr(&mut |e| contents.visit(e)),
            Step::Condition(cond) => contents.visit(cond),
        }
        for (id, read) in contents.first {
            match read {
                Some(span) => _ = live.insert(id, span),
                None => _ = live.remove(&id),
            }
        }
    };
    at_entries(graph, entries, &mut before)
}

/// What is declared where a part begins, but for the first, and mentioned behind.
pub(super) fn in_scope(graph: &Graph, entries: &[usize]) -> BTreeSet<LocalId> {
    let mut before = |step: Step<'_>, live: &mut Live| match step {
        Step::Statement(stmt) => {
            stmt.for_each_expr(&mut |e| mentioned(e, live));
            each(stmt, &mut |stmt| {
                if let StmtKind::Decl(decls) = &stmt.kind {
                    decls.iter().for_each(|decl| _ = live.remove(&decl.local));
                }
            });
        }
        Step::Condition(cond) => mentioned(cond, live),
    };
    at_entries(graph, entries, &mut before).into_keys().collect()
}

/// What a block is made of.
#[derive(Clone, Copy)]
enum Step<'g> {
    Statement(&'g Stmt),
    Condition(&'g Expr),
}

/// Solves the equations of all blocks. `before`: from what is live behind a step to what is before it.
fn at_entries(graph: &Graph, entries: &[usize], before: &mut dyn FnMut(Step<'_>, &mut Live)) -> Live {
    let mut heads: Vec<Live> = vec![Live::new(); graph.blocks.len()];
    loop {
        let mut changed = false;
        for at in (0..graph.blocks.len()).rev() {
            let block = &graph.blocks[at];
            let mut live = Live::new();
            match &block.end {
                End::Exit => {}
                End::Goto(next) | End::Barrier(next) => join(&mut live, &heads[*next]),
                End::Branch(cond, yes, no) => {
                    join(&mut live, &heads[*yes]);
                    join(&mut live, &heads[*no]);
                    before(Step::Condition(cond), &mut live);
                }
            }
            for stmt in block.stmts.iter().rev() {
                before(Step::Statement(stmt), &mut live);
            }
            changed |= live.len() != heads[at].len();
            heads[at] = live;
        }
        if !changed {
            break;
        }
    }
    let mut all = Live::new();
    entries.iter().filter(|&&entry| entry != 0).for_each(|&entry| join(&mut all, &heads[entry]));
    all
}

fn join(live: &mut Live, other: &Live) {
    other.iter().for_each(|(&id, &span)| _ = live.entry(id).or_insert(span));
}

fn mentioned(e: &Expr, live: &mut Live) {
    e.walk(&mut |e| {
        if let ExprKind::Local(id) = e.kind {
            live.entry(id).or_insert(e.span);
        }
    });
}

/// Values of variables. Each function goes from what is live behind something to what is before it.
struct Values<'f> {
    is_memory: &'f dyn Fn(LocalId) -> bool,
    /// What is live where `break` and `continue` of the loops around lead.
    targets: Vec<(Live, Live)>,
}

impl Values<'_> {
    fn list(&mut self, block: &Block, live: &mut Live) {
        block.stmts.iter().rev().for_each(|stmt| self.statement(stmt, live));
    }

    fn statement(&mut self, stmt: &Stmt, live: &mut Live) {
        match &stmt.kind {
            StmtKind::Decl(decls) => {
                for decl in decls.iter().rev() {
                    self.given(decl.local, live);
                    decl.init.iter().for_each(|init| self.used(init, live));
                }
            }
            StmtKind::Expr(Expr { kind: ExprKind::Assign(place, value), .. }) => {
                match place.kind {
                    ExprKind::Local(id) => self.given(id, live),
                    _ => self.used(place, live),
                }
                self.used(value, live);
            }
            StmtKind::Expr(e) => self.used(e, live),
            StmtKind::Block(block) => self.list(block, live),
            StmtKind::If { arms, otherwise } => {
                let behind = live.clone();
                otherwise.iter().for_each(|block| self.list(block, live));
                for (cond, block) in arms.iter().rev() {
                    let mut arm = behind.clone();
                    self.list(block, &mut arm);
                    join(live, &arm);
                    self.used(cond, live);
                }
            }
            StmtKind::While(cond, body) => *live = self.repeated(Some(cond), None, body, live).0,
            StmtKind::DoWhile(body, cond) => *live = self.repeated(Some(cond), None, body, live).1,
            StmtKind::For { init, cond, step, body } => {
                *live = self.repeated(cond.as_deref(), step.as_deref(), body, live).0;
                init.iter().for_each(|init| self.statement(init, live));
            }
            // Where its labels are is not asked: nothing in it ends a use but of what is declared there.
            StmtKind::Switch(..) => {
                stmt.for_each_expr(&mut |e| self.used(e, live));
                self.targets.iter().for_each(|(_, again)| join(live, again));
                each(stmt, &mut |stmt| {
                    if let StmtKind::Decl(decls) = &stmt.kind {
                        decls.iter().for_each(|decl| self.given(decl.local, live));
                    }
                });
            }
            StmtKind::Return(value) => {
                live.retain(|id, _| (self.is_memory)(*id));
                value.iter().for_each(|value| self.used(value, live));
            }
            StmtKind::Break | StmtKind::Continue => {
                if let Some((out, again)) = self.targets.last() {
                    *live = if matches!(stmt.kind, StmtKind::Break) { out.clone() } else { again.clone() };
                }
            }
            StmtKind::Empty | StmtKind::Case(_) | StmtKind::Default | StmtKind::Goto(_) | StmtKind::Label(_) => {}
        }
    }

    /// What is live before the condition of a loop, and before its body.
    fn repeated(&mut self, cond: Option<&Expr>, step: Option<&Expr>, body: &Block, behind: &Live) -> (Live, Live) {
        let mut head = behind.clone();
        cond.iter().for_each(|cond| self.used(cond, &mut head));
        loop {
            let mut round = head.clone();
            step.iter().for_each(|step| self.used(step, &mut round));
            self.targets.push((behind.clone(), round.clone()));
            self.list(body, &mut round);
            self.targets.pop();
            let before = head.len();
            join(&mut head, &round);
            if head.len() == before {
                return (head, round);
            }
        }
    }

    fn given(&self, id: LocalId, live: &mut Live) {
        if !(self.is_memory)(id) {
            live.remove(&id);
        }
    }

    fn used(&self, e: &Expr, live: &mut Live) {
        let mut found = Live::new();
        mentioned(e, &mut found);
        live.extend(found.into_iter().filter(|&(id, _)| !(self.is_memory)(id)));
    }
}

/// What is first done to local memory, in order of the text: where it is read, or nothing if it is written or its address is given to somebody.
struct Contents<'f> {
    is_memory: &'f dyn Fn(LocalId) -> bool,
    first: BTreeMap<LocalId, Option<Span>>,
}

impl Contents<'_> {
    fn visit(&mut self, e: &Expr) {
        if let Some(id) = self.accessed(e) {
            self.indices(e);
            self.first.entry(id).or_insert(Some(e.span));
            return;
        }
        match &e.kind {
            ExprKind::Assign(place, value) => {
                self.visit(value);
                self.given(place);
            }
            ExprKind::AddressOf(place) | ExprKind::Decay(place) => self.given(place),
            ExprKind::Local(id) if (self.is_memory)(*id) => _ = self.first.entry(*id).or_insert(None),
            _ => e.for_each_child(&mut |e| self.visit(e)),
        }
    }

    fn given(&mut self, place: &Expr) {
        match self.accessed(place) {
            Some(id) => {
                self.indices(place);
                self.first.entry(id).or_insert(None);
            }
            None => self.visit(place),
        }
    }

    /// The variable that is local memory, or points to it, which a place is in by name.
    fn accessed(&self, place: &Expr) -> Option<LocalId> {
        let id = match &place.kind {
            ExprKind::Local(id) if place.ty.pointee().is_none() => Some(*id),
            ExprKind::Member(base, _) | ExprKind::Swizzle(base, _) => self.accessed(base),
            ExprKind::Index(base, _) | ExprKind::Deref(base) => match &base.kind {
                ExprKind::Local(id) => Some(*id),
                ExprKind::Decay(array) => self.accessed(array),
                _ if base.ty.pointee().is_none() => self.accessed(base),
                _ => None,
            },
            _ => None,
        };
        id.filter(|&id| (self.is_memory)(id))
    }

    /// Visits what says where in a variable a place is.
    fn indices(&mut self, place: &Expr) {
        match &place.kind {
            ExprKind::Member(base, _) | ExprKind::Swizzle(base, _) | ExprKind::Decay(base) | ExprKind::Deref(base) => {
                self.indices(base);
            }
            ExprKind::Index(base, index) => {
                self.indices(base);
                self.visit(index);
            }
            _ => {}
        }
    }
}
