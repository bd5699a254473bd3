//! Outputs compared number by number.

use std::fmt;

use dcmetal::Scalar;

use crate::vary::Shape;

/// The first number in which two buffers differ, and how many do.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Which of its numbers, in memory order and without padding.
    pub index: usize,
    /// The device's.
    pub device: String,
    /// The peer's.
    pub peer: String,
    /// Units in the last place between floats; 0 for other numbers, which must be the same.
    pub ulp: u64,
    /// Numbers that differ.
    pub count: usize,
    /// Numbers there are.
    pub of: usize,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { index, device, peer, ulp, count, of, .. } = self;
        write!(f, "[{index}] is {device} on the device, {peer} on OpenCL")?;
        if *ulp > 0 {
            write!(f, " ({ulp} ULP)")?;
        }
        write!(f, "; {count} of {of} numbers differ")
    }
}

/// Compares what the device and the peer left in one buffer. Integers must be the same; floats may be `ulp` units in the
/// last place apart, where -0 and 0 are next to each other, and any NaN equals any other. `double` is emulated on the device
/// and has to be the same.
pub fn differences(device: &[u8], peer: &[u8], shape: &Shape, ulp: u64) -> Option<Difference> {
    assert_eq!(device.len(), peer.len(), "both began with the same bytes");
    let mut found: Option<Difference> = None;
    let mut of = 0;
    for (index, (scalar, range)) in shape.numbers(device.len()).enumerate() {
        of += 1;
        let (ours, theirs) = (&device[range.clone()], &peer[range]);
        if ours == theirs {
            continue;
        }
        let apart = distance(scalar, ours, theirs);
        let allowed = if scalar == Scalar::F64 { 0 } else { ulp };
        if apart.is_some_and(|apart| apart <= allowed) {
            continue;
        }
        match &mut found {
            Some(found) => found.count += 1,
            None => {
                let (device, peer) = (show(scalar, ours), show(scalar, theirs));
                found = Some(Difference { index, device, peer, ulp: apart.unwrap_or(0), count: 1, of: 0 });
            }
        }
    }
    found.map(|found| Difference { of, ..found })
}

/// Units in the last place between two floats; `None` for other numbers.
fn distance(scalar: Scalar, a: &[u8], b: &[u8]) -> Option<u64> {
    let (sign, infinity) = match scalar {
        Scalar::F64 => (1 << 63, f64::INFINITY.to_bits()),
        Scalar::F32 => (1 << 31, u64::from(f32::INFINITY.to_bits())),
        Scalar::F16 => (1 << 15, u64::from(half::f16::INFINITY.to_bits())),
        _ => return None,
    };
    let (a, b) = (bits(a), bits(b));
    let is_nan = |x: u64| x & (sign - 1) > infinity;
    if is_nan(a) || is_nan(b) {
        return Some(if is_nan(a) && is_nan(b) { 0 } else { u64::MAX });
    }
    // Floats in order: the negative ones before -0, which is one before 0.
    let place = |x: u64| if x & sign == 0 { x as i64 } else { -((x & (sign - 1)) as i64) - 1 };
    Some(place(a).abs_diff(place(b)))
}

/// Up to eight bytes as a number.
fn bits(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

fn show(scalar: Scalar, bytes: &[u8]) -> String {
    let bits = bits(bytes);
    let shift = 64 - 8 * bytes.len();
    match scalar {
        Scalar::F64 => format!("{:?} (0x{bits:016x})", f64::from_bits(bits)),
        Scalar::F32 => format!("{:?} (0x{bits:08x})", f32::from_bits(bits as u32)),
        Scalar::F16 => format!("{:?} (0x{bits:04x})", half::f16::from_bits(bits as u16)),
        Scalar::BF16 => format!("{:?} (0x{bits:04x})", half::bf16::from_bits(bits as u16)),
        Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64 => ((bits << shift) as i64 >> shift).to_string(),
        Scalar::U8 | Scalar::U16 | Scalar::U32 | Scalar::U64 | Scalar::Bool => bits.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    fn ulps(a: f32, b: f32) -> Option<u64> {
        differences(&floats(&[a]), &floats(&[b]), &Shape::of(Scalar::F32, 1), 0).map(|found| found.ulp)
    }

    #[test]
    fn floats_are_apart_by_their_places() {
        assert_eq!(ulps(1.0, 1.0), None);
        assert_eq!(ulps(1.0, 1.0 + f32::EPSILON), Some(1));
        assert_eq!(ulps(0.0, -0.0), Some(1));
        assert_eq!(ulps(f32::from_bits(1), -f32::from_bits(1)), Some(3));
        assert_eq!(ulps(f32::MAX, f32::INFINITY), Some(1));
        assert_eq!(ulps(f32::NAN, -f32::NAN), None);
        assert_eq!(ulps(f32::NAN, f32::INFINITY), Some(u64::MAX));
        assert_eq!(ulps(f32::NEG_INFINITY, f32::INFINITY), Some(2 * 0x7F80_0000 + 1));
        let half = |a: f32, b: f32| {
            let [a, b] = [a, b].map(|x| half::f16::from_f32(x).to_le_bytes());
            differences(&a, &b, &Shape::of(Scalar::F16, 1), 0).map(|found| found.ulp)
        };
        assert_eq!(half(1.0, 1.0), None);
        assert_eq!(half(2048.0, 2050.0), Some(1));
        assert_eq!(half(f32::NAN, 1.0), Some(u64::MAX));
        let double = |a: f64, b: f64| {
            let [a, b] = [a, b].map(f64::to_le_bytes);
            differences(&a, &b, &Shape::of(Scalar::F64, 1), 4).map(|found| found.ulp)
        };
        assert_eq!(double(1.0, 1.0 + f64::EPSILON), Some(1));
        assert_eq!(double(f64::NAN, -f64::NAN), None);
        assert_eq!(double(f64::NEG_INFINITY, f64::INFINITY), Some(2 * 0x7FF0_0000_0000_0000 + 1));
    }

    #[test]
    fn the_first_difference_is_told_and_all_are_counted() {
        let found = differences(&[1, 2, 3, 255], &[1, 0, 3, 1], &Shape::of(Scalar::I8, 1), 9).unwrap();
        assert_eq!(found.to_string(), "[1] is 2 on the device, 0 on OpenCL; 2 of 4 numbers differ");
        assert_eq!((found.count, found.of), (2, 4));
        assert_eq!(show(Scalar::I8, &[255]), "-1");
        assert_eq!(show(Scalar::U64, &[255; 8]), u64::MAX.to_string());
        assert_eq!(show(Scalar::F32, &1.5f32.to_le_bytes()), "1.5 (0x3fc00000)");
        let (a, b) = (floats(&[1.0, 2.0]), floats(&[1.0 + 2.0 * f32::EPSILON, 2.0]));
        assert_eq!(differences(&a, &b, &Shape::of(Scalar::F32, 1), 2), None);
        assert!(differences(&a, &b, &Shape::of(Scalar::F32, 1), 1).is_some());
    }

    #[test]
    fn the_fourth_of_three_is_padding() {
        let (a, b) = (floats(&[1.0, 2.0, 3.0, 9.0]), floats(&[1.0, 2.0, 3.0, 4.0]));
        assert_eq!(differences(&a, &b, &Shape::of(Scalar::F32, 3), 0), None);
        assert!(differences(&a, &b, &Shape::of(Scalar::F32, 4), 0).is_some());
    }
}
