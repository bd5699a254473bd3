//! Floating-point functions of components (MSL 6.2, 6.4, 6.5) and operators (3.1): the references are in f64, the accuracy is that of tables
//! 8.1 to 8.5.

use hostmetal::msl::MathMode;

use crate::number::{BFLOATS, FLOAT, HALVES, Scalar};
use crate::stdlib::Random;
use crate::stdlib::catalog::{parts, types_of};
use crate::uses::{Use, execute};

pub(crate) type Number = fn(Scalar, [f64; 3]) -> f64;
type Test = fn(Scalar, [f64; 3]) -> bool;

#[derive(Clone, Copy)]
pub(crate) enum Expect {
    /// The number itself, in every mode.
    Exact(Number),
    /// Correctly rounded; in fast mode within 2.5 units of the last place, the most that table 8.2 allows any of these.
    Correct(Number),
    /// Within so many units, the table's of float; within one of half (8.3) and bfloat. In fast mode, for which table 8.2 allows far more, 2.5.
    Ulps(f64, Number),
    /// A formula of several roundings: within so many halves of a unit of a number that is not smaller than anything on its way.
    Near(f64, fn(Scalar, [f64; 3]) -> (f64, f64)),
    Holds(Test),
    Integer(fn(Scalar, f64) -> i128),
}
use Expect::{Correct, Exact, Holds, Integer, Near, Ulps};

