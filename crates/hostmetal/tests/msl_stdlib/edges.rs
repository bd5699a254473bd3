//! Sums, products, lengths, minima and maxima of numbers at the edges of a floating-point type: infinities, NaN, zeros, the largest and subnormal ones. What
//! they are in whatever order and precision they are computed, worked out in f64; where order or precision decide, it is left open.

use crate::number::Scalar;

/// What a result may be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted {
    /// Rounding or overflow on the way decides.
    Open,
    Nan,
    /// A zero whose sign counts.
    Zero(f64),
    /// And how far off it may be. Nothing is near an infinity.
    Number(f64, f64),
    /// That, or infinity where what it is computed from overflows.
    Overflowed(f64, f64),
}

impl Wanted {
    pub(crate) fn takes(self, got: f64) -> bool {
        match self {
            Wanted::Open => true,
            Wanted::Nan => got.is_nan(),
            Wanted::Zero(zero) => got == 0.0 && got.is_sign_negative() == zero.is_sign_negative(),
            Wanted::Number(value, off) => got == value || (got - value).abs() <= off,
            Wanted::Overflowed(value, off) => got == f64::INFINITY || (got - value).abs() <= off,
        }
    }

    /// Where arithmetic is fast, zeros have no sign.
    pub(crate) fn unsigned(self) -> Wanted {
        if let Wanted::Zero(_) = self { Wanted::Number(0.0, 0.0) } else { self }
    }

    /// The result rounded once more, to another type.
    pub(crate) fn rounded(self, t: Scalar) -> Wanted {
        let Wanted::Number(value, off) = self else { return self };
        let [low, high] = [value - off, value + off].map(|x| t.float(t.nearest(x)));
        if low == high {
            return Wanted::Number(low, 0.0);
        }
        if low.is_infinite() || high.is_infinite() {
            return Wanted::Open;
        }
        Wanted::Number((low + high) / 2.0, (high - low) / 2.0)
    }
}

/// Of numbers of this type or, with `roundings` each, of what was computed from such.
pub(crate) fn sum(t: Scalar, terms: &[f64], roundings: usize) -> Wanted {
    let (fraction, smallest, largest) = t.shape();
    let infinity = terms.iter().copied().filter(|x| !x.is_finite()).fold(0.0, |x, y| x + y);
    if infinity.is_nan() {
        return Wanted::Nan;
    }
    let finite = || terms.iter().filter(|x| x.is_finite());
    let (value, size) = (finite().sum::<f64>(), finite().map(|x| x.abs()).sum::<f64>());
    let (n, safe) = (terms.len() as f64, size < 2f64.powi(largest));
    // Else there may be an overflow to the other infinity on the way.
    let alike = |sign: f64| finite().all(|x| *x == 0.0 || x.signum() == sign);
    if infinity != 0.0 {
        return if safe || alike(infinity.signum()) { Wanted::Number(infinity, 0.0) } else { Wanted::Open };
    }
    if !safe {
        let beyond = 2f64.powi(largest + 1) * (1.0 + n * 2f64.powi(-fraction));
        let overflows = alike(value.signum()) && size >= beyond;
        return if overflows { Wanted::Number(f64::INFINITY.copysign(value), 0.0) } else { Wanted::Open };
    }
    let relative = (n - 1.0 + roundings as f64).max(0.0) * 2f64.powi(-fraction - 1) * 1.01;
    let tiny = if roundings == 0 { 0.0 } else { n * roundings as f64 * 2f64.powi(smallest - fraction) };
    Wanted::Number(value, relative * size + tiny)
}

