//! `--check`: an output against the array of a file.

use crate::array::{Array, Element};

/// How two arrays of the same number of elements differ.
#[derive(Debug, PartialEq)]
pub(crate) struct Difference {
    pub(crate) elements: usize,
    /// Elements outside the tolerance.
    pub(crate) outside: usize,
    /// The largest difference; infinite where one of the two is not a number or infinite and the other is not.
    pub(crate) largest: f64,
    /// The element with the largest difference, and both its values.
    pub(crate) worst: Option<Worst>,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Worst {
    pub(crate) index: usize,
    pub(crate) got: f64,
    pub(crate) expected: f64,
}

/// How far a value may be from the expected one: `absolute + relative * |expected|`, as NumPy's `allclose`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tolerance {
    pub(crate) absolute: f64,
    pub(crate) relative: f64,
}

/// Compares element by element; integers of 64 bits exactly. An error when the counts differ.
pub(crate) fn compare(got: &Array, expected: &Array, tolerance: Tolerance) -> Result<Difference, String> {
    if got.shape.count() != expected.shape.count() {
        return Err(format!("the output has shape {}, the expected file {}", got.shape, expected.shape));
    }
    let exact = |element| matches!(element, Element::I64 | Element::U64);
    let same_bits = got.element == expected.element && exact(got.element);
    let mut result = Difference { elements: got.shape.count(), outside: 0, largest: 0.0, worst: None };
    for (index, (a, b)) in got.values().zip(expected.values()).enumerate() {
        let mut difference = distance(a, b);
        if same_bits && difference == 0.0 {
            let element = |array: &Array| array.bytes[8 * index..][..8] == got.bytes[8 * index..][..8];
            if !element(expected) {
                // Both round to the same f64: they differ by less than its last place.
                difference = 1.0;
            }
        }
        // A share of an infinity or of NaN would accept anything.
        let share = if b.is_finite() { tolerance.relative * b.abs() } else { 0.0 };
        if difference > tolerance.absolute + share {
            result.outside += 1;
        }
        if difference > result.largest {
            result.largest = difference;
            result.worst = Some(Worst { index, got: a, expected: b });
        }
    }
    Ok(result)
}

fn distance(got: f64, expected: f64) -> f64 {
    if got == expected || (got.is_nan() && expected.is_nan()) {
        0.0
    } else if got.is_finite() && expected.is_finite() {
        (got - expected).abs()
    } else {
        f64::INFINITY
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Shape;

    fn floats(values: &[f32]) -> Array {
        let bytes = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        Array { element: Element::F32, shape: Shape(vec![values.len()]), bytes }
    }

    #[test]
    fn differences() {
        let inf = f32::INFINITY;
        for (got, expected, largest) in [
            (1.0, 1.0, 0.0),
            (0.5, 0.25, 0.25),
            (90.0, 100.0, 10.0),
            (f32::NAN, f32::NAN, 0.0),
            (f32::NAN, 1.0, f64::INFINITY),
            (inf, inf, 0.0),
            (inf, -inf, f64::INFINITY),
            (0.0, -0.0, 0.0),
        ] {
            let difference = compare(&floats(&[got]), &floats(&[expected]), Tolerance::default()).unwrap();
            assert_eq!(difference.largest, largest, "{got} {expected}");
            assert_eq!(difference.outside, usize::from(largest > 0.0));
        }
    }

    #[test]
    fn long_integers_are_compared_exactly() {
        let long =
            |value: u64| Array { element: Element::U64, shape: Shape(vec![1]), bytes: value.to_ne_bytes().to_vec() };
        let difference = compare(&long(u64::MAX), &long(u64::MAX - 1), Tolerance::default()).unwrap();
        assert_eq!(difference.outside, 1);
        assert_eq!(compare(&long(u64::MAX), &long(u64::MAX), Tolerance::default()).unwrap().outside, 0);
    }

    #[test]
    fn tolerances_add_up() {
        let outside = |absolute, relative| {
            let tolerance = Tolerance { absolute, relative };
            compare(&floats(&[1.5, 102.0]), &floats(&[1.0, 100.0]), tolerance).unwrap().outside
        };
        assert_eq!(outside(0.0, 0.0), 2);
        assert_eq!(outside(0.5, 0.0), 1);
        assert_eq!(outside(0.0, 0.02), 1);
        assert_eq!(outside(0.5, 0.02), 0);
        let nan = Tolerance { absolute: 1e9, relative: 1e9 };
        assert_eq!(compare(&floats(&[f32::NAN]), &floats(&[1.0]), nan).unwrap().outside, 1);
        assert_eq!(compare(&floats(&[1.0]), &floats(&[f32::NAN]), nan).unwrap().outside, 1);
        assert_eq!(compare(&floats(&[1.0]), &floats(&[f32::INFINITY]), nan).unwrap().outside, 1);
    }

    #[test]
    fn counts_must_agree() {
        assert!(compare(&floats(&[1.0, 2.0]), &floats(&[1.0]), Tolerance::default()).is_err());
    }
}
