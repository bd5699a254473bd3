//! Which loops get a meeting, by the rewritten text.

use super::*;
use crate::msl::rewrite::{Rewrite, emit, rewrite};
use crate::msl::scan::scan;

/// Stands before loops that are not to be unrolled.
const KEPT: &str = "_Pragma(\"clang loop unroll(disable)\") ";

/// The text of a program behind the insertion.
fn rewritten(source: &str) -> String {
    let stream = Stream::new(source.to_owned());
    assert_eq!(stream.unbalanced, None, "{source}");
    let program = scan(&stream);
    let Rewrite { mut edits, .. } = rewrite(&stream, &program, &mut Vec::new());
    insert(&stream, &program, &mut edits, false).expect("not deep");
    emit(&stream, &edits, "", &[]).0
}

/// The text of a kernel with this body, without what is around it.
fn body(source: &str) -> String {
    let text = rewritten(&format!("kernel void k(device int *p, uint n) {{{source}}}"));
    let text = text.trim();
    text.strip_prefix("void k(device int *p, uint n) {").and_then(|t| t.strip_suffix('}')).expect(text).to_owned()
}
#[test]
fn loops_whose_lanes_meet_anyway_stay() {
    for text in [
        "for (uint i = 0; i < n; i++) { s += simd_sum(v); }",
        "for (uint i = 0; i < n; i++) s += simd_sum(i < 3 ? v : 0);",
        "for (uint i = 0; i < n; i++) { if (i & 1) s += simd_sum(v); s = simd_max(s); }",
        "for (uint i = 0; i < n; i++) { s += simd_sum(v); if (s > 3) continue; p[i] = s; }",
        "for (uint i = 0; i < n; i++) { if (i & 1) s += simd_sum(v); threadgroup_barrier(mem_flags::mem_none); }",
        "while (simd_any(s > 3)) { s--; }",
        "do { s = simd_shuffle_xor(s, 1); } while (s > 3);",
        "for (uint i = 0; i < n; i++) { if (i & 1) p[i] = 3; else continue; while (s--) { break; } }",
        "for (auto x : a) { s += simd_sum(x); }",
        "for (uint i = 0; i < n; i++) { if (i & 1) simdgroup_load(m, p); }",
        "for (uint i = 0; i < n; i++) { if (i & 1) threadgroup_barrier(mem_flags::mem_none); }",
    ] {
        let text = format!("uint s = simd_min(n); {text}");
        assert_eq!(body(&text).replace(KEPT, ""), text);
    }
}

#[test]
fn straight_loops_may_be_unrolled() {
    let gemm = "\n#pragma unroll\nfor (int i = 0; i < 4; i++) { for (short j = 0; j < 4; ++j) { simdgroup_multiply_accumulate(c[i], a, b[j], c[i]); } }";
    assert_eq!(body(gemm), gemm);
    let parted = "\n#pragma unroll\nfor (int i = 0; i < 4; i++) { if (n > i) simd_sum(i); }";
    assert_eq!(
        body(parted),
        format!("\n\n{KEPT}for (int i = 0; i < 4; ::hostmetal::reconverge(), i++) {{ if (n > i) simd_sum(i); }}")
    );
}

#[test]
fn loops_whose_lanes_part_get_a_meeting() {
    let op = "if (i & 1) s += simd_sum(v);";
    for (text, expected) in [
        ("for (i = 0; i < n; i++) { OP }", "for (i = 0; i < n; ::hostmetal::reconverge(), i++) { OP }"),
        ("for (;;) OP", "for (;; ::hostmetal::reconverge()) OP"),
        ("while (i--) OP", "for (;i--; ::hostmetal::reconverge()) OP"),
        ("while (int j = i--) { OP }", "for (;int j = i--; ::hostmetal::reconverge()) { OP }"),
        ("do { OP } while (i--, i);", "do { OP } while (::hostmetal::reconverge(), i--, i);"),
        (
            "do simd_sum(v); while (i || simd_any(v));",
            "do simd_sum(v); while (::hostmetal::reconverged(bool(i || simd_any(v))));",
        ),
        (
            "for (i = 0; i < n; i += v ? simd_sum(v) : 1) s = v;",
            "for (i = 0; i < n; i += v ? simd_sum(v) : 1, ::hostmetal::reconverge()) s = v;",
        ),
        ("for (int x : a) OP", "for (int x : a) { OP ::hostmetal::reconverge(); }"),
        (
            "for (int x : a) { if (x) { while (x) continue; continue; } OP }",
            "for (int x : a) { { if (x) { while (x) continue; goto hm_continue_21; } OP } hm_continue_21: ::hostmetal::reconverge(); }",
        ),
        (
            "for (;;) { if (v) continue; s = simd_sum(v); }",
            "for (;; ::hostmetal::reconverge()) { if (v) continue; s = simd_sum(v); }",
        ),
        (
            "while (i--) for (j = 0; j < v; j++) s = simd_sum(v);",
            "for (;i--; ::hostmetal::reconverge()) for (j = 0; j < v; j++) s = simd_sum(v);",
        ),
        (
            "for (;;) { if (v) break; else return; simd_sum(v); switch (v) { case 1: break; } }",
            "for (;;) { if (v) { if (::hostmetal::leaves()) break; } else { if (::hostmetal::leaves()) return; } simd_sum(v); switch (v) { case 1: break; } }",
        ),
        (
            "for (;;) { auto f = [](int x) { return simd_sum(x); }; if (v) f(1); }",
            "for (;; ::hostmetal::reconverge()) { auto f = [](int x) __attribute__((always_inline)) { return simd_sum(x); }; if (v) f(1); }",
        ),
    ] {
        let before = "uint s = simd_min(n); ";
        let got = body(&format!("{before}{}", text.replace("OP", op))).replace(KEPT, "");
        assert_eq!(got, format!("{before}{}", expected.replace("OP", op)));
    }
}

