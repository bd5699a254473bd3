//! Built-in functions: the rows of the table by their lowering, the special ones by their kind.
//! Work-item functions are left for `work_item`, which needs the call graph.

use super::expr::{Cx, binary, call, take};
use super::vector::{self, sign_bits, truth_value};
use super::{async_copy, atomic, c11, conversion, group, memory, printf};
use crate::ast::BinaryOp;
use crate::builtins::{GroupOp, Lowering, Resolved, ScalarForm, Scope, Special, TABLE};
use crate::hir::{Expr, ExprKind};
use crate::sema::{convert, is_pure};
use crate::source::Span;
use crate::types::{Scalar, Space, Type};

/// Lowers one call.
pub(super) fn lower(e: &mut Expr, cx: &mut Cx<'_>) {
    let ExprKind::Builtin { builtin, args } = &mut e.kind else { return };
    if let Resolved::Special(Special::WorkItem(_)) = builtin {
        return;
    }
    let (builtin, args) = (*builtin, std::mem::take(args));
    let (ty, span) = (e.ty.clone(), e.span);
    *e = match builtin {
        Resolved::Row(row, scalar, lanes) => {
            let shape = Shape { scalar, lanes, ty, span };
            lower_row(TABLE[row].lowering, args, shape, cx)
        }
        Resolved::Special(special) => lower_special(special, args, ty, span, cx),
    };
    e.span = span;
}

/// What a row's call is about.
struct Shape {
    scalar: Scalar,
    lanes: u8,
    ty: Type,
    span: Span,
}

fn lower_row(lowering: Lowering, mut args: Vec<Expr>, shape: Shape, cx: &mut Cx<'_>) -> Expr {
    let Shape { scalar, lanes, ty, span } = shape;
    match lowering {
        Lowering::Prelude(name) | Lowering::Metal(name) | Lowering::Math(name)
            if scalar == Scalar::Double && name != "bitselect" =>
        {
            call(format!("clmsl_{name}"), args, ty, span)
        }
        Lowering::Truth(name) if scalar == Scalar::Double => {
            truth_value(call(format!("clmsl_{name}"), args, Type::lanes(Scalar::Bool, lanes), span), ty)
        }
        Lowering::Vector(name, _) if scalar == Scalar::Double && lanes > 1 => {
            call(format!("clmsl_{name}"), args, ty, span)
        }
        Lowering::Scale(factor) if scalar == Scalar::Double => {
            // The one of the two whose factor is below 1.
            let name = if factor < 1.0 { "clmsl_radians" } else { "clmsl_degrees" };
            call(name, args, ty, span)
        }
        Lowering::Metal(name) => call(format!("metal::{name}"), args, ty, span),
        Lowering::Math(name) => {
            let variant = if cx.fast_relaxed_math { "fast" } else { "precise" };
            in_single(format!("metal::{variant}::{name}"), args, scalar, ty, span)
        }
        Lowering::Polyfill(name) if cx.fast_relaxed_math => {
            in_single(format!("metal::fast::{name}"), args, scalar, ty, span)
        }
        Lowering::Fast(name) => in_single(format!("metal::fast::{name}"), args, scalar, ty, span),
        Lowering::Prelude("bitselect") => bitselect(args, scalar, lanes, ty, span),
        Lowering::Polyfill(name) | Lowering::Prelude(name) => {
            let head = format!("clmsl_{name}");
            // Vectors of 8 and 16 are made of vectors of four.
            let has_form = scalar != Scalar::Half || crate::prelude::provides(name, scalar, lanes.min(4));
            if has_form { call(head, args, ty, span) } else { in_single(head, args, scalar, ty, span) }
        }
        Lowering::Vector(name, form) => match (lanes, form) {
            (1, ScalarForm::Product) => fold_binary(BinaryOp::Mul, args, ty),
            _ => in_single(format!("metal::{name}"), args, scalar, ty, span),
        },
        Lowering::Operator(op) => {
            let product = fold_binary(op, args, ty.clone());
            // A product of two narrow scalars is an `int` in C++.
            narrowed(product, ty)
        }
        Lowering::MulAdd => {
            let Some(c) = args.pop() else { unreachable!("the row has three parameters") };
            let product = fold_binary(BinaryOp::Mul, args, ty.clone());
            narrowed(binary(BinaryOp::Add, product, c, ty.clone()), ty)
        }
        Lowering::Reciprocal => {
            let one = convert(Expr::int(1, Type::INT, span), &ty);
            args.insert(0, one);
            fold_binary(BinaryOp::Div, args, ty)
        }
        Lowering::Scale(factor) => {
            let factor = Expr::new(ExprKind::Float(factor), Type::FLOAT, span);
            args.push(convert(factor, &ty));
            fold_binary(BinaryOp::Mul, args, ty)
        }
        Lowering::Truth(name) => {
            let truth = Type::lanes(Scalar::Bool, lanes);
            truth_value(call(format!("metal::{name}"), args, truth, span), ty)
        }
        Lowering::Compare(op) => {
            let truth = Type::lanes(Scalar::Bool, lanes);
            truth_value(fold_binary(op, args, truth), ty)
        }
        Lowering::LessOrGreater => {
            let truth = Type::lanes(Scalar::Bool, lanes);
            truth_value(call("clmsl_islessgreater", args, truth, span), ty)
        }
    }
}

