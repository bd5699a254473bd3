//! Every expression of a function in MSL's terms: dispatch to the passes by kind, operands first.

use std::collections::BTreeSet;

use super::{Instance, builtin, divide, double, vector, wide};
use crate::ast::BinaryOp;
use crate::diagnostic::Diagnostic;
use crate::hir::{Block, Decl, Expr, ExprKind, Local, LocalId, Stmt, StmtKind, UnaryOp};
use crate::prelude::wide::Form;
use crate::source::Span;
use crate::types::Type;

/// What the passes over expressions share.
pub(super) struct Cx<'a> {
    /// `-cl-fast-relaxed-math`
    pub(super) fast_relaxed_math: bool,
    pub(super) locals: &'a mut Vec<Local>,
    /// Variables to declare at the top of the function.
    pub(super) temporaries: Vec<LocalId>,
    pub(super) diagnostics: &'a mut Vec<Diagnostic>,
    /// What the program does to vectors that MSL does not have.
    pub(super) forms: &'a mut BTreeSet<Form>,
    /// Whether memory operations are ordered for the whole device.
    pub(super) device_scope: bool,
}

impl Cx<'_> {
    /// A new variable at the top of the function.
    pub(super) fn temporary(&mut self, name: &str, ty: Type, span: Span) -> Expr {
        let id = LocalId(self.locals.len() as u32);
        self.locals.push(Local::generated(name, ty.clone(), span));
        self.temporaries.push(id);
        Expr::new(ExprKind::Local(id), ty, span)
    }
}

/// Lowers all expressions of a function. Returns whether it orders memory for the whole device.
pub(super) fn lower_function(
    instance: &mut Instance,
    fast_relaxed_math: bool,
    forms: &mut BTreeSet<Form>,
    diagnostics: &mut Vec<Diagnostic>,
) -> bool {
    let Instance { function, content, .. } = instance;
    let Some(mut body) = function.body.take() else { return false };
    let locals = &mut function.locals;
    let mut cx = Cx { fast_relaxed_math, locals, temporaries: Vec::new(), diagnostics, forms, device_scope: false };
    body.for_each_expr_mut(&mut |e| {
        e.rewrite(&mut |e| lower_expr(e, &mut cx));
    });
    statements(&mut body, &mut cx);
    body.for_each_expr_mut(&mut |e| wide::lower(e, &mut cx));
    let (temporaries, device_scope) = (std::mem::take(&mut cx.temporaries), cx.device_scope);
    if content.doubles {
        body.for_each_expr_mut(&mut |e| double::lower_volatile(e, &function.locals));
    }
    let top = body.stmts.first().map_or(function.span, |s| s.span);
    let declarations =
        temporaries.into_iter().map(|local| Stmt { span: top, kind: StmtKind::Decl(vec![Decl { local, init: None }]) });
    body.stmts.splice(0..0, declarations);
    function.body = Some(body);
    device_scope
}

fn lower_expr(e: &mut Expr, cx: &mut Cx<'_>) {
    double::fold(e);
    match &mut e.kind {
        ExprKind::Builtin { .. } => builtin::lower(e, cx),
        ExprKind::Binary(op, a, b) => {
            if op.is_logical() {
                strip_condition(a);
                strip_condition(b);
            }
            if vector::lower_binary(e) {
                return;
            }
            divide::lower_binary(e);
        }
        ExprKind::AssignOp { .. } => divide::lower_assign(e, cx),
        ExprKind::Unary(UnaryOp::Not, a) => {
            strip_condition(a);
            vector::lower_not(e);
        }
        ExprKind::Cond(c, ..) => {
            strip_condition(c);
        }
        ExprKind::VectorCond(..) => vector::lower_cond(e, cx),
        ExprKind::Swizzle(..) => vector::lower_swizzle(e),
        ExprKind::Convert(_) => {
            double::lower_convert(e);
            lower_convert(e);
        }
        _ => {}
    }
}

/// An `int` made of a truth value is that truth value where one is wanted.
fn strip_condition(e: &mut Expr) {
    if let ExprKind::Convert(inner) = &mut e.kind
        && inner.ty == Type::BOOL
        && e.ty.is_integer_scalar()
    {
        let span = e.span;
        *e = Expr { span, ..std::mem::replace(&mut **inner, Expr::error(span)) };
    }
}

