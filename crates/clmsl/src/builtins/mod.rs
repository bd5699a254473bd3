//! The built-in functions of OpenCL C: one table (`table`), and how a call finds its row.
//!
//! A row gives the parameter types in terms of one generic type `T` and says how the call is lowered. Functions whose
//! typing does not fit that pattern (`convert_T`, `vloadn`, atomics, work-item functions) are [`Special`] and are found by
//! the shape of their names.

mod c11;
mod group;
mod refused;
mod special;
mod table;

pub(crate) use c11::{C11, Order, Scope};
pub(crate) use group::{Collective, Fold, FoldSpan, GroupOp, Lanes};
pub(crate) use refused::refusal;
pub(crate) use special::{AtomicOp, DotBytes, ImageOp, ImageQuery, Rounding, Special, WorkItem, find_special};
pub(crate) use table::TABLE;

use crate::ast::BinaryOp;
use crate::types::{Scalar, Type};

/// Which types `T` may stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// `float`, `half` and their vectors.
    Float,
    /// Any integer and its vectors.
    Int,
    /// Any arithmetic type but `bool`.
    Any,
    /// `float` and `half`, and their vectors of 2 to 4.
    Geometric,
}

/// A parameter or result type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Param {
    /// The generic type.
    T,
    /// Element of `T`.
    Element,
    /// `int` with as many lanes as `T`.
    Int,
    /// The unsigned integer of `T`'s width and lanes.
    Unsigned,
    /// The signed integer of `T`'s width and lanes.
    Signed,
    /// `int` for a scalar, else the signed integer vector of `T`'s width: what a relational function yields.
    Truth,
    /// A pointer to `T`, in any address space.
    PtrT,
    /// A pointer to `Int`, in any address space.
    PtrInt,
}

/// How a call becomes MSL.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Lowering {
    /// `metal::name`
    Metal(&'static str),
    /// `metal::precise::name`, or `metal::fast::name` under `-cl-fast-relaxed-math`. In single precision for `half` too.
    Math(&'static str),
    /// The function of this name in the prelude, because Metal does not promise the accuracy or the special values that
    /// OpenCL wants (docs/ACCURACY.md); `metal::fast::name` under `-cl-fast-relaxed-math`.
    Polyfill(&'static str),
    /// `metal::fast::name`
    Fast(&'static str),
    /// The function of this name in the prelude. In single precision for `half` unless there is a form for it.
    Prelude(&'static str),
    /// An operator.
    Operator(BinaryOp),
    /// `metal::name`, whose truth value becomes OpenCL's.
    Truth(&'static str),
    /// A comparison operator, whose truth value becomes OpenCL's.
    Compare(BinaryOp),
    /// `a < b || a > b`
    LessOrGreater,
    /// Multiplication by a constant.
    Scale(f32),
    /// `a * b + c`
    MulAdd,
    /// `1 / x`
    Reciprocal,
    /// `metal::name` for vectors; for a scalar what the second name says.
    Vector(&'static str, ScalarForm),
}

/// What a geometric function is on scalars, which Metal does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScalarForm {
    Product,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Builtin {
    pub(crate) name: &'static str,
    pub(crate) class: Class,
    pub(crate) params: &'static [Param],
    pub(crate) ret: Param,
    pub(crate) lowering: Lowering,
}

impl Builtin {
    /// Whether it is defined on `float` alone (OpenCL C 3.0 §6.15.2, §6.15.5).
    pub(crate) fn is_single(&self) -> bool {
        ["half_", "native_", "fast_"].iter().any(|prefix| self.name.starts_with(prefix))
    }

    /// Whether the prelude has the function for emulated `double`.
    pub(crate) fn takes_double(&self) -> bool {
        if self.class == Class::Int || self.is_single() {
            return false;
        }
        match self.lowering {
            Lowering::Compare(_) | Lowering::LessOrGreater | Lowering::Vector(..) => true,
            Lowering::Prelude("bitselect" | "cross") => true,
            Lowering::Metal(name)
            | Lowering::Math(name)
            | Lowering::Prelude(name)
            | Lowering::Polyfill(name)
            | Lowering::Truth(name) => crate::prelude::has(name, Scalar::Double),
            Lowering::Scale(_) => crate::prelude::has(self.name, Scalar::Double),
            Lowering::Fast(_) | Lowering::Operator(_) | Lowering::MulAdd | Lowering::Reciprocal => false,
        }
    }
}

/// A built-in function as a call names it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Resolved {
    /// A row of the table, with the element and lanes of `T`.
    Row(usize, Scalar, u8),
    Special(Special),
}

impl Param {
    /// The type for a `T` of these elements; `None` for pointers.
    pub(crate) fn instantiate(self, scalar: Scalar, lanes: u8) -> Option<Type> {
        Some(match self {
            Param::T => Type::lanes(scalar, lanes),
            Param::Element => Type::Scalar(scalar),
            Param::Int => Type::lanes(Scalar::Int, lanes),
            Param::Unsigned => Type::lanes(scalar.unsigned_of_width(), lanes),
            Param::Signed => Type::lanes(scalar.signed_of_width(), lanes),
            Param::Truth if lanes == 1 => Type::INT,
            Param::Truth => Type::Vector(scalar.signed_of_width(), lanes),
            Param::PtrT | Param::PtrInt => return None,
        })
    }
}

/// Rows of this name; they stand together in the table.
pub(crate) fn rows(name: &str) -> impl Iterator<Item = (usize, &'static Builtin)> + '_ {
    let start = TABLE.partition_point(|b| b.name < name);
    TABLE[start..].iter().enumerate().take_while(move |(_, b)| b.name == name).map(move |(i, b)| (start + i, b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_no_name_is_also_special_or_refused() {
        for pair in TABLE.windows(2) {
            assert!(pair[0].name <= pair[1].name, "{} is behind {}", pair[1].name, pair[0].name);
        }
        for row in TABLE {
            assert!(find_special(row.name).is_none(), "{}", row.name);
            assert!(refusal(row.name).is_none(), "{}", row.name);
        }
    }
}
