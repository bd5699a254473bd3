//! Address spaces that clang lets pass for `thread` or `constant`, and Apple's compiler does not: `device float *` as `thread float *`.
//!
//! The programs that are compiled have nothing for `thread`, which is any address space then: clang's own rules would refuse what MSL
//! allows (methods and constructors of objects in `thread`). They have `__global const` for `constant`, which `device` is a part of. So
//! clang is asked a second time, to look only, with an address space for `thread`, and for `constant` with another part of `__global`. Of what it finds counts alone what names two different ones: where a call finds no function, each of them must be out of
//! the question, at least one for that reason. `this`, for one, has no address space of its own there, and what clang says of it does not
//! count. MSL specification 4.
//!
//! Variables of the program are in `__global` here too, since no variable can be in that part of it, and so are elements of matrices and
//! arrays in `constant` or in `const device` (hostmetal_language.h, `HOSTMETAL_ELEMENTS`): they pass for both.
//!
//! The library's own functions are those that any address space passes for. Of the ones that return by reference, of those of atomic objects and
//! of `simdgroup_load` there are others here, for the address spaces that they do not take, which are unavailable.

use super::archive::Archives;
use super::diagnose::{Finding, read_clang};
use super::invoke::{HEAD, PROGRAM, Request, kept, run};
use super::rewrite::{Edits, emit};
use super::scan::{Function, Program, Stage};
use super::store::Record;
use super::token::Stream;
use super::toolchain::Toolchain;
use super::{CompileFailure, CompileOptions};

/// Of hostmetal_language.h, what the program shall see otherwise.
const APART: &str = "#undef thread\n#define thread __private\n#undef __mq_thread\n#define __mq_thread __private\n\
    #undef constant\n#define constant __attribute__((opencl_global_device)) const\n\
    namespace hostmetal { template <class T> struct constant_element<T, 0> { typedef __global const T type; }; }\n\
    #define HM_REFUSED(text) __attribute__((unavailable(text)))\n\
    #define HM_OUTSIDE(space) \\\n\
      template <class T> T modf(T, space T &) HM_REFUSED(\"what it returns by reference is to lie in thread\"); \\\n\
      template <class T, class E> T frexp(T, space E &) HM_REFUSED(\"what it returns by reference is to lie in thread\"); \\\n\
      template <class T> T sincos(T, space T &) HM_REFUSED(\"what it returns by reference is to lie in thread\");\n\
    #define HM_OUTSIDES HM_OUTSIDE(device) HM_OUTSIDE(threadgroup)\n\
    namespace metal { HM_OUTSIDES namespace fast { HM_OUTSIDES } namespace precise { HM_OUTSIDES } }\n\
    #define HM_EXPECTED(space) \\\n\
      template <class T> bool atomic_compare_exchange_weak_explicit(volatile _atomic<T> *, space type_identity_t<T> *, type_identity_t<T>, memory_order, memory_order) \\\n\
        HM_REFUSED(\"the expected value is to lie in thread\");\n\
    #define HM_LOADED(space) \\\n\
      template <class T, class U> void simdgroup_load(simdgroup_matrix<T, 8, 8> &, space U *, ulong = 8, ulong2 = ulong2(0), bool = false) \\\n\
        HM_REFUSED(\"what it loads is to lie in device or threadgroup\");\n\
    #define HM_OWN(name, qualifier, ...) \\\n\
      template <class T> T name(qualifier volatile __private _atomic<T> *, __VA_ARGS__) HM_REFUSED(\"an atomic object is to lie in device or threadgroup\");\n\
    #define HM_MODIFIED(name) HM_OWN(name, , type_identity_t<T>, memory_order)\n\
    namespace metal { HM_EXPECTED(device) HM_EXPECTED(threadgroup) HM_LOADED(constant) HM_LOADED(thread)\n\
      HM_OWN(atomic_load_explicit, const, memory_order)\n\
      HM_OWN(atomic_compare_exchange_weak_explicit, , type_identity_t<T> *, type_identity_t<T>, memory_order, memory_order)\n\
      HM_MODIFIED(atomic_store_explicit) HM_MODIFIED(atomic_exchange_explicit) HM_MODIFIED(atomic_fetch_add_explicit)\n\
      HM_MODIFIED(atomic_fetch_sub_explicit) HM_MODIFIED(atomic_fetch_and_explicit) HM_MODIFIED(atomic_fetch_or_explicit)\n\
      HM_MODIFIED(atomic_fetch_xor_explicit) HM_MODIFIED(atomic_fetch_min_explicit) HM_MODIFIED(atomic_fetch_max_explicit)\n\
    }\n";
