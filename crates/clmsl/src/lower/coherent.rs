//! Device memory that work-groups exchange values through.
//!
//! By default Metal orders accesses to device memory within a threadgroup only; what fences are to order for the whole
//! device must be reached through `coherent(device)` pointers (MSL 3.2 §4.8). If the program orders anything for the device,
//! all its pointers to global memory are such.

use std::rc::Rc;

use super::Instance;
use crate::hir::ExprKind;
use crate::types::{Pointee, Quals, Space, Struct, Type};

pub(super) fn mark(instances: &mut [Instance], structs: &mut [Struct]) {
    for s in structs {
        for field in &mut s.fields {
            field.ty = coherent(&field.ty);
        }
    }
    for instance in instances {
        let function = &mut instance.function;
        function.ret = coherent(&function.ret);
        for local in &mut function.locals {
            local.ty = coherent(&local.ty);
        }
        if let Some(body) = &mut function.body {
            body.for_each_expr_mut(&mut |e| {
                e.rewrite(&mut |e| {
                    e.ty = coherent(&e.ty);
                    if let ExprKind::AssignOp { at, .. } = &mut e.kind {
                        *at = coherent(at);
                    }
                });
            });
        }
    }
}

/// The type with coherent pointers. Those to atomic objects need not be.
fn coherent(ty: &Type) -> Type {
    match ty {
        Type::Pointer(p) => {
            let is_coherent = p.space == Space::Global && !matches!(p.ty, Type::Atomic(_));
            let quals = Quals { is_coherent, ..p.quals };
            Type::Pointer(Rc::new(Pointee { ty: coherent(&p.ty), space: p.space, quals }))
        }
        Type::Array(element, count) => Type::Array(Rc::new(coherent(element)), *count),
        other => other.clone(),
    }
}
