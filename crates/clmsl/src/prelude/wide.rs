//! Vectors that MSL does not have, as structures of two halves, and the forms of operators, conversions and functions for
//! them.
//!
//! `struct alignas(32) clmsl_float8 { metal::float4 lo, hi; };` lies in memory as OpenCL C's `float8` does. A form does
//! what it stands for to both halves; where a half is no native vector it calls a form in turn. Forms take values, so one
//! serves all address spaces.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{Excerpt, Use};
use crate::types::{Scalar, Type, halves, is_native_vector, msl_name};

/// What shuffles are called.
const SHUFFLE: &str = "clmsl_shuffle";

/// What a form does to native vectors.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Leaf {
    /// The function of this name, to each component.
    Call(String),
    Infix(&'static str),
    Prefix(&'static str),
    /// To the result's type; a scalar fills the vector.
    Convert,
    /// The same bits.
    Reinterpret,
    /// A component by a number: of one vector, or of two as if one behind the other.
    Element,
    /// From a pointer to elements.
    Load,
    /// To a pointer to elements.
    Store,
    /// Components of one or two vectors by a vector of numbers.
    Shuffle,
}

/// A type in a form's signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Shape {
    Value(Scalar, u8),
    /// To a vector, in any address space.
    Pointer(Scalar, u8),
}

/// A function of the prelude for vectors that MSL does not have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Form {
    pub(crate) leaf: Leaf,
    pub(crate) args: Vec<Shape>,
    /// `None` is void.
    pub(crate) ret: Option<(Scalar, u8)>,
}

impl Leaf {
    /// What a call of an MSL or prelude function is.
    pub(crate) fn of_head(head: &str) -> Leaf {
        match head {
            "clmsl_element" => Leaf::Element,
            "clmsl_vload" => Leaf::Load,
            "clmsl_vstore" => Leaf::Store,
            SHUFFLE => Leaf::Shuffle,
            _ if head.starts_with("as_type<") => Leaf::Reinterpret,
            _ => Leaf::Call(head.to_owned()),
        }
    }

    /// Whether calls of `head` are forms for native vectors too.
    pub(crate) fn is_always_form(head: &str) -> bool {
        head == SHUFFLE
    }
}

impl Shape {
    pub(crate) fn of(ty: &Type) -> Option<Shape> {
        match ty {
            Type::Pointer(p) => p.ty.arithmetic().map(|(s, n)| Shape::Pointer(s, n)),
            _ => ty.arithmetic().map(|(s, n)| Shape::Value(s, n)),
        }
    }
}

fn is_emulated(lanes: &(Scalar, u8)) -> bool {
    lanes.1 > 1 && !is_native_vector(lanes.0, lanes.1)
}

/// The types and forms that a program needs, each behind what it uses.
#[derive(Default)]
pub(super) struct Wide {
    types: BTreeSet<(u8, Scalar)>,
    done: BTreeSet<Form>,
    uses: BTreeSet<Use>,
    text: String,
}

/// The text for these types and forms, and what it uses of the other pieces.
pub(crate) fn excerpt(types: &BTreeSet<(Scalar, u8)>, forms: &BTreeSet<Form>) -> (Option<Excerpt>, BTreeSet<Use>) {
    let mut wide = Wide::default();
    types.iter().for_each(|t| wide.note(*t));
    forms.iter().for_each(|f| wide.form(f.clone()));
    let mut text = String::new();
    for &(lanes, element) in &wide.types {
        let (low, high) = halves(lanes);
        let (lo, hi) = (msl_name(element, low), msl_name(element, high));
        let members = if lo == hi { format!("{lo} lo, hi;") } else { format!("{lo} lo; {hi} hi;") };
        let size = element.size() * u64::from(lanes.next_power_of_two());
        let _ = writeln!(text, "struct alignas({size}) {} {{ {members} }};", msl_name(element, lanes));
    }
    text.push_str(&wide.text);
    let excerpt = (!text.is_empty()).then_some(Excerpt { file: "wide", line: 1, text });
    (excerpt, wide.uses)
}

