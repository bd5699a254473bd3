//! Pointers and references that name no address space, and those that need none.

use hostmetal::msl::{CompileOptions, check};

use crate::{Case, accepted, findings, rejected};

pub(crate) const CASES: &[Case] = &[
    rejected(
        "pointer without address space",
        "void f(device float *p) {\n  float *q = p;\n  q[0] = 1;\n}",
        &["2:9: error: pointer type must have explicit address space qualifier"],
    ),
    rejected(
        "reference without address space",
        "void f(float &r) { r = 1; }",
        &["1:14: error: reference type must have explicit address space qualifier"],
    ),
    rejected(
        "struct member without address space",
        "struct Item { int a; };\nstruct T { const Item *s; };",
        &["2:23: error: pointer type must have explicit address space qualifier"],
    ),
    rejected(
        "vector pointer without address space",
        "#include <metal_stdlib>\nusing namespace metal;\nvoid f(device float4 *p) { float4 *q = p; *q = 0; }",
        &["3:35: error: pointer type must have explicit address space qualifier"],
    ),
    rejected(
        "pointers and references without address space wherever they are written",
        "#include <metal_stdlib>\nusing namespace metal;\nstruct Item { int a; };\nusing real = float; typedef real number;\n\
         using P = float *;\ntypedef const Item *Q;\nusing R = thread float **&;\n\
         kernel void k(device float *p, device float **q, constant int *const *r) {\n\
         \x20 ((float *)&p[0])[0] = 1;\n  reinterpret_cast<const number *>(p)[0] = 2;\n  (*static_cast<Item *>(nullptr)).a = 1;\n\
         \x20 auto f = [](float *a, thread float &b, float &c) { return 1; };\n  auto g = [&](int n, uint *const a) mutable -> int { return n; };\n\
         \x20 for (float4 *a = nullptr; a; a++) {}\n  float *const a = p;\n  p[1] = sizeof(float *);\n}\nvoid h(device float *, float *);\nvoid h(float &);",
        &[
            "5:17: error: pointer type must have explicit address space qualifier",
            "6:20: error: pointer type must have explicit address space qualifier",
            "7:25: error: pointer type must have explicit address space qualifier",
            "8:46: error: pointer type must have explicit address space qualifier",
            "8:70: error: pointer type must have explicit address space qualifier",
            "9:11: error: pointer type must have explicit address space qualifier",
            "10:33: error: pointer type must have explicit address space qualifier",
            "11:22: error: pointer type must have explicit address space qualifier",
            "12:21: error: pointer type must have explicit address space qualifier",
            "12:48: error: reference type must have explicit address space qualifier",
            "13:28: error: pointer type must have explicit address space qualifier",
            "14:15: error: pointer type must have explicit address space qualifier",
            "15:9: error: pointer type must have explicit address space qualifier",
            "16:23: error: pointer type must have explicit address space qualifier",
            "18:30: error: pointer type must have explicit address space qualifier",
            "19:14: error: reference type must have explicit address space qualifier",
        ],
    ),
    accepted(
        "pointers and references that name it, or depend on what does",
        "#include <metal_stdlib>\nusing namespace metal;\nstruct Item { int a; };\nusing D = device float; typedef constant Item C;\n\
         using P = device float *; typedef thread Item *Q; using R = float device &;\n\
         template <class T> void f(T *p) { p[0] = 1; }\ntemplate <typename Elem> void g(Elem &p, thread Elem *q) { p = q[0]; }\n\
         template <class Elem> struct V { Elem *p; thread V *next; };\ntemplate <class A, class Item2> struct W { Item2 *p; };\n\
         template <class A> struct is { static constant constexpr bool value = false; };\n\
         template <class A> struct is<device A *> { static constant constexpr bool value = true; };\n\
         struct Both { device float *const device *p; const device Item &r; };\n\
         inline void next(device float *&p, const device uint32_t *const &n) { p += n[0]; }\n\
         template <typename E> void next2(const device E *&e, const device uint *&n) { e += 1; n += 1; }\n\
         kernel void k(device float *p, constant C &c, const device D *q, device float *device *r, float device *s) {\n\
         \x20 ((device float *)&p[0])[0] = 1;\n  reinterpret_cast<device const uint *>(p);\n  D *d = p; auto *e = p; auto &h = p[0]; P i = p;\n\
         \x20 auto l = [](device float *a, thread float &b, auto &c, auto *d) { return 1; };\n  float x = 2, y = 3; float2 v = 4;\n\
         \x20 float z = float(x) * y, u = (x * y), w = x * -y; thread float *t = &x; *t = (float)*p; p[1] = x * *t * (y * z) + float(4) * w + u + v.x;\n\
         \x20 p[2] = h + *d + *e + *i + is<device float *>::value + sizeof(device Item *) + c.a + q[0] + r[0][0] + s[0];\n\
         \x20 uint n = 6; p[3] = (uint)(n & 3) + ((n) & 4) + select(1.0f, 2.0f, bool(n & 1) & bool(n));\n  f(p); g(x, &y); next(p, (device uint32_t *)q); if (l(p, x, y, p)) { for (thread float *j = &x; j != &x; j++) {} }\n}",
    ),
    accepted(
        "enumerators and objects that are multiplied",
        "enum Flag { one = 1, two = 2 };\nconstant struct Pair { int a; } first = {1}, last = {2};\n\
         int operator*(Pair a, Pair b) { return a.a * b.a; }\nconstant uint flags[2] = {one & two, 2};\n\
         kernel void k(device uint *p) { uint all[2] = {one * two, 2}; Pair a = first, b = last; int c[] = {a * b, 1}; p[0] = all[0] + flags[0] + c[0]; }",
    ),
    rejected(
        "pointers and references to the library's types and to short names",
        "#include <metal_stdlib>\nusing namespace metal;\nstruct S { int a; };\nusing A = atomic_uint;\n\
         void f(S *s, atomic_uint *c);\nvoid g(simdgroup_float8x8 &m, const metal::sampler &t);\nvoid h(A *a, thread S &s, device atomic_int *b);",
        &[
            "5:10: error: pointer type must have explicit address space qualifier",
            "5:26: error: pointer type must have explicit address space qualifier",
            "6:27: error: reference type must have explicit address space qualifier",
            "6:52: error: reference type must have explicit address space qualifier",
            "7:10: error: pointer type must have explicit address space qualifier",
        ],
    ),
    rejected(
        "pointers and references to instances of templates",
        "#include <metal_stdlib>\nusing namespace metal;\nconstant constexpr int four = 4;\ntemplate <class T, access A = access::read> struct Own { T t; };\n\
         void f(vec<float, 4> *p, texture2d<float, access::read> &t);\nvoid g(const metal::array<vec<half, 2>, four> &a, Own<int> *b);\n\
         struct S { atomic<uint> *c; device Own<Own<int>> *d; simdgroup_matrix<float, 8, 8> &m; };\n\
         kernel void k(device float *p) { p[0] = ((vec<float, 2> *)p)[0].x; reinterpret_cast<packed_vec<float, 3> *>(p)[0] = 1; }",
        &[
            "5:22: error: pointer type must have explicit address space qualifier",
            "5:57: error: reference type must have explicit address space qualifier",
            "6:47: error: reference type must have explicit address space qualifier",
            "6:60: error: pointer type must have explicit address space qualifier",
            "7:25: error: pointer type must have explicit address space qualifier",
            "7:84: error: reference type must have explicit address space qualifier",
            "8:57: error: pointer type must have explicit address space qualifier",
            "8:106: error: pointer type must have explicit address space qualifier",
        ],
    ),
    accepted(
        "instances of templates that depend on a parameter, and products with values that look like them",
        "#include <metal_stdlib>\nusing namespace metal;\ntemplate <class T> struct Own { T t; };\ntemplate <class T> constant constexpr T two = 2;\n\
         template <class T, int N> void f(vec<T, N> *p, thread Own<T> &o, thread vec<T, N> &v) { p[0] = v + o.t; }\n\
         template <class T> T g(device Own<T> *p, thread Own<Own<T>> &o) { return p->t * two<T> * o.t.t; }\n\
         kernel void k(device float *p, device vec<float, 2> *q, texture2d<float, access::read> t) {\n\
         \x20 int vec = 3, array = 4; Own<float> own = {1}; Own<Own<float>> both = {own}; float2 v = 1; thread Own<float> &same = own;\n\
         \x20 p[0] = (vec < 4 && array > 2) * two<float> * p[1] + g((device Own<float> *)p, both) + same.t; f((device float2 *)q, own, v); p[2] = t.get_width(); }",
    ),
    accepted(
        "short names of templates' parameters, of values and of objects",
        "#include <metal_stdlib>\nusing namespace metal;\nstruct S { int a; };\nconstant struct M { int a; } N = {3};\n\
         template <class T> void f(T *p) { p[0] = 1; }\ntemplate <typename... U> void g(U &...u) {}\ntemplate <int K> int k(int x) { return K * x; }\n\
         template <template <class> class V> struct W { V<int> *v; };\nenum E { X = 2, Y };\n\
         template <class A, class R> R h(A &a, R *r) { R b = r[0]; return a * b; }\n\
         kernel void run(device float *p [[buffer(0)]], device atomic_uint *c [[buffer(1)]]) { int a[] = {X * Y, N.a * 2}; f(p); thread S s = {1}; thread S &t = s; p[1] = a[0] + a[1] + k<2>(3) + t.a; g(s); }",
    ),
];

