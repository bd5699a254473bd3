//! Vectors of integers, and what vectors of integers and floats have in common.

use crate::expr::Generator;
use crate::types::{INTEGERS, Scalar, Type};

const LANES: [usize; 5] = [2, 3, 4, 8, 16];

impl Generator<'_> {
    pub(crate) fn vector(&mut self, ty: Type, depth: usize) -> String {
        let name = ty.name();
        let Type { scalar, lanes } = ty;
        match self.choices.below(19) {
            0 | 1 => {
                let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
                let op = self.choices.of(&["+", "-", "*"]);
                if scalar.is_signed() {
                    let unsigned = ty.of(scalar.unsigned()).name();
                    return format!("as_{name}(as_{unsigned}({a}) {op} as_{unsigned}({b}))");
                }
                format!("({a} {op} {b})")
            }
            2 => {
                let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
                format!("({a} {} {b})", self.choices.of(&["&", "|", "^"]))
            }
            3 => {
                // The scalar is converted to the vector's type; its own has no greater rank.
                let scalars: Vec<Scalar> = INTEGERS.iter().copied().filter(|s| s.size() < scalar.size()).collect();
                let narrow = self.choices.once_in(3) && !scalars.is_empty();
                let of = if narrow { scalars[self.choices.below(scalars.len())] } else { scalar };
                let (a, b) = (self.expr(ty, depth), self.expr(Type::scalar(of), depth));
                if self.choices.once_in(4) {
                    return format!("({b} {} {a})", self.choices.of(&["&", "|", "^"]));
                }
                format!("({a} {} {b})", self.choices.of(&["&", "|", "^", "<<", ">>"]))
            }
            4 => {
                let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
                format!("({a} {} {b})", self.choices.of(&["<<", ">>"]))
            }
            5 => {
                let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
                format!("({a} {} (({b} & ({name})(7)) + ({name})(1)))", self.choices.of(&["/", "%"]))
            }
            6 => format!("(~{})", self.expr(ty, depth)),
            7 => {
                let condition = self.selector(depth);
                let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
                format!("({condition} ? {a} : {b})")
            }
            8 if scalar.is_signed() => {
                let of = match scalar {
                    Scalar::Int => self.choices.of(&[Scalar::Int, Scalar::UInt, Scalar::Float]),
                    Scalar::Long if self.double => self.choices.of(&[Scalar::Long, Scalar::ULong, Scalar::Double]),
                    other => self.choices.of(&[other, other.unsigned()]),
                };
                let (a, b) = (self.expr(ty.of(of), depth), self.expr(ty.of(of), depth));
                if self.choices.once_in(4)
                    && let Some(c) = self.converted(ty.of(of))
                {
                    // Of constants in an initialiser PoCL's clang makes 1 instead of -1: one is a variable.
                    return format!("({a} {} {c})", self.choices.of(&["&&", "||"]));
                }
                format!("({a} {} {b})", self.choices.of(&["<", "<=", ">", ">=", "==", "!="]))
            }
            9 if scalar.is_signed() => format!("(!{})", self.expr(ty, depth)),
            8..=10 => self.chosen(ty, depth),
            11 => {
                let of = self.choices.of(&INTEGERS);
                let sat = self.choices.of(&["", "_sat"]);
                format!("convert_{name}{sat}({})", self.expr(ty.of(of), depth))
            }
            12 => self.saturated(ty, depth),
            13 => self.literal(ty, depth),
            14 => {
                let from = self.choices.of(&LANES);
                let value = self.expr(Type { scalar, lanes: from }, depth);
                format!("{value}.{}", self.letters(from, lanes))
            }
            15 => self.reinterpreted(ty, depth),
            16 if lanes != 3 => self.shuffled(ty, depth),
            17 if matches!(scalar, Scalar::Int | Scalar::Long) => {
                let of = match scalar {
                    Scalar::Long if !self.double => return self.builtin(ty, depth),
                    Scalar::Long => Scalar::Double,
                    _ => Scalar::Float,
                };
                let test =
                    self.choices.of(&["isnan", "isinf", "isfinite", "isnormal", "isless", "isunordered", "isequal"]);
                let a = self.expr(ty.of(of), depth);
                if test == "isless" || test == "isunordered" || test == "isequal" {
                    return format!("{test}({a}, {})", self.expr(ty.of(of), depth));
                }
                format!("{test}({a})")
            }
            _ => self.builtin(ty, depth),
        }
    }

    /// Component by component one of two, `?` with a vector before it.
    pub(crate) fn chosen(&mut self, ty: Type, depth: usize) -> String {
        let mask = if self.choices.once_in(2) { ty.scalar.signed() } else { ty.scalar.unsigned() };
        let mask = self.expr(ty.of(mask), depth);
        let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
        format!("({mask} ? {a} : {b})")
    }

    /// `shuffle` and `shuffle2`, which have no vectors of three.
    pub(crate) fn shuffled(&mut self, ty: Type, depth: usize) -> String {
        let from = ty.of(ty.scalar).with(self.choices.of(&[2, 4, 8, 16]));
        // The mask's elements are as wide; of their bits those count that name a component.
        let mask = self.expr(ty.of(ty.scalar.unsigned()), depth);
        let a = self.expr(from, depth);
        if self.choices.once_in(2) {
            return format!("shuffle({a}, {mask})");
        }
        format!("shuffle2({a}, {}, {mask})", self.expr(from, depth))
    }

    /// A vector literal of scalars and shorter vectors, or of one scalar.
    pub(crate) fn literal(&mut self, ty: Type, depth: usize) -> String {
        let Type { scalar, lanes } = ty;
        let name = ty.name();
        if self.choices.once_in(4) {
            return format!("(({name})({}))", self.expr(Type::scalar(scalar), depth));
        }
        let (mut parts, mut left) = (Vec::new(), lanes);
        while left > 0 {
            let fitting = self.choices.of(&[1, 2, 3, 4, 8]);
            let count = if fitting > left || fitting == lanes { 1 } else { fitting };
            parts.push(self.expr(Type { scalar, lanes: count }, depth));
            left -= count;
        }
        format!("(({name})({}))", parts.join(", "))
    }
}