/// A call of a function for `float`: `half` arguments and results are converted, which is within OpenCL's limits for
/// `half` (OpenCL C 3.0 §7.4) if the function is within those for `float`.
fn in_single(head: String, args: Vec<Expr>, scalar: Scalar, ty: Type, span: Span) -> Expr {
    let single = |ty: &Type| match ty.arithmetic() {
        Some((Scalar::Half, lanes)) => Type::lanes(Scalar::Float, lanes),
        _ => ty.clone(),
    };
    if scalar != Scalar::Half {
        return call(head, args, ty, span);
    }
    let args = args.into_iter().map(|arg| {
        let to = single(&arg.ty);
        convert(arg, &to)
    });
    let result = call(head, args.collect(), single(&ty), span);
    convert(result, &ty)
}

/// `a op b` of the two arguments.
fn fold_binary(op: BinaryOp, args: Vec<Expr>, ty: Type) -> Expr {
    let mut args = args.into_iter();
    let (Some(a), Some(b)) = (args.next(), args.next()) else { unreachable!("the row has two parameters") };
    binary(op, a, b, ty)
}

/// Makes the conversion back from `int` visible where C++ promotes.
fn narrowed(mut e: Expr, ty: Type) -> Expr {
    match ty.scalar() {
        Some(s) if s.promoted() != s => {
            e.ty = Type::Scalar(s.promoted());
            e.convert(ty)
        }
        _ => e,
    }
}

/// Floats select by their bits.
fn bitselect(args: Vec<Expr>, scalar: Scalar, lanes: u8, ty: Type, span: Span) -> Expr {
    if scalar.is_integer() {
        return call("clmsl_bitselect", args, ty, span);
    }
    let bits = Type::lanes(scalar.unsigned_of_width(), lanes);
    let args = args.into_iter().map(|a| conversion::as_type(a, &bits)).collect();
    conversion::as_type(call("clmsl_bitselect", args, bits, span), &ty)
}

fn lower_special(special: Special, mut args: Vec<Expr>, ty: Type, span: Span, cx: &mut Cx<'_>) -> Expr {
    match special {
        Special::WorkItem(_) => unreachable!("work-item functions are lowered later"),
        Special::GridBarrier => unreachable!("kernels were cut there"),
        Special::Barrier => {
            let flags = mem_flags(args.first());
            let barrier = call("metal::threadgroup_barrier", vec![flags.clone()], Type::Void, span);
            if args.len() == 1 {
                return barrier;
            }
            cx.device_scope = true;
            let fence = |flags| c11::fence(flags, Scope::Device, span);
            c11::sequence(c11::sequence(fence(flags.clone()), barrier), fence(flags))
        }
        Special::MemFence => c11::fence(mem_flags(args.first()), Scope::WorkGroup, span),
        Special::ToSpace(space) => {
            let pointer = first(&mut args);
            if pointer.ty.pointee().is_some_and(|p| p.space == space) {
                return pointer;
            }
            let null = Expr::new(ExprKind::Null, ty.clone(), span).convert(ty);
            async_copy::after(pointer, null)
        }
        Special::GetFence => {
            let pointer = first(&mut args);
            // Private memory needs no fence; this one is as valid as any.
            let is_global = pointer.ty.pointee().is_some_and(|p| p.space == Space::Global);
            async_copy::after(pointer, Expr::int(if is_global { 2 } else { 1 }, ty, span))
        }
        Special::Group(GroupOp::Block { element, lanes, .. }) => group::block(element, lanes, args, span, cx),
        Special::Group(op) => group::lower(op, args, ty, span),
        Special::C11 { op, order, .. } => c11::lower(op, order, args, ty, span, cx),
        Special::Convert { scalar, saturate, rounding, .. } => {
            conversion::convert_call(first(&mut args), scalar, saturate, rounding, ty)
        }
        Special::AsType { .. } => conversion::as_type(first(&mut args), &ty),
        Special::Select => select(args, ty, span),
        Special::Any | Special::All => {
            let arg = first(&mut args);
            let name = if special == Special::Any { "metal::any" } else { "metal::all" };
            let truth = sign_bits(arg);
            if truth.ty == Type::BOOL {
                return convert(truth, &ty);
            }
            convert(call(name, vec![truth], Type::BOOL, span), &ty)
        }
        Special::Atomic(op) => atomic::lower(op, args, ty, span),
        Special::Load(n) => memory::load(args, n, ty, span),
        Special::Store(n) => memory::store(args, n, span),
        Special::LoadHalf(n, aligned) => memory::load_half(args, n, aligned, ty, span),
        Special::StoreHalf(n, aligned, rounding) => memory::store_half(args, n, aligned, rounding, span),
        Special::Shuffle(_) => call("clmsl_shuffle", args, ty, span),
        Special::DotBytes(dot) => {
            let sum = if dot.accumulates { args.pop() } else { None };
            let head = if ty == Type::UINT { "clmsl_dot_bytes<uint>" } else { "clmsl_dot_bytes<int>" };
            let product = call(head, args, ty.clone(), span);
            match sum {
                Some(sum) => call("clmsl_add_sat", vec![product, sum], ty, span),
                None => product,
            }
        }
        Special::AsyncCopy(strided) => async_copy::copy(args, strided, span),
        Special::AsyncLines(_) => async_copy::lines(args, span),
        Special::WaitEvents => async_copy::wait(args, span),
        Special::Upsample => upsample(args, ty),
        Special::Nan => {
            let code = first(&mut args);
            if ty == Type::DOUBLE {
                return call("clmsl_nan", vec![code], ty, span);
            }
            // The quiet bit with the exponent's, and the bits below them.
            let (quiet, payload) = match ty.arithmetic() {
                Some((Scalar::Half, _)) => (0x7e00, 0x01ff),
                _ => (0x7fc0_0000, 0x003f_ffff),
            };
            // A `ushort` would become an `int`.
            let from = code.ty.clone();
            let bits = if from == Type::Scalar(Scalar::UShort) { Type::UINT } else { from.clone() };
            let constant =
                |value| convert(Expr::new(ExprKind::Int { value, hexadecimal: true }, Type::UINT, span), &bits);
            let payload = binary(BinaryOp::And, convert(code, &bits), constant(payload), bits.clone());
            let nan = binary(BinaryOp::Or, payload, constant(quiet), bits);
            conversion::as_type(convert(nan, &from), &ty)
        }
        Special::Image(_) => unreachable!("functions on images were lowered before"),
        Special::Printf => printf::lower(args, ty, span, cx),
        Special::Prefetch => Expr::int(0, Type::INT, span).convert(Type::Void),
    }
}

