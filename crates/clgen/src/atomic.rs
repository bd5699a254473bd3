//! Atomic operations of which neither the order nor what other work-items do shows.

use crate::expr::{Generator, Kind, Variable};
use crate::types::{Scalar, Type};

impl Generator<'_> {
    /// Counters of a work-group in local memory.
    pub(crate) fn counters(&mut self, group: usize) {
        let name = self.name("c");
        let lane = self.lane.clone();
        line!(self, "__local int {name}[6]; for (int i = {lane}; i < 6; i += {group}) {name}[i] = i * 1000 - 2000;");
        self.line("barrier(CLK_LOCAL_MEM_FENCE);");
        self.counters = Some(name.clone());
        for _ in 0..1 + self.choices.below(3) {
            self.accumulate();
            self.statements(1, false);
        }
        self.counters = None;
        self.line("barrier(CLK_LOCAL_MEM_FENCE);");
        let (total, at) = (self.name("v"), self.choices.below(6));
        line!(self, "int {total} = {name}[({lane} + {at}) % 6];");
        self.line("barrier(CLK_LOCAL_MEM_FENCE);");
        self.declare(total, Kind::Plain(Type::scalar(Scalar::Int)));
    }

    /// Operations whose order does not matter: each element of the counters has one kind.
    pub(crate) fn accumulate(&mut self) {
        if !self.in_kernel {
            return self.assignment();
        }
        let value = self.expr(Type::scalar(Scalar::Int), 2);
        let counters = self.counters.clone().unwrap_or_else(|| "acc".to_owned());
        let (at, function) = self.choices.of(&[
            (0, "atomic_add"),
            (0, "atomic_sub"),
            (1, "atomic_min"),
            (2, "atomic_max"),
            (3, "atomic_and"),
            (4, "atomic_or"),
            (5, "atomic_xor"),
        ]);
        match self.choices.below(8) {
            0 => line!(self, "{}(&{counters}[0]);", self.choices.of(&["atomic_inc", "atomic_dec"])),
            1 => self.compare_and_exchange(&counters, &value),
            2 => {
                let space = if counters == "acc" { "__global" } else { "__local" };
                let sum = self.choices.of(&["atomic_add", "atomic_sub"]);
                line!(self, "{sum}((volatile {space} uint*)&{counters}[0], (uint){value});");
            }
            _ => line!(self, "{function}(&{counters}[{at}], {value});"),
        }
    }

    /// A sum made of comparing and exchanging until nobody came between.
    fn compare_and_exchange(&mut self, counters: &str, value: &str) {
        let (seen, old, add) = (self.name("v"), self.name("v"), self.name("v"));
        // On one line, for a loop without its exchange would not end.
        line!(
            self,
            "{{ int {add} = {value}, {seen} = atomic_add(&{counters}[0], 0), {old}; do {{ {old} = {seen}; \
            {seen} = atomic_cmpxchg(&{counters}[0], {old}, as_int(as_uint({old}) + as_uint({add}))); }} \
            while ({seen} != {old}); }}"
        );
    }

    /// On an element that no other work-item touches; what was there before is a number like any other.
    pub(crate) fn exclusive(&mut self) {
        let held = |v: &&Variable| match v.kind {
            Kind::Array(Type { scalar: Scalar::Int | Scalar::UInt, .. }, _) => {
                v.writable && matches!(v.space, "__global" | "__local")
            }
            _ => false,
        };
        let arrays: Vec<Variable> = self.variables.iter().filter(held).cloned().collect();
        if arrays.is_empty() {
            return self.accumulate();
        }
        let Variable { place, kind: Kind::Array(ty, len), space, .. } =
            arrays[self.choices.below(arrays.len())].clone()
        else {
            unreachable!("only arrays were kept")
        };
        let (index, name) = (self.index(len, 2), self.name("v"));
        let (place, ty) = match ty.lanes {
            1 => (format!("{place}[{index}]"), ty),
            // A component of a vector in memory.
            lanes => {
                let one = Type::scalar(ty.scalar);
                let pointer = format!("((volatile {space} {}*)&{place}[{index}])", one.name());
                (format!("{pointer}[{}]", self.choices.below(lanes)), one)
            }
        };
        let function = self.choices.of(&[
            "atomic_xchg",
            "atomic_add",
            "atomic_sub",
            "atomic_min",
            "atomic_max",
            "atomic_and",
            "atomic_or",
            "atomic_xor",
            "atomic_cmpxchg",
        ]);
        let mut arguments = vec![format!("&{place}"), self.expr(ty, 2)];
        if function == "atomic_cmpxchg" {
            if self.choices.once_in(2) {
                // The comparison holds.
                arguments[1] = place;
            }
            arguments.push(self.expr(ty, 1));
        }
        line!(self, "{} {name} = {function}({});", ty.name(), arguments.join(", "));
        self.declare(name, Kind::Plain(ty));
    }
}
