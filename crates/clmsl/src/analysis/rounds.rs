//! How often loops run, where the text tells.
//!
//! That is so for a `for` whose variable begins at a number, is changed by a number after each round and nowhere else, and is
//! compared with a number; and only if nothing leaves the loop otherwise. Numbers are literals, what is computed
//! from them, constants of the program, variables that are given one number once, and arguments that are one.

use super::walk::{Walk, variable};
use crate::ast::BinaryOp;
use crate::hir::{Block, Expr, ExprKind, LocalId, Stmt, StmtKind};
use crate::sema::const_int;
use crate::types::{Scalar, Type};

/// Rounds that are counted one by one, for loops whose variable is not changed by addition.
const MOST_ROUNDS: u64 = 4096;

impl Walk<'_, '_> {
    /// The number that an integer expression always is.
    pub(super) fn number(&self, e: &Expr) -> Option<i128> {
        if !matches!(&e.ty, Type::Scalar(s) if s.is_integer()) {
            return None;
        }
        let mut replaced = e.clone();
        replaced.rewrite(&mut |e| {
            let number = match e.kind {
                ExprKind::Local(id) => self.numbers[id.0 as usize],
                ExprKind::Constant(id) => self.calls.texts.constants.get(id.0 as usize).copied().flatten(),
                _ => None,
            };
            if let Some(number) = number {
                e.kind = ExprKind::Int { value: number, hexadecimal: false };
            }
        });
        const_int(&replaced)
    }

    /// The rounds of a `for`.
    pub(super) fn times(
        &self,
        init: Option<&Stmt>,
        cond: Option<&Expr>,
        step: Option<&Expr>,
        body: &Block,
    ) -> Option<u64> {
        let cond = cond?;
        let ExprKind::Binary(op, left, right) = &cond.kind else {
            return (self.number(cond) == Some(0)).then_some(0);
        };
        let (op, id, compared, bound) = match (counter(left), counter(right)) {
            (Some((id, ty)), _) if self.number(left).is_none() => (*op, id, ty, self.number(right)?),
            (_, Some((id, ty))) => (mirrored(*op)?, id, ty, self.number(left)?),
            _ => return None,
        };
        let own = self.function.local(id).ty.scalar()?;
        let change = self.change(step?, id)?;
        let first = self.first(init?, id)?;
        if self.taken[id.0 as usize] || assigns(body, id) || leaves(body, true) {
            return None;
        }
        let (times, last) = rounds(first, op, bound, change)?;
        // Neither the variable nor what is compared may wrap.
        let fits = |scalar: Scalar, value: i128| scalar.wrap(value) == value;
        let ends = [first, last];
        ends.iter().all(|&end| fits(own, end) && fits(compared, end)).then_some(times)
    }

    /// The number at which a loop's variable begins.
    fn first(&self, init: &Stmt, id: LocalId) -> Option<i128> {
        let value = match &init.kind {
            StmtKind::Decl(decls) => decls.iter().find(|decl| decl.local == id)?.init.as_ref()?,
            StmtKind::Expr(e) => assigned(e, id)?,
            _ => return None,
        };
        self.number(value)
    }

    /// What a loop does with its variable after each round.
    fn change(&self, step: &Expr, id: LocalId) -> Option<Change> {
        let is_counter = |e: &Expr| counter(e).is_some_and(|(other, _)| other == id);
        let (op, number) = match &step.kind {
            ExprKind::Step { increment, place, .. } if is_counter(place) => {
                return Some(Change::Add(if *increment { 1 } else { -1 }));
            }
            ExprKind::AssignOp { op, place, value, .. } if is_counter(place) => (*op, self.number(value)?),
            ExprKind::Assign(place, value) if is_counter(place) => match &strip(value).kind {
                ExprKind::Binary(op, a, b) if is_counter(a) => (*op, self.number(b)?),
                ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Mul), a, b) if is_counter(b) => (*op, self.number(a)?),
                _ => return None,
            },
            _ => return None,
        };
        Some(match op {
            BinaryOp::Add => Change::Add(number),
            BinaryOp::Sub => Change::Add(-number),
            BinaryOp::Mul => Change::Multiply(number),
            BinaryOp::Shl if (0..32).contains(&number) => Change::Multiply(1 << number),
            BinaryOp::Div if number > 0 => Change::Divide(number),
            // Of negative numbers it is no division, but they have no business here.
            BinaryOp::Shr if (0..32).contains(&number) => Change::Divide(1 << number),
            _ => return None,
        })
    }
}

