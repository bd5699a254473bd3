//! Values of constants and string literals (C99 6.4.4, 6.4.5; OpenCL C 3.0 §6.2.4): from a token's spelling to what it means.
//!
//! Floating constants are rounded once to each precision, base 16 too, so that no value depends on a way over `double`.

use crate::half;
use crate::token::{Base, FloatSuffix, IntLiteral, IntSuffix};

/// A number's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number<'a> {
    Int(IntLiteral),
    Float { double: f64, single: f32, half: u16, suffix: FloatSuffix, hexadecimal: bool, text: &'a str },
}

/// The value of a preprocessing number, or what is wrong with it.
pub(super) fn number(text: &str) -> Result<Number<'_>, String> {
    let lower = |at: usize| text.as_bytes().get(at).map(u8::to_ascii_lowercase);
    let (base, digits_at) = match (lower(0), lower(1)) {
        (Some(b'0'), Some(b'x')) => (Base::Hexadecimal, 2),
        (Some(b'0'), Some(b'b')) => (Base::Binary, 2),
        (Some(b'0'), _) => (Base::Octal, 0),
        _ => (Base::Decimal, 0),
    };
    let body = &text[digits_at..];
    let is_digit = |b: &u8| match base {
        Base::Hexadecimal => b.is_ascii_hexdigit(),
        _ => b.is_ascii_digit(),
    };
    let digits = body.bytes().take_while(|b| is_digit(b)).count();
    let exponent = if base == Base::Hexadecimal { b'p' } else { b'e' };
    let floating = body
        .as_bytes()
        .get(digits)
        .is_some_and(|&b| b == b'.' || (base != Base::Binary && b.to_ascii_lowercase() == exponent));
    match (base, floating) {
        (Base::Hexadecimal, true) => hexadecimal_float(text),
        (Base::Binary, true) => Err("a binary constant cannot be floating".to_owned()),
        (_, true) => decimal_float(text),
        (_, false) => integer(body, digits, base),
    }
}

fn integer(body: &str, digits: usize, base: Base) -> Result<Number<'static>, String> {
    let (digits, suffix) = body.split_at(digits);
    let (radix, name) = match base {
        Base::Binary => (2, "binary"),
        Base::Octal => (8, "octal"),
        Base::Decimal => (10, "decimal"),
        Base::Hexadecimal => (16, "hexadecimal"),
    };
    if digits.is_empty() {
        return Err(format!("{name} constant has no digits"));
    }
    let mut value = Some(0u64);
    for c in digits.chars() {
        let digit = c.to_digit(radix).ok_or_else(|| format!("invalid digit '{c}' in {name} constant"))?;
        value = value.and_then(|v| v.checked_mul(u64::from(radix))).and_then(|v| v.checked_add(u64::from(digit)));
    }
    let suffix = match suffix {
        "" => (false, false),
        "u" | "U" => (true, false),
        "l" | "L" | "ll" | "LL" => (false, true),
        "ul" | "uL" | "Ul" | "UL" | "lu" | "lU" | "Lu" | "LU" | "ull" | "uLL" | "Ull" | "ULL" | "llu" | "llU"
        | "LLu" | "LLU" => (true, true),
        other => return Err(format!("invalid suffix '{}' on integer constant", shorten(other))),
    };
    let value = value.ok_or("integer literal is too large to be represented in any integer type")?;
    Ok(Number::Int(IntLiteral { value, base, suffix: IntSuffix { unsigned: suffix.0, long: suffix.1 } }))
}

/// End of the exponent that begins with the letter at `at`; an error if it has no digits.
fn exponent_end(text: &str, at: usize) -> Result<usize, String> {
    let bytes = text.as_bytes();
    let mut end = at + 1;
    end += usize::from(matches!(bytes.get(end), Some(b'+' | b'-')));
    let digits = text[end..].bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return Err("exponent has no digits".to_owned());
    }
    Ok(end + digits)
}

