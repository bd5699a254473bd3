//! The LLVM pass and stack switching: kernels with barriers whose results are known, and kernels that the pass must refuse.

use crate::stdlib::*;
use crate::support::{Buffer, Pipeline, Queue};
use hostmetal::msl::{Built, CompileOptions, Engine, Linked, Linking, MathMode, With};
use std::fmt::Write;
use std::sync::Arc;

const ENGINES: [Engine; 2] = [Engine::Pass, Engine::Stack];

/// The parameters of the kernels here: `i` counts through the grid, `t` through the threadgroup of `n` threads.
const PARAMETERS: &str = "device uint *out [[buffer(0)]], constant uint *p [[buffer(1)]], constant uint &seven [[buffer(2)]], \
     uint3 place [[thread_position_in_grid]], uint3 grid [[threads_per_grid]], uint3 size [[threads_per_threadgroup]], \
     uint3 group [[threadgroup_position_in_grid]], uint3 at [[thread_position_in_threadgroup]], uint t [[thread_index_in_threadgroup]]";
const BEGIN: &str =
    "uint n = size.x * size.y * size.z; uint i = (place.z * grid.y + place.y) * grid.x + place.x; (void)n; (void)i;";

/// What `p` holds.
const CONSTANTS: [u32; 8] = [3, 1, 4, 1, 5, 9, 2, 6];

/// A grid and the size of its threadgroups.
type Shape = ([u64; 3], [u64; 3]);
const SHAPES: [Shape; 5] = [
    ([128, 1, 1], [64, 1, 1]),
    ([75, 1, 1], [32, 1, 1]),
    ([13, 9, 1], [8, 4, 1]),
    ([5, 6, 7], [3, 4, 5]),
    ([2, 33, 1], [1, 16, 1]),
];

fn dispatch(pipeline: &Pipeline, (grid, size): Shape, words: usize) -> Vec<u32> {
    let out = Buffer::new((words * 4) as u64);
    let p = Buffer::of(&CONSTANTS);
    Queue::new()
        .run(|encoder| {
            encoder.pipeline(pipeline);
            encoder.buffer(&out, 0);
            encoder.buffer(&p, 1);
            encoder.bytes(&7u32, 2);
            encoder.threads(grid, size);
        })
        .assert_completed();
    out.read()
}

/// Of each threadgroup: its x, and the numbers of its threads in the grid.
fn threadgroups((grid, size): Shape) -> Vec<(u64, Vec<usize>)> {
    let count = |axis: usize| grid[axis].div_ceil(size[axis]);
    let mut groups = Vec::new();
    for number in 0..count(0) * count(1) * count(2) {
        let position = [number % count(0), number / count(0) % count(1), number / count(0) / count(1)];
        let range = |axis: usize| position[axis] * size[axis]..((position[axis] + 1) * size[axis]).min(grid[axis]);
        let mut threads = Vec::new();
        for z in range(2) {
            for y in range(1) {
                threads.extend(range(0).map(|x| ((z * grid[1] + y) * grid[0] + x) as usize));
            }
        }
        groups.push((position[0], threads));
    }
    groups
}

