//! Integer functions (MSL 6.3), written from the specification's words in i128.

use hostmetal::msl::MathMode;

use crate::number::{INTEGERS, Scalar, scalar};
use crate::stdlib::Random;
use crate::stdlib::catalog::{parts, types_of};
use crate::uses::{Use, execute};

type Reference = fn(Scalar, [i128; 3]) -> i128;

/// The types, as in coverage.txt, that of the result, the use, and what it is for each component.
pub(crate) const ROWS: &[(&str, &str, &str, Reference)] = &[
    ("I", "$T", "abs(a)", |t, [x, ..]| t.wrap(x.abs())),
    ("I", "$U", "absdiff(a, b)", |_, [x, y, _]| (x - y).abs()),
    ("I", "$T", "addsat(a, b)", |t, [x, y, _]| t.saturate(x + y)),
    ("I", "$T", "subsat(a, b)", |t, [x, y, _]| t.saturate(x - y)),
    ("I", "$T", "clamp(a, b, c)", |_, [x, y, z]| x.max(y).min(z)),
    ("I", "$T", "clz(a)", |t, [x, ..]| (t.unsigned(x).leading_zeros() - (128 - t.bits)).into()),
    ("I", "$T", "ctz(a)", |t, [x, ..]| t.unsigned(x).trailing_zeros().min(t.bits).into()),
    ("I", "$T", "popcount(a)", |t, [x, ..]| t.unsigned(x).count_ones().into()),
    ("I", "$T", "reverse_bits(a)", |t, [x, ..]| t.wrap((t.unsigned(x).reverse_bits() >> (128 - t.bits)) as i128)),
    ("I", "$T", "rotate(a, b)", |t, [x, y, _]| {
        let (bits, left) = (t.unsigned(x), y.rem_euclid(t.bits.into()));
        t.wrap((bits << left | bits >> (i128::from(t.bits) - left)) as i128)
    }),
    ("I", "$T", "hadd(a, b)", |_, [x, y, _]| (x + y) >> 1),
    ("I", "$T", "rhadd(a, b)", |_, [x, y, _]| (x + y + 1) >> 1),
    ("I", "$T", "max(a, b)", |_, [x, y, _]| x.max(y)),
    ("I", "$T", "min(a, b)", |_, [x, y, _]| x.min(y)),
    ("I", "$T", "max3(a, b, c)", |_, [x, y, z]| x.max(y).max(z)),
    ("I", "$T", "min3(a, b, c)", |_, [x, y, z]| x.min(y).min(z)),
    ("I", "$T", "median3(a, b, c)", |_, mut all| {
        all.sort_unstable();
        all[1]
    }),
    ("I", "$T", "mulhi(a, b)", |t, [x, y, _]| high(t, x, y)),
    ("I", "$T", "madhi(a, b, c)", |t, [x, y, z]| t.wrap(high(t, x, y) + z)),
    ("I", "$T", "madsat(a, b, c)", |t, [x, y, z]| {
        x.checked_mul(y).and_then(|p| p.checked_add(z)).map_or(t.high(), |s| t.saturate(s))
    }),
    ("I", "$T", "extract_bits(a, 0u, 0u)", |t, [x, ..]| extract(t, x, 0, 0)),
    ("I", "$T", "extract_bits(a, 1u, 5u)", |t, [x, ..]| extract(t, x, 1, 5)),
    ("I", "$T", "extract_bits(a, 0u, uint(8 * sizeof($S)))", |t, [x, ..]| extract(t, x, 0, t.bits)),
    ("I", "$T", "insert_bits(a, b, 2u, 3u)", |t, [x, y, _]| insert(t, x, y, 2, 3)),
    ("I", "$T", "insert_bits(a, b, 0u, uint(8 * sizeof($S)))", |t, [x, y, _]| insert(t, x, y, 0, t.bits)),
    ("I", "$T", "insert_bits(a, b, 7u, 0u)", |t, [x, y, _]| insert(t, x, y, 7, 0)),
    // Only the low 24 bits are multiplied; the specification leaves numbers of more bits open.
    ("W", "$T", "mul24($T(a << $T(8)) >> $T(8), $T(b << $T(8)) >> $T(8))", |t, [x, y, _]| {
        t.wrap(low24(t, x) * low24(t, y))
    }),
    ("W", "$T", "mad24($T(a << $T(8)) >> $T(8), $T(b << $T(8)) >> $T(8), c)", |t, [x, y, z]| {
        t.wrap(low24(t, x) * low24(t, y) + z)
    }),
    // 6.4
    ("I", "$T", "select(a, b, c > $T(0))", |_, [x, y, z]| if z > 0 { y } else { x }),
    ("I", "$T", "select(a, b, $B(true))", |_, [_, y, _]| y),
    // 3.1. Scalars of fewer than 32 bits are promoted in C++; the bits of the result are compared.
    ("I", "$P", "a + b", |_, [x, y, _]| x + y),
    ("I", "$P", "a - b", |_, [x, y, _]| x - y),
    ("I", "$P", "a * b", |_, [x, y, _]| x.wrapping_mul(y)),
    // A divisor that is odd, and no quotient that the type has not.
    ("I", "$P", "(a >> $S(1)) / (b | $S(1))", |_, [x, y, _]| (x >> 1) / (y | 1)),
    ("I", "$P", "(a >> $S(1)) % (b | $S(1))", |_, [x, y, _]| (x >> 1) % (y | 1)),
    ("I", "$P", "(a >> $S(1)) / $S(5)", |_, [x, ..]| (x >> 1) / 5),
    ("I", "$P", "(a >> $S(1)) % $S(5)", |_, [x, ..]| (x >> 1) % 5),
    ("I", "$P", "a & b", |_, [x, y, _]| x & y),
    ("I", "$P", "a | b", |_, [x, y, _]| x | y),
    ("I", "$P", "a ^ b", |_, [x, y, _]| x ^ y),
    ("I", "$P", "~a", |_, [x, ..]| !x),
    ("I", "$P", "-a", |_, [x, ..]| -x),
    ("I", "$P", "+a", |_, [x, ..]| x),
    ("I", "$P", "a + $S(3)", |_, [x, ..]| x + 3),
    ("I", "$P", "$S(3) - a", |_, [x, ..]| 3 - x),
    ("I", "$P", "a << $T($S(3))", |_, [x, ..]| x << 3),
    ("I", "$P", "a >> $T($S(3))", |_, [x, ..]| x >> 3),
    ("I", "$P", "a << $S(2)", |_, [x, ..]| x << 2),
    // The low bits of the amount count (3.1).
    ("IV", "$T", "a << b", |t, [x, y, _]| x << y.rem_euclid(t.bits.into())),
    ("IV", "$T", "a >> b", |t, [x, y, _]| x >> y.rem_euclid(t.bits.into())),
    ("I", "$T", "$T z = a; z += b; z", |_, [x, y, _]| x + y),
    ("I", "$T", "$T z = a; z -= b; z", |_, [x, y, _]| x - y),
    ("I", "$T", "$T z = a; z *= b; z", |_, [x, y, _]| x.wrapping_mul(y)),
    ("I", "$T", "$T z = a >> $S(1); z /= b | $S(1); z", |_, [x, y, _]| (x >> 1) / (y | 1)),
    ("I", "$T", "$T z = a >> $S(1); z %= b | $S(1); z", |_, [x, y, _]| (x >> 1) % (y | 1)),
    ("I", "$T", "$T z = a; z &= b; z", |_, [x, y, _]| x & y),
    ("I", "$T", "$T z = a; z |= b; z", |_, [x, y, _]| x | y),
    ("I", "$T", "$T z = a; z ^= b; z", |_, [x, y, _]| x ^ y),
    ("I", "$T", "$T z = a; z <<= $S(3); z", |_, [x, ..]| x << 3),
    ("I", "$T", "$T z = a; z >>= $S(3); z", |_, [x, ..]| x >> 3),
    ("I", "$T", "$T z = a; ++z; z", |_, [x, ..]| x + 1),
    ("I", "$T", "$T z = a; z++", |_, [x, ..]| x),
    ("I", "$T", "$T z = a; z++; z", |_, [x, ..]| x + 1),
    ("I", "$T", "$T z = a; --z; z", |_, [x, ..]| x - 1),
    ("I", "$T", "$T z = a; z--", |_, [x, ..]| x),
    ("I", "$T", "$T z = a; z--; z", |_, [x, ..]| x - 1),
    ("I", "$B", "a < b", |_, [x, y, _]| (x < y).into()),
    ("I", "$B", "a <= b", |_, [x, y, _]| (x <= y).into()),
    ("I", "$B", "a > b", |_, [x, y, _]| (x > y).into()),
    ("I", "$B", "a >= b", |_, [x, y, _]| (x >= y).into()),
    ("I", "$B", "a == b", |_, [x, y, _]| (x == y).into()),
    ("I", "$B", "a != b", |_, [x, y, _]| (x != y).into()),
    ("I", "$B", "a == $S(1)", |_, [x, ..]| (x == 1).into()),
    ("I", "$B", "(a < b) && (b < c)", |_, [x, y, z]| (x < y && y < z).into()),
    ("I", "$B", "(a < b) || (b < c)", |_, [x, y, z]| (x < y || y < z).into()),
    ("I", "$B", "!a", |_, [x, ..]| (x == 0).into()),
    ("I", "$T", "i < 4294967295u ? a : b", |_, [x, ..]| x),
    // 2.2.3
    ("IV", "$T", "packed_vec<$S, $N> p(a), q(b); p + q", |_, [x, y, _]| x + y),
    ("IV", "$T", "packed_vec<$S, $N> p(a); p - b", |_, [x, y, _]| x - y),
    ("IV", "$T", "packed_vec<$S, $N> q(b); a * q", |_, [x, y, _]| x.wrapping_mul(y)),
    ("IV", "$T", "packed_vec<$S, $N> p(a); p & $S(7)", |_, [x, ..]| x & 7),
    ("IV", "$T", "packed_vec<$S, $N> p(a); p += b; p", |_, [x, y, _]| x + y),
    ("IV", "$T", "packed_vec<$S, $N> p(a); -p", |_, [x, ..]| -x),
    ("IV", "$B", "packed_vec<$S, $N> p(a), q(b); p < q", |_, [x, y, _]| (x < y).into()),
    ("IV", "$B", "packed_vec<$S, $N> p(a); p == b", |_, [x, y, _]| (x == y).into()),
    ("IV", "$T", "packed_vec<$S, $N> p(a); max(p, b)", |_, [x, y, _]| x.max(y)),
    ("IV", "$B", "packed_vec<$S, $N> p(a), q(b), r(c); p < q && q < r", |_, [x, y, z]| (x < y && y < z).into()),
];

