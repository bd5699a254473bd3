//! What a kernel does, told instead of run: facts of its code, each with its place in the user's text.
//!
//! The pass (native/hostmetal/pass/analysis.cpp) looks at one thread's code, as clang makes it of the kernel and everything that it calls,
//! before any optimisation that would move or merge what the text says. It tells loads and stores, operations, and the names of library
//! functions; which memory an argument is in, what a function counts as, and where the user's text stands is known here. What is told is
//! a text of lines, words between spaces:
//!
//! ```text
//! fact KIND LINE COLUMN
//! access SPACE ARGUMENT USE BYTES PATTERN PATTERN_Y LINE COLUMN
//! uncounted LINE COLUMN
//! cost COST LINE COLUMN
//! registers THREAD UNIFORM PRIVATE LINE COLUMN
//! work DEPTH LINE COLUMN FLOPS SPECIAL INTEGER READ WRITTEN HOW
//! ```
//!
//! KIND: `barrier`, `simdgroup` (a function or a number of SIMD-groups or quad-groups), `threadgroup_memory`, `threadgroup_position` (a
//! position or size of threadgroups), `fence`, `atomic` (on device memory), `print` (os_log). SPACE: `device`, `constant` or
//! `threadgroup`. ARGUMENT: the name of the kernel's parameter that the address comes from, or `-`. USE: `read`, `write` or `both`.
//! BYTES: of one thread, 0 where that is not known. PATTERN: how far the address is behind that of the thread before it in x (a number of
//! bytes), `even` (one distance for all that arguments decide), `data` (decided by what was read), `unknown`. PATTERN_Y: the same of the thread before
//! it in y, of the same threadgroup.
//!
//! The work is a tree in preorder: of the thread, DEPTH 0, and below it of one round of each loop whose rounds the text does not tell, at its
//! place; other loops are multiplied. FLOPS: additions, subtractions, multiplications and divisions of floating-point numbers, of
//! each component; `fma` is two. SPECIAL: values of functions such as `exp`. INTEGER: operations on integers without comparisons. READ,
//! WRITTEN: bytes of device memory. HOW: `always`, or `conditional` where some of it stands behind a condition, or behind an early
//! end of the thread or loop, and counts as done all the same. `uncounted` are places whose work or memory is not in it: sums over SIMD-groups, calls through
//! tables, `[[stage_in]]`, slices of imageblocks that are written to textures.
//!
//! COST: `division` (of integers, or a remainder, by what all threads have alike and the text does not tell), `special` (what SPECIAL counts). THREAD,
//! UNIFORM: values that live at one point at most, as registers of 32 bits; those that differ between the threads of a SIMD-group, and
//! those that they have alike. PRIVATE: bytes of a thread's own memory that no register can hold, as arrays with computed indices. LINE and COLUMN are 0
//! where the text has no place for it; `registers` is missing for kernels too long to look at (`native/hostmetal/pass/registers.cpp`).

use super::diagnose::{Map, Printer};
use super::kernels::{Parameter, Role, Signature};
use super::token::Stream;
use super::{CompileFailure, Failure};
use std::collections::BTreeSet;
use std::fmt::Write;

/// What a line of the compiler's output begins with when the pass tells of a kernel.
pub(super) const LINE: &str = "hostmetal-pass: analysis: ";

/// Flags with which clang keeps the places of the text.
pub(super) const FLAGS: [&str; 1] = ["-gline-tables-only"];

/// Functions that only compare, choose, round or change bits.
const FREE: &[&str] = &[
    "all",
    "any",
    "ceil",
    "clamp",
    "copysign",
    "floor",
    "fmax",
    "fmax3",
    "fmedian3",
    "fmin",
    "fmin3",
    "frexp",
    "ilogb",
    "isfinite",
    "isinf",
    "isnan",
    "isnormal",
    "isordered",
    "isunordered",
    "ldexp",
    "max",
    "max3",
    "median3",
    "min",
    "min3",
    "nextafter",
    "not",
    "rint",
    "round",
    "saturate",
    "select",
    "sign",
    "signbit",
    "step",
    "trunc",
    // LLVM's names.
    "bswap",
    "canonicalize",
    "is.fpclass",
    "maximum",
    "maxnum",
    "minimum",
    "minnum",
    "nearbyint",
    "roundeven",
    "smax",
    "smin",
    "umax",
    "umin",
];

