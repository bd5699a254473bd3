//! Sub-group and work-group functions (OpenCL C 3.0 §6.15.17, §6.15.19).
//!
//! A sub-group is a SIMD-group. What Metal has a function for becomes that; other reductions and scans, and those of 64-bit
//! values, move values between lanes in the prelude: in steps where all lanes of the sub-group are there, else one by one.
//! Work-group functions go through threadgroup memory that the entry point declares: reductions by the parts of the
//! sub-groups, scans by the items in the order of their linear ids, which no order of lanes enters.

use super::conversion::as_type;
use super::expr::{Cx, binary, call, sequence, take};
use super::work_item::parameter;
use crate::ast::BinaryOp;
use crate::builtins::{Collective, Fold, FoldSpan, GroupOp, Lanes};
use crate::hir::{Expr, ExprKind, Hidden, UnaryOp};
use crate::sema::convert;
use crate::source::Span;
use crate::types::{Scalar, Type};

pub(super) fn lower(group: GroupOp, mut args: Vec<Expr>, ty: Type, span: Span) -> Expr {
    match group {
        GroupOp::SubGroupBarrier => {
            call("metal::simdgroup_barrier", vec![super::builtin::mem_flags(args.first())], Type::Void, span)
        }
        GroupOp::Lanes(op) => lanes(op, args, ty, span),
        GroupOp::SubGroup(Collective::Broadcast) | GroupOp::NonUniform(Collective::Broadcast) => {
            moved("broadcast", args, ty, span)
        }
        GroupOp::SubGroup(op) | GroupOp::NonUniform(op) => {
            let x = take(&mut args[0]);
            let whole = matches!(group, GroupOp::SubGroup(_));
            match op {
                Collective::All => vote("all", x, span),
                Collective::Any => vote("any", x, span),
                Collective::Broadcast => unreachable!("it is above"),
                Collective::Fold(fold, over) => sub_group_fold(fold, over, x, ty, span, whole),
                Collective::Logical(fold, over) => sub_group_fold(fold, over, as_int(x), ty, span, whole),
            }
        }
        GroupOp::Clustered(op) => {
            let size = take(&mut args[1]);
            let x = take(&mut args[0]);
            match op {
                Collective::Logical(fold, _) => clustered(fold, as_int(x), size, ty, span),
                Collective::Fold(fold, _) => clustered(fold, x, size, ty, span),
                _ => unreachable!("clusters are only reduced"),
            }
        }
        GroupOp::WorkGroup(op) => work_group(op, args, ty, span),
        GroupOp::Block { .. } => unreachable!("it needs variables"),
    }
}

/// Reads elements that lie as far from each other as sub-groups are wide, or, with a second argument, writes them.
pub(super) fn block(element: Scalar, lanes: u8, args: Vec<Expr>, span: Span, cx: &mut Cx<'_>) -> Expr {
    let mut before = Vec::new();
    let mut keep = |value: Expr, name: &str, cx: &mut Cx<'_>| {
        if matches!(value.kind, ExprKind::Local(_)) {
            return value;
        }
        let (ty, variable) = (value.ty.clone(), cx.temporary(name, value.ty.clone(), span));
        before.push(Expr::new(ExprKind::Assign(Box::new(variable.clone()), Box::new(value)), ty, span));
        variable
    };
    let mut args = args.into_iter();
    let pointer = args.next().unwrap_or_else(|| unreachable!("the number of arguments was checked"));
    let pointer = keep(pointer, "block", cx);
    let data = args.next().map(|data| if lanes > 1 { keep(data, "data", cx) } else { data });
    let uint = |op, a, b| binary(op, a, b, Type::UINT);
    let places = (0..lanes).map(|i| {
        let index = match i {
            0 => lane(span),
            1 => uint(BinaryOp::Add, lane(span), width(span)),
            _ => {
                let behind = uint(BinaryOp::Mul, Expr::int(i.into(), Type::UINT, span), width(span));
                uint(BinaryOp::Add, lane(span), behind)
            }
        };
        let kind = ExprKind::Index(Box::new(pointer.clone()), Box::new(index));
        Expr::new(kind, Type::Scalar(element), span)
    });
    let Some(data) = data else {
        let mut parts: Vec<Expr> = places.collect();
        let value = match lanes {
            1 => parts.remove(0),
            _ => Expr::new(ExprKind::VectorLiteral(parts), Type::lanes(element, lanes), span),
        };
        return sequence(before, value);
    };
    for (i, place) in (0..).zip(places) {
        let part = match lanes {
            1 => data.clone(),
            _ => Expr::new(ExprKind::Swizzle(Box::new(data.clone()), vec![i]), Type::Scalar(element), span),
        };
        before.push(Expr::new(ExprKind::Assign(Box::new(place), Box::new(part)), Type::Scalar(element), span));
    }
    let last = before.pop().unwrap_or_else(|| unreachable!("there is an element"));
    sequence(before, last).convert(Type::Void)
}

