//! What the program uses: structures, constants, vectors that MSL does not have, functions of the prelude, and the version
//! of MSL. One walk over every expression gathers all of it.

use std::collections::BTreeSet;

use super::{Instance, double};
use crate::hir::{Constant, Expr, ExprKind, Function};
use crate::prelude::Use;
use crate::types::{Scalar, Struct, Type};

/// What the functions reach.
pub(super) struct Reach {
    pub(super) structs: Vec<bool>,
    pub(super) constants: Vec<bool>,
    /// Vectors that MSL does not have.
    pub(super) vectors: BTreeSet<(Scalar, u8)>,
    /// Calls of the prelude's functions.
    pub(super) prelude: BTreeSet<Use>,
    /// The version that the newest of what is used needs.
    pub(super) msl_version: [u32; 2],
}

pub(super) fn reached(instances: &[Instance], structs: &[Struct], constants: &[Constant]) -> Reach {
    let mut reach = Reach {
        structs: vec![false; structs.len()],
        constants: vec![false; constants.len()],
        vectors: BTreeSet::new(),
        prelude: BTreeSet::new(),
        msl_version: [2, 4],
    };
    for instance in instances {
        reach.function(&instance.function, structs, constants);
    }
    reach
}

const ATOMIC_FLOATS: [u32; 2] = [3, 0];
const FENCES: [u32; 2] = [3, 2];

impl Reach {
    fn function(&mut self, f: &Function, structs: &[Struct], constants: &[Constant]) {
        for ty in f.locals.iter().map(|local| &local.ty).chain([&f.ret]) {
            self.ty(ty, structs);
            if double::mentions(ty) {
                self.prelude.insert(Use::of_piece("double"));
            }
            if is_atomic_float(ty) {
                self.msl_version = self.msl_version.max(ATOMIC_FLOATS);
            }
        }
        if let Some(body) = &f.body {
            body.for_each_expr(&mut |e| e.walk(&mut |e| self.expr(e, structs, constants)));
        }
    }

    fn ty(&mut self, ty: &Type, structs: &[Struct]) {
        let mut members: Vec<&Type> = Vec::new();
        let mut next = Some(ty);
        while let Some(ty) = next {
            next = match ty {
                Type::Pointer(p) => Some(&p.ty),
                Type::Array(element, _) => Some(&**element),
                Type::Struct(id) if !std::mem::replace(&mut self.structs[id.0 as usize], true) => {
                    members.extend(structs[id.0 as usize].fields.iter().map(|f| &f.ty));
                    members.pop()
                }
                Type::Bytes(s, n) => {
                    self.prelude.insert(Use::of_piece("bytes"));
                    self.vectors.extend(Type::lanes(*s, *n).emulated());
                    members.pop()
                }
                other => {
                    self.vectors.extend(other.emulated());
                    members.pop()
                }
            };
        }
    }

    fn expr(&mut self, e: &Expr, structs: &[Struct], constants: &[Constant]) {
        self.ty(&e.ty, structs);
        double::uses(e, &mut self.prelude);
        if is_atomic_float(&e.ty) {
            self.msl_version = self.msl_version.max(ATOMIC_FLOATS);
        }
        match &e.kind {
            ExprKind::Constant(id) if !std::mem::replace(&mut self.constants[id.0 as usize], true) => {
                // Initialisers are folded to literals and name no other constant.
                self.ty(&constants[id.0 as usize].ty, structs);
            }
            ExprKind::Name(name) => {
                self.prelude.extend(name.strip_prefix("clmsl_").map(Use::of_piece));
            }
            ExprKind::Msl(head, args) => {
                if head == "metal::atomic_thread_fence" || head.starts_with("clmsl_fence") {
                    self.msl_version = self.msl_version.max(FENCES);
                }
                let args: Vec<&Type> = args.iter().map(|a| &a.ty).collect();
                self.prelude.extend(Use::of_call(head, &args, &e.ty));
            }
            _ => {}
        }
    }
}

/// `atomic_float` or a pointer to it.
fn is_atomic_float(ty: &Type) -> bool {
    *ty.pointee().map_or(ty, |p| &p.ty) == Type::Atomic(Scalar::Float)
}
