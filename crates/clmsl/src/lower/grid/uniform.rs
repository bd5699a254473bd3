//! Whether all work-items of a launch come to the same grid barriers.
//!
//! A condition is the same for all if it is computed of what is: constants, parameters, sizes of the launch, memory at such an address, and variables that are only given such
//! values, where all work-items do so. What depends on a work-item's number, on local memory, on an atomic operation or on a called function is not.
//! Memory that a condition reads must not be written meanwhile: that would be a data race in any case. Variables are looked at without regard to order, until
//! nothing more is found to differ; so the proof may fail for what is uniform, and never holds for what is not.

use std::collections::BTreeSet;

use super::graph::leaves;
use super::is_barrier;
use super::saved::root;
use crate::builtins::{Resolved, Special, WorkItem};
use crate::diagnostic::Diagnostic;
use crate::hir::{Block, Expr, ExprKind, Function, LocalId, Stmt, StmtKind};
use crate::source::Span;
use crate::types::{Space, Type};

/// Refuses barriers that not all work-items come to.
pub(super) fn check(function: &Function, diagnostics: &mut Vec<Diagnostic>) {
    let Some(body) = &function.body else { return };
    let mut walk = Walk { function, differ: BTreeSet::new(), reported: None };
    loop {
        let before = walk.differ.len();
        walk.block(body, None);
        if walk.differ.len() == before {
            break;
        }
    }
    let mut found = Vec::new();
    walk.reported = Some(&mut found);
    walk.block(body, None);
    diagnostics.append(&mut found);
}

struct Walk<'f> {
    function: &'f Function,
    /// Variables that may differ between work-items.
    differ: BTreeSet<LocalId>,
    /// Where barriers are reported, at last.
    reported: Option<&'f mut Vec<Diagnostic>>,
}

