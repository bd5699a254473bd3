//! Declarations where C++ and MSL want them.
//!
//! * `__local` variables of inner scopes move to the top of the kernel: MSL has threadgroup variables only there, and in
//!   OpenCL C they live as long as the kernel anyway.
//! * Initialised variables directly in a switch are declared before it and assigned where they stood: C++ forbids a jump
//!   to a label past an initialisation.
//! * A statement declares variables of one plain type and alignment, or one variable.

use crate::hir::{self, Block, Decl, Expr, ExprKind, Function, Local, LocalId, Stmt, StmtKind};
use crate::source::Span;
use crate::types::{Space, Type};

/// Moves declarations of a function.
pub(super) fn lower(function: &mut Function) {
    let Some(mut body) = function.body.take() else { return };
    hoist_local_memory(&mut body, function);
    body.for_each_list_mut(&mut |list| {
        open_switches(list, function);
        split_declarations(list, function);
    });
    function.body = Some(body);
}

fn hoist_local_memory(body: &mut Block, function: &Function) {
    let is_local = |d: &Decl| function.local(d.local).space == Space::Local;
    let mut hoisted = Vec::new();
    for stmt in &mut body.stmts {
        stmt.for_each_list_mut(&mut |list| {
            for inner in list.iter_mut() {
                let StmtKind::Decl(decls) = &mut inner.kind else { continue };
                let span = inner.span;
                let (local, rest): (Vec<Decl>, Vec<Decl>) = decls.drain(..).partition(is_local);
                hoisted.extend(local.into_iter().map(|d| Stmt { kind: StmtKind::Decl(vec![d]), span }));
                *decls = rest;
            }
            list.retain(|s| !matches!(&s.kind, StmtKind::Decl(d) if d.is_empty()));
        });
    }
    body.stmts.splice(0..0, hoisted);
}

/// Declares the initialised variables of each switch in this list before it.
fn open_switches(list: &mut [Stmt], function: &mut Function) {
    let needs = |s: &Stmt| {
        matches!(&s.kind, StmtKind::Switch(_, body)
            if body.stmts.iter().any(|s| matches!(&s.kind, StmtKind::Decl(d) if d.iter().any(|d| d.init.is_some()))))
    };
    for stmt in list.iter_mut().filter(|s| needs(s)) {
        let span = stmt.span;
        let StmtKind::Switch(_, body) = &mut stmt.kind else { continue };
        let end = body.end;
        let mut before = Vec::new();
        let mut rest = Vec::new();
        for inner in body.stmts.drain(..) {
            let StmtKind::Decl(decls) = inner.kind else {
                rest.push(inner);
                continue;
            };
            for decl in decls {
                function.local_mut(decl.local).quals.is_const = false;
                before.push(Stmt { kind: StmtKind::Decl(vec![Decl { local: decl.local, init: None }]), span });
                if let Some(init) = decl.init {
                    assign(decl.local, init, function, inner.span, &mut rest);
                }
            }
        }
        body.stmts = rest;
        let switch = Stmt { kind: std::mem::replace(&mut stmt.kind, StmtKind::Empty), span };
        before.push(switch);
        stmt.kind = StmtKind::Block(Block { stmts: before, end });
    }
}

/// `local = init`, element by element for arrays.
pub(super) fn assign(local: LocalId, init: Expr, function: &Function, span: Span, out: &mut Vec<Stmt>) {
    let ty = function.local(local).ty.clone();
    let mut steps = Vec::new();
    hir::assign(Expr::new(ExprKind::Local(local), ty, span), init, &mut steps);
    out.extend(steps.into_iter().map(|step| Stmt { kind: StmtKind::Expr(step), span }));
}

/// Variables of different types, and pointers and arrays, are declared apart.
fn split_declarations(list: &mut Vec<Stmt>, function: &Function) {
    let together = |decls: &[Decl]| {
        let first = decls.first().map(|d| function.local(d.local));
        decls.len() <= 1
            || decls.iter().all(|d| {
                let local = function.local(d.local);
                let alike = |f: &Local| {
                    f.ty == local.ty
                        && f.space == local.space
                        && f.quals == local.quals
                        && f.min_align == local.min_align
                };
                first.is_some_and(alike)
                    && matches!(local.ty, Type::Scalar(_) | Type::Vector(..) | Type::Struct(_))
                    && local.space == Space::Private
            })
    };
    let mut out = Vec::with_capacity(list.len());
    for stmt in list.drain(..) {
        let span = stmt.span;
        match stmt.kind {
            StmtKind::Decl(decls) if !together(&decls) => {
                out.extend(decls.into_iter().map(|d| Stmt { kind: StmtKind::Decl(vec![d]), span }));
            }
            StmtKind::For { init: Some(init), cond, step, body } => {
                let mixed = matches!(&init.kind, StmtKind::Decl(decls) if !together(decls));
                if let (true, StmtKind::Decl(decls)) = (mixed, &init.kind) {
                    let end = body.end;
                    let mut stmts: Vec<Stmt> =
                        decls.iter().map(|d| Stmt { kind: StmtKind::Decl(vec![d.clone()]), span }).collect();
                    stmts.push(Stmt { kind: StmtKind::For { init: None, cond, step, body }, span });
                    out.push(Stmt { kind: StmtKind::Block(Block { stmts, end }), span });
                } else {
                    out.push(Stmt { kind: StmtKind::For { init: Some(init), cond, step, body }, span });
                }
            }
            kind => out.push(Stmt { kind, span }),
        }
    }
    *list = out;
}
