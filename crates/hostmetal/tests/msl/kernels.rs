//! What a checked source tells of its kernels, and what their code does when it is called directly.
//!
//! Sizes and alignments are those of the MSL specification (tables 2.2 to 2.4), data types Apple's MTLDataType numbers.

use hostmetal::executor::{Entry, Group};
use hostmetal::msl::{
    Access, BindingKind, Built, Checked, CompileOptions, ConstantKey, ConstantValue, DataType, Failure, Linked,
    Linking, LoadedKernel, MathMode, With, check,
};
use std::ffi::c_void;
use std::sync::Arc;

const PRELUDE: &str = "#include <metal_stdlib>\nusing namespace metal;\n";

fn source(text: &str) -> Checked {
    let text = format!("{PRELUDE}{text}");
    check(&text, &CompileOptions::default()).unwrap_or_else(|e| panic!("{text}\n{e}"))
}

fn kernel(text: &str) -> LoadedKernel {
    let checked = source(text);
    let name = checked.kernels()[0].name.clone();
    checked.build(&name, &[]).unwrap_or_else(|e| panic!("{text}\n{e}"))
}

/// kind, index, access, data type, size, alignment, pointer: `b0 r 3 4/4 *`.
fn described(kernel: &LoadedKernel) -> Vec<String> {
    let line = |b: &hostmetal::msl::Binding| {
        let kind = if b.kind == BindingKind::Buffer { 'b' } else { 't' };
        let access = if b.access == Access::ReadOnly { "r" } else { "rw" };
        let pointer = if b.pointer { '*' } else { '&' };
        let used = if b.used { "" } else { " unused" };
        format!(
            "{} {kind}{} {access} {} {}/{} {pointer}{used}",
            b.name, b.index, b.data_type.0, b.data_size, b.alignment
        )
    };
    kernel.bindings().iter().map(line).collect()
}