/// Functions of floating-point numbers that are made of operators (MSL specification 6.5, 6.2), with the operations of one component.
const OPERATIONS: &[(&str, u64)] = &[
    ("abs", 0),
    ("divide", 1),
    ("fabs", 0),
    ("fdim", 1),
    ("fma", 2),
    ("fmuladd", 2),
    ("fract", 1),
    ("mix", 3),
    ("modf", 1),
    ("smoothstep", 7),
];

/// Functions of integers that multiply and add.
const TWO_INTEGER: &[&str] = &["mad24", "madhi", "madsat"];

/// Operations, as [`super`] counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) flops: u64,
    pub(crate) special: u64,
    pub(crate) integer: u64,
}

impl Counts {
    /// What a function of these words counts as, behind those of a line `function NAME KIND COMPONENTS`; none where it means nothing.
    fn of_function(words: &[&str]) -> Option<Counts> {
        Some(function(words.first()?, *words.get(1)? == "float", words.get(2)?.parse().ok()?))
    }

    /// With what a line `call TIMES NAME KIND COMPONENTS` tells; none where it means nothing.
    pub(super) fn add_call(&mut self, words: &[&str]) -> Option<()> {
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
        let count = Counts::of_function(words.get(2..)?)?;
        let times = number(1)?;
        let sum = |sum: u64, one: u64| sum.saturating_add(one.saturating_mul(times));
        self.flops = sum(self.flops, count.flops);
        self.special = sum(self.special, count.special);
        self.integer = sum(self.integer, count.integer);
        Some(())
    }
}

/// What one call of a library function counts as, on vectors of so many components.
fn function(name: &str, is_float: bool, lanes: u64) -> Counts {
    let flops = |flops| Counts { flops, ..Counts::default() };
    let with_root = |flops| Counts { flops, special: 1, ..Counts::default() };
    if FREE.contains(&name) || name.starts_with("pack_") || name.starts_with("unpack_") {
        return Counts::default();
    }
    if !is_float {
        return Counts { integer: if TWO_INTEGER.contains(&name) { 2 * lanes } else { lanes }, ..Counts::default() };
    }
    // The sum of the products of components.
    let dot = (2 * lanes).saturating_sub(1);
    match name {
        "cross" => flops(9),
        "distance" => with_root(lanes + dot),
        "distance_squared" => flops(lanes + dot),
        "dot" | "faceforward" | "length_squared" => flops(dot),
        "length" => with_root(dot),
        "normalize" => with_root(dot + lanes),
        "reflect" => flops(dot + 1 + 2 * lanes),
        "refract" => with_root(dot + 8 + 3 * lanes),
        "sincos" => Counts { special: 2 * lanes, ..Counts::default() },
        // 8 x 8 x 8 multiplications and additions of 32 lanes; without an accumulator 64 additions less.
        "simdgroup_multiply" => flops(30),
        "simdgroup_multiply_accumulate" => flops(32),
        _ => match OPERATIONS.iter().find(|(other, _)| *other == name) {
            Some((_, operations)) => flops(operations * lanes),
            None => Counts { special: lanes, ..Counts::default() },
        },
    }
}

/// What a kernel's input is a fact of (MSL specification 5.2.3.6); none of what only the grid decides.
fn input(name: &str) -> Option<&'static str> {
    match name {
        "thread_position_in_grid" | "threads_per_grid" | "grid_origin" | "grid_size" => None,
        "thread_index_in_simdgroup"
        | "thread_index_in_quadgroup"
        | "simdgroup_index_in_threadgroup"
        | "quadgroup_index_in_threadgroup"
        | "threads_per_simdgroup"
        | "thread_execution_width"
        | "simdgroups_per_threadgroup"
        | "dispatch_simdgroups_per_threadgroup"
        | "quadgroups_per_threadgroup"
        | "dispatch_quadgroups_per_threadgroup" => Some("simdgroup"),
        _ => Some("threadgroup_position"),
    }
}

/// A place of the user's text: line and column, both from 1, in bytes.
pub(crate) type Place = (u32, u32);

