//! How much work kernels have, against tables counted by hand from the sources.

use clmsl::{Counts, FactKind, Intensity, KernelAnalysis, Options, Ratio, Translation, Work, translate};

fn translated(source: &str) -> Translation {
    let options = "-cl-std=CL2.0 --fp64=emulate";
    let translation = translate("case.cl", source, &Options::parse_build_options(options).expect("options").options);
    assert!(translation.msl.is_some(), "{source}\n{}", translation.rendered());
    translation
}

/// Numbers of flops, special functions, integer operations, bytes read and written; then loops in braces.
fn text(work: &Work) -> String {
    let Counts { flops, special, integer, bytes_read, bytes_written } = work.counts;
    let counts = [(flops, "f"), (special, "s"), (integer, "i"), (bytes_read, "r"), (bytes_written, "w")];
    let counts = counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count}{what}"));
    let loops = work.loops.iter().map(|inner| format!("{{{}}}", text(&inner.round)));
    counts.chain(loops).collect::<Vec<_>>().join(" ")
}

fn intensity(kernel: &KernelAnalysis) -> String {
    match kernel.intensity() {
        Intensity::Exactly(ratio) => ratio.to_string(),
        Intensity::Between { least, most, limit: Some(limit), .. } => format!("{least} to {most}, near {limit}"),
        Intensity::Between { least, most, limit: None, .. } => format!("{least} to {most}"),
        Intensity::NoMemory => "none".to_owned(),
        Intensity::Unknown => "unknown".to_owned(),
        other => panic!("{other:?}"),
    }
}

/// Parameters; the body, in which `i` is the first id; the work; the intensity.
type Case = (&'static str, &'static str, &'static str, &'static str);

const XY: &str = "global const float* x, global float* y, float a, int n";

