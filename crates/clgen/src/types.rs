//! The types of generated programs and what the language says of them.

/// A scalar type. `Half` is one of memory only: nothing is computed in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is OpenCL C's type of that name")]
pub enum Scalar {
    Char,
    UChar,
    Short,
    UShort,
    Int,
    UInt,
    Long,
    ULong,
    Half,
    Float,
    Double,
}

use Scalar::{Char, Double, Float, Half, Int, Long, Short, UChar, UInt, ULong, UShort};

pub(crate) const INTEGERS: [Scalar; 8] = [Int, UInt, Char, UChar, Short, UShort, Long, ULong];
pub(crate) const SCALARS: [Scalar; 11] = [Int, UInt, Float, Char, UChar, Short, UShort, Long, ULong, Int, Float];

impl Scalar {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Char => "char",
            UChar => "uchar",
            Short => "short",
            UShort => "ushort",
            Int => "int",
            UInt => "uint",
            Long => "long",
            ULong => "ulong",
            Half => "half",
            Float => "float",
            Double => "double",
        }
    }

    /// Bytes.
    pub fn size(self) -> usize {
        match self {
            Char | UChar => 1,
            Short | UShort | Half => 2,
            Int | UInt | Float => 4,
            Long | ULong | Double => 8,
        }
    }

    pub(crate) fn is_signed(self) -> bool {
        matches!(self, Char | Short | Int | Long)
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Half | Float | Double)
    }

    pub(crate) fn unsigned(self) -> Scalar {
        match self {
            Char => UChar,
            Short | Half => UShort,
            Int => UInt,
            Float => UInt,
            Long | Double => ULong,
            other => other,
        }
    }

    pub(crate) fn signed(self) -> Scalar {
        match self {
            UChar => Char,
            UShort | Half => Short,
            UInt | Float => Int,
            ULong | Double => Long,
            other => other,
        }
    }

    /// Integer promotion.
    pub(crate) fn promoted(self) -> Scalar {
        if self.size() < 4 { Int } else { self }
    }

    /// The usual arithmetic conversions of two integers.
    pub(crate) fn common(self, other: Scalar) -> Scalar {
        let (a, b) = (self.promoted(), other.promoted());
        if a.size() != b.size() {
            return if a.size() > b.size() { a } else { b };
        }
        if a.is_signed() { b } else { a }
    }
}

/// A scalar or vector type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Type {
    pub(crate) scalar: Scalar,
    pub(crate) lanes: usize,
}

impl Type {
    pub(crate) fn scalar(scalar: Scalar) -> Type {
        Type { scalar, lanes: 1 }
    }

    pub(crate) fn of(self, scalar: Scalar) -> Type {
        Type { scalar, ..self }
    }

    pub(crate) fn with(self, lanes: usize) -> Type {
        Type { lanes, ..self }
    }

    pub(crate) fn is_float(self) -> bool {
        self.scalar.is_float()
    }

    pub(crate) fn name(self) -> String {
        match self.lanes {
            1 => self.scalar.name().to_owned(),
            lanes => format!("{}{lanes}", self.scalar.name()),
        }
    }
}

/// A structure or union.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) name: String,
    pub(crate) is_union: bool,
    pub(crate) fields: Vec<Field>,
}

#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) kind: FieldKind,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum FieldKind {
    Plain(Type),
    /// A power of two of them.
    Array(Type, usize),
    /// Another structure, by its index.
    Record(usize),
}
