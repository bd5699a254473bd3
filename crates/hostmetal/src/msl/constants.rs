//! Function constants: Metal's data types, the values given for a specialisation, and integer constant expressions.
//!
//! Numbers are Apple's `MTLDataType` (Metal/MTLArgument.h,
//! <https://developer.apple.com/documentation/metal/mtldatatype>).

use super::token::{Kind, Stream};
use std::collections::HashMap;

/// An `MTLDataType` by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DataType(pub u32);

/// One row: Metal's spelling, number, bytes of a component, how C++ makes a component from its bits.
const SCALARS: [(&str, u32, usize); 12] = [
    ("float", 3, 4),
    ("half", 16, 2),
    ("int", 29, 4),
    ("uint", 33, 4),
    ("short", 37, 2),
    ("ushort", 41, 2),
    ("char", 45, 1),
    ("uchar", 49, 1),
    ("bool", 53, 1),
    ("long", 81, 8),
    ("ulong", 85, 8),
    ("bfloat", 121, 2),
];

/// Other spellings of the scalar types.
const SYNONYMS: [(&str, &str); 15] = [
    ("int8_t", "char"),
    ("uint8_t", "uchar"),
    ("int16_t", "short"),
    ("uint16_t", "ushort"),
    ("int32_t", "int"),
    ("uint32_t", "uint"),
    ("int64_t", "long"),
    ("uint64_t", "ulong"),
    ("size_t", "ulong"),
    ("ptrdiff_t", "long"),
    ("unsigned", "uint"),
    ("unsigned int", "uint"),
    ("unsigned short", "ushort"),
    ("unsigned char", "uchar"),
    ("unsigned long", "ulong"),
];

impl DataType {
    /// The type that MSL spells so, for example `float`, `uint3` or `metal::half2`: scalars and vectors of 2 to 4 only.
    pub fn of_spelling(spelling: &str) -> Option<Self> {
        let spelling = spelling.trim().trim_start_matches("::");
        let spelling = spelling
            .strip_prefix("metal")
            .map_or(spelling, |rest| rest.trim_start().strip_prefix("::").map_or(spelling, str::trim_start));
        let spelling = SYNONYMS.iter().find(|(from, _)| *from == spelling).map_or(spelling, |(_, to)| to);
        let (name, width) = match spelling.as_bytes().last() {
            Some(digit @ b'2'..=b'4') => (&spelling[..spelling.len() - 1], u32::from(digit - b'0')),
            _ => (spelling, 1),
        };
        SCALARS.iter().find(|(scalar, _, _)| *scalar == name).map(|(_, first, _)| Self(first + width - 1))
    }

    fn row(self) -> Option<(&'static str, usize, usize)> {
        SCALARS
            .iter()
            .find(|(_, first, _)| (*first..first + 4).contains(&self.0))
            .map(|(name, first, size)| (*name, *size, (self.0 - first) as usize + 1))
    }

    /// Metal's spelling, when the type is a scalar or a vector.
    pub fn spelling(self) -> Option<String> {
        self.row().map(|(name, _, width)| if width == 1 { name.to_owned() } else { format!("{name}{width}") })
    }

    /// Size and alignment in memory of a scalar, a vector or a matrix.
    pub(crate) fn layout(self) -> Option<(u64, u64)> {
        let vector = |size: u64, width: u64| size * if width == 3 { 4 } else { width };
        // float2x2 is 7, half2x2 is 20: columns, then rows.
        for (first, size) in [(7, 4), (20, 2)] {
            if let Some(number) = self.0.checked_sub(first).filter(|number| *number < 9) {
                let column = vector(size, u64::from(number % 3 + 2));
                return Some((column * u64::from(number / 3 + 2), column));
            }
        }
        self.row().map(|(_, size, width)| vector(size as u64, width as u64)).map(|size| (size, size))
    }

    /// The bytes of a value: those that `setConstantValue:type:atIndex:` reads (a vector of 3 has 3 components here).
    pub fn value_size(self) -> Option<usize> {
        self.row().map(|(_, size, width)| size * width)
    }
}

/// Which function constant a value is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ConstantKey {
    Index(u32),
    Name(String),
}

/// A value for a function constant, as `MTLFunctionConstantValues` holds it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ConstantValue {
    pub key: ConstantKey,
    pub data_type: DataType,
    /// The bytes in the machine's order: at least `data_type.value_size()`; what follows is not read.
    pub bytes: Vec<u8>,
}

