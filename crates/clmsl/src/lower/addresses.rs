//! Variables in constant memory that hold addresses: `__constant char* __constant names[] = { "a", "b" }`.
//!
//! Neither MSL's documentation nor public programs show that constant memory may hold addresses. The variables never
//! change, so their values take their place where they are read; a computed index chooses between them by halves.

use super::Instance;
use super::expr::{binary, sequence, take};
use crate::ast::BinaryOp;
use crate::diagnostic::Diagnostic;
use crate::hir::{Constant, Decl, Expr, ExprKind, Function, Local, LocalId, Stmt, StmtKind};
use crate::sema::{convert, is_pure};
use crate::types::Type;

/// Whether variables of this type hold addresses only.
pub(crate) fn holds_pointers(ty: &Type) -> bool {
    match ty {
        Type::Array(element, _) => element.pointee().is_some(),
        other => other.pointee().is_some(),
    }
}

/// Puts the addresses in place of the variables, and takes those out of the program.
pub(super) fn lower(constants: &mut [Constant], instances: &mut [Instance], diagnostics: &mut Vec<Diagnostic>) {
    let pointers = |c: &mut Constant| if holds_pointers(&c.ty) { c.init.take() } else { None };
    let values: Vec<Option<Expr>> = constants.iter_mut().map(pointers).collect();
    if values.iter().all(Option::is_none) {
        return;
    }
    for instance in instances {
        let function = &mut instance.function;
        let Some(mut body) = function.body.take() else { continue };
        let mut indices = Vec::new();
        body.for_each_expr_mut(&mut |e| substitute(e, &values, function, &mut indices, diagnostics));
        let top = body.stmts.first().map_or(function.span, |s| s.span);
        let declare = |local: LocalId| Stmt { span: top, kind: StmtKind::Decl(vec![Decl { local, init: None }]) };
        body.stmts.splice(0..0, indices.into_iter().map(declare));
        function.body = Some(body);
    }
}

/// The value of the variable, if the expression is one.
fn value<'v>(e: &Expr, values: &'v [Option<Expr>]) -> Option<&'v Expr> {
    match e.kind {
        ExprKind::Constant(id) => values[id.0 as usize].as_ref(),
        _ => None,
    }
}

fn substitute(
    e: &mut Expr,
    values: &[Option<Expr>],
    function: &mut Function,
    indices: &mut Vec<LocalId>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let array = match &mut e.kind {
        ExprKind::Index(base, index) => Some((&mut **base, take(index))),
        ExprKind::Deref(pointer) => match &mut pointer.kind {
            ExprKind::Decay(_) => Some((&mut **pointer, Expr::int(0, Type::INT, e.span))),
            ExprKind::Binary(BinaryOp::Add, a, b) if matches!(a.kind, ExprKind::Decay(_)) => Some((&mut **a, take(b))),
            _ => None,
        },
        _ => None,
    };
    if let Some((base, mut index)) = array {
        let inner = if let ExprKind::Decay(inner) = &base.kind { inner } else { &*base };
        if let Some(Expr { kind: ExprKind::Aggregate(parts), .. }) = value(inner, values) {
            substitute(&mut index, values, function, indices, diagnostics);
            let (ty, span) = (e.ty.clone(), e.span);
            let missing = matches!(inner.ty, Type::Array(_, count) if count > parts.len() as u64);
            *e = Expr { span, ..chosen(parts, missing, index, ty, function, indices) };
            return;
        }
        // As it was.
        match &mut e.kind {
            ExprKind::Index(_, place) => **place = index,
            ExprKind::Deref(pointer) => {
                if let ExprKind::Binary(_, _, place) = &mut pointer.kind {
                    **place = index;
                }
            }
            _ => {}
        }
    }
    let addressed = match &e.kind {
        ExprKind::AddressOf(place) => root(place),
        _ => e,
    };
    match value(addressed, values) {
        Some(value) if e.ty.pointee().is_some() && matches!(e.kind, ExprKind::Constant(_)) => {
            *e = Expr { span: e.span, ..value.clone() };
        }
        Some(_) => {
            let message = "the address of a __constant variable that holds addresses is not supported: Metal is not \
                           known to keep addresses in constant memory";
            diagnostics.push(Diagnostic::error(e.span, message));
        }
        None => e.for_each_child_mut(&mut |c| substitute(c, values, function, indices, diagnostics)),
    }
}

/// The variable that a place is part of.
fn root(place: &Expr) -> &Expr {
    match &place.kind {
        ExprKind::Index(base, _) if base.ty.pointee().is_none() => root(base),
        _ => place,
    }
}

/// The part that the index says. What is `missing` at the end is null, and what is beyond may be anything.
fn chosen(
    parts: &[Expr],
    missing: bool,
    index: Expr,
    ty: Type,
    function: &mut Function,
    indices: &mut Vec<LocalId>,
) -> Expr {
    let span = index.span;
    let part = |i: usize| match &parts[i].kind {
        ExprKind::Zero => Expr::new(ExprKind::Null, ty.clone(), span),
        _ => Expr { span, ..parts[i].clone() },
    };
    if let Some(i) = index.int_value() {
        let known = usize::try_from(i).ok().filter(|&i| i < parts.len());
        return known.map_or_else(|| Expr::new(ExprKind::Null, ty.clone(), span), part);
    }
    let mut before = Vec::new();
    let index = if is_pure(&index) {
        index
    } else {
        let local = function.add_local(Local::generated("index", index.ty.clone(), span));
        indices.push(local);
        let variable = Expr::new(ExprKind::Local(local), index.ty.clone(), span);
        let ty = index.ty.clone();
        before.push(Expr::new(ExprKind::Assign(Box::new(variable.clone()), Box::new(index)), ty, span));
        variable
    };
    let null = missing.then(|| Expr::new(ExprKind::Null, ty.clone(), span));
    let all: Vec<Expr> = (0..parts.len()).map(part).chain(null).collect();
    sequence(before, half(&all, 0, &index, &ty))
}

/// One of the values, of which the first is that of the index `from`.
fn half(values: &[Expr], from: usize, index: &Expr, ty: &Type) -> Expr {
    let (first, second) = values.split_at(values.len() / 2);
    if first.is_empty() {
        return second[0].clone();
    }
    let middle = from + first.len();
    let at = index.ty.scalar().map_or(Type::INT, |s| Type::Scalar(s.promoted()));
    let bound = convert(Expr::int(middle as i128, Type::INT, index.span), &at);
    let below = binary(BinaryOp::Lt, convert(index.clone(), &at), bound, Type::BOOL);
    let (a, b) = (half(first, from, index, ty), half(second, middle, index, ty));
    if matches!((&a.kind, &b.kind), (ExprKind::Null, ExprKind::Null)) {
        return a;
    }
    Expr::new(ExprKind::Cond(Box::new(below), Box::new(a), Box::new(b)), ty.clone(), index.span)
}
