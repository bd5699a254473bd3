//! Which numbers memory holds, and other numbers in their place.

use std::collections::HashMap;
use std::ops::Range;

use dcmetal::{Argument, Scalar};

use crate::random::Random;

/// The numbers of a buffer or value in memory order: a pattern that repeats until the bytes end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// `None` is a byte of padding.
    pattern: Vec<Option<Scalar>>,
}

impl Shape {
    /// Scalars (one lane) or vectors. The fourth component of a vector of three is padding.
    pub fn of(scalar: Scalar, lanes: u8) -> Shape {
        let mut pattern = vec![Some(scalar); usize::from(lanes.max(1))];
        if lanes == 3 {
            pattern.resize(3 + scalar.size(), None);
        }
        Shape { pattern }
    }

    /// These scalars in turn.
    pub fn list(scalars: impl IntoIterator<Item = Scalar>) -> Shape {
        Shape { pattern: scalars.into_iter().map(Some).collect() }
    }

    /// Scalars and bytes of padding (`None`) in turn.
    pub fn pattern(pattern: impl IntoIterator<Item = Option<Scalar>>) -> Shape {
        Shape { pattern: pattern.into_iter().collect() }
    }

    /// Bytes of the pattern.
    pub(crate) fn size(&self) -> usize {
        self.pattern.iter().map(|part| part.map_or(1, Scalar::size)).sum()
    }

    /// What reflection knows of an argument; a structure counts as bytes.
    pub fn of_argument(argument: &Argument) -> Shape {
        Shape::of(argument.scalar.unwrap_or(Scalar::U8), argument.lanes)
    }

    /// Every whole number in `size` bytes, and where it lies.
    pub(crate) fn numbers(&self, size: usize) -> impl Iterator<Item = (Scalar, Range<usize>)> {
        let mut at = 0;
        let all = self.pattern.iter().cycle().map_while(move |part| {
            let range = at..at + part.map_or(1, Scalar::size);
            at = range.end;
            (at <= size).then_some((*part, range))
        });
        all.filter_map(|(part, range)| part.map(|scalar| (scalar, range)))
    }
}

/// Puts random numbers in place of those in `bytes`.
///
/// Tame ones stay where the given ones are: integers are drawn from the given ones of their type, floats from between the
/// least and the greatest of them. So what was a valid index stays one as long as every given number was valid in every
/// place. Wild ones are any: small, close to the limits of the type, or random bits, floats with NaN, infinities, both
/// zeros and denormal numbers among them.
pub fn vary(bytes: &mut [u8], shape: &Shape, wild: bool, random: &mut Random) {
    let places: Vec<(Scalar, Range<usize>)> = shape.numbers(bytes.len()).collect();
    let given = bytes.to_vec();
    let mut given_of: HashMap<Scalar, Vec<&[u8]>> = HashMap::new();
    for (scalar, range) in &places {
        given_of.entry(*scalar).or_default().push(&given[range.clone()]);
    }
    let bounds: HashMap<Scalar, (f64, f64)> =
        given_of.iter().map(|(scalar, like)| (*scalar, bounds(*scalar, like))).collect();
    for (scalar, range) in &places {
        let number = match (wild, float(*scalar)) {
            (true, true) => wild_float(*scalar, random),
            (true, false) => wild_integer(scalar.size(), random),
            (false, true) => tame_float(*scalar, bounds[scalar], random),
            (false, false) => random.choice(&given_of[scalar]).to_vec(),
        };
        bytes[range.clone()].copy_from_slice(&number);
    }
}

/// Puts random whole numbers of up to seven bits and a sign in place of the floats in `bytes`.
pub(crate) fn vary_small(bytes: &mut [u8], shape: &Shape, random: &mut Random) {
    for (scalar, range) in shape.numbers(bytes.len()).filter(|(scalar, _)| float(*scalar)) {
        bytes[range].copy_from_slice(&encode(scalar, random.below(257) as f64 - 128.0));
    }
}

fn float(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::F64 | Scalar::F32 | Scalar::F16 | Scalar::BF16)
}

fn encode(scalar: Scalar, value: f64) -> Vec<u8> {
    match scalar {
        Scalar::F64 => value.to_ne_bytes().to_vec(),
        Scalar::F32 => (value as f32).to_ne_bytes().to_vec(),
        Scalar::F16 => half::f16::from_f64(value).to_ne_bytes().to_vec(),
        _ => half::bf16::from_f64(value).to_ne_bytes().to_vec(),
    }
}

fn decode(scalar: Scalar, bytes: &[u8]) -> f64 {
    match scalar {
        Scalar::F64 => f64::from_ne_bytes(bytes.try_into().expect("its size")),
        Scalar::F32 => f64::from(f32::from_ne_bytes(bytes.try_into().expect("its size"))),
        Scalar::F16 => half::f16::from_ne_bytes(bytes.try_into().expect("its size")).to_f64(),
        _ => half::bf16::from_ne_bytes(bytes.try_into().expect("its size")).to_f64(),
    }
}

