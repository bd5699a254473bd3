//! SIMD-group and quad-group functions (MSL 6.9.2, 6.9.3) against loops over lanes: whole groups, groups that end early, and lanes that a branch
//! leaves out. Every type on a stack per thread; scalars, and a vector of each width, as loops of the pass too, which has other code for whole
//! groups. With small numbers all of the functions; with those at the edges of a type what moves numbers, bit for bit, and what computes with them.

use hostmetal::msl::{Engine, MathMode};

use crate::edges::{Wanted, maximum, minimum, product, sets, sum};
use crate::number::{Kind, Scalar, scalar};
use crate::stdlib::catalog::{parts, types_of};
use crate::stdlib::{Random, load_on, pipeline, run};
use crate::support::Buffer;
use crate::uses::{Use, bytes, numbers};

/// What a lane has: of a, of b which fills, and of c which is multiplied. None where no thread takes part.
type Lanes<'a> = &'a [Option<[i128; 3]>];
/// What lane `lane` gets when the lanes of its group have these.
type Reference = fn(Lanes, usize) -> i128;

/// The types, that of the result, the use for both groups (`#` is simd or quad), and what it is. `WIDTH` is the group's.
pub(crate) const ROWS: &[(&str, &str, &str, Reference)] = &[
    ("M", "$T", "#_sum(a)", |v, _| all(v, 0).sum()),
    ("M", "$T", "#_product(c)", |v, _| all(v, 2).fold(1, i128::wrapping_mul)),
    ("M", "$T", "#_min(a)", |v, _| all(v, 0).min().expect("a lane")),
    ("M", "$T", "#_max(a)", |v, _| all(v, 0).max().expect("a lane")),
    ("J", "$T", "#_and(a)", |v, _| all(v, 0).fold(-1, |x, y| x & y)),
    ("J", "$T", "#_or(a)", |v, _| all(v, 0).fold(0, |x, y| x | y)),
    ("J", "$T", "#_xor(a)", |v, _| all(v, 0).fold(0, |x, y| x ^ y)),
    ("M", "$T", "#_prefix_inclusive_sum(a)", |v, l| all(&v[..=l], 0).sum()),
    ("M", "$T", "#_prefix_exclusive_sum(a)", |v, l| all(&v[..l], 0).sum()),
    ("M", "$T", "#_prefix_inclusive_product(c)", |v, l| all(&v[..=l], 2).fold(1, i128::wrapping_mul)),
    ("M", "$T", "#_prefix_exclusive_product(c)", |v, l| all(&v[..l], 2).fold(1, i128::wrapping_mul)),
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

type Compute = fn(Scalar, &[f64]) -> Wanted;

/// What a reduction or scan of floating-point numbers comes to, by its name without that of the group: of which lanes, of which column.
const COMPUTED: &[(&str, Part, usize, Compute)] = &[
    ("_sum(a)", Part::All, 0, added),
    ("_product(c)", Part::All, 2, product),
    ("_min(a)", Part::All, 0, minimum),
    ("_max(a)", Part::All, 0, maximum),
    ("_prefix_inclusive_sum(a)", Part::Through, 0, added),
    ("_prefix_exclusive_sum(a)", Part::Before, 0, added),
    ("_prefix_inclusive_product(c)", Part::Through, 2, product),
    ("_prefix_exclusive_product(c)", Part::Before, 2, product),
];

/// Of a group's lanes.
enum Part {
    All,
    Through,
    Before,
}

fn added(t: Scalar, terms: &[f64]) -> Wanted {
    sum(t, terms, 0)
}

/// What the lanes have.
enum Values {
    /// Numbers that are exact in every type, and sums that are too: of thread i, component j, for a, b, c. Of unsigned types one is the largest.
    Small,
    /// Some of these integers.
    Integers(Vec<i128>),
    /// Some of these bits.
    Floats(Vec<u64>),
}

impl Values {
    fn all(t: Scalar) -> Vec<Values> {
        let mut all = vec![Values::Small];
        if let Kind::Integer { .. } = t.kind {
            let (low, high) = (t.low(), t.high());
            let sets = [vec![low], vec![high], vec![low, high, 0, 1, low + 1, high - 1, high / 2]];
            all.extend(sets.map(Values::Integers));
        } else {
            all.extend(sets(t).into_iter().map(Values::Floats));
        }
        all
    }

    /// Of a thread: numbers, or bits.
    fn of(&self, t: Scalar, thread: usize, component: usize) -> [i128; 3] {
        let any = |n: usize| {
            [0, 1, 2].map(|column| Random((thread * 12 + component * 3 + column) as u64).bits() as usize % n)
        };
        match self {
            Values::Small => {
                let x = ((thread * 5 + thread / 32 + component * 3) % 7) as i128;
                let a = match t.kind {
                    Kind::Integer { signed: false } if thread == 9 => t.high(),
                    Kind::Integer { signed: false } => x,
                    _ => x - 3,
                };
                // Few are 2, so that the products of all are in the range of half.
                [a, 6 - x, if x == 4 { 2 } else { 1 }]
            }
            Values::Integers(set) => any(set.len()).map(|k| set[k]),
            Values::Floats(set) => any(set.len()).map(|k| set[k].into()),
        }
    }

    fn bits(&self, t: Scalar, x: i128) -> u64 {
        match (self, t.kind) {
            (Values::Small, Kind::Float | Kind::Small(_)) => t.nearest(x as f64),
            _ => t.unsigned(x) as u64,
        }
    }

    fn expected(
        &self,
        t: Scalar,
        (one, _, reference): &(Use, usize, Reference),
        lanes: Lanes,
        lane: usize,
    ) -> Expected {
        if let Values::Floats(_) = self
            && let Some((_, part, column, compute)) = COMPUTED.iter().find(|row| row.0 == &one.call[4..])
        {
            let part = match part {
                Part::All => lanes,
                Part::Through => &lanes[..=lane],
                Part::Before => &lanes[..lane],
            };
            let numbers: Vec<f64> = all(part, *column).map(|bits| t.float(bits as u64)).collect();
            return Expected::Number(compute(t, &numbers));
        }
        // The conditions of votes are about small numbers.
        if !matches!(self, Values::Small) && one.result != one.operand {
            return Expected::Anything;
        }
        Expected::Bits(self.bits(t, reference(lanes, lane)))
    }
}

/// Of a lane, from a use.
#[derive(Debug)]
enum Expected {
    Anything,
    Bits(u64),
    Number(Wanted),
}

/// Threads of a threadgroup: two whole SIMD-groups; then one whole and one that ends inside a quad; one alone.
const THREADS: [usize; 3] = [64, 50, 3];
/// The lanes that take part: all; some.
const ACTIVE: [u32; 2] = [!0, 0x9e37_79b5];

/// A dispatch of uses of one type.
struct Dispatch<'a> {
    operand: &'a str,
    mode: MathMode,
    values: &'a Values,
    threads: usize,
    active: u32,
}

