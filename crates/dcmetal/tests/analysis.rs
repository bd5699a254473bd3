//! What is known of kernels: of MSL by hostmetal from compiled code, of OpenCL C by the translator from its syntax tree. Neither knows of the
//! other, so where the same kernel is written in both languages each is the other's reference; what only MSL has is counted by hand.
#![cfg(target_os = "linux")]

mod common;
#[path = "analysis/report.rs"]
mod report;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use common::{gpu, msl};
use dcmetal::clmsl::{AddressSpace, Counts, FactKind, Intensity, KernelAnalysis, MemoryAccess, Work};
use dcmetal::{Constants, Kernel};

/// Flops, special functions, integer operations if wanted, bytes read and written; then loops in braces.
fn work(work: &Work, integers: bool) -> String {
    let Counts { flops, special, integer, bytes_read, bytes_written } = work.counts;
    let integer = if integers { integer } else { 0 };
    let counts = [(flops, "f"), (special, "s"), (integer, "i"), (bytes_read, "r"), (bytes_written, "w")];
    let counts = counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count}{what}"));
    let loops = work.loops.iter().map(|inner| format!("{{{}}}", self::work(&inner.round, integers)));
    counts.chain(loops).collect::<Vec<_>>().join(" ")
}

fn access(access: &MemoryAccess) -> String {
    let MemoryAccess { address_space, reads, writes, bytes, pattern, .. } = access;
    let how = match (reads, writes) {
        (true, true) => "both",
        (true, false) => "read",
        _ => "write",
    };
    format!("{} {how} {bytes} {pattern}", address_space.name())
}

/// The same with the pattern in y, if there is one.
fn access_of_plane(of: &MemoryAccess) -> String {
    let in_y = of.pattern_y.map_or_else(String::new, |pattern| format!("; in y {pattern}"));
    access(of) + &in_y
}

fn kinds(analysis: &KernelAnalysis) -> Vec<FactKind> {
    FactKind::ALL.into_iter().filter(|kind| analysis.count(*kind) > 0).collect()
}

fn analysed(kernel: &Kernel) -> &KernelAnalysis {
    kernel.analysis().unwrap_or_else(|error| panic!("{}: {error}", kernel.name()))
}

#[test]
fn both_languages_are_told_alike() {
    let gpu = gpu();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels");
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut compared = 0;
    for entry in fs::read_dir(folder).expect("the kernels") {
        let path = entry.expect("a file").path();
        if path.extension().is_none_or(|extension| extension != "cl") {
            continue;
        }
        let opencl = gpu.compile_opencl(&read(&path)).unwrap_or_else(|error| panic!("{error}"));
        let own = gpu.compile_msl(&read(&path.with_extension("metal"))).unwrap_or_else(|error| panic!("{error}"));
        let names: BTreeSet<&String> = opencl.kernel_names().iter().collect();
        assert_eq!(names, own.kernel_names().iter().collect(), "{}", path.display());
        for name in names {
            let (opencl, own) = (opencl.kernel(name).expect("a kernel"), own.kernel(name).expect("a kernel"));
            let (by_tree, by_code) = (analysed(&opencl), analysed(&own));
            assert_eq!(kinds(by_tree), kinds(by_code), "{name}");
            // Values are in constant memory in MSL, and in none in OpenCL C.
            let accesses = |analysis: &KernelAnalysis| -> BTreeSet<String> {
                let shared = analysis.accesses.iter().filter(|access| access.address_space != AddressSpace::Constant);
                shared.map(access_of_plane).collect()
            };
            assert_eq!(accesses(by_tree), accesses(by_code), "{name}");
            // Integer operations are those of the text, which is another one.
            assert_eq!(work(&by_tree.work, false), work(&by_code.work, false), "{name}");
            let intensity = |analysis: &KernelAnalysis| match analysis.intensity() {
                Intensity::Between { least, most, limit, .. } => format!("{least} {most} {limit:?}"),
                other => format!("{other:?}"),
            };
            assert_eq!(intensity(by_tree), intensity(by_code), "{name}");
            compared += 1;
        }
    }
    assert!(compared >= 13, "{compared} kernels");
}