/// The root of a sum of squares, of numbers that were rounded so often.
pub(crate) fn length(t: Scalar, components: &[f64], roundings: usize) -> Wanted {
    let (fraction, smallest, largest) = t.shape();
    let squares: Vec<f64> = components.iter().map(|x| x * x).collect();
    match sum(t, &squares, 2 * roundings + 1) {
        Wanted::Number(square, _) if square.is_finite() => {
            let off = (components.len() + roundings + 3) as f64 * 2f64.powi(-fraction) * square.sqrt();
            // Below, what squares lose is a part of it.
            let lost = square != 0.0 && square < 2f64.powi(smallest + fraction);
            if lost { Wanted::Open } else { Wanted::Number(square.sqrt(), off) }
        }
        Wanted::Nan => Wanted::Nan,
        _ => {
            let value = squares.iter().sum::<f64>().sqrt();
            let beyond = value >= 2f64.powi(largest + 1) * (1.0 + 8.0 * 2f64.powi(-fraction));
            let off = (components.len() + roundings + 3) as f64 * 2f64.powi(-fraction) * value;
            if beyond { Wanted::Number(f64::INFINITY, 0.0) } else { Wanted::Overflowed(value, off) }
        }
    }
}

pub(crate) fn product(t: Scalar, factors: &[f64]) -> Wanted {
    let (fraction, smallest, largest) = t.shape();
    let (zero, infinite) = (factors.contains(&0.0), factors.iter().any(|x| x.is_infinite()));
    if zero && infinite || factors.iter().any(|x| x.is_nan()) {
        return Wanted::Nan;
    }
    let sign = factors.iter().fold(1.0, |sign: f64, x| sign * x.signum());
    let of = |taken: fn(f64) -> bool| {
        factors.iter().map(|x| x.abs()).filter(|x| *x != 0.0 && x.is_finite() && taken(*x)).product::<f64>()
    };
    // What is computed on the way lies between these.
    let (low, high) = (of(|x| x < 1.0), of(|x| x > 1.0));
    let (above, below) = (low >= 2f64.powi(smallest + 1), high < 2f64.powi(largest));
    let n = factors.len() as f64;
    if infinite && above || low == 1.0 && high >= 2f64.powi(largest + 1) * (1.0 + n * 2f64.powi(-fraction)) && !zero {
        Wanted::Number(f64::INFINITY * sign, 0.0)
    } else if zero && below {
        Wanted::Zero(0.0 * sign)
    } else if above && below && !zero && !infinite {
        Wanted::Number(sign * low * high, (n - 1.0).max(0.0) * 2f64.powi(-fraction - 1) * 1.01 * low * high)
    } else {
        Wanted::Open
    }
}

/// NaN counts only where there is nothing else (`fmin` and `fmax`, 6.5).
pub(crate) fn minimum(_: Scalar, values: &[f64]) -> Wanted {
    extreme(values, f64::min)
}

pub(crate) fn maximum(_: Scalar, values: &[f64]) -> Wanted {
    extreme(values, f64::max)
}

fn extreme(values: &[f64], better: fn(f64, f64) -> f64) -> Wanted {
    let value = values.iter().copied().fold(f64::NAN, better);
    if value.is_nan() { Wanted::Nan } else { Wanted::Number(value, 0.0) }
}

/// Sets of numbers at the edges of a floating-point type, as bits.
pub(crate) fn sets(t: Scalar) -> Vec<Vec<u64>> {
    let (fraction, smallest, largest) = t.shape();
    let (most, tiny) = (2f64.powi(largest) * (2.0 - 2f64.powi(-fraction)), 2f64.powi(smallest - fraction));
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let sets: [&[f64]; 14] = [
        &[nan],
        &[nan, 1.0, -2.0, 0.5],
        &[inf, 1.0, -3.0, 0.0],
        &[inf, -inf, 2.0],
        &[-inf, -1.0, 4.0, 3.0],
        &[0.0, -0.0],
        &[-0.0],
        &[-0.0, -1.0, 1.0],
        &[most, most / 2.0],
        &[-most, -most / 2.0],
        &[most, -most, 1.0],
        &[tiny, -tiny, tiny * 3.0, 2f64.powi(smallest)],
        &[0.1, 1.0 / 3.0, -0.7, 1.9],
        &[nan, inf, -inf, 0.0, -0.0, most, -most, tiny],
    ];
    // One more NaN, quiet and negative, with a number in it.
    let another = t.nearest(nan) | 1 << (t.bits - 1) | 5;
    sets.map(|set| set.iter().flat_map(|&x| [Some(t.nearest(x)), x.is_nan().then_some(another)]).flatten().collect())
        .to_vec()
}