#[test]
fn functions_are_known_by_name() {
    let loops = |declarations: &str, call: &str| {
        let text =
            rewritten(&format!("{declarations} kernel void k(device int *p, uint n) {{ for (;;) {{ {call} }} }}"));
        text.contains("for (;; ::hostmetal::reconverge()) ")
    };
    let solid = "int f(int v) { return simd_sum(v); }";
    assert!(!loops(solid, "f(1);"), "all lanes meet in it");
    assert!(loops(solid, "if (n) f(1);"));
    assert!(loops("int f(int v) { if (v) return 0; return simd_sum(v); }", "f(1);"));
    assert!(loops("int g(int v) { return v ? simd_sum(v) : 0; } int f(int v) { return g(v); }", "f(1);"));
    assert!(!loops("int f(int v) { return v + 1; } int g(int v) { return simd_sum(v); }", "if (n) f(1);"));
    assert!(!loops("half simd_sum(half2 v) { return simd_sum(v.x); }", "simd_sum(1);"), "an overload");
    assert!(loops("half simd_sum(half2 v) { return v.x ? simd_sum(v.x) : 0; }", "simd_sum(1);"), "an overload");
    assert!(loops("struct S { int go(int v) { return simd_sum(v); } };", "if (n) s.go(1);"));
    assert!(loops("struct S { int operator()(int v) { return simd_sum(v); } };", "S s; if (n) s(1);"));
    assert!(loops("struct S { S operator+(S v) { return simd_sum(v.x); } };", "if (n) s = s + t;"));
    // Any object may be one that is called; comparisons and casts call nothing.
    let handed = "struct S { int operator()(int v) { return simd_sum(v); } };";
    for (call, expected) in [
        ("S s; if (n) (s)(1);", true),
        ("S s; if (n) s<3>(1);", true),
        ("S s; if (n) t[0](1);", true),
        ("S s; if (n) (float)(s)(1);", true),
        ("int k = n; if (k < n) p[k] = k;", false),
        ("for (int k = n; k < 3; k += n) p[k] = k;", false),
        ("p[0] = (float)(n) + (metal::uint2)(n);", false),
        ("p[0] = *(device const int *)(p + n) + *(T *)(p);", false),
    ] {
        assert_eq!(loops(handed, call), expected, "{call}");
    }
    assert!(rewritten("template <class T> [[clang::x]] T f(T v) { return simd_sum(v); }").contains("always_inline"));
}

#[test]
fn what_a_loop_returns() {
    let cases = [
        (
            "int f(int v) { for (;;) { if (v) return simd_sum(v); } }",
            "if (v) { decltype(auto) hm_left = ( simd_sum(v)); if (::hostmetal::leaves()) return hm_left; }",
        ),
        (
            "void g(int v) { v = simd_sum(v); } void f(int v) { while (true) { return g(v); } }",
            "{  g(v); if (::hostmetal::leaves()) return; }",
        ),
        ("int f(int v) { for (;;) { simd_sum(v); if (v) return v; } }", "{ if (::hostmetal::leaves()) return v; }"),
    ];
    for (text, expected) in cases {
        assert!(rewritten(text).contains(expected), "{}", rewritten(text));
    }
    let stream = Stream::new("S f(int v) { for (;;) { if (v) return {simd_sum(v), 1}; } }".to_owned());
    let program = scan(&stream);
    let Rewrite { mut edits, .. } = rewrite(&stream, &program, &mut Vec::new());
    let failure = insert(&stream, &program, &mut edits, false).expect_err("refused");
    assert_eq!((stream.at(failure.token), failure.text), ("simd_sum", RETURNED));
}