struct Case {
    /// Parameters behind `device const float* x, device float* y, constant int& n, uint i [[thread_position_in_grid]]`.
    parameters: &'static str,
    body: &'static str,
    facts: &'static [FactKind],
    /// Without those of `n`.
    accesses: &'static [&'static str],
    work: &'static str,
}

const fn case(
    parameters: &'static str,
    body: &'static str,
    facts: &'static [FactKind],
    accesses: &'static [&'static str],
    work: &'static str,
) -> Case {
    Case { parameters, body, facts, accesses, work }
}

use FactKind::{Atomic, Barrier, Fence, GroupPosition, LocalMemory, SubGroup};

const CASES: &[Case] = &[
    case("", "y[i] = x[i] * 2 + 1;", &[], &["global read 4 contiguous", "global write 4 contiguous"], "2f 4r 4w"),
    // Called functions are a part of it, each call for itself, and places have one access each.
    case(
        "",
        "y[i] = plus(x, i) + plus(x, 2 * i);",
        &[],
        &["global read 4 contiguous", "global read 4 8 bytes apart", "global write 4 contiguous"],
        "3f 1i 8r 4w",
    ),
    // Vectors: dot is three multiplications and two additions, normalize another three divisions and a root. A float3 has 12 bytes
    // every 16.
    case(
        ", device const float3* v",
        "y[i] = dot(normalize(v[i]), v[2 * i]);",
        &[],
        &["global read 12 16 bytes apart", "global read 12 32 bytes apart", "global write 4 contiguous"],
        "13f 1s 1i 24r 4w",
    ),
    case(
        ", device const packed_float3* v",
        "y[i] = length(float3(v[i]));",
        &[],
        &["global read 12 contiguous", "global write 4 contiguous"],
        "5f 1s 12r 4w",
    ),
    // What only chooses, rounds and compares is nothing.
    case(
        "",
        "y[i] = clamp(floor(x[i]), min(x[i], 1.0f), 3.0f);",
        &[],
        &["global read 4 contiguous", "global write 4 contiguous"],
        "8r 4w",
    ),
    case(
        "",
        "y[i] = exp(x[i]) + precise::sin(x[i]) * fast::cos(x[i]);",
        &[],
        &["global read 4 contiguous", "global write 4 contiguous"],
        "2f 3s 12r 4w",
    ),
    // Rounds: of the text, of arguments, and of both.
    case(
        "",
        "float s = 0; for (int k = 0; k < 8; k++) s += x[k] * x[i + k]; y[i] = s;",
        &[],
        &["global read 4 uniform", "global read 4 contiguous", "global write 4 contiguous"],
        "16f 16i 64r 4w",
    ),
    case(
        "",
        "float s = 0; for (int k = 0; k < n; k++) for (int m = 0; m < 4; m++) s += x[k * 4 + m]; y[i] = s;",
        &[],
        &["global read 4 uniform", "global write 4 contiguous"],
        "4w {4f 13i 16r}",
    ),
    case(
        "",
        "float s = 0; int k = 0; do { s += x[k]; k += 2; } while (k < 10); y[i] = s;",
        &[],
        &["global read 4 uniform", "global write 4 contiguous"],
        "5f 5i 20r 4w",
    ),
    // What decides addresses: arguments, data, a thread's own way.
    case(
        ", device const int* at",
        "y[i * n] = x[at[i]];",
        &[],
        &["global read 4 by data", "global read 4 contiguous", "global write 4 evenly apart, by arguments"],
        "1i 8r 4w",
    ),
    case(
        "",
        "uint k = i; if (x[i] > 0) k = 2 * i; y[k] = 1;",
        &[],
        &["global read 4 contiguous", "global write 4 unknown"],
        "1i 4r 4w",
    ),
    case("", "uint k = n > 3 ? i : 4 * i; y[k] = 1;", &[], &["global write 4 evenly apart, by arguments"], "1i 4w"),
    case(
        "",
        "y[100 - i] = 1; y[i / 2] = 2;",
        &[],
        &["global write 4 -4 bytes apart", "global write 4 unknown"],
        "2i 8w",
    ),
    // Neighbours that leave two loops at once, each in its round.
    case("", "y[first(x, i)] = 1;", &[], &["global read 4 contiguous", "global write 4 unknown"], "4w {17i 16r}"),
    // Numbers that wrap around within a SIMD-group.
    case(
        "",
        "y[i] = x[(uchar)(i * 64)] + x[(ushort)i];",
        &[],
        &["global read 4 unknown", "global read 4 contiguous", "global write 4 contiguous"],
        "1f 1i 8r 4w",
    ),
    // Positions and memory of threadgroups.
    case(
        ", uint l [[thread_index_in_threadgroup]]",
        "threadgroup float t[64]; t[l] = x[i]; threadgroup_barrier(mem_flags::mem_threadgroup); y[i] = t[63 - l] + t[0];",
        &[Barrier, LocalMemory, GroupPosition],
        &[
            "local write 4 contiguous",
            "global read 4 contiguous",
            "global write 4 contiguous",
            "local read 4 -4 bytes apart",
            "local read 4 uniform",
        ],
        "1f 1i 4r 4w",
    ),
    case(
        ", threadgroup float* t, uint lane [[thread_index_in_simdgroup]], uint g [[simdgroup_index_in_threadgroup]]",
        "t[32 * g + lane] = x[g]; y[i] = t[lane * 8];",
        &[SubGroup, LocalMemory],
        &[
            "local write 4 contiguous",
            "global read 4 uniform",
            "global write 4 contiguous",
            "local read 4 32 bytes apart",
        ],
        "3i 4r 4w",
    ),
    case(
        "",
        "y[i] = simd_shuffle_xor(x[i], 1);",
        &[SubGroup],
        &["global read 4 contiguous", "global write 4 contiguous"],
        "4r 4w",
    ),
    case(
        ", device atomic_int* c",
        "atomic_fetch_add_explicit(c + i % 2, 1, memory_order_relaxed);",
        &[Atomic],
        &["global both 4 unknown"],
        "2i 4r 4w",
    ),
    case(
        "",
        "threadgroup atomic_int t; atomic_store_explicit(&t, 1, memory_order_relaxed); y[i] = 1;",
        &[LocalMemory],
        &["local write 4 uniform", "global write 4 contiguous"],
        "4w",
    ),
    case(
        "",
        "atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst); y[i] = 1;",
        &[Fence],
        &["global write 4 contiguous"],
        "4w",
    ),
    // Structures: what is copied is one access.
    case(
        ", device Pair* p",
        "Pair a = p[i]; a.b = a.a * 2; p[i] = a;",
        &[],
        &["global read 4 8 bytes apart", "global write 8 contiguous"],
        "1f 4r 8w",
    ),
    // What function constants leave out is not there.
    case(
        "",
        "if (wide) threadgroup_barrier(mem_flags::mem_none); y[i] = 1;",
        &[],
        &["global write 4 contiguous"],
        "4w",
    ),
];

