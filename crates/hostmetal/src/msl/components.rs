//! Components of vectors are no objects in MSL: nothing points or refers to one (`&v.x`, `thread float &r = v[1]`, `modf(a, v.y)`), of packed
//! vectors neither. Here they are members of classes, so clang would allow it.
//!
//! Which expression is a vector clang knows, and where an address is taken or a reference is bound the tokens tell. So the program that clang
//! checks asks it there (hostmetal::addressed, bound, component of metal_type_traits), and the program that is compiled does not.

use super::rewrite::Edits;
use super::scan::Program;
use super::token::{NONE, Stream};
use std::collections::{HashMap, HashSet};

/// Functions of the library that return something by reference, and which argument that is.
const LIBRARY: [(&str, usize); 3] = [("modf", 1), ("frexp", 1), ("sincos", 1)];

/// Puts the questions into the program.
pub(super) fn ask(stream: &Stream, program: &Program, edits: &mut Edits) {
    let taken = references(stream, program);
    let declared: HashSet<usize> = program.functions.iter().map(|function| function.name).collect();
    let plain = edits.clone();
    for i in 1..stream.len() {
        if stream.is(i, "&") && is_unary(stream, i) {
            let question = |part: &Part| format!("(::hostmetal::addressed<{}>(), ", part.whole(stream, &plain));
            wrap(stream, edits, (i, i + 1), None, question);
        } else if stream.is(i, "&") && stream.is_ident(i + 1) && stream.is(i + 2, "=") && !is_const(stream, i) {
            let question = |part: &Part| format!("(::hostmetal::bound<{}>(), ", part.whole(stream, &plain));
            wrap(stream, edits, (i + 3, i + 3), Some(";"), question);
        } else if stream.is(i, "(") && stream.mate[i] != NONE && !declared.contains(&(i - 1)) {
            let Some(arguments) = taken.get(stream.at(i - 1)) else { continue };
            for (number, (start, end)) in stream.split(i + 1, stream.mate[i]).into_iter().enumerate() {
                if !arguments.contains(&number) {
                    continue;
                }
                let question = |part: &Part| {
                    let (whole, all) = (part.whole(stream, &plain), plain.text(stream, part.start, part.end));
                    format!("::hostmetal::component<{whole}, decltype(({all}))>(")
                };
                wrap(stream, edits, (start, start), Some(stream.at(end)), question);
            }
        }
    }
}

/// Which arguments of functions, by the functions' names, some function of the program takes by a reference that it may write through.
fn references<'a>(stream: &'a Stream, program: &Program) -> HashMap<&'a str, HashSet<usize>> {
    let mut all: HashMap<&str, HashSet<usize>> = HashMap::new();
    for (name, number) in LIBRARY {
        all.entry(name).or_default().insert(number);
    }
    for function in &program.functions {
        let (open, close) = function.params;
        for (number, (start, end)) in stream.split(open + 1, close).into_iter().enumerate() {
            let has = |word: &str| (start..end).any(|i| stream.is(i, word));
            if has("&") && !has("const") && !has("constant") && !has("(") {
                all.entry(stream.at(function.name)).or_default().insert(number);
            }
        }
    }
    all
}

/// Whether the `&` at `i` takes an address: no value ends before it, or a cast to a pointer does.
fn is_unary(stream: &Stream, i: usize) -> bool {
    match stream.at(i - 1) {
        "=" | "(" | "," | "return" | "{" | "?" | ":" | "!" | "&&" | "||" | "==" | "!=" | "+" | "-" | "*" => true,
        ")" => i >= 2 && stream.is(i - 2, "*"),
        _ => false,
    }
}

/// Whether the declaration with the `&` at `i` refers to something that is not written through it.
fn is_const(stream: &Stream, i: usize) -> bool {
    let mut words = (0..i).rev().map(|j| stream.at(j)).take_while(|word| !matches!(*word, ";" | "{" | "}" | "("));
    words.any(|word| matches!(word, "const" | "constant"))
}

/// `whole.x`, `whole->x` or `whole[i]`: all of it, and where the last part begins.
struct Part {
    start: usize,
    last: usize,
    end: usize,
}

impl Part {
    /// The type of the expression that the part is of, as an object.
    fn whole(&self, stream: &Stream, edits: &Edits) -> String {
        let whole = edits.text(stream, self.start, self.last);
        if stream.is(self.last, "->") { format!("decltype((*({whole})))") } else { format!("decltype(({whole}))") }
    }
}

/// Writes the question before `at.0` and a `)` behind the part that begins at `at.1`, if there is one and `next` comes behind it.
fn wrap(
    stream: &Stream,
    edits: &mut Edits,
    at: (usize, usize),
    next: Option<&str>,
    question: impl Fn(&Part) -> String,
) {
    if let Some(part) = part(stream, at.1).filter(|part| next.is_none_or(|next| stream.is(part.end, next))) {
        edits.before(at.0, &question(&part));
        edits.behind(part.end - 1, ")");
    }
}

/// The expression that begins at `start`, of names, members, elements and calls, if it ends with what may be a component.
fn part(stream: &Stream, start: usize) -> Option<Part> {
    let mut end = if stream.is(start, "(") { stream.skip(start) } else { start + 1 };
    if !stream.is(start, "(") && !stream.is_ident(start) {
        return None;
    }
    let mut last = None;
    loop {
        let begins = end;
        end = match stream.at(end) {
            "." | "->" if stream.is_ident(end + 1) && !stream.is(end + 1, "template") => end + 2,
            "::" if stream.is_ident(end + 1) && last.is_none() => end + 2,
            "[" if stream.attribute(end).is_none() && stream.mate[end] != NONE => stream.skip(end),
            "(" if stream.mate[end] != NONE => stream.skip(end),
            _ => break,
        };
        last = Some(begins);
    }
    let last = last?;
    let is_component = match stream.at(last) {
        "." | "->" => matches!(stream.at(last + 1), "x" | "y" | "z" | "w"),
        word => word == "[",
    };
    // What a lambda does cannot be said twice, and a swizzle is no object for clang either.
    let once = (start..end).any(|i| stream.is(i, "{"));
    (is_component && !once && !is_swizzle(stream, last - 1)).then_some(Part { start, last, end })
}

/// Whether the member at `i` may be a swizzle.
fn is_swizzle(stream: &Stream, i: usize) -> bool {
    let word = stream.at(i);
    let of = |letters: &str| word.chars().all(|c| letters.contains(c));
    i > 0 && matches!(stream.at(i - 1), "." | "->") && (of("rgba") || word.len() > 1 && of("xyzw"))
}
