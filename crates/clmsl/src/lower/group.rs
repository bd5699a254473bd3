//! Sub-group and work-group functions (OpenCL C 3.0 §6.15.17, §6.15.19).
//!
//! A sub-group is a SIMD-group. What Metal has a function for becomes that; other reductions and scans, and those of 64-bit
//! values, move values between lanes in the prelude. Work-group functions go through threadgroup memory that the entry
//! point declares: reductions by the parts of the sub-groups, scans by the items in the order of their linear ids, which
//! no order of lanes enters.

use super::conversion::as_type;
use super::expr::{binary, call, take};
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
        GroupOp::SubGroup(Collective::Broadcast) => moved("broadcast", args, ty, span),
        GroupOp::SubGroup(op) | GroupOp::NonUniform(op) => {
            let x = take(&mut args[0]);
            match op {
                Collective::All => vote("all", x, span),
                Collective::Any => vote("any", x, span),
                Collective::Broadcast => moved("broadcast", vec![x], ty, span),
                Collective::Fold(fold, over) => sub_group_fold(fold, over, x, ty, span),
            }
        }
        GroupOp::WorkGroup(op) => work_group(op, args, ty, span),
    }
}

fn truth(x: Expr) -> Expr {
    let zero = convert(Expr::int(0, Type::INT, x.span), &x.ty);
    binary(BinaryOp::Ne, x, zero, Type::BOOL)
}

fn vote(name: &str, x: Expr, span: Span) -> Expr {
    convert(call(format!("metal::simd_{name}"), vec![truth(x)], Type::BOOL, span), &Type::INT)
}

/// `metal::simd_NAME(x, lane)`, for 64-bit values by their halves.
fn moved(name: &str, args: Vec<Expr>, ty: Type, span: Span) -> Expr {
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
        Fold::Mul | Fold::And | Fold::Or | Fold::Xor => unreachable!("Metal has these, for 32 bits and less"),
    }
}

/// The value that changes nothing (OpenCL C 3.0 §6.15.17).
fn identity(fold: Fold, scalar: Scalar, span: Span) -> Expr {
    let ty = Type::Scalar(scalar);
    if scalar.is_float() {
        let value = match fold {
            Fold::Min => f32::INFINITY,
            Fold::Max => f32::NEG_INFINITY,
            _ => 0.0,
        };
        return Expr::new(ExprKind::Float(value), ty, span);
    }
    let (bits, signed) = (scalar.bits(), scalar.is_signed());
    let value = match (fold, signed) {
        (Fold::Min, true) => (1i128 << (bits - 1)) - 1,
        (Fold::Min, false) => (1i128 << bits) - 1,
        (Fold::Max, true) => -(1i128 << (bits - 1)),
        _ => 0,
    };
    Expr::int(value, ty, span)
}

fn sub_group_fold(fold: Fold, over: FoldSpan, x: Expr, ty: Type, span: Span) -> Expr {
    let scalar = ty.scalar().unwrap_or(Scalar::Int);
    // Narrow integers go through 32 bits: what wraps there is the same when it is cut.
    let through = match scalar {
        Scalar::Char | Scalar::Short => Type::INT,
        Scalar::UChar | Scalar::UShort => Type::UINT,
        _ => ty.clone(),
    };
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
    if scalar.size() <= 4 && !name.is_empty() {
        let folded = call(format!("metal::simd_{name}"), vec![convert(x, &through)], through, span);
        return convert(folded, &ty);
    }
    let fold_type = fold_name(fold);
    match over {
        FoldSpan::Reduce => {
            let size = super::work_item::sub_group_size(span);
            let last = binary(BinaryOp::Sub, size, one(span), Type::UINT);
            let args = vec![x, lane(span), width(span), last];
            call(format!("clmsl_sub_group_reduce<{fold_type}>"), args, ty, span)
        }
        FoldSpan::Inclusive => {
            call(format!("clmsl_sub_group_scan<{fold_type}>"), vec![x, lane(span), width(span)], ty, span)
        }
        FoldSpan::Exclusive => {
            let args = vec![x, identity(fold, scalar, span), lane(span), width(span)];
            call(format!("clmsl_sub_group_scan_exclusive<{fold_type}>"), args, ty, span)
        }
    }
}

fn work_group(op: Collective, mut args: Vec<Expr>, ty: Type, span: Span) -> Expr {
    let reduce = |fold: Fold, x: Expr, ty: Type| {
        let part = sub_group_fold(fold, FoldSpan::Reduce, x, ty.clone(), span);
        let memory = parameter(Hidden::Partials, span);
        let args =
            vec![memory, part, lane(span), parameter(Hidden::SubGroupId, span), parameter(Hidden::NumSubGroups, span)];
        call(format!("clmsl_work_group_reduce<{}>", fold_name(fold)), args, ty, span)
    };
    match op {
        Collective::All => reduce(Fold::Min, convert(truth(take(&mut args[0])), &Type::INT), Type::INT),
        Collective::Any => reduce(Fold::Max, convert(truth(take(&mut args[0])), &Type::INT), Type::INT),
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
            call("clmsl_work_group_broadcast", vec![parameter(Hidden::Partials, span), x, source], ty, span)
        }
        Collective::Fold(fold, FoldSpan::Reduce) => reduce(fold, take(&mut args[0]), ty),
        Collective::Fold(fold, over) => {
            let scalar = ty.scalar().unwrap_or(Scalar::Int);
            let mut all = vec![parameter(Hidden::Items, span), take(&mut args[0])];
            let exclusive = over == FoldSpan::Exclusive;
            if exclusive {
                all.push(identity(fold, scalar, span));
            }
            all.push(parameter(Hidden::LocalIndex, span));
            all.push(super::work_item::group_volume(span));
            let name = if exclusive { "scan_exclusive" } else { "scan" };
            call(format!("clmsl_work_group_{name}<{}>", fold_name(fold)), all, ty, span)
        }
    }
}
