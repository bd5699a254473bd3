//! Floating point: operations that IEEE 754 rounds once or not at all.

use crate::expr::Generator;
use crate::types::{INTEGERS, Scalar, Type};

impl Generator<'_> {
    /// `float`, or `double` in a program that has it.
    pub(crate) fn any_float(&mut self) -> Scalar {
        if self.double && self.choices.once_in(2) { Scalar::Double } else { Scalar::Float }
    }

    pub(crate) fn float(&mut self, ty: Type, depth: usize) -> String {
        let name = ty.name();
        let double = ty.scalar == Scalar::Double;
        match self.choices.below(17) {
            0..=3 => {
                let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
                // The quotient of floats may err by 2.5 units.
                let ops: &[&str] = if double { &["+", "-", "*", "/"] } else { &["+", "-", "*"] };
                format!("({a} {} {b})", self.choices.of(ops))
            }
            4 => {
                let functions: &[&str] = if double {
                    &["fabs", "floor", "ceil", "trunc", "rint", "round", "sqrt"]
                } else {
                    &["fabs", "floor", "ceil", "trunc", "rint", "round"]
                };
                format!("{}({})", self.choices.of(functions), self.expr(ty, depth))
            }
            5 => format!("(-{})", self.expr(ty, depth)),
            6 => {
                let condition = self.selector(depth);
                let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
                format!("({condition} ? {a} : {b})")
            }
            7 => {
                let of = self.choices.of(&INTEGERS);
                let mode = self.choices.of(&["", "", "_rte", "_rtz", "_rtp", "_rtn"]);
                format!("convert_{name}{mode}({})", self.expr(ty.of(of), depth))
            }
            8 => {
                let mask = self.choices.of(&[ty.scalar.signed(), ty.scalar.unsigned()]);
                let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
                format!("select({a}, {b}, {})", self.expr(ty.of(mask), depth))
            }
            9 if ty.lanes > 1 => self.literal(ty, depth),
            9 => {
                let (value, _) = self.any_integer(depth);
                format!("({name}){value}")
            }
            10 => {
                let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
                format!("fma({a}, {b}, {})", self.expr(ty, depth))
            }
            11 if self.double => {
                let of = ty.of(if double { Scalar::Float } else { Scalar::Double });
                format!("convert_{name}({})", self.expr(of, depth))
            }
            12 if ty.lanes > 1 => self.chosen(ty, depth),
            13 if ty.lanes > 1 && ty.lanes != 3 => self.shuffled(ty, depth),
            14 if ty.lanes == 1 => self.call(ty, depth),
            // A scalar beside a vector is converted to it.
            14 => {
                let (a, b) = (self.expr(ty, depth), self.expr(Type::scalar(ty.scalar), depth));
                format!("({a} {} {b})", self.choices.of(&["+", "-", "*"]))
            }
            15 => {
                // Of no NaN, whose sign and place beside a number are open; so is which of two zeros is the greater.
                let (a, b) = (self.finite(ty, depth), self.finite(ty, depth));
                let function = self.choices.of(&["fmin", "fmax", "copysign", "fdim"]);
                let zero = if double { "0.0" } else { "0.0f" };
                format!("({function}({a}, {b}) + {zero})")
            }
            _ => self.finite(ty, depth),
        }
    }

    /// A finite number: the greatest exponent bit is not set.
    pub(crate) fn finite(&mut self, ty: Type, depth: usize) -> String {
        let bits = ty.of(ty.scalar.unsigned());
        let mask = if ty.scalar == Scalar::Double { "0xBFFFFFFFFFFFFFFFUL" } else { "0xBFFFFFFFu" };
        format!("as_{}(({} & ({})({mask})))", ty.name(), self.expr(bits, depth), bits.name())
    }
}
