//! C11's atomic functions (OpenCL C 3.0 §6.15.12).
//!
//! Metal's atomic operations are relaxed; order comes from its fences (MSL 3.2). A release is a fence before the
//! operation, an acquire a fence behind it (C11 §7.17.4). Operations of the one total order are read-modify-writes with
//! both: then each synchronises with the next one on its object, and happens-before alone orders all of them. For that a
//! load writes back what it read, a store exchanges, and a compare-exchange that finds something else writes that back.
//! Fences that order for the whole device hold only for memory that is declared coherent (MSL 3.2 §4.8), which `coherent`
//! sees to.

use super::conversion::as_type;
use super::expr::{Cx, call, take};
use crate::builtins::{AtomicOp, C11, Order, Scope};
use crate::hir::{Expr, ExprKind};
use crate::sema::is_pure;
use crate::source::Span;
use crate::types::{Scalar, Space, Type};

pub(super) fn lower(op: C11, order: Order, mut args: Vec<Expr>, ty: Type, span: Span, cx: &mut Cx<'_>) -> Expr {
    let orders = (order.acquire || order.release) && order.scope != Scope::WorkItem;
    cx.device_scope |= orders && order.scope == Scope::Device;
    if op == C11::Fence {
        let nothing = || Expr::int(0, Type::INT, span).convert(Type::Void);
        let flags = super::builtin::mem_flags(args.first());
        return if orders { fence(flags, order.scope, span) } else { nothing() };
    }
    let mut before = Vec::new();
    if orders && order.release {
        // What the arguments do comes before the fence.
        for arg in args.iter_mut().filter(|a| !is_pure(a)) {
            let place = cx.temporary("argument", arg.ty.clone(), span);
            let value = std::mem::replace(arg, place.clone());
            let ty = place.ty.clone();
            before.push(Expr::new(ExprKind::Assign(Box::new(place), Box::new(value)), ty, span));
        }
        before.push(whole_fence(order.scope, span));
    }
    let mut out = operation(op, order, &mut args, ty, span);
    if orders && order.acquire {
        out = if out.ty == Type::Void {
            sequence(out, whole_fence(order.scope, span))
        } else {
            let ty = out.ty.clone();
            call(format!("clmsl_fenced<{}>", scope_name(order.scope)), vec![out], ty, span)
        };
    }
    before.into_iter().rev().fold(out, |then, first| sequence(first, then))
}

