//! `vloadn`, `vstoren` and their `half` forms (OpenCL C 3.0 §6.15.7): access with the alignment of the element, through
//! MSL's packed vectors (§2.2.3).

use super::expr::{binary, take};
use crate::ast::BinaryOp;
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
    let scalar = ty.arithmetic().map_or(Scalar::Float, |(s, _)| s);
    element(pointer, offset, Type::Packed(scalar, lanes), span).convert(ty)
}

pub(super) fn store(args: Vec<Expr>, lanes: u8, span: Span) -> Expr {
    let [data, offset, pointer] = split(args);
    let scalar = data.ty.arithmetic().map_or(Scalar::Float, |(s, _)| s);
    let packed = Type::Packed(scalar, lanes);
    let place = element(pointer, offset, packed.clone(), span);
    assign(place, data.convert(packed), span)
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
    let place = half_place(pointer, offset, lanes, aligned, span);
    place.convert(Type::Vector(Scalar::Half, lanes)).convert(ty)
}

pub(super) fn store_half(args: Vec<Expr>, lanes: u8, aligned: bool, span: Span) -> Expr {
    let [data, offset, pointer] = split(args);
    let half = Type::lanes(Scalar::Half, lanes);
    let value = convert(data, &half);
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
