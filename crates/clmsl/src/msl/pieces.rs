//! Types, declarators and literals.

use crate::half;
use crate::hir::Expr;
use crate::types::{Image, ImageAccess, Quals, Scalar, Space, Struct, Type, msl_name};

/// The name of a type that needs no declarator.
pub(super) fn base_name(ty: &Type, structs: &[Struct]) -> String {
    match ty {
        Type::Void | Type::Error => "void".to_owned(),
        Type::Scalar(s) => s.msl_name().to_owned(),
        Type::Vector(s, n) => msl_name(*s, *n),
        Type::Packed(s, n) => format!("metal::packed_{}{n}", s.name()),
        Type::Atomic(s) => format!("metal::atomic_{}", s.name()),
        Type::Struct(id) => structs[id.0 as usize].name.clone(),
        Type::Image(image) => texture(*image),
        Type::Sampler => "uint".to_owned(),
        Type::Pointer(_) | Type::Array(..) => unreachable!("pointers and arrays are declarators"),
    }
}

fn texture(image: Image) -> String {
    let component = image.component.map_or("float", Scalar::name);
    let access = match image.access {
        ImageAccess::ReadOnly => "read",
        ImageAccess::WriteOnly => "write",
        ImageAccess::ReadWrite => "read_write",
    };
    format!("metal::texture{}<{component}, metal::access::{access}>", image.dim.msl_suffix())
}

/// A declaration of `name`; `space` is where the declared object lies, if that must be said. An empty name gives the
/// type as casts write it.
pub(super) fn declare(ty: &Type, name: &str, space: Option<Space>, quals: Quals, structs: &[Struct]) -> String {
    let mut declarator = name.to_owned();
    let mut ty = ty;
    let (mut space, mut quals) = (space, quals);
    loop {
        match ty {
            Type::Array(element, count) => {
                if declarator.starts_with(['*', '&']) {
                    declarator = format!("({declarator})");
                }
                declarator.push_str(&format!("[{count}]"));
                ty = element;
            }
            Type::Pointer(p) => {
                let mut star = String::from("*");
                if let Some(space) = space {
                    star.push(' ');
                    star.push_str(space.msl_name());
                }
                star.push_str(if quals.is_const { " const" } else { "" });
                star.push_str(if quals.is_volatile { " volatile" } else { "" });
                let gap = if declarator.is_empty() || declarator.starts_with(['*', '&', '[']) { "" } else { " " };
                declarator = format!("{star}{gap}{declarator}");
                (space, quals, ty) = (Some(p.space), p.quals, &p.ty);
            }
            _ => break,
        }
    }
    let mut out = String::new();
    if quals.is_volatile {
        out.push_str("volatile ");
    }
    if quals.is_coherent {
        out.push_str("coherent(device) ");
    }
    if let Some(space) = space {
        out.push_str(space.msl_name());
        out.push(' ');
    }
    if quals.is_const && space != Some(Space::Constant) {
        out.push_str("const ");
    }
    out.push_str(&base_name(ty, structs));
    if !declarator.starts_with(['*', '&']) && !declarator.is_empty() {
        out.push(' ');
    }
    out.push_str(&declarator);
    out
}

/// An integer constant, and whether it is a negated one (an operand for `-` needs parentheses).
pub(super) fn integer(value: i128, ty: &Type, hexadecimal: bool) -> (String, bool) {
    let scalar = ty.scalar().unwrap_or(Scalar::Int);
    let suffix = match scalar {
        Scalar::UInt => "u",
        Scalar::Long => "l",
        Scalar::ULong => "ul",
        _ => "",
    };
    let digits = if hexadecimal && value >= 0 { format!("{value:#x}{suffix}") } else { format!("{value}{suffix}") };
    match scalar {
        Scalar::Bool => ((if value == 0 { "false" } else { "true" }).to_owned(), false),
        Scalar::Int if value == i128::from(i32::MIN) => ("(-2147483647 - 1)".to_owned(), false),
        Scalar::Long if value == i128::from(i64::MIN) => ("(-9223372036854775807l - 1l)".to_owned(), false),
        Scalar::Int | Scalar::UInt | Scalar::Long | Scalar::ULong => (digits, value < 0),
        _ => (format!("{}({digits})", scalar.name()), false),
    }
}