/// What is known of a kernel with an imageblock: its pixels are memory of the threadgroup, and where they lie is nobody's work.
#[test]
fn an_imageblock_is_analysed_as_threadgroup_memory() {
    if !has_pass() {
        return;
    }
    let source = "#include <metal_stdlib>\nusing namespace metal;\nstruct P { float a, b; };\n\
        kernel void run(imageblock<P> img, device float *x, device float *y, texture2d<float, access::write> t,\n\
          uint2 g [[thread_position_in_grid]], ushort2 l [[thread_position_in_threadgroup]]) {\n\
          threadgroup_imageblock P *p = img.data(l); p->a = x[g.x];\n\
          threadgroup_barrier(mem_flags::mem_threadgroup_imageblock);\n\
          y[g.x] = p->a * 2 + img.data(ushort2(0))->b;\n\
          t.write(img.slice(p->a), uint2(0));\n}\n";
    let checked =
        hostmetal::msl::check(source, &CompileOptions::default()).unwrap_or_else(|failure| panic!("{failure}"));
    let told = checked.analysis("run", &[]).unwrap_or_else(|failure| panic!("{failure}"));
    // Without columns, and without registers, which are no matter of imageblocks.
    let told_of_it = told.lines().filter(|line| !line.starts_with("registers "));
    let mut lines: Vec<&str> = told_of_it.map(|line| line.rsplit_once(' ').map_or(line, |(line, _)| line)).collect();
    lines.sort_unstable();
    let expected = [
        "access device x read 4 4 0 6",
        "access device y write 4 4 0 8",
        "access threadgroup img read 4 0 0 8",
        "access threadgroup img read 4 8 even 8",
        "access threadgroup img write 4 8 even 6",
        "fact barrier 7",
        "fact threadgroup_memory 4",
        "fact threadgroup_position 5",
        "uncounted 9",
        // The thread's own work has no place, and the last word says that all of it is done.
        "work 0 0 0 2 0 0 4 4",
    ];
    assert_eq!(lines, expected, "{told}");
}

// ---------------------------------------------------------------- by hand

/// What the threads of a threadgroup write: their numbers in the grid are given, and x of the threadgroup.
type Reference = fn(&[usize], u64) -> Vec<u32>;

fn others(threads: &[usize], distance: usize) -> Vec<u32> {
    let n = threads.len();
    (0..n).map(|t| threads[(t + distance) % n] as u32).collect()
}

