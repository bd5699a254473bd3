//! The conversions of `printf` as C defines them (C99 §7.19.6.1, OpenCL C 3.0 §6.15.14), in the "C" locale.

use clmsl::{Conversion, PrintValue};

/// Prints the argument whose words come next. `None` when there are not enough of them.
pub(super) fn convert(c: &Conversion, words: &mut impl Iterator<Item = u32>, out: &mut Vec<u8>) -> Option<()> {
    for lane in 0..c.lanes {
        if lane > 0 {
            out.push(b',');
        }
        let low = words.next()?;
        let wide = match c.value {
            PrintValue::Int64 | PrintValue::Double | PrintValue::Pointer => {
                u64::from(low) | u64::from(words.next()?) << 32
            }
            _ => u64::from(low),
        };
        match c.value {
            PrintValue::Float => float(c, f64::from(f32::from_bits(low)), out),
            PrintValue::Double => float(c, f64::from_bits(wide), out),
            PrintValue::Pointer => field(c, format!("{wide:#x}").as_bytes(), out),
            PrintValue::String => {
                let mut text = Vec::new();
                for _ in 0..low.div_ceil(4) {
                    text.extend(words.next()?.to_le_bytes());
                }
                text.truncate(low as usize);
                field(c, &text, out);
            }
            _ if c.specifier == 'c' => field(c, &[low as u8], out),
            _ => integer(c, wide, out),
        }
    }
    Some(())
}

/// Fills a field with spaces.
fn field(c: &Conversion, text: &[u8], out: &mut Vec<u8>) {
    number(c, "", text, false, out);
}

/// A sign or prefix and what follows it in a field; `zeros` may fill it.
fn number(c: &Conversion, prefix: &str, digits: &[u8], zeros: bool, out: &mut Vec<u8>) {
    let fill = (c.width as usize).saturating_sub(prefix.len() + digits.len());
    if !c.left && !zeros {
        out.resize(out.len() + fill, b' ');
    }
    out.extend_from_slice(prefix.as_bytes());
    if !c.left && zeros {
        out.resize(out.len() + fill, b'0');
    }
    out.extend_from_slice(digits);
    if c.left {
        out.resize(out.len() + fill, b' ');
    }
}

fn sign(c: &Conversion, negative: bool) -> &'static str {
    match (negative, c.plus, c.space) {
        (true, ..) => "-",
        (false, true, _) => "+",
        (false, false, true) => " ",
        _ => "",
    }
}

fn integer(c: &Conversion, value: u64, out: &mut Vec<u8>) {
    let signed = match c.value {
        PrintValue::Int8 => i64::from(value as i8),
        PrintValue::Int16 => i64::from(value as i16),
        PrintValue::Int64 => value as i64,
        _ => i64::from(value as i32),
    };
    let unsigned = match c.value {
        PrintValue::Int8 => u64::from(value as u8),
        PrintValue::Int16 => u64::from(value as u16),
        PrintValue::Int64 => value,
        _ => u64::from(value as u32),
    };
    let (mut prefix, mut digits) = match c.specifier {
        'o' => ("", format!("{unsigned:o}")),
        'x' => (if c.alternate && unsigned != 0 { "0x" } else { "" }, format!("{unsigned:x}")),
        'X' => (if c.alternate && unsigned != 0 { "0X" } else { "" }, format!("{unsigned:X}")),
        'u' => ("", unsigned.to_string()),
        _ => (sign(c, signed < 0), signed.unsigned_abs().to_string()),
    };
    if let Some(precision) = c.precision {
        if unsigned == 0 {
            digits.clear();
        }
        let missing = (precision as usize).saturating_sub(digits.len());
        digits.insert_str(0, &"0".repeat(missing));
    }
    if c.specifier == 'o' && c.alternate && !digits.starts_with('0') {
        prefix = "";
        digits.insert(0, '0');
    }
    number(c, prefix, digits.as_bytes(), c.zero && c.precision.is_none(), out);
}

