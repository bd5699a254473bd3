//! Work-item functions as hidden parameters.
//!
//! MSL has the ids and sizes only as attributes of an entry point's parameters. Each function that needs one, itself or
//! through its callees, gets a parameter for it, and calls pass it on. Dimensions beyond the third give 0 for ids and 1
//! for sizes (OpenCL C 3.0 §6.15.1).

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::Instance;
use super::expr::{binary, call};
use crate::ast::BinaryOp;
use crate::builtins::{Resolved, Special, WorkItem};
use crate::hir::{Expr, ExprKind, Function, Local, LocalId};
use crate::sema::{const_int, convert, is_pure};
use crate::source::Span;
use crate::types::{Scalar, Type};

/// The hidden parameters of one function, in a fixed order.
pub(super) type Hidden = BTreeMap<WorkItem, LocalId>;

/// The parameter's name, unless the user has taken it.
fn parameter_name(item: WorkItem) -> &'static str {
    match item {
        WorkItem::GlobalId => "global_id",
        WorkItem::LocalId => "local_id",
        WorkItem::GroupId => "group_id",
        WorkItem::GlobalSize => "global_size",
        WorkItem::LocalSize => "local_size",
        WorkItem::EnqueuedLocalSize => "enqueued_local_size",
        WorkItem::NumGroups => "num_groups",
        WorkItem::WorkDim => "work_dim",
        WorkItem::GlobalOffset | WorkItem::GlobalLinearId | WorkItem::LocalLinearId => {
            unreachable!("computed from others")
        }
    }
}

fn parameter_type(item: WorkItem) -> Type {
    if item == WorkItem::WorkDim { Type::UINT } else { Type::Vector(Scalar::UInt, 3) }
}

/// The parameters a query reads.
fn sources(item: WorkItem) -> &'static [WorkItem] {
    match item {
        WorkItem::GlobalOffset => &[],
        WorkItem::GlobalLinearId => &[WorkItem::GlobalId, WorkItem::GlobalSize],
        WorkItem::LocalLinearId => &[WorkItem::LocalId, WorkItem::LocalSize],
        WorkItem::GlobalId => &[WorkItem::GlobalId],
        WorkItem::LocalId => &[WorkItem::LocalId],
        WorkItem::GroupId => &[WorkItem::GroupId],
        WorkItem::GlobalSize => &[WorkItem::GlobalSize],
        WorkItem::LocalSize => &[WorkItem::LocalSize],
        WorkItem::EnqueuedLocalSize => &[WorkItem::EnqueuedLocalSize],
        WorkItem::NumGroups => &[WorkItem::NumGroups],
        WorkItem::WorkDim => &[WorkItem::WorkDim],
    }
}

/// Adds the parameters and rewrites queries and calls. `instances` has callees first.
pub(super) fn lower(instances: &mut [Instance]) -> Vec<Hidden> {
    let mut all: Vec<Hidden> = Vec::with_capacity(instances.len());
    for instance in instances {
        let function = &mut instance.function;
        let mut needed = BTreeSet::new();
        if let Some(body) = &function.body {
            body.for_each_expr(&mut |e| {
                e.walk(&mut |e| match &e.kind {
                    ExprKind::Builtin { builtin: Resolved::Special(Special::WorkItem(item)), .. } => {
                        needed.extend(sources(*item));
                    }
                    ExprKind::Call { function, .. } => needed.extend(all[function.0 as usize].keys()),
                    _ => {}
                });
            });
        }
        let hidden = add_parameters(function, &needed);
        if let Some(mut body) = function.body.take() {
            body.for_each_expr_mut(&mut |e| e.rewrite(&mut |e| rewrite(e, &hidden, &all)));
            function.body = Some(body);
        }
        all.push(hidden);
    }
    all
}

fn add_parameters(function: &mut Function, needed: &BTreeSet<WorkItem>) -> Hidden {
    let span = function.span;
    needed
        .iter()
        .map(|&item| {
            let local = Local::generated(parameter_name(item), parameter_type(item), span);
            let id = function.add_local(local);
            function.params.push(id);
            (item, id)
        })
        .collect()
}

