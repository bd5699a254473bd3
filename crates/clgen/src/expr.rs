//! Expressions: each is a primary or in parentheses, and has exactly the type that was asked for.

use std::collections::HashSet;

use crate::choices::Choices;
use crate::image::{Canvas, Picture, Sampler};
use crate::types::{FieldKind, Record, SCALARS, Scalar, Type};

/// What a name or place holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Plain(Type),
    /// A power of two of them; also what a pointer points to.
    Array(Type, usize),
    Record(usize),
}

/// Something in scope.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    /// How it is written.
    pub(crate) place: String,
    pub(crate) kind: Kind,
    pub(crate) writable: bool,
    /// The address space of an array's elements, empty for private memory.
    pub(crate) space: &'static str,
}

/// A parameter of a function.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Param {
    Plain(Type),
    Record(usize),
    Pointer(Target),
}

/// What a parameter points to: an array or a structure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub(crate) kind: Kind,
    pub(crate) writable: bool,
    /// Any, if there is none.
    pub(crate) space: Option<&'static str>,
}

#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) result: Type,
    pub(crate) params: Vec<Param>,
}

/// What a function returns.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Returns {
    Nothing,
    Plain(Type),
    Record(usize),
}

/// A function that returns a structure.
#[derive(Clone, Debug)]
pub(crate) struct Maker {
    pub(crate) name: String,
    pub(crate) record: usize,
    pub(crate) params: Vec<Param>,
}

/// A program under construction.
pub(crate) struct Generator<'c> {
    pub(crate) choices: &'c mut Choices,
    pub(crate) records: Vec<Record>,
    pub(crate) variables: Vec<Variable>,
    /// Without side effects.
    pub(crate) pure: Vec<Function>,
    /// With a pointer, which comes first.
    pub(crate) writers: Vec<Function>,
    pub(crate) makers: Vec<Maker>,
    /// The local counters in scope.
    pub(crate) counters: Option<String>,
    /// Macros with two integer parameters and their result's type.
    pub(crate) macros: Vec<String>,
    pub(crate) lines: Vec<String>,
    pub(crate) depth: usize,
    pub(crate) next_name: usize,
    /// Words that are names already.
    pub(crate) words: HashSet<&'static str>,
    /// Those that may be jumped to: they come behind the current statement.
    pub(crate) labels: Vec<String>,
    /// Images that are read.
    pub(crate) pictures: Vec<Picture>,
    /// The image that is written.
    pub(crate) canvas: Option<Canvas>,
    /// Those at program scope and the kernel's.
    pub(crate) samplers: Vec<Sampler>,
    /// The work-item's number: those of a group come one behind the other.
    pub(crate) item: String,
    /// Its number in its group.
    pub(crate) lane: String,
    /// Its group's.
    pub(crate) group: String,
    /// Whether there is `printf`.
    pub(crate) prints: bool,
    /// Whether the kernel has barriers.
    pub(crate) barriers: bool,
    /// Whether there is `double`.
    pub(crate) double: bool,
    /// Statements that may still be generated.
    pub(crate) budget: usize,
    /// How many loops are around the current statement.
    pub(crate) loops: usize,
    /// What the function may return anywhere, if it may.
    pub(crate) returns: Option<Returns>,
    /// Where `acc` is in scope.
    pub(crate) in_kernel: bool,
    /// Within an index, in which indices are constants.
    pub(crate) indexing: bool,
}

const LETTERS: [char; 4] = ['x', 'y', 'z', 'w'];