/// The types, as in coverage.txt, that of the result, the use, and what it is for each component. An @ is a namespace where the type is float.
pub(crate) const ROWS: &[(&str, &str, &str, Expect)] = &[
    ("FB", "$T", "@acos(a)", Ulps(4.0, |_, [x, ..]| x.acos())),
    ("FB", "$T", "@acosh(a)", Ulps(4.0, |_, [x, ..]| x.acosh())),
    ("FB", "$T", "@asin(a)", Ulps(4.0, |_, [x, ..]| x.asin())),
    // f64::asinh cancels for large negative numbers; the function is odd.
    ("FB", "$T", "@asinh(a)", Ulps(4.0, |_, [x, ..]| x.abs().asinh().copysign(x))),
    ("FB", "$T", "@atan(a)", Ulps(5.0, |_, [x, ..]| x.atan())),
    ("FB", "$T", "@atan2(a, b)", Ulps(6.0, |_, [x, y, _]| x.atan2(y))),
    ("FB", "$T", "@atanh(a)", Ulps(5.0, |_, [x, ..]| x.atanh())),
    ("FB", "$T", "@ceil(a)", Exact(|_, [x, ..]| x.ceil())),
    ("FB", "$T", "@copysign(a, b)", Exact(|_, [x, y, _]| x.copysign(y))),
    ("FB", "$T", "@cos(a)", Ulps(4.0, |_, [x, ..]| x.cos())),
    ("FB", "$T", "@cosh(a)", Ulps(4.0, |_, [x, ..]| x.cosh())),
    ("FB", "$T", "@cospi(a)", Ulps(4.0, |_, [x, ..]| quarter(x, 1))),
    ("FB", "$T", "@divide(a, b)", Correct(|_, [x, y, _]| x / y)),
    ("FB", "$T", "@exp(a)", Ulps(4.0, |_, [x, ..]| x.exp())),
    ("FB", "$T", "@exp2(a)", Ulps(4.0, |_, [x, ..]| x.exp2())),
    ("FB", "$T", "@exp10(a)", Ulps(4.0, |_, [x, ..]| 10f64.powf(x))),
    ("FB", "$T", "@fabs(a)", Exact(|_, [x, ..]| x.abs())),
    ("FB", "$T", "@abs(a)", Exact(|_, [x, ..]| x.abs())),
    ("FB", "$T", "@fdim(a, b)", Exact(|_, [x, y, _]| if x <= y { 0.0 } else { x - y })),
    ("FB", "$T", "@floor(a)", Exact(|_, [x, ..]| x.floor())),
    ("FB", "$T", "@fma(a, b, c)", Exact(|_, [x, y, z]| sum_to_odd(x * y, z))),
    ("FB", "$T", "@fmax(a, b)", Exact(|_, [x, y, _]| x.max(y))),
    ("FB", "$T", "@max(a, b)", Exact(|_, [x, y, _]| x.max(y))),
    ("FB", "$T", "@fmax3(a, b, c)", Exact(|_, [x, y, z]| x.max(y).max(z))),
    ("FB", "$T", "@max3(a, b, c)", Exact(|_, [x, y, z]| x.max(y).max(z))),
    ("FB", "$T", "@fmedian3(a, b, c)", Exact(|_, all| median(all))),
    ("FB", "$T", "@median3(a, b, c)", Exact(|_, all| median(all))),
    ("FB", "$T", "@fmin(a, b)", Exact(|_, [x, y, _]| x.min(y))),
    ("FB", "$T", "@min(a, b)", Exact(|_, [x, y, _]| x.min(y))),
    ("FB", "$T", "@fmin3(a, b, c)", Exact(|_, [x, y, z]| x.min(y).min(z))),
    ("FB", "$T", "@min3(a, b, c)", Exact(|_, [x, y, z]| x.min(y).min(z))),
    ("FB", "$T", "@fmod(a, b)", Exact(|_, [x, y, _]| x % y)),
    ("FB", "$T", "@fract(a)", Exact(|t, [x, ..]| if x.is_nan() { x } else { (x - x.floor()).min(1.0 - below_one(t)) })),
    ("FB", "$T", "$I e; @frexp(a, e)", Exact(|_, [x, ..]| split(x).0)),
    ("FB", "$I", "$I e; $T unused = @frexp(a, e); (void)unused; e", Integer(|_, x| split(x).1.into())),
    ("FB", "$I", "@ilogb(a)", Integer(|_, x| (split(x).1 - 1).into())),
    ("FB", "$T", "@ldexp(a, $I(b))", Exact(|_, [x, y, _]| scaled(x, to_int(y)))),
    ("FB", "$T", "@log(a)", Ulps(4.0, |_, [x, ..]| x.ln())),
    ("FB", "$T", "@log2(a)", Ulps(4.0, |_, [x, ..]| x.log2())),
    ("FB", "$T", "@log10(a)", Ulps(4.0, |_, [x, ..]| x.log10())),
    ("FB", "$T", "$T whole; @modf(a, whole)", Exact(|_, [x, ..]| fraction(x))),
    ("FB", "$T", "$T whole; $T unused = @modf(a, whole); (void)unused; whole", Exact(|_, [x, ..]| x.trunc())),
    ("FB", "$T", "@nextafter(a, b)", Exact(|t, [x, y, _]| next(t, x, y))),
    ("FB", "$T", "@pow(a, b)", Ulps(16.0, |_, [x, y, _]| x.powf(y))),
    ("FB", "$T", "@powr(a, b)", Ulps(16.0, |_, [x, y, _]| if x < 0.0 { f64::NAN } else { x.powf(y) })),
    ("FB", "$T", "@rint(a)", Exact(|_, [x, ..]| x.round_ties_even())),
    ("FB", "$T", "@round(a)", Exact(|_, [x, ..]| x.round())),
    ("FB", "$T", "@rsqrt(a)", Correct(|_, [x, ..]| 1.0 / x.sqrt())),
    ("FB", "$T", "@sin(a)", Ulps(4.0, |_, [x, ..]| x.sin())),
    ("FB", "$T", "$T cosine; @sincos(a, cosine)", Ulps(4.0, |_, [x, ..]| x.sin())),
    ("FB", "$T", "$T cosine; $T unused = @sincos(a, cosine); (void)unused; cosine", Ulps(4.0, |_, [x, ..]| x.cos())),
    ("FB", "$T", "@sinh(a)", Ulps(4.0, |_, [x, ..]| x.sinh())),
    ("FB", "$T", "@sinpi(a)", Ulps(4.0, |_, [x, ..]| quarter(x, 0))),
    ("FB", "$T", "@sqrt(a)", Correct(|_, [x, ..]| x.sqrt())),
    ("FB", "$T", "@tan(a)", Ulps(6.0, |_, [x, ..]| x.tan())),
    ("FB", "$T", "@tanh(a)", Ulps(5.0, |_, [x, ..]| x.tanh())),
    ("FB", "$T", "@tanpi(a)", Ulps(6.0, |_, [x, ..]| quarter(x, 0) / quarter(x, 1))),
    ("FB", "$T", "@trunc(a)", Exact(|_, [x, ..]| x.trunc())),
    // 6.2
    ("FB", "$T", "@clamp(a, b, c)", Exact(|_, [x, y, z]| x.max(y).min(z))),
    ("FB", "$T", "@saturate(a)", Exact(|_, [x, ..]| if x.is_nan() { 0.0 } else { x.clamp(0.0, 1.0) })),
    (
        "FB",
        "$T",
        "@sign(a)",
        Exact(|_, [x, ..]| {
            if x.is_nan() {
                0.0
            } else if x == 0.0 {
                x
            } else {
                x.signum()
            }
        }),
    ),
    ("FB", "$T", "@step(a, b)", Exact(|_, [x, y, _]| f64::from(y >= x))),
    (
        "FB",
        "$T",
        "@mix(a, b, c)",
        Near(4.0, |_, [x, y, z]| (x + (y - x) * z, x.abs() + (x.abs() + y.abs()) * z.abs().max(1.0))),
    ),
    ("FB", "$T", "@mix(a, b, $S(0.5f))", Near(4.0, |_, [x, y, _]| ((x + y) / 2.0, x.abs() + y.abs()))),
    ("FB", "$T", "@smoothstep(a, b, c)", Near(16.0, smoothstep)),
    // 6.4
    ("FB", "$B", "isfinite(a)", Holds(|_, [x, ..]| x.is_finite())),
    ("FB", "$B", "isinf(a)", Holds(|_, [x, ..]| x.is_infinite())),
    ("FB", "$B", "isnan(a)", Holds(|_, [x, ..]| x.is_nan())),
    ("FB", "$B", "isnormal(a)", Holds(|t, [x, ..]| x.is_finite() && x.abs() >= 2f64.powi(t.shape().1))),
    ("FB", "$B", "isordered(a, b)", Holds(|_, [x, y, _]| !x.is_nan() && !y.is_nan())),
    ("FB", "$B", "isunordered(a, b)", Holds(|_, [x, y, _]| x.is_nan() || y.is_nan())),
    ("FB", "$B", "signbit(a)", Holds(|_, [x, ..]| x.is_sign_negative())),
    ("FB", "$T", "select(a, b, c > $T($S(0.0f)))", Exact(|_, [x, y, z]| if z > 0.0 { y } else { x })),
    ("FB", "$T", "select(a, b, $B(true))", Exact(|_, [_, y, _]| y)),
    // 3.1
    ("FB", "$T", "a + b", Correct(|_, [x, y, _]| sum_to_odd(x, y))),
    ("FB", "$T", "a - b", Correct(|_, [x, y, _]| sum_to_odd(x, -y))),
    ("FB", "$T", "a * b", Correct(|_, [x, y, _]| x * y)),
    ("FB", "$T", "a / b", Correct(|_, [x, y, _]| x / y)),
    ("FB", "$T", "a + $S(2.5f)", Correct(|_, [x, ..]| sum_to_odd(x, 2.5))),
    ("FB", "$T", "$S(2.5f) / b", Correct(|_, [_, y, _]| 2.5 / y)),
    ("FB", "$T", "-a", Exact(|_, [x, ..]| -x)),
    ("FB", "$T", "+a", Exact(|_, [x, ..]| x)),
    ("FB", "$T", "$T z = a; z += b; z", Correct(|_, [x, y, _]| sum_to_odd(x, y))),
    ("FB", "$T", "$T z = a; z -= b; z", Correct(|_, [x, y, _]| sum_to_odd(x, -y))),
    ("FB", "$T", "$T z = a; z *= b; z", Correct(|_, [x, y, _]| x * y)),
    ("FB", "$T", "$T z = a; z /= b; z", Correct(|_, [x, y, _]| x / y)),
    ("FB", "$T", "$T z = a; z *= $S(3.0f); z", Correct(|_, [x, ..]| x * 3.0)),
    ("FB", "$B", "a < b", Holds(|_, [x, y, _]| x < y)),
    ("FB", "$B", "a <= b", Holds(|_, [x, y, _]| x <= y)),
    ("FB", "$B", "a > b", Holds(|_, [x, y, _]| x > y)),
    ("FB", "$B", "a >= b", Holds(|_, [x, y, _]| x >= y)),
    ("FB", "$B", "a == b", Holds(|_, [x, y, _]| x == y)),
    ("FB", "$B", "a != b", Holds(|_, [x, y, _]| x != y)),
    ("FB", "$B", "a == $S(1.0f)", Holds(|_, [x, ..]| x == 1.0)),
    ("FB", "$B", "(a < b) && (b < c)", Holds(|_, [x, y, z]| x < y && y < z)),
    ("FB", "$B", "(a < b) || (b < c)", Holds(|_, [x, y, z]| x < y || y < z)),
    ("FB", "$B", "!(a < b)", Holds(|_, [x, y, _]| x >= y || x.is_nan() || y.is_nan())),
    ("FB", "$T", "i < 4294967295u ? a : b", Exact(|_, [x, ..]| x)),
    // Estimates with a Newton step would make NaN of these at 0 and infinity.
    ("FB", "$T", "$S(1.0f) / a", Correct(|_, [x, ..]| 1.0 / x)),
    ("f", "$T", "$S(1.0f) / sqrt(a)", Ulps(2.5, |_, [x, ..]| 1.0 / x.sqrt())),
    // With one rounding or with two.
    ("FB", "$P", "a * b + c", Near(3.0, |_, [x, y, z]| (x * y + z, (x * y).abs() + z.abs()))),
    // 2.2.3
    ("FBV", "$T", "packed_vec<$S, $N> p(a), q(b); p + q", Correct(|_, [x, y, _]| sum_to_odd(x, y))),
    ("FBV", "$T", "packed_vec<$S, $N> p(a); p - b", Correct(|_, [x, y, _]| sum_to_odd(x, -y))),
    ("FBV", "$T", "packed_vec<$S, $N> q(b); a * q", Correct(|_, [x, y, _]| x * y)),
    ("FBV", "$T", "packed_vec<$S, $N> p(a); p / $S(4.0f)", Correct(|_, [x, ..]| x / 4.0)),
    ("FBV", "$T", "packed_vec<$S, $N> p(a); p += b; p", Correct(|_, [x, y, _]| sum_to_odd(x, y))),
    ("FBV", "$T", "packed_vec<$S, $N> p(a); -p", Exact(|_, [x, ..]| -x)),
    ("FBV", "$B", "packed_vec<$S, $N> p(a), q(b); p < q", Holds(|_, [x, y, _]| x < y)),
    ("FBV", "$B", "packed_vec<$S, $N> p(a); p == b", Holds(|_, [x, y, _]| x == y)),
    ("FBV", "$B", "packed_vec<$S, $N> p(a), q(b), r(c); p < q && q < r", Holds(|_, [x, y, z]| x < y && y < z)),
];
/// sin(pi x) for a quarter turn more or less.
fn quarter(x: f64, shift: i64) -> f64 {
    if !x.is_finite() {
        return f64::NAN;
    }
    let turn = x % 2.0;
    let quarters = (2.0 * turn).round_ties_even();
    let angle = std::f64::consts::PI * (turn - quarters / 2.0);
    match (quarters as i64 + shift).rem_euclid(4) {
        0 => angle.sin(),
        1 => angle.cos(),
        2 => -angle.sin(),
        _ => -angle.cos(),
    }
}

