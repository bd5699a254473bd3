//! 64-bit arithmetic of which only 32 bits count, in 32 bits.
//!
//! Work-item functions give `size_t`, so a straight translation of `int i = get_group_id(0) * get_local_size(0) +
//! get_local_id(0)` multiplies in 64 bits, which GPUs do in several instructions, and converts every operand. In Metal the
//! ids and sizes have 32 bits. Where the result of such an expression is converted to 32 bits or fewer, compared, or an
//! index, it is computed in 32 bits if that gives the same for all values:
//!
//! * the low bits of sums, differences, products and bitwise operations depend on the low bits of the operands alone;
//! * what is known to be less than 2^32 is compared, divided, made a float and used as an index as it is.
//!
//! A 64-bit variable keeps its width, and so does a sum that is an index: it might not fit.

use super::expr::take;
use crate::ast::BinaryOp;
use crate::builtins::{Lowering, Resolved, Special, TABLE, WorkItem};
use crate::hir::{Expr, ExprKind, Function, UnaryOp};
use crate::sema::convert;
use crate::types::{Scalar, Type};

/// Rewrites the expressions of a function, whose work-item functions are still calls.
pub(super) fn lower(function: &mut Function) {
    if let Some(body) = &mut function.body {
        body.for_each_expr_mut(&mut |e| e.rewrite(&mut demand));
    }
}

/// Narrows the operands of what needs no more than 32 bits of them.
fn demand(e: &mut Expr) {
    match &mut e.kind {
        ExprKind::Convert(inner) if is_64_bits(&inner.ty) => {
            let Some(to) = e.ty.scalar() else { return };
            let low_bits = to.is_integer() && to != Scalar::Bool && to.bits() <= 32 && has_low_bits(inner);
            if low_bits && !is_leaf(inner) || (to.is_float() || to == Scalar::Bool) && is_small(inner) {
                *e = Expr { span: e.span, ..convert(narrowed(take(inner)), &e.ty) };
            }
        }
        ExprKind::Binary(op, a, b) => {
            let both_are_small = op.is_comparison() && is_64_bits(&a.ty) && is_small(a) && is_small(b);
            if both_are_small && !(a.int_value().is_some() && b.int_value().is_some()) {
                **a = narrowed(take(a));
                **b = narrowed(take(b));
            } else if op.is_logical() {
                truth(a);
                truth(b);
            } else if a.ty.pointee().is_some() && matches!(op, BinaryOp::Add | BinaryOp::Sub) {
                index(b);
            }
        }
        ExprKind::Unary(UnaryOp::Not, a) | ExprKind::Cond(a, ..) => truth(a),
        ExprKind::Index(base, at) if base.ty.vector().is_none() => index(at),
        ExprKind::AssignOp { op, place, value, at } if is_64_bits(at) && value.ty == *at => {
            let Some(scalar) = place.ty.scalar().filter(|s| s.is_integer() && *s != Scalar::Bool && s.bits() <= 32)
            else {
                return;
            };
            let exact = matches!(op, BinaryOp::Div | BinaryOp::Rem) && !scalar.is_signed() && is_small(value);
            if keeps_low_bits(*op) && has_low_bits(value) || exact {
                **value = narrowed(take(value));
                *at = Type::UINT;
            }
        }
        _ => {}
    }
}

/// An index is extended in the same way whether a conversion says so or not.
fn index(at: &mut Expr) {
    if !is_64_bits(&at.ty) || at.int_value().is_some() {
        return;
    }
    if is_small(at) {
        *at = narrowed(take(at));
    } else if let ExprKind::Convert(inner) = &mut at.kind
        && inner.ty == Type::INT
    {
        *at = take(inner);
    }
}

/// A number as a condition.
fn truth(e: &mut Expr) {
    if is_64_bits(&e.ty) && is_small(e) {
        *e = narrowed(take(e));
    }
}

fn is_64_bits(ty: &Type) -> bool {
    matches!(ty, Type::Scalar(Scalar::Long | Scalar::ULong))
}

/// Operators that compute each bit of their result from the same and lower bits of their operands.
fn keeps_low_bits(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor)
}

/// A conversion to 64 bits, or a work-item function: nothing is computed in 64 bits.
fn is_leaf(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Convert(_) | ExprKind::Builtin { builtin: Resolved::Special(_), .. })
}

/// A shift by a constant that moves no bit out of reach.
fn shift_count(e: &Expr) -> bool {
    e.int_value().is_some_and(|count| (0..32).contains(&count))
}

/// Whether the low 32 bits can be computed in 32 bits.
fn has_low_bits(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Int { .. } => true,
        ExprKind::Convert(inner) => inner.ty.scalar().is_some_and(|s| s.is_integer() && s.bits() <= 32),
        ExprKind::Unary(UnaryOp::Neg | UnaryOp::BitNot, a) => has_low_bits(a),
        ExprKind::Binary(op, a, b) if keeps_low_bits(*op) => has_low_bits(a) && has_low_bits(b),
        ExprKind::Binary(BinaryOp::Shl, a, b) => has_low_bits(a) && shift_count(b),
        ExprKind::Cond(_, a, b) => has_low_bits(a) && has_low_bits(b),
        // `mul24` and `mad24`, which programs apply to ids.
        ExprKind::Builtin { builtin: Resolved::Row(row, Scalar::Long | Scalar::ULong, 1), args } => {
            let is_product = matches!(TABLE[*row].lowering, Lowering::Operator(BinaryOp::Mul) | Lowering::MulAdd);
            is_product && args.iter().all(has_low_bits)
        }
        _ => is_small(e),
    }
}

/// Whether the value is known to be at least 0 and less than 2^32, and can be computed in 32 bits.
fn is_small(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Int { value, .. } => u32::try_from(*value).is_ok(),
        ExprKind::Convert(inner) => {
            inner.ty.scalar().is_some_and(|s| s.is_integer() && !s.is_signed() && s.bits() <= 32)
        }
        ExprKind::Builtin { builtin: Resolved::Special(Special::WorkItem(item)), .. } => {
            is_64_bits(&e.ty) && !matches!(item, WorkItem::GlobalLinearId | WorkItem::GlobalOffset)
        }
        ExprKind::Binary(BinaryOp::Div | BinaryOp::Rem | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor, a, b) => {
            is_small(a) && is_small(b)
        }
        ExprKind::Binary(BinaryOp::Shr, a, b) => is_small(a) && shift_count(b),
        ExprKind::Cond(_, a, b) => is_small(a) && is_small(b),
        _ => false,
    }
}

/// The `uint` of what one of the two above has answered for.
fn narrowed(mut e: Expr) -> Expr {
    match &mut e.kind {
        ExprKind::Unary(_, a) => **a = narrowed(take(a)),
        ExprKind::Binary(BinaryOp::Shl | BinaryOp::Shr, a, _) => **a = narrowed(take(a)),
        ExprKind::Binary(_, a, b) | ExprKind::Cond(_, a, b) => {
            **a = narrowed(take(a));
            **b = narrowed(take(b));
        }
        ExprKind::Builtin { builtin: Resolved::Row(_, scalar, _), args } => {
            *scalar = Scalar::UInt;
            args.iter_mut().for_each(|arg| *arg = narrowed(take(arg)));
        }
        _ => return convert(e, &Type::UINT),
    }
    e.ty = Type::UINT;
    e
}
