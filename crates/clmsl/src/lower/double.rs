//! `double` under `--fp64 emulate`: `clmsl_double` of the prelude, a structure with overloaded operators.
//!
//! Arithmetic and comparisons stay as they are written. What a structure cannot do becomes calls: conversions, `as_T`,
//! and `+=`, whose place would need an operator per address space (`++` is made one by `vector`). Constants are folded, since the prelude's
//! functions are long.

use super::divide::hold;
use super::expr::{Cx, binary, call, take};
use crate::builtins::Rounding;
use crate::hir::{Expr, ExprKind, Local};
use crate::prelude::Use;
use crate::sema::{Value, const_value, convert, may_repeat, place_space};
use crate::types::{Quals, Scalar, Struct, Type};

pub(super) fn is_double(ty: &Type) -> bool {
    *ty == Type::DOUBLE
}

/// Whether the type is `double` or a vector of it.
pub(super) fn has_doubles(ty: &Type) -> bool {
    ty.arithmetic().is_some_and(|(s, _)| s == Scalar::Double)
}

/// Replaces an expression on constants by its value.
pub(super) fn fold(e: &mut Expr) {
    if matches!(e.kind, ExprKind::Double(_)) {
        return;
    }
    let (mut constant, mut double) = (true, is_double(&e.ty));
    e.for_each_child(&mut |c| {
        constant &= matches!(c.kind, ExprKind::Int { .. } | ExprKind::Float(_) | ExprKind::Double(_));
        double |= is_double(&c.ty);
    });
    if !(constant && double) {
        return;
    }
    e.kind = match const_value(e) {
        Some(Value::Int(value)) => ExprKind::Int { value, hexadecimal: false },
        Some(Value::Float(value)) => ExprKind::Float(value),
        Some(Value::Double(value)) => ExprKind::Double(value),
        None => return,
    };
}

/// The number of a rounding mode in the prelude.
fn mode(rounding: Rounding) -> i128 {
    match rounding {
        Rounding::Default | Rounding::Nearest => 0,
        Rounding::Zero => 1,
        Rounding::Up => 2,
        Rounding::Down => 3,
    }
}

/// A conversion from or to `double`; of floats to integers, `rounding` has been done before.
pub(super) fn converted(arg: Expr, to: &Type, rounding: Rounding) -> Expr {
    let span = arg.span;
    let mode = |arg: Expr| vec![arg, Expr::int(mode(rounding), Type::INT, span)];
    let (Some((from, lanes)), Some((target, _))) = (arg.ty.arithmetic(), to.arithmetic()) else { return arg };
    if arg.ty.scalar().is_some() && to.vector().is_some() {
        return converted(arg, &Type::Scalar(target), rounding).convert(to.clone());
    }
    let mut result = match (from, target) {
        (Scalar::Double, Scalar::Double) => arg,
        (Scalar::Float, Scalar::Double) => call("clmsl_double_of_float", vec![arg], to.clone(), span),
        (Scalar::Half, Scalar::Double) => {
            call("clmsl_double_of_float", vec![convert(arg, &Type::lanes(Scalar::Float, lanes))], to.clone(), span)
        }
        (Scalar::Long | Scalar::ULong, Scalar::Double) if rounding != Rounding::Default => {
            call("clmsl_double_of", mode(arg), to.clone(), span)
        }
        (_, Scalar::Double) => call("clmsl_double_of", vec![arg], to.clone(), span),
        (_, Scalar::Bool) => call("clmsl_double_truth", vec![arg], to.clone(), span),
        (_, Scalar::Float | Scalar::Half) => {
            call(format!("clmsl_double_to_{}", target.name()), mode(arg), to.clone(), span)
        }
        _ => call(format!("clmsl_double_to<{}>", target.name()), vec![arg], to.clone(), span),
    };
    result.span = span;
    result
}

/// `convert_T[_sat][_rt?]` from or to `double`.
pub(super) fn convert_call(arg: Expr, to: &Type, rounding: Rounding) -> Expr {
    let span = arg.span;
    let round = match rounding {
        _ if !has_doubles(&arg.ty) || to.arithmetic().is_none_or(|(s, _)| s.is_float()) => None,
        Rounding::Default | Rounding::Zero => None,
        Rounding::Nearest => Some("clmsl_rint"),
        Rounding::Up => Some("clmsl_ceil"),
        Rounding::Down => Some("clmsl_floor"),
    };
    let arg = match round {
        Some(round) => {
            let ty = arg.ty.clone();
            call(round, vec![arg], ty, span)
        }
        None => arg,
    };
    converted(arg, to, rounding)
}

/// `as_T` from or to `double`.
pub(super) fn as_type(arg: Expr, to: &Type) -> Expr {
    let span = arg.span;
    if is_double(to) {
        let bits = super::conversion::as_type(arg, &Type::ULONG);
        return Expr::new(ExprKind::Aggregate(vec![bits]), to.clone(), span);
    }
    super::conversion::as_type(call("clmsl_double_bits", vec![arg], Type::ULONG, span), to)
}

/// A conversion that sema made.
pub(super) fn lower_convert(e: &mut Expr) {
    let ExprKind::Convert(inner) = &mut e.kind else { return };
    let splat = has_doubles(&e.ty) && is_double(&inner.ty);
    if splat || !(has_doubles(&e.ty) || has_doubles(&inner.ty)) || e.ty.arithmetic().is_none() {
        return;
    }
    let span = e.span;
    *e = Expr { span, ..converted(take(inner), &e.ty, Rounding::Default) };
}

