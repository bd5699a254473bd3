//! Pointers and references that name no address space (MSL specification 4).
//!
//! Apple's compiler refuses such a type wherever it is written, at its `*` or `&`. Clang takes it for one to any address space. Here it counts
//! where the tokens can be nothing else: behind a type that is known, in a declaration, a parameter list, a cast or an alias. A reference to a
//! pointer needs no space of its own (`device uint *&p`: MLX's quantized kernels, which Apple's compiler builds, have them). Types that
//! depend on a template's parameters, `auto`, what is among a template's arguments, and names that may have an address space of their own are let pass.

use super::diagnose::Finding;
use super::scan::Program;
use super::token::{Kind, NONE, Stream};
use std::collections::HashSet;

const SCALARS: [&str; 25] = [
    "void",
    "bool",
    "char",
    "uchar",
    "short",
    "ushort",
    "int",
    "uint",
    "long",
    "ulong",
    "half",
    "float",
    "bfloat",
    "int8_t",
    "uint8_t",
    "int16_t",
    "uint16_t",
    "int32_t",
    "uint32_t",
    "int64_t",
    "uint64_t",
    "size_t",
    "ptrdiff_t",
    "unsigned",
    "signed",
];

/// Types of the library that are one word.
const CLASSES: [&str; 9] = [
    "atomic_bool",
    "atomic_int",
    "atomic_uint",
    "atomic_ulong",
    "atomic_float",
    "simdgroup_float8x8",
    "simdgroup_half8x8",
    "simdgroup_bfloat8x8",
    "sampler",
];

/// And its templates of types.
const TEMPLATES: [&str; 25] = [
    "vec",
    "packed_vec",
    "matrix",
    "atomic",
    "array",
    "array_ref",
    "uniform",
    "simdgroup_matrix",
    "visible_function_table",
    "texture1d",
    "texture1d_array",
    "texture2d",
    "texture2d_array",
    "texture2d_ms",
    "texture2d_ms_array",
    "texture3d",
    "texturecube",
    "texturecube_array",
    "texture_buffer",
    "depth2d",
    "depth2d_array",
    "depth2d_ms",
    "depth2d_ms_array",
    "depthcube",
    "depthcube_array",
];

pub(super) const SPACES: [&str; 7] =
    ["device", "constant", "threadgroup", "thread", "threadgroup_imageblock", "ray_data", "object_data"];

/// Words in front of a type's name, or behind it, that do not change where the object lies.
const SPECIFIERS: [&str; 11] =
    ["const", "volatile", "static", "constexpr", "struct", "class", "union", "unsigned", "signed", "metal", "inline"];

/// Whether it is a scalar or vector type of MSL: `float`, `uint3`, `packed_half2`, `float4x4`.
pub(super) fn is_builtin(word: &str) -> bool {
    let word = word.strip_prefix("packed_").unwrap_or(word);
    let bare = word.trim_end_matches(|c: char| matches!(c, '2'..='4' | 'x'));
    SCALARS.contains(&word) || bare.len() < word.len() && word.len() - bare.len() <= 3 && SCALARS.contains(&bare)
}

/// `skipped`: tokens that do not count.
pub(super) fn check(stream: &Stream, program: &Program, skipped: &[bool], findings: &mut Vec<Finding>) {
    let pointers = Pointers {
        s: stream,
        program,
        types: types(stream, program),
        templates: templates(stream, program),
        parameters: parameters(stream),
        lists: program.functions.iter().map(|function| function.params.0).collect(),
    };
    for first in (1..stream.len()).filter(|&i| !skipped[i] && matches!(stream.at(i), "*" | "&")) {
        if let Some(mark) = pointers.unqualified(first) {
            let what = if stream.is(mark, "*") { "pointer" } else { "reference" };
            findings.push(Finding::error(mark, format!("{what} type must have explicit address space qualifier")));
        }
    }
}

/// Whether the type that is named at `i` is a template, or an instance of one.
fn is_template(s: &Stream, i: usize) -> bool {
    s.is(i.wrapping_sub(2), ">")
}

