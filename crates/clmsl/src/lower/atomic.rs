//! 32-bit atomics on plain pointers (OpenCL C 1.2 §6.12.11): the pointer is cast to Metal's atomic type, the order is
//! relaxed, which is what OpenCL C 1.2 promises. All yield the old value.

use super::conversion::as_type;
use super::expr::call;
use crate::builtins::AtomicOp;
use crate::hir::{Expr, ExprKind};
use crate::source::Span;
use crate::types::{Scalar, Type};

pub(super) fn lower(op: AtomicOp, args: Vec<Expr>, ty: Type, span: Span) -> Expr {
    let mut args = args.into_iter();
    let Some(pointer) = args.next() else { unreachable!("the number of arguments was checked") };
    let scalar = ty.scalar().unwrap_or(Scalar::Int);
    // A float is exchanged by its bits.
    let bits = if scalar == Scalar::Float { Scalar::UInt } else { scalar };
    let bits_ty = Type::Scalar(bits);
    let Some(pointee) = pointer.ty.pointee().cloned() else { return pointer };
    let atomic = pointer.convert(Type::pointer(Type::Atomic(bits), pointee.space, pointee.quals));
    let order = Expr::new(ExprKind::Name("metal::memory_order_relaxed".to_owned()), Type::INT, span);
    let function = match op {
        AtomicOp::Add | AtomicOp::Increment => "fetch_add",
        AtomicOp::Sub | AtomicOp::Decrement => "fetch_sub",
        AtomicOp::Exchange => "exchange",
        AtomicOp::Min => "fetch_min",
        AtomicOp::Max => "fetch_max",
        AtomicOp::And => "fetch_and",
        AtomicOp::Or => "fetch_or",
        AtomicOp::Xor => "fetch_xor",
        AtomicOp::CompareExchange => {
            let mut all = vec![atomic];
            all.extend(args);
            return call("clmsl_atomic_cmpxchg", all, ty, span);
        }
    };
    let value = match args.next() {
        Some(value) => as_type(value, &bits_ty),
        None => Expr::int(1, bits_ty.clone(), span),
    };
    let old = call(format!("metal::atomic_{function}_explicit"), vec![atomic, value, order], bits_ty, span);
    as_type(old, &ty)
}
