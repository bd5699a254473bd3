//! `vloadn`, `vstoren` and their `half` forms (OpenCL C 3.0 §6.15.7): access with the alignment of the element, through
//! MSL's packed vectors (§2.2.3).

use super::conversion::convert_call;
use super::expr::{binary, call, take};
use crate::ast::BinaryOp;
use crate::builtins::Rounding;
use crate::hir::{Expr, ExprKind};
use crate::sema::convert;
use crate::source::Span;
use crate::types::{Scalar, Type};

/// The same pointer to another type.
fn retyped(pointer: Expr, ty: Type) -> Expr {
    let Some(p) = pointer.ty.pointee() else { return pointer };
    let to = Type::pointer(ty, p.space, p.quals);
    if pointer.ty == to { pointer } else { pointer.convert(to) }
}

/// `((space packed_Tn*)pointer)[offset]`
fn element(pointer: Expr, offset: Expr, ty: Type, span: Span) -> Expr {
    let pointer = retyped(pointer, ty.clone());
    Expr::new(ExprKind::Index(Box::new(pointer), Box::new(offset)), ty, span)
}

fn split<const N: usize>(mut args: Vec<Expr>) -> [Expr; N] {
    std::array::from_fn(|i| match args.get_mut(i) {
        Some(e) => take(e),
        None => unreachable!("the number of arguments was checked"),
    })
}

pub(super) fn load(args: Vec<Expr>, lanes: u8, ty: Type, span: Span) -> Expr {
    let [offset, pointer] = split(args);
    if ty.emulated().is_some() {
        return call("clmsl_vload", vec![ahead(pointer, offset, lanes)], ty, span);
    }
    let scalar = ty.arithmetic().map_or(Scalar::Float, |(s, _)| s);
    element(pointer, offset, Type::Packed(scalar, lanes), span).convert(ty)
}

pub(super) fn store(args: Vec<Expr>, lanes: u8, span: Span) -> Expr {
    let [data, offset, pointer] = split(args);
    if data.ty.emulated().is_some() {
        return call("clmsl_vstore", vec![data, ahead(pointer, offset, lanes)], Type::Void, span);
    }
    let scalar = data.ty.arithmetic().map_or(Scalar::Float, |(s, _)| s);
    let packed = Type::Packed(scalar, lanes);
    let place = element(pointer, offset, packed.clone(), span);
    assign(place, data.convert(packed), span)
}

/// `pointer + offset * lanes`
fn ahead(pointer: Expr, offset: Expr, lanes: u8) -> Expr {
    if offset.int_value() == Some(0) {
        return pointer;
    }
    let ty = offset.ty.clone();
    let span = offset.span;
    let offset = match offset.int_value() {
        Some(n) => Expr::int(n.wrapping_mul(i128::from(lanes)), ty, span),
        None => binary(BinaryOp::Mul, offset, Expr::int(i128::from(lanes), ty.clone(), span), ty),
    };
    let pointer_ty = pointer.ty.clone();
    binary(BinaryOp::Add, pointer, offset, pointer_ty)
}

fn assign(place: Expr, value: Expr, span: Span) -> Expr {
    let ty = place.ty.clone();
    Expr::new(ExprKind::Assign(Box::new(place), Box::new(value)), ty, span).convert(Type::Void)
}

/// `vload_half` and `vloada_half`; the aligned form strides by four for vectors of three.
pub(super) fn load_half(args: Vec<Expr>, lanes: u8, aligned: bool, ty: Type, span: Span) -> Expr {
    let [offset, pointer] = split(args);
    if lanes == 1 {
        return convert(element(pointer, offset, Type::Scalar(Scalar::Half), span), &ty);
    }
    let half = Type::Vector(Scalar::Half, lanes);
    if half.emulated().is_some() {
        return load(vec![offset, pointer], lanes, half, span).convert(ty);
    }
    half_place(pointer, offset, lanes, aligned, span).convert(half).convert(ty)
}

pub(super) fn store_half(args: Vec<Expr>, lanes: u8, aligned: bool, rounding: Rounding, span: Span) -> Expr {
    let [data, offset, pointer] = split(args);
    let half = Type::lanes(Scalar::Half, lanes);
    let value = convert_call(data, Scalar::Half, false, rounding, half.clone());
    if half.emulated().is_some() {
        return store(vec![value, offset, pointer], lanes, span);
    }
    if lanes == 1 {
        return assign(element(pointer, offset, half, span), value, span);
    }
    let place = half_place(pointer, offset, lanes, aligned, span);
    let packed = place.ty.clone();
    assign(place, value.convert(packed), span)
}

fn half_place(pointer: Expr, offset: Expr, lanes: u8, aligned: bool, span: Span) -> Expr {
    let packed = Type::Packed(Scalar::Half, lanes);
    if !(aligned && lanes == 3) {
        return element(pointer, offset, packed, span);
    }
    let four = Expr::int(4, offset.ty.clone(), span);
    let ty = offset.ty.clone();
    let offset = binary(BinaryOp::Mul, offset, four, ty);
    let pointer_ty = pointer.ty.clone();
    let moved = retyped(binary(BinaryOp::Add, pointer, offset, pointer_ty), packed.clone());
    Expr::new(ExprKind::Deref(Box::new(moved)), packed, span)
}
