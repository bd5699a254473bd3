//! Address spaces that clang lets pass for `thread`, and Apple's compiler does not: `device float *` as `thread float *`.
//!
//! The programs that are compiled have nothing for `thread`, which is any address space then: clang's own rules would refuse what MSL
//! allows (methods and constructors of objects in `thread`). So clang is asked a second time, to look only, with an address space for
//! `thread`. Of what it finds counts alone what names two different ones: where a call finds no function, each of them must be out of
//! the question, at least one for that reason. `this`, for one, has no address space of its own there, and what clang says of it does not
//! count. MSL specification 4.
//!
//! `constant` has none of its own, here either: elements of matrices and arrays in `constant` are read through `const device`
//! (hostmetal_language.h, `HOSTMETAL_ELEMENTS`), and could not be passed on as `constant`.

use super::archive::Archives;
use super::diagnose::{Finding, read_clang};
use super::invoke::{HEAD, PROGRAM, Request, kept, run};
use super::rewrite::{Edits, emit};
use super::store::Record;
use super::token::Stream;
use super::toolchain::Toolchain;
use super::{CompileFailure, CompileOptions};

/// Of hostmetal_language.h, what the program shall see otherwise.
const APART: &str = "#undef thread\n#define thread __private\n#undef __mq_thread\n#define __mq_thread __private\n";

/// Clang's words for `thread`, `device`, `constant` (or one of the two), and `threadgroup`.
const NAMED: [&str; 4] = ["__private", "__global_host", "__global", "__local"];
/// And for those that say nothing.
const UNNAMED: [&str; 2] = ["__generic", "__constant"];

/// Whether the program names the address space that others may pass for.
pub(super) fn may_pass(stream: &Stream) -> bool {
    (0..stream.len()).any(|at| stream.is(at, "thread"))
}

/// What the program mistakes. It is one that clang accepts otherwise.
pub(super) fn check(
    toolchain: &Toolchain,
    options: &CompileOptions,
    stream: &Stream,
    edits: &Edits,
    tail: &[(usize, String)],
) -> Result<Vec<Finding>, CompileFailure> {
    let (text, map) = emit(stream, edits, &format!("{APART}{HEAD}"), tail);
    let flags = &["-fsyntax-only", "-fshow-overloads=all"];
    let request = Request { math: options.arithmetic(), text: &text, flags, pass: false, object: false };
    // The number: of `mistakes`, whose answer is kept.
    let key = toolchain.key(&["spaces", "2", &request.key(toolchain)]);
    let make = || {
        let asked = run(toolchain, &request)?;
        Ok(Record { success: true, output: mistakes(&asked.output), file: Vec::new() })
    };
    let record = kept(toolchain, &key, str::to_owned, &Archives::default(), make, |_| false)?;
    Ok(read_clang(&record.output, PROGRAM, &map))
}

/// Of what clang says, the errors that count, with their notes.
fn mistakes(output: &str) -> String {
    let mut lines = output.lines().peekable();
    let mut kept = String::new();
    while let Some(line) = lines.next() {
        let mut notes = Vec::new();
        while let Some(note) = lines.next_if(|line| message(line, "note").is_some()) {
            notes.push(note);
        }
        let Some(error) = message(line, "error").filter(|_| line.starts_with(PROGRAM)) else { continue };
        if counts(error, notes.iter().filter_map(|note| message(note, "note"))) {
            kept.extend(std::iter::once(line).chain(notes).flat_map(|line| [line, "\n"]));
        }
    }
    kept
}

/// The text behind `: error: `.
fn message<'a>(line: &'a str, severity: &str) -> Option<&'a str> {
    let (place, text) = line.split_once(": ")?;
    let text = text.strip_prefix(severity)?.strip_prefix(": ")?;
    place.ends_with(|c: char| c.is_ascii_digit()).then_some(text)
}

/// What a candidate that is not called, or an error by itself, says of address spaces.
#[derive(PartialEq)]
enum Said {
    /// Two that are named differ.
    Differ,
    /// Nothing: the reason is another.
    Nothing,
    /// What this way of asking may have made.
    Unclear,
}

fn counts<'a>(error: &str, notes: impl Iterator<Item = &'a str>) -> bool {
    if !error.starts_with("no matching ") {
        return CONVERSIONS.iter().any(|words| error.contains(words)) && said(error) == Said::Differ;
    }
    let candidates: Vec<Said> = notes.filter(|note| note.starts_with("candidate ")).map(candidate).collect();
    candidates.contains(&Said::Differ) && !candidates.contains(&Said::Unclear)
}

/// Of errors that are about a conversion between two types.
const CONVERSIONS: [&str; 6] = [
    "cannot initialize ",
    " changes address space",
    "C-style cast from ",
    "reinterpret_cast from ",
    "static_cast from ",
    "functional-style cast from ",
];

fn candidate(note: &str) -> Said {
    let about_spaces = [
        "cannot pass pointer to address space ",
        "cannot bind reference in address space ",
        "'this' object is in address space ",
        " does not match adjusted type ",
        "cannot deduce a type for ",
        "no known conversion from ",
    ];
    if about_spaces.iter().any(|words| note.contains(words)) {
        said(note)
    } else if note.contains(" requires ") && note.contains(" argument") {
        Said::Nothing
    } else {
        Said::Unclear
    }
}

/// Of the two types or address spaces in quotes.
fn said(text: &str) -> Said {
    let quoted: Vec<&str> = text.split('\'').skip(1).step_by(2).collect();
    let spaces: Vec<Vec<&str>> = quoted.iter().map(|quoted| spaces(quoted)).collect();
    let named: Vec<&str> = spaces.iter().filter(|spaces| !spaces.is_empty()).map(|spaces| spaces[0]).collect();
    if spaces.iter().flatten().any(|space| UNNAMED.contains(space)) {
        return Said::Unclear;
    }
    match named[..] {
        [] if spaces.len() < 2 || !text.contains("__") => Said::Nothing,
        [from, to] if spaces.iter().all(|spaces| spaces.len() <= 1) && from != to => Said::Differ,
        _ => Said::Unclear,
    }
}

/// The address spaces in a type, in order, but for that of a pointer itself: a variable's own, behind the last `*`.
fn spaces(of: &str) -> Vec<&str> {
    let word = |c: char| c != '_' && !c.is_ascii_alphanumeric();
    let known = |word: &&str| NAMED.contains(word) || UNNAMED.contains(word);
    let behind = of.rfind('*').map_or(of.len(), |at| at + 1);
    let of = if of[behind..].split(word).all(|word| ["", "const", "volatile"].contains(&word) || known(&word)) {
        &of[..behind]
    } else {
        of
    };
    of.split(word).filter(known).collect()
}
