//! Vectors: truth values, selection, components.
//!
//! OpenCL's comparison of vectors gives -1 and 0 in an integer vector, MSL's gives a vector of bool. The integer form is
//! `-int4(a < b)`; where a truth vector is wanted the bool vector is used as it is.

use super::divide::hold;
use super::double::{has_doubles, is_double};
use super::expr::{Cx, binary, call, sequence, take};
use crate::ast::BinaryOp;
use crate::hir::{Expr, ExprKind, UNDEFINED_LANE, UnaryOp};
use crate::sema::{convert, is_fixed};
use crate::source::Span;
use crate::types::{Scalar, Type};

/// The integer vector (or `int`) of a vector (or single) of bool.
pub(super) fn truth_value(truth: Expr, ty: Type) -> Expr {
    let span = truth.span;
    if ty.vector().is_none() {
        return convert(truth, &ty);
    }
    let ones = truth.convert(ty.clone());
    Expr::new(ExprKind::Unary(UnaryOp::Neg, Box::new(ones)), ty, span)
}

/// The vector of bool that holds where the sign bit of each component is set.
pub(super) fn sign_bits(mut e: Expr) -> Expr {
    if let ExprKind::Unary(UnaryOp::Neg, inner) = &mut e.kind
        && let ExprKind::Convert(truth) = &mut inner.kind
        && let Some((Scalar::Bool, _)) = truth.ty.vector()
    {
        return take(truth);
    }
    let Some((scalar, lanes)) = e.ty.arithmetic() else { return e };
    let signed = Type::lanes(scalar.signed_of_width(), lanes);
    let e = if scalar.is_signed() { e } else { convert(e, &signed) };
    let zero = convert(Expr::int(0, Type::INT, e.span), &signed);
    binary(BinaryOp::Lt, e, zero, Type::lanes(Scalar::Bool, lanes))
}

/// The vector of bool that holds where components are not zero.
fn non_zero(mut e: Expr) -> Expr {
    if let ExprKind::Unary(UnaryOp::Neg, inner) = &mut e.kind
        && let ExprKind::Convert(truth) = &mut inner.kind
        && let Some((Scalar::Bool, _)) = truth.ty.vector()
    {
        return take(truth);
    }
    let Some((_, lanes)) = e.ty.arithmetic() else { return e };
    let zero = convert(Expr::int(0, Type::INT, e.span), &e.ty);
    binary(BinaryOp::Ne, e, zero, Type::lanes(Scalar::Bool, lanes))
}

/// Comparisons and logical operators on vectors. Returns whether the expression was one.
pub(super) fn lower_binary(e: &mut Expr) -> bool {
    let ExprKind::Binary(op, a, b) = &mut e.kind else { return false };
    let Some((_, lanes)) = a.ty.vector() else { return false };
    if e.ty.vector().is_none_or(|(s, _)| s == Scalar::Bool) || !(op.is_comparison() || op.is_logical()) {
        return false;
    }
    let (op, a, b) = (*op, take(a), take(b));
    let truth = Type::Vector(Scalar::Bool, lanes);
    let compared = if op.is_logical() { binary(op, non_zero(a), non_zero(b), truth) } else { binary(op, a, b, truth) };
    *e = truth_value(compared, e.ty.clone());
    true
}

/// `!v`
pub(super) fn lower_not(e: &mut Expr) {
    let ExprKind::Unary(_, a) = &mut e.kind else { return };
    let Some((_, lanes)) = a.ty.vector() else { return };
    let a = take(a);
    let zero = convert(Expr::int(0, Type::INT, a.span), &a.ty);
    let truth = binary(BinaryOp::Eq, a, zero, Type::Vector(Scalar::Bool, lanes));
    *e = truth_value(truth, e.ty.clone());
}

/// `c ? a : b` with a vector condition. The condition comes first (C99 §6.5.15), which matters if something is changed.
pub(super) fn lower_cond(e: &mut Expr, cx: &mut Cx<'_>) {
    let ExprKind::VectorCond(c, a, b) = &mut e.kind else { return };
    let (mut c, a, b) = (take(c), take(a), take(b));
    let (ty, span) = (e.ty.clone(), e.span);
    let mut before = Vec::new();
    if [&c, &a, &b].into_iter().any(changes) {
        let condition = cx.temporary("condition", c.ty.clone(), c.span);
        let keep = ExprKind::Assign(Box::new(condition.clone()), Box::new(c));
        before.push(Expr::new(keep, condition.ty.clone(), span));
        c = condition;
    }
    *e = Expr { span, ..sequence(before, select(b, a, sign_bits(c), ty, span)) };
}