impl Form {
    /// The name it is called by; the operator itself for operators.
    pub(crate) fn name(&self) -> String {
        let result = || self.ret.map_or_else(|| "void".to_owned(), |(s, n)| msl_name(s, n).replace("metal::", ""));
        let typed = |verb: &str| format!("clmsl_{verb}_{}", result().trim_start_matches("clmsl_"));
        match &self.leaf {
            Leaf::Call(head) => {
                let head = head.trim_start_matches("clmsl_").trim_start_matches("metal::");
                format!("clmsl_{}", head.replace("::", "_").replace('<', "_").replace('>', ""))
            }
            Leaf::Infix(op) | Leaf::Prefix(op) => format!("operator{op}"),
            Leaf::Convert if matches!(self.args.first(), Some(Shape::Value(_, 1))) => typed("splat"),
            Leaf::Convert => typed("convert"),
            Leaf::Reinterpret => typed("as"),
            Leaf::Element => "clmsl_element".to_owned(),
            Leaf::Load => typed("vload"),
            Leaf::Store => "clmsl_vstore".to_owned(),
            Leaf::Shuffle => SHUFFLE.to_owned(),
        }
    }

    fn is_emulated(&self) -> bool {
        let values = self.args.iter().any(|a| matches!(a, Shape::Value(s, n) if is_emulated(&(*s, *n))));
        values || self.ret.as_ref().is_some_and(is_emulated) || self.leaf == Leaf::Shuffle
    }
}

/// The names of a form's parameters.
const NAMES: [&str; 4] = ["a", "b", "c", "d"];

impl Wide {
    fn note(&mut self, (element, lanes): (Scalar, u8)) {
        if element == Scalar::Double {
            self.uses.insert(Use::of_piece("double"));
        }
        if lanes > 1 && !is_native_vector(element, lanes) && self.types.insert((lanes, element)) {
            let (low, high) = halves(lanes);
            self.note((element, low));
            self.note((element, high));
        }
    }

    /// Writes a form, after those it calls.
    fn form(&mut self, form: Form) {
        if !self.done.insert(form.clone()) {
            return;
        }
        for (s, n) in form.args.iter().filter_map(|a| match a {
            Shape::Value(s, n) => Some((*s, *n)),
            Shape::Pointer(..) => None,
        }) {
            self.note((s, n));
        }
        form.ret.into_iter().for_each(|t| self.note(t));
        let body = self.body(&form);
        let pointers = form.args.iter().filter(|a| matches!(a, Shape::Pointer(..))).count();
        let params: Vec<String> = form
            .args
            .iter()
            .zip(NAMES)
            .map(|(shape, name)| match shape {
                Shape::Value(s, n) => format!("{} {name}", msl_name(*s, *n)),
                Shape::Pointer(..) => format!("{} {name}", name.to_uppercase()),
            })
            .collect();
        if pointers > 0 {
            let of_pointer = |(a, n): (&Shape, &str)| {
                matches!(a, Shape::Pointer(..)).then(|| format!("typename {}", n.to_uppercase()))
            };
            let names: Vec<String> = form.args.iter().zip(NAMES).filter_map(of_pointer).collect();
            let _ = write!(self.text, "template <{}> ", names.join(", "));
        }
        let ret = form.ret.map_or_else(|| "void".to_owned(), |(s, n)| msl_name(s, n));
        let head = format!("inline {ret} {}({}) {{", form.name(), params.join(", "));
        let _ = if head.len() + body.len() < 110 {
            writeln!(self.text, "{head} {body} }}")
        } else {
            writeln!(self.text, "{head}\n  {body}\n}}")
        };
    }

    fn body(&mut self, form: &Form) -> String {
        match &form.leaf {
            Leaf::Call(head) => self.geometric(head, form).unwrap_or_else(|| self.by_halves(form)),
            Leaf::Element => self.element(form),
            Leaf::Load => self.load(form),
            Leaf::Store => self.store(form),
            Leaf::Shuffle => self.shuffle(form),
            Leaf::Reinterpret => self.reinterpret(form),
            _ => self.by_halves(form),
        }
    }

