//! Functions and kernels: signatures, attributes, the rules for kernel arguments (OpenCL C 3.0 §6.9, §6.11).

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use super::{Current, Entity, Qualified, Sema, const_int};
use crate::ast::{Attribute, Declarator, FunctionDef, Ident, Param, Specs};
use crate::diagnostic::Diagnostic;
use crate::hir::{Decl, Expr, Function, FunctionId, KernelInfo, Local, LocalId, Stmt, StmtKind};
use crate::source::Span;
use crate::types::{Scalar, Space, Type, holds_pointers};

impl Sema<'_> {
    /// A function with its body.
    pub(super) fn function(&mut self, f: &FunctionDef) {
        let base = self.base_type(&f.specs);
        self.refuse_specifiers(&f.specs);
        let declared = self.declared(&base, &f.declarator);
        let (Some(name), Some(params)) = (f.declarator.name, declared.params) else {
            self.error(f.declarator.span, "expected a function");
            return;
        };
        let Some(id) = self.declare_function(&f.specs, &f.declarator, name, &declared.ty, params) else { return };
        if self.function_ref(id).body.is_some() {
            let text = self.name(name.name);
            let note = self.function_ref(id).span;
            self.report(
                Diagnostic::error(name.span, format!("'{text}' is defined twice"))
                    .with_note(note, "first defined here"),
            );
            return;
        }
        let function = self.function_ref(id);
        let (ret, is_kernel, locals) = (function.ret.clone(), function.kernel.is_some(), function.locals.clone());
        self.current = Some(Current {
            id,
            is_kernel,
            ret,
            locals,
            loops: 0,
            switches: Vec::new(),
            labels: HashMap::default(),
            gotos: Vec::new(),
            literals: Vec::new(),
        });
        self.enter_scope();
        for (i, param) in params.iter().enumerate() {
            match param.declarator.name {
                Some(p) => {
                    if self.lookup_here(p.name).is_some() {
                        let text = self.name(p.name);
                        self.error(p.span, format!("parameter '{text}' is declared twice"));
                    }
                    self.bind(p.name, Entity::Local(LocalId(i as u32)));
                }
                None => self.error(param.specs.span, "a parameter of a definition needs a name"),
            }
        }
        let mut body = self.block_in_scope(&f.body);
        self.leave_scope();
        self.check_gotos();
        if let Some(mut current) = self.current.take() {
            let literals = current.literals.iter().map(|&local| {
                let variable = &mut current.locals[local.0 as usize];
                variable.quals.is_const = false;
                let decls = vec![Decl { local, init: None }];
                Stmt { kind: StmtKind::Decl(decls), span: variable.span }
            });
            body.stmts.splice(0..0, literals.collect::<Vec<_>>());
            let function = &mut self.program.functions[id.0 as usize];
            function.locals = current.locals;
            function.body = Some(body);
            function.span = name.span;
        }
    }

    /// A declaration without body.
    pub(super) fn prototype(
        &mut self,
        specs: &Specs,
        declarator: &Declarator,
        name: Ident,
        ret: &Qualified,
        params: &[Param],
    ) {
        self.declare_function(specs, declarator, name, ret, params);
    }

    fn declare_function(
        &mut self,
        specs: &Specs,
        declarator: &Declarator,
        name: Ident,
        ret: &Qualified,
        params: &[Param],
    ) -> Option<FunctionId> {
        let text = self.name(name.name).to_owned();
        let mut locals = Vec::new();
        for param in params {
            let (q, quals) = self.param_type(param);
            if let Some(space) = q.space
                && space != Space::Private
            {
                let span = param.declarator.span;
                self.error(span, format!("a parameter itself cannot be {}; its pointee can", space.opencl_name()));
            }
            if specs.kernel.is_some() {
                self.check_kernel_param(param, &q);
            }
            let ty = self.fresh_spaces(&q.ty);
            let (name, span) = match param.declarator.name {
                Some(n) => (self.name(n.name).to_owned(), n.span),
                None => (String::new(), param.specs.span),
            };
            let mut local = Local::new(name, ty, Space::Private, span);
            local.quals = quals;
            // See `without_volatile`.
            local.quals.is_volatile &= local.ty.vector().is_none();
            local.demoted = q.demoted;
            locals.push(local);
        }
        let ret_ty = self.fresh_spaces(&ret.ty);
        if matches!(ret_ty, Type::Array(..)) {
            self.error(name.span, "a function cannot return an array");
            return None;
        }
        if ret_ty.is_opaque() {
            self.error(name.span, "a function cannot return an image or a sampler (OpenCL C 3.0 §6.11.b)");
            return None;
        }
        if specs.kernel.is_some() && !matches!(ret_ty, Type::Void | Type::Error) {
            self.error(name.span, "a kernel must return void (OpenCL C 3.0 §6.7.1)");
        }
        let kernel = specs.kernel.map(|_| self.kernel_info(specs.attributes.iter().chain(&declarator.attributes)));
        let function = Function {
            name: text.clone(),
            span: name.span,
            kernel,
            params: (0..locals.len() as u32).map(LocalId).collect(),
            ret: ret_ty,
            locals,
            body: None,
        };
        let mut attributes = specs.attributes.iter().chain(&declarator.attributes);
        let overloadable = attributes.any(|a| self.attribute_name(a) == "overloadable");
        match self.scopes.first().and_then(|s| s.get(&name.name)).cloned() {
            Some(Entity::Function(id)) if !overloadable => self.redeclare(id, function, name.span),
            Some(Entity::Function(id)) => self.declare_overload(&[id], function, name.name, true),
            Some(Entity::Overloaded(ids)) => self.declare_overload(&ids, function, name.name, overloadable),
            Some(Entity::Broken) => None,
            Some(_) => {
                self.error(name.span, format!("'{text}' is already something else"));
                None
            }
            None => {
                let id = FunctionId(self.program.functions.len() as u32);
                self.program.functions.push(function);
                if let Some(scope) = self.scopes.first_mut() {
                    let entity = if overloadable { Entity::Overloaded(vec![id]) } else { Entity::Function(id) };
                    scope.insert(name.name, entity);
                }
                Some(id)
            }
        }
    }

    /// Merges a further declaration with the first, which earlier calls refer to.
    pub(super) fn redeclare(&mut self, id: FunctionId, new: Function, span: Span) -> Option<FunctionId> {
        let old = self.function_ref(id).clone();
        let types = |f: &Function| -> Vec<Type> { f.params.iter().map(|&p| f.local(p).ty.clone()).collect() };
        let (a, b) = (types(&old), types(&new));
        let same = a.len() == b.len()
            && a.iter().zip(&b).all(|(x, y)| x.same_shape(y) || x.is_error() || y.is_error())
            && (old.ret.same_shape(&new.ret) || old.ret.is_error() || new.ret.is_error());
        if !same {
            let message = format!("'{}' is declared with different types", new.name);
            self.report(Diagnostic::error(span, message).with_note(old.span, "first declared here"));
            return None;
        }
        for (x, y) in a.iter().zip(&b).chain([(&old.ret, &new.ret)]) {
            self.unify_pointers(x, y, span, "declaration");
        }
        let has_body = old.body.is_some();
        let function = &mut self.program.functions[id.0 as usize];
        if !has_body {
            // The first declaration's inference variables stay, so that calls made before are related to the body.
            for (local, new) in function.locals.iter_mut().zip(new.locals) {
                let ty = local.ty.clone();
                *local = Local { ty, ..new };
            }
            function.span = new.span;
        }
        function.kernel = match (function.kernel.take(), new.kernel) {
            (Some(a), Some(b)) => Some(KernelInfo {
                reqd_work_group_size: b.reqd_work_group_size.or(a.reqd_work_group_size),
                work_group_size_hint: b.work_group_size_hint.or(a.work_group_size_hint),
                vec_type_hint: b.vec_type_hint.or(a.vec_type_hint),
                reqd_sub_group_size: b.reqd_sub_group_size.or(a.reqd_sub_group_size),
                grid: None,
            }),
            (a, b) => a.or(b),
        };
        Some(id)
    }

    fn check_kernel_param(&mut self, param: &Param, q: &Qualified) {
        let span = param.declarator.name.map_or(param.declarator.span, |n| n.span);
        match &q.ty {
            Type::Scalar(Scalar::Bool) => {
                self.error(span, "a kernel argument cannot be 'bool' (OpenCL C 3.0 §6.11.k)");
            }
            Type::Scalar(_) if q.pointer_sized.is_some() => {
                let name = q.pointer_sized.unwrap_or_default();
                self.error(span, format!("a kernel argument cannot be '{name}' (OpenCL C 3.0 §6.11.k)"));
            }
            Type::Pointer(p) => {
                if matches!(p.space, Space::Private | Space::Unset) {
                    self.error(
                        span,
                        "a pointer argument of a kernel must be __global, __constant or __local (OpenCL C 3.0 §6.11.a)",
                    );
                }
                if matches!(p.ty, Type::Pointer(_)) || self.has_pointer(&p.ty) {
                    self.error(span, "a kernel argument cannot point to pointers (OpenCL C 3.0 §6.11.a)");
                }
                if let Type::Struct(id) = p.ty
                    && !self.program.structs[id.0 as usize].complete
                {
                    self.error(span, "the structure is declared but not defined");
                }
            }
            Type::Struct(id) => {
                if !self.program.structs[id.0 as usize].complete {
                    self.error(span, "the structure is declared but not defined");
                } else if self.has_pointer(&q.ty) {
                    self.error(span, "a structure argument of a kernel cannot contain pointers (OpenCL C 3.0 §6.11.k)");
                } else if self.has_bool(&q.ty) {
                    self.error(span, "a structure argument of a kernel cannot contain 'bool' (OpenCL C 3.0 §6.11.k)");
                }
            }
            _ => {}
        }
    }

    fn has_pointer(&self, ty: &Type) -> bool {
        holds_pointers(ty, &self.program.structs)
    }

    fn has_bool(&self, ty: &Type) -> bool {
        // Each structure is looked at once.
        let mut seen = HashSet::default();
        let mut work = vec![ty.clone()];
        while let Some(ty) = work.pop() {
            match ty {
                Type::BOOL => return true,
                Type::Array(e, _) => work.push((*e).clone()),
                Type::Struct(id) if seen.insert(id) => {
                    work.extend(self.program.structs[id.0 as usize].fields.iter().map(|f| f.ty.clone()));
                }
                _ => {}
            }
        }
        false
    }

    fn kernel_info<'s>(&mut self, attributes: impl Iterator<Item = &'s Attribute>) -> KernelInfo {
        let mut info = KernelInfo::default();
        for attribute in attributes {
            match self.attribute_name(attribute) {
                "reqd_work_group_size" => info.reqd_work_group_size = self.work_group_size(attribute),
                "work_group_size_hint" => info.work_group_size_hint = self.work_group_size(attribute),
                "vec_type_hint" => {
                    if let Some(ty) = &attribute.type_arg {
                        let ty = self.type_of_name(ty).ty;
                        info.vec_type_hint = Some(self.show(&ty));
                    }
                }
                "intel_reqd_sub_group_size" => info.reqd_sub_group_size = self.sub_group_size(attribute),
                "qcom_reqd_sub_group_size" => {
                    let message = "'qcom_reqd_sub_group_size' is not supported: it asks for a wave of an Adreno GPU, \
                                   the SIMD groups of Metal have 32 threads";
                    self.error(attribute.name.span, message);
                }
                _ => {}
            }
        }
        info
    }

    /// The one size there is: that of the SIMD groups of every Apple GPU.
    fn sub_group_size(&mut self, attribute: &Attribute) -> Option<u32> {
        let values: Vec<Expr> = attribute.args.iter().map(|e| self.value(e)).collect();
        match values.iter().map(const_int).collect::<Vec<_>>().as_slice() {
            [Some(32)] => return Some(32),
            [Some(other)] => {
                let message = format!(
                    "'intel_reqd_sub_group_size({other})' is not supported: the SIMD groups of Metal have 32 threads"
                );
                self.error(attribute.name.span, message);
            }
            _ if values.iter().any(|v| v.ty.is_error()) => {}
            _ => self.error(attribute.name.span, "'intel_reqd_sub_group_size' takes one positive constant"),
        }
        None
    }

    fn work_group_size(&mut self, attribute: &Attribute) -> Option<[u32; 3]> {
        let values: Vec<Expr> = attribute.args.iter().map(|e| self.value(e)).collect();
        if values.iter().any(|v| v.ty.is_error()) {
            return None;
        }
        let size = |v: &Expr| const_int(v).and_then(|v| u32::try_from(v).ok()).filter(|&v| v > 0);
        let values: Vec<Option<u32>> = values.iter().map(size).collect();
        match values.as_slice() {
            [Some(x), Some(y), Some(z)] => Some([*x, *y, *z]),
            _ => {
                self.error(attribute.name.span, "a work-group size is three positive constants");
                None
            }
        }
    }
}
