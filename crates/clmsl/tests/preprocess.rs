//! The preprocessor against tables written from C99 and OpenCL C, and, where clang is installed, against `clang -E`.

use clmsl::diagnostic::{Diagnostic, Severity};
use clmsl::options::{IncludeRequest, Included, Options, Std};
use clmsl::preprocess::preprocess;
use clmsl::source::Sources;
use clmsl::token::{FloatSuffix, Interner, Pragma, Token, TokenKind};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// What a run gives.
struct Output {
    sources: Sources,
    names: Interner,
    tokens: Vec<Token>,
    diagnostics: Vec<Diagnostic>,
}

fn run(source: &str, options: &Options<'_>) -> Output {
    let (mut sources, mut names) = (Sources::new(), Interner::new());
    let (tokens, diagnostics) = preprocess("main.cl", source, options, &mut sources, &mut names);
    Output { sources, names, tokens, diagnostics }
}

impl Output {
    /// The tokens with blanks between, numbers by value; without the end.
    fn text(&self) -> String {
        let (end, tokens) = self.tokens.split_last().expect("there is an end");
        assert_eq!(end.kind, TokenKind::Eof);
        let shown: Vec<String> = tokens.iter().map(|t| self.show(t)).collect();
        shown.join(" ")
    }

    fn show(&self, token: &Token) -> String {
        match token.kind {
            TokenKind::Ident(symbol) => self.names.name(symbol).to_owned(),
            TokenKind::Int(int) => {
                let unsigned = if int.suffix.unsigned { "u" } else { "" };
                let long = if int.suffix.long { "l" } else { "" };
                format!("{}{unsigned}{long}", int.value)
            }
            TokenKind::Float(float) => match float.suffix {
                FloatSuffix::None => format!("{:?}", float.double),
                FloatSuffix::F if f64::from(float.single) == float.double => format!("{:?}f", float.double),
                FloatSuffix::F if float.single.to_string().len() > 20 => format!("{:?}f", f64::from(float.single)),
                FloatSuffix::F => format!("{:?}f", float.single),
                FloatSuffix::H => format!("{:?}h", float.double),
            },
            TokenKind::Char(value) => format!("'{value}'"),
            TokenKind::Str(id) => format!("{:?}", String::from_utf8_lossy(self.names.bytes(id))),
            TokenKind::Punct(punct) => punct.text().to_owned(),
            TokenKind::Pragma(Pragma::Extension { name, enable }) => {
                format!("<extension {} {enable}>", self.names.name(name))
            }
            TokenKind::Pragma(Pragma::FpContract(state)) => format!("<contract {state:?}>"),
            TokenKind::Pragma(Pragma::Pack(limit)) => format!("<pack {limit}>"),
            TokenKind::Pragma(Pragma::Unroll(factor)) => format!("<unroll {factor:?}>"),
            TokenKind::Eof => panic!("only the last token is the end"),
        }
    }

    /// `line:column: severity: message` of each diagnostic and note.
    fn faults(&self) -> String {
        let mut out = String::new();
        let mut add = |span, severity: Severity, message: &str| {
            let place = self.sources.location(span);
            let file = if place.file == "main.cl" { String::new() } else { format!("{}:", place.file) };
            writeln!(out, "{file}{}:{}: {severity}: {message}", place.line, place.column).expect("a string");
        };
        for diagnostic in &self.diagnostics {
            add(diagnostic.span, diagnostic.severity, &diagnostic.message);
            for (span, message) in &diagnostic.notes {
                add(*span, Severity::Note, message);
            }
        }
        out
    }
}

/// A case of a table: title, source, the title of what is expected, what is expected.
struct Case<'t> {
    title: &'t str,
    source: &'t str,
    expected: &'t str,
}

fn cases<'t>(table: &'t str, separator: &str) -> Vec<Case<'t>> {
    let mut cases = Vec::new();
    for part in table.split("\n=== ").skip(1) {
        let (title, rest) = part.split_once('\n').expect("a title");
        let (source, expected) = rest.split_once(separator).unwrap_or_else(|| panic!("{title}: no {separator}"));
        let (note, expected) = expected.split_once('\n').expect("a line");
        let title = if note.contains("clang differs") { note } else { title };
        cases.push(Case { title, source, expected: expected.trim_end() });
    }
    assert!(!cases.is_empty());
    cases
}

fn token_cases() -> Vec<Case<'static>> {
    cases(include_str!("preprocess/tokens.txt"), "--- tokens")
}

