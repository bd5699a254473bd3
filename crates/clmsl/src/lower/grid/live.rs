//! Which variables have values at the beginning of a part that are used there, before they get others.
//!
//! A declaration and an assignment to a whole variable end the use of what was there before. Of local memory an assignment to an element does: the extension
//! says that its contents are lost at a grid barrier, and the work-items of a group write it anew together.

use std::collections::BTreeMap;

use super::graph::{End, Graph};
use super::saved::{each, root};
use crate::hir::{Expr, ExprKind, LocalId, Stmt, StmtKind};
use crate::source::Span;

/// Variables, each with a place where it is used.
type Live = BTreeMap<LocalId, Span>;

/// What is live where a part begins, but for the first.
pub(super) fn across(graph: &Graph, entries: &[usize], in_group: &dyn Fn(LocalId) -> bool) -> Live {
    let mut before: Vec<Live> = vec![Live::new(); graph.blocks.len()];
    loop {
        let mut changed = false;
        for at in (0..graph.blocks.len()).rev() {
            let block = &graph.blocks[at];
            let mut live = Live::new();
            let mut join =
                |next: usize| before[next].iter().for_each(|(&id, &span)| _ = live.entry(id).or_insert(span));
            match &block.end {
                End::Exit => {}
                End::Goto(next) | End::Barrier(next) => join(*next),
                End::Branch(cond, yes, no) => {
                    join(*yes);
                    join(*no);
                    used(cond, &mut live);
                }
            }
            for stmt in block.stmts.iter().rev() {
                statement(stmt, in_group, &mut live);
            }
            changed |= live.len() != before[at].len();
            before[at] = live;
        }
        if !changed {
            break;
        }
    }
    let mut all = Live::new();
    for &entry in entries.iter().filter(|&&entry| entry != 0) {
        before[entry].iter().for_each(|(&id, &span)| _ = all.entry(id).or_insert(span));
    }
    all
}

/// From what is live behind a statement to what is before it.
fn statement(stmt: &Stmt, in_group: &dyn Fn(LocalId) -> bool, live: &mut Live) {
    match &stmt.kind {
        StmtKind::Decl(decls) => {
            for decl in decls.iter().rev() {
                if !in_group(decl.local) {
                    live.remove(&decl.local);
                }
                decl.init.iter().for_each(|init| used(init, live));
            }
        }
        StmtKind::Expr(Expr { kind: ExprKind::Assign(place, value), .. }) => {
            match &place.kind {
                ExprKind::Local(id) if !in_group(*id) => _ = live.remove(id),
                ExprKind::Index(base, index) => {
                    match memory(base).filter(|&id| in_group(id)) {
                        Some(id) => _ = live.remove(&id),
                        None => used(base, live),
                    }
                    used(index, live);
                }
                _ => used(place, live),
            }
            used(value, live);
        }
        // What is declared inside is nothing before.
        _ => {
            stmt.for_each_expr(&mut |e| used(e, live));
            each(stmt, &mut |stmt| {
                if let StmtKind::Decl(decls) = &stmt.kind {
                    decls.iter().filter(|decl| !in_group(decl.local)).for_each(|decl| _ = live.remove(&decl.local));
                }
            });
        }
    }
}

/// The variable whose memory an element is of: an array, or a pointer.
fn memory(base: &Expr) -> Option<LocalId> {
    match &base.kind {
        ExprKind::Local(id) => Some(*id),
        ExprKind::Decay(array) => root(array),
        _ => root(base),
    }
}

fn used(e: &Expr, live: &mut Live) {
    e.walk(&mut |e| {
        if let ExprKind::Local(id) = e.kind {
            live.entry(id).or_insert(e.span);
        }
    });
}