fn first(args: &mut [Expr]) -> Expr {
    match args.first_mut() {
        Some(e) => take(e),
        None => unreachable!("the number of arguments was checked"),
    }
}

/// Fence flags as Metal's; they were checked to be a constant of the three known bits.
pub(super) fn mem_flags(flags: Option<&Expr>) -> Expr {
    let (value, span) = flags.map_or((0, Span::default()), |f| (crate::sema::const_int(f).unwrap_or(7), f.span));
    let names = [(2, "device"), (1, "threadgroup"), (4, "texture")];
    let set = names.iter().filter(|(bit, _)| value & bit != 0);
    let text: Vec<String> = set.map(|(_, name)| format!("metal::mem_flags::mem_{name}")).collect();
    let text = if text.is_empty() { "metal::mem_flags::mem_none".to_owned() } else { text.join(" | ") };
    Expr::new(ExprKind::Name(text), Type::INT, span)
}

/// `select(a, b, c)`: `b` where `c` holds. Scalars ask whether `c` is not zero, vectors for the sign bits.
fn select(args: Vec<Expr>, ty: Type, span: Span) -> Expr {
    let mut args = args.into_iter();
    let (Some(a), Some(b), Some(c)) = (args.next(), args.next(), args.next()) else {
        unreachable!("the number of arguments was checked")
    };
    if ty.vector().is_some() {
        return vector::select(a, b, sign_bits(c), ty, span);
    }
    let c = match c.kind {
        ExprKind::Convert(inner) if inner.ty == Type::BOOL => *inner,
        kind => {
            let c = Expr::new(kind, c.ty, c.span);
            let zero = convert(Expr::int(0, Type::INT, c.span), &c.ty);
            binary(BinaryOp::Ne, c, zero, Type::BOOL)
        }
    };
    if is_pure(&a) && is_pure(&b) && is_pure(&c) {
        return Expr::new(ExprKind::Cond(Box::new(c), Box::new(b), Box::new(a)), ty, span);
    }
    let name = if ty == Type::DOUBLE { "clmsl_select" } else { "metal::select" };
    call(name, vec![a, b, c], ty, span)
}

/// `upsample(high, low)`: the bits of both, one behind the other.
fn upsample(args: Vec<Expr>, ty: Type) -> Expr {
    let mut args = args.into_iter();
    let (Some(high), Some(low)) = (args.next(), args.next()) else {
        unreachable!("the number of arguments was checked")
    };
    let Some((wide, lanes)) = ty.arithmetic() else { return high };
    let span = high.span;
    // Unsigned and at least 32 bits wide for a scalar, so that nothing overflows.
    let at = wide.unsigned_of_width();
    let at = Type::lanes(if lanes == 1 { Scalar::wider(at, Scalar::UInt) } else { at }, lanes);
    let shift = convert(Expr::int(i128::from(wide.bits() / 2), Type::INT, span), &at);
    let high = binary(BinaryOp::Shl, convert(high, &at), shift, at.clone());
    convert(binary(BinaryOp::Or, high, convert(low, &at), at), &ty)
}