const HEAD: &str = "#include <metal_stdlib>\nusing namespace metal;\nconstant bool wide [[function_constant(0)]];\n\
    struct Pair { float a, b; };\nstatic float plus(device const float* p, uint at) { return p[at] + 1; } \
    static uint first(device const float* p, uint i) { for (uint k = 0;; k++) for (uint j = 0; j < 4; j++) if (p[i + 4 * k + j] > 0) return k; }\n";

#[test]
fn kernels_in_msl_are_counted_as_by_hand() {
    let gpu = gpu();
    for Case { parameters, body, facts, accesses, work: expected } in CASES {
        let source = format!(
            "{HEAD}kernel void k(device const float* x, device float* y, constant int& n{parameters}, \
             uint i [[thread_position_in_grid]]) {{ {body} }}"
        );
        let library = gpu.compile_msl(&source).unwrap_or_else(|error| panic!("{body}: {error}"));
        let kernel =
            library.kernel_with("k", &Constants::new().at(0, false)).unwrap_or_else(|error| panic!("{body}: {error}"));
        let analysis = analysed(&kernel);
        assert_eq!(kinds(analysis), *facts, "{body}");
        let shared = analysis.accesses.iter().filter(|access| access.address_space != AddressSpace::Constant);
        let found: BTreeSet<String> = shared.map(access).collect();
        assert_eq!(found, accesses.iter().map(|text| (*text).to_owned()).collect(), "{body}");
        assert_eq!(work(&analysis.work, true), *expected, "{body}");
        assert_eq!(analysis.uncounted, [], "{body}");
        // Everything is in the last line of the text.
        let spans =
            analysis.facts.iter().map(|fact| fact.span).chain(analysis.accesses.iter().map(|access| access.span));
        for span in spans {
            let line = kernel.location(span).expect("MSL has places").line;
            assert!(
                line == 6 || (line == 5 && (body.contains("plus") || body.contains("first"))),
                "{body}: line {line}"
            );
        }
    }
}