    /// A call with these arguments: of the form, or of what it stands for on native vectors.
    pub(super) fn call(&mut self, form: Form, args: &[String]) -> String {
        let list = args.join(", ");
        if form.is_emulated() {
            let text = match (&form.leaf, args) {
                (Leaf::Infix(op), [a, b]) => format!("{a} {op} {b}"),
                (Leaf::Prefix(op), [a]) => format!("{op}{a}"),
                _ => format!("{}({list})", form.name()),
            };
            self.form(form);
            return text;
        }
        match (&form.leaf, args) {
            (Leaf::Infix(op), [a, b]) => {
                self.operator(op, &form);
                format!("{a} {op} {b}")
            }
            (Leaf::Prefix(op), [a]) => {
                self.operator(op, &form);
                format!("{op}{a}")
            }
            (Leaf::Convert, [a]) if matches!((form.args.first(), form.ret), (Some(Shape::Value(s, 1)), Some((t, 1))) if *s == t) => {
                a.clone()
            }
            (Leaf::Convert, _) => form.ret.map_or_else(String::new, |(s, n)| format!("{}({list})", msl_name(s, n))),
            (Leaf::Call(head), _) => {
                let types: Vec<Type> = form.args.iter().map(|shape| shape.native()).collect();
                let types: Vec<&Type> = types.iter().collect();
                let ret = form.ret.map_or(Type::Void, |(s, n)| Type::lanes(s, n));
                self.uses.extend(Use::of_call(head, &types, &ret));
                format!("{head}({list})")
            }
            _ => unreachable!("the others say themselves what they do"),
        }
    }

    /// Notes what the operator needs for scalars.
    fn operator(&mut self, op: &str, form: &Form) {
        if let Some(Shape::Value(Scalar::Double, 1)) = form.args.first() {
            self.uses.insert(Use::of_double(op, form.args.len() == 1));
        }
    }

    fn by_halves(&mut self, form: &Form) -> String {
        let lanes = |shape: &Shape| match shape {
            Shape::Value(_, n) | Shape::Pointer(_, n) => *n,
        };
        let count = form.args.iter().map(lanes).chain(form.ret.map(|(_, n)| n)).max().unwrap_or(1);
        let (mut results, mut parts, mut stores) = (Vec::new(), String::new(), String::new());
        for (shape, name) in form.args.iter().zip(NAMES) {
            // A native vector has no part that can be pointed to.
            if let Shape::Pointer(s, n) = shape
                && is_native_vector(*s, *n)
            {
                let (low, high) = halves(*n);
                let (low, high) = (msl_name(*s, low), msl_name(*s, high));
                let _ = write!(parts, "{low} {name}_lo; {high} {name}_hi;");
                let _ = write!(stores, "*{name} = {};", join((*s, *n), &format!("{name}_lo"), &format!("{name}_hi")));
            }
        }
        for high in [false, true] {
            let part = if high { halves(count).1 } else { halves(count).0 };
            let halved = |n: u8| if n == count { part } else { n };
            let args = form.args.iter().map(|shape| match shape {
                Shape::Value(s, n) => Shape::Value(*s, halved(*n)),
                Shape::Pointer(s, n) => Shape::Pointer(*s, halved(*n)),
            });
            let sub =
                Form { leaf: form.leaf.clone(), args: args.collect(), ret: form.ret.map(|(s, n)| (s, halved(n))) };
            let texts = form.args.iter().zip(NAMES).map(|(shape, name)| match shape {
                Shape::Value(s, n) if *n == count => half(name, *s, *n, high),
                Shape::Value(..) => name.to_owned(),
                Shape::Pointer(s, n) => {
                    let separator = if is_native_vector(*s, *n) { "_" } else { "->" };
                    format!("&{name}{separator}{}", if high { "hi" } else { "lo" })
                }
            });
            let texts: Vec<String> = texts.collect();
            results.push(self.call(sub, &texts));
        }
        let (low, high) = (&results[0], &results[1]);
        match (&form.leaf, form.ret) {
            (Leaf::Call(head), Some((_, 1))) if head == "clmsl_sum" => format!("return {low} + {high};"),
            (Leaf::Call(head), Some((_, 1))) if head == "clmsl_largest" => format!("return clmsl_fmax({low}, {high});"),
            (_, Some(ret)) if !stores.is_empty() => {
                let ty = msl_name(ret.0, ret.1);
                let whole = join(ret, low, high);
                format!("{parts}\n  const {ty} result = {whole};\n  {stores}\n  return result;")
            }
            (_, None) => format!("{low}; {high};"),
            (Leaf::Call(head), Some((_, 1))) if head == "metal::any" => format!("return {low} || {high};"),
            (Leaf::Call(head), Some((_, 1))) if head == "metal::all" => format!("return {low} && {high};"),
            (_, Some(ret)) => format!("return {};", join(ret, low, high)),
        }
    }