impl Generator<'_> {
    pub(crate) fn any_scalar(&mut self) -> Scalar {
        if self.double && self.choices.once_in(4) {
            return Scalar::Double;
        }
        self.choices.of(&SCALARS)
    }

    pub(crate) fn any_type(&mut self) -> Type {
        let scalar = self.any_scalar();
        let lanes = self.choices.of(&[1, 1, 1, 1, 2, 3, 4, 2, 4, 8, 16]);
        Type { scalar, lanes }
    }

    pub(crate) fn expr(&mut self, ty: Type, depth: usize) -> String {
        if depth == 0 || self.choices.once_in(5) {
            return self.leaf(ty);
        }
        match (ty.lanes, ty.is_float()) {
            (1, false) => self.integer(ty.scalar, depth - 1),
            (1, true) => self.float(ty, depth - 1),
            (_, false) => self.vector(ty, depth - 1),
            (_, true) => self.float(ty, depth - 1),
        }
    }

    /// A condition, any scalar.
    pub(crate) fn condition(&mut self, depth: usize) -> String {
        if self.choices.once_in(8) {
            let float = self.any_float();
            return self.expr(Type::scalar(float), depth);
        }
        self.selector(depth)
    }

    /// A condition of `?`, which may not be a float (OpenCL C 3.0 §6.4.9).
    pub(crate) fn selector(&mut self, depth: usize) -> String {
        if self.choices.once_in(4) {
            return self.any_integer(depth).0;
        }
        let scalar = self.any_scalar();
        let ty = Type::scalar(scalar);
        let a = self.expr(ty, depth);
        let b = self.expr(ty, depth);
        format!("({a} {} {b})", self.choices.of(&["<", "<=", ">", ">=", "==", "!="]))
    }

    /// An index below `len`, a power of two.
    pub(crate) fn index(&mut self, len: usize, depth: usize) -> String {
        if depth == 0 || self.indexing || self.choices.once_in(3) {
            return self.choices.below(len).to_string();
        }
        self.indexing = true;
        let (value, _) = self.any_integer(depth - 1);
        self.indexing = false;
        format!("({value} & {})", len - 1)
    }

    pub(crate) fn leaf(&mut self, ty: Type) -> String {
        for _ in 0..6 {
            if self.variables.is_empty() {
                break;
            }
            let at = self.choices.below(self.variables.len());
            let Variable { place, kind, .. } = self.variables[at].clone();
            if let Some(value) = self.read(place, kind, ty) {
                return value;
            }
        }
        // What a variable holds is worth more than a constant, which compilers fold.
        if self.choices.once_in(2)
            && let Some(value) = self.converted(ty)
        {
            return value;
        }
        self.constant(ty)
    }

    /// A plain variable of another type, converted.
    pub(crate) fn converted(&mut self, ty: Type) -> Option<String> {
        let plain: Vec<(String, Type)> = self
            .variables
            .iter()
            .filter_map(|v| match v.kind {
                // A float goes to an integer with saturation only.
                Kind::Plain(have) => Some((v.place.clone(), have)),
                _ => None,
            })
            .collect();
        if plain.is_empty() {
            return None;
        }
        let (place, have) = plain[self.choices.below(plain.len())].clone();
        let sat = if have.is_float() && !ty.is_float() { "_sat" } else { "" };
        let value = match (have.lanes, ty.lanes) {
            (from, to) if from == to => place,
            (1, _) => {
                let wide = have.with(ty.lanes).name();
                format!("(({wide})({place}))")
            }
            (from, 1) => format!("{place}.s{:x}", self.choices.below(from)),
            (from, to) => format!("{place}.{}", self.letters(from, to)),
        };
        Some(format!("convert_{}{sat}({value})", ty.name()))
    }

    /// A value of the type out of something.
    fn read(&mut self, place: String, kind: Kind, ty: Type) -> Option<String> {
        match kind {
            Kind::Plain(have) if have == ty => Some(place),
            Kind::Plain(have) if have.scalar == ty.scalar && have.lanes > 1 && ty.lanes != 1 => {
                let letters = self.letters(have.lanes, ty.lanes);
                Some(format!("{place}.{letters}"))
            }
            Kind::Plain(have) if have.scalar == ty.scalar && have.lanes > 1 => {
                let lane = self.choices.below(have.lanes);
                let numbered = self.choices.once_in(3);
                let lettered = !numbered && have.lanes <= 4;
                Some(if lettered { format!("{place}.{}", LETTERS[lane]) } else { format!("{place}.s{lane:x}") })
            }
            Kind::Plain(_) => None,
            Kind::Array(element, len) => {
                let index = self.index(len, 1);
                self.read(format!("{place}[{index}]"), Kind::Plain(element), ty)
            }
            Kind::Record(record) => {
                let (place, kind) = self.field(&place, record);
                self.read(place, kind, ty)
            }
        }
    }

    /// Any field of a structure.
    pub(crate) fn field(&mut self, place: &str, record: usize) -> (String, Kind) {
        let at = self.choices.below(self.records[record].fields.len());
        let field = self.records[record].fields[at].clone();
        let kind = match field.kind {
            FieldKind::Plain(ty) => Kind::Plain(ty),
            FieldKind::Array(ty, len) => Kind::Array(ty, len),
            FieldKind::Record(record) => Kind::Record(record),
        };
        // Through a pointer: `(*p).f` is `p->f`.
        let pointer = place.strip_prefix("(*").and_then(|rest| rest.strip_suffix(')'));
        let name = field.name;
        (pointer.map_or_else(|| format!("{place}.{name}"), |pointer| format!("{pointer}->{name}")), kind)
    }

    /// A swizzle of `wanted` components out of `lanes`.
    pub(crate) fn letters(&mut self, lanes: usize, wanted: usize) -> String {
        let choice = self.choices.below(6);
        if lanes == 2 * wanted && choice < 4 {
            return ["lo", "hi", "even", "odd"][choice].to_owned();
        }
        if lanes > 4 || wanted > 4 || choice == 4 {
            let prefix = self.choices.of(&['s', 'S']);
            let digits: String = (0..wanted).map(|_| format!("{:x}", self.choices.below(lanes))).collect();
            return format!("{prefix}{digits}");
        }
        (0..wanted).map(|_| LETTERS[self.choices.below(lanes)]).collect()
    }

    /// A call of a function without side effects; something of its value.
    pub(crate) fn call(&mut self, ty: Type, depth: usize) -> String {
        if !self.makers.is_empty()
            && self.choices.once_in(4)
            && let Some(value) = self.made_field(ty)
        {
            return value;
        }
        let fits =
            |f: &&Function| f.result.scalar == ty.scalar || (ty.lanes == 1 && !ty.is_float() && !f.result.is_float());
        let fitting: Vec<Function> = self.pure.iter().filter(fits).cloned().collect();
        if fitting.is_empty() || self.loops > 1 {
            return self.leaf(ty);
        }
        let function = &fitting[self.choices.below(fitting.len())];
        let Some(arguments) = self.arguments(&function.params, depth.min(1)) else { return self.leaf(ty) };
        let value = format!("{}({})", function.name, arguments.join(", "));
        if function.result.scalar == ty.scalar {
            let value = self.read(value, Kind::Plain(function.result), ty);
            return value.unwrap_or_else(|| self.constant(ty));
        }
        let lane = if function.result.lanes > 1 { ".s1" } else { "" };
        format!("({}){value}{lane}", ty.name())
    }

    /// A member of what a function returns.
    fn made_field(&mut self, ty: Type) -> Option<String> {
        let at = self.choices.below(self.makers.len());
        let record = self.makers[at].record;
        let made = self.made(record)?;
        match self.field(&made, record) {
            (place, kind @ Kind::Plain(_)) => self.read(place, kind, ty),
            _ => None,
        }
    }
}
