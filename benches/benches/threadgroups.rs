//! Threadgroups that launches choose by a kernel's analysis, against those of Apple's advice alone, whole as OpenCL C 1.2 has them: the
//! same kernel over the same grid in turns, on the device's clock. Every output is verified, of both sizes, before a figure is printed.
//!
//! `cargo bench -p dcmetal-benches --bench threadgroups [-- [--short] [PART OF A NAME]...]`

use std::time::Duration;

use dcmetal::{Accelerator, Buffer, Error, Grid, Kernel, Size, args};
use dcmetal_benches::{is_chosen, is_short};
use dcmetal_validate::measure::alternated;
use dcmetal_validate::problems::Random;

/// A kernel `k` of what it reads, what it writes and a number.
struct Case {
    name: &'static str,
    source: &'static str,
    grid: [u32; 3],
    number: u32,
    inputs: usize,
    outputs: usize,
    /// What the outputs are before: those that are written all the same are poisoned.
    start: u32,
    expected: fn(&Case, &[u32]) -> Vec<u32>,
}

const SCALED: &str = "kernel void k(global const uint* x, global uint* y, uint n) {
    size_t i = get_global_id(0);
    y[i] = x[i] * n + (uint)i; }";
const COUNTED: &str = "kernel void k(global const uint* x, global uint* y, uint n) {
    atomic_inc(&y[x[get_global_id(0)] % n]); }";
const ROUNDS: &str = "kernel void k(global const uint* x, global uint* y, uint n) {
    uint v = x[get_global_id(0)];
    for (uint k = 0; k < n; k++) v = v * 1664525u + 1013904223u;
    y[get_global_id(0)] = v; }";
const BLUR: &str = "kernel void k(global const uint* x, global uint* y, uint n) {
    int i = get_global_id(0), j = get_global_id(1), w = get_global_size(0), h = get_global_size(1);
    uint sum = 0;
    for (int b = -2; b <= 2; b++)
        for (int a = -2; a <= 2; a++)
            sum += x[clamp(j + b, 0, h - 1) * w + clamp(i + a, 0, w - 1)];
    y[j * w + i] = sum * n; }";
const ROWS: &str = "kernel void k(global const uint* x, global uint* y, uint n) {
    uint sum = 0;
    for (uint j = 0; j < n; j++) sum += x[get_global_id(0) * n + j];
    y[get_global_id(0)] = sum; }";
const PRODUCT: &str = "kernel void k(global const uint* x, global uint* y, uint n) {
    uint sum = 0;
    for (uint j = 0; j < n; j++) sum += x[get_global_id(1) * n + j] * x[j * n + get_global_id(0)];
    y[get_global_id(1) * n + get_global_id(0)] = sum; }";
const IN_ROWS: &str = "kernel void k(global const uint* x, global uint* y, uint n) {
    size_t at = get_global_id(1) * get_global_size(0) + get_global_id(0);
    uint v = x[at];
    for (uint k = 0; k < n; k++) v = v * 1664525u + 1013904223u;
    y[at] = v; }";
const IN_COLUMNS: &str = "kernel void k(global const uint* x, global uint* y, uint n) {
    size_t at = get_global_id(0) * get_global_size(1) + get_global_id(1);
    y[at] = x[at] * n + (uint)at; }";
const TURNED: &str = "kernel void k(global const uint* x, global uint* y, uint n) {
    y[get_global_id(0) * get_global_size(1) + get_global_id(1)] =
        x[get_global_id(1) * get_global_size(0) + get_global_id(0)] * n; }";
const COLLATZ: &str = "kernel void k(global const uint* x, global uint* y, uint n) {
    ulong v = x[get_global_id(0)] % n + 1;
    uint steps = 0;
    while (v != 1) { v = v % 2 == 0 ? v / 2 : 3 * v + 1; steps++; }
    y[get_global_id(0)] = steps; }";

fn scaled(case: &Case, x: &[u32]) -> Vec<u32> {
    (0..).zip(x).map(|(i, x)| x.wrapping_mul(case.number).wrapping_add(i)).collect()
}