#[test]
fn arguments_are_described_by_the_compiler() {
    let cases: &[(&str, &[&str])] = &[
        (
            "kernel void k(device const float *a [[buffer(3)]], device float4 *b [[buffer(1)]], constant uint3 &c [[buffer(0)]]) { b[0] = a[c.x]; }",
            &["a b3 r 3 4/4 *", "b b1 rw 6 16/16 *", "c b0 r 35 16/16 &"],
        ),
        // Free indices are given in order, around those that are taken.
        (
            "kernel void k(device float *a [[user(x)]], device float *b [[buffer(0)]]) { a[0] = b[0]; }",
            &["a b1 rw 3 4/4 *", "b b0 rw 3 4/4 *"],
        ),
        (
            "kernel void k(device half *a, device uchar2 *b [[buffer(0)]], constant bool &c, threadgroup int *d, threadgroup short *e) { a[0] = b[0].x + c; d[0] = e[0]; }",
            &["a b1 rw 16 2/2 *", "b b0 rw 50 2/2 *", "c b2 r 53 1/1 &", "d t0 rw 29 4/4 *", "e t1 rw 37 2/2 *"],
        ),
        (
            "struct S { float3 p; char c; packed_float3 q; }; kernel void k(device S *s, constant S &c, device packed_float3 *p) { s[0] = c; p[0] = c.q; }",
            &["s b0 rw 1 32/16 *", "c b1 r 1 32/16 &", "p b2 rw 5 12/4 *"],
        ),
        (
            "kernel void k(device float4x4 *a, device half2x3 *b, device long *c, device ulong4 *d, device bfloat *e) { c[0] = d[0].x + (long)a[0][0].x + (long)b[0][0].x + (long)e[0]; }",
            &["a b0 rw 15 64/16 *", "b b1 rw 21 16/8 *", "c b2 rw 81 8/8 *", "d b3 rw 88 32/32 *", "e b4 rw 121 2/2 *"],
        ),
        (
            "kernel void k(device atomic_uint *a, device atomic_int &b, constant float (&c)[6], constant int d[2]) { atomic_store_explicit(a, (uint)c[0] + d[1], memory_order_relaxed); atomic_store_explicit(&b, 1, memory_order_relaxed); }",
            &["a b0 rw 33 4/4 *", "b b1 rw 29 4/4 &", "c b2 r 2 24/4 &", "d b3 r 29 4/4 *"],
        ),
        (
            "typedef device float *Pointer; enum E : ushort { one }; enum { at = 4 }; kernel void k(Pointer p [[buffer(at + 1)]], device void *v [[buffer(2 * 3)]], constant E &e [[buffer(0x7)]]) { p[0] = ((device float *)v)[e]; }",
            &["p b5 rw 3 4/4 *", "v b6 rw 0 1/1 *", "e b7 r 41 2/2 &"],
        ),
        (
            "template <class T, int N> [[kernel, max_total_threads_per_threadgroup(N * 32)]] void f(device T *a [[buffer(N)]]) { a[0] = 1; } template [[host_name(\"k\")]] [[kernel]] decltype(f<uchar, 2>) f<uchar, 2>;",
            &["a b2 rw 49 1/1 *"],
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(described(&kernel(text)), *expected, "{text}");
    }
}

#[test]
fn kernels_are_listed_by_name() {
    let checked = source(
        "kernel void zeta(device int *p) { p[0] = 1; }\n\
         namespace inner { [[kernel]] void alpha(device int *p) { p[0] = 2; } }\n\
         [[host_name(\"shown\")]] kernel void hidden(device int *p) { p[0] = 3; }\n\
         template <class T, T N = 7> kernel void f(device T *p) { p[0] = N; }\n\
         #define MAKE(name, ...) template [[host_name(#name)]] [[kernel]] decltype(f<__VA_ARGS__>) f<__VA_ARGS__>;\n\
         MAKE(f_int, int)\nMAKE(f_uint_9, uint, 9)\n\
         template [[host_name(\"f_\" \"short\")]] kernel void f<short>(device short *p);\n\
         void helper(device int *p) { p[0] = 4; }",
    );
    let names: Vec<&str> = checked.kernels().iter().map(|k| k.name.as_str()).collect();
    assert_eq!(names, ["alpha", "f_int", "f_short", "f_uint_9", "shown", "zeta"]);
    let expected: [(&str, i32); 6] =
        [("zeta", 1), ("alpha", 2), ("shown", 3), ("f_int", 7), ("f_uint_9", 9), ("f_short", 7)];
    for (name, value) in expected {
        let mut cell = 0i32;
        run(&checked.build(name, &[]).unwrap(), &[(0, (&raw mut cell).cast())], [1, 1, 1]);
        assert_eq!(cell, value, "{name}");
    }
    let failure = checked.build("hidden", &[]).unwrap_err();
    assert_eq!((failure.kind, failure.log.as_str()), (Failure::Source, "there is no kernel named 'hidden'"));
}

#[test]
fn thread_limits_and_threadgroup_variables_are_told() {
    let limited = kernel("[[max_total_threads_per_threadgroup(96)]] kernel void k(device int *p) { p[0] = 1; }");
    assert_eq!(limited.max_total_threads(), Some(96));
    let of_template = kernel(
        "template <class T, int N> [[kernel, max_total_threads_per_threadgroup(N * sizeof(T))]] void f(device T *a) { a[0] = 1; } template [[host_name(\"k\")]] [[kernel]] decltype(f<half, 48>) f<half, 48>;",
    );
    assert_eq!(of_template.max_total_threads(), Some(96));
    let exact = kernel(
        "constant int n = 4; template <int N> [[kernel, required_threads_per_threadgroup(N, max(n, 2), 1)]] void f(device int *a) { a[0] = 1; } template [[host_name(\"k\")]] [[kernel]] decltype(f<8>) f<8>;",
    );
    assert_eq!((exact.required_threads(), exact.max_total_threads()), (Some([8, 4, 1]), None));
    let plain = kernel("kernel void k(device int *p) { p[0] = 1; }");
    assert_eq!((plain.max_total_threads(), plain.required_threads()), (None, None));
    assert_eq!(plain.threadgroup_variables(), []);

    // Each instantiation has variables of its own; those of code that the kernel does not reach are not counted.
    let loaded = kernel(
        "template <class T, int N> void f(device T *p, uint i) { threadgroup T a[N]; a[i] = p[i]; threadgroup_barrier(mem_flags::mem_threadgroup); p[i] = a[N - 1 - i]; }\n\
         kernel void a(device float *p, device char *q, uint i [[thread_index_in_threadgroup]]) { f<float, 8>(p, i); f<float, 16>(p, i); f<char, 3>(q, i); threadgroup float4 v; if (i == 0) v = p[0]; threadgroup_barrier(mem_flags::mem_threadgroup); p[i] = v.y; }\n\
         kernel void other(device float *p) { threadgroup float big[4096]; big[0] = p[0]; threadgroup_barrier(mem_flags::mem_threadgroup); p[0] = big[1]; }",
    );
    let mut sizes: Vec<(u64, u64)> = loaded.threadgroup_variables().iter().map(|v| (v.size, v.alignment)).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [(3, 1), (16, 16), (32, 4), (64, 4)]);
    let ids: Vec<u32> = loaded.threadgroup_variables().iter().map(|v| v.id).collect();
    assert_eq!(ids, [0, 16, 32, 48]);
}

