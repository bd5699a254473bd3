//! Pack and unpack functions (MSL 6.14): every number of every field, and the numbers around where rounding turns, in f64 from 8.7.1 and 8.7.7.

use std::collections::BTreeSet;

use hostmetal::msl::MathMode;

use crate::number::{FLOAT, HALVES, Scalar};
use crate::stdlib::{ALL_MODES, Random, compile, run};
use crate::support::Buffer;
use crate::uses::{bytes, numbers};

#[derive(Clone, Copy, PartialEq)]
enum Code {
    Unorm,
    Snorm,
    /// The first three components; the last is Unorm.
    Srgb,
}
use Code::{Snorm, Srgb, Unorm};

/// What is between the words of a function's name, the type of the packed number, the fields' widths from the lowest, and what they hold.
const FORMATS: &[(&str, &str, &[u32], Code)] = &[
    ("unorm4x8", "uint", &[8, 8, 8, 8], Unorm),
    ("snorm4x8", "uint", &[8, 8, 8, 8], Snorm),
    ("unorm2x16", "uint", &[16, 16], Unorm),
    ("snorm2x16", "uint", &[16, 16], Snorm),
    ("unorm10a2", "uint", &[10, 10, 10, 2], Unorm),
    ("unorm565", "ushort", &[5, 6, 5], Unorm),
    ("srgb", "uint", &[8, 8, 8, 8], Srgb),
];

/// The functions of a format for a type: the one that packs, the one that unpacks.
fn names(format: &str, t: Scalar) -> (String, String) {
    let t = t.name;
    match format {
        "srgb" => (format!("pack_{t}_to_srgb_unorm4x8"), format!("unpack_unorm4x8_srgb_to_{t}")),
        _ => (format!("pack_{t}_to_{format}"), format!("unpack_{format}_to_{t}")),
    }
}

pub(crate) fn covered() -> BTreeSet<(String, String)> {
    let of = |format: &str, t| <[String; 2]>::from(names(format, t)).map(|name| (name, String::new()));
    FORMATS.iter().flat_map(|f| [FLOAT, HALVES].into_iter().flat_map(|t| of(f.0, t))).collect()
}

fn is_srgb(code: Code, component: usize) -> bool {
    code == Srgb && component < 3
}

/// 8.7.1.1, 8.7.7.
fn unpacked(code: Code, field: u32, width: u32, component: usize) -> f64 {
    let most = f64::from((1u32 << width) - 1);
    if code == Snorm {
        let signed = i64::from(field) - if field >> (width - 1) == 1 { 1 << width } else { 0 };
        return (signed as f64 / f64::from((1u32 << (width - 1)) - 1)).max(-1.0);
    }
    let c = f64::from(field) / most;
    match is_srgb(code, component) {
        true if c <= 0.04045 => c / 12.92,
        true => ((c + 0.055) / 1.055).powf(2.4),
        false => c,
    }
}

/// The field before it is rounded; None for NaN, which is 0.
fn scaled(code: Code, x: f64, width: u32, component: usize) -> Option<f64> {
    let (low, most) = match code {
        Snorm => (-1.0, (1u32 << (width - 1)) - 1),
        _ => (0.0, (1u32 << width) - 1),
    };
    let x = if x.is_nan() { return None } else { x.clamp(low, 1.0) };
    let x = match is_srgb(code, component) {
        true if x < 0.003_130_8 => 12.92 * x,
        true => 1.055 * x.powf(1.0 / 2.4) - 0.055,
        false => x,
    };
    Some(x * f64::from(most))
}

/// Numbers of a type whose fields are next to, at and between the places where rounding turns, and others.
fn inputs(t: Scalar, fields: &[u32], code: Code) -> Vec<u64> {
    let mut all = vec![0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-30];
    all.extend([0.003_130_8, 0.003_13, 0.0031, 1e-4]);
    let most = if code == Snorm { (1u32 << (fields[0] - 1)) - 1 } else { (1u32 << fields[0]) - 1 };
    let step = (most / 255).max(1) as usize;
    for field in (0..most).step_by(step) {
        for part in [0.0, 0.25, 0.5, 0.75] {
            all.push((f64::from(field) + part) / f64::from(most));
            all.push(-(f64::from(field) + part) / f64::from(most));
        }
    }
    let mut random = Random(3);
    all.extend((0..500).map(|_| f64::from(random.between(-1.1, 1.1))));
    all.truncate(all.len() / 12 * 12);
    all.into_iter().map(|x| t.nearest(x)).collect()
}

