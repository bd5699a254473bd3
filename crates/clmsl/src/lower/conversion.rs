//! `convert_T` and `as_T` (OpenCL C 3.0 §6.4.3, §6.4.4).

use super::expr::call;
use crate::builtins::Rounding;
use crate::hir::{Expr, ExprKind};
use crate::sema::convert;
use crate::types::{Scalar, Type, msl_name};

/// `convert_T[_sat][_rt?](arg)`. Sema has refused what is not supported.
pub(super) fn convert_call(arg: Expr, to: Scalar, saturate: bool, rounding: Rounding, ty: Type) -> Expr {
    let span = arg.span;
    let Some((from, lanes)) = arg.ty.arithmetic() else { return arg };
    if from == Scalar::Double || to == Scalar::Double {
        return super::double::convert_call(arg, &ty, rounding);
    }
    let mut arg = arg;
    if from.is_float() && to.is_integer() {
        let round = match rounding {
            Rounding::Default | Rounding::Zero => None,
            Rounding::Nearest => Some("metal::rint"),
            Rounding::Up => Some("metal::ceil"),
            Rounding::Down => Some("metal::floor"),
        };
        if let Some(round) = round {
            let from = arg.ty.clone();
            arg = call(round, vec![arg], from, span);
        }
    }
    if saturate && !fits(from, to) {
        if from == Scalar::Half {
            arg = convert(arg, &Type::lanes(Scalar::Float, lanes));
        }
        return call(format!("clmsl_convert_sat<{}>", to.name()), vec![arg], ty, span);
    }
    if let Some(mode) = directed(from, to, rounding) {
        if from == Scalar::Half || to == Scalar::Half && from != Scalar::Float {
            // Both steps round the same way, so the result is that of one.
            let single = Type::lanes(Scalar::Float, lanes);
            let arg = convert_call(arg, Scalar::Float, false, rounding, single);
            return convert_call(arg, to, false, rounding, ty);
        }
        return call(format!("clmsl_to_{}_{mode}", to.name()), vec![arg], ty, span);
    }
    convert(arg, &ty)
}

/// The name of the direction in which a conversion to floating point rounds, if it is not to the nearest and can matter.
fn directed(from: Scalar, to: Scalar, rounding: Rounding) -> Option<&'static str> {
    let exact = match to {
        Scalar::Half => from == Scalar::Half || from.is_integer() && from.size() == 1,
        _ => from.is_float() || from.size() <= 2,
    };
    if exact || to.is_integer() {
        return None;
    }
    match rounding {
        Rounding::Default | Rounding::Nearest => None,
        Rounding::Zero => Some("rtz"),
        Rounding::Up => Some("rtp"),
        Rounding::Down => Some("rtn"),
    }
}

/// Whether every value of `from` is one of `to`.
fn fits(from: Scalar, to: Scalar) -> bool {
    from == to
        || from.is_integer() && to.is_integer() && from.size() < to.size() && (!from.is_signed() || to.is_signed())
}

/// `as_T(arg)`: the same bits. A vector of three counts as four.
pub(super) fn as_type(arg: Expr, ty: &Type) -> Expr {
    let span = arg.span;
    let (Some((from, n)), Some((to, m))) = (arg.ty.arithmetic(), ty.arithmetic()) else { return arg };
    if arg.ty == *ty {
        return arg;
    }
    if arg.ty == Type::DOUBLE || *ty == Type::DOUBLE {
        return super::double::as_type(arg, ty);
    }
    let bits = |arg: Expr, lanes: u8| {
        let head = format!("as_type<{}>", msl_name(to, lanes));
        call(head, vec![arg], Type::lanes(to, lanes), span)
    };
    if n == 3 && m != 3 {
        let zero = convert(Expr::int(0, Type::INT, span), &Type::Scalar(from));
        let four = Expr::new(ExprKind::VectorLiteral(vec![arg, zero]), Type::Vector(from, 4), span);
        return as_type(four, ty);
    }
    if m == 3 && n != 3 {
        let four = as_type(arg, &Type::Vector(to, 4));
        return Expr::new(ExprKind::Swizzle(Box::new(four), vec![0, 1, 2]), ty.clone(), span);
    }
    bits(arg, m)
}
