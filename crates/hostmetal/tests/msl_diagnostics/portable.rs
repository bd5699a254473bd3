//! What clang compiles and Apple's compiler does not: vectors' components as objects, function constants as constant expressions, constants
//! elsewhere than in `constant`, address spaces and types that a function of the library does not take.
//!
//! What Apple's compiler says of the first three is known from public reports: SPIRV-Cross issues 1096, 2332, 2511 and 2515, AdaptiveCpp issue 864; that
//! atomics have no copies, from redeclarations of its members (philipturner/metal-float64, Atomic.h).

use super::{Case, accepted, rejected};

pub(crate) const CASES: &[Case] = &[
    rejected(
        "the address of a component",
        "#include <metal_stdlib>\nusing namespace metal;\nstruct S { float4 v; float x, a[4]; packed_float3 p; };\n\
         kernel void k(device float4 *b, device S *s, threadgroup packed_uint2 *g [[threadgroup(0)]], uint i [[thread_index_in_threadgroup]]) {\n\
         float4 v(1); float2x3 m(1);\n\
         thread float *t = &v.x;\n\
         t = &v[1];\n\
         t = &m[1][2];\n\
         device float *d = &b[i].w;\n\
         d = (device float *)&s->p[i];\n\
         d = &(*s).v.y;\n\
         d = &b->x;\n\
         device atomic_uint *c = (device atomic_uint *)&((device uint4 *)b)[i].z;\n\
         atomic_fetch_add_explicit((threadgroup atomic_uint *)&g[i].y, 1u, memory_order_relaxed);\n\
         thread float3 *w = &m[1];\n\
         device packed_float3 *q = &s->p;\n\
         d = &s->x; d = &s[i].a[2]; d = &s->a[0]; b = &b[1]; (void)&s[1].v; (void)w; (void)q; (void)c; *t = *d;\n}",
        &[
            "6:19: error: address of vector element requested",
            "7:5: error: address of vector element requested",
            "8:5: error: address of vector element requested",
            "9:19: error: address of vector element requested",
            "10:21: error: address of vector element requested",
            "11:5: error: address of vector element requested",
            "12:5: error: address of vector element requested",
            "13:47: error: address of vector element requested",
            "14:54: error: address of vector element requested",
        ],
    ),
    rejected(
        "a reference to a component",
        "#include <metal_stdlib>\nusing namespace metal;\nstruct S { float x; void own(thread float &p) const { p = x; } };\n\
         void put(thread float &p) { p = 1; }\nvoid twice(device float &p, float by) { p *= by; }\nfloat get(const thread float &p) { return p; }\n\
         template <class T> void zero(thread T &p) { p = T(0); }\n\
         kernel void k(device float4 *b, device packed_float3 *p, uint i [[thread_position_in_grid]]) {\n\
         float4 v(1); S s = {2}; float a[2] = {1, 2};\n\
         thread float &r = v.y;\n\
         device float &e = p[i][1];\n\
         auto &f = v[2];\n\
         put(v.x);\n\
         twice(b[i].z, v.x);\n\
         zero(v[i]);\n\
         s.own(v.w);\n\
         v.x = modf(1.5f, v.z);\n\
         const thread float &c = v.y; thread float &x = s.x; put(s.x); put(a[1]); zero(v); s.own(a[i]); twice(((device float *)b)[i], v.z);\n\
         float z = modf(v.x, a[0]); b[i] = get(v.x) + c + x + r + e + f + z;\n}",
        &[
            "10:19: error: non-const reference cannot bind to vector element",
            "11:19: error: non-const reference cannot bind to vector element",
            "12:11: error: non-const reference cannot bind to vector element",
            "13:1: error: no matching function for call to 'put'",
            "14:1: error: no matching function for call to 'twice'",
            "15:1: error: no matching function for call to 'zero'",
            "16:7: error: non-const lvalue reference to type 'float' cannot bind to a temporary of type",
            "17:7: error: no matching function for call to 'modf'",
        ],
    ),
    rejected(
        "function constants where the compiler must know a number",
        "#include <metal_stdlib>\nusing namespace metal;\nconstant int n [[function_constant(0)]];\nconstant bool b [[function_constant(1)]];\nconstant int m = n * 2; constant constexpr int e [[function_constant(2)]];\n\
         template <int N> int f() { return N; }\n\
         kernel void k(device int *p, uint i [[thread_position_in_grid]]) {\n\
         int a[n];\n\
         threadgroup int t[n];\n\
         p[0] = f<n>();\n\
         switch (p[1]) { case n: break; }\n\
         if constexpr (b) p[0] = 2;\n\
         p[i] = p[0] / n + (b ? m : 3); if (is_function_constant_defined(n)) p[1] = n + e;\n\
         int c[e];\n}",
        &[
            "8:7: error: array size is not a constant expression",
            "9:19: error: array size is not a constant expression",
            "10:8: error: no matching function for call to 'f'",
            "11:22: error: case value is not a constant expression",
            "12:15: error: constexpr if condition is not a constant expression",
            "14:7: error: array size is not a constant expression",
        ],
    ),
    rejected(
        "constants of the program that are constexpr and in no address space",
        "#include <metal_stdlib>\nconstexpr int a = 5;\nstatic constexpr float b[] = {1, 2};\nnamespace n { constexpr metal::uint2 c = 1; }\n\
         constant constexpr int d = 5; constexpr static constant int e = 5; constexpr metal::sampler s(metal::filter::linear);\n\
         struct S { static constexpr int f = 2; }; constexpr int g() { constexpr int h = 3; return h; }\n\
         kernel void k(device int *p) { constexpr int i = 4; p[0] = a + b[0] + n::c.x + d + e + S::f + g() + i; }",
        &[
            "2:15: error: program scope variable must reside in constant address space",
            "3:24: error: program scope variable must reside in constant address space",
            "4:38: error: program scope variable must reside in constant address space",
        ],
    ),
    rejected(
        "constants of a function that nobody knows beforehand",
        "kernel void k(device int *p, constant float &s, uint i [[thread_position_in_grid]]) {\n\
         constant int a = p[1];\n\
         static constant float b = s * 2;\n\
         constant int c[2] = {1, 2}, d = 3 * 4; constant constexpr float e = 2; p[i] = a + b + c[i] + d + e;\n}",
        &[
            "2:14: error: variable does not have a constant initializer",
            "3:23: error: variable does not have a constant initializer",
        ],
    ),
    rejected(
        "blocks, and literals of more bits than there are",
        "kernel void k(device float *p, device int *q) {\n  int (^b)(int) = ^int(int x) { return x; };\n  p[0] = 1.0L;\n  p[1] = 1e2l + 0x1p3L;\n  q[0] = (q[1] ^ 3) ^ 4L ^ 0xEL;\n}",
        &[
            "2:8: error: blocks are not supported in Metal",
            "2:19: error: blocks are not supported in Metal",
            "3:10: error: 'long double' is not supported in Metal",
            "4:10: error: 'long double' is not supported in Metal",
            "4:17: error: 'long double' is not supported in Metal",
        ],
    ),
    rejected(
        "what the library returns by reference, where no other address space is named",
        "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(device float *p, device int *q) {\n  p[0] = modf(1.5f, p[1]);\n  p[2] = frexp(1.5f, q[0]);\n\
         \x20 threadgroup float c;\n  p[3] = fast::sincos(p[0], c);\n}",
        &[
            "4:10: error: 'modf<float>' is unavailable: what it returns by reference is to lie in thread",
            "5:10: error: 'frexp<float, int>' is unavailable: what it returns by reference is to lie in thread",
            "7:16: error: 'sincos<float>' is unavailable: what it returns by reference is to lie in thread",
        ],
    ),
    rejected(
        "atomic objects and expected values elsewhere",
        "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(device atomic_int *a, device int *q, threadgroup atomic_uint *t [[threadgroup(0)]]) {\n\
         \x20 constexpr memory_order r = memory_order_relaxed; threadgroup uint u; atomic_int own; int e = 0;\n\
         \x20 atomic_compare_exchange_weak_explicit(a, q, 1, r, r);\n\
         \x20 atomic_compare_exchange_weak_explicit(t, &u, 1, r, r);\n\
         \x20 atomic_store_explicit(&own, 1, r);\n\
         \x20 q[1] = atomic_fetch_max_explicit(&own, 1, r);\n\
         \x20 q[2] = atomic_load_explicit(a, r) + atomic_fetch_max_explicit(t, 1, r) + atomic_compare_exchange_weak_explicit(a, &e, 1, r, r);\n}",
        &[
            "5:3: error: 'atomic_compare_exchange_weak_explicit<int>' is unavailable: the expected value is to lie in thread",
            "6:3: error: 'atomic_compare_exchange_weak_explicit<unsigned int>' is unavailable: the expected value is to lie in thread",
            "7:3: error: 'atomic_store_explicit<int>' is unavailable: an atomic object is to lie in device or threadgroup",
            "8:10: error: 'atomic_fetch_max_explicit<int>' is unavailable: an atomic object is to lie in device or threadgroup",
        ],
    ),
    rejected(
        "matrices of a SIMD-group from elsewhere",
        "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(constant float *c, device float *d, const device half *h, threadgroup float *t [[threadgroup(0)]]) {\n\
         \x20 simdgroup_float8x8 m; simdgroup_half8x8 n; float own[64];\n\
         \x20 simdgroup_load(m, c, 8);\n  simdgroup_load(m, own);\n\
         \x20 simdgroup_load(m, d, 8); simdgroup_load(m, t + 8); simdgroup_load(n, h, 8, ulong2(0), true); simdgroup_store(m, d, 8); simdgroup_store(m, t);\n}",
        &[
            "5:3: error: 'simdgroup_load<float, float>' is unavailable: what it loads is to lie in device or threadgroup",
            "6:3: error: 'simdgroup_load<float, float>' is unavailable: what it loads is to lie in device or threadgroup",
        ],
    ),
    rejected(
        "types that functions of the library do not take",
        "#include <metal_stdlib>\nusing namespace metal;\nstruct S { int a; };\nkernel void k(device float *p, device int *q) {\n\
         \x20 q[0] = dot(int3(1), int3(2));\n\
         \x20 p[0] = length_squared(uint2(1));\n\
         \x20 q[1] = as_type<int>(S{1});\n\
         \x20 p[1] = as_type<S>(1).a;\n\
         \x20 p[2] = simd_shuffle(float2x2(1), 1)[0][0];\n\
         \x20 matrix<int, 2, 2> m;\n\
         \x20 matrix<float, 5, 2> n;\n\
         \x20 p[3] = dot(half3(1), half3(2)) + as_type<float>(half2(1)) + as_type<int>(packed_uchar4(1)) + float(as_type<bfloat>(short(1)));\n}",
        &[
            "5:10: error: no matching function for call to 'dot'",
            "6:10: error: no matching function for call to 'length_squared'",
            "7:10: error: as_type: the types must be scalars or vectors",
            "8:10: error: as_type: the types must be scalars or vectors",
            "10:21: error: matrix: the elements must be floating-point numbers",
            "11:23: error: matrix: there are 2 to 4 columns and rows",
            "9:10: error: simd_shuffle: the argument must be an integer or a floating-point number of at most 32 bits, or a vector of these",
        ],
    ),
    rejected(
        "methods for constant that do something else than those for device",
        "#include <metal_stdlib>\nusing namespace metal;\nstruct S { int v;\n\
         int f() const device { return v; }\nint f() const constant { return v + 1; }\n\
         device int *g(device int *p) device { return p; } constant int *g(constant int *p) const constant { return p; }\n\
         };\nkernel void k(constant S &s, device int *out) { out[0] = s.f(); }",
        &["5:15: error: a method for objects in 'constant' that differs from the one for 'device' is not supported"],
    ),
    accepted(
        "arguments that depend on what a function constant makes",
        "#include <metal_stdlib>\nusing namespace metal;\nconstant bool a [[function_constant(0)]];\nconstant bool b [[function_constant(1)]];\nconstant bool both = a && b;\n\
         template <class T> kernel void f(device T *p [[buffer(0), function_constant(both)]], device T *q [[buffer(0), function_constant(a)]], texture2d<T> t [[texture(0), function_constant(b)]]) {\n\
         if (both) p[0] = 1; else if (a) q[0] = 2; }\n\
         template [[host_name(\"f\")]] kernel void f<float>(device float *p [[buffer(0), function_constant(both)]], device float *q [[buffer(0), function_constant(a)]], texture2d<float> t [[texture(0), function_constant(b)]]);",
    ),
    rejected(
        "copies of atomics",
        "#include <metal_stdlib>\nusing namespace metal;\nstruct S { atomic_int count; int other; };\n\
         kernel void k(device atomic_uint *a, device S *s) {\n\
         a[0] = a[1];\n\
         thread atomic_uint &x = *(thread atomic_uint *)a;\n\
         S own = s[0];\n\
         s[1] = s[0];\n\
         (void)x; (void)own; }",
        &[
            "5:6: error: overload resolution selected deleted operator '='",
            "7:3: error: call to implicitly-deleted copy constructor of 'thread S'",
            "8:6: error: object of type 'device S' cannot be assigned because its copy assignment operator is implicitly deleted",
        ],
    ),
    accepted(
        "atomics where they are",
        "#include <metal_stdlib>\nusing namespace metal;\nstruct S { atomic_int count; atomic<float> sums[2]; int other; };\n\
         kernel void k(device atomic_uint *a, device S &s, threadgroup S *t [[threadgroup(0)]], uint i [[thread_position_in_threadgroup]]) {\n\
         threadgroup atomic_uint own[2]; threadgroup S whole; device atomic_int &c = s.count;\n\
         atomic_store_explicit(&own[i], 1u, memory_order_relaxed); atomic_store_explicit(&whole.count, 1, memory_order_relaxed);\n\
         atomic_fetch_add_explicit(&t->count, 1, memory_order_relaxed); atomic_fetch_add_explicit(&c, 2, memory_order_relaxed);\n\
         a = &a[1]; atomic_fetch_add_explicit(a, uint(s.other), memory_order_relaxed); t->other = 1; }",
    ),
    rejected(
        "integers of 128 bits",
        "kernel void k(device int *p) { __int128 a = p[0]; __uint128_t b = 1; __int128_t c = 2; unsigned __int128 d = 1; p[0] = a + b + c + d; }",
        &[
            "1:32: error: '__int128' is not supported in Metal",
            "1:51: error: '__uint128_t' is not supported in Metal",
            "1:70: error: '__int128_t' is not supported in Metal",
            "1:97: error: '__int128' is not supported in Metal",
        ],
    ),
    accepted(
        "members, elements and macros that are none of this",
        "#include <metal_stdlib>\nusing namespace metal;\n#define AT(a, i) &a[i]\n\
         struct P { float x, y; float2 v; int b : 3; }; struct L { P z[2]; array<float, 4> w; };\nconstant float table[3] = {1, 2, 3};\nconstant float *constant where = &table[1];\n\
         template <class T> struct V { T x; thread T *own() thread { return &x; } };\n\
         void put(thread float &p, float q) { p = q; }\nvoid put(device float &p, float q) { p = q; }\n\
         kernel void k(device P *p, device L &l, device float4 *f, constant uint2 &n, uint3 at [[thread_position_in_grid]]) {\n\
         float o[3] = {}; V<float> v = {1}; uint3 local = at; float m = f[0].x;\n\
         put(o[1], f[0].x); put(p->x, f[1].y); put(l.z[1].y, l.w[2]); put(l.w[1], n.x & n.y); put(v.x, 2);\n\
         device float *q = AT(l.w, 1); q = &p[at.x].x; q = &(l.z[0].y); thread float &r = o[local.x & 1]; r = *q + where[0] + *v.own();\n\
         uint a = at.x & at[1], b = (at.x) & at.y; auto g = [&m, &o](int i) { return m + o[i]; }; f[a + b] = g(1);\n}",
    ),
];