impl ConstantValue {
    /// A C++ constant expression with exactly these bits.
    ///
    /// # Errors
    /// A text that says what is wrong with type or length.
    pub(crate) fn expression(&self) -> Result<String, String> {
        let Some((name, size, width)) = self.data_type.row() else {
            return Err(format!("values of MTLDataType {} cannot be function constants", self.data_type.0));
        };
        if self.bytes.len() < size * width {
            return Err(format!(
                "a value of type '{name}' x {width} needs {} bytes, {} were given",
                size * width,
                self.bytes.len()
            ));
        }
        let component = |at: usize| {
            let mut wide = [0u8; 8];
            wide[..size].copy_from_slice(&self.bytes[at * size..(at + 1) * size]);
            let bits = u64::from_le_bytes(wide);
            match name {
                "float" => format!("__builtin_bit_cast(float, {bits:#x}u)"),
                "half" => format!("__builtin_bit_cast(half, (ushort){bits:#x})"),
                "bfloat" => format!("__builtin_bit_cast(metal::bfloat, (ushort){bits:#x})"),
                "bool" => (if bits & 0xff == 0 { "false" } else { "true" }).to_owned(),
                _ => format!("({name}){bits:#x}ul"),
            }
        };
        if width == 1 {
            return Ok(component(0));
        }
        let components: Vec<String> = (0..width).map(component).collect();
        Ok(match name {
            "bfloat" => format!("metal::vec<metal::bfloat, {width}>({})", components.join(", ")),
            _ => format!("metal::vec<{name}, {width}>({})", components.join(", ")),
        })
    }
}

/// Values of enumerators and of integer constants with simple initialisers, by name.
pub(crate) type Known = HashMap<String, i64>;

/// The value of the integer constant expression `start..end`; none when it has parts that are not known here.
pub(crate) fn evaluate(stream: &Stream, start: usize, end: usize, known: &Known) -> Option<i64> {
    let mut expression = Expression { stream, at: start, end, known };
    let value = expression.binary(0)?;
    (expression.at == end).then_some(value)
}

struct Expression<'a> {
    stream: &'a Stream,
    at: usize,
    end: usize,
    known: &'a Known,
}

impl Expression<'_> {
    fn next(&self) -> &str {
        if self.at < self.end { self.stream.at(self.at) } else { "" }
    }

    /// Precedence climbing over the binary operators.
    fn binary(&mut self, least: u8) -> Option<i64> {
        let mut left = self.unary()?;
        loop {
            let (operator, tokens) = match self.next() {
                ">" if self.at + 1 < self.end && self.stream.is(self.at + 1, ">") => (">>".to_owned(), 2),
                other => (other.to_owned(), 1),
            };
            let strength = match operator.as_str() {
                "|" => 1,
                "^" => 2,
                "&" => 3,
                "<<" | ">>" => 4,
                "+" | "-" => 5,
                "*" | "/" | "%" => 6,
                _ => return Some(left),
            };
            if strength <= least {
                return Some(left);
            }
            self.at += tokens;
            let right = self.binary(strength)?;
            left = match operator.as_str() {
                "|" => left | right,
                "^" => left ^ right,
                "&" => left & right,
                "<<" => left.checked_shl(u32::try_from(right).ok()?)?,
                ">>" => left.checked_shr(u32::try_from(right).ok()?)?,
                "+" => left.checked_add(right)?,
                "-" => left.checked_sub(right)?,
                "*" => left.checked_mul(right)?,
                "/" => left.checked_div(right)?,
                _ => left.checked_rem(right)?,
            };
        }
    }

    fn unary(&mut self) -> Option<i64> {
        let at = self.at;
        self.at += 1;
        match if at < self.end { self.stream.at(at) } else { "" } {
            "-" => self.unary()?.checked_neg(),
            "+" => self.unary(),
            "~" => self.unary().map(|v| !v),
            "(" => {
                // A cast to an integer type is passed over: `(uint)3`.
                let close = self.stream.mate[at];
                if DataType::of_spelling(&self.stream.words(at + 1, close)).is_some() {
                    self.at = close + 1;
                    return self.unary();
                }
                let value = self.binary(0)?;
                (self.at == close && close < self.end).then(|| self.at += 1)?;
                Some(value)
            }
            text if self.stream.kind(at) == Some(Kind::Number) => integer(text),
            text if self.stream.is_ident(at) => {
                let mut name = text;
                while self.next() == "::" && self.at + 1 < self.end {
                    name = self.stream.at(self.at + 1);
                    self.at += 2;
                }
                self.known.get(name).copied()
            }
            _ => None,
        }
    }
}

/// The value of an integer literal.
pub(crate) fn integer(literal: &str) -> Option<i64> {
    let digits: String = literal.trim_end_matches(['u', 'U', 'l', 'L']).chars().filter(|c| *c != '\'').collect();
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits.as_str()),
    };
    i64::from_str_radix(digits, radix).ok()
}

/// The enumerators of the given enumeration bodies whose values are integer constant expressions.
pub(crate) fn enumerators(stream: &Stream, bodies: &[(usize, usize)]) -> Known {
    let mut known = Known::new();
    for &(open, close) in bodies {
        let mut next = Some(0i64);
        for (start, end) in stream.split(open + 1, close) {
            if start == end || !stream.is_ident(start) {
                continue;
            }
            let value = match (start..end).find(|&i| stream.is(i, "=")) {
                Some(equals) => evaluate(stream, equals + 1, end, &known),
                None => next,
            };
            if let Some(value) = value {
                known.insert(stream.at(start).to_owned(), value);
            }
            next = value.and_then(|v| v.checked_add(1));
        }
    }
    known
}
