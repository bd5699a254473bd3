//! How often loops run, where the text tells.
//!
//! That is so for a `for` whose variable begins at a number, is changed by a number after each round and nowhere else, and is
//! compared with a number; and only if nothing leaves the loop otherwise. Numbers are literals, what is computed
//! from them, constants of the program, variables that are given one number once, and arguments that are one.

use super::walk::{Walk, variable};
use crate::ast::BinaryOp;
use crate::hir::{Block, Expr, ExprKind, LocalId, Stmt, StmtKind};
use crate::sema::int_with;
use crate::types::{Scalar, Type};

/// Rounds that are counted one by one, for loops whose variable is not changed by addition.
const MOST_ROUNDS: u64 = 4096;

impl Walk<'_, '_> {
    /// The number that an integer expression always is.
    pub(super) fn number(&self, e: &Expr) -> Option<i128> {
        if !matches!(&e.ty, Type::Scalar(s) if s.is_integer()) {
            return None;
        }
        int_with(e, &|kind| match kind {
            ExprKind::Local(id) => self.numbers[id.0 as usize],
            ExprKind::Constant(id) => self.calls.texts.constants.get(id.0 as usize).copied().flatten(),
            _ => None,
        })
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
        let mut types = Vec::new();
        let (op, id, bound) = if let (None, Some(id)) = (self.number(left), counter(left, &mut types)) {
            (*op, id, self.number(right)?)
        } else {
            types.clear();
            (mirrored(*op)?, counter(right, &mut types)?, self.number(left)?)
        };
        let change = self.change(step?, id, &mut types)?;
        let first = self.first(init?, id)?;
        if self.taken[id.0 as usize] || block_assigns(body, id) || leaves(body, true) {
            return None;
        }
        let (times, last) = rounds(first, op, bound, change)?;
        types.push(self.function.local(id).ty.scalar()?);
        // Neither the variable nor what it is converted to may wrap. What is between these two fits if they do.
        let ends = [first, last];
        types.iter().all(|ty| ends.iter().all(|&end| ty.wrap(end) == end)).then_some(times)
    }

    /// The number at which a loop's variable begins.
    fn first(&self, init: &Stmt, id: LocalId) -> Option<i128> {
        let value = match &init.kind {
            StmtKind::Decl(decls) => {
                if decls.iter().filter_map(|decl| decl.init.as_ref()).any(|init| assignments(init, id) > 0) {
                    return None;
                }
                decls.iter().find(|decl| decl.local == id)?.init.as_ref()?
            }
            StmtKind::Expr(e) if assignments(e, id) == 1 => assigned(e, id)?,
            _ => return None,
        };
        self.number(value)
    }

    /// What a loop does with its variable after each round; adds the types to which it is converted for that.
    fn change(&self, step: &Expr, id: LocalId, types: &mut Vec<Scalar>) -> Option<Change> {
        let mut is_counter = |e: &Expr| {
            let known = types.len();
            let is = counter(e, types) == Some(id);
            if !is {
                types.truncate(known);
            }
            is
        };
        let (op, number) = match &step.kind {
            ExprKind::Step { increment, place, .. } if is_counter(place) => {
                return Some(Change::Add(if *increment { 1 } else { -1 }));
            }
            ExprKind::AssignOp { op, place, value, .. } if is_counter(place) => (*op, self.number(value)?),
            ExprKind::Assign(place, value) if is_counter(place) => {
                let sum = strip(value);
                let (op, number) = match &sum.kind {
                    ExprKind::Binary(op, a, b) if is_counter(a) => (*op, self.number(b)?),
                    ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Mul), a, b) if is_counter(b) => {
                        (*op, self.number(a)?)
                    }
                    _ => return None,
                };
                conversions(value, types);
                types.push(sum.ty.scalar()?);
                (op, number)
            }
            _ => return None,
        };
        Some(match op {
            BinaryOp::Add => Change::Add(number),
            BinaryOp::Sub => Change::Add(-number),
            // By a negative one what is between the ends would be beyond them.
            BinaryOp::Mul if number >= 0 => Change::Multiply(number),
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

/// The rounds, and the value behind the last; `None` if they do not end, or if `op` is no comparison.
fn rounds(first: i128, op: BinaryOp, bound: i128, change: Change) -> Option<(u64, i128)> {
    let goes_on = |value: i128| {
        Some(match op {
            BinaryOp::Lt => value < bound,
            BinaryOp::Le => value <= bound,
            BinaryOp::Gt => value > bound,
            BinaryOp::Ge => value >= bound,
            BinaryOp::Eq => value == bound,
            BinaryOp::Ne => value != bound,
            _ => return None,
        })
    };
    if !goes_on(first)? {
        return Some((0, first));
    }
    if let Change::Add(by) = change {
        // To the first value that ends it.
        let end = match op {
            BinaryOp::Le => bound + 1,
            BinaryOp::Ge => bound - 1,
            BinaryOp::Eq => bound + by,
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
        if !goes_on(value)? {
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
        BinaryOp::Eq => BinaryOp::Eq,
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

/// The integer variable that this is; adds the types to which it is converted.
fn counter(e: &Expr, types: &mut Vec<Scalar>) -> Option<LocalId> {
    match strip(e).kind {
        ExprKind::Local(id) if e.ty.is_integer_scalar() => {
            conversions(e, types);
            Some(id)
        }
        _ => None,
    }
}

/// Adds the types of the conversions that [`strip`] takes away.
fn conversions(e: &Expr, types: &mut Vec<Scalar>) {
    match &e.kind {
        ExprKind::Convert(a) if a.ty.is_integer_scalar() && e.ty.is_integer_scalar() => {
            types.extend(e.ty.scalar());
            conversions(a, types);
        }
        _ => {}
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

/// How often an expression has an assignment to a variable, or to a part of it.
fn assignments(e: &Expr, id: LocalId) -> usize {
    let mut count = 0;
    e.walk(&mut |e| {
        if let ExprKind::Assign(place, _) | ExprKind::AssignOp { place, .. } | ExprKind::Step { place, .. } = &e.kind {
            count += usize::from(variable(place) == Some(id));
        }
    });
    count
}

/// Whether a block changes a variable.
fn block_assigns(block: &Block, id: LocalId) -> bool {
    let mut found = false;
    block.for_each_expr(&mut |e| found |= assignments(e, id) > 0);
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
