//! The members of the structures that a kernel's buffers may hold, for reflection (MSL specification 2.13).
//!
//! clang knows types and offsets, but a C++ program cannot ask for the names of a structure's members. This file reads them
//! off the tokens and writes a specialisation of `hostmetal::members` for each structure (hostmetal_types.h). A structure
//! with anything that is not understood (bases, bit-fields, private members, references, pointers to arrays) is left out, and
//! reflection tells it without members.

use std::collections::HashSet;

use super::kernels::{attributes, declared_name};
use super::scan::Program;
use super::token::{NONE, Stream};

/// The specialisations for all structures whose names can be reached from `words`.
pub(crate) fn specialisations(stream: &Stream, program: &Program, words: HashSet<&str>) -> String {
    let reached = reach(stream, program, words);
    let structures = program.classes.iter().filter_map(|&class| structure(stream, program, class));
    let mut text = String::new();
    for Structure { name, members } in
        structures.filter(|one| reached.contains(one.name.rsplit("::").next().unwrap_or("")))
    {
        let list: Vec<String> = members
            .into_iter()
            .map(|Member { token, id, .. }| {
                let member = stream.at(token);
                let id = id.map_or("-1".to_owned(), |(from, to)| format!("({})", stream.words(from, to)));
                let number = token + 1;
                format!("member<decltype({name}::{member}), __builtin_offsetof({name}, {member}), {id}, {number}>")
            })
            .collect();
        text.push_str(&format!(
            " template <> struct hostmetal::members<{name}> {{ typedef member_list<{}> list; }};",
            list.join(", ")
        ));
    }
    text
}

/// The name of a member by the number that its specialisation gave it.
pub(crate) fn name(stream: &Stream, number: u32) -> Option<&str> {
    let token = (number as usize).checked_sub(1)?;
    stream.is_ident(token).then(|| stream.at(token))
}

/// All identifiers that the declarations of `words`, and of what these mention, are made of.
fn reach<'a>(stream: &'a Stream, program: &Program, words: HashSet<&'a str>) -> HashSet<&'a str> {
    let mut reached = words;
    let mut left: Vec<_> = program.regions.iter().collect();
    loop {
        let before = left.len();
        left.retain(|region| {
            let named = region.names.iter().any(|&name| reached.contains(stream.at(name)));
            if named {
                let (start, end) = region.range;
                reached.extend((start..=end).filter(|&i| stream.is_ident(i)).map(|i| stream.at(i)));
            }
            !named
        });
        if left.len() == before {
            return reached;
        }
    }
}

struct Structure {
    /// As anywhere in the program: `::space::S`.
    name: String,
    members: Vec<Member>,
}

pub(super) struct Member {
    /// Its name.
    pub(super) token: usize,
    /// The tokens of its declaration.
    pub(super) range: (usize, usize),
    /// The tokens of n in `[[id(n)]]`.
    id: Option<(usize, usize)>,
}

fn structure(s: &Stream, program: &Program, (open, close): (usize, usize)) -> Option<Structure> {
    Some(Structure { name: qualified(s, program, open)?, members: members(s, open, close)? })
}

/// The name of the structure with this brace; none for templates, those inside of functions, and those with bases.
fn qualified(s: &Stream, program: &Program, open: usize) -> Option<String> {
    let mut name = own_name(s, open)?.to_owned();
    let mut at = open;
    while at > 0 {
        at -= 1;
        match s.at(at) {
            ")" | "]" | "}" if s.mate[at] != NONE => at = s.mate[at],
            "(" => return None,
            "{" if program.classes.iter().any(|&(brace, _)| brace == at) => {
                name = format!("{}::{name}", own_name(s, at)?);
            }
            "{" => {
                let start = (0..at).rev().find(|&i| matches!(s.at(i), ";" | "{" | "}")).map_or(0, |i| i + 1);
                let space = (start..at).find(|&i| s.is(i, "namespace"))?;
                let spelled = s.words(space + 1, at).replace(' ', "");
                if !spelled.is_empty() {
                    name = format!("{spelled}::{name}");
                }
            }
            _ => {}
        }
    }
    Some(format!("::{name}"))
}

