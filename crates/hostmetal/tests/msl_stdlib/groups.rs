//! SIMD-group and quad-group functions (MSL 6.9.2, 6.9.3) against loops over lanes: whole groups, groups that end early, and lanes that a branch
//! leaves out. Every type on a stack per thread; scalars, and a vector of each width, as loops of the pass too, which has other code for whole
//! groups.

use hostmetal::msl::{Engine, MathMode};

use crate::number::{Kind, Scalar, scalar};
use crate::stdlib::catalog::{parts, types_of};
use crate::stdlib::{load, pipeline, run};
use crate::support::Buffer;
use crate::uses::{Use, bytes, numbers};

/// What a lane has: of a, of b which fills, and of c which is multiplied. None where no thread takes part.
type Lanes<'a> = &'a [Option<[i128; 3]>];
/// What lane `lane` gets when the lanes of its group have these.
type Reference = fn(Lanes, usize) -> i128;

/// The types, that of the result, the use for both groups (`#` is simd or quad), and what it is. `WIDTH` is the group's.
pub(crate) const ROWS: &[(&str, &str, &str, Reference)] = &[
    ("M", "$T", "#_sum(a)", |v, _| all(v, 0).sum()),
    ("M", "$T", "#_product(c)", |v, _| all(v, 2).product()),
    ("M", "$T", "#_min(a)", |v, _| all(v, 0).min().expect("a lane")),
    ("M", "$T", "#_max(a)", |v, _| all(v, 0).max().expect("a lane")),
    ("J", "$T", "#_and(a)", |v, _| all(v, 0).fold(-1, |x, y| x & y)),
    ("J", "$T", "#_or(a)", |v, _| all(v, 0).fold(0, |x, y| x | y)),
    ("J", "$T", "#_xor(a)", |v, _| all(v, 0).fold(0, |x, y| x ^ y)),
    ("M", "$T", "#_prefix_inclusive_sum(a)", |v, l| all(&v[..=l], 0).sum()),
    ("M", "$T", "#_prefix_exclusive_sum(a)", |v, l| all(&v[..l], 0).sum()),
    ("M", "$T", "#_prefix_inclusive_product(c)", |v, l| all(&v[..=l], 2).product()),
    ("M", "$T", "#_prefix_exclusive_product(c)", |v, l| all(&v[..l], 2).product()),
    ("M", "$T", "#_broadcast(a, ushort(2))", |v, l| from(v, l, Some(2))),
    ("M", "$T", "#_broadcast_first(a)", |v, _| all(v, 0).next().expect("a lane")),
    ("M", "$T", "#_shuffle(a, ushort((lane * 7 + 3) % WIDTH))", |v, l| from(v, l, Some((l * 7 + 3) % v.len()))),
    ("M", "$T", "#_shuffle_xor(a, ushort(3))", |v, l| from(v, l, Some(l ^ 3))),
    ("M", "$T", "#_shuffle_up(a, ushort(3))", |v, l| from(v, l, l.checked_sub(3))),
    ("M", "$T", "#_shuffle_down(a, ushort(3))", |v, l| from(v, l, (l + 3 < v.len()).then_some(l + 3))),
    ("M", "$T", "#_shuffle_rotate_up(a, ushort(3))", |v, l| from(v, l, Some((l + v.len() - 3) % v.len()))),
    ("M", "$T", "#_shuffle_rotate_down(a, ushort(3))", |v, l| from(v, l, Some((l + 3) % v.len()))),
    ("M", "$T", "#_shuffle_and_fill_up(a, b, ushort(3))", |v, l| filled_up(v, l, 3, v.len())),
    ("M", "$T", "#_shuffle_and_fill_down(a, b, ushort(3))", |v, l| filled_down(v, l, 3, v.len())),
    ("M", "$T", "#_shuffle_and_fill_up(a, b, ushort(1), ushort(WIDTH / 2))", |v, l| filled_up(v, l, 1, v.len() / 2)),
    ("M", "$T", "#_shuffle_and_fill_down(a, b, ushort(1), ushort(WIDTH / 2))", |v, l| {
        filled_down(v, l, 1, v.len() / 2)
    }),
    // Shifted out altogether, all is filled.
    ("M", "$T", "#_shuffle_and_fill_up(a, b, ushort(WIDTH))", |v, l| filled_up(v, l, v.len(), v.len())),
    ("M", "$T", "#_shuffle_and_fill_down(a, b, ushort(WIDTH))", |v, l| filled_down(v, l, v.len(), v.len())),
    ("M", "$T", "#_shuffle_and_fill_up(a, b, ushort(WIDTH / 2), ushort(WIDTH / 2))", |v, l| {
        filled_up(v, l, v.len() / 2, v.len() / 2)
    }),
    ("M", "$T", "#_shuffle_and_fill_down(a, b, ushort(WIDTH / 2), ushort(WIDTH / 2))", |v, l| {
        filled_down(v, l, v.len() / 2, v.len() / 2)
    }),
    ("uint", "uint", "uint(#_vote::vote_t(#_ballot((a & 1u) != 0u)))", |v, _| mask(v, |x| x & 1 == 1)),
    ("uint", "uint", "uint(#_vote::vote_t(#_active_threads_mask()))", |v, _| mask(v, |_| true)),
    ("uint", "bool", "#_all(a < 6u)", |v, _| all(v, 0).all(|x| x < 6).into()),
    ("uint", "bool", "#_all(a < 7u || a == 0xffffffffu)", |_, _| 1),
    ("uint", "bool", "#_any(a == 5u)", |v, _| all(v, 0).any(|x| x == 5).into()),
    ("uint", "bool", "#_any(a == 7u)", |_, _| 0),
    ("uint", "bool", "#_is_first()", |v, l| v[..l].iter().all(Option::is_none).into()),
    // all() of a vote is of the whole group, whichever lanes are active (6.9.2.1).
    ("uint", "bool", "#_vote v = #_ballot(a < 7u || a == 0xffffffffu); v.all()", |v, _| {
        v.iter().all(Option::is_some).into()
    }),
    ("uint", "bool", "#_vote v = #_ballot(a == 5u); v.any()", |v, _| all(v, 0).any(|x| x == 5).into()),
    ("uint", "bool", "#_vote v(#_vote::vote_t(4)); v.any() && !v.all()", |_, _| 1),
    // Bits that are of no thread in the group, which a program may set (6.9.2).
    ("uint", "bool", "#_vote v(#_vote::vote_t(-1l)); v.any() && v.all()", |_, _| 1),
    ("uint", "bool", "#_vote v(#_vote::vote_t(-1l << WIDTH)); v.any() || v.all()", |_, _| 0),
];

