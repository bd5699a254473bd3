//! Functions of whole vectors: geometry (MSL 6.8) of floating-point numbers, all and any (6.4) and operators of bool.

use hostmetal::msl::MathMode;

use crate::edges::{Wanted, length, sets, sum};
use crate::number::{BOOL, FLOATS, Scalar};
use crate::stdlib::catalog::{parts, types_of};
use crate::stdlib::{ALL_MODES, Random};
use crate::uses::{Use, execute};

/// The components, and a number that is not smaller than anything on the way to them; None where the specification leaves the result open.
type Whole = fn([&[f64]; 3]) -> Option<(Vec<f64>, f64)>;

/// The types, that of the result, the use, how many halves of a unit of that number it may be off, and what it is.
pub(crate) const ROWS: &[(&str, &str, &str, f64, Whole)] = &[
    ("FB3", "$T", "@cross(a, b)", 4.0, |[a, b, _]| {
        let at = |i: usize, j: usize| (a[i] * b[j] - a[j] * b[i], (a[i] * b[j]).abs() + (a[j] * b[i]).abs());
        let (values, sizes): (Vec<f64>, Vec<f64>) = [at(1, 2), at(2, 0), at(0, 1)].into_iter().unzip();
        Some((values, sizes.iter().fold(0.0, |x, y| y.max(x))))
    }),
    ("FBV", "$S", "@dot(a, b)", 8.0, |[a, b, _]| Some((vec![dot(a, b)], size(a, b)))),
    ("FBV", "$S", "@length(a)", 8.0, |[a, ..]| Some((vec![dot(a, a).sqrt()], dot(a, a).sqrt()))),
    ("FBV", "$S", "@length_squared(a)", 8.0, |[a, ..]| Some((vec![dot(a, a)], dot(a, a)))),
    ("FBV", "$S", "@distance(a, b)", 8.0, |[a, b, _]| {
        let d = minus(a, b);
        Some((vec![dot(&d, &d).sqrt()], dot(&d, &d).sqrt()))
    }),
    ("FBV", "$S", "@distance_squared(a, b)", 12.0, |[a, b, _]| {
        let d = minus(a, b);
        Some((vec![dot(&d, &d)], dot(&d, &d)))
    }),
    ("FBV", "$T", "@normalize(a)", 8.0, |[a, ..]| {
        let length = dot(a, a).sqrt();
        (length != 0.0).then(|| (a.iter().map(|x| x / length).collect(), 1.0))
    }),
    ("FBV", "$T", "@faceforward(a, b, c)", 0.0, |[a, b, c]| {
        let facing = dot(b, c);
        (facing.abs() > size(b, c) / 64.0 || facing == 0.0 && size(b, c) == 0.0)
            .then(|| (a.iter().map(|x| if facing < 0.0 { *x } else { -x }).collect(), 0.0))
    }),
    ("FBV", "$T", "@reflect(a, b)", 24.0, |[a, b, _]| {
        let along = dot(b, a);
        let most = b.iter().fold(0.0, |x: f64, y| x.max(y.abs()));
        let values = a.iter().zip(b).map(|(i, n)| i - 2.0 * along * n).collect();
        Some((values, 2.0 * size(a, b) * most + dot(a, a).sqrt()))
    }),
    ("FBV", "$T", "@refract(a, b, $S(0.5f))", 48.0, |[a, b, _]| refracted(a, b, 0.5)),
    ("FBV", "$T", "@refract(a, b, $S(2.0f))", 48.0, |[a, b, _]| refracted(a, b, 2.0)),
];

type Edge = fn(Scalar, [&[f64]; 3]) -> Vec<Wanted>;

