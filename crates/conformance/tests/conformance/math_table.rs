//! The math and common functions: their parameters, limits (OpenCL C 3.0 §7.4, full profile) and references.
//!
//! References are MPFR with 80 bits, rounded to `f64`: a billionth of a `float`'s unit. Where the result must be exact or
//! correctly rounded, the reference is exact before the one rounding to the format. MPFR follows C99 Annex F for special
//! values; what OpenCL adds (§7.5.1) is written out.

use std::sync::LazyLock;

use rug::Float;
use rug::float::Round;
use rug::ops::Pow;

use crate::ulp::{Format, power_of_two};

/// What a result may be off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Limit {
    /// Exact or correctly rounded.
    Exact,
    Ulp(f64),
    Absolute(f64),
    /// The specification says none. NaN and infinities must be right all the same, and what comes out is reported.
    Undefined,
}

impl Limit {
    pub(crate) fn ulps(self) -> f64 {
        match self {
            Limit::Exact => 0.0,
            Limit::Ulp(limit) | Limit::Absolute(limit) => limit,
            Limit::Undefined => f64::MAX,
        }
    }
}

/// What a function stores through its last parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Second {
    None,
    /// A number like the result, within a limit of its own.
    Same(Limit),
    Int,
    /// At least the low seven bits of an integer, with its sign.
    Quotient,
}

/// What must come out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) value: f64,
    /// As good as `value`.
    pub(crate) also: f64,
    pub(crate) second: f64,
    /// The specification leaves it open.
    pub(crate) any: bool,
}

#[derive(Clone, Copy)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    /// `x`: a number of the format; `n`: an `int`.
    pub(crate) params: &'static str,
    pub(crate) gives_int: bool,
    pub(crate) second: Second,
    float: Limit,
    half: Limit,
    /// Intervals to look at closely, of each parameter in turn.
    pub(crate) dense: &'static [(f64, f64)],
    pub(crate) reference: fn(&[f64], Format) -> Answer,
}

impl Function {
    pub(crate) fn limit(&self, format: Format) -> Limit {
        match format {
            Format::Float => self.float,
            Format::Half => self.half,
        }
    }
}

type Reference = fn(&[f64], Format) -> Answer;
type Dense = &'static [(f64, f64)];

const fn row(
    name: &'static str,
    params: &'static str,
    limits: (Limit, Limit),
    dense: Dense,
    reference: Reference,
) -> Function {
    let (float, half) = limits;
    Function { name, params, gives_int: false, second: Second::None, float, half, dense, reference }
}

const fn and(function: Function, second: Second) -> Function {
    Function { second, ..function }
}

const EXACT: (Limit, Limit) = (Limit::Exact, Limit::Exact);
const ANY: Dense = &[(-10.0, 10.0)];

/// Limits in units of the last place for float and half.
const fn ulp(float: f64, half: f64) -> (Limit, Limit) {
    (Limit::Ulp(float), Limit::Ulp(half))
}

/// For MPFR.
fn m(x: f64) -> Float {
    Float::with_val(80, x)
}

/// From MPFR. What lies outside of `f64` is far outside of the formats, but it is no infinity and no zero.
fn v(x: Float) -> Answer {
    let y = x.to_f64();
    let y = if y.is_infinite() && x.is_finite() { f64::MAX.copysign(y) } else { y };
    a(if y == 0.0 && !x.is_zero() { f64::MIN_POSITIVE.copysign(y) } else { y })
}

fn a(value: f64) -> Answer {
    Answer { value, also: value, second: 0.0, any: false }
}

/// An exact value, rounded once.
fn once(x: Float, format: Format) -> Answer {
    // To odd first: cut off, with a bit behind the last that stands for what is missing.
    let (mut y, cut) = Float::with_val_round(52, &x, Round::Zero);
    if let (Some(exponent), true) = (y.get_exp(), cut != std::cmp::Ordering::Equal) {
        y.set_prec(53);
        y += (Float::with_val(53, 1) << (exponent - 53)).copysign(&x);
    }
    a(format.round(y.to_f64()))
}

fn with(answer: Answer, second: f64) -> Answer {
    Answer { second, ..answer }
}

/// Two values of which either will do.
fn either(value: f64, also: f64) -> Answer {
    Answer { also, ..a(value) }
}

fn undefined() -> Answer {
    Answer { any: true, ..a(0.0) }
}

const NAN: f64 = f64::NAN;

