//! What work-items of a group compute together, in the kernel's outermost scope.
//!
//! PoCL has neither functions of work-groups nor sub-groups. Where `PEER` is defined the same comes from local memory; a group
//! has no more work-items than a sub-group, so that it is one.

use crate::expr::{Generator, Kind};
use crate::types::{Scalar, Type};

impl Generator<'_> {
    pub(crate) fn collective(&mut self, group: usize, sizes: [u64; 3]) {
        let ty = Type::scalar(self.choices.of(&[Scalar::Int, Scalar::UInt, Scalar::Long, Scalar::ULong]));
        let (name, text) = (self.name("v"), ty.name());
        let (mut value, mut result) = (self.expr(ty, 2), text.clone());
        let lane = self.lane.clone();
        let words = self.choices.of(&["work_group", "sub_group"]);
        // The function, and how its result follows from all values.
        let (x, all) = (format!("{name}_x"), format!("{name}_all"));
        let (call, definition) = match self.choices.below(7) {
            kind @ 0..=2 => {
                let operations: &[&str] = if ty.scalar.is_signed() { &["min", "max"] } else { &["add", "min", "max"] };
                let operation = self.choices.of(operations);
                let (low, high, start) = match kind {
                    0 => ("0".to_owned(), group.to_string(), "reduce"),
                    1 => ("0".to_owned(), format!("{lane} + 1"), "scan_inclusive"),
                    _ => ("0".to_owned(), lane.to_owned(), "scan_exclusive"),
                };
                let (least, greatest) = match ty.scalar {
                    Scalar::Int => ("INT_MIN", "INT_MAX"),
                    Scalar::Long => ("LONG_MIN", "LONG_MAX"),
                    Scalar::UInt => ("0", "UINT_MAX"),
                    _ => ("0", "ULONG_MAX"),
                };
                let neutral = match operation {
                    "add" => "0",
                    "min" => greatest,
                    _ => least,
                };
                let step = match operation {
                    "add" => format!("{name} += {all}[i];"),
                    _ => format!("{name} = {operation}({name}, {all}[i]);"),
                };
                let function = format!("{words}_{start}_{operation}");
                (
                    format!("{function}({x})"),
                    format!("{name} = {neutral}; for (uint i = {low}; i < {high}; i++) {step}"),
                )
            }
            3 => {
                let from = self.choices.below(group);
                let place = match (words, sizes.map(|size| size as usize)) {
                    ("sub_group", _) | (_, [_, 1, 1]) => from.to_string(),
                    (_, [x, y, 1]) => format!("{}, {}", from % x, from / x % y),
                    (_, [x, y, _]) => format!("{}, {}, {}", from % x, from / x % y, from / (x * y)),
                };
                (format!("{words}_broadcast({x}, {place})"), format!("{name} = {all}[{from}];"))
            }
            4 => {
                let step = self.choices.below(group);
                let from = format!("({lane} + {step}) % {group}");
                (format!("sub_group_shuffle({x}, {from})"), format!("{name} = {all}[{from}];"))
            }
            5 if group.is_power_of_two() => {
                let mask = self.choices.below(group);
                (format!("sub_group_shuffle_xor({x}, {mask})"), format!("{name} = {all}[{lane} ^ {mask}];"))
            }
            _ => {
                (value, result) = (format!("({value} & 3)"), "int".to_owned());
                let (word, start, op) = self.choices.of(&[("all", 1, "&"), ("any", 0, "|")]);
                let each = format!("{name} = {name} {op} ({all}[i] != 0);");
                let definition = format!("{name} = {start}; for (uint i = 0; i < {group}; i++) {each}");
                // Any number but zero is true.
                (format!("!!{words}_{word}((int){x})"), definition)
            }
        };
        line!(self, "{text} {x} = {value};");
        self.line("#ifdef PEER");
        line!(self, "__local {text} {all}[{group}]; {all}[{lane}] = {x}; barrier(CLK_LOCAL_MEM_FENCE);");
        line!(self, "{result} {name}; {definition} barrier(CLK_LOCAL_MEM_FENCE);");
        self.line("#else");
        line!(self, "{result} {name} = {call};");
        self.line("#endif");
        self.declare(name, Kind::Plain(if result == "int" { Type::scalar(Scalar::Int) } else { ty }));
    }
}