/// The least and the greatest of the finite floats among some numbers.
fn bounds(scalar: Scalar, like: &[&[u8]]) -> (f64, f64) {
    if !float(scalar) {
        return (0.0, 1.0);
    }
    let finite = like.iter().map(|bytes| decode(scalar, bytes)).filter(|value| value.is_finite());
    finite.fold((0.0, 1.0), |(low, high): (f64, f64), value| (low.min(value), high.max(value)))
}

fn tame_float(scalar: Scalar, (low, high): (f64, f64), random: &mut Random) -> Vec<u8> {
    // A third of them whole, so that ties and equal numbers occur.
    let value = low + (high - low) * random.fraction();
    encode(scalar, if random.below(3) == 0 { value.round().clamp(low, high) } else { value })
}

fn wild_float(scalar: Scalar, random: &mut Random) -> Vec<u8> {
    let (least, greatest) = match scalar {
        Scalar::F64 => (f64::MIN_POSITIVE, f64::MAX),
        _ => (f64::from(f32::MIN_POSITIVE), f64::from(f32::MAX)),
    };
    let special =
        [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, least, greatest, -16_777_217.0];
    match random.below(4) {
        0 => encode(scalar, *random.choice(&special)),
        1 => random.bits().to_ne_bytes()[..scalar.size()].to_vec(),
        2 => encode(scalar, (random.below(401) as f64 - 200.0) / 4.0),
        _ => {
            let exponent = random.below(41) as i32 - 20;
            encode(scalar, (2.0 * random.fraction() - 1.0) * 2f64.powi(exponent))
        }
    }
}

fn wild_integer(size: usize, random: &mut Random) -> Vec<u8> {
    let high = 1u64 << (8 * size - 1);
    let near = random.below(9) as u64;
    let value = match random.below(6) {
        0 => near,
        1 => 0u64.wrapping_sub(near),
        2 => high.wrapping_add(near).wrapping_sub(4),
        3 => 1 << random.below(8 * size),
        _ => random.bits(),
    };
    value.to_le_bytes()[..size].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tame_numbers_stay_where_they_were() {
        let mut random = Random::new(1);
        for _ in 0..100 {
            let mut ints = [3, 7, 9];
            vary(&mut ints, &Shape::of(Scalar::U8, 1), false, &mut random);
            assert!(ints.iter().all(|n| [3, 7, 9].contains(n)), "{ints:?}");
            let mut bytes = [(-2.5f32).to_ne_bytes(), 7f32.to_ne_bytes(), f32::NAN.to_ne_bytes()].concat();
            vary(&mut bytes, &Shape::of(Scalar::F32, 1), false, &mut random);
            let values = bytes.chunks(4).map(|bytes| decode(Scalar::F32, bytes));
            assert!(values.into_iter().all(|value| (-2.5..=7.0).contains(&value)));
        }
    }

    #[test]
    fn wild_numbers_reach_everything() {
        let mut random = Random::new(2);
        let mut floats = vec![0; 4 * 4000];
        vary(&mut floats, &Shape::of(Scalar::F32, 1), true, &mut random);
        let values: Vec<f32> = floats.chunks(4).map(|bytes| decode(Scalar::F32, bytes) as f32).collect();
        assert!(values.iter().any(|value| value.is_nan()) && values.contains(&f32::INFINITY));
        assert!(
            values.iter().any(|value| value.is_subnormal()) && values.iter().any(|value| value.to_bits() == 1 << 31)
        );
        let mut ints = vec![0; 4 * 4000];
        vary(&mut ints, &Shape::of(Scalar::I32, 1), true, &mut random);
        let values: Vec<i32> = ints.chunks(4).map(|bytes| i32::from_ne_bytes(bytes.try_into().unwrap())).collect();
        assert!([0, -1, i32::MIN, i32::MAX].iter().all(|value| values.contains(value)));
    }

    #[test]
    fn small_numbers_are_whole() {
        let mut bytes = vec![0; 2 * 4000];
        vary_small(&mut bytes, &Shape::of(Scalar::F16, 1), &mut Random::new(3));
        let values: Vec<f64> = bytes.chunks(2).map(|bytes| decode(Scalar::F16, bytes)).collect();
        assert!(values.iter().all(|value| value.fract() == 0.0 && value.abs() <= 128.0));
        assert!([-128.0, 0.0, 128.0].iter().all(|value| values.contains(value)));
    }

    #[test]
    fn shapes_skip_padding_and_partial_numbers() {
        let places = |shape: &Shape, size| shape.numbers(size).map(|(_, range)| range.start).collect::<Vec<_>>();
        assert_eq!(places(&Shape::of(Scalar::I16, 3), 16), [0, 2, 4, 8, 10, 12]);
        assert_eq!(places(&Shape::of(Scalar::I32, 1), 11), [0, 4]);
        let list = Shape::list([Scalar::U8, Scalar::F32]);
        assert_eq!(
            list.numbers(10).map(|(scalar, _)| scalar).collect::<Vec<_>>(),
            [Scalar::U8, Scalar::F32, Scalar::U8, Scalar::F32]
        );
        assert_eq!(places(&Shape { pattern: vec![] }, 4), Vec::<usize>::new());
    }
}