/// The upper half of a product; of two 64-bit numbers it fits i128 only without a sign.
fn high(t: Scalar, x: i128, y: i128) -> i128 {
    match x.checked_mul(y) {
        Some(product) => product >> t.bits,
        None => ((x as u128 * y as u128) >> t.bits) as i128,
    }
}

fn extract(t: Scalar, x: i128, offset: u32, bits: u32) -> i128 {
    if bits == 0 {
        return 0;
    }
    let field = ((t.unsigned(x) >> offset) & ((1 << bits) - 1)) as i128;
    if t.low() < 0 && field >> (bits - 1) == 1 { field - (1 << bits) } else { field }
}

fn insert(t: Scalar, base: i128, insert: i128, offset: u32, bits: u32) -> i128 {
    let mask = ((1u128 << bits) - 1) << offset;
    t.wrap((t.unsigned(base) & !mask | (t.unsigned(insert) << offset) & mask) as i128)
}

fn low24(t: Scalar, x: i128) -> i128 {
    let low = x & 0xff_ffff;
    if t.low() < 0 && low >> 23 == 1 { low - (1 << 24) } else { low }
}

/// Corners with corners, and random numbers of every magnitude.
pub(crate) fn triples(t: Scalar) -> Vec<[i128; 3]> {
    let corners =
        [0, 1, 2, 7, 8, 31, 33, t.high(), t.high() - 1, t.high() / 2, t.low(), t.low() + 1, -1, -2, t.high() / 3];
    let corners: Vec<i128> = corners.into_iter().filter(|&x| t.wrap(x) == x).collect();
    let mut all = Vec::new();
    for &x in &corners {
        for &y in &corners {
            all.extend([0, 1, t.high(), t.low()].map(|z| [x, y, z]));
        }
    }
    let mut random = Random(u64::from(t.bits));
    all.extend(
        (0..1000).map(|_| [0; 3].map(|_: i32| t.wrap(random.bits().into()) >> (random.bits() % u64::from(t.bits)))),
    );
    all.truncate(all.len() / 12 * 12);
    all
}

