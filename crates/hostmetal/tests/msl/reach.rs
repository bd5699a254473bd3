//! What a kernel does not reach is not compiled with it, and what it does reach is, in whatever way C++ finds it: each kernel against the value that
//! its declarations give it. The compiler here keeps a copy of what it is given.

use crate::support::{Buffer, Queue};
use hostmetal::msl::{Checked, CompileOptions, Toolchain, ToolchainOptions};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

/// Declarations, statements that compute `v`, and its value. The names are none of our headers' words, which are always kept.
const CASES: [(&str, &str, u32); 19] = [
    ("uint f_(float) { return 1; } uint f_(uint) { return 2; }", "v = f_(3u);", 2),
    ("constant uint a_ = 4, b_[2] = {5, 6}, c_ = 7;", "v = b_[1] + c_;", 13),
    (
        "struct S_ { uint x; }; S_ operator+(S_ a_, S_ b_) { return S_{a_.x + b_.x}; }",
        "S_ s{1}, t{2}; v = (s + t).x;",
        3,
    ),
    (
        "template <class T> struct kind_ { enum { value = 1 }; }; template <> struct kind_<float> { enum { value = 2 }; };",
        "v = kind_<float>::value;",
        2,
    ),
    ("template <class T> uint g_(T) { return 1; } template <> uint g_(int) { return 2; }", "v = g_(1);", 2),
    // An alias that is left out takes its template header with it.
    (
        "template <class T> struct box_ { T x; }; template <class T> using boxed_ = box_<T>; template <class T> using pointed_ = box_<thread T *>; \
         uint unboxed_(boxed_<uint> b_) { return b_.x; }",
        "v = unboxed_(boxed_<uint>{8});",
        8,
    ),
    (
        "struct R_ { uint a_[3]; }; thread uint *begin(thread R_ &r) { return r.a_; } thread uint *end(thread R_ &r) { return r.a_ + 3; }",
        "R_ r = {{1, 2, 3}}; for (uint x : r) v += x;",
        6,
    ),
    (
        "namespace n_ { uint f_() { return 3; } uint g_() { return 4; } namespace m_ { uint g_() { return 5; } } } using n_::g_;",
        "v = g_();",
        4,
    ),
    ("namespace n_ { uint f_() { return 3; } } namespace o_ = n_;", "v = o_::f_();", 3),
    (
        "namespace n_ { struct S_ { uint x; }; uint read_(S_ s) { return s.x; } } n_::S_ made_() { return n_::S_{6}; }",
        "v = read_(made_());",
        6,
    ),
    ("constexpr constant uint n_ = 5; static_assert(n_ == 5, \"five\");", "v = 9;", 9),
    ("enum { a_ = 3, b_ = a_ + 2 }; enum class e_ : uint { x = b_ << 3 };", "v = uint(e_::x);", 40),
    ("struct M_ { uint x; uint f_() thread; }; uint M_::f_() thread { return x + 1; }", "M_ m_{5}; v = m_.f_();", 6),
    ("struct C_ { uint x; operator uint() const thread { return x; } };", "C_ c_{5}; v = c_;", 5),
    ("struct F_; uint size_(); struct F_ { uint x[4]; }; uint size_() { return sizeof(F_); }", "v = size_();", 16),
    (
        "typedef struct { uint x, y; } pair_; typedef pair_ pairs_[2]; pairs_ constant all_ = {{1, 2}, {3, 4}};",
        "v = all_[1].y;",
        4,
    ),
    (
        "template <uint (&f_)(uint)> uint twice_(uint x) { return f_(f_(x)); } uint next_(uint x) { return x + 1; }",
        "v = twice_<next_>(1);",
        3,
    ),
    (
        "union U_ { uint whole; ushort part[2]; }; auto low_(uint x) { U_ u; u.whole = x; return u.part[0]; }",
        "v = low_(0x30007);",
        7,
    ),
    // In our headers the name stands for something else, and they may find it by the type of an argument.
    (
        "struct S_ { uint x; }; S_ max(S_ a_, S_ b_) { return S_{a_.x > b_.x ? a_.x : b_.x}; }",
        "S_ s{4}, t{9}; v = max(s, t).x;",
        9,
    ),
];