/// The templates of classes, with those of the library.
fn templates<'a>(s: &'a Stream, program: &Program) -> HashSet<&'a str> {
    let own = program.types.iter().filter(|&&i| is_template(s, i)).map(|&i| s.at(i));
    TEMPLATES.into_iter().chain(own).collect()
}

/// The names of templates' parameters.
fn parameters(s: &Stream) -> HashSet<&str> {
    let opened = (1..s.len()).filter(|&i| s.is(i - 1, "template") && s.is(i, "<"));
    let lists = opened.filter_map(|open| Some(s.split(open + 1, s.angle_close(open, s.len())?)));
    let name = |(start, end): (usize, usize)| {
        let end = (start..end).find(|&i| s.is(i, "=")).unwrap_or(end);
        (start..end).rev().find(|&i| s.is_ident(i))
    };
    lists.flatten().filter_map(name).map(|i| s.at(i)).collect()
}

/// The program's types that have no address space, and depend on nothing.
fn types<'a>(s: &'a Stream, program: &Program) -> HashSet<&'a str> {
    // No enumerators, and no objects of a class that is defined with them.
    let is_type = |i: usize| match s.at(i.wrapping_sub(1)) {
        "{" | "," => false,
        "}" if s.mate[i - 1] != NONE => {
            let mut before = (0..s.mate[i - 1]).rev().take_while(|&j| !matches!(s.at(j), ";" | "{" | "}"));
            before.any(|j| s.is(j, "typedef"))
        }
        _ => true,
    };
    let own = program.types.iter().filter(|&&i| is_type(i) && !is_template(s, i)).map(|&i| s.at(i));
    let mut types: HashSet<&str> = CLASSES.into_iter().chain(own).collect();
    for i in 0..s.len() {
        if s.is(i, "using") && s.is_ident(i + 1) && s.is(i + 2, "=") {
            let end = (i..s.len()).find(|&j| s.is(j, ";")).unwrap_or(i);
            alias(s, i + 1, (i + 3, end), &mut types);
        } else if s.is(i, "typedef") {
            let end = (i..s.len()).find(|&j| matches!(s.at(j), ";" | "{")).unwrap_or(i);
            alias(s, end.saturating_sub(1), (i + 1, end.saturating_sub(1)), &mut types);
        }
    }
    for i in 1..s.len() {
        let word = if s.is(i - 1, "...") { i.wrapping_sub(2) } else { i - 1 };
        let parameter =
            s.is(word, "typename") || s.is(word, "class") && matches!(s.at(word.wrapping_sub(1)), "<" | ",");
        if parameter {
            types.remove(s.at(i));
        }
    }
    types
}

/// Whether the name stands for a type that counts, which is `meaning`.
fn alias<'a>(s: &'a Stream, name: usize, (start, end): (usize, usize), types: &mut HashSet<&'a str>) {
    let mut words = (start..end).map(|i| s.at(i)).filter(|word| !SPECIFIERS.contains(word) && *word != "::");
    let plain = words.all(|word| is_builtin(word) || types.contains(word));
    if plain && start < end {
        types.insert(s.at(name));
    } else {
        types.remove(s.at(name));
    }
}

struct Pointers<'a> {
    s: &'a Stream,
    program: &'a Program,
    types: HashSet<&'a str>,
    templates: HashSet<&'a str>,
    /// Names of templates' parameters.
    parameters: HashSet<&'a str>,
    /// Where the parameters of functions begin.
    lists: HashSet<usize>,
}

