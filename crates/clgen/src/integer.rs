//! Integers: scalars, and the functions that work on vectors as well.

use crate::expr::{Generator, Kind, Variable};
use crate::types::{INTEGERS, Scalar, Type};

impl Generator<'_> {
    /// An integer of any type, and its type.
    pub(crate) fn any_integer(&mut self, depth: usize) -> (String, Scalar) {
        if depth > 0 && self.choices.once_in(3) {
            return self.as_promoted(depth - 1);
        }
        let scalar = self.choices.of(&INTEGERS);
        (self.expr(Type::scalar(scalar), depth), scalar)
    }

    pub(crate) fn integer(&mut self, scalar: Scalar, depth: usize) -> String {
        let ty = Type::scalar(scalar);
        let name = scalar.name();
        match self.choices.below(12) {
            0..=4 => format!("({name}){}", self.as_promoted(depth).0),
            5 => format!("({name}){}", self.any_integer(depth).0),
            6 => self.saturated(ty, depth),
            7 => {
                let function = if self.choices.once_in(2) { "_sat" } else { "" };
                format!("convert_{name}{function}({})", self.any_integer(depth).0)
            }
            8 | 9 => self.builtin(ty, depth),
            10 => self.call(ty, depth),
            _ => match self.choices.below(8) {
                0 => format!("({name}){}", self.choices.of(&WORK_ITEM)),
                1 if !self.macros.is_empty() => {
                    let at = self.choices.below(self.macros.len());
                    let macro_name = self.macros[at].clone();
                    let ((a, _), (b, _)) = (self.any_integer(depth), self.any_integer(depth));
                    format!("({name}){macro_name}({a}, {b})")
                }
                2 => {
                    let lanes = self.choices.of(&[2, 3, 4, 8, 16]);
                    let signed = self.choices.of(&[Scalar::Int, Scalar::Char, Scalar::Short, Scalar::Long]);
                    let vector = self.expr(Type { scalar: signed, lanes }, depth);
                    format!("({name}){}({vector})", self.choices.of(&["any", "all"]))
                }
                3 | 4 => self.reinterpreted(ty, depth),
                5 => {
                    let size = self.choices.of(&["sizeof", "vec_step"]);
                    format!("({name}){size}({})", self.any_type().name())
                }
                6 if self.choices.once_in(2) => {
                    self.distance().map_or_else(|| self.leaf(ty), |far| format!("({name}){far}"))
                }
                6 => self.byte().map_or_else(|| self.leaf(ty), |byte| format!("({name}){byte}")),
                _ => {
                    let float = Type::scalar(self.any_float());
                    if self.choices.once_in(4) {
                        // Of no zero, whose exponent is the implementation's.
                        return format!("({name})ilogb({} + {})", self.eighths(float, depth), "32.125f");
                    }
                    let test =
                        self.choices.of(&["isnan", "isinf", "isfinite", "isnormal", "isordered", "islessgreater"]);
                    let a = self.expr(float, depth);
                    if test.len() < 9 {
                        return format!("({name}){test}({a})");
                    }
                    format!("({name}){test}({a}, {})", self.expr(float, depth))
                }
            },
        }
    }

    /// An operator's result as it comes, of the type that promotions and the usual arithmetic conversions give it.
    fn as_promoted(&mut self, depth: usize) -> (String, Scalar) {
        let ((a, left), (b, right)) = (self.any_integer(depth), self.any_integer(depth));
        let common = left.common(right);
        match self.choices.below(15) {
            0..=3 => {
                let op = self.choices.of(&["+", "-", "*"]);
                let small = left.size() < 4 && right.size() < 4 && (op != "*" || left.size() + right.size() < 4);
                if common.is_signed() && !small {
                    let common = common.unsigned();
                    return (format!("(({}){a} {op} {b})", common.name()), common);
                }
                (format!("({a} {op} {b})"), common)
            }
            4 | 5 => (format!("({a} {} {b})", self.choices.of(&["&", "|", "^"])), common),
            // The amount counts modulo the width, whatever it is.
            6 | 7 => (format!("({a} {} {b})", self.choices.of(&["<<", ">>"])), left.promoted()),
            8 => {
                let most = self.choices.of(&[7, 15, 100]);
                // The divisor's own type keeps its part in the conversions.
                let divisor = right.common(Scalar::Int);
                (format!("({a} {} (({b} & {most}) + 1))", self.choices.of(&["/", "%"])), left.common(divisor))
            }
            9 => (format!("(~{a})"), left.promoted()),
            10 => (format!("(!{a})"), Scalar::Int),
            11 if left.size() < 4 => (format!("({}{a})", self.choices.of(&["-", "+"])), Scalar::Int),
            11 => {
                let unsigned = left.unsigned();
                (format!("(-({}){a})", unsigned.name()), unsigned)
            }
            12 => {
                let condition = self.selector(depth);
                (format!("({condition} ? {a} : {b})"), common)
            }
            13 => (format!("({a}, {b})"), right),
            _ if self.choices.once_in(3) => {
                let (c, d) = (self.condition(depth), self.condition(depth));
                (format!("({c} {} {d})", self.choices.of(&["&&", "||"])), Scalar::Int)
            }
            _ => (format!("({a} {} {b})", self.choices.of(&["<", "<=", ">", ">=", "==", "!="])), Scalar::Int),
        }
    }

    /// A float as an integer, as it comes or after rounding.
    pub(crate) fn saturated(&mut self, ty: Type, depth: usize) -> String {
        let name = ty.name();
        let mode = self.choices.of(&["", "", "_rte", "_rtz", "_rtp", "_rtn"]);
        let float = self.any_float();
        if mode.is_empty() {
            return format!("convert_{name}_sat({})", self.expr(ty.of(float), depth));
        }
        // PoCL rounds and then converts without saturation, which must not leave the range: eighths of up to 32.
        let bits = self.expr(ty.of(if ty.scalar.is_signed() { Scalar::Char } else { Scalar::UChar }), depth);
        let eighth = if float == Scalar::Double { "0.125" } else { "0.125f" };
        format!("convert_{name}_sat{mode}(convert_{}({bits}) * {eighth})", ty.of(float).name())
    }

    /// One byte of a private integer or vector of integers.
    fn byte(&mut self) -> Option<String> {
        let named = |v: &&Variable| v.space.is_empty() && v.place.chars().all(|c| c == '_' || c.is_alphanumeric());
        let found: Vec<(String, usize)> = self
            .variables
            .iter()
            .filter(named)
            .filter_map(|v| match v.kind {
                Kind::Plain(ty) if !ty.is_float() => Some((v.place.clone(), ty.scalar.size() * ty.lanes)),
                _ => None,
            })
            .collect();
        if found.is_empty() {
            return None;
        }
        let (place, size) = found[self.choices.below(found.len())].clone();
        Some(format!("((const uchar*)&{place})[{}]", self.choices.below(size)))
    }

    /// How two elements of an array lie to each other.
    fn distance(&mut self) -> Option<String> {
        let arrays: Vec<(String, usize)> = self
            .variables
            .iter()
            .filter_map(|v| match v.kind {
                Kind::Array(_, len) => Some((v.place.clone(), len)),
                _ => None,
            })
            .collect();
        if arrays.is_empty() {
            return None;
        }
        let (place, len) = arrays[self.choices.below(arrays.len())].clone();
        let (a, b) = (self.index(len, 1), self.index(len, 1));
        Some(format!("(&{place}[{a}] {} &{place}[{b}])", self.choices.of(&["-", "<", ">=", "==", "!="])))
    }

    /// Bits of another integer type of the same size.
    pub(crate) fn reinterpreted(&mut self, ty: Type, depth: usize) -> String {
        let size = ty.scalar.size() * ty.lanes;
        let mut fitting: Vec<Type> = INTEGERS
            .iter()
            .filter(|scalar| size.is_multiple_of(scalar.size()))
            .map(|scalar| Type { scalar: *scalar, lanes: size / scalar.size() })
            .filter(|other| matches!(other.lanes, 1 | 2 | 4 | 8 | 16) && ty.lanes != 3)
            .collect();
        // Vectors of three only as each other: the fourth component of what counts as four is undefined.
        fitting.push(ty.of(ty.scalar.unsigned()));
        let other = fitting[self.choices.below(fitting.len())];
        format!("as_{}({})", ty.name(), self.expr(other, depth))
    }

    pub(crate) fn builtin(&mut self, ty: Type, depth: usize) -> String {
        let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
        let Type { scalar, .. } = ty;
        match self.choices.below(18) {
            0 if !scalar.is_signed() => {
                // PoCL negates in the signed type, which the least number does not survive.
                let of = ty.of(scalar.signed());
                if self.choices.once_in(2) {
                    format!("abs({a})")
                } else {
                    format!("abs(({})({} >> 1))", of.name(), self.expr(of, depth))
                }
            }
            1 if !scalar.is_signed() => {
                if self.choices.once_in(2) {
                    return format!("abs_diff({a}, {b})");
                }
                // PoCL takes the difference of signed numbers, which must not overflow there.
                let of = ty.of(scalar.signed());
                let [a, b] = [self.expr(of, depth), self.expr(of, depth)].map(|x| format!("({})({x} >> 1)", of.name()));
                format!("abs_diff({a}, {b})")
            }
            2 => format!("add_sat({a}, {b})"),
            3 => format!("sub_sat({a}, {b})"),
            4 => format!("hadd({a}, {b})"),
            5 => format!("rhadd({a}, {b})"),
            6 => format!("clz({a})"),
            7 => format!("popcount({a})"),
            8 => format!("mul_hi({a}, {b})"),
            9 if !scalar.is_signed() => format!("mad_hi({a}, {b}, {})", self.expr(ty, depth)),
            10 => format!("mad_sat({a}, {b}, {})", self.expr(ty, depth)),
            11 => format!("rotate({a}, {b})"),
            12 => format!("min({a}, {b})"),
            13 => format!("clamp({}, min({a}, {b}), max({a}, {b}))", self.expr(ty, depth)),
            14 => format!("bitselect({a}, {b}, {})", self.expr(ty, depth)),
            15 => {
                let mask = self.choices.of(&[scalar.unsigned(), scalar.signed()]);
                format!("select({a}, {b}, {})", self.expr(ty.of(mask), depth))
            }
            16 if scalar.size() > 1 => {
                let half = |scalar: Scalar| match scalar {
                    Scalar::Short => Scalar::Char,
                    Scalar::UShort => Scalar::UChar,
                    Scalar::Int => Scalar::Short,
                    Scalar::UInt => Scalar::UShort,
                    Scalar::Long => Scalar::Int,
                    _ => Scalar::UInt,
                };
                let high = self.expr(ty.of(half(scalar)), depth);
                let low = self.expr(ty.of(half(scalar.unsigned())), depth);
                format!("upsample({high}, {low})")
            }
            17 if scalar.size() == 4 => {
                let mask = format!("({})(0xFFF)", ty.name());
                match self.choices.below(2) {
                    0 => format!("mul24(({a} & {mask}), ({b} & {mask}))"),
                    _ => format!("mad24(({a} & {mask}), ({b} & {mask}), ({} & {mask}))", self.expr(ty, depth)),
                }
            }
            _ => format!("max({a}, {b})"),
        }
    }
}

const WORK_ITEM: [&str; 12] = [
    "get_global_id(0)",
    "get_local_id(0)",
    "get_group_id(0)",
    "get_local_size(0)",
    "get_global_size(0)",
    "get_num_groups(0)",
    "get_work_dim()",
    "get_global_offset(0)",
    "get_global_id(1)",
    "get_local_size(1)",
    "get_num_groups(2)",
    "get_local_id(3)",
];