fn parameter(item: WorkItem, hidden: &Hidden, span: Span) -> Expr {
    match hidden.get(&item) {
        Some(&id) => Expr::new(ExprKind::Local(id), parameter_type(item), span),
        None => unreachable!("the function needs this parameter"),
    }
}

fn rewrite(e: &mut Expr, hidden: &Hidden, all: &[Hidden]) {
    let span = e.span;
    match &mut e.kind {
        ExprKind::Call { function, args, .. } => {
            for &item in all[function.0 as usize].keys() {
                args.push(parameter(item, hidden, span));
            }
        }
        ExprKind::Builtin { builtin: Resolved::Special(Special::WorkItem(item)), args } => {
            let item = *item;
            let argument = args.pop();
            *e = query(item, argument, hidden, span);
        }
        // A conversion from the 64-bit result is one from the 32-bit parameter.
        ExprKind::Convert(inner) => {
            if let ExprKind::Convert(_) = inner.kind
                && inner.ty == Type::ULONG
            {
                let ty = e.ty.clone();
                let inner = std::mem::replace(&mut **inner, Expr::error(span));
                *e = Expr { span, ..convert(inner, &ty) };
            }
        }
        _ => {}
    }
}

fn query(item: WorkItem, argument: Option<Expr>, hidden: &Hidden, span: Span) -> Expr {
    match item {
        WorkItem::WorkDim => parameter(item, hidden, span),
        WorkItem::GlobalLinearId => {
            linear(parameter(WorkItem::GlobalId, hidden, span), parameter(WorkItem::GlobalSize, hidden, span))
        }
        WorkItem::LocalLinearId => {
            linear(parameter(WorkItem::LocalId, hidden, span), parameter(WorkItem::LocalSize, hidden, span))
        }
        WorkItem::GlobalOffset => {
            let zero = Expr::int(0, Type::ULONG, span);
            match argument {
                Some(a) if !is_pure(&a) => Expr::new(ExprKind::Comma(Box::new(a), Box::new(zero)), Type::ULONG, span),
                _ => zero,
            }
        }
        _ => component(item, argument, hidden, span),
    }
}

/// One dimension of an id or size.
fn component(item: WorkItem, argument: Option<Expr>, hidden: &Hidden, span: Span) -> Expr {
    let Some(dimension) = argument else { unreachable!("the number of arguments was checked") };
    let beyond = i128::from(!matches!(item, WorkItem::GlobalId | WorkItem::LocalId | WorkItem::GroupId));
    let value = parameter(item, hidden, span);
    match const_int(&dimension) {
        Some(d @ 0..=2) => {
            let lane = Expr::new(ExprKind::Swizzle(Box::new(value), vec![d as u8]), Type::UINT, span);
            convert(lane, &Type::ULONG)
        }
        Some(_) => Expr::int(beyond, Type::ULONG, span),
        None => {
            let beyond = Expr::int(beyond, Type::UINT, span);
            convert(call("clmsl_dimension", vec![value, dimension, beyond], Type::UINT, span), &Type::ULONG)
        }
    }
}

/// `(z * size.y + y) * size.x + x` in 64 bits.
fn linear(id: Expr, size: Expr) -> Expr {
    let span = id.span;
    let lane = |v: &Expr, l: u8| {
        let lane = Expr::new(ExprKind::Swizzle(Box::new(v.clone()), vec![l]), Type::UINT, span);
        convert(lane, &Type::ULONG)
    };
    let row = binary(BinaryOp::Mul, lane(&id, 2), lane(&size, 1), Type::ULONG);
    let row = binary(BinaryOp::Add, row, lane(&id, 1), Type::ULONG);
    let all = binary(BinaryOp::Mul, row, lane(&size, 0), Type::ULONG);
    binary(BinaryOp::Add, all, lane(&id, 0), Type::ULONG)
}