fn all(v: Lanes, column: usize) -> impl Iterator<Item = i128> {
    v.iter().flatten().map(move |lane| lane[column])
}

fn own(v: Lanes, lane: usize) -> [i128; 3] {
    v[lane].expect("an active lane asks")
}

/// The value of another lane. Reading one that is not active, or that is not there, is undefined in MSL; here it gives the lane's own.
fn from(v: Lanes, lane: usize, source: Option<usize>) -> i128 {
    source.and_then(|s| v[s]).unwrap_or(own(v, lane))[0]
}

/// The shuffles that fill, in runs of `run` lanes.
fn filled_up(v: Lanes, lane: usize, delta: usize, run: usize) -> i128 {
    let (start, within) = (lane / run * run, lane % run);
    match within.checked_sub(delta) {
        Some(place) => from(v, lane, Some(start + place)),
        None => v[start + within + run - delta].map_or(own(v, lane)[0], |x| x[1]),
    }
}

fn filled_down(v: Lanes, lane: usize, delta: usize, run: usize) -> i128 {
    let (start, within) = (lane / run * run, lane % run);
    if within + delta < run {
        return from(v, lane, Some(start + within + delta));
    }
    v[start + within + delta - run].map_or(own(v, lane)[0], |x| x[1])
}

fn mask(v: Lanes, holds: fn(i128) -> bool) -> i128 {
    v.iter().enumerate().fold(0, |m, (i, x)| m | i128::from(x.is_some_and(|x| holds(x[0]))) << i)
}

const GROUPS: [(&str, usize); 2] = [("simd", 32), ("quad", 4)];

/// The uses of a type by both groups, with the group's width.
pub(crate) fn uses(operand: &str) -> Vec<(Use, usize, Reference)> {
    let mut uses = Vec::new();
    for &(types, result, call, reference) in ROWS {
        for (group, width) in GROUPS {
            if types_of(types).iter().any(|t| t == operand) {
                let call = call.replace('#', group).replace("WIDTH", &width.to_string());
                uses.push((Use::new(&call, operand, result), width, reference));
            }
        }
    }
    uses
}

/// Small numbers, exact in every type, and sums that are too: of thread i, component j, for a, b, c. Of unsigned types one is the largest.
fn values(t: Scalar, thread: usize, component: usize) -> [i128; 3] {
    let x = ((thread * 5 + thread / 32 + component * 3) % 7) as i128;
    let a = match t.kind {
        Kind::Integer { signed: false } if thread == 9 => t.high(),
        Kind::Integer { signed: false } => x,
        _ => x - 3,
    };
    // Few are 2, so that the products of all are in the range of half.
    [a, 6 - x, if x == 4 { 2 } else { 1 }]
}