/// How each `HM_REFUSED` ends.
const OUTSIDE: [&str; 4] = [
    " is unavailable: what it returns by reference is to lie in thread",
    " is unavailable: the expected value is to lie in thread",
    " is unavailable: what it loads is to lie in device or threadgroup",
    " is unavailable: an atomic object is to lie in device or threadgroup",
];
/// Functions of the library that take pointers and references to some address spaces only.
const PARTICULAR: [&str; 4] = ["modf", "frexp", "sincos", "simdgroup_load"];

/// Clang's words for `thread`, `device`, `constant`, either of the two, and `threadgroup`.
const NAMED: [&str; 5] = ["__private", "__global_host", "__global_device", "__global", "__local"];
/// And for those that say nothing.
const UNNAMED: [&str; 2] = ["__generic", "__constant"];

/// Whether the program names an address space that others may pass for (`constant` where something can be given for it), or a function of the
/// library that takes some only.
pub(super) fn may_pass(stream: &Stream, program: &Program) -> bool {
    let kernels = program.functions.iter().filter(|f| f.stage == Some(Stage::Kernel)).map(|f| f.params);
    let own: Vec<(usize, usize)> = kernels.chain(program.variables.iter().map(|v| (v.start, v.name))).collect();
    (0..stream.len()).any(|at| {
        stream.is(at, "thread")
            || PARTICULAR.contains(&stream.at(at))
            || stream.at(at).starts_with("atomic_") && stream.is(at + 1, "(")
            || stream.is(at, "constant") && !own.iter().any(|&(start, end)| (start..=end).contains(&at))
    })
}

/// The program to look at: its own variables are in no part of `__global`, nor is what a method for `device` returns that has a like for
/// `constant`, since clang selects it for objects in either.
pub(super) fn apart(stream: &Stream, program: &Program, edits: &Edits) -> Edits {
    let mut edits = edits.clone();
    for variable in &program.variables {
        for token in (variable.start..variable.name).filter(|&at| stream.is(at, "constant")) {
            edits.rename(token, "__global const");
        }
    }
    let behind = |f: &Function| f.params.1 + 1..f.body.map_or(f.end, |(open, _)| open);
    let of_class = |f: &Function| program.classes.iter().filter(|c| c.0 < f.head && f.end < c.1).max();
    let known_as = |f: &Function| (of_class(f), (f.name..f.params.0).map(|at| stream.at(at)).collect::<Vec<_>>());
    let for_objects_in = |space: &str| {
        let qualified = |f: &&Function| f.in_class && behind(f).any(|at| edits.replacement(at) == Some(space));
        program.functions.iter().filter(qualified).collect::<Vec<_>>()
    };
    let likes: Vec<_> = for_objects_in("__mq_constant").into_iter().map(known_as).collect();
    for method in for_objects_in("__mq_device").into_iter().filter(|method| likes.contains(&known_as(method))) {
        for token in (method.head..method.name).chain(behind(method)).filter(|&at| stream.is(at, "device")) {
            edits.rename(token, "__global");
        }
    }
    edits
}

/// What the program, as `apart` makes it, mistakes. It is one that clang accepts otherwise.
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
    let key = toolchain.key(&["spaces", "4", &request.key(toolchain)]);
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
    if OUTSIDE.iter().any(|text| error.ends_with(text)) {
        return true;
    }
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
        ["__global", "__global_host" | "__global_device"] | ["__global_host" | "__global_device", "__global"] => {
            Said::Unclear
        }
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