/// The last line of each source decides; 1: threads wait for each other, 0: they do not.
const MODES: &[(u8, &str)] = &[
    (0, "kernel void k(device float *p, uint i [[thread_position_in_grid]]) { p[i] = 1; }"),
    (1, "kernel void k(device float *p) { threadgroup_barrier(mem_flags::mem_device); p[0] = 1; }"),
    (1, "kernel void k(device float *p) { p[0] = simd_sum(p[1]); }"),
    (1, "kernel void k(device float *p) { p[0] = metal::simd_shuffle_down<float>(p[1], 1); }"),
    (1, "kernel void k(device float *p) { p[0] = quad_broadcast(p[1], 0); }"),
    (1, "kernel void k(device float *p) { simdgroup_float8x8 m; simdgroup_load(m, p, 8); simdgroup_store(m, p, 8); }"),
    // Through a helper, and one that only another kernel uses.
    (
        1,
        "void wait() { threadgroup_barrier(mem_flags::mem_none); } kernel void k(device float *p) { wait(); p[0] = 1; }",
    ),
    (
        0,
        "void wait() { threadgroup_barrier(mem_flags::mem_none); } kernel void k(device float *p) { p[0] = 1; } kernel void l(device float *p) { wait(); p[0] = 1; }",
    ),
    // Through a template, a class template's method, an operator, a constructor, a conversion, a lambda.
    (1, "template <class T> T sum(T x) { return simd_sum(x); } kernel void k(device float *p) { p[0] = sum(p[1]); }"),
    (
        1,
        "template <class T> struct S { T x; T all() const { return simd_sum(x); } }; kernel void k(device float *p) { S<float> s = {p[0]}; p[0] = s.all(); }",
    ),
    (
        1,
        "struct V { float x; }; V operator+(V a, V b) { V r; r.x = simd_sum(a.x + b.x); return r; } kernel void k(device V *p) { p[0] = p[1] + p[2]; }",
    ),
    (
        1,
        "struct V { float x; V(float a) : x(simd_max(a)) {} }; kernel void k(device float *p) { V v(p[0]); p[0] = v.x; }",
    ),
    (
        1,
        "struct V { float x; operator float() const { return simd_min(x); } }; kernel void k(device float *p) { V v; v.x = 1; p[0] = v; }",
    ),
    (1, "kernel void k(device float *p) { auto f = [](float x) { return simd_sum(x); }; p[0] = f(p[1]); }"),
    // Through a function given as a template argument, a functor, a macro, an alias, another namespace.
    (
        1,
        "float one(float x) { return simd_sum(x); } template <float (*f)(float)> float call(float x) { return f(x); } kernel void k(device float *p) { p[0] = call<one>(p[1]); }",
    ),
    (
        1,
        "struct Sum { float operator()(float x) const { return simd_sum(x); } }; template <class F> float call(F f, float x) { return f(x); } kernel void k(device float *p) { p[0] = call(Sum{}, p[1]); }",
    ),
    (1, "#define REDUCE(x) simd_##x\nkernel void k(device float *p) { p[0] = REDUCE(sum)(p[1]); }"),
    (
        1,
        "struct S { static void w() { simdgroup_barrier(mem_flags::mem_none); } }; using A = S; kernel void k(device float *p) { A::w(); p[0] = 1; }",
    ),
    (
        1,
        "namespace n { void w() { threadgroup_barrier(mem_flags::mem_none); } } namespace m { using namespace n; } kernel void k(device float *p) { m::w(); p[0] = 1; }",
    ),
    (
        1,
        "template <class T> void b(T t) { t.go(); } struct G { void go() { threadgroup_barrier(mem_flags::mem_none); } }; template <class T> kernel void f(device float *p) { b(T{}); p[0] = 1; } template [[host_name(\"k\")]] [[kernel]] decltype(f<G>) f<G>;",
    ),
    // Names that only look alike.
    (
        0,
        "kernel void k(device float *p, uint simd_lane_id [[thread_index_in_simdgroup]], uint simd_group_id [[simdgroup_index_in_threadgroup]]) { p[simd_lane_id < 4 ? simd_group_id : 0] = 1; }",
    ),
    (
        0,
        "kernel void k(device atomic_uint *p) { atomic_thread_fence(mem_flags::mem_device, memory_order_relaxed); atomic_fetch_add_explicit(p, 1u, memory_order_relaxed); }",
    ),
    (0, "// simd_sum(x)\nkernel void k(device float *p) { /* threadgroup_barrier */ p[0] = 1; }"),
];

#[test]
fn kernels_that_make_threads_wait_are_no_mere_loops() {
    for (waits, text) in MODES {
        assert_eq!(*kernel(text).built() != Built::Loop, *waits == 1, "{text}");
    }
}

fn group(buffers: &[(usize, *mut c_void)], threads: [u32; 3]) -> Group {
    let mut group = Group {
        buffer: [std::ptr::null_mut(); 31],
        threadgroup: [std::ptr::null_mut(); 31],
        threadgroup_position_in_grid: [0; 3],
        threads_per_threadgroup: threads,
        dispatch_threads_per_threadgroup: threads,
        threads_per_grid: threads,
        threadgroups_per_grid: [1; 3],
        simdgroups_per_threadgroup: threads.iter().product::<u32>().div_ceil(32),
        dispatch_simdgroups_per_threadgroup: threads.iter().product::<u32>().div_ceil(32),
        texture: std::ptr::null(),
        sampler: std::ptr::null(),
        grid_origin: [0; 3],
        grid_size: threads,
        stream_bytes: u32::MAX,
        attribute_stride: std::ptr::null(),
        imageblock: std::ptr::null_mut(),
        imageblock_size: [0; 2],
    };
    for (index, address) in buffers {
        group.buffer[*index] = *address;
    }
    group
}

/// Calls a kernel that needs no executor for one threadgroup.
fn call(kernel: &LoadedKernel, group: &Group) {
    let Entry::Group(entry) = kernel.entry() else { panic!("not a kernel whose threads run one after another") };
    // SAFETY: the code is mapped while `kernel` lives; the group's addresses are those of live values large enough for
    // what the sources of
    // this file do with them, and without barriers the code needs nothing of the executor.
    unsafe { entry(group) };
}

fn run(kernel: &LoadedKernel, buffers: &[(usize, *mut c_void)], threads: [u32; 3]) {
    call(kernel, &group(buffers, threads));
}

