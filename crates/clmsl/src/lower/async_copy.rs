//! `async_work_group_copy` and its strided form (OpenCL C 3.0 §6.15.11): a loop of all work-items over all elements where
//! the call stands, and a barrier at `wait_group_events`. An event is a number that nobody looks at.

use super::expr::{call, take};
use super::work_item::group_volume;
use crate::builtins::{Resolved, Special, WorkItem};
use crate::hir::{Expr, ExprKind};
use crate::sema::is_pure;
use crate::source::Span;
use crate::types::{Space, Type};

/// `get_local_linear_id()`; `work_item` lowers it.
fn local_linear_id(span: Span) -> Expr {
    let builtin = Resolved::Special(Special::WorkItem(WorkItem::LocalLinearId));
    Expr::new(ExprKind::Builtin { builtin, args: Vec::new() }, Type::ULONG, span).convert(Type::UINT)
}

/// `(e, then)` if evaluating `e` matters.
pub(super) fn after(e: Expr, then: Expr) -> Expr {
    if is_pure(&e) {
        return then;
    }
    let (ty, span) = (then.ty.clone(), then.span);
    Expr::new(ExprKind::Comma(Box::new(e), Box::new(then)), ty, span)
}

/// The copy, with the event as its value.
pub(super) fn copy(mut args: Vec<Expr>, strided: bool, span: Span) -> Expr {
    let Some(event) = args.pop() else { unreachable!("the number of arguments was checked") };
    let to_local = args.first().and_then(|to| to.ty.pointee()).is_some_and(|p| p.space == Space::Local);
    let head = match (strided, to_local) {
        (false, _) => "clmsl_async_copy",
        (true, true) => "clmsl_async_gather",
        (true, false) => "clmsl_async_scatter",
    };
    // A vector of three is copied as one of four (OpenCL C 3.0 §6.15.11).
    for pointer in args.iter_mut().take(2) {
        let Some(p) = pointer.ty.pointee() else { continue };
        if let Type::Vector(scalar, 3) = p.ty {
            let four = Type::pointer(Type::Vector(scalar, 4), p.space, p.quals);
            *pointer = take(pointer).convert(four);
        }
    }
    args.push(local_linear_id(span));
    args.push(group_volume(span));
    let loop_call = call(head, args, Type::Void, span);
    let number = Expr::int(0, Type::UINT, span);
    let value = Expr::new(ExprKind::Comma(Box::new(loop_call), Box::new(number)), Type::UINT, span);
    after(event, value)
}

/// The copy of lines, with the event as its value.
pub(super) fn lines(mut args: Vec<Expr>, span: Span) -> Expr {
    let Some(event) = args.pop() else { unreachable!("the number of arguments was checked") };
    args.push(local_linear_id(span));
    args.push(group_volume(span));
    let loops = call("clmsl_async_lines", args, Type::Void, span);
    let number = Expr::int(0, Type::UINT, span);
    after(event, Expr::new(ExprKind::Comma(Box::new(loops), Box::new(number)), Type::UINT, span))
}

/// The wait.
pub(super) fn wait(args: Vec<Expr>, span: Span) -> Expr {
    let flags = "metal::mem_flags::mem_device | metal::mem_flags::mem_threadgroup";
    let flags = Expr::new(ExprKind::Name(flags.to_owned()), Type::INT, span);
    let barrier = call("metal::threadgroup_barrier", vec![flags], Type::Void, span);
    args.into_iter().rev().fold(barrier, |then, e| after(e, then))
}
