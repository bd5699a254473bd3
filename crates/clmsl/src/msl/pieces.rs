//! Types, declarators and literals.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::half;
use crate::hir::Expr;
use crate::types::{Image, ImageAccess, Quals, Scalar, Space, Struct, Type, msl_name};

/// The name of a type that needs no declarator.
pub(super) fn base_name<'s>(ty: &Type, structs: &'s [Struct]) -> Cow<'s, str> {
    match ty {
        Type::Void | Type::Error => "void".into(),
        Type::Scalar(s) => s.msl_name().into(),
        Type::Vector(s, n) => msl_name(*s, *n).into(),
        Type::Packed(s, n) => format!("metal::packed_{}{n}", s.name()).into(),
        Type::Atomic(s) => format!("metal::atomic_{}", s.name()).into(),
        Type::Bytes(s, n) => format!("clmsl_bytes<{}>", msl_name(*s, *n)).into(),
        Type::Struct(id) => structs[id.0 as usize].name.as_str().into(),
        Type::Image(image) => texture(*image).into(),
        Type::Sampler => "uint".into(),
        Type::Pointer(_) | Type::Array(..) => unreachable!("pointers and arrays are declarators"),
    }
}

fn texture(image: Image) -> String {
    let Some(component) = image.components.only() else { unreachable!("a texture's components are of one type") };
    let access = match image.access {
        ImageAccess::ReadOnly => "read",
        ImageAccess::Sampled => "sample",
        ImageAccess::WriteOnly => "write",
        ImageAccess::ReadWrite => "read_write",
    };
    format!("metal::texture{}<{}, metal::access::{access}>", image.dim.msl_suffix(), component.name())
}

/// A declaration of `name`; `space` is where the declared object lies, if that must be said. An empty name gives the
/// type as casts write it.
pub(super) fn declare(ty: &Type, name: &str, space: Option<Space>, quals: Quals, structs: &[Struct]) -> String {
    let mut declarator = Cow::Borrowed(name);
    let mut ty = ty;
    let (mut space, mut quals) = (space, quals);
    loop {
        match ty {
            Type::Array(element, count) => {
                if declarator.starts_with(['*', '&']) {
                    declarator = format!("({declarator})").into();
                }
                let _ = write!(declarator.to_mut(), "[{count}]");
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
                declarator = format!("{star}{gap}{declarator}").into();
                (space, quals, ty) = (Some(p.space), p.quals, &p.ty);
            }
            _ => break,
        }
    }
    let mut out = String::with_capacity(64);
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

/// Whether an integer constant is printed as a negated one.
pub(super) fn is_negated(value: i128, ty: &Type) -> bool {
    match ty.scalar().unwrap_or(Scalar::Int) {
        Scalar::Int => value < 0 && value != i128::from(i32::MIN),
        Scalar::Long => value < 0 && value != i128::from(i64::MIN),
        _ => false,
    }
}

/// An integer constant.
pub(super) fn integer(value: i128, ty: &Type, hexadecimal: bool, out: &mut String) {
    let digits = |out: &mut String, suffix: &str| {
        // Writing to a string does not fail.
        let _ = match hexadecimal && value >= 0 {
            true => write!(out, "{value:#x}{suffix}"),
            false => write!(out, "{value}{suffix}"),
        };
    };
    match ty.scalar().unwrap_or(Scalar::Int) {
        Scalar::Bool => out.push_str(if value == 0 { "false" } else { "true" }),
        Scalar::Int if value == i128::from(i32::MIN) => out.push_str("(-2147483647 - 1)"),
        Scalar::Long if value == i128::from(i64::MIN) => out.push_str("(-9223372036854775807l - 1l)"),
        Scalar::Int => digits(out, ""),
        Scalar::UInt => digits(out, "u"),
        Scalar::Long => digits(out, "l"),
        Scalar::ULong => digits(out, "ul"),
        other => {
            out.extend([other.name(), "("]);
            digits(out, "");
            out.push(')');
        }
    }
}

/// A floating constant that reads back as the same number.
pub(super) fn float(value: f32, ty: &Type, out: &mut String) {
    let is_half = ty.scalar() == Some(Scalar::Half);
    // The names of infinities and NaN may not survive fast math; their bits do. Writing to a string does not fail.
    let _ = match (value.is_finite(), is_half) {
        (true, true) => write!(out, "{value:?}h"),
        (true, false) => write!(out, "{value:?}f"),
        (false, true) => write!(out, "as_type<half>(ushort({:#x}))", half::to_bits(f64::from(value))),
        (false, false) => write!(out, "as_type<float>({:#x}u)", value.to_bits()),
    };
}

/// A double by its bits, with the value beside them.
pub(super) fn double(value: f64, out: &mut String) {
    let _ = write!(out, "clmsl_double{{{:#018x}ul /* {value:?} */}}", value.to_bits());
}

/// Components by letter.
pub(super) fn lanes(lanes: &[u8]) -> impl Iterator<Item = char> {
    lanes.iter().map(|&l| match l {
        0 => 'x',
        1 => 'y',
        2 => 'z',
        3 => 'w',
        _ => unreachable!("a missing component was lowered"),
    })
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
        let int = |value: i128, ty: &Type, hexadecimal: bool| {
            let mut out = String::new();
            integer(value, ty, hexadecimal, &mut out);
            assert_eq!(out.starts_with('-'), is_negated(value, ty));
            out
        };
        assert_eq!(int(-5, &Type::INT, false), "-5");
        assert_eq!(int(-5, &Type::LONG, false), "-5l");
        assert_eq!(int(-5, &Type::Scalar(Scalar::Char), false), "char(-5)");
        assert_eq!(int(255, &Type::UINT, true), "0xffu");
        assert_eq!(int(i128::from(i32::MIN), &Type::INT, false), "(-2147483647 - 1)");
        assert_eq!(int(i128::from(i64::MIN), &Type::LONG, false), "(-9223372036854775807l - 1l)");
        let real = |value: f32, ty: &Type| {
            let mut out = String::new();
            float(value, ty, &mut out);
            out
        };
        assert_eq!(real(0.1, &Type::FLOAT), "0.1f");
        assert_eq!(real(1e-30, &Type::FLOAT), "1e-30f");
        assert_eq!(real(f32::INFINITY, &Type::FLOAT), "as_type<float>(0x7f800000u)");
        assert_eq!(real(f32::NEG_INFINITY, &Type::Scalar(Scalar::Half)), "as_type<half>(ushort(0xfc00))");
    }
}