/// Declarations, body, reference; of kernels that the pass takes.
const TAKEN: &[(&str, &str, Reference)] = &[
    (
        "",
        "threadgroup uint s[64]; s[t] = i; threadgroup_barrier(mem_flags::mem_threadgroup); out[i] = s[(t + 1) % n];",
        |g, _| others(g, 1),
    ),
    // A helper that waits, called twice.
    (
        "uint next(threadgroup uint *s, uint v, uint t, uint n) { s[t] = v; threadgroup_barrier(mem_flags::mem_threadgroup); uint r = s[(t + 1) % n]; threadgroup_barrier(mem_flags::mem_threadgroup); return r; }",
        "threadgroup uint s[64]; out[i] = next(s, next(s, i, t, n), t, n);",
        |g, _| others(g, 2),
    ),
    // A loop whose bound only memory knows, with the counter and a sum living across the barriers.
    (
        "",
        "threadgroup uint s[64]; uint v = i; for (uint k = 0; k < p[2]; k++) { s[t] = v; threadgroup_barrier(mem_flags::mem_threadgroup); v = s[(t + 1) % n] + k; threadgroup_barrier(mem_flags::mem_threadgroup); } out[i] = v;",
        |g, _| others(g, 4).into_iter().map(|v| v + 6).collect(),
    ),
    // A tree reduction; the bound is the size of the threadgroup.
    (
        "",
        "threadgroup uint s[64]; s[t] = i; threadgroup_barrier(mem_flags::mem_threadgroup); for (uint k = 32; k > 0; k /= 2) { if (t < k && t + k < n) s[t] += s[t + k]; threadgroup_barrier(mem_flags::mem_threadgroup); } out[i] = s[0];",
        |g, _| vec![g.iter().map(|&i| i as u32).sum(); g.len()],
    ),
    // A variable that only some threads set, and only they read behind the barrier.
    (
        "",
        "threadgroup uint s[64]; uint v; s[t] = i; if (t < 3) v = p[0] * 3 + 5; threadgroup_barrier(mem_flags::mem_threadgroup); uint o = s[(t + 1) % n]; out[i] = t < 3 ? v : o;",
        |g, _| others(g, 1).into_iter().enumerate().map(|(t, o)| if t < 3 { 14 } else { o }).collect(),
    ),
    (
        "",
        "threadgroup uint s[64]; uint old; if (t == 0) old = p[7]; s[t] = 1; threadgroup_barrier(mem_flags::mem_threadgroup); if (t == 0) { for (uint k = 0; k < n; k++) old += s[k]; s[0] = old; } threadgroup_barrier(mem_flags::mem_threadgroup); out[i] = s[0];",
        |g, _| vec![6 + g.len() as u32; g.len()],
    ),
    // A private array that lives across a barrier, read where only memory knows.
    (
        "",
        "uint a[5]; for (uint k = 0; k < 5; k++) a[k] = i * 10 + k; threadgroup uint s[64]; s[t] = i; threadgroup_barrier(mem_flags::mem_threadgroup); out[i] = a[s[(t + 1) % n] % 5];",
        |g, _| others(g, 1).iter().zip(g).map(|(o, &i)| i as u32 * 10 + o % 5).collect(),
    ),
    // A barrier in a branch that all threads take, or none.
    (
        "",
        "threadgroup uint s[64]; uint v = i; if (group.x % 2 == 0) { s[t] = v; threadgroup_barrier(mem_flags::mem_threadgroup); v = s[(t + 1) % n]; } out[i] = v + seven;",
        |g, x| match x % 2 {
            0 => others(g, 1).into_iter().map(|v| v + 7).collect(),
            _ => g.iter().map(|&i| i as u32 + 7).collect(),
        },
    ),
    // The decision comes from threadgroup memory.
    (
        "",
        "threadgroup uint s[64]; threadgroup uint last; uint v = 0; do { s[t] = v + 1; threadgroup_barrier(mem_flags::mem_threadgroup); if (t == 0) last = s[n - 1]; threadgroup_barrier(mem_flags::mem_threadgroup); v = last; } while (last < 5); out[i] = v;",
        |g, _| vec![5; g.len()],
    ),
    // All threads leave, before a barrier.
    (
        "",
        "out[i] = 1; if (p[0] == 3) { if (group.x > 1000) { out[i] = 2; return; } } threadgroup_barrier(mem_flags::mem_device); out[i] += seven;",
        |g, _| vec![8; g.len()],
    ),
    // Divergent loops between barriers.
    (
        "",
        "threadgroup uint s[64]; uint v = 0; for (uint k = 0; k < i % 7; k++) v += k; s[t] = v; threadgroup_barrier(mem_flags::mem_threadgroup); uint w = 0; for (uint k = 0; k <= s[(t + 1) % n]; k += 3) w++; out[i] = w;",
        |g, _| {
            others(g, 1)
                .into_iter()
                .map(|o| {
                    let m = o % 7;
                    let v = m * m.saturating_sub(1) / 2;
                    v / 3 + 1
                })
                .collect()
        },
    ),
    // Atomics in threadgroup memory.
    (
        "",
        "threadgroup atomic_uint c; if (t == 0) atomic_store_explicit(&c, 0u, memory_order_relaxed); threadgroup_barrier(mem_flags::mem_threadgroup); atomic_fetch_add_explicit(&c, i, memory_order_relaxed); threadgroup_barrier(mem_flags::mem_threadgroup); out[i] = atomic_load_explicit(&c, memory_order_relaxed);",
        |g, _| vec![g.iter().map(|&i| i as u32).sum(); g.len()],
    ),
    // A pointer to a private object, a reference to a constant, a structure.
    (
        "struct S { uint a, b[3]; }; void swap(thread S *s, uint k) { uint x = s->a; s->a = s->b[k]; s->b[k] = x; }",
        "S x = {i, {1, 2, 3}}; swap(&x, p[1]); threadgroup_barrier(mem_flags::mem_none); swap(&x, t % 3); threadgroup_barrier(mem_flags::mem_none); out[i] = x.a * 100 + x.b[1];",
        |g, _| {
            g.iter()
                .enumerate()
                .map(|(t, &i)| {
                    let (mut a, mut b) = (2, [1, i as u32, 3]);
                    std::mem::swap(&mut a, &mut b[t % 3]);
                    a * 100 + b[1]
                })
                .collect()
        },
    ),
    // Behind a loop that threads leave at different times.
    (
        "",
        "uint v = i; uint k = 0; while (k < t % 5) { v += k; k++; } threadgroup uint s[64]; s[t] = v + k; threadgroup_barrier(mem_flags::mem_threadgroup); out[i] = s[(t + 1) % n] * 8 + k;",
        |g, _| {
            let n = g.len();
            let value = |t: usize| {
                let m = t % 5;
                g[t] + m * m.saturating_sub(1) / 2 + m
            };
            (0..n).map(|t| (value((t + 1) % n) * 8 + t % 5) as u32).collect()
        },
    ),
    // The same in each iteration for all that are in it, but threads leave in different ones, and no formula tells in which.
    (
        "",
        "uint k = 1; do k = k * 5 + 3; while ((k & 15) < t % 13); threadgroup_barrier(mem_flags::mem_none); out[i] = k;",
        |g, _| {
            let leaves = |t: usize| {
                std::iter::successors(Some(8u32), |k| Some(k.wrapping_mul(5).wrapping_add(3)))
                    .find(|k| (k & 15) as usize >= t % 13)
                    .expect("an endless sequence")
            };
            (0..g.len()).map(leaves).collect()
        },
    ),
    // What the lanes read in an iteration lies before what one of them writes in the next, and behind the loop: they meet at its end.
    (
        "",
        "threadgroup uint s[64]; uint v = 0; for (uint k = 0;; k++) { if (k > p[1]) break; s[t] = i + k; if (simd_max(s[t]) > 1000000u) continue; simdgroup_barrier(mem_flags::mem_threadgroup); v += s[t / 32 * 32]; } if (t % 32 == 0) s[t] = 5000u; out[i] = v;",
        |g, _| (0..g.len()).map(|t| 2 * g[t / 32 * 32] as u32 + 1).collect(),
    ),
    // Lanes part around a loop that might have a SIMD-group function, by its names, and that ends in its first iteration, in a loop that does.
    (
        "struct Plain { uint of(uint x) { return x * 2; } }; struct Summed { uint of(uint x) { return simd_sum(x); } };",
        "threadgroup uint s[64]; uint v = 0; s[t] = i; for (uint k = 0; k < p[0]; k++) { if (t % 3 == p[1]) for (uint j = 0; j < 1; j++) { if (s[t] < 1000000u) s[t] += Plain().of(j + k); } v += Summed().of(s[t]); } out[i] = v;",
        |g, _| {
            let value = |t: usize, k: usize| g[t] + if t % 3 == 1 { k * (k + 1) } else { 0 };
            let sum = |t: usize, k| (t / 32 * 32..g.len().min(t / 32 * 32 + 32)).map(|t| value(t, k)).sum::<usize>();
            (0..g.len()).map(|t| (0..3).map(|k| sum(t, k) as u32).sum()).collect()
        },
    ),
    // A barrier alone in an endless loop that ends by all threads' decision.
    (
        "",
        "uint k = 0; for (;;) { threadgroup_barrier(mem_flags::mem_none); if (++k == seven) break; } out[i] = k + at.x * 0;",
        |g, _| vec![7; g.len()],
    ),
];