/// a + b; what does not fit f64 becomes an odd last bit, so that rounding once more is right.
fn sum_to_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let lost = (a - (sum - b)) + (b - (sum - (sum - b)));
    if !sum.is_finite() || lost == 0.0 || lost.is_nan() || sum.to_bits() & 1 == 1 {
        sum
    } else if (lost > 0.0) == (sum > 0.0) {
        f64::from_bits(sum.to_bits() + 1)
    } else {
        f64::from_bits(sum.to_bits() - 1)
    }
}

fn median([x, y, z]: [f64; 3]) -> f64 {
    let mut all = [x, y, z];
    all.sort_by(f64::total_cmp);
    all[1]
}

/// What 1 is larger than the number before it.
fn below_one(t: Scalar) -> f64 {
    2f64.powi(-t.shape().0 - 1)
}

/// frexp.
fn split(x: f64) -> (f64, i32) {
    if x == 0.0 || !x.is_finite() {
        return (x, 0);
    }
    let exponent = (x.abs().to_bits() >> 52) as i32 - 1022;
    (scaled(x, -i64::from(exponent)), exponent)
}

/// x times 2 to the n, exact for numbers of these types.
fn scaled(x: f64, n: i64) -> f64 {
    x * 2f64.powi(n.clamp(-600, 600) as i32)
}

