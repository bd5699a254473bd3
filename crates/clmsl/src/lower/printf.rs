//! `printf` (OpenCL C 3.0 §6.15.14): a record with the number of the format and the arguments goes to a hidden buffer,
//! which the host reads. Sema has checked the arguments and made words of them.

use super::async_copy::after;
use super::expr::call;
use super::work_item::parameter;
use crate::hir::{Expr, Hidden};
use crate::source::Span;
use crate::types::Type;

/// The arguments are the words of the record, the number of the format, the words of the conversions and what is
/// evaluated but not printed.
pub(super) fn lower(args: Vec<Expr>, ty: Type, span: Span) -> Expr {
    let (others, words): (Vec<Expr>, Vec<Expr>) = args.into_iter().partition(|e| e.ty == Type::Void);
    let mut all = vec![parameter(Hidden::Printed, span)];
    all.extend(words);
    let print = call("clmsl_printf", all, ty, span);
    others.into_iter().rev().fold(print, |then, e| after(e, then))
}
