//! The values of the walk: by how much a number or an address differs between neighbouring work-items.

use crate::types::{Scalar, Type};

/// By how much a number differs between neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Step {
    /// Not looked at yet.
    None,
    Known(i64),
    /// By a number that is the same for all.
    Even,
    /// It depends on what was read.
    Data,
    Unknown,
}

pub(super) const SAME: Step = Step::Known(0);

impl Step {
    pub(super) fn join(self, other: Step) -> Step {
        match (self, other) {
            (Step::None, one) | (one, Step::None) => one,
            (Step::Unknown, _) | (_, Step::Unknown) => Step::Unknown,
            (Step::Data, _) | (_, Step::Data) => Step::Data,
            (a, b) if a == b => a,
            _ => Step::Unknown,
        }
    }

    /// What an operation makes that only keeps what all neighbours have alike.
    pub(super) fn mix(self, other: Step) -> Step {
        match (self, other) {
            (Step::None, _) | (_, Step::None) => Step::None,
            (SAME, SAME) => SAME,
            (Step::Data, Step::Data | SAME) | (SAME, Step::Data) => Step::Data,
            _ => Step::Unknown,
        }
    }

    pub(super) fn plus(self, other: Step) -> Step {
        match (self, other) {
            (Step::Known(a), Step::Known(b)) => a.checked_add(b).map_or(Step::Unknown, Step::Known),
            (Step::Even, Step::Known(_) | Step::Even) | (Step::Known(_), Step::Even) => Step::Even,
            // Data and a distance: still by data.
            (Step::Data, Step::Known(_) | Step::Even) | (Step::Known(_) | Step::Even, Step::Data) => Step::Data,
            _ => self.mix(other),
        }
    }

    /// Times a number of the text.
    pub(super) fn times(self, factor: i128) -> Step {
        match self {
            Step::Known(a) => {
                let product = i64::try_from(factor).ok().and_then(|factor| a.checked_mul(factor));
                product.map_or(Step::Unknown, Step::Known)
            }
            other => other,
        }
    }

    /// Times a number that is the same for all, if `other` is one.
    pub(super) fn product(self, other: Step) -> Step {
        match (self, other) {
            (SAME, SAME) => SAME,
            (Step::Known(_) | Step::Even, SAME) | (SAME, Step::Known(_) | Step::Even) => Step::Even,
            _ => self.mix(other),
        }
    }
}

/// What a pointer leads into: parameters are the kernel's, also in functions that it calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Root {
    None,
    Parameter(u32),
    /// A `__local` variable, or a constant of the program.
    Variable,
    Unknown,
}

/// A value: of a pointer the step is in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Value {
    pub(super) step: Step,
    pub(super) root: Root,
    /// It is made of numbers of the text alone, so that nobody computes it when the kernel runs.
    pub(super) literal: bool,
}

impl Default for Value {
    fn default() -> Value {
        Value::NONE
    }
}

impl Value {
    pub(super) fn of(step: Step) -> Value {
        Value { step, root: Root::Unknown, literal: false }
    }

    /// Not looked at yet.
    pub(super) const NONE: Value = Value { step: Step::None, root: Root::None, literal: false };

    /// An address that is the same for all.
    pub(super) fn at(root: Root) -> Value {
        Value { step: SAME, root, literal: false }
    }

    pub(super) fn join(self, other: Value) -> Value {
        let root = match (self.root, other.root) {
            (Root::None, root) | (root, Root::None) => root,
            (a, b) if a == b => a,
            _ => Root::Unknown,
        };
        Value { step: self.step.join(other.step), root, literal: false }
    }
}

/// Whether numbers of the type are as wide as an index needs.
pub(super) fn is_wide(ty: &Type) -> bool {
    matches!(ty, Type::Scalar(s) if s.is_integer() && *s != Scalar::Bool && s.size() >= 4)
}

/// A number of this type as a factor. An unsigned one above the half of its type's is told as the negative one that it is modulo
/// the type's size.
pub(super) fn factor(number: i128, ty: &Type) -> i128 {
    match ty {
        Type::Scalar(s) if s.is_integer() && !s.is_signed() && number >> (s.bits() - 1) == 1 => {
            number - (1 << s.bits())
        }
        _ => number,
    }
}