#[test]
fn a_loop_kernel_computes() {
    let saxpy = kernel(
        "kernel void saxpy(device const float *x, device float *y, constant float &a, uint i [[thread_position_in_grid]]) { y[i] = a * x[i] + y[i]; }",
    );
    let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let mut y: Vec<f32> = (0..1000).map(|i| (i % 7) as f32).collect();
    let mut a = 2.0f32;
    let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| a * x + y).collect();
    let mut group =
        group(&[(0, x.as_ptr().cast_mut().cast()), (1, y.as_mut_ptr().cast()), (2, (&raw mut a).cast())], [300, 1, 1]);
    group.threads_per_grid = [1000, 1, 1];
    group.threadgroups_per_grid = [4, 1, 1];
    for position in 0..4 {
        group.threadgroup_position_in_grid = [position, 0, 0];
        group.threads_per_threadgroup = [if position == 3 { 100 } else { 300 }, 1, 1];
        call(&saxpy, &group);
    }
    assert_eq!(y, expected);
}

#[test]
fn every_input_has_its_value() {
    // What, its expression as a uint, and the value for the thread at (x, y, z) of the second of three threadgroups of
    // 5 x 4 x 3 threads, of
    // which only 4 x 4 x 2 are inside the grid.
    type Value = fn(u32, u32, u32, u32) -> u32;
    let inputs: &[(&str, &str, &str, Value)] = &[
        ("uint3", "thread_position_in_grid", "v.x + 100 * v.y + 10000 * v.z", |x, y, z, _| {
            (5 + x) + 100 * y + 10000 * z
        }),
        ("ushort2", "thread_position_in_grid", "v.x + 100 * v.y", |x, y, _, _| (5 + x) + 100 * y),
        ("uint", "thread_position_in_grid", "v", |x, _, _, _| 5 + x),
        ("ushort3", "thread_position_in_threadgroup", "v.x + 100 * v.y + 10000 * v.z", |x, y, z, _| {
            x + 100 * y + 10000 * z
        }),
        ("uint3", "threadgroup_position_in_grid", "v.x + 100 * v.y + 10000 * v.z", |_, _, _, _| 1),
        ("uint3", "threads_per_grid", "v.x + 100 * v.y + 10000 * v.z", |_, _, _, _| 9 + 400 + 20000),
        ("uint3", "threads_per_threadgroup", "v.x + 100 * v.y + 10000 * v.z", |_, _, _, _| 4 + 400 + 20000),
        ("uint3", "dispatch_threads_per_threadgroup", "v.x + 100 * v.y + 10000 * v.z", |_, _, _, _| 5 + 400 + 30000),
        ("uint3", "threadgroups_per_grid", "v.x + 100 * v.y + 10000 * v.z", |_, _, _, _| 3 + 100 + 10000),
        ("uint", "thread_index_in_threadgroup", "v", |_, _, _, l| l),
        ("ushort", "thread_index_in_simdgroup", "v", |_, _, _, l| l % 32),
        ("uint", "thread_index_in_quadgroup", "v", |_, _, _, l| l % 4),
        ("uint", "simdgroup_index_in_threadgroup", "v", |_, _, _, l| l / 32),
        ("uint", "quadgroup_index_in_threadgroup", "v", |_, _, _, l| l / 4),
        ("uint", "threads_per_simdgroup", "v", |_, _, _, _| 32),
        ("uint", "thread_execution_width", "v", |_, _, _, _| 32),
        ("uint", "simdgroups_per_threadgroup", "v", |_, _, _, _| 1),
        ("uint", "dispatch_simdgroups_per_threadgroup", "v", |_, _, _, _| 2),
        ("uint", "quadgroups_per_threadgroup", "v", |_, _, _, _| 8),
        ("uint", "dispatch_quadgroups_per_threadgroup", "v", |_, _, _, _| 15),
    ];
    for (spelled, input, expression, value) in inputs {
        let text = format!(
            "kernel void k(device uint *out, {spelled} v [[{input}]], uint at [[thread_index_in_threadgroup]]) {{ out[at] = {expression}; }}"
        );
        let mut out = [u32::MAX; 32];
        let mut group = group(&[(0, out.as_mut_ptr().cast())], [4, 4, 2]);
        group.threadgroup_position_in_grid = [1, 0, 0];
        group.dispatch_threads_per_threadgroup = [5, 4, 3];
        group.threads_per_grid = [9, 4, 2];
        group.threadgroups_per_grid = [3, 1, 1];
        group.simdgroups_per_threadgroup = 1;
        group.dispatch_simdgroups_per_threadgroup = 2;
        call(&kernel(&text), &group);
        for z in 0..2 {
            for y in 0..4 {
                for x in 0..4 {
                    let linear = x + 4 * (y + 4 * z);
                    assert_eq!(out[linear as usize], value(x, y, z, linear), "{spelled} {input} at {x} {y} {z}");
                }
            }
        }
    }
}