#[test]
fn kernels_of_planes_in_msl_have_a_pattern_in_y() {
    let gpu = gpu();
    // Parameters behind `device float* x, device float* y, constant int& n, uint2 p [[thread_position_in_grid]]`.
    let cases: &[(&str, &str, &[&str])] = &[
        (
            "",
            "y[p.y * n + p.x] = x[p.y * 64 + p.x];",
            &[
                "global read 4 contiguous; in y 256 bytes apart",
                "global write 4 contiguous; in y evenly apart, by arguments",
            ],
        ),
        (
            "",
            "y[p.x * n + p.y] = x[p.y * n + p.x];",
            &[
                "global read 4 contiguous; in y evenly apart, by arguments",
                "global write 4 evenly apart, by arguments; in y contiguous",
            ],
        ),
        (
            "",
            "y[p.y] = x[p.x] + x[0];",
            &[
                "global read 4 contiguous; in y uniform",
                "global read 4 uniform; in y uniform",
                "global write 4 uniform; in y contiguous",
            ],
        ),
        (
            "",
            "y[int(x[p.y]) + p.x] = 1;",
            &["global read 4 uniform; in y contiguous", "global write 4 contiguous; in y by data"],
        ),
        ("", "y[p.y - p.x * 2] = 1;", &["global write 4 -8 bytes apart; in y contiguous"]),
        (
            "",
            "int k = 0; while (k < int(p.y)) k++; y[k] = 1; y[p.x > 3 ? 1 : 0] = 1;",
            &["global write 4 uniform; in y unknown", "global write 4 unknown; in y uniform"],
        ),
        ("", "y[p.x] = 1;", &["global write 4 contiguous"]),
        // Numbers in the threadgroup go on in the next row; what a SIMD-group has in it depends on the threadgroup's width.
        (
            ", uint l [[thread_index_in_threadgroup]], uint2 q [[thread_position_in_threadgroup]]",
            "threadgroup float t[1024]; t[l] = 1; threadgroup_barrier(mem_flags::mem_threadgroup); y[p.x] = t[q.y * 32 + q.x];",
            &[
                "global write 4 contiguous; in y uniform",
                "local read 4 contiguous; in y 128 bytes apart",
                "local write 4 contiguous; in y evenly apart, by arguments",
            ],
        ),
        (
            ", uint l [[thread_index_in_threadgroup]]",
            "y[l / 32] = x[l % 32];",
            &["global read 4 contiguous; in y unknown", "global write 4 uniform; in y unknown"],
        ),
        (
            ", uint l [[thread_index_in_simdgroup]], uint s [[simdgroup_index_in_threadgroup]]",
            "y[l] = x[s];",
            &["global read 4 uniform; in y unknown", "global write 4 contiguous; in y unknown"],
        ),
    ];
    for (parameters, body, accesses) in cases {
        let source = format!(
            "#include <metal_stdlib>\nusing namespace metal;\nkernel void k(device float* x, device float* y, \
             constant int& n, uint2 p [[thread_position_in_grid]]{parameters}) {{ {body} }}"
        );
        let kernel = gpu.compile_msl(&source).and_then(|library| library.kernel("k"));
        let kernel = kernel.unwrap_or_else(|error| panic!("{body}: {error}"));
        let shared = analysed(&kernel).accesses.iter().filter(|access| access.address_space != AddressSpace::Constant);
        let found: BTreeSet<String> = shared.map(access_of_plane).collect();
        assert_eq!(found, accesses.iter().map(|text| (*text).to_owned()).collect(), "{body}");
    }
}