/// The relaxed operation.
fn operation(op: C11, order: Order, args: &mut Vec<Expr>, ty: Type, span: Span) -> Expr {
    let Some(pointee) = args.first().and_then(|o| o.ty.pointee()).cloned() else { unreachable!("sema checked it") };
    let Type::Atomic(scalar) = pointee.ty else { unreachable!("sema checked it") };
    let adds = matches!(op, C11::Fetch(_));
    let native_float = adds && scalar.is_float() && pointee.space == Space::Global;
    // All else is done on the bits of a float.
    let bits = if scalar.is_float() && !native_float { Scalar::UInt } else { scalar };
    let word = Type::Scalar(bits);
    let object = object(take(&mut args[0]), Type::pointer(Type::Atomic(bits), pointee.space, pointee.quals));
    let relaxed = || Expr::new(ExprKind::Name("metal::memory_order_relaxed".to_owned()), Type::INT, span);
    let mut values = args.drain(1..);
    let mut given = || values.next().unwrap_or_else(|| unreachable!("sema counted the arguments"));
    let in_bits = |value: Expr| as_type(value, &word);
    let zero = || Expr::int(0, word.clone(), span);
    let name = match op {
        C11::Load if order.total => {
            let old = call("metal::atomic_fetch_or_explicit", vec![object, zero(), relaxed()], word.clone(), span);
            return as_type(old, &ty);
        }
        C11::Load => {
            let old = call("metal::atomic_load_explicit", vec![object, relaxed()], word, span);
            return as_type(old, &ty);
        }
        C11::Init => return call("metal::atomic_store_explicit", vec![object, in_bits(given()), relaxed()], ty, span),
        C11::Store | C11::Clear => {
            let value = if op == C11::Clear { zero() } else { in_bits(given()) };
            let args = vec![object, value, relaxed()];
            if order.total {
                return call("metal::atomic_exchange_explicit", args, word, span).convert(Type::Void);
            }
            return call("metal::atomic_store_explicit", args, ty, span);
        }
        C11::TestAndSet => {
            let one = Expr::int(1, word.clone(), span);
            let old = call("metal::atomic_exchange_explicit", vec![object, one, relaxed()], word.clone(), span);
            return super::expr::binary(crate::ast::BinaryOp::Ne, old, zero(), Type::BOOL);
        }
        C11::CompareExchange => {
            let total = if order.total { "_total" } else { "" };
            let args = vec![object, given(), in_bits(given())];
            return call(format!("clmsl_atomic_compare_exchange{total}"), args, ty, span);
        }
        C11::Fetch(op @ (AtomicOp::Add | AtomicOp::Sub)) if scalar.is_float() && !native_float => {
            let value = given();
            let value = if op == AtomicOp::Sub {
                Expr::new(ExprKind::Unary(crate::hir::UnaryOp::Neg, Box::new(value)), Type::FLOAT, span)
            } else {
                value
            };
            return call("clmsl_atomic_local_add", vec![object, value], ty, span);
        }
        C11::Exchange => "exchange",
        C11::Fetch(AtomicOp::Add) => "fetch_add",
        C11::Fetch(AtomicOp::Sub) => "fetch_sub",
        C11::Fetch(AtomicOp::And) => "fetch_and",
        C11::Fetch(AtomicOp::Or) => "fetch_or",
        C11::Fetch(AtomicOp::Xor) => "fetch_xor",
        C11::Fetch(AtomicOp::Min) => "fetch_min",
        C11::Fetch(AtomicOp::Max) => "fetch_max",
        C11::Fetch(_) | C11::Fence => unreachable!("no atomic function of C11 does this"),
    };
    let old =
        call(format!("metal::atomic_{name}_explicit"), vec![object, in_bits(given()), relaxed()], word.clone(), span);
    as_type(old, &ty)
}

/// The pointer as Metal's functions take it: to plain memory, since coherence is the fences' matter.
fn object(pointer: Expr, ty: Type) -> Expr {
    let plain = matches!(pointer.kind, ExprKind::Local(_) | ExprKind::Convert(_))
        || ty.pointee().is_some_and(|p| p.space != Space::Global);
    if pointer.ty == ty && plain { pointer } else { pointer.convert(ty) }
}

pub(super) fn sequence(first: Expr, then: Expr) -> Expr {
    let (ty, span) = (then.ty.clone(), then.span);
    Expr::new(ExprKind::Comma(Box::new(first), Box::new(then)), ty, span)
}

/// A fence of all memory.
fn whole_fence(scope: Scope, span: Span) -> Expr {
    call(format!("clmsl_fence<{}>", scope_name(scope)), Vec::new(), Type::Void, span)
}

fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::WorkItem => "metal::thread_scope_thread",
        Scope::SubGroup => "metal::thread_scope_simdgroup",
        Scope::WorkGroup => "metal::thread_scope_threadgroup",
        Scope::Device => "metal::thread_scope_device",
    }
}

/// A fence of all orders; Metal has none that costs less and does enough for certain.
pub(super) fn fence(flags: Expr, scope: Scope, span: Span) -> Expr {
    let name = |s: &str| Expr::new(ExprKind::Name(s.to_owned()), Type::INT, span);
    let args = vec![flags, name("metal::memory_order_seq_cst"), name(scope_name(scope))];
    call("metal::atomic_thread_fence", args, Type::Void, span)
}