/// What the other threads have read before thread 0 writes it, and read again behind the barrier, for which `W` stands. In all but the
/// last two clang believes of the pointer that nothing else writes there.
const RESTRICTED: &[(&str, &str, Reference)] = &[
    // A kernel's parameter: `out` itself.
    (
        "",
        "threadgroup uint w[64]; w[t] = i; out[i] = i; W uint first = w[0], a = out[first]; W if (t == 0) out[first] = a + 5; W uint b = out[first]; W out[i] = a * 1000 + b;",
        |g, _| vec![g[0] as u32 * 1001 + 5; g.len()],
    ),
    // A function's parameter.
    (
        "void rounds(device uint *__restrict__ q, threadgroup uint *__restrict__ s, uint i, uint t) { s[t] = i; q[i] = 0; W uint a = *s; for (uint k = 0; k < 3; k++) { a += *s * 10; W if (t == 0) *s += 1; W } q[i] = a; }",
        "threadgroup uint s[64]; rounds(out, s, i, t);",
        |g, _| vec![g[0] as u32 * 31 + 30; g.len()],
    ),
    // Of a function that is not inlined.
    (
        "[[gnu::noinline]] uint sum(threadgroup uint *__restrict s, uint t) { uint a = *s; W if (t == 0) *s = a + 5; W uint b = *s; W return a * 1000 + b; }",
        "threadgroup uint s[64]; s[t] = i; W out[i] = sum(s, t);",
        |g, _| vec![g[0] as u32 * 1001 + 5; g.len()],
    ),
    // A reference.
    (
        "uint sum(threadgroup uint &__restrict s, uint t) { uint a = s; W if (t == 0) s = a + 5; W uint b = s; W return a * 1000 + b; }",
        "threadgroup uint s[64]; s[t] = i; W out[i] = sum(*s, t);",
        |g, _| vec![g[0] as u32 * 1001 + 5; g.len()],
    ),
    // A member, and a variable.
    (
        "struct S { threadgroup uint *__restrict s; uint sum(uint t) { uint a = *s; W if (t == 0) *s = a + 5; W uint b = *s; W return a * 1000 + b; } };",
        "threadgroup uint s[64]; s[t] = i; W S x = {s}; out[i] = x.sum(t);",
        |g, _| vec![g[0] as u32 * 1001 + 5; g.len()],
    ),
    (
        "",
        "threadgroup uint s[64]; threadgroup uint *__restrict q = s; q[t] = i; W uint a = *q; W if (t == 0) *q = a + 5; W uint b = *q; W out[i] = a * 1000 + b;",
        |g, _| vec![g[0] as u32 * 1001 + 5; g.len()],
    ),
];

