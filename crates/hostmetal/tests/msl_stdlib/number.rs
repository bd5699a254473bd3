//! The scalar types of MSL and their numbers, as f64 or i128, worked out here from the bits without any code under test.

use crate::stdlib::{BFLOAT, Format, HALF};

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// One byte, 0 or 1.
    Bool,
    Integer {
        signed: bool,
    },
    Float,
    Small(Format),
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Scalar {
    pub(crate) name: &'static str,
    pub(crate) bits: u32,
    pub(crate) kind: Kind,
}

const fn integer(name: &'static str, bits: u32, signed: bool) -> Scalar {
    Scalar { name, bits, kind: Kind::Integer { signed } }
}

pub(crate) const FLOAT: Scalar = Scalar { name: "float", bits: 32, kind: Kind::Float };
pub(crate) const HALVES: Scalar = Scalar { name: "half", bits: 16, kind: Kind::Small(HALF) };
pub(crate) const BFLOATS: Scalar = Scalar { name: "bfloat", bits: 16, kind: Kind::Small(BFLOAT) };
pub(crate) const BOOL: Scalar = Scalar { name: "bool", bits: 8, kind: Kind::Bool };
pub(crate) const INTEGERS: [Scalar; 8] = [
    integer("char", 8, true),
    integer("uchar", 8, false),
    integer("short", 16, true),
    integer("ushort", 16, false),
    integer("int", 32, true),
    integer("uint", 32, false),
    integer("long", 64, true),
    integer("ulong", 64, false),
];
pub(crate) const FLOATS: [Scalar; 3] = [FLOAT, HALVES, BFLOATS];

/// The scalar type of a name, vector types included.
pub(crate) fn scalar(name: &str) -> Scalar {
    let bare = name.trim_end_matches(['2', '3', '4']);
    INTEGERS
        .into_iter()
        .chain(FLOATS)
        .chain([BOOL])
        .find(|s| s.name == bare)
        .unwrap_or_else(|| panic!("no type {name}"))
}

impl Scalar {
    pub(crate) fn bytes(self) -> usize {
        self.bits as usize / 8
    }

    pub(crate) fn low(self) -> i128 {
        if self.kind == (Kind::Integer { signed: true }) { -(1 << (self.bits - 1)) } else { 0 }
    }

    pub(crate) fn high(self) -> i128 {
        if self.kind == Kind::Bool { 1 } else { self.low() + (1i128 << self.bits) - 1 }
    }

    /// The low bits as a number from 0.
    pub(crate) fn unsigned(self, x: i128) -> u128 {
        (x & ((1 << self.bits) - 1)) as u128
    }

    /// The value of the type that has the low bits of x.
    pub(crate) fn wrap(self, x: i128) -> i128 {
        let bits = self.unsigned(x) as i128;
        if bits > self.high() { bits - (1 << self.bits) } else { bits }
    }

    pub(crate) fn saturate(self, x: i128) -> i128 {
        x.clamp(self.low(), self.high())
    }

    /// The number that bits of a floating-point type are.
    pub(crate) fn float(self, bits: u64) -> f64 {
        match self.kind {
            Kind::Float => f32::from_bits(bits as u32).into(),
            Kind::Small(format) => format.value(bits as u16),
            _ => panic!("{} is no floating-point type", self.name),
        }
    }

    /// The nearest number's bits, ties to even.
    pub(crate) fn nearest(self, x: f64) -> u64 {
        match self.kind {
            Kind::Float => (x as f32).to_bits().into(),
            Kind::Small(format) => format.bits(x).into(),
            _ => panic!("{} is no floating-point type", self.name),
        }
    }

    /// Fraction bits, and the exponent of the smallest normal and of the largest number.
    pub(crate) fn shape(self) -> (i32, i32, i32) {
        match self.name {
            "float" => (23, -126, 127),
            "bfloat" => (7, -126, 127),
            _ => (10, -14, 15),
        }
    }

    /// The distance of a number of this type from an exact value in units of the last place there (8.4); infinite where only one of them is
    /// NaN or infinite, or where they are zeros of different signs and that counts.
    pub(crate) fn ulps(self, got: u64, exact: f64, signed_zeros: bool) -> f64 {
        let (nearest, value) = (self.nearest(exact), self.float(got));
        if nearest == got || exact.is_nan() && value.is_nan() {
            return 0.0;
        }
        let (fraction, smallest, largest) = self.shape();
        let rounded = self.float(nearest);
        if rounded == value {
            return if rounded == 0.0 && signed_zeros { f64::INFINITY } else { 0.0 };
        }
        if exact.is_nan() || value.is_nan() || exact.is_infinite() || value == 0.0 && exact.abs() >= 2f64.powi(smallest)
        {
            return f64::INFINITY;
        }
        // The next number after the largest is where infinity begins.
        let most = 2f64.powi(largest + 1);
        let value = if value.is_infinite() { most.copysign(value) } else { value };
        let exponent = ((exact.abs().to_bits() >> 52) as i32 - 1023).clamp(smallest, largest);
        (value - exact).abs() / 2f64.powi(exponent - fraction)
    }
}
