//! Atomic functions (MSL 6.15.4) of every type in every memory: sequences whose results depend on every step, and many threads on one cell.

use std::collections::BTreeSet;

use hostmetal::msl::MathMode;

use crate::number::{Kind, Scalar, scalar};
use crate::stdlib::{compile, run};
use crate::support::Buffer;
use crate::uses::{bytes, numbers};

/// What a cell holds before, the operand, and what it holds then, as numbers of the type.
type Step = fn(Scalar, i128, i128) -> i128;

/// Functions that give the old value and store another.
const MODIFY: &[(&str, &str, Step)] = &[
    ("atomic_exchange_explicit", "int, uint, bool, float", |_, _, x| x),
    ("atomic_fetch_add_explicit", "int, uint, float", |t, old, x| t.wrapped(old + x)),
    ("atomic_fetch_sub_explicit", "int, uint, float", |t, old, x| t.wrapped(old - x)),
    ("atomic_fetch_and_explicit", "int, uint", |_, old, x| old & x),
    ("atomic_fetch_or_explicit", "int, uint", |_, old, x| old | x),
    ("atomic_fetch_xor_explicit", "int, uint", |_, old, x| old ^ x),
    ("atomic_fetch_max_explicit", "int, uint", |_, old, x| old.max(x)),
    ("atomic_fetch_min_explicit", "int, uint", |_, old, x| old.min(x)),
];
/// Of 64 bits, without a result (6.15.4.6).
const LONG: &[(&str, Step)] =
    &[("atomic_max_explicit", |_, old, x| old.max(x)), ("atomic_min_explicit", |_, old, x| old.min(x))];
const PLAIN: &[&str] = &["atomic_load_explicit", "atomic_store_explicit", "atomic_compare_exchange_weak_explicit"];

impl Scalar {
    fn wrapped(self, x: i128) -> i128 {
        if self.kind == Kind::Float { x } else { self.wrap(x) }
    }

    fn bits_of(self, x: i128) -> u64 {
        if self.kind == Kind::Float { self.nearest(x as f64) } else { self.unsigned(x) as u64 }
    }
}

/// atomic_float and atomic_ulong are in device memory only.
fn memories(t: Scalar) -> &'static [&'static str] {
    if ["float", "ulong"].contains(&t.name) { &["device"] } else { &["device", "threadgroup"] }
}

const TYPES: [&str; 4] = ["int", "uint", "bool", "float"];

pub(crate) fn covered() -> BTreeSet<(String, String)> {
    let mut all = BTreeSet::new();
    for t in TYPES.map(scalar) {
        for memory in memories(t) {
            let operand = format!("{memory} {}", t.name);
            let modify = MODIFY.iter().filter(|row| row.1.split(", ").any(|name| name == t.name)).map(|row| row.0);
            all.extend(modify.chain(PLAIN.iter().copied()).map(|name| (name.to_owned(), operand.clone())));
        }
    }
    all.extend(LONG.iter().map(|(name, _)| ((*name).to_owned(), "device ulong".to_owned())));
    all
}

/// Corners of the type.
fn operands(t: Scalar) -> Vec<i128> {
    match t.name {
        "bool" => vec![0, 1],
        // Sums of these are exact.
        "float" => vec![0, 1, -3, 1 << 20, -(1 << 22), 77],
        _ => [0, 1, 5, -1, t.high(), t.low(), t.high() / 3, t.low() / 2 + 9]
            .into_iter()
            .filter(|&x| t.wrap(x) == x)
            .collect(),
    }
}

