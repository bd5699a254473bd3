//! Integer division and shifts, whose edges OpenCL C and C++ treat differently.
//!
//! A shift counts modulo the width (OpenCL C 3.0 §6.5.j; undefined in C++). Division by zero and the division of the
//! least number by -1 give any value in OpenCL C but must not stop the program; C++ leaves them undefined and a CPU
//! traps. Both are rewritten unless the right side is a constant that cannot fail or a size, which is not 0.

use super::double;
use super::expr::{Cx, binary, call, take};
use crate::ast::BinaryOp;
use crate::builtins::{Resolved, Special, WorkItem};
use crate::hir::{Expr, ExprKind};
use crate::sema::{convert, may_repeat};
use crate::types::{Quals, Scalar, Type};

/// The constant a scalar or splat vector consists of.
fn constant(e: &Expr) -> Option<i128> {
    match &e.kind {
        ExprKind::Int { value, .. } => Some(*value),
        ExprKind::Convert(inner) if e.ty.vector().is_some() => constant(inner),
        _ => None,
    }
}

/// Whether `a / b` in this type needs the guarded form.
fn division_needs_guard(op: BinaryOp, at: &Type, b: &Expr) -> bool {
    let integer = at.arithmetic().is_some_and(|(s, _)| s.is_integer());
    let harmless = constant(b).is_some_and(|v| v != 0 && v != -1) || at == &b.ty && is_size(b);
    matches!(op, BinaryOp::Div | BinaryOp::Rem) && integer && !harmless
}

/// The size of something that has work-items, in an unsigned type that holds it.
fn is_size(e: &Expr) -> bool {
    use WorkItem::{EnqueuedLocalSize, GlobalSize, LocalSize, NumGroups};
    match &e.kind {
        ExprKind::Convert(inner) => matches!(e.ty, Type::Scalar(Scalar::UInt | Scalar::ULong)) && is_size(inner),
        ExprKind::Builtin { builtin: Resolved::Special(Special::WorkItem(item)), .. } => {
            matches!(item, GlobalSize | LocalSize | EnqueuedLocalSize | NumGroups)
        }
        _ => false,
    }
}

fn guarded(op: BinaryOp, a: Expr, b: Expr, ty: Type) -> Expr {
    let head = if op == BinaryOp::Div { "clmsl_div" } else { "clmsl_rem" };
    let span = a.span;
    call(head, vec![a, b], ty, span)
}

/// The amount of a shift of a value of type `at`, brought below the width.
fn shift_amount(amount: Expr, at: &Type) -> Expr {
    let Some((scalar, _)) = at.arithmetic() else { return amount };
    let mask = i128::from(scalar.bits()) - 1;
    match constant(&amount) {
        Some(v) if (0..=mask).contains(&v) => amount,
        Some(v) => {
            let element = amount.ty.arithmetic().map_or(Scalar::Int, |(s, _)| s);
            let scalar = Expr::int(v & mask, Type::Scalar(element), amount.span);
            convert(scalar, &amount.ty)
        }
        None => {
            let ty = amount.ty.clone();
            let mask = convert(Expr::int(mask, Type::INT, amount.span), &ty);
            binary(BinaryOp::And, amount, mask, ty)
        }
    }
}

/// `a / b`, `a % b`, `a << b`, `a >> b` on integers.
pub(super) fn lower_binary(e: &mut Expr) {
    let ExprKind::Binary(op, a, b) = &mut e.kind else { return };
    let op = *op;
    if a.ty.arithmetic().is_none() {
        return;
    }
    if op.is_shift() {
        let amount = shift_amount(take(b), &e.ty);
        // A single shift of a narrow vector's element happens at the width of the element in both languages.
        **b = amount;
    } else if division_needs_guard(op, &e.ty, b) {
        *e = guarded(op, take(a), take(b), e.ty.clone());
    }
}

/// The compound forms. The place is evaluated once: if that has effects, its address goes through a variable.
pub(super) fn lower_assign(e: &mut Expr, cx: &mut Cx<'_>) {
    if double::lower_assign(e, cx) {
        return;
    }
    let ExprKind::AssignOp { op, place, value, at } = &mut e.kind else { return };
    if at.arithmetic().is_none() {
        return;
    }
    if op.is_shift() {
        let amount = shift_amount(take(value), at);
        **value = amount;
        return;
    }
    if !division_needs_guard(*op, at, value) {
        return;
    }
    let (op, at, value, place) = (*op, at.clone(), take(value), take(place));
    let ty = e.ty.clone();
    let span = e.span;
    let (before, place) = if may_repeat(&place, &value) { (None, place) } else { hold(place, cx) };
    let result = convert(guarded(op, convert(place.clone(), &at), value, at), &ty);
    let assign = Expr::new(ExprKind::Assign(Box::new(place), Box::new(result)), ty.clone(), span);
    *e = match before {
        None => assign,
        Some(before) => Expr::new(ExprKind::Comma(Box::new(before), Box::new(assign)), ty, span),
    };
}

/// Splits a place with effects into an assignment of its address to a variable and a place without effects.
pub(super) fn hold(place: Expr, cx: &mut Cx<'_>) -> (Option<Expr>, Expr) {
    let span = place.span;
    if let ExprKind::Swizzle(base, lanes) = place.kind {
        let (before, base) = hold(*base, cx);
        return (before, Expr::new(ExprKind::Swizzle(Box::new(base), lanes), place.ty, span));
    }
    if let ExprKind::Index(base, index) = place.kind {
        if base.ty.vector().is_some() {
            // `v[i]` with effects in the index: the index goes through a variable as well.
            let (before, base) = hold(*base, cx);
            let variable = cx.temporary("place", index.ty.clone(), span);
            let ty = index.ty.clone();
            let keep = Expr::new(ExprKind::Assign(Box::new(variable.clone()), index), ty.clone(), span);
            let before = match before {
                None => keep,
                Some(b) => Expr::new(ExprKind::Comma(Box::new(b), Box::new(keep)), ty, span),
            };
            let kind = ExprKind::Index(Box::new(base), Box::new(variable));
            return (Some(before), Expr::new(kind, place.ty, span));
        }
        let whole = Expr::new(ExprKind::Index(base, index), place.ty, span);
        return hold_address(whole, cx);
    }
    hold_address(place, cx)
}

fn hold_address(place: Expr, cx: &mut Cx<'_>) -> (Option<Expr>, Expr) {
    let span = place.span;
    let space = crate::sema::place_space(&place, cx.locals);
    let quals = volatility(&place);
    let ty = place.ty.clone();
    let pointer_ty = Type::pointer(ty.clone(), space, quals);
    let variable = cx.temporary("place", pointer_ty.clone(), span);
    let address = Expr::new(ExprKind::AddressOf(Box::new(place)), pointer_ty.clone(), span);
    let keep = Expr::new(ExprKind::Assign(Box::new(variable.clone()), Box::new(address)), pointer_ty, span);
    (Some(keep), Expr::new(ExprKind::Deref(Box::new(variable)), ty, span))
}

/// Whether the place lies behind a pointer to volatile.
pub(super) fn volatility(place: &Expr) -> Quals {
    match &place.kind {
        ExprKind::Deref(p) => p.ty.pointee().map_or(Quals::default(), |p| p.quals),
        ExprKind::Index(base, _) => match base.ty.pointee() {
            Some(p) => p.quals,
            None => volatility(base),
        },
        ExprKind::Member(base, _) | ExprKind::Half(base, _) => volatility(base),
        _ => Quals::default(),
    }
}
