//! `__local` variables of kernels that other kernels call: MSL has threadgroup variables only in entry points, which
//! declare them and hand them down.

use super::Instance;
use crate::hir::{Block, ExprKind, Function, Hidden, Local, StmtKind};
use crate::types::Space;

/// Takes the variables out of the functions. [`Hidden::Shared`] numbers them as they are returned.
pub(super) fn lower(instances: &mut [Instance]) -> Vec<Local> {
    let mut shared = Vec::new();
    for instance in instances.iter_mut().filter(|i| i.called_kernel) {
        let function = &mut instance.function;
        let Some(mut body) = function.body.take() else { continue };
        let numbers: Vec<Option<u32>> = function.locals.iter().map(|local| number(local, &mut shared)).collect();
        body.for_each_expr_mut(&mut |e| {
            e.rewrite(&mut |e| {
                if let ExprKind::Local(id) = e.kind
                    && let Some(number) = numbers[id.0 as usize]
                {
                    e.kind = ExprKind::Hidden(Hidden::Shared(number));
                }
            });
        });
        remove_declarations(&mut body, function);
        function.body = Some(body);
    }
    shared
}

fn number(local: &Local, shared: &mut Vec<Local>) -> Option<u32> {
    if local.space != Space::Local {
        return None;
    }
    shared.push(local.clone());
    Some(shared.len() as u32 - 1)
}

fn remove_declarations(body: &mut Block, function: &Function) {
    body.for_each_list_mut(&mut |list| {
        for stmt in list.iter_mut() {
            if let StmtKind::Decl(decls) = &mut stmt.kind {
                decls.retain(|d| function.local(d.local).space != Space::Local);
            }
        }
        list.retain(|s| !matches!(&s.kind, StmtKind::Decl(d) if d.is_empty()));
    });
}
