//! Expressions: each is a primary or in parentheses, and has exactly the type that was asked for.

use crate::choices::Choices;
use crate::types::{FieldKind, INTEGERS, Record, SCALARS, Scalar, Type};

/// What a name or place holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Plain(Type),
    /// A power of two of them; also what a pointer points to.
    Array(Type, usize),
    Record(usize),
}

/// Something in scope.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    /// How it is written.
    pub(crate) place: String,
    pub(crate) kind: Kind,
    pub(crate) writable: bool,
    /// The address space of an array's elements, empty for private memory.
    pub(crate) space: &'static str,
}

/// A parameter of a function.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Param {
    Plain(Type),
    Record(usize),
    /// A pointer to so many writable elements in any address space.
    Pointer(Type, usize),
}

#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) result: Type,
    pub(crate) params: Vec<Param>,
}

/// A program under construction.
pub(crate) struct Generator<'c> {
    pub(crate) choices: &'c mut Choices,
    pub(crate) records: Vec<Record>,
    pub(crate) variables: Vec<Variable>,
    /// Without side effects.
    pub(crate) pure: Vec<Function>,
    /// With a pointer.
    pub(crate) writers: Vec<Function>,
    /// Macros with two integer parameters and their result's type.
    pub(crate) macros: Vec<String>,
    pub(crate) lines: Vec<String>,
    pub(crate) depth: usize,
    pub(crate) next_name: usize,
    /// Statements that may still be generated.
    pub(crate) budget: usize,
    /// How many loops are around the current statement.
    pub(crate) loops: usize,
    /// Where `acc` is in scope.
    pub(crate) in_kernel: bool,
    /// Within an index, in which indices are constants.
    pub(crate) indexing: bool,
}

const LETTERS: [char; 4] = ['x', 'y', 'z', 'w'];

