//! Operations of tiles and threadgroups by dcmetal's prelude (`COOPERATIVE`) against the same written with MSL's own functions: the same values, threads and
//! threadgroups in turns, on the device's clock. Every output is verified, of both, before a figure is printed.
//!
//! `cargo bench -p dcmetal-benches --bench cooperative [-- [--short] [PART OF A NAME]...]`

use std::time::Duration;

use dcmetal::{Accelerator, Buffer, COOPERATIVE, Error, Grid, Kernel, args};
use dcmetal_benches::{is_chosen, is_short};
use dcmetal_validate::measure::alternated;
use dcmetal_validate::problems::Random;

const THREADS: usize = 1 << 20;
const THREADGROUP: usize = 256;

/// The same of `x`, a thread's number, in two ways: statements that end in `r`, what the thread writes.
struct Case {
    name: &'static str,
    prelude: &'static str,
    by_hand: &'static str,
    /// Of the values of so many threads, what each of them writes.
    group: usize,
    expected: fn(&[u32]) -> Vec<u32>,
}

const CASES: &[Case] = &[
    Case {
        name: "sum of 8 threads",
        prelude: "uint r = tile<8>(lane).sum(x);",
        by_hand: "uint r = x; r += simd_shuffle_xor(r, 4); r += simd_shuffle_xor(r, 2); r += simd_shuffle_xor(r, 1);",
        group: 8,
        expected: sums,
    },
    Case {
        name: "sum of a SIMD-group",
        prelude: "uint r = tile<32>(lane).sum(x);",
        by_hand: "uint r = simd_sum(x);",
        group: 32,
        expected: sums,
    },
    Case {
        name: "scan of a SIMD-group",
        prelude: "uint r = tile<32>(lane).inclusive_scan<add>(x);",
        by_hand: "uint r = simd_prefix_inclusive_sum(x);",
        group: 32,
        expected: scanned,
    },
    Case {
        name: "ballot of a SIMD-group",
        prelude: "uint r = tile<32>(lane).ballot(x & 1);",
        by_hand: "uint r = uint(static_cast<simd_vote::vote_t>(simd_ballot(x & 1)));",
        group: 32,
        expected: ballots,
    },
    Case {
        name: "sum of a threadgroup",
        prelude: "uint r = group(lane, simdgroup, simdgroups).sum(x, parts);",
        by_hand: "uint own = simd_sum(x);
            if (lane == 0) parts[simdgroup] = own;
            threadgroup_barrier(mem_flags::mem_threadgroup);
            uint r = simd_sum(lane < simdgroups ? parts[lane] : 0u);",
        group: THREADGROUP,
        expected: sums,
    },
    Case {
        name: "scan of a threadgroup",
        prelude: "uint r = group(lane, simdgroup, simdgroups).inclusive_scan<add>(x, parts);",
        by_hand: "uint own = simd_prefix_inclusive_sum(x);
            if (lane == 31) parts[simdgroup] = own;
            threadgroup_barrier(mem_flags::mem_threadgroup);
            uint before = simd_prefix_exclusive_sum(lane < simdgroups ? parts[lane] : 0u);
            uint r = own + simd_shuffle(before, ushort(simdgroup));",
        group: THREADGROUP,
        expected: scanned,
    },
    Case {
        name: "broadcast in 8 threads",
        prelude: "uint r = tile<8>(lane).broadcast(x, 5);",
        by_hand: "uint r = simd_shuffle(x, ushort((lane & ~7u) | 5));",
        group: 8,
        expected: |x| vec![x[5]; x.len()],
    },
    Case {
        name: "exclusive scan of a SIMD-group",
        prelude: "uint r = tile<32>(lane).exclusive_scan<add>(x, 0u);",
        by_hand: "uint r = simd_prefix_exclusive_sum(x);",
        group: 32,
        expected: |x| {
            let own = scanned(x);
            own.iter().zip(x).map(|(sum, x)| sum.wrapping_sub(*x)).collect()
        },
    },
    // Of floats the prelude fixes the order, which MSL's own functions do not: shuffles. These are whole numbers whose sums are exact in any order.
    Case {
        name: "sum of a SIMD-group, floats",
        prelude: "uint r = uint(tile<32>(lane).sum(float(x & 0xFFFF)));",
        by_hand: "uint r = uint(simd_sum(float(x & 0xFFFF)));",
        group: 32,
        expected: |x| sums(&low(x)),
    },
    Case {
        name: "scan of a SIMD-group, floats",
        prelude: "uint r = uint(tile<32>(lane).inclusive_scan<add>(float(x & 0xFFFF)));",
        by_hand: "uint r = uint(simd_prefix_inclusive_sum(float(x & 0xFFFF)));",
        group: 32,
        expected: |x| scanned(&low(x)),
    },
    Case {
        name: "sum of a threadgroup, floats",
        prelude: "threadgroup float own_parts[32];
            uint r = uint(group(lane, simdgroup, simdgroups).sum(float(x & 0xFFFF), own_parts));",
        by_hand: "threadgroup float own_parts[32];
            float own = simd_sum(float(x & 0xFFFF));
            if (lane == 0) own_parts[simdgroup] = own;
            threadgroup_barrier(mem_flags::mem_threadgroup);
            uint r = uint(simd_sum(lane < simdgroups ? own_parts[lane] : 0.0f));",
        group: THREADGROUP,
        expected: |x| sums(&low(x)),
    },
];

