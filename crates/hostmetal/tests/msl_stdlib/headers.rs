//! What our metal_stdlib refuses, with the words it refuses it, and that its generated files are those of the generator.

use std::process::Command;

use crate::stdlib::refusal;
use hostmetal::msl::{CompileOptions, check};

#[test]
fn generated_headers_are_current() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../native/hostmetal/msl/generate.py");
    let run = Command::new("python3").args([script, "--check"]).output().expect("python3 runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}

/// Source that Metal refuses, or that is not supported here, and a part of the diagnostic.
const REFUSED: &[(&str, &str, &str)] = &[
    (
        "depth texture of another type",
        "kernel void run(depth2d<half> t [[texture(0)]]) { t.read(uint2(0)); }",
        "the component type of a depth texture must be float",
    ),
    (
        "depth texture to write",
        "kernel void run(depth2d<float, access::write> t [[texture(0)]]) {}",
        "a depth texture can be sampled and read only",
    ),
    (
        "multisampled texture to sample",
        "kernel void run(texture2d_ms<float, access::sample> t [[texture(0)]]) {}",
        "a multisampled texture can be read only",
    ),
    (
        "atomic function of a texture of floats",
        "kernel void run(texture2d<float, access::read_write> t [[texture(0)]]) { t.atomic_exchange(uint2(0), float4(0)); }",
        "atomic functions of a texture need the component type int, uint or ulong",
    ),
    (
        "sum of 64 bits in a texture",
        "kernel void run(texture2d<ulong, access::read_write> t [[texture(0)]]) { t.atomic_fetch_add(uint2(0), ulong4(1)); }",
        "atomic_fetch_add of a texture needs the component type int or uint",
    ),
    (
        "read of a texture of 64 bits",
        "kernel void run(texture2d<ulong, access::read_write> t [[texture(0)]]) { t.read(uint2(0)); }",
        "a texture of ulong has atomic functions only",
    ),
    (
        "atomic function of a texture to read",
        "kernel void run(texture2d<uint, access::read> t [[texture(0)]]) { t.atomic_load(uint2(0)); }",
        "atomic functions of a texture need access::read_write",
    ),
    (
        "sparse textures",
        "kernel void run(texture2d<float> t [[texture(0)]], sampler s [[sampler(0)]]) { t.sparse_sample(s, float2(0)); }",
        "sparse_sample",
    ),
    (
        "level of detail of a fragment",
        "kernel void run(texture2d<float> t [[texture(0)]], sampler s [[sampler(0)]]) { t.calculate_clamped_lod(s, float2(0)); }",
        "calculate_clamped_lod",
    ),
    (
        "bicubic",
        "kernel void run() { constexpr sampler s(filter::bicubic); }",
        "bicubic filtering is not supported by hostmetal",
    ),
    (
        "pixels that repeat",
        "kernel void run() { constexpr sampler s(coord::pixel, address::repeat); }",
        "coordinates in pixels need addresses that clamp",
    ),
    (
        "write of a texture to read",
        "kernel void run(texture2d<float, access::read> t [[texture(0)]]) { t.write(float4(0), uint2(0)); }",
        "only a texture with access::write or access::read_write can be written",
    ),
    (
        "read of a texture to write",
        "kernel void run(texture2d<float, access::write> t [[texture(0)]]) { t.read(uint2(0)); }",
        "a texture with access::write cannot be read",
    ),
    (
        "sample of a texture to read",
        "kernel void run(texture2d<float, access::read> t [[texture(0)]], sampler s [[sampler(0)]]) { t.sample(s, float2(0)); }",
        "only a texture with access::sample can be sampled",
    ),
    (
        "component type of eight bits",
        "kernel void run(texture2d<uchar> t [[texture(0)]]) { t.read(uint2(0)); }",
        "a texture's component type must be float, half, int, uint, short or ushort",
    ),
    ("sampler as a texture", "kernel void run(sampler s [[texture(0)]]) {}", "[[texture(n)]] is for textures"),
    (
        "matrix of a SIMD-group of another size",
        "kernel void run() { simdgroup_matrix<float, 4, 4> m; }",
        "only 8 columns by 8 rows exist",
    ),
    (
        "bitwise reduction of floats",
        "kernel void run(device float *o) { o[0] = simd_and(o[0]); }",
        "simd_and: the argument must be an integer",
    ),
    (
        "atomic of a small type",
        "kernel void run(device atomic<short> *a) { atomic_load_explicit(a, memory_order_relaxed); }",
        "atomic<T>: T must be",
    ),
    (
        "order of an atomic function",
        "kernel void run(device atomic_int *a) { atomic_fetch_add_explicit(a, 1, memory_order_seq_cst); }",
        "the order of an atomic function must be memory_order_relaxed",
    ),
    (
        "order that Metal does not have",
        "kernel void run(device atomic_int *a) { atomic_load_explicit(a, memory_order_acquire); }",
        "undeclared identifier 'memory_order_acquire'",
    ),
    (
        "float atomic of a threadgroup",
        "kernel void run(threadgroup atomic_float *a [[threadgroup(0)]]) { atomic_fetch_add_explicit(a, 1.0f, memory_order_relaxed); }",
        "atomic_float and atomic_ulong are supported in address space 'device' only",
    ),
    (
        "load of 64 bits",
        "kernel void run(device atomic_ulong *a, device ulong *o) { o[0] = atomic_load_explicit(a, memory_order_relaxed); }",
        "atomic_load_explicit is not defined for ulong",
    ),
    (
        "minimum without a result of 32 bits",
        "kernel void run(device atomic_uint *a) { atomic_min_explicit(a, 1u, memory_order_relaxed); }",
        "atomic_min_explicit is defined for ulong only",
    ),
    (
        "shuffle of 64 bits",
        "kernel void run(device ulong *o) { o[0] = simd_shuffle(o[0], ushort(1)); }",
        "simd_shuffle: the argument must be an integer or a floating-point number of at most 32 bits",
    ),
    (
        "sum of booleans in a quad",
        "kernel void run(device bool *o) { o[0] = quad_sum(o[0]); }",
        "quad_sum: the argument must be an integer",
    ),
    (
        "helper threads",
        "kernel void run(device bool *o) { o[0] = simd_is_helper_thread(); }",
        "simd_is_helper_thread is for fragment functions",
    ),
    (
        "anisotropy beyond the limit",
        "kernel void run() { constexpr sampler s(max_anisotropy(17)); }",
        "max_anisotropy must be between 1 and 16",
    ),
    (
        "bitwise atomic of floats",
        "kernel void run(device atomic_float *a) { atomic_fetch_or_explicit(a, 1.0f, memory_order_relaxed); }",
        "not defined for bool and float",
    ),
    (
        "as_type between sizes",
        "kernel void run(device float *o) { o[0] = as_type<half>(o[1]); }",
        "as_type: the two types differ in size",
    ),
    ("vector of another type", "kernel void run(device float4 *o) { int4 i = 1; o[0] = i; }", "error:"),
    ("scalars for a vector part", "kernel void run(device float4 *o) { o[0] = float4(o[1].xy, 1); }", "error:"),
    ("too few components", "kernel void run(device float4 *o) { o[0] = float4(1, 2); }", "error:"),
    ("swizzle beyond the vector", "kernel void run(device float2 *o) { o[0].x = o[0].z; }", "error:"),
    ("repeated component written", "kernel void run(device float4 *o) { o[0].xx = float2(1); }", "error:"),
    ("float to bfloat", "kernel void run(device bfloat *o) { o[0] = 1.5f; }", "error:"),
    ("bfloat to half", "kernel void run(device bfloat *b, device half *h) { h[0] = b[0]; }", "error:"),
    ("read of an atomic", "kernel void run(device atomic_int *a, device int *o) { o[0] = a[0] + 1; }", "error:"),
    (
        "cross of two components",
        "kernel void run(device float2 *o) { o[0] = cross(o[1], o[2]); }",
        "cross: the arguments must have three components",
    ),
];

#[test]
fn what_does_not_exist_is_refused_by_name() {
    for (what, source, words) in REFUSED {
        let log = refusal(source);
        assert!(log.contains(words), "{what}: '{words}' is not in\n{log}");
    }
}

/// Sources ask these macros what there is; bfloat is a type of MSL 3.1.
#[test]
fn macros_follow_the_language_version() {
    for (version, number, bfloat) in [((3, 0), 300, false), ((3, 1), 310, true), ((3, 2), 320, true)] {
        let refused = if bfloat { "!defined" } else { "defined" };
        let source = format!(
            "#if __METAL_VERSION__ != {number} || !defined(__METAL__)\n#error version\n#endif\n\
             #if {refused}(__HAVE_BFLOAT__)\n#error bfloat\n#endif\n#include <metal_stdlib>\nkernel void run() {{}}\n"
        );
        let checked = check(&source, &CompileOptions { language_version: version, ..CompileOptions::default() });
        checked.unwrap_or_else(|failure| panic!("{version:?}: {failure}"));
    }
}