impl Pointers<'_> {
    /// `mark` is a `*` or `&`: if it is the first of a type that is written out, the first of the type's that has no address space.
    fn unqualified(&self, mark: usize) -> Option<usize> {
        let s = self.s;
        let is_space = |i: usize| SPACES.contains(&s.at(i));
        let is_qualifier =
            |i: usize| matches!(s.at(i), "const" | "volatile" | "__restrict" | "__restrict__") || is_space(i);
        // Backwards over the type.
        let mut word = mark.checked_sub(1)?;
        let mut qualified = false;
        while is_qualifier(word) {
            qualified |= is_space(word);
            word = word.checked_sub(1)?;
        }
        let mut first = self.counts(word)?;
        while first > 0 {
            let before = first - 1;
            let scope = s.is(before, "::") || s.is(first, "::") && s.is_ident(before);
            if !(scope || SPECIFIERS.contains(&s.at(before)) || is_space(before)) {
                break;
            }
            qualified |= is_space(before);
            first = before;
        }
        // Forwards over the declarator.
        let mut found = (!qualified).then_some(mark);
        let mut behind = mark + 1;
        let mut known = is_space(behind);
        // `float * device p`: whatever it means.
        if found.is_some() && known {
            return None;
        }
        while is_qualifier(behind) || matches!(s.at(behind), "*" | "&") {
            known |= is_space(behind);
            if matches!(s.at(behind), "*" | "&") {
                if !known && found.is_none() && s.is(behind, "*") {
                    found = Some(behind);
                }
                known = false;
            }
            behind += 1;
        }
        found.filter(|_| self.is_type(first, behind))
    }

    /// Where the name of the type stands that ends at `last`, if it is one that counts.
    fn counts(&self, last: usize) -> Option<usize> {
        let s = self.s;
        if !s.is(last, ">") {
            return (is_builtin(s.at(last)) || self.types.contains(s.at(last))).then_some(last);
        }
        let open = s.angle_open(last, 0)?;
        let name = open.checked_sub(1)?;
        let depends = (open..last).any(|i| self.parameters.contains(s.at(i)));
        (self.templates.contains(s.at(name)) && !depends).then_some(name)
    }

    /// Whether what begins at `first`, and is followed by `behind`, can be nothing but a type.
    fn is_type(&self, first: usize, behind: usize) -> bool {
        let s = self.s;
        let Some(before) = first.checked_sub(1) else { return self.is_named(behind) };
        match s.at(before) {
            ";" | "{" | "}" => self.is_named(behind),
            _ if s.kind(before) == Some(Kind::Pragma) => self.is_named(behind),
            "typedef" => s.is_ident(behind) && matches!(s.at(behind + 1), ";" | "," | "["),
            "=" => s.is(behind, ";") && s.is(before.wrapping_sub(2), "using"),
            "<" => {
                let cast = matches!(s.at(before.wrapping_sub(1)), "static_cast" | "reinterpret_cast" | "const_cast");
                cast && s.is(behind, ">")
            }
            "(" | "," if matches!(s.at(behind), ")" | ",") => {
                s.is(before, "(") && s.is(behind, ")") || self.is_parameter(before)
            }
            "(" if matches!(s.at(before.wrapping_sub(1)), "for" | "if" | "while") => {
                s.is_ident(behind) && matches!(s.at(behind + 1), "=" | ":")
            }
            "(" | "," => self.is_parameter(before) && self.is_named(behind),
            _ => false,
        }
    }

    /// A name, and what ends a declarator.
    fn is_named(&self, name: usize) -> bool {
        let s = self.s;
        if !s.is_ident(name) || !matches!(s.at(name + 1), "=" | ";" | "," | ")" | "[" | "(") {
            return false;
        }
        // A function that returns a pointer is judged at its name: only `T *f(` with a parameter list.
        !s.is(name + 1, "(") || self.program.functions.iter().any(|f| f.name == name)
    }

    /// Whether `(` or `,` at `i` belongs to the parameter list of a function or a lambda.
    fn is_parameter(&self, i: usize) -> bool {
        let s = self.s;
        let mut j = i;
        loop {
            match s.at(j) {
                "(" => return self.lists.contains(&j) || self.is_lambda(j),
                ")" | "]" | "}" if s.mate[j] != NONE => j = s.mate[j],
                "{" | "[" | ";" => return false,
                _ => {}
            }
            if j == 0 {
                return false;
            }
            j -= 1;
        }
    }

    /// Whether a lambda's parameters begin at `open`.
    fn is_lambda(&self, open: usize) -> bool {
        let s = self.s;
        let Some(captures) = open.checked_sub(1).filter(|&i| s.is(i, "]") && s.mate[i] != NONE) else { return false };
        let before = s.mate[captures].wrapping_sub(1);
        let object = matches!(s.at(before), ")" | "]" | "[") || s.is_ident(before) && !s.is(before, "return");
        let behind = s.skip(open);
        !object && matches!(s.at(behind), "{" | "->" | "mutable" | "noexcept" | "constexpr")
    }
}