/// `place op= value` in `double`. Returns whether it was that.
pub(super) fn lower_assign(e: &mut Expr, cx: &mut Cx<'_>) -> bool {
    let ExprKind::AssignOp { op, place, value, at } = &mut e.kind else { return false };
    if !is_double(at) {
        return false;
    }
    let (op, place, value) = (*op, take(place), take(value));
    let (before, place) = if may_repeat(&place, &value) { (None, place) } else { hold(place, cx) };
    let sum = binary(op, converted(place.clone(), &Type::DOUBLE, Rounding::Default), value, Type::DOUBLE);
    let result = converted(sum, &e.ty, Rounding::Default);
    let assign = Expr::new(ExprKind::Assign(Box::new(place), Box::new(result)), e.ty.clone(), e.span);
    *e = after(before, assign);
    true
}

fn after(before: Option<Expr>, e: Expr) -> Expr {
    match before {
        None => e,
        Some(before) => {
            let (ty, span) = (e.ty.clone(), e.span);
            Expr::new(ExprKind::Comma(Box::new(before), Box::new(e)), ty, span)
        }
    }
}

/// Volatile doubles, which C++ does not copy as structures: they are read and written as the integers they hold. `e` is
/// used for its value.
pub(super) fn lower_volatile(e: &mut Expr, locals: &[Local]) {
    if let ExprKind::Assign(place, value) = &mut e.kind
        && is_double(&place.ty)
        && let Some(quals) = volatile(place, locals)
    {
        lower_volatile(value, locals);
        inside(place, locals);
        let bits = call("clmsl_double_bits", vec![take(value)], Type::ULONG, e.span);
        let place = as_integer(take(place), quals, locals);
        let assign = Expr::new(ExprKind::Assign(Box::new(place), Box::new(bits)), Type::ULONG, e.span);
        *e = Expr::new(ExprKind::Aggregate(vec![assign]), Type::DOUBLE, e.span);
        return;
    }
    let quals = if is_double(&e.ty) { volatile(e, locals) } else { None };
    inside(e, locals);
    if let Some(quals) = quals {
        let (place, span) = (take(e), e.span);
        *e = Expr::new(ExprKind::Aggregate(vec![as_integer(place, quals, locals)]), Type::DOUBLE, span);
    }
}

/// The operands of an expression that may be a place.
fn inside(e: &mut Expr, locals: &[Local]) {
    match &mut e.kind {
        ExprKind::AddressOf(place) | ExprKind::Decay(place) | ExprKind::Member(place, _) => inside(place, locals),
        ExprKind::Index(base, index) => {
            if base.ty.pointee().is_some() {
                lower_volatile(base, locals)
            } else {
                inside(base, locals)
            }
            lower_volatile(index, locals);
        }
        ExprKind::Assign(place, value) => {
            inside(place, locals);
            lower_volatile(value, locals);
        }
        _ => e.for_each_child_mut(&mut |c| lower_volatile(c, locals)),
    }
}

/// The qualifiers of the place if it is volatile.
fn volatile(place: &Expr, locals: &[Local]) -> Option<Quals> {
    let quals = match &place.kind {
        ExprKind::Deref(p) => p.ty.pointee()?.quals,
        ExprKind::Index(base, _) => match base.ty.pointee() {
            Some(p) => p.quals,
            None => return volatile(base, locals),
        },
        ExprKind::Member(base, _) => return volatile(base, locals),
        ExprKind::Local(id) => locals[id.0 as usize].quals,
        _ => return None,
    };
    quals.is_volatile.then_some(quals)
}

/// The place as an unsigned integer.
fn as_integer(place: Expr, quals: Quals, locals: &[Local]) -> Expr {
    let (span, space) = (place.span, place_space(&place, locals));
    let address = match place.kind {
        ExprKind::Deref(pointer) => *pointer,
        _ => {
            let ty = Type::pointer(Type::DOUBLE, space, quals);
            Expr::new(ExprKind::AddressOf(Box::new(place)), ty, span)
        }
    };
    let address = address.convert(Type::pointer(Type::ULONG, space, Quals { is_restrict: false, ..quals }));
    Expr::new(ExprKind::Deref(Box::new(address)), Type::ULONG, span)
}

/// What of the prelude an expression needs beside the functions that it calls.
pub(super) fn uses(e: &Expr, out: &mut std::collections::BTreeSet<Use>) {
    out.insert(match &e.kind {
        ExprKind::Binary(op, a, _) if is_double(&a.ty) => Use::of_double(op.text(), false),
        ExprKind::Unary(op, a) if is_double(&a.ty) => Use::of_double(op.text(), true),
        _ if mentions(&e.ty) => Use::of_piece("double"),
        _ => return,
    });
}

/// Whether the type's name says `double`.
pub(super) fn mentions(ty: &Type) -> bool {
    match ty {
        Type::Pointer(p) => mentions(&p.ty),
        Type::Array(e, _) => mentions(e),
        other => is_double(other),
    }
}

/// Whether a member of these structures is a `double`.
pub(super) fn has_member(structs: &[Struct], used: &[bool]) -> bool {
    structs.iter().zip(used).any(|(s, used)| *used && s.fields.iter().any(|f| mentions(&f.ty)))
}