fn own_name(s: &Stream, open: usize) -> Option<&str> {
    let keyword =
        (0..open).rev().take(64).find(|&i| matches!(s.at(i), "struct" | "class" | "union" | ";" | "{" | "}"))?;
    if !s.is(keyword, "struct") || matches!(s.at(keyword.wrapping_sub(1)), ">" | "enum") {
        return None;
    }
    let mut i = keyword + 1;
    let mut name = None;
    while i < open {
        if let Some(behind) = s.attribute(i) {
            i = behind;
        } else if matches!(s.at(i), "alignas" | "__attribute__") {
            i = s.skip(i + 1);
        } else if s.is_ident(i) && name.is_none() {
            name = Some(i);
            i += 1;
        } else {
            return None;
        }
    }
    if name.is_none() && s.is(keyword.wrapping_sub(1), "typedef") {
        let behind = s.mate[open] + 1;
        name = (s.is_ident(behind) && s.is(behind + 1, ";")).then_some(behind);
    }
    name.map(|name| s.at(name))
}

/// The braces of the structures that are called so, and are no templates and have no bases.
pub(super) fn structures(s: &Stream, program: &Program, name: &str) -> Vec<(usize, usize)> {
    program.classes.iter().copied().filter(|&(open, _)| own_name(s, open) == Some(name)).collect()
}

/// The data members in order; none when one is not understood.
pub(super) fn members(s: &Stream, open: usize, close: usize) -> Option<Vec<Member>> {
    let mut members = Vec::new();
    let mut start = open + 1;
    while start < close {
        let mut end = start;
        // A method's parameter list, its body, or that of a structure.
        let (mut parameters, mut body, mut initialised) = (None, None, false);
        while end < close && !s.is(end, ";") {
            if let Some(behind) = s.attribute(end) {
                end = behind;
                continue;
            }
            match s.at(end) {
                "alignas" | "__attribute__" | "decltype" if s.is(end + 1, "(") => end = s.skip(end + 1),
                "<" if s.angle_close(end, close).is_some() => end = s.angle_close(end, close)? + 1,
                "=" => {
                    initialised = true;
                    end += 1;
                }
                "(" if !initialised => {
                    if matches!(s.at(end + 1), "*" | "&") {
                        return None;
                    }
                    parameters.get_or_insert(end);
                    end = s.skip(end);
                }
                "{" if !initialised => {
                    body = Some(end);
                    end = s.skip(end);
                    if parameters.is_some() {
                        break;
                    }
                }
                ":" if parameters.is_none() && !initialised => {
                    // `public:`; else a bit-field.
                    if end != start + 1 || !s.is(start, "public") {
                        return None;
                    }
                    start = end + 1;
                    end = start;
                }
                _ => end = s.skip(end),
            }
        }
        let first = s.at(start);
        let skipped = matches!(first, "using" | "typedef" | "static_assert" | "friend" | "static" | "template" | "");
        if matches!(first, "private" | "protected" | "union" | "class") {
            return None;
        }
        if skipped || parameters.is_some() || start == end {
        } else if matches!(first, "struct" | "enum") && body.is_some() {
            // A type, which must not declare a member as well.
            if !s.is(s.mate[body?] + 1, ";") || !s.is_ident(start + 1) {
                return None;
            }
        } else {
            for (from, to) in s.split(start, end) {
                if (from..to).any(|i| s.is(i, "&")) {
                    return None;
                }
                members.push(Member { token: declared_name(s, from, to)?, range: (from, to), id: id(s, from, to) });
            }
        }
        start = end + usize::from(s.is(end, ";"));
    }
    Some(members)
}

fn id(s: &Stream, from: usize, to: usize) -> Option<(usize, usize)> {
    let opened = (from..to).filter(|&i| s.attribute(i).is_some());
    let found = opened.flat_map(|i| attributes(s, i)).find(|attribute| s.is(attribute.name, "id"));
    found.and_then(|attribute| attribute.arguments)
}