/// Conversions that became nothing because their operand changed its type.
fn lower_convert(e: &mut Expr) {
    if let ExprKind::Convert(inner) = &mut e.kind
        && inner.ty == e.ty
    {
        let span = e.span;
        *e = Expr { span, ..std::mem::replace(&mut **inner, Expr::error(span)) };
    }
}

/// Conditions of statements, and values that nobody uses.
fn statements(block: &mut Block, cx: &mut Cx<'_>) {
    for stmt in &mut block.stmts {
        match &mut stmt.kind {
            StmtKind::Expr(e) => {
                discard(e);
                vector::lower_uses(e, false, cx);
            }
            StmtKind::Decl(decls) => {
                for decl in decls {
                    if let Some(init) = &mut decl.init {
                        vector::lower_uses(init, true, cx);
                    }
                }
            }
            StmtKind::Return(Some(e)) => vector::lower_uses(e, true, cx),
            StmtKind::Block(b) => statements(b, cx),
            StmtKind::If { arms, otherwise } => {
                for (cond, body) in arms {
                    condition(cond, cx);
                    statements(body, cx);
                }
                if let Some(body) = otherwise {
                    statements(body, cx);
                }
            }
            StmtKind::While(cond, body) | StmtKind::DoWhile(body, cond) => {
                condition(cond, cx);
                statements(body, cx);
            }
            StmtKind::For { init, cond, step, body } => {
                match init.as_mut().map(|i| &mut i.kind) {
                    Some(StmtKind::Expr(e)) => {
                        discard(e);
                        vector::lower_uses(e, false, cx);
                    }
                    Some(StmtKind::Decl(decls)) => {
                        for init in decls.iter_mut().filter_map(|d| d.init.as_mut()) {
                            vector::lower_uses(init, true, cx);
                        }
                    }
                    _ => {}
                }
                if let Some(cond) = cond {
                    condition(cond, cx);
                }
                if let Some(step) = step {
                    vector::lower_uses(step, false, cx);
                }
                statements(body, cx);
            }
            StmtKind::Switch(value, body) => {
                vector::lower_uses(value, true, cx);
                statements(body, cx);
            }
            _ => {}
        }
    }
}

/// A value that nobody uses: a store is printed as the assignment it is, and what a conversion converts without it, which C++ would take for a
/// declaration (`float(x);`, `float(x), y = 3;`).
fn discard(e: &mut Expr) {
    unwrap_assignment(e);
    while let ExprKind::Convert(inner) = &mut e.kind
        && e.ty != Type::Void
    {
        *e = take(inner);
    }
    if let ExprKind::Comma(first, second) = &mut e.kind {
        discard(first);
        discard(second);
        e.ty = second.ty.clone();
    }
}

fn unwrap_assignment(e: &mut Expr) {
    match &mut e.kind {
        ExprKind::Convert(inner) if e.ty == Type::Void && matches!(inner.kind, ExprKind::Assign(..)) => {
            *e = take(inner)
        }
        // A truth value that nobody uses.
        ExprKind::Convert(inner) if inner.ty == Type::BOOL && e.ty == Type::INT => *e = take(inner),
        // The event of a copy that nobody keeps.
        ExprKind::Comma(call, number) if call.ty == Type::Void && number.int_value().is_some() => *e = take(call),
        _ => {}
    }
}

fn condition(cond: &mut Expr, cx: &mut Cx<'_>) {
    strip_condition(cond);
    vector::lower_uses(cond, true, cx);
}

/// `a op b` in one type.
pub(super) fn binary(op: BinaryOp, a: Expr, b: Expr, ty: Type) -> Expr {
    let span = a.span;
    Expr::new(ExprKind::Binary(op, Box::new(a), Box::new(b)), ty, span)
}

/// A call of an MSL or prelude function.
pub(super) fn call(head: impl Into<String>, args: Vec<Expr>, ty: Type, span: Span) -> Expr {
    Expr::new(ExprKind::Msl(head.into(), args), ty, span)
}

/// `(before, ..., last)`
pub(super) fn sequence(before: Vec<Expr>, last: Expr) -> Expr {
    let all = before.into_iter().chain([last]);
    let joined = all.reduce(|first, next| {
        let (ty, span) = (next.ty.clone(), next.span);
        Expr::new(ExprKind::Comma(Box::new(first), Box::new(next)), ty, span)
    });
    joined.unwrap_or_else(|| unreachable!("there is a last one"))
}

/// Takes the expression out, leaving nothing of meaning.
pub(super) fn take(e: &mut Expr) -> Expr {
    let span = e.span;
    std::mem::replace(e, Expr::error(span))
}
