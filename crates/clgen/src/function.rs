//! Structures, functions, and the kernel that uses them.

use std::collections::HashSet;

use crate::choices::Choices;
use crate::expr::{Function, Generator, Kind, Param, Returns, Target, Variable};
use crate::layout::{of_record, size};
use crate::types::{Field, FieldKind, INTEGERS, Record, Scalar, Type};
use crate::{Arg, Program};

/// Elements of each buffer and of local memory that belong to one work-item.
pub(crate) const OWN: usize = 4;

/// Numbers of each kind that one work-item puts out.
const RESULTS: usize = 24;

/// How a kernel is launched.
#[derive(Clone, Copy)]
struct Shape {
    dimensions: u32,
    grid: [u64; 3],
    group: [u64; 3],
}

/// Grids of up to 16 work-items, an even number.
#[rustfmt::skip]
const SHAPES: [Shape; 12] = [
    Shape { dimensions: 1, grid: [8, 1, 1], group: [4, 1, 1] },
    Shape { dimensions: 1, grid: [16, 1, 1], group: [8, 1, 1] },
    Shape { dimensions: 1, grid: [6, 1, 1], group: [3, 1, 1] },
    Shape { dimensions: 1, grid: [4, 1, 1], group: [1, 1, 1] },
    Shape { dimensions: 1, grid: [16, 1, 1], group: [16, 1, 1] },
    Shape { dimensions: 2, grid: [4, 2, 1], group: [2, 2, 1] },
    Shape { dimensions: 2, grid: [4, 4, 1], group: [4, 1, 1] },
    Shape { dimensions: 2, grid: [6, 2, 1], group: [3, 2, 1] },
    Shape { dimensions: 2, grid: [2, 6, 1], group: [1, 3, 1] },
    Shape { dimensions: 3, grid: [2, 2, 4], group: [2, 1, 4] },
    Shape { dimensions: 3, grid: [2, 4, 2], group: [1, 2, 2] },
    Shape { dimensions: 3, grid: [3, 2, 2], group: [3, 1, 2] },
];

impl Shape {
    /// Names for a work-item, for its place in its group and for its group; declarations of them, if there are any.
    fn names(self) -> ([String; 3], Option<String>) {
        if self.dimensions == 1 {
            return (["get_global_id(0)", "get_local_id(0)", "get_group_id(0)"].map(str::to_owned), None);
        }
        let linear = |function: &str, sizes: [u64; 3]| match self.dimensions {
            2 => format!("({function}(0) + {function}(1) * {})", sizes[0]),
            _ => format!("({function}(0) + ({function}(1) + {function}(2) * {}) * {})", sizes[1], sizes[0]),
        };
        let groups = [0, 1, 2].map(|at| self.grid[at] / self.group[at]);
        let lane = linear("get_local_id", self.group);
        let group = linear("get_group_id", groups);
        let count: u64 = self.group.iter().product();
        let declared = format!("const size_t lane = {lane}, item = {group} * {count} + lane;");
        (["item".to_owned(), "lane".to_owned(), group], Some(declared))
    }
}

pub(crate) fn program(choices: &mut Choices) -> Program {
    let mut g = Generator::new(choices);
    g.double = g.choices.once_in(4);
    let shape = g.choices.of(&SHAPES);
    let args = g.program("k", shape);
    let Shape { dimensions, grid, group } = shape;
    Program { source: g.lines.join("\n") + "\n", double: g.double, dimensions, grid, group, args }
}

/// Programs one behind the other, the kernels `k0`, `k1` and so on, until there are so many bytes.
pub(crate) fn large(choices: &mut Choices, bytes: usize) -> String {
    let mut g = Generator::new(choices);
    let mut source = String::new();
    let mut kernels = 0;
    while source.len() < bytes {
        let shape = g.choices.of(&SHAPES);
        g.program(&format!("k{kernels}"), shape);
        kernels += 1;
        for line in g.lines.drain(..) {
            source.push_str(&line);
            source.push('\n');
        }
        g.records.clear();
        g.variables.clear();
        g.pure.clear();
        g.writers.clear();
        g.makers.clear();
        g.macros.clear();
        g.pictures.clear();
        g.samplers.clear();
        g.canvas = None;
    }
    source
}