struct Node {
    depth: u64,
    place: Place,
    counts: Counts,
    read: u64,
    written: u64,
    is_conditional: bool,
}

/// What is read and put together of the pass's lines.
pub(super) struct Reader<'a> {
    pub(super) stream: &'a Stream,
    pub(super) source: &'a str,
    pub(super) map: &'a Map,
    pub(super) signature: &'a Signature,
}

impl Reader<'_> {
    /// The text for the user of what the pass told.
    pub(super) fn read(&self, output: &str) -> Result<String, CompileFailure> {
        let printer = Printer::new(self.stream, self.source);
        let mut facts: BTreeSet<(Place, &str)> = BTreeSet::new();
        let mut accesses: BTreeSet<(Place, String)> = BTreeSet::new();
        let mut uncounted: BTreeSet<Place> = BTreeSet::new();
        let mut costs: BTreeSet<(Place, &str)> = BTreeSet::new();
        let mut registers: Option<([u64; 3], Place)> = None;
        let mut nodes: Vec<Node> = Vec::new();
        for parameter in &self.signature.parameters {
            let place = printer.place(parameter.name.unwrap_or(parameter.range.0), 0);
            match parameter.role {
                Role::Input(name) => facts.extend(input(name).map(|kind| (place, kind))),
                Role::Threadgroup | Role::Imageblock => _ = facts.insert((place, "threadgroup_memory")),
                Role::StageIn => _ = uncounted.insert(place),
                Role::Buffer | Role::Texture | Role::Sampler => {}
            }
        }
        for line in output.lines().filter_map(|line| line.strip_prefix(LINE)) {
            let words: Vec<&str> = line.split(' ').collect();
            let place = |at: usize| self.place(&words, at);
            let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
            let told = match (words[0], nodes.last_mut()) {
                ("fact", _) if words.get(1) == Some(&"atomic") => {
                    let of_device = number(2).is_none_or(|argument| self.space(argument) == "device");
                    place(3).map(|place| _ = of_device && facts.insert((place, "atomic")))
                }
                ("fact", _) => {
                    let kinds = ["barrier", "simdgroup", "threadgroup_memory", "fence", "print"];
                    let kind = kinds.into_iter().find(|kind| words.get(1) == Some(kind));
                    kind.zip(place(2)).map(|(kind, place)| _ = facts.insert((place, kind)))
                }
                ("uncounted", _) => place(1).map(|place| _ = uncounted.insert(place)),
                ("division", _) => place(1).map(|place| _ = costs.insert((place, "division"))),
                ("function", _) => words.get(1..).and_then(Counts::of_function).map(|counts| {
                    costs.extend(place(4).filter(|_| counts.special > 0).map(|place| (place, "special")));
                }),
                ("registers", _) => (|| {
                    // The point may be in no place of the user's.
                    let place = place(4).unwrap_or((0, 0));
                    registers = Some(([number(1)?, number(2)?, number(3)?], place));
                    Some(())
                })(),
                ("work", _) => (|| {
                    let counts = Counts { flops: number(4)?, special: 0, integer: number(5)? };
                    let is_conditional = match *words.get(6)? {
                        "conditional" => true,
                        "always" => false,
                        _ => return None,
                    };
                    // The thread's own work has no place.
                    let place = if number(1)? == 0 { (0, 0) } else { place(2)? };
                    nodes.push(Node { depth: number(1)?, place, counts, read: 0, written: 0, is_conditional });
                    Some(())
                })(),
                ("call", Some(node)) => node.counts.add_call(&words),
                ("access", Some(node)) => (|| {
                    let (times, root, usage, bytes) = (number(1)?, *words.get(2)?, *words.get(3)?, number(4)?);
                    let (space, argument) = self.memory(root)?;
                    let moved = times.saturating_mul(if space == "device" { bytes } else { 0 });
                    if usage != "write" {
                        node.read = node.read.saturating_add(moved);
                    }
                    if usage != "read" {
                        node.written = node.written.saturating_add(moved);
                    }
                    let text = format!("{space} {argument} {usage} {bytes} {} {}", words.get(5)?, words.get(6)?);
                    accesses.insert((place(7)?, text));
                    Some(())
                })(),
                _ => None,
            };
            if told.is_none() {
                let log = format!("the pass told of the kernel in a way that is not known: '{line}'");
                return Err(CompileFailure { kind: Failure::Toolchain, log });
            }
        }
        if nodes.is_empty() {
            let log = "the pass told nothing of the kernel".to_owned();
            return Err(CompileFailure { kind: Failure::Toolchain, log });
        }
        let mut text = String::new();
        let mut add = |line: std::fmt::Arguments| _ = writeln!(text, "{line}");
        facts.iter().for_each(|((line, column), kind)| add(format_args!("fact {kind} {line} {column}")));
        accesses.iter().for_each(|((line, column), access)| add(format_args!("access {access} {line} {column}")));
        uncounted.iter().for_each(|(line, column)| add(format_args!("uncounted {line} {column}")));
        costs.iter().for_each(|((line, column), cost)| add(format_args!("cost {cost} {line} {column}")));
        if let Some(([thread, uniform, private], (line, column))) = registers {
            add(format_args!("registers {thread} {uniform} {private} {line} {column}"));
        }
        for Node { depth, place: (line, column), counts, read, written, is_conditional } in nodes {
            let Counts { flops, special, integer } = counts;
            let how = if is_conditional { "conditional" } else { "always" };
            add(format_args!("work {depth} {line} {column} {flops} {special} {integer} {read} {written} {how}"));
        }
        Ok(text)
    }

    /// The place of the user's text in these words of the pass's.
    pub(super) fn place(&self, words: &[&str], at: usize) -> Option<Place> {
        let (line, column) = (words.get(at)?.parse().ok()?, words.get(at + 1)?.parse().ok()?);
        let printer = Printer::new(self.stream, self.source);
        self.map.origin(line, column).map(|(token, offset)| printer.place(token, offset))
    }

    /// The memory that the pass means, and the name of the parameter.
    pub(super) fn memory(&self, root: &str) -> Option<(&'static str, &str)> {
        Some(match root {
            "threadgroup" => ("threadgroup", "-"),
            // What is reached through pointers in memory.
            "unknown" => ("device", "-"),
            argument => (self.space(argument.parse().ok()?), self.name(argument.parse().ok()?)),
        })
    }

    fn parameter(&self, argument: u64) -> Option<&Parameter> {
        self.signature.parameters.get(usize::try_from(argument).ok()?)
    }

    fn name(&self, argument: u64) -> &str {
        self.parameter(argument).and_then(|parameter| parameter.name).map_or("-", |token| self.stream.at(token))
    }

    /// The memory that a parameter points to.
    fn space(&self, argument: u64) -> &'static str {
        let Some(parameter) = self.parameter(argument) else { return "device" };
        let (start, end) = parameter.range;
        let words = || (start..end).map(|token| self.stream.at(token));
        match parameter.role {
            Role::Threadgroup | Role::Imageblock => "threadgroup",
            _ if words().find(|word| matches!(*word, "device" | "constant")) == Some("constant") => "constant",
            _ => "device",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_count_as_the_specification_defines_them() {
        let counts = |flops, special, integer| Counts { flops, special, integer };
        let cases = [
            // x * x + y * y + z * z
            (("dot", true, 3), counts(5, 0, 0)),
            (("length", true, 2), counts(3, 1, 0)),
            // I - 2 * dot(N, I) * N
            (("reflect", true, 3), counts(5 + 1 + 3 + 3, 0, 0)),
            // x + (y - x) * a
            (("mix", true, 4), counts(12, 0, 0)),
            (("fma", true, 1), counts(2, 0, 0)),
            (("exp", true, 4), counts(0, 4, 0)),
            (("sincos", true, 1), counts(0, 2, 0)),
            (("clamp", true, 4), counts(0, 0, 0)),
            (("clamp", false, 4), counts(0, 0, 0)),
            (("mad24", false, 2), counts(0, 0, 4)),
            (("popcount", false, 1), counts(0, 0, 1)),
            // Of 512 multiplications and 512 additions a lane's.
            (("simdgroup_multiply_accumulate", true, 1), counts(1024 / 32, 0, 0)),
        ];
        for ((name, is_float, lanes), expected) in cases {
            assert_eq!(function(name, is_float, lanes), expected, "{name}");
        }
    }
}