#[test]
fn numbers_are_packed() {
    for t in [FLOAT, HALVES] {
        for &(format, word, fields, code) in FORMATS {
            let (pack, _) = names(format, t);
            let (count, inputs) = (fields.len(), inputs(t, fields, code));
            let n = inputs.len() / count;
            let source = format!(
                "kernel void run(device const packed_vec<{0}, {count}> *in [[buffer(0)]], device {word} *out [[buffer(1)]], uint i [[thread_position_in_grid]]) {{\n\
                   out[i] = {pack}({0}{count}(in[i])); }}\n",
                t.name
            );
            for mode in if format == "unorm4x8" { &ALL_MODES[..] } else { &[MathMode::Fast] } {
                let out = Buffer::new((n * 4) as u64);
                run(&compile(&source, *mode), &[&Buffer::of(&bytes(t, &inputs)), &out], n, 64);
                let out: Vec<u32> = match word {
                    "uint" => out.read::<u32>(),
                    _ => out.read::<u16>().into_iter().map(u32::from).collect(),
                };
                for (v, got) in inputs.chunks_exact(count).zip(out) {
                    let mut at = 0;
                    for (c, (&bits, &width)) in v.iter().zip(fields).enumerate() {
                        let got = got >> at & ((1 << width) - 1);
                        at += width;
                        // The product may be rounded to float before it is rounded to a whole number.
                        let exact = scaled(code, t.float(bits), width, c).unwrap_or(0.0);
                        let whole = f64::from(exact as f32).round_ties_even() as i64;
                        let expected = (whole & ((1 << width) - 1)) as u32;
                        // sRGB: within 0.6 of a unit (8.7.7).
                        let near = is_srgb(code, c) && (f64::from(got) - exact).abs() <= 0.6;
                        assert!(
                            got == expected || near,
                            "{pack}, component {c} of {:e}: {got}, not {exact}",
                            t.float(bits)
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn numbers_are_unpacked() {
    for t in [FLOAT, HALVES] {
        for &(format, word, fields, code) in FORMATS {
            let (_, unpack) = names(format, t);
            let (count, n) = (fields.len(), 65536u32);
            // Every number of every field: the fields differ by odd amounts.
            let of = |i: u32| {
                let mut at = 0;
                fields.iter().enumerate().fold(0u32, |word, (c, width)| {
                    let field = i.wrapping_add(c as u32 * 37) & ((1 << width) - 1);
                    at += width;
                    word | field << (at - width)
                })
            };
            let words: Vec<u32> = (0..n).map(of).collect();
            let source = format!(
                "kernel void run(device const {word} *in [[buffer(0)]], device packed_vec<{}, {count}> *out [[buffer(1)]], uint i [[thread_position_in_grid]]) {{\n\
                   out[i] = {unpack}(in[i]); }}\n",
                t.name
            );
            let out = Buffer::new((n as usize * count * t.bytes()) as u64);
            let input = match word {
                "uint" => Buffer::of(&words),
                _ => Buffer::of(&words.iter().map(|&w| w as u16).collect::<Vec<u16>>()),
            };
            run(&compile(&source, MathMode::Fast), &[&input, &out], n as usize, 64);
            for (word, got) in words.iter().zip(numbers(t, &out.read::<u8>()).chunks_exact(count)) {
                let mut at = 0;
                for (c, (&got, &width)) in got.iter().zip(fields).enumerate() {
                    let exact = unpacked(code, word >> at & ((1 << width) - 1), width, c);
                    at += width;
                    // Divisions are correctly rounded; halves are made of floats; a power is within some units.
                    let units = if is_srgb(code, c) { 16.0 } else { 0.0 };
                    let off = t.ulps(got, exact, false);
                    assert!(
                        off <= units || t.bits == 16 && off <= 0.51,
                        "{unpack} of {word:#x}, component {c}: {:e}, not {exact:e}",
                        t.float(got)
                    );
                }
            }
        }
    }
}