    /// `a < 4 ? v.lo[a] : v.hi[a - 4]`
    fn element(&mut self, form: &Form) -> String {
        let Some(&Shape::Value(s, n)) = form.args.first() else { unreachable!("a vector comes first") };
        let index = NAMES[form.args.len() - 1];
        let (low, parts) = if form.args.len() == 3 {
            (n, [("a".to_owned(), n), ("b".to_owned(), n)])
        } else {
            let (low, high) = halves(n);
            (low, [(half("a", s, n, false), low), (half("a", s, n, true), high)])
        };
        let [first, second] = parts;
        let first = self.one(&first.0, s, first.1, index);
        let second = self.one(&second.0, s, second.1, &format!("{index} - {low}"));
        format!("return {index} < {low} ? {first} : {second};")
    }

    /// A component of a vector.
    fn one(&mut self, vector: &str, element: Scalar, lanes: u8, index: &str) -> String {
        if lanes == 1 {
            return vector.to_owned();
        }
        if is_native_vector(element, lanes) {
            return format!("{vector}[{index}]");
        }
        let args = vec![Shape::Value(element, lanes), Shape::Value(Scalar::Int, 1)];
        self.form(Form { leaf: Leaf::Element, args, ret: Some((element, 1)) });
        format!("clmsl_element({vector}, {index})")
    }

    fn load(&mut self, form: &Form) -> String {
        let Some((element, lanes)) = form.ret else { unreachable!("it gives a vector") };
        let (low, high) = halves(lanes);
        let first = self.load_part(form, element, low, 0);
        let second = self.load_part(form, element, high, low);
        format!("return {};", join((element, lanes), &first, &second))
    }

    fn load_part(&mut self, form: &Form, element: Scalar, lanes: u8, start: u8) -> String {
        let ret = (element, lanes);
        if is_emulated(&ret) {
            let pointer = if start == 0 { "a".to_owned() } else { format!("a + {start}") };
            return self.call(Form { ret: Some(ret), ..form.clone() }, &[pointer]);
        }
        let elements: Vec<String> = (start..start + lanes).map(|i| format!("a[{i}]")).collect();
        if lanes == 1 { elements.concat() } else { format!("{}({})", msl_name(element, lanes), elements.join(", ")) }
    }

    fn store(&mut self, form: &Form) -> String {
        let Some(&Shape::Value(element, lanes)) = form.args.first() else { unreachable!("the vector comes first") };
        let (low, high) = halves(lanes);
        let mut out = Vec::new();
        for (start, count, high) in [(0, low, false), (low, high, true)] {
            let part = half("a", element, lanes, high);
            if is_emulated(&(element, count)) {
                let pointer = if start == 0 { "b".to_owned() } else { format!("b + {start}") };
                let args = vec![Shape::Value(element, count), Shape::Pointer(element, 1)];
                out.push(self.call(Form { args, ..form.clone() }, &[part, pointer]) + ";");
            } else if count == 1 {
                out.push(format!("b[{start}] = {part};"));
            } else {
                out.extend((0..count).zip("xyzw".chars()).map(|(i, c)| format!("b[{}] = {part}.{c};", start + i)));
            }
        }
        out.join(" ")
    }

