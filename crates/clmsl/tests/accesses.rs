//! How kernels reach memory, against a table written by hand from the sources.

use clmsl::AccessPattern::{Contiguous, Even, Gather, Strided, Uniform, Unknown};
use clmsl::{AccessPattern, Options, translate};

/// Parameters before `global float* y, int n`; the body, in which `i` is the first id; the accesses in the order of the text:
/// parameter (or `local`, or `?`), `r`, `w` or `rw`, bytes, pattern.
type Case = (&'static str, &'static str, &'static [(&'static str, &'static str, u64, AccessPattern)]);

const CASES: &[Case] = &[
    ("", "y[i] = n;", &[("y", "w", 4, Contiguous)]),
    ("", "y[get_global_linear_id()] = n;", &[("y", "w", 4, Contiguous)]),
    ("", "y[i + 1] = y[0];", &[("y", "w", 4, Contiguous), ("y", "r", 4, Uniform)]),
    ("", "*y = y[n];", &[("y", "w", 4, Uniform), ("y", "r", 4, Uniform)]),
    (
        "",
        "y[2 * i] += 1; y[i * 4 + 1]++; y[n - i] = y[-i];",
        &[
            ("y", "rw", 4, Strided(8)),
            ("y", "rw", 4, Strided(16)),
            ("y", "w", 4, Strided(-4)),
            ("y", "r", 4, Strided(-4)),
        ],
    ),
    (
        "",
        "y[i << 2] = y[i >> 1] + y[i % n] + y[i & 3];",
        &[("y", "w", 4, Strided(16)), ("y", "r", 4, Unknown), ("y", "r", 4, Unknown), ("y", "r", 4, Unknown)],
    ),
    (
        "",
        "y[i * n] = y[i * n + i] + y[i * n - i * n];",
        &[("y", "w", 4, Even), ("y", "r", 4, Even), ("y", "r", 4, Even)],
    ),
    (
        "",
        "y[get_global_id(1) * n + i] = y[i * n + get_global_id(1)];",
        &[("y", "w", 4, Contiguous), ("y", "r", 4, Even)],
    ),
    (
        "",
        "y[mad24((int)get_global_id(1), n, i)] = y[mul24(i, 3)];",
        &[("y", "w", 4, Contiguous), ("y", "r", 4, Strided(12))],
    ),
    ("", "y[get_group_id(0) * get_local_size(0) + get_local_id(0)] = 1;", &[("y", "w", 4, Contiguous)]),
    ("", "y[get_global_id(n)] = 1;", &[("y", "w", 4, Unknown)]),
    ("", "y[i << n] = y[1 << i] + y[n << 1];", &[("y", "w", 4, Even), ("y", "r", 4, Unknown), ("y", "r", 4, Uniform)]),
    // By what was read; at one address, by what nobody may write, all read the same.
    ("global const int* x", "y[x[i]] = 1;", &[("y", "w", 4, Gather), ("x", "r", 4, Contiguous)]),
    ("global const int* x", "y[i * x[0]] = 1;", &[("y", "w", 4, Even), ("x", "r", 4, Uniform)]),
    (
        "global int* x",
        "y[x[0]] = 1; x[0] = 2;",
        &[("y", "w", 4, Gather), ("x", "r", 4, Uniform), ("x", "w", 4, Uniform)],
    ),
    ("constant int* x", "y[x[n] + i] = 1;", &[("y", "w", 4, Contiguous), ("x", "r", 4, Uniform)]),
    // The product of two matrices.
    (
        "global const float* a, global const float* b",
        "float s = 0; int row = get_global_id(1); for (int k = 0; k < n; k++) s += a[row * n + k] * b[k * n + i]; y[row * n + i] = s;",
        &[("a", "r", 4, Uniform), ("b", "r", 4, Contiguous), ("y", "w", 4, Contiguous)],
    ),
    // Guards: those behind them are alike.
    (
        "",
        "if (i < n) { for (int k = 0; k < n; ++k) y[k * n + i] = 0; y[i] = 1; }",
        &[("y", "w", 4, Contiguous), ("y", "w", 4, Contiguous)],
    ),
    ("", "if (i >= n) return; for (int k = 0; k < n; k += 2) y[k] = 0;", &[("y", "w", 4, Uniform)]),
    ("", "int k; if (i < n) for (k = 0; k < n; ++k) y[k] = 0;", &[("y", "w", 4, Unknown)]),
    // Rounds that differ: within a loop those who are left are alike, behind it nobody knows.
    ("", "for (int k = i; k < n; k += get_global_size(0)) y[k] = 0;", &[("y", "w", 4, Contiguous)]),
    (
        "",
        "int k = i; while (k < n) { y[k] = 0; k += get_global_size(0); } y[k] = 1;",
        &[("y", "w", 4, Unknown), ("y", "w", 4, Unknown)],
    ),
    (
        "global const int* x",
        "int last = 0; for (int k = 0; k < x[i]; k++) { y[k] = 0; last = k; } y[last] = 1;",
        &[("x", "r", 4, Contiguous), ("y", "w", 4, Uniform), ("y", "w", 4, Unknown)],
    ),
    ("", "int j = 0; for (int k = 0; k < n; k++) { if (i > 3) break; j = k; } y[j] = 1;", &[("y", "w", 4, Unknown)]),
    (
        "global const int* x",
        "int last; for (int k = 0; k < x[i]; k++) { y[k] = 0; last = k; } y[last] = 1;",
        &[("x", "r", 4, Contiguous), ("y", "w", 4, Uniform), ("y", "w", 4, Unknown)],
    ),
    (
        "global const int* x",
        "int p; for (int k = 0; k < n; k++) { if (k == 0 || x[i] > k) p = i + k; y[p] = 1; }",
        &[("x", "r", 4, Contiguous), ("y", "w", 4, Unknown)],
    ),
    ("", "int p; for (int k = 0; k < n; k++) { p = i + k; y[p] = 1; }", &[("y", "w", 4, Contiguous)]),
    (
        "global const int* x",
        "int k = n; while (k-- > 0) { if (x[i * n + k] > 0) break; } y[k] = 1;",
        &[("x", "r", 4, Unknown), ("y", "w", 4, Unknown)],
    ),
    (
        "global const int* x",
        "int k = 0; while (k++ < x[i]); y[k] = 1;",
        &[("x", "r", 4, Contiguous), ("y", "w", 4, Unknown)],
    ),
    ("", "int k = 0; while (k++ < n); y[k] = 1;", &[("y", "w", 4, Uniform)]),
    ("", "uchar c = 0; c += i * 256; y[c] = 1;", &[("y", "w", 4, Unknown)]),
    ("", "uchar c = 0; c += n; y[c] = 1;", &[("y", "w", 4, Uniform)]),
    ("", "int j = i; j *= 2.5f; y[j] = 1;", &[("y", "w", 4, Unknown)]),
    ("", "int j = i; j += n; y[j] = 1;", &[("y", "w", 4, Contiguous)]),
    ("", "uint u = i; y[n + u * -1] = 1;", &[("y", "w", 4, Strided(-4))]),
    ("global float* p", "global float* q = p + i; q += n; *q = 1;", &[("p", "w", 4, Contiguous)]),
    ("", "for (int k = 0; k < n; k++) { if (i > 3) break; y[k] = 1; }", &[("y", "w", 4, Uniform)]),
    ("", "for (int k = 0; k < n; k++) { if (n > 3) break; y[k] = 1; }", &[("y", "w", 4, Uniform)]),
    (
        "",
        "int j = 0; for (int k = 0; k < n; k++) { if (i > k) continue; j += 1; y[j] = y[k]; }",
        &[("y", "w", 4, Unknown), ("y", "r", 4, Unknown)],
    ),
    (
        "",
        "int j = 0; for (int k = 0; k < n; k++) { if (n > k) continue; j += 1; y[j] = 1; }",
        &[("y", "w", 4, Uniform)],
    ),
    (
        "",
        "int j = 0; for (int k = 0; k < n; k++) { switch (i) { case 1: continue; } j += 1; } y[j] = 1;",
        &[("y", "w", 4, Unknown)],
    ),
    ("", "int j = 0; switch (n) { case 1: if (i > 2) break; j = 1; } y[j] = 1;", &[("y", "w", 4, Unknown)]),
    ("", "int j = 0; switch (n) { case 1: j = 1; break; default: j = 2; } y[j] = 1;", &[("y", "w", 4, Uniform)]),
    (
        "",
        "int j = 0; do { j += 1; y[j] = 0; } while (j < n); y[j] = 1;",
        &[("y", "w", 4, Uniform), ("y", "w", 4, Uniform)],
    ),
    ("", "int j = 0; do { j += 1; y[j] = 0; } while (j < i);", &[("y", "w", 4, Unknown)]),
    // Variables.
    ("", "int k = 0; if (i & 1) k = 1; y[k] = 1;", &[("y", "w", 4, Unknown)]),
    ("", "int k = 0; if (n & 1) k = 1; y[k] = 1;", &[("y", "w", 4, Uniform)]),
    ("", "int k = 0; if (n & 1) k = i; y[k] = 1;", &[("y", "w", 4, Unknown)]),
    (
        "",
        "int k = 0; if (i > 3 && (k = 1)) n = 2; y[k] = 1; y[n] = 1;",
        &[("y", "w", 4, Unknown), ("y", "w", 4, Unknown)],
    ),
    ("", "int k = 0; int* p = &k; *p = i; y[k] = 1;", &[("y", "w", 4, Unknown)]),
    ("", "int t[4]; t[0] = i; y[t[n]] = 1;", &[("y", "w", 4, Unknown)]),
    ("", "int2 p = (int2)(i, 0); y[p.x] = 1;", &[("y", "w", 4, Unknown)]),
    ("", "int2 p = (int2)(n, 0); p.y = 2; y[p.x] = 1;", &[("y", "w", 4, Uniform)]),
    ("", "int2 p = (int2)(n, 0); p.y = i; y[p.x] = 1;", &[("y", "w", 4, Unknown)]),
    (
        "",
        "uchar c = i; y[c] = 1; uint d = i; y[d] = 1; y[(int)(float)i] = 1;",
        &[("y", "w", 4, Unknown), ("y", "w", 4, Contiguous), ("y", "w", 4, Unknown)],
    ),
    (
        "",
        "y[i < n ? i : 0] = y[n > 3 ? i : 2 * i] + y[n > 3 ? i : i + 1];",
        &[("y", "w", 4, Unknown), ("y", "r", 4, Unknown), ("y", "r", 4, Contiguous)],
    ),
    ("", "y[i++] = 1; y[i--] = 2;", &[("y", "w", 4, Contiguous), ("y", "w", 4, Contiguous)]),
    // Pointers.
    (
        "global float* x",
        "global float* row = x + get_global_id(1) * n; row[i] = *(row + 2 * i); y[0] = *&row[i];",
        &[("x", "w", 4, Contiguous), ("x", "r", 4, Strided(8)), ("y", "w", 4, Uniform), ("x", "r", 4, Contiguous)],
    ),
    ("global float* x", "global float* p = n > 2 ? x : y; p[i] = 1;", &[("?", "w", 4, Contiguous)]),
    ("global float* x", "global float* p = i > 2 ? x : y; p[i] = 1;", &[("?", "w", 4, Unknown)]),
    (
        "global float* x",
        "global char* p = (global char*)x; p[i] = 1; ((global float4*)x)[i] = 0;",
        &[("x", "w", 1, Contiguous), ("x", "w", 16, Contiguous)],
    ),
    (
        "global struct P* p",
        "y[i] = p[i].b; p[i].c[1] = 2;",
        &[("y", "w", 4, Contiguous), ("p", "r", 4, Strided(16)), ("p", "w", 4, Strided(16))],
    ),
    (
        "global float4* v",
        "v[i] = v[i + n]; v[i].x = v[0].y;",
        &[("v", "w", 16, Contiguous), ("v", "r", 16, Contiguous), ("v", "w", 4, Strided(16)), ("v", "r", 4, Uniform)],
    ),
    // Each component once, and none that is not there.
    (
        "global float4* v, global float2* w, global float3* u",
        "v[i] = v[i].xxxx; v[i] = w[i].xxyy; w[i] = u[i].hi; y[i] = v[i].wzyx.lo.x;",
        &[
            ("v", "w", 16, Contiguous),
            ("v", "r", 4, Strided(16)),
            ("v", "w", 16, Contiguous),
            ("w", "r", 8, Contiguous),
            ("w", "w", 8, Contiguous),
            ("u", "r", 4, Strided(16)),
            ("y", "w", 4, Contiguous),
            ("v", "r", 4, Strided(16)),
        ],
    ),
    (
        "",
        "vstore4(vload4(i, y), 0, y + i); vstore3((float3)(1), i, y); y[0] = vload2(n, y).x;",
        &[
            ("y", "w", 16, Strided(4)),
            ("y", "r", 16, Contiguous),
            ("y", "w", 12, Contiguous),
            ("y", "w", 4, Uniform),
            ("y", "r", 8, Uniform),
        ],
    ),
    (
        "global half* h",
        "vstorea_half3(vloada_half3(i, h), i, h); vstore_half(vload_half(i, h), 2 * i, h);",
        &[("h", "w", 6, Strided(8)), ("h", "r", 6, Strided(8)), ("h", "w", 2, Strided(4)), ("h", "r", 2, Contiguous)],
    ),
    // Other memory.
    (
        "local float* t",
        "local float u[64]; u[get_local_id(0)] = t[2 * get_local_id(0)]; barrier(1); y[i] = u[get_local_id(1)];",
        &[
            ("local", "w", 4, Contiguous),
            ("t", "r", 4, Strided(8)),
            ("y", "w", 4, Contiguous),
            ("local", "r", 4, Uniform),
        ],
    ),
    ("", "y[i] = table[i & 3];", &[("y", "w", 4, Contiguous)]),
    // What is done elsewhere.
    (
        "global int* h, global const int* x",
        "atomic_add(&h[x[i]], 1); atomic_inc(h);",
        &[("h", "rw", 4, Gather), ("x", "r", 4, Contiguous), ("h", "rw", 4, Uniform)],
    ),
    ("", "y[i] = fract(2.5f, y + i + n);", &[("y", "w", 4, Contiguous), ("y", "w", 4, Contiguous)]),
    (
        "global atomic_int* h, global int* x",
        "atomic_fetch_add(h + i, 1); atomic_store(h, x[n]); int e = 0; atomic_compare_exchange_strong(h, &e, 2);",
        &[("h", "rw", 4, Contiguous), ("h", "w", 4, Uniform), ("x", "r", 4, Uniform), ("h", "rw", 4, Uniform)],
    ),
    ("", "global float* p = to_global(y + i); if (p) *p = 1;", &[("y", "w", 4, Contiguous)]),
    // Called functions, whose text is before the kernel's: the pattern is that of what they are passed.
    (
        "global const int* x",
        "y[i] = fn(x, y + i);",
        &[("y", "w", 4, Contiguous), ("x", "r", 4, Uniform), ("y", "w", 4, Contiguous)],
    ),
    ("", "put(y, i);", &[("y", "w", 4, Contiguous)]),
    ("", "put(y + i, i); put(y, -i); put(y, 2 * i);", &[("y", "w", 4, Strided(8)), ("y", "w", 4, Strided(-4))]),
    ("global float* x", "put(y, n); put(x, n);", &[("y", "w", 4, Uniform), ("x", "w", 4, Uniform)]),
    ("global float* x", "put(n > 2 ? y : x, n);", &[("?", "w", 4, Uniform)]),
    ("global const int* x", "put(y, x[i]);", &[("y", "w", 4, Gather), ("x", "r", 4, Contiguous)]),
    (
        "",
        "if (i < n) put(y, i); else for (int k = 0; k < n; k++) put(y, k);",
        &[("y", "w", 4, Contiguous), ("y", "w", 4, Uniform)],
    ),
    ("", "twice(y, i);", &[("y", "w", 4, Contiguous), ("y", "w", 4, Strided(8))]),
    ("local float* t", "put(t, i); put(y, i);", &[("t", "w", 4, Contiguous), ("y", "w", 4, Contiguous)]),
    ("", "float t[9]; put(t, i);", &[]),
    // What they return.
    ("", "*at(y, 3 * i) = 1;", &[("y", "w", 4, Strided(12))]),
    ("", "y[index(get_global_id(1), i, n)] = y[index(i, 0, n)];", &[("y", "w", 4, Contiguous), ("y", "r", 4, Even)]),
    ("", "y[index(i, n, 16)] = y[index(i, 0, -1)];", &[("y", "w", 4, Strided(64)), ("y", "r", 4, Strided(-4))]),
    ("", "const int w = 4; y[i * w] = y[i << w];", &[("y", "w", 4, Strided(16)), ("y", "r", 4, Strided(64))]),
    ("", "int w = 4; if (n) w = 5; y[i * w] = 1;", &[("y", "w", 4, Even)]),
    ("", "y[me()] = y[me() * 2];", &[("y", "w", 4, Contiguous), ("y", "r", 4, Strided(8))]),
    ("", "int k = 0; do { k = me(); y[k] = 1; } while (k < n);", &[("y", "w", 4, Unknown)]),
    ("", "y[inside(i, n)] = y[inside(n, 7)];", &[("y", "w", 4, Unknown), ("y", "r", 4, Uniform)]),
    ("", "y[first(n)] = 1; y[first(i)] = 1;", &[("y", "w", 4, Uniform), ("y", "w", 4, Unknown)]),
    ("", "int k; give(&k, n); y[k] = 1;", &[("y", "w", 4, Unknown)]),
    ("", "int j; for (int k = 0; k < n; k++) { int m = index(j, 0, n); y[m] = 1; j = n; }", &[("y", "w", 4, Uniform)]),
    ("", "y[changed(i)] = 1;", &[("y", "w", 4, Unknown)]),
    ("", "y[own(i)] = 1;", &[("y", "w", 4, Unknown)]),
    ("", "prefetch(y, 4);", &[]),
];

#[test]
fn accesses_are_those_of_the_text() {
    for (params, body, wanted) in CASES {
        let comma = if params.is_empty() { "" } else { ", " };
        let source = format!(
            "struct P {{ float a; float b; float c[2]; }};
             constant float table[4] = {{ 1, 2, 3, 4 }};
             float fn(global const int* x, global float* y) {{ y[0] = x[0]; return 1; }}
             void put(float* p, int k) {{ p[k] = 1; }}
             void twice(global float* p, int k) {{ put(p, k); put(p, 2 * k); }}
             global float* at(global float* p, int k) {{ return p + k; }}
             int index(int row, int column, int width) {{ return row * width + column; }}
             int me(void) {{ return get_global_id(0); }}
             int inside(int k, int n) {{ if (k >= n) return n - 1; return k; }}
             int first(int n) {{ for (int k = 0; k < n; k++) if (k > 3) return k; return 0; }}
             void give(int* p, int k) {{ *p = k; }}
             int changed(int k) {{ if (k > 3) k = 1; return k; }}
             int own(int k) {{ int* p = &k; *p = 7; return k; }}
             kernel void k({params}{comma}global float* y, int n) {{ int i = get_global_id(0); {body} }}"
        );
        let options = Options::parse_build_options("-cl-std=CL2.0").expect("options").options;
        let translation = translate("case.cl", &source, &options);
        assert!(translation.msl.is_some(), "{body}\n{}", translation.rendered());
        let args = &translation.reflection.kernels[0].args;
        let kernel = translation.analysis.kernel("k").expect("a kernel");
        let found: Vec<(&str, &str, u64, AccessPattern)> = kernel
            .accesses
            .iter()
            .map(|access| {
                let name = match (access.argument, access.address_space) {
                    (Some(index), _) => &*args[index as usize].name,
                    (None, clmsl::AddressSpace::Local) => "local",
                    (None, _) => "?",
                };
                let how = match (access.reads, access.writes) {
                    (true, true) => "rw",
                    (true, false) => "r",
                    (false, true) => "w",
                    (false, false) => panic!("{body}: neither"),
                };
                (name, how, access.bytes, access.pattern)
            })
            .collect();
        assert_eq!(found, *wanted, "{body}");
    }
}

/// Parameters before `global float* y, int n`; the body, in which `i` is the first id and `j` the second; parameter (or `local`), `r`, `w` or `rw`, bytes, pattern in x and
/// in y, in the order of the text.
type PlaneCase =
    (&'static str, &'static str, &'static [(&'static str, &'static str, u64, AccessPattern, AccessPattern)]);

const PLANES: &[PlaneCase] = &[
    // Along rows, along columns, and both.
    (
        "global const float* x",
        "y[j * n + i] = x[j * n + i] + x[j * 64 + i];",
        &[("y", "w", 4, Contiguous, Even), ("x", "r", 4, Contiguous, Even), ("x", "r", 4, Contiguous, Strided(256))],
    ),
    (
        "global const float* x",
        "y[i * n + j] = x[i * 64 + j];",
        &[("y", "w", 4, Even, Contiguous), ("x", "r", 4, Strided(256), Contiguous)],
    ),
    (
        "global const float* x",
        "y[i * n + j] = x[j * n + i];",
        &[("y", "w", 4, Even, Contiguous), ("x", "r", 4, Contiguous, Even)],
    ),
    // Above, below, left and right; the sum of two distances.
    (
        "global const float* x",
        "y[j * n + i] = x[(j - 1) * n + i] + x[(j + 1) * n + i] + x[j * n + i - 1] + x[j + i];",
        &[
            ("y", "w", 4, Contiguous, Even),
            ("x", "r", 4, Contiguous, Even),
            ("x", "r", 4, Contiguous, Even),
            ("x", "r", 4, Contiguous, Even),
            ("x", "r", 4, Contiguous, Contiguous),
        ],
    ),
    // What y does not change, and what only y does.
    (
        "global const float* x",
        "y[j] = x[i] + x[n];",
        &[("y", "w", 4, Uniform, Contiguous), ("x", "r", 4, Contiguous, Uniform), ("x", "r", 4, Uniform, Uniform)],
    ),
    ("", "y[-2 * j] = y[3 - j];", &[("y", "w", 4, Uniform, Strided(-8)), ("y", "r", 4, Uniform, Strided(-4))]),
    // The product of two matrices.
    (
        "global const float* a, global const float* b",
        "float s = 0; for (int k = 0; k < n; k++) s += a[j * n + k] * b[k * n + i]; y[j * n + i] = s;",
        &[("a", "r", 4, Uniform, Even), ("b", "r", 4, Contiguous, Uniform), ("y", "w", 4, Contiguous, Even)],
    ),
    // By data of the row, and of the place.
    (
        "global const int* x, global const int* z",
        "y[x[j] + i] = y[z[i] + j];",
        &[
            ("y", "w", 4, Contiguous, Gather),
            ("x", "r", 4, Uniform, Contiguous),
            ("y", "r", 4, Gather, Contiguous),
            ("z", "r", 4, Contiguous, Uniform),
        ],
    ),
    // A tile of local memory that is turned: groups do not tell neighbours apart.
    (
        "global const float* x",
        "local float t[16][17]; int a = get_local_id(0), b = get_local_id(1); t[b][a] = x[j * n + i]; barrier(1);
         y[(get_group_id(0) * 16 + b) * n + get_group_id(1) * 16 + a] = t[a][b];",
        &[
            ("local", "w", 4, Contiguous, Strided(68)),
            ("x", "r", 4, Contiguous, Even),
            ("y", "w", 4, Contiguous, Even),
            ("local", "r", 4, Strided(68), Contiguous),
        ],
    ),
    // Numbers of all work-items: from row to row by the length of one.
    (
        "",
        "y[get_global_linear_id()] = y[get_local_linear_id()] + j;",
        &[("y", "w", 4, Contiguous, Even), ("y", "r", 4, Contiguous, Even)],
    ),
    // Who is alike in one dimension need not be in the other: behind the loop, and behind the condition, those of a row differ.
    (
        "",
        "int k = 0; while (k < j) k++; y[k] = 1; int m = 0; if (i > 3) m = 1; y[m] = 1;",
        &[("y", "w", 4, Uniform, Unknown), ("y", "w", 4, Unknown, Uniform)],
    ),
    ("", "y[get_global_id(n)] = 1;", &[("y", "w", 4, Unknown, Unknown)]),
    // Called functions: the second dimension may be asked for there; several patterns of one place are unknown.
    ("", "y[row() * n + i] = 1;", &[("y", "w", 4, Contiguous, Even)]),
    ("", "put(y, j); put(y, i);", &[("y", "w", 4, Uniform, Unknown), ("y", "w", 4, Contiguous, Unknown)]),
    ("", "put(y, j + i); put(y + n, j + i);", &[("y", "w", 4, Contiguous, Contiguous)]),
    (
        "global float4* v",
        "v[j * n + i].x = vload2(j, y).y;",
        &[("v", "w", 4, Strided(16), Even), ("y", "r", 8, Uniform, Contiguous)],
    ),
];

#[test]
fn accesses_of_planes_have_a_pattern_in_y() {
    for (params, body, wanted) in PLANES {
        let comma = if params.is_empty() { "" } else { ", " };
        let source = format!(
            "void put(global float* p, int k) {{ p[k] = 1; }}
             int row(void) {{ return get_global_id(1); }}
             kernel void k({params}{comma}global float* y, int n) {{
                 int i = get_global_id(0), j = get_global_id(1); {body} }}"
        );
        let options = Options::parse_build_options("-cl-std=CL2.0").expect("options").options;
        let translation = translate("case.cl", &source, &options);
        assert!(translation.msl.is_some(), "{body}\n{}", translation.rendered());
        let args = &translation.reflection.kernels[0].args;
        let kernel = translation.analysis.kernel("k").expect("a kernel");
        let found = kernel.accesses.iter().map(|access| {
            let name = access.argument.map_or("local", |index| &*args[index as usize].name);
            let how = if access.reads { "r" } else { "w" };
            assert!(access.reads != access.writes, "{body}");
            (name, how, access.bytes, access.pattern, access.pattern_y.expect("a pattern in y"))
        });
        assert_eq!(found.collect::<Vec<_>>(), *wanted, "{body}");
    }
}

#[test]
fn where_nothing_follows_y_or_z_there_is_no_pattern_in_it() {
    let source = "int row(void) { return get_global_id(1); }
        kernel void one(global float* y) { y[get_global_id(0) + get_group_id(1) * get_global_size(1)] = 1; }
        kernel void two(global float* y) { y[get_global_id(0) + row()] = 1; y[0] = 1; }
        kernel void deep(global float* y) { y[get_global_id(0) + get_global_id(2)] = 1; }
        kernel void linear(global float* y) { y[get_global_linear_id()] = 1; }
        kernel void lane(global float* y) { y[get_sub_group_local_id()] = 1; }";
    let options = Options::parse_build_options("-cl-std=CL3.0").expect("options").options;
    let translation = translate("case.cl", source, &options);
    let patterns = |kernel: &str| -> Vec<(Option<AccessPattern>, Option<AccessPattern>)> {
        let kernel = translation.analysis.kernel(kernel).unwrap_or_else(|| panic!("{kernel}"));
        kernel.accesses.iter().map(|access| (access.pattern_y, access.pattern_z)).collect()
    };
    assert_eq!(patterns("one"), [(None, None)]);
    assert_eq!(patterns("two"), [(Some(Contiguous), None), (Some(Uniform), None)]);
    assert_eq!(patterns("deep"), [(None, Some(Contiguous))]);
    assert_eq!(patterns("linear"), [(Some(Even), Some(Even))]);
    // Which lane a neighbour in y is, the width of the group decides.
    assert_eq!(patterns("lane"), [(Some(Unknown), Some(Unknown))]);
}
