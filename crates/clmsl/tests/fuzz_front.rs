//! Any bytes through lexer and preprocessor: no panic, an end, work that grows as the source does.
//!
//! Random texts come from a fixed generator, so that each run does the same.

use clmsl::diagnostic::Diagnostic;
use clmsl::options::{Included, Options};
use clmsl::preprocess::{Work, preprocess_counted};
use clmsl::source::Sources;
use clmsl::token::{Interner, Token, TokenKind};

/// Marsaglia's xorshift64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

fn run(source: &str) -> (Vec<Token>, Vec<Diagnostic>, Work) {
    let (mut sources, mut names) = (Sources::new(), Interner::new());
    let include = |_: &clmsl::options::IncludeRequest<'_>| {
        Some(Included { name: "h".to_owned(), text: "#ifndef H\n#define H\nint h\n#endif\n".to_owned() })
    };
    let options = Options { include: Some(&include), ..Options::default() };
    let (tokens, diagnostics, work) = preprocess_counted("fuzz.cl", source, &options, &mut sources, &mut names);
    for diagnostic in &diagnostics {
        assert!(!sources.render(diagnostic).is_empty());
    }
    assert_eq!(tokens.iter().filter(|t| t.kind == TokenKind::Eof).count(), 1);
    assert_eq!(tokens.last().map(|t| t.kind), Some(TokenKind::Eof));
    for token in &tokens {
        assert!(token.span.lo <= token.span.hi);
        assert_ne!(sources.location(token.span).column, 0);
        assert!(token.span.hi as usize <= sources.text(token.span.file).len());
    }
    (tokens, diagnostics, work)
}

/// Pieces that mean something to a preprocessor.
const PIECES: &[&str] = &[
    "#",
    "##",
    "\n",
    "\n#",
    "\\\n",
    "\\",
    " ",
    "\t",
    "/*",
    "*/",
    "//",
    "\"",
    "'",
    "define ",
    "undef ",
    "f",
    "g",
    "x",
    "f(",
    "g(",
    "(",
    ")",
    ",",
    "...",
    "__VA_ARGS__",
    "#if ",
    "#ifdef ",
    "#else\n",
    "#elif ",
    "#endif\n",
    "#include ",
    "\"h\"",
    "<h>",
    "#line 3 \"y\"\n",
    "#pragma ",
    "_Pragma(",
    "\"unroll 2\"",
    "OPENCL EXTENSION a : enable",
    "defined ",
    "1",
    "0x1p",
    "1e+",
    "0",
    "+",
    "-",
    "/",
    "%",
    "?",
    ":",
    "<<",
    "é",
    "\0",
    "\r",
    "\u{feff}",
    "L'",
    "%:",
    "__LINE__",
    "__COUNTER__",
    "__FILE__",
    "\n#define f(x) x f(\n",
    "\n#define g(x, ...) #x x ## __VA_ARGS__\n",
    "\n#define x f(g(x)) x\n",
    "push_macro(\"x\")\n",
    "pop_macro(\"x\")\n",
    "@",
    "`",
    "$",
    "once\n",
];

#[test]
fn soups_of_pieces() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..2000 {
        let source: String = (0..random.below(60)).map(|_| PIECES[random.below(PIECES.len())]).collect();
        run(&source);
    }
}

#[test]
fn soups_of_bytes() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    for _ in 0..2000 {
        let bytes: Vec<u8> = (0..random.below(200)).map(|_| random.below(256) as u8).collect();
        run(&String::from_utf8_lossy(&bytes));
    }
}

/// The sources of the tables, cut off and with bytes changed, taken out, doubled.
#[test]
fn damaged_sources() {
    let tables = [include_str!("preprocess/tokens.txt"), include_str!("preprocess/faults.txt")];
    let mut random = Random(0xda94_2042_e4dd_58b5);
    for case in tables.iter().flat_map(|t| t.split("\n=== ")) {
        let bytes = case.as_bytes();
        for _ in 0..10 {
            let mut damaged = bytes[..random.below(bytes.len() + 1)].to_vec();
            for _ in 0..random.below(6) {
                let at = random.below(damaged.len() + 1);
                match random.below(4) {
                    0 => damaged.insert(at, random.below(128) as u8),
                    1 if at < damaged.len() => drop(damaged.remove(at)),
                    2 => {
                        let piece = PIECES[random.below(PIECES.len())].bytes();
                        damaged.splice(at..at, piece);
                    }
                    _ => {
                        let from = random.below(damaged.len() + 1);
                        let part = damaged[from.min(at)..from.max(at)].to_vec();
                        damaged.splice(at..at, part);
                    }
                }
            }
            run(&String::from_utf8_lossy(&damaged));
        }
    }
}