/// Conversion to int (8.6); beyond its range it saturates, as on Apple's GPUs.
fn to_int(x: f64) -> i64 {
    i64::from(x as i32)
}

fn fraction(x: f64) -> f64 {
    if x.is_infinite() { 0f64.copysign(x) } else { (x - x.trunc()).copysign(x) }
}

/// By the order of the bits.
fn next(t: Scalar, x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() {
        return f64::NAN;
    }
    if x == y {
        return y;
    }
    let order = |bits: u64| {
        let sign = 1u64 << (t.bits - 1);
        let magnitude = (bits & (sign - 1)) as i64;
        if bits & sign == 0 { magnitude } else { -magnitude }
    };
    let place = order(t.nearest(x)) + if y > x { 1 } else { -1 };
    // From the smallest number towards zero: the zero of that side.
    t.float(place.unsigned_abs()).copysign(if place == 0 { x } else { place as f64 })
}

fn smoothstep(t: Scalar, [low, high, x]: [f64; 3]) -> (f64, f64) {
    let most = t.float(t.nearest(f64::MAX)).min(2f64.powi(t.shape().2));
    if low >= high || (x - low).abs() > most || high - low > most || [low, high, x].iter().any(|v| !v.is_finite()) {
        return (f64::NAN, f64::NAN);
    }
    let at = ((x - low) / (high - low)).clamp(0.0, 1.0);
    (at * at * (3.0 - 2.0 * at), at)
}