fn truth(x: Expr) -> Expr {
    let zero = convert(Expr::int(0, Type::INT, x.span), &x.ty);
    binary(BinaryOp::Ne, x, zero, Type::BOOL)
}

/// 1 or 0.
fn as_int(x: Expr) -> Expr {
    convert(truth(x), &Type::INT)
}

fn vote(name: &str, x: Expr, span: Span) -> Expr {
    convert(call(format!("metal::simd_{name}"), vec![truth(x)], Type::BOOL, span), &Type::INT)
}

/// `metal::simd_NAME(x, lane)`, for 64-bit values by their halves.
fn moved(name: &str, args: Vec<Expr>, ty: Type, span: Span) -> Expr {
    if ty.vector().is_some_and(|(s, _)| s.size() == 8) {
        let mut args = args.into_iter();
        let x = args.next().unwrap_or_else(|| unreachable!("the number of arguments was checked"));
        let lane = args.map(|lane| convert(lane, &Type::Scalar(Scalar::UShort)));
        return call("clmsl_broadcast", std::iter::once(x).chain(lane).collect(), ty, span);
    }
    let wide = ty.scalar().is_some_and(|s| s.size() == 8);
    let through = if wide { Type::Vector(Scalar::UInt, 2) } else { ty.clone() };
    let args = args
        .into_iter()
        .enumerate()
        .map(|(i, a)| if i == 0 { as_type(a, &through) } else { convert(a, &Type::Scalar(Scalar::UShort)) })
        .collect();
    as_type(call(format!("metal::simd_{name}"), args, through, span), &ty)
}

fn lane(span: Span) -> Expr {
    parameter(Hidden::SubGroupLocalId, span)
}

fn width(span: Span) -> Expr {
    parameter(Hidden::MaxSubGroupSize, span)
}

fn one(span: Span) -> Expr {
    Expr::int(1, Type::UINT, span)
}

fn lanes(op: Lanes, mut args: Vec<Expr>, ty: Type, span: Span) -> Expr {
    let uint = |op, a, b| binary(op, a, b, Type::UINT);
    let bits = |args: &mut Vec<Expr>, below: Expr| {
        call("clmsl_ballot_bits", vec![take(&mut args[0]), below], Type::ULONG, span)
    };
    let count = |bits: Expr| convert(call("metal::popcount", vec![bits], Type::ULONG, span), &Type::UINT);
    match op {
        Lanes::BroadcastFirst => moved("broadcast_first", args, ty, span),
        Lanes::Shuffle => moved("shuffle", args, ty, span),
        Lanes::ShuffleXor => moved("shuffle_xor", args, ty, span),
        Lanes::ShuffleUp => moved("shuffle_up", args, ty, span),
        Lanes::ShuffleDown => moved("shuffle_down", args, ty, span),
        Lanes::Rotate => {
            let delta = convert(take(&mut args[1]), &Type::UINT);
            let at = uint(BinaryOp::Rem, uint(BinaryOp::Add, lane(span), delta), width(span));
            moved("shuffle", vec![take(&mut args[0]), at], ty, span)
        }
        Lanes::ClusteredRotate => {
            let within = |e: Expr, size: Expr| uint(BinaryOp::And, e, uint(BinaryOp::Sub, size, one(span)));
            let (delta, size) = (convert(take(&mut args[1]), &Type::UINT), take(&mut args[2]));
            let turned = within(uint(BinaryOp::Add, lane(span), delta), size.clone());
            let at = uint(BinaryOp::Add, first_of_cluster(size, span), turned);
            moved("shuffle", vec![take(&mut args[0]), at], ty, span)
        }
        Lanes::Elect => convert(call("metal::simd_is_first", Vec::new(), Type::BOOL, span), &ty),
        Lanes::AllEqual => convert(call("clmsl_all_equal", args, Type::BOOL, span), &ty),
        Lanes::Ballot => call("clmsl_ballot", vec![truth(take(&mut args[0]))], ty, span),
        Lanes::InverseBallot | Lanes::BitExtract => {
            let at = if op == Lanes::BitExtract { take(&mut args[1]) } else { lane(span) };
            let all = bits(&mut args, Expr::int(64, Type::UINT, span));
            let shifted = binary(BinaryOp::Shr, all, at, Type::ULONG);
            convert(binary(BinaryOp::And, shifted, Expr::int(1, Type::ULONG, span), Type::ULONG), &ty)
        }
        Lanes::BitCount => count(bits(&mut args, width(span))),
        Lanes::BitInclusiveScan => count(bits(&mut args, uint(BinaryOp::Add, lane(span), one(span)))),
        Lanes::BitExclusiveScan => count(bits(&mut args, lane(span))),
        Lanes::FindLsb => {
            let found = call("metal::ctz", vec![bits(&mut args, width(span))], Type::ULONG, span);
            convert(found, &ty)
        }
        Lanes::FindMsb => {
            let zeros = call("metal::clz", vec![bits(&mut args, width(span))], Type::ULONG, span);
            convert(binary(BinaryOp::Sub, Expr::int(63, Type::ULONG, span), zeros, Type::ULONG), &ty)
        }
        Lanes::Mask(comparison) => {
            let below = |lane: Expr| call("clmsl_lanes_below", vec![lane], Type::ULONG, span);
            let up_to = || below(uint(BinaryOp::Add, lane(span), one(span)));
            let all = || below(width(span));
            let not = |e: Expr| Expr::new(ExprKind::Unary(UnaryOp::BitNot, Box::new(e)), Type::ULONG, span);
            let and = |a, b| binary(BinaryOp::And, a, b, Type::ULONG);
            let mask = match comparison {
                "==" => and(up_to(), not(below(lane(span)))),
                ">=" => and(all(), not(below(lane(span)))),
                ">" => and(all(), not(up_to())),
                "<=" => up_to(),
                _ => below(lane(span)),
            };
            call("clmsl_lanes_as_ballot", vec![mask], ty, span)
        }
    }
}