/// What is certain of numbers at the edges of a type, by the formulas of 6.8 in IEEE arithmetic.
const EDGES: &[(&str, Edge)] = &[
    ("cross", |t, [a, b, _]| [(1, 2), (2, 0), (0, 1)].map(|(i, j)| sum(t, &[a[i] * b[j], -a[j] * b[i]], 1)).to_vec()),
    ("dot", |t, [a, b, _]| vec![sum(t, &products(a, b), 1)]),
    ("length", |t, [a, ..]| vec![length(t, a, 0)]),
    ("length_squared", |t, [a, ..]| vec![sum(t, &products(a, a), 1)]),
    ("distance", |t, [a, b, _]| vec![length(t, &minus(a, b), 1)]),
    ("distance_squared", |t, [a, b, _]| vec![sum(t, &products(&minus(a, b), &minus(a, b)), 3)]),
    // To a vector that is infinitely long finite components are nothing, and infinite ones have no ratio.
    ("normalize", |t, [a, ..]| {
        let of = |x: &f64| match length(t, a, 0) {
            Wanted::Nan => Wanted::Nan,
            Wanted::Number(length, _) if length.is_infinite() && a.iter().any(|x| x.is_infinite()) => {
                known(x / length, 0.0)
            }
            Wanted::Number(length, _) if length.is_finite() && length != 0.0 => {
                known(x / length, 12.0 * 2f64.powi(-t.shape().0))
            }
            _ => Wanted::Open,
        };
        a.iter().map(of).collect()
    }),
    ("faceforward", |t, [a, b, c]| {
        let toward = match sum(t, &products(b, c), 1) {
            Wanted::Nan => false,
            Wanted::Number(facing, off) if facing.abs() > off || off == 0.0 => facing < 0.0,
            _ => return vec![Wanted::Open; a.len()],
        };
        a.iter().map(|x| known(if toward { *x } else { -x }, 0.0)).collect()
    }),
    ("reflect", |t, [a, b, _]| {
        if b.iter().all(|n| *n == 0.0) && a.iter().all(|i| i.is_finite()) {
            return a.iter().map(|i| known(*i, 0.0)).collect();
        }
        let small = a.iter().chain(b).all(|x| !x.is_finite() || x.abs() <= 2f64.powi(t.shape().2 / 5));
        let along = dot(b, a);
        let of = |(i, n): (&f64, &f64)| match i - 2.0 * along * n {
            x if small && !x.is_finite() => known(x, 0.0),
            _ => Wanted::Open,
        };
        a.iter().zip(b).map(of).collect()
    }),
    ("refract", |_, [a, b, _]| {
        let nan = a.iter().chain(b).any(|x| x.is_nan());
        vec![if nan { Wanted::Nan } else { Wanted::Open }; a.len()]
    }),
];

fn known(x: f64, off: f64) -> Wanted {
    if x.is_nan() { Wanted::Nan } else { Wanted::Number(x, off) }
}

fn products(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(x, y)| x * y).collect()
}

type Boolean = fn([&[u64]; 3]) -> Vec<bool>;

pub(crate) const BOOLEAN: &[(&str, &str, &str, Boolean)] = &[
    ("?", "bool", "all(a)", |[a, ..]| vec![!a.contains(&0)]),
    ("?", "bool", "any(a)", |[a, ..]| vec![a.contains(&1)]),
    ("?", "$T", "not(a)", |[a, ..]| a.iter().map(|x| *x == 0).collect()),
    ("?", "$T", "!a", |[a, ..]| a.iter().map(|x| *x == 0).collect()),
    ("?", "$T", "select(a, b, c)", |[a, b, c]| {
        (0..a.len()).map(|i| if c[i] == 1 { b[i] } else { a[i] } == 1).collect()
    }),
    ("?", "$T", "a & b", |[a, b, _]| each(a, b, |x, y| x && y)),
    ("?", "$T", "a | b", |[a, b, _]| each(a, b, |x, y| x || y)),
    ("?", "$T", "a ^ b", |[a, b, _]| each(a, b, |x, y| x != y)),
    ("?", "$T", "a && b", |[a, b, _]| each(a, b, |x, y| x && y)),
    ("?", "$T", "a || b", |[a, b, _]| each(a, b, |x, y| x || y)),
    ("?", "$T", "a == b", |[a, b, _]| each(a, b, |x, y| x == y)),
    ("?", "$T", "a != b", |[a, b, _]| each(a, b, |x, y| x != y)),
];