impl Dispatch<'_> {
    fn taken(&self, thread: usize) -> bool {
        thread < self.threads && self.active >> (thread % 32) & 1 == 1
    }

    fn compare(&self, uses: &[(Use, usize, Reference)], of_thread: &[[i128; 3]], out: &[u8]) {
        let width = of_thread.len() / 64;
        let results = uses.iter().map(|one| scalar(&one.0.result));
        let results: Vec<_> = results.zip(out.chunks_exact(2048)).map(|(t, out)| (t, numbers(t, out))).collect();
        for (group, component) in [32, 4].into_iter().flat_map(|group| (0..width).map(move |c| (group, c))) {
            for thread in (0..self.threads).filter(|&thread| self.taken(thread)) {
                let first = thread / group * group;
                let of = |lane: usize| self.taken(lane).then(|| of_thread[lane * width + component]);
                let lanes: Vec<Option<[i128; 3]>> = (first..first + group).map(of).collect();
                for (one, (t, got)) in uses.iter().zip(&results).filter(|(one, _)| one.1 == group) {
                    let got = got[thread * if one.0.result == self.operand { width } else { 1 } + component];
                    let expected = self.values.expected(*t, one, &lanes, thread - first);
                    let right = match expected {
                        Expected::Anything => true,
                        Expected::Bits(bits) => got == bits,
                        Expected::Number(wanted) if self.mode == MathMode::Fast => {
                            wanted.unsigned().takes(t.float(got))
                        }
                        Expected::Number(wanted) => wanted.takes(t.float(got)),
                    };
                    assert!(
                        right,
                        "{}: {} of thread {thread} of {}, lanes {:#x}, component {component}, {:?}: {got:#x}, not {expected:x?}; of {lanes:x?}",
                        self.operand, one.0.call, self.threads, self.active, self.mode
                    );
                }
            }
        }
    }
}