/// Where the specification, or the order of two roundings, leaves the result open.
fn open(call: &str, [x, y, z]: [f64; 3]) -> bool {
    let name = call.split('(').next().unwrap_or_default().rsplit([':', ' ']).next().unwrap_or_default();
    match name {
        // 6.2: undefined where minval > maxval; NaN as a limit is no limit.
        "clamp" => y > z || y.is_nan() || z.is_nan(),
        "step" => x.is_nan() || y.is_nan(),
        "fract" => x.is_infinite(),
        // 6.5: the middle of three of which one is NaN is not said.
        "median3" | "fmedian3" => [x, y, z].iter().any(|v| v.is_nan()),
        // The reference has the sign of a division by a zero that is one of rounding.
        "tanpi" => quarter(x, 1) == 0.0,
        // Without a value in the type: FP_ILOGB0 and FP_ILOGBNAN are tested with the constants.
        "ilogb" => x == 0.0 || !x.is_finite(),
        // The exponent of infinity and NaN is not said.
        "frexp" if call.ends_with('e') => !x.is_finite(),
        _ => false,
    }
}

/// Zeros whose sign the specification does not give, or gives to any of two equal arguments.
fn signless(call: &str) -> bool {
    ["max", "min", "median", "clamp", "saturate", "pi(", "mix", "fdim"].iter().any(|name| call.contains(name))
}

