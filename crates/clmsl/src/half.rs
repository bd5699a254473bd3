//! The 16-bit floating-point format (IEEE 754 binary16), in which the host cannot compute: values are held as `f32`.

use std::cmp::Ordering;

/// The bits of the nearest `half`, ties to even.
pub(crate) fn to_bits(value: f64) -> u16 {
    let sign = u16::from(value.is_sign_negative()) << 15;
    let size = value.abs();
    if size.is_nan() {
        // The upper bits of the payload, as a conversion keeps them.
        return sign | 0x7e00 | ((size.to_bits() >> 42) as u16 & 0x03ff);
    }
    if size >= 65520.0 {
        return sign | 0x7c00;
    }
    // The exponent of the last place; every scaling by it is exact.
    let exponent = ((size.to_bits() >> 52) as i32 - 1023).max(-14);
    let digits = (size * 2f64.powi(10 - exponent)).round_ties_even() as u16;
    // A carry out of the digits raises the exponent, as it should.
    sign | ((((exponent + 14) as u16) << 10) + digits)
}

/// The value of the bits; exact.
pub(crate) fn from_bits(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let (exponent, digits) = (u32::from(bits >> 10 & 0x1f), u32::from(bits & 0x03ff));
    let size = match exponent {
        0 => (digits as f32 * 2f32.powi(-24)).to_bits(),
        0x1f => 0x7f80_0000 | digits << 13,
        _ => (exponent + 112) << 23 | digits << 13,
    };
    f32::from_bits(sign | size)
}

/// The nearest `half`, ties to even.
pub(crate) fn round(value: f64) -> f32 {
    from_bits(to_bits(value))
}

/// The bits of the `half` nearest to a decimal constant (`12.5e-3`), of which `double` is the nearest `double`.
///
/// Where `double` lies exactly between two halves, the digits decide on which side of it the constant is.
pub(crate) fn of_decimal(text: &str, double: f64) -> u16 {
    let (below, above) = (to_bits(double.next_down().max(0.0)), to_bits(double.next_up()));
    if double == 0.0 || below == above {
        return to_bits(double);
    }
    // Twenty-five decimals are exact for a number between two halves.
    match Digits::of(text).cmp(&Digits::of(&format!("{double:.25}"))) {
        Ordering::Less => below,
        Ordering::Equal => to_bits(double),
        Ordering::Greater => above,
    }
}

/// A positive decimal number as `0.digits * 10^point`, the first and last digit not zero; ordered by value.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Digits {
    point: i64,
    digits: String,
}

impl Digits {
    fn of(text: &str) -> Digits {
        let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let all = format!("{whole}{fraction}");
        let significant = all.trim_start_matches('0');
        let leading = all.len() - significant.len();
        // An exponent beyond 64 bits would leave nothing of a number that is near a half.
        let exponent: i64 = exponent.parse().unwrap_or(0);
        let point = exponent.saturating_add(whole.len() as i64 - leading as i64);
        Digits { point, digits: significant.trim_end_matches('0').to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values and bits by IEEE 754.
    #[test]
    fn values_and_bits() {
        let cases: &[(f64, u16)] = &[
            (0.0, 0),
            (-0.0, 0x8000),
            (1.0, 0x3c00),
            (-2.0, 0xc000),
            (65504.0, 0x7bff),
            (65519.996, 0x7bff),
            (65520.0, 0x7c00),
            (f64::NEG_INFINITY, 0xfc00),
            (2f64.powi(-14), 0x0400),
            (2f64.powi(-24), 1),
            (2f64.powi(-25), 0),
            (2f64.powi(-25) * 1.0001, 1),
            (2f64.powi(-14) - 2f64.powi(-25), 0x0400),
            (1.0 + 2f64.powi(-11), 0x3c00),
            (1.0 + 3.0 * 2f64.powi(-11), 0x3c02),
            (1.0 + 2f64.powi(-11) + 2f64.powi(-40), 0x3c01),
            (2.0 - 2f64.powi(-12), 0x4000),
            (0.1, 0x2e66),
        ];
        for &(value, bits) in cases {
            assert_eq!(to_bits(value), bits, "{value}");
        }
        for bits in 0..=u16::MAX {
            let value = from_bits(bits);
            let quiet = if value.is_nan() { bits | 0x0200 } else { bits };
            assert_eq!(to_bits(f64::from(value)), quiet, "{bits:#x}");
        }
    }
    /// 1 + 2^-11 lies between two halves; the texts differ from it by less than a `double` or `float` can tell.
    #[test]
    fn decimal_constants_are_rounded_once() {
        let cases = [
            ("1.00048828125", 0x3c00),
            ("1.000488281250000000000000000001", 0x3c01),
            ("1.000488281249999999999999999999", 0x3c00),
            ("1.00146484375", 0x3c02),
            ("1.001464843749999999999999999999", 0x3c01),
            ("0000100146484374999999999999999999.9e-29", 0x3c01),
            ("100048828125000000000000000000.1E-29", 0x3c01),
            ("65520", 0x7c00),
            ("65519.99999999999999999999", 0x7bff),
            ("0.0000000298023223876953125", 0),
            ("0.00000002980232238769531250000000000000001", 1),
            ("1e-400", 0),
            ("1e400", 0x7c00),
            ("0.1", 0x2e66),
        ];
        for (text, bits) in cases {
            assert_eq!(of_decimal(text, text.parse().expect("it is a number")), bits, "{text}");
        }
    }
}
