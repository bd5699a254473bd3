//! Assignments with more to them: compound ones, several in one expression, components of the same vector on both sides.

use crate::expr::{Generator, Kind};
use crate::types::{INTEGERS, Scalar, Type};

impl Generator<'_> {
    /// An assignment's value is assigned, or an index counts up.
    pub(crate) fn chain(&mut self) {
        let ty = self.any_type();
        let value = self.expr(ty, 2);
        if self.choices.once_in(2) {
            let (a, b) = (self.name("v"), self.name("v"));
            line!(self, "{} {a}, {b}; {a} = {b} = {value};", ty.name());
            self.declare(a, Kind::Plain(ty));
            return self.declare(b, Kind::Plain(ty));
        }
        let (array, counter) = (self.name("a"), self.name("v"));
        let list: Vec<String> = (0..4).map(|_| self.constant(ty)).collect();
        line!(self, "{} {array}[4] = {{ {} }};", ty.name(), list.join(", "));
        line!(self, "int {counter} = {};", self.choices.below(4));
        line!(self, "{array}[{counter}++ & 3] = {value};");
        let value = self.expr(ty, 2);
        line!(self, "{array}[--{counter} & 3] = {value};");
        self.declare(array, Kind::Array(ty, 4));
        self.declare(counter, Kind::Plain(Type::scalar(Scalar::Int)));
    }

    /// Side effects on both sides, of different variables.
    pub(crate) fn both_sides(&mut self) {
        let ty = Type { scalar: self.choices.of(&INTEGERS), lanes: self.choices.of(&[1, 1, 2, 3, 4, 8, 16]) };
        let (a, b, i, j) = (self.name("a"), self.name("a"), self.name("v"), self.name("v"));
        for name in [&a, &b] {
            let list: Vec<String> = (0..4).map(|_| self.leaf(ty)).collect();
            line!(self, "{} {name}[4] = {{ {} }};", ty.name(), list.join(", "));
        }
        line!(self, "short {i} = {}, {j} = {};", self.choices.below(4), self.choices.below(4));
        let value = self.expr(ty, 1);
        let left =
            self.choices.of(&["I++ & 3", "++I & 3", "I-- & 3", "I += 3, I & 3", "(I ^= 1) & 3"]).replace('I', &i);
        let right = self.choices.of(&["J++ & 3", "--J & 3", "J <<= 1, J & 3", "(J = J * 3 + 1) & 3"]).replace('J', &j);
        let op = self.choices.of(&["=", "^=", "|=", "&=", "<<=", ">>="]);
        let (to, from, value) = if ty.lanes == 1 {
            (String::new(), String::new(), value)
        } else {
            let (to, lanes) = self.distinct(ty.lanes);
            let from = if lanes == 1 { "s1".to_owned() } else { self.letters(ty.lanes, lanes) };
            let value =
                if lanes == 1 { format!("{value}.x") } else { format!("{value}.{}", self.letters(ty.lanes, lanes)) };
            (format!(".{to}"), format!(".{from}"), value)
        };
        line!(self, "{a}[{left}]{to} {op} {b}[{right}]{from} ^ {value};");
        let name = self.name("v");
        match self.choices.below(3) {
            0 if ty.lanes == 1 && (!ty.scalar.is_signed() || ty.scalar.size() < 4) => {
                let step = self.choices.of(&["++", "--"]);
                line!(self, "{} {name} = {a}[{left}]{step};", ty.name());
            }
            1 => line!(self, "{} {name} = ({a}[{left}] {op} {b}[{right}]);", ty.name()),
            _ => line!(self, "{} {name} = ({j}++, {b}[{j} & 3]) ^ {a}[{left}];", ty.name()),
        }
        self.declare(name, Kind::Plain(ty));
        for name in [a, b] {
            self.declare(name, Kind::Array(ty, 4));
        }
        for name in [i, j] {
            self.declare(name, Kind::Plain(Type::scalar(Scalar::Short)));
        }
    }

    /// Components of a vector from others of it.
    pub(crate) fn overlap(&mut self) {
        let Some((place, ty)) = self.place() else { return self.declaration() };
        if ty.lanes == 1 {
            return self.compound();
        }
        let (to, lanes) = self.distinct(ty.lanes);
        let from = if lanes == 1 { "s1".to_owned() } else { self.letters(ty.lanes, lanes) };
        let ops: &[&str] = match (ty.is_float(), ty.scalar.is_signed()) {
            (true, _) => &["=", "+=", "*="],
            (_, true) => &["=", "^=", "|=", "&=", "<<=", ">>="],
            _ => &["=", "^=", "+=", "-=", "*=", ">>="],
        };
        line!(self, "{place}.{to} {} {place}.{from};", self.choices.of(ops));
    }

    /// A swizzle that can be assigned to: no component twice.
    pub(crate) fn distinct(&mut self, lanes: usize) -> (String, usize) {
        let table: &[(&str, usize)] = match lanes {
            2 => &[("x", 1), ("y", 1), ("yx", 2), ("s1", 1), ("lo", 1)],
            3 => &[("x", 1), ("z", 1), ("zx", 2), ("yz", 2), ("zxy", 3), ("s02", 2)],
            8 => {
                &[("s7", 1), ("s3", 1), ("lo", 4), ("odd", 4), ("s52", 2), ("S0123", 4), ("s76543210", 8), ("even", 4)]
            }
            16 => {
                &[("sf", 1), ("hi", 8), ("even", 8), ("sa1", 2), ("s0c4", 3), ("sFEDCBA98", 8), ("s159d", 4), ("S8", 1)]
            }
            _ => {
                &[("w", 1), ("xz", 2), ("wy", 2), ("lo", 2), ("odd", 2), ("zyx", 3), ("wzyx", 4), ("s31", 2), ("hi", 2)]
            }
        };
        let (letters, lanes) = self.choices.of(table);
        (letters.to_owned(), lanes)
    }

    pub(crate) fn compound(&mut self) {
        let Some((place, ty)) = self.place() else { return self.declaration() };
        let signed = ty.scalar.is_signed() && (ty.scalar.size() >= 4 || ty.lanes > 1);
        if ty.is_float() {
            let of = if ty.lanes == 1 && self.choices.once_in(3) { self.choices.of(&INTEGERS) } else { ty.scalar };
            let value = self.expr(ty.of(of), 2);
            return line!(self, "{place} {} {value};", self.choices.of(&["+=", "-=", "*="]));
        }
        match self.choices.below(6) {
            0 if !signed && ty.lanes == 1 => {
                let step = self.choices.of(&["++", "--"]);
                let text = if self.choices.once_in(2) { format!("{step}{place};") } else { format!("{place}{step};") };
                self.line(text);
            }
            1 if !signed => {
                // Of narrow types the sum is an int that it fits; products of ushorts may not.
                let ops: &[&str] =
                    if ty.lanes == 1 && ty.scalar.size() == 2 { &["+=", "-="] } else { &["+=", "-=", "*="] };
                let op = self.choices.of(ops);
                let value = self.expr(ty, 2);
                line!(self, "{place} {op} {value};");
            }
            2 if ty.lanes == 1 => {
                let divisor = self.expr(ty, 2);
                line!(self, "{place} {} ({divisor} & 15) + 1;", self.choices.of(&["/=", "%="]));
            }
            3 if ty.lanes == 1 => {
                // Computed in an unsigned type that is no narrower than the place's own.
                let wide =
                    if ty.scalar.size() == 8 { Scalar::ULong } else { self.choices.of(&[Scalar::UInt, Scalar::ULong]) };
                let value = self.expr(Type::scalar(wide), 2);
                line!(self, "{place} {} {value};", self.choices.of(&["+=", "-=", "*=", "&=", "^="]));
            }
            4 if ty.lanes == 1 => {
                let (value, _) = self.any_integer(2);
                line!(self, "{place} {} {value};", self.choices.of(&["&=", "|=", "^=", "<<=", ">>="]));
            }
            _ => {
                let value = self.expr(ty, 2);
                line!(self, "{place} {} {value};", self.choices.of(&["&=", "|=", "^=", "<<=", ">>="]));
            }
        }
    }
}