#[test]
fn nothing_is_held_over_a_barrier_for_restrict() {
    let wait = "threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);";
    let parameters = PARAMETERS.replace("*out", "*__restrict out");
    let cases: Vec<_> = RESTRICTED
        .iter()
        .map(|&(declarations, body, reference)| (declarations.replace("W ", wait), body.replace("W ", wait), reference))
        .collect();
    let cases: Vec<_> =
        cases.iter().map(|(declarations, body, reference)| (&**declarations, &**body, *reference)).collect();
    check(&parameters, &cases);
    // The kernel's buffer bound at program scope.
    let (out, others) = PARAMETERS.split_once(", ").expect("parameters");
    let out = format!("{};", out.replace("*out", "*__restrict out"));
    let (_, body, reference) = cases[0];
    check(others, &[(&out, body, reference)]);
}

#[test]
fn nothing_is_held_over_a_barrier_in_a_dynamic_library() {
    let wait = "threadgroup_barrier(mem_flags::mem_threadgroup);";
    let head = "#include <metal_stdlib>\nusing namespace metal;\n";
    let options = CompileOptions { math_mode: MathMode::Safe, ..CompileOptions::default() };
    let library = format!(
        "{head}uint sum(threadgroup uint *__restrict s, uint t) {{ uint a = *s; {wait} if (t == 0) *s = a + 5; {wait} uint b = *s; {wait} return a * 1000 + b; }}\n"
    );
    let kernel = format!(
        "{head}uint sum(threadgroup uint *__restrict, uint);\n\
         kernel void run({PARAMETERS}) {{ {BEGIN} threadgroup uint s[64]; s[t] = i; {wait} out[i] = sum(s, t); }}\n"
    );
    let library = hostmetal::msl::check(&library, &options).expect("a source");
    let library = Arc::new(library.dynamic("library", Linking::default(), &[]).expect("a library"));
    let kernel = hostmetal::msl::check(&kernel, &options).expect("a source");
    let linked = Linked { preloaded: &[library], ..Linked::default() };
    for engine in ENGINES {
        let with = With { engine: Some(engine), linked, ..With::default() };
        let pipeline = pipeline(kernel.build_with("run", &[], &with).expect("a kernel"));
        let got = dispatch(&pipeline, ([128, 1, 1], [64, 1, 1]), 128);
        let expected: Vec<u32> = (0..128).map(|i| i / 64 * 64 * 1001 + 5).collect();
        assert_eq!(got, expected, "{engine:?}");
    }
}