impl Generator<'_> {
    pub(crate) fn name(&mut self, prefix: &str) -> String {
        self.next_name += 1;
        format!("{prefix}{}", self.next_name)
    }

    pub(crate) fn any_scalar(&mut self) -> Scalar {
        self.choices.of(&SCALARS)
    }

    pub(crate) fn any_type(&mut self) -> Type {
        let scalar = self.any_scalar();
        let lanes = self.choices.of(&[1, 1, 1, 1, 2, 3, 4, 2, 4, 8, 16]);
        Type { scalar, lanes }
    }

    pub(crate) fn expr(&mut self, ty: Type, depth: usize) -> String {
        if depth == 0 || self.choices.once_in(5) {
            return self.leaf(ty);
        }
        match (ty.lanes, ty.is_float()) {
            (1, false) => self.integer(ty.scalar, depth - 1),
            (1, true) => self.float(ty, depth - 1),
            (_, false) => self.vector(ty, depth - 1),
            (_, true) => self.float(ty, depth - 1),
        }
    }

    /// An integer of any type, and its type.
    fn any_integer(&mut self, depth: usize) -> (String, Scalar) {
        let scalar = self.choices.of(&INTEGERS);
        (self.expr(Type::scalar(scalar), depth), scalar)
    }

    /// A condition, any scalar.
    pub(crate) fn condition(&mut self, depth: usize) -> String {
        if self.choices.once_in(8) {
            return self.expr(Type::scalar(Scalar::Float), depth);
        }
        self.selector(depth)
    }

    /// A condition of `?`, which may not be a float (OpenCL C 3.0 §6.4.9).
    fn selector(&mut self, depth: usize) -> String {
        if self.choices.once_in(4) {
            return self.any_integer(depth).0;
        }
        let scalar = self.any_scalar();
        let ty = Type::scalar(scalar);
        let a = self.expr(ty, depth);
        let b = self.expr(ty, depth);
        format!("({a} {} {b})", self.choices.of(&["<", "<=", ">", ">=", "==", "!="]))
    }

    /// An index below `len`, a power of two.
    pub(crate) fn index(&mut self, len: usize, depth: usize) -> String {
        if depth == 0 || self.indexing || self.choices.once_in(3) {
            return self.choices.below(len).to_string();
        }
        self.indexing = true;
        let (value, _) = self.any_integer(depth - 1);
        self.indexing = false;
        format!("({value} & {})", len - 1)
    }

    fn leaf(&mut self, ty: Type) -> String {
        for _ in 0..6 {
            if self.variables.is_empty() {
                break;
            }
            let at = self.choices.below(self.variables.len());
            let Variable { place, kind, .. } = self.variables[at].clone();
            if let Some(value) = self.read(place, kind, ty) {
                return value;
            }
        }
        self.constant(ty)
    }

    /// A value of the type out of something.
    fn read(&mut self, place: String, kind: Kind, ty: Type) -> Option<String> {
        match kind {
            Kind::Plain(have) if have == ty => Some(place),
            Kind::Plain(have) if have.scalar == ty.scalar && have.lanes > 1 && ty.lanes != 1 => {
                let letters = self.letters(have.lanes, ty.lanes);
                Some(format!("{place}.{letters}"))
            }
            Kind::Plain(have) if have.scalar == ty.scalar && have.lanes > 1 => {
                let lane = self.choices.below(have.lanes);
                let numbered = self.choices.once_in(3);
                let lettered = !numbered && have.lanes <= 4;
                Some(if lettered { format!("{place}.{}", LETTERS[lane]) } else { format!("{place}.s{lane:x}") })
            }
            Kind::Plain(_) => None,
            Kind::Array(element, len) => {
                let index = self.index(len, 1);
                self.read(format!("{place}[{index}]"), Kind::Plain(element), ty)
            }
            Kind::Record(record) => {
                let (place, kind) = self.field(&place, record);
                self.read(place, kind, ty)
            }
        }
    }

    /// Any field of a structure.
    pub(crate) fn field(&mut self, place: &str, record: usize) -> (String, Kind) {
        let at = self.choices.below(self.records[record].fields.len());
        let field = self.records[record].fields[at].clone();
        let kind = match field.kind {
            FieldKind::Plain(ty) => Kind::Plain(ty),
            FieldKind::Array(ty, len) => Kind::Array(ty, len),
            FieldKind::Record(record) => Kind::Record(record),
        };
        // Through a pointer: `(*p).f` is `p->f`.
        let pointer = place.strip_prefix("(*").and_then(|rest| rest.strip_suffix(')'));
        let name = field.name;
        (pointer.map_or_else(|| format!("{place}.{name}"), |pointer| format!("{pointer}->{name}")), kind)
    }

    /// A swizzle of `wanted` components out of `lanes`.
    fn letters(&mut self, lanes: usize, wanted: usize) -> String {
        let choice = self.choices.below(6);
        if lanes == 2 * wanted && choice < 4 {
            return ["lo", "hi", "even", "odd"][choice].to_owned();
        }
        if lanes > 4 || wanted > 4 || choice == 4 {
            let prefix = self.choices.of(&['s', 'S']);
            let digits: String = (0..wanted).map(|_| format!("{:x}", self.choices.below(lanes))).collect();
            return format!("{prefix}{digits}");
        }
        (0..wanted).map(|_| LETTERS[self.choices.below(lanes)]).collect()
    }

    pub(crate) fn constant(&mut self, ty: Type) -> String {
        if ty.lanes > 1 {
            if self.choices.once_in(3) {
                let one = self.constant(Type::scalar(ty.scalar));
                return format!("(({})({one}))", ty.name());
            }
            let list: Vec<String> = (0..ty.lanes).map(|_| self.constant(Type::scalar(ty.scalar))).collect();
            return format!("(({})({}))", ty.name(), list.join(", "));
        }
        if ty.is_float() {
            const FLOATS: [&str; 12] = [
                "0.0f", "1.0f", "2.0f", "0.5f", "3.0f", "-1.0f", "-2.5f", "1e10f", "255.0f", "0x1p-3f", "-7.0f",
                "1e-5f",
            ];
            return format!("({})", self.choices.of(&FLOATS));
        }
        let bits = match self.choices.below(4) {
            0 => self.choices.below(5) as u64,
            1 => self.choices.below(200) as u64,
            2 => [1u64 << (8 * ty.scalar.size() - 1), u64::MAX, 0x7FFF_FFFF, 0xFF][self.choices.below(4)],
            _ => self.choices.bits(),
        };
        let shift = 64 - 8 * ty.scalar.size();
        if ty.scalar.is_signed() {
            let value = (bits << shift) as i64 >> shift;
            return match ty.scalar {
                Scalar::Long if value == i64::MIN => "(-9223372036854775807L - 1)".to_owned(),
                Scalar::Long => format!("({value}L)"),
                Scalar::Int if value == i64::from(i32::MIN) => "(-2147483647 - 1)".to_owned(),
                Scalar::Int => format!("({value})"),
                small => format!("(({}){value})", small.name()),
            };
        }
        let value = bits << shift >> shift;
        match ty.scalar {
            Scalar::ULong => format!("{value}UL"),
            Scalar::UInt if self.choices.once_in(2) => format!("0x{value:x}u"),
            Scalar::UInt => format!("{value}u"),
            small => format!("(({}){value})", small.name()),
        }
    }

    fn integer(&mut self, scalar: Scalar, depth: usize) -> String {
        let ty = Type::scalar(scalar);
        let name = scalar.name();
        match self.choices.below(16) {
            0..=2 => {
                let ((a, left), (b, right)) = (self.any_integer(depth), self.any_integer(depth));
                let op = self.choices.of(&["+", "-", "*"]);
                let common = left.common(right);
                let small = left.size() < 4 && right.size() < 4 && (op != "*" || left.size() + right.size() < 4);
                if common.is_signed() && !small {
                    return format!("({name})(({}){a} {op} {b})", common.unsigned().name());
                }
                format!("({name})({a} {op} {b})")
            }
            3 | 4 => {
                let ((a, _), (b, _)) = (self.any_integer(depth), self.any_integer(depth));
                format!("({name})({a} {} {b})", self.choices.of(&["&", "|", "^"]))
            }
            5 => {
                // The amount counts modulo the width, whatever it is.
                let ((a, _), (b, _)) = (self.any_integer(depth), self.any_integer(depth));
                format!("({name})({a} {} {b})", self.choices.of(&["<<", ">>"]))
            }
            6 => {
                let ((a, _), (b, _)) = (self.any_integer(depth), self.any_integer(depth));
                let most = self.choices.of(&[7, 15, 100]);
                format!("({name})({a} {} (({b} & {most}) + 1))", self.choices.of(&["/", "%"]))
            }
            7 => {
                let (a, of) = self.any_integer(depth);
                match self.choices.below(3) {
                    0 => format!("({name})(~{a})"),
                    1 => format!("({name})(!{a})"),
                    _ => format!("({name})(-({}){a})", of.common(Scalar::UInt).unsigned().name()),
                }
            }
            8 => {
                let condition = self.selector(depth);
                let ((a, _), (b, _)) = (self.any_integer(depth), self.any_integer(depth));
                format!("({name})({condition} ? {a} : {b})")
            }
            9 => format!("({name}){}", self.selector(depth)),
            10 => {
                let (a, b) = (self.condition(depth), self.condition(depth));
                format!("({name})({a} {} {b})", self.choices.of(&["&&", "||"]))
            }
            11 => match self.choices.below(3) {
                0 => {
                    let float = self.expr(Type::scalar(Scalar::Float), depth);
                    format!("convert_{name}_sat({float})")
                }
                1 => format!("convert_{name}_sat({})", self.any_integer(depth).0),
                _ => format!("({name}){}", self.any_integer(depth).0),
            },
            12 | 13 => self.builtin(ty, depth),
            14 => self.call(ty, depth),
            _ => match self.choices.below(8) {
                5 => format!("({name})sizeof({})", self.any_type().name()),
                6 => {
                    let ((a, _), (b, _)) = (self.any_integer(depth), self.any_integer(depth));
                    format!("({name})({a}, {b})")
                }
                7 => self.byte().map_or_else(|| self.leaf(ty), |byte| format!("({name}){byte}")),
                0 => format!("({name}){}", self.choices.of(&WORK_ITEM)),
                1 if !self.macros.is_empty() => {
                    let at = self.choices.below(self.macros.len());
                    let macro_name = self.macros[at].clone();
                    let ((a, _), (b, _)) = (self.any_integer(depth), self.any_integer(depth));
                    format!("({name}){macro_name}({a}, {b})")
                }
                2 => {
                    let lanes = self.choices.of(&[2, 3, 4, 8]);
                    let signed = self.choices.of(&[Scalar::Int, Scalar::Char, Scalar::Short, Scalar::Long]);
                    let vector = self.expr(Type { scalar: signed, lanes }, depth);
                    format!("({name}){}({vector})", self.choices.of(&["any", "all"]))
                }
                3 => self.reinterpreted(ty, depth),
                _ => {
                    let test = self.choices.of(&["isnan", "isinf", "isfinite", "isnormal"]);
                    format!("({name}){test}({})", self.expr(Type::scalar(Scalar::Float), depth))
                }
            },
        }
    }

    /// One byte of a private integer or vector of integers.
    fn byte(&mut self) -> Option<String> {
        let named = |v: &&Variable| v.space.is_empty() && v.place.chars().all(char::is_alphanumeric);
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

    /// Bits of another integer type of the same size.
    fn reinterpreted(&mut self, ty: Type, depth: usize) -> String {
        let size = ty.scalar.size() * if ty.lanes == 3 { 4 } else { ty.lanes };
        let (scalar, lanes) = (self.choices.of(&INTEGERS), self.choices.of(&[1, 2, 3, 4, 8, 16]));
        let fits = scalar.size() * lanes == size && lanes != 3 && ty.lanes != 3;
        let other = if fits { Type { scalar, lanes } } else { ty.of(ty.scalar.unsigned()) };
        let value = self.expr(other, depth);
        format!("as_{}({value})", ty.name())
    }

    fn builtin(&mut self, ty: Type, depth: usize) -> String {
        let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
        let Type { scalar, .. } = ty;
        match self.choices.below(18) {
            0 if !scalar.is_signed() => {
                let of = self.choices.of(&[scalar, scalar.signed()]);
                format!("abs({})", self.expr(ty.of(of), depth))
            }
            1 if !scalar.is_signed() => {
                let of = ty.of(self.choices.of(&[scalar, scalar.signed()]));
                let (a, b) = (self.expr(of, depth), self.expr(of, depth));
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
                let mask = self.choices.of(&[scalar, scalar.unsigned(), scalar.signed()]);
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

    /// A call of a function without side effects.
    fn call(&mut self, ty: Type, depth: usize) -> String {
        let fitting: Vec<Function> = self.pure.iter().filter(|f| f.result == ty).cloned().collect();
        if fitting.is_empty() || self.loops > 1 {
            return self.leaf(ty);
        }
        let function = &fitting[self.choices.below(fitting.len())];
        let mut arguments = Vec::new();
        for param in &function.params {
            match *param {
                Param::Plain(ty) => arguments.push(self.expr(ty, depth.min(1))),
                Param::Record(record) => {
                    let held = |v: &&Variable| matches!(v.kind, Kind::Record(other) if other == record);
                    match self.variables.iter().find(held) {
                        Some(variable) => arguments.push(variable.place.clone()),
                        None => return self.leaf(ty),
                    }
                }
                Param::Pointer(..) => unreachable!("it would have side effects"),
            }
        }
        format!("{}({})", function.name, arguments.join(", "))
    }

    fn vector(&mut self, ty: Type, depth: usize) -> String {
        let name = ty.name();
        let Type { scalar, lanes } = ty;
        match self.choices.below(16) {
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
                // The scalar is converted to the vector's type.
                let (a, b) = (self.expr(ty, depth), self.expr(Type::scalar(scalar), depth));
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
                    other => self.choices.of(&[other, other.unsigned()]),
                };
                let (a, b) = (self.expr(ty.of(of), depth), self.expr(ty.of(of), depth));
                format!("({a} {} {b})", self.choices.of(&["<", "<=", ">", ">=", "==", "!=", "&&", "||"]))
            }
            9 if scalar.is_signed() => format!("(!{})", self.expr(ty, depth)),
            8 | 9 => {
                let mask = self.expr(ty.of(scalar.signed()), depth);
                let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
                format!("({mask} ? {a} : {b})")
            }
            10 => {
                let of = self.choices.of(&INTEGERS);
                let sat = self.choices.of(&["", "_sat"]);
                format!("convert_{name}{sat}({})", self.expr(ty.of(of), depth))
            }
            11 => format!("convert_{name}_sat({})", self.expr(ty.of(Scalar::Float), depth)),
            12 => self.literal(ty, depth),
            13 => {
                let from = self.choices.of(&[2, 3, 4, 8, 16]);
                let value = self.expr(Type { scalar, lanes: from }, depth);
                format!("{value}.{}", self.letters(from, lanes))
            }
            14 => self.reinterpreted(ty, depth),
            _ => self.builtin(ty, depth),
        }
    }

    /// A vector literal of scalars and shorter vectors, or of one scalar.
    fn literal(&mut self, ty: Type, depth: usize) -> String {
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

    /// Operations that IEEE 754 rounds once or not at all.
    fn float(&mut self, ty: Type, depth: usize) -> String {
        let name = ty.name();
        match self.choices.below(12) {
            0..=3 => {
                let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
                format!("({a} {} {b})", self.choices.of(&["+", "-", "*"]))
            }
            4 => {
                let function = self.choices.of(&["fabs", "floor", "ceil", "trunc", "rint", "round"]);
                format!("{function}({})", self.expr(ty, depth))
            }
            5 => format!("(-{})", self.expr(ty, depth)),
            6 => {
                let condition = self.selector(depth);
                let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
                format!("({condition} ? {a} : {b})")
            }
            7 => {
                let of = self.choices.of(&INTEGERS);
                format!("convert_{name}({})", self.expr(ty.of(of), depth))
            }
            8 => {
                let mask = self.choices.of(&[Scalar::Int, Scalar::UInt]);
                let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
                format!("select({a}, {b}, {})", self.expr(ty.of(mask), depth))
            }
            9 if ty.lanes > 1 => self.literal(ty, depth),
            9 => {
                let (value, _) = self.any_integer(depth);
                format!("(float){value}")
            }
            10 => {
                let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
                format!("fma({a}, {b}, {})", self.expr(ty, depth))
            }
            _ => {
                // A finite number: the greatest exponent bit is not set.
                let bits = ty.of(Scalar::UInt);
                format!("as_{name}(({} & ({})(0xBFFFFFFFu)))", self.expr(bits, depth), bits.name())
            }
        }
    }
}

const WORK_ITEM: [&str; 6] = [
    "get_global_id(0)",
    "get_local_id(0)",
    "get_group_id(0)",
    "get_local_size(0)",
    "get_global_size(0)",
    "get_num_groups(0)",
];
