//! `printf` (OpenCL C 3.0 §6.15.14): a record with the number of the format and the arguments goes to a hidden buffer,
//! which the host reads. Sema has checked the arguments and made words of them.

use super::async_copy::after;
use super::expr::{Cx, call};
use super::work_item::parameter;
use crate::hir::{Expr, ExprKind, Hidden};
use crate::source::Span;
use crate::types::Type;

/// The arguments are the number of the format, the words of the conversions and what is evaluated but not printed. A
/// pointer is that of a string, with the most characters to print behind it.
pub(super) fn lower(args: Vec<Expr>, ty: Type, span: Span, cx: &mut Cx<'_>) -> Expr {
    let (others, words): (Vec<Expr>, Vec<Expr>) = args.into_iter().partition(|e| e.ty == Type::Void);
    let mut all = vec![parameter(Hidden::Printed, span)];
    let mut before = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        if word.ty.pointee().is_some() {
            let limit = words.next().unwrap_or_else(|| unreachable!("sema gives a limit with each string"));
            let (ty, span) = (word.ty.clone(), word.span);
            all.push(call("clmsl_print_text", vec![word, limit, parameter(Hidden::Printed, span)], ty, span));
            continue;
        }
        match word.ty.vector() {
            // Vectors that MSL does not have go by parts that it has.
            Some((scalar, lanes)) if lanes > 4 => {
                let whole = cx.temporary("whole", word.ty.clone(), span);
                let ty = word.ty.clone();
                before.push(Expr::new(ExprKind::Assign(Box::new(whole.clone()), Box::new(word)), ty, span));
                for first in (0..lanes).step_by(4) {
                    let part = ExprKind::Swizzle(Box::new(whole.clone()), (first..first + 4).collect());
                    all.push(Expr::new(part, Type::Vector(scalar, 4), span));
                }
            }
            _ => all.push(word),
        }
    }
    let print = call("clmsl_printf", all, ty, span);
    before.into_iter().chain(others).rev().fold(print, |then, e| after(e, then))
}
