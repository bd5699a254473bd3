//! What operators and built-in functions count as ([`Work`](super::Work) says by which convention).

use super::work::Counts;
use crate::ast::BinaryOp;
use crate::builtins::{AtomicOp, C11, Collective, DotBytes, Fold, GroupOp, Resolved, Special, TABLE};
use crate::hir::UnaryOp;
use crate::types::{Scalar, Type};

/// Floating-point functions that only compare, choose, round or change bits.
const FREE: &[&str] = &[
    "bitselect",
    "ceil",
    "clamp",
    "copysign",
    "fabs",
    "floor",
    "fmax",
    "fmin",
    "frexp",
    "ilogb",
    "isequal",
    "isfinite",
    "isgreater",
    "isgreaterequal",
    "isinf",
    "isless",
    "islessequal",
    "islessgreater",
    "isnan",
    "isnormal",
    "isnotequal",
    "isordered",
    "isunordered",
    "ldexp",
    "logb",
    "max",
    "maxmag",
    "min",
    "minmag",
    "nextafter",
    "rint",
    "round",
    "sign",
    "signbit",
    "step",
    "trunc",
];

/// Floating-point functions that OpenCL C defines by operators (§6.15.2, §6.15.4), with the operations of one component.
const OPERATIONS: &[(&str, u64)] = &[
    ("degrees", 1),
    ("fdim", 1),
    ("fma", 2),
    ("fract", 1),
    ("half_divide", 1),
    ("half_recip", 1),
    ("mad", 2),
    ("mix", 3),
    ("modf", 1),
    ("native_divide", 1),
    ("native_recip", 1),
    ("radians", 1),
    ("smoothstep", 7),
];

/// Integer functions that compare or choose.
const FREE_INTEGER: &[&str] = &["bitselect", "clamp", "max", "min"];

/// Integer functions of a multiplication and an addition.
const TWO_INTEGER: &[&str] = &["mad24", "mad_hi", "mad_sat"];

/// An operator on operands of this type.
pub(super) fn binary(op: BinaryOp, ty: &Type) -> Counts {
    match op {
        BinaryOp::Mul
        | BinaryOp::Div
        | BinaryOp::Rem
        | BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::Shl
        | BinaryOp::Shr
        | BinaryOp::And
        | BinaryOp::Xor
        | BinaryOp::Or => one(ty),
        BinaryOp::Lt
        | BinaryOp::Gt
        | BinaryOp::Le
        | BinaryOp::Ge
        | BinaryOp::Eq
        | BinaryOp::Ne
        | BinaryOp::LogicalAnd
        | BinaryOp::LogicalOr => Counts::default(),
    }
}

pub(super) fn unary(op: UnaryOp, ty: &Type) -> Counts {
    match (op, ty.arithmetic()) {
        (UnaryOp::Neg | UnaryOp::BitNot, Some((scalar, _))) if !scalar.is_float() => one(ty),
        _ => Counts::default(),
    }
}

/// One operation on each component.
pub(super) fn one(ty: &Type) -> Counts {
    match ty.arithmetic() {
        Some((scalar, lanes)) if scalar.is_float() => Counts::flops(lanes.into()),
        Some((_, lanes)) => Counts::integer(lanes.into()),
        None => Counts::default(),
    }
}

/// A call of a built-in function that yields this type. Without `_`, so that a new one is thought of.
pub(super) fn builtin(builtin: Resolved, ty: &Type) -> Counts {
    let special = match builtin {
        Resolved::Row(row, scalar, lanes) => return function(TABLE[row].name, scalar, lanes.into()),
        Resolved::Special(special) => special,
    };
    match special {
        Special::Upsample => one(ty),
        Special::DotBytes(DotBytes { accumulates, .. }) => Counts::integer(7 + u64::from(accumulates)),
        Special::Atomic(op) | Special::C11 { op: C11::Fetch(op), .. } => match op {
            AtomicOp::Add
            | AtomicOp::Sub
            | AtomicOp::And
            | AtomicOp::Or
            | AtomicOp::Xor
            | AtomicOp::Increment
            | AtomicOp::Decrement => one(ty),
            AtomicOp::Exchange | AtomicOp::Min | AtomicOp::Max | AtomicOp::CompareExchange => Counts::default(),
        },
        Special::WorkItem(_)
        | Special::Barrier
        | Special::GridBarrier
        | Special::MemFence
        | Special::Convert { .. }
        | Special::AsType { .. }
        | Special::Select
        | Special::Any
        | Special::All
        | Special::Load(_)
        | Special::Store(_)
        | Special::LoadHalf(..)
        | Special::StoreHalf(..)
        | Special::Shuffle(_)
        | Special::Nan
        | Special::AsyncCopy(_)
        | Special::AsyncLines(_)
        | Special::WaitEvents
        | Special::Prefetch
        | Special::Image(_)
        | Special::Printf
        | Special::ToSpace(_)
        | Special::GetFence
        | Special::Group(_)
        | Special::C11 { .. } => Counts::default(),
    }
}

/// Whether a built-in function does operations of which the text does not tell how many each work-item does: sums and products over a
/// group, of which devices make trees of their own.
pub(super) fn is_untold(builtin: Resolved) -> bool {
    let Resolved::Special(Special::Group(group)) = builtin else { return false };
    match group {
        GroupOp::WorkGroup(collective)
        | GroupOp::SubGroup(collective)
        | GroupOp::NonUniform(collective)
        | GroupOp::Clustered(collective) => match collective {
            Collective::Fold(fold, _) => !matches!(fold, Fold::Min | Fold::Max),
            Collective::All | Collective::Any | Collective::Broadcast | Collective::Logical(..) => false,
        },
        GroupOp::Lanes(_) | GroupOp::SubGroupBarrier | GroupOp::Block { .. } => false,
    }
}

/// A function of the table, on so many components.
fn function(name: &str, scalar: Scalar, lanes: u64) -> Counts {
    if !scalar.is_float() {
        return match name {
            name if FREE_INTEGER.contains(&name) => Counts::default(),
            name if TWO_INTEGER.contains(&name) => Counts::integer(2 * lanes),
            _ => Counts::integer(lanes),
        };
    }
    // The sum of the products of components.
    let dot = 2 * lanes - 1;
    match name {
        name if FREE.contains(&name) => Counts::default(),
        "dot" => Counts::flops(dot),
        "cross" => Counts::flops(9),
        "length" | "fast_length" => Counts { special: 1, ..Counts::flops(dot) },
        "distance" | "fast_distance" => Counts { special: 1, ..Counts::flops(lanes + dot) },
        "normalize" | "fast_normalize" => Counts { special: 1, ..Counts::flops(dot + lanes) },
        "sincos" => Counts::special(2 * lanes),
        _ => match OPERATIONS.iter().find(|(other, _)| *other == name) {
            Some((_, operations)) => Counts::flops(operations * lanes),
            None => Counts::special(lanes),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_a_function_of_the_table() {
        let operations = OPERATIONS.iter().map(|(name, _)| name);
        for name in FREE.iter().chain(operations).chain(FREE_INTEGER).chain(TWO_INTEGER) {
            assert!(TABLE.iter().any(|row| row.name == *name), "{name}");
        }
    }
}