fn float(c: &Conversion, value: f64, out: &mut Vec<u8>) {
    let sign = sign(c, value.is_sign_negative());
    let size = value.abs();
    if !size.is_finite() {
        let name = if size.is_nan() { "nan" } else { "inf" };
        let name = if c.specifier.is_ascii_uppercase() { name.to_uppercase() } else { name.to_owned() };
        return number(c, sign, name.as_bytes(), false, out);
    }
    let lower = c.specifier.to_ascii_lowercase();
    let mut digits = match lower {
        'e' => exponential(size, c.precision.unwrap_or(6), c.alternate),
        'g' => shortest_style(size, c.precision.unwrap_or(6).max(1), c.alternate),
        'a' => hexadecimal(size, c.precision, c.alternate),
        _ => fixed(size, c.precision.unwrap_or(6), c.alternate),
    };
    let mut prefix = sign.to_owned();
    if lower == 'a' {
        prefix.push_str("0x");
    }
    if c.specifier.is_ascii_uppercase() {
        digits.make_ascii_uppercase();
        prefix.make_ascii_uppercase();
    }
    number(c, &prefix, digits.as_bytes(), c.zero, out);
}

/// `[point]` is one even if no digit follows.
fn fixed(size: f64, precision: u32, point: bool) -> String {
    let mut text = format!("{size:.*}", precision as usize);
    if precision == 0 && point {
        text.push('.');
    }
    text
}

/// The digits and the exponent of `d.ddde`.
fn scientific(size: f64, precision: u32) -> (String, i32) {
    let text = format!("{size:.*e}", precision as usize);
    let (digits, exponent) = text.split_once('e').expect("`e` formats have an exponent");
    (digits.to_owned(), exponent.parse().expect("an exponent is a number"))
}