/// One thread for each pair of a stored number and an operand: all functions, each on a stored number.
#[test]
fn functions_of_one_thread() {
    for t in TYPES.map(scalar) {
        let name = t.name;
        for memory in memories(t) {
            let modify: Vec<_> = MODIFY.iter().filter(|row| row.1.split(", ").any(|n| n == name)).collect();
            let numbers_of = operands(t);
            let pairs: Vec<[i128; 2]> =
                numbers_of.iter().flat_map(|&x| numbers_of.iter().map(move |&y| [x, y])).collect();
            let (n, results) = (pairs.len(), modify.len() * 2 + 4);
            let mut body = String::new();
            for (k, (function, ..)) in modify.iter().enumerate() {
                body += &format!(
                    "  atomic_store_explicit(p, x, r); o[{}] = {function}({}, y, r); o[{}] = atomic_load_explicit(p, r);\n",
                    2 * k,
                    if k % 2 == 0 { "p" } else { "q" },
                    2 * k + 1
                );
            }
            let cell = if *memory == "device" {
                format!("device atomic<{name}> *p = cells + i;")
            } else {
                format!("threadgroup atomic<{name}> all[1]; threadgroup atomic<{name}> *p = all;")
            };
            // The weak form may fail without a reason: it is asked until it succeeds, or the expected value has changed.
            let source = format!(
                "kernel void run(device const {name} *in [[buffer(0)]], device {name} *out [[buffer(1)]], device atomic<{name}> *cells [[buffer(2)]], uint i [[thread_position_in_grid]]) {{\n\
                   constexpr memory_order r = memory_order_relaxed; {name} x = in[i * 2], y = in[i * 2 + 1]; device {name} *o = out + i * {results};\n\
                   {cell} {memory} volatile atomic<{name}> *q = p; (void)cells;\n{body}\
                   atomic_store_explicit(q, x, r); {name} e = x; while (!atomic_compare_exchange_weak_explicit(p, &e, y, r, r)) {{}}\n\
                   o[{0}] = e; o[{0} + 1] = atomic_load_explicit(q, r);\n\
                   atomic_store_explicit(p, x, r); e = y; bool done; do done = atomic_compare_exchange_weak_explicit(q, &e, {name}(1), r, r); while (!done && e == y);\n\
                   o[{0} + 2] = e; o[{0} + 3] = atomic_load_explicit(p, r);\n}}\n",
                modify.len() * 2
            );
            let input: Vec<u64> = pairs.iter().flatten().map(|&x| t.bits_of(x)).collect();
            let (out, cells) = (Buffer::new((n * results * t.bytes()) as u64), Buffer::new((n * 8) as u64));
            run(&compile(&source, MathMode::Fast), &[&Buffer::of(&bytes(t, &input)), &out, &cells], n, 1);
            for (pair @ &[x, y], got) in pairs.iter().zip(numbers(t, &out.read::<u8>()).chunks_exact(results)) {
                let steps = modify.iter().flat_map(|row| [x, (row.2)(t, x, y)]);
                let compared = [x, y, x, if x == y { 1 } else { x }];
                let expected: Vec<u64> = steps.chain(compared).map(|x| t.bits_of(x)).collect();
                assert_eq!(got, expected, "atomic<{name}> in {memory} memory, {pair:?}");
            }
        }
    }
}

/// The result of many threads does not depend on their order.
#[test]
fn functions_of_many_threads() {
    let n = 20_000usize;
    for t in ["int", "uint", "float"].map(scalar) {
        let name = t.name;
        let modify: Vec<_> = MODIFY
            .iter()
            .filter(|row| row.1.split(", ").any(|x| x == name) && row.0 != "atomic_exchange_explicit")
            .collect();
        for memory in memories(t) {
            // Of each thread: its number, small enough for sums of float to be exact.
            let operand = format!("{name}(i % 100u)");
            let (mut body, mut end) = (String::new(), String::new());
            for (k, (function, ..)) in modify.iter().enumerate() {
                body += &format!(
                    "  {function}({}, {operand}, memory_order_relaxed);\n",
                    if *memory == "device" { format!("cells + {k}") } else { format!("here + {k}") }
                );
                end += &format!("  cells[g * 8 + {k}] = here[{k}];\n");
            }
            let _ = end;
            let source = if *memory == "device" {
                format!(
                    "kernel void run(device atomic<{name}> *cells [[buffer(0)]], uint i [[thread_position_in_grid]]) {{\n{body}}}\n"
                )
            } else {
                format!(
                    "kernel void run(device {name} *cells [[buffer(0)]], uint i [[thread_position_in_grid]], uint l [[thread_index_in_threadgroup]], uint g [[threadgroup_position_in_grid]]) {{\n\
                       threadgroup atomic<{name}> here[8]; if (l < 8) atomic_store_explicit(here + l, {name}(0), memory_order_relaxed);\n\
                       threadgroup_barrier(mem_flags::mem_threadgroup);\n{body}  threadgroup_barrier(mem_flags::mem_threadgroup);\n\
                       if (l < 8) cells[g * 8 + l] = atomic_load_explicit(here + l, memory_order_relaxed);\n}}\n"
                )
            };
            let groups = if *memory == "device" { 1 } else { n / 100 };
            let cells = Buffer::of(&vec![0u32; groups * 8]);
            run(&compile(&source, MathMode::Fast), &[&cells], n, 100);
            let cells = numbers(t, &cells.read::<u8>());
            for (group, got) in cells.chunks_exact(8).enumerate() {
                for (&(function, _, step), &got) in modify.iter().copied().zip(got) {
                    let threads = if groups == 1 { 0..n } else { group * 100..group * 100 + 100 };
                    let expected = threads.fold(0, |old, i| step(t, old, (i % 100) as i128));
                    assert_eq!(got, t.bits_of(expected), "{function} of atomic<{name}> in {memory} memory");
                }
            }
        }
    }
}