/// pown and powr differ from pow in what they do with special values.
fn powr(x: f64, y: f64) -> Answer {
    let indefinite = x.is_nan() || y.is_nan() || x < 0.0 || (y == 0.0 && (x == 0.0 || x.is_infinite()));
    if indefinite || (x == 1.0 && y.is_infinite()) {
        return a(NAN);
    }
    v(m(x.abs()).pow(m(y)))
}

fn split(x: f64) -> (f64, i32) {
    if x == 0.0 || !x.is_finite() {
        return (x, 0);
    }
    let exponent = (x.abs().to_bits() >> 52) as i32 - 1022;
    (x / power_of_two(exponent), exponent)
}

fn larger(x: f64, y: f64) -> Answer {
    match (x.is_nan(), y.is_nan()) {
        (true, _) => a(y),
        (_, true) => a(x),
        _ if x == y => either(x, y),
        _ => a(if x > y { x } else { y }),
    }
}

fn smaller(x: f64, y: f64) -> Answer {
    match (x.is_nan(), y.is_nan()) {
        (true, _) => a(y),
        (_, true) => a(x),
        _ if x == y => either(x, y),
        _ => a(if x < y { x } else { y }),
    }
}

fn next_after(x: f64, y: f64, format: Format) -> f64 {
    if x.is_nan() || y.is_nan() {
        return NAN;
    }
    if x == y {
        return y;
    }
    if x == 0.0 {
        return power_of_two(format.lowest() + 1 - format.digits()).copysign(y);
    }
    crate::samples::next(format, x, if (x < y) == (x > 0.0) { 1 } else { -1 })
}

fn remainder(x: f64, y: f64) -> (Float, f64) {
    let r = m(x).remainder(&m(y));
    if r.is_nan() || x.is_infinite() || y == 0.0 {
        return (Float::with_val(80, NAN), 0.0);
    }
    let quotient = match y.is_infinite() {
        true => Float::with_val(700, 0),
        false => (Float::with_val(700, x) - Float::with_val(700, &r)) / Float::with_val(700, y),
    };
    let low = Float::with_val(700, &quotient % 128u32);
    let low = low.to_f64();
    // A multiple of 128 that is not zero still has its sign; the low bits say 0.
    (r, if quotient.is_zero() { 0.0 } else { low })
}

fn log_gamma(x: f64) -> Answer {
    if x == f64::NEG_INFINITY {
        return with(a(f64::INFINITY), 1.0);
    }
    let pole = x == 0.0 || (x < 0.0 && x == x.floor());
    let (value, sign) = m(x).ln_abs_gamma();
    let sign = if sign == std::cmp::Ordering::Less { -1.0 } else { 1.0 };
    with(v(value), if pole { 0.0 } else { sign })
}

fn scale(x: f64, n: f64) -> f64 {
    let n = n.clamp(-400.0, 400.0) as i32;
    x * power_of_two(n)
}

fn mixed(x: &[f64], format: Format) -> Answer {
    // Half: implementation-defined; and nothing is said outside of [0, 1] or where x + (y - x) * a overflows.
    let sane = x.iter().all(|x| x.is_finite() && x.abs() < 100.0) && (0.0..=1.0).contains(&x[2]);
    if !sane || format == Format::Half { undefined() } else { a(x[0] + (x[1] - x[0]) * x[2]) }
}

fn smooth(x: &[f64], format: Format) -> Answer {
    let (low, high) = (x[0], x[1]);
    if x.iter().any(|x| !x.is_finite() || x.abs() > 1e18) || high - low < 1e-18 || format == Format::Half {
        return undefined();
    }
    let t = ((x[2] - low) / (high - low)).clamp(0.0, 1.0);
    a(t * t * (3.0 - 2.0 * t))
}