fn to_bits(t: Scalar, x: i128) -> u64 {
    match t.kind {
        Kind::Float | Kind::Small(_) => t.nearest(x as f64),
        _ => t.unsigned(x) as u64,
    }
}

/// Threads of a threadgroup: two whole SIMD-groups; then one whole and one that ends inside a quad; one alone.
const THREADS: [usize; 3] = [64, 50, 3];
/// The lanes that take part: all; some.
const ACTIVE: [u32; 2] = [!0, 0x9e37_79b5];

fn check(operand: &str, engine: Engine, at_once: usize, branch: bool) {
    let t = scalar(operand);
    // The pass's code for quads is that for SIMD-groups with another constant.
    let both = engine == Engine::Stack || ["uint", "float"].contains(&operand);
    let every: Vec<_> = uses(operand).into_iter().filter(|(_, width, _)| both || *width == 32).collect();
    let width: usize = parts(operand).1.parse().unwrap_or(1);
    let stored = if width == 1 { operand.to_owned() } else { format!("packed_vec<{}, {width}>", t.name) };
    let columns: Vec<Buffer> = (0..3)
        .map(|c| {
            let of = |i: usize| to_bits(t, values(t, i / width, i % width)[c]);
            Buffer::of(&bytes(t, &(0..64 * width).map(of).collect::<Vec<u64>>()))
        })
        .collect();
    for uses in every.chunks(at_once) {
        let mut body = String::new();
        for (k, (one, ..)) in uses.iter().enumerate() {
            let result = if one.result == operand { &stored } else { &one.result };
            let (statements, expression) = one.call.rsplit_once("; ").unwrap_or(("", &one.call));
            body += &format!("  {{ {statements}; ((device {result} *)(out + {k} * 2048))[i] = {expression}; }}\n");
        }
        let condition = if branch { "if ((active >> lane & 1u) != 0u) " } else { "" };
        let source = format!(
            "kernel void run(device const {stored} *A [[buffer(0)]], device const {stored} *B [[buffer(1)]], device const {stored} *C [[buffer(2)]],\n\
               device uchar *out [[buffer(3)]], constant uint &active [[buffer(4)]], uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {{\n\
               {operand} a = A[i], b = B[i], c = C[i]; (void)b; (void)c; (void)lane; (void)active;\n{condition}{{\n{body}}}\n}}\n"
        );
        let pipeline = pipeline(load(&source, MathMode::Safe, engine));
        for threads in THREADS {
            for active in &ACTIVE[..1 + usize::from(branch)] {
                let out = Buffer::new((uses.len() * 2048) as u64);
                let flags = Buffer::of(&[*active]);
                run(&pipeline, &[&columns[0], &columns[1], &columns[2], &out, &flags], threads, threads);
                let out = out.read::<u8>();
                let taken = |thread: usize| thread < threads && active >> (thread % 32) & 1 == 1;
                for (k, (one, group, reference)) in uses.iter().enumerate() {
                    let result = scalar(&one.result);
                    let components = if one.result == operand { width } else { 1 };
                    let got = numbers(result, &out[k * 2048..(k + 1) * 2048]);
                    for thread in (0..threads).filter(|&thread| taken(thread)) {
                        for component in 0..components {
                            let first = thread / group * group;
                            let lanes: Vec<Option<[i128; 3]>> = (first..first + group)
                                .map(|lane| taken(lane).then(|| values(t, lane, component)))
                                .collect();
                            let expected = to_bits(result, reference(&lanes, thread - first));
                            assert_eq!(
                                got[thread * components + component],
                                expected,
                                "{operand}: {} of thread {thread} of {threads}, lanes {active:#x}, component {component}",
                                one.call
                            );
                        }
                    }
                }
            }
        }
    }
}

/// What all of the functions but the bitwise ones take.
pub(crate) const TYPES: &str = "M";

#[test]
fn groups_of_lanes_with_a_stack_each() {
    types_of(TYPES).iter().for_each(|operand| check(operand, Engine::Stack, 100, true));
}

#[test]
fn groups_of_lanes_in_loops() {
    let all = types_of(TYPES);
    let passed = all.iter().filter(|t| parts(t).1.is_empty() || ["half2", "uint3", "float4"].contains(&t.as_str()));
    passed.for_each(|operand| check(operand, Engine::Pass, 8, false));
}
