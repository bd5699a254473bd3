//! Errors in units in the last place, as OpenCL C 3.0 §7.4 defines them, and what §7.5.3 allows of subnormal numbers.

/// A floating-point format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Float,
    Half,
}

impl Format {
    /// Bits of the significand, with the hidden one.
    pub(crate) fn digits(self) -> i32 {
        match self {
            Format::Float => 24,
            Format::Half => 11,
        }
    }

    /// Exponent of the smallest normal number.
    pub(crate) fn lowest(self) -> i32 {
        match self {
            Format::Float => -126,
            Format::Half => -14,
        }
    }

    /// Exponent of the largest numbers.
    pub(crate) fn highest(self) -> i32 {
        match self {
            Format::Float => 127,
            Format::Half => 15,
        }
    }

    /// Rounds to nearest, ties to even.
    pub(crate) fn round(self, x: f64) -> f64 {
        match self {
            Format::Float => f64::from(x as f32),
            // Not the crate `half`'s conversion, which may round to `f32` first.
            Format::Half if x == 0.0 || !x.is_finite() => x,
            Format::Half => {
                let exponent = ((x.abs().to_bits() >> 52) as i32 - 1023).max(self.lowest());
                let unit = power_of_two(exponent + 1 - self.digits());
                let rounded = (x / unit).round_ties_even() * unit;
                if rounded.abs() >= power_of_two(self.highest() + 1) { f64::INFINITY.copysign(x) } else { rounded }
            }
        }
    }

    /// Of numbers, NaN and infinities are none.
    pub(crate) fn is_subnormal(self, x: f64) -> bool {
        x != 0.0 && x.abs() < power_of_two(self.lowest())
    }

    /// The distance of the two numbers around `x`, or of the two nearest if `x` is one of them.
    pub(crate) fn ulp(self, x: f64) -> f64 {
        let bits = x.abs().to_bits();
        let exponent = ((bits >> 52) as i32 - 1023).clamp(self.lowest(), self.highest());
        let is_power = bits & ((1 << 52) - 1) == 0 && exponent > self.lowest() && x.abs() == power_of_two(exponent);
        power_of_two(exponent + 1 - self.digits() - i32::from(is_power))
    }

    /// How far `got` is from the infinitely precise `exact`. An `f64` stands for the latter: infinities, NaN and zeros are
    /// meant as such (with the zero's sign), everything else is finite and not zero.
    pub(crate) fn error(self, got: f64, exact: f64) -> f64 {
        if exact.is_nan() || got.is_nan() {
            return if exact.is_nan() && got.is_nan() { 0.0 } else { f64::INFINITY };
        }
        if exact.is_infinite() || exact == 0.0 || (got == 0.0 && exact.is_sign_negative() != got.is_sign_negative()) {
            return if got == exact && got.is_sign_negative() == exact.is_sign_negative() {
                0.0
            } else {
                f64::INFINITY
            };
        }
        // Infinity counts as the number behind the largest; nothing is above it.
        let limit = power_of_two(self.highest() + 1);
        if got.is_infinite() && got.signum() == exact.signum() && exact.abs() >= limit {
            return 0.0;
        }
        if got.is_infinite() && got.signum() != exact.signum() {
            return f64::INFINITY;
        }
        let got = if got.is_infinite() { limit.copysign(got) } else { got };
        (got - exact).abs() / self.ulp(exact)
    }
}

/// 2 to the power of an exponent in the range of `f64`.
pub(crate) fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

#[test]
fn errors_are_those_of_the_specification() {
    let f = Format::Float;
    assert_eq!(f.ulp(1.5), power_of_two(-23));
    assert_eq!(f.ulp(1.0), power_of_two(-24));
    assert_eq!(f.ulp(1.0 + power_of_two(-40)), power_of_two(-23));
    assert_eq!(f.ulp(1e-45), power_of_two(-149));
    assert_eq!(f.ulp(1e39), power_of_two(104));
    assert_eq!(Format::Half.ulp(3.0), power_of_two(-9));
    let half = Format::Half;
    assert_eq!(half.round(5117.999755859375), 5116.0);
    assert_eq!((half.round(65519.0), half.round(-65520.0)), (65504.0, f64::NEG_INFINITY));
    assert_eq!((half.round(power_of_two(-25)), half.round(1.5 * power_of_two(-25))), (0.0, power_of_two(-24)));
    assert_eq!(f.error(f64::INFINITY, 1e39), 0.0);
    assert_eq!(f.error(f64::INFINITY, power_of_two(128) - power_of_two(104)), 1.0);
    assert_eq!(f.error(-f64::INFINITY, 1e39), f64::INFINITY);
    assert_eq!(f.error(0.0, -0.0), f64::INFINITY);
    assert_eq!(f.error(-0.0, -0.0), 0.0);
    assert_eq!(f.error(f64::NAN, 1.0), f64::INFINITY);
    assert_eq!(f.error(f64::from(1.0f32.next_up()), 1.5 * power_of_two(-23) + 1.0), 0.5);
}
