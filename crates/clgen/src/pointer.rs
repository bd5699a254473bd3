//! Pointers into arrays, and arrays of structures.

use crate::expr::{Generator, Kind, Variable};
use crate::types::Scalar;

impl Generator<'_> {
    /// A pointer into an array.
    pub(crate) fn pointer(&mut self) {
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
        let other = self.alike(&array);
        let value = match self.choices.below(4) {
            0 if other.is_some() => {
                let other = other.expect("there is one");
                let condition = self.selector(1);
                format!("{condition} ? {} + {at} : &{other}[{at}]", array.place)
            }
            0 | 3 => format!("&{}[{at}]", array.place),
            1 => format!("{} + {at}", array.place),
            _ => format!("&({})[{}] - {}", array.place, half, half - at),
        };
        line!(self, "{space}{constant}{}* {name} = {value};", ty.name());
        self.variables.push(Variable { place: name, kind: Kind::Array(ty, half), ..array });
    }

    /// Another array like it, or the same.
    fn alike(&mut self, array: &Variable) -> Option<String> {
        let places: Vec<String> = self
            .variables
            .iter()
            .filter(|v| match (v.kind, array.kind) {
                (Kind::Array(have, len), Kind::Array(want, least)) => have == want && len >= least,
                _ => false,
            })
            .filter(|v| v.space == array.space && v.writable == array.writable)
            .map(|v| v.place.clone())
            .collect();
        (places.len() > 1).then(|| places[self.choices.below(places.len())].clone())
    }

    /// A pointer goes from one end of an array to the other.
    pub(crate) fn walk(&mut self) {
        let arrays: Vec<Variable> =
            self.variables.iter().filter(|v| matches!(v.kind, Kind::Array(..))).cloned().collect();
        if arrays.is_empty() {
            return self.declaration();
        }
        let Variable { place, kind: Kind::Array(ty, len), space, .. } =
            arrays[self.choices.below(arrays.len())].clone()
        else {
            unreachable!("only arrays were kept")
        };
        let (name, far) = (self.name("p"), self.choices.below(len));
        let space = if space.is_empty() { String::new() } else { format!("{space} ") };
        let head = match self.choices.below(3) {
            0 => format!("for ({space}const {}* {name} = {place}; {name} < {place} + {len}; {name}++) ", ty.name()),
            1 => format!("for ({space}const {}* {name} = {place} + {far}; {name} > {place}; {name}--) ", ty.name()),
            _ => format!(
                "for ({space}const {}* {name} = &{place}[{far}]; {name} - {place} < {len}; ++{name}) ",
                ty.name()
            ),
        };
        self.loops += 1;
        self.block(&head, |g| {
            let lane = if ty.lanes > 1 { format!(".s{:x}", g.choices.below(ty.lanes)) } else { String::new() };
            let value = if ty.lanes > 1 && g.choices.once_in(2) {
                format!("(*{name}){lane}")
            } else {
                format!("{name}[0]{lane}")
            };
            match ty.scalar {
                Scalar::Float | Scalar::Double | Scalar::Half => {
                    line!(g, "sum = sum * 7 + (ulong)convert_long_sat({value});");
                }
                _ => line!(g, "sum = sum * 7 + (ulong){value};"),
            }
            g.statements(1, true);
        });
        self.loops -= 1;
    }

    /// An array of structures, of which the work-item knows which is its.
    pub(crate) fn records_in_a_row(&mut self) {
        if self.records.is_empty() {
            return self.pointer();
        }
        let (name, record) = (self.name("r"), self.choices.below(self.records.len()));
        let (a, b) = (self.record_value(record), self.record_value(record));
        line!(self, "{} {name}[2] = {{ {a}, {b} }};", self.records[record].name);
        for index in ["0", "1", "get_global_id(0) & 1"] {
            self.declare(format!("{name}[{index}]"), Kind::Record(record));
        }
    }
}