fn low(x: &[u32]) -> Vec<u32> {
    x.iter().map(|x| x & 0xFFFF).collect()
}

fn sums(x: &[u32]) -> Vec<u32> {
    vec![x.iter().fold(0, |sum, x| sum.wrapping_add(*x)); x.len()]
}

fn scanned(x: &[u32]) -> Vec<u32> {
    let add = |sum: &mut u32, x: &u32| {
        *sum = sum.wrapping_add(*x);
        Some(*sum)
    };
    x.iter().scan(0, add).collect()
}

fn ballots(x: &[u32]) -> Vec<u32> {
    vec![x.iter().rev().fold(0, |bits, x| bits << 1 | x & 1); x.len()]
}

fn kernel(gpu: &Accelerator, prelude: &str, statements: &str) -> Result<Kernel, Error> {
    let source = format!(
        "{prelude}
        kernel void k(device const uint *xs [[buffer(0)]], device uint *y [[buffer(1)]], uint i [[thread_position_in_grid]],
                      uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]],
                      uint simdgroups [[simdgroups_per_threadgroup]]) {{
            threadgroup uint parts[32];
            uint x = xs[i];
            {statements}
            y[i] = r;
        }}"
    );
    gpu.compile_msl(&source)?.kernel("k")
}

fn launch(kernel: &Kernel, x: &Buffer<u32>, y: &mut Buffer<u32>) -> Result<Duration, Error> {
    let submission = kernel.launch(Grid::linear(THREADS).threadgroup(THREADGROUP), args![x, y])?;
    submission.wait()?;
    submission.gpu_time()
}

fn measure(gpu: &Accelerator, case: &Case, random: &mut Random, rounds: usize) -> Result<(), Error> {
    let with_names = format!("{COOPERATIVE}\nusing namespace metal;\nusing namespace dcmetal;");
    let prelude = kernel(gpu, &with_names, case.prelude)?;
    let by_hand = kernel(gpu, "#include <metal_stdlib>\nusing namespace metal;", case.by_hand)?;
    let inputs = random.words(THREADS);
    let x = gpu.buffer_from(&inputs)?;
    let mut y = gpu.buffer_zeroed::<u32>(THREADS)?;
    let expected: Vec<u32> = inputs.chunks(case.group).flat_map(case.expected).collect();
    for kernel in [&prelude, &by_hand] {
        y.write_from(&vec![0xA5A5_A5A5; THREADS])?;
        launch(kernel, &x, &mut y)?;
        assert!(y.to_vec()? == expected, "{}", case.name);
    }
    let y = std::cell::RefCell::new(y);
    let run = |kernel| launch(kernel, &x, &mut y.borrow_mut());
    let ratio = alternated(rounds, || run(&prelude), || run(&by_hand))?;
    println!("{}: {ratio}", case.name);
    Ok(())
}

fn main() {
    let gpu = Accelerator::system_default().expect("a Metal device");
    let mut random = Random(7);
    for case in CASES.iter().filter(|case| is_chosen(case.name)) {
        let rounds = if is_short() { 1 } else { 41 };
        measure(&gpu, case, &mut random, rounds).unwrap_or_else(|error| panic!("{}: {error}", case.name));
    }
}