/// A floating constant that reads back as the same number.
pub(super) fn float(value: f32, ty: &Type) -> (String, bool) {
    let is_half = ty.scalar() == Some(Scalar::Half);
    // The names of infinities and NaN may not survive fast math; their bits do.
    if !value.is_finite() && is_half {
        return (format!("as_type<half>(ushort({:#x}))", half::to_bits(f64::from(value))), false);
    }
    if !value.is_finite() {
        return (format!("as_type<float>({:#x}u)", value.to_bits()), false);
    }
    if is_half {
        return (format!("{value:?}h"), value.is_sign_negative());
    }
    (format!("{value:?}f"), value.is_sign_negative())
}

/// A double by its bits, with the value beside them.
pub(super) fn double(value: f64) -> String {
    format!("clmsl_double{{{:#018x}ul /* {value:?} */}}", value.to_bits())
}

/// Components by letter.
pub(super) fn lanes(lanes: &[u8]) -> String {
    lanes
        .iter()
        .map(|&l| match l {
            0 => 'x',
            1 => 'y',
            2 => 'z',
            3 => 'w',
            _ => unreachable!("a missing component was lowered"),
        })
        .collect()
}

/// An array of printable characters that ends with zero, as a string literal.
pub(super) fn string(parts: &[Expr], ty: &Type) -> Option<String> {
    let (Type::Array(element, _), [text @ .., zero]) = (ty, parts) else { return None };
    if !matches!(**element, Type::Scalar(Scalar::Char | Scalar::UChar)) || zero.int_value() != Some(0) {
        return None;
    }
    let mut out = String::from("\"");
    for part in text {
        match part.int_value().and_then(|c| u8::try_from(c).ok())? {
            b'\n' => out.push_str("\\n"),
            b'\t' => out.push_str("\\t"),
            // An escaped question mark begins no trigraph.
            c @ (b'"' | b'\\' | b'?') => out.extend(['\\', char::from(c)]),
            c @ b' '..=b'~' => out.push(char::from(c)),
            _ => return None,
        }
    }
    out.push('"');
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    #[test]
    fn declarators_nest() {
        let none = Quals::default();
        let constant = Quals { is_const: true, ..none };
        let p = Type::pointer(Type::FLOAT, Space::Global, constant);
        let pp = Type::pointer(p.clone(), Space::Private, none);
        let array = Type::Array(Rc::new(Type::Array(Rc::new(Type::INT), 3)), 2);
        let to_array = Type::pointer(Type::Array(Rc::new(Type::INT), 4), Space::Local, none);
        let text = |ty: &Type, name: &str| declare(ty, name, None, none, &[]);
        assert_eq!(text(&p, "x"), "device const float* x");
        assert_eq!(text(&pp, "x"), "device const float* thread* x");
        assert_eq!(text(&array, "x"), "int x[2][3]");
        assert_eq!(text(&to_array, "x"), "threadgroup int (* x)[4]");
        assert_eq!(text(&p, ""), "device const float*");
        assert_eq!(declare(&Type::INT, "x", Some(Space::Local), constant, &[]), "threadgroup const int x");
    }

    #[test]
    fn constants_read_back() {
        assert_eq!(integer(-5, &Type::INT, false), ("-5".to_owned(), true));
        assert_eq!(integer(255, &Type::UINT, true), ("0xffu".to_owned(), false));
        assert_eq!(integer(i128::from(i32::MIN), &Type::INT, false).0, "(-2147483647 - 1)");
        assert_eq!(float(0.1, &Type::FLOAT).0, "0.1f");
        assert_eq!(float(1e-30, &Type::FLOAT).0, "1e-30f");
        assert_eq!(float(f32::INFINITY, &Type::FLOAT).0, "as_type<float>(0x7f800000u)");
        assert_eq!(float(f32::NEG_INFINITY, &Type::Scalar(Scalar::Half)).0, "as_type<half>(ushort(0xfc00))");
    }
}
