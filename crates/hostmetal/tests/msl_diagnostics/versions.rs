//! Versions of the language: what the preprocessor knows of them, and what the older ones do not have.

use hostmetal::msl::{CompileOptions, check};

#[test]
fn macros_and_the_language_version_reach_the_preprocessor() {
    let source = "#if __METAL_VERSION__ != 230 || WIDTH != 4 || !defined(EMPTY)\n#error wrong\n#endif\nkernel void NAME(device float *y) { y[0] = WIDTH EMPTY; }";
    let macros = [("WIDTH", "4"), ("EMPTY", ""), ("NAME", "renamed")].map(|(n, v)| (n.to_owned(), v.to_owned()));
    let options = CompileOptions { language_version: (2, 3), macros: macros.to_vec(), ..CompileOptions::default() };
    let checked = check(source, &options).unwrap();
    assert_eq!(checked.kernels()[0].name, "renamed");
    let bad = CompileOptions { macros: vec![("A B".to_owned(), "1".to_owned())], ..CompileOptions::default() };
    assert_eq!(check("", &bad).unwrap_err().log, "'A B' = '1' is no preprocessor macro");
}

/// Recursion came to compute functions with Metal 2.4.
#[test]
fn what_older_versions_do_not_have() {
    let lambda = "error: lambda expressions are not supported before Metal 3.2";
    let cases = [
        ((2, 3), "int f(int n) { return n < 2 ? n : f(n - 1); }", "1:35: error: recursive call of 'f'".to_owned()),
        (
            (2, 3),
            "int g(int n);\nint f(int n) { return g(n); }\nint g(int n) { return f(n); }",
            "3:23: error: recursive call of 'f'".to_owned(),
        ),
        ((3, 1), "void f(device int *p) { auto g = [](int x) { return x; }; p[0] = g(1); }", format!("1:34: {lambda}")),
        ((3, 1), "void f(device int *p) { p[0] = [=] { return p[1]; }(); }", format!("1:32: {lambda}")),
        ((2, 4), "int f(int a) { return [&](int b) -> int { return a + b; }(1); }", format!("1:23: {lambda}")),
        (
            (3, 0),
            "kernel void k(device bfloat *p) {}",
            "1:22: error: 'bfloat' is not available before Metal 3.1".to_owned(),
        ),
        (
            (2, 4),
            "void f(device metal::atomic_float *p);",
            "1:22: error: 'atomic_float' is not available before Metal 3.0".to_owned(),
        ),
        (
            (2, 2),
            "void f() { metal::simdgroup_half8x8 m; }",
            "1:19: error: 'simdgroup_half8x8' is not available before Metal 2.3".to_owned(),
        ),
        (
            (2, 3),
            "#include <metal_stdlib>\nfloat f(float a) { return metal::simd_shuffle_and_fill_up(a, a, ushort(1)); }",
            "2:34: error: 'simd_shuffle_and_fill_up' is not available before Metal 2.4".to_owned(),
        ),
        (
            (3, 1),
            "#include <metal_logging>\nvoid f() { metal::os_log_default.log(\"\"); }",
            "2:19: error: 'os_log_default' is not available before Metal 3.2".to_owned(),
        ),
    ];
    for (language_version, source, words) in cases {
        let options = CompileOptions { language_version, ..CompileOptions::default() };
        let log = check(source, &options).expect_err(source).log;
        assert!(log.contains(&format!("program_source:{words}")), "{source}\n{log}");
    }
    let fine = "[[maybe_unused]] constant int t[2] = {1, 2}; struct S { int v[2]; int operator[](int i) const { return v[i]; } };\n\
                kernel void k(device int *p [[buffer(0)]]) { int a[2] {1, 2}; S s{{3, 4}}; p[a[0]] = s[t[1] - 1]; if (p[1]) { p[2] = 1; } }";
    // What the program names so itself.
    let own = "struct atomic_float { float value; }; struct S { int bfloat; };\nfloat simd_shuffle_and_fill_up(float a) { return a; }\n\
               kernel void k(device atomic_float *p [[buffer(0)]]) { S s = {1}; p->value = simd_shuffle_and_fill_up(s.bfloat); float bfloat2 = 1; p->value += bfloat2; }";
    for source in [fine, own] {
        let options = CompileOptions { language_version: (2, 4), ..CompileOptions::default() };
        check(source, &options).unwrap_or_else(|failure| panic!("{failure}"));
    }
}