pub(crate) fn columns(t: Scalar, triples: &[[i128; 3]]) -> Vec<Vec<u64>> {
    (0..3).map(|c| triples.iter().map(|v| t.unsigned(v[c]) as u64).collect()).collect()
}

pub(crate) fn uses(t: Scalar) -> Vec<(Use, Reference)> {
    let mut all = Vec::new();
    for &(types, result, call, reference) in ROWS {
        for operand in types_of(types).iter().filter(|o| parts(o).0 == t.name) {
            all.push((Use::new(call, operand, result), reference));
        }
    }
    all
}

fn check(t: Scalar) {
    let (uses, references): (Vec<Use>, Vec<Reference>) = uses(t).into_iter().unzip();
    let triples = triples(t);
    let got = execute(&uses, t, &columns(t, &triples), MathMode::Fast);
    let mut wrong = Vec::new();
    for ((one, reference), got) in uses.iter().zip(references).zip(got) {
        let result = scalar(&one.result);
        let first = |(&triple, got): (&[i128; 3], u64)| {
            let expected = result.wrap(reference(t, triple));
            let (got, call) = (result.wrap(got.into()), &one.call);
            (got != expected).then(|| format!("{}: {call} of {triple:?}: {got}, not {expected}", one.operand))
        };
        wrong.extend(triples.iter().zip(got).find_map(first));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn functions_of_small_integers() {
    INTEGERS[..4].iter().for_each(|&t| check(t));
}

#[test]
fn functions_of_large_integers() {
    INTEGERS[4..].iter().for_each(|&t| check(t));
}
