//! Vectors, packed vectors and arrays (MSL 2.2, 2.2.3, 2.12): which component goes where, for every type; and conversions between all types
//! (2.21, 8.6).

use std::collections::BTreeSet;

use hostmetal::msl::MathMode;

use crate::float;
use crate::integer;
use crate::number::{BOOL, FLOATS, INTEGERS, Kind, Scalar, scalar};
use crate::stdlib::Random;
use crate::stdlib::catalog::types_of;
use crate::uses::{Use, execute};

/// The width of the vectors a, b, c, the use, its result and the components of that: the column and the place in it.
type Pick = (usize, &'static str, &'static str, &'static [(usize, usize)]);

const PICKS: &[Pick] = &[
    (2, "$T z = a; z[0] = b[1]; z", "$T", &[(1, 1), (0, 1)]),
    (3, "$T z = a; z[2] = b[0]; z", "$T", &[(0, 0), (0, 1), (1, 0)]),
    (4, "$T z = a; z[i % 1u + 3u] = b[1]; z", "$T", &[(0, 0), (0, 1), (0, 2), (1, 1)]),
    (2, "a.yx", "$T", &[(0, 1), (0, 0)]),
    (3, "a.bgr", "$T", &[(0, 2), (0, 1), (0, 0)]),
    (4, "a.wzyx", "$T", &[(0, 3), (0, 2), (0, 1), (0, 0)]),
    (4, "a.argb", "$T", &[(0, 3), (0, 0), (0, 1), (0, 2)]),
    (2, "a.xxyy", "$S4", &[(0, 0), (0, 0), (0, 1), (0, 1)]),
    (2, "a.g", "$S", &[(0, 1)]),
    (3, "a.z", "$S", &[(0, 2)]),
    (4, "a.w", "$S", &[(0, 3)]),
    (4, "a.a", "$S", &[(0, 3)]),
    (2, "$T z = a; z.yx = b.xy; z", "$T", &[(1, 1), (1, 0)]),
    (3, "$T z = a; z.zx = b.xy; z", "$T", &[(1, 1), (0, 1), (1, 0)]),
    (4, "$T z = a; z.rgb = b.zyw; z", "$T", &[(1, 2), (1, 1), (1, 3), (0, 3)]),
    (4, "$T z = a; z.w = b.x; z.y = c.z; z", "$T", &[(0, 0), (2, 2), (0, 2), (1, 0)]),
    (2, "$T(a.y, b.x)", "$T", &[(0, 1), (1, 0)]),
    (2, "$T(a.y)", "$T", &[(0, 1), (0, 1)]),
    (3, "$T(a.xy, b.z)", "$T", &[(0, 0), (0, 1), (1, 2)]),
    (3, "$T(a.x, b.yz)", "$T", &[(0, 0), (1, 1), (1, 2)]),
    (3, "$T(a.z, b.x, c.y)", "$T", &[(0, 2), (1, 0), (2, 1)]),
    (4, "$T(a.xy, b.zw)", "$T", &[(0, 0), (0, 1), (1, 2), (1, 3)]),
    (4, "$T(a.xyz, b.w)", "$T", &[(0, 0), (0, 1), (0, 2), (1, 3)]),
    (4, "$T(a.x, b.yzw)", "$T", &[(0, 0), (1, 1), (1, 2), (1, 3)]),
    (4, "$T(a.x, b.yz, c.w)", "$T", &[(0, 0), (1, 1), (1, 2), (2, 3)]),
    (4, "$T(a.xy, b.z, c.w)", "$T", &[(0, 0), (0, 1), (1, 2), (2, 3)]),
    (4, "$T(a.x, b.y, c.zw)", "$T", &[(0, 0), (1, 1), (2, 2), (2, 3)]),
    (4, "$T(a.w, b.z, c.y, a.x)", "$T", &[(0, 3), (1, 2), (2, 1), (0, 0)]),
    (4, "$T z = {a.w, b.z, c.y, a.x}; z", "$T", &[(0, 3), (1, 2), (2, 1), (0, 0)]),
    (2, "packed_vec<$S, $N> p(a); p = b; p[0] = c[1]; $T z = p; z", "$T", &[(2, 1), (1, 1)]),
    (3, "packed_vec<$S, $N> p(a); p.xy = c.yx; p.z = b.x; p", "$T", &[(2, 1), (2, 0), (1, 0)]),
    (4, "packed_vec<$S, $N> p(a); p.w = b.y; p.zyx", "$S3", &[(0, 2), (0, 1), (0, 0)]),
    (4, "packed_vec<$S, $N> p(a.xy, b.zw); $T(p.x, p.yzw)", "$T", &[(0, 0), (0, 1), (1, 2), (1, 3)]),
    (1, "array<$T, 3> z = {a, b, c}; const array<$T, 3> y = z; z[1] = y[2]; z[1]", "$T", &[(2, 0)]),
    (2, "array<$T, 3> z = {a, b, c}; z[i % 1u + z.size() - 2]", "$T", &[(1, 0), (1, 1)]),
    (3, "array<$T, 3> z = {a, b, c}; z.size() == 3 ? z[1] : z[0]", "$T", &[(1, 0), (1, 1), (1, 2)]),
    (
        4,
        "array<$T, 2> z = {a, b}; z.fill(c); z[0] = a; z.front() == z[0]; z.size() == 2 ? z.back() : z.front()",
        "$T",
        &[(2, 0), (2, 1), (2, 2), (2, 3)],
    ),
    (1, "array<$T, 3> z = {a, b, c}; array_ref<$T> r(z); r[r.size() - 1]", "$T", &[(2, 0)]),
    (1, "uniform<$T> u = b; $T z = u; z", "$T", &[(1, 0)]),
    (1, "uniform<$T> u = make_uniform(b); $T z = u; z", "$T", &[(1, 0)]),
    (1, "as_type<$S>(as_type<vec<uchar, 2>>(as_type<$S>(b)))", "$T", &[(1, 0)]),
    (1, "volatile $T z = a; z = b; $T y = z; y", "$T", &[(1, 0)]),
];

fn every_scalar() -> impl Iterator<Item = Scalar> {
    INTEGERS.into_iter().chain(FLOATS).chain([BOOL])
}

fn picks(t: Scalar) -> Vec<(Use, &'static [(usize, usize)])> {
    // Two bytes as bytes and back: of the types that have two.
    let of_two_bytes = |call: &str| !call.contains("uchar, 2") || t.bits == 16;
    let of = |&(width, call, result, picks): &Pick| {
        let operand = if width == 1 { t.name.to_owned() } else { format!("{}{width}", t.name) };
        (Use::new(call, &operand, result), picks)
    };
    PICKS.iter().filter(|p| of_two_bytes(p.1)).map(of).collect()
}

/// Reinterpretations, that of every type with the same number of bits.
fn reinterpretations() -> Vec<Use> {
    let mut all = Vec::new();
    for operand in types_of("f") {
        all.push(Use::new("as_type<$I>(a)", &operand, "$I"));
        all.push(Use::new("as_type<$T>(as_type<$I>(a))", &operand, "$T"));
    }
    all
}

/// From a type to a type: of numbers, and of vectors, where each type is converted to in every width.
fn conversions(from: Scalar) -> Vec<(Use, Scalar)> {
    let place = every_scalar().position(|t| t.name == from.name).expect("one of them");
    every_scalar()
        .enumerate()
        .flat_map(|(i, to)| {
            let (name, width) = (to.name, 2 + (place + i) % 3);
            [
                (Use::new(&format!("static_cast<{name}>(a)"), from.name, name), to),
                (
                    Use::new(
                        &format!("vec<{name}, {width}>(a)"),
                        &format!("{}{width}", from.name),
                        &format!("{name}{width}"),
                    ),
                    to,
                ),
            ]
        })
        .collect()
}

pub(crate) fn covered() -> BTreeSet<(String, String)> {
    let mut all = BTreeSet::new();
    for t in every_scalar() {
        picks(t).iter().for_each(|(one, _)| all.extend(one.covers()));
        for (one, to) in conversions(t) {
            let target = if one.width() == 1 { to.name.to_owned() } else { one.result };
            all.insert(("static_cast".to_owned(), target));
        }
    }
    reinterpretations().iter().for_each(|one| all.extend(one.covers()));
    all
}

/// Numbers that differ in every byte; of bool, random ones.
fn columns(t: Scalar) -> Vec<Vec<u64>> {
    let mut random = Random(4);
    let mask = if t == BOOL { 1 } else { u64::MAX >> (64 - t.bits) };
    // No NaN: a conversion may change its bits.
    let kept = |x: &u64| !matches!(t.kind, Kind::Float | Kind::Small(_)) || t.float(*x).is_finite();
    (0..3).map(|_| std::iter::repeat_with(|| random.bits() & mask).filter(kept).take(144).collect()).collect()
}

#[test]
fn components_go_where_they_belong() {
    for t in every_scalar() {
        let (columns, picks) = (columns(t), picks(t));
        let uses: Vec<Use> = picks.iter().map(|p| p.0.clone()).collect();
        for ((one, picks), got) in picks.iter().zip(execute(&uses, t, &columns, MathMode::Fast)) {
            let at = |v: usize| picks.iter().map(move |(column, place)| (column, v * one.width() + place));
            let expected: Vec<u64> = (0..144 / one.width()).flat_map(at).map(|(c, i)| columns[*c][i]).collect();
            assert_eq!(got, expected, "{}: {}", one.operand, one.call);
        }
    }
}

#[test]
fn bits_are_reinterpreted() {
    let (t, uses) = (scalar("float"), reinterpretations());
    let columns = columns(t);
    for (one, got) in uses.iter().zip(execute(&uses, t, &columns, MathMode::Fast)) {
        assert_eq!(got, columns[0], "{}: {}", one.operand, one.call);
    }
}

/// Every swizzle of every length, of components by both of their names.
#[test]
fn every_swizzle() {
    let t = scalar("uchar");
    let mut cases = Vec::new();
    for width in 2..5usize {
        for length in 1..5u32 {
            for number in 0..width.pow(length) {
                let places: Vec<usize> = (0..length).map(|k| number / width.pow(k) % width).collect();
                for names in ["xyzw", "rgba"] {
                    let name: String = places.iter().map(|&p| &names[p..=p]).collect();
                    let result = if length == 1 { "$S".to_owned() } else { format!("$S{length}") };
                    cases.push((
                        Use::new(&format!("a.{name}"), &format!("uchar{width}"), &result),
                        places.clone(),
                        false,
                    ));
                    let distinct = places.iter().collect::<BTreeSet<_>>().len() == places.len();
                    if distinct && length > 1 && names == "xyzw" {
                        let call = format!("$T z = a; z.{name} = $S{length}(200); z");
                        cases.push((Use::new(&call, &format!("uchar{width}"), "$T"), places.clone(), true));
                    }
                }
            }
        }
    }
    let column: Vec<u64> = (0..48).collect();
    let uses: Vec<Use> = cases.iter().map(|c| c.0.clone()).collect();
    for ((one, places, written), got) in cases.iter().zip(execute(&uses, t, &[column], MathMode::Fast)) {
        let width = one.width();
        let read = |v: usize| places.iter().map(|p| (v * width + p) as u64).collect::<Vec<u64>>();
        let wrote =
            |v: usize| (0..width).map(|p| if places.contains(&p) { 200 } else { (v * width + p) as u64 }).collect();
        let expected: Vec<u64> = (0..48 / width).flat_map(|v| if *written { wrote(v) } else { read(v) }).collect();
        assert_eq!(got, expected, "{}: {}", one.operand, one.call);
    }
}

/// What a number becomes (8.6): integers keep their low bits; a floating-point number is cut, NaN is 0, and what is out of range, which the
/// specification leaves open, saturates as on Apple's GPUs; to floating point the nearest number; of bool, whether it is not 0.
fn converted(from: Scalar, to: Scalar, bits: u64) -> Vec<u64> {
    let is_float = |t: Scalar| matches!(t.kind, Kind::Float | Kind::Small(_));
    let number = (!is_float(from)).then(|| from.wrap(bits.into()));
    match (number, to.kind) {
        (Some(x), Kind::Bool) => vec![u64::from(x != 0)],
        (None, Kind::Bool) => vec![u64::from(from.float(bits) != 0.0)],
        (Some(x), Kind::Integer { .. }) => vec![to.unsigned(x) as u64],
        (None, Kind::Integer { .. }) => vec![to.unsigned(to.saturate(from.float(bits) as i128)) as u64],
        // f64 may round a number of 64 bits first: the lost part is kept as an odd last bit.
        (Some(x), _) => {
            let kept = (x.unsigned_abs() >> 12 << 12) | u128::from(x.unsigned_abs() & 0xfff != 0) << 12;
            let x = if x.unsigned_abs() >> 50 == 0 { x as f64 } else { kept as f64 * x.signum() as f64 };
            vec![to.nearest(x)]
        }
        (None, _) => vec![to.nearest(from.float(bits))],
    }
}

#[test]
fn numbers_are_converted() {
    let mut wrong = Vec::new();
    for from in every_scalar() {
        let mut numbers: Vec<u64> = match from.kind {
            Kind::Bool => vec![0, 1],
            Kind::Integer { .. } => integer::triples(from).iter().flatten().map(|&x| from.unsigned(x) as u64).collect(),
            _ => float::triples(from).iter().flatten().copied().collect(),
        };
        // Where the types' ranges end and rounding turns.
        if matches!(from.kind, Kind::Float | Kind::Small(_)) {
            for to in INTEGERS {
                for x in [to.low(), to.high()] {
                    numbers.extend([-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5].map(|d| from.nearest(x as f64 + d)));
                }
            }
        } else if from.bits >= 32 {
            numbers.extend((8..from.bits - 1).flat_map(|k| [0u64, 1, 2, 3].map(|d| (1 << k) + (1 << (k - 8)) - 1 + d)));
        }
        numbers.sort_unstable();
        numbers.dedup();
        numbers.truncate(4800);
        while !numbers.len().is_multiple_of(12) {
            numbers.push(numbers[0]);
        }
        let cases = conversions(from);
        let uses: Vec<Use> = cases.iter().map(|c| c.0.clone()).collect();
        for ((one, to), got) in cases.iter().zip(execute(&uses, from, &[numbers.clone()], MathMode::Fast)) {
            let first = |(&bits, got): (&u64, u64)| {
                let expected = converted(from, *to, bits)[0];
                let nan = matches!(to.kind, Kind::Float | Kind::Small(_))
                    && to.float(expected).is_nan()
                    && to.float(got).is_nan();
                (got != expected && !nan)
                    .then(|| format!("{}: {} of {bits:#x}: {got:#x}, not {expected:#x}", one.operand, one.call))
            };
            wrong.extend(numbers.iter().zip(got).find_map(first));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