const CASES: &[Case] = &[
    // saxpy: a multiplication and an addition, two floats read and one written; alone, behind a guard, fused, of vectors.
    (XY, "y[i] = a * x[i] + y[i];", "2f 8r 4w", "0.167"),
    (XY, "if (i < n) y[i] += a * x[i];", "2f 8r 4w", "0.167"),
    (XY, "if (i >= n) return; y[i] = fma(a, x[i], y[i]);", "2f 8r 4w", "0.167"),
    ("global const float4* x, global float4* y, float a", "y[i] = a * x[i] + y[i];", "8f 32r 16w", "0.167"),
    ("global const float4* x, global float4* y, float a", "y[i] = mad(x[i], a, y[i]);", "8f 32r 16w", "0.167"),
    (XY, "vstore4(a * vload4(i, x) + vload4(i, y), i, y);", "8f 32r 16w", "0.167"),
    ("global const half* x, global half* y, half a", "y[i] = a * x[i] + y[i];", "2f 4r 2w", "0.333"),
    (XY, "y[i] = x[i];", "4r 4w", "0"),
    // Both sides of a branch, of `double`.
    (
        "global const double* x, global double* y",
        "if (x[i] > 0) y[i] = x[i] * 2; else y[i] = -x[i] / 3 + 1;",
        "3f 24r 16w",
        "0.075",
    ),
    ("global const double* x, global double* y", "y[i] = x[i] > 0 ? x[i] * 2 : x[i] + 1;", "2f 24r 8w", "0.0625"),
    // Numbers of the text are no work, nor is what only compares, rounds or converts.
    (XY, "y[i] = x[i] * (2.0f * 3.0f - 1) / -4;", "2f 4r 4w", "0.25"),
    (XY, "y[i] = fmax(floor(x[i]), -a) + (float)n;", "1f 4r 4w", "0.125"),
    // Five points: three additions, a subtraction, a multiplication.
    (
        XY,
        "y[i] = 0.25f * (x[i - 1] + x[i + 1] + x[i - n] + x[i + n]) - x[i];",
        "5f 4i 20r 4w",
        "0.208",
    ),
    // A convolution of 3 by 3: of each, 2 flops, 8 integer operations, 4 bytes.
    (
        "global const float* x, global float* y, int n, constant float* w",
        "float s = 0;
         for (int v = -1; v <= 1; v++) for (int u = -1; u <= 1; u++) s += x[i + v * n + u] * w[(v + 1) * 3 + u + 1];
         y[i] = s;",
        "18f 75i 36r 4w",
        "0.45",
    ),
    // The product of matrices: row by column, and by tiles of 16.
    (
        "global const float* x, global const float* z, global float* y, int n",
        "int row = get_global_id(1); float s = 0;
         for (int k = 0; k < n; k++) s += x[row * n + k] * z[k * n + i];
         y[row * n + i] = s;",
        "2i 4w {2f 5i 8r}",
        "0 to 0.25, near 0.25",
    ),
    (
        "global const float* x, global const float* z, global float* y, int n",
        "local float u[16][16], v[16][16]; int p = get_local_id(0), q = get_local_id(1), row = get_global_id(1);
         float s = 0;
         for (int t = 0; t < n; t += 16) {
             u[q][p] = x[row * n + t + p]; v[q][p] = z[(t + q) * n + i];
             barrier(CLK_LOCAL_MEM_FENCE);
             for (int k = 0; k < 16; k++) s += u[q][k] * v[k][p];
             barrier(CLK_LOCAL_MEM_FENCE);
         }
         y[row * n + i] = s;",
        "2i 4w {32f 23i 8r}",
        "0 to 4, near 4",
    ),
    // Everything in one loop: its rounds do not matter.
    (XY, "for (int k = i; k < n; k += get_global_size(0)) y[k] = x[k] * a;", "{1f 1i 4r 4w}", "0.125"),
    // Of one kind in two loops, and of two.
    (
        XY,
        "for (int k = 0; k < n; k++) y[k] = x[k] * a; while (y[i] < 0) y[i] += 1;",
        "4r {1f 1i 4r 4w} {1f 8r 4w}",
        "0 to 0.125",
    ),
    // A condition is asked once more than there are rounds, but behind the body only as often as that.
    (XY, "while (y[i] < 1) y[i] += 1;", "4r {1f 8r 4w}", "0 to 0.0833, near 0.0833"),
    (XY, "for (int k = i; x[k] * 2 > a; k++) y[k] = 0;", "1f 4r {1f 1i 4r 4w}", "0.125 to 0.25, near 0.125"),
    (XY, "do y[i] += 1; while (y[i] < 1);", "{1f 8r 4w}", "0.0833"),
    (XY, "const int m = 4; for (int k = 0; k < m * 2; k++) y[k] = a;", "17i 32w", "0"),
    (XY, "while (false) y[i] = 1; for (int k = 3; k < sum(x, 3); k++) y[i] = 1;", "3f 3i 12r {3f 4i 12r 4w}", "0.188 to 0.25, near 0.188"),
    // A tree of sums in local memory: what it has depends on the group, here on none, there on 256.
    (
        XY,
        "local float t[256]; int l = get_local_id(0); t[l] = x[i];
         for (int s = get_local_size(0) / 2; s > 0; s >>= 1) { barrier(1); if (l < s) t[l] += t[l + s]; }
         if (l == 0) y[get_group_id(0)] = t[0];",
        "1i 4r 4w {1f 2i}",
        "0 to without bound, near without bound",
    ),
    (
        XY,
        "local float t[256]; int l = get_local_id(0); t[l] = x[i];
         for (int s = 128; s > 0; s >>= 1) { barrier(1); if (l < s) t[l] += t[l + s]; }
         if (l == 0) y[get_group_id(0)] = t[0];",
        "8f 16i 4r 4w",
        "1",
    ),
    // Mandelbrot: the loop may be left, so that its 256 rounds are only the most.
    (
        "global int* y, float c, float d",
        "float u = 0, v = 0; int k;
         for (k = 0; k < 256; k++) { if (u * u + v * v > 4) break; float t = u * u - v * v + c; v = 2 * u * v + d; u = t; }
         y[i] = k;",
        "4w {10f 1i}",
        "0 to without bound, near without bound",
    ),
    // Loops in loops: a triangle, and one that the text tells around one that it does not.
    (XY, "for (int k = 0; k < n; k++) for (int l = 0; l < k; l++) y[l] = x[k] - x[l];", "{1i {1f 1i 8r 4w}}", "0.0833"),
    (
        XY,
        "for (int k = 0; k < 8; k++) { y[k] = a; for (int l = 0; l < n; l++) y[l] += x[k]; }",
        "8i 32w {8f 8i 64r 32w}",
        "0 to 0.0833, near 0.0833",
    ),
    (XY, "for (int k = 0; k < n; k++) { y[k] = a * x[k]; for (int l = 0; l < n; l++) y[l] += x[l]; }",
        "{1f 1i 4r 4w {1f 1i 8r 4w}}", "0.0833 to 0.125, near 0.0833"),
    // Integers only; an atomic function reads and writes; bytes by fours.
    ("global const uint* x, global uint* y", "y[i] = (x[i] * 3 + 1) ^ (~x[i] >> 2);", "5i 8r 4w", "0"),
    ("global const int* x, global int* y", "atomic_inc(&y[x[i] & 255]);", "2i 8r 4w", "0"),
    ("global const uint* x, global uint* y", "y[i] = mad24(x[i], 3u, max(x[i], 7u)) + popcount(i);", "4i 8r 4w", "0"),
    // Functions that OpenCL C defines by operators, and others.
    (
        "global const float4* x, global float* y",
        "y[i] = dot(x[i], x[i]) + length(x[i].xyz) + distance(x[i].xy, x[i].zw);",
        "19f 2s 60r 4w",
        "0.297",
    ),
    (XY, "float c; y[i] = sincos(mix(x[i], a, 0.5f), &c) * c + native_divide(a, x[i]);", "6f 2s 8r 4w", "0.5"),
    // Option prices by Black and Scholes: 15 operations and 2 functions, and 17 with 1 in each of two calls.
    (
        "global const float* s, global const float* x, global const float* t, global float* price, float r, float v",
        "float root = sqrt(t[i]);
         float d1 = (log(s[i] / x[i]) + (r + 0.5f * v * v) * t[i]) / (v * root);
         float d2 = d1 - v * root;
         price[i] = s[i] * normal(d1) - x[i] * exp(-r * t[i]) * normal(d2);",
        "49f 5s 28r 4w",
        "1.531",
    ),
    // Functions that are called: with another loop for each number, and with what they are passed.
    (XY, "y[i] = sum(x, 3) + sum(x + i, 5) * sum(y, n);", "10f 8i 32r 4w {1f 1i 4r}", "0.25 to 0.278, near 0.25"),
    (XY, "for (int k = 0; k < 4; k++) put(y + k, put(y, a));", "8f 4i 32w", "0.25"),
    // What a pointer leads to in other memory is not counted, and without any there is no intensity.
    (XY, "local float t[64]; t[i] = a * 2; y = 0;", "1f", "none"),
    (XY, "", "", "none"),
    // Bytes that the text does not tell.
    (
        XY,
        "local float t[64]; event_t e = async_work_group_copy(t, x, n, 0); wait_group_events(1, &e); y[i] = t[i] * a;",
        "1f 4w",
        "unknown",
    ),
    ("read_only image2d_t x, global float4* y", "y[i] = read_imagef(x, (int2)(i, 0)) * 2;", "4f 16w", "unknown"),
    // Operations that it does not tell: a group's sums, but not its minima, which are none.
    (XY, "y[i] = work_group_reduce_add(x[i]);", "4r 4w", "unknown"),
    ("global int* y", "y[i] = work_group_scan_inclusive_add(y[i]);", "4r 4w", "unknown"),
    (XY, "y[i] = work_group_reduce_max(x[i]) + work_group_broadcast(a, 0);", "1f 4r 4w", "0.125"),
    (XY, "y[i] = sub_group_reduce_add(x[i]);", "4r 4w", "unknown"),
    ("global uchar* y", "y[i] += sizeof(y[i] * 2.0f);", "1i 1r 1w", "0"),
];

