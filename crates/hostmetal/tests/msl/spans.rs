//! Kernels whose threadgroups may run several in one call (native/hostmetal/pass/spans.cpp): which they are, that every thread then runs once
//! with its own position, and that a fault is still told with its threadgroup.

use crate::stdlib::*;
use crate::support::{Buffer, ERROR, Queue};
use hostmetal::executor::Span;
use hostmetal::msl::{Engine, MathMode};

/// The parameters of a kernel besides `device float *o`, its body, and what a call of it may be for.
const KERNELS: &[(&str, &str, Span)] = &[
    ("device float *a, uint i [[thread_position_in_grid]]", "o[i] = a[i] + 1;", Span::Rows),
    ("constant float &k, ushort i [[thread_position_in_grid]]", "o[i] = k;", Span::Rows),
    ("device float4 *a, uint i [[thread_position_in_grid]]", "a[i] = a[i].wzyx; o[i] = exp(a[i].x);", Span::Rows),
    ("device uchar4 *a, uint i [[thread_position_in_grid]]", "o[i] = a[i].x + a[i].w;", Span::Rows),
    (
        "uint2 at [[thread_position_in_grid]], uint2 n [[threads_per_grid]]",
        "uint i = at.y * n.x + at.x; if (at.x > 0 && at.x < n.x - 1) o[i] = o[i] * 2; else o[i] = 0;",
        Span::Rows,
    ),
    (
        "uint3 at [[thread_position_in_grid]], uint3 n [[threads_per_grid]]",
        "o[(at.z * n.y + at.y) * n.x + at.x] = at.z;",
        Span::Rows,
    ),
    ("uint i [[thread_position_in_grid]]", "for (uint k = 0; k < 4; k++) o[4 * i + k] = k;", Span::Rows),
    // Inputs that are the same in all threadgroups.
    (
        "uint i [[thread_position_in_grid]], uint a [[dispatch_threads_per_threadgroup]], uint b [[threadgroups_per_grid]], \
         uint c [[threads_per_simdgroup]], uint d [[dispatch_simdgroups_per_threadgroup]], uint e [[thread_execution_width]], \
         uint f [[dispatch_quadgroups_per_threadgroup]]",
        "o[i] = a + b + c + d + e + f;",
        Span::Rows,
    ),
    // What is far from a neighbour's.
    ("device int *at, uint i [[thread_position_in_grid]]", "o[at[i]] = 1;", Span::Line),
    ("uint2 at [[thread_position_in_grid]], uint2 n [[threads_per_grid]]", "o[at.x * n.y + at.y] = 1;", Span::Line),
    ("uint i [[thread_position_in_grid]]", "o[17 * i] = 1;", Span::Line),
    (
        "constant int &n, uint i [[thread_position_in_grid]]",
        "for (int k = 0; k < n + int(i & 7); k++) o[8 * i + k % 8] += k;",
        Span::Line,
    ),
    (
        "device float *a, uint i [[thread_position_in_grid]]",
        "float v[8]; for (int k = 0; k < 8; k++) v[k] = a[k]; o[i] = v[int(a[i]) & 7];",
        Span::Line,
    ),
    // What shows in which threadgroup a thread is.
    ("uint i [[thread_position_in_threadgroup]]", "o[i] = 1;", Span::Threadgroup),
    ("uint i [[threadgroup_position_in_grid]]", "o[i] = 1;", Span::Threadgroup),
    ("uint i [[thread_position_in_grid]], uint n [[threads_per_threadgroup]]", "o[i] = n;", Span::Threadgroup),
    ("uint i [[thread_position_in_grid]], uint n [[thread_index_in_threadgroup]]", "o[i] = n;", Span::Threadgroup),
    ("uint i [[thread_position_in_grid]], uint n [[thread_index_in_simdgroup]]", "o[i] = n;", Span::Threadgroup),
    ("uint i [[thread_position_in_grid]], uint n [[thread_index_in_quadgroup]]", "o[i] = n;", Span::Threadgroup),
    ("uint i [[thread_position_in_grid]], uint n [[simdgroup_index_in_threadgroup]]", "o[i] = n;", Span::Threadgroup),
    ("uint i [[thread_position_in_grid]], uint n [[quadgroup_index_in_threadgroup]]", "o[i] = n;", Span::Threadgroup),
    ("uint i [[thread_position_in_grid]], uint n [[simdgroups_per_threadgroup]]", "o[i] = n;", Span::Threadgroup),
    ("uint i [[thread_position_in_grid]], uint n [[quadgroups_per_threadgroup]]", "o[i] = n;", Span::Threadgroup),
    (
        "threadgroup float *s [[threadgroup(0)]], uint i [[thread_position_in_grid]]",
        "s[i % 4] = o[i]; o[i] = s[i % 4] * 2;",
        Span::Threadgroup,
    ),
    (
        "uint i [[thread_position_in_grid]]",
        "threadgroup float s[4]; s[i % 4] = o[i]; o[i] = s[i % 4];",
        Span::Threadgroup,
    ),
    // What may depend on when threads run.
    (
        "device atomic_int *a, uint i [[thread_position_in_grid]]",
        "o[i] = atomic_fetch_add_explicit(a, 1, memory_order_relaxed);",
        Span::Threadgroup,
    ),
    (
        "device atomic_int *a, uint i [[thread_position_in_grid]]",
        "o[i] = atomic_load_explicit(a + i, memory_order_relaxed);",
        Span::Threadgroup,
    ),
    ("volatile device float *a, uint i [[thread_position_in_grid]]", "o[i] = a[i];", Span::Threadgroup),
];

