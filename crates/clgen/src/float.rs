//! Floating point: operations that IEEE 754 rounds once or not at all.

use crate::expr::{Generator, Kind};
use crate::types::{INTEGERS, Scalar, Type};

impl Generator<'_> {
    /// `float`, or `double` in a program that has it.
    pub(crate) fn any_float(&mut self) -> Scalar {
        if self.double && self.choices.once_in(2) { Scalar::Double } else { Scalar::Float }
    }

    pub(crate) fn float(&mut self, ty: Type, depth: usize) -> String {
        let name = ty.name();
        let double = ty.scalar == Scalar::Double;
        match self.choices.below(22) {
            0..=3 => {
                let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
                // The quotient of floats may err by 2.5 units.
                let ops: &[&str] = if double { &["+", "-", "*", "/"] } else { &["+", "-", "*"] };
                format!("({a} {} {b})", self.choices.of(ops))
            }
            4 => {
                let functions: &[&str] = if double {
                    &["fabs", "floor", "ceil", "trunc", "round", "rint", "sqrt"]
                } else {
                    &["fabs", "floor", "ceil", "trunc", "round", "rint"]
                };
                let function = self.choices.of(functions);
                // Of a constant that no int holds PoCL 3.1 makes a kernel that does nothing.
                let value = if function == "rint" { self.eighths(ty, depth) } else { self.expr(ty, depth) };
                format!("{function}({value})")
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
            16 => {
                let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
                // The translator has no remainder of doubles, and programs with fmod of double vectors do not end on PoCL 3.1.
                let functions: &[&str] = if double { &["nextafter"] } else { &["fmod", "remainder", "nextafter"] };
                format!("{}({a}, {b})", self.choices.of(functions))
            }
            17 => {
                let (a, by) = (self.expr(ty, depth), self.expr(ty.of(Scalar::Int), depth));
                let int = ty.of(Scalar::Int).name();
                format!("ldexp({a}, ({by} & ({int})(63)) - ({int})(32))")
            }
            18 => {
                let (a, b, c) = (self.finite(ty, depth), self.finite(ty, depth), self.finite(ty, depth));
                let zero = if double { "0.0" } else { "0.0f" };
                match self.choices.below(4) {
                    0 => format!("step({a}, {b})"),
                    1 => format!("sign({a})"),
                    // Which of two zeros is the greater is open.
                    2 => format!("(clamp({a}, fmin({b}, {c}), fmax({b}, {c})) + {zero})"),
                    _ => format!("({}({a}, {b}) + {zero})", self.choices.of(&["maxmag", "minmag"])),
                }
            }
            _ => self.finite(ty, depth),
        }
    }

    /// A number in two parts, of which one goes through a pointer.
    pub(crate) fn parts(&mut self) {
        let ty = Type { scalar: self.any_float(), lanes: self.choices.of(&[1, 1, 2, 3, 4, 8, 16]) };
        let (whole, other) = (self.name("v"), self.name("v"));
        let mut value = self.finite(ty, 2);
        let (function, through) = self.choices.of(&[("frexp", Scalar::Int), ("modf", ty.scalar), ("fract", ty.scalar)]);
        let through = ty.of(through);
        if function == "fract" {
            // Of -0 it is -0 (OpenCL C 3.0 §7.5.1), PoCL 3.1 gives 0.
            value = format!("{value} + {}", if ty.scalar == Scalar::Double { "0.0" } else { "0.0f" });
        }
        if function == "frexp" {
            // PoCL 3.1 takes -1022 for the exponent of a constant zero. No zero is odd.
            let bits = ty.of(ty.scalar.unsigned()).name();
            value = format!("as_{}(as_{bits}({value}) | ({bits})(1))", ty.name());
        }
        line!(self, "{} {other}; {} {whole} = {function}({value}, &{other});", through.name(), ty.name());
        self.declare(whole, Kind::Plain(ty));
        self.declare(other, Kind::Plain(through));
    }

    /// Eighths of up to 32, of either sign.
    pub(crate) fn eighths(&mut self, ty: Type, depth: usize) -> String {
        let bits = self.expr(ty.of(Scalar::Char), depth);
        let eighth = if ty.scalar == Scalar::Double { "0.125" } else { "0.125f" };
        format!("(convert_{}({bits}) * {eighth})", ty.name())
    }

    /// A finite number: the greatest exponent bit is not set.
    pub(crate) fn finite(&mut self, ty: Type, depth: usize) -> String {
        let bits = ty.of(ty.scalar.unsigned());
        let mask = if ty.scalar == Scalar::Double { "0xBFFFFFFFFFFFFFFFUL" } else { "0xBFFFFFFFu" };
        format!("as_{}(({} & ({})({mask})))", ty.name(), self.expr(bits, depth), bits.name())
    }
}