const FUNCTIONS: &str = "
    #pragma OPENCL EXTENSION cl_khr_fp16 : enable
    constant int EIGHT = 8;
    float normal(float d) {
        float k = 1.0f / (1.0f + 0.2316419f * fabs(d));
        float c = 0.39894228f * exp(-0.5f * d * d) * (k * (0.31938153f + k * (-0.356563782f
            + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
        return d > 0 ? 1.0f - c : c;
    }
    float sum(global const float* p, int n) { float s = 0; for (int k = 0; k < n; k++) s += p[k]; return s; }
    float put(global float* p, float a) { *p = a + 1; return a; }
";

#[test]
fn work_is_that_of_the_text() {
    for (params, body, work, ratio) in CASES {
        let source = format!("{FUNCTIONS} kernel void k({params}) {{ int i = get_global_id(0); {body} }}");
        let translation = translated(&source);
        let kernel = translation.analysis.kernel("k").expect("a kernel");
        assert_eq!((text(&kernel.work), intensity(kernel)), ((*work).to_owned(), (*ratio).to_owned()), "{body}");
    }
}

/// Loops of one flop a round, with their rounds.
const LOOPS: &[(&str, Option<u64>)] = &[
    ("for (int k = 0; k < 10; k++) F", Some(10)),
    ("for (int k = 0; k <= 10; ++k) F", Some(11)),
    ("for (int k = 10; k > 0; k--) F", Some(10)),
    ("for (int k = 10; k >= 0; k -= 3) F", Some(4)),
    ("for (int k = 0; 10 > k; k = k + 4) F", Some(3)),
    ("for (int k = 0; k != 12; k = 4 + k) F", Some(3)),
    ("for (uint k = 1; k < 1000; k *= 2) F", Some(10)),
    ("for (uint k = 1; k < 1000; k <<= 3) F", Some(4)),
    ("for (size_t k = 1000; k; k >>= 1) F", None),
    ("for (size_t k = 1000; k != 0; k /= 10) F", Some(4)),
    ("for (int k = 3; k < 3; k++) F", Some(0)),
    ("int k; for (k = 0; k < 7; k++) F for (k = 0; k < 5; k++) F", Some(12)),
    ("for (int k = 0, l = 9; k < 7; k++) F", Some(7)),
    ("for (int k = 0; k < 3; k++) for (int l = 0; l < 4; l++) { F F }", Some(24)),
    ("for (uchar k = 0; k < 16u; k++) F", Some(16)),
    // Numbers that have a name.
    ("const int m = 2 * 4; for (int k = m; k < m + 6; k++) F", Some(6)),
    ("for (int k = 0; k < EIGHT; k++) F", Some(8)),
    ("enum { M = 5 }; for (int k = 0; k < M; k++) F", Some(5)),
    ("int m = 8; if (n) m = 9; for (int k = 0; k < m; k++) F", None),
    ("int m = 8; int* p = &m; *p = n; for (int k = 0; k < m; k++) F", None),
    ("do F while (0);", Some(1)),
    ("while (false) F", Some(0)),
    // Not told.
    ("for (int k = 0; k < n; k++) F", None),
    ("for (int k = n; k < 10; k++) F", None),
    ("for (int k = 0; k < 10; k += n) F", None),
    ("int k = 0; for (; k < 10; k++) F", None),
    ("int k = 0; while (k++ < 10) F", None),
    ("for (int k = 0; k < 10; k++) { F if (n) break; }", None),
    ("for (int k = 0; k < 10; k++) { F if (n) return; }", None),
    ("for (int k = 0; k < 10; k++) { F if (n) goto out; } out: ;", None),
    ("for (int k = 0; k < 10; k++) { F if (n) k = 9; }", None),
    ("for (int k = 0; k < 10; k++) { F int* p = &k; *p = 9; }", None),
    ("for (int k = 0; k < 10 && n; k++) F", None),
    ("for (;;) F", None),
    // Left from loops and switches inside, it goes on.
    ("for (int k = 0; k < 4; k++) { switch (n) { case 1: F break; default: F } if (n) continue; }", Some(8)),
    ("for (int k = 0; k < 4; k++) { F while (n--) if (n == 7) break; }", Some(4)),
    // Never, or not by these numbers.
    ("for (int k = 0; k < 10; k--) F", None),
    ("for (int k = 0; k != 10; k += 3) F", None),
    ("for (uint k = 9; k >= 0; k--) F", None),
    ("for (uchar k = 0; k < 300; k++) F", None),
    ("for (int k = 0; k < 10; k *= 2) F", None),
    // Once, as long as it is a number; and by what is no comparison.
    ("for (int k = 0; k == 0; k++) F", Some(1)),
    ("for (int k = 3; 3 == k; k -= 2) F", Some(1)),
    ("for (int k = 0; k == 0; k *= 2) F", None),
    ("for (int k = 1; k == 1; k *= 2) F", Some(1)),
    ("for (int k = 1; k == 0; k++) F", Some(0)),
    ("for (int k = 10; k - 3; k--) F", None),
    ("for (int k = 1; k & 15; k++) F", None),
    ("for (int k = 1; k % 8; k++) F", None),
    ("for (int k = 1; k && true; k--) F", None),
    // Converted to what does not hold it, or changed otherwise.
    ("for (int k = 256; (uchar)k < 10; k++) F", None),
    ("for (int k = 0; (int)(uchar)k < 300; k++) F", None),
    ("for (int k = 0; k < 300; k = (uchar)(k + 1)) F", None),
    ("for (int k = 0; k < 300; k = (uchar)k + 1) F", None),
    ("for (int k = 0; (long)k < 10; k = (int)((long)k + 2)) F", Some(5)),
    ("for (int k = 0, l = k++; k < 7; k++) F", None),
    ("int k, l; for (k = 0, l = k++; k < 7; k++) F", None),
    ("int k, l; for (k = 0, l = 3; k < 7; k++) F", Some(7)),
    ("for (int k = 1; k < 100u; k *= -2) F", None),
    ("for (int k = -1; k < 10u; k++) F", None),
];

#[test]
fn rounds_are_told_where_the_text_tells_them() {
    for (body, rounds) in LOOPS {
        let source = format!(
            "#define F {{ y[0] = a * 2; }}\nconstant int EIGHT = 8;\nkernel void k(global float* y, float a, int n) {{ {body} }}"
        );
        let translation = translated(&source);
        let work = &translation.analysis.kernel("k").expect("a kernel").work;
        let told = !work.loops.iter().any(|inner| inner.round.counts.flops > 0);
        assert_eq!(told.then_some(work.counts.flops), *rounds, "{body}: {work:?}");
    }
}

/// Two calls of the next each: 2⁶² times. Then too often to be told; then loops, of which there are too many.
#[test]
fn calls_that_multiply_are_counted_once_each() {
    let chain = |inner: &str, depth: usize| {
        let functions: String = (1..=depth)
            .map(|d| format!("void f{d}(global float* y, int n) {{ f{0}(y, n); f{0}(y, n); }}\n", d - 1))
            .collect();
        translated(&format!(
            "void f0(global float* y, int n) {{ {inner} }}\n{functions}kernel void k(global float* y, int n) {{ f{depth}(y, n); }}"
        ))
    };
    let kernel = |translation: &Translation| translation.analysis.kernel("k").expect("a kernel").clone();
    let add = "y[n] += 1;";
    let counted = kernel(&chain(add, 60));
    assert_eq!((counted.work.counts.flops, counted.accesses.len()), (1 << 60, 1));
    assert_eq!(intensity(&counted), "0.125");
    let much = kernel(&chain(add, 70));
    assert_eq!((much.work.counts.flops, intensity(&much)), (u64::MAX, "unknown".to_owned()));
    let loops = kernel(&chain("for (int k = 0; k < n; k++) y[k] += 1;", 20));
    assert!(loops.work.loops.len() <= 256 && !loops.uncounted.is_empty());
    assert_eq!(intensity(&loops), "unknown");
}

/// Each kernel and function calls with numbers of its own: beyond some, they are taken together.
#[test]
fn many_arguments_are_taken_together() {
    let calls = |count: usize| (0..count).map(|k| format!("put(y + {k} * i, {k});")).collect::<String>();
    let source = |count: usize| {
        format!(
            "void put(global float* p, int m) {{ for (int k = 0; k < m; k++) p[k] += 1; }}
             kernel void k(global float* y) {{ int i = get_global_id(0); {} }}",
            calls(count)
        )
    };
    let few = translated(&source(8));
    let few = few.analysis.kernel("k").expect("a kernel");
    assert_eq!((few.work.counts.flops, few.work.loops.len(), few.accesses.len()), (28, 0, 8));
    let many = translated(&source(200));
    let many = many.analysis.kernel("k").expect("a kernel");
    // What is not told is unknown, not absent.
    assert!(many.work.loops.len() > 100 && many.accesses.len() < 40, "{}", many.accesses.len());
    let unknown = |access: &clmsl::MemoryAccess| access.pattern == clmsl::AccessPattern::Unknown;
    assert!(many.accesses.iter().any(unknown));
    assert_eq!(intensity(many), "0.125");
}

/// What many kernels list of one function is no more than some times the text; beyond that they name the call.
#[test]
fn kernels_list_no_more_than_the_text_has() {
    let source = |statements: usize, kernels: usize| {
        let body = "*a += 1; barrier(1);\n".repeat(statements);
        let kernels: String = (0..kernels).map(|k| format!("kernel void k{k}(global int* a) {{ h(a); }}\n")).collect();
        format!("void last(void) {{ printf(\"\"); }} void h(global int* a) {{\n{body} last(); }}\n{kernels}")
    };
    let (statements, source) = (2000, source(2000, 600));
    let translation = translated(&source);
    let kernels = &translation.analysis.kernels;
    let listed: usize = kernels.iter().map(|kernel| kernel.accesses.len()).sum();
    assert!(listed <= 4 * source.len(), "{listed} of {}", source.len());
    let (whole, rest) = (kernels.first().expect("a kernel"), kernels.last().expect("a kernel"));
    assert_eq!((whole.accesses.len(), whole.uncounted.len(), intensity(whole)), (statements, 0, "0".to_owned()));
    assert_eq!((rest.accesses.len(), rest.uncounted.len(), intensity(rest)), (0, 1, "unknown".to_owned()));
    assert_eq!(whole.work, rest.work);
    let facts: usize = kernels.iter().map(|kernel| kernel.facts.len()).sum();
    assert!(facts <= 4 * source.len(), "{facts} of {}", source.len());
    let count = |kernel: &KernelAnalysis| [FactKind::Barrier, FactKind::Print].map(|kind| kernel.count(kind));
    assert_eq!((count(whole), count(rest)), ([statements, 1], [1, 1]));
}

/// A function that is walked often for each of many numbers is walked for no more of them in the end.
#[test]
fn functions_are_walked_no_longer_than_some_times_the_text() {
    let variables = 12;
    let chain: String = (1..variables).map(|v| format!("v{} = v{v};", v - 1)).collect();
    let declared: String = (0..variables).map(|v| format!("int v{v} = 0;")).collect();
    let body = "v0 += 1;".repeat(1000);
    let kernels: String = (0..200)
        .map(|k| format!("kernel void k{k}(global int* a) {{ h(a + {k} * get_global_id(0), {k}); }}\n"))
        .collect();
    let source = format!(
        "void h(global int* a, int m) {{ {declared} for (int k = 0; k < m; k++) {{ {chain} {body} v{} = get_global_id(0); *a += v0; }} }}\n{kernels}",
        variables - 1
    );
    let translation = translated(&source);
    let pattern = |k: usize| translation.analysis.kernels[k].accesses[0].pattern;
    assert_eq!((pattern(1), pattern(2)), (clmsl::AccessPattern::Contiguous, clmsl::AccessPattern::Strided(8)));
    assert_eq!((pattern(100), pattern(199)), (clmsl::AccessPattern::Unknown, clmsl::AccessPattern::Unknown));
    assert!(
        translation.analysis.kernels.iter().all(|kernel| kernel.accesses.len() == 1 && kernel.uncounted.is_empty())
    );
}

#[test]
fn small_ratios_are_not_none() {
    let shown =
        [(0, 8), (1, 3), (49, 32), (5000, 3), (1, 10), (1, 12), (1, 4096), (2, 3_000_001), (1, u64::MAX), (3, 0)]
            .map(|(flops, bytes)| Ratio { flops, bytes }.to_string());
    let wanted = [
        "0",
        "0.333",
        "1.531",
        "1666.667",
        "0.1",
        "0.0833",
        "0.000244",
        "0.000000667",
        "0.0000000000000000000542",
        "without bound",
    ];
    assert_eq!(shown, wanted);
}

/// What takes long, by kind, as the source shows it.
const COSTS: &[(&str, &str, &str)] = &[
    // A division of integers by an argument; by what depends on one; by a member of a vector of arguments.
    (XY, "y[i] = x[i / n];", "division i / n"),
    (XY, "int k = n * 2 + 1; y[i] = x[i % k];", "division i % k"),
    (XY, "int k = i; k /= n; y[k] = x[k];", "division k /= n"),
    ("global int* y, int2 n", "y[i] = i / n.x;", "division i / n.x"),
    ("global int* y, constant int* n", "y[i] = i % n[1];", "division i % n[1]"),
    ("global int4* y, int4 n", "y[i] = y[i] / n;", "division y[i] / n"),
    // By numbers of the text, a shift, of floats, by each thread's own: none.
    (XY, "y[i] = x[i / 7] + x[i % 16];", ""),
    (XY, "const int k = 3 * 5; y[i] = x[i / k];", ""),
    (XY, "y[i] = x[i] / a + x[i >> n];", ""),
    ("global int* y, global const int* x", "y[i] = i / x[i];", ""),
    (XY, "y[i] = n / (i + 1);", ""),
    // Functions of a unit of their own, in a called function too; others.
    (XY, "y[i] = exp(x[i]) + sin(a);", "special exp(x[i]), special sin(a)"),
    (XY, "y[i] = rooted(x[i]);", "special sqrt(v)"),
    (XY, "y[i] = fma(x[i], a, fmax(fabs(x[i]), floor(a)));", ""),
    // double: operators and functions, not what only moves or compares.
    ("global double* y, double b", "y[i] = y[i] * b + 1;", "double y[i] * b, double y[i] * b + 1"),
    ("global double* y, double b", "y[i] += b;", "double y[i] += b"),
    ("global double* y, double b", "y[i] = sqrt(b);", "special sqrt(b), double sqrt(b)"),
    ("global double* y, double b", "y[i] = y[i] < b ? b : y[i];", ""),
];

#[test]
fn what_takes_long_is_found_where_it_stands() {
    let mut wrong = String::new();
    for (parameters, body, expected) in COSTS {
        let source = format!(
            "float rooted(float v) {{ return sqrt(v); }}\nkernel void k({parameters}) {{ int i = get_global_id(0); {body} }}"
        );
        let translation = translated(&source);
        let kernel = translation.analysis.kernel("k").expect("the kernel");
        let words = |cost: &clmsl::Cost| {
            let kind = format!("{:?}", cost.kind).to_lowercase();
            format!("{kind} {}", &source[cost.span.lo as usize..cost.span.hi as usize])
        };
        let found = kernel.costs.iter().map(words).collect::<Vec<_>>().join(", ");
        if found != *expected {
            wrong += &format!("{body}\n  expected {expected}\n  found    {found}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
