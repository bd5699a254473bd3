//! Conversions (OpenCL C 3.0 §6.3.3): every pair of types, rounding mode and saturation; `half` in memory (§6.15.7.1).

use dcmetal::Scalar;

use crate::exact::{
    Case, FLOATS, INTEGERS, Number, WIDTHS, check, clamp, elementwise, is_float, load, numbers, range, vector_name,
    wrap,
};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Mode {
    Default,
    Nearest,
    Zero,
    Up,
    Down,
}

const MODES: [(Mode, &str); 5] =
    [(Mode::Default, ""), (Mode::Nearest, "_rte"), (Mode::Zero, "_rtz"), (Mode::Up, "_rtp"), (Mode::Down, "_rtn")];

/// `magnitude * 2^exponent`, negative or not, to a multiple of `2^quantum`: how many of them.
fn multiples(negative: bool, magnitude: u128, exponent: i32, quantum: i32, mode: Mode) -> u128 {
    if exponent >= quantum {
        return magnitude << (exponent - quantum);
    }
    let shift = (quantum - exponent) as u32;
    let (whole, rest, half) = match shift {
        128.. => (0, magnitude, u128::MAX),
        _ => (magnitude >> shift, magnitude & ((1 << shift) - 1), 1u128 << (shift - 1)),
    };
    let up = match mode {
        Mode::Nearest | Mode::Default => rest > half || (rest == half && whole & 1 == 1),
        Mode::Zero => false,
        Mode::Up => rest > 0 && !negative,
        Mode::Down => rest > 0 && negative,
    };
    whole + u128::from(up)
}

/// A finite number as sign, magnitude and exponent.
fn parts(number: Number) -> (bool, u128, i32) {
    match number {
        Number::Int(x) => (x < 0, x.unsigned_abs(), 0),
        Number::Float(x) => {
            let (raw, exponent) = (x.to_bits() & ((1 << 52) - 1), (x.to_bits() >> 52 & 0x7FF) as i32);
            match exponent {
                0 => (x.is_sign_negative(), u128::from(raw), -1074),
                e => (x.is_sign_negative(), u128::from(raw | 1 << 52), e - 1075),
            }
        }
    }
}

/// To `float` or `half`.
fn to_float(to: Scalar, number: Number, mode: Mode) -> f64 {
    if let Number::Float(x) = number
        && !x.is_finite()
    {
        return x;
    }
    let (digits, lowest, largest) =
        if to == Scalar::F32 { (24, -126, f64::from(f32::MAX)) } else { (11, -14, half::f16::MAX.to_f64()) };
    let (negative, magnitude, exponent) = parts(number);
    let top = exponent + 127 - magnitude.leading_zeros() as i32;
    let quantum = top.max(lowest) - digits + 1;
    let count = multiples(negative, magnitude, exponent, quantum, mode);
    let value = count as f64 * 2f64.powi(quantum);
    let value = match mode {
        _ if value <= largest => value,
        Mode::Zero => largest,
        Mode::Up if negative => largest,
        Mode::Down if !negative => largest,
        _ => f64::INFINITY,
    };
    if negative { -value } else { value }
}

/// To an integer; `None` where nothing is defined.
fn to_int(to: Scalar, number: Number, mode: Mode, saturate: bool) -> Option<i128> {
    let value = match number {
        Number::Int(x) => x,
        Number::Float(x) if x.is_nan() => return saturate.then_some(0),
        Number::Float(x) if x.is_infinite() => {
            if x > 0.0 {
                i128::MAX
            } else {
                i128::MIN
            }
        }
        Number::Float(x) => {
            let (negative, magnitude, exponent) = parts(number);
            // Conversions to integers round to zero when nothing else is said.
            let mode = if mode == Mode::Default { Mode::Zero } else { mode };
            match x.abs() < 2f64.powi(100) {
                true => multiples(negative, magnitude, exponent, 0, mode) as i128 * if negative { -1 } else { 1 },
                false => {
                    if negative {
                        i128::MIN
                    } else {
                        i128::MAX
                    }
                }
            }
        }
    };
    let (low, high) = range(to);
    match (saturate, is_int(number)) {
        (true, _) => Some(clamp(to, value)),
        (false, true) => Some(wrap(to, value)),
        (false, false) => (low..=high).contains(&value).then_some(value),
    }
}