impl Walk<'_> {
    /// `parted`: what work-items may have parted by before they come here.
    fn block(&mut self, block: &Block, parted: Option<Span>) {
        block.stmts.iter().for_each(|stmt| self.statement(stmt, parted));
    }

    fn condition(&mut self, cond: &Expr, parted: Option<Span>) -> Option<Span> {
        self.effects(cond, parted);
        parted.or((!self.is_uniform(cond)).then_some(cond.span))
    }

    fn statement(&mut self, stmt: &Stmt, parted: Option<Span>) {
        match &stmt.kind {
            StmtKind::Expr(e) if is_barrier(e) => {
                if let (Some(reported), Some(by)) = (&mut self.reported, parted) {
                    let message =
                        "'dc_grid_barrier' is not supported where work-items may have parted: all must come to it";
                    let note = "this may differ between work-items";
                    reported.push(Diagnostic::error(e.span, message).with_note(by, note));
                }
            }
            StmtKind::Expr(e) | StmtKind::Return(Some(e)) | StmtKind::Case(e) => self.effects(e, parted),
            StmtKind::Decl(decls) => {
                for decl in decls {
                    if let Some(init) = &decl.init {
                        self.effects(init, parted);
                        self.assigned(decl.local, self.is_uniform(init), parted);
                    }
                }
            }
            StmtKind::Block(block) => self.block(block, parted),
            StmtKind::If { arms, otherwise } => {
                let mut parted = parted;
                for (cond, block) in arms {
                    parted = self.condition(cond, parted);
                    self.block(block, parted);
                }
                otherwise.iter().for_each(|block| self.block(block, parted));
            }
            // Work-items that leave it by themselves have parted from those that stay, in all of it.
            StmtKind::Switch(value, block) => {
                let parted = self.condition(value, parted).or_else(|| self.jump(&block.stmts, None));
                self.block(block, parted);
            }
            StmtKind::While(cond, body) => self.repeated(Some(cond), None, body, parted),
            StmtKind::DoWhile(body, cond) => self.repeated(Some(cond), None, body, parted),
            StmtKind::For { init, cond, step, body } => {
                init.iter().for_each(|init| self.statement(init, parted));
                self.repeated(cond.as_deref(), step.as_deref(), body, parted);
            }
            StmtKind::Empty
            | StmtKind::Default
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(None)
            | StmtKind::Goto(_)
            | StmtKind::Label(_) => {}
        }
    }

    /// Work-items that leave a loop or a round of it by themselves have parted from those that stay, in all of it: in its condition and its step, too, which the
    /// others compute once more.
    fn repeated(&mut self, cond: Option<&Expr>, step: Option<&Expr>, body: &Block, parted: Option<Span>) {
        let parted = parted.or_else(|| self.jump(&body.stmts, None));
        let parted = parted.or_else(|| cond.filter(|cond| !self.is_uniform(cond)).map(|cond| cond.span));
        cond.iter().chain(&step).for_each(|e| self.effects(e, parted));
        self.block(body, parted);
    }

    /// A `break` or `continue` of the loop around these that not all work-items may take.
    fn jump(&self, stmts: &[Stmt], parted: Option<Span>) -> Option<Span> {
        stmts.iter().filter(|stmt| leaves(stmt)).find_map(|stmt| match &stmt.kind {
            StmtKind::Break | StmtKind::Continue => parted,
            StmtKind::If { arms, otherwise } => {
                let mut parted = parted;
                let arms = arms.iter().find_map(|(cond, block)| {
                    parted = parted.or((!self.is_uniform(cond)).then_some(cond.span));
                    self.jump(&block.stmts, parted)
                });
                arms.or_else(|| otherwise.as_ref().and_then(|block| self.jump(&block.stmts, parted)))
            }
            StmtKind::Switch(value, block) => {
                let parted = parted.or((!self.is_uniform(value)).then_some(value.span));
                self.jump(&block.stmts, parted)
            }
            _ => stmt.blocks().iter().find_map(|block| self.jump(&block.stmts, parted)),
        })
    }

    /// What an expression does to variables.
    fn effects(&mut self, e: &Expr, parted: Option<Span>) {
        let mut found = Vec::new();
        e.walk(&mut |e| match &e.kind {
            ExprKind::Assign(place, value) => found.push((root(place), self.is_uniform(value) && self.is_place(place))),
            ExprKind::AssignOp { place, value, .. } => {
                found.push((root(place), self.is_uniform(value) && self.is_uniform(place)));
            }
            ExprKind::Step { place, .. } => found.push((root(place), self.is_uniform(place))),
            // Whoever has its address may write it.
            ExprKind::AddressOf(place) | ExprKind::Decay(place) => found.push((root(place), false)),
            // Some of the operands of these are not looked at by all.
            ExprKind::Cond(cond, yes, no) if !self.is_uniform(cond) => {
                for branch in [yes, no] {
                    branch.walk(&mut |e| found.extend(written(e).map(|id| (Some(id), false))));
                }
            }
            ExprKind::Binary(op, first, second) if op.is_logical() && !self.is_uniform(first) => {
                second.walk(&mut |e| found.extend(written(e).map(|id| (Some(id), false))));
            }
            _ => {}
        });
        for (id, uniform) in found {
            if let Some(id) = id {
                self.assigned(id, uniform, parted);
            }
        }
    }

    fn assigned(&mut self, id: LocalId, uniform: bool, parted: Option<Span>) {
        if !uniform || parted.is_some() {
            self.differ.insert(id);
        }
    }

    /// Whether a variable's part that is written is the same part for all.
    fn is_place(&self, place: &Expr) -> bool {
        match &place.kind {
            ExprKind::Index(base, index) => self.is_place(base) && self.is_uniform(index),
            ExprKind::Member(base, _) | ExprKind::Swizzle(base, _) => self.is_place(base),
            _ => true,
        }
    }

    fn is_uniform(&self, e: &Expr) -> bool {
        let own = match &e.kind {
            ExprKind::Local(id) => {
                let local = self.function.local(*id);
                // An address in memory that is not one for the whole grid is another one for each group or work-item.
                local.space != Space::Local && !self.differ.contains(id) && self.is_common(&local.ty)
            }
            ExprKind::Index(base, _) | ExprKind::Deref(base) => self.is_common(&base.ty),
            ExprKind::Call { .. } | ExprKind::AddressOf(_) | ExprKind::Error => false,
            ExprKind::Builtin { builtin, .. } => is_same_for_all(builtin),
            ExprKind::Msl(..) | ExprKind::Name(_) | ExprKind::Hidden(_) => false,
            _ => true,
        };
        let mut all = own;
        e.for_each_child(&mut |child| all = all && self.is_uniform(child));
        all
    }

    /// Whether what is behind a pointer is one memory for the whole grid. What space an unqualified pointer has is not asked.
    fn is_common(&self, base: &Type) -> bool {
        base.pointee().is_none_or(|pointee| matches!(pointee.space, Space::Global | Space::Constant))
    }
}

/// The variable that an expression itself writes.
fn written(e: &Expr) -> Option<LocalId> {
    match &e.kind {
        ExprKind::Assign(place, _) | ExprKind::AssignOp { place, .. } | ExprKind::Step { place, .. } => root(place),
        _ => None,
    }
}

/// Whether a built-in function gives all work-items the same for the same arguments. A barrier gives nothing: `graph` refuses it in an expression.
fn is_same_for_all(builtin: &Resolved) -> bool {
    match builtin {
        Resolved::Row(..) => true,
        Resolved::Special(special) => match special {
            Special::WorkItem(item) => matches!(
                item,
                WorkItem::GlobalSize
                    | WorkItem::EnqueuedLocalSize
                    | WorkItem::NumGroups
                    | WorkItem::GlobalOffset
                    | WorkItem::WorkDim
                    | WorkItem::EnqueuedNumSubGroups
            ),
            Special::Convert { .. }
            | Special::AsType { .. }
            | Special::Select
            | Special::Any
            | Special::All
            | Special::Upsample
            | Special::Nan
            | Special::DotBytes(_)
            | Special::GridBarrier
            | Special::Shuffle(_) => true,
            _ => false,
        },
    }
}