fn float_suffix(suffix: &str) -> Result<FloatSuffix, String> {
    match suffix {
        "" => Ok(FloatSuffix::None),
        "f" | "F" => Ok(FloatSuffix::F),
        "h" | "H" => Ok(FloatSuffix::H),
        "l" | "L" => Err(format!("invalid suffix '{suffix}' on floating constant: OpenCL C has no 'long double'")),
        other => Err(format!("invalid suffix '{}' on floating constant", shorten(other))),
    }
}

fn decimal_float(text: &str) -> Result<Number<'_>, String> {
    let bytes = text.as_bytes();
    let mut end = text.bytes().take_while(u8::is_ascii_digit).count();
    if bytes.get(end) == Some(&b'.') {
        end += 1;
        end += text[end..].bytes().take_while(u8::is_ascii_digit).count();
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        end = exponent_end(text, end)?;
    }
    let (value, suffix) = text.split_at(end);
    let suffix = float_suffix(suffix)?;
    let (Ok(double), Ok(single)) = (value.parse(), value.parse()) else {
        return Err(format!("invalid floating constant '{}'", shorten(text)));
    };
    let half = half::of_decimal(value, double);
    Ok(Number::Float { double, single, half, suffix, hexadecimal: false, text: value })
}

fn hexadecimal_float(text: &str) -> Result<Number<'_>, String> {
    let bytes = text.as_bytes();
    let (mut mantissa, mut scale) = (0u64, 0i64);
    let (mut at, mut digits, mut fraction) = (2, 0, false);
    while let Some(&b) = bytes.get(at) {
        match char::from(b).to_digit(16) {
            Some(digit) => {
                digits += 1;
                if mantissa >> 58 == 0 {
                    mantissa = mantissa << 4 | u64::from(digit);
                    scale -= i64::from(fraction) * 4;
                } else {
                    // Too small to be a bit of any result, but not to decide a tie.
                    mantissa |= u64::from(digit != 0);
                    scale += i64::from(!fraction) * 4;
                }
            }
            None if b == b'.' && !fraction => fraction = true,
            None => break,
        }
        at += 1;
    }
    if digits == 0 {
        return Err("hexadecimal constant has no digits".to_owned());
    }
    if !matches!(bytes.get(at), Some(b'p' | b'P')) {
        return Err("hexadecimal floating constant requires an exponent".to_owned());
    }
    let end = exponent_end(text, at)?;
    let (value, suffix) = text.split_at(end);
    let suffix = float_suffix(suffix)?;
    let written = &text[at + 1..end];
    let limit = 1i64 << 40;
    let exponent = written
        .parse::<i64>()
        .map_or(if written.starts_with('-') { -limit } else { limit }, |e| e.clamp(-limit, limit))
        + scale;
    Ok(Number::Float {
        double: f64::from_bits(round(mantissa, exponent, 53, 1023)),
        // A 32-bit pattern fits.
        single: f32::from_bits(round(mantissa, exponent, 24, 127) as u32),
        // And a 16-bit one.
        half: round(mantissa, exponent, 11, 15) as u16,
        suffix,
        hexadecimal: true,
        text: value,
    })
}

/// Bit pattern of `mantissa * 2^exponent`, rounded to nearest even, in the IEEE format with that many significant bits
/// and that largest exponent.
fn round(mantissa: u64, exponent: i64, bits: i64, max_exponent: i64) -> u64 {
    if mantissa == 0 {
        return 0;
    }
    let width = 64 - i64::from(mantissa.leading_zeros());
    // The exponent of the last place.
    let mut last = (exponent + width - bits).max(1 - max_exponent - (bits - 1));
    let shift = last - exponent;
    let mut value = match shift {
        i64::MIN..=0 => mantissa << -shift,
        1..=63 => {
            let (kept, rest, half) = (mantissa >> shift, mantissa & ((1 << shift) - 1), 1 << (shift - 1));
            kept + u64::from(rest > half || (rest == half && kept & 1 == 1))
        }
        64 => u64::from(mantissa > 1 << 63),
        _ => 0,
    };
    if value == 1 << bits {
        value >>= 1;
        last += 1;
    }
    if value < 1 << (bits - 1) {
        return value;
    }
    let biased = last + (bits - 1) + max_exponent;
    if biased > 2 * max_exponent {
        return (2 * max_exponent as u64 + 1) << (bits - 1);
    }
    (biased as u64) << (bits - 1) | (value - (1 << (bits - 1)))
}