/// A way to make a source of any size.
type Shape = (&'static str, fn(usize) -> String);

/// Shapes that tempt a preprocessor to read again what it has read.
const SHAPES: &[Shape] = &[
    ("names", |n| "name ".repeat(n)),
    ("one name", |n| "x".repeat(n)),
    ("one number", |n| "9".repeat(n)),
    ("one string", |n| format!("\"{}\"", "s".repeat(n))),
    ("strings", |n| "\"s\" ".repeat(n)),
    ("splices", |n| "\\\n".repeat(n)),
    ("splices with blanks", |n| format!("{}x", "\\ \t \n".repeat(n))),
    ("backslashes before blanks", |n| "\\   ".repeat(n)),
    ("a backslash before blanks", |n| format!("\\{}x", " ".repeat(n))),
    ("a name of splices", |n| "x\\\n".repeat(n)),
    ("operators with splices", |n| "<\\\n<\\\n= ".repeat(n)),
    ("open comments", |n| "/*".repeat(n)),
    ("stars", |n| format!("/{}", "*".repeat(n))),
    ("open quotes", |n| "' \" ".repeat(n)),
    ("open quotes on lines", |n| "'\n\"\n".repeat(n)),
    ("strays", |n| "@".repeat(n)),
    ("names of functions", |n| format!("#define f(x) x\n{}", "f ".repeat(n))),
    ("names of functions before comments", |n| format!("#define f(x) x\n{}", "f /*            */ ".repeat(n))),
    ("open calls", |n| format!("#define f(x) x\n{}", "f(".repeat(n))),
    ("calls", |n| format!("#define f(x) (x)\n{}", "f(1) ".repeat(n))),
    ("nested calls", |n| format!("#define f(x) x\n{}{}", "f(".repeat(n), ")".repeat(n))),
    ("calls of results", |n| format!("#define f(x) f\nf{}", "(1)".repeat(n))),
    ("commas", |n| format!("#define f(...) __VA_ARGS__\nf({})", ",".repeat(n))),
    ("too many arguments", |n| format!("#define f(x) x\nf({})", ",".repeat(n))),
    ("parameters", |n| {
        let names: Vec<String> = (0..n).map(|i| format!("p{i}")).collect();
        format!("#define f({}) {}\n", names.join(","), names.join(" "))
    }),
    ("chain", |n| {
        let lines: String = (0..n).map(|i| format!("#define A{i} A{}\n", i + 1)).collect();
        format!("{lines}A0")
    }),
    ("chain of calls", |n| {
        let lines: String = (0..n).map(|i| format!("#define A{i}(x) A{}(x)\n", i + 1)).collect();
        format!("{lines}A0(1)")
    }),
    ("definitions", |n| (0..n).map(|i| format!("#define A{i} {i}\n")).collect()),
    ("redefinitions", |n| "#define A 1\n".repeat(n)),
    ("open ifs", |n| "#if 1\n".repeat(n)),
    ("skipped ifs", |n| format!("#if 0\n{}{}#endif\n", "#if 1\n".repeat(n), "#endif\n".repeat(n))),
    ("elifs", |n| format!("#if 0\n{}#endif\n", "#elif 0\n".repeat(n))),
    ("an expression", |n| format!("#if 1 {}\n#endif", "+ 1 * 2 ".repeat(n))),
    ("operators before a number", |n| format!("#if {} 1\n#endif", "! ~ - ".repeat(n))),
    ("parentheses in if", |n| format!("#if {}1{}\n#endif", "(".repeat(n), ")".repeat(n))),
    ("conditional operators", |n| format!("#if {}1\n#endif", "1 ? 2 : ".repeat(n))),
    ("line directives", |n| format!("#line 1 \"{}\"\n{}", "x".repeat(n), "#line 5\n".repeat(n))),
    ("lines", |n| "__LINE__ __FILE__\n".repeat(n)),
    ("includes", |n| "#include \"h\"\n".repeat(n.min(10_000))),
    ("pragmas", |n| "#pragma unroll\n_Pragma(\"unroll\")\n".repeat(n)),
    ("digits", |n| format!("0x{}.{}p1", "0".repeat(n), "1".repeat(n))),
    ("skipped", |n| format!("#if 0\n{}\n#endif", "it's # /* x */ \"\n".repeat(n))),
];

#[test]
fn work_grows_as_the_source() {
    for (name, shape) in SHAPES {
        let (small, large) = (shape(1000), shape(4000));
        let (small_work, large_work) = (run(&small).2, run(&large).2);
        let growth = large.len().div_ceil(small.len()) as u64 + 1;
        let bound = |work: u64| work * growth + 20_000;
        assert!(large_work.steps <= bound(small_work.steps), "{name}: {small_work:?} {large_work:?}");
        assert!(large_work.expanded <= bound(small_work.expanded), "{name}: {small_work:?} {large_work:?}");
        assert!(large_work.steps <= 20 * large.len() as u64 + 100_000, "{name}: {large_work:?} of {}", large.len());
    }
}

/// Sources whose meaning is far larger than they are: an error that says so.
#[test]
fn bombs_are_refused() {
    let doubling = |call: &str| {
        let lines: String = (0..64).map(|i| format!("#define B{}{call} B{i}{call} B{i}{call}\n", i + 1)).collect();
        format!("#define B0{call}\n{lines}B64{call}\n")
    };
    let nested = |open: &str, close: &str| format!("{}x{}", open.repeat(150), close.repeat(150));
    let cases = [
        ("doubling", doubling("")),
        ("doubling calls", doubling("()")),
        ("doubling arguments", format!("#define D(x) x x\n{}", nested("D(", ")"))),
        ("doubling pastes", format!("#define P(x) Q(x, x)\n#define Q(a, b) a ## b\n{}", nested("P(", ")"))),
        ("doubling strings", format!("#define S(x) T(x)\n#define T(x) #x\n{}", nested("S(", ")"))),
        ("long replacement", format!("#define L {}\n{}", "x ".repeat(3000), "L ".repeat(3000))),
        ("long number", format!("#define L 1.{}\n{}", "1".repeat(100_000), "L ".repeat(3000))),
        ("long paste", format!("#define L {}x\nL", "x ## ".repeat(20_000))),
        ("deep arguments", format!("#define D(x) x\n{}", nested("D(D(", "))"))),
    ];
    for (name, source) in cases {
        let (tokens, diagnostics, work) = run(&source);
        let last = diagnostics.last().unwrap_or_else(|| panic!("{name} is refused: {work:?}"));
        assert!(last.message.starts_with("macro "), "{name}: {}", last.message);
        assert_eq!(tokens.len(), 1, "{name}: nothing is left but the end");
    }
}

/// Files that include two files each, 64 levels deep.
#[test]
fn an_inclusion_bomb_is_refused() {
    let include = |request: &clmsl::options::IncludeRequest<'_>| {
        let level: u32 = request.path.parse().ok()?;
        let text = match level {
            64 => String::new(),
            _ => format!("#include \"{0}\"\n#include \"{0}\"\n", level + 1),
        };
        Some(Included { name: request.path.to_owned(), text })
    };
    let options = Options { include: Some(&include), ..Options::default() };
    let (mut sources, mut names) = (Sources::new(), Interner::new());
    let (_, diagnostics, _) = preprocess_counted("m.cl", "#include \"0\"\n", &options, &mut sources, &mut names);
    let messages: Vec<&str> = diagnostics.iter().map(|d| d.message.as_str()).collect();
    assert_eq!(messages, ["more than 16384 files are included"]);
}

#[test]
fn diagnostics_have_a_limit() {
    let (tokens, diagnostics, _) = run(&"@ ".repeat(100_000));
    assert_eq!((tokens.len(), diagnostics.len()), (1, 201));
    assert_eq!(diagnostics[200].message, "too many errors");
    let (_, diagnostics, _) = run(&"'ab' ".repeat(100_000));
    assert_eq!(diagnostics.len(), 201);
    assert!(diagnostics[200].message.starts_with("too many warnings"));
}