/// As the prelude writes it.
fn fold_name(fold: Fold) -> &'static str {
    match fold {
        Fold::Add => "'+'",
        Fold::Min => "'<'",
        Fold::Max => "'>'",
        Fold::Mul => "'*'",
        Fold::And => "'&'",
        Fold::Or => "'|'",
        Fold::Xor => "'^'",
    }
}

/// The value that changes nothing (OpenCL C 3.0 §6.15.17).
fn identity(fold: Fold, scalar: Scalar, span: Span) -> Expr {
    let ty = Type::Scalar(scalar);
    if scalar.is_float() {
        let value = match fold {
            Fold::Min => f32::INFINITY,
            Fold::Max => f32::NEG_INFINITY,
            Fold::Mul => 1.0,
            _ => 0.0,
        };
        if scalar == Scalar::Double {
            return Expr::new(ExprKind::Double(value.into()), ty, span);
        }
        return Expr::new(ExprKind::Float(value), ty, span);
    }
    let (bits, signed) = (scalar.bits(), scalar.is_signed());
    let value = match (fold, signed) {
        (Fold::Min, true) => (1i128 << (bits - 1)) - 1,
        (Fold::Min, false) => (1i128 << bits) - 1,
        (Fold::Max, true) => -(1i128 << (bits - 1)),
        (Fold::And, true) => -1,
        (Fold::And, false) => (1i128 << bits) - 1,
        (Fold::Mul, _) => 1,
        _ => 0,
    };
    Expr::int(value, ty, span)
}

/// The type in which values of a type are folded. Narrow integers go through 32 bits: what wraps there is the same when it
/// is cut.
fn folded_as(fold: Fold, scalar: Scalar) -> Type {
    match scalar {
        Scalar::Char | Scalar::Short if matches!(fold, Fold::Add | Fold::Mul) => Type::UINT,
        Scalar::Char | Scalar::Short => Type::INT,
        Scalar::UChar | Scalar::UShort => Type::UINT,
        _ => Type::Scalar(scalar),
    }
}

/// `whole`: all lanes of the sub-group are there.
fn sub_group_fold(fold: Fold, over: FoldSpan, x: Expr, ty: Type, span: Span, whole: bool) -> Expr {
    let scalar = ty.scalar().unwrap_or(Scalar::Int);
    let through = folded_as(fold, scalar);
    let name = match (fold, over) {
        (Fold::Add, FoldSpan::Reduce) => "sum",
        (Fold::Min, FoldSpan::Reduce) => "min",
        (Fold::Max, FoldSpan::Reduce) => "max",
        (Fold::Mul, FoldSpan::Reduce) => "product",
        (Fold::And, FoldSpan::Reduce) => "and",
        (Fold::Or, FoldSpan::Reduce) => "or",
        (Fold::Xor, FoldSpan::Reduce) => "xor",
        (Fold::Add, FoldSpan::Inclusive) => "prefix_inclusive_sum",
        (Fold::Add, FoldSpan::Exclusive) => "prefix_exclusive_sum",
        (Fold::Mul, FoldSpan::Inclusive) => "prefix_inclusive_product",
        (Fold::Mul, FoldSpan::Exclusive) => "prefix_exclusive_product",
        _ => "",
    };
    let x = convert(x, &through);
    if scalar.size() <= 4 && !name.is_empty() {
        return convert(call(format!("metal::simd_{name}"), vec![x], through, span), &ty);
    }
    let none = convert(identity(fold, scalar, span), &through);
    let fold_type = fold_name(fold);
    if !whole {
        let below = match over {
            FoldSpan::Reduce => width(span),
            FoldSpan::Inclusive => binary(BinaryOp::Add, lane(span), one(span), Type::UINT),
            FoldSpan::Exclusive => lane(span),
        };
        let args = vec![x, none, Expr::int(0, Type::UINT, span), width(span), below];
        return convert(call(format!("clmsl_fold_lanes<{fold_type}>"), args, through, span), &ty);
    }
    let (name, args) = match over {
        FoldSpan::Reduce => {
            let size = super::work_item::sub_group_size(span);
            let last = binary(BinaryOp::Sub, size, one(span), Type::UINT);
            ("reduce", vec![x, lane(span), width(span), last])
        }
        FoldSpan::Inclusive => ("scan", vec![x, lane(span), width(span)]),
        FoldSpan::Exclusive => ("scan_exclusive", vec![x, none, lane(span), width(span)]),
    };
    convert(call(format!("clmsl_sub_group_{name}<{fold_type}>"), args, through, span), &ty)
}