#[test]
fn memory_of_a_thread_is_its_own_in_a_vectorised_loop() {
    // A local array with computed indices stays in memory: the iterations of the loop over threads must not be taken as
    // independent.
    let function = "uint sum(uint v) { uint NAME[8]; for (uint j = 0; j < 8; j++) NAME[j] = v * j; NAME[v % 8] = 1000; uint s = 0; for (uint j = 0; j < 8; j++) s += NAME[(j * 3 + v) % 8]; return s; }";
    let kernel = "kernel void k(device const uint *in, device uint *out, uint i [[thread_position_in_grid]]) { out[i] = sum(in[i]); }";
    let input: Vec<u32> = (0..256).map(|i| i * 7 % 31).collect();
    // The last name is the one by which the engine knows memory of its own; in a library of the kernel's as well.
    for (name, in_library) in [("t", false), ("hm_held", false), ("hm_held", true)] {
        let function = function.replace("NAME", name);
        let (library, text) = match in_library {
            true => (Some(source(&function)), format!("uint sum(uint v);\n{kernel}")),
            false => (None, format!("{function}\n{kernel}")),
        };
        let libraries =
            library.map(|one| Arc::new(one.dynamic("library", Linking::default(), &[]).expect("a library")));
        let linked = Linked { preloaded: libraries.as_slice(), ..Linked::default() };
        let kernel = source(&text).build_with("k", &[], &With { linked, ..With::default() }).expect("a kernel");
        let mut out = vec![0u32; 256];
        run(&kernel, &[(0, input.as_ptr().cast_mut().cast()), (1, out.as_mut_ptr().cast())], [256, 1, 1]);
        for (i, v) in input.iter().enumerate() {
            let expected = (0..8).map(|j| if j == v % 8 { 1000 } else { v * j }).sum::<u32>();
            assert_eq!(out[i], expected, "thread {i}, {name}, in a library: {in_library}");
        }
    }
}

#[test]
fn constant_arguments_are_seen_whole() {
    // Copied per threadgroup when small, read in place when large; a pointer to them stays valid.
    let kernel = kernel(
        "struct Small { float4 a; int n; }; struct Large { int v[1000]; };\n\
         int last(constant Large &l) { return l.v[999]; }\n\
         kernel void k(constant Small &s, constant Large &l, device int *out, uint i [[thread_position_in_grid]]) { constant Small *p = &s; out[i] = (int)p->a.w + s.n + last(l) + l.v[i]; }",
    );
    #[repr(C, align(16))]
    struct Small {
        a: [f32; 4],
        n: i32,
    }
    let mut small = Small { a: [0.0, 0.0, 0.0, 5.0], n: 20 };
    let mut large: Vec<i32> = (0..1000).collect();
    let mut out = [0i32; 64];
    let buffers = [(0, (&raw mut small).cast()), (1, large.as_mut_ptr().cast()), (2, out.as_mut_ptr().cast())];
    run(&kernel, &buffers, [64, 1, 1]);
    for (i, v) in out.iter().enumerate() {
        assert_eq!(*v, 5 + 20 + 999 + i as i32);
    }
}

fn value(key: u32, data_type: u32, bytes: &[u8]) -> ConstantValue {
    ConstantValue { key: ConstantKey::Index(key), data_type: DataType(data_type), bytes: bytes.to_vec() }
}

#[test]
fn function_constants_of_every_type_keep_their_bits() {
    // Apple's MTLDataType numbers of the scalar types; their vectors follow.
    let scalars: [(&str, u32, &[u8]); 12] = [
        ("float", 3, &0xc049_0fdb_u32.to_le_bytes()),
        ("half", 16, &0xc248_u16.to_le_bytes()),
        ("int", 29, &(-123_456_i32).to_le_bytes()),
        ("uint", 33, &0xfedc_ba98_u32.to_le_bytes()),
        ("short", 37, &(-1234_i16).to_le_bytes()),
        ("ushort", 41, &0xfedc_u16.to_le_bytes()),
        ("char", 45, &[0x85]),
        ("uchar", 49, &[0xfe]),
        ("bool", 53, &[1]),
        ("long", 81, &(-1_234_567_890_123_i64).to_le_bytes()),
        ("ulong", 85, &0xfedc_ba98_7654_3210_u64.to_le_bytes()),
        ("bfloat", 121, &0xc249_u16.to_le_bytes()),
    ];
    let (mut text, mut values, mut expected) = (String::new(), Vec::new(), Vec::new());
    let mut stores = String::new();
    for (name, first, bits) in scalars {
        for width in 1..=4usize {
            let spelled = if width == 1 { name.to_owned() } else { format!("{name}{width}") };
            let index = values.len() as u32 + 5;
            let mut bytes = Vec::new();
            for i in 0..width {
                // Components differ, in a byte that any pattern of bits allows.
                let mut component = bits.to_vec();
                component[0] = if name == "bool" { u8::from(i % 2 == 0) } else { component[0] ^ (i as u8) };
                bytes.extend(component);
            }
            text.push_str(&format!("constant {spelled} c{index} [[function_constant({index})]];\n"));
            for i in 0..width {
                let at = expected.len() + i * bits.len();
                let component = if width == 1 { String::new() } else { format!("[{i}]") };
                // Byte by byte, so that nothing need be aligned.
                stores.push_str(&format!("{{ {name} v = c{index}{component}; for (uint i = 0; i < sizeof(v); i++) out[{at} + i] = ((thread uchar *)&v)[i]; }}\n"));
            }
            expected.extend_from_slice(&bytes);
            values.push(value(index, first + width as u32 - 1, &bytes));
        }
    }
    let checked = source(&format!("{text}kernel void k(device uchar *out) {{ {stores} }}"));
    let constants = &checked.kernels()[0].constants;
    assert_eq!(constants.len(), 48);
    for (constant, value) in constants.iter().zip(&values) {
        assert_eq!(ConstantKey::Index(constant.index), value.key);
        assert_eq!((constant.data_type, constant.required), (value.data_type, true));
    }
    let mut out = vec![0u8; expected.len()];
    run(&checked.build("k", &values).unwrap(), &[(0, out.as_mut_ptr().cast())], [1, 1, 1]);
    assert_eq!(out, expected);
}

