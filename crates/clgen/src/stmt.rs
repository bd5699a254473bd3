//! Statements, one a line.

use crate::expr::{Generator, Kind, Variable};
use crate::types::{FieldKind, Scalar, Type};

/// Loops in loops, at most.
const LOOPS: usize = 3;

impl Generator<'_> {
    pub(crate) fn line(&mut self, text: impl AsRef<str>) {
        self.lines.push(format!("{}{}", "    ".repeat(self.depth), text.as_ref()));
    }

    /// `head {`, what `body` writes, `}`; what it declares is forgotten.
    pub(crate) fn block(&mut self, head: &str, body: impl FnOnce(&mut Self)) {
        line!(self, "{head}{{");
        let scope = self.variables.len();
        self.depth += 1;
        body(self);
        if self.choices.once_in(2) && self.variables.len() > scope {
            self.count(scope);
        }
        self.depth -= 1;
        self.variables.truncate(scope);
        self.line("}");
    }

    /// One of the variables that go out of scope leaves its trace in `sum`.
    fn count(&mut self, scope: usize) {
        let at = scope + self.choices.below(self.variables.len() - scope);
        let Variable { mut place, mut kind, .. } = self.variables[at].clone();
        let ty = loop {
            match kind {
                Kind::Plain(ty) => break ty,
                Kind::Array(ty, len) => (place, kind) = (format!("{place}[{}]", self.index(len, 1)), Kind::Plain(ty)),
                Kind::Record(record) => (place, kind) = self.field(&place, record),
            }
        };
        let value = if ty.lanes > 1 { format!("{place}.s{:x}", self.choices.below(ty.lanes)) } else { place };
        let value = if ty.is_float() { format!("convert_long_sat({value})") } else { value };
        line!(self, "sum = sum * 31 + (ulong){value};");
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

    pub(crate) fn some(&mut self) -> usize {
        1 + self.choices.below(4)
    }

    fn statement(&mut self, in_loop: bool) {
        match self.choices.below(43) {
            40 => self.leave(),
            41 if self.loops < LOOPS => self.walk(),
            42 => self.records_in_a_row(),
            39 => self.parts(),
            37 | 38 => self.print(),
            33 if !self.barriers && self.loops < LOOPS => self.inward(),
            34 if !self.barriers && self.loops < LOOPS => self.entered(),
            35 => self.exclusive(),
            36 => self.write_through(),
            31 | 32 => self.texel(),
            30 => self.halves(),
            25 => self.forward(in_loop),
            26 if !self.barriers && self.loops < LOOPS => self.backward(in_loop),
            27 if !self.labels.is_empty() => self.jump(),
            28 => self.both_sides(),
            29 => self.overlap(),
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

    pub(crate) fn declaration(&mut self) {
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
                let made = if self.choices.once_in(2) { self.made(record) } else { None };
                let value = match same {
                    Some(place) if self.choices.once_in(3) => place,
                    _ => made.unwrap_or_else(|| self.record_value(record)),
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
    pub(crate) fn record_value(&mut self, record: usize) -> String {
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
    pub(crate) fn place(&mut self) -> Option<(String, Type)> {
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

    pub(crate) fn assignment(&mut self) {
        let Some((place, ty)) = self.place() else { return self.declaration() };
        if ty.lanes > 1 && self.choices.once_in(3) {
            let (letters, lanes) = self.distinct(ty.lanes);
            let value = self.expr(Type { lanes, ..ty }, 3);
            return line!(self, "{place}.{letters} = {value};");
        }
        let value = self.expr(ty, 3);
        line!(self, "{place} = {value};");
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
}