/// The first lane of one's own cluster; the size is a power of two.
fn first_of_cluster(size: Expr, span: Span) -> Expr {
    let within = binary(BinaryOp::Sub, size, one(span), Type::UINT);
    let above = Expr::new(ExprKind::Unary(UnaryOp::BitNot, Box::new(within)), Type::UINT, span);
    binary(BinaryOp::And, lane(span), above, Type::UINT)
}

fn clustered(fold: Fold, x: Expr, size: Expr, ty: Type, span: Span) -> Expr {
    let scalar = ty.scalar().unwrap_or(Scalar::Int);
    let through = folded_as(fold, scalar);
    let none = convert(identity(fold, scalar, span), &through);
    let args = vec![convert(x, &through), none, first_of_cluster(size.clone(), span), size, width(span)];
    convert(call(format!("clmsl_fold_lanes<{}>", fold_name(fold)), args, through, span), &ty)
}

fn work_group(op: Collective, mut args: Vec<Expr>, ty: Type, span: Span) -> Expr {
    match op {
        Collective::All => work_group_reduce(Fold::Min, as_int(take(&mut args[0])), span),
        Collective::Any => work_group_reduce(Fold::Max, as_int(take(&mut args[0])), span),
        Collective::Broadcast => {
            let mut args = args.into_iter();
            let x = args.next().unwrap_or_else(|| unreachable!("the number of arguments was checked"));
            let id = parameter(Hidden::LocalId, span);
            let source = args.enumerate().map(|(d, at)| {
                let own = Expr::new(ExprKind::Swizzle(Box::new(id.clone()), vec![d as u8]), Type::UINT, span);
                binary(BinaryOp::Eq, own, at, Type::BOOL)
            });
            let source = source.reduce(|a, b| binary(BinaryOp::LogicalAnd, a, b, Type::BOOL));
            let source = source.unwrap_or_else(|| unreachable!("the number of arguments was checked"));
            call("clmsl_work_group_broadcast", vec![x, parameter(Hidden::Partials, span), source], ty, span)
        }
        Collective::Fold(fold, over) => work_group_fold(fold, over, take(&mut args[0]), span),
        Collective::Logical(fold, over) => work_group_fold(fold, over, as_int(take(&mut args[0])), span),
    }
}

fn work_group_fold(fold: Fold, over: FoldSpan, x: Expr, span: Span) -> Expr {
    let ty = x.ty.clone();
    let mut args = match over {
        FoldSpan::Reduce => return work_group_reduce(fold, x, span),
        FoldSpan::Inclusive => vec![x],
        FoldSpan::Exclusive => vec![x, identity(fold, ty.scalar().unwrap_or(Scalar::Int), span)],
    };
    let name = if over == FoldSpan::Exclusive { "scan_exclusive" } else { "scan" };
    args.push(parameter(Hidden::Items, span));
    args.push(parameter(Hidden::LocalIndex, span));
    args.push(super::work_item::group_volume(span));
    call(format!("clmsl_work_group_{name}<{}>", fold_name(fold)), args, ty, span)
}

fn work_group_reduce(fold: Fold, x: Expr, span: Span) -> Expr {
    let ty = x.ty.clone();
    let part = sub_group_fold(fold, FoldSpan::Reduce, x, ty.clone(), span, true);
    let (memory, group) = (parameter(Hidden::Partials, span), parameter(Hidden::SubGroupId, span));
    let args = vec![part, memory, lane(span), group, parameter(Hidden::NumSubGroups, span)];
    call(format!("clmsl_work_group_reduce<{}>", fold_name(fold)), args, ty, span)
}
