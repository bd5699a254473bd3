//! Pointers to functions (in MSL since 2.1), in every engine, beside barriers and SIMD-group functions.

use crate::stdlib::*;
use crate::support::*;
use hostmetal::msl::{CompileOptions, Engine, MathMode, check};

const FUNCTIONS: &str = "uint twice(uint x) { return 2 * x; }\nuint next(uint x) { return x + 1; }\n\
    using F = uint (*)(uint); typedef uint (*G)(uint);\n\
    uint apply(uint (*f)(uint), uint x) { return f(x); }\n\
    struct Both { F first; G second; };\n\
    uint held(threadgroup uint *t, uint i) { t[i] = i; threadgroup_barrier(mem_flags::mem_threadgroup); return t[i ^ 1]; }\n\
    uint sent(threadgroup uint *t, uint i) { t[i] = 3 * i; threadgroup_barrier(mem_flags::mem_threadgroup); return t[i ^ 3]; }\n\
    uint count(uint x) { return simd_sum(x); }\nuint greatest(uint x) { return simd_max(x); }\n\
    kernel void run(device uint *out [[buffer(0)]], uint i [[thread_position_in_grid]], uint l [[thread_index_in_threadgroup]]) {\n\
    threadgroup uint t[64];\n";

#[test]
fn functions_are_called_through_pointers() {
    type Case = (&'static str, fn(u32) -> u32);
    let cases: [Case; 8] = [
        ("F f = i & 1 ? twice : next; out[i] = f(i);", |i| if i % 2 == 1 { 2 * i } else { i + 1 }),
        ("F f = twice; f = next; out[i] = f(i);", |i| i + 1),
        ("auto f = &twice; G g = f; out[i] = (*g)(i);", |i| 2 * i),
        (
            "uint (*f)(uint) = nullptr; if (i % 3) f = next; out[i] = f ? f(i) : 0;",
            |i| if i % 3 > 0 { i + 1 } else { 0 },
        ),
        ("F all[3] = {twice, next, twice}; out[i] = all[i % 3](i);", |i| if i % 3 == 1 { i + 1 } else { 2 * i }),
        ("Both b = {twice, next}; out[i] = apply(b.first, apply(b.second, i));", |i| 2 * (i + 1)),
        ("uint (*w)(threadgroup uint *, uint) = out[0] > 1000 ? held : sent; out[i] = w(t, l) + i;", |i| {
            3 * ((i % 64) ^ 3) + i
        }),
        ("uint x = 0; if (i % 32 < 8) x = apply(count, 1); else x = apply(count, 2); out[i] = simd_max(x) + x;", |i| {
            if i % 32 < 8 { 48 + 8 } else { 48 + 48 }
        }),
    ];
    for engine in [Engine::Pass, Engine::Stack] {
        for (body, expected) in cases {
            let out = Buffer::new(256 * 4);
            run(&pipeline(load(&format!("{FUNCTIONS}{body} }}"), MathMode::Fast, engine)), &[&out], 256, 64);
            for (i, got) in out.read::<u32>().into_iter().enumerate() {
                assert_eq!(got, expected(i as u32), "thread {i} with {engine:?} of\n{body}");
            }
        }
    }
}

/// The scheduler lets lanes meet by where their calls lie, and a call through a pointer lies nowhere.
#[test]
fn there_are_none_to_functions_of_a_simd_group() {
    let refused = "hostmetal does not support pointers to functions that have a SIMD-group function";
    for (body, column) in [
        ("F c = count; out[i] = c(1);", Some(7)),
        ("auto c = &count; out[i] = c(1);", Some(11)),
        ("F all[2] = {twice, count}; out[i] = all[i & 1](1);", Some(20)),
        ("F all[] = {count, twice}; out[i] = all[i & 1](1);", Some(12)),
        ("Both b = {::greatest, twice}; out[i] = b.first(1);", Some(13)),
        ("F c; c = i & 1 ? count : twice; out[i] = c(1);", Some(18)),
        ("out[i] = apply(i & 1 ? twice : greatest, 1);", Some(32)),
        ("F c = [](uint x) { return simd_sum(x); }; out[i] = c(1);", Some(7)),
        ("auto c = [](uint x) { return simd_sum(x); }; out[i] = c(1);", None),
        ("auto c = [=](uint x) { return simd_sum(x + i); }; out[i] = c(1) + apply(greatest, c(1));", None),
        ("F c = twice; out[i] = c(simd_sum(i)) + choose<greatest, 2>(1);", None),
        // Variables of the same name.
        ("bool count = i & 1; out[i] = count ? simd_max(i) : 2;", None),
        ("device uint *count = out; uint greatest(3), g = i & 1 ? count[1] : greatest; out[i] = simd_max(g);", None),
        ("struct Held { uint count; uint get() { return count; } } held{3}; out[i] = simd_max(held.get());", None),
        ("uint run = 2; out[i] = i & 1 ? run : simd_max(i);", None),
        // A kernel of MLX: an operator by its name.
        ("Pair a{i}, b{l}; out[i] = (b < a) + simd_sum(uint(operator>(a, b)));", None),
    ] {
        let choose = "template <uint (*f)(uint), int n> uint choose(uint x) { return f(x) + n; }\n";
        let pair = "struct Pair { uint x; };\nbool operator>(Pair a, Pair b) { return a.x > simd_max(b.x); }\n\
            bool operator<(Pair a, Pair b) { return operator>(b, a); }\n";
        let pair = if body.contains("Pair") { pair } else { "" };
        let line = FUNCTIONS.lines().count() + 4;
        let source = format!("#include <metal_stdlib>\nusing namespace metal;\n{choose}{pair}{FUNCTIONS}{body} }}");
        let checked =
            check(&source, &CompileOptions::default()).unwrap_or_else(|failure| panic!("{source}\n{failure}"));
        match (checked.build("run", &[]), column) {
            (Ok(_), None) => {}
            (Err(failure), Some(column)) => {
                let start = format!("program_source:{line}:{column}: error: {refused}");
                assert!(failure.log.starts_with(&start), "{body}\n{failure}");
            }
            (got, _) => panic!("{body}\n{:?}", got.err()),
        }
    }
}

#[test]
fn there_are_none_before_before_2_1() {
    for (version, accepted) in [((2, 0), false), ((2, 1), true)] {
        let options = CompileOptions { language_version: version, ..CompileOptions::default() };
        for (source, place) in [
            ("void g(); void f() { void (*q)() = g; q(); }", "1:29"),
            ("int f(int (*g)(int)) { return g(1); }", "1:13"),
        ] {
            let log = check(source, &options).err().map(|failure| failure.log);
            let start =
                format!("program_source:{place}: error: pointers to functions are not allowed before Metal 2.1\n");
            match log {
                None => assert!(accepted, "{version:?} accepts\n{source}"),
                Some(log) => assert!(!accepted && log.starts_with(&start), "{version:?} of\n{source}\n{log}"),
            }
        }
    }
}
