//! Constants in all their forms, and tables of them.

use crate::expr::{Generator, Kind, Variable};
use crate::types::{FieldKind, Scalar, Type};

impl Generator<'_> {
    /// A table in the constant address space: at program scope, or in the outermost scope of a kernel.
    pub(crate) fn table(&mut self) {
        let (ty, len, name) = (self.any_type(), self.choices.of(&[2, 4, 8]), self.name("t"));
        let mut declare = |place: String, kind| {
            self.variables.push(Variable { place, kind, writable: false, space: "__constant" });
        };
        match self.choices.below(6) {
            0 if !self.records.is_empty() => {
                let record = self.choices.below(self.records.len());
                (0..2).for_each(|at| declare(format!("{name}[{at}]"), Kind::Record(record)));
                let (text, a, b) =
                    (self.records[record].name.clone(), self.constant_record(record), self.constant_record(record));
                line!(self, "__constant {text} {name}[2] = {{ {a}, {b} }};");
            }
            1 => {
                (0..2).for_each(|at| declare(format!("{name}[{at}]"), Kind::Array(ty, len)));
                let [a, b] = [len, len - 1].map(|given| self.constants(ty, given));
                line!(self, "__constant {} {name}[2][{len}] = {{ {a}, {b} }};", ty.name());
            }
            2 => {
                declare(name.clone(), Kind::Array(Type::scalar(Scalar::Char), 8));
                let text = self.choices.of(&["a text", "\\x41\\n\\0z", "\"quoted\"", "exactly8", ""]);
                let text = text.replace('"', "\\\"");
                line!(self, "__constant char {name}[8] = \"{text}\";");
            }
            _ => {
                declare(name.clone(), Kind::Array(ty, len));
                let list = self.constants(ty, len);
                line!(self, "__constant {} {name}[{len}] = {list};", ty.name());
            }
        }
    }

    /// An initialiser of an array.
    fn constants(&mut self, ty: Type, len: usize) -> String {
        let list: Vec<String> = (0..len).map(|_| self.constant(ty)).collect();
        format!("{{ {} }}", list.join(", "))
    }

    /// An initialiser of a structure or union.
    fn constant_record(&mut self, record: usize) -> String {
        let (fields, is_union) = (self.records[record].fields.clone(), self.records[record].is_union);
        let mut parts = Vec::new();
        for field in fields.iter().take(if is_union { 1 } else { fields.len() }) {
            parts.push(match field.kind {
                FieldKind::Plain(ty) => self.constant(ty),
                FieldKind::Array(ty, len) => self.constants(ty, len),
                FieldKind::Record(inner) => self.constant_record(inner),
            });
        }
        format!("{{ {} }}", parts.join(", "))
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
        match ty.scalar {
            Scalar::Float => format!("({})", self.choices.of(&FLOATS)),
            Scalar::Double => format!("({})", self.choices.of(&DOUBLES)),
            scalar => self.whole_number(scalar),
        }
    }

    fn whole_number(&mut self, scalar: Scalar) -> String {
        let bits = match self.choices.below(4) {
            0 => self.choices.below(5) as u64,
            1 => self.choices.below(200) as u64,
            2 => self.choices.of(&[1u64 << (8 * scalar.size() - 1), u64::MAX, 0x7FFF_FFFF, 0xFF]),
            _ => self.choices.bits(),
        };
        let shift = 64 - 8 * scalar.size();
        let (signed, unsigned) = ((bits << shift) as i64 >> shift, bits << shift >> shift);
        let form = self.choices.below(6);
        match scalar {
            Scalar::Long if signed == i64::MIN => "(-9223372036854775807L - 1)".to_owned(),
            // A decimal constant that no int holds is a long.
            Scalar::Long if form == 0 && signed > i64::from(i32::MAX) => signed.to_string(),
            Scalar::Long if form == 1 && signed >= 0 => format!("0x{signed:x}L"),
            Scalar::Long => format!("({signed}L)"),
            Scalar::Int if signed == i64::from(i32::MIN) => "(-2147483647 - 1)".to_owned(),
            Scalar::Int if form == 0 && signed >= 0 => format!("0{signed:o}"),
            Scalar::Int if form == 1 => self
                .choices
                .of(&["'a'", "'\\n'", "'\\0'", "'\\377'", "'\\x7f'", "'\"'", "true", "INT_MAX", "CHAR_BIT", "SHRT_MIN"])
                .to_owned(),
            Scalar::Int => format!("({signed})"),
            Scalar::ULong if form == 0 && unsigned > i64::MAX as u64 => format!("0x{unsigned:X}"),
            Scalar::ULong => format!("{unsigned}{}", self.choices.of(&["UL", "ul", "lU"])),
            // A hexadecimal constant that no int holds is unsigned.
            Scalar::UInt if form == 0 && unsigned > i32::MAX as u64 => format!("0x{unsigned:x}"),
            Scalar::UInt if form < 3 => format!("0x{unsigned:x}u"),
            Scalar::UInt => format!("{unsigned}u"),
            small if small.is_signed() => format!("(({}){signed})", small.name()),
            small => format!("(({}){unsigned})", small.name()),
        }
    }
}

const FLOATS: [&str; 14] = [
    "0.0f",
    "1.0f",
    "2.0f",
    "0.5f",
    "3.0f",
    "-1.0f",
    "-2.5f",
    "1e10f",
    "255.0f",
    "0x1p-3f",
    "-7.0f",
    "1e-5f",
    "1.175494351e-38f",
    ".1F",
];

const DOUBLES: [&str; 14] = [
    "0.0",
    "1.0",
    "-0.0",
    "0.1",
    "3.",
    "-1.0",
    "-2.5",
    "1e300",
    "1e-310",
    "0x1.8p-3",
    "4503599627370497.5",
    "1e-5",
    "9007199254740993.0",
    "2147483647.5",
];
