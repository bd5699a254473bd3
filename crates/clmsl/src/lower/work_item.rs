//! Work-item functions as hidden parameters.
//!
//! MSL has the ids and sizes only as attributes of an entry point's parameters. Each function that needs one, itself or
//! through its callees, gets a parameter for it, and calls pass it on. Dimensions beyond the third give 0 for ids and 1
//! for sizes (OpenCL C 3.0 §6.15.1).

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::rc::Rc;

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
        Hidden::LocalIndex => "local_index",
        Hidden::SubGroupId => "sub_group_id",
        Hidden::SubGroupLocalId => "sub_group_local_id",
        Hidden::MaxSubGroupSize => "max_sub_group_size",
        Hidden::NumSubGroups => "num_sub_groups",
        Hidden::EnqueuedNumSubGroups => "enqueued_num_sub_groups",
        Hidden::Partials => "partials",
        Hidden::Items => "items",
        Hidden::Shared(_) => unreachable!("it has the variable's name"),
    }
}

fn ty(hidden: Hidden) -> Type {
    match hidden {
        Hidden::WorkDim
        | Hidden::LocalIndex
        | Hidden::SubGroupId
        | Hidden::SubGroupLocalId
        | Hidden::MaxSubGroupSize
        | Hidden::NumSubGroups
        | Hidden::EnqueuedNumSubGroups => Type::UINT,
        // The narrowest SIMD-groups that a GPU of Metal's has are of 8 threads; a threadgroup has at most 1024.
        Hidden::Partials => Type::Array(Rc::new(Type::ULONG), 128),
        Hidden::Items => Type::Array(Rc::new(Type::ULONG), 1024),
        Hidden::Shared(_) => unreachable!("it has the variable's type"),
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
        WorkItem::SubGroupSize => &[Hidden::LocalSize, Hidden::SubGroupId, Hidden::MaxSubGroupSize],
        WorkItem::MaxSubGroupSize => &[Hidden::MaxSubGroupSize],
        WorkItem::NumSubGroups => &[Hidden::NumSubGroups],
        WorkItem::EnqueuedNumSubGroups => &[Hidden::EnqueuedNumSubGroups],
        WorkItem::SubGroupId => &[Hidden::SubGroupId],
        WorkItem::SubGroupLocalId => &[Hidden::SubGroupLocalId],
    }
}

/// The parameter as an expression of a function that does not have it yet.
pub(super) fn parameter(hidden: Hidden, span: Span) -> Expr {
    Expr::new(ExprKind::Hidden(hidden), ty(hidden), span)
}

/// How many work-items the group has.
pub(super) fn group_volume(span: Span) -> Expr {
    volume(&parameter(Hidden::LocalSize, span))
}

/// `get_sub_group_size()`
pub(super) fn sub_group_size(span: Span) -> Expr {
    let [size, group, width] =
        [Hidden::LocalSize, Hidden::SubGroupId, Hidden::MaxSubGroupSize].map(|h| parameter(h, span));
    sub_group_size_of(&size, group, width)
}

fn volume(size: &Expr) -> Expr {
    let lane = |l: u8| Expr::new(ExprKind::Swizzle(Box::new(size.clone()), vec![l]), Type::UINT, size.span);
    let plane = binary(BinaryOp::Mul, lane(0), lane(1), Type::UINT);
    binary(BinaryOp::Mul, plane, lane(2), Type::UINT)
}

/// What is left for the last sub-group, or all that one can have.
fn sub_group_size_of(size: &Expr, group: Expr, width: Expr) -> Expr {
    let span = size.span;
    let before = binary(BinaryOp::Mul, group, width.clone(), Type::UINT);
    let left = binary(BinaryOp::Sub, volume(size), before, Type::UINT);
    call("metal::min", vec![width, left], Type::UINT, span)
}

/// Adds the parameters and rewrites queries and calls. `instances` has callees first.
/// `shared` are the variables that [`Hidden::Shared`] numbers.
pub(super) fn lower(instances: &mut [Instance], shared: &[Local]) -> Vec<Parameters> {
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
        let parameters = add_parameters(function, &needed, shared);
        if let Some(mut body) = function.body.take() {
            body.for_each_expr_mut(&mut |e| e.rewrite(&mut |e| rewrite(e, &parameters, &all)));
            function.body = Some(body);
        }
        all.push(parameters);
    }
    all
}

fn add_parameters(function: &mut Function, needed: &BTreeSet<Hidden>, shared: &[Local]) -> Parameters {
    let span = function.span;
    needed
        .iter()
        .map(|&hidden| {
            let local = match hidden {
                Hidden::Shared(number) => shared[number as usize].clone(),
                _ => Local::generated(name(hidden), ty(hidden), span),
            };
            let in_group = matches!(hidden, Hidden::Partials | Hidden::Items | Hidden::Shared(_));
            let space = if in_group { Space::Local } else { Space::Private };
            let id = function.add_local(Local { space, reference: in_group, ..local });
            function.params.push(id);
            (hidden, id)
        })
        .collect()
}