#[test]
fn functions_of_64_bits() {
    let t = scalar("ulong");
    let numbers_of = operands(t);
    let pairs: Vec<[i128; 2]> = numbers_of.iter().flat_map(|&x| numbers_of.iter().map(move |&y| [x, y])).collect();
    let body: String = LONG
        .iter()
        .enumerate()
        .map(|(k, (function, _))| {
            let cell = if k == 0 { "device atomic_ulong *" } else { "volatile device atomic<ulong> *" };
            format!("  out[i * 2 + {k}] = in[i].x; {function}(({cell})(out + i * 2 + {k}), in[i].y, memory_order_relaxed);\n")
        })
        .collect();
    let source = format!(
        "kernel void run(device const ulong2 *in [[buffer(0)]], device ulong *out [[buffer(1)]], uint i [[thread_position_in_grid]]) {{\n{body}}}\n"
    );
    let input: Vec<u64> = pairs.iter().flatten().map(|&x| t.bits_of(x)).collect();
    let out = Buffer::new((pairs.len() * 16) as u64);
    run(&compile(&source, MathMode::Fast), &[&Buffer::of(&input), &out], pairs.len(), 8);
    for (&[x, y], got) in pairs.iter().zip(out.read::<[u64; 2]>()) {
        for ((function, step), got) in LONG.iter().zip(got) {
            assert_eq!(got, t.bits_of(step(t, x, y)), "{function} of {x} and {y}");
        }
    }
}

/// A compare-exchange compares bits: zeros of different signs differ, a NaN is itself (6.15.4.4).
#[test]
fn floats_are_compared_by_their_bits() {
    let source = "kernel void run(device atomic_float *p [[buffer(0)]], device const float *in [[buffer(1)]], device uint *out [[buffer(2)]], uint i [[thread_position_in_grid]]) {\n\
          float e = in[i * 2]; bool done; int tries = 0;\n\
          do done = atomic_compare_exchange_weak_explicit(p + i, &e, 5.0f, memory_order_relaxed, memory_order_relaxed); while (!done && ++tries < 100 && as_type<uint>(e) == as_type<uint>(in[i * 2]));\n\
          out[i * 2] = done; out[i * 2 + 1] = as_type<uint>(e);\n}\n";
    let nan = f32::NAN.to_bits();
    let (zero, minus) = (0f32.to_bits(), (-0f32).to_bits());
    let stored = [zero, nan, 1f32.to_bits()];
    let expected = [minus, 0, nan, 0, 1f32.to_bits(), 0];
    let (cells, out) = (Buffer::of(&stored), Buffer::new(24));
    run(&compile(source, MathMode::Safe), &[&cells, &Buffer::of(&expected), &out], 3, 1);
    assert_eq!(out.read::<u32>(), [0, zero, 1, nan, 1, 1f32.to_bits()]);
    assert_eq!(cells.read::<u32>(), [zero, 5f32.to_bits(), 5f32.to_bits()]);
}
