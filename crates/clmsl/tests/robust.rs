//! Nothing makes the translator panic, overflow the stack or run away: random bytes, random tokens, truncated and mutated
//! valid programs, deep and long constructs. Seeds are fixed, so that a failure repeats.

use std::fs;
use std::path::{Path, PathBuf};

use clmsl::{Options, Severity, Translation, translate};

/// xorshift64*: enough randomness for this, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// Translates and checks what holds for every input.
fn check(source: &str) -> Translation {
    let translation = translate("fuzz.cl", source, &Options::default());
    let failed = translation.diagnostics.iter().any(|d| d.severity == Severity::Error);
    assert_eq!(translation.msl.is_none(), failed, "output exactly if there is no error:\n{source}");
    let rendered = translation.rendered();
    assert_eq!(rendered.is_empty(), translation.diagnostics.is_empty());
    translation
}

fn cases() -> Vec<String> {
    let mut out = Vec::new();
    let mut folders: Vec<PathBuf> = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the cases can be read") {
            let path = entry.expect("the cases can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "cl") {
                out.push(path);
            }
        }
    }
    out.sort();
    out.into_iter().map(|p| fs::read_to_string(p).expect("a case can be read")).collect()
}

#[test]
fn random_bytes() {
    let mut random = Random(1);
    for _ in 0..400 {
        let bytes: Vec<u8> = (0..random.below(200)).map(|_| random.next() as u8).collect();
        check(&String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn random_words() {
    const WORDS: &[&str] = &[
        "__kernel",
        "void",
        "k",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        "__global",
        "int",
        "float4",
        "*",
        "a",
        "b",
        "=",
        ";",
        ",",
        "struct",
        "S",
        "union",
        "enum",
        "typedef",
        ".",
        "->",
        "++",
        "--",
        "+",
        "-",
        "/",
        "%",
        "<<",
        ">>",
        "<",
        "==",
        "&&",
        "!",
        "~",
        "?",
        ":",
        "1",
        "2.5f",
        "0x10",
        "if",
        "else",
        "for",
        "while",
        "do",
        "switch",
        "case",
        "default",
        "break",
        "return",
        "sizeof",
        "get_global_id",
        "barrier",
        "atomic_add",
        "xy",
        "s0",
        "hi",
        "const",
        "__local",
        "__constant",
        "convert_uchar4_sat",
        "select",
        "any",
        "as_int",
        "vload3",
        "{0}",
        "&",
        "|",
        "^",
        "...",
        "\"s\"",
        "'c'",
        "static",
        "T",
        "double",
        "image2d_t",
        "__attribute__",
        "aligned",
        "goto",
        "\n#define M(x) x\n",
        "M(",
        "#",
        "\\",
    ];
    let mut random = Random(2);
    for _ in 0..1500 {
        let mut source = String::from("typedef float4 T; struct S { int x; };\n");
        if random.below(2) == 0 {
            source.push_str("__kernel void k(__global int* a, float4 b) {\n");
        }
        for _ in 0..random.below(60) {
            source.push_str(WORDS[random.below(WORDS.len())]);
            source.push(' ');
        }
        check(&source);
    }
}

#[test]
fn truncated_programs() {
    let mut random = Random(3);
    for source in cases() {
        for _ in 0..6 {
            let mut end = random.below(source.len());
            while !source.is_char_boundary(end) {
                end -= 1;
            }
            check(&source[..end]);
        }
    }
}

#[test]
fn mutated_programs() {
    let mut random = Random(4);
    for source in cases() {
        let words: Vec<&str> = source.split_inclusive([' ', '\n', '(', ')', ';', ',']).collect();
        for _ in 0..12 {
            let mut mutated = words.clone();
            for _ in 0..1 + random.below(3) {
                let (i, j) = (random.below(mutated.len()), random.below(mutated.len()));
                match random.below(4) {
                    0 => mutated.swap(i, j),
                    1 => mutated[i] = mutated[j],
                    2 => drop(mutated.remove(i)),
                    _ => mutated.insert(i, mutated[j]),
                }
            }
            check(&mutated.concat());
        }
    }
}

/// A kernel whose body is `open` n times, `middle`, `close` n times.
fn nested(open: &str, middle: &str, close: &str, n: usize) -> String {
    format!("__kernel void k(__global int* a, float4 v) {{ {}{middle}{} }}", open.repeat(n), close.repeat(n))
}

#[test]
fn deep_constructs_are_refused_not_followed() {
    const SHAPES: &[(&str, &str, &str)] = &[
        ("a[0] = (", "1", ");"),
        ("a[0] = -", "1;", ""),
        ("a[0] = !", "1;", ""),
        ("a[", "0", "] = 1;"),
        ("{", ";", "}"),
        ("if (1) ", ";", ""),
        ("for (;;) {", "", "}"),
        ("while (a[0]) do ", ";", " while (0);"),
        ("switch (1) { case 1: ", ";", "}"),
        ("a[0] = 1 ? ", "1", " : 2;"),
        ("a[0] = (int)", "1;", ""),
        ("a[0] = sizeof ", "1;", ""),
        ("a[0] = sizeof(int(*", ")", ");"),
        ("a[0] = a[0] = ", "1;", ""),
        ("a[0] = 1 + ", "1;", ""),
        ("a[0] = 1 , ", "1;", ""),
        ("a[0] = a[0]", "", ".x;"),
        ("int x[1] = ", "1;", ""),
        ("int x = {", "1", "};"),
        ("struct S { ", "int x;", "} s;"),
        ("get_global_id(", "0", ")"),
        ("int *", "p;", ""),
        ("int (*", "p", ")"),
        ("__attribute__((", "", "))"),
    ];
    for (open, middle, close) in SHAPES {
        for n in [10, 250, 256, 2000, 20_000] {
            check(&nested(open, middle, close, n));
        }
    }
}

#[test]
fn long_constructs_take_linear_space_and_time() {
    let n = 20_000;
    let ok = |source: String| {
        let translation = check(&source);
        assert_eq!(translation.rendered(), "");
    };
    ok(nested("a[0] = 1;\n", "", "", n));
    ok(nested("if (a[0]) a[1] = 2; else ", "a[2] = 3;", "", 1)); // one, as a baseline of the next shape
    ok(format!(
        "__kernel void k(__global int* a) {{ if (a[0]) ; {} }}",
        (0..n).map(|i| format!("else if (a[0] == {i}) a[1] = {i};\n")).collect::<String>()
    ));
    ok(format!(
        "__kernel void k(__global int* a) {{ switch (a[0]) {{ {} }} }}",
        (0..n).map(|i| format!("case {i}: a[1] = {i}; break;\n")).collect::<String>()
    ));
    ok(format!("__constant int t[] = {{ {} }}; __kernel void k(__global int* a) {{ a[0] = t[1]; }}", "1,".repeat(n)));
    let chain: String = (1..n).map(|i| format!("int f{i}(int x) {{ return f{}(x) + 1; }}\n", i - 1)).collect();
    ok(format!("int f0(int x) {{ return x; }}\n{chain}__kernel void k(__global int* a) {{ a[0] = f{}(1); }}", n - 1));
    ok(format!(
        "__kernel void k(__global int* a) {{ {} }}",
        (0..n).map(|i| format!("{{ int x = {i}; a[0] += x; }}\n")).collect::<String>()
    ));
    ok(format!(
        "__kernel void k(__global int* a) {{ {} a[0] = x1; }}",
        (0..n).map(|i| format!("int x{i} = {i};\n")).collect::<String>()
    ));
    ok(format!(
        "struct S {{ {} }}; __kernel void k(__global struct S* s) {{ s->f1 = 1; }}",
        (0..n).map(|i| format!("int f{i};\n")).collect::<String>()
    ));
    let conditions = "a[1] == 3 || ".repeat(2000);
    ok(format!("__kernel void k(__global int* a) {{ a[0] = {conditions} 1; }}"));
    let sum = "a[1] + ".repeat(2000);
    ok(format!("__kernel void k(__global int* a) {{ {} }}", format!("a[0] = {sum} 1;\n").repeat(10)));
}

/// The paths to the innermost member are 2³⁰.
#[test]
fn structures_with_many_paths() {
    let levels: String = (1..=30).map(|i| format!("union U{i} {{ union U{0} a; union U{0} b; }};\n", i - 1)).collect();
    let source = format!(
        "union U0 {{ int x; float y; }};\n{levels}\
         __kernel void k(__global union U30* u, __global int* o, union U30 v) {{ u[1] = u[2]; u[3] = v; o[0] = sizeof(v); }}"
    );
    assert_eq!(check(&source).rendered(), "");
}

#[test]
fn many_functions_are_no_reason_to_refuse() {
    let kernels: String = (0..3000)
        .map(|i| format!("__kernel void k{i}(__global float* a, float b) {{ a[get_global_id(0)] += b * {i}; }}\n"))
        .collect();
    assert_eq!(check(&kernels).reflection.kernels.len(), 3000);
    // Two copies of each helper: the output has twice the helpers, not more.
    let helpers: String = (0..5000)
        .map(|i| {
            format!(
                "float h{i}(float* p) {{ return *p; }}\n\
                 __kernel void k{i}(__global float* a, __local float* l) {{ a[0] = h{i}(a) + h{i}(l); }}\n"
            )
        })
        .collect();
    let translation = check(&helpers);
    assert_eq!(translation.rendered(), "");
    assert_eq!(translation.msl.expect("it has no errors").matches("\nfloat h").count(), 10_000);
}

/// Every function calls the next with all ways to choose its pointers from two address spaces.
#[test]
fn copies_that_multiply_are_refused() {
    let pointers = 12;
    let list = |f: &dyn Fn(usize) -> String| (0..pointers).map(f).collect::<Vec<_>>().join(", ");
    let params = list(&|i| format!("int* p{i}"));
    let mut source = format!("void f0({params}) {{ {} }}\n", "*p0 += 1; ".repeat(100));
    for depth in 1..=pointers {
        let same = list(&|i| format!("p{i}"));
        let other = list(&|i| if i == depth - 1 { "p11".to_owned() } else { format!("p{i}") });
        source.push_str(&format!("void f{depth}({params}) {{ f{0}({same}); f{0}({other}); }}\n", depth - 1));
    }
    let global = list(&|i| if i == 11 { "l".to_owned() } else { "g".to_owned() });
    source.push_str(&format!("__kernel void k(__global int* g, __local int* l) {{ f{pointers}({global}); }}\n"));
    let translation = check(&source);
    assert!(translation.msl.is_none());
    assert!(translation.rendered().contains("too many combinations of address spaces"), "{}", translation.rendered());
}

#[test]
fn many_errors_of_one_kind_take_linear_time() {
    let source = format!(
        "void h(int* p) {{ {} }}\n__constant int c[] = {{ 1 }};\n__kernel void k(__global int* a) {{ h(c); }}\n",
        "*p = 1;\n".repeat(150_000)
    );
    let translation = check(&source);
    assert!(translation.diagnostics.len() < 1000, "{} diagnostics", translation.diagnostics.len());
    assert!(translation.rendered().contains("__constant memory cannot be written"));
}

/// Found by mutation: looking for the value of `dot(z, z)` went in circles until the stack was full.
#[test]
fn a_call_where_a_constant_could_be() {
    check("__kernel void k(__global int *o, float2 z, float2 l) { while (o[0] < l && dot(z, z) <= 4.0f) o[0]++; }");
}

/// Aggregates that take no value, where the search for one that does went on for ever.
#[test]
fn values_for_structures_without_members() {
    for list in
        ["struct E a[] = { 1, 2 };", "struct { struct E e; int x; } b[] = { 1, 2 };", "struct E c = { { }, 1 };"]
    {
        check(&format!("struct E {{ }};\n__kernel void k(__global int *o) {{ {list} o[0] = 1; }}"));
    }
}