/// Sorted by name.
#[rustfmt::skip]
pub(crate) const TABLE: &[Function] = &[
    row("acos", "x", ulp(4.0, 2.0), &[(-1.0, 1.0)], |x, _| v(m(x[0]).acos())),
    row("acosh", "x", ulp(4.0, 2.0), &[(1.0, 2.0), (1.0, 100.0)], |x, _| v(m(x[0]).acosh())),
    row("acospi", "x", ulp(5.0, 2.0), &[(-1.0, 1.0)], |x, _| v(m(x[0]).acos_pi())),
    row("asin", "x", ulp(4.0, 2.0), &[(-1.0, 1.0)], |x, _| v(m(x[0]).asin())),
    row("asinh", "x", ulp(4.0, 2.0), &[(-2.0, 2.0)], |x, _| v(m(x[0]).asinh())),
    row("asinpi", "x", ulp(5.0, 2.0), &[(-1.0, 1.0)], |x, _| v(m(x[0]).asin_pi())),
    row("atan", "x", ulp(5.0, 2.0), &[(-4.0, 4.0)], |x, _| v(m(x[0]).atan())),
    row("atan2", "xx", ulp(6.0, 2.0), ANY, |x, _| v(m(x[0]).atan2(&m(x[1])))),
    row("atan2pi", "xx", ulp(6.0, 2.0), ANY, |x, _| v(m(x[0]).atan2_pi(&m(x[1])))),
    row("atanh", "x", ulp(5.0, 2.0), &[(-1.0, 1.0)], |x, _| v(m(x[0]).atanh())),
    row("atanpi", "x", ulp(5.0, 2.0), &[(-4.0, 4.0)], |x, _| v(m(x[0]).atan_pi())),
    row("cbrt", "x", ulp(2.0, 2.0), &[(1.0, 8.0)], |x, _| v(m(x[0]).cbrt())),
    row("ceil", "x", EXACT, &[(-5.0, 5.0)], |x, _| a(x[0].ceil())),
    row("clamp", "xxx", EXACT, ANY, |x, _| match x.iter().any(|x| x.is_nan()) || x[1] > x[2] {
        true => undefined(),
        false => Answer { also: smaller(larger(x[0], x[1]).also, x[2]).also, ..smaller(larger(x[0], x[1]).value, x[2]) },
    }),
    row("copysign", "xx", EXACT, ANY, |x, _| a(x[0].copysign(x[1]))),
    row("cos", "x", ulp(4.0, 2.0), &[(-7.0, 7.0), (-1e5, 1e5)], |x, _| v(m(x[0]).cos())),
    row("cosh", "x", ulp(4.0, 2.0), &[(-2.0, 2.0), (-90.0, 90.0)], |x, _| v(m(x[0]).cosh())),
    row("cospi", "x", ulp(4.0, 2.0), &[(-2.0, 2.0), (-100.0, 100.0)], |x, _| match x[0] % 1.0 {
        half if half.abs() == 0.5 => a(0.0),
        _ => v(m(x[0]).cos_pi()),
    }),
    row("degrees", "x", ulp(2.0, 2.0), ANY, |x, _| v(m(x[0]) * 180u32 / Float::with_val(80, rug::float::Constant::Pi))),
    row("erf", "x", ulp(16.0, 4.0), &[(-1.0, 1.0), (-4.0, 4.0)], |x, _| v(m(x[0]).erf())),
    row("erfc", "x", ulp(16.0, 4.0), &[(-1.0, 1.0), (-4.0, 10.1)], |x, _| v(m(x[0]).erfc())),
    row("exp", "x", ulp(3.0, 2.0), &[(-1.0, 1.0), (-104.0, 89.0)], |x, _| v(m(x[0]).exp())),
    row("exp10", "x", ulp(3.0, 2.0), &[(-1.0, 1.0), (-46.0, 39.0)], |x, _| v(m(x[0]).exp10())),
    row("exp2", "x", ulp(3.0, 2.0), &[(-1.0, 1.0), (-150.0, 129.0)], |x, _| v(m(x[0]).exp2())),
    row("expm1", "x", ulp(3.0, 2.0), &[(-1.0, 1.0), (-20.0, 89.0)], |x, _| v(m(x[0]).exp_m1())),
    row("fabs", "x", EXACT, ANY, |x, _| a(x[0].abs())),
    row("fdim", "xx", EXACT, ANY, |x, f| match x[0] <= x[1] {
        true => a(0.0),
        false => once(Float::with_val(640, x[0]) - Float::with_val(640, x[1]), f),
    }),
    row("floor", "x", EXACT, &[(-5.0, 5.0)], |x, _| a(x[0].floor())),
    row("fma", "xxx", EXACT, ANY, fused),
    row("fmax", "xx", EXACT, ANY, |x, _| larger(x[0], x[1])),
    row("fmin", "xx", EXACT, ANY, |x, _| smaller(x[0], x[1])),
    row("fmod", "xx", EXACT, ANY, |x, _| a(x[0] % x[1])),
    and(row("fract", "x", EXACT, &[(-3.0, 3.0)], |x, f| match x[0] {
        x if x.is_nan() => with(a(x), x),
        x if x.is_infinite() || x == 0.0 => with(a(0.0f64.copysign(x)), x),
        x => {
            let largest = 1.0 - power_of_two(-f.digits());
            with(a(f.round(x - x.floor()).min(largest)), x.floor())
        }
    }), Second::Same(Limit::Exact)),
    and(row("frexp", "x", EXACT, ANY, |x, _| with(a(split(x[0]).0), f64::from(split(x[0]).1))), Second::Int),
    row("hypot", "xx", ulp(4.0, 2.0), ANY, |x, _| v(m(x[0]).hypot(&m(x[1])))),
    Function { gives_int: true, ..row("ilogb", "x", EXACT, ANY, |x, _| a(match x[0] {
        0.0 => f64::from(i32::MIN),
        x if !x.is_finite() => f64::from(i32::MAX),
        x => f64::from(split(x).1 - 1),
    })) },
    row("ldexp", "xn", EXACT, ANY, |x, _| a(scale(x[0], x[1]))),
    row("lgamma", "x", (Limit::Undefined, Limit::Undefined), &[(-8.0, 8.0), (0.5, 3.0)], |x, _| log_gamma(x[0])),
    and(row("lgamma_r", "x", (Limit::Undefined, Limit::Undefined), &[(-8.0, 8.0), (0.5, 3.0)], |x, _| match x[0] {
        x if x.is_nan() || x == f64::NEG_INFINITY => undefined(),
        x => log_gamma(x),
    }), Second::Int),
    row("log", "x", ulp(3.0, 2.0), &[(0.5, 2.0), (0.0, 100.0)], |x, _| v(m(x[0]).ln())),
    row("log10", "x", ulp(3.0, 2.0), &[(0.5, 2.0), (0.0, 100.0)], |x, _| v(m(x[0]).log10())),
    row("log1p", "x", ulp(2.0, 2.0), &[(-1.0, 1.0), (-0.1, 100.0)], |x, _| v(m(x[0]).ln_1p())),
    row("log2", "x", ulp(3.0, 2.0), &[(0.5, 2.0), (0.0, 100.0)], |x, _| v(m(x[0]).log2())),
    row("logb", "x", EXACT, ANY, |x, _| a(match x[0] {
        0.0 => f64::NEG_INFINITY,
        x if !x.is_finite() => x * x,
        x => f64::from(split(x).1 - 1),
    })),
    row("mad", "xxx", (Limit::Exact, Limit::Undefined), ANY, |x, f| Answer { also: f.round(f.round(x[0] * x[1]) + x[2]), ..fused(x, f) }),
    row("max", "xx", EXACT, ANY, |x, _| if x.iter().any(|x| x.is_nan()) { undefined() } else { larger(x[0], x[1]) }),
    row("maxmag", "xx", EXACT, ANY, |x, _| match (x[0].abs(), x[1].abs()) {
        (p, q) if p > q => a(x[0]),
        (p, q) if q > p => a(x[1]),
        _ => larger(x[0], x[1]),
    }),
    row("min", "xx", EXACT, ANY, |x, _| if x.iter().any(|x| x.is_nan()) { undefined() } else { smaller(x[0], x[1]) }),
    row("minmag", "xx", EXACT, ANY, |x, _| match (x[0].abs(), x[1].abs()) {
        (p, q) if p < q => a(x[0]),
        (p, q) if q < p => a(x[1]),
        _ => smaller(x[0], x[1]),
    }),
    row("mix", "xxx", (Limit::Absolute(1e-3), Limit::Undefined), &[(-10.0, 10.0), (-10.0, 10.0), (0.0, 1.0)], mixed),
    and(row("modf", "x", EXACT, &[(-5.0, 5.0)], |x, _| {
        let part = if x[0].is_infinite() { 0.0 } else { x[0] - x[0].trunc() };
        with(a(part.copysign(x[0])), x[0].trunc())
    }), Second::Same(Limit::Exact)),
    row("nextafter", "xx", EXACT, ANY, |x, f| a(next_after(x[0], x[1], f))),
    row("pow", "xx", ulp(16.0, 4.0), &[(0.0, 10.0), (-40.0, 40.0)], |x, _| v(m(x[0]).pow(m(x[1])))),
    row("pown", "xn", ulp(16.0, 4.0), ANY, |x, _| v(m(x[0]).pow(m(x[1])))),
    row("powr", "xx", ulp(16.0, 4.0), &[(0.0, 10.0), (-40.0, 40.0)], |x, _| powr(x[0], x[1])),
    row("radians", "x", ulp(2.0, 2.0), ANY, |x, _| v(m(x[0]) * Float::with_val(80, rug::float::Constant::Pi) / 180u32)),
    row("remainder", "xx", EXACT, ANY, |x, _| a(remainder(x[0], x[1]).0.to_f64())),
    and(row("remquo", "xx", EXACT, ANY, |x, _| {
        let (r, quotient) = remainder(x[0], x[1]);
        with(a(r.to_f64()), quotient)
    }), Second::Quotient),
    row("rint", "x", EXACT, &[(-5.0, 5.0)], |x, _| a(x[0].round_ties_even())),
    row("rootn", "xn", ulp(16.0, 4.0), ANY, |x, _| v(m(x[0]).root_i(x[1] as i32))),
    row("round", "x", EXACT, &[(-5.0, 5.0)], |x, _| a(x[0].round())),
    row("rsqrt", "x", ulp(2.0, 1.0), &[(0.0, 10.0)], |x, _| match x[0] {
        0.0 => a(f64::INFINITY.copysign(x[0])),
        x => v(m(x).recip_sqrt()),
    }),
    row("sign", "x", EXACT, ANY, |x, _| a(if x[0].is_nan() { 0.0 } else if x[0] == 0.0 { x[0] } else { x[0].signum() })),
    row("sin", "x", ulp(4.0, 2.0), &[(-7.0, 7.0), (-1e5, 1e5)], |x, _| v(m(x[0]).sin())),
    and(row("sincos", "x", ulp(4.0, 2.0), &[(-7.0, 7.0)], |x, _| with(v(m(x[0]).sin()), v(m(x[0]).cos()).value)), Second::Same(Limit::Ulp(4.0))),
    row("sinh", "x", ulp(4.0, 2.0), &[(-2.0, 2.0), (-90.0, 90.0)], |x, _| v(m(x[0]).sinh())),
    row("sinpi", "x", ulp(4.0, 2.0), &[(-2.0, 2.0), (-100.0, 100.0)], |x, _| match x[0] {
        x if x.is_finite() && x == x.trunc() => a(0.0f64.copysign(x)),
        x => v(m(x).sin_pi()),
    }),
    row("smoothstep", "xxx", (Limit::Absolute(1e-5), Limit::Undefined), &[(0.0, 1.0), (1.0, 3.0), (-1.0, 4.0)], smooth),
    row("sqrt", "x", ulp(3.0, 1.5), &[(0.0, 10.0)], |x, _| v(m(x[0]).sqrt())),
    row("step", "xx", EXACT, ANY, |x, _| if x.iter().any(|x| x.is_nan()) { undefined() } else { a(if x[1] < x[0] { 0.0 } else { 1.0 }) }),
    row("tan", "x", ulp(5.0, 2.5), &[(-7.0, 7.0), (-1e5, 1e5)], |x, _| v(m(x[0]).tan())),
    row("tanh", "x", ulp(5.0, 2.0), &[(-2.0, 2.0), (-10.0, 10.0)], |x, _| v(m(x[0]).tanh())),
    row("tanpi", "x", ulp(6.0, 2.0), &[(-2.0, 2.0), (-100.0, 100.0)], |x, _| match x[0] {
        x if !x.is_finite() => a(NAN),
        x if x == x.trunc() => a(if x % 2.0 == 0.0 { 0.0f64.copysign(x) } else { 0.0f64.copysign(-x) }),
        x if (x - 0.5) == (x - 0.5).trunc() => a(if (x - 0.5) % 2.0 == 0.0 { f64::INFINITY } else { -f64::INFINITY }),
        x => v(m(x).tan_pi()),
    }),
    row("tgamma", "x", ulp(16.0, 4.0), &[(-8.0, 8.0), (0.0, 36.0), (-42.0, 0.0)], |x, _| v(m(x[0]).gamma())),
    row("trunc", "x", EXACT, &[(-5.0, 5.0)], |x, _| a(x[0].trunc())),
];

/// The `half_` functions: 8192 units, and the special values of the function without the prefix (§7.5.1).
pub(crate) static HALF_PREFIXED: LazyLock<Vec<Function>> = LazyLock::new(|| {
    const QUOTIENT: Function = row("divide", "xx", EXACT, ANY, |x, _| v(m(x[0]) / m(x[1])));
    const INVERSE: Function = row("recip", "x", EXACT, ANY, |x, _| v(1u32 / m(x[0])));
    const NAMES: [&str; 12] =
        ["cos", "exp", "exp2", "exp10", "log", "log2", "log10", "powr", "rsqrt", "sin", "sqrt", "tan"];
    let plain = TABLE.iter().filter(|f| NAMES.contains(&f.name)).chain([&QUOTIENT, &INVERSE]);
    plain.map(|f| Function { name: format!("half_{}", f.name).leak(), float: Limit::Ulp(8192.0), ..*f }).collect()
});

fn fused(x: &[f64], format: Format) -> Answer {
    let exact = Float::with_val(700, x[0]) * Float::with_val(700, x[1]) + Float::with_val(700, x[2]);
    once(exact, format)
}