#[test]
fn kernels_say_what_a_call_may_be_for() {
    let looked_at = has_pass();
    for (parameters, body, span) in KERNELS {
        let text = format!("kernel void run(device float *o, {parameters}) {{ {body} }}");
        let found = load(&text, MathMode::Fast, Engine::Pass).span();
        assert_eq!(found, if looked_at { *span } else { Span::Threadgroup }, "{text}");
    }
}

/// One row of threads, rows, and rows whose memory is far apart.
const POSITIONS: [&str; 3] = [
    "kernel void run(device uint *o, uint i [[thread_position_in_grid]]) { o[i] = o[i] * 3 + i; }",
    "kernel void run(device uint *o, uint3 at [[thread_position_in_grid]], uint3 n [[threads_per_grid]]) {
       uint i = (at.z * n.y + at.y) * n.x + at.x; o[i] = o[i] * 3 + i; }",
    "kernel void run(device uint *o, uint3 at [[thread_position_in_grid]], uint3 n [[threads_per_grid]]) {
       uint i = (at.x * n.y + at.y) * n.z + at.z; o[i] = o[i] * 3 + i; }",
];

#[test]
fn every_thread_runs_once() {
    // Threads of the grid and of a threadgroup; the first kernel only where there is one row.
    let cases = [
        ([1, 1, 1], [1, 1, 1]),
        ([100_003, 1, 1], [256, 1, 1]),
        ([100_003, 1, 1], [7, 1, 1]),
        ([5000, 1, 1], [1, 1, 1]),
        ([1030, 37, 1], [16, 16, 1]),
        ([999, 10, 7], [8, 4, 4]),
        ([3, 2000, 1], [2, 3, 1]),
        ([1000, 3, 9], [256, 1, 1]),
    ];
    let queue = Queue::new();
    for (number, text) in POSITIONS.iter().enumerate() {
        let pipeline = compile(text, MathMode::Fast);
        for (grid, size) in cases {
            if number == 0 && grid[1..] != [1, 1] {
                continue;
            }
            let count = grid.iter().product::<u64>() as u32;
            let values = Buffer::of(&(0..count).map(|i| i ^ 0x5555).collect::<Vec<u32>>());
            // The first time on all workers, then by what it took.
            for _ in 0..2 {
                let done = queue.run(|encoder| {
                    encoder.pipeline(&pipeline);
                    encoder.buffer(&values, 0);
                    encoder.threads(grid, size);
                });
                done.assert_completed();
            }
            let found = values.read::<u32>();
            for (i, &value) in (0..count).zip(&found) {
                let expected = (i ^ 0x5555).wrapping_mul(9).wrapping_add(i.wrapping_mul(4));
                assert_eq!(value, expected, "{text} of {grid:?} in {size:?}: element {i}");
            }
        }
    }
}

