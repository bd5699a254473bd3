//! Helpers that get structures and pointers with a named address space, and such that return structures.

use crate::expr::{Function, Generator, Kind, Maker, Param, Returns, Target, Variable};
use crate::function::OWN;
use crate::types::{INTEGERS, Scalar, Type};

impl Generator<'_> {
    /// A function with a pointer into one address space.
    pub(crate) fn reacher(&mut self) {
        let (name, pointer, result) = (self.name("w"), self.name("q"), self.any_type());
        let record = !self.records.is_empty() && self.choices.once_in(2);
        let space = self.choices.of(if record {
            &["", "__global", "__constant", "__private"]
        } else {
            &["__global", "__local", "__constant", "__private"]
        });
        let writable = space != "__constant" && !self.choices.once_in(3);
        let (kind, text, place) = if record {
            let record = self.choices.below(self.records.len());
            (Kind::Record(record), self.records[record].name.clone(), format!("(*{pointer})"))
        } else {
            let scalar = if self.choices.once_in(3) { Scalar::Float } else { self.choices.of(&INTEGERS) };
            let element = Type { scalar, lanes: self.choices.of(&[1, 2, 3, 4, 8]) };
            (Kind::Array(element, OWN), element.name(), pointer.clone())
        };
        let constant = if writable || space == "__constant" { "" } else { "const " };
        let mut list = vec![format!("{space} {constant}{text}* {pointer}").trim_start().to_owned()];
        let scope = self.variables.len();
        // An unqualified pointer and a private one are the same to OpenCL C 1.2.
        let space = if space == "__private" { "" } else { space };
        self.variables.push(Variable { place, kind, writable, space });
        let mut params = vec![Param::Pointer(Target { kind, writable, space: Some(space) })];
        let rest = 1 + self.choices.below(2);
        params.extend(self.parameters(rest, &mut list));
        line!(self, "{} {name}({})", result.name(), list.join(", "));
        self.line("{");
        self.body(result);
        self.line("}");
        self.variables.truncate(scope);
        self.writers.push(Function { name, result, params });
    }

    /// A function that returns a structure.
    pub(crate) fn maker(&mut self) {
        if self.records.is_empty() {
            return self.reacher();
        }
        let (name, made) = (self.name("h"), self.name("r"));
        let record = self.choices.below(self.records.len());
        let text = self.records[record].name.clone();
        let (scope, mut list) = (self.variables.len(), Vec::new());
        let count = 1 + self.choices.below(2);
        let params = self.parameters(count, &mut list);
        line!(self, "{text} {name}({})", list.join(", "));
        self.line("{");
        self.depth += 1;
        let value = self.record_value(record);
        line!(self, "ulong sum = 1; {text} {made} = {value};");
        self.declare(made.clone(), Kind::Record(record));
        self.budget = 6;
        self.returns = Some(Returns::Record(record));
        self.statements(3, false);
        self.returns = None;
        if self.choices.once_in(3) {
            let (condition, value) = (self.condition(2), self.record_value(record));
            line!(self, "if ({condition}) return ({text}){value};");
        }
        line!(self, "return {made};");
        self.depth -= 1;
        self.line("}");
        self.variables.truncate(scope);
        self.makers.push(Maker { name, record, params });
    }

    /// So many parameters by value, declared; their declarations go to `list`.
    pub(crate) fn parameters(&mut self, count: usize, list: &mut Vec<String>) -> Vec<Param> {
        let mut params = Vec::new();
        for _ in 0..count {
            let place = self.name("x");
            if !self.records.is_empty() && self.choices.once_in(4) {
                let record = self.choices.below(self.records.len());
                list.push(format!("{} {place}", self.records[record].name));
                params.push(Param::Record(record));
                self.declare(place, Kind::Record(record));
            } else {
                let ty = self.any_type();
                list.push(format!("{} {place}", ty.name()));
                params.push(Param::Plain(ty));
                self.declare(place, Kind::Plain(ty));
            }
        }
        params
    }

    /// What to pass by value, unless there is no such structure.
    pub(crate) fn arguments(&mut self, params: &[Param], depth: usize) -> Option<Vec<String>> {
        let mut arguments = Vec::new();
        for param in params {
            match *param {
                Param::Plain(ty) => arguments.push(self.expr(ty, depth)),
                Param::Record(record) => {
                    let held = |v: &&Variable| matches!(v.kind, Kind::Record(other) if other == record);
                    arguments.push(self.variables.iter().find(held)?.place.clone());
                }
                Param::Pointer(..) => unreachable!("pointers are passed by who has them"),
            }
        }
        Some(arguments)
    }

    /// A call of a function that returns the structure.
    pub(crate) fn made(&mut self, record: usize) -> Option<String> {
        let fitting: Vec<Maker> = self.makers.iter().filter(|maker| maker.record == record).cloned().collect();
        if fitting.is_empty() || self.loops > 1 {
            return None;
        }
        let maker = &fitting[self.choices.below(fitting.len())];
        let arguments = self.arguments(&maker.params, 1)?;
        Some(format!("{}({})", maker.name, arguments.join(", ")))
    }

    /// A call of a function with a pointer, or what it could point to.
    pub(crate) fn write_through(&mut self) {
        if self.writers.is_empty() || self.loops > 1 {
            return self.assignment();
        }
        let at = self.choices.below(self.writers.len());
        let function = self.writers[at].clone();
        let Some(Param::Pointer(target)) = function.params.first().copied() else {
            unreachable!("the pointer comes first");
        };
        let fits = |v: &&Variable| {
            let kind = match (v.kind, target.kind) {
                (Kind::Array(have, len), Kind::Array(want, least)) => have == want && len >= least,
                (have, want) => have == want,
            };
            kind && (v.writable || !target.writable) && target.space.is_none_or(|space| space == v.space)
        };
        let places: Vec<String> = self.variables.iter().filter(fits).map(|v| v.place.clone()).collect();
        if places.is_empty() {
            return self.pointed_to(target);
        }
        let place = places[self.choices.below(places.len())].clone();
        let pointer = match target.kind {
            Kind::Record(_) => match place.strip_prefix("(*").and_then(|rest| rest.strip_suffix(')')) {
                Some(pointer) => pointer.to_owned(),
                None => format!("&{place}"),
            },
            _ => place,
        };
        let Some(mut arguments) = self.arguments(&function.params[1..], 2) else { return self.declaration() };
        arguments.insert(0, pointer);
        let name = self.name("v");
        line!(self, "{} {name} = {}({});", function.result.name(), function.name, arguments.join(", "));
        self.declare(name, Kind::Plain(function.result));
    }

    /// Something private that a pointer may point to.
    fn pointed_to(&mut self, target: Target) {
        match target.kind {
            _ if target.space.is_some_and(|space| !space.is_empty()) => self.assignment(),
            Kind::Array(element, len) => {
                let list: Vec<String> = (0..len).map(|_| self.constant(element)).collect();
                let name = self.name("a");
                line!(self, "{} {name}[{len}] = {{ {} }};", element.name(), list.join(", "));
                self.declare(name, target.kind);
            }
            Kind::Record(record) => {
                let (name, value) = (self.name("r"), self.record_value(record));
                line!(self, "{} {name} = {value};", self.records[record].name);
                self.declare(name, target.kind);
            }
            Kind::Plain(_) => unreachable!("no pointer points to a plain variable"),
        }
    }

    /// What a buffer of the kernel may hold so that functions find what they are to point to.
    pub(crate) fn wanted(&mut self, spaces: &[&str]) -> Option<(Kind, Option<&'static str>)> {
        let fitting: Vec<Target> = self
            .writers
            .iter()
            .filter_map(|function| match function.params[0] {
                Param::Pointer(target) => Some(target),
                _ => None,
            })
            .filter(|target| target.space.is_none_or(|space| spaces.contains(&space)))
            .collect();
        if fitting.is_empty() || self.choices.once_in(3) {
            return None;
        }
        let target = fitting[self.choices.below(fitting.len())];
        Some((target.kind, target.space))
    }
}