#[test]
fn function_constants_have_the_type_that_their_spelling_means() {
    // What is declared before, the spelling, the MTLDataType, a value's bytes, and what the kernel makes of it.
    type Case = (&'static str, &'static str, u32, &'static [u8], &'static str, i32);
    let cases: [Case; 18] = [
        ("using index_t = uint;", "index_t", 33, &[7, 0, 0, 0], "c", 7),
        ("typedef ushort size;", "const size", 41, &[0, 1], "c", 256),
        ("typedef uint first; using second = first;", "second", 33, &[9, 0, 0, 0], "c", 9),
        ("namespace n { using real = float; }", "n::real", 3, &[0, 0, 0x40, 0xc0], "c", -3),
        ("template <class T> struct S { using type = T; };", "S<half>::type", 16, &[0, 0x44], "c", 4),
        ("template <class T> using pair = vec<T, 2>;", "pair<short>", 38, &[1, 0, 2, 0], "c.x + 10 * c.y", 21),
        (
            "",
            "vec<float, 4>",
            6,
            &[0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 0, 0, 0x40, 0x40, 0, 0, 0x80, 0x40],
            "c.x + c.w",
            5,
        ),
        ("", "metal::vec<uchar, 3>", 51, &[1, 2, 3], "c.z", 3),
        ("", "simd::float2", 4, &[0, 0, 0x80, 0x3f, 0, 0, 0, 0x40], "c.y", 2),
        ("", "unsigned long", 85, &[8, 0, 0, 0, 0, 0, 0, 0], "c", 8),
        ("", "int unsigned", 33, &[8, 0, 0, 0], "c", 8),
        ("", "signed char", 45, &[0xff], "c", -1),
        ("", "constexpr const int", 29, &[8, 0, 0, 0], "c", 8),
        ("enum Mode { add, mul = 5 };", "Mode", 33, &[5, 0, 0, 0], "c == mul", 1),
        ("enum Mode { add, mul = 5 };", "enum Mode", 33, &[5, 0, 0, 0], "c", 5),
        ("enum class Mode : uchar { add, mul = 5 };", "Mode", 49, &[5], "c == Mode::mul", 1),
        ("enum class Mode { add = -1 };", "Mode", 29, &[0xff, 0xff, 0xff, 0xff], "(int)c", -1),
        ("using weight = bfloat;", "weight", 121, &[0, 0x40], "(int)(float)c", 2),
    ];
    for (before, spelled, data_type, bytes, expression, expected) in cases {
        // The second is not given, and has a condition's value all the same.
        let text = format!(
            "{before}\nconstant {spelled} c [[function_constant(3)]];\nconstant {spelled} other [[function_constant(4)]];\n\
             constant bool given = is_function_constant_defined(other);\n\
             kernel void k(device int *out) {{ out[0] = {expression}; out[1] = given; }}"
        );
        let checked = source(&text);
        let constants: Vec<_> =
            checked.kernels()[0].constants.iter().map(|c| (c.index, c.data_type.0, c.required)).collect();
        assert_eq!(constants, [(3, data_type, true), (4, data_type, false)], "{text}");
        let mut out = [-9, -9];
        run(&checked.build("k", &[value(3, data_type, bytes)]).unwrap(), &[(0, out.as_mut_ptr().cast())], [1, 1, 1]);
        assert_eq!(out, [expected, 0], "{text}");
        let other = if data_type == 37 { 41 } else { 37 };
        let failure = checked.build("k", &[value(3, other, &[0; 4])]).unwrap_err();
        assert!(failure.log.contains("function constant 'c' (index 3) has type "), "{text}\n{}", failure.log);
    }
}

#[test]
fn function_constants_choose_arguments_and_code() {
    let checked = source(
        "constant bool use_b [[function_constant(0)]];\nconstant int n [[function_constant(1)]];\nconstant int unrelated [[function_constant(2)]];\n\
         constant bool has_n = is_function_constant_defined(n);\nconstant int m = has_n ? n : 100;\n\
         kernel void k(device int *a [[buffer(0)]], device int *b [[buffer(1), function_constant(use_b)]], constant int &c [[buffer(2), function_constant(has_n)]]) { a[0] = m; if (use_b) b[0] = m + 1; if (has_n) a[1] = c; }\n\
         kernel void l(device int *a) { a[0] = unrelated; }",
    );
    let names =
        |k: usize| checked.kernels()[k].constants.iter().map(|c| (c.name.as_str(), c.required)).collect::<Vec<_>>();
    assert_eq!(names(0), [("use_b", true), ("n", false)]);
    assert_eq!(names(1), [("unrelated", true)]);

    let missing = checked.build("k", &[]).unwrap_err();
    assert_eq!(missing.kind, Failure::Source);
    assert_eq!(missing.log, "kernel 'k' needs a value for function constant 'use_b' (index 0)");
    let wrong = checked.build("k", &[value(0, 29, &1i32.to_le_bytes())]).unwrap_err();
    assert_eq!(wrong.log, "function constant 'use_b' (index 0) has type 'bool', the value given has type 'int'");
    let short = checked.build("k", &[value(0, 53, &[1]), value(1, 29, &[0, 0])]).unwrap_err();
    assert_eq!(short.log, "function constant 'n' (index 1): a value of type 'int' x 1 needs 4 bytes, 2 were given");

    let (mut a, mut b, mut c) = ([0i32; 2], 0i32, 9i32);
    let all = [(0, a.as_mut_ptr().cast()), (1, (&raw mut b).cast()), (2, (&raw mut c).cast())];
    let both = checked.build("k", &[value(0, 53, &[1]), value(1, 29, &7i32.to_le_bytes())]).unwrap();
    assert_eq!(described(&both), ["a b0 rw 29 4/4 *", "b b1 rw 29 4/4 *", "c b2 r 29 4/4 &"]);
    run(&both, &all, [1, 1, 1]);
    assert_eq!((a, b), ([7, 9], 8));
    let by_name = ConstantValue { key: ConstantKey::Name("use_b".to_owned()), data_type: DataType(53), bytes: vec![0] };
    let neither = checked.build("k", &[by_name]).unwrap();
    assert_eq!(described(&neither), ["a b0 rw 29 4/4 *", "b b1 rw 29 4/4 * unused", "c b2 r 29 4/4 & unused"]);
    (a, b) = ([0; 2], 0);
    run(&neither, &[(0, a.as_mut_ptr().cast())], [1, 1, 1]);
    assert_eq!((a, b), ([100, 0], 0));
}