fn counted(case: &Case, x: &[u32]) -> Vec<u32> {
    let mut counts = vec![0; case.outputs];
    x.iter().for_each(|x| counts[(x % case.number) as usize] += 1);
    counts
}

fn rounds(case: &Case, x: &[u32]) -> Vec<u32> {
    let round = |v: u32, _| v.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    x.iter().map(|x| (0..case.number).fold(*x, round)).collect()
}

fn blur(case: &Case, x: &[u32]) -> Vec<u32> {
    let [w, h, _] = case.grid.map(i64::from);
    let at = |i: i64, j: i64| x[(j.clamp(0, h - 1) * w + i.clamp(0, w - 1)) as usize];
    let sum = |i, j| (0..25).fold(0u32, |sum, place: i64| sum.wrapping_add(at(i + place % 5 - 2, j + place / 5 - 2)));
    (0..w * h).map(|place| sum(place % w, place / w).wrapping_mul(case.number)).collect()
}

fn rows(case: &Case, x: &[u32]) -> Vec<u32> {
    x.chunks(case.number as usize).map(|row| row.iter().fold(0, |sum: u32, x| sum.wrapping_add(*x))).collect()
}

fn product(case: &Case, x: &[u32]) -> Vec<u32> {
    let n = case.number as usize;
    let one = |place: usize| {
        (0..n).fold(0u32, |sum, j| sum.wrapping_add(x[place / n * n + j].wrapping_mul(x[j * n + place % n])))
    };
    (0..n * n).map(one).collect()
}

fn turned(case: &Case, x: &[u32]) -> Vec<u32> {
    let [w, h, _] = case.grid.map(|side| side as usize);
    (0..w * h).map(|at| x[at % h * w + at / h].wrapping_mul(case.number)).collect()
}

fn collatz(case: &Case, x: &[u32]) -> Vec<u32> {
    let steps = |x: &u32| {
        let from = u64::from(x % case.number + 1);
        std::iter::successors(Some(from), |v| (*v != 1).then(|| if v % 2 == 0 { v / 2 } else { 3 * v + 1 })).count()
    };
    x.iter().map(|x| steps(x) as u32 - 1).collect()
}

const fn case(
    name: &'static str,
    source: &'static str,
    grid: [u32; 3],
    number: u32,
    expected: fn(&Case, &[u32]) -> Vec<u32>,
) -> Case {
    let all = grid[0] as usize * grid[1] as usize;
    Case { name, source, grid, number, inputs: all, outputs: all, start: 0xA5A5_A5A5, expected }
}

const CASES: &[Case] = &[
    // No good size divides these.
    case("scaled, a prime number", SCALED, [1_000_003, 1, 1], 5, scaled),
    Case {
        outputs: 64,
        start: 0,
        ..case("counted by atomics, a prime number", COUNTED, [1_000_003, 1, 1], 64, counted)
    },
    case("rounds, a prime number", ROUNDS, [100_003, 1, 1], 100, rounds),
    case("5 x 5 neighbours, 1366 x 768", BLUR, [1366, 768, 1], 3, blur),
    case("5 x 5 neighbours, 1280 x 720", BLUR, [1280, 720, 1], 3, blur),
    // Few threads with much work.
    case("10000 rounds, 1000 threads", ROUNDS, [1000, 1, 1], 10_000, rounds),
    case("1000 rounds, 2048 threads", ROUNDS, [2048, 1, 1], 1000, rounds),
    Case { inputs: 1024 * 1024, ..case("sums of rows, 1024 x 1024", ROWS, [1024, 1, 1], 1024, rows) },
    case("product of matrices, 32 x 32", PRODUCT, [32, 32, 1], 32, product),
    case("product of matrices, 128 x 128", PRODUCT, [128, 128, 1], 128, product),
    case("steps of Collatz, 4096 threads", COLLATZ, [4096, 1, 1], 1_000_000, collatz),
    // Memory in rows, in columns, and both: threadgroups lie as it does.
    case("20 rounds in rows, 2048 x 2048", IN_ROWS, [2048, 2048, 1], 20, rounds),
    case("20 rounds in rows, 1366 x 768", IN_ROWS, [1366, 768, 1], 20, rounds),
    case("copied in rows, 2048 x 2048", IN_ROWS, [2048, 2048, 1], 0, rounds),
    case("copied in columns, 2048 x 2048", IN_COLUMNS, [2048, 2048, 1], 5, scaled),
    case("copied in columns, 1366 x 768", IN_COLUMNS, [1366, 768, 1], 5, scaled),
    case("transposed, 2048 x 2048", TURNED, [2048, 2048, 1], 3, turned),
    case("transposed, 1366 x 768", TURNED, [1366, 768, 1], 3, turned),
    // What is taken for much and is not.
    case("4 rounds, 4096 threads", ROUNDS, [4096, 1, 1], 4, rounds),
    case("4 rounds, 32768 threads", ROUNDS, [32_768, 1, 1], 4, rounds),
    case("no rounds, 1000 threads", ROUNDS, [1000, 1, 1], 0, rounds),
];