#[test]
fn tokens() {
    let mut failed = String::new();
    for case in token_cases() {
        let output = run(case.source, &Options::default());
        let (text, faults) = (output.text(), output.faults());
        if text != case.expected || faults.contains("error") {
            let Case { title, expected, .. } = case;
            writeln!(failed, "{title}\n  expected {expected}\n  found    {text}\n{faults}").expect("a string");
        }
    }
    assert!(failed.is_empty(), "\n{failed}");
}

/// `clang -E` of a source, or nothing if there is no clang.
fn clang(source: &str) -> Option<String> {
    let mut child = Command::new("clang-19")
        .args(["-E", "-P", "-w", "-x", "cl", "-cl-std=CL1.2", "-cl-no-stdinc", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(source.as_bytes()).expect("clang reads");
    let output = child.wait_with_output().expect("clang ends");
    Some(String::from_utf8(output.stdout).expect("it gives what it got"))
}

#[test]
fn clang_agrees() {
    let mut failed = String::new();
    for case in token_cases() {
        if case.title.contains("clang differs") {
            continue;
        }
        let Some(text) = clang(&case.source.replace("__FILE__", "\"a file\"")) else {
            return;
        };
        let ours = run(&case.source.replace("__FILE__", "\"a file\""), &Options::default()).text();
        let theirs = run(&text, &Options::default()).text();
        if ours != theirs {
            writeln!(failed, "{}\n  ours  {ours}\n  clang {theirs}\n", case.title).expect("a string");
        }
    }
    assert!(failed.is_empty(), "\n{failed}");
}

#[test]
fn faults() {
    let mut failed = String::new();
    for Case { title, source, expected } in cases(include_str!("preprocess/faults.txt"), "--- faults") {
        let found = run(source, &Options::default()).faults();
        if found.trim_end() != expected {
            writeln!(failed, "{title}").expect("a string");
            for (ours, theirs) in found.lines().zip(expected.lines()).filter(|(a, b)| a != b) {
                writeln!(failed, "  expected {theirs}\n  found    {ours}").expect("a string");
            }
            let lines = (found.lines().count(), expected.trim_end().lines().count());
            writeln!(failed, "  {} lines, expected {}\n{found}", lines.0, lines.1).expect("a string");
        }
    }
    assert!(failed.is_empty(), "\n{failed}");
}

/// An include callback over a few files in memory.
fn files<'f>(files: &'f [(&'f str, &'f str)]) -> impl Fn(&IncludeRequest<'_>) -> Option<Included> + 'f {
    move |request| {
        let name = match request.from.rsplit_once('/') {
            Some((folder, _)) if !request.angled => format!("{folder}/{}", request.path),
            _ => request.path.to_owned(),
        };
        let (name, text) = files.iter().find(|(n, _)| *n == name)?;
        Some(Included { name: (*name).to_owned(), text: (*text).to_owned() })
    }
}

/// Sources, the files they include, the tokens and the faults.
type IncludeCase = (&'static str, &'static [(&'static str, &'static str)], &'static str, &'static str);

const INCLUDES: &[IncludeCase] = &[
    ("#include \"a.h\"\nA", &[("a.h", "x\n#define A 1")], "x 1", ""),
    (
        "#include <a.h>\n#include/**/\"d/a.h\"",
        &[("a.h", "x"), ("d/a.h", "#include \"b.h\""), ("d/b.h", "y")],
        "x y",
        "",
    ),
    ("#define N <a\n#define S \"a.h\"\n#include N.h>\n#include S", &[("a.h", "__FILE__")], "\"a.ha.h\"", ""),
    ("#include \"a.h\"\n#include \"a.h\"", &[("a.h", "#pragma once\nx")], "x", ""),
    ("#include \"a.h\"\n#include \"a.h\"", &[("a.h", "_Pragma(\"once\")x")], "x", ""),
    ("#include \"a.h\"\n#include \"a.h\"", &[("a.h", "#ifndef H\n#define H\nx\n#endif")], "x", ""),
    (
        "#if 1\n#include \"a.h\"\nx\n#endif",
        &[("a.h", "#endif\n#if 1\n")],
        "x",
        "a.h:1:2: error: #endif without #if\na.h:2:1: error: unterminated conditional directive\n",
    ),
    ("#define f(x) <x>\n#include \"a.h\"\n(1)", &[("a.h", "f")], "f ( 1 )", ""),
    (
        "#define f(x) <x>\n#include \"a.h\"\n1)",
        &[("a.h", "f(")],
        "f 1 )",
        "a.h:1:1: error: unterminated call of macro 'f'\n1:9: note: macro 'f' defined here\n",
    ),
    ("#include \"b.h\"\nx", &[], "x", "1:10: error: 'b.h' file not found\n"),
    ("#include \"a.h\"\n__LINE__ __FILE__", &[("a.h", "__LINE__\n__FILE__ __LINE__")], "1 \"a.h\" 2 2 \"main.cl\"", ""),
    (
        "#include \"a.h\"",
        &[("a.h", "#include \"a.h\"")],
        "",
        "a.h:1:10: error: 'a.h': #include nested more than 200 deep\n",
    ),
    (
        "#include \"a.h\"",
        &[("a.h", "#include \"a.h\"\n#include \"a.h\"")],
        "",
        "a.h:1:10: error: 'a.h': #include nested more than 200 deep\n",
    ),
    (
        "#include \"a.h\" junk\n#include \"a.h\"\n",
        &[("a.h", "x\\")],
        "x x",
        "1:16: warning: extra tokens at end of #include directive\na.h:1:2: error: unexpected character '\\\\'\na.h:1:2: error: unexpected character '\\\\'\n",
    ),
];

#[test]
fn includes() {
    for (source, table, tokens, faults) in INCLUDES {
        let callback = files(table);
        let output = run(source, &Options { include: Some(&callback), ..Options::default() });
        assert_eq!((output.text().as_str(), output.faults().as_str()), (*tokens, *faults), "{source}");
    }
}

#[test]
fn definitions_of_the_command_line() {
    const CASES: &[(&str, &str, &str, &str, &str)] = &[
        ("N", "4", "N", "4", ""),
        ("N", "", "[N]", "[ ]", ""),
        ("N", "1 + 2", "N", "1 + 2", ""),
        ("F(a)", "a*a", "F(3)", "3 * 3", ""),
        ("F(a, ...)", "#a __VA_ARGS__", "F(x, y)", "\"x\" y", ""),
        ("N", "x // comment", "N y", "x y", ""),
        ("N", "x\\", "N\ny", "x y", ""),
        ("3", "4", "x", "x", "<command line>:1:9: error: macro name must be an identifier\n"),
        ("", "4", "x", "x", "<command line>:1:9: error: macro name missing\n"),
        ("N", "1\n#define M 2", "M", "M", "<command line>:1:9: error: the definition of 'N' has more than one line\n"),
        ("N", "/* open", "x", "x", "<command line>:1:11: error: unterminated /* comment\n"),
        (
            "__OPENCL_C_VERSION__",
            "1",
            "x",
            "x",
            "<command line>:1:9: warning: redefining builtin macro '__OPENCL_C_VERSION__'\n",
        ),
    ];
    for (name, value, source, tokens, faults) in CASES {
        let defines = vec![((*name).to_owned(), (*value).to_owned())];
        let output = run(source, &Options { defines, ..Options::default() });
        assert_eq!((output.text().as_str(), output.faults().as_str()), (*tokens, *faults), "-D{name}={value}");
    }
}

#[test]
fn predefined_macros_follow_the_options() {
    let text = "__OPENCL_VERSION__ __OPENCL_C_VERSION__ __FAST_RELAXED_MATH__ __opencl_c_int64";
    let with = |options| run(text, &options).text();
    assert_eq!(
        with(Options { std: Std::Cl20, ..Options::default() }),
        "200 200 __FAST_RELAXED_MATH__ __opencl_c_int64"
    );
    assert_eq!(with(Options { std: Std::Cl30, fast_relaxed_math: true, ..Options::default() }), "300 300 1 1");
    for (std, text) in [(Std::Cl10, "100 100"), (Std::Cl11, "110 110"), (Std::Cl12, "120 120")] {
        let wanted = format!("{text} __FAST_RELAXED_MATH__ __opencl_c_int64");
        assert_eq!(with(Options { std, ..Options::default() }), wanted);
    }
}

#[test]
fn extensions_that_are_not_there_are_named() {
    const CASES: &[(&str, &str)] = &[
        ("cl_khr_fp16 : enable", ""),
        ("all : disable", ""),
        ("cl_khr_int64_base_atomics : disable", ""),
        (
            "cl_khr_int64_base_atomics : enable",
            "1:1: warning: extension 'cl_khr_int64_base_atomics' is not supported as a whole: \
             Metal has no atomic functions of 64 bits that return a value\n",
        ),
        (
            "cl_khr_fp64 : enable",
            "1:1: warning: extension 'cl_khr_fp64' is not supported as a whole: \
             Metal has no 64-bit floating point (see --fp64)\n",
        ),
        ("cl_khr_none : enable", "1:1: warning: extension 'cl_khr_none' is not known\n"),
        ("__opencl_c_int64 : enable", "1:1: warning: extension '__opencl_c_int64' is not known\n"),
        ("all : enable", "1:1: error: 'all' extensions can only be disabled\n"),
    ];
    for (pragma, faults) in CASES {
        let output = run(&format!("#pragma OPENCL EXTENSION {pragma}\n"), &Options::default());
        assert_eq!(output.faults(), *faults, "{pragma}");
    }
    let emulated = Options { fp64: clmsl::Fp64::Emulate, ..Options::default() };
    assert_eq!(run("#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n", &emulated).faults(), "");
}

/// Every message about a token that a macro made points at its use; the definition is a note.
#[test]
fn a_fault_in_a_macro_is_shown_at_its_use() {
    let output = run("#define INNER 08\n#define BAD(x) (x + INNER)\n\n\tint a = BAD(1\n );\n", &Options::default());
    let [fault] = output.diagnostics.as_slice() else {
        panic!("one fault, not {}", output.faults());
    };
    assert_eq!(
        output.sources.render(fault),
        "main.cl:4:10: error: invalid digit '8' in octal constant\n        int a = BAD(1\n                ^~~\n\
         main.cl:2:9: note: in expansion of macro 'BAD'\n#define BAD(x) (x + INNER)\n        ^~~\n"
    );
    // One in an argument is where it was written.
    let output = run("#define ID(x) x\nID(08)", &Options::default());
    assert_eq!(output.faults(), "2:4: error: invalid digit '8' in octal constant\n");
}

#[test]
fn spans_of_tokens_are_their_places() {
    let output = run("ab /* */ +=\n  'c' 1.5f", &Options::default());
    let spans: Vec<_> = output.tokens.iter().map(|t| (t.span.lo, t.span.hi)).collect();
    assert_eq!(spans, [(0, 2), (9, 11), (14, 17), (18, 22), (22, 22)]);
}

/// Random programs of macros; those that are right must mean to clang what they mean to us.
#[test]
fn clang_agrees_on_random_macros() {
    const WORDS: &[&str] = &[
        "f",
        "g",
        "h",
        "f",
        "g",
        "f(",
        "g(",
        "h(",
        ")",
        ")",
        ",",
        "(",
        "x",
        "y",
        "a",
        "b",
        "1",
        "2",
        "+",
        "E",
        "O",
        "C(",
        "S(",
        "X(",
        "V(",
        "__VA_ARGS__ ",
        "N",
        "O",
        "\n",
        "\"s\"",
        "E",
        "W(",
    ];
    const BODY: &[&str] = &[
        "f", "g", "h", "f(", "g(", ")", "x", "y", "x", "y", ",", "a", "1", "E", "O", "C(", " ## ", "S(x)", "(x)", "(",
        ")",
    ];
    let rounds = std::env::var("CLMSL_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(8);
    let mut state = 0x1234_5678_9abc_def1u64;
    let mut pick = |from: &[&'static str]| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        from[(state >> 20) as usize % from.len()]
    };
    let mut compared = 0;
    for _ in 0..rounds {
        // Many programs for one run of clang, with a mark between them.
        let mut all = String::new();
        let mut count = 0;
        while count < 60 {
            let mut source = String::from(
                "#define E\n#define O o\n#define C(a,b) a##b\n#define X(a,b) C(a,b)\n#define S(a) #a\n#define W(a) S(a)\n#define V(...) __VA_ARGS__ S([__VA_ARGS__])\n#define N f\n",
            );
            for (name, params) in [("f", "(x)"), ("g", "(x,y)"), ("h", "")] {
                let body: Vec<&str> = (0..6).map(|_| pick(BODY)).collect();
                source += &format!("#define {name}{params} {}\n", body.join(pick(&[" ", ""])));
            }
            for _ in 0..14 {
                source += pick(WORDS);
                source += pick(&[" ", "", " "]);
            }
            source += ")))\n";
            // clang loses the second of two operators behind an empty argument.
            if run(&source, &Options::default()).diagnostics.is_empty() && !source.contains("##  ##") {
                all += &source;
                all += "#undef E\n#undef O\n#undef C\n#undef X\n#undef S\n#undef V\n#undef N\n#undef f\n#undef g\n#undef h\n#undef W\n;;mark;;\n";
                count += 1;
            }
        }
        let Some(text) = clang(&all) else {
            return;
        };
        let ours = run(&all, &Options::default());
        let theirs = run(&text, &Options::default()).text();
        assert_eq!(ours.faults(), "");
        let ours = ours.text();
        for (i, (a, b)) in ours.split("; ; mark ; ;").zip(theirs.split("; ; mark ; ;")).enumerate() {
            compared += 1;
            let source = all.split(";;mark;;").nth(i);
            assert!(a == b, "{}\n ours  {a}\n clang {b}", source.expect("as many as results"));
        }
        assert_eq!(ours.len(), theirs.len());
    }
    assert_ne!(compared, 0);
}