/// A literal's bytes and what is doubtful about it.
pub(super) struct Decoded {
    pub(super) bytes: Vec<u8>,
    pub(super) warnings: Vec<String>,
}

/// The bytes of a string literal or character constant (with its quotes), escapes decoded.
pub(super) fn decode(text: &str) -> Result<Decoded, String> {
    if text.starts_with('L') {
        return Err("wide literals are not supported in OpenCL C".to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut warnings = Vec::new();
    let mut rest = text[1..text.len() - 1].chars().peekable();
    while let Some(c) = rest.next() {
        if c != '\\' {
            bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        let Some(escape) = rest.next() else {
            return Err("literal ends with '\\'".to_owned());
        };
        let simple = match escape {
            'a' => 7,
            'b' => 8,
            't' => 9,
            'n' => 10,
            'v' => 11,
            'f' => 12,
            'r' => 13,
            'e' | 'E' => 27,
            '\\' | '\'' | '"' | '?' => escape as u8,
            '0'..='7' => {
                let mut value = escape.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    match rest.peek().and_then(|c| c.to_digit(8)) {
                        Some(digit) => value = value * 8 + digit,
                        None => break,
                    }
                    rest.next();
                }
                u8::try_from(value).map_err(|_| "octal escape sequence out of range".to_owned())?
            }
            'x' => {
                let mut value = None;
                while let Some(digit) = rest.peek().and_then(|c| c.to_digit(16)) {
                    rest.next();
                    value = Some((value.unwrap_or(0u32) * 16 + digit).min(0xffff));
                }
                let value = value.ok_or_else(|| "\\x used with no following hex digits".to_owned())?;
                u8::try_from(value).map_err(|_| "hex escape sequence out of range".to_owned())?
            }
            'u' | 'U' => {
                let mut value = 0u32;
                for _ in 0..if escape == 'u' { 4 } else { 8 } {
                    let digit = rest.next().and_then(|c| c.to_digit(16));
                    let digit = digit.ok_or_else(|| "incomplete universal character name".to_owned())?;
                    value = (value << 4) | digit;
                }
                let c = char::from_u32(value).ok_or_else(|| "invalid universal character".to_owned())?;
                bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
            other => {
                warnings.push(format!("unknown escape sequence '\\{}'", other.escape_default()));
                bytes.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes());
                continue;
            }
        };
        bytes.push(simple);
    }
    Ok(Decoded { bytes, warnings })
}

/// The value of a character constant: that of a signed `char`, or for several characters the one clang gives.
pub(super) fn character(text: &str) -> Result<(i32, Vec<String>), String> {
    let Decoded { bytes, mut warnings } = decode(text)?;
    let value = match *bytes.as_slice() {
        [] => return Err("empty character constant".to_owned()),
        [one] => i32::from(one.cast_signed()),
        [..] if !bytes.is_ascii() => {
            return Err("character too large for enclosing character literal type".to_owned());
        }
        ref many => {
            warnings.push(if many.len() > 4 {
                "character constant too long for its type".to_owned()
            } else {
                "multi-character character constant".to_owned()
            });
            many.iter().fold(0, |v: i32, &b| (v << 8) | i32::from(b))
        }
    };
    Ok((value, warnings))
}

/// A name as it is shown in a message.
pub(super) fn shorten(text: &str) -> String {
    const MOST: usize = 80;
    match text.char_indices().nth(MOST) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}...", &text[..at]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hexadecimal constants and the bits they have, by IEEE 754 with ties to even.
    #[test]
    fn hexadecimal_floats_are_rounded_once() {
        const CASES: &[(&str, u64, u32)] = &[
            ("0x0p0", 0, 0),
            ("0x1p0", 0x3ff0_0000_0000_0000, 0x3f80_0000),
            ("0x1.fffffep127", 0x47ef_ffff_e000_0000, 0x7f7f_ffff),
            ("0x1.ffffffp127", 0x47ef_ffff_f000_0000, 0x7f80_0000),
            ("0x1p-126", 0x3810_0000_0000_0000, 0x0080_0000),
            ("0x1p-149", 0x36a0_0000_0000_0000, 1),
            ("0x1p-150", 0x3690_0000_0000_0000, 0),
            ("0x1.8p-150", 0x3698_0000_0000_0000, 1),
            ("0x1.8p-149", 0x36a8_0000_0000_0000, 2),
            ("0x0.ffffffp-126", 0x380f_ffff_e000_0000, 0x0080_0000),
            ("0x1.000001p0", 0x3ff0_0000_1000_0000, 0x3f80_0000),
            ("0x1.000003p0", 0x3ff0_0000_3000_0000, 0x3f80_0002),
            // Over `double` this would be a tie and go down.
            ("0x1.00000100000000001p0", 0x3ff0_0000_1000_0000, 0x3f80_0001),
            ("0x1.fffffffffffffp1023", 0x7fef_ffff_ffff_ffff, 0x7f80_0000),
            ("0x1.fffffffffffff8p1023", 0x7ff0_0000_0000_0000, 0x7f80_0000),
            ("0x1p1024", 0x7ff0_0000_0000_0000, 0x7f80_0000),
            ("0x1p-1074", 1, 0),
            ("0x1p-1075", 0, 0),
            ("0x1.00000000000001p-1075", 1, 0),
            ("0x1p-1022", 0x0010_0000_0000_0000, 0),
            ("0x1p99999999999999999999", 0x7ff0_0000_0000_0000, 0x7f80_0000),
            ("0x1p-99999999999999999999", 0, 0),
            ("0x0p99999999999999999999", 0, 0),
            ("0x123456789abcdef01234p-20", 0x4372_3456_789a_bcdf, 0x5b91_a2b4),
            ("0x.00000000000000000000000001p100", 0x3fb0_0000_0000_0000, 0x3d80_0000),
        ];
        for (text, double, single) in CASES {
            let Ok(Number::Float { double: d, single: s, .. }) = number(text) else {
                panic!("{text} is a number");
            };
            assert_eq!(d.to_bits(), *double, "{text} as double");
            assert_eq!(s.to_bits(), *single, "{text} as float");
        }
    }

    #[test]
    fn hexadecimal_halves_are_rounded_once() {
        // Over `float` the second and third would be ties.
        let cases = [
            ("0x1.002p0", 0x3c00),
            ("0x1.0020000001p0", 0x3c01),
            ("0x1.005fffffffp0", 0x3c01),
            ("0x1.006p0", 0x3c02),
            ("0x1.ffcp15", 0x7bff),
            ("0x1.ffep15", 0x7c00),
            ("0x1p-24", 1),
            ("0x1p-25", 0),
        ];
        for (text, bits) in cases {
            let Ok(Number::Float { half, .. }) = number(text) else { panic!("{text} is a number") };
            assert_eq!(half, bits, "{text}");
        }
    }

    #[test]
    fn decimal_floats_are_rounded_once() {
        // 1 + 2^-24 + 2^-60: a tie for `float` if rounded to `double` first.
        let Ok(Number::Float { single, .. }) = number("1.00000005960464477626") else {
            panic!("it is a number");
        };
        assert_eq!(single.to_bits(), 0x3f80_0001);
    }
}