    /// The mask comes last; its lanes are the result's.
    fn shuffle(&mut self, form: &Form) -> String {
        let Some((element, lanes)) = form.ret else { unreachable!("it gives a vector") };
        let Some((&Shape::Value(by, _), sources)) = form.args.split_last() else { unreachable!("the mask comes last") };
        let Some(&Shape::Value(_, from)) = sources.first() else { unreachable!("a vector comes first") };
        let mask = NAMES[sources.len()];
        if is_emulated(&(element, lanes)) {
            let (low, high) = halves(lanes);
            let mut part = |count: u8, high: bool| {
                let mut args = sources.to_vec();
                args.push(Shape::Value(by, count));
                let mut texts: Vec<String> = NAMES[..sources.len()].iter().map(|n| (*n).to_owned()).collect();
                texts.push(half(mask, by, lanes, high));
                self.call(Form { leaf: Leaf::Shuffle, args, ret: Some((element, count)) }, &texts)
            };
            let (low, high) = (part(low, false), part(high, true));
            return format!("return {};", join((element, lanes), &low, &high));
        }
        let highest = u32::from(from) * sources.len() as u32 - 1;
        let picks: Vec<String> = "xyzw"
            .chars()
            .take(usize::from(lanes))
            .map(|c| {
                let lane = if lanes == 1 { String::new() } else { format!(".{c}") };
                let index = format!("int({mask}{lane}) & {highest}");
                if sources.len() == 1 {
                    return self.one("a", element, from, &index);
                }
                let args = vec![sources[0], sources[1], Shape::Value(Scalar::Int, 1)];
                self.form(Form { leaf: Leaf::Element, args, ret: Some((element, 1)) });
                format!("clmsl_element(a, b, {index})")
            })
            .collect();
        if lanes == 1 {
            return format!("return {};", picks.concat());
        }
        format!("return {}({});", msl_name(element, lanes), picks.join(", "))
    }

    /// Down to native vectors of the same size on both sides; a scalar goes by way of two of half its size.
    fn reinterpret(&mut self, form: &Form) -> String {
        let (Some(&Shape::Value(from, n)), Some((to, m))) = (form.args.first(), form.ret) else {
            unreachable!("one value makes another")
        };
        let pair = |whole: Scalar| match whole.size() {
            8 => Scalar::UInt,
            4 => Scalar::UShort,
            _ => Scalar::UChar,
        };
        if n == 1 {
            let text = format!("as_type<{}>(a)", msl_name(pair(from), 2));
            let by_pair = self.same_bits((pair(from), 2), (to, m), &text);
            return format!("return {by_pair};");
        }
        let (target, count) = if m == 1 { (pair(to), 2) } else { (to, m) };
        let (low, high) = (halves(n), halves(count));
        let first = self.same_bits((from, low.0), (target, high.0), &half("a", from, n, false));
        let second = self.same_bits((from, low.1), (target, high.1), &half("a", from, n, true));
        let whole = join((target, count), &first, &second);
        if m == 1 { format!("return as_type<{}>({whole});", msl_name(to, 1)) } else { format!("return {whole};") }
    }

    fn same_bits(&mut self, from: (Scalar, u8), to: (Scalar, u8), text: &str) -> String {
        if from == to {
            return text.to_owned();
        }
        if from == (Scalar::Double, 1) {
            return self.same_bits((Scalar::ULong, 1), to, &format!("{text}.bits"));
        }
        if to == (Scalar::Double, 1) {
            return format!("clmsl_double{{{}}}", self.same_bits(from, (Scalar::ULong, 1), text));
        }
        if is_emulated(&from) || is_emulated(&to) {
            let form = Form { leaf: Leaf::Reinterpret, args: vec![Shape::Value(from.0, from.1)], ret: Some(to) };
            return self.call(form, &[text.to_owned()]);
        }
        format!("as_type<{}>({text})", msl_name(to.0, to.1))
    }
}

impl Shape {
    fn native(self) -> Type {
        match self {
            Shape::Value(s, n) => Type::lanes(s, n),
            Shape::Pointer(s, n) => {
                Type::pointer(Type::lanes(s, n), crate::types::Space::Private, crate::types::Quals::default())
            }
        }
    }
}

/// A half of a variable.
fn half(name: &str, element: Scalar, lanes: u8, high: bool) -> String {
    let member = match (is_native_vector(element, lanes), lanes, high) {
        (false, _, false) => "lo",
        (false, _, true) => "hi",
        (true, 2, false) => "x",
        (true, 2, true) => "y",
        (true, 3, false) => "xy",
        (true, 3, true) => "z",
        (true, _, false) => "xy",
        (true, _, true) => "zw",
    };
    format!("{name}.{member}")
}

/// A vector from its halves.
fn join((element, lanes): (Scalar, u8), low: &str, high: &str) -> String {
    if is_emulated(&(element, lanes)) {
        format!("{}{{{low}, {high}}}", msl_name(element, lanes))
    } else {
        format!("{}({low}, {high})", msl_name(element, lanes))
    }
}