impl<'c> Generator<'c> {
    fn new(choices: &'c mut Choices) -> Generator<'c> {
        Generator {
            choices,
            records: Vec::new(),
            variables: Vec::new(),
            pure: Vec::new(),
            writers: Vec::new(),
            makers: Vec::new(),
            counters: None,
            macros: Vec::new(),
            lines: Vec::new(),
            depth: 0,
            next_name: 0,
            words: HashSet::new(),
            labels: Vec::new(),
            pictures: Vec::new(),
            canvas: None,
            samplers: Vec::new(),
            item: String::new(),
            lane: String::new(),
            group: String::new(),
            prints: false,
            barriers: false,
            double: false,
            budget: 0,
            loops: 0,
            returns: None,
            in_kernel: false,
            indexing: false,
        }
    }

    /// A whole program; what the kernel takes.
    fn program(&mut self, kernel: &str, shape: Shape) -> Vec<Arg> {
        self.barriers = !self.choices.once_in(3);
        self.prints = self.choices.once_in(4);
        if !self.barriers {
            self.entries();
        }
        for _ in 0..self.choices.below(3) {
            self.record();
        }
        for _ in 0..self.choices.below(3) {
            self.a_macro();
        }
        for _ in 0..self.choices.below(3) {
            self.table();
        }
        for _ in 0..self.choices.below(5) {
            match self.choices.below(5) {
                0 => self.writer(),
                1 => self.maker(),
                2 => self.reacher(),
                _ => self.pure_function(),
            }
        }
        self.kernel(kernel, shape)
    }

    fn record(&mut self) {
        let name = self.name("R");
        let is_union = self.choices.once_in(3);
        let mut fields = Vec::new();
        if is_union {
            // All of one size, integers, so that each can be read whichever was written.
            let table: &[(Scalar, usize)] = match self.choices.below(2) {
                0 => &[(Scalar::UInt, 1), (Scalar::Int, 1), (Scalar::UChar, 4), (Scalar::Short, 2), (Scalar::Char, 4)],
                _ => &[(Scalar::ULong, 1), (Scalar::UInt, 2), (Scalar::UShort, 4), (Scalar::Long, 1), (Scalar::Int, 2)],
            };
            let first = self.choices.below(table.len());
            for at in 0..2 + self.choices.below(2) {
                let (scalar, lanes) = table[(first + at) % table.len()];
                fields.push(FieldKind::Plain(Type { scalar, lanes }));
            }
        } else {
            for _ in 0..1 + self.choices.below(4) {
                let ty = self.any_type();
                fields.push(match self.choices.below(5) {
                    0 => FieldKind::Array(ty, self.choices.of(&[2, 4])),
                    1 if !self.records.is_empty() => FieldKind::Record(self.choices.below(self.records.len())),
                    _ => FieldKind::Plain(ty),
                });
            }
        }
        let fields: Vec<Field> =
            fields.into_iter().enumerate().map(|(at, kind)| Field { name: format!("f{at}"), kind }).collect();
        let word = if is_union { "union" } else { "struct" };
        let named = self.choices.once_in(2);
        self.line(if named { format!("{word} {name} {{") } else { format!("typedef {word} {{") });
        for field in &fields {
            let text = match field.kind {
                FieldKind::Plain(ty) => format!("    {} {};", ty.name(), field.name),
                FieldKind::Array(ty, len) => format!("    {} {}[{len}];", ty.name(), field.name),
                FieldKind::Record(record) => format!("    {} {};", self.records[record].name, field.name),
            };
            self.line(text);
        }
        self.line(if named { "};".to_owned() } else { format!("}} {name};") });
        let name = if named { format!("{word} {name}") } else { name };
        self.records.push(Record { name, is_union, fields });
    }

    fn a_macro(&mut self) {
        let name = self.name("M");
        let body = self.choices.of(&[
            "((a) ^ (b))",
            "((a) & 0xFF | (b) << 3)",
            "((a) < (b) ? (a) : (b))",
            "((uint)(a) * (uint)(b) + 7u)",
            "((a) == (b) || (a) != 0)",
        ]);
        line!(self, "#define {name}(a, b) {body}");
        self.macros.push(name);
    }

    fn pure_function(&mut self) {
        let (name, result) = (self.name("h"), self.any_type());
        let scope = self.variables.len();
        let mut list = Vec::new();
        let count = 1 + self.choices.below(3);
        let params = self.parameters(count, &mut list);
        line!(self, "{} {name}({})", result.name(), list.join(", "));
        self.line("{");
        self.body(result);
        self.line("}");
        self.variables.truncate(scope);
        self.pure.push(Function { name, result, params });
    }

    /// Statements of a function and what it returns.
    pub(crate) fn body(&mut self, result: Type) {
        self.depth += 1;
        self.line("ulong sum = 1;");
        self.budget = 8;
        self.returns = Some(Returns::Plain(result));
        self.statements(5, false);
        self.returns = None;
        if self.choices.once_in(3) {
            let (condition, value) = (self.condition(2), self.expr(result, 2));
            line!(self, "if ({condition}) return {value};");
            self.statements(2, false);
        }
        let value = self.expr(result, 2);
        let name = result.name();
        match (result.is_float(), result.lanes) {
            (true, _) => line!(self, "return (sum & 4) ? -{value} : {value};"),
            (_, 1) => line!(self, "return ({name})({value} ^ sum);"),
            _ => line!(self, "return {value} ^ ({name})(({})sum);", result.scalar.name()),
        }
        self.depth -= 1;
    }

    /// A function with a pointer into any address space.
    fn writer(&mut self) {
        let (name, result) = (self.name("w"), self.any_type());
        let (scalar, lanes) =
            (self.choices.of(&[Scalar::Int, Scalar::UInt, Scalar::Float]), self.choices.of(&[1, 2, 4, 8]));
        let element = Type { scalar, lanes };
        let other = self.any_type();
        let (pointer, value) = (self.name("q"), self.name("x"));
        let scope = self.variables.len();
        self.declare(pointer.clone(), Kind::Array(element, OWN));
        self.declare(value.clone(), Kind::Plain(other));
        let start = self.lines.len();
        // A pointer variable in it has the space of the parameter, which only the macro knows.
        self.variables[scope].space = "SPACE";
        self.body(result);
        self.variables.truncate(scope);
        let body: Vec<String> = self.lines.drain(start..).collect();
        line!(
            self,
            "#define {name}_DEFINED(SPACE) OVERLOAD {} {name}(SPACE {}* {pointer}, {} {value}) {{ \\",
            result.name(),
            element.name(),
            other.name()
        );
        for line in body {
            line!(self, "{line} \\");
        }
        self.line("}");
        self.line("#ifdef PEER");
        self.line("#define OVERLOAD __attribute__((overloadable))");
        line!(self, "{name}_DEFINED(__global) {name}_DEFINED(__local) {name}_DEFINED(__private)");
        self.line("#else");
        self.line("#define OVERLOAD");
        line!(self, "{name}_DEFINED()");
        self.line("#endif");
        self.line("#undef OVERLOAD");
        let target = Target { kind: Kind::Array(element, OWN), writable: true, space: None };
        let params = vec![Param::Pointer(target), Param::Plain(other)];
        self.writers.push(Function { name, result, params });
    }

    fn kernel(&mut self, kernel: &str, shape: Shape) -> Vec<Arg> {
        let [grid, group] = [shape.grid, shape.group].map(|sizes| sizes.iter().product::<u64>() as usize);
        let (names, declared_names) = shape.names();
        [self.item, self.lane, self.group] = names;
        let (mut args, mut list) = (Vec::new(), Vec::new());
        args.push(Arg::Buffer(vec![Some(Scalar::ULong)], grid * RESULTS));
        list.push("__global ulong* out".to_owned());
        args.push(Arg::Buffer(vec![Some(Scalar::Float)], grid * RESULTS));
        list.push("__global float* fout".to_owned());
        args.push(Arg::Buffer(vec![Some(Scalar::Int)], 6));
        list.push("__global int* acc".to_owned());
        self.in_kernel = true;
        let mut own = Vec::new();
        for _ in 0..1 + self.choices.below(3) {
            let name = self.name("b");
            let wanted = self.wanted(&["__global", "__constant"]);
            let (writable, space, qualifiers) = match wanted {
                Some((_, Some("__constant"))) => (false, "__constant", ""),
                Some(_) => (true, "__global", ""),
                None => {
                    self.choices.of(&[(true, "__global", ""), (false, "__global", "const "), (false, "__constant", "")])
                }
            };
            let any = !self.records.is_empty() && self.choices.once_in(3);
            let record = match wanted {
                Some((Kind::Record(record), _)) => Some(record),
                None if any => Some(self.choices.below(self.records.len())),
                _ => None,
            };
            if let Some(record) = record {
                list.push(format!("{space} {qualifiers}{}* {name}", self.records[record].name));
                args.push(Arg::Buffer(of_record(&self.records, record).0, grid));
                let place = format!("{name}[{}]", self.item);
                own.push(Variable { place, kind: Kind::Record(record), writable, space });
                continue;
            }
            let ty = match wanted {
                Some((Kind::Array(element, _), _)) => element,
                _ => Type { scalar: self.any_scalar(), lanes: self.choices.of(&[1, 2, 3, 4, 8, 16]) },
            };
            list.push(format!("{space} {qualifiers}{}* {name}", ty.name()));
            args.push(Arg::Buffer(ty.layout(), grid * OWN));
            own.push(Variable {
                place: format!("({name} + {} * {OWN})", self.item),
                kind: Kind::Array(ty, OWN),
                writable,
                space,
            });
        }
        for _ in 0..self.choices.below(3) {
            let name = self.name("s");
            if !self.records.is_empty() && self.choices.once_in(3) {
                let record = self.choices.below(self.records.len());
                list.push(format!("{} {name}", self.records[record].name));
                args.push(Arg::Value(of_record(&self.records, record).0));
                own.push(Variable { place: name, kind: Kind::Record(record), writable: false, space: "" });
                continue;
            }
            let ty = self.any_type();
            list.push(format!("{} {name}", ty.name()));
            args.push(Arg::Value(ty.layout()));
            // To work-items of PoCL a parameter that is written to is one variable of all of them.
            own.push(Variable { place: name, kind: Kind::Plain(ty), writable: false, space: "" });
        }
        if self.choices.once_in(4) {
            for _ in 0..self.choices.below(3) {
                self.sampler();
            }
            self.image_arguments(grid, &mut args, &mut list);
        }
        let local = match self.wanted(&["__local"]) {
            Some((Kind::Array(element, _), _)) => element,
            _ => Type { scalar: self.choices.of(&INTEGERS), lanes: self.choices.of(&[1, 2, 4, 8, 16]) },
        };
        let local_argument = self.choices.once_in(2);
        if local_argument {
            list.push(format!("__local {}* l", local.name()));
            args.push(Arg::Local(group * OWN * size(&local.layout())));
        }
        line!(self, "__kernel void {kernel}({})", list.join(", "));
        self.line("{");
        self.depth += 1;
        if let Some(names) = declared_names {
            self.line(names);
        }
        self.line("ulong sum = 1;");
        // On one line, so that whoever takes lines away takes both.
        let declared =
            if local_argument { String::new() } else { format!("__local {} l[{}]; ", local.name(), group * OWN) };
        line!(self, "{declared}for (int i = 0; i < {OWN}; i++) l[{} * {OWN} + i] = ({})(i);", self.lane, local.name());
        self.variables.extend(own);
        if self.choices.once_in(4) {
            self.table();
        }
        self.most_images();
        self.budget = 20 + self.choices.below(30);
        // Work-items that left would be missed at the next barrier.
        self.returns = (!self.barriers && self.choices.once_in(4)).then_some(Returns::Nothing);
        self.statements(6, false);
        self.returns = None;
        for _ in 0..if self.barriers { self.choices.below(4) } else { 0 } {
            match self.choices.below(5) {
                0 | 1 => self.exchange(local, group),
                2 => self.copied(group, OWN),
                3 => self.counters(group),
                _ => self.collective(group, shape.group),
            }
            self.statements(4, false);
        }
        self.results();
        self.in_kernel = false;
        self.depth -= 1;
        self.line("}");
        args
    }

    /// Work-items write to local memory, wait, and read what others wrote.
    fn exchange(&mut self, local: Type, group: usize) {
        let scope = self.variables.len();
        self.variables.push(Variable {
            place: format!("(l + {} * {OWN})", self.lane),
            kind: Kind::Array(local, OWN),
            writable: true,
            space: "__local",
        });
        let count = 2 + self.choices.below(3);
        self.statements(count, false);
        // What was declared lives on, the way to local memory does not.
        self.variables.remove(scope);
        self.line("barrier(CLK_LOCAL_MEM_FENCE);");
        let (name, step) = (self.name("v"), self.choices.below(group * OWN));
        line!(self, "{} {name} = l[({} * {OWN} + {step}) % {}];", local.name(), self.lane, group * OWN);
        self.declare(name, Kind::Plain(local));
        self.line("barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);");
    }

    /// Everything in scope goes to the output buffers.
    fn results(&mut self) {
        let item = self.item.clone();
        line!(self, "out[{item} * {RESULTS}] = sum;");
        let (mut integers, mut floats) = (1, 0);
        for Variable { place, kind, .. } in self.variables.clone() {
            let (place, ty) = match kind {
                Kind::Plain(ty) => (place, ty),
                Kind::Array(ty, len) => (format!("{place}[{}]", len - 1), ty),
                Kind::Record(record) => match self.field(&place, record) {
                    (place, Kind::Plain(ty)) => (place, ty),
                    _ => continue,
                },
            };
            for lane in 0..ty.lanes {
                let value = if ty.lanes == 1 { place.clone() } else { format!("{place}.s{lane:x}") };
                let (buffer, count) = if ty.is_float() { ("fout", &mut floats) } else { ("out", &mut integers) };
                if *count < RESULTS {
                    let cast = if ty.is_float() { "" } else { "(ulong)" };
                    let line = format!("{buffer}[{item} * {RESULTS} + {count}] = {cast}{value};");
                    *count += 1;
                    self.line(line);
                }
            }
        }
    }
}
