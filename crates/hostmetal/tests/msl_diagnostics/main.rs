//! Which MSL is accepted, and what is said about what is not: message, line and column.
//!
//! The rules are those of the MSL specification (chapters 1.5.4, 4 and 5); the places were counted by hand.

mod pointers;
mod portable;
mod versions;

use hostmetal::msl::{CompileOptions, Failure, check};

/// A program and the findings it must give, each `line:column: severity: start of the text`.
struct Case {
    name: &'static str,
    source: &'static str,
    findings: &'static [&'static str],
}

const fn accepted(name: &'static str, source: &'static str) -> Case {
    Case { name, source, findings: &[] }
}

const fn rejected(name: &'static str, source: &'static str, findings: &'static [&'static str]) -> Case {
    Case { name, source, findings }
}

const CASES: &[Case] = &[
    // ---- what clang finds, at the user's place
    rejected(
        "undeclared name behind a rewritten literal",
        "kernel void k(device float *y [[buffer(0)]], uint i [[thread_position_in_grid]]) {\n  y[i] = 0.5 * 2.0 * q;\n}",
        &["2:22: error: use of undeclared identifier 'q'"],
    ),
    rejected(
        "two errors on one line with attributes before them",
        "kernel void k(device float *y [[buffer(0)]], uint i [[thread_position_in_grid]]) { y[i] = a; y[i] = b; }",
        &["1:91: error: use of undeclared identifier 'a'", "1:101: error: use of undeclared identifier 'b'"],
    ),
    rejected(
        "an error in a macro's argument",
        "#define TWICE(x) ((x) + (x))\nkernel void k(device float *y) { y[0] = TWICE(1) + zz; }",
        &["2:52: error: use of undeclared identifier 'zz'"],
    ),
    rejected(
        "an error behind a threadgroup variable",
        "kernel void k(device float *y) {\n  threadgroup float a[4], b; a[0] = b; y[0] = c;\n}",
        &["2:47: error: use of undeclared identifier 'c'"],
    ),
    rejected(
        "#line moves the place",
        "#line 40 \"kernels.cl\"\nkernel void k(device float *y) {\n  y[0] = q; }",
        &["41:10: error: use of undeclared identifier 'q'"],
    ),
    rejected("a missing brace", "kernel void k(device float *y) {\n  y[0] = 1;\n", &["2:11: error: expected '}'"]),
    rejected("a missing header", "#include <nothing>\n", &["1:10: fatal error: 'nothing' file not found"]),
    rejected("#error", "\n#error stop\n", &["2:2: error: stop"]),
    rejected(
        "a write through constant",
        "kernel void k(constant float *x) { x[0] = 1; }",
        &["1:41: error: read-only variable is not assignable"],
    ),
    rejected(
        "device memory as threadgroup memory",
        "kernel void k(device float *x) { threadgroup float *t = x; t[0] = 1; }",
        &[
            "1:53: error: cannot initialize a variable of type 'threadgroup float *' with an lvalue of type 'device float *'",
        ],
    ),
    rejected(
        "float4 to half4",
        "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(device half4 *h) { float4 f = 1; h[0] = f; }",
        &["3:53: error: no viable overloaded '='"],
    ),
    rejected(
        "a component that is not there",
        "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(device float2 *v) { v[0].z = 1; }",
        &["3:40: error: no member named 'z'"],
    ),
    rejected(
        "a write to an element of a swizzle",
        "#include <metal_stdlib>\nusing namespace metal;\nvoid put(thread float &x) { x = 1; }\nkernel void k(device float4 *v, device packed_float3 *p) {\n  float4 s = v[0]; float2x2 m(1.0);\n  s.xy[1] = 5;\n  m[0].yx[1] = 5;\n  p[0].xy[0] = 5;\n  v[0].zyx[2] += 5;\n  put(s.xy[1]);\n  v[1] = s.xy[1] + v[0].zyx[2] + m[0].yx[1] + p[0].xy[0];\n}",
        &[
            "6:11: error: expression is not assignable",
            "7:14: error: expression is not assignable",
            "8:14: error: expression is not assignable",
            "9:15: error: expression is not assignable",
            "10:3: error: no matching function for call to 'put'",
        ],
    ),
    rejected(
        "the address of a swizzle",
        "#include <metal_stdlib>\nusing namespace metal;\nvoid put(thread float2 *p) { *p = 7; }\nkernel void k(device float4 *v) {\n  float4 s = v[0];\n  put(&s.zw);\n  v[0] = s;\n}",
        &["6:7: error: taking the address of a temporary object of type 'vec<float, 2>'"],
    ),
    rejected(
        "braces that narrow",
        "#include <metal_stdlib>\nusing namespace metal;\nstruct S { int n; half h; };\nkernel void k(device int *p) {\n  int x{1.5};\n  uchar y{300};\n  S s{p[0], float(p[1])};\n  int2 v{p[0] * 0.5, 1};\n  S t{3, 0.5};\n  float2 w{1, 2};\n  p[0] = x + y + s.n + v.x + t.n + int(w.x);\n}",
        &[
            "5:9: error: type 'float' cannot be narrowed to 'int' in initializer list",
            "6:11: error: constant expression evaluates to 300 which cannot be narrowed to type 'uchar'",
            "7:13: error: non-constant-expression cannot be narrowed from type 'float' to 'half' in initializer list",
            "8:10: error: type 'float' cannot be narrowed to 'int' in initializer list",
        ],
    ),
    rejected(
        "bfloat with half",
        "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(device bfloat *b, device half *h) {\n  float x = b[0] + h[0];\n  h[0] *= b[0];\n  b[0] -= h[0];\n  x = h[0] < b[0];\n  x = b[0] + float(h[0]) + float(b[0]) * h[0];\n  b[0] = bfloat(h[0]);\n}",
        &[
            "4:18: error: overload resolution selected deleted operator '+'",
            "5:8: error: overload resolution selected deleted operator '*='",
            "6:8: error: no viable overloaded '-='",
            "7:12: error: overload resolution selected deleted operator '<'",
        ],
    ),
    rejected(
        "a matrix of a vector and a number, and columns that it does not have",
        "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(device float2x3 *d, constant float4x4 &c, device int *i) {\n  float2x2 m(float2(1), 2.0);\n  float x = d[0][2][0];\n  d[0][-1] = 0;\n  x += c[4].x;\n  x += float2x2(1.0)[2][1];\n  d[0][i[0]] = c[3].xyz + x;\n}",
        &[
            "4:12: error: no matching constructor for initialization of 'thread float2x2'",
            "5:19: error: the matrix has no such column",
            "6:10: error: the matrix has no such column",
            "7:11: error: the matrix has no such column",
            "8:23: error: the matrix has no such column",
        ],
    ),
    rejected(
        "mipmaps of what has none, and a sampler of pixels with two filters",
        "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(texture_buffer<float> b, texture2d_ms<float> m, depth2d_ms<float> n, device uint *p) {\n  p[0] = b.get_num_mip_levels();\n  p[1] = b.get_width(1);\n  p[2] = m.get_num_mip_levels();\n  p[3] = n.get_width(1);\n  constexpr sampler s(coord::pixel, mag_filter::linear);\n  constexpr sampler t(coord::pixel, mag_filter::linear, min_filter::linear), u(mag_filter::linear);\n  p[4] = b.get_width() + m.get_width() + n.get_height();\n}",
        &[
            "4:12: error: 'get_num_mip_levels' is unavailable: a texture_buffer has no mipmaps",
            "5:22: error: too many arguments to function call, expected 0, have 1",
            "6:12: error: 'get_num_mip_levels' is unavailable: a multisampled texture has no mipmaps",
            "7:22: error: too many arguments to function call, expected 0, have 1",
            "8:21: error: coordinates in pixels need one filter for magnification and minification",
        ],
    ),
    rejected(
        "levels of what has none",
        "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(texture1d<float, access::read_write> a, texture1d_array<float, access::read_write> b, device float *p, uint i [[thread_position_in_grid]]) {\n  p[0] = a.read(i, 1).x;\n  p[1] = a.read(ushort(i), ushort(1)).x + b.read(i, 0, i).x;\n  a.write(p[2], i, i);\n  b.write(p[3], ushort(1), ushort(0), 2);\n  p[4] = a.get_width(1) + b.get_width(i);\n  p[5] = a.read(i, 0).x + a.read(ushort(i), 0).x + b.read(i, 1, 0u).x + a.get_width(0) + b.get_width() + a.get_num_mip_levels();\n  b.write(p[6], i, 1, 0);\n  const uint none = 0;\n  a.write(p[7], i, none);\n}",
        &[
            "4:12: error: 'read' is unavailable: a 1D texture has no mipmaps: its level is the constant 0",
            "5:12: error: 'read' is unavailable: a 1D texture has no mipmaps",
            "5:45: error: 'read' is unavailable: a 1D texture has no mipmaps",
            "6:5: error: 'write' is unavailable: a 1D texture has no mipmaps",
            "7:5: error: 'write' is unavailable: a 1D texture has no mipmaps",
            "8:12: error: 'get_width' is unavailable: a 1D texture has no mipmaps",
            "8:29: error: 'get_width' is unavailable: a 1D texture has no mipmaps",
        ],
    ),
    rejected(
        "lanes of 64 bits",
        "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(device long *p, device ulong2 *v) {\n  p[0] = simd_sum(p[1]);\n  v[0] = quad_broadcast(v[1], 0);\n  p[0] = as_type<long>(simd_shuffle_down(as_type<int2>(p[1]), 1));\n}",
        &[
            "4:10: error: simd_sum: the argument must be an integer or a floating-point number of at most 32 bits",
            "5:10: error: quad_broadcast: the argument must be an integer or a floating-point number of at most 32 bits",
        ],
    ),
    accepted(
        "swizzles of volatile vectors",
        "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(volatile device float4 *v, device float2 *p) {\n  p[0] = v[0].xy;\n  v[1].wz = p[0];\n}",
    ),
    // ---- rules that clang does not have
    rejected(
        "double",
        "kernel void k(device float *y) { double d = 1; y[0] = d; }",
        &["1:34: error: 'double' is not supported in Metal"],
    ),
    rejected(
        "long double",
        "void f() { long double d = 1; (void)d; }",
        &["1:17: error: 'double' is not supported in Metal"],
    ),
    rejected(
        "goto",
        "void f(device float *p) { goto a; a: p[0] = 1; }",
        &["1:27: error: 'goto' is not supported in Metal"],
    ),
    rejected(
        "virtual",
        "struct A { virtual void f(); };",
        &["1:12: error: virtual functions are not supported in Metal"],
    ),
    rejected(
        "thread_local",
        "thread_local constant int x = 1;",
        &["1:1: error: 'thread_local' is not supported in Metal"],
    ),
    rejected(
        "asm",
        "void f() {\n  asm(\"nop\");\n  __asm__ __volatile__(\"nop\");\n  __asm volatile(\"nop\");\n  asm goto(\"nop\" :::: a); a:;\n}\nvoid g() __asm(\"other\");",
        &[
            "2:3: error: inline assembly is not supported by hostmetal",
            "3:3: error: inline assembly is not supported by hostmetal",
            "4:3: error: inline assembly is not supported by hostmetal",
            "5:3: error: inline assembly is not supported by hostmetal",
            "5:7: error: 'goto' is not supported in Metal",
            "7:10: error: inline assembly is not supported by hostmetal",
        ],
    ),
    rejected(
        "new",
        "void f() { thread int *p = new int; (void)p; }",
        &["1:28: error: 'new' is not supported in Metal"],
    ),
    rejected("exceptions", "void f() { throw 1; }", &["1:12: error: exceptions are not supported in Metal"]),
    rejected("try", "void f() { try { } catch (...) { } }", &["1:12: error: exceptions are not supported in Metal"]),
    rejected("delete", "void f(thread int *p) {\n  delete p;\n}", &["2:3: error: 'delete' is not supported in Metal"]),
    rejected(
        "dynamic_cast and typeid",
        "struct A { int x; };\nvoid f(thread A *a) {\n  (void)dynamic_cast<thread A *>(a);\n  (void)typeid(A);\n}",
        &["3:9: error: 'dynamic_cast' is not supported in Metal", "4:9: error: 'typeid' is not supported in Metal"],
    ),
    rejected(
        "the noexcept operator",
        "void g() noexcept;\nvoid h() noexcept(true) {}\nkernel void k(device bool *p) {\n  p[0] = noexcept(g());\n}",
        &["4:10: error: the 'noexcept' operator is not supported in Metal"],
    ),
    rejected("long long", "long long g();", &["1:1: error: 'long long' is not supported in Metal"]),
    rejected(
        "an address space of OpenCL",
        "void f(__global int *p) { p[0] = 1; }",
        &["1:8: error: OpenCL address spaces are not part of Metal"],
    ),
    rejected(
        "address spaces of clang",
        "void f(__private int *p, __generic int *q);\nvoid g(__attribute__((address_space(1))) int *p);\n\
         void h([[clang::address_space(3)]] int *p);\nvoid i(__attribute__((aligned(4), __address_space__(2))) thread int *p);\n\
         int address_space(int address_space) { return address_space; }\nstruct S { int address_space; int __private_; };",
        &[
            "1:8: error: OpenCL address spaces are not part of Metal",
            "1:26: error: OpenCL address spaces are not part of Metal",
            "2:23: error: attribute 'address_space' is not supported by hostmetal",
            "3:17: error: attribute 'address_space' is not supported by hostmetal",
            "4:35: error: attribute '__address_space__' is not supported by hostmetal",
        ],
    ),
    rejected(
        "calls of kernels",
        "kernel void a(device float *p) { p[0] = 1; }\ntemplate <class T> kernel void b(device T *p) { p[0] = 1; }\n\
         template [[host_name(\"b\")]] kernel void b<float>(device float *);\n\
         kernel void c(device float *p) {\n  a(p);\n  if (p[0] > 1) b<float>(p); else ::a(p);\n}\nvoid d(device float *p) { a(p); }",
        &[
            "5:3: error: call to kernel function 'a'",
            "6:17: error: call to kernel function 'b'",
            "6:37: error: call to kernel function 'a'",
            "8:27: error: call to kernel function 'a'",
        ],
    ),
    accepted(
        "names of kernels that are something else",
        "kernel void a(device float *p) { p[0] = 1; }\nkernel void b(device float *p) { p[0] = 1; }\nnamespace n { void b(thread int *p) { *p = 1; } }\n\
         struct S { void a() { } int x; };\ntemplate <class A> void e(A a) { a(1); }\ntypedef decltype(a) type;\n\
         kernel void c(device float *p) { auto a = [](float x) { return x; }; p[0] = a(1); int i; n::b(&i); e(a); }\n\
         kernel void d(device float *p) { S s; s.a(); float a(1); p[0] = a; }\n\
         kernel void f(device float *p) { S a(S()); }",
    ),
    accepted(
        "a constant that a function makes",
        "float f() { return 7; }\nconstant float x = f(), y = x + 1;\nkernel void k(device float *p) { p[0] = x + y; }",
    ),
    // Public programs have them, which Apple's compiler accepts.
    accepted(
        "samplers of functions that are not constexpr",
        "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(texture2d<float> t [[texture(0)]], device float4 *p) {\n\
         \x20 const sampler s(coord::normalized, filter::linear); sampler u(address::repeat); p[0] = t.sample(s, float2(0)) + t.sample(u, float2(1)); }",
    ),
    rejected(
        "a sampler of the program that is not constexpr",
        "#include <metal_stdlib>\nusing namespace metal;\nconst sampler s(filter::linear);\nsampler t(metal::coord::pixel);\nsampler u{coord::pixel};\n\
         constexpr sampler v(coord::pixel); constant sampler w(address::repeat);\nsampler f(address a);",
        &[
            "3:15: error: program scope variable must reside in constant address space",
            "4:9: error: program scope variable must reside in constant address space",
            "5:9: error: program scope variable must reside in constant address space",
        ],
    ),
    rejected(
        "a kernel that returns something",
        "kernel int k(device int *p) { return p[0]; }",
        &["1:12: error: kernel 'k' must have void return type"],
    ),
    rejected(
        "variadic function",
        "void f(int n, ...);",
        &["1:15: error: variadic functions are not supported in Metal"],
    ),
    rejected(
        "a type that a typedef names only",
        "typedef struct { int a; } Item;\nvoid f(Item *i);",
        &["2:13: error: pointer type must have explicit address space qualifier"],
    ),
    rejected(
        "global variable",
        "float g = 1.0;\nkernel void k(device float *p) { p[0] = g; }",
        &["1:7: error: program scope variable must reside in constant address space"],
    ),
    rejected(
        "const global variable",
        "const float g = 1.0;",
        &["1:13: error: program scope variable must reside in constant address space"],
    ),
    rejected(
        "global array in a namespace",
        "namespace n { int a[2] = {1, 2}; }",
        &["1:19: error: program scope variable must reside in constant address space"],
    ),
    rejected(
        "static local",
        "void f(device int *p) { static int n = 0; p[0] = ++n; }",
        &["1:25: error: static local variables must be in the constant address space"],
    ),
    rejected(
        "static data members",
        "struct S { static int count; int a; };\ntemplate <class T> struct V {\n  static T all[4];\n  inline static T last = 0; };\n\
         kernel void k(device int *p) { p[0] = 1; }",
        &[
            "1:12: error: static data members must be in the constant address space",
            "3:3: error: static data members must be in the constant address space",
            "4:10: error: static data members must be in the constant address space",
        ],
    ),
    rejected(
        "pointers to constants that lie nowhere",
        "constant int all[4] = {1, 2, 3, 4};\nconstant int *p = all;\nconstant int *const q[2] = {all, all};\nnamespace n { static device int *r; }\n\
         struct S { static constant int *s; static const constant int *t; };\nvoid f() { static const constant int *u = all; }",
        &[
            "2:15: error: program scope variable must reside in constant address space",
            "3:21: error: program scope variable must reside in constant address space",
            "4:34: error: program scope variable must reside in constant address space",
            "5:12: error: static data members must be in the constant address space",
            "5:36: error: static data members must be in the constant address space",
            "6:12: error: static local variables must be in the constant address space",
        ],
    ),
    rejected(
        "variables of the program that are declared elsewhere, or made from others",
        "constant int all[2] = {1, 2};\nextern constant int *e;\nextern int f;\nextern constant int g;\nconstant int *p(all);\n\
         constant int one(g), *constant q(all);\nnamespace n { int two(one); }\nint other(int all);\nstruct T {};\nint like(T);",
        &[
            "2:22: error: program scope variable must reside in constant address space",
            "3:12: error: program scope variable must reside in constant address space",
            "5:15: error: program scope variable must reside in constant address space",
            "7:19: error: program scope variable must reside in constant address space",
        ],
    ),
    rejected(
        "variables of the program behind others, in parentheses, with words in front, and behind their class",
        "constant int one = 1, *p(&one), *constant q(&one);\nconstant int all[2] = {1, 2};\nconstant int (*r)[2] = &all;\n\
         struct S { int a; };\nconstant struct S s = {1};\nconstant struct S *t = &s;\nstruct V { constant int *u; } v = {all}, w = {all};\n\
         void f() { constant static int *x = all; const static int y = 2; }\nstruct S z;\nmetal::array<constant int *, 2> g;",
        &[
            "1:24: error: program scope variable must reside in constant address space",
            "3:16: error: program scope variable must reside in constant address space",
            "6:20: error: program scope variable must reside in constant address space",
            "7:31: error: program scope variable must reside in constant address space",
            "7:42: error: program scope variable must reside in constant address space",
            "8:21: error: static local variables must be in the constant address space",
            "8:48: error: static local variables must be in the constant address space",
            "9:10: error: program scope variable must reside in constant address space",
            "10:33: error: program scope variable must reside in constant address space",
        ],
    ),
    accepted(
        "constants behind others, in parentheses, with words in front, and behind their class",
        "constant int one = 1, *constant p = &one, two(2 * one), many[2] = {1, 2};\nconstant int (*constant r)[2] = &many;\nstruct S;\nstruct S { int a; } __attribute__((aligned(16)));\n\
         constant struct S s = {1};\nconstant struct S *constant t = &s;\nconstant struct V { constant int *u; } v = {many}, w = {many};\n\
         template <class T> struct W { T a; };\ntemplate <> struct W<int>;\ntemplate <> struct W<int> { int b; };\nconstant enum E { three = 1 * 3 } e = three;\n\
         constant int *at [[clang::noinline]] (constant int *x) { return x + 1; }\n\
         kernel void k(device int *y) { constant static int *constant x = many; static constant int z = 4;\n\
         \x20 y[0] = one + *p + two + (*r)[1] + s.a + t->a + v.u[0] + w.u[1] + W<int>{3}.b + e + *at(many) + x[1] + z; }",
    ),
    accepted(
        "pointers that lie in constant memory",
        "#include <metal_stdlib>\nusing namespace metal;\nconstant int table[4] = {1, 2, 3, 4};\nconstant int *constant p = table;\nconstant int *const constant q[2] = {table, table + 1};\n\
         constant array<constant int *, 2> r = {table, table};\nstruct S { static constant int *constant s; static const constant int *const t; };\nconstant int *constant S::s = table;\n\
         kernel void k(device int *y) { static constant int *constant u = table; y[0] = p[0] + q[1][0] + r[1][2] + S::s[3] + u[0]; }",
    ),
    accepted(
        "stars that make no pointer of a constant",
        "#include <metal_stdlib>\nusing namespace metal;\ntemplate <typename T, typename U> constant bool same = false;\ntemplate <typename T> constant bool same<device T *, device T *> = true;\n\
         template <> constant bool same<device int *, float> = true;\nconstant int table[2 * 3] = {1, 2, 3};\nconstant enum { two = 1 * 2 } e = two;\n\
         constant union U { constant int *p; int b; } u = {table};\nconstant array<int, 2 * 3> a = {1, 2, 3};\n\
         kernel void k(device int *y) { y[0] = same<device int *, device int *> + same<device int *, float> + e + u.p[0] + a[1]; }",
    ),
    accepted(
        "static members that are constant, and functions",
        "struct S { static constexpr int three = 3; static constant constexpr int four = 4; constexpr static int five = 5;\n\
         \x20 static const int six = 6; static int get(int x) { return x; } static device int *at(device int *p) { return p + 1; } };\n\
         template <class T> struct V { static T twice(T x) { return x + x; } template <int N> static T times(T x) { return N * x; } };\n\
         kernel void k(device int *p) { p[0] = S::three + S::four + S::five + S::six + S::get(2) + V<int>::twice(3) + V<int>::times<2>(1); *S::at(p) = 1; }",
    ),
    accepted("recursion", "int f(int n) { return n < 2 ? n : f(n - 1); }"),
    rejected(
        "initialised threadgroup variable",
        "kernel void k(device float *p) { threadgroup float a = 1; p[0] = a; }",
        &["1:52: error: variable in threadgroup address space cannot be initialized"],
    ),
    // ---- kernels
    rejected(
        "kernel that returns a value",
        "kernel int k(device int *p) { return p[0]; }",
        &["1:12: error: kernel 'k' must have void return type"],
    ),
    rejected(
        "kernel pointer without address space",
        "kernel void k(float *p [[buffer(0)]]) { p[0] = 1; }",
        &[
            "1:21: error: pointer type must have explicit address space qualifier",
            "1:22: error: pointer or reference parameter 'p' of a kernel must be in address space",
        ],
    ),
    rejected(
        "kernel pointer to thread",
        "kernel void k(thread float *p [[buffer(0)]]) { }",
        &["1:29: error: parameter 'p' of a kernel cannot point to address space 'thread'"],
    ),
    rejected(
        "buffer attribute on threadgroup memory",
        "kernel void k(threadgroup float *p [[buffer(0)]]) { }",
        &["1:34: error: 'buffer' attribute needs parameter 'p' in address space 'device' or 'constant'"],
    ),
    rejected(
        "threadgroup attribute on device memory",
        "kernel void k(device float *p [[threadgroup(0)]]) { }",
        &["1:29: error: 'threadgroup' attribute needs parameter 'p' in address space 'threadgroup'"],
    ),
    rejected(
        "buffer by value",
        "kernel void k(float x [[buffer(0)]]) { }",
        &["1:21: error: invalid type 'float' for buffer declaration: a pointer or reference is needed"],
    ),
    rejected(
        "struct buffer by value",
        "struct S { float a; };\nkernel void k(S s [[buffer(0)]]) { }",
        &["2:13: error: a buffer or threadgroup argument must be a pointer or a reference"],
    ),
    rejected(
        "value without attribute",
        "kernel void k(device float *p, uint n) { p[n] = 1; }",
        &["1:37: error: parameter 'n' of a kernel needs an attribute"],
    ),
    rejected(
        "duplicate buffer index",
        "kernel void k(device float *a [[buffer(1)]], device float *b [[buffer(1)]]) { a[0] = b[0]; }",
        &["1:60: error: cannot reserve 'buffer' resource location at index 1"],
    ),
    rejected(
        "buffer index out of bounds",
        "kernel void k(device float *a [[buffer(31)]]) { a[0] = 0; }",
        &["1:29: error: 'buffer' attribute parameter is out of bounds: must be between 0 and 30"],
    ),
    rejected(
        "input of a wrong type",
        "kernel void k(device float *a, float i [[thread_position_in_grid]]) { a[0] = i; }",
        &["1:38: error: invalid type 'float' for attribute 'thread_position_in_grid'"],
    ),
    rejected(
        "scalar input as a vector",
        "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(device uint *a, uint2 i [[thread_index_in_threadgroup]]) { a[0] = i.x; }",
        &["3:37: error: invalid type 'uint2' for attribute 'thread_index_in_threadgroup'"],
    ),
    rejected(
        "a scalar and a vector position",
        "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(device uint *a, uint2 i [[thread_position_in_grid]], uint n [[threads_per_threadgroup]]) { a[0] = i.x; }",
        &[
            "3:13: error: expecting input declarations with either all scalar types or all vector types with the same number of elements",
        ],
    ),
    accepted(
        "positions of one size beside scalar inputs",
        "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(device uint *a, uint2 i [[thread_position_in_grid]], ushort2 n [[threads_per_threadgroup]], uint l [[thread_index_in_threadgroup]]) { a[l] = i.x + n.y; }",
    ),
    rejected(
        "a limit of threads behind the parameters",
        "kernel void k(device float *a) [[max_total_threads_per_threadgroup(64)]] { a[0] = 1; }",
        &["1:34: error: 'max_total_threads_per_threadgroup' attribute cannot be applied to types"],
    ),
    rejected(
        "unknown attribute on a parameter",
        "kernel void k(device float *a [[nonsense]]) { }",
        &["1:33: error: '[[nonsense]]' is not supported by hostmetal on a kernel's parameter"],
    ),
    rejected(
        "stage_in without attributes",
        "struct V { float a; };\nkernel void k(V v [[stage_in]]) { }",
        &["1:18: error: member 'a' of a 'stage_in' structure needs [[attribute(n)]]"],
    ),
    rejected(
        "stage_in of no structure",
        "kernel void k(float v [[stage_in]]) { }",
        &[
            "1:15: error: 'stage_in' needs the name of a structure that the source defines once, and that is no template",
        ],
    ),
    rejected(
        "stage_in by reference",
        "struct V { float a [[attribute(0)]]; };\nkernel void k(constant V &v [[stage_in]]) { }",
        &["2:27: error: 'stage_in' attribute needs parameter 'v' to be a value, not a pointer or reference"],
    ),
    rejected(
        "two stage_in",
        "struct V { float a [[attribute(0)]]; };\nkernel void k(V v [[stage_in]], V w [[stage_in]]) { }",
        &["2:35: error: a kernel can have only one parameter with the 'stage_in' attribute"],
    ),
    rejected(
        "attribute out of bounds, and one twice",
        "struct V { float a [[attribute(31)]]; float b [[attribute(2)]]; float c [[attribute(2)]]; };\nkernel void k(V v [[stage_in]]) { }",
        &[
            "1:32: error: 'attribute' index must be an integer constant between 0 and 30",
            "1:71: error: members 'b' and 'c' have the same 'attribute' index 2",
        ],
    ),
    rejected(
        "attribute of a type that is none",
        "#include <metal_stdlib>\nstruct V { metal::float2x2 a [[attribute(0)]]; };\nkernel void k(V v [[stage_in]]) { }",
        &["3:13: error: an attribute must be a scalar or a vector of float, half or integers of at most 32 bits"],
    ),
    rejected(
        "texture index out of bounds",
        "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(texture2d<float> t [[texture(128)]]) { }",
        &["3:32: error: 'texture' attribute parameter is out of bounds: must be between 0 and 127"],
    ),
    rejected(
        "sampler index out of bounds",
        "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(sampler s [[sampler(16)]]) { }",
        &["3:23: error: 'sampler' attribute parameter is out of bounds: must be between 0 and 15"],
    ),
    rejected(
        "texture by reference",
        "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(constant texture2d<float> &t [[texture(0)]]) { }",
        &["3:42: error: 'texture' attribute needs parameter 't' to be a value, not a pointer or reference"],
    ),
    rejected(
        "two textures at one index",
        "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(array<texture2d<float>, 3> a [[texture(2)]], texture2d<float> b [[texture(4)]]) { }",
        &["3:77: error: cannot reserve 'texture' resource location at index 4"],
    ),
    rejected(
        "two kernels of one name",
        "template <class T> kernel void f(device T *p) { p[0] = 1; }\ntemplate [[host_name(\"a\")]] kernel void f<float>(device float *);\ntemplate [[host_name(\"a\")]] kernel void f<int>(device int *);",
        &["3:41: error: redefinition of kernel 'a'"],
    ),
    rejected(
        "an instantiation of nothing",
        "template [[host_name(\"a\")]] [[kernel]] void nothing<float>(device float *);",
        &["1:45: error: 'nothing' does not name a kernel template"],
    ),
    // ---- function constants
    rejected(
        "two constants of one index",
        "constant int a [[function_constant(0)]];\nconstant int b [[function_constant(0)]];",
        &["2:14: error: function constants 'a' and 'b' have the same index 0"],
    ),
    rejected(
        "constant of a struct type",
        "struct S { int a; };\nconstant S s [[function_constant(0)]];",
        &["2:12: error: function constant 's' must be a scalar or a vector, not 'S'"],
    ),
    rejected(
        "constants of types that are neither a number nor a vector",
        "#include <metal_stdlib>\nusing namespace metal;\nstruct S { int a; };\nusing A = S;\nusing P = device float *;\n\
         constant A a [[function_constant(0)]];\nconstant float2x2 b [[function_constant(1)]];\n\
         constant P c [[function_constant(2)]];\nconstant array<int, 2> d [[function_constant(3)]];\n\
         constant uint e [[function_constant(4)]];\nusing U = uint;\nconstant U f [[function_constant(5)]];",
        &[
            "6:12: error: function constant 'a' must be a scalar or a vector, not 'A'",
            "7:19: error: function constant 'b' must be a scalar or a vector, not 'float2x2'",
            "8:12: error: function constant 'c' must be a scalar or a vector, not 'P'",
            "9:24: error: function constant 'd' must be a scalar or a vector, not 'array < int , 2 >'",
        ],
    ),
    rejected(
        "a constant of a type that is not known",
        "constant Unknown a [[function_constant(0)]];",
        &["1:10: error: unknown type name 'Unknown'"],
    ),
    rejected(
        "constant index that is none",
        "constant int a [[function_constant(x)]];",
        &["1:36: error: 'function_constant' index must be an integer constant between 0 and 65535"],
    ),
    // ---- warnings
    accepted(
        "plain kernel",
        "kernel void k(device float *y [[buffer(0)]], uint i [[thread_position_in_grid]]) { y[i] = 0.5 * y[i]; }",
    ),
    // ---- accepted
    accepted(
        "defaulted assignments for each address space",
        "struct S { float x; S() device = default; S() thread = default; device S &operator=(const thread S &o) device = default;\n  thread S &operator=(const device S &o) thread { x = o.x; return *this; } };\nkernel void k(device S *p) { S s = S(); s = p[1]; p[0] = s; }",
    ),
    accepted(
        "a braced list for a constructor",
        "struct S { float x, y; S(metal::initializer_list<float> l) : x(l.begin()[0]), y(l.size()) {} };\nkernel void k(device float *p) { S s{p[0], p[1]}; p[2] = s.x + s.y; }",
    ),
    accepted(
        "a class that converts to bool given to a bfloat",
        "struct Yes { constexpr operator bool() const { return true; } constexpr operator bool() const device { return true; } };\nkernel void k(device bfloat *p, device Yes *y) { p[0] = y[0]; Yes z; p[1] = z; }",
    ),
    accepted(
        "a pointer moved by an object that converts to an integer",
        "template <int N> struct Int { constexpr operator int() const { return N; } };\ntemplate <class P, class S> void move(P p, S s) { p += s; p -= s; p[0] = 1; }\nkernel void k(device float *p) { move(p, 1); move(p, Int<1>{}); }",
    ),
    rejected(
        "a pointer moved by a float",
        "kernel void k(device float *p) {\n  p += 1.5;\n  p[0] = 1;\n}",
        &["2:5: error: invalid operands to binary expression"],
    ),
    accepted(
        "const_cast to a reference in thread",
        "struct S { float x; void go() thread { x = 1; } };\nkernel void k(device float *p) { const S s{p[0]}; S t{2}; const_cast<S thread &>(t).go(); p[1] = const_cast<thread S &>(s).x + t.x; }",
    ),
    rejected(
        "const_cast to another type",
        "struct S { float x; };\nkernel void k(device float *p) {\n  S s{p[0]};\n  p[1] = const_cast<int thread &>(s);\n}",
        &["4:10: error: const_cast can only adjust type qualifiers"],
    ),
    rejected(
        "const_cast from device to thread",
        "kernel void k(const device float *p) {\n  const_cast<float thread &>(p[0]) = 1;\n}",
        &["2:3: error: const_cast can only adjust type qualifiers"],
    ),
    accepted("the default log", "kernel void k(device float *p) { metal::os_log_default.log(\"%f\", p[0]); }"),
    // ---- messages (6.19)
    rejected(
        "a message's argument of another kind",
        "using namespace metal; kernel void k(device float *p, uint i [[thread_position_in_grid]]) {\n  os_log_default.log(\"%d\", p[0]);\n  os_log_default.log(\"%f\", i);\n  os_log_default.log_info(\"%p\", i);\n}",
        &[
            "2:18: error: a conversion such as '%d' prints an integer, or with 'v' a vector of integers",
            "3:18: error: a conversion such as '%f' prints a floating-point number, or with 'v' a vector of them",
            "4:18: error: '%p' prints a pointer",
        ],
    ),
    rejected(
        "a message's vector of another size",
        "using namespace metal; kernel void k(device float4 *p) {\n  os_log_default.log(\"%v3hlf\", p[0]);\n  os_log_default.log(\"%f\", p[0]);\n  os_log_default.log(\"%v2hlf\", 1.0f);\n}",
        &[
            "2:18: error: a conversion with 'v' and a number prints a vector of as many components, and any other a scalar",
            "3:18: error: a conversion with 'v' and a number prints a vector of as many components, and any other a scalar",
            "4:18: error: a conversion with 'v' and a number prints a vector of as many components, and any other a scalar",
        ],
    ),
    rejected(
        "a message with arguments too few and too many",
        "using namespace metal; kernel void k(device float *p) {\n  os_log_default.log(\"%f %d\", p[0]);\n  os_log_default.log_with_type(metal::log_type_info, \"%f\", p[0], 1);\n  os_log_default.log(\"%*d\", 1);\n}",
        &[
            "2:18: error: the format has a conversion without an argument",
            "3:18: error: the format has no conversion for an argument",
            "4:18: error: the format has a conversion without an argument",
        ],
    ),
    rejected(
        "conversions that messages do not have",
        "using namespace metal; kernel void k(device char *p) {\n  os_log_default.log(\"%s\", p);\n  os_log_default.log(\"%n\", p);\n  os_log_default.log(\"%@\", p);\n  os_log_default.log(\"%{public}d\", 1);\n  os_log_default.log(\"%y\", 1);\n  os_log_default.log(\"100%\");\n}",
        &[
            "2:22: error: '%s' is not supported in messages (MSL 6.19)",
            "3:22: error: '%n' is not supported in messages (MSL 6.19)",
            "4:22: error: '%@' is not supported in messages (MSL 6.19)",
            "5:22: error: '%{' is not supported in messages (MSL 6.19)",
            "6:22: error: '%y' is no conversion",
            "7:22: error: the format ends within the conversion '%'",
        ],
    ),
    rejected(
        "a message's format that is no literal",
        "using namespace metal; constant char text[] = \"a\";\nkernel void k(device float *p) {\n  os_log_default.log(text);\n  os_log_default.log_error(p[0] > 0 ? \"a\" : \"b\");\n}",
        &[
            "3:18: error: the format of a message must be a string literal",
            "4:18: error: the format of a message must be a string literal",
        ],
    ),
    accepted(
        "a method of the program's own with the name of a log's",
        "struct S { float x; float log(float y) const { return x + y; } void log_info(const thread char *) const {} };\nkernel void k(device float *p) { S s{1}; p[0] = s.log(p[0]) + metal::log(p[0]); }",
    ),
    accepted("nothing", ""),
    accepted(
        "attributes in every place",
        "[[kernel]] void k(device float *y [[buffer(0)]], const uint i [[thread_position_in_grid]]) { y[i] = 1; }",
    ),
    accepted(
        "kernel in a namespace",
        "namespace a { namespace b { struct S { float x; }; kernel void k(device S *y) { y[0].x = 1; } } }",
    ),
    accepted(
        "overloads are no recursion",
        "float f(half x) { return x; }\nfloat f(float x) { return f(half(x)); }\nkernel void k(device float *p) { p[0] = f(p[0]); }",
    ),
    accepted(
        "a method named as the function that calls it",
        "struct S { int f() const { return 1; } };\nint f() { S s; return s.f(); }\nkernel void k(device int *p) { p[0] = f(); }",
    ),
    accepted(
        "templates that count down",
        "template <int N> int f() { if constexpr (N > 0) { return f<N - 1>() + 1; } else { return 0; } }\nkernel void k(device int *p) { p[0] = f<4>(); }",
    ),
    accepted(
        "constants at program scope",
        "constant float a = 1.0, b[2] = {1, 2};\nconstant constexpr int c = 3;\nconstexpr constant static float d[] = {1.f};\nstatic constant constexpr uint e = 4;\nkernel void k(device float *p) { p[0] = a + b[1] + c + d[0] + e; }",
    ),
    accepted(
        "constants in a function",
        "kernel void k(device float *p, uint i [[thread_position_in_grid]]) { constant float t[2] = {1, 2}; constexpr int n = 2; p[i] = t[i % n]; }",
    ),
    accepted(
        "enumerations",
        "enum Kind : uint { one = 1, two };\nenum class Other { a, b };\nkernel void k(device uint *p) { p[0] = two; p[1] = (uint)Other::b; }",
    ),
    accepted(
        "multiplication is no pointer",
        "kernel void k(device float *p) { float a = p[0], b = p[1]; p[2] = (a * b); }",
    ),
    accepted(
        "pointers with address spaces",
        "struct S { device float *p; thread int *q; };\nvoid f(thread float &r, device S *s, constant S &c, threadgroup float *t) { r = 1; s->p[0] = t[0]; (void)c; }\nkernel void k(device float *p) { thread float *q; float x = 0; q = &x; *q = 2; p[0] = x; auto &z = x; z = 3; }",
    ),
    accepted(
        "methods with address spaces",
        "struct S { float x; float g() const thread { return x; } float g() const device { return x + 1; } float g() const constant { return x + 1; } void s(float v) device { x = v; } };\nkernel void k(device S *d, constant S &c) { S s = c; d->s(s.g() + d->g()); }",
    ),
    accepted(
        "conditional with operands of two spaces",
        "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(device float4 *p, constant bool &c) { float4 z(0.0); p[1] = c ? p[0] : z; p[2] = c ? z : (c ? p[0] : z); }",
    ),
    accepted(
        "conditional with initialisers in its operands",
        "#include <metal_stdlib>\nusing namespace metal;\nstruct S { ulong b; };\nbool operator==(S x, S y) { return x.b == y.b; }\nkernel void k(device ulong4 *p) { ulong4 z = p[0]; p[1] = S{z.x} == S{1} ? S{z.y} == S{2} ? ulong4(1) : ulong4(z.x) : z; }",
    ),
    accepted(
        "function as a template argument",
        "void add(device float *p, short n) { p[0] += n; }\ntemplate <void (*fn)(device float *, short)> void call(device float *p) { fn(p, 1); }\nkernel void k(device float *p) { call<add>(p); }",
    ),
    rejected(
        "ray tracing",
        "#include <metal_raytracing>\nusing namespace metal::raytracing;",
        &["2:24: error: ray tracing is not supported by hostmetal"],
    ),
    rejected(
        "required threads along one axis",
        "[[required_threads_per_threadgroup(8)]] kernel void k(device int *p) { p[0] = 1; }",
        &["1:3: error: 'required_threads_per_threadgroup' attribute requires exactly 3 arguments"],
    ),
    rejected(
        "required threads of a type",
        "kernel void k(device int *p) [[required_threads_per_threadgroup(8, 8, 1)]] { p[0] = 1; }",
        &["1:32: error: 'required_threads_per_threadgroup' attribute cannot be applied to types"],
    ),
    accepted(
        "element access in every address space",
        "template <class T, uint N> struct A { T v[N]; thread T &operator[](uint i) thread { return v[i]; } const thread T &operator[](uint i) const thread { return v[i]; } device T &operator[](uint i) device { return v[i]; } const device T &operator[](uint i) const device { return v[i]; } constexpr const constant T &operator[](uint i) const constant { return v[i]; } threadgroup T &operator[](uint i) threadgroup { return v[i]; } const threadgroup T &operator[](uint i) const threadgroup { return v[i]; } };\nconstant A<A<int, 2>, 2> table = {};\nkernel void k(device A<int, 4> *p, constant A<int, 4> &c, uint i [[thread_position_in_grid]]) { A<int, 4> local; local[0] = c[i]; (*p)[i] = local[0] + table[i][1]; threadgroup A<int, 4> t; t[0] = (*p)[1]; }",
    ),
    accepted(
        "methods that return device memory",
        "struct B { float x; device float *p; device float &at() device { return x; } device float *address() device { return &x; } device float *pointer() const device { return p; } device float &deref(int i) device { return p[i]; } };\nkernel void k(device B *b) { b->at() = 1; *b->address() = 2; b->pointer()[0] = 3; device float &r = b->deref(1); r = 4; device float *q = b->address(); q[0] = 5; }",
    ),
    accepted(
        "kernels named as a function of the library",
        "#include <metal_stdlib>\nusing namespace metal;\nkernel void transpose(device float *p) { p[0] = 1; }\nnamespace n { kernel void dot(device float *p) { p[0] = 2; } }\nnamespace { kernel void clamp(device float *p) { p[0] = 2; } }\ntemplate <class T> kernel void fill(device T *p) { p[0] = 3; }\ntemplate [[host_name(\"max\")]] kernel void fill<int>(device int *);",
    ),
    accepted(
        "kernel templates of one name with different numbers of parameters",
        "template <class T> kernel void f(device T *p [[buffer(1)]]) { p[0] = 1; }\ntemplate <class T, int N> kernel void f(device T *p [[buffer(N)]]) { p[0] = N; }\ntemplate [[host_name(\"a\")]] kernel void f<int>(device int *);\ntemplate [[host_name(\"b\")]] kernel void f<int, 4>(device int *);",
    ),
    accepted(
        "an instantiation that is told by its parameters",
        "template <class T, int N> [[kernel]] void f(device T *p [[buffer(0)]], constant T (&q)[N] [[buffer(1)]]) { p[0] = q[N - 1]; }\ntemplate [[host_name(\"k\")]] [[kernel]] void f(device float *p [[buffer(0)]], constant float (&q)[3] [[buffer(1)]]);",
    ),
    accepted(
        "a template argument deduced from two address spaces",
        "template <class T, int N> void copy(thread T (&to)[N], device const T (&from)[N]) { for (int i = 0; i < N; i++) to[i] = from[i]; }\ntemplate <class T> void swap_values(thread T &a, thread T &b) { T w = a; a = b; b = w; }\ntemplate <class T> void put(thread T *to, T value) { *to = value; }\nstruct S { float v[4]; };\nkernel void k(device S *s) { float v[4]; copy(v, s->v); swap_values(v[0], v[1]); put(&v[2], 1.0f); s->v[0] = v[0] + v[2]; }",
    ),
    rejected(
        "two kernel templates of one name",
        "template <class T> kernel void f(device T *p) { p[0] = 1; }\ntemplate <int N> kernel void f(device int *p) { p[0] = N; }\ntemplate [[host_name(\"a\")]] kernel void f<3>(device int *);",
        &["3:41: error: there are several kernel templates named 'f', which hostmetal cannot tell apart"],
    ),
    accepted(
        "literals",
        "#include <metal_stdlib>\nusing namespace metal;\ntemplate <class T> void f(T x, device int *p) { static_assert(sizeof(x + 0.5) == 4, \"\"); static_assert(sizeof(1e3) == 4 && sizeof(0x1p3) == 4 && sizeof(.5) == 4 && sizeof(1.) == 4 && sizeof(1.0h) == 2 && sizeof(1.0bf) == 2 && sizeof(1e2f) == 4, \"\"); p[0] = 0xE; }\nkernel void k(device int *p) { f(1.0f, p); }",
    ),
    accepted(
        "pragmas",
        "#define MAX(a, b) ((a) > (b) ? (a) : (b))\nkernel void k(device float *p) {\n#pragma METAL fp contract(off)\n#pragma unroll(MAX(2, 4))\n  for (int i = 0; i < 4; i++) p[i] += 1;\n#pragma unroll\n  for (int i = 0; i < 4; i++) p[i] += 1;\n#pragma clang loop unroll(full)\n  for (int i = 0; i < 4; i++) p[i] += 1;\n}",
    ),
    accepted(
        "threadgroup variables",
        "#include <metal_stdlib>\nusing namespace metal;\ntemplate <class T, int N> void f(device T *p) { threadgroup T a[N][2], b; alignas(16) threadgroup T c[4]; threadgroup atomic_uint n; a[0][1] = p[0]; b = a[0][1]; c[0] = b; atomic_store_explicit(&n, 1u, memory_order_relaxed); p[0] = c[0]; }\nkernel void k(device float *p, device int *q) { f<float, 4>(p); f<int, 8>(q); threadgroup float *t; threadgroup float u; t = &u; *t = 1; }",
    ),
    accepted(
        "names of OpenCL",
        "kernel void k(device int *p) { int local = 1, global = 2, generic = 3, pipe = 4, read_only = 5; p[0] = local + global + generic + pipe + read_only; }",
    ),
    accepted(
        "a lambda, a union, a bit field",
        "kernel void k(device uint *p) { union { uint u; float f; } z; z.f = 1; struct { uint a : 4; } b; b.a = 3; auto l = [&](uint x) { return x + p[0] + b.a; }; p[1] = l(z.u); }",
    ),
    accepted(
        "argument buffer",
        "struct A { device float *p [[id(0)]]; float s [[id(1)]]; };\nkernel void k(constant A &a [[buffer(0)]], uint i [[thread_position_in_grid]]) { a.p[i] = a.s; }",
    ),
    accepted(
        "textures in a structure",
        "#include <metal_stdlib>\nusing namespace metal;\nusing Image = texture2d<float>;\nstruct B { Image image; };\nstruct A { int n; texture2d<float> t [[id(3)]]; array<sampler, 2> s; B b[2]; };\nkernel void k(constant A &a [[buffer(0)]], device const Image *all [[buffer(1)]]) { all[a.n].sample(a.s[1], float2(0)); a.b[a.n].image.read(uint2(0)); }",
    ),
    accepted(
        "array parameters",
        "kernel void k(constant const int x[2] [[buffer(0)]], device int *y [[buffer(1)]], constant float (&z)[3] [[buffer(2)]]) { y[0] = x[1] + (int)z[2]; }",
    ),
];