fn is_int(number: Number) -> bool {
    matches!(number, Number::Int(_))
}

/// The conversions between two types in some widths.
fn pair(from: Scalar, to: Scalar, widths: &[usize], cases: &mut Vec<Case>) {
    for saturate in [false, true] {
        if saturate && is_float(to) {
            continue;
        }
        for (mode, suffix) in MODES {
            let sat = if saturate { "_sat" } else { "" };
            let defined = |number: &Number| is_float(to) || to_int(to, *number, mode, saturate).is_some();
            let mut values = numbers(from, 21);
            // What is not defined gives way to something that is.
            values.iter_mut().filter(|n| !defined(n)).for_each(|n| *n = Number::Float(1.5));
            let inputs = [(from, values)];
            let reference = |a: &[Number]| match is_float(to) {
                true => Number::Float(to_float(to, a[0], mode)),
                false => Number::Int(to_int(to, a[0], mode, saturate).expect("only defined ones are left")),
            };
            for lanes in widths {
                let name = format!("convert_{}{sat}{suffix}", vector_name(to, *lanes));
                cases.push(elementwise(&name, &format!("{name}(A)"), *lanes, &inputs, to, &reference));
            }
        }
    }
}

/// Every pair of types in two widths, which change from pair to pair so that all widths occur with all types.
#[test]
fn conversions() {
    let types: Vec<Scalar> = INTEGERS.into_iter().chain(FLOATS).collect();
    let mut cases = Vec::new();
    for (i, from) in types.iter().enumerate() {
        for (j, to) in types.iter().enumerate() {
            let vector = WIDTHS[1 + (i + j) % (WIDTHS.len() - 1)];
            pair(*from, *to, &[1, vector], &mut cases);
        }
    }
    check("conversions", &cases);
}

/// Casts and assignments convert as `convert_T` does.
#[test]
fn implicit_conversions() {
    let types: Vec<Scalar> = INTEGERS.into_iter().chain(FLOATS).collect();
    let mut cases = Vec::new();
    for from in &types {
        for to in &types {
            let mut values = numbers(*from, 23);
            let defined = |n: &Number| is_float(*to) || to_int(*to, *n, Mode::Default, false).is_some();
            values.iter_mut().filter(|n| !defined(n)).for_each(|n| *n = Number::Float(-0.0));
            let inputs = [(*from, values)];
            let reference = |a: &[Number]| match is_float(*to) {
                true => Number::Float(to_float(*to, a[0], Mode::Default)),
                false => Number::Int(to_int(*to, a[0], Mode::Default, false).expect("only defined ones are left")),
            };
            let name = vector_name(*to, 1);
            cases.push(elementwise(&format!("({name})"), &format!("({name})A"), 1, &inputs, *to, &reference));
            cases.push(elementwise(&format!("{name} ="), "A", 1, &inputs, *to, &reference));
        }
    }
    check("implicit conversions", &cases);
}

#[test]
fn halves_in_memory() {
    let mut cases = Vec::new();
    for lanes in WIDTHS {
        let width = if lanes == 1 { String::new() } else { lanes.to_string() };
        let values = numbers(Scalar::F16, 31);
        let name = format!("vload_half{width}");
        let same = |a: &[Number]| a[0];
        cases.push(elementwise(&name, &format!("{name}(i, a)"), lanes, &[(Scalar::F16, values)], Scalar::F32, &same));
        let values = numbers(Scalar::F32, 32);
        for (mode, suffix) in MODES {
            let name = format!("vstore_half{width}{suffix}");
            let inputs = [(Scalar::F32, values.clone())];
            let reference = |a: &[Number]| Number::Float(to_float(Scalar::F16, a[0], mode));
            let case = elementwise(&name, "A", lanes, &inputs, Scalar::F16, &reference);
            cases.push(Case { statement: format!("{name}({}, i, r)", load("a", lanes)), ..case });
        }
    }
    check("halves in memory", &cases);
}