#[test]
fn arguments_may_share_an_index_when_constants_choose_between_them() {
    let checked = source(
        "constant bool wide [[function_constant(0)]];\nconstant bool narrow = !wide;\n\
         kernel void k(device int *a [[buffer(0), function_constant(wide)]], device char *b [[buffer(0), function_constant(narrow)]]) { if (wide) a[0] = 300; else b[0] = 3; }",
    );
    for (wide, expected) in [(1u8, 300i32), (0, 3)] {
        let mut cell = 0i32;
        let loaded = checked.build("k", &[value(0, 53, &[wide])]).unwrap();
        run(&loaded, &[(0, (&raw mut cell).cast())], [1, 1, 1]);
        assert_eq!(cell, expected);
    }
}

#[test]
fn methods_are_for_objects_in_constant_too() {
    let kernel = kernel(
        "struct S { int v; int f() const constant { return v * 2; } int g(int by) const device { return v + by; } int g(int by) const constant { return v + by; }
         template <class T> operator T() const constant { return T(v); } constant int &r() const constant { return v; } };
         kernel void k(constant S &s [[buffer(0)]], device int *out [[buffer(1)]]) {
             out[0] = s.f(); out[1] = s.g(5); out[2] = int(float(s)); out[3] = s.r() + 1;
         }",
    );
    let (mut value, mut out) = ([21i32], [0i32; 4]);
    run(&kernel, &[(0, value.as_mut_ptr().cast()), (1, out.as_mut_ptr().cast())], [1, 1, 1]);
    assert_eq!(out, [42, 26, 21, 22]);
}

#[test]
fn uniform_values_are_assigned_to_as_others_are() {
    let kernel = kernel(
        "kernel void k(device int *out [[buffer(0)]]) {
             uniform<int> u = make_uniform(100); int n = 0;
             u += 7; out[n++] = u; u -= 20; out[n++] = u; u *= 3; out[n++] = u; u /= 2; out[n++] = u; u %= 50; out[n++] = u;
             u |= 8; out[n++] = u; u &= 29; out[n++] = u; u ^= 5; out[n++] = u; u <<= 3; out[n++] = u; u >>= 1; out[n++] = u;
             out[n++] = u++; out[n++] = u; out[n++] = ++u; out[n++] = u--; out[n++] = u; out[n++] = --u;
         }",
    );
    let mut out = [0i32; 16];
    run(&kernel, &[(0, out.as_mut_ptr().cast())], [1, 1, 1]);
    assert_eq!(out, [107, 87, 261, 130, 30, 30, 28, 25, 200, 100, 100, 101, 102, 102, 101, 100]);
}

#[test]
fn a_scope_for_the_system_is_the_programs_to_declare() {
    // MSL 3.2 table 6.13 has no such scope; MLX declares it, in old versions always and in new ones where no macro is there for it.
    let declared = "enum thread_scope : int; constexpr constant metal::thread_scope thread_scope_system = static_cast<thread_scope>(3);";
    for scope in [
        format!("namespace metal {{ {declared} }}"),
        format!("#ifndef __METAL_MEMORY_SCOPE_SYSTEM__\nnamespace metal {{ {declared} }}\n#endif\n"),
    ] {
        let kernel = kernel(&format!(
            "{scope}\nkernel void k(device atomic_uint *p [[buffer(0)]]) {{ atomic_fetch_add_explicit(p, 5u, memory_order_relaxed); atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_system); }}"
        ));
        let mut p = [2u32];
        run(&kernel, &[(0, p.as_mut_ptr().cast())], [1, 1, 1]);
        assert_eq!(p, [7]);
    }
}