/// `line:column: severity: text` of each finding in a log.
fn findings(log: &str) -> Vec<String> {
    log.lines()
        .filter_map(|line| {
            let severity = ["fatal error: ", "error: "].iter().find(|s| line.contains(&format!(": {s}")))?;
            let at = line.find(&format!(": {severity}"))?;
            let place: Vec<&str> = line[..at].split(':').collect();
            let [.., line_number, column] = place.as_slice() else { return Some(line.to_owned()) };
            Some(format!("{line_number}:{column}{}", &line[at..]))
        })
        .collect()
}

#[test]
fn programs_are_accepted_or_rejected_at_the_right_place() {
    let mut wrong = Vec::new();
    for case in CASES.iter().chain(pointers::CASES).chain(portable::CASES) {
        let result = check(case.source, &CompileOptions::default());
        let log = match &result {
            Ok(_) => String::new(),
            Err(failure) => failure.log.clone(),
        };
        let found = findings(&log);
        let kind_fits = result.as_ref().err().is_none_or(|f| f.kind == Failure::Source);
        let fits = found.len() == case.findings.len() && found.iter().zip(case.findings).all(|(f, e)| f.starts_with(e));
        if !kind_fits || !fits || result.is_ok() != case.findings.is_empty() {
            wrong.push(format!("--- {}\nexpected {:#?}\nfound {found:#?}\n{log}", case.name, case.findings));
        }
    }
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), CASES.len(), wrong.join("\n"));
}

#[test]
fn a_log_shows_the_line_and_a_caret() {
    let failure = check("kernel void k(device float *y) {\n\ty[0] = 0.5 * q; // no q\n}", &CompileOptions::default())
        .unwrap_err();
    assert_eq!(failure.kind, Failure::Source);
    let expected =
        "program_source:2:15: error: use of undeclared identifier 'q'\n\ty[0] = 0.5 * q; // no q\n\t             ^\n";
    assert_eq!(failure.log, expected);
}

#[test]
fn line_directives_name_their_file_and_show_its_line() {
    let failure =
        check("\n#line 7 \"my kernel.cl\"\nkernel void k(device float *y) { y[0] = q; }", &CompileOptions::default())
            .unwrap_err();
    let expected = "my kernel.cl:7:41: error: use of undeclared identifier 'q'\nkernel void k(device float *y) { y[0] = q; }\n                                        ^\n";
    assert_eq!(failure.log, expected);
}