fn local(hidden: Hidden, parameters: &Parameters, ty: Type, span: Span) -> Expr {
    match parameters.get(&hidden) {
        Some(&id) => Expr::new(ExprKind::Local(id), ty, span),
        None => unreachable!("the function needs this parameter"),
    }
}

fn rewrite(e: &mut Expr, parameters: &Parameters, all: &[Parameters]) {
    let span = e.span;
    match &mut e.kind {
        ExprKind::Call { function, args, .. } => {
            for &hidden in all[function.0 as usize].keys() {
                args.push(local(hidden, parameters, type_in_call(hidden), span));
            }
        }
        ExprKind::Hidden(hidden) => *e = local(*hidden, parameters, e.ty.clone(), span),
        ExprKind::Builtin { builtin: Resolved::Special(Special::WorkItem(item)), args } => {
            let item = *item;
            let argument = args.pop();
            *e = query(item, argument, parameters, span);
        }
        // A conversion from the 64-bit result is one from the 32-bit parameter.
        ExprKind::Convert(inner) => {
            if let ExprKind::Convert(_) | ExprKind::Int { .. } = inner.kind
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

/// Only the printer sees it, and prints names.
fn type_in_call(hidden: Hidden) -> Type {
    if let Hidden::Shared(_) = hidden { Type::Void } else { ty(hidden) }
}

fn query(item: WorkItem, argument: Option<Expr>, parameters: &Parameters, span: Span) -> Expr {
    match item {
        WorkItem::WorkDim => local(Hidden::WorkDim, parameters, ty(Hidden::WorkDim), span),
        WorkItem::GlobalLinearId => linear(
            local(Hidden::GlobalId, parameters, ty(Hidden::GlobalId), span),
            local(Hidden::GlobalSize, parameters, ty(Hidden::GlobalSize), span),
            &Type::ULONG,
        ),
        // A threadgroup has few threads.
        WorkItem::LocalLinearId => {
            let id = local(Hidden::LocalId, parameters, ty(Hidden::LocalId), span);
            let size = local(Hidden::LocalSize, parameters, ty(Hidden::LocalSize), span);
            convert(linear(id, size, &Type::UINT), &Type::ULONG)
        }
        WorkItem::GlobalOffset => {
            let zero = Expr::int(0, Type::ULONG, span);
            match argument {
                Some(a) if !is_pure(&a) => Expr::new(ExprKind::Comma(Box::new(a), Box::new(zero)), Type::ULONG, span),
                _ => zero,
            }
        }
        WorkItem::SubGroupSize => {
            let [size, group, width] = [Hidden::LocalSize, Hidden::SubGroupId, Hidden::MaxSubGroupSize]
                .map(|h| local(h, parameters, ty(h), span));
            sub_group_size_of(&size, group, width)
        }
        WorkItem::MaxSubGroupSize
        | WorkItem::NumSubGroups
        | WorkItem::EnqueuedNumSubGroups
        | WorkItem::SubGroupId
        | WorkItem::SubGroupLocalId => {
            let [hidden] = sources(item) else { unreachable!("one parameter is the value") };
            local(*hidden, parameters, Type::UINT, span)
        }
        _ => component(item, argument, parameters, span),
    }
}

/// One dimension of an id or size.
fn component(item: WorkItem, argument: Option<Expr>, parameters: &Parameters, span: Span) -> Expr {
    let Some(dimension) = argument else { unreachable!("the number of arguments was checked") };
    let beyond = i128::from(!matches!(item, WorkItem::GlobalId | WorkItem::LocalId | WorkItem::GroupId));
    let [hidden] = sources(item) else { unreachable!("the other queries have no dimension") };
    let value = local(*hidden, parameters, ty(*hidden), span);
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

/// `(z * size.y + y) * size.x + x` in the given type.
fn linear(id: Expr, size: Expr, at: &Type) -> Expr {
    let span = id.span;
    let lane = |v: &Expr, l: u8| {
        let lane = Expr::new(ExprKind::Swizzle(Box::new(v.clone()), vec![l]), Type::UINT, span);
        convert(lane, at)
    };
    let row = binary(BinaryOp::Mul, lane(&id, 2), lane(&size, 1), at.clone());
    let row = binary(BinaryOp::Add, row, lane(&id, 1), at.clone());
    let all = binary(BinaryOp::Mul, row, lane(&size, 0), at.clone());
    binary(BinaryOp::Add, all, lane(&id, 0), at.clone())
}