/// Apple's advice in whole threadgroups.
fn before(kernel: &Kernel, [x, y, _]: [u32; 3]) -> Size {
    let divisor = |n: u64, room: u64| (1..=n.min(room)).rev().find(|side| n.is_multiple_of(*side)).unwrap_or(1);
    let (x, y, most) = (u64::from(x), u64::from(y), kernel.max_threads_per_threadgroup());
    if y == 1 {
        return divisor(x, most).into();
    }
    let side = divisor(x, kernel.execution_width());
    (side, divisor(y, most / side)).into()
}

/// So many launches with these threadgroups, or those that they choose.
fn launches(
    kernel: &Kernel,
    case: &Case,
    size: Option<Size>,
    (x, y): (&Buffer<u32>, &mut Buffer<u32>),
    count: u32,
) -> Result<Duration, Error> {
    let grid = Grid::threads(case.grid);
    let grid = size.map_or(grid, |size| grid.threadgroup(size));
    let mut time = Duration::ZERO;
    for _ in 0..count {
        let submission = kernel.launch(grid, args![x, &mut *y, case.number])?;
        submission.wait()?;
        time += submission.gpu_time()?;
    }
    Ok(time / count)
}

fn measure(gpu: &Accelerator, case: &Case, random: &mut Random, rounds: usize) -> Result<(), Error> {
    let kernel = gpu.compile_opencl(case.source)?.kernel("k")?;
    let inputs = random.words(case.inputs);
    let x = gpu.buffer_from(&inputs)?;
    let mut y = gpu.buffer_zeroed::<u32>(case.outputs)?;
    let expected = (case.expected)(case, &inputs);
    let old = before(&kernel, case.grid);
    let chosen = kernel.threadgroup_for(&Grid::threads(case.grid))?;
    for size in [None, Some(old)] {
        y.write_from(&vec![case.start; case.outputs])?;
        launches(&kernel, case, size, (&x, &mut y), 1)?;
        assert!(y.to_vec()? == expected, "{}, threadgroups of {}", case.name, size.unwrap_or(chosen));
    }
    let y = std::cell::RefCell::new(y);
    let run = |size, count| launches(&kernel, case, size, (&x, &mut y.borrow_mut()), count);
    let one = run(Some(old), 1)?.max(Duration::from_nanos(1));
    let calls = (Duration::from_millis(5).as_nanos() / one.as_nanos()).clamp(1, 100) as u32;
    let ratio = alternated(rounds, || run(None, calls), || run(Some(old), calls))?;
    println!("{}: {chosen} instead of {old}: {ratio}", case.name);
    Ok(())
}

fn main() {
    let gpu = Accelerator::system_default().expect("a Metal device");
    let mut random = Random(7);
    for case in CASES.iter().filter(|case| is_chosen(case.name)) {
        let rounds = if is_short() { 1 } else { 21 };
        measure(&gpu, case, &mut random, rounds).unwrap_or_else(|error| panic!("{}: {error}", case.name));
    }
}