fn each(a: &[u64], b: &[u64], f: fn(bool, bool) -> bool) -> Vec<bool> {
    a.iter().zip(b).map(|(x, y)| f(*x == 1, *y == 1)).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn size(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x * y).abs()).sum()
}

fn minus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(x, y)| x - y).collect()
}

/// 6.8; near total reflection a rounding decides.
fn refracted(a: &[f64], b: &[f64], eta: f64) -> Option<(Vec<f64>, f64)> {
    let along = dot(b, a);
    let k = 1.0 - eta * eta * (1.0 - along * along);
    let terms = 1.0 + eta * eta * (1.0 + size(a, b) * size(a, b));
    if k.abs() < terms / 8.0 {
        return None;
    }
    if k < 0.0 {
        return Some((vec![0.0; a.len()], 0.0));
    }
    let values = a.iter().zip(b).map(|(i, n)| eta * i - (eta * along + k.sqrt()) * n).collect();
    let most = b.iter().chain(a).fold(1.0, |x: f64, y| x.max(y.abs()));
    Some((values, terms * most))
}

pub(crate) fn uses(t: Scalar) -> Vec<(Use, f64, Whole)> {
    let mut all = Vec::new();
    for &(types, result, call, halves, whole) in ROWS {
        for operand in types_of(types).iter().filter(|o| parts(o).0 == t.name) {
            for space in if t.name == "float" { ["", "fast::", "precise::"].as_slice() } else { &[""] } {
                all.push((Use::new(&call.replace('@', space), operand, result), halves, whole));
            }
        }
    }
    all
}

pub(crate) fn boolean_uses() -> Vec<(Use, Boolean)> {
    let of = |&(types, result, call, f): &(&str, &str, &str, Boolean)| {
        types_of(types).into_iter().map(move |operand| (Use::new(call, &operand, result), f)).collect::<Vec<_>>()
    };
    BOOLEAN.iter().flat_map(of).collect()
}

/// Of small numbers, unit vectors, zeros, and some whose squares leave half's range.
fn columns(t: Scalar) -> Vec<Vec<u64>> {
    let mut random = Random(5);
    let mut column = |c: usize| -> Vec<u64> {
        (0..1200usize)
            .map(|i| match i / 12 {
                0..40 => f64::from((random.bits() % 65) as i32 - 32) / 8.0,
                40..60 => f64::from(u8::from(i % 12 % (c + 2) == 0)),
                60..80 => f64::from(random.between(-1.0, 1.0)),
                80..90 => f64::from(random.between(-300.0, 300.0)),
                _ => f64::from(random.between(-0.01, 0.01)),
            })
            .map(|x| t.nearest(x))
            .collect()
    };
    (0..3).map(&mut column).collect()
}