/// As `CASES`, with a kernel of their own.
const KERNELS: [(&str, u32); 3] = [
    (
        "template <class T> struct Q_ { T x; }; typedef Q_<ushort> quarter_; enum { slot_ = 0 };\n\
         template <class T, int N = slot_> kernel void t_(device uint *out [[buffer(N)]]) { out[0] = sizeof(T); }\n\
         template [[host_name(\"run\")]] kernel decltype(t_<quarter_>) t_<quarter_>;",
        2,
    ),
    (
        "uint3 at_ [[thread_position_in_grid]]; struct P_ { uint x; }; constant P_ *constant given_ [[buffer(1)]];\n\
         uint read_() { return given_[0].x + at_.x; } kernel void run(device uint *out [[buffer(0)]]) { out[0] = read_(); }",
        77,
    ),
    (
        "constant bool on_ [[function_constant(0)]]; constant uint n_ = is_function_constant_defined(on_) ? 1 : 2;\n\
         kernel void run(device uint *out [[buffer(0)]]) { out[0] = n_; }",
        2,
    ),
];

/// What is found in no way that is understood, so that clang gets the whole program.
const WHOLE: (&str, &str, u32) = ("struct S_ { uint x; }; S_ (made_)(uint x) { return S_{x}; }", "v = made_(4).x;", 4);

fn with_body(declarations: &str, body: &str) -> String {
    format!("{declarations}\nkernel void run(device uint *out [[buffer(0)]]) {{ uint v = 0; {body} out[0] = v; }}")
}

/// A compiler that keeps in `folder` what it makes objects of.
fn toolchain(folder: &Path) -> Arc<Toolchain> {
    let clang = folder.join("clang");
    let script = format!(
        "#!/bin/sh\ncase \" $* \" in *\" -shared \"*) cat program.clcpp >> '{}';; esac\nexec clang-19 \"$@\"\n",
        folder.join("given").display()
    );
    fs::write(&clang, script).unwrap();
    fs::set_permissions(&clang, fs::Permissions::from_mode(0o755)).unwrap();
    let cache = Some(folder.join("cache"));
    let options = ToolchainOptions { clang: Some(clang.into()), cache, ..ToolchainOptions::default() };
    Arc::new(Toolchain::new(&options).unwrap())
}

/// The value, and what clang was given for it.
fn run(toolchain: &Arc<Toolchain>, folder: &Path, source: &str) -> (u32, String) {
    let source = format!(
        "#include <metal_stdlib>\nusing namespace metal;\n{source}\nuint unreached_(uint x) {{ return x * 3; }}\nkernel void decoy_(device uint *p) {{ p[0] = unreached_(p[1]); }}\n"
    );
    let checked = Checked::new(toolchain, &source, &CompileOptions::default());
    let loaded = checked.and_then(|checked| checked.build("run", &[]));
    let pipeline = crate::stdlib::pipeline(loaded.unwrap_or_else(|failure| panic!("{source}\n{failure}")));
    let out = Buffer::new(4);
    Queue::new()
        .run(|encoder| {
            encoder.pipeline(&pipeline);
            encoder.buffer(&out, 0);
            encoder.bytes(&77u32, 1);
            encoder.threads([1, 1, 1], [1, 1, 1]);
        })
        .assert_completed();
    let given = fs::read_to_string(folder.join("given")).unwrap();
    fs::remove_file(folder.join("given")).unwrap();
    (out.read::<u32>()[0], given)
}

#[test]
fn a_kernel_is_compiled_with_what_it_reaches() {
    let folder = tempfile::tempdir().unwrap();
    let toolchain = toolchain(folder.path());
    let written = CASES.iter().map(|(declarations, body, value)| (with_body(declarations, body), *value));
    for (source, expected) in written.chain(KERNELS.map(|(source, value)| (source.to_owned(), value))) {
        let (value, given) = run(&toolchain, folder.path(), &source);
        assert_eq!(value, expected, "{source}");
        for word in ["unreached_", "decoy_", "pointed_"] {
            assert!(!given.contains(word), "clang was given '{word}':\n{given}");
        }
    }
}

#[test]
fn a_kernel_with_a_name_that_is_not_understood_is_compiled_with_all() {
    let folder = tempfile::tempdir().unwrap();
    let (declarations, body, expected) = WHOLE;
    let (value, given) = run(&toolchain(folder.path()), folder.path(), &with_body(declarations, body));
    assert_eq!(value, expected);
    assert!(given.contains("unreached_"), "{given}");
}