/// How a variable changes.
#[derive(Clone, Copy)]
enum Change {
    Add(i128),
    Multiply(i128),
    Divide(i128),
}

/// The rounds, and the value behind the last.
fn rounds(first: i128, op: BinaryOp, bound: i128, change: Change) -> Option<(u64, i128)> {
    let goes_on = |value: i128| match op {
        BinaryOp::Lt => value < bound,
        BinaryOp::Le => value <= bound,
        BinaryOp::Gt => value > bound,
        BinaryOp::Ge => value >= bound,
        BinaryOp::Ne => value != bound,
        _ => false,
    };
    if !goes_on(first) {
        return Some((0, first));
    }
    if let Change::Add(by) = change {
        // To the first value that ends it.
        let end = match op {
            BinaryOp::Le => bound + 1,
            BinaryOp::Ge => bound - 1,
            _ => bound,
        };
        let way = end - first;
        let towards = by != 0 && way.signum() == by.signum();
        if !towards || (op == BinaryOp::Ne && way % by != 0) {
            return None;
        }
        let times = (way.abs() + by.abs() - 1) / by.abs();
        return Some((u64::try_from(times).ok()?, first + by * times));
    }
    let mut value = first;
    for times in 0..MOST_ROUNDS {
        if !goes_on(value) {
            return Some((times, value));
        }
        value = match change {
            Change::Add(by) => value.checked_add(by)?,
            Change::Multiply(by) => value.checked_mul(by)?,
            Change::Divide(by) if value >= 0 => value / by,
            Change::Divide(_) => return None,
        };
    }
    None
}

/// The comparison with its sides exchanged.
fn mirrored(op: BinaryOp) -> Option<BinaryOp> {
    Some(match op {
        BinaryOp::Lt => BinaryOp::Gt,
        BinaryOp::Gt => BinaryOp::Lt,
        BinaryOp::Le => BinaryOp::Ge,
        BinaryOp::Ge => BinaryOp::Le,
        BinaryOp::Ne => BinaryOp::Ne,
        _ => return None,
    })
}

/// Without conversions between integers.
pub(super) fn strip(e: &Expr) -> &Expr {
    match &e.kind {
        ExprKind::Convert(a) if a.ty.is_integer_scalar() && e.ty.is_integer_scalar() => strip(a),
        _ => e,
    }
}

/// The integer variable that this is, and the type to which it is converted.
fn counter(e: &Expr) -> Option<(LocalId, Scalar)> {
    match (&strip(e).kind, e.ty.scalar()) {
        (ExprKind::Local(id), Some(scalar)) if e.ty.is_integer_scalar() => Some((*id, scalar)),
        _ => None,
    }
}

/// What `id = value`, perhaps between commas, assigns.
fn assigned(e: &Expr, id: LocalId) -> Option<&Expr> {
    match &e.kind {
        ExprKind::Assign(place, value) if matches!(place.kind, ExprKind::Local(other) if other == id) => Some(value),
        ExprKind::Comma(a, b) => assigned(b, id).or_else(|| assigned(a, id)),
        _ => None,
    }
}

/// Whether a block changes a variable.
fn assigns(block: &Block, id: LocalId) -> bool {
    let mut found = false;
    block.for_each_expr(&mut |e| {
        e.walk(&mut |e| {
            if let ExprKind::Assign(place, _) | ExprKind::AssignOp { place, .. } | ExprKind::Step { place, .. } =
                &e.kind
            {
                found |= variable(place) == Some(id);
            }
        });
    });
    found
}

/// Whether a statement of the block leaves the loop whose body it is; `break` is that loop's if `own`.
fn leaves(block: &Block, own: bool) -> bool {
    block.stmts.iter().any(|stmt| {
        let own = match &stmt.kind {
            StmtKind::Return(_) | StmtKind::Goto(_) => return true,
            StmtKind::Break => return own,
            StmtKind::While(..) | StmtKind::DoWhile(..) | StmtKind::For { .. } | StmtKind::Switch(..) => false,
            _ => own,
        };
        stmt.blocks().into_iter().any(|block| leaves(block, own))
    })
}