#[test]
fn geometry() {
    let mut wrong = Vec::new();
    for t in FLOATS {
        let uses_of = uses(t);
        let columns = columns(t);
        let numbers: Vec<Vec<f64>> = columns.iter().map(|c| c.iter().map(|&x| t.float(x)).collect()).collect();
        for mode in ALL_MODES {
            let all: Vec<Use> = uses_of.iter().map(|u| u.0.clone()).collect();
            let results = execute(&all, t, &columns, mode);
            for ((one, halves, whole), results) in uses_of.iter().zip(results) {
                let (width, outs) = (one.width(), results.len() / (1200 / one.width()));
                let first = |(v, got): (usize, &[u64])| {
                    let vector = |c: usize| &numbers[c][v * width..(v + 1) * width];
                    let (exact, size) = whole([vector(0), vector(1), vector(2)])?;
                    let (fraction, smallest, largest) = t.shape();
                    if size >= 2f64.powi(largest) {
                        return None;
                    }
                    let unit = 2f64.powi(((size.to_bits() >> 52) as i32 - 1023).max(smallest) - fraction);
                    let got: Vec<f64> = got.iter().map(|&x| t.float(x)).collect();
                    // In fast mode a division is by a reciprocal.
                    let slack = if mode == MathMode::Fast { 4.0 } else { 0.0 };
                    let allowed = if *halves == 0.0 { 0.0 } else { (halves + slack) / 2.0 * unit };
                    let near = got.iter().zip(&exact).all(|(g, e)| (g - e).abs() <= allowed);
                    (!near).then(|| {
                        format!(
                            "{}: {} of {:?} {:?} {:?} in {mode:?}: {got:?}, not {exact:?}",
                            one.operand,
                            one.call,
                            vector(0),
                            vector(1),
                            vector(2)
                        )
                    })
                };
                wrong.extend(results.chunks_exact(outs).enumerate().find_map(first));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Of vectors with numbers of one set, among others in most, and whose squares overflow.
fn edges(t: Scalar) -> Vec<Vec<u64>> {
    let (fraction, smallest, largest) = t.shape();
    let mut sets = sets(t);
    let large = [largest / 2 + 2, largest * 3 / 4].map(|exponent| t.nearest(1.7 * 2f64.powi(exponent)));
    let tiny = t.nearest(5.0 * 2f64.powi(smallest - fraction));
    sets.extend([large.to_vec(), [large[0], tiny, t.nearest(0.0)].to_vec()]);
    let mut random = Random(7);
    let mut column = |c: usize| -> Vec<u64> {
        let mut of = |i: usize| {
            let (bits, set) = (random.bits() as usize, &sets[i / 12 % sets.len()]);
            match i / 12 / sets.len() {
                1 if c == 1 => t.nearest(0.0),
                round if bits % [1, 1, 2, 3, 3, 4, 4][round] == 0 => set[bits / 64 % set.len()],
                _ => t.nearest(random.between(-2.0, 2.0).into()),
            }
        };
        (0..1200).map(&mut of).collect()
    };
    (0..3).map(&mut column).collect()
}

#[test]
fn geometry_at_the_edges_of_types() {
    let mut wrong = Vec::new();
    for t in FLOATS {
        let uses: Vec<Use> = uses(t).into_iter().map(|one| one.0).collect();
        let columns = edges(t);
        let numbers: Vec<Vec<f64>> = columns.iter().map(|c| c.iter().map(|&x| t.float(x)).collect()).collect();
        for mode in ALL_MODES {
            for (one, results) in uses.iter().zip(execute(&uses, t, &columns, mode)) {
                let name = one.call.rsplit("::").next().and_then(|call| call.split('(').next());
                let (_, edge) = EDGES.iter().find(|row| Some(row.0) == name).expect("a row for each function");
                let (width, outs) = (one.width(), results.len() / (1200 / one.width()));
                let first = |(v, got): (usize, &[u64])| {
                    let vector = |c: usize| &numbers[c][v * width..(v + 1) * width];
                    let operands = [vector(0), vector(1), vector(2)];
                    let (wanted, got) = (edge(t, operands), got.iter().map(|&x| t.float(x)).collect::<Vec<f64>>());
                    let right = wanted.len() == got.len() && wanted.iter().zip(&got).all(|(w, g)| w.takes(*g));
                    (!right).then(|| {
                        format!("{}: {} of {operands:?} in {mode:?}: {got:?}, not {wanted:?}", one.operand, one.call)
                    })
                };
                wrong.extend(results.chunks_exact(outs).enumerate().find_map(first));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn booleans() {
    // All of three bits per component, and so all vectors, in some order.
    let mut random = Random(6);
    let columns: Vec<Vec<u64>> = (0..3).map(|_| (0..4800).map(|_| random.bits() % 2).collect()).collect();
    let uses = boolean_uses();
    let all: Vec<Use> = uses.iter().map(|u| u.0.clone()).collect();
    for ((one, f), results) in uses.iter().zip(execute(&all, BOOL, &columns, MathMode::Fast)) {
        let width = one.width();
        for (v, got) in results.chunks_exact(results.len() * width / 4800).enumerate() {
            let vector = |c: usize| &columns[c][v * width..(v + 1) * width];
            let operands = [vector(0), vector(1), vector(2)];
            let expected: Vec<u64> = f(operands).into_iter().map(u64::from).collect();
            assert_eq!(got, expected, "{}: {} of {operands:?}", one.operand, one.call);
        }
    }
}