/// Whether evaluating the expression may change what another one reads.
fn changes(e: &Expr) -> bool {
    let mut found = false;
    e.walk(&mut |e| {
        found |= match &e.kind {
            ExprKind::Assign(..) | ExprKind::AssignOp { .. } | ExprKind::Step { .. } | ExprKind::Call { .. } => true,
            ExprKind::Msl(_, args) => e.ty == Type::Void || args.iter().any(|a| matches!(a.ty, Type::Pointer(_))),
            _ => false,
        }
    });
    found
}

/// `b` where `c` holds, else `a`.
pub(super) fn select(a: Expr, b: Expr, c: Expr, ty: Type, span: Span) -> Expr {
    call(if has_doubles(&ty) { "clmsl_select" } else { "metal::select" }, vec![a, b, c], ty, span)
}

/// A selection of components that a vector of three does not have: the missing one reads as zero.
pub(super) fn lower_swizzle(e: &mut Expr) {
    let ExprKind::Swizzle(base, lanes) = &mut e.kind else { return };
    if !lanes.contains(&UNDEFINED_LANE) {
        return;
    }
    let Some((scalar, _)) = base.ty.vector() else { return };
    let span = e.span;
    let kept: Vec<u8> = lanes.iter().copied().filter(|&l| l != UNDEFINED_LANE).collect();
    let zero = convert(Expr::int(0, Type::INT, span), &Type::Scalar(scalar));
    // The missing component is the last one of `.hi` and `.odd`, alone for a selection from them.
    if kept.is_empty() {
        *e = convert(zero, &e.ty);
        return;
    }
    let in_order = lanes.iter().position(|&l| l == UNDEFINED_LANE) == Some(kept.len());
    let missing = lanes.len() - kept.len();
    if in_order {
        let ty = Type::lanes(scalar, kept.len() as u8);
        let part = Expr::new(ExprKind::Swizzle(Box::new(take(base)), kept), ty, span);
        let mut parts = vec![part];
        parts.extend(std::iter::repeat_n(zero, missing));
        e.kind = ExprKind::VectorLiteral(parts);
    } else {
        // Any value will do for the missing component, so another one stands in.
        let first = kept[0];
        for lane in lanes.iter_mut().filter(|l| **l == UNDEFINED_LANE) {
            *lane = first;
        }
    }
}

/// Changes to several components whose value is used, and steps of vectors that MSL does not have: `(v.xy = e, v.xy)`,
/// since MSL's assignment to a swizzle is not a value that can be relied on. `used` says whether the value of the whole
/// expression is used.
pub(super) fn lower_uses(e: &mut Expr, used: bool, cx: &mut Cx<'_>) {
    match &mut e.kind {
        ExprKind::Comma(a, b) => {
            lower_uses(a, false, cx);
            lower_uses(b, used, cx);
            return;
        }
        ExprKind::Convert(a) if e.ty == Type::Void => {
            lower_uses(a, false, cx);
            return;
        }
        _ => e.for_each_child_mut(&mut |c| lower_uses(c, true, cx)),
    }
    let (place, step) = match &mut e.kind {
        ExprKind::Assign(place, _) | ExprKind::AssignOp { place, .. } => (place, None),
        ExprKind::Step { increment, prefix, place } => (place, Some((*increment, *prefix))),
        _ => return,
    };
    let several = matches!(&place.kind, ExprKind::Swizzle(_, lanes) if lanes.len() > 1);
    if !(several || step.is_some() && (place.ty.emulated().is_some() || is_double(&place.ty))) {
        return;
    }
    let (ty, span) = (e.ty.clone(), e.span);
    let mut before = Vec::new();
    if used && !is_fixed(place) {
        let (address, held) = hold(take(place), cx);
        before.extend(address);
        **place = held;
    }
    let place = (**place).clone();
    let mut value = place.clone();
    if let Some((increment, prefix)) = step {
        if used && !prefix {
            value = cx.temporary("value", ty.clone(), span);
            let keep = ExprKind::Assign(Box::new(value.clone()), Box::new(place.clone()));
            before.push(Expr::new(keep, ty.clone(), span));
        }
        let one = convert(Expr::int(1, Type::INT, span), &ty);
        let op = if increment { BinaryOp::Add } else { BinaryOp::Sub };
        e.kind = ExprKind::AssignOp { op, place: Box::new(place), value: Box::new(one), at: ty.clone() };
    }
    if !used {
        return;
    }
    before.push(take(e));
    *e = Expr { span, ..sequence(before, value) };
}