/// Numbers where functions turn, overflow or change sign.
fn specials(t: Scalar) -> Vec<f64> {
    let (fraction, smallest, largest) = t.shape();
    let tiny = 2f64.powi(smallest - fraction);
    let most = (2.0 - 2f64.powi(-fraction)) * 2f64.powi(largest);
    let mut all = vec![0.0, 1.0, 0.5, 2.0, f64::INFINITY, most, 2f64.powi(smallest), tiny, 2f64.powi(smallest) - tiny];
    all.extend([0.25, 0.75, 1.5, 2.5, 3.0, 1e-10, 1e-30, 100.0, 88.0, 89.0, 104.0, 127.5, 128.0, 149.0, 150.0]);
    all.extend([38.5, 39.0, 1e6, 1e9, 16_777_216.0, 8_388_609.0, 8_388_607.5, 1e30, 10.0, 1000.0, 2048.0, 0.1]);
    all.extend([
        1.0 - 2f64.powi(-fraction - 1),
        1.0 + 2f64.powi(-fraction),
        std::f64::consts::PI,
        std::f64::consts::FRAC_PI_2,
    ]);
    all.extend(all.clone().iter().map(|x| -x));
    all.push(f64::NAN);
    all.iter().map(|&x| t.float(t.nearest(x))).collect()
}

/// Triples: each special number with each, random ones of the usual ranges and of all bits; then all numbers of 16 bits.
pub(crate) fn triples(t: Scalar) -> Vec<[u64; 3]> {
    let specials: Vec<u64> = specials(t).into_iter().map(|x| t.nearest(x)).collect();
    let mut random = Random(9);
    let mut all = Vec::new();
    for &x in &specials {
        for &y in &specials {
            all.push([x, y, specials[random.bits() as usize % specials.len()]]);
        }
    }
    let mask = (1u64 << t.bits) - 1;
    for (low, high) in [(-10.0, 10.0), (-1.0, 1.0), (0.0, 20.0), (0.0, 1e5)] {
        all.extend((0..300).map(|_| [0; 3].map(|_| t.nearest(random.between(low, high).into()))));
    }
    all.extend((0..1200).map(|_| [0; 3].map(|_| random.bits() & mask)));
    // Numbers of one binade and one far below make ties that a sum rounded twice gets wrong.
    let (fraction, ..) = t.shape();
    let one = t.nearest(1.0);
    all.extend((0..600).map(|_| {
        let near = random.bits() & ((1 << fraction) - 1);
        let far = t.nearest(2f64.powi(-fraction - (random.bits() % 4) as i32));
        [one | near, one | random.bits() & ((1 << fraction) - 1), far | (random.bits() & 1) << (t.bits - 1)]
    }));
    all.truncate(all.len() / 12 * 12);
    all
}

fn every_number(t: Scalar) -> Vec<[u64; 3]> {
    let mut random = Random(11);
    (0..1 << t.bits).map(|x| [x, random.bits() >> 48, random.bits() >> 48]).collect()
}

/// The uses of a type, in some namespaces where they have any.
pub(crate) fn uses(t: Scalar, spaces: &[&str]) -> Vec<(Use, Expect)> {
    let mut all = Vec::new();
    for &(types, result, call, expect) in ROWS {
        for operand in types_of(types).iter().filter(|o| parts(o).0 == t.name) {
            for space in if call.contains('@') { spaces } else { &[""] } {
                all.push((Use::new(&call.replace('@', space), operand, result), expect));
            }
        }
    }
    all
}

/// What may be between a result and its number, in units of the last place.
fn units(expect: Expect, t: Scalar, loose: bool) -> f64 {
    match expect {
        Correct(_) if loose => 2.5,
        Ulps(..) if t != FLOAT => 1.0,
        Ulps(units, _) if loose => units.max(2.5),
        Ulps(units, _) => units,
        _ => 0.0,
    }
}

