//! Arrays as files and arguments hold them: an element type, a shape, and the bytes in row-major order.

use std::fmt;

/// A scalar type, named as on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F16,
    F32,
    F64,
}

/// Every type with its name, in the order of `Element`.
const NAMES: [(&str, Element); 11] = [
    ("i8", Element::I8),
    ("u8", Element::U8),
    ("i16", Element::I16),
    ("u16", Element::U16),
    ("i32", Element::I32),
    ("u32", Element::U32),
    ("i64", Element::I64),
    ("u64", Element::U64),
    ("f16", Element::F16),
    ("f32", Element::F32),
    ("f64", Element::F64),
];

impl Element {
    /// The type of that name, if a kernel's argument can have it.
    pub(crate) fn parse(name: &str) -> Result<Element, String> {
        match NAMES.iter().find(|(known, _)| *known == name) {
            Some((_, element)) => Ok(*element),
            None => Err(format!("`{name}` is not a type; types are i8 u8 i16 u16 i32 u32 i64 u64 f16 f32 f64")),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        NAMES[self as usize].0
    }

    /// Bytes of one element.
    pub(crate) fn size(self) -> usize {
        match self {
            Element::I8 | Element::U8 => 1,
            Element::I16 | Element::U16 | Element::F16 => 2,
            Element::I32 | Element::U32 | Element::F32 => 4,
            Element::I64 | Element::U64 | Element::F64 => 8,
        }
    }

    /// The bytes of the value written as `text`, which must be in the type's range.
    pub(crate) fn encode(self, text: &str) -> Result<Vec<u8>, String> {
        macro_rules! integer {
            ($type:ty) => {
                parse_integer(text)
                    .and_then(|value| <$type>::try_from(value).ok())
                    .map(|value| value.to_ne_bytes().to_vec())
            };
        }
        let bytes = match self {
            Element::I8 => integer!(i8),
            Element::U8 => integer!(u8),
            Element::I16 => integer!(i16),
            Element::U16 => integer!(u16),
            Element::I32 => integer!(i32),
            Element::U32 => integer!(u32),
            Element::I64 => integer!(i64),
            Element::U64 => integer!(u64),
            Element::F16 => text.parse().ok().map(|value| half::f16::from_f64(value).to_ne_bytes().to_vec()),
            Element::F32 => text.parse().ok().map(|value: f32| value.to_ne_bytes().to_vec()),
            Element::F64 => text.parse().ok().map(|value: f64| value.to_ne_bytes().to_vec()),
        };
        bytes.ok_or_else(|| format!("`{text}` is not a value of type {}", self.name()))
    }

    /// The value in the first bytes of `bytes` as `f64`; 64-bit integers are rounded.
    pub(crate) fn decode(self, bytes: &[u8]) -> f64 {
        macro_rules! read {
            ($type:ty) => {
                <$type>::from_ne_bytes(*bytes.first_chunk().expect("whole elements"))
            };
        }
        match self {
            Element::I8 => f64::from(read!(i8)),
            Element::U8 => f64::from(read!(u8)),
            Element::I16 => f64::from(read!(i16)),
            Element::U16 => f64::from(read!(u16)),
            Element::I32 => f64::from(read!(i32)),
            Element::U32 => f64::from(read!(u32)),
            Element::I64 => read!(i64) as f64,
            Element::U64 => read!(u64) as f64,
            Element::F16 => read!(half::f16).to_f64(),
            Element::F32 => f64::from(read!(f32)),
            Element::F64 => read!(f64),
        }
    }
}

/// Decimal or `0x` hexadecimal, with an optional minus sign.
fn parse_integer(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => i128::from(u64::from_str_radix(hex, 16).ok()?),
        None => i128::from(digits.parse::<u64>().ok()?),
    };
    Some(if negative { -value } else { value })
}

/// Extents, slowest first; at least one, none zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape(pub(crate) Vec<usize>);

impl Shape {
    /// Reads `512x512` or `1000`.
    pub(crate) fn parse(text: &str) -> Result<Shape, String> {
        let extents = text
            .split('x')
            .map(|extent| match extent.parse::<usize>() {
                Ok(0) => Err(format!("shape `{text}` has an extent of 0")),
                Ok(extent) => Ok(extent),
                Err(_) => Err(format!("`{text}` is not a shape such as 1000 or 512x512")),
            })
            .collect::<Result<Vec<_>, _>>()?;
        extents
            .iter()
            .try_fold(8usize, |product, extent| product.checked_mul(*extent))
            .filter(|bytes| isize::try_from(*bytes).is_ok())
            .ok_or_else(|| format!("shape `{text}` has too many elements for this machine's addresses"))?;
        Ok(Shape(extents))
    }

    /// The number of elements.
    pub(crate) fn count(&self) -> usize {
        self.0.iter().product()
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let extents: Vec<_> = self.0.iter().map(usize::to_string).collect();
        f.write_str(&extents.join("x"))
    }
}

/// An array in memory; `bytes` holds `shape.count()` elements in the byte order of this machine.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Array {
    pub(crate) element: Element,
    pub(crate) shape: Shape,
    pub(crate) bytes: Vec<u8>,
}

impl Array {
    /// The elements as `f64`, in order.
    pub(crate) fn values(&self) -> impl Iterator<Item = f64> + '_ {
        self.bytes.chunks_exact(self.element.size()).map(|bytes| self.element.decode(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_exactly_what_fits() {
        assert_eq!(Element::U8.encode("255"), Ok(vec![255]));
        assert_eq!(Element::I8.encode("-128"), Ok(vec![0x80]));
        assert_eq!(Element::U32.encode("0xFFFFFFFF"), Ok(vec![255; 4]));
        assert_eq!(Element::U64.encode("18446744073709551615"), Ok(vec![255; 8]));
        assert_eq!(Element::I64.encode("-9223372036854775808"), Ok(i64::MIN.to_ne_bytes().to_vec()));
        assert_eq!(Element::F32.encode("2.5"), Ok(2.5f32.to_ne_bytes().to_vec()));
        assert_eq!(Element::F16.encode("-inf"), Ok(0xFC00u16.to_ne_bytes().to_vec()));
        for (element, text) in [
            (Element::U8, "256"),
            (Element::U8, "-1"),
            (Element::I8, "128"),
            (Element::I32, "1.5"),
            (Element::I32, "--1"),
            (Element::I32, "+1"),
            (Element::I32, ""),
            (Element::U64, "18446744073709551616"),
            (Element::F32, "one"),
        ] {
            assert!(element.encode(text).is_err(), "{} {text}", element.name());
        }
    }

    #[test]
    fn shapes() {
        assert_eq!(Shape::parse("3x4x5").unwrap().count(), 60);
        for text in ["", "0", "3x0", "3x", "x3", "-1", "4294967296x4294967296", "1e3"] {
            assert!(Shape::parse(text).is_err(), "{text}");
        }
    }
}