/// Anything may happen in a function that calls itself, or that nobody may look into: it is not told that nothing does.
#[test]
fn what_stays_a_call_is_not_analysed() {
    let gpu = gpu();
    let head = "#include <metal_stdlib>\nusing namespace metal;\n";
    let tail = "kernel void k(device uint* y, uint i [[thread_position_in_grid]]) { y[i] = f(i, 3); }";
    for (name, function) in [
        ("recursion", "static uint f(uint v, uint n) { return n ? simd_sum(f(v, n - 1)) : v; }"),
        ("an attribute", "[[clang::optnone]] static uint f(uint v, uint n) { return simd_sum(v) + n; }"),
        ("a pragma", "#pragma clang optimize off\nstatic uint f(uint v, uint n) { return simd_sum(v) + n; }\n"),
    ] {
        let library = gpu.compile_msl(&format!("{head}{function}\n{tail}"));
        // What hostmetal does not compile it need not analyse.
        let Ok(kernel) = library.and_then(|library| library.kernel("k")) else { continue };
        match kernel.analysis() {
            Ok(analysis) => assert_eq!(kinds(analysis), [SubGroup], "{name}"),
            Err(error) => {
                assert!(error.to_string().contains("cannot be a part of it"), "{name}: {error}");
                assert_eq!(error.kind(), dcmetal::ErrorKind::Unsupported, "{name}");
            }
        }
        let mut y = gpu.buffer_zeroed::<u32>(64).unwrap();
        let tuned = kernel.tune(dcmetal::Grid::linear(64), dcmetal::args![&mut y], &dcmetal::TuneOptions::default());
        assert!(matches!(tuned, Err(dcmetal::Error::NotTunable { .. })), "{name}");
    }
}

#[test]
fn places_are_those_of_the_text() {
    let gpu = gpu();
    let source = "#include <metal_stdlib>\n#define READ(k) x[k]\nkernel void k(device float *x, device float *y,\n\
         uint i [[thread_position_in_grid]],\n uint n [[threads_per_threadgroup]]) {\n  y[i] =\n    READ(i);\n}\n";
    for name in ["", "named.metal"] {
        let options = dcmetal::CompileOptions { name: name.to_owned(), ..Default::default() };
        let kernel = gpu.compile_msl_with(source, &options).unwrap().kernel("k").unwrap();
        let analysis = analysed(&kernel);
        let at = |span| kernel.location(span).map(|at| (at.line, at.column)).unwrap();
        let places: Vec<(u32, u32)> = analysis.accesses.iter().map(|access| at(access.span)).collect();
        assert_eq!(places, [(6, 8), (7, 5)], "{name}");
        assert_eq!(at(analysis.facts[0].span), (5, 7), "{name}");
        let arguments: Vec<Option<u32>> = analysis.accesses.iter().map(|access| access.argument).collect();
        assert_eq!(arguments, [Some(1), Some(0)], "{name}");
        let file = kernel.location(analysis.facts[0].span).unwrap().file;
        assert_eq!(file, if name.is_empty() { "MSL source" } else { name });
    }
}

#[test]
fn what_the_code_does_not_tell_is_uncounted() {
    let gpu = gpu();
    let cases = ["x[i] = simd_sum(x[i]);", "x[i] = simd_prefix_inclusive_product(x[i]);", "x[i] = quad_sum(x[i]);"];
    for body in cases {
        let source = format!(
            "#include <metal_stdlib>\nusing namespace metal;\n\
             kernel void k(device float* x, uint i [[thread_position_in_grid]]) {{ {body} }}"
        );
        let kernel = msl(&gpu, &source, "k");
        let analysis = analysed(&kernel);
        assert_eq!(analysis.uncounted.len(), 1, "{body}");
        assert_eq!(analysis.intensity(), Intensity::Unknown, "{body}");
    }
}
