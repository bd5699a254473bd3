//! Functions whose end can be reached without a value.
//!
//! In C that is allowed as long as the caller does not use the value (C99 §6.9.1); in C++ it is undefined, and compilers
//! delete what leads there. Such a function returns zero at its end.

use crate::hir::{Block, Expr, ExprKind, Function, Stmt, StmtKind};
use crate::types::{Scalar, Type};

/// Adds the missing `return`.
pub(super) fn lower(function: &mut Function) {
    if matches!(function.ret, Type::Void | Type::Error) {
        return;
    }
    let Some(body) = &mut function.body else { return };
    if !ends(body) {
        let zero = match &function.ret {
            Type::Scalar(Scalar::Double) => ExprKind::Double(0.0),
            Type::Scalar(s) if s.is_float() => ExprKind::Float(0.0),
            Type::Scalar(_) => ExprKind::Int { value: 0, hexadecimal: false },
            _ => ExprKind::Zero,
        };
        let span = body.end;
        let value = Expr::new(zero, function.ret.clone(), span);
        body.stmts.push(Stmt { kind: StmtKind::Return(Some(value)), span });
    }
}

/// Whether the end of the block is never reached, as far as is plain to see.
fn ends(block: &Block) -> bool {
    block.stmts.iter().any(|stmt| match &stmt.kind {
        StmtKind::Return(_) => true,
        StmtKind::Block(b) => ends(b),
        StmtKind::If { arms, otherwise: Some(b) } => ends(b) && arms.iter().all(|(_, b)| ends(b)),
        StmtKind::While(cond, body) => is_true(cond) && !leaves(body),
        StmtKind::For { cond, body, .. } => cond.as_deref().is_none_or(is_true) && !leaves(body),
        StmtKind::DoWhile(body, cond) => !leaves(body) && !continues(body) && (is_true(cond) || ends(body)),
        StmtKind::Switch(_, body) => {
            body.stmts.iter().any(|s| matches!(s.kind, StmtKind::Default)) && !leaves(body) && last_ends(body)
        }
        _ => false,
    })
}

/// Whether the last statement of a switch, into which the others fall, ends the function.
fn last_ends(body: &Block) -> bool {
    body.stmts.last().is_some_and(|last| ends(&Block { stmts: vec![last.clone()], end: body.end }))
}

fn is_true(cond: &Expr) -> bool {
    match &cond.kind {
        ExprKind::Convert(inner) => is_true(inner),
        _ => cond.int_value().is_some_and(|v| v != 0),
    }
}

/// Whether a `break` leaves the loop or switch that has this body.
fn leaves(block: &Block) -> bool {
    any(block, &|kind| matches!(kind, StmtKind::Break), &|kind| {
        matches!(kind, StmtKind::For { .. } | StmtKind::While(..) | StmtKind::DoWhile(..) | StmtKind::Switch(..))
    })
}

/// Whether a `continue` goes to the condition of the loop that has this body.
fn continues(block: &Block) -> bool {
    any(block, &|kind| matches!(kind, StmtKind::Continue), &|kind| {
        matches!(kind, StmtKind::For { .. } | StmtKind::While(..) | StmtKind::DoWhile(..))
    })
}

fn any(block: &Block, found: &dyn Fn(&StmtKind) -> bool, closed: &dyn Fn(&StmtKind) -> bool) -> bool {
    block.stmts.iter().any(|stmt| match &stmt.kind {
        kind if found(kind) => true,
        kind if closed(kind) => false,
        StmtKind::Block(b) | StmtKind::Switch(_, b) => any(b, found, closed),
        StmtKind::If { arms, otherwise } => arms.iter().map(|(_, b)| b).chain(otherwise).any(|b| any(b, found, closed)),
        _ => false,
    })
}
