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
use crate::hir::{Expr, ExprKind, Function, Hidden, Local, LocalId};
use crate::sema::{const_int, convert, is_pure};
use crate::source::Span;
use crate::types::{Quals, Scalar, Space, Type};

/// The hidden parameters of one function, in a fixed order.
pub(super) type Parameters = BTreeMap<Hidden, LocalId>;

/// The parameter's name, unless the user has taken it.
fn name(hidden: Hidden) -> &'static str {
    match hidden {
        Hidden::GlobalId => "global_id",
        Hidden::LocalId => "local_id",
        Hidden::GroupId => "group_id",
        Hidden::GlobalSize => "global_size",
        Hidden::LocalSize => "local_size",
        Hidden::EnqueuedLocalSize => "enqueued_local_size",
        Hidden::NumGroups => "num_groups",
        Hidden::WorkDim => "work_dim",
        Hidden::Printed => "printed",
    }
}

fn ty(hidden: Hidden) -> Type {
    match hidden {
        Hidden::WorkDim => Type::UINT,
        Hidden::Printed => Type::pointer(Type::UINT, Space::Global, Quals::default()),
        _ => Type::Vector(Scalar::UInt, 3),
    }
}

/// The parameters a query reads.
fn sources(item: WorkItem) -> &'static [Hidden] {
    match item {
        WorkItem::GlobalOffset => &[],
        WorkItem::GlobalLinearId => &[Hidden::GlobalId, Hidden::GlobalSize],
        WorkItem::LocalLinearId => &[Hidden::LocalId, Hidden::LocalSize],
        WorkItem::GlobalId => &[Hidden::GlobalId],
        WorkItem::LocalId => &[Hidden::LocalId],
        WorkItem::GroupId => &[Hidden::GroupId],
        WorkItem::GlobalSize => &[Hidden::GlobalSize],
        WorkItem::LocalSize => &[Hidden::LocalSize],
        WorkItem::EnqueuedLocalSize => &[Hidden::EnqueuedLocalSize],
        WorkItem::NumGroups => &[Hidden::NumGroups],
        WorkItem::WorkDim => &[Hidden::WorkDim],
    }
}

/// The parameter as an expression of a function that does not have it yet.
pub(super) fn parameter(hidden: Hidden, span: Span) -> Expr {
    Expr::new(ExprKind::Hidden(hidden), ty(hidden), span)
}

/// Adds the parameters and rewrites queries and calls. `instances` has callees first.
pub(super) fn lower(instances: &mut [Instance]) -> Vec<Parameters> {
    let mut all: Vec<Parameters> = Vec::with_capacity(instances.len());
    for instance in instances {
        let function = &mut instance.function;
        let mut needed = BTreeSet::new();
        if let Some(body) = &function.body {
            body.for_each_expr(&mut |e| {
                e.walk(&mut |e| match &e.kind {
                    ExprKind::Builtin { builtin: Resolved::Special(Special::WorkItem(item)), .. } => {
                        needed.extend(sources(*item));
                    }
                    ExprKind::Hidden(hidden) => _ = needed.insert(*hidden),
                    ExprKind::Call { function, .. } => needed.extend(all[function.0 as usize].keys()),
                    _ => {}
                });
            });
        }
        let parameters = add_parameters(function, &needed);
        if let Some(mut body) = function.body.take() {
            body.for_each_expr_mut(&mut |e| e.rewrite(&mut |e| rewrite(e, &parameters, &all)));
            function.body = Some(body);
        }
        all.push(parameters);
    }
    all
}

fn add_parameters(function: &mut Function, needed: &BTreeSet<Hidden>) -> Parameters {
    let span = function.span;
    needed
        .iter()
        .map(|&hidden| {
            let id = function.add_local(Local::generated(name(hidden), ty(hidden), span));
            function.params.push(id);
            (hidden, id)
        })
        .collect()
}

fn local(hidden: Hidden, parameters: &Parameters, span: Span) -> Expr {
    match parameters.get(&hidden) {
        Some(&id) => Expr::new(ExprKind::Local(id), ty(hidden), span),
        None => unreachable!("the function needs this parameter"),
    }
}

fn rewrite(e: &mut Expr, parameters: &Parameters, all: &[Parameters]) {
    let span = e.span;
    match &mut e.kind {
        ExprKind::Call { function, args, .. } => {
            for &hidden in all[function.0 as usize].keys() {
                args.push(local(hidden, parameters, span));
            }
        }
        ExprKind::Hidden(hidden) => *e = local(*hidden, parameters, span),
        ExprKind::Builtin { builtin: Resolved::Special(Special::WorkItem(item)), args } => {
            let item = *item;
            let argument = args.pop();
            *e = query(item, argument, parameters, span);
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

fn query(item: WorkItem, argument: Option<Expr>, parameters: &Parameters, span: Span) -> Expr {
    match item {
        WorkItem::WorkDim => local(Hidden::WorkDim, parameters, span),
        WorkItem::GlobalLinearId => {
            linear(local(Hidden::GlobalId, parameters, span), local(Hidden::GlobalSize, parameters, span))
        }
        WorkItem::LocalLinearId => {
            linear(local(Hidden::LocalId, parameters, span), local(Hidden::LocalSize, parameters, span))
        }
        WorkItem::GlobalOffset => {
            let zero = Expr::int(0, Type::ULONG, span);
            match argument {
                Some(a) if !is_pure(&a) => Expr::new(ExprKind::Comma(Box::new(a), Box::new(zero)), Type::ULONG, span),
                _ => zero,
            }
        }
        _ => component(item, argument, parameters, span),
    }
}

/// One dimension of an id or size.
fn component(item: WorkItem, argument: Option<Expr>, parameters: &Parameters, span: Span) -> Expr {
    let Some(dimension) = argument else { unreachable!("the number of arguments was checked") };
    let beyond = i128::from(!matches!(item, WorkItem::GlobalId | WorkItem::LocalId | WorkItem::GroupId));
    let [hidden] = sources(item) else { unreachable!("the other queries have no dimension") };
    let value = local(*hidden, parameters, span);
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