/// What is wrong with a result, in a mode that is loose in fast mode. Nothing where it is open.
fn fault(expect: Expect, t: Scalar, call: &str, triple: [f64; 3], got: u64, loose: bool) -> Option<String> {
    if open(call, triple) {
        return None;
    }
    let signed_zeros = !loose && !signless(call);
    let within = |exact: f64, units: f64| {
        let off = t.ulps(got, exact, signed_zeros);
        (off > units).then(|| format!("{:e}, not {exact:e}: {off} ulp", t.float(got)))
    };
    match expect {
        Exact(f) | Correct(f) | Ulps(_, f) => within(f(t, triple), units(expect, t, loose)),
        Near(halves, f) => {
            let (exact, size) = f(t, triple);
            let ((fraction, smallest, largest), got) = (t.shape(), t.float(got));
            let unit = 2f64.powi(((size.to_bits() >> 52) as i32 - 1023).max(smallest) - fraction);
            let same = got.is_nan() && exact.is_nan() || (got - exact).abs() <= halves / 2.0 * unit;
            (size < 2f64.powi(largest) && !same).then(|| format!("{got:e}, not {exact:e}"))
        }
        Holds(f) => (got != u64::from(f(t, triple))).then(|| format!("{got}")),
        Integer(f) => (i128::from(got as i32) != f(t, triple[0])).then(|| format!("{}", got as i32)),
    }
}