#[test]
fn program_scope_constants_have_their_values() {
    // Some are known to the compiler, some only when the object is loaded.
    let kernel = kernel(
        "constant float x = exp(0.0) + 1;\nconstant float4 y = float4(x) * 2;\nconstant int t[3] = {1, 2, 3};\nstruct S { int a, b; };\nconstant S s = {4, 5};\nconstant S u[2] = {{6, 7}, {8, 9}};\n\
         kernel void k(device float *p, uint i [[thread_position_in_grid]]) { constant int local_table[2] = {10, 20}; S copy = u[i]; p[i] = x + y.z + t[i] + s.b + copy.b + local_table[i]; }",
    );
    let mut p = [0f32; 2];
    run(&kernel, &[(0, p.as_mut_ptr().cast())], [2, 1, 1]);
    assert_eq!(p, [2.0 + 4.0 + 1.0 + 5.0 + 7.0 + 10.0, 2.0 + 4.0 + 2.0 + 5.0 + 9.0 + 20.0]);
}

#[test]
fn math_modes_keep_their_promises() {
    // Infinities and NaNs are honoured in every mode; in safe mode a sum is not reassociated.
    let text = format!(
        "{PRELUDE}kernel void k(device const float *x, device float *y) {{ float m = -INFINITY; for (int i = 0; i < 4; i++) m = max(m, x[i]); y[0] = m; y[1] = isnan(x[4]) ? 1 : 0; y[2] = x[5] == INFINITY ? 1 : 0; y[3] = (x[6] + x[7]) - x[6]; }}"
    );
    let x = [-4.0f32, -3.0, -2.0, -5.0, f32::NAN, f32::INFINITY, 1e8, 1.0];
    for mode in [MathMode::Safe, MathMode::Relaxed, MathMode::Fast] {
        let options = CompileOptions { math_mode: mode, ..CompileOptions::default() };
        let mut y = [0f32; 4];
        let loaded = check(&text, &options).unwrap().build("k", &[]).unwrap();
        run(&loaded, &[(0, x.as_ptr().cast_mut().cast()), (1, y.as_mut_ptr().cast())], [1, 1, 1]);
        assert_eq!(y[..3], [-2.0, 1.0, 1.0], "{mode:?}");
        if mode == MathMode::Safe {
            assert_eq!(y[3], 0.0);
        }
    }
}

/// MSL 1.6.3: the pragma's scope is safe, whatever the library is compiled as.
#[test]
fn a_pragma_makes_a_scope_safe() {
    let body = "p[0] += 0.0f; p[1] = (p[1] + p[2]) - p[1]; p[3] = p[3] / 3.0f;";
    let inside = format!("kernel void k(device float *p) {{\n#pragma METAL fp math_mode(safe)\n{body} }}");
    let outside = format!("#pragma METAL fp math_mode(safe)\nkernel void k(device float *p) {{ {body} }}");
    for text in [inside, outside] {
        for mode in [MathMode::Safe, MathMode::Relaxed, MathMode::Fast] {
            let options = CompileOptions { math_mode: mode, ..CompileOptions::default() };
            let mut p = [-0.0f32, 1e8, 1.0, 5.0];
            let loaded = check(&format!("{PRELUDE}{text}"), &options).unwrap().build("k", &[]).unwrap();
            run(&loaded, &[(0, p.as_mut_ptr().cast())], [1, 1, 1]);
            assert_eq!(p.map(f32::to_bits), [0.0f32, 0.0, 1.0, 5.0 / 3.0].map(f32::to_bits), "{mode:?} of {text}");
        }
    }
}

/// MSL 1.6.3 and 7.4: where a pragma says off, a product is rounded before it is added, whatever the library is compiled as.
#[test]
fn a_pragma_keeps_products_and_sums_apart() {
    // a * a is 1 + 2^-11 + 2^-24, which rounds to 1 + 2^-11.
    let a = 1.0f32 + 1.0 / 4096.0;
    for (word, wanted) in [("off", 0.0), ("fast", (1.0f64 / 16_777_216.0) as f32)] {
        let inside = format!(
            "kernel void k(device float *p) {{\n#pragma METAL fp contract({word})\np[0] = p[0] * p[0] + p[1]; }}"
        );
        let outside = format!(
            "#pragma METAL fp contract({word})\nkernel void k(device float *p) {{ p[0] = p[0] * p[0] + p[1]; }}"
        );
        for text in [inside, outside] {
            for mode in [MathMode::Safe, MathMode::Relaxed, MathMode::Fast] {
                let options = CompileOptions { math_mode: mode, ..CompileOptions::default() };
                let mut p = [a, -(1.0 + 1.0 / 2048.0)];
                let loaded = check(&format!("{PRELUDE}{text}"), &options).unwrap().build("k", &[]).unwrap();
                run(&loaded, &[(0, p.as_mut_ptr().cast())], [1, 1, 1]);
                // Without an instruction for it nothing is fused.
                let fuses = cfg!(target_arch = "aarch64") || has_fma();
                assert_eq!(p[0], if fuses { wanted } else { 0.0 }, "{mode:?} of {text}");
            }
        }
    }
}

fn has_fma() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

#[test]
fn the_same_request_is_compiled_once() {
    let text = format!("{PRELUDE}kernel void once(device int *p) {{ p[0] = 17; }}");
    let addresses: Vec<usize> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let checked = check(&text, &CompileOptions::default()).unwrap();
                    match checked.build("once", &[]).unwrap().entry() {
                        Entry::Group(f) => f as usize,
                        Entry::Thread(f) => f as usize,
                    }
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert!(addresses.iter().all(|a| *a == addresses[0]), "{addresses:x?}");
}