#[test]
fn kernels_by_hand() {
    check(PARAMETERS, TAKEN);
}

/// Runs kernels that the pass takes on both engines, in all shapes.
fn check(parameters: &str, cases: &[(&str, &str, Reference)]) {
    let pass = has_pass();
    let mut wrong = String::new();
    for (declarations, body, reference) in cases {
        let source = format!("{declarations}\nkernel void run({parameters}) {{ {BEGIN}\n  {body}\n}}\n");
        for engine in ENGINES {
            let loaded = load(&source, MathMode::Safe, engine);
            if engine == Engine::Pass && pass && *loaded.built() != Built::Pass {
                writeln!(wrong, "{}: {declarations}\n  {body}", loaded.built()).expect("a string");
            }
            let pipeline = pipeline(loaded);
            for shape in SHAPES {
                let words = shape.0.iter().product::<u64>() as usize;
                let mut expected = vec![0; words];
                for (x, threads) in threadgroups(shape) {
                    for (&i, value) in threads.iter().zip(reference(&threads, x)) {
                        expected[i] = value;
                    }
                }
                if dispatch(&pipeline, shape, words) != expected {
                    writeln!(wrong, "{engine:?}, {shape:?}: {declarations}\n  {body}").expect("a string");
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The error of a kernel's dispatch over a buffer of 256 numbers, bound at 0 and 3.
fn error(body: &str, engine: Engine) -> (i64, String) {
    let source =
        format!("kernel void run({PARAMETERS}, const device uint *same [[buffer(3)]]) {{ {BEGIN}\n  {body}\n}}\n");
    let pipeline = pipeline(load(&source, MathMode::Safe, engine));
    let (out, p) = (Buffer::new(1024), Buffer::of(&CONSTANTS));
    let done = Queue::new().run(|encoder| {
        encoder.pipeline(&pipeline);
        encoder.buffer(&out, 0);
        encoder.buffer(&p, 1);
        encoder.bytes(&7u32, 2);
        encoder.buffer(&out, 3);
        encoder.threads([128, 1, 1], [64, 1, 1]);
    });
    assert_eq!(done.status(), crate::support::ERROR, "{body}");
    done.error().expect("an error")
}

#[test]
fn faults_are_told_by_both_engines() {
    for engine in ENGINES {
        let wait = "threadgroup_barrier(mem_flags::mem_device);";
        let (code, text) = error(&format!("{wait} if (i == 70) out[1u << 30] = 1; {wait} out[i] = t;"), engine);
        assert!(code == 3 && text.contains("kernel \"run\", threadgroup (1, 0, 0)"), "{engine:?}: {code} {text}");
        // By both threadgroups; either may be the first.
        let (code, text) =
            error(&format!("threadgroup uint s[64]; s[t + p[0] * 40000] = i; {wait} out[i] = s[t];"), engine);
        assert!(code == 3 && text.contains("kernel \"run\", threadgroup ("), "{engine:?}: {code} {text}");
        let (_, text) = error(&format!("uint d = p[0] - 3; {wait} out[i] = i / d; {wait}"), engine);
        assert!(text.contains("division by zero"), "{engine:?}: {text}");
    }
}

#[test]
fn threads_that_a_race_lets_disagree_end_the_kernel() {
    if !has_pass() {
        return;
    }
    // The address is the same for all threads, so the pass takes the value for the same; thread 40 changes it meanwhile. With an
    // atomic access the threads go one by one.
    let body = "atomic_fetch_add_explicit((device atomic_uint *)&out[250], 1u, memory_order_relaxed); if (t == 40) out[200] = 1; \
                uint v = same[200]; if (v != 0) { threadgroup_barrier(mem_flags::mem_device); out[i] = 1; }";
    let (_, text) = error(body, Engine::Pass);
    assert!(text.contains("came to different barriers") && text.contains("kernel \"run\""), "{text}");
}

/// Kernels that must not become loops, with a part of the reason.
const REFUSED: &[(&str, &str)] = &[
    ("if (t < 3) threadgroup_barrier(mem_flags::mem_none); out[i] = 1;", "cannot be proved"),
    ("if (t < n) return; threadgroup_barrier(mem_flags::mem_none); out[i] = 1;", "cannot be proved"),
    ("for (uint k = 0; k < t; k++) threadgroup_barrier(mem_flags::mem_none); out[i] = 1;", "cannot be proved"),
    ("if (out[i] == 0) threadgroup_barrier(mem_flags::mem_none); out[i] = 1;", "cannot be proved"),
    // Not the same for all though the address is: private memory, and a value that an atomic gives.
    (
        "uint a[9]; for (uint k = 0; k < 9; k++) a[k] = i + k; if (a[p[0]] > 40) threadgroup_barrier(mem_flags::mem_none); out[i] = a[p[1]];",
        "cannot be proved",
    ),
    (
        "device atomic_uint *c = (device atomic_uint *)out; if (atomic_fetch_add_explicit(c, 1u, memory_order_relaxed) > 4) threadgroup_barrier(mem_flags::mem_none);",
        "cannot be proved",
    ),
    // The same within an iteration, but threads leave in different ones.
    (
        "uint k = 0; while (true) { k++; if (k * 3 > t) break; } if (k > 2) threadgroup_barrier(mem_flags::mem_none); out[i] = k;",
        "cannot be proved",
    ),
    // More than a worker's stack may hold.
    (
        "uint a[2000]; for (uint k = 0; k < 2000; k++) a[k] = i * k; threadgroup_barrier(mem_flags::mem_none); out[i] = a[p[3] + t];",
        "keeps",
    ),
];

#[test]
fn what_cannot_be_proved_is_refused() {
    if !has_pass() {
        return;
    }
    for (body, reason) in REFUSED {
        let source = format!("kernel void run({PARAMETERS}) {{ {BEGIN}\n  {body}\n}}\n");
        match load(&source, MathMode::Safe, Engine::Pass).built() {
            Built::Stack(why) => assert!(why.contains(reason), "{why}: {body}"),
            other => panic!("{other}: {body}"),
        }
        // What was asked for is told as such.
        assert_eq!(*load(&source, MathMode::Safe, Engine::Stack).built(), Built::Stack("it was asked for".to_owned()));
    }
}

/// Each waits for the sum of the one before it, as a scan in one pass does.
#[test]
fn threadgroups_may_wait_for_those_before_them() {
    const GROUPS: u64 = 3000;
    let source = "kernel void run(device atomic_uint *sums [[buffer(0)]], device uint *out [[buffer(1)]],\n\
                      uint g [[threadgroup_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {\n\
                  threadgroup uint before;\n\
                  if (t == 0) {\n\
                      uint sum = 0;\n\
                      if (g > 0) while ((sum = atomic_load_explicit(&sums[g - 1], memory_order_relaxed)) == 0) {}\n\
                      atomic_store_explicit(&sums[g], sum + g + 1, memory_order_relaxed);\n\
                      before = sum;\n\
                  }\n\
                  threadgroup_barrier(mem_flags::mem_threadgroup);\n\
                  out[g * 32 + t] = before + t; }\n";
    for engine in ENGINES {
        let (sums, out) = (Buffer::new(GROUPS * 4), Buffer::new(GROUPS * 32 * 4));
        run(&pipeline(load(source, MathMode::Safe, engine)), &[&sums, &out], GROUPS as usize * 32, 32);
        let out = out.read::<u32>();
        for (i, &got) in out.iter().enumerate() {
            let (g, t) = (i as u32 / 32, i as u32 % 32);
            assert_eq!(got, g * (g + 1) / 2 + t, "{engine:?}, threadgroup {g}, thread {t}");
        }
    }
}