fn check(t: Scalar, triples: &[[u64; 3]], spaces: &[&str], mode: MathMode) {
    let (uses, expects): (Vec<Use>, Vec<Expect>) = uses(t, spaces).into_iter().unzip();
    let columns: Vec<Vec<u64>> = (0..3).map(|c| triples.iter().map(|v| v[c]).collect()).collect();
    let results = execute(&uses, t, &columns, mode);
    let mut wrong = Vec::new();
    for ((one, expect), results) in uses.iter().zip(expects).zip(results) {
        let loose = mode != MathMode::Safe && !one.call.contains("precise::");
        let first = |(bits, &got): (&[u64; 3], &u64)| {
            let triple = bits.map(|b| t.float(b));
            let text = fault(expect, t, &one.call, triple, got, loose)?;
            Some(format!("{}: {} of {triple:?} in {mode:?}: {text}", one.operand, one.call))
        };
        wrong.extend(triples.iter().zip(&results).find_map(first));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn functions_of_float() {
    check(FLOAT, &triples(FLOAT), &[""], MathMode::Safe);
}

#[test]
fn functions_of_float_in_fast_mode() {
    check(FLOAT, &triples(FLOAT), &["", "fast::", "precise::"], MathMode::Fast);
}

#[test]
fn functions_of_float_in_relaxed_mode() {
    check(FLOAT, &triples(FLOAT), &["", "fast::", "precise::"], MathMode::Relaxed);
}

#[test]
fn functions_of_half_and_bfloat() {
    for t in [HALVES, BFLOATS] {
        let all: Vec<[u64; 3]> = triples(t).into_iter().chain(every_number(t)).collect();
        check(t, &all[..all.len() / 12 * 12], &[""], MathMode::Safe);
        check(t, &triples(t), &[""], MathMode::Fast);
    }
}

/// How many of all floats the documented table was measured with, beside the test's numbers.
const SPREAD: u64 = 1 << 20;

/// What a function of floats may be off by, as the document says it; nothing for what is not measured in units.
fn bound(expect: Expect, loose: bool) -> Option<String> {
    match (expect, units(expect, FLOAT, loose)) {
        (Exact(_), 0.0) => Some("exact".to_owned()),
        (Correct(_), 0.0) => Some("correctly rounded".to_owned()),
        (Exact(_) | Correct(_) | Ulps(..), units) => Some(units.to_string()),
        _ => None,
    }
}

/// docs/HOSTMETAL.md states of each function of floats what the tests hold it to. With `UPDATE_EXPECT=1` what is found with far more numbers is measured and written too.
#[test]
fn accuracy_is_documented() {
    const HEAD: &str =
        "| function | safe math, `precise::` | fast math, `fast::` | worst, safe math | worst, `fast::` |";
    let book = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/HOSTMETAL.md");
    let text = std::fs::read_to_string(book).expect("the document");
    let rows = text.lines().skip_while(|line| *line != HEAD).skip(2).take_while(|line| line.starts_with('|'));
    let documented: Vec<Vec<&str>> =
        rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect()).collect();

    let of_float = |space| uses(FLOAT, &[space]).into_iter().filter(|(one, _)| one.operand == "float");
    let named = |call: &str| call.split("fast::").nth(1)?.split('(').next().map(|name| format!("`{name}`"));
    // Only the first use of a function counts: others look at another of its results, which has the same bound.
    let mut table: Vec<(String, [String; 2], usize)> = Vec::new();
    for (row, (one, expect)) in of_float("fast::").enumerate() {
        if let (Some(name), Some(safe), Some(fast)) = (named(&one.call), bound(expect, false), bound(expect, true))
            && table.iter().all(|(known, ..)| *known != name)
        {
            table.push((name, [safe, fast], row));
        }
    }
    let wanted: Vec<[&str; 3]> = table.iter().map(|(name, [safe, fast], _)| [&**name, safe, fast]).collect();
    if std::env::var_os("UPDATE_EXPECT").is_none() {
        let stated: Vec<&[&str]> = documented.iter().map(|row| &row[..3]).collect();
        assert_eq!(stated, wanted, "UPDATE_EXPECT=1 measures and writes docs/HOSTMETAL.md anew");
        return;
    }

    let mut random = Random(13);
    let mut numbers = triples(FLOAT);
    numbers.extend(
        (0..SPREAD).map(|i| [i * ((1 << 32) / SPREAD), random.bits() & 0xffff_ffff, random.bits() & 0xffff_ffff]),
    );
    numbers.truncate(numbers.len() / 12 * 12);
    let columns: Vec<Vec<u64>> = (0..3).map(|c| numbers.iter().map(|v| v[c]).collect()).collect();
    let worst = |space, mode| -> Vec<String> {
        let all: Vec<(Use, Expect)> = of_float(space).collect();
        let (all, expects): (Vec<Use>, Vec<Expect>) =
            table.iter().map(|(.., row)| (all[*row].0.clone(), all[*row].1)).unzip();
        let results = execute(&all, FLOAT, &columns, mode);
        let of_one = |((one, expect), results): ((&Use, Expect), &Vec<u64>)| {
            let (Exact(exact) | Correct(exact) | Ulps(_, exact)) = expect else { return String::new() };
            let off = numbers.iter().zip(results).filter_map(|(bits, &got)| {
                let triple = bits.map(|b| FLOAT.float(b));
                (!open(&one.call, triple)).then(|| FLOAT.ulps(got, exact(FLOAT, triple), false))
            });
            format!("{:.3}", off.fold(0.0, f64::max))
        };
        all.iter().zip(expects).zip(&results).map(of_one).collect()
    };
    let (safe, fast) = (worst("", MathMode::Safe), worst("fast::", MathMode::Fast));
    let lines = wanted
        .iter()
        .zip(safe)
        .zip(fast)
        .map(|(([name, one, two], safe), fast)| format!("| {name} | {one} | {two} | {safe} | {fast} |"));
    let lines: Vec<String> = lines.collect();
    let (before, behind) = text.split_once(HEAD).expect("the table");
    let rest = behind.lines().skip(2).skip_while(|line| line.starts_with('|')).collect::<Vec<_>>().join("\n");
    let made = format!("{before}{HEAD}\n| --- | --- | --- | --- | --- |\n{}\n{rest}\n", lines.join("\n"));
    std::fs::write(book, made).expect("the document");
}