fn check(operand: &str, engine: Engine, mode: MathMode) {
    // The pass refuses a branch on the lane.
    let (at_once, branch) = if engine == Engine::Stack { (100, true) } else { (8, false) };
    let t = scalar(operand);
    // The pass's code for quads is that for SIMD-groups with another constant.
    let both = engine == Engine::Stack || ["uint", "float"].contains(&operand);
    let every: Vec<_> = uses(operand).into_iter().filter(|(_, width, _)| both || *width == 32).collect();
    let width: usize = parts(operand).1.parse().unwrap_or(1);
    let stored = if width == 1 { operand.to_owned() } else { format!("packed_vec<{}, {width}>", t.name) };
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
        let pipeline = pipeline(load_on(&source, mode, engine));
        let all = Values::all(t);
        // Vectors do by component what numbers do; those of four show it with the last.
        let edges = [0, all.len() - 1, 0, 0, 1][width];
        for values in all.iter().take(1).chain(all.iter().rev().take(edges)) {
            let of_thread: Vec<[i128; 3]> = (0..64 * width).map(|i| values.of(t, i / width, i % width)).collect();
            let columns = [0, 1, 2].map(|c| {
                let bits = of_thread.iter().map(|of| values.bits(t, of[c]));
                Buffer::of(&bytes(t, &bits.collect::<Vec<u64>>()))
            });
            for threads in THREADS {
                for &active in &ACTIVE[..1 + usize::from(branch)] {
                    let out = Buffer::new((uses.len() * 2048) as u64);
                    let flags = Buffer::of(&[active]);
                    run(&pipeline, &[&columns[0], &columns[1], &columns[2], &out, &flags], threads, threads);
                    let dispatch = Dispatch { operand, mode, values, threads, active };
                    dispatch.compare(uses, &of_thread, &out.read::<u8>());
                }
            }
        }
    }
}

/// What all of the functions but the bitwise ones take.
pub(crate) const TYPES: &str = "M";

#[test]
fn groups_of_lanes_with_a_stack_each() {
    types_of(TYPES).iter().for_each(|operand| check(operand, Engine::Stack, MathMode::Safe));
}

#[test]
fn groups_of_lanes_in_loops() {
    let all = types_of(TYPES);
    let passed = all.iter().filter(|t| parts(t).1.is_empty() || ["half2", "uint3", "float4"].contains(&t.as_str()));
    passed.for_each(|operand| check(operand, Engine::Pass, MathMode::Safe));
}

/// NaN and infinities count there too.
#[test]
fn groups_of_lanes_with_fast_arithmetic() {
    for operand in ["float", "half", "bfloat", "float4"] {
        for engine in [Engine::Stack, Engine::Pass] {
            check(operand, engine, MathMode::Fast);
        }
    }
}
