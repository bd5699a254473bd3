//! Statements, one a line.

use crate::expr::{Generator, Kind, Param, Variable};
use crate::types::{FieldKind, Scalar, Type};

/// Loops in loops, at most.
const LOOPS: usize = 3;

impl Generator<'_> {
    pub(crate) fn line(&mut self, text: impl AsRef<str>) {
        self.lines.push(format!("{}{}", "    ".repeat(self.depth), text.as_ref()));
    }

    /// `head {`, what `body` writes, `}`; what it declares is forgotten.
    fn block(&mut self, head: &str, body: impl FnOnce(&mut Self)) {
        line!(self, "{head}{{");
        let scope = self.variables.len();
        self.depth += 1;
        body(self);
        self.depth -= 1;
        self.variables.truncate(scope);
        self.line("}");
    }

    pub(crate) fn declare(&mut self, place: String, kind: Kind) {
        self.variables.push(Variable { place, kind, writable: true, space: "" });
    }

    /// Some statements. `in_loop`: `break` and `continue` may be among them.
    pub(crate) fn statements(&mut self, count: usize, in_loop: bool) {
        for _ in 0..count {
            if self.budget == 0 {
                return;
            }
            self.budget -= 1;
            self.statement(in_loop);
        }
    }

    fn some(&mut self) -> usize {
        1 + self.choices.below(4)
    }

    fn statement(&mut self, in_loop: bool) {
        match self.choices.below(25) {
            22 => self.chain(),
            23 => self.whole_record(),
            24 => self.accumulate(),
            0..=3 => self.declaration(),
            4..=8 => self.assignment(),
            9 => {
                let condition = self.condition(2);
                let count = self.some();
                self.block(&format!("if ({condition}) "), |g| g.statements(count, in_loop));
                if self.choices.once_in(2) {
                    let count = self.some();
                    let other = self.condition(1);
                    let head = if self.choices.once_in(3) { format!("else if ({other}) ") } else { "else ".to_owned() };
                    self.block(&head, |g| g.statements(count, in_loop));
                }
            }
            10 | 11 if self.loops < LOOPS => self.a_loop(),
            12 => self.switch(in_loop),
            13 if in_loop => {
                let condition = self.condition(2);
                line!(self, "if ({condition}) {};", self.choices.of(&["break", "continue"]));
            }
            14 => {
                let count = self.some();
                self.block("", |g| g.statements(count, in_loop));
            }
            15 | 16 => self.write_through(),
            17 => self.pointer(),
            18 => self.shadow(in_loop),
            19 => self.load_and_store(),
            _ => self.compound(),
        }
    }

    fn declaration(&mut self) {
        let ty = self.any_type();
        match self.choices.below(6) {
            0 => {
                let len = self.choices.of(&[2, 4, 8]);
                let list: Vec<String> = (0..len).map(|_| self.expr(ty, 1)).collect();
                let name = self.name("a");
                // What is left out is zero.
                let given = if self.choices.once_in(3) { 1 + self.choices.below(len) } else { len };
                line!(self, "{} {name}[{len}] = {{ {} }};", ty.name(), list[..given].join(", "));
                self.declare(name, Kind::Array(ty, len));
            }
            1 if !self.records.is_empty() => {
                let record = self.choices.below(self.records.len());
                let name = self.name("r");
                let held = |v: &&Variable| matches!(v.kind, Kind::Record(other) if other == record);
                let same = self.variables.iter().rev().find(held).map(|v| v.place.clone());
                let value = match same {
                    Some(place) if self.choices.once_in(3) => place,
                    _ => self.record_value(record),
                };
                line!(self, "{} {name} = {value};", self.records[record].name);
                self.declare(name, Kind::Record(record));
            }
            _ => {
                let value = match self.choices.below(4) {
                    // An implicit conversion.
                    0 if ty.lanes == 1 && !ty.is_float() => self.expr(Type::scalar(ty.scalar.unsigned()), 2),
                    1 if ty.lanes == 1 => self.expr(Type::scalar(Scalar::Short), 2),
                    _ => self.expr(ty, 3),
                };
                let name = self.name("v");
                let qualifier = if self.choices.once_in(8) { "const " } else { "" };
                line!(self, "{qualifier}{} {name} = {value};", ty.name());
                self.declare(name, Kind::Plain(ty));
                self.variables.last_mut().expect("it was just declared").writable = qualifier.is_empty();
            }
        }
    }

    /// An initialiser of a structure or union.
    fn record_value(&mut self, record: usize) -> String {
        let fields = self.records[record].fields.clone();
        let is_union = self.records[record].is_union;
        let mut parts = Vec::new();
        for field in fields.iter().take(if is_union { 1 } else { fields.len() }) {
            let value = match field.kind {
                FieldKind::Plain(ty) => self.expr(ty, 1),
                FieldKind::Array(ty, len) => {
                    let list: Vec<String> = (0..len).map(|_| self.expr(ty, 0)).collect();
                    format!("{{ {} }}", list.join(", "))
                }
                FieldKind::Record(record) => self.record_value(record),
            };
            let designated = !is_union && self.choices.once_in(4);
            parts.push(if designated { format!(".{} = {value}", field.name) } else { value });
        }
        format!("{{ {} }}", parts.join(", "))
    }

    /// A place to write to, and its type.
    fn place(&mut self) -> Option<(String, Type)> {
        let writable: Vec<usize> = (0..self.variables.len()).filter(|i| self.variables[*i].writable).collect();
        if writable.is_empty() {
            return None;
        }
        let at = writable[self.choices.below(writable.len())];
        let Variable { mut place, mut kind, .. } = self.variables[at].clone();
        loop {
            match kind {
                Kind::Plain(ty) => return Some((place, ty)),
                Kind::Array(ty, len) => return Some((format!("{place}[{}]", self.index(len, 2)), ty)),
                Kind::Record(record) => (place, kind) = self.field(&place, record),
            }
        }
    }

    fn assignment(&mut self) {
        let Some((place, ty)) = self.place() else { return self.declaration() };
        if ty.lanes > 1 && self.choices.once_in(3) {
            let (letters, lanes) = self.distinct(ty.lanes);
            let value = self.expr(Type { lanes, ..ty }, 3);
            return line!(self, "{place}.{letters} = {value};");
        }
        let value = self.expr(ty, 3);
        line!(self, "{place} = {value};");
    }

    /// An assignment's value is assigned, or an index counts up.
    fn chain(&mut self) {
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

    /// A structure is assigned as a whole, or a pointer to it made.
    fn whole_record(&mut self) {
        let records: Vec<(String, usize)> = self
            .variables
            .iter()
            .filter_map(|v| match v.kind {
                Kind::Record(record) if v.writable && v.space.is_empty() => Some((v.place.clone(), record)),
                _ => None,
            })
            .collect();
        if records.is_empty() {
            return self.declaration();
        }
        let (place, record) = records[self.choices.below(records.len())].clone();
        let type_name = self.records[record].name.clone();
        if self.choices.once_in(2) {
            let value = self.record_value(record);
            return line!(self, "{place} = ({type_name}){value};");
        }
        let name = self.name("p");
        line!(self, "{type_name}* {name} = &{place};");
        self.declare(format!("(*{name})"), Kind::Record(record));
    }

    /// Atomic operations whose order does not matter: each element of `acc` has one kind.
    fn accumulate(&mut self) {
        if !self.in_kernel {
            return self.assignment();
        }
        let value = self.expr(Type::scalar(Scalar::Int), 2);
        let (at, function) = self.choices.of(&[
            (0, "atomic_add"),
            (0, "atomic_sub"),
            (1, "atomic_min"),
            (2, "atomic_max"),
            (3, "atomic_and"),
            (4, "atomic_or"),
            (5, "atomic_xor"),
        ]);
        match self.choices.below(6) {
            0 => line!(self, "{}(&acc[0]);", self.choices.of(&["atomic_inc", "atomic_dec"])),
            _ => line!(self, "{function}(&acc[{at}], {value});"),
        }
    }

    /// A swizzle that can be assigned to: no component twice.
    fn distinct(&mut self, lanes: usize) -> (String, usize) {
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

    fn compound(&mut self) {
        let Some((place, ty)) = self.place() else { return self.declaration() };
        let signed = ty.scalar.is_signed() && (ty.scalar.size() >= 4 || ty.lanes > 1);
        if ty.is_float() {
            let value = self.expr(ty, 2);
            return line!(self, "{place} {} {value};", self.choices.of(&["+=", "-=", "*="]));
        }
        match self.choices.below(4) {
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
            _ => {
                let value = self.expr(ty, 2);
                line!(self, "{place} {} {value};", self.choices.of(&["&=", "|=", "^=", "<<=", ">>="]));
            }
        }
    }

    fn a_loop(&mut self) {
        let (count, bound) = (self.some(), 1 + self.choices.below(5));
        let name = self.name("i");
        self.loops += 1;
        let counter =
            Variable { place: name.clone(), kind: Kind::Plain(Type::scalar(Scalar::Int)), writable: false, space: "" };
        let body = |g: &mut Self| {
            g.variables.push(counter);
            g.statements(count, true);
        };
        let condition = if self.choices.once_in(3) { format!(" && {}", self.condition(1)) } else { String::new() };
        match self.choices.below(4) {
            0 | 1 => {
                let step = self.choices.of(&["++", " += 2"]);
                let head = format!("for (int {name} = 0; {name} < {bound}{condition}; {name}{step}) ");
                self.block(&head, body);
            }
            2 => self.block("", |g| {
                line!(g, "int {name} = {bound};");
                g.block(&format!("while ({name}-- > 0{condition}) "), body);
            }),
            _ => self.block("", |g| {
                line!(g, "int {name} = 0;");
                g.line("do {");
                let scope = g.variables.len();
                g.depth += 1;
                body(g);
                g.depth -= 1;
                g.variables.truncate(scope);
                line!(g, "}} while (++{name} < {bound}{condition});");
            }),
        }
        self.loops -= 1;
    }

    fn switch(&mut self, in_loop: bool) {
        let value = self.expr(Type::scalar(Scalar::Int), 2);
        let cases = 2 + self.choices.below(3);
        let default = self.choices.below(cases + 2);
        self.block(&format!("switch ({value} & 7) "), |g| {
            for case in 0..cases {
                if case == default {
                    g.line("default:");
                }
                line!(g, "case {case}:");
                let count = g.some();
                // Not in a loop as far as `break` goes; `continue` is left out with it.
                let _ = in_loop;
                g.block("", |g| g.statements(count, false));
                if !g.choices.once_in(3) {
                    g.line("break;");
                }
            }
            if default >= cases {
                g.line("default: ;");
            }
        });
    }

    /// A call that writes through a pointer into any address space.
    fn write_through(&mut self) {
        if self.writers.is_empty() || self.loops > 1 {
            return self.assignment();
        }
        let at = self.choices.below(self.writers.len());
        let function = self.writers[at].clone();
        let Some(Param::Pointer(element, len)) = function.params.first().copied() else {
            unreachable!("the pointer comes first");
        };
        let fits = |v: &&Variable| match v.kind {
            Kind::Array(ty, of) => v.writable && ty == element && of >= len,
            _ => false,
        };
        let places: Vec<String> = self.variables.iter().filter(fits).map(|v| v.place.clone()).collect();
        let Some(place) = (!places.is_empty()).then(|| places[self.choices.below(places.len())].clone()) else {
            let list: Vec<String> = (0..len).map(|_| self.constant(element)).collect();
            let name = self.name("a");
            line!(self, "{} {name}[{len}] = {{ {} }};", element.name(), list.join(", "));
            return self.declare(name, Kind::Array(element, len));
        };
        let mut arguments = vec![place];
        for param in &function.params[1..] {
            if let Param::Plain(ty) = *param {
                arguments.push(self.expr(ty, 2));
            }
        }
        let name = self.name("v");
        line!(self, "{} {name} = {}({});", function.result.name(), function.name, arguments.join(", "));
        self.declare(name, Kind::Plain(function.result));
    }

    /// A pointer into an array.
    fn pointer(&mut self) {
        let arrays: Vec<Variable> =
            self.variables.iter().filter(|v| matches!(v.kind, Kind::Array(..))).cloned().collect();
        if arrays.is_empty() {
            return self.declaration();
        }
        let array = arrays[self.choices.below(arrays.len())].clone();
        let Kind::Array(ty, len) = array.kind else { unreachable!("only arrays were kept") };
        if len < 2 {
            return self.declaration();
        }
        let (half, name) = (len / 2, self.name("p"));
        let at = self.choices.below(half + 1);
        let space = if array.space.is_empty() { String::new() } else { format!("{} ", array.space) };
        let constant = if array.writable { "" } else { "const " };
        let value = match self.choices.below(3) {
            0 => format!("&{}[{at}]", array.place),
            1 => format!("{} + {at}", array.place),
            _ => format!("&({})[{}] - {}", array.place, half, half - at),
        };
        line!(self, "{space}{constant}{}* {name} = {value};", ty.name());
        self.variables.push(Variable { place: name, kind: Kind::Array(ty, half), ..array });
    }

    /// A block in which a name means something else.
    fn shadow(&mut self, in_loop: bool) {
        let plain: Vec<String> = self
            .variables
            .iter()
            .filter(|v| matches!(v.kind, Kind::Plain(_)) && v.place.chars().all(char::is_alphanumeric))
            .map(|v| v.place.clone())
            .collect();
        if plain.is_empty() {
            return self.declaration();
        }
        let name = plain[self.choices.below(plain.len())].clone();
        let ty = self.any_type();
        let value = self.constant(ty);
        let count = self.some();
        let outside = self.variables.clone();
        self.block("", |g| {
            line!(g, "{} {name} = {value};", ty.name());
            g.variables.retain(|v| v.place != name);
            g.declare(name, Kind::Plain(ty));
            g.statements(count, in_loop);
        });
        self.variables = outside;
    }

    /// `vload` and `vstore` on an array of scalars.
    fn load_and_store(&mut self) {
        let arrays: Vec<Variable> = self
            .variables
            .iter()
            .filter(|v| matches!(v.kind, Kind::Array(ty, len) if ty.lanes == 1 && len >= 4))
            .cloned()
            .collect();
        if arrays.is_empty() {
            return self.declaration();
        }
        let array = arrays[self.choices.below(arrays.len())].clone();
        let Kind::Array(Type { scalar, .. }, len) = array.kind else { unreachable!("only arrays were kept") };
        let lanes = if len >= 8 { self.choices.of(&[2, 3, 4, 8]) } else { self.choices.of(&[2, 3, 4]) };
        let ty = Type { scalar, lanes };
        let index = self.choices.below(len / lanes);
        if array.writable && self.choices.once_in(2) {
            let value = self.expr(ty, 2);
            return line!(self, "vstore{lanes}({value}, {index}, {});", array.place);
        }
        let name = self.name("v");
        line!(self, "{} {name} = vload{lanes}({index}, {});", ty.name(), array.place);
        self.declare(name, Kind::Plain(ty));
    }
}