#[test]
fn a_fault_is_told_with_its_threadgroup() {
    // A kernel whose thread `who` goes astray; the grid, the threadgroup, `who`, and the threadgroup that is told. Vectors hold threads of
    // several threadgroups where these are small.
    let one = "kernel void run(device float *o, constant uint2 &who, uint i [[thread_position_in_grid]]) {
                 o[i == who.x ? i + 1000000 : i] = i; }";
    let two = "kernel void run(device float *o, constant uint2 &who, uint2 at [[thread_position_in_grid]], uint2 n [[threads_per_grid]]) {
                 uint i = at.y * n.x + at.x; o[i] = 1; if (at.x == who.x && at.y == who.y) o[i + 1000000] = 2; }";
    let divides = "kernel void run(device int *o, constant uint2 &who, uint i [[thread_position_in_grid]]) {
                     o[i] = 100 / int(i - who.x); }";
    let cases = [
        (one, [100_000, 1, 1], [256, 1, 1], [70_000, 0], [273, 0, 0]),
        (one, [100_000, 1, 1], [3, 1, 1], [5, 0], [1, 0, 0]),
        (one, [100_000, 1, 1], [3, 1, 1], [99_999, 0], [33_333, 0, 0]),
        (two, [1000, 100, 1], [16, 16, 1], [999, 99], [62, 6, 0]),
        (two, [1000, 100, 1], [8, 8, 1], [500, 0], [62, 0, 0]),
        (divides, [100_000, 1, 1], [100, 1, 1], [54_321, 0], [543, 0, 0]),
    ];
    let queue = Queue::new();
    for (text, grid, size, who, place) in cases {
        let pipeline = compile(text, MathMode::Fast);
        let (values, who) = (Buffer::new(102_400 * 4), Buffer::of(&who.map(|at: u32| at)));
        let done = queue.run(|encoder| {
            encoder.pipeline(&pipeline);
            encoder.buffer(&values, 0);
            encoder.buffer(&who, 1);
            encoder.threads(grid, size);
        });
        assert_eq!(done.status(), ERROR, "{text}");
        let (_, told) = done.error().expect("an error");
        let [x, y, z]: [u32; 3] = place;
        assert!(told.contains(&format!("kernel \"run\", threadgroup ({x}, {y}, {z})")), "{told}: {text}");
    }
}

#[test]
fn an_overrun_is_told_with_the_threadgroup_that_it_began_in() {
    // Every thread from one on is behind the buffer, which ends with a page. Of the threadgroups of these, any may be the first, but the
    // address that is told is the first behind the buffer that the threadgroup that is told comes to.
    let text =
        "kernel void run(device float *o, constant uint &by, uint i [[thread_position_in_grid]]) { o[i + by] = i; }";
    let length = 102_400;
    let queue = Queue::new();
    let pipeline = compile(text, MathMode::Fast);
    for (size, first) in [(32, 99_000), (5, 77_777), (1024, 1), (7, 99_999)] {
        let values = Buffer::new(u64::from(length) * 4);
        let done = queue.run(|encoder| {
            encoder.pipeline(&pipeline);
            encoder.buffer(&values, 0);
            encoder.bytes(&(length - first), 1);
            encoder.threads([100_000, 1, 1], [size, 1, 1]);
        });
        assert_eq!(done.status(), ERROR);
        let (_, told) = done.error().expect("an error");
        let number = |before: &str| -> u32 {
            let (_, rest) = told.split_once(before).unwrap_or_else(|| panic!("{before} is not in: {told}"));
            let end = rest.find(|c: char| !c.is_ascii_digit()).expect("more words");
            rest[..end].parse().expect("a number")
        };
        let begin = number("kernel \"run\", threadgroup (") * size as u32;
        assert!(begin + size as u32 > first, "{told}: {first}");
        assert_eq!(number(", "), begin.saturating_sub(first) * 4, "{told}: {first}");
    }
}