/// Types of the library that are classes, as programs write them (MSL 3.2, chapters 2.2 to 2.16 and 6.15).
const LIBRARY_TYPES: [&str; 33] = [
    "atomic_int",
    "atomic_uint",
    "atomic_bool",
    "atomic_ulong",
    "atomic_float",
    "simdgroup_float8x8",
    "simdgroup_half8x8",
    "simdgroup_bfloat8x8",
    "vec<float, 4>",
    "packed_vec<short, 3>",
    "matrix<half, 2, 3>",
    "atomic<uint>",
    "array<int, 4>",
    "array_ref<float>",
    "uniform<int>",
    "simdgroup_matrix<half, 8, 8>",
    "visible_function_table<int(int)>",
    "texture1d<float>",
    "texture1d_array<int, access::read>",
    "texture2d<half, access::write>",
    "texture2d_array<uint>",
    "texture2d_ms<float>",
    "texture2d_ms_array<float>",
    "texture3d<float, access::read_write>",
    "texturecube<float>",
    "texturecube_array<float>",
    "texture_buffer<float>",
    "depth2d<float>",
    "depth2d_array<float>",
    "depth2d_ms<float>",
    "depth2d_ms_array<float>",
    "depthcube<float>",
    "depthcube_array<float>",
];

#[test]
fn pointers_to_every_type_of_the_library_name_an_address_space() {
    let mut wrong = Vec::new();
    for name in LIBRARY_TYPES {
        let source = format!(
            "#include <metal_stdlib>\nusing namespace metal;\nvoid f({name} *p);\nvoid g(const metal::{name} &r);\nvoid h(thread {name} &r, device {name} *p);"
        );
        let log = check(&source, &CompileOptions::default()).err().map_or_else(String::new, |failure| failure.log);
        let wanted = [("3", 9, "pointer"), ("4", 22, "reference")].map(|(line, before, what)| {
            format!("{line}:{}: error: {what} type must have explicit address space qualifier", before + name.len())
        });
        if findings(&log) != wanted {
            wrong.push(format!("--- {name}: expected {wanted:#?}\n{log}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