fn exponential(size: f64, precision: u32, point: bool) -> String {
    let (mut digits, exponent) = scientific(size, precision);
    if precision == 0 && point {
        digits.push('.');
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// `%g`: fixed or exponential, without trailing zeros.
fn shortest_style(size: f64, precision: u32, all_digits: bool) -> String {
    let (_, exponent) = scientific(size, precision - 1);
    if exponent < -4 || exponent >= precision as i32 {
        let text = exponential(size, precision - 1, all_digits);
        if all_digits {
            return text;
        }
        let (digits, power) = text.split_once('e').expect("it was just written");
        return format!("{}e{power}", without_zeros(digits));
    }
    let text = fixed(size, (precision as i32 - 1 - exponent) as u32, all_digits);
    if all_digits { text } else { without_zeros(&text).to_owned() }
}

fn without_zeros(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

/// `h.hhhp±d` with a leading 1, or 0 for zero and subnormal numbers.
fn hexadecimal(size: f64, precision: Option<u32>, point: bool) -> String {
    const FRACTION: u32 = 52;
    let bits = size.to_bits();
    let fraction = bits & ((1 << FRACTION) - 1);
    let (mut mantissa, exponent) = match bits >> FRACTION {
        0 if fraction == 0 => (0, 0),
        0 => (fraction, -1022),
        biased => (fraction | 1 << FRACTION, biased as i64 - 1023),
    };
    let mut digits = 13;
    if let Some(precision) = precision.filter(|&p| p < 13) {
        // Half to even.
        let shift = FRACTION - 4 * precision;
        let (kept, rest, half) = (mantissa >> shift, mantissa & ((1 << shift) - 1), 1 << (shift - 1));
        mantissa = (kept + u64::from(rest > half || (rest == half && kept & 1 == 1))) << shift;
        digits = precision as usize;
    }
    let mut fraction = format!("{:013x}", mantissa & ((1 << FRACTION) - 1));
    fraction.truncate(digits);
    match precision {
        Some(precision) => fraction.push_str(&"0".repeat((precision as usize).saturating_sub(digits))),
        None => fraction.truncate(fraction.trim_end_matches('0').len()),
    }
    let point = if point || !fraction.is_empty() { "." } else { "" };
    format!("{}{point}{fraction}p{exponent:+}", mantissa >> FRACTION)
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;

    use clmsl::PrintPiece;

    use super::*;

    /// What the host's C library prints for one argument.
    #[expect(unsafe_code, reason = "the reference is C's own printf")]
    fn reference(format: &str, argument: &Argument) -> Vec<u8> {
        let format = CString::new(format).expect("no zeros");
        let mut out = vec![0u8; 10_000];
        let (to, room, format) = (out.as_mut_ptr().cast(), out.len(), format.as_ptr());
        let length = match *argument {
            // SAFETY: the buffer has the room given; the format has one conversion, of the argument's type.
            Argument::Int(value) => unsafe { libc::snprintf(to, room, format, value) },
            // SAFETY: as above.
            Argument::Long(value) => unsafe { libc::snprintf(to, room, format, value) },
            // SAFETY: as above.
            Argument::Float(value) => unsafe { libc::snprintf(to, room, format, f64::from(value)) },
            // SAFETY: as above.
            Argument::Double(value) => unsafe { libc::snprintf(to, room, format, value) },
        };
        out.truncate(usize::try_from(length).expect("the format is valid"));
        out
    }

    #[derive(Debug)]
    enum Argument {
        Int(i32),
        Long(i64),
        Float(f32),
        Double(f64),
    }

    fn ours(format: &str, argument: &Argument) -> Vec<u8> {
        let pieces = clmsl::PrintFormat::parse(format).expect("a format").pieces;
        let [PrintPiece::Conversion(conversion)] = pieces.as_slice() else { panic!("{format}") };
        let words = match *argument {
            Argument::Int(value) => vec![value as u32],
            Argument::Long(value) => vec![value as u32, (value >> 32) as u32],
            Argument::Float(value) => vec![value.to_bits()],
            Argument::Double(value) => vec![value.to_bits() as u32, (value.to_bits() >> 32) as u32],
        };
        let conversion = match argument {
            Argument::Double(_) => &Conversion { value: PrintValue::Double, ..conversion.clone() },
            _ => conversion,
        };
        let mut out = Vec::new();
        convert(conversion, &mut words.into_iter(), &mut out).expect("enough words");
        out
    }

    /// xorshift64*
    struct Random(u64);

    impl Random {
        fn next(&mut self) -> u64 {
            self.0 ^= self.0 >> 12;
            self.0 ^= self.0 << 25;
            self.0 ^= self.0 >> 27;
            self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
        }

        fn pick<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
            list[self.next() as usize % list.len()]
        }
    }

    fn random_value(random: &mut Random, specifier: char, long: bool) -> Argument {
        if "fFeEgGaA".contains(specifier) {
            const SPECIAL: [f32; 16] = [
                0.0,
                -0.0,
                0.5,
                1.5,
                2.5,
                -0.125,
                0.375,
                9.5,
                99.95,
                9.999_995,
                1e10,
                f32::MAX,
                f32::MIN_POSITIVE,
                f32::from_bits(1),
                f32::INFINITY,
                f32::NAN,
            ];
            return Argument::Float(match random.next() % 4 {
                0 => SPECIAL[random.next() as usize % SPECIAL.len()],
                1 => (random.next() as i32 % 100_000) as f32 / 64.0,
                2 => -((random.next() % 1000) as f32),
                _ if random.next() & 1 == 0 => return Argument::Double(random_double(random)),
                _ => f32::from_bits(random.next() as u32),
            });
        }
        let value = match random.next() % 4 {
            0 => [0, 1, -1, i64::MAX, i64::MIN][random.next() as usize % 5],
            1 => (random.next() % 2000) as i64 - 1000,
            _ => (random.next() << 20 ^ random.next()) as i64,
        };
        if long { Argument::Long(value) } else { Argument::Int(value as i32) }
    }

    /// One of three is subnormal.
    fn random_double(random: &mut Random) -> f64 {
        let bits = random.next() << 20 ^ random.next();
        f64::from_bits(if bits.is_multiple_of(3) { bits & !(0x7ff << 52) } else { bits })
    }

    #[test]
    fn every_conversion_prints_what_c_prints() {
        let mut random = Random(0x1234_5678_9ABC_DEF1);
        for round in 0..40_000 {
            let specifier = ['d', 'i', 'u', 'o', 'x', 'X', 'f', 'F', 'e', 'E', 'g', 'G', 'a', 'A', 'c'][round % 15];
            let is_integer = "diuoxX".contains(specifier);
            let mut format = "%".to_owned();
            for flag in ["-", "+", " ", "#", "0"] {
                // What C leaves undefined is not compared.
                let defined = match flag {
                    "#" => !"diuc".contains(specifier),
                    "0" => specifier != 'c',
                    _ => true,
                };
                if defined && random.next().is_multiple_of(4) {
                    format += flag;
                }
            }
            format += random.pick(&["", "", "1", "5", "12", "40"]);
            if specifier != 'c' {
                format += random.pick(&["", "", ".", ".0", ".1", ".3", ".7", ".13", ".20", ".50"]);
            }
            let length = if is_integer { random.pick(&["", "", "hh", "h", "l"]) } else { "" };
            format += length;
            format.push(specifier);
            let argument = random_value(&mut random, specifier, length == "l");
            let (ours, reference) = (ours(&format, &argument), reference(&format, &argument));
            assert_eq!(
                String::from_utf8_lossy(&ours),
                String::from_utf8_lossy(&reference),
                "{format} of {argument:?} in round {round}"
            );
        }
    }
}
