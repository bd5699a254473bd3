//! Address spaces that Apple's compiler tells apart and hostmetal's own runs do not: MSL specification 4, "Address Spaces" ("the address space
//! of an argument that is a pointer or a reference is part of its type"; there is no conversion between two of them).

use hostmetal::msl::{CompileOptions, check};

/// What each case begins with.
const DECLARATIONS: &str = "#include <metal_stdlib>
using namespace metal;
struct S {
  float a;
  array<float, 2> list;
  S() thread = default;
  S(float x) : a(x) {}
  float get() const { return a; }
  float get() const device { return a + 1; }
  void from(thread float *p) { a = *p; }
  thread float *own() { return &a; }
  thread S &self() thread { return *this; }
  S operator+(S other) const { return S(a + other.a); }
};
template <class T, size_t N> struct Elements {
  const constant T &operator[](size_t i) const constant { return all[i]; }
  device T &operator[](size_t i) device { return all[i]; }
  const device T &operator[](size_t i) const device { return all[i]; }
  thread T &operator[](size_t i) thread { return all[i]; }
  const thread T &operator[](size_t i) const thread { return all[i]; }
  const constant T &at(uint i) const constant { return all[i]; }
  const device T &at(uint i) const device { return all[i]; }
  T all[N];
};
struct Alone {
  const device float &at(uint i) const device { return all[i]; }
  float all[4];
};
struct Pointers { device float *d; constant float *c; };
template <class T> struct Pair { T a, b; thread T &first() thread { return a; } };
void t(thread float *p) { *p = 1; }
void r(thread float &p) { p = 1; }
float cr(const thread float &p) { return p; }
float ct(const thread float *p) { return *p; }
void g(threadgroup float *p) { *p = 1; }
void d(device float *p) { *p = 1; }
float dc(const device float *p) { return *p; }
float c(constant float *p) { return *p; }
float cs(constant S &p) { return p.a; }
struct Matrices { float4x4 m; };
constant float4x4 scope = float4x4(1);
float first(constant float4 &column) { return column.x; }
void both(thread float *p, int n) { *p = n; }
void both(device float *p, int n) { *p = n; }
void either(thread float *p) { *p = 1; }
void either(threadgroup float *p) { *p = 2; }
template <class T> void tt(thread T *p) { *p = T(0); }
template <class T> T tr(thread const T &p) { return p; }
template <class P> float every(P p) { return p[0]; }
thread float *pass(thread float *p) { return p; }
constant float table[4] = {1, 2, 3, 4};
kernel void k(device float *D [[buffer(0)]], constant float *C [[buffer(1)]], device S *DS [[buffer(2)]],
              constant S &CS [[buffer(3)]], constant Pointers &P [[buffer(4)]], constant Matrices &P4 [[buffer(5)]],
              constant Elements<Elements<float, 4>, 2> *E [[buffer(6)]], device Alone *A [[buffer(7)]], threadgroup float *G [[threadgroup(0)]],
              uint i [[thread_index_in_threadgroup]]) {
  threadgroup float shared[4];
  threadgroup S sharedS;
  float x = D[0], v = 0;
  float own[4] = {x};
  S s; Pair<float> pair; thread float *q = &x;
";

/// Statements, and the line that each error is to be told at, counted from the statements' first, with how it begins.
type Case = (&'static str, &'static [(usize, &'static str)]);

const CASES: &[Case] = &[
    // ---- what is allowed
    ("t(&x); t(own); t(own + 1); t(q); t(&own[1]); t(pass(&x)); t(&s.a); t(s.own()); t(&s.self().a);", &[]),
    (
        "r(x); r(*q); r(own[i]); r(s.a); r(s.self().a); r(pair.first()); r(s.list[0]); v = cr(x) + cr(1) + cr(D[0] + 1) + ct(own);",
        &[],
    ),
    ("g(G); g(shared); g(&shared[1]); g(&sharedS.a); d(D); d(D + i); d(&DS->a); d(P.d); v = dc(D) + dc(P.d);", &[]),
    ("v = c(C) + c(C + 1) + c(table) + c(&table[1]) + c(P.c) + c(&CS.a) + cs(CS);", &[]),
    (
        "both(q, 1); both(D, 1); either(q); either(G); either(shared); tt(&x); tt(own); tt(&s); v = tr(x) + tr(s).a;",
        &[],
    ),
    ("v = every(D) + every(C) + every(G) + every(q) + every(own) + every(table) + every(shared);", &[]),
    ("S a = *DS; S b = CS; S e(*DS); a = CS; b = *DS; e = sharedS; sharedS = a; *DS = b; v = (a + b + e).a;", &[]),
    ("v = DS->get() + CS.get() + s.get() + sharedS.get() + S(1).get() + (*DS + s).a + (s + *DS).a;", &[]),
    ("auto p = D; auto z = *C; d(p); t(&z); device float &e = D[1]; d(&e); thread auto &f = x; t(&f);", &[]),
    ("device S *w = DS + 1; v = w->list[0] + CS.list[1]; thread float *h = i ? q : own; t(h); h = nullptr;", &[]),
    ("s.from(q); s.from(&x); thread S *o = &s; o->from(own); o = &o->self(); v = o->a;", &[]),
    ("device uint *u = (device uint *)D; u[0] = 1; thread uint *y = reinterpret_cast<thread uint *>(q); *y = 2;", &[]),
    ("float part; int e; v = modf(x, part) + frexp(x, e) + sincos(x, *q);", &[]),
    // ---- device, threadgroup and constant as thread
    ("t(D);", &[(1, "1: error: no matching function for call to 't'")]),
    ("t(G);\nt(shared);", &[(1, "1: error: no matching function"), (2, "1: error: no matching function")]),
    ("v = ct(C);", &[(1, "error: no matching function for call to 'ct'")]),
    ("v = ct(D) +\nct(table);", &[(1, "error: no matching function"), (2, "error: no matching function")]),
    ("r(D[1]);", &[(1, "error: no matching function for call to 'r'")]),
    (
        "v = cr(*D) +\ncr(C[1]) +\ncr(shared[0]);",
        &[(1, "error: no matching"), (2, "error: no matching"), (3, "error: no matching")],
    ),
    (
        "tt(D);\nv = tr(*DS).a;",
        &[(1, "error: no matching function for call to 'tt'"), (2, "error: no matching function for call to 'tr'")],
    ),
    ("either(D);", &[(1, "error: no matching function for call to 'either'")]),
    ("either(C);", &[(1, "error: no matching function for call to 'either'")]),
    ("q = D;", &[(1, "error: assigning 'device float *' to 'thread float *' changes address space of pointer")]),
    ("thread float *h = shared; (void)h;", &[(1, "error: cannot initialize a variable of type 'thread float *'")]),
    (
        "thread float &h = D[0]; (void)h;",
        &[(1, "error: binding reference of type 'thread float' to value of type 'device float' changes address space")],
    ),
    (
        "const thread S &h = CS; v = h.a;",
        &[(1, "error: binding reference of type 'const thread S' to value of type 'constant S' changes address space")],
    ),
    (
        "s.from(D);",
        &[(1, "error: cannot initialize a parameter of type 'thread float *' with an lvalue of type 'device float *'")],
    ),
    ("s.from(P.d);", &[(1, "error: cannot initialize a parameter of type 'thread float *'")]),
    (
        "v = DS->self().a;",
        &[(1, "error: cannot initialize object parameter of type 'thread S' with an expression of type 'device S'")],
    ),
    (
        "q = (thread float *)D;",
        &[(
            1,
            "error: C-style cast from 'device float *' to 'thread float *' converts between mismatching address spaces",
        )],
    ),
    (
        "q = reinterpret_cast<thread float *>(G);",
        &[(1, "error: reinterpret_cast from 'threadgroup float *' to 'thread float *' is not allowed")],
    ),
    (
        "auto h = [](thread float *p) { *p = 1; }; h(D);",
        &[(1, "error: no matching function for call to object of type")],
    ),
    // ---- device and threadgroup as constant
    ("v = c(D);", &[(1, "error: no matching function for call to 'c'")]),
    (
        "v = c(&DS->a) + c(C) +\ncs(*DS) +\nc(P.d);",
        &[
            (1, "error: no matching function for call to 'c'"),
            (2, "error: no matching function for call to 'cs'"),
            (3, "error: no matching function for call to 'c'"),
        ],
    ),
    (
        "constant float *h = D + 1; v = *h;",
        &[(
            1,
            "error: cannot initialize a variable of type 'constant float *' with an rvalue of type 'device float *'",
        )],
    ),
    (
        "constant S &h = *DS; v = h.a;",
        &[(1, "error: binding reference of type 'constant S' to value of type 'device S' changes address space")],
    ),
    (
        "constant float *h = C; h = D; v = *h;",
        &[(1, "error: assigning 'device float *' to 'constant float *' changes address space of pointer")],
    ),
    (
        "v = *(constant float *)D;",
        &[(
            1,
            "error: C-style cast from 'device float *' to 'constant float *' converts between mismatching address spaces",
        )],
    ),
    ("constant float *h = C + 1; h = P.c; h = &table[2]; h = &CS.a; v = *h + cs(CS); auto z = C; v += c(z);", &[]),
    ("S a = CS; Pointers both = P; v = a.a + c(both.c) + scope[0][1] + P4.m[1][2] + float4x4(P4.m)[0].x;", &[]),
    // ---- what the library returns by reference
    ("float part; int e; v = modf(x, part) + frexp(x, e) + fast::sincos(x, s.a) + precise::modf(x, own[1]);", &[]),
    (
        "v = modf(x, D[1]) +\nsincos(x, shared[0]) +\nfrexp(x, *(device int *)D) + fast::modf(x, D[1]);",
        &[
            (1, "error: 'modf<float>' is unavailable: what it returns by reference is to lie in thread"),
            (2, "error: 'sincos<float>' is unavailable: what it returns by reference is to lie in thread"),
            (3, "error: 'frexp<float, int>' is unavailable: what it returns by reference is to lie in thread"),
            (3, "error: 'modf<float>' is unavailable: what it returns by reference is to lie in thread"),
        ],
    ),
    (
        "float4 u = float4(x); v = modf(u, *(device float4 *)D).x;",
        &[(1, "error: 'modf<metal::vec<float, 4>>' is unavailable")],
    ),
    // ---- elements of what lies in constant or in device
    ("v = c(&CS.list[1]) + first(P4.m[0]) + *(constant float *)&P4.m[0]; constant float &e = CS.list[1]; v += e;", &[]),
    ("constant float4 *h = &P4.m[1]; v = h->x + first(scope[0]); const device float &e = DS->list[1]; v += e;", &[]),
    (
        "const constant Elements<float, 4> *const row = &(*E)[1]; const constant float *const e = &(*row)[2]; v = *e + c(&(*E)[i][1]) + c(&E->at(1).at(i));",
        &[],
    ),
    ("thread const float &e = Elements<float, 4>(E->at(1))[2]; v = e + A->at(1);", &[]),
    ("v = c(&A->at(1));", &[(1, "error: no matching function for call to 'c'")]),
    // ---- each tells of its own place only
    (
        "t(&x); t(D); r(x);\nd(P.d); v = c(C);\nv += ct(C);",
        &[(1, "8: error: no matching function"), (3, "6: error: no matching function")],
    ),
];

#[test]
fn address_spaces_do_not_pass_for_each_other() {
    let first = DECLARATIONS.lines().count();
    for (statements, expected) in CASES {
        let outcome = check(&format!("{DECLARATIONS}{statements}\nD[1] = v;\n}}"), &CompileOptions::default());
        let log = outcome.map_or_else(|failure| failure.log, |_| String::new());
        let told: Vec<&str> = log.lines().filter(|line| line.contains(": error: ")).collect();
        let is_expected = |(told, (line, words)): (&&str, &(usize, &str))| {
            let rest = told.strip_prefix(&format!("program_source:{}:", first + line)).unwrap_or_default();
            let behind_column = rest.split_once(": ").map_or("", |(_, text)| text);
            rest.starts_with(words) || behind_column.starts_with(words)
        };
        let all = told.len() == expected.len() && told.iter().zip(*expected).all(is_expected);
        assert!(all, "{statements}\n{expected:#?}\n{log}");
    }
}
